/* SPDX-License-Identifier: MIT */

/*
 * JSON parsing and printing, with a document of audit records (bench-json-document.h)
 *
 * The peer is jansson, loaded if it is installed and never linked. It builds a tree, which our
 * scanner does not; the comparison is between what each needs for the same bytes. json_validate has
 * a floor instead: one read of each byte.
 */

#include "bench.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"
#include "bench-json-document.h"

#define PEER_OUTPUT_SIZE 16384
#define JANSSON_COMPACT 0x20

/* The functions of jansson's ABI that we call. */
struct jansson {
	void *library;
	void *(*loadb)(const char *bytes, size_t n_bytes, size_t flags, void *error_or_null);
	size_t (*dumpb)(const void *json, char *bytes, size_t n_bytes, size_t flags);
	void (*destroy)(
		void *json); /* json_delete(), which the macro calls for the last reference */
};

struct json_bench {
	struct document_record records[DOCUMENT_N_RECORDS];
	struct text document;
	struct text written;
	struct jansson jansson;
	void *tree; /* the document as jansson's tree */
	char peer_output[PEER_OUTPUT_SIZE];
	uint8_t class_of[256];
};

static void json_teardown(void *data)
{
	struct json_bench *bench = data;

	if (!bench)
		return;
	if (bench->tree)
		bench->jansson.destroy(bench->tree);
	if (bench->jansson.library)
		(void)dlclose(bench->jansson.library);
	text_deinit(&bench->document);
	text_deinit(&bench->written);
	free(bench);
}

static void json_bench_free(struct json_bench **bench)
{
	json_teardown(*bench);
}

/* Returns NULL, or why it cannot be the peer. */
static const char *jansson_load(struct jansson *jansson)
{
	jansson->library = dlopen("libjansson.so.4", RTLD_NOW | RTLD_LOCAL);
	if (!jansson->library)
		return "jansson (not installed)";
	*(void **)&jansson->loadb = dlsym(jansson->library, "json_loadb");
	*(void **)&jansson->dumpb = dlsym(jansson->library, "json_dumpb");
	*(void **)&jansson->destroy = dlsym(jansson->library, "json_delete");
	return jansson->loadb && jansson->dumpb && jansson->destroy ? NULL : "jansson (too old)";
}

/* json_validate has no peer. */
static int validate_setup(struct bench_state *ret, struct sbx_error *err)
{
	_cleanup_(json_bench_free) struct json_bench *bench = calloc(1, sizeof(*bench));

	if (!bench)
		return sbx_error_what(err, -ENOMEM, "cannot set up the JSON benchmarks");
	document_fill(bench->records);
	document_add_plainly(&bench->document, bench->records);
	if (text_status(&bench->document) < 0)
		return sbx_error_what(err, -ENOMEM, "cannot set up the JSON benchmarks");
	for (size_t i = 0; i < sizeof(bench->class_of); i++)
		bench->class_of[i] = i < 0x20 || i == '"' || i == '\\' || i > 0x7f;
	ret->bytes_per_op = bench->document.len;
	ret->data = take_ptr(bench);
	return 0;
}

static int json_setup(struct bench_state *ret, struct sbx_error *err)
{
	int r = validate_setup(ret, err);

	if (r < 0)
		return r;

	struct json_bench *bench = ret->data;

	ret->peer_missing = jansson_load(&bench->jansson);
	if (!ret->peer_missing)
		bench->tree =
			bench->jansson.loadb(bench->document.data, bench->document.len, 0, NULL);
	return 0;
}

static size_t scan_all(const struct text *document)
{
	struct json_scanner scanner;
	struct json_item item;
	size_t n_items = 0;
	int r;

	json_scan(&scanner, document->data, document->len);
	while ((r = json_next(&scanner, &item)) > 0) {
		bench_keep(&item);
		n_items++;
	}
	return r == 0 ? n_items : 0;
}

static bool scan_verify(const void *data)
{
	const struct json_bench *bench = data;

	return scan_all(&bench->document) == DOCUMENT_N_ITEMS &&
	       (!bench->jansson.loadb || bench->tree);
}

