/* SPDX-License-Identifier: MIT */

/*
 * The command of attack-spawn-faults.py: is it confined by each requested layer?
 *
 * Each check is an attack or asks the kernel. "open: NAME" is printed for each failed protection;
 * the last line is "confined" or "loose", with status 0 or 1. Outside of a sandbox all checks must
 * be open, or the test proves nothing.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *target(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

static bool leaves_a_trace(void)
{
	return open(target("CONFINED_TRACE"), O_WRONLY | O_CREAT | O_CLOEXEC, 0666) >= 0;
}

static bool reads_the_secret(void)
{
	return open(target("CONFINED_SECRET"), O_RDONLY | O_CLOEXEC) >= 0;
}

/* The file's mode permits writing; only the read-only mount refuses it. */
static bool writes_read_only_file(void)
{
	return open(target("CONFINED_READ_ONLY"), O_WRONLY | O_CLOEXEC) >= 0;
}

/* Without a read-only tree the programs are writable as outside. */
static bool sees_writable_system(void)
{
	struct statvfs status;

	return statvfs("/usr", &status) < 0 || !(status.f_flag & ST_RDONLY) ||
	       !(status.f_flag & ST_NOSUID);
}

static bool has_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

	if (prctl(PR_CAPBSET_READ, 0) != 0 || syscall(SYS_capget, &header, sets) < 0)
		return true;
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		if (sets[i].effective || sets[i].permitted || sets[i].inheritable)
			return true;
	return false;
}

static bool may_gain_privileges(void)
{
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1;
}

static bool is_without_filter(void)
{
	return prctl(PR_GET_SECCOMP) != SECCOMP_MODE_FILTER || unshare(CLONE_NEWUSER) == 0;
}

/* A library is in a directory whose files may be mapped; only Landlock refuses execve() of it. */
static bool starts_a_library(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		(void)execl(target("CONFINED_LIBRARY"), "library", "--version", NULL);
		_exit(errno == EACCES ? 99 : 98);
	}
	return pid < 0 || waitpid(pid, &status, 0) != pid || status != 99 << 8;
}

static bool shares(const char *name)
{
	char path[64], variable[64], link[64];
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
	(void)snprintf(variable, sizeof(variable), "CONFINED_NS_%s", name);
	n = readlink(path, link, sizeof(link) - 1);
	if (n < 0)
		return true;
	link[n] = '\0';
	return strcmp(link, target(variable)) == 0;
}

static bool shares_a_namespace(void)
{
	static const char *const names[] = { "user", "mnt", "pid", "ipc", "uts", "net", NULL };

	for (const char *const *name = names; *name; name++)
		if (shares(*name))
			return true;
	return false;
}

/* The supervisor, or the parent outside. */
static bool sees_others(void)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%s/status", target("CONFINED_VICTIM"));
	return access(path, F_OK) == 0 || getppid() != 1 || access("/proc/1/status", F_OK) == 0;
}

/* RLIMIT_CORE 1 prevents core files and pipe handlers; if the caller's limit was 0, it stays 0. */
static bool dumps_core(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_CORE, &limit) < 0 || limit.rlim_max > 1 ||
	       limit.rlim_cur != limit.rlim_max;
}

static bool has_another_identity(void)
{
	uid_t real, effective, saved;

	if (getresuid(&real, &effective, &saved) < 0 || getgid() == 0)
		return true;
	return real == 0 || effective != real || saved != real ||
	       (uid_t)strtoul(target("CONFINED_UID"), NULL, 10) == real;
}

static bool inherits_files(void)
{
	return fcntl((int)strtol(target("CONFINED_FD"), NULL, 10), F_GETFD) >= 0;
}

/* Its own session: input typed elsewhere does not reach it. */
static bool is_in_session(void)
{
	return getsid(0) != getpid();
}

static const struct {
	const char *name;
	bool (*is_open)(void);
} checks[] = {
	{ "trace", leaves_a_trace },
	{ "secret", reads_the_secret },
	{ "read-only", writes_read_only_file },
	{ "system", sees_writable_system },
	{ "capabilities", has_capabilities },
	{ "privileges", may_gain_privileges },
	{ "filter", is_without_filter },
	{ "landlock", starts_a_library },
	{ "namespaces", shares_a_namespace },
	{ "processes", sees_others },
	{ "core", dumps_core },
	{ "identity", has_another_identity },
	{ "files", inherits_files },
	{ "session", is_in_session },
};

int main(void)
{
	bool is_loose = false;

	for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++)
		if (checks[i].is_open()) {
			(void)printf("open: %s\n", checks[i].name);
			is_loose = true;
		}
	(void)puts(is_loose ? "loose" : "confined");
	return is_loose;
}
