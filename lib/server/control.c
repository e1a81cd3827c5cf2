/* SPDX-License-Identifier: MIT */

/*
 * Packets that control the service, dispatched by one table
 *
 *   {"do":"status"}  {"do":"reload"}  {"do":"token.list","after":NONCE}
 *   {"do":"token.issue","pid":N,"sandbox_id":ID,"op":OP,"glob":GLOB,"project":ROOT,"uses":N,
 *    "ttl":"30s","from":TOKEN}
 *   {"do":"token.check","token":TOKEN,"pid":N,"sandbox_id":ID,"op":OP,"path":PATH,...}
 *   {"do":"token.revoke","token":TOKEN}
 *
 * The server answers {"ok":true,...}, or {"ok":false,"what":...,"why":...,"fix":...}.
 *
 * A peer that is not trusted gets a refusal, which is recorded, before its packet is parsed.
 *
 * A token is issued for a process that the caller knows to be alive: its own child, or itself. A
 * valid token overrides the rules, so none is issued whose scope a deny rule touches. Where rules
 * want a review or a token, or do not match, one can be issued.
 */

#include "server/server-internal.h"

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

#include "base/error.h"
#include "base/json.h"
#include "base/process.h"
#include "base/tree.h"
#include "base/units.h"
#include "policy/decide.h"
#include "server/generation.h"
#include "server/question.h"

#define KEYS_MAX 12
#define TOKENS_PER_PACKET 100
#define LIST_BYTES_MAX 65536

struct control {
	struct question *question;
	const struct tree *tree;
	struct json_writer json; /* the answer after {"ok":true */
	bool is_recorded;	 /* its failure was recorded already */
};

typedef int control_fn(struct control *control, struct sbx_error *err);

bool control_is_packet(const void *packet, size_t n_bytes)
{
	const char *bytes = packet;
	struct json_scanner scanner;
	struct json_item item;

	/* Fast path: nearly all packets are requests, whose first name begins with another
	 * letter. */
	if (n_bytes > 2 && bytes[0] == '{' && bytes[1] == '"' && bytes[2] != 'd' &&
	    bytes[2] != '\\')
		return false;
	json_scan(&scanner, packet, n_bytes);
	return json_next(&scanner, &item) == 1 && item.kind == JSON_OBJECT_BEGIN &&
	       json_next(&scanner, &item) == 1 && item.kind == JSON_NAME &&
	       json_equals(&item, "do");
}

/* *@ret is NULL if the key is absent. */
static int get_text(const struct control *control, const char *key, const char **ret,
		    struct sbx_error *err)
{
	const struct tree_node *node = tree_get(control->tree, tree_root(control->tree), key);

	if (node && node->type != TREE_STRING)
		return tree_wrong_type(control->tree, node, TREE_STRING, err);
	*ret = node ? node->text : NULL;
	return 0;
}

struct text_key {
	const char *name;
	const char **ret;
};

