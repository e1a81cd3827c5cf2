/* SPDX-License-Identifier: MIT */

#include "proxy/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "test.h"

static const char *place; /* a directory of the test */

/* ---- attacks: true if they succeed ---- */

static bool opens_a_file(void)
{
	return open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0;
}

static bool lists_a_directory(void)
{
	return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) >= 0;
}

static bool creates_a_file(void)
{
	return open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) >= 0;
}

static bool executes_a_program(void)
{
	char *argv[] = { "true", NULL };

	(void)execve("/bin/true", argv, NULL);
	return false;
}

static bool starts_a_process(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return pid > 0;
}

static bool is_traced(void)
{
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0;
}

static bool reads_memory(void)
{
	char from = 1, to = 0;
	struct iovec local = { &to, 1 }, remote = { &from, 1 };

	return syscall(SYS_process_vm_readv, getpid(), &local, 1, &remote, 1, 0) == 1;
}

static bool listens(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
	       listen(fd, 1) == 0;
}

static bool talks_to_the_kernel(void)
{
	return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0) >= 0;
}

static bool makes_memory_executable(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
	       MAP_FAILED;
}

static bool signals_its_parent(void)
{
	return kill(getppid(), 0) == 0;
}

static bool opens_a_pidfd(void)
{
	return syscall(SYS_pidfd_open, getppid(), 0) >= 0;
}

static bool changes_a_mode(void)
{
	return chmod(place, 0700) == 0;
}

static bool (*const attacks[])(void) = {
	opens_a_file,	     lists_a_directory,
	creates_a_file,	     executes_a_program,
	starts_a_process,    is_traced,
	reads_memory,	     listens,
	talks_to_the_kernel, makes_memory_executable,
	signals_its_parent,  opens_a_pidfd,
	changes_a_mode,
};

/* ---- what it needs ---- */

static bool connects(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(1),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd >= 0 && (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 ||
			   errno == ECONNREFUSED);
}

static bool adds_to_the_spool(void)
{
	char path[256];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/records", place);
	fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	return fd >= 0 && write(fd, "1\n", 2) == 2;
}

static bool reads_the_policy(void)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/policy", place);
	return open(path, O_RDONLY | O_CLOEXEC) >= 0;
}

static bool reads_the_hosts(void)
{
	return open("/etc/hosts", O_RDONLY | O_CLOEXEC) >= 0;
}

/* ---- one of them, in a process of its own ---- */

enum protection {
	UNPROTECTED,
	PROTECTED,
};

static bool does(bool (*what)(void), enum protection protection,
		 const struct confinement *confinement)
{
	int status = -1;
	pid_t pid;

	(void)fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (protection == PROTECTED &&
		    (confine_files(confinement, NULL) < 0 || confine_calls(confinement, NULL) < 0))
			_exit(2);
		_exit(what() ? 0 : 1);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	expect(!WIFEXITED(status) || WEXITSTATUS(status) != 2);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

#define SKIP_UNCONFINED                                                                            \
	do {                                                                                       \
		if (!confine_is_built())                                                           \
			skip("this build does not confine: sanitizers and coverage need more");    \
	} while (0)

static void stop_all(enum confine_role role)
{
	const struct confinement confinement = { .role = role };

	for (size_t i = 0; i < N_ELEMENTS(attacks); i++) {
		if (!does(attacks[i], UNPROTECTED, NULL))
			printf("# attack %zu cannot be done on this host\n", i);
		if (does(attacks[i], PROTECTED, &confinement))
			printf("# attack %zu succeeded\n", i);
		expect(!does(attacks[i], PROTECTED, &confinement));
	}
	expect(does(opens_a_file, UNPROTECTED, NULL));
	expect(does(executes_a_program, UNPROTECTED, NULL));
	expect(does(starts_a_process, UNPROTECTED, NULL));
	expect(does(listens, UNPROTECTED, NULL));
}

static void a_worker_can_do_nothing_else(void)
{
	SKIP_UNCONFINED;
	stop_all(CONFINE_WORKER);
}

static void a_resolver_can_do_nothing_else(void)
{
	SKIP_UNCONFINED;
	stop_all(CONFINE_RESOLVER);
}

static void files_named_to_a_worker_stay_usable_and_no_others(void)
{
	struct confinement confinement = { .role = CONFINE_WORKER, .writable = place };

	SKIP_UNCONFINED;
	if (!confine_has_landlock())
		skip("the kernel has no Landlock");
	expect(does(adds_to_the_spool, PROTECTED, &confinement));
	expect(!does(opens_a_file, PROTECTED, &confinement));
	expect(!does(lists_a_directory, PROTECTED, &confinement));
	confinement = (struct confinement){ .role = CONFINE_WORKER, .readable = place };
	expect(does(reads_the_policy, PROTECTED, &confinement));
	expect(!does(adds_to_the_spool, PROTECTED, &confinement));
}

static void a_worker_connects(void)
{
	const struct confinement confinement = { .role = CONFINE_WORKER };

	expect(does(connects, PROTECTED, &confinement));
}

static void a_resolver_reads_its_files_and_connects(void)
{
	const struct confinement confinement = { .role = CONFINE_RESOLVER };

	if (access("/etc/hosts", R_OK) < 0)
		skip("there is no /etc/hosts");
	expect(does(reads_the_hosts, PROTECTED, &confinement));
	expect(does(connects, PROTECTED, &confinement));
}

static const struct test tests[] = {
	TEST(a_worker_can_do_nothing_else),
	TEST(a_resolver_can_do_nothing_else),
	TEST(files_named_to_a_worker_stay_usable_and_no_others),
	TEST(a_worker_connects),
	TEST(a_resolver_reads_its_files_and_connects),
	TEST_END,
};

static void clean(const char *directory)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/records", directory);
	(void)unlink(path);
	(void)snprintf(path, sizeof(path), "%s/policy", directory);
	(void)unlink(path);
	(void)rmdir(directory);
}

int main(void)
{
	char directory[] = "/tmp/sbx-confine-XXXXXX", path[256];
	int status;

	place = mkdtemp(directory);
	if (!place)
		return 99;
	(void)snprintf(path, sizeof(path), "%s/policy", place);
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	status = fd < 0 ? 99 : test_run(tests);
	clean(place);
	return status;
}
