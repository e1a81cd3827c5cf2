/* SPDX-License-Identifier: MIT */

/*
 * What the evaluator has decided about a path
 *
 * The planner reads no rules. It composes them once, with everything that options and built-in
 * protections add, compiles that, and asks policy_decide() about each path. The kernel knows
 * neither callers nor states, so the worst case is composed (policy/compose.h).
 *
 * Rights at a directory are rights at everything below it that no place of its own speaks of. So it
 * is asked about twice: by its own name, and by a name below it that nobody has written.
 */

#include "plan/plan-internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "policy/artefact.h"
#include "policy/compile.h"
#include "policy/compose.h"
#include "policy/decide.h"

/* A name made of this byte stands for every name that no rule and no option names. */
#define FRESH_BYTE '\x01'

struct decided {
	const struct policy *policy; /* composed */
	struct step_origin *origins; /* of the rules that were added, from n_original on */
	size_t n_original;
	size_t n_origins;
	void *block;
	struct artefact artefact;
	struct policy_engine *engine;
	const char *fresh; /* a name below a directory that nothing in the policy names */
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
	if (!decided)
		return;
	decided->engine = policy_engine_free(decided->engine);
	free(decided->block);
}

/* What sbx makes itself (devices, links, /proc, copies) no rule is about. */
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

	if (mark->kind == MARK_DENY)
		(void)compose_deny(composer, &path);
	else if (mark->source)
		(void)compose_cover(composer, &path);
	else if (mark->content == CONTENT_COPY)
		(void)compose_grant(composer, &path);
	else if (mark->content == CONTENT_TMPFS)
		(void)compose_tmpfs(composer, &path);
	else
		(void)compose_show(composer, &path);
}

static void add_marks(struct planner *planner, struct decided *decided, struct composer *composer)
{
	struct mark *const *marks = planner->marks.rows;
	size_t n = planner->marks.n_rows;

	decided->n_original = composer->policy.n_rules;
	decided->origins = arena_alloc(planner->scratch, n * sizeof(*decided->origins));
	planner->no_memory |= !decided->origins;
	for (size_t i = 0; decided->origins && i < n; i++) {
		if (!adds_rule(marks[i]))
			continue;
		add_mark(composer, marks[i]);
		decided->origins[decided->n_origins++] = marks[i]->origin;
	}
}

