/* SPDX-License-Identifier: MIT */
#include "policy/check.h"

#include <stdio.h>

#include <sbx/error.h>

#include "base/text.h"
#include "policy-refusals.h"
#include "policy-rig.h"
#include "policy-seeds.h"
#include "policy/model.h"

/* Formats as "W01 3:5 | W02 4:1". */
static void collect(const struct policy_warning *warning, void *userdata)
{
	struct text *out = userdata;

	text_addf(out, "%s%s %u:%u", out->len > 0 ? " | " : "", warning->code,
		  warning->place.at.line, warning->place.at.column);
	expect(warning->error.level == SBX_LEVEL_WARN);
	expect(warning->error.what[0] && warning->error.why[0] && warning->error.fix[0]);
	expect(strncmp(warning->error.what, "p.yaml:", 7) == 0);
}

static void expect_warnings(const char *text, const char *wanted)
{
	_cleanup_policy_ struct policy *policy = NULL;
	_cleanup_text_ struct text got = TEXT_INIT;
	struct sbx_error err = { .code = 0 };
	int n, n_wanted = wanted[0] != '\0';

	rig_must(policy_load("p.yaml", text, strlen(text), &policy, &err), &err);
	n = policy_check(policy, collect, &got);
	for (const char *at = wanted; (at = strchr(at, '|')); at++)
		n_wanted++;
	if (strcmp(text_string(&got), wanted) != 0)
		printf("# %s\n", text);
	expect_str(text_string(&got), wanted);
	expect_eq(n, n_wanted);
}

#define RULE(name, match, action) "- name: " name "\n  match: {" match "}\n  action: " action "\n"
#define RULES "capabilities:\n"

static void warns_of_an_empty_list(void)
{
	expect_warnings(RULES RULE("r", "syscall: fs.write, path_glob: []", "allow"), "W01 3:30");
	expect_warnings(RULES RULE("r", "syscall: net.connect, ports: []", "deny"), "W01 3:33");
}

static void warns_of_a_group_of_hosts_without_any(void)
{
	expect_warnings("network_whitelist: {a: [a.example], b: []}\n"
			"net: {allowed_hosts: [a, b]}\n",
			"W01 1:40");
	expect_warnings("network_whitelist: {a: [a.example]}\nnet: {allowed_hosts: a}\n", "");
	expect_warnings("network_whitelist: {a: [a.example], b: [b.example]}\n"
			"net: {allowed_hosts: a}\n",
			"W11 1:40");
	expect_warnings("network_whitelist: []\n", "W23 1:1");
}

static void warns_of_a_policy_that_shows_no_files(void)
{
	static const char *const shows[] = {
		RULES RULE("r", "syscall: fs.read, path: /a", "allow"),
		"mounts: [{target: /a}]\n",
		"view: project\n" RULES RULE("r", "syscall: exec, path: /usr/bin", "allow"),
		RULES RULE("r", "syscall: fs.read, path: /a", "allow"),
		"version: 1\nview: system\ndefaults: {exec: allow}\n",
	};
	static const char *const runs_nothing[] = {
		"view: project\n",
		"view: system\n",
		"version: 1\nfs: {rules: []}\n",
		"version: 1\nplugins: {}\n",
		"view: project\n" RULES RULE("r", "syscall: fs.read, path: /a", "allow"),
		"view: system\n" RULES RULE("r", "syscall: fs.read, path: /a", "allow"),
		"view: project\n" RULES RULE("r", "syscall: exec, path: /a", "deny"),
		"view: project\n" RULES RULE("r", "syscall: fs.read, path: /a",
					     "allow") "mounts: [{target: /b, mode: ro}]\n",
		"version: 1\nfs: {rules: [{action: allow, path: /srv}]}\n",
	};

	expect_warnings("", "W23 1:1");
	expect_warnings("{}", "W23 1:1");
	expect_warnings("version: 1\n", "W23 1:1");
	expect_warnings("limits: {time: 1m}\n", "W23 1:1");
	for (size_t i = 0; i < N_ELEMENTS(shows); i++)
		expect_warnings(shows[i], "");
	for (size_t i = 0; i < N_ELEMENTS(runs_nothing); i++)
		expect_warnings(runs_nothing[i], "W23 1:1");
}

