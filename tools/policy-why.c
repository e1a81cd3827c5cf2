/* SPDX-License-Identifier: MIT */

/*
 * Explains why a rule did or did not apply, for users who did not write the policy
 *
 * The evaluator says which key of which rule did not match; the model has the text of that key. A
 * compiled policy has no texts, so only the key is named.
 */

#include "policy.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"

#define VALUES_SHOWN_MAX 5

static const char *const near_names[] = {
	[NEAR_APPLIES] = "applies", [NEAR_EXCEPTED] = "excepted", [NEAR_OPERATION] = "operation",
	[NEAR_KEY] = "key",	    [NEAR_EXCLUDED] = "excluded",
};

const char *why_near_name(enum policy_near near)
{
	return near_names[near];
}

/* Do both come from the same rule of a file? */
static bool is_same_rule(const struct judge *judge, uint32_t one, uint32_t other)
{
	const struct artefact_rule *a = artefact_rule_at(&judge->artefact, one);
	const struct artefact_rule *b = artefact_rule_at(&judge->artefact, other);

	return a->source == b->source && a->line == b->line && a->column == b->column &&
	       a->action == b->action &&
	       strcmp(artefact_text(&judge->artefact, a->name),
		      artefact_text(&judge->artefact, b->name)) == 0;
}

/* A rule that is about the request's operation is nearer than one that is not. */
static bool is_nearer(const struct policy_explanation *one, const struct policy_explanation *other)
{
	return (one->near == NEAR_APPLIES && other->near != NEAR_APPLIES) ||
	       (one->near != NEAR_OPERATION && other->near == NEAR_OPERATION);
}

/* The composed policy has several rules for some rules of a file. If one of them applies, the
 * others would deny that; if none does, one reason is enough. Returns the number of rows that are
 * left. */
static size_t drop_told(const struct judge *judge, struct policy_explanation *rows, size_t n)
{
	size_t n_left = 0;

	for (size_t i = 0; i < n; i++) {
		const struct policy_explanation row = rows[i];
		bool is_told = false;

		for (size_t k = 0; k < n && row.near != NEAR_APPLIES && !is_told; k++) {
			bool is_alike =
				k < n_left && rows[k].near == row.near && rows[k].key == row.key;

			is_told = (is_alike || is_nearer(&rows[k], &row)) &&
				  is_same_rule(judge, rows[k].rule, row.rule);
		}
		if (!is_told)
			rows[n_left++] = row;
	}
	return n_left;
}

struct policy_explanation *why_explain(struct judge *judge, const struct policy_request *request,
				       size_t *ret_n)
{
	size_t n = policy_explain(judge->engine, request, NULL, 0);
	struct policy_explanation *rows = calloc(n + 1, sizeof(*rows));

	if (rows)
		*ret_n = drop_told(judge, rows, policy_explain(judge->engine, request, rows, n));
	return rows;
}

static void add_quoted(struct text *out, const char *string)
{
	text_add_char(out, '\'');
	text_add_visible_string(out, string);
	text_add_char(out, '\'');
}

/* Only values with, or without, the excluding '!'. */
static void add_values(struct text *out, const struct match_list *list, bool excluding)
{
	size_t n_shown = 0, n_left = 0;

	for (size_t i = 0; i < list->n_values; i++) {
		const struct match_value *value = &list->values[i];

		if (match_value_excludes(value) != excluding)
			continue;
		if (n_shown == VALUES_SHOWN_MAX) {
			n_left++;
			continue;
		}
		text_add(out, n_shown++ > 0 ? ", " : "");
		add_quoted(out, value->text);
	}
	if (n_left > 0)
		text_addf(out, " and %zu more", n_left);
}

/* "its state 'a' does not match", "its state ('a', 'b') does not match" */
static void add_head(struct text *out, const char *key, const struct match_list *list)
{
	bool is_plural = key[strlen(key) - 1] == 's';
	size_t n = 0;

	for (size_t i = 0; i < list->n_values; i++)
		n += !match_value_excludes(&list->values[i]);
	text_addf(out, "its %s %s", key, n > 1 ? "(" : "");
	add_values(out, list, false);
	text_add(out, n > 1 ? ") " : " ");
	text_add(out, is_plural ? "do not match" : "does not match");
}

static void add_tags(struct text *out, const char *const *tags)
{
	if (!tags || !*tags) {
		text_add(out, "the caller has no tags");
		return;
	}
	text_add(out, "the caller has ");
	for (size_t i = 0; tags[i]; i++) {
		text_add(out, i > 0 ? ", " : "");
		add_quoted(out, tags[i]);
	}
}

static void add_given(struct text *out, const char *noun, const char *value)
{
	if (!value) {
		text_addf(out, "the request names no %s", noun);
		return;
	}
	text_addf(out, "the %s is ", noun);
	add_quoted(out, value);
}

/* Where the globs of a list are anchored, a frequent mistake. */
struct anchors {
	bool at_project; /* "src/a", "./a" */
	bool anywhere;	 /* "a", "a/": in any directory of the project */
	bool absolute;
};

static struct anchors anchors_of(const struct match_list *list)
{
	struct anchors anchors = { .absolute = false };

	for (size_t i = 0; i < list->n_values; i++) {
		const struct match_value *value = &list->values[i];
		const char *text = value->text, *slash;

		if (match_value_excludes(value))
			continue;
		slash = strchr(text, '/');
		if (text[0] == '/')
			anchors.absolute = true;
		else if (!value->literal && (!slash || slash[1] == '\0'))
			anchors.anywhere = true;
		else
			anchors.at_project = true;
	}
	return anchors;
}

