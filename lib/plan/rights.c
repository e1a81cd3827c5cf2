/* SPDX-License-Identifier: MIT */

/*
 * What each place may do
 *
 * Rights come from the marks at a place and above it, and denials take them away whatever their
 * order. What is allowed outside is allowed where the outside can be seen: a mount of something
 * else, or a fresh folder, begins anew. Denials go through everything.
 */

#include "plan/plan-internal.h"

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

static bool is_same(const struct mark *a, const struct mark *b)
{
	const char *one = a->source ? a->source : "", *other = b->source ? b->source : "";

	return a->content == b->content && strcmp(one, other) == 0;
}

/* Options go before mounts and rules, those before what is built in; an overlay before all. */
static int rank(const struct mark *mark)
{
	if (mark->content == CONTENT_OVERLAY)
		return 4;
	if (mark->origin.kind == ORIGIN_ARGUMENT)
		return 3;
	if (mark->flags & MARK_ASKED)
		return 2;
	return mark->origin.kind == ORIGIN_RULE;
}

static bool counts(const struct mark *mark)
{
	return mark->kind == MARK_ALLOW && !(mark->flags & MARK_DROPPED);
}

static int refuse_both(struct planner *planner, const struct mark *one, const struct mark *other)
{
	(void)sbx_error_what(planner->err, -EINVAL, "cannot put two things at '%.300s'",
			     one->place);
	sbx_error_why(planner->err, "%s and %s both name it", origin_text(&one->origin),
		      origin_text(&other->origin));
	sbx_error_fix(planner->err, "leave one of them out");
	return -EINVAL;
}

static int find_winner(struct planner *planner, struct place *place)
{
	for (size_t i = 0; i < place->n_marks; i++) {
		const struct mark *mark = place->marks[i], *winner = place->winner;

		if (!counts(mark) || !(mark->rights & RIGHTS_SEEN) || strcmp(place->path, "/") == 0)
			continue;
		if (winner && rank(winner) == rank(mark) && (mark->flags & MARK_ASKED) &&
		    !is_same(winner, mark))
			return refuse_both(planner, winner, mark);
		if (!winner || rank(mark) > rank(winner))
			place->winner = mark;
	}
	return 0;
}

/* An overlay without a source is of what stands there, so rights go through it. */
static bool begins_anew(const struct place *place)
{
	const struct mark *winner = place->winner;
	const struct place *above = place->parent ? place->parent->base : NULL;

	if (!winner)
		return false;
	if (winner->source)
		return true;
	/* What stands outside is seen again below a fresh folder, but not below another mount. */
	if (winner->content == CONTENT_HOST || winner->content == CONTENT_OVERLAY)
		return above && !above->source;
	return true;
}

static void find_base(struct place *place)
{
	if (begins_anew(place))
		place->base = place;
	else
		place->base = place->parent ? place->parent->base : NULL;
}

/* What stands below @above's source, at the same place below @above. */
static const char *source_below(struct planner *planner, const struct place *above,
				const struct place *place)
{
	const char *rest = place->path + strlen(above->path);

	return planner_join(planner, above->source, rest + (*rest == '/'));
}

static void find_facts(struct place *place)
{
	for (size_t i = 0; i < place->n_marks && !place->facts; i++)
		if (!place->marks[i]->source)
			place->facts = place->marks[i]->facts;
	if (place->winner && place->winner->facts)
		place->facts = place->winner->facts;
}

bool place_is_pinned(const struct place *place)
{
	return place->marks[place->n_marks - 1]->kind == MARK_PIN;
}

/* It is made new, whatever stands outside at its place. */
static bool is_of_ours(const struct mark *winner)
{
	static const bool of_ours[] = {
		[CONTENT_TMPFS] = true, [CONTENT_FOLDER] = true, [CONTENT_LINK] = true,
		[CONTENT_PROC] = true,	[CONTENT_PTS] = true,
	};

	return winner && of_ours[winner->content];
}

static void find_source(struct planner *planner, struct place *place)
{
	const struct place *base = place->base, *above = place->parent;

	find_facts(place);
	if (place->marks[0]->kind == MARK_PIN && above) {
		place->facts = above->facts;
		place->source = source_below(planner, above, place);
		return;
	}
	if (base == place || !base) {
		if (place->facts && !is_of_ours(place->winner))
			place->source = place->facts->real;
		return;
	}
	if (base->source) {
		place->source = source_below(planner, base, place);
		place->facts = planner_facts(planner, place->source);
		return;
	}
	/* A fresh folder is empty; a fresh /proc has what the host's has. */
	if (base->winner->content != CONTENT_PROC)
		place->facts = NULL;
}

/* Is what @mark says taken back at the place by an exception of its rule? */
static bool is_excepted(const struct place *place, const struct mark *mark, unsigned *taken)
{
	*taken = 0;
	if (mark->group == 0)
		return false;
	for (; place && place->has_exceptions; place = place->parent)
		for (size_t i = 0; i < place->n_marks; i++)
			if (place->marks[i]->kind == MARK_EXCEPT &&
			    !(place->marks[i]->flags & MARK_DROPPED) &&
			    place->marks[i]->group == mark->group)
				*taken |= place->marks[i]->rights;
	return *taken != 0;
}

