/* SPDX-License-Identifier: MIT */

/*
 * sbx-ctl volume: directories for the output of one sandbox each
 *
 * A volume is created empty, filled by one sandbox (sbx-spawn --out refuses one that is not empty),
 * inspected, and removed. Untrusted code has written its content. It is renamed before its content
 * is removed, so that the name is free even if the removal is interrupted.
 */

#include "ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/moment.h"
#include "base/path.h"
#include "base/state.h"
#include "base/suggest.h"

#include "tool.h"

#define VOLUMES "sbx/volumes"
#define GONE_PREFIX ".gone-"

struct volumes {
	struct ctl ctl;
	struct text path;
	int directory;
};

static void volumes_deinit(struct volumes *volumes)
{
	ctl_deinit(&volumes->ctl);
	text_deinit(&volumes->path);
	close_fd(&volumes->directory);
}

static int add_state_directory(struct text *out, struct sbx_error *err)
{
	int r = state_find(out, environ, geteuid());

	if (r != STATE_FALLBACK)
		return r < 0 ? r : 0;
	return error_fill(err, -ENOENT,
			  "neither XDG_STATE_HOME nor HOME names a directory that this user may "
			  "write, and the account has no such home",
			  "set XDG_STATE_HOME to a directory of your own",
			  "cannot determine the directory of volumes");
}

static int open_below(const char *state)
{
	_cleanup_close_ int directory = open(state, O_PATH | O_DIRECTORY | O_CLOEXEC),
			    found = -EBADF;
	struct stat st;
	int r = directory < 0 ? -errno : path_make_parents_beneath(directory, VOLUMES, 0755);

	if (r == 0)
		r = path_make_parents_beneath(directory, VOLUMES "/", 0700);
	if (r < 0)
		return r;
	found = path_open_beneath(directory, VOLUMES, O_RDONLY | O_DIRECTORY, 0);
	if (found < 0)
		return found;
	return fstat(found, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 077) == 0
		       ? take_fd(&found)
		       : -EPERM;
}

/* Opens the directory of all output volumes; *@ret_path is its path. */
static int volumes_open(struct text *ret_path, struct sbx_error *err)
{
	_cleanup_free_ char *state = NULL;
	int r = add_state_directory(ret_path, err);

	if (r < 0)
		return r;
	/* Its parents belong to the user and may be links. */
	state = strdup(text_string(ret_path));
	r = state ? path_make_directories(state, 0700) : -ENOMEM;
	if (r == 0)
		r = open_below(text_string(ret_path));
	text_add(ret_path, "/" VOLUMES);
	if (r < 0)
		return ctl_fail(err, r, "open the directory of all volumes,", text_string(ret_path),
				r == -EPERM ? "it is not owned by the calling user alone" : NULL,
				"change its owner to the calling user, and its mode to 0700");
	return r;
}

/* Resolves links and normalises; the last component, an archive, may not exist yet. NULL: the
 * parent does not exist. */
static char *resolve(const char *path)
{
	_cleanup_free_ char *whole = realpath(path, NULL), *directory = NULL, *copy = NULL;
	const char *name;
	char *resolved;

	if (whole)
		return take_ptr(whole);
	copy = strdup(path);
	name = copy ? strrchr(copy, '/') : NULL;
	if (!name || name == copy)
		return NULL;
	copy[name - copy] = '\0';
	directory = realpath(copy, NULL);
	return directory && asprintf(&resolved, "%s/%s", directory, name + 1) >= 0 ? resolved
										   : NULL;
}

/* Does the stored --out refer to @path, or to a path below it? */
static bool means(const struct sandbox_entry *entry, const char *path)
{
	_cleanup_text_ struct text typed = TEXT_INIT;
	_cleanup_free_ char *out = NULL, *volume = NULL;
	size_t len;

	if (!entry->out_directory)
		return false;
	if (entry->out_directory[0] != '/')
		text_addf(&typed, "%s/", entry->cwd ? entry->cwd : "");
	text_add(&typed, entry->out_directory);
	out = resolve(text_string(&typed));
	volume = resolve(path);
	if (!out || !volume)
		return false;
	len = strlen(volume);
	return strncmp(out, volume, len) == 0 && (out[len] == '\0' || out[len] == '/');
}

