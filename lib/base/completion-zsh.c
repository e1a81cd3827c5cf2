/* SPDX-License-Identifier: MIT */

/*
 * zsh: specifications for _arguments; a tool with verbs completes the verb first, and then its
 * options and operands.
 */

#include "base/completion-internal.h"

/* Inside '...' of an _arguments specification these end a part unless escaped. */
#define SPECIAL "[]:\\"
#define QUOTE "'\\''"
/* An action of _arguments: the lines of a command's output. */
#define COMPADD "{compadd -- ${(f)\"$(%s 2>/dev/null)\"}}"

static void add_value(struct text *out, const struct option_spec *spec)
{
	text_addf(out, ":%s:", spec->metavar);
	if (completion_takes_path(spec))
		text_add(out, "_files");
	if (spec->lister)
		text_addf(out, COMPADD, spec->lister);
	if (!completion_has_choices(spec))
		return;
	text_add(out, "(");
	completion_add_choices(out, spec);
	text_add(out, ")");
}

static void add_option(struct text *out, const struct option_spec *spec)
{
	bool takes_value = completion_takes_value(spec);
	bool repeats = spec->kind == OPTION_LIST || spec->kind == OPTION_PATHS ||
		       spec->kind == OPTION_COUNT;

	text_add(out, " \\\n\t\t");
	if (spec->letter && !repeats)
		text_addf(out, "'(-%c --%s)'", spec->letter, spec->name);
	else if (repeats)
		text_add(out, "'*'");
	if (spec->letter)
		text_addf(out, "{-%c%s,--%s%s}'[", spec->letter, takes_value ? "+" : "", spec->name,
			  takes_value ? "=" : "");
	else
		text_addf(out, "'--%s%s[", spec->name, takes_value ? "=" : "");
	completion_add_escaped(out, spec->help, SPECIAL, QUOTE);
	text_add(out, "]");
	if (takes_value)
		add_value(out, spec);
	text_add(out, "'");
}

static void add_options(struct text *out, const struct option_spec *options)
{
	for (const struct option_spec *spec = options; spec && spec->name; spec++)
		add_option(out, spec);
}

static void add_listed_operand(struct text *out, const struct verb_spec *verb)
{
	text_add(out, " \\\n\t\t'1:");
	completion_add_escaped(out, verb->operands, SPECIAL, QUOTE);
	text_addf(out, ":" COMPADD "'", verb->lister);
	if (verb->operand_kind == OPERAND_COMMAND)
		text_add(out, " \\\n\t\t'*::command:_normal'");
}

static void add_operand(struct text *out, const char *name, enum operand_kind kind)
{
	static const char *const actions[] = {
		[OPERAND_NONE] = NULL,
		[OPERAND_PATH] = "*:%s:_files",
		[OPERAND_COMMAND] = "*::%s:_normal",
		[OPERAND_WORD] = "*:%s: ",
	};
	_cleanup_text_ struct text specification = TEXT_INIT;

	if (!actions[kind])
		return;
	for (const char *part = actions[kind]; *part != '\0'; part++) {
		if (part[0] == '%' && part[1] == 's') {
			completion_add_escaped(&specification, name, SPECIAL, QUOTE);
			part++;
			continue;
		}
		text_add_char(&specification, *part);
	}
	text_addf(out, " \\\n\t\t'%s'", text_string(&specification));
}

static void add_verbs(struct text *out, const struct command *command)
{
	text_add(out, " \\\n\t\t'1:verb:->verb' '*::word:->words'\n"
		      "\tcase $state in\n\tverb)\n\t\tverbs=(");
	for (const struct verb_spec *verb = command->verbs; verb->name; verb++) {
		text_addf(out, "\n\t\t\t'%s:", verb->name);
		completion_add_escaped(out, verb->help, ":\\", QUOTE);
		text_add(out, "'");
	}
	text_add(out, ")\n\t\t_describe verb verbs\n\t\t;;\n\twords)\n\t\tcase $line[1] in\n");
	for (const struct verb_spec *verb = command->verbs; verb->name; verb++) {
		text_addf(out, "\t\t%s) _arguments -s -S", verb->name);
		add_options(out, verb->options);
		if (verb->lister)
			add_listed_operand(out, verb);
		else
			add_operand(out, verb->operands ? verb->operands : "", verb->operand_kind);
		text_add(out, " ;;\n");
	}
	text_add(out, "\t\tesac\n\t\t;;\n\tesac\n");
}

void completion_add_zsh(struct text *out, const struct command *command,
			const struct option_spec *common)
{
	text_addf(out, "#compdef %s\n# Made by %s --completion=zsh from the table that parses.\n\n",
		  command->name, command->name);
	completion_add_function_name(out, command->name);
	text_add(out, "()\n{\n\tlocal curcontext=\"$curcontext\" state line\n"
		      "\tlocal -a verbs\n\ttypeset -A opt_args\n\n"
		      "\t_arguments -s -S -C");
	add_options(out, common);
	add_options(out, command->options);
	if (command->verbs) {
		add_verbs(out, command);
	} else {
		add_operand(out, command->operands ? command->operands : "", command->operand_kind);
		text_add_char(out, '\n');
	}
	text_add(out, "}\n\n");
	completion_add_function_name(out, command->name);
	text_add(out, " \"$@\"\n");
}
