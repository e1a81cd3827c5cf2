/* SPDX-License-Identifier: MIT */

/*
 * The JSON scanner: two tables and no recursion
 *
 * The first byte of a token decides which token it is, and the state decides which tokens may come.
 * json_next() looks up both: the token is either refused, with the state's own "expected ...", or
 * consumed completely. Each open level needs one bit: after a closing bracket the scanner must only
 * know whether it is in an object or in an array.
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
	[WANTS_FIRST_NAME] = { MAY(QUOTE) | MAY(CLOSE_OBJECT),
			       "expected a name in double quotes or '}'" },
	[WANTS_NAME] = { MAY(QUOTE), "expected a name in double quotes" },
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

/* The byte at @at, or -1 after the last one. */
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

/* Returns the bytes from the scanner's position to @end as one item. */
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

/* The state allows '}' only inside an object and ']' only inside an array. */
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

/* Moves *@at from a backslash to the end of the escape. */
static int pass_escape(struct json_scanner *scanner, size_t *at)
{
	int c = byte_at(scanner, *at + 1);

	if (c <= 0 || !strchr("\"\\/bfnrtu", c))
		return fail(scanner, *at + 1, "expected one of \"\\/bfnrtu after '\\'");
	*at += 2;
	for (int i = 0; c == 'u' && i < 4; i++, ++*at)
		if (!is_hex_digit(byte_at(scanner, *at)))
			return fail(scanner, *at, "expected four hexadecimal digits after '\\u'");
	return 0;
}

/* Moves *@at after an escape, or after all characters up to the next ASCII one. */
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

/* Not inlined: nearly all strings are plain and need only the caller. */
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

/* Moves *@at after one or more digits. */
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
		return fail(scanner, whole + 1, "expected no digit after a leading 0");
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

/* Names a byte order mark, which is invisible in an editor. */
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
	/* The bits are set when a level is opened; a level that is not open has no kind. */
	scanner->bytes = bytes;
	scanner->n_bytes = n_bytes;
	scanner->at = 0;
	scanner->problem = NULL;
	scanner->depth = 0;
	scanner->state = WANTS_VALUE;
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

/*
 * Fast path for compact JSON, as programs write it: no space between tokens, strings without
 * escapes, integers only. Nearly all input has this form, and the tables of json_next() cost
 * several times as much. On any other form the fast path gives up and json_next() starts again at
 * the same byte, so both accept and refuse the same texts.
 */

/* The byte after the closing quote of the plain string whose first byte is @at, or NULL. */
static inline const char *pass_plain_string(const char *at, const char *end)
{
	at += json_plain(at, (size_t)(end - at));
	return at < end && *at == '"' ? at + 1 : NULL;
}

/* The byte after the integer at @at, or NULL; the caller checks what follows. */
static inline const char *pass_whole_number(const char *at, const char *end)
{
	const char *begin = at;

	while (at < end && *at >= '0' && *at <= '9')
		at++;
	return at == begin || (*begin == '0' && at > begin + 1) ? NULL : at;
}

/* The byte after the colon of the name whose quote is at @at, or NULL. */
static inline const char *pass_plain_name(const char *at, const char *end)
{
	if (at == end || *at != '"')
		return NULL;
	at = pass_plain_string(at + 1, end);
	return at && at < end && *at == ':' ? at + 1 : NULL;
}

static inline const char *pass_word(const char *at, const char *end)
{
	if (end - at >= 4 && (memcmp(at, "true", 4) == 0 || memcmp(at, "null", 4) == 0))
		return at + 4;
	return end - at >= 5 && memcmp(at, "false", 5) == 0 ? at + 5 : NULL;
}

/* One bit for each level, as in the scanner. */
struct compact {
	const char *at;
	const char *end;
	uint64_t objects;
	unsigned depth;
};

static inline bool pass_compact_value(struct compact *compact)
{
	const char *at = compact->at, *end = compact->end;

	if (at < end && *at == '"') {
		at = pass_plain_string(at + 1, end);
	} else if (at < end && (*at == '{' || *at == '[')) {
		if (compact->depth == 64)
			return false;
		compact->objects = compact->objects << 1 | (*at == '{');
		compact->depth++;
		at++;
	} else {
		at = at < end && *at >= 'a' ? pass_word(at, end) : pass_whole_number(at, end);
	}
	compact->at = at;
	return at != NULL;
}

