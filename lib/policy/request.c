/* SPDX-License-Identifier: MIT */

/*
 * A request as one line of JSON, or as words
 *
 * The caller may be hostile or wrong, and an ignored member may be the one that mattered: so a line
 * is refused unless every name is known, occurs once and has the right type. The texts are decoded
 * into one buffer that is reused for the next line. That buffer may move while it grows, so a draft
 * holds offsets, which become pointers once, at the end.
 */

#include "policy/request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sbx/error.h>

#include "base/error.h"
#include "base/json.h"
#include "base/suggest.h"
#include "base/units.h"
#include "policy/model.h"
#include "policy/network.h"

enum request_member {
	MEMBER_OP,
	MEMBER_PATH,
	MEMBER_PROJECT,
	MEMBER_HOST,
	MEMBER_ADDRESS,
	MEMBER_PROTO,
	MEMBER_CALLER,
	MEMBER_STATE,
	MEMBER_MODE,
	MEMBER_SANDBOX,
	MEMBER_SANDBOX_ID,
	MEMBER_SHA256,
	MEMBER_TOKEN,
	N_TEXT_MEMBERS, /* the members before are texts */
	MEMBER_ID = N_TEXT_MEMBERS,
	MEMBER_PORT,
	MEMBER_SIZE,
	MEMBER_TAGS,
	N_MEMBERS,
};

#define DRAFT_ABSENT SIZE_MAX

struct request_draft {
	struct text *texts;
	size_t texts_at[N_TEXT_MEMBERS + 1]; /* offsets in texts; the last one is the id's */
	size_t tags_at[REQUEST_TAGS_MAX];
	size_t n_tags;
	uint64_t port;
	uint64_t size_bytes;
	bool seen[N_MEMBERS];
};

#define ID_BYTES_MAX 256
#define NAME_SHOWN_MAX 64

/* Longer than every name and padded with NULs, so that names are compared by one memcmp(). */
#define NAME_SIZE 16

#define NAME(name) name, "\"" name "\":", sizeof("\"" name "\":") - 1
#define TEXT(name, member)                                                                         \
	{                                                                                          \
		NAME(name), offsetof(struct request_buffer, member)                                \
	}

static const struct {
	char name[NAME_SIZE];
	char written[NAME_SIZE];
	size_t n_written;
	size_t offset; /* of the pointer to its text */
} members[N_MEMBERS] = {
	[MEMBER_OP] = TEXT("op", request.operation),
	[MEMBER_PATH] = TEXT("path", request.path),
	[MEMBER_PROJECT] = TEXT("project", request.project_root),
	[MEMBER_HOST] = TEXT("host", request.host),
	[MEMBER_ADDRESS] = TEXT("address", request.address),
	[MEMBER_PROTO] = TEXT("proto", request.proto),
	[MEMBER_CALLER] = TEXT("caller", request.caller),
	[MEMBER_STATE] = TEXT("state", request.state),
	[MEMBER_MODE] = TEXT("mode", request.mode),
	[MEMBER_SANDBOX] = TEXT("sandbox", request.sandbox),
	[MEMBER_SANDBOX_ID] = TEXT("sandbox_id", sandbox_id),
	[MEMBER_SHA256] = TEXT("sha256", request.sha256),
	[MEMBER_TOKEN] = TEXT("token", token),
	[MEMBER_ID] = TEXT("id", id),
	[MEMBER_PORT] = { NAME("port"), 0 },
	[MEMBER_SIZE] = { NAME("size"), 0 },
	[MEMBER_TAGS] = { NAME("tags"), 0 },
};

void request_deinit(struct request_buffer *buffer)
{
	text_deinit(&buffer->texts);
	*buffer = (struct request_buffer){ .texts = TEXT_INIT };
}

/* Fills @err; the format follows @fix. */
#define refuse(err, why, fix, ...)                                                                 \
	error_fill(err, -EINVAL, why, fix, "cannot read the request: " __VA_ARGS__)

