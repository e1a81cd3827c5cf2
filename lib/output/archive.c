/* SPDX-License-Identifier: MIT */

/*
 * Writes a directory to a pax archive
 *
 * The command, which is hostile, has filled the directory but does not run any more: every name is
 * opened relative to its directory without following links, and the depth is bounded. Size and time
 * are bounded by what the command has written: holes are stored without reading them, a file with
 * several hard links is stored once, and the deadline is checked between two blocks and two names.
 * A name that begins with ".wh." is left out, because every reader would take it for a removal, and
 * so are FIFOs and sockets, which have no contents.
 */

#include "output/output.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/moment.h"
#include "base/path.h"
#include "base/text.h"

#define DEPTH_MAX 512u
#define WHITEOUT ".wh."
#define OPAQUE ".wh..wh..opq"
#define BLOCK_BYTES 65536
#define ZEROS_BYTES (INT64_C(1) << 30)

struct writer {
	struct archive *archive;
	struct text path; /* of the current file, relative */
	unsigned depth;
	const struct output_options *options;
	const char *zeros;			  /* a mapping of ZEROS_BYTES */
	uint64_t n_names;			  /* written so far, for options->advanced() */
	struct archive_entry_linkresolver *names; /* hard links */
	struct output_result result;
};

static void archive_entry_free_ptr(struct archive_entry **entry)
{
	archive_entry_free(*entry);
}

static void archive_free_ptr(struct archive **archive)
{
	if (*archive)
		(void)archive_write_free(*archive);
}

static int fail(struct writer *writer, int code, const char *what)
{
	const char *path = text_string(&writer->path);
	char **why = &writer->result.why;

	if (*why)
		return code;
	*why = path[0] ? NULL : strdup(what);
	if (path[0] && asprintf(why, "'%s': %s", path, what) < 0)
		*why = NULL;
	return code;
}

static int fail_in_archive(struct writer *writer)
{
	const char *text = archive_error_string(writer->archive);
	int code = archive_errno(writer->archive);

	/* Of a write(2) that failed, the text only says that it failed. */
	if (code == ENOSPC || code == EDQUOT || code == EFBIG)
		return fail(writer, -code, strerror(code));
	return fail(writer, -EIO, text ? text : "cannot be written");
}

static void resolver_free_ptr(struct archive_entry_linkresolver **resolver)
{
	if (*resolver)
		archive_entry_linkresolver_free(*resolver);
}

static struct archive_entry *new_entry(const char *path, const struct stat *st, mode_t type)
{
	struct archive_entry *entry = archive_entry_new();

