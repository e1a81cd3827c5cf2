/* SPDX-License-Identifier: MIT */

/*
 * Parses a baseline
 *
 * Each line is a JSON object. Only its members "name" and "ratio" are used; others are skipped, so
 * that a baseline of another version can be compared.
 */

#include "baseline.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <sbx/error.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

/* The current position, for messages. */
struct place {
	const char *name;
	unsigned line;
};

static int refuse(const struct place *place, struct sbx_error *err, const char *why)
{
	(void)sbx_error_what(err, -EINVAL, "%s:%u: not a baseline", place->name, place->line);
	sbx_error_why(err, "%s", why);
	sbx_error_fix(err, "write one: sbx-bench --json > FILE");
	return -EINVAL;
}

/* The scanner has checked the syntax of the number; check its range. */
static bool read_ratio(const struct json_item *item, struct baseline_row *row)
{
	char number[64];

	if (item->kind == JSON_NULL)
		return true;
	if (item->kind != JSON_NUMBER || item->n_bytes >= sizeof(number))
		return false;
	memcpy(number, item->bytes, item->n_bytes);
	number[item->n_bytes] = '\0';
	row->ratio = strtod(number, NULL);
	row->has_ratio = isfinite(row->ratio) && row->ratio > 0;
	return row->has_ratio;
}

static bool read_name(const struct json_item *item, struct baseline_row *row)
{
	_cleanup_text_ struct text name = TEXT_INIT;

	if (item->kind != JSON_STRING || row->name || json_decode(item, &name) < 0)
		return false;
	if (strlen(text_string(&name)) != name.len)
		return false;
	row->name = strdup(text_string(&name));
	return row->name != NULL;
}

static void row_deinit(struct baseline_row *row)
{
	free(row->name);
}

static const char *const not_an_object = "the line is not one JSON object";

/* Reads the members of the object that @scanner has entered. Returns NULL, or what is wrong. */
static const char *read_members(struct json_scanner *scanner, struct baseline_row *row)
{
	bool has_ratio = false;
	struct json_item item;

	for (;;) {
		if (json_next(scanner, &item) <= 0)
			return not_an_object;
		if (item.kind == JSON_OBJECT_END)
			break;

		bool is_name = json_equals(&item, "name"), is_ratio = json_equals(&item, "ratio");

		if (json_next(scanner, &item) <= 0)
			return not_an_object;
		if (is_name && !read_name(&item, row))
			return "\"name\" is not one string";
		if (is_ratio && (has_ratio || !read_ratio(&item, row)))
			return "\"ratio\" is neither one positive number nor null";
		if (json_skip(scanner, &item) < 0)
			return not_an_object;
		has_ratio = has_ratio || is_ratio;
	}
	if (!row->name)
		return "it has no \"name\"";
	return has_ratio ? NULL : "it has no \"ratio\"";
}

static const char *read_line(const char *line, size_t n_bytes, struct baseline_row *row)
{
	struct json_scanner scanner;
	struct json_item item;

	json_scan(&scanner, line, n_bytes);
	if (json_next(&scanner, &item) <= 0 || item.kind != JSON_OBJECT_BEGIN)
		return not_an_object;

	const char *why = read_members(&scanner, row);

	if (why)
		return why;
	return json_next(&scanner, &item) == 0 ? NULL : not_an_object;
}

static int add_row(struct baseline *baseline, struct baseline_row *row)
{
	struct baseline_row *rows =
		reallocarray(baseline->rows, baseline->n_rows + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	baseline->rows = rows;
	rows[baseline->n_rows++] = *row;
	row->name = NULL;
	return 0;
}

int baseline_parse(const char *name, const char *bytes, size_t n_bytes, struct baseline *ret,
		   struct sbx_error *err)
{
	_cleanup_baseline_ struct baseline baseline = BASELINE_INIT;
	struct place place = { .name = name, .line = 1 };

	for (const char *end = bytes + n_bytes; bytes < end; place.line++) {
		_cleanup_(row_deinit) struct baseline_row row = { .name = NULL };
		const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
		size_t length = (size_t)((newline ? newline : end) - bytes);
		const char *why = read_line(bytes, length, &row);

		if (why)
			return refuse(&place, err, why);
		if (baseline_find(&baseline, row.name))
			return refuse(&place, err, "a benchmark stands there twice");
		if (add_row(&baseline, &row) < 0)
			return sbx_error_what(err, -ENOMEM, "cannot read '%s'", name);
		bytes += length + (newline ? 1 : 0);
	}
	if (baseline.n_rows == 0)
		return refuse(&place, err, "it is empty");
	*ret = baseline;
	baseline = (struct baseline)BASELINE_INIT;
	return 0;
}

int baseline_read(const char *path, struct baseline *ret, struct sbx_error *err)
{
	_cleanup_free_ char *bytes = NULL;
	struct stat status;
	size_t n_bytes;
	int r;

	/* open() of a FIFO would block until it has a writer. */
	if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
		(void)sbx_error_what(err, -EINVAL, "cannot read '%s'", path);
		sbx_error_why(err, "it is not a regular file");
		sbx_error_fix(err, "name the file that 'sbx-bench --json > FILE' has written");
		return -EINVAL;
	}
	r = file_read(AT_FDCWD, path, BASELINE_BYTES_MAX, &bytes, &n_bytes, err);
	return r < 0 ? r : baseline_parse(path, bytes, n_bytes, ret, err);
}

void baseline_deinit(struct baseline *baseline)
{
	for (size_t i = 0; i < baseline->n_rows; i++)
		row_deinit(&baseline->rows[i]);
	free(baseline->rows);
	*baseline = (struct baseline)BASELINE_INIT;
}

struct baseline_row *baseline_find(const struct baseline *baseline, const char *name)
{
	for (size_t i = 0; i < baseline->n_rows; i++)
		if (strcmp(baseline->rows[i].name, name) == 0)
			return &baseline->rows[i];
	return NULL;
}

double baseline_change_percent(const struct baseline_row *row, double ratio)
{
	return (ratio / row->ratio - 1) * 100;
}
