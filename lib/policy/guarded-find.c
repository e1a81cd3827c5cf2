/* SPDX-License-Identifier: MIT */

/*
 * The guarded paths of this process, with the links on their ways
 *
 * Whoever may replace a link on the way to a policy chooses the next policy, and a row guards only
 * what lies at its own path. So the way to each path is gone component by component: a policy's
 * links are rows, and so is what a row really is. It is looked at once, when the policy is loaded:
 * a link that is changed later changes neither what was read nor what is guarded.
 */

#include "policy/guarded.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/environment.h"
#include "base/path.h"
#include "base/text.h"

#define LINKS_MAX 40 /* on one way, as for the kernel */

/* What update keeps beside a policy. */
static const char *const companions[] = { ".previous", ".meta.json" };

struct finding {
	struct arena *arena;
	const char **found; /* NULL: links are not kept */
	size_t n_found;
	size_t n_links;
	char at[PATH_MAX];   /* without links */
	char rest[PATH_MAX]; /* what is still to be gone */
};

static int keep(struct finding *finding, const char *path)
{
	const char *copy = arena_copy(finding->arena, path, strlen(path));

	if (copy)
		finding->found[finding->n_found++] = copy;
	return copy ? 0 : -ENOMEM;
}

static int append(char *path, const char *name, size_t n)
{
	size_t len = strlen(path);

	if (len + n + 2 > PATH_MAX)
		return -ENAMETOOLONG;
	path[len] = '/';
	memcpy(path + len + 1, name, n);
	path[len + 1 + n] = '\0';
	return 0;
}

static void leave(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash)
		*slash = '\0';
}

/* What the link says comes before the rest; it is said in the directory of the link. */
static int follow(struct finding *finding)
{
	char target[PATH_MAX], rest[PATH_MAX];
	ssize_t n = readlink(finding->at, target, sizeof(target) - 1);
	int r = n < 0 ? -errno : ++finding->n_links > LINKS_MAX ? -ELOOP : 0;

	if (r == 0 && finding->found)
		r = keep(finding, finding->at);
	if (r < 0)
		return r;
	target[n] = '\0';
	leave(finding->at);
	if (target[0] == '/')
		finding->at[0] = '\0';
	memcpy(rest, finding->rest, sizeof(rest));
	return snprintf(finding->rest, sizeof(finding->rest), "%s/%s", target, rest) <
			       (int)sizeof(finding->rest)
		       ? 0
		       : -ENAMETOOLONG;
}

/* One component. What is missing has no links. */
static int step(struct finding *finding)
{
	char *name = finding->rest + strspn(finding->rest, "/");
	size_t n = strcspn(name, "/");
	bool is_up = n == 2 && memcmp(name, "..", 2) == 0;
	bool is_entered = n > 0 && !is_up && !(n == 1 && *name == '.');
	struct stat status;
	int r = is_entered ? append(finding->at, name, n) : 0;

	if (is_up)
		leave(finding->at);
	memmove(finding->rest, name + n, strlen(name + n) + 1);
	if (r < 0 || !is_entered || lstat(finding->at, &status) < 0 || !S_ISLNK(status.st_mode))
		return r;
	return follow(finding);
}

/* Leaves in @finding->at where @path really is. */
static int go(struct finding *finding, const char *path)
{
	finding->at[0] = '\0';
	finding->n_links = 0;
	if (strlen(path) >= sizeof(finding->rest))
		return -ENAMETOOLONG;
	if (path[0] != '/' && !getcwd(finding->at, sizeof(finding->at)))
		return -errno;
	memcpy(finding->rest, path, strlen(path) + 1);
	while (finding->rest[strspn(finding->rest, "/")] != '\0') {
		int r = step(finding);

		if (r < 0)
			return r;
	}
	return 0;
}

static int find_companions(struct finding *finding, const char *path)
{
	for (size_t i = 0; i < N_ELEMENTS(companions); i++) {
		_cleanup_text_ struct text beside = TEXT_INIT;
		struct stat status;
		int r;

		text_addf(&beside, "%s%s", path, companions[i]);
		r = text_status(&beside);
		if (r == 0 && lstat(text_string(&beside), &status) == 0)
			r = keep(finding, text_string(&beside));
		if (r < 0)
			return r;
	}
	return 0;
}

static int find_policy(struct finding *finding, const char *path)
{
	size_t first = finding->n_found, end;
	int r = go(finding, path);

	if (r == 0)
		r = keep(finding, finding->at);
	end = finding->n_found;
	for (size_t i = first; i < end && r == 0; i++)
		r = find_companions(finding, finding->found[i]);
	return r;
}

static int find_policies(struct finding *finding, const char *const *policies, size_t n_policies)
{
	size_t n = n_policies * (LINKS_MAX + 1) * (1 + N_ELEMENTS(companions));
	int r = 0;

	finding->found = arena_alloc(finding->arena, n * sizeof(*finding->found));
	if (!finding->found)
		return -ENOMEM;
	for (size_t i = 0; i < n_policies && r == 0; i++)
		if (policies[i] && strcmp(policies[i], "-") != 0)
			r = find_policy(finding, policies[i]);
	return r;
}

/* Puts what the caller's own rows really are before all others. */
static int add_real(struct finding *finding, struct guarded_list *list)
{
	size_t first = list->n_unmarked, n = 0;
	struct guarded *rows =
		arena_alloc(finding->arena, (list->n_rows + list->n_own) * sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	finding->found = NULL;
	for (size_t i = first; i < first + list->n_own; i++) {
		int r = go(finding, list->rows[i].path);

		if (r < 0)
			return r;
		if (strcmp(finding->at, list->rows[i].path) == 0)
			continue;
		rows[n] = list->rows[i];
		rows[n].len = strlen(finding->at);
		rows[n].path = arena_copy(finding->arena, finding->at, rows[n].len);
		if (!rows[n++].path)
			return -ENOMEM;
	}
	memcpy(rows + n, list->rows, list->n_rows * sizeof(*rows));
	list->rows = rows;
	list->n_rows += n;
	list->n_unmarked += n;
	return 0;
}

static const char *find_place(char *const *environment, const char *name)
{
	const char *place = environment_find_folder(environment, name);

	return place && path_is_normal(place) ? place : NULL;
}

int guarded_find(char *const *environment, uid_t uid, const char *const *policies,
		 size_t n_policies, struct arena *arena, struct guarded_list *ret)
{
	struct finding finding = { .arena = arena };
	struct guarded_places places = {
		.home = find_place(environment, "HOME"),
		.config = find_place(environment, "XDG_CONFIG_HOME"),
		.state = find_place(environment, "XDG_STATE_HOME"),
		.runtime = find_place(environment, "XDG_RUNTIME_DIR"),
	};
	struct guarded_list list = { .rows = NULL };
	char fallback[32];
	int r;

	(void)snprintf(fallback, sizeof(fallback), "/tmp/sbx-%u", (unsigned)uid);
	if (uid != 0)
		places.fallback = arena_copy(arena, fallback, strlen(fallback));
	r = find_policies(&finding, policies, n_policies);
	if (r < 0)
		return r;
	places.policies = finding.found;
	places.n_policies = finding.n_found;
	r = guarded_list(&places, arena, &list);
	if (r == 0)
		r = add_real(&finding, &list);
	if (r == 0)
		*ret = list;
	return r;
}
