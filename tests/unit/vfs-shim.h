/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A disk whose power can be cut, below SQLite
 *
 * A VFS over the default one. The process sees its files as it wrote them; this code keeps what is
 * on the disk: the content at the last sync, and every write since. At a power cut each file
 * becomes what is on the disk: unsynced writes are lost, or partly there, or applied in any order
 * with one of them torn. Then the process exits.
 *
 * For one process with one thread, which exits at the cut: fork before.
 */

#include <fcntl.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"

#define SHIM_FILES 8
#define SHIM_SECTOR 512

enum shim_loss {
	SHIM_LOSES_ALL,	 /* of the unsynced writes none is on the disk */
	SHIM_LOSES_END,	 /* the first ones are, the last of them in part */
	SHIM_LOSES_SOME, /* any of them are, in any order */
	N_SHIM_LOSSES,
};

struct shim_write {
	size_t begin, n_bytes; /* in the image's payload */
	size_t at;	       /* in the file */
	bool is_cut;	       /* the file is truncated there */
};

struct shim_image {
	char path[256];
	struct text bytes;   /* content on the disk */
	struct text payload; /* data of all writes since the last sync */
	struct text writes;  /* array of struct shim_write */
};

/* One for each process, because SQLite passes only the VFS to its functions. */
struct shim {
	sqlite3_vfs vfs; /* must be first */
	sqlite3_vfs *real;
	struct shim_image images[SHIM_FILES];
	size_t n_images;
	unsigned seed;
	unsigned n_left; /* remaining writes and syncs before the cut */
	bool swallows_syncs;
	enum shim_loss loss;
};

struct shim_file {
	sqlite3_file base; /* must be first */
	struct shim *shim;
	struct shim_image *image; /* NULL: a file that need not survive the process */
	sqlite3_file *real;
};

/* Aborts if there was no memory. */
static inline void shim_need(const struct text *text)
{
	if (text_status(text) < 0)
		abort();
}

/* ---- the disk ---- */

static inline struct shim_write *shim_writes(const struct shim_image *image, size_t *ret_n)
{
	*ret_n = image->writes.len / sizeof(struct shim_write);
	return (struct shim_write *)(void *)image->writes.data;
}

static inline void shim_apply(struct shim_image *image, const struct shim_write *write,
			      size_t n_bytes)
{
	struct text *bytes = &image->bytes;
	size_t end = write->at + n_bytes;

	if (write->is_cut)
		text_truncate(bytes, end);
	if (end > bytes->len) {
		size_t old = bytes->len;

		(void)text_extend(bytes, end - old);
		shim_need(bytes);
		memset(bytes->data + old, 0, end - old);
	}
	if (n_bytes > 0)
		memcpy(bytes->data + write->at, image->payload.data + write->begin, n_bytes);
}

static inline void shim_forget(struct shim_image *image)
{
	text_reset(&image->payload);
	text_reset(&image->writes);
}

/* @bytes NULL: a change of the file size. */
static inline void shim_keep(struct shim_image *image, const void *bytes, size_t n_bytes, size_t at)
{
	const struct shim_write write = { image->payload.len, n_bytes, at, !bytes };

	if (bytes)
		text_add_bytes(&image->payload, bytes, n_bytes);
	text_add_bytes(&image->writes, &write, sizeof(write));
	shim_need(&image->payload);
	shim_need(&image->writes);
}

static inline unsigned shim_random(struct shim *shim, size_t n)
{
	return n > 0 ? (unsigned)rand_r(&shim->seed) % (unsigned)n : 0;
}

/* A torn write ends at a sector boundary. */
static inline void shim_tear(struct shim *shim, struct shim_image *image,
			     const struct shim_write *write)
{
	if (!write->is_cut)
		shim_apply(image, write,
			   shim_random(shim, write->n_bytes / SHIM_SECTOR + 1) * SHIM_SECTOR);
}

static inline void shim_lose_end(struct shim *shim, struct shim_image *image)
{
	size_t n_writes;
	const struct shim_write *writes = shim_writes(image, &n_writes);
	size_t n = shim_random(shim, n_writes + 1);

	for (size_t i = 0; i < n; i++)
		shim_apply(image, &writes[i], writes[i].n_bytes);
	if (n < n_writes)
		shim_tear(shim, image, &writes[n]);
}

