/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The server's state, shared by the files of lib/server
 */

#include <stdbool.h>

#include <sbx/error.h>

#include "policy/model.h"
#include "server/server.h"

struct generation;
struct json_writer;
struct question;
struct sd_event_source;
struct token_info;
struct token_table;
struct watch;

struct counts {
	uint64_t n_verdicts[POLICY_DENY + 1];
	uint64_t n_errors;
	uint64_t n_reloads;
	uint64_t n_failed_reloads;
};

struct server {
	struct server_options options;
	struct generation *generation; /* a reload changes only this pointer */
	struct token_table *tokens;
	struct counts counts;
	struct clients *clients;
	struct watch *watches; /* a list: the policy's files and the links on their paths */
	struct sd_event_source *status_timer;
	struct sd_event_source *token_timer; /* rings when the next token expires */
	bool is_status_due;		     /* the timer runs */
	char problem[SBX_ERROR_TEXT_SIZE];   /* why the last reload failed, or "" */
};

/* To be called after a token was issued or has used up its uses. */
void server_tokens_changed(struct server *server);
void server_add_status(const struct server *server, struct json_writer *json);

/* control.c: is the packet an object whose first name is "do"? */
bool control_is_packet(const void *packet, size_t n_bytes);
void control_answer(struct question *question, const void *packet, size_t n_bytes);

/* Records; each is 0 or negative errno. */
void server_record_error(struct server *server, const struct question *question,
			 const struct sbx_error *what);
/* Records the decision, if verdicts of this kind are recorded. */
int server_record_decision(struct server *server, const struct question *question,
			   enum policy_action verdict, struct sbx_error *err);
/* @end says why the token ended; NULL: it was issued. @question may be NULL. */
int server_record_token(struct server *server, const struct question *question, const char *end,
			const struct token_info *info, struct sbx_error *err);
