/* SPDX-License-Identifier: MIT */
/*
 * Escapes from a directory that the attacker can change while we work in it
 *
 * Each test first runs the attack against the usual call (openat, or a check followed by openat)
 * and expects it to succeed: an attack that never succeeds proves nothing. Then the same attack
 * runs against path_open_beneath().
 *
 *   arena/root/work/secret   "inside"    the file that the caller may open
 *   arena/outside/secret     "outside"   the file that it must never open
 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"

struct arena {
	char path[64];
	int top;
	int root;
};

#define _cleanup_arena_ _cleanup_(arena_close)

static void write_secret(int dirfd, const char *path, const char *content)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	expect(write(fd, content, strlen(content)) == (ssize_t)strlen(content));
}

static void arena_open(struct arena *arena)
{
	memcpy(arena->path, "/tmp/sbx-attack-XXXXXX", sizeof("/tmp/sbx-attack-XXXXXX"));
	expect(mkdtemp(arena->path) != NULL);
	arena->top = open(arena->path, O_DIRECTORY | O_CLOEXEC);
	expect_eq(mkdirat(arena->top, "root", 0700), 0);
	expect_eq(mkdirat(arena->top, "root/work", 0700), 0);
	expect_eq(mkdirat(arena->top, "outside", 0700), 0);
	write_secret(arena->top, "root/work/secret", "inside");
	write_secret(arena->top, "outside/secret", "outside");
	arena->root = openat(arena->top, "root", O_DIRECTORY | O_CLOEXEC);
}

static void arena_close(struct arena *arena)
{
	static const char *const leftovers[] = {
		"root/work/secret",  "root/work/planted",
		"root/work",	     "root/spare/secret",
		"root/spare",	     "root/link",
		"outside/secret",    "outside/planted",
		"outside/made",	     "outside/deep/work/secret",
		"outside/deep/work", "outside/deep",
		"outside",	     "root",
	};

	for (size_t i = 0; i < N_ELEMENTS(leftovers); i++)
		if (unlinkat(arena->top, leftovers[i], 0) < 0)
			(void)unlinkat(arena->top, leftovers[i], AT_REMOVEDIR);
	close_fd(&arena->root);
	close_fd(&arena->top);
	expect_eq(rmdir(arena->path), 0);
}

enum seen { SEEN_NOTHING, SEEN_INSIDE, SEEN_OUTSIDE };

/* Which of the two files the fd refers to; closes it. */
static enum seen look(int fd)
{
	_cleanup_close_ int owned = fd;
	char text[16] = "";

	if (owned < 0 || read(owned, text, sizeof(text) - 1) <= 0)
		return SEEN_NOTHING;
	return strcmp(text, "inside") == 0 ? SEEN_INSIDE : SEEN_OUTSIDE;
}

