/* SPDX-License-Identifier: MIT */

/*
 * Model → rows: sources, rules and conditions, in the order of the model
 *
 * Each condition with an indexed key gets one primary key, by which look-ups find it: path before
 * host before network before port, because a path is the most selective and a port the least. Its
 * other keys are compared once it is found. A condition without an indexed key is in a list of its
 * operation or, if it is an exception, precedes its rule's other exceptions.
 */
#include "policy/compile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "base/error.h"
#include "policy/artefact-internal.h"
#include "policy/compile-internal.h"
#include "policy/network.h"

/*
 * Row arrays double when full, so adding is linear overall. A finder stores 32 bits of each hash,
 * so that it can grow without reading the rows.
 */

#define FINDER_FIRST 64
#define ROWS_FIRST 32

void *rows_add(struct rows *rows, size_t row_size, size_t n)
{
	if (n > UINT32_MAX - 1 - rows->n)
		return NULL;
	if (rows->n + n > rows->size || !rows->data) {
		size_t size = rows->size ? rows->size * 2 : ROWS_FIRST;

		size = size < rows->n + n ? rows->n + n : size;

		void *data = reallocarray(rows->data, size, row_size);

		if (!data)
			return NULL;
		rows->data = data;
		rows->size = size;
	}

	void *first = (char *)rows->data + rows->n * row_size;

	memset(first, 0, n * row_size);
	rows->n += n;
	return first;
}

void rows_deinit(struct rows *rows)
{
	free(rows->data);
	*rows = (struct rows){ .data = NULL };
}

struct finder_slot {
	uint32_t hash;
	uint32_t row; /* ARTEFACT_NONE: empty */
};

