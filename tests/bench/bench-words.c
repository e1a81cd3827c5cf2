/* SPDX-License-Identifier: MIT */

/*
 * Does a command line contain any of 1,733 words? Usually not, so that case is measured
 *
 * The words share prefixes with words of the line, so that the automaton leaves its first states
 * and strstr() has false starts, as with real lists.
 */

#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "base/automaton.h"
#include "base/cleanup.h"

#define N_WORDS 1733
#define WORD_SIZE 32

static const char line[] =
	"python3 -m pytest --quiet --maxfail=1 tests/unit && curl --silent --output report.json "
	"https://example.org/api/v1/report && git commit --all --message 'update the report' && rm "
	"-r build/cache out/temp";

static const char *const commands[] = { "curl",	 "wget", "git",	   "python3", "rm",  "dd",
					"chmod", "ssh",	 "docker", "kubectl", "tar", "make" };
static const char *const actions[] = { "--output", "--silent", "commit", "-m pytest", "-r /",
				       "upload",   "--exec",   "push",	 "build/" };

struct words_bench {
	char words[N_WORDS][WORD_SIZE];
	const char *pointers[N_WORDS];
	struct automaton *automaton;
};

static void words_teardown(void *data)
{
	struct words_bench *bench = data;

	if (!bench)
		return;
	free(bench->automaton);
	free(bench);
}

static void words_bench_free(struct words_bench **bench)
{
	words_teardown(*bench);
}

static int words_setup(struct bench_state *ret, struct sbx_error *err)
{
	_cleanup_(words_bench_free) struct words_bench *bench = calloc(1, sizeof(*bench));

	if (!bench)
		return sbx_error_what(err, -ENOMEM, "cannot set up word_scan");
	for (size_t i = 0; i < N_WORDS; i++) {
		(void)snprintf(bench->words[i], WORD_SIZE, "%s %s%03zu",
			       commands[i % N_ELEMENTS(commands)],
			       actions[i / N_ELEMENTS(commands) % N_ELEMENTS(actions)], i);
		bench->pointers[i] = bench->words[i];
	}

	int r = automaton_build(bench->pointers, N_WORDS, 0, &bench->automaton, err);

	if (r < 0)
		return r;
	ret->bytes_per_op = sizeof(line) - 1;
	ret->data = take_ptr(bench);
	return 0;
}

static bool any_by_strstr(const struct words_bench *bench, const char *text)
{
	for (size_t i = 0; i < N_WORDS; i++)
		if (strstr(text, bench->pointers[i]))
			return true;
	return false;
}

static bool words_verify(const void *data)
{
	const struct words_bench *bench = data;
	const char *hit = bench->words[N_WORDS - 1];

	return !automaton_any(bench->automaton, line, sizeof(line) - 1) &&
	       !any_by_strstr(bench, line) && automaton_any(bench->automaton, hit, strlen(hit)) &&
	       any_by_strstr(bench, hit);
}

static void words_run(void *data, uint64_t n_ops)
{
	struct words_bench *bench = data;

	for (uint64_t i = 0; i < n_ops; i++) {
		bool any = automaton_any(bench->automaton, line, sizeof(line) - 1);

		bench_keep(&any);
	}
}

static void words_peer(void *data, uint64_t n_ops)
{
	struct words_bench *bench = data;

	for (uint64_t i = 0; i < n_ops; i++) {
		bool any = any_by_strstr(bench, line);

		bench_keep(&any);
	}
}

const struct bench bench_words[] = {
	{
		.name = "word_scan",
		.subject = "a command line of 200 bytes that holds none of 1,733 words",
		.unit = "ns/op",
		.against = "peer: strstr for each word",
		.claims_no_allocation = true,
		.setup = words_setup,
		.verify = words_verify,
		.run = words_run,
		.peer = words_peer,
		.teardown = words_teardown,
	},
	{ .name = NULL },
};