static enum seen look_plainly(int dirfd, const char *path)
{
	return look(openat(dirfd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
}

static enum seen look_beneath(int dirfd, const char *path)
{
	return look(path_open_beneath(dirfd, path, O_RDONLY, 0));
}

static void dots_and_slashes_do_not_lead_out(void)
{
	static const char *const ways[] = {
		"../outside/secret",
		"work/../../outside/secret",
		"work/..//..///outside/./secret",
		"./work/.././../outside/secret",
	};
	_cleanup_arena_ struct arena arena;

	arena_open(&arena);
	for (size_t i = 0; i < N_ELEMENTS(ways); i++) {
		expect_eq(look_plainly(arena.root, ways[i]), SEEN_OUTSIDE);
		expect_eq(path_open_beneath(arena.root, ways[i], O_RDONLY, 0), -EXDEV);
	}
	expect_eq(look_beneath(arena.root, "work/../work/secret"), SEEN_INSIDE);
}

static void an_absolute_path_does_not_forget_the_directory(void)
{
	_cleanup_arena_ struct arena arena;
	char path[PATH_MAX];

	arena_open(&arena);
	snprintf(path, sizeof(path), "%s/outside/secret", arena.path);
	expect_eq(look_plainly(arena.root, path), SEEN_OUTSIDE);
	expect_eq(path_open_beneath(arena.root, path, O_RDONLY, 0), -EXDEV);
}

static void a_link_on_the_way_does_not_lead_out(void)
{
	_cleanup_arena_ struct arena arena;

	arena_open(&arena);
	expect_eq(symlinkat("../outside", arena.root, "link"), 0);
	expect_eq(look_plainly(arena.root, "link/secret"), SEEN_OUTSIDE);
	expect_eq(path_open_beneath(arena.root, "link/secret", O_RDONLY, 0), -ELOOP);
}

/* Magic links such as /proc/PID/root leave the directory without "..". */
static void a_magic_link_does_not_lead_out(void)
{
	_cleanup_arena_ struct arena arena;
	_cleanup_close_ int proc = open("/proc/self", O_DIRECTORY | O_CLOEXEC);
	char path[PATH_MAX];

	arena_open(&arena);
	if (proc < 0) {
		expect(errno == ENOENT);
		skip("there is no /proc here");
	}
	snprintf(path, sizeof(path), "root%s/outside/secret", arena.path);
	expect_eq(look_plainly(proc, path), SEEN_OUTSIDE);
	expect_eq(path_open_beneath(proc, path, O_RDONLY, 0), -ELOOP);

	snprintf(path, sizeof(path), "fd/%d/outside/secret", arena.top);
	expect_eq(look_plainly(proc, path), SEEN_OUTSIDE);
	expect_eq(path_open_beneath(proc, path, O_RDONLY, 0), -ELOOP);
}

static void a_dangling_link_does_not_plant_a_file_outside(void)
{
	_cleanup_arena_ struct arena arena;

	arena_open(&arena);
	expect_eq(symlinkat("../outside/planted", arena.root, "link"), 0);
	expect_eq(path_open_beneath(arena.root, "link", O_CREAT | O_WRONLY, 0600), -ELOOP);
	expect_eq(faccessat(arena.top, "outside/planted", F_OK, 0), -1);

	_cleanup_close_ int fd = openat(arena.root, "link", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	expect(fd >= 0);
	expect_eq(faccessat(arena.top, "outside/planted", F_OK, 0), 0);
}

static void creates_no_directories_through_a_link(void)
{
	_cleanup_arena_ struct arena arena;

	arena_open(&arena);
	expect_eq(symlinkat("../outside", arena.root, "link"), 0);
	expect_eq(path_make_parents_beneath(arena.root, "link/made/file", 0700), -ELOOP);
	expect_eq(path_make_parents_beneath(arena.root, "work/../../outside/made/file", 0700),
		  -EXDEV);
	expect_eq(faccessat(arena.top, "outside/made", F_OK, 0), -1);

	expect_eq(mkdirat(arena.root, "link/made", 0700), 0);
	expect_eq(faccessat(arena.top, "outside/made", F_OK, 0), 0);
}

/* Exchanges the names @a and @b with one renameat2(RENAME_EXCHANGE). */
static void swap(const struct arena *arena, const char *a, const char *b)
{
	expect_eq(renameat2(arena->top, a, arena->top, b, RENAME_EXCHANGE), 0);
}

static void a_check_before_the_open_would_be_too_early(void)
{
	_cleanup_arena_ struct arena arena;
	struct stat info;

	arena_open(&arena);
	expect_eq(symlinkat("../outside", arena.root, "link"), 0);

	/* The check sees a directory; the open a moment later follows a link. */
	expect_eq(fstatat(arena.root, "work", &info, AT_SYMLINK_NOFOLLOW), 0);
	expect(S_ISDIR(info.st_mode));
	swap(&arena, "root/work", "root/link");
	expect_eq(look_plainly(arena.root, "work/secret"), SEEN_OUTSIDE);
	expect_eq(path_open_beneath(arena.root, "work/secret", O_RDONLY, 0), -ELOOP);
	swap(&arena, "root/work", "root/link");
}

static void resolution_does_not_follow_a_moved_directory(void)
{
	_cleanup_arena_ struct arena arena;

	arena_open(&arena);

	/* Opens "work", and then ".." of it after the attacker has moved it. */
	_cleanup_close_ int work = openat(arena.root, "work", O_DIRECTORY | O_CLOEXEC);

	expect_eq(mkdirat(arena.top, "outside/deep", 0700), 0);
	expect_eq(renameat(arena.root, "work", arena.top, "outside/deep/work"), 0);
	expect_eq(look_plainly(work, "../../secret"), SEEN_OUTSIDE);
	expect_eq(path_open_beneath(work, "../../secret", O_RDONLY, 0), -EXDEV);
}

/* An attacker thread that changes the tree in a loop until it is stopped. */
struct attacker {
	const struct arena *arena;
	const char *a, *b; /* exchanged in a loop */
	atomic_bool stop;
	atomic_uint n_swaps;
};

static void *attack(void *context)
{
	struct attacker *attacker = context;

	/* An even number of exchanges restores the tree. */
	while (!atomic_load(&attacker->stop) || atomic_load(&attacker->n_swaps) % 2 != 0) {
		swap(attacker->arena, attacker->a, attacker->b);
		atomic_fetch_add(&attacker->n_swaps, 1);
	}
	return NULL;
}

struct race {
	unsigned n_inside, n_outside, n_refused;
};

typedef enum seen look_fn(int dirfd, const char *path);

/* Looks through @path during the attack: at least @n_looks times, until the attacker has changed
 * the tree as often and both outcomes were seen, but at most @n_most times. */
static struct race race(struct attacker *attacker, look_fn *looks, const char *path,
			unsigned n_looks, unsigned n_most)
{
	struct race race = { 0 };
	pthread_t thread;

	atomic_store(&attacker->stop, false);
	atomic_store(&attacker->n_swaps, 0);
	expect_eq(pthread_create(&thread, NULL, attack, attacker), 0);
	for (unsigned i = 0; i < n_most; i++) {
		enum seen seen = looks(attacker->arena->root, path);

		race.n_inside += seen == SEEN_INSIDE;
		race.n_outside += seen == SEEN_OUTSIDE;
		race.n_refused += seen == SEEN_NOTHING;
		if (i >= n_looks && atomic_load(&attacker->n_swaps) >= n_looks && race.n_inside &&
		    race.n_outside + race.n_refused)
			break;
	}
	atomic_store(&attacker->stop, true);
	expect_eq(pthread_join(thread, NULL), 0);
	return race;
}

/* Enough that the usual call fails hundreds of times, but short enough for each run. */
static unsigned n_trials(void)
{
	return test_is_slow() ? 500000 : 20000;
}

static void a_link_swapped_in_during_the_walk_never_leads_out(void)
{
	_cleanup_arena_ struct arena arena;

	arena_open(&arena);
	expect_eq(symlinkat("../outside", arena.root, "link"), 0);

	struct attacker attacker = { .arena = &arena, .a = "root/work", .b = "root/link" };
	struct race usual =
		race(&attacker, look_plainly, "work/secret", n_trials(), n_trials() * 500);
	struct race ours =
		race(&attacker, look_beneath, "work/secret", n_trials(), n_trials() * 500);

	expect(usual.n_outside > 0);
	expect(ours.n_inside > 0);
	expect(ours.n_refused > 0);
	expect_eq(ours.n_outside, 0);
}

/* ".." of a directory that is exchanged with one whose parent is outside. */
static void dots_during_a_move_never_lead_out(void)
{
	_cleanup_arena_ struct arena arena;

	arena_open(&arena);
	expect_eq(mkdirat(arena.top, "outside/deep", 0700), 0);
	expect_eq(mkdirat(arena.top, "outside/deep/work", 0700), 0);
	write_secret(arena.top, "outside/deep/work/secret", "inside");

	struct attacker attacker = { .arena = &arena, .a = "root/work", .b = "outside/deep/work" };
	struct race ours = race(&attacker, look_beneath, "work/../work/../work/secret", n_trials(),
				n_trials() * 50);

	expect(ours.n_inside > 0);
	expect_eq(ours.n_outside, 0);

	/* The same, component by component, as a resolver in user space does it. */
	_cleanup_close_ int work = openat(arena.root, "work", O_DIRECTORY | O_CLOEXEC);

	swap(&arena, "root/work", "outside/deep/work");
	expect_eq(look_plainly(work, "../../secret"), SEEN_OUTSIDE);
}

static const struct test tests[] = {
	TEST(dots_and_slashes_do_not_lead_out),
	TEST(an_absolute_path_does_not_forget_the_directory),
	TEST(a_link_on_the_way_does_not_lead_out),
	TEST(a_magic_link_does_not_lead_out),
	TEST(a_dangling_link_does_not_plant_a_file_outside),
	TEST(creates_no_directories_through_a_link),
	TEST(a_check_before_the_open_would_be_too_early),
	TEST(resolution_does_not_follow_a_moved_directory),
	TEST(a_link_swapped_in_during_the_walk_never_leads_out),
	TEST(dots_during_a_move_never_lead_out),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
