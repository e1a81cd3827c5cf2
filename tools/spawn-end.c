/* SPDX-License-Identifier: MIT */

/*
 * Messages after a run: why the command was ended, and which files need attention
 */

#include "spawn.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"
#include "base/units.h"
#include "kernel/probe.h"
#include "policy/model.h"
#include "tool.h"

#define GIT_FATAL 128

/* Looks at each writable directory again; a symbolic link in its place is not one. */
void spawn_find_repositories(struct spawn_run *run)
{
	const struct plan *plan = run->plan;
	const struct plan_top **found =
		arena_alloc(&run->arena, (plan->n_tops + 1) * sizeof(*found));

	for (size_t i = 0; found && i < plan->n_tops; i++)
		if (host_find_signs(plan->tops[i].source) & ~plan->tops[i].signs)
			found[run->n_repositories++] = &plan->tops[i];
	run->repositories = found;
}

/* Also with -q: git outside would run programs that the command named. */
void spawn_say_repositories(const struct spawn_run *run)
{
	for (size_t i = 0; i < run->n_repositories; i++) {
		_cleanup_text_ struct text text = TEXT_INIT;

		text_add_char(&text, '\'');
		text_add_visible_string(&text, run->repositories[i]->source);
		text_add(
			&text,
			"' has become a repository: git outside may run hooks from it; check it before you use git there");
		(void)spawn_say_note(run, "warning: ", &text);
	}
}

/* The host's directory that the command sees at @path with the host's owner; false: none. */
static bool find_source(const struct plan *plan, const char *path, struct text *ret)
{
	const struct step *carrier = plan_find_carrier(plan, path);
	bool is_bind = carrier && carrier->kind == STEP_BIND;

	text_reset(ret);
	if (plan->tier != TIER_FULL)
		text_add(ret, path);
	else if (!carrier || (!is_bind && carrier->kind != STEP_OVERLAY) ||
		 (is_bind ? carrier->bind.owner.is_set : carrier->overlay.owner.is_set))
		return false;
	else
		text_addf(ret, "%s%s", is_bind ? carrier->bind.source : carrier->overlay.source,
			  path + strlen(step_target(carrier)));
	return text_status(ret) == 0;
}

/* The owner of the repository that contains @path: (uid_t)-1 if there is none. @path becomes that
 * of its worktree. */
static uid_t find_owner(const struct plan *plan, char *path)
{
	_cleanup_text_ struct text source = TEXT_INIT;
	struct stat worktree, directory;

	for (char *slash; *path; *slash = '\0') {
		if (find_source(plan, path, &source) &&
		    stat(text_string(&source), &worktree) == 0) {
			text_add(&source, "/.git");
			if (text_status(&source) == 0 &&
			    lstat(text_string(&source), &directory) == 0)
				return worktree.st_uid == plan->uid ? directory.st_uid
								    : worktree.st_uid;
		}
		slash = strrchr(path, '/');
	}
	return (uid_t)-1;
}

static bool is_told_safe(const struct plan *plan)
{
	for (char *const *at = plan->environment; at && *at; at++)
		if (strstr(*at, "=safe.directory"))
			return true;
	return false;
}

/* git exits with 128 and suggests a global setting, which the private home does not keep. */
static void add_owner(struct text *text, const struct spawn_run *run)
{
	const struct plan *plan = run->plan;
	_cleanup_free_ char *path = strdup(plan_working_directory(plan));
	_cleanup_text_ struct text setting = TEXT_INIT;
	uid_t owner = path && run->result.exit_code == GIT_FATAL && !is_told_safe(plan)
			      ? find_owner(plan, path)
			      : (uid_t)-1;

	if (owner == (uid_t)-1 || owner == plan->uid)
		return;
	text_add(text, "git trusts no repository of another user, and '");
	text_add_visible_string(text, path);
	text_addf(text,
		  "' belongs to uid %u; to use it, add --env GIT_CONFIG_COUNT=1 "
		  "--env GIT_CONFIG_KEY_0=safe.directory --env ",
		  (unsigned)owner);
	text_addf(&setting, "GIT_CONFIG_VALUE_0=%s", path);
	text_add_word_string(text, text_string(&setting));
}

