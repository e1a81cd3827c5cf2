/* SPDX-License-Identifier: MIT */

/*
 * The decision: the request is checked and looked up; then the built-in rules judge, then a token
 * or the policy's rules, then the votes of extensions
 *
 * A request that cannot be judged with certainty is denied. That includes one that lacks a fact
 * which the rules of its operation need: without the project's root, or without the port, a rule
 * that denies would silently not apply.
 */

#include "policy/decide.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostname.h"
#include "base/path.h"
#include "policy/compile.h"
#include "policy/decide-internal.h"
#include "policy/guarded.h"
#include "policy/network.h"

static void open_sections(const struct artefact *artefact, struct sections *ret)
{
	*ret = (struct sections){
		.header = artefact->header,
		.bytes = artefact_rows(artefact, SECTION_BYTES),
		.sources = artefact_rows(artefact, SECTION_SOURCES),
		.rules = artefact_rows(artefact, SECTION_RULES),
		.conditions = artefact_rows(artefact, SECTION_CONDITIONS),
		.lists = artefact_rows(artefact, SECTION_LISTS),
		.texts = artefact_rows(artefact, SECTION_TEXTS),
		.values = artefact_rows(artefact, SECTION_VALUES),
		.postings = artefact_rows(artefact, SECTION_POSTINGS),
		.nodes = artefact_rows(artefact, SECTION_NODES),
		.forks = artefact_rows(artefact, SECTION_FORKS),
		.patterns = artefact_rows(artefact, SECTION_PATTERNS),
		.words = artefact_rows(artefact, SECTION_WORDS),
		.entries = artefact_rows(artefact, SECTION_INDEX),
		.plain = artefact_rows(artefact, SECTION_PLAIN),
		.addressed = artefact_rows(artefact, SECTION_ADDRESSED),
		.words_mask = artefact_n_rows(artefact, SECTION_WORDS) - 1,
		.entries_mask = artefact_n_rows(artefact, SECTION_INDEX) - 1,
	};
}

/* Allocates one number per row of the section. */
static uint32_t *numbers(struct policy_engine *engine, enum artefact_section section)
{
	size_t n = artefact_n_rows(&engine->artefact, section);

	return arena_alloc(&engine->arena, n * sizeof(uint32_t));
}

static bool alloc_scratch(struct policy_engine *engine)
{
	struct scratch *scratch = &engine->scratch;
	size_t n_nodes = artefact_n_rows(&engine->artefact, SECTION_NODES);
	size_t n_rules = artefact_n_rows(&engine->artefact, SECTION_RULES);

	*scratch = (struct scratch){
		.marks = numbers(engine, SECTION_CONDITIONS),
		.candidates = numbers(engine, SECTION_CONDITIONS),
		.excepted = numbers(engine, SECTION_RULES),
		.found = numbers(engine, SECTION_CONDITIONS),
		.doubts = arena_alloc(&engine->arena, n_rules * sizeof(*scratch->doubts)),
		.waiting = arena_alloc(&engine->arena, n_nodes * sizeof(*scratch->waiting)),
		.fork_stamps = numbers(engine, SECTION_FORKS),
		.word_stamps = numbers(engine, SECTION_WORDS),
	};
	return scratch->marks && scratch->candidates && scratch->excepted && scratch->found &&
	       scratch->doubts && scratch->waiting && scratch->fork_stamps && scratch->word_stamps;
}

static int engine_new(const struct artefact *artefact, const struct guarded_list *list,
		      struct policy_engine **ret)
{
	_cleanup_engine_ struct policy_engine *engine = malloc(sizeof(*engine));

	if (!engine)
		return -ENOMEM;
	/* Do not clear the path's components[] (12 pages): each decision writes them before it
	 * reads them. */
	memset(engine, 0, offsetof(struct policy_engine, path.components));
	engine->artefact = *artefact;
	open_sections(artefact, &engine->policy);
	if (!alloc_scratch(engine))
		return -ENOMEM;
	if (list)
		engine->first_guarded = *list;
	else if (guarded_list(&(struct guarded_places){ .home = NULL }, &engine->arena,
			      &engine->first_guarded) < 0)
		return -ENOMEM;
	engine->guarded = &engine->first_guarded;
	engine->builtins = builtin_rules();
	for (const struct builtin_rule *rule = engine->builtins; rule->name; rule++)
		engine->builtin_operations |= rule->operations;
	engine->project_root[0] = '/';
	engine->project_root_len = 1;
	engine->exec_bit = operation_set("exec");
	engine->connect_bit = operation_set("net.connect");
	engine->empty_word = find_word(engine, "", 0);
	*ret = take_ptr(engine);
	return 0;
}

