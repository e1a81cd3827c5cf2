/* SPDX-License-Identifier: MIT */

/*
 * Paths under mounts: which are watched, and what is detected when a process in another mount
 * namespace changes them
 *
 * The watcher is a child in its own mount namespace with the mounts; the test is outside.
 */

#include "spawn/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "plan/plan.h"
#include "step-flags.h"
#include "test.h"

#define DIRECTORY STEP_IS_DIRECTORY
#define READ_ONLY STEP_READ_ONLY
#define DEADLINE_MSEC 60000

/* ---- which names ---- */

static size_t count(const struct step *steps, size_t n)
{
	_cleanup_watch_ struct watch watch = WATCH_INIT;
	const struct plan plan = { .steps = (struct step *)steps, .n_steps = n };

	expect_eq(watch_read_plan(&watch, &plan), 0);
	return watch.n;
}
#define COUNT(...)                                                                                 \
	count((const struct step[]){ __VA_ARGS__ },                                                \
	      N_ELEMENTS(((const struct step[]){ __VA_ARGS__ })))
#define PUT(what, member, to)                                                                      \
	{                                                                                          \
		.kind = what, .member.target = to                                                  \
	}

static void nothing_is_watched_where_nothing_is_taken_away(void)
{
	expect_eq(COUNT({ .kind = STEP_NAMESPACES }, { .kind = STEP_EXEC }), 0);
	expect_eq(COUNT(step_bind("/p", "/p", DIRECTORY), PUT(STEP_PROC, proc, "/proc"),
			PUT(STEP_TMPFS, tmpfs, "/tmp"),
			step_bind("/usr", "/usr", DIRECTORY | READ_ONLY)),
		  0);
	/* A path that only begins alike; a bind with more rights than its surroundings. */
	expect_eq(COUNT(step_bind("/p", "/p", DIRECTORY), PUT(STEP_MASK, mask, "/pq")), 0);
	expect_eq(COUNT(step_bind("/p", "/p", DIRECTORY | READ_ONLY),
			step_bind("/p/out", "/p/out", DIRECTORY)),
		  0);
	expect_eq(COUNT(step_bind("/p", "/p", DIRECTORY), step_bind("/p/a", "/p/a", DIRECTORY)), 0);
}

static void mounts_in_own_file_systems_are_not_watched(void)
{
	expect_eq(COUNT(PUT(STEP_TMPFS, tmpfs, "/tmp"), PUT(STEP_MASK, mask, "/tmp/a")), 0);
	expect_eq(COUNT(PUT(STEP_OVERLAY, overlay, "/p"), PUT(STEP_MASK, mask, "/p/a")), 0);
	expect_eq(COUNT(PUT(STEP_MASK, mask, "/etc/shadow")), 0);
}

static void whatever_is_taken_away_is_watched(void)
{
	expect_eq(COUNT(step_bind("/p", "/p", DIRECTORY), PUT(STEP_MASK, mask, "/p/a")), 1);
	expect_eq(COUNT(step_bind("/p", "/p", DIRECTORY | READ_ONLY), PUT(STEP_MASK, mask, "/p/a")),
		  1);
	expect_eq(COUNT(step_bind("/p", "/p", DIRECTORY), step_bind("/p/a", "/p/a", READ_ONLY)), 1);
	expect_eq(COUNT(step_bind("/p", "/p", DIRECTORY), step_bind("/p/a", "/p/a", STEP_NO_EXEC)),
		  1);
	expect_eq(COUNT(step_bind("/s", "/p", DIRECTORY), step_bind("/s/a", "/p/a", READ_ONLY)), 1);
	/* Another source is bound there. */
	expect_eq(COUNT(step_bind("/p", "/p", DIRECTORY), step_bind("/q", "/p/a", DIRECTORY)), 1);
	expect_eq(COUNT(step_bind("/p", "/p", DIRECTORY), PUT(STEP_TMPFS, tmpfs, "/p/a")), 1);
	/* A directory that is only bound so that the command cannot rename it is not watched. */
	expect_eq(COUNT(step_bind("/p", "/p", DIRECTORY), step_bind("/p/a", "/p/a", DIRECTORY),
			PUT(STEP_MASK, mask, "/p/a/b/c"), PUT(STEP_MASK, mask, "/p/e")),
		  2);
	/* Between the two there is a tmpfs that sbx has made. */
	expect_eq(COUNT(step_bind("/p", "/p", DIRECTORY), PUT(STEP_TMPFS, tmpfs, "/p/t"),
			step_bind("/q", "/p/t/q", DIRECTORY), PUT(STEP_MASK, mask, "/p/t/q/x")),
		  2);
}

