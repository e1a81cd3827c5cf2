/* SPDX-License-Identifier: MIT */

/*
 * Ed25519 through libcrypto. A key is made into libcrypto's form for each use: signatures are
 * seconds apart, and what is not kept needs no erasing here (libcrypto erases its copy).
 */

#include "audit/signature.h"

#include <errno.h>
#include <openssl/evp.h>

#include "base/cleanup.h"

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
