/* SPDX-License-Identifier: MIT */

/*
 * A daemon's loop
 *
 * sd-event runs the loop; the clients' sockets have their own epoll set (service/ready.h).
 * Listeners are the only sources that any process can make ready at will. So this file switches
 * them off while the maximum number of clients is connected, and briefly when fds run short. New
 * connections then wait in the kernel's listen queue and cost nothing.
 */

#include "service/service.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <time.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/listen-fds.h"
#include "base/moment.h"
#include "base/text.h"
#include "service/clients.h"
#include "service/listen.h"
#include "service/ready.h"
#include "service/unread.h"

#define RETRY_USEC 200000

struct listener {
	struct service *service;
	struct listener *next;
	struct clients *clients;
	char *name;
	struct listen_socket socket;
	sd_event_source *source;
};

struct service {
	const struct log *log;
	service_reload_fn *reload;
	void *userdata;
	sd_event *event;
	struct ready *ready;
	sd_event_source *retry; /* timer that enables the listeners again */
	struct listener *listeners;
	struct listen_fds handed_over;
	bool is_short; /* of fds; logged once, until accept() succeeds again */
	bool is_paused;
};

static void listener_free(struct listener *listener)
{
	if (!listener)
		return;
	(void)sd_event_source_disable_unref(listener->source);
	listen_socket_stop(&listener->socket);
	(void)unread_close_listener(&listener->socket.fd);
	free(listener->name);
	free(listener);
}

static void listener_free_ptr(struct listener **listener)
{
	listener_free(*listener);
}

struct service *service_free(struct service *service)
{
	if (!service)
		return NULL;
	for (struct listener *listener = service->listeners, *next; listener; listener = next) {
		next = listener->next;
		listener_free(listener);
	}
	(void)sd_event_source_disable_unref(service->retry);
	(void)ready_free(service->ready);
	(void)sd_event_unref(service->event);
	free(service);
	return NULL;
}

struct sd_event *service_event(const struct service *service)
{
	return service->event;
}

struct ready *service_ready(const struct service *service)
{
	return service->ready;
}

static void switch_listeners(struct service *service)
{
	for (struct listener *listener = service->listeners; listener; listener = listener->next) {
		bool is_on = !service->is_paused && !clients_are_full(listener->clients);

		(void)sd_event_source_set_enabled(listener->source,
						  is_on ? SD_EVENT_ON : SD_EVENT_OFF);
	}
}

/* The client's fd is free, or will be soon: enable the listeners now instead of at the timer. */
static void on_client_left(void *userdata)
{
	struct service *service = userdata;

	service->is_paused = false;
	switch_listeners(service);
}

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct service *service = userdata;

	service->is_paused = false;
	switch_listeners(service);
	return 0;
}

/* The connection stays queued, so the listener stays readable: without a pause the loop would
 * spin. */
static void pause_listeners(struct service *service, int code)
{
	if (!service->is_short)
		log_write(service->log, LOG_LEVEL_WARNING, NULL, "clients have to wait: %s",
			  strerror(-code));
	service->is_short = true;
	service->is_paused = true;
	(void)sd_event_source_set_time_relative(service->retry, RETRY_USEC);
	(void)sd_event_source_set_enabled(service->retry, SD_EVENT_ONESHOT);
	switch_listeners(service);
}

/* The connection was removed from the queue, or accept() will report it again. */
static bool is_passing(int code)
{
	return code == -EAGAIN || code == -EINTR || code == -ECONNABORTED || code == -EPERM;
}

static int on_connection(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct listener *listener = userdata;
	struct service *service = listener->service;
	int r = clients_accept(listener->clients, listener->name, fd);

	if (r >= 0) {
		service->is_short = false;
		switch_listeners(service);
	} else if (!is_passing(r)) {
		pause_listeners(service, r);
	}
	return 0;
}

static int on_stop_signal(sd_event_source *source, const struct signalfd_siginfo *info,
			  void *userdata)
{
	service_stop(userdata, 0);
	return 0;
}

/* MONOTONIC_USEC= is the time by which the manager knows that RELOADING=1 answers its own
 * request. */
static int on_reload_signal(sd_event_source *source, const struct signalfd_siginfo *info,
			    void *userdata)
{
	struct service *service = userdata;
	int r = 0;

	(void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, moment_now(CLOCK_MONOTONIC));
	if (service->reload)
		r = service->reload(service, service->userdata);
	if (r < 0)
		log_write(service->log, LOG_LEVEL_ERROR, NULL,
			  "cannot reload: %s; the loaded configuration stays in force",
			  strerror(-r));
	(void)sd_notify(0, "READY=1");
	return 0;
}

