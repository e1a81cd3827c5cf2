/* SPDX-License-Identifier: MIT */

/*
 * The command: its uid, environment, program and working directory
 *
 * The uid is never root. An ordinary user keeps its own. If real root starts the sandbox, the
 * command gets a uid that no other process has, derived from the supervisor's pid, unless an option
 * names one.
 *
 * The environment consists of an allow-list of the caller's variables and of those set for the
 * command. Later sources override earlier ones: passed variables, the policy's, the proxy's,
 * secrets, options, the channel's. Strings of the caller's environment are referenced, not copied.
 *
 * The caller chooses the program; the policy decides which may be started. If no rule names
 * programs, only the command's own program may be executed. A policy that names programs must name
 * this one too.
 */

#include "plan/plan-internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/path.h"
#include "policy/view.h"

/* ---- the uid ---- */

bool is_real_root(const struct host *host)
{
	return host->uid == 0 && host->is_root;
}

static int use_own_user(struct planner *planner)
{
	const struct spawn_request *request = planner->request;
	const struct host *host = planner->host;

	if (host->uid == 0)
		return planner_refuse(planner, -EPERM, "cannot give the command a user of its own",
				      "sbx-spawn was started by uid 0 without root's capabilities",
				      "start it as an ordinary user, or as root with all "
				      "capabilities");
	if (request->has_uid && request->uid != host->uid) {
		(void)sbx_error_what(planner->err, -EPERM, "cannot run the command as uid %u",
				     request->uid);
		sbx_error_why(planner->err,
			      "sbx-spawn was started by uid %u, and only root can choose another",
			      host->uid);
		sbx_error_fix(planner->err, "leave out --uid, or start sbx-spawn as root");
		return -EPERM;
	}
	planner->plan->uid = host->uid;
	planner->plan->gid = host->gid;
	return 0;
}

int choose_identity(struct planner *planner)
{
	const struct spawn_request *request = planner->request;
	struct plan *plan = planner->plan;

	if (request->has_uid && (request->uid == 0 || request->gid == 0))
		return planner_refuse(
			planner, -EPERM, "the command cannot run as root",
			"uid 0 may read and change every file of the host that the sandbox shows",
			"name another uid, or leave out --uid: the command gets an unused one");
	if (!is_real_root(planner->host))
		return use_own_user(planner);
	if (request->has_uid) {
		plan->uid = request->uid;
		plan->gid = request->gid;
		return 0;
	}
	if (request->supervisor <= 0)
		return planner_refuse(planner, -EINVAL, "cannot give the command a user of its own",
				      "the request does not say which process supervises it",
				      "give one with --uid");
	plan->uid = OWN_UID_BASE + (uid_t)request->supervisor;
	plan->gid = (gid_t)plan->uid;
	return 0;
}

/*
 * Without a line in /etc/passwd for their uid, whoami, ssh-keygen and initdb fail. Root's
 * throw-away uid, a service's dynamic uid and those of a directory service have none. If the host's
 * file is visible, a copy with one more line is mounted over it.
 */

#define NAME "sbx"

/* Does the tree show the host's own file at this path, read-only and readable? */
static bool is_shown(struct planner *planner, const char *path)
{
	const struct plan tree = { .steps = planner->steps.rows, .n_steps = planner->steps.n_rows };
	const struct asked_path asked = { .path = path, .kind = HOST_FILE };
	const struct step *carrier = plan_find_carrier(&tree, path);

	return carrier && carrier->kind == STEP_BIND &&
	       strcmp(carrier->bind.source, carrier->bind.target) == 0 &&
	       carrier->bind.attributes.is_read_only && decided_rights(planner, &asked, RIGHT_READ);
}

static void add_line(struct planner *planner, const char *path, const char *line)
{
	struct step *step;

	if (!is_shown(planner, path))
		return;
	step = planner_add_step(planner, STEP_FILE, origin_built_in);
	step->file =
		(struct step_file){ .target = path, .source = path, .mode = 0444, .added = line };
}

/* The home directory as a field of the file. */
static const char *home_field(struct planner *planner)
{
	const char *home = environment_find(planner->chosen.environment, "HOME");

	return home && home[0] == '/' && !strpbrk(home, ":\n") ? home : "/";
}

