/* SPDX-License-Identifier: MIT */

/*
 * The type of the file at a path, and the links in the path
 *
 * The kernel resolves a path without following links; so if there is none, which is the normal
 * case, one openat2() and one fstat() of the same file are sufficient. Links are followed here, and
 * only if root owns them: the owner of a link decides where it leads, and another user's link could
 * redirect a grant to any file. The result is only information: the path is opened again, without
 * links, when the sandbox is built.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "kernel/probe-internal.h"
#include "kernel/probe.h"

#define FOLLOWED_MAX 40	   /* per path, as in the kernel */
#define UID_UNMAPPED 65534 /* overflow uid, shown for unmapped owners */

/* Returned by the functions below if @ret is complete. */
#define ENDED 1

/*
 * Hundreds of credentials are asked for in one home, and most of them are missing. So a directory
 * in which a second path is asked for is opened once, and one fstatat() each answers for the names
 * in it: less than a third of the time of openat2(), fstat() and close().
 */
#define N_PARENTS 4

struct parent {
	char path[PATH_MAX]; /* "" if unused */
	int fd;		     /* -EAGAIN: not opened yet; or another negative errno */
};

struct parents {
	struct parent rows[N_PARENTS];
	size_t n_replaced;
	/* The last directory that was found missing, or "". The home of a user need not exist, and
	 * the paths in it are asked for one after the other. */
	char missing[PATH_MAX];
};

/* The resolution of one path: links in @path are replaced by their targets one by one. */
struct walk {
	struct place_search *search;
	char path[PATH_MAX];
	unsigned n_followed;
};

static int settle(struct walk *walk, struct host_path *ret);

static int end(const struct walk *walk, enum host_path_kind kind, const char *real,
	       struct host_path *ret)
{
	ret->kind = kind;
	ret->real = strcmp(real, ret->path) == 0
			    ? ret->path
			    : arena_copy(walk->search->arena, real, strlen(real));
	return ret->real ? ENDED : -ENOMEM;
}

/* A line of uid_map: first uid inside, first uid outside, count. */
static bool has_root(struct place_search *search)
{
	char map[4096];

	if (search->has_root < 0) {
		search->has_root = 1;
		if (probe_read(AT_FDCWD, "/proc/self/uid_map", map, sizeof(map)) >= 0) {
			search->has_root = 0;
			for (char *line = map; line; line = strchr(line, '\n')) {
				line += strspn(line, " \n");
				search->has_root |= strncmp(line, "0 ", 2) == 0;
			}
		}
	}
	return search->has_root;
}

/* Only the owner of "/" can create a link in it, so the owner of the link is not checked. */
static bool is_in_root(const char *path)
{
	return strrchr(path, '/') == path;
}

/* Directories in which only the system and its administrator create links, because no command can
 * write there. */
static bool is_of_system(const char *path)
{
	static const char *const trees[] = { "/usr/", "/etc/" };

	for (size_t i = 0; i < N_ELEMENTS(trees); i++)
		if (strncmp(path, trees[i], strlen(trees[i])) == 0)
			return true;
	return is_in_root(path) || (strncmp(path, "/var/", 5) == 0 && !strchr(path + 5, '/'));
}

/*
 * Is a link trusted like one of root's? In a user namespace without uid 0 root's files show the
 * overflow uid. Files that a sandbox of root creates belong to root: a command with write access to
 * DIR could make DIR/out a link to any directory, for the next run with --write DIR/out. So root's
 * sandboxes follow only links in the system's directories.
 */
static bool is_trusted(struct place_search *search, const char *path, uid_t owner)
{
	if (owner == 0 && geteuid() == 0)
		return is_of_system(path);
	return owner == 0 || is_in_root(path) || (owner == UID_UNMAPPED && !has_root(search));
}

/* The cached link that is @path or a part of it; or NULL. */
static const struct host_link *find_known(const struct place_search *search, const char *path)
{
	const struct host_link *links = search->links.rows;

	for (size_t i = 0; i < search->links.n_rows; i++)
		if (path_is_at_or_below(path, links[i].path))
			return &links[i];
	return NULL;
}

