/* SPDX-License-Identifier: MIT */

/*
 * sbx-ring: messages between two processes that do not trust each other
 *
 * This file has the tables of verbs and options. The channel itself is lib/ring, used
 * through <sbx/ring.h>; a verb adds what a shell needs: stdin, stdout, commands, names.
 */

#include "ring.h"

#include "ring/properties.h"

#include "tool.h"

#define OPTION(...) OPTION_ROW(struct ring_values, __VA_ARGS__)

#define OPTIONS_OF_CHANNELS                                                                        \
	OPTION("size", 0, OPTION_SIZE, size, "SIZE", "of both directions together (1MiB)",         \
	       .is_above_zero = true),                                                             \
		OPTION("mode", 0, OPTION_CHOICE, mode, "MODE",                                     \
		       "stream: many messages; call: one at a time", .choices = ring_modes)

/* The names of the channels that there are. */
#define LISTER "sbx-ring ls -q"

#define OPTION_ENDPOINT                                                                            \
	OPTION("endpoint", 0, OPTION_STRING, endpoint, "ENDPOINT",                                 \
	       "a path, localhost:PORT, or the name of a channel", .lister = LISTER)

/* sbx_ring_configure() refuses other words, and has reasons for some. */
#define OPTION_TRANSPORT                                                                           \
	OPTION("transport", 0, OPTION_STRING, transport, "TRANSPORT",                              \
	       "shared_memory is the default", .choices = ring_transport_names)

#define OPTION_SOCKET                                                                              \
	OPTION("fd", 0, OPTION_FD, fd, "FD", "a connected unix socket ($SBX_RING_FD)",             \
	       .opener = "sbx-ring pair --with='sbx-ring send --create' -- sbx-ring recv --fd=3")

/* Which channel, and as which side. */
#define OPTIONS_OF_SIDES                                                                           \
	OPTION_TRANSPORT, OPTION_ENDPOINT, OPTION_SOCKET,                                          \
		OPTION("role", 0, OPTION_CHOICE, role, "ROLE",                                     \
		       "server makes the channel, client joins it", .choices = ring_roles),        \
		OPTION("datagram", 0, OPTION_FLAG, datagram, NULL,                                 \
		       "a packet a message: of unix_socket by its path"),                          \
		OPTION("create", 0, OPTION_FLAG, create, NULL, "be the server on --fd"),           \
		OPTION("timeout", 0, OPTION_TIME, timeout_usec, "TIME",                            \
		       "longest wait for the other side (for ever)", .is_above_zero = true),       \
		OPTION("property", 0, OPTION_LIST, properties, "KEY=VALUE",                        \
		       "set a property, as ipc_buffer_size=4096"),                                 \
		OPTIONS_OF_CHANNELS, OPTION_AUDIT_FD

#define OPTION_AUDIT_FD                                                                            \
	OPTION("audit-fd", 0, OPTION_FD, audit_fd, "FD", "send records to this file descriptor",   \
	       .redirection = ">>FILE")

#define OPTIONS_OF_FRAMING                                                                         \
	OPTION("null", '0', OPTION_FLAG, by_nul, NULL,                                             \
	       "messages end with NUL instead of newline"),                                        \
		OPTION("framed", 0, OPTION_FLAG, by_length, NULL,                                  \
		       "messages begin with their length, 4 bytes")

#define OPTION_WHEN_FULL                                                                           \
	OPTION("when-full", 0, OPTION_CHOICE, when_full, "POLICY",                                 \
	       "wait (the default), fail, or drop the message", .choices = ring_full_policies)

static const struct option_spec create_options[] = {
	OPTIONS_OF_CHANNELS,
	OPTION("keep", 0, OPTION_FLAG, keep, NULL, "make a new channel when both sides have left"),
	OPTION("fds", 0, OPTION_FLAG, fds, NULL, "start a command with both ends of a channel"),
	OPTION_END,
};

static const struct option_spec send_options[] = {
	OPTIONS_OF_SIDES,
	OPTIONS_OF_FRAMING,
	OPTION_WHEN_FULL,
	OPTION_END,
};

static const struct option_spec recv_options[] = {
	OPTIONS_OF_SIDES,
	OPTIONS_OF_FRAMING,
	OPTION("follow", 'f', OPTION_FLAG, follow, NULL,
	       "when the other side has closed, wait for the next"),
	OPTION_END,
};

