/* SPDX-License-Identifier: MIT */

/*
 * libarchive accepts many formats; this file accepts only the one form that the log writes: a tar
 * in one zstd frame, its members in a fixed order, each a regular file without any optional
 * metadata
 */

#include "audit/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/error.h"

/* ---- the zstd frame (RFC 8878) ---- */

#define WINDOW_SIZE 4096
#define MAGIC_SIZE 4
#define HAS_CHECKSUM 0x04
#define IS_SINGLE_SEGMENT 0x20
#define BLOCK_HEADER_SIZE 3
#define BLOCK_RLE 1
#define BLOCK_SIZE_MAX (128 * 1024) /* maximum size of a block, compressed and uncompressed */
#define CHECKSUM_SIZE 4

/* A buffered part of the file, so that scanning many small blocks does not cost a pread() each. */
struct window {
	int fd;
	uint64_t at;
	size_t n;
	uint8_t bytes[WINDOW_SIZE];
};

/* 1, or 0 if the file ends before @at + @n. */
static int read_at(struct window *window, uint64_t at, uint8_t *bytes, size_t n)
{
	ssize_t got;

	if (at < window->at || at + n > window->at + window->n) {
		do
			got = pread(window->fd, window->bytes, sizeof(window->bytes), (off_t)at);
		while (got < 0 && errno == EINTR);
		if (got < 0)
			return -errno;
		window->at = at;
		window->n = (size_t)got;
	}
	if (window->n < n + (at - window->at))
		return 0;
	memcpy(bytes, window->bytes + (at - window->at), n);
	return 1;
}

/* Size of the frame header after the magic number, up to the first block. @descriptor is its first
 * byte. */
static uint64_t header_size(uint8_t descriptor)
{
	static const uint8_t dictionary_sizes[] = { 0, 1, 2, 4 };
	static const uint8_t content_sizes[] = { 0, 2, 4, 8 };
	bool is_single = (descriptor & IS_SINGLE_SEGMENT) != 0;
	uint64_t size = 1 + !is_single + dictionary_sizes[descriptor & 3];

	return size + (descriptor >> 6 == 0 ? is_single : content_sizes[descriptor >> 6]);
}

/* Finds the end of a frame that begins with this descriptor: 1, or 0 if the file ends before it. */
static int find_end(struct window *window, uint8_t descriptor, uint64_t *ret)
{
	uint8_t header[BLOCK_HEADER_SIZE] = { 0 };
	uint64_t at = MAGIC_SIZE + header_size(descriptor);

	/* The lowest bit of a block header marks the last block. */
	while ((header[0] & 1) == 0) {
		int r = read_at(window, at, header, sizeof(header));
		uint64_t size;

		if (r <= 0)
			return r;
		size = (uint64_t)(header[0] >> 3 | header[1] << 5 | header[2] << 13);
		/* A hole in a sparse file reads as endless empty blocks: refuse them, and oversized
		 * ones. */
		if ((size == 0 && (header[0] & 1) == 0) || size > BLOCK_SIZE_MAX)
			return 0;
		at += sizeof(header) + ((header[0] >> 1 & 3) == BLOCK_RLE ? 1 : size);
	}
	*ret = at + ((descriptor & HAS_CHECKSUM) != 0 ? CHECKSUM_SIZE : 0);
	return 1;
}

int archive_check_frame(int fd, uint64_t n_bytes, const char *name, struct sbx_error *err)
{
	static const uint8_t magic[MAGIC_SIZE] = { 0x28, 0xb5, 0x2f, 0xfd };
	uint8_t begin[MAGIC_SIZE + 1] = { 0 };
	struct window window = { .fd = fd };
	uint64_t end = 0;
	int r = read_at(&window, 0, begin, sizeof(begin));

	if (r > 0 && memcmp(begin, magic, sizeof(magic)) != 0)
		return archive_fail_format(err, name, "it is not compressed with zstd");
	if (r > 0)
		r = find_end(&window, begin[MAGIC_SIZE], &end);
	if (r < 0)
		return archive_fail(err, r, name, "the file cannot be read",
				    "check the file system");
	if (r == 0 || end > n_bytes)
		return archive_fail_format(err, name, "it ends too early");
	if (end < n_bytes)
		return archive_fail_format(err, name, "there are bytes after its end");
	return 0;
}

/* ---- the members ---- */

const char *archive_member_name(enum archive_member member)
{
	static const char *const names[] = {
		[MEMBER_ABOUT] = "segment.json",
		[MEMBER_NOTES] = "checkpoints",
		[MEMBER_RECORDS] = "records.jsonl",
	};

	return names[member];
}

int archive_fail(struct sbx_error *err, int code, const char *name, const char *why,
		 const char *fix)
{
	return error_fill(err, code, why, fix, "cannot read the archive '%s'", name);
}

int archive_fail_format(struct sbx_error *err, const char *name, const char *why)
{
	return archive_fail(err, -EBADMSG, name, why,
			    "keep the file, and replace it with a copy of the archive");
}

/* archive_errno() is ENOMEM or EIO if a system call failed; any other error means that the file is
 * not a valid archive. */
static int fail_tar(struct stream *stream, struct sbx_error *err)
{
	const char *why = archive_error_string(stream->tar);

	if (archive_errno(stream->tar) == ENOMEM)
		return archive_fail(err, -ENOMEM, stream->name, NULL, "free some memory");
	if (archive_errno(stream->tar) == EIO)
		return archive_fail(err, -EIO, stream->name, NULL, "check the file system");
	return archive_fail_format(err, stream->name, why ? why : "it ends too early");
}

