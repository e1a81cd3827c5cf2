/* SPDX-License-Identifier: MIT */

/*
 * Options that name paths
 *
 * Each path is joined with the working directory and normalised by its text alone; symbolic links
 * are resolved later, when the host is probed.
 */

#include "spawn.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "base/text.h"

int spawn_no_memory(struct sbx_error *err)
{
	return error_fill(err, -ENOMEM, NULL, "free memory, or raise its limit (ulimit -v)",
			  "no memory for the command line");
}

int spawn_bad_value(const char *option, const char *value, const char *why, const char *fix,
		    struct sbx_error *err)
{
	return error_fill(err, -EINVAL, why, fix, "option '%s' cannot take '%s'", option, value);
}

/* Removes ".", ".." and empty components in place; ".." at the root is dropped. */
static void make_normal(char *path)
{
	char *end = path;

	for (const char *at = path; *at;) {
		size_t len = strcspn(++at, "/");

		if (len == 2 && at[0] == '.' && at[1] == '.') {
			while (end > path && *--end != '/')
				;
		} else if (len > 0 && !(len == 1 && at[0] == '.')) {
			*end++ = '/';
			memmove(end, at, len);
			end += len;
		}
		at += len;
	}
	if (end == path)
		*end++ = '/';
	*end = '\0';
}

/* For the kernel ".." after a symbolic link is beside the link's target, in the text beside the
 * link itself. -ENOMEM. */
static int leaves_link(struct spawn_run *run, const char *path)
{
	for (const char *at = strstr(path, "/.."); at; at = strstr(at + 1, "/..")) {
		char *before, byte;

		if (at[3] != '/' && at[3] != '\0')
			continue;
		before = arena_copy(&run->arena, path, (size_t)(at - path));
		if (!before)
			return -ENOMEM;
		make_normal(before);
		if (readlink(before, &byte, 1) >= 0)
			return 1;
	}
	return 0;
}

int spawn_read_path(struct spawn_run *run, const char *option, const char *value, const char **ret,
		    struct sbx_error *err)
{
	_cleanup_text_ struct text joined = TEXT_INIT;
	const char *path;
	int r;

	if (value[0] == '\0')
		return spawn_bad_value(option, value, "the path is empty",
				       "name a file or directory", err);
	text_addf(&joined, "%s/%s", value[0] == '/' ? "" : run->host.cwd, value);
	r = text_status(&joined) < 0 ? -ENOMEM : leaves_link(run, joined.data);
	if (r < 0)
		return spawn_no_memory(err);
	if (r > 0)
		return spawn_bad_value(option, value, "it has '..' after a symbolic link",
				       "name the directory without '..'", err);
	make_normal(joined.data);
	path = arena_copy(&run->arena, joined.data, strlen(joined.data));
	if (!path)
		return spawn_no_memory(err);
	if (!path_is_normal(path))
		return spawn_bad_value(option, value, "the path is too long", "name a shorter one",
				       err);
	*ret = path;
	return 0;
}

const char *spawn_real_path(struct spawn_run *run, const char *path)
{
	const char *real = path_follow(&run->arena, path);

	return strcmp(real, path) == 0 ? NULL : real;
}

/* The path options, in the order of their lists. */
struct path_option {
	const char *option;
	size_t offset;
	enum request_grant grant;
	bool optional;
};

static const struct path_option path_options[] = {
	{ "--read", offsetof(struct spawn_values, read), GRANT_READ, false },
	{ "--optional-read", offsetof(struct spawn_values, optional_read), GRANT_READ, true },
	{ "--write", offsetof(struct spawn_values, write), GRANT_WRITE, false },
	{ "--exec", offsetof(struct spawn_values, exec), GRANT_EXEC, false },
	{ "--deny", offsetof(struct spawn_values, deny), GRANT_DENY, false },
	{ "--deny-write", offsetof(struct spawn_values, deny_write), GRANT_DENY_WRITE, false },
	{ "--tmpfs", offsetof(struct spawn_values, tmpfs), GRANT_TMPFS, false },
	{ "--unix", offsetof(struct spawn_values, unix_socket), GRANT_UNIX, false },
};

static const struct option_list *list_at(const struct spawn_run *run, size_t offset)
{
	return (const struct option_list *)((const char *)run->values + offset);
}

/* SRC:DST, SRC:DST:ro or SRC:DST:rw */
static int read_bind(struct spawn_run *run, const char *value, struct request_path *ret,
		     struct sbx_error *err)
{
	static const char form[] = "write SRC:DST, SRC:DST:ro or SRC:DST:rw";
	const char *colon = strchr(value, ':');
	char *source, *target, *mode;
	int r;

	if (!colon)
		return spawn_bad_value("--bind", value, "it has no ':'", form, err);
	source = arena_copy(&run->arena, value, (size_t)(colon - value));
	target = arena_copy(&run->arena, colon + 1, strlen(colon + 1));
	if (!source || !target)
		return spawn_no_memory(err);
	*ret = (struct request_path){ .grant = GRANT_READ, .option = "--bind" };
	mode = strchr(target, ':');
	if (mode) {
		*mode++ = '\0';
		if (strcmp(mode, "rw") == 0)
			ret->grant = GRANT_WRITE;
		else if (strcmp(mode, "ro") != 0)
			return spawn_bad_value("--bind", value,
					       "the part after the second ':' must be ro or rw",
					       form, err);
	}
	if (target[0] != '/')
		return spawn_bad_value("--bind", value, "DST is not an absolute path", form, err);
	r = spawn_read_path(run, "--bind", source, &ret->path, err);
	return r < 0 ? r : spawn_read_path(run, "--bind", target, &ret->target, err);
}

int spawn_read_paths(struct spawn_run *run, struct sbx_error *err)
{
	size_t n = run->values->bind.n_items, at = 0;
	struct request_path *paths;
	int r;

	for (size_t i = 0; i < N_ELEMENTS(path_options); i++)
		n += list_at(run, path_options[i].offset)->n_items;
	if (n == 0)
		return 0;
	paths = arena_alloc(&run->arena, n * sizeof(*paths));
	if (!paths)
		return spawn_no_memory(err);
	for (size_t i = 0; i < N_ELEMENTS(path_options); i++) {
		const struct path_option *row = &path_options[i];
		const struct option_list *list = list_at(run, row->offset);

		for (size_t k = 0; k < list->n_items; k++, at++) {
			paths[at] = (struct request_path){ .grant = row->grant,
							   .optional = row->optional,
							   .option = row->option };
			r = spawn_read_path(run, row->option, list->items[k], &paths[at].path, err);
			if (r < 0)
				return r;
			paths[at].real = spawn_real_path(run, paths[at].path);
		}
	}
	for (size_t k = 0; k < run->values->bind.n_items; k++, at++) {
		r = read_bind(run, run->values->bind.items[k], &paths[at], err);
		if (r < 0)
			return r;
		paths[at].real = spawn_real_path(run, paths[at].path);
	}
	run->request.paths = paths;
	run->request.n_paths = n;
	return 0;
}
