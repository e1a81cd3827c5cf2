/* SPDX-License-Identifier: MIT */

/*
 * The rights of a path
 *
 * The planner does not interpret rules. It composes them once, together with those of options and
 * built-in protections, compiles the result, and calls policy_decide() for each path. The kernel
 * knows neither callers nor states, so the worst case is composed (policy/compose.h).
 *
 * Rights of a directory extend to everything below it that has no place of its own. So the
 * evaluator is asked twice: about the directory's own name, and about a name below it that no rule
 * contains.
 */

#include "plan/plan-internal.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "policy/compose.h"
#include "policy/decide.h"
#include "policy/enforcement.h"

/* A name of this byte stands for every name that no rule and no option contains. */
#define FRESH_BYTE '\x01'

struct decided {
	const struct policy *policy; /* the composed policy */
	struct step_origin *origins; /* of the added rules, from n_original on */
	size_t n_original;
	size_t n_origins;
	struct policy_engine *engine;
	const char *fresh; /* a name below a directory that occurs nowhere in the policy */
};

static const struct {
	const char *operation;
	unsigned right;
} operations[] = {
	{ "fs.read", RIGHT_READ },     { "fs.write", RIGHT_WRITE }, { "fs.list", RIGHT_LIST },
	{ "fs.exists", RIGHT_EXISTS }, { "exec", RIGHT_EXEC },
};

unsigned rights_of(uint64_t set)
{
	unsigned rights = 0;

	for (size_t i = 0; i < N_ELEMENTS(operations); i++)
		if (set & operation_set(operations[i].operation))
			rights |= operations[i].right;
	return rights;
}

uint64_t operations_of(unsigned rights)
{
	uint64_t set = 0;

	for (size_t i = 0; i < N_ELEMENTS(operations); i++)
		if (rights & operations[i].right)
			set |= operation_set(operations[i].operation);
	return set;
}

void decided_free(struct decided *decided)
{
	if (decided)
		decided->engine = policy_engine_free(decided->engine);
}

/* Should the mark become a rule? None is needed for content that sbx makes: devices, links, /proc,
 * copies. */
static bool adds_rule(const struct mark *mark)
{
	bool is_everything = strcmp(mark->path, "/") == 0;

	return !(mark->flags & MARK_RULED) && (!(mark->flags & MARK_OURS) || is_everything) &&
	       mark->kind != MARK_PIN && mark->content != CONTENT_DEVICE &&
	       operations_of(mark->rights) != 0;
}

static void add_mark(struct composer *composer, const struct mark *mark)
{
	struct composed_path path = {
		.name = mark->origin.text ? mark->origin.text : "the built-in view",
		.path = mark->path,
		.operations = operations_of(mark->rights),
		.excepts = mark->excepts.rows,
		.n_excepts = mark->excepts.n_rows,
	};

	enum composed_kind kind = mark->kind == MARK_DENY	   ? COMPOSE_DENY
				  : mark->source		   ? COMPOSE_COVER
				  : mark->content == CONTENT_COPY  ? COMPOSE_GRANT
				  : mark->content == CONTENT_TMPFS ? COMPOSE_TMPFS
				  : mark->flags & MARK_RUN	   ? COMPOSE_ADD
								   : COMPOSE_SHOW;

	compose_add(composer, kind, &path);
}

static void add_marks(struct planner *planner, struct decided *decided, struct composer *composer)
{
	struct mark *const *marks = planner->view.marks.rows;
	size_t n = planner->view.marks.n_rows;

	decided->n_original = composer->policy.n_rules;
	decided->origins = arena_alloc(planner->memory.scratch, n * sizeof(*decided->origins));
	planner->memory.is_exhausted |= !decided->origins;
	for (size_t i = 0; decided->origins && i < n; i++) {
		if (!adds_rule(marks[i]))
			continue;
		add_mark(composer, marks[i]);
		decided->origins[decided->n_origins++] = marks[i]->origin;
	}
}

/* Resolves symbolic links for the composition. A grant through a refused link is an error
 * elsewhere, so only denials and exceptions follow such a link. */
