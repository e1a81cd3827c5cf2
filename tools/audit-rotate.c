/* SPDX-License-Identifier: MIT */

/*
 * sbx-audit rotate, retain, export --archive: segments, their retention, and copies of them
 *
 * The policy's section audit has the retention; options override it. lib/audit does the work
 * (audit/retain.h); this prints the results.
 */

#include "audit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "audit/archive.h"
#include "base/json.h"
#include "base/moment.h"
#include "base/path.h"
#include "base/progress.h"
#include "base/units.h"
#include "tool.h"

/* ---- rotate ---- */

static void say_rotated(struct tool_run *run, bool is_rotated, uint64_t size)
{
	struct json_writer json;

	if (run->json) {
		json_begin_object(&json, &run->out);
		json_member_bool(&json, "rotated", is_rotated);
		json_member_u64(&json, "size", size);
		json_end_line(&json);
	} else if (run->verbosity >= 0 && is_rotated) {
		text_addf(&run->out, "a new segment begins with record %" PRIu64 "\n", size);
	} else if (run->verbosity > 0) {
		text_add(&run->out, "no segment has to be closed\n");
	}
}

int audit_verb_rotate(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	_cleanup_audit_log_ struct audit_log *log = NULL;
	const struct audit_values *values = run->values;
	struct keeping keeping;
	bool is_new = false;
	int r = places_open(run, &log, err);

	if (r < 0)
		return places_status_of(r);
	r = values->if_due ? keeping_read(values, &keeping, err) : 0;
	if (r < 0)
		return places_status_of(r);
	r = values->if_due
		    ? audit_log_rotate_if_due(log, keeping.rotation, keeping.segment_bytes, err)
		    : audit_log_rotate(log, err);
	if (r < 0)
		return places_status_of(r);
	is_new = r > 0;
	r = audit_log_checkpoint(log, err);
	if (r < 0)
		return places_status_of(r);
	say_rotated(run, is_new, audit_log_size(log));
	return TOOL_YES;
}

/* ---- retain ---- */

static const struct {
	const char *name; /* name in JSON */
	const char *done;
	const char *would;
	const char *reason;
} actions[] = {
	[RETAIN_ARCHIVE] = { "archive", "archived", "would archive", "" },
	[RETAIN_DELETE_AGE] = { "delete", "deleted", "would delete", ": it is too old" },
	[RETAIN_DELETE_SIZE] = { "delete", "deleted", "would delete", ": there is no room" },
};

static const char *const level_names[] = {
	[RETAIN_LEVEL_FINE] = "fine",
	[RETAIN_LEVEL_WARNING] = "warning",
	[RETAIN_LEVEL_CRITICAL] = "critical",
};

struct retaining {
	struct tool_run *run;
	struct progress progress;
};

static void tell_json(struct tool_run *run, enum retain_action action,
		      const struct segment_file *file, const struct sbx_error *problem)
{
	const struct audit_values *values = run->values;
	struct json_writer json;

	json_begin_object(&json, &run->out);
	json_member_string(&json, "action", actions[action].name);
	json_member_string(&json, "file", file->name);
	if (action != RETAIN_ARCHIVE)
		json_member_string(&json, "reason", action == RETAIN_DELETE_AGE ? "age" : "size");
	json_member_bool(&json, "done", !problem && !values->dry_run);
	if (problem) {
		struct sbx_error told = *problem;

		audit_name_log(values, &told);
		json_member_string(&json, "what", told.what);
		json_member_string(&json, "why", told.why);
		json_member_string(&json, "fix", told.fix);
	}
	json_end_line(&json);
}

static void tell(void *userdata, enum retain_action action, const struct segment_file *file,
		 const struct sbx_error *problem)
{
	struct retaining *retaining = userdata;
	struct tool_run *run = retaining->run;
	const struct audit_values *values = run->values;

	progress_clear(&retaining->progress);
	if (problem)
		tool_tell(run, problem);
	if (run->json)
		tell_json(run, action, file, problem);
	else if (!problem && run->verbosity >= 0)
		text_addf(&run->out, "%s %s%s\n",
			  values->dry_run ? actions[action].would : actions[action].done,
			  file->name, actions[action].reason);
}

static void show_read(void *userdata, uint64_t n_read)
{
	struct retaining *retaining = userdata;

	progress_show(&retaining->progress, n_read, 0);
}

