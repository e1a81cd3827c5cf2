/* SPDX-License-Identifier: MIT */

/*
 * sbx-policy update and edit: install another policy
 *
 * The bytes that are checked, shown and approved are the bytes that are installed: the file is read
 * once. A running service notices the rename and reloads.
 */

#include "policy.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdarg.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/json.h"
#include "base/path.h"
#include "base/process.h"
#include "base/tree.h"
#include "policy/check.h"
#include "record/record.h"

#include "tool.h"

struct update {
	struct tool_run *run;
	const struct policy_values *values;
	const char *path; /* the policy that is replaced */
	char *target;	  /* target if the given path is a link, else NULL */
	const char *from; /* for messages and the metadata */
	char *old_bytes;  /* NULL: there was no policy */
	size_t n_old_bytes;
	bool has_before; /* the old policy is valid */
	struct judge before;
	struct judge after;
	struct replay replay;
	char digest[65]; /* SHA-256 of the new file, as printed by sha256sum */
	char old_digest[65];
};

/*
 * The review of each new policy
 *
 * A person at a terminal types "yes". A script approves with --yes and the digest of the reviewed
 * file, so that it cannot approve a file that was changed since. If more than a few recorded
 * requests would get a worse answer, their number has to be typed.
 */

#define BREAKING_WITHOUT_PHRASE 5

/* A line about what is done, or with --json an object; @change says what it is about. */
__attribute__((__format__(__printf__, 3, 4))) static void say(struct tool_run *run,
							      const char *change,
							      const char *format, ...)
{
	_cleanup_text_ struct text line = TEXT_INIT;
	struct json_writer json;
	va_list args;

	va_start(args, format);
	text_addv(&line, format, args);
	va_end(args);
	if (!run->json) {
		text_add_visible_string(&run->out, text_string(&line));
		text_add_char(&run->out, '\n');
		return;
	}
	json_begin_object(&json, &run->out);
	json_member_string(&json, "change", change);
	json_member_string(&json, "what", text_string(&line));
	json_end_line(&json);
}

static int refuse(struct sbx_error *err, int status, const char *path, const char *why,
		  const char *fix)
{
	(void)error_fill(err, -EPERM, why, fix, "the policy at '%s' stays as it is", path);
	return status;
}

/* Asks on the terminal; false at end of file. The answer has no newline. */
static bool review_ask(const char *question, char *answer, size_t size)
{
	size_t n = 0;
	char byte = '\0';

	(void)fd_write_all(STDERR_FILENO, question, strlen(question));
	while (read(STDIN_FILENO, &byte, 1) == 1 && byte != '\n')
		if (n + 1 < size)
			answer[n++] = byte;
		else
			n = size; /* too long for any of the answers */
	answer[n < size ? n : 0] = '\0';
	return byte == '\n';
}

static int review_by_script(const struct update *update, const char *phrase, struct sbx_error *err)
{
	const struct policy_values *values = update->values;

	if (!values->expect_digest)
		return refuse(err, TOOL_USAGE, update->path,
			      "--yes alone would approve whatever is there now",
			      "add --expect-digest=HEX with the SHA-256 of the file that was "
			      "reviewed");
	if (strspn(values->expect_digest, "0123456789abcdef") != strlen(update->digest) ||
	    strlen(values->expect_digest) != strlen(update->digest))
		return refuse(
			err, TOOL_USAGE, update->path,
			"--expect-digest is not a SHA-256: 64 hexadecimal digits, a-f in lower case",
			"give what sha256sum prints for the file");
	if (strcmp(values->expect_digest, update->digest) != 0)
		return refuse(err, TOOL_NO, update->path,
			      "the new policy is not the one that was reviewed: its digest differs",
			      "look at it again, and give the digest of what you saw");
	if (phrase[0] != '\0' && (!values->confirm || strcmp(values->confirm, phrase) != 0)) {
		(void)refuse(err, TOOL_REVIEW, update->path, "it breaks too much", "");
		sbx_error_why(err, "%zu recorded requests would no longer be allowed",
			      update->replay.n_breaking);
		sbx_error_fix(err, "if that is meant, add --confirm='%s'", phrase);
		return TOOL_REVIEW;
	}
	return TOOL_YES;
}