static const char *resolve(void *context, const char *path)
{
	struct planner *planner = context;
	const struct host_path *facts = host_find_path(planner->host, path);

	if (facts && facts->kind == HOST_LINK_REFUSED)
		return facts->leads_to ? facts->leads_to : path;
	return facts && facts->real ? facts->real : path;
}

static const char *resolve_target(void *context, const char *path)
{
	return planner_real_target(context, path);
}

static const char *find_shown(void *context, const char *path)
{
	struct planner *planner = context;
	const struct mark *mount = view_find_mount(planner, path);

	return mount ? planner_rebase(planner, path, mount->path,
				      planner_real_target(planner, mount->path))
		     : NULL;
}

static size_t longest_run(const struct condition *condition)
{
	const struct match_list *list = &condition->lists[MATCH_PATH];
	size_t longest = 0, run = 0;

	for (size_t i = 0; i < list->n_values; i++)
		for (const char *at = list->values[i].text; *at; at++) {
			run = *at == FRESH_BYTE ? run + 1 : 0;
			longest = run > longest ? run : longest;
		}
	return longest;
}

/* An attacker may have written any name into the policy, and options may name any file: make the
 * fresh name longer than every run of FRESH_BYTE in them. */
static const char *find_fresh(struct planner *planner, const struct policy *policy)
{
	size_t longest = 0;
	char *name;

	for (size_t i = 0; i < policy->n_rules; i++) {
		const struct rule *rule = &policy->rules[i];
		size_t run = longest_run(&rule->match);

		longest = run > longest ? run : longest;
		for (size_t k = 0; k < rule->n_exceptions; k++) {
			run = longest_run(&rule->exceptions[k]);
			longest = run > longest ? run : longest;
		}
	}
	name = planner_alloc(planner, longest + 2);
	if (!name)
		return "";
	memset(name, FRESH_BYTE, longest + 1);
	name[longest + 1] = '\0';
	return name;
}

/* Collects the exceptions of the view's one rule about the project, which may have made several
 * marks. */
static struct arena_rows project_excepts(struct planner *planner)
{
	struct arena_rows all = { .rows = NULL };

	for (size_t i = 0; i < planner->view.marks.n_rows; i++) {
		const struct mark *mark = mark_at(planner, i);
		const struct composed_except *rows = mark->excepts.rows;

		for (size_t k = 0; (mark->flags & MARK_PROJECT) && k < mark->excepts.n_rows; k++)
			*(struct composed_except *)list_add(planner, &all, sizeof(*rows)) = rows[k];
	}
	return all;
}

static int compose(struct planner *planner, struct decided *decided)
{
	const struct arena_rows excepts = project_excepts(planner);
	const struct composition with = {
		.project = planner->request->project,
		.is_worst_case = true,
		.level = policy_sandbox_level(planner->policy),
		.home = planner->chosen.home,
		.has_own_tmp = has_own_tmp(planner),
		.is_limiting_exec = is_limiting_exec(planner),
		.resolve = resolve,
		.resolve_target = resolve_target,
		.find_shown = find_shown,
		.context = planner,
		.excepts = excepts.rows,
		.n_excepts = excepts.n_rows,
	};
	struct composer composer;

	compose_begin(&composer, planner->policy, &with, planner->memory.scratch);
	add_marks(planner, decided, &composer);
	return compose_finish(&composer, &decided->policy);
}

int decide_all(struct planner *planner)
{
	struct decided *decided = arena_alloc(planner->memory.scratch, sizeof(*decided));
	int r;

	planner->memory.is_exhausted |= !decided;
	if (!decided)
		return planner_status(planner);
	*decided = (struct decided){ .policy = NULL };
	planner->decided = decided;
	r = compose(planner, decided);
	if (r == 0) {
		decided->fresh = find_fresh(planner, decided->policy);
		r = policy_engine_compile(decided->policy, planner->request->guarded,
					  &decided->engine, planner->err);
	}
	planner->memory.is_exhausted |= r == -ENOMEM;
	return planner_status(planner) < 0 ? -ENOMEM : r;
}

