/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A JSON document like that of an audit log: an array of 21 decision records, about 8 KiB, with
 * escapes, UTF-8, nesting and every type of value
 */

#include <stddef.h>

struct json_writer;
struct text;

#define DOCUMENT_N_RECORDS 21u
#define DOCUMENT_N_ITEMS (DOCUMENT_N_RECORDS * 43 + 2) /* as json_next() counts them */

/* The values that differ between records, formatted before the measurement. */
struct document_record {
	unsigned number;
	char time[40];
	char sandbox[16];
	char path[48];
};

void document_fill(struct document_record records[DOCUMENT_N_RECORDS]);
/* Written without base/json, so that the result can check base/json. */
void document_add_plainly(struct text *out, const struct document_record *records);
/* The same bytes with the writer. */
void document_write(struct json_writer *writer, const struct document_record *records);
