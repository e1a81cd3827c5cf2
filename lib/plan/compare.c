/* SPDX-License-Identifier: MIT */

/*
 * The last look at a plan: does it permit what was decided, and nothing else?
 *
 * The steps were made by reasoning about places, mounts and Landlock. This does not trust that
 * reasoning: at every path that anything speaks of it compares what the finished steps permit with
 * what the evaluator decided. More is a refusal, so that a mistake of the planner never becomes a
 * hole; less is a notice.
 */

#include "plan/plan-internal.h"

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "plan/permits.h"
#include "policy/compose.h"

#define COMPARED (RIGHT_READ | RIGHT_LIST | RIGHT_WRITE | RIGHT_EXEC)

static const struct {
	unsigned right;
	const char *verb;
} verbs[] = {
	{ RIGHT_READ, "read" },
	{ RIGHT_LIST, "list" },
	{ RIGHT_WRITE, "write" },
	{ RIGHT_EXEC, "execute" },
};

static const char *name_rights(struct planner *planner, unsigned rights)
{
	text_reset(&planner->text);
	for (size_t i = 0; i < N_ELEMENTS(verbs); i++)
		if (rights & verbs[i].right) {
			if (planner->text.len > 0)
				text_add(&planner->text, ", ");
			text_add(&planner->text, verbs[i].verb);
		}
	planner->no_memory |= text_status(&planner->text) < 0;
	return planner_keep(planner, text_string(&planner->text));
}

/* Where the content of the path is outside, as the steps say; NULL: at the same path. */
static const char *find_source(struct planner *planner, const struct step *carrier,
			       const char *path)
{
	const char *target, *source, *rest;

	if (!carrier || (carrier->kind != STEP_BIND && carrier->kind != STEP_OVERLAY))
		return NULL;
	target = step_target(carrier);
	source = carrier->kind == STEP_BIND ? carrier->bind.source : carrier->overlay.source;
	if (strcmp(source, target) == 0)
		return NULL;
	rest = path + strlen(target);
	return planner_join(planner, source, rest + (*rest == '/'));
}

static int refuse_more(struct planner *planner, const struct asked_path *asked, unsigned more)
{
	struct step_origin origin;

	(void)sbx_error_what(planner->err, -ENOTRECOVERABLE,
			     "the sandbox would permit more at '%.300s' than the policy: %s",
			     asked->path, name_rights(planner, more));
	if (decided_denial(planner, asked, more, &origin))
		sbx_error_why(planner->err, "%s denies it, and no step of the plan enforces that",
			      origin_text(&origin));
	else
		sbx_error_why(planner->err,
			      "no rule allows it, and no step of the plan forbids it");
	sbx_error_fix(planner->err,
		      "name narrower directories, or leave the rule out; if the rules "
		      "look right, this is a bug of sbx: report the policy");
	return -ENOTRECOVERABLE;
}

static bool has_flag(const struct place *place, unsigned flag, unsigned rights)
{
	for (size_t i = 0; i < place->n_marks; i++)
		if ((place->marks[i]->flags & flag) &&
		    (!rights || place->marks[i]->rights & rights))
			return true;
	return false;
}

/* The command, its loader and what that maps are executed whatever rules say of programs. Only
 * Landlock can tell mapping from executing. */
static unsigned own_rights(const struct planner *planner, const struct place *place)
{
	bool has_landlock = planner->plan->layers & LAYER_LANDLOCK;
	unsigned rights = 0;

	for (size_t i = 0; i < place->n_marks; i++)
		rights |= place->marks[i]->rights & RIGHT_START;
	for (const struct place *at = place; at && !has_landlock; at = at->parent)
		for (size_t i = 0; i < at->n_marks; i++)
			rights |= at->marks[i]->rights & RIGHT_MAP;
	return rights ? RIGHT_EXEC : 0;
}

/* Rules that allow something below /tmp are about the sandbox's own tmpfs. */
static bool is_of_host_in_tmpfs(const struct place *place)
{
	for (const struct place *at = place->parent; at; at = at->parent)
		if (compose_is_private(at->path))
			return at->winner && at->winner->content == CONTENT_TMPFS;
	return false;
}

static void note_less(struct planner *planner, const struct place *place, unsigned less)
{
	const char *why = less == RIGHT_EXEC ? "a program must be readable to be executed"
			  : is_of_host_in_tmpfs(place)
				  ? "what is allowed in a fresh /tmp does not count for the host's "
				    "files that are shown in it"
				  : "a narrower mount or Landlock rule is enforced around it";

	if (place->facts && place->facts->kind != HOST_MISSING && !has_flag(place, MARK_TOLD, 0))
		planner_note(planner, false,
			     planner_format(planner,
					    "'%s' is allowed, but cannot be permitted here: %s",
					    place->path, name_rights(planner, less)),
			     why);
}

/* Files of the host; what sbx makes no rule is about. */
static bool is_compared(const struct place *place, const struct step *carrier)
{
	if (strcmp(place->path, "/") == 0 || place_is_made(place))
		return false;
	/* The command is the same user: what sbx cannot reach it cannot reach. */
	if (place->facts && place->facts->kind == HOST_UNREACHABLE)
		return false;
	return !carrier || carrier->kind == STEP_BIND || carrier->kind == STEP_OVERLAY ||
	       carrier->kind == STEP_MASK;
}

static int compare(struct planner *planner, const struct place *place)
{
	enum host_path_kind kind = place->facts ? place->facts->kind : HOST_MISSING;
	const struct step *carrier = plan_find_carrier(planner->plan, place->path);
	const struct asked_path asked = {
		.path = place->path,
		.source = find_source(planner, carrier, place->path),
		.kind = kind,
	};
	unsigned decided, permitted, more, less;

	if (!is_compared(place, carrier))
		return 0;
	decided = decided_rights(planner, &asked) & COMPARED;
	permitted = plan_permits(planner->plan, place->path, kind);
	/* A write to an overlay goes to its upper directory and does not reach the host's file. */
	if (carrier && carrier->kind == STEP_OVERLAY)
		permitted &= ~(unsigned)RIGHT_WRITE | decided;
	if (kind != HOST_FOLDER && kind != HOST_MISSING)
		decided &= ~(unsigned)RIGHT_LIST;
	/* A missing name can be made only where writing is permitted. */
	if (kind == HOST_MISSING && (!(permitted & RIGHT_WRITE) || place_is_only_guarded(place)))
		return 0;
	more = permitted & ~decided & ~own_rights(planner, place);
	if (more)
		return refuse_more(planner, &asked, more);
	less = decided_anywhere(planner, &asked) & COMPARED & ~permitted;
	if (kind != HOST_FOLDER)
		less &= ~(unsigned)RIGHT_LIST;
	/* A socket is connected to, nothing else. */
	if (kind == HOST_SOCKET)
		less &= RIGHT_WRITE;
	if (less)
		note_less(planner, place, less);
	return 0;
}

int compare_with_decisions(struct planner *planner)
{
	for (size_t i = 0; i < planner->n_places; i++) {
		int r = compare(planner, &planner->places[i]);

		if (r < 0)
			return r;
	}
	return planner_status(planner);
}
