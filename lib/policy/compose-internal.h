/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The composer's functions for the files that add rules to a composition
 */

#include <stdbool.h>
#include <stddef.h>

struct composer;
struct glob;
struct match_value;
struct rule;

/* NULL if there is no memory, which the composer remembers. */
void *composer_take(struct composer *composer, size_t n_bytes);
struct rule *composer_add_rule(struct composer *composer, const struct rule *rule);

/* Does the value stand for one path, or one path and all below it? */
bool composer_parse_plain(const struct match_value *value, struct glob *ret);
/* The literal path of the glob; NULL if it is relative and @project is unknown. */
const char *composer_name_path(struct composer *composer, const struct glob *glob,
			       const char *project);
