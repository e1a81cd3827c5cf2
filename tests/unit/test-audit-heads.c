/* SPDX-License-Identifier: MIT */

#include "audit/heads.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <signal.h>

#include "audit-log-place.h"
#include "base/file.h"

#define SECOND UINT64_C(1000000)
#define DEADLINE_MSEC 60000
#define NOTE "sbx-audit/x\n7\nAAAA\n\n\u2014 sbx-audit/x AAAA\n"

/* A directory with a socket that plays the journal, and a file that the witness command writes. */
struct world {
	char directory[32];
	char journal[48];
	char file[48];
	int socket;
	char datagram[4096];
};

static void world_init(struct world *world)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	*world = (struct world){ .directory = "/tmp/heads-XXXXXX" };
	expect(mkdtemp(world->directory) != NULL);
	(void)snprintf(world->journal, sizeof(world->journal), "%s/journal", world->directory);
	(void)snprintf(world->file, sizeof(world->file), "%s/file", world->directory);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", world->journal);
	world->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	expect_eq(bind(world->socket, (const struct sockaddr *)&address, sizeof(address)), 0);
}

static void world_deinit(struct world *world)
{
	close_fd(&world->socket);
	remove_below(world->directory);
}

static struct heads *heads_of(const struct world *world, const char *witness, uint64_t usec)
{
	const struct heads_options options = {
		.tool = "test", .journal = world->journal, .witness = witness, .witness_usec = usec
	};
	struct heads *heads = NULL;

	expect_eq(heads_new(&options, &heads, NULL), 0);
	return heads;
}

static void take(struct heads *heads, uint64_t size)
{
	char note[128];
	int n = snprintf(note, sizeof(note), "head %llu\n", (unsigned long long)size);
	const struct audit_head head = {
		.origin = "sbx-audit/x", .size = size, .note = note, .n_note = (size_t)n
	};

	heads_take(heads, &head);
}

/* The next datagram, "" if there is none. */
static const char *journal_has(struct world *world)
{
	ssize_t n = recv(world->socket, world->datagram, sizeof(world->datagram) - 1, 0);

	world->datagram[n > 0 ? n : 0] = '\0';
	return world->datagram;
}

static bool has(const char *text, const char *part)
{
	return strstr(text, part) != NULL;
}

static struct heads_state state_of(const struct heads *heads)
{
	struct heads_state state;

	heads_get_state(heads, &state);
	return state;
}

static void wait_for(const struct heads *heads)
{
	struct pollfd wait = { .fd = heads_fd(heads), .events = POLLIN };

	expect_eq(poll(&wait, 1, DEADLINE_MSEC), 1);
}

/* The output of the witness command; the caller frees it. */
static char *written(const struct world *world)
{
	char *bytes = NULL;
	size_t n_bytes;

	expect_eq(file_read(AT_FDCWD, world->file, 65536, &bytes, &n_bytes, NULL), 0);
	return bytes;
}

/* ---- the journal ---- */

static void the_journal_gets_a_head_with_its_fields(void)
{
	_cleanup_(world_deinit) struct world world;
	_cleanup_heads_ struct heads *heads = NULL;
	const struct audit_head head = { .origin = "sbx-audit/x",
					 .size = 7,
					 .root = { .bytes = { 1, 2, 3 } },
					 .note = NOTE,
					 .n_note = strlen(NOTE) };
	const char *datagram;

	world_init(&world);
	heads = heads_of(&world, NULL, 0);
	heads_take(heads, &head);
	expect_eq(heads_turn(heads, 5 * SECOND), HEADS_NEVER);
	datagram = journal_has(&world);
	expect(has(datagram, "MESSAGE_ID=" HEADS_MESSAGE_ID "\n"));
	expect(has(datagram, "PRIORITY=6\n"));
	expect(has(datagram, "SYSLOG_IDENTIFIER=test\n"));
	expect(has(datagram, "SBX_AUDIT_LOG=sbx-audit/x\n"));
	expect(has(datagram, "SBX_AUDIT_SIZE=7\n"));
	expect(has(datagram, "SBX_AUDIT_ROOT=AQIDAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"));
	/* A value with newlines is preceded by its length. */
	expect(has(datagram, "SBX_AUDIT_NOTE\n"));
	expect_eq(state_of(heads).n_sent, 1);
}

