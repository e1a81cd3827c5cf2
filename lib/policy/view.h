/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What a policy shows besides its rules: the implicit view of its dialect, and "mounts"
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct policy;
struct setting;

/* The operations on files and programs that the kernel enforces by path. */
uint64_t view_file_operations(void);
/* Those that only read. */
uint64_t view_reads(void);

/*
 * The implicit view of a dialect, and of running without a policy: directories of the system, and
 * what may be done in the project. Ended by a NULL path. Without a policy a project that is /tmp
 * itself is the sandbox's own /tmp, if the tier has one (@has_own_tmp).
 */
struct view_row {
	const char *path; /* "." is the project */
	uint64_t operations;
};
enum { VIEW_ROWS_MAX = 16 };
void policy_view(const struct policy *policy, const char *project, bool has_own_tmp,
		 struct view_row ret[VIEW_ROWS_MAX]);

/* Do rules name the project only by its absolute path? The view of the sandbox then lacks "."; an
 * artefact is compiled for any project, so sbx-policy eval and the service cannot know. */
bool view_names_project_absolutely(const struct policy *policy, const char *project);

/* Is it /tmp or /var/tmp, which are a fresh tmpfs unless an option or a mount shows the host's? */
bool view_is_private(const char *path);
/* Or in one of them? */
bool view_is_in_private(const char *path);
/* The one that the implicit view has. */
#define VIEW_TMP "/tmp"

#define VIEW_SECRETS "/run/secrets"

/* The path of a setting: a relative one is below the project. NULL without memory. */
const char *view_setting_path(const char *text, const char *project, struct arena *arena);

/* One entry of "mounts". */
enum mount_mode {
	MOUNT_READ_ONLY,
	MOUNT_READ_WRITE,
	MOUNT_TMPFS,
	MOUNT_OVERLAY,
	MOUNT_MASK,
};
struct policy_mount {
	const struct setting *target;
	const char *source; /* or NULL: the target itself */
	enum mount_mode mode;
	uint64_t size_bytes; /* 0: not said */
	bool is_optional;
};
/* False behind the last one. */
bool policy_get_mount(const struct policy *policy, size_t i, struct policy_mount *ret);
uint64_t mount_operations(enum mount_mode mode);
/* Has it neither rules nor mounts, nor a default or a dialect that shows files without any? */
bool policy_shows_no_files(const struct policy *policy);
/* Why no sandbox can have the mount, on any host, and what to write instead; NULL: it can. */
const char *mount_refusal(const struct policy *policy, size_t i, const char **ret_fix);