void add_accounts(struct planner *planner)
{
	const struct plan *plan = planner->plan;

	if (planner->host->lacks_user)
		add_line(planner, "/etc/passwd",
			 planner_format(planner, NAME ":x:%u:%u::%s:/bin/sh", plan->uid, plan->gid,
					home_field(planner)));
	if (planner->host->lacks_group)
		add_line(planner, "/etc/group", planner_format(planner, NAME ":x:%u:", plan->gid));
}

/*
 * Java's InetAddress.getLocalHost() and others fail if the sandbox's host name has no address. The
 * line is the last one, so 127.0.0.1 is still called localhost. A name that is not one word would
 * be more than a name there.
 */
void add_own_address(struct planner *planner, const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";

	if (planner->host->has_hosts && name[strspn(name, letters)] == '\0')
		add_line(planner, "/etc/hosts", planner_format(planner, "127.0.0.1 %s", name));
}

/* ---- the environment ---- */

static const char *const default_names[] = {
	"PATH", "HOME", "LANG", "LC_*", "TZ", "TERM", "USER", "LOGNAME", "SHELL",
};

/* Variables whose value is the proxy's address. */
static const char *const proxy_names[] = {
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy",
};

/* below /run, which is always the sandbox's own */
#define NO_HOME "/run/home"

static const char *const proxy_variables[] = {
	"NO_PROXY=localhost,127.0.0.1,::1",
	"no_proxy=localhost,127.0.0.1,::1",
	"NODE_USE_ENV_PROXY=1",
};
#define N_PROXY_VARIABLES (N_ELEMENTS(proxy_names) + N_ELEMENTS(proxy_variables) + 1)

struct variables {
	struct planner *planner;
	char **rows;
	size_t n_rows;
	size_t n_max;
};

static size_t name_len(const char *variable)
{
	return strcspn(variable, "=");
}

/* Replaces an earlier variable of the same name. */
static void set_variable(struct variables *variables, const char *variable)
{
	size_t len = name_len(variable), i = 0;

	while (i < variables->n_rows &&
	       (strncmp(variables->rows[i], variable, len) != 0 || variables->rows[i][len] != '='))
		i++;
	if (i == variables->n_max)
		return;
	/* execve() takes char *, but does not modify the strings. */
	variables->rows[i] = (char *)(uintptr_t)variable;
	variables->n_rows += i == variables->n_rows;
}

const char *environment_find(char *const *environment, const char *name)
{
	size_t len = strlen(name);

	for (char *const *at = environment; at && *at; at++)
		if (strncmp(*at, name, len) == 0 && (*at)[len] == '=')
			return *at + len + 1;
	return NULL;
}

static bool is_match(const char *pattern, const char *variable)
{
	size_t len = strlen(pattern);

	if (len > 0 && pattern[len - 1] == '*')
		return strncmp(pattern, variable, len - 1) == 0;
	return name_len(variable) == len && strncmp(pattern, variable, len) == 0;
}

/* The i-th name of the allow-list, or NULL after the last. */
static const char *allowed_name(struct planner *planner, size_t i)
{
	const struct setting *item;

	if (!policy_get_setting(planner->policy, "env.allow"))
		return i < N_ELEMENTS(default_names) ? default_names[i] : NULL;
	item = policy_get_item(planner->policy, "env.allow", i);
	return item ? item->text : NULL;
}

static void pass_allowed(struct variables *variables)
{
	char *const *from = variables->planner->request->environment;
	const char *name;

	for (size_t i = 0; (name = allowed_name(variables->planner, i)); i++)
		for (char *const *at = from; at && *at; at++)
			if (is_match(name, *at) && strchr(*at, '='))
				set_variable(variables, *at);
}

static void set_settings(struct variables *variables)
{
	const struct policy *policy = variables->planner->policy;

	for (size_t i = 0; policy && i < policy->n_settings; i++) {
		const char *name = setting_below(&policy->settings[i], "env.set.");

		if (name)
			set_variable(variables, planner_format(variables->planner, "%s=%s", name,
							       policy->settings[i].text));
	}
}

/* Java ignores the *_PROXY variables, so JAVA_TOOL_OPTIONS names the proxy; it excludes the
 * loopback by default. */