static int finder_grow(struct finder *finder)
{
	size_t n_slots = finder->n_slots ? finder->n_slots * 4 : FINDER_FIRST, mask = n_slots - 1;
	struct finder_slot *slots = reallocarray(NULL, n_slots, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	memset(slots, 0xff, n_slots * sizeof(*slots));
	for (size_t i = 0; i < finder->n_slots; i++) {
		size_t at = finder->slots[i].hash & mask;

		if (finder->slots[i].row == ARTEFACT_NONE)
			continue;
		while (slots[at].row != ARTEFACT_NONE)
			at = (at + 1) & mask;
		slots[at] = finder->slots[i];
	}
	free(finder->slots);
	finder->slots = slots;
	finder->n_slots = n_slots;
	return 0;
}

uint32_t *finder_find(struct finder *finder, uint64_t hash, finder_equal *equal, const void *rows,
		      const void *key)
{
	uint32_t short_hash = (uint32_t)(hash >> 32);

	if (finder->n * 2 >= finder->n_slots && finder_grow(finder) < 0)
		return NULL;

	size_t mask = finder->n_slots - 1, at = short_hash & mask;

	for (; finder->slots[at].row != ARTEFACT_NONE; at = (at + 1) & mask)
		if (finder->slots[at].hash == short_hash && equal(rows, finder->slots[at].row, key))
			return &finder->slots[at].row;
	finder->slots[at].hash = short_hash;
	finder->n++;
	return &finder->slots[at].row;
}

static void finder_deinit(struct finder *finder)
{
	free(finder->slots);
	*finder = (struct finder){ .slots = NULL };
}

struct text_key {
	const char *text;
	size_t len;
	uint64_t hash;
};

static bool text_equal(const void *rows, uint32_t row, const void *key)
{
	const struct interner *interner = rows;
	const struct interned *word = (const struct interned *)interner->words.data + row;
	const struct text_key *wanted = key;

	return word->hash == wanted->hash && word->len == wanted->len &&
	       memcmp((const char *)interner->bytes.data + word->text, wanted->text, wanted->len) ==
		       0;
}

int interner_add(struct interner *interner, const char *text, size_t len, uint32_t *ret)
{
	struct text_key key = { .text = text, .len = len, .hash = hash_bytes(0, text, len) };
	uint32_t *row = finder_find(&interner->finder, key.hash, text_equal, interner, &key);

	if (!row)
		return -ENOMEM;
	if (*row != ARTEFACT_NONE) {
		*ret = *row;
		return 0;
	}

	uint32_t at = (uint32_t)interner->bytes.n;
	char *bytes = rows_add(&interner->bytes, 1, len + 1);
	struct interned *word = rows_add(&interner->words, sizeof(*word), 1);

	if (!bytes || !word)
		return -ENOMEM;
	memcpy(bytes, text, len);
	*word = (struct interned){ .hash = key.hash, .text = at, .len = (uint32_t)len };
	*ret = *row = (uint32_t)(interner->words.n - 1);
	return 0;
}

static void interner_deinit(struct interner *interner)
{
	rows_deinit(&interner->words);
	rows_deinit(&interner->bytes);
	finder_deinit(&interner->finder);
}

static void builder_deinit(struct builder *builder)
{
	struct rows *all[] = {
		&builder->sources,    &builder->rules,	 &builder->conditions, &builder->lists,
		&builder->list_words, &builder->values,	 &builder->nodes,      &builder->links,
		&builder->patterns,   &builder->entries, &builder->here,       &builder->below,
		&builder->found,      &builder->plain,	 &builder->addressed,
	};

	for (size_t i = 0; i < N_ELEMENTS(all); i++)
		rows_deinit(all[i]);
	interner_deinit(&builder->words);
	interner_deinit(&builder->texts);
	finder_deinit(&builder->link_finder);
	finder_deinit(&builder->entry_finder);
}

int builder_add_pair(struct rows *rows, uint32_t owner, uint32_t posting)
{
	struct build_pair *pair = rows_add(rows, sizeof(*pair), 1);

	if (!pair)
		return -ENOMEM;
	*pair = (struct build_pair){ .owner = owner, .posting = posting };
	return 0;
}

int builder_place(const struct builder *builder, struct policy_place place, int code,
		  struct sbx_error *err)
{
	const struct policy *policy = builder->policy;
	bool is_known = place.source < policy->n_sources;

	return err ? error_retell(err, code, "%s:%u:%u: %s",
				  is_known ? policy->sources[place.source].name : "policy",
				  place.at.line, place.at.column, err->what)
		   : code;
}

/*
 * Hosts, networks and ports → keys of one hash index
 *
 * A network becomes its prefix; a range of ports the few binary prefixes that make it up; a name
 * the name itself, or (for "*.name") the part that must follow the first dot. So a request needs
 * one look-up for every prefix length that occurs, whatever the number of rules.
 */

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

static int add_value(struct builder *builder, const struct artefact_value *key)
{
	struct artefact_value *value = rows_add(&builder->values, sizeof(*value), 1);

	if (!value)
		return -ENOMEM;
	*value = *key;
	return 0;
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
	};
	artefact_address_bits(network.bytes, network.is_ipv6 ? 16 : 4, ret->bits);
	return 0;
}

/* Normalises a host: an address without its brackets, or a name in lower case without a final
 * dot. */
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