static void ask(const struct planner *planner, const char *operation, const char *path,
		struct policy_decision *ret)
{
	/* A size of 0 meets every bound: a resource limit enforces it. The level is this sandbox's,
	 * or for a command that builds sandboxes the outer one's. */
	const struct policy_request request = {
		.operation = operation,
		.path = path,
		.project_root = planner->request->project,
		.sandbox = policy_sandbox_level(planner->policy),
		.has_size = true,
	};

	policy_decide(planner->decided->engine, &request, ret);
}

enum answer {
	ANSWER_YES,
	ANSWER_NO,     /* no rule allows it */
	ANSWER_DENIED, /* a rule denies it */
};

static enum answer answer_of(const struct policy_decision *decision)
{
	if (policy_permits(decision->verdict))
		return ANSWER_YES;
	return decision->cause == CAUSE_RULES || decision->cause == CAUSE_BUILTIN ? ANSWER_DENIED
										  : ANSWER_NO;
}

static enum answer answer(const struct planner *planner, const char *operation, const char *path)
{
	struct policy_decision decision;

	ask(planner, operation, path, &decision);
	return answer_of(&decision);
}

/* Denied outside by a rule of the policy or of sbx? A rule that composing added for a mount applies
 * to its name inside; outside, that name is another file. */
static bool is_denied_outside(const struct planner *planner, const struct policy_decision *decision)
{
	const struct decided *decided = planner->decided;

	return answer_of(decision) == ANSWER_DENIED &&
	       (decision->cause != CAUSE_RULES ||
		decision->rules[0] < decided->n_original + decided->n_origins);
}

/* The names for which the evaluator is asked about a path: its own, and one below it. */
struct names {
	const char *inside[2];
	const char *outside[2];
	size_t n;
	const char *beside; /* a fresh name in its parent directory */
	bool is_missing;    /* creating the path needs a right to its own name */
};

static struct names names_of(struct planner *planner, const struct asked_path *asked)
{
	struct names names = {
		.inside = { asked->path },
		.outside = { asked->source },
		.n = asked->kind == HOST_DIRECTORY || asked->kind == HOST_MISSING ? 2 : 1,
		.is_missing = asked->kind == HOST_MISSING,
	};
	size_t n_parent = (size_t)(strrchr(asked->path, '/') - asked->path);

	if (names.n == 2)
		names.inside[1] = planner_join(planner, asked->path, planner->decided->fresh);
	if (names.n == 2 && asked->source)
		names.outside[1] = planner_join(planner, asked->source, planner->decided->fresh);
	/* Not planner_format(): it would overwrite a message that the caller is building. */
	names.beside = planner_join(planner, planner_keep_bytes(planner, asked->path, n_parent),
				    planner->decided->fresh);
	return names;
}

/* A right that the directory itself lacks does not matter for the paths below it, unless a rule
 * denies it or the directory could be replaced: a command with write access to its parent could
 * rename or remove it, which amounts to writing its own name. */
static bool is_allowed(const struct planner *planner, const struct names *names, size_t row)
{
	const char *operation = operations[row].operation;
	enum answer own = answer(planner, operation, names->inside[0]);
	bool is_allowed = own == ANSWER_YES;

	if (names->n == 2) {
		enum answer below = answer(planner, operation, names->inside[1]);

		is_allowed = below == ANSWER_YES && own != ANSWER_DENIED &&
			     (own == ANSWER_YES ||
			      (!names->is_missing && operations[row].right != RIGHT_LIST &&
			       !(operations[row].right == RIGHT_WRITE &&
				 answer(planner, "fs.write", names->beside) == ANSWER_YES)));
	}
	for (size_t i = 0; is_allowed && names->outside[0] && i < names->n; i++) {
		struct policy_decision decision;

		ask(planner, operation, names->outside[i], &decision);
		is_allowed = !is_denied_outside(planner, &decision);
	}
	return is_allowed;
}

