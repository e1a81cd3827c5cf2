/* SPDX-License-Identifier: MIT */

/*
 * One step of the hash chain, and the genesis record
 *
 * The genesis record is a function of its five values. The reader extracts these leniently, writes
 * the record again and compares: only the exact bytes are accepted, without a second definition of
 * the format.
 */

#define OPENSSL_SUPPRESS_DEPRECATED

#include "audit/chain.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/sha.h>
#include <stdbool.h>
#include <string.h>

#include "audit/merkle.h"
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/moment.h"
#include "base/text.h"

/* ---- hashes ---- */

int audit_hash_digest(const struct iovec *parts, size_t n_parts, struct audit_hash *ret)
{
	SHA256_CTX context;

	if (SHA256_Init(&context) != 1)
		return -EIO;
	for (size_t i = 0; i < n_parts; i++)
		if (SHA256_Update(&context, parts[i].iov_base, parts[i].iov_len) != 1)
			return -EIO;
	return SHA256_Final(ret->bytes, &context) == 1 ? 0 : -EIO;
}

bool audit_hash_equal(const struct audit_hash *a, const struct audit_hash *b)
{
	return memcmp(a->bytes, b->bytes, AUDIT_HASH_SIZE) == 0;
}

/* ---- the chain and the genesis record ---- */

#define TAG_SIZE (sizeof(AUDIT_CHAIN_TAG) - 1)
#define HEADER_SIZE (TAG_SIZE + 8 + AUDIT_HASH_SIZE + 4)
#define GENESIS_MAX 1024
#define TIME_USEC_MAX 253402300799999999u /* the end of the year 9999 */

static void put_be(uint8_t *at, uint64_t value, unsigned n_bytes)
{
	for (unsigned i = 0; i < n_bytes; i++)
		at[i] = (uint8_t)(value >> 8 * (n_bytes - 1 - i));
}

int chain_next(uint64_t seq, const struct audit_hash *previous, const void *bytes, uint32_t n_bytes,
	       struct audit_hash *ret)
{
	uint8_t header[HEADER_SIZE];
	uint8_t *at = header;

	memcpy(at, AUDIT_CHAIN_TAG, TAG_SIZE);
	at += TAG_SIZE;
	put_be(at, seq, 8);
	at += 8;
	memcpy(at, previous->bytes, AUDIT_HASH_SIZE);
	at += AUDIT_HASH_SIZE;
	put_be(at, n_bytes, 4);

	const struct iovec parts[] = {
		{ .iov_base = header, .iov_len = sizeof(header) },
		{ .iov_base = (void *)bytes, .iov_len = n_bytes },
	};

	return audit_hash_digest(parts, N_ELEMENTS(parts), ret);
}

/* Checks for lower-case hexadecimal digits, with hyphens where the kernel's boot_id has them. */
static bool is_id(const char *id, bool has_hyphens)
{
	size_t n = strlen(id);

	if (n != (has_hyphens ? AUDIT_BOOT_ID_SIZE : AUDIT_LOG_ID_SIZE) - 1)
		return false;
	for (size_t i = 0; i < n; i++) {
		bool is_hyphen = has_hyphens && (i == 8 || i == 13 || i == 18 || i == 23);

		if (is_hyphen ? id[i] != '-' : !strchr("0123456789abcdef", id[i]))
			return false;
	}
	return true;
}

static bool is_genesis(const struct chain_genesis *genesis)
{
	return is_id(genesis->log_id, false) &&
	       (genesis->boot_id[0] == '\0' || is_id(genesis->boot_id, true)) &&
	       genesis->time_usec <= TIME_USEC_MAX;
}

int chain_add_genesis(struct text *out, const struct chain_genesis *genesis)
{
	_cleanup_text_ struct text key = TEXT_INIT, time = TEXT_INIT;
	struct json_writer json;

	if (!is_genesis(genesis))
		return -EINVAL;
	base64_add(&key, genesis->public_key, sizeof(genesis->public_key));
	moment_add(&time, genesis->time_usec);
	json_write(&json, out);
	json_add_object(&json);
	json_member_u64(&json, "version", 1);
	json_member_string(&json, "time", text_string(&time));
	json_member_string(&json, "boot", genesis->boot_id);
	json_member_string(&json, "event", "log_created");
	json_member_string(&json, "tool", "sbx-audit");
	json_member_string(&json, "format", AUDIT_CHAIN_TAG);
	json_member_string(&json, "log", genesis->log_id);
	json_member_string(&json, "key", text_string(&key));
	json_end_object(&json);
	return text_status(&key) < 0 || text_status(&time) < 0 ? -ENOMEM : text_status(out);
}

static bool take_id(const struct json_item *item, char *ret, size_t size)
{
	if (item->n_bytes >= size)
		return false;
	memcpy(ret, item->bytes, item->n_bytes);
	ret[item->n_bytes] = '\0';
	return true;
}

