/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "plan-host.h"

#define PROJECT "/home/user/p"
#define RULE(name, what, paths, action)                                                            \
	"- {name: " name ", match: {syscall: " what ", path: " paths "}, action: " action "}\n"
#define ALL_FILES "fs.*"

static const char project_is_writable[] =
	"capabilities:\n" RULE("files", ALL_FILES, "['./', /usr]", "allow")
		RULE("programs", "exec", "[/usr/bin]", "allow");

static void open_with(struct planning *planning, const char *more)
{
	char policy[4096];

	planning_open(planning);
	(void)snprintf(policy, sizeof(policy), "%s%s", project_is_writable, more);
	planning_load(planning, policy);
}

static void a_denied_file_below_an_allowed_directory_is_hidden(void)
{
	_cleanup_planning_ struct planning planning;

	open_with(&planning, RULE("keys", "fs.*", "[./.env, ./secrets]", "deny"));
	know(&planning, PROJECT "/.env", HOST_FILE);
	know(&planning, PROJECT "/secrets", HOST_DIRECTORY);
	expect_plan(&planning);
	expect_eq(flags_of(&planning, STEP_MASK, PROJECT "/.env"), 0);
	expect_eq(flags_of(&planning, STEP_MASK, PROJECT "/secrets"), STEP_IS_DIRECTORY);
	expect_str(the_step(&planning, STEP_MASK, PROJECT "/.env")->origin.text, "p.yaml:4 'keys'");
}

static void a_denial_of_listing_or_reading_alone_hides_too(void)
{
	static const char *const operations[] = { "fs.read", "fs.list", "[fs.exists, fs.list]" };

	for (size_t i = 0; i < N_ELEMENTS(operations); i++) {
		_cleanup_planning_ struct planning planning;
		char rule[256];

		(void)snprintf(rule, sizeof(rule),
			       "- {name: keys, match: {syscall: %s, path: ./secrets},"
			       " action: deny}\n",
			       operations[i]);
		open_with(&planning, rule);
		know(&planning, PROJECT "/secrets", HOST_DIRECTORY);
		expect_plan(&planning);
		expect(find_step(&planning, STEP_MASK, PROJECT "/secrets"));
	}
}

/* A mask prevents reading, but the name stays visible. */
static void a_denial_of_the_name_alone_is_refused(void)
{
	_cleanup_planning_ struct planning planning;

	open_with(&planning, RULE("keys", "fs.exists", "./secrets", "deny"));
	know(&planning, PROJECT "/secrets", HOST_DIRECTORY);
	expect_refusal(&planning, -EOPNOTSUPP);
}

static void a_denial_of_what_each_process_reads_as_its_own_is_refused(void)
{
	_cleanup_planning_ struct planning ruled, typed;

	open_with(&ruled, RULE("self", "fs.read", "/proc/self/environ", "deny"));
	know(&ruled, "/proc/self/environ", HOST_FILE);
	expect_refusal(&ruled, -EOPNOTSUPP);

	planning_open(&typed);
	grant(&typed, GRANT_DENY, "/proc/thread-self", "--deny");
	know(&typed, "/proc/thread-self", HOST_DIRECTORY);
	expect_refusal(&typed, -EINVAL);
}

static void a_denial_of_writing_makes_read_only(void)
{
	_cleanup_planning_ struct planning planning;

	open_with(&planning, RULE("fixed", "fs.write", "./ci.yml", "deny"));
	know(&planning, PROJECT "/ci.yml", HOST_FILE);
	expect_plan(&planning);
	expect_eq(flags_of(&planning, STEP_BIND, PROJECT), STEP_IS_DIRECTORY | STEP_NO_EXEC);
	expect_eq(flags_of(&planning, STEP_BIND, PROJECT "/ci.yml"), STEP_READ_ONLY | STEP_NO_EXEC);
}

static void the_order_of_rules_changes_nothing(void)
{
	static const char *const policies[] = {
		"capabilities:\n" RULE("allow", ALL_FILES, "./", "allow")
			RULE("deny", ALL_FILES, "./a", "deny")
				RULE("again", ALL_FILES, "./a/b", "allow"),
		"capabilities:\n" RULE("again", ALL_FILES, "./a/b", "allow")
			RULE("deny", ALL_FILES, "./a", "deny")
				RULE("allow", ALL_FILES, "./", "allow"),
	};

	for (size_t i = 0; i < N_ELEMENTS(policies); i++) {
		_cleanup_planning_ struct planning planning;

		planning_open(&planning);
		planning_load(&planning, policies[i]);
		know(&planning, PROJECT "/a/b", HOST_DIRECTORY);
		expect_plan(&planning);
		expect(find_step(&planning, STEP_MASK, PROJECT "/a"));
		expect(!find_step(&planning, STEP_BIND, PROJECT "/a/b"));
	}
}

