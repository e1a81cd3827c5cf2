/* SPDX-License-Identifier: MIT */

/*
 * Regaining privileges: ids, capabilities, set-user-ID programs, host names and, if execution is
 * restricted, executing readable files
 */

#include "escape.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/securebits.h>

static enum escape_verdict become(long uid)
{
	return escape_judge(setresuid((uid_t)uid, (uid_t)uid, (uid_t)uid));
}

static enum escape_verdict become_group(long gid)
{
	return escape_judge(setresgid((gid_t)gid, (gid_t)gid, (gid_t)gid));
}

static enum escape_verdict take_groups(long gid)
{
	gid_t group = (gid_t)gid;

	return escape_judge(setgroups(1, &group));
}

static enum escape_verdict as_root_for_files(long unused)
{
	(void)setfsuid(0);
	return setfsuid((uid_t)-1) == 0 ? ESCAPED : REFUSED;
}

static enum escape_verdict have_capabilities(long unused)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2] = { { 0 } };

	if (syscall(SYS_capget, &header, sets) < 0)
		return UNKNOWN;
	return sets[0].effective || sets[0].permitted || sets[0].inheritable || sets[1].effective ||
			       sets[1].permitted || sets[1].inheritable
		       ? ESCAPED
		       : REFUSED;
}

static enum escape_verdict take_capability(long number)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2] = { { .effective = 1u << number,
						    .permitted = 1u << number } };

	return escape_judge(syscall(SYS_capset, &header, sets));
}

static enum escape_verdict bounding_set(long unused)
{
	for (int number = 0; number < 64; number++)
		if (prctl(PR_CAPBSET_READ, number, 0, 0, 0) == 1)
			return ESCAPED;
	return REFUSED;
}

static enum escape_verdict ambient_capability(long number)
{
	return escape_judge(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, number, 0, 0));
}

static enum escape_verdict secure_bits(long unused)
{
	return escape_judge(prctl(PR_SET_SECUREBITS, 0, 0, 0, 0));
}

static enum escape_verdict name_machine(long is_domain)
{
	/* Outside in a UTS namespace of its own. */
	return escape_judge(is_domain ? setdomainname("escaped", 7) : sethostname("escaped", 7));
}

/* Runs the program with one argument; its exit status is the result. */
static enum escape_verdict run(const char *path, const char *argument)
{
	const char *const argv[] = { path, argument, NULL };
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return UNKNOWN;
	if (pid == 0) {
		(void)execv(path, (char *const *)argv);
		_exit(99);
	}
	(void)waitpid(pid, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? ESCAPED : REFUSED;
}

/* A set-user-ID program of root, made for this test, that exits with 0 if it runs as root. */
static enum escape_verdict setuid_program(long unused)
{
	return run(escape_target("ESCAPE_SETUID"), "--am-i-root");
}

/* A program that may be read but not executed: three ways around. */
static enum escape_verdict run_directly(long unused)
{
	return run(escape_target("ESCAPE_PROGRAM"), NULL);
}

static enum escape_verdict run_by_loader(long unused)
{
	return run(escape_target("ESCAPE_LOADER"), escape_target("ESCAPE_PROGRAM"));
}

static int copy_to(int target, const char *path)
{
	char bytes[65536];
	int source = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (source < 0)
		return -1;
	while ((n = read(source, bytes, sizeof(bytes))) > 0)
		if (write(target, bytes, (size_t)n) != n)
			return -1;
	(void)close(source);
	return 0;
}

static enum escape_verdict run_from_memory(long flags)
{
	int fd = memfd_create("escape", (unsigned)flags), status;
	char *const argv[] = { (char *)"escape", NULL }, *const environment[] = { NULL };
	char path[64];
	pid_t pid;

	if (fd < 0 || copy_to(fd, escape_target("ESCAPE_PROGRAM")) < 0)
		return REFUSED;
	pid = fork();
	if (pid == 0) {
		(void)fexecve(fd, argv, environment);
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		(void)execv(path, argv);
		_exit(99);
	}
	(void)waitpid(pid, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? ESCAPED : REFUSED;
}

/* Copied to a writable directory. */
static enum escape_verdict run_a_copy(long number)
{
	static const char *const places[] = { "/tmp", "/dev/shm", "." };
	enum escape_verdict verdict;
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/copy-%d", places[number], getpid());
	fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0700);
	if (fd < 0 || copy_to(fd, escape_target("ESCAPE_PROGRAM")) < 0)
		return REFUSED;
	(void)close(fd);
	verdict = run(path, NULL);
	(void)unlink(path);
	return verdict;
}

/* A set-user-ID program in a directory of the host belongs to its owner: any user who runs it gets
 * that uid. */
static enum escape_verdict leave_setuid(long way)
{
	struct stat st = { .st_mode = 0 };
	char path[64];
	int fd, r = 0;