static void set_proxy(struct variables *variables)
{
	struct planner *planner = variables->planner;
	unsigned port = planner_proxy_port(planner);

	if (planner->chosen.net_mode != NET_PROXY)
		return;
	for (size_t i = 0; i < N_ELEMENTS(proxy_names); i++)
		set_variable(variables, planner_format(planner, "%s=http://127.0.0.1:%u",
						       proxy_names[i], port));
	for (size_t i = 0; i < N_ELEMENTS(proxy_variables); i++)
		set_variable(variables, proxy_variables[i]);
	set_variable(variables, planner_format(planner,
					       "JAVA_TOOL_OPTIONS=-Dhttp.proxyHost=127.0.0.1 "
					       "-Dhttp.proxyPort=%u -Dhttps.proxyHost=127.0.0.1 "
					       "-Dhttps.proxyPort=%u",
					       port, port));
}

/*
 * If HOME is not usable (a service may have HOME=/), name a directory of the sandbox's own. Only
 * the private home can be there, so with a policy HOME is not changed.
 */
static void set_home(struct variables *variables)
{
	struct planner *planner = variables->planner;
	const char *home = planner->request->home;
	size_t len;

	if (!home) {
		if (planner->policy || planner->plan->tier != TIER_FULL)
			return;
		variables->rows[variables->n_rows] = NULL;
		home = environment_find(variables->rows, "HOME");
		home = home ? planner_keep(planner, home) : "";
		len = strlen(home);
		while (len > 1 && home[len - 1] == '/')
			len--;
		home = planner_format(planner, "%.*s", (int)len, home);
		if (!home_is_usable(home))
			home = NO_HOME;
	}
	set_variable(variables, planner_format(planner, "HOME=%s", home));
}

/* A secret's variable contains the path of its private copy. */
static void set_secret(struct variables *variables, const char *name)
{
	set_variable(variables,
		     planner_format(variables->planner, "%s=" VIEW_SECRETS "/%s", name, name));
}

static void set_secrets(struct variables *variables)
{
	struct planner *planner = variables->planner;
	const struct policy *policy = planner->policy;

	for (size_t i = 0; policy && i < policy->n_settings; i++) {
		const char *name = setting_below(&policy->settings[i], "env.secrets.");

		if (name)
			set_secret(variables, name);
	}
	for (size_t i = 0; i < planner->request->n_secrets; i++)
		set_secret(variables, planner->request->secrets[i].name);
}

static void set_typed(struct variables *variables, const struct request_variable *typed)
{
	struct planner *planner = variables->planner;
	bool is_found = false;

	if (typed->value) {
		set_variable(variables,
			     planner_format(planner, "%s=%s", typed->name, typed->value));
		return;
	}
	for (char *const *at = planner->request->environment; at && *at && !is_found; at++) {
		is_found = is_match(typed->name, *at) && strchr(*at, '=');
		if (is_found)
			set_variable(variables, *at);
	}
	if (!is_found)
		planner_note(planner,
			     planner_format(planner, "%s %s passes nothing", typed->option,
					    typed->name),
			     "sbx-spawn's own environment has no such variable");
}

#define RING_VARIABLE "SBX_RING_FD"

/* What else would set the channel's variable, or NULL. */
static const char *find_ring_rival(struct planner *planner)
{
	const struct spawn_request *request = planner->request;

	for (size_t i = 0; i < request->n_variables; i++)
		if (strcmp(request->variables[i].name, RING_VARIABLE) == 0)
			return request->variables[i].option;
	for (size_t i = 0; i < request->n_secrets; i++)
		if (strcmp(request->secrets[i].name, RING_VARIABLE) == 0)
			return "--secret";
	if (policy_get_setting(planner->policy, "env.set." RING_VARIABLE))
		return "the policy's env.set";
	return policy_get_setting(planner->policy, "env.secrets." RING_VARIABLE)
		       ? "the policy's env.secrets"
		       : NULL;
}

/* With another number the command would take another file for its channel. A variable of the caller
 * that merely passes is replaced: it names a channel of the caller's own. */
static int set_ring(struct variables *variables)
{
	struct planner *planner = variables->planner;
	const char *rival;

	if (!planner->request->has_ring)
		return 0;
	rival = find_ring_rival(planner);
	if (rival) {
		(void)sbx_error_what(planner->err, -EINVAL,
				     "cannot set " RING_VARIABLE " for the command");
		sbx_error_why(planner->err, "--ring-fd sets it, and %s would, too", rival);
		sbx_error_fix(planner->err, "leave one of them out");
		return -EINVAL;
	}
	set_variable(variables,
		     planner_format(planner, RING_VARIABLE "=%d", planner->request->ring_fd));
	return 0;
}

