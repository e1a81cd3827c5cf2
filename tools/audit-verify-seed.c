/* SPDX-License-Identifier: MIT */

/*
 * sbx-audit verify --seed-format: a log of JSON lines that another program has written
 */

#include "audit-verify.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>

#include <sbx/error.h>

#include "audit/seed.h"
#include "base/json.h"
#include "tool.h"

static void say_json(struct tool_run *run, const struct seed_report *report)
{
	struct json_writer json;

	json_write(&json, &run->out);
	json_add_object(&json);
	json_member_string(&json, "verdict", verify_verdict_name(report->verdict));
	json_member_u64(&json, "size", report->n_good);
	if (report->has_bad)
		json_member_u64(&json, "bad_line", report->bad_line);
	if (report->verdict != VERIFY_INTACT)
		audit_add_finding(&json, &report->finding);
	json_end_object(&json);
	text_add_char(&run->out, '\n');
}

static void say_text(struct tool_run *run, const struct seed_report *report)
{
	text_addf(&run->out, "%s: %" PRIu64 " entries\n", audit_verdict_text(report->verdict),
		  report->n_good);
	if (report->verdict == VERIFY_INTACT)
		text_add(&run->out,
			 "not checked: whether entries are missing at its end, or all of "
			 "it was replaced, because nothing in it is signed\n");
}

int audit_verify_seed(struct tool_run *run, const char *path, struct sbx_error *err)
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
		say_json(run, &report);
	else if (run->verbosity >= 0)
		say_text(run, &report);
	if (report.verdict != VERIFY_INTACT && err)
		*err = report.finding;
	return audit_verdict_status(report.verdict);
}
