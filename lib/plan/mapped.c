/* SPDX-License-Identifier: MIT */

/*
 * What root names and nobody else may enter
 *
 * Root's sandbox runs as a user who may not search /root. Where root starts it in a directory of
 * its own, or names one by --read, the mount maps the owner root to the command's user, so that the
 * command reads what root would. Only a uid is mapped: the kernel refuses every write to an inode
 * whose gid has no number in a mount, so that FIFOs and sockets of root's stay closed, and files of
 * other users that root's group may read do as well.
 *
 * Never mapped is what the system consists of: /etc/shadow would be readable.
 */

#include "plan/plan-internal.h"

#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"

static const char *const system_directories[] = {
	"/etc",	   "/usr",  "/bin", "/sbin", "/lib",  "/lib32", "/lib64",
	"/libx32", "/boot", "/run", "/dev",  "/proc", "/sys",
};

/* They hold everything of the system or of all users; a directory further down can be root's own.
 */
static const char *const shared_directories[] = { "/var", "/home" };

static bool is_of_system(const char *path)
{
	for (size_t i = 0; i < N_ELEMENTS(system_directories); i++)
		if (is_below(path, system_directories[i]))
			return true;
	for (size_t i = 0; i < N_ELEMENTS(shared_directories); i++)
		if (is_below(shared_directories[i], path))
			return true;
	return false;
}

void ask_about_mapped(struct planner *planner, const struct mark *mark)
{
	if (planner->request->is_root && (mark->flags & MARK_MAPPED))
		ask_about_way(planner, mark->path);
}

static bool is_closed(const struct host_path *facts)
{
	mode_t needed = facts->kind == HOST_FOLDER ? S_IROTH | S_IXOTH : S_IROTH;

	return (facts->mode & needed) != needed;
}

/* By a directory on the way to @path. */
static bool is_way_closed(struct planner *planner, const char *path)
{
	for (const char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		const char *folder = arena_copy(planner->scratch, path, (size_t)(at - path));
		const struct host_path *facts =
			folder ? host_find_path(planner->host, folder) : NULL;

		if (facts && facts->kind == HOST_FOLDER && !(facts->mode & S_IXOTH))
			return true;
	}
	return false;
}

/* Of the place and those above it that show the same, the one that was named. */
static const struct place *find_named(const struct place *place)
{
	for (const struct place *at = place; at && at->base == place->base; at = at->parent)
		for (size_t i = 0; i < at->n_marks; i++)
			if ((at->marks[i]->flags & (MARK_MAPPED | MARK_DROPPED)) == MARK_MAPPED)
				return at;
	return NULL;
}

struct step_owner mapped_owner(struct planner *planner, const struct place *place)
{
	const struct place *named = is_real_root(planner->host) ? find_named(place) : NULL;
	const struct host_path *facts = named ? named->facts : NULL;

	if (!facts || !facts->real || (facts->kind != HOST_FOLDER && facts->kind != HOST_FILE) ||
	    facts->uid != 0 || is_of_system(facts->real) || place_wants_write(place) ||
	    !(is_closed(facts) || is_way_closed(planner, facts->real)))
		return (struct step_owner){ .is_set = false };
	return (struct step_owner){ .is_set = true, .gid = STEP_NO_GID, .optional = true };
}

bool mapped_needs_mount(struct planner *planner, const struct place *place,
			const struct place *carrier)
{
	/* The command's user has to reach the target. */
	return !carrier->is_mapped && mapped_owner(planner, place).is_set &&
	       !is_way_closed(planner, place->path);
}