static size_t count_at_most(const struct planner *planner)
{
	const struct spawn_request *request = planner->request;
	size_t n = N_PROXY_VARIABLES + request->n_variables + request->n_secrets + 4;

	for (char *const *at = request->environment; at && *at; at++)
		n++;
	return n + (planner->policy ? planner->policy->n_settings : 0);
}

int make_environment(struct planner *planner)
{
	struct variables variables = { .planner = planner, .n_max = count_at_most(planner) };

	variables.rows = planner_alloc(planner, (variables.n_max + 1) * sizeof(*variables.rows));
	if (!variables.rows)
		return planner_status(planner);
	set_variable(&variables, "PATH=/usr/local/bin:/usr/bin:/bin");
	pass_allowed(&variables);
	set_settings(&variables);
	set_home(&variables);
	set_proxy(&variables);
	set_secrets(&variables);
	for (size_t i = 0; i < planner->request->n_variables; i++)
		set_typed(&variables, &planner->request->variables[i]);
	planner->chosen.environment = variables.rows;
	return set_ring(&variables);
}

/* ---- the program and the working directory ---- */

const char *asked_directory(struct planner *planner)
{
	const char *directory = policy_get_text(planner->policy, "working_dir");

	if (planner->request->cwd)
		return planner->request->cwd;
	return directory ? planner_project_path(planner, directory) : NULL;
}

static struct step_origin origin_of_directory(struct planner *planner)
{
	const struct setting *setting = policy_get_setting(planner->policy, "working_dir");

	if (planner->request->cwd)
		return origin_of_option(planner, "--cwd");
	return setting ? origin_of_setting(planner, setting) : origin_built_in;
}

/* Resolves "./a" and "a/b" against the command's working directory; NULL if that is unknown. */
static const char *join_directory(struct planner *planner, const char *name)
{
	const char *directory = asked_directory(planner), *path;

	while (strncmp(name, "./", 2) == 0)
		name += 2;
	path = planner_join(planner, directory ? directory : planner->request->project, name);
	return path_is_normal(path) ? path : NULL;
}

const char *next_candidate(struct planner *planner, const char **at)
{
	const char *name = planner->request->argv[0], *path;

	if (strchr(name, '/')) {
		if (*at)
			return NULL;
		*at = name;
		return name[0] == '/' ? name : join_directory(planner, name);
	}
	path = environment_find(planner->chosen.environment, "PATH");
	if (!*at)
		*at = path ? path : "";
	while (**at) {
		size_t len = strcspn(*at, ":");
		const char *directory = *at;

		*at += len + ((*at)[len] == ':');
		if (directory[0] != '/')
			continue;
		path = planner_format(planner, "%.*s/%s", (int)len, directory, name);
		if (path_is_normal(path))
			return path;
	}
	return NULL;
}

/* May only named programs be executed? Otherwise all visible ones may. */
bool is_limiting_exec(const struct planner *planner)
{
	for (size_t i = 0; i < planner->request->n_paths; i++)
		if (planner->request->paths[i].grant == GRANT_EXEC)
			return true;
	return planner->policy != NULL;
}

void mark_program(struct planner *planner)
{
	const char *at = NULL, *path;

	if (!is_limiting_exec(planner) || planner->ruled.has_exec)
		return;
	while ((path = next_candidate(planner, &at))) {
		const struct host_path *facts = host_find_path(planner->host, path);

		if (facts && facts->kind == HOST_FILE)
			planner_add_mark(planner, MARK_ALLOW, path, RIGHT_START, origin_built_in);
	}
}

static void note_links(struct planner *planner, const struct mark *mark)
{
	planner_advise(planner,
		       planner_format(planner, "'%s' has %" PRIu64 " hard links, and %s denies one",
				      mark->path, mark->facts->n_links, origin_text(&mark->origin)),
		       "the file can be executed by another name in an executable directory",
		       planner_format(planner, "deny the others, too: find / -xdev -samefile '%s'",
				      mark->path))
		->is_weaker = true;
}

/* A denial covers one name: neither a mount nor a Landlock rule reaches the file's other hard
 * links. */
void note_other_names(struct planner *planner)
{
	for (size_t i = 0; i < planner->view.marks.n_rows; i++) {
		const struct mark *mark = mark_at(planner, i);

		if (mark->kind != MARK_DENY || !(mark->rights & RIGHT_EXEC) || !mark->facts ||
		    mark->facts->kind != HOST_FILE || mark->facts->n_links < 2)
			continue;
		note_links(planner, mark);
	}
}