unsigned decided_rights(struct planner *planner, const struct asked_path *asked, unsigned wanted)
{
	struct names names = names_of(planner, asked);
	unsigned rights = 0;

	for (size_t i = 0; i < N_ELEMENTS(operations); i++)
		if ((wanted & operations[i].right) && is_allowed(planner, &names, i))
			rights |= operations[i].right;
	return rights;
}

unsigned decided_anywhere(struct planner *planner, const struct asked_path *asked, unsigned wanted)
{
	struct names names = names_of(planner, asked);
	unsigned rights = 0;

	for (size_t i = 0; i < N_ELEMENTS(operations); i++)
		for (size_t k = 0; k < names.n; k++) {
			const struct names one = { .inside = { names.inside[k] },
						   .outside = { names.outside[k] },
						   .n = 1 };

			/* Reading and writing applies to the directory's content. */
			if ((wanted & operations[i].right) &&
			    (names.n == 1 || k == 1 || operations[i].right == RIGHT_LIST) &&
			    is_allowed(planner, &one, i))
				rights |= operations[i].right;
		}
	return rights;
}

bool decided_exec_everywhere(struct planner *planner)
{
	const struct asked_path asked = {
		.path = planner_join(planner, "/", planner->decided->fresh),
		.kind = HOST_FILE,
	};

	return decided_rights(planner, &asked, RIGHT_EXEC) != 0;
}

static struct step_origin origin_of(struct planner *planner, const struct policy_decision *decision)
{
	const struct decided *decided = planner->decided;
	size_t row = decision->n_rules > 0 ? decision->rules[0] : 0;

	if (decision->cause == CAUSE_BUILTIN)
		return (struct step_origin){ ORIGIN_BUILT_IN, decision->builtin };
	if (row >= decided->n_original && row - decided->n_original < decided->n_origins)
		return decided->origins[row - decided->n_original];
	return origin_of_rule(planner, &decided->policy->rules[row]);
}

/* Finds the rule that denies the operation for one of the names; false if none does. */
static bool find_denial(struct planner *planner, const char *operation, const struct names *names,
			struct step_origin *ret)
{
	struct policy_decision decision;

	for (size_t i = 0; i < names->n; i++) {
		ask(planner, operation, names->inside[i], &decision);
		if (answer_of(&decision) == ANSWER_DENIED) {
			*ret = origin_of(planner, &decision);
			return true;
		}
	}
	for (size_t i = 0; names->outside[0] && i < names->n; i++) {
		ask(planner, operation, names->outside[i], &decision);
		if (is_denied_outside(planner, &decision)) {
			*ret = origin_of(planner, &decision);
			return true;
		}
	}
	return false;
}

static unsigned decided_denied(struct planner *planner, const struct asked_path *asked,
			       unsigned rights)
{
	struct names names = names_of(planner, asked);
	struct step_origin origin;
	unsigned denied = 0;

	for (size_t i = 0; i < N_ELEMENTS(operations); i++)
		if ((rights & operations[i].right) &&
		    find_denial(planner, operations[i].operation, &names, &origin))
			denied |= operations[i].right;
	return denied;
}

bool decided_denial(struct planner *planner, const struct asked_path *asked, unsigned rights,
		    struct step_origin *ret)
{
	struct names names = names_of(planner, asked);

	for (size_t i = 0; i < N_ELEMENTS(operations); i++)
		if ((rights & operations[i].right) &&
		    find_denial(planner, operations[i].operation, &names, ret))
			return true;
	return false;
}

static int refuse_port(struct planner *planner, const struct request_port *port,
		       const struct policy_decision *decision)
{
	struct step_origin origin = origin_of(planner, decision);
	struct step_origin named = origin_of_port(planner, port->port, port->bind);

	(void)sbx_error_what(planner->err, -EACCES,
			     "cannot %s port %u of the host's loopback for %s",
			     port->bind ? "listen on" : "connect to", port->port,
			     origin_text(&named));
	sbx_error_why(planner->err, "%s denies it, and a denial takes precedence",
		      origin_text(&origin));
	sbx_error_fix(planner->err, "leave out the port, or change the rule that denies it");
	return -EACCES;
}

