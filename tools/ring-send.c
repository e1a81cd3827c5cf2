/* SPDX-License-Identifier: MIT */

/*
 * sbx-ring send: records of stdin become messages
 *
 * While another whole record is in the buffer, the message may wait to be published with it
 * (SBX_RING_MORE). Before a read() that can block, everything is published.
 */

#include "ring.h"

#include <inttypes.h>
#include <signal.h>
#include <unistd.h>

#include "base/progress.h"

#include "tool.h"

#define PROGRESS_EACH 1024

struct sending {
	struct side side;
	struct input input;
	struct progress progress;
	uint64_t n_sent, n_dropped;
};

static void sending_deinit(struct sending *sending)
{
	progress_clear(&sending->progress);
	input_deinit(&sending->input);
	side_deinit(&sending->side);
}

static int fail_at(struct sending *sending, int r, struct sbx_error *err)
{
	char doing[64];

	(void)snprintf(doing, sizeof(doing), "send message %" PRIu64, sending->input.number);
	progress_clear(&sending->progress);
	return side_fail(&sending->side, r, doing, err);
}

/* 0 or an exit status. */
static int send_one(struct sending *sending, const void *bytes, size_t n_bytes,
		    struct sbx_error *err)
{
	unsigned flags = input_is_ready(&sending->input) ? SBX_RING_MORE : 0;
	int r = sbx_ring_send(sending->side.ring, bytes, n_bytes, flags,
			      sending->side.timeout_usec);

	if (r == SBX_RING_DROPPED)
		sending->n_dropped++;
	else if (r != 0)
		return fail_at(sending, r, err);
	sending->n_sent++;
	if (sending->n_sent % PROGRESS_EACH == 0)
		progress_show(&sending->progress, sending->n_sent, 0);
	return 0;
}

static int send_all(struct sending *sending, struct sbx_error *err)
{
	const void *bytes;
	size_t n_bytes;
	int r;

	while ((r = input_next(&sending->input, &bytes, &n_bytes)) == 0) {
		r = send_one(sending, bytes, n_bytes, err);
		if (r != 0)
			return r;
	}
	return r == INPUT_END ? 0 : input_fail(&sending->input, r, err);
}

static int finish(struct sending *sending, struct sbx_error *err)
{
	int r = side_flush(&sending->side);

	if (r != 0)
		return fail_at(sending, r, err);
	r = side_close(&sending->side, 0, err);
	if (r < 0 || sending->n_dropped == 0)
		return r;
	(void)error_fill(err, -ENOBUFS, "there was no room for them (--when-full=drop)",
			 "let the other side read faster, or make a larger channel",
			 "%" PRIu64 " of %" PRIu64 " messages were dropped", sending->n_dropped,
			 sending->n_sent);
	return TOOL_NO;
}

int ring_verb_send(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	_cleanup_(sending_deinit) struct sending sending = {
		.side = SIDE_INIT(run, SBX_RING_SERVER),
		.input = { .fd = STDIN_FILENO },
		.progress = PROGRESS_INIT,
	};
	int r = ring_framing(run->values, &sending.input.framing, err);

	if (r != 0)
		return r;
	(void)signal(SIGPIPE, SIG_IGN);
	r = side_open(&sending.side, n_operands > 0 ? operands[0] : NULL, err);
	if (r != 0)
		return r;
	/* What finds no room is lost or refused; nothing is, before there is a reader at all. */
	r = sbx_ring_wait(sending.side.ring, SBX_RING_WRITABLE, sending.side.timeout_usec);
	if (r != 0)
		return fail_at(&sending, r == SBX_RING_EMPTY ? SBX_RING_FULL : r, err);
	tool_begin_progress(run, &sending.progress, "sending");
	r = send_all(&sending, err);
	return r != 0 ? r : finish(&sending, err);
}
