/* SPDX-License-Identifier: MIT */

/*
 * Reading many records
 *
 * entry_read_stored() decides what a record says, and it is slow for a log of ten million records.
 * So nearly all of them take a way of their own: one walk over the object that stops at the names
 * which matter. It knows texts without escapes and the ordinary kinds of values. Whatever is
 * different about a record, and whatever is wrong with it, is left to entry_read_stored(); and what
 * is found here is what would be found there.
 */

#include "audit/entry-reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "audit/entry-internal.h"
#include "audit/entry-walk.h"
#include "audit/event.h"

#define USEC_PER_SEC 1000000u
#define TIME_SIZE (ENTRY_MINUTE_SIZE + sizeof(":00.000000Z") - 1)
#define FIRST "{\"version\":1,\"time\":\""

void entry_reader_deinit(struct entry_reader *reader)
{
	entry_deinit(&reader->entry);
}

void entry_reader_free_ptr(struct entry_reader **reader)
{
	if (*reader)
		entry_reader_deinit(*reader);
	free(*reader);
	*reader = NULL;
}

static const enum slot first_slot[N_ENTRY_COLUMNS + 1] = {
	[ENTRY_OP] = SLOT_OP,
	[ENTRY_DECISION] = SLOT_VERDICT,
	[ENTRY_RULE] = SLOT_POLICY_RULE,
	[ENTRY_SANDBOX] = SLOT_SANDBOX,
	[ENTRY_CALLER] = SLOT_CALLER,
	[N_ENTRY_COLUMNS] = N_COLUMN_SLOTS,
};

static unsigned digit(char c)
{
	return (unsigned)(unsigned char)c - '0';
}

/* The minute changes seldom, and a calendar is slow. False for everything but "...:SS.dddddd". */
static bool read_time(struct entry_reader *reader, const char *bytes, size_t n_bytes, uint64_t *ret)
{
	const char *at = bytes + ENTRY_MINUTE_SIZE;
	uint64_t usec = 0;

	if (n_bytes != TIME_SIZE || at[0] != ':' || at[3] != '.' || digit(at[1]) > 5 ||
	    digit(at[2]) > 9 || at[10] != 'Z')
		return false;
	for (size_t i = 4; i < 10; i++) {
		if (digit(at[i]) > 9)
			return false;
		usec = usec * 10 + digit(at[i]);
	}
	usec += (uint64_t)(digit(at[1]) * 10 + digit(at[2])) * USEC_PER_SEC;
	if (reader->minute[0] == '\0' || memcmp(reader->minute, bytes, ENTRY_MINUTE_SIZE) != 0) {
		uint64_t whole;

		if (entry_parse_time(bytes, n_bytes, &whole) < 0)
			return false;
		memcpy(reader->minute, bytes, ENTRY_MINUTE_SIZE);
		reader->minute_usec = whole - usec;
	}
	*ret = reader->minute_usec + usec;
	return true;
}

static const struct audit_event *read_event(struct entry_reader *reader,
					    const struct entry_text *text)
{
	if (!reader->event || strlen(reader->event->name) != text->n_bytes ||
	    memcmp(reader->event->name, text->bytes, text->n_bytes) != 0)
		reader->event = event_of(text->bytes, text->n_bytes);
	return reader->event;
}

/* False for a text that the column cuts. */
static bool read_column(const struct entry_walk *walk, enum entry_column column,
			struct entry_text *ret)
{
	*ret = (struct entry_text){ .bytes = NULL };
	for (enum slot slot = first_slot[column]; slot < first_slot[column + 1]; slot++)
		if (walk->texts[slot].bytes) {
			*ret = walk->texts[slot];
			break;
		}
	if (column == ENTRY_DECISION)
		entry_translate_decision(ret);
	return ret->n_bytes <= ENTRY_COLUMN_MAX;
}

/* True where the answer is certain. */
static bool read_quickly(struct entry_reader *reader, const char *bytes, size_t n_bytes,
			 struct entry_said *ret)
{
	struct entry_walk walk = { .at = bytes, .end = bytes + n_bytes };
	const struct entry_text *name, *time = &walk.texts[SLOT_TIME];

	if (!entry_walk_record(&walk) || !time->bytes ||
	    !read_time(reader, time->bytes, time->n_bytes, &ret->time_usec))
		return false;
	name = &walk.texts[walk.seen & 1u << SLOT_EVENT ? SLOT_EVENT : SLOT_EVENT_TYPE];
	if (!name->bytes)
		return false;
	ret->event = read_event(reader, name);
	if (!ret->event)
		return false;
	for (enum entry_column i = 0; i < N_ENTRY_COLUMNS; i++)
		if (!read_column(&walk, i, &ret->columns[i]))
			return false;
	return true;
}

int entry_reader_read(struct entry_reader *reader, const void *bytes, size_t n_bytes,
		      struct entry_said *ret)
{
	const struct audit_entry *entry = &reader->entry;
	int r;

	if (read_quickly(reader, bytes, n_bytes, ret))
		return 0;
	r = entry_read_stored(&reader->entry, bytes, n_bytes, NULL);
	if (r < 0)
		return r;
	ret->event = entry->event;
	ret->time_usec = entry->time_usec;
	memcpy(ret->columns, entry->columns, sizeof(ret->columns));
	return 0;
}

int entry_reader_time(struct entry_reader *reader, const void *bytes, size_t n_bytes,
		      uint64_t *ret_usec)
{
	const size_t n_first = sizeof(FIRST) - 1;
	const char *time = (const char *)bytes + n_first;
	struct entry_said said;
	int r;

	if (n_bytes > n_first + TIME_SIZE && memcmp(bytes, FIRST, n_first) == 0 &&
	    time[TIME_SIZE] == '"' && read_time(reader, time, TIME_SIZE, ret_usec))
		return 0;
	r = entry_reader_read(reader, bytes, n_bytes, &said);
	if (r == 0)
		*ret_usec = said.time_usec;
	return r;
}