/* Are these files of the host, at the same path? */
static bool is_of_host(const struct plan *plan, const char *path)
{
	const struct step *carrier = plan_find_carrier(plan, path);

	return plan->tier != TIER_FULL || (carrier && carrier->kind == STEP_OVERLAY) ||
	       (carrier && carrier->kind == STEP_BIND &&
		strcmp(carrier->bind.source, carrier->bind.target) == 0);
}

/* The directory above @path that has ".git" outside, if it is not shown inside: true with @path cut
 * to it. */
static bool find_hidden_top(const struct plan *plan, char *path)
{
	_cleanup_text_ struct text name = TEXT_INIT;
	struct stat st;

	if (!is_of_host(plan, path))
		return false;
	for (char *slash = path + strlen(path); slash > path; slash = strrchr(path, '/')) {
		*slash = '\0';
		text_reset(&name);
		text_addf(&name, "%s/.git", path);
		if (text_status(&name) == 0 && lstat(text_string(&name), &st) == 0)
			return !is_of_host(plan, text_string(&name));
	}
	return false;
}

/* git only says that there is no repository up to a mount point. */
static void add_top(struct text *text, const struct spawn_run *run)
{
	_cleanup_free_ char *path = strdup(plan_working_directory(run->plan));

	if (!path || run->result.exit_code != GIT_FATAL || !find_hidden_top(run->plan, path))
		return;
	text_add_char(text, '\'');
	text_add_visible_string(text, path);
	text_add(text, "' is the top of the repository, and the sandbox does not show it; add "
		       "--read ");
	text_add_word_string(text, path);
}

static void add_git(struct text *text, const struct spawn_run *run)
{
	const char *path = run->plan->git;

	add_owner(text, run);
	if (text->len == 0)
		add_top(text, run);
	if (text->len > 0 || !path)
		return;
	/* git itself only reports a read-only file system. */
	text_add_char(text, '\'');
	text_add_visible_string(text, path);
	text_add(text, "' is read-only in the sandbox; to add and commit, use --write ");
	text_add_visible_string(text, run->plan->git_argument);
}

/* The filter returns EPERM, which tracers report as a setting of the host. */
static void add_ptrace(struct text *text, const struct spawn_run *run)
{
	if (!run->request.ptrace)
		text_addf(text,
			  "without --ptrace no process of the sandbox can trace another; add it "
			  "for %s",
			  path_last(run->request.argv[0]));
}

/* In the background of its terminal, a program that catches SIGTTOU does not stop: setting the
 * modes fails with EINTR, which it reports. */
static void add_terminal(struct text *text, const struct spawn_run *run)
{
	if (!run->request.pty && isatty(STDIN_FILENO))
		text_addf(text,
			  "%s needs a terminal of its own, and begins in the background of this "
			  "one; add --pty",
			  path_last(run->request.argv[0]));
}

/* Programs whose own messages cannot name the reason why they fail inside. */
static const struct {
	const char *name;
	void (*add)(struct text *text, const struct spawn_run *run);
} hints[] = {
	{ "git", add_git },	  { "gdb", add_ptrace },   { "ltrace", add_ptrace },
	{ "strace", add_ptrace }, { "top", add_terminal },
};

/* System calls without which no program with shared libraries starts, or a shell fails. */
static const char *const needed_calls[] = {
	"read",	  "write",	"openat",  "mmap",  "mprotect",	  "close",
	"execve", "newfstatat", "pread64", "futex", "arch_prctl", "clone",
};

/* The first of them that the policy denies, or NULL. */
static const struct setting *find_denied_call(const struct policy *policy)
{
	const struct setting *item;

	for (size_t i = 0; (item = policy_get_item(policy, "denySyscalls", i)); i++)
		for (size_t k = 0; k < N_ELEMENTS(needed_calls); k++)
			if (strcmp(item->text, needed_calls[k]) == 0)
				return item;
	return NULL;
}

