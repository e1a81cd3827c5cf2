/* SPDX-License-Identifier: MIT */
/*
 * Attacks by a project's files on a user who configures it
 *
 * "sbx-config set --where=project" runs as the user in a directory that an attacker has filled.
 * Each attack first runs against the plain way (mkdir, open the path, replace the path), where it
 * must succeed.
 *
 *   arena/project/.sbx/config.yaml   the file to write
 *   arena/home/config.yaml           the user's own file, which must not change
 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/config.h"
#include "base/file.h"
#include "base/text.h"

static const char precious[] = "log_level: error\n";

struct arena {
	char path[64];
	char config[128];
	int top;
};

#define _cleanup_arena_ _cleanup_(arena_close)

static void write_file(int dirfd, const char *path)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	expect(write(fd, precious, strlen(precious)) == (ssize_t)strlen(precious));
}

static void arena_open(struct arena *arena)
{
	memcpy(arena->path, "/tmp/sbx-attack-XXXXXX", sizeof("/tmp/sbx-attack-XXXXXX"));
	expect(mkdtemp(arena->path) != NULL);
	(void)snprintf(arena->config, sizeof(arena->config), "%s/project/.sbx/config.yaml",
		       arena->path);
	arena->top = open(arena->path, O_DIRECTORY | O_CLOEXEC);
	expect_eq(mkdirat(arena->top, "project", 0700), 0);
	expect_eq(mkdirat(arena->top, "home", 0700), 0);
	write_file(arena->top, "home/config.yaml");
}

static void arena_close(struct arena *arena)
{
	static const char *const leftovers[] = {
		"project/.sbx/config.yaml", "project/.sbx",	    "project/link", "project",
		"home/config.yaml",	    "home/sub/config.yaml", "home/sub",	    "home",
	};

	for (size_t i = 0; i < N_ELEMENTS(leftovers); i++)
		if (unlinkat(arena->top, leftovers[i], 0) < 0)
			(void)unlinkat(arena->top, leftovers[i], AT_REMOVEDIR);
	close_fd(&arena->top);
	expect_eq(rmdir(arena->path), 0);
}

static bool is_untouched(const struct arena *arena)
{
	_cleanup_free_ char *bytes = NULL;
	size_t n_bytes;

	return file_read(arena->top, "home/config.yaml", 4096, &bytes, &n_bytes, NULL) == 0 &&
	       strcmp(bytes, precious) == 0;
}

static void restore(const struct arena *arena)
{
	expect_eq(unlinkat(arena->top, "home/config.yaml", 0), 0);
	write_file(arena->top, "home/config.yaml");
}

/* A tool without config_save(): checks the path, then uses it. */
static void save_plainly(const struct arena *arena)
{
	_cleanup_text_ struct text directory = TEXT_INIT;
	struct stat st;

	text_addf(&directory, "%s/project/.sbx", arena->path);
	(void)mkdir(text_string(&directory), 0755);
	if (stat(text_string(&directory), &st) == 0 && S_ISDIR(st.st_mode))
		(void)file_replace(AT_FDCWD, arena->config, "color: never\n", 13, 0644, NULL);
}

static int save(const struct arena *arena, struct sbx_error *err)
{
	return config_save(arena->config, CONFIG_FROM_PROJECT, "color", "never", err);
}

static void a_directory_that_is_a_link_is_not_written_through(void)
{
	_cleanup_arena_ struct arena arena;
	struct sbx_error err = { 0 };

	arena_open(&arena);
	expect_eq(symlinkat("../home", arena.top, "project/.sbx"), 0);
	save_plainly(&arena);
	expect(!is_untouched(&arena));

	restore(&arena);
	expect_eq(save(&arena, &err), -ELOOP);
	expect(strstr(err.why, "symbolic link") != NULL && err.fix[0] != '\0');
	expect(is_untouched(&arena));
}

