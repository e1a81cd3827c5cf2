/* SPDX-License-Identifier: MIT */

#include "record/record.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json.h"
#include "record-spool.h"
#include "test.h"

#define N_WRITERS 8
#define N_RECORDS 500

struct place {
	char directory[32];
	char spool[96];
	char file[128];
};

static struct place place_new(void)
{
	struct place place = { .directory = "/tmp/record-XXXXXX" };

	expect(mkdtemp(place.directory) != NULL);
	(void)snprintf(place.spool, sizeof(place.spool), "%s/sbx/spool", place.directory);
	(void)snprintf(place.file, sizeof(place.file), "%s/" RECORD_SPOOL_NAME, place.spool);
	return place;
}

static void place_deinit(struct place *place)
{
	char sbx[64];

	(void)unlink(place->file);
	(void)rmdir(place->spool);
	(void)unlink(place->spool);
	(void)snprintf(sbx, sizeof(sbx), "%s/sbx", place->directory);
	(void)rmdir(sbx);
	(void)unlink(sbx);
	expect(rmdir(place->directory) == 0);
}

#define _cleanup_place_ _cleanup_(place_deinit)

static int send_one(struct recorder *recorder, const char *value, struct sbx_error *err)
{
	_cleanup_text_ struct text record = TEXT_INIT;
	struct json_writer json;

	record_begin(recorder, &record, &json, "test_event", "test");
	json_member_string(&json, "value", value);
	return record_send(recorder, &record, &json, err);
}

/* The number of lines in the spool; each must be JSON. */
static size_t count_lines(const struct place *place)
{
	_cleanup_free_ char *bytes = NULL;
	size_t n_bytes = 0, n = 0;

	expect_eq(file_read(AT_FDCWD, place->file, 64 * 1024 * 1024, &bytes, &n_bytes, NULL), 0);
	for (char *at = bytes, *end; at && at < bytes + n_bytes; at = end + 1, n++) {
		end = memchr(at, '\n', (size_t)(bytes + n_bytes - at));
		expect(end != NULL);
		if (!end)
			break;
		expect_eq(json_validate(at, (size_t)(end - at), NULL, NULL), 0);
	}
	return n;
}

static void a_record_says_when_what_and_who(void)
{
	_cleanup_place_ struct place place = place_new();
	_cleanup_recorder_ struct recorder recorder = RECORDER_INIT;
	_cleanup_free_ char *bytes = NULL;
	size_t n_bytes = 0;
	char pid[32];

	expect_eq(open_spool_in(&recorder, place.directory, NULL), 0);
	expect_eq(send_one(&recorder, "a\n\"b", NULL), 0);
	expect_eq(file_read(AT_FDCWD, place.file, 4096, &bytes, &n_bytes, NULL), 0);
	expect(strncmp(bytes, "{\"version\":1,\"time\":\"2", 22) == 0);
	expect_eq(strlen(recorder.boot_id), BOOT_ID_SIZE - 1);
	expect(strstr(bytes, recorder.boot_id) != NULL);
	(void)snprintf(pid, sizeof(pid), "\"pid\":%d,", (int)getpid());
	expect(strstr(bytes, pid) != NULL);
	expect(strstr(bytes, "\"event\":\"test_event\",\"tool\":\"test\"") != NULL);
	expect(strstr(bytes, "\"value\":\"a\\n\\\"b\"}\n") != NULL);
	expect_eq(count_lines(&place), 1);
}

static void takes_the_members_of_a_finished_object(void)
{
	_cleanup_text_ struct text record = TEXT_INIT;
	struct recorder recorder = RECORDER_INIT;
	struct json_writer json;

	record_begin(&recorder, &record, &json, "e", "t");
	record_add_members(&record, &json, "{}\n", 3);
	record_add_members(&record, &json, "{\"a\":{\"b\":1}}\n", 14);
	record_add_members(&record, &json, "{\"c\":2}", 7);
	json_member_u64(&json, "d", 3);
	json_end_object(&json);
	expect_eq(json_validate(record.data, record.len, NULL, NULL), 0);
	expect(strstr(record.data, ",\"a\":{\"b\":1},\"c\":2,\"d\":3}") != NULL);
}

