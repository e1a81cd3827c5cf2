/* SPDX-License-Identifier: MIT */
#include "base/config.h"

#include <errno.h>

#include "config-rig.h"

static void expect_value(const struct config *config, const char *name, const char *text,
			 enum config_origin origin, const char *place)
{
	struct config_value value = config_get(config, name);

	expect_str(value.text, text);
	expect_eq(value.origin, origin);
	expect_str(value.place, place);
}

static void takes_the_defaults_without_any_source(void)
{
	_cleanup_config_ struct config *config =
		load(&(struct config_sources){ .system_path = NULL });

	expect_value(config, "color", "auto", CONFIG_FROM_DEFAULT, "built in");
	expect_value(config, "progress", "auto", CONFIG_FROM_DEFAULT, "built in");
	expect_value(config, "log_level", "notice", CONFIG_FROM_DEFAULT, "built in");
}

static void has_defaults_that_are_valid_and_help_without_a_full_stop(void)
{
	for (const struct config_key *key = config_keys(); key->name; key++) {
		expect_eq(config_check(key->name, key->fallback, NULL), 0);
		expect(key->help[0] && key->help[strlen(key->help) - 1] != '.');
		expect(config_find_key(key->name) == key);
	}
	expect(!config_find_key("colour"));
}

static void takes_each_key_from_the_strongest_layer(void)
{
	_cleanup_layers_ struct layers layers = { .directory = "" };
	_cleanup_config_ struct config *config = NULL;
	char *environment[] = { "HOME=/x", "SBX_LOG_LEVEL=debug", NULL };
	char place[96];

	layers_init(&layers);
	write_file(layers.system_path, "color: never\nprogress: never\nlog_level: error\n");
	write_file(layers.user_path, "# mine\nprogress: always\nlog_level: info\n");
	write_file(layers.project_path, "log_level: warning\n");
	layers.sources.environment = environment;
	config = load(&layers.sources);
	(void)snprintf(place, sizeof(place), "%s:1", layers.system_path);
	expect_value(config, "color", "never", CONFIG_FROM_SYSTEM, place);
	(void)snprintf(place, sizeof(place), "%s:2", layers.user_path);
	expect_value(config, "progress", "always", CONFIG_FROM_USER, place);
	expect_value(config, "log_level", "debug", CONFIG_FROM_ENVIRONMENT, "SBX_LOG_LEVEL");
	expect_eq(config_set(config, "log_level", "error", "-x", NULL), 0);
	expect_value(config, "log_level", "error", CONFIG_FROM_ARGUMENT, "-x");
	config = config_free(config);

	layers.sources.environment = NULL;
	config = load(&layers.sources);
	(void)snprintf(place, sizeof(place), "%s:1", layers.project_path);
	expect_value(config, "log_level", "warning", CONFIG_FROM_PROJECT, place);
}

static void takes_missing_and_empty_files_for_nothing_said(void)
{
	_cleanup_layers_ struct layers layers = { .directory = "" };
	_cleanup_config_ struct config *config = NULL;

	layers_init(&layers);
	write_file(layers.user_path, "# nothing yet\n");
	config = load(&layers.sources);
	expect_value(config, "color", "auto", CONFIG_FROM_DEFAULT, "built in");
	config = config_free(config);
	expect_eq(rmdir(layers.sbx), 0);
	config = load(&layers.sources);
	expect_value(config, "color", "auto", CONFIG_FROM_DEFAULT, "built in");
}

static void reads_a_json_file(void)
{
	_cleanup_layers_ struct layers layers = { .directory = "" };
	_cleanup_config_ struct config *config = NULL;

	layers_init(&layers);
	write_file(layers.user_path, "{\"color\": \"never\"}");
	config = load(&layers.sources);
	expect_str(config_get(config, "color").text, "never");
}

