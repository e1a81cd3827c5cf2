/* SPDX-License-Identifier: MIT */

/*
 * Marks of policy rules, and the order in which all kinds of marks are made
 *
 * This file does not interpret rules; their paths become places, about which the evaluator is
 * asked. The kernel cannot tell callers, states and tokens apart: an allow rule that depends on one
 * grants nothing, and a deny rule that depends on one always applies; notices say so. Rules that
 * warn or require review need the broker, which opens files on behalf of the command; they are
 * refused.
 *
 * Only a path, or a directory with all that is below it, can be mounted and named in a Landlock
 * rule. A glob is such a path if its only wildcard is a "**" at its end; every other glob is
 * refused by name.
 */

#include "plan/plan-internal.h"

#include <limits.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "policy/enforcement.h"
#include "policy/glob.h"
#include "policy/view.h"

/* ---- the paths of one condition ---- */

/* "/" stands for these directories: the sandbox has its own /dev, /proc, /run, /sys and /tmp. */
static const char *const top_directories[] = {
	"/bin", "/etc", "/home", "/lib",  "/lib32", "/lib64", "/libx32", "/media",
	"/mnt", "/opt", "/root", "/sbin", "/srv",   "/usr",   "/var",
};

/* "/" also stands for the command's working directory, wherever it is. */
static void mark_project(struct planner *planner, unsigned rights, unsigned flags,
			 struct step_origin origin)
{
	const char *project = planner->request->project;

	for (size_t i = 0; i < N_ELEMENTS(top_directories); i++)
		if (path_is_at_or_below(project, top_directories[i]))
			return;
	if (strcmp(project, "/") == 0 || path_is_at_or_below(project, "/proc") ||
	    path_is_at_or_below(project, "/dev") || path_is_at_or_below(project, "/sys"))
		return;
	planner_add_mark(planner, MARK_ALLOW, planner_keep(planner, project), rights, origin)
		->flags = flags & (MARK_RULED | MARK_PROJECT);
}

void mark_everything(struct planner *planner, unsigned rights, unsigned flags,
		     struct step_origin origin)
{
	if (rights & RIGHT_EXEC) {
		struct mark *mark = planner_add_mark(planner, MARK_ALLOW, "/", RIGHT_EXEC, origin);

		mark->flags = MARK_OURS | (flags & (MARK_RULED | MARK_PROJECT));
	}
	if (!(rights & RIGHTS_FILES))
		return;
	for (size_t i = 0; i < N_ELEMENTS(top_directories); i++) {
		struct mark *mark =
			planner_add_mark(planner, MARK_ALLOW, top_directories[i], rights, origin);

		mark->flags = flags | MARK_OPTIONAL;
	}
	mark_project(planner, rights, flags, origin);
	planner_note(
		planner,
		planner_format(planner, "'/' of %s is shown as its usual directories",
			       origin_text(&origin)),
		"the sandbox has its own /proc, /dev, /tmp and /run; name other directories one by one");
}

static const char *path_of(struct planner *planner, const struct glob *glob)
{
	const char *root = glob->absolute ? "/" : planner->request->project;

	text_reset(&planner->memory.text);
	if (strcmp(root, "/") != 0 || glob->n_components == 0)
		text_add(&planner->memory.text, root);
	for (size_t i = 0; i < glob->n_components; i++) {
		text_add_char(&planner->memory.text, '/');
		text_add_bytes(&planner->memory.text, glob->components[i].text,
			       glob->components[i].len);
	}
	return planner_take_text(planner);
}

static void mark_path(struct planner *planner, const char *path, enum mark_kind kind,
		      unsigned rights, unsigned flags, struct step_origin origin)
{
	struct mark *mark;

	if (kind == MARK_ALLOW && strcmp(path, "/") == 0) {
		mark_everything(planner, rights, MARK_RULED, origin);
		return;
	}
	mark = planner_add_mark(planner, kind, path, rights, origin);
	mark->flags = flags | MARK_RULED;
	if (kind == MARK_ALLOW && view_is_private(path))
		mark_as_tmpfs(planner, mark, 0);
}

static int mark_values(struct planner *planner, const struct condition *condition,
		       enum mark_kind kind, unsigned rights, struct step_origin origin)
{
	const struct match_list *list = &condition->lists[MATCH_PATH];
	struct glob glob;

