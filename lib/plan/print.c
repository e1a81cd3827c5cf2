/* SPDX-License-Identifier: MIT */

/*
 * A plan as text, as JSON and as a summary
 *
 * Text has one line per step, then limits and notices. JSON is one object; of the environment it
 * has names only, since a value may be a secret. Both print a step by the fields of its kind, with
 * one function per type of field.
 *
 * The summary has one line per question: reads, writes, executes, network, devices, limits. All of
 * it is read from the finished steps by plan_permits(), never from the request: a grant that the
 * plan does not carry out must not be in a summary. It lists a path that permits more than the path
 * around it, and after "not" one that permits less.
 */

#include "plan/plan-internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "base/units.h"

/* ---- as text ---- */

static void add_names(struct text *out, const struct flag_names *names, const char *before,
		      uint64_t flags)
{
	for (size_t i = 0; i < names->n; i++)
		if (flags & names->rows[i].flag)
			text_addf(out, "%s%s", before, names->rows[i].name);
}

static void add_owner(struct text *out, const struct step_owner *owner, const char *before)
{
	if (!owner->is_set)
		return;
	text_addf(out, "%s%u", before, owner->uid);
	if (owner->gid != STEP_NO_GID)
		text_addf(out, ":%u", owner->gid);
}

static void add_field(struct text *out, const struct step *step, const struct step_field *field)
{
	const char *string;

	switch (field->type) {
	case FIELD_TARGET:
	case FIELD_SOURCE:
	case FIELD_STRING:
		string = step_field_string(step, field);
		if (!string ||
		    (field->type == FIELD_SOURCE && strcmp(string, step_target(step)) == 0))
			return;
		text_add(out, field->before);
		text_add_visible_string(out, string);
		return;
	case FIELD_BOOL:
		text_add(out, step_field_number(step, field) ? field->before : "");
		return;
	case FIELD_NUMBER:
		text_addf(out, "%s%" PRIu64, field->before, step_field_number(step, field));
		return;
	case FIELD_BYTES:
		text_add(out, field->before);
		units_add_size(out, step_field_number(step, field));
		return;
	case FIELD_MODE:
		text_addf(out, "%s0%" PRIo64, field->before, step_field_number(step, field));
		return;
	case FIELD_NAMES:
		add_names(out, field->spoken, field->before, step_field_number(step, field));
		return;
	case FIELD_OWNER:
		add_owner(out, step_field_owner(step, field), field->before);
		return;
	}
}

static void origin_add_text(struct text *out, const struct step_origin *origin)
{
	if (origin->kind == ORIGIN_TEMPLATE)
		text_addf(out, "template '%s'", origin->text);
	else if (origin->text)
		text_add_visible_string(out, origin->text);
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
			add_field(out, step, field);
	if (row->tell)
		row->tell(out, plan, step);
	if (step->origin.text || is_of_tree) {
		text_add(out, "  # ");
		origin_add_text(out, &step->origin);
	}
	text_add_char(out, '\n');
}

static void add_limit(struct text *out, enum limit limit, const struct plan_limit *held)
{
	text_addf(out, "%s ", limit_name(limit));
	limit_add_value(out, limit, held->value);
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
		text_add(out, "limit ");
		add_limit(out, (enum limit)i, limit);
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
		text_add_visible_string(out, plan->notices[i].what);
		text_add(out, " (");
		text_add_visible_string(out, plan->notices[i].why);
		text_add(out, ")\n");
	}
}

void plan_add_reached(struct text *out, const struct plan *plan, enum limit limit)
{
	const struct plan_limit *reached = &plan->limits[limit];

	text_addf(out, "%s limit of ", limit_called(limit));
	limit_add_value(out, limit, reached->value);
	text_addf(out, " reached (%s", reached->origin.kind == ORIGIN_TEMPLATE ? "template " : "");
	text_add_visible_string(out, origin_text(&reached->origin));
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

static void plan_add_layers(struct text *out, const struct plan *plan)
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
		text_add(out, between);
		add_limit(out, (enum limit)i, limit);
		add_holder(out, (enum limit)i, limit);
		between = ", ";
	}
}

/* ---- as JSON ---- */

static const char *const origin_kinds[] = {
	[ORIGIN_BUILT_IN] = "built-in", [ORIGIN_RULE] = "rule",	    [ORIGIN_ARGUMENT] = "argument",
	[ORIGIN_TEMPLATE] = "template", [ORIGIN_CALLER] = "caller",
};

