/* SPDX-License-Identifier: MIT */

/*
 * The text in which the state of a verification is stored
 *
 *   sbx-audit/verified/1
 *   origin sbx-audit/LOG-ID
 *   first BASE64 given|own      the key of epoch 0: given by the user, or taken from the log
 *   key EPOCH BASE64            the key that signs next
 *   size N
 *   head BASE64
 *   deleted N BASE64 BASE64     only if records before N were deleted: head and root at N
 *   peak BASE64                 of the tree, the largest first; as many as the size has bits set
 *   sum BASE64                  SHA-256 of all lines before
 *
 * The parser takes it line by line, writes it again and compares: no other text is accepted.
 */

#include "audit/known.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-journal.h>

#include <sbx/error.h>

#include "audit/chain.h"
#include "audit/checkpoint.h"
#include "audit/heads.h"
#include "base/array.h"
#include "base/base64.h"
#include "base/error.h"
#include "base/text.h"

#define TITLE "sbx-audit/verified/1"

static void add_bytes(struct text *out, const char *before, const void *bytes, size_t n_bytes,
		      const char *behind)
{
	text_add(out, before);
	base64_add(out, bytes, n_bytes);
	text_add(out, behind);
}

static int add_sum(struct text *out, size_t begin)
{
	struct audit_hash sum;
	struct iovec part;
	int r;

	if (text_status(out) < 0)
		return -ENOMEM;
	part = (struct iovec){ out->data + begin, out->len - begin };
	r = audit_hash_digest(&part, 1, &sum);
	if (r < 0)
		return r;
	add_bytes(out, "sum ", sum.bytes, sizeof(sum.bytes), "\n");
	return text_status(out);
}

static bool is_state(const struct verified_state *state)
{
	size_t n_prefix = strlen(CHECKPOINT_ORIGIN_PREFIX);

	return strncmp(state->origin, CHECKPOINT_ORIGIN_PREFIX, n_prefix) == 0 &&
	       strlen(state->origin) == n_prefix + AUDIT_LOG_ID_SIZE - 1 &&
	       strspn(state->origin + n_prefix, "0123456789abcdef") == AUDIT_LOG_ID_SIZE - 1 &&
	       state->deleted.size < state->frontier.size && state->frontier.size >= 1 &&
	       state->frontier.size <= MERKLE_SIZE_MAX && state->epoch <= INT64_MAX;
}

int verified_state_add_text(struct text *out, const struct verified_state *state)
{
	struct audit_hash peaks[MERKLE_PATH_MAX];
	size_t begin = out->len, n_peaks;

	if (!is_state(state))
		return -EINVAL;
	n_peaks = merkle_save(&state->frontier, peaks);
	text_addf(out, TITLE "\norigin %s\n", state->origin);
	add_bytes(out, "first ", state->first_key, sizeof(state->first_key),
		  state->is_key_own ? " own\n" : " given\n");
	text_addf(out, "key %" PRIu64 " ", state->epoch);
	add_bytes(out, "", state->key, sizeof(state->key), "\n");
	text_addf(out, "size %" PRIu64 "\n", state->frontier.size);
	add_bytes(out, "head ", state->head.bytes, sizeof(state->head.bytes), "\n");
	if (state->deleted.size > 0) {
		text_addf(out, "deleted %" PRIu64 " ", state->deleted.size);
		add_bytes(out, "", state->deleted.head.bytes, AUDIT_HASH_SIZE, " ");
		add_bytes(out, "", state->deleted.root.bytes, AUDIT_HASH_SIZE, "\n");
	}
	for (size_t i = 0; i < n_peaks; i++)
		add_bytes(out, "peak ", peaks[i].bytes, sizeof(peaks[i].bytes), "\n");
	return add_sum(out, begin);
}

/* ---- read ---- */

struct lines {
	const char *at;
	const char *end;
};

/* Returns the rest of the next line, which must begin with @prefix; false if it does not. */
static bool take_line(struct lines *lines, const char *prefix, const char **ret, size_t *ret_n)
{
	size_t n_prefix = strlen(prefix), left = (size_t)(lines->end - lines->at);
	const char *newline = left > 0 ? memchr(lines->at, '\n', left) : NULL;

	if (!newline || (size_t)(newline - lines->at) < n_prefix ||
	    memcmp(lines->at, prefix, n_prefix) != 0)
		return false;
	*ret = lines->at + n_prefix;
	*ret_n = (size_t)(newline - *ret);
	lines->at = newline + 1;
	return true;
}