static const struct option_spec call_options[] = {
	OPTIONS_OF_SIDES,
	OPTION("serve", 0, OPTION_FLAG, serve, NULL,
	       "answer requests with the output of a command"),
	OPTION_END,
};

static const struct option_spec pair_options[] = {
	OPTION("with", 0, OPTION_STRING, with, "COMMAND", "the server's side, run by sh -c"),
	OPTION_END,
};

static const struct option_spec pipe_options[] = {
	OPTION("size", 0, OPTION_SIZE, size, "SIZE", "of both directions together (1MiB)",
	       .is_above_zero = true),
	OPTION_AUDIT_FD,
	OPTION_END,
};

static const struct option_spec inspect_options[] = {
	OPTION("watch", 'w', OPTION_FLAG, watch, NULL, "repeat it every second"),
	OPTION("dump", 0, OPTION_FLAG, dump, NULL,
	       "show what is on its way, decoded and in hexadecimal"),
	OPTION("bytes", 0, OPTION_SIZE, n_dumped, "SIZE",
	       "bytes of each direction that --dump shows (1KiB)", .is_above_zero = true),
	OPTION_END,
};

static const struct option_spec bench_options[] = {
	OPTION("filter", 0, OPTION_STRING, filter, "TEXT",
	       "only benchmarks with TEXT in their name"),
	OPTION("repetitions", 0, OPTION_NUMBER, n_repetitions, "N",
	       "measure each N times, up to 1000 (15)", .is_above_zero = true),
	OPTION("quick", 0, OPTION_FLAG, quick, NULL, "measure each once, with fewer messages"),
	OPTION("list", 0, OPTION_FLAG, list, NULL, "list the benchmarks and measure nothing"),
	OPTION_END,
};

static const struct verb_spec verbs[] = {
	TOOL_VERB(ring, create, "NAME | --fds -- COMMAND [ARGUMENT...]", OPERAND_WORD, 1,
		  OPERANDS_ANY, create_options, "make a channel for two other processes"),
	TOOL_VERB(ring, send, "[NAME]", OPERAND_WORD, 0, 1, send_options,
		  "send each line of stdin as a message", .lister = LISTER),
	TOOL_VERB(ring, recv, "[NAME]", OPERAND_WORD, 0, 1, recv_options,
		  "write each message to stdout as a line", .lister = LISTER),
	TOOL_VERB(ring, call, "[NAME] | --serve -- COMMAND [ARGUMENT...]", OPERAND_COMMAND, 0,
		  OPERANDS_ANY, call_options, "ask with lines of stdin, print the answers",
		  .lister = LISTER),
	TOOL_VERB(ring, pair, "--with=COMMAND -- COMMAND [ARGUMENT...]", OPERAND_COMMAND, 1,
		  OPERANDS_ANY, pair_options, "start two commands with a channel between them"),
	TOOL_VERB(ring, pipe, "-- COMMAND [ARGUMENT...]", OPERAND_COMMAND, 1, OPERANDS_ANY,
		  pipe_options, "pass stdin through shared memory to a command"),
	TOOL_VERB(ring, inspect, "NAME", OPERAND_WORD, 1, 1, inspect_options,
		  "show the state and the counters of a channel", .lister = LISTER),
	TOOL_VERB_NAMED("stat", ring_verb_inspect, "NAME", OPERAND_WORD, 1, 1, inspect_options,
			"the same as inspect", .lister = LISTER),
	TOOL_VERB(ring, ls, NULL, OPERAND_NONE, 0, 0, NULL, "list the channels with a name"),
	TOOL_VERB(ring, bench, NULL, OPERAND_NONE, 0, 0, bench_options,
		  "measure channels on this host"),
	{ .name = NULL },
};

static const struct tool tool = {
	.command = {
		.name = "sbx-ring",
		.summary = "Carries messages between two processes that do not trust each other.",
		.verbs = verbs,
		.first_verb = "ls",
	},
	.values_size = sizeof(struct ring_values),
	.usage_status = TOOL_USAGE,
};

int main(int argc, char *argv[])
{
	return tool_main(&tool, argc, argv);
}
