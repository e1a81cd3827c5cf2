/* SPDX-License-Identifier: MIT */

/*
 * The request made ready: checked, and its texts looked up among the policy's words
 *
 * What cannot be judged with certainty is refused here and then denied. That includes a request
 * that leaves out what the rules of its operation ask about: without the project's root, or without
 * the port, a rule that denies would silently not apply.
 */

#include "base/path.h"
#include "policy/decide-internal.h"

#define PROTO_TCP 1u
#define PROTO_UDP 2u

static uint32_t find_text(const struct policy_engine *engine, const char *text)
{
	return text ? find_word(engine, text, strlen(text)) : ARTEFACT_NONE;
}

static void stamp_tags(struct policy_engine *engine, const char *const *tags)
{
	for (; tags && *tags; tags++) {
		uint32_t word = find_text(engine, *tags);

		if (word != ARTEFACT_NONE)
			engine->word_stamps[word] = engine->generation;
	}
}

/* The same root comes with many requests; it is looked at once. */
static bool root_is_normal(struct policy_engine *engine, const char *root)
{
	if (strcmp(engine->project_root, root) == 0)
		return true;
	if (!path_is_normal(root))
		return false;
	engine->project_root_len = strlen(root);
	memcpy(engine->project_root, root, engine->project_root_len + 1);
	return true;
}

/* How many components the project's root has, if the path is in it and some glob wants to know. */
static size_t count_project_components(const struct policy_engine *engine)
{
	const struct artefact_node *root = &engine->nodes[1];
	size_t len = engine->project_root_len;

	if (root->kind == 0 && root->words == 0)
		return NO_PROJECT;
	if (len == 1)
		return 0;
	if (memcmp(engine->path, engine->project_root, len) != 0)
		return NO_PROJECT;
	for (size_t i = 0; i < engine->n_components; i++)
		if (engine->components[i].start + engine->components[i].len == len)
			return i + 1;
	return NO_PROJECT;
}

static const char *read_path(struct policy_engine *engine, struct query *query)
{
	const struct policy_request *request = query->request;

	if (!request->path)
		return query->operation->argument == ARGUMENT_PATH ? "the request names no path"
								   : NULL;
	if (!path_split(engine, request->path))
		return "the path is not absolute and normal: it must begin with '/', have no "
		       "empty, '.' or '..' component and at most 4095 bytes";
	query->path = request->path;
	if (!request->project_root)
		return engine->header->needs_project & query->bit
			       ? "the policy has rules for paths below the project's root, and the "
				 "request names no project"
			       : NULL;
	if (!root_is_normal(engine, request->project_root))
		return "the project's root is not absolute and normal";
	query->n_project_components = count_project_components(engine);
	return NULL;
}

static const char *read_proto(struct query *query)
{
	const char *proto = query->request->proto;
	bool is_network = query->operation->argument == ARGUMENT_HOST;

	if (!proto)
		query->protos = is_network ? PROTO_TCP : 0;
	else if (strcmp(proto, "tcp") == 0)
		query->protos = PROTO_TCP;
	else if (strcmp(proto, "udp") == 0)
		query->protos = PROTO_UDP;
	else
		return "the protocol is neither tcp nor udp";
	return NULL;
}

static const char *read_network(struct policy_engine *engine, struct query *query)
{
	const struct policy_request *request = query->request;
	bool is_network = query->operation->argument == ARGUMENT_HOST;
	const char *problem = read_proto(query);

	if (problem)
		return problem;
	if (!request->host)
		return is_network ? "the request names no host" : NULL;
	problem = query_read_host(engine, request->host, query);
	if (problem)
		return problem;
	if (is_network && !request->has_port && (engine->header->needs_port & query->bit))
		return "the policy has rules for ports, and the request names no port";
	return NULL;
}

static uint32_t find_unsaid(const struct policy_request *request)
{
	const char *tag = request->caller_tags ? request->caller_tags[0] : NULL;

	return (uint32_t)!request->caller << MATCH_CALLER | (uint32_t)!tag << MATCH_TAG |
	       (uint32_t)!request->state << MATCH_STATE | (uint32_t)!request->mode << MATCH_MODE;
}

const char *query_read(struct policy_engine *engine, const struct policy_request *request,
		       struct query *ret)
{
	int row = request->operation ? operation_find(request->operation) : OPERATION_UNKNOWN;
	const char *problem;

	if (row == OPERATION_UNKNOWN)
		return "the operation is unknown";
	ret->request = request;
	ret->operation = operation_at(row);
	ret->bit = UINT64_C(1) << row;
	ret->path = NULL;
	ret->n_project_components = NO_PROJECT;
	ret->has_host = ret->has_ipv4 = ret->has_ipv6 = false;
	ret->n_suffixes = 0;
	ret->host = ARTEFACT_NONE;
	problem = read_path(engine, ret);
	if (!problem)
		problem = read_network(engine, ret);
	if (problem)
		return problem;
	ret->caller = find_text(engine, request->caller);
	ret->state = find_text(engine, request->state);
	ret->mode = find_text(engine, request->mode);
	ret->unsaid = find_unsaid(request);
	stamp_tags(engine, request->caller_tags);
	return NULL;
}
