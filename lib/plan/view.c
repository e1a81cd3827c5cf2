/* SPDX-License-Identifier: MIT */

/*
 * Marks become places: the tree of the paths that have marks
 *
 * Each mark is moved to the path that it resolves to: links owned by root are followed, as they
 * will exist inside. Marks are sorted by component, so that a directory comes directly before all
 * that is below it; the marks of one path form a place, and its parent is found on a stack.
 *
 * Which directories must not be renamed is known only once the rights are; these become places too,
 * and the tree is built a second time.
 */

#include "plan/plan-internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "base/path.h"
#include "policy/enforcement.h"
#include "policy/guarded.h"
#include "policy/view.h"

static int refuse_mark(struct planner *planner, const struct mark *mark, int code, const char *why,
		       const char *fix)
{
	(void)sbx_error_what(planner->err, code, "cannot show '%.300s' to the sandbox",
			     mark_outside(mark));
	sbx_error_why(planner->err, "%s names it, and %s", origin_text(&mark->origin), why);
	sbx_error_fix(planner->err, "%s", fix);
	return code;
}

static int refuse_link(struct planner *planner, const struct mark *mark)
{
	bool is_project = (mark->flags & MARK_PROJECT) && mark->origin.kind == ORIGIN_BUILT_IN;

	(void)sbx_error_what(planner->err, -ELOOP, "cannot follow the link '%.300s'",
			     mark->facts->real);
	sbx_error_why(planner->err,
		      "%s leads through it, and its owner (uid %u) could change where it leads",
		      is_project ? "--project" : origin_text(&mark->origin), mark->facts->uid);
	if (mark->facts->leads_to)
		sbx_error_fix(planner->err, "name '%.300s', where it leads now",
			      mark->facts->leads_to);
	else
		sbx_error_fix(planner->err, "name the file or directory that it leads to");
	return -ELOOP;
}

/* Drops a mark that cannot be satisfied: an error for options and mounts, at most a notice for
 * rules. */
static int drop(struct planner *planner, struct mark *mark, int code, const char *why,
		const char *fix)
{
	mark->flags |= MARK_DROPPED;
	if ((mark->flags & MARK_ASKED) && !((mark->flags & MARK_OPTIONAL) && code == -ENOENT))
		return refuse_mark(planner, mark, code, why, fix);
	if (code == -ENOENT && !(mark->rights & RIGHT_WRITE))
		return 0; /* policies name many paths that a host may lack */
	if (mark->flags & MARK_OPTIONAL)
		return 0;
	mark->flags |= MARK_TOLD;
	planner_note(planner,
		     planner_format(planner, "'%s' of %s is left out", mark->path,
				    origin_text(&mark->origin)),
		     planner_keep(planner, why));
	return 0;
}

/* Below the target of a mount, the path inside is another one outside. */
static const char *why_missing(struct planner *planner, const struct mark *mark)
{
	const char *outside = view_outside(planner, mark);

	if (strcmp(outside, mark_outside(mark)) == 0)
		return "it does not exist";
	return planner_format(planner, "outside it is '%.300s', which does not exist", outside);
}

static const char *fix_of_missing(struct planner *planner, const struct mark *mark)
{
	const char *path = view_outside(planner, mark);
	bool is_read = strcmp(origin_text(&mark->origin), "--read") == 0;

	if (mark->content == CONTENT_COPY)
		return "check the path, or create it";
	if (mark->origin.kind != ORIGIN_ARGUMENT)
		return "create it, or write 'optional: true' beside the path of a mount";
	/* An empty ".git" would hide the repository around it. */
	if (strcmp(path_last(path), ".git") == 0)
		return "name the '.git' of the repository: git rev-parse --git-common-dir";
	if (mark->rights & RIGHT_WRITE && mark->content == CONTENT_HOST)
		return planner_format(planner, "create it: mkdir -p %s",
				      planner_word(planner, path));
	return is_read ? "check the path, or use --optional-read to show it where it exists"
		       : "check the path, or create it";
}

