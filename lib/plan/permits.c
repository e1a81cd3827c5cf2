/* SPDX-License-Identifier: MIT */

/*
 * The rights that finished steps permit, compared with the decisions
 *
 * Steps are read in the order in which lib/kernel carries them out. Of several mounts on one path
 * the last one counts. Landlock adds up the rules at and above a path. Both must permit a right;
 * one that Landlock does not handle (an old kernel, or a plan for nested sandboxes without
 * Landlock) counts as permitted by it.
 *
 * The steps were derived by reasoning about places, mounts and Landlock. The comparison does not
 * trust that reasoning: at every path of a mark or rule it compares what the finished steps permit
 * with what the evaluator decided. If they permit more, the plan is refused, so that a bug of the
 * planner never becomes a hole; if less, a notice says so.
 */

#include "plan/plan-internal.h"

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "policy/view.h"

/* The rights that are compared, with Landlock's access bits for each at a file or in a directory.
 */
static const struct {
	unsigned right;
	const char *verb;
	uint64_t bits;
} compared[] = {
	{ RIGHT_READ, "read", UINT64_C(1) << 2 },
	{ RIGHT_LIST, "list", UINT64_C(1) << 3 },
	/* write_file, remove_dir, remove_file, make_* and truncate */
	{ RIGHT_WRITE, "write", UINT64_C(1) << 1 | UINT64_C(0x1ff) << 4 | UINT64_C(1) << 14 },
	{ RIGHT_EXEC, "execute", UINT64_C(1) << 0 },
};

/* The step kinds whose target is a mount or a copy, which then carries the paths below it. */
static const struct {
	bool carries;
	size_t attributes; /* offset of struct mount_attributes in struct step; 0: none */
} carriers[N_STEP_KINDS] = {
	[STEP_BIND] = { true, offsetof(struct step, bind.attributes) },
	[STEP_TMPFS] = { true, offsetof(struct step, tmpfs.attributes) },
	[STEP_OVERLAY] = { true, offsetof(struct step, overlay.attributes) },
	[STEP_PROC] = { true, offsetof(struct step, proc.attributes) },
	[STEP_MASK] = { true, 0 },
	[STEP_FILE] = { true, 0 },
	[STEP_PTS] = { true, 0 },
};

const struct step *plan_find_carrier(const struct plan *plan, const char *path)
{
	for (size_t i = plan->n_steps; i-- > 0;)
		if (carriers[plan->steps[i].kind].carries &&
		    path_is_at_or_below(path, step_target(&plan->steps[i])))
			return &plan->steps[i];
	return NULL;
}

const struct step *plan_find_carrier_of(const struct plan *plan, const struct step *step)
{
	const struct plan before = { .steps = plan->steps,
				     .n_steps = (size_t)(step - plan->steps) };

	return carriers[step->kind].carries ? plan_find_carrier(&before, step_target(step)) : NULL;
}

/* A copy is mounted read-only over a file, or made in a tmpfs, whose attributes it has: in the
 * root, which no step names, it is read-only, too. */
static struct mount_attributes attributes_of(const struct plan *plan, const struct step *step)
{
	struct mount_attributes attributes = { .is_read_only = step->kind == STEP_FILE };
	bool is_made = step->kind == STEP_FILE && !step->file.added;
	const struct step *mount = is_made ? plan_find_carrier_of(plan, step) : step;
	size_t offset = mount ? carriers[mount->kind].attributes : 0;

	if (offset > 0)
		memcpy(&attributes, (const char *)mount + offset, sizeof(attributes));
	return attributes;
}

