/* SPDX-License-Identifier: MIT */

/*
 * Places become steps of the file tree
 *
 * A mount of a host directory contains everything below it. So on the way down the tree, a step is
 * added only where a place differs from the mount that carries it: where nothing carries it, where
 * its rights to write or execute differ from the mount's, and where it must be hidden.
 *
 * In the root and in a tmpfs of the sandbox every step creates its own target, and the directories
 * on the way to it have their own steps. A bind mount of the host already contains its targets:
 * nothing is ever created in the host's own files.
 */

#include "plan/plan-internal.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <sbx/error.h>

#include "base/error.h"
#include "base/path.h"

/* Of the names that a fix lists; it has SBX_ERROR_TEXT_SIZE with its other words. */
#define NAMES_BYTES 350

/* Did sbx make @carrier, so that mount points in it must be created? NULL is the root. */
static bool place_is_fresh(const struct shown *carrier)
{
	return !carrier || (!carrier->place->source && carrier->place->winner &&
			    carrier->place->winner->content != CONTENT_PROC);
}

static bool place_wants_write(const struct place *place)
{
	return place->rights & RIGHT_WRITE;
}

static bool place_wants_execution(const struct place *place)
{
	return place->rights & RIGHTS_RUN;
}

/*
 * Idmapped mounts of directories that root names and other users may not enter
 *
 * Root's sandbox runs as a user that may not search /root. If root starts it in a private
 * directory, or names one by --read, the mount maps the owner root to the command's user, so that
 * the command reads what root would. Only a uid is mapped: the kernel refuses every write to an
 * inode whose gid is unmapped in the mount, so that root's FIFOs and sockets stay closed, as do
 * files of other users that root's group may read.
 *
 * System directories are never mapped: /etc/shadow would become readable.
 */

const char *const plan_system_directories[] = {
	"/etc",	   "/usr",  "/bin", "/sbin", "/lib",  "/lib32", "/lib64",
	"/libx32", "/boot", "/run", "/dev",  "/proc", "/sys",	NULL,
};

/* Directories below these may be root's own. */
const char *const plan_shared_directories[] = { "/", "/var", "/home", NULL };

/* Compares the name only; kernel/idmap.c compares the opened directory. */
static bool is_of_system(const char *path)
{
	for (size_t i = 0; plan_system_directories[i]; i++)
		if (path_is_at_or_below(path, plan_system_directories[i]))
			return true;
	for (size_t i = 0; plan_shared_directories[i]; i++)
		if (path_is_at_or_below(plan_shared_directories[i], path))
			return true;
	return false;
}

void ask_about_mapped(struct planner *planner, const struct mark *mark)
{
	if (planner->request->is_root && (mark->flags & MARK_MAPPED))
		ask_about_way(planner, mark->path);
}

/* Is a directory on the way to @path closed to other users? */
static bool is_way_closed(struct planner *planner, const char *path)
{
	for (const char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		const char *directory = planner_keep_bytes(planner, path, (size_t)(at - path));
		const struct host_path *facts = host_find_path(planner->host, directory);

		if (facts && facts->kind == HOST_DIRECTORY && !(facts->mode & S_IXOTH))
			return true;
	}
	return false;
}

/* Of the place and those above it with the same content, the one that root named. */
static const struct place *find_named(const struct place *place)
{
	for (const struct place *at = place; at && at->base == place->base; at = at->parent)
		for (size_t i = 0; i < at->n_marks; i++)
			if ((at->marks[i]->flags & (MARK_MAPPED | MARK_DROPPED)) == MARK_MAPPED)
				return at;
	return NULL;
}

static struct step_owner mapped_owner(struct planner *planner, const struct place *place)
{
	const struct place *named = is_real_root(planner->host) ? find_named(place) : NULL;
	const struct host_path *facts = named ? named->facts : NULL;

	if (!facts || !facts->real || (facts->kind != HOST_DIRECTORY && facts->kind != HOST_FILE) ||
	    facts->uid != 0 || is_of_system(facts->real) || place_wants_write(place) ||
	    !(host_path_is_closed(facts) || is_way_closed(planner, facts->real)))
		return (struct step_owner){ .is_set = false };
	return (struct step_owner){
		.is_set = true, .gid = STEP_NO_GID, .optional = true, .not_of_system = true
	};
}