static void a_missing_name_that_could_be_made_is_refused(void)
{
	_cleanup_planning_ struct planning planning;

	open_with(&planning, RULE("fixed", "fs.write", "./ci.yml", "deny"));
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, "p.yaml:4 'fixed' denies at '" PROJECT "/ci.yml'",
		    "does not exist, and the command could create it", "create it"));
}

static void one_command_creates_all_missing_names(void)
{
	_cleanup_planning_ struct planning planning;

	open_with(&planning, RULE("secrets", ALL_FILES, "[./.env, ./.netrc, ./there]", "deny"));
	know(&planning, PROJECT "/there", HOST_FILE);
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, "denies at '" PROJECT "/.env'", "does not exist",
		    "(mkdir -p " PROJECT "/.env " PROJECT "/.netrc; or touch, for a file)"));
}

/* With a directory of this name, git fails. */
static void a_missing_file_of_git_is_not_made_a_directory(void)
{
	_cleanup_planning_ struct planning planning;

	open_with(&planning, RULE("git", ALL_FILES, "[./config.worktree]", "deny"));
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, "denies at '" PROJECT "/config.worktree'", "does not exist",
		    "create it (touch " PROJECT "/config.worktree), or"));
}

static void all_missing_files_and_directories_of_git_are_named(void)
{
	_cleanup_planning_ struct planning planning;

	open_with(&planning,
		  RULE("git", ALL_FILES, "[./config.worktree, ./hooks, ./a/commondir]", "deny"));
	know(&planning, PROJECT "/a", HOST_DIRECTORY);
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, "denies at '" PROJECT "/a/commondir'", "does not exist",
		    "(touch " PROJECT "/a/commondir " PROJECT "/config.worktree; mkdir -p " PROJECT
		    "/hooks, or touch for a file)"));
}

static void a_missing_name_in_a_read_only_place_needs_nothing(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning,
		      "capabilities:\n" RULE("files", "[fs.read, fs.list]", "./", "allow")
			      RULE("keys", ALL_FILES, "./.env", "deny"));
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_MASK, PROJECT "/.env"));
}

/* The command could create the file and read what the host then writes to it. */
static void a_missing_name_that_may_be_written_but_not_read_is_refused(void)
{
	_cleanup_planning_ struct planning planning;

	open_with(&planning, RULE("unread", "fs.read", "./later", "deny"));
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, "p.yaml:4 'unread' denies at '" PROJECT "/later'", "does not exist",
		    "create it"));
}

/* A directory that contains a mount point can still be renamed. */
static void directories_around_what_is_read_only_become_mounts(void)
{
	_cleanup_planning_ struct planning planning;
	const struct step *pin;

	open_with(&planning, RULE("fixed", "fs.write", "[./a/b/fixed, ./a/c/fixed]", "deny"));
	know(&planning, PROJECT "/a/b/fixed", HOST_FILE);
	know(&planning, PROJECT "/a/c/fixed", HOST_FILE);
	expect_plan(&planning);
	pin = find_step(&planning, STEP_BIND, PROJECT "/a");
	expect(pin && step_flags(pin) == (STEP_IS_DIRECTORY | STEP_NO_EXEC));
	expect(pin && strcmp(pin->bind.source, PROJECT "/a") == 0);
	expect(pin && pin->origin.text && strstr(pin->origin.text, "fixed"));
	expect(find_step(&planning, STEP_BIND, PROJECT "/a/b"));
	expect(find_step(&planning, STEP_BIND, PROJECT "/a/c"));
	expect(flags_of(&planning, STEP_BIND, PROJECT "/a/c/fixed") & STEP_READ_ONLY);
}

static void what_is_hidden_in_a_writable_directory_is_held_by_mounts_too(void)
{
	_cleanup_planning_ struct planning planning;

	open_with(&planning, RULE("keys", ALL_FILES, "./a/keys", "deny"));
	know(&planning, PROJECT "/a/keys", HOST_DIRECTORY);
	expect_plan(&planning);
	expect(find_step(&planning, STEP_BIND, PROJECT "/a"));
	expect(find_step(&planning, STEP_MASK, PROJECT "/a/keys"));
}