int policy_engine_new(const struct artefact *artefact, struct policy_engine **ret)
{
	return engine_new(artefact, NULL, ret);
}

int policy_engine_compile(const struct policy *policy, const struct guarded_list *list,
			  struct policy_engine **ret, struct sbx_error *err)
{
	_cleanup_free_ void *block = NULL;
	struct artefact artefact;
	int r = policy_compile_here(policy, &block, &artefact, err);

	if (r < 0)
		return r;
	r = engine_new(&artefact, list, ret);
	if (r < 0)
		return r;
	(*ret)->block = take_ptr(block);
	return 0;
}

struct policy_engine *policy_engine_free(struct policy_engine *engine)
{
	if (!engine)
		return NULL;
	arena_deinit(&engine->arena);
	free(engine->block);
	free(engine);
	return NULL;
}

void policy_engine_guard(struct policy_engine *engine, const struct guarded_list *list)
{
	engine->guarded = list ? list : &engine->first_guarded;
}

/* Generation numbers wrap after 2^30 decisions: clear all stamps, which would otherwise become
 * valid again. */
static void restart_generations(struct policy_engine *engine)
{
	const struct artefact *artefact = &engine->artefact;
	struct scratch *scratch = &engine->scratch;
	size_t n_rules = artefact_n_rows(artefact, SECTION_RULES);

	memset(scratch->marks, 0,
	       artefact_n_rows(artefact, SECTION_CONDITIONS) * sizeof(*scratch->marks));
	memset(scratch->excepted, 0, n_rules * sizeof(*scratch->excepted));
	memset(scratch->doubts, 0, n_rules * sizeof(*scratch->doubts));
	memset(scratch->fork_stamps, 0,
	       artefact_n_rows(artefact, SECTION_FORKS) * sizeof(*scratch->fork_stamps));
	memset(scratch->word_stamps, 0,
	       artefact_n_rows(artefact, SECTION_WORDS) * sizeof(*scratch->word_stamps));
	scratch->generation = GENERATION_STEP;
}

void engine_begin(struct policy_engine *engine)
{
	engine->scratch.generation += GENERATION_STEP;
	if (engine->scratch.generation == 0)
		restart_generations(engine);
	engine->scratch.n_candidates = engine->scratch.n_found = 0;
}

/* The request's host, read by base/hostname. An IPv4 address inside an IPv6 one reaches the same
 * host, so the rules about both apply. */

static void set_ipv4(struct query_address *address, const uint8_t bytes[4])
{
	address->has_ipv4 = true;
	artefact_address_bits(bytes, 4, address->ipv4);
}

