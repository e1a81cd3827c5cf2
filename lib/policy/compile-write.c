/* SPDX-License-Identifier: MIT */

/*
 * Rows → block: lays out the hash tables and the trie, groups postings by owner, turns numbers of
 * words and texts into slots and offsets, and copies all sections after the header
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "policy/artefact-internal.h"
#include "policy/compile-internal.h"
#include "policy/model.h"

/* Sections are aligned to it, so that a row that fits into one cache line does not cross two. */
#define CACHE_LINE 64

/* The block's sections under construction. */
struct writer {
	struct builder *builder;
	struct rows made[N_SECTIONS]; /* those that are not the builder's rows */
	uint32_t *word_slots;
	uint32_t *entry_slots;
};

static void writer_deinit(struct writer *writer)
{
	for (int i = 0; i < N_SECTIONS; i++)
		rows_deinit(&writer->made[i]);
	free(writer->word_slots);
	free(writer->entry_slots);
}

/* Adds @n zeroed rows to a section. */
static void *writer_make(struct writer *writer, enum artefact_section section, size_t n)
{
	return rows_add(&writer->made[section], artefact_row_size(section), n);
}

/* The offset of a text in SECTION_BYTES; NONE stays NONE. Words are stored first: every decision
 * reads them, so they should share cache lines. */
static uint32_t writer_text_offset(const struct writer *writer, uint32_t text)
{
	const struct interned *texts = writer->builder->texts.words.data;

	if (text == ARTEFACT_NONE)
		return text;
	return (uint32_t)writer->builder->words.bytes.n + texts[text].text;
}

/*
 * Moves pairs into SECTION_POSTINGS (or SECTION_PLAIN), grouped by owner, otherwise in their order.
 * The span of owner i is at @spans + i * @stride and must be zeroed.
 */
static int writer_gather(struct writer *writer, enum artefact_section section,
			 const struct rows *pairs, struct artefact_span *spans, size_t n_spans,
			 size_t stride)
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

/*
 * Open-addressed tables with a bound on every probe
 *
 * The author of a policy chooses its words, so an attacker could choose words that all hash to one
 * slot. table_place() therefore tries the seeds 0, 1, 2 and so on until no key is further than
 * ARTEFACT_PROBES_MAX from its slot, and doubles the table if no seed achieves that. It uses no
 * random numbers: the same keys give the same table.
 */

#define TABLE_SEEDS_MAX 8
#define TABLE_GROWTHS_MAX 6

typedef uint64_t table_hash(const void *keys, size_t i, uint64_t seed);

/* False if a key would be too far from its slot. */
static bool try_seed(table_hash *hash, const void *keys, size_t n, uint64_t seed, uint8_t *used,
		     size_t size, uint32_t *slots)
{
	size_t mask = size - 1;

	memset(used, 0, size);
	for (size_t i = 0; i < n; i++) {
		size_t place = hash(keys, i, seed) & mask, way = 0;

		while (way < ARTEFACT_PROBES_MAX && used[(place + way) & mask])
			way++;
		if (way == ARTEFACT_PROBES_MAX)
			return false;
		slots[i] = (uint32_t)((place + way) & mask);
		used[slots[i]] = 1;
	}
	return true;
}

/* Places @n keys in a table of *@ret_size slots. *@ret_slots, which the caller frees, has the slot
 * of each key. */
static int table_place(table_hash *hash, const void *keys, size_t n, uint64_t *ret_seed,
		       uint32_t **ret_slots, size_t *ret_size)
{
	_cleanup_free_ uint32_t *slots = reallocarray(NULL, n + 1, sizeof(*slots));
	size_t size = 2;

	if (!slots)
		return -ENOMEM;
	while (size < n * 2 + 1)
		size *= 2;
	for (int growth = 0; growth < TABLE_GROWTHS_MAX; growth++, size *= 2) {
		_cleanup_free_ uint8_t *used = malloc(size);

		if (!used)
			return -ENOMEM;
		for (uint64_t seed = 0; seed < TABLE_SEEDS_MAX; seed++) {
			if (!try_seed(hash, keys, n, seed, used, size, slots))
				continue;
			*ret_seed = seed;
			*ret_slots = take_ptr(slots);
			*ret_size = size;
			return 0;
		}
	}
	return -E2BIG;
}

/*
 * The trie → rows: every node is placed in its parent's table
 *
 * A table is only as long as its children need, so the children of one directory are close
 * together; the nodes of one glob were created consecutively, so their tables are close together,
 * too. A single posting is stored in the node's row; a node with several, or with a wildcard child,
 * has a fork.
 */

#define NODE_SEEDS_MAX 16
/* How often a table is doubled before the next seed is tried. */
#define GROWTHS_MAX 5
/* How many children may be moved to place one (cuckoo hashing). */
#define MOVES_MAX 64