/* Otherwise the command could move the directory, and write to the file that the mount covers. */
static void directories_around_a_mount_become_mounts(void)
{
	static const char *const mounts[] = { "mode: ro, source: /srv", "mode: tmpfs",
					      "mode: overlay" };

	for (size_t i = 0; i < N_ELEMENTS(mounts); i++) {
		_cleanup_planning_ struct planning planning;
		char policy[256];

		planning_open(&planning);
		(void)snprintf(policy, sizeof(policy),
			       "capabilities:\n" RULE("allow", ALL_FILES, "./",
						      "allow") "mounts: [{target: " PROJECT
							       "/a/b, %s}]\n",
			       mounts[i]);
		planning_load(&planning, policy);
		know(&planning, "/srv", HOST_DIRECTORY);
		know(&planning, PROJECT "/a/b", HOST_DIRECTORY);
		expect_plan(&planning);
		expect(flags_of(&planning, STEP_BIND, PROJECT "/a") ==
		       (STEP_IS_DIRECTORY | STEP_NO_EXEC));
	}
}

static void a_directory_that_other_rules_name_is_also_a_mount_point(void)
{
	_cleanup_planning_ struct planning planning;

	open_with(&planning, RULE("fixed", "fs.write", "./a/fixed", "deny")
				     RULE("named", "fs.read", "./a", "allow"));
	know(&planning, PROJECT "/a/fixed", HOST_FILE);
	expect_plan(&planning);
	expect_eq(flags_of(&planning, STEP_BIND, PROJECT "/a"), STEP_IS_DIRECTORY | STEP_NO_EXEC);
	expect(find_step(&planning, STEP_BIND, PROJECT "/a/fixed"));
}

static void in_a_read_only_directory_no_second_mount_is_made(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning,
		      "capabilities:\n" RULE("files", "[fs.read, fs.list]", "./", "allow")
			      RULE("fixed", "fs.write", "./a/b", "deny"));
	know(&planning, PROJECT "/a/b", HOST_FILE);
	expect_plan(&planning);
	expect(find_step(&planning, STEP_BIND, PROJECT));
	expect(!find_step(&planning, STEP_BIND, PROJECT "/a"));
	expect(!find_step(&planning, STEP_BIND, PROJECT "/a/b"));
}

static void what_is_allowed_inside_something_hidden_by_exception_is_refused(void)
{
	_cleanup_planning_ struct planning planning;

	open_with(&planning, "- name: keys\n"
			     "  match: {syscall: fs.*, path: ./keys}\n"
			     "  action: deny\n"
			     "  except: [{path: ./keys/public}]\n");
	know(&planning, PROJECT "/keys/public", HOST_DIRECTORY);
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, "'keys'", "is in a hidden directory", "one by one"));
}

static void a_link_of_root_is_followed_and_made_again(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know_link(&planning, "/etc/localtime", "/usr/share/zoneinfo/UTC", 0);
	know(&planning, "/usr/share/zoneinfo/UTC", HOST_FILE);
	planning_load(&planning,
		      "capabilities:\n" RULE("time", "fs.read", "/etc/localtime", "allow"));
	expect_plan(&planning);
	expect_str(the_step(&planning, STEP_LINK, "/etc/localtime")->link.points_to,
		   "/usr/share/zoneinfo/UTC");
	expect(find_step(&planning, STEP_BIND, "/usr/share/zoneinfo/UTC"));
	expect(!find_step(&planning, STEP_BIND, "/etc/localtime"));
}

static void a_link_inside_of_a_bind_is_not_created_again(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know_link(&planning, "/etc/localtime", "/usr/share/zoneinfo/UTC", 0);
	know(&planning, "/usr/share/zoneinfo/UTC", HOST_FILE);
	planning_load(&planning,
		      "capabilities:\n" RULE("time", "fs.read", "[/etc, /etc/localtime]", "allow"));
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_LINK, "/etc/localtime"));
	expect(find_step(&planning, STEP_BIND, "/etc"));
}

static void links_of_links_are_made_again(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know_link(&planning, "/opt/node", "/etc/alternatives/node", 0);
	know_link(&planning, "/etc/alternatives/node", "/opt/node-20", 0);
	know(&planning, "/opt/node-20/bin", HOST_DIRECTORY);
	planning_load(&planning, "capabilities:\n" RULE("node", "fs.read", "/opt/node", "allow"));
	expect_plan(&planning);
	expect(find_step(&planning, STEP_LINK, "/opt/node"));
	expect(find_step(&planning, STEP_LINK, "/etc/alternatives/node"));
	expect(find_step(&planning, STEP_BIND, "/opt/node-20"));
}

/* The content of a link begins in its directory, and may have "..". */
static void links_of_relative_links_are_made_again(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know_link(&planning, "/opt/bin/node", "../../etc/./alternatives/node", 0);
	know_link(&planning, "/etc/alternatives/node", "../../opt/node-20/node", 0);
	know(&planning, "/opt/node-20/node", HOST_FILE);
	planning_load(&planning,
		      "capabilities:\n" RULE("node", "fs.read", "/opt/bin/node", "allow"));
	expect_plan(&planning);
	expect(find_step(&planning, STEP_LINK, "/opt/bin/node"));
	expect(find_step(&planning, STEP_LINK, "/etc/alternatives/node"));
	expect(find_step(&planning, STEP_BIND, "/opt/node-20/node"));
}

