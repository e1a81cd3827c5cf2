/* SPDX-License-Identifier: MIT */

/*
 * SHA-256 through libcrypto's low-level calls
 *
 * They are marked deprecated in favour of EVP, whose contexts in OpenSSL 3.0 allocate each time
 * that a digest starts: a third more time for a record, and half as much again for a node of the
 * tree. Who hashes knows the hasher only, so this file is the only one to change when they go.
 */

#define OPENSSL_SUPPRESS_DEPRECATED

#include "audit/hash.h"

#include <errno.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>

struct hasher {
	SHA256_CTX context;
};

int hasher_new(struct hasher **ret)
{
	struct hasher *hasher = calloc(1, sizeof(*hasher));

	if (!hasher)
		return -ENOMEM;
	*ret = hasher;
	return 0;
}

struct hasher *hasher_free(struct hasher *hasher)
{
	free(hasher);
	return NULL;
}

void hasher_free_ptr(struct hasher **hasher)
{
	*hasher = hasher_free(*hasher);
}

int hasher_digest(struct hasher *hasher, const struct iovec *parts, size_t n_parts,
		  struct audit_hash *ret)
{
	if (SHA256_Init(&hasher->context) != 1)
		return -EIO;
	for (size_t i = 0; i < n_parts; i++)
		if (SHA256_Update(&hasher->context, parts[i].iov_base, parts[i].iov_len) != 1)
			return -EIO;
	return SHA256_Final(ret->bytes, &hasher->context) == 1 ? 0 : -EIO;
}

bool audit_hash_equal(const struct audit_hash *a, const struct audit_hash *b)
{
	return memcmp(a->bytes, b->bytes, AUDIT_HASH_SIZE) == 0;
}
