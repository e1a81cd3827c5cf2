/* SPDX-License-Identifier: MIT */

/*
 * The names of layers, tiers, limits and holders, each in one table
 */

#include "plan/layers.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

static const struct {
	enum layer layer;
	const char *name;
} layers[] = {
	{ LAYER_USER, "user" },
	{ LAYER_MOUNT, "mount" },
	{ LAYER_PID, "pid" },
	{ LAYER_IPC, "ipc" },
	{ LAYER_UTS, "uts" },
	{ LAYER_NET, "net" },
	{ LAYER_CGROUP_NAMESPACE, "cgroup-namespace" },
	{ LAYER_LANDLOCK, "landlock" },
	{ LAYER_SECCOMP, "seccomp" },
	{ LAYER_CAPABILITIES, "capabilities" },
	{ LAYER_CGROUP, "cgroup" },
};

static const struct {
	const char *name;
	enum tier tier;
} tiers[] = {
	{ "full", TIER_FULL },
	{ "reduced", TIER_REDUCED },
	{ "no-userns", TIER_REDUCED },
	{ "landlock-only", TIER_REDUCED },
};

static const char *const limits[N_LIMITS] = {
	[LIMIT_MEMORY] = "memory",	 [LIMIT_CPU] = "cpu",	    [LIMIT_PIDS] = "pids",
	[LIMIT_TIME] = "time",		 [LIMIT_FILES] = "files",   [LIMIT_PROCESSES] = "processes",
	[LIMIT_FILE_SIZE] = "file_size", [LIMIT_OUTPUT] = "output", [LIMIT_TMP_SIZE] = "tmp_size",
};

static const char *const holders[] = {
	[HELD_BY_NOBODY] = "nobody", [HELD_BY_CGROUP] = "cgroup",
	[HELD_BY_SCOPE] = "scope",   [HELD_BY_RLIMIT] = "rlimit",
	[HELD_BY_SIZE] = "size",     [HELD_BY_SUPERVISOR] = "supervisor",
};

const char *layer_name(enum layer layer)
{
	for (size_t i = 0; i < N_ELEMENTS(layers); i++)
		if (layers[i].layer == layer)
			return layers[i].name;
	return "unknown";
}

enum layer layer_find(const char *name)
{
	for (size_t i = 0; i < N_ELEMENTS(layers); i++)
		if (strcmp(layers[i].name, name) == 0)
			return layers[i].layer;
	return 0;
}

const char *tier_name(enum tier tier)
{
	return tier == TIER_FULL ? "full" : "reduced";
}

int tier_find(const char *name)
{
	for (size_t i = 0; i < N_ELEMENTS(tiers); i++)
		if (strcmp(tiers[i].name, name) == 0)
			return (int)tiers[i].tier;
	return -ENOENT;
}

const char *limit_name(enum limit limit)
{
	return limits[limit];
}

const char *holder_name(enum holder holder)
{
	return holders[holder];
}

/* RLIMIT_DATA counts the private writable pages of a process: no memfd, no segment of System V, no
 * mapping that is shared. */
const char *limit_part_held(enum limit limit, enum holder holder)
{
	return limit == LIMIT_MEMORY && holder == HELD_BY_RLIMIT ? "private memory of each process"
								 : NULL;
}
