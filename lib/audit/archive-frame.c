/* SPDX-License-Identifier: MIT */

/*
 * An archive is one zstd frame (RFC 8878, 3.1.1), from the first byte of the file to the last
 *
 * libarchive takes frames one behind the other for one, and stops reading where the tar ends. So
 * what somebody has put behind it would be in the file, in its digest and in copies of it, and
 * nobody would have looked at it. The lengths of the blocks lead to the frame's end without
 * unpacking them.
 */

#include "audit/archive-internal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define WINDOW_SIZE 4096
#define MAGIC_SIZE 4
#define HAS_CHECKSUM 0x04
#define IS_SINGLE_SEGMENT 0x20
#define BLOCK_HEADER_SIZE 3
#define BLOCK_RLE 1
#define BLOCK_SIZE_MAX (128 * 1024) /* of what is packed, and of what it becomes */
#define CHECKSUM_SIZE 4

/* A part of the file, so that a row of blocks with nothing in them is not a read for each. */
struct window {
	int fd;
	uint64_t at;
	size_t n;
	uint8_t bytes[WINDOW_SIZE];
};

/* 1, or 0 where the file ends before. */
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

/* The bytes behind the magic number up to the first block, from the first of them. */
static uint64_t header_size(uint8_t descriptor)
{
	static const uint8_t dictionary_sizes[] = { 0, 1, 2, 4 };
	static const uint8_t content_sizes[] = { 0, 2, 4, 8 };
	bool is_single = (descriptor & IS_SINGLE_SEGMENT) != 0;
	uint64_t size = 1 + !is_single + dictionary_sizes[descriptor & 3];

	return size + (descriptor >> 6 == 0 ? is_single : content_sizes[descriptor >> 6]);
}

/* Where a frame that begins with this descriptor ends: 1, 0 where it has no end. */
static int find_end(struct window *window, uint8_t descriptor, uint64_t *ret)
{
	uint8_t header[BLOCK_HEADER_SIZE] = { 0 };
	uint64_t at = MAGIC_SIZE + header_size(descriptor);

	/* The lowest bit says that no block comes behind. */
	while ((header[0] & 1) == 0) {
		int r = read_at(window, at, header, sizeof(header));
		uint64_t size;

		if (r <= 0)
			return r;
		size = (uint64_t)(header[0] >> 3 | header[1] << 5 | header[2] << 13);
		/* Only a hole has empty blocks one behind the other; and none is larger than this.
		 */
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
		return archive_fail_format(err, name, "it is not packed with zstd");
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
