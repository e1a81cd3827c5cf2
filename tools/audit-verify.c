/* SPDX-License-Identifier: MIT */

/*
 * sbx-audit verify: is the log complete and unchanged?
 *
 * Unlike other verbs it imports nothing and writes nothing to the log's directory: otherwise it
 * would sign records that it should question.
 */

#include "audit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "audit/checkpoint.h"
#include "audit/known.h"
#include "audit/seed.h"
#include "audit/verify.h"
#include "base/file.h"
#include "base/json.h"
#include "base/moment.h"
#include "base/progress.h"
#include "tool.h"

#define STATE_BYTES_MAX 16384
#define WITNESS_BYTES_MAX (64 * 1024 * 1024)
#define STATE_SUFFIX ".verified"

/* ---- the stored state ---- */

static bool known_state_path(const struct audit_values *values, struct text *out)
{
	if (values->state) {
		text_add(out, values->state);
		return true;
	}
	/* Only beside the default log of this user: a log in another directory may be a copy. */
	if (values->directory || places_directory(values, out, NULL) < 0)
		return false;
	text_add(out, STATE_SUFFIX);
	return true;
}

/* Without a state everything is verified. */
static int known_read_state(const struct audit_values *values, struct verified_state *ret,
			    struct sbx_error *err)
{
	_cleanup_text_ struct text path = TEXT_INIT;
	_cleanup_free_ char *bytes = NULL;
	struct sbx_error why = { .code = 0 };
	size_t n_bytes = 0;
	int r;

	if (!known_state_path(values, &path))
		return 0;
	r = file_read_regular(AT_FDCWD, text_string(&path), STATE_BYTES_MAX, &bytes, &n_bytes,
			      &why);
	if (r == -ENOENT || (r == -EACCES && !values->state))
		return 0;
	if (r < 0) {
		if (err)
			*err = why;
		return r;
	}
	r = verified_state_parse(bytes, n_bytes, ret, err);
	return r < 0 ? r : 1;
}

int known_read_last(const struct audit_values *values, uint64_t *ret_size, uint64_t *ret_usec)
{
	_cleanup_text_ struct text path = TEXT_INIT;
	struct verified_state state = { .origin = "" };
	struct stat st;
	int r = known_read_state(values, &state, NULL);

	if (r <= 0 || !known_state_path(values, &path) || stat(text_string(&path), &st) < 0)
		return r < 0 ? r : 0;
	*ret_size = state.frontier.size;
	*ret_usec = moment_usec(&st.st_mtim);
	return 1;
}

static int known_write_state(struct tool_run *run, const struct verified_state *state,
			     struct sbx_error *err)
{
	const struct audit_values *values = run->values;
	_cleanup_text_ struct text path = TEXT_INIT;
	_cleanup_text_ struct text text = TEXT_INIT;
	struct sbx_error why = { .code = 0 };
	int r;

	if (!known_state_path(values, &path))
		return 0;
	r = verified_state_add_text(&text, state);
	if (r < 0)
		return sbx_error_what(err, r, "cannot keep what was verified");
	r = file_replace(AT_FDCWD, text_string(&path), text.data, text.len, 0600, &why);
	/* A user with read access only verifies the whole log each time. */
	if (r < 0 && !values->state) {
		if (run->verbosity > 0)
			log_write(&run->log, LOG_LEVEL_INFO, NULL, "%s: %s", why.what, why.why);
		return 0;
	}
	if (r < 0 && err)
		*err = why;
	return r;
}

/* ---- witnesses ---- */

static int known_read_witness(const struct audit_values *values, struct witness *ret,
			      struct sbx_error *err)
{
	_cleanup_free_ char *bytes = NULL;
	size_t n_bytes = 0;
	int r = file_read(AT_FDCWD, values->witness, WITNESS_BYTES_MAX, &bytes, &n_bytes, err);

	if (r < 0)
		return r;
	r = witness_parse(ret, bytes, n_bytes, err);
	if (r < 0 || ret->n_heads > 0)
		return r;
	return error_fill(err, -EINVAL, "the log could not be compared with anything",
			  "write checkpoints of the log into it, or leave out --witness-file",
			  "'%s' contains no head", values->witness);
}