static int check_kind(struct planner *planner, struct mark *mark)
{
	enum host_path_kind kind = mark->facts->kind;
	bool wants_socket = mark->content == CONTENT_SOCKET;

	if (kind == HOST_MISSING)
		return drop(planner, mark, -ENOENT, why_missing(planner, mark),
			    fix_of_missing(planner, mark));
	if (kind == HOST_UNREACHABLE)
		return drop(planner, mark, -EACCES,
			    "sbx-spawn may not search a directory on the way",
			    "run it as a user that may search that directory");
	if (wants_socket != (kind == HOST_SOCKET))
		return drop(planner, mark, -EINVAL,
			    wants_socket ? "it is not a socket"
					 : "it is a socket, which cannot be read",
			    wants_socket ? "name the socket itself"
					 : "open it by --unix or 'net: {unix: [PATH]}'");
	if (kind == HOST_DEVICE && mark->content == CONTENT_HOST)
		return drop(planner, mark, -EINVAL, "it is a device", "use --device or 'devices:'");
	if (mark->content == CONTENT_COPY && kind != HOST_FILE)
		return drop(planner, mark, -EINVAL, "it is not a file", "name a file");
	if (mark->content == CONTENT_OVERLAY && kind != HOST_DIRECTORY)
		return drop(planner, mark, -ENOTDIR, "it is not a directory", "name a directory");
	if ((mark->flags & MARK_ALONE) && kind == HOST_DIRECTORY)
		return drop(planner, mark, -EISDIR,
			    "the pattern matches the directory but nothing below it",
			    "write it with a '/' at its end");
	return 0;
}

/* Below /proc and /dev the sandbox has its own content, not the host's. */
static bool is_ours(const char *path)
{
	return path_is_at_or_below(path, "/proc") || path_is_at_or_below(path, "/dev");
}

bool mark_is_mount(const struct mark *mark)
{
	return mark->kind == MARK_ALLOW && mark->source &&
	       (mark->content == CONTENT_HOST || mark->content == CONTENT_OVERLAY);
}

const struct mark *view_find_mount(const struct planner *planner, const char *path)
{
	const struct mark *found = NULL;

	for (size_t i = 0; i < planner->view.marks.n_rows; i++) {
		const struct mark *mount = mark_at(planner, i);

		if (mark_is_mount(mount) && path_is_at_or_below(path, mount->path) &&
		    (!found || path_is_at_or_below(mount->path, found->path)))
			found = mount;
	}
	return found;
}

const char *view_outside(struct planner *planner, const struct mark *mark)
{
	const struct mark *mount = mark->source ? NULL : view_find_mount(planner, mark->path);

	return mount ? planner_rebase(planner, mark->path, mount->path, mount->source)
		     : mark_outside(mark);
}

/* The size of a tmpfs also limits its names (instance_make_tmpfs()): 4096 bytes for each. A place
 * with its directories is few names, and VEIL_SIZE has room for those of an ordinary policy. */
uint64_t view_find_size(const struct planner *planner, uint64_t size)
{
	const size_t n_usual = 500, n_bytes_a_place = 16384;

	return planner->view.n_places <= n_usual ? size
						 : size + planner->view.n_places * n_bytes_a_place;
}

static bool is_loader(const struct planner *planner, const struct mark *mark)
{
	const char *loader = planner->host->loader;

	return loader && strcmp(mark->path, loader) == 0 && mark->origin.kind == ORIGIN_BUILT_IN;
}