/* ---- a child that watches ---- */

struct scene {
	char directory[64];
	struct step steps[8];
	struct plan plan;
	pid_t watcher;
	int orders; /* commands to the watcher */
	int answers;
};

/* The watcher's answer. */
struct answer {
	int code;      /* result of watch_begin() */
	bool is_event; /* inotify has reported something */
	int lost;      /* index of the lost step, or -1 */
	struct sbx_error err;
};

static void must(bool it_is)
{
	if (!it_is)
		abort();
}

/* Freed with the scene. */
static char *path(const struct scene *scene, const char *name)
{
	char *ret;

	must(asprintf(&ret, "%s%s", scene->directory, name) > 0);
	return ret;
}

static void make_file(const char *at)
{
	_cleanup_close_ int fd = open(at, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	must(fd >= 0);
}

static void add_bind(struct scene *scene, const char *name, unsigned flags)
{
	const char *at = path(scene, name);

	scene->steps[scene->plan.n_steps++] = step_bind(at, at, flags);
}

static void add_mask(struct scene *scene, const char *name)
{
	scene->steps[scene->plan.n_steps++] =
		(struct step){ .kind = STEP_MASK, .mask.target = path(scene, name) };
}

enum { ALL, PIN, DEEP, HOOKS, SECRET };

/* In the directory of the scene: d/e/f hidden, hooks read-only, secret hidden. */
static void scene_init(struct scene *scene)
{
	*scene = (struct scene){ .directory = "/tmp/test-watch-XXXXXX", .watcher = -1 };
	must(mkdtemp(scene->directory) && chdir(scene->directory) == 0);
	must(mkdir("d", 0700) == 0 && mkdir("d/e", 0700) == 0 && mkdir("hooks", 0700) == 0);
	make_file("d/e/f");
	make_file("secret");
	make_file("other");
	scene->plan.steps = scene->steps;
	add_bind(scene, "", DIRECTORY);
	add_bind(scene, "/d", DIRECTORY);
	add_mask(scene, "/d/e/f");
	add_bind(scene, "/hooks", DIRECTORY | READ_ONLY);
	add_mask(scene, "/secret");
}

static int remove_one(const char *at, const struct stat *status, int type, struct FTW *ftw)
{
	return remove(at);
}

static void scene_deinit(struct scene *scene)
{
	close_fd(&scene->orders);
	close_fd(&scene->answers);
	if (scene->watcher > 0)
		(void)waitpid(scene->watcher, NULL, 0);
	for (size_t i = 0; i < scene->plan.n_steps; i++)
		free((void *)step_target(&scene->steps[i]));
	must(chdir("/") == 0 && nftw(scene->directory, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0);
}
#define _cleanup_scene_ _cleanup_(scene_deinit)

static void put_mounts(const struct scene *scene)
{
	must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	for (size_t i = 0; i < scene->plan.n_steps; i++)
		must(mount(scene->steps[i].kind == STEP_MASK ? "/dev/null"
							     : scene->steps[i].bind.source,
			   step_target(&scene->steps[i]), NULL, MS_BIND, NULL) == 0);
}

static bool is_told(const struct watch *watch)
{
	struct pollfd waits = { .fd = watch->changes.fd, .events = watch->changes.events };

	return poll(&waits, 1, DEADLINE_MSEC) > 0;
}

static int number_of(const struct scene *scene, struct watch_loss loss)
{
	for (size_t i = 0; i < scene->plan.n_steps; i++)
		if (loss.path == step_target(&scene->steps[i]))
			return (int)i;
	return -1;
}

/* Reports when it watches; waits for "w" (an event will come) or "l" (look now), and reports the
 * result. */
static void watch_in_child(const struct scene *scene, bool has_mounts, int orders, int answers)
{
	_cleanup_watch_ struct watch watch = WATCH_INIT;
	struct answer answer = { .lost = -1 };
	char order;
	int root;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) < 0)
		_exit(1);

	int mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);

	if (has_mounts)
		put_mounts(scene);
	/* Open "/" in the new namespace: the old one would not show its mounts. */
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	must(watch_read_plan(&watch, &scene->plan) == 0);
	answer.code = watch_begin(&watch, root, mounts, &answer.err);
	must(write(answers, &answer, sizeof(answer)) == sizeof(answer));
	while (read(orders, &order, 1) == 1) {
		answer.is_event = order == 'w' && is_told(&watch);
		answer.lost = number_of(scene, watch_check(&watch));
		must(write(answers, &answer, sizeof(answer)) == sizeof(answer));
	}
	watch_deinit(&watch);
	_exit(0);
}

