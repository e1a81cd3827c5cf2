/* SPDX-License-Identifier: MIT */

/*
 * The bytes are a request as a line and, split at spaces, as words. A valid request reads back from
 * its normal form; a refused one gives no output. A failed check is an abort.
 */

#include "policy/request.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#define WORDS_MAX 100

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static void check(bool condition)
{
	if (!condition)
		abort();
}

static bool same(const char *one, const char *other)
{
	return one == other || (one && other && strcmp(one, other) == 0);
}

static void check_equal(const struct policy_request *one, const struct policy_request *other)
{
	check(same(one->operation, other->operation) && same(one->path, other->path));
	check(same(one->project_root, other->project_root) && same(one->host, other->host));
	check(same(one->address, other->address) && same(one->sha256, other->sha256));
	check(one->has_port == other->has_port && one->port == other->port);
	check(same(one->proto, other->proto) && same(one->caller, other->caller));
	check(same(one->state, other->state) && same(one->mode, other->mode));
	check(same(one->sandbox, other->sandbox) && one->has_size == other->has_size);
	check(one->size_bytes == other->size_bytes && !one->has_token && !other->has_token);
	check(!one->caller_tags == !other->caller_tags);
	for (size_t i = 0; one->caller_tags && other->caller_tags &&
			   (one->caller_tags[i] || other->caller_tags[i]);
	     i++)
		check(same(one->caller_tags[i], other->caller_tags[i]));
}

static void print_and_read(const struct request_buffer *buffer)
{
	_cleanup_request_ struct request_buffer again = { .texts = TEXT_INIT };
	_cleanup_text_ struct text json = TEXT_INIT, twice = TEXT_INIT;

	request_add_json(&json, buffer);
	check(text_status(&json) == 0);
	check(memchr(json.data, '\n', json.len) == NULL);
	/* Escapes may make the text longer than a line may be. */
	if (json.len > REQUEST_BYTES_MAX)
		return;
	check(request_parse(json.data, json.len, &again, NULL) == 0);
	check_equal(&buffer->request, &again.request);
	request_add_json(&twice, &again);
	check(twice.len == json.len && memcmp(twice.data, json.data, json.len) == 0);
}

static void judge(const struct request_buffer *buffer, int r, const struct sbx_error *err)
{
	check(r == 0 || r == -EINVAL || r == -ERANGE);
	check(err->code == r);
	if (r == 0) {
		check(buffer->request.operation != NULL);
		print_and_read(buffer);
		return;
	}
	check(!buffer->request.operation && !buffer->request.path && !buffer->request.host);
	check(!buffer->token && !buffer->id && !buffer->request.caller_tags);
	check(*err->what && *err->why && *err->fix);
}

static void read_words(const uint8_t *bytes, size_t n_bytes)
{
	_cleanup_free_ char *copy = strndup((const char *)bytes, n_bytes);
	_cleanup_request_ struct request_buffer buffer = { .texts = TEXT_INIT };
	struct sbx_error err = { 0 };
	char *words[WORDS_MAX], *rest = NULL;
	size_t n = 0;

	check(copy != NULL);
	for (char *word = strtok_r(copy, " ", &rest); word && n < WORDS_MAX;
	     word = strtok_r(NULL, " ", &rest))
		words[n++] = word;
	int r = request_parse_words(words, n, &buffer, &err);
	judge(&buffer, r, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	/* A block of exactly this size, so that a sanitizer detects a read past it. */
	_cleanup_free_ char *copy = malloc(n_bytes);
	_cleanup_request_ struct request_buffer buffer = { .texts = TEXT_INIT };
	struct sbx_error err = { 0 };

	if (!copy)
		return 0;
	if (n_bytes > 0)
		memcpy(copy, bytes, n_bytes);
	int r = request_parse(copy, n_bytes, &buffer, &err);
	judge(&buffer, r, &err);
	check(request_parse(copy, n_bytes, &buffer, NULL) == r);
	read_words(bytes, n_bytes);
	return 0;
}
