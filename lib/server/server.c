/* SPDX-License-Identifier: MIT */

/*
 * The server: its clients, the policy in force, and its replacement
 *
 * A reload loads, compiles and checks the new policy completely, starts its extensions, and judges
 * the tokens by it; only then does it switch one pointer. Everything runs in one thread between two
 * packets, so that one policy answers each packet and there is no moment without a policy.
 *
 * A client has one packet in work: while its answer waits for extensions, the server does not read
 * the next one.
 */

#include "server/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <systemd/sd-event.h>
#include <time.h>

#include <sbx/error.h>

#include "base/json.h"
#include "base/log.h"
#include "base/moment.h"
#include "base/process.h"
#include "base/text.h"
#include "extension/extension.h"
#include "policy/request.h"
#include "record/record.h"
#include "server/facts.h"
#include "server/generation.h"
#include "server/question.h"
#include "server/server-internal.h"
#include "server/watch.h"
#include "service/clients.h"
#include "service/peer.h"
#include "service/ready.h"
#include "service/service.h"
#include "token/token.h"

#define STATUS_USEC 1000000

struct connection {
	struct server *server;
	struct client *client;
	struct question question;
};

const uint8_t *server_digest(const struct server *server)
{
	return generation_digest(server->generation);
}

struct clients *server_clients(const struct server *server)
{
	return server->clients;
}

/*
 * Records: each decision with its complete input, so that a later policy can be replayed on it, and
 * all errors. No record contains the text of a token.
 */

static void begin_record(const struct server *server, struct text *record, struct json_writer *json,
			 const char *event)
{
	record_begin(server->options.recorder, record, json, event, server->options.tool);
}

static void add_peer(struct json_writer *json, const struct question *question)
{
	json_member_object(json, "peer");
	json_member_i64(json, "pid", question->asker.pid);
	json_member_u64(json, "uid", question->asker.uid);
	if (question->asker.place != PEER_BESIDE)
		json_member_string(json, "confined", peer_place_name(question->asker.place));
	if (question->sandbox_id[0] != '\0')
		json_member_string(json, "sandbox_id", question->sandbox_id);
	json_end_object(json);
}

void server_record_error(struct server *server, const struct question *question,
			 const struct sbx_error *what)
{
	_cleanup_text_ struct text record = TEXT_INIT;
	struct sbx_error err = { .code = 0 };
	struct json_writer json;

	begin_record(server, &record, &json, "policy_error");
	if (question)
		add_peer(&json, question);
	json_member_i64(&json, "code", what->code);
	json_member_string(&json, "what", what->what);
	json_member_string(&json, "why", what->why[0] != '\0' ? what->why : strerror(-what->code));
	/* The answer is deny in any case, so a record that cannot be sent is only logged. */
	if (record_send(server->options.recorder, &record, &json, &err) < 0)
		log_write(server->options.log, LOG_LEVEL_ERROR, NULL, "%s: %s; lost: %s", err.what,
			  strerror(-err.code), what->what);
}

static bool is_wanted(const struct server *server, enum policy_action verdict)
{
	return server->options.records == SERVER_RECORDS_ALL ||
	       (server->options.records == SERVER_RECORDS_DENIALS && verdict != POLICY_ALLOW);
}

int server_record_decision(struct server *server, const struct question *question,
			   enum policy_action verdict, struct sbx_error *err)
{
	_cleanup_text_ struct text record = TEXT_INIT;
	struct json_writer json;

	if (!is_wanted(server, verdict))
		return 0;
	begin_record(server, &record, &json, "policy_decision");
	add_peer(&json, question);
	record_add_members(&record, &json, question->answer.data, question->answer.len);
	return record_send(server->options.recorder, &record, &json, err);
}

