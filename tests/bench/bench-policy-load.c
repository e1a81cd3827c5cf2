/* SPDX-License-Identifier: MIT */

/*
 * From the text of a policy to its model and its compiled form
 *
 * The peer is libyaml's event loop over the same text, which is part of both: a ratio above 1 is
 * the cost of tree, keys, checks, globs and indexes.
 */

#include "bench.h"

#include <errno.h>
#include <stdlib.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/tree.h"
#include "bench-policy-rules.h"
#include "bench-yaml-events.h"
#include "policy/artefact.h"
#include "policy/compile.h"
#include "policy/model.h"

#define N_LOADED 1000u
#define N_COMPILED 10000u
#define SCALARS_BEFORE 3u /* version, its value, capabilities */
#define SCALARS_OF_RULE 9u

struct load_bench {
	struct text text;
	size_t n_rules;
};

static void load_teardown(void *data)
{
	struct load_bench *bench = data;

	if (!bench)
		return;
	text_deinit(&bench->text);
	free(bench);
}

static void load_bench_free(struct load_bench **bench)
{
	load_teardown(*bench);
}

static void add_policy(struct text *out, const struct bench_texts *globs)
{
	text_add(out, "version: 1\ncapabilities:\n");
	for (size_t i = 0; i < globs->n; i++)
		text_addf(out, "- {name: r%zu, match: {op: fs.read, path_glob: %s}, action: %s}\n",
			  i, bench_texts_at(globs, i), policy_action_name(bench_action(i)));
}

static int load_setup(size_t n_rules, struct bench_state *ret, struct sbx_error *err)
{
	_cleanup_(load_bench_free) struct load_bench *bench = calloc(1, sizeof(*bench));
	_cleanup_(bench_texts_deinit) struct bench_texts globs = { .n = 0 };
	struct bench_random random = BENCH_RANDOM_INIT;

	if (!bench || bench_texts_fill(&globs, n_rules, &random, bench_add_glob, NULL) < 0)
		return sbx_error_what(err, -ENOMEM, "cannot write a policy of %zu rules", n_rules);
	add_policy(&bench->text, &globs);
	if (text_status(&bench->text) < 0)
		return sbx_error_what(err, -ENOMEM, "cannot write a policy of %zu rules", n_rules);
	bench->n_rules = n_rules;
	ret->bytes_per_op = bench->text.len;
	ret->data = take_ptr(bench);
	return 0;
}

static int load_1k_setup(struct bench_state *ret, struct sbx_error *err)
{
	return load_setup(N_LOADED, ret, err);
}

static int compile_10k_setup(struct bench_state *ret, struct sbx_error *err)
{
	return load_setup(N_COMPILED, ret, err);
}

static int load(const struct load_bench *bench, struct policy **ret)
{
	return policy_load("bench.yaml", bench->text.data, bench->text.len, ret, NULL);
}

static int load_and_compile(const struct load_bench *bench, void **ret_block, size_t *ret_n_bytes)
{
	_cleanup_policy_ struct policy *policy = NULL;
	int r = load(bench, &policy);

	return r < 0 ? r : policy_compile(policy, ret_block, ret_n_bytes, NULL);
}

static bool load_verify(const void *data)
{
	const struct load_bench *bench = data;
	_cleanup_policy_ struct policy *policy = NULL;
	_cleanup_free_ void *block = NULL;
	struct artefact artefact;
	size_t n_bytes;

	return load(bench, &policy) == 0 && policy->n_rules == bench->n_rules &&
	       load_and_compile(bench, &block, &n_bytes) == 0 &&
	       artefact_open(block, n_bytes, &artefact, NULL) == 0 &&
	       artefact_n_rows(&artefact, SECTION_RULES) == bench->n_rules &&
	       read_events(&bench->text) == SCALARS_BEFORE + bench->n_rules * SCALARS_OF_RULE;
}

static void load_run(void *data, uint64_t n_ops)
{
	for (uint64_t i = 0; i < n_ops; i++) {
		_cleanup_policy_ struct policy *policy = NULL;

		(void)load(data, &policy);
		bench_keep(policy);
	}
}

static void compile_run(void *data, uint64_t n_ops)
{
	for (uint64_t i = 0; i < n_ops; i++) {
		_cleanup_free_ void *block = NULL;
		size_t n_bytes;

		(void)load_and_compile(data, &block, &n_bytes);
		bench_keep(block);
	}
}

static void load_peer(void *data, uint64_t n_ops)
{
	struct load_bench *bench = data;

	for (uint64_t i = 0; i < n_ops; i++) {
		size_t n_scalars = read_events(&bench->text);

		bench_keep(&n_scalars);
	}
}

const struct bench bench_policy_load[] = {
	{
		.name = "policy_load",
		.subject = "a policy of 1,000 rules in YAML, to its model and free again",
		.unit = "ns/op",
		.against = "peer: libyaml, its events alone",
		.setup = load_1k_setup,
		.verify = load_verify,
		.run = load_run,
		.peer = load_peer,
		.teardown = load_teardown,
	},
	{
		.name = "policy_compile",
		.subject = "a policy of 10,000 rules in YAML, to its compiled form",
		.unit = "ns/op",
		.against = "peer: libyaml, its events alone",
		.setup = compile_10k_setup,
		.verify = load_verify,
		.run = compile_run,
		.peer = load_peer,
		.teardown = load_teardown,
	},
	{ .name = NULL },
};