static int review_by_person(const struct update *update, const char *phrase, struct sbx_error *err)
{
	const char *wanted = phrase[0] != '\0' ? phrase : "yes";
	_cleanup_text_ struct text question = TEXT_INIT;
	char answer[64];

	text_add(&question, "Put this policy into force at '");
	text_add_visible_string(&question, update->path);
	text_addf(&question, "'? Type '%s': ", wanted);
	if (review_ask(text_string(&question), answer, sizeof(answer)) &&
	    strcmp(answer, wanted) == 0)
		return TOOL_YES;
	return refuse(err, TOOL_NO, update->path, "it was not approved",
		      "run it again, and type exactly what it asks for");
}

/* Returns a tool_status: TOOL_YES approved, TOOL_NO refused, TOOL_REVIEW no terminal. Only a
 * person, or a script that knows the digest and the phrase, can approve. */
static int update_review(const struct update *update, struct sbx_error *err)
{
	char phrase[64] = "";

	if (update->replay.n_breaking > BREAKING_WITHOUT_PHRASE)
		(void)snprintf(phrase, sizeof(phrase), "apply %zu breaking",
			       update->replay.n_breaking);
	if (update->values->yes)
		return review_by_script(update, phrase, err);
	if (isatty(STDIN_FILENO))
		return review_by_person(update, phrase, err);
	return refuse(err, TOOL_REVIEW, update->path,
		      "it needs a review, and there is no terminal to ask on",
		      update->values->from
			      ? "run it on a terminal, or add --yes and --expect-digest=HEX"
			      : "run it on a terminal, or use 'sbx-policy update'");
}

/*
 * Replaces a policy
 *
 * The rename() of the policy itself is the only moment of change; at any time one of the two
 * versions is there, complete. The old one is stored beside it before, and metadata of the new one
 * after: metadata whose digest is not the policy's belongs to an interrupted update.
 */

#define NEW_FILE_MODE 0644

static int fail(struct sbx_error *err, int code, const char *path, const char *why, const char *fix)
{
	return error_fill(err, code, why, fix, "cannot replace the policy at '%s'", path);
}

/* Prevents concurrent updates of policies in one directory. The lock ends with the fd. */
static int lock_directory(const char *path, struct sbx_error *err)
{
	size_t n = (size_t)(path_last(path) - path);
	_cleanup_free_ char *directory = n > 0 ? strndup(path, n) : strdup(".");
	_cleanup_close_ int fd = -EBADF;

	if (!directory)
		return fail(err, -ENOMEM, path, NULL, "free some memory");
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return fail(err, -errno, path, NULL, "make its directory, or correct the path");
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return fail(err, -errno, path, "another update is in progress",
			    "wait until it has ended, then look at the changes again");
	return take_fd(&fd);
}

/* The compared policy must be the one that is replaced. */
static int check_unchanged(const struct update *update, struct sbx_error *err)
{
	_cleanup_free_ char *bytes = NULL;
	size_t n_bytes = 0;
	int r = file_read(AT_FDCWD, update->path, TREE_BYTES_MAX, &bytes, &n_bytes, NULL);

	if (r == -ENOENT && !update->old_bytes)
		return 0;
	if (r == 0 && update->old_bytes && n_bytes == update->n_old_bytes &&
	    memcmp(bytes, update->old_bytes, n_bytes) == 0)
		return 0;
	return fail(err, -EBUSY, update->path, "it has changed since it was compared",
		    "run it again, and look at the changes again");
}

/* ---- metadata ---- */

static void add_time(struct json_writer *json)
{
	struct timespec now;
	struct tm parts;
	char text[32];

	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)gmtime_r(&now.tv_sec, &parts);
	(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
	json_member_string(json, "appliedAt", text);
}

static void add_keys(struct json_writer *json, const struct policy_source *source)
{
	_cleanup_tree_ struct tree *tree = NULL;
	size_t n = 0;

	json_member_array(json, "keys");
	if (tree_read(source->name, source->bytes, source->n_bytes, &tree, NULL) == 0 &&
	    tree_root(tree)->type == TREE_MAP)
		for (const struct tree_node *node = tree_root(tree)->first; node;
		     node = node->next) {
			json_add_string(json, node->key);
			n++;
		}
	json_end_array(json);
	json_member_u64(json, "count", n);
}

static void add_counts(struct json_writer *json, const struct policy *policy)
{
	size_t n_rules[POLICY_DENY + 1] = { 0 };

	json_member_object(json, "defaults");
	for (int i = 0; i < N_CLASSES; i++)
		json_member_string(json, operation_class_name((enum operation_class)i),
				   policy_action_name(policy->defaults[i]));
	json_end_object(json);
	for (size_t i = 0; i < policy->n_rules; i++)
		n_rules[policy->rules[i].action]++;
	json_member_object(json, "rules");
	for (int action = POLICY_PASS; action <= POLICY_DENY; action++)
		json_member_u64(json, policy_action_name((enum policy_action)action),
				n_rules[action]);
	json_end_object(json);
	json_member_u64(json, "extensions", policy->n_extensions);
}

