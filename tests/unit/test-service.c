/* SPDX-License-Identifier: MIT */
#include "service-rig.h"

#include <sys/stat.h>

#include "base/text.h"
#include "lingering.h"

static void is_ready_when_it_listens(void)
{
	struct setup setup = { .handed_over = 0 };
	_cleanup_daemon_ struct daemon daemon = daemon_start(&setup);
	_cleanup_close_ int client = -EBADF;

	expect_str(next_notice(&daemon), "READY=1");
	client = client_open(&daemon);
	(void)talk(client, "hello");
}

static void ends_on_a_signal_and_says_so(void)
{
	static const int numbers[] = { SIGTERM, SIGINT };

	for (size_t i = 0; i < N_ELEMENTS(numbers); i++) {
		struct setup setup = { .handed_over = 0 };
		_cleanup_daemon_ struct daemon daemon = daemon_start(&setup);

		expect_str(next_notice(&daemon), "READY=1");
		expect(kill(daemon.pid, numbers[i]) == 0);
		expect_str(next_notice(&daemon), "STOPPING=1");
		expect_eq(daemon_wait(&daemon), 0);
	}
}

static void ends_with_the_status_it_was_given(void)
{
	struct setup setup = { .handed_over = 0 };
	_cleanup_daemon_ struct daemon daemon = daemon_start(&setup);
	_cleanup_close_ int client = -EBADF;

	expect_str(next_notice(&daemon), "READY=1");
	client = client_open(&daemon);
	(void)talk(client, "stop");
	expect_str(next_notice(&daemon), "STOPPING=1");
	expect_eq(daemon_wait(&daemon), 7);
}

static unsigned long long now_usec(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned long long)now.tv_sec * 1000000 + (unsigned long long)now.tv_nsec / 1000;
}

static void notifies_the_manager_of_a_reload(void)
{
	struct setup setup = { .handed_over = 0 };
	_cleanup_daemon_ struct daemon daemon = daemon_start(&setup);
	static const char begin[] = "RELOADING=1\nMONOTONIC_USEC=";
	unsigned long long before, usec;
	const char *notice;

	expect_str(next_notice(&daemon), "READY=1");
	before = now_usec();
	expect(kill(daemon.pid, SIGHUP) == 0);
	notice = next_notice(&daemon);
	expect(strncmp(notice, begin, sizeof(begin) - 1) == 0);
	usec = strlen(notice) >= sizeof(begin) ? strtoull(notice + sizeof(begin) - 1, NULL, 10) : 0;
	expect(usec >= before && usec <= now_usec());
	expect_str(next_notice(&daemon), "STATUS=reloading");
	expect_str(next_notice(&daemon), "READY=1");
}

static void goes_on_after_a_failed_reload(void)
{
	struct setup setup = { .reload_result = -EINVAL };
	_cleanup_daemon_ struct daemon daemon = daemon_start(&setup);
	_cleanup_close_ int client = -EBADF;

	expect_str(next_notice(&daemon), "READY=1");
	expect(kill(daemon.pid, SIGHUP) == 0);
	expect_str(
		await(daemon.log, DEADLINE_MSEC),
		"test: cannot reload: Invalid argument; the loaded configuration stays in force\n");
	expect(strncmp(next_notice(&daemon), "RELOADING=1\n", 12) == 0);
	expect_str(next_notice(&daemon), "STATUS=reloading");
	expect_str(next_notice(&daemon), "READY=1");
	client = client_open(&daemon);
	(void)talk(client, "hello");
}

/* systemd would parse the text after a newline as another assignment. */
static void keeps_a_status_on_one_line(void)
{
	struct setup setup = { .handed_over = 0 };
	_cleanup_daemon_ struct daemon daemon = daemon_start(&setup);
	_cleanup_close_ int client = -EBADF;

	expect_str(next_notice(&daemon), "READY=1");
	client = client_open(&daemon);
	say(client, "status idle\nMAINPID=1");
	expect_str(next_notice(&daemon), "STATUS=idle\\x0aMAINPID=1");
}

static void feeds_the_watchdog(void)
{
	struct setup setup = { .watchdog_usec = "40000" };
	_cleanup_daemon_ struct daemon daemon = daemon_start(&setup);

	await_watchdogs(&daemon, 1);
	expect_str(next_notice(&daemon), "READY=1");
	await_watchdogs(&daemon, 4);
}

