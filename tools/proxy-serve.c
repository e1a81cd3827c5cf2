/* SPDX-License-Identifier: MIT */

/*
 * sbx-proxy serve: workers for the sandboxes of this host, under the user of the service
 *
 * The process around lib/proxy/server.c. Options about connections are for the workers, which get
 * them on their command lines.
 */

#include "proxy.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "proxy/server.h"
#include "service/clients.h"

#include "tool.h"

#define SOCKET_MODE 0660
#define ARGUMENTS_MAX 16
#define PROGRAM "/proc/self/exe"

struct daemon {
	struct tool_run *run;
	const struct proxy_values *values;
	struct arena arena; /* of the arguments */
	const char *arguments[ARGUMENTS_MAX + 1];
	size_t n_arguments;
	bool no_memory;
	struct service *service;
	struct proxy_server *server;
};

static void daemon_deinit(struct daemon *daemon)
{
	(void)proxy_server_free(daemon->server);
	(void)service_free(daemon->service);
	arena_deinit(&daemon->arena);
}

/* ---- arguments of workers ---- */

static void add_argument(struct daemon *daemon, const struct text *word)
{
	char *copy =
		text_status(word) == 0 ? arena_copy(&daemon->arena, word->data, word->len) : NULL;

	daemon->no_memory |= !copy;
	if (copy && daemon->n_arguments < ARGUMENTS_MAX)
		daemon->arguments[daemon->n_arguments++] = copy;
}

static void pass_number(struct daemon *daemon, const char *name, uint64_t value, const char *unit)
{
	_cleanup_text_ struct text word = TEXT_INIT;

	if (value == 0)
		return;
	text_addf(&word, "--%s=%" PRIu64 "%s", name, value, unit);
	add_argument(daemon, &word);
}

static void pass_text(struct daemon *daemon, const char *name, const char *value)
{
	_cleanup_text_ struct text word = TEXT_INIT;

	if (!value)
		return;
	text_addf(&word, "--%s=%s", name, value);
	add_argument(daemon, &word);
}

static int pass_options(struct daemon *daemon, struct sbx_error *err)
{
	const struct proxy_values *values = daemon->values;

	pass_text(daemon, "dns", values->dns);
	pass_number(daemon, "max-connections", values->max_connections, "");
	pass_number(daemon, "max-bytes", values->max_bytes, "");
	pass_number(daemon, "rate", values->rate, "");
	pass_number(daemon, "head-timeout", values->head_usec, "us");
	pass_number(daemon, "idle-timeout", values->idle_usec, "us");
	return daemon->no_memory ? sbx_error_what(err, -ENOMEM, "cannot start the service") : 0;
}

/* ---- start ---- */

static int start(struct daemon *daemon, struct sbx_error *err)
{
	const struct proxy_values *values = daemon->values;
	struct proxy_server_options options = {
		.log = &daemon->run->log,
		.program = PROGRAM,
		.arguments = daemon->arguments,
		.environment = (const char *const *)environ,
		.n_clients_max = tool_or_usual(values->max_clients, CLIENTS_DEFAULT),
		.n_workers_max = tool_or_usual(values->max_workers, PROXY_WORKERS_DEFAULT),
		.n_workers_each_max =
			tool_or_usual(values->max_workers_each, PROXY_WORKERS_EACH_DEFAULT),
	};
	int r = pass_options(daemon, err);

	if (r >= 0)
		r = service_new(&daemon->run->log, NULL, NULL, &daemon->service, err);
	if (r < 0)
		return r;
	options.event = service_event(daemon->service);
	options.ready = service_ready(daemon->service);
	options.service = daemon->service;
	r = proxy_server_new(&options, &daemon->server, err);
	return r < 0 ? r
		     : service_listen_usual(daemon->service, PROXY_SERVER_SOCKET, values->socket,
					    SOCKET_MODE, proxy_server_clients(daemon->server), err);
}

int proxy_verb_serve(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	static const char *const used[] = { "dns",	    "max-connections", "max-bytes", "rate",
					    "head-timeout", "idle-timeout",    NULL };
	struct tool_run *run = context;
	_cleanup_(daemon_deinit) struct daemon daemon = { .run = run,
							  .values = run->values,
							  .arena = ARENA_INIT };
	int r = proxy_refuse_unused(run->values, used, "sbx-proxy serve", err);

	if (r < 0)
		return TOOL_USAGE;
	(void)signal(SIGPIPE, SIG_IGN);
	r = start(&daemon, err);
	if (r < 0)
		return r == -EINVAL || r == -ENOENT || r == -EEXIST ? TOOL_USAGE : r;
	return service_run(daemon.service, err);
}
