/* SPDX-License-Identifier: MIT */

/*
 * What somebody else has seen of the log: its checkpoints as they were published, or their sizes
 * and roots alone. A checkpoint is taken apart like any other; what it is signed with is not
 * needed, since the log has to reproduce its root.
 */

#include "audit/verify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "audit/base64.h"
#include "audit/checkpoint.h"

#define SIGNATURE_LINE "\xe2\x80\x94 "

void witness_deinit(struct witness *witness)
{
	free(witness->heads);
	*witness = (struct witness)WITNESS_INIT;
}

struct reading {
	const char *at;
	const char *end;
	unsigned line;
	struct witness witness;
	size_t n_max;
};

static size_t left(const struct reading *reading)
{
	return (size_t)(reading->end - reading->at);
}

static int fail(const struct reading *reading, const char *why, struct sbx_error *err)
{
	(void)sbx_error_what(err, -EBADMSG, "cannot read line %u of what was witnessed",
			     reading->line);
	sbx_error_why(err, "%s", why);
	sbx_error_fix(err, "write signed checkpoints as the log publishes them, or lines "
			   "'SIZE ROOT'");
	return -EBADMSG;
}

static int add_head(struct reading *reading, uint64_t size, const struct audit_hash *root,
		    struct sbx_error *err)
{
	struct witness *witness = &reading->witness;

	if (witness->n_heads == WITNESS_HEADS_MAX)
		return fail(reading, "there are more than 100000 heads", err);
	if (witness->n_heads == reading->n_max) {
		size_t n_max = reading->n_max ? 2 * reading->n_max : 64;
		void *grown = reallocarray(witness->heads, n_max, sizeof(*witness->heads));

		if (!grown)
			return sbx_error_what(err, -ENOMEM, "cannot read what was witnessed");
		witness->heads = grown;
		reading->n_max = n_max;
	}
	witness->heads[witness->n_heads++] = (struct witness_head){ .size = size, .root = *root };
	return 0;
}

/* The length of the line without its newline, which may be missing at the end. */
static size_t line_length(const struct reading *reading)
{
	const char *newline = memchr(reading->at, '\n', left(reading));

	return newline ? (size_t)(newline - reading->at) : left(reading);
}

static void pass_line(struct reading *reading, size_t n)
{
	reading->at += n < left(reading) ? n + 1 : n;
	reading->line++;
}

static int take_pair(struct reading *reading, struct sbx_error *err)
{
	size_t n = line_length(reading), i = 0;
	struct audit_hash root;
	uint64_t size = 0;
	int r;

	for (; i < n && i < 19 && reading->at[i] >= '0' && reading->at[i] <= '9'; i++)
		size = size * 10 + (uint64_t)(reading->at[i] - '0');
	if (size == 0 || i == n || reading->at[i] != ' ' ||
	    base64_decode_exactly(reading->at + i + 1, n - i - 1, root.bytes, sizeof(root.bytes)) <
		    0)
		return fail(reading, "it is not a size and a root", err);
	r = add_head(reading, size, &root, err);
	pass_line(reading, n);
	return r;
}

static int take_note(struct reading *reading, struct sbx_error *err)
{
	const char *end = memmem(reading->at, left(reading), "\n\n", 2);
	struct audit_checkpoint checkpoint;
	struct witness *witness = &reading->witness;
	int r = -EBADMSG;

	if (end)
		r = checkpoint_parse(reading->at, (size_t)(end - reading->at) + 1, &checkpoint,
				     NULL);
	if (r == -ENOMEM)
		return sbx_error_what(err, r, "cannot read what was witnessed");
	if (r < 0)
		return fail(reading, "no checkpoint begins there", err);
	if (witness->origin[0] != '\0' && strcmp(witness->origin, checkpoint.origin) != 0)
		return fail(reading, "it is of another log than those before", err);
	memcpy(witness->origin, checkpoint.origin, sizeof(witness->origin));
	while (reading->at < end)
		pass_line(reading, line_length(reading));
	return add_head(reading, checkpoint.size, &checkpoint.root, err);
}

static int take(struct reading *reading, struct sbx_error *err)
{
	size_t n = line_length(reading), n_signature = strlen(SIGNATURE_LINE);
	bool is_signature =
		n >= n_signature && memcmp(reading->at, SIGNATURE_LINE, n_signature) == 0;

	if (n == 0 || is_signature) {
		pass_line(reading, n);
		return 0;
	}
	if (reading->at[0] >= '0' && reading->at[0] <= '9')
		return take_pair(reading, err);
	return take_note(reading, err);
}

static int compare_heads(const void *a, const void *b)
{
	const struct witness_head *left_head = a, *right_head = b;

	return (left_head->size > right_head->size) - (left_head->size < right_head->size);
}

void witness_sort(struct witness *witness)
{
	if (witness->n_heads > 0)
		qsort(witness->heads, witness->n_heads, sizeof(*witness->heads), compare_heads);
}

void witness_drop(struct witness *witness, uint64_t size)
{
	size_t n = 0;

	while (n < witness->n_heads && witness->heads[n].size < size)
		n++;
	witness->n_heads -= n;
	if (n > 0)
		memmove(witness->heads, witness->heads + n,
			witness->n_heads * sizeof(*witness->heads));
}

int witness_parse(struct witness *ret, const char *bytes, size_t n_bytes, struct sbx_error *err)
{
	struct reading reading = { .at = bytes, .end = bytes + n_bytes, .line = 1 };
	int r = 0;

	while (r == 0 && reading.at < reading.end)
		r = take(&reading, err);
	if (r < 0) {
		witness_deinit(&reading.witness);
		return r;
	}
	witness_sort(&reading.witness);
	*ret = reading.witness;
	return 0;
}
