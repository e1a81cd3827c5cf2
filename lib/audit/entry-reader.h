/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What a record of the log says, for whoever reads many of them
 *
 * The answers are those of entry_read_stored(), which decides; an ordinary record gets them from
 * one walk over its bytes, several times as fast.
 */

#include <stddef.h>
#include <stdint.h>

#include "audit/entry.h"

struct audit_event;

#define ENTRY_MINUTE_SIZE 16 /* "2026-01-02T03:04" */

/* Start it as { 0 }. */
struct entry_reader {
	struct audit_entry entry;	 /* private, as all below */
	const struct audit_event *event; /* that came last */
	char minute[ENTRY_MINUTE_SIZE];	 /* the same */
	uint64_t minute_usec;
};

void entry_reader_deinit(struct entry_reader *reader);
/* On the heap: it is large. */
void entry_reader_free_ptr(struct entry_reader **reader);
#define _cleanup_entry_reader_free_ _cleanup_(entry_reader_free_ptr)

/* Its texts are there as long as the bytes, and until the reader reads again. */
struct entry_said {
	const struct audit_event *event;
	uint64_t time_usec;
	struct entry_text columns[N_ENTRY_COLUMNS];
};

/* 0, -ENOMEM, or the reason why the bytes are no record, as entry_read_stored(). */
int entry_reader_read(struct entry_reader *reader, const void *bytes, size_t n_bytes,
		      struct entry_said *ret);
/*
 * Its time alone. Where that stands in the first place, as lib/record writes it, nothing else is
 * looked at: whether such bytes are a record is not known then.
 */
int entry_reader_time(struct entry_reader *reader, const void *bytes, size_t n_bytes,
		      uint64_t *ret_usec);
