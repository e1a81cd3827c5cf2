/* SPDX-License-Identifier: MIT */

/* The directories of the log and the spool, and importing the spool */

#include "audit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/redact.h"
#include "base/progress.h"
#include "base/state.h"
#include "policy/model.h"
#include "record/record.h"
#include "tool.h"

/* ---- settings ---- */

#define POLICY_PATH "/etc/sbx/policy.yaml"

/* The policy's settings of the log; 0 and NULL: not set. */
struct audit_settings {
	struct policy *policy; /* owns the texts */
	bool keep_originals;
	uint64_t retention_days;
	uint64_t max_size;
	const char *rotation;  /* "hourly", "daily", "weekly", "monthly" */
	const char **patterns; /* patterns of secrets */
	size_t n_patterns;
};
#define _cleanup_settings_ _cleanup_(settings_deinit)

static void settings_deinit(struct audit_settings *settings)
{
	free(settings->patterns);
	settings->policy = policy_free(settings->policy);
}

/* The setting of the list has its length; the items are settings of their own. */
static int read_patterns(struct audit_settings *settings, struct sbx_error *err)
{
	size_t n = policy_get_number(settings->policy, "audit.redact");
	const struct setting *item;

	if (n == 0)
		return 0;
	settings->patterns = calloc(n, sizeof(*settings->patterns));
	if (!settings->patterns)
		return sbx_error_what(err, -ENOMEM, "cannot read the policy's section audit");
	for (size_t i = 0; (item = policy_get_item(settings->policy, "audit.redact", i)); i++)
		settings->patterns[settings->n_patterns++] = item->text;
	return 0;
}

/* Reads --policy, or the installed policy if there is one. */
static int settings_read(const struct audit_values *values, struct audit_settings *ret,
			 struct sbx_error *err)
{
	const char *path = values->policy ? values->policy : POLICY_PATH;
	int r;

	*ret = (struct audit_settings){ .policy = NULL };
	if (!values->policy && access(path, F_OK) < 0 && errno == ENOENT)
		return 0;
	r = policy_load_file(AT_FDCWD, path, &ret->policy, err);
	if (r < 0)
		return r;
	ret->keep_originals = policy_get_number(ret->policy, "audit.keep_originals") != 0;
	ret->retention_days = policy_get_number(ret->policy, "audit.retention_days");
	ret->max_size = policy_get_number(ret->policy, "audit.max_size");
	ret->rotation = policy_get_text(ret->policy, "audit.rotation");
	return read_patterns(ret, err);
}

int places_check_policy(const struct audit_values *values, struct sbx_error *err)
{
	_cleanup_settings_ struct audit_settings settings = { .policy = NULL };
	_cleanup_redactor_ struct redactor *redactor = NULL;
	int r = settings_read(values, &settings, err);

	return r < 0 ? r : redactor_new(settings.patterns, settings.n_patterns, &redactor, err);
}

/* ---- retention ---- */

#define DAYS_MAX UINT64_C(36500)

static enum rotation rotation_of(const char *name)
{
	for (size_t i = 0; name && rotation_names[i]; i++)
		if (strcmp(rotation_names[i], name) == 0)
			return (enum rotation)i;
	return ROTATION_DAILY;
}

static uint64_t first_not_zero(uint64_t a, uint64_t b, uint64_t c)
{
	return a ? a : b ? b : c;
}

int keeping_read(const struct audit_values *values, struct keeping *ret, struct sbx_error *err)
{
	_cleanup_settings_ struct audit_settings settings = { .policy = NULL };
	int r = settings_read(values, &settings, err);
	uint64_t days =
		first_not_zero(values->retention_days, settings.retention_days, RETAIN_DAYS);

	if (r < 0)
		return r;
	*ret = (struct keeping){
		.rotation = rotation_of(settings.rotation),
		.segment_bytes = first_not_zero(values->segment_size, 0, RETAIN_SEGMENT_BYTES),
		.policy = {
			.archive_usec = (days < DAYS_MAX ? days : DAYS_MAX) * RETAIN_USEC_PER_DAY,
			.store_usec = RETAIN_STORE_DAYS * RETAIN_USEC_PER_DAY,
			.max_bytes = first_not_zero(values->max_size, settings.max_size,
						    RETAIN_MAX_BYTES),
		},
	};
	return 0;
}

/* ---- directories ---- */

#define WAIT_USEC UINT64_C(5000000)

/* Adds @directory below the state directory. */
static int add_state(struct text *out, const char *directory, struct sbx_error *err)
{
	int r = state_find(out, environ, geteuid());

	if (r < 0)
		return sbx_error_what(err, r, "no memory for the place of the log");
	text_addf(out, "/%s", directory);
	return text_status(out);
}

int places_directory(const struct audit_values *values, struct text *out, struct sbx_error *err)
{
	if (!values->directory)
		return add_state(out, RECORD_LOG_DIRECTORY, err);
	text_add(out, values->directory);
	return text_status(out);
}

void places_explain(const struct audit_values *values, int r, struct sbx_error *err)
{
	if (r == -ENOTDIR)
		sbx_error_fix(err, "name the directory of a log");
	else if (r == -EACCES || r == -EPERM)
		sbx_error_fix(err, "check the permissions of the directory");
	if (r != -ENOENT)
		return;
	error_explain(err, "there is no log",
		      values->directory
			      ? "create it: sbx-audit setup"
			      : "create it: sbx-audit setup; or name the directory of another with "
				"--log");
}

int places_spool(struct text *out, struct sbx_error *err)
{
	return add_state(out, RECORD_SPOOL_DIRECTORY, err);
}

static void show_imported(void *userdata, uint64_t n_records)
{
	progress_show(userdata, n_records, 0);
}

