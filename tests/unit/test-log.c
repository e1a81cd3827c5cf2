/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "test.h"

#define DATAGRAM_SIZE 4096

/* A log whose journal socket and stderr the test reads. */
struct rig {
	struct log log;
	int journal;
	int stream;
};

static struct rig rig_init(bool is_stream)
{
	int journal[2], stream[2];
	struct rig rig;

	expect(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, journal) == 0);
	expect(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, stream) == 0);
	rig.journal = journal[0];
	rig.stream = stream[0];
	rig.log = (struct log){ .tool = "sbx-x",
				.most = LOG_LEVEL_DEBUG,
				.journal_fd = journal[1],
				.stderr_fd = stream[1],
				.is_stream = is_stream };
	return rig;
}

static void rig_deinit(struct rig *rig)
{
	log_deinit(&rig->log);
	close_fd(&rig->log.stderr_fd);
	close_fd(&rig->journal);
	close_fd(&rig->stream);
}

#define _cleanup_rig_ _cleanup_(rig_deinit)

/* Unread data in @fd, "" if there is none. */
static const char *waiting(int fd)
{
	static char bytes[DATAGRAM_SIZE];
	ssize_t n = recv(fd, bytes, sizeof(bytes) - 1, 0);

	bytes[n > 0 ? n : 0] = '\0';
	return bytes;
}

static void chooses_the_level(void)
{
	static const struct {
		int verbosity;
		bool debug;
		enum log_level most;
	} rows[] = {
		{ -1, false, LOG_LEVEL_ERROR }, { 0, false, LOG_LEVEL_NOTICE },
		{ 1, false, LOG_LEVEL_INFO },	{ 2, false, LOG_LEVEL_DEBUG },
		{ 9, false, LOG_LEVEL_DEBUG },	{ -1, true, LOG_LEVEL_DEBUG },
		{ 0, true, LOG_LEVEL_DEBUG },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct log log;

		log_init(&log, "sbx-x", rows[i].verbosity, rows[i].debug, NULL);
		expect_eq(log.most, rows[i].most);
		expect(log_wants(&log, rows[i].most));
		expect(!log_wants(&log, (enum log_level)(rows[i].most + 1)));
		log_deinit(&log);
	}
}

static void names_its_levels(void)
{
	expect_str(log_level_name(LOG_LEVEL_ERROR), "error");
	expect_str(log_level_name(LOG_LEVEL_DEBUG), "debug");
	expect(!log_level_name((enum log_level)0));
	expect(!log_level_name((enum log_level)8));
	expect(!log_level_name((enum log_level) - 1));
}

static void writes_a_line_to_stderr(void)
{
	_cleanup_rig_ struct rig rig = rig_init(false);
	const struct log_field fields[] = { { "SBX_ID", "a" }, { NULL, NULL } };

	log_deinit(&rig.log);
	errno = ENOTTY;
	log_write(&rig.log, LOG_LEVEL_NOTICE, fields, "loaded %d rules", 3);
	expect_eq(errno, ENOTTY);
	expect_str(waiting(rig.stream), "sbx-x: loaded 3 rules\n");
}

static void writes_an_object_to_stderr_where_errors_are_objects(void)
{
	_cleanup_rig_ struct rig rig = rig_init(false);

	log_deinit(&rig.log);
	rig.log.is_json = true;
	log_write(&rig.log, LOG_LEVEL_WARNING, NULL, "no \"%s\"", "x");
	expect_str(waiting(rig.stream), "{\"level\":\"warn\",\"what\":\"no \\\"x\\\"\"}\n");
}

static void writes_nothing_below_the_level(void)
{
	_cleanup_rig_ struct rig rig = rig_init(false);

	rig.log.most = LOG_LEVEL_NOTICE;
	log_write(&rig.log, LOG_LEVEL_INFO, NULL, "chatter");
	expect_str(waiting(rig.journal), "");
	expect_str(waiting(rig.stream), "");
}

static void makes_control_characters_visible(void)
{
	_cleanup_rig_ struct rig rig = rig_init(false);

	log_deinit(&rig.log);
	log_write(&rig.log, LOG_LEVEL_ERROR, NULL, "path '%s'", "a\nsbx-x: \x1b[2Jforged");
	expect_str(waiting(rig.stream), "sbx-x: path 'a\\x0asbx-x: \\x1b[2Jforged'\n");
}

