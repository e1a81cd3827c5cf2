/* SPDX-License-Identifier: MIT */

/*
 * An upper bound of what any path can cost, in time linear in the nodes
 *
 * A node that is entered once is live for one component. Then it hands over to its children: to one
 * literal child at most, since a component is one text, but to "*" and to every pattern at once. So
 * with the children's costs c, entering a node once costs at one time no more than
 *
 *	once(n) = max(own(n), max c(literals) + c(star) + sum c(patterns)) + within(float)
 *
 * Below "**" a node can be entered at every component, so all that lies there may be live together,
 * with one exception: of the nodes that hang together by literal edges and lie equally deep below
 * the same wildcard, only one can be, because they stand for different texts of the same last
 * components. within() therefore adds, for every wildcard node of the subtree, the dearest node of
 * each level of the literal tree on it. A float, once live, stays so: floats are counted all.
 *
 * Children have greater rows than their parents, so one pass backwards sees every child first.
 */

#include "policy/compile-internal.h"

#include <errno.h>
#include <stdlib.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "policy/compile.h"

/* What is summed up; all arrays are by node. */
struct measure {
	const uint64_t *own;  /* while the node is live */
	const uint64_t *part; /* what it adds to within() */
	uint64_t total;
	uint32_t worst; /* a node that much of the total comes from */
};

/* The running sums of one node. */
struct sums {
	uint64_t literal; /* max */
	uint64_t wild;	  /* sum */
	uint64_t floating;
	uint64_t within;
	uint64_t best;
	uint32_t best_child;
};

static uint64_t max_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void hand_up(struct sums *parent, enum build_via via, uint32_t child, uint64_t once,
		    uint64_t within)
{
	uint64_t cost = via == VIA_FLOAT ? within : once;

	parent->within += within;
	if (via == VIA_LITERAL)
		parent->literal = max_of(parent->literal, once);
	else if (via == VIA_FLOAT)
		parent->floating += within;
	else
		parent->wild += once;
	if (cost > parent->best) {
		parent->best = cost;
		parent->best_child = child;
	}
}

static int measure(const struct builder *builder, struct measure *measure)
{
	const struct build_node *nodes = builder->nodes.data;
	_cleanup_free_ struct sums *sums = calloc(builder->nodes.n, sizeof(*sums));
	uint64_t worst_root = 0;

	if (!sums)
		return -ENOMEM;
	for (size_t i = builder->nodes.n; i-- > 0;) {
		struct sums *sum = &sums[i];
		uint64_t once = max_of(measure->own[i], sum->literal + sum->wild) + sum->floating;
		uint64_t within = sum->within + measure->part[i];

		if (nodes[i].via != VIA_ROOT) {
			hand_up(&sums[nodes[i].parent], nodes[i].via, (uint32_t)i, once, within);
			continue;
		}
		measure->total += once;
		if (once >= worst_root)
			measure->worst = (uint32_t)i;
		worst_root = max_of(worst_root, once);
	}
	while (sums[measure->worst].best_child != 0)
		measure->worst = sums[measure->worst].best_child;
	return 0;
}

/*
 * For every wildcard node, the sum over the levels of the literal tree on it of the dearest node
 * there. The levels of all trees together are no more than the nodes.
 */
static int add_levels(const struct builder *builder, const uint64_t *own, uint64_t *part)
{
	const struct build_node *nodes = builder->nodes.data;
	size_t n = builder->nodes.n, n_levels = 0;
	_cleanup_free_ uint32_t *head = calloc(n, sizeof(*head));
	_cleanup_free_ uint32_t *level = calloc(n, sizeof(*level));
	_cleanup_free_ uint32_t *height = calloc(n, sizeof(*height));
	_cleanup_free_ size_t *first = calloc(n, sizeof(*first));
	_cleanup_free_ uint64_t *dearest = calloc(n, sizeof(*dearest));

	if (!head || !level || !height || !first || !dearest)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		bool is_literal = nodes[i].via == VIA_LITERAL;

		head[i] = is_literal ? head[nodes[i].parent] : i;
		level[i] = is_literal ? level[nodes[i].parent] + 1 : 0;
		if (level[i] >= height[head[i]])
			height[head[i]] = level[i] + 1;
	}
	for (size_t i = 0; i < n; n_levels += height[i], i++)
		first[i] = n_levels;
	for (size_t i = 0; i < n; i++) {
		uint64_t *slot = &dearest[first[head[i]] + level[i]];

		part[head[i]] += max_of(*slot, own[i]) - *slot;
		*slot = max_of(*slot, own[i]);
	}
	return 0;
}

static int refuse(const struct builder *builder, const struct measure *measure, uint64_t max,
		  const char *noun, const char *fix, struct sbx_error *err)
{
	const struct build_node *nodes = builder->nodes.data;
	const struct match_value *value = nodes[measure->worst].value;

	(void)sbx_error_what(err, -E2BIG, "'%.100s' goes too far", value ? value->text : "**");
	sbx_error_why(err,
		      "with the other globs, one path could keep %llu %s at the same time, "
		      "and %llu are allowed",
		      (unsigned long long)measure->total, noun, (unsigned long long)max);
	sbx_error_fix(err, "%s", fix);
	if (value)
		(void)builder_place(builder, value->place, err);
	return -E2BIG;
}

/* Both measures of the whole trie. */
static int measure_both(const struct builder *builder, struct measure *floats,
			struct measure *steps)
{
	const struct build_node *nodes = builder->nodes.data;
	size_t n = builder->nodes.n;
	_cleanup_free_ uint64_t *own = calloc(n, sizeof(*own));
	_cleanup_free_ uint64_t *part = calloc(n, sizeof(*part));

	if (!own || !part)
		return -ENOMEM;
	*floats = *steps = (struct measure){ .own = own, .part = part };
	for (size_t i = 0; i < n; i++)
		part[i] = nodes[i].via == VIA_FLOAT;

	int r = measure(builder, floats);

	for (size_t i = 0; i < n; i++) {
		part[i] = 0;
		own[i] = 1 + (uint64_t)nodes[i].pattern_cost;
	}
	if (r == 0)
		r = add_levels(builder, own, part);
	if (r == 0)
		r = measure(builder, steps);
	floats->own = floats->part = steps->own = steps->part = NULL;
	return r;
}

int trie_measure(const struct builder *builder, struct compile_cost *ret)
{
	struct measure floats, steps;
	int r = measure_both(builder, &floats, &steps);

	if (r == 0)
		*ret = (struct compile_cost){ .n_floats = floats.total, .n_steps = steps.total };
	return r;
}

int trie_check_bounds(const struct builder *builder, struct sbx_error *err)
{
	struct measure floats, steps;
	int r = measure_both(builder, &floats, &steps);

	if (r < 0)
		return r;
	if (floats.total > COMPILE_LIVE_FLOATS_MAX)
		return refuse(builder, &floats, COMPILE_LIVE_FLOATS_MAX, "'**' in play",
			      "begin fewer globs with '**', or name more of the path before it",
			      err);
	if (steps.total > COMPILE_LIVE_STEPS_MAX)
		return refuse(builder, &steps, COMPILE_LIVE_STEPS_MAX, "steps due",
			      "use fewer patterns that hold for the same folder", err);
	return 0;
}