static int import_spool(struct tool_run *run, struct audit_log *log, int spool,
			struct audit_import *ret, struct sbx_error *err)
{
	_cleanup_progress_ struct progress progress = PROGRESS_INIT;
	int r;

	tool_begin_progress(run, &progress, "importing the spool");
	audit_log_watch_import(log, show_imported, &progress);
	r = audit_log_import(log, spool, ret, err);
	audit_log_watch_import(log, NULL, NULL);
	return r;
}

/* Only the default log of this user imports the user's spool. */
static int take_in(struct tool_run *run, struct audit_log *log, struct sbx_error *err)
{
	const struct audit_values *values = run->values;
	_cleanup_text_ struct text spool = TEXT_INIT;
	_cleanup_close_ int fd = -EBADF;
	struct audit_import taken = { 0 };
	struct sbx_error why = { .code = 0 };
	uint64_t n_files;
	int r;

	if (values->directory)
		return 0;
	r = places_spool(&spool, err);
	if (r < 0)
		return r;
	fd = open(text_string(&spool), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0
				       : sbx_error_what(err, -errno, "cannot open the spool '%s'",
							text_string(&spool));
	/* Root's default log is the system's: it also imports what services have spooled. */
	if (geteuid() == 0 && gather_into(fd, fd, &n_files, &why) < 0)
		log_write(&run->log, LOG_LEVEL_WARNING, NULL, "%s: %s", why.what,
			  why.why[0] != '\0' ? why.why : strerror(-why.code));
	r = import_spool(run, log, fd, &taken, err);
	if (r == 0 && run->verbosity > 0)
		log_write(&run->log, LOG_LEVEL_INFO, NULL,
			  "imported %" PRIu64 " records, refused %" PRIu64 " lines",
			  taken.n_records, taken.n_refused + taken.n_torn);
	return r;
}

static int open_log(struct tool_run *run, uint64_t wait_usec, struct audit_log **ret,
		    struct sbx_error *err)
{
	_cleanup_settings_ struct audit_settings settings = { .policy = NULL };
	_cleanup_text_ struct text directory = TEXT_INIT;
	int r = places_directory(run->values, &directory, err);

	if (r >= 0)
		r = settings_read(run->values, &settings, err);
	if (r < 0)
		return r;
	const struct audit_log_options options = {
		.directory = text_string(&directory),
		.credentials = getenv("CREDENTIALS_DIRECTORY"),
		.patterns = settings.patterns,
		.n_patterns = settings.n_patterns,
		.keep_originals = settings.keep_originals,
		.wait_usec = wait_usec,
	};

	return audit_log_open(&options, ret, err);
}

int places_open_only(struct tool_run *run, struct audit_log **ret, struct sbx_error *err)
{
	return open_log(run, WAIT_USEC, ret, err);
}

static int open_and_take_in(struct tool_run *run, uint64_t wait_usec, struct audit_log **ret,
			    struct sbx_error *err)
{
	_cleanup_audit_log_ struct audit_log *log = NULL;
	uint64_t seq;
	int r = open_log(run, wait_usec, &log, err);

	if (r >= 0)
		r = heads_watch(run, log, err);
	if (r < 0)
		return r;
	if (audit_log_is_broken(log, &seq)) {
		struct sbx_error details = { .fix = "'sbx-audit verify --full' reports details" };

		audit_name_log(run->values, &details);
		log_write(&run->log, LOG_LEVEL_WARNING, NULL, "record %" PRIu64 " was changed; %s",
			  seq, details.fix);
	}
	r = take_in(run, log, err);
	if (r < 0)
		return r;
	*ret = take_ptr(log);
	return 0;
}

int places_open(struct tool_run *run, struct audit_log **ret, struct sbx_error *err)
{
	return open_and_take_in(run, WAIT_USEC, ret, err);
}

static bool something_waits(const struct audit_values *values)
{
	_cleanup_text_ struct text spool = TEXT_INIT;
	_cleanup_closedir_ DIR *dir = NULL;
	const struct dirent *entry;
	struct stat st;

	if (values->directory || places_spool(&spool, NULL) < 0)
		return false;
	dir = opendir(text_string(&spool));
	while (dir && (entry = readdir(dir)))
		if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode) && st.st_size > 0)
			return true;
	return false;
}

/* A running service has the log open, and imports and rotates itself. */
static bool is_kept_by_another(const struct audit_values *values, int code)
{
	_cleanup_text_ struct text directory = TEXT_INIT;
	struct stat st;

	if (code != -EPERM)
		return code == -EBUSY;
	return places_directory(values, &directory, NULL) == 0 && stat(directory.data, &st) == 0 &&
	       st.st_uid != geteuid();
}

void places_take_in(struct tool_run *run, bool *has_said)
{
	_cleanup_audit_log_ struct audit_log *log = NULL;
	struct sbx_error why = { .code = 0 };
	bool waits = something_waits(run->values);
	int r = open_and_take_in(run, waits ? WAIT_USEC : 0, &log, &why);

	if (r == 0)
		r = audit_log_checkpoint(log, &why);
	if (r == 0 || (!waits && is_kept_by_another(run->values, r)))
		return;
	if (!has_said || !*has_said)
		log_write(&run->log, LOG_LEVEL_NOTICE, NULL,
			  "the spool was not imported into the log: %s%s%s", why.what,
			  why.why[0] != '\0' ? ": " : "", why.why);
	if (has_said)
		*has_said = true;
}

int places_status_of(int r)
{
	return r == -EINVAL    ? TOOL_USAGE
	       : r == -ERANGE  ? TOOL_NO
	       : r == -EBADMSG ? TOOL_UNREADABLE
			       : r;
}