/* In the user's file, which no stronger layer overrides here. */
static const struct {
	const char *text, *what, *word;
} wrong_files[] = {
	{ "color: sometimes\n", "user.yaml:1:8: 'color' cannot be 'sometimes'",
	  "auto, always, never" },
	{ "# c\ncolor: alwys\n", "user.yaml:2:8: 'color' cannot be 'alwys'",
	  "did you mean 'always'?" },
	{ "color: true\n", "user.yaml:1:8: 'color' cannot be 'true'", "one of" },
	{ "color: yes\n", "user.yaml:1:8: a plain 'yes'", "quotes" },
	{ "color: ''\n", "user.yaml:1:8: 'color' cannot be ''", "one of" },
	{ "color:\n", "user.yaml:1:7: 'color' must be a string", "color: auto" },
	{ "color: [auto]\n", "user.yaml:1:8: 'color' must be a string", "color: auto" },
	{ "colour: auto\n", "user.yaml:1:1: unknown key 'colour'", "did you mean 'color'?" },
	{ "x:\n  y: z\n", "user.yaml:1:1: unknown key 'x'", "color, progress, log_level" },
	{ "color: auto\ncolor: auto\n", "user.yaml:2:1: the key 'color' occurs twice", "keep one" },
	{ "- color\n", "user.yaml:1:1: the top level must be a map", "list" },
	{ "color: \"auto", "user.yaml:1:8: a quote", "close" },
	{ "theme: dark\n", "user.yaml:1:1: 'theme' cannot be configured", "leave it out" },
	{ "policy: p.yaml\n", "user.yaml:1:1: 'policy'", "belongs in the policy file" },
	{ "session_mode: explore\n", "user.yaml:1:1: 'session_mode'",
	  "belongs in the policy file" },
	{ "Session-Mode: explore\n", "user.yaml:1:1: 'Session-Mode'",
	  "belongs in the policy file" },
	{ "color: auto\nlimits: {pids: 5}\n", "user.yaml:2:1: 'limits'", "belongs in the policy" },
	{ "limits.memory: 1GiB\n", "user.yaml:1:1: 'limits.memory'", "belongs in the policy file" },
	{ "no_sandbox: true\n", "user.yaml:1:1: 'no_sandbox'", "belongs in the policy file" },
};

static void refuses_a_wrong_file_with_its_place(void)
{
	_cleanup_layers_ struct layers layers = { .directory = "" };

	layers_init(&layers);
	for (size_t i = 0; i < N_ELEMENTS(wrong_files); i++) {
		write_file(layers.user_path, wrong_files[i].text);
		expect_refused_load(&layers.sources, -EINVAL, wrong_files[i].what,
				    wrong_files[i].word);
	}
}

static void refuses_a_wrong_value_that_another_layer_hides(void)
{
	_cleanup_layers_ struct layers layers = { .directory = "" };
	char *environment[] = { "SBX_COLOR=never", NULL };

	layers_init(&layers);
	write_file(layers.system_path, "color: purple\n");
	write_file(layers.user_path, "color: auto\n");
	layers.sources.environment = environment;
	expect_refused_load(&layers.sources, -EINVAL, "system.yaml:1:8: 'color'", "one of");
}

static void refuses_security_in_every_layer(void)
{
	static const char *const names[] = { "policy", "session_mode", "isolation", "limits",
					     "tier",   "net",	       "env",	    "mounts",
					     "allow",  "deny",	       "no_sandbox" };
	_cleanup_layers_ struct layers layers = { .directory = "" };
	const char *const paths[] = { layers.system_path, layers.user_path, layers.project_path };

	layers_init(&layers);
	for (size_t p = 0; p < N_ELEMENTS(paths); p++) {
		for (size_t i = 0; i < N_ELEMENTS(names); i++) {
			char line[64];

			(void)snprintf(line, sizeof(line), "%s: x\n", names[i]);
			write_file(paths[p], line);
			expect_refused_load(&layers.sources, -EINVAL, "cannot be configured",
					    "belongs in the policy file");
			expect_eq(config_check(names[i], "x", NULL), -EINVAL);
		}
		(void)unlink(paths[p]);
	}
}