int server_record_token(struct server *server, const struct question *question, const char *end,
			const struct token_info *info, struct sbx_error *err)
{
	_cleanup_text_ struct text record = TEXT_INIT;
	const struct token_terms *terms = &info->terms;
	struct json_writer json;

	begin_record(server, &record, &json, end ? "capability_expired" : "capability_issued");
	json_member_if_set(&json, "end", end);
	if (question)
		add_peer(&json, question);
	json_member_u64(&json, "nonce", info->nonce);
	if (info->parent_nonce)
		json_member_u64(&json, "parent", info->parent_nonce);
	json_member_i64(&json, "holder_pid", terms->pid);
	json_member_string(&json, "holder_sandbox_id", terms->sandbox_id);
	json_member_string(&json, "op", terms->operation);
	json_member_string(&json, "glob", terms->glob);
	json_member_u64(&json, "max_uses", terms->max_uses);
	if (end)
		json_member_u64(&json, "uses", info->uses);
	json_member_u64(&json, "ttl_usec", terms->ttl_usec);
	return record_send(server->options.recorder, &record, &json, err);
}

static int record_reload(struct server *server, const char *cause, const uint8_t before[32],
			 size_t n_tokens_ended, struct sbx_error *err)
{
	_cleanup_text_ struct text record = TEXT_INIT;
	struct json_writer json;

	begin_record(server, &record, &json, "policy_update");
	json_member_string(&json, "stage", "loaded");
	json_member_string(&json, "cause", cause);
	json_member_hex(&json, "previous", before, 32);
	json_member_hex(&json, "policy", server_digest(server), 32);
	json_member_u64(&json, "tokens_ended", n_tokens_ended);
	return record_send(server->options.recorder, &record, &json, err);
}

/* @event is "kernel_start" or "kernel_shutdown". */
static int record_life(struct server *server, const char *event, struct sbx_error *err)
{
	_cleanup_text_ struct text record = TEXT_INIT;
	struct json_writer json;

	begin_record(server, &record, &json, event);
	json_member_hex(&json, "policy", server_digest(server), 32);
	return record_send(server->options.recorder, &record, &json, err);
}

/* ---- its status ---- */

void server_add_status(const struct server *server, struct json_writer *json)
{
	json_member_hex(json, "policy", server_digest(server), 32);
	json_member_array(json, "files");
	for (size_t i = 0; i < server->options.n_policy_paths; i++)
		json_add_string(json, server->options.policy_paths[i]);
	json_end_array(json);
	json_member_object(json, "decisions");
	for (int verdict = POLICY_ALLOW; verdict <= POLICY_DENY; verdict++)
		json_member_u64(json, policy_action_name((enum policy_action)verdict),
				server->counts.n_verdicts[verdict]);
	json_end_object(json);
	json_member_u64(json, "errors", server->counts.n_errors);
	json_member_u64(json, "clients", clients_count(server->clients));
	json_member_u64(json, "tokens", token_count(server->tokens));
	json_member_u64(json, "extensions", server->generation->n_extensions);
	json_member_u64(json, "reloads", server->counts.n_reloads);
	json_member_u64(json, "failed_reloads", server->counts.n_failed_reloads);
	if (server->problem[0] != '\0')
		json_member_string(json, "problem", server->problem);
}

static void tell_status(struct server *server)
{
	const uint64_t *n = server->counts.n_verdicts;
	bool has_problem = server->problem[0] != '\0';
	_cleanup_text_ struct text digest = TEXT_INIT;

	if (!server->options.service)
		return;
	text_add_hex(&digest, server_digest(server), DIGEST_SIZE);
	service_status(server->options.service,
		       "policy %.12s: %llu allowed, %llu warned, %llu to review, %llu denied, "
		       "%llu errors; %zu clients%s%s",
		       text_string(&digest), (unsigned long long)n[POLICY_ALLOW],
		       (unsigned long long)n[POLICY_WARN], (unsigned long long)n[POLICY_REVIEW],
		       (unsigned long long)n[POLICY_DENY],
		       (unsigned long long)server->counts.n_errors, clients_count(server->clients),
		       has_problem ? "; the new policy is broken, the old one stays: " : "",
		       has_problem ? server->problem : "");
}