/* "denySyscalls (p.yaml:4) denies 'read', which nearly every program needs" */
static void add_denied_call(struct text *text, const struct spawn_run *run)
{
	const struct setting *item = find_denied_call(run->policy);

	if (!item)
		return;
	text_add(text, "'denySyscalls' (");
	text_add_visible_string(text, run->policy->sources[item->place.source].name);
	text_addf(text, ":%u) denies '%s', which nearly every program needs", item->place.at.line,
		  item->text);
}

void spawn_explain_denied_call(const struct spawn_run *run, struct sbx_error *err)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	/* An error of building the sandbox names its own remedy. */
	if (err->code != -EPERM || (err->fix[0] && run->result.reason != SPAWN_REASON_EXEC))
		return;
	add_denied_call(&text, run);
	if (text.len == 0 || text_status(&text) < 0)
		return;
	sbx_error_why(err, "%s", text_string(&text));
	sbx_error_fix(err, "leave it out there");
}

void spawn_say_hint(const struct spawn_run *run)
{
	const struct spawn_result *result = &run->result;
	const char *name = path_last(run->request.argv[0]);
	_cleanup_text_ struct text text = TEXT_INIT;
	bool has_failed = result->reason == SPAWN_REASON_EXIT && result->exit_code != 0;

	if (run->tool->verbosity < 0 || (!has_failed && result->reason != SPAWN_REASON_SIGNAL))
		return;
	for (size_t i = 0; i < N_ELEMENTS(hints) && has_failed; i++)
		if (strcmp(hints[i].name, name) == 0)
			hints[i].add(&text, run);
	if (text.len == 0)
		add_denied_call(&text, run);
	if (text.len > 0)
		(void)spawn_say_note(run, "note: ", &text);
}

/* Also with -q: the archive lacks files that the command made. */
void spawn_say_left_out(const struct spawn_run *run)
{
	const struct output_result *archived = &run->changes.archived;
	struct sbx_error err = { .code = 0 };

	if (archived->n_left_out == 0 || !archived->first_left_out)
		return;
	(void)sbx_error_what(&err, 0, "'%.250s'%s %s not in '%s'", archived->first_left_out,
			     archived->n_left_out > 1 ? " and others" : "",
			     archived->n_left_out > 1 ? "are" : "is", run->changes.tar);
	error_explain(&err,
		      "in an archive a name that begins with '.wh.' marks a removed file, so none "
		      "of more than 251 bytes can be removed; and it has no FIFOs and sockets",
		      "use a directory with --out, or let the command use other names");
	err.level = SBX_LEVEL_WARN;
	tool_tell(run->tool, &err);
}

int spawn_say_note(const struct spawn_run *run, const char *kind, const struct text *body)
{
	_cleanup_text_ struct text line = TEXT_INIT;
	struct json_writer json;
	int r = text_status(body);

	if (r < 0)
		return r;
	if (run->tool->json) {
		json_begin_object(&json, &line);
		json_member_string(&json, "level", kind[0] == 'w' ? "warn" : "info");
		json_member_string(&json, "what", text_string(body));
		json_end_line(&json);
	} else {
		text_addf(&line, SPAWN_TOOL ": %s%s\n", kind, text_string(body));
	}
	r = text_status(&line);
	return r < 0 ? r : fd_write_all(STDERR_FILENO, text_string(&line), line.len);
}

void spawn_say_line(const struct spawn_run *run, enum sbx_level level, const struct text *line)
{
	struct sbx_error err = { .code = 0 };

	if (text_status(line) < 0)
		return;
	(void)sbx_error_what(&err, 0, "%s", text_string(line));
	err.level = level;
	tool_tell(run->tool, &err);
}

static void say_reached(const struct spawn_run *run, enum sbx_level level, enum limit limit)
{
	_cleanup_text_ struct text line = TEXT_INIT;

	plan_add_reached(&line, run->plan, limit);
	if (run->plan->limits[limit].is_constraint)
		text_add(&line, "; raise it there");
	else
		text_addf(&line, "; raise it with %s", limit_option(limit));
	spawn_say_line(run, level, &line);
}

