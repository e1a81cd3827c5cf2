/* SPDX-License-Identifier: MIT */

/*
 * The texts of the hand-over: one table of members for each kind of object, by which it is written
 * and read
 *
 * Every text has a greatest length, so that what one side stores for the other one is bounded
 */

#include "registry/handover.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include <sbx/error.h>

#include "base/error.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/text.h"
#include "base/tree.h"
#include "base/units.h"
#include "registry/registry.h"

#define PATH_BYTES_MAX 4096
#define NAME_BYTES_MAX 1024
#define WORD_BYTES_MAX 64
/* A part of an error; bytes that are not UTF-8 have become U+FFFD. */
#define ERROR_BYTES_MAX ((size_t)3 * SBX_ERROR_TEXT_SIZE)
#define MEMBERS_MAX 8

enum member_type {
	MEMBER_TEXT,  /* const char * */
	MEMBER_PORT,  /* uint16_t */
	MEMBER_COUNT, /* uint64_t */
	MEMBER_LIMIT, /* struct handover_limit */
};

struct member {
	const char *name;
	enum member_type type;
	size_t offset;
	size_t max; /* bytes of a text */
	bool is_optional;
};

static const struct member head_members[] = {
	{ "sandbox", MEMBER_TEXT, offsetof(struct handover, sandbox), SANDBOX_ID_MAX, false },
	{ "project", MEMBER_TEXT, offsetof(struct handover, project), PATH_BYTES_MAX, true },
	{ "digest", MEMBER_TEXT, offsetof(struct handover, digest), HANDOVER_DIGEST_LEN, false },
	{ "policy", MEMBER_TEXT, offsetof(struct handover, policy), PATH_BYTES_MAX, false },
	{ .name = NULL },
};

static const struct member listener_members[] = {
	{ "address", MEMBER_TEXT, offsetof(struct handover_listener, address), 107, false },
	{ "port", MEMBER_PORT, offsetof(struct handover_listener, port), 0, true },
	{ .name = NULL },
};

static const struct member limit_members[] = {
	{ "connections", MEMBER_LIMIT, offsetof(struct handover_limits, connections), 0, true },
	{ "bytes", MEMBER_LIMIT, offsetof(struct handover_limits, bytes), 0, true },
	{ "rate", MEMBER_LIMIT, offsetof(struct handover_limits, rate), 0, true },
	{ .name = NULL },
};

static const struct member denial_members[] = {
	{ "host", MEMBER_TEXT, offsetof(struct handover_denial, host), 253, false },
	{ "port", MEMBER_PORT, offsetof(struct handover_denial, port), 0, true },
	{ "reason", MEMBER_TEXT, offsetof(struct handover_denial, reason), WORD_BYTES_MAX, false },
	{ "rule", MEMBER_TEXT, offsetof(struct handover_denial, rule), NAME_BYTES_MAX, true },
	{ "why", MEMBER_TEXT, offsetof(struct handover_denial, why), NAME_BYTES_MAX, true },
	{ "fix", MEMBER_TEXT, offsetof(struct handover_denial, fix), NAME_BYTES_MAX, true },
	{ "count", MEMBER_COUNT, offsetof(struct handover_denial, count), 0, false },
	{ .name = NULL },
};

static const struct member error_members[] = {
	{ "what", MEMBER_TEXT, 0 * sizeof(const char *), ERROR_BYTES_MAX, false },
	{ "why", MEMBER_TEXT, 1 * sizeof(const char *), ERROR_BYTES_MAX, true },
	{ "fix", MEMBER_TEXT, 2 * sizeof(const char *), ERROR_BYTES_MAX, true },
	{ "context", MEMBER_TEXT, 3 * sizeof(const char *), ERROR_BYTES_MAX, true },
	{ .name = NULL },
};

static const char *const listener_kinds[N_HANDOVER_LISTENER_KINDS] = { [HANDOVER_HTTP] = "http" };

/* ---- writing ---- */

static void add_member(struct json_writer *json, const struct member *member, const void *at)
{
	const char *text = member->type == MEMBER_TEXT ? *(const char *const *)at : NULL;
	const struct handover_limit *limit = at;

	if (member->type == MEMBER_TEXT && text)
		json_member_string(json, member->name, text);
	else if (member->type == MEMBER_PORT && (*(const uint16_t *)at || !member->is_optional))
		json_member_u64(json, member->name, *(const uint16_t *)at);
	else if (member->type == MEMBER_COUNT)
		json_member_u64(json, member->name, *(const uint64_t *)at);
	else if (member->type == MEMBER_LIMIT && limit->is_set)
		json_member_u64(json, member->name, limit->value);
}

static void add_members(struct json_writer *json, const struct member *members, const void *object)
{
	for (; members->name; members++)
		add_member(json, members, (const char *)object + members->offset);
}

