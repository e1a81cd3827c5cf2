/* SPDX-License-Identifier: MIT */

/*
 * The look-ups of a decision: the path in the trie, the host, address and port in the index
 *
 * The path is split at its slashes and each component is hashed; then the nodes are walked depth
 * first. Branch predictors do not learn paths, so whatever depends on lengths, or on which of two
 * rows is the right one, is computed without branches: that halved the time of a decision, while
 * fewer instructions gained much less.
 */

#include "policy/decide-internal.h"
#include "policy/glob.h"

#define DOTS ('.' << 8 | '.')
#define BLOCK 64

/* Is the first byte '.' or '/'? Their codes differ only in the last bit. */
static bool begins_oddly(uint64_t word)
{
	return (word & 0xfe) == '.';
}

/* Sets one bit for each of the 8 bytes that is a slash. */
static uint64_t find_slashes(uint64_t word)
{
	const uint64_t ones = 0x0101010101010101u, low = 0x7f * ones;
	uint64_t other = word ^ '/' * ones;
	uint64_t found = ~(((other & low) + low) | other | low);

	return (found >> 7) * 0x0102040810204080u >> 56;
}

static uint64_t find_slashes_of_block(const char *block)
{
	uint64_t slashes = 0;

	for (unsigned i = 0; i < BLOCK / 8; i++)
		slashes |= find_slashes(hash_load(block + 8 * i, 8)) << 8 * i;
	return slashes;
}

/* Reads one component; @name must have 16 readable bytes, whatever @len is. False if it is empty,
 * "." or "..". */
static inline bool read_component(uint64_t seed, const char *name, size_t len,
				  struct component *ret)
{
	/* The 16 bytes from the n-th before the zeros are a mask for the first n bytes of a name.
	 */
	static const _Alignas(32) uint8_t ones[32] = { [0 ... 15] = 0xff };
	const uint8_t *mask = ones + 16 - (len < 16 ? len : 16);
	uint64_t first = hash_load(name, 8) & hash_load(mask, 8);
	uint64_t second = hash_load(name + 8, 8) & hash_load(mask + 8, 8);

	ret->hash = hash_end(hash_factor(seed), hash_begin(seed), len, first, second);
	if (len > 16)
		ret->hash = hash_bytes(seed, name, len);
	ret->key = node_key(ret->hash, first, len);
	ret->len = (uint16_t)len;
	return first != 0 && (!begins_oddly(first) || (ret->key != '.' && ret->key != DOTS));
}

/* Copies in pieces: gcc compiles a memcpy() of unknown length to "rep movs", which has a slow
 * start. */
static void copy_path(char *to, const char *from, size_t len)
{
	size_t i = 0;

	for (; i + 16 < len; i += 16)
		memcpy(to + i, from + i, 16);
	if (len >= 16)
		memcpy(to + len - 16, from + len - 16, 16);
	for (; len < 16 && i < len; i++)
		to[i] = from[i];
}

bool path_split(struct policy_engine *engine, const char *path)
{
	size_t len = strnlen(path, PATH_MAX), start = 1;
	uint64_t seed = engine->policy.header->seeds[TABLE_NODES];
	struct component *component = engine->path.components;

	engine->path.n_components = 0;
	engine->path.component_bits = 0;
	if (path[0] != '/' || len == PATH_MAX)
		return false;
	if (len == 1)
		return true;
	copy_path(engine->path.text, path, len);
	engine->path.text[len] = '/';

	uint64_t bits = 0;

	for (size_t block = 0; block <= len; block += BLOCK) {
		uint64_t slashes = find_slashes_of_block(engine->path.text + block);

		slashes &= ~UINT64_C(0) << (block == 0); /* without the leading slash */
		if (len - block < BLOCK - 1)
			slashes &= (UINT64_C(2) << (len - block)) - 1;
		for (; slashes; slashes &= slashes - 1, component++) {
			size_t end = block + (size_t)__builtin_ctzll(slashes);

			component->start = (uint16_t)start;
			if (!read_component(seed, engine->path.text + start, end - start,
					    component))
				return false;
			bits |= node_bit(component->hash);
			start = end + 1;
		}
	}
	engine->path.component_bits = bits;
	engine->path.n_components = (size_t)(component - engine->path.components);
	return true;
}

