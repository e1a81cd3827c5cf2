/* SPDX-License-Identifier: MIT */

/*
 * Random policies, scopes and requests: if denial_find() finds no rule that denies something in a
 * scope, the evaluator denies no request in it by a rule
 */

#include <stdarg.h>
#include <time.h>

#include "policy-rig.h"
#include "test.h"
#include "token/scope.h"
#include "token/token.h"

#define N_POLICIES 400
#define N_SCOPES 25
#define N_REQUESTS 40
#define PROJECT "/a/b"

static uint64_t state;

static unsigned below(unsigned n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)(state >> 11) % n;
}

static bool one_in(unsigned n)
{
	return below(n) == 0;
}

static const char *any(const char *const *words, size_t n)
{
	return words[below((unsigned)n)];
}

#define ANY(words) any(words, N_ELEMENTS(words))

static const char *const names[] = { "a", "b", "ab", "x.c", "b.c" };
static const char *const patterns[] = { "*", "**", "a*", "*b", "*.c", "?", "[ab]", "x*c" };
static const char *const hosts[] = {
	"a.x", "b.a.x", "x.y", "10.0.0.1", "10.1.0.1", "::1", "[::ffff:10.0.0.1]"
};
static const char *const host_globs[] = { "a.x", "*.x", "*.a.x", "*.y", "b.a.x" };
static const char *const networks[] = { "10.0.0.0/8", "10.0.0.0/24", "::/0", "10.1.0.1" };
static const char *const ports[] = { "80", "443", "80-100", "1-65535" };

static void add_glob(struct text *out, bool is_free, bool is_relative)
{
	unsigned n = 1 + below(4);

	if (is_relative)
		text_add(out, ".");
	for (unsigned i = 0; i < n; i++) {
		text_add_char(out, '/');
		text_add(out, is_free && one_in(3) ? ANY(patterns) : ANY(names));
	}
	if (one_in(6))
		text_add_char(out, '/');
}

static void add_list(struct text *out, const char *key, const char *const *words, size_t n)
{
	text_addf(out, ", %s: [\"%s\"]", key, any(words, n));
}

static void add_facts(struct text *out)
{
	if (one_in(6))
		text_add(out, ", caller: someone");
	if (one_in(8))
		text_add(out, ", mode: explore");
}

static void add_paths(struct text *out, bool has_project)
{
	text_add(out, ", path_glob: [\"");
	add_glob(out, true, has_project && one_in(3));
	if (one_in(3)) {
		text_add(out, "\", \"!");
		add_glob(out, true, has_project && one_in(3));
	}
	text_add(out, "\"]");
}

static void add_network(struct text *out)
{
	if (one_in(2))
		add_list(out, "host", host_globs, N_ELEMENTS(host_globs));
	else
		add_list(out, "cidr", networks, N_ELEMENTS(networks));
	if (one_in(3))
		add_list(out, "ports", ports, N_ELEMENTS(ports));
}

static void add_condition(struct text *out, bool is_network, bool has_project)
{
	text_addf(out, "{ syscall: %s",
		  is_network  ? "net.connect"
		  : one_in(4) ? "fs.*"
			      : "fs.write");
	if (is_network)
		add_network(out);
	else
		add_paths(out, has_project);
	add_facts(out);
	text_add(out, " }");
}

static void add_policy(struct text *out, bool is_network, bool has_project)
{
	unsigned n = 1 + below(4);

	text_add(out, "capabilities:\n");
	for (unsigned i = 0; i < n; i++) {
		text_addf(out, "  - name: r%u\n    action: %s\n    match: ", i,
			  one_in(4) ? "allow" : "deny");
		add_condition(out, is_network, has_project);
		text_add(out, "\n");
		if (!one_in(3))
			continue;
		text_add(out, "    except: [");
		add_condition(out, is_network, has_project);
		text_add(out, "]\n");
	}
}

static void add_path(struct text *out, const char *below_root)
{
	unsigned n = 1 + below(4);

	text_add(out, below_root);
	while (n-- > 0)
		text_addf(out, "/%s", ANY(names));
}

struct tally {
	unsigned n_found;
	unsigned n_none;
	unsigned n_asked;
	unsigned n_wrong;
};