static int write_many(const struct place *place, int writer)
{
	_cleanup_recorder_ struct recorder recorder = RECORDER_INIT;
	char value[3000];

	memset(value, 'a' + writer, sizeof(value));
	if (open_spool_in(&recorder, place->directory, NULL) < 0)
		return 1;
	for (size_t i = 0; i < N_RECORDS; i++) {
		value[(i * 37) % 2999] = '\0';
		if (send_one(&recorder, value, NULL) < 0)
			return 1;
		value[(i * 37) % 2999] = (char)('a' + writer);
	}
	return 0;
}

static void records_of_many_processes_never_mix(void)
{
	_cleanup_place_ struct place place = place_new();
	pid_t writers[N_WRITERS];

	(void)fflush(stdout);
	for (int i = 0; i < N_WRITERS; i++) {
		writers[i] = fork();
		if (writers[i] == 0)
			_exit(write_many(&place, i));
	}
	for (int i = 0; i < N_WRITERS; i++) {
		int status = 1;

		expect_eq(waitpid(writers[i], &status, 0), writers[i]);
		expect_eq(status, 0);
	}
	expect_eq(count_lines(&place), N_WRITERS * N_RECORDS);
}

static void the_spool_is_private(void)
{
	_cleanup_place_ struct place place = place_new();
	_cleanup_recorder_ struct recorder recorder = RECORDER_INIT;
	mode_t before = umask(0);
	struct stat st;

	expect_eq(open_spool_in(&recorder, place.directory, NULL), 0);
	expect(umask(before) == 0);
	expect(stat(place.spool, &st) == 0 && (st.st_mode & 07777) == 0700);
	expect(stat(place.file, &st) == 0 && (st.st_mode & 07777) == 0600);
	expect((fcntl(recorder.fd, F_GETFD) & FD_CLOEXEC) != 0);
}

static void expect_refused(const struct place *place)
{
	_cleanup_recorder_ struct recorder recorder = RECORDER_INIT;
	struct sbx_error err = { .code = 0 };

	expect(open_spool_in(&recorder, place->directory, &err) < 0);
	expect(err.what[0] != '\0' && err.fix[0] != '\0');
	expect_eq(recorder.fd, -EBADF);
}

static void make_spool(const struct place *place)
{
	_cleanup_recorder_ struct recorder recorder = RECORDER_INIT;

	expect_eq(open_spool_in(&recorder, place->directory, NULL), 0);
}

static void refuses_a_spool_that_is_a_link(void)
{
	_cleanup_place_ struct place place = place_new();

	make_spool(&place);
	expect(unlink(place.file) == 0 && symlink("/dev/null", place.file) == 0);
	expect_refused(&place);
	expect(unlink(place.file) == 0 && rmdir(place.spool) == 0);
	expect(symlink("/tmp", place.spool) == 0);
	expect_refused(&place);
}

static void refuses_a_spool_that_others_can_change(void)
{
	_cleanup_place_ struct place place = place_new();
	char second[160];

	make_spool(&place);
	expect(chmod(place.spool, 0770) == 0);
	expect_refused(&place);
	expect(chmod(place.spool, 0700) == 0 && chmod(place.file, 0620) == 0);
	expect_refused(&place);
	expect(chmod(place.file, 0600) == 0);
	(void)snprintf(second, sizeof(second), "%s/second", place.directory);
	expect(link(place.file, second) == 0);
	expect_refused(&place);
	expect(unlink(second) == 0);
	expect(unlink(place.file) == 0 && mkfifo(place.file, 0600) == 0);
	expect_refused(&place);
}

static void refuses_a_state_directory_that_is_not_there(void)
{
	struct place place = { .directory = "/tmp/record-nowhere" };

	expect_refused(&place);
}

static void says_what_to_set_without_a_home(void)
{
	_cleanup_recorder_ struct recorder recorder = RECORDER_INIT;
	char *environment[] = { "HOME=relative", NULL };
	struct sbx_error err = { .code = 0 };

	if (geteuid() == 0)
		skip("root's spool has a fixed place");
	expect_eq(recorder_open_spool(&recorder, environment, &err), -ENOENT);
	expect(strstr(err.fix, "HOME") != NULL);
}

