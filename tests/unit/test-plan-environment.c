/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <string.h>

#include "plan-host.h"

static const char *value_of(const struct planning *planning, const char *name)
{
	const char *found = NULL;
	size_t len = strlen(name);

	for (char *const *at = planning->plan ? planning->plan->environment : NULL; at && *at;
	     at++) {
		if (strncmp(*at, name, len) != 0 || (*at)[len] != '=')
			continue;
		expect(!found); /* each variable occurs once */
		found = *at + len + 1;
	}
	return found ? found : "(unset)";
}

static void only_harmless_variables_pass(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	expect_plan(&planning);
	expect_str(value_of(&planning, "PATH"), "/usr/local/bin:/usr/bin:/bin");
	expect_str(value_of(&planning, "HOME"), "/home/user");
	expect_str(value_of(&planning, "LC_ALL"), "C.UTF-8");
	expect_str(value_of(&planning, "SECRET_TOKEN"), "(unset)");
}

static void a_policy_says_what_passes_and_what_is_set(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "env: {allow: [SECRET_*, TERM], set: {HOME: /tmp, EMPTY: ''}}\n"
				 "version: 1\n");
	expect_plan(&planning);
	expect_str(value_of(&planning, "SECRET_TOKEN"), "abc");
	expect_str(value_of(&planning, "HOME"), "/tmp");
	expect_str(value_of(&planning, "EMPTY"), "");
	expect_str(value_of(&planning, "LC_ALL"), "(unset)");
	/* Programs are found with the default PATH. */
	expect_str(value_of(&planning, "PATH"), "/usr/local/bin:/usr/bin:/bin");
}

static void an_empty_list_lets_nothing_pass(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "env: {allow: []}\nversion: 1\n");
	planning.environment[0] = "PATH=/opt/bin";
	expect_plan(&planning);
	expect_str(value_of(&planning, "PATH"), "/usr/local/bin:/usr/bin:/bin");
	expect_str(value_of(&planning, "HOME"), "(unset)");
}

static void options_override_the_environment(void)
{
	static const struct request_variable variables[] = {
		{ "HOME", "/srv", "--env" },
		{ "SECRET_TOKEN", NULL, "--env" },
		{ "ABSENT", NULL, "--env" },
		{ "HOME", "/opt", "--env" },
	};
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "env: {set: {HOME: /tmp}}\nversion: 1\n");
	planning.request.variables = variables;
	planning.request.n_variables = N_ELEMENTS(variables);
	expect_plan(&planning);
	expect_str(value_of(&planning, "HOME"), "/opt");
	expect_str(value_of(&planning, "SECRET_TOKEN"), "abc");
	expect_str(value_of(&planning, "ABSENT"), "(unset)");
	expect(has_notice(&planning, "--env ABSENT passes nothing"));
}

static void a_name_is_not_the_beginning_of_another(void)
{
	static const struct request_variable variable = { "SECRET", NULL, "--env" };
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.environment[1] = "HOMER=simpson";
	planning.request.variables = &variable;
	planning.request.n_variables = 1;
	expect_plan(&planning);
	expect_str(value_of(&planning, "HOMER"), "(unset)");
	expect_str(value_of(&planning, "SECRET_TOKEN"), "(unset)");
}

static void the_number_of_the_channel_wins_over_what_passes(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "env: {allow: ['SBX_*']}\nversion: 1\n");
	planning.environment[0] = "SBX_RING_FD=99";
	expect_plan(&planning);
	expect_str(value_of(&planning, "SBX_RING_FD"), "99");
	planning.request.has_ring = true;
	planning.request.ring_fd = 5;
	expect_plan(&planning);
	expect_str(value_of(&planning, "SBX_RING_FD"), "5");
}

static void refuses_a_channel_whose_number_another_source_sets(void)
{
	static const struct request_variable variable = { "SBX_RING_FD", "6", "--env" };
	static const struct request_variable passed = { "SBX_RING_FD", NULL, "--allow-env" };
	static const struct request_secret secret = { "SBX_RING_FD", "/home/user/.key" };
	static const struct {
		const char *policy, *why;
		const struct request_variable *variable;
		const struct request_secret *secret;
	} cases[] = {
		{ "version: 1\n", "--env would, too", &variable, NULL },
		{ "version: 1\n", "--allow-env would, too", &passed, NULL },
		{ "version: 1\n", "--secret would, too", NULL, &secret },
		{ "version: 1\nenv: {set: {SBX_RING_FD: '7'}}\n", "env.set would, too", NULL,
		  NULL },
		{ "version: 1\nenv: {secrets: {SBX_RING_FD: /home/user/.key}}\n",
		  "env.secrets would, too", NULL, NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_planning_ struct planning planning;

		planning_open(&planning);
		planning_load(&planning, cases[i].policy);
		know(&planning, "/home/user/.key", HOST_FILE);
		planning.request.variables = cases[i].variable;
		planning.request.n_variables = cases[i].variable != NULL;
		planning.request.secrets = cases[i].secret;
		planning.request.n_secrets = cases[i].secret != NULL;
		expect_plan(&planning);
		planning.request.has_ring = true;
		planning.request.ring_fd = 5;
		expect_refusal(&planning, -EINVAL);
		expect(strstr(planning.err.why, cases[i].why) != NULL);
		expect_str(planning.err.fix, "leave one of them out");
	}
}

static void a_secret_is_named_by_its_path_inside(void)
{
	static const struct request_secret secret = { "API_KEY", "/home/user/.key" };
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "env: {secrets: {TOKEN: /home/user/.token}}\nversion: 1\n");
	know(&planning, "/home/user/.key", HOST_FILE);
	know(&planning, "/home/user/.token", HOST_FILE);
	planning.request.secrets = &secret;
	planning.request.n_secrets = 1;
	expect_plan(&planning);
	expect_str(value_of(&planning, "API_KEY"), "/run/secrets/API_KEY");
	expect_str(value_of(&planning, "TOKEN"), "/run/secrets/TOKEN");
}

static void values_are_not_printed(void)
{
	static const struct request_variable variable = { "SECRET_TOKEN", NULL, "--env" };
	_cleanup_planning_ struct planning planning;
	_cleanup_text_ struct text json = TEXT_INIT;

	planning_open(&planning);
	planning.request.variables = &variable;
	planning.request.n_variables = 1;
	expect_plan(&planning);
	plan_add_json(&json, planning.plan);
	expect(strstr(text_string(&json), "SECRET_TOKEN"));
	expect(!strstr(text_string(&json), "abc"));
	expect(!strstr(plan_text(&planning), "abc"));
}

static void an_empty_environment_is_enough(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.request.environment = NULL;
	expect_plan(&planning);
	expect_str(value_of(&planning, "PATH"), "/usr/local/bin:/usr/bin:/bin");
}

static const struct test tests[] = {
	TEST(only_harmless_variables_pass),
	TEST(a_policy_says_what_passes_and_what_is_set),
	TEST(an_empty_list_lets_nothing_pass),
	TEST(options_override_the_environment),
	TEST(a_name_is_not_the_beginning_of_another),
	TEST(the_number_of_the_channel_wins_over_what_passes),
	TEST(refuses_a_channel_whose_number_another_source_sets),
	TEST(a_secret_is_named_by_its_path_inside),
	TEST(values_are_not_printed),
	TEST(an_empty_environment_is_enough),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