static void add_scope(struct text *out, bool is_network, bool has_project)
{
	if (!is_network) {
		add_glob(out, true, has_project && one_in(2));
		return;
	}
	text_add(out, one_in(2) ? ANY(host_globs) : hosts[below(6)]);
	if (one_in(2) && !strchr(text_string(out), ':'))
		text_addf(out, ":%s", one_in(2) ? "80" : "443");
}

/* Evaluates requests in the scope: no rule may deny one. */
static void ask(struct rig *rig, const struct token_terms *terms, const struct scope *scope,
		struct tally *tally, const char *policy)
{
	_cleanup_text_ struct text path = TEXT_INIT;
	struct policy_request request = { .operation = terms->operation,
					  .project_root = terms->project_root,
					  .caller = one_in(2) ? "someone" : NULL,
					  .mode = one_in(2) ? "explore" : NULL };

	add_path(&path, one_in(2) ? "" : PROJECT);
	if (scope->argument == ARGUMENT_PATH)
		request.path = text_string(&path);
	else
		request.host = ANY(hosts);
	request.port = one_in(2) ? 80 : one_in(2) ? 443 : 90;
	request.has_port = scope->argument == ARGUMENT_HOST;
	if (!scope_covers(scope, &request))
		return;
	tally->n_asked++;
	policy_decide(rig->engine, &request, &rig->decision);
	if (rig->decision.verdict != POLICY_DENY || rig->decision.cause != CAUSE_RULES)
		return;
	if (tally->n_wrong++ < 3)
		printf("# a token for '%s' opens '%s%s':%u\n%s\n", terms->glob,
		       request.path ? request.path : "", request.host ? request.host : "",
		       request.port, policy);
}

static void try_scope(struct rig *rig, bool is_network, bool has_project, struct tally *tally,
		      const char *policy)
{
	_cleanup_text_ struct text glob = TEXT_INIT;
	struct token_terms terms = { .operation = is_network ? "net.connect" : "fs.write",
				     .project_root = has_project ? PROJECT : NULL };
	struct scope scope;
	uint32_t rule;
	int r;

	add_scope(&glob, is_network, has_project);
	terms.glob = one_in(20) ? NULL : text_string(&glob);
	if (scope_parse(is_network ? ARGUMENT_HOST : ARGUMENT_PATH, terms.glob, terms.project_root,
			&scope, NULL) < 0)
		return;
	r = denial_find(&rig->artefact, &terms, &rule);
	expect(r == 0 || r == 1);
	*(r > 0 ? &tally->n_found : &tally->n_none) += 1;
	for (int i = 0; r == 0 && i < N_REQUESTS; i++)
		ask(rig, &terms, &scope, tally, policy);
}

static struct tally try_policies(bool is_network, unsigned n)
{
	struct tally tally = { .n_found = 0 };

	while (n-- > 0) {
		_cleanup_text_ struct text policy = TEXT_INIT;
		_cleanup_rig_ struct rig rig = { .policy = NULL };
		bool has_project = !is_network && one_in(2);

		add_policy(&policy, is_network, has_project);
		rig_open(&rig, text_string(&policy));
		for (int i = 0; i < N_SCOPES; i++)
			try_scope(&rig, is_network, has_project, &tally, text_string(&policy));
	}
	printf("# %u scopes met a denial, %u did not; %u requests in those\n", tally.n_found,
	       tally.n_none, tally.n_asked);
	expect(tally.n_found > 100 && tally.n_none > 100 && tally.n_asked > 1000);
	return tally;
}

static void no_token_for_paths_opens_what_a_rule_denies(void)
{
	expect_eq(try_policies(false, N_POLICIES).n_wrong, 0);
}

static void no_token_for_hosts_opens_what_a_rule_denies(void)
{
	expect_eq(try_policies(true, N_POLICIES).n_wrong, 0);
}

/* ---- required and unnecessary refusals ---- */