/*
 * The walk follows literal children directly; children for wildcards and "**" are pushed on a
 * stack. The top of the stack is finished before an entry below it, and one path of edges leads to
 * each node. So no node is on the stack twice, and each node is entered with earlier components
 * first: a "**" that is already live need not be pushed again.
 */
struct walk {
	struct policy_engine *engine;
	const struct query *query;
	const struct component *end;
	struct waiting *top;
};

static void push(struct walk *walk, const struct artefact_node *node, const struct component *next,
		 bool floats)
{
	*walk->top++ = (struct waiting){ .node = node, .next = next, .floats = floats };
}

static bool may_have_child(const struct artefact_node *node, const struct component *component)
{
	return node->words >> (component->hash >> 58) & 1;
}

/*
 * Returns the row with the component's key if the node's table has one; else some other row.
 * Without a branch: which of the two slots matches cannot be predicted.
 */
static inline const struct artefact_node *find_row(const struct policy_engine *engine,
						   const struct artefact_node *node,
						   const struct component *component)
{
	const struct artefact_node *table = engine->policy.nodes + node->children;
	uint32_t place = node_place(component->hash, node->table_bits);
	uint32_t other = node_other_place(component->hash, node->table_bits);

	return &table[place ^ ((place ^ other) & -(uint32_t)(table[place].key != component->key))];
}

/* Compares the text: the key of a component of more than 8 bytes is only a hash. */
static const struct artefact_node *find_long_child(const struct policy_engine *engine,
						   const struct artefact_node *node,
						   const struct component *component)
{
	uint32_t places[] = { node_place(component->hash, node->table_bits),
			      node_other_place(component->hash, node->table_bits) };

	for (size_t i = 0; i < N_ELEMENTS(places); i++) {
		const struct artefact_node *child =
			&engine->policy.nodes[node->children + places[i]];

		if (child->key == component->key && child->len == component->len &&
		    memcmp(engine->policy.bytes + child->text, engine->path.text + component->start,
			   child->len) == 0)
			return child;
	}
	return NULL;
}

/* The child for the component, or NULL. */
static inline const struct artefact_node *find_child(const struct policy_engine *engine,
						     const struct artefact_node *node,
						     const struct component *component)
{
	const struct artefact_node *row = find_row(engine, node, component);

	if (row->key != component->key)
		return NULL;
	return node_key_is_text(row->key) ? row : find_long_child(engine, node, component);
}

static bool pattern_holds(const struct policy_engine *engine, const struct component *component,
			  const struct artefact_pattern *pattern)
{
	const char *text = engine->policy.bytes + pattern->text,
		   *name = engine->path.text + component->start;
	size_t len = pattern->len - 1u; /* length of the literal suffix */

	if (!pattern->suffix)
		return glob_pattern_matches(text, pattern->len, name, component->len);
	return component->len >= len && memcmp(name + component->len - len, text + 1, len) == 0;
}

static void take_wildcards(struct walk *walk, const struct artefact_fork *fork,
			   const struct component *component)
{
	const struct policy_engine *engine = walk->engine;

	if (fork->star != ARTEFACT_NONE)
		push(walk, &engine->policy.nodes[fork->star], component + 1, false);
	for (uint32_t i = fork->pattern; i != ARTEFACT_NONE; i = engine->policy.patterns[i].next)
		if (pattern_holds(engine, component, &engine->policy.patterns[i]))
			push(walk, &engine->policy.nodes[engine->policy.patterns[i].to],
			     component + 1, false);
}

/* The path continues below @node with @component: marks postings for everything below, and pushes
 * wildcard children. */
