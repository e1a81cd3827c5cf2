/* SPDX-License-Identifier: MIT */

#include <dirent.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "world-rig.h"

/* ---- binds ---- */

static void expect_refused_write(const char *path)
{
	expect_eq(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600), -1);
	expect_eq(errno, EROFS);
}

static void expect_read_only(struct world *world)
{
	expect(holds("/bound/file", "as it was"));
	expect_refused_write("/bound/file");
	expect_refused_write("/bound/new");
	expect_eq(chmod("/bound/file", 0777), -1);
	expect_eq(errno, EROFS);
	expect_eq(unlink("/bound/file"), -1);
	expect_eq(errno, EROFS);
	expect_eq(rename("/bound/file", "/bound/other"), -1);
	expect_eq(errno, EROFS);
}

EVERYBODY(read_only_is_read_only)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	make_directory(&world, "bound", 0777);
	make_file(&world, "bound/file", "as it was", 0666);
	add_bind(&world, outside(&world, "bound"), "/bound", STEP_IS_DIRECTORY | STEP_READ_ONLY);
	add_end(&world);
	expect_eq(world_run(&world, expect_read_only), 0);
	expect(holds(outside(&world, "bound/file"), "as it was"));
}

static void write_into_it(struct world *world)
{
	_cleanup_close_ int fd = open("/bound/new", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	expect_eq(write(fd, "from inside", 11), 11);
}

EVERYBODY(writable_is_writable)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	make_directory(&world, "bound", 0777);
	expect_eq(chmod(outside(&world, "bound"), 0777), 0);
	add_bind(&world, outside(&world, "bound"), "/bound", STEP_IS_DIRECTORY);
	add_end(&world);
	expect_eq(world_run(&world, write_into_it), 0);
	expect(holds(outside(&world, "bound/new"), "from inside"));
}

/* A private mount namespace, in which the test may mount. */
static void make_own_mounts(void)
{
	uid_t uid = geteuid();
	char map[32];
	_cleanup_close_ int fd = -EBADF;

	if (is_root()) {
		expect_eq(unshare(CLONE_NEWNS), 0);
		return;
	}
	expect_eq(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), 0);
	expect_eq(unshare(CLONE_NEWUSER | CLONE_NEWNS), 0);
	fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
	expect(write(fd, map, (size_t)snprintf(map, sizeof(map), "%u %u 1", uid, uid)) > 0);
	close_fd(&fd);
	fd = open("/proc/self/setgroups", O_WRONLY | O_CLOEXEC);
	expect_eq(write(fd, "deny", 4), 4);
	close_fd(&fd);
	fd = open("/proc/self/gid_map", O_WRONLY | O_CLOEXEC);
	expect(write(fd, map, strlen(map)) > 0);
}

static void mount_at(const char *path)
{
	expect_eq(mount("tmpfs", path, "tmpfs", 0, "mode=0777"), 0);
}

static void expect_read_only_below(struct world *world)
{
	expect_refused_write("/bound/new");
	expect_refused_write("/bound/below/new");
	expect_refused_write("/bound/below/deeper/new");
}

static void bind_with_mounts_below(void)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	expect_eq(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	make_directory(&world, "bound", 0777);
	make_directory(&world, "bound/below", 0777);
	mount_at(outside(&world, "bound/below"));
	make_directory(&world, "bound/below/deeper", 0777);
	mount_at(outside(&world, "bound/below/deeper"));
	add_bind(&world, outside(&world, "bound"), "/bound", STEP_IS_DIRECTORY | STEP_READ_ONLY);
	add_end(&world);
	expect_eq(world_run(&world, expect_read_only_below), 0);
	expect_eq(umount2(outside(&world, "bound/below"), MNT_DETACH), 0);
}

EVERYBODY(read_only_goes_for_what_is_mounted_below)
{
	in_child(make_own_mounts, bind_with_mounts_below);
}

struct pipes {
	int to_inside[2];
	int to_outside[2];
};

static void inside_of_later_mount(const struct pipes *pipes)
{
	struct statfs st;
	char go;

	expect_eq(write(pipes->to_outside[1], "i", 1), 1);
	expect_eq(read(pipes->to_inside[0], &go, 1), 1);
	expect_eq(statfs("/bound/below", &st), 0);
	expect_eq(access("/bound/below/late", F_OK), -1);
}