static void expect_environment(const char *entry, const char *what, const char *word)
{
	char *environment[] = { (char *)entry, NULL };
	struct config_sources sources = { .environment = environment };

	expect_refused_load(&sources, -EINVAL, what, word);
}

static void refuses_wrong_and_security_variables_by_their_name(void)
{
	expect_environment("SBX_COLOR=alway", "SBX_COLOR: 'color' cannot be 'alway'",
			   "did you mean 'always'?");
	expect_environment("SBX_POLICY=/tmp/p", "SBX_POLICY: 'policy' cannot be configured",
			   "belongs in the policy file");
	expect_environment("SBX_NO_SANDBOX=1", "SBX_NO_SANDBOX: ", "belongs in the policy file");
	expect_environment("SBX_SESSION_MODE=x", "SBX_SESSION_MODE: ", "belongs in the policy");
	expect_environment("SBX_SESSION_MODE=x", "SBX_SESSION_MODE: ", "unset SBX_SESSION_MODE");
}

static void ignores_variables_of_others_and_empty_ones(void)
{
	char *environment[] = {
		"SBX_DEBUG=1",
		"SBX_COLOUR=never",
		"SBX_TOKEN=secret",
		"SBX_MODE=fast",
		"SBX_ENV=production",
		"SBX_DEFAULT=x",
		"SBX_NET=x",
		"SBX_COLOR=",
		"SBX_POLICY=",
		"COLOR=never",
		"SBX_color=never",
		"SBX_",
		"SBX_COLOR",
		"=",
		"",
		"SBX_=x",
		"SBX_A_NAME_THAT_IS_LONGER_THAN_ANY_KEY_THAT_WILL_EVER_BE_IN_THE_TABLE=1",
		NULL
	};
	_cleanup_config_ struct config *config =
		load(&(struct config_sources){ .environment = environment });

	expect_value(config, "color", "auto", CONFIG_FROM_DEFAULT, "built in");
}

static void a_variable_for_debugging_overrides_the_log_level_of_every_layer(void)
{
	char *levels[] = { "SBX_LOG_LEVEL=error", "SBX_DEBUG=*", "SBX_DEBUG=", NULL };
	char *empty[] = { "SBX_DEBUG=", "SBX_DEBUG=1", "SBX_LOG_LEVEL=error", NULL };
	_cleanup_config_ struct config *config =
		load(&(struct config_sources){ .environment = levels });

	expect_value(config, "log_level", "debug", CONFIG_FROM_ENVIRONMENT, "SBX_DEBUG");
	config = config_free(config);
	config = load(&(struct config_sources){ .environment = empty });
	expect_value(config, "log_level", "error", CONFIG_FROM_ENVIRONMENT, "SBX_LOG_LEVEL");
}

static void takes_the_first_of_two_equal_variables(void)
{
	char *environment[] = { "SBX_COLOR=", "SBX_COLOR=never", "SBX_COLOR=always", NULL };
	_cleanup_config_ struct config *config =
		load(&(struct config_sources){ .environment = environment });

	expect_str(config_get(config, "color").text, "never");
}

static void refuses_a_wrong_argument_and_keeps_the_old_value(void)
{
	_cleanup_config_ struct config *config =
		load(&(struct config_sources){ .system_path = NULL });
	struct sbx_error err = { .code = 0 };

	expect_eq(config_set(config, "color", "blue", "-x", &err), -EINVAL);
	expect_str(err.what, "'color' cannot be 'blue'");
	expect_eq(config_set(config, "log-level", "info", "-x", &err), -EINVAL);
	expect_str(err.fix, "did you mean 'log_level'?");
	expect_eq(config_set(config, "policy", "p", "-x", &err), -EINVAL);
	expect(strstr(err.fix, "belongs in the policy file") != NULL);
	expect_value(config, "color", "auto", CONFIG_FROM_DEFAULT, "built in");
}

