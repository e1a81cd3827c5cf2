/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/notify.h"
#include "test.h"

#define SELF 4321

/* The socket of a service manager, bound to @name; an abstract name begins with '\0'. */
static int manager_open(const char *name, size_t name_len)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	memcpy(address.sun_path, name, name_len);
	expect(bind(fd, (struct sockaddr *)&address,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + name_len)) == 0);
	return fd;
}

static void expect_message(int fd, const char *want)
{
	char got[256] = "";
	ssize_t n = recv(fd, got, sizeof(got) - 1, 0);

	expect_eq(n, (ssize_t)strlen(want));
	expect_str(got, want);
}

static void sends_nothing_without_a_manager(void)
{
	expect_eq(notify_send(NULL, "READY=1"), 0);
	expect_eq(notify_send("", "READY=1"), 0);
}

static void sends_to_a_path(void)
{
	char folder[] = "/tmp/notify-XXXXXX";
	char path[64];
	_cleanup_close_ int fd = -EBADF;

	expect(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/socket", folder);
	fd = manager_open(path, strlen(path) + 1);
	expect_eq(notify_send(path, "READY=1\nSTATUS=all is well"), 1);
	expect_message(fd, "READY=1\nSTATUS=all is well");
	expect(unlink(path) == 0 && rmdir(folder) == 0);
}

/* All bytes of an abstract name count, so one NUL too many would be another name. */
static void sends_to_an_abstract_name(void)
{
	char name[64], environment[64];
	int len = snprintf(name + 1, sizeof(name) - 1, "sbx-test-notify-%d", getpid());
	_cleanup_close_ int fd = -EBADF;

	name[0] = '\0';
	(void)snprintf(environment, sizeof(environment), "@%s", name + 1);
	fd = manager_open(name, (size_t)len + 1);
	expect_eq(notify_send(environment, "STOPPING=1"), 1);
	expect_message(fd, "STOPPING=1");
}

static void sends_to_the_longest_names_and_refuses_longer_ones(void)
{
	enum { SIZE = sizeof(((struct sockaddr_un *)NULL)->sun_path) };
	char name[SIZE + 2];
	_cleanup_close_ int fd = -EBADF;

	memset(name, 'x', sizeof(name));
	(void)snprintf(name + 1, sizeof(name) - 1, "sbx-test-long-%d-", getpid());
	name[1 + strlen(name + 1)] = 'x';
	name[0] = '\0';
	fd = manager_open(name, SIZE);
	name[0] = '@';
	name[SIZE] = '\0';
	expect_eq(notify_send(name, "READY=1"), 1);
	expect_message(fd, "READY=1");

	name[SIZE] = 'x';
	name[SIZE + 1] = '\0';
	expect_eq(notify_send(name, "READY=1"), -ENAMETOOLONG);
	name[0] = '/';
	name[SIZE] = '\0';
	expect_eq(notify_send(name, "READY=1"), -ENAMETOOLONG);
	name[SIZE - 1] = '\0';
	expect_eq(notify_send(name, "READY=1"), -ENOENT);
}

static void refuses_addresses_it_does_not_speak(void)
{
	expect_eq(notify_send("vsock:2:1234", "READY=1"), -EPROTONOSUPPORT);
	expect_eq(notify_send("run/notify", "READY=1"), -EPROTONOSUPPORT);
	expect_eq(notify_send(" /run/notify", "READY=1"), -EPROTONOSUPPORT);
	expect_eq(notify_send("@", "READY=1"), -EINVAL);
	expect_eq(notify_send("/", "READY=1"), -EINVAL);
	expect_eq(notify_send("/nowhere", ""), -EINVAL);
}

static void reports_a_manager_that_is_gone(void)
{
	expect_eq(notify_send("/nonexistent/notify", "READY=1"), -ENOENT);
	expect_eq(notify_send("@sbx-test-nobody-is-here", "READY=1"), -ECONNREFUSED);
}

/* Runs in a child with @n_open open fds from 3 on and then a closed one. */
static void in_child(void (*run)(void), int n_open)
{
	pid_t pid;
	int status;

	(void)fflush(stdout);
	pid = fork();
	if (pid == 0) {
		unsigned before = test_failures;

		for (int fd = LISTEN_FDS_START; fd < LISTEN_FDS_START + n_open; fd++)
			expect(dup2(STDERR_FILENO, fd) == fd);
		(void)close(LISTEN_FDS_START + n_open);
		run();
		(void)fflush(stdout);
		_exit(test_failures != before);
	}
	expect(waitpid(pid, &status, 0) == pid);
	expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void check_two_named(void)
{
	struct listen_fds fds;

	expect_eq(listen_fds_check("4321", "2", "policy:audit log", SELF, &fds, NULL), 0);
	expect_eq(fds.n_fds, 2);
	expect_str(fds.names[0], "policy");
	expect_str(fds.names[1], "audit log");
	expect_eq(listen_fds_find(&fds, "policy"), 3);
	expect_eq(listen_fds_find(&fds, "audit log"), 4);
	expect_eq(listen_fds_find(&fds, "audit"), -ENOENT);
	expect_eq(listen_fds_find(&fds, ""), -ENOENT);
	expect(fcntl(3, F_GETFD) & FD_CLOEXEC);
	expect(fcntl(4, F_GETFD) & FD_CLOEXEC);
}

static void takes_fds_by_their_names(void)
{
	in_child(check_two_named, 2);
}

static void check_unnamed(void)
{
	struct listen_fds fds;

	expect_eq(listen_fds_check("4321", "1", NULL, SELF, &fds, NULL), 0);
	expect_eq(fds.n_fds, 1);
	expect_str(fds.names[0], "");
	expect_eq(listen_fds_check("4321", "2", ":", SELF, &fds, NULL), 0);
	expect_eq(fds.n_fds, 2);
	expect_str(fds.names[1], "");
	expect_eq(listen_fds_find(&fds, ""), 3);
}

static void takes_fds_without_names(void)
{
	in_child(check_unnamed, 2);
}

static void check_most(void)
{
	static struct listen_fds fds;
	struct sbx_error err = { .code = 0 };

	expect_eq(listen_fds_check("4321", "64", NULL, SELF, &fds, NULL), 0);
	expect_eq(fds.n_fds, LISTEN_FDS_MAX);
	expect_eq(listen_fds_check("4321", "65", NULL, SELF, &fds, &err), -EINVAL);
	expect_str(err.why, "LISTEN_FDS is '65', not a number from 0 to 64");
}

static void takes_at_most_so_many_fds(void)
{
	in_child(check_most, LISTEN_FDS_MAX + 1);
}

static void check_closed(void)
{
	struct sbx_error err = { .code = 0 };
	struct listen_fds fds = { .n_fds = 99 };

	expect_eq(listen_fds_check("4321", "2", NULL, SELF, &fds, &err), -EBADF);
	expect_str(err.why, "LISTEN_FDS says 2, but fd 4 is not open");
	expect(err.fix[0]);
	expect_eq(fds.n_fds, 99);
	/* The open fd was not changed either. */
	expect_eq(fcntl(3, F_GETFD), 0);
}

static void refuses_an_fd_that_is_not_open(void)
{
	in_child(check_closed, 1);
}

static void leaves_fds_of_another_process_alone(void)
{
	struct listen_fds fds = { .n_fds = 99 };

	expect_eq(listen_fds_check("4320", "1", "x", SELF, &fds, NULL), 0);
	expect_eq(fds.n_fds, 0);
	/* Values for another process are not checked. */
	fds.n_fds = 99;
	expect_eq(listen_fds_check("1", "many", "\n", SELF, &fds, NULL), 0);
	expect_eq(fds.n_fds, 0);
}

static void takes_nothing_where_nothing_was_handed_over(void)
{
	static const char *const variables[][3] = {
		{ NULL, NULL, NULL },  { "4321", NULL, NULL }, { NULL, "1", NULL },
		{ "4321", "0", NULL }, { "4321", "0", "" },
	};

	for (size_t i = 0; i < N_ELEMENTS(variables); i++) {
		struct listen_fds fds = { .n_fds = 99 };

		expect_eq(listen_fds_check(variables[i][0], variables[i][1], variables[i][2], SELF,
					   &fds, NULL),
			  0);
		expect_eq(fds.n_fds, 0);
	}
}

static void expect_refusal(const char *pid, const char *n_fds, const char *names)
{
	struct sbx_error err = { .code = 0 };
	struct listen_fds fds = { .n_fds = 99 };

	expect_eq(listen_fds_check(pid, n_fds, names, SELF, &fds, &err), -EINVAL);
	expect_eq(err.code, -EINVAL);
	expect(err.what[0] && err.why[0] && err.fix[0]);
	expect_eq(fds.n_fds, 99);
}

static void refuses_numbers_that_are_not_plain_decimals(void)
{
	static const char *const numbers[] = { "",    " 1", "1 ",  "+1",  "-1",
					       "0x1", "1a", "1.0", "1\n", "18446744073709551617" };

	for (size_t i = 0; i < N_ELEMENTS(numbers); i++) {
		expect_refusal(numbers[i], "1", NULL);
		expect_refusal("4321", numbers[i], NULL);
	}
	expect_refusal("0", "1", NULL);
	expect_refusal("4294971617", "1", NULL);
}

static void refuses_names_that_do_not_match_the_fds(void)
{
	expect_refusal("4321", "1", "a:b");
	expect_refusal("4321", "2", "a");
	expect_refusal("4321", "1", ":");
	expect_refusal("4321", "0", "a");
	expect_refusal("4321", "2", "");
}

static void refuses_names_with_other_characters(void)
{
	char longest[LISTEN_NAME_SIZE + 1];

	expect_refusal("4321", "1", "a\nb");
	expect_refusal("4321", "1", "\x1b[2J");
	expect_refusal("4321", "1", "\x7f");
	expect_refusal("4321", "1", "\xc3\xa4");
	memset(longest, 'n', sizeof(longest));
	longest[LISTEN_NAME_SIZE] = '\0';
	expect_refusal("4321", "1", longest);
}

static const struct test tests[] = {
	TEST(sends_nothing_without_a_manager),
	TEST(sends_to_a_path),
	TEST(sends_to_an_abstract_name),
	TEST(sends_to_the_longest_names_and_refuses_longer_ones),
	TEST(refuses_addresses_it_does_not_speak),
	TEST(reports_a_manager_that_is_gone),
	TEST(takes_fds_by_their_names),
	TEST(takes_fds_without_names),
	TEST(takes_at_most_so_many_fds),
	TEST(refuses_an_fd_that_is_not_open),
	TEST(leaves_fds_of_another_process_alone),
	TEST(takes_nothing_where_nothing_was_handed_over),
	TEST(refuses_numbers_that_are_not_plain_decimals),
	TEST(refuses_names_that_do_not_match_the_fds),
	TEST(refuses_names_with_other_characters),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
