/* SPDX-License-Identifier: MIT */

/*
 * Places → steps of the file tree
 *
 * A folder of the host comes with all that is below it. So going down the tree, something is put
 * into it only where a place differs from what carries it: where nothing carried it, where it may
 * be written or executed and that may not (or the other way), and where it is to be hidden. The
 * folders on the way are made only in what is ours; into the host's own files nothing is ever put.
 */

#include "plan/plan-internal.h"

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

bool place_is_shown(const struct place *place)
{
	if (place->carrier == place)
		return !place->is_hidden;
	return place->carrier && !place->carrier->is_hidden && (place->rights & RIGHTS_SEEN) &&
	       place->facts && place->facts->kind != HOST_MISSING;
}

static int refuse_unheld(struct planner *planner, const struct place *place, const char *why,
			 const char *fix)
{
	const struct mark *denial = place_find_denial(place, RIGHTS_SEEN);

	(void)sbx_error_what(planner->err, -EOPNOTSUPP, "cannot hold what %s denies at '%.300s'",
			     denial ? origin_text(&denial->origin) : "a rule", place->path);
	sbx_error_why(planner->err, "%s", why);
	sbx_error_fix(planner->err, "%s", fix);
	return -EOPNOTSUPP;
}

/* A name that is not there needs no hiding; but one that may be made there cannot be held. */
static int hold_missing(struct planner *planner, const struct place *place,
			const struct place *carrier)
{
	if (carrier->is_hidden || place_is_only_guarded(place))
		return 0;
	if ((carrier->is_writable && !place_wants_write(place)) ||
	    (carrier->is_writable && carrier->is_executable && !place_wants_execution(place)))
		return refuse_unheld(
			planner, place,
			"it does not exist, and what may write around it could make it",
			"create it (an empty one is enough), allow writing to a "
			"narrower folder, or leave it out of the rule");
	return 0;
}

/* The command is nobody else than we are: it cannot reach it either, unless it can open the way. */
static int hold_unreachable(struct planner *planner, const struct place *place,
			    const struct place *carrier)
{
	if (!carrier->is_writable)
		return 0;
	return refuse_unheld(planner, place,
			     "a folder on the way is closed to us, and could be opened by what may "
			     "write around it",
			     "open it to yourself (chmod u+x), or allow writing to a narrower "
			     "folder");
}

/* Does the carrier show more of the place than may be seen? */
static bool is_to_be_hidden(const struct place *place, const struct place *carrier)
{
	unsigned more = carrier->rights & ~place->rights;
	bool is_file = place->facts && place->facts->kind != HOST_FOLDER;

	if (is_file)
		more &= ~(unsigned)RIGHT_LIST;
	return more & RIGHTS_READ;
}

static bool differs(const struct place *place, const struct place *carrier)
{
	return place_wants_write(place) != carrier->is_writable ||
	       place_wants_execution(place) != carrier->is_executable;
}

static bool is_link_refused(const struct place *place)
{
	for (size_t i = 0; i < place->n_marks; i++)
		if (place->marks[i]->facts && place->marks[i]->facts->kind == HOST_LINK_REFUSED)
			return true;
	return false;
}

/* What can be seen at the place is a part of what its carrier shows. */
static int narrow(struct planner *planner, struct place *place, const struct place *carrier)
{
	if (is_link_refused(place))
		return refuse_unheld(planner, place,
				     "it is a link that does not belong to root, which may lead "
				     "anywhere",
				     "name what it leads to, or replace it by what it leads to");
	if (!place->facts || place->facts->kind == HOST_MISSING)
		return hold_missing(planner, place, carrier);
	if (place->facts->kind == HOST_UNREACHABLE)
		return hold_unreachable(planner, place, carrier);
	if (is_to_be_hidden(place, carrier)) {
		entry_hide(planner, place);
		return 0;
	}
	if (!(place->rights & RIGHTS_SEEN) || !carrier->source)
		return 0;
	/* On an overlay nothing is opened up again: that would write past it. */
	if (carrier->winner && carrier->winner->content == CONTENT_OVERLAY &&
	    place_wants_write(place))
		return 0;
	if (differs(place, carrier) || place_is_pinned(place))
		entry_show_host(planner, place);
	return 0;
}

/* In a fresh folder that the command may write, what it may not write is made beforehand. */
static void narrow_fresh(struct planner *planner, struct place *place)
{
	if (place->carrier && place->carrier->is_writable && !place_wants_write(place) &&
	    !place_is_only_guarded(place))
		entry_hide(planner, place);
}

static int refuse_target(struct planner *planner, const struct place *place)
{
	const struct place *carrier = place->carrier;

	(void)sbx_error_what(planner->err, -ENOENT, "cannot put %s at '%.200s'",
			     origin_text(&place->winner->origin), place->path);
	sbx_error_why(planner->err,
		      "'%.200s' is shown as it is outside, and there is nothing of that name in it",
		      carrier->path);
	sbx_error_fix(planner->err, "create it outside, or choose a target elsewhere");
	return -ENOENT;
}

/* The carrier's own file or folder of that name, which a mount covers. */
static int check_target(struct planner *planner, const struct place *place)
{
	const struct place *carrier = place->carrier;
	const struct host_path *facts;
	const char *rest, *covered;

	if (!carrier || place_is_fresh(carrier) || !carrier->source)
		return 0;
	rest = place->path + strlen(carrier->path);
	covered = planner_join(planner, carrier->source, rest + (*rest == '/'));
	facts = planner_facts(planner, covered);
	if (facts && facts->kind != HOST_MISSING && facts->kind != HOST_LINK_REFUSED)
		return 0;
	return refuse_target(planner, place);
}

static int show_place(struct planner *planner, struct place *place)
{
	const struct mark *winner = place->winner;
	int r;

	if (strcmp(place->path, "/") == 0)
		return 0;
	if (place->carrier && place->carrier->is_hidden) {
		if (place->rights & RIGHTS_SEEN)
			return refuse_unheld(planner, place,
					     "it is excepted from what is hidden around it",
					     "name what is to be hidden beside it, one by one");
		return 0;
	}
	/* What is shown from outside brings its links with it. */
	if (winner && winner->content == CONTENT_LINK && !place_is_fresh(place->carrier))
		return 0;
	if (place->base == place || (winner && winner->content == CONTENT_OVERLAY)) {
		if (!(place->rights & RIGHTS_SEEN))
			return 0;
		r = check_target(planner, place);
		if (r == 0)
			entry_show(planner, place);
		return r;
	}
	if (place->carrier && !place_is_fresh(place->carrier))
		return narrow(planner, place, place->carrier);
	if (place->carrier && !winner) {
		narrow_fresh(planner, place);
		return 0;
	}
	if (winner && (place->rights & RIGHTS_SEEN) && place->source)
		entry_show_host(planner, place);
	return 0;
}

int show_places(struct planner *planner)
{
	for (size_t i = 0; i < planner->n_places; i++) {
		struct place *place = &planner->places[i];
		int r;

		if (place->parent)
			place->carrier = place->parent->carrier;
		r = show_place(planner, place);
		if (r < 0)
			return r;
		landlock_place(planner, place);
	}
	return planner_status(planner);
}
