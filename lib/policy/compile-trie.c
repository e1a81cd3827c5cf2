/* SPDX-License-Identifier: MIT */

/*
 * Globs → one trie over path components, and an upper bound of its cost
 *
 * Globs with the same leading components share nodes. One hash table for the whole trie finds a
 * child by its literal component or pattern; children for "*" and "**" are fields of the node. A
 * glob is posted at the node where it ends: for the node itself, for everything below, or for both.
 */

#include "policy/compile-internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "policy/artefact-internal.h"
#include "policy/compile.h"

#define ROOT 0u
#define PROJECT 1u

static struct build_node *node_at(const struct builder *builder, uint32_t node)
{
	return (struct build_node *)builder->nodes.data + node;
}

static int add_node(struct builder *builder, uint32_t parent, enum build_via via,
		    const struct match_value *value, uint32_t *ret)
{
	struct build_node *node = rows_add(&builder->nodes, sizeof(*node), 1);

	if (!node)
		return -ENOMEM;
	*node = (struct build_node){
		.parent = parent,
		.via = via,
		.star = ARTEFACT_NONE,
		.floating = ARTEFACT_NONE,
		.first_pattern = ARTEFACT_NONE,
		.last_pattern = ARTEFACT_NONE,
		.value = value,
	};
	*ret = (uint32_t)(builder->nodes.n - 1);
	assert(via == VIA_ROOT || parent < *ret);
	return 0;
}

int trie_init(struct builder *builder)
{
	uint32_t root, project;
	int r = add_node(builder, ARTEFACT_NONE, VIA_ROOT, NULL, &root);

	return r < 0 ? r : add_node(builder, ARTEFACT_NONE, VIA_ROOT, NULL, &project);
}

/* Is it "*" followed by literal bytes only? */
static bool is_suffix(const struct glob_component *component)
{
	return component->text[0] == '*' && component->len > 1 &&
	       strcspn(component->text + 1, "*?[\\") == component->len - 1;
}

/* Appends a pattern to its node's chain, so that rows ascend along every chain. */
static int add_pattern(struct builder *builder, uint32_t node,
		       const struct glob_component *component, uint32_t text, uint32_t to)
{
	uint32_t row = (uint32_t)builder->patterns.n;
	struct artefact_pattern *pattern = rows_add(&builder->patterns, sizeof(*pattern), 1);
	struct build_node *from = node_at(builder, node);

	if (!pattern)
		return -ENOMEM;
	*pattern = (struct artefact_pattern){
		.text = text,
		.len = (uint32_t)component->len,
		.to = to,
		.next = ARTEFACT_NONE,
		.suffix = is_suffix(component),
	};
	from->pattern_cost += pattern->suffix ? 1 : pattern->len + 1;
	if (from->last_pattern == ARTEFACT_NONE)
		from->first_pattern = row;
	else
		((struct artefact_pattern *)builder->patterns.data)[from->last_pattern].next = row;
	from->last_pattern = row;
	return 0;
}

static bool link_equal(const void *rows, uint32_t row, const void *key)
{
	const struct build_link *link =
		(const struct build_link *)((const struct rows *)rows)->data;
	const struct build_link *wanted = key;

	return link[row].node == wanted->node && link[row].label == wanted->label;
}

/* Returns the child for a component's text; creates it if necessary. */
static int follow_text(struct builder *builder, uint32_t node,
		       const struct glob_component *component, const struct match_value *value,
		       uint32_t *ret)
{
	bool is_pattern = component->kind == GLOB_PATTERN;
	struct build_link key = { .node = node };
	int r = interner_add(&builder->texts, component->text, component->len, &key.label);

	if (r < 0)
		return r;
	key.label |= is_pattern ? LINK_PATTERN : 0;

	uint32_t *row = finder_find(&builder->link_finder, hash_pair(0, node, key.label),
				    link_equal, &builder->links, &key);

	if (!row)
		return -ENOMEM;
	if (*row != ARTEFACT_NONE) {
		*ret = ((struct build_link *)builder->links.data)[*row].to;
		return 0;
	}
	*row = (uint32_t)builder->links.n;
	if (add_node(builder, node, is_pattern ? VIA_PATTERN : VIA_LITERAL, value, &key.to) < 0)
		return -ENOMEM;
	if (is_pattern &&
	    add_pattern(builder, node, component, key.label & ~LINK_PATTERN, key.to) < 0)
		return -ENOMEM;

	struct build_link *link = rows_add(&builder->links, sizeof(*link), 1);

	if (!link)
		return -ENOMEM;
	*link = key;
	*ret = key.to;
	return 0;
}

