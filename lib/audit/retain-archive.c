/* SPDX-License-Identifier: MIT */

/*
 * From a closed segment to its archive
 *
 * The archive is made under another name, read again to its end, and held against the segment; it
 * is on the disk when it gets its name, and only then the segment goes. Whoever is killed on the
 * way leaves the segment, and all of this is done again.
 */

#include "audit/retain-internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <sbx/error.h>

#include "audit/archive.h"

#define NEW_SUFFIX RETAIN_NEW_SUFFIX
#define FIX_DISK "check the file system, and its room"
/* Records of ours become an eighth of their size with zstd. */
#define ROOM_SHARE 4
#define USEC_PER_SEC UINT64_C(1000000)
#define NSEC_PER_USEC 1000

struct names {
	char archive[SEGMENT_FILE_SIZE];
	char new_archive[SEGMENT_FILE_SIZE];
};

static void make_names(const struct segment_file *file, struct names *ret)
{
	(void)snprintf(ret->archive, sizeof(ret->archive), "%.*s" SEGMENT_ARCHIVE_SUFFIX,
		       SEGMENT_DIGITS, file->name);
	(void)snprintf(ret->new_archive, sizeof(ret->new_archive),
		       "%.*s" SEGMENT_ARCHIVE_SUFFIX NEW_SUFFIX, SEGMENT_DIGITS, file->name);
}

static int each_row(void *userdata, store_visit visit, void *visitor, struct sbx_error *err)
{
	return segment_each(userdata, 0, UINT64_MAX, visit, visitor, err);
}

static int each_note(void *userdata, store_visit_note visit, void *visitor, struct sbx_error *err)
{
	return segment_each_checkpoint(userdata, 0, visit, visitor, err);
}

/* It is as old as what is in it, so that its age counts from there. */
static int set_age(int fd, uint64_t usec)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT } };

	times[1].tv_sec = (time_t)(usec / USEC_PER_SEC);
	times[1].tv_nsec = (long)(usec % USEC_PER_SEC) * NSEC_PER_USEC;
	return futimens(fd, times) < 0 || fsync(fd) < 0 ? -errno : 0;
}

static int write_new(int folder, const struct segment_file *file, const char *name,
		     struct segment *segment, struct sbx_error *err)
{
	_cleanup_close_ int fd = -EBADF;
	struct archive_source source = { .each = each_row,
					 .each_checkpoint = each_note,
					 .userdata = segment };
	int r = segment_read_about(segment, &source.about, err);

	if (r < 0)
		return r;
	if (source.about.next != 0 && source.about.next != source.about.size)
		return retain_fail(err, -EBADMSG, "archive", file->name,
				   "another segment begins where it continues",
				   "see what is missing: sbx-audit verify --full");
	(void)unlinkat(folder, name, 0);
	fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return retain_fail(err, -errno, "archive", file->name, NULL, FIX_DISK);
	r = audit_archive_write(fd, name, &source, err);
	if (r < 0)
		return r;
	r = set_age(fd, file->mtime_usec);
	return r < 0 ? retain_fail(err, r, "archive", file->name, NULL, FIX_DISK) : 0;
}

/* What was written is what can be read, and that is what the segment says. */
static int check_new(int folder, const struct segment_file *file, const struct names *names,
		     const struct segment_end *end, struct sbx_error *err)
{
	_cleanup_segment_ struct segment *segment = NULL;
	struct segment_file archive = { .kind = SEGMENT_ARCHIVE };
	struct segment_end there;
	int r;

	memcpy(archive.name, names->new_archive, sizeof(archive.name));
	r = segment_open_patiently(folder, &archive, &segment, err);
	if (r == 0)
		r = retain_read_end(segment, archive.name, &there, err);
	if (r < 0)
		return r;
	if (audit_hash_equal(&there.head, &end->head) &&
	    audit_hash_equal(&there.notes, &end->notes))
		return 0;
	return retain_fail(err, -EIO, "archive", file->name,
			   "the archive that was written is not what was to be written",
			   "check the disk and the memory of this machine");
}

