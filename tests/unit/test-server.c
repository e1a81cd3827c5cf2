/* SPDX-License-Identifier: MIT */

#include "server-rig.h"

#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/json.h"
#include "extension/extension.h"
#include "policy/request.h"
#include "server/generation.h"
#include "server/server-internal.h"

#define ALLOW_SRC                                                                                  \
	"capabilities:\n"                                                                          \
	"  - { name: src, match: { syscall: fs.write, path_glob: [\"/srv/p/src/**\"] }, "          \
	"action: allow }\n"
#define REVIEW_SRC                                                                                 \
	"capabilities:\n"                                                                          \
	"  - { name: src, match: { syscall: fs.write, path_glob: [\"/srv/p/src/**\"] }, "          \
	"action: require_review }\n"
#define SRC "{\"op\":\"fs.write\",\"path\":\"/srv/p/src/a\"}"
/* Answers when the file that is its argument can be read; until then it waits. */
#define SLOW_EXTENSION                                                                             \
	"extensions:\n  - { name: slow, command: [/bin/sh, -c, 'while read -r l; do "              \
	"n=${l#*:}; read -r x <%s; printf \"{\\\"n\\\":%%s,\\\"action\\\":\\\"allow\\\"}\\n\" "    \
	"\"${n%%%%,*}\"; done'] }\n"

static char unwatchable[64];	   /* the directory that inotify cannot read; "": none */
static void (*before_watch)(void); /* called once before the next watch begins */

/* Called by sd-event, in libsystemd.so, with a path of /proc/self/fd. */
__attribute__((__visibility__("default"))) int inotify_add_watch(int fd, const char *path,
								 uint32_t mask)
{
	void (*call)(void) = before_watch;
	char directory[64] = "";

	before_watch = NULL;
	if (call)
		call();
	(void)!readlink(path, directory, sizeof(directory) - 1);
	if (directory[0] != '\0' && strcmp(directory, unwatchable) == 0) {
		errno = EACCES;
		return -1;
	}
	return (int)syscall(SYS_inotify_add_watch, fd, path, mask);
}

/* ---- clients ---- */

/* A client of the listener @name; the other end of the connection belongs to the server. */
static int client_of(struct rig *rig, const char *name, uid_t uid)
{
	struct peer peer = PEER_INIT;
	int pair[2], r;

	expect(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
	peer.pid = getpid();
	peer.uid = uid;
	peer.place = PEER_BESIDE;
	r = clients_add(server_clients(rig->server), name, pair[1], &peer);
	if (r >= 0)
		return pair[0];
	(void)close(pair[0]);
	return r;
}

static int main_client(struct rig *rig)
{
	return client_of(rig, SERVER_MAIN_SOCKET, getuid());
}

static void say(int fd, const char *packet)
{
	expect(send(fd, packet, strlen(packet), MSG_NOSIGNAL) == (ssize_t)strlen(packet));
}

static bool is_readable(int fd)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };

	return poll(&wait, 1, 0) == 1;
}

/* The next answer, "" if the connection was closed. */
static const char *hear(struct rig *rig, int fd)
{
	static char bytes[256 * 1024];
	uint64_t end = rig_now() + DEADLINE_USEC;
	ssize_t n;

	while (!is_readable(fd) && rig_now() < end)
		(void)ready_turn(rig->ready, DEADLINE_MSEC);
	n = recv(fd, bytes, sizeof(bytes) - 1, 0);
	bytes[n > 0 ? n : 0] = '\0';
	return bytes;
}

static void turn_all(struct rig *rig)
{
	while (ready_turn(rig->ready, 0) > 0)
		;
}

/* ---- packets and answers ---- */

static void answers_every_packet_in_order(void)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int client = -EBADF;
	char packet[256], wanted[64];

	rig_init(&rig, ALLOW_SRC);
	client = main_client(&rig);
	for (int i = 0; i < 100; i++) {
		(void)snprintf(packet, sizeof(packet),
			       "{\"id\":%d,\"op\":\"fs.write\",\"path\":\"/srv/p/%s/a\"}", i,
			       i % 3 ? "src" : "doc");
		say(client, packet);
	}
	for (int i = 0; i < 100; i++) {
		const char *answer = hear(&rig, client);

		(void)snprintf(wanted, sizeof(wanted), "{\"id\":%d,", i);
		expect(strncmp(answer, wanted, strlen(wanted)) == 0);
		expect(is_verdict(answer, i % 3 ? "allow" : "deny"));
		expect_eq(json_validate(answer, strlen(answer), NULL, NULL), 0);
	}
}

