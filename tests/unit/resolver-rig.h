/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A resolver that asks the server of tests/tool/proxy-dns.py
 */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>
#include <time.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/start.h"
#include "base/text.h"
#include "proxy/resolver-internal.h"
#include "service/ready.h"
#include "test.h"

#define DEADLINE_MSEC 120000
#define LONG_USEC (60 * 1000000ull)
#define SHORT_USEC 300000ull

/* What the resolver's process saw of itself, in memory that it shares with the test. */
struct seen {
	pid_t pid;
	int n_fds;
	int socket;
	bool blocks_signals;
	char name[16];
	int fails_with;		 /* set by the test: what confine() returns */
	void (*instead)(int fd); /* set by the test: what it does instead of resolving */
};

struct rig {
	const char *servers;
	sd_event *event;
	struct ready *ready;
	struct resolver *resolver;
	struct seen *seen;
	size_t n_answers;
	struct resolver_answer last;
	size_t n_of[N_RESOLVER_STATUSES];
};

/* All tests ask one server, which ends with the test program: nothing else holds its stdin. */
static inline const char *rig_server(const char *zone)
{
	static char servers[32];
	_cleanup_text_ struct text script = TEXT_INIT;
	const char *argv[] = { "/usr/bin/env", "python3", NULL, "--end-with-stdin", zone, NULL };
	char port[16] = "";
	int in[2], out[2];
	pid_t server;

	if (servers[0] != '\0')
		return servers;
	text_addf(&script, "%s/tests/tool/proxy-dns.py", getenv("SBX_SOURCE"));
	argv[2] = text_string(&script);
	expect(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
	expect_eq(start_program(&(struct start){ .argv = argv,
						 .environment = (const char *const *)environ,
						 .stdin_fd = in[0],
						 .stdout_fd = out[1] },
				&server),
		  0);
	close_fd(&in[0]);
	close_fd(&out[1]);
	expect(read(out[0], port, sizeof(port) - 1) > 1);
	close_fd(&out[0]);
	(void)snprintf(servers, sizeof(servers), "127.0.0.1:%d", atoi(port));
	return servers;
}

static inline int rig_confine(void *userdata, struct sbx_error *err)
{
	struct seen *seen = userdata;
	sigset_t blocked;

	(void)err;
	for (int fd = 0; fd < 1024; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			continue;
		seen->n_fds++;
		seen->socket = fd;
	}
	(void)sigprocmask(SIG_BLOCK, NULL, &blocked);
	seen->blocks_signals = sigismember(&blocked, SIGTERM) == 1;
	(void)prctl(PR_GET_NAME, seen->name);
	seen->pid = getpid();
	if (seen->instead)
		seen->instead(seen->socket);
	return seen->fails_with;
}

static inline void rig_start(struct rig *rig, const char *zone)
{
	/* On port 1 no server listens. */
	*rig = (struct rig){ .servers = zone ? rig_server(zone) : "127.0.0.1:1" };
	rig->seen = mmap(NULL, sizeof(*rig->seen), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	expect(rig->seen != MAP_FAILED);
	expect(sd_event_new(&rig->event) >= 0);
	expect_eq(ready_new(rig->event, &rig->ready), 0);
}

static inline void rig_resolve(struct rig *rig, uint64_t timeout_usec)
{
	const struct resolver_options options = { .servers = rig->servers,
						  .timeout_usec = timeout_usec,
						  .confine = rig_confine,
						  .userdata = rig->seen };
	struct sbx_error err;

	expect_eq(resolver_new(rig->ready, &options, &rig->resolver, &err), 0);
}

static inline struct rig rig_new(const char *zone, uint64_t timeout_usec)
{
	struct rig rig;

	rig_start(&rig, zone);
	rig_resolve(&rig, timeout_usec);
	return rig;
}

static inline void rig_deinit(struct rig *rig)
{
	rig->resolver = resolver_free(rig->resolver);
	(void)ready_free(rig->ready);
	(void)sd_event_unref(rig->event);
	(void)munmap(rig->seen, sizeof(*rig->seen));
}
#define _cleanup_rig_ _cleanup_(rig_deinit)

static inline void rig_answered(void *userdata, const struct resolver_answer *answer)
{
	struct rig *rig = userdata;

	rig->n_answers++;
	rig->last = *answer;
	rig->n_of[answer->status]++;
}

static inline struct resolver_query *rig_ask(struct rig *rig, const char *name)
{
	struct resolver_query *query = NULL;
	size_t before = rig->n_answers;

	expect_eq(resolver_ask(rig->resolver, name, rig_answered, rig, &query), 0);
	expect_eq(rig->n_answers, before);
	return query;
}

static inline void rig_turn_until(struct rig *rig, size_t n_answers)
{
	time_t end = time(NULL) + DEADLINE_MSEC / 1000;

	while (rig->n_answers < n_answers && time(NULL) < end)
		if (ready_turn(rig->ready, 1000) < 0)
			break;
	expect_eq(rig->n_answers, n_answers);
}

static inline const struct resolver_answer *rig_find(struct rig *rig, const char *name)
{
	(void)rig_ask(rig, name);
	rig_turn_until(rig, rig->n_answers + 1);
	return &rig->last;
}

/* Is @text one of the addresses? */
static inline bool rig_has(const struct resolver_answer *answer, const char *text)
{
	bool is_ipv6 = strchr(text, ':');
	uint8_t bytes[16] = { 0 };

	expect_eq(inet_pton(is_ipv6 ? AF_INET6 : AF_INET, text, bytes), 1);
	for (size_t i = 0; i < answer->n; i++)
		if (answer->addresses[i].is_ipv6 == is_ipv6 &&
		    memcmp(answer->addresses[i].bytes, bytes, sizeof(bytes)) == 0)
			return true;
	return false;
}