static void stops_feeding_while_the_loop_hangs(void)
{
	struct setup setup = { .watchdog_usec = "40000" };
	_cleanup_daemon_ struct daemon daemon = daemon_start(&setup);
	_cleanup_close_ int client = -EBADF;
	int pair[2];

	expect(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	await_watchdogs(&daemon, 1);
	expect_str(next_notice(&daemon), "READY=1");
	client = client_open(&daemon);
	expect_eq(fd_send(client, "hang", 4, &pair[0], 1), 0);
	expect(strstr(await(client, DEADLINE_MSEC), "hang"));
	while (strcmp(await(daemon.notify, 0), "WATCHDOG=1") == 0)
		;
	expect_str(await(daemon.notify, 5 * WATCHDOG_USEC / 1000), "");
	say(pair[1], "wake up");
	(void)talk(client, "hello");
	close_fd(&pair[0]);
	close_fd(&pair[1]);
	await_watchdogs(&daemon, 2);
}

/* Otherwise WATCHDOG=1 would be the first message. */
static void leaves_the_watchdog_of_another_process_alone(void)
{
	struct setup setup = { .watchdog_usec = "40000", .watchdog_pid = "1" };
	_cleanup_daemon_ struct daemon daemon = daemon_start(&setup);

	expect_str(await(daemon.notify, DEADLINE_MSEC), "READY=1");
}

static void refuses_a_watchdog_it_cannot_read(void)
{
	struct setup setup = { .watchdog_usec = "soon" };
	_cleanup_daemon_ struct daemon daemon = daemon_start(&setup);

	expect_eq(daemon_wait(&daemon), STATUS_NOT_STARTED);
}

/* A listening socket like that of a .socket unit, with an abstract name of its own: a process that
 * the service of the test before has left may still exit. */
static int manager_listen(struct sockaddr_un *ret_address)
{
	static int number;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	*ret_address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	(void)snprintf(ret_address->sun_path + 1, sizeof(ret_address->sun_path) - 1,
		       "sbx-test-service-%d-%d", (int)getpid(), number++);
	expect(bind(fd, (const struct sockaddr *)ret_address, sizeof(*ret_address)) == 0);
	expect(listen(fd, 8) == 0);
	return fd;
}

static void serves_handed_over(const char *fd_name)
{
	struct sockaddr_un address;
	_cleanup_close_ int fd = manager_listen(&address), client = -EBADF;
	struct setup setup = { .handed_over = fd, .fd_name = fd_name };
	_cleanup_daemon_ struct daemon daemon = daemon_start(&setup);

	daemon.address = address;
	client = client_open(&daemon);
	expect_str(next_notice(&daemon), "READY=1");
	(void)talk(client, "before you were ready");
}

static void takes_over_the_socket_of_that_name(void)
{
	serves_handed_over("probe");
}

static void takes_over_the_only_socket_where_none_has_a_name(void)
{
	serves_handed_over(NULL);
	serves_handed_over("");
}

static void leaves_a_socket_of_another_name_alone(void)
{
	struct sockaddr_un address;
	_cleanup_close_ int fd = manager_listen(&address);
	struct setup setup = { .handed_over = fd, .fd_name = "other" };
	_cleanup_daemon_ struct daemon daemon = daemon_start(&setup);

	expect_eq(daemon_wait(&daemon), STATUS_NOT_STARTED);
}

static void refuses_an_fd_that_is_no_listening_socket(void)
{
	_cleanup_close_ int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct setup setup = { .handed_over = fd, .fd_name = "probe" };
	_cleanup_daemon_ struct daemon daemon = daemon_start(&setup);

	expect_eq(daemon_wait(&daemon), STATUS_NOT_STARTED);
}

/* The two sockets of a .socket unit; a third call finds no more. */
static int listen_thrice(void)
{
	static const struct log log = { .tool = "test", .journal_fd = -EBADF };
	static const struct client_limits limits = { .n_clients = 1 };
	_cleanup_service_ struct service *service = NULL;
	_cleanup_clients_ struct clients *clients = NULL;
	struct sockaddr_un address;
	unsigned before = test_failures;
	int pair[2] = { manager_listen(&address), manager_listen(&address) };

	/* The low fd numbers may be in use by now: dup2() from high ones overwrites neither socket.
	 */
	expect(dup2(pair[1], 101) == 101 && dup2(pair[0], 100) == 100);
	expect(dup2(100, LISTEN_FDS_START) >= 0 && dup2(101, LISTEN_FDS_START + 1) >= 0);
	set_number("LISTEN_PID", getpid());
	expect(setenv("LISTEN_FDS", "2", 1) == 0);
	expect(setenv("LISTEN_FDNAMES", "probe:probe", 1) == 0);
	expect_eq(service_new(&log, NULL, NULL, &service, NULL), 0);
	expect_eq(clients_new(service_ready(service), &log, &protocol, &limits, NULL, &clients), 0);
	expect_eq(service_listen(service, "probe", NULL, 0600, clients, NULL), 0);
	expect_eq(service_listen(service, "probe", NULL, 0600, clients, NULL), 0);
	expect_eq(service_listen(service, "probe", NULL, 0600, clients, NULL), -ENOENT);
	(void)fflush(stdout);
	return test_failures != before;
}

static void takes_each_of_several_sockets_of_one_name_once(void)
{
	pid_t pid;
	int status;

	(void)fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(listen_thrice());
	expect(waitpid(pid, &status, 0) == pid && status == 0);
}

/* Runs @check in a child as an ordinary user; 0: no failure. */
static int as_user(int (*check)(const char *directory), const char *directory)
{
	unsigned before = test_failures;
	int r;

	if (geteuid() == 0)
		expect(chown(directory, 65534, 65534) == 0 && setresgid(65534, 65534, 65534) == 0 &&
		       setresuid(65534, 65534, 65534) == 0);
	r = check(directory);
	(void)fflush(stdout);
	return r != 0 || test_failures != before;
}

static int listen_at_the_usual_place(const char *directory)
{
	static const struct log log = { .tool = "test", .journal_fd = -EBADF };
	static const struct client_limits limits = { .n_clients = 1 };
	_cleanup_service_ struct service *service = NULL;
	_cleanup_clients_ struct clients *clients = NULL;
	_cleanup_text_ struct text path = TEXT_INIT;
	struct stat st;

	expect(setenv("XDG_RUNTIME_DIR", directory, 1) == 0);
	expect_eq(service_new(&log, NULL, NULL, &service, NULL), 0);
	expect_eq(clients_new(service_ready(service), &log, &protocol, &limits, NULL, &clients), 0);
	expect_eq(service_listen_usual(service, "probe", NULL, 0600, clients, NULL), 0);
	expect_eq(service_add_path(&path, "probe", NULL), 0);
	expect(strncmp(path.data, directory, strlen(directory)) == 0);
	expect_str(path.data + strlen(directory), "/sbx/probe.sock");
	expect(stat(path.data, &st) == 0 && S_ISSOCK(st.st_mode));
	service = service_free(service);
	expect(stat(path.data, &st) < 0);
	path.data[strlen(directory) + 4] = '\0';
	expect(stat(path.data, &st) == 0 && (st.st_mode & 0777) == 0700);
	return rmdir(path.data);
}

static int find_no_usual_place(const char *directory)
{
	_cleanup_text_ struct text path = TEXT_INIT;
	struct sbx_error err = { .code = 0 };

	expect(setenv("XDG_RUNTIME_DIR", "run", 1) == 0);
	expect_eq(service_add_path(&path, "probe", &err), -ENOTCONN);
	expect(strstr(err.why, "XDG_RUNTIME_DIR") && strstr(err.fix, "--socket"));
	return 0;
}

static void expect_as_user(int (*check)(const char *directory))
{
	char directory[] = "/tmp/service-XXXXXX";
	int status;
	pid_t pid;

	expect(mkdtemp(directory));
	(void)fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(as_user(check, directory));
	expect(waitpid(pid, &status, 0) == pid && status == 0);
	expect(rmdir(directory) == 0);
}

static void listens_at_the_usual_place_of_a_user(void)
{
	expect_as_user(listen_at_the_usual_place);
}

static void refuses_a_usual_place_without_a_runtime_directory(void)
{
	expect_as_user(find_no_usual_place);
}

static void says_which_name_the_manager_should_give(void)
{
	static const struct log log = { .tool = "test", .journal_fd = -EBADF };
	_cleanup_service_ struct service *service = NULL;
	struct sbx_error err = { .code = 0 };

	expect_eq(service_new(&log, NULL, NULL, &service, NULL), 0);
	expect_eq(service_listen(service, "probe", NULL, 0600, NULL, &err), -ENOENT);
	expect_str(err.what, "no socket was handed over as 'probe'");
	expect(strstr(err.fix, "FileDescriptorName=probe"));
}

static void refuses_an_environment_it_cannot_read(void)
{
	static const struct log log = { .tool = "test", .journal_fd = -EBADF };
	_cleanup_service_ struct service *service = NULL;
	struct sbx_error err = { .code = 0 };

	set_number("LISTEN_PID", getpid());
	expect(setenv("LISTEN_FDS", "all", 1) == 0);
	expect_eq(service_new(&log, NULL, NULL, &service, &err), -EINVAL);
	expect(strstr(err.why, "LISTEN_FDS is 'all'"));
	expect(!service);
	expect(unsetenv("LISTEN_PID") == 0 && unsetenv("LISTEN_FDS") == 0);
}

static void closes_a_client_that_the_service_refuses(void)
{
	struct setup setup = { .accept_result = -EPERM, .n_clients_max = 1 };
	_cleanup_daemon_ struct daemon daemon = daemon_start(&setup);

	expect_str(next_notice(&daemon), "READY=1");
	/* A refused client does not count, so there may be several. */
	for (int i = 0; i < 3; i++) {
		_cleanup_close_ int client = client_open(&daemon);

		expect_str(await(client, DEADLINE_MSEC), "");
		expect_str(await(daemon.log, DEADLINE_MSEC),
			   "test: cannot serve a client of 'probe': Operation not permitted\n");
	}
}

static void lets_clients_wait_beyond_the_limit(void)
{
	struct setup setup = { .n_clients_max = 1 };
	_cleanup_daemon_ struct daemon daemon = daemon_start(&setup);
	_cleanup_close_ int first = -EBADF, second = -EBADF;

	expect_str(next_notice(&daemon), "READY=1");
	first = client_open(&daemon);
	(void)talk(first, "one");
	second = client_open(&daemon);
	say(second, "hello");
	/* Let the loop turn: after one turn the second client would have its answer. */
	for (int i = 0; i < 5; i++)
		(void)talk(first, "again");
	expect_str(await(second, 0), "");

	close_fd(&first);
	first = -EBADF;
	expect(strstr(await(second, DEADLINE_MSEC), "hello"));
}

/* The daemon closes its listening socket when it ends, and the client's connection with it. */
static void ends_although_a_waiting_client_sent_a_socket_that_lingers(void)
{
	struct setup setup = { .n_clients_max = 1 };
	_cleanup_daemon_ struct daemon daemon = daemon_start(&setup);
	_cleanup_lingering_ struct lingering lingering = lingering_made();
	_cleanup_close_ int first = -EBADF, second = -EBADF;

	expect_str(next_notice(&daemon), "READY=1");
	first = client_open(&daemon);
	(void)talk(first, "one");
	second = client_open(&daemon);
	lingering_send(&lingering, second);
	(void)talk(first, "stop");
	expect_str(next_notice(&daemon), "STOPPING=1");
	expect_eq(daemon_wait(&daemon), 7);
}

#define N_CLIENTS 12

/*
 * With no free fds the backlog is never empty: without a pause the loop would spin between two
 * watchdog messages, and with a full table it could not send them.
 */
static void rests_when_fds_run_short_and_recovers(void)
{
	struct setup setup = { .watchdog_usec = "40000", .n_fds = 6 };
	_cleanup_daemon_ struct daemon daemon = daemon_start(&setup);
	int clients[N_CLIENTS], last, n = 0;
	unsigned long long before;
	const char *answer;

	await_watchdogs(&daemon, 1);
	expect_str(next_notice(&daemon), "READY=1");
	for (int i = 0; i < N_CLIENTS; i++)
		clients[i] = client_open(&daemon);
	last = clients[N_CLIENTS - 1];
	expect_str(await(daemon.log, DEADLINE_MSEC),
		   "test: clients have to wait: Too many open files\n");
	before = talk(clients[0], "hello");
	await_watchdogs(&daemon, 10);
	expect(talk(clients[0], "hello") - before < 200);
	say(last, "hello");
	expect_str(await(last, 0), "");

	for (int i = 0; i < N_CLIENTS - 1; i++)
		expect(close(clients[i]) == 0);
	/* Keep reading the manager's socket: if it were full, the daemon would block. */
	for (answer = ""; n < 200 && !strstr(answer, "hello"); n++) {
		await_watchdogs(&daemon, 1);
		answer = await(last, 0);
	}
	expect(strstr(answer, "hello"));
	expect(close(last) == 0);
}

static const struct test tests[] = {
	TEST(is_ready_when_it_listens),
	TEST(ends_on_a_signal_and_says_so),
	TEST(ends_with_the_status_it_was_given),
	TEST(notifies_the_manager_of_a_reload),
	TEST(goes_on_after_a_failed_reload),
	TEST(keeps_a_status_on_one_line),
	TEST(feeds_the_watchdog),
	TEST(stops_feeding_while_the_loop_hangs),
	TEST(leaves_the_watchdog_of_another_process_alone),
	TEST(refuses_a_watchdog_it_cannot_read),
	TEST(takes_over_the_socket_of_that_name),
	TEST(takes_over_the_only_socket_where_none_has_a_name),
	TEST(leaves_a_socket_of_another_name_alone),
	TEST(refuses_an_fd_that_is_no_listening_socket),
	TEST(takes_each_of_several_sockets_of_one_name_once),
	TEST(listens_at_the_usual_place_of_a_user),
	TEST(refuses_a_usual_place_without_a_runtime_directory),
	TEST(says_which_name_the_manager_should_give),
	TEST(refuses_an_environment_it_cannot_read),
	TEST(closes_a_client_that_the_service_refuses),
	TEST(lets_clients_wait_beyond_the_limit),
	TEST(ends_although_a_waiting_client_sent_a_socket_that_lingers),
	TEST(rests_when_fds_run_short_and_recovers),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
