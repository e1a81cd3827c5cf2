/* SPDX-License-Identifier: MIT */

/*
 * Where a path leads in a sandbox, by the symbolic links of this host
 *
 * A decision is about a path as a text, but the kernel follows links. A sandbox has a link if a
 * directory with it is shown, or if a rule names it, or a path through it. A path at or below the
 * target of a mount is looked up where the mount shows it from.
 */

#include "policy.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "policy/view.h"

#define LINKS_MAX 40 /* as in the kernel (MAXSYMLINKS) */

/* A walk along a path inside, component by component. */
struct walk {
	const struct judge *judge;
	const struct policy_request *request;
	char done[PATH_MAX]; /* the path so far, without links; "" is the root */
	char rest[PATH_MAX];
	char target[PATH_MAX]; /* of the link at done */
	int n_links;
	bool is_beyond; /* done ends with a component of a link's content */
};

enum met {
	MET_END,  /* of the path, or of what can be followed */
	MET_LINK, /* at walk->done */
	MET_UP,	  /* ".." after a component of a link's content, which is the last of walk->done */
};

/* The path that a value of a rule or mount names, which for a pattern is where that begins; false
 * if it is too long, or relative to no project. */
static bool name_value(const char *value, const char *project, char ret[static PATH_MAX])
{
	size_t n_here = strcmp(value, ".") == 0 ? 1 : strncmp(value, "./", 2) == 0 ? 2 : 0;
	int n = value[0] == '/' ? snprintf(ret, PATH_MAX, "%s", value)
		: project	? snprintf(ret, PATH_MAX, "%s/%s",
					   strcmp(project, "/") == 0 ? "" : project, value + n_here)
				: -1;

	while (n > 1 && n < PATH_MAX &&
	       (ret[n - 1] == '/' || (n > 3 && strcmp(ret + n - 3, "/**") == 0))) {
		n -= ret[n - 1] == '/' ? 1 : 3;
		ret[n] = '\0';
	}
	return n >= 0 && n < PATH_MAX;
}

bool judge_finds_outside(const struct judge *judge, const struct policy_request *request,
			 const char *path, char ret[static PATH_MAX])
{
	char target[PATH_MAX], source[PATH_MAX];
	size_t n_longest = 0;
	struct policy_mount mount;
	bool is_shown = true;

	(void)snprintf(ret, PATH_MAX, "%s", path);
	for (size_t i = 0; judge->policy && policy_get_mount(judge->policy, i, &mount); i++) {
		int n;

		if (!name_value(mount.target->text, request->project_root, target) ||
		    !path_is_at_or_below(path, target) || strlen(target) < n_longest ||
		    !name_value(mount.source ? mount.source : mount.target->text,
				request->project_root, source))
			continue;
		n_longest = strlen(target);
		n = snprintf(ret, PATH_MAX, "%s%s", source, path + n_longest);
		is_shown = mount.mode != MOUNT_TMPFS && mount.mode != MOUNT_MASK && n < PATH_MAX;
	}
	return is_shown;
}

const char *judge_find_overlay(const struct judge *judge, const struct policy_request *request,
			       const char *path, char ret[static PATH_MAX])
{
	struct policy_mount mount;

	for (size_t i = 0; judge->policy && policy_get_mount(judge->policy, i, &mount); i++)
		if (mount.mode == MOUNT_OVERLAY &&
		    name_value(mount.target->text, request->project_root, ret) &&
		    path_is_at_or_below(path, ret))
			return ret;
	return NULL;
}

