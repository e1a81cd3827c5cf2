/* SPDX-License-Identifier: MIT */

#include <stdio.h>
#include <string.h>

#include "plan-host.h"

#define PROJECT "/home/user/p"

/* The text after @label in its line; valid until the next summary. "": there is no such line. */
static const char *line_of(struct planning *planning, const char *label)
{
	static char line[4096];
	const char *at;

	text_reset(&planning->text);
	plan_add_summary(&planning->text, planning->plan);
	at = strstr(text_string(&planning->text), label);
	if (!at)
		return "";
	at += strlen("not enforced  ");
	(void)snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n"), at);
	return line;
}

static void says_what_a_command_may_do_without_a_policy(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	expect_plan(&planning);
	expect_str(line_of(&planning, "reads"), "/etc, " PROJECT ", /usr");
	expect_str(line_of(&planning, "writes"),
		   "/dev/shm (private, 64MiB), /home/user (private, 512MiB), /tmp (private, "
		   "512MiB); not " PROJECT);
	expect_str(line_of(&planning, "executes"), "/etc, /home/user, " PROJECT ", /tmp, /usr");
	expect_str(line_of(&planning, "network"), "its own loopback only");
	expect_str(line_of(&planning, "devices"), "full, null, random, tty, urandom, zero");
	expect_str(line_of(&planning, "not enforced"), "");
}

static void is_at_most_eight_lines(void)
{
	_cleanup_planning_ struct planning planning;
	unsigned n_lines = 0;

	planning_open(&planning);
	planning.host.cgroup = "/sys/fs/cgroup/user.slice";
	planning.host.has_cgroup_kill = true;
	planning.host.has_userns = false;
	planning.request.tier = "reduced";
	expect_plan(&planning);
	plan_add_summary(&planning.text, planning.plan);
	for (const char *at = text_string(&planning.text); (at = strchr(at, '\n')); at++)
		n_lines++;
	expect_eq(n_lines, 8);
}

/* An option grants the path, but the steps hide it. */
static void says_what_the_steps_permit_and_not_what_was_asked_for(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, PROJECT "/out", HOST_DIRECTORY);
	know(&planning, PROJECT "/out/key", HOST_FILE);
	know(&planning, PROJECT "/out/fixed", HOST_DIRECTORY);
	grant(&planning, GRANT_WRITE, PROJECT "/out", "--write");
	grant(&planning, GRANT_DENY, PROJECT "/out/key", "--deny");
	grant(&planning, GRANT_DENY_WRITE, PROJECT "/out/fixed", "--deny-write");
	expect_plan(&planning);
	expect_str(line_of(&planning, "reads"), "/etc, " PROJECT ", /usr; not " PROJECT "/out/key");
	expect_str(line_of(&planning, "writes"), PROJECT
		   "/out, /dev/shm (private, 64MiB), /home/user (private, 512MiB), /tmp "
		   "(private, 512MiB); not " PROJECT "/out/fixed, " PROJECT "/out/key, " PROJECT);
}

/* A target alone would hide which files of the host can be written. */
static void says_what_is_mounted_at_another_path(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/srv/host", HOST_DIRECTORY);
	planning_load(&planning, "view: system\n"
				 "mounts: [{source: /srv/host, target: /work, mode: rw}]\n");
	expect_plan(&planning);
	expect(strstr(line_of(&planning, "reads"), "/work (from /srv/host)") != NULL);
	expect(strstr(line_of(&planning, "writes"), "/work (from /srv/host)") != NULL);
}

static void a_secret_is_no_program(void)
{
	static const struct request_secret secret = { "KEY", "/home/user/.key" };
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, secret.path, HOST_FILE);
	planning.request.secrets = &secret;
	planning.request.n_secrets = 1;
	expect_plan(&planning);
	expect(strstr(line_of(&planning, "reads"), "/run/secrets/KEY") != NULL);
	expect(strstr(line_of(&planning, "executes"), "/run/secrets/KEY") == NULL);
}

/* The file tree permits more than the filter. */
static void says_what_the_strict_profile_leaves(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.request.template = "policy-sandbox";
	planning.request.best_effort = true;
	expect_plan(&planning);
	expect(strncmp(line_of(&planning, "writes"), "nothing: ", 9) == 0);
	expect(strncmp(line_of(&planning, "executes"), "the command alone: ", 19) == 0);
}

static void an_empty_directory_hides_what_it_covers(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, PROJECT "/cache", HOST_DIRECTORY);
	grant(&planning, GRANT_TMPFS, PROJECT "/cache", "--tmpfs");
	expect_plan(&planning);
	expect(strstr(line_of(&planning, "reads"), "; not " PROJECT "/cache"));
	expect(strstr(line_of(&planning, "writes"), PROJECT "/cache (private, "));
}

static void names_granted_paths_first_and_counts_the_rest(void)
{
	static const char *const paths[] = { "/srv/a", "/srv/b", "/srv/c", "/srv/d",
					     "/srv/e", "/srv/f", "/srv/g" };
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	for (size_t i = 0; i < N_ELEMENTS(paths); i++) {
		know(&planning, paths[i], HOST_DIRECTORY);
		grant(&planning, GRANT_READ, paths[i], "--read");
	}
	expect_plan(&planning);
	expect_str(line_of(&planning, "reads"),
		   "/srv/a, /srv/b, /srv/c, /srv/d, /srv/e, /srv/f, /srv/g, /etc and 2 more");
}

static void says_how_the_host_is_reached(void)
{
	static const struct request_port ports[] = { { .port = 5432 },
						     { .port = 8080, .bind = true } };
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/srv/db.sock", HOST_SOCKET);
	grant(&planning, GRANT_UNIX, "/srv/db.sock", "--unix");
	planning.request.ports = ports;
	planning.request.n_ports = N_ELEMENTS(ports);
	expect_plan(&planning);
	expect_str(line_of(&planning, "network"),
		   "its own loopback only; to the socket /srv/db.sock; to port 5432 of the host's "
		   "loopback; from port 8080 of the host's loopback");
	expect(!strstr(line_of(&planning, "reads"), "db.sock"));
	planning.request.n_ports = 0;
	planning.request.net_mode = "host";
	expect_plan(&planning);
	expect(strstr(line_of(&planning, "network"), "the host's, nothing is filtered"));
	expect_str(line_of(&planning, "not enforced"), "network isolation");
}

static void names_are_safe_on_a_terminal(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/srv/a\033[2J", HOST_DIRECTORY);
	grant(&planning, GRANT_READ, "/srv/a\033[2J", "--read");
	expect_plan(&planning);
	expect(strstr(line_of(&planning, "reads"), "/srv/a\\x1b[2J, "));
}

static const struct test tests[] = {
	TEST(says_what_a_command_may_do_without_a_policy),
	TEST(is_at_most_eight_lines),
	TEST(says_what_the_steps_permit_and_not_what_was_asked_for),
	TEST(says_what_is_mounted_at_another_path),
	TEST(a_secret_is_no_program),
	TEST(says_what_the_strict_profile_leaves),
	TEST(an_empty_directory_hides_what_it_covers),
	TEST(names_granted_paths_first_and_counts_the_rest),
	TEST(says_how_the_host_is_reached),
	TEST(names_are_safe_on_a_terminal),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
