/* SPDX-License-Identifier: MIT */

/*
 * Shell completions: one walk over a command's tables, printed in the language of a shell
 *
 * completion-bash.c, -zsh.c and -fish.c contain one language each. "inventory" is a fourth output,
 * for the check that the man page names every option and verb.
 */

#include "base/completion-internal.h"

#include <errno.h>
#include <string.h>

static void inventory_options(struct text *out, const char *verb, const struct option_spec *options)
{
	for (const struct option_spec *spec = options; spec && spec->name; spec++) {
		text_addf(out, "option\t%s\t--%s\t", verb, spec->name);
		if (spec->letter)
			text_addf(out, "-%c\n", spec->letter);
		else
			text_add(out, "-\n");
	}
}

static void add_inventory(struct text *out, const struct command *command,
			  const struct option_spec *common)
{
	inventory_options(out, "-", common);
	inventory_options(out, "-", command->options);
	for (const struct verb_spec *verb = command->verbs; verb && verb->name; verb++) {
		text_addf(out, "verb\t%s\n", verb->name);
		inventory_options(out, verb->name, verb->options);
	}
}

static const struct language {
	const char *shell;
	void (*add)(struct text *out, const struct command *command,
		    const struct option_spec *common);
} languages[] = {
	{ "bash", completion_add_bash },
	{ "zsh", completion_add_zsh },
	{ "fish", completion_add_fish },
	{ "inventory", add_inventory },
};

int completion_add(struct text *out, const char *shell, const struct command *command,
		   const struct option_spec *common)
{
	for (size_t i = 0; i < N_ELEMENTS(languages); i++) {
		if (strcmp(languages[i].shell, shell) != 0)
			continue;
		languages[i].add(out, command, common);
		return 0;
	}
	return -EINVAL;
}

void completion_add_function_name(struct text *out, const char *tool)
{
	text_add_char(out, '_');
	for (; *tool != '\0'; tool++)
		text_add(out, *tool == '-' ? "_" : (char[]){ *tool, '\0' });
}

void completion_add_escaped(struct text *out, const char *words, const char *special,
			    const char *quote)
{
	for (; *words != '\0'; words++) {
		if (*words == '\'') {
			text_add(out, quote);
			continue;
		}
		if (strchr(special, *words))
			text_add_char(out, '\\');
		text_add_char(out, *words);
	}
}

bool completion_takes_value(const struct option_spec *spec)
{
	return spec->metavar != NULL;
}

bool completion_has_choices(const struct option_spec *spec)
{
	return spec->choices || spec->word;
}

void completion_add_choices(struct text *out, const struct option_spec *spec)
{
	const char *word;

	for (size_t i = 0; (word = spec->word ? spec->word(NULL, i) : spec->choices[i]); i++) {
		text_add(out, i > 0 ? " " : "");
		text_add(out, word);
	}
}

bool completion_takes_path(const struct option_spec *spec)
{
	return spec->kind == OPTION_PATH || spec->kind == OPTION_PATHS;
}