static void say_report(struct tool_run *run, const struct retain_report *report, uint64_t max_bytes)
{
	struct json_writer json;

	if (run->json) {
		json_begin_object(&json, &run->out);
		json_member_u64(&json, "archived", report->n_archived);
		json_member_u64(&json, "deleted", report->n_deleted);
		json_member_u64(&json, "problems", report->n_problems);
		json_member_u64(&json, "used_bytes", report->n_bytes);
		json_member_u64(&json, "max_bytes", max_bytes);
		json_member_string(&json, "level", level_names[report->level]);
		json_member_bool(&json, "clock_doubted", report->doubt.code < 0);
		json_end_line(&json);
		return;
	}
	if (run->verbosity <= 0)
		return;
	text_addf(&run->out, "the log has %" PRIu64 " bytes, it may have ", report->n_bytes);
	units_add_size(&run->out, max_bytes);
	text_add_char(&run->out, '\n');
}

static int preview(struct tool_run *run, const struct retain_options *options,
		   struct retain_report *ret, struct sbx_error *err)
{
	_cleanup_rows_ struct rows rows = ROWS_INIT;
	int r = rows_open(run->values, &rows, err);

	return r < 0 ? r : retain_preview(rows.directory, options, ret, err);
}

static int retain(struct retaining *retaining, const struct retain_options *options,
		  struct retain_report *ret, struct sbx_error *err)
{
	_cleanup_audit_log_ struct audit_log *log = NULL;
	int r = places_open(retaining->run, &log, err);

	if (r < 0)
		return r;
	tool_begin_progress(retaining->run, &retaining->progress, "reading segments");
	r = audit_log_retain(log, options, ret, err);
	progress_clear(&retaining->progress);
	return r < 0 ? r : audit_log_checkpoint(log, err);
}

int audit_verb_retain(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	const struct audit_values *values = run->values;
	struct retaining retaining = { .run = run, .progress = PROGRESS_INIT };
	struct keeping keeping = { .rotation = ROTATION_DAILY };
	struct retain_report report = { .n_archived = 0 };
	int r = keeping_read(values, &keeping, err);
	const struct retain_options options = {
		.policy = keeping.policy,
		.now_usec = moment_now(CLOCK_REALTIME),
		.trusts_clock = values->trust_clock,
		.tell = tell,
		.progress = show_read,
		.userdata = &retaining,
	};

	if (r >= 0)
		r = values->dry_run ? preview(run, &options, &report, err)
				    : retain(&retaining, &options, &report, err);
	if (r < 0)
		return places_status_of(r);
	if (report.doubt.code < 0)
		tool_tell(run, &report.doubt);
	say_report(run, &report, options.policy.max_bytes);
	return report.n_problems > 0 ? TOOL_NO : TOOL_YES;
}

/* ---- export --archive ---- */

/* An export: some files of the log, each read in one transaction. */
struct copying {
	struct segment **segments;
	size_t n;
	uint64_t size;	    /* size of the log at its end */
	uint64_t note_size; /* size at the last checkpoint */
	store_visit_note visit;
	void *visitor;
};

static void copying_free(struct copying *copying)
{
	for (size_t i = 0; i < copying->n; i++)
		copying->segments[i] = segment_free(copying->segments[i]);
	free(copying->segments);
}
#define _cleanup_copying_ _cleanup_(copying_free)

static int each_row(void *userdata, store_visit visit, void *visitor, struct sbx_error *err)
{
	const struct copying *copying = userdata;
	int r = 0;

	for (size_t i = 0; r == 0 && i < copying->n; i++)
		r = segment_each(copying->segments[i], 0, copying->size - 1, visit, visitor, err);
	return r;
}

/* A segment repeats the last checkpoint of the previous one; skip that. */
static int take_note(void *userdata, uint64_t size, const char *note, size_t n_bytes,
		     struct sbx_error *err)
{
	struct copying *copying = userdata;

	if (size <= copying->note_size || size > copying->size)
		return 0;
	copying->note_size = size;
	return copying->visit(copying->visitor, size, note, n_bytes, err);
}

static int each_note(void *userdata, store_visit_note visit, void *visitor, struct sbx_error *err)
{
	struct copying *copying = userdata;
	int r = 0;

	copying->visit = visit;
	copying->visitor = visitor;
	copying->note_size = 0;
	for (size_t i = 0; r == 0 && i < copying->n; i++)
		r = segment_each_checkpoint(copying->segments[i], 0, take_note, copying, err);
	return r;
}

