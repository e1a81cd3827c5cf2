/* SPDX-License-Identifier: MIT */

/*
 * A plan as text: one line a step, then limits and notices
 *
 * A step is told by the fields of its kind, one function a type of field.
 */

#include "plan/print-internal.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"

static void add_visible(struct text *out, const char *string)
{
	text_add_visible(out, string, strlen(string));
}

static void add_names(struct text *out, const struct flag_names *names, const char *before,
		      uint64_t flags)
{
	for (size_t i = 0; i < names->n; i++)
		if (flags & names->rows[i].flag)
			text_addf(out, "%s%s", before, names->rows[i].name);
}

static void add_string(struct text *out, const struct step *step, const struct step_field *field)
{
	const char *string = step_field_string(step, field);

	if (!string || (field->type == FIELD_SOURCE && strcmp(string, step_target(step)) == 0))
		return;
	text_add(out, field->before);
	add_visible(out, string);
}

static void add_bool(struct text *out, const struct step *step, const struct step_field *field)
{
	if (step_field_number(step, field))
		text_add(out, field->before);
}

static void add_number(struct text *out, const struct step *step, const struct step_field *field)
{
	text_addf(out, "%s%" PRIu64, field->before, step_field_number(step, field));
}

static void add_bytes(struct text *out, const struct step *step, const struct step_field *field)
{
	text_add(out, field->before);
	units_add_size(out, step_field_number(step, field));
}

static void add_mode(struct text *out, const struct step *step, const struct step_field *field)
{
	text_addf(out, "%s0%" PRIo64, field->before, step_field_number(step, field));
}

static void add_bits(struct text *out, const struct step *step, const struct step_field *field)
{
	add_names(out, field->spoken, field->before, step_field_number(step, field));
}

static void add_owner(struct text *out, const struct step *step, const struct step_field *field)
{
	const struct step_owner *owner = step_field_owner(step, field);

	if (!owner->is_set)
		return;
	text_addf(out, "%s%u", field->before, owner->uid);
	if (owner->gid != STEP_NO_GID)
		text_addf(out, ":%u", owner->gid);
}

static void (*const add_field[])(struct text *out, const struct step *step,
				 const struct step_field *field) = {
	[FIELD_TARGET] = add_string, [FIELD_SOURCE] = add_string, [FIELD_STRING] = add_string,
	[FIELD_BOOL] = add_bool,     [FIELD_NUMBER] = add_number, [FIELD_BYTES] = add_bytes,
	[FIELD_MODE] = add_mode,     [FIELD_NAMES] = add_bits,	  [FIELD_OWNER] = add_owner,
};

void origin_add_text(struct text *out, const struct step_origin *origin)
{
	if (origin->kind == ORIGIN_TEMPLATE)
		text_addf(out, "template '%s'", origin->text);
	else if (origin->text)
		add_visible(out, origin->text);
	else
		text_add(out, "built-in");
}

static void add_step(struct text *out, const struct plan *plan, const struct step *step)
{
	const struct step_row *row = step_row(step->kind);
	bool is_of_tree = step->kind >= STEP_BIND && step->kind <= STEP_PTS;

	text_add(out, row->name);
	for (const struct step_field *field = row->fields; field && field->name; field++)
		if (field->before)
			add_field[field->type](out, step, field);
	if (row->tell)
		row->tell(out, plan, step);
	if (step->origin.text || is_of_tree) {
		text_add(out, "  # ");
		origin_add_text(out, &step->origin);
	}
	text_add_char(out, '\n');
}

static void add_holder(struct text *out, enum limit limit, const struct plan_limit *held)
{
	const char *part = limit_part_held(limit, held->holder);

	if (held->holder == HELD_BY_NOBODY) {
		text_add(out, " (not enforced on this host)");
		return;
	}
	text_addf(out, " by %s", holder_name(held->holder));
	if (part)
		text_addf(out, " (%s)", part);
}

static void add_limits(struct text *out, const struct plan *plan)
{
	for (int i = 0; i < N_LIMITS; i++) {
		const struct plan_limit *limit = &plan->limits[i];

		if (!limit->is_set)
			continue;
		text_addf(out, "limit %s ", limit_name((enum limit)i));
		limit_add_value(out, (enum limit)i, limit->value);
		add_holder(out, (enum limit)i, limit);
		text_add(out, "  # ");
		origin_add_text(out, &limit->origin);
		text_add_char(out, '\n');
	}
}

static void add_notices(struct text *out, const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_notices; i++) {
		text_add(out, plan->notices[i].is_weaker ? "weaker: " : "note: ");
		add_visible(out, plan->notices[i].what);
		text_add(out, " (");
		add_visible(out, plan->notices[i].why);
		text_add(out, ")\n");
	}
}

void plan_add_reached(struct text *out, const struct plan *plan, enum limit limit)
{
	static const char *const words[N_LIMITS] = {
		[LIMIT_MEMORY] = "memory",	 [LIMIT_CPU] = "processor",
		[LIMIT_PIDS] = "process",	 [LIMIT_TIME] = "time",
		[LIMIT_FILES] = "open files",	 [LIMIT_PROCESSES] = "process",
		[LIMIT_FILE_SIZE] = "file size", [LIMIT_OUTPUT] = "output",
		[LIMIT_TMP_SIZE] = "/tmp",
	};
	const struct plan_limit *reached = &plan->limits[limit];

	text_addf(out, "%s limit of ", words[limit]);
	limit_add_value(out, limit, reached->value);
	text_addf(out, " reached (%s", reached->origin.kind == ORIGIN_TEMPLATE ? "template " : "");
	add_visible(out, origin_text(&reached->origin));
	text_add_char(out, ')');
}

void plan_add_text(struct text *out, const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_steps; i++)
		add_step(out, plan, &plan->steps[i]);
	for (size_t i = 0; i < plan->n_inward; i++)
		text_addf(out, "inward 127.0.0.1:%u\n", plan->inward[i]);
	add_limits(out, plan);
	add_notices(out, plan);
}

void plan_add_layers(struct text *out, const struct plan *plan)
{
	text_addf(out, "%s:", tier_name(plan->tier));
	for (unsigned bit = 1; bit <= LAYERS_ALL; bit <<= 1)
		if (plan->layers & bit)
			text_addf(out, " %s", layer_name(bit));
	if (!(plan->layers & LAYER_LANDLOCK))
		text_add(out, " (nested: no landlock)");
}

void plan_add_tier_line(struct text *out, const struct plan *plan)
{
	const char *between = "; ";

	plan_add_layers(out, plan);
	text_addf(out, "; network %s", plan->net_mode);
	for (int i = 0; i < N_LIMITS; i++) {
		const struct plan_limit *limit = &plan->limits[i];

		if (!limit->is_set)
			continue;
		text_addf(out, "%s%s ", between, limit_name((enum limit)i));
		limit_add_value(out, (enum limit)i, limit->value);
		add_holder(out, (enum limit)i, limit);
		between = ", ";
	}
}