static bool mapped_needs_mount(struct planner *planner, const struct place *place,
			       const struct shown *carrier)
{
	/* The command's user must be able to reach the target. */
	return !carrier->owner.is_set && mapped_owner(planner, place).is_set &&
	       !is_way_closed(planner, place->path);
}

/* ---- the steps of one place: one function for each kind of content ---- */

static void make_directories(struct planner *planner, const struct shown *shown)
{
	struct place *place = shown->place;
	const char *above = shown->carrier ? shown->carrier->place->path : "/";
	const char *at = strchr(place->path + (above[1] ? strlen(above) + 1 : 1), '/');
	const struct step *steps = planner->steps.rows;
	size_t n = planner->steps.n_rows;
	const char *last = n > 0 ? step_target(&steps[n - 1]) : NULL;

	for (; at; at = strchr(at + 1, '/')) {
		size_t len = (size_t)(at - place->path);
		struct step *step;

		/* Places below a directory are consecutive, so the last target shows whether the
		 * directory has been made. */
		if (last && strncmp(last, place->path, len) == 0 &&
		    (last[len] == '/' || last[len] == '\0'))
			continue;
		step = planner_add_step(planner, STEP_DIRECTORY, origin_built_in);
		step->directory.target = planner_keep_bytes(planner, place->path, len);
		step->directory.mode = 0755;
	}
}

/* Adds a step that puts something at the place. */
static struct step *add_step(struct planner *planner, struct shown *shown, enum step_kind kind)
{
	struct place *place = shown->place;
	struct step_origin origin = place->winner ? place->winner->origin : place->marks[0]->origin;
	struct step *step;

	if (place_is_fresh(shown->carrier))
		make_directories(planner, shown);
	step = planner_add_step(planner, kind, origin);
	step_set_target(step, planner_keep(planner, place->path));
	shown->carrier = shown;
	return step;
}

/* If root's sandbox writes a file, it must be owned outside by its directory's owner. A read-only
 * mount in such a directory is mapped the same way: git refuses a repository owned by another uid.
 * Root may name a system directory for writing; but one that a bind mount shows under another name
 * is not mapped. */
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
				    .gid = owned->facts->gid,
				    .not_of_system = owned->facts->uid == 0 &&
						     !(owned->facts->real &&
						       is_of_system(owned->facts->real)) };
}

static struct mount_attributes attributes_of(const struct place *place)
{
	return (struct mount_attributes){
		.is_read_only = !place_wants_write(place),
		.no_exec = !place_wants_execution(place),
	};
}

/* The origin is the rule that makes the place differ from its carrier. */
static struct step_origin why_shown(struct planner *planner, const struct place *place,
				    const struct shown *carrier)
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

static bool differs(const struct place *place, const struct shown *carrier)
{
	return place_wants_write(place) != carrier->is_writable ||
	       place_wants_execution(place) != carrier->is_executable;
}

/* Is the place a mount only so that it cannot be renamed? Then its files have the same owners as
 * those of its carrier, as if it were none. */
static bool is_only_pinned(struct planner *planner, const struct place *place,
			   const struct shown *carrier)
{
	return carrier && place_is_pinned(place) && place->base != place &&
	       !differs(place, carrier) && !mapped_needs_mount(planner, place, carrier);
}

static void entry_show_host(struct planner *planner, struct shown *shown)
{
	struct place *place = shown->place;
	bool is_directory = place->facts && place->facts->kind == HOST_DIRECTORY;
	const struct shown *carrier = shown->carrier;
	struct step_origin why = why_shown(planner, place, carrier);
	struct step *step = add_step(planner, shown, STEP_BIND);

	step->origin = why;
	step->bind.source = planner_keep(planner, place->source);
	step->bind.is_directory = is_directory;
	step->bind.attributes = attributes_of(place);
	step->bind.may_be_closed = place_is_of_credentials(place);
	step->bind.owner = is_only_pinned(planner, place, carrier)
				   ? carrier->owner
				   : find_owner(planner, place, carrier ? carrier->place : NULL);
	shown->owner = step->bind.owner;
	shown->is_writable = place_wants_write(place);
	shown->is_executable = place_wants_execution(place);
}

