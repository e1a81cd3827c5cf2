/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What a process of the proxy can still do after a hostile client, server or name server has taken
 * it over
 *
 * A worker reads bytes of the sandbox and of every server, its resolver those of name servers.
 * Each confines itself before it reads the first one, for good: no new privileges, no
 * capabilities, no files except those named here, no TCP port of its own, and only the system
 * calls of a table. Any other call kills the process.
 */

#include <stdbool.h>

struct sbx_error;

enum confine_role {
	CONFINE_WORKER,
	CONFINE_RESOLVER, /* reads the files that configure name resolution */
};

/* Directories; NULL: none. Without Landlock neither can be used. */
struct confinement {
	enum confine_role role;
	const char *readable; /* files in it may be read: a reload reads the policy again */
	const char *writable; /* records may be added to files in it: the spool */
};

/* Builds with sanitizers or coverage are not confined, because their own code makes other calls and
 * writes files: then the functions below do nothing. */
bool confine_is_built(void);
/* Does the kernel restrict files? */
bool confine_has_landlock(void);

/*
 * Two steps, because the worker starts its resolver between them: a filter that allowed this would
 * allow a hostile worker to start processes, too. The first drops privileges.
 */
int confine_files(const struct confinement *confinement, struct sbx_error *err);
int confine_calls(const struct confinement *confinement, struct sbx_error *err);
