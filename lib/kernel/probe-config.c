/* SPDX-License-Identifier: MIT */

/*
 * Paths that the configuration of a repository names: hooks, programs, included files
 *
 * The configuration of the user and of the system applies to each repository, and its relative
 * paths begin in the worktree, too. Every line counts, even if a later one overrides it or an
 * includeIf does not apply. An included file is read after the others, once.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/path.h"
#include "kernel/probe-scan.h"

/* Configuration files of one repository, including included ones. */
#define FILES_MAX 16
/* Characters that may end a word in the shell that starts such a program. */
#define BETWEEN_WORDS " \t\n|&;<>()$`\\\"'*?[#~=%!"

/* The files of one repository's configuration, while they are read. */
struct reader {
	struct scan *scan;
	const char *top;       /* of the worktree: base of relative paths of programs */
	const char *directory; /* the repository's directory */
	const char *files[FILES_MAX];
	size_t n_files;
	size_t at; /* index of the current file */
};

/* Expands a path as git does, into @ret. 0; 1 if only git can expand it. */
static int expand(struct reader *reader, const char *value, const char **ret)
{
	struct arena *arena = reader->scan->search->arena;
	const char *home = getenv("HOME");
	bool is_of_home = strncmp(value, "~/", 2) == 0 && home && home[0] == '/';

	if (!is_of_home && (value[0] == '~' || strncmp(value, "%(", 2) == 0)) {
		(void)scan_give_up(reader->scan, reader->directory,
				   "its configuration contains a path that only git can expand",
				   SCAN_FIX_CONFIG);
		return 1;
	}
	*ret = is_of_home ? probe_join(arena, home, value + 2)
			  : arena_copy(arena, value, strlen(value));
	return *ret ? 0 : -ENOMEM;
}

/* husky generates the hooks in .husky/_, which execute those in .husky. */
static bool is_of_husky(const char *path)
{
	return strcmp(path_last(path), "_") == 0;
}

static int take_hooks(struct reader *reader, const char *value)
{
	struct host_path place = { .path = "" };
	const char *text;
	int r = expand(reader, value, &text);

	if (r != 0)
		return r < 0 ? r : 0;
	r = scan_look(reader->scan, reader->top, text, &place);
	if (r < 0)
		return r;
	if (is_of_husky(place.real)) {
		r = scan_look(reader->scan, scan_around(reader->scan, place.real), ".", &place);
		if (r < 0)
			return r;
	}
	/* The whole directory cannot be read-only, and the command could create hooks in it. */
	if (path_is_beneath(reader->directory, place.real) ||
	    path_is_beneath(reader->top, place.real) || strcmp(reader->top, place.real) == 0)
		return scan_give_up(reader->scan, reader->directory,
				    "core.hooksPath names a directory that contains the repository",
				    "set core.hooksPath to a separate directory, or use --out "
				    "instead of --write");
	return scan_add_name(reader->scan, &place);
}

static int take_include(struct reader *reader, const char *value)
{
	const char *directory = scan_around(reader->scan, reader->files[reader->at]), *text;
	struct host_path place;
	int r = directory ? expand(reader, value, &text) : -ENOMEM;

	if (r == 0)
		r = scan_look_and_add(reader->scan, directory, text, &place);
	if (r != 0 || place.kind == HOST_MISSING)
		return r < 0 ? r : 0;
	for (size_t i = 0; i < reader->n_files; i++)
		if (strcmp(reader->files[i], place.real) == 0)
			return 0;
	if (reader->n_files == FILES_MAX)
		return scan_give_up(reader->scan, reader->directory,
				    "its configuration includes too many files", SCAN_FIX_CONFIG);
	reader->files[reader->n_files++] = place.real;
	return 0;
}

/*
 * One word of a shell command. The first is the program; any other may be a file that it executes.
 */
static int take_word(struct reader *reader, const char *word, bool is_first)
{
	struct host_path place;
	int r;

	/* A name without a slash is searched for in PATH. */
	if (is_first && !strchr(word, '/'))
		return 0;
	r = scan_look(reader->scan, reader->top, word, &place);
	if (r < 0 || place.kind == HOST_DIRECTORY || (place.kind == HOST_MISSING && !is_first))
		return r;
	return scan_add_name(reader->scan, &place);
}