static void show_tmpfs(struct planner *planner, struct shown *shown)
{
	struct place *place = shown->place;
	struct step *step = add_step(planner, shown, STEP_TMPFS);

	step->tmpfs.size_bytes = place->winner->value;
	step->tmpfs.mode = (mode_t)place->winner->second;
	step->tmpfs.attributes = attributes_of(place);
	step->tmpfs.shared = place->winner->flags & MARK_SHARED;
	shown->is_writable = place_wants_write(place);
	shown->is_executable = place_wants_execution(place);
}

/* --out names no directory: root's command in /etc must not read files that only root may read. */
static struct step_owner find_overlay_owner(struct planner *planner, const struct place *place)
{
	struct step_owner owner = find_owner(planner, place, NULL);
	const char *real = place->facts ? place->facts->real : NULL;

	if (!owner.is_set || !real || place->facts->uid != 0 || !is_of_system(real))
		return owner;
	planner_note(planner,
		     planner_format(planner,
				    "in '%s' the command can change only what other "
				    "users may change",
				    place->path),
		     "it does not run as the owner root there, because it could then read files "
		     "such as /etc/shadow; --uid chooses another user");
	return (struct step_owner){ .is_set = false };
}

static void show_overlay(struct planner *planner, struct shown *shown)
{
	struct place *place = shown->place;
	const struct mark *winner = place->winner;
	struct step *step = add_step(planner, shown, STEP_OVERLAY);

	step->overlay.source = planner_keep(planner, place->source);
	step->overlay.upper = winner->text;
	step->overlay.work = winner->extra;
	step->overlay.size_bytes = winner->text ? 0 : winner->value;
	step->overlay.attributes.no_exec = !place_wants_execution(place);
	step->overlay.owner = find_overlay_owner(planner, place);
	shown->is_writable = true;
	shown->is_executable = place_wants_execution(place);
}

/* A socket or a device. */
static void show_special(struct planner *planner, struct shown *shown)
{
	const struct place *place = shown->place;
	struct step *step = add_step(planner, shown, STEP_BIND);
	bool is_device = place->winner->content == CONTENT_DEVICE;

	step->bind.source = planner_keep(planner, place->source ? place->source : place->path);
	step->bind.is_directory = is_device && place->facts && place->facts->kind == HOST_DIRECTORY;
	step->bind.is_socket = !is_device;
	step->bind.attributes = (struct mount_attributes){ .is_read_only = true,
							   .no_exec = true,
							   .devices = is_device };
}

static void show_directory(struct planner *planner, struct shown *shown)
{
	add_step(planner, shown, STEP_DIRECTORY)->directory.mode = 0755;
}

static void show_link(struct planner *planner, struct shown *shown)
{
	struct step *step = add_step(planner, shown, STEP_LINK);

	step->link.points_to = planner_keep(planner, shown->place->winner->text);
}

static void show_copy(struct planner *planner, struct shown *shown)
{
	const struct place *place = shown->place;
	struct step *step = add_step(planner, shown, STEP_FILE);

	step->file.source = planner_keep(planner, place->source);
	step->file.mode = (mode_t)place->winner->second;
}

static void show_proc(struct planner *planner, struct shown *shown)
{
	struct step *step = add_step(planner, shown, STEP_PROC);

	step->proc.attributes.is_read_only = !place_wants_write(shown->place);
	step->proc.attributes.no_exec = true;
}

static void show_pts(struct planner *planner, struct shown *shown)
{
	add_step(planner, shown, STEP_PTS);
}

static void (*const show[])(struct planner *planner, struct shown *shown) = {
	[CONTENT_HOST] = entry_show_host, [CONTENT_TMPFS] = show_tmpfs,
	[CONTENT_OVERLAY] = show_overlay, [CONTENT_SOCKET] = show_special,
	[CONTENT_DEVICE] = show_special,  [CONTENT_DIRECTORY] = show_directory,
	[CONTENT_LINK] = show_link,	  [CONTENT_COPY] = show_copy,
	[CONTENT_PROC] = show_proc,	  [CONTENT_PTS] = show_pts,
};