static void links_behind_a_link_to_a_directory_are_made_again(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know_link(&planning, "/opt/now", "v1", 0);
	know_link(&planning, "/opt/v1/node", "../node-20", 0);
	know(&planning, "/opt/node-20", HOST_FILE);
	planning_load(&planning,
		      "capabilities:\n" RULE("node", "fs.read", "/opt/now/node", "allow"));
	expect_plan(&planning);
	expect(find_step(&planning, STEP_LINK, "/opt/now"));
	expect(find_step(&planning, STEP_LINK, "/opt/v1/node"));
	expect(find_step(&planning, STEP_BIND, "/opt/node-20"));
}

static void links_that_only_lead_to_denials_are_not_made(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "capabilities:\n" RULE("sockets", ALL_FILES,
							"[/var/run/x.sock, /srv/denied]", "deny"));
	know_link(&planning, "/srv/denied", "/opt/now", 0);
	know_link(&planning, "/opt/now", "v1", 0);
	know(&planning, "/opt/v1", HOST_DIRECTORY);
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_LINK, "/var/run"));
	expect(!find_step(&planning, STEP_LINK, "/opt/now"));
}

static void a_link_of_another_user_is_refused(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know_link(&planning, PROJECT "/data", "/home/user/.ssh", 1000);
	planning_load(&planning, "capabilities:\n" RULE("data", "fs.read", "./data/x", "allow"));
	expect_refusal(&planning, -ELOOP);
	expect(says(&planning, "the link '" PROJECT "/data'", "p.yaml:2 'data'",
		    "name the file or directory that it leads to"));
	expect(strstr(planning.err.why, "uid 1000"));
	know(&planning, "/home/user/.ssh/x", HOST_FILE);
	expect_refusal(&planning, -ELOOP);
	expect_str(planning.err.fix, "name '/home/user/.ssh/x', where it leads now");
}

/* The target stays readable under its own name. */
static void a_denied_visible_link_of_another_user_is_refused(void)
{
	_cleanup_planning_ struct planning planning;

	open_with(&planning, RULE("keys", ALL_FILES, "./.env", "deny"));
	know_link(&planning, PROJECT "/.env", "src/env", 1000);
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, "'keys'", "a symbolic link that its owner", ""));
	know(&planning, PROJECT "/src/env", HOST_FILE);
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, "'keys'", "", "name its target, '" PROJECT "/src/env'"));
}

static void a_denied_invisible_link_of_another_user_needs_nothing(void)
{
	_cleanup_planning_ struct planning planning;

	open_with(&planning, RULE("keys", ALL_FILES, "/home/user/.netrc", "deny"));
	know_link(&planning, "/home/user/.netrc", "elsewhere", 1000);
	expect_plan(&planning);
}

/* The mask is at the target, and the command could make a file with the link's name. */
static void refuses_a_denial_through_a_link_that_the_command_could_replace(void)
{
	static const char *const denials[] = { "./data", "./data/keys" };

	for (size_t i = 0; i < N_ELEMENTS(denials); i++) {
		_cleanup_planning_ struct planning planning;
		char rule[256];

		(void)snprintf(rule, sizeof(rule),
			       "- {name: d, match: {syscall: fs.*, path: %s}, action: deny}\n",
			       denials[i]);
		open_with(&planning, rule);
		know_link(&planning, PROJECT "/data", "/srv/data", 0);
		know(&planning, "/srv/data/keys", HOST_DIRECTORY);
		expect_plan(&planning);
		planning.known[planning.n_known - 2].n_movable = strlen(PROJECT "/data");
		expect_refusal(&planning, -EOPNOTSUPP);
		expect(says(&planning, "p.yaml:4 'd'", "could replace the link",
			    "name its target, '/srv/data"));
		/* It would be in what --out collects. */
		planning.request.out_directory = "/home/user/changes";
		planning.request.out_work = "/home/user/work";
		expect_refusal(&planning, -EOPNOTSUPP);
		expect(says(&planning, "p.yaml:4 'd'", "could replace the link", ""));
	}
}