static void the_journal_gets_the_newest_head_at_most_once_a_second(void)
{
	_cleanup_(world_deinit) struct world world;
	_cleanup_heads_ struct heads *heads = NULL;

	world_init(&world);
	heads = heads_of(&world, NULL, 0);
	take(heads, 1);
	(void)heads_turn(heads, 5 * SECOND);
	take(heads, 2);
	expect_eq(heads_turn(heads, 5 * SECOND + 1), 6 * SECOND);
	take(heads, 3);
	expect_eq(heads_turn(heads, 6 * SECOND - 1), 6 * SECOND);
	expect_eq(heads_turn(heads, 6 * SECOND), HEADS_NEVER);
	expect(has(journal_has(&world), "SBX_AUDIT_SIZE=1\n"));
	expect(has(journal_has(&world), "SBX_AUDIT_SIZE=3\n"));
	expect_str(journal_has(&world), "");
}

static void the_last_head_is_sent_at_the_end(void)
{
	_cleanup_(world_deinit) struct world world;
	_cleanup_heads_ struct heads *heads = NULL;

	world_init(&world);
	heads = heads_of(&world, NULL, 0);
	take(heads, 1);
	(void)heads_turn(heads, 5 * SECOND);
	take(heads, 2);
	(void)heads_turn(heads, 5 * SECOND);
	heads_finish(heads);
	expect(has(journal_has(&world), "SBX_AUDIT_SIZE=1\n"));
	expect(has(journal_has(&world), "SBX_AUDIT_SIZE=2\n"));
	heads_finish(heads);
	expect_str(journal_has(&world), "");
}

static void without_a_journal_nothing_happens(void)
{
	_cleanup_(world_deinit) struct world world;
	_cleanup_heads_ struct heads *heads = NULL;

	world_init(&world);
	expect_eq(unlink(world.journal), 0);
	heads = heads_of(&world, NULL, 0);
	take(heads, 1);
	expect_eq(heads_turn(heads, 5 * SECOND), HEADS_NEVER);
	expect_eq(state_of(heads).n_sent, 0);
	expect_eq(state_of(heads).n_failed, 0);
	expect_str(state_of(heads).problem, "");
}

static void a_journal_that_is_full_is_asked_again(void)
{
	_cleanup_(world_deinit) struct world world;
	_cleanup_heads_ struct heads *heads = NULL;
	uint64_t now = 5 * SECOND, size = 0;

	world_init(&world);
	heads = heads_of(&world, NULL, 0);
	/* Until the socket's queue is full. */
	do {
		take(heads, ++size);
		now += SECOND;
	} while (heads_turn(heads, now) == HEADS_NEVER && size < 100000);
	expect_eq(state_of(heads).n_sent, size - 1);
	expect_eq(heads_turn(heads, now + 1), now + SECOND);
	(void)journal_has(&world);
	expect_eq(heads_turn(heads, now + SECOND), HEADS_NEVER);
	expect_eq(state_of(heads).n_sent, size);
	expect_eq(state_of(heads).n_failed, 0);
}

/* ---- the witness ---- */

static uint64_t clock_usec(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec / 1000;
}

static void the_witness_reads_the_note(void)
{
	_cleanup_(world_deinit) struct world world;
	_cleanup_heads_ struct heads *heads = NULL;
	_cleanup_free_ char *bytes = NULL;
	char command[80];

	world_init(&world);
	(void)snprintf(command, sizeof(command), "cat >>%s", world.file);
	heads = heads_of(&world, command, 0);
	take(heads, 1);
	expect_eq(heads_turn(heads, 5 * SECOND), 5 * SECOND + HEADS_WITNESS_USEC);
	wait_for(heads);
	expect_eq(heads_turn(heads, 5 * SECOND), HEADS_NEVER);
	expect_eq(state_of(heads).n_witnessed, 1);
	expect_eq(state_of(heads).witnessed_size, 1);
	take(heads, 2);
	heads_finish(heads);
	bytes = written(&world);
	expect_str(bytes, "head 1\nhead 2\n");
}