static int find_facts(struct planner *planner, struct mark *mark, const struct mark *mount)
{
	const char *outside = mark_outside(mark);

	mark->place = mark->path;
	if ((mark->flags & MARK_OURS) || strcmp(mark->path, "/") == 0)
		return 0;
	/* The host is not asked about "/"; mounting it elsewhere is refused. */
	if (strcmp(outside, "/") == 0)
		return 0;
	if (mount)
		outside = planner_rebase(planner, outside, mount->path, mount->source);
	mark->facts = planner_facts(planner, outside);
	/* What a mount shows at the path of the loader is allowed by rules or not at all. */
	if (!mark->facts && mount && is_loader(planner, mark)) {
		mark->flags |= MARK_DROPPED;
		return 0;
	}
	if (!mark->facts) {
		(void)sbx_error_what(planner->err, -EINVAL, "cannot plan for '%.300s'", outside);
		sbx_error_why(planner->err, "%s names it, but the host was not probed for it",
			      origin_text(&mark->origin));
		return -EINVAL;
	}
	return 0;
}

/* A mount's target inside does not lead through links of the host that are refused. */
const char *planner_real_target(const struct planner *planner, const char *target)
{
	const struct host_path *facts = host_find_path(planner->host, target);

	return facts && facts->real && facts->kind != HOST_LINK_REFUSED ? facts->real : target;
}

/* Finds the mark's path inside, where links are followed as outside. */
static void find_place(struct planner *planner, struct mark *mark, const struct mark *mount)
{
	const struct host_path *facts = mark->facts;

	if (mount) {
		mark->place = planner_rebase(planner, mark->path, mount->path,
					     planner_real_target(planner, mount->path));
		return;
	}
	if (mark->source)
		mark->place = planner_keep(planner, planner_real_target(planner, mark->path));
	else if (facts && facts->real)
		mark->place = planner_keep(planner, facts->real);
}

/* A path below the sandbox's own /proc or /dev is not the host's, unless a mount gives it another
 * source. */
static bool is_pointless(const struct mark *mark)
{
	const char *real = mark->facts ? mark->facts->real : NULL;

	return mark->content == CONTENT_HOST && !mark->source &&
	       (is_ours(mark->path) || (real && is_ours(real)));
}

static bool is_root_behind_link(const struct mark *mark)
{
	return mark->facts && mark->facts->real && strcmp(mark->facts->real, "/") == 0 &&
	       strcmp(mark->path, "/") != 0;
}

/* Refuses marks that no host could satisfy. */
static int refuse_never(struct planner *planner, const struct mark *mark)
{
	if (strncmp(mark->place, MASK_NAMES, strlen(MASK_NAMES)) == 0)
		return refuse_mark(planner, mark, -EINVAL,
				   "names that begin with '" MASK_NAMES "' are reserved for masks",
				   "choose another target, as in --bind " MASK_NAMES "x:/x");
	if ((mark->source && strcmp(mark->source, "/") == 0) || is_root_behind_link(mark))
		return refuse_mark(
			planner, mark, -EINVAL, "it would include the host's /proc and /dev",
			"name the directories that are needed; '--read /' shows all of them under their own paths");
	return 0;
}

/* Refuses a mount whose source contains a link: rules are matched with outside names. */
static int refuse_source(struct planner *planner, const struct mark *mark)
{
	const struct host_path *facts = mark->facts;

	if (!mark_is_mount(mark) || !facts || !facts->real || facts->kind == HOST_MISSING ||
	    facts->kind == HOST_LINK_REFUSED || strcmp(facts->real, facts->path) == 0)
		return 0;
	return refuse_mark(
		planner, mark, -ELOOP,
		"the path contains a symbolic link, so rules for the real path would not apply",
		planner_format(planner, "name '%.300s'", facts->real));
}