/* Splits @range into the fewest prefixes: at each step the largest that begins at its start. */
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

	while (network_next_port(&at, &item, &len)) {
		struct artefact_value key = { .kind = ENTRY_PORT };
		struct port_range range;
		int r = network_parse_ports(item, len, &range, err);

		if (r < 0)
			return builder_place(builder, value->place, r, err);
		key.bits[0] = range.from;
		key.bits[1] = range.to;
		r = compared ? add_value(builder, &key) : post_range(builder, range, posting);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Adds one value of a host, cidr or port list to the index or (@compared) to SECTION_VALUES. */
static int index_add(struct builder *builder, const struct build_condition *condition,
		     enum match_key key, const struct match_value *value, bool compared,
		     struct sbx_error *err)
{
	uint32_t posting = condition->row << 2;
	struct artefact_value entry;

	if (key == MATCH_PORT)
		return add_ports(builder, value, posting, compared, err);

	int r = key == MATCH_HOST ? read_host(builder, value->text, &entry, err)
				  : read_network(value->text, &entry, err);

	if (r < 0)
		return r == -ENOMEM ? r : builder_place(builder, value->place, r, err);
	return compared ? add_value(builder, &entry) : post(builder, &entry, posting);
}

static uint8_t primary_of(const struct condition *condition)
{
	for (unsigned key = MATCH_PATH; key <= MATCH_PORT; key++)
		if (condition->lists[key].present)
			return (uint8_t)key;
	return PRIMARY_NONE;
}

static bool is_indexed(const struct condition *condition)
{
	return primary_of(condition) != PRIMARY_NONE;
}

static struct artefact_condition *condition_at(const struct builder *builder, uint32_t row)
{
	return (struct artefact_condition *)builder->conditions.data + row;
}

/* Adds the words of a list of callers, tags, states or modes, which are compared as a whole. */
static int add_words(struct builder *builder, const struct match_list *list,
		     struct artefact_span *ret)
{
	ret->first = (uint32_t)builder->list_words.n;
	ret->count = (uint32_t)list->n_values;
	for (size_t i = 0; i < list->n_values; i++) {
		const char *text = list->values[i].text;
		uint32_t word;
		int r = interner_add(&builder->words, text, strlen(text), &word);
		uint32_t *row = r == 0 ? rows_add(&builder->list_words, sizeof(*row), 1) : NULL;

		if (!row)
			return -ENOMEM;
		*row = word;
	}
	return 0;
}

static int read_protos(const struct builder *builder, const struct match_list *list, uint8_t *ret,
		       struct sbx_error *err)
{
	for (size_t i = 0; i < list->n_values; i++) {
		const char *text = list->values[i].text;

		if (strcmp(text, "tcp") != 0 && strcmp(text, "udp") != 0) {
			int r = error_fill(err, -EINVAL, "rules can be about tcp and udp",
					   "write tcp or udp", "'%.100s' is not a protocol", text);

			return builder_place(builder, list->values[i].place, r, err);
		}
		*ret |= (uint8_t)(text[0] == 't' ? PROTO_TCP : PROTO_UDP);
	}
	return 0;
}

static int add_values(struct builder *builder, const struct build_condition *made,
		      enum match_key key, const struct match_list *list, struct artefact_span *ret,
		      struct sbx_error *err)
{
	bool is_primary = condition_at(builder, made->row)->primary == key;

	ret->first = (uint32_t)builder->values.n;
	for (size_t i = 0; i < list->n_values; i++) {
		int r = index_add(builder, made, key, &list->values[i], !is_primary, err);

		if (r < 0)
			return r;
	}
	ret->count = (uint32_t)builder->values.n - ret->first;
	return 0;
}

static int add_globs(struct builder *builder, const struct build_condition *made,
		     const struct match_list *list, struct sbx_error *err)
{
	for (size_t i = 0; i < list->n_values; i++) {
		int r = trie_add(builder, made, &list->values[i], err);

		if (r < 0)
			return r;
	}
	return 0;
}

static int add_list(struct builder *builder, const struct build_condition *made, enum match_key key,
		    const struct match_list *list, struct artefact_lists *lists,
		    struct sbx_error *err)
{
	if (key == MATCH_PATH)
		return add_globs(builder, made, list, err);
	if (key <= MATCH_PORT)
		return add_values(builder, made, key, list, &lists->values[key - MATCH_HOST], err);
	if (key == MATCH_PROTO)
		return read_protos(builder, list, &condition_at(builder, made->row)->protos, err);
	return add_words(builder, list, &lists->texts[key - MATCH_CALLER]);
}

/* Lists a condition that only an address finds, for a request that does not say its address. */
static int add_addressed(struct builder *builder, const struct build_condition *made,
			 const struct match_list *list)
{
	uint32_t *row;

	if (!list->present || list->n_values == 0)
		return 0;
	builder->header.needs_address |= made->operations;
	if (condition_at(builder, made->row)->primary != MATCH_CIDR)
		return 0;
	row = rows_add(&builder->addressed, sizeof(*row), 1);
	if (!row)
		return -ENOMEM;
	*row = made->row;
	return 0;
}

static int add_lists(struct builder *builder, const struct build_condition *made,
		     const struct condition *condition, struct sbx_error *err)
{
	struct artefact_lists lists = { .texts = { { 0 } } }, *row;

	for (int key = 0; key < N_MATCH_KEYS; key++) {
		int r = condition->lists[key].present
				? add_list(builder, made, (enum match_key)key,
					   &condition->lists[key], &lists, err)
				: 0;

		if (r < 0)
			return r;
	}
	if (condition->lists[MATCH_PORT].present)
		builder->header.needs_port |= made->operations;
	if (add_addressed(builder, made, &condition->lists[MATCH_CIDR]) < 0)
		return -ENOMEM;
	if (keys_of_lists(condition_at(builder, made->row)) == 0)
		return 0;
	condition_at(builder, made->row)->lists = (uint32_t)builder->lists.n;
	row = rows_add(&builder->lists, sizeof(*row), 1);
	if (!row)
		return -ENOMEM;
	*row = lists;
	return 0;
}

static struct artefact_rule *last_rule(const struct builder *builder)
{
	return (struct artefact_rule *)builder->rules.data + builder->rules.n - 1;
}

/* @ordinal is ARTEFACT_NONE for the match. */
static int add_condition(struct builder *builder, const struct rule *rule,
			 const struct condition *condition, uint32_t ordinal, struct sbx_error *err)
{
	struct artefact_condition *row = rows_add(&builder->conditions, sizeof(*row), 1);
	uint64_t operations = rule->match.operations;

	if (!row)
		return -ENOMEM;
	if (ordinal != ARTEFACT_NONE && condition->operations != 0)
		operations &= condition->operations;
	*row = (struct artefact_condition){
		.operations = operations,
		.rule = (uint32_t)builder->rules.n - 1,
		.primary = primary_of(condition),
		.ordinal = ordinal,
		.lists = ARTEFACT_NONE,
		.action = (uint8_t)rule->action,
		.flags = artefact_flags_of(builder->sources.data, last_rule(builder)),
	};
	for (int key = 0; key < N_MATCH_KEYS; key++)
		row->keys |= (uint16_t)(condition->lists[key].present << key);

	struct build_condition made = {
		.row = (uint32_t)builder->conditions.n - 1,
		.operations = operations,
		.action = rule->action,
		.is_exception = ordinal != ARTEFACT_NONE,
	};

	return add_lists(builder, &made, condition, err);
}

/* Adds the exceptions without an indexed key first, then the others. */
static int add_exceptions(struct builder *builder, const struct rule *rule, struct sbx_error *err)
{
	struct artefact_span span = { .first = (uint32_t)builder->conditions.n,
				      .count = (uint32_t)rule->n_exceptions };
	uint32_t n_plain = 0;

	for (int indexed = 0; indexed < 2; indexed++) {
		for (uint32_t i = 0; i < rule->n_exceptions; i++) {
			if (is_indexed(&rule->exceptions[i]) != indexed)
				continue;

			int r = add_condition(builder, rule, &rule->exceptions[i], i, err);

			if (r < 0)
				return r;
			n_plain += !indexed;
		}
	}
	last_rule(builder)->exceptions = span;
	last_rule(builder)->n_plain_exceptions = n_plain;
	return 0;
}

static int add_text(struct builder *builder, const char *text, uint32_t *ret)
{
	if (!text) {
		*ret = ARTEFACT_NONE;
		return 0;
	}
	return interner_add(&builder->texts, text, strlen(text), ret);
}

static int add_plain(struct builder *builder, const struct rule *rule, uint32_t condition)
{
	uint64_t left = rule->match.operations;

	for (; left && !is_indexed(&rule->match); left &= left - 1)
		if (builder_add_pair(&builder->plain, (uint32_t)__builtin_ctzll(left), condition) <
		    0)
			return -ENOMEM;
	return 0;
}

static int add_rule(struct builder *builder, const struct rule *rule, struct sbx_error *err)
{
	struct artefact_rule *row = rows_add(&builder->rules, sizeof(*row), 1);
	uint32_t condition = (uint32_t)builder->conditions.n;
	unsigned source = rule->place.source;

	if (!row)
		return -ENOMEM;
	*row = (struct artefact_rule){
		.source = source < builder->sources.n ? source : 0,
		.line = rule->place.at.line,
		.column = rule->place.at.column,
		.action = (uint16_t)rule->action,
		.kind = (uint16_t)rule->kind,
		.condition = condition,
		.exceptions.count = (uint32_t)rule->n_exceptions,
		.require_token = rule->constraints.require_token,
		.tls = rule->constraints.tls,
		.max_file_size_bytes = rule->constraints.max_file_size_bytes,
	};
	if (add_text(builder, rule->name, &row->name) < 0 ||
	    add_text(builder, rule->reason, &row->reason) < 0 ||
	    add_text(builder, rule->constraints.require_sandbox, &row->require_sandbox) < 0 ||
	    add_text(builder, rule->constraints.sha256, &row->sha256) < 0)
		return -ENOMEM;

	int r = add_condition(builder, rule, &rule->match, ARTEFACT_NONE, err);

	if (r < 0)
		return r;
	r = add_exceptions(builder, rule, err);
	if (r < 0)
		return r;
	return add_plain(builder, rule, condition);
}

static int add_sources(struct builder *builder)
{
	static const struct policy_source nameless = { .name = "policy" };
	const struct policy *policy = builder->policy;
	size_t n = policy->n_sources > 0 ? policy->n_sources : 1;

	for (size_t i = 0; i < n; i++) {
		const struct policy_source *source =
			policy->n_sources > 0 ? &policy->sources[i] : &nameless;
		struct artefact_source *row = rows_add(&builder->sources, sizeof(*row), 1);

		if (!row || add_text(builder, source->name, &row->name) < 0)
			return -ENOMEM;
		row->narrows = source->narrows;
		memcpy(row->digest, source->digest, sizeof(row->digest));
	}
	return 0;
}

static int build(struct builder *builder, struct sbx_error *err)
{
	const struct policy *policy = builder->policy;

	if (trie_init(builder) < 0 || add_sources(builder) < 0)
		return -ENOMEM;
	builder->header.needs_project = policy->needs_project;
	builder->header.needs_port = policy->needs_port;
	for (size_t i = 0; i < policy->n_rules; i++) {
		int r = add_rule(builder, &policy->rules[i], err);

		if (r < 0)
			return r;
	}
	return 0;
}

int policy_measure(const struct policy *policy, struct compile_cost *ret, struct sbx_error *err)
{
	_cleanup_(builder_deinit) struct builder builder = { .policy = policy };
	int r = build(&builder, err);

	if (r == 0)
		r = trie_measure(&builder, ret);
	if (r == -ENOMEM)
		return sbx_error_what(err, r, "cannot measure the policy");
	return r;
}

static int build_and_write(struct builder *builder, void **ret_block, size_t *ret_n_bytes,
			   struct sbx_error *err)
{
	int r = build(builder, err);

	if (r < 0)
		return r;
	r = trie_check_bounds(builder, err);
	return r < 0 ? r : artefact_write(builder, ret_block, ret_n_bytes, err);
}

/* Without the checksum. */
static int compile(const struct policy *policy, void **ret_block, size_t *ret_n_bytes,
		   struct sbx_error *err)
{
	_cleanup_(builder_deinit) struct builder builder = { .policy = policy };
	int r = build_and_write(&builder, ret_block, ret_n_bytes, err);

	if (r == -ENOMEM)
		return sbx_error_what(err, r, "cannot compile the policy");
	return r;
}

int policy_compile(const struct policy *policy, void **ret_block, size_t *ret_n_bytes,
		   struct sbx_error *err)
{
	int r = compile(policy, ret_block, ret_n_bytes, err);

	if (r == 0)
		artefact_add_checksum(*ret_block, *ret_n_bytes);
	return r;
}

int policy_compile_here(const struct policy *policy, void **ret_block, struct artefact *ret,
			struct sbx_error *err)
{
	size_t n_bytes;
	int r = compile(policy, ret_block, &n_bytes, err);

	if (r == 0)
		*ret = (struct artefact){ .block = *ret_block, .header = *ret_block };
	return r;
}
