/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The service of the proxy: a worker for each sandbox whose supervisor asks for one
 *
 *   {"type":"OPEN"}    {"ok":true} and a socket, over which the worker gets the hand-over
 *   {"type":"STATUS"}  {"worker":{...}} for each worker, a packet each, then {"ok":true,...}
 *
 * The service reads nothing but these two messages and receives no fd, so that no client can make
 * it wait. All that could do so is in the worker, where only its own sandbox suffers.
 */

#include <stddef.h>

#include "base/cleanup.h"

struct clients;
struct log;
struct proxy_server;
struct ready;
struct sbx_error;
struct sd_event;
struct service;

#define PROXY_SERVER_SOCKET "proxy"
#define PROXY_WORKERS_DEFAULT 1024
#define PROXY_WORKERS_EACH_DEFAULT 64

/* Everything is borrowed and outlives the server. */
struct proxy_server_options {
	struct sd_event *event;
	struct ready *ready;
	struct service *service; /* gets the status; may be NULL */
	const struct log *log;
	const char *program; /* the path of a worker's program */
	/* Its arguments after "worker"; the server adds --fd, --page-fd and --uid. Ends with
	 * NULL. */
	const char *const *arguments;
	const char *const *environment;
	size_t n_clients_max;
	size_t n_workers_max;
	size_t n_workers_each_max; /* of one user; root has no such limit */
};

int proxy_server_new(const struct proxy_server_options *options, struct proxy_server **ret,
		     struct sbx_error *err);
/* The workers end when they notice: each has its supervisor's socket. */
struct proxy_server *proxy_server_free(struct proxy_server *server);
CLEANUP_BY(struct proxy_server, proxy_server_free)
#define _cleanup_proxy_server_ _cleanup_(proxy_server_free_ptr)

/* To be passed to service_listen() under PROXY_SERVER_SOCKET. */
struct clients *proxy_server_clients(const struct proxy_server *server);