static int on_status_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct server *server = userdata;

	server->is_status_due = false;
	tell_status(server);
	return 0;
}

/* Updates the status soon, but at most once a second. */
static void status_changed(struct server *server)
{
	if (server->is_status_due)
		return;
	server->is_status_due = true;
	(void)sd_event_source_set_time_relative(server->status_timer, STATUS_USEC);
	(void)sd_event_source_set_enabled(server->status_timer, SD_EVENT_ONESHOT);
	ready_wake_loop(server->options.ready);
}

static int init_status(struct server *server)
{
	int r = sd_event_add_time_relative(server->options.event, &server->status_timer,
					   CLOCK_MONOTONIC, 0, 0, on_status_timer, server);

	server->is_status_due = r >= 0;
	/* Lowest priority: no client waits for the status. */
	return r < 0 ? r
		     : sd_event_source_set_priority(server->status_timer, SD_EVENT_PRIORITY_IDLE);
}

/* ---- the ends of tokens ---- */

/* Records the end of each token: from the timer if it expired or was used up, at once if it was
 * revoked or a reload ended it. */
static int on_token_end(const struct token_info *info, enum token_end how, void *userdata)
{
	struct server *server = userdata;
	struct sbx_error err = { .code = 0 };
	int r = server_record_token(server, NULL, token_end_name(how), info, &err);

	if (r < 0)
		log_write(server->options.log, LOG_LEVEL_ERROR, NULL, "%s: %s; token %llu ended",
			  err.what, strerror(-r), (unsigned long long)info->nonce);
	return r;
}

static int on_token_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct server *server = userdata;
	uint64_t next;

	next = token_tell_ended(server->tokens, moment_now(CLOCK_BOOTTIME));
	if (next == UINT64_MAX)
		return 0;
	(void)sd_event_source_set_time(source, next);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

void server_tokens_changed(struct server *server)
{
	(void)sd_event_source_set_time(server->token_timer, 0);
	(void)sd_event_source_set_enabled(server->token_timer, SD_EVENT_ONESHOT);
	ready_wake_loop(server->options.ready);
}

static int init_tokens(struct server *server)
{
	int r = sd_event_add_time(server->options.event, &server->token_timer, CLOCK_BOOTTIME, 0, 0,
				  on_token_timer, server);

	token_table_watch(server->tokens, on_token_end, server);
	return r < 0 ? r : sd_event_source_set_enabled(server->token_timer, SD_EVENT_OFF);
}

/* ---- clients ---- */

/* On a sandbox's socket the listener's name identifies the sandbox; its packets are not
 * believed. */
static int identify(const struct server *server, const struct client_origin *origin,
		    struct asker *ret)
{
	const struct peer *peer = origin->peer;
	const char *id = origin->listener + strlen(SERVER_SANDBOX_PREFIX);

	*ret = (struct asker){ .pid = peer->pid,
			       .uid = peer->uid,
			       .place = peer->place,
			       .is_trusted = origin->is_trusted };
	if (process_identify(peer->pid, peer->pidfd, &ret->process_id) < 0)
		ret->process_id = 0;
	if (strcmp(origin->listener, SERVER_MAIN_SOCKET) == 0)
		return 0;
	if (strncmp(origin->listener, SERVER_SANDBOX_PREFIX, strlen(SERVER_SANDBOX_PREFIX)) == 0)
		ret->facts = facts_find(server->options.sandboxes, id, strlen(id));
	return ret->facts ? 0 : -ENOENT;
}

/* An answer that lists thousands of matching rules can exceed the socket's send buffer
 * (EMSGSIZE). */
