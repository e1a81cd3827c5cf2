/* SPDX-License-Identifier: MIT */

/*
 * A path glob as an automaton over path components
 *
 * In state i the automaton has matched the first i steps; a "**" step also stays in its state. The
 * scope covers a path if its components can lead to the last state. scope_is_within() uses the same
 * walk with the steps of the inner glob instead of names: one step stands for all names that it
 * matches, and a state counts only if every one of them reaches it.
 */

#include "token/scope.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <sbx/error.h>

#include "base/error.h"
#include "base/path.h"
#include "base/text.h"
#include "policy/decide.h"

static const struct glob_component any_name = { .kind = GLOB_STAR, .text = "*", .len = 1 };
static const struct glob_component any_below = { .kind = GLOB_FLOAT, .text = "**", .len = 2 };

static int refuse(const char *glob, const char *why, const char *fix, struct sbx_error *err)
{
	return error_fill(err, -EINVAL, why, fix, "a token cannot be for '%.200s'", glob);
}

static bool add_step(struct scope *scope, const struct glob_component *step)
{
	if (scope->n_steps == SCOPE_STEPS_MAX)
		return false;
	scope->steps[scope->n_steps++] = *step;
	return true;
}

static bool add_root(struct scope *scope, const char *root)
{
	for (const char *at = root; *at;) {
		size_t len;

		at += *at == '/';
		len = strcspn(at, "/");
		if (len > 0 &&
		    !add_step(scope, &(struct glob_component){
					     .kind = GLOB_LITERAL, .text = at, .len = len }))
			return false;
		at += len;
	}
	return true;
}

/* "a/" matches a and everything below it; "a" and two stars only what is below: one more name. */
static bool add_end(struct scope *scope)
{
	if (!scope->glob.subtree)
		return true;
	/* "**" before the name: walk_float() keeps only states that are at a "**" step. */
	return add_step(scope, &any_below) && (scope->glob.itself || add_step(scope, &any_name));
}

static int parse_path(const char *glob, const char *root, struct scope *ret, struct sbx_error *err)
{
	bool fits = true;
	int r = glob_parse(glob, false, &ret->glob, err);

	if (r < 0)
		return r;
	if (ret->glob.excludes)
		return refuse(glob,
			      "a glob with '!' only excludes paths, and the token includes none",
			      "write what the token allows", err);
	if (!ret->glob.absolute && (!root || !path_is_normal(root)))
		return refuse(glob, "it is relative to a project, and no project is given",
			      "begin it with '/', or name the project by its absolute path", err);
	if (!ret->glob.absolute)
		fits = add_root(ret, root);
	for (size_t i = 0; i < ret->glob.n_components; i++)
		fits = fits && add_step(ret, &ret->glob.components[i]);
	if (!fits || !add_end(ret))
		return refuse(glob, "it has too many components", "write a shorter one", err);
	return 0;
}

int scope_parse(enum operation_argument argument, const char *glob, const char *project_root,
		struct scope *ret, struct sbx_error *err)
{
	ret->argument = argument;
	ret->is_everything = !glob;
	ret->n_steps = 0;
	if (!glob && argument == ARGUMENT_PATH)
		(void)add_step(ret, &any_below);
	if (!glob)
		return 0;
	if (argument == ARGUMENT_PATH)
		return parse_path(glob, project_root, ret, err);
	if (argument == ARGUMENT_HOST)
		return network_parse_host_port(glob, &ret->host, err);
	return refuse(glob, "the operation has no path and no host", "leave the glob out", err);
}

/* ---- the walk ---- */

/* "**" also matches zero components. */
static void skip_floats(const struct scope *scope, bool *at)
{
	for (size_t i = 0; i < scope->n_steps; i++)
		if (at[i] && scope->steps[i].kind == GLOB_FLOAT)
			at[i + 1] = true;
}

void scope_begin(const struct scope *scope, bool at[SCOPE_STEPS_MAX + 1])
{
	memset(at, 0, SCOPE_STEPS_MAX + 1);
	at[0] = true;
	skip_floats(scope, at);
}

