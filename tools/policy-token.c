/* SPDX-License-Identifier: MIT */

/*
 * sbx-policy token: capability tokens of a running service
 *
 * The table of tokens is only in the service; this sends requests. issue prints only the token, so
 * that a script can store it.
 */

#include "policy.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/json.h"
#include "base/suggest.h"
#include "base/tree.h"
#include "base/units.h"
#include "server/server.h"
#include "service/service.h"

#include "tool.h"

/* One request to a running service: connect, send, receive, parse */

#define ANSWER_MAX (256 * 1024)
#define WAIT_SECONDS 10
#define ERRNO_MAX 4095

static int fail(int code, const char *path, struct sbx_error *err)
{
	/* -ENOENT may be an answer of the service, so a missing service is -ENOTCONN. */
	(void)error_fill(err, code == -ENOENT ? -ENOTCONN : code, strerror(-code),
			 code == -EACCES
				 ? "run this as root or as the service's own user"
				 : "start it with 'sbx-policy serve FILE', or name its socket "
				   "with --socket",
			 "cannot ask the service at '%s'", path);
	return code == -ENOENT || code == -EACCES ? -ENOTCONN : code;
}

static int open_connection(const char *path, struct sbx_error *err)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	const struct timeval wait = { .tv_sec = WAIT_SECONDS };
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (fd < 0)
		return fail(-errno, path, err);
	if (strlen(path) >= sizeof(address.sun_path))
		return fail(-ENAMETOOLONG, path, err);
	memcpy(address.sun_path, path, strlen(path));
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) < 0 ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return fail(-errno, path, err);
	return take_fd(&fd);
}

static int exchange(const char *path, const struct text *packet, struct text *ret_answer,
		    struct sbx_error *err)
{
	_cleanup_close_ int fd = open_connection(path, err);
	_cleanup_free_ char *bytes = malloc(ANSWER_MAX);
	ssize_t n;

	if (fd < 0)
		return fd;
	if (!bytes || text_status(packet) < 0)
		return sbx_error_what(err, -ENOMEM, "cannot ask the service");
	if (send(fd, packet->data, packet->len, MSG_NOSIGNAL) < 0)
		return fail(-errno, path, err);
	n = recv(fd, bytes, ANSWER_MAX, MSG_TRUNC);
	if (n <= 0 || n > ANSWER_MAX)
		return fail(n < 0 ? -errno : n == 0 ? -ECONNRESET : -EMSGSIZE, path, err);
	text_add_bytes(ret_answer, bytes, (size_t)n);
	return text_status(ret_answer);
}

static const char *text_of(const struct tree *tree, const char *key)
{
	const struct tree_node *node = tree_get(tree, tree_root(tree), key);

	return node && node->type == TREE_STRING ? node->text : NULL;
}

/* A negative errno, or 0 for every other number. */
static int read_code(const char *text)
{
	long code = strtol(text, NULL, 10);

	return code < 0 && code >= -ERRNO_MAX ? (int)code : 0;
}

/* {"ok":false,"code":...,"what":...}, or a decision: the answer to a client without permission to
 * control. */
static int read_refusal(const struct tree *tree, struct sbx_error *err)
{
	const struct tree_node *root = tree_root(tree), *code, *reasons;
	const char *what = text_of(tree, "what"), *why = text_of(tree, "why");
	int r;

	code = tree_get(tree, root, "code");
	reasons = tree_get(tree, root, "reasons");
	r = code ? read_code(code->text) : -EPERM;
	if (!what && reasons && reasons->first) {
		what = reasons->first->text;
		why = reasons->first->next ? reasons->first->next->text : NULL;
	}
	return error_fill(err, r < 0 ? r : -EPROTO, why, text_of(tree, "fix"), "%s",
			  what ? what : "the service did not do it");
}

/*
 * The verbs
 */

const struct option_spec policy_token_options[] = {
	OPTION("socket", 0, OPTION_PATH, socket, "PATH", "the service's main socket"),
	OPTION("pid", 0, OPTION_NUMBER, pid, "PID", "the process that uses it",
	       .is_above_zero = true),
	OPTION("sandbox-id", 0, OPTION_STRING, sandbox_id, "ID", "the process's sandbox"),
	OPTION("glob", 0, OPTION_STRING, glob, "GLOB", "the paths, or HOST[:PORT]"),
	OPTION("project", 0, OPTION_PATH, project, "DIR", "where a relative glob begins"),
	OPTION("uses", 0, OPTION_STRING, uses, "N", "how often it can be used (1)"),
	OPTION("ttl", 0, OPTION_STRING, ttl, "TIME", "how long it lives (30s)"),
	OPTION("from", 0, OPTION_STRING, from, "TOKEN", "derive a narrower token from this one"),
	OPTION_END,
};

