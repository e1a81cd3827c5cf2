/* SPDX-License-Identifier: MIT */

/*
 * The bytes are parsed as each kind of number; an accepted number is printed and parsed again. The
 * first eight bytes are also a value that is printed and must read back. A failed check is an
 * abort.
 */

#include "base/units.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/text.h"

#define UNTOUCHED UINT64_C(0x5b5b5b5b5b5b5b5b)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

struct kind {
	int (*parse)(const char *string, uint64_t *ret, struct sbx_error *err);
	void (*add)(struct text *out, uint64_t value);
};

static void add_count(struct text *out, uint64_t value)
{
	text_addf(out, "%llu", (unsigned long long)value);
}

static const struct kind kinds[] = {
	{ units_parse_count, add_count },
	{ units_parse_size, units_add_size },
	{ units_parse_time, units_add_time },
};

static void check(bool condition)
{
	if (!condition)
		abort();
}

/* Digits and then letters: every accepted text has this form. */
static bool is_plain(const char *string)
{
	size_t n_digits = strspn(string, "0123456789");

	return n_digits > 0 &&
	       strspn(string + n_digits, "BKMGTibusmhd") == strlen(string) - n_digits;
}

static void print_and_parse(const struct kind *kind, uint64_t value)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	uint64_t again = ~value;

	kind->add(&text, value);
	check(text_status(&text) == 0);
	check(kind->parse(text_string(&text), &again, NULL) == 0);
	check(again == value);
}

static void parse_and_print(const struct kind *kind, const char *string)
{
	struct sbx_error err = { 0 };
	uint64_t value = UNTOUCHED, quiet = UNTOUCHED;
	int r = kind->parse(string, &value, &err);

	check(kind->parse(string, &quiet, NULL) == r);
	check(value == quiet);
	check(err.code == r);
	if (r == 0) {
		check(is_plain(string));
		check(*err.what == '\0');
		print_and_parse(kind, value);
		return;
	}
	check(r == -EINVAL || (r == -ERANGE && is_plain(string)));
	check(value == UNTOUCHED);
	check(*err.what && *err.why && *err.fix);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	_cleanup_free_ char *string = strndup((const char *)bytes, n_bytes);

	if (!string)
		abort();
	uint64_t value = 0;

	check(string != NULL);
	memcpy(&value, bytes, n_bytes < sizeof(value) ? n_bytes : sizeof(value));
	for (size_t i = 0; i < N_ELEMENTS(kinds); i++) {
		parse_and_print(&kinds[i], string);
		print_and_parse(&kinds[i], value);
	}
	return 0;
}