/* Does @outer match every name that @inner matches? */
static bool step_covers(const struct glob_component *outer, const struct glob_component *inner)
{
	if (outer->kind == GLOB_STAR || outer->kind == GLOB_FLOAT)
		return true;
	if (inner->kind == GLOB_LITERAL)
		return glob_component_matches(outer, inner->text, inner->len);
	return outer->kind == inner->kind && outer->len == inner->len &&
	       memcmp(outer->text, inner->text, outer->len) == 0;
}

/* Advances by one component; from the last state to the first, so that one component is not matched
 * by two steps. */
static void walk_step(const struct scope *scope, bool *at, const struct glob_component *component)
{
	for (size_t i = scope->n_steps + 1; i-- > 0;) {
		bool matches =
			i < scope->n_steps && at[i] && step_covers(&scope->steps[i], component);
		bool stays = matches && scope->steps[i].kind == GLOB_FLOAT;

		if (matches && !stays)
			at[i + 1] = true;
		at[i] = stays;
	}
	skip_floats(scope, at);
}

/* Advances by any number of unknown names: only a "**" step surely still matches. */
static void walk_float(const struct scope *scope, bool *at)
{
	for (size_t i = 0; i <= scope->n_steps; i++)
		at[i] = i < scope->n_steps && at[i] && scope->steps[i].kind == GLOB_FLOAT;
	skip_floats(scope, at);
}

static bool covers_path(const struct scope *scope, const char *path)
{
	bool states[SCOPE_STEPS_MAX + 1];

	if (!path || !path_is_normal(path))
		return false;
	scope_begin(scope, states);
	for (const char *at = path + 1; *at;) {
		size_t len = strcspn(at, "/");

		walk_step(scope, states,
			  &(struct glob_component){ .kind = GLOB_LITERAL, .text = at, .len = len });
		at += len;
		at += *at == '/';
	}
	return states[scope->n_steps];
}

/* ---- may two globs have a path in common ---- */

/* The number of literal bytes at the begin, or at the end, of a pattern. */
static size_t count_plain(const struct glob_component *pattern, bool from_end)
{
	size_t n = 0;

	while (n < pattern->len &&
	       !strchr("*?[]\\", pattern->text[from_end ? pattern->len - 1 - n : n]))
		n++;
	return n;
}

/* Two patterns have no name in common if their literal begins or ends differ; else they may have.
 */
static bool patterns_may_meet(const struct glob_component *a, const struct glob_component *b)
{
	size_t n_a = count_plain(a, false), n_b = count_plain(b, false);
	size_t n = n_a < n_b ? n_a : n_b;

	if (memcmp(a->text, b->text, n) != 0)
		return false;
	n_a = count_plain(a, true);
	n_b = count_plain(b, true);
	n = n_a < n_b ? n_a : n_b;
	return memcmp(a->text + a->len - n, b->text + b->len - n, n) == 0;
}

static bool may_meet(const struct glob_component *a, const struct glob_component *b)
{
	if (a->kind == GLOB_STAR || a->kind == GLOB_FLOAT || b->kind == GLOB_STAR ||
	    b->kind == GLOB_FLOAT)
		return true;
	if (a->kind == GLOB_LITERAL)
		return glob_component_matches(b, a->text, a->len);
	if (b->kind == GLOB_LITERAL)
		return glob_component_matches(a, b->text, b->len);
	return patterns_may_meet(a, b);
}

/* Any number of names at once: every later state may be reached, because states only increase. */
static void may_float(const struct scope *scope, const bool *at, bool *ret)
{
	bool is_on = false;

	for (size_t i = 0; i <= scope->n_steps; i++) {
		is_on |= at[i];
		ret[i] = is_on;
	}
}

void scope_may_step(const struct scope *scope, const bool at[SCOPE_STEPS_MAX + 1],
		    const struct glob_component *component, bool ret[SCOPE_STEPS_MAX + 1])
{
	memset(ret, 0, SCOPE_STEPS_MAX + 1);
	if (component->kind == GLOB_FLOAT) {
		may_float(scope, at, ret);
		return;
	}
	for (size_t i = 0; i < scope->n_steps; i++) {
		if (!at[i] || !may_meet(&scope->steps[i], component))
			continue;
		ret[scope->steps[i].kind == GLOB_FLOAT ? i : i + 1] = true;
	}
	skip_floats(scope, ret);
}

