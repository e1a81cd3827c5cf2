/* SPDX-License-Identifier: MIT */

/*
 * --out: the destination of changes to the working directory
 *
 * The destination directory is the upper layer of an overlay, so it gets complete files, and
 * nothing is copied at the end. It must be empty: an old result is never mixed with a new one. For
 * an archive the layer is a hidden directory beside it, which is removed afterwards. Hidden
 * directories are only named before the plan: they are made when the state in the registry names
 * them, so that 'sbx-ctl gc' finds those of a killed run.
 *
 * After the command has run, all work goes through the directory fd that was opened before: the
 * command may have been able to write there, and to replace any name by a link. Files that it
 * created belong to the caller now, and are opened without following links; and no program that
 * stays there gets its privileges from the caller.
 */

#include "spawn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/module.h"
#include "base/path.h"
#include "base/progress.h"
#include "kernel/probe.h"
#include "tool.h"

static int fail(struct sbx_error *err, int code, const char *value, const char *why,
		const char *fix)
{
	return error_fill(err, code, why, fix, "cannot write the changes to '%s'", value);
}

/* Opens the parent directory of the normalized @path; *@ret_real is its path without links. */
static int open_parent(struct spawn_run *run, const char *path, const char **ret_real,
		       struct sbx_error *err)
{
	size_t n = (size_t)(path_last(path) - path);
	const char *parent = arena_copy(&run->arena, path, n > 1 ? n - 1 : 1);

	*ret_real = parent;
	return parent ? host_open_directory("--out", parent, &run->arena, ret_real, err)
		      : spawn_no_memory(err);
}

static int join(const char *parent, const char *name, char **ret)
{
	_cleanup_text_ struct text path = TEXT_INIT;

	text_addf(&path, "%s/%s", strcmp(parent, "/") == 0 ? "" : parent, name);
	if (text_status(&path) < 0)
		return -ENOMEM;
	*ret = text_take(&path);
	return 0;
}

/* A hidden name in the parent that nobody can guess; sbx-ctl knows it by @what. */
static int name_beside(const char *parent, const char *name, const char *what, char **ret)
{
	_cleanup_text_ struct text hidden = TEXT_INIT;
	char unique[SANDBOX_ID_MAX + 1];
	int r = sandbox_id_make(unique);

	if (r < 0)
		return r;
	text_addf(&hidden, ".%s.%s-%s", name, what, unique);
	if (text_status(&hidden) < 0)
		return -ENOMEM;
	/* That of an archive which is not complete yet is the longest one. */
	if (hidden.len + strlen(SANDBOX_ARCHIVE_SUFFIX) > NAME_MAX)
		return -ENAMETOOLONG;
	return join(parent, text_string(&hidden), ret);
}

static int fail_beside(struct sbx_error *err, int code, const char *value)
{
	return fail(err, code, value, NULL,
		    code == -ENAMETOOLONG
			    ? "use a shorter name: sbx adds to it for hidden files beside it"
			    : "choose a directory in which you may create directories");
}

static int make_beside(const struct changes *changes, const char *path)
{
	return mkdirat(changes->parent, path_last(path), 0700) < 0 ? -errno : 0;
}

int changes_make(struct spawn_run *run, struct sbx_error *err)
{
	struct changes *changes = &run->changes;
	int r = 0;

	if (changes->kind == CHANGES_TAR) {
		r = make_beside(changes, changes->directory);
		changes->is_made = r == 0;
	}
	if (r == 0 && changes->work)
		r = make_beside(changes, changes->work);
	return r < 0 ? fail_beside(err, r, run->values->out) : 0;
}

static bool is_empty(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!dir) {
		close_fd(&fd);
		return false;
	}
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			return false;
	return true;
}