/* The placement of one node of the builder. */
struct placing {
	uint32_t row;
	uint32_t first_child; /* index in struct layout's children */
	uint32_t n_children;  /* for literal components */
	uint32_t children;    /* first row of its table */
	uint32_t n_here;
	uint32_t n_below;
	uint32_t here; /* its last posting */
	uint32_t below;
	uint32_t fork; /* row, or NONE */
	uint8_t table_bits;
};

struct layout {
	struct writer *writer;
	const struct build_node *nodes;
	const struct build_link *links;
	size_t n_nodes;
	size_t n_links;
	struct placing *placings; /* indexed by node */
	uint32_t *children;	  /* links, grouped by node */
	uint64_t *hashes;	  /* of the links' texts */
	uint32_t *labels;	  /* texts of nodes for literal components; else NONE */
	uint32_t *slots;	  /* the table being filled: links, or NONE */
	uint64_t n_rows;
};

static void layout_deinit(struct layout *layout)
{
	free(layout->placings);
	free(layout->children);
	free(layout->hashes);
	free(layout->labels);
	free(layout->slots);
}

static bool is_literal(const struct build_link *link)
{
	return !(link->label & LINK_PATTERN);
}

static int layout_init(struct layout *layout, struct writer *writer)
{
	const struct builder *builder = writer->builder;

	*layout = (struct layout){
		.writer = writer,
		.nodes = builder->nodes.data,
		.links = builder->links.data,
		.n_nodes = builder->nodes.n,
		.n_links = builder->links.n,
	};
	layout->placings = calloc(layout->n_nodes, sizeof(*layout->placings));
	layout->children = calloc(layout->n_links + 1, sizeof(*layout->children));
	layout->hashes = calloc(layout->n_links + 1, sizeof(*layout->hashes));
	layout->labels = calloc(layout->n_nodes, sizeof(*layout->labels));
	return layout->placings && layout->children && layout->hashes && layout->labels ? 0
											: -ENOMEM;
}

static void gather_children(struct layout *layout)
{
	uint32_t first = 0;

	memset(layout->labels, 0xff, layout->n_nodes * sizeof(*layout->labels));
	for (size_t i = 0; i < layout->n_links; i++)
		layout->placings[layout->links[i].node].n_children += is_literal(&layout->links[i]);
	for (size_t i = 0; i < layout->n_nodes; i++) {
		struct placing *placing = &layout->placings[i];

		placing->first_child = first;
		first += placing->n_children;
		placing->n_children = 0;
	}
	for (uint32_t i = 0; i < layout->n_links; i++) {
		const struct build_link *link = &layout->links[i];
		struct placing *placing = &layout->placings[link->node];

		if (!is_literal(link))
			continue;
		layout->children[placing->first_child + placing->n_children++] = i;
		layout->labels[link->to] = link->label;
	}
}

static void hash_links(struct layout *layout, uint64_t seed)
{
	const struct interner *texts = &layout->writer->builder->texts;
	const struct interned *words = texts->words.data;

	for (size_t i = 0; i < layout->n_links; i++) {
		if (!is_literal(&layout->links[i]))
			continue;

		const struct interned *word = &words[layout->links[i].label];

		layout->hashes[i] =
			hash_bytes(seed, (const char *)texts->bytes.data + word->text, word->len);
	}
}

/* Puts a child into one of its two slots; a child already there moves to its other slot. */
static bool put_child(struct layout *layout, uint8_t table_bits, uint32_t link)
{
	uint32_t *slots = layout->slots, place = node_place(layout->hashes[link], table_bits);

	if (slots[place] != ARTEFACT_NONE)
		place = node_other_place(layout->hashes[link], table_bits);
	for (int i = 0; i < MOVES_MAX; i++) {
		uint32_t moved = slots[place];

		slots[place] = link;
		if (moved == ARTEFACT_NONE)
			return true;
		link = moved;

		uint32_t first = node_place(layout->hashes[link], table_bits);

		place = place != first ? first : node_other_place(layout->hashes[link], table_bits);
	}
	return false;
}

static bool fill_table(struct layout *layout, const struct placing *placing, uint8_t table_bits)
{
	const uint32_t *children = layout->children + placing->first_child;

	memset(layout->slots, 0xff, sizeof(*layout->slots) << table_bits);
	for (uint32_t i = 0; i < placing->n_children; i++)
		if (!put_child(layout, table_bits, children[i]))
			return false;
	return true;
}

/* Assigns rows to a node's children. False if even a table of 32 times their number is too crowded
 * with this seed. */
