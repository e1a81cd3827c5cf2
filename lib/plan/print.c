/* SPDX-License-Identifier: MIT */

/*
 * A plan as text: one line a step, then limits and notices
 *
 * What a kind has to tell beside its target stands in one table of functions.
 */

#include "plan/print-internal.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"

static const struct flag_name flag_names[] = {
	{ STEP_READ_ONLY, "read-only" }, { STEP_NO_EXEC, "no-exec" },	{ STEP_DEVICES, "devices" },
	{ STEP_IS_FOLDER, "folder" },	 { STEP_OPTIONAL, "optional" }, { STEP_OWNED, "owned" },
};

static const struct flag_name variant_names[] = {
	{ VARIANT_INET, "inet" },
	{ VARIANT_NESTED, "nested" },
	{ VARIANT_NO_MEMFD_EXEC, "no-memfd-exec" },
	{ VARIANT_PORTS, "ports" },
	{ VARIANT_NO_NAMESPACES, "no-namespaces" },
};

/* The kernel's bits, told by one of each group. */
static const struct flag_name right_names[] = {
	{ 1 << 2, "read" },    { 1 << 3, "list" },    { 1 << 1, "write" },
	{ 1 << 0, "execute" }, { 1 << 15, "device" },
};

static const struct flag_name access_names[] = {
	{ 1 << 0, "execute" },	  { 1 << 1, "write-file" }, { 1 << 2, "read-file" },
	{ 1 << 3, "read-dir" },	  { 1 << 4, "remove-dir" }, { 1 << 5, "remove-file" },
	{ 1 << 6, "make-char" },  { 1 << 7, "make-dir" },   { 1 << 8, "make-reg" },
	{ 1 << 9, "make-sock" },  { 1 << 10, "make-fifo" }, { 1 << 11, "make-block" },
	{ 1 << 12, "make-sym" },  { 1 << 13, "refer" },	    { 1 << 14, "truncate" },
	{ 1 << 15, "ioctl-dev" },
};

const struct flag_names names_of_flags = { flag_names, N_ELEMENTS(flag_names) };
const struct flag_names names_of_variants = { variant_names, N_ELEMENTS(variant_names) };
const struct flag_names names_of_rights = { right_names, N_ELEMENTS(right_names) };
const struct flag_names names_of_accesses = { access_names, N_ELEMENTS(access_names) };

static void add_names(struct text *out, const struct flag_names *names, uint64_t flags)
{
	for (size_t i = 0; i < names->n; i++)
		if (flags & names->rows[i].flag)
			text_addf(out, " %s", names->rows[i].name);
}

static void add_visible(struct text *out, const char *string)
{
	text_add_visible(out, string, strlen(string));
}

static void tell_namespaces(struct text *out, const struct plan *plan, const struct step *step)
{
	unsigned namespaces = plan->layers & ~(unsigned)(LAYER_LANDLOCK | LAYER_SECCOMP |
							 LAYER_CAPABILITIES | LAYER_CGROUP);

	for (unsigned bit = 1; bit <= LAYERS_ALL; bit <<= 1)
		if (namespaces & bit)
			text_addf(out, " %s", layer_name(bit));
}

static void tell_ids(struct text *out, const struct plan *plan, const struct step *step)
{
	text_addf(out, " uid %" PRIu64 " gid %" PRIu64, step->value, step->second);
}

static void add_size(struct text *out, uint64_t size)
{
	text_add_char(out, ' ');
	units_add_size(out, size);
}

static void tell_root(struct text *out, const struct plan *plan, const struct step *step)
{
	add_size(out, step->value);
}

static void tell_bind(struct text *out, const struct plan *plan, const struct step *step)
{
	if (strcmp(step->source, step->target) != 0) {
		text_add(out, " from ");
		add_visible(out, step->source);
	}
	add_names(out, &names_of_flags, step->flags & ~(unsigned)STEP_IS_FOLDER);
	if (step->flags & STEP_OWNED)
		text_addf(out, " by %" PRIu64 ":%" PRIu64, step->value, step->second);
}

static void tell_tmpfs(struct text *out, const struct plan *plan, const struct step *step)
{
	add_size(out, step->value);
	add_names(out, &names_of_flags, step->flags & ~(unsigned)STEP_IS_FOLDER);
}

static void tell_overlay(struct text *out, const struct plan *plan, const struct step *step)
{
	tell_bind(out, plan, step);
	text_add(out, step->text ? " changes to " : " changes are thrown away");
	if (step->text)
		add_visible(out, step->text);
}

static void tell_flags(struct text *out, const struct plan *plan, const struct step *step)
{
	add_names(out, &names_of_flags, step->flags & ~(unsigned)STEP_IS_FOLDER);
}

static void tell_mask(struct text *out, const struct plan *plan, const struct step *step)
{
	add_names(out, &names_of_flags, step->flags);
}

static void tell_text(struct text *out, const struct plan *plan, const struct step *step)
{
	text_add_char(out, ' ');
	add_visible(out, step->text);
}

static void tell_link(struct text *out, const struct plan *plan, const struct step *step)
{
	text_add(out, " to");
	tell_text(out, plan, step);
}

static void tell_mode(struct text *out, const struct plan *plan, const struct step *step)
{
	text_addf(out, " 0%" PRIo64, step->second);
}

static void tell_file(struct text *out, const struct plan *plan, const struct step *step)
{
	text_add(out, " from ");
	add_visible(out, step->source);
	tell_mode(out, plan, step);
}