/* Empties @buffer but keeps its memory; tags after n_tags are never read. */
static void draft_begin(struct request_draft *draft, struct request_buffer *buffer)
{
	text_reset(&buffer->texts);
	buffer->request = (struct policy_request){ .operation = NULL };
	buffer->tags[0] = buffer->token = buffer->id = buffer->sandbox_id = NULL;
	draft->texts = &buffer->texts;
	draft->n_tags = 0;
	draft->port = draft->size_bytes = 0;
	memset(draft->seen, 0, sizeof(draft->seen));
	for (size_t i = 0; i < N_ELEMENTS(draft->texts_at); i++)
		draft->texts_at[i] = DRAFT_ABSENT;
}

/* Adds a text and a NUL; returns its offset. */
static size_t draft_add_text(struct request_draft *draft, const void *bytes, size_t n_bytes)
{
	size_t at = draft->texts->len;
	char *text = text_extend(draft->texts, n_bytes + 1);

	if (text) {
		memcpy(text, bytes, n_bytes);
		text[n_bytes] = '\0';
	}
	return at;
}

/* 0, -EINVAL if there is no operation, or -ENOMEM; fills the buffer on success only. */
static int draft_finish(struct request_draft *draft, struct request_buffer *buffer,
			struct sbx_error *err)
{
	const char *base = text_string(draft->texts);
	int r = text_status(draft->texts);

	if (r < 0)
		return sbx_error_what(err, r, "cannot read the request");
	if (!draft->seen[MEMBER_OP])
		return refuse(err, "every request must name its operation",
			      "add the operation, as in \"op\":\"fs.read\"", "it has no 'op'");
	for (size_t i = 0; i < N_ELEMENTS(draft->texts_at); i++)
		if (draft->texts_at[i] != DRAFT_ABSENT)
			*(const char **)((char *)buffer + members[i].offset) =
				base + draft->texts_at[i];
	for (size_t i = 0; i < draft->n_tags; i++)
		buffer->tags[i] = base + draft->tags_at[i];
	buffer->tags[draft->n_tags] = NULL;
	buffer->request.caller_tags = draft->n_tags > 0 ? buffer->tags : NULL;
	buffer->request.has_port = draft->seen[MEMBER_PORT];
	buffer->request.port = (uint16_t)draft->port;
	buffer->request.has_size = draft->seen[MEMBER_SIZE];
	buffer->request.size_bytes = draft->size_bytes;
	return 0;
}

static int not_json(const struct json_scanner *scanner, struct sbx_error *err)
{
	int r = refuse(err, NULL,
		       "write one object a line: {\"op\":\"fs.read\",\"path\":\"/srv/a\"}",
		       "it is not one JSON object");

	sbx_error_why(err, "byte %zu: %s", scanner->at + 1,
		      scanner->problem ? scanner->problem : "something follows the object");
	return r;
}

static int too_long(size_t n_bytes, const char *fix, struct sbx_error *err)
{
	int r = refuse(err, NULL, fix, "it is %zu bytes long", n_bytes);

	sbx_error_why(err, "a request has at most %d bytes", REQUEST_BYTES_MAX);
	return r;
}

static int wrong_type(const char *name, const char *wanted, struct sbx_error *err)
{
	int r = refuse(err, "a value of another type has no meaning here", NULL, "'%s' must be %s",
		       name, wanted);

	sbx_error_fix(err, "write %s, or leave '%s' out", wanted, name);
	return r;
}

/* A NUL (which JSON can only contain as an escape) would end the text early, so that another
 * request than the written one would be judged: refuse it. */
static int add_text(struct request_draft *draft, const struct json_item *item, const char *name,
		    size_t *ret_at, struct sbx_error *err)
{
	size_t at = draft->texts->len;

	if (item->kind != JSON_STRING)
		return wrong_type(name, "a string", err);
	*ret_at = at;
	if (!item->escaped) {
		(void)draft_add_text(draft, item->bytes, item->n_bytes);
		return 0;
	}
	if (json_decode(item, draft->texts) < 0)
		return wrong_type(name, "a string of whole characters", err);
	if (memchr(text_string(draft->texts) + at, '\0', draft->texts->len - at))
		return wrong_type(name, "a string without NUL", err);
	text_add_char(draft->texts, '\0');
	return 0;
}