static bool place_children(struct layout *layout, struct placing *placing)
{
	uint8_t bits = 0;

	if (placing->n_children == 0)
		return true;
	while ((size_t)1 << bits < placing->n_children)
		bits++;
	placing->children = (uint32_t)layout->n_rows;
	for (int growth = 0; growth <= GROWTHS_MAX; growth++, bits++) {
		if (!fill_table(layout, placing, bits))
			continue;
		for (uint32_t i = 0; i < 1u << bits; i++)
			if (layout->slots[i] != ARTEFACT_NONE)
				layout->placings[layout->links[layout->slots[i]].to].row =
					placing->children + i;
		placing->table_bits = bits;
		layout->n_rows += UINT64_C(1) << bits;
		return true;
	}
	return false;
}

static void place_behind(struct layout *layout, uint32_t node)
{
	if (node != ARTEFACT_NONE)
		layout->placings[node].row = (uint32_t)layout->n_rows++;
}

/* Parents precede their children, so every node has a row before its children get theirs. */
static bool place_all(struct layout *layout)
{
	const struct artefact_pattern *patterns = layout->writer->builder->patterns.data;

	layout->placings[1].row = 1;
	layout->n_rows = 2;
	for (size_t i = 0; i < layout->n_nodes; i++) {
		if (!place_children(layout, &layout->placings[i]))
			return false;
		place_behind(layout, layout->nodes[i].star);
		place_behind(layout, layout->nodes[i].floating);
		for (uint32_t k = layout->nodes[i].first_pattern; k != ARTEFACT_NONE;
		     k = patterns[k].next)
			place_behind(layout, patterns[k].to);
	}
	return true;
}

/* Uses the first seed that works: the same policy gives the same rows. */
static int place(struct layout *layout)
{
	size_t most = 1;

	for (size_t i = 0; i < layout->n_nodes; i++)
		if (layout->placings[i].n_children > most)
			most = layout->placings[i].n_children;
	layout->slots = reallocarray(NULL, most << (GROWTHS_MAX + 1), sizeof(*layout->slots));
	if (!layout->slots)
		return -ENOMEM;
	for (uint64_t seed = 0; seed < NODE_SEEDS_MAX; seed++) {
		hash_links(layout, seed);
		if (!place_all(layout))
			continue;
		layout->writer->builder->header.seeds[TABLE_NODES] = seed;
		return layout->n_rows * sizeof(struct artefact_node) <= UINT32_MAX ? 0 : -E2BIG;
	}
	return -E2BIG;
}

static bool is_wild(const struct build_node *node)
{
	return node->star != ARTEFACT_NONE || node->first_pattern != ARTEFACT_NONE;
}

/* Counts the postings of every node and numbers the forks. Returns the number of forks. */
static uint32_t find_forks(struct layout *layout)
{
	const struct builder *builder = layout->writer->builder;
	const struct build_pair *here = builder->here.data, *below = builder->below.data;
	struct placing *placings = layout->placings;
	uint32_t n_forks = 0;

	for (size_t i = 0; i < builder->here.n; i++) {
		placings[here[i].owner].n_here++;
		placings[here[i].owner].here = here[i].posting;
	}
	for (size_t i = 0; i < builder->below.n; i++) {
		placings[below[i].owner].n_below++;
		placings[below[i].owner].below = below[i].posting;
	}
	for (size_t i = 0; i < layout->n_nodes; i++) {
		const struct build_node *node = &layout->nodes[i];
		struct placing *placing = &placings[i];
		bool is_fork = is_wild(node) || node->floating != ARTEFACT_NONE ||
			       placing->n_here > 1 || placing->n_below > 1 ||
			       (placing->n_here > 0 && placing->n_below > 0 &&
				placing->here != placing->below);

		placing->fork = is_fork ? n_forks++ : ARTEFACT_NONE;
	}
	return n_forks;
}

static void fill_ends(const struct build_node *node, const struct placing *placing,
		      struct artefact_node *row)
{
	if (placing->fork != ARTEFACT_NONE) {
		row->kind = NODE_FORK | (is_wild(node) ? NODE_WILD : 0);
		row->ends = placing->fork;
		return;
	}
	if (placing->n_here > 0) {
		row->kind |= NODE_HERE;
		row->ends = placing->here;
	}
	if (placing->n_below > 0) {
		row->kind |= NODE_BELOW;
		row->ends = placing->below;
	}
}

static void fill_component(const struct layout *layout, uint32_t label, struct artefact_node *row)
{
	const struct builder *builder = layout->writer->builder;
	const struct interned *word = (const struct interned *)builder->texts.words.data + label;
	const char *text = (const char *)builder->texts.bytes.data + word->text;
	uint64_t hash = hash_bytes(builder->header.seeds[TABLE_NODES], text, word->len);

	row->key = node_key(hash, hash_head(text, word->len), word->len);
	row->text = writer_text_offset(layout->writer, label);
	row->len = (uint16_t)word->len;
}