struct asking {
	struct tool_run *run;
	const struct policy_values *values;
	struct text packet;
	struct json_writer json;
	struct text answer;
	struct tree *tree;
};

static void begin(struct asking *asking, const char *what)
{
	text_reset(&asking->packet);
	json_write(&asking->json, &asking->packet);
	json_add_object(&asking->json);
	json_member_string(&asking->json, "do", what);
}

/* The given value, even 0: the service reports what is wrong with it. */
static int add_count(struct asking *asking, const char *name, const char *value,
		     struct sbx_error *err)
{
	uint64_t count = 0;
	int r = value ? units_parse_count(value, &count, err) : 0;

	if (value && r >= 0)
		json_member_u64(&asking->json, name, count);
	return r;
}

/*
 * Sends the packet to the service and reads its answer, an object. If the answer is an error
 * ("ok":false, or a refusal), it is stored in @err and its code returned.
 */
static int ask(struct asking *asking, struct sbx_error *err)
{
	_cleanup_text_ struct text usual = TEXT_INIT;
	_cleanup_tree_ struct tree *tree = NULL;
	const char *path = asking->values->socket;
	const struct tree_node *ok;
	int r = path ? 0 : service_add_path(&usual, SERVER_MAIN_SOCKET, err);

	json_end_object(&asking->json);
	asking->tree = tree_free(asking->tree);
	text_reset(&asking->answer);
	if (r < 0)
		return r;
	r = exchange(path ? path : text_string(&usual), &asking->packet, &asking->answer, err);
	if (r < 0)
		return r;
	r = tree_read("<answer>", asking->answer.data, asking->answer.len, &tree, err);
	if (r < 0)
		return r;
	ok = tree_root(tree)->type == TREE_MAP ? tree_get(tree, tree_root(tree), "ok") : NULL;
	if (!ok || strcmp(ok->text, "true") != 0)
		return read_refusal(tree, err);
	asking->tree = take_ptr(tree);
	return 0;
}

static const char *answer_text(const struct asking *asking, const struct tree_node *map,
			       const char *key)
{
	const struct tree_node *node = tree_get(asking->tree, map, key);

	return node ? node->text : "";
}

/* With --json the whole answer, else @text. */
static void show_answer(const struct asking *asking, const char *text)
{
	struct text *out = &asking->run->out;

	if (asking->run->json)
		text_add_bytes(out, asking->answer.data, asking->answer.len);
	else
		text_add_visible_string(out, text);
	text_add_char(out, '\n');
}

static int refuse_answer(const char *why, struct sbx_error *err)
{
	return error_fill(err, -EPROTO, why, "check what listens at the socket",
			  "cannot understand the answer of the service");
}

/* The token, or its state. */
static int show_token(const struct asking *asking, const char **ret, struct sbx_error *err)
{
	const char *token = text_of(asking->tree, "token");

	if (!token || token[0] == '\0')
		return refuse_answer("it has no token", err);
	show_answer(asking, token);
	*ret = token;
	return 0;
}

static int check_pid(const struct policy_values *values, struct sbx_error *err)
{
	if (values->pid > 0)
		return 0;
	return error_fill(err, -EINVAL, "none was named", "add --pid=PID",
			  "a token belongs to one process");
}

static void add_holder(struct asking *asking)
{
	json_member_u64(&asking->json, "pid", asking->values->pid);
	json_member_if_set(&asking->json, "sandbox_id", asking->values->sandbox_id);
}

/* token issue OPERATION */
static int issue(struct asking *asking, char *operands[], struct sbx_error *err)
{
	const struct policy_values *values = asking->values;
	const char *token;
	int r = check_pid(values, err);

	if (r < 0)
		return r;
	begin(asking, "token.issue");
	add_holder(asking);
	json_member_if_set(&asking->json, "op", operands[0]);
	json_member_if_set(&asking->json, "glob", values->glob);
	json_member_if_set(&asking->json, "project", values->project);
	r = add_count(asking, "uses", values->uses, err);
	if (r < 0)
		return r;
	json_member_if_set(&asking->json, "ttl", values->ttl);
	json_member_if_set(&asking->json, "from", values->from);
	r = ask(asking, err);
	if (r == 0)
		r = show_token(asking, &token, err);
	return r < 0 ? r : TOOL_YES;
}

