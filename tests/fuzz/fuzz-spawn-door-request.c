/* SPDX-License-Identifier: MIT */

/*
 * The bytes are a request to enter a sandbox: an accepted one is a command of complete strings, and
 * reads back the same after encoding. A failed check is an abort.
 */

#include "spawn/door-request.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static void check(bool condition)
{
	if (!condition)
		abort();
}

static void write_request(struct text *out, char *const *argv)
{
	struct json_writer writer;

	json_write(&writer, out);
	json_add_object(&writer);
	json_add_name(&writer, "exec");
	json_add_array(&writer);
	for (; *argv; argv++)
		json_add_string(&writer, *argv);
	json_end_array(&writer);
	json_end_object(&writer);
	check(text_status(out) == 0);
}

static void check_again(char *const *argv)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	_cleanup_free_ char **again = NULL;
	const char *problem = NULL;
	size_t i = 0;

	write_request(&text, argv);
	check(door_parse_request(text_string(&text), text.len, &again, &problem) == 0);
	for (; argv[i] && again[i]; i++)
		check(strcmp(argv[i], again[i]) == 0);
	check(i > 0 && !argv[i] && !again[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	_cleanup_free_ char **argv = NULL;
	const char *problem = NULL;
	int r = door_parse_request(bytes, n_bytes, &argv, &problem);

	check(r == 0 || r == -EBADMSG);
	check((r == 0) == (problem == NULL) && (r == 0) == (argv != NULL));
	if (r == 0)
		check_again(argv);
	return 0;
}