static void set_ipv6(struct query_address *address, const uint8_t bytes[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	address->has_ipv6 = true;
	artefact_address_bits(bytes, 16, address->ipv6);
	if (memcmp(bytes, mapped, sizeof(mapped)) == 0)
		set_ipv4(address, bytes + 12);
}

static void set_name(const struct policy_engine *engine, const struct hostname *host,
		     struct query *query)
{
	query->host = find_word(engine, host->name, host->len);
	for (size_t i = 1; i < host->n_labels; i++) {
		size_t at = host->labels[i];
		uint32_t word = find_word(engine, host->name + at, host->len - at);

		if (word != ARTEFACT_NONE)
			query->suffixes[query->n_suffixes++] = word;
	}
}

static const char *read_host(struct policy_engine *engine, const char *text, struct query *query)
{
	struct hostname host;
	/* More bytes than any host has need not be counted. */
	enum hostname_problem problem =
		hostname_read(text, strnlen(text, HOST_BYTES_MAX + 2), &host);

	query->has_host = true;
	if (problem != HOSTNAME_OK)
		return hostname_problem_text(problem);
	query->is_literal = host.kind == HOSTNAME_IPV6 || host.kind == HOSTNAME_IPV4;
	if (host.kind == HOSTNAME_IPV6)
		set_ipv6(&query->address, host.bytes);
	else if (host.kind == HOSTNAME_IPV4)
		set_ipv4(&query->address, host.bytes);
	else
		set_name(engine, &host, query);
	return NULL;
}

static bool is_same_address(const struct query_address *a, const struct query_address *b)
{
	if (a->has_ipv6 || b->has_ipv6)
		return a->has_ipv6 && b->has_ipv6 && a->ipv6[0] == b->ipv6[0] &&
		       a->ipv6[1] == b->ipv6[1];
	return a->ipv4[0] == b->ipv4[0];
}

static const char *read_address(const char *text, struct query *query)
{
	struct query_address address = { .has_ipv4 = false };
	uint8_t bytes[16];

	if (inet_pton(AF_INET, text, bytes) == 1)
		set_ipv4(&address, bytes);
	else if (inet_pton(AF_INET6, text, bytes) == 1)
		set_ipv6(&address, bytes);
	else
		return "the address is neither IPv4 nor IPv6 in full, without brackets, zone and "
		       "prefix";
	if (query->is_literal && !is_same_address(&query->address, &address))
		return "the host is an address, and 'address' is another one";
	query->address = address;
	return NULL;
}

/* Determines whether the address is protected, and to which others a connection may go. */
static void classify_address(const struct policy_engine *engine, struct query *query)
{
	struct query_address *address = &query->address;
	const uint64_t *bits = address->has_ipv6 ? address->ipv6 : address->ipv4;

	query->is_proxied =
		engine->policy.header->special_needs_cidr && query->bit == engine->connect_bit;
	if (query->bit != engine->connect_bit || (!address->has_ipv6 && !address->has_ipv4))
		return;
	if (!query->is_proxied) {
		/* The rules about both apply to a mapped address. */
		bits = address->has_ipv4 ? address->ipv4 : address->ipv6;
		query->n_inner = special_local(!address->has_ipv4, bits, query->inner);
		return;
	}
	query->n_inner = special_inner(address->has_ipv6, bits, query->inner);
	address->special = special_find(address->has_ipv6, bits);
}

/* ---- the request ---- */

static uint32_t find_text(const struct policy_engine *engine, const char *text)
{
	return text ? find_word(engine, text, strlen(text)) : ARTEFACT_NONE;
}

static void stamp_tags(struct policy_engine *engine, const char *const *tags)
{
	for (; tags && *tags; tags++) {
		uint32_t word = find_text(engine, *tags);

		if (word != ARTEFACT_NONE)
			engine->scratch.word_stamps[word] = engine->scratch.generation;
	}
}

/* Most requests have the same root: check it once. */
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

/* Number of components of the project's root; NO_PROJECT if it does not contain the path, or no
 * glob is below the project. */
static size_t count_project_components(const struct policy_engine *engine)
{
	const struct artefact_node *root = &engine->policy.nodes[1];
	size_t len = engine->project_root_len;

	if (root->kind == 0 && root->words == 0)
		return NO_PROJECT;
	if (len == 1)
		return 0;
	if (memcmp(engine->path.text, engine->project_root, len) != 0)
		return NO_PROJECT;
	for (size_t i = 0; i < engine->path.n_components; i++)
		if (engine->path.components[i].start + engine->path.components[i].len == len)
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
		return engine->policy.header->needs_project & query->bit
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
		return is_network	  ? "the request names no host"
		       : request->address ? "the request has an address and no host"
					  : NULL;
	problem = read_host(engine, request->host, query);
	if (!problem && request->address)
		problem = read_address(request->address, query);
	if (problem)
		return problem;
	classify_address(engine, query);
	if (is_network && !request->has_port && (engine->policy.header->needs_port & query->bit))
		return "the policy has rules for ports, and the request names no port";
	return NULL;
}

static uint32_t find_unsaid(const struct query *query)
{
	const struct policy_request *request = query->request;
	const char *tag = request->caller_tags ? request->caller_tags[0] : NULL;
	bool lacks_address = query->has_host && !query->is_literal && !request->address;

	return (uint32_t)!request->caller << MATCH_CALLER | (uint32_t)!tag << MATCH_TAG |
	       (uint32_t)!request->state << MATCH_STATE | (uint32_t)!request->mode << MATCH_MODE |
	       (uint32_t)lacks_address << MATCH_CIDR;
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
	ret->has_host = ret->is_literal = ret->is_proxied = false;
	ret->address = (struct query_address){ .has_ipv4 = false };
	ret->n_suffixes = ret->n_inner = 0;
	ret->host = ARTEFACT_NONE;
	problem = read_path(engine, ret);
	if (!problem)
		problem = read_network(engine, ret);
	if (problem)
		return problem;
	ret->caller = find_text(engine, request->caller);
	ret->state = find_text(engine, request->state);
	ret->mode = find_text(engine, request->mode);
	ret->unsaid = find_unsaid(ret);
	stamp_tags(engine, request->caller_tags);
	return NULL;
}

void query_restart(struct policy_engine *engine, const struct query *query)
{
	engine_begin(engine);
	stamp_tags(engine, query->request->caller_tags);
}

/* ---- the decision ---- */

static const struct constraints no_constraints = { .max_file_size_bytes = UINT64_MAX };

static void decide_alone(enum policy_action verdict, enum policy_cause cause, const char *reason,
			 struct policy_decision *ret)
{
	*ret = (struct policy_decision){
		.verdict = verdict,
		.cause = cause,
		.reason = reason,
		.constraints = no_constraints,
	};
}

static void decide_by_builtin(const struct builtin_rule *builtin,
			      const struct policy_request *request, struct policy_decision *ret)
{
	decide_alone(builtin->action, CAUSE_BUILTIN, builtin->reason, ret);
	ret->builtin = builtin->name;
	if (builtin->unless_modes && !request->mode)
		ret->facts = 1u << UNSAID_MODE;
}

/* A fact that may change the rules' answer may change this answer, too. */
static void keep_dependences(const struct policy_decision *rules, struct policy_decision *ret)
{
	ret->facts |= rules->facts;
	ret->dependences = rules->dependences;
	ret->n_dependences = rules->n_dependences;
	ret->is_of_ordinary_address = rules->is_of_ordinary_address;
}

/* A narrowing file cannot replace a built-in rule. */
static bool allows_by_rule(const struct policy_engine *engine,
			   const struct policy_decision *decision)
{
	if (decision->cause != CAUSE_RULES || !policy_permits(decision->verdict))
		return false;
	for (size_t i = 0; i < decision->n_rules; i++)
		if (!engine->policy.sources[engine->policy.rules[decision->rules[i]].source]
			     .narrows)
			return true;
	return false;
}

/* A deny rule overrides a built-in review; rules that also require review stay listed. */
static void add_builtin(const struct policy_engine *engine, const struct builtin_rule *builtin,
			const struct policy_request *request, struct policy_decision *ret)
{
	struct policy_decision rules = *ret;

	if (ret->verdict == POLICY_DENY && ret->cause == CAUSE_RULES)
		return;
	if (builtin->is_default && allows_by_rule(engine, ret))
		return;
	decide_by_builtin(builtin, request, ret);
	keep_dependences(&rules, ret);
	if (rules.verdict == builtin->action && rules.cause == CAUSE_RULES) {
		ret->rules = rules.rules;
		ret->n_rules = rules.n_rules;
	}
}

/*
 * The rules, for an address that leads to others once for each of them: a translator or the kernel
 * connects to the inner one
 *
 * The most severe answer counts. Its rules are in the engine's memory only after the last look-up,
 * so it is the last one that is made.
 */

#define ADDRESSES_MAX (1 + SPECIAL_INNER_MAX)

static void judge_address(struct policy_engine *engine, struct query *query,
			  const struct query_address *address, struct policy_decision *ret)
{
	query->address = *address;
	query_restart(engine, query);
	rules_judge(engine, query, ret);
}

/* Neither a token nor an extension overrides it, so it is more severe than a denial by default. */
static bool is_final(const struct policy_decision *decision)
{
	return decision->verdict == POLICY_DENY &&
	       (decision->cause == CAUSE_RULES || decision->cause == CAUSE_BUILTIN);
}

static struct query_address address_of(const struct query *query, const struct special_inner *inner)
{
	struct query_address address = { .has_ipv4 = !inner->is_ipv6, .has_ipv6 = inner->is_ipv6 };

	memcpy(inner->is_ipv6 ? address.ipv6 : address.ipv4, inner->bits, sizeof(inner->bits));
	if (query->is_proxied)
		address.special = special_find(inner->is_ipv6, inner->bits);
	return address;
}

static void judge_all(struct policy_engine *engine, struct query *query,
		      struct policy_decision *ret)
{
	struct query_address addresses[ADDRESSES_MAX] = { query->address };
	struct policy_decision decision;
	enum tls_demand tls = TLS_ANY;
	size_t n = 1, worst = 0;
	unsigned facts = 0;

	for (size_t i = 0; i < query->n_inner; i++)
		addresses[n++] = address_of(query, &query->inner[i]);
	*ret = (struct policy_decision){ .verdict = POLICY_PASS };
	for (size_t i = 0; i < n && !is_final(ret); i++) {
		judge_address(engine, query, &addresses[i], &decision);
		facts |= decision.facts;
		if (decision.constraints.tls == TLS_SNI)
			tls = TLS_SNI;
		if (decision.verdict <= ret->verdict && !is_final(&decision))
			continue;
		worst = i;
		*ret = decision;
	}
	if (is_final(ret))
		return;
	judge_address(engine, query, &addresses[worst], ret);
	ret->facts |= facts;
	ret->constraints.tls = tls;
}

static void judge(struct policy_engine *engine, struct query *query, struct policy_decision *ret)
{
	if (query->n_inner > 0)
		judge_all(engine, query, ret);
	else
		rules_judge(engine, query, ret);
}

/* No token is issued for what a rule denies; only the address of a name is not known then. */
static void decide_by_token(struct policy_engine *engine, struct query *query,
			    struct policy_decision *ret)
{
	bool may_depend = query->is_proxied || (engine->policy.header->needs_address & query->bit);

	if (query->address.special || query->n_inner > 0 ||
	    (query->request->address && !query->is_literal)) {
		judge(engine, query, ret);
		if (is_final(ret))
			return;
	}
	decide_alone(POLICY_ALLOW, CAUSE_TOKEN, "a valid token was given", ret);
	if (may_depend && (query->unsaid >> MATCH_CIDR & 1))
		ret->facts = 1u << UNSAID_ADDRESS;
}

void policy_decide(struct policy_engine *engine, const struct policy_request *request,
		   struct policy_decision *ret)
{
	struct query query;

	engine_begin(engine);

	const char *problem = query_read(engine, request, &query);

	if (problem) {
		decide_alone(POLICY_DENY, CAUSE_BAD_REQUEST, problem, ret);
		return;
	}

	const struct builtin_rule *builtin = NULL;

	if (engine->builtin_operations & query.bit)
		builtin = builtin_judge(engine->builtins, request, query.bit, engine->guarded);

	if (builtin && (builtin->action == POLICY_DENY || request->has_token)) {
		decide_by_builtin(builtin, request, ret);
		return;
	}
	if (request->has_token) {
		decide_by_token(engine, &query, ret);
		return;
	}
	judge(engine, &query, ret);
	if (builtin)
		add_builtin(engine, builtin, request, ret);
}

/* A denial by a rule or a built-in rule is final, and a token bypasses extensions. If no rule
 * decided, an extension may still allow. */
bool policy_wants_votes(const struct policy_decision *decision)
{
	if (decision->cause == CAUSE_TOKEN || decision->cause == CAUSE_BAD_REQUEST)
		return false;
	return decision->verdict != POLICY_DENY || decision->cause == CAUSE_DEFAULT ||
	       decision->cause == CAUSE_CONSTRAINT;
}

/* The action that a vote has to exceed: any vote exceeds a default. */
static enum policy_action action_to_exceed(const struct policy_decision *decision)
{
	return decision->cause == CAUSE_DEFAULT || decision->cause == CAUSE_CONSTRAINT
		       ? POLICY_PASS
		       : decision->verdict;
}

static enum policy_action action_of(const struct policy_vote *vote)
{
	return (unsigned)vote->action <= POLICY_DENY ? vote->action : POLICY_DENY;
}

void policy_add_votes(struct policy_decision *decision, const struct policy_vote *votes,
		      size_t n_votes)
{
	const struct policy_vote *most = NULL;

	if (!policy_wants_votes(decision))
		return;
	for (size_t i = 0; i < n_votes; i++)
		if (action_of(&votes[i]) > (most ? action_of(most) : action_to_exceed(decision)))
			most = &votes[i];
	if (!most)
		return;

	struct policy_decision rules = *decision;
	bool was_permitted = policy_permits(decision->verdict);

	decide_alone(action_of(most), CAUSE_EXTENSION, most->reason, decision);
	decision->extension = most->extension;
	if (decision->verdict != POLICY_DENY)
		keep_dependences(&rules, decision);
	/* A vote to warn keeps the constraints of the permission. */
	if (decision->verdict == POLICY_WARN && was_permitted)
		decision->constraints = rules.constraints;
}
