/* SPDX-License-Identifier: MIT */

#include <errno.h>

#include <sbx/error.h>

#include "audit-hash-rig.h"
#include "base/base64.h"
#include "audit/checkpoint.h"
#include "base/text.h"

/* The example of Go's note package, which C2SP signed-note refers to. */
#define NEUMANN_NAME "PeterNeumann"
#define NEUMANN_KEY "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
#define NEUMANN_PRIVATE "AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
#define NEUMANN_TEXT                                                                               \
	"If you think cryptography is the answer to your problem,\n"                               \
	"then you don't know what your problem is.\n"
#define NEUMANN_LINE                                                                                \
	"\xe2\x80\x94 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNX" \
	"gKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
#define NEUMANN_NOTE NEUMANN_TEXT "\n" NEUMANN_LINE

/* A well-formed line of another signer: key hash 1, 2, 3, 4 and one byte of signature. */
#define OTHER_LINE "\xe2\x80\x94 example.com/other AQIDBAU=\n"

static struct note_verifier neumann(void)
{
	struct note_verifier verifier;

	if (note_verifier_parse(NEUMANN_KEY, strlen(NEUMANN_KEY), &verifier, NULL) < 0)
		abort();
	return verifier;
}

static void neumann_private(uint8_t ret[SIGNATURE_KEY_SIZE])
{
	uint8_t key[1 + SIGNATURE_KEY_SIZE];

	if (base64_decode_exactly(NEUMANN_PRIVATE, strlen(NEUMANN_PRIVATE), key, sizeof(key)) < 0)
		abort();
	memcpy(ret, key + 1, SIGNATURE_KEY_SIZE);
}

static int open_bytes(const void *note, size_t n)
{
	const struct note_verifier verifier = neumann();
	const char *text = "unwritten";
	struct sbx_error err = { 0 };
	size_t n_text = 77;
	int r = note_open(note, n, &verifier, &text, &n_text, &err);

	if (r < 0) {
		expect_str(text, "unwritten");
		expect_eq(n_text, 77);
		expect_eq(err.code, r);
		expect(err.why[0] && err.fix[0]);
	}
	return r;
}

static int open_note(const char *note)
{
	return open_bytes(note, strlen(note));
}

static void opens_the_published_note(void)
{
	const struct note_verifier verifier = neumann();
	const char note[] = NEUMANN_NOTE, *text;
	size_t n_text;

	expect_eq(note_open(note, strlen(note), &verifier, &text, &n_text, NULL), 0);
	expect(text == note);
	expect_eq(n_text, strlen(NEUMANN_TEXT));
}

static void signs_the_published_note(void)
{
	const struct note_verifier verifier = neumann();
	_cleanup_text_ struct text out = TEXT_INIT;
	uint8_t private_key[SIGNATURE_KEY_SIZE];

	neumann_private(private_key);
	expect_eq(note_sign(&out, NEUMANN_TEXT, strlen(NEUMANN_TEXT), &verifier, private_key), 0);
	expect_str(text_string(&out), NEUMANN_NOTE);
}

static void a_verifier_key_is_read_and_written_alike(void)
{
	const struct note_verifier verifier = neumann();
	_cleanup_text_ struct text out = TEXT_INIT;

	expect_str(verifier.name, NEUMANN_NAME);
	note_verifier_add(&out, &verifier);
	expect_str(text_string(&out), NEUMANN_KEY);
}

static void refuses_what_is_no_verifier_key(void)
{
	static const char *const refused[] = {
		"",
		"+",
		"PeterNeumann",
		"PeterNeumann+",
		"PeterNeumann+c74f20a3",
		"PeterNeumann+c74f20a3+",
		"+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
		"PeterNeumann+c74f20a4+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
		"PeterNeumann+C74F20A3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
		"PeterNeumann+c74f20a3+AhpC2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
		"PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TX",
		"PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10T",
		"PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW\n",
		"PeterNeumann-c74f20a3-ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
		"Peter Neumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
		"peterneumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
	};

	for (size_t i = 0; i < N_ELEMENTS(refused); i++) {
		struct note_verifier verifier = { .name = "unwritten" };
		struct sbx_error err = { 0 };

		expect_eq(note_verifier_parse(refused[i], strlen(refused[i]), &verifier, &err),
			  -EBADMSG);
		expect_str(verifier.name, "unwritten");
		expect(err.why[0] && err.fix[0]);
	}
}

