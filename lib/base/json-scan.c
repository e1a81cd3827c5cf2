/* SPDX-License-Identifier: MIT */

/*
 * The JSON scanner: two tables and no recursion
 *
 * The first byte of a token decides which token it is, and the state decides which tokens may come.
 * json_next() looks up both: either the token is refused right there, with the state's own
 * "expected ...", or it is taken whole. What is open needs one bit a level, because a bracket only
 * has to know whether an object or an array goes on behind it.
 */

#include "base/json.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/json-plain.h"
#include "base/text.h"

enum token {
	TOKEN_OTHER, /* starts nothing */
	TOKEN_END,   /* no byte is left */
	TOKEN_SPACE,
	TOKEN_COMMA,
	TOKEN_COLON,
	TOKEN_OPEN,
	TOKEN_CLOSE_OBJECT,
	TOKEN_CLOSE_ARRAY,
	TOKEN_QUOTE,
	TOKEN_NUMBER,
	TOKEN_WORD, /* true, false, null */
};

static const uint8_t token_of[256] = {
	[' '] = TOKEN_SPACE,	      ['\t'] = TOKEN_SPACE,	 ['\n'] = TOKEN_SPACE,
	['\r'] = TOKEN_SPACE,	      [','] = TOKEN_COMMA,	 [':'] = TOKEN_COLON,
	['{'] = TOKEN_OPEN,	      ['['] = TOKEN_OPEN,	 ['}'] = TOKEN_CLOSE_OBJECT,
	['"'] = TOKEN_QUOTE,	      [']'] = TOKEN_CLOSE_ARRAY, ['-'] = TOKEN_NUMBER,
	['0' ... '9'] = TOKEN_NUMBER, ['t'] = TOKEN_WORD,	 ['f'] = TOKEN_WORD,
	['n'] = TOKEN_WORD,
};

/* A scanner that has failed has its negative errno as its state. */
enum state {
	WANTS_VALUE,
	WANTS_FIRST_VALUE,
	WANTS_FIRST_NAME,
	WANTS_NAME,
	WANTS_COLON,
	WANTS_MORE_MEMBERS,
	WANTS_MORE_VALUES,
	WANTS_END,
};

#define MAY(token) (1u << TOKEN_##token)
#define MAY_VALUE (MAY(OPEN) | MAY(QUOTE) | MAY(NUMBER) | MAY(WORD))

static const struct rule {
	unsigned may;
	const char *problem;
} rules[] = {
	[WANTS_VALUE] = { MAY_VALUE, "expected a value" },
	[WANTS_FIRST_VALUE] = { MAY_VALUE | MAY(CLOSE_ARRAY), "expected a value or ']'" },
	[WANTS_FIRST_NAME] = { MAY(QUOTE) | MAY(CLOSE_OBJECT), "expected a name in \"\" or '}'" },
	[WANTS_NAME] = { MAY(QUOTE), "expected a name in \"\"" },
	[WANTS_COLON] = { MAY(COLON), "expected ':'" },
	[WANTS_MORE_MEMBERS] = { MAY(COMMA) | MAY(CLOSE_OBJECT), "expected ',' or '}'" },
	[WANTS_MORE_VALUES] = { MAY(COMMA) | MAY(CLOSE_ARRAY), "expected ',' or ']'" },
	[WANTS_END] = { MAY(END), "expected the end of the text" },
};

static int fail(struct json_scanner *scanner, size_t at, const char *problem)
{
	scanner->at = at;
	scanner->problem = problem;
	return scanner->state = -EBADMSG;
}

/* The byte at @at, or -1 behind the last one. */
static int byte_at(const struct json_scanner *scanner, size_t at)
{
	return at < scanner->n_bytes ? (uint8_t)scanner->bytes[at] : -1;
}

static bool in_object(const struct json_scanner *scanner)
{
	unsigned level = scanner->depth - 1;

	return scanner->in_object[level / 64] >> (level % 64) & 1;
}

static enum state state_after_value(const struct json_scanner *scanner)
{
	if (scanner->depth == 0)
		return WANTS_END;
	return in_object(scanner) ? WANTS_MORE_MEMBERS : WANTS_MORE_VALUES;
}

/* The bytes from the scanner's place to @end are one item. */
static int finish(struct json_scanner *scanner, enum json_kind kind, size_t end, enum state state,
		  struct json_item *ret)
{
	*ret = (struct json_item){ .kind = kind,
				   .bytes = scanner->bytes + scanner->at,
				   .n_bytes = end - scanner->at,
				   .offset = scanner->at };
	scanner->at = end;
	scanner->state = state;
	return 1;
}

