/* SPDX-License-Identifier: MIT */

/*
 * The facts of a sandbox. facts_overrule() sets every member of a request that describes its
 * sender: one that is missing there would let a sandboxed process describe itself.
 */

#include "server/facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "base/error.h"
#include "base/path.h"

#define ID_BYTES_MAX 64

static const struct fact_name {
	const char *prefix;
	enum fact fact;
} names[] = {
	{ "project=", FACT_PROJECT }, { "caller=", FACT_CALLER }, { "state=", FACT_STATE },
	{ "mode=", FACT_MODE },	      { "sandbox=", FACT_LEVEL }, { "tag=", FACT_TAG },
};

static bool is_id(const char *id)
{
	size_t len = strlen(id);

	return len > 0 && len <= ID_BYTES_MAX && id[0] != '.' &&
	       strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
		       len;
}

static int refuse(struct sbx_error *err, int code, const char *what, const char *subject,
		  const char *why, const char *fix)
{
	return error_fill(err, code, why, fix, "%s '%s'", what, subject);
}

int facts_add(struct facts **list, const char *id, struct facts **ret, struct sbx_error *err)
{
	struct facts *facts;

	if (!is_id(id))
		return refuse(err, -EINVAL, "cannot serve the sandbox", id, "its ID is not valid",
			      "use letters, digits, '.', '_' and '-'");
	if (facts_find(*list, id, strlen(id)))
		return refuse(err, -EEXIST, "cannot serve the sandbox", id,
			      "it already has a socket", "name each sandbox once");
	facts = calloc(1, sizeof(*facts) + strlen(id) + 1);
	if (!facts)
		return sbx_error_what(err, -ENOMEM, "cannot serve the sandbox '%s'", id);
	(void)stpcpy(facts->sandbox_id, id);
	facts->next = *list;
	*list = facts;
	*ret = facts;
	return 0;
}

struct facts *facts_find(struct facts *list, const char *id, size_t id_len)
{
	for (; list; list = list->next)
		if (strlen(list->sandbox_id) == id_len && memcmp(list->sandbox_id, id, id_len) == 0)
			return list;
	return NULL;
}

void facts_free_all(struct facts **list)
{
	while (*list) {
		struct facts *facts = *list;

		*list = facts->next;
		free(facts);
	}
}

static int set(struct facts *facts, const struct fact_name *name, const char *word,
	       struct sbx_error *err)
{
	const char *value = word + strlen(name->prefix), **at = &facts->tags[facts->n_tags];

	if (value[0] == '\0')
		return refuse(err, -EINVAL, "cannot use the fact", word, "it has no value",
			      "write a value after the '='");
	if (name->fact == FACT_PROJECT && !path_is_normal(value))
		return refuse(err, -EINVAL, "cannot use the fact", word,
			      "a project is an absolute path without '.', '..' and doubled slashes",
			      "write its whole path");
	if (name->fact == FACT_TAG && facts->n_tags == REQUEST_TAGS_MAX)
		return refuse(err, -E2BIG, "cannot use the fact", word, "it has 64 tags already",
			      "leave some out");
	if (name->fact != FACT_TAG)
		at = &facts->texts[name->fact];
	if (*at)
		return refuse(err, -EEXIST, "cannot use the fact", word, "it occurs twice",
			      "give it once");
	*at = value;
	facts->n_tags += name->fact == FACT_TAG;
	return 0;
}

int facts_set(struct facts *facts, const char *word, struct sbx_error *err)
{
	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		if (strncmp(word, names[i].prefix, strlen(names[i].prefix)) == 0)
			return set(facts, &names[i], word, err);
	return refuse(err, -EINVAL, "cannot use the fact", word, "no fact has this name",
		      "write project=, caller=, tag=, state=, mode= or sandbox=");
}

void facts_overrule(const struct facts *facts, struct request_buffer *buffer)
{
	static const struct facts nothing = { .n_tags = 0 };
	const struct facts *known = facts ? facts : &nothing;
	struct policy_request *request = &buffer->request;

	request->project_root = known->texts[FACT_PROJECT];
	request->caller = known->texts[FACT_CALLER];
	request->caller_tags = known->n_tags > 0 ? known->tags : NULL;
	request->state = known->texts[FACT_STATE];
	request->mode = known->texts[FACT_MODE];
	request->sandbox = known->texts[FACT_LEVEL];
	buffer->sandbox_id = facts ? facts->sandbox_id : NULL;
}