/* Returns the child for "*" or "**"; creates it if necessary. */
static int follow_star(struct builder *builder, uint32_t node, enum build_via via,
		       const struct match_value *value, uint32_t *ret)
{
	struct build_node *from = node_at(builder, node);
	uint32_t to = via == VIA_FLOAT ? from->floating : from->star;

	if (to == ARTEFACT_NONE) {
		int r = add_node(builder, node, via, value, &to);

		if (r < 0)
			return r;
		from = node_at(builder, node);
		if (via == VIA_FLOAT)
			from->floating = to;
		else
			from->star = to;
	}
	*ret = to;
	return 0;
}

static int follow(struct builder *builder, const struct glob_component *component,
		  const struct match_value *value, uint32_t *node)
{
	switch (component->kind) {
	case GLOB_STAR:
		return follow_star(builder, *node, VIA_STAR, value, node);
	case GLOB_FLOAT:
		return follow_star(builder, *node, VIA_FLOAT, value, node);
	case GLOB_LITERAL:
	case GLOB_PATTERN:
		break;
	}
	return follow_text(builder, *node, component, value, node);
}

/* Inserts builder->glob below @node and posts it at its end. */
static int insert(struct builder *builder, uint32_t node, const struct match_value *value,
		  uint32_t posting)
{
	const struct glob *glob = &builder->glob;

	for (size_t i = 0; i < glob->n_components; i++)
		if (follow(builder, &glob->components[i], value, &node) < 0)
			return -ENOMEM;
	if ((!glob->subtree || glob->itself) && builder_add_pair(&builder->here, node, posting) < 0)
		return -ENOMEM;
	return glob->subtree ? builder_add_pair(&builder->below, node, posting) : 0;
}

/*
 * The command can give a file any name, so a bare name may remove the right to execute, but must
 * not grant it. An exception and a '!' each invert that.
 */
static bool gives_by_name(const struct build_condition *condition, const struct glob *glob)
{
	bool allows = policy_permits(condition->action);

	return condition->action != POLICY_PASS &&
	       (allows != condition->is_exception) != glob->excludes;
}

static int refuse_name(const struct builder *builder, const struct match_value *value,
		       struct sbx_error *err)
{
	int r = error_fill(
		err, -EINVAL,
		"a name without a slash matches every file of that name in any directory, also one that the sandboxed program writes itself",
		"write the full path, as /usr/bin/NAME (or ./**/NAME for files of the project), or name the operations without exec",
		"'%.100s' does not say which program may be executed", value->text);

	return builder_place(builder, value->place, r, err);
}

/* Inserts a bare name in a condition about exec: it matches in any directory. */
static int insert_program(struct builder *builder, const struct match_value *value,
			  uint32_t posting)
{
	bool has_float = builder->glob.components[0].kind == GLOB_FLOAT;
	uint32_t node = ROOT;
	int r = has_float ? 0 : follow_star(builder, node, VIA_FLOAT, value, &node);

	return r < 0 ? r : insert(builder, node, value, posting | POSTING_ONLY_EXEC);
}

