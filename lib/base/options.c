/* SPDX-License-Identifier: MIT */

/*
 * Parsing of command lines
 *
 * One walk over argv moves the operands to the front, which is safe because there are never more
 * operands than arguments already read. A mistake does not end the walk: the first one is reported,
 * but a --json after it still selects the format of the message.
 */

#include "base/options.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "base/array.h"
#include "base/suggest.h"
#include "base/text.h"
#include "base/units.h"

/* An option as the user wrote it, for messages: "--policy" or "-p". */
struct written {
	const char *word;
	int len;
};

/* A kind of option: does it take a value, and how is that checked and stored? */
struct option_value {
	bool takes_value;
	int (*store)(const struct option_spec *spec, void *slot, const char *value,
		     struct written as, struct sbx_error *err);
	bool (*is_given)(const void *slot);
};

/* ---- the kinds of options: one function checks a value and stores it ---- */

static int bad_value(struct written as, const char *value, struct sbx_error *err)
{
	struct sbx_error reason = err ? *err : (struct sbx_error){ .code = 0 };
	int r = sbx_error_what(err, -EINVAL, "option '%.*s' cannot take '%s'", as.len, as.word,
			       value);

	if (err) {
		memcpy(err->why, reason.why, sizeof(err->why));
		memcpy(err->fix, reason.fix, sizeof(err->fix));
	}
	return r;
}

static int store_flag(const struct option_spec *spec, void *slot, const char *value,
		      struct written as, struct sbx_error *err)
{
	*(bool *)slot = true;
	return 0;
}

static int store_count(const struct option_spec *spec, void *slot, const char *value,
		       struct written as, struct sbx_error *err)
{
	*(int *)slot += *(int *)slot < 9;
	return 0;
}

static int store_string(const struct option_spec *spec, void *slot, const char *value,
			struct written as, struct sbx_error *err)
{
	*(const char **)slot = value;
	return 0;
}

static int store_path(const struct option_spec *spec, void *slot, const char *value,
		      struct written as, struct sbx_error *err)
{
	if (value[0] == '\0') {
		sbx_error_why(err, "the path is empty");
		sbx_error_fix(err, "name a file, or leave the option out");
		return bad_value(as, value, err);
	}
	*(const char **)slot = value;
	return 0;
}

static int store_choice(const struct option_spec *spec, void *slot, const char *value,
			struct written as, struct sbx_error *err)
{
	const char *near = suggest_from(value, spec->choices);
	_cleanup_text_ struct text list = TEXT_INIT;

	for (const char *const *choice = spec->choices; *choice; choice++)
		if (strcmp(*choice, value) == 0) {
			*(const char **)slot = *choice;
			return 0;
		}
	suggest_add_all_from(&list, spec->choices);
	sbx_error_why(err, "it must be one of: %s", text_string(&list));
	sbx_error_fix(err, near ? "did you mean '%s'?" : "write one of them, such as '%s'",
		      near ? near : spec->choices[0]);
	return bad_value(as, value, err);
}

/* A count, a size or a time. */
static int store_number(const struct option_spec *spec, void *slot, const char *value,
			struct written as, struct sbx_error *err)
{
	static int (*const parsers[])(const char *text, uint64_t *ret, struct sbx_error *err) = {
		[OPTION_NUMBER] = units_parse_count,
		[OPTION_SIZE] = units_parse_size,
		[OPTION_TIME] = units_parse_time,
	};
	uint64_t *number = slot;

	if (parsers[spec->kind](value, number, err) < 0)
		return bad_value(as, value, err);
	if (!spec->is_above_zero || *number > 0)
		return 0;
	sbx_error_why(err, "with 0 nothing would be possible");
	sbx_error_fix(err, "give a larger value, or leave the option out");
	return bad_value(as, value, err);
}

static int store_fd(const struct option_spec *spec, void *slot, const char *value,
		    struct written as, struct sbx_error *err)
{
	uint64_t number;

	if (units_parse_count(value, &number, err) < 0)
		return bad_value(as, value, err);
	if (number > INT_MAX || fcntl((int)number, F_GETFD) < 0) {
		sbx_error_why(err, "no file is open under this number");
		if (spec->redirection)
			sbx_error_fix(err, "open it in the shell: %.*s=%s %s%s", as.len, as.word,
				      value, value, spec->redirection);
		else if (spec->opener)
			sbx_error_fix(err, "start it with a socket: %s", spec->opener);
		else
			sbx_error_fix(err, "it must be a socket that the program which starts this "
					   "one has opened under this number");
		return bad_value(as, value, err);
	}
	*(int *)slot = (int)number;
	return 0;
}

