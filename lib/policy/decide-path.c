/* SPDX-License-Identifier: MIT */

/*
 * The walk of a path through the trie
 *
 * The path's components are taken one after the other; live nodes are those that the globs' first
 * components can have led to. Each component is hashed once, and found among the words or known to
 * be in no glob. A "**" node that became live stays so and is kept apart from the others. The
 * project's root is a second root, entered when the walk has come to it.
 */

#include "policy/decide-internal.h"
#include "policy/glob.h"

struct walk {
	struct policy_engine *engine;
	const struct query *query;
	const struct component *component; /* the one in hand */
	size_t n_next;
	size_t n_floats;
};

static bool is_dots(const char *name, size_t len)
{
	return name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.'));
}

/* Where the first slash at or behind @at is. There is one, and 8 bytes can be read from it on. */
static size_t find_slash(const char *path, size_t at)
{
	const uint64_t ones = 0x0101010101010101u;

	for (;; at += 8) {
		uint64_t word = hash_load(path + at, 8) ^ '/' * ones;
		uint64_t found = (word - ones) & ~word & ones << 7; /* the lowest bit is right */

		if (found)
			return at + (size_t)__builtin_ctzll(found) / 8;
	}
}

bool path_split(struct policy_engine *engine, const char *path)
{
	size_t len = strnlen(path, PATH_MAX), at = 0;

	engine->n_components = 0;
	if (path[0] != '/' || len == PATH_MAX)
		return false;
	if (len == 1)
		return true;
	memcpy(engine->path, path, len);
	memset(engine->path + len, '/', 8);
	while (at < len) {
		const char *name = engine->path + ++at;
		size_t name_len = find_slash(engine->path, at) - at;

		if (name_len == 0 || is_dots(name, name_len))
			return false;
		engine->components[engine->n_components++] = (struct component){
			.start = (uint16_t)at,
			.len = (uint16_t)name_len,
		};
		at += name_len;
	}
	return true;
}

/* Hashes all components before it looks one up, so that the memory they hash to is on its way. */
static void find_words(struct policy_engine *engine)
{
	uint64_t seed = engine->header->seeds[TABLE_WORDS], hashes[16];

	for (size_t first = 0; first < engine->n_components; first += N_ELEMENTS(hashes)) {
		struct component *some = engine->components + first;
		size_t left = engine->n_components - first;
		size_t n = left < N_ELEMENTS(hashes) ? left : N_ELEMENTS(hashes);

		for (size_t i = 0; i < n; i++) {
			const uint8_t *at = (const uint8_t *)engine->path + some[i].start;
			size_t len = some[i].len;
			uint64_t hash = hash_begin(seed, &at, &len);

			hashes[i] = hash_end(seed, hash, hash_load_padded(at, len));
			__builtin_prefetch(&engine->words[hashes[i] & engine->words_mask]);
		}
		for (size_t i = 0; i < n; i++) {
			const char *name = engine->path + some[i].start;

			some[i].word = find_hashed_word(engine, name, some[i].len, hashes[i],
							hash_load_padded(name, some[i].len));
			some[i].bit = some[i].word == ARTEFACT_NONE ? 0 : word_bit(hashes[i]);
		}
	}
}

static uint64_t hash_of_edge(const struct walk *walk, uint32_t node)
{
	return hash_edge(walk->engine->header->seeds[TABLE_EDGES], node, walk->component->word);
}

static uint32_t find_edge(const struct walk *walk, uint32_t node)
{
	const struct policy_engine *engine = walk->engine;
	uint64_t hash = hash_of_edge(walk, node);

	for (size_t i = 0, at = hash; i < ARTEFACT_PROBES_MAX; i++, at++) {
		const struct artefact_edge *edge = &engine->edges[at & engine->edges_mask];

		if (edge->node == node && edge->word == walk->component->word)
			return edge->to;
		if (edge->node == ARTEFACT_NONE)
			return ARTEFACT_NONE;
	}
	return ARTEFACT_NONE;
}

/* The component in hand leads to @node, which is looked at when it is its turn. */
static void enter(struct walk *walk, uint32_t node)
{
	walk->engine->next[walk->n_next++] = node;
	__builtin_prefetch(&walk->engine->nodes[node]);
}

static bool pattern_holds(const struct walk *walk, const struct artefact_pattern *pattern)
{
	const char *text = walk->engine->bytes + pattern->text;
	const char *name = walk->engine->path + walk->component->start;
	size_t name_len = walk->component->len, len = pattern->len - 1u; /* of a suffix */

	if (!pattern->suffix)
		return glob_pattern_matches(text, pattern->len, name, name_len);
	return name_len >= len && memcmp(name + name_len - len, text + 1, len) == 0;
}

/* Hands the component in hand to a live node. */
static void step(struct walk *walk, uint32_t at)
{
	const struct policy_engine *engine = walk->engine;
	const struct artefact_node *node = &engine->nodes[at];

	if (node->words & walk->component->bit) {
		uint32_t to = find_edge(walk, at);

		if (to != ARTEFACT_NONE)
			enter(walk, to);
	}
	if (node->star != ARTEFACT_NONE)
		enter(walk, node->star);
	for (uint32_t i = node->pattern; i != ARTEFACT_NONE; i = engine->patterns[i].next)
		if (pattern_holds(walk, &engine->patterns[i]))
			enter(walk, engine->patterns[i].to);
}

/* There is a component below the node. One under "**" may come up often; once is enough. */
static void pass_through(struct walk *walk, uint32_t at)
{
	struct policy_engine *engine = walk->engine;
	const struct artefact_node *node = &engine->nodes[at];

	if (node->floating != ARTEFACT_NONE &&
	    engine->node_stamps[node->floating] != engine->generation) {
		engine->node_stamps[node->floating] = engine->generation;
		engine->floats[walk->n_floats++] = node->floating;
	}
	if (node->below.count == 1) { /* as most are: cheaper than to ask whether it was marked */
		mark_postings(engine, walk->query, node->below);
	} else if (node->below.count > 0 && engine->node_stamps[at] != engine->generation) {
		engine->node_stamps[at] = engine->generation;
		mark_postings(engine, walk->query, node->below);
	}
	step(walk, at);
}

/* The entered nodes become the current ones. Returns how many they are. */
static size_t turn(struct walk *walk)
{
	struct policy_engine *engine = walk->engine;
	uint32_t *current = engine->next;
	size_t n = walk->n_next;

	engine->next = engine->current;
	engine->current = current;
	walk->n_next = 0;
	return n;
}

void lookup_path(struct policy_engine *engine, const struct query *query)
{
	struct walk walk = { .engine = engine, .query = query };

	find_words(engine);
	enter(&walk, 0);
	if (query->n_project_components == 0)
		enter(&walk, 1);
	for (size_t i = 0; i < engine->n_components; i++) {
		size_t n_current = turn(&walk);

		walk.component = &engine->components[i];
		for (size_t k = 0; k < n_current; k++)
			pass_through(&walk, engine->current[k]);
		for (size_t k = 0; k < walk.n_floats; k++)
			step(&walk, engine->floats[k]);
		if (i + 1 == query->n_project_components)
			enter(&walk, 1);
	}
	for (size_t k = 0; k < walk.n_next; k++)
		mark_postings(engine, query, engine->nodes[engine->next[k]].here);
}
