/* SPDX-License-Identifier: MIT */

/*
 * Does the command's user have a line in /etc/passwd?
 *
 * getpwuid() would query all NSS services of the host; in a sandbox only the files are available.
 */

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/probe-internal.h"
#include "kernel/probe.h"

#define FILE_BYTES_MAX (64 * 1024)

/* The uid or gid is the third field. */
static bool is_of(const char *line, uint64_t number)
{
	const char *name_end = strchr(line, ':'),
		   *third = name_end ? strchr(name_end + 1, ':') : NULL;
	char *end;

	return third && third[1] >= '0' && third[1] <= '9' &&
	       strtoull(third + 1, &end, 10) == number && *end == ':';
}

/*
 * Does the file exist without a line for the number? A file that is too long counts as having one.
 */
static bool lacks(const char *path, uint64_t number)
{
	char text[FILE_BYTES_MAX], *next = text, *line;

	if (probe_read(AT_FDCWD, path, text, sizeof(text)) < 0)
		return false;
	while ((line = strsep(&next, "\n")))
		if (is_of(line, number))
			return false;
	return true;
}

void host_find_accounts(bool has_number, uid_t uid, gid_t gid, struct host *host)
{
	bool is_nobodys = !has_number && host->uid == 0;

	if (is_nobodys)
		/* (uid_t)-1 is not a valid uid. */
		uid = (uid_t)-1, gid = (gid_t)-1;
	else if (!has_number)
		uid = host->uid, gid = host->gid;
	host->lacks_user = lacks("/etc/passwd", uid);
	host->lacks_group = host->lacks_user && lacks("/etc/group", gid);
}