static int store_list(const struct option_spec *spec, void *slot, const char *value,
		      struct written as, struct sbx_error *err)
{
	struct option_list *list = slot;

	if (ARRAY_ADD(list->items, list->n_items, &value) < 0)
		return sbx_error_what(err, -ENOMEM, "cannot store option '%.*s'", as.len, as.word);
	return 0;
}

static bool has_flag(const void *slot)
{
	return *(const bool *)slot;
}

static bool has_count(const void *slot)
{
	return *(const int *)slot > 0;
}

static bool has_text(const void *slot)
{
	return *(const char *const *)slot != NULL;
}

static bool has_number(const void *slot)
{
	return *(const uint64_t *)slot > 0;
}

static bool has_fd(const void *slot)
{
	return *(const int *)slot >= 0;
}

static bool has_items(const void *slot)
{
	return ((const struct option_list *)slot)->n_items > 0;
}

/* By enum option_kind. */
static const struct option_value option_values[] = {
	[OPTION_FLAG] = { false, store_flag, has_flag },
	[OPTION_COUNT] = { false, store_count, has_count },
	[OPTION_STRING] = { true, store_string, has_text },
	[OPTION_PATH] = { true, store_path, has_text },
	[OPTION_CHOICE] = { true, store_choice, has_text },
	[OPTION_NUMBER] = { true, store_number, has_number },
	[OPTION_SIZE] = { true, store_number, has_number },
	[OPTION_TIME] = { true, store_number, has_number },
	[OPTION_FD] = { true, store_fd, has_fd },
	[OPTION_LIST] = { true, store_list, has_items },
	[OPTION_PATHS] = { true, store_list, has_items },
};

bool option_is_given(const struct option_spec *spec, const void *values)
{
	return option_values[spec->kind].is_given((const char *)values + spec->offset);
}

void options_init(const struct option_group *groups)
{
	for (const struct option_group *group = groups; group->options; group++)
		for (const struct option_spec *spec = group->options; spec->name; spec++)
			if (spec->kind == OPTION_FD)
				*(int *)((char *)group->values + spec->offset) = -EBADF;
}

/* ---- the command line ---- */

/* A row and the struct that contains its value. */
struct found {
	const struct option_spec *spec;
	void *values;
};

static struct found find_long(const struct option_group *groups, const char *name, size_t len)
{
	for (const struct option_group *group = groups; group->options; group++)
		for (const struct option_spec *spec = group->options; spec->name; spec++)
			if (strncmp(spec->name, name, len) == 0 && spec->name[len] == '\0')
				return (struct found){ spec, group->values };
	return (struct found){ NULL, NULL };
}

static struct found find_short(const struct option_group *groups, char letter)
{
	for (const struct option_group *group = groups; group->options; group++)
		for (const struct option_spec *spec = group->options; spec->name; spec++)
			if (spec->letter == letter)
				return (struct found){ spec, group->values };
	return (struct found){ NULL, NULL };
}

static const char *nth_name(const void *list, size_t i)
{
	for (const struct option_group *group = list; group->options; group++)
		for (const struct option_spec *spec = group->options; spec->name; spec++)
			if (i-- == 0)
				return spec->name;
	return NULL;
}

/* The arguments and how many of them were read. */
struct cursor {
	char **argv;
	int argc;
	int at;
	int n_operands;
	bool only_operands;
	const struct verb_spec *verbs; /* until the verb was read, then NULL */
	const struct option_other *others;
};

/* The name of the verb that has this option, if no verb was read yet. */
static const char *verb_with(const struct verb_spec *verbs, const char *name, size_t len)
{
	for (const struct verb_spec *verb = verbs; verb && verb->name; verb++) {
		const struct option_group group[] = { { verb->options, NULL }, { NULL, NULL } };

		if (len == 1 ? find_short(group, *name).spec : find_long(group, name, len).spec)
			return verb->name;
	}
	return NULL;
}

static const struct option_other *find_other(const struct option_other *others, const char *name)
{
	for (; others && others->name; others++)
		if (strcmp(others->name, name) == 0)
			return others;
	return NULL;
}

static int unknown(const struct option_group *groups, const struct cursor *cursor,
		   struct written as, const char *name, struct sbx_error *err)
{
	const char *near = suggest(name, (struct suggest_words){ nth_name, groups });
	const char *dashless = as.word + strspn(as.word, "-");
	const char *verb =
		verb_with(cursor->verbs, dashless, (size_t)as.len - (size_t)(dashless - as.word));
	const struct option_other *other = find_other(cursor->others, name);
	int r = sbx_error_what(err, -EINVAL, "unknown option '%.*s'", as.len, as.word);