static int use_directory(struct changes *changes, const char *parent, const char *name,
			 const char *value, struct sbx_error *err)
{
	struct stat st;

	changes->is_made = mkdirat(changes->parent, name, 0755) == 0;
	if (!changes->is_made && errno != EEXIST)
		return fail(err, -errno, value, NULL, "choose a directory that you may create");
	if (fstatat(changes->parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode) ||
	    st.st_uid != geteuid())
		return fail(err, -ENOTDIR, value, "it is not a directory of yours",
			    "choose another one, or one that does not exist");
	if (!is_empty(changes->parent, name))
		return fail(err, -ENOTEMPTY, value,
			    "it is not empty, and changes are not mixed with other files",
			    "choose a new directory, or empty this one");
	if (join(parent, name, &changes->directory) < 0)
		return spawn_no_memory(err);
	changes->kind = CHANGES_DIRECTORY;
	return 0;
}

static bool ends_in(const char *text, const char *end)
{
	size_t len = strlen(text), n = strlen(end);

	return len > n && strcmp(text + len - n, end) == 0;
}

/* Archive formats that are not supported, and would become directories with a misleading name. */
static int check_ending(const char *value, struct sbx_error *err)
{
	static const char *const others[] = {
		".tar.gz", ".tgz",  ".tar.zst", ".tzst",   ".tar.xz", ".txz", ".tar.bz2",
		".tbz",	   ".tbz2", ".tar.lz4", ".tar.lz", ".zip",    ".7z",
	};

	for (size_t i = 0; i < N_ELEMENTS(others); i++)
		if (ends_in(value, others[i]))
			return spawn_bad_value(
				"--out", value, "FILE.tar is the only archive format",
				"use FILE.tar, or append '/' for a directory of this name", err);
	return 0;
}

int changes_prepare(struct spawn_run *run, struct sbx_error *err)
{
	struct changes *changes = &run->changes;
	const char *value = run->values->out, *path, *parent, *name;
	int r = check_ending(value, err);

	if (r >= 0)
		r = spawn_read_path(run, "--out", value, &path, err);
	if (r < 0)
		return r;
	changes->parent = open_parent(run, path, &parent, err);
	if (changes->parent < 0)
		return changes->parent;
	name = path[1] ? path_last(path) : ".";
	if (ends_in(value, ".tar")) {
		changes->kind = CHANGES_TAR;
		changes->tar = value;
		r = name_beside(parent, name, "sbx-layer", &changes->directory);
		if (r < 0)
			return fail_beside(err, r, value);
	} else {
		r = use_directory(changes, parent, name, value, err);
		if (r < 0)
			return r;
	}
	r = name_beside(parent, name, "sbx-work", &changes->work);
	if (r < 0)
		return fail_beside(err, r, value);
	if (faccessat(changes->parent, ".", W_OK | X_OK, AT_EACCESS) < 0)
		return fail_beside(err, -errno, value);
	return 0;
}

static void show_progress(void *userdata, uint64_t n_names)
{
	progress_show(userdata, n_names, 0);
}

static int write_archive(struct spawn_run *run, int directory, int target, uint64_t deadline_usec,
			 struct sbx_error *err)
{
	struct changes *changes = &run->changes;
	_cleanup_progress_ struct progress progress = PROGRESS_INIT;
	const struct output_options options = { .deadline_usec = deadline_usec,
						.advanced = show_progress,
						.userdata = &progress };
	const char *missing;
	char path[PATH_MAX];
	output_archive_fn *archive;
	void *module;
	int r;

	r = spawn_module_path("output", "archive", ".so", path, sizeof(path));
	module = r < 0 ? NULL : module_open(path, &missing);
	archive = module ? (output_archive_fn *)module_symbol(module, OUTPUT_MODULE_SYMBOL) : NULL;
	if (!archive)
		return fail(err, -ENOENT, changes->tar, "the module 'archive.so' cannot be opened",
			    "install all of sbx, or use a directory with --out");
	progress_begin(&progress, tool_wants_progress(run->tool) ? STDERR_FILENO : -EBADF,
		       "writing the archive", "files");
	r = archive(directory, target, &options, &changes->archived);
	progress_clear(&progress);
	if (r < 0) {
		(void)fail(err, r, changes->tar, changes->archived.why, "");
		sbx_error_fix(err, "the changes are still there, as they are: '%s'",
			      changes->directory);
	}
	return r;
}