	(void)snprintf(path, sizeof(path), "left-%ld-%d", way, getpid());
	if (way == 0)
		(void)mknod(path, S_IFREG | 06755, 0);
	fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, way == 1 ? 06755 : 0755);
	if (way == 2)
		r = chmod(path, 04755);
	if (way == 3)
		r = fchmod(fd, 02755);
	if (way == 4)
		r = fchmodat(AT_FDCWD, path, 04755, 0);
	if (way == 5)
		r = (int)syscall(452 /* fchmodat2 */, AT_FDCWD, path, 04755, 0);
	r |= stat(path, &st);
	(void)close(fd);
	(void)unlink(path);
	return r == 0 && st.st_mode & (S_ISUID | S_ISGID) ? ESCAPED : REFUSED;
}

static enum escape_verdict leave_nameless_setuid(long unused)
{
	struct stat st = { .st_mode = 0 };
	int fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 06755);

	if (fd < 0)
		return errno == EOPNOTSUPP ? UNKNOWN : REFUSED;
	(void)fstat(fd, &st);
	(void)close(fd);
	return st.st_mode & (S_ISUID | S_ISGID) ? ESCAPED : REFUSED;
}

/* The caller's stdin is a directory outside. */
static enum escape_verdict leave_by_stdin(long unused)
{
	struct stat st;

	return fchdir(STDIN_FILENO) == 0 && stat("../../../../../root", &st) == 0 ? ESCAPED
										  : REFUSED;
}

/* clang-format off */
const struct escape escapes_privileges[] = {
	{ "become_root", NEEDS_ROOT, become, 0 },
	{ "become_somebody", NEEDS_ROOT, become, 12345 },
	{ "become_group_of_root", NEEDS_ROOT, become_group, 0 },
	{ "take_groups", NEEDS_ROOT, take_groups, 0 },
	{ "as_root_for_files", NEEDS_ROOT, as_root_for_files, 0 },
	{ "have_capabilities", NEEDS_ROOT, have_capabilities, 0 },
	{ "take_sys_admin", NEEDS_ROOT, take_capability, CAP_SYS_ADMIN },
	{ "take_setuid", NEEDS_ROOT, take_capability, CAP_SETUID },
	{ "have_bounding_set", NEEDS_USER, bounding_set, 0 },
	{ "ambient_capability", NEEDS_NOTHING_OUTSIDE, ambient_capability, CAP_NET_RAW }, /* needs an inheritable one */
	{ "change_secure_bits", NEEDS_ROOT, secure_bits, 0 },
	{ "name_machine", NEEDS_ROOT, name_machine, 0 },
	{ "name_domain", NEEDS_ROOT, name_machine, 1 },
	{ "setuid_program", NEEDS_USER, setuid_program, 0 },
	{ "leave_setuid_by_mknod", NEEDS_USER, leave_setuid, 0 },
	{ "leave_setuid_by_open", NEEDS_USER, leave_setuid, 1 },
	{ "leave_setuid_by_chmod", NEEDS_USER, leave_setuid, 2 },
	{ "leave_setuid_by_fchmod", NEEDS_USER, leave_setuid, 3 },
	{ "leave_setuid_by_fchmodat", NEEDS_USER, leave_setuid, 4 },
	{ "leave_setuid_by_fchmodat2", NEEDS_USER, leave_setuid, 5 },
	{ "leave_setuid_by_nameless_file", NEEDS_USER, leave_nameless_setuid, 0 },
	{ "stdin_leads_out", NEEDS_USER, leave_by_stdin, 0 },
	{ "limited_run_directly", NEEDS_USER, run_directly, 0 },
	{ "limited_run_by_loader", NEEDS_USER, run_by_loader, 0 },
	{ "limited_run_from_memory", NEEDS_USER, run_from_memory, MFD_CLOEXEC },
	{ "limited_run_from_sealable_memory", NEEDS_USER, run_from_memory, MFD_CLOEXEC | MFD_ALLOW_SEALING },
	{ "limited_run_copy_in_tmp", NEEDS_USER, run_a_copy, 0 },
	{ "limited_run_copy_in_shm", NEEDS_USER, run_a_copy, 1 },
	{ "limited_run_copy_in_directory", NEEDS_USER, run_a_copy, 2 },
	{ .name = NULL },
};
/* clang-format on */