	if (other) {
		sbx_error_why(err, "it is an option of %s", other->program);
		sbx_error_fix(err, "%s", other->fix);
		return r;
	}
	if (verb) {
		sbx_error_why(err, "it is an option of '%s', and must follow that verb", verb);
		sbx_error_fix(err, "write it after '%s'", verb);
		return r;
	}
	sbx_error_why(err, "there is no such option");
	if (near)
		sbx_error_fix(err, "did you mean '--%s'?", near);
	else
		sbx_error_fix(err, "see --help for the options");
	return r;
}

static int refuse_second(const struct option_spec *spec, struct written as, struct sbx_error *err)
{
	int r = sbx_error_what(err, -EINVAL, "option '%.*s' is given twice", as.len, as.word);

	sbx_error_why(err, "only one --%s can be given", spec->name);
	sbx_error_fix(err, "leave one of them out");
	return r;
}

static int refuse_missing(const struct option_spec *spec, struct written as, const char *why,
			  struct sbx_error *err)
{
	int r = sbx_error_what(err, -EINVAL, "option '%.*s' needs %s", as.len, as.word,
			       spec->metavar);

	sbx_error_why(err, "%s", why);
	sbx_error_fix(err, "write '--%s=%s'", spec->name, spec->metavar);
	return r;
}

static int store(struct found found, const char *glued, struct cursor *cursor, struct written as,
		 struct sbx_error *err)
{
	const struct option_spec *spec = found.spec;
	const struct option_value *kind = &option_values[spec->kind];
	const char *value = glued;
	int r;

	if (!kind->takes_value && glued) {
		r = sbx_error_what(err, -EINVAL, "option '%.*s' takes no value", as.len, as.word);
		sbx_error_why(err, "it is a switch, but '%s' was given", glued);
		sbx_error_fix(err, "write only '%.*s'", as.len, as.word);
		return r;
	}
	/* "--" as a word of its own ends the options: a value was forgotten before it. */
	if (kind->takes_value && !value && cursor->at < cursor->argc) {
		value = cursor->argv[cursor->at++];
		if (strcmp(value, "--") == 0)
			return refuse_missing(spec, as, "'--' follows it, which ends the options",
					      err);
	}
	if (kind->takes_value && !value)
		return refuse_missing(spec, as, "nothing follows it", err);
	if (spec->is_once && option_is_given(spec, found.values))
		return refuse_second(spec, as, err);
	return kind->store(spec, (char *)found.values + spec->offset, value, as, err);
}

static int parse_long(const struct option_group *groups, const char *word, struct cursor *cursor,
		      struct sbx_error *err)
{
	size_t len = strcspn(word, "=");
	struct written as = { .word = word, .len = (int)len };
	struct found found = find_long(groups, word + 2, len - 2);
	char name[64] = "";

	if (!found.spec) {
		if (len - 2 < sizeof(name))
			memcpy(name, word + 2, len - 2);
		return unknown(groups, cursor, as, name, err);
	}
	return store(found, word[len] == '=' ? word + len + 1 : NULL, cursor, as, err);
}

/* One argument may contain several letters; the first one that takes a value takes the rest. */
static int parse_short(const struct option_group *groups, const char *word, struct cursor *cursor,
		       struct sbx_error *err)
{
	for (const char *letter = word + 1; *letter != '\0'; letter++) {
		char dashed[] = { '-', *letter, '\0' };
		struct written as = { .word = dashed, .len = 2 };
		struct found found = find_short(groups, *letter);
		bool takes_value;
		int r;

		if (!found.spec)
			/* "-policy" was meant as "--policy"; a later letter was meant as a letter.
			 */
			return unknown(groups, cursor, as, letter == word + 1 ? letter : "", err);
		takes_value = option_values[found.spec->kind].takes_value;
		r = store(found, takes_value && letter[1] != '\0' ? letter + 1 : NULL, cursor, as,
			  err);
		if (r < 0)
			return r;
		if (takes_value)
			return 0;
	}
	return 0;
}

/* Where reading ends. */
enum until {
	UNTIL_THE_END,
	UNTIL_AN_OPERAND,
};

/* Returns the first mistake's code, or 0. */
static int read_words(const struct option_group *groups, bool stops_at_operand, enum until until,
		      struct cursor *cursor, struct sbx_error *err)
{
	int first = 0;

	while (cursor->at < cursor->argc) {
		char *word = cursor->argv[cursor->at++];
		int r;

		if (cursor->only_operands || word[0] != '-' || word[1] == '\0') {
			cursor->only_operands |= stops_at_operand;
			cursor->argv[cursor->n_operands++] = word;
			if (until == UNTIL_AN_OPERAND)
				return first;
			continue;
		}
		if (strcmp(word, "--") == 0) {
			cursor->only_operands = true;
			continue;
		}
		r = word[1] == '-' ? parse_long(groups, word, cursor, first < 0 ? NULL : err)
				   : parse_short(groups, word, cursor, first < 0 ? NULL : err);
		if (first == 0)
			first = r;
	}
	return first;
}