/* A process outside mounts below the source after the sandbox was built. */
static void mount_later(struct world *world, const struct pipes *pipes)
{
	char go;

	expect_eq(read(pipes->to_outside[0], &go, 1), 1);
	mount_at(outside(world, "bound/below"));
	make_file(world, "bound/below/late", "", 0644);
	expect_eq(write(pipes->to_inside[1], "o", 1), 1);
}

static void look_for_later_mount(struct world *world)
{
	inside_of_later_mount((const struct pipes *)world->plan.argv);
}

static void mount_below_a_running_sandbox(void)
{
	_cleanup_world_ struct world world = WORLD_INIT;
	struct pipes pipes;
	pid_t pid;

	world_init(&world);
	expect_eq(mount(NULL, "/", NULL, MS_REC | MS_SHARED, NULL), 0);
	expect_eq(pipe2(pipes.to_inside, O_CLOEXEC), 0);
	expect_eq(pipe2(pipes.to_outside, O_CLOEXEC), 0);
	make_directory(&world, "bound", 0777);
	make_directory(&world, "bound/below", 0777);
	add_bind(&world, outside(&world, "bound"), "/bound", STEP_IS_DIRECTORY);
	add_end(&world);
	world.plan.argv = (char *const *)&pipes;
	(void)fflush(stdout);
	pid = fork();
	if (pid == 0) {
		mount_later(&world, &pipes);
		_exit(test_failures != 0);
	}
	expect_eq(world_run(&world, look_for_later_mount), 0);

	int status = -1;

	expect_eq(waitpid(pid, &status, 0), pid);
	expect_eq(status, 0);
	expect_eq(access(outside(&world, "bound/below/late"), F_OK), 0);
	expect_eq(umount2(outside(&world, "bound/below"), MNT_DETACH), 0);
}

EVERYBODY(later_mounts_on_the_host_do_not_propagate)
{
	in_child(make_own_mounts, mount_below_a_running_sandbox);
}

static void expect_not_executable(struct world *world)
{
	char *const argv[] = { "true", NULL };
	struct statvfs st;

	expect_eq(statvfs("/bound", &st), 0);
	expect((st.f_flag & (ST_NOSUID | ST_NODEV | ST_NOEXEC)) ==
	       (ST_NOSUID | ST_NODEV | ST_NOEXEC));
	expect_eq(execv("/bound/program", argv), -1);
	expect_eq(errno, EACCES);
	/* Without noexec execve() reads the file and fails because it is not a program. */
	expect_eq(execv("/other/program", argv), -1);
	expect_eq(errno, ENOEXEC);
}

EVERYBODY(noexec_mounts_refuse_execve)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	make_directory(&world, "bound", 0755);
	make_file(&world, "bound/program", "no program", 0755);
	add_bind(&world, outside(&world, "bound"), "/bound", STEP_IS_DIRECTORY | STEP_NO_EXEC);
	add_bind(&world, outside(&world, "bound"), "/other", STEP_IS_DIRECTORY);
	add_end(&world);
	expect_eq(world_run(&world, expect_not_executable), 0);
}

static void expect_device_only_where_allowed(struct world *world)
{
	_cleanup_close_ int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	expect_eq(write(fd, "gone", 4), 4);
	expect_eq(open("/dev/full", O_WRONLY | O_CLOEXEC), -1);
	expect_eq(errno, EACCES);
}

EVERYBODY(a_device_works_only_where_it_may)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	add_bind(&world, "/dev/full", "/dev/full", 0);
	add_bind(&world, "/dev/null", "/dev/null", STEP_DEVICES);
	add_end(&world);
	expect_eq(world_run(&world, expect_device_only_where_allowed), 0);
}

EVERYBODY(a_source_that_became_a_link_is_refused)
{
	static const char *const sources[] = { "link", "link/below", "link-to-folder" };

	for (size_t i = 0; i < N_ELEMENTS(sources); i++) {
		_cleanup_world_ struct world world = WORLD_INIT;

		world_init(&world);
		make_directory(&world, "bound", 0755);
		make_directory(&world, "bound/below", 0755);
		expect_eq(symlink("bound", outside(&world, "link")), 0);
		expect_eq(symlink("/etc", outside(&world, "link-to-folder")), 0);
		add_bind(&world, outside(&world, sources[i]), "/bound", STEP_IS_DIRECTORY);
		add_end(&world);
		expect_failing(&world, STEP_BIND, -ELOOP);
	}
}

