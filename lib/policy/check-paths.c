/* SPDX-License-Identifier: MIT */

/*
 * Warnings about paths: those of one rule, programs that cannot be read, mounts, and forwarded
 * ports that a rule denies
 *
 * A glob that denies "keys" leaves "keys/id" allowed: it matches the directory's name, not its
 * contents. In an allow this mistake makes a command fail, which the author notices; a denial fails
 * silently. So the check looks for directories without their contents in denials, in '!' globs and
 * in the exceptions of allows.
 */

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/text.h"
#include "policy/check-internal.h"
#include "policy/compose.h"
#include "policy/decide.h"
#include "policy/enforcement.h"
#include "policy/glob.h"
#include "policy/model.h"
#include "policy/view.h"

/* Room for a value's text with a row of belows[] around it. */
#define VALUE_SIZE (GLOB_BYTES_MAX + 8)

static void check_characters(struct checker *checker, const struct match_value *value)
{
	if (value->literal && strpbrk(value->text, "*?["))
		check_warn(checker, CHECK_LITERAL, value->place,
			   "under 'path' every character is literal",
			   "write it under 'path_glob' of a rule in 'capabilities'",
			   "the wildcards in '%s' are taken literally", value->text);
	if (value->literal || !glob_has_glued_float(value->text))
		return;
	check_warn(checker, CHECK_GLUED_FLOAT, value->place,
		   "'**' matches several directories only as a whole component",
		   "write '/**/' for directories in between, or '*'", "'**' in '%s' is only '*'",
		   value->text);
}

/* Loading refuses "~/"; "~name/" is an ordinary path. */
static void check_home(struct checker *checker, const struct match_value *value)
{
	const char *text = value->text + match_value_excludes(value);
	size_t len = strcspn(text, "/");

	if (text[0] != '~' || (!isalpha((unsigned char)text[1]) && text[1] != '_') ||
	    text[len] == '\0')
		return;
	check_warn(checker, CHECK_HOME, value->place, NULL,
		   "write the absolute path; a directory of that name begins with './'",
		   "'%s' is not in a home directory", value->text);
	sbx_error_why(
		&checker->warning.error,
		"'~' is not replaced in a policy; this is the directory '%.*s' of the project",
		(int)len, text);
}

/* Names of files that have no extension. */
static const char *const file_names[] = {
	".env",	       ".gitattributes", ".gitconfig", ".git-credentials", ".gitignore",
	".gitmodules", ".pgpass",	 ".profile",   "authorized_keys",  "gshadow",
	"hosts",       "id_ecdsa",	 "id_ed25519", "id_rsa",	   "known_hosts",
	"LICENSE",     "passwd",	 "README",     "shadow",	   "sudoers",
};

static bool ends_in(const struct glob_component *name, const char *end)
{
	size_t len = strlen(end);

	return name->len > len && strcmp(name->text + name->len - len, end) == 0;
}

/* Does the name look like a file's, as ".npmrc", "Dockerfile" and "package.json" do, but "conf.d"
 * does not? */
static bool looks_like_file(const struct glob_component *name)
{
	const char *ending = strrchr(name->text, '.');

	for (size_t i = 0; i < N_ELEMENTS(file_names); i++)
		if (strcmp(name->text, file_names[i]) == 0)
			return true;
	if (ending > name->text)
		return strcmp(ending, ".d") != 0;
	return (ending && ends_in(name, "rc")) || ends_in(name, "file");
}

/* Does the glob match a name that a directory may have, but nothing below it? */
static bool is_directory_alone(const struct match_value *value, struct glob *glob)
{
	const struct glob_component *last;

	if (value->literal || glob_parse(value->text, false, glob, NULL) < 0 || glob->subtree ||
	    glob->n_components == 0)
		return false;
	last = &glob->components[glob->n_components - 1];
	return last->kind == GLOB_LITERAL && !looks_like_file(last);
}

/* Can one of the list's globs match a path below @inner? */
static bool may_reach_below(const struct match_list *list, const struct glob *inner)
{
	struct glob glob;

	if (!list->present)
		return true;
	for (size_t i = 0; i < list->n_values; i++) {
		bool floats = false;

		if (match_value_excludes(&list->values[i]) ||
		    glob_parse(list->values[i].text, list->values[i].literal, &glob, NULL) < 0)
			continue;
		for (size_t k = 0; k < glob.n_components; k++)
			floats |= glob.components[k].kind == GLOB_FLOAT;
		if (glob.subtree || floats || glob.n_components > inner->n_components)
			return true;
	}
	return false;
}