static bool take_log(const struct json_item *item, struct chain_genesis *genesis)
{
	return take_id(item, genesis->log_id, sizeof(genesis->log_id));
}

static bool take_boot(const struct json_item *item, struct chain_genesis *genesis)
{
	return take_id(item, genesis->boot_id, sizeof(genesis->boot_id));
}

static bool take_key(const struct json_item *item, struct chain_genesis *genesis)
{
	return base64_decode_exactly(item->bytes, item->n_bytes, genesis->public_key,
				     sizeof(genesis->public_key)) == 0;
}

static bool take_time(const struct json_item *item, struct chain_genesis *genesis)
{
	return moment_parse(item->bytes, item->n_bytes, &genesis->time_usec) == 0;
}

static const struct {
	const char *name;
	bool (*take)(const struct json_item *item, struct chain_genesis *genesis);
} facts[] = {
	{ "log", take_log },
	{ "boot", take_boot },
	{ "key", take_key },
	{ "time", take_time },
};

static bool take_fact(const struct json_item *name, const struct json_item *value,
		      struct chain_genesis *genesis)
{
	for (size_t i = 0; i < N_ELEMENTS(facts); i++)
		if (json_equals(name, facts[i].name))
			return value->kind == JSON_STRING && facts[i].take(value, genesis);
	return true;
}

static int take_facts(const void *bytes, size_t n_bytes, struct chain_genesis *ret)
{
	struct json_scanner scanner;
	struct json_item name, value;

	json_scan(&scanner, bytes, n_bytes);
	if (json_next(&scanner, &name) != 1 || name.kind != JSON_OBJECT_BEGIN)
		return -EBADMSG;
	for (;;) {
		if (json_next(&scanner, &name) != 1)
			return -EBADMSG;
		if (name.kind == JSON_OBJECT_END)
			return 0;
		if (json_next(&scanner, &value) != 1 || !take_fact(&name, &value, ret) ||
		    json_skip(&scanner, &value) < 0)
			return -EBADMSG;
	}
}

int chain_parse_genesis(const void *bytes, size_t n_bytes, struct chain_genesis *ret)
{
	_cleanup_text_ struct text again = TEXT_INIT;
	struct chain_genesis genesis = { .time_usec = 0 };
	int r;

	if (n_bytes > GENESIS_MAX || take_facts(bytes, n_bytes, &genesis) < 0)
		return -EBADMSG;
	r = chain_add_genesis(&again, &genesis);
	if (r < 0)
		return r == -EINVAL ? -EBADMSG : r;
	if (again.len != n_bytes || memcmp(again.data, bytes, n_bytes) != 0)
		return -EBADMSG;
	*ret = genesis;
	return 0;
}

/* ---- stubs of deleted archives ---- */

/*
 * A stub is read by writing it again: the reader extracts the values leniently, and the record made
 * from them must equal the record read.
 */

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
	text_add_hex(out, stub->archive.bytes, AUDIT_HASH_SIZE);
	text_addf(out, "\",\"reason\":\"%s\"", reasons[stub->reason]);
	return text_status(out);
}

bool stub_is(const void *body, size_t n_body)
{
	return n_body > sizeof(HEAD) && memcmp(body, HEAD, sizeof(HEAD) - 1) == 0;
}

/* ---- read ---- */

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 0;
}

/* Digits are not checked: any other character gives a different text when the value is written
 * again. */
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
		return item->kind == JSON_NUMBER &&
		       json_u64(item, i == 0 ? &stub->first : &stub->last) == 0;
	if (i < 5)
		return item->kind == JSON_STRING &&
		       base64_decode_exactly(item->bytes, item->n_bytes, hashes[i - 2]->bytes,
					     AUDIT_HASH_SIZE) == 0;
	return i == 5 ? take_hex(item, &stub->archive) : take_reason(item, &stub->reason);
}

/* Takes the values in the order of their members; version, event and tool come first. */
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
	       moment_parse(bytes + strlen(TIME), n_bytes - strlen(TIME TAIL), &usec) == 0;
}

int stub_read(const void *body, size_t n_body, struct audit_stub *ret)
{
	_cleanup_text_ struct text again = TEXT_INIT;
	struct audit_stub stub = { .first = 0 };
	const char *bytes = body;
	int r = -EINVAL;

	text_add(&again, HEAD);
	if (stub_is(body, n_body) && take_members(body, n_body, &stub))
		r = stub_add_members(&again, &stub);
	if (r == -ENOMEM)
		return r;
	if (r < 0 || n_body <= again.len || memcmp(bytes, again.data, again.len) != 0 ||
	    !is_time(bytes + again.len, n_body - again.len))
		return -EBADMSG;
	*ret = stub;
	return 0;
}
