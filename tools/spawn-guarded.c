/* SPDX-License-Identifier: MIT */

/*
 * The guarded paths of this start: determined before the plan, which protects them, and created if
 * the command could create them
 *
 * A missing directory cannot be covered by a mount: the command could create it and put a policy or
 * state into it that is read outside. So the caller's own ones are created first, empty and with
 * mode 0700, as the tools that use them would create them.
 */

#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"

/* The path of an open file, if it has one. */
static const char *name_of_fd(struct spawn_run *run, int fd)
{
	char link[32], path[PATH_MAX];
	struct stat named, open;
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return NULL;
	path[n] = '\0';
	if (path[0] != '/' || stat(path, &named) < 0 || fstat(fd, &open) < 0 ||
	    named.st_dev != open.st_dev || named.st_ino != open.st_ino)
		return NULL;
	return arena_copy(&run->arena, path, (size_t)n);
}

int spawn_find_guarded(struct spawn_run *run, struct sbx_error *err)
{
	const struct spawn_values *values = run->values;
	const char *const policies[] = {
		values->policy, values->policy_fd < 0 ? NULL : name_of_fd(run, values->policy_fd)
	};
	int r = guarded_find(environ, geteuid(), policies, N_ELEMENTS(policies), &run->arena,
			     &run->guarded);

	if (r < 0)
		return sbx_error_what(err, r,
				      "cannot find the files of sbx that are to be protected");
	run->request.guarded = &run->guarded;
	return 0;
}

int spawn_find_credentials(struct spawn_run *run, struct sbx_error *err)
{
	int r = credentials_find(environ, geteuid(), &run->arena, &run->credentials, err);

	run->request.credentials = &run->credentials;
	return r;
}

/* Links of root are followed, as inside. A new directory gets the owner of its parent, also if root
 * creates it in another user's home. */
static int enter(int parent, const char *name)
{
	struct stat status;
	_cleanup_close_ int fd = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	bool is_new = fd < 0 && errno == ENOENT && mkdirat(parent, name, 0700) == 0;

	if (is_new)
		fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (is_new && geteuid() == 0 &&
	    (fstat(parent, &status) < 0 || fchown(fd, status.st_uid, status.st_gid) < 0))
		return -errno;
	if (fstat(fd, &status) < 0)
		return -errno;
	if (S_ISDIR(status.st_mode))
		return take_fd(&fd);
	if (!S_ISLNK(status.st_mode) || status.st_uid != 0)
		return S_ISLNK(status.st_mode) ? -ELOOP : -ENOTDIR;
	close_fd(&fd);
	fd = openat(parent, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : take_fd(&fd);
}

static int make(const char *path)
{
	_cleanup_close_ int directory = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (const char *at = path; directory >= 0 && *at;) {
		char name[NAME_MAX + 1];
		size_t n = strcspn(++at, "/");
		int next;

		if (n == 0 || n > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, at, n);
		name[n] = '\0';
		next = enter(directory, name);
		if (next < 0)
			return next;
		close_fd(&directory);
		directory = next;
		at += n;
	}
	return directory < 0 ? -errno : 0;
}

int spawn_make_guarded(const struct spawn_run *run, const char *const *paths, struct sbx_error *err)
{
	if (run->values->dry_run || run->values->print_plan)
		return 0;
	for (; *paths; paths++) {
		int r = make(*paths);

		if (r == 0)
			continue;
		(void)sbx_error_what(err, r, "cannot make '%s'", *paths);
		sbx_error_why(
			err,
			"%s, and the command could create it in a directory that it may write to",
			strerror(-r));
		sbx_error_fix(err, "create it, or allow writing to a narrower directory");
		return r;
	}
	return 0;
}
