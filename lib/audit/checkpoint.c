/* SPDX-License-Identifier: MIT */

/*
 * Checkpoints as text, and back
 *
 * The text is a sequence of lines, each with a name before its value, in the order of one table.
 * The parser writes each checkpoint again and compares the bytes, so that numbers, base64 and line
 * ends have one spelling without a rule for each.
 */

#include "audit/checkpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include <sbx/error.h>

#include "audit/merkle.h"
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"

/* ---- signatures ---- */

static void free_key(EVP_PKEY **key)
{
	EVP_PKEY_free(*key);
}

static void free_context(EVP_MD_CTX **context)
{
	EVP_MD_CTX_free(*context);
}

#define _cleanup_key_ _cleanup_(free_key)
#define _cleanup_context_ _cleanup_(free_context)

static EVP_PKEY *private_key_of(const uint8_t bytes[SIGNATURE_KEY_SIZE])
{
	return EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, bytes, SIGNATURE_KEY_SIZE);
}

int signature_public_key(const uint8_t private_key[SIGNATURE_KEY_SIZE],
			 uint8_t ret[SIGNATURE_KEY_SIZE])
{
	_cleanup_key_ EVP_PKEY *key = private_key_of(private_key);
	size_t size = SIGNATURE_KEY_SIZE;

	if (!key || EVP_PKEY_get_raw_public_key(key, ret, &size) != 1 || size != SIGNATURE_KEY_SIZE)
		return -EIO;
	return 0;
}

int signature_make(const uint8_t private_key[SIGNATURE_KEY_SIZE], const void *bytes, size_t n_bytes,
		   uint8_t ret[SIGNATURE_SIZE])
{
	_cleanup_key_ EVP_PKEY *key = private_key_of(private_key);
	_cleanup_context_ EVP_MD_CTX *context = EVP_MD_CTX_new();
	size_t size = SIGNATURE_SIZE;

	if (!key || !context || EVP_DigestSignInit(context, NULL, NULL, NULL, key) != 1 ||
	    EVP_DigestSign(context, ret, &size, bytes, n_bytes) != 1 || size != SIGNATURE_SIZE)
		return -EIO;
	return 0;
}

int signature_verify(const uint8_t public_key[SIGNATURE_KEY_SIZE], const void *bytes,
		     size_t n_bytes, const uint8_t signature[SIGNATURE_SIZE])
{
	_cleanup_key_ EVP_PKEY *key =
		EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, public_key, SIGNATURE_KEY_SIZE);
	_cleanup_context_ EVP_MD_CTX *context = EVP_MD_CTX_new();

	if (!key || !context || EVP_DigestVerifyInit(context, NULL, NULL, NULL, key) != 1 ||
	    EVP_DigestVerify(context, signature, SIGNATURE_SIZE, bytes, n_bytes) != 1)
		return -EKEYREJECTED;
	return 0;
}

/* ---- notes ---- */

#define TYPE_ED25519 1
/* Upper bound for signatures of other keys, which are skipped: some have five thousand bytes. */
#define SIGNATURE_BYTES_MAX 8192
#define HEX_SIZE (2 * NOTE_KEY_HASH_SIZE)

/* Unicode's White_Space above ASCII, as ranges. */
static const struct {
	uint32_t first;
	uint32_t last;
} spaces[] = {
	{ 0x85, 0x85 },	    { 0xa0, 0xa0 },	{ 0x1680, 0x1680 }, { 0x2000, 0x200a },
	{ 0x2028, 0x2029 }, { 0x202f, 0x202f }, { 0x205f, 0x205f }, { 0x3000, 0x3000 },
};

static bool is_name_character(uint32_t character)
{
	if (character <= ' ' || character == '+')
		return false;
	for (size_t i = 0; i < N_ELEMENTS(spaces); i++)
		if (character >= spaces[i].first && character <= spaces[i].last)
			return false;
	return true;
}

