/* SPDX-License-Identifier: MIT */

/*
 * Verification of the log before the service writes to it
 *
 * If the service refused to start on a broken log, an attacker could stop it by changing one byte.
 * So a break is recorded in the log itself and reported, and the service accepts records all the
 * same. The verified position is kept in the log's directory only for speed: an attacker with write
 * access there can change both. Proof needs a copy that was kept elsewhere.
 */

#include <errno.h>
#include <stdlib.h>

#include "audit/verify.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "collect/collect-internal.h"

#define STATE_NAME "verified"
#define STATE_BYTES_MAX 16384

static bool read_state(int directory, struct verified_state *ret)
{
	_cleanup_free_ char *bytes = NULL;
	size_t n_bytes = 0;

	return file_read_regular(directory, STATE_NAME, STATE_BYTES_MAX, &bytes, &n_bytes, NULL) ==
		       0 &&
	       verified_state_parse(bytes, n_bytes, ret, NULL) == 0;
}

static int write_state(int directory, const struct verified_state *state, struct sbx_error *err)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	int r = verified_state_add_text(&text, state);

	if (r < 0)
		return sbx_error_what(err, r, "cannot save the state of the verification");
	return file_replace(directory, STATE_NAME, text.data, text.len, 0600, err);
}

/* Writes the members of the record's object, without the braces. */
static int say(struct audit_log *audit, const struct verify_report *report, struct sbx_error *err)
{
	bool is_intact = report->verdict == VERIFY_INTACT;
	_cleanup_text_ struct text members = TEXT_INIT;
	struct json_writer json;

	json_write(&json, &members);
	json_member_string(&json, "result", verify_verdict_name(report->verdict));
	json_member_u64(&json, "begin", report->begin);
	json_member_u64(&json, "size", report->size);
	if (!is_intact) {
		json_member_u64(&json, "good_size", report->good_size);
		json_member_string(&json, "why", report->finding.what);
	}
	if (report->has_bad) {
		json_member_u64(&json, "first_bad", report->first_bad);
		json_member_u64(&json, "last_bad", report->last_bad);
	}
	if (text_status(&members) < 0)
		return sbx_error_what(err, -ENOMEM, "cannot record the result of the verification");
	return audit_log_say(audit, is_intact ? "log_verified" : "chain_broken", members.data, err);
}

static void tell(const struct verify_report *report, const struct log *log)
{
	const struct sbx_error *finding = &report->finding;

	log_write(log, LOG_LEVEL_ERROR, NULL, "the log is %s: %s%s%s; %s",
		  verify_verdict_name(report->verdict), finding->what,
		  finding->why[0] != '\0' ? ": " : "", finding->why, finding->fix);
}

int collect_verify(struct audit_log *audit, int directory, const struct log *log,
		   struct sbx_error *err)
{
	/* Pass no time: a killed service leaves old records unsigned, which would count as a
	 * break. */
	struct verify_options options = { .directory = directory, .now_usec = 0 };
	struct verified_state since, state;
	struct verify_report report;
	int r;

	if (read_state(directory, &since))
		options.since = &since;
	r = verify_directory(&options, &report, &state, err);
	if (r < 0)
		return r;
	if (report.verdict != VERIFY_INTACT)
		tell(&report, log);
	r = say(audit, &report, err);
	if (r < 0)
		return r;
	r = audit_log_checkpoint(audit, err);
	if (r < 0 || report.verdict != VERIFY_INTACT)
		return r;
	r = write_state(directory, &state, err);
	return r < 0 ? r : 1;
}