/* The filter refuses memfd_create() for memory that can be executed, but the memory of a channel is
 * made outside, where an older kernel has no other kind. */
void note_ring(struct planner *planner)
{
	if (!planner->request->has_ring || planner->host->has_memfd_seal ||
	    !is_limiting_exec(planner) || decided_exec_everywhere(planner))
		return;
	planner_advise(planner,
		       "the command can execute what it writes into the memory of its channel",
		       "this kernel cannot make memory that is never executed (Linux 6.3)",
		       "leave out --ring-fd, or use a newer kernel")
		->is_weaker = true;
}

static int refuse_program(struct planner *planner, const char *path, const struct place *place)
{
	struct step_origin origin;

	(void)sbx_error_what(planner->err, -ENOEXEC, "cannot execute '%.300s' in the sandbox",
			     path);
	if (place_find_denial(planner, place, RIGHT_EXEC, &origin)) {
		sbx_error_why(planner->err, "%s denies it", origin_text(&origin));
		sbx_error_fix(planner->err, "change that rule, or run another program");
	} else {
		sbx_error_why(
			planner->err,
			"the policy lists the programs that may be executed, and this is not one of them");
		error_fix_word(planner->err, "add it to an exec rule, or use --exec ", path, "");
	}
	return -ENOEXEC;
}

/* Checks that the program that execvp() would find first may be executed. If it would find none,
 * execvp() itself reports that. */
int check_program(struct planner *planner)
{
	const char *at = NULL, *path;

	if (!is_limiting_exec(planner))
		return 0;
	while ((path = next_candidate(planner, &at))) {
		const struct host_path *facts = host_find_path(planner->host, path);
		const struct place *place;

		if (!facts || facts->kind != HOST_FILE)
			continue;
		place = view_find(planner, facts->real);
		if (!place || !shown_is_visible(shown_of(planner, place)))
			continue;
		if (place->rights & (RIGHT_EXEC | RIGHT_START))
			return 0;
		return refuse_program(planner, path, place);
	}
	return 0;
}

/* Is @real a directory in the part of the host that @place shows? True if the host was not asked:
 * chdir() then fails in the sandbox. */
static bool is_directory_outside(struct planner *planner, const struct place *place,
				 const char *real)
{
	const struct host_path *facts;

	if (!place->source)
		return false;
	facts = planner_facts(planner, planner_rebase(planner, real, place->path, place->source));
	return !facts || facts->kind == HOST_DIRECTORY;
}

static bool is_directory_there(struct planner *planner, const char *path)
{
	const struct host_path *facts = host_find_path(planner->host, path);
	const char *real = facts && facts->real ? facts->real : path;
	const struct place *place = view_find(planner, real);

	if (strcmp(real, "/") == 0)
		return true;
	if (place && shown_is_visible(shown_of(planner, place)) &&
	    is_directory_outside(planner, place, real))
		return true;
	if (place && shown_is_visible(shown_of(planner, place)) && !place->source &&
	    strcmp(place->path, real) == 0)
		return true;
	return view_has_below(planner, real);
}

static bool find_denial(struct planner *planner, const char *directory, struct step_origin *ret)
{
	const struct host_path *facts = host_find_path(planner->host, directory);
	const struct place *place =
		view_find(planner, facts && facts->real ? facts->real : directory);

	return place && place_find_denial(planner, place, RIGHTS_READ, ret);
}

/* If nothing shows the working directory, the command starts in "/", unless --cwd is given. But a
 * directory that --deny hides is an error: the caller did not mean to start there. */
static int check_hidden_directory(struct planner *planner, const char *directory)
{
	struct step_origin origin;

	if (!find_denial(planner, directory, &origin))
		return 0;
	if (origin.kind != ORIGIN_ARGUMENT) {
		planner_note(planner,
			     planner_format(planner, "the command starts in '/', not in '%s'",
					    directory),
			     planner_format(planner, "%s denies it", origin_text(&origin)));
		return 0;
	}
	(void)sbx_error_what(planner->err, -EACCES, "cannot start the command in '%.300s'",
			     directory);
	sbx_error_why(planner->err, "it is the working directory, and %s hides it",
		      origin_text(&origin));
	sbx_error_fix(planner->err, "name another directory by --cwd, such as --cwd /");
	return -EACCES;
}

