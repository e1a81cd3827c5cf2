/* SPDX-License-Identifier: MIT */

/*
 * Several files as one policy
 *
 * All rules are kept: severity decides between them, so a later file cannot revoke a denial.
 * Settings have no severity and are compared value by value.
 */

#include "policy/model.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "policy/artefact.h"
#include "policy/compose.h"
#include "policy/limit.h"
#include "policy/view.h"

/* Copies what has a place, with the file's number among all files. Texts are not copied: the merged
 * policy keeps the original. A failure is sticky, as in struct text. */
struct copier {
	struct arena *arena;
	unsigned first_source; /* the new number of the original's source 0 */
	bool failed;
};

static void *copy_array(struct copier *copier, const void *from, size_t n, size_t size)
{
	void *array = arena_alloc(copier->arena, n * size);

	copier->failed |= !array;
	return array && n > 0 ? memcpy(array, from, n * size) : array;
}

static void copy_list(struct copier *copier, struct match_list *list)
{
	struct match_value *values =
		copy_array(copier, list->values, list->n_values, sizeof(*values));

	for (size_t i = 0; values && i < list->n_values; i++)
		values[i].place.source += copier->first_source;
	list->values = values;
	list->place.source += copier->first_source;
}

static void copy_condition(struct copier *copier, struct condition *condition)
{
	for (int key = 0; key < N_MATCH_KEYS; key++)
		if (condition->lists[key].present)
			copy_list(copier, &condition->lists[key]);
	condition->place.source += copier->first_source;
}

static struct rule copy_rule(struct copier *copier, const struct rule *from)
{
	struct rule to = *from;
	struct condition *exceptions =
		copy_array(copier, from->exceptions, from->n_exceptions, sizeof(*exceptions));
	struct example *examples =
		copy_array(copier, from->examples, from->n_examples, sizeof(*examples));

	copy_condition(copier, &to.match);
	for (size_t i = 0; exceptions && i < from->n_exceptions; i++)
		copy_condition(copier, &exceptions[i]);
	for (size_t i = 0; examples && i < from->n_examples; i++)
		examples[i].place.source += copier->first_source;
	to.exceptions = exceptions;
	to.examples = examples;
	to.place.source += copier->first_source;
	return to;
}

struct settings {
	struct setting *rows;
	size_t n_rows;
};

static struct setting *add_setting(struct settings *out, const struct copier *copier,
				   const struct setting *from)
{
	struct setting *to = &out->rows[out->n_rows++];

	*to = *from;
	to->place.source += copier->first_source;
	return to;
}

/*
 * Settings: a table says for each in which direction a later file may change it
 *
 * A setting that is not in the table may be repeated but not changed. Lists are compared as a
 * whole: either the new one is a subset of the old one, or (if more items are narrower) both are
 * joined.
 */

/*
 * USER_: a narrowing file cannot change it. A pattern in audit.redact can hide anything from the
 * log, and working_dir determines the files that a command's relative paths name.
 */
enum direction {
	SAME,
	FREE, /* the last file counts */
	USER_FREE,
	LESS, /* may become less (of numbers; false is less than true) */
	MORE,
	ORDER,	/* may move along an order of words, the widest first */
	PART,	/* may become a subset */
	JOINED, /* items may be added */
	USER_JOINED,
	MOUNTS,
};

static const char *const profile_order[] = { "standard", "strict", NULL };
static const char *const tier_order[] = { "reduced", "full", NULL };
static const char *const mode_order[] = { "best-effort", "strict", NULL };
static const char *const net_order[] = { "host", "veth", "transparent", "proxy", "none", NULL };
/* Neither of proxy and loopback is narrower: each allows something that the other does not. */
static const char *const loopback_order[] = { "host", "loopback", "none", NULL };