static const struct {
	int signal;
	sd_event_signal_handler_t handler;
} signals[] = {
	{ SIGTERM, on_stop_signal },
	{ SIGINT, on_stop_signal },
	{ SIGHUP, on_reload_signal },
};

static int add_sources(struct service *service)
{
	sigset_t mask;
	int r;

	(void)sigemptyset(&mask);
	for (size_t i = 0; i < N_ELEMENTS(signals); i++)
		(void)sigaddset(&mask, signals[i].signal);
	r = pthread_sigmask(SIG_BLOCK, &mask, NULL);
	if (r != 0)
		return -r;

	r = sd_event_new(&service->event);
	if (r < 0)
		return r;
	r = ready_new(service->event, &service->ready);
	if (r < 0)
		return r;
	for (size_t i = 0; i < N_ELEMENTS(signals); i++) {
		r = sd_event_add_signal(service->event, NULL, signals[i].signal, signals[i].handler,
					service);
		if (r < 0)
			return r;
	}
	r = sd_event_add_time(service->event, &service->retry, CLOCK_MONOTONIC, 0, 0, on_retry,
			      service);
	return r < 0 ? r : sd_event_source_set_enabled(service->retry, SD_EVENT_OFF);
}

int service_new(const struct log *log, service_reload_fn *reload, void *userdata,
		struct service **ret, struct sbx_error *err)
{
	_cleanup_service_ struct service *service = calloc(1, sizeof(*service));
	int r;

	if (!service)
		return sbx_error_what(err, -ENOMEM, "cannot start the service");
	service->log = log;
	service->reload = reload;
	service->userdata = userdata;
	r = listen_fds_check(getenv("LISTEN_PID"), getenv("LISTEN_FDS"), getenv("LISTEN_FDNAMES"),
			     getpid(), &service->handed_over, err);
	if (r < 0)
		return r;
	r = add_sources(service);
	if (r < 0)
		return sbx_error_what(err, r, "cannot prepare the event loop");
	*ret = take_ptr(service);
	return 0;
}

static bool is_taken(const struct service *service, int fd)
{
	for (const struct listener *l = service->listeners; l; l = l->next)
		if (l->socket.fd == fd)
			return true;
	return false;
}

/*
 * Finds the fd that the manager passed under @name; -ENOENT if none. Several Listen lines of one
 * .socket unit share a name: each call takes the next.
 */
static int find_handed_over(const struct service *service, const char *name)
{
	const struct listen_fds *fds = &service->handed_over;
	bool is_only = fds->n_fds == 1 && fds->names[0][0] == '\0';

	for (size_t i = 0; i < fds->n_fds; i++) {
		int fd = LISTEN_FDS_START + (int)i;

		if ((is_only || strcmp(fds->names[i], name) == 0) && !is_taken(service, fd))
			return fd;
	}
	return -ENOENT;
}

static int open_socket(const struct service *service, const char *name, const char *path,
		       mode_t mode, const struct clients *clients, struct listen_socket *ret,
		       struct sbx_error *err)
{
	int fd = find_handed_over(service, name);

	if (fd >= 0) {
		int r = listen_adopt(fd, name, ret, err);

		if (r == 0 && !clients_take_fds(clients))
			fd_refuse_fds(fd);
		return r;
	}
	if (path)
		return listen_open(path, mode, clients_take_fds(clients), ret, err);
	(void)sbx_error_what(err, -ENOENT, "no socket was handed over as '%s'", name);
	sbx_error_why(err, "the service manager gave %zu sockets, none of that name",
		      service->handed_over.n_fds);
	sbx_error_fix(err, "start the .socket unit, with 'FileDescriptorName=%s' in it", name);
	return -ENOENT;
}

int service_listen(struct service *service, const char *name, const char *path, mode_t mode,
		   struct clients *clients, struct sbx_error *err)
{
	_cleanup_(listener_free_ptr) struct listener *listener = calloc(1, sizeof(*listener));
	int r;

	if (!listener)
		return sbx_error_what(err, -ENOMEM, "cannot listen for '%s'", name);
	listener->service = service;
	listener->clients = clients;
	listener->socket = (struct listen_socket)LISTEN_SOCKET_INIT;
	listener->name = strdup(name);
	if (!listener->name)
		return sbx_error_what(err, -ENOMEM, "cannot listen for '%s'", name);
	r = open_socket(service, name, path, mode, clients, &listener->socket, err);
	if (r < 0)
		return r;
	r = listen_check_room(listener->socket.fd, 0, name, err);
	if (r < 0)
		return r;
	r = sd_event_add_io(service->event, &listener->source, listener->socket.fd, EPOLLIN,
			    on_connection, listener);
	if (r < 0)
		return sbx_error_what(err, r, "cannot wait for clients of '%s'", name);
	listener->next = service->listeners;
	service->listeners = take_ptr(listener);
	clients_watch(clients, on_client_left, service);
	switch_listeners(service);
	return 0;
}