int trie_add(struct builder *builder, const struct build_condition *condition,
	     const struct match_value *value, struct sbx_error *err)
{
	const uint64_t exec = operation_set("exec");
	struct glob *glob = &builder->glob;
	uint64_t operations = condition->operations;
	int r = glob_parse(value->text, value->literal, glob, err);

	if (r < 0)
		return builder_place(builder, value->place, r, err);

	uint32_t posting = condition->row << 2 | (glob->excludes ? POSTING_EXCLUDES : 0);

	if (glob->bare && (operations & exec)) {
		if (gives_by_name(condition, glob))
			return refuse_name(builder, value, err);
		r = insert_program(builder, value, posting);
		operations &= ~exec;
		if (r < 0 || operations == 0)
			return r;
	}
	if (!glob->absolute)
		builder->header.needs_project |= operations;
	return insert(builder, glob->absolute ? ROOT : PROJECT, value, posting);
}

/*
 * An upper bound of the work for any path, in time linear in the nodes
 *
 * A node that is entered once is live for one component. Then it hands over to its children: to one
 * literal child at most, since a component is one text, but to "*" and to every pattern at once. So
 * with the children's costs c, entering a node once costs at any one time no more than
 *
 *  once(n) = max(own(n), max c(literals) + c(star) + sum c(patterns)) + within(float)
 *
 * Below "**" a node can be entered at every component, so all nodes there may be live together,
 * with one exception: of the nodes that are connected by literal edges and equally deep below the
 * same wildcard, only one can be live, because they are different texts of the same last
 * components. within() therefore adds, for every wildcard node of the subtree, the most expensive
 * node of each level of the literal tree on it. A float stays live, so all floats are counted.
 *
 * Children have greater row numbers than their parents, so one backward pass sees all children
 * first.
 */

/* One of the two measures; all arrays are indexed by node. */
struct measure {
	const uint64_t *own;  /* while the node is live */
	const uint64_t *part; /* its contribution to within() */
	uint64_t total;
	uint32_t worst; /* a node that contributes a large part of the total */
};

/* The intermediate sums of one node. */
struct sums {
	uint64_t literal; /* a maximum */
	uint64_t wild;	  /* a sum */
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
 * Computes, for every wildcard node, the sum over the levels of the literal tree on it of the most
 * expensive node. All trees together have no more levels than nodes.
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

	(void)sbx_error_what(err, -E2BIG, "'%.100s' makes the policy too expensive to evaluate",
			     value ? value->text : "**");
	sbx_error_why(
		err,
		"together with the other globs, one path could have %llu %s at the same time; the limit is %llu",
		(unsigned long long)measure->total, noun, (unsigned long long)max);
	sbx_error_fix(err, "%s", fix);
	return value ? builder_place(builder, value->place, -E2BIG, err) : -E2BIG;
}

/* Computes both measures of the whole trie. */
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

	if (measure(builder, floats) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		part[i] = 0;
		own[i] = 1 + (uint64_t)nodes[i].pattern_cost;
	}
	if (add_levels(builder, own, part) < 0 || measure(builder, steps) < 0)
		return -ENOMEM;
	floats->own = floats->part = steps->own = steps->part = NULL;
	return 0;
}

int trie_measure(const struct builder *builder, struct compile_cost *ret)
{
	struct measure floats, steps;
	int r = measure_both(builder, &floats, &steps);

	if (r < 0)
		return r;
	*ret = (struct compile_cost){ .n_floats = floats.total, .n_steps = steps.total };
	return 0;
}

int trie_check_bounds(const struct builder *builder, struct sbx_error *err)
{
	struct measure floats, steps;
	int r = measure_both(builder, &floats, &steps);

	if (r < 0)
		return r;
	if (floats.total > COMPILE_LIVE_FLOATS_MAX)
		return refuse(builder, &floats, COMPILE_LIVE_FLOATS_MAX, "active '**'",
			      "begin fewer globs with '**', or name more of the path before it",
			      err);
	if (steps.total > COMPILE_LIVE_STEPS_MAX)
		return refuse(builder, &steps, COMPILE_LIVE_STEPS_MAX, "pending patterns",
			      "use fewer patterns for the same directory", err);
	return 0;
}
