/* SPDX-License-Identifier: MIT */

/*
 * Rows → block: hash tables are laid out, postings gathered by their owners, numbers of words and
 * texts become slots and offsets, and everything is copied behind the header
 */

#include "policy/compile-internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "policy/artefact-internal.h"
#include "policy/digest.h"

/* Sections begin where one does, so that rows which fit into one lie in one. */
#define CACHE_LINE 64

static void writer_deinit(struct writer *writer)
{
	for (int i = 0; i < N_SECTIONS; i++)
		rows_deinit(&writer->made[i]);
	free(writer->word_slots);
	free(writer->entry_slots);
}

void *writer_make(struct writer *writer, enum artefact_section section, size_t n)
{
	return rows_add(&writer->made[section], artefact_row_size(section), n);
}

/* Texts follow the words, which are read in every decision and so lie close together. */
uint32_t writer_text_offset(const struct writer *writer, uint32_t text)
{
	const struct interned *texts = writer->builder->texts.words.data;

	if (text == ARTEFACT_NONE)
		return text;
	return (uint32_t)writer->builder->words.bytes.n + texts[text].text;
}

static int write_bytes(struct writer *writer)
{
	const struct rows *words = &writer->builder->words.bytes;
	const struct rows *texts = &writer->builder->texts.bytes;
	char *bytes = writer_make(writer, SECTION_BYTES, words->n + texts->n);

	if (!bytes)
		return -ENOMEM;
	if (words->n > 0)
		memcpy(bytes, words->data, words->n);
	memcpy(bytes + words->n, texts->data, texts->n);
	return 0;
}

static uint64_t hash_of_word(const void *keys, size_t i, uint64_t seed)
{
	const struct interner *interner = keys;
	const struct interned *word = (const struct interned *)interner->words.data + i;

	return hash_bytes(seed, (const char *)interner->bytes.data + word->text, word->len);
}

static int write_words(struct writer *writer)
{
	const struct interner *interner = &writer->builder->words;
	const struct interned *words = interner->words.data;
	const char *bytes = interner->bytes.data;
	uint64_t *seed = &writer->builder->header.seeds[TABLE_WORDS];
	size_t size;
	int r = table_place(hash_of_word, interner, interner->words.n, seed, &writer->word_slots,
			    &size);
	struct artefact_word *rows = r == 0 ? writer_make(writer, SECTION_WORDS, size) : NULL;

	if (!rows)
		return r < 0 ? r : -ENOMEM;
	memset(rows, 0xff, size * sizeof(*rows));
	for (size_t i = 0; i < interner->words.n; i++)
		rows[writer->word_slots[i]] = (struct artefact_word){
			.text = words[i].text,
			.len = words[i].len,
			.head = hash_head(bytes + words[i].text, words[i].len),
		};
	return 0;
}

int writer_gather(struct writer *writer, enum artefact_section section, const struct rows *pairs,
		  struct artefact_span *spans, size_t n_spans, size_t stride)
{
	const struct build_pair *pair = pairs->data;
	uint32_t first = (uint32_t)writer->made[section].n;
	uint32_t *rows = writer_make(writer, section, pairs->n);

	if (!rows)
		return -ENOMEM;
	rows -= first;
	for (size_t i = 0; i < pairs->n; i++)
		((struct artefact_span *)(void *)((char *)spans + pair[i].owner * stride))->count++;
	for (size_t i = 0; i < n_spans; i++) {
		struct artefact_span *span = (void *)((char *)spans + i * stride);

		span->first = first;
		first += span->count;
		span->count = 0;
	}
	for (size_t i = 0; i < pairs->n; i++) {
		struct artefact_span *span = (void *)((char *)spans + pair[i].owner * stride);

		rows[span->first + span->count++] = pair[i].posting;
	}
	return 0;
}

static void resolve_value(const struct writer *writer, struct artefact_value *value)
{
	if (value->kind == ENTRY_HOST || value->kind == ENTRY_HOST_BELOW)
		value->bits[0] = writer->word_slots[value->bits[0]];
}

static uint64_t hash_of_entry(const void *keys, size_t i, uint64_t seed)
{
	return hash_value(seed, (const struct artefact_value *)keys + i);
}

static int write_index(struct writer *writer)
{
	struct builder *builder = writer->builder;
	struct artefact_value *entries = builder->entries.data, *values = builder->values.data;
	size_t n = builder->entries.n, size;

	for (size_t i = 0; i < builder->values.n; i++)
		resolve_value(writer, &values[i]);
	for (size_t i = 0; i < n; i++)
		resolve_value(writer, &entries[i]);

	int r = table_place(hash_of_entry, entries, n, &builder->header.seeds[TABLE_INDEX],
			    &writer->entry_slots, &size);
	struct artefact_entry *rows = r == 0 ? writer_make(writer, SECTION_INDEX, size) : NULL;

	if (!rows)
		return r < 0 ? r : -ENOMEM;
	for (size_t i = 0; i < n; i++)
		rows[writer->entry_slots[i]].key = entries[i];

	struct build_pair *pairs = builder->found.data;

	for (size_t i = 0; i < builder->found.n; i++)
		pairs[i].owner = writer->entry_slots[pairs[i].owner];
	return writer_gather(writer, SECTION_POSTINGS, &builder->found, &rows->postings, size,
			     sizeof(*rows));
}

