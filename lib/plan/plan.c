/* SPDX-License-Identifier: MIT */

/*
 * plan_build(): every part chooses or marks something, then the steps are written
 *
 * Choosing comes first and may fail with a reason. Steps are then written in the order of enum
 * step_kind, so nothing has to be sorted but the file tree, which the view already sorts.
 *
 * Lack of memory is checked in one place. A function that adds a row returns one to fill in, and a
 * spare one after the first failure, so that its callers need not check; planner_status() is called
 * before a plan is returned, and the plan is discarded then.
 */

#include "plan/plan-internal.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "policy/decide.h"
#include "policy/enforcement.h"
#include "policy/guarded.h"
#include "policy/view.h"

/* ---- shared by all parts: memory, lists, messages, and the answers of policy and host ---- */

static void *spare_row(struct planner *planner)
{
	planner->memory.is_exhausted = true;
	memset(planner->memory.spare, 0, sizeof(planner->memory.spare));
	return planner->memory.spare;
}

void *list_add(struct planner *planner, struct arena_rows *list, size_t row_size)
{
	void *row = arena_add_row(planner->memory.arena, list, row_size);

	return row ? row : spare_row(planner);
}

void list_add_path(struct planner *planner, struct arena_rows *list, const char *path)
{
	*(const char **)list_add(planner, list, sizeof(path)) = path;
}

/* NULL if out of memory: for arrays, whose callers check. */
void *planner_alloc(struct planner *planner, size_t n_bytes)
{
	void *bytes = arena_alloc(planner->memory.arena, n_bytes);

	planner->memory.is_exhausted |= !bytes;
	return bytes;
}

const char *planner_keep_bytes(struct planner *planner, const char *bytes, size_t n_bytes)
{
	char *copy = arena_copy(planner->memory.arena, bytes, n_bytes);

	planner->memory.is_exhausted |= !copy;
	return copy ? copy : "";
}

const char *planner_keep(struct planner *planner, const char *string)
{
	return planner_keep_bytes(planner, string, strlen(string));
}

const char *planner_format(struct planner *planner, const char *format, ...)
{
	va_list args;

	text_reset(&planner->memory.text);
	va_start(args, format);
	text_addv(&planner->memory.text, format, args);
	va_end(args);
	return planner_take_text(planner);
}

const char *planner_word(struct planner *planner, const char *string)
{
	text_reset(&planner->memory.text);
	error_add_word(&planner->memory.text, string);
	return planner_take_text(planner);
}

const char *planner_join(struct planner *planner, const char *directory, const char *rest)
{
	size_t n_directory = strcmp(directory, "/") == 0 ? 0 : strlen(directory),
	       n_rest = strlen(rest);
	char *joined;

	if (n_rest == 0)
		return directory;
	joined = planner_alloc(planner, n_directory + n_rest + 2);
	if (!joined)
		return "";
	memcpy(joined, directory, n_directory);
	joined[n_directory] = '/';
	memcpy(joined + n_directory + 1, rest, n_rest + 1);
	return joined;
}

const char *planner_rebase(struct planner *planner, const char *path, const char *from,
			   const char *to)
{
	const char *rest = path + strlen(from);

	return planner_join(planner, to, rest + (*rest == '/'));
}

struct step *planner_add_step(struct planner *planner, enum step_kind kind,
			      struct step_origin origin)
{
	struct step *step = list_add(planner, &planner->steps, sizeof(*step));

	step->kind = kind;
	step->origin = origin;
	return step;
}

struct mark *planner_add_mark(struct planner *planner, enum mark_kind kind, const char *path,
			      unsigned rights, struct step_origin origin)
{
	struct mark **row = list_add(planner, &planner->view.marks, sizeof(*row));
	struct mark *mark = arena_alloc(planner->memory.scratch, sizeof(*mark));

	if (!mark)
		mark = spare_row(planner);
	*mark = (struct mark){ .path = path, .kind = kind, .rights = rights, .origin = origin };
	*row = mark;
	return mark;
}

struct plan_notice *planner_advise(struct planner *planner, const char *what, const char *why,
				   const char *fix)
{
	struct plan_notice *notice = list_add(planner, &planner->notices, sizeof(*notice));

	*notice = (struct plan_notice){ .what = what, .why = why, .fix = fix };
	return notice;
}

struct plan_notice *planner_note(struct planner *planner, const char *what, const char *why)
{
	return planner_advise(planner, what, why, NULL);
}

const char *planner_take_text(struct planner *planner)
{
	planner->memory.is_exhausted |= text_status(&planner->memory.text) < 0;
	return planner_keep(planner, text_string(&planner->memory.text));
}

