/* SPDX-License-Identifier: MIT */

/*
 * The values that were cut out of records, where they were kept
 *
 * They are beside the chain, because they have to be forgotten one day, and the chain has a
 * commitment to each. A row that is gone is no fault; one that is there and is another value would
 * be somebody's word for what a signed record has said.
 */

#include "audit/verify-internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/json.h"

#define HEX_SIZE ((size_t)2 * AUDIT_HASH_SIZE)

struct look {
	const struct store_original *original;
	struct hasher *hasher;
	const char *problem; /* NULL: the record has this commitment */
};

static int fail_original(struct verification *v, uint64_t seq, const char *why)
{
	struct sbx_error *finding = seq > MERKLE_SIZE_MAX
					    ? verify_finding(v, VERIFY_TAMPERED)
					    : verify_finding_at(v, VERIFY_TAMPERED, seq, seq);

	(void)sbx_error_what(finding, -EBADMSG,
			     "an original of record %" PRId64 " is not what was written there",
			     (int64_t)seq);
	sbx_error_why(finding, "%s", why);
	sbx_error_fix(finding,
		      "keep the directory as it is; the record itself is right, take what it "
		      "has in the table 'originals' from a copy");
	return VERIFY_STOP;
}

/* The value of the member that @is_it; its name has to be there. */
static bool find_value(struct json_scanner *scanner,
		       bool (*is_it)(const struct json_item *name,
				     const struct store_original *original),
		       const struct store_original *original, struct json_item *ret)
{
	while (json_next(scanner, ret) > 0 && ret->kind == JSON_NAME) {
		bool is_found = is_it(ret, original);

		if (json_next(scanner, ret) <= 0)
			return false;
		if (is_found)
			return true;
		if (json_skip(scanner, ret) < 0)
			return false;
	}
	return false;
}

static bool is_commitment(const struct json_item *name, const struct store_original *original)
{
	return json_equals(name, "commitment");
}

/* As it is spelt. */
static bool is_member(const struct json_item *name, const struct store_original *original)
{
	return name->n_bytes == original->member.n_bytes &&
	       memcmp(name->bytes, original->member.bytes, name->n_bytes) == 0;
}

static bool find_commitment(const struct store_row *row, const struct store_original *original,
			    struct json_item *ret)
{
	struct json_scanner scanner;

	json_scan(&scanner, row->body, row->n_body);
	return json_next(&scanner, ret) > 0 && ret->kind == JSON_OBJECT_BEGIN &&
	       find_value(&scanner, is_commitment, original, ret) &&
	       ret->kind == JSON_OBJECT_BEGIN && find_value(&scanner, is_member, original, ret) &&
	       ret->kind == JSON_STRING;
}

static bool is_hex(const struct json_item *item, const struct audit_hash *hash)
{
	static const char digits[] = "0123456789abcdef";

	if (item->n_bytes != HEX_SIZE)
		return false;
	for (size_t i = 0; i < HEX_SIZE; i++)
		if (item->bytes[i] != digits[hash->bytes[i / 2] >> (i % 2 ? 0 : 4) & 15])
			return false;
	return true;
}

static int look_at_record(void *userdata, const struct store_row *row, struct sbx_error *err)
{
	struct look *look = userdata;
	const struct store_original *original = look->original;
	const struct iovec parts[] = {
		{ (void *)original->salt, sizeof(original->salt) },
		{ (void *)original->value.bytes, original->value.n_bytes },
	};
	struct json_item commitment;
	struct audit_hash hash;
	int r;

	look->problem = "the record has no commitment to it";
	if (row->problem || !find_commitment(row, original, &commitment))
		return 0;
	r = hasher_digest(look->hasher, parts, N_ELEMENTS(parts), &hash);
	if (r == 0)
		look->problem = is_hex(&commitment, &hash)
					? NULL
					: "the record has a commitment to another value";
	return r;
}

static int see_original(void *userdata, const struct store_original *original,
			struct sbx_error *err)
{
	struct verification *v = userdata;
	struct look look = { original, v->hasher, "there is no such record in its segment" };
	int r;

	if (original->problem)
		return fail_original(v, original->seq, original->problem);
	r = store_each(v->segment->store, original->seq, original->seq, look_at_record, &look, err);
	if (r == 0 && look.problem)
		return fail_original(v, original->seq, look.problem);
	return r;
}

int verify_originals(struct verification *v, uint64_t from, struct sbx_error *err)
{
	if (v->file->kind != SEGMENT_STORE)
		return 0;
	return store_each_original(v->segment->store, from, see_original, v, err);
}