static void warns_of_globs_that_are_all_taken_out_again(void)
{
	static const struct {
		const char *globs, *wanted;
	} rows[] = {
		{ "['/a/**', '!/a/**']", "W03 3:29" },
		{ "['docs/', '!docs/']", "W03 3:29 | W08 3:41" },
		{ "['/usr/**', '!/**']", "W03 3:29" },
		{ "['/a/b/**', '/a/c/**', '!/a/**']", "W03 3:29" },
		{ "['/a/**', '!/a/b/**']", "" },
		{ "['/a/**', '/b/**', '!/a/**']", "" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		char text[256];

		(void)snprintf(text, sizeof(text),
			       RULES RULE("r", "syscall: fs.read, path_glob: %s", "allow"),
			       rows[i].globs);
		expect_warnings(text, rows[i].wanted);
	}
}

static void an_exception_that_can_never_apply_is_only_a_part_of_its_rule(void)
{
	expect_warnings(RULES RULE("r", "syscall: fs.read, path: /a",
				   "allow") "  except: [{path_glob: ['/a/b/', '!/a/**']}]\n",
			"W04 5:13 | W08 5:34");
	expect_warnings(RULES RULE("r", "syscall: fs.read, path: /a",
				   "allow") "  except: [{path_glob: ['!/a/b/', '!/c/']}]\n",
			"W04 5:13 | W08 5:25");
}

static void warns_of_a_match_that_its_exception_takes_back(void)
{
	expect_warnings(RULES RULE("r", "syscall: fs.read, path_glob: [a/**, b/**]",
				   "deny") "  except: [{path_glob: [b/**, a/**]}]\n",
			"W02 5:12");
	expect_warnings(RULES RULE("r", "syscall: exec, path: /usr/bin",
				   "deny") "  except: [{path: /opt}, {syscall: '*', path: /usr}]\n",
			"W02 5:26");
	expect_warnings(RULES RULE("r", "syscall: net.connect, host: a.b.c, ports: 443",
				   "deny") "  except: [{host: '*.b.c', ports: 400-500}]\n",
			"W02 5:12");
}

static void an_exception_that_leaves_something_is_fine(void)
{
	expect_warnings(
		RULES RULE(
			"r", "syscall: fs.read, path_glob: [a/**, b/**]",
			"deny") "  except: [{path_glob: a/**}, {syscall: fs.read, path: ./b/c}]\n",
		"");
	expect_warnings(RULES RULE("r", "syscall: [fs.read, fs.write], path: /a",
				   "deny") "  except: [{syscall: fs.read, path: /a}]\n",
			"");
	expect_warnings(RULES RULE("r", "syscall: net.connect, host: '*.b.c'",
				   "deny") "  except: [{host: a.b.c}]\n",
			"");
}

static void warns_of_a_rule_that_can_never_apply(void)
{
	expect_warnings(RULES RULE("r", "syscall: exec, ports: 80", "deny"), "W03 3:26");
	expect_warnings(RULES RULE("r", "syscall: git.commit, path_glob: src/**", "deny"),
			"W03 3:32");
	expect_warnings(RULES RULE("r", "syscall: fs.read, host: a.b", "deny"), "W03 3:29");
	expect_warnings(RULES RULE("r", "syscall: net.connect, path: /a", "deny"), "W03 3:33");
	expect_warnings(RULES RULE("r", "syscall: exec, path_glob: ['!a', '!b']", "deny"),
			"W03 3:26 | W08 3:38");
}

/* A request can have a name and an address of it. */
static void a_rule_about_a_name_at_an_address_is_fine(void)
{
	expect_warnings(RULES RULE("r", "syscall: net.connect, host: a.b, cidr: 10.0.0.0/8",
				   "deny"),
			"");
}

static void warns_of_a_part_that_can_never_apply(void)
{
	expect_warnings(RULES RULE("r", "syscall: [exec, git.commit], path: /a", "deny"),
			"W04 3:40");
	expect_warnings(RULES RULE("r", "syscall: exec, path: /a",
				   "deny") "  except: [{syscall: fs.read}]\n",
			"W04 5:12");
	expect_warnings(RULES RULE("r", "syscall: exec, path: /a",
				   "deny") "  except: [{host: a.b}]\n",
			"W04 5:12");
}

static void warns_of_an_allow_under_a_deny(void)
{
	static const char *const under[][2] = {
		{ "syscall: fs.read, path: /etc", "syscall: fs.read, path: /etc/ssl" },
		{ "syscall: fs.read, path: /etc", "syscall: fs.read, path_glob: /etc/ssl/**" },
		{ "syscall: fs.*, path: /etc",
		  "syscall: [fs.read, fs.list], path: [/etc/a, /etc/b]" },
		{ "syscall: fs.read, path_glob: /etc/**", "syscall: fs.read, path: /etc/passwd" },
		{ "syscall: fs.read, path_glob: /**", "syscall: fs.read, path: /etc" },
		{ "syscall: fs.read, path: ./a",
		  "syscall: fs.read, path_glob: [a/b/**, '!a/b/c']" },
		{ "syscall: '*'", "syscall: fs.read, path: /etc" },
		{ "syscall: net.connect, host: '*.b.c'", "syscall: net.connect, host: x.a.b.c" },
		{ "syscall: net.connect, cidr: 10.0.0.0/8",
		  "syscall: net.connect, cidr: 10.1.0.0/16" },
		{ "syscall: net.connect, ports: 1-1023",
		  "syscall: net.connect, cidr: '::1', ports: 80" },
	};

	for (size_t i = 0; i < sizeof(under) / sizeof(under[0]); i++) {
		char text[512];

		(void)snprintf(text, sizeof(text),
			       "capabilities:\n"
			       "- name: a\n  match: {%s}\n  action: allow\n"
			       "- name: d\n  match: {%s}\n  action: deny\n",
			       under[i][1], under[i][0]);
		expect_warnings(text, "W05 2:3");
	}
}

static void an_allow_that_reaches_beyond_a_deny_is_fine(void)
{
	static const char *const beside[][2] = {
		{ "syscall: fs.read, path: /etc", "syscall: fs.read, path: [/etc/a, /usr]" },
		{ "syscall: fs.read, path: /etc", "syscall: fs.read, path: /etcetera" },
		{ "syscall: fs.read, path: /etc", "syscall: [fs.read, fs.list], path: /etc" },
		{ "syscall: fs.read, path_glob: /etc/**", "syscall: fs.read, path: /etc" },
		{ "syscall: fs.read, path_glob: /etc/passwd",
		  "syscall: fs.read, path: /etc/passwd" },
		{ "syscall: fs.read, path: /a", "syscall: fs.read, path: ./a" },
		{ "syscall: fs.read, path: /etc, state: s", "syscall: fs.read, path: /etc" },
		{ "syscall: net.connect, host: '*.b.c'", "syscall: net.connect, host: b.c" },
		{ "syscall: net.connect, host: '*.b.c'", "syscall: net.connect, host: xb.c" },
		{ "syscall: net.connect, host: a.b", "syscall: net.connect, host: '*.a.b'" },
		{ "syscall: net.connect, cidr: 10.0.0.0/8",
		  "syscall: net.connect, cidr: 0.0.0.0/0" },
		{ "syscall: net.connect, ports: 1-79", "syscall: net.connect, ports: [78, 80]" },
		{ "syscall: net.connect, ports: 80", "syscall: net.connect" },
		{ "syscall: fs.read, path: []", "syscall: fs.read, path: /a" },
	};

	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
		_cleanup_policy_ struct policy *policy = NULL;
		_cleanup_text_ struct text got = TEXT_INIT;
		struct sbx_error err = { .code = 0 };
		char text[512];

		(void)snprintf(text, sizeof(text),
			       "capabilities:\n"
			       "- name: a\n  match: {%s}\n  action: allow\n"
			       "- name: d\n  match: {%s}\n  action: deny\n",
			       beside[i][1], beside[i][0]);
		rig_must(policy_load("p.yaml", text, strlen(text), &policy, &err), &err);
		(void)policy_check(policy, collect, &got);
		expect(!strstr(text_string(&got), "W05"));
	}
	expect_warnings(RULES RULE("a", "syscall: fs.read, path: /etc/x", "allow")
				RULE("d", "syscall: fs.read, path: /etc",
				     "deny") "  except: [{path: /etc/x}]\n",
			"");
	expect_warnings(RULES RULE("a", "syscall: fs.read, path: /etc/x", "require_review")
				RULE("d", "syscall: fs.read, path: /etc", "deny"),
			"W08 2:3");
}