static int add_id(struct request_draft *draft, const struct json_scanner *scanner,
		  const struct json_item *item, struct sbx_error *err)
{
	size_t n_bytes = scanner->at - item->offset;

	if ((item->kind != JSON_STRING && item->kind != JSON_NUMBER) || n_bytes > ID_BYTES_MAX)
		return wrong_type("id", "a short string or a number", err);
	draft->texts_at[MEMBER_ID] = draft_add_text(draft, scanner->bytes + item->offset, n_bytes);
	return 0;
}

static int add_number(const struct json_item *item, const char *name, const char *wanted,
		      uint64_t most, uint64_t *ret, struct sbx_error *err)
{
	uint64_t value;

	if (item->kind != JSON_NUMBER || json_u64(item, &value) < 0 || value > most)
		return wrong_type(name, wanted, err);
	*ret = value;
	return 0;
}

static int add_tags(struct request_draft *draft, struct json_scanner *scanner,
		    const struct json_item *item, struct sbx_error *err)
{
	struct json_item tag;
	int r;

	if (item->kind != JSON_ARRAY_BEGIN)
		return wrong_type("tags", "a list of strings", err);
	while ((r = json_next(scanner, &tag)) > 0 && tag.kind != JSON_ARRAY_END) {
		if (draft->n_tags == REQUEST_TAGS_MAX)
			return wrong_type("tags", "a list of at most 64 strings", err);
		r = add_text(draft, &tag, "tags", &draft->tags_at[draft->n_tags], err);
		if (r < 0)
			return r;
		draft->n_tags++;
	}
	return r < 0 ? not_json(scanner, err) : 0;
}

static int add_member(struct request_draft *draft, struct json_scanner *scanner, size_t member,
		      struct sbx_error *err)
{
	const char *name = members[member].name;
	struct json_item value;

	if (json_next(scanner, &value) < 0)
		return not_json(scanner, err);
	switch (member) {
	case MEMBER_ID:
		return add_id(draft, scanner, &value, err);
	case MEMBER_PORT:
		return add_number(&value, name, "a port from 0 to 65535", UINT16_MAX, &draft->port,
				  err);
	case MEMBER_SIZE:
		return add_number(&value, name, "a number of bytes", UINT64_MAX, &draft->size_bytes,
				  err);
	case MEMBER_TAGS:
		return add_tags(draft, scanner, &value, err);
	default:
		return add_text(draft, &value, name, &draft->texts_at[member], err);
	}
}

static const char *name_at(const void *list, size_t i)
{
	return i < N_MEMBERS ? members[i].name : NULL;
}

static int unknown_member(const struct json_item *name, struct sbx_error *err)
{
	char typed[NAME_SHOWN_MAX + 1];
	int r;

	(void)snprintf(typed, sizeof(typed), "%.*s", (int)name->n_bytes, name->bytes);
	r = refuse(err, "an unknown member could change what the request means",
		   "leave it out; sbx-policy(1) lists the members", "unknown member '%s'", typed);
	suggest_fix(err, typed, (struct suggest_words){ .word = name_at });
	return r;
}

/* The member's row, or N_MEMBERS. A name that is too long leaves @padded empty, which matches no
 * name. */
static size_t find_name(const struct json_item *name)
{
	char padded[NAME_SIZE] = { 0 };
	size_t member = 0;

	while (name->escaped && member < N_MEMBERS && !json_equals(name, members[member].name))
		member++;
	if (name->escaped)
		return member;
	if (name->n_bytes < NAME_SIZE)
		memcpy(padded, name->bytes, name->n_bytes);
	while (member < N_MEMBERS && memcmp(members[member].name, padded, NAME_SIZE) != 0)
		member++;
	return member;
}

