/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Decisions over a socket: each packet is one JSON object and gets one decision, in order
 *
 * The identity of a client comes from the kernel and the socket: the process that connected, and
 * the sandbox whose socket it used. Only root and the service's own user, on the main socket, are
 * trusted to speak for other processes and to control the service. Every failure is answered with
 * deny and leaves a record.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct clients;
struct facts;
struct log;
struct ready;
struct recorder;
struct sbx_error;
struct sd_event;
struct server;
struct service;

#define SERVER_MAIN_SOCKET "policy"
#define SERVER_SANDBOX_PREFIX "sandbox-" /* followed by the sandbox's id */

enum server_records {
	SERVER_RECORDS_NONE,
	SERVER_RECORDS_DENIALS, /* all verdicts except allow */
	SERVER_RECORDS_ALL,
};

/* Errors, reloads, and the issue and end of tokens are recorded whatever is chosen here. */
struct server_options {
	struct sd_event *event;	 /* the loop that serves the clients */
	struct ready *ready;	 /* the epoll set of the clients' sockets */
	struct service *service; /* gets the status; may be NULL */
	const struct log *log;
	const char *tool; /* its name in records */
	const char *const *policy_paths;
	size_t n_policy_paths;
	char *const *environment;  /* names the places of guarded files */
	struct recorder *recorder; /* open; must outlive the server */
	enum server_records records;
	size_t n_clients_max;
	struct facts *sandboxes; /* must outlive the server */
};

/* Borrows everything in @options for as long as the server lives. */
int server_new(const struct server_options *options, struct server **ret, struct sbx_error *err);
struct server *server_free(struct server *server);
CLEANUP_BY(struct server, server_free)
#define _cleanup_server_ _cleanup_(server_free_ptr)

/*
 * Loads the policy files as they are on disk and puts them into force in one step. 1: done; 0: the
 * policy is unchanged; negative errno: it is broken, and the old one stays in force. @cause is for
 * the record.
 */
int server_reload(struct server *server, const char *cause, struct sbx_error *err);

/* Records that the service ends. */
int server_finish(struct server *server, struct sbx_error *err);

/* To be passed to service_listen() under SERVER_MAIN_SOCKET or, for a sandbox, under
 * SERVER_SANDBOX_PREFIX and its id. */
struct clients *server_clients(const struct server *server);

/* The 32-byte digest of the policy in force. */
const uint8_t *server_digest(const struct server *server);
