/* SPDX-License-Identifier: MIT */
#pragma once

/* Heads given whole and in random fragments: the result must be the same. */

#include "base/text.h"
#include "http/http.h"
#include "test.h"

static inline size_t next_random(uint64_t *state, size_t n)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (size_t)(*state >> 33) % n;
}

/* A head, and the fields of the reader, that were read from fragments of @text. */
struct rig {
	struct http_reader reader;
	struct http_request request;
	struct http_response response;
	struct http_asked asked;
	enum http_role role;
	bool is_response;
};

static inline long rig_read(struct rig *rig, const char *bytes, size_t n_bytes)
{
	return rig->is_response
		       ? http_response_read(&rig->reader, bytes, n_bytes, &rig->asked,
					    &rig->response)
		       : http_request_read(&rig->reader, bytes, n_bytes, rig->role, &rig->request);
}

/* In fragments that grow by up to @step bytes; each in a heap block of exactly its size. */
static inline long rig_read_fragments(struct rig *rig, const char *bytes, size_t n_bytes,
				      size_t step, uint64_t seed)
{
	size_t n = 0;
	long r = 0;

	rig->reader = (struct http_reader)HTTP_READER_INIT;
	while (r == 0 && n < n_bytes) {
		char *part;

		n += 1 + next_random(&seed, step);
		n = n < n_bytes ? n : n_bytes;
		part = malloc(n);
		if (!part)
			abort();
		memcpy(part, bytes, n);
		r = rig_read(rig, part, n);
		free(part);
	}
	return r;
}

/* Reads @bytes whole, after having checked that fragments give the same. */
static inline long rig_check(struct rig *rig, const char *bytes, size_t n_bytes)
{
	static struct rig parts;
	long r;

	rig->reader = (struct http_reader)HTTP_READER_INIT;
	r = rig_read(rig, bytes, n_bytes);
	for (size_t i = 0; i < 6; i++) {
		static const size_t steps[] = { 1, 2, 3, 7, 40, 2000 };

		parts = (struct rig){ .asked = rig->asked,
				      .role = rig->role,
				      .is_response = rig->is_response };
		expect_eq(rig_read_fragments(&parts, bytes, n_bytes, steps[i], i), r);
		expect_eq(parts.reader.fault, rig->reader.fault);
	}
	if (r < 0)
		expect_eq(rig_read(rig, bytes, n_bytes), r); /* it stays refused */
	return r;
}

static inline bool same_bytes(struct http_bytes bytes, const char *text)
{
	return bytes.len == strlen(text) && memcmp(bytes.at, text, bytes.len) == 0;
}

static inline const char *print_authority(const struct http_authority *authority, uint16_t port)
{
	static char printed[HTTP_AUTHORITY_SIZE];

	expect_eq(http_authority_print(authority, port, printed), strlen(printed));
	return printed;
}