static int find_member(const struct request_draft *draft, const struct json_item *name, size_t *ret,
		       struct sbx_error *err)
{
	size_t member = find_name(name);

	if (member == N_MEMBERS)
		return unknown_member(name, err);
	if (draft->seen[member])
		return refuse(err, "two readers could use different values", "write it once",
			      "'%s' is given twice", members[member].name);
	*ret = member;
	return 0;
}

static int read_members(struct request_draft *draft, struct json_scanner *scanner,
			struct sbx_error *err)
{
	struct json_item item;
	size_t member = 0;
	int r = json_next(scanner, &item);

	if (r <= 0 || item.kind != JSON_OBJECT_BEGIN)
		return not_json(scanner, err);
	while ((r = json_next(scanner, &item)) > 0 && item.kind == JSON_NAME) {
		r = find_member(draft, &item, &member, err);
		if (r < 0)
			return r;
		r = add_member(draft, scanner, member, err);
		if (r < 0)
			return r;
		draft->seen[member] = true;
	}
	/* Nothing may follow the object. */
	if (r > 0)
		r = json_next(scanner, &item);
	return r == 0 ? 0 : not_json(scanner, err);
}

int request_parse(const void *bytes, size_t n_bytes, struct request_buffer *ret,
		  struct sbx_error *err)
{
	struct request_draft draft;
	struct json_scanner scanner;
	int r;

	draft_begin(&draft, ret);
	if (n_bytes > REQUEST_BYTES_MAX)
		return too_long(n_bytes, "send one request a line", err);
	json_scan(&scanner, bytes, n_bytes);
	r = read_members(&draft, &scanner, err);
	return r < 0 ? r : draft_finish(&draft, ret, err);
}

static void add_name(struct json_writer *json, enum request_member member)
{
	json_add_raw_name(json, members[member].written, members[member].n_written);
}

static void add_text_member(struct json_writer *json, enum request_member member, const char *value)
{
	if (!value)
		return;
	add_name(json, member);
	json_add_string(json, value);
}

static void add_number_member(struct json_writer *json, enum request_member member, uint64_t value)
{
	add_name(json, member);
	json_add_u64(json, value);
}

/* Leaves out the token: a reader of a recorded request must not be able to use it. Leaves out the
 * id, which only the caller understands. */
void request_add_json(struct text *out, const struct request_buffer *buffer)
{
	const struct policy_request *request = &buffer->request;
	struct json_writer json;

	json_write(&json, out);
	json_add_object(&json);
	add_text_member(&json, MEMBER_OP, request->operation);
	add_text_member(&json, MEMBER_PATH, request->path);
	add_text_member(&json, MEMBER_PROJECT, request->project_root);
	add_text_member(&json, MEMBER_HOST, request->host);
	add_text_member(&json, MEMBER_ADDRESS, request->address);
	if (request->has_port)
		add_number_member(&json, MEMBER_PORT, request->port);
	add_text_member(&json, MEMBER_PROTO, request->proto);
	add_text_member(&json, MEMBER_CALLER, request->caller);
	if (request->caller_tags) {
		add_name(&json, MEMBER_TAGS);
		json_add_array(&json);
		for (const char *const *tag = request->caller_tags; *tag; tag++)
			json_add_string(&json, *tag);
		json_end_array(&json);
	}
	add_text_member(&json, MEMBER_STATE, request->state);
	add_text_member(&json, MEMBER_MODE, request->mode);
	add_text_member(&json, MEMBER_SANDBOX, request->sandbox);
	add_text_member(&json, MEMBER_SANDBOX_ID, buffer->sandbox_id);
	if (request->has_size)
		add_number_member(&json, MEMBER_SIZE, request->size_bytes);
	add_text_member(&json, MEMBER_SHA256, request->sha256);
	json_end_object(&json);
}

