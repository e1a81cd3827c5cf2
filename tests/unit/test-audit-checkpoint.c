/* SPDX-License-Identifier: MIT */

#include <errno.h>

#include <sbx/error.h>

#include "audit-hash-rig.h"
#include "audit/checkpoint.h"
#include "base/text.h"

/* These texts define the format; sbx-audit-layout(7) lists them. The keys are from the first two
 * tests of RFC 8032. */
#define ORIGIN "sbx-audit/000102030405060708090a0b0c0d0e0f"
#define ROOT "cbbm+dhiXEHuSt+rAqBUN5h1vpG58QOfxtytKsYfwZU="
#define HEAD "JsG+wX2uJ8bc1vEmqgU8QoOTSEFuH0HztkGDpT9TTH8="
#define NEXT "PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw="
#define PLAIN                                                                                      \
	ORIGIN "\n3\n" ROOT "\nhead " HEAD "\nepoch 0\ntime 1767323045678901 1767323055678901\n"
#define LAST PLAIN "next " NEXT "\n"
#define LAST_NOTE                                                                                   \
	LAST "\n\xe2\x80\x94 " ORIGIN " "                                                           \
	     "Om/neSsgf0kL+JFJwede28UrDgJs3OR7eLTgPKA9RbO/5fNepMqOhB5swyfVhvk19DBM83JpXVwGlmercxoF" \
	     "0968qAA=\n"
#define PRIVATE_HEX "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
#define PUBLIC_HEX "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
#define NEXT_HEX "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"

static struct audit_checkpoint example(void)
{
	struct audit_checkpoint checkpoint = {
		.origin = ORIGIN,
		.size = 3,
		.root = hash_of_hex(
			"71b6e6f9d8625c41ee4adfab02a054379875be91b9f1039fc6dcad2ac61fc195"),
		.head = hash_of_hex(
			"26c1bec17dae27c6dcd6f126aa053c42839348416e1f41f3b64183a53f534c7f"),
		.first_usec = 1767323045678901,
		.last_usec = 1767323055678901,
		.is_last_of_epoch = true,
	};

	from_hex(NEXT_HEX, checkpoint.next_key, sizeof(checkpoint.next_key));
	return checkpoint;
}

static struct note_verifier verifier_named(const char *name)
{
	uint8_t public_key[SIGNATURE_KEY_SIZE];
	struct note_verifier verifier;

	from_hex(PUBLIC_HEX, public_key, sizeof(public_key));
	if (note_verifier_make(name, public_key, &verifier) < 0)
		abort();
	return verifier;
}

static void writes_the_documented_checkpoint(void)
{
	_cleanup_text_ struct text plain = TEXT_INIT, last = TEXT_INIT;
	struct audit_checkpoint checkpoint = example();

	expect_eq(checkpoint_add_text(&last, &checkpoint), 0);
	expect_str(text_string(&last), LAST);
	checkpoint.is_last_of_epoch = false;
	expect_eq(checkpoint_add_text(&plain, &checkpoint), 0);
	expect_str(text_string(&plain), PLAIN);
}

static void reads_a_checkpoint_back(void)
{
	const struct audit_checkpoint want = example();
	struct audit_checkpoint got;

	expect_eq(checkpoint_parse(LAST, strlen(LAST), &got, NULL), 0);
	expect_str(got.origin, want.origin);
	expect_eq(got.size, 3);
	expect(audit_hash_equal(&got.root, &want.root));
	expect(audit_hash_equal(&got.head, &want.head));
	expect_eq(got.epoch, 0);
	expect_eq(got.first_usec, want.first_usec);
	expect_eq(got.last_usec, want.last_usec);
	expect(got.is_last_of_epoch);
	expect(memcmp(got.next_key, want.next_key, sizeof(want.next_key)) == 0);
	expect_eq(checkpoint_parse(PLAIN, strlen(PLAIN), &got, NULL), 0);
	expect(!got.is_last_of_epoch);
}

static void a_checkpoint_may_be_as_large_as_its_numbers(void)
{
	struct audit_checkpoint checkpoint = example(), again;
	_cleanup_text_ struct text out = TEXT_INIT;

	memset(checkpoint.origin, 'o', NOTE_NAME_SIZE - 1);
	checkpoint.size = INT64_MAX;
	checkpoint.epoch = INT64_MAX;
	checkpoint.first_usec = 0;
	checkpoint.last_usec = INT64_MAX;
	expect_eq(checkpoint_add_text(&out, &checkpoint), 0);
	expect_eq(checkpoint_parse(out.data, out.len, &again, NULL), 0);
	expect_eq(again.size, INT64_MAX);
	expect_eq(again.last_usec, INT64_MAX);
}

