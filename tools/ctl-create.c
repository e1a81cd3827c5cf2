/* SPDX-License-Identifier: MIT */

/*
 * sbx-ctl create: stores a configuration, which is checked now and never changes
 *
 * The configuration is a command line of sbx-spawn and the working directory, as strings separated
 * by NUL; the state has the digest of the policy with which it was checked.
 */

#include "ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/json.h"

#include "tool.h"

#define CONFIGURATION_BYTES_MAX (4 * 1024 * 1024)

/* Options of sbx-spawn that are not possible for a sandbox that starts later. */
static const struct {
	const char *name;
	const char *why;
} refused[] = {
	{ "--dry-run", "it would never run" },
	{ "--print-plan", "it would never run" },
	{ "--check", "it would never run" },
	{ "--no-sandbox", "there would be no sandbox" },
	{ "--pty", "it is started without a terminal" },
	{ "--die-with-parent", "it goes on when 'sbx-ctl start' has ended" },
	{ "--policy-fd", "an open file cannot be kept" },
	{ "--report-fd", "an open file cannot be kept" },
	{ "--audit-fd", "an open file cannot be kept" },
	{ "--proxy-fd", "an open file cannot be kept" },
	{ "--pass-fd", "an open file cannot be kept" },
	{ "--ring-fd", "an open file cannot be kept" },
};

/* The number of words of sbx-ctl's own option at @words; 0: it is not one. */
static int count_own(char *const words[], int n)
{
	static const char *const flags[] = { "--json", "-q", "--quiet",	  "-v",	   "--verbose",
					     "-h",     "-V", "--version", "--help" };

	for (size_t i = 0; i < N_ELEMENTS(flags); i++)
		if (strcmp(words[0], flags[i]) == 0)
			return 1;
	if (strncmp(words[0], "--id=", 5) == 0)
		return 1;
	return strcmp(words[0], "--id") == 0 && n > 1 ? 2 : 0;
}

/* Picks the words of sbx-ctl's own options, or all others. */
static int pick(char *const words[], int n, bool own, char *ret[])
{
	int n_picked = 0;

	for (int i = 0, step; i < n; i += step) {
		int n_own = count_own(words + i, n - i);

		step = n_own > 0 ? n_own : 1;
		for (int j = 0; (n_own > 0) == own && j < step; j++)
			ret[n_picked++] = words[i + j];
	}
	return n_picked;
}

char **create_arrange(int argc, char *argv[], int *ret_argc)
{
	char **words = calloc((size_t)argc + 2, sizeof(*words));
	int verb = 1, end, n;

	if (!words)
		return NULL;
	while (verb < argc && argv[verb][0] == '-')
		verb++;
	end = verb;
	while (end < argc && strcmp(argv[end], "--") != 0)
		end++;
	if (verb >= argc || strcmp(argv[verb], "create") != 0) {
		memcpy(words, argv, (size_t)argc * sizeof(*words));
		*ret_argc = argc;
		return words;
	}
	n = verb + 1;
	memcpy(words, argv, (size_t)n * sizeof(*words));
	n += pick(argv + verb + 1, end - verb - 1, true, words + n);
	words[n++] = (char *)(uintptr_t) "--";
	n += pick(argv + verb + 1, end - verb - 1, false, words + n);
	memcpy(words + n, argv + end, (size_t)(argc - end) * sizeof(*words));
	*ret_argc = n + argc - end;
	return words;
}

/* The arguments of "create". */
struct creation {
	struct ctl *ctl;
	const char **words; /* NULL-terminated */
	size_t n_words;
	size_t n_options; /* before "--" */
	struct plan_facts facts;
	char id[SANDBOX_ID_MAX + 1];
};

static int refuse_option(const char *word, struct sbx_error *err)
{
	for (size_t i = 0; i < N_ELEMENTS(refused); i++) {
		size_t len = strlen(refused[i].name);

		if (strncmp(word, refused[i].name, len) != 0 ||
		    (word[len] != '\0' && word[len] != '='))
			continue;
		return ctl_fail(err, -EINVAL, "create a sandbox with", refused[i].name,
				refused[i].why, "leave it out, or run sbx-spawn itself");
	}
	return 0;
}