static int take_program(struct reader *reader, const char *value)
{
	struct arena *arena = reader->scan->search->arena;
	bool is_first = true;
	int r = 0;

	value += strspn(value, BETWEEN_WORDS);
	for (size_t n; r == 0 && *value; value += n + strspn(value + n, BETWEEN_WORDS)) {
		const char *word;

		n = strcspn(value, BETWEEN_WORDS);
		word = arena_copy(arena, value, n);
		r = word ? take_word(reader, word, is_first) : -ENOMEM;
		is_first = false;
	}
	return r;
}

/* A value that begins with '!' is a shell command; others are names. */
static int take_alias(struct reader *reader, const char *value)
{
	return value[0] == '!' ? take_program(reader, value) : 0;
}

static int take_extension(struct reader *reader, const char *value)
{
	struct host_path place;

	return scan_look_and_add(reader->scan, reader->directory, "config.worktree", &place);
}

static const struct {
	const char *first; /* first part of the name, or the whole name */
	const char *last;  /* or NULL */
	int (*take)(struct reader *reader, const char *value);
} keys[] = {
	{ "core.hookspath", NULL, take_hooks },
	{ "include.path", NULL, take_include },
	{ "includeif.", ".path", take_include },
	{ "extensions.worktreeconfig", NULL, take_extension },
	{ "alias.", "", take_alias },
	{ "browser.", ".cmd", take_program },
	{ "browser.", ".path", take_program },
	{ "core.alternaterefscommand", NULL, take_program },
	{ "core.askpass", NULL, take_program },
	{ "core.editor", NULL, take_program },
	{ "core.fsmonitor", NULL, take_program },
	{ "core.gitproxy", NULL, take_program },
	{ "core.pager", NULL, take_program },
	{ "core.sshcommand", NULL, take_program },
	{ "credential.helper", NULL, take_program },
	{ "credential.", ".helper", take_program },
	{ "diff.external", NULL, take_program },
	{ "diff.", ".command", take_program },
	{ "diff.", ".textconv", take_program },
	{ "difftool.", ".cmd", take_program },
	{ "difftool.", ".path", take_program },
	{ "filter.", ".clean", take_program },
	{ "filter.", ".process", take_program },
	{ "filter.", ".smudge", take_program },
	{ "gc.recentobjectshook", NULL, take_program },
	{ "gpg.program", NULL, take_program },
	{ "gpg.", ".program", take_program },
	{ "gpg.ssh.defaultkeycommand", NULL, take_program },
	{ "guitool.", ".cmd", take_program },
	{ "hook.", ".command", take_program },
	{ "imap.tunnel", NULL, take_program },
	{ "interactive.difffilter", NULL, take_program },
	{ "lfs.customtransfer.", ".path", take_program },
	{ "lfs.extension.", ".clean", take_program },
	{ "lfs.extension.", ".smudge", take_program },
	{ "man.", ".cmd", take_program },
	{ "man.", ".path", take_program },
	{ "merge.", ".driver", take_program },
	{ "mergetool.", ".cmd", take_program },
	{ "mergetool.", ".path", take_program },
	{ "pager.", "", take_program },
	{ "remote.", ".receivepack", take_program },
	{ "remote.", ".uploadpack", take_program },
	{ "sendemail.", "cmd", take_program },
	{ "sendemail.", "smtpserver", take_program },
	{ "sequence.editor", NULL, take_program },
	{ "submodule.", ".update", take_alias },
	{ "tar.", ".command", take_program },
	{ "trailer.", ".cmd", take_program },
	{ "trailer.", ".command", take_program },
};

static bool is_key(size_t i, const char *name)
{
	size_t n = strlen(name), n_first = strlen(keys[i].first);
	size_t n_last = keys[i].last ? strlen(keys[i].last) : 0;

	if (!keys[i].last)
		return strcmp(name, keys[i].first) == 0;
	return n > n_first + n_last && strncmp(name, keys[i].first, n_first) == 0 &&
	       strcmp(name + n - n_last, keys[i].last) == 0;
}