EVERYBODY(a_source_through_a_process_is_refused)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	add_bind(&world, "/proc/self/root/etc", "/etc", STEP_IS_DIRECTORY);
	add_end(&world);
	expect_failing(&world, STEP_BIND, -ELOOP);
}

EVERYBODY(a_source_of_another_kind_is_refused)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	make_file(&world, "file", "", 0644);
	add_bind(&world, outside(&world, "file"), "/bound", STEP_IS_DIRECTORY);
	add_end(&world);
	expect_failing(&world, STEP_BIND, -ENOTDIR);
	world.steps[4].bind.source = world.directory;
	world.steps[4].bind.is_directory = false;
	expect_failing(&world, STEP_BIND, -EINVAL);
}

EVERYBODY(a_source_that_is_gone_is_refused)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	add_bind(&world, outside(&world, "gone"), "/bound", STEP_IS_DIRECTORY);
	add_end(&world);
	expect_failing(&world, STEP_BIND, -ENOENT);
	expect_eq(world.failure.step, 4);
}

static void expect_their_own(struct world *world)
{
	expect(holds("/a/file", "1"));
	expect(holds("/a/b/file", "2"));
	expect(holds("/one", "3"));
}

EVERYBODY(one_bind_may_lie_in_another)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	make_directory(&world, "a", 0755);
	make_directory(&world, "a/b", 0755);
	make_directory(&world, "other", 0755);
	make_file(&world, "a/file", "1", 0644);
	make_file(&world, "other/file", "2", 0644);
	make_file(&world, "one", "3", 0644);
	add_bind(&world, outside(&world, "a"), "/a", STEP_IS_DIRECTORY | STEP_READ_ONLY);
	add_bind(&world, outside(&world, "other"), "/a/b", STEP_IS_DIRECTORY);
	add_bind(&world, outside(&world, "one"), "/one", 0);
	add_end(&world);
	expect_eq(world_run(&world, expect_their_own), 0);
}

static void expect_foreign_file(struct world *world)
{
	expect(holds("/bound/file", "private"));
	write_into_it(world);
}

static void what_root_owns_belongs_to_the_command(struct world *world)
{
	struct stat st;

	make_directory(world, "bound", 0700);
	make_file(world, "bound/file", "private", 0600);
	expect_eq(chown(outside(world, "bound"), 77, 88), 0);
	expect_eq(chown(outside(world, "bound/file"), 77, 88), 0);
	add(world, .kind = STEP_BIND, .bind.source = outside(world, "bound"),
	    .bind.target = "/bound", .bind.is_directory = true, .bind.owner.is_set = true,
	    .bind.owner.uid = 77, .bind.owner.gid = 88);
	add_end(world);
	expect_eq(world_run(world, expect_foreign_file), 0);
	expect_eq(stat(outside(world, "bound/new"), &st), 0);
	expect_eq(st.st_uid, 77);
	expect_eq(st.st_gid, 88);
}

static void what_is_written_belongs_to_the_owner_of_the_directory(void)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	if (!is_root())
		skip("only root gives files to others");
	if (!has_namespaces())
		skip("nobody may make user namespaces here");
	world_init(&world);
	what_root_owns_belongs_to_the_command(&world);
}

static void expect_no_access(struct world *world)
{
	expect_eq(access("/bound/file", R_OK), -1);
	expect_eq(errno, EACCES);
}

static void root_does_not_lend_its_rights(void)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	if (!is_root())
		skip("only root has what others have not");
	if (!has_namespaces())
		skip("nobody may make user namespaces here");
	world_init(&world);
	make_directory(&world, "bound", 0700);
	make_file(&world, "bound/file", "root's", 0600);
	add_bind(&world, outside(&world, "bound"), "/bound", STEP_IS_DIRECTORY);
	add_end(&world);
	expect_eq(world_run(&world, expect_no_access), 0);
}