	if (!list->present) {
		mark_path(planner, "/", kind, rights, 0, origin);
		return 0;
	}
	for (size_t i = 0; i < list->n_values; i++) {
		const struct match_value *value = &list->values[i];
		int r = glob_parse(value->text, value->literal, &glob, planner->err);

		if (r < 0)
			return r;

		enum mark_kind own = glob.excludes ? MARK_EXCEPT : kind;
		bool is_alone = !glob.subtree && !value->literal;

		/* A glob that names a directory without its content cannot be enforced: drop it. */
		mark_path(planner, path_of(planner, &glob), own, rights,
			  is_alone && own == MARK_ALLOW ? MARK_ALONE : 0, origin);
	}
	return 0;
}

/* ---- the rules ---- */

/* The first key of the condition that the kernel cannot check, or NULL. */
static const char *find_unseen(const struct condition *condition)
{
	enum match_key key = condition_unseen_key(condition);

	return key == N_MATCH_KEYS ? NULL : match_key_name(key);
}

static const char *find_unmet(const struct planner *planner, const struct rule *rule)
{
	const char *level = policy_sandbox_level(planner->policy);

	return unmet_constraint_name(constraints_unmet(&rule->constraints, level));
}

static void note_unseen(struct planner *planner, const struct step_origin *origin,
			enum policy_action action, const char *unseen)
{
	planner_note(planner,
		     planner_format(planner,
				    action == POLICY_ALLOW ? "%s grants nothing here"
							   : "%s always applies here",
				    origin_text(origin)),
		     planner_format(planner, "the kernel does not know a request's %s", unseen));
}

static int mark_exception(struct planner *planner, const struct rule *rule,
			  const struct condition *exception, unsigned rights,
			  struct step_origin origin)
{
	const char *unseen = find_unseen(exception);

	if (exception->operations)
		rights &= rights_of(exception->operations);
	if (rights == 0 || !condition_can_hold_for_files(exception))
		return 0;
	if (unseen)
		note_unseen(planner, &origin, rule->action, unseen);
	if (!exception->lists[MATCH_PATH].present)
		return 0;
	return mark_values(planner, exception, MARK_EXCEPT, rights, origin);
}

/* RLIMIT_FSIZE applies to a process, not a directory: so the smallest bound applies to all
 * files. */
static void bound_files(struct planner *planner, const struct rule *rule, unsigned rights,
			const struct step_origin *origin)
{
	uint64_t size = rule->constraints.max_file_size_bytes;

	if (!(rights & RIGHT_WRITE) || size == UINT64_MAX)
		return;
	if (size < planner->ruled.file_size_max) {
		planner->ruled.file_size_max = size;
		planner->ruled.file_size_origin = *origin;
	}
	planner_note(planner,
		     planner_format(planner, "the file size limit of %s applies to all files",
				    origin_text(origin)),
		     "the kernel limits the file size per process, not per directory");
}

static int mark_rule(struct planner *planner, const struct rule *rule)
{
	unsigned rights = rights_of(rule->match.operations);
	enum mark_kind kind = rule->action == POLICY_DENY ? MARK_DENY : MARK_ALLOW;
	struct step_origin origin = origin_of_rule(planner, rule);
	const char *unseen = find_unseen(&rule->match);

	if (!unseen && kind == MARK_ALLOW)
		unseen = find_unmet(planner, rule);
	if (unseen)
		note_unseen(planner, &origin, rule->action, unseen);
	if (kind == MARK_ALLOW && (rights & RIGHT_EXEC))
		planner->ruled.has_exec = true;
	for (size_t i = 0; i < rule->n_exceptions; i++) {
		int r = mark_exception(planner, rule, &rule->exceptions[i], rights, origin);

		if (r < 0)
			return r;
	}
	/* Add a mark without rights: a denial at this path is then reported by name. */
	if (unseen && kind == MARK_ALLOW)
		return mark_values(planner, &rule->match, MARK_EXCEPT, 0, origin);
	if (kind == MARK_ALLOW)
		bound_files(planner, rule, rights, &origin);
	return mark_values(planner, &rule->match, kind, rights, origin);
}

