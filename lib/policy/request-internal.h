/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A request that is being read, from JSON or from words
 *
 * Texts go one after the other into memory that may still move, so a draft holds offsets; they
 * become pointers once, at the end.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/request.h"

enum request_member {
	MEMBER_OP,
	MEMBER_PATH,
	MEMBER_PROJECT,
	MEMBER_HOST,
	MEMBER_PROTO,
	MEMBER_CALLER,
	MEMBER_STATE,
	MEMBER_MODE,
	MEMBER_SANDBOX,
	MEMBER_SANDBOX_ID,
	MEMBER_SHA256,
	MEMBER_TOKEN,
	N_TEXT_MEMBERS, /* those before are texts */
	MEMBER_ID = N_TEXT_MEMBERS,
	MEMBER_PORT,
	MEMBER_SIZE,
	MEMBER_TAGS,
	N_MEMBERS,
};

#define DRAFT_ABSENT SIZE_MAX

struct request_draft {
	struct text *texts;
	size_t texts_at[N_TEXT_MEMBERS + 1]; /* offsets in texts; the last is the id */
	size_t tags_at[REQUEST_TAGS_MAX];
	size_t n_tags;
	uint64_t port;
	uint64_t size_bytes;
	bool seen[N_MEMBERS];
};

/* Empties @buffer, keeping its memory. */
void request_draft_begin(struct request_draft *draft, struct request_buffer *buffer);
/* Adds a text and a NUL behind it; returns where it will stand. */
size_t request_draft_add_text(struct request_draft *draft, const void *bytes, size_t n_bytes);
/* 0, -EINVAL without an operation, -ENOMEM; the buffer has a request on success only. */
int request_draft_finish(struct request_draft *draft, struct request_buffer *buffer,
			 struct sbx_error *err);

/* @err gets "cannot read the request: ..."; returns -EINVAL. */
int request_error(struct sbx_error *err, const char *format, ...)
	__attribute__((__format__(__printf__, 2, 3)));