static void shorten(struct connection *connection)
{
	struct sbx_error err = { .code = 0 };

	(void)sbx_error_what(&err, -EMSGSIZE, "the answer is too long for one packet");
	sbx_error_why(&err, "%zu bytes", connection->question.answer.len);
	sbx_error_fix(&err, "send a shorter request, or combine rules of the policy");
	question_refuse(&connection->question, "error", &err);
}

static int send_text(struct client *client, const struct text *answer)
{
	int r = text_status(answer);

	return r < 0 ? r : client_reply(client, answer->data, answer->len, NULL, 0);
}

/* Out of memory for an answer: close the connection, which no client takes for a permission. */
static void send_answer(struct connection *connection)
{
	struct text *answer = &connection->question.answer;
	int r = send_text(connection->client, answer);

	if (r == -EMSGSIZE) {
		shorten(connection);
		r = send_text(connection->client, answer);
	}
	if (r < 0)
		client_end(connection->client);
	text_reset(answer);
}

static void on_votes(struct question *question, void *userdata)
{
	struct connection *connection = userdata;

	send_answer(connection);
	client_release(connection->client);
}

static int on_opened(void *service, struct client *client, const struct client_origin *origin,
		     void **ret_data)
{
	struct server *server = service;
	_cleanup_free_ struct connection *connection = calloc(1, sizeof(*connection));
	int r;

	if (!connection)
		return -ENOMEM;
	r = identify(server, origin, &connection->question.asker);
	if (r < 0)
		return r;
	connection->server = server;
	connection->client = client;
	connection->question.server = server;
	connection->question.done = on_votes;
	connection->question.userdata = connection;
	*ret_data = take_ptr(connection);
	status_changed(server);
	return 0;
}

static void on_message(void *data, const struct client_message *message)
{
	struct connection *connection = data;

	status_changed(connection->server);
	if (question_begin(&connection->question, message->bytes, message->n_bytes, 0) == 0)
		client_hold(connection->client);
	else
		send_answer(connection);
}

static void on_refuse(void *data, const struct sbx_error *why)
{
	struct connection *connection = data;

	status_changed(connection->server);
	connection->question.has_request = false;
	connection->question.sandbox_id = "";
	question_refuse(&connection->question, "bad_request", why);
	send_answer(connection);
}

static void on_closed(void *data)
{
	struct connection *connection = data;

	status_changed(connection->server);
	question_deinit(&connection->question);
	free(connection);
}

static const struct client_protocol protocol = {
	.trusted_listener = SERVER_MAIN_SOCKET,
	.opened = on_opened,
	.message = on_message,
	.refuse = on_refuse,
	.closed = on_closed,
};

/* Read one packet a turn: clients rarely have a second one queued, so a second recv() would mostly
 * return EAGAIN and cost more than the extra loop turns of the few that do. */
static int init_clients(struct server *server)
{
	const struct client_limits limits = { .n_clients = server->options.n_clients_max,
					      .idle_usec = CLIENTS_IDLE_USEC,
					      .n_bytes = REQUEST_BYTES_MAX,
					      .n_in_work = 1,
					      .n_per_turn = 1 };

	return clients_new(server->options.ready, server->options.log, &protocol, &limits, server,
			   &server->clients);
}

/* ---- the policy in force ---- */

static int on_extension(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	question_take_votes(userdata);
	return 0;
}

static int listen_to_extensions(struct server *server, struct generation *generation)
{
	for (size_t i = 0; i < generation->n_extensions; i++) {
		struct generation_extension *extension = &generation->extensions[i];
		int r = sd_event_add_io(server->options.event, &extension->source,
					extension_fd(extension->extension), EPOLLIN, on_extension,
					extension);

		if (r < 0)
			return r;
	}
	return 0;
}

static int load(struct server *server, struct generation **ret, struct sbx_error *err)
{
	_cleanup_generation_ struct generation *generation = NULL;
	int r = generation_load(server->options.policy_paths, server->options.n_policy_paths,
				server->options.environment, &generation, err);

	if (r < 0)
		return r;
	r = listen_to_extensions(server, generation);
	if (r < 0)
		return sbx_error_what(err, r, "cannot wait for the extensions");
	*ret = take_ptr(generation);
	return 0;
}

