/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Shell completions, made from the same table that parses
 */

struct command;
struct option_spec;
struct text;

/*
 * Adds the script for "bash", "zsh" or "fish". "inventory" adds, for the check against the man
 * page, one line for each option and verb instead:
 *
 *   option<TAB>VERB or -<TAB>--name<TAB>-x or -
 *   verb<TAB>NAME
 *
 * -EINVAL for another language; @common is the table that all tools share.
 */
int completion_add(struct text *out, const char *shell, const struct command *command,
		   const struct option_spec *common);