static const char *const stages[N_STAGES] = {
	[STAGE_SUPERVISOR] = "supervisor",
	[STAGE_BUILD] = "build",
	[STAGE_CONFINE] = "confine",
	[STAGE_COMMAND] = "command",
};

static void write_origin(struct json_writer *json, const struct step_origin *origin)
{
	json_member_object(json, "origin");
	json_member_string(json, "kind", origin_kinds[origin->kind]);
	json_member_if_set(json, "text", origin->text);
	json_end_object(json);
}

static void write_names(struct json_writer *json, const char *member,
			const struct flag_names *names, uint64_t flags)
{
	json_member_array(json, member);
	for (size_t i = 0; i < names->n; i++)
		if (flags & names->rows[i].flag)
			json_add_string(json, names->rows[i].name);
	json_end_array(json);
}

static void write_owner(struct json_writer *json, const char *name, const struct step_owner *owner)
{
	if (!owner->is_set)
		return;
	json_member_object(json, name);
	json_member_u64(json, "uid", owner->uid);
	if (owner->gid != STEP_NO_GID)
		json_member_u64(json, "gid", owner->gid);
	json_end_object(json);
}

static void write_field(struct json_writer *json, const struct step *step,
			const struct step_field *field)
{
	char mode[16];

	switch (field->type) {
	case FIELD_TARGET:
	case FIELD_SOURCE:
	case FIELD_STRING:
		json_member_if_set(json, field->name, step_field_string(step, field));
		return;
	case FIELD_BOOL:
		json_member_bool(json, field->name, step_field_number(step, field));
		return;
	case FIELD_BYTES:
		if (step_field_number(step, field) == 0)
			return;
		__attribute__((__fallthrough__));
	case FIELD_NUMBER:
		json_member_u64(json, field->name, step_field_number(step, field));
		return;
	case FIELD_MODE:
		/* JSON has no octal numbers: write a string such as "0755". */
		(void)snprintf(mode, sizeof(mode), "0%o", (unsigned)step_field_number(step, field));
		json_member_string(json, field->name, mode);
		return;
	case FIELD_NAMES:
		write_names(json, field->name, field->names, step_field_number(step, field));
		return;
	case FIELD_OWNER:
		write_owner(json, field->name, step_field_owner(step, field));
		return;
	}
}

static void write_step(struct json_writer *json, const struct step *step)
{
	const struct step_row *row = step_row(step->kind);

	json_add_object(json);
	json_member_string(json, "kind", row->name);
	json_member_string(json, "stage", stages[row->stage]);
	for (const struct step_field *field = row->fields; field && field->name; field++)
		write_field(json, step, field);
	write_origin(json, &step->origin);
	json_end_object(json);
}

static void write_steps(struct json_writer *json, const struct plan *plan)
{
	json_member_array(json, "steps");
	for (size_t i = 0; i < plan->n_steps; i++)
		write_step(json, &plan->steps[i]);
	json_end_array(json);
}

static void write_limits(struct json_writer *json, const struct plan *plan)
{
	json_member_object(json, "limits");
	for (int i = 0; i < N_LIMITS; i++) {
		const struct plan_limit *limit = &plan->limits[i];

		if (!limit->is_set)
			continue;
		json_member_object(json, limit_name((enum limit)i));
		json_member_u64(json, "value", limit->value);
		json_member_string(json, "holder", holder_name(limit->holder));
		json_member_if_set(json, "of", limit_part_held((enum limit)i, limit->holder));
		write_origin(json, &limit->origin);
		json_end_object(json);
	}
	json_end_object(json);
}

static void write_notices(struct json_writer *json, const struct plan *plan)
{
	json_member_array(json, "notices");
	for (size_t i = 0; i < plan->n_notices; i++) {
		json_add_object(json);
		json_member_string(json, "what", plan->notices[i].what);
		json_member_string(json, "why", plan->notices[i].why);
		json_member_if_set(json, "fix", plan->notices[i].fix);
		json_member_bool(json, "weaker", plan->notices[i].is_weaker);
		json_end_object(json);
	}
	json_end_array(json);
}

static void write_words(struct json_writer *json, const char *name, const char *const *words)
{
	json_member_array(json, name);
	for (; words && *words; words++)
		json_add_string(json, *words);
	json_end_array(json);
}

static void write_variables(struct json_writer *json, const struct plan *plan)
{
	json_member_array(json, "environment");
	for (char *const *at = plan->environment; *at; at++)
		json_add_string_bytes(json, *at, strcspn(*at, "="));
	json_end_array(json);
}

