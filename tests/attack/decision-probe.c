/* SPDX-License-Identifier: MIT */

/*
 * Tries operations on paths, one in each line ("read /srv/x"), and prints those that the kernel
 * permitted
 *
 * Each operation is undone at once, so that the next one finds the original tree; unlinking comes
 * last.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

static bool try_open(const char *path, int flags)
{
	int fd = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	/* A FIFO without a reader: ENXIO comes after the permission check. */
	if (fd < 0)
		return errno == ENXIO && (flags & O_ACCMODE) == O_WRONLY;
	(void)close(fd);
	return true;
}

static bool try_read(const char *path)
{
	return try_open(path, O_RDONLY);
}

static bool try_write(const char *path)
{
	struct stat status;

	/* Sockets are tested with connect(), because open() always fails with ENXIO. */
	if (stat(path, &status) == 0 && S_ISSOCK(status.st_mode))
		return false;
	return try_open(path, O_WRONLY);
}

static bool try_create(const char *path)
{
	char name[PATH_MAX];
	int fd;

	(void)snprintf(name, sizeof(name), "%s/created", path);
	fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return false;
	(void)close(fd);
	(void)unlink(name);
	return true;
}

/* Parent directories of visible paths are created by the sandbox, and empty. */
static bool try_list(const char *path)
{
	DIR *directory = opendir(path);
	const struct dirent *entry;
	bool is_found = false;

	if (!directory)
		return false;
	while (!is_found && (entry = readdir(directory)))
		is_found = strcmp(entry->d_name, ".of-the-host") == 0;
	(void)closedir(directory);
	return is_found;
}

static bool try_exec(const char *path)
{
	int status, result[2];
	char byte;
	bool is_run;
	pid_t pid;

	if (pipe2(result, O_CLOEXEC) < 0)
		return false;
	pid = fork();
	if (pid == 0) {
		(void)execl(path, path, (char *)NULL);
		(void)!write(result[1], "x", 1);
		_exit(1);
	}
	(void)close(result[1]);
	/* End of file without a byte: exec closed the pipe. */
	is_run = pid > 0 && read(result[0], &byte, 1) == 0;
	(void)close(result[0]);
	if (pid > 0)
		(void)waitpid(pid, &status, 0);
	return is_run;
}

static bool try_rename(const char *path)
{
	char name[PATH_MAX];

	(void)snprintf(name, sizeof(name), "%s.renamed", path);
	if (rename(path, name) < 0)
		return false;
	(void)rename(name, path);
	return true;
}

/* Creates the file with the directories in front of it from @from on. */
static bool make_again(char *path, char *from)
{
	bool is_made = true;
	int fd;

	for (char *slash = from; is_made && slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		is_made = mkdir(path, 0777) == 0;
		*slash = '/';
	}
	fd = is_made ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666) : -1;
	if (fd < 0)
		return false;
	(void)close(fd);
	return true;
}

static void remove_made(char *path, char *from)
{
	(void)unlink(path);
	for (char *slash = strrchr(path, '/'); slash && slash >= from; slash = strrchr(path, '/')) {
		*slash = '\0';
		(void)rmdir(path);
	}
}

/* Moves each directory on the way to the path away in turn, and creates another file of this name.
 */
static bool try_replace(const char *path)
{
	bool is_replaced = false;

	for (const char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		char copy[PATH_MAX], moved[PATH_MAX + 8];
		size_t n = (size_t)(at - path);

		(void)snprintf(copy, sizeof(copy), "%.*s", (int)n, path);
		(void)snprintf(moved, sizeof(moved), "%s.moved", copy);
		if (rename(copy, moved) < 0)
			continue;
		(void)snprintf(copy, sizeof(copy), "%s", path);
		is_replaced |= make_again(copy, copy + n);
		remove_made(copy, copy + n);
		copy[n] = '\0';
		(void)rename(moved, copy);
	}
	return is_replaced;
}

static bool try_unlink(const char *path)
{
	return unlink(path) == 0;
}

static bool try_connect(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool is_connected;

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	is_connected = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
	(void)close(fd);
	return is_connected;
}

static const struct {
	const char *name;
	bool (*try)(const char *path);
} attempts[] = {
	{ "read", try_read },	  { "write", try_write },     { "create", try_create },
	{ "list", try_list },	  { "exec", try_exec },	      { "rename", try_rename },
	{ "unlink", try_unlink }, { "connect", try_connect }, { "replace", try_replace },
};

int main(void)
{
	char line[PATH_MAX + 16];

	while (fgets(line, sizeof(line), stdin)) {
		char *path = strchr(line, ' ');

		line[strcspn(line, "\n")] = '\0';
		if (!path)
			return 2;
		*path++ = '\0';
		for (size_t i = 0; i < N_ELEMENTS(attempts); i++)
			if (strcmp(attempts[i].name, line) == 0 && attempts[i].try(path))
				printf("%s %s\n", line, path);
		(void)fflush(stdout);
	}
	return 0;
}