static void refuses_names_that_would_not_stand_in_a_line(void)
{
	static const char *const refused[] = {
		"",	      "a b",	       "a+b",	       "a\nb",	"a\tb", "a\x1b[1m",
		"a\xc2\xa0z", "a\xe2\x80\xa8", "\xe3\x80\x80", "a\xff", "\xc3",
	};
	const uint8_t key[SIGNATURE_KEY_SIZE] = { 1 };
	struct note_verifier verifier = { .name = "unwritten" };
	char name[NOTE_NAME_SIZE + 1];

	for (size_t i = 0; i < N_ELEMENTS(refused); i++)
		expect_eq(note_verifier_make(refused[i], key, &verifier), -EINVAL);
	memset(name, 'n', sizeof(name));
	name[NOTE_NAME_SIZE] = '\0';
	expect_eq(note_verifier_make(name, key, &verifier), -EINVAL);
	expect_str(verifier.name, "unwritten");
	name[NOTE_NAME_SIZE - 1] = '\0';
	expect_eq(note_verifier_make(name, key, &verifier), 0);
	expect_str(verifier.name, name);
	expect_eq(note_verifier_make("\xc3\xa9/\xe6\x97\xa5", key, &verifier), 0);
}

static void passes_over_the_signatures_of_others(void)
{
	expect_eq(open_note(NEUMANN_TEXT "\n" OTHER_LINE NEUMANN_LINE), 0);
	expect_eq(open_note(NEUMANN_TEXT "\n" NEUMANN_LINE OTHER_LINE), 0);
	/* The same name with another key hash, and the same key hash with another name. */
	expect_eq(open_note(NEUMANN_NOTE "\xe2\x80\x94 PeterNeumann AQIDBAU=\n"), 0);
	expect_eq(open_note(NEUMANN_NOTE "\xe2\x80\x94 other x08gowU=\n"), 0);
}

static void refuses_a_note_that_we_did_not_sign(void)
{
	expect_eq(open_note(NEUMANN_TEXT "\n" OTHER_LINE), -ENOKEY);
}

static void refuses_a_signature_in_our_name(void)
{
	expect_eq(open_note("x" NEUMANN_NOTE), -EKEYREJECTED);
	/* Name and key hash are right, but the signature is too short. */
	expect_eq(open_note(NEUMANN_TEXT "\n\xe2\x80\x94 PeterNeumann x08gowU=\n"), -EKEYREJECTED);
	/* A second, valid line of the key does not help. */
	expect_eq(open_note(NEUMANN_NOTE "\xe2\x80\x94 PeterNeumann x08gowU=\n"), -EKEYREJECTED);
	expect_eq(open_note(NEUMANN_TEXT "\n\xe2\x80\x94 PeterNeumann x08gowU=\n" NEUMANN_LINE),
		  -EKEYREJECTED);
}

static void refuses_a_note_with_one_changed_bit(void)
{
	char note[] = NEUMANN_NOTE;

	for (size_t bit = 0; bit < 8 * strlen(NEUMANN_NOTE); bit++) {
		note[bit / 8] = (char)(note[bit / 8] ^ 1 << bit % 8);
		expect(open_bytes(note, strlen(NEUMANN_NOTE)) < 0);
		note[bit / 8] = (char)(note[bit / 8] ^ 1 << bit % 8);
	}
}

static void refuses_a_note_that_is_cut_anywhere(void)
{
	for (size_t n = 0; n < strlen(NEUMANN_NOTE); n++)
		expect_eq(open_bytes(NEUMANN_NOTE, n), -EBADMSG);
}

static void refuses_what_is_no_note(void)
{
	static const char *const refused[] = {
		"\n",
		"\n\n",
		"text\n",
		"text\n\n",
		NEUMANN_TEXT NEUMANN_LINE,
		NEUMANN_NOTE "\n",
		NEUMANN_NOTE "more\n",
		NEUMANN_TEXT "\n" NEUMANN_LINE "\n"
			     "more\n",
		NEUMANN_TEXT "\n-- PeterNeumann x08gowU=\n",
		NEUMANN_TEXT "\n\xe2\x80\x94PeterNeumann x08gowU=\n",
		NEUMANN_TEXT "\n\xe2\x80\x94 \n",
		NEUMANN_TEXT "\n\xe2\x80\x94 PeterNeumann\n",
		NEUMANN_TEXT "\n\xe2\x80\x94  x08gowU=\n",
		NEUMANN_TEXT "\n\xe2\x80\x94 PeterNeumann \n",
		NEUMANN_TEXT "\n\xe2\x80\x94 PeterNeumann  x08gowU=\n",
		NEUMANN_TEXT "\n\xe2\x80\x94 PeterNeumann x08go\n",
		NEUMANN_TEXT "\n\xe2\x80\x94 PeterNeumann x08gow==\n",
		NEUMANN_TEXT "\n\xe2\x80\x94 PeterNeumann x08gowV=\n",
		NEUMANN_TEXT "\n\xe2\x80\x94 Peter+Neumann x08gowU=\n",
		NEUMANN_NOTE "\xe2\x80\x94 other AQIDBA==\n",
		NEUMANN_NOTE "\xe2\x80\x94 other AQIDB\n",
		"a\tb" NEUMANN_NOTE,
		"a\rb" NEUMANN_NOTE,
		"a\xff" NEUMANN_NOTE,
		"a\xed\xa0\x80" NEUMANN_NOTE,
		"a\xc0\x8a" NEUMANN_NOTE,
	};

	for (size_t i = 0; i < N_ELEMENTS(refused); i++)
		expect_eq(open_note(refused[i]), -EBADMSG);
	expect_eq(open_bytes("a\0\n" NEUMANN_NOTE, 3 + strlen(NEUMANN_NOTE)), -EBADMSG);
}

