/* SPDX-License-Identifier: MIT */

/*
 * The bytes are read with pread() into a buffer of this process, and the buffer is decoded: what
 * was checked cannot change afterwards.
 */

#include "ring.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sbx/ring-layout.h>

#include "base/json.h"
#include "base/le32.h"
#include "base/text.h"
#include "ring/message.h"

#define LINE_BYTES 16
#define TYPE_AND_ID 5

struct record {
	uint64_t position;
	uint32_t length;
	uint32_t kind;
	const uint8_t *payload;
	size_t n_shown; /* of the payload: it may go on after the buffer */
	size_t n_total; /* bytes of the record in the ring */
};

/* The buffer has the bytes from @begin on. */
struct decoder {
	const struct dump *dump;
	uint8_t *bytes;
	size_t n_bytes, at;
	uint64_t begin;
	const char *problem; /* why decoding ended before the end */
};

static uint64_t load_u64(const uint8_t *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

/* ---- read ---- */

static void read_ring(const struct decoder *decoder, uint64_t position, uint8_t *to, size_t n_bytes)
{
	const struct dump *dump = decoder->dump;

	while (n_bytes > 0) {
		uint64_t at = position % dump->capacity;
		size_t n = n_bytes < dump->capacity - at ? n_bytes : (size_t)(dump->capacity - at);
		ssize_t r = pread(dump->fd, to, n, (off_t)(SBX_RING_DATA_OFFSET + at));

		if (r <= 0)
			return;
		to += r;
		position += (uint64_t)r;
		n_bytes -= (size_t)r;
	}
}

/* Two positions that a peer may have made up: what is between them is at most the capacity. In mode
 * call the end is found by the stamps. */
static int start(struct decoder *decoder, const struct dump *dump)
{
	uint64_t n = dump->tail - dump->head;

	*decoder = (struct decoder){ .dump = dump, .begin = dump->head };
	if (dump->is_call)
		n = dump->capacity;
	if (dump->capacity == 0 || n > dump->capacity) {
		decoder->problem = "the positions are further apart than the capacity";
		n = 0;
	}
	decoder->n_bytes = n < dump->n_bytes ? (size_t)n : (size_t)dump->n_bytes;
	decoder->bytes = calloc(1, decoder->n_bytes + 1);
	if (!decoder->bytes)
		return -ENOMEM;
	read_ring(decoder, decoder->begin, decoder->bytes, decoder->n_bytes);
	return 0;
}

/* ---- decode ---- */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static const char *check_record(const struct decoder *decoder, const struct record *record)
{
	if (record->length > decoder->dump->record_max)
		return "a length over the record maximum";
	if ((record->kind & ~(SBX_RING_RECORD_BEGIN | SBX_RING_RECORD_END)) != 0 &&
	    (record->kind != SBX_RING_RECORD_ABORT || record->length > 0))
		return "flags that are not defined";
	return record->n_total > decoder->dump->capacity ? "a length over the capacity" : NULL;
}

/* 1 with the next record; 0 at the end of the buffer, or with a problem. */
static int next_of_stream(struct decoder *decoder, struct record *ret)
{
	const uint8_t *at = decoder->bytes + decoder->at;
	size_t n = decoder->n_bytes - decoder->at;

	if (n < SBX_RING_RECORD_HEADER_SIZE)
		return 0;
	*ret = (struct record){
		.position = decoder->begin + decoder->at,
		.length = le32_load(at),
		.kind = le32_load(at + 4),
		.payload = at + SBX_RING_RECORD_HEADER_SIZE,
	};
	ret->n_shown = least(ret->length, n - SBX_RING_RECORD_HEADER_SIZE);
	ret->n_total = (SBX_RING_RECORD_HEADER_SIZE + (size_t)ret->length + 7) & ~(size_t)7;
	return 1;
}

/* A cell without the stamp of its position has not been sent yet. */
static int next_of_call(struct decoder *decoder, struct record *ret)
{
	const uint8_t *at = decoder->bytes + decoder->at;
	size_t n = decoder->n_bytes - decoder->at;
	uint64_t position = decoder->begin + decoder->at;

	if (n < SBX_RING_CELL_SIZE ||
	    load_u64(at + SBX_RING_CELL_STAMP_OFFSET) !=
		    ((position + SBX_RING_CELL_SIZE) ^ decoder->dump->nonce))
		return 0;
	*ret = (struct record){
		.position = position,
		.length = le32_load(at + SBX_RING_CELL_LENGTH_OFFSET),
		.kind = le32_load(at + SBX_RING_CELL_KIND_OFFSET),
		.payload = at + SBX_RING_CELL_PAYLOAD_OFFSET,
	};
	ret->n_shown = least(ret->length, n - SBX_RING_CELL_PAYLOAD_OFFSET);
	ret->n_total = (SBX_RING_CELL_PAYLOAD_OFFSET + (size_t)ret->length + 63) & ~(size_t)63;
	return 1;
}

static int next_record(struct decoder *decoder, struct record *ret)
{
	int r;

	if (decoder->problem || decoder->at > decoder->n_bytes)
		return 0;
	r = decoder->dump->is_call ? next_of_call(decoder, ret) : next_of_stream(decoder, ret);
	if (r == 0)
		return 0;
	decoder->problem = check_record(decoder, ret);
	if (decoder->problem)
		return 0;
	decoder->at += ret->n_total;
	return 1;
}

static const char *name_kind(uint32_t kind)
{
	static const char *const names[] = { "middle", "begin", "end", "whole" };

	return kind == SBX_RING_RECORD_ABORT
		       ? "abort"
		       : names[kind & (SBX_RING_RECORD_BEGIN | SBX_RING_RECORD_END)];
}

/* The name of the frame type if the message can be a frame of that type. */
static const char *name_type(const struct record *record)
{
	const char *name;

	if (!(record->kind & SBX_RING_RECORD_BEGIN) || record->n_shown < TYPE_AND_ID)
		return NULL;
	name = message_name(record->payload[0]);
	return name &&
			       message_check(record->payload[0], MESSAGE_BY_SUPERVISOR,
					     le32_load(record->payload + 1),
					     record->length - TYPE_AND_ID) != MESSAGE_OK &&
			       message_check(record->payload[0], MESSAGE_BY_WORKER,
					     le32_load(record->payload + 1),
					     record->length - TYPE_AND_ID) != MESSAGE_OK
		       ? NULL
		       : name;
}

/* ---- text ---- */

static void add_line(struct text *out, uint64_t position, const uint8_t *bytes, size_t n_bytes)
{
	text_addf(out, "    %08" PRIx64 " ", position);
	for (size_t i = 0; i < LINE_BYTES; i++)
		if (i < n_bytes)
			text_addf(out, " %02x", bytes[i]);
		else
			text_add(out, "   ");
	text_add(out, "  ");
	for (size_t i = 0; i < n_bytes; i++)
		text_addf(out, "%c", bytes[i] > 0x20 && bytes[i] < 0x7f ? bytes[i] : '.');
	text_add_char(out, '\n');
}

static void add_hex(struct text *out, uint64_t position, const uint8_t *bytes, size_t n_bytes)
{
	for (size_t at = 0; at < n_bytes; at += LINE_BYTES)
		add_line(out, position + at, bytes + at, least(LINE_BYTES, n_bytes - at));
}

static void add_record(struct text *out, const struct decoder *decoder, const struct record *record)
{
	const char *type = name_type(record);
	size_t header = (size_t)(record->payload - decoder->bytes) -
			(size_t)(record->position - decoder->begin);

	text_addf(out, "  at %" PRIu64 ": %s, %" PRIu32 " bytes", record->position,
		  name_kind(record->kind), record->length);
	if (type)
		text_addf(out, ", frame %s, request %" PRIu32, type,
			  le32_load(record->payload + 1));
	if (record->n_shown < record->length)
		text_addf(out, ", the first %zu shown", record->n_shown);
	text_add_char(out, '\n');
	add_hex(out, record->position + header, record->payload, record->n_shown);
}

void dump_add_text(struct text *out, const struct dump *dump)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	struct decoder decoder;
	struct record record;
	size_t n = 0;

	text_addf(out, "\nfrom the %s, not read yet:\n", dump->from);
	if (start(&decoder, dump) < 0) {
		text_add(out, "  no memory to show it\n");
		return;
	}
	bytes = decoder.bytes;
	for (; next_record(&decoder, &record); n++)
		add_record(out, &decoder, &record);
	if (decoder.problem) {
		text_addf(out, "  at %" PRIu64 ": no record: %s\n", decoder.begin + decoder.at,
			  decoder.problem);
		add_hex(out, decoder.begin + decoder.at, decoder.bytes + decoder.at,
			decoder.n_bytes - decoder.at);
	} else if (n == 0) {
		/* A cell without a stamp is empty; a stream has only what was sent. */
		bool is_cut = decoder.n_bytes > 0 &&
			      (!dump->is_call || decoder.n_bytes < SBX_RING_CELL_SIZE);

		text_add(out, is_cut ? "  a record that is longer than --bytes\n" : "  nothing\n");
	}
}

/* ---- JSON ---- */

static void add_json_record(struct json_writer *json, const struct record *record)
{
	const char *type = name_type(record);

	json_add_object(json);
	json_member_u64(json, "position", record->position);
	json_member_u64(json, "bytes", record->length);
	json_member_string(json, "kind", name_kind(record->kind));
	if (type) {
		json_member_string(json, "type", type);
		json_member_u64(json, "request_id", le32_load(record->payload + 1));
	}
	json_member_hex(json, "payload", record->payload, record->n_shown);
	json_end_object(json);
}

void dump_add_json(struct text *out, const struct dump *dump)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	struct decoder decoder;
	struct record record;
	struct json_writer json;

	if (start(&decoder, dump) < 0)
		return;
	bytes = decoder.bytes;
	json_begin_object(&json, out);
	json_member_string(&json, "from", dump->from);
	json_member_array(&json, "records");
	while (next_record(&decoder, &record))
		add_json_record(&json, &record);
	json_end_array(&json);
	if (decoder.problem) {
		json_member_string(&json, "problem", decoder.problem);
		json_member_hex(&json, "rest", decoder.bytes + decoder.at,
				decoder.n_bytes - decoder.at);
	}
	json_end_line(&json);
}