/*
 * The globs for everything below a path: "a/b/", or "a/b" and two stars. A bare name matches in
 * every directory, but "name" with a slash and two stars only below the project's root: it needs
 * leading two stars as well.
 */
static const struct {
	bool bare;
	const char *before;
	const char *behind;
} belows[] = {
	{ false, "", "/" },	{ false, "", "/**" }, { true, "", "/" },
	{ true, "**/", "/**" }, { true, "**/", "/" },
};

/* The other rule that denies @operations, under the other conditions of @rule, of everything that
 * @value matches; or NULL. */
static const struct rule *find_denial_of(const struct checker *checker, const struct rule *rule,
					 uint64_t operations, const struct match_value *value)
{
	struct rule asked = *rule;

	asked.match.operations = operations;
	asked.match.lists[MATCH_PATH].values = value;
	asked.match.lists[MATCH_PATH].n_values = 1;
	return check_find_denial(&checker->index, &asked);
}

/* Does another value or rule take away the paths below @value? */
static bool is_completed(const struct checker *checker, const struct rule *rule,
			 const struct match_list *list, const struct match_value *value, bool bare)
{
	char text[VALUE_SIZE];
	const struct match_value below = { .text = text };

	for (size_t i = 0; i < N_ELEMENTS(belows); i++) {
		if (belows[i].bare != bare)
			continue;
		(void)snprintf(text, sizeof(text), "%s%s%s", belows[i].before,
			       value->text + match_value_excludes(value), belows[i].behind);
		if (check_has_value(list, match_value_excludes(value), &below) ||
		    find_denial_of(checker, rule, rule->match.operations, &below))
			return true;
	}
	return false;
}

/* Warns about values of @list that take rights away: all values of a denial or an exception, or
 * (@excluding) only those with '!'. @given: the paths from which they take rights. */
static void check_taken(struct checker *checker, const struct rule *rule,
			const struct match_list *list, bool excluding,
			const struct match_list *given)
{
	struct glob glob;

	for (size_t i = 0; i < list->n_values; i++) {
		const struct match_value *value = &list->values[i];

		if (match_value_excludes(value) != excluding || !is_directory_alone(value, &glob) ||
		    !may_reach_below(given, &glob) ||
		    is_completed(checker, rule, list, value, glob.bare))
			continue;
		check_warn(checker, CHECK_NOT_BELOW, value->place, NULL, NULL,
			   "'%s' does not cover what is below it", value->text);
		sbx_error_why(
			&checker->warning.error,
			"a glob denies the path that it names: if '%s' is a directory, its contents "
			"can still be allowed",
			value->text + match_value_excludes(value));
		sbx_error_fix(&checker->warning.error,
			      "write '%s/': the directory or file, and everything below it",
			      value->text);
	}
}

static bool is_about_files(uint64_t operations)
{
	return operations & operation_set("fs.*");
}

static void check_directories(struct checker *checker, const struct rule *rule)
{
	static const struct match_list everything;
	const struct match_list *paths = &rule->match.lists[MATCH_PATH];
	bool allows = policy_permits(rule->action);

	if (!is_about_files(rule->match.operations))
		return;
	if (rule->action == POLICY_DENY)
		check_taken(checker, rule, paths, false, &everything);
	if (allows)
		check_taken(checker, rule, paths, true, paths);
	for (size_t i = 0; allows && i < rule->n_exceptions; i++) {
		const struct condition *exception = &rule->exceptions[i];

		if (exception->operations == 0 || is_about_files(exception->operations))
			check_taken(checker, rule, &exception->lists[MATCH_PATH], false, paths);
	}
}

static void check_list(struct checker *checker, const struct match_list *list)
{
	for (size_t i = 0; i < list->n_values; i++) {
		check_characters(checker, &list->values[i]);
		check_home(checker, &list->values[i]);
	}
}

void check_paths(struct checker *checker, const struct rule *rule)
{
	check_list(checker, &rule->match.lists[MATCH_PATH]);
	for (size_t i = 0; i < rule->n_exceptions; i++)
		check_list(checker, &rule->exceptions[i].lists[MATCH_PATH]);
	check_directories(checker, rule);
}