static bool survives(const struct token_info *info, void *userdata)
{
	return generation_check_token(userdata, &info->terms, NULL) == 0;
}

static size_t rejudge_tokens(struct server *server, struct generation *next)
{
	return token_rejudge(server->tokens, generation_digest(next), moment_now(CLOCK_BOOTTIME),
			     survives, next);
}

static int refuse(struct server *server, const struct sbx_error *why)
{
	server->counts.n_failed_reloads++;
	(void)snprintf(server->problem, sizeof(server->problem), "%s", why->what);
	server_record_error(server, NULL, why);
	log_write(server->options.log, LOG_LEVEL_ERROR, NULL,
		  "%s: %s; the policy that was loaded stays in force", why->what,
		  why->why[0] != '\0' ? why->why : strerror(-why->code));
	status_changed(server);
	return why->code;
}

static void put_into_force(struct server *server, struct generation *next, const char *cause)
{
	_cleanup_generation_ struct generation *before = server->generation;
	size_t n_tokens_ended = rejudge_tokens(server, next);
	struct sbx_error err = { .code = 0 };

	server->generation = next;
	server->counts.n_reloads++;
	/* The new policy may be stricter: it is in force even if the record cannot be written. */
	if (record_reload(server, cause, generation_digest(before), n_tokens_ended, &err) < 0)
		log_write(server->options.log, LOG_LEVEL_ERROR, NULL, "%s: %s", err.what,
			  strerror(-err.code));
	log_write(server->options.log, LOG_LEVEL_NOTICE, NULL,
		  "a new policy is in force; %zu tokens ended", n_tokens_ended);
}

int server_reload(struct server *server, const char *cause, struct sbx_error *err)
{
	_cleanup_generation_ struct generation *next = NULL;
	struct sbx_error why = { .code = 0 };
	int r;

	watch_policies(server);
	r = load(server, &next, &why);
	if (r < 0) {
		if (err)
			*err = why;
		return refuse(server, &why);
	}
	server->problem[0] = '\0';
	status_changed(server);
	if (memcmp(generation_digest(next), server_digest(server), 32) == 0)
		return 0;
	put_into_force(server, take_ptr(next), cause);
	return 1;
}

/* ---- life ---- */

int server_finish(struct server *server, struct sbx_error *err)
{
	return record_life(server, "kernel_shutdown", err);
}

struct server *server_free(struct server *server)
{
	if (!server)
		return NULL;
	(void)clients_free(server->clients);
	(void)watch_free(server->watches);
	(void)sd_event_source_disable_unref(server->status_timer);
	(void)sd_event_source_disable_unref(server->token_timer);
	(void)generation_unref(server->generation);
	(void)token_table_free(server->tokens);
	free(server);
	return NULL;
}

static int prepare(struct server *server)
{
	int r = token_table_new(&server->tokens);

	if (r < 0)
		return r;
	r = init_clients(server);
	if (r < 0)
		return r;
	r = init_status(server);
	return r < 0 ? r : init_tokens(server);
}

int server_new(const struct server_options *options, struct server **ret, struct sbx_error *err)
{
	_cleanup_server_ struct server *server = calloc(1, sizeof(*server));
	int r;

	if (!server)
		return sbx_error_what(err, -ENOMEM, "cannot start the server");
	server->options = *options;
	r = prepare(server);
	if (r < 0)
		return sbx_error_what(err, r, "cannot start the server");
	watch_policies(server);
	r = load(server, &server->generation, err);
	if (r < 0)
		return r;
	r = record_life(server, "kernel_start", err);
	if (r < 0)
		return r;
	status_changed(server);
	*ret = take_ptr(server);
	return 0;
}
