/* SPDX-License-Identifier: MIT */
#pragma once

/* A server in this process with its own policy and spool, and a loop that the test turns */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <systemd/sd-event.h>
#include <time.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "record/record.h"
#include "server/facts.h"
#include "base/process.h"
#include "server/question.h"
#include "server/server.h"
#include "service/clients.h"
#include "service/peer.h"
#include "service/ready.h"
#include "test.h"

#define DEADLINE_USEC UINT64_C(60000000)
#define DEADLINE_MSEC 60000

struct rig {
	char directory[32];
	char policy[64];
	char records[64];
	const char *policy_paths[1];
	sd_event *event;
	struct ready *ready;
	struct recorder recorder;
	struct log log;
	struct facts *sandboxes;
	struct server *server;
	struct question question;
	bool is_done;
};

static void rig_write(const struct rig *rig, const char *policy)
{
	expect_eq(file_replace(AT_FDCWD, rig->policy, policy, strlen(policy), 0644, NULL), 0);
}

static int rig_start(struct rig *rig, enum server_records records, struct sbx_error *err)
{
	const struct server_options options = {
		.event = rig->event,
		.ready = rig->ready,
		.log = &rig->log,
		.tool = "test",
		.policy_paths = rig->policy_paths,
		.n_policy_paths = 1,
		.recorder = &rig->recorder,
		.records = records,
		.n_clients_max = CLIENTS_DEFAULT,
		.sandboxes = rig->sandboxes,
	};

	return server_new(&options, &rig->server, err);
}

/* Do not copy @rig afterwards: it contains pointers to itself. */
static void rig_init(struct rig *rig, const char *policy)
{
	struct sbx_error err = { .code = 0 };
	int fd;

	*rig = (struct rig){ .directory = "/tmp/server-XXXXXX",
			     .recorder = RECORDER_INIT,
			     .log = { .tool = "test",
				      .most = LOG_LEVEL_ERROR,
				      .journal_fd = -EBADF,
				      .stderr_fd = open("/dev/null", O_WRONLY | O_CLOEXEC) } };
	expect(mkdtemp(rig->directory) != NULL);
	(void)snprintf(rig->policy, sizeof(rig->policy), "%s/p.yaml", rig->directory);
	(void)snprintf(rig->records, sizeof(rig->records), "%s/records", rig->directory);
	rig->policy_paths[0] = rig->policy;
	fd = open(rig->records, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	expect(fd >= 0);
	recorder_use_fd(&rig->recorder, fd);
	expect(sd_event_new(&rig->event) >= 0);
	expect_eq(ready_new(rig->event, &rig->ready), 0);
	rig_write(rig, policy);
	expect_eq(rig_start(rig, SERVER_RECORDS_ALL, &err), 0);
	if (err.code)
		printf("# %s: %s\n", err.what, err.why);
	rig->question.server = rig->server;
	rig->question.asker = (struct asker){
		.pid = getpid(), .uid = getuid(), .place = PEER_BESIDE, .is_trusted = true
	};
	expect_eq(process_identify(getpid(), -EBADF, &rig->question.asker.process_id), 0);
}

static void rig_deinit(struct rig *rig)
{
	question_deinit(&rig->question);
	(void)server_free(rig->server);
	facts_free_all(&rig->sandboxes);
	recorder_deinit(&rig->recorder);
	(void)ready_free(rig->ready);
	(void)sd_event_unref(rig->event);
	close_fd(&rig->log.stderr_fd);
	(void)unlink(rig->policy);
	(void)unlink(rig->records);
	expect(rmdir(rig->directory) == 0);
}

#define _cleanup_rig_ _cleanup_(rig_deinit)

static uint64_t rig_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Turns the loop until @is_done or the deadline. */
static void rig_turn(struct rig *rig, const bool *is_done)
{
	uint64_t end = rig_now() + DEADLINE_USEC;

	while (!*is_done && rig_now() < end)
		(void)ready_turn(rig->ready, DEADLINE_MSEC);
	expect(*is_done);
}

static void rig_done(struct question *question, void *userdata)
{
	((struct rig *)userdata)->is_done = true;
}

/* The answer, valid until the next question. */
static const char *rig_ask_at(struct rig *rig, const char *packet, uint64_t now_usec)
{
	rig->is_done = false;
	rig->question.done = rig_done;
	rig->question.userdata = rig;
	text_reset(&rig->question.answer);
	if (question_begin(&rig->question, packet, strlen(packet), now_usec) == 0)
		rig_turn(rig, &rig->is_done);
	return text_string(&rig->question.answer);
}

static const char *rig_ask(struct rig *rig, const char *packet)
{
	return rig_ask_at(rig, packet, rig_now());
}

/* Asks again if the extension was late, which is a deny, because the host may be slow. */
static inline const char *rig_ask_patiently(struct rig *rig, const char *packet)
{
	uint64_t end = rig_now() + DEADLINE_USEC;
	const char *answer = rig_ask(rig, packet);

	while (strstr(answer, "took longer than") && rig_now() < end) {
		(void)poll(NULL, 0, 100);
		answer = rig_ask(rig, packet);
	}
	return answer;
}

/* Does the answer contain @wanted? Prints it if not. */
static bool has(const char *answer, const char *wanted)
{
	if (strstr(answer, wanted))
		return true;
	printf("# %s\n", answer);
	return false;
}

/* "allow", "warn", "require_review" or "deny" of @answer. */
static bool is_verdict(const char *answer, const char *verdict)
{
	char wanted[64];

	(void)snprintf(wanted, sizeof(wanted), "\"verdict\":\"%s\"", verdict);
	return has(answer, wanted);
}

/* All recorded lines; the caller frees them. */
static inline char *rig_records(const struct rig *rig)
{
	char *bytes = NULL;
	size_t n_bytes = 0;

	expect_eq(file_read(AT_FDCWD, rig->records, 64 * 1024 * 1024, &bytes, &n_bytes, NULL), 0);
	return bytes;
}

/* Issues a token to this process and returns its text. */
static inline const char *rig_token(struct rig *rig, const char *terms)
{
	static char token[TOKEN_TEXT_SIZE];
	char packet[512];
	const char *answer, *at;

	(void)snprintf(packet, sizeof(packet), "{\"do\":\"token.issue\",\"pid\":%d,%s}",
		       (int)getpid(), terms);
	answer = rig_ask(rig, packet);
	at = strstr(answer, "\"token\":\"");
	expect(has(answer, "\"ok\":true") && at != NULL);
	(void)snprintf(token, sizeof(token), "%.32s", at ? at + 9 : "");
	return token;
}

static inline const char *rig_ask_with(struct rig *rig, const char *token, const char *rest)
{
	char packet[1024];

	(void)snprintf(packet, sizeof(packet), "{\"token\":\"%s\",%s}", token, rest);
	return rig_ask(rig, packet);
}