int service_add_path(struct text *out, const char *name, struct sbx_error *err)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	if (geteuid() != 0 && (!runtime || runtime[0] != '/'))
		return error_fill(err, -ENOTCONN, "XDG_RUNTIME_DIR is not set to an absolute path",
				  "name it with --socket",
				  "cannot determine the path of the service's socket");
	text_addf(out, "%s/sbx/%s.sock", geteuid() == 0 ? "/run" : runtime, name);
	return text_status(out);
}

static int make_directory_of(const char *path, struct sbx_error *err)
{
	_cleanup_free_ char *directory = strndup(path, (size_t)(strrchr(path, '/') - path));

	if (!directory)
		return sbx_error_what(err, -ENOMEM, "cannot listen on '%s'", path);
	/* Any user may connect to root's services; the mode of each socket decides about that. */
	if (mkdir(directory, geteuid() == 0 ? 0755 : 0700) < 0 && errno != EEXIST)
		return error_fill(err, -errno, NULL,
				  geteuid() == 0 ? "name another path with --socket"
						 : "name another path with --socket, or set "
						   "XDG_RUNTIME_DIR to a directory of your own",
				  "cannot make the directory '%s'", directory);
	return 0;
}

/* @path, or the default one, whose directory is made; NULL if only the manager can have one. */
static int choose_path(struct service *service, const char *name, const char *path,
		       struct text *usual, const char **ret, struct sbx_error *err)
{
	int r;

	*ret = path;
	if (path || find_handed_over(service, name) >= 0)
		return 0;
	r = service_add_path(usual, name, err);
	/* Started by a socket unit, without a runtime directory: let service_listen() report which
	 * socket the manager did not pass. */
	if (r < 0 && service->handed_over.n_fds > 0)
		return 0;
	if (r < 0)
		return r;
	*ret = text_string(usual);
	return make_directory_of(*ret, err);
}

int service_check_usual(struct service *service, const char *name, const char *path,
			struct sbx_error *err)
{
	_cleanup_text_ struct text usual = TEXT_INIT;
	int r;

	if (find_handed_over(service, name) >= 0)
		return 0;
	r = choose_path(service, name, path, &usual, &path, err);
	return r < 0 || !path ? r : listen_check(path, err);
}

int service_check_room(struct service *service, const char *name, size_t n_fds,
		       struct sbx_error *err)
{
	return listen_check_room(sd_event_get_fd(service->event), n_fds, name, err);
}

int service_listen_usual(struct service *service, const char *name, const char *path, mode_t mode,
			 struct clients *clients, struct sbx_error *err)
{
	_cleanup_text_ struct text usual = TEXT_INIT;
	int r = choose_path(service, name, path, &usual, &path, err);

	return r < 0 ? r : service_listen(service, name, path, mode, clients, err);
}

/* sd_notify() separates assignments by newlines: a newline in the text would inject another one. */
void service_status(struct service *service, const char *format, ...)
{
	_cleanup_text_ struct text raw = TEXT_INIT, state = TEXT_INIT;
	va_list args;

	va_start(args, format);
	text_addv(&raw, format, args);
	va_end(args);
	text_add(&state, "STATUS=");
	text_add_visible(&state, text_string(&raw), raw.len);
	if (text_status(&raw) == 0 && text_status(&state) == 0)
		(void)sd_notify(0, text_string(&state));
}

void service_stop(struct service *service, int status)
{
	(void)sd_notify(0, "STOPPING=1");
	(void)sd_event_exit(service->event, status);
	ready_wake_loop(service->ready);
}

void service_accept_last(struct service *service)
{
	for (struct listener *listener = service->listeners; listener; listener = listener->next) {
		bool is_ours = listener->socket.path != NULL;

		listen_socket_stop(&listener->socket);
		while (is_ours && !clients_are_full(listener->clients) &&
		       clients_accept(listener->clients, listener->name, listener->socket.fd) == 0)
			;
	}
}

int service_run(struct service *service, struct sbx_error *err)
{
	int r = sd_event_set_watchdog(service->event, 1);

	if (r < 0)
		return error_fill(err, r, NULL,
				  "unset WATCHDOG_USEC and WATCHDOG_PID, or start it by its unit",
				  "cannot feed the service manager's watchdog");
	(void)sd_notify(0, "READY=1");
	r = ready_run(service->ready);
	if (r < 0)
		return sbx_error_what(err, r, "the event loop failed");
	return r;
}
