/* SPDX-License-Identifier: MIT */

/*
 * The first line is a glob, the rest a path. The first byte of the glob says what it is: L a
 * literal path, G a glob, R raw bytes for the matcher, which must be safe with any input.
 *
 * A glob that glob_parse() accepts must be sound, must compile, and must match like the naive
 * matcher. A failed check is an abort.
 */

#include "policy/glob.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/path.h"
#include "../unit/policy-build.h"
#include "../unit/policy-naive.h"

/* The naive matcher takes exponential time. */
#define NAIVE_MAX 40

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static void check(bool condition)
{
	if (!condition)
		abort();
}

static void check_glob(const struct glob *glob, size_t len)
{
	check(glob->n_components <= GLOB_COMPONENTS_MAX);
	check(glob->subtree || glob->n_components > 0);
	check(!(glob->absolute && glob->bare));
	for (size_t i = 0; i < glob->n_components; i++) {
		const struct glob_component *component = &glob->components[i];

		check(component->len > 0);
		check(component->len <= len || component->kind == GLOB_FLOAT);
		check(!memchr(component->text, '/', component->len) ||
		      component->kind != GLOB_LITERAL);
		check(i == 0 || component->kind != GLOB_FLOAT ||
		      glob->components[i - 1].kind != GLOB_FLOAT);
	}
}

static bool applies(const char *text, bool literal, const char *path)
{
	_cleanup_built_ struct built built = build_new();
	struct match_value value = { .text = text, .literal = literal };
	struct rule *rule = build_rule(&built, POLICY_DENY, "fs.read", "");
	struct policy_request request = {
		.operation = "fs.read",
		.path = path,
		.project_root = "/p",
	};
	struct policy_decision decision;

	rule->match.lists[MATCH_PATH] = (struct match_list){
		.present = true,
		.values = &value,
		.n_values = 1,
	};
	build_engine(&built);
	policy_decide(built.engine, &request, &decision);
	check(decision.cause == CAUSE_RULES || decision.cause == CAUSE_DEFAULT);
	return decision.cause == CAUSE_RULES;
}

static void parse_and_match(const char *text, bool literal, const char *path)
{
	static struct glob glob;
	struct sbx_error err = { 0 };
	size_t len = strlen(text);

	(void)glob_has_glued_float(text);
	if (glob_parse(text, literal, &glob, &err) < 0) {
		check(err.code == -EINVAL && err.what[0] && err.why[0] && err.fix[0]);
		return;
	}
	check_glob(&glob, len);
	if (!path_is_normal(path) || len > NAIVE_MAX || strlen(path) > NAIVE_MAX)
		return;
	if (glob.excludes)
		check(!applies(text, literal, path));
	else
		check(applies(text, literal, path) == naive_glob(text, literal, path, "/p", false));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	const uint8_t *newline = n_bytes ? memchr(bytes, '\n', n_bytes) : NULL;
	size_t n = newline ? (size_t)(newline - bytes) : n_bytes;

	if (n_bytes == 0)
		return 0;
	if (bytes[0] == 'R' && newline)
		(void)glob_pattern_matches((const char *)bytes + 1, n - 1,
					   (const char *)newline + 1, n_bytes - n - 1);
	if (bytes[0] != 'L' && bytes[0] != 'G')
		return 0;

	_cleanup_free_ char *text = strndup((const char *)bytes + 1, n - 1);
	_cleanup_free_ char *path =
		newline ? strndup((const char *)newline + 1, n_bytes - n - 1) : strdup("/");

	check(text && path);
	parse_and_match(text, bytes[0] == 'L', path);
	return 0;
}
