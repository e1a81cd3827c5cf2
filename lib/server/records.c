/* SPDX-License-Identifier: MIT */

/*
 * The server's records: each decision with its complete input, so that a later policy can be
 * replayed on it, and all errors. No record contains the text of a token.
 */

#include "server/server-internal.h"

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

#include "base/json.h"
#include "base/log.h"
#include "record/record.h"
#include "server/question.h"

static void begin(const struct server *server, struct text *record, struct json_writer *json,
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

	begin(server, &record, &json, "policy_error");
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
	begin(server, &record, &json, "policy_decision");
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

	begin(server, &record, &json, end ? "capability_expired" : "capability_issued");
	if (end)
		json_member_string(&json, "end", end);
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

int server_record_reload(struct server *server, const char *cause, const uint8_t before[32],
			 size_t n_tokens_ended, struct sbx_error *err)
{
	_cleanup_text_ struct text record = TEXT_INIT;
	struct json_writer json;

	begin(server, &record, &json, "policy_update");
	json_member_string(&json, "stage", "loaded");
	json_member_string(&json, "cause", cause);
	json_member_hex(&json, "previous", before, 32);
	json_member_hex(&json, "policy", server_digest(server), 32);
	json_member_u64(&json, "tokens_ended", n_tokens_ended);
	return record_send(server->options.recorder, &record, &json, err);
}

int server_record_life(struct server *server, const char *event, struct sbx_error *err)
{
	_cleanup_text_ struct text record = TEXT_INIT;
	struct json_writer json;

	begin(server, &record, &json, event);
	json_member_hex(&json, "policy", server_digest(server), 32);
	return record_send(server->options.recorder, &record, &json, err);
}
