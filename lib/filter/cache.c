/* SPDX-License-Identifier: MIT */

/*
 * A cache file: a header, the key, the BPF instructions, nothing else
 *
 * A file is only used if no other user could have written it: a regular file owned by this user,
 * not writable by others, with one link. A file that fails any check is replaced. The checksum only
 * detects files that a crash of the host left incomplete.
 */

#include "filter/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/text.h"
#include "filter/checksum.h"

#define MAGIC "sbxfilt1"
#define NAME_SIZE sizeof("filter-0123456789abcdef.bpf")

struct header {
	char magic[8];
	uint32_t key_size;
	uint32_t n_code;
	uint64_t checksum; /* over key and code */
};

#define FILE_MAX (sizeof(struct header) + CACHE_KEY_MAX + BPF_MAXINSNS * sizeof(struct sock_filter))

static void name_of(const char *key, char name[NAME_SIZE])
{
	(void)snprintf(name, NAME_SIZE, "filter-%016" PRIx64 ".bpf",
		       checksum_add(CHECKSUM_START, key, strlen(key)));
}

static uint64_t sum_of(const char *key, const void *code, size_t code_size)
{
	return checksum_add(checksum_add(CHECKSUM_START, key, strlen(key)), code, code_size);
}

int cache_parse(const void *bytes, size_t n_bytes, const char *key, struct sock_filter **ret,
		size_t *ret_n)
{
	const unsigned char *rest = (const unsigned char *)bytes + sizeof(struct header);
	size_t key_size = strlen(key), code_size;
	struct sock_filter *code;
	struct header header;

	if (n_bytes < sizeof(header))
		return -EBADMSG;
	memcpy(&header, bytes, sizeof(header));
	n_bytes -= sizeof(header);
	if (memcmp(header.magic, MAGIC, sizeof(header.magic)) != 0 || header.n_code == 0 ||
	    header.n_code > BPF_MAXINSNS)
		return -EBADMSG;
	code_size = header.n_code * sizeof(*code);
	if (header.key_size != key_size || n_bytes != key_size + code_size ||
	    memcmp(rest, key, key_size) != 0)
		return -EBADMSG;
	rest += key_size;
	if (header.checksum != sum_of(key, rest, code_size))
		return -EBADMSG;
	code = malloc(code_size);
	if (!code)
		return -ENOMEM;
	memcpy(code, rest, code_size);
	*ret = code;
	*ret_n = header.n_code;
	return 0;
}

static bool is_ours_alone(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
	       (status.st_mode & (S_IWGRP | S_IWOTH)) == 0 && status.st_nlink == 1;
}

int cache_read(int dirfd, const char *key, struct sock_filter **ret, size_t *ret_n)
{
	_cleanup_close_ int fd = -EBADF;
	_cleanup_free_ char *bytes = NULL;
	char name[NAME_SIZE];
	size_t n_bytes;
	int r;

	name_of(key, name);
	/* These flags make opening a FIFO, a device, a terminal or a link harmless. */
	fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if (!is_ours_alone(fd))
		return -EPERM;
	r = file_read_fd(fd, name, FILE_MAX, &bytes, &n_bytes, NULL);
	if (r < 0)
		return r;
	return cache_parse(bytes, n_bytes, key, ret, ret_n);
}

/* No fsync(): the checksum detects a file that a crash left incomplete, and it is written again. */
static int replace(int dirfd, const char *name, const struct text *file)
{
	_cleanup_close_ int fd = -EBADF;
	char temporary[sizeof(".filter-0123456789abcdef")];
	uint64_t random;
	int r;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -errno;
	(void)snprintf(temporary, sizeof(temporary), ".filter-%016" PRIx64, random);
	fd = openat(dirfd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, file->data, file->len);
	if (r == 0 && renameat(dirfd, temporary, dirfd, name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(dirfd, temporary, 0);
	return r;
}

int cache_write(int dirfd, const char *key, const struct sock_filter *code, size_t n)
{
	struct header header = { .magic = MAGIC,
				 .key_size = (uint32_t)strlen(key),
				 .n_code = (uint32_t)n,
				 .checksum = sum_of(key, code, n * sizeof(*code)) };
	_cleanup_text_ struct text file = TEXT_INIT;
	char name[NAME_SIZE];

	if (strlen(key) > CACHE_KEY_MAX)
		return -EFBIG;
	text_add_bytes(&file, &header, sizeof(header));
	text_add(&file, key);
	text_add_bytes(&file, code, n * sizeof(*code));
	if (text_status(&file) < 0)
		return -ENOMEM;
	name_of(key, name);
	return replace(dirfd, name, &file);
}
