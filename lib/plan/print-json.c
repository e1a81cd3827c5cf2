/* SPDX-License-Identifier: MIT */

/*
 * A plan as one JSON object
 *
 * Of the environment only names are told: a value may be a secret.
 */

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "plan/print-internal.h"

static const char *const origin_kinds[] = {
	[ORIGIN_BUILT_IN] = "built-in",
	[ORIGIN_RULE] = "rule",
	[ORIGIN_ARGUMENT] = "argument",
	[ORIGIN_TEMPLATE] = "template",
};

static const char *const stages[N_STAGES] = {
	[STAGE_SUPERVISOR] = "supervisor",
	[STAGE_BUILD] = "build",
	[STAGE_CONFINE] = "confine",
	[STAGE_COMMAND] = "command",
};

static void add_origin(struct json_writer *json, const struct step_origin *origin)
{
	json_add_name(json, "origin");
	json_add_object(json);
	json_member_string(json, "kind", origin_kinds[origin->kind]);
	if (origin->text)
		json_member_string(json, "text", origin->text);
	json_end_object(json);
}

static void add_names(struct json_writer *json, const char *member, const struct flag_names *names,
		      uint64_t flags)
{
	json_add_name(json, member);
	json_add_array(json);
	for (size_t i = 0; i < names->n; i++)
		if (flags & names->rows[i].flag)
			json_add_string(json, names->rows[i].name);
	json_end_array(json);
}

static void add_text(struct json_writer *json, const char *name, const char *text)
{
	if (text)
		json_member_string(json, name, text);
}

static void add_string(struct json_writer *json, const struct step *step,
		       const struct step_field *field)
{
	add_text(json, field->name, step_field_string(step, field));
}

static void add_bool(struct json_writer *json, const struct step *step,
		     const struct step_field *field)
{
	json_member_bool(json, field->name, step_field_number(step, field));
}

static void add_number(struct json_writer *json, const struct step *step,
		       const struct step_field *field)
{
	json_member_u64(json, field->name, step_field_number(step, field));
}

static void add_bytes(struct json_writer *json, const struct step *step,
		      const struct step_field *field)
{
	if (step_field_number(step, field) > 0)
		add_number(json, step, field);
}

/* JSON has no octal numbers: "0755" */
static void add_mode(struct json_writer *json, const struct step *step,
		     const struct step_field *field)
{
	char mode[16];

	(void)snprintf(mode, sizeof(mode), "0%o", (unsigned)step_field_number(step, field));
	json_member_string(json, field->name, mode);
}

static void add_bits(struct json_writer *json, const struct step *step,
		     const struct step_field *field)
{
	add_names(json, field->name, field->names, step_field_number(step, field));
}

static void add_owner(struct json_writer *json, const struct step *step,
		      const struct step_field *field)
{
	const struct step_owner *owner = step_field_owner(step, field);

	if (!owner->is_set)
		return;
	json_add_name(json, field->name);
	json_add_object(json);
	json_member_u64(json, "uid", owner->uid);
	if (owner->gid != STEP_NO_GID)
		json_member_u64(json, "gid", owner->gid);
	json_end_object(json);
}

static void (*const add_field[])(struct json_writer *json, const struct step *step,
				 const struct step_field *field) = {
	[FIELD_TARGET] = add_string, [FIELD_SOURCE] = add_string, [FIELD_STRING] = add_string,
	[FIELD_BOOL] = add_bool,     [FIELD_NUMBER] = add_number, [FIELD_BYTES] = add_bytes,
	[FIELD_MODE] = add_mode,     [FIELD_NAMES] = add_bits,	  [FIELD_OWNER] = add_owner,
};

static void add_step(struct json_writer *json, const struct step *step)
{
	const struct step_row *row = step_row(step->kind);

	json_add_object(json);
	json_member_string(json, "kind", row->name);
	json_member_string(json, "stage", stages[row->stage]);
	for (const struct step_field *field = row->fields; field && field->name; field++)
		add_field[field->type](json, step, field);
	add_origin(json, &step->origin);
	json_end_object(json);
}

static void add_steps(struct json_writer *json, const struct plan *plan)
{
	json_add_name(json, "steps");
	json_add_array(json);
	for (size_t i = 0; i < plan->n_steps; i++)
		add_step(json, &plan->steps[i]);
	json_end_array(json);
}