static void entry_show(struct planner *planner, struct shown *shown)
{
	const struct mark *winner = shown->place->winner;

	assert(winner); /* begins_anew() requires one */
	show[winner->content](planner, shown);
}

static void entry_veil(struct planner *planner, struct shown *shown)
{
	static const struct mark veil = {
		.kind = MARK_ALLOW,
		.content = CONTENT_TMPFS,
		.flags = MARK_OURS,
		.value = VEIL_SIZE,
		.second = 0755,
	};
	struct step_origin origin = origin_built_in;
	struct place *place = shown->place;
	struct step *step;

	(void)place_find_denial(planner, place, RIGHTS_SEEN, &origin);
	place->winner = &veil;
	place->source = NULL;
	show_tmpfs(planner, shown);
	step = &((struct step *)planner->steps.rows)[planner->steps.n_rows - 1];
	step->origin = origin;
	step->tmpfs.size_bytes = view_find_size(planner, VEIL_SIZE);
}

static void entry_hide(struct planner *planner, struct shown *shown)
{
	struct place *place = shown->place;
	struct step *step = add_step(planner, shown, STEP_MASK);

	step->mask.is_directory = !place->facts || place->facts->kind == HOST_DIRECTORY;
	/* The host was not asked, and a kernel may lack the file. */
	step->mask.optional =
		place->marks[0]->kind == MARK_DENY && (place->marks[0]->flags & MARK_OURS);
	step->mask.may_be_closed = place_is_of_credentials(place);
	(void)place_find_denial(planner, place, RIGHTS_SEEN, &step->origin);
	shown->is_hidden = true;
}

/* ---- the walk down the tree ---- */

bool shown_is_visible(const struct shown *shown)
{
	const struct place *place = shown->place;
	if (shown->carrier == shown)
		return !shown->is_hidden;
	return shown->carrier && !shown->carrier->is_hidden && (place->rights & RIGHTS_SEEN) &&
	       place->facts && place->facts->kind != HOST_MISSING;
}

static int refuse_unheld(struct planner *planner, const struct place *place, const char *why,
			 const char *fix)
{
	struct step_origin origin;

	if (place_find_denial(planner, place, RIGHTS_SEEN, &origin)) {
		(void)sbx_error_what(planner->err, -EOPNOTSUPP,
				     "cannot enforce what %s denies at '%.300s'",
				     origin_text(&origin), place->path);
	} else {
		origin = place_find_origin(place, RIGHTS_SEEN);
		(void)sbx_error_what(planner->err, -EOPNOTSUPP,
				     "cannot enforce that %s allows no more at '%.300s'",
				     origin_text(&origin), place->path);
	}
	error_explain(planner->err, why, fix);
	return -EOPNOTSUPP;
}

/* The rights that other names give to the directories of the mount @root from @outside up. */
static unsigned granted_elsewhere(const struct planner *planner, const struct place *place,
				  const char *outside, const char *root)
{
	unsigned granted = 0;

	for (size_t i = 0; i < planner->view.n_places; i++) {
		const struct place *other = &planner->view.places[i];

		if (other->source && path_is_at_or_below(outside, other->source) &&
		    path_is_at_or_below(other->source, root) &&
		    !path_is_at_or_below(place->path, other->path))
			granted |= other->rights & RIGHTS_FILES;
	}
	return granted;
}

/* May Landlock grant reading the file because of a rule for another name of it, a hard link or one
 * below a bind mount of the host? Where something else is left to do with the file, a mask would
 * take that away. */
static bool may_have_other_names(const struct place *place)
{
	return place->facts && place->facts->kind == HOST_FILE &&
	       !(place->rights & RIGHTS_SEEN & ~(unsigned)(RIGHT_EXISTS | RIGHT_LIST));
}

/* Finds what is denied at the place, and granted where a mount shows a directory around it under
 * another name: a file has the rights of either name, but a denial of one holds for that one. In
 * each mount the kernel goes up to the root of the mount. */