static void a_request_that_is_none_is_denied_and_recorded(void)
{
	static const char *const packets[] = {
		" ",
		"x",
		"[]",
		"{}",
		"{\"op\":7}",
		"{\"op\":\"fs.read\",\"path\":\"/a\"",
		"{\"op\":\"fs.read\",\"path\":\"/a\"}{}",
		"{\"op\":\"fs.read\",\"op\":\"fs.write\",\"path\":\"/a\"}",
		"{\"op\":\"fs.read\",\"path\":\"/a\",\"verdict\":\"allow\"}",
		"{\"op\":\"fs.read\",\"path\":\"/a\\u0000b\"}",
	};
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int client = -EBADF;
	_cleanup_free_ char *records = NULL;
	size_t n_errors = 0;

	rig_init(&rig, ALLOW_SRC);
	client = main_client(&rig);
	for (size_t i = 0; i < N_ELEMENTS(packets); i++) {
		const char *answer;

		say(client, packets[i]);
		answer = hear(&rig, client);
		expect(is_verdict(answer, "deny"));
		expect(has(answer, "\"cause\":\"bad_request\""));
		expect_eq(json_validate(answer, strlen(answer), NULL, NULL), 0);
	}
	say(client, SRC);
	expect(is_verdict(hear(&rig, client), "allow"));
	records = rig_records(&rig);
	for (const char *at = records; (at = strstr(at, "\"policy_error\"")); at++)
		n_errors++;
	expect_eq(n_errors, N_ELEMENTS(packets));
}

static void a_packet_that_is_too_long_is_denied(void)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int client = -EBADF;
	static char packet[REQUEST_BYTES_MAX + 2];

	rig_init(&rig, ALLOW_SRC);
	client = main_client(&rig);
	memset(packet, ' ', REQUEST_BYTES_MAX + 1);
	memcpy(packet, SRC, sizeof(SRC) - 1);
	say(client, packet);
	expect(has(hear(&rig, client), "too long"));
	packet[REQUEST_BYTES_MAX] = '\0';
	say(client, packet);
	expect(is_verdict(hear(&rig, client), "allow"));
}

static void fds_that_a_client_passes_are_not_kept(void)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int client = -EBADF;
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec bytes = { .iov_base = SRC, .iov_len = sizeof(SRC) - 1 };
	struct msghdr message = { .msg_iov = &bytes,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	int before, after;

	rig_init(&rig, ALLOW_SRC);
	client = main_client(&rig);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &client, sizeof(int));
	say(client, SRC);
	(void)hear(&rig, client);
	before = fcntl(client, F_DUPFD_CLOEXEC, 0);
	expect(close(before) == 0);
	/* The kernel refuses them since Linux 6.16; before, they end the connection. */
	if (sendmsg(client, &message, 0) > 0)
		expect(!is_verdict(hear(&rig, client), "allow"));
	else
		expect_eq(errno, EPERM);
	after = fcntl(client, F_DUPFD_CLOEXEC, 0);
	expect(after <= before);
	expect(close(after) == 0);
}

/* The timer is armed while a client is served, after sd-event has armed its own. */
static void the_status_is_sent_a_moment_after_an_answer(void)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int client = -EBADF;
	uint64_t end = rig_now() + DEADLINE_USEC;

	rig_init(&rig, ALLOW_SRC);
	client = main_client(&rig);
	while (rig.server->is_status_due && rig_now() < end)
		(void)ready_turn(rig.ready, DEADLINE_MSEC);
	turn_all(&rig);
	expect(!rig.server->is_status_due);
	say(client, SRC);
	expect(is_verdict(hear(&rig, client), "allow"));
	expect(rig.server->is_status_due);
	while (rig.server->is_status_due && rig_now() < end)
		(void)ready_turn(rig.ready, DEADLINE_MSEC);
	expect(!rig.server->is_status_due);
}

static void a_client_that_ends_is_forgotten(void)
{
	_cleanup_rig_ struct rig rig;
	int client;

	rig_init(&rig, ALLOW_SRC);
	client = main_client(&rig);
	expect(has(rig_ask(&rig, "{\"do\":\"status\"}"), "\"clients\":1,"));
	expect(close(client) == 0);
	turn_all(&rig);
	expect(has(rig_ask(&rig, "{\"do\":\"status\"}"), "\"clients\":0,"));
}

