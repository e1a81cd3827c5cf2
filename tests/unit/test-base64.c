/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <stdint.h>

#include "base/base64.h"
#include "base/text.h"
#include "test.h"

/* RFC 4648, section 10. */
static const struct {
	const char *bytes;
	const char *string;
} published[] = {
	{ "", "" },
	{ "f", "Zg==" },
	{ "fo", "Zm8=" },
	{ "foo", "Zm9v" },
	{ "foob", "Zm9vYg==" },
	{ "fooba", "Zm9vYmE=" },
	{ "foobar", "Zm9vYmFy" },
};

static void writes_the_published_base64(void)
{
	for (size_t i = 0; i < N_ELEMENTS(published); i++) {
		_cleanup_text_ struct text out = TEXT_INIT;

		base64_add(&out, published[i].bytes, strlen(published[i].bytes));
		expect_str(text_string(&out), published[i].string);
	}
}

static void reads_the_published_base64(void)
{
	for (size_t i = 0; i < N_ELEMENTS(published); i++) {
		size_t n = strlen(published[i].bytes);
		char bytes[8];

		expect_eq(base64_decode(published[i].string, strlen(published[i].string), bytes, n),
			  n);
		expect(memcmp(bytes, published[i].bytes, n) == 0);
	}
}

static void every_byte_comes_back_from_base64(void)
{
	uint8_t bytes[256], again[256];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 167);
	for (size_t n = 0; n <= sizeof(bytes); n++) {
		_cleanup_text_ struct text out = TEXT_INIT;

		base64_add(&out, bytes, n);
		expect_eq(out.len, (n + 2) / 3 * 4);
		expect_eq(base64_decode_exactly(text_string(&out), out.len, again, n), 0);
		expect(memcmp(bytes, again, n) == 0);
	}
}

static void refuses_what_is_not_base64(void)
{
	static const char *const refused[] = {
		"Z",	"Zg",	  "Zg=",   "Zg==Zg==", "Zm8=Zm9v", "=m9v",     "Z===",
		"====", "Zm9v\n", " Zm9v", "Zm 9v",    "Zm-_",	   "Zm9v====", "Z\xc3\xa9v",
	};
	char bytes[16];

	for (size_t i = 0; i < N_ELEMENTS(refused); i++)
		expect_eq(base64_decode(refused[i], strlen(refused[i]), bytes, sizeof(bytes)),
			  -EBADMSG);
	expect_eq(base64_decode("Zm9\0", 4, bytes, sizeof(bytes)), -EBADMSG);
}

static void refuses_a_second_spelling_of_the_same_bytes(void)
{
	static const char *const refused[] = { "Zh==", "Zv==", "Zm9=", "Zm+=" };
	char bytes[16];

	for (size_t i = 0; i < N_ELEMENTS(refused); i++)
		expect_eq(base64_decode(refused[i], strlen(refused[i]), bytes, sizeof(bytes)),
			  -EBADMSG);
}

static void refuses_more_bytes_than_there_is_room_for(void)
{
	char bytes[4] = { 0, 0, 0, 'x' };

	expect_eq(base64_decode("Zm9v", 4, bytes, 2), -EBADMSG);
	expect_eq(base64_decode("Zm9vYg==", 8, bytes, 3), -EBADMSG);
	expect_eq(bytes[3], 'x');
	expect_eq(base64_decode("Zg==", 4, bytes, 0), -EBADMSG);
}

static void refuses_another_number_of_bytes_than_expected(void)
{
	char bytes[8];

	expect_eq(base64_decode_exactly("Zm9v", 4, bytes, 3), 0);
	expect_eq(base64_decode_exactly("Zm9v", 4, bytes, 2), -EBADMSG);
	expect_eq(base64_decode_exactly("Zm8=", 4, bytes, 3), -EBADMSG);
	expect_eq(base64_decode_exactly("Zm9vYg==", 8, bytes, 5), -EBADMSG);
	expect_eq(base64_decode_exactly("", 0, bytes, 1), -EBADMSG);
}

static const struct test tests[] = {
	TEST(writes_the_published_base64),
	TEST(reads_the_published_base64),
	TEST(every_byte_comes_back_from_base64),
	TEST(refuses_what_is_not_base64),
	TEST(refuses_a_second_spelling_of_the_same_bytes),
	TEST(refuses_more_bytes_than_there_is_room_for),
	TEST(refuses_another_number_of_bytes_than_expected),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
