/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "plan-host.h"

#define PROJECT "/home/user/p"

static void reading_is_reading_and_executing(void)
{
	_cleanup_planning_ struct planning planning;
	const struct step *step;

	planning_open(&planning);
	planning_load(&planning, "version: 1\n");
	know(&planning, "/srv/data", HOST_DIRECTORY);
	grant(&planning, GRANT_READ, "/srv/data", "--read");
	expect_plan(&planning);
	step = the_step(&planning, STEP_BIND, "/srv/data");
	expect(step && step_flags(step) == (STEP_READ_ONLY | STEP_IS_DIRECTORY));
	expect(step && step->origin.kind == ORIGIN_ARGUMENT);
	expect_str(step->origin.text, "--read");
}

static void writing_goes_beyond_the_policy(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning,
		      "capabilities:\n"
		      "- {name: p, match: {syscall: fs.read, path: ./}, action: allow}\n");
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	expect_plan(&planning);
	expect_eq(flags_of(&planning, STEP_BIND, PROJECT), STEP_IS_DIRECTORY);
}

static void a_denial_goes_before_what_is_typed(void)
{
	static const struct {
		enum request_grant grant;
		const char *path;
		const char *what;
	} cases[] = {
		{ GRANT_READ, "/srv/keys", "cannot show '/srv/keys' for --it" },
		{ GRANT_READ, "/srv/keys/deeper", "cannot show '/srv/keys/deeper'" },
		{ GRANT_WRITE, "/srv/fixed", "cannot make writable '/srv/fixed'" },
		{ GRANT_EXEC, "/usr/bin/sudo", "'/usr/bin/sudo' for --it" },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_planning_ struct planning planning;

		planning_open(&planning);
		planning_load(
			&planning,
			"capabilities:\n"
			"- {name: keys, match: {syscall: fs.*, path: /srv/keys}, action: deny}\n"
			"- {name: fixed, match: {syscall: fs.write, path: /srv/fixed},"
			" action: deny}\n"
			"- {name: sudo, match: {syscall: exec, path: /usr/bin/sudo},"
			" action: deny}\n");
		know(&planning, "/srv/keys/deeper", HOST_DIRECTORY);
		know(&planning, "/srv/fixed", HOST_DIRECTORY);
		grant(&planning, cases[i].grant, cases[i].path, "--it");
		expect_refusal(&planning, -EACCES);
		expect(says(&planning, cases[i].what, "denies it, and a denial takes precedence",
			    "change the rule that denies it"));
	}
}

static void refuses_what_is_typed_and_cannot_be_had(void)
{
	static const struct {
		enum request_grant grant;
		enum host_path_kind kind;
		int code;
		const char *why;
		const char *fix;
	} cases[] = {
		{ GRANT_READ, HOST_MISSING, -ENOENT, "does not exist", "check the path" },
		{ GRANT_WRITE, HOST_MISSING, -ENOENT, "does not exist", "mkdir -p /srv/x" },
		{ GRANT_READ, HOST_UNREACHABLE, -EACCES, "may not search",
		  "a user that may search" },
		{ GRANT_READ, HOST_SOCKET, -EINVAL, "it is a socket", "--unix" },
		{ GRANT_READ, HOST_DEVICE, -EINVAL, "it is a device", "--device" },
		{ GRANT_UNIX, HOST_FILE, -EINVAL, "it is not a socket", "name the socket" },
		{ GRANT_UNIX, HOST_MISSING, -ENOENT, "does not exist", "check the path" },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_planning_ struct planning planning;

		planning_open(&planning);
		if (cases[i].kind != HOST_MISSING)
			know(&planning, "/srv/x", cases[i].kind);
		grant(&planning, cases[i].grant, "/srv/x", "--it");
		expect_refusal(&planning, cases[i].code);
		expect(says(&planning, "cannot show '/srv/x' to the sandbox", cases[i].why,
			    cases[i].fix));
		expect(strstr(planning.err.why, "--it names it"));
	}
}

static void what_is_optional_may_be_missing(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	grant(&planning, GRANT_READ, "/srv/x", "--optional-read");
	planning.paths[0].optional = true;
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_BIND, "/srv/x"));
}

static void what_is_optional_may_not_be_a_strangers_link(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know_link(&planning, "/srv/x", "/etc", 1000);
	grant(&planning, GRANT_READ, "/srv/x", "--optional-read");
	planning.paths[0].optional = true;
	expect_refusal(&planning, -ELOOP);
}

static void typed_denials_hide_and_protect(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, PROJECT "/keys", HOST_DIRECTORY);
	know(&planning, PROJECT "/ci.yml", HOST_FILE);
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	grant(&planning, GRANT_DENY, PROJECT "/keys", "--deny");
	grant(&planning, GRANT_DENY_WRITE, PROJECT "/ci.yml", "--deny-write");
	expect_plan(&planning);
	expect_str(the_step(&planning, STEP_MASK, PROJECT "/keys")->origin.text, "--deny");
	expect_str(the_step(&planning, STEP_BIND, PROJECT "/ci.yml")->origin.text, "--deny-write");
	expect(flags_of(&planning, STEP_BIND, PROJECT "/ci.yml") & STEP_READ_ONLY);
}