/* Could the command rename what is at @path in @folder, in a writable mount? The owner of a
 * directory can change its mode first. To root's command root's files are its own. */
static bool is_movable(const char *folder, const char *path)
{
	struct stat around, own;

	if (stat(folder, &around) < 0 || lstat(path, &own) < 0)
		return false;
	if (geteuid() == 0 || around.st_uid == geteuid())
		return true;
	if ((around.st_mode & S_ISVTX) && own.st_uid != geteuid())
		return false;
	return faccessat(AT_FDCWD, folder, W_OK, AT_EACCESS) == 0;
}

/* host_link.n_movable of @path. */
static size_t find_movable(const char *path)
{
	char folder[PATH_MAX], at[PATH_MAX];
	size_t n = strlen(path);

	if (n >= sizeof(at))
		return 0;
	memcpy(at, path, n + 1);
	memcpy(folder, path, n + 1);
	for (char *slash; (slash = strrchr(folder, '/')) != folder; at[slash - folder] = '\0') {
		*slash = '\0';
		if (is_movable(folder, at))
			return strlen(at);
	}
	return 0;
}

static int remember(struct place_search *search, const char *path, const char *target)
{
	struct host_link link = {
		.path = arena_copy(search->arena, path, strlen(path)),
		.target = arena_copy(search->arena, target, strlen(target)),
		.n_movable = find_movable(path),
	};
	struct host_link *at = arena_add_row(search->arena, &search->links, sizeof(*at));

	if (!link.path || !link.target || !at)
		return -ENOMEM;
	for (; (void *)at != search->links.rows && strcmp(at[-1].path, path) > 0; at--)
		at[0] = at[-1];
	*at = link;
	return 0;
}

/*
 * Reads the link at @path, which is @name in @dirfd, or with "" @dirfd itself. 0: it is cached now.
 */
static int read_target(struct walk *walk, int dirfd, const char *name, const char *path)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(dirfd, name, target, sizeof(target));

	if (n < 0 || (size_t)n == sizeof(target))
		return n < 0 ? -errno : -ENAMETOOLONG;
	target[n] = '\0';
	return remember(walk->search, path, target);
}

/* @fd is the link at @path. 0: it is cached now. */
static int learn(struct walk *walk, int fd, const struct stat *status, const char *path,
		 struct host_path *ret)
{
	if (!walk->search->follows_all && !is_trusted(walk->search, path, status->st_uid)) {
		ret->uid = status->st_uid;
		ret->gid = status->st_gid;
		ret->mode = status->st_mode;
		return end(walk, HOST_LINK_REFUSED, path, ret);
	}
	return read_target(walk, fd, "", path);
}

/* A component before the last is a link: reads the first one. */
static int learn_on_the_way(struct walk *walk, struct host_path *ret)
{
	for (char *slash = walk->path; (slash = strchr(slash + 1, '/'));) {
		_cleanup_close_ int fd = -EBADF;
		struct stat status;
		int r;

		*slash = '\0';
		fd = path_open_no_links(AT_FDCWD, walk->path, O_PATH | O_NOFOLLOW);
		r = fd < 0 ? fd : fstat(fd, &status) < 0 ? -errno : 0;
		if (r == 0 && S_ISLNK(status.st_mode))
			r = learn(walk, fd, &status, walk->path, ret);
		else if (r == 0)
			r = -EAGAIN;
		*slash = '/';
		if (r != -EAGAIN)
			return r;
	}
	/* The link was removed meanwhile; if it comes back, opening the path fails when the sandbox
	 * is built. */
	return end(walk, HOST_MISSING, walk->path, ret);
}

static int push(char *path, const char *component, size_t n)
{
	size_t len = strlen(path);

	len = len == 1 ? 0 : len;
	if (len + 1 + n >= PATH_MAX)
		return -ENAMETOOLONG;
	path[len] = '/';
	memcpy(path + len + 1, component, n);
	path[len + 1 + n] = '\0';
	return 0;
}

static void pop(char *path)
{
	char *slash = strrchr(path, '/');

	slash[slash == path] = '\0';
}

static bool has_ended_at_file(int r, const struct host_path *ret)
{
	return r == ENDED && ret->kind > HOST_MISSING && ret->kind < HOST_LINK_REFUSED &&
	       ret->kind != HOST_DIRECTORY;
}

