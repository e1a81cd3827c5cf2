/* SPDX-License-Identifier: MIT */

/*
 * Settings of layered files: what each of them may do to the ones before
 *
 * A row of the table says in which direction a setting narrows. What stands in no row may be said
 * again but not changed. Lists count as a whole: either the new one is a part of the old one, or
 * (where more is narrower) both are joined.
 */

#include "policy/merge-internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/text.h"

/*
 * USER_: a file that only narrows changes nothing of it. A pattern for what is cut out of records
 * can hide anything from the log, and where a command starts decides which files its relative paths
 * name.
 */
enum direction {
	SAME,
	FREE, /* what stands last counts */
	USER_FREE,
	LESS, /* of the number; false is less than true */
	MORE,
	ORDER,	/* of the words, the widest first */
	PART,	/* of the list */
	JOINED, /* the list gets longer */
	USER_JOINED,
	MOUNTS,
};

static const char *const profile_order[] = { "standard", "strict", NULL };
static const char *const tier_order[] = { "reduced", "landlock-only", "no-userns", "full", NULL };
static const char *const mode_order[] = { "best-effort", "strict", NULL };
static const char *const net_order[] = { "host", "veth", "transparent", "proxy", "none", NULL };
/* A proxy gives hosts that the loopback does not, and the loopback ports that a proxy does not. */
static const char *const loopback_order[] = { "host", "loopback", "none", NULL };

/*
 * @may_begin: a file that only narrows may say it although no file before did. With ORDER and the
 * lists it may always say the narrowest thing.
 */
static const struct row {
	const char *path; /* with a '.' at its end: everything below */
	enum direction direction;
	bool may_begin;
	const char *const *order;
} rows[] = {
	{ "limits.mode", ORDER, false, mode_order },
	{ "limits.", LESS, true, NULL },
	{ "scheduler.", LESS, true, NULL },
	{ "isolation.namespaces", MORE, true, NULL },
	{ "isolation.landlock", MORE, true, NULL },
	{ "isolation.seccomp", ORDER, false, profile_order },
	{ "isolation.tier", ORDER, false, tier_order },
	{ "isolation.nested", LESS, false, NULL },
	{ "plugins.", MORE, true, NULL },
	{ "denySyscalls", JOINED, true, NULL },
	{ "audit.enabled", MORE, true, NULL },
	{ "audit.events", PART, false, NULL },
	{ "audit.retention_days", MORE, false, NULL },
	{ "audit.max_size", MORE, false, NULL },
	{ "audit.redact", USER_JOINED, false, NULL },
	{ "audit.keep_originals", LESS, false, NULL },
	{ "net.mode", ORDER, false, net_order },
	{ "net.loopback.connect", PART, false, NULL },
	{ "net.loopback.bind", PART, false, NULL },
	{ "net.unix", PART, false, NULL },
	{ "devices", PART, false, NULL },
	{ "env.allow", PART, false, NULL },
	{ "mounts", MOUNTS, false, NULL },
	{ "working_dir", USER_FREE, false, NULL },
	{ "hostname", FREE, true, NULL },
	{ "", SAME, false, NULL },
};

static const struct row *find_row(const char *path)
{
	for (const struct row *row = rows;; row++) {
		size_t len = strlen(row->path);
		bool is_section = len == 0 || row->path[len - 1] == '.';

		if (is_section ? strncmp(path, row->path, len) == 0 : strcmp(path, row->path) == 0)
			return row; /* the last one fits everything */
	}
}

int merge_refuse(const struct policy *all, const struct setting *before, const struct policy *next,
		 const struct setting *after, struct sbx_error *err)
{
	const char *file = next->sources[after->place.source].name;

	(void)sbx_error_what(err, -EACCES, "%s:%u:%u: '%s' widens what the files before it allow",
			     file, after->place.at.line, after->place.at.column, after->path);
	if (!before) {
		sbx_error_why(err, "no file before it has '%s', and this one may only narrow",
			      after->path);
		sbx_error_fix(err, "remove it here, or write it in the user's own policy");
		return -EACCES;
	}
	file = all->sources[before->place.source].name;
	sbx_error_why(err, "it is '%s' here and '%s' at %s:%u:%u", after->text, before->text, file,
		      before->place.at.line, before->place.at.column);
	sbx_error_fix(err, "remove it here, write what narrows, or change %s", file);
	return -EACCES;
}

static size_t place_in(const char *const *order, const char *word)
{
	size_t i = 0;

	while (order[i] && strcmp(order[i], word) != 0)
		i++;
	return i;
}

static bool has_word(const char *const *order, const char *word)
{
	return order[place_in(order, word)] != NULL;
}

/* Words of different orders are not comparable. */
static bool is_after(const struct row *row, const char *before, const char *after)
{
	const char *const *order = row->order;

	if (order == net_order && (!has_word(order, before) || !has_word(order, after)))
		order = loopback_order;
	return has_word(order, before) && has_word(order, after) &&
	       place_in(order, after) >= place_in(order, before);
}

static bool is_narrowest(const struct row *row, const struct setting *setting)
{
	if (row->direction == ORDER)
		return has_word(row->order, setting->text) &&
		       !row->order[place_in(row->order, setting->text) + 1];
	if (row->direction == PART || row->direction == MOUNTS || row->direction == USER_JOINED)
		return setting->number == 0;
	return row->direction == LESS && setting->type == TREE_BOOL && setting->number == 0;
}

