/* SPDX-License-Identifier: MIT */

/*
 * sbx-ring inspect: what a keeper tells about its channel, and what is in the two files
 *
 * Attaching is reading: the keeper passes the server's file, which is sealed against writing, and a
 * copy of the client's file. Both sides may have written anything there, so every word is read with
 * pread(), clamped, and shown; none is a size or a place of memory here.
 */

#include "ring.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/table.h"
#include "base/units.h"
#include "ring/violation.h"

#include "tool.h"

#define ANSWER_USEC UINT64_C(10000000)
#define INTERVAL_MSEC 1000
#define DUMPED_DEFAULT 1024
#define N_SIDES 2

struct inspected {
	struct ring_status status;
	int files[N_SIDES]; /* -EBADF: not there yet */
	uint8_t headers[N_SIDES][SBX_RING_DATA_OFFSET];
	bool has_files;
};

static void inspected_deinit(struct inspected *inspected)
{
	fd_close_many(inspected->files, N_SIDES);
}

static uint64_t word_of(const struct inspected *inspected, int side, size_t at)
{
	uint64_t word;

	memcpy(&word, inspected->headers[side] + at, sizeof(word));
	return word;
}

static uint32_t half_of(const struct inspected *inspected, int side, size_t at)
{
	uint32_t word;

	memcpy(&word, inspected->headers[side] + at, sizeof(word));
	return word;
}

static uint64_t counter_of(const struct inspected *inspected, int side,
			   enum sbx_ring_counter counter)
{
	return word_of(inspected, side, SBX_RING_COUNTERS_OFFSET + 8 * (size_t)counter);
}

/* ---- read ---- */

/* Only memory can be read without waiting: a file in user space could answer never. */
static bool is_memory(int fd)
{
	return fcntl(fd, F_GET_SEALS) >= 0;
}

static int read_headers(struct inspected *inspected)
{
	for (int side = 0; side < N_SIDES; side++) {
		if (!is_memory(inspected->files[side]))
			return -EBADMSG;

		ssize_t n = pread(inspected->files[side], inspected->headers[side],
				  SBX_RING_DATA_OFFSET, 0);

		if (n != SBX_RING_DATA_OFFSET)
			return n < 0 ? -errno : -EBADMSG;
	}
	inspected->has_files = true;
	return 0;
}

static int inspect(int keeper, const char *name, bool with_data, struct inspected *ret,
		   struct sbx_error *err)
{
	char bytes[NAMED_BYTES_MAX + 1];
	size_t n_bytes, n_fds = 0;
	int r = named_ask(keeper, name,
			  with_data ? "{\"type\":\"INSPECT\",\"data\":true}"
				    : "{\"type\":\"INSPECT\",\"data\":false}",
			  ANSWER_USEC, bytes, &n_bytes, ret->files, N_SIDES, &n_fds, err);

	if (r < 0)
		return r;
	r = ring_status_parse(bytes, n_bytes, &ret->status);
	/* The capacity is the size of what --dump reads. */
	if (r == 0 && ret->status.capacity > SBX_RING_CAPACITY_MAX)
		r = -EBADMSG;
	else if (r == 0 && n_fds == N_SIDES)
		r = read_headers(ret);
	return r < 0 ? error_fill(err, r, "the answer of its keeper cannot be read", NULL,
				  "cannot inspect the channel '%s'", name)
		     : 0;
}

/* ---- show ---- */

static const struct {
	const char *title, *member;
	enum sbx_ring_counter counter;
} counters[] = {
	{ "messages sent", "messages_sent", SBX_RING_COUNTER_SENT },
	{ "messages received", "messages_received", SBX_RING_COUNTER_RECEIVED },
	{ "bytes sent", "bytes_sent", SBX_RING_COUNTER_BYTES_SENT },
	{ "bytes received", "bytes_received", SBX_RING_COUNTER_BYTES_RECEIVED },
	{ "most bytes waiting for it", "high_water_bytes", SBX_RING_COUNTER_HIGH_WATER },
	{ "found no room", "full", SBX_RING_COUNTER_FULL },
	{ "dropped", "dropped", SBX_RING_COUNTER_DROPPED },
	{ "sends failed", "send_failures", SBX_RING_COUNTER_SEND_FAILURES },
	{ "receives failed", "receive_failures", SBX_RING_COUNTER_RECEIVE_FAILURES },
	{ "sleeps", "sleeps", SBX_RING_COUNTER_SLEEPS },
	{ "wake-ups", "wakes", SBX_RING_COUNTER_WAKES },
};