static int take_open(struct json_scanner *scanner, struct json_item *ret)
{
	bool object = scanner->bytes[scanner->at] == '{';
	unsigned level = scanner->depth;
	uint64_t bit = UINT64_C(1) << (level % 64);

	if (level == JSON_DEPTH_MAX) {
		scanner->problem = "expected at most 1024 levels";
		return scanner->state = -E2BIG;
	}
	if (object)
		scanner->in_object[level / 64] |= bit;
	else
		scanner->in_object[level / 64] &= ~bit;
	scanner->depth++;
	return finish(scanner, object ? JSON_OBJECT_BEGIN : JSON_ARRAY_BEGIN, scanner->at + 1,
		      object ? WANTS_FIRST_NAME : WANTS_FIRST_VALUE, ret);
}

/* Only a state inside an object lets '}' come, only one inside an array ']'. */
static int take_close(struct json_scanner *scanner, struct json_item *ret)
{
	bool object = scanner->bytes[scanner->at] == '}';

	scanner->depth--;
	return finish(scanner, object ? JSON_OBJECT_END : JSON_ARRAY_END, scanner->at + 1,
		      state_after_value(scanner), ret);
}

static bool is_digit(int c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex_digit(int c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Moves *@at behind the escape whose backslash it is at. */
static int pass_escape(struct json_scanner *scanner, size_t *at)
{
	int c = byte_at(scanner, *at + 1);

	if (c <= 0 || !strchr("\"\\/bfnrtu", c))
		return fail(scanner, *at + 1, "expected one of \"\\/bfnrtu behind '\\'");
	*at += 2;
	for (int i = 0; c == 'u' && i < 4; i++, ++*at)
		if (!is_hex_digit(byte_at(scanner, *at)))
			return fail(scanner, *at, "expected four hexadecimal digits behind '\\u'");
	return 0;
}

/* Moves *@at behind what is not plain: an escape, or all characters up to the next ASCII one. */
static int pass_special(struct json_scanner *scanner, size_t *at)
{
	if (scanner->bytes[*at] == '\\')
		return pass_escape(scanner, at);
	if ((uint8_t)scanner->bytes[*at] < 0x20)
		return fail(scanner, *at, "expected control characters to be escaped");
	do {
		size_t n = utf8_sequence(scanner->bytes + *at, scanner->n_bytes - *at);

		if (n == 0)
			return fail(scanner, *at, "expected valid UTF-8");
		*at += n;
	} while (byte_at(scanner, *at) >= 0x80);
	return 0;
}

/* The string's closing quote is at @end. */
static int finish_quote(struct json_scanner *scanner, size_t end, bool escaped,
			struct json_item *ret)
{
	bool name = scanner->state == WANTS_NAME || scanner->state == WANTS_FIRST_NAME;
	size_t start = scanner->at + 1;

	*ret = (struct json_item){ .kind = name ? JSON_NAME : JSON_STRING,
				   .bytes = scanner->bytes + start,
				   .n_bytes = end - start,
				   .offset = scanner->at,
				   .escaped = escaped };
	scanner->at = end + 1;
	scanner->state = (int)(name ? WANTS_COLON : state_after_value(scanner));
	return 1;
}

/* Kept out of the way of strings that are plain from end to end, as nearly all are. */
__attribute__((__noinline__)) static int take_special(struct json_scanner *scanner, size_t at,
						      struct json_item *ret)
{
	bool escaped = false;

	for (;;) {
		at += json_plain(scanner->bytes + at, scanner->n_bytes - at);
		if (at == scanner->n_bytes)
			return fail(scanner, at, "expected '\"' at the end of the string");
		if (scanner->bytes[at] == '"')
			return finish_quote(scanner, at, escaped, ret);
		escaped |= scanner->bytes[at] == '\\';
		if (pass_special(scanner, &at) < 0)
			return scanner->state;
	}
}

static int take_quote(struct json_scanner *scanner, struct json_item *ret)
{
	size_t start = scanner->at + 1;
	size_t end = start + json_plain(scanner->bytes + start, scanner->n_bytes - start);

	if (byte_at(scanner, end) != '"')
		return take_special(scanner, end, ret);
	return finish_quote(scanner, end, false, ret);
}

/* Moves *@at behind one or more digits. */
static int pass_digits(struct json_scanner *scanner, size_t *at)
{
	if (!is_digit(byte_at(scanner, *at)))
		return fail(scanner, *at, "expected a digit");
	while (is_digit(byte_at(scanner, *at)))
		++*at;
	return 0;
}

static int take_number(struct json_scanner *scanner, struct json_item *ret)
{
	size_t at = scanner->at + (scanner->bytes[scanner->at] == '-');
	bool zero = byte_at(scanner, at) == '0';
	size_t whole = at;

	if (pass_digits(scanner, &at) < 0)
		return scanner->state;
	if (zero && at - whole > 1)
		return fail(scanner, whole + 1, "expected no digit behind a leading 0");
	if (byte_at(scanner, at) == '.') {
		at++;
		if (pass_digits(scanner, &at) < 0)
			return scanner->state;
	}
	if (byte_at(scanner, at) == 'e' || byte_at(scanner, at) == 'E') {
		at++;
		at += byte_at(scanner, at) == '+' || byte_at(scanner, at) == '-';
		if (pass_digits(scanner, &at) < 0)
			return scanner->state;
	}
	return finish(scanner, JSON_NUMBER, at, state_after_value(scanner), ret);
}

static const struct word {
	const char *word;
	enum json_kind kind;
	const char *problem;
} words[] = {
	{ "true", JSON_TRUE, "expected 'true'" },
	{ "false", JSON_FALSE, "expected 'false'" },
	{ "null", JSON_NULL, "expected 'null'" },
};

static int take_word(struct json_scanner *scanner, struct json_item *ret)
{
	const struct word *word = words;
	size_t at = scanner->at;

	while (word->word[0] != scanner->bytes[at])
		word++;
	for (const char *c = word->word; *c; c++, at++)
		if (byte_at(scanner, at) != *c)
			return fail(scanner, at, word->problem);
	return finish(scanner, word->kind, at, state_after_value(scanner), ret);
}

typedef int take_fn(struct json_scanner *scanner, struct json_item *ret);

static take_fn *const takes[] = {
	[TOKEN_OPEN] = take_open,	  [TOKEN_CLOSE_OBJECT] = take_close,
	[TOKEN_CLOSE_ARRAY] = take_close, [TOKEN_QUOTE] = take_quote,
	[TOKEN_NUMBER] = take_number,	  [TOKEN_WORD] = take_word,
};

static enum token next_token(struct json_scanner *scanner)
{
	enum token token = TOKEN_END;
	size_t at = scanner->at;

	for (; at < scanner->n_bytes; at++) {
		token = token_of[(uint8_t)scanner->bytes[at]];
		if (token != TOKEN_SPACE)
			break;
	}
	scanner->at = at;
	return at < scanner->n_bytes ? token : TOKEN_END;
}

/* The one mistake that nobody can see in an editor is named. */
static const char *unexpected(const struct json_scanner *scanner)
{
	static const char mark[] = { '\xef', '\xbb', '\xbf' };

	if (scanner->at == 0 && scanner->n_bytes >= sizeof(mark) &&
	    memcmp(scanner->bytes, mark, sizeof(mark)) == 0)
		return "expected a value, not a byte order mark";
	return rules[scanner->state].problem;
}

void json_scan(struct json_scanner *scanner, const void *bytes, size_t n_bytes)
{
	*scanner =
		(struct json_scanner){ .bytes = bytes, .n_bytes = n_bytes, .state = WANTS_VALUE };
}

int json_next(struct json_scanner *scanner, struct json_item *ret)
{
	while (scanner->state >= 0) {
		enum token token = next_token(scanner);

		if (!(rules[scanner->state].may & 1u << token))
			return fail(scanner, scanner->at, unexpected(scanner));
		if (token == TOKEN_END)
			return 0;
		if (token != TOKEN_COMMA && token != TOKEN_COLON)
			return takes[token](scanner, ret);
		scanner->state = scanner->state == WANTS_MORE_MEMBERS ? WANTS_NAME : WANTS_VALUE;
		scanner->at++;
	}
	return scanner->state;
}

int json_skip(struct json_scanner *scanner, const struct json_item *item)
{
	unsigned depth = scanner->depth;

	if (item->kind != JSON_OBJECT_BEGIN && item->kind != JSON_ARRAY_BEGIN)
		return 0;
	while (scanner->depth >= depth) {
		struct json_item inner;
		int r = json_next(scanner, &inner);

		if (r <= 0)
			return r;
	}
	return 0;
}

int json_validate(const void *bytes, size_t n_bytes, size_t *ret_offset, const char **ret_problem)
{
	struct json_scanner scanner;
	struct json_item item;
	int r;

	json_scan(&scanner, bytes, n_bytes);
	do
		r = json_next(&scanner, &item);
	while (r > 0);
	if (r < 0 && ret_offset)
		*ret_offset = scanner.at;
	if (r < 0 && ret_problem)
		*ret_problem = scanner.problem;
	return r;
}
