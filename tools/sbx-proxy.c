/* SPDX-License-Identifier: MIT */

/*
 * sbx-proxy: connects sandboxes to exactly the hosts that their policy allows
 *
 * This file has the tables of options. "worker" has a table of its own and is not among the verbs:
 * sbx-spawn and the service start it, and its hand-over socket cannot be typed.
 */

#include "proxy.h"

#include <string.h>

#include "tool.h"

#define OPTION(...) OPTION_ROW(struct proxy_values, __VA_ARGS__)

/* Of the process that proxies: alone, a worker, or passed to the workers of a service. */
#define OPTIONS_OF_CONNECTIONS                                                                     \
	OPTION("dns", 0, OPTION_STRING, dns, "ADDRESS[:PORT]", "ask this name server"),            \
		OPTION("max-connections", 0, OPTION_NUMBER, max_connections, "N",                  \
		       "connections of clients at once (4096)", .is_above_zero = true),            \
		OPTION("max-bytes", 0, OPTION_SIZE, max_bytes, "SIZE",                             \
		       "bytes in both directions, in all", .is_above_zero = true),                 \
		OPTION("rate", 0, OPTION_SIZE, rate, "SIZE",                                       \
		       "bytes per second in both directions", .is_above_zero = true),              \
		OPTION("head-timeout", 0, OPTION_TIME, head_usec, "TIME",                          \
		       "until a request is complete (10s)", .is_above_zero = true),                \
		OPTION("idle-timeout", 0, OPTION_TIME, idle_usec, "TIME",                          \
		       "without a byte in either direction (15m)", .is_above_zero = true)

#define OPTION_AUDIT_FD                                                                            \
	OPTION("audit-fd", 0, OPTION_FD, audit_fd, "FD", "send records to this file descriptor",   \
	       .redirection = ">>FILE")

const struct option_spec proxy_options[] = {
	OPTION("policy", 0, OPTION_PATH, policy, "FILE", "connect to the hosts that FILE allows"),
	OPTION("listen", 0, OPTION_LIST, listen, "ADDRESS:PORT", "accept clients there"),
	OPTION("listen-unix", 0, OPTION_PATHS, listen_unix, "PATH", "accept clients there"),
	OPTIONS_OF_CONNECTIONS,
	OPTION_AUDIT_FD,
	OPTION_END,
};

static const struct option_spec serve_options[] = {
	OPTION("socket", 0, OPTION_PATH, socket, "PATH", "where to listen"),
	OPTION("max-clients", 0, OPTION_NUMBER, max_clients, "N", "clients at the same time (1024)",
	       .is_above_zero = true),
	OPTION("max-workers", 0, OPTION_NUMBER, max_workers, "N",
	       "sandboxes at the same time (1024)", .is_above_zero = true),
	OPTION("max-workers-each", 0, OPTION_NUMBER, max_workers_each, "N",
	       "of them, those of one user (64)", .is_above_zero = true),
	OPTION_END,
};

static const struct option_spec status_options[] = {
	OPTION("socket", 0, OPTION_PATH, socket, "PATH", "the socket of the service"),
	OPTION_END,
};

static const struct verb_spec verbs[] = {
	TOOL_VERB(proxy, serve, NULL, OPERAND_NONE, 0, 0, serve_options,
		  "start a proxy for each sandbox that asks"),
	TOOL_VERB(proxy, status, NULL, OPERAND_NONE, 0, 0, status_options,
		  "show the proxies of the service"),
	{ .name = NULL },
};

static const struct tool tool = {
	.command = {
		.name = "sbx-proxy",
		.summary = "Connects sandboxes to exactly the hosts that their policy allows.",
		.options = proxy_options,
		.verbs = verbs,
		.run = proxy_run_alone,
	},
	.values_size = sizeof(struct proxy_values),
	.usage_status = TOOL_USAGE,
};

static const struct option_spec worker_options[] = {
	OPTION("fd", 0, OPTION_FD, fd, "FD", "the hand-over socket"),
	OPTION("page-fd", 0, OPTION_FD, page_fd, "FD", "memory for counters",
	       .redirection = ">>FILE"),
	OPTION("uid", 0, OPTION_NUMBER, uid, "UID", "the owner of the sandbox"),
	OPTIONS_OF_CONNECTIONS,
	OPTION_AUDIT_FD,
	OPTION_END,
};

static const struct tool worker = {
	.command = {
		.name = "sbx-proxy",
		.summary = "The proxy of one sandbox.",
		.options = worker_options,
		.run = proxy_run_worker,
	},
	.values_size = sizeof(struct proxy_values),
	.usage_status = TOOL_USAGE,
};

int main(int argc, char *argv[])
{
	if (argc > 1 && strcmp(argv[1], "worker") == 0)
		return tool_main(&worker, argc - 1, argv + 1);
	return tool_main(&tool, argc, argv);
}