/* Refuses ports that a rule of the policy file denies, even if an option names them. */
int decide_ports(struct planner *planner)
{
	/* A request names the loopback by this address, or by the name that resolves to it. */
	static const char *const hosts[] = { "127.0.0.1", "localhost" };
	const struct request_port *ports = planner->ports.rows;
	size_t n_rules = planner->policy ? planner->policy->n_rules : 0;

	for (size_t i = 0; i < planner->ports.n_rows * N_ELEMENTS(hosts); i++) {
		const struct request_port *port = &ports[i / N_ELEMENTS(hosts)];
		const struct policy_request request = {
			.operation = port->bind ? "net.bind" : "net.connect",
			.project_root = planner->request->project,
			.host = hosts[i % N_ELEMENTS(hosts)],
			.port = port->port,
			.has_port = true,
		};
		struct policy_decision decision;

		policy_decide(planner->decided->engine, &request, &decision);
		if (answer_of(&decision) == ANSWER_DENIED && decision.cause == CAUSE_RULES &&
		    decision.rules[0] < n_rules)
			return refuse_port(planner, port, &decision);
	}
	return 0;
}

/*
 * The rights of places. The evaluator decides them, by the name inside and, if a mount shows
 * another directory, also by the name outside. Only what sbx itself makes (a device, a link, /proc,
 * a fresh tmpfs) has the rights of its mark, less what is denied.
 */

static bool is_same(const struct mark *a, const struct mark *b)
{
	const char *one = a->source ? a->source : "", *other = b->source ? b->source : "";

	return a->content == b->content && strcmp(one, other) == 0;
}

/* The content of an overlay takes precedence, then that of options, then that of mounts, then that
 * of rules and of paths that a user shares with the sandbox, then the built-in view. */
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

/* A mark without a source is named as inside: if a mount covers the path, the mark is about the
 * mount's content. */
static bool is_about(const struct mark *mark, const struct mark *mount)
{
	return mount->source && !mark->source && mark->content == CONTENT_HOST &&
	       (mount->content == CONTENT_HOST || mount->content == CONTENT_OVERLAY);
}

static bool goes_before(const struct mark *mark, const struct mark *winner)
{
	if (is_about(mark, winner) || is_about(winner, mark))
		return is_about(winner, mark);
	return rank(mark) > rank(winner);
}

static bool counts(const struct mark *mark)
{
	return mark->kind == MARK_ALLOW && !(mark->flags & MARK_DROPPED);
}

static int refuse_both(struct planner *planner, const struct mark *one, const struct mark *other)
{
	(void)sbx_error_what(planner->err, -EINVAL, "cannot mount twice at '%.300s'", one->place);
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
		if (!winner || goes_before(mark, winner))
			place->winner = mark;
	}
	return 0;
}

/* Does an option show the host's files where a mount or rule says that a tmpfs is? */
static bool is_instead_of_tmpfs(const struct place *place)
{
	for (size_t i = 0; i < place->n_marks; i++)
		if (counts(place->marks[i]) && place->marks[i]->content == CONTENT_TMPFS)
			return place->winner->content == CONTENT_HOST;
	return false;
}

/* Does the place have its own content and rights? An overlay without a source does not: its lower
 * directory is the host's at the same path. */
static bool begins_anew(const struct place *place)
{
	const struct mark *winner = place->winner;
	const struct place *above = place->parent ? place->parent->base : NULL;

	if (!winner)
		return false;
	if (winner->source)
		return true;
	/* Host content below a fresh directory does; below another mount of the host it does
	 * not. */
	if (winner->content == CONTENT_HOST || winner->content == CONTENT_OVERLAY)
		return (above && !above->source) || is_instead_of_tmpfs(place);
	return true;
}

static void find_facts(struct place *place)
{
	for (size_t i = 0; i < place->n_marks && !place->facts; i++)
		if (!place->marks[i]->source)
			place->facts = place->marks[i]->facts;
	if (place->winner && place->winner->facts)
		place->facts = place->winner->facts;
}

