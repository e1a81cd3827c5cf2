/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Repositories are looked for as if the plan had asked about a ".git"
 */

#include "base/arena.h"
#include "base/cleanup.h"
#include "kernel/probe-internal.h"
#include "probe-place.h"

struct rig {
	struct arena arena;
	struct place_search search;
	struct host_path asked[2];
	struct host host;
};

static inline void rig_deinit(struct rig *rig)
{
	arena_deinit(&rig->arena);
}
#define _cleanup_rig_ _cleanup_(rig_deinit)

/* @git, a name in the place, was asked about; probing had found @entry, or NULL. */
static inline void rig_probe(struct rig *rig, const char *git, enum host_path_kind kind,
			     const char *entry)
{
	const char *path;

	arena_deinit(&rig->arena);
	path = arena_copy(&rig->arena, in_place(git), strlen(in_place(git)));
	rig->search = (struct place_search){ .arena = &rig->arena, .has_root = -1 };
	rig->asked[0] = (struct host_path){ .path = path, .real = path, .kind = kind };
	rig->host = (struct host){ .paths = rig->asked, .n_paths = 1 };
	if (entry)
		entry = arena_copy(&rig->arena, in_place(entry), strlen(in_place(entry)));
	expect_eq(probe_repositories(&rig->search, entry, &rig->host), 0);
}