	if (!entry)
		return NULL;
	archive_entry_set_pathname(entry, path);
	archive_entry_set_filetype(entry, type);
	archive_entry_set_perm(entry, st->st_mode & 0777);
	archive_entry_set_uid(entry, st->st_uid);
	archive_entry_set_gid(entry, st->st_gid);
	archive_entry_set_mtime(entry, st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
	archive_entry_set_size(entry, type == AE_IFREG ? st->st_size : 0);
	return entry;
}

/* Names that are not UTF-8 are written unchanged, for which libarchive returns a warning. */
static int put_header(struct writer *writer, struct archive_entry *entry)
{
	return archive_write_header(writer->archive, entry) >= ARCHIVE_WARN
		       ? 0
		       : fail_in_archive(writer);
}

static int write_header(struct writer *writer, const char *path, const struct stat *st, mode_t type,
			const char *link)
{
	_cleanup_(archive_entry_free_ptr) struct archive_entry *entry = new_entry(path, st, type);

	if (!entry)
		return -ENOMEM;
	if (link)
		archive_entry_set_symlink(entry, link);
	return put_header(writer, entry);
}

/*
 * The content of a file
 *
 * The command can create a file of any size with one system call: 64 GiB of holes. So holes are
 * never read. libarchive expects as many bytes as the file has, but does not access those of a
 * hole: they are passed from a mapping of which no page is touched. The deadline is checked between
 * two blocks.
 */

static int map_zeros(struct writer *writer)
{
	void *zeros = mmap(NULL, ZEROS_BYTES, PROT_READ,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (zeros == MAP_FAILED)
		return -ENOMEM;
	writer->zeros = zeros;
	return 0;
}

/* Reports the progress; -ETIME after the deadline. */
static int check_clock(struct writer *writer)
{
	const struct output_options *options = writer->options;

	if (options->advanced)
		options->advanced(options->userdata, writer->n_names);
	if (options->deadline_usec == OUTPUT_NO_DEADLINE)
		return 0;
	if (moment_now(CLOCK_MONOTONIC) < options->deadline_usec)
		return 0;
	return fail(writer, -ETIME, "the time limit was reached while it was being archived");
}

/* The next data range from @at on (SEEK_DATA, SEEK_HOLE); a file system without support for holes
 * reports the whole file as data. */
static int find_next(struct writer *writer, int fd, off_t at, off_t size, off_t *ret_from,
		     off_t *ret_to)
{
	off_t from = lseek(fd, at, SEEK_DATA), to = size;

	if (from < 0 && errno != ENXIO)
		return fail(writer, -errno, "cannot be read");
	if (from < 0 || from > size)
		from = size;
	if (from < size)
		to = lseek(fd, from, SEEK_HOLE);
	if (to < 0)
		return fail(writer, -errno, "cannot be read");
	*ret_from = from;
	*ret_to = to < size ? to : size;
	return 0;
}

/* Adds the data ranges and holes of the file to @entry. */
static int find_content(struct writer *writer, struct archive_entry *entry, int fd, off_t size)
{
	off_t from = 0, to = 0;

	while (to < size) {
		int r = check_clock(writer);

		if (r < 0)
			return r;
		r = find_next(writer, fd, to, size, &from, &to);
		if (r < 0)
			return r;
		archive_entry_sparse_add_entry(entry, from, to - from);
	}
	return 0;
}

static int write_hole(struct writer *writer, off_t size)
{
	while (size > 0) {
		size_t n = (size_t)(size < ZEROS_BYTES ? size : ZEROS_BYTES);
		int r = check_clock(writer);

		if (r < 0)
			return r;
		if (archive_write_data(writer->archive, writer->zeros, n) != (ssize_t)n)
			return fail_in_archive(writer);
		size -= (off_t)n;
	}
	return 0;
}

static int write_bytes(struct writer *writer, int fd, off_t from, off_t to)
{
	char block[BLOCK_BYTES];

	while (from < to) {
		size_t wanted = to - from < BLOCK_BYTES ? (size_t)(to - from) : BLOCK_BYTES;
		ssize_t n;
		int r = check_clock(writer);

		if (r < 0)
			return r;
		n = pread(fd, block, wanted, from);
		if (n <= 0)
			return fail(writer, -EIO, "cannot be read completely");
		if (archive_write_data(writer->archive, block, (size_t)n) != n)
			return fail_in_archive(writer);
		from += n;
	}
	return 0;
}

/* Writes the content, after the header of that entry. */
static int write_content(struct writer *writer, int fd, off_t size)
{
	off_t at = 0;

	while (at < size) {
		off_t from = at, to = size;
		int r = find_next(writer, fd, at, size, &from, &to);

		if (r < 0)
			return r;
		r = write_hole(writer, from - at);
		if (r < 0)
			return r;
		r = write_bytes(writer, fd, from, to);
		if (r < 0)
			return r;
		at = to;
	}
	return 0;
}

/* ---- names ---- */

static int write_file(struct writer *writer, int directory, const char *name)
{
	struct stat st = { .st_mode = 0 };
	_cleanup_close_ int fd = path_open_own(directory, name, &st);
	_cleanup_(archive_entry_free_ptr) struct archive_entry *entry = NULL;
	struct archive_entry *later = NULL;
	int r;

	if (fd < 0)
		return fail(writer, fd, "cannot be opened");
	if (!S_ISREG(st.st_mode))
		return fail(writer, -EBADMSG, "was replaced while it was being read");
	entry = new_entry(text_string(&writer->path), &st, AE_IFREG);
	if (!entry)
		return -ENOMEM;
	archive_entry_set_dev(entry, st.st_dev);
	archive_entry_set_ino64(entry, (int64_t)st.st_ino);
	archive_entry_set_nlink(entry, (unsigned)st.st_nlink);
	archive_entry_linkify(writer->names, &entry, &later);
	if (archive_entry_hardlink(entry))
		return put_header(writer, entry);
	r = find_content(writer, entry, fd, st.st_size);
	if (r < 0)
		return r;
	r = put_header(writer, entry);
	return r < 0 ? r : write_content(writer, fd, st.st_size);
}

static int write_link(struct writer *writer, int directory, const char *name, const struct stat *st)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(directory, name, target, sizeof(target) - 1);

	if (n < 0)
		return fail(writer, -errno, "cannot be read");
	target[n] = '\0';
	return write_header(writer, text_string(&writer->path), st, AE_IFLNK, target);
}

static int leave_out(struct writer *writer)
{
	struct output_result *result = &writer->result;

	if (result->n_left_out++ > 0)
		return 0;
	result->first_left_out = strdup(text_string(&writer->path));
	return result->first_left_out ? 0 : -ENOMEM;
}

/* No reader could create a longer one. */
static bool has_whiteout(const char *name)
{
	return strlen(WHITEOUT) + strlen(name) <= NAME_MAX;
}

/* A removed file: an empty file ".wh.NAME", as in OCI image layers. */
static int write_whiteout(struct writer *writer, const char *name)
{
	_cleanup_text_ struct text path = TEXT_INIT;
	struct stat st = { .st_mode = 0600 };

	if (!has_whiteout(name))
		return leave_out(writer);
	text_add_bytes(&path, text_string(&writer->path), writer->path.len - strlen(name));
	text_addf(&path, WHITEOUT "%s", name);
	if (text_status(&path) < 0)
		return -ENOMEM;
	return write_header(writer, text_string(&path), &st, AE_IFREG, NULL);
}

static bool is_opaque(int directory)
{
	char value[2];

	return (fgetxattr(directory, "user.overlay.opaque", value, sizeof(value)) == 1 &&
		value[0] == 'y') ||
	       (fgetxattr(directory, "trusted.overlay.opaque", value, sizeof(value)) == 1 &&
		value[0] == 'y');
}

static int write_directory(struct writer *writer, int directory);

static int write_opaque(struct writer *writer)
{
	const struct stat st = { .st_mode = 0600 };
	size_t len = writer->path.len;
	int r;

	text_add(&writer->path, OPAQUE);
	r = text_status(&writer->path) < 0
		    ? -ENOMEM
		    : write_header(writer, text_string(&writer->path), &st, AE_IFREG, NULL);
	text_truncate(&writer->path, len);
	return r;
}

static int write_open_directory(struct writer *writer, int fd, const struct stat *st)
{
	int r = write_header(writer, text_string(&writer->path), st, AE_IFDIR, NULL);

	if (r < 0)
		return r;
	text_add_char(&writer->path, '/');
	r = is_opaque(fd) ? write_opaque(writer) : 0;
	return r < 0 ? r : write_directory(writer, fd);
}

static int write_subdirectory(struct writer *writer, int directory, const char *name)
{
	struct stat st = { .st_mode = 0 };
	_cleanup_close_ int fd = path_open_own(directory, name, &st);
	int r;

	if (fd < 0)
		return fail(writer, fd, "cannot be opened");
	if (!S_ISDIR(st.st_mode))
		return fail(writer, -EBADMSG, "was replaced while it was being read");
	r = write_open_directory(writer, fd, &st);
	/* Restore the mode: if the archive fails, the layer is the only copy of the changes. */
	(void)fchmod(fd, st.st_mode & 07777);
	return r;
}

static int write_name(struct writer *writer, int directory, const char *name)
{
	struct stat st;
	int r = check_clock(writer);

	if (r < 0)
		return r;
	/*
	 * Including the removal of such a file: that of ".wh..opq" would replace a whole directory.
	 */
	if (strncmp(name, WHITEOUT, strlen(WHITEOUT)) == 0)
		return leave_out(writer);
	if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fail(writer, -errno, "cannot be examined");
	if (S_ISDIR(st.st_mode))
		return write_subdirectory(writer, directory, name);
	if (S_ISREG(st.st_mode))
		return write_file(writer, directory, name);
	if (S_ISLNK(st.st_mode))
		return write_link(writer, directory, name, &st);
	if (S_ISCHR(st.st_mode) && st.st_rdev == 0)
		return write_whiteout(writer, name);
	/* What it may have replaced is removed. */
	if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)) {
		r = leave_out(writer);
		return r < 0 || !has_whiteout(name) ? r : write_whiteout(writer, name);
	}
	return fail(writer, -EPERM, "is not a regular file, directory or symbolic link");
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* Sorted by name, so that the same changes give the same archive. */
static int write_child(struct writer *writer, int directory, const char *name)
{
	size_t len = writer->path.len;
	int r;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	text_add(&writer->path, name);
	r = text_status(&writer->path) < 0 ? -ENOMEM : write_name(writer, directory, name);
	writer->n_names++;
	text_truncate(&writer->path, len);
	return r;
}