const struct mark *place_find_absent_mount(const struct place *place)
{
	for (size_t i = 0; i < place->n_marks && place->base != place; i++) {
		const struct mark *mark = place->marks[i];

		if (mark->kind == MARK_ALLOW && mark->source && !counts(mark))
			return mark;
	}
	return NULL;
}

bool place_is_pinned(const struct place *place)
{
	return place->marks[place->n_marks - 1]->kind == MARK_PIN;
}

/* Is this content of sbx's own, which covers the host's? */
static bool is_of_ours(const struct mark *winner)
{
	static const bool of_ours[] = {
		[CONTENT_TMPFS] = true, [CONTENT_DIRECTORY] = true, [CONTENT_LINK] = true,
		[CONTENT_PROC] = true,	[CONTENT_PTS] = true,
	};

	return winner && of_ours[winner->content];
}

/* Takes the facts of the place's source; keeps those that a mark found through a symbolic link to
 * it. */
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
	if (place->marks[0]->kind == MARK_PIN && above && above->source) {
		place->facts = above->facts;
		place->source = planner_rebase(planner, place->path, above->path, above->source);
		return;
	}
	if (base == place || !base) {
		if (place->facts && !is_of_ours(place->winner))
			place->source = place->facts->real;
		return;
	}
	if (base->source) {
		place->source = planner_rebase(planner, place->path, base->path, base->source);
		find_facts_at(planner, place);
		return;
	}
	/* A fresh directory is empty; a fresh /proc has the same entries as the host's. */
	if (base->winner->content != CONTENT_PROC)
		place->facts = NULL;
}

/* Did sbx make this content? Rights of host files are the evaluator's to decide. */
static bool is_made(const struct mark *winner)
{
	if (!winner)
		return false;
	if (winner->content == CONTENT_TMPFS)
		return (winner->flags & MARK_OURS) && !(winner->flags & MARK_RULED);
	return winner->content != CONTENT_HOST && winner->content != CONTENT_OVERLAY &&
	       winner->content != CONTENT_SOCKET;
}

struct asked_path place_asked(const struct place *place)
{
	bool is_other = place->source && strcmp(place->source, place->path) != 0;
	/* Even if the host has a file there. */
	bool is_tmpfs = place->winner && place->winner->content == CONTENT_TMPFS;

	return (struct asked_path){
		.path = place->path,
		.source = is_other ? place->source : NULL,
		.kind = place->facts && !is_tmpfs ? place->facts->kind : HOST_DIRECTORY,
	};
}

/* Finds a denial of sbx's own, which no policy overrides. */
static const struct mark *find_own_denial(const struct place *place, unsigned rights)
{
	for (const struct place *at = place; at; at = at->parent)
		for (size_t i = 0; i < at->n_marks; i++)
			if (at->marks[i]->kind == MARK_DENY && (at->marks[i]->flags & MARK_OURS) &&
			    (at->marks[i]->rights & rights))
				return at->marks[i];
	return NULL;
}

/* Finds an exception of an allow, which removes rights without a deny rule. @flags: that the
 * exception must have. */
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
	const struct asked_path asked = place_asked(place);
	const struct mark *own = find_own_denial(place, rights);

	if (own)
		*ret = own->origin;
	return own || find_exception(place, rights, MARK_OURS, ret) ||
	       decided_denial(planner, &asked, rights, ret) ||
	       find_exception(place, rights, 0, ret);
}

/* Rights that policies have no operation for: mapping libraries, starting the command and its
 * loader, ioctl on devices. A command that may execute nothing here needs none of them. */
