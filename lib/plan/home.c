/* SPDX-License-Identifier: MIT */

/*
 * The command's home: an empty directory in memory, at the place that HOME names
 *
 * Programs keep caches, settings and sockets there and fail without it. It is made only where there
 * is no policy, because a policy says itself what can be written, and only where no grant shows the
 * host's home: such a grant is the home then. Grants below it appear in it.
 */

#include "plan/plan-internal.h"

#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/path.h"

/* Larger files are mounted: a copy takes memory of the sandbox. */
#define COPIED_BYTES_MAX (UINT64_C(1) << 20)

/* Programs that a user has installed for herself. */
static const char *const toolchains[] = { ".cargo", ".rustup", ".pyenv", ".nvm", "go" };

/* Nothing of a user's can be there. */
static const char *const unusable[] = { "/proc", "/dev", "/sys" };

bool home_is_usable(const char *path)
{
	if (!path_is_normal(path) || strcmp(path, "/") == 0)
		return false;
	for (size_t i = 0; i < N_ELEMENTS(unusable); i++)
		if (is_below(path, unusable[i]))
			return false;
	return true;
}

static struct mark *mark_at(const struct planner *planner, size_t i)
{
	return ((struct mark **)planner->marks.rows)[i];
}

/* Without links, as far as the host has been asked. */
static const char *real_path(struct planner *planner, const char *path)
{
	const struct host_path *facts = planner->host ? planner_facts(planner, path) : NULL;

	return facts && facts->real ? facts->real : path;
}

static bool is_missing(struct planner *planner, const struct mark *mark)
{
	const struct host_path *facts =
		planner->host ? planner_facts(planner, mark->source ? mark->source : mark->path)
			      : NULL;

	return facts && facts->kind == HOST_MISSING;
}

/*
 * With "/" as its working directory a command does not work in the home, so the private one is put
 * over the host's. Its user has to reach the target: root's cannot be sure of more than one
 * directory.
 */
static bool is_covered(struct planner *planner, const struct mark *mark, const char *home)
{
	const struct host_path *facts = planner->host ? planner_facts(planner, home) : NULL;

	return (mark->flags & MARK_WIDE) &&
	       (!planner->host || (facts && facts->kind == HOST_FOLDER)) &&
	       (!planner->request->is_root || strrchr(home, '/') == home);
}

/* Does the mark put files at @home? A fresh directory above it is as good a place as the root. */
static bool is_home(struct planner *planner, const struct mark *mark, const char *home)
{
	const char *path = real_path(planner, mark->path);
	bool is_of_host = mark->content == CONTENT_HOST || mark->content == CONTENT_OVERLAY;

	if (mark->kind != MARK_ALLOW || !is_below(home, path) || strcmp(path, "/") == 0 ||
	    (is_of_host && (is_missing(planner, mark) || is_covered(planner, mark, home))))
		return false;
	/* Whatever it is, also a directory to execute from: two things cannot be there. */
	if (strcmp(home, path) == 0)
		return true;
	return is_of_host && (mark->rights & RIGHTS_FILES);
}

/* A link of the user's on the way could lead anywhere. */
static bool is_link_refused(struct planner *planner, const char *path)
{
	const struct host_path *facts = planner->host ? planner_facts(planner, path) : NULL;

	return facts && facts->kind == HOST_LINK_REFUSED;
}

/* With --home HOME names another directory; the private one stays for what asks for the home of the
 * user. NULL where there is none, because it is shown, or nothing can be put there. */
static const char *find_home(struct planner *planner)
{
	char *const *from =
		planner->request->home ? planner->request->environment : planner->environment;
	const char *home = environment_find(from, "HOME"), *real;

	if (planner->policy || (planner->plan && planner->plan->tier != TIER_FULL) || !home ||
	    !home_is_usable(home) || is_link_refused(planner, home))
		return NULL;
	real = real_path(planner, home);
	for (size_t i = 0; i < planner->marks.n_rows; i++)
		if (is_home(planner, mark_at(planner, i), real))
			return NULL;
	planner->home = planner_keep(planner, real);
	return home;
}