static void pass_through(struct walk *walk, const struct artefact_node *node,
			 const struct component *component)
{
	struct policy_engine *engine = walk->engine;

	if (node->kind & NODE_BELOW)
		mark_posting(engine, walk->query, node->ends);
	if (!(node->kind & NODE_FORK))
		return;

	const struct artefact_fork *fork = &engine->policy.forks[node->ends];

	if (engine->scratch.fork_stamps[node->ends] != engine->scratch.generation) {
		engine->scratch.fork_stamps[node->ends] = engine->scratch.generation;
		mark_postings(engine, walk->query, fork->below);
		if (fork->floating != ARTEFACT_NONE)
			push(walk, &engine->policy.nodes[fork->floating], component, true);
	}
	if (node->kind & NODE_WILD)
		take_wildcards(walk, fork, component);
}

/* The path ends at the node: marks its postings. */
static void end_in(const struct walk *walk, const struct artefact_node *node)
{
	if (node->kind & NODE_HERE)
		mark_posting(walk->engine, walk->query, node->ends);
	else if (node->kind & NODE_FORK)
		mark_postings(walk->engine, walk->query,
			      walk->engine->policy.forks[node->ends].here);
}

/* Follows literal children from @node along the components from @next on. */
static void descend(struct walk *walk, const struct artefact_node *node,
		    const struct component *next)
{
	for (; next < walk->end; next++) {
		if (node->kind & (NODE_BELOW | NODE_FORK))
			pass_through(walk, node, next);
		if (!may_have_child(node, next))
			return;
		node = find_child(walk->engine, node, next);
		if (!node)
			return;
	}
	end_in(walk, node);
}

/* The same from a "**" node that has wildcard children, one component at a time. */
static void float_by_wildcards(struct walk *walk, const struct artefact_node *node,
			       const struct component *next)
{
	if (next == walk->end)
		return;
	push(walk, node, next + 1, true);
	take_wildcards(walk, &walk->engine->policy.forks[node->ends], next);
	if (may_have_child(node, next)) {
		node = find_child(walk->engine, node, next);
		if (node)
			descend(walk, node, next + 1);
	}
}

/*
 * The same from a "**" node with literal children only, at any component from @next on. Most
 * children that are found lead nowhere; one branch tests both that and whether a child was found.
 * (components[] has an extra row, so that next + 1 can be read.)
 */
static void float_by_literals(struct walk *walk, const struct artefact_node *node,
			      const struct component *next)
{
	for (; next < walk->end; next++) {
		if (!may_have_child(node, next))
			continue;

		const struct artefact_node *row = find_row(walk->engine, node, next);
		uint64_t leads_nowhere = (row->kind == 0) & !may_have_child(row, next + 1);

		if ((row->key ^ next->key) | leads_nowhere)
			continue;
		push(walk, node, next + 1, true);
		row = find_child(walk->engine, node, next);
		if (row)
			descend(walk, row, next + 1);
		return;
	}
}

/* Pops the top of the stack. */
static void pop(struct walk *walk)
{
	const struct waiting *waiting = --walk->top;
	const struct artefact_node *node = waiting->node;

	if (!waiting->floats)
		descend(walk, node, waiting->next);
	else if (node->kind & NODE_WILD)
		float_by_wildcards(walk, node, waiting->next);
	else if (node->words & walk->engine->path.component_bits)
		float_by_literals(walk, node, waiting->next);
}

void lookup_path(struct policy_engine *engine, const struct query *query)
{
	const struct component *first = engine->path.components;
	struct walk walk = {
		.engine = engine,
		.query = query,
		.end = first + engine->path.n_components,
		.top = engine->scratch.waiting,
	};

	push(&walk, &engine->policy.nodes[0], first, false);
	if (query->n_project_components != NO_PROJECT)
		push(&walk, &engine->policy.nodes[1], first + query->n_project_components, false);
	while (walk.top > engine->scratch.waiting)
		pop(&walk);
}

/*
 * The index: one look-up for the name after each dot, and one for each prefix length in the policy
 */