static void warns_of_a_superfluous_rule(void)
{
	expect_warnings(RULES RULE("a", "syscall: fs.list, path: /usr/bin", "allow")
				RULE("b", "syscall: fs.list, path: /usr/bin", "allow"),
			"W06 5:3");
	expect_warnings(RULES RULE("a", "syscall: exec, path: /usr/bin", "allow")
				RULE("b", "syscall: [exec, fs.read], path: /usr", "allow"),
			"W06 2:3");
}

static void a_rule_that_adds_something_is_not_superfluous(void)
{
	expect_warnings(RULES RULE("a", "syscall: exec, path: /usr/bin",
				   "deny") "  reason: why\n" RULE("b", "syscall: exec, path: /usr",
								  "deny"),
			"");
	expect_warnings(
		RULES RULE(
			"a", "syscall: fs.list, path: /usr/bin",
			"allow") "  constraints: {require_sandbox: L2}\n" RULE("b",
									       "syscall: fs.list, path: /usr",
									       "allow"),
		"");
	expect_warnings(
		RULES RULE(
			"a", "syscall: fs.list, path: /usr",
			"allow") "  except: [{path: /usr/bin}]\n" RULE("b",
								       "syscall: fs.list, path: /usr/bin",
								       "allow"),
		"");
}

static void only_a_rule_with_cidr_makes_one_with_cidr_superfluous(void)
{
	expect_warnings(RULES RULE("a", "syscall: net.connect, host: a.test", "allow")
				RULE("b", "syscall: net.connect, host: a.test, cidr: 10.0.0.1",
				     "allow"),
			"");
	expect_warnings(RULES RULE("a", "syscall: net.connect, cidr: 10.0.0.0/8", "allow")
				RULE("b", "syscall: net.connect, host: a.test, cidr: 10.0.0.1",
				     "allow"),
			"W06 5:3");
	expect_warnings(RULES RULE("a", "syscall: net.connect, host: a.test", "deny")
				RULE("b", "syscall: net.connect, host: a.test, cidr: 10.0.0.1",
				     "deny"),
			"W06 5:3");
}

