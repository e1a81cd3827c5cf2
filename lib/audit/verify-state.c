/* SPDX-License-Identifier: MIT */

/*
 * What was verified, as a text that is kept
 *
 *   sbx-audit/verified/1
 *   origin sbx-audit/LOG-ID
 *   first BASE64 given|own      the key of epoch 0, and who said so
 *   key EPOCH BASE64            who has to sign next
 *   size N
 *   head BASE64
 *   deleted N BASE64 BASE64     only where records before N were deleted: head and root there
 *   peak BASE64                 of the tree, the largest first; as many as the size has bits set
 *   sum BASE64                  SHA-256 of all before
 *
 * It is read line by line, written again and compared: nothing else passes for it.
 */

#include "audit/verify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "audit/base64.h"
#include "audit/chain.h"
#include "audit/checkpoint.h"
#include "base/text.h"

#define TITLE "sbx-audit/verified/1"

static void add_bytes(struct text *out, const char *before, const void *bytes, size_t n_bytes,
		      const char *behind)
{
	text_add(out, before);
	base64_add(out, bytes, n_bytes);
	text_add(out, behind);
}

static void add_deleted(struct text *out, const struct verified_place *deleted)
{
	text_addf(out, "deleted %" PRIu64 " ", deleted->size);
	add_bytes(out, "", deleted->head.bytes, sizeof(deleted->head.bytes), " ");
	add_bytes(out, "", deleted->root.bytes, sizeof(deleted->root.bytes), "\n");
}

static int add_sum(struct text *out, size_t begin)
{
	_cleanup_hasher_ struct hasher *hasher = NULL;
	struct audit_hash sum;
	int r = text_status(out);

	if (r == 0)
		r = hasher_new(&hasher);
	if (r == 0) {
		const struct iovec part = { out->data + begin, out->len - begin };

		r = hasher_digest(hasher, &part, 1, &sum);
	}
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
	if (state->deleted.size > 0)
		add_deleted(out, &state->deleted);
	for (size_t i = 0; i < n_peaks; i++)
		add_bytes(out, "peak ", peaks[i].bytes, sizeof(peaks[i].bytes), "\n");
	return add_sum(out, begin);
}

/* ---- read ---- */

struct lines {
	const char *at;
	const char *end;
};

/* The rest of the next line, which begins with @prefix: false where it does not. */
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

/* At the beginning of *@at, which goes behind it. */
static bool take_number(const char **at, size_t *n, uint64_t *ret)
{
	uint64_t value = 0;
	size_t n_digits = 0;

	for (; *n > 0 && **at >= '0' && **at <= '9' && n_digits < 19; (*at)++, (*n)--, n_digits++)
		value = value * 10 + (uint64_t)(**at - '0');
	*ret = value;
	return n_digits > 0;
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
	if (!take_line(lines, "key ", &value, &n) || !take_number(&value, &n, &state->epoch) ||
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

/* The line may be missing. */
static bool take_deleted(struct lines *lines, struct verified_place *ret)
{
	const char *value, *space;
	size_t n;

	if (!take_line(lines, "deleted ", &value, &n))
		return true;
	if (!take_number(&value, &n, &ret->size) || ret->size == 0 || n == 0)
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

	if (!take_line(lines, "size ", &value, &n) || !take_number(&value, &n, &size) ||
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
	(void)sbx_error_what(err, r, "cannot read what was verified before");
	if (r == -EBADMSG)
		sbx_error_why(err, "it is not what 'sbx-audit verify' has written");
	sbx_error_fix(err, "remove the file; the log is then verified from its beginning");
	return r;
}
