/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Configuration that is not security: arguments > SBX_* > project > user > system > default
 *
 * Keys are rows of one const table. No key widens or narrows a sandbox: such names are refused, and
 * the message names the policy, so that a project's own file or an inherited variable can never
 * change what is enforced.
 */

#include <stddef.h>

#include "base/cleanup.h"

struct sbx_error;
struct config;
struct text;

struct config_key {
	const char *name;	    /* log_level; SBX_LOG_LEVEL in the environment */
	const char *const *choices; /* its values, NULL-terminated */
	const char *fallback;	    /* the default, as it would be written */
	const char *help;	    /* one line, no full stop */
};

enum config_origin {
	CONFIG_FROM_DEFAULT,
	CONFIG_FROM_SYSTEM,
	CONFIG_FROM_USER,
	CONFIG_FROM_PROJECT,
	CONFIG_FROM_ENVIRONMENT,
	CONFIG_FROM_ARGUMENT,
};

/* If it is not empty, log_level is debug, whatever the layers and the arguments say. */
#define CONFIG_DEBUG_VARIABLE "SBX_DEBUG"

/* Paths of the layers; NULL skips one. A missing file is an empty layer; a path that is not a
 * regular file (a FIFO) is an error. */
struct config_sources {
	const char *system_path;
	const char *user_path;
	const char *project_path;
	char *const *environment; /* like environ */
};

struct config_value {
	const char *text;
	enum config_origin origin;
	const char *place; /* "FILE:LINE", "SBX_COLOR", "-v" or "built in" */
};

/* The table, ended by a NULL name: config_keys() is what sbx-config lists and sbx.conf(5)
 * documents. */
const struct config_key *config_keys(void);
const struct config_key *config_find_key(const char *name);

/*
 * Every value of every layer is checked, including overridden ones: -EINVAL with the place of a
 * wrong one. Other codes: a file exists and cannot be read. A file in a directory that the caller
 * may not search counts as missing.
 */
int config_load(const struct config_sources *sources, struct config **ret, struct sbx_error *err);
/* Sets a value from the command line (@place), which overrides all layers. */
int config_set(struct config *config, const char *name, const char *value, const char *place,
	       struct sbx_error *err);
struct config *config_free(struct config *config);
CLEANUP_BY(struct config, config_free)
#define _cleanup_config_ _cleanup_(config_free_ptr)

/* @name must be a key of the table (asserted). The result is valid as long as @config. */
struct config_value config_get(const struct config *config, const char *name);
const char *config_origin_name(enum config_origin origin);

/* Is @value right for the key? Unknown and security names are refused with a suggestion. */
int config_check(const char *name, const char *value, struct sbx_error *err);
/*
 * Changes one line of a config file's text, or adds it; comments and all other lines stay
 * unchanged. @text is the whole file (may be empty); the result is parsed again and compared.
 */
int config_edit(const char *file_name, const char *text, size_t text_len, const char *name,
		const char *value, struct text *out, struct sbx_error *err);

/*
 * Writes such a change to the file of a layer (system, user or project). A missing file is created
 * with its directories; an existing one keeps its mode and owner. If the user's or system's file is
 * a link, it is followed; in a project, whose content may be an attacker's, every link in the path
 * is refused. -EINVAL and -ENOTSUP: the value, or the content of the file, is wrong.
 */
int config_save(const char *path, enum config_origin origin, const char *name, const char *value,
		struct sbx_error *err);

/*
 * Creates the file of a layer with every key and its default as comments. -EEXIST if it exists.
 * Links are treated as by config_save().
 */
int config_create(const char *path, enum config_origin origin, struct sbx_error *err);
/* Adds the text that config_create() writes. */
void config_add_template(struct text *out);

/*
 * The usual places: /etc/sbx/config.yaml, $XDG_CONFIG_HOME/sbx/config.yaml (or ~/.config), and
 * .sbx/config.yaml in @project_dir. @ret owns the strings. Variables that are not an absolute path
 * are ignored, as the XDG specification requires.
 */
struct config_places {
	char *system_path;
	char *user_path; /* NULL without a home */
	char *project_path;
};
int config_places_find(char *const *environment, const char *project_dir,
		       struct config_places *ret);
void config_places_deinit(struct config_places *places);
/* The file of the system, the user or the project; NULL if there is none. */
const char *config_places_path(const struct config_places *places, enum config_origin origin);