static void add_who(struct json_writer *json)
{
	const struct passwd *user = getpwuid(getuid());

	json_member_object(json, "by");
	json_member_u64(json, "uid", getuid());
	if (user)
		json_member_string(json, "user", user->pw_name);
	json_end_object(json);
}

static void add_digests(struct json_writer *json, const struct update *update)
{
	json_member_string(json, "digest", update->digest);
	json_member_string(json, "previous", update->old_bytes ? update->old_digest : NULL);
}

static void add_metadata(struct text *out, const struct update *update)
{
	const struct policy *policy = update->after.policy;
	struct json_writer json;

	json_begin_object(&json, out);
	add_keys(&json, &policy->sources[0]);
	add_counts(&json, policy);
	add_digests(&json, update);
	json_member_string(&json, "source", "apply");
	json_member_string(&json, "from", update->from);
	add_time(&json);
	add_who(&json);
	json_end_line(&json);
}

/* ---- records ---- */

static int record(struct recorder *recorder, const struct update *update, const char *stage,
		  struct sbx_error *err)
{
	_cleanup_text_ struct text out = TEXT_INIT;
	struct json_writer json;

	record_begin(recorder, &out, &json, "policy_update", "sbx-policy");
	json_member_string(&json, "stage", stage);
	json_member_string(&json, "path", update->path);
	json_member_string(&json, "from", update->from);
	add_digests(&json, update);
	add_who(&json);
	json_member_u64(&json, "replayed", update->replay.n_replayed);
	json_member_u64(&json, "breaking", update->replay.n_breaking);
	json_member_u64(&json, "widening", update->replay.n_widening);
	return record_send(recorder, &out, &json, err);
}

/* ---- files ---- */

static int write_beside(const struct update *update, const char *suffix, const void *bytes,
			size_t n_bytes, mode_t mode, struct sbx_error *err)
{
	_cleanup_text_ struct text path = TEXT_INIT;

	text_addf(&path, "%s%s", update->path, suffix);
	if (text_status(&path) < 0)
		return fail(err, -ENOMEM, update->path, NULL, "free some memory");
	return file_replace(AT_FDCWD, text_string(&path), bytes, n_bytes, mode, err);
}

static int replace(const struct update *update, struct sbx_error *err)
{
	const struct policy_source *source = &update->after.policy->sources[0];
	_cleanup_text_ struct text metadata = TEXT_INIT;
	struct stat st;
	mode_t mode = stat(update->path, &st) == 0 ? st.st_mode & 0777 : NEW_FILE_MODE;
	int r = 0;

	add_metadata(&metadata, update);
	if (text_status(&metadata) < 0)
		return fail(err, -ENOMEM, update->path, NULL, "free some memory");
	if (update->old_bytes)
		r = write_beside(update, ".previous", update->old_bytes, update->n_old_bytes, mode,
				 err);
	if (r >= 0)
		r = write_beside(update, "", source->bytes, source->n_bytes, mode, err);
	if (r < 0)
		return r;
	return write_beside(update, ".meta.json", metadata.data, metadata.len, mode, err);
}

/* Puts the new policy into force; nothing has changed where it fails, unless @err says so. */
static int update_install(const struct update *update, struct sbx_error *err)
{
	_cleanup_recorder_ struct recorder recorder = RECORDER_INIT;
	_cleanup_close_ int lock = -EBADF;
	int r = recorder_open(&recorder, update->values->audit_fd, environ, err);

	if (r < 0)
		return r;
	lock = lock_directory(update->path, err);
	if (lock < 0)
		return lock;
	r = check_unchanged(update, err);
	/* Before: without a record there is no change. */
	if (r < 0)
		return r;
	r = record(&recorder, update, "approved", err);
	if (r < 0)
		return r;
	r = replace(update, err);
	if (r < 0)
		return r;
	r = record(&recorder, update, "installed", err);
	if (r < 0)
		return r;
	if (update->old_bytes)
		say(update->run, "installed", "'%s' is replaced; the old policy is '%s.previous'",
		    update->path, update->path);
	else
		say(update->run, "installed", "'%s' is in force; there was no policy before",
		    update->path);
	return TOOL_YES;
}

/*
 * What changes, and the verb
 */

