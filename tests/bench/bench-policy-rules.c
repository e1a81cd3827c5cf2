/* SPDX-License-Identifier: MIT */

/*
 * The words, globs, paths and rules of the policy benchmarks
 *
 * Rules are built as a model, because the text of 100,000 rules would exceed the maximum size of a
 * policy file.
 */

#include "bench-policy-rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "policy/compile.h"

static const char *const words[] = {
	"home",	   "agent", "project", "src",	 "tests",  "lib",     "include",  "modules",
	"build",   "docs",  "etc",     "usr",	 "share",  "python3", "packages", "cache",
	"config",  "local", "bin",     "data",	 "models", "secrets", "keys",	  "git",
	"objects", "refs",  "tmp",     "var",	 "log",	   "run",     "module",	  "util",
	"core",	   "net",   "proto",   "server", "client", "main",    "index",	  "readme",
};
static const char *const endings[] = { "c",  "h",   "py",  "ts",  "js",	  "json", "yaml", "md",
				       "so", "txt", "pem", "key", "lock", "toml", "env",  "o" };

void bench_texts_deinit(struct bench_texts *texts)
{
	text_deinit(&texts->bytes);
	free(texts->starts);
}

const char *bench_texts_at(const struct bench_texts *texts, size_t i)
{
	return texts->bytes.data + texts->starts[i];
}

uint32_t bench_random(struct bench_random *random)
{
	random->state ^= random->state << 13;
	random->state ^= random->state >> 7;
	random->state ^= random->state << 17;
	return (uint32_t)(random->state >> 16);
}

int bench_texts_fill(struct bench_texts *texts, size_t n, struct bench_random *random,
		     void (*add)(struct text *out, struct bench_random *random, void *userdata),
		     void *userdata)
{
	texts->starts = calloc(n, sizeof(*texts->starts));
	if (!texts->starts)
		return -ENOMEM;
	for (texts->n = 0; texts->n < n; texts->n++) {
		texts->starts[texts->n] = texts->bytes.len;
		add(&texts->bytes, random, userdata);
		text_add_char(&texts->bytes, '\0');
	}
	return text_status(&texts->bytes);
}

static const char *any(struct bench_random *random, const char *const *texts, size_t n)
{
	return texts[bench_random(random) % n];
}

static void add_word(struct text *out, struct bench_random *random)
{
	text_add(out, any(random, words, N_ELEMENTS(words)));
	if (bench_random(random) % 3 == 0)
		text_addf(out, "%u", bench_random(random) % 200);
}

static void add_ending(struct text *out, struct bench_random *random)
{
	text_addf(out, ".%s", any(random, endings, N_ELEMENTS(endings)));
}

/* Adds @min to @max components. */
static void add_directories(struct text *out, struct bench_random *random, unsigned min,
			    unsigned max)
{
	unsigned depth = min + bench_random(random) % (max - min + 1);

	for (unsigned i = 0; i < depth; i++) {
		text_add_char(out, '/');
		add_word(out, random);
	}
}

static void add_directory_glob(struct text *out, struct bench_random *random)
{
	add_directories(out, random, 2, 5);
	text_add(out, "/**");
}

static void add_exact_glob(struct text *out, struct bench_random *random)
{
	add_directories(out, random, 2, 5);
	add_ending(out, random);
}

static void add_ending_glob(struct text *out, struct bench_random *random)
{
	add_directories(out, random, 2, 4);
	text_add(out, "/*");
	add_ending(out, random);
}

static void add_star_glob(struct text *out, struct bench_random *random)
{
	add_directories(out, random, 1, 1);
	text_add(out, "/*");
	add_directories(out, random, 1, 1);
	text_add(out, "/**");
}

static void add_floating_glob(struct text *out, struct bench_random *random)
{
	text_add(out, "/**");
	add_directories(out, random, 1, 2);
	add_ending(out, random);
}

static void add_middle_glob(struct text *out, struct bench_random *random)
{
	add_directories(out, random, 1, 1);
	text_add(out, "/**");
	add_directories(out, random, 1, 1);
	add_ending(out, random);
}

