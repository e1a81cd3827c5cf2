/* SPDX-License-Identifier: MIT */

/*
 * Globs → one trie over path components
 *
 * Globs that begin alike share their nodes. A child behind a literal component or a pattern is
 * found through one hash table for the whole trie; the children behind "*" and "**" are fields of
 * the node. What a glob means is posted where it ends: for the node itself, for everything below,
 * or both.
 */

#include "policy/compile-internal.h"

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

#include "policy/artefact-internal.h"

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
	return 0;
}

int trie_init(struct builder *builder)
{
	uint32_t root, project;
	int r = add_node(builder, ARTEFACT_NONE, VIA_ROOT, NULL, &root);

	return r < 0 ? r : add_node(builder, ARTEFACT_NONE, VIA_ROOT, NULL, &project);
}

/* "*" and then only bytes that stand for themselves. */
static bool is_suffix(const struct glob_component *component)
{
	return component->text[0] == '*' && component->len > 1 &&
	       strcspn(component->text + 1, "*?[\\") == component->len - 1;
}

/* Hangs a pattern on the end of its node's chain, so that every chain ascends. */
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

/* The child behind a text, made if it is not there yet. */
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
	r = add_node(builder, node, is_pattern ? VIA_PATTERN : VIA_LITERAL, value, &key.to);
	if (r == 0 && is_pattern)
		r = add_pattern(builder, node, component, key.label & ~LINK_PATTERN, key.to);
	if (r < 0)
		return r;

	struct build_link *link = rows_add(&builder->links, sizeof(*link), 1);

	if (!link)
		return -ENOMEM;
	*link = key;
	*ret = key.to;
	return 0;
}

/* The child behind "*" or "**". */
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

/* Inserts the glob in hand from @node on and posts it at its end. */
static int insert(struct builder *builder, uint32_t node, const struct match_value *value,
		  uint32_t posting)
{
	const struct glob *glob = &builder->glob;
	int r = 0;

	for (size_t i = 0; i < glob->n_components && r == 0; i++)
		r = follow(builder, &glob->components[i], value, &node);
	if (r == 0 && (!glob->subtree || glob->itself))
		r = builder_add_pair(&builder->here, node, posting);
	if (r == 0 && glob->subtree)
		r = builder_add_pair(&builder->below, node, posting);
	return r;
}

/*
 * Anybody can give a file any name, so a name may take a right to execute away but never give one.
 * What an exception or a '!' takes back turns the meaning around.
 */
static bool gives_by_name(const struct build_condition *condition, const struct glob *glob)
{
	bool allows = condition->action == POLICY_ALLOW || condition->action == POLICY_WARN;

	return condition->action != POLICY_PASS &&
	       (allows != condition->is_exception) != glob->excludes;
}

static int refuse_name(const struct builder *builder, const struct match_value *value,
		       struct sbx_error *err)
{
	(void)sbx_error_what(err, -EINVAL, "'%.100s' does not say which program may be executed",
			     value->text);
	sbx_error_why(err, "a name without a slash is every file of that name in any folder, also "
			   "one that the sandboxed program writes itself");
	sbx_error_fix(err, "write the full path, as /usr/bin/NAME (or ./**/NAME for files of the "
			   "project), or name the operations without exec");
	(void)builder_place(builder, value->place, err);
	return -EINVAL;
}

/* A bare name in a condition about exec: in any folder of the system. */
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

	if (r < 0) {
		(void)builder_place(builder, value->place, err);
		return r;
	}

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