/* The unread requests stay in its socket; the other clients are served. */
static void a_client_that_does_not_read_stops_only_itself(void)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int mute = -EBADF, other = -EBADF;
	int n_sent = 0, n_answers = 0;

	rig_init(&rig, ALLOW_SRC);
	mute = main_client(&rig);
	other = main_client(&rig);
	for (int rest = 0; rest < 3; rest++) {
		for (; send(mute, SRC, sizeof(SRC) - 1, MSG_NOSIGNAL) > 0; n_sent++)
			rest = 0;
		turn_all(&rig);
	}
	expect(n_sent > 100 && n_sent < 100000);
	say(other, SRC);
	expect(is_verdict(hear(&rig, other), "allow"));
	for (; n_answers < n_sent; n_answers++)
		if (!is_verdict(hear(&rig, mute), "allow"))
			break;
	expect_eq(n_answers, n_sent);
}

/* ---- callers ---- */

static void add_sandbox(struct rig *rig, const char *const *words)
{
	struct facts *facts = NULL;

	expect_eq(facts_add(&rig->sandboxes, "box1", &facts, NULL), 0);
	for (; facts && *words; words++)
		expect_eq(facts_set(facts, *words, NULL), 0);
	rig->server = server_free(rig->server);
	expect_eq(rig_start(rig, SERVER_RECORDS_ALL, NULL), 0);
	rig->question.server = rig->server;
}

#define BY_TAG                                                                                     \
	"capabilities:\n"                                                                          \
	"  - { name: tag, match: { syscall: fs.write, caller_tag: [trusted_write] }, "             \
	"action: allow }\n"                                                                        \
	"  - { name: project, match: { syscall: fs.read, path_glob: [\"src/**\"] }, "              \
	"action: allow }\n"

static void claims_of_a_sandbox_about_itself_do_not_count(void)
{
	static const char *const nothing[] = { NULL };
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int client = -EBADF;
	const char *answer;

	rig_init(&rig, BY_TAG);
	add_sandbox(&rig, nothing);
	client = client_of(&rig, "sandbox-box1", getuid());
	say(client, "{\"op\":\"fs.write\",\"path\":\"/a\",\"tags\":[\"trusted_write\"],"
		    "\"caller\":\"root\",\"sandbox\":\"L2\",\"sandbox_id\":\"box2\","
		    "\"state\":\"x\",\"mode\":\"debug\",\"project\":\"/\"}");
	answer = hear(&rig, client);
	expect(is_verdict(answer, "deny"));
	expect(has(answer,
		   "\"input\":{\"op\":\"fs.write\",\"path\":\"/a\",\"sandbox_id\":\"box1\"}"));
	say(client, "{\"op\":\"fs.read\",\"path\":\"/etc/src/a\",\"project\":\"/etc\"}");
	expect(is_verdict(hear(&rig, client), "deny"));
}

static void facts_of_a_sandbox_count(void)
{
	static const char *const facts[] = { "tag=trusted_write", "project=/srv/p", NULL };
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int client = -EBADF;

	rig_init(&rig, BY_TAG);
	add_sandbox(&rig, facts);
	client = client_of(&rig, "sandbox-box1", getuid());
	say(client, "{\"op\":\"fs.write\",\"path\":\"/a\"}");
	expect(is_verdict(hear(&rig, client), "allow"));
	say(client, "{\"op\":\"fs.read\",\"path\":\"/srv/p/src/a\",\"project\":\"/etc\"}");
	expect(is_verdict(hear(&rig, client), "allow"));
}

static void only_the_service_own_user_speaks_for_others(void)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int own = -EBADF, stranger = -EBADF;
	const char *request = "{\"op\":\"fs.write\",\"path\":\"/a\",\"tags\":[\"trusted_write\"],"
			      "\"sandbox_id\":\"box1\"}";
	const char *answer;

	rig_init(&rig, BY_TAG);
	own = main_client(&rig);
	stranger = client_of(&rig, SERVER_MAIN_SOCKET, 12345);
	say(own, request);
	answer = hear(&rig, own);
	expect(is_verdict(answer, "allow") && has(answer, "\"sandbox_id\":\"box1\""));
	say(stranger, request);
	answer = hear(&rig, stranger);
	expect(is_verdict(answer, "deny") && !strstr(answer, "box1"));
}

