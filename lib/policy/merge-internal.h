/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the files of merge share
 */

#include <stdbool.h>
#include <stddef.h>

#include "policy/model.h"

struct sbx_error;

/* merge-copy.c: copies into another policy's arena. A failure is remembered, as in struct text. */
struct copier {
	struct arena *arena;
	unsigned first_source; /* number that the source 0 of the original gets */
	bool failed;
};

const char *copy_text(struct copier *copier, const char *text);
struct policy_place copy_place(const struct copier *copier, struct policy_place place);
void copy_source(struct copier *copier, const struct policy_source *from, struct policy_source *to);
void copy_rule(struct copier *copier, const struct rule *from, struct rule *to);
void copy_setting(struct copier *copier, const struct setting *from, struct setting *to);
void copy_extension(struct copier *copier, const struct extension_program *from,
		    struct extension_program *to);

/*
 * merge-settings.c: adds the settings of @next to those of @all, whose arena gets everything.
 * -EACCES where one of them widens. @narrows: also where it says what no file before has said, if
 * that could widen.
 */
int merge_settings(struct policy *all, const struct policy *next, struct copier *copier,
		   bool narrows, struct sbx_error *err);
/* merge-mounts.c: is every mount of @next one of @all's, or less of it? */
int merge_check_mounts(const struct policy *all, const struct policy *next, struct sbx_error *err);
/* "'PATH' widens what an earlier file allows", with both places; @before may be NULL. */
int merge_refuse(const struct policy *all, const struct setting *before, const struct policy *next,
		 const struct setting *after, struct sbx_error *err);