static void refuses_an_owner_map_of_an_ordinary_user_body(void)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	make_directory(&world, "bound", 0755);
	add(&world, .kind = STEP_BIND, .bind.source = outside(&world, "bound"),
	    .bind.target = "/bound", .bind.is_directory = true, .bind.owner.is_set = true,
	    .bind.owner.uid = 0, .bind.owner.gid = 0);
	add_end(&world);
	expect_failing(&world, STEP_BIND, -EPERM);
}

static void refuses_an_owner_map_of_an_ordinary_user(void)
{
	if (!has_namespaces())
		skip("nobody may make user namespaces here");
	if (is_root())
		in_child(become_ordinary, refuses_an_owner_map_of_an_ordinary_user_body);
	else
		refuses_an_owner_map_of_an_ordinary_user_body();
}

/* ---- own file systems ---- */

static void expect_full(struct world *world)
{
	_cleanup_close_ int fd = open("/tmp/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	char block[65536] = "";
	struct stat st;
	size_t n = 0;

	while (n < 4 * MIB && write(fd, block, sizeof(block)) == sizeof(block))
		n += sizeof(block);
	expect_eq(n, MIB);
	expect_eq(stat("/tmp", &st), 0);
	expect_eq(st.st_mode, S_IFDIR | 01777);
	expect_eq(st.st_uid, world->plan.uid);
}

EVERYBODY(a_tmpfs_is_as_large_as_it_may_be)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	add(&world, .kind = STEP_TMPFS, .tmpfs.target = "/tmp", .tmpfs.size_bytes = MIB,
	    .tmpfs.mode = 01777);
	add_end(&world);
	expect_eq(world_run(&world, expect_full), 0);
}

static void expect_no_more_names(struct world *world)
{
	unsigned n = 0;

	for (; n < 5000; n++) {
		char path[32];

		(void)snprintf(path, sizeof(path), "/tmp/%u", n);
		if (mkdir(path, 0700) < 0)
			break;
	}
	expect_eq(errno, ENOSPC);
	expect(n > 900 && n < 1100);
}

EVERYBODY(empty_names_do_not_fill_memory)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	add(&world, .kind = STEP_TMPFS, .tmpfs.target = "/tmp", .tmpfs.size_bytes = MIB,
	    .tmpfs.mode = 01777);
	add_end(&world);
	expect_eq(world_run(&world, expect_no_more_names), 0);
}

EVERYBODY(a_tmpfs_without_a_limit_is_refused)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	add(&world, .kind = STEP_TMPFS, .tmpfs.target = "/tmp", .tmpfs.mode = 01777);
	add_end(&world);
	expect_failing(&world, STEP_TMPFS, -EINVAL);
}

static void expect_tmpfs_flags(struct world *world)
{
	struct statvfs st;

	expect_eq(statvfs("/tmp", &st), 0);
	expect((st.f_flag & (ST_NOSUID | ST_NODEV | ST_NOEXEC)) ==
	       (ST_NOSUID | ST_NODEV | ST_NOEXEC));
	expect_eq(statvfs("/run", &st), 0);
	expect((st.f_flag & (ST_NOSUID | ST_NODEV | ST_NOEXEC)) == (ST_NOSUID | ST_NODEV));
}

EVERYBODY(a_tmpfs_has_its_flags)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	add(&world, .kind = STEP_TMPFS, .tmpfs.target = "/run", .tmpfs.size_bytes = MIB,
	    .tmpfs.mode = 0755);
	add(&world, .kind = STEP_TMPFS, .tmpfs.target = "/tmp", .tmpfs.size_bytes = MIB,
	    .tmpfs.mode = 01777, .tmpfs.attributes.no_exec = true);
	add_end(&world);
	expect_eq(world_run(&world, expect_tmpfs_flags), 0);
}

static void expect_read_only_tmpfs(struct world *world)
{
	expect(holds("/run/folder/file", "inside"));
	expect_refused_write("/run/new");
}

EVERYBODY(a_read_only_tmpfs_carries_what_the_plan_puts_there)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	make_directory(&world, "bound", 0755);
	make_file(&world, "bound/file", "inside", 0644);
	add(&world, .kind = STEP_TMPFS, .tmpfs.target = "/run", .tmpfs.size_bytes = MIB,
	    .tmpfs.mode = 0755, .tmpfs.attributes.is_read_only = true);
	add_bind(&world, outside(&world, "bound"), "/run/folder", STEP_IS_DIRECTORY);
	add_end(&world);
	expect_eq(world_run(&world, expect_read_only_tmpfs), 0);
}

