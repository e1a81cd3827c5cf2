/* SPDX-License-Identifier: MIT */

/*
 * A small complete daemon for tests: behaviour of lib/service, seen from outside
 *
 * probe-daemon [PATH]
 *
 * Listens on the socket that was passed as "probe", else at PATH. A packet comes back with "PID UID
 * " of its sender before it. SIGHUP starts a new generation, which is shown in STATUS=. "log TEXT"
 * writes TEXT to the log, "hang" stops the loop for ever, so that the watchdog kills it.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "service/clients.h"
#include "service/peer.h"
#include "service/service.h"

struct probe {
	const struct log *log;
	unsigned generation;
};

struct caller {
	const struct probe *probe;
	struct client *client;
	pid_t pid;
	uid_t uid;
};

static int on_opened(void *service, struct client *client, const struct client_origin *origin,
		     void **ret_data)
{
	struct caller *caller = malloc(sizeof(*caller));

	if (!caller)
		return -ENOMEM;
	*caller = (struct caller){ .probe = service,
				   .client = client,
				   .pid = origin->peer->pid,
				   .uid = origin->peer->uid };
	*ret_data = caller;
	return 0;
}

static void hang(void)
{
	for (volatile unsigned turns = 0;; turns++)
		;
}

static void on_message(void *data, const struct client_message *message)
{
	static const struct log_field fields[] = {
		{ "SBX_ID", "probe" },
		{ "SBX_RULE", "r1" },
		{ NULL, NULL },
	};
	const struct caller *caller = data;
	_cleanup_text_ struct text answer = TEXT_INIT;

	text_addf(&answer, "%d %u %s", (int)caller->pid, (unsigned)caller->uid, message->bytes);
	if (text_status(&answer) < 0)
		client_end(caller->client);
	else
		(void)client_reply(caller->client, answer.data, answer.len, NULL, 0);
	if (strcmp(message->bytes, "hang") == 0)
		hang();
	if (strncmp(message->bytes, "log ", 4) == 0)
		log_write(caller->probe->log, LOG_LEVEL_NOTICE, fields, "%s", message->bytes + 4);
}

static void on_refuse(void *data, const struct sbx_error *why)
{
	const struct caller *caller = data;

	client_end(caller->client);
}

static const struct client_protocol protocol = {
	.trusted_listener = "probe",
	.opened = on_opened,
	.message = on_message,
	.refuse = on_refuse,
	.closed = free,
};

static const struct client_limits limits = {
	.n_clients = CLIENTS_DEFAULT,
	.idle_usec = CLIENTS_IDLE_USEC,
	.n_bytes = 4096,
	.n_in_work = 1,
	.n_per_turn = 1,
};

static int on_reload(struct service *service, void *userdata)
{
	struct probe *probe = userdata;

	probe->generation++;
	service_status(service, "generation %u", probe->generation);
	return 0;
}

static int run(const struct log *log, const char *path, struct sbx_error *err)
{
	struct probe probe = { .log = log };
	_cleanup_service_ struct service *service = NULL;
	_cleanup_clients_ struct clients *clients = NULL;
	int r = service_new(log, on_reload, &probe, &service, err);

	if (r < 0)
		return r;
	r = clients_new(service_ready(service), log, &protocol, &limits, &probe, &clients);
	if (r < 0)
		return r;
	r = service_listen(service, "probe", path, 0666, clients, err);
	if (r < 0)
		return r;
	service_status(service, "generation %u", probe.generation);
	return service_run(service, err);
}

int main(int argc, char *argv[])
{
	_cleanup_(log_deinit) struct log log = { .journal_fd = -EBADF };
	_cleanup_text_ struct text message = TEXT_INIT;
	struct sbx_error err = { .code = 0 };
	int r;

	log_init(&log, "probe-daemon", 0, false, getenv("JOURNAL_STREAM"));
	r = run(&log, argc > 1 ? argv[1] : NULL, &err);
	if (r >= 0)
		return r;
	error_add_text(&message, "probe-daemon", &err);
	(void)fputs(text_string(&message), stderr);
	return 1;
}
