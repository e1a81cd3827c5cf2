/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Tables for terminals: each column is as wide as its widest cell
 *
 *   _cleanup_table_ struct table table = { .n_columns = 2, .numbers = 1 << 1 };
 *   table_add(&table, "EVENT");
 *   table_add(&table, "RECORDS");
 *   table_print(&table, &out);
 */

#include <stddef.h>

#include "base/cleanup.h"
#include "base/text.h"

#define TABLE_COLUMNS_MAX 8

struct table {
	size_t n_columns;
	unsigned numbers;  /* a bit for each right-aligned column */
	struct text cells; /* each followed by a NUL, row by row */
	size_t n_cells;
	size_t widths[TABLE_COLUMNS_MAX];
};

#define _cleanup_table_ _cleanup_(table_deinit)
void table_deinit(struct table *table);
void table_add(struct table *table, const char *cell);
void table_add_number(struct table *table, unsigned long long number);
/* Adds nothing if memory for the cells ran out. */
void table_print(const struct table *table, struct text *out);