/*
 * A request as words: an operation, its argument, and name=value words
 *
 *   fs.write /srv/p/src/a.c project=/srv/p tag=trusted_write
 *   net.connect [2001:db8::1]:443 proto=tcp
 *   net.connect example.com:443 address=192.0.2.1
 *
 * The first word after the operation is its argument unless it begins with one of the names: a file
 * called tag=a must be written as /.../tag=a.
 */

static const struct word_name {
	const char *name; /* including the '=' */
	enum request_member member;
} word_names[] = {
	{ "caller=", MEMBER_CALLER },	{ "tag=", MEMBER_TAGS },
	{ "state=", MEMBER_STATE },	{ "mode=", MEMBER_MODE },
	{ "project=", MEMBER_PROJECT }, { "proto=", MEMBER_PROTO },
	{ "size=", MEMBER_SIZE },	{ "sandbox=", MEMBER_SANDBOX },
	{ "sha256=", MEMBER_SHA256 },	{ "address=", MEMBER_ADDRESS },
};

static const struct word_name *find_word_name(const char *word)
{
	for (size_t i = 0; i < N_ELEMENTS(word_names); i++)
		if (strncmp(word, word_names[i].name, strlen(word_names[i].name)) == 0)
			return &word_names[i];
	return NULL;
}

bool request_is_named(const char *word)
{
	return find_word_name(word) != NULL;
}

static void add_word(struct request_draft *draft, enum request_member member, const char *bytes,
		     size_t n_bytes)
{
	draft->texts_at[member] = draft_add_text(draft, bytes, n_bytes);
	draft->seen[member] = true;
}

static int wrong_port(const char *word, struct sbx_error *err)
{
	return refuse(err, "a port is a number from 0 to 65535",
		      "write HOST:PORT, or [ADDRESS]:PORT for IPv6",
		      "'%s' has no valid port after its colon", word);
}

/* Parses HOST, HOST:PORT or [ADDRESS]:PORT; several colons without brackets are an IPv6 address. */
static int add_host(struct request_draft *draft, const char *word, struct sbx_error *err)
{
	const char *end = word[0] == '[' ? strchr(word, ']') : NULL;
	const char *host = end ? word + 1 : word;
	const char *colon = network_find_port(word);
	uint64_t port;

	if (strstr(word, "://"))
		return refuse(err, "it is a URL, and a connection goes to a host",
			      "write HOST or HOST:PORT", "'%s' does not name a host", word);
	if (!end)
		end = colon ? colon : word + strlen(word);
	else if (end[1] != '\0' && colon != end + 1)
		return wrong_port(word, err);
	if (end == host)
		return refuse(err, "a connection goes to a host", "write HOST or HOST:PORT",
			      "'%s' names no host", word);
	if (colon) {
		if (units_parse_count(colon + 1, &port, NULL) < 0 || port > UINT16_MAX)
			return wrong_port(word, err);
		draft->port = port;
		draft->seen[MEMBER_PORT] = true;
	}
	add_word(draft, MEMBER_HOST, host, (size_t)(end - host));
	return 0;
}

static int add_argument(struct request_draft *draft, const char *operation, const char *word,
			struct sbx_error *err)
{
	int row = operation_find(operation);

	if (row != OPERATION_UNKNOWN && operation_at(row)->argument == ARGUMENT_HOST)
		return add_host(draft, word, err);
	add_word(draft, MEMBER_PATH, word, strlen(word));
	return 0;
}

static int add_tag(struct request_draft *draft, const char *value, struct sbx_error *err)
{
	if (draft->n_tags == REQUEST_TAGS_MAX)
		return refuse(err, "no caller needs that many",
			      "leave out the tags that no rule names", "it has more than %d tags",
			      REQUEST_TAGS_MAX);
	draft->tags_at[draft->n_tags++] = draft_add_text(draft, value, strlen(value));
	return 0;
}

