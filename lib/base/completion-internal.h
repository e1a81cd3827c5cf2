/* SPDX-License-Identifier: MIT */
#pragma once

/* Shared by the files of base/completion, one for each shell */

#include "base/completion.h"
#include "base/options.h"
#include "base/text.h"

void completion_add_bash(struct text *out, const struct command *command,
			 const struct option_spec *common);
void completion_add_zsh(struct text *out, const struct command *command,
			const struct option_spec *common);
void completion_add_fish(struct text *out, const struct command *command,
			 const struct option_spec *common);

/* "_sbx_spawn" for "sbx-spawn": all three shells accept it as a name. */
void completion_add_function_name(struct text *out, const char *tool);
/* Text for inside single quotes: @special gets a backslash, a single quote becomes @quote. */
void completion_add_escaped(struct text *out, const char *words, const char *special,
			    const char *quote);
bool completion_takes_value(const struct option_spec *spec);
/* Is its value one of a few words? */
bool completion_has_choices(const struct option_spec *spec);
/* Adds them, separated by spaces. */
void completion_add_choices(struct text *out, const struct option_spec *spec);
/* Is its value the name of a file? */
bool completion_takes_path(const struct option_spec *spec);