static unsigned find_extra(struct planner *planner, const struct place *place)
{
	const struct asked_path asked = place_asked(place);
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

/* Rights in a fresh tmpfs do not extend to host files that are mounted in it, or in its stead. */
static unsigned find_limit(const struct place *place)
{
	const struct mark *winner = place->base ? place->base->winner : NULL;
	unsigned own = RIGHTS_SEEN & ~(unsigned)RIGHTS_FILES;

	if (!winner || winner->content != CONTENT_HOST || winner->source)
		return RIGHTS_SEEN;
	for (const struct place *at = place; at && at->base == place->base; at = at->parent)
		for (size_t i = 0; i < at->n_marks; i++)
			if (counts(at->marks[i]) && at->marks[i]->content != CONTENT_TMPFS)
				own |= at->marks[i]->rights;
	return own;
}

bool place_is_made(const struct place *place)
{
	const struct place *base = place->base;

	return is_made(place->winner) || (!place->winner && base && is_made(base->winner));
}

/* A denial removes single rights of a fresh tmpfs or /proc; a device or link is either there or
 * not. */
static unsigned find_made(struct planner *planner, const struct place *place)
{
	const struct asked_path asked = place_asked(place);
	const struct mark *winner = place->winner ? place->winner : place->base->winner;
	bool is_whole = place->winner && winner->content != CONTENT_TMPFS;
	unsigned denied =
		decided_denied(planner, &asked,
			       RIGHT_READ | (is_whole ? 0 : winner->rights & RIGHTS_SEEN));

	return denied & RIGHT_READ ? 0 : winner->rights & ~denied;
}

/* Does a rule deny a device of sbx's own /dev by name, if only for writing? Its mount is read-only
 * in any case, but that does not prevent writing to a device. */
static bool is_denied_device(const struct place *place)
{
	if (!place->winner || place->winner->content != CONTENT_DEVICE)
		return false;
	for (size_t i = 0; i < place->n_marks; i++)
		if (place->marks[i]->kind == MARK_DENY && (place->marks[i]->rights & RIGHT_WRITE))
			return true;
	return false;
}

static unsigned find_rights(struct planner *planner, const struct place *place)
{
	const struct asked_path asked = place_asked(place);

	if (find_own_denial(place, RIGHT_READ))
		return 0;
	if (is_denied_device(place))
		return 0;
	if (place_is_made(place))
		return find_made(planner, place);
	return decided_rights(planner, &asked, find_limit(place)) | find_extra(planner, place);
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
	const char *verb = missing & RIGHTS_READ   ? "show"
			   : missing & RIGHT_WRITE ? "make writable"
						   : "execute";
	struct step_origin origin = { .text = NULL };
	const char *repository;

	(void)sbx_error_what(planner->err, -EACCES, "cannot %s '%.300s' for %s", verb, mark->path,
			     origin_text(&mark->origin));
	if (strlen(place->path) + strlen("/x") >= PATH_MAX) {
		/* Then no rule is asked. */
		error_explain(planner->err, "names below it would have paths of 4096 bytes",
			      "name a directory above it");
		return -EACCES;
	}
	if (place_find_denial(planner, place, missing, &origin))
		sbx_error_why(planner->err, "%s denies it, and a denial takes precedence",
			      origin_text(&origin));
	repository = guard_find_protected(planner, place->path, &origin);
	if (repository)
		error_fix_word(planner->err, "leave it out, or add --write ", repository,
			       ", which contains it");
	else
		sbx_error_fix(planner->err, "leave it out, or change the rule that denies it");
	return -EACCES;
}

/* An option or mount that asks for a right which the place does not get is an error. */
static int check_asked(struct planner *planner, const struct place *place)
{
	for (size_t i = 0; i < place->n_marks; i++) {
		const struct mark *mark = place->marks[i];
		unsigned wanted = mark->rights & RIGHTS_FILES ? RIGHTS_FILES : RIGHTS_SEEN;
		unsigned missing;

		if (mark->flags & MARK_RUN)
			wanted |= RIGHT_EXEC;
		missing = mark->rights & wanted & ~place->rights;
		if (counts(mark) && (mark->flags & MARK_ASKED) && missing &&
		    (!place->winner || is_same(mark, place->winner) ||
		     is_about(mark, place->winner)))
			return refuse_denied(planner, mark, place, missing);
	}
	return 0;
}

int place_find_rights(struct planner *planner, struct place *place)
{
	int r = find_winner(planner, place);

	if (r < 0)
		return r;
	place->base = begins_anew(place) ? place : place->parent ? place->parent->base : NULL;
	find_source(planner, place);
	place->rights = find_rights(planner, place);
	return check_asked(planner, place);
}
