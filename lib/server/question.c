/* SPDX-License-Identifier: MIT */

/*
 * From a packet to a decision
 *
 * The order is fixed: parse the packet, replace its claims about the sender by the facts, read the
 * clock once, check the token, decide, ask the extensions if they can still change the verdict,
 * write the record, and only then answer. An error at any step makes the answer "deny".
 *
 * When the extensions have answered, the server decides again: other questions have overwritten the
 * engine's scratch memory meanwhile. The same request on the same generation gets the same
 * decision.
 */

#include "server/question.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sbx/error.h>

#include "base/json.h"
#include "base/moment.h"
#include "extension/extension.h"
#include "server/facts.h"
#include "server/generation.h"
#include "server/server-internal.h"

struct vote_slot {
	uint64_t number; /* 0: answered */
	enum policy_action action;
	bool has_reason;
	struct text reason;
};

/* Reads the clock at most once a packet, and only if the decision depends on time. */
static void take_time(struct question *question)
{
	if (question->now_usec == 0)
		question->now_usec = moment_now(CLOCK_BOOTTIME);
}

/* Same as = { 0 }, but does not write 2 KiB for every packet. */
static void begin_error(struct sbx_error *err)
{
	err->code = 0;
	err->what[0] = err->why[0] = err->fix[0] = err->context[0] = '\0';
}

static void stop_waiting(struct question *question)
{
	struct generation *generation = question->generation;

	if (!generation)
		return;
	for (struct question **at = &generation->waiting; *at; at = &(*at)->next)
		if (*at == question) {
			*at = question->next;
			break;
		}
	for (size_t i = 0; i < generation->n_extensions; i++)
		text_deinit(&question->slots[i].reason);
	free(take_ptr(question->slots));
	question->n_open = 0;
	question->generation = generation_unref(generation);
}

void question_deinit(struct question *question)
{
	stop_waiting(question);
	request_deinit(&question->request);
	text_deinit(&question->answer);
}

/* ---- answers ---- */

void question_refuse(struct question *question, const char *cause, const struct sbx_error *err)
{
	struct json_writer json;

	server_record_error(question->server, question, err);
	question->server->counts.n_errors++;
	text_reset(&question->answer);
	json_write(&json, &question->answer);
	json_add_object(&json);
	if (question->has_request && question->request.id) {
		json_add_name(&json, "id");
		json_add_raw(&json, question->request.id, strlen(question->request.id));
	}
	json_member_string(&json, "verdict", "deny");
	json_member_string(&json, "cause", cause);
	json_member_array(&json, "reasons");
	json_add_string(&json, err->what);
	if (err->why[0] != '\0')
		json_add_string(&json, err->why);
	json_end_array(&json);
	if (err->fix[0] != '\0')
		json_member_string(&json, "fix", err->fix);
	json_member_hex(&json, "policy", server_digest(question->server), 32);
	json_end_object(&json);
}

/* Reports how the token was judged, so that a caller whose token has ended can ask for another. */
static void add_token(struct question *question)
{
	struct text *answer = &question->answer;

	if (!question->request.token)
		return;
	text_truncate(answer, answer->len - 1);
	text_addf(answer, ",\"token\":\"%s\"", token_refusal_name(question->token));
	if (question->token_nonce > 0)
		text_addf(answer, ",\"token_nonce\":%llu",
			  (unsigned long long)question->token_nonce);
	text_add_char(answer, '}');
}

static void answer(struct question *question, const struct generation *generation,
		   const struct policy_decision *decision)
{
	struct text *answer = &question->answer;
	struct sbx_error err;

	begin_error(&err);
	text_reset(answer);
	decision_add_json(answer, &generation->artefact, &question->request, decision);
	if (text_status(answer) < 0) {
		text_deinit(answer);
		(void)sbx_error_what(&err, -ENOMEM, "the decision does not fit into memory");
		question_refuse(question, "error", &err);
		return;
	}
	while (answer->len > 0 && answer->data[answer->len - 1] == '\n')
		text_truncate(answer, answer->len - 1);
	add_token(question);
	if (server_record_decision(question->server, question, decision->verdict, &err) < 0)
		question_refuse(question, "error", &err);
	else
		question->server->counts.n_verdicts[decision->verdict]++;
}

/* ---- tokens ---- */

/* Asks no rule: a token whose scope meets a deny rule is never issued, and a reload ends it. */
static enum token_refusal judge_token(const struct question *question)
{
	const struct server *server = question->server;

	return token_check(server->tokens, question->request.token, question->sandbox_id,
			   question->asker.process_id, &question->request.request,
			   generation_digest(server->generation), question->now_usec);
}

/* The number by which records name a token; 0 if the token is not valid. */
static uint64_t nonce_of(const struct question *question)
{
	struct token_info info;

	return question->token == TOKEN_VALID && token_get(question->server->tokens,
							   question->request.token, &info) == 0
		       ? info.nonce
		       : 0;
}

/* Counts a use only if the token improved the verdict from review or deny. */
static int use_token(struct question *question, const struct policy_decision *decision)
{
	enum token_refusal refusal;

	if (!question->request.request.has_token || decision->verdict >= POLICY_REVIEW)
		return 0;
	refusal = token_use(question->server->tokens, question->request.token, question->sandbox_id,
			    question->asker.process_id, &question->request.request,
			    generation_digest(question->server->generation), question->now_usec);
	if (refusal != TOKEN_VALID)
		return -EKEYREJECTED;
	/* This was the token's last use. */
	if (judge_token(question) != TOKEN_VALID)
		server_tokens_changed(question->server);
	return 0;
}

