/* SPDX-License-Identifier: MIT */

/*
 * The first bytes are the words of a header, the others what stands in the ring. Whatever they are,
 * the dump of them is text that is safe on a terminal, valid JSON, and not longer than what is
 * shown allows. A failed check is an abort.
 */

#include "../../tools/ring.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"

#define CAPACITY 1024
#define WORDS_SIZE 32
#define SHOWN_MAX 2048
/* A line of the dump for each record, and one for 16 bytes. */
#define TEXT_MAX (SHOWN_MAX * 40)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static void check(bool condition)
{
	if (!condition)
		abort();
}

static uint64_t word(const uint8_t *bytes, int i)
{
	uint64_t word;

	memcpy(&word, bytes + 8 * i, sizeof(word));
	return word;
}

static void check_text(const struct text *text)
{
	check(text_status(text) == 0 && text->len < TEXT_MAX);
	for (size_t i = 0; i < text->len; i++)
		check(text->data[i] == '\n' || (text->data[i] >= ' ' && text->data[i] <= '~'));
}

static void dump_both(const struct dump *dump)
{
	_cleanup_text_ struct text text = TEXT_INIT, json = TEXT_INIT;

	dump_add_text(&text, dump);
	check_text(&text);
	dump_add_json(&json, dump);
	check_text(&json);
	check(json_validate(json.data, json.len, NULL, NULL) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	_cleanup_close_ int fd = memfd_create("ring", MFD_CLOEXEC);
	struct dump dump = { .fd = fd, .from = "server", .capacity = CAPACITY };
	uint64_t last;

	if (n_bytes < WORDS_SIZE || fd < 0)
		return 0;
	dump.head = word(bytes, 0);
	dump.tail = word(bytes, 1);
	dump.nonce = word(bytes, 2);
	last = word(bytes, 3);
	dump.record_max = (uint32_t)last;
	dump.n_bytes = last >> 32 & (SHOWN_MAX - 1);
	n_bytes = n_bytes - WORDS_SIZE < CAPACITY ? n_bytes - WORDS_SIZE : CAPACITY;
	/* A shorter file: inspect trusts no size either. */
	if (pwrite(fd, bytes + WORDS_SIZE, n_bytes, SBX_RING_DATA_OFFSET) < 0)
		return 0;
	dump_both(&dump);
	dump.is_call = true;
	dump_both(&dump);
	return 0;
}