static int add_named(struct request_draft *draft, const struct word_name *name, const char *value,
		     struct sbx_error *err)
{
	if (name->member == MEMBER_TAGS)
		return add_tag(draft, value, err);
	if (draft->seen[name->member])
		return refuse(err, "only tag= may be given several times", "write it once",
			      "'%s' is given twice", name->name);
	if (name->member == MEMBER_SIZE) {
		draft->seen[MEMBER_SIZE] = true;
		return units_parse_size(value, &draft->size_bytes, err);
	}
	add_word(draft, name->member, value, strlen(value));
	return 0;
}

static const char *word_name_at(const void *list, size_t i)
{
	return i < N_ELEMENTS(word_names) ? word_names[i].name : NULL;
}

static int unknown_word(const char *word, struct sbx_error *err)
{
	size_t len = strcspn(word, "=");
	char typed[32];
	int r = refuse(
		err,
		"only caller= tag= state= mode= project= proto= size= sandbox= sha256= address= may follow the argument",
		"leave it out", "'%s' is not one of its attributes", word);

	(void)snprintf(typed, sizeof(typed), "%.*s=", (int)(len > 30 ? 30 : len), word);
	if (word[len] == '=')
		suggest_fix(err, typed, (struct suggest_words){ .word = word_name_at });
	return r;
}

/* Records are JSON, which cannot contain bytes that are not UTF-8: the replayed request would
 * differ. */
static int check_bytes(char *const words[], size_t n_words, struct sbx_error *err)
{
	size_t n_bytes = 0;

	for (size_t i = 0; i < n_words; i++) {
		size_t len = strlen(words[i]);

		n_bytes += len + 1;
		for (size_t at = 0, n; at < len; at += n) {
			n = utf8_sequence(words[i] + at, len - at);
			if (n > 0)
				continue;
			return refuse(err, "it could not be written into a record",
				      "give the name in UTF-8", "'%s' is not UTF-8", words[i]);
		}
	}
	return n_bytes <= REQUEST_BYTES_MAX
		       ? 0
		       : too_long(n_bytes, "give fewer or shorter arguments", err);
}

static int read_words(struct request_draft *draft, char *const words[], size_t n_words,
		      struct sbx_error *err)
{
	for (size_t i = 1; i < n_words; i++) {
		const struct word_name *name = find_word_name(words[i]);
		int r;

		if (name)
			r = add_named(draft, name, words[i] + strlen(name->name), err);
		else if (i == 1)
			r = add_argument(draft, words[0], words[i], err);
		else
			r = unknown_word(words[i], err);
		if (r < 0)
			return r;
	}
	return 0;
}

int request_parse_words(char *const words[], size_t n_words, struct request_buffer *ret,
			struct sbx_error *err)
{
	struct request_draft draft;
	int r;

	draft_begin(&draft, ret);
	r = check_bytes(words, n_words, err);
	if (r < 0)
		return r;
	if (n_words > 0)
		add_word(&draft, MEMBER_OP, words[0], strlen(words[0]));
	r = read_words(&draft, words, n_words, err);
	return r < 0 ? r : draft_finish(&draft, ret, err);
}

int request_check_operation(const struct policy_request *request, struct sbx_error *err)
{
	static const char why[] = "such a request is denied whatever the rules say";
	int row = operation_find(request->operation);
	const char *meant;

	if (row == OPERATION_UNKNOWN) {
		meant = operation_suggest(request->operation);
		(void)refuse(err, why, "write an operation of sbx-policy(5), such as fs.read",
			     "unknown operation '%s'", request->operation);
		if (meant)
			sbx_error_fix(err, "did you mean '%s'?", meant);
		return -EINVAL;
	}
	if (operation_at(row)->argument == ARGUMENT_PATH && !request->path)
		return refuse(err, why, "name the path after the operation", "'%s' names no path",
			      request->operation);
	if (operation_at(row)->argument == ARGUMENT_HOST && !request->host)
		return refuse(err, why, "name the host after the operation", "'%s' names no host",
			      request->operation);
	return 0;
}