static void warns_of_stars_beside_other_characters(void)
{
	expect_warnings(RULES RULE("r", "syscall: fs.read, path_glob: [src/**.c]", "deny"),
			"W07 3:41 | W08 3:41");
}

static void warns_of_rules_that_the_kernel_cannot_enforce(void)
{
	expect_warnings(RULES RULE("r", "syscall: fs.read, path_glob: ['src/*.c']", "allow"),
			"W08 3:41");
	expect_warnings(RULES RULE("r", "syscall: fs.read, path_glob: Makefile", "allow"),
			"W08 3:40");
	expect_warnings(RULES RULE("r", "syscall: exec, path: /a", "warn"), "W08 2:3");
	expect_warnings(RULES RULE("r", "syscall: exec, path: /a", "require_review"), "W08 2:3");
	expect_warnings(RULES RULE("r", "syscall: exec, path: /a",
				   "allow") "  except: [{path_glob: /a/*.sh}]\n",
			"W08 5:24");
	expect_warnings("version: 1\nexec: {rules: [{action: allow, path: /a, sha256: "
			"a123456789012345678901234567890123456789012345678901234567890123}]}\n",
			"W08 2:16");
	expect_warnings(
		RULES RULE(
			"r", "syscall: exec, path: /a",
			"allow") "  constraints: {sha256: "
				 "a123456789012345678901234567890123456789012345678901234567890123}\n",
		"W08 2:3");
}

static void rules_that_the_kernel_enforces_are_fine(void)
{
	expect_warnings(RULES RULE("a", "syscall: fs.read, path_glob: [src/**, /usr/lib/, ./x]",
				   "allow") RULE("b", "syscall: net.connect, host: a.b", "deny")
				RULE("c", "syscall: git.commit, caller: me", "require_review"),
			"");
}

static void warns_of_facts_that_only_a_client_of_the_service_knows(void)
{
	expect_warnings(RULES RULE("r", "syscall: fs.read, caller: me", "deny"), "W09 3:29");
	expect_warnings(RULES RULE("r", "syscall: exec",
				   "deny") "  except: [{caller_tag: trusted}]\n",
			"W09 5:12");
	expect_warnings(RULES RULE("r", "syscall: fs.read, path: /a",
				   "allow") "  constraints: {require_capability_token: true}\n",
			"W09 2:3");
	/* A review needs the broker (W08), so the sandbox does not start and W09 is not needed. */
	expect_warnings(RULES RULE("r", "syscall: exec, caller: me", "require_review"), "W08 2:3");
	expect_warnings(RULES RULE("r", "syscall: exec, state: a, mode: b", "deny"), "W09 3:26");
}

static void warns_of_writing_everywhere(void)
{
	expect_warnings(RULES RULE("r", "syscall: fs.write, path_glob: /**", "allow"), "W10 2:3");
	expect_warnings(RULES RULE("r", "syscall: fs.*, path: /", "allow"), "W10 2:3");
	expect_warnings(RULES RULE("r", "syscall: fs.write", "allow"), "W10 2:3");
	expect_warnings(RULES RULE("r", "syscall: fs.write, path_glob: '**'", "allow"), "");
	expect_warnings(RULES RULE("r", "syscall: fs.read, path: /", "allow"), "");
	expect_warnings(RULES RULE("r", "syscall: fs.write, path: /", "deny"), "");
}

static void warns_of_rules_without_effect(void)
{
	expect_warnings(RULES RULE("r", "syscall: exec, path: /a", "pass"), "W11 2:3");
	expect_warnings("version: 1\nview: none\nfs: {rules: [{action: deny, path: '/tmp/*.c'}]}\n",
			"W12 3:35");
	expect_warnings(RULES RULE("r", "syscall: exec, path: /a",
				   "deny") "  constraints: {require_capability_token: true}\n",
			"W13 2:3");
	expect_warnings(RULES RULE("r", "syscall: net.bind, cidr: 127.0.0.1",
				   "allow") "  constraints: {tls: any}\nnet: {mode: loopback}\n",
			"W13 2:3");
}

static void warns_of_limits_of_a_proxy_where_there_is_none(void)
{
	static const char rule[] = RULES RULE("r", "syscall: fs.read, path: /a", "allow");
	_cleanup_text_ struct text text = TEXT_INIT;

	text_addf(&text, "%snet: {limits: {rate: 1MiB, bytes: 1GiB}, mode: none}\n", rule);
	expect_warnings(text_string(&text), "W25 5:35");
	text_reset(&text);
	text_addf(&text, "%snet: {limits: {rate: 1MiB}}\n", rule);
	expect_warnings(text_string(&text), "W25 5:22");
}

#define SIZED(name, path, bound)                                                                   \
	RULE(name, "syscall: fs.write, path: " path, "allow")                                      \
	"  constraints: {max_file_size: " bound "}\n"

