/* SPDX-License-Identifier: MIT */

/*
 * What each place may do
 *
 * What stands at a place the marks say; what may be done there the evaluator has decided, by the
 * name inside and, where a mount shows another directory, by the name outside as well.
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
	return mark->origin.kind == ORIGIN_RULE || (mark->flags & MARK_SHARED);
}

static bool counts(const struct mark *mark)
{
	return mark->kind == MARK_ALLOW && !(mark->flags & MARK_DROPPED);
}

static int refuse_both(struct planner *planner, const struct mark *one, const struct mark *other)
{
	(void)sbx_error_what(planner->err, -EINVAL, "cannot mount two things at '%.300s'",
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

/* Of the place's source; those that a mark has found behind a link are of it, too. */
static void find_facts_at(struct planner *planner, struct place *place)
{
	const struct host_path *facts = planner_facts(planner, place->source);

	if (facts || !place->facts || strcmp(place->facts->real, place->source) != 0)
		place->facts = facts;
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
		find_facts_at(planner, place);
		return;
	}
	/* A fresh folder is empty; a fresh /proc has what the host's has. */
	if (base->winner->content != CONTENT_PROC)
		place->facts = NULL;
}

/* Only the sandbox's own things; what may be done with files of the host the evaluator says. */
bool is_made(const struct mark *winner)
{
	if (!winner)
		return false;
	if (winner->content == CONTENT_TMPFS)
		return (winner->flags & MARK_OURS) && !(winner->flags & MARK_RULED);
	return winner->content != CONTENT_HOST && winner->content != CONTENT_OVERLAY &&
	       winner->content != CONTENT_SOCKET;
}

static struct asked_path asked_of(const struct place *place)
{
	bool is_other = place->source && strcmp(place->source, place->path) != 0;

	return (struct asked_path){
		.path = place->path,
		.source = is_other ? place->source : NULL,
		.kind = place->facts ? place->facts->kind : HOST_FOLDER,
	};
}

/* sbx hides it, whatever the policy says. */
static const struct mark *find_own_denial(const struct place *place, unsigned rights)
{
	for (const struct place *at = place; at; at = at->parent)
		for (size_t i = 0; i < at->n_marks; i++)
			if (at->marks[i]->kind == MARK_DENY && (at->marks[i]->flags & MARK_OURS) &&
			    (at->marks[i]->rights & rights))
				return at->marks[i];
	return NULL;
}

/* No rule denies it; an exception of an allow takes it out. @flags: of a mark that counts. */
static bool find_exception(const struct place *place, unsigned rights, unsigned flags,
			   struct step_origin *ret)
{
	for (const struct place *at = place; at; at = at->parent)
		for (size_t i = 0; i < at->n_marks; i++)
			if (at->marks[i]->kind == MARK_EXCEPT && (at->marks[i]->rights & rights) &&
			    (at->marks[i]->flags & flags) == flags) {
				*ret = at->marks[i]->origin;
				return true;
			}
	return false;
}

bool place_find_denial(struct planner *planner, const struct place *place, unsigned rights,
		       struct step_origin *ret)
{
	const struct asked_path asked = asked_of(place);
	const struct mark *own = find_own_denial(place, rights);

	if (own)
		*ret = own->origin;
	return own || find_exception(place, rights, MARK_OURS, ret) ||
	       decided_denial(planner, &asked, rights, ret) ||
	       find_exception(place, rights, 0, ret);
}

/* Mapping libraries, starting the command and its loader, and ioctl on devices: no operations of a
 * policy, but a command that may execute nothing here needs none of them. */
static unsigned find_extra(struct planner *planner, const struct place *place)
{
	const struct asked_path asked = asked_of(place);
	struct step_origin origin;
	unsigned extra = 0;

	for (const struct place *at = place; at; at = at->parent)
		for (size_t i = 0; i < at->n_marks; i++)
			if (counts(at->marks[i]))
				extra |= at->marks[i]->rights &
					 (RIGHT_MAP | RIGHT_START | RIGHT_DEVICE);
	if ((extra & RIGHTS_RUN) && decided_denial(planner, &asked, RIGHT_EXEC, &origin))
		extra &= ~(unsigned)RIGHTS_RUN;
	return extra;
}

/* What is granted in a fresh tmpfs is not meant for files of the host that are shown in it. */
static unsigned find_limit(const struct place *place)
{
	const struct mark *winner = place->base ? place->base->winner : NULL;
	unsigned own = RIGHTS_SEEN & ~(unsigned)RIGHTS_FILES;

	if (!winner || winner->content != CONTENT_HOST || winner->source)
		return RIGHTS_SEEN;
	for (const struct place *at = place; at && at->base == place->base; at = at->parent)
		for (size_t i = 0; i < at->n_marks; i++)
			if (counts(at->marks[i]))
				own |= at->marks[i]->rights;
	return own;
}

bool place_is_made(const struct place *place)
{
	const struct place *base = place->base;

	return is_made(place->winner) || (!place->winner && base && is_made(base->winner));
}

/* A denial takes a fresh tmpfs or /proc away in part; a device or link is there or not. */
static unsigned find_made(struct planner *planner, const struct place *place)
{
	const struct asked_path asked = asked_of(place);
	const struct mark *winner = place->winner ? place->winner : place->base->winner;
	unsigned denied = decided_denied(planner, &asked, RIGHTS_SEEN);

	if (denied & RIGHT_READ)
		return 0;
	return place->winner && winner->content != CONTENT_TMPFS ? winner->rights
								 : winner->rights & ~denied;
}

static unsigned find_rights(struct planner *planner, const struct place *place)
{
	const struct asked_path asked = asked_of(place);

	if (find_own_denial(place, RIGHT_READ))
		return 0;
	if (place_is_made(place))
		return find_made(planner, place);
	return (decided_rights(planner, &asked) & find_limit(place)) | find_extra(planner, place);
}

bool place_is_only_guarded(const struct place *place)
{
	bool is_guarded = false;

	for (size_t i = 0; i < place->n_marks; i++) {
		if (place->marks[i]->kind == MARK_ALLOW)
			continue;
		if (!(place->marks[i]->flags & MARK_GUARD))
			return false;
		is_guarded = true;
	}
	return is_guarded;
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
	const char *verb = missing & RIGHTS_READ ? "show" : "make writable";
	struct step_origin origin;

	(void)sbx_error_what(planner->err, -EACCES, "cannot %s '%.300s' for %s", verb, mark->path,
			     origin_text(&mark->origin));
	if (place_find_denial(planner, place, missing, &origin))
		sbx_error_why(planner->err, "%s denies it, and a denial takes precedence",
			      origin_text(&origin));
	sbx_error_fix(planner->err, "leave it out, or change the rule that denies it");
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

int place_find_rights(struct planner *planner, struct place *place)
{
	int r = find_winner(planner, place);

	if (r < 0)
		return r;
	find_base(place);
	find_source(planner, place);
	place->rights = find_rights(planner, place);
	return check_asked(planner, place);
}
