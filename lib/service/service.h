/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A daemon's loop: serves sockets, reports readiness, feeds the watchdog
 *
 * One thread runs one sd-event loop and beside it an epoll set of the clients' sockets
 * (service/ready.h), which is for daemons whose answers take less than an sd-event iteration.
 * SIGTERM and SIGINT end the loop, SIGHUP reloads. Under a service manager it sends READY=1 once it
 * runs, and feeds the watchdog from the loop itself, so that the manager notices a stuck loop.
 * Without one it works the same and sends nothing.
 */

#include <sys/types.h>

#include "base/cleanup.h"

struct clients;
struct log;
struct ready;
struct sbx_error;
struct sd_event;
struct service;
struct text;

/* Called on SIGHUP. The manager sees RELOADING=1 before and READY=1 after; a negative errno is
 * logged, and the old state stays in use. */
typedef int service_reload_fn(struct service *service, void *userdata);

/*
 * @log must outlive the service; @reload may be NULL. Blocks the signals that the loop handles and
 * leaves them blocked: children must unblock them. Reads the manager's environment variables.
 */
int service_new(const struct log *log, service_reload_fn *reload, void *userdata,
		struct service **ret, struct sbx_error *err);
struct service *service_free(struct service *service);
CLEANUP_BY(struct service, service_free)
#define _cleanup_service_ _cleanup_(service_free_ptr)

/* service_event() is for the daemon's own timers and sources, service_ready() for its clients'
 * sockets. Both are borrowed. */
struct sd_event *service_event(const struct service *service);
struct ready *service_ready(const struct service *service);

/*
 * Listens on a SOCK_SEQPACKET socket and adds its connections to @clients. The socket is the one
 * that the manager passed as @name (or its only one, if that has no name), else a new one at @path
 * with @mode. Replaces a stale socket file only if no process answers on it; a live one is
 * -EADDRINUSE. @path may be NULL: then the manager must pass the socket (-ENOENT). While @clients
 * are full or fds run short, new connections wait in the kernel's listen queue.
 */
int service_listen(struct service *service, const char *name, const char *path, mode_t mode,
		   struct clients *clients, struct sbx_error *err);

/* Fails as service_listen_usual() would because of the path, before anything else is made. */
int service_check_usual(struct service *service, const char *name, const char *path,
			struct sbx_error *err);
/* Fails as service_listen() would because of the limit of open files, if @n_fds more were open. */
int service_check_room(struct service *service, const char *name, size_t n_fds,
		       struct sbx_error *err);
/* Like service_listen(), but without @path at the default one (see service_add_path()), if the
 * manager passed no socket; creates its directory. */
int service_listen_usual(struct service *service, const char *name, const char *path, mode_t mode,
			 struct clients *clients, struct sbx_error *err);
/* Adds the default path: /run/sbx/NAME.sock for root, else $XDG_RUNTIME_DIR/sbx/NAME.sock;
 * -ENOTCONN if that is unset: for tools -ENOENT is a file that the user named. */
int service_add_path(struct text *out, const char *name, struct sbx_error *err);

/* Sends STATUS= for systemctl status: one line; control characters are escaped. */
void service_status(struct service *service, const char *format, ...)
	__attribute__((__format__(__printf__, 2, 3)));

/* Runs until a signal or service_stop(). Returns the exit status given to service_stop(), 0 on a
 * signal, or negative errno. */
int service_run(struct service *service, struct sbx_error *err);
void service_stop(struct service *service, int status);
/* After service_run(): accepts the connections that wait at our own sockets, as far as there is
 * room for them, and no later ones. */
void service_accept_last(struct service *service);
