/* SPDX-License-Identifier: MIT */

/*
 * The view once more, as Landlock rules
 *
 * Landlock adds up rights from the root down and never removes any. So a rule is added where a
 * place has more rights than the one above it; where it has fewer, the mount enforces that. Without
 * a mount view nothing does, and a policy that needs it is refused.
 *
 * The numbers are bits of the kernel's interface. Bits that the kernel's ABI lacks are left out,
 * and a notice names them.
 */

#include "plan/plan-internal.h"

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/error.h"

#define ABI_REFER 2
#define ABI_TRUNCATE 3
#define ABI_IOCTL 5
#define ABI_SCOPES 6

/* rights 0: handled, so that it is denied, but never granted. */
static const struct access {
	unsigned bit;
	unsigned rights;
	int abi;
	bool is_of_files; /* may be granted for a regular file */
} accesses[] = {
	{ 0, RIGHT_EXEC, 1, true },		 /* execute */
	{ 1, RIGHT_WRITE, 1, true },		 /* write_file */
	{ 2, RIGHT_READ, 1, true },		 /* read_file */
	{ 3, RIGHT_LIST, 1, false },		 /* read_dir */
	{ 4, RIGHT_WRITE, 1, false },		 /* remove_dir */
	{ 5, RIGHT_WRITE, 1, false },		 /* remove_file */
	{ 6, 0, 1, false },			 /* make_char */
	{ 7, RIGHT_WRITE, 1, false },		 /* make_dir */
	{ 8, RIGHT_WRITE, 1, false },		 /* make_reg */
	{ 9, RIGHT_WRITE, 1, false },		 /* make_sock */
	{ 10, RIGHT_WRITE, 1, false },		 /* make_fifo */
	{ 11, 0, 1, false },			 /* make_block */
	{ 12, RIGHT_WRITE, 1, false },		 /* make_sym */
	{ 13, RIGHT_WRITE, ABI_REFER, false },	 /* refer */
	{ 14, RIGHT_WRITE, ABI_TRUNCATE, true }, /* truncate */
	{ 15, RIGHT_DEVICE, ABI_IOCTL, true },	 /* ioctl_dev */
};

enum {
	BIND_TCP = 1 << 0,
	CONNECT_TCP = 1 << 1,
	SCOPE_ABSTRACT_UNIX_SOCKET = 1 << 0,
	SCOPE_SIGNAL = 1 << 1,
};

/* The rights that Landlock rules can grant. */
#define RIGHTS_LANDLOCK (RIGHT_READ | RIGHT_LIST | RIGHT_WRITE | RIGHT_EXEC | RIGHT_DEVICE)

static uint64_t all_accesses(int abi)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < N_ELEMENTS(accesses); i++)
		if (accesses[i].abi <= abi)
			bits |= UINT64_C(1) << accesses[i].bit;
	return bits;
}

static uint64_t accesses_of(unsigned rights, bool is_directory, int abi)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < N_ELEMENTS(accesses); i++)
		if (accesses[i].abi <= abi && (rights & accesses[i].rights) &&
		    (is_directory || accesses[i].is_of_files))
			bits |= UINT64_C(1) << accesses[i].bit;
	return bits;
}

static unsigned rights_for(const struct place *place)
{
	unsigned rights = place->rights;

	if (rights & RIGHT_START)
		rights |= RIGHT_EXEC;
	return rights & RIGHTS_LANDLOCK;
}

/* Without a policy everything visible may be read and mostly executed: one rule at the root grants
 * that. */
static unsigned rights_of_root(const struct planner *planner)
{
	if (planner->policy)
		return 0;
	return RIGHT_READ | RIGHT_LIST | (is_limiting_exec(planner) ? 0 : RIGHT_EXEC);
}

static bool is_directory(const struct place *place)
{
	static const bool directories[] = {
		[CONTENT_TMPFS] = true, [CONTENT_OVERLAY] = true, [CONTENT_DIRECTORY] = true,
		[CONTENT_PROC] = true,	[CONTENT_PTS] = true,
	};

	return (place->winner && directories[place->winner->content]) ||
	       (place->facts && place->facts->kind == HOST_DIRECTORY);
}

/* origin is the reason for the additional rights: the rule printed for this Landlock rule. */
static void add_path(struct planner *planner, struct shown *shown, unsigned rights)
{
	const struct place *place = shown->place;
	struct landlock_path *row = list_add(planner, &planner->landlock_paths, sizeof(*row));
	unsigned new = rights & ~shown->landlocked;

	*row = (struct landlock_path){
		.path = planner_keep(planner, place->path),
		.rights = rights,
		.is_directory = is_directory(place),
		.origin = place_find_origin(place, new &RIGHT_EXEC ? new | RIGHT_START : new),
	};
	shown->landlocked |= rights;
}

/* Only a directory can be listed, and the kernel refuses a rule that grants nothing (ENOMSG). */
static bool adds_rights(const struct shown *shown, unsigned rights)
{
	if (!is_directory(shown->place))
		rights &= ~(unsigned)RIGHT_LIST;
	return rights & ~shown->landlocked;
}

static bool needs_rule(const struct shown *shown)
{
	const struct mark *winner = shown->place->winner;

	if (!shown_is_visible(shown) || strcmp(shown->place->path, "/") == 0)
		return false;
	/* A symbolic link has no rights of its own, and a socket is connected to, not opened. */
	return !winner || (winner->content != CONTENT_LINK && winner->content != CONTENT_SOCKET);
}

void landlock_place(struct planner *planner, struct shown *shown)
{
	const struct place *place = shown->place;
	unsigned rights = rights_for(place);

	shown->landlocked = place->parent ? shown_of(planner, place->parent)->landlocked
					  : rights_of_root(planner);
	if (needs_rule(shown) && adds_rights(shown, rights))
		add_path(planner, shown, rights);
}

