/* SPDX-License-Identifier: MIT */

/*
 * The trie → rows: every node gets a place in its parent's table
 *
 * A node's table is as long as its children need, so what hangs on one folder lies together; and as
 * the nodes of one glob were made one after the other, so do the folders along a path. What holds
 * in a node stands in its row where it is one posting; a node that has more, or goes on with a
 * wildcard, has a fork.
 */

#include "policy/compile-internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/artefact-internal.h"

#define SEEDS_MAX 16
/* How often a table's size is doubled before the next seed is tried. */
#define GROWTHS_MAX 5
/* How many children may have to move for one. */
#define MOVES_MAX 64

/* One node of the builder on its way. */
struct placing {
	uint32_t row;
	uint32_t first_child; /* in struct layout's children */
	uint32_t n_children;  /* behind literal components */
	uint32_t children;    /* row of its table */
	uint32_t n_here;
	uint32_t n_below;
	uint32_t here; /* the last posting */
	uint32_t below;
	uint32_t fork; /* or NONE */
	uint8_t table_bits;
};

struct layout {
	struct writer *writer;
	const struct build_node *nodes;
	const struct build_link *links;
	size_t n_nodes;
	size_t n_links;
	struct placing *placings; /* by node */
	uint32_t *children;	  /* links, gathered by their node */
	uint64_t *hashes;	  /* of the links' texts */
	uint32_t *labels;	  /* of nodes behind a literal component; else NONE */
	uint32_t *slots;	  /* of the table in hand: links, or NONE */
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

/* Puts a child into one of its two places; who was there moves to his other one. */
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

/* Gives a node's children their rows. False where a table of a sensible size does not do. */
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

/* Parents come before their children, so each has its row when it is its turn. */
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

/* With the first seed that works: the same policy gives the same rows. */
static int place(struct layout *layout)
{
	size_t most = 1;

	for (size_t i = 0; i < layout->n_nodes; i++)
		if (layout->placings[i].n_children > most)
			most = layout->placings[i].n_children;
	layout->slots = reallocarray(NULL, most << (GROWTHS_MAX + 1), sizeof(*layout->slots));
	if (!layout->slots)
		return -ENOMEM;
	for (uint64_t seed = 0; seed < SEEDS_MAX; seed++) {
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

/* Reads what was posted, and numbers the forks. Returns how many there are. */
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

/* Keeps of the pairs those of forks, whose owners then are forks. */
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
	return r < 0 ? r
		     : writer_gather(writer, SECTION_POSTINGS, &builder->below, &forks->below,
				     n_forks, sizeof(*forks));
}

int nodes_write(struct writer *writer)
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
