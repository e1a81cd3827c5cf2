/* SPDX-License-Identifier: MIT */

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
	TEST(a_secret_is_named_by_its_path_inside),
	TEST(values_are_not_printed),
	TEST(an_empty_environment_is_enough),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