static int compare_numbers(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

static void resolve_lists(struct writer *writer)
{
	struct builder *builder = writer->builder;
	const struct artefact_lists *lists = builder->lists.data;
	uint32_t *words = builder->list_words.data;

	for (size_t i = 0; i < builder->list_words.n; i++)
		words[i] = writer->word_slots[words[i]];
	for (size_t i = 0; i < builder->lists.n; i++) {
		for (size_t k = 0; k < N_ELEMENTS(lists[i].texts); k++) {
			struct artefact_span span = lists[i].texts[k];

			if (span.count > 1)
				qsort(words + span.first, span.count, sizeof(*words),
				      compare_numbers);
		}
	}
}

static void resolve_texts(struct writer *writer)
{
	struct builder *builder = writer->builder;
	struct artefact_source *sources = builder->sources.data;
	struct artefact_pattern *patterns = builder->patterns.data;
	struct artefact_rule *rules = builder->rules.data;

	for (size_t i = 0; i < builder->sources.n; i++)
		sources[i].name = writer_text_offset(writer, sources[i].name);
	for (size_t i = 0; i < builder->patterns.n; i++)
		patterns[i].text = writer_text_offset(writer, patterns[i].text);
	for (size_t i = 0; i < builder->rules.n; i++) {
		rules[i].name = writer_text_offset(writer, rules[i].name);
		rules[i].reason = writer_text_offset(writer, rules[i].reason);
		rules[i].require_sandbox = writer_text_offset(writer, rules[i].require_sandbox);
		rules[i].sha256 = writer_text_offset(writer, rules[i].sha256);
	}
}

static int write_sections(struct writer *writer)
{
	struct builder *builder = writer->builder;
	int r = write_bytes(writer);

	if (r == 0)
		r = write_words(writer);
	if (r == 0)
		r = nodes_write(writer);
	if (r == 0)
		r = write_index(writer);
	if (r == 0)
		r = writer_gather(writer, SECTION_PLAIN, &builder->plain,
				  builder->header.plain_of_operation, OPERATIONS_MAX,
				  sizeof(struct artefact_span));
	if (r < 0)
		return r;
	resolve_lists(writer);
	resolve_texts(writer);
	return 0;
}

static int copy_out(struct writer *writer, void **ret_block, size_t *ret_n_bytes)
{
	struct builder *builder = writer->builder;
	struct artefact_header *header = &builder->header;
	const struct rows *sections[N_SECTIONS] = {
		[SECTION_SOURCES] = &builder->sources,	     [SECTION_RULES] = &builder->rules,
		[SECTION_CONDITIONS] = &builder->conditions, [SECTION_LISTS] = &builder->lists,
		[SECTION_TEXTS] = &builder->list_words,	     [SECTION_VALUES] = &builder->values,
		[SECTION_PATTERNS] = &builder->patterns,
	};
	uint64_t n_bytes = (sizeof(*header) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;

	for (int i = 0; i < N_SECTIONS; i++) {
		const struct rows *rows = sections[i] ? sections[i] : &writer->made[i];

		sections[i] = rows;
		header->sections[i].first = (uint32_t)n_bytes;
		header->sections[i].count = (uint32_t)rows->n;
		n_bytes += rows->n * artefact_row_size((enum artefact_section)i);
		n_bytes = (n_bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
		if (n_bytes > UINT32_MAX)
			return -E2BIG;
	}
	header->n_bytes = (uint32_t)n_bytes;

	_cleanup_free_ uint8_t *block = aligned_alloc(CACHE_LINE, n_bytes);

	if (!block)
		return -ENOMEM;
	memset(block, 0, n_bytes);
	memcpy(block, header, sizeof(*header));
	for (int i = 0; i < N_SECTIONS; i++)
		if (sections[i]->n > 0)
			memcpy(block + header->sections[i].first, sections[i]->data,
			       sections[i]->n * artefact_row_size((enum artefact_section)i));
	digest_of(block + CHECKSUM_END, n_bytes - CHECKSUM_END,
		  ((struct artefact_header *)(void *)block)->checksum);
	*ret_block = take_ptr(block);
	*ret_n_bytes = n_bytes;
	return 0;
}

int artefact_write(struct builder *builder, void **ret_block, size_t *ret_n_bytes,
		   struct sbx_error *err)
{
	__attribute__((__cleanup__(writer_deinit))) struct writer writer = { .builder = builder };
	struct artefact_header *header = &builder->header;

	header->magic = ARTEFACT_MAGIC;
	header->version = ARTEFACT_VERSION;
	memcpy(header->policy_digest, builder->policy->digest, sizeof(header->policy_digest));
	for (int i = 0; i < N_CLASSES; i++)
		header->defaults[i] = builder->policy->defaults[i];

	int r = write_sections(&writer);

	if (r == 0)
		r = copy_out(&writer, ret_block, ret_n_bytes);
	if (r == -E2BIG) {
		(void)sbx_error_what(err, r, "the policy is too large to be compiled");
		sbx_error_fix(err, "write fewer rules");
	}
	return r;
}