static void scan_run(void *data, uint64_t n_ops)
{
	struct json_bench *bench = data;

	for (uint64_t i = 0; i < n_ops; i++)
		(void)scan_all(&bench->document);
}

static void scan_peer(void *data, uint64_t n_ops)
{
	struct json_bench *bench = data;

	for (uint64_t i = 0; i < n_ops; i++) {
		void *json =
			bench->jansson.loadb(bench->document.data, bench->document.len, 0, NULL);

		bench_keep(json);
		bench->jansson.destroy(json);
	}
}

static bool validate_verify(const void *data)
{
	const struct json_bench *bench = data;

	return json_validate(bench->document.data, bench->document.len, NULL, NULL) == 0 &&
	       json_validate(bench->document.data, bench->document.len - 1, NULL, NULL) < 0;
}

static void validate_run(void *data, uint64_t n_ops)
{
	struct json_bench *bench = data;

	for (uint64_t i = 0; i < n_ops; i++) {
		int r = json_validate(bench->document.data, bench->document.len, NULL, NULL);

		bench_keep(&r);
	}
}

static void validate_floor(void *data, uint64_t n_ops)
{
	struct json_bench *bench = data;

	for (uint64_t i = 0; i < n_ops; i++) {
		size_t n_special = 0;

		for (size_t at = 0; at < bench->document.len; at++)
			n_special += bench->class_of[(uint8_t)bench->document.data[at]];
		bench_keep(&n_special);
	}
}

static void write_run(void *data, uint64_t n_ops)
{
	struct json_bench *bench = data;
	struct json_writer writer;

	for (uint64_t i = 0; i < n_ops; i++) {
		text_reset(&bench->written);
		json_write(&writer, &bench->written);
		document_write(&writer, bench->records);
		bench_keep(bench->written.data);
	}
}

static void write_peer(void *data, uint64_t n_ops)
{
	struct json_bench *bench = data;

	for (uint64_t i = 0; i < n_ops; i++) {
		(void)bench->jansson.dumpb(bench->tree, bench->peer_output, PEER_OUTPUT_SIZE,
					   JANSSON_COMPACT);
		bench_keep(bench);
	}
}

static bool is_document(const struct json_bench *bench, const char *bytes, size_t n_bytes)
{
	return n_bytes == bench->document.len && memcmp(bytes, bench->document.data, n_bytes) == 0;
}

static bool write_verify(const void *data)
{
	const struct json_bench *bench = data;
	_cleanup_text_ struct text written = TEXT_INIT;
	char peer[PEER_OUTPUT_SIZE];
	struct json_writer writer;

	json_write(&writer, &written);
	document_write(&writer, bench->records);
	if (!is_document(bench, text_string(&written), written.len))
		return false;
	if (!bench->tree)
		return !bench->jansson.loadb;

	size_t n_bytes = bench->jansson.dumpb(bench->tree, peer, PEER_OUTPUT_SIZE, JANSSON_COMPACT);

	return is_document(bench, peer, n_bytes);
}

const struct bench bench_json[] = {
	{
		.name = "json_scan",
		.subject = "every item of a document of audit records",
		.unit = "MB/s",
		.against = "peer: jansson, json_loadb",
		.claims_no_allocation = true,
		.setup = json_setup,
		.verify = scan_verify,
		.run = scan_run,
		.peer = scan_peer,
		.teardown = json_teardown,
	},
	{
		.name = "json_validate",
		.subject = "is the same document valid?",
		.unit = "MB/s",
		.against = "floor: one table look-up a byte",
		.claims_no_allocation = true,
		.setup = validate_setup,
		.verify = validate_verify,
		.run = validate_run,
		.peer = validate_floor,
		.teardown = json_teardown,
	},
	{
		.name = "json_write",
		.subject = "the same document, written into a text that is reused",
		.unit = "MB/s",
		.against = "peer: jansson, json_dumpb",
		.claims_no_allocation = true,
		.setup = json_setup,
		.verify = write_verify,
		.run = write_run,
		.peer = write_peer,
		.teardown = json_teardown,
	},
	{ .name = NULL },
};
