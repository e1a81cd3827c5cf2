/* SPDX-License-Identifier: MIT */

/*
 * The user namespace is the inode behind /proc/PID/ns/user. Reading that needs the right to trace
 * the process, which a service with a user of its own and without capabilities has for nobody but
 * itself. /proc/PID/uid_map needs no right, and is as good in one case: ours maps all ids. Only
 * CAP_SETUID outside of all sandboxes can write the same into a child's; sbx maps one id, and an
 * ordinary user can map no more.
 */

#include "service/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"

#define PROC_BYTES_MAX 65536
#define ALL_IDS 4294967295u

const char *place_name(enum place place)
{
	static const char *const names[] = {
		[PLACE_UNKNOWN] = "unknown",
		[PLACE_IN_NAMESPACE] = "user_namespace",
		[PLACE_IN_SANDBOX] = "sandbox_cgroup",
	};

	return names[place];
}

static int read_proc(const char *of, const char *name, char **ret)
{
	char path[64];
	size_t n_bytes;

	(void)snprintf(path, sizeof(path), "/proc/%s/%s", of, name);
	return file_read(AT_FDCWD, path, PROC_BYTES_MAX, ret, &n_bytes, NULL);
}

static bool maps_all_ids(const char *of)
{
	_cleanup_free_ char *map = NULL;
	unsigned first, outside, count;

	return read_proc(of, "uid_map", &map) == 0 &&
	       sscanf(map, "%u %u %u", &first, &outside, &count) == 3 && first == 0 &&
	       outside == 0 && count == ALL_IDS;
}

static enum place by_namespace(const char *pid)
{
	struct stat ours, its;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%s/ns/user", pid);
	if (stat("/proc/self/ns/user", &ours) < 0)
		return PLACE_UNKNOWN;
	if (stat(path, &its) == 0)
		return ours.st_dev == its.st_dev && ours.st_ino == its.st_ino ? PLACE_BESIDE
									      : PLACE_IN_NAMESPACE;
	if ((errno != EACCES && errno != EPERM) || !maps_all_ids("self"))
		return PLACE_UNKNOWN;
	return maps_all_ids(pid) ? PLACE_BESIDE : PLACE_IN_NAMESPACE;
}

static bool ends_with(const char *name, size_t len, const char *end)
{
	return len >= strlen(end) && memcmp(name + len - strlen(end), end, strlen(end)) == 0;
}

/* sbx-ID, or sbx-ID.scope with sbx-ID in it. Our services and their slices are none. */
static bool is_sandbox(const char *name, size_t len)
{
	return len > 4 && memcmp(name, "sbx-", 4) == 0 && !ends_with(name, len, ".service") &&
	       !ends_with(name, len, ".slice");
}

/* How much of what /proc says of a process's cgroups is up to the innermost sandbox; 0 where there
 * is none. */
static size_t count_to_sandbox(const char *cgroups)
{
	size_t n = 0;

	for (const char *at = cgroups; *at;) {
		size_t len = strcspn(at, "/\n");

		if (is_sandbox(at, len))
			n = (size_t)(at - cgroups) + len;
		at += len;
		at += *at != '\0';
	}
	return n;
}

bool place_is_same_sandbox(const char *ours, const char *its)
{
	size_t n = count_to_sandbox(its);

	return n == count_to_sandbox(ours) && memcmp(ours, its, n) == 0;
}

static enum place by_cgroup(const char *pid)
{
	_cleanup_free_ char *ours = NULL, *its = NULL;

	if (read_proc("self", "cgroup", &ours) < 0 || read_proc(pid, "cgroup", &its) < 0)
		return PLACE_UNKNOWN;
	return place_is_same_sandbox(ours, its) ? PLACE_BESIDE : PLACE_IN_SANDBOX;
}

enum place place_of(pid_t pid)
{
	char number[16];
	enum place place;

	(void)snprintf(number, sizeof(number), "%d", pid);
	place = by_namespace(number);
	return place == PLACE_BESIDE ? by_cgroup(number) : place;
}
