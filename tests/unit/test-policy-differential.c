/* SPDX-License-Identifier: MIT */

/*
 * The compiled policy against policy-naive.h, on random patterns, paths, policies and requests
 */

#include <errno.h>
#include <stdint.h>

#include "policy/compose.h"
#include "policy/decide.h"
#include "policy-build.h"
#include "policy-naive.h"
#include "test.h"

#define PAIRS 1000000
#define DECISIONS 20000
#define GLOBS 40
#define PATHS 250

static uint64_t random_state = 1;

static uint32_t random_below(uint32_t n)
{
	uint64_t z = (random_state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (uint32_t)((z ^ (z >> 31)) % n);
}

#define random_of(list) ((list)[random_below(N_ELEMENTS(list))])

static const char *const names[] = { "a", "b", "ab", "abc", "a.h", "b.c", ".a", "A", "*", "a*b",
				     "[", "a]", "-", "^", "!b", "\\", "ba", "aab", "é", "a b", "7",
				     "ab7", "...", "p",
				     /* Lengths at which components are stored differently. */
				     "ab345678", "ab3456789", "ab34567890123456",
				     "ab345678901234567" };
static const char *const globs[] = {
	"a",
	"b",
	"ab",
	"p",
	"*",
	"*",
	"**",
	"**",
	"a*",
	"*b",
	"*.h",
	"?",
	"a?",
	"[ab]",
	"[!a]*",
	"[^a-c]",
	"a**b",
	"\\*",
	"\\[",
	"[]a]*",
	"[a-]",
	"***",
	"*a*b*",
	"[[:alpha:]]*",
	".*",
	"\\a",
	"[\\]a]]",
	"[b-a]",
	"*[0-9]",
	"A",
	"é",
	"[!]]",
	"?*?",
	"*\\**",
	"a\\*b",
	"[a-b-]",
	"[[:digit:]]",
	"*[!.h]",
	"[[a]b",
	"**a",
	"b**",
	"...",
	"ab345678",
	"ab3456789",
	"ab34567890123456",
	"ab345678901234567",
};
static const char *const roots[] = { "/p", "/p", "/", "/p/a", "/a/b", "/ab/a" };

static void random_path(char *path, size_t max)
{
	size_t n = random_below(6), len = 0;

	if (n == 0)
		snprintf(path, max, "/");
	if (n > 2 && random_below(3) == 0)
		len = (size_t)snprintf(path, max, "%s", "/p");
	for (size_t i = 0; i < n; i++)
		len += (size_t)snprintf(path + len, max - len, "/%s", random_of(names));
}

static void random_glob(char *glob, size_t max)
{
	static const char *const anchors[] = { "/", "/", "/", "", "", "", "./", "/p/", "/**/" };
	size_t n = 1 + random_below(4);
	size_t len = (size_t)snprintf(glob, max, "%s", random_of(anchors));

	for (size_t i = 0; i < n; i++)
		len += (size_t)snprintf(glob + len, max - len, "%s%s", i ? "/" : "",
					random_of(globs));
	if (random_below(5) == 0)
		snprintf(glob + len, max - len, "/");
}

/* Literal values must not contain the separators of the words. */
static void random_literal(char *text, size_t max)
{
	static const char *const literals[] = { "a", "/a", "a/b", "./b", "/p/a", "/",
						".", "b/", "/a/", "p",	 "/p",	 "./a/b/" };

	snprintf(text, max, "%s", random_of(literals));
}

static void add_random_value(struct built *built, struct condition *condition, bool literal)
{
	char word[256] = "path=";

	if (literal) {
		memcpy(word, "literal=", 9);
		random_literal(word + 8, sizeof(word) - 8);
	} else {
		random_glob(word + 5, sizeof(word) - 5);
	}
	build_word(built, condition, word, strlen(word));
}

static bool has_rule(const struct policy_decision *decision, uint32_t rule)
{
	for (size_t i = 0; i < decision->n_rules; i++)
		if (decision->rules[i] == rule)
			return true;
	return false;
}

static void compare_one_path(struct built *built, const struct policy_request *request,
			     size_t *ret_matches)
{
	struct policy_decision decision;

	policy_decide(built->engine, request, &decision);
	for (uint32_t i = 0; i < built->policy->n_rules; i++) {
		const struct rule *rule = &built->policy->rules[i];
		bool wanted = naive_rule(rule, request);

		*ret_matches += wanted;
		if (has_rule(&decision, i) == wanted)
			continue;
		printf("# %s '%s' and %s '%s' in '%s': expected %d\n", request->operation,
		       request->path,
		       rule->match.lists[MATCH_PATH].values[0].literal ? "literal" : "glob",
		       rule->match.lists[MATCH_PATH].values[0].text, request->project_root, wanted);
		test_failures++;
	}
}

/* A policy with one rule for each of some random globs, and requests for random paths. */
static size_t compare_some_globs(const char *operation, size_t *matches)
{
	_cleanup_built_ struct built built = build_new();
	struct policy_request request = { .operation = operation, .path = "/" };
	char path[256];

	for (int i = 0; i < GLOBS; i++) {
		struct rule *rule = build_rule(&built, POLICY_DENY, operation, "");

		add_random_value(&built, &rule->match, random_below(8) == 0);
	}
	build_engine(&built);
	request.path = path;
	for (int i = 0; i < PATHS; i++) {
		request.project_root = random_of(roots);
		random_path(path, sizeof(path));
		compare_one_path(&built, &request, matches);
	}
	return (size_t)GLOBS * PATHS;
}

static void matches_a_million_random_pairs_like_the_naive_matcher(void)
{
	size_t n_wanted = PAIRS * (test_is_slow() ? 20 : 1), n = 0, matches = 0;
	unsigned before = test_failures;

	while (n < n_wanted && test_failures - before < 20)
		n += compare_some_globs(random_below(4) ? "fs.read" : "exec", &matches);
	printf("# %zu pairs, %zu of them match\n", n, matches);
	expect(n >= n_wanted);
	/* A generator whose paths never or always match would compare nothing. */
	expect(matches > n / 50 && matches < n / 2);
}

static const char *const operations[] = { "fs.read",	 "fs.write",	"fs.*",	 "exec",    "*",
					  "net.connect", "net.connect", "net.*", "test.run" };
static const char *const hosts[] = {
	"a.example", "b.a.example", "A.Example.", "example",	 "c.b.a.example",   "10.0.0.1",
	"10.1.2.3",  "192.168.1.1", "::1",	  "2001:db8::7", "::ffff:10.0.0.1", "8.8.8.8",
	"2a00::1",   "fe80::1",	    "0.0.0.0",	  "::",		 "::ffff:0:0",
};
#define N_NAMES 5
/* Of a name. */
static const char *const addresses[] = {
	"10.0.0.1",
	"10.1.2.3",
	"8.8.8.8",
	"8.8.4.4",
	"127.0.0.1",
	"169.254.169.254",
	"::1",
	"2a00::1",
	"2001:db8::7",
	"::ffff:10.0.0.1",
	"::ffff:8.8.8.8",
	"64:ff9b::10.0.0.1",
	"64:ff9b::8.8.8.8",
	"::8.8.8.8",
	"2002:a00:1::1",
	"2002:808:808::1",
	"fd00::1",
	"2001:0:808:808:0:0:f7f7:f7f7",
	"2001:0:a00:1::f7f7",
	"ff02::1",
	"0.0.0.0",
	"0.0.0.1",
	"::",
	"::ffff:0.0.0.0",
	"64:ff9b::",
	"2001::ffff:ffff",
};
static const char *const words[] = { "red", "green", "blue", "white" };

static void add_key(struct built *built, struct condition *condition, uint32_t key)
{
	static const char *const host_values[] = { "host=a.example", "host=*.a.example",
						   "host=*.example", "host=example" };
	static const char *const cidrs[] = { "cidr=10.0.0.0/8",	   "cidr=10.0.0.1",
					     "cidr=0.0.0.0/0",	   "cidr=::/0",
					     "cidr=2001:db8::/32", "cidr=::1",
					     "cidr=8.0.0.0/8",	   "cidr=64:ff9b::/96",
					     "cidr=127.0.0.0/8",   "cidr=" };
	static const char *const ports[] = { "port=443",  "port=80",	  "port=1000-2000",
					     "port=1500", "port=0-65535", "port=79-444" };
	static const char *const protos[] = { "proto=tcp", "proto=udp" };
	static const char *const others[] = { "caller=", "tag=", "state=", "mode=" };
	char word[300] = "";

	if (key < 5) {
		add_random_value(built, condition, random_below(6) == 0);
		return;
	}
	if (key == 5)
		snprintf(word, sizeof(word), "path=!");
	if (key == 5)
		random_glob(word + 6, sizeof(word) - 6);
	if (key == 6)
		snprintf(word, sizeof(word), "%s", random_of(host_values));
	if (key == 7)
		snprintf(word, sizeof(word), "%s", random_of(cidrs));
	if (key == 8)
		snprintf(word, sizeof(word), "%s", random_of(ports));
	if (key == 9)
		snprintf(word, sizeof(word), "%s", random_of(protos));
	if (key > 9)
		snprintf(word, sizeof(word), "%s%s", random_of(others),
			 random_below(12) ? random_of(words) : "");
	build_word(built, condition, word, strlen(word));
}

static void add_random_key(struct built *built, struct condition *condition)
{
	add_key(built, condition, random_below(12));
}

static void add_random_constraints(struct constraints *constraints)
{
	static const char *const sandboxes[] = { "L1", "L2", "L3" };

	if (random_below(8) == 0)
		constraints->require_sandbox = random_of(sandboxes);
	if (random_below(16) == 0)
		constraints->require_token = true;
	if (random_below(8) == 0)
		constraints->max_file_size_bytes = 100;
	if (random_below(2) == 0)
		constraints->tls = TLS_ANY;
}

static void add_random_rule(struct built *built)
{
	struct rule *rule = build_rule(built, (enum policy_action)random_below(POLICY_DENY + 1),
				       random_of(operations), "");

	rule->place.source = random_below(3) == 0;
	for (uint32_t n = random_below(4); n > 0; n--)
		add_random_key(built, &rule->match);
	for (uint32_t n = random_below(3); n > 0; n--) {
		build_except(built, rule, random_below(3) ? NULL : random_of(operations), "");
		for (uint32_t k = random_below(3); k > 0; k--)
			add_random_key(built, (struct condition *)(uintptr_t)&rule
						      ->exceptions[rule->n_exceptions - 1]);
	}
	add_random_constraints(&rule->constraints);
}

static bool is_name(const char *host)
{
	for (size_t i = 0; i < N_NAMES; i++)
		if (host == hosts[i])
			return true;
	return false;
}

/* A random value for every fact of a request; @path and @tags are memory for two of them. */
static struct policy_request random_request(char *path, size_t max, const char **tags)
{
	static const char *const asked[] = { "fs.read",	    "fs.write", "exec",
					     "net.connect", "net.bind", "test.run" };
	static const char *const protos[] = { "tcp", "udp", NULL };
	static const char *const sandboxes[] = { "L1", "L2", NULL };
	static const uint16_t ports[] = { 80, 443, 1500, 1000, 8080, 65535 };
	struct policy_request request = {
		.operation = random_of(asked),
		.project_root = random_of(roots),
		.port = random_of(ports),
		.proto = random_of(protos),
		.caller = random_of(words),
		.caller_tags = tags,
		.state = random_below(4) ? random_of(words) : NULL,
		.mode = random_of(words),
		.sandbox = random_of(sandboxes),
		.size_bytes = random_below(200),
		.has_size = random_below(2),
	};

	random_path(path, max);
	tags[0] = random_of(words);
	tags[1] = random_below(2) ? random_of(words) : NULL;
	if (strncmp(request.operation, "net.", 4) != 0 && random_below(8))
		request.path = path;
	if (strncmp(request.operation, "fs.", 3) == 0 || strcmp(request.operation, "exec") == 0)
		request.path = path;
	if (strncmp(request.operation, "net.", 4) == 0) {
		request.host = random_of(hosts);
		request.has_port = true;
		if (is_name(request.host) && random_below(3))
			request.address = random_of(addresses);
	}
	return request;
}

/* A permission without 'cidr' is not about special addresses. */
static bool is_closed(const struct policy *policy, const struct rule *rule,
		      const struct policy_request *request)
{
	const char *address = request->address ? request->address : request->host;

	return policy->special_needs_cidr && strcmp(request->operation, "net.connect") == 0 &&
	       (rule->action == POLICY_ALLOW || rule->action == POLICY_WARN) &&
	       !rule->match.lists[MATCH_CIDR].present && naive_special(address);
}

/* policy_explain() must report exactly the rules that apply. */
static void compare_explanation(struct built *built, const struct policy_request *request)
{
	struct policy_explanation rows[16];
	size_t n = policy_explain(built->engine, request, rows, N_ELEMENTS(rows)), at = 0;

	for (uint32_t i = 0; i < built->policy->n_rules; i++) {
		bool listed = at < n && rows[at].rule == i;

		expect((listed && rows[at].near == NEAR_APPLIES) ==
		       (naive_rule(&built->policy->rules[i], request) &&
			!is_closed(built->policy, &built->policy->rules[i], request)));
		at += listed;
	}
	expect_eq(at, n);
}

/* Does the rule apply to the address, or to one that is embedded in it and judged as well? */
static bool naive_rule_somewhere(const struct rule *rule, const struct policy_request *request)
{
	struct policy_request inner = *request;
	char embedded[NAIVE_INNER_MAX][INET6_ADDRSTRLEN];
	size_t n = naive_embedded(request->address ? request->address : request->host, embedded);
	bool applies = naive_rule(rule, request);

	for (size_t i = 0; i < n; i++) {
		inner.address = embedded[i];
		applies |= naive_rule(rule, &inner);
	}
	return applies;
}

static bool has_embedded(const struct policy_request *request)
{
	char embedded[NAIVE_INNER_MAX][INET6_ADDRSTRLEN];
	const char *address = request->address ? request->address : request->host;

	return address && naive_embedded(address, embedded) > 0;
}

static void compare_decision(struct built *built, const struct policy_request *request)
{
	bool is_any;
	enum policy_action wanted = naive_decide(built->policy, request, &is_any);
	struct policy_decision decision;

	policy_decide(built->engine, request, &decision);
	expect(decision.cause != CAUSE_BAD_REQUEST);
	expect_eq(decision.verdict, wanted);
	expect_eq(decision.constraints.tls, is_any ? TLS_ANY : TLS_SNI);
	for (uint32_t i = 0; i < built->policy->n_rules && decision.cause == CAUSE_RULES; i++) {
		const struct rule *rule = &built->policy->rules[i];

		/* Which allow rules count depends on others; naive_decide() decides that. */
		if (has_embedded(request))
			expect(!has_rule(&decision, i) || (rule->action == decision.verdict &&
							   naive_rule_somewhere(rule, request)));
		else if (rule->action == decision.verdict && decision.verdict > POLICY_WARN)
			expect_eq(has_rule(&decision, i), naive_rule(rule, request));
		else if (has_rule(&decision, i))
			expect(rule->action == decision.verdict && naive_rule(rule, request));
	}
	compare_explanation(built, request);
}

static bool build_random(struct built *built)
{
	static const enum policy_action defaults[] = { POLICY_DENY, POLICY_DENY, POLICY_ALLOW,
						       POLICY_WARN, POLICY_REVIEW };

	built->policy->special_needs_cidr = random_below(2);
	for (int i = 0; i < N_CLASSES; i++)
		built->policy->defaults[i] = random_of(defaults);
	for (uint32_t n = random_below(13); n > 0; n--)
		add_random_rule(built);

	/* Only rights to execute by name may be refused. */
	int r = build_try(built, NULL);

	expect(r == 0 || r == -EINVAL);
	return r == 0;
}

/* Rules about names and addresses, of which most meet the requests for connections. */
static bool build_random_network(struct built *built)
{
	static const char *const about[] = { "net.connect", "net.*", "*" };
	static const uint32_t keys[] = { 6, 6, 7, 7, 7, 8, 10, 11 };
	static const enum policy_action actions[] = { POLICY_ALLOW, POLICY_ALLOW,  POLICY_ALLOW,
						      POLICY_WARN,  POLICY_REVIEW, POLICY_DENY };

	built->policy->special_needs_cidr = random_below(4) > 0;
	built->policy->defaults[CLASS_NET] = random_below(4) ? POLICY_DENY : POLICY_ALLOW;
	for (uint32_t n = random_below(7); n > 0; n--) {
		struct rule *rule = build_rule(built, random_of(actions), random_of(about), "");

		rule->place.source = random_below(5) == 0;
		for (uint32_t k = random_below(4); k > 0; k--)
			add_key(built, &rule->match, random_of(keys));
		if (random_below(4) == 0) {
			build_except(built, rule, NULL, "");
			add_key(built, (struct condition *)(uintptr_t)&rule->exceptions[0],
				random_of(keys));
		}
		if (random_below(8) == 0)
			add_random_constraints(&rule->constraints);
	}
	return build_try(built, NULL) == 0;
}

static struct policy_request random_connection(char *path, size_t max, const char **tags)
{
	struct policy_request request = random_request(path, max, tags);

	request.operation = random_below(8) ? "net.connect" : "net.bind";
	request.path = NULL;
	request.host = random_of(hosts);
	request.has_port = true;
	request.address = is_name(request.host) && random_below(4) ? random_of(addresses) : NULL;
	return request;
}

static void decides_random_connections_like_the_naive_evaluator(void)
{
	size_t n_wanted = DECISIONS * (test_is_slow() ? 20 : 1), n = 0, n_protected = 0;
	unsigned before = test_failures;

	while (n < n_wanted && test_failures - before < 20) {
		_cleanup_built_ struct built built = build_new();
		const char *tags[3] = { NULL };
		char path[256];

		if (!build_random_network(&built))
			continue;
		for (int i = 0; i < 60; i++, n++) {
			struct policy_request request = random_connection(path, sizeof(path), tags);
			struct policy_decision decision;

			compare_decision(&built, &request);
			policy_decide(built.engine, &request, &decision);
			n_protected += decision.cause == CAUSE_BUILTIN;
		}
	}
	printf("# %zu connections, %zu to protected addresses\n", n, n_protected);
	expect(n_protected > n / 10 && n_protected < n / 2);
}

static void decides_random_requests_like_the_naive_evaluator(void)
{
	size_t n_wanted = DECISIONS * (test_is_slow() ? 20 : 1), n = 0;
	unsigned before = test_failures;

	while (n < n_wanted && test_failures - before < 20) {
		_cleanup_built_ struct built built = build_new();
		const char *tags[3] = { NULL };
		char path[256];

		if (!build_random(&built))
			continue;
		for (int i = 0; i < 60; i++, n++) {
			struct policy_request request = random_request(path, sizeof(path), tags);

			compare_decision(&built, &request);
		}
	}
	expect(n >= n_wanted);
}

/* Random facts that a request may omit; without a valid token, which bypasses all rules. */
static const char *const tags_said[][2] = { { "red", NULL }, { "green", NULL }, { "blue", NULL } };
static const char digest_said[] =
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static void say(struct policy_request *request, enum policy_unsaid fact)
{
	static const char *const levels[] = { "L1", "L2", "L3" };

	if (fact == UNSAID_CALLER)
		request->caller = random_of(words);
	if (fact == UNSAID_TAG)
		request->caller_tags = random_of(tags_said);
	if (fact == UNSAID_STATE)
		request->state = random_of(words);
	if (fact == UNSAID_MODE)
		request->mode = random_of(words);
	if (fact == UNSAID_DIGEST)
		request->sha256 = digest_said;
	/* The size only matters for fs.write. */
	if (fact == UNSAID_SIZE && strcmp(request->operation, "fs.write") == 0) {
		request->has_size = true;
		request->size_bytes = random_below(200);
	}
	if (fact == UNSAID_LEVEL)
		request->sandbox = random_of(levels);
	if (fact == UNSAID_ADDRESS && request->host && is_name(request->host) && !request->address)
		request->address = random_of(addresses);
}

/* Adds a random half of the facts, but none of @without. */
static struct policy_request say_some(const struct policy_request *request, unsigned without)
{
	struct policy_request said = *request;

	for (int fact = 0; fact < N_UNSAID; fact++)
		if (!(without & 1u << fact) && random_below(2))
			say(&said, (enum policy_unsaid)fact);
	return said;
}

static struct policy_request leave_unsaid(const struct policy_request *request)
{
	struct policy_request bare = *request;

	bare.caller = bare.state = bare.mode = bare.sandbox = NULL;
	bare.caller_tags = NULL;
	bare.has_size = false;
	bare.address = random_below(2) ? NULL : request->address;
	return bare;
}

struct dependences {
	size_t n_answers; /* answers that depend on something */
	size_t n_changes; /* answers whose verdict changed when it was added */
};

static void compare_what_is_said(struct built *built, const struct policy_request *request,
				 struct dependences *counts)
{
	struct policy_decision bare, said;

	policy_decide(built->engine, request, &bare);
	counts->n_answers += bare.facts != 0;
	if (!bare.is_of_ordinary_address && !request->address &&
	    (!request->host || is_name(request->host)))
		expect_eq(bare.facts != 0, bare.n_dependences > 0);
	for (int i = 0; i < 6; i++) {
		struct policy_request more = say_some(request, bare.facts);

		policy_decide(built->engine, &more, &said);
		expect_eq(said.verdict, bare.verdict);
		more = say_some(&more, ~bare.facts);
		policy_decide(built->engine, &more, &said);
		counts->n_changes += said.verdict != bare.verdict;
	}
}

static void an_answer_depends_on_nothing_but_the_facts_that_it_names(void)
{
	size_t n_wanted = 2 * DECISIONS * (test_is_slow() ? 20 : 1), n = 0;
	unsigned before = test_failures;
	struct dependences counts = { 0 };

	while (n < n_wanted && test_failures - before < 20) {
		_cleanup_built_ struct built built = build_new();
		const char *tags[3] = { NULL };
		char path[256];

		bool is_network = random_below(2);

		if (!(is_network ? build_random_network : build_random)(&built))
			continue;
		for (int i = 0; i < 60; i++, n++) {
			struct policy_request request =
				(is_network ? random_connection
					    : random_request)(path, sizeof(path), tags);
			struct policy_request bare = leave_unsaid(&request);

			compare_what_is_said(&built, &bare, &counts);
		}
	}
	printf("# %zu answers, %zu depend on something, %zu changes\n", n, counts.n_answers,
	       counts.n_changes);
	expect(counts.n_answers > n / 50 && counts.n_answers < n / 2);
	expect(counts.n_changes > counts.n_answers / 5);
}

static void shuffle_rules(struct policy *policy)
{
	for (size_t i = policy->n_rules; i > 1; i--) {
		uint32_t k = random_below((uint32_t)i);
		struct rule other = policy->rules[i - 1];

		policy->rules[i - 1] = policy->rules[k];
		policy->rules[k] = other;
	}
}

/* The numbers of the rules that caused the answer, as bits. */
static uint64_t causes_of(const struct built *built, const struct policy_decision *decision)
{
	uint64_t set = 0;

	for (size_t i = 0; i < decision->n_rules; i++)
		set |= UINT64_C(1) << atoi(built->policy->rules[decision->rules[i]].name + 1);
	return set;
}

static void expect_same(struct built *built, const struct policy_request *request)
{
	struct policy_decision before, after;

	policy_decide(built->engine, request, &before);

	uint64_t causes = causes_of(built, &before);

	shuffle_rules(built->policy);
	build_engine(built);
	policy_decide(built->engine, request, &after);
	expect_eq(after.verdict, before.verdict);
	expect_eq(after.cause, before.cause);
	expect_eq(causes_of(built, &after), causes);
	expect(!after.reason == !before.reason);
	if (after.reason && before.reason)
		expect_str(after.reason, before.reason);
	expect_eq(after.constraints.max_file_size_bytes, before.constraints.max_file_size_bytes);
	expect_eq(after.constraints.require_token, before.constraints.require_token);
	expect_eq(after.constraints.tls, before.constraints.tls);
}

static void answers_do_not_depend_on_the_order_of_rules(void)
{
	for (int i = 0; i < 400; i++) {
		_cleanup_built_ struct built built = build_new();
		const char *tags[3] = { NULL };
		char path[256];

		if (!build_random(&built))
			continue;
		for (int k = 0; k < 8; k++) {
			struct policy_request request = random_request(path, sizeof(path), tags);

			expect_same(&built, &request);
		}
	}
}

/* Does the glob end in "**" after a name? Then the composed policy has a rule about the directory.
 */
static bool names_all_below(const char *text)
{
	const char *relative = text + (text[0] == '/' ? 1 : strncmp(text, "./", 2) == 0 ? 2 : 0);
	size_t n = strlen(text), n_stars = 0;

	n -= text[n - 1] == '/';
	while (n_stars < n && text[n - n_stars - 1] == '*')
		n_stars++;
	return n_stars > 1 && n > n_stars && text[n - n_stars - 1] == '/' &&
	       !naive_only_floats(relative);
}

/* Does the list name the path, or a fresh one directly below it that stands for all of them? What
 * takes a right away (the value of an exception, a '!' of the match) need only do one of both. */
static bool naive_directory(const struct match_list *list, const char *path, const char *root,
			    bool is_exception)
{
	bool included = false;
	char fresh[300];

	snprintf(fresh, sizeof(fresh), "%s/fresh-name", path[1] ? path : "");
	for (size_t i = 0; i < list->n_values; i++) {
		const char *text = list->values[i].text;
		bool literal = list->values[i].literal, excludes = !literal && text[0] == '!';
		bool matches;

		text += excludes;
		matches = naive_glob(text, literal, path, root, false) ||
			  (!literal && !(is_exception && excludes) && names_all_below(text) &&
			   naive_glob(text, literal, fresh, root, false));
		if (matches && excludes)
			return false;
		included |= matches;
	}
	return included;
}

static bool naive_composed(const struct rule *rule, const struct policy_request *request)
{
	const char *path = request->path, *root = request->project_root;

	if (naive_rule(rule, request))
		return true;
	if (strcmp(request->operation, "fs.list") != 0 &&
	    strcmp(request->operation, "fs.exists") != 0)
		return false;
	for (size_t i = 0; i < rule->n_exceptions; i++)
		if (naive_directory(&rule->exceptions[i].lists[MATCH_PATH], path, root, true))
			return false;
	return naive_directory(&rule->match.lists[MATCH_PATH], path, root, false);
}

/* Often one below a directory, and with @can_exclude sometimes one with '!'. */
static void add_directory_value(struct built *built, struct condition *condition, bool can_exclude)
{
	char word[256] = "path=";
	size_t len = 5;

	if (can_exclude && random_below(3) == 0)
		word[len++] = '!';
	random_glob(word + len, sizeof(word) - len);
	len = strlen(word);
	if (random_below(3) > 0)
		snprintf(word + len, sizeof(word) - len, "%s", word[len - 1] == '/' ? "**" : "/**");
	build_word(built, condition, word, strlen(word));
}

static void build_directories(struct built *built)
{
	struct rule *rule = build_rule(built, POLICY_ALLOW, "fs.read fs.list fs.exists", "");

	add_directory_value(built, &rule->match, false);
	for (uint32_t n = random_below(3); n > 0; n--)
		add_directory_value(built, &rule->match, true);
	if (random_below(3) == 0) {
		build_except(built, rule, NULL, "");
		for (uint32_t n = 1 + random_below(2); n > 0; n--)
			add_directory_value(built,
					    (struct condition *)(uintptr_t)&rule->exceptions[0],
					    n == 1);
	}
	expect_eq(policy_compile_composed(built->policy, NULL, NULL, &built->block, &built->n_bytes,
					  NULL),
		  0);
	if (!built->block)
		return;
	expect_eq(artefact_open(built->block, built->n_bytes, &built->artefact, NULL), 0);
	expect_eq(policy_engine_new(&built->artefact, &built->engine), 0);
}

static void compare_directory(struct built *built, const struct policy_request *request,
			      size_t *ret_added)
{
	const struct rule *rule = &built->policy->rules[0];
	bool wanted = naive_composed(rule, request);
	struct policy_decision decision;

	policy_decide(built->engine, request, &decision);
	*ret_added += wanted && !naive_rule(rule, request);
	if ((decision.verdict == POLICY_ALLOW) == wanted)
		return;
	printf("# %s '%s' and glob '%s' of %zu in '%s': expected %d\n", request->operation,
	       request->path, rule->match.lists[MATCH_PATH].values[0].text,
	       rule->match.lists[MATCH_PATH].n_values, request->project_root, wanted);
	test_failures++;
}

static void a_directory_is_listed_if_all_below_it_is_and_no_other(void)
{
	static const char *const asked[] = { "fs.list", "fs.exists", "fs.read" };
	size_t n_wanted = 10 * DECISIONS * (test_is_slow() ? 20 : 1), n = 0, n_added = 0;
	unsigned before = test_failures;

	while (n < n_wanted && test_failures - before < 20) {
		_cleanup_built_ struct built built = build_new();
		struct policy_request request = { .path = NULL };
		char path[256];

		build_directories(&built);
		request.path = path;
		for (int i = 0; built.engine && i < 60; i++, n++) {
			request.operation = random_of(asked);
			request.project_root = random_of(roots);
			random_path(path, sizeof(path));
			compare_directory(&built, &request, &n_added);
		}
	}
	printf("# %zu requests, %zu of them for added directories\n", n, n_added);
	expect(n_added > n / 200);
}

/* Leaves only the rules of files that may widen. */
static void drop_narrowing_rules(struct policy *policy)
{
	size_t n = 0;

	for (size_t i = 0; i < policy->n_rules; i++)
		if (!policy->sources[policy->rules[i].place.source].narrows)
			policy->rules[n++] = policy->rules[i];
	policy->n_rules = n;
}

#define REQUESTS_EACH 40

/* Counts the answers that are more severe with the narrowing file than without it. */
static size_t compare_with_and_without(struct built *built, bool is_network)
{
	struct policy_request requests[REQUESTS_EACH];
	enum policy_action with[REQUESTS_EACH];
	const char *tags[REQUESTS_EACH][3] = { { NULL } };
	char paths[REQUESTS_EACH][256];
	struct policy_decision decision;
	size_t n_narrowed = 0;

	for (size_t i = 0; i < REQUESTS_EACH; i++) {
		requests[i] = (is_network ? random_connection
					  : random_request)(paths[i], sizeof(paths[i]), tags[i]);
		policy_decide(built->engine, &requests[i], &decision);
		with[i] = decision.verdict;
	}
	drop_narrowing_rules(built->policy);
	build_engine(built);
	for (size_t i = 0; i < REQUESTS_EACH; i++) {
		policy_decide(built->engine, &requests[i], &decision);
		expect(with[i] >= decision.verdict);
		n_narrowed += with[i] > decision.verdict;
	}
	return n_narrowed;
}

static void a_narrowing_file_makes_no_answer_less_severe(void)
{
	size_t n_wanted = 2 * DECISIONS * (test_is_slow() ? 20 : 1), n = 0, n_narrowed = 0;
	unsigned before = test_failures;

	while (n < n_wanted && test_failures - before < 20) {
		_cleanup_built_ struct built built = build_new();
		bool is_network = random_below(2);

		if (!(is_network ? build_random_network : build_random)(&built))
			continue;
		n_narrowed += compare_with_and_without(&built, is_network);
		n += REQUESTS_EACH;
	}
	printf("# %zu answers, %zu more severe with the narrowing file\n", n, n_narrowed);
	expect(n_narrowed > n / 100);
}

static const struct test tests[] = {
	TEST(matches_a_million_random_pairs_like_the_naive_matcher),
	TEST(decides_random_requests_like_the_naive_evaluator),
	TEST(decides_random_connections_like_the_naive_evaluator),
	TEST(an_answer_depends_on_nothing_but_the_facts_that_it_names),
	TEST(answers_do_not_depend_on_the_order_of_rules),
	TEST(a_directory_is_listed_if_all_below_it_is_and_no_other),
	TEST(a_narrowing_file_makes_no_answer_less_severe),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
