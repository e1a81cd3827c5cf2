/* SPDX-License-Identifier: MIT */

/*
 * bash: one function that determines, in this order: the first word that is not an option (after a
 * command, completion is left to the command); whether the previous word is an option that takes a
 * value; the verb. Then it offers options if the word starts with a dash, else operands.
 */

#include "base/completion-internal.h"

#include <string.h>

static void add_names(struct text *out, const struct option_spec *options)
{
	for (const struct option_spec *spec = options; spec && spec->name; spec++) {
		text_addf(out, " --%s", spec->name);
		if (spec->letter)
			text_addf(out, " -%c", spec->letter);
	}
}

static void add_value(struct text *out, const struct option_spec *spec)
{
	text_add(out, ")");
	if (completion_takes_path(spec))
		text_add(out, " compopt -o filenames; "
			      "mapfile -t COMPREPLY < <(compgen -f -- \"$cur\");");
	if (completion_has_choices(spec)) {
		text_add(out, " mapfile -t COMPREPLY < <(compgen -W '");
		completion_add_choices(out, spec);
		text_add(out, "' -- \"$cur\");");
	}
	if (spec->lister)
		text_addf(out,
			  " mapfile -t COMPREPLY < <(compgen -W '$(%s 2>/dev/null)' -- \"$cur\");",
			  spec->lister);
	text_add(out, " return ;;\n");
}

/* Values of the tool's own options, for any verb. */
static void add_value_cases(struct text *out, const struct option_spec *options)
{
	for (const struct option_spec *spec = options; spec && spec->name; spec++) {
		if (!completion_takes_value(spec))
			continue;
		text_addf(out, "\t--%s", spec->name);
		if (spec->letter)
			text_addf(out, "|-%c", spec->letter);
		add_value(out, spec);
	}
}

/* Two verbs may have an option of the same name with values of different kinds. */
static void add_verb_value_cases(struct text *out, const struct verb_spec *verb)
{
	for (const struct option_spec *spec = verb->options; spec && spec->name; spec++) {
		if (!completion_takes_value(spec))
			continue;
		text_addf(out, "\t'%s --%s'", verb->name, spec->name);
		if (spec->letter)
			text_addf(out, "|'%s -%c'", verb->name, spec->letter);
		add_value(out, spec);
	}
}

static void add_steps(struct text *out, const struct option_spec *options)
{
	for (const struct option_spec *spec = options; spec && spec->name; spec++) {
		if (!completion_takes_value(spec))
			continue;
		text_addf(out, "\t\t--%s", spec->name);
		if (spec->letter)
			text_addf(out, "|-%c", spec->letter);
		text_add(out, ") step=2 ;;\n");
	}
}

/* $word becomes the index of the first operand, which may be the one that is being typed. */
static void add_walk(struct text *out, const struct command *command,
		     const struct option_spec *common)
{
	text_add(out, "\tfor ((word = 1; word < COMP_CWORD; word += step)); do\n"
		      "\t\tstep=1\n"
		      "\t\tcase ${COMP_WORDS[word]} in\n"
		      "\t\t--) options=''; ((word++)); break ;;\n");
	add_steps(out, common);
	add_steps(out, command->options);
	text_add(out, "\t\t-*) ;;\n"
		      "\t\t*) break ;;\n"
		      "\t\tesac\n"
		      "\t\t# Bash takes --name=value for three words.\n"
		      "\t\t[[ ${COMP_WORDS[word+1]} != = ]] || step=3\n"
		      "\tdone\n");
}

/* _command_offset is a function of bash-completion; without that package complete file names. */
static void add_command(struct text *out)
{
	text_add(out, "\tif ((word < COMP_CWORD)); then\n"
		      "\t\tif declare -F _command_offset >/dev/null; then\n"
		      "\t\t\t_command_offset \"$word\"\n"
		      "\t\telse\n"
		      "\t\t\tcompopt -o filenames\n"
		      "\t\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
		      "\t\tfi\n"
		      "\t\treturn\n"
		      "\tfi\n");
}

/* Bash leaves $first empty after an operand of the verb. A word after an option may be its value.
 */
static void add_first(struct text *out)
{
	text_add(out, "\tlocal first=1 i\n"
		      "\tfor ((i = word + 1; i < COMP_CWORD; i++)); do\n"
		      "\t\t[[ ${COMP_WORDS[i]} == [-=]* || ${COMP_WORDS[i-1]} == [-=]* ]] || "
		      "first=''\n"
		      "\tdone\n");
}