static void makes_the_state_directory_of_a_user(void)
{
	_cleanup_place_ struct place place = place_new();
	char home[64], file[160], directory[160];
	char *environment[] = { home, NULL };
	int status = 1;
	pid_t pid;

	(void)snprintf(home, sizeof(home), "HOME=%s", place.directory);
	expect(chmod(place.directory, 0777) == 0);
	(void)fflush(stdout);
	pid = fork();
	if (pid == 0) {
		_cleanup_recorder_ struct recorder recorder = RECORDER_INIT;

		if (geteuid() == 0 && setuid(65534) < 0)
			_exit(2);
		_exit(recorder_open_spool(&recorder, environment, NULL) == 0 ? 0 : 1);
	}
	expect(waitpid(pid, &status, 0) == pid);
	expect_eq(status, 0);
	(void)snprintf(file, sizeof(file), "%s/.local/state/sbx/spool/" RECORD_SPOOL_NAME,
		       place.directory);
	expect(unlink(file) == 0);
	for (char *slash = strrchr(file, '/'); slash > file + strlen(place.directory);
	     slash = strrchr(file, '/')) {
		*slash = '\0';
		(void)snprintf(directory, sizeof(directory), "%s", file);
		expect(rmdir(directory) == 0);
	}
}

static void a_torn_line_stays_alone(void)
{
	_cleanup_place_ struct place place = place_new();
	_cleanup_recorder_ struct recorder recorder = RECORDER_INIT;
	_cleanup_free_ char *bytes = NULL;
	size_t n_bytes = 0;
	int fd;

	make_spool(&place);
	fd = open(place.file, O_WRONLY | O_CLOEXEC);
	expect(write(fd, "{\"version\":1,\"ti", 16) == 16);
	expect(close(fd) == 0);
	expect_eq(open_spool_in(&recorder, place.directory, NULL), 0);
	expect_eq(send_one(&recorder, "whole", NULL), 0);
	expect_eq(file_read(AT_FDCWD, place.file, 4096, &bytes, &n_bytes, NULL), 0);
	expect(strncmp(bytes, "{\"version\":1,\"ti\n{\"version\":1,", 30) == 0);
}

static void a_limit_at_a_torn_line_is_not_a_full_disk(void)
{
	_cleanup_place_ struct place place = place_new();
	_cleanup_recorder_ struct recorder recorder = RECORDER_INIT;
	struct rlimit before, small = { .rlim_cur = 4 };
	struct sbx_error err = { .code = 0 };
	int fd, r;

	make_spool(&place);
	fd = open(place.file, O_WRONLY | O_CLOEXEC);
	expect(write(fd, "torn", 4) == 4);
	expect(close(fd) == 0);
	(void)signal(SIGXFSZ, SIG_IGN);
	expect_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
	small.rlim_max = before.rlim_max;
	expect_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	r = open_spool_in(&recorder, place.directory, &err);
	expect_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
	expect_eq(r, -EFBIG);
	expect_str(err.fix, "raise the limit of file sizes: ulimit -f");
}

/* Simulates a full disk with RLIMIT_FSIZE, in a child because the limit cannot be raised again. */
static int fill_up(const struct place *place)
{
	_cleanup_recorder_ struct recorder recorder = RECORDER_INIT;
	struct rlimit limit = { .rlim_cur = 300, .rlim_max = RLIM_INFINITY };

	(void)signal(SIGXFSZ, SIG_IGN);
	if (open_spool_in(&recorder, place->directory, NULL) < 0 ||
	    send_one(&recorder, "1", NULL) < 0 || setrlimit(RLIMIT_FSIZE, &limit) < 0)
		return 1;
	if (send_one(&recorder, "2", NULL) != -ENOSPC || !recorder.is_torn)
		return 2;
	limit.rlim_cur = RLIM_INFINITY;
	if (setrlimit(RLIMIT_FSIZE, &limit) < 0 || send_one(&recorder, "3", NULL) < 0)
		return 3;
	return recorder.is_torn ? 4 : 0;
}

static void a_record_that_does_not_fit_is_an_error_and_spoils_no_other(void)
{
	_cleanup_place_ struct place place = place_new();
	_cleanup_free_ char *bytes = NULL;
	size_t n_bytes = 0, n_valid = 0, n = 0;
	int status = 1;
	pid_t pid;

	(void)fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(fill_up(&place));
	expect(waitpid(pid, &status, 0) == pid);
	expect_eq(WEXITSTATUS(status), 0);
	expect_eq(file_read(AT_FDCWD, place.file, 4096, &bytes, &n_bytes, NULL), 0);
	for (char *line = strtok(bytes, "\n"); line; line = strtok(NULL, "\n"), n++)
		n_valid += json_validate(line, strlen(line), NULL, NULL) == 0;
	expect_eq(n, 3);
	expect_eq(n_valid, 2);
}

