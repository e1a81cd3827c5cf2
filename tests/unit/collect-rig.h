/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A collector in this process with its own log, a loop that the test turns, and commits that can
 * fail as on a full disk
 */

#include <poll.h>
#include <sys/socket.h>
#include <systemd/sd-event.h>

#include "audit-log-place.h"
#include "base/json.h"
#include "base/log.h"
#include "collect/collect-internal.h"
#include "record/record.h"
#include "service/peer.h"
#include "service/ready.h"

#define DEADLINE_MSEC 60000
#define ASYNC "{" LOG_TIME ",\"event\":\"syscall\"}"
#define SYNC "{" LOG_TIME ",\"event\":\"state_transition\"}"
#define STRANGER 12345
/* For deadlines that must not be reached, even on a slow host. */
#define NEVER_USEC (UINT64_C(3600) * USEC_PER_SEC)

/* ---- commits that fail ---- */

int __real_audit_log_commit(struct audit_log *log, struct sbx_error *err);
int __wrap_audit_log_commit(struct audit_log *log, struct sbx_error *err);

static struct {
	int failure; /* negative errno of each commit; 0: success */
	unsigned n_commits;
} disk;

int __wrap_audit_log_commit(struct audit_log *log, struct sbx_error *err)
{
	if (disk.failure) {
		audit_log_rollback(log);
		return sbx_error_what(err, disk.failure, "cannot write the segment");
	}
	disk.n_commits++;
	return __real_audit_log_commit(log, err);
}

/* ---- a collector without a service ---- */

struct rig {
	struct log_place place;
	sd_event *event;
	struct ready *ready;
	struct log log;
	struct audit_log *audit;
	struct collector_options options;
	struct collector *collector;
};

static inline void rig_init(struct rig *rig)
{
	*rig = (struct rig){ .log = { .tool = "test",
				      .most = LOG_LEVEL_ERROR,
				      .journal_fd = -EBADF,
				      .stderr_fd = open("/dev/null", O_WRONLY | O_CLOEXEC) } };
	disk.failure = 0;
	log_place_init(&rig->place);
	rig->audit = log_made(&rig->place);
	expect(sd_event_new(&rig->event) >= 0);
	expect_eq(ready_new(rig->event, &rig->ready), 0);
	rig->options = (struct collector_options){
		.event = rig->event,
		.ready = rig->ready,
		.log = &rig->log,
		.audit = rig->audit,
		.directory = open(rig->place.log, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		.spool = -EBADF,
		.n_clients_max = 1024,
		.group_records = COLLECT_GROUP_RECORDS_DEFAULT,
		.group_usec = COLLECT_GROUP_USEC_DEFAULT,
		.queue_bytes_max = COLLECT_QUEUE_BYTES_DEFAULT,
	};
}

static inline void rig_start(struct rig *rig)
{
	expect_eq(collector_new(&rig->options, &rig->collector, NULL), 0);
	/* The first tick is due at once; run it before the test begins. */
	while (ready_turn(rig->ready, 0) > 0)
		;
	disk.n_commits = 0;
}

/* Closes the log, so that the test can read it. */
static inline void rig_stop(struct rig *rig)
{
	rig->collector = collector_free(rig->collector);
	rig->audit = audit_log_free(rig->audit);
}

static inline void rig_deinit(struct rig *rig)
{
	rig_stop(rig);
	(void)ready_free(rig->ready);
	(void)sd_event_unref(rig->event);
	close_fd(&rig->options.directory);
	close_fd(&rig->options.spool);
	close_fd(&rig->log.stderr_fd);
	log_place_deinit(&rig->place);
}

#define _cleanup_rig_ _cleanup_(rig_deinit)

static inline int client_of(const struct rig *rig, uid_t uid)
{
	struct peer peer = PEER_INIT;
	int pair[2], r;

	expect(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
	peer.pid = 4711;
	peer.uid = uid;
	peer.place = PEER_BESIDE;
	r = clients_add(rig->collector->clients, COLLECT_SOCKET, pair[1], &peer);
	if (r >= 0)
		return pair[0];
	(void)close(pair[0]);
	return r;
}

static inline int client(const struct rig *rig)
{
	return client_of(rig, getuid());
}

static inline bool say(int fd, const char *packet)
{
	return send(fd, packet, strlen(packet), MSG_NOSIGNAL) == (ssize_t)strlen(packet);
}

static inline bool is_readable(int fd)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };

	return poll(&wait, 1, 0) == 1;
}

/* The next answer, "" if the connection was closed. */
static inline const char *hear(struct rig *rig, int fd)
{
	static char bytes[4096];
	ssize_t n;

	for (int i = 0; !is_readable(fd) && i < 1000000; i++)
		(void)ready_turn(rig->ready, DEADLINE_MSEC);
	n = recv(fd, bytes, sizeof(bytes) - 1, 0);
	bytes[n > 0 ? n : 0] = '\0';
	return bytes;
}

static inline bool hears(struct rig *rig, int fd, const char *begin)
{
	const char *heard = hear(rig, fd);
	bool is_it = strncmp(heard, begin, strlen(begin)) == 0;

	if (!is_it)
		printf("# heard %s\n", heard);
	return is_it;
}

/* Turns the loop until no socket is ready. */
static inline void turn_all(struct rig *rig)
{
	while (ready_turn(rig->ready, 0) > 0)
		;
}

static inline void turn_until_size(struct rig *rig, uint64_t size)
{
	for (int i = 0; audit_log_size(rig->audit) < size && i < 1000000; i++)
		(void)ready_turn(rig->ready, DEADLINE_MSEC);
	expect_eq(audit_log_size(rig->audit), size);
}

/* ---- the content of the log ---- */

struct search {
	const char *event;
	unsigned n;
	char body[512]; /* of the last match */
};

static inline void look(void *userdata, const struct store_row *row)
{
	struct search *search = userdata;

	if (!row_is_of(row, search->event))
		return;
	search->n++;
	(void)snprintf(search->body, sizeof(search->body), "%.*s", (int)row->n_body,
		       (const char *)row->body);
}

static inline struct search found(struct rig *rig, const char *event)
{
	struct search search = { .event = event };

	rig_stop(rig);
	expect(verify_log(&rig->place, look, &search) > 0);
	return search;
}
