/* SPDX-License-Identifier: MIT */

/*
 * Building a tree: both readers call these functions in the order of the file, so that the rules
 * for trees (no duplicate keys, no NUL, maximum depth) are in one place.
 *
 * The keys of small maps are compared one by one, which is faster than any table; those of all
 * larger maps are in one hash table, under (map, key). The keys come from untrusted files, and
 * crafted collisions would make parsing quadratic; so the hash is SipHash-1-3 with a seed from
 * getrandom() for every tree. Sorting the keys of every map would avoid collisions too, but with
 * the table tree_get() takes constant time.
 */

#include "base/tree-internal.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include <sbx/error.h>

#include "base/error.h"

#define SLOTS_FIRST 64
/* The table contains only maps with more keys. */
#define SMALL_MAP_KEYS 8

struct sip {
	uint64_t a, b, c, d;
};

static uint64_t rotate(uint64_t x, unsigned bits)
{
	return x << bits | x >> (64 - bits);
}

static void sip_round(struct sip *s)
{
	s->a += s->b;
	s->c += s->d;
	s->b = rotate(s->b, 13) ^ s->a;
	s->d = rotate(s->d, 16) ^ s->c;
	s->a = rotate(s->a, 32);
	s->c += s->b;
	s->a += s->d;
	s->b = rotate(s->b, 17) ^ s->c;
	s->d = rotate(s->d, 21) ^ s->a;
	s->c = rotate(s->c, 32);
}

static void sip_word(struct sip *s, uint64_t word)
{
	s->d ^= word;
	sip_round(s);
	s->a ^= word;
}

static uint64_t hash_of(const struct tree_index *index, const struct tree_node *map,
			const char *key)
{
	struct sip s = {
		.a = index->seed[0] ^ 0x736f6d6570736575, /* "somepseudorandomlygeneratedbytes" */
		.b = index->seed[1] ^ 0x646f72616e646f6d,
		.c = index->seed[0] ^ 0x6c7967656e657261,
		.d = index->seed[1] ^ 0x7465646279746573,
	};
	size_t n_bytes = strlen(key);
	uint64_t tail = (uint64_t)n_bytes << 56;

	sip_word(&s, (uintptr_t)map);
	for (; n_bytes >= sizeof(uint64_t); n_bytes -= sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, key, sizeof(word));
		sip_word(&s, word);
		key += sizeof(word);
	}
	for (size_t i = 0; i < n_bytes; i++)
		tail |= (uint64_t)(unsigned char)key[i] << (8 * i);
	sip_word(&s, tail);
	s.c ^= 0xff;
	for (unsigned i = 0; i < 3; i++)
		sip_round(&s);
	return s.a ^ s.b ^ s.c ^ s.d;
}