static void refuses_a_record_that_is_too_long(void)
{
	_cleanup_place_ struct place place = place_new();
	_cleanup_recorder_ struct recorder recorder = RECORDER_INIT;
	static char value[RECORD_BYTES_MAX + 1];

	memset(value, 'x', RECORD_BYTES_MAX);
	expect_eq(open_spool_in(&recorder, place.directory, NULL), 0);
	expect_eq(send_one(&recorder, value, NULL), -EMSGSIZE);
	expect_eq(count_lines(&place), 0);
}

static void a_record_for_nowhere_is_an_error(void)
{
	_cleanup_recorder_ struct recorder recorder = RECORDER_INIT;
	struct sbx_error err = { .code = 0 };

	expect_eq(send_one(&recorder, "x", &err), -EBADF);
	expect(err.fix[0] != '\0');
	recorder_use_fd(&recorder, open("/dev/full", O_WRONLY | O_CLOEXEC));
	expect_eq(send_one(&recorder, "x", NULL), -ENOSPC);
	recorder_use_fd(&recorder, open("/dev/null", O_RDONLY | O_CLOEXEC));
	expect_eq(send_one(&recorder, "x", NULL), -EBADF);
}

static void a_socket_gets_one_packet_a_record(void)
{
	_cleanup_recorder_ struct recorder recorder = RECORDER_INIT;
	char bytes[1024];
	int pair[2];
	ssize_t n;

	expect(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	recorder_use_fd(&recorder, pair[0]);
	expect_eq(send_one(&recorder, "1", NULL), 0);
	expect_eq(send_one(&recorder, "2", NULL), 0);
	n = recv(pair[1], bytes, sizeof(bytes), 0);
	expect(n > 0 && json_validate(bytes, (size_t)n, NULL, NULL) == 0);
	expect(n > 0 && bytes[n - 1] == '}');
	expect(recv(pair[1], bytes, sizeof(bytes), 0) > 0);
	expect(close(pair[1]) == 0);
	expect_eq(send_one(&recorder, "3", NULL), -EPIPE);
}

static void a_pipe_without_a_reader_is_an_error_and_no_signal(void)
{
	_cleanup_recorder_ struct recorder recorder = RECORDER_INIT;
	int fds[2];

	(void)signal(SIGPIPE, SIG_DFL);
	expect(pipe2(fds, O_CLOEXEC) == 0);
	expect(close(fds[0]) == 0);
	recorder_use_fd(&recorder, fds[1]);
	expect_eq(send_one(&recorder, "1", NULL), -EPIPE);
	expect_eq(send_one(&recorder, "2", NULL), -EPIPE);
}

static void a_stuck_socket_is_an_error_soon(void)
{
	_cleanup_recorder_ struct recorder recorder = RECORDER_INIT;
	int pair[2], r = 0;

	expect(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	recorder_use_fd(&recorder, pair[0]);
	for (int i = 0; i < 100000 && r == 0; i++)
		r = send_one(&recorder, "x", NULL);
	expect_eq(r, -EAGAIN);
	expect(close(pair[1]) == 0);
}

/* ---- the service ---- */

/* An ordinary user's runtime directory with a listening socket. */
struct runtime {
	struct place place;
	char socket_path[108];
	char variables[2][64];
	char *environment[3];
	int listener;
};

static void listen_there(struct runtime *runtime)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", runtime->socket_path);
	runtime->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	expect_eq(bind(runtime->listener, (const struct sockaddr *)&address, sizeof(address)), 0);
	expect_eq(listen(runtime->listener, 5), 0);
}

/* Runs @test in a child without privileges. */
static void with_runtime(void (*test)(struct runtime *runtime))
{
	struct runtime runtime = { .place = place_new() };
	char directory[160];
	int status = 1;
	pid_t pid;

	(void)snprintf(directory, sizeof(directory), "%s/sbx", runtime.place.directory);
	(void)snprintf(runtime.socket_path, sizeof(runtime.socket_path), "%s/sbx/audit.sock",
		       runtime.place.directory);
	(void)snprintf(runtime.variables[0], 64, "XDG_RUNTIME_DIR=%s", runtime.place.directory);
	(void)snprintf(runtime.variables[1], 64, "XDG_STATE_HOME=%s", runtime.place.directory);
	runtime.environment[0] = runtime.variables[0];
	runtime.environment[1] = runtime.variables[1];
	expect(chmod(runtime.place.directory, 0777) == 0);
	(void)fflush(stdout);
	pid = fork();
	if (pid == 0) {
		test_failures = 0; /* count only the failures of this child */
		if (geteuid() == 0 && setuid(65534) < 0)
			_exit(2);
		expect(mkdir(directory, 0700) == 0);
		listen_there(&runtime);
		test(&runtime);
		expect(unlink(runtime.socket_path) == 0);
		(void)fflush(stdout);
		_exit(test_failures > 0);
	}
	expect(waitpid(pid, &status, 0) == pid);
	expect_eq(status, 0);
	(void)unlink(runtime.place.file);
	(void)rmdir(runtime.place.spool);
	(void)rmdir(directory);
	place_deinit(&runtime.place);
}

static void expect_packet(int fd, const char *value)
{
	char packet[1024];
	ssize_t n = recv(fd, packet, sizeof(packet) - 1, 0);

	packet[n > 0 ? n : 0] = '\0';
	expect(strstr(packet, value) != NULL);
	expect(n > 0 && packet[n - 1] == '}');
}

static void prefer_service(struct runtime *runtime)
{
	_cleanup_recorder_ struct recorder recorder = RECORDER_INIT;
	_cleanup_close_ int client = -EBADF;

	expect_eq(recorder_open_spool(&recorder, runtime->environment, NULL), 0);
	expect_eq(send_one(&recorder, "to the service", NULL), 0);
	client = accept4(runtime->listener, NULL, NULL, SOCK_CLOEXEC);
	expect_packet(client, "to the service");
	expect(access(runtime->place.file, F_OK) < 0);
	/* The recorder reads its answers, so the socket does not fill up. */
	for (int i = 0; i < 5000; i++) {
		expect(send(client, "{\"seq\":1}", 9, MSG_DONTWAIT) == 9);
		if (i % 100 == 0) {
			expect_eq(send_one(&recorder, "one more", NULL), 0);
			expect_packet(client, "one more");
		}
	}
}

/* Answers that come as fast as they are read must not keep the recorder from its work. */
static void hear_a_flood(struct runtime *runtime)
{
	_cleanup_recorder_ struct recorder recorder = RECORDER_INIT;
	_cleanup_close_ int client = -EBADF;
	const int size = 1 << 20;
	int n_answers = 0, n_left = 0;

	expect_eq(recorder_open_spool(&recorder, runtime->environment, NULL), 0);
	client = accept4(runtime->listener, NULL, NULL, SOCK_CLOEXEC);
	expect(setsockopt(client, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)) == 0);
	while (send(client, "{\"seq\":1}", 9, MSG_DONTWAIT) == 9)
		n_answers++;
	expect(n_answers > 128);
	expect_eq(send_one(&recorder, "to the service", NULL), 0);
	expect_packet(client, "to the service");
	expect(ioctl(client, SIOCOUTQ, &n_left) == 0 && n_left > 0);
}

