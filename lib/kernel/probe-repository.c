/* SPDX-License-Identifier: MIT */

/*
 * The paths in writable directories from which git takes programs
 *
 * A command that can change a repository controls what git executes outside: by hooks and
 * configuration, by "commondir", or by breaking ".git", after which git tries the parent directory
 * as a repository. So a repository is protected as a whole, and so are the paths in the worktree
 * that its configuration names, the directories of its submodules and the ".git" of its worktrees.
 * The command could create a path that is missing, so the plan refuses it.
 *
 * The entries (".git", a directory or a file) are a queue: each one adds its own names, and appends
 * the entries of its submodules and worktrees.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "kernel/probe-internal.h"
#include "kernel/probe-scan.h"
#include "kernel/probe.h"

/* Limit of subdirectories of one writable directory, and of all repositories. */
#define ENTRIES_MAX 4096

int scan_give_up(struct scan *scan, const char *path, const char *why, const char *fix)
{
	if (!scan->host->git_unclear) {
		scan->host->git_unclear = path;
		scan->host->git_unclear_why = why;
		scan->host->git_unclear_fix = fix;
	}
	return 0;
}

int scan_add_name(struct scan *scan, const struct host_path *name)
{
	struct host_path *row = arena_add_row(scan->search->arena, &scan->names, sizeof(*row));

	if (!row)
		return -ENOMEM;
	*row = *name;
	row->path = name->real;
	return 0;
}

/* Queues the ".git" at @path, unless it was queued before. */
static int scan_add_entry(struct scan *scan, const char *path)
{
	struct entry *entry;

	for (entry = scan->first; entry; entry = entry->next)
		if (strcmp(entry->path, path) == 0)
			return 0;
	if (++scan->n_entries > ENTRIES_MAX)
		return scan_give_up(scan, path, "there are more than 4096 repositories",
				    "grant fewer directories, or use --out instead of --write");
	entry = arena_alloc(scan->search->arena, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	*entry = (struct entry){ .path = path };
	*scan->last = entry;
	scan->last = &entry->next;
	return 0;
}

/* The parent directory of @path, which is canonical. */
const char *scan_around(struct scan *scan, const char *path)
{
	size_t n = (size_t)(path_last(path) - path);

	return arena_copy(scan->search->arena, path, n > 1 ? n - 1 : n);
}

/*
 * Resolves @text relative to @directory. Git outside follows any link, so links are followed here;
 * but a process that can replace a link controls the result, so each link in the path is added as a
 * name.
 */
int scan_look(struct scan *scan, const char *directory, const char *text, struct host_path *ret)
{
	struct place_search way = {
		.arena = scan->search->arena,
		.has_root = 1,
		.follows_all = true,
	};
	const struct host_link *links;
	int r = probe_place_from(&way, directory, text, ret);

	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		*ret = (struct host_path){ .kind = HOST_MISSING,
					   .path = directory,
					   .real = directory };
		return scan_give_up(scan, directory, "it names a path that does not exist",
				    SCAN_FIX_CONFIG);
	}
	links = way.links.rows;
	for (size_t i = 0; i < way.links.n_rows && r == 0; i++) {
		const struct host_path link = { .real = links[i].path, .kind = HOST_LINK_REFUSED };

		r = scan_add_name(scan, &link);
	}
	return r;
}

int scan_look_and_add(struct scan *scan, const char *directory, const char *text,
		      struct host_path *ret)
{
	int r = scan_look(scan, directory, text, ret);

	return r < 0 ? r : scan_add_name(scan, ret);
}

#define POINTER "gitdir: "
#define POINTER_MAX (PATH_MAX + sizeof(POINTER))

/* The text after @prefix in the file @directory/@name; NULL if there is none. */
static const char *read_after(const char *directory, const char *name, const char *prefix,
			      char text[POINTER_MAX])
{
	char path[PATH_MAX + NAME_MAX + 2];
	size_t n = strlen(prefix);
	int len = snprintf(path, sizeof(path), "%s/%s", directory, name);

	if (len < 0 || (size_t)len >= sizeof(path) ||
	    probe_read(AT_FDCWD, path, text, POINTER_MAX) <= (int)n ||
	    strncmp(text, prefix, n) != 0)
		return NULL;
	return text + n;
}

