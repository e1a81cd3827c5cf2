/* SPDX-License-Identifier: MIT */

/*
 * One step of the chain, and the record that it starts with
 *
 * The genesis record is a function of its five facts. Reading it takes them out generously, writes
 * the record again and compares: only the exact bytes are accepted, without a second definition of
 * what they are.
 */

#include "audit/chain.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <sbx/error.h>

#include "audit/base64.h"
#include "base/json.h"
#include "base/text.h"

#define TAG_SIZE (sizeof(AUDIT_CHAIN_TAG) - 1)
#define HEADER_SIZE (TAG_SIZE + 8 + AUDIT_HASH_SIZE + 4)
#define GENESIS_MAX 1024
#define TIME_SIZE 28			  /* "2026-01-02T03:04:05.678901Z" and a NUL */
#define TIME_USEC_MAX 253402300799999999u /* the end of the year 9999 */

static void put_be(uint8_t *at, uint64_t value, unsigned n_bytes)
{
	for (unsigned i = 0; i < n_bytes; i++)
		at[i] = (uint8_t)(value >> 8 * (n_bytes - 1 - i));
}

int chain_next(struct hasher *hasher, uint64_t seq, const struct audit_hash *previous,
	       const void *bytes, uint32_t n_bytes, struct audit_hash *ret)
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

	return hasher_digest(hasher, parts, N_ELEMENTS(parts), ret);
}

/* Hexadecimal digits, lower case, and hyphens where the kernel's form of an id has them. */
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

static void print_time(uint64_t usec, char ret[TIME_SIZE])
{
	time_t seconds = (time_t)(usec / 1000000);
	struct tm parts;
	char day[20];

	(void)gmtime_r(&seconds, &parts);
	(void)strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &parts);
	(void)snprintf(ret, TIME_SIZE, "%s.%06uZ", day, (unsigned)(usec % 1000000));
}

int chain_add_genesis(struct text *out, const struct chain_genesis *genesis)
{
	_cleanup_text_ struct text key = TEXT_INIT;
	struct json_writer json;
	char time[TIME_SIZE];

	if (!is_genesis(genesis))
		return -EINVAL;
	base64_add(&key, genesis->public_key, sizeof(genesis->public_key));
	print_time(genesis->time_usec, time);
	json_write(&json, out);
	json_add_object(&json);
	json_member_u64(&json, "version", 1);
	json_member_string(&json, "time", time);
	json_member_string(&json, "boot", genesis->boot_id);
	json_member_string(&json, "event", "log_created");
	json_member_string(&json, "tool", "sbx-audit");
	json_member_string(&json, "format", AUDIT_CHAIN_TAG);
	json_member_string(&json, "log", genesis->log_id);
	json_member_string(&json, "key", text_string(&key));
	json_end_object(&json);
	return text_status(&key) < 0 ? -ENOMEM : text_status(out);
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
	struct tm parts = { .tm_isdst = 0 };
	char time[TIME_SIZE];
	unsigned usec;

	if (!take_id(item, time, sizeof(time)) ||
	    sscanf(time, "%4d-%2d-%2dT%2d:%2d:%2d.%6uZ", &parts.tm_year, &parts.tm_mon,
		   &parts.tm_mday, &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &usec) != 7)
		return false;
	parts.tm_year -= 1900;
	parts.tm_mon--;
	genesis->time_usec = (uint64_t)timegm(&parts) * 1000000 + usec;
	return true;
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

int chain_parse_genesis(const void *bytes, size_t n_bytes, struct chain_genesis *ret,
			struct sbx_error *err)
{
	_cleanup_text_ struct text again = TEXT_INIT;
	struct chain_genesis genesis = { .time_usec = 0 };
	int r = -EBADMSG;

	if (n_bytes <= GENESIS_MAX && take_facts(bytes, n_bytes, &genesis) == 0)
		r = chain_add_genesis(&again, &genesis);
	if (r == -EINVAL ||
	    (r == 0 && (again.len != n_bytes || memcmp(again.data, bytes, n_bytes) != 0)))
		r = -EBADMSG;
	if (r == 0) {
		*ret = genesis;
		return 0;
	}
	(void)sbx_error_what(err, r, "cannot read the first record of the log");
	sbx_error_why(err, r == -ENOMEM ? "there is no memory left"
					: "it is not the record that every log begins with");
	sbx_error_fix(err, "take this part of the log from a copy of it");
	return r;
}