/*
 * Programs that may be executed but not read
 *
 * execve() opens the program for reading and execution, and Landlock checks both rights: if a
 * policy allows only exec, execve() fails with EACCES. The check warns only if no rule, mount or
 * view of the dialect can make the path readable, wherever the project's root is and whichever of
 * /bin, /lib and the like are symbolic links on the host.
 *
 * Readable paths are in a sorted list, such as "/usr" or "./src", directly followed by the paths
 * below them.
 */

/* Top-level directories that are links into /usr on a host with a merged /usr. */
static const char *const merged_directories[] = {
	"bin", "sbin", "lib", "lib32", "lib64", "libx32"
};

/* Adds the path that a value without patterns names; nothing if it cannot be parsed. */
static void add_path(struct text *out, const struct match_value *value)
{
	struct glob glob;

	if (glob_parse(value->text, value->literal, &glob, NULL) < 0)
		return;
	text_add(out, glob.absolute ? "" : ".");
	for (size_t i = 0; glob.absolute && i < N_ELEMENTS(merged_directories); i++)
		if (glob.n_components > 0 &&
		    strcmp(merged_directories[i], glob.components[0].text) == 0)
			text_add(out, "/usr");
	for (size_t i = 0; i < glob.n_components; i++) {
		text_add_char(out, '/');
		text_add_bytes(out, glob.components[i].text, glob.components[i].len);
	}
}

/* A path in /usr or /etc is never in a project. */
static bool is_of_system(const char *path)
{
	return path_is_at_or_below(path, "/usr") || path_is_at_or_below(path, "/etc");
}

static int add_reader(struct check_readers *readers, const struct match_value *value)
{
	_cleanup_text_ struct text path = TEXT_INIT;
	const char **row;

	add_path(&path, value);
	if (text_status(&path) < 0)
		return -ENOMEM;
	if (path.len == 0) {
		readers->has_all = true;
		return 0;
	}
	row = arena_add_row(readers->arena, &readers->paths, sizeof(*row));
	if (!row)
		return -ENOMEM;
	*row = arena_copy(readers->arena, path.data, path.len);
	if (!*row)
		return -ENOMEM;
	readers->has_relative |= path.data[0] == '.';
	readers->has_outside |= path.data[0] == '/' && !is_of_system(path.data);
	return 0;
}

static bool is_reader(const struct rule *rule)
{
	return rule->action != POLICY_DENY && rule->action != POLICY_PASS &&
	       (rule->match.operations & operation_set("fs.read"));
}

