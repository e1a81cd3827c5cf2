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

#define OPTION(long_name, type, member, meta, text)                                                \
	{                                                                                          \
		.name = long_name, .kind = type, .offset = offsetof(struct ring_values, member),   \
		.metavar = meta, .help = text                                                      \
	}

#define FLAG(long_name, short_name, member, text)                                                  \
	{                                                                                          \
		.name = long_name, .letter = short_name, .kind = OPTION_FLAG,                      \
		.offset = offsetof(struct ring_values, member), .help = text                       \
	}

#define CHOICE(long_name, member, meta, words, text)                                               \
	{                                                                                          \
		.name = long_name, .kind = OPTION_CHOICE,                                          \
		.offset = offsetof(struct ring_values, member), .metavar = meta, .choices = words, \
		.help = text                                                                       \
	}

/* sbx_ring_configure() refuses other words, and has reasons for some. */
#define TRANSPORT(long_name, member, text)                                                         \
	{                                                                                          \
		.name = long_name, .kind = OPTION_STRING,                                          \
		.offset = offsetof(struct ring_values, member), .metavar = "TRANSPORT",            \
		.choices = ring_transport_names, .help = text                                      \
	}

#define ABOVE_ZERO(long_name, type, member, meta, text)                                            \
	{                                                                                          \
		.name = long_name, .kind = type, .offset = offsetof(struct ring_values, member),   \
		.metavar = meta, .help = text, .is_above_zero = true                               \
	}

#define OPTIONS_OF_CHANNELS                                                                        \
	ABOVE_ZERO("size", OPTION_SIZE, size, "SIZE", "of both directions together (1MiB)"),       \
		CHOICE("mode", mode, "MODE", ring_modes,                                           \
		       "stream: many messages; call: one at a time")

/* The names of the channels that there are. */
#define LISTER "sbx-ring ls -q"

#define OPTION_ENDPOINT                                                                            \
	{                                                                                          \
		.name = "endpoint", .kind = OPTION_STRING,                                         \
		.offset = offsetof(struct ring_values, endpoint), .metavar = "ENDPOINT",           \
		.lister = LISTER, .help = "a path, localhost:PORT, or the name of a channel"       \
	}

#define OPTION_SOCKET                                                                              \
	{                                                                                          \
		.name = "fd", .kind = OPTION_FD, .offset = offsetof(struct ring_values, fd),       \
		.metavar = "FD",                                                                   \
		.opener = "sbx-ring pair --with='sbx-ring send --create' -- sbx-ring recv --fd=3", \
		.help = "a connected unix socket ($SBX_RING_FD)"                                   \
	}

/* Which channel, and as which side. */
#define OPTIONS_OF_SIDES                                                                           \
	TRANSPORT("transport", transport, "shared_memory is the default"), OPTION_ENDPOINT,        \
		OPTION_SOCKET,                                                                     \
		CHOICE("role", role, "ROLE", ring_roles,                                           \
		       "server makes the channel, client joins it"),                               \
		FLAG("datagram", 0, datagram, "a packet a message: of unix_socket by its path"),   \
		FLAG("create", 0, create, "be the server on --fd"),                                \
		ABOVE_ZERO("timeout", OPTION_TIME, timeout_usec, "TIME",                           \
			   "longest wait for the other side (for ever)"),                          \
		OPTION("property", OPTION_LIST, properties, "KEY=VALUE",                           \
		       "set a property, as ipc_buffer_size=4096"),                                 \
		OPTIONS_OF_CHANNELS, OPTION_AUDIT_FD

#define OPTION_AUDIT_FD                                                                            \
	{                                                                                          \
		.name = "audit-fd", .kind = OPTION_FD,                                             \
		.offset = offsetof(struct ring_values, audit_fd), .metavar = "FD",                 \
		.redirection = ">>FILE", .help = "send records to this file descriptor"            \
	}

#define OPTIONS_OF_FRAMING                                                                         \
	FLAG("null", '0', by_nul, "messages end with NUL instead of newline"),                     \
		FLAG("framed", 0, by_length, "messages begin with their length, 4 bytes")

