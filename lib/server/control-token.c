/* SPDX-License-Identifier: MIT */

/*
 * Tokens by control packet
 *
 * Whoever issues a token names a process that it knows to be alive: its own child, or itself. Where
 * a rule denies something in its scope it cannot be issued, because it goes past all rules; what
 * they have reviewed, allow only with a token or say nothing about, can.
 */

#include "server/control-internal.h"

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

#include "base/json.h"
#include "base/units.h"
#include "policy/decide.h"
#include "server/generation.h"
#include "server/process.h"
#include "server/question.h"
#include "server/server-internal.h"

#define TOKENS_PER_PACKET 100
#define LIST_BYTES_MAX 65536

static int wrong(struct sbx_error *err, int code, const char *why, const char *fix)
{
	(void)sbx_error_what(err, code, "cannot do that with a token");
	sbx_error_why(err, "%s", why);
	sbx_error_fix(err, "%s", fix);
	return code;
}

/* The process that "pid" names, and its sandbox. */
static int read_holder(const struct control *control, struct token_terms *terms,
		       struct sbx_error *err)
{
	uint64_t pid = 0;
	int r = control_number(control, "pid", &pid, err);

	if (r >= 0)
		r = control_text(control, "sandbox_id", &terms->sandbox_id, err);
	if (r < 0)
		return r;
	if (!terms->sandbox_id)
		terms->sandbox_id = "";
	if (pid == 0 || pid > INT32_MAX)
		return wrong(err, -EINVAL, "no process is named", "add \"pid\"");
	terms->pid = (pid_t)pid;
	r = process_identify(terms->pid, -EBADF, &terms->process_id);
	return r < 0 ? wrong(err, r, "there is no such process", "name one that is running") : 0;
}

static int read_ttl(const struct control *control, uint64_t *ret, struct sbx_error *err)
{
	const char *ttl = NULL;
	int r = control_text(control, "ttl", &ttl, err);

	return r < 0 || !ttl ? r : units_parse_time(ttl, ret, err);
}

/* What nobody says of a narrower token must not be more than its parent has left. */
static void set_defaults(const struct control *control, const char *from, struct token_terms *terms)
{
	uint64_t now_usec = control->question->now_usec;
	struct token_info parent;

	terms->max_uses = TOKEN_USES_DEFAULT;
	terms->ttl_usec = TOKEN_TTL_DEFAULT_USEC;
	/* Whether it has ended is said when it is narrowed. */
	if (!from || token_get(control->question->server->tokens, from, &parent) < 0 ||
	    parent.expires_usec <= now_usec || parent.terms.max_uses <= parent.uses)
		return;
	if (parent.terms.max_uses - parent.uses < terms->max_uses)
		terms->max_uses = parent.terms.max_uses - parent.uses;
	if (parent.expires_usec - now_usec < terms->ttl_usec)
		terms->ttl_usec = parent.expires_usec - now_usec;
}

static int read_terms(const struct control *control, struct token_terms *ret, const char **ret_from,
		      struct sbx_error *err)
{
	int r = read_holder(control, ret, err);

	if (r >= 0)
		r = control_text(control, "from", ret_from, err);
	if (r < 0)
		return r;
	set_defaults(control, *ret_from, ret);
	r = control_text(control, "op", &ret->operation, err);
	if (r >= 0)
		r = control_text(control, "glob", &ret->glob, err);
	if (r >= 0)
		r = control_text(control, "project", &ret->project_root, err);
	if (r >= 0)
		r = control_number(control, "uses", &ret->max_uses, err);
	return r < 0 ? r : read_ttl(control, &ret->ttl_usec, err);
}

static void add_info(struct json_writer *json, const struct token_info *info, uint64_t now_usec)
{
	const struct token_terms *terms = &info->terms;
	_cleanup_text_ struct text left = TEXT_INIT;

	units_add_time(&left, (info->expires_usec - now_usec) / 1000 * 1000);
	json_member_string(json, "token", info->text);
	json_member_u64(json, "nonce", info->nonce);
	json_member_i64(json, "pid", terms->pid);
	json_member_string(json, "sandbox_id", terms->sandbox_id);
	json_member_string(json, "op", terms->operation);
	if (terms->glob)
		json_member_string(json, "glob", terms->glob);
	if (terms->project_root)
		json_member_string(json, "project", terms->project_root);
	json_member_u64(json, "uses", info->uses);
	json_member_u64(json, "max_uses", terms->max_uses);
	json_member_string(json, "expires_in", text_string(&left));
	if (info->parent_nonce)
		json_member_u64(json, "parent", info->parent_nonce);
}