static int refuse_linked_denial(struct planner *planner, const struct mark *mark)
{
	const struct host_path *facts = mark->facts;

	if (mark->source || mark->origin.kind == ORIGIN_BUILT_IN || !facts || !facts->real ||
	    facts->kind == HOST_LINK_REFUSED || strcmp(facts->real, facts->path) == 0)
		return 0;
	for (size_t i = 0; i < planner->view.marks.n_rows; i++) {
		const struct mark *mount = mark_at(planner, i);

		if (!mark_is_mount(mount) || (!path_is_at_or_below(facts->real, mount->source) &&
					      !path_is_at_or_below(mount->source, facts->real)))
			continue;
		(void)sbx_error_what(planner->err, -ELOOP, "cannot hide '%.300s' in '%.300s'",
				     mark->path, mount->path);
		sbx_error_why(
			planner->err,
			"%s names it through a symbolic link, and '%.300s' shows its target under another name",
			origin_text(&mark->origin), mount->path);
		sbx_error_fix(planner->err, "name '%.300s'", facts->real);
		return -ELOOP;
	}
	return 0;
}

static void say_unheld(struct planner *planner, const struct mark *mark, const struct mark *mount)
{
	(void)sbx_error_what(planner->err, -ELOOP, "cannot %s '%.300s' in '%.300s'",
			     mark->kind == MARK_EXCEPT ? "make an exception of" : "hide",
			     mark->path, mount->path);
}

/* A path below the target's real path is not looked for below the mount's source. */
static int refuse_denial_behind_target(struct planner *planner, const struct mark *mark)
{
	for (size_t i = 0; i < planner->view.marks.n_rows; i++) {
		const struct mark *mount = mark_at(planner, i);
		const char *real;

		if (!mark_is_mount(mount) || path_is_at_or_below(mark->path, mount->path))
			continue;
		real = planner_real_target(planner, mount->path);
		if (strcmp(real, mount->path) == 0 || strcmp(real, mark->path) == 0 ||
		    !path_is_at_or_below(mark->path, real))
			continue;
		say_unheld(planner, mark, mount);
		sbx_error_why(
			planner->err,
			"%s names it, and the target of the mount leads there through a symbolic link",
			origin_text(&mark->origin));
		sbx_error_fix(planner->err, "mount at '%.300s'", real);
		return -ELOOP;
	}
	return 0;
}

/* A link that leads below the target of a mount: the host was asked about what the mount hides. */
static int refuse_denial_into_mount(struct planner *planner, const struct mark *mark)
{
	const struct mark *around = NULL;
	const char *target = NULL;

	if (strcmp(mark->place, mark->path) == 0 || view_find_mount(planner, mark->path))
		return 0;
	for (size_t i = 0; i < planner->view.marks.n_rows; i++) {
		const struct mark *mount = mark_at(planner, i);
		const char *real;

		if (!mark_is_mount(mount))
			continue;
		real = planner_real_target(planner, mount->path);
		if (path_is_at_or_below(mark->place, real) &&
		    (!around || path_is_at_or_below(real, target))) {
			around = mount;
			target = real;
		}
	}
	if (!around || host_find_path(planner->host,
				      planner_rebase(planner, mark->place, target, around->source)))
		return 0;
	say_unheld(planner, mark, around);
	sbx_error_why(
		planner->err,
		"%s names it through a symbolic link to '%.300s', where the mount shows another file",
		origin_text(&mark->origin), mark->place);
	sbx_error_fix(planner->err, "name '%.300s'", mark->place);
	return -ELOOP;
}

/* Refuses a denial or exception that mounts at links, or links to mounts, would not hold. */
static int refuse_denial_at_links(struct planner *planner, const struct mark *mark)
{
	int r;

	if (mark->kind == MARK_ALLOW || mark->source || mark->origin.kind == ORIGIN_BUILT_IN ||
	    (mark->flags & MARK_OURS))
		return 0;
	r = refuse_denial_behind_target(planner, mark);
	return r < 0 ? r : refuse_denial_into_mount(planner, mark);
}

/* Guards are mounted at the names of sbx's own files below a grant, not below a link to them. */
static int refuse_guarded(struct planner *planner, const struct mark *mark)
{
	const struct guarded *row = guard_find_behind_link(planner, mark);

	return row ? refuse_mark(planner, mark, -EACCES,
				 planner_format(planner,
						"it is a link to '%s', which contains '%s' of sbx",
						mark->facts->real, row->path),
				 planner_format(planner, "name '%s'", mark->facts->real))
		   : 0;
}

