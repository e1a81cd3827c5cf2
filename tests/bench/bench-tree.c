/* SPDX-License-Identifier: MIT */

/*
 * Reading the tree of a policy file
 *
 * The peer is libyaml's event loop over the same text, on which the tree is based: the difference
 * is the cost of positions, types, the check for duplicate keys, and copies.
 */

#include "bench.h"

#include <errno.h>
#include <stdlib.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/tree.h"
#include "bench-yaml-events.h"

#define N_RULES 24u

struct tree_bench {
	struct text policy;
};

static void tree_teardown(void *data)
{
	struct tree_bench *bench = data;

	if (!bench)
		return;
	text_deinit(&bench->policy);
	free(bench);
}

static void tree_bench_free(struct tree_bench **bench)
{
	tree_teardown(*bench);
}

static void add_policy(struct text *out)
{
	text_add(out, "# What the build may do\nversion: 1\nisolation:\n  tier: full\n"
		      "  namespaces: [user, mount, pid, net]\nlimits: {memory: 512MiB, pids: 64}\n"
		      "fs:\n  rules:\n");
	for (unsigned i = 0; i < N_RULES; i++) {
		text_addf(out, "    - name: sources-%u\n      path_glob: \"src/module-%u/**\"\n", i,
			  i);
		text_addf(out, "      action: %s\n      priority: %u\n",
			  i % 3 ? "allow" : "require_review", i);
	}
}

static int tree_setup(struct bench_state *ret, struct sbx_error *err)
{
	_cleanup_(tree_bench_free) struct tree_bench *bench = calloc(1, sizeof(*bench));

	if (!bench)
		return sbx_error_what(err, -ENOMEM, "cannot set up tree_read");
	add_policy(&bench->policy);
	if (text_status(&bench->policy) < 0)
		return sbx_error_what(err, -ENOMEM, "cannot set up tree_read");
	ret->bytes_per_op = bench->policy.len;
	ret->data = take_ptr(bench);
	return 0;
}

static bool tree_verify(const void *data)
{
	const struct tree_bench *bench = data;
	_cleanup_tree_ struct tree *tree = NULL;

	if (tree_read("policy", bench->policy.data, bench->policy.len, &tree, NULL) < 0)
		return false;

	const struct tree_node *fs = tree_get(tree, tree_root(tree), "fs");
	const struct tree_node *rules = fs ? tree_get(tree, fs, "rules") : NULL;

	/* A rule has four keys with values; 17 scalars precede the rules. */
	return rules && rules->n_children == N_RULES &&
	       read_events(&bench->policy) == N_RULES * 8 + 17;
}

static void tree_run(void *data, uint64_t n_ops)
{
	struct tree_bench *bench = data;

	for (uint64_t i = 0; i < n_ops; i++) {
		_cleanup_tree_ struct tree *tree = NULL;

		(void)tree_read("policy", bench->policy.data, bench->policy.len, &tree, NULL);
		bench_keep(tree);
	}
}

static void tree_peer(void *data, uint64_t n_ops)
{
	struct tree_bench *bench = data;

	for (uint64_t i = 0; i < n_ops; i++) {
		size_t n_scalars = read_events(&bench->policy);

		bench_keep(&n_scalars);
	}
}

const struct bench bench_tree[] = {
	{
		.name = "tree_read",
		.subject = "a policy of 24 rules in YAML, to a tree and free again",
		.unit = "ns/op",
		.against = "peer: libyaml, its events alone",
		.setup = tree_setup,
		.verify = tree_verify,
		.run = tree_run,
		.peer = tree_peer,
		.teardown = tree_teardown,
	},
	{ .name = NULL },
};