static void one_witness_runs_at_a_time_and_only_the_newest_head_waits(void)
{
	_cleanup_(world_deinit) struct world world;
	_cleanup_heads_ struct heads *heads = NULL;
	_cleanup_free_ char *bytes = NULL;
	char command[160], fifo[64];
	uint64_t now = clock_usec();
	int fd;

	world_init(&world);
	(void)snprintf(fifo, sizeof(fifo), "%s/fifo", world.directory);
	expect_eq(mkfifo(fifo, 0600), 0);
	fd = open(fifo, O_RDWR | O_CLOEXEC);
	/* The command exits when a line is written to the FIFO. */
	(void)snprintf(command, sizeof(command), "cat >>%s; read -r x <%s", world.file, fifo);
	heads = heads_of(&world, command, 0);
	take(heads, 1);
	(void)heads_turn(heads, now);
	take(heads, 2);
	expect_eq(heads_turn(heads, now + 2 * SECOND), now + HEADS_WITNESS_USEC);
	take(heads, 3);
	expect_eq(heads_turn(heads, now + 3 * SECOND), now + HEADS_WITNESS_USEC);
	expect_eq(state_of(heads).n_witnessed, 0);
	expect_eq(write(fd, "\n", 1), 1);
	wait_for(heads);
	/* The next command finds a line in the FIFO. */
	expect_eq(write(fd, "\n", 1), 1);
	(void)heads_turn(heads, now + 4 * SECOND);
	expect_eq(state_of(heads).n_witnessed, 1);
	heads_finish(heads);
	(void)close(fd);
	expect_eq(state_of(heads).witnessed_size, 3);
	bytes = written(&world);
	expect_str(bytes, "head 1\nhead 3\n");
}

static void a_witness_that_fails_is_told_and_gets_the_next_head(void)
{
	_cleanup_(world_deinit) struct world world;
	_cleanup_heads_ struct heads *heads = NULL;
	char command[80];

	world_init(&world);
	(void)snprintf(command, sizeof(command), "test -e %s", world.file);
	heads = heads_of(&world, command, 0);
	take(heads, 1);
	heads_finish(heads);
	expect_eq(state_of(heads).n_failed, 1);
	expect_str(state_of(heads).problem, "the witness ended with 1");
	expect_eq(file_replace(AT_FDCWD, world.file, "", 0, 0600, NULL), 0);
	take(heads, 2);
	heads_finish(heads);
	expect_eq(state_of(heads).n_witnessed, 1);
	expect_str(state_of(heads).problem, "");
}

static void a_witness_that_takes_too_long_is_killed_with_its_children(void)
{
	_cleanup_(world_deinit) struct world world;
	_cleanup_heads_ struct heads *heads = NULL;
	struct pollfd said = { .events = POLLIN };
	char command[160], fifo[64], byte;
	int fd;

	world_init(&world);
	(void)snprintf(fifo, sizeof(fifo), "%s/fifo", world.directory);
	expect_eq(mkfifo(fifo, 0600), 0);
	(void)snprintf(command, sizeof(command), "(echo; exec sleep 1000) >%s; true", fifo);
	said.fd = fd = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	heads = heads_of(&world, command, 2 * SECOND);
	take(heads, 1);
	expect_eq(heads_turn(heads, 5 * SECOND), 7 * SECOND);
	expect_eq(poll(&said, 1, DEADLINE_MSEC), 1);
	expect_eq(read(fd, &byte, 1), 1);
	expect_eq(heads_turn(heads, 7 * SECOND - 1), 7 * SECOND);
	expect_eq(heads_turn(heads, 7 * SECOND), HEADS_NEVER);
	wait_for(heads);
	expect_eq(heads_turn(heads, 7 * SECOND), HEADS_NEVER);
	expect_str(state_of(heads).problem, "the witness took longer than 2000 ms and was killed");
	/* The pipe's writer was a child of the shell, and was killed as well. */
	expect_eq(poll(&said, 1, DEADLINE_MSEC), 1);
	expect_eq(read(fd, &byte, 1), 0);
	(void)close(fd);
}