static void sends_fields_to_the_journal(void)
{
	_cleanup_rig_ struct rig rig = rig_init(true);
	const struct log_field fields[] = { { "SBX_ID", "probe" },
					    { "SBX_RULE", "" },
					    { NULL, NULL } };

	log_write(&rig.log, LOG_LEVEL_WARNING, fields, "denied");
	expect_str(waiting(rig.journal), "MESSAGE=denied\nPRIORITY=4\nSYSLOG_IDENTIFIER=sbx-x\n"
					 "SBX_TOOL=sbx-x\nSBX_ID=probe\nSBX_RULE=\n");
	expect_str(waiting(rig.stream), "");
}

static void leaves_out_fields_with_a_bad_name(void)
{
	static const char longest[] =
		"A234567890123456789012345678901234567890123456789012345678901234";
	const struct log_field fields[] = {
		{ "", "x" },
		{ "_TRUSTED", "x" },
		{ "1ST", "x" },
		{ "lower", "x" },
		{ "A=B", "x" },
		{ "A\nMESSAGE", "x" },
		{ "A B", "x" },
		{ "NO_VALUE", NULL },
		{ longest, "fits" },
		{ "A2345678901234567890123456789012345678901234567890123456789012345", "x" },
		{ NULL, NULL },
	};
	_cleanup_text_ struct text out = TEXT_INIT, want = TEXT_INIT;

	log_add_journal(&out, "t", LOG_LEVEL_INFO, fields, "m", 1);
	text_addf(&want, "MESSAGE=m\nPRIORITY=6\nSYSLOG_IDENTIFIER=t\nSBX_TOOL=t\n%s=fits\n",
		  longest);
	expect_str(text_string(&out), text_string(&want));
}

/* Without the length, the second line of the value would be read as another field. */
static void gives_a_value_with_a_newline_its_length(void)
{
	static const char want[] = "MESSAGE\n\4\0\0\0\0\0\0\0a\nb\0\nPRIORITY=3\n"
				   "SYSLOG_IDENTIFIER=t\nSBX_TOOL=t\n"
				   "SBX_RULE\n\x0a\0\0\0\0\0\0\0r\n_UID=0\nx\n";
	const struct log_field fields[] = { { "SBX_RULE", "r\n_UID=0\nx" }, { NULL, NULL } };
	_cleanup_text_ struct text out = TEXT_INIT;

	log_add_journal(&out, "t", LOG_LEVEL_ERROR, fields, "a\nb", 4);
	expect_eq(out.len, sizeof(want) - 1);
	expect(out.len == sizeof(want) - 1 && memcmp(out.data, want, out.len) == 0);
}

