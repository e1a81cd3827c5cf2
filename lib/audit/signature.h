/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Ed25519 (RFC 8032): 32 bytes of private key, 32 of public key, 64 of signature
 */

#include <stddef.h>
#include <stdint.h>

#define SIGNATURE_KEY_SIZE 32
#define SIGNATURE_SIZE 64

/* 0, or -EIO where libcrypto fails. */
int signature_public_key(const uint8_t private_key[SIGNATURE_KEY_SIZE],
			 uint8_t ret[SIGNATURE_KEY_SIZE]);
int signature_make(const uint8_t private_key[SIGNATURE_KEY_SIZE], const void *bytes, size_t n_bytes,
		   uint8_t ret[SIGNATURE_SIZE]);
/* 0, or -EKEYREJECTED where it is not the signature of these bytes by this key. */
int signature_verify(const uint8_t public_key[SIGNATURE_KEY_SIZE], const void *bytes,
		     size_t n_bytes, const uint8_t signature[SIGNATURE_SIZE]);