/* Limits that the caller has set (ulimit) apply inside, too: a hard one that is lower than the
 * plan's, and any without one. */
static const struct {
	int signal;
	__rlimit_resource_t resource;
	enum limit limit; /* the limit with the same rlimit, or N_LIMITS */
	const char *what, *option;
	uint64_t unit;
	void (*add)(struct text *out, uint64_t value);
} inherited[] = {
	{ SIGXCPU, RLIMIT_CPU, N_LIMITS, "processor time", "ulimit -t", 1000000, units_add_time },
	{ SIGXFSZ, RLIMIT_FSIZE, LIMIT_FILE_SIZE, "file size", "ulimit -f", 1, units_add_size },
};

static bool say_inherited(const struct spawn_run *run)
{
	_cleanup_text_ struct text line = TEXT_INIT;
	struct rlimit ours;

	for (size_t i = 0; i < N_ELEMENTS(inherited); i++) {
		enum limit limit = inherited[i].limit;
		const struct plan_limit *planned =
			limit < N_LIMITS && run->plan->limits[limit].is_set
				? &run->plan->limits[limit]
				: NULL;

		if (inherited[i].signal != run->result.signal ||
		    getrlimit(inherited[i].resource, &ours) < 0 || ours.rlim_cur == RLIM_INFINITY ||
		    (planned && planned->origin.kind != ORIGIN_CALLER))
			continue;
		text_addf(&line, "%s limit of ", inherited[i].what);
		inherited[i].add(&line,
				 planned ? planned->value : ours.rlim_cur * inherited[i].unit);
		text_addf(&line, " reached (that of the caller); raise it with %s",
			  inherited[i].option);
		spawn_say_line(run, SBX_LEVEL_ERROR, &line);
		return true;
	}
	return false;
}

static bool has_ended(const struct spawn_result *result, enum limit limit)
{
	static const enum spawn_reason reasons[N_LIMITS] = {
		[LIMIT_MEMORY] = SPAWN_REASON_MEMORY,
		[LIMIT_TIME] = SPAWN_REASON_TIME,
		[LIMIT_FILE_SIZE] = SPAWN_REASON_SIGNAL,
		[LIMIT_OUTPUT] = SPAWN_REASON_OUTPUT,
	};

	return reasons[limit] != SPAWN_REASON_NONE && reasons[limit] == result->reason;
}

/* The exit status alone does not name a limit. Limits that only refused something come first. */
void spawn_explain_end(const struct spawn_run *run, struct sbx_error *err)
{
	const struct spawn_result *result = &run->result;
	_cleanup_text_ struct text line = TEXT_INIT;
	enum limit ended_by = N_LIMITS;

	if (result->lost) {
		(void)sbx_error_what(err, -ESTALE, "killed: '%.300s' was no longer protected",
				     result->lost);
		sbx_error_why(
			err,
			"a process outside renamed, removed or replaced it, and %s is enforced by a mount on that name",
			result->lost_origin->text ? result->lost_origin->text
						  : "the built-in view");
		sbx_error_fix(err, "check what is there now; change it while no sandbox uses it, "
				   "or use --out");
	}
	for (enum limit limit = 0; limit < N_LIMITS; limit++) {
		if (!(result->reached & (1u << limit)))
			continue;
		if (has_ended(result, limit))
			ended_by = limit;
		else if (run->tool->verbosity >= 0)
			say_reached(run, SBX_LEVEL_WARN, limit);
	}
	if (say_inherited(run))
		return;
	if (ended_by < N_LIMITS) {
		say_reached(run, SBX_LEVEL_ERROR, ended_by);
	} else if (result->reason == SPAWN_REASON_PARENT) {
		text_add(&line, "ended with the process that started it (--die-with-parent)");
		spawn_say_line(run, SBX_LEVEL_ERROR, &line);
	} else if (result->reason == SPAWN_REASON_MEMORY) {
		/* OOM kill by the host or a cgroup above the sandbox. */
		text_add(&line, "killed by the kernel, which had no memory left; the sandbox's own "
				"limit was not reached");
		spawn_say_line(run, SBX_LEVEL_ERROR, &line);
	}
}
