/* SPDX-License-Identifier: MIT */

/*
 * The floor of sbx-spawn: the system calls of "sbx-spawn -q -- /usr/bin/true", by hand
 *
 * A sandbox with the default view for an ordinary user, made by a program that knows the result in
 * advance: no options, no policy, no plan, no probing of the host, and it exits on any failure. The
 * layers and their order are the same: record and registry, one clone into all namespaces, the
 * mounts, what PID 1 drops, the command, what PID 1 keeps, the end. The time that sbx-spawn needs
 * beyond this is the cost of its generality. Runs /usr/bin/true regardless of its arguments.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/sched.h>

#include "base/cleanup.h"
#include "filter/filter.h"

#define RECORD_BYTES 400
#define STATE_BYTES 406
#define N_DEVICES 6
#define N_BINDS (N_DEVICES + 3)
#define READ_ONLY (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID)

enum message_kind { GO, RESULT };

struct message {
	enum message_kind kind;
	int status;
	struct rusage usage;
};

/* Fds of the supervisor. */
struct floor {
	char id[17];
	int records;
	int registry, entry;
	int signals;
	int socket, init_socket;
	int pidfd;
};

static void must(bool is_done, const char *what)
{
	if (is_done)
		return;
	(void)dprintf(STDERR_FILENO, "spawn-floor: cannot %s: %m\n", what);
	_exit(125);
}

