/* SPDX-License-Identifier: MIT */

/*
 * --report: one JSON object about a run that is over
 *
 * What could not be observed is null, never zero.
 */

#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/json.h"
#include "base/path.h"
#include "policy/request.h"
#include "tool.h"

static void add_time(struct json_writer *json, const char *name, const struct timeval *time)
{
	json_member_u64(json, name, (uint64_t)time->tv_sec * 1000000 + (uint64_t)time->tv_usec);
}

static void add_usage(struct json_writer *json, const struct rusage *usage)
{
	json_add_name(json, "usage");
	json_add_object(json);
	add_time(json, "user_usec", &usage->ru_utime);
	add_time(json, "system_usec", &usage->ru_stime);
	json_member_u64(json, "max_rss_bytes", (uint64_t)usage->ru_maxrss * 1024);
	json_member_u64(json, "minor_faults", (uint64_t)usage->ru_minflt);
	json_member_u64(json, "major_faults", (uint64_t)usage->ru_majflt);
	json_member_u64(json, "voluntary_switches", (uint64_t)usage->ru_nvcsw);
	json_member_u64(json, "involuntary_switches", (uint64_t)usage->ru_nivcsw);
	json_end_object(json);
}

/* What must not be there, and was. */
static void add_appeared(struct json_writer *json, const struct spawn_run *run)
{
	json_add_name(json, "appeared");
	json_add_array(json);
	for (const struct appeared *at = run->appeared; at; at = at->next) {
		json_add_object(json);
		json_member_string(json, "path", at->path);
		json_member_string(json, "kept_as", at->name);
		json_end_object(json);
	}
	json_end_array(json);
}

void spawn_add_result(struct json_writer *json, const struct spawn_run *run)
{
	const struct spawn_result *result = &run->result;

	json_member_u64(json, "status", (uint64_t)result->status);
	json_member_string(json, "reason", spawn_reason_name(result->reason));
	json_member_string(json, "protection_lost", result->lost);
	add_appeared(json, run);
	json_add_name(json, "exit");
	if (result->exit_code >= 0)
		json_add_i64(json, result->exit_code);
	else
		json_add_null(json);
	json_add_name(json, "signal");
	if (result->signal > 0)
		json_add_i64(json, result->signal);
	else
		json_add_null(json);
	json_member_u64(json, "usec", result->usec);
}

/* An out-of-memory kill is seen only where a cgroup counts it. */
static void add_memory(struct json_writer *json, const struct spawn_run *run)
{
	const struct spawn_result *result = &run->result;

	json_add_name(json, "oom");
	if (result->is_peak_of_cgroup)
		json_add_bool(json, result->reason == SPAWN_REASON_MEMORY);
	else
		json_add_null(json);
	json_member_u64(json, "peak_memory_bytes", result->peak_memory_bytes);
	json_member_string(json, "peak_memory_of",
			   result->is_peak_of_cgroup ? "cgroup" : "largest process");
	json_member_bool(json, "time_limit", result->reason == SPAWN_REASON_TIME);
}

static void add_limits(struct json_writer *json, const struct plan *plan)
{
	json_add_name(json, "limits");
	json_add_object(json);
	for (int i = 0; i < N_LIMITS; i++) {
		if (!plan->limits[i].is_set)
			continue;
		json_add_name(json, limit_name((enum limit)i));
		json_add_object(json);
		json_member_u64(json, "value", plan->limits[i].value);
		json_member_string(json, "held_by", holder_name(plan->limits[i].holder));
		json_end_object(json);
	}
	json_end_object(json);
}

static void add_plan(struct json_writer *json, const struct plan *plan)
{
	_cleanup_text_ struct text hex = TEXT_INIT;

	json_member_string(json, "tier", tier_name(plan->tier));
	json_add_name(json, "layers");
	json_add_array(json);
	for (unsigned bit = 1; bit & LAYERS_ALL; bit <<= 1)
		if (plan->layers & bit)
			json_add_string(json, layer_name(bit));
	json_end_array(json);
	add_limits(json, plan);
	if (plan->has_digest)
		digest_add_hex(&hex, plan->digest);
	json_member_string(json, "policy_digest", plan->has_digest ? text_string(&hex) : NULL);
}

static void add_report(struct text *out, const struct spawn_run *run)
{
	struct json_writer json;

	json_write(&json, out);
	json_add_object(&json);
	json_member_string(&json, "id", run->request.id);
	json_member_string(&json, "state",
			   sandbox_state_name(run->result.reason == SPAWN_REASON_SETUP
						      ? SANDBOX_FAILED
						      : SANDBOX_DESTROYED));
	spawn_add_result(&json, run);
	add_memory(&json, run);
	add_usage(&json, &run->result.usage);
	add_plan(&json, run->plan);
	json_add_name(&json, "denials");
	json_add_null(&json);
	json_end_object(&json);
	text_add_char(out, '\n');
}

int spawn_open_report(struct spawn_run *run, struct sbx_error *err)
{
	const char *path = run->values->report;
	_cleanup_free_ char *folder = path ? strndup(path, (size_t)(path_last(path) - path)) : NULL;
	int r;

	if (!path)
		return 0;
	if (!folder)
		return spawn_no_memory(err);
	run->report_folder = open(*folder ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (run->report_folder >= 0)
		return 0;
	r = sbx_error_what(err, -errno, "cannot open the folder of the report '%s'", path);
	sbx_error_fix(err, "make it, or name another by --report");
	return r;
}

int spawn_write_report(const struct spawn_run *run, struct sbx_error *err)
{
	_cleanup_text_ struct text out = TEXT_INIT;
	int r;

	if (!run->values->report && run->values->report_fd <= 0)
		return 0;
	add_report(&out, run);
	r = text_status(&out);
	if (r == 0 && run->values->report)
		return file_update(run->report_folder, path_last(run->values->report), out.data,
				   out.len, err);
	if (r == 0)
		r = fd_write_all(run->values->report_fd, out.data, out.len);
	if (r < 0) {
		(void)sbx_error_what(err, r, "cannot write the report");
		sbx_error_fix(err, "check where --report-fd goes");
	}
	return r;
}
