/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Names of layers, tiers, and mechanisms that enforce limits, as const tables: options, plans,
 * reports and --check use the same words
 */

#include "policy/limit.h"

/* Bits of a set of layers. */
enum layer {
	LAYER_USER = 1 << 0,
	LAYER_MOUNT = 1 << 1,
	LAYER_PID = 1 << 2,
	LAYER_IPC = 1 << 3,
	LAYER_UTS = 1 << 4,
	LAYER_NET = 1 << 5,
	LAYER_CGROUP_NAMESPACE = 1 << 6,
	LAYER_LANDLOCK = 1 << 7,
	LAYER_SECCOMP = 1 << 8,
	LAYER_CAPABILITIES = 1 << 9,
	LAYER_CGROUP = 1 << 10, /* limits that a cgroup enforces */
};
#define LAYERS_ALL ((1u << 11) - 1)
/* The layers of the tier "full". */
#define LAYERS_FULL                                                                                \
	(LAYER_USER | LAYER_MOUNT | LAYER_PID | LAYER_IPC | LAYER_UTS | LAYER_NET |                \
	 LAYER_LANDLOCK | LAYER_SECCOMP | LAYER_CAPABILITIES)

enum tier {
	TIER_REDUCED, /* Landlock, seccomp and rlimits, without namespaces */
	TIER_FULL,
};

/* The mechanism that enforces a limit. */
enum holder {
	HELD_BY_NOBODY,
	HELD_BY_CGROUP,
	HELD_BY_SCOPE, /* a cgroup that the service manager creates */
	HELD_BY_RLIMIT,
	HELD_BY_SIZE,	    /* size limit of a tmpfs */
	HELD_BY_SUPERVISOR, /* for time and output */
};

const char *layer_name(enum layer layer); /* "landlock" */
enum layer layer_find(const char *name);  /* 0 if there is none */
const char *tier_name(enum tier tier);	  /* "full" */
/* Accepts "reduced" and its older names "no-userns" and "landlock-only"; -ENOENT for others. */
int tier_find(const char *name);
const char *holder_name(enum holder holder); /* "cgroup" */
/* The part of the limit that @holder enforces, if that is less than the limit's name says; else
 * NULL. */
const char *limit_part_held(enum limit limit, enum holder holder);