static struct answer hear(const struct scene *scene)
{
	struct answer answer = { .code = -ECHILD };

	must(read(scene->answers, &answer, sizeof(answer)) == sizeof(answer));
	return answer;
}

static struct answer ask(const struct scene *scene, char order)
{
	must(write(scene->orders, &order, 1) == 1);
	return hear(scene);
}

static struct answer begin(struct scene *scene, bool has_mounts)
{
	int orders[2], answers[2];

	must(pipe2(orders, O_CLOEXEC) == 0 && pipe2(answers, O_CLOEXEC) == 0);
	(void)fflush(NULL);
	scene->watcher = fork();
	must(scene->watcher >= 0);
	if (scene->watcher == 0) {
		(void)close(orders[1]);
		watch_in_child(scene, has_mounts, orders[0], answers[1]);
	}
	(void)close(orders[0]);
	(void)close(answers[1]);
	scene->orders = orders[1];
	scene->answers = answers[0];
	return hear(scene);
}

static bool has_namespaces(void)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0)
		_exit(unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) < 0);
	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* A process outside changes something in the directory: which step is lost? */
static void expect_lost(bool (*change)(void), int step, bool is_told)
{
	_cleanup_scene_ struct scene scene;
	struct answer answer;

	scene_init(&scene);
	answer = begin(&scene, true);
	expect_eq(answer.code, 0);
	expect(change());
	answer = ask(&scene, is_told ? 'w' : 'l');
	expect_eq(answer.is_event, is_told);
	expect_eq(answer.lost, step);
}

static bool replace_a_file(void)
{
	return rename("other", "secret") == 0;
}

static bool remove_a_file(void)
{
	return unlink("secret") == 0;
}

static bool rename_a_file(void)
{
	return rename("secret", "d/elsewhere") == 0;
}

/* The same inode under the same name, but without the mount over it. */
static bool replace_a_file_by_itself(void)
{
	return link("secret", "link") == 0 && rename("secret", "old") == 0 &&
	       rename("link", "secret") == 0;
}

static bool remove_a_directory(void)
{
	return rmdir("hooks") == 0;
}

static bool replace_a_directory(void)
{
	return mkdir("hooks2", 0700) == 0 && rename("hooks2", "hooks") == 0;
}

static bool rename_a_directory(void)
{
	return rename("hooks", "hooks2") == 0;
}

static bool rename_a_directory_on_the_way(void)
{
	return rename("d/e", "d/e2") == 0 && mkdir("d/e", 0700) == 0;
}

