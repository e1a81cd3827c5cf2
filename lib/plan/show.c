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
	struct step_origin origin = { .kind = ORIGIN_BUILT_IN, .text = "a rule" };

	(void)place_find_denial(planner, place, RIGHTS_SEEN, &origin);
	(void)sbx_error_what(planner->err, -EOPNOTSUPP, "cannot enforce what %s denies at '%.300s'",
			     origin_text(&origin), place->path);
	sbx_error_why(planner->err, "%s", why);
	sbx_error_fix(planner->err, "%s", fix);
	return -EOPNOTSUPP;
}

/* Landlock does not take away: what it grants above a place it grants at the place. */
static unsigned landlocked(const struct planner *planner, const struct place *place)
{
	if (!(planner->plan->layers & LAYER_LANDLOCK))
		return RIGHTS_SEEN;
	return (place->parent ? place->parent->landlocked : 0) | RIGHT_EXISTS;
}

static bool is_socket(const struct place *place)
{
	return place->facts && place->facts->kind == HOST_SOCKET;
}

/* A read-only mount is nothing to a FIFO, and neither it nor Landlock is to a socket. A device node
 * is dead on the mounts of host files. */
static bool is_special(const struct place *place)
{
	return is_socket(place) || (place->facts && place->facts->kind == HOST_OTHER);
}

/* What could be done at the place beyond its rights if no step were about it. */
static unsigned find_excess(const struct planner *planner, const struct place *place,
			    const struct place *carrier)
{
	unsigned permitted = RIGHTS_READ;

	if (carrier->is_writable || is_special(place))
		permitted |= RIGHT_WRITE;
	if (carrier->is_executable)
		permitted |= RIGHT_EXEC;
	if (!(carrier->rights & RIGHT_EXISTS))
		permitted &= ~(unsigned)RIGHT_EXISTS;
	permitted &= landlocked(planner, place);
	if (is_socket(place))
		permitted = RIGHT_WRITE;
	permitted &= ~place->rights;
	if (place->facts && place->facts->kind != HOST_FOLDER && place->facts->kind != HOST_MISSING)
		permitted &= ~(unsigned)RIGHT_LIST;
	return permitted;
}

/* A name that is not there needs no hiding; but one that may be made there cannot be held. */
static int hold_missing(struct planner *planner, const struct place *place,
			const struct place *carrier)
{
	if (carrier->is_hidden || place_is_only_guarded(place))
		return 0;
	if (carrier->is_writable && (find_excess(planner, place, carrier) & ~RIGHT_EXISTS))
		return refuse_unheld(
			planner, place,
			"it does not exist, and the command could create it in a "
			"directory that it may write to",
			planner_format(planner,
				       "create it ('mkdir -p %.300s', or 'touch' for a "
				       "file), or allow writing to a narrower directory",
				       place->path));
	return 0;
}

/* The command has our uid and cannot reach it either, unless it can chmod a directory on the way.
 */
static int hold_unreachable(struct planner *planner, const struct place *place,
			    const struct place *carrier)
{
	/* Another user's directory the command cannot open. */
	if (!carrier->is_writable || place->facts->uid != planner->host->uid)
		return 0;
	return refuse_unheld(
		planner, place,
		"sbx-spawn may not search a directory on the way, and the command could open it with chmod",
		"open it first (chmod u+x), or make a narrower directory writable");
}