/* Appends the target of a link to the directory that contains it. */
static int push_target(struct walk *walk, const char *target, struct host_path *ret)
{
	bool is_settled = true;
	int r = 0;

	for (size_t n; r == 0 && *target; target += n) {
		target += strspn(target, "/");
		n = strcspn(target, "/");

		bool is_up = n == 2 && memcmp(target, "..", 2) == 0;

		if (!is_up && n > 0 && (n != 1 || *target != '.')) {
			r = push(walk->path, target, n);
			is_settled = false;
			continue;
		}
		/* ".." is the parent of the link's target, not of the link. */
		r = is_settled ? 0 : settle(walk, ret);
		/* The kernel refuses "..", "." and a slash after a file: it must not be taken for
		 * what the path leads to. */
		if (has_ended_at_file(r, ret))
			return end(walk, HOST_MISSING, ret->path[0] ? ret->path : walk->path, ret);
		if (r < 0 || (is_up && r == ENDED && ret->kind != HOST_DIRECTORY))
			return r;
		r = 0;
		is_settled |= is_up;
		if (is_up)
			pop(walk->path);
	}
	return r;
}

static int follow(struct walk *walk, const struct host_link *link, struct host_path *ret)
{
	size_t n = strlen(link->path);
	const char *rest;
	int r;

	if (++walk->n_followed > FOLLOWED_MAX)
		return end(walk, HOST_MISSING, walk->path, ret);
	/* Links in links are followed recursively, and the stack may be small. */
	rest = arena_copy(walk->search->arena, walk->path + n, strlen(walk->path + n));
	if (!rest)
		return -ENOMEM;
	if (link->target[0] == '/')
		n = 1;
	walk->path[n] = '\0';
	if (link->target[0] != '/')
		pop(walk->path);
	r = push_target(walk, link->target, ret);
	if (r != 0 || rest[0] == '\0')
		return r;
	return push(walk->path, rest + 1, strlen(rest + 1));
}

static enum host_path_kind kind_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return HOST_FILE;
	case S_IFDIR:
		return HOST_DIRECTORY;
	case S_IFSOCK:
		return HOST_SOCKET;
	case S_IFCHR:
	case S_IFBLK:
		return HOST_DEVICE;
	default:
		return HOST_OTHER;
	}
}

/* The owner of the first directory of the path that the caller may not search; the caller's uid if
 * that cannot be determined. */
static uid_t find_owner_of_closed(const char *path)
{
	char prefix[PATH_MAX];
	struct stat status;

	for (const char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		size_t n = (size_t)(at - path);

		if (n >= sizeof(prefix))
			break;
		memcpy(prefix, path, n);
		prefix[n] = '\0';
		if (lstat(prefix, &status) < 0)
			break;
		if (faccessat(AT_FDCWD, prefix, X_OK, AT_EACCESS) < 0 && errno == EACCES)
			return status.st_uid;
	}
	return geteuid();
}

static struct parent *find_parent(struct parents *parents, const char *path, size_t len)
{
	for (size_t i = 0; i < N_PARENTS; i++)
		if (strncmp(parents->rows[i].path, path, len) == 0 &&
		    parents->rows[i].path[len] == '\0')
			return &parents->rows[i];
	return NULL;
}

static void add_parent(struct parents *parents, const char *path, size_t len)
{
	struct parent *parent = &parents->rows[parents->n_replaced++ % N_PARENTS];

	if (parent->fd >= 0)
		close_fd(&parent->fd);
	memcpy(parent->path, path, len);
	parent->path[len] = '\0';
	parent->fd = -EAGAIN;
}

static void close_parents(struct parents *parents)
{
	for (size_t i = 0; i < N_PARENTS; i++)
		close_fd(&parents->rows[i].fd);
}

static int end_at(const struct walk *walk, const struct stat *status, struct host_path *ret)
{
	ret->uid = status->st_uid;
	ret->gid = status->st_gid;
	ret->mode = status->st_mode;
	ret->n_links = status->st_nlink;
	ret->size_bytes = (uint64_t)status->st_size;
	return end(walk, kind_of(status->st_mode), walk->path, ret);
}

