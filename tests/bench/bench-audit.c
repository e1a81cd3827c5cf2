/* SPDX-License-Identifier: MIT */

/*
 * The cost of a record before it is stored: parsing a line, searching for secrets, extracting the
 * columns
 *
 * The floor is the scan of the line that finds its values.
 */

#include "bench.h"

#include <errno.h>
#include <stdlib.h>

#include <sbx/error.h>

#include "audit/entry.h"
#include "audit/redact.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "bench-audit-place.h"

struct entry_bench {
	struct arena arena;
	struct bench_line lines[BENCH_LINES];
	uint64_t next, next_floor;
	struct audit_entry *entry;
	struct redactor *redactor;
};

static void entry_teardown(void *data)
{
	struct entry_bench *bench = data;

	if (!bench)
		return;
	if (bench->entry)
		entry_deinit(bench->entry);
	free(bench->entry);
	(void)redactor_free(bench->redactor);
	arena_deinit(&bench->arena);
	free(bench);
}

static void entry_bench_free(struct entry_bench **bench)
{
	entry_teardown(*bench);
}

static int prepare(struct entry_bench *bench, size_t *ret_bytes, struct sbx_error *err)
{
	size_t n_bytes = bench_audit_make_lines(&bench->arena, bench->lines);
	int r;

	bench->entry = calloc(1, sizeof(*bench->entry));
	if (!bench->entry || n_bytes == 0)
		return sbx_error_what(err, -ENOMEM, "cannot set up audit_entry");
	r = redactor_new(NULL, 0, &bench->redactor, err);
	if (r < 0)
		return r;
	*ret_bytes = n_bytes / BENCH_LINES;
	return 0;
}

static int entry_setup(struct bench_state *ret, struct sbx_error *err)
{
	_cleanup_(entry_bench_free) struct entry_bench *bench = calloc(1, sizeof(*bench));
	int r;

	if (!bench)
		return sbx_error_what(err, -ENOMEM, "cannot set up audit_entry");
	r = prepare(bench, &ret->bytes_per_op, err);
	if (r == 0)
		ret->data = take_ptr(bench);
	return r;
}

static int read_line(struct entry_bench *bench, uint64_t i)
{
	const struct bench_line *line = &bench->lines[i % BENCH_LINES];
	const struct entry_options options = { .redactor = bench->redactor, .now_usec = 1 };

	return entry_read(bench->entry, &options, line->bytes, line->n_bytes, NULL);
}

static bool entry_verify(const void *data)
{
	struct entry_bench *bench = (struct entry_bench *)data;

	for (uint64_t i = 0; i < BENCH_LINES; i++) {
		const struct bench_line *line = &bench->lines[i];

		if (read_line(bench, i) < 0 || bench->entry->body.len != line->n_bytes ||
		    bench->entry->columns[ENTRY_SANDBOX].n_bytes < 5 ||
		    json_validate(line->bytes, line->n_bytes, NULL, NULL) < 0)
			return false;
	}
	return true;
}

static void entry_run(void *data, uint64_t n_ops)
{
	struct entry_bench *bench = data;

	for (uint64_t i = 0; i < n_ops; i++) {
		(void)read_line(bench, bench->next++);
		bench_keep(bench->entry);
	}
}

static void entry_floor(void *data, uint64_t n_ops)
{
	struct entry_bench *bench = data;

	for (uint64_t i = 0; i < n_ops; i++) {
		const struct bench_line *line = &bench->lines[bench->next_floor++ % BENCH_LINES];
		int r = json_validate(line->bytes, line->n_bytes, NULL, NULL);

		bench_keep(&r);
	}
}

const struct bench bench_audit[] = {
	{
		.name = "audit_entry",
		.subject = "a line becomes what is stored: checked, redacted, its columns found",
		.unit = "ns/op",
		.against = "floor: one walk over its JSON",
		.claims_no_allocation = true,
		.setup = entry_setup,
		.verify = entry_verify,
		.run = entry_run,
		.peer = entry_floor,
		.teardown = entry_teardown,
	},
	{ .name = NULL },
};