static int prepare_allow(struct planner *planner, struct mark *mark)
{
	int r = refuse_never(planner, mark);

	if (r < 0)
		return r;
	r = refuse_guarded(planner, mark);
	if (r < 0)
		return r;
	r = refuse_source(planner, mark);
	if (r < 0 || !mark->facts)
		return r;
	if (is_pointless(mark)) {
		/* Probing as root does not follow /proc/self; no mark here depends on it. */
		if (mark->facts->kind == HOST_LINK_REFUSED)
			mark->facts = NULL;
		return drop(planner, mark, -EINVAL, "the sandbox has its own /proc and /dev",
			    "use --device or 'devices:' for devices");
	}
	if (mark->facts->kind == HOST_LINK_REFUSED) {
		/* Candidates for the program are tried one after the other, and no rule asks
		 * for a part of the view. */
		bool is_needed =
			(mark->rights & RIGHTS_SEEN) &&
			!(mark->origin.kind == ORIGIN_BUILT_IN && (mark->flags & MARK_OPTIONAL));

		mark->flags |= MARK_DROPPED;
		return is_needed ? refuse_link(planner, mark) : 0;
	}
	if (mark->source && mark->content == CONTENT_HOST && mark->facts->real &&
	    path_is_at_or_below(mark->facts->real, "/proc"))
		return drop(planner, mark, -EINVAL, "it shows the processes of the host",
			    "leave it out: the sandbox has its own /proc");
	return mark->content == CONTENT_TMPFS ? 0 : check_kind(planner, mark);
}

/* Probing followed /proc/self to sbx-spawn's own process, which does not exist inside. The mark is
 * an error only if a rule actually denies something there. */
static int refuse_reader(struct planner *planner, const struct mark *mark)
{
	const struct asked_path asked = { .path = mark->path, .kind = HOST_DIRECTORY };
	struct step_origin origin;

	if (!decided_denial(planner, &asked, mark->rights, &origin))
		return 0;
	(void)sbx_error_what(planner->err, -EINVAL, "cannot hide '%.300s' from the sandbox",
			     mark->path);
	sbx_error_why(planner->err,
		      "%s names it, and '/proc/self' means the process that reads it: here "
		      "sbx-spawn, inside the command",
		      origin_text(&mark->origin));
	sbx_error_fix(planner->err,
		      "name '/proc', or a file that is the same for all, such as '/proc/cpuinfo'");
	return -EINVAL;
}

static int prepare_marks(struct planner *planner)
{
	struct mark **marks = planner->view.marks.rows;
	bool has_mounts = false;

	for (size_t i = 0; i < planner->view.marks.n_rows; i++)
		has_mounts |= mark_is_mount(marks[i]);
	planner->view.has_mounts = has_mounts;
	for (size_t i = 0; i < planner->view.marks.n_rows; i++) {
		const struct mark *mount = has_mounts && !marks[i]->source
						   ? view_find_mount(planner, marks[i]->path)
						   : NULL;
		int r = find_facts(planner, marks[i], mount);

		if (r < 0)
			return r;
		find_place(planner, marks[i], mount);
		if (marks[i]->kind == MARK_DENY && path_is_of_reader(marks[i]->path))
			r = refuse_reader(planner, marks[i]);
		else if (marks[i]->kind == MARK_ALLOW)
			r = prepare_allow(planner, marks[i]);
		else if ((marks[i]->flags & MARK_ALONE) &&
			 !(marks[i]->facts && marks[i]->facts->kind == HOST_FILE))
			marks[i]->flags |= MARK_DROPPED;
		else if (has_mounts && marks[i]->kind == MARK_DENY)
			r = refuse_linked_denial(planner, marks[i]);
		if (r == 0 && has_mounts)
			r = refuse_denial_at_links(planner, marks[i]);
		if (r < 0)
			return r;
	}
	return planner_status(planner);
}