/* Nothing else is marked: the command may make what is missing. */
static bool is_directory(struct planner *planner, const char *path)
{
	const struct host_path *facts = planner->host ? planner_facts(planner, path) : NULL;

	return !planner->host || (facts && facts->kind == HOST_FOLDER);
}

static void mark_toolchains(struct planner *planner, const char *home)
{
	for (size_t i = 0; i < N_ELEMENTS(toolchains); i++) {
		const char *path = planner_join(planner, home, toolchains[i]);

		if (is_directory(planner, path))
			mark_shown(planner, path, "HOME");
	}
}

static void mark_search_path(struct planner *planner, const char *home)
{
	const char *at = environment_find(planner->environment, "PATH");

	for (size_t n; at && *at; at += n + (at[n] == ':')) {
		const char *path;

		n = strcspn(at, ":");
		text_reset(&planner->text);
		text_add_bytes(&planner->text, at, n);
		planner->no_memory |= text_status(&planner->text) < 0;
		path = planner_keep(planner, text_string(&planner->text));
		if (path_is_normal(path) && is_below(path, home) && strcmp(path, home) != 0 &&
		    is_directory(planner, path))
			mark_shown(planner, path, "PATH");
	}
}

/* Is the file named by itself, and not also in a directory that is shown from outside? */
static bool is_alone(struct planner *planner, const struct mark *file)
{
	for (size_t i = 0; i < planner->marks.n_rows; i++) {
		const struct mark *other = mark_at(planner, i);
		const char *path = real_path(planner, other->path);

		if (other->kind == MARK_ALLOW && is_below(path, planner->home) &&
		    strcmp(path, planner->home) != 0 &&
		    is_below(real_path(planner, file->path), path) &&
		    (strcmp(other->path, file->path) != 0 || (other->rights & RIGHT_WRITE)))
			return false;
	}
	return true;
}

/* Root's supervisor reads any file: a file that the command's user could not read is mounted
 * instead, so that the kernel checks its mode. */
static bool is_closed_to_command(const struct planner *planner, const struct host_path *facts)
{
	return planner->plan && is_real_root(planner->host) && facts->uid != 0 &&
	       facts->uid != planner->plan->uid && !(facts->mode & S_IROTH);
}

/* Editors and 'git config' replace a file by renaming another over it, which a mount refuses. */
static void copy_files(struct planner *planner)
{
	for (size_t i = 0; i < planner->marks.n_rows; i++) {
		struct mark *mark = mark_at(planner, i);
		const struct host_path *facts = planner_facts(planner, mark->path);

		if (mark->kind != MARK_ALLOW || mark->content != CONTENT_HOST || mark->source ||
		    !(mark->flags & MARK_ASKED) || !(mark->rights & RIGHT_READ) || !facts ||
		    facts->kind != HOST_FILE || facts->size_bytes > COPIED_BYTES_MAX ||
		    !is_below(facts->real, planner->home) || !is_alone(planner, mark) ||
		    is_closed_to_command(planner, facts))
			continue;
		mark->content = CONTENT_COPY;
		mark->second = facts->mode & S_IXUSR ? 0700 : 0600;
	}
}

/* /tmp and the home have one size together. */
static void share_size(struct planner *planner)
{
	for (size_t i = 0; i < planner->marks.n_rows; i++) {
		struct mark *mark = mark_at(planner, i);

		if (mark->content == CONTENT_TMPFS && mark->origin.kind == ORIGIN_BUILT_IN &&
		    strcmp(mark->path, "/tmp") == 0)
			mark->flags |= MARK_SHARED;
	}
}

void mark_home(struct planner *planner)
{
	const char *home = find_home(planner);
	struct mark *mark;

	if (!home)
		return;
	mark_toolchains(planner, home);
	mark_search_path(planner, home);
	mark = planner_add_mark(planner, MARK_ALLOW, planner_keep(planner, home),
				RIGHTS_FILES | (is_limiting_exec(planner) ? 0 : RIGHT_EXEC),
				origin_built_in);
	mark->content = CONTENT_TMPFS;
	mark->flags = MARK_SHARED;
	mark->value = planner->plan ? tmp_size(planner) : 0;
	mark->second = 0700;
	share_size(planner);
	if (planner->host)
		copy_files(planner);
}