int options_parse(const struct option_group *groups, const struct option_other *others,
		  bool stops_at_operand, int argc, char *argv[], struct sbx_error *err)
{
	struct cursor cursor = { .argv = argv, .argc = argc, .at = 1, .others = others };
	int r = read_words(groups, stops_at_operand, UNTIL_THE_END, &cursor, err);

	return r < 0 ? r : cursor.n_operands;
}

int options_parse_verb(struct option_group *groups, const struct command *command, int argc,
		       char *argv[], const struct verb_spec **ret_verb, struct sbx_error *err)
{
	struct cursor cursor = { .argv = argv, .argc = argc, .at = 1, .verbs = command->verbs };
	const struct verb_spec *verb = NULL;
	struct option_group *last = groups;
	int first, r;

	first = read_words(groups, false, UNTIL_AN_OPERAND, &cursor, err);
	if (cursor.n_operands > 0) {
		verb = options_find_verb(command, argv[0], first < 0 ? NULL : err);
		if (!verb && first == 0)
			first = -EINVAL;
		cursor.n_operands = 0;
		cursor.verbs = NULL;
	}
	while (last->options)
		last++;
	if (verb && verb->options)
		*last = (struct option_group){ verb->options, last->values };
	r = read_words(groups, false, UNTIL_THE_END, &cursor, first < 0 ? NULL : err);
	if (first == 0)
		first = r;
	if (first < 0)
		return first;
	*ret_verb = verb;
	return cursor.n_operands;
}

void options_release(const struct option_group *groups)
{
	for (const struct option_group *group = groups; group->options; group++)
		for (const struct option_spec *spec = group->options; spec->name; spec++) {
			struct option_list *list = (void *)((char *)group->values + spec->offset);

			if (spec->kind != OPTION_LIST && spec->kind != OPTION_PATHS)
				continue;
			free(list->items);
			*list = (struct option_list){ .items = NULL };
		}
}

static const char *nth_verb(const void *list, size_t i)
{
	return ((const struct verb_spec *)list)[i].name;
}

const struct verb_spec *options_find_verb(const struct command *command, const char *name,
					  struct sbx_error *err)
{
	const char *near;

	for (const struct verb_spec *verb = command->verbs; verb->name; verb++)
		if (strcmp(verb->name, name) == 0)
			return verb;

	near = suggest(name, (struct suggest_words){ nth_verb, command->verbs });
	(void)sbx_error_what(err, -EINVAL, "unknown verb '%s'", name);
	sbx_error_why(err, "%s has no verb of this name", command->name);
	if (near)
		sbx_error_fix(err, "did you mean '%s %s'?", command->name, near);
	else
		sbx_error_fix(err, "see '%s --help' for the verbs", command->name);
	return NULL;
}

/* "at least one ID" for "ID...", else the operands as they are written. */
static void add_needed(struct text *out, const char *operands, unsigned min)
{
	size_t len = strlen(operands);

	if (min == 1 && !strchr(operands, ' ') && len > 3 && strcmp(operands + len - 3, "...") == 0)
		text_addf(out, "at least one %.*s", (int)(len - 3), operands);
	else
		text_add(out, operands);
}

int options_check_operands(const struct command *command, const struct verb_spec *verb,
			   int n_operands, struct sbx_error *err)
{
	unsigned min = verb ? verb->min_operands : command->min_operands;
	unsigned max = verb ? verb->max_operands : command->max_operands;
	const char *operands = verb ? verb->operands : command->operands;
	const char *name = verb ? verb->name : command->name;
	_cleanup_text_ struct text needed = TEXT_INIT;
	unsigned n = (unsigned)n_operands;
	int r;

	if (n >= min && n <= max)
		return 0;
	add_needed(&needed, operands ? operands : "no arguments", n < min ? min : 0);
	r = sbx_error_what(err, -EINVAL,
			   n < min ? "missing argument: %s needs %s"
				   : "too many arguments: %s takes %s",
			   name, text_string(&needed));
	if (n == 0)
		sbx_error_why(err, "no argument was given");
	else
		sbx_error_why(err, "%u argument%s given", n, n == 1 ? " was" : "s were");
	sbx_error_fix(err, "write: %s%s%s%s%s", command->name, verb ? " " : "",
		      verb ? verb->name : "", operands ? " " : "", operands ? operands : "");
	return r;
}