/* Ties are broken by number, so that the order does not depend on qsort(). */
static int compare_marks(const void *a, const void *b)
{
	const struct mark *const *one = a, *const *other = b;
	int order = view_compare_paths((*one)->place, (*other)->place);

	if (order != 0)
		return order;
	return (*one)->number < (*other)->number ? -1 : (*one)->number > (*other)->number;
}

static void make_places(struct planner *planner)
{
	struct mark **marks = planner->view.marks.rows;
	size_t n = planner->view.marks.n_rows;
	struct place *places = arena_alloc(planner->memory.scratch, n * sizeof(*places));
	struct place *last = NULL;

	planner->view.n_places = 0;
	planner->view.places = places;
	planner->memory.is_exhausted |= !places;
	for (size_t i = 0; places && i < n; i++) {
		const struct place *above = last;

		if (last && strcmp(last->path, marks[i]->place) == 0) {
			last->n_marks++;
			continue;
		}
		while (above && !path_is_at_or_below(marks[i]->place, above->path))
			above = above->parent;
		last = &places[planner->view.n_places++];
		*last = (struct place){
			.path = marks[i]->place, .marks = &marks[i], .n_marks = 1, .parent = above
		};
	}
}

static int build_tree(struct planner *planner)
{
	struct mark **marks = planner->view.marks.rows;

	for (size_t i = 0; i < planner->view.marks.n_rows; i++)
		marks[i]->number = i;
	qsort(marks, planner->view.marks.n_rows, sizeof(*marks), compare_marks);
	make_places(planner);
	for (size_t i = 0; i < planner->view.n_places; i++) {
		int r = place_find_rights(planner, &planner->view.places[i]);

		if (r < 0)
			return r;
	}
	return planner_status(planner);
}

/* Rights that either the place or the one above it has, but not both. */
static unsigned find_difference(const struct place *place)
{
	unsigned compared = RIGHT_READ | RIGHT_LIST | RIGHT_WRITE | RIGHT_EXEC;

	if (place->facts->kind != HOST_DIRECTORY)
		compared &= ~(unsigned)RIGHT_LIST;
	return (place->rights ^ place->parent->rights) & compared;
}

/* Of its own content, or a mask in its stead. */
static bool has_own_mount(const struct place *place)
{
	return place->base == place || place_find_absent_mount(place) ||
	       (place->winner && place->winner->content == CONTENT_OVERLAY);
}

/* Is there a file outside that a mount at this place covers? */
static bool covers_file(struct planner *planner, const struct place *place)
{
	const struct place *around = place->parent;
	const struct host_path *facts;

	if (!around->source)
		return false;
	facts = planner_facts(planner,
			      planner_rebase(planner, place->path, around->path, around->source));
	return facts && facts->kind != HOST_MISSING && facts->kind != HOST_LINK_REFUSED;
}

/* Has the place another content or other rights than its surroundings? */
static bool is_protected_by_name(struct planner *planner, const struct place *place)
{
	if (has_own_mount(place))
		return covers_file(planner, place);
	return place->facts && place->facts->kind != HOST_MISSING && find_difference(place);
}

/* The topmost place above that is writable and has the content around the place, with only such
 * places in between; NULL if there is none, or if its name protects nothing. Leaves out "/", which
 * is a new, sealed tmpfs whatever rules say. */
static const struct place *find_writable_above(struct planner *planner, const struct place *place)
{
	const struct place *above = NULL, *at = place->parent, *around = at ? at->base : NULL;

	if (!at || !is_protected_by_name(planner, place))
		return NULL;
	if (!has_own_mount(place))
		around = place->base;
	for (; at && at->base == around && (at->rights & RIGHT_WRITE); at = at->parent)
		if (strcmp(at->path, "/") != 0)
			above = at;
	return above;
}

