/* SPDX-License-Identifier: MIT */

/*
 * The view, of which the planner makes the tree and the evaluator makes rules: both take it from
 * here. System directories appear as they are; /tmp is a tmpfs; the project has the rights of its
 * dialect, unless a rule names it.
 */

#include "policy/view.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "policy/enforcement.h"
#include "policy/model.h"

static uint64_t files(void)
{
	return operation_set("fs.*");
}

uint64_t view_reads(void)
{
	return operation_set("fs.read") | operation_set("fs.list") | operation_set("fs.exists");
}

uint64_t view_file_operations(void)
{
	return files() | operation_set("exec");
}

int view_compare_paths(const char *a, const char *b)
{
	while (*a == *b && *a != '\0')
		a++, b++;
	/* '/' sorts before every other byte of a name, and the end before '/'. */
	unsigned x = *a == '/' ? 1 : *a == '\0' ? 0 : (unsigned char)*a + 1u;
	unsigned y = *b == '/' ? 1 : *b == '\0' ? 0 : (unsigned char)*b + 1u;

	return x < y ? -1 : x > y;
}

static const char *const private_directories[] = { VIEW_TMP, "/var/tmp" };

bool view_is_private(const char *path)
{
	for (size_t i = 0; i < N_ELEMENTS(private_directories); i++)
		if (strcmp(path, private_directories[i]) == 0)
			return true;
	return false;
}

bool view_is_in_private(const char *path)
{
	for (size_t i = 0; i < N_ELEMENTS(private_directories); i++)
		if (path_is_at_or_below(path, private_directories[i]))
			return true;
	return false;
}

/* ---- the implicit view ---- */

/* The last two are parts of packages to which links in /usr lead: without them pdflatex and aspell
 * find none of their files. */
static const char *const system_directories[] = {
	"/usr",	   "/bin", "/sbin",	      "/lib",		"/lib32", "/lib64",
	"/libx32", "/etc", "/var/lib/aspell", "/var/lib/texmf",
};

_Static_assert(N_ELEMENTS(system_directories) + 3 <= VIEW_ROWS_MAX, "the rows of a view");

static bool names_project(const struct match_value *value, const char *project)
{
	return strcmp(value->text, ".") == 0 || strcmp(value->text, "./") == 0 ||
	       (project && strcmp(value->text, project) == 0);
}

/* Does a rule name the project itself? Then the view adds nothing for it. */
static bool is_project_ruled(const struct policy *policy, const char *project)
{
	for (size_t i = 0; policy && i < policy->n_rules; i++) {
		const struct match_list *list = &policy->rules[i].match.lists[MATCH_PATH];

		if (policy->rules[i].match.operations & files())
			for (size_t k = 0; k < list->n_values; k++)
				if (names_project(&list->values[k], project))
					return true;
	}
	return false;
}

const char *const view_names[] = {
	[VIEW_NONE] = "none",
	[VIEW_OF_PROJECT] = "project",
	[VIEW_OF_SYSTEM] = "system",
	NULL,
};

const char *view_name(const struct policy *policy)
{
	return view_names[policy->view];
}

void view_set(struct policy *policy, const char *name)
{
	for (size_t i = 0; view_names[i]; i++)
		if (strcmp(view_names[i], name) == 0)
			policy->view = (enum policy_view_name)i;
}

void view_set_by_dialect(struct policy *policy)
{
	static const enum policy_view_name views[] = {
		[DIALECT_SBX] = VIEW_NONE,
		[DIALECT_BUNTIME] = VIEW_OF_PROJECT,
		[DIALECT_FLUFFY] = VIEW_NONE,
		[DIALECT_MANIFEST] = VIEW_OF_SYSTEM,
	};

	policy->view = views[policy->dialect];
}

bool view_names_project_absolutely(const struct policy *policy, const char *project)
{
	bool has_view = policy && policy->view == VIEW_OF_PROJECT;

	return has_view && is_project_ruled(policy, project) && !is_project_ruled(policy, NULL);
}

void policy_view(const struct policy *policy, const char *project, bool has_own_tmp,
		 struct view_row ret[VIEW_ROWS_MAX])
{
	bool has_system = !policy || policy->view != VIEW_NONE;
	bool has_project = !policy || policy->view == VIEW_OF_PROJECT;
	bool is_tmp = project && strcmp(project, VIEW_TMP) == 0;
	bool is_own = is_tmp && !policy && has_own_tmp;
	uint64_t run = policy ? 0 : operation_set("exec");
	size_t n = 0;

	for (size_t i = 0; has_system && i < N_ELEMENTS(system_directories); i++)
		ret[n++] = (struct view_row){ system_directories[i], view_reads() | run };
	if (has_project && project && strcmp(project, "/") == 0)
		ret[n++] = (struct view_row){ "/", view_reads() | run };
	else if (has_project && !is_own && !is_project_ruled(policy, project))
		ret[n++] = (struct view_row){ ".", (policy ? files() : view_reads()) | run };
	/* If the host's /tmp is visible as the working directory there is no tmpfs, and rights for
	 * one would let the command write to the host's files. */
	if (has_project && (is_own || !is_tmp || is_project_ruled(policy, project)))
		ret[n++] = (struct view_row){ VIEW_TMP, files() | run };
	ret[n] = (struct view_row){ .path = NULL };
}

const char *view_setting_path(const char *text, const char *project, struct arena *arena)
{
	char *path;

	if (text[0] == '/')
		return text;
	while (strncmp(text, "./", 2) == 0)
		text += 2;
	if (text[0] == '\0' || strcmp(text, ".") == 0)
		return project;
	path = arena_alloc(arena, strlen(project) + strlen(text) + 2);
	if (path)
		(void)stpcpy(stpcpy(stpcpy(path, strcmp(project, "/") == 0 ? "" : project), "/"),
			     text);
	return path;
}