/* The fd of an empty datagram, or -1. */
static int receive_fd(int socket)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	char byte;
	struct iovec vector = { &byte, 1 };
	struct msghdr message = { .msg_iov = &vector,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	struct cmsghdr *header;
	int fd;

	expect_eq(recvmsg(socket, &message, MSG_CMSG_CLOEXEC), 0);
	header = CMSG_FIRSTHDR(&message);
	if (!header || header->cmsg_type != SCM_RIGHTS)
		return -1;
	memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

static void passes_a_large_message_as_a_sealed_memfd(void)
{
	enum { LARGE = 600000 };
	_cleanup_rig_ struct rig rig = rig_init(true);
	static char value[LARGE + 1], bytes[2 * LARGE];
	const struct log_field fields[] = { { "SBX_RULE", value }, { NULL, NULL } };
	_cleanup_close_ int fd = -EBADF;
	ssize_t n;

	memset(value, 'v', LARGE);
	log_write(&rig.log, LOG_LEVEL_NOTICE, fields, "large");
	fd = receive_fd(rig.journal);
	expect(fd >= 0);
	expect_eq(fcntl(fd, F_GET_SEALS), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
	n = pread(fd, bytes, sizeof(bytes), 0);
	expect(n > LARGE);
	expect(n > LARGE && memcmp(bytes, "MESSAGE=large\n", 14) == 0);
	expect(n > LARGE && memcmp(bytes + n - 3, "vv\n", 3) == 0);
	expect_str(waiting(rig.stream), "");
}

static void falls_back_to_stderr_when_the_journal_is_gone(void)
{
	_cleanup_rig_ struct rig rig = rig_init(true);

	close_fd(&rig.journal);
	rig.journal = -EBADF;
	log_write(&rig.log, LOG_LEVEL_WARNING, NULL, "still heard");
	expect_str(waiting(rig.stream), "<4>sbx-x: still heard\n");
}

/* With no reader both outputs become full; every call must still return. */
static void never_waits_for_a_journal_that_does_not_read(void)
{
	_cleanup_rig_ struct rig rig = rig_init(true);

	expect(fcntl(rig.log.stderr_fd, F_SETFL, 0) == 0);
	for (int i = 0; i < 20000; i++)
		log_write(&rig.log, LOG_LEVEL_NOTICE, NULL, "message %d", i);
	expect(strncmp(waiting(rig.journal), "MESSAGE=message 0\n", 18) == 0);
	expect(strncmp(waiting(rig.stream), "<5>sbx-x: message ", 18) == 0);
}

static void survives_a_stderr_that_is_gone(void)
{
	_cleanup_rig_ struct rig rig = rig_init(true);

	log_deinit(&rig.log);
	close_fd(&rig.stream);
	rig.stream = -EBADF;
	log_write(&rig.log, LOG_LEVEL_NOTICE, NULL, "into the void");
	expect_eq(rig.log.journal_fd, -EBADF);
}

static int in_child(void (*run)(void))
{
	pid_t pid;
	int status;

	(void)fflush(stdout);
	pid = fork();
	if (pid == 0) {
		unsigned before = test_failures;

		run();
		(void)fflush(stdout);
		_exit(test_failures != before);
	}
	expect(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Makes stderr a stream and sets JOURNAL_STREAM. Returns the reading end. */
static int redirect_stderr(char ret_stream[64])
{
	struct stat st;
	int pair[2];

	expect(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
	expect(dup2(pair[1], STDERR_FILENO) == STDERR_FILENO);
	expect(fstat(STDERR_FILENO, &st) == 0);
	(void)snprintf(ret_stream, 64, "%llu:%llu", (unsigned long long)st.st_dev,
		       (unsigned long long)st.st_ino);
	return pair[0];
}

static void check_stream_texts(void)
{
	static const char *const patterns[] = {
		"",    ":",    "1",    "%s ", " %s", "+%s",
		"%s:", "%s:1", "0x%s", "%s0", "1%s", "11111111111111111111111111111111111111%s",
	};
	char stream[64], changed[160];
	_cleanup_close_ int fd = redirect_stderr(stream);
	struct log log;

	expect(fd >= 0);
	log_init(&log, "sbx-x", 0, false, stream);
	expect(log.is_stream);
	log_deinit(&log);
	for (size_t i = 0; i < N_ELEMENTS(patterns); i++) {
		const char *hole = strchr(patterns[i], '%');
		int before = hole ? (int)(hole - patterns[i]) : (int)strlen(patterns[i]);

		(void)snprintf(changed, sizeof(changed), "%.*s%s%s", before, patterns[i],
			       hole ? stream : "", hole ? hole + 2 : "");
		log_init(&log, "sbx-x", 0, false, changed);
		expect(!log.is_stream);
		expect_eq(log.journal_fd, -EBADF);
		log_deinit(&log);
	}
}

static void believes_only_the_exact_name_of_its_stderr(void)
{
	expect_eq(in_child(check_stream_texts), 0);
}

#define STATUS_CANNOT 77

static void write_text(const char *path, const char *text)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		_exit(STATUS_CANNOT);
}

/* A private /run, with or without a journal socket. */
static void own_run(void)
{
	char uid_map[32], gid_map[32];

	(void)snprintf(uid_map, sizeof(uid_map), "0 %u 1", getuid());
	(void)snprintf(gid_map, sizeof(gid_map), "0 %u 1", getgid());
	if (unshare(CLONE_NEWNS) < 0) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
			_exit(STATUS_CANNOT);
		/* A user without a mapping cannot create files, so map the user. */
		write_text("/proc/self/setgroups", "deny");
		write_text("/proc/self/uid_map", uid_map);
		write_text("/proc/self/gid_map", gid_map);
	}
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", "/run", "tmpfs", 0, NULL) < 0)
		_exit(STATUS_CANNOT);
}

static void check_reachable(void)
{
	static const struct sockaddr_un address = { .sun_family = AF_UNIX,
						    .sun_path = LOG_JOURNAL_SOCKET };
	_cleanup_close_ int journal = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	_cleanup_close_ int fd = -EBADF;
	_cleanup_(log_deinit) struct log log = { .journal_fd = -EBADF };
	char stream[64];

	own_run();
	expect(mkdir("/run/systemd", 0755) == 0 && mkdir("/run/systemd/journal", 0755) == 0);
	expect(bind(journal, (const struct sockaddr *)&address, sizeof(address)) == 0);
	fd = redirect_stderr(stream);
	log_init(&log, "sbx-x", 0, false, stream);
	expect(log.journal_fd >= 0);
	expect(fcntl(log.journal_fd, F_GETFD) & FD_CLOEXEC);
	log_write(&log, LOG_LEVEL_NOTICE, NULL, "hello");
	expect(strncmp(waiting(journal), "MESSAGE=hello\nPRIORITY=5\n", 25) == 0);
	expect_str(waiting(fd), "");

	/* When the journal does not read any more, a message goes to stderr after some time. */
	for (int i = 0; i < 100000 && strcmp(waiting(fd), "<5>sbx-x: again\n") != 0; i++) {
		expect(i < 99999);
		log_write(&log, LOG_LEVEL_NOTICE, NULL, "again");
	}
}

static void finds_the_journal_and_does_not_wait_for_it(void)
{
	int status = in_child(check_reachable);

	if (status == STATUS_CANNOT)
		skip("no mount namespace can be made here");
	expect_eq(status, 0);
}

static void check_unreachable(void)
{
	_cleanup_close_ int fd = -EBADF;
	_cleanup_(log_deinit) struct log log = { .journal_fd = -EBADF };
	char stream[64];

	own_run();
	fd = redirect_stderr(stream);
	log_init(&log, "sbx-x", 0, false, stream);
	expect_eq(log.journal_fd, -EBADF);
	log_write(&log, LOG_LEVEL_ERROR, NULL, "hello");
	expect_str(waiting(fd), "<3>sbx-x: hello\n");
}

static void marks_the_level_where_the_journal_cannot_be_reached(void)
{
	int status = in_child(check_unreachable);

	if (status == STATUS_CANNOT)
		skip("no mount namespace can be made here");
	expect_eq(status, 0);
}

static void warnings_are_bounded_and_those_left_out_are_counted(void)
{
	struct log_rate rate = { .n = 0 };
	uint64_t now = 1, left_out = 0;
	unsigned n = 0;

	for (int i = 0; i < 1000; i++)
		n += log_rate_allows(&rate, now++, &left_out);
	expect_eq(n, LOG_RATE_MESSAGES);
	expect_eq(left_out, 0);
	expect(log_rate_allows(&rate, now + LOG_RATE_USEC, &left_out));
	expect_eq(left_out, 1000 - LOG_RATE_MESSAGES);
	expect(log_rate_allows(&rate, now + LOG_RATE_USEC, &left_out));
	expect_eq(left_out, 0);
}

static const struct test tests[] = {
	TEST(chooses_the_level),
	TEST(names_its_levels),
	TEST(writes_a_line_to_stderr),
	TEST(writes_an_object_to_stderr_where_errors_are_objects),
	TEST(writes_nothing_below_the_level),
	TEST(makes_control_characters_visible),
	TEST(sends_fields_to_the_journal),
	TEST(leaves_out_fields_with_a_bad_name),
	TEST(gives_a_value_with_a_newline_its_length),
	TEST(passes_a_large_message_as_a_sealed_memfd),
	TEST(falls_back_to_stderr_when_the_journal_is_gone),
	TEST(never_waits_for_a_journal_that_does_not_read),
	TEST(survives_a_stderr_that_is_gone),
	TEST(believes_only_the_exact_name_of_its_stderr),
	TEST(finds_the_journal_and_does_not_wait_for_it),
	TEST(marks_the_level_where_the_journal_cannot_be_reached),
	TEST(warnings_are_bounded_and_those_left_out_are_counted),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