static unsigned mounted(const struct plan *plan, const char *path, enum host_path_kind kind)
{
	const struct step *carrier = plan_find_carrier(plan, path);
	unsigned permitted = RIGHT_READ | RIGHT_LIST | RIGHT_WRITE | RIGHT_EXEC;
	struct mount_attributes attributes;

	if (plan->tier != TIER_FULL)
		return permitted;
	if (!carrier || carrier->kind == STEP_MASK)
		return 0;
	attributes = attributes_of(plan, carrier);
	/* Device nodes cannot be opened on a MS_NODEV mount. */
	if (kind == HOST_DEVICE && !attributes.devices)
		return 0;
	/* A read-only mount does not stop writing to a FIFO or connecting to a socket. */
	if (attributes.is_read_only && kind != HOST_OTHER && kind != HOST_SOCKET)
		permitted &= ~(unsigned)RIGHT_WRITE;
	if (attributes.no_exec)
		permitted &= ~(unsigned)RIGHT_EXEC;
	return permitted;
}

static uint64_t landlocked(const struct plan *plan, const char *path, uint64_t *ret_handled)
{
	uint64_t granted = 0;

	*ret_handled = 0;
	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct step *step = &plan->steps[i];

		if (step->kind == STEP_LANDLOCK)
			*ret_handled = step->landlock.file_rights;
		if (step->kind == STEP_LANDLOCK_PATH &&
		    path_is_at_or_below(path, step->landlock_path.target))
			granted |= step->landlock_path.rights;
	}
	return granted;
}

static unsigned permitted_with(const struct plan *plan, const char *path, enum host_path_kind kind,
			       uint64_t granted, uint64_t handled)
{
	unsigned permitted = mounted(plan, path, kind);

	/* Count a right as permitted if any of its bits is. */
	for (size_t i = 0; i < N_ELEMENTS(compared); i++)
		if ((handled & compared[i].bits) && !(granted & handled & compared[i].bits))
			permitted &= ~compared[i].right;
	/* Landlock does not handle connect() on a path; a socket cannot be opened. */
	if (kind == HOST_SOCKET)
		return mounted(plan, path, kind) & RIGHT_WRITE;
	/* The kernel opens a program for reading before it executes it. */
	if (!(permitted & RIGHT_READ))
		permitted &= ~(unsigned)RIGHT_EXEC;
	if (kind != HOST_DIRECTORY && kind != HOST_MISSING)
		permitted &= ~(unsigned)RIGHT_LIST;
	return permitted;
}

unsigned plan_permits(const struct plan *plan, const char *path, enum host_path_kind kind)
{
	uint64_t handled, granted = landlocked(plan, path, &handled);

	return permitted_with(plan, path, kind, granted, handled);
}

bool plan_permits_exec(const struct plan *plan, const char *path)
{
	return plan_permits(plan, path, HOST_FILE) & RIGHT_EXEC;
}

bool plan_permits_read(const struct plan *plan, const char *path)
{
	return plan_permits(plan, path, HOST_FILE) & RIGHT_READ;
}

const struct step *plan_find_step(const struct plan *plan, enum step_kind kind)
{
	for (size_t i = 0; i < plan->n_steps; i++)
		if (plan->steps[i].kind == kind)
			return &plan->steps[i];
	return NULL;
}

const char *plan_working_directory(const struct plan *plan)
{
	const struct step *step = plan_find_step(plan, STEP_WORKING_DIRECTORY);

	return step ? step->working_directory.target : "/";
}

/* ---- the comparison ---- */

#define COMPARED (RIGHT_READ | RIGHT_LIST | RIGHT_WRITE | RIGHT_EXEC)

static const char *name_rights(struct planner *planner, unsigned rights)
{
	text_reset(&planner->memory.text);
	for (size_t i = 0; i < N_ELEMENTS(compared); i++)
		if (rights & compared[i].right) {
			if (planner->memory.text.len > 0)
				text_add(&planner->memory.text, ", ");
			text_add(&planner->memory.text, compared[i].verb);
		}
	return planner_take_text(planner);
}

/* The outside path of @path's content, according to the steps; NULL: the same path. */
static const char *find_source(struct planner *planner, const struct step *carrier,
			       const char *path)
{
	const char *target, *source;

	if (!carrier || (carrier->kind != STEP_BIND && carrier->kind != STEP_OVERLAY))
		return NULL;
	target = step_target(carrier);
	source = carrier->kind == STEP_BIND ? carrier->bind.source : carrier->overlay.source;
	return strcmp(source, target) == 0 ? NULL : planner_rebase(planner, path, target, source);
}

