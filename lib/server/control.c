/* SPDX-License-Identifier: MIT */

/*
 * Control packets: one table. Only a trusted asker gets here at all; everybody else is denied as
 * for any other thing that they may not do, and the attempt is recorded.
 */

#include "server/control.h"

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

#include "base/json.h"
#include "base/units.h"
#include "server/control-internal.h"
#include "server/question.h"
#include "server/server-internal.h"

#define KEYS_MAX 12

bool control_is_packet(const void *packet, size_t n_bytes)
{
	const char *bytes = packet;
	struct json_scanner scanner;
	struct json_item item;

	/* As nearly all packets begin that are none. */
	if (n_bytes > 2 && bytes[0] == '{' && bytes[1] == '"' && bytes[2] != 'd' &&
	    bytes[2] != '\\')
		return false;
	json_scan(&scanner, packet, n_bytes);
	return json_next(&scanner, &item) == 1 && item.kind == JSON_OBJECT_BEGIN &&
	       json_next(&scanner, &item) == 1 && item.kind == JSON_NAME &&
	       json_equals(&item, "do");
}

int control_text(const struct control *control, const char *key, const char **ret,
		 struct sbx_error *err)
{
	const struct tree_node *node = tree_get(control->tree, tree_root(control->tree), key);

	if (node && node->type != TREE_STRING)
		return tree_wrong_type(control->tree, node, TREE_STRING, err);
	*ret = node ? node->text : NULL;
	return 0;
}

int control_number(const struct control *control, const char *key, uint64_t *ret,
		   struct sbx_error *err)
{
	const struct tree_node *node = tree_get(control->tree, tree_root(control->tree), key);

	if (!node)
		return 0;
	if (node->type != TREE_NUMBER)
		return tree_wrong_type(control->tree, node, TREE_NUMBER, err);
	return units_parse_count(node->text, ret, err);
}

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
	  control_token_issue },
	{ "token.check",
	  { "do", "token", "pid", "sandbox_id", "op", "path", "host", "port", "project", NULL },
	  control_token_check },
	{ "token.revoke", { "do", "token", NULL }, control_token_revoke },
	{ "token.list", { "do", "after", NULL }, control_token_list },
};

static int run(struct control *control, struct sbx_error *err)
{
	const char *name = NULL;
	int r = control_text(control, "do", &name, err);

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
	(void)sbx_error_what(err, -EINVAL, "cannot do '%.64s'", name);
	sbx_error_why(err, "that is not something this service does");
	sbx_error_fix(err, "ask for status, reload, or token.issue, .check, .revoke or .list");
	return -EINVAL;
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
		[PLACE_BESIDE] = "only root and the service's own user may, on its main socket",
		[PLACE_UNKNOWN] = "the user namespace of the peer is not known: it has ended, or "
				  "/proc does not show it",
		[PLACE_IN_NAMESPACE] = "the peer is in another user namespace, as in a sandbox: "
				       "whatever its user, it is not trusted",
		[PLACE_IN_SANDBOX] = "the peer is in the cgroup of a sandbox: whatever its user, "
				     "it is not trusted",
	};
	struct sbx_error err = { .code = 0 };

	(void)sbx_error_what(&err, -EPERM, "cannot control the service");
	sbx_error_why(&err, "%s", reasons[question->asker.place]);
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
