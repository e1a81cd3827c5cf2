/* SPDX-License-Identifier: MIT */
#pragma once

/* Configuration files in a temporary directory */

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/config.h"

#include "test.h"

/* A directory with the files of three layers; removed at the end of the test. */
struct layers {
	char directory[32];
	char system_path[64], user_path[64], sbx[64], project_path[80];
	struct config_sources sources;
};

static inline void layers_deinit(struct layers *layers)
{
	(void)unlink(layers->system_path);
	(void)unlink(layers->user_path);
	(void)unlink(layers->project_path);
	(void)unlink(layers->sbx);
	(void)rmdir(layers->sbx);
	expect_eq(rmdir(layers->directory), 0);
}

#define _cleanup_layers_ _cleanup_(layers_deinit)

static inline void layers_init(struct layers *layers)
{
	(void)snprintf(layers->directory, sizeof(layers->directory), "/tmp/sbx-config-XXXXXX");
	expect(mkdtemp(layers->directory) != NULL);
	(void)snprintf(layers->system_path, sizeof(layers->system_path), "%s/system.yaml",
		       layers->directory);
	(void)snprintf(layers->user_path, sizeof(layers->user_path), "%s/user.yaml",
		       layers->directory);
	(void)snprintf(layers->sbx, sizeof(layers->sbx), "%s/.sbx", layers->directory);
	(void)snprintf(layers->project_path, sizeof(layers->project_path), "%s/config.yaml",
		       layers->sbx);
	expect_eq(mkdir(layers->sbx, 0700), 0);
	layers->sources = (struct config_sources){ .system_path = layers->system_path,
						   .user_path = layers->user_path,
						   .project_path = layers->project_path };
}

static inline void write_file(const char *path, const char *text)
{
	_cleanup_fclose_ FILE *file = fopen(path, "we");

	expect(file && fputs(text, file) >= 0);
}

static inline struct config *load(const struct config_sources *sources)
{
	struct sbx_error err = { .code = 0 };
	struct config *config = NULL;

	expect_eq(config_load(sources, &config, &err), 0);
	expect_str(err.what, "");
	return config;
}

static inline void expect_refused_load(const struct config_sources *sources, int code,
				       const char *what, const char *word)
{
	struct sbx_error err = { .code = 0 };
	struct config *config = NULL;

	expect_eq(config_load(sources, &config, &err), code);
	expect(!config);
	expect(strstr(err.what, what) != NULL);
	expect(strstr(err.why, word) || strstr(err.fix, word));
	if (!strstr(err.what, what) || !(strstr(err.why, word) || strstr(err.fix, word)))
		printf("# %s / %s / %s\n", err.what, err.why, err.fix);
	expect_eq(config_load(sources, &config, NULL), code);
}