/* By renaming a directory, or by a link to which the first one leads. */
static void refuses_a_denial_through_a_link_that_could_be_replaced_elsewhere(void)
{
	static const struct {
		const char *link;
		size_t n_movable;
		const char *why;
	} cases[] = {
		{ PROJECT "/a/data", strlen(PROJECT "/a"), "may rename '" PROJECT "/a'" },
		{ PROJECT "/b/next", strlen(PROJECT "/b/next"), "'" PROJECT "/b/next' is a" },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_planning_ struct planning planning;

		open_with(&planning, RULE("d", "fs.*", "./a/data/keys", "deny"));
		know(&planning, PROJECT "/a", HOST_DIRECTORY);
		know(&planning, PROJECT "/b", HOST_DIRECTORY);
		know(&planning, "/srv/data/keys", HOST_DIRECTORY);
		know_link(&planning, PROJECT "/a/data", "../b/next", 0);
		know_link(&planning, PROJECT "/b/next", "/srv/data", 0);
		expect_plan(&planning);
		for (size_t at = 0; at < planning.n_known; at++)
			if (strcmp(planning.known[at].path, cases[i].link) == 0)
				planning.known[at].n_movable = cases[i].n_movable;
		expect_refusal(&planning, -EOPNOTSUPP);
		expect(says(&planning, "'d'", cases[i].why, "'/srv/data/keys'"));
		/* A mount point cannot be renamed. */
		planning_load(&planning,
			      "capabilities:\n" RULE("w", "fs.*", "./", "allow")
				      RULE("r", "fs.write", "[./a, ./b]", "deny")
					      RULE("d", "fs.*", "./a/data/keys", "deny"));
		expect_plan(&planning);
	}
}

static void denials_go_through_links_of_root(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "capabilities:\n" RULE("files", "fs.read", "/usr", "allow")
					 RULE("programs", ALL_FILES, "/bin", "deny"));
	expect_plan(&planning);
	expect(find_step(&planning, STEP_MASK, "/usr/bin"));
}

static void libraries_stay_executable_where_programs_are_named(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "capabilities:\n" RULE("files", "fs.read", "/usr", "allow")
					 RULE("programs", "exec", "/usr/bin/true", "allow"));
	expect_plan(&planning);
	expect(flags_of(&planning, STEP_BIND, "/usr") & STEP_NO_EXEC);
	expect(!(flags_of(&planning, STEP_BIND, "/usr/lib") & STEP_NO_EXEC));
	expect_eq(flags_of(&planning, STEP_BIND, "/usr/bin/true"), STEP_READ_ONLY);
	expect(!find_step(&planning, STEP_BIND, "/usr/bin"));
}

static void hidden_libraries_are_not_bound(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "capabilities:\n" RULE("one", "fs.read", "/etc/passwd", "allow"));
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_BIND, "/usr/lib"));
	expect(!find_step(&planning, STEP_BIND, "/usr/lib/ld.so"));
}

static void a_denied_program_is_not_executable(void)
{
	_cleanup_planning_ struct planning planning;

	open_with(&planning, RULE("not", "exec", "[/usr/bin/sudo, /srv/absent]", "deny"));
	expect_plan(&planning);
	expect(!(flags_of(&planning, STEP_BIND, "/usr/bin") & STEP_NO_EXEC));
	expect_eq(flags_of(&planning, STEP_BIND, "/usr/bin/sudo"), STEP_NO_EXEC);
	expect_str(the_step(&planning, STEP_BIND, "/usr/bin/sudo")->origin.text, "p.yaml:4 'not'");
}

static void a_denial_of_all_programs_takes_the_libraries_too(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "capabilities:\n" RULE("files", "fs.read", "/usr", "allow")
					 RULE("none", "exec", "/", "deny"));
	expect_refusal(&planning, -ENOEXEC);
	planning.argv[0] = "/srv/none";
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_BIND, "/usr/lib"));
}

static void programs_may_be_executed_everywhere_if_a_rule_says_so(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "defaults: {exec: allow}\n"
				 "version: 1\n"
				 "capabilities:\n" RULE("files", "fs.read", "[/usr, ./]", "allow")
					 RULE("tmp", ALL_FILES, "/tmp", "allow")
						 RULE("not", "exec", "/usr/sbin", "deny"));
	expect_plan(&planning);
	expect(!(flags_of(&planning, STEP_BIND, PROJECT) & STEP_NO_EXEC));
	expect(!(flags_of(&planning, STEP_TMPFS, "/tmp") & STEP_NO_EXEC));
	expect(flags_of(&planning, STEP_BIND, "/usr/sbin") & STEP_NO_EXEC);
	/* A grant to execute does not show the directory. */
	expect(!find_step(&planning, STEP_BIND, "/etc"));
}

static void a_denial_in_a_fresh_directory_is_made_beforehand(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "capabilities:\n" RULE("tmp", ALL_FILES, "/tmp", "allow")
					 RULE("fixed", "fs.write", "/tmp/fixed", "deny"));
	expect_plan(&planning);
	expect(find_step(&planning, STEP_TMPFS, "/tmp"));
	expect(find_step(&planning, STEP_MASK, "/tmp/fixed"));
}