static void warns_of_a_bound_of_one_rule_that_a_sandbox_has_for_all(void)
{
	expect_warnings(RULES SIZED("a", "/a", "1MiB")
				RULE("b", "syscall: fs.write, path: /b", "allow"),
			"W26 2:3");
	expect_warnings(RULES RULE("b", "syscall: fs.*, path: /b", "allow") SIZED("a", "/a", "1MiB")
				SIZED("c", "/c", "2MiB"),
			"W26 5:3");
	expect_warnings("defaults: {fs: allow}\n" RULES SIZED("a", "/a", "1MiB"), "W26 3:3");
}

static void one_bound_for_all_that_may_be_written_is_fine(void)
{
	expect_warnings(RULES SIZED("a", "/a", "1MiB"), "");
	expect_warnings(RULES SIZED("a", "/a", "1MiB") SIZED("b", "/b", "1MiB"), "");
	expect_warnings(RULES SIZED("a", "/a", "1MiB")
				RULE("b", "syscall: fs.read, path: /b", "allow"),
			"");
	expect_warnings(RULES SIZED("a", "/a", "1MiB")
				RULE("b", "syscall: fs.write, path: /b", "deny"),
			"");
	/* Without a token the rule grants nothing in a sandbox. */
	expect_warnings(RULES SIZED("a", "/a", "1MiB")
				RULE("b", "syscall: fs.write, path: /b",
				     "allow") "  constraints: {require_capability_token: true}\n",
			"W09 6:3");
}

static void warns_of_a_default_that_asks(void)
{
	expect_warnings(
		"version: 1\ndefaults: {fs: warn, net: warn, exec: require_review, tool: warn}\n",
		"W14 1:1 | W14 1:1");
	expect_warnings("version: 1\ndefaults: {fs: allow, exec: deny}\n", "W23 1:1");
}

/* The W15 warnings of a deny of fs.read with these globs. */
static void expect_directories(const char *globs, const char *more, const char *wanted)
{
	_cleanup_policy_ struct policy *policy = NULL;
	_cleanup_text_ struct text got = TEXT_INIT, all = TEXT_INIT;
	struct sbx_error err = { .code = 0 };
	char text[512];

	(void)snprintf(text, sizeof(text),
		       "capabilities:\n- {name: r, match: {syscall: fs.read, path_glob: %s}, "
		       "action: deny}\n%s",
		       globs, more);
	rig_must(policy_load("p.yaml", text, strlen(text), &policy, &err), &err);
	(void)policy_check(policy, collect, &all);
	for (const char *at = text_string(&all); (at = strstr(at, "W15")); at += 3)
		text_addf(&got, "%s%.*s", got.len > 0 ? " " : "", (int)strcspn(at + 6, " "),
			  at + 6);
	if (strcmp(text_string(&got), wanted) != 0)
		printf("# %s\n", text);
	expect_str(text_string(&got), wanted);
}

static void warns_of_a_denied_directory_without_its_contents(void)
{
	expect_directories("secrets", "", "50");
	expect_directories("./secrets", "", "50");
	expect_directories("/etc/secrets", "", "50");
	expect_directories("/etc/sudoers.d", "", "50");
	expect_directories("'**/.ssh'", "", "50");
	expect_directories("'/home/*/.ssh'", "", "50");
	expect_directories("[.git, /srv/keys/, /srv/data]", "", "51 69");
	/* A bare name matches in any directory, but these globs only at the top of the project. */
	expect_directories("[secrets, 'secrets/**']", "", "51");
	expect_directories("[secrets, ./secrets/]", "", "51");
	/* A rule that denies another operation, or only under a condition, does not cover the
	 * contents. */
	expect_directories(
		"/srv/data",
		"- {name: s, match: {syscall: fs.write, path: /srv/data}, action: deny}\n", "50");
	expect_directories(
		"/srv/data",
		"- {name: s, match: {syscall: fs.read, path: /srv/data/a}, action: deny}\n", "50");
	expect_directories("/srv/data",
			   "- {name: s, match: {syscall: fs.read, path: /srv, mode: strict}, "
			   "action: deny}\n",
			   "50");
	expect_directories("/srv/data",
			   "- {name: s, match: {syscall: fs.read, path: /srv}, action: deny, "
			   "except: [{path: /srv/data/a}]}\n",
			   "50");
	expect_directories(
		"/srv/data",
		"- {name: s, match: {syscall: fs.read, path: /srv/data}, action: warn}\n", "50");
}

static void a_denied_directory_with_its_contents_is_fine(void)
{
	expect_directories("secrets/", "", "");
	expect_directories("'secrets/**'", "", "");
	expect_directories("[secrets, '**/secrets/**']", "", "");
	expect_directories("[secrets, secrets/]", "", "");
	expect_directories("[./a/secrets, 'a/secrets/**']", "", "");
	expect_directories("[/srv/data, /srv/data/]", "", "");
	expect_directories("[/srv/data, '/srv/**']", "", "");
	expect_directories("/srv/data",
			   "- {name: s, match: {syscall: fs.*, path: /srv/data}, action: deny}\n",
			   "");
	expect_directories("/srv/data",
			   "- {name: s, match: {syscall: '*', path_glob: /srv/}, action: deny}\n",
			   "");
	expect_directories("secrets",
			   "- {name: s, match: {syscall: fs.read, path_glob: secrets/}, action: "
			   "deny}\n",
			   "");
	expect_directories("secrets",
			   "- {name: s, match: {syscall: fs.read, path: ./}, action: deny}\n", "");
}

