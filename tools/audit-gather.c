/* SPDX-License-Identifier: MIT */

/*
 * sbx-audit gather: what root and services have spooled, for the user who keeps the system's log
 */

#include "audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <sbx/error.h>

#include "audit/gather.h"
#include "base/cleanup.h"
#include "tool.h"

#define STATE_FOLDER "/var/lib/sbx"
#define INBOX STATE_FOLDER "/audit-inbox"
#define SERVICE_SOCKET "/run/sbx/audit.sock"

const struct option_spec audit_gather_options[] = {
	{ .name = "to",
	  .kind = OPTION_PATH,
	  .offset = offsetof(struct audit_values, spool),
	  .metavar = "DIR",
	  .help = "the spool of the log's service (" INBOX ")" },
	OPTION_END,
};

int gather_into(int staging, int inbox, uint64_t *ret_n_files, struct sbx_error *err)
{
	_cleanup_close_ int state = open(STATE_FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct gather_options options = { .state = state,
						.staging = staging,
						.inbox = inbox };

	*ret_n_files = 0;
	if (state < 0)
		return errno == ENOENT
			       ? 0
			       : sbx_error_what(err, -errno, "cannot open '" STATE_FOLDER "'");
	return audit_gather(&options, ret_n_files, err);
}

/* A service that a socket unit starts is started by this; one that runs looks by itself. */
static void wake_service(void)
{
	const struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = SERVICE_SOCKET };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0)
		(void)connect(fd, (const struct sockaddr *)&address, sizeof(address));
}

static int open_staging(struct sbx_error *err)
{
	_cleanup_text_ struct text path = TEXT_INIT;
	int r = places_spool(&path, err), fd;

	if (r < 0)
		return r;
	if (mkdir(path.data, 0700) < 0 && errno != EEXIST)
		return sbx_error_what(err, -errno, "cannot make the spool '%s'", path.data);
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

	if (geteuid() != 0) {
		(void)sbx_error_what(err, -EPERM, "cannot gather the spools of the system");
		sbx_error_why(err, "they belong to root and to the users of services");
		sbx_error_fix(err, "run it as root");
		return -EPERM;
	}
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
		log_write(&run->log, LOG_LEVEL_INFO, NULL, "handed over %llu files",
			  (unsigned long long)n_files);
	return r;
}