static inline void shim_lose_some(struct shim *shim, struct shim_image *image)
{
	size_t n, torn;
	struct shim_write *writes = shim_writes(image, &n);

	torn = shim_random(shim, 2 * n + 1);
	for (; n > 0; n--) {
		size_t i = shim_random(shim, n);
		const struct shim_write write = writes[i];

		writes[i] = writes[n - 1];
		if (n == torn)
			shim_tear(shim, image, &write);
		else if (shim_random(shim, 2) == 0)
			shim_apply(image, &write, write.n_bytes);
	}
}

static inline void shim_write_image(const struct shim_image *image)
{
	int fd = open(image->path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || ftruncate(fd, 0) < 0 ||
	    fd_write_all(fd, text_string(&image->bytes), image->bytes.len) < 0)
		abort();
	(void)close(fd);
}

/* Overwrites the shared memory file, which is lost in a power cut. */
static inline void shim_spoil(struct shim *shim, const char *path)
{
	unsigned char bytes[SHIM_SECTOR];
	char name[4096];
	int fd;

	(void)snprintf(name, sizeof(name), "%s-shm", path);
	fd = open(name, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)shim_random(shim, 256);
	if (shim_random(shim, 2) == 0 && write(fd, bytes, sizeof(bytes)) < 0)
		abort();
	(void)close(fd);
}

static inline void shim_cut(struct shim *shim)
{
	for (size_t i = 0; i < shim->n_images; i++) {
		struct shim_image *image = &shim->images[i];

		if (shim->loss == SHIM_LOSES_END)
			shim_lose_end(shim, image);
		else if (shim->loss == SHIM_LOSES_SOME)
			shim_lose_some(shim, image);
		shim_write_image(image);
		shim_spoil(shim, image->path);
	}
	_exit(0);
}

static inline void shim_count(struct shim *shim)
{
	if (shim->n_left-- == 0)
		shim_cut(shim);
}

/* ---- files ---- */

static inline struct shim_file *shim_file(sqlite3_file *file)
{
	return (struct shim_file *)file;
}

static inline int shim_write(sqlite3_file *file, const void *bytes, int n_bytes, sqlite3_int64 at)
{
	struct shim_file *own = shim_file(file);

	if (own->image) {
		shim_count(own->shim);
		shim_keep(own->image, bytes, (size_t)n_bytes, (size_t)at);
	}
	return own->real->pMethods->xWrite(own->real, bytes, n_bytes, at);
}

static inline int shim_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	struct shim_file *own = shim_file(file);

	if (own->image)
		shim_keep(own->image, NULL, 0, (size_t)size);
	return own->real->pMethods->xTruncate(own->real, size);
}

/* Does not sync the real file, whose disk is not simulated. */
static inline int shim_sync(sqlite3_file *file, int flags)
{
	struct shim_image *image = shim_file(file)->image;
	struct shim *shim = shim_file(file)->shim;
	const struct shim_write *writes;
	size_t n;

	if (!image)
		return SQLITE_OK;
	shim_count(shim);
	if (shim->swallows_syncs)
		return SQLITE_OK;
	writes = shim_writes(image, &n);
	for (size_t i = 0; i < n; i++)
		shim_apply(image, &writes[i], writes[i].n_bytes);
	shim_forget(image);
	return SQLITE_OK;
}