/* The sandbox does not show the host's /dev and /proc, and so no project below them. */
static void note_hidden_project(struct planner *planner, bool is_there)
{
	static const char *const own[] = { "/dev", "/proc" };
	const char *project = planner->request->project;

	/* The reduced tier has no other /dev and /proc than the host's. */
	if (is_there && planner->plan->tier != TIER_FULL)
		return;
	for (size_t i = 0; i < N_ELEMENTS(own); i++) {
		if (!path_is_at_or_below(project, own[i]))
			continue;
		planner_advise(
			planner,
			planner_format(
				planner,
				is_there
					? "the command starts in a private %s, without the host's files"
					: "the command starts in '/', not in '%s'",
				project),
			planner_format(planner, "the sandbox does not show the host's %s", own[i]),
			planner_format(planner, "start it outside of %s", own[i]));
	}
}

/* If @path is in a tmpfs of the sandbox, its path. To create @path outside would not help. */
static const char *find_tmpfs(struct planner *planner, const char *path)
{
	const struct place *place = view_find(planner, path);
	bool is_tmpfs =
		place && !place->source && place->winner && place->winner->content == CONTENT_TMPFS;

	return is_tmpfs ? place->path : NULL;
}

/* Nothing can show a path through a link that its owner could change: names the directory that the
 * link leads to, and what shows that. */
static void explain_link(struct planner *planner, const struct host_path *facts)
{
	const char *directory = facts->leads_to;
	_cleanup_text_ struct text word = TEXT_INIT;
	struct step_origin origin;

	sbx_error_why(planner->err,
		      "it leads through the link '%.300s', whose owner could change where it leads",
		      facts->real);
	if (find_denial(planner, directory, &origin)) {
		sbx_error_fix(planner->err, "name another one with --cwd; %s denies '%.300s'",
			      origin_text(&origin), directory);
		return;
	}
	text_add_word_string(&word, directory);
	if (text_status(&word) < 0) {
		planner->memory.is_exhausted = true;
		return;
	}
	sbx_error_fix(planner->err, "name the directory that it leads to: --cwd %s%s%s",
		      text_string(&word), is_directory_there(planner, directory) ? "" : " --read ",
		      is_directory_there(planner, directory) ? "" : text_string(&word));
}

static int refuse_directory(struct planner *planner, const char *asked)
{
	const char *tmpfs = find_tmpfs(planner, asked);
	const struct host_path *facts = host_find_path(planner->host, asked);
	enum host_path_kind kind = facts ? facts->kind : HOST_DIRECTORY;
	struct step_origin origin;

	(void)sbx_error_what(planner->err, -ENOENT, "cannot start the command in '%.300s'", asked);
	if (kind == HOST_MISSING && tmpfs) {
		sbx_error_why(planner->err, "it is in '%.200s', which is private and begins empty",
			      tmpfs);
		error_fix_word(planner->err, "start the command with --cwd ", tmpfs,
			       ", and let it create the directory");
	} else if (kind == HOST_MISSING) {
		error_explain(planner->err, "that directory does not exist",
			      "create it, or name another one with --cwd");
	} else if (kind != HOST_DIRECTORY && kind <= HOST_OTHER) {
		error_explain(planner->err, "it is not a directory", "name a directory with --cwd");
	} else if (kind == HOST_LINK_REFUSED && facts->leads_to) {
		explain_link(planner, facts);
	} else if (find_denial(planner, asked, &origin)) {
		sbx_error_why(planner->err, "%s denies it", origin_text(&origin));
		sbx_error_fix(planner->err,
			      "name another one with --cwd, or change what denies it");
	} else {
		sbx_error_why(planner->err, "that directory is not shown in the sandbox");
		error_fix_word(planner->err, "add --read ", asked,
			       ", or name another one with --cwd");
	}
	return -ENOENT;
}

int add_working_directory(struct planner *planner)
{
	const char *asked = asked_directory(planner);
	const char *directory = asked ? asked : planner->request->project;
	bool is_there = is_directory_there(planner, directory);

	if (asked && !is_there)
		return refuse_directory(planner, asked);
	if (!is_there && check_hidden_directory(planner, directory) < 0)
		return -EACCES;
	if (!asked)
		note_hidden_project(planner, is_there);
	planner_add_step(planner, STEP_WORKING_DIRECTORY, origin_of_directory(planner))
		->working_directory.target = is_there ? planner_keep(planner, directory) : "/";
	return 0;
}