static const struct row {
	const char *path; /* with '.' at its end: everything below */
	enum direction direction;
	/* A narrowing file may set it even if no earlier file does. With ORDER and for lists it may
	 * always set the narrowest value. */
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
	{ "net.limits.", LESS, true, NULL },
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

/* The row of a setting, or of the list that contains it. */
static const struct row *find_row(const char *path)
{
	for (const struct row *row = rows;; row++) {
		size_t len = strlen(row->path);
		bool is_section = len == 0 || row->path[len - 1] == '.';

		if (strncmp(path, row->path, len) == 0 &&
		    (is_section || path[len] == '\0' || path[len] == '['))
			return row; /* the last row matches everything */
	}
}

/* Reports "'PATH' widens what the files before it allow" with both places; @before may be NULL. */
static int refuse_widening(const struct policy *all, const struct setting *before,
			   const struct policy *next, const struct setting *after,
			   struct sbx_error *err)
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
	sbx_error_fix(err, "remove it here, write a narrower value, or change %s", file);
	return -EACCES;
}

/* Settings that open what a net.mode closes, and the mode that has it open already. */
static const struct {
	const char *path;
	const char *mode;
} openings[] = {
	{ "net.loopback.connect", "host" },
	{ "net.loopback.bind", "host" },
	{ "net.unix", NULL },
};

/* The net.mode of the earlier files that closes what the setting opens, or NULL. */
static const struct setting *find_closing(const struct policy *all, const struct setting *setting)
{
	const struct setting *mode = policy_get_setting(all, "net.mode");

	for (size_t i = 0; mode && setting->number > 0 && i < N_ELEMENTS(openings); i++)
		if (strcmp(openings[i].path, setting->path) == 0)
			return openings[i].mode && strcmp(openings[i].mode, mode->text) == 0 ? NULL
											     : mode;
	return NULL;
}

static int refuse_opening(const struct policy *all, const struct setting *mode,
			  const struct policy *next, const struct setting *after,
			  struct sbx_error *err)
{
	const char *file = all->sources[mode->place.source].name;

	(void)refuse_widening(all, NULL, next, after, err);
	sbx_error_why(err, "net.mode is '%s' at %s:%u:%u, and no file before it has '%s'",
		      mode->text, file, mode->place.at.line, mode->place.at.column, after->path);
	sbx_error_fix(err, "remove it here, or write it in %s", file);
	return -EACCES;
}

/* The other names of the tier "reduced". */
static const char *const reduced[] = { "no-userns", "landlock-only" };

static size_t place_in(const char *const *order, const char *word)
{
	size_t i = 0;

	for (size_t k = 0; order == tier_order && k < N_ELEMENTS(reduced); k++)
		if (strcmp(word, reduced[k]) == 0)
			word = "reduced";
	while (order[i] && strcmp(order[i], word) != 0)
		i++;
	return i;
}

static bool has_word(const char *const *order, const char *word)
{
	return order[place_in(order, word)] != NULL;
}

/* Words of different orders cannot be compared: false. */
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

static bool has_item(const struct policy *policy, const char *list, const char *text)
{
	const struct setting *item;

	for (size_t i = 0; (item = policy_get_item(policy, list, i)); i++)
		if (strcmp(item->text, text) == 0)
			return true;
	return false;
}

static int check_part(const struct policy *all, const struct setting *before,
		      const struct policy *next, const struct setting *after, struct sbx_error *err)
{
	const struct setting *item;

	for (size_t i = 0; (item = policy_get_item(next, after->path, i)); i++) {
		struct setting list = *before;

		list.text = "not in the list";
		if (!has_item(all, after->path, item->text))
			return refuse_widening(all, &list, next, item, err);
	}
	return 0;
}

static bool is_mode_narrower(enum mount_mode before, enum mount_mode after)
{
	return before == after || (before == MOUNT_READ_WRITE && after == MOUNT_READ_ONLY);
}

static bool has_same_source(const struct policy_mount *a, const struct policy_mount *b)
{
	return a->source && b->source ? strcmp(a->source, b->source) == 0 : a->source == b->source;
}

static bool is_mount_narrower(const struct policy_mount *before, const struct policy_mount *after)
{
	if (after->mode == MOUNT_MASK)
		return true;
	return has_same_source(before, after) && is_mode_narrower(before->mode, after->mode) &&
	       (before->size_bytes == 0 ||
		(after->size_bytes > 0 && after->size_bytes <= before->size_bytes));
}