static void a_witness_begins_without_our_signals_and_fds(void)
{
	_cleanup_(world_deinit) struct world world;
	_cleanup_heads_ struct heads *heads = NULL;
	_cleanup_free_ char *bytes = NULL;
	char command[128];
	int fd = open("/dev/null", O_RDONLY);

	world_init(&world);
	(void)snprintf(command, sizeof(command),
		       "test ! -e /proc/self/fd/%d && grep Sig.*k: /proc/self/status >%s", fd,
		       world.file);
	heads = heads_of(&world, command, 0);
	(void)signal(SIGPIPE, SIG_IGN);
	take(heads, 1);
	heads_finish(heads);
	(void)signal(SIGPIPE, SIG_DFL);
	expect_eq(state_of(heads).n_witnessed, 1);
	bytes = written(&world);
	expect(has(bytes, "SigBlk:\t0000000000000000\n"));
	(void)close(fd);
}

/* ---- the log ---- */

struct seen {
	unsigned n, n_ends;
	uint64_t size;
	char note[1024];
};

static void on_head(void *userdata, const struct audit_head *head)
{
	struct seen *seen = userdata;

	seen->n++;
	seen->size = head->size;
	expect(strncmp(head->origin, "sbx-audit/", 10) == 0);
	expect_eq(strlen(head->note), head->n_note);
	(void)snprintf(seen->note, sizeof(seen->note), "%s", head->note);
}

static void on_end(void *userdata)
{
	struct seen *seen = userdata;

	seen->n_ends++;
}

static void a_log_tells_its_watch_of_checkpoints_that_were_committed(void)
{
	_cleanup_log_place_ struct log_place place;
	struct seen seen = { .n = 0 };
	const struct audit_watch watch = { on_head, on_end, &seen };
	struct audit_log *log;

	log_place_init(&place);
	log = log_made(&place);
	audit_log_watch(log, &watch);
	expect_eq(log_add_n(log, "syscall", 1, NULL), 0);
	expect_eq(audit_log_commit(log, NULL), 0);
	expect_eq(seen.n, 0);
	expect_eq(audit_log_checkpoint(log, NULL), 0);
	expect_eq(seen.n, 1);
	expect_eq(seen.size, 2);
	expect(has(seen.note, "\n2\n"));
	expect_eq(audit_log_checkpoint(log, NULL), 0);
	expect_eq(seen.n, 1);
	expect_eq(audit_log_change_key(log, NULL), 0);
	expect_eq(seen.n, 2);
	expect(has(seen.note, "\nnext "));
	(void)audit_log_free(log);
	expect_eq(seen.n_ends, 1);
}

static void a_log_tells_nothing_of_checkpoints_that_were_taken_back(void)
{
	_cleanup_log_place_ struct log_place place;
	struct seen seen = { .n = 0 };
	const struct audit_watch watch = { on_head, NULL, &seen };
	struct audit_log *log;

	log_place_init(&place);
	log = log_made(&place);
	audit_log_watch(log, &watch);
	/* Enough records for a checkpoint in between. */
	for (unsigned i = 0; i < 5000; i++)
		expect_eq(log_add_n(log, "syscall", i, NULL), 0);
	audit_log_rollback(log);
	expect_eq(audit_log_commit(log, NULL), 0);
	expect_eq(seen.n, 0);
	/* Sends the newest head, although it is not new. */
	expect_eq(audit_log_tell_head(log, NULL), 0);
	expect_eq(seen.n, 1);
	expect_eq(seen.size, 1);
	expect(has(seen.note, "\n1\n"));
	(void)audit_log_free(log);
}

static const struct test tests[] = {
	TEST(the_journal_gets_a_head_with_its_fields),
	TEST(the_journal_gets_the_newest_head_at_most_once_a_second),
	TEST(the_last_head_is_sent_at_the_end),
	TEST(without_a_journal_nothing_happens),
	TEST(a_journal_that_is_full_is_asked_again),
	TEST(the_witness_reads_the_note),
	TEST(one_witness_runs_at_a_time_and_only_the_newest_head_waits),
	TEST(a_witness_that_fails_is_told_and_gets_the_next_head),
	TEST(a_witness_that_takes_too_long_is_killed_with_its_children),
	TEST(a_witness_begins_without_our_signals_and_fds),
	TEST(a_log_tells_its_watch_of_checkpoints_that_were_committed),
	TEST(a_log_tells_nothing_of_checkpoints_that_were_taken_back),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
