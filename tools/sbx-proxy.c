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

#define OPTION(long_name, type, member, meta, text)                                                \
	{                                                                                          \
		.name = long_name, .kind = type, .offset = offsetof(struct proxy_values, member),  \
		.metavar = meta, .help = text                                                      \
	}

#define LIMIT(long_name, type, member, meta, text)                                                 \
	{                                                                                          \
		.name = long_name, .kind = type, .offset = offsetof(struct proxy_values, member),  \
		.metavar = meta, .help = text, .is_above_zero = true                               \
	}

/* Of the process that proxies: alone, a worker, or passed to the workers of a service. */
#define OPTIONS_OF_CONNECTIONS                                                                     \
	OPTION("dns", OPTION_STRING, dns, "ADDRESS[:PORT]", "ask this name server"),               \
		LIMIT("max-connections", OPTION_NUMBER, max_connections, "N",                      \
		      "connections of clients at once (4096)"),                                    \
		LIMIT("max-bytes", OPTION_SIZE, max_bytes, "SIZE",                                 \
		      "bytes in both directions, in all"),                                         \
		LIMIT("rate", OPTION_SIZE, rate, "SIZE", "bytes per second in both directions"),   \
		LIMIT("head-timeout", OPTION_TIME, head_usec, "TIME",                              \
		      "until a request is complete (10s)"),                                        \
		LIMIT("idle-timeout", OPTION_TIME, idle_usec, "TIME",                              \
		      "without a byte in either direction (15min)")

#define OPTION_AUDIT_FD                                                                            \
	{                                                                                          \
		.name = "audit-fd", .kind = OPTION_FD,                                             \
		.offset = offsetof(struct proxy_values, audit_fd), .metavar = "FD",                \
		.redirection = ">>FILE", .help = "send records to this file descriptor"            \
	}

const struct option_spec proxy_options[] = {
	OPTION("policy", OPTION_PATH, policy, "FILE", "connect to the hosts that FILE allows"),
	OPTION("listen", OPTION_LIST, listen, "ADDRESS:PORT", "accept clients there"),
	OPTION("listen-unix", OPTION_PATHS, listen_unix, "PATH", "accept clients there"),
	OPTIONS_OF_CONNECTIONS,
	OPTION_AUDIT_FD,
	OPTION_END,
};

static const struct option_spec serve_options[] = {
	OPTION("socket", OPTION_PATH, socket, "PATH", "where to listen"),
	LIMIT("max-clients", OPTION_NUMBER, max_clients, "N", "clients at the same time (1024)"),
	LIMIT("max-workers", OPTION_NUMBER, max_workers, "N", "sandboxes at the same time (1024)"),
	LIMIT("max-workers-each", OPTION_NUMBER, max_workers_each, "N",
	      "of them, those of one user (64)"),
	OPTION_END,
};

static const struct option_spec status_options[] = {
	OPTION("socket", OPTION_PATH, socket, "PATH", "the socket of the service"),
	OPTION_END,
};

static const struct verb_spec verbs[] = {
	{ .name = "serve",
	  .operand_kind = OPERAND_NONE,
	  .options = serve_options,
	  .help = "start a proxy for each sandbox that asks",
	  .run = proxy_verb_serve },
	{ .name = "status",
	  .operand_kind = OPERAND_NONE,
	  .options = status_options,
	  .help = "show the proxies of the service",
	  .run = proxy_verb_status },
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
	OPTION("fd", OPTION_FD, fd, "FD", "the hand-over socket"),
	{ .name = "page-fd",
	  .kind = OPTION_FD,
	  .offset = offsetof(struct proxy_values, page_fd),
	  .metavar = "FD",
	  .redirection = ">>FILE",
	  .help = "memory for counters" },
	OPTION("uid", OPTION_NUMBER, uid, "UID", "the owner of the sandbox"),
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