static bool has_target(const struct policy *policy, const char *target, struct policy_mount *ret)
{
	for (size_t i = 0; policy_get_mount(policy, i, ret); i++)
		if (strcmp(ret->target->text, target) == 0)
			return true;
	return false;
}

/* Without the mount, rules would be about the host's files that it covers. */
static int refuse_uncovering(const struct policy *all, const struct policy_mount *before,
			     const struct policy *next, struct sbx_error *err)
{
	const struct setting *list = policy_get_setting(next, "mounts");
	const char *file = all->sources[before->target->place.source].name;

	(void)refuse_widening(all, before->target, next, list, err);
	sbx_error_why(err,
		      "it has no mount at '%.300s', which covers the host's files there (%s:%u)",
		      before->target->text, file, before->target->place.at.line);
	sbx_error_fix(err, "repeat the mount, or hide its place: {target: '%.300s', mode: mask}",
		      before->target->text);
	return -EACCES;
}

/* A later file may narrow a mount, but not leave it out. */
static int check_mounts(const struct policy *all, const struct policy *next, struct sbx_error *err)
{
	struct policy_mount before, after;

	for (size_t i = 0; policy_get_mount(next, i, &after); i++) {
		bool found = has_target(all, after.target->text, &before);

		if (!found || !is_mount_narrower(&before, &after))
			return refuse_widening(all,
					       found ? before.target
						     : policy_get_setting(all, "mounts"),
					       next, after.target, err);
	}
	for (size_t i = 0; policy_get_mount(all, i, &before); i++)
		if (!has_target(next, before.target->text, &after))
			return refuse_uncovering(all, &before, next, err);
	return 0;
}

/* The number that holds if no file has the limit of this path; UINT64_MAX: none. */
static uint64_t limit_without_file(const struct policy *all, const char *path)
{
	const struct policy_template *template = policy_template_find(all, NULL);

	for (int limit = 0; limit < N_LIMITS && strncmp(path, "limits.", 7) == 0; limit++)
		if (strcmp(path + 7, limit_name((enum limit)limit)) == 0)
			return limit == LIMIT_TMP_SIZE		     ? LIMIT_TMP_SIZE_DEFAULT
			       : template && template->limits[limit] ? template->limits[limit]
								     : UINT64_MAX;
	return UINT64_MAX;
}

static int refuse_beginning(const struct policy *all, const struct policy *next,
			    const struct setting *after, struct sbx_error *err)
{
	(void)refuse_widening(all, NULL, next, after, err);
	sbx_error_why(err,
		      "no file before it has '%s', so the template's limit holds, which is lower",
		      after->path);
	return -EACCES;
}

static int check_one(const struct policy *all, const struct policy *next,
		     const struct setting *after, bool narrows, struct sbx_error *err)
{
	const struct setting *before = policy_get_setting(all, after->path);
	const struct setting *closing = before ? NULL : find_closing(all, after);
	const struct row *row = find_row(after->path);

	if (strchr(after->path, '['))
		return 0; /* checked with its list */
	if (closing)
		return refuse_opening(all, closing, next, after, err);
	if (!before && narrows && !row->may_begin && !is_narrowest(row, after))
		return refuse_widening(all, NULL, next, after, err);
	if (!before && narrows && after->number > limit_without_file(all, after->path))
		return refuse_beginning(all, next, after, err);
	if (!before)
		return 0;
	if (!is_narrower(row, before, after) ||
	    (narrows && row->direction == USER_FREE && strcmp(before->text, after->text) != 0))
		return refuse_widening(all, before, next, after, err);
	if (row->direction == PART || (narrows && row->direction == USER_JOINED))
		return check_part(all, before, next, after, err);
	return row->direction == MOUNTS ? check_mounts(all, next, err) : 0;
}

static bool is_joined(const char *path)
{
	enum direction direction = find_row(path)->direction;

	return direction == JOINED || direction == USER_JOINED;
}

