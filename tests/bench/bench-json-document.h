/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A JSON document as an audit log would make it: an array of 21 decision records, about 8 KiB, with
 * escapes, UTF-8, nesting and every type of value
 */

#include <stddef.h>

struct json_writer;
struct text;

#define DOCUMENT_N_RECORDS 21u
#define DOCUMENT_N_ITEMS (DOCUMENT_N_RECORDS * 43 + 2) /* as json_next() counts them */

/* What differs between records, formatted before any time is taken. */
struct document_record {
	unsigned number;
	char time[40];
	char sandbox[16];
	char path[48];
};

void document_fill(struct document_record records[DOCUMENT_N_RECORDS]);
/* By hand, without base/json, so that the result can check base/json. */
void document_add_plainly(struct text *out, const struct document_record *records);
/* The same bytes through the writer. */
void document_write(struct json_writer *writer, const struct document_record *records);
