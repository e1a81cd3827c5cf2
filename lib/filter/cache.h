/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Compiled programs in a folder of our own, one file each
 *
 * A file says what it was made from, in full: the key. What a name, a checksum or a length says is
 * believed only about a file that no other user can have written; and also then nobody asks it for
 * more than refusals (filter/prefix.h).
 */

#include <stddef.h>

struct sock_filter;

/* Longer keys are not cached. */
#define CACHE_KEY_MAX (32 * 1024)

/* @ret is from malloc(). Negative errno where there is no such file, and where it cannot be
 * trusted. */
int cache_read(int dirfd, const char *key, struct sock_filter **ret, size_t *ret_n);
int cache_write(int dirfd, const char *key, const struct sock_filter *code, size_t n);

/* The bytes of such a file; -EBADMSG where they are not whole, or made from something else. */
int cache_parse(const void *bytes, size_t n_bytes, const char *key, struct sock_filter **ret,
		size_t *ret_n);
