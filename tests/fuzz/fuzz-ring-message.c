/* SPDX-License-Identifier: MIT */

/*
 * The bytes are the message of a frame: type, request id, payload. A message that is accepted from
 * one side obeys its row; the payload of a module message prints and parses to the same. A failed
 * check is an abort.
 */

#include "ring/message.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static void check(bool condition)
{
	if (!condition)
		abort();
}

static void check_module(const uint8_t *bytes, size_t n_bytes)
{
	_cleanup_text_ struct text printed = TEXT_INIT, twice = TEXT_INIT;
	struct module_message message, again;
	const char *problem = NULL;

	if (module_parse(bytes, n_bytes, &message, &problem) < 0) {
		check(problem && problem[0]);
		return;
	}
	check(strnlen(message.module, sizeof(message.module)) <= MODULE_NAME_MAX);
	check((const uint8_t *)message.body >= bytes &&
	      (const uint8_t *)message.body + message.body_size <= bytes + n_bytes);
	check(module_print(&message, &printed) == 0);
	check(module_parse(printed.data, printed.len, &again, &problem) == 0);
	check(strcmp(again.module, message.module) == 0 && again.error == message.error);
	check(again.body_size == message.body_size &&
	      memcmp(again.body, message.body, message.body_size) == 0);
	check(module_print(&again, &twice) == 0);
	check(twice.len == printed.len && memcmp(twice.data, printed.data, twice.len) == 0);
}

static void check_body(const uint8_t *bytes, size_t n_bytes)
{
	struct module_message again,
		message = { .body = (const char *)bytes, .body_size = n_bytes };
	_cleanup_text_ struct text printed = TEXT_INIT;
	const char *problem = NULL;

	if (module_print(&message, &printed) < 0) {
		check(printed.len == 0);
		return;
	}
	check(module_parse(printed.data, printed.len, &again, &problem) == 0);
	check(again.error == 0 && again.module[0] == '\0');
}

static void check_side(unsigned type, enum message_sender sender, uint32_t id, size_t n_payload)
{
	const struct message_row *row = message_row(type);
	int r = message_check(type, sender, id, n_payload);

	check((r == MESSAGE_UNKNOWN_TYPE) == !row);
	check(r >= MESSAGE_OK && r < MESSAGE_N_REFUSALS);
	if (r == MESSAGE_OK)
		check((row->sender & sender) && n_payload >= row->payload_min &&
		      n_payload <= row->payload_max &&
		      (row->request_id == REQUEST_ID_IS_FREE ||
		       (id == 0) == (row->request_id == REQUEST_ID_IS_ZERO)));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	uint32_t id;

	if (n_bytes < 5)
		return 0;
	memcpy(&id, bytes + 1, sizeof(id));
	check_side(bytes[0], MESSAGE_BY_WORKER, id, n_bytes - 5);
	check_side(bytes[0], MESSAGE_BY_SUPERVISOR, id, n_bytes - 5);
	check_module(bytes + 5, n_bytes - 5);
	check_body(bytes + 5, n_bytes - 5);
	return 0;
}
