/* SPDX-License-Identifier: MIT */

/* The answers of eval below the target of a mount, where files have other names outside */

#include "base/cleanup.h"
#include "policy/artefact.h"
#include "policy/compose.h"
#include "policy/decide.h"
#include "policy/model.h"
#include "test.h"

/* On this host /p/link leads to /real, /m/link to /other and /l to /real. */
static const char *resolve(void *arena, const char *path)
{
	(void)arena;
	return strcmp(path, "/p/link") == 0   ? "/real"
	       : strcmp(path, "/m/link") == 0 ? "/other"
	       : strcmp(path, "/l") == 0      ? "/real"
					      : path;
}

static bool allows_in(const char *project, const char *yaml, const char *operation,
		      const char *path)
{
	_cleanup_policy_ struct policy *policy = NULL;
	_cleanup_engine_ struct policy_engine *engine = NULL;
	_cleanup_free_ void *block = NULL;
	const struct policy_request request = {
		.operation = operation, .path = path, .project_root = "/p", .has_size = true
	};
	struct policy_decision decision;
	struct artefact artefact;
	size_t n_bytes;

	expect_eq(policy_load("p.yaml", yaml, strlen(yaml), &policy, NULL), 0);
	expect_eq(policy_compile_composed(policy, project, resolve, &block, &n_bytes, NULL), 0);
	if (!block)
		return false;
	expect_eq(artefact_open(block, n_bytes, &artefact, NULL), 0);
	expect_eq(policy_engine_new(&artefact, &engine), 0);
	policy_decide(engine, &request, &decision);
	return decision.verdict == POLICY_ALLOW;
}

static bool allows(const char *yaml, const char *operation, const char *path)
{
	return allows_in(NULL, yaml, operation, path);
}

#define DENY(operations, match)                                                                    \
	"capabilities: [{name: d, action: deny, match: {op: " operations ", " match "}"
#define END "}]\n"
#define MOUNT(source, target) "mounts: [{source: " source ", target: " target ", mode: rw}]\n"
#define EXCEPT(match) ", except: [{" match "}]"

static void what_is_denied_outside_is_denied_where_a_mount_shows_it(void)
{
	static const char file[] = MOUNT("/src", "/x") DENY("fs.*", "path: /src/a") END;
	static const char glob[] = MOUNT("/src", "/x") DENY("fs.*", "path_glob: '/src/a/**'") END;
	static const char above[] = MOUNT("/src/b", "/x") DENY("fs.*", "path: /src") END;
	static const char relative[] = MOUNT("./src", "/x") DENY("fs.*", "path: src/a") END;

	expect(!allows(file, "fs.read", "/x/a") && !allows(file, "fs.write", "/x/a/b"));
	expect(allows(file, "fs.read", "/x/ab") && allows(file, "fs.read", "/x/b/a"));
	expect(!allows(glob, "fs.read", "/x/a/b") && allows(glob, "fs.read", "/x/a"));
	expect(!allows(above, "fs.read", "/x") && !allows(above, "fs.read", "/x/a/b"));
	expect(!allows(relative, "fs.read", "/x/a/b") && allows(relative, "fs.read", "/x/b"));
}

static void a_denial_with_exceptions_is_moved_with_them(void)
{
	static const char one[] =
		MOUNT("/src", "/x") DENY("fs.*", "path: /src/a") EXCEPT("path: /src/a/ok") END;
	static const char whole[] =
		MOUNT("/src", "/x") DENY("fs.*", "path: /") EXCEPT("path: [/src/ok, /x]") END;
	static const char inside[] =
		MOUNT("/src", "/x") DENY("fs.*", "path: /src/a") EXCEPT("path: /x/a") END;
	static const char some[] = MOUNT("/src", "/x") DENY("fs.*", "path: /src/a")
		EXCEPT("path_glob: ['/src/**', '!/src/a/no'], op: fs.read") END;

	expect(!allows(one, "fs.read", "/x/a/b") && allows(one, "fs.write", "/x/a/ok/b"));
	expect(!allows(whole, "fs.read", "/x/a") && allows(whole, "fs.read", "/x/ok"));
	expect(!allows(inside, "fs.read", "/x/a/b"));
	expect(allows(some, "fs.read", "/x/a/b") && !allows(some, "fs.write", "/x/a/b"));
	expect(!allows(some, "fs.read", "/x/a/no"));
}

