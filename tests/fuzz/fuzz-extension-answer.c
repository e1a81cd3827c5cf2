/* SPDX-License-Identifier: MIT */

/*
 * The output of an extension: an answer is JSON with a known action and a reason that is a string;
 * anything else gives no output.
 */

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "extension/answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	_cleanup_text_ struct text reason = TEXT_INIT;
	struct answer answer = { .number = 77, .action = POLICY_DENY, .has_reason = true };

	if (answer_parse((const char *)bytes, n_bytes, &answer, &reason) < 0) {
		assert(answer.number == 77 && answer.action == POLICY_DENY && answer.has_reason);
		return 0;
	}
	assert(json_validate(bytes, n_bytes, NULL, NULL) == 0);
	assert(answer.action <= POLICY_DENY);
	assert(answer.has_reason || reason.len == 0);
	assert(strlen(text_string(&reason)) == reason.len);
	return 0;
}