/* Another rule is about the host's file of that name. */
static void nor_can_a_denied_path_be_created_that_another_rule_names(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/tmp/tool", HOST_FILE);
	planning_load(&planning, "capabilities:\n" RULE("tmp", ALL_FILES, "/tmp", "allow")
					 RULE("tool", "exec", "/tmp/tool", "allow")
						 RULE("none", "[fs.*, exec]", "/tmp/tool", "deny"));
	expect_plan(&planning);
	expect(find_step(&planning, STEP_MASK, "/tmp/tool"));
}

/* The rule is about the private /tmp; a bind below it stays read-only. */
static void writing_to_a_private_tmp_is_not_writing_to_what_lies_in_it(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/tmp/p", HOST_DIRECTORY);
	planning.request.project = "/tmp/p";
	planning_load(&planning, "capabilities:\n" RULE("tmp", ALL_FILES, "/tmp", "allow")
					 RULE("project", "fs.read", "./", "allow"));
	expect_plan(&planning);
	expect(!(flags_of(&planning, STEP_TMPFS, "/tmp") & STEP_READ_ONLY));
	expect(flags_of(&planning, STEP_BIND, "/tmp/p") & STEP_READ_ONLY);
}

static void nothing_of_proc_and_dev_is_the_hosts(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/dev/sda", HOST_DEVICE);
	planning_load(&planning,
		      "capabilities:\n" RULE("own", "fs.read", "[/proc, /dev]", "allow"));
	expect_plan(&planning);
	expect(find_step(&planning, STEP_PROC, "/proc"));
	expect(!find_step(&planning, STEP_BIND, "/proc"));
	expect(!find_step(&planning, STEP_BIND, "/dev"));
	expect(!find_step(&planning, STEP_BIND, "/dev/sda"));
	expect(has_notice(&planning, "'/dev' of p.yaml:2 'own' is left out"));
}

static void denials_hold_in_the_sandboxs_own_proc(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning,
		      "capabilities:\n" RULE("doors", ALL_FILES,
					     "[/proc/kcore, /proc/sys/kernel, /proc/kmsg]",
					     "deny"));
	expect_plan(&planning);
	expect_eq(flags_of(&planning, STEP_MASK, "/proc/kcore"), 0);
	expect_eq(flags_of(&planning, STEP_MASK, "/proc/sys/kernel"), STEP_IS_DIRECTORY);
	expect(!find_step(&planning, STEP_MASK, "/proc/kmsg"));
}

/* The host is not asked for /proc/keys: on a kernel without it the mask is skipped. */
static void the_names_of_its_users_keys_are_hidden(void)
{
	static const char *const files[] = { "/proc/keys", "/proc/key-users" };
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	for (size_t i = 0; i < N_ELEMENTS(files); i++) {
		expect_plan(&planning);
		expect_eq(flags_of(&planning, STEP_MASK, files[i]), STEP_OPTIONAL);
		expect(!host_find_path(&planning.host, files[i]));
		/* A rule for the same path adds no second mask. */
		planning_load(&planning,
			      "capabilities:\n" RULE("keys", ALL_FILES, "/proc/keys", "deny"));
	}
	planning_load(&planning,
		      "isolation: {nested: true}\ndefaults: {exec: allow}\nversion: 1\n");
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_MASK,
			  "/proc/keys")); /* needed to mount /proc in a user namespace */
}

static void a_uid_of_its_own_has_no_keys_to_hide(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.host.uid = planning.host.gid = 0;
	planning.host.is_root = true;
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_MASK, "/proc/keys"));
	planning.request.has_uid = true;
	planning.request.uid = planning.request.gid = 1000;
	expect_plan(&planning);
	expect(find_step(&planning, STEP_MASK, "/proc/keys"));
	expect(find_step(&planning, STEP_MASK, "/proc/key-users"));
	planning.host.has_proc = false;
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_MASK, "/proc/keys"));
}

/* There is no file of the host to bind over it. */
static void a_partial_denial_in_proc_changes_nothing(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning,
		      "version: 1\ndefaults: {exec: allow}\n"
		      "capabilities:\n" RULE("fixed", "fs.write", "/proc/sys/kernel", "deny"));
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_BIND, "/proc/sys/kernel"));
	expect(!find_step(&planning, STEP_MASK, "/proc/sys/kernel"));
}

static void a_file_cannot_be_listed_anyway(void)
{
	_cleanup_planning_ struct planning planning;

	open_with(&planning, RULE("odd", "fs.list", "./file", "deny"));
	know(&planning, PROJECT "/file", HOST_FILE);
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_MASK, PROJECT "/file"));
}

