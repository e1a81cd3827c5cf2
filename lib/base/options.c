/* SPDX-License-Identifier: MIT */

/*
 * Parsing of command lines
 *
 * Every kind of option is one row of a table: does it take a value, and how is the value checked
 * and stored. A parse walks argv once; operands are moved to the front as they are met, which is
 * safe because there are never more operands than words already read.
 */

#include "base/options.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "base/suggest.h"
#include "base/units.h"

/* An option as the user wrote it, for messages: "--policy" or "-p". */
struct written {
	const char *word;
	int len;
};

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
	char list[256] = "";
	size_t len = 0;

	for (const char *const *choice = spec->choices; *choice; choice++) {
		if (strcmp(*choice, value) == 0) {
			*(const char **)slot = *choice;
			return 0;
		}
		if (len + strlen(*choice) + 3 < sizeof(list))
			len = (size_t)(stpcpy(stpcpy(list + len, len > 0 ? ", " : ""), *choice) -
				       list);
	}
	sbx_error_why(err, "it takes one of: %s", list);
	sbx_error_fix(err, near ? "did you mean '%s'?" : "write one of them, such as '%s'",
		      near ? near : spec->choices[0]);
	return bad_value(as, value, err);
}

static int store_number(const struct option_spec *spec, void *slot, const char *value,
			struct written as, struct sbx_error *err)
{
	if (units_parse_count(value, slot, err) < 0)
		return bad_value(as, value, err);
	return 0;
}

static int store_size(const struct option_spec *spec, void *slot, const char *value,
		      struct written as, struct sbx_error *err)
{
	if (units_parse_size(value, slot, err) < 0)
		return bad_value(as, value, err);
	return 0;
}

static int store_time(const struct option_spec *spec, void *slot, const char *value,
		      struct written as, struct sbx_error *err)
{
	if (units_parse_time(value, slot, err) < 0)
		return bad_value(as, value, err);
	return 0;
}

static int store_fd(const struct option_spec *spec, void *slot, const char *value,
		    struct written as, struct sbx_error *err)
{
	uint64_t number;

	if (units_parse_count(value, &number, err) < 0)
		return bad_value(as, value, err);
	if (number > INT_MAX || fcntl((int)number, F_GETFD) < 0) {
		sbx_error_why(err, "no file is open under this number");
		sbx_error_fix(err, "open it in the shell: %.*s=%s %s<FILE", as.len, as.word, value,
			      value);
		return bad_value(as, value, err);
	}
	*(int *)slot = (int)number;
	return 0;
}

static int store_list(const struct option_spec *spec, void *slot, const char *value,
		      struct written as, struct sbx_error *err)
{
	struct option_list *list = slot;
	const char **items;

	items = reallocarray(list->items, list->n_items + 1, sizeof(*items));
	if (!items)
		return sbx_error_what(err, -ENOMEM, "cannot store option '%.*s'", as.len, as.word);
	items[list->n_items] = value;
	list->items = items;
	list->n_items++;
	return 0;
}

struct kind {
	bool takes_value;
	int (*store)(const struct option_spec *spec, void *slot, const char *value,
		     struct written as, struct sbx_error *err);
};

static const struct kind kinds[] = {
	[OPTION_FLAG] = { false, store_flag },	  [OPTION_COUNT] = { false, store_count },
	[OPTION_STRING] = { true, store_string }, [OPTION_PATH] = { true, store_path },
	[OPTION_CHOICE] = { true, store_choice }, [OPTION_NUMBER] = { true, store_number },
	[OPTION_SIZE] = { true, store_size },	  [OPTION_TIME] = { true, store_time },
	[OPTION_FD] = { true, store_fd },	  [OPTION_LIST] = { true, store_list },
};

/* A row and the struct that its value lands in. */
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

static int unknown(const struct option_group *groups, struct written as, const char *name,
		   struct sbx_error *err)
{
	const char *near = suggest(name, (struct suggest_words){ nth_name, groups });
	int r = sbx_error_what(err, -EINVAL, "unknown option '%.*s'", as.len, as.word);