/* The sandbox that writes to it now, or NULL. */
static const char *find_user(struct ctl *ctl, const char *directory, const char *name)
{
	_cleanup_text_ struct text path = TEXT_INIT;
	const char *const *ids = NULL;

	text_addf(&path, "%s/%s", directory, name);
	if (registry_list(ctl->registry, &ctl->arena, &ids, NULL) < 0)
		return NULL;
	for (; *ids; ids++) {
		struct target target;

		if (ctl_read(ctl, *ids, &target, NULL) == 0 && target.is_alive &&
		    means(&target.entry, text_string(&path)))
			return *ids;
	}
	return NULL;
}

static int create(struct volumes *volumes, const char *name, struct sbx_error *err)
{
	struct text *out = &volumes->ctl.run->out;
	struct json_writer json;
	_cleanup_text_ struct text path = TEXT_INIT;

	if (!sandbox_id_is_valid(name))
		return ctl_fail(err, -EINVAL, "name a volume", name,
				"a name has letters, digits, '-', '_' and '.', at most 64 of them, "
				"and begins with a letter or digit",
				"choose another name");
	if (mkdirat(volumes->directory, name, 0700) < 0)
		return ctl_fail(err, -errno, "create the volume", name,
				errno == EEXIST
					? "a volume of this name exists, and each can be used once"
					: NULL,
				"choose another name, or 'sbx-ctl volume remove' that one");
	text_addf(&path, "%s/%s", text_string(&volumes->path), name);
	if (!volumes->ctl.run->json) {
		text_addf(out, "%s\n", text_string(&path));
		return 0;
	}
	json_begin_object(&json, out);
	json_member_string(&json, "name", name);
	json_member_string(&json, "path", text_string(&path));
	json_end_line(&json);
	return 0;
}

static bool is_empty(int directory)
{
	_cleanup_closedir_ DIR *dir = fd_open_dir(directory);
	const struct dirent *item;

	while (dir && (item = readdir(dir)))
		if (strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0)
			return false;
	return true;
}

static void show_one(struct volumes *volumes, const char *name, struct table *table)
{
	_cleanup_close_ int directory =
		path_open_beneath(volumes->directory, name, O_RDONLY | O_DIRECTORY, 0);
	const char *user = find_user(&volumes->ctl, text_string(&volumes->path), name);
	struct text *out = &volumes->ctl.run->out;
	_cleanup_text_ struct text state = TEXT_INIT, path = TEXT_INIT;
	struct json_writer json;
	struct stat st;

	if (directory < 0 || fstat(directory, &st) < 0)
		return;
	text_addf(&path, "%s/%s", text_string(&volumes->path), name);
	text_add(&state, user ? "used by " : is_empty(directory) ? "empty" : "filled");
	text_add(&state, user ? user : "");
	if (!volumes->ctl.run->json) {
		table_add(table, name);
		table_add(table, text_string(&state));
		ctl_add_age(table, moment_usec(&st.st_mtim));
		table_add(table, text_string(&path));
		return;
	}
	json_begin_object(&json, out);
	json_member_string(&json, "name", name);
	json_member_string(&json, "path", text_string(&path));
	json_member_bool(&json, "empty", is_empty(directory));
	json_member_string(&json, "used_by", user);
	json_end_line(&json);
}

static int list(struct volumes *volumes, const char *name, struct sbx_error *err)
{
	static const char *const names[] = { "NAME", "STATE", "CHANGED", "PATH" };
	_cleanup_table_ struct table table = { .n_columns = N_ELEMENTS(names) };
	const char *const *volume = NULL;
	int r = registry_list(volumes->directory, &volumes->ctl.arena, &volume, err);

	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		table_add(&table, names[i]);
	for (; r == 0 && *volume; volume++)
		show_one(volumes, *volume, &table);
	if (r == 0 && !volumes->ctl.run->json)
		table_print(&table, &volumes->ctl.run->out);
	return r;
}

/* Renames it to a name that no volume can have. */
static int put_aside(int directory, const char *name, char ret[SANDBOX_ID_MAX + 16])
{
	char id[SANDBOX_ID_MAX + 1];
	int r = sandbox_id_make(id);

	if (r < 0)
		return r;
	(void)snprintf(ret, SANDBOX_ID_MAX + 16, GONE_PREFIX "%s", id);
	return renameat(directory, name, directory, ret) < 0 ? -errno : 0;
}