/* The path of what a mount shows at @path; NULL if sbx made it. */
static const char *outside_of(struct planner *planner, const struct step *carrier, const char *path)
{
	const char *source = find_source(planner, carrier, path);

	return source ? source : carrier && carrier->kind == STEP_BIND ? path : NULL;
}

/* A Landlock rule, for the outside path of its directory. */
struct outside_rule {
	const char *path;
	uint64_t rights;
};

/* The rules for what mounts show. */
static struct arena_rows list_outside_rules(struct planner *planner)
{
	const struct plan *plan = planner->plan;
	struct arena_rows rules = { .rows = NULL };

	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct step *step = &plan->steps[i];
		struct outside_rule *rule;
		const char *path;

		if (step->kind != STEP_LANDLOCK_PATH)
			continue;
		path = outside_of(planner, plan_find_carrier(plan, step->landlock_path.target),
				  step->landlock_path.target);
		if (!path)
			continue;
		rule = arena_add_row(planner->memory.arena, &rules, sizeof(*rule));
		if (rule)
			*rule = (struct outside_rule){ path, step->landlock_path.rights };
		planner->memory.is_exhausted |= !rule;
	}
	return rules;
}

/* What Landlock grants to @outside by its rules for directories from there up to @root, the mounted
 * directory, under any name that they have inside. */
static uint64_t granted_to(const struct arena_rows *rules, const char *outside, const char *root)
{
	const struct outside_rule *rule = rules->rows;
	uint64_t granted = 0;

	for (size_t i = 0; i < rules->n_rows; i++, rule++)
		if (path_is_at_or_below(outside, rule->path) &&
		    path_is_at_or_below(rule->path, root))
			granted |= rule->rights;
	return granted;
}

/*
 * What the kernel permits at @path because a directory around the file is mounted elsewhere:
 * Landlock goes up from the file through each mount, and its rules are for inodes, not for names.
 */
static unsigned permits_by_other_names(struct planner *planner, const struct arena_rows *rules,
				       const char *path, enum host_path_kind kind)
{
	const struct plan *plan = planner->plan;
	const struct step *mount = plan_find_carrier(plan, path);
	uint64_t handled, granted = 0;
	const char *at = path;

	(void)landlocked(plan, path, &handled);
	while (mount) {
		const char *target = step_target(mount);
		const char *outside = outside_of(planner, mount, at);
		const char *root = outside_of(planner, mount, target);

		if (mount->kind == STEP_BIND && outside && root)
			granted |= granted_to(rules, outside, root);
		at = planner_keep_bytes(planner, target, (size_t)(path_last(target) - target - 1));
		mount = plan_find_carrier_of(plan, mount);
	}
	return permitted_with(plan, path, kind, granted, handled);
}

