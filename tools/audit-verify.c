/* SPDX-License-Identifier: MIT */

/*
 * sbx-audit verify: is the log what was written there, and all of it?
 *
 * Unlike the other verbs it takes in nothing first and writes nothing into the log's folder: what
 * it would sign on the way could not be doubted any more.
 */

#include "audit-verify.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <time.h>

#include <sbx/error.h>

#include "base/json.h"
#include "base/progress.h"
#include "tool.h"

#define JOBS_MAX 64
#define USEC_PER_SEC UINT64_C(1000000)
#define NSEC_PER_USEC 1000

static const enum tool_status statuses[] = {
	[VERIFY_INTACT] = TOOL_YES,
	[VERIFY_TAMPERED] = TOOL_NO,
	[VERIFY_INCOMPLETE] = TOOL_INCOMPLETE,
	[VERIFY_UNREADABLE] = TOOL_UNREADABLE,
};

int audit_verdict_status(enum verify_verdict verdict)
{
	return (int)statuses[verdict];
}

const char *audit_verdict_text(enum verify_verdict verdict)
{
	return verdict == VERIFY_INTACT ? "OK" : verify_verdict_name(verdict);
}

/* ---- what is said ---- */

void audit_add_finding(struct json_writer *json, const struct sbx_error *finding)
{
	json_member_string(json, "what", finding->what);
	json_member_string(json, "why", finding->why);
	json_member_string(json, "fix", finding->fix);
}

static void say_json(struct tool_run *run, const struct verify_report *report)
{
	struct json_writer json;

	json_write(&json, &run->out);
	json_add_object(&json);
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
		audit_add_finding(&json, &report->finding);
	json_end_object(&json);
	text_add_char(&run->out, '\n');
}

/* What was found, how far it is signed, and whether that key could be anybody's. */
static void say_text(struct tool_run *run, const struct verify_report *report)
{
	bool is_intact = report->verdict == VERIFY_INTACT;
	struct text *out = &run->out;

	text_addf(out, "%s: %" PRIu64 " records", audit_verdict_text(report->verdict),
		  report->size);
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
			  "records 0 to %" PRIu64 " were deleted with their archives, as signed "
			  "records say\n",
			  report->n_deleted - 1);
	if (report->n_heads > 0)
		text_addf(out, "%" PRIu64 " heads seen elsewhere match the log\n", report->n_heads);
}

static void say(struct tool_run *run, const struct verify_report *report)
{
	if (run->json)
		say_json(run, report);
	else if (run->verbosity >= 0)
		say_text(run, report);
}

static void show_progress(void *userdata, uint64_t done, uint64_t total)
{
	progress_show(userdata, done, total);
}

/* ---- the verb ---- */

static uint64_t now_usec(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * USEC_PER_SEC + (uint64_t)now.tv_nsec / NSEC_PER_USEC;
}

static int open_folder(const struct audit_values *values, struct sbx_error *err)
{
	_cleanup_text_ struct text folder = TEXT_INIT;
	int r = places_folder(values, &folder, err), fd;

	if (r < 0)
		return r;
	fd = open(text_string(&folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	r = sbx_error_what(err, -errno, "cannot read the log '%s'", text_string(&folder));
	sbx_error_fix(err, "%s",
		      r == -ENOENT ? "name the log's directory with --log, or make a log with "
				     "'sbx-audit setup'"
				   : "check the permissions of the directory");
	return r;
}

/* A mistake in what is given from elsewhere is no verdict on the log. */
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
	options->now_usec = now_usec();
	with = *options;
	with.progress = show_progress;
	with.userdata = &progress;
	r = verify_folder(&with, &report, &state, err);
	progress_clear(&progress);
	if (r < 0)
		return r == -EINVAL ? TOOL_USAGE : r;
	say(run, &report);
	if (report.verdict != VERIFY_INTACT && err)
		*err = report.finding;
	/* What was found once is found again, until somebody has looked at it. */
	if (report.verdict == VERIFY_INTACT)
		r = known_write_state(run, &state, err);
	return r < 0 ? r : audit_verdict_status(report.verdict);
}

/* What was given from elsewhere, which has to be right before the log is looked at. */
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
		r = known_read_journal(values, options->since, options->folder, witness, err);
		options->witness = witness;
		/* Without heads there is no verdict, and no other way to pass either. */
		if (r < 0)
			return r == -ENOMEM ? r : TOOL_UNREADABLE;
	}
	return r < 0 ? bad_input(r) : 0;
}

static int check_usage(const struct audit_values *values, int n_operands, struct sbx_error *err)
{
	const char *why = NULL;

	if (values->seed_format != (n_operands == 1))
		why = "a file is given with --seed-format, and only then";
	else if (values->witness && (values->journal || values->journal_directory))
		why = "--witness-file and --journal are two ways to say what was seen elsewhere";
	else if (values->n_jobs > JOBS_MAX)
		why = "--jobs is a number up to 64";
	if (!why)
		return 0;
	(void)sbx_error_what(err, -EINVAL, "cannot verify that");
	sbx_error_why(err, "%s", why);
	sbx_error_fix(err, "see sbx-audit verify --help");
	return -EINVAL;
}

int audit_verb_verify(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	const struct audit_values *values = run->values;
	_cleanup_witness_ struct witness witness = WITNESS_INIT;
	_cleanup_close_ int folder = -EBADF;
	struct verified_state since = { .origin = "" };
	struct verify_options options = { .verifier = values->key,
					  .is_full = values->full,
					  .n_jobs = (unsigned)values->n_jobs };
	int r;

	if (check_usage(values, n_operands, err) < 0)
		return TOOL_USAGE;
	if (values->seed_format)
		return audit_verify_seed(run, operands[0], err);
	folder = open_folder(values, err);
	if (folder < 0)
		return folder == -ENOMEM ? folder : TOOL_UNREADABLE;
	options.folder = folder;
	r = read_known(values, &options, &since, &witness, err);
	return r != 0 ? r : verify(run, &options, err);
}