static void a_denied_name_that_is_a_file_is_fine(void)
{
	expect_directories("[package.json, Dockerfile, .gitlab-ci.yml, .env, .npmrc, id_rsa]", "",
			   "");
	expect_directories("[/etc/shadow, /etc/passwd, '**/*.pem', '**/server.key', LICENSE]", "",
			   "");
	/* Globs that end in a pattern name no directory. */
	expect_directories("['/etc/*', '*', 'secret?', 'src/[ab]']", "", "");
	/* Programs are files, so exec has no contents. */
	expect_warnings(RULES RULE("r", "syscall: exec, path_glob: /usr/bin/sudo", "deny"), "");
	expect_warnings(RULES RULE("r", "syscall: [exec, fs.read], path: /etc/secrets", "deny"),
			"");
}

static void warns_of_a_directory_that_is_taken_out_of_an_allow(void)
{
	expect_warnings(RULES RULE("r", "syscall: fs.read, path_glob: [src/**, '!src/secrets']",
				   "allow"),
			"W15 3:49");
	expect_warnings(RULES RULE("r", "syscall: fs.read, path_glob: [src/**, '!src/secrets/']",
				   "allow"),
			"");
	expect_warnings(RULES RULE("r",
				   "syscall: fs.read, path_glob: [src/**, '!src/a', '!src/a/**']",
				   "allow"),
			"");
	/* No rule grants a path below it. */
	expect_warnings(RULES RULE("r", "syscall: fs.read, path_glob: ['/src/*', '!/src/a']",
				   "allow"),
			"W08 3:41");
	expect_warnings(RULES RULE("r", "syscall: fs.read, path_glob: src/**",
				   "allow") "  except: [{path_glob: src/secrets}]\n",
			"W15 5:24");
	expect_warnings(RULES RULE("r", "syscall: fs.read, path_glob: src/**",
				   "allow") "  except: [{path: ./src/secrets}]\n",
			"");
	expect_warnings(RULES RULE("r", "syscall: [fs.read, exec], path_glob: src/**",
				   "allow") "  except: [{syscall: exec, path_glob: src/tools}]\n",
			"");
	/* An exception of a denial gives rights: if it is too narrow, a command fails visibly. */
	expect_warnings(RULES RULE("r", "syscall: fs.read, path_glob: src/**",
				   "deny") "  except: [{path_glob: src/open}]\n",
			"");
}

static void warns_of_a_home_directory_by_its_user(void)
{
	expect_warnings(RULES RULE("r", "syscall: fs.read, path_glob: ~root/.ssh/", "deny"),
			"W16 3:40");
	expect_warnings(RULES RULE("r", "syscall: fs.read, path: ~root/.ssh", "allow"), "W16 3:35");
	expect_warnings(RULES RULE("r", "syscall: fs.read, path: [./~root/a, ~x, a/~root/b]",
				   "allow"),
			"");
}

#define MOUNT(rest) "mounts:\n- {target: /mnt" rest "}\n"

static void refuses_a_mount_that_a_rule_denies(void)
{
	expect_warnings(RULES RULE("r", "op: fs.read, path: /mnt", "deny") MOUNT(", mode: tmpfs"),
			"W20 6:12");
	expect_warnings(RULES RULE("r", "op: fs.*, path_glob: /m*/", "deny") MOUNT(""),
			"W20 6:12 | W08 3:32");
}

static void refuses_a_size_of_a_mount_that_has_none(void)
{
	expect_warnings(MOUNT(", size: 1MiB"), "W20 2:12");
	expect_warnings(MOUNT(", mode: rw, size: 1MiB"), "W20 2:12");
	expect_warnings(MOUNT(", mode: overlay, size: 1MiB"), "W20 2:12");
	expect_warnings(MOUNT(", mode: mask, size: 1MiB"), "W20 2:12");
	expect_warnings(MOUNT(", mode: tmpfs, size: 1MiB"), "");
}

/* More than ten mounts: their numbers are not in the order of their texts. */
static void refuses_a_second_mount_on_a_target(void)
{
#define TMPFS(target) "- {target: " target ", mode: tmpfs}\n"
#define NINE                                                                                       \
	TMPFS("/b")                                                                                \
	TMPFS("/c")                                                                                \
	TMPFS("/d") TMPFS("/e") TMPFS("/f") TMPFS("/g") TMPFS("/h") TMPFS("/i") TMPFS("/j")
	expect_warnings("mounts:\n" TMPFS("/a") NINE TMPFS("/k") TMPFS("/b"), "W20 13:12");
	expect_warnings("mounts:\n" TMPFS("/a") NINE TMPFS("/a") TMPFS("/k"), "W20 12:12");
	expect_warnings("mounts:\n" TMPFS("/a") NINE "- {target: /k, source: /a}\n", "");
}

