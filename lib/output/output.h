/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The upper layer of an overlay as an archive: the private module archive.so, opened only for
 * "--out FILE.tar", because libarchive costs more than a whole sandbox
 */

/*
 * Writes what is below the folder @folder to @target, as a pax archive with paths relative to it: a
 * removed file (a character device 0/0 in the layer) becomes an empty file ".wh.NAME", a replaced
 * folder gets ".wh..wh..opq". Whoever filled the folder is a stranger: links are not followed,
 * devices are refused, setuid bits and attributes are left out. 0, or negative errno with a text in
 * *@ret_why that the caller frees (or NULL).
 */
typedef int output_archive_fn(int folder, int target, char **ret_why);
#define OUTPUT_MODULE_SYMBOL "sbx_output_archive"
output_archive_fn sbx_output_archive;