static int open_directory(int at, const char *path)
{
	(void)mkdirat(at, path, 0700);
	return openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Opens directories below the one that the variable names, which must exist. */
static int open_place(const char *variable, const char *first, const char *second)
{
	const char *place = getenv(variable);
	int at = place ? open(place, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	int directory = open_directory(at, first);
	int below = open_directory(directory, second);

	must(below >= 0, variable);
	(void)close(directory);
	(void)close(at);
	return below;
}

static void add_record(const struct floor *floor)
{
	char line[RECORD_BYTES];

	memset(line, '.', sizeof(line));
	line[sizeof(line) - 1] = '\n';
	must(flock(floor->records, LOCK_SH) == 0 &&
		     write(floor->records, line, sizeof(line)) == sizeof(line) &&
		     flock(floor->records, LOCK_UN) == 0,
	     "write a record");
}

static void set_state(const struct floor *floor)
{
	char text[STATE_BYTES];
	int fd = openat(floor->entry, "state.json.new",
			O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	memset(text, '.', sizeof(text));
	must(fd >= 0 && write(fd, text, sizeof(text)) == sizeof(text) &&
		     renameat(floor->entry, "state.json.new", floor->entry, "state.json") == 0,
	     "write the state");
	(void)close(fd);
}

static void make_id(struct floor *floor)
{
	uint64_t number;

	must(getrandom(&number, sizeof(number), 0) == sizeof(number), "make an id");
	(void)snprintf(floor->id, sizeof(floor->id), "%016llx", (unsigned long long)number);
}

static void register_it(struct floor *floor)
{
	int spool = open_place("XDG_STATE_HOME", "sbx", "spool");

	make_id(floor);
	floor->records = openat(spool, "records.jsonl",
				O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	(void)close(spool);
	floor->registry = open_place("XDG_RUNTIME_DIR", "sbx", "sandboxes");
	floor->entry = open_directory(floor->registry, floor->id);
	must(floor->entry >= 0 && flock(floor->entry, LOCK_EX) == 0, "register the sandbox");
}

static void unregister_it(const struct floor *floor)
{
	(void)unlinkat(floor->entry, "state.json", 0);
	(void)unlinkat(floor->registry, floor->id, AT_REMOVEDIR);
}

static void watch_signals(struct floor *floor)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	floor->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	must(floor->signals >= 0 && sigprocmask(SIG_BLOCK, &set, NULL) == 0, "watch for signals");
}

/* Functions of PID 1 from here to become_reaper(). */

static void die_with_supervisor(const struct floor *floor)
{
	struct pollfd supervisor = { .fd = floor->init_socket };

	must(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && poll(&supervisor, 1, 0) == 0,
	     "die with the supervisor");
}

static void write_proc(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	must(fd >= 0 && write(fd, text, strlen(text)) > 0, path);
	(void)close(fd);
}

static void map_ids(uid_t uid, gid_t gid)
{
	char uids[32], gids[32];

	(void)snprintf(uids, sizeof(uids), "%u %u 1\n", uid, uid);
	(void)snprintf(gids, sizeof(gids), "%u %u 1\n", gid, gid);
	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	write_proc("/proc/self/setgroups", "deny");
	write_proc("/proc/self/uid_map", uids);
	write_proc("/proc/self/gid_map", gids);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

static int copy_mount(const char *path, uint64_t attributes)
{
	struct mount_attr attr = { .attr_set = attributes, .propagation = MS_PRIVATE };
	int source = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int copy = open_tree(source, "",
			     OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);

	must(copy >= 0 && mount_setattr(copy, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr,
					sizeof(attr)) == 0,
	     path);
	(void)close(source);
	return copy;
}

static int make_mount(const char *type, const char *const options[][2], unsigned attributes)
{
	int context = fsopen(type, FSOPEN_CLOEXEC), made;

	for (size_t i = 0; options[i][0]; i++)
		must(fsconfig(context, FSCONFIG_SET_STRING, options[i][0], options[i][1], 0) == 0,
		     type);
	must(fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0, type);
	made = fsmount(context, FSMOUNT_CLOEXEC, attributes);
	must(made >= 0, type);
	(void)close(context);
	return made;
}

static int make_tmpfs(const char *size, const char *n_names, const char *mode, unsigned attributes)
{
	const char *const options[][2] = {
		{ "size", size }, { "nr_inodes", n_names }, { "mode", mode }, { NULL, NULL }
	};

	return make_mount("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | attributes);
}

static void attach(int mount, const char *path)
{
	must(move_mount(mount, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) == 0, path);
	(void)close(mount);
}

static void attach_directory(int mount, const char *path)
{
	(void)mkdirat(AT_FDCWD, path, 0755);
	attach(mount, path);
}

static void attach_below_new(int mount, const char *path)
{
	char parent[4096];

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		(void)snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path), path);
		(void)mkdirat(AT_FDCWD, parent, 0755);
	}
	attach_directory(mount, path);
}

static const char *const devices[N_DEVICES] = { "/dev/full",	"/dev/null", "/dev/random",
						"/dev/urandom", "/dev/tty",  "/dev/zero" };

static const char *const links[][2] = {
	{ "usr/bin", "/bin" },
	{ "usr/lib", "/lib" },
	{ "usr/lib32", "/lib32" },
	{ "usr/lib64", "/lib64" },
	{ "usr/sbin", "/sbin" },
	{ "/proc/self/fd", "/dev/fd" },
	{ "/proc/self/fd/0", "/dev/stdin" },
	{ "/proc/self/fd/1", "/dev/stdout" },
	{ "/proc/self/fd/2", "/dev/stderr" },
	{ "pts/ptmx", "/dev/ptmx" },
};

static void copy_sources(const char *project, int binds[N_BINDS])
{
	for (size_t i = 0; i < N_DEVICES; i++)
		binds[i] = copy_mount(devices[i], READ_ONLY | MOUNT_ATTR_NOEXEC);
	binds[N_DEVICES] = copy_mount("/etc", READ_ONLY | MOUNT_ATTR_NODEV);
	binds[N_DEVICES + 1] = copy_mount(project, READ_ONLY | MOUNT_ATTR_NODEV);
	binds[N_DEVICES + 2] = copy_mount("/usr", READ_ONLY | MOUNT_ATTR_NODEV);
}

static void exchange_root(void)
{
	struct mount_attr private = { .propagation = MS_PRIVATE };
	int root = make_tmpfs("16777216", "4096", "755", MOUNT_ATTR_NOEXEC);

	must(mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &private, sizeof(private)) == 0 &&
		     move_mount(root, "", AT_FDCWD, "/proc", MOVE_MOUNT_F_EMPTY_PATH) == 0 &&
		     fchdir(root) == 0 && syscall(SYS_pivot_root, ".", ".") == 0 &&
		     umount2(".", MNT_DETACH) == 0,
	     "exchange the root");
	(void)close(root);
}

/* The file from which the copy of /etc/hosts is made, or -1 where sbx-spawn makes none. */
static int open_hosts(void)
{
	int fd = open("/etc/hosts", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	must(fd < 0 || fstat(fd, &st) == 0, "/etc/hosts");
	return fd;
}

static void write_hosts(int from, int to)
{
	static const char line[] = "127.0.0.1 sandbox";
	char last;

	while (sendfile(to, from, NULL, 1 << 20) > 0)
		;
	must(lseek(to, -1, SEEK_END) >= 0 && read(to, &last, 1) == 1 &&
		     write(to, line, sizeof(line) - 1) == sizeof(line) - 1 &&
		     write(to, "\n", 1) == 1,
	     "write /etc/hosts");
	(void)close(from);
}

/* A copy with the address of the sandbox's host name covers the host's file. */
static void cover_hosts(int from)
{
	struct mount_attr attr = { .attr_set = READ_ONLY | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC };
	int to = open("/copy", O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0444), cover, place;

	write_hosts(from, to);
	cover = open_tree(to, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	place = open("/etc/hosts", O_PATH | O_NOFOLLOW | O_CLOEXEC);
	must(mount_setattr(cover, "", AT_EMPTY_PATH, &attr, sizeof(attr)) == 0 &&
		     move_mount(cover, "", place, "",
				MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0 &&
		     unlinkat(AT_FDCWD, "/copy", 0) == 0,
	     "cover /etc/hosts");
	(void)close(place);
	(void)close(cover);
	(void)close(to);
}

static void build_tree(const char *project)
{
	static const char *const of_proc[][2] = { { "hidepid", "invisible" }, { NULL, NULL } };
	static const char *const of_pts[][2] = { { "ptmxmode", "0666" }, { NULL, NULL } };
	struct mount_attr sealed = { .attr_set = MOUNT_ATTR_RDONLY };
	int binds[N_BINDS], proc, hosts;

	copy_sources(project, binds);
	proc = make_mount("proc", of_proc, READ_ONLY | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	hosts = open_hosts();
	exchange_root();
	(void)mkdirat(AT_FDCWD, "/dev", 0755);
	for (size_t i = 0; i < N_ELEMENTS(links); i++)
		must(symlinkat(links[i][0], AT_FDCWD, links[i][1]) == 0, links[i][1]);
	for (size_t i = 0; i < N_DEVICES; i++) {
		(void)mknodat(AT_FDCWD, devices[i], S_IFREG | 0444, 0);
		attach(binds[i], devices[i]);
	}
	attach_directory(make_mount("devpts", of_pts, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC),
			 "/dev/pts");
	attach_directory(make_tmpfs("67108864", "16384", "1777", MOUNT_ATTR_NOEXEC), "/dev/shm");
	attach_directory(binds[N_DEVICES], "/etc");
	attach_directory(proc, "/proc");
	attach_directory(make_tmpfs("536870912", "131072", "1777", 0), "/tmp");
	attach_below_new(binds[N_DEVICES + 1], project);
	attach_directory(binds[N_DEVICES + 2], "/usr");
	if (hosts >= 0)
		cover_hosts(hosts);
	must(mount_setattr(AT_FDCWD, "/", 0, &sealed, sizeof(sealed)) == 0, "seal the root");
	must(sethostname("sandbox", 7) == 0, "name the machine");
}

static void set_limit(int resource, rlim_t value)
{
	const struct rlimit limit = { .rlim_cur = value, .rlim_max = value };

	must(setrlimit(resource, &limit) == 0, "set a limit");
}

static void drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { .effective = 0 } };
	unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
			     SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
			     SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

	for (unsigned long value = 0; prctl(PR_CAPBSET_DROP, value) == 0; value++)
		;
	must(errno == EINVAL && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0 &&
		     prctl(PR_SET_SECUREBITS, bits) == 0 &&
		     syscall(SYS_capset, &header, none) == 0 &&
		     prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0,
	     "give up capabilities");
}

static void allow_path(int ruleset, const char *path, uint64_t rights)
{
	struct landlock_path_beneath_attr rule = {
		.allowed_access = rights, .parent_fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC)
	};

	must(syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0,
	     path);
	(void)close(rule.parent_fd);
}

static void restrict_files(void)
{
	static const uint64_t known[] = {
		13, 13, 14, 15, 15, 16, 16
	}; /* access rights of each ABI version */
	const uint64_t look = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |
			      LANDLOCK_ACCESS_FS_READ_DIR;
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	uint64_t all = (UINT64_C(1) << known[abi < 0 ? 0 : abi > 6 ? 6 : abi]) - 1;
	const uint64_t handled[] = { all, abi >= 4 ? 3 : 0, abi >= 6 ? 3 : 0 };
	int ruleset = (int)syscall(SYS_landlock_create_ruleset, handled, sizeof(handled), 0);

	allow_path(ruleset, "/", look);
	allow_path(ruleset, "/dev", look | LANDLOCK_ACCESS_FS_WRITE_FILE | (all & 1 << 15));
	allow_path(ruleset, "/tmp", all);
	must(syscall(SYS_landlock_restrict_self, ruleset, 0) == 0, "restrict files");
	(void)close(ruleset);
}

static void confine(uid_t uid, gid_t gid)
{
	set_limit(RLIMIT_CORE, 0);
	set_limit(RLIMIT_DATA, 1 << 30);
	set_limit(RLIMIT_NPROC, 101);
	must(setresgid(gid, gid, gid) == 0 && setresuid(uid, uid, uid) == 0, "be nobody else");
	drop_capabilities();
	restrict_files();
}

struct command {
	const struct floor *floor;
	const char *directory;
};

/* Shares PID 1's memory until the program runs. */
static int be_command(void *userdata)
{
	const struct command *command = userdata;
	static char *const argv[] = { (char *)"/usr/bin/true", NULL };
	static char *const environment[] = { (char *)"PATH=/usr/bin:/bin", (char *)"LC_ALL=C.UTF-8",
					     NULL };
	const struct sock_fprog *filter = filter_find("standard", 0);
	struct message message;
	sigset_t none;

	(void)sigemptyset(&none);
	if (setsid() > 0 && close_range(STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC) == 0 &&
	    sigprocmask(SIG_SETMASK, &none, NULL) == 0 && chdir(command->directory) == 0 &&
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, filter) == 0 &&
	    read(command->floor->init_socket, &message, sizeof(message)) == sizeof(message))
		(void)execve(argv[0], argv, environment);
	return 125;
}

static pid_t start_command(const struct floor *floor, const char *directory)
{
	static char stack[64 * 1024] __attribute__((aligned(16)));
	struct command command = { floor, directory };

	return clone(be_command, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &command);
}

static void become_reaper(void)
{
#define ALLOW(name)                                                                                \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (SYS_##name), 0, 1),                                   \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(wait4),
		ALLOW(rt_sigtimedwait),
		ALLOW(kill),
		ALLOW(sendto),
		ALLOW(exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	const struct sock_fprog program = { .len = N_ELEMENTS(filter), .filter = filter };

	must(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 &&
		     syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0,
	     "confine PID 1");
}

static _Noreturn void serve(const struct floor *floor, pid_t command)
{
	struct message message = { .kind = RESULT };
	sigset_t all;

	(void)sigfillset(&all);
	while (wait4(-1, &message.status, WNOHANG, &message.usage) != command)
		(void)sigwaitinfo(&all, NULL);
	(void)send(floor->init_socket, &message, sizeof(message), MSG_NOSIGNAL);
	_exit(0);
}

static _Noreturn void run_init(const struct floor *floor, uid_t uid, gid_t gid, const char *project)
{
	sigset_t all;
	pid_t command;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)close(floor->socket);
	(void)setsid();
	die_with_supervisor(floor);
	(void)umask(0);
	map_ids(uid, gid);
	build_tree(project);
	(void)umask(022);
	die_with_supervisor(floor);
	confine(uid, gid);
	die_with_supervisor(floor);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	command = start_command(floor, project);
	must(command > 0, "start the command");
	(void)close_range(0, (unsigned)floor->init_socket - 1, 0);
	(void)close_range((unsigned)floor->init_socket + 1, ~0u, 0);
	become_reaper();
	serve(floor, command);
}

/* Functions of the supervisor from here on. */

static pid_t clone_init(struct floor *floor)
{
	int pair[2];
	struct clone_args args = {
		.flags = CLONE_PIDFD | CLONE_CLEAR_SIGHAND | CLONE_NEWUSER | CLONE_NEWNS |
			 CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET |
			 CLONE_NEWCGROUP,
		.pidfd = (uintptr_t)&floor->pidfd,
		.exit_signal = SIGCHLD,
	};

	must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0, "make a socket");
	floor->socket = pair[0];
	floor->init_socket = pair[1];
	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

static int supervise(const struct floor *floor)
{
	const struct message go = { .kind = GO };
	const struct timespec limit = { .tv_sec = 300 };
	struct message result = { .status = -1 };
	struct pollfd sources[] = { { .fd = floor->signals, .events = POLLIN },
				    { .fd = floor->socket, .events = POLLIN },
				    { .fd = floor->pidfd, .events = POLLIN } };
	siginfo_t info;

	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)close(floor->init_socket);
	set_state(floor);
	add_record(floor);
	must(send(floor->socket, &go, sizeof(go), MSG_NOSIGNAL) == sizeof(go), "let it begin");
	must(ppoll(sources, N_ELEMENTS(sources), &limit, NULL) > 0 &&
		     recv(floor->socket, &result, sizeof(result), 0) == sizeof(result),
	     "hear how it ended");
	set_state(floor);
	must(waitid(P_PIDFD, (id_t)floor->pidfd, &info, WEXITED) == 0, "wait for its end");
	set_state(floor);
	add_record(floor);
	unregister_it(floor);
	return result.status;
}

int main(void)
{
	struct floor floor = { .records = -1 };
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char project[4096];
	pid_t pid;

	must(getcwd(project, sizeof(project)), "read the working directory");
	register_it(&floor);
	watch_signals(&floor);
	pid = clone_init(&floor);
	must(pid >= 0, "make namespaces");
	if (pid == 0)
		run_init(&floor, uid, gid, project);
	return supervise(&floor) == 0 ? 0 : 125;
}
