/* SPDX-License-Identifier: MIT */

/*
 * The kinds of options: one function checks a value and stores it
 */

#include "base/options-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "base/suggest.h"
#include "base/text.h"
#include "base/units.h"

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

static int check_zero(const struct option_spec *spec, const uint64_t *number, const char *value,
		      struct written as, struct sbx_error *err)
{
	if (!spec->is_above_zero || *number > 0)
		return 0;
	sbx_error_why(err, "with 0 nothing would be possible");
	sbx_error_fix(err, "give a larger value, or leave the option out");
	return bad_value(as, value, err);
}

static int store_number(const struct option_spec *spec, void *slot, const char *value,
			struct written as, struct sbx_error *err)
{
	return units_parse_count(value, slot, err) < 0 ? bad_value(as, value, err)
						       : check_zero(spec, slot, value, as, err);
}

static int store_size(const struct option_spec *spec, void *slot, const char *value,
		      struct written as, struct sbx_error *err)
{
	return units_parse_size(value, slot, err) < 0 ? bad_value(as, value, err)
						      : check_zero(spec, slot, value, as, err);
}

static int store_time(const struct option_spec *spec, void *slot, const char *value,
		      struct written as, struct sbx_error *err)
{
	return units_parse_time(value, slot, err) < 0 ? bad_value(as, value, err)
						      : check_zero(spec, slot, value, as, err);
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
	const char **items;

	items = reallocarray(list->items, list->n_items + 1, sizeof(*items));
	if (!items)
		return sbx_error_what(err, -ENOMEM, "cannot store option '%.*s'", as.len, as.word);
	items[list->n_items] = value;
	list->items = items;
	list->n_items++;
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

const struct option_value option_values[] = {
	[OPTION_FLAG] = { false, store_flag, has_flag },
	[OPTION_COUNT] = { false, store_count, has_count },
	[OPTION_STRING] = { true, store_string, has_text },
	[OPTION_PATH] = { true, store_path, has_text },
	[OPTION_CHOICE] = { true, store_choice, has_text },
	[OPTION_NUMBER] = { true, store_number, has_number },
	[OPTION_SIZE] = { true, store_size, has_number },
	[OPTION_TIME] = { true, store_time, has_number },
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