static void replacing_or_removing_a_name_is_reported_at_once(void)
{
	if (!has_namespaces())
		skip("user namespaces are forbidden here");
	expect_lost(replace_a_file, SECRET, true);
	expect_lost(remove_a_file, SECRET, true);
	expect_lost(remove_a_directory, HOOKS, true);
	expect_lost(replace_a_directory, HOOKS, true);
}

/* The mount moves with a renamed parent and no event is sent: the check at the end detects it. */
static void a_renamed_parent_is_detected_by_watch_check(void)
{
	if (!has_namespaces())
		skip("user namespaces are forbidden here");
	expect_lost(rename_a_file, SECRET, false);
	expect_lost(replace_a_file_by_itself, SECRET, false);
	expect_lost(rename_a_directory, HOOKS, false);
	expect_lost(rename_a_directory_on_the_way, DEEP, false);
}

static void other_names_and_the_files_themselves_may_change(void)
{
	if (!has_namespaces())
		skip("user namespaces are forbidden here");

	_cleanup_scene_ struct scene scene;

	scene_init(&scene);
	expect_eq(begin(&scene, true).code, 0);
	make_file("new");
	expect(rename("new", "other") == 0 && mkdir("d/e/g", 0700) == 0);
	expect(link("secret", "link") == 0 && chmod("secret", 0) == 0);
	make_file("hooks/post-commit");
	expect_eq(ask(&scene, 'l').lost, -1);
	expect(unlink("other") == 0 && rmdir("d/e/g") == 0 && unlink("link") == 0);
	expect_eq(ask(&scene, 'l').lost, -1);
}

static void watch_begin_refuses_a_lost_mount(void)
{
	if (!has_namespaces())
		skip("user namespaces are forbidden here");

	_cleanup_scene_ struct scene scene;
	struct answer answer;

	scene_init(&scene);
	answer = begin(&scene, false);
	expect_eq(answer.code, -ESTALE);
	expect(strstr(answer.err.what, "cannot protect"));
	expect(strstr(answer.err.why, "while the sandbox was built"));
}

static void a_directory_that_is_gone_is_refused(void)
{
	if (!has_namespaces())
		skip("user namespaces are forbidden here");

	_cleanup_scene_ struct scene scene;

	scene_init(&scene);
	expect_eq(rename("d/e", "e"), 0);
	expect_eq(begin(&scene, false).code, -ENOENT);
}

static void a_link_on_the_way_is_refused(void)
{
	if (!has_namespaces())
		skip("user namespaces are forbidden here");

	_cleanup_scene_ struct scene scene;

	scene_init(&scene);
	expect(rename("d/e", "e") == 0 && symlink("../e", "d/e") == 0);
	expect_eq(begin(&scene, false).code, -ELOOP);
}

static void nothing_is_lost_that_was_never_begun(void)
{
	_cleanup_watch_ struct watch watch = WATCH_INIT;
	struct step steps[] = { step_bind("/p", "/p", DIRECTORY), PUT(STEP_MASK, mask, "/p/a") };
	const struct plan plan = { .steps = steps, .n_steps = N_ELEMENTS(steps) };

	expect_eq(watch_read_plan(&watch, &plan), 0);
	expect(watch_is_needed(&watch));
	expect(!watch_check(&watch).path);
	watch_deinit(&watch);
	expect(!watch_is_needed(&watch));
}

static const struct test tests[] = {
	TEST(nothing_is_watched_where_nothing_is_taken_away),
	TEST(mounts_in_own_file_systems_are_not_watched),
	TEST(whatever_is_taken_away_is_watched),
	TEST(replacing_or_removing_a_name_is_reported_at_once),
	TEST(a_renamed_parent_is_detected_by_watch_check),
	TEST(other_names_and_the_files_themselves_may_change),
	TEST(watch_begin_refuses_a_lost_mount),
	TEST(a_directory_that_is_gone_is_refused),
	TEST(a_link_on_the_way_is_refused),
	TEST(nothing_is_lost_that_was_never_begun),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