static unsigned find_denied_here(struct planner *planner, const struct place *place,
				 const struct shown *carrier)
{
	const struct asked_path asked = place_asked(place);
	unsigned granted = may_have_other_names(place) ? RIGHT_READ : 0, denied = 0;
	const char *at = place->path;
	struct step_origin origin;

	while (carrier && planner->view.has_mounts) {
		const struct place *mount = carrier->place;
		size_t n_parent = (size_t)(path_last(mount->path) - mount->path - 1);

		if (mount->source)
			granted |= granted_elsewhere(planner, place,
						     planner_rebase(planner, at, mount->path,
								    mount->source),
						     mount->source);
		at = planner_keep_bytes(planner, mount->path, n_parent);
		carrier = mount->parent ? shown_of(planner, mount->parent)->carrier : NULL;
	}
	granted &= ~place->rights;
	for (unsigned right = 1; right <= granted; right <<= 1)
		if ((granted & right) && decided_denial(planner, &asked, right, &origin))
			denied |= right;
	return denied;
}

/* Landlock removes nothing: rights that it grants above a place apply to the place. It grants them
 * to the directory, whatever its name is. */
static unsigned landlocked(struct planner *planner, const struct place *place,
			   const struct shown *carrier)
{
	if (!(planner->plan->layers & LAYER_LANDLOCK))
		return RIGHTS_SEEN;
	return (place->parent ? shown_of(planner, place->parent)->landlocked : 0) | RIGHT_EXISTS |
	       find_denied_here(planner, place, carrier);
}

static bool is_socket(const struct place *place)
{
	return place->facts && place->facts->kind == HOST_SOCKET;
}

/* A read-only mount does not affect writing to a FIFO, and neither it nor Landlock affects
 * connecting to a socket. Device nodes do not work on mounts of host files. */
static bool is_special(const struct place *place)
{
	return is_socket(place) || (place->facts && place->facts->kind == HOST_OTHER);
}

/* The rights that the place would have, without its own step, beyond those decided. */
static unsigned find_excess(struct planner *planner, const struct place *place,
			    const struct shown *carrier)
{
	unsigned permitted = RIGHTS_READ;

	if (carrier->is_writable || is_special(place))
		permitted |= RIGHT_WRITE;
	if (carrier->is_executable)
		permitted |= RIGHT_EXEC;
	if (!(carrier->place->rights & RIGHT_EXISTS))
		permitted &= ~(unsigned)RIGHT_EXISTS;
	permitted &= landlocked(planner, place, carrier);
	if (is_socket(place))
		permitted = RIGHT_WRITE;
	permitted &= ~place->rights;
	if (place->facts && place->facts->kind != HOST_DIRECTORY &&
	    place->facts->kind != HOST_MISSING)
		permitted &= ~(unsigned)RIGHT_LIST;
	return permitted;
}

static bool could_be_created(struct planner *planner, const struct place *place,
			     const struct shown *carrier)
{
	return (!place->facts || place->facts->kind == HOST_MISSING) &&
	       !place_is_only_guarded(place) && carrier->is_writable &&
	       (find_excess(planner, place, carrier) & ~RIGHT_EXISTS);
}

/* In a mount from elsewhere it is created at another path. */
static const char *where_to_create(const struct place *place)
{
	return place->source ? place->source : place->path;
}