/* The byte after the bracket that closes the object or array opened before @at, or NULL. */
static const char *pass_compact(const char *at, const char *end, bool is_object)
{
	struct compact compact = { at, end, is_object, 1 };
	bool is_first = true;

	while (compact.depth > 0) {
		char close = compact.objects & 1 ? '}' : ']';
		unsigned depth = compact.depth;

		if (compact.at == end)
			return NULL;
		if (*compact.at == close) {
			compact.at++;
			compact.objects >>= 1;
			compact.depth--;
			is_first = false;
			continue;
		}
		if (!is_first && *compact.at++ != ',')
			return NULL;
		if (compact.objects & 1)
			compact.at = pass_plain_name(compact.at, end);
		if (!compact.at || !pass_compact_value(&compact))
			return NULL;
		is_first = compact.depth > depth;
	}
	return compact.at;
}

/* Takes a plain string, an integer or an opening bracket at @at; false for anything else. */
static inline bool take_compact_value(struct json_scanner *scanner, const char *at,
				      struct json_item *ret)
{
	const char *begin = scanner->bytes, *end = begin + scanner->n_bytes, *behind;

	if (at == end)
		return false;
	if (*at == '"') {
		behind = pass_plain_string(at + 1, end);
		if (!behind)
			return false;
		*ret = (struct json_item){ .kind = JSON_STRING,
					   .bytes = at + 1,
					   .n_bytes = (size_t)(behind - at) - 2,
					   .offset = (size_t)(at - begin) };
		scanner->at = (size_t)(behind - begin);
		scanner->state = WANTS_MORE_MEMBERS;
		return true;
	}
	if (*at == '{' || *at == '[') {
		scanner->at = (size_t)(at - begin);
		return take_open(scanner, ret) > 0;
	}
	behind = pass_whole_number(at, end);
	if (!behind || behind == end || (*behind != ',' && *behind != '}'))
		return false;
	scanner->at = (size_t)(at - begin);
	return finish(scanner, JSON_NUMBER, (size_t)(behind - begin), WANTS_MORE_MEMBERS, ret) > 0;
}

static bool take_compact_member(struct json_scanner *scanner, struct json_item *ret_name,
				struct json_item *ret_value)
{
	const char *at = scanner->bytes + scanner->at, *end = scanner->bytes + scanner->n_bytes;
	const char *behind;

	if (scanner->depth == JSON_DEPTH_MAX || at == end)
		return false;
	if (scanner->state == WANTS_MORE_MEMBERS ? *at++ != ','
						 : scanner->state != WANTS_FIRST_NAME)
		return false;
	behind = pass_plain_name(at, end);
	if (!behind || !take_compact_value(scanner, behind, ret_value))
		return false;
	*ret_name = (struct json_item){ .kind = JSON_NAME,
					.bytes = at + 1,
					.n_bytes = (size_t)(behind - at) - 3,
					.offset = (size_t)(at - scanner->bytes) };
	return true;
}

static bool take_compact_end(struct json_scanner *scanner)
{
	if ((scanner->state != WANTS_MORE_MEMBERS && scanner->state != WANTS_FIRST_NAME) ||
	    byte_at(scanner, scanner->at) != '}')
		return false;
	scanner->at++;
	scanner->depth--;
	scanner->state = (int)state_after_value(scanner);
	return true;
}

int json_next_member(struct json_scanner *scanner, struct json_item *ret_name,
		     struct json_item *ret_value)
{
	int r;

	if (take_compact_member(scanner, ret_name, ret_value))
		return 1;
	if (take_compact_end(scanner))
		return 0;
	r = json_next(scanner, ret_name);
	if (r <= 0 || ret_name->kind != JSON_NAME)
		return r < 0 ? r : 0;
	return json_next(scanner, ret_value);
}

/* Moves after the bracket that closes the one that was taken last. */
static bool skip_compact(struct json_scanner *scanner)
{
	const char *behind;

	if (scanner->depth + 64 > JSON_DEPTH_MAX)
		return false;
	behind = pass_compact(scanner->bytes + scanner->at, scanner->bytes + scanner->n_bytes,
			      in_object(scanner));
	if (!behind)
		return false;
	scanner->at = (size_t)(behind - scanner->bytes);
	scanner->depth--;
	scanner->state = (int)state_after_value(scanner);
	return true;
}

int json_skip(struct json_scanner *scanner, const struct json_item *item)
{
	unsigned depth = scanner->depth;

	if (item->kind != JSON_OBJECT_BEGIN && item->kind != JSON_ARRAY_BEGIN)
		return 0;
	if ((scanner->state == WANTS_FIRST_NAME || scanner->state == WANTS_FIRST_VALUE) &&
	    skip_compact(scanner))
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