int tree_index_init(struct tree_index *index)
{
	ssize_t n;

	do
		n = getrandom(index->seed, sizeof(index->seed), 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return n == sizeof(index->seed) ? 0 : -EIO;
}

/* The slot of the key, or the free slot for it. There is always a free one. */
static struct tree_slot *slot_of(const struct tree_index *index, uint64_t hash,
				 const struct tree_node *map, const char *key)
{
	size_t i = hash & (index->n_slots - 1);

	for (;; i = (i + 1) & (index->n_slots - 1)) {
		struct tree_slot *slot = &index->slots[i];

		if (!slot->node)
			return slot;
		if (slot->hash == hash && slot->node->parent == map &&
		    strcmp(slot->node->key, key) == 0)
			return slot;
	}
}

static struct tree_node *find_in_small(const struct tree_node *map, const char *key)
{
	struct tree_node *node = map->first;

	while (node && (!node->key || node->key[0] != key[0] || strcmp(node->key, key) != 0))
		node = node->next;
	return node;
}

struct tree_node *tree_index_find(const struct tree_index *index, const struct tree_node *map,
				  const char *key)
{
	if (map->n_children <= SMALL_MAP_KEYS)
		return find_in_small(map, key);
	if (index->n_slots == 0)
		return NULL; /* a list */
	return slot_of(index, hash_of(index, map, key), map, key)->node;
}

static int grow(struct tree_index *index)
{
	struct tree_index bigger = *index;

	bigger.n_slots = index->n_slots ? index->n_slots * 2 : SLOTS_FIRST;
	bigger.slots = calloc(bigger.n_slots, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < index->n_slots; i++) {
		const struct tree_slot *slot = &index->slots[i];

		if (slot->node)
			*slot_of(&bigger, slot->hash, slot->node->parent, slot->node->key) = *slot;
	}
	free(index->slots);
	*index = bigger;
	return 0;
}

static int index_add(struct tree_index *index, struct tree_node *node)
{
	uint64_t hash = hash_of(index, node->parent, node->key);

	if (index->n_used * 2 >= index->n_slots && grow(index) < 0)
		return -ENOMEM;
	*slot_of(index, hash, node->parent, node->key) = (struct tree_slot){ hash, node };
	index->n_used++;
	return 0;
}

/* @node is already the last of its map. If it exceeds SMALL_MAP_KEYS, all keys of the map are added
 * to the table. */
static int index_last(struct tree_index *index, struct tree_node *node)
{
	struct tree_node *map = node->parent;

	if (map->n_children <= SMALL_MAP_KEYS)
		return 0;
	if (map->n_children > SMALL_MAP_KEYS + 1)
		return index_add(index, node);
	for (struct tree_node *child = map->first; child; child = child->next)
		if (index_add(index, child) < 0)
			return -ENOMEM;
	return 0;
}

int tree_no_memory(const struct tree *tree, struct sbx_error *err)
{
	return sbx_error_what(err, -ENOMEM, "%s: not enough memory to read it", tree->name);
}

static int check_nul(const struct tree *tree, struct tree_place place, const char *bytes,
		     size_t n_bytes, struct sbx_error *err)
{
	if (n_bytes == 0 || !memchr(bytes, '\0', n_bytes))
		return 0;
	tree_error(tree, place, err, "a text with a NUL character in it");
	error_explain(err,
		      "the system ends every name and argument at the first NUL, so the rest "
		      "would silently be lost",
		      "remove the escape that stands for NUL (\\0 or \\u0000)");
	return -EINVAL;
}

static int refuse_empty_key(const struct tree *tree, struct tree_place place, struct sbx_error *err)
{
	tree_error(tree, place, err, "an empty key");
	error_explain(err, "no key has an empty name", "write the key before the ':'");
	return -EINVAL;
}

static int refuse_second_key(struct tree *tree, const struct tree_node *first,
			     struct tree_place place, struct sbx_error *err)
{
	tree_error(tree, place, err, "the key '%s' occurs twice in the same map",
		   tree_show(first->key).text);
	sbx_error_why(err,
		      "the first is at line %u, column %u; which of them counts would depend "
		      "on the reader",
		      first->key_place.line, first->key_place.column);
	sbx_error_fix(err, "keep one of them");
	return tree_go_on(tree, err);
}

bool tree_build_wants_key(const struct tree_builder *builder)
{
	return builder->open && builder->open->type == TREE_MAP && !builder->key;
}

int tree_build_key(struct tree_builder *builder, struct tree_place place, const char *bytes,
		   size_t n_bytes, struct sbx_error *err)
{
	struct tree *tree = builder->tree;
	const struct tree_node *first;
	const char *key;
	int r;

	if (n_bytes == 0)
		return refuse_empty_key(tree, place, err);
	r = check_nul(tree, place, bytes, n_bytes, err);
	if (r < 0)
		return r;
	key = arena_copy(&tree->arena, bytes, n_bytes);
	if (!key)
		return tree_no_memory(tree, err);
	first = tree_index_find(&tree->index, builder->open, key);
	r = first ? refuse_second_key(tree, first, place, err) : 0;
	if (r < 0)
		return r;
	builder->key = key;
	builder->key_place = place;
	return 0;
}

static int refuse_depth(const struct tree *tree, struct tree_place place, struct sbx_error *err)
{
	tree_error(tree, place, err, "nested more than %d levels deep", TREE_DEPTH_MAX);
	error_explain(err, "deeper nesting could exhaust the stack of a parser",
		      "remove levels of lists and maps around this one");
	return -EINVAL;
}

static int refuse_number(const struct tree *tree, struct tree_place place, struct sbx_error *err)
{
	tree_error(tree, place, err, "more than %d values", TREE_NODES_MAX);
	error_explain(err, "no policy needs so many, and reading more could exhaust the memory",
		      "split the file, or check that it is the right one");
	return -EINVAL;
}

/* Adds the node to its parent, under the preceding key if the parent is a map. */
static int attach(struct tree_builder *builder, struct tree_node *node)
{
	struct tree_node *parent = builder->open;
	struct tree_node **last = parent ? &builder->last[builder->depth - 1] : NULL;

	if (!parent) {
		builder->tree->root = node;
		return 0;
	}
	node->parent = parent;
	node->key = builder->key;
	node->key_place = builder->key_place;
	if (*last)
		(*last)->next = node;
	else
		parent->first = node;
	*last = node;
	parent->n_children++;
	builder->key = NULL;
	builder->key_place = (struct tree_place){ 0, 0 };
	return node->key ? index_last(&builder->tree->index, node) : 0;
}

int tree_build_node(struct tree_builder *builder, enum tree_type type, struct tree_place place,
		    const char *bytes, size_t n_bytes, struct sbx_error *err)
{
	struct tree *tree = builder->tree;
	bool opens = type == TREE_LIST || type == TREE_MAP;
	struct tree_node *node;
	int r;

	if (opens && builder->depth == TREE_DEPTH_MAX)
		return refuse_depth(tree, place, err);
	if (builder->n_nodes++ == TREE_NODES_MAX)
		return refuse_number(tree, place, err);
	r = check_nul(tree, place, bytes, n_bytes, err);
	if (r < 0)
		return r;
	node = arena_alloc(&tree->arena, sizeof(*node));
	if (!node)
		return tree_no_memory(tree, err);
	node->type = type;
	node->place = place;
	node->text = n_bytes > 0 ? arena_copy(&tree->arena, bytes, n_bytes) : "";
	node->text_len = n_bytes;
	if (!node->text || attach(builder, node) < 0)
		return tree_no_memory(tree, err);
	if (opens) {
		builder->open = node;
		builder->last[builder->depth++] = NULL;
	}
	return 0;
}

void tree_build_end(struct tree_builder *builder)
{
	builder->open = builder->open->parent;
	builder->depth--;
}
