/* SPDX-License-Identifier: MIT */

/* Entering a running sandbox, as sbx-ctl exec does */

#include <sys/socket.h>
#include <sys/un.h>

#include "spawn-rig.h"

#define CLIENTS_MAX 64

struct house {
	struct rig rig;
	pid_t clients[CLIENTS_MAX]; /* clients stay alive until the end of the test */
	size_t n_clients;
	int listening;
	int end; /* of the first command's output pipe */
	struct sockaddr_un address;
	socklen_t size;
};

static void house_init(struct house *house, uid_t uid)
{
	house->address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	house->size = sizeof(house->address);
	house->n_clients = 0;
	house->end = -EBADF;
	house->listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	/* The kernel chooses an abstract name. */
	if (house->listening < 0 ||
	    bind(house->listening, (struct sockaddr *)&house->address, sizeof(sa_family_t)) < 0 ||
	    listen(house->listening, 8) < 0 ||
	    getsockname(house->listening, (struct sockaddr *)&house->address, &house->size) < 0)
		abort();
	rig_init(&house->rig, uid,
		 "trap 'exit 0' TERM; echo ready; while :; do sleep 1000 & wait; done");
	house->rig.options.control_socket = house->listening;
	house->rig.plan.may_exec = true;
}

static void house_open(struct house *house)
{
	rig_start_with_pipe(&house->rig, &house->end);
	expect(rig_hears(house->end, "ready\n"));
}

static void house_close(struct house *house)
{
	expect_eq(kill(house->rig.supervisor, SIGTERM), 0);
	rig_wait(&house->rig);
	rig_expect(&house->rig, 0, SPAWN_REASON_EXIT);
}

static void house_deinit(struct house *house)
{
	for (size_t i = 0; i < house->n_clients; i++) {
		(void)kill(house->clients[i], SIGKILL);
		(void)waitpid(house->clients[i], NULL, 0);
	}
	close_fd(&house->listening);
	close_fd(&house->end);
	rig_deinit(&house->rig);
}
#define _cleanup_house_ _cleanup_(house_deinit)

/* Moves into a new user namespace, mapped to the same uid outside. */
static int move_out(uid_t uid)
{
	_cleanup_close_ int map = -EBADF;
	char line[32];
	int n = snprintf(line, sizeof(line), "%u %u 1", uid, uid);

	if (unshare(CLONE_NEWUSER) < 0)
		return -errno;
	map = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
	return map < 0 ? -errno : fd_write_all(map, line, (size_t)n);
}

/* Connects, passes the connection to the test, and stays alive. */
static void be_client(const struct house *house, uid_t uid, bool moves_out, int socket_pair)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (fd < 0 || rig_become(uid) < 0 || (moves_out && move_out(uid) < 0) ||
	    connect(fd, (const struct sockaddr *)&house->address, house->size) < 0 ||
	    fd_send(socket_pair, "x", 1, &fd, 1) < 0)
		_exit(1);
	(void)close(fd);
	for (;;)
		(void)pause();
}

/* Connects from a process with uid @uid, which the other end sees as SO_PEERCRED. */
static int knock_as(struct house *house, uid_t uid, bool moves_out)
{
	int ends[2], fd = -EBADF;
	size_t n_fds;
	pid_t pid;
	char byte;

	if (house->n_clients == CLIENTS_MAX ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		abort();
	pid = fork();
	if (pid == 0) {
		(void)close(ends[0]);
		be_client(house, uid, moves_out, ends[1]);
	}
	(void)close(ends[1]);
	if (pid < 0 || fd_receive(ends[0], &byte, 1, &fd, 1, &n_fds) != 1 || n_fds != 1)
		abort();
	(void)close(ends[0]);
	house->clients[house->n_clients++] = pid;
	return fd;
}

static int knock(struct house *house)
{
	return knock_as(house, house->rig.uid, false);
}

static void expect_unanswered(int door)
{
	char byte;

	(void)fd_send(door, "{\"exec\":[\"/bin/true\"]}", 22, NULL, 0);
	expect(rig_is_ready(door, POLLIN));
	expect(read(door, &byte, 1) <= 0);
}

/* Sends @request with @n_fds fds, of which the second is a pipe to the test. */
static int ask(int door, const char *request, size_t n_fds, int *ret_end)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), ends[2];

	if (null < 0 || pipe2(ends, O_CLOEXEC) < 0)
		abort();

	const int fds[] = { null, ends[1], ends[1] };
	int r = fd_send(door, request, strlen(request), fds, n_fds);

	(void)close(null);
	(void)close(ends[1]);
	*ret_end = ends[0];
	return r;
}

/* Reads to the end of file. */
static const char *read_all(int end, char *ret, size_t size)
{
	size_t n = 0;

	while (n < size - 1 && rig_is_ready(end, POLLIN)) {
		ssize_t got = read(end, ret + n, size - 1 - n);

		if (got <= 0)
			break;
		n += (size_t)got;
	}
	ret[n] = '\0';
	return ret;
}

struct answer {
	char output[4096];
	char text[4096];
};