/* NULL: no process has the role. */
static const char *name_state(const struct inspected *inspected, int side)
{
	if (!inspected->has_files || inspected->status.pids[side] == 0)
		return NULL;
	switch (half_of(inspected, side, SBX_RING_STATE_OFFSET)) {
	case SBX_RING_STATE_OPEN:
		return "open";
	case SBX_RING_STATE_CLOSED:
		return "closed";
	default:
		return "not_defined";
	}
}

static const char *name_sleeping(const struct inspected *inspected, int side)
{
	uint32_t sleeping = half_of(inspected, side, SBX_RING_SLEEPING_OFFSET);
	bool is_data = sleeping & SBX_RING_SLEEPING_DATA;
	bool is_room = sleeping & SBX_RING_SLEEPING_ROOM;

	if (is_data && is_room)
		return "messages, room";
	return is_data ? "messages" : is_room ? "room" : "-";
}

/* The first violation of the other side that this side has seen. */
static const char *name_violation(const struct inspected *inspected, int side)
{
	uint64_t number = counter_of(inspected, side, SBX_RING_COUNTER_VIOLATION);
	const char *name = number <= INT32_MAX ? ring_violation_name((int)number) : NULL;

	return number == 0 ? NULL : name ? name : "not_defined";
}

static void add_row(struct table *table, const char *title, const char *server, const char *client)
{
	table_add(table, title);
	table_add(table, server);
	table_add(table, client);
}

static void add_number_row(struct table *table, const char *title, const uint64_t numbers[N_SIDES])
{
	table_add(table, title);
	table_add_number(table, numbers[SBX_RING_SERVER]);
	table_add_number(table, numbers[SBX_RING_CLIENT]);
}

static const char *or_dash(const char *text)
{
	return text ? text : "-";
}

static void show(const struct inspected *inspected, struct text *out)
{
	_cleanup_table_ struct table table = { .n_columns = 3, .numbers = 6 };

	text_addf(out, "%s: %s, %s, ", inspected->status.name, inspected->status.state,
		  inspected->status.mode);
	units_add_size(out, inspected->status.capacity);
	text_addf(out, " each way, kept by process %" PRIu64 "\n", inspected->status.keeper_pid);
	add_row(&table, "", "SERVER", "CLIENT");
	add_number_row(&table, "process", inspected->status.pids);
	add_row(&table, "state", or_dash(name_state(inspected, SBX_RING_SERVER)),
		or_dash(name_state(inspected, SBX_RING_CLIENT)));
	add_number_row(&table, "bytes on their way from it", inspected->status.n_bytes);
	if (inspected->has_files) {
		add_row(&table, "sleeps until there are", name_sleeping(inspected, SBX_RING_SERVER),
			name_sleeping(inspected, SBX_RING_CLIENT));
		for (size_t i = 0; i < N_ELEMENTS(counters); i++) {
			const uint64_t numbers[N_SIDES] = {
				counter_of(inspected, SBX_RING_SERVER, counters[i].counter),
				counter_of(inspected, SBX_RING_CLIENT, counters[i].counter),
			};

			add_number_row(&table, counters[i].title, numbers);
		}
		add_row(&table, "saw a violation by the other",
			or_dash(name_violation(inspected, SBX_RING_SERVER)),
			or_dash(name_violation(inspected, SBX_RING_CLIENT)));
	}
	table_print(&table, out);
}

static void add_side(struct json_writer *json, const struct inspected *inspected, int side)
{
	json_add_object(json);
	json_member_u64(json, "pid", inspected->status.pids[side]);
	json_member_u64(json, "now_bytes", inspected->status.n_bytes[side]);
	json_member_string(json, "state", name_state(inspected, side));
	if (inspected->has_files) {
		json_member_u64(json, "tail", word_of(inspected, side, SBX_RING_TAIL_OFFSET));
		json_member_u64(json, "head", word_of(inspected, side, SBX_RING_HEAD_OFFSET));
		json_member_u64(json, "sleeping",
				half_of(inspected, side, SBX_RING_SLEEPING_OFFSET));
		for (size_t i = 0; i < N_ELEMENTS(counters); i++)
			json_member_u64(json, counters[i].member,
					counter_of(inspected, side, counters[i].counter));
		json_member_string(json, "violation", name_violation(inspected, side));
	}
	json_end_object(json);
}

