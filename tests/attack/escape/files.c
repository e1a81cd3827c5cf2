/* SPDX-License-Identifier: MIT */

/* Files: hidden ones, read-only ones, and names that lead around both */

#include "escape.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

static enum escape_verdict can_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return REFUSED;
	(void)close(fd);
	return ESCAPED;
}

static enum escape_verdict read_secret(long unused)
{
	return can_open(escape_target("ESCAPE_SECRET"), O_RDONLY);
}

static enum escape_verdict stat_secret(long unused)
{
	struct stat st;

	return escape_judge(stat(escape_target("ESCAPE_SECRET"), &st));
}

/* Opens the secret below a prefix. */
static enum escape_verdict secret_below(const char *prefix)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "%s%s", prefix, escape_target("ESCAPE_SECRET"));
	return can_open(path, O_RDONLY);
}

static enum escape_verdict secret_through(long number)
{
	static const char *const prefixes[] = {
		"../../../../../../../../../..",
		"/proc/self/root",
		"/proc/self/cwd/../../../../../..",
		"/proc/thread-self/root",
		"/proc/1/root",
		"/proc/1/cwd/../../../../../..",
	};

	return secret_below(prefixes[number]);
}

static enum escape_verdict secret_of_victim(long unused)
{
	char prefix[64];

	(void)snprintf(prefix, sizeof(prefix), "/proc/%ld/root", escape_number("ESCAPE_VICTIM"));
	return secret_below(prefix);
}

static enum escape_verdict secret_by_link(long unused)
{
	enum escape_verdict verdict;

	(void)unlink("link-to-secret");
	if (symlink(escape_target("ESCAPE_SECRET"), "link-to-secret") < 0)
		return UNKNOWN;
	verdict = can_open("link-to-secret", O_RDONLY);
	(void)unlink("link-to-secret");
	return verdict;
}

static enum escape_verdict secret_by_hard_link(long unused)
{
	enum escape_verdict verdict =
		escape_judge(link(escape_target("ESCAPE_SECRET"), "second-name"));

	(void)unlink("second-name");
	return verdict;
}

/* open_by_handle_at() opens any file of a file system, mounted or not. */
static enum escape_verdict by_handle(long unused)
{
	struct {
		struct file_handle handle;
		unsigned char bytes[128];
	} name = { .handle = { .handle_bytes = 128 } };
	int mount_id, fd;

	if (name_to_handle_at(AT_FDCWD, "/", &name.handle, &mount_id, 0) < 0)
		return REFUSED;
	fd = open_by_handle_at(AT_FDCWD, &name.handle, O_RDONLY);
	return escape_judge_reached(fd, EBADF);
}

static enum escape_verdict make_file_in(long number)
{
	static const char *const places[] = { "/usr/lib", "/etc", "/", "/usr/bin", "/dev" };
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/.sbx-escape-%d", places[number], getpid());
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0)
		return REFUSED;
	(void)close(fd);
	(void)unlink(path);
	return ESCAPED;
}

static enum escape_verdict write_to(long number)
{
	static const char *const places[] = {
		"/proc/sys/kernel/core_pattern",
		"/proc/sys/kernel/modprobe",
		"/proc/sysrq-trigger",
		"/sys/kernel/mm/ksm/run",
		"/proc/sys/vm/overcommit_memory",
		"/proc/sys/kernel/hostname",
		"/dev/kmsg",
		"/proc/self/uid_map",
		"/proc/sys/user/max_user_namespaces",
	};

	return can_open(places[number], O_WRONLY);
}

static enum escape_verdict read_from(long number)
{
	static const char *const places[] = { "/proc/kcore", "/dev/mem", "/proc/1/environ",
					      "/etc/shadow" };

	return can_open(places[number], O_RDONLY);
}

static enum escape_verdict make_node(long mode)
{
	bool is_block = S_ISBLK((mode_t)mode);
	enum escape_verdict verdict = REFUSED;
	char path[64];

	(void)snprintf(path, sizeof(path), "/tmp/node-%d", getpid());
	if (mknod(path, (mode_t)mode | 0600, is_block ? makedev(7, 0) : makedev(1, 8)) == 0)
		verdict = can_open(path, O_RDONLY);
	(void)unlink(path);
	return verdict;
}

/* overlayfs takes a character device 0/0 for a removal: created by hand it hides files of the lower
 * layer. */
static enum escape_verdict make_whiteout(long unused)
{
	enum escape_verdict verdict = escape_judge(mknod("whiteout", S_IFCHR, makedev(0, 0)));

	(void)unlink("whiteout");
	return verdict;
}

/* Opens the supervisor's program through /proc/PID/exe for writing. */
static enum escape_verdict own_supervisor(long flags)
{
	return can_open("/proc/1/exe", (int)flags);
}

static enum escape_verdict tamper_with_git(long number)
{
	static const char *const places[] = { ".git/hooks/post-checkout", ".git/config" };
	int fd = open(places[number], O_CREAT | O_WRONLY | O_CLOEXEC, 0700);

	if (fd < 0)
		return REFUSED;
	(void)close(fd);
	return ESCAPED;
}

static enum escape_verdict replace_git(long number)
{
	static const char *const old[] = { ".git/hooks", ".git" };
	char moved[64];

	(void)snprintf(moved, sizeof(moved), "moved-%d", getpid());
	if (rename(old[number], moved) < 0)
		return REFUSED;
	(void)rename(moved, old[number]);
	return ESCAPED;
}

/* Exchanges the granted directory with a symbolic link that leads outside. */
static enum escape_verdict exchange_granted_directory(long unused)
{
	const char *granted = escape_target("ESCAPE_GRANTED");
	char other[256];