/* The policy's default answers, treated like a rule about "/". */
static int mark_defaults(struct planner *planner)
{
	static const struct {
		enum operation_class kind;
		unsigned rights;
	} defaults[] = {
		{ CLASS_FS, RIGHTS_FILES },
		{ CLASS_EXEC, RIGHT_EXEC },
	};

	for (size_t i = 0; i < N_ELEMENTS(defaults); i++) {
		enum policy_action action = planner->policy->defaults[defaults[i].kind];
		const char *name = operation_class_name(defaults[i].kind);
		struct step_origin origin = { .kind = ORIGIN_RULE };
		const struct rule_enforcement enforcement =
			default_enforcement(planner->policy, defaults[i].kind);

		if (enforcement.state == ENFORCEMENT_REFUSED)
			return enforcement_refuse(planner->policy, &enforcement, planner->err);
		if (action != POLICY_ALLOW)
			continue;
		origin.text = planner_format(planner, "%s 'defaults.%s'",
					     planner->policy->sources[0].name, name);
		mark_everything(planner, defaults[i].rights, MARK_RULED, origin);
	}
	return 0;
}

/* A policy replaces the built-in view, which its author may not expect. */
static void warn_of_no_rules(struct planner *planner)
{
	const struct policy *policy = planner->policy;

	if (!policy_shows_no_files(policy) || planner->request->n_paths > 0)
		return;
	planner_advise(planner,
		       planner_format(planner, "the policy '%s' grants no files: it has no rules",
				      policy->sources[0].name),
		       "with a policy the command sees only what its rules allow",
		       "add rules, see sbx-policy(5), or leave it out");
}

static int mark_rules(struct planner *planner)
{
	const struct policy *policy = planner->policy;
	int r;

	if (!policy)
		return 0;
	warn_of_no_rules(planner);
	r = mark_defaults(planner);
	for (size_t i = 0; i < policy->n_rules && r == 0; i++) {
		const struct rule *rule = &policy->rules[i];
		struct rule_enforcement enforcement;

		if (rule->action == POLICY_PASS || rights_of(rule->match.operations) == 0 ||
		    !condition_can_hold_for_files(&rule->match))
			continue;
		enforcement = rule_file_enforcement(policy, rule);
		if (enforcement.state == ENFORCEMENT_REFUSED)
			return enforcement_refuse(policy, &enforcement, planner->err);
		/* A right in a narrowing file counts only if other files grant it, too. */
		if (rule->action == POLICY_ALLOW && policy->sources[rule->place.source].narrows)
			continue;
		r = mark_rule(planner, rule);
	}
	return r;
}

/* ---- symbolic links of the host, created again inside if a marked path leads through them ---- */

/* Moves the next component from @rest to the end of @done, where ".." removes the last one; false
 * at the end, or if it is too long. */
static bool step(char done[static PATH_MAX], char rest[static PATH_MAX])
{
	const char *at = rest + strspn(rest, "/");
	size_t n = strcspn(at, "/"), len = strlen(done);

	if (n == 0 || len + n + 2 > PATH_MAX)
		return false;
	if (n == 2 && memcmp(at, "..", n) == 0) {
		done[len > 0 ? (size_t)(strrchr(done, '/') - done) : 0] = '\0';
	} else if (n != 1 || *at != '.') {
		done[len] = '/';
		memcpy(done + len + 1, at, n);
		done[len + 1 + n] = '\0';
	}
	memmove(rest, at + n, strlen(at + n) + 1);
	return true;
}

/* Puts the content of the link at the end of @done before @rest. */
static bool follow(const struct host_link *link, char done[static PATH_MAX],
		   char rest[static PATH_MAX])
{
	size_t n = strlen(link->target), n_rest = strlen(rest);

	if (n + 1 + n_rest >= PATH_MAX)
		return false;
	memmove(rest + n + 1, rest, n_rest + 1);
	memcpy(rest, link->target, n);
	rest[n] = '/';
	done[link->target[0] == '/' ? 0 : (size_t)(strrchr(done, '/') - done)] = '\0';
	return true;
}

/* The number of the link at @path, or with @is_above of one at or above it; n_links if there is
 * none. */
