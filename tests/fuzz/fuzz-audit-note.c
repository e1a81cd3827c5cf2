/* SPDX-License-Identifier: MIT */

/*
 * The bytes are a signed note, and a verifier key. The corpus contains notes that one key has
 * signed; a mutation may be accepted only if its text is one of the signed ones. A failed check is
 * an abort.
 */

#include "audit/checkpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

#define KEY "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
#define PUBLISHED                                                                                  \
	"If you think cryptography is the answer to your problem,\n"                               \
	"then you don't know what your problem is.\n"

static const char *const signed_texts[] = {
	PUBLISHED,
	"\n",
	"a\n\nb\n",
};

static void check(bool condition)
{
	if (!condition)
		abort();
}

static bool was_signed(const char *text, size_t n)
{
	for (size_t i = 0; i < N_ELEMENTS(signed_texts); i++)
		if (strlen(signed_texts[i]) == n && memcmp(signed_texts[i], text, n) == 0)
			return true;
	return false;
}

static void open_note(const char *bytes, size_t n_bytes)
{
	struct note_verifier verifier;
	const char *text = NULL;
	size_t n_text = 0;
	int r;

	check(note_verifier_parse(KEY, strlen(KEY), &verifier, NULL) == 0);
	r = note_open(bytes, n_bytes, &verifier, &text, &n_text, NULL);
	if (r < 0) {
		check(r == -EBADMSG || r == -ENOKEY || r == -EKEYREJECTED);
		check(!text && n_text == 0);
		return;
	}
	check(text == bytes && n_text < n_bytes);
	check(was_signed(text, n_text));
}

static void parse_key(const char *bytes, size_t n_bytes)
{
	_cleanup_text_ struct text again = TEXT_INIT;
	struct note_verifier verifier;

	if (note_verifier_parse(bytes, n_bytes, &verifier, NULL) < 0)
		return;
	note_verifier_add(&again, &verifier);
	check(again.len == n_bytes && memcmp(again.data, bytes, n_bytes) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	open_note((const char *)bytes, n_bytes);
	parse_key((const char *)bytes, n_bytes);
	return 0;
}