static void a_dangling_link_does_not_plant_a_file_elsewhere(void)
{
	_cleanup_arena_ struct arena arena;
	char path[PATH_MAX];

	arena_open(&arena);
	expect_eq(mkdirat(arena.top, "project/.sbx", 0700), 0);
	expect_eq(symlinkat("../../home/sub", arena.top, "project/.sbx/config.yaml"), 0);

	/* A plain open() creates the target of the link. */
	_cleanup_close_ int fd = open(arena.config, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	expect(fd >= 0);
	(void)snprintf(path, sizeof(path), "%s/home/sub", arena.path);
	expect_eq(unlink(path), 0);
	expect_eq(save(&arena, NULL), -ELOOP);
	expect_eq(access(path, F_OK), -1);
}

static void a_file_that_is_a_link_is_neither_read_nor_written(void)
{
	_cleanup_arena_ struct arena arena;
	_cleanup_free_ char *bytes = NULL;
	struct sbx_error err = { 0 };
	struct stat st;
	size_t n_bytes;

	arena_open(&arena);
	expect_eq(mkdirat(arena.top, "project/.sbx", 0700), 0);
	expect_eq(symlinkat("../../home/config.yaml", arena.top, "project/.sbx/config.yaml"), 0);

	/* A plain read copies lines of the user's file into a file of the project. */
	expect_eq(file_read(AT_FDCWD, arena.config, 4096, &bytes, &n_bytes, NULL), 0);
	expect_str(bytes, precious);

	expect_eq(save(&arena, &err), -ELOOP);
	expect(!strstr(err.what, "log_level") && !strstr(err.why, "log_level"));
	expect(is_untouched(&arena));
	expect_eq(fstatat(arena.top, "project/.sbx/config.yaml", &st, AT_SYMLINK_NOFOLLOW), 0);
	expect(S_ISLNK(st.st_mode));
}

struct attacker {
	const struct arena *arena;
	atomic_bool stop;
	atomic_uint n_swaps;
};

static void *attack(void *context)
{
	struct attacker *attacker = context;

	while (!atomic_load(&attacker->stop)) {
		(void)renameat2(attacker->arena->top, "project/.sbx", attacker->arena->top,
				"project/link", RENAME_EXCHANGE);
		atomic_fetch_add(&attacker->n_swaps, 1);
	}
	return NULL;
}

/* The attacker swaps the directory and a link to the user's home during the save. */
static void a_link_swapped_in_during_the_save_never_leads_out(void)
{
	unsigned n_most = test_is_slow() ? 200000 : 20000, n_tries = test_is_slow() ? 20000 : 1000;
	unsigned n_saved = 0, n_refused = 0;
	_cleanup_arena_ struct arena arena;
	pthread_t thread;

	arena_open(&arena);

	struct attacker attacker = { .arena = &arena };

	expect_eq(mkdirat(arena.top, "project/.sbx", 0700), 0);
	expect_eq(symlinkat("../home", arena.top, "project/link"), 0);
	expect_eq(pthread_create(&thread, NULL, attack, &attacker), 0);
	for (unsigned i = 0; i < n_most && is_untouched(&arena); i++)
		save_plainly(&arena);
	expect(!is_untouched(&arena));
	restore(&arena);

	for (unsigned i = 0; i < n_most && (i < n_tries || !n_saved || !n_refused); i++) {
		int r = save(&arena, NULL);

		n_saved += r == 0;
		n_refused += r == -ELOOP || r == -ENOTDIR;
	}
	atomic_store(&attacker.stop, true);
	expect_eq(pthread_join(thread, NULL), 0);
	expect(n_saved > 0 && n_refused > 0);
	expect(is_untouched(&arena));
	/* Give the directory its own name again, for arena_close(). */
	if (atomic_load(&attacker.n_swaps) % 2 != 0)
		expect_eq(renameat2(arena.top, "project/.sbx", arena.top, "project/link",
				    RENAME_EXCHANGE),
			  0);
}

static const struct test tests[] = {
	TEST(a_directory_that_is_a_link_is_not_written_through),
	TEST(a_dangling_link_does_not_plant_a_file_elsewhere),
	TEST(a_file_that_is_a_link_is_neither_read_nor_written),
	TEST(a_link_swapped_in_during_the_save_never_leads_out),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