int control_token_issue(struct control *control, struct sbx_error *err)
{
	struct question *question = control->question;
	struct server *server = question->server;
	struct token_terms terms = { .pid = 0 };
	struct token_info info;
	const char *from = NULL;
	int r = read_terms(control, &terms, &from, err);

	if (r < 0)
		return r;
	r = token_check_terms(&terms, question->now_usec, err);
	if (r >= 0)
		r = generation_check_token(server->generation, &terms, err);
	if (r < 0)
		return r;
	r = from ? token_narrow(server->tokens, from, &terms, question->now_usec, &info, err)
		 : token_issue(server->tokens, &terms, generation_digest(server->generation),
			       question->now_usec, &info, err);
	if (r < 0)
		return r;
	r = server_record_token(server, question, NULL, &info, err);
	/* A token that nobody can trace does not exist. */
	if (r < 0) {
		(void)token_revoke(server->tokens, info.text);
		return r;
	}
	add_info(&control->json, &info, question->now_usec);
	server_tokens_changed(server);
	return 0;
}

int control_token_check(struct control *control, struct sbx_error *err)
{
	struct server *server = control->question->server;
	struct token_terms holder = { .pid = 0 };
	struct policy_request request = { .operation = NULL };
	enum token_refusal refusal;
	const char *token = NULL;
	uint64_t port = UINT64_MAX;
	int r = read_holder(control, &holder, err);

	if (r >= 0)
		r = control_text(control, "token", &token, err);
	if (r >= 0)
		r = control_text(control, "op", &request.operation, err);
	if (r >= 0)
		r = control_text(control, "path", &request.path, err);
	if (r >= 0)
		r = control_text(control, "host", &request.host, err);
	if (r >= 0)
		r = control_text(control, "project", &request.project_root, err);
	if (r >= 0)
		r = control_number(control, "port", &port, err);
	if (r < 0)
		return r;
	if (!token)
		return wrong(err, -EINVAL, "no token is named", "add \"token\"");
	request.has_port = port <= UINT16_MAX;
	request.port = request.has_port ? (uint16_t)port : 0;
	refusal = token_check(server->tokens, token, holder.sandbox_id, holder.process_id, &request,
			      generation_digest(server->generation), control->question->now_usec);
	json_member_bool(&control->json, "valid", refusal == TOKEN_VALID);
	json_member_string(&control->json, "token", token_refusal_name(refusal));
	return 0;
}

int control_token_revoke(struct control *control, struct sbx_error *err)
{
	struct server *server = control->question->server;
	struct token_info info;
	const char *token = NULL;
	int r = control_text(control, "token", &token, err);

	if (r < 0)
		return r;
	if (!token || token_get(server->tokens, token, &info) < 0)
		return wrong(err, -ENOENT, "it is not known", "it has ended already, or never was");
	/* A revocation counts even where no record can be written. */
	r = token_revoke(server->tokens, token);
	return r < 0 ? sbx_error_what(err, r, "the token has ended, but no record says so") : 0;
}

struct listing {
	struct json_writer *json;
	uint64_t after;
	uint64_t now_usec;
	uint64_t last;
	size_t n;
	bool has_more;
};

static void list_token(const struct token_info *info, void *userdata)
{
	struct listing *listing = userdata;

	if (info->nonce <= listing->after)
		return;
	if (listing->has_more || listing->n == TOKENS_PER_PACKET ||
	    listing->json->out->len > LIST_BYTES_MAX) {
		listing->has_more = true;
		return;
	}
	listing->n++;
	listing->last = info->nonce;
	json_add_object(listing->json);
	add_info(listing->json, info, listing->now_usec);
	json_end_object(listing->json);
}

int control_token_list(struct control *control, struct sbx_error *err)
{
	struct listing listing = { .json = &control->json,
				   .now_usec = control->question->now_usec };
	int r = control_number(control, "after", &listing.after, err);

	if (r < 0)
		return r;
	json_add_name(&control->json, "tokens");
	json_add_array(&control->json);
	token_list(control->question->server->tokens, listing.now_usec, list_token, &listing);
	json_end_array(&control->json);
	if (listing.has_more)
		json_member_u64(&control->json, "after", listing.last);
	return 0;
}