/* Reads the log's own name; the verification finds out whether it is true. */
static int read_origin(int directory, char ret[NOTE_NAME_SIZE], struct sbx_error *err)
{
	_cleanup_segment_list_ struct segment_list list = SEGMENT_LIST_INIT;
	_cleanup_segment_ struct segment *segment = NULL;
	struct segment_about about;
	int r = segment_list(directory, &list);

	if (r == 0 && list.n == 0)
		r = -ENOENT;
	if (r < 0)
		return error_fill(err, r, NULL,
				  "name the directory of a log, and its key with --key",
				  "cannot determine which log this is");
	r = segment_open(directory, &list.files[0], &segment, err);
	if (r >= 0)
		r = segment_read_about(segment, &about, err);
	if (r < 0)
		return r;
	(void)snprintf(ret, NOTE_NAME_SIZE, CHECKPOINT_ORIGIN_PREFIX "%s", about.log_id);
	return 0;
}

/* Heads are searched by the name of the expected log, not of one that replaced it. */
static int find_origin(const struct audit_values *values, const struct verified_state *since,
		       int directory, char ret[NOTE_NAME_SIZE], struct sbx_error *err)
{
	const char *plus = values->key ? strchr(values->key, '+') : NULL;

	if (plus && (size_t)(plus - values->key) < NOTE_NAME_SIZE) {
		memcpy(ret, values->key, (size_t)(plus - values->key));
		ret[plus - values->key] = '\0';
		return 0;
	}
	if (since) {
		memcpy(ret, since->origin, NOTE_NAME_SIZE);
		return 0;
	}
	return read_origin(directory, ret, err);
}

static int known_read_journal(const struct audit_values *values, const struct verified_state *since,
			      int directory, struct witness *ret, struct sbx_error *err)
{
	char origin[NOTE_NAME_SIZE];
	struct journal_options options = { .directory = values->journal_directory,
					   .origin = origin };
	struct stat st;
	int r = find_origin(values, since, directory, origin, err);

	if (r < 0)
		return r;
	if (fstat(directory, &st) < 0)
		return sbx_error_what(err, -errno, "cannot determine the owner of the log");
	options.owner = st.st_uid;
	r = witness_read_journal(ret, &options, err);
	/* The part that was verified before was compared with the journal then. */
	if (r == 0 && since && !values->full)
		witness_drop(ret, since->frontier.size);
	return r;
}

/* ---- verdicts ---- */

static const enum tool_status statuses[] = {
	[VERIFY_INTACT] = TOOL_YES,
	[VERIFY_TAMPERED] = TOOL_NO,
	[VERIFY_INCOMPLETE] = TOOL_INCOMPLETE,
	[VERIFY_UNREADABLE] = TOOL_UNREADABLE,
};

static const char *verdict_text(enum verify_verdict verdict)
{
	return verdict == VERIFY_INTACT ? "OK" : verify_verdict_name(verdict);
}

/* ---- output ---- */

static void add_finding(struct json_writer *json, const struct sbx_error *finding)
{
	json_member_string(json, "what", finding->what);
	json_member_string(json, "why", finding->why);
	json_member_string(json, "fix", finding->fix);
}

/* ---- logs in the format of another program ---- */

static void say_seed_json(struct tool_run *run, const struct seed_report *report)
{
	struct json_writer json;

	json_begin_object(&json, &run->out);
	json_member_string(&json, "verdict", verify_verdict_name(report->verdict));
	json_member_u64(&json, "size", report->n_good);
	if (report->has_bad)
		json_member_u64(&json, "bad_line", report->bad_line);
	if (report->verdict != VERIFY_INTACT)
		add_finding(&json, &report->finding);
	json_end_line(&json);
}

static void say_seed_text(struct tool_run *run, const struct seed_report *report)
{
	text_addf(&run->out, "%s: %" PRIu64 " %s\n", verdict_text(report->verdict), report->n_good,
		  report->n_good == 1 ? "entry" : "entries");
	if (report->verdict == VERIFY_INTACT)
		text_add(&run->out,
			 "not checked: whether entries are missing at its end, or all of "
			 "it was replaced, because nothing in it is signed\n");
}

