/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * One small attack each, to be run inside a sandbox, where it must be refused, and outside, where
 * it must succeed: otherwise it proves nothing
 *
 *   escape NAME    exit status 0: the attack worked, 1: it was refused, 2: this host has no such
 *                  thing
 *   escape --list  NAME and who must run it outside (root, user), one a line
 *
 * What is attacked stands in the environment: ESCAPE_SECRET (a file outside of the sandbox),
 * ESCAPE_SHOWN (a file that may be read and not written), ESCAPE_VICTIM (a process), ESCAPE_SOCKET
 * and ESCAPE_ABSTRACT (listening sockets), ESCAPE_DATAGRAM (a socket for datagrams), ESCAPE_PORT (a
 * listener on our loopback), ESCAPE_SHM (the key of a shared memory segment). Outside nothing is
 * really damaged: to be allowed to is enough.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum escape_verdict {
	ESCAPED = 0,
	REFUSED = 1,
	UNKNOWN = 2, /* neither: the host lacks what the attack is about */
};

/* Who can do it where nothing protects. */
enum escape_needs {
	NEEDS_USER,
	NEEDS_ROOT,
	NEEDS_NOTHING_OUTSIDE, /* cannot be shown outside without damage; says why in its comment */
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

/* "" where it is not set. */
const char *escape_target(const char *name);
long escape_number(const char *name);

/* A call that gives 0 or more has worked; one that the kernel does not have says nothing outside,
 * but is as good as refused inside: ENOSYS is what a filter answers. */
static inline enum escape_verdict escape_judge(long result)
{
	return result >= 0 ? ESCAPED : REFUSED;
}
/* The same, where reaching the kernel's own check of arguments shows that nothing stood before it.
 */
static inline enum escape_verdict escape_judge_reached(long result, int reached)
{
	return result >= 0 || errno == reached ? ESCAPED : REFUSED;
}
