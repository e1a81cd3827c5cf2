/* SPDX-License-Identifier: MIT */

/*
 * fish: one "complete" line for each option, verb and kind of operand, with the condition under
 * which it is offered.
 */

#include "base/completion-internal.h"

static void add_text(struct text *out, const char *words)
{
	text_add_char(out, '\'');
	completion_add_escaped(out, words, "\\", "\\'");
	text_add_char(out, '\'');
}

static void add_option(struct text *out, const char *tool, const char *verb,
		       const struct option_spec *spec)
{
	text_addf(out, "complete -c %s", tool);
	if (verb)
		text_addf(out, " -n '__fish_seen_subcommand_from %s'", verb);
	text_addf(out, " -l %s", spec->name);
	if (spec->letter)
		text_addf(out, " -s %c", spec->letter);
	if (completion_takes_value(spec))
		text_add(out, completion_takes_path(spec) ? " -r -F" : " -x");
	if (completion_has_choices(spec)) {
		text_add(out, " -a '");
		completion_add_choices(out, spec);
		text_add(out, "'");
	}
	if (spec->lister)
		text_addf(out, " -a '(%s 2>/dev/null)'", spec->lister);
	text_add(out, " -d ");
	add_text(out, spec->help);
	text_add_char(out, '\n');
}

static void add_options(struct text *out, const char *tool, const char *verb,
			const struct option_spec *options)
{
	for (const struct option_spec *spec = options; spec && spec->name; spec++)
		add_option(out, tool, verb, spec);
}

static const char *const operand_actions[] = {
	[OPERAND_NONE] = "-f",
	[OPERAND_PATH] = "-F",
	[OPERAND_COMMAND] = "-x -a '(__fish_complete_subcommand)'",
	[OPERAND_WORD] = "-f",
};

void completion_add_fish(struct text *out, const struct command *command,
			 const struct option_spec *common)
{
	const char *tool = command->name;

	text_addf(out, "# Made by %s --completion=fish from the table that parses.\n\n", tool);
	if (!command->verbs)
		text_addf(out, "complete -c %s %s\n", tool, operand_actions[command->operand_kind]);
	add_options(out, tool, NULL, common);
	add_options(out, tool, NULL, command->options);
	for (const struct verb_spec *verb = command->verbs; verb && verb->name; verb++) {
		text_addf(out, "complete -c %s -n __fish_use_subcommand -f -a %s -d ", tool,
			  verb->name);
		add_text(out, verb->help);
		text_addf(out, "\ncomplete -c %s -n '__fish_seen_subcommand_from %s' %s\n", tool,
			  verb->name, operand_actions[verb->operand_kind]);
		if (verb->lister)
			text_addf(out,
				  "complete -c %s -n '__fish_seen_subcommand_from %s' -a '(%s "
				  "2>/dev/null)'\n",
				  tool, verb->name, verb->lister);
		add_options(out, tool, verb->name, verb->options);
	}
}