/* A mount takes away writing and executing, but not reading, and nothing of special files. */
static bool is_to_be_hidden(const struct place *place, unsigned excess)
{
	if (excess & RIGHTS_READ)
		return true;
	if ((excess & RIGHT_WRITE) && is_special(place))
		return true;
	return excess && !(place->rights & RIGHTS_SEEN);
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

/* Is something that is put there by itself shown below a place that shows nothing? */
static bool shows_below(const struct planner *planner, const struct place *place)
{
	const struct place *end = planner->places + planner->n_places;

	if (place->rights & RIGHTS_SEEN)
		return false;
	for (const struct place *at = place + 1; at < end && is_below(at->path, place->path); at++)
		if (at->winner && (at->rights & RIGHTS_SEEN))
			return true;
	return false;
}

/* What can be seen at the place is a part of what its carrier shows. */
static int narrow(struct planner *planner, struct place *place, const struct place *carrier)
{
	unsigned excess;

	if (is_link_refused(place))
		return refuse_unheld(
			planner, place,
			"it is a symbolic link that its owner, or a command in a sandbox, could change",
			"name its target, or replace the link by its target");
	if (!place->facts || place->facts->kind == HOST_MISSING)
		return hold_missing(planner, place, carrier);
	if (place->facts->kind == HOST_UNREACHABLE)
		return hold_unreachable(planner, place, carrier);
	excess = find_excess(planner, place, carrier);
	if (is_to_be_hidden(place, excess)) {
		(shows_below(planner, place) ? entry_veil : entry_hide)(planner, place);
		return 0;
	}
	/* Landlock permits executing here; then a mount must not permit mapping either. */
	if ((excess & RIGHT_EXEC) && !(place->rights & RIGHT_START))
		place->rights &= ~(unsigned)RIGHT_MAP;
	if (!(place->rights & RIGHTS_SEEN) || !carrier->source)
		return 0;
	/* On an overlay nothing is opened up again: that would write past it. */
	if (carrier->winner && carrier->winner->content == CONTENT_OVERLAY &&
	    place_wants_write(place))
		return 0;
	if (differs(place, carrier) || place_is_pinned(place) ||
	    mapped_needs_mount(planner, place, carrier))
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

	(void)sbx_error_what(planner->err, -ENOENT, "cannot mount %s at '%.200s'",
			     origin_text(&place->winner->origin), place->path);
	sbx_error_why(
		planner->err,
		"'%.200s' is a bind mount of the host's directory, which contains nothing of that name",
		carrier->path);
	sbx_error_fix(planner->err, "create it outside, or choose another target");
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

/* What Landlock permits above the place a mount of its own cannot forbid. */
static bool must_be_hidden(const struct planner *planner, const struct place *place)
{
	struct place carrier = *place;

	carrier.is_writable = place_wants_write(place);
	carrier.is_executable = place_wants_execution(place);
	return (planner->plan->layers & LAYER_LANDLOCK) && !place_is_made(place) &&
	       (find_excess(planner, place, &carrier) & (RIGHT_READ | RIGHT_LIST));
}

static int show_place(struct planner *planner, struct place *place)
{
	const struct mark *winner = place->winner;
	int r;

	if (strcmp(place->path, "/") == 0)
		return 0;
	if (place->carrier && place->carrier->is_hidden) {
		/* What is missing in it can neither be seen nor made. */
		if ((place->rights & RIGHTS_SEEN) && place->facts &&
		    place->facts->kind != HOST_MISSING)
			return refuse_unheld(
				planner, place,
				"it lies in a hidden directory, and a mask cannot have exceptions",
				"deny the other entries of that directory one by one");
		return 0;
	}
	/* What is shown from outside brings its links with it. */
	if (winner && winner->content == CONTENT_LINK && !place_is_fresh(place->carrier))
		return 0;
	if (place->base == place || (winner && winner->content == CONTENT_OVERLAY)) {
		if (!(place->rights & RIGHTS_SEEN))
			return 0;
		r = check_target(planner, place);
		if (r < 0)
			return r;
		if (must_be_hidden(planner, place))
			entry_hide(planner, place);
		else
			entry_show(planner, place);
		return 0;
	}
	if (place->carrier && !place_is_fresh(place->carrier))
		return narrow(planner, place, place->carrier);
	if (place->carrier && !winner) {
		narrow_fresh(planner, place);
		return 0;
	}
	if (!winner || !(place->rights & RIGHTS_SEEN) || !place->source)
		return 0;
	if (must_be_hidden(planner, place))
		entry_hide(planner, place);
	else
		entry_show_host(planner, place);
	return 0;
}

/* A mount shows contents and names, and lets what it carries be executed, or not. */
static int check_mount(struct planner *planner, const struct place *place)
{
	bool has_landlock = planner->plan->layers & LAYER_LANDLOCK;
	unsigned excess;

	if (place->carrier != place || place->is_hidden || place_is_made(place))
		return 0;
	excess = find_excess(planner, place, place) & (RIGHT_READ | RIGHT_LIST | RIGHT_WRITE);
	if (has_landlock && (excess & RIGHT_WRITE) && is_special(place))
		return refuse_unheld(
			planner, place,
			"it is a FIFO in a writable directory, and a read-only mount does not prevent writes to a FIFO",
			"allow writing to it, or deny it completely");
	if (has_landlock || !excess)
		return 0;
	return refuse_unheld(
		planner, place,
		"'isolation.nested' excludes Landlock, and a mount alone cannot separate listing from reading nor protect FIFOs",
		"allow both, or remove 'nested'");
}

int show_places(struct planner *planner)
{
	for (size_t i = 0; i < planner->n_places; i++) {
		struct place *place = &planner->places[i];
		int r;

		if (place->parent)
			place->carrier = place->parent->carrier;
		r = show_place(planner, place);
		if (r == 0)
			r = check_mount(planner, place);
		if (r < 0)
			return r;
		landlock_place(planner, place);
	}
	return planner_status(planner);
}
