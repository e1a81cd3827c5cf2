/* SPDX-License-Identifier: MIT */

/* A cached filter: the expected key, a NUL, and the bytes of the file */

#include <assert.h>
#include <errno.h>
#include <linux/filter.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "filter/cache.h"

/* An accepted file contains exactly the key and the instructions. */
static void check_accepted(const char *key, const uint8_t *file, size_t n_file,
			   const struct sock_filter *code, size_t n)
{
	size_t key_size = strlen(key), code_size = n * sizeof(*code);

	assert(n > 0 && n <= BPF_MAXINSNS);
	assert(n_file > key_size + code_size);
	assert(memcmp(file + n_file - code_size, code, code_size) == 0);
	assert(memcmp(file + n_file - code_size - key_size, key, key_size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	const uint8_t *end = memchr(bytes, '\0', n_bytes);
	size_t key_size = end ? (size_t)(end - bytes) : n_bytes;
	size_t n_file = end ? n_bytes - key_size - 1 : 0;
	_cleanup_free_ char *key = strndup((const char *)bytes, key_size);
	/* A block of exactly the file's size, so that a sanitizer detects a read past it. */
	_cleanup_free_ uint8_t *file = malloc(n_file > 0 ? n_file : 1);
	_cleanup_free_ struct sock_filter *code = NULL;
	size_t n = 77;
	int r;

	if (!key || !file)
		abort();
	if (n_file > 0)
		memcpy(file, end + 1, n_file);
	r = cache_parse(file, n_file, key, &code, &n);
	if (r == 0)
		check_accepted(key, file, n_file, code, n);
	else
		assert(r == -EBADMSG && !code && n == 77);
	return 0;
}