static int found(const char *policy, const char *operation, const char *glob)
{
	_cleanup_rig_ struct rig rig = { .policy = NULL };
	const struct token_terms terms = { .operation = operation,
					   .glob = glob,
					   .project_root = PROJECT };
	uint32_t rule = UINT32_MAX;
	int r;

	rig_open(&rig, policy);
	r = denial_find(&rig.artefact, &terms, &rule);
	if (r > 0)
		expect_eq(rule, 0);
	return r;
}

#define DENY(rest) "capabilities:\n  - { name: rule, action: deny, match: { syscall: " rest " }"

static void tells_what_a_rule_denies(void)
{
	static const struct {
		const char *policy, *operation, *glob;
		int is_found;
	} rows[] = {
		{ DENY("fs.write, path: /srv/x") "}\n", "fs.write", "/srv/x/y", 1 },
		{ DENY("fs.write, path: /srv/x") "}\n", "fs.write", "/srv/**", 1 },
		{ DENY("fs.write, path: /srv/x") "}\n", "fs.write", NULL, 1 },
		{ DENY("fs.write, path: /srv/x") "}\n", "fs.write", "/srv/xy/**", 0 },
		{ DENY("fs.write, path: /srv/x") "}\n", "fs.read", "/srv/x", 0 },
		{ DENY("fs.write, path_glob: \"/srv/**/*.c\"") "}\n", "fs.write", "/srv/a/*.h", 0 },
		{ DENY("fs.write, path_glob: \"/srv/**/*.c\"") "}\n", "fs.write", "/srv/a/x*", 1 },
		{ DENY("fs.write, path_glob: \"./x/**\"") "}\n", "fs.write", "/a/b/x/y", 1 },
		{ DENY("fs.write, path_glob: \"./x/**\"") "}\n", "fs.write", "/a/c/**", 0 },
		{ DENY("fs.write, path_glob: [\"/srv/**\", \"!/srv/x/**\"]") "}\n", "fs.write",
		  "/srv/x/y/*", 0 },
		{ DENY("fs.write, path: /srv") ", except: [{ path: /srv/x }] }\n", "fs.write",
		  "/srv/x/y/**", 0 },
		{ DENY("fs.write, path: /srv") ", except: [{ path: /srv/x }] }\n", "fs.write",
		  "/srv/*/y", 1 },
		{ DENY("fs.write, path: /srv") ", except: [{ path: /srv/x, caller: c }] }\n",
		  "fs.write", "/srv/x/y/**", 1 },
		{ DENY("fs.write, caller: c") "}\n", "fs.write", "/srv/x", 1 },
		{ DENY("shell.run") "}\n", "shell.run", NULL, 1 },
		{ DENY("shell.run") "}\n", "test.run", NULL, 0 },
		{ DENY("net.connect, host: \"*.x\"") "}\n", "net.connect", "a.x", 1 },
		{ DENY("net.connect, host: \"b.a.x\"") "}\n", "net.connect", "*.a.x:80", 1 },
		{ DENY("net.connect, host: \"b.a.x\"") "}\n", "net.connect", "c.a.x", 0 },
		{ DENY("net.connect, cidr: 10.0.0.0/8") "}\n", "net.connect", "10.1.2.3:80", 1 },
		{ DENY("net.connect, cidr: 10.0.0.0/8") "}\n", "net.connect", "a.x:80", 0 },
		{ DENY("net.connect, ports: 25") "}\n", "net.connect", "a.x", 1 },
		{ DENY("net.connect, ports: 25") "}\n", "net.connect", "a.x:80", 0 },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		int r = found(rows[i].policy, rows[i].operation, rows[i].glob);

		expect_eq(r, rows[i].is_found);
		if (r != rows[i].is_found)
			printf("# %s for %s\n", rows[i].policy, rows[i].glob);
	}
}

static const struct test tests[] = {
	TEST(no_token_for_paths_opens_what_a_rule_denies),
	TEST(no_token_for_hosts_opens_what_a_rule_denies),
	TEST(tells_what_a_rule_denies),
	TEST_END,
};

int main(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	state = (uint64_t)now.tv_sec * 1000003 + (uint64_t)now.tv_nsec + 1;
	if (getenv("SEED"))
		state = strtoull(getenv("SEED"), NULL, 10);
	printf("# SEED=%llu\n", (unsigned long long)state);
	return test_run(tests);
}