static void add_limits(struct json_writer *json, const struct plan *plan)
{
	json_add_name(json, "limits");
	json_add_object(json);
	for (int i = 0; i < N_LIMITS; i++) {
		const struct plan_limit *limit = &plan->limits[i];

		if (!limit->is_set)
			continue;
		json_add_name(json, limit_name((enum limit)i));
		json_add_object(json);
		json_member_u64(json, "value", limit->value);
		json_member_string(json, "holder", holder_name(limit->holder));
		if (limit_part_held((enum limit)i, limit->holder))
			json_member_string(json, "of",
					   limit_part_held((enum limit)i, limit->holder));
		add_origin(json, &limit->origin);
		json_end_object(json);
	}
	json_end_object(json);
}

static void add_notices(struct json_writer *json, const struct plan *plan)
{
	json_add_name(json, "notices");
	json_add_array(json);
	for (size_t i = 0; i < plan->n_notices; i++) {
		json_add_object(json);
		json_member_string(json, "what", plan->notices[i].what);
		json_member_string(json, "why", plan->notices[i].why);
		add_text(json, "fix", plan->notices[i].fix);
		json_member_bool(json, "weaker", plan->notices[i].is_weaker);
		json_end_object(json);
	}
	json_end_array(json);
}

static void add_words(struct json_writer *json, const char *name, const char *const *words)
{
	json_add_name(json, name);
	json_add_array(json);
	for (; words && *words; words++)
		json_add_string(json, *words);
	json_end_array(json);
}

static void add_variables(struct json_writer *json, const struct plan *plan)
{
	json_add_name(json, "environment");
	json_add_array(json);
	for (char *const *at = plan->environment; *at; at++)
		json_add_string_bytes(json, *at, strcspn(*at, "="));
	json_end_array(json);
}

static void add_layers(struct json_writer *json, const struct plan *plan)
{
	json_add_name(json, "layers");
	json_add_array(json);
	for (unsigned bit = 1; bit <= LAYERS_ALL; bit <<= 1)
		if (plan->layers & bit)
			json_add_string(json, layer_name(bit));
	json_end_array(json);
}

static void add_digest(struct json_writer *json, const struct plan *plan)
{
	char hex[2 * sizeof(plan->digest) + 1];

	if (!plan->has_digest)
		return;
	for (size_t i = 0; i < sizeof(plan->digest); i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", plan->digest[i]);
	json_member_string(json, "policy_digest", hex);
}

static void add_inward(struct json_writer *json, const struct plan *plan)
{
	if (plan->n_inward == 0)
		return;
	json_add_name(json, "inward");
	json_add_array(json);
	for (size_t i = 0; i < plan->n_inward; i++)
		json_add_u64(json, plan->inward[i]);
	json_end_array(json);
}

static void add_fds(struct json_writer *json, const struct plan *plan)
{
	json_add_name(json, "fds");
	json_add_array(json);
	for (size_t i = 0; i < plan->n_fds; i++)
		json_add_i64(json, plan->fds[i]);
	json_end_array(json);
}

void plan_add_json(struct text *out, const struct plan *plan)
{
	struct json_writer json;

	json_write(&json, out);
	json_add_object(&json);
	json_member_string(&json, "id", plan->id);
	json_member_string(&json, "tier", tier_name(plan->tier));
	add_layers(&json, plan);
	json_member_string(&json, "network", plan->net_mode);
	json_member_string(&json, "template", plan->template);
	add_text(&json, "policy", plan->policy);
	json_member_u64(&json, "uid", plan->uid);
	json_member_u64(&json, "gid", plan->gid);
	add_digest(&json, plan);
	add_words(&json, "argv", (const char *const *)plan->argv);
	add_variables(&json, plan);
	add_fds(&json, plan);
	add_steps(&json, plan);
	add_inward(&json, plan);
	add_limits(&json, plan);
	json_member_u64(&json, "grace_usec", plan->grace_usec);
	if (plan->deny_syscalls)
		add_words(&json, "deny_syscalls", plan->deny_syscalls);
	json_member_bool(&json, "may_exec", plan->may_exec);
	if (plan->unenforced_landlock)
		add_names(&json, "unenforced_landlock", &names_of_accesses,
			  plan->unenforced_landlock);
	add_notices(&json, plan);
	json_end_object(&json);
	text_add_char(out, '\n');
}
