/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Command lines as tables
 *
 * A tool is described by one const struct command: its options, its verbs and their options.
 * Parsing, --help, suggestions, the completions of three shells (base/completion) and the check of
 * the man page use it. Parsed values are stored in structs of the tool, at the offset in the
 * table's row.
 */

#include <stdbool.h>
#include <stddef.h>

struct sbx_error;
struct text;

/* The kind of a value: how it is checked, stored and completed. */
enum option_kind {
	OPTION_FLAG,   /* bool: true when given */
	OPTION_COUNT,  /* int: how many times it was given */
	OPTION_STRING, /* const char *, into argv */
	OPTION_PATH,   /* const char *, into argv; shells complete file names */
	OPTION_CHOICE, /* const char *, one of the row's choices */
	OPTION_NUMBER, /* uint64_t */
	OPTION_SIZE,   /* uint64_t bytes */
	OPTION_TIME,   /* uint64_t microseconds */
	OPTION_FD,     /* int: the number of an open fd; -EBADF when not given (options_init()) */
	OPTION_LIST,   /* struct option_list: every value that was given, in order */
	OPTION_PATHS,  /* the same; shells complete file names */
};

struct option_list {
	const char **items; /* into argv */
	size_t n_items;
};

struct option_spec {
	const char *name; /* long name without dashes; NULL ends the table */
	char letter;	  /* short name or 0 */
	enum option_kind kind;
	size_t offset;		    /* of the value in the struct of values */
	const char *metavar;	    /* "FILE"; NULL for flags and counts */
	const char *const *choices; /* NULL-terminated; OPTION_CHOICE takes no other word,
				       OPTION_LIST leaves the check to the tool */
	const char *help;	    /* one line, no full stop */
	bool is_above_zero; /* OPTION_NUMBER, _SIZE, _TIME: 0 is refused, which could mean none or
			       any */
	bool is_once;	    /* refused if given twice: the second value would replace the first */
	const char
		*redirection; /* OPTION_FD: how a shell opens it, ">FILE"; NULL: it is a socket */
	const char *opener;   /* of a socket: a command that starts another one with it, or NULL */
	/* The i-th of the words that the tool accepts, where they are not an array of choices, for
	 * completions; NULL after the last. @list is not used. */
	const char *(*word)(const void *list, size_t i);
	const char *lister; /* a command that prints the words to choose from, a line each, which
			       no shell would expand; NULL: there is none */
};

/*
 * A row whose value is @member of struct @values. The members that few rows have follow the help,
 * by their names: .choices = words. Files with many rows name the struct once, in a macro OPTION.
 */
#define OPTION_ROW(values, long_name, short_name, type, member, meta, text, ...)                   \
	{                                                                                          \
		.name = long_name, .letter = short_name, .kind = type,                             \
		.offset = offsetof(values, member), .metavar = meta, .help = text, __VA_ARGS__     \
	}

#define OPTION_END                                                                                 \
	{                                                                                          \
		.name = NULL                                                                       \
	}

/* The kind of operands, for completions. */
enum operand_kind {
	OPERAND_NONE,
	OPERAND_PATH,
	OPERAND_COMMAND, /* a command and its arguments */
	OPERAND_WORD,
};

#define OPERANDS_ANY ((unsigned)-1)

/* @context is passed through by the parser; returns an exit status, or negative errno with @err. */
typedef int verb_fn(void *context, int n_operands, char *operands[], struct sbx_error *err);

struct verb_spec {
	const char *name;     /* NULL ends the table */
	const char *operands; /* "FILE..." for --help; NULL for none */
	enum operand_kind operand_kind;
	const char *lister; /* as of an option */
	unsigned min_operands;
	unsigned max_operands; /* OPERANDS_ANY */
	const struct option_spec
		*options;    /* may be NULL; offsets into the same struct as the tool's options */
	bool ignores_config; /* runs even if the configuration is invalid, with the defaults */
	const char *help;
	verb_fn *run;
};

/* An option of a similar program, which the tool lacks, and what to do instead. */
struct option_other {
	const char *name; /* without dashes; NULL ends the table */
	const char *program;
	const char *fix;
};

struct command {
	const char *name;
	const char *summary;  /* one line, no full stop */
	const char *operands; /* without verbs: "[--] COMMAND [ARGUMENT...]"; NULL for none */
	enum operand_kind operand_kind;
	unsigned min_operands;
	unsigned max_operands;
	bool stops_at_operand; /* arguments after the first operand are operands, even if they look
				  like options */
	bool ignores_config;   /* for a tool without verbs */
	const struct option_spec *options;
	const struct option_other *others; /* may be NULL; for a tool without verbs */
	const struct verb_spec *verbs;	   /* NULL: a tool without verbs */
	const char *first_verb;		   /* suggested if no verb is given; NULL: the first one */
	verb_fn *run;			   /* without a verb; NULL: the tool needs one */
};

/* One table and the struct that its offsets point into. A group array ends with a NULL table. */
struct option_group {
	const struct option_spec *options;
	void *values;
};

/*
 * Stores the options of argv[1...] and moves the operands to the front of @argv (argv[0] becomes
 * the first one).
 *
 * "--" ends the options. With @stops_at_operand so does the first operand; without it options may
 * follow operands. Values: --name=VALUE, --name VALUE, -nVALUE, -n VALUE; letters of flags may
 * share a dash (-qv).
 *
 * Returns the number of operands, or -EINVAL with @err filled (unknown option with "did you mean",
 * missing or unwanted value, a value of the wrong kind). The first mistake is reported; the
 * arguments after it are still parsed, so that the values of valid options are set. @others may be
 * NULL.
 */
int options_parse(const struct option_group *groups, const struct option_other *others,
		  bool stops_at_operand, int argc, char *argv[], struct sbx_error *err);
/*
 * The same for a tool with verbs: the first operand is the verb and is not counted as an operand.
 * The verb's own options may follow it; "--" ends all options, even before the verb. @groups ends
 * with two groups without a table, of which the first names the values of the verb's options.
 * *@ret_verb is NULL without a verb.
 */
int options_parse_verb(struct option_group *groups, const struct command *command, int argc,
		       char *argv[], const struct verb_spec **ret_verb, struct sbx_error *err);
/* Initialises values whose "not given" is not 0: fds. Call it before parsing, on zeroed values. */
void options_init(const struct option_group *groups);
/* Was the option given? A number that is 0 counts as not given. The row's offset is relative to
 * @values. */
bool option_is_given(const struct option_spec *spec, const void *values);
/* Frees the values of lists. */
void options_release(const struct option_group *groups);

/* The verb of that name, or NULL with "did you mean" in @err. */
const struct verb_spec *options_find_verb(const struct command *command, const char *name,
					  struct sbx_error *err);
/* -EINVAL with @err unless min <= n_operands <= max. */
int options_check_operands(const struct command *command, const struct verb_spec *verb,
			   int n_operands, struct sbx_error *err);

/* The text of --help, at most 80 columns wide; @common is the table that all tools share. @verb may
 * be NULL. */
void options_add_help(struct text *out, const struct command *command, const struct verb_spec *verb,
		      const struct option_spec *common);
