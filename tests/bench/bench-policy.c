/* SPDX-License-Identifier: MIT */

/*
 * One decision, with policies of different sizes
 *
 * There are many different requests, as from a real tool: repeating a few paths would measure the
 * CPU cache. Before the measurement, engine and peer must give the same answers. All four kinds of
 * index use the same benchmark with another table.
 */

#include "bench.h"

#include <errno.h>
#include <stdlib.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "bench-policy-linear.h"
#include "bench-policy-rules.h"
#include "policy/artefact.h"
#include "policy/decide.h"

#define N_REQUESTS 16384 /* a power of two */
#define PORT 443
#define VERIFIED_STEPS 2000000 /* rules that the peer may test during the verification */

/* The values of a rule's key, the requested arguments, and how the peer compares them. */
struct policy_subject {
	enum match_key key;
	const char *operation;
	void (*add_value)(struct text *out, struct bench_random *random, void *userdata);
	void (*add_argument)(struct text *out, struct bench_random *random, void *userdata);
	const struct linear_kind *linear;
};

struct policy_bench {
	struct bench_texts values;
	struct bench_texts arguments;
	struct policy_request *requests;
	void *block;
	struct artefact artefact;
	struct policy_engine *engine;
	struct linear linear;
	size_t next;
	size_t peer_next;
};

static void add_host_value(struct text *out, struct bench_random *random, void *userdata)
{
	text_addf(out, "%sh%u.example.org", bench_random(random) % 2 ? "*." : "",
		  bench_random(random) % 40000);
}

static void add_host(struct text *out, struct bench_random *random, void *userdata)
{
	text_addf(out, "%sh%u.example.org", bench_random(random) % 2 ? "www." : "",
		  bench_random(random) % 40000);
}

/* Networks of 16, 24 and 32 bits within 10.0.0.0/8, like the requested addresses. */
static void add_network(struct text *out, struct bench_random *random, void *userdata)
{
	unsigned a = bench_random(random) % 256, b = bench_random(random) % 256;

	if (bench_random(random) % 64 == 0)
		text_addf(out, "10.%u.0.0/16", a);
	else if (bench_random(random) % 2)
		text_addf(out, "10.%u.%u.0/24", a, b);
	else
		text_addf(out, "10.%u.%u.%u/32", a, b, bench_random(random) % 256);
}

static void add_address(struct text *out, struct bench_random *random, void *userdata)
{
	unsigned a = bench_random(random) % 256, b = bench_random(random) % 256;

	text_addf(out, "10.%u.%u.%u", a, b, bench_random(random) % 256);
}

static void add_ports(struct text *out, struct bench_random *random, void *userdata)
{
	unsigned first = 1 + bench_random(random) % 60000;

	if (bench_random(random) % 4)
		text_addf(out, "%u", first);
	else
		text_addf(out, "%u-%u", first, first + 1 + bench_random(random) % 20);
}

/* The port depends on the number of the request (fill_request()). */
static void add_one_host(struct text *out, struct bench_random *random, void *userdata)
{
	text_add(out, "www.example.org");
}

static const struct policy_subject by_glob = { .key = MATCH_PATH,
					       .operation = "fs.read",
					       .add_value = bench_add_glob,
					       .add_argument = bench_add_path,
					       .linear = &linear_globs };
static const struct policy_subject by_host = { .key = MATCH_HOST,
					       .operation = "net.connect",
					       .add_value = add_host_value,
					       .add_argument = add_host,
					       .linear = &linear_hosts };
static const struct policy_subject by_network = { .key = MATCH_CIDR,
						  .operation = "net.connect",
						  .add_value = add_network,
						  .add_argument = add_address,
						  .linear = &linear_networks };
static const struct policy_subject by_port = { .key = MATCH_PORT,
					       .operation = "net.connect",
					       .add_value = add_ports,
					       .add_argument = add_one_host,
					       .linear = &linear_ports };

static void policy_teardown(void *data)
{
	struct policy_bench *bench = data;

	if (!bench)
		return;
	(void)policy_engine_free(bench->engine);
	linear_deinit(&bench->linear);
	free(bench->block);
	free(bench->requests);
	bench_texts_deinit(&bench->arguments);
	bench_texts_deinit(&bench->values);
	free(bench);
}

static void policy_bench_free(struct policy_bench **bench)
{
	policy_teardown(*bench);
}

static void fill_request(const struct policy_subject *subject, const char *argument, size_t i,
			 struct policy_request *ret)
{
	ret->operation = subject->operation;
	if (subject->key == MATCH_PATH) {
		ret->path = argument;
		ret->project_root = "/srv/project";
		return;
	}
	ret->host = argument;
	ret->has_port = true;
	ret->port = subject->key == MATCH_PORT ? (uint16_t)(1 + i * 7919 % 60000) : PORT;
}