/* Does @next replace the setting? A list is either replaced as a whole, or joined. */
static bool is_replaced(const struct setting *setting, const struct policy *next)
{
	_cleanup_text_ struct text list = TEXT_INIT;

	text_add_bytes(&list, setting->path, strcspn(setting->path, "["));
	return policy_get_setting(next, text_string(&list)) && !is_joined(setting->path);
}

/* Adds the new items of a joined list, numbered after the old ones. */
static void join(struct settings *out, struct policy *all, const struct policy *next,
		 const struct setting *list, struct copier *copier)
{
	const struct setting *item;
	struct setting *whole = NULL;
	const char *copied;
	size_t n = policy_get_number(all, list->path);

	for (size_t i = 0; i < out->n_rows; i++)
		if (strcmp(out->rows[i].path, list->path) == 0)
			whole = &out->rows[i];
	for (size_t i = 0; (item = policy_get_item(next, list->path, i)); i++) {
		_cleanup_text_ struct text path = TEXT_INIT;

		if (has_item(all, list->path, item->text))
			continue;
		text_addf(&path, "%s[%zu]", list->path, n++);
		copied = arena_copy(copier->arena, text_string(&path), path.len);
		copier->failed |= !copied;
		add_setting(out, copier, item)->path = copied;
	}
	if (whole)
		whole->number = n;
}

static int compare(const void *a, const void *b)
{
	return policy_compare_paths(((const struct setting *)a)->path,
				    ((const struct setting *)b)->path);
}

/* Adds the settings of @next to those of @all; their rows are copied, their texts are those of
 * @next, which @all keeps. -EACCES if one of them widens; with @narrows also if no earlier file has
 * it and it could widen. */
