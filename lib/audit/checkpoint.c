/* SPDX-License-Identifier: MIT */

/*
 * Checkpoints as text, and back
 *
 * The text is a row of lines, each with what stands before its value; a table of them is read from
 * the top. Whatever was read is written again and must give the same bytes, so that numbers, base64
 * and line ends have one spelling without a rule for each.
 */

#include "audit/checkpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <sbx/error.h>

#include "audit/base64.h"
#include "audit/merkle.h"
#include "base/text.h"

/* A line's value, without its newline. */
struct value {
	const char *bytes;
	size_t n;
};

/* Nineteen digits are enough for every number here; the first wrong character ends the reading. */
static bool take_number(struct value *value, uint64_t *ret)
{
	uint64_t number = 0;
	size_t n = 0;

	for (; n < value->n && n < 19 && value->bytes[n] >= '0' && value->bytes[n] <= '9'; n++)
		number = number * 10 + (uint64_t)(value->bytes[n] - '0');
	value->bytes += n;
	value->n -= n;
	*ret = number;
	return n > 0 && number <= INT64_MAX;
}

static bool take_whole_number(struct value *value, uint64_t *ret)
{
	return take_number(value, ret) && value->n == 0;
}

static bool take_bytes(const struct value *value, void *ret, size_t n_bytes)
{
	return base64_decode_exactly(value->bytes, value->n, ret, n_bytes) == 0;
}

static bool take_origin(struct value *value, struct audit_checkpoint *ret)
{
	if (value->n == 0 || value->n >= sizeof(ret->origin) || memchr(value->bytes, 0, value->n))
		return false;
	memcpy(ret->origin, value->bytes, value->n);
	return true;
}

static bool take_size(struct value *value, struct audit_checkpoint *ret)
{
	return take_whole_number(value, &ret->size);
}

static bool take_root(struct value *value, struct audit_checkpoint *ret)
{
	return take_bytes(value, ret->root.bytes, sizeof(ret->root.bytes));
}

static bool take_head(struct value *value, struct audit_checkpoint *ret)
{
	return take_bytes(value, ret->head.bytes, sizeof(ret->head.bytes));
}

static bool take_epoch(struct value *value, struct audit_checkpoint *ret)
{
	return take_whole_number(value, &ret->epoch);
}

static bool take_times(struct value *value, struct audit_checkpoint *ret)
{
	if (!take_number(value, &ret->first_usec) || value->n == 0)
		return false;
	value->bytes++;
	value->n--;
	return take_whole_number(value, &ret->last_usec);
}

static bool take_next(struct value *value, struct audit_checkpoint *ret)
{
	ret->is_last_of_epoch = true;
	return take_bytes(value, ret->next_key, sizeof(ret->next_key));
}

static const struct {
	const char *prefix;
	bool (*take)(struct value *value, struct audit_checkpoint *ret);
} lines[] = {
	{ "", take_origin },	{ "", take_size },	  { "", take_root },
	{ "head ", take_head }, { "epoch ", take_epoch }, { "time ", take_times },
	{ "next ", take_next },
};

#define N_LINES_LEAST (N_ELEMENTS(lines) - 1)

/* How many lines there were and all of them right, or 0. */
static size_t take_lines(const char *bytes, size_t n_bytes, struct audit_checkpoint *ret)
{
	const char *at = bytes, *end = bytes + n_bytes;
	size_t i = 0;

	for (; at < end && i < N_ELEMENTS(lines); i++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t n_prefix = strlen(lines[i].prefix);

		if (!newline || (size_t)(newline - at) < n_prefix ||
		    memcmp(at, lines[i].prefix, n_prefix) != 0)
			return 0;

		struct value value = { at + n_prefix, (size_t)(newline - at) - n_prefix };

		if (!lines[i].take(&value, ret))
			return 0;
		at = newline + 1;
	}
	return at == end ? i : 0;
}

