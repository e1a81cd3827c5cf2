/* SPDX-License-Identifier: MIT */

/*
 * sbx-ring recv: messages become records of stdout
 *
 * Messages are copied from the ring into one buffer, which is written when it is full or when no
 * further message is at hand. Their bytes may still change while they are copied.
 */

#include "ring.h"

#include <signal.h>
#include <unistd.h>

#include "base/progress.h"

#include "tool.h"

#define PROGRESS_EACH 1024

struct receiving {
	struct side side;
	struct output output;
	struct progress progress;
	uint64_t n_received;
};

static void receiving_deinit(struct receiving *receiving)
{
	progress_clear(&receiving->progress);
	output_deinit(&receiving->output);
	side_deinit(&receiving->side);
}

/* 0, a positive result of the ring, or negative errno; *@ret_wrote says that the failure is one of
 * stdout. */
static int pass_one(struct receiving *receiving, uint64_t timeout_usec, bool *ret_wrote)
{
	struct sbx_ring *ring = receiving->side.ring;
	const void *bytes;
	size_t n_bytes;
	int r = sbx_ring_peek(ring, &bytes, &n_bytes);
	bool is_peeked = r == 0;

	/* In parts, or not there yet. */
	if (r == -EMSGSIZE || (r == SBX_RING_EMPTY && timeout_usec > 0))
		r = sbx_ring_receive(ring, &bytes, &n_bytes, timeout_usec);
	if (r != 0)
		return r;
	r = output_add(&receiving->output, bytes, n_bytes);
	*ret_wrote = r < 0;
	if (is_peeked)
		sbx_ring_release(ring);
	if (++receiving->n_received % PROGRESS_EACH == 0)
		progress_show(&receiving->progress, receiving->n_received, 0);
	return r;
}

/* Until the channel ends: SBX_RING_CLOSED, or the failure. */
static int pass_all(struct receiving *receiving, bool *ret_wrote)
{
	int r;

	*ret_wrote = false;
	do {
		r = pass_one(receiving, 0, ret_wrote);
		if (r != SBX_RING_EMPTY)
			continue;
		r = output_flush(&receiving->output);
		*ret_wrote = r < 0;
		if (r == 0)
			r = pass_one(receiving, receiving->side.timeout_usec, ret_wrote);
	} while (r == 0);
	return r;
}

/* What came before the end is written first, whatever the end was. 0 or an exit status. */
static int pass_channel(struct receiving *receiving, bool goes_on, struct sbx_error *err)
{
	bool is_of_stdout;
	int r = pass_all(receiving, &is_of_stdout);
	int flushed = is_of_stdout ? 0 : output_flush(&receiving->output);

	progress_clear(&receiving->progress);
	if (is_of_stdout || flushed < 0)
		return output_fail(&receiving->side, is_of_stdout ? r : flushed, err);
	if (r == SBX_RING_CLOSED || (goes_on && (r == -ECONNRESET || r == -EPIPE)))
		return 0;
	return side_fail(&receiving->side, r, "receive", err);
}

static int follow(struct receiving *receiving, struct sbx_error *err)
{
	int r;

	do {
		r = pass_channel(receiving, true, err);
		if (r == 0)
			r = side_reconnect(&receiving->side, err);
	} while (r == 0);
	return r == RING_NO_MORE ? 0 : r;
}

int ring_verb_recv(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	const struct ring_values *values = run->values;
	_cleanup_(receiving_deinit) struct receiving receiving = {
		.side = SIDE_INIT(run, SBX_RING_CLIENT),
		.output = { .fd = STDOUT_FILENO },
		.progress = PROGRESS_INIT,
	};
	int r = ring_framing(values, &receiving.output.framing, err);

	if (r != 0)
		return r;
	if (run->json)
		return ring_refuse(err, "recv does not go with --json",
				   "messages have any bytes, and are written as they are",
				   "leave it out; --framed keeps messages apart");
	(void)signal(SIGPIPE, SIG_IGN);
	r = side_open(&receiving.side, n_operands > 0 ? operands[0] : NULL, err);
	if (r != 0)
		return r;
	tool_begin_progress(run, &receiving.progress, "receiving");
	r = values->follow ? follow(&receiving, err) : pass_channel(&receiving, false, err);
	return r != 0 ? r : side_close(&receiving.side, 0, err);
}