/* Resolves the path after @prefix in the file @directory/@name. 1; 0 if there is none. */
static int read_pointer(struct scan *scan, const char *directory, const char *name,
			const char *prefix, struct host_path *ret)
{
	char text[POINTER_MAX];
	const char *path = read_after(directory, name, prefix, text);
	int r = path ? scan_look(scan, directory, path, ret) : 0;

	return r < 0 || !path ? r : 1;
}

/* The directory belongs to another user and the caller may not search it: the command, with the
 * caller's uid, can neither enter it nor chmod it. */
static bool scan_is_closed(const char *directory)
{
	struct stat status;

	return lstat(directory, &status) == 0 && status.st_uid != geteuid() &&
	       faccessat(AT_FDCWD, directory, X_OK, AT_EACCESS) < 0 && errno == EACCES;
}

typedef int scan_name_fn(struct scan *scan, const char *directory, const char *name);
/* Calls @fn for each directory in @directory; 0 if @directory does not exist. */
static int scan_each_directory(struct scan *scan, const char *directory, scan_name_fn *fn)
{
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	unsigned n = 0;
	int r = 0;

	if (!dir && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (!dir) {
		close_fd(&fd);
		if (scan_is_closed(directory))
			return 0;
		return scan_give_up(scan, directory, "it cannot be read",
				    "make it readable (chmod u+rx), or use --out instead of "
				    "--write");
	}
	while (r == 0 && (entry = readdir(dir))) {
		const char *name = entry->d_name;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
		    (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN))
			continue;
		if (++n > ENTRIES_MAX)
			return scan_give_up(scan, directory,
					    "it has more than 4096 directories, and each may be a "
					    "repository",
					    "grant those that are needed, or use --out instead of "
					    "--write");
		r = fn(scan, directory, name);
	}
	return r;
}

static int scan_worktree(struct scan *scan, const char *directory, const char *name)
{
	const char *own = probe_join(scan->search->arena, directory, name);
	struct host_path place;
	int r = own ? read_pointer(scan, own, "gitdir", "", &place) : -ENOMEM;

	return r <= 0 || place.kind == HOST_MISSING ? r : scan_add_entry(scan, place.real);
}

struct submodules {
	struct scan *scan;
	const char *top;
};

static int take_submodule(void *context, const char *name, const char *value)
{
	static const char first[] = "submodule.", last[] = ".path";
	const struct submodules *submodules = context;
	size_t n = strlen(name);
	struct host_path place;
	const char *entry;
	int r;

	if (!value || n < sizeof(first) + sizeof(last) - 2 ||
	    strncmp(name, first, sizeof(first) - 1) != 0 ||
	    strcmp(name + n - sizeof(last) + 1, last) != 0)
		return 0;
	r = scan_look_and_add(submodules->scan, submodules->top, value, &place);
	if (r < 0 || place.kind == HOST_MISSING)
		return r;
	entry = probe_join(submodules->scan->search->arena, place.real, ".git");
	return entry ? scan_add_entry(submodules->scan, entry) : -ENOMEM;
}

static int scan_submodules(struct scan *scan, const char *top)
{
	struct submodules submodules = { .scan = scan, .top = top };
	struct host_path place;
	int r = scan_look(scan, top, ".gitmodules", &place);

	if (r < 0 || place.kind == HOST_MISSING)
		return r;
	r = scan_add_name(scan, &place);
	return r < 0 ? r : scan_read_file(scan, place.real, take_submodule, &submodules);
}

/* The target of a symbolic link in a repository may be outside the directory that is mounted
 * read-only. */
