/* SPDX-License-Identifier: MIT */

/*
 * Replaces scope.so: creates the cgroup of the scope below $SBX_TEST_CGROUP, and refuses limits
 * other than those that the test expects
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "scope/scope.h"

__attribute__((__visibility__("default"))) scope_start_fn sbx_scope_start;
__attribute__((__visibility__("default"))) scope_join_fn sbx_scope_join;

static int refuse(char **ret_why)
{
	*ret_why = strdup("the manager does not want to");
	return -ECONNREFUSED;
}

int sbx_scope_start(const char *unit, const pid_t pids[SCOPE_PROCESSES],
		    const struct scope_limits *limits, const char *description, char **ret_cgroup,
		    char **ret_why)
{
	const char *parent = getenv("SBX_TEST_CGROUP");
	_cleanup_free_ char *directory = NULL, *path = NULL;
	_cleanup_close_ int fd = -EBADF;
	char number[16];

	if (!parent || limits->memory_max_bytes != 1234 || limits->cpu_quota_usec != 0 ||
	    limits->tasks_max != 10 || strcmp(description, "Sandbox a.b") != 0)
		return refuse(ret_why);
	if (asprintf(&directory, "%s/%s", parent, unit) < 0 || mkdir(directory, 0755) < 0 ||
	    asprintf(&path, "%s/cgroup.procs", directory) < 0)
		return -errno;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	for (size_t i = 0; fd >= 0 && i < SCOPE_PROCESSES; i++) {
		(void)snprintf(number, sizeof(number), "%d", (int)pids[i]);
		if (fd_write_all(fd, number, strlen(number)) < 0)
			return -EIO;
	}
	if (fd < 0)
		return -EIO;
	*ret_cgroup = take_ptr(directory);
	return 0;
}

/* The test has the permission to move the process itself. */
int sbx_scope_join(const char *unit, const char *directory)
{
	return -ENOTSUP;
}