/* ---- open ---- */

static la_ssize_t read_packed(struct archive *tar, void *userdata, const void **ret)
{
	struct stream *stream = userdata;
	uint64_t left = stream->n_packed - stream->at;
	ssize_t n;

	do
		n = pread(stream->fd, stream->packed,
			  left < sizeof(stream->packed) ? left : sizeof(stream->packed),
			  (off_t)stream->at);
	while (n < 0 && errno == EINTR);
	if (n < 0) {
		archive_set_error(tar, EIO, "the file cannot be read");
		return -1;
	}
	stream->at += (uint64_t)n;
	*ret = stream->packed;
	return n;
}

struct stream *stream_free(struct stream *stream)
{
	if (!stream)
		return NULL;
	if (stream->tar)
		(void)archive_read_free(stream->tar);
	free(stream->bytes);
	free(stream);
	return NULL;
}

int stream_open(int fd, uint64_t n_packed, const char *name, size_t size, struct stream **ret,
		struct sbx_error *err)
{
	_cleanup_stream_ struct stream *stream = calloc(1, sizeof(*stream));

	if (stream) {
		stream->bytes = malloc(size);
		stream->tar = archive_read_new();
	}
	if (!stream || !stream->bytes || !stream->tar)
		return archive_fail(err, -ENOMEM, name, NULL, "free some memory");
	stream->fd = fd;
	stream->n_packed = n_packed;
	stream->name = name;
	stream->size = size;
	/* ARCHIVE_WARN means that libarchive would run an external zstd program: refuse that,
	 * too. */
	if (archive_read_support_filter_zstd(stream->tar) != ARCHIVE_OK ||
	    archive_read_support_format_tar(stream->tar) != ARCHIVE_OK)
		return archive_fail(err, -ENOTSUP, name, "libarchive cannot read zstd",
				    "install a libarchive with zstd");
	if (archive_read_open(stream->tar, stream, NULL, read_packed, NULL) != ARCHIVE_OK)
		return fail_tar(stream, err);
	*ret = take_ptr(stream);
	return 0;
}

/* ---- members ---- */

/* The reason why the log cannot have written this member, or NULL. */
static const char *why_not(struct stream *stream, struct archive_entry *entry, uint64_t max)
{
	const char *path = archive_entry_pathname(entry);

	if (archive_filter_count(stream->tar) != 2 ||
	    archive_filter_code(stream->tar, 0) != ARCHIVE_FILTER_ZSTD)
		return "it is not compressed with zstd exactly once";
	if (!path ||
	    strcmp(path, archive_member_name((enum archive_member)stream->next_member)) != 0)
		return "it has an unexpected member, or members in another order";
	if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) ||
	    archive_entry_symlink(entry) || archive_entry_perm(entry) != ARCHIVE_MODE ||
	    archive_entry_uid(entry) != 0 || archive_entry_gid(entry) != 0 ||
	    archive_entry_mtime(entry) != 0 || archive_entry_xattr_count(entry) != 0 ||
	    archive_entry_sparse_count(entry) != 0)
		return "a member is not a regular file";
	if (!archive_entry_size_is_set(entry) || archive_entry_size(entry) < 0 ||
	    (uint64_t)archive_entry_size(entry) > max)
		return "a member is too large";
	return NULL;
}

int stream_next_member(struct stream *stream, uint64_t max, struct sbx_error *err)
{
	struct archive_entry *entry;
	int r = archive_read_next_header(stream->tar, &entry);
	const char *why;

	if (r == ARCHIVE_EOF)
		return archive_fail_format(err, stream->name, "a member is missing");
	if (r != ARCHIVE_OK)
		return fail_tar(stream, err);
	why = why_not(stream, entry, max);
	if (why)
		return archive_fail_format(err, stream->name, why);
	stream->left = (uint64_t)archive_entry_size(entry);
	stream->begin = stream->end = 0;
	stream->next_member++;
	return 0;
}

int stream_fill(struct stream *stream, struct sbx_error *err)
{
	memmove(stream->bytes, stream->bytes + stream->begin, stream->end - stream->begin);
	stream->end -= stream->begin;
	stream->begin = 0;
	while (stream->left > 0 && stream->end < stream->size) {
		size_t room = stream->size - stream->end;
		la_ssize_t n = archive_read_data(stream->tar, stream->bytes + stream->end,
						 room < stream->left ? room : stream->left);

		if (n <= 0)
			return fail_tar(stream, err);
		stream->end += (size_t)n;
		stream->left -= (uint64_t)n;
	}
	return 0;
}

bool stream_is_at_end(const struct stream *stream)
{
	return stream->left == 0 && stream->begin == stream->end;
}

int stream_skip(struct stream *stream, struct sbx_error *err)
{
	int r = 0;

	while (r == 0 && !stream_is_at_end(stream)) {
		stream->begin = stream->end;
		r = stream_fill(stream, err);
	}
	return r;
}

int stream_expect_end(struct stream *stream, struct sbx_error *err)
{
	struct archive_entry *entry;
	int r = archive_read_next_header(stream->tar, &entry);

	if (r == ARCHIVE_OK)
		return archive_fail_format(err, stream->name, "it has additional members");
	return r == ARCHIVE_EOF ? 0 : fail_tar(stream, err);
}