static bool is_name(const char *name, size_t n)
{
	if (n == 0 || n >= NOTE_NAME_SIZE)
		return false;
	for (size_t at = 0; at < n;) {
		uint32_t character;
		size_t len = utf8_decode(name + at, n - at, &character);

		if (len == 0 || !is_name_character(character))
			return false;
		at += len;
	}
	return true;
}

int note_verifier_make(const char *name, const uint8_t public_key[SIGNATURE_KEY_SIZE],
		       struct note_verifier *ret)
{
	static const uint8_t type[] = { '\n', TYPE_ED25519 };
	const struct iovec parts[] = {
		{ .iov_base = (char *)name, .iov_len = strlen(name) },
		{ .iov_base = (uint8_t *)type, .iov_len = sizeof(type) },
		{ .iov_base = (uint8_t *)public_key, .iov_len = SIGNATURE_KEY_SIZE },
	};
	struct audit_hash hash;
	int r;

	if (!is_name(name, strlen(name)))
		return -EINVAL;
	r = audit_hash_digest(parts, N_ELEMENTS(parts), &hash);
	if (r < 0)
		return r;
	*ret = (struct note_verifier){ .name = "" };
	memcpy(ret->name, name, strlen(name));
	memcpy(ret->key_hash, hash.bytes, sizeof(ret->key_hash));
	memcpy(ret->public_key, public_key, SIGNATURE_KEY_SIZE);
	return 0;
}

void note_verifier_add(struct text *out, const struct note_verifier *verifier)
{
	uint8_t key[1 + SIGNATURE_KEY_SIZE] = { TYPE_ED25519 };

	memcpy(key + 1, verifier->public_key, SIGNATURE_KEY_SIZE);
	text_addf(out, "%s+", verifier->name);
	text_add_hex(out, verifier->key_hash, NOTE_KEY_HASH_SIZE);
	text_add_char(out, '+');
	base64_add(out, key, sizeof(key));
}

/* Parses the name and the key; the key hash between them must match both. */
static int parse_verifier(const char *string, size_t n, struct note_verifier *ret)
{
	_cleanup_text_ struct text again = TEXT_INIT;
	const char *plus = memchr(string, '+', n);
	size_t n_name = plus ? (size_t)(plus - string) : 0;
	uint8_t key[1 + SIGNATURE_KEY_SIZE];
	char name[NOTE_NAME_SIZE];
	struct note_verifier made;
	int r;

	if (!is_name(string, n_name) || n - n_name < 1 + HEX_SIZE + 1)
		return -EBADMSG;
	(void)snprintf(name, sizeof(name), "%.*s", (int)n_name, string);
	plus += 1 + HEX_SIZE + 1;
	if (base64_decode_exactly(plus, n - (size_t)(plus - string), key, sizeof(key)) < 0)
		return -EBADMSG;
	r = note_verifier_make(name, key + 1, &made);
	if (r < 0)
		return r;
	note_verifier_add(&again, &made);
	if (text_status(&again) < 0)
		return -ENOMEM;
	if (again.len != n || memcmp(again.data, string, n) != 0)
		return -EBADMSG;
	*ret = made;
	return 0;
}

int note_verifier_parse(const char *string, size_t n, struct note_verifier *ret,
			struct sbx_error *err)
{
	int r = parse_verifier(string, n, ret);

	if (r == 0)
		return 0;
	(void)sbx_error_what(err, r, "cannot read the verifier key");
	if (r == -EBADMSG)
		sbx_error_why(err, "it is not NAME+HASH+KEY, or its hash belongs to another key");
	sbx_error_fix(err, "copy the whole line that 'sbx-audit setup' printed");
	return r;
}

/* UTF-8 without control characters other than newlines, and with a newline at the end. */
static bool is_text(const char *text, size_t n)
{
	if (n == 0 || text[n - 1] != '\n')
		return false;
	for (size_t at = 0; at < n;) {
		uint32_t character;
		size_t len = utf8_decode(text + at, n - at, &character);

		if (len == 0 || (character < ' ' && character != '\n'))
			return false;
		at += len;
	}
	return true;
}

