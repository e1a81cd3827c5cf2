/* SPDX-License-Identifier: MIT */

/*
 * A command line of 13 words with a table of 20 options, like that of sbx-spawn
 *
 * The peer is getopt_long() with the same options. It parses sizes and times with the same
 * base/units, so that only the parser differs. Both move operands in argv, so each operation starts
 * from a copy.
 */

#include "bench.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/options.h"
#include "base/units.h"

struct values {
	const char *policy, *tier, *net, *name, *profile, *write, *workdir, *host, *user, *group;
	uint64_t memory, time_limit, tmpfs, pids, cpu;
	bool print_plan, json, pty, learn;
	int verbose;
};

static const char *const net_choices[] = { "none", "proxy", "transparent", NULL };
static const char *const tier_choices[] = { "full", "reduced", NULL };

#define OPTION(option, letter_, kind_, member, metavar_, choices_)                                 \
	{                                                                                          \
		.name = (option), .letter = (letter_), .kind = (kind_),                            \
		.offset = offsetof(struct values, member), .metavar = (metavar_),                  \
		.choices = (choices_), .help = "a benchmark's option",                             \
	}

static const struct option_spec specs[] = {
	OPTION("policy", 'p', OPTION_PATH, policy, "FILE", NULL),
	OPTION("tier", 't', OPTION_CHOICE, tier, "TIER", tier_choices),
	OPTION("net", 'n', OPTION_CHOICE, net, "MODE", net_choices),
	OPTION("name", 0, OPTION_STRING, name, "NAME", NULL),
	OPTION("profile", 0, OPTION_STRING, profile, "NAME", NULL),
	OPTION("write", 'w', OPTION_PATH, write, "PATH", NULL),
	OPTION("workdir", 'C', OPTION_PATH, workdir, "PATH", NULL),
	OPTION("host", 0, OPTION_STRING, host, "NAME", NULL),
	OPTION("user", 'u', OPTION_STRING, user, "NAME", NULL),
	OPTION("group", 'g', OPTION_STRING, group, "NAME", NULL),
	OPTION("memory", 'm', OPTION_SIZE, memory, "SIZE", NULL),
	OPTION("time-limit", 0, OPTION_TIME, time_limit, "TIME", NULL),
	OPTION("tmpfs", 0, OPTION_SIZE, tmpfs, "SIZE", NULL),
	OPTION("pids", 0, OPTION_NUMBER, pids, "N", NULL),
	OPTION("cpu", 0, OPTION_NUMBER, cpu, "PERCENT", NULL),
	OPTION("print-plan", 0, OPTION_FLAG, print_plan, NULL, NULL),
	OPTION("json", 0, OPTION_FLAG, json, NULL, NULL),
	OPTION("pty", 0, OPTION_FLAG, pty, NULL, NULL),
	OPTION("learn", 0, OPTION_FLAG, learn, NULL, NULL),
	OPTION("verbose", 'v', OPTION_COUNT, verbose, NULL, NULL),
	OPTION_END,
};

/* Return values of getopt_long() for the rows, in the same order. */
enum peer_option {
	PEER_POLICY = 'p',
	PEER_TIER = 't',
	PEER_NET = 'n',
	PEER_WRITE = 'w',
	PEER_WORKDIR = 'C',
	PEER_USER = 'u',
	PEER_GROUP = 'g',
	PEER_MEMORY = 'm',
	PEER_VERBOSE = 'v',
	PEER_NAME = 256,
	PEER_PROFILE,
	PEER_HOST,
	PEER_TIME_LIMIT,
	PEER_TMPFS,
	PEER_PIDS,
	PEER_CPU,
	PEER_PRINT_PLAN,
	PEER_JSON,
	PEER_PTY,
	PEER_LEARN,
};

static const struct option peer_options[] = {
	{ "policy", required_argument, NULL, PEER_POLICY },
	{ "tier", required_argument, NULL, PEER_TIER },
	{ "net", required_argument, NULL, PEER_NET },
	{ "name", required_argument, NULL, PEER_NAME },
	{ "profile", required_argument, NULL, PEER_PROFILE },
	{ "write", required_argument, NULL, PEER_WRITE },
	{ "workdir", required_argument, NULL, PEER_WORKDIR },
	{ "host", required_argument, NULL, PEER_HOST },
	{ "user", required_argument, NULL, PEER_USER },
	{ "group", required_argument, NULL, PEER_GROUP },
	{ "memory", required_argument, NULL, PEER_MEMORY },
	{ "time-limit", required_argument, NULL, PEER_TIME_LIMIT },
	{ "tmpfs", required_argument, NULL, PEER_TMPFS },
	{ "pids", required_argument, NULL, PEER_PIDS },
	{ "cpu", required_argument, NULL, PEER_CPU },
	{ "print-plan", no_argument, NULL, PEER_PRINT_PLAN },
	{ "json", no_argument, NULL, PEER_JSON },
	{ "pty", no_argument, NULL, PEER_PTY },
	{ "learn", no_argument, NULL, PEER_LEARN },
	{ "verbose", no_argument, NULL, PEER_VERBOSE },
	{ NULL, 0, NULL, 0 },
};