static size_t find_link(const struct host *host, const char *path, bool is_above)
{
	size_t i = 0;

	while (i < host->n_links && !(is_above ? path_is_at_or_below(path, host->links[i].path)
					       : strcmp(path, host->links[i].path) == 0))
		i++;
	return i;
}

#define LINKS_MAX 40 /* in one path, as in the kernel */

void mark_find_links(const struct host *host, const char *path, bool with_first,
		     bool *is_on_the_way)
{
	char done[PATH_MAX] = "", rest[PATH_MAX];
	size_t len = strlen(path), n = 0;

	if (len >= sizeof(rest) || find_link(host, path, true) == host->n_links)
		return;
	memcpy(rest, path, len + 1);
	while (step(done, rest)) {
		size_t i = find_link(host, done, false);

		if (i == host->n_links)
			continue;
		is_on_the_way[i] |= n > 0 || with_first;
		if (++n > LINKS_MAX || !follow(&host->links[i], done, rest))
			return;
	}
}

bool mark_link_is_hidden(const struct planner *planner, const char *path)
{
	for (size_t i = 0; i < planner->view.marks.n_rows; i++) {
		const struct mark *mount = mark_at(planner, i);

		if (mark_is_mount(mount) &&
		    path_is_at_or_below(path, planner_real_target(planner, mount->path)))
			return true;
	}
	return false;
}

void mark_links(struct planner *planner)
{
	const struct host *host = planner->host;
	bool *is_on_the_way = planner_alloc(planner, (host->n_links + 1) * sizeof(*is_on_the_way));
	size_t n = planner->view.marks.n_rows;

	for (size_t i = 0; is_on_the_way && i < n && host->n_links > 0; i++) {
		const struct mark *mark = mark_at(planner, i);
		bool is_named = !(mark->flags & MARK_OURS) && (mark->rights & RIGHTS_SEEN);

		/* Of a program that is only started, the first link is in a directory that is
		 * shown. */
		if (mark->kind == MARK_ALLOW && !mark->source)
			mark_find_links(host, mark->path, is_named, is_on_the_way);
	}
	for (size_t i = 0; is_on_the_way && i < host->n_links; i++)
		if (is_on_the_way[i] && !mark_link_is_hidden(planner, host->links[i].path))
			mark_link(planner, host->links[i].path, host->links[i].target);
}

/* ---- all marks, in the order of their dependencies ---- */

/* Is the mark a rule's denial or exception for a path outside? Exceptions for credentials belong to
 * their grant. */
static bool is_about_host(const struct mark *mark)
{
	return (mark->kind == MARK_DENY ||
		(mark->kind == MARK_EXCEPT && !(mark->flags & MARK_OURS))) &&
	       strcmp(mark->path, "/") != 0;
}

/* A path that is denied outside is denied wherever a mount shows it, except for its exceptions. */
static void deny_where_shown(struct planner *planner)
{
	size_t n = planner->view.marks.n_rows;

	for (size_t i = 0; i < n; i++) {
		const struct mark *shown = mark_at(planner, i);

		if (shown->kind != MARK_ALLOW || !shown->source)
			continue;
		for (size_t k = 0; k < n; k++) {
			const struct mark *denied = mark_at(planner, k);
			const char *path = shown->path;

			if (!is_about_host(denied))
				continue;
			if (path_is_at_or_below(denied->path, shown->source))
				path = planner_rebase(planner, denied->path, shown->source, path);
			else if (!path_is_at_or_below(shown->source, denied->path))
				continue;
			planner_add_mark(planner, denied->kind, path, denied->rights,
					 denied->origin)
				->flags = MARK_RULED | (denied->flags & MARK_GUARD);
		}
	}
}

int mark_all(struct planner *planner)
{
	static planner_part *const parts[] = {
		mark_rules,   mark_requested, mark_mounts, mark_secrets,
		mark_sockets, mark_devices,   NULL,
	};
	int r = planner_run(planner, parts);

	if (r < 0)
		return r;
	mark_system(planner);
	mark_home(planner);
	r = mark_credentials(planner);
	if (r < 0)
		return r;
	mark_read_only(planner);
	deny_where_shown(planner);
	r = mark_git(planner);
	if (r < 0)
		return r;
	mark_guarded(planner);
	return planner_status(planner);
}