	(void)snprintf(other, sizeof(other), "%s-other", granted);
	if (mkdir(other, 0700) < 0)
		return REFUSED;
	if (syscall(SYS_renameat2, AT_FDCWD, granted, AT_FDCWD, other, 2 /* RENAME_EXCHANGE */) <
	    0) {
		(void)rmdir(other);
		return REFUSED;
	}
	(void)rename(other, granted);
	return ESCAPED;
}

static enum escape_verdict inherited_fd(long unused)
{
	for (int fd = 3; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			return ESCAPED;
	return REFUSED;
}

static enum escape_verdict directory_behind_fd(long unused)
{
	struct stat st;

	return escape_judge(fstatat(9, "secret", &st, 0));
}

static enum escape_verdict change_attributes(long number)
{
	struct stat st;

	/* Outside the test's own secret; inside not even the mode of a system file may be changed.
	 */
	const char *path = number ? "/usr/bin/env" : escape_target("ESCAPE_SECRET");

	if (stat(path, &st) < 0)
		return REFUSED;
	return escape_judge(chmod(path, st.st_mode & 07777));
}

static enum escape_verdict trusted_attribute(long unused)
{
	return escape_judge(setxattr(".", "trusted.sbx", "1", 1, 0));
}

/* clang-format off */
const struct escape escapes_files[] = {
	{ "read_secret", NEEDS_USER, read_secret, 0 },
	{ "stat_secret", NEEDS_USER, stat_secret, 0 },
	{ "secret_by_dots", NEEDS_USER, secret_through, 0 },
	{ "secret_by_own_root", NEEDS_USER, secret_through, 1 },
	{ "secret_by_own_cwd", NEEDS_USER, secret_through, 2 },
	{ "secret_by_thread_root", NEEDS_USER, secret_through, 3 },
	{ "secret_by_root_of_init", NEEDS_NOTHING_OUTSIDE, secret_through, 4 }, /* PID 1 belongs to another user there */
	{ "secret_by_cwd_of_init", NEEDS_NOTHING_OUTSIDE, secret_through, 5 }, /* PID 1 belongs to another user there */
	{ "secret_by_root_of_victim", NEEDS_USER, secret_of_victim, 0 },
	{ "secret_by_symbolic_link", NEEDS_USER, secret_by_link, 0 },
	{ "secret_by_hard_link", NEEDS_USER, secret_by_hard_link, 0 },
	{ "file_by_handle", NEEDS_ROOT, by_handle, 0 },
	{ "write_usr_lib", NEEDS_ROOT, make_file_in, 0 },
	{ "write_etc", NEEDS_ROOT, make_file_in, 1 },
	{ "write_root", NEEDS_ROOT, make_file_in, 2 },
	{ "write_usr_bin", NEEDS_ROOT, make_file_in, 3 },
	{ "write_dev", NEEDS_ROOT, make_file_in, 4 },
	{ "write_core_pattern", NEEDS_ROOT, write_to, 0 },
	{ "write_modprobe_path", NEEDS_NOTHING_OUTSIDE, write_to, 1 }, /* a kernel may lack it */
	{ "write_sysrq", NEEDS_NOTHING_OUTSIDE, write_to, 2 }, /* a kernel may lack it */
	{ "write_sys", NEEDS_ROOT, write_to, 3 },
	{ "write_overcommit", NEEDS_ROOT, write_to, 4 },
	{ "write_hostname", NEEDS_ROOT, write_to, 5 },
	{ "write_kernel_log", NEEDS_ROOT, write_to, 6 },
	{ "write_own_uid_map", NEEDS_ROOT, write_to, 7 },
	{ "write_namespace_limits", NEEDS_NOTHING_OUTSIDE, write_to, 8 }, /* a kernel may lack it */
	{ "read_kernel_memory", NEEDS_NOTHING_OUTSIDE, read_from, 0 }, /* a kernel may lack it */
	{ "read_physical_memory", NEEDS_NOTHING_OUTSIDE, read_from, 1 }, /* many kernels have none */
	{ "read_environment_of_init", NEEDS_NOTHING_OUTSIDE, read_from, 2 }, /* PID 1 belongs to another user there */
	{ "read_shadow", NEEDS_ROOT, read_from, 3 },
	{ "make_character_device", NEEDS_ROOT, make_node, S_IFCHR },
	{ "make_block_device", NEEDS_ROOT, make_node, S_IFBLK },
	{ "make_whiteout", NEEDS_USER, make_whiteout, 0 },
	{ "write_program_of_init", NEEDS_NOTHING_OUTSIDE, own_supervisor, O_WRONLY }, /* PID 1 of the host */
	{ "read_program_of_init", NEEDS_NOTHING_OUTSIDE, own_supervisor, O_RDONLY }, /* PID 1 belongs to another user there */
	{ "write_git_hook", NEEDS_USER, tamper_with_git, 0 },
	{ "write_git_config", NEEDS_USER, tamper_with_git, 1 },
	{ "replace_git_hooks", NEEDS_USER, replace_git, 0 },
	{ "replace_git_directory", NEEDS_USER, replace_git, 1 },
	{ "exchange_granted_directory", NEEDS_USER, exchange_granted_directory, 0 },
	{ "use_inherited_fd", NEEDS_USER, inherited_fd, 0 },
	{ "use_directory_behind_fd", NEEDS_USER, directory_behind_fd, 0 },
	{ "change_mode_of_secret", NEEDS_USER, change_attributes, 0 },
	{ "change_mode_of_program", NEEDS_ROOT, change_attributes, 1 },
	{ "set_trusted_attribute", NEEDS_ROOT, trusted_attribute, 0 },
	{ .name = NULL },
};
/* clang-format on */