int planner_status(struct planner *planner)
{
	int r;

	if (!planner->memory.is_exhausted)
		return 0;
	r = sbx_error_what(planner->err, -ENOMEM, "no memory for the plan");
	sbx_error_fix(planner->err, "free memory, or raise its limit (ulimit -v)");
	return r;
}

int planner_run(struct planner *planner, planner_part *const parts[])
{
	for (size_t i = 0; parts[i]; i++) {
		int r = parts[i](planner);

		if (r < 0)
			return r;
	}
	return 0;
}

int planner_refuse(struct planner *planner, int code, const char *what, const char *why,
		   const char *fix)
{
	return error_fill(planner->err, code, why, fix, "%s", what);
}

const char *planner_project_path(struct planner *planner, const char *path)
{
	const char *outside =
		view_setting_path(path, planner->request->project, planner->memory.scratch);

	planner->memory.is_exhausted |= !outside;
	return planner_keep(planner, outside ? outside : "");
}

static const struct host_path *assume(struct planner *planner, const char *path,
				      enum host_path_kind kind)
{
	const struct host_path *project = host_find_path(planner->host, planner->request->project);
	struct host_path *facts = arena_alloc(planner->memory.scratch, sizeof(*facts));

	planner->memory.is_exhausted |= !facts;
	if (!facts)
		return NULL;
	*facts = (struct host_path){
		.path = path,
		.real = path,
		.kind = kind,
		.uid = project ? project->uid : planner->host->uid,
		.gid = project ? project->gid : planner->host->gid,
	};
	return facts;
}

/* Directories that the caller creates before a start, but not for a plan that is only printed. */
static bool is_to_be_made(const struct planner *planner, const char *path)
{
	const struct guarded_list *list = planner->request->guarded;

	for (size_t i = 0; list && i < list->n_rows; i++)
		if (list->rows[i].may_be_made && strcmp(list->rows[i].path, path) == 0)
			return true;
	return false;
}

const struct host_path *planner_facts(struct planner *planner, const char *path)
{
	const struct host_path *facts = host_find_path(planner->host, path);

	if (facts && facts->kind == HOST_MISSING && is_to_be_made(planner, path))
		facts = assume(planner, facts->real, HOST_DIRECTORY);
	if (!facts && planner->host->loader && strcmp(path, planner->host->loader) == 0)
		facts = assume(planner, path, HOST_FILE);
	for (size_t i = 0; !facts && i < planner->host->n_repository; i++)
		if (strcmp(planner->host->repository[i].path, path) == 0)
			facts = &planner->host->repository[i];
	if (!facts && planner->host->git_common && strcmp(planner->host->git_common, path) == 0)
		facts = assume(planner, path, HOST_DIRECTORY);
	return facts;
}

/* ---- the text of a step's origin ---- */

const struct step_origin origin_built_in = { .kind = ORIGIN_BUILT_IN, .text = NULL };

const struct step_origin origin_default = { .kind = ORIGIN_BUILT_IN, .text = "default" };

static const char *place_of(struct planner *planner, struct policy_place place, const char *name)
{
	const struct policy_source *source = &planner->policy->sources[place.source];

	return planner_format(planner, "%s:%u '%s'", source->name, place.at.line, name);
}

struct step_origin origin_of_rule(struct planner *planner, const struct rule *rule)
{
	if (rule->place.at.line == 0)
		return (struct step_origin){ .kind = ORIGIN_BUILT_IN, .text = rule->name };
	return (struct step_origin){ .kind = ORIGIN_RULE,
				     .text = place_of(planner, rule->place, rule->name) };
}

struct step_origin origin_of_setting(struct planner *planner, const struct setting *setting)
{
	return (struct step_origin){ .kind = ORIGIN_RULE,
				     .text = place_of(planner, setting->place, setting->path) };
}

struct step_origin origin_of_option(struct planner *planner, const char *option)
{
	return (struct step_origin){ .kind = ORIGIN_ARGUMENT,
				     .text = planner_keep(planner, option) };
}

const char *origin_text(const struct step_origin *origin)
{
	return origin->text ? origin->text : "the built-in rules";
}

/*
 * May 'sbx-ctl exec' enter? --debug asks for it, and the policy decides about container.run in the
 * mode debug. A verdict of review counts as deny: while the sandbox runs, no user is asked.
 */