static int verify_seed(struct tool_run *run, const char *path, struct sbx_error *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct seed_report report;
	int r;

	if (fd < 0) {
		(void)sbx_error_what(err, -errno, "cannot read the log '%s'", path);
		sbx_error_fix(err, "check that it exists and can be read");
		return TOOL_UNREADABLE;
	}
	r = seed_verify(fd, &report, err);
	if (r < 0)
		return r == -ENOMEM ? r : TOOL_UNREADABLE;
	if (run->json)
		say_seed_json(run, &report);
	else if (run->verbosity >= 0)
		say_seed_text(run, &report);
	if (report.verdict != VERIFY_INTACT && err)
		*err = report.finding;
	return (int)statuses[report.verdict];
}

/* ---- this format ---- */

#define JOBS_MAX 64

static void say_json(struct tool_run *run, const struct verify_report *report)
{
	struct json_writer json;

	json_begin_object(&json, &run->out);
	json_member_string(&json, "verdict", verify_verdict_name(report->verdict));
	json_member_string(&json, "log", report->origin);
	json_member_string(&json, "key", report->is_key_own ? "own" : "given");
	json_member_u64(&json, "begin", report->begin);
	json_member_u64(&json, "size", report->size);
	json_member_u64(&json, "good_size", report->good_size);
	json_member_u64(&json, "unsigned", report->n_unsigned);
	json_member_u64(&json, "checkpoints", report->n_checkpoints);
	json_member_u64(&json, "epoch", report->epoch);
	json_member_u64(&json, "deleted", report->n_deleted);
	json_member_u64(&json, "heads", report->n_heads);
	if (report->has_bad) {
		json_member_u64(&json, "first_bad", report->first_bad);
		json_member_u64(&json, "last_bad", report->last_bad);
	}
	if (report->verdict != VERIFY_INTACT)
		add_finding(&json, &report->finding);
	json_end_line(&json);
}

/* Prints the verdict, up to where it is signed, and whether the key came from the log itself. */
static void say_text(struct tool_run *run, const struct verify_report *report)
{
	bool is_intact = report->verdict == VERIFY_INTACT;
	struct text *out = &run->out;

	text_addf(out, "%s: ", verdict_text(report->verdict));
	text_add_count(out, report->size, "record");
	if (report->begin > 0)
		text_addf(out, " (%" PRIu64 " verified before)", report->begin);
	if (report->good_size == 0)
		text_add(out, "; there is no good checkpoint");
	else if (is_intact && report->n_unsigned == 0)
		text_add(out, "; last checkpoint covers all");
	else
		text_addf(out, "; last good checkpoint covers %" PRIu64, report->good_size);
	if (report->n_unsigned > 0)
		text_addf(out, ", %" PRIu64 " not signed yet", report->n_unsigned);
	if (is_intact && report->is_key_own)
		text_add(out, "; key not pinned (--key)");
	text_add_char(out, '\n');
	if (report->n_deleted > 0)
		text_addf(out,
			  "records 0 to %" PRIu64
			  " were deleted with their archives, according to signed records\n",
			  report->n_deleted - 1);
	if (report->n_heads > 0)
		text_addf(out,
			  report->n_heads == 1 ? "%" PRIu64 " head seen elsewhere matches the log\n"
					       : "%" PRIu64 " heads seen elsewhere match the log\n",
			  report->n_heads);
}

static void show_progress(void *userdata, uint64_t done, uint64_t total)
{
	progress_show(userdata, done, total);
}

/* ---- the verb ---- */