/* Of the -W list bash expands the command, and its output only into words. */
static void add_listed_operand(struct text *out, const struct verb_spec *verb)
{
	text_addf(out, "mapfile -t COMPREPLY < <(compgen %s-W '$(%s 2>/dev/null)' -- \"$cur\")",
		  verb->operand_kind == OPERAND_COMMAND ? "-c -f " : "", verb->lister);
}

/* "ID...", but not "KEY VALUE" or "create NAME..." */
static bool repeats_first(const struct verb_spec *verb)
{
	const char *dots = strstr(verb->operands, "...");

	return dots && !memchr(verb->operands, ' ', (size_t)(dots - verb->operands));
}

static void add_operand(struct text *out, enum operand_kind kind)
{
	static const char *const actions[] = {
		[OPERAND_NONE] = ":",
		[OPERAND_PATH] = ("compopt -o filenames; "
				  "mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")"),
		[OPERAND_COMMAND] = "mapfile -t COMPREPLY < <(compgen -c -f -- \"$cur\")",
		[OPERAND_WORD] = ":",
	};

	text_add(out, actions[kind]);
}

static void add_operands(struct text *out, const struct verb_spec *verb)
{
	bool repeats = verb->lister && repeats_first(verb);

	if (verb->lister) {
		text_add(out, repeats ? "else " : "elif [[ $first ]]; then ");
		add_listed_operand(out, verb);
		text_add(out, repeats ? "" : "; ");
	}
	if (repeats)
		return;
	text_add(out, "else ");
	add_operand(out, verb->operand_kind);
}

static void add_all_value_cases(struct text *out, const struct command *command,
				const struct option_spec *common)
{
	text_add(out, "\tcase $prev in\n");
	add_value_cases(out, common);
	add_value_cases(out, command->options);
	text_add(out, "\tesac\n");
	if (!command->verbs)
		return;
	text_add(out, "\t((word >= COMP_CWORD)) || verb=${COMP_WORDS[word]}\n"
		      "\tcase \"$verb $prev\" in\n");
	for (const struct verb_spec *verb = command->verbs; verb->name; verb++)
		add_verb_value_cases(out, verb);
	text_add(out, "\tesac\n");
}

static void add_verb_cases(struct text *out, const struct command *command)
{
	text_add(out, "\tcase $verb in\n");
	for (const struct verb_spec *verb = command->verbs; verb->name; verb++) {
		text_addf(out, "\t%s) if [[ $cur == -* ]]; then options+='", verb->name);
		add_names(out, verb->options);
		text_add(out, "'; ");
		add_operands(out, verb);
		text_add(out, "; fi ;;\n");
	}
	text_add(out, "\t'') [[ $cur == -* ]] || mapfile -t COMPREPLY < <(compgen -W '");
	for (const struct verb_spec *verb = command->verbs; verb->name; verb++)
		text_addf(out, "%s%s", verb == command->verbs ? "" : " ", verb->name);
	text_add(out, "' -- \"$cur\") ;;\n\tesac\n");
}

void completion_add_bash(struct text *out, const struct command *command,
			 const struct option_spec *common)
{
	text_addf(out, "# Made by %s --completion=bash from the table that parses.\n\n",
		  command->name);
	completion_add_function_name(out, command->name);
	text_add(out, "()\n{\n"
		      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
		      "\tlocal options verb='' word step\n\n"
		      "\tCOMPREPLY=()\n"
		      "\toptions='");
	add_names(out, common);
	add_names(out, command->options);
	text_add(out, "'\n");
	add_walk(out, command, common);
	if (command->operand_kind == OPERAND_COMMAND)
		add_command(out);
	text_add(out,
		 "\tif [[ $cur == = ]]; then\n\t\tcur=''\n"
		 "\telif [[ $prev == = ]]; then\n\t\tprev=${COMP_WORDS[COMP_CWORD-2]}\n\tfi\n");
	add_all_value_cases(out, command, common);
	if (command->verbs) {
		add_first(out);
		add_verb_cases(out, command);
	} else {
		text_add(out, "\t[[ $cur == -* ]] || { ");
		add_operand(out, command->operand_kind);
		text_add(out, "; }\n");
	}
	text_add(out, "\t[[ $cur != -* ]] || "
		      "mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$cur\")\n}\n"
		      "complete -F ");
	completion_add_function_name(out, command->name);
	text_addf(out, " %s\n", command->name);
}
