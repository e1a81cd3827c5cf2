/* SPDX-License-Identifier: MIT */

/*
 * The low-level calls are marked deprecated in favour of an interface that looks algorithms up by
 * name at run time; for one fixed digest that look-up is all cost (more than the digest itself).
 */

#define OPENSSL_SUPPRESS_DEPRECATED

#include "policy/digest.h"

#include <openssl/sha.h>

void digest_of(const void *bytes, size_t n_bytes, uint8_t ret[DIGEST_SIZE])
{
	SHA256_CTX context;

	(void)SHA256_Init(&context);
	(void)SHA256_Update(&context, bytes, n_bytes);
	(void)SHA256_Final(ret, &context);
}