/* The address of a name: a 'host' is compared with the name, also where it is an address. */
static void mark_addressed(struct policy_engine *engine, const struct query *query,
			   struct artefact_span span)
{
	for (uint32_t i = span.first; i < span.first + span.count; i++)
		if (engine->policy.conditions[engine->policy.postings[i] >> 2].primary ==
		    MATCH_CIDR)
			mark_posting(engine, query, engine->policy.postings[i]);
}

static void lookup(struct policy_engine *engine, const struct query *query,
		   const struct artefact_value *key)
{
	uint64_t hash = hash_value(engine->policy.header->seeds[TABLE_INDEX], key);

	for (size_t i = 0, at = hash; i < ARTEFACT_PROBES_MAX; i++, at++) {
		const struct artefact_entry *entry =
			&engine->policy.entries[at & engine->policy.entries_mask];

		if (entry->key.kind == ENTRY_EMPTY)
			return;
		if (!value_equals(&entry->key, key))
			continue;
		if (query->is_literal || (key->kind != ENTRY_IPV4 && key->kind != ENTRY_IPV6))
			mark_postings(engine, query, entry->postings);
		else
			mark_addressed(engine, query, entry->postings);
		return;
	}
}

static void lookup_word(struct policy_engine *engine, const struct query *query, uint32_t kind,
			uint32_t word)
{
	const struct artefact_value key = { .kind = kind, .bits[0] = word };

	if (word != ARTEFACT_NONE)
		lookup(engine, query, &key);
}

/* The first @length of 64 bits, the others cleared. */
static uint64_t first_bits(uint64_t bits, uint32_t length)
{
	return length == 0 ? 0 : bits >> (64 - length) << (64 - length);
}

static void lookup_address(struct policy_engine *engine, const struct query *query, uint32_t kind,
			   const uint64_t bits[2], const uint64_t *lengths, uint32_t n_lengths)
{
	for (uint32_t length = 0; length < n_lengths; length++) {
		const struct artefact_value key = {
			.kind = kind,
			.length = length,
			.bits = { first_bits(bits[0], length < 64 ? length : 64),
				  first_bits(bits[1], length > 64 ? length - 64 : 0) },
		};

		if (lengths[length / 64] >> length % 64 & 1)
			lookup(engine, query, &key);
	}
}

static void lookup_port(struct policy_engine *engine, const struct query *query)
{
	for (uint32_t length = 0; length <= PORT_BITS; length++) {
		const struct artefact_value key = {
			.kind = ENTRY_PORT,
			.length = length,
			.bits[0] = (uint64_t)query->request->port >> (PORT_BITS - length),
		};

		if (engine->policy.header->prefix_lengths[LENGTHS_PORT] >> length & 1)
			lookup(engine, query, &key);
	}
}

void lookup_network(struct policy_engine *engine, const struct query *query)
{
	const uint64_t *lengths = engine->policy.header->prefix_lengths;

	if (query->has_host) {
		lookup_word(engine, query, ENTRY_HOST, query->host);
		lookup_word(engine, query, ENTRY_HOST_BELOW, engine->empty_word);
	}
	for (size_t i = 0; i < query->n_suffixes; i++)
		lookup_word(engine, query, ENTRY_HOST_BELOW, query->suffixes[i]);
	if (query->address.has_ipv4)
		lookup_address(engine, query, ENTRY_IPV4, query->address.ipv4,
			       &lengths[LENGTHS_IPV4], 33);
	if (query->address.has_ipv6)
		lookup_address(engine, query, ENTRY_IPV6, query->address.ipv6,
			       &lengths[LENGTHS_IPV6], 129);
	if (query->request->has_port)
		lookup_port(engine, query);
}

/* Without an address no such condition holds, but each could. The caller marks no condition later:
 * in a block that was not compiled here, one could become a candidate twice. */
void lookup_unsaid_address(struct policy_engine *engine)
{
	size_t n = artefact_n_rows(&engine->artefact, SECTION_ADDRESSED);

	for (size_t i = 0; i < n; i++)
		if (!(condition_state(engine, engine->policy.addressed[i]) & MARK_INCLUDED))
			engine->scratch.candidates[engine->scratch.n_candidates++] =
				engine->policy.addressed[i];
}
