/* SPDX-License-Identifier: MIT */

/*
 * Databases and archives side by side: which there are, and one way to read them
 */

#include "audit/segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <sbx/error.h>

#include "audit/archive.h"
#include "audit/log-internal.h"
#include "audit/segment-internal.h"

#define BUSY_PAUSE_NSEC 2000000
#define USEC_PER_SEC UINT64_C(1000000)
#define NSEC_PER_USEC 1000
#define MSEC_PER_SEC 1000
#define NSEC_PER_MSEC 1000000

/* ---- which there are ---- */

void segment_list_deinit(struct segment_list *list)
{
	free(list->files);
	*list = (struct segment_list)SEGMENT_LIST_INIT;
}

static bool is_file(const char *name, struct segment_file *ret)
{
	static const char *const suffixes[] = {
		[SEGMENT_STORE] = ".db",
		[SEGMENT_ARCHIVE] = SEGMENT_ARCHIVE_SUFFIX,
	};

	if (strspn(name, "0123456789") != SEGMENT_DIGITS)
		return false;
	for (size_t i = 0; i < N_ELEMENTS(suffixes); i++)
		if (strcmp(name + SEGMENT_DIGITS, suffixes[i]) == 0) {
			*ret = (struct segment_file){ .kind = (enum segment_kind)i };
			memcpy(ret->name, name, SEGMENT_DIGITS + strlen(suffixes[i]) + 1);
			errno = 0;
			ret->first = strtoull(name, NULL, 10);
			return errno == 0 && ret->first <= MERKLE_SIZE_MAX;
		}
	return false;
}

/* How large it is, and when it was changed. Readers change what is in -shm. */
static void measure(int folder, struct segment_file *file)
{
	static const char *const suffixes[] = { "", "-wal", "-shm" };
	size_t n = file->kind == SEGMENT_STORE ? N_ELEMENTS(suffixes) : 1;

	for (size_t i = 0; i < n; i++) {
		char name[SEGMENT_FILE_SIZE + 8];
		struct stat st;
		uint64_t usec;

		(void)snprintf(name, sizeof(name), "%s%s", file->name, suffixes[i]);
		if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_mtim.tv_sec < 0)
			continue;
		file->n_bytes += (uint64_t)st.st_size;
		usec = (uint64_t)st.st_mtim.tv_sec * USEC_PER_SEC +
		       (uint64_t)st.st_mtim.tv_nsec / NSEC_PER_USEC;
		if (i < 2 && usec > file->mtime_usec)
			file->mtime_usec = usec;
	}
}

static int compare(const void *a, const void *b)
{
	const struct segment_file *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return (int)x->kind - (int)y->kind;
}

static int add_file(struct segment_list *list, int folder, const char *name)
{
	struct segment_file file;
	void *grown;

	if (!is_file(name, &file))
		return 0;
	grown = reallocarray(list->files, list->n + 1, sizeof(*list->files));
	if (!grown)
		return -ENOMEM;
	list->files = grown;
	measure(folder, &file);
	list->files[list->n++] = file;
	return 0;
}

static void sort(struct segment_list *list)
{
	size_t n = 0;

	if (list->n > 1)
		qsort(list->files, list->n, sizeof(*list->files), compare);
	for (size_t i = 0; i < list->n; i++)
		if (n == 0 || list->files[n - 1].first != list->files[i].first)
			list->files[n++] = list->files[i];
	list->n = n;
}

int segment_list(int folder, struct segment_list *ret)
{
	_cleanup_segment_list_ struct segment_list list = SEGMENT_LIST_INIT;
	/* Another position in the folder than that of whoever else reads it. */
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int r = 0;

	if (!dir) {
		r = -errno;
		close_fd(&fd);
		return r;
	}
	while (r == 0 && (entry = readdir(dir)))
		r = add_file(&list, folder, entry->d_name);
	if (r < 0)
		return r;
	sort(&list);
	*ret = list;
	list = (struct segment_list)SEGMENT_LIST_INIT;
	return 0;
}

void segment_become_archive(struct segment_file *file)
{
	file->kind = SEGMENT_ARCHIVE;
	(void)snprintf(file->name + SEGMENT_DIGITS, sizeof(file->name) - SEGMENT_DIGITS, "%s",
		       SEGMENT_ARCHIVE_SUFFIX);
}

/* ---- one of them ---- */

struct segment *segment_free(struct segment *segment)
{
	if (!segment)
		return NULL;
	if (segment->store)
		store_end_reading(segment->store);
	(void)store_free(segment->store);
	(void)audit_archive_free(segment->archive);
	free(segment);
	return NULL;
}

void segment_free_ptr(struct segment **segment)
{
	*segment = segment_free(*segment);
}

int segment_open(int folder, const struct segment_file *file, struct segment **ret,
		 struct sbx_error *err)
{
	_cleanup_segment_ struct segment *segment = calloc(1, sizeof(*segment));
	int r;

	if (!segment)
		return sbx_error_what(err, -ENOMEM, "cannot read the log");
	segment->kind = file->kind;
	if (file->kind == SEGMENT_ARCHIVE)
		r = audit_archive_open(folder, file->name, &segment->archive, err);
	else
		r = store_open_to_read(folder, file->name, &segment->store, err);
	if (r == 0 && segment->store)
		r = store_begin_reading(segment->store, err);
	if (r == 0)
		*ret = take_ptr(segment);
	return r;
}

static int64_t monotonic_msec(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * MSEC_PER_SEC + now.tv_nsec / NSEC_PER_MSEC;
}

/* SQLite has waited as long for a lock that stayed; it does not promise to wait for any. */
int segment_open_patiently(int folder, const struct segment_file *file, struct segment **ret,
			   struct sbx_error *err)
{
	const struct timespec pause = { .tv_nsec = BUSY_PAUSE_NSEC };
	int64_t end = monotonic_msec() + STORE_PATIENCE_MSEC;
	int r;

	do
		r = segment_open(folder, file, ret, err);
	while (r == -EBUSY && monotonic_msec() < end && nanosleep(&pause, NULL) == 0);
	return r;
}

int segment_read_about(struct segment *segment, struct segment_about *ret, struct sbx_error *err)
{
	if (segment->store)
		return segment_read_store(segment->store, ret, err);
	*ret = *audit_archive_about(segment->archive);
	return 0;
}

int segment_each(struct segment *segment, uint64_t from, uint64_t to, store_visit visit,
		 void *userdata, struct sbx_error *err)
{
	if (segment->store)
		return store_each(segment->store, from, to, visit, userdata, err);
	return audit_archive_each(segment->archive, from, to, visit, userdata, err);
}

int segment_each_checkpoint(struct segment *segment, uint64_t from_size, store_visit_note visit,
			    void *userdata, struct sbx_error *err)
{
	if (segment->store)
		return store_each_checkpoint(segment->store, from_size, visit, userdata, err);
	return audit_archive_each_checkpoint(segment->archive, from_size, visit, userdata, err);
}