/* A new file, which takes the name when it is whole: what stands there is never written to. */
static int archive_layer(struct spawn_run *run, int directory, uint64_t deadline_usec,
			 struct sbx_error *err)
{
	struct changes *changes = &run->changes;
	char temporary[NAME_MAX + 1];
	_cleanup_close_ int target = -EBADF;
	int r;

	(void)snprintf(temporary, sizeof(temporary), "%s" SANDBOX_ARCHIVE_SUFFIX,
		       path_last(changes->directory));
	target = openat(changes->parent, temporary,
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (target < 0)
		return fail(err, -errno, changes->tar, NULL,
			    "check the directory that contains it");
	r = write_archive(run, directory, target, deadline_usec, err);
	if (r == 0 &&
	    renameat(changes->parent, temporary, changes->parent, path_last(changes->tar)) < 0)
		r = fail(err, -errno, changes->tar, NULL, "check the directory that contains it");
	if (r < 0)
		(void)unlinkat(changes->parent, temporary, 0);
	return r;
}

static int hand_over(struct spawn_run *run, uint64_t deadline_usec, struct sbx_error *err)
{
	const struct changes *changes = &run->changes;
	struct stat st = { .st_mode = 0 };
	_cleanup_close_ int directory =
		path_open_own(changes->parent, path_last(changes->directory), &st);

	if (directory < 0)
		return fail(err, directory, changes->tar, NULL,
			    "check the directory that contains it");
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return fail(err, -ENOTDIR, changes->tar, "it was exchanged while the command ran",
			    "find out which program changes the directory that contains it");
	return archive_layer(run, directory, deadline_usec, err);
}

/* The directory, or the layer of an archive that was not written. */
static int drop_privileges(const struct changes *changes, struct sbx_error *err)
{
	int r = directory_drop_privileges(changes->parent, path_last(changes->directory));

	return r < 0 ? fail(err, r, changes->directory,
			    "set-user-ID bits or capabilities of a program cannot be cleared",
			    "remove it by hand, and execute nothing in it")
		     : 0;
}

int changes_finish(struct spawn_run *run, uint64_t deadline_usec, struct sbx_error *err)
{
	struct changes *changes = &run->changes;
	int r = 0, last = 0;

	if (changes->kind == CHANGES_TAR)
		r = hand_over(run, deadline_usec, err);
	if (changes->kind == CHANGES_DIRECTORY || (changes->kind == CHANGES_TAR && r < 0)) {
		last = drop_privileges(changes, r < 0 ? NULL : err);
		r = r < 0 ? r : last;
	}
	/* Last, because 'sbx-ctl gc' looks for it after a kill. */
	if (changes->work)
		last = directory_discard(changes->parent, path_last(changes->work));
	if (changes->kind == CHANGES_TAR && r == 0 && last == 0)
		last = directory_discard(changes->parent, path_last(changes->directory));
	changes->kind = CHANGES_NONE;
	if (r == 0 && last < 0)
		return fail(err, last, changes->work, "its work directory cannot be removed",
			    "remove it by hand");
	return r;
}

/* The directory is empty if nothing was run; one of the user's stays. */
void changes_deinit(struct changes *changes)
{
	if (changes->kind != CHANGES_NONE) {
		if (changes->work)
			(void)directory_discard(changes->parent, path_last(changes->work));
		if (changes->directory && changes->is_made)
			(void)unlinkat(changes->parent, path_last(changes->directory),
				       AT_REMOVEDIR);
	}
	close_fd(&changes->parent);
	free(changes->directory);
	free(changes->work);
	free(changes->archived.why);
	free(changes->archived.first_left_out);
	*changes = (struct changes){ .kind = CHANGES_NONE, .parent = -EBADF };
}