static int take(void *context, const char *name, const char *value)
{
	struct reader *reader = context;

	for (size_t i = 0; value && value[0] && i < N_ELEMENTS(keys); i++)
		if (is_key(i, name))
			return keys[i].take(reader, value);
	return 0;
}

/* A file that cannot be read could name anything, so the probe fails closed. */
int scan_read_file(struct scan *scan, const char *path, git_config_fn *fn, void *context)
{
	_cleanup_close_ int fd =
		open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	_cleanup_free_ char *bytes = NULL;
	struct stat status;
	size_t n_bytes = 0;
	int r = -EBADMSG;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
		r = file_read_fd(fd, path, GIT_CONFIG_MAX, &bytes, &n_bytes, NULL);
	if (r == 0)
		r = git_config_read(bytes, n_bytes, fn, context);
	return r < 0 && r != -ENOMEM
		       ? scan_give_up(scan, path, "it cannot be read completely", SCAN_FIX_CONFIG)
		       : r;
}

static int add_file(struct reader *reader, const char *directory, const char *name)
{
	struct host_path place;
	int r = scan_look(reader->scan, directory, name, &place);

	if (r == 0 && place.kind != HOST_MISSING)
		reader->files[reader->n_files++] = place.real;
	return r;
}

/* A configuration file of the user or of the system. What git cannot read either is left out. */
static int add_outer_file(struct reader *reader, const char *path, bool is_kept_missing)
{
	struct host_path place;
	int r;

	if (path[0] != '/')
		return scan_give_up(reader->scan, reader->directory,
				    "HOME, XDG_CONFIG_HOME, GIT_CONFIG_GLOBAL or GIT_CONFIG_SYSTEM "
				    "is a relative path",
				    "set it to an absolute path, or use --out instead of --write");
	r = scan_look(reader->scan, "/", path, &place);
	if (r < 0 || (place.kind != HOST_FILE && !(place.kind == HOST_MISSING && is_kept_missing)))
		return r;
	if (faccessat(AT_FDCWD, place.real, R_OK, AT_EACCESS) == 0)
		reader->files[reader->n_files++] = place.real;
	return scan_add_name(reader->scan, &place);
}

static int add_outer_files(struct reader *reader)
{
	static const struct {
		const char *variable; /* names the file, or its directory */
		const char *name;     /* or NULL */
	} files[] = {
		{ "GIT_CONFIG_SYSTEM", NULL },
		{ "GIT_CONFIG_GLOBAL", NULL },
		{ "XDG_CONFIG_HOME", "git/config" },
		{ "HOME", ".config/git/config" },
		{ "HOME", ".gitconfig" },
	};
	int r = add_outer_file(reader, "/etc/gitconfig", false);

	for (size_t i = 0; i < N_ELEMENTS(files) && r == 0; i++) {
		const char *value = getenv(files[i].variable), *path = value;

		if (!value || value[0] == '\0')
			continue;
		if (files[i].name)
			path = probe_join(reader->scan->search->arena, value, files[i].name);
		r = path ? add_outer_file(reader, path, !files[i].name) : -ENOMEM;
	}
	return r;
}

static int take_worktree(void *context, const char *name, const char *value)
{
	struct reader *reader = context;
	struct host_path place;
	int r;

	if (!value || strcmp(name, "core.worktree") != 0)
		return 0;
	r = scan_look(reader->scan, reader->directory, value, &place);
	if (r == 0)
		reader->top = place.real;
	return r;
}

int scan_configuration(struct scan *scan, const char **top, const char *directory,
		       const char *common)
{
	struct reader reader = { .scan = scan, .top = *top, .directory = directory };
	int r = add_file(&reader, common, "config");
	/* In a linked worktree git ignores core.worktree of the common configuration. */
	size_t first = strcmp(common, directory) == 0 ? 0 : reader.n_files;

	if (r < 0)
		return r;
	r = add_file(&reader, directory, "config.worktree");
	for (size_t i = first; r == 0 && i < reader.n_files; i++)
		r = scan_read_file(scan, reader.files[i], take_worktree, &reader);
	*top = reader.top;
	r = r < 0 ? r : add_outer_files(&reader);
	for (; r == 0 && reader.at < reader.n_files; reader.at++)
		r = scan_read_file(scan, reader.files[reader.at], take, &reader);
	return r;
}