static int open_directory(const struct audit_values *values, struct sbx_error *err)
{
	_cleanup_text_ struct text directory = TEXT_INIT;
	int r = places_directory(values, &directory, err), fd;

	if (r < 0)
		return r;
	fd = open(text_string(&directory), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	r = sbx_error_what(err, -errno, "cannot read the log '%s'", text_string(&directory));
	places_explain(values, r, err);
	return r;
}

/* An error in another input is not a verdict about the log. */
static int bad_input(int r)
{
	return r == -ENOMEM ? r : TOOL_USAGE;
}

static int verify(struct tool_run *run, struct verify_options *options, struct sbx_error *err)
{
	struct verified_state state = { .origin = "" };
	_cleanup_progress_ struct progress progress = PROGRESS_INIT;
	struct verify_options with;
	struct verify_report report;
	int r;

	tool_begin_progress(run, &progress, "verifying");
	options->now_usec = moment_now(CLOCK_REALTIME);
	with = *options;
	with.progress = show_progress;
	with.userdata = &progress;
	r = verify_directory(&with, &report, &state, err);
	progress_clear(&progress);
	if (r < 0)
		return r == -EINVAL ? TOOL_USAGE : r;
	audit_name_log(run->values, &report.finding);
	if (run->json)
		say_json(run, &report);
	else if (run->verbosity >= 0)
		say_text(run, &report);
	if (report.verdict != VERIFY_INTACT && err)
		*err = report.finding;
	/* After a finding the state is not stored, so that it is found again until it is resolved.
	 */
	if (report.verdict == VERIFY_INTACT)
		r = known_write_state(run, &state, err);
	return r < 0 ? r : (int)statuses[report.verdict];
}

/* Reads the inputs from elsewhere, which must be valid before the log is read. */
static int read_known(const struct audit_values *values, struct verify_options *options,
		      struct verified_state *since, struct witness *witness, struct sbx_error *err)
{
	int r = known_read_state(values, since, err);

	if (r < 0)
		return bad_input(r);
	if (r > 0)
		options->since = since;
	if (values->witness) {
		r = known_read_witness(values, witness, err);
		options->witness = witness;
	} else if (values->journal || values->journal_directory) {
		r = known_read_journal(values, options->since, options->directory, witness, err);
		options->witness = witness;
		/* Without the requested heads there must be no verdict, so that it cannot pass. */
		if (r < 0)
			return r == -ENOMEM ? r : TOOL_UNREADABLE;
	}
	return r < 0 ? bad_input(r) : 0;
}

static int check_usage(const struct audit_values *values, int n_operands, struct sbx_error *err)
{
	if (values->seed_format && n_operands == 0)
		return error_fill(err, -EINVAL, "it verifies one file in the seed format",
				  "write: sbx-audit verify --seed-format FILE",
				  "missing argument: --seed-format needs FILE");
	if (!values->seed_format && n_operands == 1)
		return error_fill(
			err, -EINVAL, "a log is a directory, which --log names",
			values->directory ? "write: sbx-audit verify"
					  : "write: sbx-audit verify --log DIR",
			"too many arguments: verify takes a file only with --seed-format");
	if (values->witness && (values->journal || values->journal_directory))
		return error_fill(err, -EINVAL, "the log is compared with the heads of one of them",
				  "leave one of them out",
				  "options '--witness-file' and '--journal' do not go together");
	if (values->n_jobs > JOBS_MAX)
		return error_fill(err, -EINVAL, "the maximum is 64", "write --jobs=64, or less",
				  "option '--jobs' has a value that is too large");
	return 0;
}

int audit_verb_verify(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	const struct audit_values *values = run->values;
	_cleanup_witness_ struct witness witness = WITNESS_INIT;
	_cleanup_close_ int directory = -EBADF;
	struct verified_state since = { .origin = "" };
	struct verify_options options = { .verifier = values->key,
					  .is_full = values->full,
					  .n_jobs = (unsigned)values->n_jobs };
	int r;

	if (check_usage(values, n_operands, err) < 0)
		return TOOL_USAGE;
	if (values->seed_format)
		return verify_seed(run, operands[0], err);
	directory = open_directory(values, err);
	if (directory < 0)
		return directory == -ENOMEM ? directory : TOOL_UNREADABLE;
	options.directory = directory;
	r = read_known(values, &options, &since, &witness, err);
	return r != 0 ? r : verify(run, &options, err);
}
