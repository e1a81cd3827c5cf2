/* SPDX-License-Identifier: MIT */

/*
 * connect: a listener inside, whose connections the supervisor makes again outside. bind: the other
 * way round, with sockets that an agent makes inside
 *
 * Only the ports that were named, only TCP on 127.0.0.1, and nothing is looked at that passes.
 */

#include "spawn/services.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "plan/plan.h"
#include "spawn/agent.h"

#define CONNECTIONS_MAX 64

struct service {
	struct source source;
	struct services *services;
	uint16_t port;
	bool is_inside; /* where it listens */
};

static void watch(struct services *services)
{
	bool has_room = services->n_connections < CONNECTIONS_MAX;

	for (size_t i = 0; i < services->n; i++)
		services->all[i].source.events = services->place && has_room ? POLLIN : 0;
}

static void ended(struct connection *connection, void *userdata)
{
	struct services *services = userdata;
	struct connection **at = &services->connections;

	while (*at && *at != connection)
		at = &(*at)->next;
	if (*at)
		*at = connection->next;
	(void)connection_free(connection);
	services->n_connections--;
	watch(services);
}

/* On the side where nobody listens for us. */
static int make_socket(struct service *service)
{
	int fd;

	if (!service->is_inside)
		return agent_make_socket(&service->services->agent);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return fd < 0 ? -errno : fd;
}

/* What fails here is one connection, which its maker sees reset. */
static int accept_one(struct source *source, short events)
{
	struct service *service = source->userdata;
	struct services *services = service->services;
	_cleanup_close_ int accepted =
		accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	_cleanup_close_ int other = accepted < 0 ? -EBADF : make_socket(service);
	struct connection *connection = NULL;

	if (accepted < 0)
		return 0;
	if (other < 0) {
		connection_refuse(take_fd(&accepted));
		return 0;
	}
	if (connection_new(services->loop, take_fd(&accepted), take_fd(&other), service->port,
			   ended, services, &connection) < 0)
		return 0;
	connection->next = services->connections;
	services->connections = connection;
	services->n_connections++;
	watch(services);
	return 0;
}

static int add(struct services *services, int fd, uint16_t port, bool is_inside)
{
	struct service *service;

	if (!services->all || services->n == services->size) {
		(void)close(fd);
		return -ENOBUFS;
	}
	service = &services->all[services->n];
	*service = (struct service){
		.source = { .fd = fd, .ready = accept_one, .userdata = service },
		.services = services,
		.port = port,
		.is_inside = is_inside,
	};
	services->n++;
	return loop_add(services->loop, &service->source);
}

static int listen_outside(uint16_t port)
{
	const struct sockaddr_in address = connection_address(port);
	_cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int yes = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0 ||
	    bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, SOMAXCONN) < 0)
		return -errno;
	return take_fd(&fd);
}

static int fail(int code, unsigned port, struct sbx_error *err)
{
	(void)sbx_error_what(err, code, "cannot listen on port %u of 127.0.0.1", port);
	if (code == -EADDRINUSE) {
		sbx_error_why(err, "another program listens there");
		sbx_error_fix(err, "stop it, or use another port in net.loopback or --listen");
	} else if (code == -EACCES) {
		sbx_error_why(err, "ports below 1024 need privileges");
		sbx_error_fix(err, "use a port from 1024 on in net.loopback or --listen");
	}
	return code;
}

static size_t count_connect(const struct plan *plan)
{
	size_t n = 0;

	for (size_t i = 0; i < plan->n_steps; i++)
		n += plan->steps[i].kind == STEP_LISTEN;
	return n;
}

int services_begin(struct services *services, struct loop *loop, const struct plan *plan,
		   struct sbx_error *err)
{
	size_t n = plan->n_inward + count_connect(plan);

	services->loop = loop;
	/* Sources must not move. */
	services->size = n;
	services->all = n > 0 ? calloc(n, sizeof(*services->all)) : NULL;
	if (n > 0 && !services->all)
		return sbx_error_what(err, -ENOMEM, "cannot prepare the forwarded ports");
	for (size_t i = 0; i < plan->n_inward; i++) {
		int fd = listen_outside(plan->inward[i]);
		int r = fd < 0 ? fd : add(services, fd, plan->inward[i], false);

		if (r < 0)
			return fail(r, plan->inward[i], err);
	}
	return 0;
}

bool services_carries(const struct step *step)
{
	return strcmp(step->listen.purpose, "connect") == 0;
}

int services_add_listener(struct services *services, int listener, uint16_t port)
{
	/* It came from inside: its flags may be anything. */
	int r = fcntl(listener, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
	int added = add(services, listener, port, true);

	return r < 0 ? r : added;
}

int services_open(struct services *services, const struct place *place)
{
	_cleanup_close_ int first = -EBADF;
	bool needs_agent = false;
	int r = 0;

	for (size_t i = 0; i < services->n; i++)
		needs_agent = needs_agent || !services->all[i].is_inside;
	if (needs_agent)
		r = agent_start(&services->agent, place);
	/* Where it could not enter, nothing shall run. */
	if (needs_agent && r == 0)
		r = first = agent_make_socket(&services->agent);
	if (r < 0)
		return r;
	services->place = place;
	watch(services);
	return 0;
}

void services_deinit(struct services *services)
{
	while (services->connections) {
		struct connection *connection = services->connections;

		services->connections = connection->next;
		(void)connection_free(connection);
	}
	for (size_t i = 0; i < services->n; i++) {
		loop_remove(services->loop, &services->all[i].source);
		close_fd(&services->all[i].source.fd);
	}
	free_ptr(&services->all);
	joined_deinit(&services->agent);
	*services = (struct services)SERVICES_INIT;
}
