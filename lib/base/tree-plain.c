/* SPDX-License-Identifier: MIT */

/*
 * The type of a plain YAML scalar. YAML 1.1, YAML 1.2 and common parsers disagree about "no", "012"
 * or "12:30"; a policy must not depend on the parser. So JSON literals have their types, scalars
 * that some parser does not take for text are refused, and all others are text. Both lists of
 * ambiguous forms are tables.
 */

#include "base/tree-internal.h"

#include <strings.h>

#include "base/json.h"

static const char either_bool[] = "some YAML readers take it for true or false, others for text";
static const char either_null[] = "some YAML readers take it for null, others for text";
static const char either_number[] = "some YAML readers take it for a number, others for text";
static const char special_number[] =
	"some YAML readers take it for a number that is not finite, others for text";
static const char special_meaning[] = "some YAML readers give it a meaning of its own";
static const char base_8[] =
	"a leading zero makes it an octal number for some YAML readers, a decimal one for others";
static const char base_60[] =
	"some YAML readers take digits with ':' for a number in base 60, others for text";

/* Compared ignoring case. */
static const struct {
	const char *word;
	const char *why;
	const char *instead;
} words[] = {
	{ "y", either_bool, "true" },	   { "n", either_bool, "false" },
	{ "yes", either_bool, "true" },	   { "no", either_bool, "false" },
	{ "on", either_bool, "true" },	   { "off", either_bool, "false" },
	{ "true", either_bool, "true" },   { "false", either_bool, "false" },
	{ "null", either_null, "null" },   { "~", either_null, "null" },
	{ ".inf", special_number, NULL },  { "+.inf", special_number, NULL },
	{ "-.inf", special_number, NULL }, { ".nan", special_number, NULL },
	{ "=", special_meaning, NULL },	   { "<<", special_meaning, NULL },
};

enum tail {
	FRACTION = 1,
	EXPONENT = 2,
};

/* A sign, the prefix, then only these digits and the optional tail. The first match applies. */
static const struct {
	const char *prefix;
	const char *digits;
	unsigned tail;
	const char *why;
} numbers[] = {
	{ "0x", "0123456789abcdefABCDEF_", 0, either_number },
	{ "0o", "01234567_", 0, either_number },
	{ "0b", "01_", 0, either_number },
	{ "0", "0123456789_", FRACTION | EXPONENT, base_8 },
	{ "", "0123456789_", FRACTION | EXPONENT, either_number },
	{ ".", "0123456789_", EXPONENT, either_number },
	{ "", "0123456789_:", FRACTION, base_60 },
};

/*
 * The first characters of the words and numbers above, and of JSON's null, true, false and numbers.
 */
static const char beginnings[] = "yYnNoOtTfF~.=<+-0123456789";

static const char *skip_tail(const char *s, unsigned tail)
{
	if ((tail & FRACTION) && *s == '.')
		s += 1 + strspn(s + 1, "0123456789_");
	if ((tail & EXPONENT) && (*s == 'e' || *s == 'E')) {
		size_t sign = s[1] == '+' || s[1] == '-';
		size_t n_digits = strspn(s + 1 + sign, "0123456789");

		s += n_digits > 0 ? 1 + sign + n_digits : 0;
	}
	return s;
}

static const char *number_trap(const char *text)
{
	const char *unsigned_text = text + (text[0] == '-' || text[0] == '+');

	for (size_t i = 0; i < N_ELEMENTS(numbers); i++) {
		size_t prefix = strlen(numbers[i].prefix), n_digits;
		const char *digits = unsigned_text + prefix;

		if (strncasecmp(unsigned_text, numbers[i].prefix, prefix) != 0)
			continue;
		n_digits = strspn(digits, numbers[i].digits);
		if (n_digits == 0 || (prefix == 0 && !strchr("0123456789", digits[0])))
			continue;
		if (*skip_tail(digits + n_digits, numbers[i].tail) == '\0')
			return numbers[i].why;
	}
	return NULL;
}

static bool is_json_number(const char *text, size_t n_bytes)
{
	/* A complete JSON text that begins like a number is a number. */
	return strchr("-0123456789", text[0]) && json_validate(text, n_bytes, NULL, NULL) == 0;
}

const char *tree_plain_type(const char *text, size_t n_bytes, enum tree_type *ret_type,
			    const char **ret_instead)
{
	*ret_instead = NULL;
	*ret_type = TREE_STRING;
	if (n_bytes > 0 && !strchr(beginnings, text[0]))
		return NULL;
	if (n_bytes == 0 || strcmp(text, "null") == 0)
		*ret_type = TREE_NULL;
	else if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
		*ret_type = TREE_BOOL;
	else if (is_json_number(text, n_bytes))
		*ret_type = TREE_NUMBER;
	if (*ret_type != TREE_STRING)
		return NULL;

	for (size_t i = 0; i < N_ELEMENTS(words); i++)
		if (strcasecmp(text, words[i].word) == 0) {
			*ret_instead = words[i].instead;
			return words[i].why;
		}
	return number_trap(text);
}