static void add_listener(struct json_writer *json, const struct handover_listener *listener)
{
	json_add_object(json);
	json_member_string(json, "kind", listener_kinds[listener->kind]);
	add_members(json, listener_members, listener);
	json_end_object(json);
}

void handover_add_text(struct text *out, const struct handover *handover)
{
	struct json_writer json;

	json_begin_object(&json, out);
	json_member_string(&json, "type", "LISTENERS");
	add_members(&json, head_members, handover);
	json_member_array(&json, "listeners");
	for (size_t i = 0; i < handover->n_listeners; i++)
		add_listener(&json, &handover->listeners[i]);
	json_end_array(&json);
	json_member_object(&json, "limits");
	add_members(&json, limit_members, &handover->limits);
	json_end_object(&json);
	json_end_object(&json);
}

static void add_counters(struct json_writer *json, const struct handover_summary *summary)
{
	json_member_object(json, "counters");
	for (size_t i = 0; i < summary->n_counters; i++)
		json_member_u64(json, summary->counters[i].name, summary->counters[i].value);
	json_end_object(json);
}

/* The rest of a summary needs less than half of a packet. */
static size_t add_denials(struct json_writer *json, const struct handover_summary *summary)
{
	size_t begin = json->out->len, i;

	json_member_array(json, "denials");
	for (i = 0; i < summary->n_denials; i++) {
		struct json_writer before = *json;
		size_t len = json->out->len;

		json_add_object(json);
		add_members(json, denial_members, &summary->denials[i]);
		json_end_object(json);
		if (json->out->len - begin > HANDOVER_BYTES_MAX / 2) {
			text_truncate(json->out, len);
			*json = before;
			break;
		}
	}
	json_end_array(json);
	return i;
}

void handover_add_summary(struct text *out, const struct handover_summary *summary)
{
	struct json_writer json;
	size_t n;

	json_begin_object(&json, out);
	json_member_bool(&json, "ok", true);
	n = add_denials(&json, summary);
	json_member_u64(&json, "n_denials_left_out",
			summary->n_denials_left_out + (summary->n_denials - n));
	add_counters(&json, summary);
	json_end_object(&json);
}

/* ---- reading ---- */

struct reading {
	const struct tree *tree;
	struct arena *arena;
	struct sbx_error *err;
};

static int refuse(const struct reading *reading, const struct tree_node *node, const char *what)
{
	(void)tree_error(reading->tree, node->place, reading->err, "%s", what);
	return -EBADMSG;
}

/* Only members of these two lists may be in @map. */
static int check_names(const struct reading *reading, const struct tree_node *map,
		       const struct member *members, const char *const *others)
{
	const char *known[2 * MEMBERS_MAX + 1] = { NULL };
	size_t n = 0;

	if (map->type != TREE_MAP)
		return refuse(reading, map, "it must be an object");
	for (; members && members->name; members++)
		known[n++] = members->name;
	for (; others && *others; others++)
		known[n++] = *others;
	return tree_check_keys(reading->tree, map, known, reading->err) < 0 ? -EBADMSG : 0;
}

static int read_number(const struct reading *reading, const struct tree_node *node, uint64_t most,
		       uint64_t *ret)
{
	if (node->type != TREE_NUMBER || units_parse_count(node->text, ret, NULL) < 0 ||
	    *ret > most)
		return refuse(reading, node, "the number is out of its range");
	return 0;
}

static int read_text(const struct reading *reading, const struct tree_node *node,
		     const struct member *member, const char **ret)
{
	if (node->type != TREE_STRING || node->text_len == 0 || node->text_len > member->max)
		return refuse(reading, node, "it must be a text, neither empty nor too long");
	*ret = arena_copy(reading->arena, node->text, node->text_len);
	return *ret ? 0 : sbx_error_what(reading->err, -ENOMEM, "cannot read the packet");
}

static int read_member(const struct reading *reading, const struct tree_node *node,
		       const struct member *member, void *at)
{
	uint64_t number = 0;
	int r;

	if (member->type == MEMBER_TEXT)
		return read_text(reading, node, member, at);
	r = read_number(reading, node, member->type == MEMBER_PORT ? UINT16_MAX : UINT64_MAX,
			&number);
	if (r < 0)
		return r;
	if (member->type == MEMBER_PORT)
		*(uint16_t *)at = (uint16_t)number;
	else if (member->type == MEMBER_COUNT)
		*(uint64_t *)at = number;
	else
		*(struct handover_limit *)at =
			(struct handover_limit){ .is_set = true, .value = number };
	return 0;
}