static void sandboxes_and_other_users_do_not_control_the_service(void)
{
	static const char *const nothing[] = { NULL };
	static const char *const packets[] = { "{\"do\":\"status\"}", "{\"do\":\"reload\"}",
					       "{\"do\":\"token.list\"}",
					       "{\"do\":\"token.issue\",\"pid\":1}" };
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int sandbox = -EBADF, stranger = -EBADF;

	rig_init(&rig, ALLOW_SRC);
	add_sandbox(&rig, nothing);
	sandbox = client_of(&rig, "sandbox-box1", 0);
	stranger = client_of(&rig, SERVER_MAIN_SOCKET, 12345);
	for (size_t i = 0; i < N_ELEMENTS(packets); i++) {
		say(sandbox, packets[i]);
		expect(is_verdict(hear(&rig, sandbox), "deny"));
		say(stranger, packets[i]);
		expect(is_verdict(hear(&rig, stranger), "deny"));
	}
}

static void a_listener_that_is_not_known_serves_no_client(void)
{
	_cleanup_rig_ struct rig rig;

	rig_init(&rig, ALLOW_SRC);
	expect_eq(client_of(&rig, "sandbox-box1", 0), -ENOENT);
	expect_eq(client_of(&rig, "other", 0), -ENOENT);
}

static void one_user_cannot_take_all_places(void)
{
	_cleanup_rig_ struct rig rig;
	int clients[CLIENTS_DEFAULT / 4], own;
	struct rlimit files;

	/* Both ends of each connection are in this process; the usual soft limit is 1024 fds. */
	expect_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = files.rlim_max;
	expect_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
	rig_init(&rig, ALLOW_SRC);
	if (files.rlim_max < 2 * CLIENTS_DEFAULT)
		skip("the hard limit of open files is too low for so many clients");
	for (size_t i = 0; i < N_ELEMENTS(clients); i++) {
		clients[i] = client_of(&rig, SERVER_MAIN_SOCKET, 12345);
		expect(clients[i] >= 0);
	}
	expect_eq(client_of(&rig, SERVER_MAIN_SOCKET, 12345), -EUSERS);
	own = main_client(&rig);
	expect(own >= 0);
	(void)close(own);
	for (size_t i = 0; i < N_ELEMENTS(clients); i++)
		(void)close(clients[i]);
	turn_all(&rig);
	own = client_of(&rig, SERVER_MAIN_SOCKET, 12345);
	expect(own >= 0);
	(void)close(own);
}

/* ---- extensions ---- */

/* A policy whose extension answers after release(); it waits at @fifo. */
static void slow_policy(const struct rig *rig, char *policy, size_t size, char fifo[64])
{
	int n = snprintf(policy, size, "%s", ALLOW_SRC);

	(void)snprintf(fifo, 64, "%s/fifo", rig->directory);
	if (access(fifo, F_OK) < 0)
		expect(mkfifo(fifo, 0600) == 0);
	(void)snprintf(policy + n, size - (size_t)n, SLOW_EXTENSION, fifo);
}

/* The active extension with a long deadline, because the host may be slow. */
static struct extension *patient_extension(const struct rig *rig)
{
	struct extension *extension = rig->server->generation->extensions[0].extension;

	extension_set_deadline(extension, DEADLINE_USEC);
	return extension;
}

static void release(const char *fifo)
{
	int fd = open(fifo, O_RDWR | O_CLOEXEC | O_NONBLOCK);

	expect(fd >= 0 && write(fd, "\n", 1) == 1);
	/* Keep it open until the reader has read: a FIFO without any open end discards its data. */
	while (fd >= 0 && is_readable(fd))
		;
	(void)close(fd);
}

static void others_do_not_wait_for_a_slow_extension(void)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int slow = -EBADF, other = -EBADF;
	struct extension *extension;
	char policy[1024], fifo[64];

	rig_init(&rig, ALLOW_SRC);
	slow_policy(&rig, policy, sizeof(policy), fifo);
	rig_write(&rig, policy);
	expect_eq(server_reload(rig.server, "test", NULL), 1);
	extension = patient_extension(&rig);
	slow = main_client(&rig);
	other = main_client(&rig);
	say(slow, SRC);
	say(slow, "{\"op\":\"fs.format\"}");
	turn_all(&rig);
	say(other, "{\"op\":\"fs.format\"}");
	expect(is_verdict(hear(&rig, other), "deny"));
	expect(!is_readable(slow));
	/* The extension never answers: the waiting client gets deny, and its next packet is read.
	 */
	expect_eq(kill(extension_pid(extension), SIGKILL), 0);
	expect(has(hear(&rig, slow), "\"extension\":\"slow\""));
	expect(has(hear(&rig, slow), "fs.format"));
	expect(unlink(fifo) == 0);
}

