/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Shared by the segment and the archive: the line in which an archive says what it is
 */

#include "audit/segment.h"

struct text;

#define SEGMENT_ABOUT_MAX 4096

int segment_read_store(struct store *store, struct segment_about *ret, struct sbx_error *err);
void segment_add_about(struct text *out, const struct segment_about *about);
/* Exactly that line: 0, -EBADMSG, -ENOTSUP or -ENOMEM. */
int segment_parse_about(const char *bytes, size_t n_bytes, struct segment_about *ret);