static const char *resolve(void *context, const char *path)
{
	struct planner *planner = context;
	const struct host_path *facts = host_find_path(planner->host, path);

	return facts && facts->real && facts->kind != HOST_LINK_REFUSED ? facts->real : path;
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

/* An attacker may have written any name into the policy, and options may name any file: so it is
 * longer than every run of its byte in them. */
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

/* What the view's rule about the project does not include: one rule, of which several marks may be.
 */
static struct list project_excepts(struct planner *planner)
{
	struct list all = { .rows = NULL };

	for (size_t i = 0; i < planner->marks.n_rows; i++) {
		const struct mark *mark = ((struct mark **)planner->marks.rows)[i];
		const struct composed_except *rows = mark->excepts.rows;

		for (size_t k = 0; (mark->flags & MARK_PROJECT) && k < mark->excepts.n_rows; k++)
			*(struct composed_except *)list_add(planner, &all, sizeof(*rows)) = rows[k];
	}
	return all;
}

static int compose(struct planner *planner, struct decided *decided)
{
	const struct list excepts = project_excepts(planner);
	const struct composition with = {
		.project = planner->request->project,
		.is_worst_case = true,
		.level = planner->is_nested ? "L1" : "L2",
		.home = planner->home,
		.is_limiting_exec = is_limiting_exec(planner),
		.resolve = resolve,
		.context = planner,
		.excepts = excepts.rows,
		.n_excepts = excepts.n_rows,
	};
	struct composer composer;

	compose_begin(&composer, planner->policy, &with, planner->scratch);
	add_marks(planner, decided, &composer);
	return compose_finish(&composer, &decided->policy);
}

int decide_all(struct planner *planner)
{
	struct decided *decided = arena_alloc(planner->scratch, sizeof(*decided));
	size_t n_bytes;
	int r;

	planner->no_memory |= !decided;
	if (!decided)
		return planner_status(planner);
	*decided = (struct decided){ .policy = NULL };
	planner->decided = decided;
	r = compose(planner, decided);
	if (r == 0)
		decided->fresh = find_fresh(planner, decided->policy);
	if (r == 0)
		r = policy_compile(decided->policy, &decided->block, &n_bytes, planner->err);
	if (r == 0)
		r = artefact_open(decided->block, n_bytes, &decided->artefact, planner->err);
	if (r == 0)
		r = policy_engine_new(&decided->artefact, &decided->engine);
	if (r == 0)
		policy_engine_guard(decided->engine, planner->request->guarded);
	planner->no_memory |= r == -ENOMEM;
	return planner_status(planner) < 0 ? -ENOMEM : r;
}

static void ask(const struct planner *planner, const char *operation, const char *path,
		struct policy_decision *ret)
{
	/* A resource limit enforces the size; the level is that of a sandbox, or the outer one. */
	const struct policy_request request = {
		.operation = operation,
		.path = path,
		.project_root = planner->request->project,
		.sandbox = planner->is_nested ? "L1" : "L2",
		.has_size = true,
	};

	policy_decide(planner->decided->engine, &request, ret);
}

enum answer {
	ANSWER_YES,
	ANSWER_NO,     /* nothing allows it */
	ANSWER_DENIED, /* something denies it */
};

static enum answer answer_of(const struct policy_decision *decision)
{
	if (decision->verdict == POLICY_ALLOW || decision->verdict == POLICY_WARN)
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

/* A mount denies what is around it by the name inside; outside that name is another file. */
static bool is_denied_outside(const struct planner *planner, const struct policy_decision *decision)
{
	const struct decided *decided = planner->decided;

	return answer_of(decision) == ANSWER_DENIED &&
	       (decision->cause != CAUSE_RULES ||
		decision->rules[0] < decided->n_original + decided->n_origins);
}

/* The names by which a path is asked about: its own, and one below it. */
struct names {
	const char *inside[2];
	const char *outside[2];
	size_t n;
	bool is_missing; /* to make it is done to its own name */
};

static struct names names_of(struct planner *planner, const struct asked_path *asked)
{
	struct names names = {
		.inside = { asked->path },
		.outside = { asked->source },
		.n = asked->kind == HOST_FOLDER || asked->kind == HOST_MISSING ? 2 : 1,
		.is_missing = asked->kind == HOST_MISSING,
	};

	if (names.n == 2)
		names.inside[1] = planner_join(planner, asked->path, planner->decided->fresh);
	if (names.n == 2 && asked->source)
		names.outside[1] = planner_join(planner, asked->source, planner->decided->fresh);
	return names;
}

/* What a directory itself may be does not matter for what is below it, unless it is denied. */
static bool is_allowed(const struct planner *planner, const struct names *names, size_t row)
{
	const char *operation = operations[row].operation;
	enum answer own = answer(planner, operation, names->inside[0]);
	bool is_allowed = own == ANSWER_YES;

	if (names->n == 2) {
		enum answer below = answer(planner, operation, names->inside[1]);

		is_allowed = below == ANSWER_YES && own != ANSWER_DENIED &&
			     (own == ANSWER_YES ||
			      (!names->is_missing && operations[row].right != RIGHT_LIST));
	}
	for (size_t i = 0; is_allowed && names->outside[0] && i < names->n; i++) {
		struct policy_decision decision;

		ask(planner, operation, names->outside[i], &decision);
		is_allowed = !is_denied_outside(planner, &decision);
	}
	return is_allowed;
}

unsigned decided_rights(struct planner *planner, const struct asked_path *asked)
{
	struct names names = names_of(planner, asked);
	unsigned rights = 0;

	for (size_t i = 0; i < N_ELEMENTS(operations); i++)
		if (is_allowed(planner, &names, i))
			rights |= operations[i].right;
	return rights;
}

unsigned decided_denied(struct planner *planner, const struct asked_path *asked, unsigned rights)
{
	struct step_origin origin;
	unsigned denied = 0;

	for (size_t i = 0; i < N_ELEMENTS(operations); i++)
		if ((rights & operations[i].right) &&
		    decided_denial(planner, asked, operations[i].right, &origin))
			denied |= operations[i].right;
	return denied;
}

unsigned decided_anywhere(struct planner *planner, const struct asked_path *asked)
{
	struct names names = names_of(planner, asked);
	unsigned rights = 0;

	for (size_t i = 0; i < N_ELEMENTS(operations); i++)
		for (size_t k = 0; k < names.n; k++) {
			const struct names one = { .inside = { names.inside[k] },
						   .outside = { names.outside[k] },
						   .n = 1 };

			/* Reading and writing is done to what is in a directory. */
			if ((names.n == 1 || k == 1 || operations[i].right == RIGHT_LIST) &&
			    is_allowed(planner, &one, i))
				rights |= operations[i].right;
		}
	return rights;
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

/* The denial at one of the names, or false. */
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

	(void)sbx_error_what(planner->err, -EACCES, "cannot %s port %u of the host's loopback",
			     port->bind ? "listen on" : "connect to", port->port);
	sbx_error_why(planner->err, "%s denies it, and a denial takes precedence",
		      origin_text(&origin));
	sbx_error_fix(planner->err, "leave out the port, or change the rule that denies it");
	return -EACCES;
}

/* A mode is what an option chooses; a rule of a file that denies goes before the option. */
int decide_ports(struct planner *planner)
{
	const struct request_port *ports = planner->ports.rows;
	size_t n_rules = planner->policy ? planner->policy->n_rules : 0;

	for (size_t i = 0; i < planner->ports.n_rows; i++) {
		const struct policy_request request = {
			.operation = ports[i].bind ? "net.bind" : "net.connect",
			.project_root = planner->request->project,
			.host = "127.0.0.1",
			.port = ports[i].port,
			.has_port = true,
		};
		struct policy_decision decision;

		policy_decide(planner->decided->engine, &request, &decision);
		if (answer_of(&decision) == ANSWER_DENIED && decision.cause == CAUSE_RULES &&
		    decision.rules[0] < n_rules)
			return refuse_port(planner, &ports[i], &decision);
	}
	return 0;
}
