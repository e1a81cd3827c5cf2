/* SPDX-License-Identifier: MIT */

/*
 * sbx-policy update: put another policy into force
 *
 * The bytes that are judged, shown and approved are the bytes that are installed: the file is read
 * once. A running service sees the rename and reloads by itself.
 */

#include "policy-update.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <sbx/error.h>

#include "base/file.h"
#include "base/tree.h"
#include "policy/check.h"
#include "policy/model.h"

#include "tool.h"

#define COMMON_OPTIONS                                                                             \
	{ .name = "replay",                                                                        \
	  .kind = OPTION_PATH,                                                                     \
	  .offset = offsetof(struct policy_values, replay),                                        \
	  .metavar = "FILE",                                                                       \
	  .help = "evaluate these recorded requests (log)" },                                      \
		{ .name = "last",                                                                  \
		  .kind = OPTION_STRING,                                                           \
		  .offset = offsetof(struct policy_values, last),                                  \
		  .metavar = "N",                                                                  \
		  .help = "only the last N requests (100), or all" },                              \
	{                                                                                          \
		.name = "audit-fd", .kind = OPTION_FD, .redirection = ">>FILE",                    \
		.offset = offsetof(struct policy_values, audit_fd), .metavar = "FD",               \
		.help = "send records to this file descriptor"                                     \
	}

const struct option_spec policy_update_options[] = {
	{ .name = "from",
	  .kind = OPTION_PATH,
	  .offset = offsetof(struct policy_values, from),
	  .metavar = "NEW",
	  .help = "the new policy" },
	{ .name = "yes",
	  .letter = 'y',
	  .kind = OPTION_FLAG,
	  .offset = offsetof(struct policy_values, yes),
	  .help = "approve it without asking" },
	{ .name = "expect-digest",
	  .kind = OPTION_STRING,
	  .offset = offsetof(struct policy_values, expect_digest),
	  .metavar = "HEX",
	  .help = "only if NEW has this SHA-256" },
	{ .name = "confirm",
	  .kind = OPTION_STRING,
	  .offset = offsetof(struct policy_values, confirm),
	  .metavar = "PHRASE",
	  .help = "the phrase for many breaking changes" },
	COMMON_OPTIONS,
	OPTION_END,
};

const struct option_spec policy_edit_options[] = { COMMON_OPTIONS, OPTION_END };

void update_close(struct update *update)
{
	judge_close(&update->before);
	judge_close(&update->after);
	free(update->old_bytes);
	free(update->target);
}

/* A link stays one: the file that it leads to is replaced, and what is kept lies beside that. Once,
 * so that whoever turns the link around meanwhile changes nothing. */
static int resolve(struct update *update, struct sbx_error *err)
{
	struct stat st;
	int r;

	if (lstat(update->path, &st) < 0 || !S_ISLNK(st.st_mode))
		return 0;
	update->target = realpath(update->path, NULL);
	if (update->target) {
		update->path = update->target;
		return 0;
	}
	r = sbx_error_what(err, -errno, "cannot follow the link '%s'", update->path);
	sbx_error_fix(err, "name the policy itself, or correct the link");
	return r;
}

static void print_digest(char ret[65], const void *bytes, size_t n_bytes)
{
	_cleanup_text_ struct text hex = TEXT_INIT;
	uint8_t digest[DIGEST_SIZE];

	digest_of(bytes, n_bytes, digest);
	digest_add_hex(&hex, digest);
	memcpy(ret, text_string(&hex), hex.len < 64 ? hex.len : 64);
	ret[64] = '\0';
}

static void print_warning(const struct policy_warning *warning, void *userdata)
{
	const struct update *update = userdata;

	text_addf(&update->run->out, "warning %s at line %u: %s\n", warning->code,
		  warning->place.at.line, warning->error.what);
}