static void a_typed_denial_of_nothing_that_could_be_made_is_refused(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	grant(&planning, GRANT_DENY, PROJECT "/later", "--deny");
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, "--deny", "the command could create it", "create it"));
}

static void a_bind_shows_one_place_at_another(void)
{
	_cleanup_planning_ struct planning planning;
	const struct step *step;

	planning_open(&planning);
	know(&planning, "/srv/data", HOST_DIRECTORY);
	grant(&planning, GRANT_READ, "/srv/data", "--bind");
	planning.paths[0].target = "/mnt/in";
	grant(&planning, GRANT_WRITE, "/srv/data", "--bind");
	planning.paths[1].target = "/mnt/out";
	know(&planning, "/srv/data/.git/hooks", HOST_DIRECTORY);
	know(&planning, "/srv/data/.git/config", HOST_FILE);
	expect_plan(&planning);
	step = the_step(&planning, STEP_BIND, "/mnt/in");
	expect_str(step->bind.source, "/srv/data");
	expect(step_flags(step) & STEP_READ_ONLY);
	expect(!(flags_of(&planning, STEP_BIND, "/mnt/out") & STEP_READ_ONLY));
	step = the_step(&planning, STEP_BIND, "/mnt/out/.git");
	expect_str(step->bind.source, "/srv/data/.git");
	expect(step_flags(step) & STEP_READ_ONLY);
}

static void what_is_denied_outside_is_denied_where_a_bind_shows_it(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(
		&planning,
		"capabilities:\n"
		"- {name: keys, match: {syscall: fs.*, path: /srv/data/keys}, action: deny}\n");
	know(&planning, "/srv/data/keys", HOST_DIRECTORY);
	grant(&planning, GRANT_READ, "/srv/data", "--bind");
	planning.paths[0].target = "/mnt";
	expect_plan(&planning);
	expect(find_step(&planning, STEP_MASK, "/mnt/keys"));
	planning.paths[0].path = "/srv/data/keys";
	expect_refusal(&planning, -EACCES);
}

static void a_target_in_what_is_shown_from_outside_must_be_there(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/srv/data", HOST_DIRECTORY);
	grant(&planning, GRANT_READ, "/srv/data", "--bind");
	planning.paths[0].target = "/usr/mnt";
	expect_refusal(&planning, -ENOENT);
	expect(says(&planning, "cannot mount --bind at '/usr/mnt'",
		    "'/usr' is a bind mount of the host's directory", "choose another target"));
	planning.paths[0].target = "/usr/local/lib";
	expect_plan(&planning);
	expect_str(the_step(&planning, STEP_BIND, "/usr/local/lib")->bind.source, "/srv/data");
}

/* The kernel would say EINVAL, as for other mistakes. */
static void what_covers_a_file_or_directory_must_be_of_its_kind(void)
{
	static const struct {
		enum request_grant kind;
		const char *path, *target, *why;
	} cases[] = {
		{ GRANT_READ, "/srv/data", "/srv/p/file",
		  "it is a directory, and the host has a file of that name" },
		{ GRANT_WRITE, "/srv/data", "/srv/p/file",
		  "it is a directory, and the host has a file of that name" },
		{ GRANT_READ, "/srv/file", "/srv/p/directory",
		  "it is a file, and the host has a directory of that name" },
		{ GRANT_TMPFS, "/srv/p/file", NULL,
		  "it is a directory, and the host has a file of that name" },
		{ GRANT_READ, "/srv/file", "/srv/p/file", NULL },
		{ GRANT_READ, "/srv/data", "/srv/p/directory", NULL },
		{ GRANT_TMPFS, "/srv/p/directory", NULL, NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_planning_ struct planning planning;

		planning_open(&planning);
		know(&planning, "/srv/data", HOST_DIRECTORY);
		know(&planning, "/srv/file", HOST_FILE);
		know(&planning, "/srv/p", HOST_DIRECTORY);
		know(&planning, "/srv/p/directory", HOST_DIRECTORY);
		know(&planning, "/srv/p/file", HOST_FILE);
		grant(&planning, cases[i].kind, cases[i].path, "--option");
		planning.paths[0].target = cases[i].target;
		/* In a directory of its own it is a new name. */
		expect_plan(&planning);
		grant(&planning, GRANT_READ, "/srv/p", "--read");
		if (!cases[i].why) {
			expect_plan(&planning);
			continue;
		}
		expect_refusal(&planning, -ENOTDIR);
		expect(says(&planning, "cannot mount --option at '/srv/p/", cases[i].why,
			    "choose another target"));
	}
}

static void what_is_missing_in_a_mount_is_created_where_it_comes_from(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/srv/data", HOST_DIRECTORY);
	know(&planning, "/srv/data/sub", HOST_MISSING);
	know(&planning, "/mnt", HOST_DIRECTORY);
	know(&planning, "/mnt/sub", HOST_DIRECTORY);
	grant(&planning, GRANT_WRITE, "/srv/data", "--bind");
	planning.paths[0].target = "/mnt";
	grant(&planning, GRANT_WRITE, "/mnt/sub", "--write");
	expect_refusal(&planning, -ENOENT);
	expect(says(&planning, "cannot show '/mnt/sub'",
		    "--write names it, and outside it is '/srv/data/sub', which does not exist",
		    "mkdir -p /srv/data/sub"));
	planning.paths[1].grant = GRANT_DENY;
	planning.paths[1].option = "--deny";
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, "cannot enforce what --deny denies at '/mnt/sub'",
		    "the command could create it", "mkdir -p /srv/data/sub;"));
}