static int read_members(const struct reading *reading, const struct tree_node *map,
			const struct member *members, void *object)
{
	for (; members->name; members++) {
		const struct tree_node *node = tree_get(reading->tree, map, members->name);
		int r = 0;

		if (node)
			r = read_member(reading, node, members, (char *)object + members->offset);
		else if (!members->is_optional)
			r = refuse(reading, map, "a member is missing");
		if (r < 0)
			return r;
	}
	return 0;
}

static bool is_address(const struct handover_listener *listener)
{
	uint8_t bytes[sizeof(struct in6_addr)];
	bool is_inet;

	if (!listener->address)
		return false;
	is_inet = inet_pton(AF_INET, listener->address, bytes) == 1 ||
		  inet_pton(AF_INET6, listener->address, bytes) == 1;
	return is_inet ? listener->port > 0 : listener->address[0] == '/' && listener->port == 0;
}

static int read_listener(const struct reading *reading, const struct tree_node *node,
			 struct handover_listener *ret)
{
	static const char *const others[] = { "kind", NULL };
	const struct tree_node *kind;
	int r = check_names(reading, node, listener_members, others);

	*ret = (struct handover_listener){ .fd = -EBADF };
	if (r == 0)
		r = read_members(reading, node, listener_members, ret);
	if (r < 0)
		return r;
	kind = tree_get(reading->tree, node, "kind");
	if (!kind || kind->type != TREE_STRING ||
	    strcmp(kind->text, listener_kinds[HANDOVER_HTTP]) != 0)
		return refuse(reading, node, "the kind of the listener is unknown");
	return is_address(ret) ? 0 : refuse(reading, node, "it is not the address of a listener");
}

static int read_listeners(const struct reading *reading, const struct tree_node *list,
			  struct handover *ret)
{
	if (!list || list->type != TREE_LIST || list->n_children == 0 ||
	    list->n_children > HANDOVER_LISTENERS_MAX)
		return refuse(reading, list ? list : tree_root(reading->tree),
			      "'listeners' must be a list of 1 to 32");
	for (const struct tree_node *node = list->first; node; node = node->next) {
		int r = read_listener(reading, node, &ret->listeners[ret->n_listeners]);

		if (r < 0)
			return r;
		ret->n_listeners++;
	}
	return 0;
}

static int check_head(const struct reading *reading, const struct handover *handover)
{
	const struct tree_node *root = tree_root(reading->tree);

	if (!sandbox_id_is_valid(handover->sandbox))
		return refuse(reading, root, "'sandbox' is not the id of a sandbox");
	if (handover->project && handover->project[0] != '/')
		return refuse(reading, root, "'project' is not an absolute path");
	if (!handover->digest ||
	    strspn(handover->digest, "0123456789abcdef") != HANDOVER_DIGEST_LEN)
		return refuse(reading, root, "'digest' is not 64 hexadecimal digits");
	return 0;
}

static int read_handover(const struct reading *reading, struct handover *ret)
{
	static const char *const others[] = { "type", "listeners", "limits", NULL };
	const struct tree_node *root = tree_root(reading->tree);
	const struct tree_node *limits = tree_get(reading->tree, root, "limits");
	int r = check_names(reading, root, head_members, others);

	if (r < 0)
		return r;
	r = read_members(reading, root, head_members, ret);
	if (r < 0)
		return r;
	r = check_head(reading, ret);
	if (r < 0)
		return r;
	r = read_listeners(reading, tree_get(reading->tree, root, "listeners"), ret);
	if (r < 0 || !limits)
		return r < 0 ? r : HANDOVER_LISTENERS;
	r = check_names(reading, limits, limit_members, NULL);
	if (r < 0)
		return r;
	r = read_members(reading, limits, limit_members, &ret->limits);
	return r < 0 ? r : HANDOVER_LISTENERS;
}

static int read_end(const struct reading *reading)
{
	static const char *const others[] = { "type", NULL };
	int r = check_names(reading, tree_root(reading->tree), NULL, others);

	return r < 0 ? r : HANDOVER_END;
}

/* One JSON object; base/tree would read YAML, too. */
static int read_object(const void *bytes, size_t n_bytes, struct tree **ret, struct sbx_error *err)
{
	if (n_bytes == 0 || n_bytes > HANDOVER_BYTES_MAX || *(const char *)bytes != '{')
		return error_fill(err, -EBADMSG, "it is not a JSON object, or too long", NULL,
				  "cannot read the packet of the hand-over");
	return tree_read("packet", bytes, n_bytes, ret, err) < 0 ? -EBADMSG : 0;
}

static bool is_text(const struct tree *tree, const char *name, const char *text)
{
	const struct tree_node *node = tree_get(tree, tree_root(tree), name);

	return node && node->type == TREE_STRING && strcmp(node->text, text) == 0;
}

