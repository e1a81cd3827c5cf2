/* SPDX-License-Identifier: MIT */

/*
 * sbx-policy serve: decisions over a socket
 *
 * The process around lib/server: sockets, loop, and the target of records.
 */

#include "policy.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "record/record.h"
#include "server/facts.h"
#include "server/server.h"
#include "service/clients.h"
#include "service/service.h"

#include "tool.h"

#define MAIN_MODE 0660
/* Each process that can reach the file speaks for the sandbox, so its directory must restrict
 * access: the uid of a sandboxed process depends on its user namespace. */
#define SANDBOX_MODE 0666

static const char *const record_names[] = {
	[SERVER_RECORDS_NONE] = "none",
	[SERVER_RECORDS_DENIALS] = "denials",
	[SERVER_RECORDS_ALL] = "all",
	NULL,
};

const struct option_spec policy_serve_options[] = {
	OPTION("socket", 0, OPTION_PATH, socket, "PATH", "where to listen"),
	OPTION("sandbox", 0, OPTION_LIST, sandboxes, "ID[=PATH]", "a socket of one sandbox"),
	OPTION("fact", 0, OPTION_LIST, facts, "ID:NAME=VALUE", "an attribute of a sandbox"),
	OPTION("record", 0, OPTION_CHOICE, record, "WHAT", "which decisions to record (denials)",
	       .choices = record_names),
	OPTION_AUDIT_FD,
	OPTION("max-clients", 0, OPTION_NUMBER, max_clients, "N",
	       "maximum number of clients (1024)", .is_above_zero = true),
	OPTION_END,
};

/* Members of the service, freed by daemon_deinit() in this order. */
struct daemon {
	struct tool_run *run;
	const struct policy_values *values;
	struct recorder recorder;
	struct facts *sandboxes;
	struct service *service;
	struct server *server;
};

static void daemon_deinit(struct daemon *daemon)
{
	(void)server_free(daemon->server);
	(void)service_free(daemon->service);
	recorder_deinit(&daemon->recorder);
	facts_free_all(&daemon->sandboxes);
}

static int on_reload(struct service *service, void *userdata)
{
	const struct daemon *daemon = userdata;
	int r = server_reload(daemon->server, "signal", NULL);

	return r < 0 ? r : 0;
}

/* ---- sandboxes ---- */

static int add_sandbox(struct daemon *daemon, const char *word, struct sbx_error *err)
{
	_cleanup_free_ char *id = strndup(word, strcspn(word, "="));
	struct facts *facts;

	return id ? facts_add(&daemon->sandboxes, id, &facts, err)
		  : sbx_error_what(err, -ENOMEM, "cannot serve the sandbox '%s'", word);
}

static int add_fact(struct daemon *daemon, const char *word, struct sbx_error *err)
{
	size_t len = strcspn(word, ":");
	struct facts *facts = facts_find(daemon->sandboxes, word, len);

	if (facts && word[len] == ':')
		return facts_set(facts, word + len + 1, err);
	return error_fill(err, -EINVAL,
			  "it does not begin with the id of a sandbox that has a socket here",
			  "write --sandbox=ID=PATH and --fact=ID:NAME=VALUE",
			  "cannot use the fact '%s'", word);
}

static int listen_for_sandbox(struct daemon *daemon, const char *word, struct sbx_error *err)
{
	_cleanup_text_ struct text name = TEXT_INIT;
	size_t len = strcspn(word, "=");

	text_add(&name, SERVER_SANDBOX_PREFIX);
	text_add_bytes(&name, word, len);
	if (text_status(&name) < 0)
		return sbx_error_what(err, -ENOMEM, "cannot listen for '%s'", word);
	return service_listen(daemon->service, text_string(&name),
			      word[len] == '=' ? word + len + 1 : NULL, SANDBOX_MODE,
			      server_clients(daemon->server), err);
}

static enum server_records which_records(const char *name)
{
	for (int i = SERVER_RECORDS_NONE; name && i <= SERVER_RECORDS_ALL; i++)
		if (strcmp(record_names[i], name) == 0)
			return (enum server_records)i;
	return SERVER_RECORDS_DENIALS;
}

static int start(struct daemon *daemon, const char *const *paths, size_t n_paths,
		 struct sbx_error *err)
{
	const struct policy_values *values = daemon->values;
	struct server_options options = {
		.log = &daemon->run->log,
		.tool = "sbx-policy",
		.policy_paths = paths,
		.n_policy_paths = n_paths,
		.recorder = &daemon->recorder,
		.records = which_records(values->record),
		.n_clients_max = values->max_clients ? values->max_clients : CLIENTS_DEFAULT,
	};
	int r = recorder_open(&daemon->recorder, values->audit_fd, environ, err);

	for (size_t i = 0; r >= 0 && i < values->sandboxes.n_items; i++)
		r = add_sandbox(daemon, values->sandboxes.items[i], err);
	for (size_t i = 0; r >= 0 && i < values->facts.n_items; i++)
		r = add_fact(daemon, values->facts.items[i], err);
	if (r >= 0)
		r = service_new(&daemon->run->log, on_reload, daemon, &daemon->service, err);
	/* A mistake must not leave a record of a start. */
	if (r >= 0)
		r = service_check_usual(daemon->service, SERVER_MAIN_SOCKET, values->socket, err);
	if (r < 0)
		return r;
	options.event = service_event(daemon->service);
	options.ready = service_ready(daemon->service);
	options.service = daemon->service;
	options.sandboxes = daemon->sandboxes;
	options.environment = environ;
	r = server_new(&options, &daemon->server, err);
	if (r >= 0)
		r = service_listen_usual(daemon->service, SERVER_MAIN_SOCKET, values->socket,
					 MAIN_MODE, server_clients(daemon->server), err);
	for (size_t i = 0; r >= 0 && i < values->sandboxes.n_items; i++)
		r = listen_for_sandbox(daemon, values->sandboxes.items[i], err);
	return r;
}

int policy_verb_serve(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	_cleanup_(daemon_deinit) struct daemon daemon = { .run = run,
							  .values = run->values,
							  .recorder = RECORDER_INIT };
	int r = policy_check_stdin(run->values, (size_t)n_operands, operands, false, err), last;

	if (r < 0)
		return TOOL_USAGE;
	/* A record that cannot be written makes the answer "deny"; the service continues. */
	(void)signal(SIGPIPE, SIG_IGN);
	r = start(&daemon, (const char *const *)operands, (size_t)n_operands, err);
	if (r < 0 && daemon.server)
		(void)server_finish(daemon.server, NULL);
	if (r < 0)
		return r == -EINVAL || r == -ENOENT || r == -EEXIST ? TOOL_USAGE : r;
	r = service_run(daemon.service, err);
	last = server_finish(daemon.server, r < 0 ? NULL : err);
	return r < 0 || last >= 0 ? r : last;
}
