/* SPDX-License-Identifier: MIT */

/*
 * The bytes are a line to be stored as a record, and a stored record that an attacker wrote. An
 * accepted line can be read back with the same result, the verifier agrees, white space before the
 * line changes nothing, and no known secret is left. A failed check is an abort.
 */

#include "audit/entry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "audit/redact.h"
#include "audit/shape.h"
#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

struct reader {
	struct redactor *redactor;
	struct audit_entry *entry, *again;
	struct audit_entry *used;
	struct shapes *shapes;
};

static void check(bool condition)
{
	if (!condition)
		abort();
}

static struct reader reader_new(void)
{
	struct reader reader = {
		.entry = calloc(1, sizeof(*reader.entry)),
		.again = calloc(1, sizeof(*reader.again)),
		.used = calloc(1, sizeof(*reader.used)),
		.shapes = calloc(1, sizeof(*reader.shapes)),
	};

	check(reader.entry && reader.again && reader.used && reader.shapes);
	check(redactor_new(NULL, 0, &reader.redactor, NULL) == 0);
	return reader;
}

static void reader_free(struct reader *reader)
{
	(void)redactor_free(reader->redactor);
	entry_deinit(reader->entry);
	entry_deinit(reader->again);
	free(reader->entry);
	free(reader->again);
	entry_free_ptr(&reader->used);
	free(reader->shapes);
}

static int read_line(const struct reader *reader, struct audit_entry *entry, const void *line,
		     size_t n_bytes, struct sbx_error *err)
{
	const struct entry_options options = { .redactor = reader->redactor,
					       .now_usec = 1767323045678901,
					       .has_writer = true,
					       .uid = 7,
					       .pid = 8 };

	return entry_read(entry, &options, line, n_bytes, err);
}

static bool is_refusal(int r)
{
	return r == -EINVAL || r == -EBADMSG || r == -EMSGSIZE;
}

static bool is_same(const struct entry_text *a, const struct entry_text *b)
{
	return (a->bytes == NULL) == (b->bytes == NULL) && a->n_bytes == b->n_bytes &&
	       (!a->bytes || memcmp(a->bytes, b->bytes, a->n_bytes) == 0);
}

static void check_same(const struct audit_entry *a, const struct audit_entry *b)
{
	check(a->event == b->event && a->time_usec == b->time_usec);
	for (size_t i = 0; i < N_ENTRY_COLUMNS; i++) {
		check(is_same(&a->columns[i], &b->columns[i]));
		check(a->columns[i].n_bytes <= ENTRY_COLUMN_MAX);
	}
}

static void check_clean(const struct reader *reader, const struct text *body)
{
	_cleanup_text_ struct text decoded = TEXT_INIT, clean = TEXT_INIT;
	struct json_scanner scanner;
	struct json_item item;
	int r;

	json_scan(&scanner, body->data, body->len);
	while ((r = json_next(&scanner, &item)) > 0) {
		if (item.kind != JSON_STRING && item.kind != JSON_NAME)
			continue;
		text_reset(&decoded);
		check(json_decode(&item, &decoded) == 0);
		check(redactor_clean(reader->redactor, text_string(&decoded), decoded.len,
				     &clean) == 0);
	}
	check(r == 0);
}

/* Previously read or checked records change nothing. */
static void check_reader(const struct reader *reader, const void *bytes, size_t n_bytes)
{
	int r = entry_read_stored(reader->again, bytes, n_bytes, NULL);

	for (unsigned i = 0; i < 2; i++) {
		check(entry_read_stored(reader->used, bytes, n_bytes, NULL) == r);
		if (r == 0)
			check_same(reader->again, reader->used);
		check(entry_check_stored(reader->used, reader->shapes, bytes, n_bytes) == r);
		check(r < 0 || reader->used->time_usec == reader->again->time_usec);
	}
}

static void check_record(const struct reader *reader, const struct audit_entry *entry)
{
	const struct text *body = &entry->body;

	check(body->len <= ENTRY_BYTES_MAX && !memchr(body->data, '\n', body->len));
	check(entry_read_stored(reader->again, body->data, body->len, NULL) == 0);
	check_same(entry, reader->again);
	check_clean(reader, body);
	check_reader(reader, body->data, body->len);
}

static void read_with_space(const struct reader *reader, const struct audit_entry *entry,
			    const uint8_t *bytes, size_t n_bytes, int wanted)
{
	char *line = malloc(n_bytes + 1);

	if (!line)
		abort();
	line[0] = ' ';
	memcpy(line + 1, bytes, n_bytes);
	check(read_line(reader, reader->again, line, n_bytes + 1, NULL) == wanted);
	if (wanted == 0) {
		check_same(entry, reader->again);
		check(entry->n_originals == reader->again->n_originals);
		/* The salt of a commitment differs each time. */
		check(entry->body.len == reader->again->body.len);
		check(entry->n_originals > 0 ||
		      memcmp(entry->body.data, reader->again->body.data, entry->body.len) == 0);
	}
	free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	struct reader reader = reader_new();
	struct sbx_error err = { .code = 0 };
	int r = read_line(&reader, reader.entry, bytes, n_bytes, &err);

	check(r == 0 || (is_refusal(r) && err.code == r));
	read_with_space(&reader, reader.entry, bytes, n_bytes, r);
	if (r == 0)
		check_record(&reader, reader.entry);
	r = entry_read_stored(reader.again, bytes, n_bytes, NULL);
	check(r == 0 || is_refusal(r));
	check_reader(&reader, bytes, n_bytes);
	reader_free(&reader);
	return 0;
}