static bool is_narrower(const struct row *row, const struct setting *before,
			const struct setting *after)
{
	switch (row->direction) {
	case LESS:
		return after->number <= before->number;
	case MORE:
		return after->number >= before->number;
	case ORDER:
		return is_after(row, before->text, after->text);
	case SAME:
		return before->type == after->type && strcmp(before->text, after->text) == 0 &&
		       before->number == after->number;
	case FREE:
	case USER_FREE:
	case PART:
	case JOINED:
	case USER_JOINED:
	case MOUNTS:
		return true;
	}
	return false;
}

/* Steps through the items of a list of texts. */
static const struct setting *item_at(const struct policy *policy, const char *list, size_t i)
{
	_cleanup_text_ struct text path = TEXT_INIT;

	text_addf(&path, "%s[%zu]", list, i);
	return policy_get_setting(policy, text_string(&path));
}

static bool has_item(const struct policy *policy, const char *list, const char *text)
{
	const struct setting *item;

	for (size_t i = 0; (item = item_at(policy, list, i)); i++)
		if (strcmp(item->text, text) == 0)
			return true;
	return false;
}

static int check_part(const struct policy *all, const struct setting *before,
		      const struct policy *next, const struct setting *after, struct sbx_error *err)
{
	const struct setting *item;

	for (size_t i = 0; (item = item_at(next, after->path, i)); i++) {
		struct setting list = *before;

		list.text = "not in the list";
		if (!has_item(all, after->path, item->text))
			return merge_refuse(all, &list, next, item, err);
	}
	return 0;
}

static int check_one(const struct policy *all, const struct policy *next,
		     const struct setting *after, bool narrows, struct sbx_error *err)
{
	const struct setting *before = policy_get_setting(all, after->path);
	const struct row *row = find_row(after->path);

	if (strchr(after->path, '['))
		return 0; /* its list is looked at */
	if (!before && narrows && !row->may_begin && !is_narrowest(row, after))
		return merge_refuse(all, NULL, next, after, err);
	if (!before)
		return 0;
	if (!is_narrower(row, before, after) ||
	    (narrows && row->direction == USER_FREE && strcmp(before->text, after->text) != 0))
		return merge_refuse(all, before, next, after, err);
	if (row->direction == PART || (narrows && row->direction == USER_JOINED))
		return check_part(all, before, next, after, err);
	return row->direction == MOUNTS ? merge_check_mounts(all, next, err) : 0;
}

/* The path of the list that @path is in, or @path itself. */
static void add_list_path(struct text *out, const char *path)
{
	text_add_bytes(out, path, strcspn(path, "["));
}

static bool is_joined(const char *list)
{
	enum direction direction = find_row(list)->direction;

	return direction == JOINED || direction == USER_JOINED;
}

/* Does what @next says replace the setting? Lists are replaced whole, or else joined. */
static bool is_replaced(const struct setting *setting, const struct policy *next)
{
	_cleanup_text_ struct text path = TEXT_INIT;

	add_list_path(&path, setting->path);
	return policy_get_setting(next, text_string(&path)) && !is_joined(text_string(&path));
}

struct settings {
	struct setting *rows;
	size_t n_rows;
};

/* The items of a joined list that are new get the numbers behind the old ones. */
static void join(struct settings *out, struct policy *all, const struct policy *next,
		 const struct setting *list, struct copier *copier)
{
	const struct setting *old = policy_get_setting(all, list->path), *item;
	struct setting *whole = NULL;
	size_t n = old ? old->number : 0;

	for (size_t i = 0; i < out->n_rows; i++)
		if (strcmp(out->rows[i].path, list->path) == 0)
			whole = &out->rows[i];
	for (size_t i = 0; (item = item_at(next, list->path, i)); i++) {
		_cleanup_text_ struct text path = TEXT_INIT;

		if (has_item(all, list->path, item->text))
			continue;
		text_addf(&path, "%s[%zu]", list->path, n++);
		copy_setting(copier, item, &out->rows[out->n_rows]);
		out->rows[out->n_rows++].path = copy_text(copier, text_string(&path));
	}
	if (whole)
		whole->number = n;
}

static bool is_in_joined(const char *path)
{
	_cleanup_text_ struct text list = TEXT_INIT;

	add_list_path(&list, path);
	return is_joined(text_string(&list));
}

static int compare(const void *a, const void *b)
{
	return policy_compare_paths(((const struct setting *)a)->path,
				    ((const struct setting *)b)->path);
}

int merge_settings(struct policy *all, const struct policy *next, struct copier *copier,
		   bool narrows, struct sbx_error *err)
{
	struct settings out = { .rows = arena_alloc(copier->arena,
						    (all->n_settings + next->n_settings) *
							    sizeof(*out.rows)) };

	if (!out.rows)
		return -ENOMEM;
	for (size_t i = 0; i < next->n_settings; i++) {
		int r = check_one(all, next, &next->settings[i], narrows, err);

		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < all->n_settings; i++)
		if (!is_replaced(&all->settings[i], next))
			out.rows[out.n_rows++] = all->settings[i];
	for (size_t i = 0; i < next->n_settings; i++) {
		const struct setting *setting = &next->settings[i];
		bool joined = is_in_joined(setting->path);

		if (!joined ||
		    (!strchr(setting->path, '[') && !policy_get_setting(all, setting->path)))
			copy_setting(copier, setting, &out.rows[out.n_rows++]);
		if (joined && setting->type == TREE_LIST)
			join(&out, all, next, setting, copier);
	}
	if (copier->failed)
		return -ENOMEM;
	if (out.n_rows > 1)
		qsort(out.rows, out.n_rows, sizeof(*out.rows), compare);
	all->settings = out.rows;
	all->n_settings = out.n_rows;
	return 0;
}