static void a_socket_and_a_device_are_no_files_to_read(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/srv/db.sock", HOST_SOCKET);
	know(&planning, "/srv/sda", HOST_DEVICE);
	planning_load(&planning, "capabilities:\n" RULE("odd", "fs.read",
							"[/srv/db.sock, /srv/sda]", "allow"));
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_BIND, "/srv/db.sock"));
	expect(!find_step(&planning, STEP_BIND, "/srv/sda"));
	expect(has_notice(&planning, "'/srv/db.sock'"));
	expect(has_notice(&planning, "'/srv/sda'"));
}

static void an_unreachable_denied_path_needs_no_mask(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/etc/closed/x", HOST_UNREACHABLE);
	planning_load(&planning, "capabilities:\n" RULE("etc", "fs.read", "/etc", "allow")
					 RULE("keys", ALL_FILES, "/etc/closed/x", "deny"));
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_MASK, "/etc/closed"));
	expect(!find_step(&planning, STEP_MASK, "/etc/closed/x"));
}

static void refuses_a_denial_that_a_chmod_could_evade(void)
{
	_cleanup_planning_ struct planning planning;

	open_with(&planning, RULE("keys", ALL_FILES, "./closed/key", "deny"));
	know(&planning, PROJECT "/closed/key", HOST_UNREACHABLE);
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, "'keys'", "the command could open it", "chmod u+x"));
}

static void everything_means_the_usual_directories(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "capabilities:\n" RULE("all", "[fs.read, fs.list]", "/", "allow")
					 RULE("keys", ALL_FILES, "/etc/shadow", "deny"));
	expect_plan(&planning);
	expect(find_step(&planning, STEP_BIND, "/usr"));
	expect(find_step(&planning, STEP_BIND, "/home"));
	expect(find_step(&planning, STEP_MASK, "/etc/shadow"));
	expect(!find_step(&planning, STEP_BIND, "/tmp"));
	expect(!find_step(&planning, STEP_BIND, "/"));
	expect(has_notice(&planning, "'/' of p.yaml:2 'all'"));
}

static void owners_outside_are_kept_where_root_builds(void)
{
	_cleanup_planning_ struct planning planning;
	const struct step *step;

	planning_open(&planning);
	planning.host.uid = planning.host.gid = 0;
	planning.host.is_root = true;
	planning.known[planning.n_known - 1].uid = 1000;
	know(&planning, PROJECT "/.git/hooks", HOST_DIRECTORY);
	know(&planning, PROJECT "/.git/config", HOST_FILE);
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	expect_plan(&planning);
	step = the_step(&planning, STEP_BIND, PROJECT);
	expect(step->bind.owner.is_set);
	expect_eq(step->bind.owner.uid, 1000);
	expect(!(flags_of(&planning, STEP_BIND, "/usr") & STEP_OWNED));
	/* A read-only path is shown as before, and the repository keeps one owner. */
	expect(flags_of(&planning, STEP_BIND, PROJECT "/.git") & STEP_OWNED);
	planning.host.uid = planning.host.gid = 1000;
	planning.host.is_root = false;
	expect_plan(&planning);
	expect(!(flags_of(&planning, STEP_BIND, PROJECT) & STEP_OWNED));
}

/* A directory that is a mount only to keep its name has the owners that it had without. */
static void a_mount_around_another_keeps_its_owners(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.host.uid = planning.host.gid = 0;
	planning.host.is_root = true;
	planning.known[planning.n_known - 1].uid = 1000;
	planning_load(&planning,
		      "capabilities:\n" RULE("allow", ALL_FILES, "./", "allow")
			      RULE("more", "fs.read", "./a", "allow") "mounts: [{target: " PROJECT
								      "/a/b/c, mode: tmpfs}]\n");
	know(&planning, PROJECT "/a", HOST_DIRECTORY);
	planning.known[planning.n_known - 1].uid = 2000;
	know(&planning, PROJECT "/a/b/c", HOST_DIRECTORY);
	expect_plan(&planning);
	expect_eq(the_step(&planning, STEP_BIND, PROJECT)->bind.owner.uid, 1000);
	expect_eq(the_step(&planning, STEP_BIND, PROJECT "/a")->bind.owner.uid, 1000);
	expect_eq(the_step(&planning, STEP_BIND, PROJECT "/a/b")->bind.owner.uid, 1000);
}

/* Links in /usr lead there. */
static void shows_the_parts_of_packages_in_var(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/var/lib/texmf", HOST_DIRECTORY);
	expect_plan(&planning);
	expect(the_step(&planning, STEP_BIND, "/var/lib/texmf")->bind.attributes.is_read_only);
	expect(!find_step(&planning, STEP_BIND, "/var/lib/aspell"));
}

