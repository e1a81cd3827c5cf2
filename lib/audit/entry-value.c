/* SPDX-License-Identifier: MIT */

/*
 * What is not stored as it was written: secrets, and the ends of long summaries
 */

#include "audit/entry-internal.h"

#include <sbx/error.h>

#include "audit/redact.h"

static void add_string(struct text *out, const char *bytes, size_t n_bytes)
{
	struct json_writer json;

	json_write(&json, out);
	json_add_string_bytes(&json, bytes, n_bytes);
}

/* Names inside a value are texts like all others. */
int entry_clean_value(struct audit_entry *entry, const struct redactor *redactor,
		      const struct entry_text *value, struct sbx_error *err)
{
	_cleanup_text_ struct text clean = TEXT_INIT;
	struct json_scanner scanner;
	struct json_item item;
	size_t at = 0;

	json_scan(&scanner, value->bytes, value->n_bytes);
	while (json_next(&scanner, &item) > 0) {
		struct entry_text text;
		int r;

		if (item.kind != JSON_STRING && item.kind != JSON_NAME)
			continue;
		text_reset(&entry->decoded);
		text_reset(&clean);
		r = entry_decode(&item, &entry->decoded, &text, err);
		if (r < 0)
			return r;
		r = redactor_clean(redactor, text.bytes, text.n_bytes, &clean);
		if (r < 0)
			return entry_fail_memory(err);
		if (r == 0)
			continue;
		text_add_bytes(&entry->piece, value->bytes + at, item.offset - at);
		add_string(&entry->piece, text_string(&clean), clean.len);
		at = item.offset + item.n_bytes + 2;
	}
	if (at > 0)
		text_add_bytes(&entry->piece, value->bytes + at, value->n_bytes - at);
	return at > 0;
}

/* The bytes of the first @n_max characters. */
static size_t first_characters(const struct entry_text *text, size_t n_max)
{
	size_t at = 0, n;

	for (size_t i = 0; i < n_max && at < text->n_bytes; i++, at += n) {
		n = utf8_sequence(text->bytes + at, text->n_bytes - at);
		if (n == 0)
			break;
	}
	return at;
}

int entry_cut_summary(struct audit_entry *entry, const struct entry_text *value,
		      struct sbx_error *err)
{
	struct json_scanner scanner;
	struct entry_text text;
	struct json_item item;
	size_t n;
	int r;

	if (value->n_bytes <= ENTRY_SUMMARY_MAX)
		return 0;
	json_scan(&scanner, value->bytes, value->n_bytes);
	if (json_next(&scanner, &item) <= 0 || item.kind != JSON_STRING)
		return 0;
	/* A copy, also of what is not escaped: the piece is going to be overwritten. */
	text_reset(&entry->decoded);
	r = entry_decode(&item, &entry->decoded, &text, err);
	if (r < 0)
		return r;
	n = first_characters(&text, ENTRY_SUMMARY_MAX);
	if (n == text.n_bytes)
		return 0;
	if (!item.escaped) {
		text_add_bytes(&entry->decoded, text.bytes, n);
		if (text_status(&entry->decoded) < 0)
			return entry_fail_memory(err);
		text.bytes = entry->decoded.data;
	}
	text_reset(&entry->piece);
	add_string(&entry->piece, text.bytes, n);
	return 1;
}
