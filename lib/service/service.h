/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A daemon's loop: sockets in, readiness and watchdog out
 *
 * One thread, one sd-event loop, and beside it a set for clients' sockets (service/ready.h), which
 * is for daemons whose answers take less than a turn of the loop. SIGTERM and SIGINT end it, SIGHUP
 * reloads. With a service manager READY=1 is sent when the loop runs and its watchdog is fed from
 * the loop itself, so that a stuck loop is noticed. Without one everything works the same and
 * nothing is sent.
 */

#include <stddef.h>

#include "base/cleanup.h"
#include "service/peer.h"

struct log;
struct ready;
struct sbx_error;
struct sd_event;
struct service;

/* What a daemon does; every function may be NULL. @userdata is service_new()'s. */
struct service_handlers {
	/*
	 * A client connected to the listener that was added under @listener_name. Takes @fd, even
	 * on failure. A negative return is logged and closes nothing else. @peer is borrowed:
	 * who keeps its pidfd duplicates it.
	 */
	int (*accept)(struct service *service, const char *listener_name, int fd,
		      const struct peer *peer, void *userdata);
	/* SIGHUP. The manager sees RELOADING=1 before and READY=1 after; a failure is logged and
	 * the old state stays. */
	int (*reload)(struct service *service, void *userdata);
};

/*
 * @log must outlive the service. Blocks the signals that the loop takes and leaves them blocked:
 * children must unblock them. Reads what the manager says in the environment.
 */
int service_new(const struct log *log, const struct service_handlers *handlers, void *userdata,
		struct service **ret, struct sbx_error *err);
struct service *service_free(struct service *service);
void service_free_ptr(struct service **service);
#define _cleanup_service_ _cleanup_(service_free_ptr)

/* For timers and sources of the daemon's own; for its clients' sockets. Both are borrowed. */
struct sd_event *service_event(const struct service *service);
struct ready *service_ready(const struct service *service);
const struct log *service_log(const struct service *service);

/*
 * A listening SOCK_SEQPACKET socket, accepted from in the loop: the one that the manager handed
 * over under @name (or the only one, if none has a name), else a new one at @path with @mode. A
 * stale socket file is replaced only if nobody answers on it; a live one is -EADDRINUSE. @path may
 * be NULL: then the manager must give it (-ENOENT).
 */
int service_listen(struct service *service, const char *name, const char *path, mode_t mode,
		   struct sbx_error *err);

/*
 * Takes connections away again: at most @n_max clients at once; further ones wait in the kernel's
 * queue. The daemon says with service_client_gone() that one has ended, once for each accept() that
 * succeeded. When the fds of this process run short, the same happens until there is room again.
 */
void service_limit_clients(struct service *service, size_t n_max);
void service_client_gone(struct service *service);

/* STATUS= for systemctl status; one line, control characters are made visible. */
void service_status(struct service *service, const char *format, ...)
	__attribute__((__format__(__printf__, 2, 3)));

/* Runs until told to stop. Returns the exit status given to service_stop(), 0 on a signal, or
 * negative errno. */
int service_run(struct service *service, struct sbx_error *err);
void service_stop(struct service *service, int status);