EVERYBODY(a_read_only_tmpfs_without_a_seal_step_is_refused)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	add(&world, .kind = STEP_TMPFS, .tmpfs.target = "/run", .tmpfs.size_bytes = MIB,
	    .tmpfs.mode = 0755, .tmpfs.attributes.is_read_only = true);
	expect_failing(&world, STEP_TMPFS, -EINVAL);
}

static void expect_own_proc(struct world *world)
{
	_cleanup_closedir_ DIR *dir = opendir("/proc");
	struct dirent *entry;
	struct statvfs st;

	while (dir && (entry = readdir(dir)))
		expect(entry->d_name[0] < '0' || entry->d_name[0] > '9' ||
		       strcmp(entry->d_name, "1") == 0);
	expect_eq(statvfs("/proc", &st), 0);
	expect((st.f_flag & (ST_RDONLY | ST_NOSUID | ST_NODEV | ST_NOEXEC)) ==
	       (ST_RDONLY | ST_NOSUID | ST_NODEV | ST_NOEXEC));
	/* If the process is not dumpable, the file belongs to root, and the open would fail with
	 * EACCES. */
	expect_eq(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), 0);
	expect_eq(open("/proc/self/comm", O_WRONLY | O_CLOEXEC), -1);
	expect_eq(errno, EROFS);
}

EVERYBODY(proc_is_read_only_and_shows_only_the_sandbox)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	add_proc(&world);
	add_end(&world);
	expect_eq(world_run(&world, expect_own_proc), 0);
}

static void expect_hidden(struct world *world)
{
	int status = -1;
	pid_t pid = fork();

	/* PID 1 is not dumpable, as it is while a command runs. */
	if (pid == 0)
		_exit(access("/proc/self/status", F_OK) == 0 && access("/proc/1", F_OK) < 0 &&
				      errno == ENOENT
			      ? 0
			      : 1);
	expect_eq(waitpid(pid, &status, 0), pid);
	expect_eq(status, 0);
}

EVERYBODY(pid_1_is_not_to_be_seen)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	add_proc(&world);
	add_end(&world);
	expect_eq(world_run(&world, expect_hidden), 0);
}

static void expect_own_terminals(struct world *world)
{
	_cleanup_close_ int fd = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	char name[32] = "";

	expect(fd >= 0);
	expect_eq(ptsname_r(fd, name, sizeof(name)), 0);
	expect_str(name, "/dev/pts/0");
}

EVERYBODY(terminals_are_the_sandbox_s_own)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	add(&world, .kind = STEP_PTS, .pts.target = "/dev/pts");
	add_end(&world);
	expect_eq(world_run(&world, expect_own_terminals), 0);
}

static const struct test tests[] = {
	TEST(read_only_is_read_only),
	TEST(writable_is_writable),
	TEST(read_only_goes_for_what_is_mounted_below),
	TEST(later_mounts_on_the_host_do_not_propagate),
	TEST(noexec_mounts_refuse_execve),
	TEST(a_device_works_only_where_it_may),
	TEST(a_source_that_became_a_link_is_refused),
	TEST(a_source_through_a_process_is_refused),
	TEST(a_source_of_another_kind_is_refused),
	TEST(a_source_that_is_gone_is_refused),
	TEST(one_bind_may_lie_in_another),
	TEST(what_is_written_belongs_to_the_owner_of_the_directory),
	TEST(root_does_not_lend_its_rights),
	TEST(refuses_an_owner_map_of_an_ordinary_user),
	TEST(a_tmpfs_is_as_large_as_it_may_be),
	TEST(empty_names_do_not_fill_memory),
	TEST(a_tmpfs_without_a_limit_is_refused),
	TEST(a_tmpfs_has_its_flags),
	TEST(a_read_only_tmpfs_carries_what_the_plan_puts_there),
	TEST(a_read_only_tmpfs_without_a_seal_step_is_refused),
	TEST(proc_is_read_only_and_shows_only_the_sandbox),
	TEST(pid_1_is_not_to_be_seen),
	TEST(terminals_are_the_sandbox_s_own),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