static bool take_origin(struct lines *lines, struct verified_state *state)
{
	const char *value;
	size_t n;

	if (!take_line(lines, TITLE, &value, &n) || !take_line(lines, "origin ", &value, &n) ||
	    n >= sizeof(state->origin))
		return false;
	memcpy(state->origin, value, n);
	return true;
}

static bool take_keys(struct lines *lines, struct verified_state *state)
{
	const char *value, *space;
	size_t n;

	if (!take_line(lines, "first ", &value, &n))
		return false;
	space = memchr(value, ' ', n);
	if (!space || base64_decode_exactly(value, (size_t)(space - value), state->first_key,
					    sizeof(state->first_key)) < 0)
		return false;
	state->is_key_own = value + n - space == (ptrdiff_t)strlen(" own");
	if (!take_line(lines, "key ", &value, &n) || !note_take_number(&value, &n, &state->epoch) ||
	    n == 0)
		return false;
	return base64_decode_exactly(value + 1, n - 1, state->key, sizeof(state->key)) == 0;
}

static bool take_hash(struct lines *lines, const char *prefix, struct audit_hash *ret)
{
	const char *value;
	size_t n;

	return take_line(lines, prefix, &value, &n) &&
	       base64_decode_exactly(value, n, ret->bytes, sizeof(ret->bytes)) == 0;
}

/* This line is optional. */
static bool take_deleted(struct lines *lines, struct verified_place *ret)
{
	const char *value, *space;
	size_t n;

	if (!take_line(lines, "deleted ", &value, &n))
		return true;
	if (!note_take_number(&value, &n, &ret->size) || ret->size == 0 || n == 0)
		return false;
	value++;
	n--;
	space = memchr(value, ' ', n);
	return space &&
	       base64_decode_exactly(value, (size_t)(space - value), ret->head.bytes,
				     sizeof(ret->head.bytes)) == 0 &&
	       base64_decode_exactly(space + 1, n - (size_t)(space + 1 - value), ret->root.bytes,
				     sizeof(ret->root.bytes)) == 0;
}

static bool take_tree(struct lines *lines, struct verified_state *state)
{
	struct audit_hash peaks[MERKLE_PATH_MAX];
	const char *value;
	uint64_t size;
	size_t n, n_peaks;

	if (!take_line(lines, "size ", &value, &n) || !note_take_number(&value, &n, &size) ||
	    !take_hash(lines, "head ", &state->head) || !take_deleted(lines, &state->deleted))
		return false;
	n_peaks = (size_t)__builtin_popcountll(size);
	for (size_t i = 0; i < n_peaks; i++)
		if (!take_hash(lines, "peak ", &peaks[i]))
			return false;
	return merkle_load(size, peaks, n_peaks, &state->frontier) == 0;
}

static int parse(const char *bytes, size_t n_bytes, struct verified_state *ret)
{
	_cleanup_text_ struct text again = TEXT_INIT;
	struct lines lines = { bytes, bytes + n_bytes };
	int r;

	if (!take_origin(&lines, ret) || !take_keys(&lines, ret) || !take_tree(&lines, ret))
		return -EBADMSG;
	r = verified_state_add_text(&again, ret);
	if (r < 0)
		return r == -EINVAL ? -EBADMSG : r;
	return again.len == n_bytes && memcmp(again.data, bytes, n_bytes) == 0 ? 0 : -EBADMSG;
}

int verified_state_parse(const char *bytes, size_t n_bytes, struct verified_state *ret,
			 struct sbx_error *err)
{
	struct verified_state state = { .epoch = 0 };
	int r = parse(bytes, n_bytes, &state);

	if (r == 0) {
		*ret = state;
		return 0;
	}
	(void)sbx_error_what(err, r, "cannot read the state of the last verification");
	if (r == -EBADMSG)
		sbx_error_why(err, "'sbx-audit verify' did not write it");
	sbx_error_fix(err, "remove the file; the log is then verified from its beginning");
	return r;
}

/* ---- witnessed heads ---- */

/*
 * Heads of the log that were kept elsewhere: its published checkpoints, or only their sizes and
 * roots. The signature of a checkpoint is not verified here: the log has to reproduce its root.
 */

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
};

static size_t left(const struct reading *reading)
{
	return (size_t)(reading->end - reading->at);
}

