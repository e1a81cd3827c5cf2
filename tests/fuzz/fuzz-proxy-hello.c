/* SPDX-License-Identifier: MIT */

/*
 * The bytes are the beginning of a stream: once a prefix has a result, more bytes do not change it,
 * and a name has only the bytes of host names. A failed check is an abort.
 */

#include "proxy/hello.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static void check(bool condition)
{
	if (!condition)
		abort();
}

static void check_name(enum hello_kind kind, const struct hello *hello)
{
	size_t n = strspn(hello->name, "abcdefghijklmnopqrstuvwxyz0123456789-_.");

	check(n <= HELLO_NAME_MAX);
	check(hello->name[n] == '\0');
	check((n > 0) == (kind == HELLO_NAMED));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	struct hello whole, part;
	enum hello_kind kind = hello_read(bytes, n_bytes, &whole);

	check_name(kind, &whole);
	for (size_t n = n_bytes; n > 0; n /= 2) {
		enum hello_kind early = hello_read(bytes, n - 1, &part);

		check_name(early, &part);
		check(early == HELLO_INCOMPLETE ||
		      (early == kind && strcmp(part.name, whole.name) == 0));
	}
	return 0;
}
