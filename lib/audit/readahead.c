/* SPDX-License-Identifier: MIT */

/*
 * SQLite reads a file page by page, and pread() of a page in the page cache costs as much as
 * hashing it. So a read of the page after the last one also reads the pages that follow it.
 *
 * mmap() would avoid the copy, but SIGBUS kills the reader if the file is truncated meanwhile.
 *
 * A page that was read ahead equals the page that SQLite would read: while a snapshot is open, no
 * checkpoint of the WAL writes a page into the file that the snapshot reads from there. A snapshot
 * begins and ends with a lock, of the file or of the WAL's index, and every lock drops the pages
 * read ahead.
 *
 * Only the methods of SQLite's own file object are replaced: a VFS would have to repeat all of its
 * methods.
 */

#include "audit/store-file.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define READAHEAD_BYTES (256 * 1024)
/* A read at most this far after the last one still counts as sequential: the pages between belong
 * to other tables. */
#define STEP_MAX (16 * 1024)

struct readahead {
	sqlite3_io_methods methods;
	const sqlite3_io_methods *real;
	sqlite3_int64 next; /* offset after the page that was read last */
	sqlite3_int64 at;   /* offset of the buffered bytes */
	size_t n_bytes;
	char bytes[READAHEAD_BYTES];
};

_Static_assert(offsetof(struct readahead, methods) == 0, "SQLite's file object points to it");

static struct readahead *readahead_of(sqlite3_file *file)
{
	return (struct readahead *)(void *)file->pMethods;
}

static int fill(struct readahead *readahead, sqlite3_file *file, sqlite3_int64 offset)
{
	sqlite3_int64 size;
	int r = readahead->real->xFileSize(file, &size);

	readahead->n_bytes = 0;
	if (r != SQLITE_OK || size <= offset)
		return r;
	if (size - offset > READAHEAD_BYTES)
		size = offset + READAHEAD_BYTES;
	r = readahead->real->xRead(file, readahead->bytes, (int)(size - offset), offset);
	if (r != SQLITE_OK)
		return r;
	readahead->at = offset;
	readahead->n_bytes = (size_t)(size - offset);
	return SQLITE_OK;
}

static bool has(const struct readahead *readahead, int n_bytes, sqlite3_int64 offset)
{
	return offset >= readahead->at && (size_t)n_bytes <= readahead->n_bytes &&
	       (size_t)(offset - readahead->at) <= readahead->n_bytes - (size_t)n_bytes;
}

static int read_page(sqlite3_file *file, void *bytes, int n_bytes, sqlite3_int64 offset)
{
	struct readahead *readahead = readahead_of(file);
	bool is_next = readahead->next >= 0 && offset >= readahead->next &&
		       offset - readahead->next <= STEP_MAX;

	/* If this fails, the plain read below fails the same way and reports it. */
	if (!has(readahead, n_bytes, offset) && is_next)
		(void)fill(readahead, file, offset);
	readahead->next = offset + n_bytes;
	if (!has(readahead, n_bytes, offset))
		return readahead->real->xRead(file, bytes, n_bytes, offset);
	memcpy(bytes, readahead->bytes + (offset - readahead->at), (size_t)n_bytes);
	return SQLITE_OK;
}

static int lock(sqlite3_file *file, int level)
{
	readahead_of(file)->n_bytes = 0;
	return readahead_of(file)->real->xLock(file, level);
}

static int unlock(sqlite3_file *file, int level)
{
	readahead_of(file)->n_bytes = 0;
	return readahead_of(file)->real->xUnlock(file, level);
}

static int lock_index(sqlite3_file *file, int offset, int n, int flags)
{
	readahead_of(file)->n_bytes = 0;
	return readahead_of(file)->real->xShmLock(file, offset, n, flags);
}

int readahead_new(sqlite3 *db, struct readahead **ret)
{
	struct readahead *readahead;
	sqlite3_file *file = NULL;

	if (sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK ||
	    !file || !file->pMethods)
		return -EIO;
	readahead = malloc(sizeof(*readahead));
	if (!readahead)
		return -ENOMEM;
	readahead->real = file->pMethods;
	readahead->methods = *file->pMethods;
	readahead->methods.xRead = read_page;
	readahead->methods.xLock = lock;
	readahead->methods.xUnlock = unlock;
	if (readahead->methods.iVersion >= 2)
		readahead->methods.xShmLock = lock_index;
	readahead->next = -1;
	readahead->n_bytes = 0;
	file->pMethods = &readahead->methods;
	*ret = readahead;
	return 0;
}

struct readahead *readahead_free(struct readahead *readahead)
{
	free(readahead);
	return NULL;
}
