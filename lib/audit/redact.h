/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Secrets leave a text before it is hashed: what is in the chain cannot be taken out again
 *
 * Known prefixes of tokens are found by one word automaton. The user's patterns are PCRE2's, and
 * their work is bounded: where a bound is reached the whole text counts as secret.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

struct sbx_error;
struct text;
struct redactor;

#define REDACTED "[REDACTED]"
#define REDACT_PATTERNS_MAX 64
#define REDACT_PATTERN_BYTES_MAX 4096

/* @patterns may be NULL where there are none. -EINVAL names the pattern and the place in it. */
int redactor_new(const char *const *patterns, size_t n_patterns, struct redactor **ret,
		 struct sbx_error *err);
struct redactor *redactor_free(struct redactor *redactor);
void redactor_free_ptr(struct redactor **redactor);
#define _cleanup_redactor_ _cleanup_(redactor_free_ptr)

/*
 * Can these bytes hold a secret? False is certain, for the bytes as they are (escapes are not
 * decoded). Always true where there are patterns.
 */
bool redactor_suspects(const struct redactor *redactor, const void *bytes, size_t n_bytes);
/*
 * 1 with the text without its secrets added to @out, 0 where there are none and nothing was added,
 * or -ENOMEM. @bytes are UTF-8 and do not lie in @out.
 */
int redactor_clean(const struct redactor *redactor, const char *bytes, size_t n_bytes,
		   struct text *out);
/*
 * The same for each text in a JSON value, names among them: 1 with the value without its secrets
 * added to @out, 0, -EILSEQ for half of a surrogate pair, or -ENOMEM.
 */
int redactor_clean_json(const struct redactor *redactor, const char *value, size_t n_bytes,
			struct text *out);