static int scan_links(struct scan *scan, const char *directory)
{
	static const char *const essential[] = { "HEAD",	"commondir", "config",
						 "hooks",	"modules",   "objects",
						 "packed-refs", "refs",	     "worktrees" };
	struct host_path place;
	int r = 0;

	for (size_t i = 0; i < N_ELEMENTS(essential) && r == 0; i++) {
		const char *path = probe_join(scan->search->arena, directory, essential[i]);
		struct stat status;

		if (!path)
			return -ENOMEM;
		if (fstatat(AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISLNK(status.st_mode))
			r = scan_look_and_add(scan, directory, essential[i], &place);
	}
	return r;
}

/* @directory is the git directory, and @top the worktree, or for a bare repository the same
 * directory. */
static int scan_repository(struct scan *scan, const char *top, const char *directory)
{
	struct host_path common = { .real = directory }, own;
	const char *worktrees, *worktree = top;
	int r = read_pointer(scan, directory, "commondir", "", &common);

	if (r > 0)
		r = scan_add_name(scan, &common);
	/* Relative paths begin elsewhere in the main worktree. */
	if (r == 0 && common.real != directory && strcmp(path_last(common.real), ".git") == 0)
		r = scan_add_entry(scan, common.real);
	if (r < 0)
		return r;
	/* The directory of a linked worktree is inside the common directory, which is added
	 * already. */
	if (common.real == directory || !path_is_beneath(directory, common.real)) {
		r = scan_look_and_add(scan, directory, ".", &own);
		if (r < 0)
			return r;
	}
	r = scan_links(scan, directory);
	if (r < 0)
		return r;
	r = scan_configuration(scan, &worktree, directory, common.real);
	if (r < 0)
		return r;
	worktrees = probe_join(scan->search->arena, common.real, "worktrees");
	if (!worktrees)
		return -ENOMEM;
	r = scan_each_directory(scan, worktrees, scan_worktree);
	return r < 0 || worktree == directory ? r : scan_submodules(scan, worktree);
}

/* Scans the ".git" at @path, if it exists. */
static int scan_entry(struct scan *scan, const char *path)
{
	const char *top = scan_around(scan, path);
	struct host_path place, directory;
	int r = top ? scan_look(scan, top, path_last(path), &place) : -ENOMEM;

	if (r < 0 || place.kind == HOST_MISSING)
		return r;
	r = scan_add_name(scan, &place);
	if (r < 0 || place.kind == HOST_DIRECTORY)
		return r < 0 ? r : scan_repository(scan, top, place.real);
	r = read_pointer(scan, top, path_last(path), "gitdir: ", &directory);
	if (r <= 0)
		return r;
	return directory.kind == HOST_DIRECTORY ? scan_repository(scan, top, directory.real)
						: scan_add_name(scan, &directory);
}

/*
 * The repositories in and around the directories that a sandbox may write
 *
 * The repository of such a directory, one in a parent, whose configuration may name paths in the
 * directory, and one in each direct subdirectory. Deeper ones are not protected. If there are more
 * subdirectories than the limit, the start is refused: a command could have created them to hide a
 * repository from the next run.
 */

static bool has(int fd, const char *name)
{
	return faccessat(fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static unsigned signs_in(int fd)
{
	unsigned signs = has(fd, ".git") ? HOST_HAS_GIT : 0;

	if (!has(fd, "HEAD"))
		return signs;
	if (has(fd, "objects") && has(fd, "refs"))
		signs |= HOST_IS_REPOSITORY;
	return has(fd, "commondir") ? signs | HOST_HAS_COMMONDIR : signs;
}

unsigned host_find_signs(const char *directory)
{
	_cleanup_close_ int fd = open(directory, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? 0 : signs_in(fd);
}

/* The parts of a writable repository that stay read-only. */
static int add_kept(struct scan *scan, const char *directory, const char *const *names, size_t n,
		    size_t n_needed)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		struct host_path place;

		r = scan_look(scan, directory, names[i], &place);
		if (r == 0 && (place.kind != HOST_MISSING || i < n_needed))
			r = scan_add_name(scan, &place);
	}
	return r;
}

static int keep_of_worktree(struct scan *scan, const char *directory, const char *name)
{
	static const char *const names[] = { "gitdir", "commondir", "config.worktree" };
	const char *own = probe_join(scan->search->arena, directory, name);

	return own ? add_kept(scan, own, names, N_ELEMENTS(names), 0) : -ENOMEM;
}

static bool is_bare(const char *directory)
{
	return !strstr(directory, "/.git/") && strcmp(path_last(directory), ".git") != 0;
}

static int scan_granted_repository(struct scan *scan, const char *directory)
{
	static const char *const names[] = { "hooks", "config", "config.worktree", "commondir",
					     "modules" };
	const char *worktrees = probe_join(scan->search->arena, directory, "worktrees");
	int r = add_kept(scan, directory, names, N_ELEMENTS(names), 2);

	if (r == 0)
		r = worktrees ? scan_each_directory(scan, worktrees, keep_of_worktree) : -ENOMEM;
	/* A repository with a worktree is found by its ".git" as well. */
	return r < 0 || !is_bare(directory) ? r : scan_repository(scan, directory, directory);
}

static int scan_child(struct scan *scan, const char *directory, const char *name)
{
	const char *path = probe_join(scan->search->arena, directory, name), *entry;
	struct host_path child = { .kind = HOST_UNREACHABLE, .uid = geteuid() };
	struct stat status;

	entry = path ? probe_join(scan->search->arena, path, ".git") : NULL;
	if (!entry)
		return -ENOMEM;
	if (fstatat(AT_FDCWD, entry, &status, AT_SYMLINK_NOFOLLOW) == 0)
		return scan_add_entry(scan, entry);
	if (errno == EACCES && scan_is_closed(path))
		return 0;
	if (errno == EACCES) {
		/* The command has the same uid and could chmod the directory. */
		child.real = entry;
		return scan_add_name(scan, &child);
	}
	if (!(host_find_signs(path) & (HOST_IS_REPOSITORY | HOST_HAS_COMMONDIR)) ||
	    strcmp(name, ".git") == 0)
		return 0;
	return scan_repository(scan, path, path);
}

/* Includes repositories in parent directories, whose configuration may name paths below @directory.
 */
static int add_entries_around(struct scan *scan, const char *directory)
{
	const char *at = directory;
	int r = 0;

	for (;; at = scan_around(scan, at)) {
		const char *path = at ? probe_join(scan->search->arena, at, ".git") : NULL;
		struct stat status;

		if (!path)
			return -ENOMEM;
		if (fstatat(AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) == 0)
			r = scan_add_entry(scan, path);
		if (r < 0 || strcmp(at, "/") == 0)
			return r;
	}
}

/* Includes a broken repository, which a command could repair so that git uses it. */
static bool is_repository(const struct host_top *top)
{
	return (top->signs & (HOST_IS_REPOSITORY | HOST_HAS_COMMONDIR)) ||
	       strcmp(path_last(top->path), ".git") == 0;
}

/* Scans the directory @asked, for which the plan has asked for "@asked/.git". */
static int scan_top(struct scan *scan, const char *asked)
{
	struct host_top *top = &scan->host->tops[scan->host->n_tops];
	struct host_path place;
	int r = probe_place(scan->search, asked, &place, NULL);

	if (r < 0 || place.kind != HOST_DIRECTORY)
		return r == -ENOMEM ? r : 0;
	*top = (struct host_top){ .path = place.real, .signs = host_find_signs(place.real) };
	scan->host->n_tops++;
	r = add_entries_around(scan, place.real);
	if (r == 0 && is_repository(top))
		r = scan_granted_repository(scan, place.real);
	return r < 0 ? r : scan_each_directory(scan, place.real, scan_child);
}

int probe_repositories(struct place_search *search, struct host *ret)
{
	struct scan scan = { .search = search, .host = ret };
	int r = 0;

	ret->tops = arena_alloc(search->arena, (ret->n_paths + 1) * sizeof(*ret->tops));
	if (!ret->tops)
		return -ENOMEM;
	scan.last = &scan.first;
	for (size_t i = 0; i < ret->n_paths && r == 0; i++) {
		const char *asked = ret->paths[i].path;

		if (strcmp(path_last(asked), ".git") != 0)
			continue;
		asked = scan_around(&scan, asked);
		r = asked ? scan_top(&scan, asked) : -ENOMEM;
	}
	for (const struct entry *entry = scan.first; entry && r == 0; entry = entry->next)
		r = scan_entry(&scan, entry->path);
	ret->repository = scan.names.rows;
	ret->n_repository = scan.names.n_rows;
	return r;
}

/*
 * The repository of a project that is a linked worktree
 *
 * In a worktree ".git" is a file that names a directory elsewhere. A process that can write to the
 * project could put any path there, so it is not trusted alone: the directory must have the
 * structure of a git directory, the same owner, and refer back to this project, which only a
 * process with write access to that directory can have written.
 */

/* The ".git" in @project or in a parent; NULL if there is none. -ENOMEM. */
static int find_entry(struct arena *arena, const char *project, const char **ret,
		      struct stat *ret_status)
{
	char path[PATH_MAX + sizeof("/.git")];
	size_t n = strlen(project);

	memcpy(path, project, n + 1);
	for (;;) {
		n = n == 1 ? 0 : n;
		memcpy(path + n, "/.git", sizeof("/.git"));
		if (fstatat(AT_FDCWD, path, ret_status, AT_SYMLINK_NOFOLLOW) == 0) {
			*ret = arena_copy(arena, path, strlen(path));
			return *ret ? 0 : -ENOMEM;
		}
		if (n == 0)
			break;
		path[n] = '\0';
		n = (size_t)(strrchr(path, '/') - path);
	}
	*ret = NULL;
	return 0;
}

/* The same, without a scan. 0, or -ENOENT. */
static int find_pointed(struct place_search *search, const char *directory, const char *name,
			const char *prefix, struct host_path *ret)
{
	char text[POINTER_MAX];
	const char *path = read_after(directory, name, prefix, text);

	return path && probe_place_from(search, directory, path, ret) == 0 ? 0 : -ENOENT;
}

static bool has_shape(struct arena *arena, const char *common)
{
	const char *head = probe_join(arena, common, "HEAD");
	const char *objects = probe_join(arena, common, "objects");

	return head && objects && faccessat(AT_FDCWD, head, F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
	       faccessat(AT_FDCWD, objects, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/*
 * The ".git" of a worktree names COMMON/worktrees/NAME; commondir there contains "../..", and
 * gitdir there refers back to the ".git".
 */
static int find_common(struct place_search *search, const char *directory, const char *entry,
		       uid_t owner, const char **ret)
{
	struct host_path own = { .path = "" }, back = { .path = "" }, common = { .path = "" };
	size_t n;

	if (find_pointed(search, directory, ".git", POINTER, &own) < 0 ||
	    own.kind != HOST_DIRECTORY)
		return -ENOENT;
	if (find_pointed(search, own.real, "gitdir", "", &back) < 0 ||
	    strcmp(back.real, entry) != 0)
		return -ENOENT;
	if (find_pointed(search, own.real, "commondir", "", &common) < 0 ||
	    common.kind != HOST_DIRECTORY || common.uid != owner || own.uid != owner)
		return -ENOENT;
	n = strlen(common.real);
	if (strncmp(own.real, common.real, n) != 0 ||
	    strncmp(own.real + n, "/worktrees/", strlen("/worktrees/")) != 0 ||
	    strchr(own.real + n + strlen("/worktrees/"), '/') ||
	    !has_shape(search->arena, common.real))
		return -ENOENT;
	*ret = common.real;
	return 0;
}

int probe_git(struct place_search *search, const char *project, struct host *ret)
{
	struct stat status;
	const char *entry, *common;
	char *directory;
	int r = find_entry(search->arena, project, &entry, &status);

	if (r < 0 || !entry || !S_ISREG(status.st_mode))
		return r;
	directory = arena_copy(search->arena, entry, (size_t)(path_last(entry) - entry) - 1);
	if (!directory)
		return -ENOMEM;
	if (find_common(search, directory[0] ? directory : "/", entry, status.st_uid, &common) ==
		    0 &&
	    !path_is_beneath(common, project))
		ret->git_common = common;
	return 0;
}
