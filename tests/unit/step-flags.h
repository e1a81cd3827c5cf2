/* SPDX-License-Identifier: MIT */
#pragma once

/* The bools of a step as one set of flags, so that a test can compare all of them at once */

#include <string.h>

#include "base/cleanup.h"
#include "plan/step.h"

enum step_flag {
	STEP_READ_ONLY = 1 << 0,
	STEP_NO_EXEC = 1 << 1,
	STEP_DEVICES = 1 << 2,
	STEP_IS_DIRECTORY = 1 << 3,
	STEP_OPTIONAL = 1 << 4,
	STEP_OWNED = 1 << 5,
};

static inline unsigned step_flag(const struct step *step, const struct step_field *field)
{
	static const struct {
		const char *name;
		unsigned flag;
	} flags[] = {
		{ "is_read_only", STEP_READ_ONLY }, { "no_exec", STEP_NO_EXEC },
		{ "devices", STEP_DEVICES },	    { "is_directory", STEP_IS_DIRECTORY },
		{ "optional", STEP_OPTIONAL },
	};

	if (field->type == FIELD_OWNER)
		return step_field_owner(step, field)->is_set ? STEP_OWNED : 0;
	for (size_t i = 0; field->type == FIELD_BOOL && i < N_ELEMENTS(flags); i++)
		if (strcmp(field->name, flags[i].name) == 0)
			return step_field_number(step, field) ? flags[i].flag : 0;
	return 0;
}

static inline unsigned step_flags(const struct step *step)
{
	unsigned flags = 0;

	for (const struct step_field *field = step_row(step->kind)->fields; field && field->name;
	     field++)
		flags |= step_flag(step, field);
	return flags;
}

/* A step of @kind with all its strings set to @string. */
static inline struct step step_filled(enum step_kind kind, const char *string)
{
	struct step step = { .kind = kind };

	for (const struct step_field *field = step_row(kind)->fields; field && field->name; field++)
		if (field->type <= FIELD_STRING)
			memcpy((char *)&step + field->offset, &string, sizeof(string));
	return step;
}

/* The mount attributes for the set of flags. */
static inline struct mount_attributes step_attributes(unsigned flags)
{
	return (struct mount_attributes){
		.is_read_only = flags & STEP_READ_ONLY,
		.no_exec = flags & STEP_NO_EXEC,
		.devices = flags & STEP_DEVICES,
	};
}

static inline struct step step_bind(const char *source, const char *target, unsigned flags)
{
	return (struct step){
		.kind = STEP_BIND,
		.bind = {
			.source = source,
			.target = target,
			.is_directory = flags & STEP_IS_DIRECTORY,
			.attributes = step_attributes(flags),
		},
	};
}
