/* SPDX-License-Identifier: MIT */

/*
 * Signed notes
 *
 * The note comes from anybody. First its form is checked to the last byte, and only then is a
 * signature looked at; until one of ours is right, nobody gets to see the text. The signatures are
 * what follows the last empty line, so a text may have empty lines of its own.
 */

#include "audit/note.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sbx/error.h>

#include "audit/base64.h"
#include "base/text.h"

#define DASH "\xe2\x80\x94 " /* U+2014 and a space begin a signature line */
#define DASH_SIZE (sizeof(DASH) - 1)
#define TYPE_ED25519 1
/* The largest signature of another's that is still passed over: there are some of five thousand. */
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

int note_verifier_make(struct hasher *hasher, const char *name,
		       const uint8_t public_key[SIGNATURE_KEY_SIZE], struct note_verifier *ret)
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
	r = hasher_digest(hasher, parts, N_ELEMENTS(parts), &hash);
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
	for (size_t i = 0; i < NOTE_KEY_HASH_SIZE; i++)
		text_addf(out, "%02x", verifier->key_hash[i]);
	text_add_char(out, '+');
	base64_add(out, key, sizeof(key));
}

/* Takes the name and the key; the hash in the middle must be what follows from them. */
static int parse_verifier(struct hasher *hasher, const char *string, size_t n,
			  struct note_verifier *ret)
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
	r = note_verifier_make(hasher, name, key + 1, &made);
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

int note_verifier_parse(struct hasher *hasher, const char *string, size_t n,
			struct note_verifier *ret, struct sbx_error *err)
{
	int r = parse_verifier(hasher, string, n, ret);

	if (r == 0)
		return 0;
	(void)sbx_error_what(err, r, "cannot read the verifier key");
	if (r == -EBADMSG)
		sbx_error_why(err, "it is not NAME+HASH+KEY, or its hash belongs to another key");
	sbx_error_fix(err, "copy the whole line that 'sbx-audit key' prints");
	return r;
}

/* UTF-8 without control characters, in lines, the last one ended. */
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
	text_addf(out, "\n" DASH "%s ", verifier->name);
	base64_add(out, signature, sizeof(signature));
	text_add_char(out, '\n');
	return text_status(out);
}

/* The parts of a note; text is what was signed. */
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

/* One signature line without its newline: 1 where it is ours and right, 0 where it is another's. */
static int check_line(const struct note *note, const char *line, size_t n,
		      const struct note_verifier *verifier)
{
	uint8_t signature[SIGNATURE_BYTES_MAX];
	const char *space;
	ssize_t n_signature;
	size_t n_name;

	if (n < DASH_SIZE || memcmp(line, DASH, DASH_SIZE) != 0)
		return -EBADMSG;
	line += DASH_SIZE;
	n -= DASH_SIZE;
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
	{ -EKEYREJECTED, "the signature in the name of this key is not from it" },
};

int note_open(const void *bytes, size_t n_bytes, const struct note_verifier *verifier,
	      const char **ret_text, size_t *ret_n_text, struct sbx_error *err)
{
	struct note note;
	int r = split_note(bytes, n_bytes, &note);

	if (r == 0)
		r = check_lines(&note, verifier);
	if (r == 0) {
		*ret_text = note.text;
		*ret_n_text = note.n_text;
		return 0;
	}
	(void)sbx_error_what(err, r, "cannot accept the note of '%s'", verifier->name);
	for (size_t i = 0; i < N_ELEMENTS(reasons); i++)
		if (reasons[i].code == r)
			sbx_error_why(err, "%s", reasons[i].why);
	sbx_error_fix(err, "compare it with a copy that was kept elsewhere");
	return r;
}