int note_sign(struct text *out, const void *text, size_t n_text,
	      const struct note_verifier *verifier, const uint8_t private_key[SIGNATURE_KEY_SIZE])
{
	uint8_t signature[NOTE_KEY_HASH_SIZE + SIGNATURE_SIZE];
	int r;

	if (n_text > NOTE_BYTES_MAX - NOTE_NAME_SIZE - 2 * sizeof(signature))
		return -EMSGSIZE;
	if (!is_text(text, n_text) || !is_name(verifier->name, strlen(verifier->name)))
		return -EINVAL;
	memcpy(signature, verifier->key_hash, NOTE_KEY_HASH_SIZE);
	r = signature_make(private_key, text, n_text, signature + NOTE_KEY_HASH_SIZE);
	if (r < 0)
		return r;
	text_add_bytes(out, text, n_text);
	text_addf(out, "\n" NOTE_SIGNATURE "%s ", verifier->name);
	base64_add(out, signature, sizeof(signature));
	text_add_char(out, '\n');
	return text_status(out);
}

/* The parts of a note; text is the signed part. */
struct note {
	const char *text;
	size_t n_text;
	const char *lines;
	size_t n_lines;
};

static int split_note(const char *bytes, size_t n, struct note *ret)
{
	if (n > NOTE_BYTES_MAX || !is_text(bytes, n))
		return -EBADMSG;
	for (size_t at = n - 1; at-- > 0;)
		if (bytes[at] == '\n' && bytes[at + 1] == '\n') {
			*ret = (struct note){ bytes, at + 1, bytes + at + 2, n - at - 2 };
			return ret->n_lines > 0 ? 0 : -EBADMSG;
		}
	return -EBADMSG;
}

bool note_is_signature(const char *line, size_t n)
{
	return n >= strlen(NOTE_SIGNATURE) &&
	       memcmp(line, NOTE_SIGNATURE, strlen(NOTE_SIGNATURE)) == 0;
}

/* Checks a signature line (without its newline): 1 if this key made it, 0 if another key did. */
static int check_line(const struct note *note, const char *line, size_t n,
		      const struct note_verifier *verifier)
{
	uint8_t signature[SIGNATURE_BYTES_MAX];
	const char *space;
	ssize_t n_signature;
	size_t n_name;

	if (!note_is_signature(line, n))
		return -EBADMSG;
	line += strlen(NOTE_SIGNATURE);
	n -= strlen(NOTE_SIGNATURE);
	space = memchr(line, ' ', n);
	n_name = space ? (size_t)(space - line) : 0;
	if (!is_name(line, n_name))
		return -EBADMSG;
	n_signature = base64_decode(space + 1, n - n_name - 1, signature, sizeof(signature));
	if (n_signature <= NOTE_KEY_HASH_SIZE)
		return -EBADMSG;
	if (n_name != strlen(verifier->name) || memcmp(line, verifier->name, n_name) != 0 ||
	    memcmp(signature, verifier->key_hash, NOTE_KEY_HASH_SIZE) != 0)
		return 0;
	if (n_signature != NOTE_KEY_HASH_SIZE + SIGNATURE_SIZE)
		return -EKEYREJECTED;
	if (signature_verify(verifier->public_key, note->text, note->n_text,
			     signature + NOTE_KEY_HASH_SIZE) < 0)
		return -EKEYREJECTED;
	return 1;
}

static int check_lines(const struct note *note, const struct note_verifier *verifier)
{
	const char *line = note->lines, *end = note->lines + note->n_lines;
	bool is_signed = false;

	for (int i = 0; line < end; i++) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		int r = -EBADMSG;

		if (newline && i < NOTE_SIGNATURES_MAX)
			r = check_line(note, line, (size_t)(newline - line), verifier);
		if (r < 0)
			return r;
		is_signed |= r == 1;
		line = newline + 1;
	}
	return is_signed ? 0 : -ENOKEY;
}

