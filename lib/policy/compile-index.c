/* SPDX-License-Identifier: MIT */

/*
 * Hosts, networks and ports → keys of one hash index
 *
 * A network is its prefix, a range of ports the few binary prefixes that it consists of, a name
 * itself or what must follow the first dot. So each is found by a look-up for every length that
 * occurs, whatever the number of rules.
 */

#include "policy/compile-internal.h"

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

#include "policy/artefact-internal.h"
#include "policy/network.h"

#define PORT_BITS 16

static bool entry_equal(const void *rows, uint32_t row, const void *key)
{
	const struct artefact_value *entries = ((const struct rows *)rows)->data;

	return value_equals(&entries[row], key);
}

static void note_length(struct builder *builder, const struct artefact_value *key)
{
	uint64_t *lengths = builder->header.prefix_lengths;

	if (key->kind == ENTRY_IPV4)
		lengths[LENGTHS_IPV4] |= UINT64_C(1) << key->length;
	if (key->kind == ENTRY_IPV6)
		lengths[LENGTHS_IPV6 + key->length / 64] |= UINT64_C(1) << key->length % 64;
	if (key->kind == ENTRY_PORT)
		lengths[LENGTHS_PORT] |= UINT64_C(1) << key->length;
}

static int post(struct builder *builder, const struct artefact_value *key, uint32_t posting)
{
	uint32_t *row = finder_find(&builder->entry_finder, hash_value(0, key), entry_equal,
				    &builder->entries, key);

	if (!row)
		return -ENOMEM;
	if (*row == ARTEFACT_NONE) {
		struct artefact_value *entry;

		*row = (uint32_t)builder->entries.n;
		entry = rows_add(&builder->entries, sizeof(*entry), 1);
		if (!entry)
			return -ENOMEM;
		*entry = *key;
		note_length(builder, key);
	}
	return builder_add_pair(&builder->found, *row, posting);
}

static int compare_later(struct builder *builder, const struct artefact_value *key)
{
	struct artefact_value *value = rows_add(&builder->values, sizeof(*value), 1);

	if (!value)
		return -ENOMEM;
	*value = *key;
	return 0;
}

static uint64_t load_big(const uint8_t *bytes, size_t n_bytes)
{
	uint64_t number = 0;

	for (size_t i = 0; i < 8; i++)
		number = number << 8 | (i < n_bytes ? bytes[i] : 0);
	return number;
}

static int read_network(const char *text, struct artefact_value *ret, struct sbx_error *err)
{
	struct network network;
	int r = network_parse(text, &network, err);

	if (r < 0)
		return r;
	*ret = (struct artefact_value){
		.kind = network.is_ipv6 ? ENTRY_IPV6 : ENTRY_IPV4,
		.length = network.length,
		.bits[0] = load_big(network.bytes, network.is_ipv6 ? 8 : 4),
		.bits[1] = network.is_ipv6 ? load_big(network.bytes + 8, 8) : 0,
	};
	return 0;
}

/* An address without its brackets, or a name in lower case without the dot at its end. */
static void fold_host(const char *text, char folded[HOST_BYTES_MAX + 4])
{
	size_t len = strnlen(text, HOST_BYTES_MAX + 3);
	bool brackets = len > 2 && text[0] == '[' && text[len - 1] == ']';

	len -= brackets || (len > 1 && text[len - 1] == '.');
	for (size_t i = brackets; i < len; i++)
		folded[i - brackets] =
			(char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] | 0x20 : text[i]);
	folded[len - brackets] = '\0';
}

static int read_host(struct builder *builder, const char *text, struct artefact_value *ret,
		     struct sbx_error *err)
{
	char folded[HOST_BYTES_MAX + 4] = { 0 };
	const char *name = folded;
	uint32_t word;
	int r;

	fold_host(text, folded);
	if (read_network(folded, ret, NULL) == 0 && !strchr(folded, '/'))
		return 0;
	*ret = (struct artefact_value){ .kind = ENTRY_HOST };
	if (strcmp(folded, "*") != 0) {
		r = network_check_host(folded, err);
		if (r < 0)
			return r;
	}
	if (*name == '*') {
		ret->kind = ENTRY_HOST_BELOW;
		name += name[1] == '.' ? 2 : 1;
	}
	r = interner_add(&builder->words, name, strlen(name), &word);
	ret->bits[0] = word;
	return r;
}

/* The fewest prefixes that together are @range: at each step the greatest that begins at its start.
 */
static int post_range(struct builder *builder, struct port_range range, uint32_t posting)
{
	uint32_t from = range.from, end = range.to + 1u;

	while (from < end) {
		uint32_t bits = from ? (uint32_t)__builtin_ctz(from) : PORT_BITS;

		while (from + (1u << bits) > end)
			bits--;

		struct artefact_value key = {
			.kind = ENTRY_PORT,
			.length = PORT_BITS - bits,
			.bits[0] = from >> bits,
		};
		int r = post(builder, &key, posting);

		if (r < 0)
			return r;
		from += 1u << bits;
	}
	return 0;
}

static int add_ports(struct builder *builder, const struct match_value *value, uint32_t posting,
		     bool compared, struct sbx_error *err)
{
	const char *at = value->text, *item;
	size_t len;
	int r = 0;

	while (r == 0 && network_next_port(&at, &item, &len)) {
		struct artefact_value key = { .kind = ENTRY_PORT };
		struct port_range range;

		r = network_parse_ports(item, len, &range, err);
		if (r < 0) {
			(void)builder_place(builder, value->place, err);
			return r;
		}
		key.bits[0] = range.from;
		key.bits[1] = range.to;
		r = compared ? compare_later(builder, &key) : post_range(builder, range, posting);
	}
	return r;
}

int index_add(struct builder *builder, const struct build_condition *condition, enum match_key key,
	      const struct match_value *value, bool compared, struct sbx_error *err)
{
	uint32_t posting = condition->row << 2;
	struct artefact_value entry;

	if (key == MATCH_PORT)
		return add_ports(builder, value, posting, compared, err);

	int r = key == MATCH_HOST ? read_host(builder, value->text, &entry, err)
				  : read_network(value->text, &entry, err);

	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		(void)builder_place(builder, value->place, err);
		return r;
	}
	return compared ? compare_later(builder, &entry) : post(builder, &entry, posting);
}