static int merge_settings(struct policy *all, const struct policy *next, struct copier *copier,
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
		bool joined = is_joined(setting->path);

		if (!joined ||
		    (!strchr(setting->path, '[') && !policy_get_setting(all, setting->path)))
			(void)add_setting(&out, copier, setting);
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

/* ---- policies ---- */

/* Allocates room for all files; the counts grow as it is filled. */
static struct policy *make_empty(struct policy *const *policies, size_t n_policies)
{
	_cleanup_policy_ struct policy *all = calloc(1, sizeof(*all));
	size_t n_sources = 0, n_rules = 0, n_extensions = 0;

	if (!all)
		return NULL;
	for (size_t i = 0; i < n_policies; i++) {
		n_sources += policies[i]->n_sources;
		n_rules += policies[i]->n_rules;
		n_extensions += policies[i]->n_extensions;
	}
	all->dialect = policies[0]->dialect;
	all->view = policies[0]->view;
	all->sources = arena_alloc(&all->arena, n_sources * sizeof(*all->sources));
	all->rules = arena_alloc(&all->arena, n_rules * sizeof(*all->rules));
	all->extensions = arena_alloc(&all->arena, n_extensions * sizeof(*all->extensions));
	return all->sources && all->rules && all->extensions ? take_ptr(all) : NULL;
}

/* An extension is executed and may vote to allow, so a narrowing file must not name one. */
static int check_extension(const struct policy *all, const struct policy *next,
			   const struct extension_program *program, bool narrows,
			   struct sbx_error *err)
{
	const struct policy_place *at = &program->place;
	const char *file = next->sources[at->source].name;

	if (narrows)
		return error_fill(err, -EACCES, "it would run for every user who opens the project",
				  "name it in the user's own policy",
				  "%s:%u:%u: extension '%s' in a project's file", file, at->at.line,
				  at->at.column, program->name);
	for (size_t i = 0; i < all->n_extensions; i++) {
		const struct extension_program *other = &all->extensions[i];

		if (strcmp(other->name, program->name) != 0)
			continue;
		(void)sbx_error_what(err, -EEXIST, "%s:%u:%u: a second extension '%s'", file,
				     at->at.line, at->at.column, program->name);
		sbx_error_why(err, "%s:%u has one", all->sources[other->place.source].name,
			      other->place.at.line);
		sbx_error_fix(err, "give it a different name, or remove it");
		return -EEXIST;
	}
	return 0;
}

static int add_extensions(struct policy *all, const struct policy *next,
			  const struct copier *copier, bool narrows, struct sbx_error *err)
{
	for (size_t i = 0; i < next->n_extensions; i++) {
		int r = check_extension(all, next, &next->extensions[i], narrows, err);

		if (r < 0)
			return r;
		all->extensions[all->n_extensions] = next->extensions[i];
		all->extensions[all->n_extensions++].place.source += copier->first_source;
	}
	return 0;
}

/* If a later file has no default, that of the earlier files stays. In the first file a missing
 * default is deny, and no later file can change that. */
static void merge_defaults(struct policy *all, const struct policy *next)
{
	bool is_first = all->n_sources == 0;

	for (int i = 0; i < N_CLASSES; i++) {
		if ((is_first || next->says_default[i]) && next->defaults[i] > all->defaults[i])
			all->defaults[i] = next->defaults[i];
		all->says_default[i] |= next->says_default[i];
	}
}

/* Keeps what requests have to state: the view, mounts and settings that need it may be lost. */
static int keep_needs(struct policy *all, struct sbx_error *err)
{
	_cleanup_free_ void *block = NULL;
	const struct artefact_header *header;
	size_t n_bytes;
	int r = policy_compile_composed(all, NULL, NULL, &block, &n_bytes, err);

	if (r < 0)
		return r;
	header = block;
	all->needs_project = header->needs_project;
	all->needs_port = header->needs_port;
	return 0;
}

static int add_policy(struct policy *all, const struct policy *next, bool narrows,
		      struct sbx_error *err)
{
	struct copier copier = { .arena = &all->arena, .first_source = (unsigned)all->n_sources };
	int r = narrows ? keep_needs(all, err) : 0;

	if (r < 0)
		return r;
	if (next->dialect != all->dialect)
		all->dialect = DIALECT_SBX;
	if (next->view != all->view)
		all->view = VIEW_NONE;
	merge_defaults(all, next);
	for (size_t i = 0; i < next->n_rules; i++)
		all->rules[all->n_rules++] = copy_rule(&copier, &next->rules[i]);
	r = add_extensions(all, next, &copier, narrows, err);
	if (r < 0)
		return r;
	r = merge_settings(all, next, &copier, narrows, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < next->n_sources; i++) {
		all->sources[all->n_sources] = next->sources[i];
		all->sources[all->n_sources++].narrows |= narrows;
	}
	return copier.failed ? -ENOMEM : 0;
}

static int join_policies(struct policy *const *policies, size_t n_policies, bool last_narrows,
			 struct policy **ret, struct sbx_error *err)
{
	struct policy *all = *ret = make_empty(policies, n_policies);

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < n_policies; i++) {
		int r = add_policy(all, policies[i], last_narrows && i == n_policies - 1, err);

		if (r < 0)
			return r;
	}
	return policy_make_digest(all, all->digest);
}

/* Keeps @policy, whose texts @all borrows, until @all is freed. */
static void keep(struct policy *all, struct policy *policy)
{
	struct policy **last = &policy->merged;

	while (*last)
		last = &(*last)->merged;
	*last = all->merged;
	all->merged = policy;
}

int policy_merge(struct policy **policies, size_t n_policies, int last_narrows, struct policy **ret,
		 struct sbx_error *err)
{
	_cleanup_policy_ struct policy *all = NULL;
	int r;

	assert(n_policies > 0);
	r = join_policies(policies, n_policies, last_narrows, &all, err);
	for (size_t i = 0; i < n_policies; i++) {
		if (all)
			keep(all, take_ptr(policies[i]));
		policies[i] = policy_free(policies[i]);
	}
	if (r == -ENOMEM)
		(void)sbx_error_what(err, r, "cannot merge the policies");
	if (r < 0)
		return r;
	*ret = take_ptr(all);
	return 0;
}