static void visit(struct house *house, const char *request, struct answer *ret)
{
	_cleanup_close_ int door = knock(house), end = -EBADF;

	expect_eq(ask(door, request, 3, &end), 0);
	(void)read_all(end, ret->output, sizeof(ret->output));
	(void)read_all(door, ret->text, sizeof(ret->text));
}

FOR_BOTH(a_visitor_is_inside_and_gets_the_status)
{
	_cleanup_house_ struct house house;
	struct answer answer;
	char wanted[64];

	house_init(&house, uid);
	house_open(&house);
	visit(&house,
	      "{\"exec\":[\"sh\",\"-c\",\"id -u; cat /proc/1/comm /proc/2/comm; pwd; "
	      "ls /proc/self/fd; exit 5\"]}",
	      &answer);
	expect_str(answer.text, "{\"status\":5}");
	(void)snprintf(wanted, sizeof(wanted), "%u\n", house.rig.plan.uid);
	expect(strncmp(answer.output, wanted, strlen(wanted)) == 0);
	/* hidepid hides PID 1, which is not dumpable; the first command is visible. */
	expect(strstr(answer.output, "\nsh\n/tmp\n0\n1\n2\n3\n") != NULL);
	visit(&house, "{\"exec\":[\"/bin/true\"]}", &answer);
	expect_str(answer.text, "{\"status\":0}");
	house_close(&house);
}

FOR_BOTH(a_visitor_has_no_more_rights_than_the_command)
{
	static const char *const wanted[] = {
		"CapPrm:\t0000000000000000\n", "CapEff:\t0000000000000000\n",
		"CapBnd:\t0000000000000000\n", "NoNewPrivs:\t1\n",
		"SigBlk:\t0000000000000000\n",
	};
	_cleanup_house_ struct house house;
	struct answer answer;

	house_init(&house, uid);
	house_open(&house);
	visit(&house, "{\"exec\":[\"cat\",\"/proc/self/status\"]}", &answer);
	for (size_t i = 0; i < N_ELEMENTS(wanted); i++)
		expect(strstr(answer.output, wanted[i]) != NULL);
	/* The visitor has the same namespaces as the first command. */
	visit(&house,
	      "{\"exec\":[\"sh\",\"-c\",\"for n in user mnt pid ipc uts net; do "
	      "test $(readlink /proc/self/ns/$n) = $(readlink /proc/2/ns/$n) || echo $n; done; "
	      "cat /proc/self/cgroup\"]}",
	      &answer);
	expect_str(answer.text, "{\"status\":0}");
	expect(!strstr(answer.output, "user\n") && !strstr(answer.output, "mnt\n") &&
	       !strstr(answer.output, "pid\n") && !strstr(answer.output, "net\n"));
	house_close(&house);
}

FOR_BOTH(a_visitor_gets_the_error_of_execve)
{
	_cleanup_house_ struct house house;
	struct answer answer;

	house_init(&house, uid);
	house_open(&house);
	visit(&house, "{\"exec\":[\"no-such-command\"]}", &answer);
	expect(strncmp(answer.text,
		       "{\"status\":127,\"error\":\"cannot execute "
		       "'no-such-command'",
		       50) == 0);
	house_close(&house);
}

FOR_BOTH(a_sandbox_that_may_not_be_entered_says_so)
{
	_cleanup_house_ struct house house;
	struct answer answer;

	house_init(&house, uid);
	house.rig.plan.may_exec = false;
	house_open(&house);
	visit(&house, "{\"exec\":[\"/bin/true\"]}", &answer);
	expect(strncmp(answer.text, "{\"error\":\"this sandbox may not be entered", 40) == 0);
	expect(strstr(answer.text, "\"fix\":\"start it with --debug; "));
	house_close(&house);
}

FOR_BOTH(requests_that_are_none_are_refused)
{
	static const char *const requests[] = {
		"x",
		"{}",
		"{\"exec\":[]}",
		"{\"exec\":[1]}",
		"{\"exec\":[\"true\"],\"x\":1}",
		"{\"state\":true}",
	};
	_cleanup_house_ struct house house;
	struct answer answer;
	int end;

	house_init(&house, uid);
	house_open(&house);
	for (size_t i = 0; i < N_ELEMENTS(requests); i++) {
		visit(&house, requests[i], &answer);
		expect(strncmp(answer.text, "{\"error\":", 9) == 0);
		expect_str(answer.output, "");
	}

	_cleanup_close_ int door = knock(&house);

	expect_eq(ask(door, "{\"exec\":[\"/bin/true\"]}", 2, &end), 0);
	(void)close(end);
	expect(strncmp(read_all(door, answer.text, sizeof(answer.text)),
		       "{\"error\":\"the request comes without", 34) == 0);
	house_close(&house);
}

FOR_BOTH(another_user_is_not_answered)
{
	_cleanup_house_ struct house house;
	_cleanup_close_ int door = -EBADF;

	house_init(&house, uid);
	if (geteuid() != 0)
		skip("only root can be two users");
	house_open(&house);
	door = knock_as(&house, 4321, false);
	expect_unanswered(door);
	house_close(&house);
}

