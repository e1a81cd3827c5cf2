/* SPDX-License-Identifier: MIT */

/*
 * What is put into the file tree at a place: one function a kind of content
 *
 * In the root and in fresh folders every step makes its own target, and the folders on the way to
 * it have steps of their own. What is shown from outside has its targets already.
 */

#include "plan/plan-internal.h"

#include <string.h>

bool place_is_fresh(const struct place *carrier)
{
	return !carrier ||
	       (!carrier->source && carrier->winner && carrier->winner->content != CONTENT_PROC);
}

static void make_folders(struct planner *planner, const struct place *place)
{
	const char *above = place->carrier ? place->carrier->path : "/";
	const char *at = strchr(place->path + (above[1] ? strlen(above) + 1 : 1), '/');
	const char *last = planner->last_target;

	for (; at; at = strchr(at + 1, '/')) {
		size_t len = (size_t)(at - place->path);
		struct step *step;

		/* Everything below a folder comes in one run, so the last step knows whether it is
		 * there. */
		if (last && strncmp(last, place->path, len) == 0 &&
		    (last[len] == '/' || last[len] == '\0'))
			continue;
		step = planner_add_step(planner, STEP_FOLDER, origin_built_in);
		step->folder = (struct step_folder){
			.target = arena_copy(planner->arena, place->path, len),
			.mode = 0755,
		};
		planner->no_memory |= !step->folder.target;
	}
}

/* Its target is planner->last_target. */
static struct step *add_step(struct planner *planner, struct place *place, enum step_kind kind)
{
	struct step_origin origin = place->winner ? place->winner->origin : place->marks[0]->origin;
	struct step *step;

	if (place_is_fresh(place->carrier))
		make_folders(planner, place);
	step = planner_add_step(planner, kind, origin);
	planner->last_target = planner_keep(planner, place->path);
	place->carrier = place;
	return step;
}

bool place_wants_write(const struct place *place)
{
	return place->rights & RIGHT_WRITE;
}

bool place_wants_execution(const struct place *place)
{
	return place->rights & RIGHTS_RUN;
}

/* Outside, what root's sandbox writes belongs to whom the folder belongs to. What is read-only in
 * such a folder looks as it would in it: git does not take a repository that is somebody else's. */
static struct step_owner find_owner(struct planner *planner, const struct place *place,
				    const struct place *carrier)
{
	bool is_marked = place->winner && (place->winner->flags & MARK_OWNED);
	const struct place *owned = place_wants_write(place) || is_marked ? place : carrier;
	struct step_owner mapped = mapped_owner(planner, place);

	/* A directory of the sandbox's own has no owner outside. */
	if (!is_real_root(planner->host) || !owned || !owned->facts || !owned->source ||
	    !(place_wants_write(owned) || is_marked) || owned->facts->uid == planner->plan->uid)
		return mapped;
	return (struct step_owner){ .is_set = true,
				    .uid = owned->facts->uid,
				    .gid = owned->facts->gid };
}

static struct mount_attributes attributes_of(const struct place *place)
{
	return (struct mount_attributes){
		.is_read_only = !place_wants_write(place),
		.no_exec = !place_wants_execution(place),
	};
}

/* What is told is why the place is not as its carrier is. */
static struct step_origin why_shown(struct planner *planner, const struct place *place,
				    const struct place *carrier)
{
	struct step_origin origin;
	unsigned more = 0, less = 0;

	if (!carrier)
		return place_find_origin(place, RIGHTS_FILES);
	if (place_wants_write(place) != carrier->is_writable)
		*(place_wants_write(place) ? &more : &less) |= RIGHT_WRITE;
	if (place_wants_execution(place) != carrier->is_executable)
		*(place_wants_execution(place) ? &more : &less) |= RIGHTS_RUN;
	if (!more && place_find_denial(planner, place, less, &origin))
		return origin;
	return place_find_origin(place, more);
}

void entry_show_host(struct planner *planner, struct place *place)
{
	bool is_folder = place->facts && place->facts->kind == HOST_FOLDER;
	const struct place *carrier = place->carrier;
	struct step_origin why = why_shown(planner, place, carrier);
	struct step *step = add_step(planner, place, STEP_BIND);

	step->origin = why;
	step->bind = (struct step_bind){
		.target = planner->last_target,
		.source = planner_keep(planner, place->source),
		.is_folder = is_folder,
		.attributes = attributes_of(place),
		.may_be_closed = place_is_of_credentials(place),
		.owner = find_owner(planner, place, carrier),
	};
	place->is_mapped = step->bind.owner.is_set;
	place->is_writable = place_wants_write(place);
	place->is_executable = place_wants_execution(place);
}

