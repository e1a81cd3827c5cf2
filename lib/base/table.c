/* SPDX-License-Identifier: MIT */

/*
 * Cells are stored until the end, because the width of a column is known only after its last cell.
 * The last column is not padded, so that no line ends with spaces.
 */

#include "base/table.h"

#include <string.h>

#define GAP 2

void table_deinit(struct table *table)
{
	text_deinit(&table->cells);
}

/* Each character counts as one column of the terminal; wide and combining characters shift the rest
 * of their row. */
static size_t width_of(const char *cell)
{
	size_t width = 0;

	for (; *cell != '\0'; cell++)
		width += ((unsigned char)*cell & 0xc0) != 0x80;
	return width;
}

void table_add(struct table *table, const char *cell)
{
	size_t column = table->n_cells++ % table->n_columns, width = width_of(cell);

	if (width > table->widths[column])
		table->widths[column] = width;
	text_add_bytes(&table->cells, cell, strlen(cell) + 1);
}

void table_add_number(struct table *table, unsigned long long number)
{
	_cleanup_text_ struct text digits = TEXT_INIT;

	text_addf(&digits, "%llu", number);
	table_add(table, text_string(&digits));
}

static void add_spaces(struct text *out, size_t n)
{
	while (n-- > 0)
		text_add_char(out, ' ');
}

void table_print(const struct table *table, struct text *out)
{
	const char *cell = text_string(&table->cells);

	if (text_status(&table->cells) < 0)
		return;
	for (size_t i = 0; i < table->n_cells; i++, cell += strlen(cell) + 1) {
		size_t column = i % table->n_columns;
		size_t padding = table->widths[column] - width_of(cell);
		bool is_last = column + 1 == table->n_columns;
		bool is_number = table->numbers & 1u << column;

		add_spaces(out, is_number ? padding : 0);
		text_add(out, cell);
		add_spaces(out, is_last ? 0 : (is_number ? 0 : padding) + GAP);
		if (is_last)
			text_add_char(out, '\n');
	}
}
