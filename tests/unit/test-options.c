/* SPDX-License-Identifier: MIT */
#include "base/options.h"

#include <errno.h>
#include <stdint.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/text.h"

#include "test.h"

struct values {
	bool flag;
	int count;
	const char *string;
	const char *path;
	const char *choice;
	uint64_t number;
	uint64_t size;
	uint64_t time;
	int fd;
	struct option_list list;
};

#define ROW(member, letter_, kind_, metavar_)                                                      \
	{                                                                                          \
		.name = #member, .letter = (letter_), .kind = (kind_),                             \
		.offset = offsetof(struct values, member), .metavar = (metavar_),                  \
		.help = "help " #member                                                            \
	}

static const char *const choices[] = { "auto", "always", "never", NULL };

static const struct option_spec table[] = {
	ROW(flag, 'f', OPTION_FLAG, NULL),
	ROW(count, 'c', OPTION_COUNT, NULL),
	ROW(string, 's', OPTION_STRING, "TEXT"),
	ROW(path, 'p', OPTION_PATH, "FILE"),
	{ .name = "choice",
	  .kind = OPTION_CHOICE,
	  .offset = offsetof(struct values, choice),
	  .metavar = "WHEN",
	  .choices = choices,
	  .help = "help choice" },
	ROW(number, 0, OPTION_NUMBER, "N"),
	ROW(size, 0, OPTION_SIZE, "SIZE"),
	ROW(time, 0, OPTION_TIME, "TIME"),
	ROW(fd, 0, OPTION_FD, "FD"),
	ROW(list, 'l', OPTION_LIST, "WORD"),
	OPTION_END,
};

#define MAX_WORDS 16

struct parsed {
	struct values values;
	struct sbx_error err;
	char *argv[MAX_WORDS + 1];
	int r;
};

/* @words are separated by single spaces; "tool" is prepended. */
static void parse(struct parsed *parsed, bool stops, char *words)
{
	struct option_group groups[] = { { table, &parsed->values }, { NULL, NULL } };
	int argc = 0;

	*parsed = (struct parsed){ .r = 0 };
	parsed->argv[argc++] = (char *)"tool";
	for (char *word; (word = strsep(&words, " ")) && argc < MAX_WORDS;)
		parsed->argv[argc++] = word;
	parsed->r = options_parse(groups, NULL, stops, argc, parsed->argv, &parsed->err);
}

static void release(struct parsed *parsed)
{
	options_release((struct option_group[]){ { table, &parsed->values }, { NULL, NULL } });
}

static void reads_every_kind_of_value(void)
{
	char words[] = "-fcc --string=a --path b --choice=always --number 7 --size=2KiB --time=3ms "
		       "--fd=2 -lx -l y";
	_cleanup_(release) struct parsed p;

	parse(&p, false, words);
	expect_eq(p.r, 0);
	expect(p.values.flag);
	expect_eq(p.values.count, 2);
	expect_str(p.values.string, "a");
	expect_str(p.values.path, "b");
	expect_str(p.values.choice, "always");
	expect_eq(p.values.number, 7);
	expect_eq(p.values.size, 2048);
	expect_eq(p.values.time, 3000);
	expect_eq(p.values.fd, 2);
	expect_eq(p.values.list.n_items, 2);
	expect_str(p.values.list.items[1], "y");
}

static void options_may_follow_operands(void)
{
	char words[] = "one -f two --string=s three";
	_cleanup_(release) struct parsed p;

	parse(&p, false, words);
	expect_eq(p.r, 3);
	expect_str(p.argv[0], "one");
	expect_str(p.argv[1], "two");
	expect_str(p.argv[2], "three");
	expect(p.values.flag);
}

static void options_after_the_command_belong_to_it(void)
{
	char words[] = "-f ls -l --string=s -- x";
	_cleanup_(release) struct parsed p;

	parse(&p, true, words);
	expect_eq(p.r, 5);
	expect_str(p.argv[0], "ls");
	expect_str(p.argv[1], "-l");
	expect_str(p.argv[3], "--");
	expect(p.values.string == NULL);
	expect_eq(p.values.list.n_items, 0);
}

