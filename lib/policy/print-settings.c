/* SPDX-License-Identifier: MIT */

/*
 * Settings as the sections they came from
 *
 * They are sorted by path, so that all that is inside a section or a list is one run of rows.
 */

#include "policy/print-internal.h"

#include <string.h>

#include "policy/model.h"

struct run {
	const struct setting *rows;
	size_t n_rows;
	size_t from; /* how much of the paths has been printed */
};

static void print_run(struct printer *printer, struct run run);

/* How many rows at the beginning agree on the next @len characters and then end a step. */
static size_t count_alike(const struct run *run, size_t len)
{
	const char *first = run->rows[0].path + run->from;
	size_t n = 1;

	while (n < run->n_rows && strncmp(run->rows[n].path + run->from, first, len) == 0 &&
	       strchr(".[", run->rows[n].path[run->from + len]))
		n++;
	return n;
}

static void print_scalar(struct printer *printer, const char *key, const struct setting *setting)
{
	if (setting->type == TREE_STRING)
		print_string(printer, key, setting->text);
	else
		print_plain(printer, key, setting->text);
}

/* @run begins with the list itself; its items follow. */
static void print_items(struct printer *printer, const char *key, struct run run, size_t name_len)
{
	struct run items = { run.rows + 1, run.n_rows - 1, run.from + name_len };
	bool plain = items.n_rows == 0 || strchr(items.rows[0].path + items.from, '.') == NULL;

	if (plain) {
		print_values(printer, key);
		for (size_t i = 0; i < items.n_rows; i++)
			print_scalar(printer, NULL, &items.rows[i]);
		print_values_end(printer);
		return;
	}
	print_list(printer, key);
	while (items.n_rows > 0) {
		size_t step = strcspn(items.rows[0].path + items.from, ".");
		size_t n = count_alike(&items, step);

		print_map(printer, NULL);
		print_run(printer, (struct run){ items.rows, n, items.from + step + 1 });
		print_map_end(printer);
		items.rows += n;
		items.n_rows -= n;
	}
	print_list_end(printer);
}

static void print_step(struct printer *printer, struct run run)
{
	const struct setting *first = &run.rows[0];
	const char *step = first->path + run.from;
	size_t len = strcspn(step, ".[");
	_cleanup_text_ struct text key = TEXT_INIT;

	text_add_bytes(&key, step, len);
	if (text_status(&key) < 0) {
		printer->out->failed = true;
		return;
	}
	if (step[len] == '\0' && first->type == TREE_LIST) {
		print_items(printer, text_string(&key), run, len);
	} else if (step[len] == '\0') {
		print_scalar(printer, text_string(&key), first);
	} else {
		print_map(printer, text_string(&key));
		print_run(printer, (struct run){ run.rows, run.n_rows, run.from + len + 1 });
		print_map_end(printer);
	}
}

static void print_run(struct printer *printer, struct run run)
{
	while (run.n_rows > 0) {
		size_t n = count_alike(&run, strcspn(run.rows[0].path + run.from, ".["));

		print_step(printer, (struct run){ run.rows, n, run.from });
		run.rows += n;
		run.n_rows -= n;
	}
}

void print_settings(struct printer *printer, const struct policy *policy)
{
	print_run(printer, (struct run){ policy->settings, policy->n_settings, 0 });
}
