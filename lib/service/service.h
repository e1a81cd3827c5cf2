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
#include <sys/types.h>

#include "base/cleanup.h"

struct clients;
struct log;
struct ready;
struct sbx_error;
struct sd_event;
struct service;
struct text;

/* SIGHUP. The manager sees RELOADING=1 before and READY=1 after; negative errno is logged, and the
 * old state stays. */
typedef int service_reload_fn(struct service *service, void *userdata);

/*
 * @log must outlive the service; @reload may be NULL. Blocks the signals that the loop takes and
 * leaves them blocked: children must unblock them. Reads what the manager says in the environment.
 */
int service_new(const struct log *log, service_reload_fn *reload, void *userdata,
		struct service **ret, struct sbx_error *err);
struct service *service_free(struct service *service);
void service_free_ptr(struct service **service);
#define _cleanup_service_ _cleanup_(service_free_ptr)

/* For timers and sources of the daemon's own; for its clients' sockets. Both are borrowed. */
struct sd_event *service_event(const struct service *service);
struct ready *service_ready(const struct service *service);

/*
 * A listening SOCK_SEQPACKET socket, from which @clients come: the one that the manager handed over
 * under @name (or the only one, if none has a name), else a new one at @path with @mode. A stale
 * socket file is replaced only if no process answers on it; a live one is -EADDRINUSE. @path may be
 * NULL: then the manager must give it (-ENOENT). While @clients are full, and while the fds of this
 * process run short, newcomers wait in the kernel's queue.
 */
int service_listen(struct service *service, const char *name, const char *path, mode_t mode,
		   struct clients *clients, struct sbx_error *err);

/* The same at the usual place, where no socket was handed over; makes its directory. */
int service_listen_usual(struct service *service, const char *name, mode_t mode,
			 struct clients *clients, struct sbx_error *err);
/* That place: /run/sbx/NAME.sock for root, $XDG_RUNTIME_DIR/sbx/NAME.sock else; -ENOENT without
 * it. */
int service_add_path(struct text *out, const char *name, struct sbx_error *err);

/* STATUS= for systemctl status; one line, control characters are made visible. */
void service_status(struct service *service, const char *format, ...)
	__attribute__((__format__(__printf__, 2, 3)));

/* Runs until a signal or service_stop(). Returns the exit status given to service_stop(), 0 on a
 * signal, or negative errno. */
int service_run(struct service *service, struct sbx_error *err);
void service_stop(struct service *service, int status);