static void reads_no_flood_of_answers_to_its_end(void)
{
	with_runtime(hear_a_flood);
}

static volatile sig_atomic_t stuck_client = -1;

/* Makes room in the socket. */
static void take_packets(int signal)
{
	char packet[1024];

	while (recv(stuck_client, packet, sizeof(packet), MSG_DONTWAIT) > 0)
		;
}

/* In the second wait: the first one ends at its time-out, when the socket is full. */
static void be_interrupted(struct runtime *runtime)
{
	static const struct itimerval soon = { .it_value = { .tv_usec = 20000 } };
	struct sigaction action = { .sa_handler = take_packets };
	_cleanup_recorder_ struct recorder recorder = RECORDER_INIT;
	_cleanup_close_ int client = -EBADF;
	int r;

	expect_eq(recorder_open_spool(&recorder, runtime->environment, NULL), 0);
	client = accept4(runtime->listener, NULL, NULL, SOCK_CLOEXEC);
	stuck_client = client;
	while (send_one(&recorder, "to the service", NULL) == 0)
		;
	expect(sigaction(SIGALRM, &action, NULL) == 0);
	expect(setitimer(ITIMER_REAL, &soon, NULL) == 0);
	r = send_one(&recorder, "after a signal", NULL);
	expect_eq(r, 0);
	if (r == 0)
		expect_packet(client, "after a signal");
}