static bool is_checkpoint(const struct audit_checkpoint *checkpoint)
{
	return checkpoint->origin[0] != '\0' && !strchr(checkpoint->origin, '\n') &&
	       checkpoint->size >= 1 && checkpoint->size <= MERKLE_SIZE_MAX &&
	       checkpoint->epoch <= INT64_MAX && checkpoint->first_usec <= checkpoint->last_usec &&
	       checkpoint->last_usec <= INT64_MAX;
}

static void add_line(struct text *out, const char *prefix, const void *bytes, size_t n_bytes)
{
	text_add(out, prefix);
	base64_add(out, bytes, n_bytes);
	text_add_char(out, '\n');
}

int checkpoint_add_text(struct text *out, const struct audit_checkpoint *checkpoint)
{
	if (!is_checkpoint(checkpoint))
		return -EINVAL;
	text_addf(out, "%s\n%" PRIu64 "\n", checkpoint->origin, checkpoint->size);
	add_line(out, "", checkpoint->root.bytes, sizeof(checkpoint->root.bytes));
	add_line(out, "head ", checkpoint->head.bytes, sizeof(checkpoint->head.bytes));
	text_addf(out, "epoch %" PRIu64 "\n", checkpoint->epoch);
	text_addf(out, "time %" PRIu64 " %" PRIu64 "\n", checkpoint->first_usec,
		  checkpoint->last_usec);
	if (checkpoint->is_last_of_epoch)
		add_line(out, "next ", checkpoint->next_key, sizeof(checkpoint->next_key));
	return text_status(out);
}

static int parse(const void *bytes, size_t n_bytes, struct audit_checkpoint *ret)
{
	_cleanup_text_ struct text again = TEXT_INIT;
	int r;

	if (take_lines(bytes, n_bytes, ret) < N_LINES_LEAST)
		return -EBADMSG;
	r = checkpoint_add_text(&again, ret);
	if (r < 0)
		return r == -EINVAL ? -EBADMSG : r;
	return again.len == n_bytes && memcmp(again.data, bytes, n_bytes) == 0 ? 0 : -EBADMSG;
}

static int fail(struct sbx_error *err, int code, const char *doing, const char *why,
		const char *fix)
{
	(void)sbx_error_what(err, code, "cannot %s the checkpoint", doing);
	sbx_error_why(err, "%s", why);
	sbx_error_fix(err, "%s", fix);
	return code;
}

int checkpoint_parse(const void *bytes, size_t n_bytes, struct audit_checkpoint *ret,
		     struct sbx_error *err)
{
	struct audit_checkpoint checkpoint = { .size = 0 };
	int r = parse(bytes, n_bytes, &checkpoint);

	if (r < 0)
		return fail(err, r, "read",
			    r == -ENOMEM ? "there is no memory left"
					 : "its text is not that of a checkpoint",
			    "compare it with a copy that was kept elsewhere");
	*ret = checkpoint;
	return 0;
}

int checkpoint_sign(struct text *out, const struct audit_checkpoint *checkpoint,
		    const struct note_verifier *verifier,
		    const uint8_t private_key[SIGNATURE_KEY_SIZE], struct sbx_error *err)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	int r = -EINVAL;

	if (strcmp(checkpoint->origin, verifier->name) == 0)
		r = checkpoint_add_text(&text, checkpoint);
	if (r == 0)
		r = note_sign(out, text.data, text.len, verifier, private_key);
	if (r < 0)
		return fail(err, r, "sign", r == -EINVAL ? "what it says cannot be" : "",
			    "run 'sbx-audit verify' on the log");
	return 0;
}

int checkpoint_open(const void *bytes, size_t n_bytes, const struct note_verifier *verifier,
		    struct audit_checkpoint *ret, struct sbx_error *err)
{
	struct audit_checkpoint checkpoint;
	const char *text;
	size_t n_text;
	int r = note_open(bytes, n_bytes, verifier, &text, &n_text, err);

	if (r == 0)
		r = checkpoint_parse(text, n_text, &checkpoint, err);
	if (r < 0)
		return r;
	if (strcmp(checkpoint.origin, verifier->name) != 0)
		return fail(err, -EBADMSG, "accept", "it is one of another log",
			    "give the checkpoint of this log");
	*ret = checkpoint;
	return 0;
}