static char *const command_line[] = {
	(char *)"sbx-spawn",
	(char *)"--policy=build.yaml",
	(char *)"--memory",
	(char *)"512MiB",
	(char *)"--time-limit=90s",
	(char *)"-n",
	(char *)"proxy",
	(char *)"--pids=64",
	(char *)"-v",
	(char *)"--json",
	(char *)"--write",
	(char *)"out",
	(char *)"--",
	(char *)"make",
	NULL,
};

#define N_WORDS ((int)N_ELEMENTS(command_line) - 1)

struct options_bench {
	char *argv[N_ELEMENTS(command_line)];
	struct values values;
};

static int parse_own(struct options_bench *bench)
{
	const struct option_group groups[] = {
		{ .options = specs, .values = &bench->values },
		{ .options = NULL },
	};

	memcpy(bench->argv, command_line, sizeof(command_line));
	bench->values = (struct values){ .policy = NULL };
	return options_parse(groups, NULL, true, N_WORDS, bench->argv, NULL);
}

static int choose(const char *const *choices, const char *value, const char **ret)
{
	for (; *choices; choices++) {
		if (strcmp(*choices, value) == 0) {
			*ret = value;
			return 0;
		}
	}
	return -EINVAL;
}

/* A switch, as in programs that use getopt_long(). */
static int store_peer(int option, const char *value, struct values *ret)
{
	switch (option) {
	case PEER_POLICY:
		ret->policy = value;
		return 0;
	case PEER_WRITE:
		ret->write = value;
		return 0;
	case PEER_TIER:
		return choose(tier_choices, value, &ret->tier);
	case PEER_NET:
		return choose(net_choices, value, &ret->net);
	case PEER_MEMORY:
		return units_parse_size(value, &ret->memory, NULL);
	case PEER_TIME_LIMIT:
		return units_parse_time(value, &ret->time_limit, NULL);
	case PEER_PIDS:
		return units_parse_count(value, &ret->pids, NULL);
	case PEER_JSON:
		ret->json = true;
		return 0;
	case PEER_VERBOSE:
		ret->verbose++;
		return 0;
	default:
		return -EINVAL;
	}
}

static int parse_peer(struct options_bench *bench)
{
	int option;

	memcpy(bench->argv, command_line, sizeof(command_line));
	bench->values = (struct values){ .policy = NULL };
	optind = 0; /* glibc: reinitialise */
	opterr = 0;
	while ((option = getopt_long(N_WORDS, bench->argv, "+p:t:n:w:C:u:g:m:v", peer_options,
				     NULL)) >= 0) {
		int r = store_peer(option, optarg, &bench->values);

		if (r < 0)
			return r;
	}
	return N_WORDS - optind;
}

static int options_setup(struct bench_state *ret, struct sbx_error *err)
{
	ret->data = calloc(1, sizeof(struct options_bench));
	return ret->data ? 0 : sbx_error_what(err, -ENOMEM, "cannot set up option_parse");
}

static bool values_are_right(const struct values *values)
{
	return values->policy && strcmp(values->policy, "build.yaml") == 0 && values->net &&
	       strcmp(values->net, "proxy") == 0 && values->write &&
	       strcmp(values->write, "out") == 0 && values->memory == UINT64_C(512) * 1024 * 1024 &&
	       values->time_limit == 90000000 && values->pids == 64 && values->json &&
	       values->verbose == 1;
}

static bool options_verify(const void *data)
{
	struct options_bench own = { .argv = { NULL } }, peer = { .argv = { NULL } };

	return parse_own(&own) == 1 && strcmp(own.argv[0], "make") == 0 &&
	       values_are_right(&own.values) && parse_peer(&peer) == 1 &&
	       values_are_right(&peer.values);
}

static void options_run(void *data, uint64_t n_ops)
{
	for (uint64_t i = 0; i < n_ops; i++) {
		(void)parse_own(data);
		bench_keep(data);
	}
}

static void options_peer(void *data, uint64_t n_ops)
{
	for (uint64_t i = 0; i < n_ops; i++) {
		(void)parse_peer(data);
		bench_keep(data);
	}
}

const struct bench bench_options[] = {
	{
		.name = "option_parse",
		.subject = "a command line of 14 words over a table of 20 options",
		.unit = "ns/op",
		.against = "peer: getopt_long, the same table",
		.claims_no_allocation = true,
		.setup = options_setup,
		.verify = options_verify,
		.run = options_run,
		.peer = options_peer,
		.teardown = free,
	},
	{ .name = NULL },
};