#define COMMON_OPTIONS                                                                             \
	OPTION("replay", 0, OPTION_PATH, replay, "FILE",                                           \
	       "evaluate these recorded requests (log)"),                                          \
		OPTION_LAST, OPTION_AUDIT_FD

const struct option_spec policy_update_options[] = {
	OPTION("from", 0, OPTION_PATH, from, "NEW", "the new policy"),
	OPTION("yes", 'y', OPTION_FLAG, yes, NULL, "approve it without asking"),
	OPTION("expect-digest", 0, OPTION_STRING, expect_digest, "HEX",
	       "only if NEW has this SHA-256"),
	OPTION("confirm", 0, OPTION_STRING, confirm, "PHRASE",
	       "the phrase for many breaking changes"),
	COMMON_OPTIONS,
	OPTION_END,
};

const struct option_spec policy_edit_options[] = { COMMON_OPTIONS, OPTION_END };

#define _cleanup_update_ _cleanup_(update_close)
static void update_close(struct update *update)
{
	judge_close(&update->before);
	judge_close(&update->after);
	free(update->old_bytes);
	free(update->target);
}

/* A link is kept: its target is replaced, and the old version is stored beside the target. Resolved
 * once, so that a link that an attacker changes later has no effect. */
static int resolve(struct update *update, struct sbx_error *err)
{
	struct stat st;

	if (lstat(update->path, &st) < 0 || !S_ISLNK(st.st_mode))
		return 0;
	update->target = realpath(update->path, NULL);
	if (update->target) {
		update->path = update->target;
		return 0;
	}
	return error_fill(err, -errno, NULL, "name the policy itself, or correct the link",
			  "cannot follow the link '%s'", update->path);
}

static void print_digest(char ret[65], const void *bytes, size_t n_bytes)
{
	_cleanup_text_ struct text hex = TEXT_INIT;
	uint8_t digest[DIGEST_SIZE];

	digest_of(bytes, n_bytes, digest);
	text_add_hex(&hex, digest, DIGEST_SIZE);
	memcpy(ret, text_string(&hex), hex.len < 64 ? hex.len : 64);
	ret[64] = '\0';
}

static void print_warning(const struct policy_warning *warning, void *userdata)
{
	const struct update *update = userdata;

	policy_print_warning(update->run, update->after.policy->sources[0].name, warning);
}

/* Requires a text: a compiled policy cannot be reviewed. */
static int open_new(struct update *update, struct sbx_error *err)
{
	int r = judge_open(update->from, NULL, &update->after, err);

	if (r < 0)
		return r;
	if (!update->after.policy || update->after.policy->n_sources != 1)
		return error_fill(err, -EINVAL, "a compiled policy cannot be reviewed",
				  "name the file that it was compiled from",
				  "cannot install the compiled policy '%s'", update->from);
	print_digest(update->digest, update->after.policy->sources[0].bytes,
		     update->after.policy->sources[0].n_bytes);
	return 0;
}

/* The old policy may be missing or invalid; replacing it must still be possible. */
static int open_old(struct update *update, struct sbx_error *err)
{
	struct sbx_error why = { .code = 0 };
	int r = file_read(AT_FDCWD, update->path, TREE_BYTES_MAX, &update->old_bytes,
			  &update->n_old_bytes, err);

	if (r == -ENOENT) {
		if (err)
			*err = (struct sbx_error){ .code = 0 };
		say(update->run, "old", "there is no policy at '%s' yet", update->path);
		return 0;
	}
	if (r < 0)
		return r;
	print_digest(update->old_digest, update->old_bytes, update->n_old_bytes);
	r = judge_open(update->path, NULL, &update->before, &why);
	update->has_before = r >= 0 && update->before.policy;
	if (!update->has_before)
		say(update->run, "old", "the policy at '%s' cannot be compared: %s", update->path,
		    why.what);
	return 0;
}

static int replay(struct update *update, const char *path, struct sbx_error *err)
{
	return replay_record(update->run, &update->before, &update->after, path,
			     update->values->last, &update->replay, err);
}

/* Replays the default log without being asked. An unreadable log must not prevent a repair, but the
 * reviewer is told that nothing was replayed. */
