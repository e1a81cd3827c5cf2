/* SPDX-License-Identifier: MIT */

/*
 * Where the log and the spool are, and the way from one into the other
 */

#include "audit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/environment.h"
#include "base/fd.h"
#include "base/progress.h"
#include "record/record.h"
#include "tool.h"

#define WAIT_USEC UINT64_C(5000000)

/* @folder in the state folder. */
static int add_state(struct text *out, const char *folder, struct sbx_error *err)
{
	int r = environment_add_state_folder(out, environ, geteuid());

	if (r == -ENOENT) {
		(void)sbx_error_what(err, -ENOENT, "cannot find out where the log is");
		sbx_error_why(err, "neither XDG_STATE_HOME nor HOME is an absolute path");
		sbx_error_fix(err, "set HOME, or give --log DIR");
	}
	if (r < 0)
		return r;
	text_addf(out, "/%s", folder);
	return text_status(out);
}

int places_folder(const struct audit_values *values, struct text *out, struct sbx_error *err)
{
	if (!values->folder)
		return add_state(out, RECORD_LOG_FOLDER, err);
	text_add(out, values->folder);
	return text_status(out);
}

int places_spool(struct text *out, struct sbx_error *err)
{
	return add_state(out, RECORD_SPOOL_FOLDER, err);
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

	tool_begin_progress(run, &progress, "taking in the spool");
	audit_log_watch_import(log, show_imported, &progress);
	r = audit_log_import(log, spool, ret, err);
	audit_log_watch_import(log, NULL, NULL);
	return r;
}

/* Only the log of this user's place has his spool. */
static int take_in(struct tool_run *run, struct audit_log *log, struct sbx_error *err)
{
	const struct audit_values *values = run->values;
	_cleanup_text_ struct text spool = TEXT_INIT;
	_cleanup_close_ int fd = -EBADF;
	struct audit_import taken = { 0 };
	struct sbx_error why = { .code = 0 };
	uint64_t n_files;
	int r;

	if (values->folder)
		return 0;
	r = places_spool(&spool, err);
	if (r < 0)
		return r;
	fd = open(text_string(&spool), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0
				       : sbx_error_what(err, -errno, "cannot open the spool '%s'",
							text_string(&spool));
	/* Root's log is the system's where it is root's own: it takes in what services have left.
	 */
	if (geteuid() == 0 && gather_into(fd, fd, &n_files, &why) < 0)
		log_write(&run->log, LOG_LEVEL_WARNING, NULL, "%s: %s", why.what,
			  why.why[0] != '\0' ? why.why : strerror(-why.code));
	r = import_spool(run, log, fd, &taken, err);
	if (r == 0 && run->verbosity > 0)
		log_write(&run->log, LOG_LEVEL_INFO, NULL,
			  "took in %llu records, refused %llu lines",
			  (unsigned long long)taken.n_records,
			  (unsigned long long)taken.n_refused + taken.n_torn);
	return r;
}

static int open_log(struct tool_run *run, uint64_t wait_usec, struct audit_log **ret,
		    struct sbx_error *err)
{
	_cleanup_settings_ struct audit_settings settings = { .policy = NULL };
	_cleanup_text_ struct text folder = TEXT_INIT;
	int r = places_folder(run->values, &folder, err);

	if (r == 0)
		r = settings_read(run->values, &settings, err);
	const struct audit_log_options options = {
		.folder = text_string(&folder),
		.credentials = getenv("CREDENTIALS_DIRECTORY"),
		.patterns = settings.patterns,
		.n_patterns = settings.n_patterns,
		.keep_originals = settings.keep_originals,
		.wait_usec = wait_usec,
	};

	return r < 0 ? r : audit_log_open(&options, ret, err);
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

	if (r == 0)
		r = heads_watch(run, log, err);
	if (r < 0)
		return r;
	if (audit_log_is_broken(log, &seq))
		log_write(&run->log, LOG_LEVEL_WARNING, NULL,
			  "record %llu is not what was written there; 'sbx-audit verify --full' "
			  "says more",
			  (unsigned long long)seq);
	r = take_in(run, log, err);
	if (r == 0)
		*ret = take_ptr(log);
	return r;
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

	if (values->folder || places_spool(&spool, NULL) < 0)
		return false;
	dir = opendir(text_string(&spool));
	while (dir && (entry = readdir(dir)))
		if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode) && st.st_size > 0)
			return true;
	return false;
}

/* A service has it, and does what we would. */
static bool is_kept_by_another(const struct audit_values *values, int code)
{
	_cleanup_text_ struct text folder = TEXT_INIT;
	struct stat st;

	if (code != -EPERM)
		return code == -EBUSY;
	return places_folder(values, &folder, NULL) == 0 && stat(folder.data, &st) == 0 &&
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
