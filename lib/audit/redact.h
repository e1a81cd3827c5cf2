/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Secrets are cut out of a text before it is hashed, because nothing can be removed from the chain
 *
 * Known prefixes of tokens are compared byte by byte. The user's patterns are PCRE2's and their
 * work is bounded: if a bound is reached, the whole text counts as a secret.
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

/* @patterns may be NULL if @n_patterns is 0. -EINVAL names the pattern and the offset of the error
 * in it. */
int redactor_new(const char *const *patterns, size_t n_patterns, struct redactor **ret,
		 struct sbx_error *err);
struct redactor *redactor_free(struct redactor *redactor);
CLEANUP_BY(struct redactor, redactor_free)
#define _cleanup_redactor_ _cleanup_(redactor_free_ptr)

/*
 * Might these bytes contain a secret? False is certain, for the bytes as they are (escapes are not
 * decoded). Always true if there are patterns.
 */
bool redactor_suspects(const struct redactor *redactor, const void *bytes, size_t n_bytes);
/*
 * 1 if the text was added to @out with its secrets replaced, 0 if it has none and nothing was
 * added, or -ENOMEM. @bytes are UTF-8 and must not lie in @out.
 */
int redactor_clean(const struct redactor *redactor, const char *bytes, size_t n_bytes,
		   struct text *out);
/*
 * The same for each text in a JSON value, including names: 1 if the value was added to @out with
 * its secrets replaced, 0, -EILSEQ for half of a surrogate pair, or -ENOMEM.
 */
int redactor_clean_json(const struct redactor *redactor, const char *value, size_t n_bytes,
			struct text *out);