static int refuse_narrower(struct planner *planner, const struct place *place, unsigned more)
{
	struct step_origin origin = { .kind = ORIGIN_BUILT_IN, .text = "a rule" };

	(void)place_find_denial(planner, place, more, &origin);
	return error_fill(
		planner->err, -EOPNOTSUPP,
		"the directory around it is allowed, and the reduced tier cannot hide parts of a directory",
		"allow narrower directories, or use a host with user namespaces",
		"cannot enforce what %s denies at '%.300s'", origin_text(&origin), place->path);
}

static int refuse_content(struct planner *planner, const struct mark *mark)
{
	(void)sbx_error_what(planner->err, -EOPNOTSUPP, "cannot mount anything at '%.300s'",
			     mark->path);
	sbx_error_why(planner->err, "%s asks for it, and the reduced tier has no mount namespace",
		      origin_text(&mark->origin));
	sbx_error_fix(planner->err, "leave it out, or use a host with user namespaces");
	return -EOPNOTSUPP;
}

/* Without mounts devices are the host's own, and private content does not exist. */
static bool is_plain(const struct mark *winner)
{
	return !winner || winner->content == CONTENT_HOST || winner->content == CONTENT_DEVICE;
}

int landlock_alone(struct planner *planner)
{
	int r = shown_begin(planner);

	if (r < 0)
		return r;
	for (size_t i = 0; i < planner->view.n_places; i++) {
		struct shown *shown = &planner->view.shown[i];
		const struct place *place = shown->place;
		const struct shown *above = place->parent ? shown_of(planner, place->parent) : NULL;
		const struct mark *winner = place->winner;
		unsigned rights = rights_for(place), more;
		bool is_there = place->facts && place->facts->kind != HOST_MISSING;

		shown->landlocked = above ? above->landlocked : 0;
		shown->carrier = above ? above->carrier : NULL;
		if (place_find_absent_mount(place) && shown->landlocked)
			return refuse_content(planner, place_find_absent_mount(place));
		if (winner && (!is_plain(winner) || winner->source)) {
			if (winner->content == CONTENT_SOCKET || !(winner->flags & MARK_ASKED))
				continue;
			return refuse_content(planner, winner);
		}
		more = shown->landlocked & ~rights;
		if (more && (is_there || ((more & RIGHT_WRITE) && !place_is_only_guarded(place))))
			return refuse_narrower(planner, place, more);
		if (!adds_rights(shown, rights) || strcmp(place->path, "/") == 0)
			continue;
		if (!is_there && !(winner && winner->content == CONTENT_DEVICE))
			continue;
		shown->carrier = shown;
		add_path(planner, shown, rights);
	}
	return planner_status(planner);
}

static void add_ports(struct planner *planner)
{
	const struct step *steps = planner->steps.rows;
	size_t n = planner->steps.n_rows;
	const struct plan *plan = planner->plan;

	if (!is_limiting_ports(planner))
		return;
	for (size_t i = 0; i < n; i++) {
		struct step *port;

		if (steps[i].kind != STEP_LISTEN)
			continue;
		port = planner_add_step(planner, STEP_LANDLOCK_PORT, steps[i].origin);
		/* Adding a step may have moved the list. */
		steps = planner->steps.rows;
		port->landlock_port =
			(struct step_landlock_port){ steps[i].listen.port, CONNECT_TCP };
	}
	for (size_t i = 0; i < plan->n_inward; i++) {
		struct step *port =
			planner_add_step(planner, STEP_LANDLOCK_PORT,
					 origin_of_port(planner, plan->inward[i], true));

		port->landlock_port =
			(struct step_landlock_port){ plan->inward[i], BIND_TCP | CONNECT_TCP };
	}
}

void add_landlock(struct planner *planner)
{
	const struct landlock_path *paths = planner->landlock_paths.rows;
	int abi = planner->host->landlock_abi;
	unsigned root = rights_of_root(planner);
	struct step *step;

	if (!(planner->plan->layers & LAYER_LANDLOCK))
		return;
	step = planner_add_step(planner, STEP_LANDLOCK, origin_built_in);
	step->landlock = (struct step_landlock){
		.file_rights = all_accesses(abi),
		.port_rights = is_limiting_ports(planner) ? BIND_TCP | CONNECT_TCP : 0,
		.scopes = abi >= ABI_SCOPES ? SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL : 0,
	};
	planner->plan->unenforced_landlock = all_accesses(ABI_SCOPES) & ~all_accesses(abi);
	if (root && planner->plan->tier == TIER_FULL) {
		step = planner_add_step(planner, STEP_LANDLOCK_PATH, origin_built_in);
		step->landlock_path.target = "/";
		step->landlock_path.rights = accesses_of(root, true, abi);
	}
	for (size_t i = 0; i < planner->landlock_paths.n_rows; i++) {
		step = planner_add_step(planner, STEP_LANDLOCK_PATH, paths[i].origin);
		step->landlock_path.target = paths[i].path;
		step->landlock_path.rights =
			accesses_of(paths[i].rights, paths[i].is_directory, abi);
	}
	/* With --pty the command does not get the streams that sbx-spawn has. */
	if (!planner->request->pty) {
		step = planner_add_step(planner, STEP_LANDLOCK_STREAMS, origin_built_in);
		step->landlock_streams.rights =
			accesses_of(RIGHT_READ | RIGHT_WRITE | RIGHT_DEVICE, false, abi);
	}
	add_ports(planner);
	planner_add_step(planner, STEP_LANDLOCK_ENFORCE, origin_built_in);
}
