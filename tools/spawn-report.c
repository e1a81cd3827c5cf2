/* SPDX-License-Identifier: MIT */

/*
 * --report: one JSON object about a finished run
 *
 * Unknown values are null, never 0. The target is checked and opened before the command runs; after
 * the run the exit status is the command's, even if the report fails.
 */

#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/json.h"
#include "base/path.h"
#include "kernel/probe.h"
#include "tool.h"

static void add_time(struct json_writer *json, const char *name, const struct timeval *time)
{
	json_member_u64(json, name, (uint64_t)time->tv_sec * 1000000 + (uint64_t)time->tv_usec);
}

static void add_usage(struct json_writer *json, const struct rusage *usage)
{
	json_member_object(json, "usage");
	add_time(json, "user_usec", &usage->ru_utime);
	add_time(json, "system_usec", &usage->ru_stime);
	json_member_u64(json, "max_rss_bytes", (uint64_t)usage->ru_maxrss * 1024);
	json_member_u64(json, "minor_faults", (uint64_t)usage->ru_minflt);
	json_member_u64(json, "major_faults", (uint64_t)usage->ru_majflt);
	json_member_u64(json, "voluntary_switches", (uint64_t)usage->ru_nvcsw);
	json_member_u64(json, "involuntary_switches", (uint64_t)usage->ru_nivcsw);
	json_end_object(json);
}

void spawn_add_result(struct json_writer *json, const struct spawn_run *run)
{
	const struct spawn_result *result = &run->result;

	json_member_u64(json, "status", (uint64_t)result->status);
	json_member_string(json, "reason", spawn_reason_name(result->reason));
	json_member_string(json, "protection_lost", result->lost);
	/* Only limits whose enforcement is known. */
	json_member_array(json, "limits_reached");
	for (unsigned i = 0; i < N_LIMITS; i++)
		if (result->reached & (1u << i))
			json_add_string(json, limit_name((enum limit)i));
	json_end_array(json);
	/* Directories that have become git repositories. */
	json_member_array(json, "new_repositories");
	for (size_t i = 0; i < run->n_repositories; i++)
		json_add_string(json, run->repositories[i]->source);
	json_end_array(json);
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

/* An OOM kill is only visible if a cgroup counts it. */
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
	json_member_object(json, "limits");
	for (int i = 0; i < N_LIMITS; i++) {
		const char *part = limit_part_held((enum limit)i, plan->limits[i].holder);

		if (!plan->limits[i].is_set)
			continue;
		json_member_object(json, limit_name((enum limit)i));
		json_member_u64(json, "value", plan->limits[i].value);
		json_member_string(json, "held_by", holder_name(plan->limits[i].holder));
		json_member_if_set(json, "of", part);
		json_end_object(json);
	}
	json_end_object(json);
}

static void add_plan(struct json_writer *json, const struct plan *plan)
{
	json_member_string(json, "tier", tier_name(plan->tier));
	plan_write_layers(json, plan);
	add_limits(json, plan);
	spawn_add_digest(json, plan);
}

/* Files that the command made and that the archive of --out leaves out. */
static void add_left_out(struct json_writer *json, const struct output_result *archived)
{
	json_add_name(json, "left_out");
	if (archived->n_left_out == 0) {
		json_add_null(json);
		return;
	}
	json_add_object(json);
	json_member_u64(json, "count", archived->n_left_out);
	json_member_string(json, "first", archived->first_left_out);
	json_end_object(json);
}

static void add_report(struct text *out, const struct spawn_run *run)
{
	struct json_writer json;

	json_begin_object(&json, out);
	json_member_string(&json, "id", run->request.id);
	json_member_string(&json, "state",
			   sandbox_state_name(run->result.reason == SPAWN_REASON_SETUP
						      ? SANDBOX_FAILED
						      : SANDBOX_DESTROYED));
	spawn_add_result(&json, run);
	add_memory(&json, run);
	add_usage(&json, &run->result.usage);
	add_plan(&json, run->plan);
	add_left_out(&json, &run->changes.archived);
	spawn_add_denials(&json, run);
	json_end_line(&json);
}

static int fail_to_open(int code, const char *path, const char *why, const char *fix,
			struct sbx_error *err)
{
	return error_fill(err, code, why, fix, "cannot write the report '%s'", path);
}

/* File types that neither accept a report nor may be replaced. */
static const struct {
	mode_t kind;
	int code;
	const char *why, *fix;
} refused[] = {
	{ S_IFDIR, -EISDIR, "it is a directory", "name a file in it" },
	{ S_IFLNK, -ELOOP, "it is a symbolic link, which would be replaced",
	  "name its target; for an open file use --report-fd" },
	{ S_IFSOCK, -ENXIO, "it is a socket", "connect to it, and use --report-fd" },
	{ S_IFBLK, -EINVAL, "it is a block device", "name a file" },
};