/* No rule or option asks for them, so a link that the caller does not trust fails no start. */
static void leaves_out_a_part_of_a_package_where_a_link_is_refused(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know_link(&planning, "/var/lib/texmf", "/data/texmf", 4711);
	know(&planning, "/data/texmf", HOST_DIRECTORY);
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_BIND, "/var/lib/texmf"));
	expect(!find_step(&planning, STEP_BIND, "/data/texmf"));
}

/* The file at the command's path outside is another one. */
static void the_command_may_be_below_a_mount(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "mounts: [{target: /usr, source: /srv/image/usr, mode: ro}]\n");
	know(&planning, "/srv/image/usr", HOST_DIRECTORY);
	know(&planning, "/srv/image/usr/bin/true", HOST_FILE);
	expect_plan(&planning);
	expect_str(the_step(&planning, STEP_BIND, "/usr")->bind.source, "/srv/image/usr");
}

static const struct test tests[] = {
	TEST(a_mount_around_another_keeps_its_owners),
	TEST(a_denied_file_below_an_allowed_directory_is_hidden),
	TEST(a_denial_of_listing_or_reading_alone_hides_too),
	TEST(a_denial_of_the_name_alone_is_refused),
	TEST(a_denial_of_what_each_process_reads_as_its_own_is_refused),
	TEST(a_denial_of_writing_makes_read_only),
	TEST(the_order_of_rules_changes_nothing),
	TEST(a_missing_name_that_could_be_made_is_refused),
	TEST(one_command_creates_all_missing_names),
	TEST(a_missing_file_of_git_is_not_made_a_directory),
	TEST(all_missing_files_and_directories_of_git_are_named),
	TEST(a_missing_name_in_a_read_only_place_needs_nothing),
	TEST(a_missing_name_that_may_be_written_but_not_read_is_refused),
	TEST(directories_around_what_is_read_only_become_mounts),
	TEST(what_is_hidden_in_a_writable_directory_is_held_by_mounts_too),
	TEST(directories_around_a_mount_become_mounts),
	TEST(a_directory_that_other_rules_name_is_also_a_mount_point),
	TEST(in_a_read_only_directory_no_second_mount_is_made),
	TEST(what_is_allowed_inside_something_hidden_by_exception_is_refused),
	TEST(a_link_of_root_is_followed_and_made_again),
	TEST(a_link_inside_of_a_bind_is_not_created_again),
	TEST(links_of_links_are_made_again),
	TEST(links_of_relative_links_are_made_again),
	TEST(links_behind_a_link_to_a_directory_are_made_again),
	TEST(links_that_only_lead_to_denials_are_not_made),
	TEST(a_link_of_another_user_is_refused),
	TEST(a_denied_visible_link_of_another_user_is_refused),
	TEST(a_denied_invisible_link_of_another_user_needs_nothing),
	TEST(refuses_a_denial_through_a_link_that_the_command_could_replace),
	TEST(refuses_a_denial_through_a_link_that_could_be_replaced_elsewhere),
	TEST(denials_go_through_links_of_root),
	TEST(libraries_stay_executable_where_programs_are_named),
	TEST(hidden_libraries_are_not_bound),
	TEST(a_denied_program_is_not_executable),
	TEST(a_denial_of_all_programs_takes_the_libraries_too),
	TEST(programs_may_be_executed_everywhere_if_a_rule_says_so),
	TEST(a_denial_in_a_fresh_directory_is_made_beforehand),
	TEST(nor_can_a_denied_path_be_created_that_another_rule_names),
	TEST(writing_to_a_private_tmp_is_not_writing_to_what_lies_in_it),
	TEST(nothing_of_proc_and_dev_is_the_hosts),
	TEST(denials_hold_in_the_sandboxs_own_proc),
	TEST(the_names_of_its_users_keys_are_hidden),
	TEST(a_uid_of_its_own_has_no_keys_to_hide),
	TEST(a_partial_denial_in_proc_changes_nothing),
	TEST(a_file_cannot_be_listed_anyway),
	TEST(a_socket_and_a_device_are_no_files_to_read),
	TEST(an_unreachable_denied_path_needs_no_mask),
	TEST(refuses_a_denial_that_a_chmod_could_evade),
	TEST(everything_means_the_usual_directories),
	TEST(owners_outside_are_kept_where_root_builds),
	TEST(shows_the_parts_of_packages_in_var),
	TEST(leaves_out_a_part_of_a_package_where_a_link_is_refused),
	TEST(the_command_may_be_below_a_mount),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