/* Denies if the policy cannot be compiled. */
static enum policy_action judge(const struct policy *policy)
{
	static const struct policy_request request = { .operation = "container.run",
						       .mode = "debug" };
	_cleanup_engine_ struct policy_engine *engine = NULL;
	struct policy_decision decision;

	if (policy_engine_compile(policy, NULL, &engine, NULL) < 0)
		return POLICY_DENY;
	policy_decide(engine, &request, &decision);
	return decision.verdict;
}

static bool may_enter(struct planner *planner)
{
	enum policy_action verdict;

	if (!planner->request->debug)
		return false;
	if (!planner->policy)
		return true;
	verdict = judge(planner->policy);
	if (policy_permits(verdict))
		return true;
	planner_note(
		planner, "'sbx-ctl exec' is refused in spite of --debug",
		verdict == POLICY_REVIEW
			? "the policy requires a review of container.run in the mode debug, which is a refusal while a sandbox runs; to allow it: {match: {op: container.run, mode: debug}, action: allow}"
			: "the policy denies container.run in the mode debug");
	return false;
}

/* ---- the build ---- */

struct plan *plan_free(struct plan *plan)
{
	struct arena arena;

	if (!plan)
		return NULL;
	/* The plan itself is allocated in its arena. */
	arena = plan->arena;
	arena_deinit(&arena);
	return NULL;
}

static const char *hostname_of(const struct planner *planner)
{
	const char *name = policy_get_text(planner->policy, "hostname");

	if (planner->request->hostname)
		return planner->request->hostname;
	return name ? name : "sandbox";
}

static struct step_origin origin_of_hostname(struct planner *planner)
{
	const struct setting *setting = policy_get_setting(planner->policy, "hostname");

	if (planner->request->hostname)
		return origin_of_option(planner, "--hostname");
	return setting ? origin_of_setting(planner, setting) : origin_built_in;
}

static int check_hostname(struct planner *planner)
{
	struct rule_enforcement enforcement = { .state = ENFORCEMENT_HELD };

	if (planner->policy && !planner->request->hostname)
		enforcement = hostname_enforcement(planner->policy);
	if (enforcement.state == ENFORCEMENT_REFUSED)
		return enforcement_refuse(planner->policy, &enforcement, planner->err);
	if (hostname_of(planner)[0] == '\0')
		return planner_refuse(planner, -EINVAL, "cannot use the host name ''",
				      "it is empty",
				      "name one: --hostname, or 'hostname' in the policy");
	if (strlen(hostname_of(planner)) > HOST_NAME_MAX)
		return planner_refuse(planner, -EINVAL, "cannot use the host name",
				      "it is longer than 64 bytes",
				      "shorten it: --hostname, or 'hostname' in the policy");
	return 0;
}

static int check_request(struct planner *planner)
{
	const struct spawn_request *request = planner->request;

	if (!request->argv || !request->argv[0] || !request->project || !request->id)
		return planner_refuse(planner, -EINVAL, "cannot plan without a command",
				      "a command, a project and an ID are needed",
				      "name the command");
	if (strchr(request->id, '/'))
		return planner_refuse(planner, -EINVAL, "not a valid name for a sandbox",
				      "it contains '/', and becomes the name of a directory",
				      "use letters, digits, '-', '_' and '.'");
	return check_hostname(planner);
}

static void copy_request(struct planner *planner)
{
	const struct spawn_request *request = planner->request;
	struct plan *plan = planner->plan;
	size_t n_words = 0;
	char **words;
	int *fds;

	while (request->argv[n_words])
		n_words++;
	words = planner_alloc(planner, (n_words + 1) * sizeof(*words));
	if (words)
		memcpy(words, request->argv, n_words * sizeof(*words));
	plan->argv = words;
	fds = planner_alloc(planner, request->n_fds * sizeof(*fds));
	if (fds && request->n_fds > 0)
		memcpy(fds, request->fds, request->n_fds * sizeof(*fds));
	plan->fds = fds;
	plan->n_fds = request->n_fds;
	plan->id = planner_keep(planner, request->id);
	if (request->policy)
		plan->policy = planner_keep(planner, request->policy);
	plan->may_exec = may_enter(planner);
	plan->dies_with_parent = request->dies_with_parent;
	plan->has_digest = planner->policy != NULL;
	if (planner->policy)
		memcpy(plan->digest, planner->policy->digest, sizeof(plan->digest));
}