static unsigned rights_left(const struct place *place, const struct mark *mark)
{
	unsigned taken;

	return is_excepted(place, mark, &taken) ? mark->rights & ~taken : mark->rights;
}

/* What is said about the files outside is about an overlay of them, too. */
static bool is_of_overlay(const struct place *at, const struct mark *mark)
{
	return at->winner->content == CONTENT_OVERLAY && at->base != at &&
	       mark->content == CONTENT_HOST && !mark->source;
}

/* A mark that lost against another content says nothing but what may be executed. */
static bool is_about(const struct place *place, const struct place *at, const struct mark *mark)
{
	if (at->base != place->base || strcmp(at->path, "/") == 0)
		return false;
	return !at->winner || is_same(mark, at->winner) || is_of_overlay(at, mark);
}

static unsigned find_allowed(const struct place *place)
{
	unsigned own = 0, executable = 0;

	for (const struct place *at = place; at; at = at->parent)
		for (size_t i = 0; i < at->n_marks; i++) {
			const struct mark *mark = at->marks[i];
			unsigned rights = counts(mark) ? rights_left(place, mark) : 0;

			if (is_about(place, at, mark))
				own |= rights;
			executable |= rights & RIGHT_EXEC;
		}
	return own & RIGHTS_SEEN ? own | executable : own;
}

static unsigned find_denied(const struct place *place)
{
	unsigned denied = 0;

	for (const struct place *at = place; at; at = at->parent)
		for (size_t i = 0; i < at->n_marks; i++)
			if (at->marks[i]->kind == MARK_DENY)
				denied |= rights_left(place, at->marks[i]);
	return denied & RIGHT_EXEC ? denied | RIGHTS_RUN : denied;
}

const struct mark *place_find_denial(const struct place *place, unsigned rights)
{
	for (const struct place *at = place; at; at = at->parent)
		for (size_t i = 0; i < at->n_marks; i++)
			if (at->marks[i]->kind != MARK_ALLOW && at->marks[i]->kind != MARK_PIN &&
			    (at->marks[i]->rights & rights))
				return at->marks[i];
	return NULL;
}

bool place_is_only_guarded(const struct place *place)
{
	for (size_t i = 0; i < place->n_marks; i++)
		if (place->marks[i]->kind != MARK_ALLOW && !(place->marks[i]->flags & MARK_GUARD))
			return false;
	return true;
}

struct step_origin place_find_origin(const struct place *place, unsigned rights)
{
	for (size_t i = 0; i < place->n_marks; i++)
		if (counts(place->marks[i]) && (place->marks[i]->rights & rights))
			return place->marks[i]->origin;
	return place->winner ? place->winner->origin : place->marks[0]->origin;
}

static int refuse_denied(struct planner *planner, const struct mark *mark,
			 const struct place *place, unsigned missing)
{
	const struct mark *denial = place_find_denial(place, missing);
	const char *verb = missing & RIGHTS_READ ? "show" : "make writable";

	(void)sbx_error_what(planner->err, -EACCES, "cannot %s '%.300s' as %s says", verb,
			     mark->path, origin_text(&mark->origin));
	if (denial)
		sbx_error_why(planner->err, "%s denies it, and a denial goes before everything",
			      origin_text(&denial->origin));
	sbx_error_fix(planner->err, "leave it out, or take it out of what denies it");
	return -EACCES;
}

/* What was asked for by name is there, or an error. */
static int check_asked(struct planner *planner, const struct place *place)
{
	for (size_t i = 0; i < place->n_marks; i++) {
		const struct mark *mark = place->marks[i];
		unsigned wanted = mark->rights & RIGHTS_FILES ? RIGHTS_FILES : RIGHTS_SEEN;
		unsigned missing = mark->rights & wanted & ~place->rights;

		if (counts(mark) && (mark->flags & MARK_ASKED) && missing &&
		    (!place->winner || is_same(mark, place->winner)))
			return refuse_denied(planner, mark, place, missing);
	}
	return 0;
}

/* Devices and links are no files of a policy; only what hides them takes them away. */
static bool is_exempt(const struct mark *winner)
{
	return winner && winner->content != CONTENT_HOST && winner->content != CONTENT_TMPFS &&
	       winner->content != CONTENT_OVERLAY && winner->content != CONTENT_SOCKET;
}

int place_find_rights(struct planner *planner, struct place *place)
{
	unsigned denied;
	int r = find_winner(planner, place);

	if (r < 0)
		return r;
	place->has_exceptions = place->parent && place->parent->has_exceptions;
	for (size_t i = 0; i < place->n_marks; i++)
		place->has_exceptions |= place->marks[i]->kind == MARK_EXCEPT;
	find_base(place);
	find_source(planner, place);
	denied = find_denied(place);
	if (is_exempt(place->winner))
		place->rights = denied & RIGHT_READ ? 0 : place->winner->rights;
	else
		place->rights = find_allowed(place) & ~denied;
	return check_asked(planner, place);
}