/* token check TOKEN OPERATION [ARGUMENT [WORD...]] */
static int check(struct asking *asking, char *operands[], size_t n_operands, struct sbx_error *err)
{
	_cleanup_request_ struct request_buffer buffer = { .id = NULL };
	const struct policy_request *request = &buffer.request;
	const char *state = "";
	int r = check_pid(asking->values, err);

	if (r >= 0)
		r = words_read(operands + 1, n_operands - 1, &buffer, err);
	if (r < 0)
		return r;
	begin(asking, "token.check");
	json_member_if_set(&asking->json, "token", operands[0]);
	add_holder(asking);
	json_member_if_set(&asking->json, "op", request->operation);
	json_member_if_set(&asking->json, "path", request->path);
	json_member_if_set(&asking->json, "host", request->host);
	json_member_if_set(&asking->json, "project", request->project_root);
	if (request->has_port)
		json_member_u64(&asking->json, "port", request->port);
	r = ask(asking, err);
	if (r == 0)
		r = show_token(asking, &state, err);
	if (r < 0)
		return r;
	return strcmp(state, "valid") == 0 ? TOOL_YES : TOOL_NO;
}

/* token revoke TOKEN */
static int revoke_token(struct asking *asking, char *operands[], struct sbx_error *err)
{
	begin(asking, "token.revoke");
	json_member_if_set(&asking->json, "token", operands[0]);
	return ask(asking, err);
}

static void print_token(const struct asking *asking, const struct tree_node *token)
{
	static const struct {
		const char *before, *key;
	} parts[] = {
		{ "", "token" },	  { " ", "op" },
		{ " ", "glob" },	  { " pid ", "pid" },
		{ " in ", "sandbox_id" }, { ", ", "uses" },
		{ " of ", "max_uses" },	  { " used, ", "expires_in" },
	};
	struct text *out = &asking->run->out;

	for (size_t i = 0; i < N_ELEMENTS(parts); i++) {
		const char *text = answer_text(asking, token, parts[i].key);

		if (text[0] == '\0' && strcmp(parts[i].key, "sandbox_id") == 0)
			continue;
		text_add(out, parts[i].before);
		text_add_visible_string(out, text);
	}
	text_add(out, " left\n");
}

/* A service that does not count on would be asked without end. */
static int read_after(const struct tree_node *after, uint64_t *last, struct sbx_error *err)
{
	uint64_t before = *last;
	int r = units_parse_count(after->text, last, err);

	if (r < 0 || *last > before)
		return r;
	return refuse_answer("it names the same tokens again", err);
}

/* A hundred tokens in each request, because an answer is one packet. */
static int list(struct asking *asking, struct sbx_error *err)
{
	const struct tree_node *after = NULL;
	uint64_t last = 0;
	int r;

	do {
		begin(asking, "token.list");
		if (last > 0)
			json_member_u64(&asking->json, "after", last);
		r = ask(asking, err);
		if (r < 0)
			return r;
		if (asking->run->json) {
			show_answer(asking, "");
		} else {
			const struct tree_node *tokens =
				tree_get(asking->tree, tree_root(asking->tree), "tokens");

			for (tokens = tokens ? tokens->first : NULL; tokens; tokens = tokens->next)
				print_token(asking, tokens);
		}
		after = tree_get(asking->tree, tree_root(asking->tree), "after");
		if (after)
			r = read_after(after, &last, err);
	} while (after && r >= 0);
	return r;
}

static int do_it(struct asking *asking, int n_operands, char *operands[], struct sbx_error *err)
{
	static const char *const names[] = { "issue", "check", "revoke", "list", NULL };
	static const int n_least[] = { 1, 2, 1, 0 }, n_most[] = { 1, 64, 1, 0 };
	size_t which = 0;

	while (names[which] && strcmp(names[which], operands[0]) != 0)
		which++;
	if (!names[which] || n_operands - 1 < n_least[which] || n_operands - 1 > n_most[which]) {
		(void)error_fill(err, -EINVAL,
				 names[which] ? "it was given too many words, or too few"
					      : "there is no such thing to do with tokens",
				 "write 'issue OPERATION', 'check TOKEN OPERATION [WORD...]', "
				 "'revoke TOKEN' or 'list'",
				 "cannot understand 'token %s'", operands[0]);
		if (!names[which])
			suggest_fix_from(err, operands[0], names);
		return -EINVAL;
	}
	if (which == 0)
		return issue(asking, operands + 1, err);
	if (which == 1)
		return check(asking, operands + 1, (size_t)n_operands - 1, err);
	return which == 2 ? revoke_token(asking, operands + 1, err) : list(asking, err);
}

int policy_verb_token(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	struct asking asking = { .run = run, .values = run->values };
	int r = do_it(&asking, n_operands, operands, err);

	tree_free(asking.tree);
	text_deinit(&asking.packet);
	text_deinit(&asking.answer);
	if (r == -EINVAL)
		return TOOL_USAGE;
	return r == -EACCES || r == -ENOENT || r == -EPERM || r == -EKEYEXPIRED || r == -ESRCH
		       ? TOOL_NO
		       : r;
}