static void refuses_to_write_a_checkpoint_that_cannot_be(void)
{
	struct audit_checkpoint empty = example(), nameless = example(), backwards = example(),
				large = example(), late = example(), broken = example(),
				epoch = example();
	_cleanup_text_ struct text out = TEXT_INIT;

	empty.size = 0;
	expect_eq(checkpoint_add_text(&out, &empty), -EINVAL);
	nameless.origin[0] = '\0';
	expect_eq(checkpoint_add_text(&out, &nameless), -EINVAL);
	broken.origin[5] = '\n';
	expect_eq(checkpoint_add_text(&out, &broken), -EINVAL);
	backwards.last_usec = backwards.first_usec - 1;
	expect_eq(checkpoint_add_text(&out, &backwards), -EINVAL);
	large.size = (uint64_t)INT64_MAX + 1;
	expect_eq(checkpoint_add_text(&out, &large), -EINVAL);
	late.last_usec = UINT64_MAX;
	expect_eq(checkpoint_add_text(&out, &late), -EINVAL);
	epoch.epoch = UINT64_MAX;
	expect_eq(checkpoint_add_text(&out, &epoch), -EINVAL);
	expect_eq(out.len, 0);
}

static void refuses_bytes(const void *bytes, size_t n)
{
	struct audit_checkpoint checkpoint = { .size = 77 };
	struct sbx_error err = { 0 };

	expect_eq(checkpoint_parse(bytes, n, &checkpoint, &err), -EBADMSG);
	expect_eq(checkpoint.size, 77);
	expect(err.why[0] && err.fix[0]);
}

/* Pairs of a text and its replacement. */
static const char *const changes[][2] = {
	{ ORIGIN "\n", "" },
	{ ORIGIN, "" },
	{ "\n3\n", "\n03\n" },
	{ "\n3\n", "\n0\n" },
	{ "\n3\n", "\n-3\n" },
	{ "\n3\n", "\n+3\n" },
	{ "\n3\n", "\n 3\n" },
	{ "\n3\n", "\n3 \n" },
	{ "\n3\n", "\n3.0\n" },
	{ "\n3\n", "\n0x3\n" },
	{ "\n3\n", "\n\n" },
	{ "\n3\n", "\n9223372036854775808\n" },
	{ "\n3\n", "\n18446744073709551619\n" },
	{ "\n3\n", "\n3\r\n" },
	{ ROOT "\n", "" },
	{ "wZU=\n", "wZU\n" },
	{ "wZU=\n", "wZV=\n" },
	{ "wZU=\n", "wQ==\n" },
	{ "wZU=\n", "wZU=AAAA\n" },
	{ "head ", "" },
	{ "head ", "Head " },
	{ "head ", "head  " },
	{ "head " HEAD "\n", "" },
	{ "head ", "head\t" },
	{ "epoch 0", "epoch 00" },
	{ "epoch 0", "epoch -1" },
	{ "epoch 0", "epoch" },
	{ "epoch 0\n", "" },
	{ "epoch 0\n", "epoch 0\nepoch 0\n" },
	{ "time 1767323045678901 1767323055678901", "time 1767323045678901" },
	{ "time 1767323045678901 1767323055678901", "time 1767323045678901  1767323055678901" },
	{ "time 1767323045678901 1767323055678901", "time 1767323045678901-1767323055678901" },
	{ "time 1767323045678901 1767323055678901", "time 1767323055678901 1767323045678901" },
	{ "time 1767323045678901 1767323055678901", "time 1 2 3" },
	{ "time 1767323045678901 1767323055678901", "time 1 9223372036854775808" },
	{ "time 1767323045678901 ", "time  " },
	{ "next ", "next\n" },
	{ "next ", "more " },
	{ "Zgw=\n", "Zgw=" },
	{ "Zgw=\n", "Zgx=\n" },
	{ "Zgw=\n", "Zgw=\n\n" },
	{ "Zgw=\n", "Zgw=\nmore\n" },
	{ "Zgw=\n", "Zgw=\nnext " NEXT "\n" },
};

static void refuses_a_checkpoint_in_any_other_form(void)
{
	for (size_t i = 0; i < N_ELEMENTS(changes); i++) {
		const char *at = strstr(LAST, changes[i][0]);
		_cleanup_text_ struct text changed = TEXT_INIT;

		if (!at)
			abort();
		text_add_bytes(&changed, LAST, (size_t)(at - LAST));
		text_add(&changed, changes[i][1]);
		text_add(&changed, at + strlen(changes[i][0]));
		refuses_bytes(changed.data, changed.len);
	}
}

static void refuses_a_checkpoint_that_is_cut_anywhere(void)
{
	for (size_t n = 0; n < strlen(LAST); n++)
		if (n != strlen(PLAIN))
			refuses_bytes(LAST, n);
}