/* Git fails at a directory that has the name of one of its files. */
static bool is_file_of_git(const char *path)
{
	static const char *const names[] = { "config", "config.worktree", "commondir", "gitdir" };
	const char *name = path_last(path);

	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* Is the place's content part of the carrier's mount, with no other mount on the way? */
static bool is_carried_by(const struct place *place, const struct shown *carrier)
{
	const struct place *at = place->parent;

	while (at && at != carrier->place && !differs(at, carrier))
		at = at->parent;
	return at == carrier->place;
}

/* The places from @place on that are refused like it, so that one start names all; either the files
 * of git or the others. */
static const char *missing_names(struct planner *planner, const struct place *place,
				 const struct shown *carrier, bool are_of_git)
{
	const struct place *end = planner->view.places + planner->view.n_places;
	struct text *text = &planner->memory.text;

	text_reset(text);
	for (const struct place *next = place; next < end; next++) {
		const char *name = where_to_create(next);

		if (is_file_of_git(next->path) != are_of_git || !is_carried_by(next, carrier) ||
		    !could_be_created(planner, next, carrier) ||
		    (next != place && text->len + strlen(name) >= NAMES_BYTES / 2))
			continue;
		text_add_char(text, ' ');
		text_add_word_string(text, name);
	}
	return planner_take_text(planner);
}

static const char *how_to_create(struct planner *planner, const struct place *place,
				 const struct shown *carrier)
{
	const char *files = missing_names(planner, place, carrier, true);
	const char *others = missing_names(planner, place, carrier, false);

	if (files[0] && others[0])
		return planner_format(planner, "touch%s; mkdir -p%s, or touch for a file", files,
				      others);
	return files[0] ? planner_format(planner, "touch%s", files)
			: planner_format(planner, "mkdir -p%s; or touch, for a file", others);
}

/* A missing name needs no mask; but if the command could create it, its denial cannot be
 * enforced. */
static int hold_missing(struct planner *planner, const struct place *place,
			const struct shown *carrier)
{
	if (carrier->is_hidden || !could_be_created(planner, place, carrier))
		return 0;
	return refuse_unheld(
		planner, place,
		"it does not exist, and the command could create it in a "
		"directory that it may write to",
		planner_format(planner, "create it (%s), or allow writing to a narrower directory",
			       how_to_create(planner, place, carrier)));
}

/* The command has sbx-spawn's uid and cannot reach the path either, unless it can chmod() a
 * directory on the way. */
static int hold_unreachable(struct planner *planner, const struct place *place,
			    const struct shown *carrier)
{
	/* The command cannot chmod() another user's directory. */
	if (!carrier->is_writable || place->facts->uid != planner->host->uid)
		return 0;
	return refuse_unheld(
		planner, place,
		"sbx-spawn may not search a directory on the way, and the command could open it with chmod",
		"open it first (chmod u+x), or make a narrower directory writable");
}

/* A mount can remove writing and executing, but not reading, and no right to special files. */
static bool is_to_be_hidden(const struct place *place, unsigned excess)
{
	if (excess & RIGHTS_READ)
		return true;
	if ((excess & RIGHT_WRITE) && is_special(place))
		return true;
	return excess && !(place->rights & RIGHTS_SEEN);
}

/* The facts about a refused symbolic link on the way of one of the place's marks, or NULL. */
static const struct host_path *find_refused_link(const struct place *place)
{
	for (size_t i = 0; i < place->n_marks; i++)
		if (place->marks[i]->facts && place->marks[i]->facts->kind == HOST_LINK_REFUSED)
			return place->marks[i]->facts;
	return NULL;
}

/* Is a place without rights around one that another mark shows? */
static bool shows_below(const struct planner *planner, const struct place *place)
{
	const struct place *end = planner->view.places + planner->view.n_places;

	if (place->rights & RIGHTS_SEEN)
		return false;
	for (const struct place *at = place + 1;
	     at < end && path_is_at_or_below(at->path, place->path); at++)
		if (at->winner && (at->rights & RIGHTS_SEEN))
			return true;
	return false;
}

static int refuse_changeable(struct planner *planner, const struct place *place,
			     const struct host_path *link)
{
	return refuse_unheld(
		planner, place,
		"it is a symbolic link that its owner, or a command in a sandbox, could change",
		link->leads_to ? planner_format(planner,
						"name its target, '%.300s', or replace the link "
						"by its target",
						link->leads_to)
			       : "name its target, or replace the link by its target");
}

/* The place's content is part of its carrier's mount: adds a step if its rights differ. */
static int narrow(struct planner *planner, struct shown *shown, const struct shown *carrier)
{
	struct place *place = shown->place;
	const struct host_path *link = find_refused_link(place);
	unsigned excess;

	if (link)
		return refuse_changeable(planner, place, link);
	if (!place->facts || place->facts->kind == HOST_MISSING)
		return hold_missing(planner, place, carrier);
	if (place->facts->kind == HOST_UNREACHABLE)
		return hold_unreachable(planner, place, carrier);
	excess = find_excess(planner, place, carrier);
	if (is_to_be_hidden(place, excess)) {
		(shows_below(planner, place) ? entry_veil : entry_hide)(planner, shown);
		return 0;
	}
	/* Landlock permits executing here, so the mount must also refuse mapping (noexec). */
	if ((excess & RIGHT_EXEC) && !(place->rights & RIGHT_START))
		place->rights &= ~(unsigned)RIGHT_MAP;
	if (!(place->rights & RIGHTS_SEEN) || !carrier->place->source)
		return 0;
	/* Do not make a place on an overlay writable again: writes would bypass the overlay. */
	if (carrier->place->winner && carrier->place->winner->content == CONTENT_OVERLAY &&
	    place_wants_write(place))
		return 0;
	if (differs(place, carrier) || place_is_pinned(place) ||
	    mapped_needs_mount(planner, place, carrier))
		entry_show_host(planner, shown);
	return 0;
}

/* The file in the carrier's mount that a mount at this place covers, or NULL. */
static const struct host_path *find_covered(struct planner *planner, const struct shown *shown)
{
	const struct place *place = shown->place, *around = shown->carrier->place;
	const struct host_path *facts =
		planner_facts(planner,
			      planner_rebase(planner, place->path, around->path, around->source));

	return facts && facts->kind != HOST_MISSING ? facts : NULL;
}

static bool shows_directory(const struct place *place)
{
	enum content content = place->winner ? place->winner->content : CONTENT_HOST;

	if (content == CONTENT_HOST || content == CONTENT_DEVICE)
		return place->facts && place->facts->kind == HOST_DIRECTORY;
	return content != CONTENT_SOCKET && content != CONTENT_COPY;
}

/* The kernel mounts directories on directories only, and files on files. */
static int check_covered(struct planner *planner, const struct place *place,
			 const struct host_path *covered)
{
	bool is_directory = shows_directory(place);

	if (covered->kind == HOST_UNREACHABLE || is_directory == (covered->kind == HOST_DIRECTORY))
		return 0;
	(void)sbx_error_what(planner->err, -ENOTDIR, "cannot mount %s at '%.200s'",
			     origin_text(&place->winner->origin), place->path);
	sbx_error_why(planner->err, "it is a %s, and the host has a %s of that name",
		      is_directory ? "directory" : "file", is_directory ? "file" : "directory");
	sbx_error_fix(planner->err, "choose another target");
	return -ENOTDIR;
}

/* The carrier's mount must contain the mount point: an existing file or directory. */
static int check_target(struct planner *planner, const struct shown *shown)
{
	struct place *place = shown->place;
	const struct shown *carrier = shown->carrier;
	const struct host_path *covered;

	if (!carrier || place_is_fresh(carrier) || !carrier->place->source)
		return 0;
	covered = find_covered(planner, shown);
	if (covered && covered->kind != HOST_LINK_REFUSED)
		return check_covered(planner, place, covered);
	(void)sbx_error_what(planner->err, -ENOENT, "cannot mount %s at '%.200s'",
			     origin_text(&place->winner->origin), place->path);
	sbx_error_why(
		planner->err,
		"'%.200s' is a bind mount of the host's directory, which contains nothing of that name",
		carrier->place->path);
	sbx_error_fix(planner->err, "create it outside, or choose another target");
	return -ENOENT;
}

/* Hides what an optional mount without a source would cover. */
static int hide_covered(struct planner *planner, struct shown *shown, const struct mark *mount)
{
	struct place *place = shown->place;

	place->facts = find_covered(planner, shown);
	if (!place->facts)
		return narrow(planner, shown, shown->carrier);
	if (place->facts->kind == HOST_LINK_REFUSED)
		return refuse_changeable(planner, place, place->facts);
	planner_note(planner, planner_format(planner, "'%s' is hidden", place->path),
		     planner_format(planner, "%s mounts '%s' there if it exists, and it does not",
				    origin_text(&mount->origin), mount->source));
	place->marks[0]->flags |= MARK_TOLD;
	entry_hide(planner, shown);
	return 0;
}

/* A mount cannot remove reading that a Landlock rule above the place grants. */
static bool must_be_hidden(struct planner *planner, struct place *place)
{
	struct shown carrier = { .place = place };

	carrier.is_writable = place_wants_write(place);
	carrier.is_executable = place_wants_execution(place);
	return (planner->plan->layers & LAYER_LANDLOCK) && !place_is_made(place) &&
	       (find_excess(planner, place, &carrier) & (RIGHT_READ | RIGHT_LIST));
}

/* In a fresh writable directory, creates a path that the command may not write beforehand, under a
 * mask. */
static void hide_creatable(struct planner *planner, struct shown *shown)
{
	const struct shown *carrier = shown->carrier;

	if (carrier && place_is_fresh(carrier) && carrier->is_writable &&
	    !place_wants_write(shown->place) && !place_is_only_guarded(shown->place))
		entry_hide(planner, shown);
}

static int show_place(struct planner *planner, struct shown *shown)
{
	struct place *place = shown->place;
	const struct mark *winner = place->winner, *absent = place_find_absent_mount(place);
	int r;

	if (strcmp(place->path, "/") == 0)
		return 0;
	if (shown->carrier && shown->carrier->is_hidden) {
		/* A missing path in a hidden directory can neither be seen nor created. */
		if ((place->rights & RIGHTS_SEEN) && place->facts &&
		    place->facts->kind != HOST_MISSING)
			return refuse_unheld(
				planner, place,
				"it is in a hidden directory, and a mask cannot have exceptions",
				"deny the other entries of that directory one by one");
		return 0;
	}
	/* A bind mount of a host directory already contains its symbolic links. */
	if (winner && winner->content == CONTENT_LINK && !place_is_fresh(shown->carrier))
		return 0;
	if (place->base == place || (winner && winner->content == CONTENT_OVERLAY)) {
		if (!(place->rights & RIGHTS_SEEN)) {
			if (!place_is_made(place))
				hide_creatable(planner, shown);
			return 0;
		}
		r = check_target(planner, shown);
		if (r < 0)
			return r;
	} else if (shown->carrier && !place_is_fresh(shown->carrier)) {
		return absent && shown->carrier->place->source
			       ? hide_covered(planner, shown, absent)
			       : narrow(planner, shown, shown->carrier);
	} else if (shown->carrier && !winner) {
		hide_creatable(planner, shown);
		return 0;
	} else if (!winner || !(place->rights & RIGHTS_SEEN) || !place->source) {
		return 0;
	}
	(must_be_hidden(planner, place) ? entry_hide : entry_show)(planner, shown);
	return 0;
}

/* A mount shows contents and names, and allows or forbids executing all of it: refuses a place
 * whose rights differ from that. */
static int check_mount(struct planner *planner, const struct shown *shown)
{
	struct place *place = shown->place;
	bool has_landlock = planner->plan->layers & LAYER_LANDLOCK;
	unsigned excess;

	if (shown->carrier != shown || shown->is_hidden || place_is_made(place))
		return 0;
	excess = find_excess(planner, place, shown) & (RIGHT_READ | RIGHT_LIST | RIGHT_WRITE);
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

int shown_begin(struct planner *planner)
{
	planner->view.shown = arena_alloc(planner->memory.scratch,
					  planner->view.n_places * sizeof(*planner->view.shown));
	planner->memory.is_exhausted |= !planner->view.shown;
	for (size_t i = 0; planner->view.shown && i < planner->view.n_places; i++)
		planner->view.shown[i] = (struct shown){ .place = &planner->view.places[i] };
	return planner_status(planner);
}

struct shown *shown_of(const struct planner *planner, const struct place *place)
{
	return &planner->view.shown[place - planner->view.places];
}

int show_places(struct planner *planner)
{
	int r = shown_begin(planner);

	if (r < 0)
		return r;
	for (size_t i = 0; i < planner->view.n_places; i++) {
		struct shown *shown = &planner->view.shown[i];
		const struct place *parent = shown->place->parent;

		if (parent)
			shown->carrier = shown_of(planner, parent)->carrier;
		r = show_place(planner, shown);
		if (r < 0)
			return r;
		r = check_mount(planner, shown);
		if (r < 0)
			return r;
		landlock_place(planner, shown);
	}
	return planner_status(planner);
}
