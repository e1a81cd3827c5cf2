/* SPDX-License-Identifier: MIT */

/*
 * Tables for people: what stands below each other is aligned, and the last column ends where it
 * ends
 */

#include "ctl.h"

#include <inttypes.h>
#include <string.h>

#define GAP 2

void table_deinit(struct table *table)
{
	text_deinit(&table->cells);
}

/* Columns of a terminal, as far as one character is one. */
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

void table_print(const struct table *table, struct text *out)
{
	const char *cell = text_string(&table->cells);

	if (text_status(&table->cells) < 0)
		return;
	for (size_t i = 0; i < table->n_cells; i++, cell += strlen(cell) + 1) {
		size_t column = i % table->n_columns;

		text_add(out, cell);
		if (column + 1 == table->n_columns)
			text_add_char(out, '\n');
		else
			for (size_t at = width_of(cell); at < table->widths[column] + GAP; at++)
				text_add_char(out, ' ');
	}
}

void table_add_age(struct table *table, uint64_t since_usec)
{
	static const struct {
		uint64_t seconds;
		char unit;
	} units[] = { { 86400, 'd' }, { 3600, 'h' }, { 60, 'm' }, { 1, 's' } };
	uint64_t now = ctl_now_usec(), seconds = 0;
	_cleanup_text_ struct text age = TEXT_INIT;
	size_t i = 0;

	if (now > since_usec)
		seconds = (now - since_usec) / 1000000;
	while (i + 1 < N_ELEMENTS(units) && seconds < 2 * units[i].seconds)
		i++;
	text_addf(&age, "%" PRIu64 "%c", seconds / units[i].seconds, units[i].unit);
	table_add(table, since_usec > 0 ? text_string(&age) : "-");
}