static void refuses_an_origin_that_is_too_long_or_has_a_nul(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	for (size_t i = 0; i < NOTE_NAME_SIZE; i++)
		text_add_char(&text, 'o');
	text_add(&text, &PLAIN[strlen(ORIGIN)]);
	refuses_bytes(text.data, text.len);
	text.data[100] = '\0';
	refuses_bytes(text.data + 1, text.len - 1);
}

static void signs_the_documented_note(void)
{
	const struct note_verifier verifier = verifier_named(ORIGIN);
	const struct audit_checkpoint checkpoint = example();
	_cleanup_text_ struct text note = TEXT_INIT;
	uint8_t private_key[SIGNATURE_KEY_SIZE];

	from_hex(PRIVATE_HEX, private_key, sizeof(private_key));
	expect_eq(checkpoint_sign(&note, &checkpoint, &verifier, private_key, NULL), 0);
	expect_str(text_string(&note), LAST_NOTE);
}

static void opens_the_documented_note(void)
{
	const struct note_verifier verifier = verifier_named(ORIGIN);
	struct audit_checkpoint checkpoint;

	expect_eq(checkpoint_open(LAST_NOTE, strlen(LAST_NOTE), &verifier, &checkpoint, NULL), 0);
	expect_eq(checkpoint.size, 3);
	expect(checkpoint.is_last_of_epoch);
}

static void refuses_a_checkpoint_that_was_changed_after_it_was_signed(void)
{
	const struct note_verifier verifier = verifier_named(ORIGIN);
	struct audit_checkpoint checkpoint = { .size = 77 };
	char note[] = LAST_NOTE;

	note[strlen(ORIGIN) + 1] = '2';
	expect_eq(checkpoint_open(note, strlen(note), &verifier, &checkpoint, NULL), -EKEYREJECTED);
	expect_eq(checkpoint.size, 77);
}

/* A note that the key has signed for another purpose is not accepted as a checkpoint. */
static void refuses_a_signed_note_that_is_no_checkpoint_of_this_log(void)
{
	const struct note_verifier verifier = verifier_named(ORIGIN),
				   other = verifier_named("other");
	struct audit_checkpoint checkpoint = { .size = 77 };
	_cleanup_text_ struct text hello = TEXT_INIT, foreign = TEXT_INIT;
	uint8_t private_key[SIGNATURE_KEY_SIZE];
	struct sbx_error err = { 0 };

	from_hex(PRIVATE_HEX, private_key, sizeof(private_key));
	expect_eq(note_sign(&hello, "hello\n", 6, &verifier, private_key), 0);
	expect_eq(checkpoint_open(hello.data, hello.len, &verifier, &checkpoint, &err), -EBADMSG);
	expect_eq(note_sign(&foreign, PLAIN, strlen(PLAIN), &other, private_key), 0);
	expect_eq(checkpoint_open(foreign.data, foreign.len, &other, &checkpoint, &err), -EBADMSG);
	expect(strstr(err.why, "another log") != NULL);
	expect_eq(checkpoint.size, 77);
}

static void refuses_to_sign_for_another_log_or_what_cannot_be(void)
{
	const struct note_verifier verifier = verifier_named(ORIGIN),
				   other = verifier_named("other");
	struct audit_checkpoint checkpoint = example();
	_cleanup_text_ struct text note = TEXT_INIT;
	uint8_t private_key[SIGNATURE_KEY_SIZE];
	struct sbx_error err = { 0 };

	from_hex(PRIVATE_HEX, private_key, sizeof(private_key));
	expect_eq(checkpoint_sign(&note, &checkpoint, &other, private_key, &err), -EINVAL);
	expect(err.why[0] && err.fix[0]);
	checkpoint.size = 0;
	expect_eq(checkpoint_sign(&note, &checkpoint, &verifier, private_key, &err), -EINVAL);
	expect_eq(note.len, 0);
}

static const struct test tests[] = {
	TEST(writes_the_documented_checkpoint),
	TEST(reads_a_checkpoint_back),
	TEST(a_checkpoint_may_be_as_large_as_its_numbers),
	TEST(refuses_to_write_a_checkpoint_that_cannot_be),
	TEST(refuses_a_checkpoint_in_any_other_form),
	TEST(refuses_a_checkpoint_that_is_cut_anywhere),
	TEST(refuses_an_origin_that_is_too_long_or_has_a_nul),
	TEST(signs_the_documented_note),
	TEST(opens_the_documented_note),
	TEST(refuses_a_checkpoint_that_was_changed_after_it_was_signed),
	TEST(refuses_a_signed_note_that_is_no_checkpoint_of_this_log),
	TEST(refuses_to_sign_for_another_log_or_what_cannot_be),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
