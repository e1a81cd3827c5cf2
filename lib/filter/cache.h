/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Compiled BPF prefixes in a private directory, one file each
 *
 * A file contains the full key that it was made from. Name, length and checksum are trusted only if
 * no other user can have written the file; even then the program can only refuse system calls
 * (filter/prefix.h).
 */

#include <stddef.h>

struct sock_filter;

/* Longer keys are not cached. */
#define CACHE_KEY_MAX (32 * 1024)

/* @ret is from malloc(). Negative errno if there is no such file or it cannot be trusted. */
int cache_read(int dirfd, const char *key, struct sock_filter **ret, size_t *ret_n);
int cache_write(int dirfd, const char *key, const struct sock_filter *code, size_t n);

/* Parses the content of a cache file. -EBADMSG: it is incomplete, or was made from another key. */
int cache_parse(const void *bytes, size_t n_bytes, const char *key, struct sock_filter **ret,
		size_t *ret_n);