static void two_dashes_end_the_options(void)
{
	char words[] = "-f -- -c --nonsense";
	_cleanup_(release) struct parsed p;

	parse(&p, false, words);
	expect_eq(p.r, 2);
	expect_str(p.argv[0], "-c");
	expect_str(p.argv[1], "--nonsense");
	expect_eq(p.values.count, 0);
}

static void a_single_dash_is_an_operand(void)
{
	char words[] = "- -f";
	_cleanup_(release) struct parsed p;

	parse(&p, false, words);
	expect_eq(p.r, 1);
	expect_str(p.argv[0], "-");
	expect(p.values.flag);
}

static void an_option_may_take_a_value_that_looks_like_one(void)
{
	char words[] = "--string --flag -s -f";
	_cleanup_(release) struct parsed p;

	parse(&p, false, words);
	expect_eq(p.r, 0);
	expect_str(p.values.string, "-f");
	expect(!p.values.flag);
}

static void survives_an_empty_argv(void)
{
	struct values values = { .flag = false };
	struct option_group groups[] = { { table, &values }, { NULL, NULL } };
	char *argv[] = { NULL };

	expect_eq(options_parse(groups, NULL, false, 0, argv, NULL), 0);
}

static void refuses_with_the_reason_and_the_fix(void)
{
	static const struct {
		const char *words, *what, *fix;
	} rows[] = {
		{ "--strin=x", "unknown option '--strin'", "did you mean '--string'?" },
		{ "--flga", "unknown option '--flga'", "did you mean '--flag'?" },
		{ "--zzzzz", "unknown option '--zzzzz'", "see --help for the options" },
		{ "-z", "unknown option '-z'", "see --help for the options" },
		{ "-fz", "unknown option '-z'", "see --help for the options" },
		{ "-string", "unknown option '-t'", NULL },
		{ "--string", "option '--string' needs TEXT", "write '--string=TEXT'" },
		{ "-s", "option '-s' needs TEXT", "write '--string=TEXT'" },
		{ "--string --", "option '--string' needs TEXT", "write '--string=TEXT'" },
		{ "-s -- b", "option '-s' needs TEXT", "write '--string=TEXT'" },
		{ "--string=--", NULL, NULL },
		{ "-s--", NULL, NULL },
		{ "--flag=yes", "option '--flag' takes no value", "write only '--flag'" },
		{ "--choice=alway", "option '--choice' cannot take 'alway'",
		  "did you mean 'always'?" },
		{ "--choice=", "option '--choice' cannot take ''",
		  "write one of them, such as 'auto'" },
		{ "--path=", "option '--path' cannot take ''", NULL },
		{ "--number=-1", "option '--number' cannot take '-1'", NULL },
		{ "--size=10mb", "option '--size' cannot take '10mb'", NULL },
		{ "--time=10", "option '--time' cannot take '10'", NULL },
		{ "--fd=99999", "option '--fd' cannot take '99999'", NULL },
		{ "--fd=99999999999", "option '--fd' cannot take '99999999999'", NULL },
		{ "--", NULL, NULL },
		{ "--=x", "unknown option '--'", "see --help for the options" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		_cleanup_(release) struct parsed p;
		_cleanup_free_ char *words = strdup(rows[i].words);

		parse(&p, false, words);
		if (!rows[i].what) {
			expect_eq(p.r, 0);
			continue;
		}
		if (strcmp(rows[i].words, "-string") == 0) {
			/* -s takes the rest of the word: "tring". */
			expect_eq(p.r, 0);
			expect_str(p.values.string, "tring");
			continue;
		}
		expect_eq(p.r, -EINVAL);
		expect_str(p.err.what, rows[i].what);
		expect(p.err.why[0] != '\0');
		expect(p.err.fix[0] != '\0');
		if (rows[i].fix)
			expect_str(p.err.fix, rows[i].fix);
	}
}

static void without_one_an_fd_is_none_and_0_is_one(void)
{
	struct values values = { .flag = false };
	struct option_group groups[] = { { table, &values }, { NULL, NULL } };
	char *argv[] = { (char *)"tool", (char *)"--fd=0", NULL };

	options_init(groups);
	expect(values.fd < 0);
	expect_eq(options_parse(groups, NULL, false, 2, argv, NULL), 0);
	expect_eq(values.fd, 0);
}

static void knows_what_was_given(void)
{
	char words[] = "-f -c --string= --path b --choice=auto --number 7 --size=2KiB --time=3ms "
		       "--fd=0 -lx";
	struct values none = { .flag = false };
	_cleanup_(release) struct parsed p;

	options_init((struct option_group[]){ { table, &none }, { NULL, NULL } });
	parse(&p, false, words);
	expect_eq(p.r, 0);
	for (const struct option_spec *spec = table; spec->name; spec++) {
		expect(option_is_given(spec, &p.values));
		expect(!option_is_given(spec, &none));
	}
}

static const struct option_spec once[] = {
	{ .name = "path",
	  .letter = 'p',
	  .kind = OPTION_PATH,
	  .offset = offsetof(struct values, path),
	  .metavar = "FILE",
	  .is_once = true },
	{ .name = "fd",
	  .kind = OPTION_FD,
	  .offset = offsetof(struct values, fd),
	  .metavar = "N",
	  .is_once = true },
	OPTION_END,
};

static void refuses_a_second_where_the_first_would_not_count(void)
{
	static const struct {
		const char *first, *second, *what;
	} rows[] = {
		{ "-pa", "--path=b", "option '--path' is given twice" },
		{ "--path=a", "-pa", "option '-p' is given twice" },
		{ "--fd=0", "--fd=1", "option '--fd' is given twice" },
		{ "--fd=0", "-pa", NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct values values = { .flag = false };
		struct option_group groups[] = { { once, &values }, { NULL, NULL } };
		struct sbx_error err = { .code = 0 };
		_cleanup_free_ char *first = strdup(rows[i].first);
		_cleanup_free_ char *second = strdup(rows[i].second);
		char *argv[] = { (char *)"tool", first, second, NULL };

		options_init(groups);
		expect_eq(options_parse(groups, NULL, false, 3, argv, &err),
			  rows[i].what ? -EINVAL : 0);
		if (rows[i].what)
			expect_str(err.what, rows[i].what);
	}
}

static void a_count_does_not_overflow(void)
{
	char words[] = "-ccccccccccccccc";
	_cleanup_(release) struct parsed p;

	parse(&p, false, words);
	expect_eq(p.r, 0);
	expect_eq(p.values.count, 9);
}

static int run_nothing(void *context, int n, char *operands[], struct sbx_error *err)
{
	return 0;
}

static const struct verb_spec verbs[] = {
	{ .name = "check",
	  .operands = "FILE...",
	  .operand_kind = OPERAND_PATH,
	  .min_operands = 1,
	  .max_operands = OPERANDS_ANY,
	  .options = table,
	  .help = "checks files",
	  .run = run_nothing },
	{ .name = "list", .help = "lists things", .run = run_nothing },
	{ .name = NULL },
};

static const struct command command = { .name = "sbx-x", .summary = "Does x.", .verbs = verbs };

static void finds_verbs_and_names_the_one_that_was_meant(void)
{
	struct sbx_error err = { .code = 0 };

	expect(options_find_verb(&command, "list", &err) == &verbs[1]);
	expect(options_find_verb(&command, "chekc", &err) == NULL);
	expect_str(err.what, "unknown verb 'chekc'");
	expect_str(err.fix, "did you mean 'sbx-x check'?");
	expect(options_find_verb(&command, "", &err) == NULL);
	expect_str(err.fix, "see 'sbx-x --help' for the verbs");
}

static const struct option_spec before_verbs[] = { ROW(flag, 'j', OPTION_FLAG, NULL), OPTION_END };

/* The same with verbs; options of the tool before or after the verb go to @flag, those of the verb
 * to @values. */
struct parsed_verb {
	struct values flags;
	struct parsed own;
	const struct verb_spec *verb;
};

static void parse_verb(struct parsed_verb *parsed, char *words)
{
	struct option_group groups[] = { { before_verbs, &parsed->flags },
					 { NULL, &parsed->own.values },
					 { NULL, NULL } };
	int argc = 0;

	*parsed = (struct parsed_verb){ .verb = NULL };
	parsed->own.argv[argc++] = (char *)"tool";
	for (char *word; (word = strsep(&words, " ")) && argc < MAX_WORDS;)
		parsed->own.argv[argc++] = word;
	parsed->own.r = options_parse_verb(groups, &command, argc, parsed->own.argv, &parsed->verb,
					   &parsed->own.err);
	release(&parsed->own);
}

/* @verb is NULL if the line must be refused; @fix is the expected fix. */
static const struct {
	const char *words, *verb;
	int n_operands;
	const char *operand, *path, *fix;
	bool flag;
} verb_lines[] = {
	{ "check a", "check", 1, "a", NULL, NULL, false },
	{ "-j check a", "check", 1, "a", NULL, NULL, true },
	{ "check -j a", "check", 1, "a", NULL, NULL, true },
	{ "check a --path p -j b", "check", 2, "a", "p", NULL, true },
	{ "check -- -j", "check", 1, "-j", NULL, NULL, false },
	{ "-- check -j", "check", 1, "-j", NULL, NULL, false },
	{ "-j -- check --path", "check", 1, "--path", NULL, NULL, true },
	{ "--path p check a", NULL, 0, NULL, NULL, "write it after 'check'", false },
	{ "-pp check -j a", NULL, 0, NULL, NULL, "write it after 'check'", true },
	{ "list --path p", NULL, 0, NULL, NULL, "see --help for the options", false },
	{ "--flga list -j", NULL, 0, NULL, NULL, "did you mean '--flag'?", true },
	{ "chekc --path -j", NULL, 0, NULL, NULL, "did you mean 'sbx-x check'?", true },
	{ "check --nubmer=1 -j", NULL, 0, NULL, NULL, "did you mean '--number'?", true },
	{ "check --nubmer=1 -- -j", NULL, 0, NULL, NULL, "did you mean '--number'?", false },
	{ "check --number=x --path=p -j", NULL, 0, NULL, "p", "write a whole number", true },
};

static void reads_a_line_with_a_verb(void)
{
	for (size_t i = 0; i < N_ELEMENTS(verb_lines); i++) {
		_cleanup_free_ char *words = strdup(verb_lines[i].words);
		struct parsed_verb p;

		parse_verb(&p, words);
		expect_eq(p.flags.flag, verb_lines[i].flag);
		expect_eq(p.own.r, verb_lines[i].verb ? verb_lines[i].n_operands : -EINVAL);
		expect_str(p.own.values.path ? p.own.values.path : "",
			   verb_lines[i].path ? verb_lines[i].path : "");
		if (verb_lines[i].verb) {
			expect_str(p.verb ? p.verb->name : NULL, verb_lines[i].verb);
			expect_str(p.own.argv[0], verb_lines[i].operand);
			continue;
		}
		expect(!p.verb);
		expect(strstr(p.own.err.fix, verb_lines[i].fix) != NULL);
		if (!strstr(p.own.err.fix, verb_lines[i].fix))
			printf("# %s: %s\n", verb_lines[i].words, p.own.err.fix);
	}
}

static void a_line_without_a_verb_has_none(void)
{
	char words[] = "-j --";
	struct parsed_verb p;

	parse_verb(&p, words);
	expect_eq(p.own.r, 0);
	expect(!p.verb && p.flags.flag);
}

/* --json after a mistake still selects the format of the error; the arguments of a command are not
 * read. */
static void goes_on_behind_a_mistake_to_the_end_of_the_options(void)
{
	char ours[] = "--nubmer=1 -f";
	char theirs[] = "--nubmer=1 jq -f";
	char first[] = "--nubmer=1 --flga";
	_cleanup_(release) struct parsed p;

	parse(&p, true, ours);
	expect_eq(p.r, -EINVAL);
	expect(p.values.flag);
	parse(&p, true, theirs);
	expect_eq(p.r, -EINVAL);
	expect(!p.values.flag);
	parse(&p, true, first);
	expect_str(p.err.fix, "did you mean '--number'?");
}

static void counts_operands(void)
{
	struct sbx_error err = { .code = 0 };

	expect_eq(options_check_operands(&command, &verbs[0], 1, &err), 0);
	expect_eq(options_check_operands(&command, &verbs[0], 100, &err), 0);
	expect_eq(options_check_operands(&command, &verbs[0], 0, &err), -EINVAL);
	expect_str(err.what, "missing argument: check needs at least one FILE");
	expect_str(err.fix, "write: sbx-x check FILE...");
	expect_eq(options_check_operands(&command, &verbs[1], 1, &err), -EINVAL);
	expect_str(err.what, "too many arguments: list takes no arguments");
	expect_str(err.fix, "write: sbx-x list");
}

static void help_fits_80_columns_and_names_everything(void)
{
	_cleanup_text_ struct text help = TEXT_INIT;
	static const struct option_spec common[] = {
		{ .name = "an-option-with-quite-a-long-name",
		  .kind = OPTION_STRING,
		  .metavar = "SOMETHING",
		  .help = "a help text that is so long that it has to be broken into several "
			  "lines before the terminal does it" },
		OPTION_END,
	};
	size_t column = 0;

	options_add_help(&help, &command, NULL, common);
	expect_eq(text_status(&help), 0);
	for (const char *c = text_string(&help); *c != '\0'; c++) {
		column = *c == '\n' ? 0 : column + 1;
		expect(column <= 80);
		expect(!(*c == ' ' && c[1] == '\n'));
	}
	for (const struct option_spec *spec = table; spec->name; spec++)
		expect(strstr(text_string(&help), spec->name) != NULL);
	expect(strstr(text_string(&help), "  list  ") != NULL);
}

/* Summaries of any length, also one whose space would be in the last column. */
static void help_keeps_every_space_between_words(void)
{
	for (int n = 1; n < 60; n++) {
		_cleanup_text_ struct text help = TEXT_INIT;
		char summary[128];
		const struct command long_one = { .name = "sbx-x", .summary = summary };
		const char *at, *end;

		/* A word of @n letters, then words of one to twelve letters. */
		(void)snprintf(summary, sizeof(summary),
			       "%.*s a bb ccc dddd eeeee ffffff ggggggg %s", n,
			       "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
			       "h i j kk llllllllllll");
		options_add_help(&help, &long_one, NULL, NULL);
		expect_eq(text_status(&help), 0);
		at = strstr(text_string(&help), "\n\n") + 2;
		end = at + strlen(summary);
		/* Each space of the summary is a space or a line break of the help; nothing else
		 * differs. */
		for (const char *word = summary; at < end; at++, word++)
			expect(*at == *word || (*at == '\n' && *word == ' '));
	}
}

static void an_option_of_another_program_is_explained(void)
{
	static const struct option_other others[] = { { "ro-flag", "other", "write --flag" },
						      { NULL, NULL, NULL } };
	struct option_group groups[] = { { table, &(struct values){ 0 } }, { NULL, NULL } };
	char *argv[] = { (char *)"tool", (char *)"--ro-flag=x", NULL };
	struct sbx_error err = { .code = 0 };

	expect_eq(options_parse(groups, others, false, 2, argv, &err), -EINVAL);
	expect_str(err.what, "unknown option '--ro-flag'");
	expect_str(err.why, "it is an option of other");
	expect_str(err.fix, "write --flag");
}

static const struct test tests[] = {
	TEST(reads_every_kind_of_value),
	TEST(options_may_follow_operands),
	TEST(options_after_the_command_belong_to_it),
	TEST(two_dashes_end_the_options),
	TEST(a_single_dash_is_an_operand),
	TEST(an_option_may_take_a_value_that_looks_like_one),
	TEST(survives_an_empty_argv),
	TEST(refuses_with_the_reason_and_the_fix),
	TEST(without_one_an_fd_is_none_and_0_is_one),
	TEST(knows_what_was_given),
	TEST(refuses_a_second_where_the_first_would_not_count),
	TEST(a_count_does_not_overflow),
	TEST(finds_verbs_and_names_the_one_that_was_meant),
	TEST(reads_a_line_with_a_verb),
	TEST(a_line_without_a_verb_has_none),
	TEST(goes_on_behind_a_mistake_to_the_end_of_the_options),
	TEST(counts_operands),
	TEST(help_fits_80_columns_and_names_everything),
	TEST(help_keeps_every_space_between_words),
	TEST(an_option_of_another_program_is_explained),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