static void add_anchor(struct text *out, struct anchors anchors,
		       const struct policy_request *request)
{
	if (!anchors.at_project && !anchors.anywhere)
		return;
	if (!request->project_root) {
		text_add(out, ": what does not begin with '/' is anchored at the project, and the "
			      "request names none (project=/...)");
		return;
	}
	if (anchors.at_project && anchors.anywhere)
		text_add(out, ": a glob without '/' means any directory of the project ");
	else if (anchors.anywhere)
		text_addf(out, ": %s means any directory of the project ",
			  anchors.absolute ? "a glob without '/'" : "it");
	else
		text_addf(out, ": %s is anchored at the project ",
			  anchors.absolute ? "what does not begin with '/'" : "it");
	text_add_visible_string(out, request->project_root);
	if (anchors.at_project && anchors.anywhere)
		text_add(out, ", the rest is anchored at its root");
	if (request->path && !path_is_beneath(request->path, request->project_root))
		text_add(out, ", and the path is not in there");
}

/* The path as the globs see it: relative to the project's root if all of them are. */
static const char *path_for(struct anchors anchors, const struct policy_request *request)
{
	const char *root = request->project_root;
	size_t len = root ? strlen(root) : 0;

	if (anchors.absolute || len <= 1 || !path_is_beneath(request->path, root) ||
	    request->path[len] == '\0')
		return request->path;
	return request->path + len + 1;
}

static void add_path(struct text *out, const struct match_list *list,
		     const struct policy_request *request)
{
	struct anchors anchors = anchors_of(list);
	const char *key = list->values[0].literal ? "path" : "path_glob";

	if (!request->path) {
		text_addf(out, "its %s does not match: the request names no path", key);
		return;
	}
	add_head(out, key, list);
	text_add_char(out, ' ');
	add_quoted(out, path_for(anchors, request));
	add_anchor(out, anchors, request);
}

static void add_list(struct text *out, enum match_key key, const struct match_list *list,
		     const struct policy_request *request)
{
	add_head(out, match_key_name(key), list);
	text_add(out, ": ");
	switch (key) {
	case MATCH_HOST:
		add_given(out, "host", request->host);
		return;
	case MATCH_CIDR:
		if (request->address)
			add_given(out, "address", request->address);
		else
			add_given(out, "host", request->host);
		return;
	case MATCH_PORT:
		if (request->has_port)
			text_addf(out, "the port is %u", request->port);
		else
			add_given(out, "port", NULL);
		return;
	case MATCH_PROTO:
		add_given(out, "protocol", request->proto ? request->proto : "tcp");
		return;
	case MATCH_CALLER:
		add_given(out, "caller", request->caller);
		return;
	case MATCH_TAG:
		add_tags(out, request->caller_tags);
		return;
	case MATCH_STATE:
		add_given(out, "state", request->state);
		return;
	case MATCH_MODE:
		add_given(out, "mode", request->mode);
		return;
	case MATCH_PATH:
	case N_MATCH_KEYS:
		return;
	}
}

static void add_key(struct text *out, enum match_key key, const struct rule *rule,
		    const struct policy_request *request)
{
	const struct match_list *list = rule ? &rule->match.lists[key] : NULL;

	if (!list)
		text_addf(out, "its %s does not match", match_key_name(key));
	else if (key == MATCH_CIDR && !list->present)
		text_add(out, "it has no cidr, which a permission for a special address needs");
	else if (list->n_values == 0)
		text_addf(out, "its %s is an empty list, which matches nothing",
			  match_key_name(key));
	else if (key == MATCH_PATH)
		add_path(out, list, request);
	else
		add_list(out, key, list, request);
}

static void add_operations(struct text *out, const struct rule *rule,
			   const struct policy_request *request)
{
	text_add(out, "it is not about ");
	text_add_visible_string(out, request->operation);
	if (!rule)
		return;
	text_add(out, " but about ");
	operation_add_names(out, rule->match.operations);
}

void why_add(struct text *out, const struct judge *judge, const struct policy_request *request,
	     const struct policy_explanation *explanation)
{
	const struct rule *rule = judge->policy && explanation->rule < judge->policy->n_rules
					  ? &judge->policy->rules[explanation->rule]
					  : NULL;
	uint32_t exception = explanation->exception;

	switch (explanation->near) {
	case NEAR_APPLIES:
		text_add(out, "its match applies");
		return;
	case NEAR_EXCEPTED:
		text_addf(out, "its match applies, but its exception %u", exception + 1);
		if (rule && exception < rule->n_exceptions)
			text_addf(out, " (line %u)", rule->exceptions[exception].place.at.line);
		text_add(out, " takes that back");
		return;
	case NEAR_OPERATION:
		add_operations(out, rule, request);
		return;
	case NEAR_KEY:
		add_key(out, explanation->key, rule, request);
		return;
	case NEAR_EXCLUDED:
		text_add(out, "its path is taken out by ");
		if (rule)
			add_values(out, &rule->match.lists[MATCH_PATH], true);
		else
			text_add(out, "a glob with '!'");
		return;
	}
}

void why_add_note(struct text *out, const struct policy_decision *decision)
{
	if (!decision->note)
		return;
	text_add(out, "  note: ");
	text_add_visible_string(out, decision->note);
	text_add_char(out, '\n');
}