static int split(struct creation *creation, struct sbx_error *err)
{
	int r = 0;

	while (creation->n_options < creation->n_words &&
	       strcmp(creation->words[creation->n_options], "--") != 0)
		creation->n_options++;
	if (creation->n_options + 1 >= creation->n_words) {
		return error_fill(err, -EINVAL,
				  "the arguments before '--' are options of sbx-spawn",
				  "write 'sbx-ctl create [OPTION...] -- COMMAND'",
				  "no command given");
	}
	for (size_t i = 0; i < creation->n_options && r == 0; i++)
		r = refuse_option(creation->words[i], err);
	return r;
}

static int choose_id(struct creation *creation, struct sbx_error *err)
{
	const char *id = creation->ctl->values->id;
	int r;

	if (!id) {
		r = sandbox_id_make(creation->id);
		return r < 0 ? sbx_error_what(err, r, "cannot generate a name") : 0;
	}
	if (!sandbox_id_is_valid(id))
		return ctl_fail(err, -EINVAL, "name a sandbox", id,
				"a name has letters, digits, '-', '_' and '.', at most 64 of them, "
				"and begins with a letter or digit",
				"choose another --id, or leave it out");
	(void)snprintf(creation->id, sizeof(creation->id), "%s", id);
	return 0;
}

static int write_configuration(const struct creation *creation, int directory, const char *cwd)
{
	_cleanup_text_ struct text bytes = TEXT_INIT;
	_cleanup_close_ int fd = openat(directory, SANDBOX_NEW_CONFIGURATION_NAME,
					O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);
	int r;

	if (fd < 0)
		return -errno;
	text_add_bytes(&bytes, cwd, strlen(cwd) + 1);
	for (size_t i = 0; i < creation->n_words; i++)
		text_add_bytes(&bytes, creation->words[i], strlen(creation->words[i]) + 1);
	r = text_status(&bytes);
	if (r < 0)
		return r;
	if (bytes.len > CONFIGURATION_BYTES_MAX)
		return -E2BIG;
	r = fd_write_all(fd, bytes.data, bytes.len);
	if (r < 0)
		return r;
	/* The file gets its name when it is complete. */
	return renameat(directory, SANDBOX_NEW_CONFIGURATION_NAME, directory,
			SANDBOX_CONFIGURATION_NAME) < 0
		       ? -errno
		       : 0;
}

static int fill(const struct creation *creation, struct registration *made, struct sbx_error *err)
{
	_cleanup_free_ char *cwd = getcwd(NULL, 0);
	const struct sandbox_entry entry = {
		.id = creation->id,
		.state = SANDBOX_CREATING,
		.argv = creation->words + creation->n_options + 1,
		.cwd = cwd,
		.policy = creation->facts.policy,
		.uid = creation->facts.uid,
		.policy_digest = creation->facts.policy_digest,
		.template = creation->facts.template,
		.tier = creation->facts.tier,
		.created_usec = moment_now(CLOCK_REALTIME),
	};
	int r;

	if (!cwd)
		return sbx_error_what(err, -errno, "cannot determine the working directory");
	r = registration_write(made, &entry, err);
	if (r < 0)
		return r;
	r = write_configuration(creation, made->directory, cwd);
	return r < 0 ? ctl_fail(err, r, "keep the configuration of", creation->id, NULL,
				"free space in the runtime directory, or use fewer arguments")
		     : 0;
}

static int keep(struct creation *creation, struct sbx_error *err)
{
	_cleanup_registration_ struct registration made = REGISTRATION_INIT;
	int r = registration_create(creation->ctl->registry, creation->id, &made, err);

	if (r < 0)
		return r;
	r = fill(creation, &made, err);
	if (r < 0)
		(void)registration_remove(creation->ctl->registry, &made);
	return r;
}

static void add_made(struct creation *creation)
{
	struct text *out = &creation->ctl->run->out;
	struct json_writer json;

	if (!creation->ctl->run->json) {
		text_addf(out, "%s\n", creation->id);
		return;
	}
	json_begin_object(&json, out);
	json_member_string(&json, "id", creation->id);
	json_member_string(&json, "state", sandbox_state_name(SANDBOX_CREATING));
	json_end_line(&json);
}