/* -EAGAIN: look() has to open the path itself. */
static int look_in_parent(struct walk *walk, struct host_path *ret)
{
	struct parents *parents = walk->search->parents;
	size_t len = (size_t)(strrchr(walk->path, '/') - walk->path);
	struct parent *parent = parents ? find_parent(parents, walk->path, len) : NULL;
	struct stat status;

	if (parents && parents->missing[0] && path_is_at_or_below(walk->path, parents->missing))
		return end(walk, HOST_MISSING, walk->path, ret);
	if (parents && !parent)
		add_parent(parents, walk->path, len);
	if (!parent)
		return -EAGAIN;
	if (parent->fd == -EAGAIN)
		parent->fd = path_open_no_links(AT_FDCWD, parent->path, O_PATH | O_DIRECTORY);
	if (parent->fd == -ENOENT)
		memcpy(parents->missing, parent->path, len + 1);
	if (parent->fd == -ENOENT || parent->fd == -ENOTDIR)
		return end(walk, HOST_MISSING, walk->path, ret);
	if (parent->fd < 0)
		return -EAGAIN;
	if (fstatat(parent->fd, walk->path + len + 1, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? end(walk, HOST_MISSING, walk->path, ret) : -EAGAIN;
	return S_ISLNK(status.st_mode) ? -EAGAIN : end_at(walk, &status, ret);
}

static int look(struct walk *walk, struct host_path *ret)
{
	_cleanup_close_ int fd = -EBADF;
	struct stat status;
	int r;

	/* Most paths in "/" that plans ask for are links, such as /bin and /lib64. */
	if (is_in_root(walk->path) && read_target(walk, AT_FDCWD, walk->path, walk->path) == 0)
		return 0;
	r = is_in_root(walk->path) ? -EAGAIN : look_in_parent(walk, ret);
	if (r != -EAGAIN)
		return r;
	fd = path_open_no_links(AT_FDCWD, walk->path, O_PATH | O_NOFOLLOW);
	switch (fd) {
	case -ELOOP:
		return learn_on_the_way(walk, ret);
	case -ENOENT:
	case -ENOTDIR:
	case -ENAMETOOLONG:
		return end(walk, HOST_MISSING, walk->path, ret);
	case -EACCES:
		ret->uid = find_owner_of_closed(walk->path);
		return end(walk, HOST_UNREACHABLE, walk->path, ret);
	default:
		break;
	}
	if (fd < 0 || fstat(fd, &status) < 0)
		return fd < 0 ? fd : -errno;
	if (S_ISLNK(status.st_mode))
		return learn(walk, fd, &status, walk->path, ret);
	return end_at(walk, &status, ret);
}

/* Continues until the path contains no more links, or cannot be resolved. */
static int settle(struct walk *walk, struct host_path *ret)
{
	int r = 0;

	while (r == 0) {
		const struct host_link *known = find_known(walk->search, walk->path);

		r = known ? follow(walk, known, ret) : look(walk, ret);
	}
	return r;
}

int probe_place(struct place_search *search, const char *path, struct host_path *ret,
		struct sbx_error *err)
{
	struct walk walk = { .search = search };
	struct host_path found = { .path = path };
	int r = -EINVAL;

	if (path_is_normal(path)) {
		memcpy(walk.path, path, strlen(path) + 1);
		r = settle(&walk, &found);
	}
	if (r < 0) {
		(void)sbx_error_what(err, r, "cannot look at '%s'", path);
		if (r == -EPERM)
			error_explain(err, "the system call openat2() is refused",
				      "in a container, let its filter allow openat2");
		return r;
	}
	*ret = found;
	return 0;
}

int probe_place_from(struct place_search *search, const char *directory, const char *text,
		     struct host_path *ret)
{
	struct walk walk = { .search = search };
	struct host_path found = { .path = "" };
	int r;

	if (text[0] == '/')
		directory = "/";
	memcpy(walk.path, directory, strlen(directory) + 1);
	r = push_target(&walk, text, &found);
	if (r == 0)
		r = settle(&walk, &found);
	if (r < 0)
		return r;
	found.path = found.real;
	*ret = found;
	return 0;
}

static int compare_place(const void *a, const void *b)
{
	return strcmp(((const struct host_path *)a)->path, ((const struct host_path *)b)->path);
}

/* The target of a refused link, as an additional path without links in *@ret. 1, 0 if it does not
 * exist, or negative errno. */
static int follow_refused(struct place_search *search, struct host_path *place,
			  struct host_path *ret, struct sbx_error *err)
{
	struct place_search all = { .arena = search->arena,
				    .follows_all = true,
				    .has_root = search->has_root };
	struct host_path found;
	int r;

	if (place->kind != HOST_LINK_REFUSED)
		return 0;
	r = probe_place(&all, place->path, &found, err);
	if (r < 0 || found.kind == HOST_MISSING || found.kind == HOST_UNREACHABLE)
		return r;
	place->leads_to = found.real;
	*ret = found;
	ret->path = found.real;
	return 1;
}

/* probe_places(), which has set search->parents. */
static int probe_all(struct place_search *search, const char *const *paths, struct host *ret,
		     struct sbx_error *err)
{
	bool is_sorted = true;
	struct host_path *places;
	size_t n = 0, n_places;

	while (paths && paths[n])
		n++;
	n_places = n;
	places = arena_alloc(search->arena, (2 * n + 1) * sizeof(*places));
	if (!places)
		return sbx_error_what(err, -ENOMEM, "cannot look at %zu paths", n);
	for (size_t i = 0; i < n; i++) {
		int r = probe_place(search, paths[i], &places[i], err);

		if (r >= 0)
			r = follow_refused(search, &places[i], &places[n_places], err);
		if (r < 0)
			return r;
		is_sorted = is_sorted && r == 0 &&
			    (i == 0 || compare_place(&places[i - 1], &places[i]) < 0);
		n_places += (size_t)r;
	}
	if (!is_sorted)
		qsort(places, n_places, sizeof(*places), compare_place);
	ret->paths = places;
	ret->n_paths = n_places;
	ret->links = search->links.rows;
	ret->n_links = search->links.n_rows;
	return 0;
}

int probe_places(struct place_search *search, const char *const *paths, struct host *ret,
		 struct sbx_error *err)
{
	struct parents parents;
	int r;

	parents.n_replaced = 0;
	parents.missing[0] = '\0';
	for (size_t i = 0; i < N_PARENTS; i++) {
		parents.rows[i].path[0] = '\0';
		parents.rows[i].fd = -EBADF;
	}
	search->parents = &parents;
	r = probe_all(search, paths, ret, err);
	search->parents = NULL;
	close_parents(&parents);
	return r;
}

static int refuse_link(const struct host_path *place, const char *option, struct sbx_error *err)
{
	(void)sbx_error_what(err, -ELOOP, "cannot follow the link '%.300s'", place->real);
	sbx_error_why(err,
		      "%s leads through it, and its owner (uid %u) could change where it leads",
		      option, place->uid);
	if (place->leads_to)
		sbx_error_fix(err, "name '%.300s', where it leads now", place->leads_to);
	else
		sbx_error_fix(err, "name the directory that it leads to");
	return -ELOOP;
}

int host_open_directory(const char *option, const char *path, struct arena *arena,
			const char **ret_real, struct sbx_error *err)
{
	struct place_search search = { .arena = arena, .has_root = -1 };
	struct host_path place, target;
	int r = probe_place(&search, path, &place, err), fd;

	if (r == 0)
		r = follow_refused(&search, &place, &target, err);
	if (r < 0)
		return r;
	if (place.kind == HOST_LINK_REFUSED)
		return refuse_link(&place, option, err);
	/* A link that has been created since is refused by the kernel. */
	fd = path_open_no_links(AT_FDCWD, place.real, O_RDONLY | O_DIRECTORY);
	if (fd < 0) {
		(void)sbx_error_what(err, fd, "cannot open the directory '%.300s' of %s",
				     place.real, option);
		sbx_error_fix(err, "%sname another with %s", fd == -ENOENT ? "create it, or " : "",
			      option);
		return fd;
	}
	*ret_real = place.real;
	return fd;
}