static void a_client_may_go_while_its_answer_is_worked_out(void)
{
	_cleanup_rig_ struct rig rig;
	char policy[1024], fifo[64];
	int client;

	rig_init(&rig, ALLOW_SRC);
	slow_policy(&rig, policy, sizeof(policy), fifo);
	rig_write(&rig, policy);
	expect_eq(server_reload(rig.server, "test", NULL), 1);
	client = main_client(&rig);
	say(client, SRC);
	turn_all(&rig);
	expect(close(client) == 0);
	turn_all(&rig);
	expect(has(rig_ask(&rig, "{\"do\":\"status\"}"), "\"clients\":0,"));
	expect(has(rig_ask(&rig, SRC), "\"extension\":\"slow\""));
	expect(unlink(fifo) == 0);
}

static void a_reload_does_not_change_what_has_begun(void)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int client = -EBADF;
	_cleanup_text_ struct text before = TEXT_INIT;
	char policy[1024], fifo[64];
	const char *answer;

	rig_init(&rig, ALLOW_SRC);
	slow_policy(&rig, policy, sizeof(policy), fifo);
	rig_write(&rig, policy);
	expect_eq(server_reload(rig.server, "test", NULL), 1);
	(void)patient_extension(&rig);
	text_add_hex(&before, server_digest(rig.server), DIGEST_SIZE);
	client = main_client(&rig);
	say(client, SRC);
	turn_all(&rig);
	rig_write(&rig, REVIEW_SRC);
	expect_eq(server_reload(rig.server, "test", NULL), 1);
	expect(is_verdict(rig_ask(&rig, SRC), "require_review"));
	release(fifo);
	answer = hear(&rig, client);
	expect(has(answer, text_string(&before)));
	expect(!strstr(answer, "review"));
	expect(unlink(fifo) == 0);
}

/* ---- reloads ---- */

static void a_broken_policy_keeps_the_old_one_in_force(void)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_free_ char *records = NULL;
	struct sbx_error err = { .code = 0 };

	rig_init(&rig, ALLOW_SRC);
	rig_write(&rig, "capabilities: nonsense\n");
	expect(server_reload(rig.server, "test", &err) < 0);
	expect(strstr(err.what, "p.yaml:1:") != NULL);
	expect(is_verdict(rig_ask(&rig, SRC), "allow"));
	expect(has(rig_ask(&rig, "{\"do\":\"status\"}"), "\"problem\":\""));
	expect(has(rig_ask(&rig, "{\"do\":\"reload\"}"), "\"ok\":false"));
	records = rig_records(&rig);
	expect(strstr(records, "\"policy_error\"") && strstr(records, "p.yaml:1:"));

	expect(unlink(rig.policy) == 0);
	expect(server_reload(rig.server, "test", NULL) < 0);
	expect(is_verdict(rig_ask(&rig, SRC), "allow"));
	rig_write(&rig, REVIEW_SRC);
	expect_eq(server_reload(rig.server, "test", NULL), 1);
	expect(is_verdict(rig_ask(&rig, SRC), "require_review"));
	expect(!strstr(rig_ask(&rig, "{\"do\":\"status\"}"), "problem"));
}

static void an_extension_that_cannot_start_keeps_the_policy_out(void)
{
	_cleanup_rig_ struct rig rig;

	rig_init(&rig, ALLOW_SRC);
	rig_write(&rig, REVIEW_SRC "extensions:\n  - { name: x, command: [/nonexistent] }\n");
	expect(server_reload(rig.server, "test", NULL) < 0);
	expect(is_verdict(rig_ask(&rig, SRC), "allow"));
}

static void a_file_that_is_renamed_into_place_comes_into_force(void)
{
	_cleanup_rig_ struct rig rig;
	uint64_t end = rig_now() + DEADLINE_USEC;

	rig_init(&rig, ALLOW_SRC);
	turn_all(&rig);
	rig_write(&rig, REVIEW_SRC);
	while (strstr(rig_ask(&rig, SRC), "\"verdict\":\"allow\"") && rig_now() < end)
		(void)ready_turn(rig.ready, DEADLINE_MSEC);
	expect(is_verdict(rig_ask(&rig, SRC), "require_review"));
}

