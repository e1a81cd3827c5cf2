/* SPDX-License-Identifier: MIT */

/*
 * Finding secrets
 *
 * A prefix alone is not a secret: "sk-SK" is a locale and npm_config_cache a variable. It must be
 * followed by a token: a minimum of characters of its alphabet, and fewer if one is a digit. Two
 * prefixes are also ends of words ("task-", "disk-"), so no letter may precede them.
 *
 * Patterns are interpreted and not compiled to machine code: the log's service runs without memory
 * that is both writable and executable.
 */

#include "audit/redact.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"

#define MATCH_LIMIT 100000
#define DEPTH_LIMIT 1000
#define HEAP_LIMIT_KIB 1024

enum alphabet {
	ALPHABET_WORD,	 /* letters and digits */
	ALPHABET_DASHED, /* and '_' and '-' */
	ALPHABET_UPPER,	 /* capitals and digits */
};

struct prefix {
	const char *text; /* '?' is any small letter */
	enum alphabet alphabet;
	size_t n_min;	    /* characters required after the prefix */
	size_t n_min_plain; /* the same if none of them is a digit */
	bool begins_word;
};

static const struct prefix prefixes[] = {
	{ "sk-", ALPHABET_DASHED, 4, 16, true },   { "npm_", ALPHABET_WORD, 4, 16, true },
	{ "ghp_", ALPHABET_WORD, 4, 4, false },	   { "gho_", ALPHABET_WORD, 4, 4, false },
	{ "AKIA", ALPHABET_UPPER, 8, 8, false },   { "glpat-", ALPHABET_DASHED, 4, 4, false },
	{ "xox-", ALPHABET_DASHED, 4, 16, false }, { "xox?-", ALPHABET_DASHED, 4, 16, false },
};

struct redactor {
	bool may_begin[UCHAR_MAX + 1]; /* by the first character of a prefix */
	pcre2_code *patterns[REDACT_PATTERNS_MAX];
	size_t n_patterns;
	pcre2_match_context *limits;
	pcre2_match_data *match;
};

struct redactor *redactor_free(struct redactor *redactor)
{
	if (!redactor)
		return NULL;
	for (size_t i = 0; i < redactor->n_patterns; i++)
		pcre2_code_free(redactor->patterns[i]);
	pcre2_match_data_free(redactor->match);
	pcre2_match_context_free(redactor->limits);
	free(redactor);
	return NULL;
}

/* ---- set-up ---- */

static int refuse_pattern(const char *pattern, int code, size_t at, struct sbx_error *err)
{
	PCRE2_UCHAR why[128];

	(void)sbx_error_what(err, -EINVAL, "cannot use the pattern '%.100s' for secrets", pattern);
	if (pcre2_get_error_message(code, why, sizeof(why)) > 0)
		sbx_error_why(err, "%s, at character %zu", (const char *)why, at + 1);
	sbx_error_fix(err, "correct it; it is a regular expression of PCRE2");
	return -EINVAL;
}

static int add_pattern(struct redactor *redactor, const char *pattern, struct sbx_error *err)
{
	pcre2_code *code;
	PCRE2_SIZE at;
	int why;

	if (*pattern == '\0' || strlen(pattern) > REDACT_PATTERN_BYTES_MAX) {
		(void)sbx_error_what(err, -EINVAL, "cannot use a pattern for secrets");
		sbx_error_why(err, "it is empty, or longer than %d bytes",
			      REDACT_PATTERN_BYTES_MAX);
		sbx_error_fix(err, "write several short ones");
		return -EINVAL;
	}
	code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
			     PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C, &why, &at, NULL);
	if (!code)
		return refuse_pattern(pattern, why, at, err);
	redactor->patterns[redactor->n_patterns++] = code;
	return 0;
}

static int set_limits(struct redactor *redactor)
{
	redactor->limits = pcre2_match_context_create(NULL);
	/* One pair of offsets: groups are not used. */
	redactor->match = pcre2_match_data_create(1, NULL);
	if (!redactor->limits || !redactor->match)
		return -ENOMEM;
	(void)pcre2_set_match_limit(redactor->limits, MATCH_LIMIT);
	(void)pcre2_set_depth_limit(redactor->limits, DEPTH_LIMIT);
	(void)pcre2_set_heap_limit(redactor->limits, HEAP_LIMIT_KIB);
	return 0;
}

