/* SPDX-License-Identifier: MIT */

/*
 * One record after the other
 *
 * The hash of a record is computed from the one before it, as it was computed, and never from what
 * is stored as its hash: so the first record that is not right is the first one that is told.
 */

#include "audit/verify-internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "audit/checkpoint.h"
#include "audit/stub.h"

#define PROGRESS_RECORDS 8192

static int fail_record(struct verification *v, uint64_t seq, const char *why)
{
	struct sbx_error *finding = verify_finding_at(v, VERIFY_TAMPERED, seq, seq);

	(void)sbx_error_what(finding, -EBADMSG, "record %" PRIu64 " is not what was written there",
			     seq);
	sbx_error_why(finding, "%s", why);
	verify_fix(v, finding);
	return VERIFY_STOP;
}

static int fail_missing(struct verification *v, uint64_t first, uint64_t last)
{
	struct sbx_error *finding = verify_finding_at(v, VERIFY_TAMPERED, first, last);

	if (first == last)
		(void)sbx_error_what(finding, -EBADMSG, "record %" PRIu64 " is missing", first);
	else
		(void)sbx_error_what(finding, -EBADMSG,
				     "records %" PRIu64 " to %" PRIu64 " are missing", first, last);
	sbx_error_why(finding, "there are later records");
	verify_fix(v, finding);
	return VERIFY_STOP;
}

/* ---- record 0 ---- */

static int fail_other(struct verification *v, const char *why)
{
	struct sbx_error *finding = verify_finding_at(v, VERIFY_TAMPERED, 0, 0);

	(void)sbx_error_what(finding, -EBADMSG, "this is another log");
	sbx_error_why(finding, "%s", why);
	sbx_error_fix(finding, "find out how it got there; if it is expected, give the key that "
			       "'sbx-audit setup' printed for it");
	return VERIFY_STOP;
}

int verify_origin(struct verification *v)
{
	const struct witness *witness = v->options->witness;
	const struct verified_state *since = v->options->since;

	if (witness && witness->origin[0] && strcmp(witness->origin, v->first.name) != 0)
		return fail_other(v, "the witness has seen a log of another id");
	if (since && strcmp(since->origin, v->first.name) != 0)
		return fail_other(v, "what was verified before is a log of another id");
	if (since && memcmp(since->first_key, v->first.public_key, sizeof(since->first_key)) != 0)
		return fail_other(v, "what was verified before began with another key");
	return 0;
}

static int begin_trail(struct verification *v, const struct chain_genesis *genesis)
{
	char origin[NOTE_NAME_SIZE];
	int r = 0;

	(void)snprintf(origin, sizeof(origin), CHECKPOINT_ORIGIN_PREFIX "%s", genesis->log_id);
	if (v->first.name[0] == '\0')
		r = note_verifier_make(v->hasher, origin, genesis->public_key, &v->first);
	if (r < 0)
		return r;
	if (strcmp(v->first.name, origin) != 0)
		return fail_other(v, "its first record has another id than the key that was given");
	if (memcmp(v->first.public_key, genesis->public_key, sizeof(genesis->public_key)) != 0)
		return fail_other(v, "its first record names another key than the one that was "
				     "given");
	trail_begin(&v->trail, &v->first, 0);
	return verify_origin(v);
}

static int verify_genesis(struct verification *v, const struct store_row *row)
{
	struct chain_genesis genesis;
	int r = chain_parse_genesis(row->body, row->n_body, &genesis, NULL);

	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return fail_record(v, 0, "it is not the record that every log begins with");
	if (strcmp(genesis.log_id, v->log_id) != 0)
		return fail_record(v, 0, "it is of another log than the file says");
	return begin_trail(v, &genesis);
}

/* ---- heads that others have seen ---- */

static int fail_head(struct verification *v, uint64_t size, const char *who)
{
	uint64_t good = v->report->good_size < size ? v->report->good_size : 0;
	struct sbx_error *finding = verify_finding_at(v, VERIFY_TAMPERED, good, size - 1);

	(void)sbx_error_what(finding, -EBADMSG, "the log of %" PRIu64 " records was another one",
			     size);
	sbx_error_why(finding, "%s has another root for it", who);
	verify_fix(v, finding);
	return VERIFY_STOP;
}