static int replay_own_log(struct update *update, struct sbx_error *err)
{
	struct sbx_error why = { .code = 0 };
	int r;

	if (!decision_log_is_kept()) {
		replay_say_untried(update->run, "there is no log that could be read");
		return 0;
	}
	r = replay(update, DECISION_LOG_OWN, &why);
	if (r == -EINVAL || r == -ENOMEM) {
		if (err)
			*err = why;
		return r;
	}
	if (r < 0)
		replay_say_untried(update->run, why.why[0] != '\0' ? why.why : why.what);
	else if (update->replay.n_replayed == 0 && !update->run->json)
		replay_say_untried(update->run, "the log has none");
	return 0;
}

static int try_requests(struct update *update, struct sbx_error *err)
{
	if (!update->has_before) {
		replay_say_untried(update->run, "there is no policy to compare with");
		return 0;
	}
	return update->values->replay ? replay(update, update->values->replay, err)
				      : replay_own_log(update, err);
}

/* Without a policy before, or with one that cannot be read, everything in the new one is new. */
static int show_changes(struct update *update, struct sbx_error *err)
{
	static const char nothing[] = "capabilities: []\n";
	_cleanup_policy_ struct policy *empty = NULL;
	const struct policy *before = update->before.policy;

	if (!update->has_before) {
		int r = policy_load("", nothing, strlen(nothing), &empty, err);

		if (r < 0)
			return r;
		before = empty;
	}
	if (policy_compare(before, update->after.policy, &update->run->out, update->run->json) == 0)
		say(update->run, "none", "no rule and no setting changes");
	return 0;
}

static int show(struct update *update, struct sbx_error *err)
{
	int r = policy_check(update->after.policy, print_warning, update);

	if (r < 0)
		return sbx_error_what(err, r, "cannot check '%s'", update->from);
	r = show_changes(update, err);
	if (r >= 0)
		r = try_requests(update, err);
	if (r < 0)
		return r;
	say(update->run, "digest", "sha256 %s", update->digest);
	return tool_flush(update->run, err);
}

/* Reads both policies and prints the differences. */
static int update_open(struct tool_run *run, const char *path, const char *from, struct update *ret,
		       struct sbx_error *err)
{
	int r;

	*ret = (struct update){ .run = run, .values = run->values, .path = path, .from = from };
	ret->before = ret->after = (struct judge){ .policy = NULL };
	r = resolve(ret, err);
	if (r < 0)
		return r;
	r = open_new(ret, err);
	if (r < 0)
		return r;
	r = open_old(ret, err);
	return r < 0 ? r : show(ret, err);
}

int policy_verb_update(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	const struct policy_values *values = run->values;
	_cleanup_update_ struct update update = { .run = run };
	int r;

	if (!values->from) {
		(void)error_fill(err, -EINVAL, "no new policy is named",
				 "add --from=NEW, or use 'sbx-policy edit'", "cannot update '%s'",
				 operands[0]);
		return TOOL_USAGE;
	}
	if (strcmp(operands[0], "-") == 0)
		return policy_bad_input(error_fill(err, -EINVAL, "it cannot be replaced",
						   "name the policy's file; for one of this name "
						   "write ./-",
						   "cannot update standard input"));
	r = policy_check_stdin(values, 0, NULL, false, err);
	if (r >= 0)
		r = update_open(run, operands[0], values->from, &update, err);
	if (r < 0)
		return policy_bad_input(r);
	if (update.old_bytes && strcmp(update.digest, update.old_digest) == 0) {
		say(run, "none", "it is in force already");
		return TOOL_YES;
	}
	r = update_review(&update, err);
	return r != TOOL_YES ? r : update_install(&update, err);
}

/*
 * sbx-policy edit: the editor, then the same steps as update
 *
 * The editor gets a copy in a private directory. Typed text is never lost: a rejected draft is
 * kept, and its path is printed.
 */

struct draft {
	struct text directory;
	struct text path;
	bool is_kept;
};

static void draft_close(struct draft *draft)
{
	if (!draft->is_kept && draft->path.len > 0) {
		(void)unlink(text_string(&draft->path));
		(void)rmdir(text_string(&draft->directory));
	}
	text_deinit(&draft->directory);
	text_deinit(&draft->path);
}