static int choose(struct planner *planner)
{
	static planner_part *const choices[] = {
		check_request,	 choose_template, choose_tier,	  check_ptrace,
		choose_identity, choose_limits,	  choose_network, make_environment,
		mark_all,	 hold_limits,	  check_layers,	  NULL,
	};
	static planner_part *const decisions[] = {
		decide_all, check_nested, decide_ports, view_build, NULL,
	};
	int r = planner_run(planner, choices);

	if (r < 0)
		return r;
	mark_program(planner);
	if (planner->plan->tier == TIER_FULL)
		mark_links(planner);
	r = planner_run(planner, decisions);
	if (r < 0)
		return r;
	note_other_names(planner);
	note_ring(planner);
	note_missing_denials(planner);
	note_credentials(planner);
	note_lost_writes(planner);
	return 0;
}

static struct step_origin origin_of_uid(struct planner *planner)
{
	return planner->request->has_uid ? origin_of_option(planner, "--uid") : origin_built_in;
}

static int add_tree(struct planner *planner)
{
	struct step *step;
	int r;

	if (planner->plan->tier == TIER_REDUCED)
		return landlock_alone(planner);
	step = planner_add_step(planner, STEP_ID_MAP, origin_of_uid(planner));
	step->id_map = (struct step_ids){ planner->plan->uid, planner->plan->gid };
	planner_add_step(planner, STEP_ROOT, origin_built_in)->root.size_bytes =
		view_find_size(planner, ROOT_SIZE);
	planner_add_step(planner, STEP_PIVOT, origin_built_in);
	r = show_places(planner);
	if (r < 0)
		return r;
	add_accounts(planner);
	add_own_address(planner, hostname_of(planner));
	planner_add_step(planner, STEP_SEAL, origin_built_in)->seal.target = "/";
	planner_add_step(planner, STEP_HOSTNAME, origin_of_hostname(planner))->hostname.name =
		planner_keep(planner, hostname_of(planner));
	add_network(planner);
	return 0;
}

static void add_confinement(struct planner *planner)
{
	struct step *step;

	add_rlimits(planner);
	step = planner_add_step(planner, STEP_IDENTITY, origin_of_uid(planner));
	step->identity = (struct step_ids){ planner->plan->uid, planner->plan->gid };
	planner_add_step(planner, STEP_CAPABILITIES, origin_built_in);
	planner_add_step(planner, STEP_NO_NEW_PRIVILEGES, origin_built_in);
	add_landlock(planner);
	if (planner->request->pty)
		planner_add_step(planner, STEP_TERMINAL, origin_of_option(planner, "--pty"));
}

static int write_down(struct planner *planner)
{
	int r;

	add_cgroup(planner);
	add_namespaces(planner);
	r = add_tree(planner);
	if (r < 0)
		return r;
	add_confinement(planner);
	r = check_program(planner);
	if (r == 0)
		r = add_working_directory(planner);
	if (r < 0)
		return r;
	add_filter(planner);
	planner_add_step(planner, STEP_EXEC, origin_built_in);
	return 0;
}

static int build(struct planner *planner)
{
	struct plan *plan = planner->plan;
	int r = choose(planner);

	if (r == 0)
		r = write_down(planner);
	if (r < 0)
		return r;
	copy_request(planner);
	plan->environment = planner->chosen.environment;
	plan->net_mode = net_mode_name(planner->chosen.net_mode);
	plan->template = planner->chosen.template->name;
	plan->steps = planner->steps.rows;
	plan->n_steps = planner->steps.n_rows;
	/* Otherwise kernel_prepare() refuses the plan. */
	assert(steps_find_disorder(plan->steps, plan->n_steps) == plan->n_steps);
	r = compare_with_decisions(planner);
	if (r < 0)
		return r;
	plan->notices = planner->notices.rows;
	plan->n_notices = planner->notices.n_rows;
	return planner_status(planner);
}

int plan_build(const struct policy *policy, const struct spawn_request *request,
	       const struct host *host, struct plan **ret, struct sbx_error *err)
{
	struct arena first = ARENA_INIT, scratch = ARENA_INIT;
	_cleanup_plan_ struct plan *plan = arena_alloc(&first, sizeof(*plan));
	struct planner planner = {
		.policy = policy,
		.request = request,
		.host = host,
		.memory.scratch = &scratch,
		.err = err,
		.plan = plan,
		.ruled.file_size_max = UINT64_MAX,
	};
	int r;

	if (!plan) {
		planner.memory.is_exhausted = true;
		return planner_status(&planner);
	}
	plan->arena = first;
	planner.memory.arena = &plan->arena;
	r = build(&planner);
	decided_free(planner.decided);
	text_deinit(&planner.memory.text);
	arena_deinit(&scratch);
	if (r < 0)
		return r;
	*ret = take_ptr(plan);
	return 0;
}