/* Opens a pipe or device by the fd that was checked. O_NONBLOCK: a pipe without a reader fails
 * before the command runs, and does not block. */
static int open_as_it_is(struct spawn_run *run, int found, const char *path, struct sbx_error *err)
{
	char self[64];

	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", found);
	run->report = open(self, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (run->report >= 0 && fcntl(run->report, F_SETFL, 0) == 0)
		return 0;
	return errno == ENXIO
		       ? fail_to_open(-ENXIO, path, "the FIFO has no reader",
				      "start the reader first", err)
		       : fail_to_open(-errno, path, NULL, "name a file, or use --report-fd", err);
}

/* Can a new file replace this name? Its owner must stay, and only root can give files away. */
static int check_file(const struct spawn_run *run, const char *path, const struct stat *before,
		      struct sbx_error *err)
{
	if (before && before->st_uid != geteuid() && geteuid() != 0)
		return fail_to_open(-EPERM, path, "it is owned by another user",
				    "name another file, or use --report-fd", err);
	if (faccessat(run->report_directory, ".", W_OK | X_OK, AT_EACCESS) < 0)
		return fail_to_open(-errno, path, NULL,
				    "name a file in a writable directory, or use --report-fd", err);
	return 0;
}

/* The file that exists at the path decides how the report is written. */
static int look_at_place(struct spawn_run *run, const char *path, struct sbx_error *err)
{
	const char *name = path_last(path);
	_cleanup_close_ int found =
		openat(run->report_directory, *name ? name : ".", O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (found < 0 && errno == ENOENT)
		return check_file(run, path, NULL, err);
	if (found < 0 || fstat(found, &st) < 0)
		return fail_to_open(-errno, path, NULL, "use another with --report", err);
	for (size_t i = 0; i < N_ELEMENTS(refused); i++)
		if ((st.st_mode & S_IFMT) == refused[i].kind)
			return fail_to_open(refused[i].code, path, refused[i].why, refused[i].fix,
					    err);
	return S_ISREG(st.st_mode) ? check_file(run, path, &st, err)
				   : open_as_it_is(run, found, path, err);
}

int spawn_check_report(const struct spawn_values *values, struct sbx_error *err)
{
	int fd = values->report_fd, flags = fd < 0 ? O_WRONLY : fcntl(fd, F_GETFL);

	if (flags >= 0 && !(flags & O_PATH) && (flags & O_ACCMODE) != O_RDONLY)
		return 0;
	(void)sbx_error_what(err, -EBADF, "cannot write the report to file descriptor %d", fd);
	sbx_error_why(err, "it is not open for writing");
	sbx_error_fix(err, "open it in the shell: --report-fd=%d %d>FILE",
		      fd > STDERR_FILENO ? fd : 3, fd > STDERR_FILENO ? fd : 3);
	return -EBADF;
}

int spawn_open_report(struct spawn_run *run, struct sbx_error *err)
{
	const char *path = run->values->report;
	_cleanup_free_ char *directory =
		path ? strndup(path, (size_t)(path_last(path) - path)) : NULL;
	const char *parent, *real;
	int r;

	if (!path)
		return 0;
	if (!directory)
		return spawn_no_memory(err);
	r = spawn_read_path(run, "--report", *directory ? directory : ".", &parent, err);
	if (r < 0)
		return r;
	run->report_directory = host_open_directory("--report", parent, &run->arena, &real, err);
	return run->report_directory < 0 ? run->report_directory : look_at_place(run, path, err);
}

static int write_to(int fd, const struct text *report, const char *fix, struct sbx_error *err)
{
	int r = fd_write_all(fd, report->data, report->len);

	return r < 0 ? error_fill(err, r, NULL, fix, "cannot write the report") : r;
}

static int write_report(const struct spawn_run *run, struct sbx_error *err)
{
	_cleanup_text_ struct text out = TEXT_INIT;
	const char *path = run->values->report;
	int r, last = 0;

	add_report(&out, run);
	r = text_status(&out);
	if (r < 0)
		return sbx_error_what(err, r, "cannot write the report");
	if (run->report >= 0)
		r = write_to(run->report, &out, "check where --report goes", err);
	else if (path)
		r = file_update(run->report_directory, path_last(path), out.data, out.len, err);
	if (run->values->report_fd >= 0)
		last = write_to(run->values->report_fd, &out, "check where --report-fd goes",
				r < 0 ? NULL : err);
	return r < 0 ? r : last;
}

void spawn_write_report(const struct spawn_run *run)
{
	struct sbx_error warning = { .code = 0 };

	if (!run->values->report && run->values->report_fd < 0)
		return;
	if (write_report(run, &warning) < 0) {
		warning.level = SBX_LEVEL_WARN;
		tool_tell(run->tool, &warning);
	}
}