static int write_directory(struct writer *writer, int directory)
{
	struct dirent **names = NULL;
	int n, r = 0;

	if (++writer->depth > DEPTH_MAX)
		return fail(writer, -ELOOP, "is nested too deep");
	n = scandirat(directory, ".", &names, NULL, compare_names);
	if (n < 0)
		return fail(writer, -errno, "cannot be listed");
	for (int i = 0; i < n; i++) {
		if (r == 0)
			r = write_child(writer, directory, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	writer->depth--;
	return r;
}

static int write_all(struct writer *writer, int directory)
{
	int r = check_clock(writer);

	if (r < 0)
		return r;
	r = write_directory(writer, directory);
	if (r < 0)
		return r;
	return archive_write_close(writer->archive) == ARCHIVE_OK ? 0 : fail_in_archive(writer);
}

__attribute__((__visibility__("default"))) int sbx_output_archive(
	int directory, int target, const struct output_options *options, struct output_result *ret)
{
	_cleanup_(archive_free_ptr) struct archive *archive = archive_write_new();
	_cleanup_text_ struct text path = TEXT_INIT;
	_cleanup_(resolver_free_ptr) struct archive_entry_linkresolver *names =
		archive_entry_linkresolver_new();
	struct writer writer = {
		.archive = archive,
		.options = options,
		.names = names,
	};
	int r;

	*ret = writer.result;
	if (!archive || !names || map_zeros(&writer) < 0)
		return -ENOMEM;
	archive_entry_linkresolver_set_strategy(names, ARCHIVE_FORMAT_TAR_PAX_RESTRICTED);
	if (archive_write_set_format_pax_restricted(archive) != ARCHIVE_OK ||
	    archive_write_open_fd(archive, target) != ARCHIVE_OK)
		r = fail_in_archive(&writer);
	else
		r = write_all(&writer, directory);
	/* Otherwise libarchive would fill the unfinished file with zeros up to its size. */
	if (r < 0)
		(void)archive_write_fail(archive);
	(void)munmap((void *)(uintptr_t)writer.zeros, ZEROS_BYTES);
	path = writer.path;
	*ret = writer.result;
	return r;
}