static void tell_value(struct text *out, const struct plan *plan, const struct step *step)
{
	tell_text(out, plan, step);
	if (step->source)
		text_addf(out, " %s", step->source);
	else
		text_addf(out, " %" PRIu64, step->value);
}

static void tell_rlimit(struct text *out, const struct plan *plan, const struct step *step)
{
	text_addf(out, " %s %" PRIu64, step->text, step->second);
}

static void tell_landlock(struct text *out, const struct plan *plan, const struct step *step)
{
	add_names(out, &names_of_accesses, step->value);
	if (step->second)
		text_add(out, " ports");
	if (step->third)
		text_add(out, " scopes");
}

static void tell_rights(struct text *out, const struct plan *plan, const struct step *step)
{
	add_names(out, &names_of_rights, step->value);
}

static void tell_port(struct text *out, const struct plan *plan, const struct step *step)
{
	text_addf(out, " %" PRIu64 "%s%s", step->value, step->second & 1 ? " bind" : "",
		  step->second & 2 ? " connect" : "");
}

static void tell_listener(struct text *out, const struct plan *plan, const struct step *step)
{
	text_addf(out, " 127.0.0.1:%" PRIu64 " for %s", step->value, step->text);
}

static void tell_filter(struct text *out, const struct plan *plan, const struct step *step)
{
	tell_text(out, plan, step);
	add_names(out, &names_of_variants, step->flags);
	for (size_t i = 0; plan->deny_syscalls && plan->deny_syscalls[i]; i++)
		text_addf(out, " -%s", plan->deny_syscalls[i]);
}

static void tell_command(struct text *out, const struct plan *plan, const struct step *step)
{
	for (char *const *word = plan->argv; *word; word++) {
		text_add_char(out, ' ');
		add_visible(out, *word);
	}
}

static void (*const tell[N_STEP_KINDS])(struct text *out, const struct plan *plan,
					const struct step *step) = {
	[STEP_CGROUP_LIMIT] = tell_value, [STEP_SCOPE] = tell_text,
	[STEP_SCOPE_LIMIT] = tell_value,  [STEP_NAMESPACES] = tell_namespaces,
	[STEP_ID_MAP] = tell_ids,	  [STEP_ROOT] = tell_root,
	[STEP_BIND] = tell_bind,	  [STEP_TMPFS] = tell_tmpfs,
	[STEP_OVERLAY] = tell_overlay,	  [STEP_MASK] = tell_mask,
	[STEP_LINK] = tell_link,	  [STEP_FOLDER] = tell_mode,
	[STEP_FILE] = tell_file,	  [STEP_PROC] = tell_flags,
	[STEP_HOSTNAME] = tell_text,	  [STEP_LISTEN] = tell_listener,
	[STEP_RLIMIT] = tell_rlimit,	  [STEP_IDENTITY] = tell_ids,
	[STEP_LANDLOCK] = tell_landlock,  [STEP_LANDLOCK_PATH] = tell_rights,
	[STEP_LANDLOCK_PORT] = tell_port, [STEP_SECCOMP] = tell_filter,
	[STEP_EXEC] = tell_command,
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
	bool is_of_tree = step->kind >= STEP_BIND && step->kind <= STEP_PTS;

	text_add(out, step_row(step->kind)->name);
	if (step->target) {
		text_add_char(out, ' ');
		add_visible(out, step->target);
	}
	if (tell[step->kind])
		tell[step->kind](out, plan, step);
	if (step->origin.text || is_of_tree) {
		text_add(out, "  # ");
		origin_add_text(out, &step->origin);
	}
	text_add_char(out, '\n');
}

static void add_limits(struct text *out, const struct plan *plan)
{
	for (int i = 0; i < N_LIMITS; i++) {
		const struct plan_limit *limit = &plan->limits[i];

		if (!limit->is_set)
			continue;
		text_addf(out, "limit %s ", limit_name((enum limit)i));
		limit_add_value(out, (enum limit)i, limit->value);
		text_addf(out, " by %s  # ", holder_name(limit->holder));
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

static void add_absent_names(struct text *out, const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_absent; i++) {
		text_add(out, "absent ");
		add_visible(out, plan->absent[i].target);
		text_add(out, "  # ");
		origin_add_text(out, &plan->absent[i].origin);
		text_add_char(out, '\n');
	}
}

void plan_add_text(struct text *out, const struct plan *plan)
{
	plan_add_tier_line(out, plan);
	text_add_char(out, '\n');
	for (size_t i = 0; i < plan->n_steps; i++)
		add_step(out, plan, &plan->steps[i]);
	for (size_t i = 0; i < plan->n_inward; i++)
		text_addf(out, "inward 127.0.0.1:%u\n", plan->inward[i]);
	add_absent_names(out, plan);
	add_limits(out, plan);
	add_notices(out, plan);
}

void plan_add_tier_line(struct text *out, const struct plan *plan)
{
	const char *between = "; ";

	text_addf(out, "%s:", tier_name(plan->tier));
	for (unsigned bit = 1; bit <= LAYERS_ALL; bit <<= 1)
		if (plan->layers & bit)
			text_addf(out, " %s", layer_name(bit));
	if (!(plan->layers & LAYER_LANDLOCK))
		text_add(out, " (nested: no landlock)");
	text_addf(out, "; network %s", plan->net_mode);
	for (int i = 0; i < N_LIMITS; i++) {
		const struct plan_limit *limit = &plan->limits[i];

		if (!limit->is_set)
			continue;
		text_addf(out, "%s%s ", between, limit_name((enum limit)i));
		limit_add_value(out, (enum limit)i, limit->value);
		text_addf(out, " by %s", holder_name(limit->holder));
		between = ", ";
	}
}