static int fail(const struct reading *reading, const char *why, struct sbx_error *err)
{
	return error_fill(err, -EBADMSG, why,
			  "write signed checkpoints as the log publishes them, or lines "
			  "'SIZE ROOT'",
			  "cannot read line %u of the heads from elsewhere", reading->line);
}

static int add_head(struct reading *reading, const struct witness_head *head, struct sbx_error *err)
{
	if (reading->witness.n_heads == WITNESS_HEADS_MAX)
		return fail(reading, "there are more than 100000 heads", err);
	if (ARRAY_ADD(reading->witness.heads, reading->witness.n_heads, head) < 0)
		return sbx_error_what(err, -ENOMEM, "cannot read the heads from elsewhere");
	return 0;
}

/* Length of the line without its newline, which the last line may lack. */
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
	size_t n_line = line_length(reading), n = n_line;
	const char *at = reading->at;
	struct witness_head head = { .size = 0 };
	int r;

	if (!note_take_number(&at, &n, &head.size) || head.size == 0 || n == 0 || *at != ' ' ||
	    base64_decode_exactly(at + 1, n - 1, head.root.bytes, sizeof(head.root.bytes)) < 0)
		return fail(reading, "it is not a size and a root", err);
	r = add_head(reading, &head, err);
	pass_line(reading, n_line);
	return r;
}

static int take_note(struct reading *reading, struct sbx_error *err)
{
	struct audit_checkpoint checkpoint;
	struct witness *witness = &reading->witness;
	int r = checkpoint_peek(reading->at, left(reading), &checkpoint);

	if (r == -ENOMEM)
		return sbx_error_what(err, r, "cannot read the heads from elsewhere");
	if (r < 0)
		return fail(reading, "no checkpoint begins there", err);
	if (witness->origin[0] != '\0' && strcmp(witness->origin, checkpoint.origin) != 0)
		return fail(reading, "it belongs to another log than the lines before it", err);
	memcpy(witness->origin, checkpoint.origin, sizeof(witness->origin));
	/* The empty line before the signatures ends the text. */
	for (size_t n; (n = line_length(reading)) > 0;)
		pass_line(reading, n);
	return add_head(reading, &(struct witness_head){ checkpoint.size, checkpoint.root }, err);
}

