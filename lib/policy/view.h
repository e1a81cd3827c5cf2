/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The files that a policy shows other than by rules: the implicit view of its dialect, and "mounts"
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct policy;
struct setting;

/* The operations on files and programs that the kernel can enforce by path. */
uint64_t view_file_operations(void);
/* Those of them that only read. */
uint64_t view_reads(void);

/*
 * The implicit view of a policy, or without one: system directories, and the rights to the
 * project. Terminated by a NULL path. Without a policy a project that is /tmp itself is the
 * sandbox's own /tmp, if the tier has one (@has_own_tmp).
 */
struct view_row {
	const char *path; /* "." is the project */
	uint64_t operations;
};
enum { VIEW_ROWS_MAX = 16 };
void policy_view(const struct policy *policy, const char *project, bool has_own_tmp,
		 struct view_row ret[VIEW_ROWS_MAX]);

/* The values of the key 'view', NULL-terminated. */
extern const char *const view_names[];
/* The one for a policy with this view. */
const char *view_name(const struct policy *policy);
void view_set(struct policy *policy, const char *name);
/* The view that the policy's dialect has unless the key says another. */
void view_set_by_dialect(struct policy *policy);

/* Do rules name the project only by its absolute path? The view of the sandbox then lacks ".";
 * sbx-policy eval and the service cannot know this, because an artefact is compiled for any
 * project. */
bool view_names_project_absolutely(const struct policy *policy, const char *project);

/* Orders paths by component: a directory directly precedes the paths below it. */
int view_compare_paths(const char *a, const char *b);

/* Is it /tmp or /var/tmp? A view or rule that grants one gives a fresh tmpfs. The host's is shown
 * by an option or a mount, and that of /var/tmp also by the view of the project "/". */
bool view_is_private(const char *path);
/* The same for a path at or below one of them. */
bool view_is_in_private(const char *path);
/* The only one of them in the implicit view. */
#define VIEW_TMP "/tmp"

#define VIEW_SECRETS "/run/secrets"

/* The path of a setting: a relative one is below the project. NULL if out of memory. */
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
	const char *source; /* NULL: the target itself */
	enum mount_mode mode;
	uint64_t size_bytes; /* 0: not set */
	bool is_optional;
};
/* False after the last one. */
bool policy_get_mount(const struct policy *policy, size_t i, struct policy_mount *ret);
uint64_t mount_operations(enum mount_mode mode);
/* Does the policy grant no files, by rules, mounts, a default or its dialect? */
bool policy_shows_no_files(const struct policy *policy);
/* Why no sandbox on any host can provide the mount, and the remedy; NULL if one can. */
const char *mount_refusal(const struct policy *policy, size_t i, const char **ret_fix);
