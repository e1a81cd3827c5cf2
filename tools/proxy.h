/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Shared by the verbs of sbx-proxy: the values of options, and the process that proxies
 *
 * One file for each verb: tools/proxy-NAME.c. The tables are in sbx-proxy.c.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/options.h"
#include "proxy/worker.h"
#include "record/record.h"
#include "service/service.h"

struct handover;
struct option_spec;
struct proxy_policy;
struct resolver;
struct tool_run;

struct proxy_values {
	const char *policy; /* without a verb */
	struct option_list listen, listen_unix;

	const char *dns; /* also of serve and worker */
	uint64_t max_connections, max_bytes, rate;
	uint64_t head_usec, idle_usec;
	int audit_fd; /* -EBADF: the service of sbx-audit, or the spool */

	const char *socket; /* serve and status */
	uint64_t max_clients, max_workers, max_workers_each;

	int fd, page_fd; /* worker */
	uint64_t uid;
};

verb_fn proxy_run_alone, proxy_run_worker, proxy_verb_serve, proxy_verb_status;

/* Options that a verb does not use. */
extern const struct option_spec proxy_options[];
/* -EINVAL if one of the tool's options was given that is not in @used, which ends with NULL. */
int proxy_refuse_unused(const struct proxy_values *values, const char *const *used,
			const char *verb, struct sbx_error *err);

/* Members of the process that proxies, freed by process_deinit(). */
struct process {
	struct tool_run *run;
	const struct proxy_values *values;
	struct recorder recorder;
	struct service *service;
	struct resolver *resolver;
	struct worker *worker;
	struct worker_page own_page;
	struct worker_page *page; /* own_page, or memory shared with the service */
	const char *layers[3];
};

#define PROCESS_INIT(the_run)                                                                      \
	{                                                                                          \
		.run = (the_run), .values = (the_run)->values, .recorder = RECORDER_INIT           \
	}
#define _cleanup_process_ _cleanup_(process_deinit)

void process_deinit(struct process *process);
/*
 * Opens the target of records, starts the resolver and confines both processes: files in @readable
 * can still be read. Everything else that needs a file or a new socket must be open before.
 */
int process_prepare(struct process *process, service_reload_fn *reload, void *userdata,
		    const char *readable, struct sbx_error *err);
/* Takes @fd, the hand-over socket or -EBADF. */
int process_add_worker(struct process *process, int fd, uid_t uid, struct sbx_error *err);

/* proxy-listen.c: the sockets of --listen, --listen-unix and LISTEN_FDS; texts in @arena. */
struct arena;
int proxy_open_listeners(const struct proxy_values *values, struct arena *arena,
			 struct handover *ret, struct sbx_error *err);