static int remove_one(struct volumes *volumes, const char *name, struct sbx_error *err)
{
	const char *user = find_user(&volumes->ctl, text_string(&volumes->path), name);
	char gone[SANDBOX_ID_MAX + 16];
	int r = sandbox_id_is_valid(name) ? 0 : -ENOENT;

	if (user)
		return ctl_fail(err, -EBUSY, "remove the volume", name, "a sandbox writes there",
				"stop it first: 'sbx-ctl list' shows which");
	if (r == 0)
		r = put_aside(volumes->directory, name, gone);
	if (r == -ENOENT)
		return ctl_fail(err, r, "find the volume", name, "no volume of this name exists",
				"see 'sbx-ctl volume list'");
	if (r == 0)
		r = directory_discard(volumes->directory, gone);
	if (r < 0)
		return ctl_fail(err, r, "remove the volume", name, NULL,
				"repeat it as root; 'sbx-ctl gc' removes the rest");
	return 0;
}

/* ".NAME.sbx-work-X": left over if no sandbox uses the volume NAME. */
static bool is_left_over(struct ctl *ctl, const char *path, int directory, const char *item)
{
	char name[NAME_MAX + 1];
	const char *end;
	struct stat st;

	if (strncmp(item, GONE_PREFIX, strlen(GONE_PREFIX)) == 0)
		return true;
	end = is_work_directory(item) ? strstr(item, ".sbx-") : NULL;
	if (!end || fstatat(directory, item, &st, AT_SYMLINK_NOFOLLOW) < 0 || is_young(&st))
		return false;
	(void)snprintf(name, sizeof(name), "%.*s", (int)(end - item - 1), item + 1);
	return !find_user(ctl, path, name);
}

int volumes_collect(struct ctl *ctl, struct sbx_error *err)
{
	_cleanup_text_ struct text path = TEXT_INIT;
	int fd = volumes_open(&path, NULL), first = 0;
	_cleanup_closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *item;

	/* Without a directory of volumes there is nothing to collect. */
	if (!dir) {
		close_fd(&fd);
		return 0;
	}
	while ((item = readdir(dir))) {
		int r = 0;

		if (!is_left_over(ctl, text_string(&path), dirfd(dir), item->d_name))
			continue;
		if (!ctl->values->dry_run)
			r = directory_discard(dirfd(dir), item->d_name);
		if (r == 0)
			ctl_say(ctl, item->d_name,
				ctl->values->dry_run ? "would remove the rest of a volume"
						     : "removed the rest of a volume");
		else if (first == 0)
			first = ctl_fail(err, r, "remove the rest of a volume,", item->d_name, NULL,
					 "repeat 'sbx-ctl gc' as root");
	}
	return first;
}

static const struct {
	const char *name;
	int (*run)(struct volumes *volumes, const char *name, struct sbx_error *err);
	int min_names, max_names;
} actions[] = {
	{ "create", create, 1, 1 },
	{ "list", list, 0, 0 },
	{ "remove", remove_one, 1, 1000 },
};

static int misunderstood(const char *word, bool is_known, struct sbx_error *err)
{
	static const char *const names[] = { "create", "list", "remove", NULL };
	const char *meant = suggest_from(word, names);

	(void)sbx_error_what(err, -EINVAL, "cannot understand 'volume %s'", word);
	sbx_error_why(err, is_known ? "it has too many arguments, or too few"
				    : "there is no such verb for volumes");
	if (meant && !is_known)
		sbx_error_fix(err, "did you mean 'sbx-ctl volume %s'?", meant);
	else
		sbx_error_fix(err, "write 'create NAME', 'list' or 'remove NAME...'");
	return TOOL_USAGE;
}

int ctl_verb_volume(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	_cleanup_(volumes_deinit) struct volumes volumes = {
		.ctl = CTL_INIT,
		.path = TEXT_INIT,
		.directory = -EBADF,
	};
	int n_names = n_operands - 1, first, r;
	size_t which = 0;

	while (which < N_ELEMENTS(actions) && strcmp(actions[which].name, operands[0]) != 0)
		which++;
	if (which == N_ELEMENTS(actions) || n_names < actions[which].min_names ||
	    n_names > actions[which].max_names)
		return misunderstood(operands[0], which < N_ELEMENTS(actions), err);
	r = ctl_init(&volumes.ctl, context, err);
	if (r == 0)
		r = volumes.directory = volumes_open(&volumes.path, err);
	if (r < 0)
		return r;
	first = actions[which].run(&volumes, operands[1], err);
	for (int i = 2; i < n_operands; i++) {
		r = actions[which].run(&volumes, operands[i], first < 0 ? NULL : err);
		first = first < 0 ? first : r;
	}
	return ctl_status(first);
}