static void refuses_two_things_at_one_place(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/srv/a", HOST_DIRECTORY);
	grant(&planning, GRANT_READ, "/srv/a", "--read");
	grant(&planning, GRANT_TMPFS, "/srv/a", "--tmpfs");
	expect_refusal(&planning, -EINVAL);
	expect(says(&planning, "mount twice at '/srv/a'", "--read and --tmpfs both name it", ""));
}

/* The rights in the tmpfs are not those to the host's directory, which is shown in its stead. */
static void an_option_shows_the_host_read_only_where_a_mount_is_a_tmpfs(void)
{
	static const char *const targets[] = { "/srv/a", "/srv/link" };

	for (size_t i = 0; i < N_ELEMENTS(targets); i++) {
		_cleanup_planning_ struct planning planning;
		char policy[128];

		planning_open(&planning);
		(void)snprintf(policy, sizeof(policy), "mounts: [{target: %s, mode: tmpfs}]\n",
			       targets[i]);
		planning_load(&planning, policy);
		know(&planning, "/srv/a", HOST_DIRECTORY);
		know_link(&planning, "/srv/link", "/srv/a", 0);
		grant(&planning, GRANT_READ, "/srv/a", "--read");
		expect_plan(&planning);
		expect(flags_of(&planning, STEP_BIND, "/srv/a") & STEP_READ_ONLY);
	}
}

/* What the host has there does not matter. */
static void refuses_a_tmpfs_where_everything_below_is_denied(void)
{
	static const enum host_path_kind kinds[] = { HOST_DIRECTORY, HOST_FILE, HOST_MISSING };

	for (size_t i = 0; i < N_ELEMENTS(kinds); i++) {
		_cleanup_planning_ struct planning planning;

		planning_open(&planning);
		planning_load(&planning,
			      "capabilities:\n- {name: none, match: {op: fs.*, path_glob: "
			      "/srv/a/**}, action: deny}\n");
		know(&planning, "/srv/a", kinds[i]);
		grant(&planning, GRANT_TMPFS, "/srv/a", "--tmpfs");
		expect_refusal(&planning, -EACCES);
		expect(says(&planning, "cannot show '/srv/a' for --tmpfs", "'none' denies it", ""));
	}
}

static void refuses_to_put_something_at_the_root(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	grant(&planning, GRANT_TMPFS, "/", "--tmpfs");
	expect_refusal(&planning, -EINVAL);
	expect(says(&planning, "--tmpfs cannot mount anything at '/'", "it is '/'", ""));
}

/* The host's /proc and /dev would come with it. */
static void refuses_to_show_the_root_elsewhere(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	grant(&planning, GRANT_READ, "/", "--bind");
	planning.paths[0].target = "/x";
	expect_refusal(&planning, -EINVAL);
	expect(says(&planning, "cannot show '/' to the sandbox",
		    "--bind names it, and it would include the host's /proc",
		    "name the directories"));
	planning.request.n_paths = 0;
	planning_load(&planning, "version: 1\nmounts: [{source: /, target: /x, mode: ro}]\n");
	expect_refusal(&planning, -EINVAL);
	expect(says(&planning, "p.yaml:2", "the host's /proc and /dev", "name the directories"));
}

static void refuses_the_names_that_masks_are_made_of(void)
{
	static const char *const places[] = { "/.masked-file", "/.masked-folder/x", "/.masked-" };

	for (size_t i = 0; i < N_ELEMENTS(places); i++) {
		_cleanup_planning_ struct planning planning;

		planning_open(&planning);
		grant(&planning, GRANT_READ, "/usr", "--bind");
		planning.paths[0].target = places[i];
		expect_refusal(&planning, -EINVAL);
		expect(says(&planning, "cannot show '/usr'", "'/.masked-' are reserved",
			    "choose another target"));
		planning.paths[0] = (struct request_path){ .grant = GRANT_TMPFS,
							   .path = places[i],
							   .option = "--tmpfs" };
		expect_refusal(&planning, -EINVAL);
		expect(says(&planning, places[i], "--tmpfs names it", "choose another target"));
	}
}

