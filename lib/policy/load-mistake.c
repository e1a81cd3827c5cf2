/* SPDX-License-Identifier: MIT */

/*
 * The loader's mistakes and its memory
 *
 * A mistake is one struct sbx_error, filled in up to three calls; so it waits until the next one
 * begins, or until the end.
 */

#include "policy/load-internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define ROWS_FIRST 16

void load_report_mistake(struct loader *loader)
{
	if (loader->has_mistake)
		loader->report(&loader->mistake, loader->userdata);
	loader->has_mistake = false;
}

void load_mistake(struct loader *loader, struct tree_place place, const char *format, ...)
{
	char text[SBX_ERROR_TEXT_SIZE];
	va_list args;

	load_report_mistake(loader);
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	(void)tree_error(loader->tree, place, &loader->mistake, "%s", text);
	loader->has_mistake = true;
	loader->n_mistakes++;
}

void load_mistake_of(struct loader *loader, struct tree_place place, const struct sbx_error *err)
{
	load_mistake(loader, place, "%s", err->what);
	sbx_error_why(&loader->mistake, "%s", err->why);
	sbx_error_fix(&loader->mistake, "%s", err->fix);
}

void *load_add_row(struct loader *loader, struct load_rows *rows, size_t row_size)
{
	size_t more = rows->size > 0 ? rows->size : ROWS_FIRST;

	if (rows->n_rows == rows->size && !load_reserve_rows(loader, rows, row_size, more))
		return NULL;
	return (char *)rows->rows + rows->n_rows++ * row_size;
}

/* The arena cannot take the old rows back, so whoever knows how many will come says so. */
bool load_reserve_rows(struct loader *loader, struct load_rows *rows, size_t row_size, size_t n)
{
	size_t size = rows->n_rows + n;
	void *grown;

	if (size <= rows->size)
		return true;
	grown = load_alloc(loader, size * row_size);
	if (!grown)
		return false;
	if (rows->n_rows > 0)
		memcpy(grown, rows->rows, rows->n_rows * row_size);
	rows->rows = grown;
	rows->size = size;
	return true;
}

void *load_alloc(struct loader *loader, size_t n_bytes)
{
	void *memory = arena_alloc(&loader->policy->arena, n_bytes);

	loader->no_memory |= !memory;
	return memory;
}

const char *load_copy(struct loader *loader, const char *text)
{
	const char *copy = arena_copy(&loader->policy->arena, text, strlen(text));

	loader->no_memory |= !copy;
	return copy;
}
