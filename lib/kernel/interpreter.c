/* SPDX-License-Identifier: MIT */

/*
 * execve() fails with ENOENT for a missing program and for a missing loader: the file shows which
 * it is
 *
 * Runs after vfork() in the memory of PID 1, so it must not allocate. The file is untrusted:
 * offsets and lengths from it are only used in bounded pread() calls.
 */

#include "kernel/interpreter.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define PROGRAM_HEADERS_MAX 64
#define NESTED_MAX 5 /* the kernel's limit of nested scripts */

/* An offset and a size in a file. */
struct extent {
	uint64_t offset;
	uint64_t size;
};

static int read_at(int fd, uint64_t offset, void *ret, size_t size)
{
	ssize_t n = offset > INT32_MAX ? -1 : pread(fd, ret, size, (off_t)offset);

	return n == (ssize_t)size ? 0 : -ENOEXEC;
}

/* "#! /usr/bin/env python": the path after "#!" */
static int find_in_script(int fd, char ret[INTERPRETER_MAX])
{
	char line[INTERPRETER_MAX + 16];
	ssize_t n = pread(fd, line, sizeof(line) - 1, 0);
	size_t begin = 2, len;

	if (n < 2 || memcmp(line, "#!", 2) != 0)
		return -ENOEXEC;
	line[n] = '\0';
	begin += strspn(line + begin, " \t");
	len = strcspn(line + begin, " \t\n");
	if (len == 0 || len >= INTERPRETER_MAX || begin + len >= (size_t)n)
		return -ENOEXEC;
	memcpy(ret, line + begin, len);
	ret[len] = '\0';
	return 0;
}

static int read_header_64(int fd, uint64_t offset, struct extent *ret)
{
	Elf64_Phdr header;

	if (read_at(fd, offset, &header, sizeof(header)) < 0 || header.p_type != PT_INTERP)
		return -ENOEXEC;
	*ret = (struct extent){ header.p_offset, header.p_filesz };
	return 0;
}

static int read_header_32(int fd, uint64_t offset, struct extent *ret)
{
	Elf32_Phdr header;

	if (read_at(fd, offset, &header, sizeof(header)) < 0 || header.p_type != PT_INTERP)
		return -ENOEXEC;
	*ret = (struct extent){ header.p_offset, header.p_filesz };
	return 0;
}

/* Finds the program header PT_INTERP, with the path of the loader. */
static int find_loader(int fd, struct extent *ret)
{
	Elf64_Ehdr wide;
	Elf32_Ehdr narrow;
	bool is_wide;
	unsigned n;

	if (read_at(fd, 0, &narrow, sizeof(narrow)) < 0 ||
	    memcmp(narrow.e_ident, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	is_wide = narrow.e_ident[EI_CLASS] == ELFCLASS64;
	if (is_wide && read_at(fd, 0, &wide, sizeof(wide)) < 0)
		return -ENOEXEC;
	n = is_wide ? wide.e_phnum : narrow.e_phnum;
	for (unsigned i = 0; i < n && i < PROGRAM_HEADERS_MAX; i++) {
		int r = is_wide ? read_header_64(fd, wide.e_phoff + i * sizeof(Elf64_Phdr), ret)
				: read_header_32(fd, narrow.e_phoff + i * sizeof(Elf32_Phdr), ret);

		if (r == 0)
			return 0;
	}
	return -ENOEXEC;
}

static int find_in_elf(int fd, char ret[INTERPRETER_MAX])
{
	struct extent loader;
	int r = find_loader(fd, &loader);

	if (r < 0)
		return r;
	if (loader.size < 2 || loader.size > INTERPRETER_MAX)
		return -ENOEXEC;
	r = read_at(fd, loader.offset, ret, loader.size);
	return r < 0 || ret[loader.size - 1] != '\0' ? -ENOEXEC : 0;
}

int interpreter_read(int fd, char ret[INTERPRETER_MAX])
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	return find_in_script(fd, ret) == 0 ? 0 : find_in_elf(fd, ret);
}

int interpreter_find_missing(const char *path, char ret[INTERPRETER_MAX])
{
	char name[INTERPRETER_MAX] = "";

	for (int i = 0; i < NESTED_MAX; i++) {
		_cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		int r = fd < 0 ? -errno : interpreter_read(fd, name);

		if (r < 0)
			return r;
		memcpy(ret, name, sizeof(name));
		if (access(ret, F_OK) < 0)
			return 0;
		path = ret;
	}
	return -ELOOP;
}
