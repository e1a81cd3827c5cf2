/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The upper layer of an overlay as an archive: the private module archive.so, opened only for
 * "--out FILE.tar", because libarchive costs more than a whole sandbox
 */

#include <stdint.h>

struct output_options {
	uint64_t deadline_usec; /* of CLOCK_MONOTONIC, or OUTPUT_NO_DEADLINE */
	/* Called at each name and each block, or NULL: how many names were written. */
	void (*advanced)(void *userdata, uint64_t n_names);
	void *userdata;
};

struct output_result {
	char *why;	      /* reason of a failure */
	uint64_t n_left_out;  /* FIFOs, sockets, names that begin with ".wh.", each with
				 everything below it, and removals of names of over 251 bytes */
	char *first_left_out; /* relative to the archived directory */
};

/*
 * Writes the contents of @directory to @target, as a pax archive with relative paths:
 * a removed file (a character device 0/0 in the layer) becomes an empty file ".wh.NAME", a replaced
 * directory gets ".wh..wh..opq". The command has filled the directory, so it is untrusted: links
 * are not followed, devices are refused, set-user-ID bits and extended attributes are left out, and
 * so are FIFOs, sockets and names that begin with ".wh.". Files without read permission are
 * archived, too: the caller owns them and adds it. Stops with -ETIME at the deadline. 0 or negative
 * errno; the caller frees the texts in *@ret, which may be NULL.
 */
typedef int output_archive_fn(int directory, int target, const struct output_options *options,
			      struct output_result *ret);
#define OUTPUT_NO_DEADLINE UINT64_MAX
#define OUTPUT_MODULE_SYMBOL "sbx_output_archive"
output_archive_fn sbx_output_archive;
