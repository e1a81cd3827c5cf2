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
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "kernel/probe-scan.h"

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
	if (scan->n == scan->n_room) {
		size_t n_room = scan->n_room ? scan->n_room * 2 : 8;
		struct host_path *names = arena_alloc(scan->search->arena, n_room * sizeof(*names));

		if (!names)
			return -ENOMEM;
		if (scan->n > 0)
			memcpy(names, scan->names, scan->n * sizeof(*names));
		scan->names = names;
		scan->n_room = n_room;
	}
	scan->names[scan->n] = *name;
	scan->names[scan->n++].path = name->real;
	return 0;
}

int scan_add_entry(struct scan *scan, const char *path)
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
 * Resolves @text relative to @folder. Git outside follows any link, so links are followed here; but
 * a process that can replace a link controls the result, so each link in the path is added as a
 * name.
 */
int scan_look(struct scan *scan, const char *folder, const char *text, struct host_path *ret)
{
	struct place_search way = {
		.arena = scan->search->arena,
		.has_root = 1,
		.follows_all = true,
	};
	int r = probe_place_from(&way, folder, text, ret);

	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		*ret = (struct host_path){ .kind = HOST_MISSING, .path = folder, .real = folder };
		return scan_give_up(scan, folder, "it names a path that does not exist",
				    SCAN_FIX_CONFIG);
	}
	for (size_t i = 0; i < way.n_links && r == 0; i++) {
		const struct host_path link = {
			.real = way.links[i].path,
			.kind = HOST_LINK_REFUSED,
		};

		r = scan_add_name(scan, &link);
	}
	return r;
}

int scan_look_and_add(struct scan *scan, const char *folder, const char *text,
		      struct host_path *ret)
{
	int r = scan_look(scan, folder, text, ret);

	return r < 0 ? r : scan_add_name(scan, ret);
}

/* Resolves the path after @prefix in the file @folder/@name. 1; 0 if there is none. */
static int read_pointer(struct scan *scan, const char *folder, const char *name, const char *prefix,
			struct host_path *ret)
{
	char path[PATH_MAX + NAME_MAX + 2], text[PATH_MAX + 16];
	size_t n = strlen(prefix);
	int len = snprintf(path, sizeof(path), "%s/%s", folder, name), r;

	if (len < 0 || (size_t)len >= sizeof(path) ||
	    probe_read(AT_FDCWD, path, text, sizeof(text)) <= (int)n ||
	    strncmp(text, prefix, n) != 0)
		return 0;
	r = scan_look(scan, folder, text + n, ret);
	return r < 0 ? r : 1;
}

bool scan_is_closed(const char *folder)
{
	struct stat status;

	return lstat(folder, &status) == 0 && status.st_uid != geteuid() &&
	       faccessat(AT_FDCWD, folder, X_OK, AT_EACCESS) < 0 && errno == EACCES;
}

int scan_each_folder(struct scan *scan, const char *folder, scan_name_fn *fn)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	unsigned n = 0;
	int r = 0;

	if (!dir && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (!dir) {
		close_fd(&fd);
		if (scan_is_closed(folder))
			return 0;
		return scan_give_up(scan, folder, "it cannot be read",
				    "make it readable (chmod u+rx), or use --out instead of "
				    "--write");
	}
	while (r == 0 && (entry = readdir(dir))) {
		const char *name = entry->d_name;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
		    (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN))
			continue;
		if (++n > ENTRIES_MAX)
			return scan_give_up(scan, folder,
					    "it has more than 4096 directories, and each may be a "
					    "repository",
					    "grant those that are needed, or use --out instead of "
					    "--write");
		r = fn(scan, folder, name);
	}
	return r;
}

static int scan_worktree(struct scan *scan, const char *folder, const char *name)
{
	const char *own = probe_join(scan->search->arena, folder, name);
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
static int scan_links(struct scan *scan, const char *folder)
{
	static const char *const essential[] = { "HEAD",	"commondir", "config",
						 "hooks",	"modules",   "objects",
						 "packed-refs", "refs",	     "worktrees" };
	struct host_path place;
	int r = 0;

	for (size_t i = 0; i < N_ELEMENTS(essential) && r == 0; i++) {
		const char *path = probe_join(scan->search->arena, folder, essential[i]);
		struct stat status;

		if (!path)
			return -ENOMEM;
		if (fstatat(AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISLNK(status.st_mode))
			r = scan_look_and_add(scan, folder, essential[i], &place);
	}
	return r;
}

int scan_repository(struct scan *scan, const char *top, const char *folder)
{
	struct host_path common = { .real = folder }, own;
	const char *worktrees;
	int r = read_pointer(scan, folder, "commondir", "", &common);

	if (r > 0)
		r = scan_add_name(scan, &common);
	/* The directory of a linked worktree is inside the common directory, which is added
	 * already. */
	if (r == 0 && (common.real == folder || !path_is_beneath(folder, common.real)))
		r = scan_look_and_add(scan, folder, ".", &own);
	if (r == 0)
		r = scan_links(scan, folder);
	if (r == 0)
		r = scan_configuration(scan, top, folder, common.real);
	worktrees = probe_join(scan->search->arena, common.real, "worktrees");
	if (r == 0)
		r = worktrees ? scan_each_folder(scan, worktrees, scan_worktree) : -ENOMEM;
	return r < 0 || top == folder ? r : scan_submodules(scan, top);
}

/* Scans the ".git" at @path, if it exists. */
int scan_entry(struct scan *scan, const char *path)
{
	const char *top = scan_around(scan, path);
	struct host_path place, folder;
	int r = top ? scan_look(scan, top, path_last(path), &place) : -ENOMEM;

	if (r < 0 || place.kind == HOST_MISSING)
		return r;
	r = scan_add_name(scan, &place);
	if (r < 0 || place.kind == HOST_FOLDER)
		return r < 0 ? r : scan_repository(scan, top, place.real);
	r = read_pointer(scan, top, path_last(path), "gitdir: ", &folder);
	if (r <= 0)
		return r;
	return folder.kind == HOST_FOLDER ? scan_repository(scan, top, folder.real)
					  : scan_add_name(scan, &folder);
}
