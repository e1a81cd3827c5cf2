/* SPDX-License-Identifier: MIT */
#include "base/completion.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/options.h"
#include "base/text.h"

#include "test.h"

static const char *const choices[] = { "auto", "never", NULL };

static const struct option_spec options[] = {
	{ .name = "policy",
	  .letter = 'p',
	  .kind = OPTION_PATH,
	  .metavar = "FILE",
	  .help = "read FILE" },
	{ .name = "color",
	  .kind = OPTION_CHOICE,
	  .metavar = "WHEN",
	  .choices = choices,
	  .help = "it's [hard]: to quote\\" },
	OPTION_END,
};

static const struct option_spec common[] = {
	{ .name = "quiet", .letter = 'q', .kind = OPTION_FLAG, .help = "say less" },
	OPTION_END,
};

static const char *nth_layer(const void *list, size_t i)
{
	static const char *const layers[] = { "pid", "landlock", NULL };

	return layers[i];
}

static const struct option_spec check_options[] = {
	{ .name = "strict", .kind = OPTION_FLAG, .help = "warnings are errors" },
	{ .name = "layer",
	  .kind = OPTION_LIST,
	  .metavar = "LAYER",
	  .word = nth_layer,
	  .help = "may be repeated" },
	{ .name = "from",
	  .kind = OPTION_STRING,
	  .metavar = "NAME",
	  .lister = "sbx-x list",
	  .help = "one of the list" },
	OPTION_END,
};

static const struct verb_spec verbs[] = {
	{ .name = "check",
	  .operands = "FILE...",
	  .operand_kind = OPERAND_PATH,
	  .options = check_options,
	  .help = "checks: files" },
	{ .name = "list", .operand_kind = OPERAND_NONE, .help = "lists" },
	{ .name = "show",
	  .operands = "[NAME]",
	  .operand_kind = OPERAND_WORD,
	  .lister = "sbx-x list",
	  .help = "shows" },
	{ .name = NULL },
};

static const struct command with_verbs = { .name = "sbx-x", .options = options, .verbs = verbs };
static const struct command with_command = { .name = "sbx-y",
					     .options = options,
					     .operands = "COMMAND",
					     .operand_kind = OPERAND_COMMAND };

static void the_inventory_names_every_option_and_verb(void)
{
	_cleanup_text_ struct text out = TEXT_INIT;

	expect_eq(completion_add(&out, "inventory", &with_verbs, common), 0);
	expect_str(text_string(&out), "option\t-\t--quiet\t-q\n"
				      "option\t-\t--policy\t-p\n"
				      "option\t-\t--color\t-\n"
				      "verb\tcheck\n"
				      "option\tcheck\t--strict\t-\n"
				      "option\tcheck\t--layer\t-\n"
				      "option\tcheck\t--from\t-\n"
				      "verb\tlist\n"
				      "verb\tshow\n");
}

static void every_shell_offers_every_option_verb_and_choice(void)
{
	static const char *const shells[] = { "bash", "zsh", "fish" };
	static const char *const names[] = { "quiet", "policy", "color",  "auto",
					     "never", "check",	"strict", "list" };

	for (size_t i = 0; i < N_ELEMENTS(shells); i++) {
		_cleanup_text_ struct text out = TEXT_INIT;

		expect_eq(completion_add(&out, shells[i], &with_verbs, common), 0);
		for (size_t j = 0; j < N_ELEMENTS(names); j++)
			expect(strstr(text_string(&out), names[j]) != NULL);
	}
}

static void a_help_text_cannot_break_out_of_its_quotes(void)
{
	_cleanup_text_ struct text zsh = TEXT_INIT, fish = TEXT_INIT;

	expect_eq(completion_add(&zsh, "zsh", &with_verbs, common), 0);
	expect(strstr(text_string(&zsh), "[it'\\''s \\[hard\\]\\: to quote\\\\]") != NULL);
	expect_eq(completion_add(&fish, "fish", &with_verbs, common), 0);
	expect(strstr(text_string(&fish), "'it\\'s [hard]: to quote\\\\'") != NULL);
}

static void a_command_is_completed_as_a_command(void)
{
	_cleanup_text_ struct text out = TEXT_INIT;

	expect_eq(completion_add(&out, "zsh", &with_command, common), 0);
	expect(strstr(text_string(&out), "'*::COMMAND:_normal'") != NULL);
}

static void names_come_from_a_command_for_an_option_and_an_operand(void)
{
	static const struct {
		const char *shell, *option, *operand;
	} rows[] = {
		{ "bash",
		  "'check --from') mapfile -t COMPREPLY < <(compgen -W '$(sbx-x list 2>/dev/null)'",
		  "show) if [[ $cur == -* ]]; then options+=''; elif [[ $first ]]; then "
		  "mapfile -t COMPREPLY < <(compgen -W '$(sbx-x list 2>/dev/null)' -- \"$cur\"); "
		  "else :; fi" },
		{ "zsh", ":NAME:{compadd -- ${(f)\"$(sbx-x list 2>/dev/null)\"}}'",
		  "'1:\\[NAME\\]:{compadd -- ${(f)\"$(sbx-x list 2>/dev/null)\"}}'" },
		{ "fish", "-l from -x -a '(sbx-x list 2>/dev/null)'",
		  "__fish_seen_subcommand_from show' -a '(sbx-x list 2>/dev/null)'" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		_cleanup_text_ struct text out = TEXT_INIT;

		expect_eq(completion_add(&out, rows[i].shell, &with_verbs, common), 0);
		expect(strstr(text_string(&out), rows[i].option) != NULL);
		expect(strstr(text_string(&out), rows[i].operand) != NULL);
	}
}

static void words_of_a_function_are_offered_like_choices(void)
{
	static const char *const rows[][2] = {
		{ "bash", "'check --layer') mapfile -t COMPREPLY < <(compgen -W 'pid landlock'" },
		{ "zsh", "'*''--layer=[may be repeated]:LAYER:(pid landlock)'" },
		{ "fish", "-l layer -x -a 'pid landlock'" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		_cleanup_text_ struct text out = TEXT_INIT;

		expect_eq(completion_add(&out, rows[i][0], &with_verbs, common), 0);
		expect(strstr(text_string(&out), rows[i][1]) != NULL);
	}
}

static void refuses_an_unknown_shell(void)
{
	_cleanup_text_ struct text out = TEXT_INIT;

	expect_eq(completion_add(&out, "tcsh", &with_verbs, common), -EINVAL);
	expect_eq(out.len, 0);
}

static const struct test tests[] = {
	TEST(the_inventory_names_every_option_and_verb),
	TEST(every_shell_offers_every_option_verb_and_choice),
	TEST(a_help_text_cannot_break_out_of_its_quotes),
	TEST(a_command_is_completed_as_a_command),
	TEST(names_come_from_a_command_for_an_option_and_an_operand),
	TEST(words_of_a_function_are_offered_like_choices),
	TEST(refuses_an_unknown_shell),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
