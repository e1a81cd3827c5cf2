/* SPDX-License-Identifier: MIT */

/*
 * Paths of configuration files. Pure: the environment is an argument and no file is opened, so
 * tests can use any home.
 */

#include "base/config.h"

#include <errno.h>
#include <string.h>

#include "base/environment.h"
#include "base/text.h"

#define SYSTEM_PATH "/etc/sbx/config.yaml"

/* *ret is NULL without a @directory; "" is the working directory. */
static int join(const char *directory, const char *rest, char **ret)
{
	_cleanup_text_ struct text path = TEXT_INIT;
	char *joined;

	if (!directory) {
		*ret = NULL;
		return 0;
	}
	if (strcmp(directory, ".") != 0)
		text_addf(&path, "%s%s", directory,
			  *directory && directory[strlen(directory) - 1] == '/' ? "" : "/");
	text_add(&path, rest);
	joined = text_take(&path);
	if (!joined)
		return -ENOMEM;
	*ret = joined;
	return 0;
}

int config_places_find(char *const *environment, const char *project_dir, struct config_places *ret)
{
	_cleanup_(config_places_deinit) struct config_places places = { NULL, NULL, NULL };
	const char *config_home = environment_find_directory(environment, "XDG_CONFIG_HOME");
	int r;

	places.system_path = strdup(SYSTEM_PATH);
	if (!places.system_path)
		return -ENOMEM;
	r = config_home ? join(config_home, "sbx/config.yaml", &places.user_path)
			: join(environment_find_directory(environment, "HOME"),
			       ".config/sbx/config.yaml", &places.user_path);
	if (r < 0)
		return r;
	r = join(project_dir, ".sbx/config.yaml", &places.project_path);
	if (r < 0)
		return r;
	*ret = places;
	places = (struct config_places){ NULL, NULL, NULL };
	return 0;
}

void config_places_deinit(struct config_places *places)
{
	free_ptr(&places->system_path);
	free_ptr(&places->user_path);
	free_ptr(&places->project_path);
	*places = (struct config_places){ NULL, NULL, NULL };
}

const char *config_places_path(const struct config_places *places, enum config_origin origin)
{
	switch ((int)origin) {
	case CONFIG_FROM_SYSTEM:
		return places->system_path;
	case CONFIG_FROM_USER:
		return places->user_path;
	case CONFIG_FROM_PROJECT:
		return places->project_path;
	}
	return NULL;
}
