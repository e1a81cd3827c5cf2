/* SPDX-License-Identifier: MIT */

/*
 * sbx-proxy worker: the proxy of one sandbox, which gets everything over its hand-over socket
 *
 * sbx-spawn and the service start it. Variables of a service manager are for its parent.
 */

#include "proxy.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#include "tool.h"

static const char *const managers[] = {
	"NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC",
	"LISTEN_PID",	 "LISTEN_FDS",	 "LISTEN_FDNAMES",
};

static int check_socket(const struct proxy_values *values, struct sbx_error *err)
{
	int type = 0;
	socklen_t size = sizeof(type);

	if (values->fd >= 0 && getsockopt(values->fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
	    type == SOCK_SEQPACKET)
		return 0;
	return error_fill(err, -EINVAL, "--fd names no SOCK_SEQPACKET socket",
			  "let sbx-spawn or 'sbx-proxy serve' start it",
			  "a worker needs a hand-over socket");
}

static int map_page(struct process *process, struct sbx_error *err)
{
	int fd = process->values->page_fd;
	struct stat st;
	void *page;

	if (fd < 0)
		return 0;
	if (fstat(fd, &st) < 0 || st.st_size != (off_t)sizeof(struct worker_page))
		return sbx_error_what(err, -EINVAL, "--page-fd names no memory of the service");
	page = mmap(NULL, sizeof(struct worker_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return sbx_error_what(err, -errno, "cannot map the memory of the service");
	process->page = page;
	return 0;
}

static int start(struct process *process, struct sbx_error *err)
{
	int r = check_socket(process->values, err);

	if (r < 0)
		return r;
	r = map_page(process, err);
	if (r < 0)
		return r;
	r = process_prepare(process, NULL, NULL, NULL, err);
	return r < 0 ? r
		     : process_add_worker(process, process->values->fd, (uid_t)process->values->uid,
					  err);
}

int proxy_run_worker(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	_cleanup_process_ struct process process = PROCESS_INIT(run);
	int r;

	for (size_t i = 0; i < N_ELEMENTS(managers); i++)
		(void)unsetenv(managers[i]);
	(void)signal(SIGPIPE, SIG_IGN);
	r = start(&process, err);
	if (r < 0)
		return r == -EINVAL ? TOOL_USAGE : r;
	return service_run(process.service, err);
}