static void accepts_32_signatures_and_refuses_more(void)
{
	_cleanup_text_ struct text note = TEXT_INIT;

	text_add(&note, NEUMANN_NOTE);
	for (int i = 1; i < NOTE_SIGNATURES_MAX; i++)
		text_add(&note, OTHER_LINE);
	expect_eq(open_note(text_string(&note)), 0);
	text_add(&note, OTHER_LINE);
	expect_eq(open_note(text_string(&note)), -EBADMSG);
}

static void refuses_a_note_that_is_too_long(void)
{
	const struct note_verifier verifier = neumann();
	_cleanup_text_ struct text text = TEXT_INIT, note = TEXT_INIT;
	uint8_t private_key[SIGNATURE_KEY_SIZE];

	neumann_private(private_key);
	while (text.len < NOTE_BYTES_MAX)
		text_add(&text, "line\n");
	expect_eq(note_sign(&note, text.data, text.len, &verifier, private_key), -EMSGSIZE);
	text_add(&text, "\n" NEUMANN_LINE);
	expect_eq(open_note(text_string(&text)), -EBADMSG);
	text_truncate(&text, NOTE_BYTES_MAX / 2);
	text_add(&text, "\n");
	expect_eq(note_sign(&note, text.data, text.len, &verifier, private_key), 0);
	expect_eq(open_note(text_string(&note)), 0);
}

static void signs_a_text_with_empty_lines(void)
{
	static const char *const texts[] = { "\n", "\n\n", "a\n\nb\n", "a\n\n", OTHER_LINE };
	const struct note_verifier verifier = neumann();
	uint8_t private_key[SIGNATURE_KEY_SIZE];

	neumann_private(private_key);
	for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
		_cleanup_text_ struct text note = TEXT_INIT;
		const char *text;
		size_t n_text = 0;

		expect_eq(note_sign(&note, texts[i], strlen(texts[i]), &verifier, private_key), 0);
		expect_eq(note_open(note.data, note.len, &verifier, &text, &n_text, NULL), 0);
		expect_eq(n_text, strlen(texts[i]));
	}
}

static void refuses_to_sign_a_note_that_could_not_be_opened(void)
{
	static const char *const refused[] = { "", "text", "a\tb\n", "a\xff\n", "a\n\nb" };
	const struct note_verifier verifier = neumann();
	uint8_t private_key[SIGNATURE_KEY_SIZE];
	_cleanup_text_ struct text note = TEXT_INIT;

	neumann_private(private_key);
	for (size_t i = 0; i < N_ELEMENTS(refused); i++)
		expect_eq(note_sign(&note, refused[i], strlen(refused[i]), &verifier, private_key),
			  -EINVAL);
	expect_eq(note.len, 0);
}

static const struct test tests[] = {
	TEST(opens_the_published_note),
	TEST(signs_the_published_note),
	TEST(a_verifier_key_is_read_and_written_alike),
	TEST(refuses_what_is_no_verifier_key),
	TEST(refuses_names_that_would_not_stand_in_a_line),
	TEST(passes_over_the_signatures_of_others),
	TEST(refuses_a_note_that_we_did_not_sign),
	TEST(refuses_a_signature_in_our_name),
	TEST(refuses_a_note_with_one_changed_bit),
	TEST(refuses_a_note_that_is_cut_anywhere),
	TEST(refuses_what_is_no_note),
	TEST(accepts_32_signatures_and_refuses_more),
	TEST(refuses_a_note_that_is_too_long),
	TEST(signs_a_text_with_empty_lines),
	TEST(refuses_to_sign_a_note_that_could_not_be_opened),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