static int add_readers(struct check_readers *readers, const struct rule *rule)
{
	const struct match_list *list = &rule->match.lists[MATCH_PATH];

	readers->has_all |= !list->present;
	for (size_t i = 0; i < list->n_values; i++) {
		const struct match_value *value = &list->values[i];

		if (match_value_excludes(value))
			continue;
		if (!value_is_path(value, operation_set("fs.read")))
			readers->has_all = true;
		else if (add_reader(readers, value) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	return view_compare_paths(*(char *const *)a, *(char *const *)b);
}

/* Are some readable paths not named by rules, or does the command run without Landlock? */
static bool is_readable_anyway(const struct policy *policy)
{
	return policy->view != VIEW_NONE || policy->defaults[CLASS_FS] != POLICY_DENY ||
	       policy_is_nested(policy);
}

int check_readers_make(const struct policy *policy, struct arena *arena, struct check_readers *ret)
{
	struct policy_mount mount;

	*ret = (struct check_readers){ .arena = arena, .has_all = is_readable_anyway(policy) };
	for (size_t i = 0; i < policy->n_rules && !ret->has_all; i++)
		if (is_reader(&policy->rules[i]) && add_readers(ret, &policy->rules[i]) < 0)
			return -ENOMEM;
	for (size_t i = 0; policy_get_mount(policy, i, &mount); i++) {
		struct match_value target = { .text = mount.target->text, .literal = true };

		if (add_reader(ret, &target) < 0)
			return -ENOMEM;
	}
	if (ret->paths.n_rows > 1)
		qsort(ret->paths.rows, ret->paths.n_rows, sizeof(const char *), compare_rows);
	return 0;
}

/* The first path that is not before @path, or "". */
static const char *find_reader(const struct check_readers *readers, const char *path)
{
	const char *const *paths = readers->paths.rows;
	size_t low = 0, high = readers->paths.n_rows;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (view_compare_paths(paths[middle], path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < readers->paths.n_rows ? paths[low] : "";
}

/* Is a directory above @path readable? Modifies @path. */
static bool has_directory(const struct check_readers *readers, char *path)
{
	char *slash;

	while ((slash = strrchr(path, '/'))) {
		*slash = '\0';
		if (*path && strcmp(find_reader(readers, path), path) == 0)
			return true;
	}
	return false;
}

static bool may_be_read(const struct check_readers *readers, const struct match_value *program)
{
	_cleanup_text_ struct text path = TEXT_INIT;

	add_path(&path, program);
	if (text_status(&path) < 0 || path.len == 0)
		return true;
	if (path.data[0] == '.' ? readers->has_outside
				: !is_of_system(path.data) && readers->has_relative)
		return true;
	return path_is_at_or_below(find_reader(readers, path.data), path.data) ||
	       has_directory(readers, path.data);
}

static void check_program(struct checker *checker, const struct rule *rule,
			  const struct match_value *program)
{
	const struct rule *denial =
		find_denial_of(checker, rule, operation_set("fs.read"), program);

	if (denial ? find_denial_of(checker, rule, operation_set("exec"), program) != NULL
		   : checker->readers.has_all || may_be_read(&checker->readers, program))
		return;
	check_warn(checker, CHECK_UNREADABLE, program->place,
		   "the kernel reads a program that it executes, and Landlock refuses "
		   "that where no rule allows fs.read",
		   "except it from the rule that denies fs.read",
		   "'%s' may be executed but not read", program->text);
	if (denial)
		sbx_error_why(&checker->warning.error,
			      "the kernel reads a program that it executes, and rule '%s' (%s:%u) "
			      "denies fs.read",
			      denial->name, checker->policy->sources[denial->place.source].name,
			      denial->place.at.line);
	else
		sbx_error_fix(&checker->warning.error,
			      "allow fs.read of '%s', too: syscall: [exec, fs.read]",
			      program->text);
}

void check_programs(struct checker *checker, const struct rule *rule)
{
	const struct match_list *paths = &rule->match.lists[MATCH_PATH];

	if (rule->action != POLICY_ALLOW || !(rule->match.operations & operation_set("exec")) ||
	    rule_file_enforcement(checker->policy, rule).state != ENFORCEMENT_HELD)
		return;
	for (size_t i = 0; i < paths->n_values; i++)
		if (!match_value_excludes(&paths->values[i]))
			check_program(checker, rule, &paths->values[i]);
}

/*
 * Mounts that no sandbox can provide: because of their own entry, or because a rule denies their
 * target
 *
 * A denial overrides a mount, so the planner refuses, on every host, a mount whose target a rule
 * denies. The check asks the planner's evaluator with the same worst-case composition. Its project
 * has a name that no policy can contain, so that no rule about an absolute path matches in it.
 */

#define NO_PROJECT "/\x01"
/* A name that no policy can contain. */
#define NAME_BELOW "\x01"

struct judge {
	struct arena arena;
	const struct policy *composed;
	size_t n_rules; /* the policy's own, which come before those that composing adds */
	struct policy_engine *engine;
};

static void judge_close(struct judge *judge)
{
	judge->engine = policy_engine_free(judge->engine);
	arena_deinit(&judge->arena);
}

#define _cleanup_judge_ _cleanup_(judge_close)

/* Composes and compiles at the first call. */
static int judge_open(struct judge *judge, const struct policy *policy)
{
	const struct composition with = {
		.project = NO_PROJECT,
		.is_worst_case = true,
		.level = policy_sandbox_level(policy),
	};
	struct composer composer;
	int r;

	if (judge->engine)
		return 0;
	judge->n_rules = policy->n_rules;
	compose_begin(&composer, policy, &with, &judge->arena);
	r = compose_finish(&composer, &judge->composed);
	return r < 0 ? r : policy_engine_compile(judge->composed, NULL, &judge->engine, NULL);
}

/* The policy's rule that denies @request, or NULL. */
static const struct rule *denying_rule(const struct judge *judge,
				       const struct policy_request *request)
{
	struct policy_decision decision;

	policy_decide(judge->engine, request, &decision);
	return decision.verdict == POLICY_DENY && decision.cause == CAUSE_RULES &&
			       decision.rules[0] < judge->n_rules
		       ? &judge->composed->rules[decision.rules[0]]
		       : NULL;
}

/* The policy's rule that denies one of @operations at @path, or NULL. */
static const struct rule *find_denial(const struct judge *judge, const char *path,
				      uint64_t operations)
{
	const struct rule *rule = NULL;

	for (uint64_t left = operations; left && !rule; left &= left - 1) {
		const struct policy_request request = {
			.operation = operation_at(__builtin_ctzll(left))->name,
			.path = path,
			.project_root = NO_PROJECT,
			.sandbox = policy_sandbox_level(judge->composed),
			.has_size = true,
		};

		rule = denying_rule(judge, &request);
	}
	return rule;
}

static void warn_of_mount(struct checker *checker, const struct policy_mount *mount,
			  const char *why, const char *fix)
{
	check_warn(checker, CHECK_MOUNT, mount->target->place, why, fix,
		   "no sandbox can mount at '%s'", mount->target->text);
	checker->warning.is_refused = true;
}

static void say_denial(struct checker *checker, const struct rule *rule)
{
	sbx_error_why(&checker->warning.error,
		      "rule '%s' (%s:%u) denies it, and a denial takes precedence", rule->name,
		      checker->policy->sources[rule->place.source].name, rule->place.at.line);
}

/* A rule can deny a mount by its target or by its source. */
static int check_denied(struct checker *checker, const struct policy_mount *mount,
			struct judge *judge)
{
	const char *inside = mount->target->text, *outside = mount->source ? mount->source : inside;
	uint64_t operations = mount_operations(mount->mode);
	const struct rule *rule;
	const char *below;

	inside = view_setting_path(inside, NO_PROJECT, &judge->arena);
	outside = view_setting_path(outside, NO_PROJECT, &judge->arena);
	below = inside ? view_setting_path("./" NAME_BELOW, inside, &judge->arena) : NULL;
	if (!below || !outside)
		return -ENOMEM;
	rule = find_denial(judge, inside, operations);
	if (!rule)
		rule = find_denial(judge, outside, operations);
	/* The source of a bind mount may be a file, with nothing below it. */
	if (!rule && (mount->mode == MOUNT_TMPFS || mount->mode == MOUNT_OVERLAY))
		rule = find_denial(judge, below, operations);
	if (!rule)
		return 0;
	warn_of_mount(checker, mount, "",
		      "remove the mount, or except its path from the denying rule");
	say_denial(checker, rule);
	return 0;
}

/* A rule can deny to read a secret, or its copy inside. */
static int check_secret(struct checker *checker, struct judge *judge, const struct setting *setting,
			const char *name)
{
	const char *outside, *inside;
	const struct rule *rule;
	int r = judge_open(judge, checker->policy);

	if (r < 0)
		return r;
	outside = view_setting_path(setting->text, NO_PROJECT, &judge->arena);
	inside = view_setting_path(name, VIEW_SECRETS, &judge->arena);
	if (!outside || !inside)
		return -ENOMEM;
	rule = find_denial(judge, inside, operation_set("fs.read"));
	if (!rule)
		rule = find_denial(judge, outside, operation_set("fs.read"));
	if (!rule)
		return 0;
	check_warn(checker, CHECK_SETTING, setting->place, NULL,
		   "remove the secret, or except it from the denying rule",
		   "no sandbox can have '%s'", setting->path);
	say_denial(checker, rule);
	checker->warning.is_refused = true;
	return 0;
}

static int check_secrets(struct checker *checker, struct judge *judge)
{
	const struct policy *policy = checker->policy;

	for (size_t i = 0; i < policy->n_settings; i++) {
		const char *name = setting_below(&policy->settings[i], "env.secrets.");
		int r = name ? check_secret(checker, judge, &policy->settings[i], name) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

/* Warns about a port of "net.loopback" that a rule denies. */
static void check_port(struct checker *checker, const struct judge *judge,
		       const struct setting *setting, const char *operation)
{
	/* The same hosts as in decide_ports() of lib/plan. */
	static const char *const hosts[] = { "127.0.0.1", "localhost" };
	const struct rule *rule = NULL;

	for (size_t i = 0; !rule && i < N_ELEMENTS(hosts); i++) {
		const struct policy_request request = {
			.operation = operation,
			.project_root = NO_PROJECT,
			.host = hosts[i],
			.port = (uint16_t)setting->number,
			.has_port = true,
		};

		rule = denying_rule(judge, &request);
	}
	if (!rule)
		return;
	check_warn(checker, CHECK_SETTING, setting->place, NULL,
		   "remove the port, or except it from the rule", "no sandbox can have '%s'",
		   setting->path);
	say_denial(checker, rule);
	checker->warning.is_refused = true;
}

static int check_ports(struct checker *checker, struct judge *judge)
{
	const struct policy *policy = checker->policy;

	for (size_t i = 0; i < policy->n_settings; i++) {
		const struct setting *setting = &policy->settings[i];
		bool is_bound = setting_below(setting, "net.loopback.bind[");
		int r;

		if (!is_bound && !setting_below(setting, "net.loopback.connect["))
			continue;
		r = judge_open(judge, policy);
		if (r < 0)
			return r;
		check_port(checker, judge, setting, is_bound ? "net.bind" : "net.connect");
	}
	return 0;
}

static int check_nested(struct checker *checker, struct judge *judge)
{
	const struct setting *nested = policy_get_setting(checker->policy, "isolation.nested");
	const struct policy_request request = {
		.operation = "exec",
		.path = "/" NAME_BELOW,
		.project_root = NO_PROJECT,
		.sandbox = policy_sandbox_level(checker->policy),
	};
	struct policy_decision decision;
	int r;

	if (!policy_is_nested(checker->policy))
		return 0;
	r = judge_open(judge, checker->policy);
	if (r < 0)
		return r;
	policy_decide(judge->engine, &request, &decision);
	if (policy_permits(decision.verdict))
		return 0;
	check_warn(checker, CHECK_SETTING, nested->place,
		   "the command can execute a copy of any program in a file system that it mounts",
		   "allow exec without a path, or remove 'nested'",
		   "no sandbox can limit what is executed under '%s'", nested->path);
	checker->warning.is_refused = true;
	return 0;
}

/* Landlock would keep nested sandboxes from mounting. */
static void check_nested_landlock(struct checker *checker)
{
	static const char *const settings[] = { "isolation.landlock", "plugins.landlock" };

	for (size_t i = 0; policy_is_nested(checker->policy) && i < N_ELEMENTS(settings); i++) {
		const struct setting *setting = policy_get_setting(checker->policy, settings[i]);

		if (!setting || setting->number == 0)
			continue;
		check_warn(checker, CHECK_SETTING, setting->place,
			   "a sandbox with 'isolation.nested' has no Landlock",
			   "remove it, or 'isolation.nested'", "no sandbox can have '%s'",
			   setting->path);
		checker->warning.is_refused = true;
	}
}

static int check_mounts(struct checker *checker, struct judge *judge)
{
	struct policy_mount mount;
	int r;

	for (size_t i = 0; policy_get_mount(checker->policy, i, &mount); i++) {
		const char *fix = "", *why = mount_refusal(checker->policy, i, &fix);
		/* On a host that lacks its source, an optional mount is skipped. */
		bool may_be_missing = mount.is_optional && mount.mode != MOUNT_TMPFS;

		if (why) {
			warn_of_mount(checker, &mount, why, fix);
			continue;
		}
		if (mount.mode == MOUNT_MASK || may_be_missing)
			continue;
		r = judge_open(judge, checker->policy);
		if (r < 0)
			return r;
		r = check_denied(checker, &mount, judge);
		if (r < 0)
			return r;
	}
	return 0;
}

int check_judged(struct checker *checker)
{
	_cleanup_judge_ struct judge judge = { .arena = ARENA_INIT };
	int r = check_mounts(checker, &judge);

	if (r < 0)
		return r;
	check_nested_landlock(checker);
	r = check_secrets(checker, &judge);
	if (r < 0)
		return r;
	/* A command in the host's network namespace has no separate loopback. */
	r = checker->net_mode == NET_HOST ? 0 : check_ports(checker, &judge);
	return r < 0 ? r : check_nested(checker, &judge);
}
