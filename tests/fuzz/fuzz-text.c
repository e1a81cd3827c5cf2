/* SPDX-License-Identifier: MIT */

/* Visible text is valid UTF-8 without anything that acts on a terminal, and an error with it has
 * three lines. */

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static void check_visible(const struct text *text, size_t n_newlines)
{
	for (size_t i = 0; i < text->len;) {
		size_t len = utf8_sequence(text->data + i, text->len - i);

		assert(len > 0);
		if (text->data[i] == '\n') {
			assert(n_newlines > 0);
			n_newlines--;
		} else {
			assert((unsigned char)text->data[i] >= 0x20 && text->data[i] != 0x7f);
		}
		i += len;
	}
	assert(n_newlines == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	_cleanup_text_ struct text visible = TEXT_INIT, plain = TEXT_INIT, json = TEXT_INIT;
	_cleanup_text_ struct text copy = TEXT_INIT;
	struct sbx_error err = { .code = 0 };

	text_add_visible(&visible, bytes, n_bytes);
	check_visible(&visible, 0);

	text_add_bytes(&copy, bytes, n_bytes);
	(void)sbx_error_what(&err, -EINVAL, "a%s", text_string(&copy));
	sbx_error_why(&err, "b%s", text_string(&copy));
	sbx_error_fix(&err, "c%s", text_string(&copy));
	error_add_text(&plain, "tool", &err);
	check_visible(&plain, 3);
	error_add_json(&json, &err);
	assert(json_validate(json.data, json.len, NULL, NULL) == 0);
	return 0;
}