static void show_in_json(const struct inspected *inspected, struct text *out)
{
	struct json_writer json;

	json_begin_object(&json, out);
	json_member_string(&json, "name", inspected->status.name);
	json_member_string(&json, "state", inspected->status.state);
	json_member_string(&json, "mode", inspected->status.mode);
	json_member_u64(&json, "capacity", inspected->status.capacity);
	json_member_object(&json, "keeper");
	json_member_u64(&json, "pid", inspected->status.keeper_pid);
	json_end_object(&json);
	json_add_name(&json, "server");
	add_side(&json, inspected, SBX_RING_SERVER);
	json_add_name(&json, "client");
	add_side(&json, inspected, SBX_RING_CLIENT);
	json_end_line(&json);
}

static void dump(const struct tool_run *run, const struct inspected *inspected, struct text *out)
{
	const struct ring_values *values = run->values;

	for (int side = 0; inspected->has_files && side < N_SIDES; side++) {
		const struct dump dump = {
			.fd = inspected->files[side],
			.from = side == SBX_RING_SERVER ? "server" : "client",
			.is_call = strcmp(inspected->status.mode, "call") == 0,
			.capacity = inspected->status.capacity,
			.head = word_of(inspected, !side, SBX_RING_HEAD_OFFSET),
			.tail = word_of(inspected, side, SBX_RING_TAIL_OFFSET),
			.nonce = word_of(inspected, side, SBX_RING_NONCE_OFFSET),
			.record_max = half_of(inspected, side, SBX_RING_RECORD_MAX_OFFSET),
			.n_bytes = tool_or_usual(values->n_dumped, DUMPED_DEFAULT),
		};

		run->json ? dump_add_json(out, &dump) : dump_add_text(out, &dump);
	}
}

static int inspect_once(struct tool_run *run, int keeper, const char *name, struct sbx_error *err)
{
	const struct ring_values *values = run->values;
	_cleanup_(inspected_deinit) struct inspected inspected = { .files = { -EBADF, -EBADF } };
	int r = inspect(keeper, name, values->dump, &inspected, err);

	if (r < 0)
		return r;
	if (run->json)
		show_in_json(&inspected, &run->out);
	else
		show(&inspected, &run->out);
	if (values->dump)
		dump(run, &inspected, &run->out);
	return tool_flush(run, err);
}

/* ---- again and again ---- */

/* False after SIGINT or SIGTERM, or when the keeper has ended. */
static bool wait_a_second(int signals, int keeper)
{
	struct pollfd fds[] = { { .fd = signals, .events = POLLIN },
				{ .fd = keeper, .events = POLLIN } };

	return poll(fds, N_ELEMENTS(fds), INTERVAL_MSEC) == 0;
}

static int watch(struct tool_run *run, int keeper, const char *name, struct sbx_error *err)
{
	_cleanup_close_ int signals = -EBADF;
	sigset_t mask;
	int r;

	(void)sigemptyset(&mask);
	(void)sigaddset(&mask, SIGINT);
	(void)sigaddset(&mask, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &mask, NULL);
	signals = signalfd(-1, &mask, SFD_CLOEXEC);
	if (signals < 0)
		return sbx_error_what(err, -errno, "cannot wait for signals");
	do {
		if (!run->json && isatty(STDOUT_FILENO))
			text_add(&run->out, "\033[H\033[2J");
		r = inspect_once(run, keeper, name, err);
	} while (r == 0 && wait_a_second(signals, keeper));
	return r;
}

int ring_verb_inspect(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	const struct ring_values *values = run->values;
	_cleanup_close_ int keeper = -EBADF;
	int r;

	if (values->n_dumped > 0 && !values->dump)
		return ring_refuse(err, "--bytes has no effect without --dump",
				   "it says how much --dump shows", "add --dump, or leave it out");
	keeper = named_connect(operands[0], err);
	r = keeper;
	if (keeper >= 0)
		r = values->watch ? watch(run, keeper, operands[0], err)
				  : inspect_once(run, keeper, operands[0], err);
	return r < 0 ? side_status(r) : r;
}