static void a_mount_that_no_rule_denies_is_fine(void)
{
	expect_warnings(RULES RULE("r", "op: fs.read, path: /mnt/a", "deny") MOUNT(""), "");
	expect_warnings(RULES RULE("r", "op: fs.write, path: /mnt", "deny") MOUNT(""), "");
	expect_warnings(RULES RULE("r", "op: fs.read, path: /mnt", "deny") MOUNT(", mode: mask"),
			"");
	expect_warnings(RULES RULE("r", "op: fs.read, path: /mnt", "deny")
				MOUNT(", optional: true"),
			"");
	expect_warnings(RULES RULE("r", "op: fs.read, path: /mnt", "allow") MOUNT(""), "");
}

static void refuses_denials_that_nothing_can_enforce(void)
{
	expect_warnings(RULES RULE("r", "op: fs.read, path: [/a, /proc/self/maps]", "deny"),
			"W22 3:35");
	expect_warnings(RULES RULE("r", "op: fs.read, path: [/proc/selfish, /proc]", "deny"), "");
	expect_warnings(RULES RULE("r", "op: fs.exists, path: /a", "deny"), "W22 2:3");
	expect_warnings(RULES RULE("r", "op: [fs.exists, fs.read], path: /a", "deny"), "");
}

static void refuses_settings_that_no_sandbox_can_have(void)
{
	expect_warnings("net: {loopback: {connect: [1, 2], bind: [3, 2]}}\n", "W23 1:1 | W21 1:45");
	expect_warnings("net: {mode: host, loopback: {connect: [2], bind: [2]}}\n", "W23 1:1");
}

static void warns_of_settings_that_no_program_reads(void)
{
	expect_warnings("scheduler: {global_max: 3, age_threshold: 1m}\n", "W23 1:1 | W24 1:43");
	expect_warnings("scheduler: {}\n", "W23 1:1");
}

#define EXEC(paths) RULE("run", "syscall: exec, path: " paths, "allow")
#define READ(paths) RULE("see", "syscall: fs.read, path: " paths, "allow")

static void warns_of_a_program_that_cannot_be_read(void)
{
	expect_warnings(RULES EXEC("[/usr/bin/a, ./b]"), "W19 3:33 | W19 3:45");
	expect_warnings(RULES EXEC("/usr/bin/a") READ("/usr/bin/ab"), "W19 3:32");
	expect_warnings(RULES EXEC("/usr/bin/a") READ("[./, /usr/lib]"), "W19 3:32");
	expect_warnings(RULES EXEC("./a") READ("/usr"), "W19 3:32");
	expect_warnings(RULES EXEC("/srv/a") READ("[/usr, /srv/b]"), "W19 3:32");
	expect_warnings(RULES EXEC("/usr/a")
				RULE("never", "syscall: fs.read, path: /usr/a", "deny"),
			"W19 3:32");
}

#define NEVER(operations, path) RULE("never", "syscall: [" operations "], path: " path, "deny")

static void warns_of_a_program_whose_reading_is_denied(void)
{
	expect_warnings(RULES EXEC("[/srv/a/t, /srv/b]") READ("/srv") NEVER("fs.read", "/srv/a"),
			"W19 3:33");
	expect_warnings(RULES EXEC("./a/t") READ("./") NEVER("fs.read", "./a/t"), "W19 3:32");
	expect_warnings("isolation: {nested: true}\n" RULES EXEC("/opt/a") NEVER("fs.*", "/opt"),
			"W21 1:21 | W19 4:32");
	/* Without certainty there is no warning. */
	expect_warnings(RULES EXEC("/srv") READ("/srv") NEVER("fs.read", "/srv/a"), "");
	expect_warnings(RULES EXEC("/srv/a/t") READ("/srv")
				NEVER("fs.read", "/srv/a") "  except: [{path: /srv/a/t}]\n",
			"");
	/* A denied program needs no reading. */
	expect_warnings(RULES EXEC("[/srv/a, /srv/b]") READ("/srv")
				NEVER("fs.read, exec", "/srv/a"),
			"");
}