void plan_write_layers(struct json_writer *json, const struct plan *plan)
{
	json_member_array(json, "layers");
	for (unsigned bit = 1; plan && bit <= LAYERS_ALL; bit <<= 1)
		if (plan->layers & bit)
			json_add_string(json, layer_name(bit));
	json_end_array(json);
}

static void write_inward(struct json_writer *json, const struct plan *plan)
{
	if (plan->n_inward == 0)
		return;
	json_member_array(json, "inward");
	for (size_t i = 0; i < plan->n_inward; i++)
		json_add_u64(json, plan->inward[i]);
	json_end_array(json);
}

static void write_fds(struct json_writer *json, const struct plan *plan)
{
	json_member_array(json, "fds");
	for (size_t i = 0; i < plan->n_fds; i++)
		json_add_i64(json, plan->fds[i]);
	json_end_array(json);
}

void plan_add_json(struct text *out, const struct plan *plan)
{
	struct json_writer json;

	json_begin_object(&json, out);
	json_member_string(&json, "id", plan->id);
	json_member_string(&json, "tier", tier_name(plan->tier));
	plan_write_layers(&json, plan);
	json_member_string(&json, "network", plan->net_mode);
	json_member_string(&json, "template", plan->template);
	json_member_if_set(&json, "policy", plan->policy);
	json_member_u64(&json, "uid", plan->uid);
	json_member_u64(&json, "gid", plan->gid);
	if (plan->has_digest)
		json_member_hex(&json, "policy_digest", plan->digest, sizeof(plan->digest));
	write_words(&json, "argv", (const char *const *)plan->argv);
	write_variables(&json, plan);
	write_fds(&json, plan);
	write_steps(&json, plan);
	write_inward(&json, plan);
	write_limits(&json, plan);
	json_member_u64(&json, "grace_usec", plan->grace_usec);
	if (plan->deny_syscalls)
		write_words(&json, "deny_syscalls", plan->deny_syscalls);
	json_member_bool(&json, "may_exec", plan->may_exec);
	json_member_bool(&json, "dies_with_parent", plan->dies_with_parent);
	if (plan->unenforced_landlock)
		write_names(&json, "unenforced_landlock", &names_of_accesses,
			    plan->unenforced_landlock);
	write_notices(&json, plan);
	json_end_line(&json);
}

/* ---- as a summary ---- */

#define LABEL "%-14s"
#define PATHS_SHOWN 8

/* A path that occurs in a step, and the innermost other entry that contains it. */
struct entry {
	const char *path;
	const struct step *step;
	const struct entry *around;
	unsigned rights;
};

struct entries {
	struct entry *rows;
	size_t n_rows;
};

static void entries_deinit(struct entries *entries)
{
	free(entries->rows);
}

static bool is_device(const struct step *step)
{
	return (step->kind == STEP_BIND && step->bind.attributes.devices) ||
	       (step->kind == STEP_LANDLOCK_PATH &&
		path_is_at_or_below(step_target(step), "/dev") &&
		strcmp(step_target(step), "/dev") != 0);
}

static bool is_fresh(const struct entry *entry)
{
	return entry->step->kind == STEP_TMPFS;
}

/* Leave out device nodes and /proc, which are the same for all commands, and sockets, which are not
 * files. */
static bool is_entry(const struct step *step)
{
	static const bool kinds[N_STEP_KINDS] = {
		[STEP_BIND] = true, [STEP_TMPFS] = true, [STEP_OVERLAY] = true,
		[STEP_MASK] = true, [STEP_FILE] = true,	 [STEP_LANDLOCK_PATH] = true,
	};

	if (!kinds[step->kind] || is_device(step) ||
	    path_is_at_or_below(step_target(step), "/proc"))
		return false;
	return step->kind != STEP_BIND || !step->bind.is_socket;
}

static bool is_known(const struct entries *entries, const char *path)
{
	for (size_t i = 0; i < entries->n_rows; i++)
		if (strcmp(entries->rows[i].path, path) == 0)
			return true;
	return false;
}

static bool is_file(const struct step *step)
{
	return step->kind == STEP_FILE || (step->kind == STEP_BIND && !step->bind.is_directory);
}

/* A copy whose mode lets nobody execute it, such as that of a secret. */
static bool is_no_program(const struct step *step)
{
	return step->kind == STEP_FILE && !(step->file.mode & (S_IXUSR | S_IXGRP | S_IXOTH));
}

static const struct entry *find_around(const struct entries *entries, const char *path)
{
	const struct entry *around = NULL;

	for (size_t i = 0; i < entries->n_rows; i++) {
		const struct entry *other = &entries->rows[i];

		if (path_is_at_or_below(path, other->path) && strcmp(path, other->path) != 0 &&
		    (!around || path_is_at_or_below(other->path, around->path)))
			around = other;
	}
	return around;
}