static int take(struct reading *reading, struct sbx_error *err)
{
	size_t n = line_length(reading);

	if (n == 0 || note_is_signature(reading->at, n)) {
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

	while (reading.at < reading.end) {
		int r = take(&reading, err);

		if (r < 0) {
			witness_deinit(&reading.witness);
			return r;
		}
	}
	witness_sort(&reading.witness);
	*ret = reading.witness;
	return 0;
}

/* ---- the systemd journal ---- */

/*
 * Reading heads from the journal. Collect all of them: a log that was rewritten and continued has
 * the later heads, but not those from before.
 */

#define HEADS_KEPT_MAX WITNESS_HEADS_MAX

static void journal_close(sd_journal **journal)
{
	sd_journal_close(*journal);
}
#define _cleanup_journal_ _cleanup_(journal_close)

struct journal_reading {
	sd_journal *journal;
	const struct journal_options *options;
	struct witness witness;
};

static int fail_journal(struct sbx_error *err, int code, const char *why, const char *fix)
{
	return error_fill(err, code, why, fix, "cannot read the log's heads in the journal");
}

/* ---- fields ---- */

/* The value after "NAME=": 1, or 0 if the entry has no such field. */
static int get_field(const struct journal_reading *reading, const char *name, const char **ret,
		     size_t *ret_n)
{
	size_t n_name = strlen(name), n;
	const void *data;
	int r = sd_journal_get_data(reading->journal, name, &data, &n);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (n <= n_name)
		return 0;
	*ret = (const char *)data + n_name + 1;
	*ret_n = n - n_name - 1;
	return 1;
}

/* 1 with the number, 0 if the field is missing or malformed. */
static int get_number(const struct journal_reading *reading, const char *name, uint64_t max,
		      uint64_t *ret)
{
	const char *bytes;
	size_t n;
	int r = get_field(reading, name, &bytes, &n);

	if (r <= 0)
		return r;
	if (n > 1 && bytes[0] == '0')
		return 0;
	return note_take_number(&bytes, &n, ret) && n == 0 && *ret <= max;
}

static int get_root(const struct journal_reading *reading, struct audit_hash *ret)
{
	const char *bytes;
	size_t n;
	int r = get_field(reading, HEADS_FIELD_ROOT, &bytes, &n);

	if (r <= 0)
		return r;
	return base64_decode_exactly(bytes, n, ret->bytes, sizeof(ret->bytes)) == 0;
}

/* ---- heads ---- */

/* If there are too many, drops every other head: one that remains also covers the records of the
 * dropped one before it. */
static int add_entry_head(struct journal_reading *reading, const struct witness_head *head)
{
	struct witness *witness = &reading->witness;
	size_t n = 0;

	if (witness->n_heads == HEADS_KEPT_MAX) {
		for (size_t i = 0; i < witness->n_heads; i += 2)
			witness->heads[n++] = witness->heads[i];
		witness->n_heads = n;
	}
	return ARRAY_ADD(witness->heads, witness->n_heads, head);
}

/* Only journald writes fields that begin with an underscore. */
static int is_from_owner(const struct journal_reading *reading)
{
	uint64_t uid;
	int r = get_number(reading, "_UID", UINT32_MAX, &uid);

	return r <= 0 ? r : uid == 0 || uid == reading->options->owner;
}

static int take_entry(struct journal_reading *reading, struct sbx_error *err)
{
	static const char fix[] = "look at the entries of this MESSAGE_ID with journalctl: a user "
				  "with access to the log has written one that is not a head";
	struct witness_head head;
	int r = is_from_owner(reading);

	if (r <= 0)
		return r < 0 ? fail_journal(err, r, NULL, "check the journal: journalctl --verify")
			     : 0;
	r = get_number(reading, HEADS_FIELD_SIZE, INT64_MAX, &head.size);
	if (r > 0)
		r = get_root(reading, &head.root);
	if (r < 0)
		return fail_journal(err, r, NULL, "check the journal: journalctl --verify");
	if (r == 0 || head.size == 0)
		return fail_journal(err, -EBADMSG, "an entry has no size and root", fix);
	r = add_entry_head(reading, &head);
	return r < 0 ? fail_journal(err, r, NULL, "free some memory") : 0;
}

static int each_entry(struct journal_reading *reading, struct sbx_error *err)
{
	int more;

	while ((more = sd_journal_next(reading->journal)) > 0) {
		int r = take_entry(reading, err);

		if (r < 0)
			return r;
	}
	return more < 0 ? fail_journal(err, more, NULL, "check the journal: journalctl --verify")
			: 0;
}

/* ---- the journal ---- */

static int open_journal(const struct journal_options *options, sd_journal **ret,
			struct sbx_error *err)
{
	int r;

	if (options->directory)
		r = sd_journal_open_directory(ret, options->directory, 0);
	else
		r = sd_journal_open(ret, SD_JOURNAL_LOCAL_ONLY);
	if (r < 0)
		return fail_journal(err, r, NULL, "check that the journal exists and can be read");
	return 0;
}

static int choose(sd_journal *journal, const struct journal_options *options)
{
	char origin[sizeof(HEADS_FIELD_LOG) + NOTE_NAME_SIZE];
	int r = sd_journal_add_match(journal, "MESSAGE_ID=" HEADS_MESSAGE_ID, 0);

	if (r < 0)
		return r;
	(void)snprintf(origin, sizeof(origin), HEADS_FIELD_LOG "=%s", options->origin);
	return sd_journal_add_match(journal, origin, 0);
}

static int read_heads(struct journal_reading *reading, struct sbx_error *err)
{
	int r = choose(reading->journal, reading->options);

	if (r < 0)
		return fail_journal(err, r, NULL, "check the journal: journalctl --verify");
	r = each_entry(reading, err);
	if (r < 0 || reading->witness.n_heads > 0)
		return r;
	return fail_journal(err, -ENODATA, "it shows no head of this log to this user",
			    "run it as root or in the group systemd-journal, on the machine where "
			    "'sbx-audit serve' keeps the log");
}

int witness_read_journal(struct witness *ret, const struct journal_options *options,
			 struct sbx_error *err)
{
	_cleanup_journal_ sd_journal *journal = NULL;
	struct journal_reading reading = { .options = options };
	int r = open_journal(options, &journal, err);

	if (r < 0)
		return r;
	reading.journal = journal;
	r = read_heads(&reading, err);
	if (r < 0) {
		witness_deinit(&reading.witness);
		return r;
	}
	witness_sort(&reading.witness);
	(void)snprintf(reading.witness.origin, sizeof(reading.witness.origin), "%s",
		       options->origin);
	*ret = reading.witness;
	return 0;
}