static void a_program_that_may_be_read_is_fine(void)
{
	expect_warnings(RULES EXEC("/usr/bin/a") READ("/usr"), "");
	expect_warnings(RULES EXEC("/usr") READ("/usr/bin/a"), "");
	expect_warnings(RULES EXEC("/usr/bin/a") READ("/"), "");
	expect_warnings(RULES EXEC("./a/b") READ("./"), "");
	expect_warnings(RULES EXEC("[./a, /usr/bin/a]") READ("[./a, /usr/bin]"), "");
	/* /bin is a link on most hosts, and a project may be in /srv. */
	expect_warnings(RULES EXEC("/bin/a") READ("/usr/bin"), "");
	expect_warnings(RULES EXEC("/usr/lib/a") READ("/lib"), "");
	expect_warnings(RULES EXEC("./a") READ("/srv"), "");
	expect_warnings(RULES EXEC("/srv/a") READ("./"), "");
	expect_warnings(RULES RULE("r", "syscall: [exec, fs.read], path: /usr/a", "allow"), "");
	expect_warnings(RULES EXEC("/usr/a") RULE("r", "syscall: fs.read", "allow"), "");
	expect_warnings("mounts: [{target: /opt, source: /usr}]\n" RULES EXEC("/opt/a"), "");
	expect_warnings("defaults: {fs: allow}\n" RULES EXEC("/opt/a"), "");
	expect_warnings("isolation: {nested: true}\n" RULES EXEC("/opt/a")
				RULE("r", "syscall: exec", "allow"),
			"W06 3:3");
	expect_warnings("view: system\n" RULES EXEC("/usr/a"), "");
	/* Nor can it be limited what is executed there. */
	expect_warnings("isolation: {nested: true}\n" RULES EXEC("/opt/a"), "W21 1:21");
	/* Sections are checked for system directories, too. */
	expect_warnings("version: 1\nexec: {rules: [{action: allow, path: /usr/a}]}\n", "");
}

static void the_seeds_policies_warn_of_nothing_but_enforcement(void)
{
	expect_warnings(seed_buntime, "");
	expect_warnings(seed_manifest, "");
	expect_warnings(seed_fluffy, "W24 22:15 | W09 2:5 | W08 10:5 | W08 14:5");
}

static void ignore(const struct policy_warning *warning, void *userdata)
{
	(*(unsigned *)userdata)++;
}

static void finds_the_one_superfluous_rule_among_ten_thousand(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	_cleanup_policy_ struct policy *policy = NULL;
	unsigned n = 0;

	text_add(&text, "net: {mode: proxy}\nnetwork_whitelist:\n");
	for (int i = 0; i < 10000; i++)
		text_addf(&text, "- h%d.example.com\n", i);
	text_add(&text, "- h77.example.com\n");
	expect_eq(policy_load("p.yaml", text.data, text.len, &policy, NULL), 0);
	expect_eq(policy_check(policy, ignore, &n), 1);
	expect_eq(n, 1);
}

static const struct test tests[] = {
	TEST(warns_of_an_empty_list),
	TEST(warns_of_a_group_of_hosts_without_any),
	TEST(warns_of_a_policy_that_shows_no_files),
	TEST(warns_of_globs_that_are_all_taken_out_again),
	TEST(an_exception_that_can_never_apply_is_only_a_part_of_its_rule),
	TEST(warns_of_a_match_that_its_exception_takes_back),
	TEST(an_exception_that_leaves_something_is_fine),
	TEST(warns_of_a_rule_that_can_never_apply),
	TEST(a_rule_about_a_name_at_an_address_is_fine),
	TEST(warns_of_a_part_that_can_never_apply),
	TEST(warns_of_an_allow_under_a_deny),
	TEST(an_allow_that_reaches_beyond_a_deny_is_fine),
	TEST(warns_of_a_superfluous_rule),
	TEST(a_rule_that_adds_something_is_not_superfluous),
	TEST(only_a_rule_with_cidr_makes_one_with_cidr_superfluous),
	TEST(warns_of_stars_beside_other_characters),
	TEST(warns_of_rules_that_the_kernel_cannot_enforce),
	TEST(rules_that_the_kernel_enforces_are_fine),
	TEST(warns_of_facts_that_only_a_client_of_the_service_knows),
	TEST(warns_of_writing_everywhere),
	TEST(warns_of_rules_without_effect),
	TEST(warns_of_limits_of_a_proxy_where_there_is_none),
	TEST(warns_of_a_bound_of_one_rule_that_a_sandbox_has_for_all),
	TEST(one_bound_for_all_that_may_be_written_is_fine),
	TEST(warns_of_a_default_that_asks),
	TEST(warns_of_a_denied_directory_without_its_contents),
	TEST(a_denied_directory_with_its_contents_is_fine),
	TEST(a_denied_name_that_is_a_file_is_fine),
	TEST(warns_of_a_directory_that_is_taken_out_of_an_allow),
	TEST(warns_of_a_home_directory_by_its_user),
	TEST(refuses_a_mount_that_a_rule_denies),
	TEST(refuses_a_size_of_a_mount_that_has_none),
	TEST(refuses_a_second_mount_on_a_target),
	TEST(a_mount_that_no_rule_denies_is_fine),
	TEST(refuses_denials_that_nothing_can_enforce),
	TEST(refuses_settings_that_no_sandbox_can_have),
	TEST(warns_of_settings_that_no_program_reads),
	TEST(warns_of_a_program_that_cannot_be_read),
	TEST(warns_of_a_program_whose_reading_is_denied),
	TEST(a_program_that_may_be_read_is_fine),
	TEST(the_seeds_policies_warn_of_nothing_but_enforcement),
	TEST(finds_the_one_superfluous_rule_among_ten_thousand),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