static int verify_since(struct verification *v)
{
	const struct verified_state *since = v->options->since;

	v->is_since_due = false;
	if (audit_hash_equal(&v->now.head, &since->head))
		return 0;
	return fail_head(v, since->frontier.size, "what was verified before");
}

int verify_heads(struct verification *v)
{
	const struct witness *witness = v->options->witness;
	uint64_t size = v->now.frontier.size;
	struct audit_hash root;
	int r;

	if (v->is_since_due && v->options->since->frontier.size == size) {
		r = verify_since(v);
		if (r != 0)
			return r;
	}
	if (!witness || v->n_heads == witness->n_heads || witness->heads[v->n_heads].size != size)
		return 0;
	r = merkle_root(v->hasher, &v->now.frontier, &root);
	for (; r == 0 && v->n_heads < witness->n_heads; v->n_heads++) {
		if (witness->heads[v->n_heads].size != size)
			return 0;
		if (!audit_hash_equal(&witness->heads[v->n_heads].root, &root))
			return fail_head(v, size, "the witness");
	}
	return r;
}

/* ---- every record ---- */

/* Once is enough: what is missing may be any one of them. */
static void miss_checkpoint(struct verification *v)
{
	struct sbx_error *finding = verify_finding(v, VERIFY_INCOMPLETE);

	(void)sbx_error_what(finding, -EBADMSG,
			     "a checkpoint is missing after the one of %" PRIu64 " records",
			     v->trail.last.size);
	sbx_error_why(finding, "there has to be one for every %d records", CHECKPOINT_RECORDS_MAX);
	sbx_error_fix(finding, "check whether sbx-audit could sign then, and keep the directory as "
			       "it is");
}

static int fail_hash(struct verification *v, const struct store_row *row)
{
	return fail_record(v, row->seq,
			   "its hash is not that of its bytes and of the record before");
}

/* A record it must be: readers, and whoever makes an archive of it, count on that. */
static int read_time(struct verification *v, const struct store_row *row, uint64_t *ret)
{
	struct entry_said said;
	int r;

	if (row->seq < v->linked_end)
		return entry_reader_time(&v->reader, row->body, row->n_body, ret);
	r = entry_reader_read(&v->reader, row->body, row->n_body, &said);
	if (r == 0)
		*ret = said.time_usec;
	return r;
}

/* What the record says that matters to the log. */
static int verify_body(struct verification *v, const struct store_row *row)
{
	uint64_t usec = 0;
	int r = read_time(v, row, &usec);

	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return fail_record(v, row->seq, "its bytes are no record");
	log_note_time(&v->now, usec);
	if (row->seq == 0)
		r = verify_genesis(v, row);
	if (r == 0 && stub_is(row->body, row->n_body))
		r = verify_stub(v, row);
	return r;
}

static int verify_bytes(struct verification *v, const struct store_row *row)
{
	struct audit_hash hash = row->hash;
	int r = 0;

	/* What a stub says excuses missing records: it is read from bytes that were hashed here. */
	if (row->seq >= v->linked_end || stub_is(row->body, row->n_body))
		r = chain_next(v->hasher, row->seq, &v->now.head, row->body, row->n_body, &hash);
	if (r < 0)
		return r;
	if (!audit_hash_equal(&hash, &row->hash))
		return fail_hash(v, row);
	r = verify_body(v, row);
	if (r == 0)
		r = merkle_add(v->hasher, &v->now.frontier, &hash);
	if (r == 0)
		v->now.head = hash;
	return r;
}

int verify_row(void *userdata, const struct store_row *row, struct sbx_error *err)
{
	struct verification *v = userdata;
	uint64_t size = v->now.frontier.size;
	int r;

	if (row->problem)
		return fail_record(v, row->seq, row->problem);
	if (row->seq != size)
		return fail_missing(v, size, row->seq - 1);
	r = verify_bytes(v, row);
	if (r != 0)
		return r;
	size++;
	if (v->has_note && v->note_size == size)
		r = verify_checkpoint(v, err);
	if (r == 0)
		r = verify_heads(v);
	if (r == 0 && size - v->trail.last.size == CHECKPOINT_RECORDS_MAX + 1)
		miss_checkpoint(v);
	if (v->options->progress && size % PROGRESS_RECORDS == 0)
		v->options->progress(v->options->userdata, size, v->end);
	return r;
}