static void show_tmpfs(struct planner *planner, struct place *place)
{
	struct step *step = add_step(planner, place, STEP_TMPFS);

	step->tmpfs = (struct step_tmpfs){
		.target = planner->last_target,
		.size_bytes = place->winner->value,
		.mode = (mode_t)place->winner->second,
		.attributes = attributes_of(place),
		.shared = place->winner->flags & MARK_SHARED,
	};
	place->is_writable = place_wants_write(place);
	place->is_executable = place_wants_execution(place);
}

static void show_overlay(struct planner *planner, struct place *place)
{
	const struct mark *winner = place->winner;
	struct step *step = add_step(planner, place, STEP_OVERLAY);

	step->overlay = (struct step_overlay){
		.target = planner->last_target,
		.source = planner_keep(planner, place->source),
		.upper = winner->text,
		.work = winner->extra,
		.size_bytes = winner->text ? 0 : winner->value,
		.attributes.no_exec = !place_wants_execution(place),
		.owner = find_owner(planner, place, NULL),
	};
	place->is_writable = true;
	place->is_executable = place_wants_execution(place);
}

static void show_socket(struct planner *planner, struct place *place)
{
	struct step *step = add_step(planner, place, STEP_BIND);

	step->bind = (struct step_bind){
		.target = planner->last_target,
		.source = planner_keep(planner, place->source),
		.is_socket = true,
		.attributes = { .is_read_only = true, .no_exec = true },
	};
}

static void show_device(struct planner *planner, struct place *place)
{
	struct step *step = add_step(planner, place, STEP_BIND);

	step->bind = (struct step_bind){
		.target = planner->last_target,
		.source =
			place->source ? planner_keep(planner, place->source) : planner->last_target,
		.is_folder = place->facts && place->facts->kind == HOST_FOLDER,
		.attributes = { .is_read_only = true, .no_exec = true, .devices = true },
	};
}

static void show_folder(struct planner *planner, struct place *place)
{
	struct step *step = add_step(planner, place, STEP_FOLDER);

	step->folder = (struct step_folder){ .target = planner->last_target, .mode = 0755 };
}

static void show_link(struct planner *planner, struct place *place)
{
	struct step *step = add_step(planner, place, STEP_LINK);

	step->link = (struct step_link){
		.target = planner->last_target,
		.points_to = planner_keep(planner, place->winner->text),
	};
}

static void show_copy(struct planner *planner, struct place *place)
{
	struct step *step = add_step(planner, place, STEP_FILE);

	step->file = (struct step_file){
		.target = planner->last_target,
		.source = planner_keep(planner, place->source),
		.mode = (mode_t)place->winner->second,
	};
}

static void show_proc(struct planner *planner, struct place *place)
{
	struct step *step = add_step(planner, place, STEP_PROC);

	step->proc = (struct step_proc){
		.target = planner->last_target,
		.attributes = { .is_read_only = !place_wants_write(place), .no_exec = true },
	};
}

static void show_pts(struct planner *planner, struct place *place)
{
	struct step *step = add_step(planner, place, STEP_PTS);

	step->pts.target = planner->last_target;
}

static void (*const show[])(struct planner *planner, struct place *place) = {
	[CONTENT_HOST] = entry_show_host, [CONTENT_TMPFS] = show_tmpfs,
	[CONTENT_OVERLAY] = show_overlay, [CONTENT_SOCKET] = show_socket,
	[CONTENT_DEVICE] = show_device,	  [CONTENT_FOLDER] = show_folder,
	[CONTENT_LINK] = show_link,	  [CONTENT_COPY] = show_copy,
	[CONTENT_PROC] = show_proc,	  [CONTENT_PTS] = show_pts,
};

void entry_show(struct planner *planner, struct place *place)
{
	show[place->winner->content](planner, place);
}

void entry_veil(struct planner *planner, struct place *place)
{
	static const struct mark veil = {
		.kind = MARK_ALLOW,
		.content = CONTENT_TMPFS,
		.flags = MARK_OURS,
		.value = VEIL_SIZE,
		.second = 0755,
	};
	struct step_origin origin = origin_built_in;

	(void)place_find_denial(planner, place, RIGHTS_SEEN, &origin);
	place->winner = &veil;
	place->source = NULL;
	show_tmpfs(planner, place);
	((struct step *)planner->steps.rows)[planner->steps.n_rows - 1].origin = origin;
}

void entry_hide(struct planner *planner, struct place *place)
{
	struct step *step = add_step(planner, place, STEP_MASK);

	step->mask = (struct step_mask){
		.target = planner->last_target,
		.is_folder = !place->facts || place->facts->kind == HOST_FOLDER,
		/* The host was not asked, and a kernel may be built without. */
		.optional =
			place->marks[0]->kind == MARK_DENY && (place->marks[0]->flags & MARK_OURS),
		.may_be_closed = place_is_of_credentials(place),
	};
	(void)place_find_denial(planner, place, RIGHTS_SEEN, &step->origin);
	place->is_hidden = true;
}
