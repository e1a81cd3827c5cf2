/* SPDX-License-Identifier: MIT */

/*
 * What a plan permits, one line a question: reads, writes, executes, network, devices, limits
 *
 * Everything is read from the finished steps, by plan_permits(), never from the request: a grant
 * that the plan does not carry out must not be in a summary. A path is listed where it permits more
 * than the path around it, and follows "not" where it permits less.
 */

#include "plan/print-internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "plan/permits.h"

#define LABEL "%-14s"
#define PATHS_SHOWN 8

/* A path that some step is about, and the innermost of the others that it lies in. */
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
	       (step->kind == STEP_LANDLOCK_PATH && is_below(step_target(step), "/dev") &&
		strcmp(step_target(step), "/dev") != 0);
}

static bool is_fresh(const struct entry *entry)
{
	return entry->step->kind == STEP_TMPFS;
}

/* Device nodes and /proc are the same for all commands, and sockets are no files. */
static bool is_entry(const struct step *step)
{
	static const bool kinds[N_STEP_KINDS] = {
		[STEP_BIND] = true, [STEP_TMPFS] = true, [STEP_OVERLAY] = true,
		[STEP_MASK] = true, [STEP_FILE] = true,	 [STEP_LANDLOCK_PATH] = true,
	};

	if (!kinds[step->kind] || is_device(step) || is_below(step_target(step), "/proc"))
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
	return step->kind == STEP_FILE || (step->kind == STEP_BIND && !step->bind.is_folder);
}

static const struct entry *find_around(const struct entries *entries, const char *path)
{
	const struct entry *around = NULL;

	for (size_t i = 0; i < entries->n_rows; i++) {
		const struct entry *other = &entries->rows[i];

		if (is_below(path, other->path) && strcmp(path, other->path) != 0 &&
		    (!around || is_below(other->path, around->path)))
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
			.rights = plan_permits(plan, path, is_file(step) ? HOST_FILE : HOST_FOLDER),
		};
	}
	for (size_t i = 0; i < ret->n_rows; i++)
		ret->rows[i].around = find_around(ret, ret->rows[i].path);
	return 0;
}

/* What is in a fresh directory is not what is put into it. */
static bool permits_more(const struct entry *entry, unsigned right)
{
	const struct entry *around = entry->around;

	if (!(entry->rights & right) || (right == RIGHT_READ && is_fresh(entry)))
		return false;
	return !around || !(around->rights & right) || (is_fresh(around) && !is_fresh(entry));
}

static bool permits_less(const struct entry *entry, unsigned right)
{
	const struct entry *around = entry->around;

	if (!around || is_fresh(around) || !(around->rights & right))
		return false;
	return !(entry->rights & right) || (right == RIGHT_READ && is_fresh(entry));
}

static void add_visible(struct text *out, const char *string)
{
	text_add_visible(out, string, strlen(string));
}

/* Where what is written goes. */
static void add_entry(struct text *out, const struct entry *entry, unsigned right)
{
	const struct step *step = entry->step;

	add_visible(out, entry->path);
	if (right != RIGHT_WRITE)
		return;
	if (step->kind == STEP_TMPFS) {
		text_add(out, " (private, ");
		units_add_size(out, step->tmpfs.size_bytes);
		text_add(out, ")");
	}
	if (step->kind == STEP_OVERLAY && step->overlay.upper) {
		text_add(out, " (changes go to ");
		add_visible(out, step->overlay.upper);
		text_add(out, ")");
	}
	if (step->kind == STEP_OVERLAY && !step->overlay.upper)
		text_add(out, " (changes are discarded)");
}

/* Paths that somebody granted come before the built-in ones, which are much the same for all. */
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
			add_visible(out, step->bind.target);
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
		add_visible(out, is_below(path, "/dev") ? path + strlen("/dev/") : path);
		between = ", ";
	}
	text_add(out, between[0] ? "\n" : "none\n");
}

static void add_limit(struct text *out, const struct plan *plan, enum limit limit)
{
	const struct plan_limit *held = &plan->limits[limit];
	const char *part = limit_part_held(limit, held->holder);

	text_addf(out, "%s ", limit_name(limit));
	limit_add_value(out, limit, held->value);
	if (part)
		text_addf(out, " (%s)", part);
}

static void add_limits(struct text *out, const struct plan *plan)
{
	const char *between = "";

	text_addf(out, LABEL, "limits");
	for (int i = 0; i < N_LIMITS; i++) {
		if (!plan->limits[i].is_set || plan->limits[i].holder == HELD_BY_NOBODY)
			continue;
		text_add(out, between);
		add_limit(out, plan, (enum limit)i);
		between = ", ";
	}
	text_add(out, between[0] ? "\n" : "none\n");
}

static void add_unenforced(struct text *out, const struct plan *plan)
{
	const char *between = "";
	_cleanup_text_ struct text line = TEXT_INIT;

	for (int i = 0; i < N_LIMITS; i++) {
		const struct plan_limit *limit = &plan->limits[i];

		if (!limit->is_set || limit->holder != HELD_BY_NOBODY)
			continue;
		text_add(&line, between);
		add_limit(&line, plan, (enum limit)i);
		between = ", ";
	}
	for (size_t i = 0; i < plan->n_notices; i++) {
		if (!plan->notices[i].is_weaker || plan->notices[i].is_of_limit)
			continue;
		text_add(&line, between[0] ? "; " : "");
		add_visible(&line, plan->notices[i].what);
		between = "; ";
	}
	if (line.len > 0)
		text_addf(out, LABEL "%s\n", "not enforced", text_string(&line));
	out->failed |= line.failed;
}

static bool may_trace(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_steps; i++)
		if (plan->steps[i].kind == STEP_SECCOMP &&
		    (plan->steps[i].seccomp.variants & VARIANT_PTRACE))
			return true;
	return false;
}

static void add_isolation(struct text *out, const struct plan *plan)
{
	text_addf(out, LABEL, "isolation");
	plan_add_layers(out, plan);
	if (may_trace(plan))
		text_add(out, "; ptrace of its own children: allowed");
	text_add_char(out, '\n');
}

void plan_add_summary(struct text *out, const struct plan *plan)
{
	_cleanup_(entries_deinit) struct entries entries = { .rows = NULL };

	if (find_entries(plan, &entries) < 0) {
		out->failed = true;
		return;
	}
	add_isolation(out, plan);
	add_paths(out, &entries, "reads", RIGHT_READ);
	add_paths(out, &entries, "writes", RIGHT_WRITE);
	add_paths(out, &entries, "executes", RIGHT_EXEC);
	add_reach(out, plan);
	add_devices(out, plan);
	add_limits(out, plan);
	add_unenforced(out, plan);
}