static void a_masked_source_is_masked_where_a_mount_shows_it(void)
{
	static const char mask[] = "mounts: [{target: /src/a, mode: mask}, "
				   "{source: /src, target: /x}]\n";

	expect(!allows(mask, "fs.read", "/x/a/b") && allows(mask, "fs.read", "/x/b"));
}

/* The source of a mount is a path of the host, so no other mount applies to it. */
static void mounts_are_not_chained(void)
{
	static const char chain[] =
		"mounts: [{source: /a, target: /b}, {source: /b, target: /c}]\n" DENY("fs.*",
										      "path: /a/x")
			END;

	expect(!allows(chain, "fs.read", "/b/x") && allows(chain, "fs.read", "/c/x"));
}

static void a_link_below_the_project_is_resolved_if_the_project_is_known(void)
{
	static const char yaml[] =
		"capabilities: [{name: a, action: allow, match: {op: fs.read, path: ./link}}]\n";

	expect(allows_in("/p", yaml, "fs.read", "/real/a"));
	expect(allows_in("/p", yaml, "fs.read", "/p/link/a"));
	expect(!allows_in(NULL, yaml, "fs.read", "/real/a"));
	expect(!allows_in("/q", yaml, "fs.read", "/real/a"));
}

/* A sandbox shows the mount there, and not the host's link. */
static void a_link_below_a_mount_is_not_resolved(void)
{
	static const char yaml[] =
		"capabilities: [{name: a, action: allow, match: {op: exec, path: /m/link}}]\n";
	char mounted[256];

	(void)snprintf(mounted, sizeof(mounted), "%smounts: [{source: /srv, target: /m}]\n", yaml);
	expect(allows(yaml, "exec", "/other/a"));
	expect(allows(mounted, "exec", "/m/link/a") && !allows(mounted, "exec", "/other/a"));
	/* A denial is about both. */
	expect(!allows(
		"mounts: [{source: /srv, target: /m}, {target: /other, mode: rw}]\n"
		"capabilities: [{name: d, action: deny, match: {op: fs.*, path: /m/link}}]\n",
		"fs.read", "/other/a"));
}

static void a_mount_is_where_the_links_to_its_target_lead(void)
{
	static const char mount[] = "mounts: [{source: /srv, target: /l}]\n";
	static const char kept[] =
		"mounts: [{source: /srv, target: /l}]\n"
		"capabilities: [{name: d, action: deny, match: {op: fs.*, path: /l/kept}}]\n";
	static const char named[] =
		"mounts: [{source: /srv, target: /l}]\n"
		"capabilities: [{name: a, action: allow, match: {op: exec, path: /l/tool}}]\n";

	expect(allows(mount, "fs.read", "/l/a") && allows(mount, "fs.read", "/real/a"));
	expect(!allows(kept, "fs.read", "/l/kept") && !allows(kept, "fs.read", "/real/kept"));
	expect(allows(kept, "fs.read", "/real/a"));
	expect(allows(named, "exec", "/real/tool") && !allows(named, "exec", "/real/a"));
}

/* Does the composed policy protect special addresses from permissions without 'cidr'? */
static bool protects(const char *yaml)
{
	_cleanup_policy_ struct policy *policy = NULL;
	_cleanup_free_ void *block = NULL;
	struct artefact artefact;
	size_t n_bytes;

	expect_eq(policy_load("p.yaml", yaml, strlen(yaml), &policy, NULL), 0);
	expect_eq(policy_compile_composed(policy, NULL, NULL, &block, &n_bytes, NULL), 0);
	expect_eq(artefact_open(block, n_bytes, &artefact, NULL), 0);
	return artefact.header->special_needs_cidr;
}

static void special_addresses_are_protected_where_the_proxy_connects(void)
{
	expect(protects("version: 1\nnet: {mode: proxy}\n"));
	expect(protects("version: 1\nnet: {mode: transparent}\n"));
	expect(!protects("version: 1\nnet: {mode: none}\n"));
	expect(!protects("version: 1\nnet: {mode: loopback}\n"));
	expect(!protects("version: 1\nnet: {mode: host}\n"));
	expect(!protects("version: 1\nnet: {mode: veth}\n"));
	/* The mode that a rule or the default implies. */
	expect(protects("capabilities: [{name: a, match: {op: net.*}, action: allow}]\n"));
	expect(protects("version: 1\ndefaults: {net: allow}\n"));
	expect(!protects("capabilities: [{name: a, match: {op: net.*}, action: deny}]\n"));
	/* Forwarding a port does not imply the mode proxy. */
	expect(!protects("version: 1\nnet: {loopback: {connect: [80]}}\n"));
}

