/* SPDX-License-Identifier: MIT */

/*
 * A request as somebody types it: an operation, what it is about, and name=value words
 *
 *   fs.write /srv/p/src/a.c project=/srv/p tag=trusted_write
 *   net.connect [2001:db8::1]:443 proto=tcp
 *
 * The first word behind the operation is its argument unless it begins with one of the names; a
 * file that is called tag=a is written ./tag=a by people, and /.../tag=a here.
 */

#include "policy/request-internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sbx/error.h>

#include "base/suggest.h"
#include "base/units.h"
#include "policy/operation.h"

static const struct word_name {
	const char *name; /* with the '=' */
	enum request_member member;
} word_names[] = {
	{ "caller=", MEMBER_CALLER }, { "tag=", MEMBER_TAGS },	      { "state=", MEMBER_STATE },
	{ "mode=", MEMBER_MODE },     { "project=", MEMBER_PROJECT }, { "proto=", MEMBER_PROTO },
	{ "size=", MEMBER_SIZE },     { "sandbox=", MEMBER_SANDBOX }, { "sha256=", MEMBER_SHA256 },
};

static const struct word_name *find_name(const char *word)
{
	for (size_t i = 0; i < N_ELEMENTS(word_names); i++)
		if (strncmp(word, word_names[i].name, strlen(word_names[i].name)) == 0)
			return &word_names[i];
	return NULL;
}

static void add_member(struct request_draft *draft, enum request_member member, const char *bytes,
		       size_t n_bytes)
{
	draft->texts_at[member] = request_draft_add_text(draft, bytes, n_bytes);
	draft->seen[member] = true;
}

static int wrong_port(const char *word, struct sbx_error *err)
{
	int r = request_error(err, "'%s' has no port behind its colon", word);

	sbx_error_why(err, "a port is a number from 0 to 65535");
	sbx_error_fix(err, "write HOST:PORT, or [ADDRESS]:PORT for IPv6");
	return r;
}

/* HOST, HOST:PORT, [ADDRESS]:PORT; more than one colon without brackets is an IPv6 address. */
static int add_host(struct request_draft *draft, const char *word, struct sbx_error *err)
{
	const char *end = word[0] == '[' ? strchr(word, ']') : NULL;
	const char *host = end ? word + 1 : word;
	const char *colon = strrchr(end ? end : word, ':');
	uint64_t port;

	if (!end && colon && strchr(word, ':') != colon)
		colon = NULL;
	if (!end)
		end = colon ? colon : word + strlen(word);
	else if (end[1] != '\0' && colon != end + 1)
		return wrong_port(word, err);
	if (end == host) {
		int r = request_error(err, "'%s' names no host", word);

		sbx_error_why(err, "a connection goes to a host");
		sbx_error_fix(err, "write HOST or HOST:PORT");
		return r;
	}
	if (colon) {
		if (units_parse_count(colon + 1, &port, NULL) < 0 || port > UINT16_MAX)
			return wrong_port(word, err);
		draft->port = port;
		draft->seen[MEMBER_PORT] = true;
	}
	add_member(draft, MEMBER_HOST, host, (size_t)(end - host));
	return 0;
}

static int add_argument(struct request_draft *draft, const char *operation, const char *word,
			struct sbx_error *err)
{
	int row = operation_find(operation);

	if (row != OPERATION_UNKNOWN && operation_at(row)->argument == ARGUMENT_HOST)
		return add_host(draft, word, err);
	add_member(draft, MEMBER_PATH, word, strlen(word));
	return 0;
}

static int add_tag(struct request_draft *draft, const char *value, struct sbx_error *err)
{
	int r;

	if (draft->n_tags == REQUEST_TAGS_MAX) {
		r = request_error(err, "it has more than %d tags", REQUEST_TAGS_MAX);
		sbx_error_why(err, "no caller has that many");
		sbx_error_fix(err, "leave out the tags that no rule names");
		return r;
	}
	draft->tags_at[draft->n_tags++] = request_draft_add_text(draft, value, strlen(value));
	return 0;
}

static int add_named(struct request_draft *draft, const struct word_name *name, const char *value,
		     struct sbx_error *err)
{
	int r;

	if (name->member == MEMBER_TAGS)
		return add_tag(draft, value, err);
	if (draft->seen[name->member]) {
		r = request_error(err, "'%s' is there twice", name->name);
		sbx_error_why(err, "only tag= may be given several times");
		sbx_error_fix(err, "write it once");
		return r;
	}
	if (name->member == MEMBER_SIZE) {
		draft->seen[MEMBER_SIZE] = true;
		return units_parse_size(value, &draft->size_bytes, err);
	}
	add_member(draft, name->member, value, strlen(value));
	return 0;
}

static const char *name_at(const void *list, size_t i)
{
	return i < N_ELEMENTS(word_names) ? word_names[i].name : NULL;
}

static int unknown_word(const char *word, struct sbx_error *err)
{
	size_t len = strcspn(word, "=");
	char typed[32];
	const char *meant;
	int r = request_error(err, "'%s' is none of its words", word);

	(void)snprintf(typed, sizeof(typed), "%.*s=", (int)(len > 30 ? 30 : len), word);
	meant = suggest(typed, (struct suggest_words){ .word = name_at });
	sbx_error_why(err, "behind the argument stand only caller= tag= state= mode= project= "
			   "proto= size= sandbox= sha256=");
	if (meant && word[len] == '=')
		sbx_error_fix(err, "did you mean '%s'?", meant);
	else
		sbx_error_fix(err, "leave it out");
	return r;
}

/* Records are JSON, which has no form for other bytes: they would be replayed as something else. */
static int check_bytes(char *const words[], size_t n_words, struct sbx_error *err)
{
	size_t n_bytes = 0;
	int r;

	for (size_t i = 0; i < n_words; i++) {
		size_t len = strlen(words[i]);

		n_bytes += len + 1;
		for (size_t at = 0, n; at < len; at += n) {
			n = utf8_sequence(words[i] + at, len - at);
			if (n > 0)
				continue;
			r = request_error(err, "'%s' is not UTF-8", words[i]);
			sbx_error_why(err, "it could not be written into a record");
			sbx_error_fix(err, "give the name in UTF-8");
			return r;
		}
	}
	if (n_bytes <= REQUEST_BYTES_MAX)
		return 0;
	r = request_error(err, "it is %zu bytes long", n_bytes);
	sbx_error_why(err, "a request has at most %d bytes", REQUEST_BYTES_MAX);
	sbx_error_fix(err, "give fewer or shorter words");
	return r;
}

static int read_words(struct request_draft *draft, char *const words[], size_t n_words,
		      struct sbx_error *err)
{
	int r = 0;

	for (size_t i = 1; i < n_words && r >= 0; i++) {
		const struct word_name *name = find_name(words[i]);

		if (name)
			r = add_named(draft, name, words[i] + strlen(name->name), err);
		else if (i == 1)
			r = add_argument(draft, words[0], words[i], err);
		else
			r = unknown_word(words[i], err);
	}
	return r;
}

int request_parse_words(char *const words[], size_t n_words, struct request_buffer *ret,
			struct sbx_error *err)
{
	struct request_draft draft;
	int r;

	request_draft_begin(&draft, ret);
	r = check_bytes(words, n_words, err);
	if (r < 0)
		return r;
	if (n_words > 0)
		add_member(&draft, MEMBER_OP, words[0], strlen(words[0]));
	r = read_words(&draft, words, n_words, err);
	return r < 0 ? r : request_draft_finish(&draft, ret, err);
}