	sbx_error_why(err, "no option of this name exists here");
	if (near)
		sbx_error_fix(err, "did you mean '--%s'?", near);
	else
		sbx_error_fix(err, "see --help for the options");
	return r;
}

/* The words of the command line and how far they are read. */
struct cursor {
	char **argv;
	int argc;
	int at;
};

static int store(struct found found, const char *glued, struct cursor *cursor, struct written as,
		 struct sbx_error *err)
{
	const struct option_spec *spec = found.spec;
	const struct kind *kind = &kinds[spec->kind];
	const char *value = glued;
	int r;

	if (!kind->takes_value && glued) {
		r = sbx_error_what(err, -EINVAL, "option '%.*s' takes no value", as.len, as.word);
		sbx_error_why(err, "it is a switch; '%s' was given", glued);
		sbx_error_fix(err, "write only '%.*s'", as.len, as.word);
		return r;
	}
	if (kind->takes_value && !value && cursor->at < cursor->argc)
		value = cursor->argv[cursor->at++];
	if (kind->takes_value && !value) {
		r = sbx_error_what(err, -EINVAL, "option '%.*s' needs %s", as.len, as.word,
				   spec->metavar);
		sbx_error_why(err, "nothing follows it");
		sbx_error_fix(err, "write '--%s=%s'", spec->name, spec->metavar);
		return r;
	}
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
		return unknown(groups, as, name, err);
	}
	return store(found, word[len] == '=' ? word + len + 1 : NULL, cursor, as, err);
}

/* One word may hold several letters; the first that takes a value takes the rest of the word. */
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
			return unknown(groups, as, letter == word + 1 ? letter : "", err);
		takes_value = kinds[found.spec->kind].takes_value;
		r = store(found, takes_value && letter[1] != '\0' ? letter + 1 : NULL, cursor, as,
			  err);
		if (r < 0)
			return r;
		if (takes_value)
			return 0;
	}
	return 0;
}

int options_parse(const struct option_group *groups, bool stops_at_operand, int argc, char *argv[],
		  struct sbx_error *err)
{
	struct cursor cursor = { .argv = argv, .argc = argc, .at = 1 };
	bool only_operands = false;
	int n_operands = 0, r;

	while (cursor.at < argc) {
		char *word = argv[cursor.at++];

		if (only_operands || word[0] != '-' || word[1] == '\0') {
			only_operands |= stops_at_operand;
			argv[n_operands++] = word;
			continue;
		}
		if (strcmp(word, "--") == 0) {
			only_operands = true;
			continue;
		}
		r = word[1] == '-' ? parse_long(groups, word, &cursor, err)
				   : parse_short(groups, word, &cursor, err);
		if (r < 0)
			return r;
	}
	return n_operands;
}

void options_release(const struct option_group *groups)
{
	for (const struct option_group *group = groups; group->options; group++)
		for (const struct option_spec *spec = group->options; spec->name; spec++) {
			struct option_list *list = (void *)((char *)group->values + spec->offset);

			if (spec->kind != OPTION_LIST)
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

int options_check_operands(const struct command *command, const struct verb_spec *verb,
			   int n_operands, struct sbx_error *err)
{
	unsigned min = verb ? verb->min_operands : command->min_operands;
	unsigned max = verb ? verb->max_operands : command->max_operands;
	const char *operands = verb ? verb->operands : command->operands;
	unsigned n = (unsigned)n_operands;
	int r;

	if (n >= min && n <= max)
		return 0;
	r = sbx_error_what(err, -EINVAL, n < min ? "too few words" : "too many words");
	sbx_error_why(err, "%u given where %s takes %s", n, verb ? verb->name : command->name,
		      operands ? operands : "none");
	sbx_error_fix(err, "write: %s%s%s%s%s", command->name, verb ? " " : "",
		      verb ? verb->name : "", operands ? " " : "", operands ? operands : "");
	return r;
}