/* A rule about everything below a directory is also about listing the directory, and no other. */
static void a_directory_of_which_all_is_listed_can_be_listed(void)
{
	static const struct {
		const char *globs;
		const char *listed;
		const char *denied[3];
	} cases[] = {
		{ "'secrets/**'", "/p/secrets", { "/p/x/secrets", "/x/secrets", "/p" } },
		{ "'./secrets/**'", "/p/secrets", { "/p/x/secrets" } },
		{ "'secrets/**/***/'", "/p/secrets", { "/p/x/secrets" } },
		{ "'/a/b/*/**'", "/a/b/c", { "/a/b", "/a" } },
		{ "'srv/*/**'", "/p/srv/c", { "/p/srv", "/p/x/srv", "/p/x/srv/c" } },
		{ "'/a/b/c*/**'", "/a/b/cd", { "/a/b/d", "/a/b" } },
		{ "'*/**'", "/p/a", { "/p", "/a" } },
		{ "'/.*/**'", "/.a", { "/a", "/" } },
		{ "'./.*/**'", "/p/.a", { "/p/a", "/p", "/.a" } },
		{ "'/srv/u/.*/**'", "/srv/u/.a", { "/srv/u", "/srv/u/a" } },
		{ "'/a\\*/**'", "/a*", { "/a", "/ab" } },
		{ "'a/**', '!a/b/**'", "/p/a/b", { "/p/x/a" } },
		{ "'/a/*/**', '!/a/b/**'", "/a/c", { "/a/b", "/a/b/c" } },
		{ "'/a/*/**', '!/a/b'", "/a/c", { "/a/b" } },
		{ "'a/*/**', '!a/b*/**'", "/p/a/c", { "/p/a/b", "/p/a/bc", "/p/x/a/c" } },
	};
	static const char *const operations[] = { "fs.list", "fs.exists" };

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		char yaml[256];

		(void)snprintf(yaml, sizeof(yaml),
			       "capabilities: [{name: a, action: allow, "
			       "match: {op: [fs.read, fs.list, fs.exists], path_glob: [%s]}}]\n",
			       cases[i].globs);
		for (size_t k = 0; k < N_ELEMENTS(operations); k++) {
			expect(allows(yaml, operations[k], cases[i].listed));
			for (size_t j = 0; j < 3 && cases[i].denied[j]; j++)
				expect(!allows(yaml, operations[k], cases[i].denied[j]));
		}
	}
}

static void a_directory_of_which_all_is_excepted_cannot_be_listed(void)
{
	static const char all[] =
		"capabilities: [{name: a, action: allow, match: {op: fs.*, path_glob: '/a/*/**'}, "
		"except: [{path_glob: '/a/b/**'}]}]\n";
	static const char writing[] =
		"capabilities: [{name: a, action: allow, match: {op: fs.*, path_glob: '/a/*/**'}, "
		"except: [{op: fs.write, path_glob: '/a/b/**'}]}]\n";

	expect(allows(all, "fs.list", "/a/c") && !allows(all, "fs.list", "/a/b"));
	expect(allows(writing, "fs.list", "/a/c") && allows(writing, "fs.list", "/a/b"));
}

static const struct test tests[] = {
	TEST(what_is_denied_outside_is_denied_where_a_mount_shows_it),
	TEST(a_denial_with_exceptions_is_moved_with_them),
	TEST(a_masked_source_is_masked_where_a_mount_shows_it),
	TEST(mounts_are_not_chained),
	TEST(a_link_below_the_project_is_resolved_if_the_project_is_known),
	TEST(a_link_below_a_mount_is_not_resolved),
	TEST(a_mount_is_where_the_links_to_its_target_lead),
	TEST(special_addresses_are_protected_where_the_proxy_connects),
	TEST(a_directory_of_which_all_is_listed_can_be_listed),
	TEST(a_directory_of_which_all_is_excepted_cannot_be_listed),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