static void reading_the_root_shows_its_directories(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "version: 1\n");
	grant(&planning, GRANT_READ, "/", "--read");
	expect_plan(&planning);
	expect(find_step(&planning, STEP_BIND, "/home"));
	expect(find_step(&planning, STEP_BIND, "/usr"));
}

static void a_typed_tmp_is_the_hosts(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	grant(&planning, GRANT_READ, "/tmp", "--read");
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_TMPFS, "/tmp"));
	expect(flags_of(&planning, STEP_BIND, "/tmp") & STEP_READ_ONLY);
}

static void open_in_tmp(struct planning *planning)
{
	planning_open(planning);
	planning->host.cwd = planning->request.project = "/tmp";
	know(planning, "/tmp/file", HOST_FILE);
}

static bool is_private_tmp(const struct planning *planning)
{
	return find_step(planning, STEP_TMPFS, "/tmp") && !find_step(planning, STEP_BIND, "/tmp") &&
	       find_step(planning, STEP_WORKING_DIRECTORY, "/tmp");
}

static void a_command_that_starts_in_tmp_starts_in_its_own(void)
{
	_cleanup_planning_ struct planning planning;

	open_in_tmp(&planning);
	expect_plan(&planning);
	expect(is_private_tmp(&planning));
	expect(has_notice(&planning, "starts in a private /tmp"));
	grant(&planning, GRANT_DENY, "/tmp/file", "--deny");
	expect_plan(&planning);
	expect(is_private_tmp(&planning));
	expect(has_notice(&planning, "starts in a private /tmp"));
	grant(&planning, GRANT_READ, "/usr/bin/true", "--read");
	expect_plan(&planning);
	expect(is_private_tmp(&planning));
}

static void a_start_below_the_sandboxs_own_dev_is_noted(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.host.cwd = planning.request.project = "/dev/shm";
	expect_plan(&planning);
	expect(find_step(&planning, STEP_WORKING_DIRECTORY, "/dev/shm"));
	expect(has_notice(&planning, "starts in a private /dev/shm"));
	planning.host.cwd = planning.request.project = "/dev/shm/project";
	know(&planning, "/dev/shm/project", HOST_DIRECTORY);
	expect_plan(&planning);
	expect(find_step(&planning, STEP_WORKING_DIRECTORY, "/"));
	expect(has_notice(&planning, "starts in '/', not in '/dev/shm/project'"));
	planning.request.cwd = "/usr";
	expect_plan(&planning);
	expect(!has_notice(&planning, "starts in '/'"));
}

static void a_file_of_the_hosts_tmp_is_shown_in_it_by_name(void)
{
	_cleanup_planning_ struct planning planning;

	open_in_tmp(&planning);
	grant(&planning, GRANT_READ, "/tmp/file", "--read");
	expect_plan(&planning);
	expect(is_private_tmp(&planning));
	expect(flags_of(&planning, STEP_BIND, "/tmp/file") & STEP_READ_ONLY);
	expect(!has_notice(&planning, "starts in a private /tmp"));
}

/* A grant of /tmp means the host's. */
static void a_tmp_that_is_named_is_the_hosts(void)
{
	static const char *const names[] = { "/tmp", "/" };

	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		_cleanup_planning_ struct planning planning;

		open_in_tmp(&planning);
		grant(&planning, GRANT_READ, names[i], "--read");
		expect_plan(&planning);
		expect(!find_step(&planning, STEP_TMPFS, "/tmp"));
		expect(flags_of(&planning, STEP_BIND, "/tmp") & STEP_READ_ONLY);
		expect(!has_notice(&planning, "starts in a private /tmp"));
	}
}

static void the_reduced_tier_has_the_hosts_tmp_read_only(void)
{
	_cleanup_planning_ struct planning planning;

	open_in_tmp(&planning);
	planning.request.tier = "reduced";
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_TMPFS, "/tmp"));
	expect(flags_of(&planning, STEP_BIND, "/tmp") & STEP_READ_ONLY);
}

static void a_socket_is_opened_by_its_name(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "net: {unix: [/run/db.sock]}\nversion: 1\n");
	know(&planning, "/run/db.sock", HOST_SOCKET);
	know(&planning, "/run/agent.sock", HOST_SOCKET);
	grant(&planning, GRANT_UNIX, "/run/agent.sock", "--unix");
	expect_plan(&planning);
	expect(find_step(&planning, STEP_BIND, "/run/db.sock"));
	expect(find_step(&planning, STEP_BIND, "/run/agent.sock"));
	expect(!find_step(&planning, STEP_LANDLOCK_PATH, "/run/db.sock"));
}

