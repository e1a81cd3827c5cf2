/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Decisions over a socket: one JSON object a packet in, one decision a packet out, in order
 *
 * The identity of an asker comes from the kernel and the socket: the process that connected, and
 * the sandbox whose socket it is. Root and the service's own user on the main socket are trusted to
 * speak for others and to control the service; no other peer is. Every failure is answered with
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
#define SERVER_SANDBOX_PREFIX "sandbox-" /* and the sandbox's id */

enum server_records {
	SERVER_RECORDS_NONE,
	SERVER_RECORDS_DENIALS, /* all verdicts but allow */
	SERVER_RECORDS_ALL,
};

/* Errors, reloads, and the issue and end of tokens are recorded whatever is chosen. */
struct server_options {
	struct sd_event *event;	 /* of the loop that serves */
	struct ready *ready;	 /* in which its clients are waited for */
	struct service *service; /* for its status; may be NULL */
	const struct log *log;
	const char *tool; /* for records */
	const char *const *policy_paths;
	size_t n_policy_paths;
	char *const *environment;  /* for the places of guarded files */
	struct recorder *recorder; /* open; must outlive the server */
	enum server_records records;
	size_t n_clients_max;
	struct facts *sandboxes; /* must outlive the server */
};

/* Everything in @options is borrowed, for as long as the server lives. */
int server_new(const struct server_options *options, struct server **ret, struct sbx_error *err);
struct server *server_free(struct server *server);
void server_free_ptr(struct server **server);
#define _cleanup_server_ _cleanup_(server_free_ptr)

/*
 * Puts the policy as it is on disk now into force, in one step. 1 done, 0 it is the same one,
 * negative errno: it is broken, and the old one stays in force. @cause is for the record.
 */
int server_reload(struct server *server, const char *cause, struct sbx_error *err);

/* Records that the service ends. */
int server_finish(struct server *server, struct sbx_error *err);

/* For service_listen() under SERVER_MAIN_SOCKET and, for a sandbox, SERVER_SANDBOX_PREFIX and its
 * id. */
struct clients *server_clients(const struct server *server);

/* Of the policy in force, 32 bytes. */
const uint8_t *server_digest(const struct server *server);