bool scope_may_go_on(const struct scope *scope, const bool at[SCOPE_STEPS_MAX + 1])
{
	return memchr(at, 1, scope->n_steps) != NULL;
}

/* ---- hosts ---- */

static bool host_covers(const char *outer, const char *inner)
{
	size_t n_outer = strlen(outer), n_inner = strlen(inner);

	if (strncmp(outer, "*.", 2) != 0)
		return strcasecmp(outer, inner) == 0;
	return n_inner >= n_outer && strcasecmp(inner + n_inner - n_outer + 1, outer + 1) == 0;
}

static bool covers_host(const struct scope *scope, const struct policy_request *request)
{
	char port[8];

	if (!request->host || strchr(request->host, '*') ||
	    !host_covers(scope->host.host, request->host))
		return false;
	if (scope->host.port[0] == '\0')
		return true;
	(void)snprintf(port, sizeof(port), "%u", request->port);
	return request->has_port && strcmp(port, scope->host.port) == 0;
}

bool scope_covers(const struct scope *scope, const struct policy_request *request)
{
	if (scope->is_everything)
		return true;
	return scope->argument == ARGUMENT_PATH ? covers_path(scope, request->path)
						: covers_host(scope, request);
}

bool scope_is_within(const struct scope *inner, const struct scope *outer)
{
	bool states[SCOPE_STEPS_MAX + 1];

	if (outer->is_everything || inner->is_everything)
		return outer->is_everything;
	if (outer->argument == ARGUMENT_HOST)
		return host_covers(outer->host.host, inner->host.host) &&
		       (outer->host.port[0] == '\0' ||
			strcmp(outer->host.port, inner->host.port) == 0);
	scope_begin(outer, states);
	for (size_t i = 0; i < inner->n_steps; i++) {
		if (inner->steps[i].kind == GLOB_FLOAT)
			walk_float(outer, states);
		else
			walk_step(outer, states, &inner->steps[i]);
	}
	return states[outer->n_steps];
}

/* ---- an example ---- */

#define EXAMPLE_NAME "sbx-example"

/* Leaves out '*' and writes 'x' for '?'; a name that does not match the pattern then is refused. */
static int add_example_name(const struct glob_component *step, struct text *out)
{
	size_t before = out->len;

	text_add_char(out, '/');
	if (step->kind == GLOB_LITERAL)
		text_add_bytes(out, step->text, step->len);
	else if (step->kind == GLOB_STAR)
		text_add(out, EXAMPLE_NAME);
	for (size_t i = 0; step->kind == GLOB_PATTERN && i < step->len; i++)
		if (step->text[i] != '*')
			text_add_bytes(out, step->text[i] == '?' ? "x" : &step->text[i], 1);
	if (text_status(out) < 0)
		return -ENOMEM;
	return out->len > before + 1 && glob_component_matches(step, out->data + before + 1,
							       out->len - before - 1)
		       ? 0
		       : -ENOENT;
}

static int add_example_path(const struct scope *scope, struct text *out)
{
	int r = 0;

	for (size_t i = 0; i < scope->n_steps && r == 0; i++)
		if (scope->steps[i].kind != GLOB_FLOAT)
			r = add_example_name(&scope->steps[i], out);
	if (out->len == 0)
		text_add_char(out, '/');
	return r;
}

int scope_add_example(const struct scope *scope, struct text *out)
{
	const char *host = scope->host.host;

	if (scope->is_everything)
		return -ENOENT;
	if (scope->argument == ARGUMENT_PATH)
		return add_example_path(scope, out);
	if (strncmp(host, "*.", 2) == 0) {
		text_add(out, EXAMPLE_NAME);
		host++;
	}
	text_add(out, host);
	return text_status(out);
}