static const struct {
	unsigned below; /* of one hundred */
	void (*add)(struct text *out, struct bench_random *random);
} shapes[] = {
	{ 50, add_directory_glob }, { 70, add_exact_glob },    { 82, add_ending_glob },
	{ 90, add_star_glob },	    { 96, add_floating_glob }, { 100, add_middle_glob },
};

void bench_add_glob(struct text *out, struct bench_random *random, void *userdata)
{
	unsigned hundredth = bench_random(random) % 100;
	size_t i = 0;

	while (hundredth >= shapes[i].below)
		i++;
	shapes[i].add(out, random);
}

static void add_file(struct text *out, struct bench_random *random)
{
	text_addf(out, "/file%u", bench_random(random) % 1000);
	add_ending(out, random);
}

/* Adds a path that @glob matches: each wildcard becomes one or two words. */
static void add_match(struct text *out, struct bench_random *random, const char *glob)
{
	while (*glob) {
		if (strncmp(glob, "/**", 3) == 0) {
			add_directories(out, random, 1, 2);
			glob += 3;
			if (!*glob)
				add_file(out, random);
		} else if (*glob == '*') {
			add_word(out, random);
			glob++;
		} else {
			text_add_char(out, *glob++);
		}
	}
}

void bench_add_path(struct text *out, struct bench_random *random, void *userdata)
{
	const struct bench_texts *globs = userdata;

	if (bench_random(random) & 1) {
		add_match(out, random, bench_texts_at(globs, bench_random(random) % globs->n));
		return;
	}
	add_directories(out, random, 3, 7);
	add_file(out, random);
}

enum policy_action bench_action(size_t i)
{
	static const enum policy_action actions[] = { POLICY_ALLOW, POLICY_REVIEW, POLICY_ALLOW,
						      POLICY_DENY, POLICY_ALLOW };

	return actions[i % N_ELEMENTS(actions)];
}

static void fill_rule(struct rule *rule, struct match_value *value, enum match_key key, unsigned i)
{
	struct policy_place place = { .at = { .line = i + 1, .column = 1 } };

	value->place = place;
	rule->name = "rule";
	rule->action = bench_action(i);
	rule->place = place;
	rule->constraints.max_file_size_bytes = UINT64_MAX;
	rule->match.place = place;
	rule->match.lists[key] = (struct match_list){
		.present = true, .values = value, .n_values = 1, .place = place
	};
}

static int make_rules(struct policy *policy, const struct bench_texts *texts, enum match_key key,
		      uint64_t operations)
{
	struct match_value *values = arena_alloc(&policy->arena, texts->n * sizeof(*values));

	policy->rules = arena_alloc(&policy->arena, texts->n * sizeof(*policy->rules));
	policy->sources = arena_alloc(&policy->arena, sizeof(*policy->sources));
	if (!values || !policy->rules || !policy->sources)
		return -ENOMEM;
	policy->sources[0].name = "bench.yaml";
	policy->n_sources = 1;
	policy->n_rules = texts->n;
	for (size_t i = 0; i < texts->n; i++) {
		values[i].text = bench_texts_at(texts, i);
		fill_rule(&policy->rules[i], &values[i], key, (unsigned)i);
		policy->rules[i].match.operations = operations;
	}
	for (size_t i = 0; i < N_CLASSES; i++)
		policy->defaults[i] = POLICY_DENY;
	return 0;
}

int bench_compile(const struct bench_texts *values, enum match_key key, const char *operation,
		  void **ret_block, size_t *ret_n_bytes, struct sbx_error *err)
{
	_cleanup_policy_ struct policy *policy = calloc(1, sizeof(*policy));

	if (!policy || make_rules(policy, values, key, operation_set(operation)) < 0)
		return sbx_error_what(err, -ENOMEM, "cannot make a policy of %zu rules", values->n);
	return policy_compile(policy, ret_block, ret_n_bytes, err);
}