static void mounts_of_a_policy_are_put_into_the_tree(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning,
		      "mounts:\n"
		      "- {source: /srv/data, target: /data}\n"
		      "- {source: ./out, target: ./out, mode: rw}\n"
		      "- {target: /cache, mode: tmpfs, size: 8MiB}\n"
		      "- {source: /srv/base, target: /work, mode: overlay}\n"
		      "- {source: /srv/absent, target: /absent, optional: true}\n"
		      "- {target: /data/hidden, mode: mask}\n"
		      "capabilities:\n"
		      "- {name: run, match: {syscall: exec, path: /data/bin}, action: allow}\n");
	know(&planning, "/srv/data/hidden", HOST_DIRECTORY);
	know(&planning, "/srv/data/bin", HOST_DIRECTORY);
	know(&planning, PROJECT "/out", HOST_DIRECTORY);
	know(&planning, "/srv/base", HOST_DIRECTORY);
	expect_plan(&planning);
	expect_str(the_step(&planning, STEP_BIND, "/data")->bind.source, "/srv/data");
	expect_eq(flags_of(&planning, STEP_BIND, "/data"),
		  STEP_READ_ONLY | STEP_NO_EXEC | STEP_IS_DIRECTORY);
	expect(!(flags_of(&planning, STEP_BIND, "/data/bin") & STEP_NO_EXEC));
	expect(!(flags_of(&planning, STEP_BIND, PROJECT "/out") & STEP_READ_ONLY));
	expect_eq(the_step(&planning, STEP_TMPFS, "/cache")->tmpfs.size_bytes, 8 << 20);
	expect_str(the_step(&planning, STEP_OVERLAY, "/work")->overlay.source, "/srv/base");
	expect(!the_step(&planning, STEP_OVERLAY, "/work")->overlay.upper);
	expect(the_step(&planning, STEP_OVERLAY, "/work")->overlay.size_bytes > 0);
	expect(!find_step(&planning, STEP_BIND, "/absent"));
	expect(find_step(&planning, STEP_MASK, "/data/hidden"));
	expect_str(the_step(&planning, STEP_BIND, "/data")->origin.text,
		   "p.yaml:2 'mounts[0].target'");
}

static void a_mount_of_a_path_at_itself_bounds_what_rules_allow(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning,
		      "mounts: [{source: /srv/w/r, target: /srv/w/r}]\n"
		      "capabilities:\n"
		      "- {name: w, match: {syscall: fs.*, path: /srv/w}, action: allow}\n");
	know(&planning, "/srv/w/r", HOST_DIRECTORY);
	expect_plan(&planning);
	expect(!the_step(&planning, STEP_BIND, "/srv/w")->bind.attributes.is_read_only);
	expect(the_step(&planning, STEP_BIND, "/srv/w/r")->bind.attributes.is_read_only);
}

/* The rule about the secret is one about the mount, which is not there. */
static void an_optional_mount_without_a_source_hides_its_target(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning,
		      "capabilities:\n"
		      "- {name: a, match: {syscall: fs.read, path: /srv/}, action: allow}\n"
		      "- {name: d, match: {syscall: fs.read, path: /srv/at/secret}, action: deny}\n"
		      "mounts: [{source: /absent, target: /srv/at, optional: true}]\n");
	know(&planning, "/srv/at/secret", HOST_FILE);
	know(&planning, "/srv/beside", HOST_FILE);
	expect_plan(&planning);
	expect(the_step(&planning, STEP_MASK, "/srv/at")->mask.is_directory);
	expect(has_notice(&planning, "'/srv/at' is hidden"));
	/* Without mounts it could not be hidden. */
	planning.host.has_userns = false;
	planning.host.cgroup = "/sys/fs/cgroup/user";
	planning.host.has_cgroup_kill = true;
	planning.request.tier = "reduced";
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, "/srv/at", "no mount namespace", "leave it out"));
}

/* A mask on the link would be one on its target. */
static void refuses_to_hide_a_target_that_is_a_link_of_a_user(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning,
		      "capabilities:\n"
		      "- {name: a, match: {syscall: fs.read, path: /srv/}, action: allow}\n"
		      "mounts: [{source: /absent, target: /srv/at, optional: true}]\n");
	know(&planning, "/srv/to/file", HOST_FILE);
	know_link(&planning, "/srv/at", "to", 1000);
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, "'/srv/at'", "symbolic link", "name its target, '/srv/to'"));
}

/* Otherwise the command could move /srv/p away and make a new /srv/p/at. */
static void the_way_to_a_hidden_target_cannot_be_renamed(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning,
		      "capabilities:\n"
		      "- {name: a, match: {syscall: fs.*, path: /srv/}, action: allow}\n"
		      "mounts: [{source: /absent, target: /srv/p/at, optional: true}]\n");
	know(&planning, "/srv/p/at/file", HOST_FILE);
	expect_plan(&planning);
	expect(find_step(&planning, STEP_MASK, "/srv/p/at"));
	expect_eq(flags_of(&planning, STEP_BIND, "/srv/p"), STEP_IS_DIRECTORY | STEP_NO_EXEC);
}