/* Methods that are only forwarded. */
#define SHIM_FORWARD(name, ...)                                                                    \
	shim_file(file)->real->pMethods->name(shim_file(file)->real, ##__VA_ARGS__)

static inline int shim_close(sqlite3_file *file)
{
	return SHIM_FORWARD(xClose);
}

static inline int shim_read(sqlite3_file *file, void *bytes, int n_bytes, sqlite3_int64 at)
{
	return SHIM_FORWARD(xRead, bytes, n_bytes, at);
}

static inline int shim_size(sqlite3_file *file, sqlite3_int64 *ret)
{
	return SHIM_FORWARD(xFileSize, ret);
}

static inline int shim_lock(sqlite3_file *file, int level)
{
	return SHIM_FORWARD(xLock, level);
}

static inline int shim_unlock(sqlite3_file *file, int level)
{
	return SHIM_FORWARD(xUnlock, level);
}

static inline int shim_is_reserved(sqlite3_file *file, int *ret)
{
	return SHIM_FORWARD(xCheckReservedLock, ret);
}

static inline int shim_control(sqlite3_file *file, int what, void *argument)
{
	return SHIM_FORWARD(xFileControl, what, argument);
}

static inline int shim_sector(sqlite3_file *file)
{
	return SHIM_FORWARD(xSectorSize);
}

static inline int shim_device(sqlite3_file *file)
{
	return SHIM_FORWARD(xDeviceCharacteristics);
}

static inline int shim_map(sqlite3_file *file, int page, int size, int extend, void volatile **ret)
{
	return SHIM_FORWARD(xShmMap, page, size, extend, ret);
}

static inline int shim_share(sqlite3_file *file, int at, int n, int flags)
{
	return SHIM_FORWARD(xShmLock, at, n, flags);
}

static inline void shim_barrier(sqlite3_file *file)
{
	SHIM_FORWARD(xShmBarrier);
}

static inline int shim_unmap(sqlite3_file *file, int is_deleted)
{
	return SHIM_FORWARD(xShmUnmap, is_deleted);
}

static inline void shim_read_image(struct shim_image *image)
{
	int fd = open(image->path, O_RDONLY | O_CLOEXEC);
	off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);

	if (size < 0)
		abort();
	if (size > 0) {
		(void)text_extend(&image->bytes, (size_t)size);
		shim_need(&image->bytes);
		if (pread(fd, image->bytes.data, (size_t)size, 0) != (ssize_t)size)
			abort();
	}
	(void)close(fd);
}

/* When a file is opened first, its content counts as synced. */
static inline struct shim_image *shim_image_of(struct shim *shim, const char *path)
{
	struct shim_image *image = shim->images;

	for (size_t i = 0; i < shim->n_images; i++, image++)
		if (strcmp(image->path, path) == 0)
			return image;
	if (shim->n_images == SHIM_FILES || strlen(path) >= sizeof(image->path))
		abort();
	shim->n_images++;
	(void)snprintf(image->path, sizeof(image->path), "%s", path);
	shim_read_image(image);
	return image;
}

static inline int shim_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *file, int flags,
			    int *ret_flags)
{
	static const sqlite3_io_methods methods = {
		.iVersion = 2,
		.xClose = shim_close,
		.xRead = shim_read,
		.xWrite = shim_write,
		.xTruncate = shim_truncate,
		.xSync = shim_sync,
		.xFileSize = shim_size,
		.xLock = shim_lock,
		.xUnlock = shim_unlock,
		.xCheckReservedLock = shim_is_reserved,
		.xFileControl = shim_control,
		.xSectorSize = shim_sector,
		.xDeviceCharacteristics = shim_device,
		.xShmMap = shim_map,
		.xShmLock = shim_share,
		.xShmBarrier = shim_barrier,
		.xShmUnmap = shim_unmap,
	};
	struct shim *shim = (struct shim *)vfs;
	struct shim_file *own = shim_file(file);
	int r;

	own->shim = shim;
	own->real = (sqlite3_file *)(own + 1);
	own->image = NULL;
	r = shim->real->xOpen(shim->real, name, own->real, flags, ret_flags);
	file->pMethods = own->real->pMethods ? &methods : NULL;
	if (r == SQLITE_OK && name && flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL))
		own->image = shim_image_of(shim, name);
	return r;
}

/* From now on SQLite writes to this disk; its power is cut after @n_writes writes and syncs. */
static inline void shim_install(struct shim *shim, unsigned seed, unsigned n_writes)
{
	sqlite3_vfs *real = sqlite3_vfs_find(NULL);

	*shim = (struct shim){ .vfs = *real, .real = real, .seed = seed, .n_left = n_writes };
	shim->vfs.zName = "shim";
	shim->vfs.pNext = NULL;
	shim->vfs.szOsFile = (int)sizeof(struct shim_file) + real->szOsFile;
	shim->vfs.xOpen = shim_open;
	shim->loss = (enum shim_loss)shim_random(shim, N_SHIM_LOSSES);
	if (sqlite3_vfs_register(&shim->vfs, 1) != SQLITE_OK)
		abort();
}