/* The uid is the same, but a process in a sandbox must not enter another sandbox. */
FOR_BOTH(a_client_in_another_user_namespace_is_refused)
{
	_cleanup_house_ struct house house;
	_cleanup_close_ int door = -EBADF;
	struct answer answer;

	house_init(&house, uid);
	house_open(&house);
	door = knock_as(&house, uid, true);
	expect_unanswered(door);
	visit(&house, "{\"exec\":[\"/bin/true\"]}", &answer);
	expect_str(answer.text, "{\"status\":0}");
	house_close(&house);
}

/* The PID may have been reused. */
FOR_BOTH(a_client_that_has_exited_is_refused)
{
	_cleanup_house_ struct house house;
	_cleanup_close_ int door = -EBADF;

	house_init(&house, uid);
	house_open(&house);
	expect_eq(kill(house.rig.supervisor, SIGSTOP), 0);
	door = knock(&house);
	expect_eq(kill(house.clients[0], SIGKILL), 0);
	expect_eq(waitpid(house.clients[0], NULL, 0), house.clients[0]);
	house.n_clients = 0;
	expect_eq(kill(house.rig.supervisor, SIGCONT), 0);
	expect_unanswered(door);
	house_close(&house);
}

FOR_BOTH(a_client_that_leaves_takes_its_command_with_it)
{
	_cleanup_house_ struct house house;
	_cleanup_close_ int door = -EBADF, end = -EBADF;

	house_init(&house, uid);
	house_open(&house);
	door = knock(&house);
	expect_eq(ask(door, "{\"exec\":[\"sh\",\"-c\",\"echo began; exec sleep 1000\"]}", 3, &end),
		  0);
	expect(rig_hears(end, "began\n"));
	(void)close(door);
	door = -EBADF;
	expect(rig_is_silent(end));
	house_close(&house);
}

FOR_BOTH(the_end_of_the_sandbox_is_the_visitors_end)
{
	_cleanup_house_ struct house house;
	_cleanup_close_ int door = -EBADF, end = -EBADF;
	char text[256];

	house_init(&house, uid);
	house_open(&house);
	door = knock(&house);
	expect_eq(ask(door,
		      "{\"exec\":[\"sh\",\"-c\",\"echo began; sleep 1000 & exec sleep 1000\"]}", 3,
		      &end),
		  0);
	expect(rig_hears(end, "began\n"));
	house_close(&house);
	expect(rig_is_silent(end));
	expect(strncmp(read_all(door, text, sizeof(text)), "{\"error\":", 9) == 0 ||
	       strncmp(text, "{\"status\":", 10) == 0);
}

FOR_BOTH(kill_9_of_the_supervisor_kills_visitors_too)
{
	_cleanup_house_ struct house house;
	_cleanup_close_ int door = -EBADF, end = -EBADF;

	house_init(&house, uid);
	house_open(&house);
	door = knock(&house);
	expect_eq(ask(door,
		      "{\"exec\":[\"sh\",\"-c\",\"echo began; sleep 1000 & exec sleep 1000\"]}", 3,
		      &end),
		  0);
	expect(rig_hears(end, "began\n"));
	expect_eq(kill(house.rig.supervisor, SIGKILL), 0);
	expect(rig_is_silent(end));
	expect(rig_is_silent(house.end));
	expect_eq(waitpid(house.rig.supervisor, NULL, 0), house.rig.supervisor);
}

FOR_BOTH(many_visitors_at_once_are_served)
{
	_cleanup_house_ struct house house;
	int doors[40], ends[40];
	char text[64];

	house_init(&house, uid);
	house_open(&house);
	for (size_t i = 0; i < N_ELEMENTS(doors); i++) {
		doors[i] = knock(&house);
		expect_eq(ask(doors[i], "{\"exec\":[\"sh\",\"-c\",\"exit 3\"]}", 3, &ends[i]), 0);
	}
	for (size_t i = 0; i < N_ELEMENTS(doors); i++) {
		expect_str(read_all(doors[i], text, sizeof(text)), "{\"status\":3}");
		(void)close(doors[i]);
		(void)close(ends[i]);
	}
	house_close(&house);
}

static const struct test tests[] = {
	BOTH(a_visitor_is_inside_and_gets_the_status),
	BOTH(a_visitor_has_no_more_rights_than_the_command),
	BOTH(a_visitor_gets_the_error_of_execve),
	BOTH(a_sandbox_that_may_not_be_entered_says_so),
	BOTH(requests_that_are_none_are_refused),
	BOTH(another_user_is_not_answered),
	BOTH(a_client_in_another_user_namespace_is_refused),
	BOTH(a_client_that_has_exited_is_refused),
	BOTH(a_client_that_leaves_takes_its_command_with_it),
	BOTH(the_end_of_the_sandbox_is_the_visitors_end),
	BOTH(kill_9_of_the_supervisor_kills_visitors_too),
	BOTH(many_visitors_at_once_are_served),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
