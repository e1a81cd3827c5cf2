/* SPDX-License-Identifier: MIT */

/*
 * Sizes and times: a policy contains dozens of them, and so do command lines
 *
 * The peer is typical code without base/units: strtoull() and a chain of strcmp(), without refusing
 * signs, spaces or overflow. The texts of a list are parsed in turn, so that the branch predictor
 * cannot learn one text.
 */

#include "bench.h"

#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "base/units.h"

#define N_TEXTS 16 /* a power of two */

struct unit {
	const char *name;
	uint64_t factor;
};

struct sample {
	const char *text;
	uint64_t value;
};

/* The subject of one benchmark; there are two. */
struct units_bench {
	int (*parse)(const char *string, uint64_t *ret, struct sbx_error *err);
	struct unit units[10]; /* ends with a NULL name */
	struct sample samples[N_TEXTS];
};

static const struct units_bench sizes = {
	.parse = units_parse_size,
	.units = { { "B", 1 },
		   { "KiB", 1024 },
		   { "MiB", UINT64_C(1024) * 1024 },
		   { "GiB", UINT64_C(1024) * 1024 * 1024 },
		   { "TiB", UINT64_C(1024) * 1024 * 1024 * 1024 },
		   { "KB", 1000 },
		   { "MB", 1000000 },
		   { "GB", 1000000000 },
		   { "TB", UINT64_C(1000000000000) } },
	.samples = { { "64KiB", 65536 },
		     { "512MiB", 536870912 },
		     { "4096", 4096 },
		     { "2GiB", UINT64_C(2147483648) },
		     { "10MB", 10000000 },
		     { "1TiB", UINT64_C(1099511627776) },
		     { "128KB", 128000 },
		     { "0", 0 },
		     { "1048576", 1048576 },
		     { "3GB", UINT64_C(3000000000) },
		     { "100B", 100 },
		     { "16MiB", 16777216 },
		     { "2TB", UINT64_C(2000000000000) },
		     { "8KiB", 8192 },
		     { "65535", 65535 },
		     { "256MiB", 268435456 } },
};

static const struct units_bench times = {
	.parse = units_parse_time,
	.units = { { "us", 1 },
		   { "ms", 1000 },
		   { "s", 1000000 },
		   { "m", 60000000 },
		   { "h", UINT64_C(3600000000) },
		   { "d", UINT64_C(86400000000) } },
	.samples = { { "500ms", 500000 },
		     { "30s", 30000000 },
		     { "5m", 300000000 },
		     { "250us", 250 },
		     { "2h", UINT64_C(7200000000) },
		     { "1d", UINT64_C(86400000000) },
		     { "100ms", 100000 },
		     { "90s", 90000000 },
		     { "15m", 900000000 },
		     { "1us", 1 },
		     { "12h", UINT64_C(43200000000) },
		     { "7d", UINT64_C(604800000000) },
		     { "5ms", 5000 },
		     { "1s", 1000000 },
		     { "45m", UINT64_C(2700000000) },
		     { "10s", 10000000 } },
};

__attribute__((__noinline__)) static int parse_plainly(const struct unit *units, const char *string,
						       uint64_t *ret)
{
	char *end;
	uint64_t number = strtoull(string, &end, 10);

	if (*end == '\0') {
		*ret = number;
		return 0;
	}
	for (const struct unit *unit = units; unit->name; unit++) {
		if (strcmp(end, unit->name) == 0) {
			*ret = number * unit->factor;
			return 0;
		}
	}
	return -1;
}

/* The tables are const and shared; the loops only read them. */
static int sizes_setup(struct bench_state *ret, struct sbx_error *err)
{
	ret->data = (void *)&sizes;
	return 0;
}

static int times_setup(struct bench_state *ret, struct sbx_error *err)
{
	ret->data = (void *)&times;
	return 0;
}

static void no_teardown(void *data) {}

static bool units_verify(const void *data)
{
	const struct units_bench *bench = data;

	for (size_t i = 0; i < N_TEXTS; i++) {
		const struct sample *sample = &bench->samples[i];
		uint64_t own, peer;

		if (bench->parse(sample->text, &own, NULL) < 0 || own != sample->value ||
		    parse_plainly(bench->units, sample->text, &peer) < 0 || peer != sample->value)
			return false;
	}
	return true;
}

static void units_run(void *data, uint64_t n_ops)
{
	const struct units_bench *bench = data;
	uint64_t value;

	for (uint64_t i = 0; i < n_ops; i++) {
		(void)bench->parse(bench->samples[i % N_TEXTS].text, &value, NULL);
		bench_keep(&value);
	}
}

static void units_peer(void *data, uint64_t n_ops)
{
	const struct units_bench *bench = data;
	uint64_t value;

	for (uint64_t i = 0; i < n_ops; i++) {
		(void)parse_plainly(bench->units, bench->samples[i % N_TEXTS].text, &value);
		bench_keep(&value);
	}
}

const struct bench bench_units[] = {
	{
		.name = "unit_parse_size",
		.subject = "read one size, such as 512MiB",
		.unit = "ns/op",
		.against = "peer: strtoull and a strcmp chain",
		.claims_no_allocation = true,
		.setup = sizes_setup,
		.verify = units_verify,
		.run = units_run,
		.peer = units_peer,
		.teardown = no_teardown,
	},
	{
		.name = "unit_parse_time",
		.subject = "read one time, such as 500ms",
		.unit = "ns/op",
		.against = "peer: strtoull and a strcmp chain",
		.claims_no_allocation = true,
		.setup = times_setup,
		.verify = units_verify,
		.run = units_run,
		.peer = units_peer,
		.teardown = no_teardown,
	},
	{ .name = NULL },
};