/* With the policy's file name, by which editors recognise its syntax. */
static int draft_open(const char *policy, struct draft *ret, struct sbx_error *err)
{
	const char *temporary = getenv("TMPDIR");
	_cleanup_free_ char *bytes = NULL;
	size_t n_bytes = 0;
	int r = file_read(AT_FDCWD, policy, TREE_BYTES_MAX, &bytes, &n_bytes, err);

	if (r == -ENOENT) {
		error_explain(err, "there is no policy to edit",
			      "correct the path; a first policy is installed by "
			      "'sbx-policy update FILE --from=NEW'");
		(void)error_retell(err, r, "cannot edit '%s'", policy);
	}
	if (r < 0)
		return r;
	text_addf(&ret->directory, "%s/sbx-edit-XXXXXX",
		  temporary && *temporary ? temporary : "/tmp");
	if (text_status(&ret->directory) < 0 || !mkdtemp(ret->directory.data))
		return sbx_error_what(err, -errno, "cannot make a directory for the draft");
	text_addf(&ret->path, "%s/%s", text_string(&ret->directory), path_last(policy));
	r = text_status(&ret->path);
	return r < 0 ? r
		     : file_replace(AT_FDCWD, text_string(&ret->path), bytes, n_bytes, 0600, err);
}

static const char *find_editor(void)
{
	static const char *const variables[] = { "VISUAL", "EDITOR" };

	for (size_t i = 0; i < N_ELEMENTS(variables); i++) {
		const char *editor = getenv(variables[i]);

		if (editor && editor[0] != '\0')
			return editor;
	}
	return "vi";
}

/* The variable may contain options, so a shell splits it. */
static int run_editor(const char *path, struct sbx_error *err)
{
	_cleanup_text_ struct text script = TEXT_INIT;
	int status = 0, r;
	pid_t pid;

	text_addf(&script, "%s \"$1\"", find_editor());
	if (text_status(&script) < 0)
		return sbx_error_what(err, -ENOMEM, "cannot start the editor");
	r = -posix_spawn(&pid, "/bin/sh", NULL, NULL,
			 (char *const[]){ (char *)"sh", (char *)"-c", script.data, (char *)"sh",
					  (char *)path, NULL },
			 environ);
	if (r < 0)
		return sbx_error_what(err, r, "cannot start the editor");
	(void)process_wait(pid, &status);
	if (status == 0)
		return 0;
	(void)sbx_error_what(err, -ECANCELED, "the editor '%s' failed", find_editor());
	sbx_error_why(err, "its status was %d", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	sbx_error_fix(err, "set VISUAL or EDITOR to an editor that works here");
	return -ECANCELED;
}

static bool wants_another_try(struct tool_run *run, const struct sbx_error *why)
{
	_cleanup_text_ struct text message = TEXT_INIT;
	char answer[16];

	if (!isatty(STDIN_FILENO))
		return false;
	error_add_text(&message, run->tool->command.name, why);
	(void)fd_write_all(STDERR_FILENO, text_string(&message), message.len);
	return review_ask("Edit it again? Type 'yes': ", answer, sizeof(answer)) &&
	       strcmp(answer, "yes") == 0;
}

static bool is_same(const char *path, const char *draft)
{
	_cleanup_free_ char *before = NULL, *after = NULL;
	size_t n_before = 0, n_after = 0;

	return file_read(AT_FDCWD, path, TREE_BYTES_MAX, &before, &n_before, NULL) == 0 &&
	       file_read(AT_FDCWD, draft, TREE_BYTES_MAX, &after, &n_after, NULL) == 0 &&
	       n_before == n_after && memcmp(before, after, n_before) == 0;
}

/* One round of editing. @ret_again: the draft is invalid, and the user wants to continue. */
static int edit_once(struct tool_run *run, const char *policy, const char *draft, bool *ret_again,
		     struct sbx_error *err)
{
	_cleanup_update_ struct update update = { .run = run };
	int r = run_editor(draft, err);

	*ret_again = false;
	if (r < 0)
		return r;
	if (is_same(policy, draft)) {
		say(run, "none", "nothing was changed");
		return TOOL_YES;
	}
	r = update_open(run, policy, draft, &update, err);
	if (r < 0) {
		*ret_again = wants_another_try(run, err);
		return policy_bad_input(r);
	}
	r = update_review(&update, err);
	return r != TOOL_YES ? r : update_install(&update, err);
}

int policy_verb_edit(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	_cleanup_(draft_close) struct draft draft = { .is_kept = false };
	bool again = true;
	int r = draft_open(operands[0], &draft, err);

	if (r < 0)
		return r == -ENOENT ? TOOL_USAGE : r;
	while (again) {
		*err = (struct sbx_error){ .code = 0 };
		r = edit_once(run, operands[0], text_string(&draft.path), &again, err);
	}
	if (r != TOOL_YES && !is_same(operands[0], text_string(&draft.path))) {
		draft.is_kept = true;
		sbx_error_context(err, "the draft is kept in '%s'", text_string(&draft.path));
	}
	return r;
}
