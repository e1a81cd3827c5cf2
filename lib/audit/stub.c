/* SPDX-License-Identifier: MIT */

/*
 * A stub is read by writing it again: its values are taken out where they stand, and what they give
 * must be what was read
 */

#include "audit/stub.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <sbx/error.h>

#include "audit/base64.h"
#include "audit/entry.h"
#include "audit/merkle.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"

#define HEAD "{\"version\":1,\"event\":\"" STUB_EVENT "\",\"tool\":\"sbx-audit\","
#define TIME ",\"time\":\""
#define TAIL "\"}"

static const char *const reasons[] = { [STUB_AGE] = "age", [STUB_SIZE] = "size" };

static void add_hash(struct text *out, const char *name, const struct audit_hash *hash)
{
	text_addf(out, ",\"%s\":\"", name);
	base64_add(out, hash->bytes, sizeof(hash->bytes));
	text_add_char(out, '"');
}

int stub_add_members(struct text *out, const struct audit_stub *stub)
{
	if (stub->first > stub->last || stub->last >= MERKLE_SIZE_MAX ||
	    (unsigned)stub->reason >= N_STUB_REASONS)
		return -EINVAL;
	text_addf(out, "\"first\":%" PRIu64 ",\"last\":%" PRIu64, stub->first, stub->last);
	add_hash(out, "previous", &stub->previous);
	add_hash(out, "head", &stub->head);
	add_hash(out, "root", &stub->root);
	text_add(out, ",\"archive_sha256\":\"");
	for (size_t i = 0; i < sizeof(stub->archive.bytes); i++)
		text_addf(out, "%02x", stub->archive.bytes[i]);
	text_addf(out, "\",\"reason\":\"%s\"", reasons[stub->reason]);
	return text_status(out);
}

bool stub_is(const void *body, size_t n_body)
{
	return n_body > sizeof(HEAD) && memcmp(body, HEAD, sizeof(HEAD) - 1) == 0;
}

/* ---- read ---- */

static bool take_number(const struct json_item *item, uint64_t *ret)
{
	return item->kind == JSON_NUMBER && json_u64(item, ret) == 0;
}

static bool take_hash(const struct json_item *item, struct audit_hash *ret)
{
	return item->kind == JSON_STRING &&
	       base64_decode_exactly(item->bytes, item->n_bytes, ret->bytes, sizeof(ret->bytes)) ==
		       0;
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 0;
}

/* What is no digit is another text when it is written again. */
static bool take_hex(const struct json_item *item, struct audit_hash *ret)
{
	if (item->n_bytes != 2 * sizeof(ret->bytes))
		return false;
	for (size_t i = 0; i < sizeof(ret->bytes); i++)
		ret->bytes[i] =
			(uint8_t)(digit(item->bytes[2 * i]) << 4 | digit(item->bytes[2 * i + 1]));
	return true;
}

static bool take_reason(const struct json_item *item, enum stub_reason *ret)
{
	for (size_t i = 0; i < N_ELEMENTS(reasons); i++)
		if (json_equals(item, reasons[i])) {
			*ret = (enum stub_reason)i;
			return true;
		}
	return false;
}

static bool take_member(size_t i, const struct json_item *item, struct audit_stub *stub)
{
	struct audit_hash *const hashes[] = { &stub->previous, &stub->head, &stub->root };

	if (i < 2)
		return take_number(item, i == 0 ? &stub->first : &stub->last);
	if (i < 5)
		return take_hash(item, hashes[i - 2]);
	return i == 5 ? take_hex(item, &stub->archive) : take_reason(item, &stub->reason);
}

/* The values in the order of their members; version, event and tool stand before them. */
static bool take_members(const void *body, size_t n_body, struct audit_stub *ret)
{
	struct json_scanner scanner;
	struct json_item item;

	json_scan(&scanner, body, n_body);
	for (size_t i = 0; i < 1 + 3 * 2; i++)
		if (json_next(&scanner, &item) <= 0)
			return false;
	for (size_t i = 0; i < 7; i++) {
		bool has_name = json_next(&scanner, &item) > 0;

		if (!has_name || json_next(&scanner, &item) <= 0 || !take_member(i, &item, ret))
			return false;
	}
	return true;
}

static bool is_time(const char *bytes, size_t n_bytes)
{
	uint64_t usec;

	return n_bytes > strlen(TIME TAIL) && memcmp(bytes, TIME, strlen(TIME)) == 0 &&
	       memcmp(bytes + n_bytes - strlen(TAIL), TAIL, strlen(TAIL)) == 0 &&
	       entry_parse_time(bytes + strlen(TIME), n_bytes - strlen(TIME TAIL), &usec) == 0;
}

int stub_read(const void *body, size_t n_body, struct audit_stub *ret, struct sbx_error *err)
{
	_cleanup_text_ struct text again = TEXT_INIT;
	struct audit_stub stub = { .first = 0 };
	const char *bytes = body;
	int r = -EINVAL;

	text_add(&again, HEAD);
	if (stub_is(body, n_body) && take_members(body, n_body, &stub))
		r = stub_add_members(&again, &stub);
	if (r == -ENOMEM)
		return sbx_error_what(err, r, "cannot read what is said about a deleted archive");
	if (r == 0 && n_body > again.len && memcmp(bytes, again.data, again.len) == 0 &&
	    is_time(bytes + again.len, n_body - again.len)) {
		*ret = stub;
		return 0;
	}
	(void)sbx_error_what(err, -EBADMSG, "cannot read what is said about a deleted archive");
	sbx_error_why(err, "the record is not of the form that the log writes");
	sbx_error_fix(err, "look at the log with 'sbx-audit verify --full'");
	return -EBADMSG;
}
