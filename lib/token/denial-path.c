/* SPDX-License-Identifier: MIT */

/*
 * Compares the policy's path globs with the token's glob
 *
 * The compiled policy stores its globs as a trie over path components. One depth-first walk visits
 * the trie and carries the set of states that the automaton of the token's glob can be in. If the
 * set is empty, no path of the token is below that node. At a node where a policy glob ends, the
 * components from the root are that glob; scope_is_within() then decides whether it contains the
 * whole scope.
 */

#include "token/denial-internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"

struct way {
	struct denial *denial;
	const struct artefact_node *nodes;
	const struct artefact_fork *forks;
	const struct artefact_pattern *patterns;
	const uint32_t *postings;
	const char *bytes;
	struct scope taken; /* components from the root of the trie to the current node */
	bool failed;
};

/* States of the automaton of the token's glob, one byte each. */
struct states {
	bool at[SCOPE_STEPS_MAX + 1];
};

static bool is_any(const struct states *states, size_t n_steps)
{
	return memchr(states->at, 1, n_steps + 1) != NULL;
}

static bool push(struct way *way, enum glob_kind kind, const char *text, size_t len)
{
	struct scope *taken = &way->taken;

	if (taken->n_steps == SCOPE_STEPS_MAX) {
		way->failed = true;
		return false;
	}
	taken->steps[taken->n_steps++] =
		(struct glob_component){ .kind = kind, .text = text, .len = len };
	return true;
}

static void mark(struct way *way, uint32_t posting, bool covers)
{
	bool excludes = posting & POSTING_EXCLUDES;
	uint8_t *bits = &way->denial->found[posting >> 2];

	if ((posting & POSTING_ONLY_EXEC) && !way->denial->is_exec)
		return;
	*bits |= excludes ? PATHS_EXCLUDE : PATHS_MEET;
	if (covers)
		*bits |= excludes ? PATHS_TAKE_OUT : PATHS_COVER;
}

static bool covers(const struct way *way)
{
	return scope_is_within(way->denial->scope, &way->taken);
}

static void mark_all(struct way *way, struct artefact_span span, bool covers)
{
	for (uint32_t i = span.first; i < span.first + span.count; i++)
		mark(way, way->postings[i], covers);
}

static void mark_here(struct way *way, const struct artefact_node *node)
{
	if (node->kind & NODE_HERE)
		mark(way, node->ends, covers(way));
	if (node->kind & NODE_FORK)
		mark_all(way, way->forks[node->ends].here, covers(way));
}

/* Two stars below NODE need at least one more name. A glob that also matches NODE itself covers
 * more; in a fork this is not taken into account, so an exception can only seem to cover less than
 * it does. */
static void mark_below(struct way *way, const struct artefact_node *node)
{
	size_t n_taken = way->taken.n_steps;

	if (!push(way, GLOB_FLOAT, "**", 2))
		return;
	if ((node->kind & NODE_HERE) && (node->kind & NODE_BELOW))
		mark(way, node->ends, covers(way));
	if (push(way, GLOB_STAR, "*", 1)) {
		if (node->kind & NODE_BELOW)
			mark(way, node->ends, covers(way));
		if (node->kind & NODE_FORK)
			mark_all(way, way->forks[node->ends].below, covers(way));
	}
	way->taken.n_steps = n_taken;
}

static void descend(struct way *way, const struct artefact_node *node, const struct states *states);

static void follow(struct way *way, uint32_t node, const struct states *states, enum glob_kind kind,
		   const char *text, size_t len)
{
	size_t n_taken = way->taken.n_steps;
	struct states next = { .at = { false } };

	if (node == ARTEFACT_NONE || !push(way, kind, text, len))
		return;
	scope_may_step(way->denial->scope, states->at, &way->taken.steps[n_taken], next.at);
	if (is_any(&next, way->denial->scope->n_steps))
		descend(way, &way->nodes[node], &next);
	way->taken.n_steps = n_taken;
}

static void follow_wildcards(struct way *way, const struct artefact_fork *fork,
			     const struct states *states)
{
	follow(way, fork->star, states, GLOB_STAR, "*", 1);
	for (uint32_t i = fork->pattern; i != ARTEFACT_NONE; i = way->patterns[i].next)
		follow(way, way->patterns[i].to, states, GLOB_PATTERN,
		       way->bytes + way->patterns[i].text, way->patterns[i].len);
	follow(way, fork->floating, states, GLOB_FLOAT, "**", 2);
}

static void descend(struct way *way, const struct artefact_node *node, const struct states *states)
{
	if (states->at[way->denial->scope->n_steps])
		mark_here(way, node);
	if ((node->kind & (NODE_BELOW | NODE_FORK)) &&
	    scope_may_go_on(way->denial->scope, states->at))
		mark_below(way, node);
	if (node->kind & NODE_FORK)
		follow_wildcards(way, &way->forks[node->ends], states);
	for (uint32_t i = 0; node->words != 0 && i < 1u << node->table_bits; i++) {
		const struct artefact_node *child = &way->nodes[node->children + i];

		if (child->key != 0)
			follow(way, node->children + i, states, GLOB_LITERAL,
			       way->bytes + child->text, child->len);
	}
}

/* Globs that are relative to the project start at the node of the project's root. */
static void walk_project(struct way *way)
{
	struct states states = { .at = { false } }, next = states;

	scope_begin(way->denial->scope, states.at);
	for (const char *at = way->denial->project_root; *at;) {
		size_t len;

		at += *at == '/';
		len = strcspn(at, "/");
		if (len > 0 && !push(way, GLOB_LITERAL, at, len))
			return;
		if (len > 0) {
			scope_may_step(way->denial->scope, states.at,
				       &way->taken.steps[way->taken.n_steps - 1], next.at);
			states = next;
		}
		at += len;
	}
	if (is_any(&states, way->denial->scope->n_steps))
		descend(way, &way->nodes[1], &states);
	way->taken.n_steps = 0;
}

int denial_walk_paths(struct denial *denial)
{
	_cleanup_free_ struct way *way = calloc(1, sizeof(*way));
	struct states states = { .at = { false } };

	if (!way)
		return -ENOMEM;
	way->denial = denial;
	way->nodes = artefact_rows(denial->artefact, SECTION_NODES);
	way->forks = artefact_rows(denial->artefact, SECTION_FORKS);
	way->patterns = artefact_rows(denial->artefact, SECTION_PATTERNS);
	way->postings = artefact_rows(denial->artefact, SECTION_POSTINGS);
	way->bytes = artefact_rows(denial->artefact, SECTION_BYTES);
	way->taken.argument = ARGUMENT_PATH;
	scope_begin(way->denial->scope, states.at);
	descend(way, &way->nodes[0], &states);
	if (denial->project_root)
		walk_project(way);
	/* A path through the trie had more than SCOPE_STEPS_MAX components; the compiler makes
	 * none. */
	return way->failed ? -EINVAL : 0;
}