int redactor_new(const char *const *patterns, size_t n_patterns, struct redactor **ret,
		 struct sbx_error *err)
{
	_cleanup_redactor_ struct redactor *redactor = calloc(1, sizeof(*redactor));

	if (n_patterns > REDACT_PATTERNS_MAX) {
		(void)sbx_error_what(err, -EINVAL, "there are %zu patterns for secrets",
				     n_patterns);
		sbx_error_why(err, "every record is searched for each of them");
		sbx_error_fix(err, "join them with '|' to at most %d", REDACT_PATTERNS_MAX);
		return -EINVAL;
	}
	if (!redactor || set_limits(redactor) < 0)
		return sbx_error_what(err, -ENOMEM, "cannot prepare the search for secrets");
	for (size_t i = 0; i < N_ELEMENTS(prefixes); i++)
		redactor->may_begin[(unsigned char)prefixes[i].text[0]] = true;
	for (size_t i = 0; i < n_patterns; i++) {
		int r = add_pattern(redactor, patterns[i], err);

		if (r < 0)
			return r;
	}
	*ret = take_ptr(redactor);
	return 0;
}

/* ---- searching ---- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_word(char c)
{
	return is_digit(c) || is_upper(c) || (c >= 'a' && c <= 'z');
}

static bool is_in(enum alphabet alphabet, char c)
{
	switch (alphabet) {
	case ALPHABET_WORD:
		return is_word(c);
	case ALPHABET_DASHED:
		return is_word(c) || c == '_' || c == '-';
	case ALPHABET_UPPER:
		return is_upper(c) || is_digit(c);
	}
	return false;
}

static bool begins_with(const char *bytes, size_t n_bytes, const char *prefix)
{
	size_t n = 0;

	while (n < n_bytes && prefix[n] != '\0' &&
	       (prefix[n] == bytes[n] || (prefix[n] == '?' && bytes[n] >= 'a' && bytes[n] <= 'z')))
		n++;
	return prefix[n] == '\0';
}

/* The offset of the next prefix from @at on; @n_bytes if there is none. */
static size_t find_prefix(const struct redactor *redactor, const char *bytes, size_t n_bytes,
			  size_t at, const struct prefix **ret)
{
	for (; at < n_bytes; at++) {
		if (!redactor->may_begin[(unsigned char)bytes[at]])
			continue;
		for (size_t i = 0; i < N_ELEMENTS(prefixes); i++)
			if (begins_with(bytes + at, n_bytes - at, prefixes[i].text)) {
				*ret = &prefixes[i];
				return at;
			}
	}
	return n_bytes;
}

bool redactor_suspects(const struct redactor *redactor, const void *bytes, size_t n_bytes)
{
	const struct prefix *prefix;

	return redactor->n_patterns > 0 ||
	       find_prefix(redactor, bytes, n_bytes, 0, &prefix) < n_bytes;
}

/* The end of the token that begins with @prefix at @start, or 0 if no token follows. */
static size_t token_end(const struct prefix *prefix, const char *bytes, size_t n_bytes,
			size_t start)
{
	size_t begin = start + strlen(prefix->text), end = begin;
	bool has_digit = false;

	if (prefix->begins_word && start > 0 && is_word(bytes[start - 1]))
		return 0;
	for (; end < n_bytes && is_in(prefix->alphabet, bytes[end]); end++)
		has_digit |= is_digit(bytes[end]);
	return end - begin >= (has_digit ? prefix->n_min : prefix->n_min_plain) ? end : 0;
}

/* 1 if a token was found. */
static int clean_tokens(const struct redactor *redactor, const char *bytes, size_t n_bytes,
			struct text *out)
{
	const struct prefix *prefix;
	size_t copied = 0, at = 0;

	while ((at = find_prefix(redactor, bytes, n_bytes, at, &prefix)) < n_bytes) {
		size_t end = token_end(prefix, bytes, n_bytes, at);

		if (end > 0) {
			text_add_bytes(out, bytes + copied, at - copied);
			text_add(out, REDACTED);
			copied = end;
		}
		at = end > 0 ? end : at + 1;
	}
	if (copied > 0)
		text_add_bytes(out, bytes + copied, n_bytes - copied);
	return copied > 0;
}

/* The next match from @at on: 1 with its offsets, 0 if there is none, -E2BIG if a limit of the
 * search was reached. */