/* The policy's name is a link now, to a file of another directory. */
static void make_link(const struct rig *rig, char directory[48], char target[64])
{
	(void)snprintf(directory, 48, "%s/other", rig->directory);
	(void)snprintf(target, 64, "%s/target", directory);
	expect(mkdir(directory, 0700) == 0);
	expect(rename(rig->policy, target) == 0);
	expect(symlink(target, rig->policy) == 0);
}

static void the_file_that_a_link_leads_to_comes_into_force_when_it_is_renamed_into_place(void)
{
	_cleanup_rig_ struct rig rig;
	char directory[48], target[64];

	rig_init(&rig, ALLOW_SRC);
	make_link(&rig, directory, target);
	expect_eq(server_reload(rig.server, "test", NULL), 0);
	turn_all(&rig);
	expect_eq(file_replace(AT_FDCWD, target, REVIEW_SRC, strlen(REVIEW_SRC), 0644, NULL), 0);
	for (int i = 0; i < 100 && is_verdict(rig_ask(&rig, SRC), "allow"); i++)
		(void)ready_turn(rig.ready, 100);
	expect(is_verdict(rig_ask(&rig, SRC), "require_review"));
	expect(unlink(target) == 0);
	expect(rmdir(directory) == 0);
}

/* Replaces the link @at by one to @target. */
static void relink(const struct rig *rig, const char *target, const char *at)
{
	char next[64];

	(void)snprintf(next, sizeof(next), "%s/next", rig->directory);
	expect(symlink(target, next) == 0);
	expect(rename(next, at) == 0);
}

static void wait_for(struct rig *rig, const char *verdict)
{
	for (int i = 0; i < 100 && !is_verdict(rig_ask(rig, SRC), verdict); i++)
		(void)ready_turn(rig->ready, 100);
	expect(is_verdict(rig_ask(rig, SRC), verdict));
}

/* policy -> middle -> allow, then middle -> review, and at last a review that is a missing file. */
static void a_link_in_the_middle_of_a_chain_is_watched(void)
{
	_cleanup_rig_ struct rig rig;
	char middle[64], allow[64], review[64];

	rig_init(&rig, ALLOW_SRC);
	(void)snprintf(middle, sizeof(middle), "%s/middle", rig.directory);
	(void)snprintf(allow, sizeof(allow), "%s/allow", rig.directory);
	(void)snprintf(review, sizeof(review), "%s/review", rig.directory);
	expect(rename(rig.policy, allow) == 0);
	expect(symlink("allow", middle) == 0 && symlink(middle, rig.policy) == 0);
	expect_eq(server_reload(rig.server, "test", NULL), 0);
	relink(&rig, "review", middle);
	turn_all(&rig);
	expect(is_verdict(rig_ask(&rig, SRC), "allow"));
	expect_eq(file_replace(AT_FDCWD, review, REVIEW_SRC, strlen(REVIEW_SRC), 0644, NULL), 0);
	wait_for(&rig, "require_review");
	relink(&rig, "../nowhere/../allow", middle);
	relink(&rig, allow, middle);
	wait_for(&rig, "allow");
	expect(unlink(middle) == 0 && unlink(allow) == 0 && unlink(review) == 0);
}

/* As in a volume of Kubernetes: policy -> ..data/policy, ..data -> 1, then ..data -> 2. */
static void a_directory_that_is_a_link_is_watched(void)
{
	_cleanup_rig_ struct rig rig;
	char data[64], one[64], two[64], file[80];

	rig_init(&rig, ALLOW_SRC);
	(void)snprintf(data, sizeof(data), "%s/..data", rig.directory);
	(void)snprintf(one, sizeof(one), "%s/1", rig.directory);
	(void)snprintf(two, sizeof(two), "%s/2", rig.directory);
	expect(mkdir(one, 0700) == 0 && mkdir(two, 0700) == 0 && symlink("1", data) == 0);
	(void)snprintf(file, sizeof(file), "%s/p", one);
	expect(rename(rig.policy, file) == 0 && symlink("..data/p", rig.policy) == 0);
	(void)snprintf(file, sizeof(file), "%s/p", two);
	expect_eq(file_replace(AT_FDCWD, file, REVIEW_SRC, strlen(REVIEW_SRC), 0644, NULL), 0);
	expect_eq(server_reload(rig.server, "test", NULL), 0);
	relink(&rig, "2", data);
	wait_for(&rig, "require_review");
	relink(&rig, "1", data);
	wait_for(&rig, "allow");
	expect(unlink(file) == 0 && rmdir(two) == 0 && unlink(data) == 0);
	(void)snprintf(file, sizeof(file), "%s/p", one);
	expect(unlink(file) == 0 && rmdir(one) == 0);
}