#define OPTION_WHEN_FULL                                                                           \
	CHOICE("when-full", when_full, "POLICY", ring_full_policies,                               \
	       "wait (the default), fail, or drop the message")

static const struct option_spec create_options[] = {
	OPTIONS_OF_CHANNELS,
	FLAG("keep", 0, keep, "make a new channel when both sides have left"),
	FLAG("fds", 0, fds, "start a command with both ends of a channel"),
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
	FLAG("follow", 'f', follow, "when the other side has closed, wait for the next"),
	OPTION_END,
};

static const struct option_spec call_options[] = {
	OPTIONS_OF_SIDES,
	FLAG("serve", 0, serve, "answer requests with the output of a command"),
	OPTION_END,
};

static const struct option_spec pair_options[] = {
	OPTION("with", OPTION_STRING, with, "COMMAND", "the server's side, run by sh -c"),
	OPTION_END,
};

static const struct option_spec pipe_options[] = {
	ABOVE_ZERO("size", OPTION_SIZE, size, "SIZE", "of both directions together (1MiB)"),
	OPTION_AUDIT_FD,
	OPTION_END,
};

#define OPTIONS_OF_INSPECT                                                                         \
	FLAG("watch", 'w', watch, "repeat it every second"),                                       \
		FLAG("dump", 0, dump, "show what is on its way, decoded and in hexadecimal"),      \
		ABOVE_ZERO("bytes", OPTION_SIZE, n_dumped, "SIZE",                                 \
			   "bytes of each direction that --dump shows (1KiB)")

static const struct option_spec inspect_options[] = {
	OPTIONS_OF_INSPECT,
	OPTION_END,
};

#define OF_CHANNEL(verb, words, kind, least, most, table, text)                                    \
	{                                                                                          \
		.name = #verb, .operands = words, .operand_kind = kind, .lister = LISTER,          \
		.min_operands = least, .max_operands = most, .options = table, .help = text,       \
		.run = ring_verb_##verb                                                            \
	}

static const struct verb_spec verbs[] = {
	TOOL_VERB(ring, create, "NAME | --fds -- COMMAND [ARGUMENT...]", OPERAND_WORD, 1,
		  OPERANDS_ANY, create_options, "make a channel for two other processes"),
	OF_CHANNEL(send, "[NAME]", OPERAND_WORD, 0, 1, send_options,
		   "send each line of stdin as a message"),
	OF_CHANNEL(recv, "[NAME]", OPERAND_WORD, 0, 1, recv_options,
		   "write each message to stdout as a line"),
	OF_CHANNEL(call, "[NAME] | --serve -- COMMAND [ARGUMENT...]", OPERAND_COMMAND, 0,
		   OPERANDS_ANY, call_options, "ask with lines of stdin, print the answers"),
	TOOL_VERB(ring, pair, "--with=COMMAND -- COMMAND [ARGUMENT...]", OPERAND_COMMAND, 1,
		  OPERANDS_ANY, pair_options, "start two commands with a channel between them"),
	TOOL_VERB(ring, pipe, "-- COMMAND [ARGUMENT...]", OPERAND_COMMAND, 1, OPERANDS_ANY,
		  pipe_options, "pass stdin through shared memory to a command"),
	OF_CHANNEL(inspect, "NAME", OPERAND_WORD, 1, 1, inspect_options,
		   "show the state and the counters of a channel"),
	{ .name = "stat",
	  .operands = "NAME",
	  .operand_kind = OPERAND_WORD,
	  .lister = LISTER,
	  .min_operands = 1,
	  .max_operands = 1,
	  .options = inspect_options,
	  .help = "the same as inspect",
	  .run = ring_verb_inspect },
	TOOL_VERB(ring, ls, NULL, OPERAND_NONE, 0, 0, NULL, "list the channels with a name"),
	TOOL_VERB(ring, bench, NULL, OPERAND_NONE, 0, 0, ring_bench_options,
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