static void fill_nodes(const struct layout *layout, struct artefact_node *rows)
{
	for (size_t i = 0; i < layout->n_nodes; i++) {
		const struct placing *placing = &layout->placings[i];
		struct artefact_node *row = &rows[placing->row];

		fill_ends(&layout->nodes[i], placing, row);
		if (layout->labels[i] != ARTEFACT_NONE)
			fill_component(layout, layout->labels[i], row);
		if (placing->n_children == 0)
			continue;
		row->children = placing->children;
		row->table_bits = placing->table_bits;
		for (uint32_t k = 0; k < placing->n_children; k++)
			row->words |= node_bit(
				layout->hashes[layout->children[placing->first_child + k]]);
	}
}

static uint32_t row_of(const struct layout *layout, uint32_t node)
{
	return node == ARTEFACT_NONE ? node : layout->placings[node].row;
}

static void fill_forks(const struct layout *layout, struct artefact_fork *forks)
{
	struct builder *builder = layout->writer->builder;
	struct artefact_pattern *patterns = builder->patterns.data;

	for (size_t i = 0; i < layout->n_nodes; i++)
		if (layout->placings[i].fork != ARTEFACT_NONE)
			forks[layout->placings[i].fork] = (struct artefact_fork){
				.star = row_of(layout, layout->nodes[i].star),
				.floating = row_of(layout, layout->nodes[i].floating),
				.pattern = layout->nodes[i].first_pattern,
			};
	for (size_t i = 0; i < builder->patterns.n; i++)
		patterns[i].to = row_of(layout, patterns[i].to);
}

/* Keeps only the pairs of nodes with a fork, and makes the fork their owner. */
static void keep_pairs_of_forks(const struct layout *layout, struct rows *pairs)
{
	struct build_pair *pair = pairs->data;
	size_t n = 0;

	for (size_t i = 0; i < pairs->n; i++) {
		uint32_t fork = layout->placings[pair[i].owner].fork;

		if (fork != ARTEFACT_NONE)
			pair[n++] =
				(struct build_pair){ .owner = fork, .posting = pair[i].posting };
	}
	pairs->n = n;
}

static int write_forks(const struct layout *layout, uint32_t n_forks)
{
	struct writer *writer = layout->writer;
	struct builder *builder = writer->builder;
	struct artefact_fork *forks = writer_make(writer, SECTION_FORKS, n_forks);
	int r;

	if (!forks)
		return -ENOMEM;
	fill_forks(layout, forks);
	keep_pairs_of_forks(layout, &builder->here);
	keep_pairs_of_forks(layout, &builder->below);
	r = writer_gather(writer, SECTION_POSTINGS, &builder->here, &forks->here, n_forks,
			  sizeof(*forks));
	if (r < 0)
		return r;
	return writer_gather(writer, SECTION_POSTINGS, &builder->below, &forks->below, n_forks,
			     sizeof(*forks));
}

/* Writes SECTION_NODES and SECTION_FORKS, and the targets of pattern rows. */
static int nodes_write(struct writer *writer)
{
	__attribute__((__cleanup__(layout_deinit))) struct layout layout;
	int r = layout_init(&layout, writer);

	if (r < 0)
		return r;
	gather_children(&layout);
	r = place(&layout);
	if (r < 0)
		return r;

	uint32_t n_forks = find_forks(&layout);
	struct artefact_node *rows = writer_make(writer, SECTION_NODES, layout.n_rows);

	if (!rows)
		return -ENOMEM;
	fill_nodes(&layout, rows);
	return write_forks(&layout, n_forks);
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
	static int (*const parts[])(struct writer * writer) = { write_bytes, write_words,
								nodes_write, write_index };
	struct builder *builder = writer->builder;
	int r = 0;

	for (size_t i = 0; i < N_ELEMENTS(parts) && r >= 0; i++)
		r = parts[i](writer);
	if (r < 0)
		return r;
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
		[SECTION_SOURCES] = &builder->sources,
		[SECTION_RULES] = &builder->rules,
		[SECTION_CONDITIONS] = &builder->conditions,
		[SECTION_LISTS] = &builder->lists,
		[SECTION_TEXTS] = &builder->list_words,
		[SECTION_VALUES] = &builder->values,
		[SECTION_PATTERNS] = &builder->patterns,
		[SECTION_ADDRESSED] = &builder->addressed,
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
	header->special_needs_cidr = builder->policy->special_needs_cidr;

	int r = write_sections(&writer);

	if (r == 0)
		r = copy_out(&writer, ret_block, ret_n_bytes);
	if (r == -E2BIG) {
		(void)sbx_error_what(err, r, "the policy is too large to be compiled");
		sbx_error_fix(err, "write fewer rules");
	}
	return r;
}