static int make_texts(struct policy_bench *bench, const struct policy_subject *subject, size_t n)
{
	struct bench_random random = BENCH_RANDOM_INIT;
	int r = bench_texts_fill(&bench->values, n, &random, subject->add_value, NULL);

	if (r == 0)
		r = bench_texts_fill(&bench->arguments, N_REQUESTS, &random, subject->add_argument,
				     &bench->values);
	bench->requests = calloc(N_REQUESTS, sizeof(*bench->requests));
	if (r < 0 || !bench->requests)
		return -ENOMEM;
	for (size_t i = 0; i < N_REQUESTS; i++)
		fill_request(subject, bench_texts_at(&bench->arguments, i), i, &bench->requests[i]);
	return linear_init(&bench->linear, subject->linear, &bench->values);
}

static int policy_setup(const struct policy_subject *subject, size_t n_rules,
			struct bench_state *ret, struct sbx_error *err)
{
	_cleanup_(policy_bench_free) struct policy_bench *bench = calloc(1, sizeof(*bench));
	size_t n_bytes;

	if (!bench)
		return sbx_error_what(err, -ENOMEM, "cannot set up the policy benchmarks");

	int r = make_texts(bench, subject, n_rules);

	if (r < 0)
		return sbx_error_what(err, r, "cannot set up the policy benchmarks");
	r = bench_compile(&bench->values, subject->key, subject->operation, &bench->block, &n_bytes,
			  err);
	if (r == 0)
		r = artefact_open(bench->block, n_bytes, &bench->artefact, err);
	if (r < 0)
		return r;
	if (policy_engine_new(&bench->artefact, &bench->engine) < 0)
		return sbx_error_what(err, -ENOMEM, "cannot set up the policy benchmarks");
	ret->data = take_ptr(bench);
	return 0;
}

static int globs_10_setup(struct bench_state *ret, struct sbx_error *err)
{
	return policy_setup(&by_glob, 10, ret, err);
}

static int globs_1k_setup(struct bench_state *ret, struct sbx_error *err)
{
	return policy_setup(&by_glob, 1000, ret, err);
}

static int globs_10k_setup(struct bench_state *ret, struct sbx_error *err)
{
	return policy_setup(&by_glob, 10000, ret, err);
}

static int globs_100k_setup(struct bench_state *ret, struct sbx_error *err)
{
	return policy_setup(&by_glob, 100000, ret, err);
}

static int hosts_setup(struct bench_state *ret, struct sbx_error *err)
{
	return policy_setup(&by_host, 10000, ret, err);
}

static int networks_setup(struct bench_state *ret, struct sbx_error *err)
{
	return policy_setup(&by_network, 10000, ret, err);
}

static int ports_setup(struct bench_state *ret, struct sbx_error *err)
{
	return policy_setup(&by_port, 1000, ret, err);
}

/* Also fails if the requests have only one verdict. */
static bool policy_verify(const void *data)
{
	const struct policy_bench *bench = data;
	size_t n = VERIFIED_STEPS / bench->values.n, n_met = 0;

	if (n > N_REQUESTS)
		n = N_REQUESTS;
	for (size_t i = 0; i < n; i++) {
		struct policy_decision decision;

		policy_decide(bench->engine, &bench->requests[i], &decision);
		if (decision.verdict != linear_decide(&bench->linear, &bench->requests[i]))
			return false;
		n_met += decision.cause == CAUSE_RULES;
	}
	return n_met > 0 && n_met < n;
}

static void policy_run(void *data, uint64_t n_ops)
{
	struct policy_bench *bench = data;

	for (uint64_t i = 0; i < n_ops; i++) {
		struct policy_decision decision;

		policy_decide(bench->engine, &bench->requests[bench->next++ % N_REQUESTS],
			      &decision);
		bench_keep(&decision);
	}
}

static void policy_peer(void *data, uint64_t n_ops)
{
	struct policy_bench *bench = data;

	for (uint64_t i = 0; i < n_ops; i++) {
		enum policy_action action =
			linear_decide(&bench->linear,
				      &bench->requests[bench->peer_next++ % N_REQUESTS]);

		bench_keep(&action);
	}
}

#define DECISION(name_, subject_, against_, setup_)                                                \
	{                                                                                          \
		.name = (name_), .subject = (subject_), .unit = "ns/op", .against = (against_),    \
		.claims_no_allocation = true, .setup = (setup_), .verify = policy_verify,          \
		.run = policy_run, .peer = policy_peer, .teardown = policy_teardown,               \
	}

const struct bench bench_policy[] = {
	DECISION("policy_path_10", "decide about one path, 10 rules with a glob each",
		 "peer: fnmatch, rule by rule", globs_10_setup),
	DECISION("policy_path_1k", "the same with 1,000 rules", "peer: fnmatch, rule by rule",
		 globs_1k_setup),
	DECISION("policy_path_10k", "the same with 10,000 rules", "peer: fnmatch, rule by rule",
		 globs_10k_setup),
	DECISION("policy_path_100k", "the same with 100,000 rules", "peer: fnmatch, rule by rule",
		 globs_100k_setup),
	DECISION("policy_host_10k", "decide about one host name, 10,000 rules",
		 "peer: strcasecmp, rule by rule", hosts_setup),
	DECISION("policy_cidr_10k", "decide about one IPv4 address, 10,000 rules",
		 "peer: inet_pton and a mask, rule by rule", networks_setup),
	DECISION("policy_port_1k", "decide about one port, 1,000 rules",
		 "peer: a range, rule by rule", ports_setup),
	{ .name = NULL },
};