static void expect_user_path(const char *xdg, const char *home, const char *want)
{
	char *environment[] = { (char *)xdg, (char *)home, NULL };
	struct config_places places = { NULL, NULL, NULL };

	expect_eq(config_places_find(environment, NULL, &places), 0);
	expect_str(places.system_path, "/etc/sbx/config.yaml");
	if (want)
		expect_str(places.user_path, want);
	else
		expect(!places.user_path);
	expect(!places.project_path);
	config_places_deinit(&places);
	expect(!places.system_path);
}

static void finds_the_users_file_as_xdg_says(void)
{
	expect_user_path("XDG_CONFIG_HOME=/c", "HOME=/h", "/c/sbx/config.yaml");
	expect_user_path("XDG_CONFIG_HOME=/c/", "HOME=/h", "/c/sbx/config.yaml");
	expect_user_path("XDG_CONFIG_HOME=", "HOME=/h", "/h/.config/sbx/config.yaml");
	expect_user_path("XDG_CONFIG_HOME=relative", "HOME=/h", "/h/.config/sbx/config.yaml");
	expect_user_path("HOME=/h", NULL, "/h/.config/sbx/config.yaml");
	expect_user_path("HOME=", NULL, NULL);
	expect_user_path("HOME=here", NULL, NULL);
	expect_user_path("HOMER=/h", "XDG_CONFIG_HOMES=/c", NULL);
}

static void finds_the_projects_file_in_its_directory(void)
{
	struct config_places places = { NULL, NULL, NULL };

	expect_eq(config_places_find(NULL, "work", &places), 0);
	expect_str(places.project_path, "work/.sbx/config.yaml");
	config_places_deinit(&places);
	expect_eq(config_places_find(NULL, ".", &places), 0);
	expect_str(places.project_path, ".sbx/config.yaml");
	expect(config_places_path(&places, CONFIG_FROM_PROJECT) == places.project_path);
	expect(config_places_path(&places, CONFIG_FROM_SYSTEM) == places.system_path);
	expect(!config_places_path(&places, CONFIG_FROM_USER));
	expect(!config_places_path(&places, CONFIG_FROM_DEFAULT));
	config_places_deinit(&places);
	expect_eq(config_places_find(NULL, "/", &places), 0);
	expect_str(places.project_path, "/.sbx/config.yaml");
	config_places_deinit(&places);
}

static void names_every_origin(void)
{
	expect_str(config_origin_name(CONFIG_FROM_DEFAULT), "default");
	expect_str(config_origin_name(CONFIG_FROM_SYSTEM), "system");
	expect_str(config_origin_name(CONFIG_FROM_USER), "user");
	expect_str(config_origin_name(CONFIG_FROM_PROJECT), "project");
	expect_str(config_origin_name(CONFIG_FROM_ENVIRONMENT), "environment");
	expect_str(config_origin_name(CONFIG_FROM_ARGUMENT), "argument");
	expect(!config_free(NULL));
}

static const struct test tests[] = {
	TEST(takes_the_defaults_without_any_source),
	TEST(has_defaults_that_are_valid_and_help_without_a_full_stop),
	TEST(takes_each_key_from_the_strongest_layer),
	TEST(takes_missing_and_empty_files_for_nothing_said),
	TEST(reads_a_json_file),
	TEST(refuses_a_wrong_file_with_its_place),
	TEST(refuses_a_wrong_value_that_another_layer_hides),
	TEST(refuses_security_in_every_layer),
	TEST(refuses_wrong_and_security_variables_by_their_name),
	TEST(ignores_variables_of_others_and_empty_ones),
	TEST(a_variable_for_debugging_overrides_the_log_level_of_every_layer),
	TEST(takes_the_first_of_two_equal_variables),
	TEST(refuses_a_wrong_argument_and_keeps_the_old_value),
	TEST(finds_the_users_file_as_xdg_says),
	TEST(finds_the_projects_file_in_its_directory),
	TEST(names_every_origin),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
