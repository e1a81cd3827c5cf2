/* SPDX-License-Identifier: MIT */

/*
 * Growing rows and the hash tables that find them again while a policy is compiled
 *
 * Rows double when they are full, so adding is linear all in all. A finder keeps 32 bits of each
 * hash, so it grows without looking at the rows.
 */

#include "policy/compile-internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "policy/artefact-internal.h"

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

void finder_deinit(struct finder *finder)
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

void interner_deinit(struct interner *interner)
{
	rows_deinit(&interner->words);
	rows_deinit(&interner->bytes);
	finder_deinit(&interner->finder);
}

void builder_deinit(struct builder *builder)
{
	struct rows *all[] = {
		&builder->sources,    &builder->rules,	 &builder->conditions, &builder->lists,
		&builder->list_words, &builder->values,	 &builder->nodes,      &builder->links,
		&builder->patterns,   &builder->entries, &builder->here,       &builder->below,
		&builder->found,      &builder->plain,
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
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

int builder_place(const struct builder *builder, struct policy_place place, struct sbx_error *err)
{
	const struct policy *policy = builder->policy;
	struct sbx_error inner;

	if (!err)
		return -EINVAL;
	inner = *err;
	(void)sbx_error_what(err, inner.code, "%s:%u:%u: %s",
			     place.source < policy->n_sources ? policy->sources[place.source].name
							      : "policy",
			     place.at.line, place.at.column, inner.what);
	sbx_error_why(err, "%s", inner.why);
	sbx_error_fix(err, "%s", inner.fix);
	return inner.code;
}
