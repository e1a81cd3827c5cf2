/* SPDX-License-Identifier: MIT */

/*
 * Takes the privileges of the programs in a directory that untrusted code has filled
 *
 * The directory stays as it is otherwise, at any depth, so a level is one item of an array: neither
 * the stack nor the number of open files depends on the tree. The way back up is "..", which must
 * be the directory that was left. Files are never opened.
 */

#include "registry/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/path.h"

#define SETS_ID (S_ISUID | S_ISGID)
#define CAPABILITIES "security.capability"

/* A directory between the top and the current one, or this itself. */
struct level {
	struct stat st;
	char **names; /* directories in it that were not entered yet */
	size_t n_names;
};

struct walk {
	int directory; /* the current one */
	struct level *levels;
	size_t n_levels;
	int first_failure;
};

static void note(struct walk *walk, int r)
{
	if (r < 0 && walk->first_failure == 0)
		walk->first_failure = r;
}

/* What path_open_own() has added to the mode is taken away again. */
static void restore_mode(int directory, const struct stat *st)
{
	if ((st->st_mode & (S_IRUSR | S_IXUSR)) != (S_IRUSR | S_IXUSR))
		(void)fchmod(directory, st->st_mode & 07777);
}

static void level_deinit(struct level *level)
{
	for (size_t i = 0; i < level->n_names; i++)
		free(level->names[i]);
	free(level->names);
}

static void walk_deinit(struct walk *walk)
{
	close_fd(&walk->directory);
	for (size_t i = 0; i < walk->n_levels; i++)
		level_deinit(&walk->levels[i]);
	free(walk->levels);
}

/* Also if this cannot be found out. */
static bool may_have_capabilities(int directory, const char *name)
{
	char path[64 + NAME_MAX];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", directory, name);
	return lgetxattr(path, CAPABILITIES, NULL, 0) >= 0 ||
	       (errno != ENODATA && errno != ENOTSUP);
}

/*
 * A change of the owner, here to the same one, makes the kernel remove the capabilities and the
 * bits; removexattr() would need CAP_SETFCAP. It leaves S_ISGID where the group may not execute.
 */
static int clear_file(int directory, const char *name, const struct stat *st)
{
	bool sets_id = st->st_mode & SETS_ID;

	if (!sets_id && !may_have_capabilities(directory, name))
		return 0;
	if (fchownat(directory, name, (uid_t)-1, (gid_t)-1, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return sets_id && fchmodat(directory, name, st->st_mode & 07777 & ~(mode_t)SETS_ID,
				   AT_SYMLINK_NOFOLLOW) < 0
		       ? -errno
		       : 0;
}

static int look_at(struct walk *walk, const char *name)
{
	struct level *level = &walk->levels[walk->n_levels - 1];
	struct stat st;
	char *copy;
	int r;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	if (fstatat(walk->directory, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISREG(st.st_mode)) {
		r = clear_file(walk->directory, name, &st);
		/* Another user's file, which the command has not made. */
		return r == -EPERM && st.st_uid != geteuid() ? 0 : r;
	}
	if (!S_ISDIR(st.st_mode))
		return 0;
	copy = strdup(name);
	r = copy ? ARRAY_ADD(level->names, level->n_names, &copy) : -ENOMEM;
	if (r < 0)
		free(copy);
	return r;
}

static void look_through(struct walk *walk)
{
	_cleanup_closedir_ DIR *dir = fd_open_dir(walk->directory);
	const struct dirent *item;

	if (!dir) {
		note(walk, -errno);
		return;
	}
	while ((errno = 0, item = readdir(dir)))
		note(walk, look_at(walk, item->d_name));
	note(walk, -errno);
}

/* Enters the directory @name in @parent, for its owner also if its mode does not permit that. */
static int enter(struct walk *walk, int parent, const char *name)
{
	struct level level = { .n_names = 0 };
	_cleanup_close_ int directory = path_open_own(parent, name, &level.st);
	int r;

	if (directory < 0)
		return directory;
	if (!S_ISDIR(level.st.st_mode))
		return -ENOTDIR;
	r = ARRAY_ADD(walk->levels, walk->n_levels, &level);
	if (r < 0) {
		restore_mode(directory, &level.st);
		return r;
	}
	close_fd(&walk->directory);
	walk->directory = take_fd(&directory);
	look_through(walk);
	return 0;
}

static int open_above(const struct walk *walk)
{
	const struct stat *expected = &walk->levels[walk->n_levels - 2].st;
	_cleanup_close_ int above =
		openat(walk->directory, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (above < 0 || fstat(above, &st) < 0)
		return -errno;
	return st.st_dev == expected->st_dev && st.st_ino == expected->st_ino ? take_fd(&above)
									      : -ESTALE;
}

/* Gives the directory its mode again; false if it was the top, or cannot be left. */
static bool leave(struct walk *walk)
{
	struct level *level = &walk->levels[walk->n_levels - 1];
	int above = walk->n_levels > 1 ? open_above(walk) : -EBADF;

	restore_mode(walk->directory, &level->st);
	close_fd(&walk->directory);
	walk->directory = above;
	level_deinit(level);
	if (--walk->n_levels > 0 && above < 0)
		note(walk, above);
	return above >= 0;
}

/* Enters the next directory in the current one; false if there is none left. */
static bool enter_next(struct walk *walk)
{
	struct level *level = &walk->levels[walk->n_levels - 1];
	char *name = level->n_names > 0 ? level->names[--level->n_names] : NULL;

	if (!name)
		return false;
	note(walk, enter(walk, walk->directory, name));
	free(name);
	return true;
}

int directory_drop_privileges(int parent, const char *name)
{
	_cleanup_(walk_deinit) struct walk walk = { .directory = -EBADF };
	struct stat st;
	int r;

	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	/* Its owner alone can exchange it for another one. */
	if (st.st_uid != geteuid())
		return -EPERM;
	r = enter(&walk, parent, name);
	if (r < 0)
		return r;
	while (enter_next(&walk) || leave(&walk))
		;
	return walk.first_failure;
}