static void start_again(struct rig *rig)
{
	rig->server = server_free(rig->server);
	expect_eq(rig_start(rig, SERVER_RECORDS_ALL, NULL), 0);
	rig->question.server = rig->server;
	turn_all(rig);
}

/* A link in a directory that can be searched but not read. */
static void what_follows_a_directory_that_cannot_be_watched_is_watched(void)
{
	_cleanup_rig_ struct rig rig;
	char directory[48], target[64];

	rig_init(&rig, ALLOW_SRC);
	make_link(&rig, directory, target);
	(void)snprintf(unwatchable, sizeof(unwatchable), "%s", rig.directory);
	start_again(&rig);
	expect_eq(file_replace(AT_FDCWD, target, REVIEW_SRC, strlen(REVIEW_SRC), 0644, NULL), 0);
	wait_for(&rig, "require_review");
	unwatchable[0] = '\0';
	expect(unlink(target) == 0);
	expect(rmdir(directory) == 0);
}

static const struct rig *replaced;

/* policy -> other/target becomes policy -> new/target, which is replaced after the start. */
static void replace_link(void)
{
	char target[64];

	(void)snprintf(target, sizeof(target), "%s/new/target", replaced->directory);
	relink(replaced, target, replaced->policy);
}

static void a_link_that_is_replaced_before_its_watch_begins_is_followed(void)
{
	_cleanup_rig_ struct rig rig;
	char directory[48], target[64], new_directory[48], new_target[64];

	rig_init(&rig, ALLOW_SRC);
	make_link(&rig, directory, target);
	(void)snprintf(new_directory, sizeof(new_directory), "%s/new", rig.directory);
	(void)snprintf(new_target, sizeof(new_target), "%s/target", new_directory);
	expect(mkdir(new_directory, 0700) == 0);
	expect_eq(file_replace(AT_FDCWD, new_target, ALLOW_SRC, strlen(ALLOW_SRC), 0644, NULL), 0);
	replaced = &rig;
	before_watch = replace_link;
	start_again(&rig);
	expect(!before_watch);
	expect_eq(file_replace(AT_FDCWD, new_target, REVIEW_SRC, strlen(REVIEW_SRC), 0644, NULL),
		  0);
	wait_for(&rig, "require_review");
	expect(unlink(target) == 0 && rmdir(directory) == 0);
	expect(unlink(new_target) == 0 && rmdir(new_directory) == 0);
}

static void a_policy_that_is_a_pipe_does_not_stop_the_server(void)
{
	_cleanup_rig_ struct rig rig;
	struct sbx_error err = { .code = 0 };

	rig_init(&rig, ALLOW_SRC);
	expect(unlink(rig.policy) == 0);
	expect(mkfifo(rig.policy, 0600) == 0);
	expect_eq(server_reload(rig.server, "test", &err), -EINVAL);
	expect_str(err.why, "it is not a regular file");
	expect(is_verdict(rig_ask(&rig, SRC), "allow"));
}

static void the_same_policy_again_is_no_change(void)
{
	_cleanup_rig_ struct rig rig;

	rig_init(&rig, ALLOW_SRC);
	expect_eq(server_reload(rig.server, "test", NULL), 0);
	expect(has(rig_ask(&rig, "{\"do\":\"reload\"}"), "\"changed\":false"));
	rig_write(&rig, ALLOW_SRC "# a comment\n");
	expect(has(rig_ask(&rig, "{\"do\":\"reload\"}"), "\"changed\":true"));
}

/* ---- records ---- */

static void a_decision_that_cannot_be_recorded_is_deny(void)
{
	_cleanup_rig_ struct rig rig;
	const char *answer;

	rig_init(&rig, ALLOW_SRC);
	recorder_use_fd(&rig.recorder, open("/dev/full", O_WRONLY | O_CLOEXEC));
	answer = rig_ask(&rig, "{\"id\":\"x\",\"op\":\"fs.write\",\"path\":\"/srv/p/src/a\"}");
	expect(is_verdict(answer, "deny"));
	expect(has(answer, "{\"id\":\"x\",") && has(answer, "record"));
	expect_eq(json_validate(answer, strlen(answer), NULL, NULL), 0);
	answer = rig_ask(&rig, "{\"do\":\"token.issue\",\"pid\":1,\"op\":\"test.run\"}");
	expect(has(answer, "\"ok\":false"));
	expect(has(rig_ask(&rig, "{\"do\":\"status\"}"), "\"tokens\":0,"));
}

