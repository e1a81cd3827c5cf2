/* SPDX-License-Identifier: MIT */

/*
 * The two system calls that reading a key takes, for which libc has no wrappers
 *
 * A key's permissions are four bytes: possessor, user, group, others. add_key(2) gives the last two
 * nothing.
 */

#include "audit/keyring.h"

#include <errno.h>
#include <linux/keyctl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DESCRIPTION_MAX 256
#define GROUP_AND_OTHERS 0xffff

/* "user;UID;GID;PERMISSIONS;NAME", the permissions in hexadecimal digits. */
static int check_owner(long key)
{
	char description[DESCRIPTION_MAX];
	unsigned uid, gid, permissions;
	long n = syscall(SYS_keyctl, KEYCTL_DESCRIBE, key, description, sizeof(description));

	if (n < 0)
		return -ENOKEY;
	if ((size_t)n > sizeof(description) ||
	    sscanf(description, "user;%u;%u;%x;", &uid, &gid, &permissions) != 3)
		return -EPERM;
	if ((uid != geteuid() && uid != 0) || (permissions & GROUP_AND_OTHERS) != 0)
		return -EPERM;
	return 0;
}

ssize_t keyring_read(const char *name, void *bytes, size_t size)
{
	/* Without callout information the kernel starts no program to find the key. */
	long key = syscall(SYS_request_key, "user", name, NULL, 0), n;
	int r = key < 0 ? -ENOKEY : check_owner(key);

	if (r < 0)
		return r;
	n = syscall(SYS_keyctl, KEYCTL_READ, key, bytes, size);
	if (n < 0)
		return -ENOKEY;
	return (size_t)n <= size ? n : -EBADMSG;
}
