/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Small attacks, each run inside a sandbox, where it must be refused, and outside, where it must
 * succeed: otherwise it proves nothing
 *
 *   escape NAME    exit status 0: the attack worked, 1: it was refused, 2: this host has no
 *                  such thing
 *   escape --list  NAME and who must run it outside (root, user), one in each line
 *
 * The targets are in the environment: ESCAPE_SECRET (a file outside of the sandbox), ESCAPE_SHOWN
 * (a file that may be read but not written), ESCAPE_VICTIM (a process), ESCAPE_SOCKET and
 * ESCAPE_ABSTRACT (listening sockets), ESCAPE_DATAGRAM (a datagram socket), ESCAPE_PORT (a listener
 * on the host's loopback), ESCAPE_SHM (the key of a shared memory segment). Outside, nothing is
 * really damaged: the permission is what counts.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum escape_verdict {
	ESCAPED = 0,
	REFUSED = 1,
	UNKNOWN = 2, /* neither: the host lacks the object of the attack */
};

/* Which user can do it without protection. */
enum escape_needs {
	NEEDS_USER,
	NEEDS_ROOT,
	NEEDS_NOTHING_OUTSIDE, /* cannot be shown outside without damage; a comment says why */
};

struct escape {
	const char *name; /* NULL ends a table */
	enum escape_needs needs;
	enum escape_verdict (*run)(long parameter);
	long parameter;
};

extern const struct escape escapes_namespaces[];
extern const struct escape escapes_mounts[];
extern const struct escape escapes_files[];
extern const struct escape escapes_processes[];
extern const struct escape escapes_sockets[];
extern const struct escape escapes_attributes[];
extern const struct escape escapes_kernel[];
extern const struct escape escapes_privileges[];

/* "" if it is not set. */
const char *escape_target(const char *name);
long escape_number(const char *name);

/* A call that returns 0 or more has worked. ENOSYS counts as refused inside, because filters return
 * it; outside it proves nothing. */
static inline enum escape_verdict escape_judge(long result)
{
	return result >= 0 ? ESCAPED : REFUSED;
}
/* The same, but @reached is the errno of the kernel's own argument check, after any permission
 * check: the call has worked.
 */
static inline enum escape_verdict escape_judge_reached(long result, int reached)
{
	return result >= 0 || errno == reached ? ESCAPED : REFUSED;
}