static void an_option_that_names_the_target_of_a_mount_is_about_the_mount(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "mounts: [{source: /srv/data, target: /m/in, mode: ro}]\n");
	know(&planning, "/srv/data", HOST_DIRECTORY);
	know(&planning, "/srv/around/in", HOST_DIRECTORY);
	grant(&planning, GRANT_READ, "/m/in", "--read");
	expect_plan(&planning);
	expect_str(the_step(&planning, STEP_BIND, "/m/in")->bind.source, "/srv/data");
	/* Another mount shows a directory of that name. */
	grant(&planning, GRANT_READ, "/srv/around", "--bind");
	planning.paths[1].target = "/m";
	expect_plan(&planning);
	expect_str(the_step(&planning, STEP_BIND, "/m/in")->bind.source, "/srv/data");
	/* What the mount does not allow, the option does not add. */
	planning.paths[0].grant = GRANT_WRITE;
	expect_refusal(&planning, -EACCES);
}

/* Inside, the source's path is another file: that of the other mount. */
static void refuses_a_bind_whose_source_another_mount_covers(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/srv/a", HOST_DIRECTORY);
	know(&planning, "/srv/a/f", HOST_FILE);
	know(&planning, "/srv/b", HOST_DIRECTORY);
	know(&planning, "/srv/b/f", HOST_FILE);
	grant(&planning, GRANT_WRITE, "/srv/a/f", "--bind");
	planning.paths[0].target = "/srv/a/f";
	expect_plan(&planning);
	grant(&planning, GRANT_READ, "/srv/b", "--bind");
	planning.paths[1].target = "/srv/a";
	expect_refusal(&planning, -EINVAL);
	expect(says(&planning, "cannot mount '/srv/a/f' for --bind",
		    "--bind shows '/srv/b' at '/srv/a'", "choose another target"));
	/* --write names a path inside, so it is about the content of the mount. */
	planning.paths[0].target = NULL;
	planning.paths[0].option = "--write";
	expect_plan(&planning);
	expect_str(the_step(&planning, STEP_BIND, "/srv/a/f")->bind.source, "/srv/b/f");
}

static void refuses_a_mount_of_a_policy_whose_source_another_mount_covers(void)
{
	static const char *const mounts[] = {
		"mounts:\n- {source: /srv/a/f, target: /srv/a/f, mode: rw}\n",
		"mounts:\n- {source: /srv/a/f, target: /srv/a/f, mode: rw}\n"
		"- {source: /srv/b, target: /srv/a, mode: ro}\n",
	};

	for (size_t i = 0; i < N_ELEMENTS(mounts); i++) {
		_cleanup_planning_ struct planning planning;

		planning_open(&planning);
		know(&planning, "/srv/a", HOST_DIRECTORY);
		know(&planning, "/srv/a/f", HOST_FILE);
		know(&planning, "/srv/b", HOST_DIRECTORY);
		know(&planning, "/srv/b/f", HOST_FILE);
		planning_load(&planning, mounts[i]);
		if (i == 0) {
			expect_plan(&planning);
			grant(&planning, GRANT_READ, "/srv/b", "--bind");
			planning.paths[0].target = "/srv/a";
		}
		expect_refusal(&planning, -EINVAL);
		expect(says(&planning, "cannot mount '/srv/a/f' for p.yaml:2",
			    "shows '/srv/b' at '/srv/a'", "choose another target"));
	}
}

static void what_is_named_for_reading_in_a_writable_directory_stays_read_only(void)
{
	static const char *const tops[] = { "/srv", "/tmp" };

	for (size_t i = 0; i < N_ELEMENTS(tops); i++) {
		_cleanup_planning_ struct planning planning;
		const char *wide = tops[i][1] == 's' ? "/srv/w" : "/tmp/w";
		const char *narrow = tops[i][1] == 's' ? "/srv/w/r" : "/tmp/w/r";

		planning_open(&planning);
		know(&planning, narrow, HOST_DIRECTORY);
		know(&planning, wide, HOST_DIRECTORY);
		grant(&planning, GRANT_READ, narrow, "--read");
		grant(&planning, GRANT_WRITE, wide, "--write");
		expect_plan(&planning);
		expect(!(flags_of(&planning, STEP_BIND, wide) & STEP_READ_ONLY));
		expect(the_step(&planning, STEP_BIND, narrow)->bind.attributes.is_read_only);
		/* A mount of a directory at its own path. */
		planning.paths[0].option = "--bind";
		planning.paths[0].target = narrow;
		expect_plan(&planning);
		expect(the_step(&planning, STEP_BIND, narrow)->bind.attributes.is_read_only);
		/* To execute a program in it takes no right away. */
		planning.paths[0].grant = GRANT_EXEC;
		planning.paths[0].target = NULL;
		expect_plan(&planning);
		expect(!find_step(&planning, STEP_BIND, narrow));
		/* Landlock alone cannot take writing away from a part. */
		planning.paths[0].grant = GRANT_READ;
		planning.host.has_userns = false;
		planning.host.cgroup = "/sys/fs/cgroup/user";
		planning.host.has_cgroup_kill = true;
		planning.request.tier = "reduced";
		expect_refusal(&planning, -EOPNOTSUPP);
		expect(says(&planning, narrow, "cannot hide parts", "narrower"));
	}
}

