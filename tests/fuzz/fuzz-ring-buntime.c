/* SPDX-License-Identifier: MIT */

/*
 * The first byte chooses what the other bytes are: a control line, or a whole segment that the
 * other side wrote. A line that is accepted prints and parses to the same; a segment gives messages
 * that are inside of it, until it is empty or the channel ends. A failed check is an abort.
 */

#include "ring/buntime.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sbx/ring.h>

#include "base/cleanup.h"
#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static void check(bool condition)
{
	if (!condition)
		abort();
}

static void check_line(const char *bytes, size_t n_bytes, enum message_sender sender)
{
	_cleanup_text_ struct text printed = TEXT_INIT;
	struct buntime_line line, again;
	const char *problem = NULL;

	if (memchr(bytes, '\n', n_bytes))
		return;
	if (buntime_parse_line(bytes, n_bytes, sender, &line, &problem) < 0) {
		check(problem && problem[0]);
		return;
	}
	check(buntime_print_line(&line, sender, &printed) == 0);
	check(buntime_parse_line(printed.data, printed.len - 1, sender, &again, &problem) == 0);
	check(again.kind == line.kind && strcmp(again.event, line.event) == 0);
	check(!again.data == !line.data && again.data_size == line.data_size);
}

/* Begins with an honest segment, so that the bytes need not find its capacity. */
static void check_segment(const uint8_t *bytes, size_t n_bytes, enum message_sender side)
{
	struct buntime buntime = BUNTIME_INIT;
	_cleanup_close_ int fd = -EBADF;
	const uint8_t *message;
	size_t n_message, n_all = 0;
	int r;

	check(buntime_make(BUNTIME_TOTAL_MIN, &fd, NULL) == 0);
	check(buntime_attach(fd, side, &buntime, NULL) == 0);
	memcpy(buntime.in, bytes,
	       n_bytes < BUNTIME_TOTAL_MIN / 2 ? n_bytes : BUNTIME_TOTAL_MIN / 2);
	while ((r = buntime_receive(&buntime, &message, &n_message)) == 0) {
		check(message == buntime.message && n_message <= buntime_message_max(&buntime));
		n_all += n_message + BUNTIME_LENGTH_SIZE;
	}
	check(n_all < buntime.capacity);
	check(r == SBX_RING_EMPTY ? !buntime.violation : r == -EPROTO && buntime.violation > 0);
	memcpy(buntime.out, bytes, n_bytes < BUNTIME_DATA_OFFSET ? n_bytes : BUNTIME_DATA_OFFSET);
	r = buntime_send(&buntime, "x", 1);
	check(r == 0 || r == SBX_RING_FULL || (r == -EPROTO && buntime.violation > 0));
	buntime_deinit(&buntime);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	enum message_sender side = MESSAGE_BY_SUPERVISOR;

	if (n_bytes == 0)
		return 0;
	if (bytes[0] & 2)
		side = MESSAGE_BY_WORKER;
	if (bytes[0] & 1)
		check_line((const char *)bytes + 1, n_bytes - 1, side);
	else
		check_segment(bytes + 1, n_bytes - 1, side);
	return 0;
}