static const struct {
	int code;
	const char *why;
} reasons[] = {
	{ -EBADMSG, "it is not a signed note" },
	{ -ENOKEY, "this key has not signed it" },
	{ -EKEYREJECTED, "the signature with the name of this key is not valid" },
};

static int fail_note(const struct note_verifier *verifier, int code, struct sbx_error *err)
{
	(void)sbx_error_what(err, code, "cannot accept the note of '%s'", verifier->name);
	for (size_t i = 0; i < N_ELEMENTS(reasons); i++)
		if (reasons[i].code == code)
			sbx_error_why(err, "%s", reasons[i].why);
	sbx_error_fix(err, "compare it with a copy that was kept elsewhere");
	return code;
}

int note_open(const void *bytes, size_t n_bytes, const struct note_verifier *verifier,
	      const char **ret_text, size_t *ret_n_text, struct sbx_error *err)
{
	struct note note;
	int r = split_note(bytes, n_bytes, &note);

	if (r < 0)
		return fail_note(verifier, r, err);
	r = check_lines(&note, verifier);
	if (r < 0)
		return fail_note(verifier, r, err);
	*ret_text = note.text;
	*ret_n_text = note.n_text;
	return 0;
}

/* ---- checkpoints ---- */

/* The value in a line, without the newline. */
struct value {
	const char *bytes;
	size_t n;
};

bool note_take_number(const char **at, size_t *n, uint64_t *ret)
{
	uint64_t value = 0;
	size_t n_digits = 0;

	for (; *n > 0 && **at >= '0' && **at <= '9' && n_digits < 19; (*at)++, (*n)--, n_digits++)
		value = value * 10 + (uint64_t)(**at - '0');
	*ret = value;
	return n_digits > 0;
}

static bool take_number(struct value *value, uint64_t *ret)
{
	return note_take_number(&value->bytes, &value->n, ret) && *ret <= INT64_MAX;
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

/* A line's value is a number, or bytes, which are stored at @offset; or @take stores it. */
static const struct line {
	const char *prefix;
	size_t offset;
	size_t n_bytes; /* 0: a number */
	bool (*take)(struct value *value, struct audit_checkpoint *ret);
} lines[] = {
	{ .prefix = "", .take = take_origin },
	{ "", offsetof(struct audit_checkpoint, size), 0, NULL },
	{ "", offsetof(struct audit_checkpoint, root), AUDIT_HASH_SIZE, NULL },
	{ "head ", offsetof(struct audit_checkpoint, head), AUDIT_HASH_SIZE, NULL },
	{ "epoch ", offsetof(struct audit_checkpoint, epoch), 0, NULL },
	{ .prefix = "time ", .take = take_times },
	{ .prefix = "next ", .take = take_next },
};

#define N_LINES_LEAST (N_ELEMENTS(lines) - 1)

static bool take_value(const struct line *line, struct value *value, struct audit_checkpoint *ret)
{
	void *at = (char *)ret + line->offset;

	if (line->take)
		return line->take(value, ret);
	return line->n_bytes > 0 ? take_bytes(value, at, line->n_bytes)
				 : take_whole_number(value, at);
}

/* The number of lines taken; 0 if any of them is malformed. */
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

		if (!take_value(&lines[i], &value, ret))
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
	(void)error_fill(err, code, why, fix, "cannot %s the checkpoint", doing);
	return code; /* written out: an analyser of this file sees that the callers stop */
}

int checkpoint_parse(const void *bytes, size_t n_bytes, struct audit_checkpoint *ret,
		     struct sbx_error *err)
{
	struct audit_checkpoint checkpoint = { .size = 0 };
	int r = parse(bytes, n_bytes, &checkpoint);

	if (r < 0)
		return fail(err, r, "read",
			    r == -ENOMEM ? "there is no memory left"
					 : "its text is not a valid checkpoint",
			    "compare it with a copy that was kept elsewhere");
	*ret = checkpoint;
	return 0;
}