static void records_the_chosen_verdicts(void)
{
	static const struct {
		enum server_records records;
		bool has_allow, has_deny;
	} rows[] = {
		{ SERVER_RECORDS_NONE, false, false },
		{ SERVER_RECORDS_DENIALS, false, true },
		{ SERVER_RECORDS_ALL, true, true },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		_cleanup_rig_ struct rig rig;
		_cleanup_free_ char *records = NULL;

		rig_init(&rig, ALLOW_SRC);
		rig.server = server_free(rig.server);
		expect_eq(rig_start(&rig, rows[i].records, NULL), 0);
		rig.question.server = rig.server;
		(void)rig_ask(&rig, SRC);
		(void)rig_ask(&rig, "{\"op\":\"fs.write\",\"path\":\"/etc/x\"}");
		(void)rig_ask(&rig, "nonsense");
		records = rig_records(&rig);
		expect_eq(strstr(records, "\"verdict\":\"allow\"") != NULL, rows[i].has_allow);
		expect_eq(strstr(records, "\"verdict\":\"deny\"") != NULL, rows[i].has_deny);
		expect(strstr(records, "\"policy_error\"") != NULL);
	}
}

static void a_record_holds_the_whole_input_and_no_token(void)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_free_ char *records = NULL;
	const char *token;

	rig_init(&rig, REVIEW_SRC);
	token = rig_token(&rig, "\"op\":\"fs.write\",\"glob\":\"/srv/p/src/**\"");
	(void)rig_ask_with(&rig, token,
			   "\"op\":\"fs.write\",\"path\":\"/srv/p/src/a\",\"size\":7,"
			   "\"tags\":[\"t\"],\"state\":\"s\"");
	records = rig_records(&rig);
	expect(strstr(records, "\"event\":\"policy_decision\"") != NULL);
	expect(strstr(records, "\"input\":{\"op\":\"fs.write\",\"path\":\"/srv/p/src/a\","
			       "\"tags\":[\"t\"],\"state\":\"s\",\"size\":7}") != NULL);
	expect(strstr(records, "\"capability_issued\"") != NULL);
	expect(strstr(records, token) == NULL);
	for (char *line = strtok(records, "\n"); line; line = strtok(NULL, "\n"))
		expect_eq(json_validate(line, strlen(line), NULL, NULL), 0);
}

static const struct test tests[] = {
	TEST(answers_every_packet_in_order),
	TEST(a_request_that_is_none_is_denied_and_recorded),
	TEST(a_packet_that_is_too_long_is_denied),
	TEST(fds_that_a_client_passes_are_not_kept),
	TEST(the_status_is_sent_a_moment_after_an_answer),
	TEST(a_client_that_ends_is_forgotten),
	TEST(a_client_that_does_not_read_stops_only_itself),
	TEST(claims_of_a_sandbox_about_itself_do_not_count),
	TEST(facts_of_a_sandbox_count),
	TEST(only_the_service_own_user_speaks_for_others),
	TEST(sandboxes_and_other_users_do_not_control_the_service),
	TEST(a_listener_that_is_not_known_serves_no_client),
	TEST(one_user_cannot_take_all_places),
	TEST(others_do_not_wait_for_a_slow_extension),
	TEST(a_client_may_go_while_its_answer_is_worked_out),
	TEST(a_reload_does_not_change_what_has_begun),
	TEST(a_broken_policy_keeps_the_old_one_in_force),
	TEST(an_extension_that_cannot_start_keeps_the_policy_out),
	TEST(a_file_that_is_renamed_into_place_comes_into_force),
	TEST(the_file_that_a_link_leads_to_comes_into_force_when_it_is_renamed_into_place),
	TEST(a_link_in_the_middle_of_a_chain_is_watched),
	TEST(a_directory_that_is_a_link_is_watched),
	TEST(what_follows_a_directory_that_cannot_be_watched_is_watched),
	TEST(a_link_that_is_replaced_before_its_watch_begins_is_followed),
	TEST(a_policy_that_is_a_pipe_does_not_stop_the_server),
	TEST(the_same_policy_again_is_no_change),
	TEST(a_decision_that_cannot_be_recorded_is_deny),
	TEST(records_the_chosen_verdicts),
	TEST(a_record_holds_the_whole_input_and_no_token),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
