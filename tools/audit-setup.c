/* SPDX-License-Identifier: MIT */

/*
 * sbx-audit setup, key: creates a log, prints its public key, starts an epoch
 *
 * A verifier needs only the key that setup prints; stored on another machine it also shows that an
 * attacker has replaced the log.
 */

#include "audit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"
#include "tool.h"

static int say_key(struct tool_run *run, const char *directory, const char *id, const char *key)
{
	struct json_writer json;

	if (!run->json) {
		text_addf(&run->out, "%s\n", key);
		return TOOL_YES;
	}
	json_begin_object(&json, &run->out);
	json_member_string(&json, "log", directory);
	json_member_string(&json, "id", id);
	json_member_string(&json, "key", key);
	json_end_line(&json);
	return TOOL_YES;
}

static int say_key_of(struct tool_run *run, const char *directory, const struct audit_log *log)
{
	_cleanup_text_ struct text key = TEXT_INIT;

	audit_log_add_verifier(log, &key);
	return say_key(run, directory, audit_log_id(log), text_string(&key));
}

int audit_make_log(const struct audit_values *values, struct sbx_error *err)
{
	_cleanup_text_ struct text directory = TEXT_INIT;
	int r = places_directory(values, &directory, err);
	const struct audit_log_options options = {
		.directory = text_string(&directory),
		.key_place = values->key_place,
		.credentials = getenv("CREDENTIALS_DIRECTORY"),
	};

	if (r < 0)
		return r;
	r = path_make_parents(directory.data, 0755);
	if (r < 0) { /* it ends at the directory that cannot be created */
		return error_fill(err, r, NULL,
				  "choose a directory that this user may create, with --log",
				  "cannot create the directory '%s'", directory.data);
	}
	return audit_log_create(&options, err);
}

int audit_verb_setup(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	_cleanup_audit_log_ struct audit_log *log = NULL;
	_cleanup_text_ struct text directory = TEXT_INIT;
	/* A log that is made and then not opened would be there, without its key being printed. */
	int r = places_check_policy(run->values, err);

	if (r < 0)
		return r;
	r = audit_make_log(run->values, err);
	if (r == -EEXIST || r == -EINVAL)
		return r == -EEXIST ? TOOL_NO : TOOL_USAGE;
	if (r < 0)
		return r;
	r = places_directory(run->values, &directory, err);
	if (r < 0)
		return r;
	r = places_open(run, &log, err);
	if (r < 0)
		return r;
	r = audit_log_tell_head(log, err);
	if (r < 0)
		return r;
	if (!audit_log_has_reserve(log))
		log_write(
			&run->log, LOG_LEVEL_WARNING, NULL,
			"there is too little room for the log's reserve, so it could not say that "
			"the disk is full; make room: 4MiB or more");
	return say_key_of(run, text_string(&directory), log);
}

static int read_key(const struct rows *rows, struct segment_about *ret_about, struct text *out,
		    struct sbx_error *err)
{
	_cleanup_segment_ struct segment *segment = NULL;
	int r = rows_open_segment(rows, rows->list.n - 1, &segment, err);

	if (r < 0)
		return r;
	if (!segment->store)
		return error_fill(err, -EBADMSG, "its last segment is an archive",
				  "check the log: sbx-audit verify --full",
				  "cannot tell the key of the log");
	r = segment_read_about(segment, ret_about, err);
	return r < 0 ? r : audit_log_read_key(segment->store, ret_about->log_id, out, err);
}

/* Also while a service has the log open. */
static int show_key(struct tool_run *run, const char *directory, struct sbx_error *err)
{
	_cleanup_rows_ struct rows rows = ROWS_INIT;
	_cleanup_text_ struct text key = TEXT_INIT;
	struct segment_about about;
	int r = rows_open_to_show(run, NULL, &rows, err);

	if (r >= 0)
		r = read_key(&rows, &about, &key, err);
	if (r < 0)
		return places_status_of(r);
	return say_key(run, directory, about.log_id, text_string(&key));
}

static int change_key(struct tool_run *run, const char *directory, struct sbx_error *err)
{
	_cleanup_audit_log_ struct audit_log *log = NULL;
	int r = places_open(run, &log, err);

	if (r >= 0)
		r = audit_log_change_key(log, err);
	return r < 0 ? r : say_key_of(run, directory, log);
}

int audit_verb_key(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	_cleanup_text_ struct text directory = TEXT_INIT;
	int r;

	if (n_operands > 0 && strcmp(operands[0], "change") != 0) {
		(void)error_fill(err, -EINVAL, "a key can be printed, or changed",
				 "write 'sbx-audit key', or 'sbx-audit key change'",
				 "unknown action '%s'", operands[0]);
		return TOOL_USAGE;
	}
	r = places_directory(run->values, &directory, err);
	if (r < 0)
		return r;
	return n_operands > 0 ? change_key(run, text_string(&directory), err)
			      : show_key(run, text_string(&directory), err);
}

/* ---- gather ---- */

/* sbx-audit gather: moves what root and services have spooled to the user of the system's log */

#define STATE_DIRECTORY "/var/lib/sbx"
#define INBOX STATE_DIRECTORY "/audit-inbox"
#define SERVICE_SOCKET "/run/sbx/audit.sock"

const struct option_spec audit_gather_options[] = {
	OPTION("to", 0, OPTION_PATH, spool, "DIR", "the spool of the log's service (" INBOX ")"),
	OPTION_END,
};

int gather_into(int staging, int inbox, uint64_t *ret_n_files, struct sbx_error *err)
{
	_cleanup_close_ int state = open(STATE_DIRECTORY, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct gather_options options = { .state = state,
						.staging = staging,
						.inbox = inbox };

	*ret_n_files = 0;
	if (state < 0)
		return errno == ENOENT
			       ? 0
			       : sbx_error_what(err, -errno, "cannot open '" STATE_DIRECTORY "'");
	return audit_gather(&options, ret_n_files, err);
}

/* Starts a socket-activated service; a running one checks its inbox itself. */
static void wake_service(void)
{
	int fd = fd_connect(SERVICE_SOCKET, SOCK_NONBLOCK);

	close_fd(&fd);
}

static int open_staging(struct sbx_error *err)
{
	_cleanup_text_ struct text path = TEXT_INIT;
	int r = places_spool(&path, err), fd;

	if (r < 0)
		return r;
	if (mkdir(path.data, 0700) < 0 && errno != EEXIST)
		return sbx_error_what(err, -errno, "cannot create the spool '%s'", path.data);
	fd = open(path.data, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? sbx_error_what(err, -errno, "cannot open the spool '%s'", path.data) : fd;
}

int audit_verb_gather(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	const struct audit_values *values = run->values;
	const char *to = values->spool ? values->spool : INBOX;
	_cleanup_close_ int staging = -EBADF, inbox = -EBADF;
	uint64_t n_files = 0;
	int r;

	if (geteuid() != 0)
		return error_fill(err, -EPERM, "they belong to root and to the users of services",
				  "run it as root", "cannot gather the spools of the system");
	staging = open_staging(err);
	if (staging < 0)
		return staging;
	inbox = open(to, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (inbox < 0) {
		r = sbx_error_what(err, -errno, "cannot open '%s'", to);
		sbx_error_fix(err, "create it with mode 0700, owned by the user of the "
				   "log");
		return r;
	}
	r = gather_into(staging, inbox, &n_files, err);
	if (n_files > 0)
		wake_service();
	if (run->verbosity > 0)
		log_write(&run->log, LOG_LEVEL_INFO, NULL, "passed on %" PRIu64 " files", n_files);
	return r;
}