static int find_entries(const struct plan *plan, struct entries *ret)
{
	ret->rows = calloc(plan->n_steps + 1, sizeof(*ret->rows));
	if (!ret->rows)
		return -ENOMEM;
	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct step *step = &plan->steps[i];
		const char *path = step_target(step);

		if (!is_entry(step) || is_known(ret, path))
			continue;
		ret->rows[ret->n_rows++] = (struct entry){
			.path = path,
			.step = step,
			.rights = plan_permits(plan, path,
					       is_file(step) ? HOST_FILE : HOST_DIRECTORY),
		};
	}
	for (size_t i = 0; i < ret->n_rows; i++)
		ret->rows[i].around = find_around(ret, ret->rows[i].path);
	return 0;
}

/* Reading a fresh directory reads no file of the host; reading a directory mounted in it does. */
static bool permits_more(const struct entry *entry, unsigned right)
{
	const struct entry *around = entry->around;

	if (!(entry->rights & right) || (right == RIGHT_READ && is_fresh(entry)) ||
	    (right == RIGHT_EXEC && is_no_program(entry->step)))
		return false;
	return !around || !(around->rights & right) || (is_fresh(around) && !is_fresh(entry));
}

/* A read-only mount in a fresh directory of the sandbox is not writable with it. */
static bool permits_less(const struct entry *entry, unsigned right)
{
	const struct entry *around = entry->around;

	if (!around || !(around->rights & right) || (right == RIGHT_READ && is_fresh(around)))
		return false;
	return !(entry->rights & right) || (right == RIGHT_READ && is_fresh(entry));
}

/* Where the host has what the step mounts at another path, or NULL. */
static const char *find_source(const struct step *step)
{
	const char *source = step->kind == STEP_BIND	  ? step->bind.source
			     : step->kind == STEP_OVERLAY ? step->overlay.source
							  : NULL;

	return source && strcmp(source, step_target(step)) != 0 ? source : NULL;
}

/* Adds the path, for a mount of another one its source, and where writes go that do not go there.
 */
static void add_entry(struct text *out, const struct entry *entry, unsigned right)
{
	const struct step *step = entry->step;
	const char *source = find_source(step);

	text_add_visible_string(out, entry->path);
	if (source) {
		text_add(out, " (from ");
		text_add_visible_string(out, source);
		text_add(out, ")");
	}
	if (right != RIGHT_WRITE)
		return;
	if (step->kind == STEP_TMPFS) {
		text_add(out, " (private, ");
		units_add_size(out, step->tmpfs.size_bytes);
		text_add(out, ")");
	}
	if (step->kind == STEP_OVERLAY && step->overlay.upper) {
		text_add(out, " (changes go to ");
		text_add_visible_string(out, step->overlay.upper);
		text_add(out, ")");
	}
	if (step->kind == STEP_OVERLAY && !step->overlay.upper)
		text_add(out, " (changes are discarded)");
}

/* Granted paths come before built-in ones, which hardly differ between plans. */
static size_t add_some(struct text *out, const struct entries *entries, unsigned right,
		       bool (*is_meant)(const struct entry *entry, unsigned right))
{
	size_t n = 0;

	for (int built_in = 0; built_in < 2; built_in++)
		for (size_t i = 0; i < entries->n_rows; i++) {
			const struct entry *entry = &entries->rows[i];

			if ((entry->step->origin.kind == ORIGIN_BUILT_IN) != built_in ||
			    !is_meant(entry, right) || n++ >= PATHS_SHOWN)
				continue;
			text_add(out, n > 1 ? ", " : "");
			add_entry(out, entry, right);
		}
	if (n > PATHS_SHOWN)
		text_addf(out, " and %zu more", n - PATHS_SHOWN);
	return n;
}

static void add_paths(struct text *out, const struct entries *entries, const char *label,
		      unsigned right)
{
	_cleanup_text_ struct text without = TEXT_INIT;

	text_addf(out, LABEL, label);
	if (add_some(out, entries, right, permits_more) == 0)
		text_add(out, "nothing");
	else if (add_some(&without, entries, right, permits_less) > 0)
		text_addf(out, "; not %s", text_string(&without));
	text_add_char(out, '\n');
	out->failed |= without.failed;
}

static const struct {
	const char *mode;
	const char *text;
} networks[] = {
	{ "none", "none" },
	{ "loopback", "its own loopback only" },
	{ "host", "the host's, nothing is filtered" },
	{ "proxy", "only through the proxy" },
};