static void a_signal_does_not_end_the_wait_for_room(void)
{
	with_runtime(be_interrupted);
}

static void prefers_the_service_where_it_runs(void)
{
	with_runtime(prefer_service);
}

static void outlive_service(struct runtime *runtime)
{
	_cleanup_recorder_ struct recorder recorder = RECORDER_INIT;
	_cleanup_close_ int client = -EBADF;

	expect_eq(recorder_open_spool(&recorder, runtime->environment, NULL), 0);
	client = accept4(runtime->listener, NULL, NULL, SOCK_CLOEXEC);
	/* The service is started again. */
	(void)close(client);
	expect_eq(send_one(&recorder, "to the next one", NULL), 0);
	client = accept4(runtime->listener, NULL, NULL, SOCK_CLOEXEC);
	expect_packet(client, "to the next one");
	/* The service ends. */
	(void)close(client);
	(void)close(runtime->listener);
	expect_eq(send_one(&recorder, "to the spool", NULL), 0);
	expect_eq(send_one(&recorder, "to the spool", NULL), 0);
	expect_eq(count_lines(&runtime->place), 2);
	expect(!recorder.is_with_service);
	client = -EBADF;
}

static void records_go_to_the_spool_when_the_service_goes_away(void)
{
	with_runtime(outlive_service);
}

static void outlive_pause(struct runtime *runtime)
{
	_cleanup_recorder_ struct recorder recorder = RECORDER_INIT;
	_cleanup_close_ int client = -EBADF;

	(void)close(runtime->listener);
	expect_eq(recorder_open_spool(&recorder, runtime->environment, NULL), 0);
	expect_eq(send_one(&recorder, "to the spool", NULL), 0);
	expect(!recorder.is_with_service);
	expect(unlink(runtime->socket_path) == 0);
	listen_there(runtime);
	/* As if a second had passed. */
	recorder.asked_sec = 0;
	expect_eq(send_one(&recorder, "to the service", NULL), 0);
	client = accept4(runtime->listener, NULL, NULL, SOCK_CLOEXEC);
	expect_packet(client, "to the service");
	expect_eq(count_lines(&runtime->place), 1);
}

static void records_go_to_the_service_when_it_comes_back(void)
{
	with_runtime(outlive_pause);
}

static void find_nobody(struct runtime *runtime)
{
	_cleanup_recorder_ struct recorder recorder = RECORDER_INIT;

	(void)close(runtime->listener);
	expect_eq(recorder_open_spool(&recorder, runtime->environment, NULL), 0);
	expect_eq(send_one(&recorder, "to the spool", NULL), 0);
	expect_eq(count_lines(&runtime->place), 1);
}

static void a_socket_without_a_listener_is_no_service(void)
{
	with_runtime(find_nobody);
}

static const struct test tests[] = {
	TEST(a_record_says_when_what_and_who),
	TEST(takes_the_members_of_a_finished_object),
	TEST(records_of_many_processes_never_mix),
	TEST(the_spool_is_private),
	TEST(refuses_a_spool_that_is_a_link),
	TEST(refuses_a_spool_that_others_can_change),
	TEST(refuses_a_state_directory_that_is_not_there),
	TEST(says_what_to_set_without_a_home),
	TEST(makes_the_state_directory_of_a_user),
	TEST(a_torn_line_stays_alone),
	TEST(a_limit_at_a_torn_line_is_not_a_full_disk),
	TEST(a_record_that_does_not_fit_is_an_error_and_spoils_no_other),
	TEST(refuses_a_record_that_is_too_long),
	TEST(a_record_for_nowhere_is_an_error),
	TEST(a_socket_gets_one_packet_a_record),
	TEST(a_pipe_without_a_reader_is_an_error_and_no_signal),
	TEST(a_stuck_socket_is_an_error_soon),
	TEST(prefers_the_service_where_it_runs),
	TEST(a_signal_does_not_end_the_wait_for_room),
	TEST(reads_no_flood_of_answers_to_its_end),
	TEST(records_go_to_the_spool_when_the_service_goes_away),
	TEST(records_go_to_the_service_when_it_comes_back),
	TEST(a_socket_without_a_listener_is_no_service),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