/* @keys ends with an entry whose name is NULL. */
static int get_texts(const struct control *control, const struct text_key *keys,
		     struct sbx_error *err)
{
	for (; keys->name; keys++) {
		int r = get_text(control, keys->name, keys->ret, err);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Leaves *@ret unchanged if the key is absent. */
static int get_number(const struct control *control, const char *key, uint64_t *ret,
		      struct sbx_error *err)
{
	const struct tree_node *node = tree_get(control->tree, tree_root(control->tree), key);

	if (!node)
		return 0;
	if (node->type != TREE_NUMBER)
		return tree_wrong_type(control->tree, node, TREE_NUMBER, err);
	return units_parse_count(node->text, ret, err);
}

/* ---- tokens ---- */

static int wrong(struct sbx_error *err, int code, const char *why, const char *fix)
{
	return error_fill(err, code, why, fix, "cannot carry out the request for a token");
}

/* Fills in the process that "pid" names, and its sandbox. */
static int read_holder(const struct control *control, struct token_terms *terms,
		       struct sbx_error *err)
{
	uint64_t pid = 0;
	int r = get_number(control, "pid", &pid, err);

	if (r < 0)
		return r;
	r = get_text(control, "sandbox_id", &terms->sandbox_id, err);
	if (r < 0)
		return r;
	if (!terms->sandbox_id)
		terms->sandbox_id = "";
	if (pid == 0 || pid > INT32_MAX)
		return wrong(err, -EINVAL, "no process is named", "add \"pid\"");
	terms->pid = (pid_t)pid;
	r = process_identify(terms->pid, -EBADF, &terms->process_id);
	return r < 0 ? wrong(err, r, "no such process exists", "name one that is running") : 0;
}

static int read_ttl(const struct control *control, uint64_t *ret, struct sbx_error *err)
{
	const char *ttl = NULL;
	int r = get_text(control, "ttl", &ttl, err);

	return r < 0 || !ttl ? r : units_parse_time(ttl, ret, err);
}

/* Defaults "uses" and "ttl": a token narrowed from @from must not get more than its parent has
 * left. */
static void set_defaults(const struct control *control, const char *from, struct token_terms *terms)
{
	uint64_t now_usec = control->question->now_usec;
	struct token_info parent;

	terms->max_uses = TOKEN_USES_DEFAULT;
	terms->ttl_usec = TOKEN_TTL_DEFAULT_USEC;
	/* Leave a parent that has ended to token_narrow(), which refuses it. */
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
	const struct text_key texts[] = {
		{ "from", ret_from },	{ "op", &ret->operation },
		{ "glob", &ret->glob }, { "project", &ret->project_root },
		{ NULL, NULL },
	};
	int r = read_holder(control, ret, err);

	if (r < 0)
		return r;
	r = get_texts(control, texts, err);
	if (r < 0)
		return r;
	set_defaults(control, *ret_from, ret);
	r = get_number(control, "uses", &ret->max_uses, err);
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
	json_member_if_set(json, "glob", terms->glob);
	json_member_if_set(json, "project", terms->project_root);
	json_member_u64(json, "uses", info->uses);
	json_member_u64(json, "max_uses", terms->max_uses);
	json_member_string(json, "expires_in", text_string(&left));
	if (info->parent_nonce)
		json_member_u64(json, "parent", info->parent_nonce);
}

static int issue_token(struct control *control, struct sbx_error *err)
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
	if (r < 0)
		return r;
	r = generation_check_token(server->generation, &terms, err);
	if (r < 0)
		return r;
	r = from ? token_narrow(server->tokens, from, &terms, question->now_usec, &info, err)
		 : token_issue(server->tokens, &terms, generation_digest(server->generation),
			       question->now_usec, &info, err);
	if (r < 0)
		return r;
	r = server_record_token(server, question, NULL, &info, err);
	/* Do not hand out a token of which no record was written. */
	if (r < 0) {
		(void)token_revoke(server->tokens, info.text);
		return r;
	}
	add_info(&control->json, &info, question->now_usec);
	server_tokens_changed(server);
	return 0;
}

static int check_token(struct control *control, struct sbx_error *err)
{
	struct server *server = control->question->server;
	struct token_terms holder = { .pid = 0 };
	struct policy_request request = { .operation = NULL };
	enum token_refusal refusal;
	const char *token = NULL;
	uint64_t port = UINT64_MAX;
	const struct text_key texts[] = {
		{ "token", &token },
		{ "op", &request.operation },
		{ "path", &request.path },
		{ "host", &request.host },
		{ "project", &request.project_root },
		{ NULL, NULL },
	};
	int r = read_holder(control, &holder, err);

	if (r < 0)
		return r;
	r = get_texts(control, texts, err);
	if (r < 0)
		return r;
	r = get_number(control, "port", &port, err);
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

static int revoke_token(struct control *control, struct sbx_error *err)
{
	struct server *server = control->question->server;
	struct token_info info;
	const char *token = NULL;
	int r = get_text(control, "token", &token, err);

	if (r < 0)
		return r;
	if (!token || token_get(server->tokens, token, &info) < 0)
		return wrong(err, -ENOENT, "this token is not known",
			     "it has expired, was revoked, or was never issued");
	/* Revoke first: the token ends even if no record can be written. */
	r = token_revoke(server->tokens, token);
	return r < 0 ? sbx_error_what(err, r,
				      "the token is revoked, but no record of it was written")
		     : 0;
}

struct listing {
	struct json_writer *json;
	uint64_t after;
	uint64_t now_usec;
	uint64_t last;
	size_t n;
	bool has_more;
};

static void add_listed(const struct token_info *info, void *userdata)
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

static int list_tokens(struct control *control, struct sbx_error *err)
{
	struct listing listing = { .json = &control->json,
				   .now_usec = control->question->now_usec };
	int r = get_number(control, "after", &listing.after, err);

	if (r < 0)
		return r;
	json_member_array(&control->json, "tokens");
	token_list(control->question->server->tokens, listing.now_usec, add_listed, &listing);
	json_end_array(&control->json);
	if (listing.has_more)
		json_member_u64(&control->json, "after", listing.last);
	return 0;
}

/* ---- actions ---- */

static int reload(struct control *control, struct sbx_error *err)
{
	int r = server_reload(control->question->server, "request", err);

	control->is_recorded = true;
	if (r >= 0)
		json_member_bool(&control->json, "changed", r > 0);
	return r;
}

static int status(struct control *control, struct sbx_error *err)
{
	server_add_status(control->question->server, &control->json);
	return 0;
}

static const struct action {
	const char *name;
	const char *keys[KEYS_MAX]; /* ends with NULL */
	control_fn *run;
} actions[] = {
	{ "reload", { "do", NULL }, reload },
	{ "status", { "do", NULL }, status },
	{ "token.issue",
	  { "do", "pid", "sandbox_id", "op", "glob", "project", "uses", "ttl", "from", NULL },
	  issue_token },
	{ "token.check",
	  { "do", "token", "pid", "sandbox_id", "op", "path", "host", "port", "project", NULL },
	  check_token },
	{ "token.revoke", { "do", "token", NULL }, revoke_token },
	{ "token.list", { "do", "after", NULL }, list_tokens },
};

static int run(struct control *control, struct sbx_error *err)
{
	const char *name = NULL;
	int r = get_text(control, "do", &name, err);

	if (r < 0)
		return r;
	if (!name)
		name = "";
	for (size_t i = 0; i < N_ELEMENTS(actions); i++) {
		if (strcmp(actions[i].name, name) != 0)
			continue;
		r = tree_check_keys(control->tree, tree_root(control->tree), actions[i].keys, err);
		return r < 0 ? r : actions[i].run(control, err);
	}
	return error_fill(err, -EINVAL, "this service has no such action",
			  "ask for status, reload, or token.issue, .check, .revoke or .list",
			  "cannot carry out the action '%.64s'", name);
}

static void add_failure(struct text *out, const struct sbx_error *err)
{
	struct json_writer json;

	text_reset(out);
	json_write(&json, out);
	json_add_object(&json);
	json_member_bool(&json, "ok", false);
	json_member_i64(&json, "code", err->code);
	json_member_string(&json, "what", err->what);
	if (err->why[0] != '\0')
		json_member_string(&json, "why", err->why);
	if (err->fix[0] != '\0')
		json_member_string(&json, "fix", err->fix);
	json_end_object(&json);
}

static int act(struct control *control, const void *packet, size_t n_bytes, struct sbx_error *err)
{
	struct text *answer = &control->question->answer;
	_cleanup_tree_ struct tree *tree = NULL;
	int r = tree_read("<packet>", packet, n_bytes, &tree, err);

	if (r < 0)
		return r;
	text_reset(answer);
	json_write(&control->json, answer);
	json_add_object(&control->json);
	json_member_bool(&control->json, "ok", true);
	control->tree = tree;
	r = run(control, err);
	json_end_object(&control->json);
	if (r >= 0 && text_status(answer) < 0)
		return sbx_error_what(err, -ENOMEM, "the answer does not fit into memory");
	return r;
}

static void refuse(struct question *question)
{
	static const char *const reasons[] = {
		[PEER_BESIDE] = "only root and the service's own user may, on its main socket",
		[PEER_UNKNOWN] = "the user namespace of the peer is not known: it has ended, or "
				 "/proc does not show it",
		[PEER_IN_NAMESPACE] = "the peer is in another user namespace, as in a sandbox: "
				      "whatever its user, it is not trusted",
		[PEER_IN_SANDBOX] = "the peer is in the cgroup of a sandbox: whatever its user, "
				    "it is not trusted",
	};
	struct sbx_error err = { .code = 0 };

	(void)error_fill(&err, -EPERM, reasons[question->asker.place], NULL,
			 "cannot control the service");
	question_refuse(question, "error", &err);
}

void control_answer(struct question *question, const void *packet, size_t n_bytes)
{
	struct control control = { .question = question };
	struct sbx_error err = { .code = 0 };

	if (!question->asker.is_trusted) {
		refuse(question);
		return;
	}
	if (act(&control, packet, n_bytes, &err) >= 0)
		return;
	if (question->answer.failed)
		text_deinit(&question->answer);
	if (!control.is_recorded)
		server_record_error(question->server, question, &err);
	question->server->counts.n_errors++;
	add_failure(&question->answer, &err);
}