static void refuses_a_mount_without_its_source(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "mounts: [{source: /srv/absent, target: /absent}]\n");
	expect_refusal(&planning, -ENOENT);
	expect(says(&planning, "'/srv/absent'", "p.yaml:1 'mounts[0].target' names it",
		    "'optional: true'"));
}

static void refuses_a_mount_with_a_source_that_means_nothing(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "mounts: [{source: /srv, target: /a, mode: tmpfs}]\n");
	expect_refusal(&planning, -EINVAL);
	expect(says(&planning, "'mounts[0].target'", "its mode has no source", "remove 'source'"));
}

/* No name below it is short enough for a rule to be asked about it. */
static void refuses_a_path_that_is_too_long_and_says_so(void)
{
	_cleanup_planning_ struct planning planning;
	char path[PATH_MAX];

	memset(path, 'a', sizeof(path));
	for (size_t i = 0; i < sizeof(path); i += 200)
		path[i] = '/';
	path[4094] = '\0';
	planning_open(&planning);
	know(&planning, path, HOST_DIRECTORY);
	grant(&planning, GRANT_READ, path, "--read");
	expect_refusal(&planning, -EACCES);
	expect(says(&planning, "cannot show '/aaa", "paths of 4096 bytes", "a directory above"));
}

static void refuses_a_size_that_limits_nothing(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "mounts: [{source: /srv, target: /a, mode: overlay, size: 1}]\n");
	expect_refusal(&planning, -EINVAL);
	expect(says(&planning, "'mounts[0].target'", "only a tmpfs has a size",
		    "'limits.tmp_size'"));
}

static void changes_of_the_project_land_elsewhere(void)
{
	_cleanup_planning_ struct planning planning;
	const struct step *step;

	planning_open(&planning);
	planning.request.out_directory = "/srv/out";
	planning.request.out_work = "/srv/work";
	grant(&planning, GRANT_DENY_WRITE, PROJECT "/fixed", "--deny-write");
	grant(&planning, GRANT_WRITE, PROJECT "/src", "--write");
	know(&planning, PROJECT "/fixed", HOST_FILE);
	know(&planning, PROJECT "/src", HOST_DIRECTORY);
	expect_plan(&planning);
	step = the_step(&planning, STEP_OVERLAY, PROJECT);
	expect_str(step->overlay.source, PROJECT);
	expect_str(step->overlay.upper, "/srv/out");
	expect_str(step->overlay.work, "/srv/work");
	expect(!find_step(&planning, STEP_BIND, PROJECT));
	/* Writes go to the overlay, not to the host. */
	expect(!find_step(&planning, STEP_BIND, PROJECT "/src"));
	expect(flags_of(&planning, STEP_BIND, PROJECT "/fixed") & STEP_READ_ONLY);
}

/* A bind of a directory of the project would be written directly, past the overlay. */
static void nothing_of_the_project_is_mounted_over_its_overlay_to_be_written(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(
		&planning,
		"capabilities:\n"
		"- {name: files, match: {syscall: fs.*, path: [./, /usr]}, action: allow}\n"
		"- {name: run, match: {syscall: exec, path: [./bin, /usr/bin]}, action: allow}\n"
		"- {name: fixed, match: {syscall: fs.write, path: ./a/b/fixed}, action: deny}\n");
	know(&planning, PROJECT "/bin", HOST_DIRECTORY);
	know(&planning, PROJECT "/a/b/fixed", HOST_FILE);
	planning.request.out_directory = "/srv/out";
	planning.request.out_work = "/srv/work";
	expect_plan(&planning);
	expect(find_step(&planning, STEP_OVERLAY, PROJECT));
	expect(!find_step(&planning, STEP_BIND, PROJECT "/bin"));
	expect(!find_step(&planning, STEP_BIND, PROJECT "/a"));
	expect(!find_step(&planning, STEP_BIND, PROJECT "/a/b"));
	expect(flags_of(&planning, STEP_BIND, PROJECT "/a/b/fixed") & STEP_READ_ONLY);
}

static void changes_of_a_project_in_tmp_land_elsewhere_too(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/tmp/p", HOST_DIRECTORY);
	planning.request.project = "/tmp/p";
	planning.request.out_directory = "/srv/out";
	planning.request.out_work = "/srv/work";
	expect_plan(&planning);
	expect_str(the_step(&planning, STEP_OVERLAY, "/tmp/p")->overlay.source, "/tmp/p");
	expect(!(flags_of(&planning, STEP_OVERLAY, "/tmp/p") & STEP_NO_EXEC));
}

static void refuses_changes_that_land_in_what_they_are_changes_of(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.request.out_directory = PROJECT "/out";
	planning.request.out_work = PROJECT "/.work";
	expect_refusal(&planning, -EINVAL);
	expect(says(&planning, "collect the changes", "inside the directory whose changes",
		    "outside of it"));
}