static bool is_link(struct walk *walk)
{
	char outside[PATH_MAX];
	ssize_t n = -1;

	if (judge_finds_outside(walk->judge, walk->request, walk->done, outside))
		n = readlink(outside, walk->target, sizeof(walk->target) - 1);
	walk->target[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* Moves components from walk->rest to walk->done. */
static enum met step(struct walk *walk)
{
	for (;;) {
		const char *rest = walk->rest + strspn(walk->rest, "/");
		size_t n = strcspn(rest, "/"), len = strlen(walk->done);
		bool is_up = n == 2 && strncmp(rest, "..", n) == 0;
		bool is_here = n == 1 && rest[0] == '.';

		if (n == 0 || len + n + 2 > sizeof(walk->done))
			return MET_END;
		if (is_up && walk->is_beyond) {
			walk->is_beyond = false;
			return MET_UP;
		}
		if (is_up) {
			walk->done[len > 0 ? (size_t)(strrchr(walk->done, '/') - walk->done) : 0] =
				'\0';
		} else if (!is_here) {
			walk->done[len] = '/';
			memcpy(walk->done + len + 1, rest, n);
			walk->done[len + 1 + n] = '\0';
		}
		memmove(walk->rest, rest + n, strlen(rest + n) + 1);
		if (is_up || is_here)
			continue;
		if (is_link(walk))
			return MET_LINK;
		walk->is_beyond = walk->n_links > 0;
	}
}

/* Continues at the content of the link at walk->done. */
static bool follow(struct walk *walk)
{
	char rest[PATH_MAX];
	int len = snprintf(rest, sizeof(rest), "%s/%s", walk->target, walk->rest);

	if (++walk->n_links > LINKS_MAX || len < 0 || (size_t)len >= sizeof(rest))
		return false;
	memcpy(walk->rest, rest, (size_t)len + 1);
	if (walk->target[0] == '/')
		walk->done[0] = '\0';
	else
		*strrchr(walk->done, '/') = '\0';
	walk->is_beyond = false;
	return true;
}

/* Is @path in the path, or does the path lead through a link there? */
static bool leads_through(const struct walk *from, const char *path, const char *wanted,
			  bool is_link)
{
	struct walk walk = { .judge = from->judge, .request = from->request };
	enum met met;

	if (is_link && path_is_at_or_below(path, wanted))
		return true;
	if (is_link && path_has_no_links(path))
		return false;
	memcpy(walk.rest, path, strlen(path) + 1);
	while ((met = step(&walk)) != MET_END) {
		if (met == MET_UP)
			continue;
		if (path_is_at_or_below(walk.done, wanted))
			return true;
		if (!follow(&walk))
			return false;
	}
	/* A sandbox makes no directories for a file that does not exist. */
	return path_is_at_or_below(walk.done, wanted) &&
	       (is_link || faccessat(AT_FDCWD, walk.done, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
}

/* Does a rule that allows name walk->done, or a path that leads through it? A sandbox has each link
 * on the way to such a path. */
static bool is_named(const struct walk *walk, bool is_link)
{
	const struct policy *policy = walk->judge->policy;
	char path[PATH_MAX];

	for (size_t i = 0; policy && i < policy->n_rules; i++) {
		const struct match_list *list = &policy->rules[i].match.lists[MATCH_PATH];

		if (!policy_permits(policy->rules[i].action))
			continue;
		for (size_t k = 0; k < list->n_values; k++)
			if (!match_value_excludes(&list->values[k]) &&
			    name_value(list->values[k].text, walk->request->project_root, path) &&
			    leads_through(walk, path, walk->done, is_link))
				return true;
	}
	return false;
}

/* ---- the places of a sandbox's tree ---- */

struct place {
	const char *path; /* without links */
	enum place_kind {
		PLACE_NAMED, /* by a denial or an exception */
		PLACE_ALONE, /* allowed, and what is below it is not */
		PLACE_SHOWN,
	} kind;
};

static void add_path(struct judge *judge, const char *path, enum place_kind kind)
{
	const char *copy = arena_copy(&judge->places_arena, path, strlen(path));
	struct place *row = NULL;

	if (copy)
		row = arena_add_row(&judge->places_arena, &judge->places, sizeof(*row));
	if (row)
		*row = (struct place){ copy, kind };
}

/* Also where mounts show it, because denials apply there, too. */
static void add_place(struct judge *judge, const char *value, const char *project,
		      enum place_kind kind)
{
	char path[PATH_MAX], source[PATH_MAX], target[PATH_MAX];
	struct policy_mount mount;

	if (!name_value(value, project, path))
		return;
	add_path(judge, path_follow(&judge->places_arena, path), kind);
	for (size_t i = 0; policy_get_mount(judge->policy, i, &mount); i++)
		if (mount.source && name_value(mount.source, project, source) &&
		    path_is_at_or_below(path, source) &&
		    name_value(mount.target->text, project, target) &&
		    strlen(target) + strlen(path) - strlen(source) < sizeof(target)) {
			memcpy(target + strlen(target), path + strlen(source),
			       strlen(path + strlen(source)) + 1);
			add_path(judge, target, PLACE_NAMED);
		}
}

static void add_places(struct judge *judge, const struct match_list *list, const char *project,
		       bool is_allowed)
{
	for (size_t i = 0; i < list->n_values; i++) {
		const struct match_value *value = &list->values[i];
		const char *text = value->text + match_value_excludes(value);
		size_t len = strlen(text);
		bool is_alone = !value->literal && len > 0 && text[len - 1] != '/' &&
				(len < 3 || strcmp(text + len - 3, "/**") != 0);

		add_place(judge, text, project,
			  !is_allowed || text != value->text ? PLACE_NAMED
			  : is_alone			     ? PLACE_ALONE
							     : PLACE_SHOWN);
	}
}

static void find_places(struct judge *judge, const char *project)
{
	const struct policy *policy = judge->policy;
	struct view_row view[VIEW_ROWS_MAX];
	struct policy_mount mount;

	arena_deinit(&judge->places_arena);
	judge->places_arena = (struct arena)ARENA_INIT;
	judge->places = (struct arena_rows){ .rows = NULL };
	judge->places_of = arena_copy(&judge->places_arena, project, strlen(project));
	for (size_t i = 0; policy && i < policy->n_rules; i++) {
		const struct rule *rule = &policy->rules[i];

		if (rule->action == POLICY_PASS)
			continue;
		add_places(judge, &rule->match.lists[MATCH_PATH], project,
			   policy_permits(rule->action));
		if (!rule->match.lists[MATCH_PATH].present && policy_permits(rule->action))
			add_path(judge, "/", PLACE_SHOWN);
		for (size_t k = 0; k < rule->n_exceptions; k++)
			add_places(judge, &rule->exceptions[k].lists[MATCH_PATH], project, false);
	}
	for (size_t i = 0; policy && policy_get_mount(policy, i, &mount); i++)
		add_place(judge, mount.target->text, project,
			  mount.mode == MOUNT_MASK ? PLACE_NAMED : PLACE_SHOWN);
	if (!policy)
		return;
	if (policy->defaults[CLASS_FS] != POLICY_DENY)
		add_path(judge, "/", PLACE_SHOWN);
	policy_view(policy, project[0] ? project : NULL, true, view);
	for (size_t i = 0; view[i].path; i++) {
		const char *path = strcmp(view[i].path, ".") == 0 ? project : view[i].path;

		if (path[0] && !view_is_private(path))
			add_place(judge, path, project, PLACE_SHOWN);
	}
}

/* The places of the request's project. */
static const struct place *places_of(struct judge *judge, const struct policy_request *request)
{
	const char *project = request->project_root ? request->project_root : "";

	if (!judge->places_of || strcmp(judge->places_of, project) != 0)
		find_places(judge, project);
	return judge->places.rows;
}

/* Does the place show @path, by itself or as a part of its directory? */
static bool does_show(const struct place *place, const char *path)
{
	return path_is_at_or_below(path, place->path) &&
	       (place->kind == PLACE_SHOWN ||
		(place->kind == PLACE_ALONE && strcmp(place->path, path) == 0));
}

const char *judge_find_place(struct judge *judge, const struct policy_request *request,
			     const char *path)
{
	const struct place *places = places_of(judge, request);
	const char *found = NULL;

	for (size_t i = 0; i < judge->places.n_rows; i++)
		if (path_is_at_or_below(path, places[i].path) &&
		    (!found || strlen(places[i].path) > strlen(found)))
			found = places[i].path;
	return found;
}

const char *judge_find_shown(struct judge *judge, const struct policy_request *request,
			     const char *path)
{
	const struct place *places = places_of(judge, request);
	const char *found = NULL;

	for (size_t i = 0; i < judge->places.n_rows; i++)
		if (does_show(&places[i], path) &&
		    (!found || strlen(places[i].path) > strlen(found)))
			found = places[i].path;
	return found;
}

bool judge_shows_again(struct judge *judge, const struct policy_request *request, const char *path,
		       bool is_directory)
{
	const struct place *places = places_of(judge, request);

	for (size_t i = 0; i < judge->places.n_rows; i++)
		if (strcmp(places[i].path, path) == 0 &&
		    places[i].kind >= (is_directory ? PLACE_SHOWN : PLACE_ALONE))
			return true;
	return false;
}

bool judge_carries(struct judge *judge, const struct policy_request *request, const char *path,
		   bool (*has_rights)(const void *context, const char *path), const void *context)
{
	const struct place *places = places_of(judge, request);

	for (size_t i = 0; i < judge->places.n_rows; i++) {
		const struct place *place = &places[i];

		if (does_show(place, path) && has_rights(context, place->path))
			return true;
	}
	return !judge->policy;
}

/* ---- the way ---- */

/* Follows the links. */
static enum judge_way follow_all(struct walk *walk, struct judge *judge)
{
	enum met met;

	while ((met = step(walk)) != MET_END) {
		if (!judge_has(judge, walk->request, walk->done, met == MET_LINK,
			       is_named(walk, met == MET_LINK)))
			return met == MET_UP ? WAY_UP : WAY_GAP;
		if (met == MET_LINK && !follow(walk))
			return WAY_STRAIGHT;
	}
	return walk->n_links > 0 ? WAY_LINKED : WAY_STRAIGHT;
}

enum judge_way judge_find_way(struct judge *judge, const struct policy_request *request,
			      char ret[static PATH_MAX])
{
	struct walk walk = { .judge = judge, .request = request };
	char outside[PATH_MAX];
	enum judge_way way;

	memcpy(ret, request->path, strlen(request->path) + 1);
	if (judge_finds_outside(judge, request, request->path, outside) &&
	    strcmp(outside, request->path) == 0 && path_has_no_links(request->path))
		return WAY_STRAIGHT;
	memcpy(walk.rest, request->path, strlen(request->path) + 1);
	way = follow_all(&walk, judge);
	if (way == WAY_STRAIGHT || !walk.done[0])
		return WAY_STRAIGHT;
	memcpy(ret, walk.done, strlen(walk.done) + 1);
	return way;
}