int checkpoint_peek(const char *note, size_t n_note, struct audit_checkpoint *ret)
{
	const char *end = n_note > 0 ? memmem(note, n_note, "\n\n", 2) : NULL;

	return end ? checkpoint_parse(note, (size_t)(end - note) + 1, ret, NULL) : -EBADMSG;
}

bool checkpoint_ends_epoch(const char *note, size_t n_note)
{
	struct audit_checkpoint checkpoint;

	return checkpoint_peek(note, n_note, &checkpoint) == 0 && checkpoint.is_last_of_epoch;
}

static int sign(struct text *out, const struct audit_checkpoint *checkpoint,
		const struct note_verifier *verifier, const uint8_t private_key[SIGNATURE_KEY_SIZE])
{
	_cleanup_text_ struct text text = TEXT_INIT;
	int r;

	if (strcmp(checkpoint->origin, verifier->name) != 0)
		return -EINVAL;
	r = checkpoint_add_text(&text, checkpoint);
	return r < 0 ? r : note_sign(out, text.data, text.len, verifier, private_key);
}

int checkpoint_sign(struct text *out, const struct audit_checkpoint *checkpoint,
		    const struct note_verifier *verifier,
		    const uint8_t private_key[SIGNATURE_KEY_SIZE], struct sbx_error *err)
{
	int r = sign(out, checkpoint, verifier, private_key);

	if (r < 0)
		return fail(err, r, "sign", r == -EINVAL ? "its values contradict each other" : "",
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

	if (r < 0)
		return r;
	r = checkpoint_parse(text, n_text, &checkpoint, err);
	if (r < 0)
		return r;
	if (strcmp(checkpoint.origin, verifier->name) != 0)
		return fail(err, -EBADMSG, "accept", "it belongs to another log",
			    "give the checkpoint of this log");
	*ret = checkpoint;
	return 0;
}

/* ---- sequences of checkpoints ---- */

/*
 * An attacker with today's private key can sign any text with it, but cannot sign for an epoch
 * whose key was erased. So never look up the key by the epoch that a checkpoint claims: the key
 * that must have signed it follows from the checkpoints before.
 */

void trail_begin(struct audit_trail *trail, const struct note_verifier *verifier, uint64_t epoch)
{
	*trail = (struct audit_trail){ .verifier = *verifier, .epoch = epoch };
}

/* The reason why @next cannot follow the last checkpoint of the trail, or NULL. */
static const char *why_not(const struct audit_trail *trail, const struct audit_checkpoint *next)
{
	const struct audit_checkpoint *last = &trail->last;

	if (next->epoch != trail->epoch)
		return "its epoch is not that of the key that signed it";
	if (!trail->has_last)
		return NULL;
	if (next->size < last->size)
		return "an earlier checkpoint covers more records";
	if (next->size == last->size && (!audit_hash_equal(&next->root, &last->root) ||
					 !audit_hash_equal(&next->head, &last->head)))
		return "an earlier checkpoint of the same size has another root";
	return NULL;
}

int trail_follow(struct audit_trail *trail, const void *note, size_t n_note, struct sbx_error *err)
{
	struct note_verifier verifier = trail->verifier;
	struct audit_checkpoint next;
	const char *why;
	int r = checkpoint_open(note, n_note, &trail->verifier, &next, err);

	if (r < 0)
		return r;
	why = why_not(trail, &next);
	if (why)
		return error_fill(err, -EBADMSG, why,
				  "compare the log with a copy that was kept elsewhere",
				  "cannot accept the checkpoint of size %" PRIu64, next.size);
	if (next.is_last_of_epoch)
		r = note_verifier_make(trail->verifier.name, next.next_key, &verifier);
	if (r < 0)
		return r;
	trail->verifier = verifier;
	trail->epoch += next.is_last_of_epoch;
	trail->last = next;
	trail->has_last = true;
	return 0;
}