static void secrets_are_private_copies(void)
{
	static const struct request_secret secret = { "API_KEY", "/home/user/.key" };
	_cleanup_planning_ struct planning planning;
	const struct step *step;

	planning_open(&planning);
	planning_load(&planning, "env: {secrets: {TOKEN: ./token}}\n");
	know(&planning, "/home/user/.key", HOST_FILE);
	know(&planning, PROJECT "/token", HOST_FILE);
	planning.request.secrets = &secret;
	planning.request.n_secrets = 1;
	expect_plan(&planning);
	step = the_step(&planning, STEP_FILE, "/run/secrets/API_KEY");
	expect_str(step->file.source, "/home/user/.key");
	expect_eq(step->file.mode, 0400);
	expect_str(the_step(&planning, STEP_FILE, "/run/secrets/TOKEN")->file.source,
		   PROJECT "/token");
	expect(find_step(&planning, STEP_LANDLOCK_PATH, "/run/secrets/TOKEN"));
}

static void refuses_a_secret_that_is_no_file(void)
{
	static const struct request_secret secret = { "API_KEY", "/srv/keys" };
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.request.secrets = &secret;
	planning.request.n_secrets = 1;
	expect_refusal(&planning, -ENOENT);
	know(&planning, "/srv/keys", HOST_DIRECTORY);
	expect_refusal(&planning, -EINVAL);
	expect(says(&planning, "'/srv/keys'", "--secret names it, and it is not a file",
		    "name a file"));
}

/* Only a mount has 'optional'. */
static void refuses_a_secret_that_is_missing(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "env: {secrets: {TOKEN: ./token}}\n");
	expect_refusal(&planning, -ENOENT);
	expect(says(&planning, "'" PROJECT "/token'", "it does not exist",
		    "check the path, or create it"));
	expect(!strstr(planning.err.fix, "optional"));
}

static const struct test tests[] = {
	TEST(reading_is_reading_and_executing),
	TEST(writing_goes_beyond_the_policy),
	TEST(a_denial_goes_before_what_is_typed),
	TEST(refuses_what_is_typed_and_cannot_be_had),
	TEST(what_is_optional_may_be_missing),
	TEST(what_is_optional_may_not_be_a_strangers_link),
	TEST(typed_denials_hide_and_protect),
	TEST(a_typed_denial_of_nothing_that_could_be_made_is_refused),
	TEST(a_bind_shows_one_place_at_another),
	TEST(what_is_denied_outside_is_denied_where_a_bind_shows_it),
	TEST(a_target_in_what_is_shown_from_outside_must_be_there),
	TEST(what_covers_a_file_or_directory_must_be_of_its_kind),
	TEST(what_is_missing_in_a_mount_is_created_where_it_comes_from),
	TEST(refuses_two_things_at_one_place),
	TEST(an_option_shows_the_host_read_only_where_a_mount_is_a_tmpfs),
	TEST(refuses_a_tmpfs_where_everything_below_is_denied),
	TEST(refuses_to_put_something_at_the_root),
	TEST(refuses_to_show_the_root_elsewhere),
	TEST(refuses_the_names_that_masks_are_made_of),
	TEST(reading_the_root_shows_its_directories),
	TEST(a_typed_tmp_is_the_hosts),
	TEST(a_command_that_starts_in_tmp_starts_in_its_own),
	TEST(a_start_below_the_sandboxs_own_dev_is_noted),
	TEST(a_file_of_the_hosts_tmp_is_shown_in_it_by_name),
	TEST(a_tmp_that_is_named_is_the_hosts),
	TEST(the_reduced_tier_has_the_hosts_tmp_read_only),
	TEST(a_socket_is_opened_by_its_name),
	TEST(mounts_of_a_policy_are_put_into_the_tree),
	TEST(a_mount_of_a_path_at_itself_bounds_what_rules_allow),
	TEST(an_optional_mount_without_a_source_hides_its_target),
	TEST(refuses_to_hide_a_target_that_is_a_link_of_a_user),
	TEST(the_way_to_a_hidden_target_cannot_be_renamed),
	TEST(an_option_that_names_the_target_of_a_mount_is_about_the_mount),
	TEST(refuses_a_bind_whose_source_another_mount_covers),
	TEST(refuses_a_mount_of_a_policy_whose_source_another_mount_covers),
	TEST(what_is_named_for_reading_in_a_writable_directory_stays_read_only),
	TEST(refuses_a_mount_without_its_source),
	TEST(refuses_a_mount_with_a_source_that_means_nothing),
	TEST(refuses_a_path_that_is_too_long_and_says_so),
	TEST(refuses_a_size_that_limits_nothing),
	TEST(changes_of_the_project_land_elsewhere),
	TEST(nothing_of_the_project_is_mounted_over_its_overlay_to_be_written),
	TEST(changes_of_a_project_in_tmp_land_elsewhere_too),
	TEST(refuses_changes_that_land_in_what_they_are_changes_of),
	TEST(secrets_are_private_copies),
	TEST(refuses_a_secret_that_is_no_file),
	TEST(refuses_a_secret_that_is_missing),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
