/* SPDX-License-Identifier: MIT */

/*
 * The bytes are a path, or two separated by a newline. The lexical functions must agree with each
 * other, and a path that opens beneath a directory full of traps must really be there: the kernel
 * says where the fd is. A failed check is an abort.
 */

#include "base/path.h"

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static void check(bool condition)
{
	if (!condition)
		abort();
}

/* Removed when the process exits; the names are short, so that mutations contain them. */
static char root_path[] = "/tmp/sbx-fuzz-path-XXXXXX";
static int root = -1;

static void remove_root(void)
{
	static const char *const links[] = { "o", "a", "p", "i", "d/o" };

	for (size_t i = 0; i < N_ELEMENTS(links); i++)
		(void)unlinkat(root, links[i], 0);
	(void)unlinkat(root, "d/e", AT_REMOVEDIR);
	(void)unlinkat(root, "d", AT_REMOVEDIR);
	(void)rmdir(root_path);
}

static void make_root(void)
{
	check(mkdtemp(root_path) != NULL);
	root = open(root_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	check(root >= 0);
	check(mkdirat(root, "d", 0755) == 0 && mkdirat(root, "d/e", 0755) == 0);
	check(symlinkat("..", root, "o") == 0 && symlinkat("/", root, "a") == 0);
	check(symlinkat("/proc/self/root", root, "p") == 0 && symlinkat("d", root, "i") == 0);
	check(symlinkat("../..", root, "d/o") == 0);
	check(atexit(remove_root) == 0);
}

static void check_beneath(const char *path)
{
	_cleanup_close_ int fd = path_open_beneath(root, path, O_PATH, 0);
	char link[64], place[PATH_MAX];

	if (fd < 0)
		return;
	check(fcntl(fd, F_GETFD) == FD_CLOEXEC);
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);

	ssize_t n = readlink(link, place, sizeof(place) - 1);

	if (n < 0)
		return; /* no /proc: the place of the fd is unknown */
	place[n] = '\0';
	check(path_is_normal(place) && path_is_beneath(place, root_path));
}

static void check_one(const char *path)
{
	const char *last = path_last(path);

	check(last >= path && last <= path + strlen(path));
	check(strchr(last, '/') == NULL);
	check(last == path || last[-1] == '/');
	if (!path_is_normal(path)) {
		check(!path_is_beneath(path, "/") && !path_is_beneath("/", path));
		return;
	}
	check(path[0] == '/' && strlen(path) < PATH_MAX && !strstr(path, "//"));
	check(!strstr(path, "/../") && !strstr(path, "/./"));
	check(strcmp(path, "/") == 0 ||
	      (*last && strcmp(last, ".") != 0 && strcmp(last, "..") != 0));
	check(path_is_beneath(path, path) && path_is_beneath(path, "/"));
}

static void check_two(const char *path, const char *directory)
{
	if (!path_is_beneath(path, directory))
		return;
	check(path_is_normal(path) && path_is_normal(directory));
	check(strncmp(path, directory, strlen(directory)) == 0);
	/* Both are beneath each other only if they are equal. */
	check(!path_is_beneath(directory, path) || strcmp(path, directory) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	_cleanup_free_ char *path = strndup((const char *)bytes, n_bytes);

	if (!path)
		abort();
	if (root < 0)
		make_root();

	char *newline = strchr(path, '\n');

	if (newline) {
		*newline = '\0';
		check_one(newline + 1);
		check_two(path, newline + 1);
		check_two(newline + 1, path);
	}
	check_one(path);
	check_beneath(path);
	return 0;
}