/* ---- mounts: the settings "mounts[N].KEY" as one struct ---- */

static const struct {
	const char *name;
	bool has_source;
} mount_modes[] = {
	[MOUNT_READ_ONLY] = { "ro", true }, [MOUNT_READ_WRITE] = { "rw", true },
	[MOUNT_TMPFS] = { "tmpfs", false }, [MOUNT_OVERLAY] = { "overlay", true },
	[MOUNT_MASK] = { "mask", false },
};

#define ITEM_PATH_SIZE 64

static enum mount_mode mode_of(const char *name)
{
	for (unsigned i = 0; name && i < N_ELEMENTS(mount_modes); i++)
		if (strcmp(mount_modes[i].name, name) == 0)
			return (enum mount_mode)i;
	return MOUNT_READ_ONLY;
}

static void take_member(struct policy_mount *mount, const struct setting *setting, const char *key)
{
	if (strcmp(key, "mode") == 0)
		mount->mode = mode_of(setting->text);
	else if (strcmp(key, "source") == 0)
		mount->source = setting->text;
	else if (strcmp(key, "size") == 0)
		mount->size_bytes = setting->number;
	else if (strcmp(key, "optional") == 0)
		mount->is_optional = setting->number;
}

/* The settings of a mount are adjacent, so only one of them is searched for. */
bool policy_get_mount(const struct policy *policy, size_t i, struct policy_mount *ret)
{
	char path[ITEM_PATH_SIZE];
	size_t n = (size_t)snprintf(path, sizeof(path), "mounts[%zu].target", i) - strlen("target");
	const struct setting *target = policy_get_setting(policy, path), *first = target;

	*ret = (struct policy_mount){ .target = target };
	if (!target)
		return false;
	while (first > policy->settings && strncmp(first[-1].path, path, n) == 0)
		first--;
	for (; first < policy->settings + policy->n_settings && strncmp(first->path, path, n) == 0;
	     first++)
		take_member(ret, first, first->path + n);
	return true;
}

/* Of two mounts on one target the last one hides the other, but a policy has no order. The settings
 * are sorted: those of the earlier mounts are before @target. */
static bool is_repeated(const struct policy *policy, const struct setting *target)
{
	for (const struct setting *at = target; at > policy->settings;) {
		const char *item = setting_below(--at, "mounts[");
		const char *end = item ? strchr(item, ']') : NULL;

		if (!end)
			return false;
		if (strcmp(end, "].target") == 0 && strcmp(at->text, target->text) == 0)
			return true;
	}
	return false;
}

/* A sandbox has its own /proc and /dev: those of the host show its processes and devices. No kernel
 * has overlays over a /proc. */
static const char *system_refusal(const struct policy_mount *mount, const char **ret_fix)
{
	const char *target = mount->target->text, *source = mount->source ? mount->source : target;

	if (!mount_modes[mount->mode].has_source)
		return NULL;
	*ret_fix = "leave it out; 'devices' shows devices";
	if (mount->mode != MOUNT_OVERLAY && strcmp(source, target) == 0 &&
	    (path_is_at_or_below(target, "/proc") || path_is_at_or_below(target, "/dev")))
		return "the sandbox has its own /proc and /dev";
	*ret_fix = "leave it out: the sandbox has its own /proc";
	return path_is_at_or_below(source, "/proc") ? "it shows the processes of the host" : NULL;
}

const char *mount_refusal(const struct policy *policy, size_t i, const char **ret_fix)
{
	struct policy_mount mount;
	const char *why;

	if (!policy_get_mount(policy, i, &mount))
		return NULL;
	*ret_fix = "name a directory below it";
	if (strcmp(mount.target->text, "/") == 0)
		return "its target is the root of the sandbox";
	*ret_fix = "remove 'source'";
	if (mount.source && !mount_modes[mount.mode].has_source)
		return "its mode has no source";
	*ret_fix = mount.mode == MOUNT_OVERLAY
			   ? "remove 'size'; 'limits.tmp_size' limits the changes"
			   : "remove 'size'";
	if (mount.size_bytes > 0 && mount.mode != MOUNT_TMPFS)
		return "only a tmpfs has a size: nothing would limit it here";
	*ret_fix = "name the directories that are needed, one by one";
	if (mount.source && strcmp(mount.source, "/") == 0)
		return "its source includes the host's /proc and /dev";
	*ret_fix = "mount at '/proc', or elsewhere";
	if (path_is_of_reader(mount.target->text))
		return "'/proc/self' means the process that reads it: here sbx-spawn, inside the "
		       "command";
	why = system_refusal(&mount, ret_fix);
	if (why)
		return why;
	*ret_fix = "leave one of them out";
	return is_repeated(policy, mount.target)
		       ? "an earlier entry of 'mounts' has the same target"
		       : NULL;
}

uint64_t mount_operations(enum mount_mode mode)
{
	return mode == MOUNT_READ_ONLY ? view_reads()
	       : mode == MOUNT_MASK    ? view_file_operations()
				       : files();
}

bool policy_shows_no_files(const struct policy *policy)
{
	struct view_row view[VIEW_ROWS_MAX];
	struct policy_mount mount;

	policy_view(policy, NULL, true, view);
	return policy->n_rules == 0 && policy->defaults[CLASS_FS] != POLICY_ALLOW &&
	       !view[0].path && !policy_get_mount(policy, 0, &mount);
}
