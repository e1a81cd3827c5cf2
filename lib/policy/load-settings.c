/* SPDX-License-Identifier: MIT */

/*
 * Values that are not rules, kept under their paths
 *
 * What has two names in the dialects is kept under one of them, so that whoever carries it out
 * looks in one place; saying it under both is a mistake, because only one could count.
 */

#include "policy/load-internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static const struct {
	const char *from;
	const char *to;
} aliases[] = {
	{ "antiEscape.denySyscalls", "denySyscalls" },
	{ "security.sandbox", "sandbox" },
};

static const char *own_path(struct loader *loader, const char *path)
{
	_cleanup_text_ struct text own = TEXT_INIT;

	for (size_t i = 0; i < N_ELEMENTS(aliases); i++) {
		size_t len = strlen(aliases[i].from);

		if (strncmp(path, aliases[i].from, len) == 0 && strchr(".[", path[len])) {
			text_addf(&own, "%s%s", aliases[i].to, path + len);
			return load_copy(loader, text_string(&own));
		}
	}
	return load_copy(loader, path);
}

void load_add_setting_at(struct loader *loader, const char *path, enum tree_type type,
			 const char *text, uint64_t number, struct tree_place place)
{
	struct setting *setting = load_add_row(loader, &loader->settings, sizeof(*setting));

	if (!setting)
		return;
	setting->path = own_path(loader, path);
	setting->type = type;
	setting->text = load_copy(loader, text);
	setting->number = number;
	setting->place.at = place;
}

void load_add_setting(struct loader *loader, const struct tree_node *node, uint64_t number)
{
	enum tree_type type = node->type == TREE_NULL ? TREE_STRING : node->type;

	load_add_setting_at(loader, text_string(&loader->path), type, load_word(node), number,
			    node->place);
}

static int compare_places(struct tree_place a, struct tree_place b)
{
	if (a.line != b.line)
		return a.line < b.line ? -1 : 1;
	return a.column < b.column ? -1 : a.column > b.column;
}

static int compare(const void *a, const void *b)
{
	const struct setting *one = a, *other = b;
	int order = policy_compare_paths(one->path, other->path);

	return order != 0 ? order : compare_places(one->place.at, other->place.at);
}

void load_finish_settings(struct loader *loader)
{
	struct setting *settings = loader->settings.rows;
	size_t n = loader->settings.n_rows;

	if (loader->no_memory || n == 0)
		return;
	qsort(settings, n, sizeof(*settings), compare);
	for (size_t i = 1; i < n; i++) {
		if (strcmp(settings[i].path, settings[i - 1].path) != 0)
			continue;
		load_mistake(loader, settings[i].place.at, "'%s' is said twice", settings[i].path);
		sbx_error_why(&loader->mistake, "line %u says it, too, maybe under another name",
			      settings[i - 1].place.at.line);
		sbx_error_fix(&loader->mistake, "keep one of the two");
	}
}