int handover_parse(const void *bytes, size_t n_bytes, struct arena *arena, struct handover *ret,
		   struct sbx_error *err)
{
	_cleanup_tree_ struct tree *tree = NULL;
	struct reading reading = { .arena = arena, .err = err };
	struct handover handover = HANDOVER_INIT;
	int r = read_object(bytes, n_bytes, &tree, err);

	if (r < 0)
		return r;
	reading.tree = tree;
	if (is_text(tree, "type", "END"))
		r = read_end(&reading);
	else if (is_text(tree, "type", "LISTENERS"))
		r = read_handover(&reading, &handover);
	else
		r = refuse(&reading, tree_root(tree), "its type is neither LISTENERS nor END");
	if (r >= 0)
		*ret = handover;
	return r;
}

static int read_denials(const struct reading *reading, const struct tree_node *list,
			struct handover_summary *ret)
{
	if (list->type != TREE_LIST || list->n_children > HANDOVER_DENIALS_MAX)
		return refuse(reading, list, "'denials' must be a list of at most 64");
	for (const struct tree_node *node = list->first; node; node = node->next) {
		int r = check_names(reading, node, denial_members, NULL);

		if (r == 0)
			r = read_members(reading, node, denial_members,
					 &ret->denials[ret->n_denials]);
		if (r < 0)
			return r;
		ret->n_denials++;
	}
	return 0;
}

static int read_counters(const struct reading *reading, const struct tree_node *map,
			 struct handover_summary *ret)
{
	if (map->type != TREE_MAP || map->n_children > HANDOVER_COUNTERS_MAX)
		return refuse(reading, map, "'counters' must be an object of at most 64");
	for (const struct tree_node *node = map->first; node; node = node->next) {
		struct handover_counter *counter = &ret->counters[ret->n_counters];
		int r = read_number(reading, node, UINT64_MAX, &counter->value);

		if (r == 0 && strlen(node->key) > WORD_BYTES_MAX)
			r = refuse(reading, node, "the name of the counter is too long");
		if (r < 0)
			return r;
		counter->name = arena_copy(reading->arena, node->key, strlen(node->key));
		if (!counter->name)
			return sbx_error_what(reading->err, -ENOMEM, "cannot read the packet");
		ret->n_counters++;
	}
	return 0;
}

static int read_summary(const struct reading *reading, struct handover_summary *ret)
{
	static const char *const others[] = { "ok", "denials", "n_denials_left_out", "counters",
					      NULL };
	const struct tree_node *root = tree_root(reading->tree);
	const struct tree_node *ok = tree_get(reading->tree, root, "ok");
	const struct tree_node *denials = tree_get(reading->tree, root, "denials");
	const struct tree_node *left_out = tree_get(reading->tree, root, "n_denials_left_out");
	const struct tree_node *counters = tree_get(reading->tree, root, "counters");
	int r = check_names(reading, root, NULL, others);

	if (r < 0)
		return r;
	if (ok->type != TREE_BOOL || strcmp(ok->text, "true") != 0)
		return refuse(reading, root, "'ok' must be true");
	r = denials ? read_denials(reading, denials, ret) : 0;
	if (r < 0)
		return r;
	r = left_out ? read_number(reading, left_out, UINT64_MAX, &ret->n_denials_left_out) : 0;
	if (r < 0)
		return r;
	return counters ? read_counters(reading, counters, ret) : 0;
}

/* Fills @err with what the other side says. */
static int read_error(const struct reading *reading, struct sbx_error *err)
{
	static const char *const others[] = { "level", NULL };
	const struct tree_node *root = tree_root(reading->tree);
	const char *parts[4] = { NULL };
	int r = check_names(reading, root, error_members, others);

	if (r < 0)
		return r;
	if (!is_text(reading->tree, "level", "error"))
		return refuse(reading, root, "it is neither 'ok' nor an error");
	r = read_members(reading, root, error_members, parts);
	if (r < 0)
		return r;
	(void)error_fill(err, -ECONNREFUSED, parts[1], parts[2], "%s", parts[0]);
	if (parts[3])
		sbx_error_context(err, "%s", parts[3]);
	return -ECONNREFUSED;
}

int handover_parse_answer(const void *bytes, size_t n_bytes, struct arena *arena,
			  struct handover_summary *ret, struct sbx_error *err)
{
	_cleanup_tree_ struct tree *tree = NULL;
	struct reading reading = { .arena = arena, .err = err };
	int r = read_object(bytes, n_bytes, &tree, err);

	if (r < 0)
		return r;
	reading.tree = tree;
	memset(ret, 0, sizeof(*ret));
	return tree_get(tree, tree_root(tree), "ok") ? read_summary(&reading, ret)
						     : read_error(&reading, err);
}