/* A right that a file has by another name is denied only by a rule that denies it by this one. */
static unsigned find_denied_by_name(struct planner *planner, const struct arena_rows *rules,
				    const struct asked_path *asked)
{
	unsigned permitted =
		permits_by_other_names(planner, rules, asked->path, asked->kind) & COMPARED;
	unsigned denied = 0;
	struct step_origin origin;

	for (size_t i = 0; i < N_ELEMENTS(compared); i++)
		if ((permitted & compared[i].right) &&
		    decided_denial(planner, asked, compared[i].right, &origin))
			denied |= compared[i].right;
	return denied;
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

static bool is_told(const struct place *place)
{
	for (size_t i = 0; i < place->n_marks; i++)
		if (place->marks[i]->flags & MARK_TOLD)
			return true;
	return false;
}

/* The command, its loader and the libraries that it maps may be executed whatever rules say about
 * programs. Only Landlock can tell mapping from executing. */
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

/* Rules that allow something below /tmp apply to the sandbox's own tmpfs. */
static bool is_of_host_in_tmpfs(const struct place *place)
{
	for (const struct place *at = place->parent; at; at = at->parent)
		if (view_is_private(at->path))
			return at->winner && at->winner->content == CONTENT_TMPFS;
	return false;
}

static void note_less(struct planner *planner, const struct place *place, unsigned less)
{
	const char *why = less == RIGHT_EXEC ? "a program must be readable to be executed"
			  : is_of_host_in_tmpfs(place)
				  ? "rules for the fresh /tmp do not apply to the host's files "
				    "that are shown in it"
				  : "a narrower mount or Landlock rule is enforced around it";

	if (place->facts && place->facts->kind != HOST_MISSING && !is_told(place))
		planner_note(planner,
			     planner_format(planner,
					    "'%s' is allowed, but cannot be permitted here: %s",
					    place->path, name_rights(planner, less)),
			     why);
}

/* Is the place compared? Only host files: no rule is about content that sbx makes. */
static bool is_compared(const struct place *place, const struct step *carrier)
{
	if (strcmp(place->path, "/") == 0 || place_is_made(place))
		return false;
	/* The command has the same uid: it cannot reach what sbx cannot reach. */
	if (place->facts && place->facts->kind == HOST_UNREACHABLE)
		return false;
	return !carrier || carrier->kind == STEP_BIND || carrier->kind == STEP_OVERLAY ||
	       carrier->kind == STEP_MASK;
}

/* The kind of file that the steps show at the place. Where the host was not asked about their path,
 * the kind that the planner assumed. */
static enum host_path_kind find_kind(struct planner *planner, const struct place *place,
				     const struct step *carrier, const char *source)
{
	const struct host_path *facts = NULL;

	if (carrier && carrier->kind != STEP_MASK)
		facts = planner_facts(planner, source ? source : place->path);
	if (!facts || facts->kind == HOST_LINK_REFUSED)
		facts = place->facts;
	return facts ? facts->kind : HOST_MISSING;
}

static int compare(struct planner *planner, const struct arena_rows *rules,
		   const struct place *place)
{
	const struct step *carrier = plan_find_carrier(planner->plan, place->path);
	bool is_masked = carrier && carrier->kind == STEP_MASK;
	const char *source = is_masked ? place->source : find_source(planner, carrier, place->path);
	enum host_path_kind kind = find_kind(planner, place, carrier, source);
	const struct asked_path asked = { .path = place->path, .source = source, .kind = kind };
	unsigned decided, permitted, more, less;

	if (!is_compared(place, carrier))
		return 0;
	permitted = plan_permits(planner->plan, place->path, kind);
	decided = decided_rights(planner, &asked, permitted & COMPARED);
	/* A write to an overlay goes to its upper directory, not to the host's file. */
	if (carrier && carrier->kind == STEP_OVERLAY)
		permitted &= ~(unsigned)RIGHT_WRITE | decided;
	if (kind != HOST_DIRECTORY && kind != HOST_MISSING)
		decided &= ~(unsigned)RIGHT_LIST;
	/* A missing name can only be created where writing is permitted. */
	if (kind == HOST_MISSING && (!(permitted & RIGHT_WRITE) || place_is_only_guarded(place)))
		return 0;
	if (planner->view.has_mounts)
		permitted |= find_denied_by_name(planner, rules, &asked) & ~decided;
	more = permitted & ~decided & ~own_rights(planner, place);
	if (more)
		return refuse_more(planner, &asked, more);
	less = decided_anywhere(planner, &asked, COMPARED & ~permitted);
	if (kind != HOST_DIRECTORY)
		less &= ~(unsigned)RIGHT_LIST;
	/* connect() to a socket needs the write right only. */
	if (kind == HOST_SOCKET)
		less &= RIGHT_WRITE;
	if (less)
		note_less(planner, place, less);
	return 0;
}

/* The path at which the step shows @outside, or a path below it; NULL if it shows neither. */
static const char *find_shown(struct planner *planner, const struct step *step, const char *outside)
{
	const char *source;

	if (step->kind != STEP_BIND && step->kind != STEP_OVERLAY)
		return NULL;
	source = step->kind == STEP_BIND ? step->bind.source : step->overlay.source;
	if (path_is_at_or_below(source, outside))
		return step_target(step);
	if (!path_is_at_or_below(outside, source))
		return NULL;
	return planner_rebase(planner, outside, source, step_target(step));
}

/* A symbolic link that a denial or exception names, and that was not followed to a place. */
struct unfollowed {
	const struct mark *mark;
	const struct host_path *target; /* NULL: missing */
	const char *leads_to;
	const char *why; /* why the denial does not hold at the target */
};

static int refuse_unfollowed(struct planner *planner, const struct unfollowed *link)
{
	(void)sbx_error_what(planner->err, -EOPNOTSUPP, "cannot enforce what %s denies at '%.300s'",
			     origin_text(&link->mark->origin), link->mark->path);
	sbx_error_why(planner->err, "%s, and its target is shown", link->why);
	sbx_error_fix(planner->err, "name its target, '%.300s'", link->leads_to);
	return -EOPNOTSUPP;
}

/* @step shows the target at @asked; NULL: it has its own name in the reduced tier. */
static int compare_shown(struct planner *planner, const struct unfollowed *link,
			 const struct step *step, const struct asked_path *asked)
{
	unsigned permitted = plan_permits(planner->plan, asked->path, asked->kind) & COMPARED;

	if (step && step->kind == STEP_OVERLAY)
		permitted &= ~(unsigned)RIGHT_WRITE;
	/* A missing name can only be created where writing is permitted. */
	if (asked->kind == HOST_MISSING && !(permitted & RIGHT_WRITE))
		return 0;
	permitted &= link->mark->rights;
	if (permitted & ~decided_rights(planner, asked, permitted))
		return refuse_unfollowed(planner, link);
	return 0;
}

/* The target has no place, so compare() does not check it. */
static int compare_target(struct planner *planner, const struct unfollowed *link)
{
	struct asked_path asked = {
		.path = link->leads_to,
		.kind = link->target ? link->target->kind : HOST_MISSING,
	};

	if (planner->plan->tier != TIER_FULL)
		return compare_shown(planner, link, NULL, &asked);
	for (size_t i = 0; i < planner->plan->n_steps; i++) {
		const struct step *step = &planner->plan->steps[i];
		int r;

		asked.path = find_shown(planner, step, link->leads_to);
		if (!asked.path || plan_find_carrier(planner->plan, asked.path) != step)
			continue;
		asked.source = find_source(planner, step, asked.path);
		r = compare_shown(planner, link, step, &asked);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The planner refuses to follow a link that others could change: the mark is at the link. */
static int compare_behind_refused(struct planner *planner, const struct mark *mark)
{
	const struct host_path *facts = mark->facts;
	struct unfollowed link = { .mark = mark };

	if (!facts || facts->kind != HOST_LINK_REFUSED || !facts->leads_to)
		return 0;
	link.leads_to = facts->leads_to;
	link.target = host_find_path(planner->host, link.leads_to);
	link.why = planner_format(planner,
				  "'%.300s' is a symbolic link that its owner, or a command in a "
				  "sandbox, could change",
				  facts->real);
	return compare_target(planner, &link);
}

/* The mark is at what a mount shows at its path, not at what the host's link there leads to. */
static int compare_behind_mount(struct planner *planner, const struct mark *mark)
{
	const struct host_path *facts = host_find_path(planner->host, mark->path);
	struct unfollowed link = { .mark = mark, .target = facts };

	if (!facts || mark->source || !view_find_mount(planner, mark->path))
		return 0;
	link.leads_to = facts->kind == HOST_LINK_REFUSED ? facts->leads_to : facts->real;
	if (!link.leads_to || strcmp(link.leads_to, mark->path) == 0)
		return 0;
	if (facts->kind == HOST_LINK_REFUSED)
		link.target = host_find_path(planner->host, link.leads_to);
	link.why = "the path leads through a symbolic link of the host that a mount hides";
	return compare_target(planner, &link);
}

static int refuse_replaceable(struct planner *planner, const struct mark *mark,
			      const struct host_link *link)
{
	size_t n = link->n_movable;

	(void)sbx_error_what(planner->err, -EOPNOTSUPP, "cannot enforce what %s denies at '%.300s'",
			     origin_text(&mark->origin), mark->path);
	if (link->path[n] == '\0')
		sbx_error_why(planner->err,
			      "'%.300s' is a symbolic link in a directory that the command may "
			      "write to, so it could replace the link",
			      link->path);
	else
		sbx_error_why(planner->err,
			      "'%.300s' is a symbolic link, and the command may rename '%.*s', so "
			      "it could replace the link",
			      link->path, (int)n, link->path);
	sbx_error_fix(planner->err, "name its target, '%.300s'", mark->facts->real);
	return -EOPNOTSUPP;
}

/* May the command rename the link, or a directory around it? A mount point cannot be renamed. */
static bool is_replaceable(struct planner *planner, const struct host_link *link)
{
	const struct plan *plan = planner->plan;
	const char *path = planner_keep_bytes(planner, link->path, link->n_movable), *parent;
	size_t n_parent = link->n_movable;
	const struct step *carrier;

	while (link->path[--n_parent] != '/')
		;
	parent = planner_keep_bytes(planner, link->path, n_parent);
	carrier = plan_find_carrier(plan, parent);
	if (plan->tier == TIER_FULL &&
	    (!carrier || (carrier->kind != STEP_BIND && carrier->kind != STEP_OVERLAY) ||
	     plan_find_carrier(plan, path) != carrier))
		return false;
	return plan_permits(plan, parent, HOST_DIRECTORY) & RIGHT_WRITE;
}

/* The command could replace a link that was followed, and then use the denied name for its own
 * file: the mask is at the target. */
static int compare_at_links(struct planner *planner, const struct mark *mark)
{
	const struct host *host = planner->host;
	const struct asked_path asked = { .path = mark->path, .kind = HOST_MISSING };
	bool *is_on_the_way;

	if (mark->source || !mark->facts || !mark->facts->real ||
	    strcmp(mark->facts->real, mark->path) == 0)
		return 0;
	is_on_the_way = planner_alloc(planner, host->n_links + 1);
	if (is_on_the_way)
		mark_find_links(host, mark->path, true, is_on_the_way);
	for (size_t i = 0; is_on_the_way && i < host->n_links; i++) {
		const struct host_link *link = &host->links[i];
		unsigned permitted;

		if (!is_on_the_way[i] || link->n_movable == 0 ||
		    mark_link_is_hidden(planner, link->path) || !is_replaceable(planner, link))
			continue;
		permitted = plan_permits(planner->plan, link->path, HOST_MISSING) & mark->rights &
			    COMPARED;
		if (permitted & ~decided_rights(planner, &asked, permitted))
			return refuse_replaceable(planner, mark, link);
	}
	return 0;
}

/* A denial or exception that names a symbolic link also applies to its target. */
static int compare_behind_links(struct planner *planner, const struct mark *mark)
{
	int r;

	if (mark->kind == MARK_ALLOW || mark->origin.kind == ORIGIN_BUILT_IN)
		return 0;
	r = compare_behind_refused(planner, mark);
	if (r < 0)
		return r;
	r = compare_behind_mount(planner, mark);
	return r < 0 ? r : compare_at_links(planner, mark);
}

int compare_with_decisions(struct planner *planner)
{
	struct mark *const *marks = planner->view.marks.rows;
	struct arena_rows rules = { .rows = NULL };

	if (planner->view.has_mounts)
		rules = list_outside_rules(planner);
	for (size_t i = 0; i < planner->view.n_places; i++) {
		int r = compare(planner, &rules, &planner->view.places[i]);

		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < planner->view.marks.n_rows; i++) {
		int r = compare_behind_links(planner, marks[i]);

		if (r < 0)
			return r;
	}
	return planner_status(planner);
}