static void add_pin(struct planner *planner, const struct place *place, size_t len)
{
	const char *path = planner_keep_bytes(planner, place->path, len);
	struct step_origin origin = origin_built_in;
	struct mark *pin;

	(void)place_find_denial(planner, place, RIGHT_WRITE, &origin);
	pin = planner_add_mark(planner, MARK_PIN, path, 0, origin);
	pin->place = path;
}

/*
 * A command with write access around a place could rename a directory on the way to it, and then
 * use its name, or the rights of a Landlock rule on its inode, elsewhere. The kernel lets a
 * directory that contains a mount point be renamed, but not a mount point itself. Returns the
 * number of directories marked.
 */
static size_t pin_directories(struct planner *planner)
{
	size_t n = 0, n_places = planner->view.n_places;

	for (size_t i = 0; i < n_places; i++) {
		const struct place *place = &planner->view.places[i];
		const struct place *above = find_writable_above(planner, place);
		const char *at = above ? strchr(place->path + strlen(above->path) + 1, '/') : NULL;

		for (; at; at = strchr(at + 1, '/'), n++)
			add_pin(planner, place, (size_t)(at - place->path));
		/* A place with fewer rights is a mount point already. */
		if (above && !has_own_mount(place) && (place->rights & find_difference(place)) &&
		    !place_is_made(place)) {
			add_pin(planner, place, strlen(place->path));
			n++;
		}
	}
	return n;
}

static int refuse_movable(struct planner *planner, const struct place *place,
			  const struct place *above)
{
	struct step_origin origin;

	if (!place_find_denial(planner, place, above->rights & ~place->rights, &origin))
		origin = place_find_origin(place, RIGHTS_SEEN);
	(void)sbx_error_what(planner->err, -EOPNOTSUPP,
			     "cannot enforce what %s says about '%.300s'", origin_text(&origin),
			     place->path);
	sbx_error_why(
		planner->err,
		"the command may write to '%.300s', and under 'isolation.nested' it can leave the "
		"mount on that path in another mount namespace and rename the path",
		above->path);
	sbx_error_fix(
		planner->err,
		"let it write to narrower directories, without that path, or remove 'nested'");
	return -EOPNOTSUPP;
}

/* The kernel refuses to rename and remove the mount points of the caller's mount namespace alone.
 * A command that may make another one can give it a new root, and move what a mount protects, by
 * the descriptor of a directory in the sandbox's, to where it has no mount. */
static int check_movable(struct planner *planner)
{
	for (size_t i = 0; planner->chosen.is_nested && i < planner->view.n_places; i++) {
		const struct place *place = &planner->view.places[i];
		const struct place *above = find_writable_above(planner, place);

		if (above)
			return refuse_movable(planner, place, above);
	}
	return 0;
}

int view_build(struct planner *planner)
{
	int r = prepare_marks(planner);

	if (r < 0)
		return r;
	r = build_tree(planner);
	if (r < 0 || planner->plan->tier != TIER_FULL)
		return r;
	r = check_movable(planner);
	if (r < 0 || pin_directories(planner) == 0)
		return r;
	return build_tree(planner);
}

const struct place *view_find(const struct planner *planner, const char *path)
{
	const struct place *place = NULL;
	size_t low = 0, high = planner->view.n_places;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (view_compare_paths(planner->view.places[middle].path, path) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low > 0)
		place = &planner->view.places[low - 1];
	while (place && !path_is_at_or_below(path, place->path))
		place = place->parent;
	return place;
}

bool view_has_below(const struct planner *planner, const char *path)
{
	for (size_t i = 0; i < planner->view.n_places; i++)
		if (path_is_at_or_below(planner->view.places[i].path, path) &&
		    strcmp(planner->view.places[i].path, path) != 0 &&
		    shown_is_visible(&planner->view.shown[i]))
			return true;
	return false;
}