/*
 * The caller would not find a sandbox without its name: if create cannot print it, create removes
 * the sandbox again. A caller who chose the name (--id) may have started it meanwhile; then it
 * stays, and the error names it.
 */
static int say_made(struct creation *creation, struct sbx_error *err)
{
	_cleanup_registration_ struct registration made = REGISTRATION_INIT;
	int registry = creation->ctl->registry, r;

	add_made(creation);
	/* SIGPIPE would end this process before it has removed anything. */
	(void)signal(SIGPIPE, SIG_IGN);
	r = tool_flush(creation->ctl->run, err);
	if (r == 0)
		return 0;
	if (registration_adopt(registry, creation->id, &made, NULL) == 0 &&
	    registration_remove(registry, &made) == 0)
		sbx_error_context(err, "the sandbox '%s' was not created", creation->id);
	else
		sbx_error_context(err, "the sandbox '%s' was created", creation->id);
	return r;
}

int ctl_verb_create(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	size_t n_words = (size_t)n_operands;
	_cleanup_free_ const char **words = calloc(n_words + 1, sizeof(*words));
	_cleanup_ctl_ struct ctl ctl = CTL_INIT;
	struct creation creation = { .ctl = &ctl, .words = words, .n_words = n_words };
	int r;

	if (!words)
		return sbx_error_what(err, -ENOMEM, "no memory to create a sandbox");
	memcpy(words, operands, n_words * sizeof(*words));
	r = split(&creation, err);
	if (r < 0)
		return ctl_status(r);
	r = ctl_init(&ctl, context, err);
	if (r < 0)
		return r;
	r = choose_id(&creation, err);
	if (r < 0)
		return ctl_status(r);
	r = plan_ask(&ctl, creation.id, NULL, words, &creation.facts, err);
	if (r < 0)
		return ctl_status(r);
	r = keep(&creation, err);
	if (r < 0)
		return ctl_status(r);
	r = say_made(&creation, err);
	return r < 0 ? r : TOOL_YES;
}

static int split_words(struct arena *arena, const char *bytes, size_t n_bytes,
		       const char *const **ret)
{
	const char *copy = arena_copy(arena, bytes, n_bytes), *at = copy;
	const char **words;
	size_t n = 0;

	for (size_t i = 0; i < n_bytes; i++)
		n += bytes[i] == '\0';
	words = arena_alloc(arena, (n + 1) * sizeof(*words));
	if (!copy || !words)
		return -ENOMEM;
	/* At least the directory, "--" and a command; nothing after the last NUL. */
	if (n < 3 || bytes[n_bytes - 1] != '\0')
		return -EBADMSG;
	for (size_t i = 0; i < n; i++, at += strlen(at) + 1)
		words[i] = at;
	*ret = words;
	return 0;
}

static int read_words(struct ctl *ctl, const char *id, const char *const **ret)
{
	_cleanup_text_ struct text path = TEXT_INIT;
	_cleanup_free_ char *bytes = NULL;
	size_t n_bytes = 0;
	int r;

	text_addf(&path, "%s/" SANDBOX_CONFIGURATION_NAME, id);
	r = text_status(&path);
	if (r < 0)
		return r;
	r = file_read_regular(ctl->registry, text_string(&path), CONFIGURATION_BYTES_MAX, &bytes,
			      &n_bytes, NULL);
	return r < 0 ? r : split_words(&ctl->arena, bytes, n_bytes, ret);
}

int configuration_read(struct ctl *ctl, const char *id, const char *const **ret,
		       struct sbx_error *err)
{
	int r = read_words(ctl, id, ret);

	if (r == -ENOENT)
		return ctl_fail(err, r, "find the configuration of", id,
				"it was started by sbx-spawn, not created by 'sbx-ctl create'",
				"create one: 'sbx-ctl create [OPTION...] -- COMMAND'");
	if (r < 0)
		return ctl_fail(err, r, "read the configuration of", id, NULL,
				"remove it with 'sbx-ctl remove ID', and create it again");
	return 0;
}