/* A text: what is compiled has no source that anybody could review. */
static int open_new(struct update *update, struct sbx_error *err)
{
	int r = judge_open(update->from, NULL, &update->after, err);

	if (r < 0)
		return r;
	if (!update->after.policy || update->after.policy->n_sources != 1) {
		(void)sbx_error_what(err, -EINVAL, "cannot install the compiled policy '%s'",
				     update->from);
		sbx_error_why(err, "a compiled policy cannot be reviewed");
		sbx_error_fix(err, "name the file that it was compiled from");
		return -EINVAL;
	}
	print_digest(update->digest, update->after.policy->sources[0].bytes,
		     update->after.policy->sources[0].n_bytes);
	return 0;
}

/* What is there may be missing or broken: to replace it must be possible all the same. */
static int open_old(struct update *update, struct sbx_error *err)
{
	struct sbx_error why = { .code = 0 };
	int r = file_read(AT_FDCWD, update->path, TREE_BYTES_MAX, &update->old_bytes,
			  &update->n_old_bytes, err);

	if (r == -ENOENT) {
		if (err)
			*err = (struct sbx_error){ .code = 0 };
		text_addf(&update->run->out, "there is no policy at '%s' yet\n", update->path);
		return 0;
	}
	if (r < 0)
		return r;
	print_digest(update->old_digest, update->old_bytes, update->n_old_bytes);
	r = judge_open(update->path, NULL, &update->before, &why);
	update->has_before = r >= 0 && update->before.policy;
	if (!update->has_before)
		text_addf(&update->run->out, "the policy at '%s' cannot be compared: %s\n",
			  update->path, why.what);
	return 0;
}

static int replay(struct update *update, const char *path, struct sbx_error *err)
{
	return replay_record(update->run, &update->before, &update->after, path,
			     update->values->last, &update->replay, err);
}

/* Nobody should have to think of it. A log that cannot be read does not stand in the way of a
 * repair, but whoever reviews is told that nothing was tried. */
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

static int show(struct update *update, struct sbx_error *err)
{
	struct text *out = &update->run->out;
	int r = policy_check(update->after.policy, print_warning, update);

	if (r < 0)
		return sbx_error_what(err, r, "cannot check '%s'", update->from);
	if (update->has_before &&
	    policy_compare(update->before.policy, update->after.policy, out, 0) == 0)
		text_add(out, "no rule and no setting changes\n");
	r = try_requests(update, err);
	if (r < 0)
		return r;
	text_addf(out, "sha256 %s\n", update->digest);
	return tool_flush(update->run, err);
}

int update_open(struct tool_run *run, const char *path, const char *from, struct update *ret,
		struct sbx_error *err)
{
	int r;

	*ret = (struct update){ .run = run, .values = run->values, .path = path, .from = from };
	ret->before = ret->after = (struct judge)JUDGE_INIT;
	r = resolve(ret, err);
	if (r >= 0)
		r = open_new(ret, err);
	if (r >= 0)
		r = open_old(ret, err);
	return r < 0 ? r : show(ret, err);
}

static bool is_unchanged(const struct update *update)
{
	return update->old_bytes && strcmp(update->digest, update->old_digest) == 0;
}

int policy_verb_update(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	const struct policy_values *values = run->values;
	_cleanup_update_ struct update update = { .run = run };
	int r;

	if (!values->from) {
		(void)sbx_error_what(err, -EINVAL, "cannot update '%s'", operands[0]);
		sbx_error_why(err, "no new policy is named");
		sbx_error_fix(err, "add --from=NEW, or use 'sbx-policy edit'");
		return TOOL_USAGE;
	}
	r = policy_check_stdin(values, 0, NULL, false, err);
	if (r >= 0)
		r = update_open(run, operands[0], values->from, &update, err);
	if (r < 0)
		return policy_bad_input(r);
	if (is_unchanged(&update)) {
		text_add(&run->out, "it is in force already\n");
		return TOOL_YES;
	}
	r = update_review(&update, err);
	return r != TOOL_YES ? r : update_install(&update, err);
}
