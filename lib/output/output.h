/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The upper layer of an overlay as an archive: the private module archive.so, opened only for
 * "--out FILE.tar", because libarchive costs more than a whole sandbox
 */

#include <stdint.h>

struct output_result {
	char *why;	      /* it failed */
	uint64_t n_left_out;  /* names that begin with ".wh.", each with all that is below it */
	char *first_left_out; /* relative to the folder */
};

/*
 * Writes what is below the folder @folder to @target, as a pax archive with paths relative to it: a
 * removed file (a character device 0/0 in the layer) becomes an empty file ".wh.NAME", a replaced
 * folder gets ".wh..wh..opq". Whoever filled the folder is a stranger: links are not followed,
 * devices are refused, setuid bits and attributes are left out, and so is what is named as only a
 * removal may be. What cannot be read is opened all the same, as it is ours. Stops with -ETIME at
 * @deadline_usec of CLOCK_MONOTONIC. 0 or negative errno; the caller frees the texts in *@ret,
 * which may be NULL.
 */
typedef int output_archive_fn(int folder, int target, uint64_t deadline_usec,
			      struct output_result *ret);
#define OUTPUT_NO_DEADLINE UINT64_MAX
#define OUTPUT_MODULE_SYMBOL "sbx_output_archive"
output_archive_fn sbx_output_archive;