/* All segments, or the one that --segment names. */
static int choose(const struct rows *rows, const char *text, size_t *ret_first, size_t *ret_n,
		  struct sbx_error *err)
{
	bool is_number;
	uint64_t first;

	*ret_first = 0;
	*ret_n = rows->list.n;
	if (!text)
		return 0;
	is_number = units_parse_count(text, &first, NULL) >= 0;
	for (size_t i = 0; is_number && i < rows->list.n; i++)
		if (rows->list.files[i].first == first) {
			*ret_first = i;
			*ret_n = 1;
			return 0;
		}
	return error_fill(err, -EINVAL, "a segment is named by the number of its first record",
			  "give the number in the name of a file of the log's directory",
			  "no segment begins with record %.40s", text);
}

static int open_all(const struct rows *rows, const char *segment, struct copying *copying,
		    struct archive_source *source, struct sbx_error *err)
{
	struct segment_about last = { .size = 0 };
	size_t first = 0, n = 0;
	int r = choose(rows, segment, &first, &n, err);

	if (r < 0)
		return r;
	copying->segments = calloc(n, sizeof(*copying->segments));
	if (!copying->segments)
		return sbx_error_what(err, -ENOMEM, "cannot read the log");
	for (; copying->n < n; copying->n++) {
		r = rows_open_segment(rows, first + copying->n, &copying->segments[copying->n],
				      err);
		if (r < 0)
			return r;
	}
	r = segment_read_about(copying->segments[0], &source->about, err);
	if (r >= 0)
		r = segment_read_about(copying->segments[n - 1], &last, err);
	if (r < 0)
		return r;
	source->about.size = copying->size = last.size;
	if (source->about.size > source->about.first)
		return 0;
	return error_fill(err, -ERANGE, "it has no records yet",
			  "leave out --segment to export the whole log",
			  "cannot make an archive of this segment");
}

/* An existing file of this name is replaced when the new one is complete. */
static int write_file(const char *path, const struct archive_source *source, struct sbx_error *err)
{
	_cleanup_text_ struct text name = TEXT_INIT;
	_cleanup_close_ int fd = -EBADF;
	int r;

	text_addf(&name, "%s.new", path);
	if (text_status(&name) < 0)
		return sbx_error_what(err, -ENOMEM, "cannot write the archive '%s'", path);
	(void)unlink(name.data);
	fd = open(name.data, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_fill(err, -errno, NULL, "check the directory and its permissions",
				  "cannot write the archive '%s'", path);
	r = audit_archive_write(fd, path, source, err);
	if (r == 0 && (fsync(fd) < 0 || rename(name.data, path) < 0))
		r = sbx_error_what(err, -errno, "cannot write the archive '%s'", path);
	if (r < 0)
		(void)unlink(name.data);
	return r;
}

static size_t length_without(const char *name, size_t len, const char *ending)
{
	size_t n = strlen(ending);

	return len >= n && memcmp(name + len - n, ending, n) == 0 ? len - n : len;
}

/* Another ending would promise a format that is not written. */
int audit_check_archive_name(const char *path, struct sbx_error *err)
{
	const char *name = path_last(path), *dot = strrchr(name, '.');
	size_t len = strlen(name), stem = length_without(name, len, SEGMENT_ARCHIVE_SUFFIX);

	if (stem > 0 && stem < len)
		return 0;
	stem = length_without(name, dot ? (size_t)(dot - name) : len, ".tar");
	(void)sbx_error_what(err, -EINVAL, "cannot write the archive '%s'", path);
	sbx_error_why(err, "FILE" SEGMENT_ARCHIVE_SUFFIX " is the only archive format");
	sbx_error_fix(err, "use '%.*s%s" SEGMENT_ARCHIVE_SUFFIX "'", (int)(name - path) + (int)stem,
		      path, stem == 0 ? "log" : "");
	return -EINVAL;
}

int audit_export_archive(struct tool_run *run, const struct rows *rows, struct sbx_error *err)
{
	const struct audit_values *values = run->values;
	_cleanup_copying_ struct copying copying = { .n = 0 };
	struct archive_source source = { .each = each_row,
					 .each_checkpoint = each_note,
					 .userdata = &copying };
	int r = open_all(rows, values->segment, &copying, &source, err);

	return r < 0 ? r : write_file(values->archive, &source, err);
}