static int find_pattern(const struct redactor *redactor, const pcre2_code *pattern,
			const char *bytes, size_t n_bytes, size_t at, PCRE2_SIZE ret[2])
{
	const PCRE2_SIZE *place;
	int r = pcre2_match(pattern, (PCRE2_SPTR)bytes, n_bytes, at, PCRE2_NOTEMPTY,
			    redactor->match, redactor->limits);

	if (r == PCRE2_ERROR_NOMATCH)
		return 0;
	place = pcre2_get_ovector_pointer(redactor->match);
	/* \K can place the match's start after its end. */
	if (r < 0 || place[0] < at || place[1] <= place[0])
		return -E2BIG;
	ret[0] = place[0];
	ret[1] = place[1];
	return 1;
}

static int clean_pattern(const struct redactor *redactor, const pcre2_code *pattern,
			 const char *bytes, size_t n_bytes, struct text *out)
{
	size_t before = out->len, at = 0;
	PCRE2_SIZE place[2];
	int r;

	while ((r = find_pattern(redactor, pattern, bytes, n_bytes, at, place)) > 0) {
		text_add_bytes(out, bytes + at, place[0] - at);
		text_add(out, REDACTED);
		at = place[1];
	}
	if (r < 0) {
		text_truncate(out, before);
		text_add(out, REDACTED);
		return 1;
	}
	if (at > 0)
		text_add_bytes(out, bytes + at, n_bytes - at);
	return at > 0;
}

/* Each pattern searches the output of the one before. */
static int clean_patterns(const struct redactor *redactor, const char *bytes, size_t n_bytes,
			  struct text *out)
{
	_cleanup_text_ struct text before = TEXT_INIT, after = TEXT_INIT;
	bool has_found = false;

	for (size_t i = 0; i < redactor->n_patterns; i++) {
		struct text swap = before;

		text_reset(&after);
		if (!clean_pattern(redactor, redactor->patterns[i],
				   has_found ? text_string(&before) : bytes,
				   has_found ? before.len : n_bytes, &after))
			continue;
		if (text_status(&after) < 0)
			return -ENOMEM;
		before = after;
		after = swap;
		has_found = true;
	}
	if (has_found)
		text_add_bytes(out, before.data, before.len);
	return has_found;
}

int redactor_clean(const struct redactor *redactor, const char *bytes, size_t n_bytes,
		   struct text *out)
{
	_cleanup_text_ struct text tokens = TEXT_INIT;
	bool has_token = clean_tokens(redactor, bytes, n_bytes, &tokens);
	int r;

	if (text_status(&tokens) < 0)
		return -ENOMEM;
	if (has_token) {
		bytes = tokens.data;
		n_bytes = tokens.len;
	}
	r = clean_patterns(redactor, bytes, n_bytes, out);
	if (r == 0 && has_token)
		text_add_bytes(out, bytes, n_bytes);
	if (r < 0 || text_status(out) < 0)
		return -ENOMEM;
	return r > 0 || has_token;
}

int redactor_clean_json(const struct redactor *redactor, const char *value, size_t n_bytes,
			struct text *out)
{
	_cleanup_text_ struct text decoded = TEXT_INIT, clean = TEXT_INIT;
	struct json_scanner scanner;
	struct json_writer json;
	struct json_item item;
	size_t at = 0;

	json_scan(&scanner, value, n_bytes);
	json_write(&json, out);
	while (json_next(&scanner, &item) > 0) {
		int r;

		if (item.kind != JSON_STRING && item.kind != JSON_NAME)
			continue;
		text_reset(&decoded);
		text_reset(&clean);
		if (item.escaped && json_decode(&item, &decoded) < 0)
			return -EILSEQ;
		if (text_status(&decoded) < 0)
			return -ENOMEM;
		r = redactor_clean(redactor, item.escaped ? text_string(&decoded) : item.bytes,
				   item.escaped ? decoded.len : item.n_bytes, &clean);
		if (r < 0)
			return r;
		if (r == 0)
			continue;
		text_add_bytes(out, value + at, item.offset - at);
		json.needs_comma = false;
		json_add_string_bytes(&json, text_string(&clean), clean.len);
		at = item.offset + item.n_bytes + 2;
	}
	if (at > 0)
		text_add_bytes(out, value + at, n_bytes - at);
	return text_status(out) < 0 ? -ENOMEM : at > 0;
}