/* SQLite's files after the database: without it they are nothing. */
static int remove_store(int folder, const struct segment_file *file, struct sbx_error *err)
{
	static const char *const suffixes[] = { "", "-wal", "-shm" };

	for (size_t i = 0; i < N_ELEMENTS(suffixes); i++) {
		char name[SEGMENT_FILE_SIZE + 8];

		(void)snprintf(name, sizeof(name), "%s%s", file->name, suffixes[i]);
		if (unlinkat(folder, name, 0) < 0 && errno != ENOENT)
			return retain_fail(err, -errno, "remove", file->name, NULL, FIX_DISK);
	}
	return fsync(folder) < 0 ? retain_fail(err, -errno, "remove", file->name, NULL, FIX_DISK)
				 : 0;
}

static int put_in_place(int folder, const struct segment_file *file, const struct names *names,
			struct sbx_error *err)
{
	if (renameat(folder, names->new_archive, folder, names->archive) < 0 || fsync(folder) < 0)
		return retain_fail(err, -errno, "archive", file->name, NULL, FIX_DISK);
	return remove_store(folder, file, err);
}

/* Whatever else is written to that disk meanwhile has to find room, the log itself above all. */
static int check_room(const struct retain_work *work, struct sbx_error *err)
{
	struct statvfs fs;
	uint64_t wanted = work->file.n_bytes / ROOM_SHARE;

	if (fstatvfs(work->folder, &fs) < 0 || (uint64_t)fs.f_bavail * fs.f_frsize >= wanted)
		return 0;
	return retain_fail(err, -ENOSPC, "archive", work->file.name,
			   "there is too little room for the archive beside it",
			   "make room on the file system");
}

static int make_archive(const struct retain_work *work, const struct names *names,
			struct sbx_error *err)
{
	_cleanup_segment_ struct segment *segment = NULL;
	const struct segment_file *file = &work->file;
	struct segment_end end;
	int folder = work->folder, r = check_room(work, err);

	if (r == 0)
		r = segment_open_patiently(folder, file, &segment, err);
	if (r == 0)
		r = retain_read_end(segment, file->name, &end, err);
	if (r == 0)
		r = retain_check_joint(folder, &work->behind, file->name, &end, err);
	if (r == 0)
		r = write_new(folder, file, names->new_archive, segment, err);
	return r == 0 ? check_new(folder, file, names, &end, err) : r;
}

int retain_archive(const struct retain_work *work, struct sbx_error *err)
{
	struct names names = { .archive = "" };
	int r;

	make_names(&work->file, &names);
	r = make_archive(work, &names, err);
	if (r == 0)
		return put_in_place(work->folder, &work->file, &names, err);
	(void)unlinkat(work->folder, names.new_archive, 0);
	return r;
}

/* ---- what a crash has left ---- */

static bool is_there(int folder, const char *name, size_t n)
{
	char path[SEGMENT_FILE_SIZE];

	(void)snprintf(path, sizeof(path), "%.*s", (int)n, name);
	return faccessat(folder, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A file that was not complete, or one of SQLite's without its database. */
static bool is_left_over(int folder, const char *name)
{
	static const char *const unfinished[] = {
		".db" NEW_SUFFIX,	 ".db" NEW_SUFFIX "-journal",	    ".db" NEW_SUFFIX "-wal",
		".db" NEW_SUFFIX "-shm", SEGMENT_ARCHIVE_SUFFIX NEW_SUFFIX,
	};
	const char *suffix = name + SEGMENT_DIGITS;

	if (strspn(name, "0123456789") != SEGMENT_DIGITS)
		return false;
	for (size_t i = 0; i < N_ELEMENTS(unfinished); i++)
		if (strcmp(suffix, unfinished[i]) == 0)
			return true;
	return (strcmp(suffix, ".db-wal") == 0 || strcmp(suffix, ".db-shm") == 0) &&
	       !is_there(folder, name, SEGMENT_DIGITS + strlen(".db"));
}

static DIR *open_listing(int folder)
{
	/* Another position in the folder than that of whoever else reads it. */
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir)
		close_fd(&fd);
	return dir;
}

void retain_clean(int folder)
{
	_cleanup_closedir_ DIR *dir = open_listing(folder);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (is_left_over(folder, entry->d_name))
			(void)unlinkat(folder, entry->d_name, 0);
}

int retain_measure(int folder, uint64_t *ret)
{
	_cleanup_closedir_ DIR *dir = open_listing(folder);
	const struct dirent *entry;
	uint64_t n_bytes = 0;
	struct stat st;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir)))
		if (fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode))
			n_bytes += (uint64_t)st.st_size;
	*ret = n_bytes;
	return 0;
}