static const char *describe_network(const char *mode)
{
	for (size_t i = 0; i < N_ELEMENTS(networks); i++)
		if (strcmp(networks[i].mode, mode) == 0)
			return networks[i].text;
	return mode;
}

static void add_reach(struct text *out, const struct plan *plan)
{
	text_addf(out, LABEL "%s", "network", describe_network(plan->net_mode));
	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct step *step = &plan->steps[i];

		if (step->kind == STEP_LISTEN && strcmp(step->listen.purpose, "connect") == 0)
			text_addf(out, "; to port %u of the host's loopback", step->listen.port);
		if (step->kind == STEP_BIND && step->bind.is_socket) {
			text_add(out, "; to the socket ");
			text_add_visible_string(out, step->bind.target);
		}
	}
	for (size_t i = 0; i < plan->n_inward; i++)
		text_addf(out, "; from port %u of the host's loopback", plan->inward[i]);
	text_add_char(out, '\n');
}

static void add_devices(struct text *out, const struct plan *plan)
{
	const char *between = "";

	text_addf(out, LABEL, "devices");
	for (size_t i = 0; i < plan->n_steps; i++) {
		const char *path = step_target(&plan->steps[i]);

		if (!is_device(&plan->steps[i]) ||
		    (plan->steps[i].kind == STEP_LANDLOCK_PATH && plan->tier == TIER_FULL))
			continue;
		text_add(out, between);
		text_add_visible_string(out, path_is_at_or_below(path, "/dev")
						     ? path + strlen("/dev/")
						     : path);
		between = ", ";
	}
	text_add(out, between[0] ? "\n" : "none\n");
}

/* Adds the limits that are enforced, or those that are not; returns their number. */
static size_t add_some_limits(struct text *out, const struct plan *plan, bool is_enforced)
{
	size_t n = 0;

	for (int i = 0; i < N_LIMITS; i++) {
		const struct plan_limit *held = &plan->limits[i];
		const char *part = limit_part_held((enum limit)i, held->holder);

		if (!held->is_set || (held->holder != HELD_BY_NOBODY) != is_enforced)
			continue;
		text_add(out, n++ > 0 ? ", " : "");
		add_limit(out, (enum limit)i, held);
		if (part)
			text_addf(out, " (%s)", part);
	}
	return n;
}

static void add_unenforced(struct text *out, const struct plan *plan)
{
	_cleanup_text_ struct text line = TEXT_INIT;
	size_t n = add_some_limits(&line, plan, false);

	for (size_t i = 0; i < plan->n_notices; i++) {
		if (!plan->notices[i].is_weaker || plan->notices[i].is_of_limit)
			continue;
		text_add(&line, n++ > 0 ? "; " : "");
		text_add_visible_string(&line, plan->notices[i].what);
	}
	if (line.len > 0)
		text_addf(out, LABEL "%s\n", "not enforced", text_string(&line));
	out->failed |= line.failed;
}

static void add_isolation(struct text *out, const struct plan *plan)
{
	const struct step *filter = plan_find_step(plan, STEP_SECCOMP);

	text_addf(out, LABEL, "isolation");
	plan_add_layers(out, plan);
	if (filter && (filter->seccomp.variants & VARIANT_PTRACE))
		text_add(out, "; ptrace of its own children: allowed");
	text_add_char(out, '\n');
}

/* What the filter of system calls refuses, although mounts and Landlock permit it. */
static void add_strict(struct text *out)
{
	text_addf(out,
		  LABEL "nothing: the system call profile 'strict' opens no file for writing\n",
		  "writes");
	text_addf(out, LABEL "the command alone: the profile 'strict' executes no other program\n",
		  "executes");
}

void plan_add_summary(struct text *out, const struct plan *plan)
{
	const struct step *filter = plan_find_step(plan, STEP_SECCOMP);
	_cleanup_(entries_deinit) struct entries entries = { .rows = NULL };

	if (find_entries(plan, &entries) < 0) {
		out->failed = true;
		return;
	}
	add_isolation(out, plan);
	add_paths(out, &entries, "reads", RIGHT_READ);
	if (filter && strcmp(filter->seccomp.profile, "strict") == 0) {
		add_strict(out);
	} else {
		add_paths(out, &entries, "writes", RIGHT_WRITE);
		add_paths(out, &entries, "executes", RIGHT_EXEC);
	}
	add_reach(out, plan);
	add_devices(out, plan);
	text_addf(out, LABEL, "limits");
	text_add(out, add_some_limits(out, plan, true) > 0 ? "\n" : "none\n");
	add_unenforced(out, plan);
}