/* ---- extensions ---- */

static void store_vote(struct vote_slot *slot, const struct policy_vote *vote)
{
	slot->number = 0;
	slot->action = vote->action;
	slot->has_reason = vote->reason != NULL;
	text_add(&slot->reason, vote->reason ? vote->reason : "");
	/* Out of memory for the reason: the vote still counts. */
	if (text_status(&slot->reason) < 0)
		slot->has_reason = false;
}

static void finish(struct question *question)
{
	struct generation *generation = question->generation;
	_cleanup_free_ struct policy_vote *votes = calloc(generation->n_extensions, sizeof(*votes));
	struct policy_decision decision;
	struct sbx_error err = { .code = 0 };

	if (!votes) {
		(void)sbx_error_what(&err, -ENOMEM, "cannot gather the extensions' votes");
		question_refuse(question, "error", &err);
		return;
	}
	for (size_t i = 0; i < generation->n_extensions; i++)
		votes[i] = (struct policy_vote){
			.extension = extension_name(generation->extensions[i].extension),
			.action = question->slots[i].action,
			.reason = question->slots[i].has_reason
					  ? text_string(&question->slots[i].reason)
					  : NULL,
		};
	policy_decide(generation->engine, &question->request.request, &decision);
	policy_add_votes(&decision, votes, generation->n_extensions);
	answer(question, generation, &decision);
}

/* 1 if every extension failed at once, 0 if at least one will answer. */
static int ask_extensions(struct question *question)
{
	struct generation *generation = question->server->generation;
	_cleanup_text_ struct text input = TEXT_INIT;
	struct policy_vote vote;

	request_add_json(&input, &question->request);
	question->slots = calloc(generation->n_extensions, sizeof(*question->slots));
	if (text_status(&input) < 0 || !question->slots) {
		free(take_ptr(question->slots));
		return -ENOMEM;
	}
	question->generation = generation_ref(generation);
	question->next = generation->waiting;
	generation->waiting = question;
	for (size_t i = 0; i < generation->n_extensions; i++) {
		struct vote_slot *slot = &question->slots[i];

		slot->number = extension_submit(generation->extensions[i].extension, input.data,
						input.len, &vote);
		if (slot->number == 0)
			store_vote(slot, &vote);
		question->n_open += slot->number != 0;
	}
	if (question->n_open > 0)
		return 0;
	finish(question);
	stop_waiting(question);
	return 1;
}

static void take_vote(struct generation_extension *extension, uint64_t number,
		      const struct policy_vote *vote)
{
	struct question *question = extension->generation->waiting;

	while (question && question->slots[extension->index].number != number)
		question = question->next;
	/* The question's client may have disconnected. */
	if (!question)
		return;
	store_vote(&question->slots[extension->index], vote);
	if (--question->n_open > 0)
		return;
	finish(question);
	stop_waiting(question);
	question->done(question, question->userdata);
}

void question_take_votes(struct generation_extension *extension)
{
	/* The last vote may drop the last reference to an old generation: hold one until the
	 * end. */
	_cleanup_generation_ struct generation *kept = generation_ref(extension->generation);
	struct extension *program = kept->extensions[extension->index].extension;
	struct policy_vote vote;
	uint64_t number;

	while (extension_next(program, &number, &vote) > 0)
		take_vote(extension, number, &vote);
}

/* ---- decide ---- */

static void overrule(struct question *question)
{
	struct request_buffer *request = &question->request;

	request->request.has_token = false;
	if (!question->asker.is_trusted)
		facts_overrule(question->asker.facts, request);
	question->sandbox_id = request->sandbox_id ? request->sandbox_id : "";
}

static int decide(struct question *question, struct sbx_error *err)
{
	struct generation *generation = question->server->generation;
	struct request_buffer *request = &question->request;
	struct policy_decision decision;
	int r;

	if (request->token) {
		take_time(question);
		question->token = judge_token(question);
		question->token_nonce = nonce_of(question);
		request->request.has_token = question->token == TOKEN_VALID;
	}
	policy_decide(generation->engine, &request->request, &decision);
	r = use_token(question, &decision);
	if (r == 0 && generation->n_extensions > 0 && policy_wants_votes(&decision)) {
		r = ask_extensions(question);
		if (r >= 0)
			return r;
	}
	if (r < 0) {
		(void)sbx_error_what(err, r, "cannot evaluate the request");
		return r;
	}
	answer(question, generation, &decision);
	return 1;
}

int question_begin(struct question *question, const void *packet, size_t n_bytes, uint64_t now_usec)
{
	struct sbx_error err;
	int r;

	begin_error(&err);
	question->now_usec = now_usec;
	question->sandbox_id = "";
	question->has_request = false;
	if (n_bytes <= REQUEST_BYTES_MAX && control_is_packet(packet, n_bytes)) {
		take_time(question);
		control_answer(question, packet, n_bytes);
		return 1;
	}
	r = request_parse(packet, n_bytes, &question->request, &err);
	if (r < 0) {
		question_refuse(question, "bad_request", &err);
		return 1;
	}
	question->has_request = true;
	overrule(question);
	r = decide(question, &err);
	if (r < 0) {
		question_refuse(question, "error", &err);
		return 1;
	}
	return r;
}
