/* SPDX-License-Identifier: MIT */

/*
 * Rules of the file first, with their numbers; then what follows from them; then what others add.
 * Nothing is copied but what is changed: the composed policy borrows the strings of the original.
 *
 * A path that is put in place of another ("mounts" with a source, --bind) is a grant and, because
 * the rules around it speak of other files, a denial of everything that the grant does not name.
 * The denial excepts the grants further down, which speak for themselves.
 */

#include "policy/compose.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "policy/compile.h"
#include "policy/glob.h"
#include "policy/net-mode.h"
#include "policy/unseen.h"

#define RULES_FIRST 8

static const struct policy_source no_source = { .name = "the built-in view", .bytes = "" };

static uint64_t files(void)
{
	return operation_set("fs.*");
}

static uint64_t reads(void)
{
	return operation_set("fs.read") | operation_set("fs.list") | operation_set("fs.exists");
}

uint64_t compose_file_operations(void)
{
	return files() | operation_set("exec");
}

static void *take(struct composer *composer, size_t n_bytes)
{
	void *bytes = arena_alloc(composer->arena, n_bytes);

	composer->no_memory |= !bytes;
	return bytes;
}

static struct rule *add_rule(struct composer *composer, const struct rule *rule)
{
	struct policy *policy = &composer->policy;

	if (composer->n_free == 0) {
		size_t n = policy->n_rules + RULES_FIRST;
		struct rule *rules = take(composer, 2 * n * sizeof(*rules));

		if (!rules)
			return NULL;
		if (policy->n_rules > 0)
			memcpy(rules, policy->rules, policy->n_rules * sizeof(*rules));
		policy->rules = rules;
		composer->n_free = 2 * n - policy->n_rules;
	}
	composer->n_free--;
	policy->rules[policy->n_rules] = *rule;
	return &policy->rules[policy->n_rules++];
}

/* The worst case */

/* True where the condition had a key that only a caller's tool can answer. */
static bool drop_unknown(struct condition *condition)
{
	bool is_dropped = false;

	for (int key = 0; key < N_MATCH_KEYS; key++) {
		struct match_list *list = &condition->lists[key];

		/* An empty list holds for nothing, whoever asks. */
		if (!match_key_is_unseen((enum match_key)key) || !list->present ||
		    list->n_values == 0)
			continue;
		list->present = false;
		is_dropped = true;
	}
	return is_dropped;
}

/* In a denial what cannot be known holds in the match and not in the exceptions; elsewhere it is
 * the other way about. A permission that is out of reach gives nothing, but takes from a default
 * that allows: it is as a denial. */
static void assume_worst(struct composer *composer, struct rule *rule)
{
	bool denies = rule->action == POLICY_DENY ||
		      constraints_unmet(&rule->constraints, composer->with.level) != UNMET_NONE;
	struct condition *kept = take(composer, rule->n_exceptions * sizeof(*kept));
	size_t n = 0;

	for (size_t i = 0; kept && i < rule->n_exceptions; i++) {
		kept[n] = rule->exceptions[i];
		if (!drop_unknown(&kept[n]) || !denies)
			n++;
	}
	rule->exceptions = kept;
	rule->n_exceptions = n;
	if (denies)
		(void)drop_unknown(&rule->match);
	rule->constraints.max_file_size_bytes = UINT64_MAX;
}

/* Symbolic links */

static bool is_plain(const struct glob *glob)
{
	for (size_t i = 0; i < glob->n_components; i++)
		if (glob->components[i].kind != GLOB_LITERAL)
			return false;
	return !glob->bare;
}

/* The literal path of the glob; NULL where it is relative and the project is not known. */
static const char *named_path(struct composer *composer, const struct glob *glob)
{
	const char *root = glob->absolute ? "" : composer->with.project;
	size_t n = root ? strlen(root) : 0;
	char *path, *end;

	if (!root)
		return NULL;
	for (size_t i = 0; i < glob->n_components; i++)
		n += glob->components[i].len + 1;
	path = end = take(composer, n + 2);
	if (!path)
		return NULL;
	end = stpcpy(end, strcmp(root, "/") == 0 ? "" : root);
	for (size_t i = 0; i < glob->n_components; i++) {
		*end++ = '/';
		end = mempcpy(end, glob->components[i].text, glob->components[i].len);
	}
	if (end == path)
		*end++ = '/';
	*end = '\0';
	return path;
}

/* A glob for @path, with the ending of the original. */
static const char *write_glob(struct composer *composer, const char *path, const struct glob *like)
{
	char *text = take(composer, 2 * strlen(path) + 5), *end = text;

	if (!text)
		return "";
	if (like->excludes)
		*end++ = '!';
	for (; *path; path++) {
		if (strchr("*?[\\", *path))
			*end++ = '\\';
		*end++ = *path;
	}
	end = stpcpy(end, !like->subtree ? "" : like->itself ? "/" : "/**");
	*end = '\0';
	return text;
}

/* The same value for where its path really is; false where it is there. */
static bool resolve_value(struct composer *composer, const struct match_value *value,
			  struct match_value *ret)
{
	const char *path, *real;
	struct glob glob;

	if (glob_parse(value->text, value->literal, &glob, NULL) < 0 || !is_plain(&glob))
		return false;
	path = named_path(composer, &glob);
	real = path ? composer->with.resolve(composer->with.context, path) : NULL;
	if (!real || strcmp(real, path) == 0 || strcmp(real, "/") == 0)
		return false;
	*ret = *value;
	ret->text = value->literal ? real : write_glob(composer, real, &glob);
	return true;
}

static void resolve_list(struct composer *composer, struct match_list *list)
{
	struct match_value *values = take(composer, 2 * list->n_values * sizeof(*values));
	size_t n = list->n_values;

	if (!values || n == 0)
		return;
	memcpy(values, list->values, n * sizeof(*values));
	for (size_t i = 0; i < list->n_values; i++)
		n += resolve_value(composer, &list->values[i], &values[n]);
	list->values = values;
	list->n_values = n;
}

/* A rule about a path is about the file there, under whatever name the kernel sees it. */
static void resolve_rule(struct composer *composer, struct rule *rule)
{
	struct condition *exceptions = take(composer, rule->n_exceptions * sizeof(*exceptions));

	if (!composer->with.resolve || !exceptions)
		return;
	resolve_list(composer, &rule->match.lists[MATCH_PATH]);
	for (size_t i = 0; i < rule->n_exceptions; i++) {
		exceptions[i] = rule->exceptions[i];
		resolve_list(composer, &exceptions[i].lists[MATCH_PATH]);
	}
	rule->exceptions = exceptions;
}

/* "dir" followed by two stars names what is below it: then its names can be listed, too. */
static void add_directories(struct composer *composer, const struct rule *rule)
{
	const struct match_list *list = &rule->match.lists[MATCH_PATH];
	struct match_value *values = take(composer, list->n_values * sizeof(*values));
	struct rule more = *rule;
	size_t n = 0;

	more.match.operations &= operation_set("fs.list") | operation_set("fs.exists");
	if (!values || rule->action == POLICY_DENY || !more.match.operations)
		return;
	for (size_t i = 0; i < list->n_values; i++) {
		struct glob glob;

		if (list->values[i].literal ||
		    glob_parse(list->values[i].text, false, &glob, NULL) < 0)
			continue;
		values[n] = list->values[i];
		if (glob.subtree && !glob.itself && glob.n_components > 0) {
			char *text = take(composer, strlen(values[n].text) + 1);
			char *end = text ? stpcpy(text, values[n].text) : NULL;

			/* "dir" and two stars; "dir/" would mean the same again. */
			while (end && end > text && (end[-1] == '*' || end[-1] == '/'))
				*--end = '\0';
			values[n].text = text ? text : "";
			n += end > text;
		} else {
			n += glob.excludes;
		}
	}
	more.match.lists[MATCH_PATH].values = values;
	more.match.lists[MATCH_PATH].n_values = n;
	for (size_t i = 0; i < n; i++)
		if (values[i].text[0] != '!') {
			(void)add_rule(composer, &more);
			return;
		}
}

/* Paths that are added */

static struct match_list list_path(struct composer *composer, const char *path,
				   struct policy_place place)
{
	struct match_value *value = take(composer, sizeof(*value));

	if (value)
		*value = (struct match_value){ .text = path, .place = place, .literal = true };
	return (struct match_list){
		.present = true, .values = value, .n_values = value ? 1 : 0, .place = place
	};
}

static void add_excepts(struct composer *composer, const struct composed_path *path,
			struct rule *rule)
{
	struct condition *exceptions = take(composer, path->n_excepts * sizeof(*exceptions));

	for (size_t i = 0; exceptions && i < path->n_excepts; i++) {
		exceptions[i] = (struct condition){ .operations = path->excepts[i].operations,
						    .place = path->place };
		exceptions[i].lists[MATCH_PATH] =
			list_path(composer, path->excepts[i].path, path->place);
	}
	rule->exceptions = exceptions;
	rule->n_exceptions = exceptions ? path->n_excepts : 0;
}

static size_t add_path(struct composer *composer, const struct composed_path *path,
		       enum policy_action action)
{
	struct rule rule = {
		.name = path->name,
		.action = action,
		.match = { .operations = path->operations, .place = path->place },
		.constraints.max_file_size_bytes = UINT64_MAX,
		.place = path->place,
	};

	rule.match.lists[MATCH_PATH] = list_path(composer, path->path, path->place);
	add_excepts(composer, path, &rule);
	resolve_rule(composer, &rule);
	(void)add_rule(composer, &rule);
	return composer->policy.n_rules - 1;
}

size_t compose_grant(struct composer *composer, const struct composed_path *path)
{
	return add_path(composer, path, POLICY_ALLOW);
}

size_t compose_deny(struct composer *composer, const struct composed_path *path)
{
	return add_path(composer, path, POLICY_DENY);
}

struct cover {
	size_t number;	  /* of its rule */
	const char *path; /* as it was named */
	bool is_of_host;  /* the host's own files, which others may show besides: only where the
			   * rules  around it are about a tmpfs */
	bool is_tmpfs;
};

static size_t add_cover(struct composer *composer, const struct composed_path *path,
			struct cover cover)
{
	size_t number = compose_grant(composer, path);
	struct cover *covers = take(composer, (composer->n_covers + 1) * sizeof(*covers));

	if (!covers)
		return number;
	if (composer->covers)
		memcpy(covers, composer->covers, composer->n_covers * sizeof(*covers));
	cover.number = number;
	cover.path = path->path;
	covers[composer->n_covers++] = cover;
	composer->covers = covers;
	return number;
}

size_t compose_cover(struct composer *composer, const struct composed_path *path)
{
	return add_cover(composer, path, (struct cover){ .is_of_host = false });
}

static bool is_below(const char *path, const char *directory)
{
	size_t len = strlen(directory);

	return strncmp(path, directory, len) == 0 && path[len] == '/';
}

static bool is_at_or_below(const char *path, const char *directory)
{
	return strcmp(path, directory) == 0 || is_below(path, directory);
}

static const char *const private_directories[] = { "/tmp", "/var/tmp" };

bool compose_is_private(const char *path)
{
	for (size_t i = 0; i < N_ELEMENTS(private_directories); i++)
		if (strcmp(path, private_directories[i]) == 0)
			return true;
	return false;
}

/* The rules around it are about the files of a tmpfs. */
static bool is_in_private(const struct composer *composer, const char *path)
{
	const char *home = composer->with.home, *real = path;

	if (composer->with.resolve)
		real = composer->with.resolve(composer->with.context, path);
	if (home && is_at_or_below(real, home))
		return true;
	for (size_t i = 0; i < composer->n_covers; i++) {
		const struct cover *cover = &composer->covers[i];

		if (cover->is_tmpfs && (is_below(path, cover->path) || is_below(real, cover->path)))
			return true;
	}
	for (size_t i = 0; i < N_ELEMENTS(private_directories); i++)
		if (is_at_or_below(path, private_directories[i]))
			return true;
	return false;
}

size_t compose_show(struct composer *composer, const struct composed_path *path)
{
	return path->operations & reads()
		       ? add_cover(composer, path, (struct cover){ .is_of_host = true })
		       : compose_grant(composer, path);
}

size_t compose_tmpfs(struct composer *composer, const struct composed_path *path)
{
	return add_cover(composer, path, (struct cover){ .is_of_host = true, .is_tmpfs = true });
}

static const char *path_of(const struct rule *rule)
{
	return rule->match.lists[MATCH_PATH].values[0].text;
}

/* What the cover and, if it shows the host's own files, the others at its path grant. */
static uint64_t granted_at(const struct composer *composer, const struct cover *cover)
{
	const struct rule *rules = composer->policy.rules;
	uint64_t operations = rules[cover->number].match.operations;

	for (size_t i = 0; cover->is_of_host && i < composer->n_covers; i++) {
		const struct rule *other = &rules[composer->covers[i].number];

		if (strcmp(path_of(other), path_of(&rules[cover->number])) == 0)
			operations |= other->match.operations;
	}
	return operations;
}

static bool is_in(const char *path, const struct rule *rule, bool itself)
{
	const struct match_list *list = &rule->match.lists[MATCH_PATH];

	for (size_t i = 0; i < list->n_values; i++)
		if (is_below(path, list->values[i].text) ||
		    (itself && strcmp(path, list->values[i].text) == 0))
			return true;
	return false;
}

/* @rule denies what it matches, but for the grants further down, which speak for themselves; with
 * @itself also for those of its paths. */
static void deny_but_grants(struct composer *composer, struct rule *rule, bool itself)
{
	const struct policy *policy = &composer->policy;
	size_t n_rules = policy->n_rules, n = 0;
	struct condition *exceptions = take(composer, n_rules * sizeof(*exceptions));

	rule->action = POLICY_DENY;
	for (size_t i = composer->n_original; exceptions && i < n_rules; i++) {
		const struct rule *other = &policy->rules[i];

		if (other->action == POLICY_ALLOW && other->match.lists[MATCH_PATH].n_values > 0 &&
		    is_in(path_of(other), rule, itself))
			exceptions[n++] =
				(struct condition){ .operations = other->match.operations,
						    .lists[MATCH_PATH] =
							    other->match.lists[MATCH_PATH],
						    .place = other->place };
	}
	rule->exceptions = exceptions;
	rule->n_exceptions = n;
	(void)add_rule(composer, rule);
}

/* All paths that the grant excepts from these operations; 0: from all of them. */
static struct match_list list_excepted(struct composer *composer, const struct rule *grant,
				       uint64_t operations)
{
	struct match_list list = { .present = true, .place = grant->place };
	struct match_value *values;

	for (size_t i = 0; i < grant->n_exceptions; i++)
		list.n_values += grant->exceptions[i].lists[MATCH_PATH].n_values;
	values = take(composer, list.n_values * sizeof(*values));
	list.values = values;
	list.n_values = 0;
	for (size_t i = 0; values && i < grant->n_exceptions; i++) {
		const struct match_list *one = &grant->exceptions[i].lists[MATCH_PATH];

		if (grant->exceptions[i].operations != operations || one->n_values == 0)
			continue;
		memcpy(values + list.n_values, one->values, one->n_values * sizeof(*values));
		list.n_values += one->n_values;
	}
	return list;
}

/* What the grant does not include, where rules around it speak of other files. */
static void deny_excepted(struct composer *composer, size_t number)
{
	const struct rule grant = composer->policy.rules[number];
	struct rule rule = grant;

	for (int i = 0; i < 2 && grant.n_exceptions > 0; i++) {
		uint64_t operations = i == 0 ? 0 : operation_set("fs.write");

		rule.match.lists[MATCH_PATH] = list_excepted(composer, &grant, operations);
		rule.match.operations = operations ? operations : compose_file_operations();
		if (rule.match.lists[MATCH_PATH].n_values > 0)
			deny_but_grants(composer, &rule, true);
	}
}

/* What stands there is the grants' alone, but for those further down. */
static void deny_around(struct composer *composer, const struct cover *cover)
{
	struct rule rule = composer->policy.rules[cover->number];

	rule.match.operations = files() & ~granted_at(composer, cover);
	if (rule.match.operations)
		deny_but_grants(composer, &rule, false);
	deny_excepted(composer, cover->number);
}

/* The implicit view */

static const char *const system_directories[] = {
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc",
};

_Static_assert(N_ELEMENTS(system_directories) + 3 <= VIEW_ROWS_MAX, "the rows of a view");

static bool names_project(const struct match_value *value, const char *project)
{
	return strcmp(value->text, ".") == 0 || strcmp(value->text, "./") == 0 ||
	       (project && strcmp(value->text, project) == 0);
}

/* A rule that names the project itself says what may be done in it. */
static bool is_project_ruled(const struct policy *policy, const char *project)
{
	for (size_t i = 0; policy && i < policy->n_rules; i++) {
		const struct match_list *list = &policy->rules[i].match.lists[MATCH_PATH];

		if (policy->rules[i].match.operations & files())
			for (size_t k = 0; k < list->n_values; k++)
				if (names_project(&list->values[k], project))
					return true;
	}
	return false;
}

void policy_view(const struct policy *policy, const char *project,
		 struct view_row ret[VIEW_ROWS_MAX])
{
	bool has_system = !policy || policy->dialect == DIALECT_BUNTIME ||
			  policy->dialect == DIALECT_MANIFEST;
	bool has_project = has_system && !(policy && policy->dialect == DIALECT_MANIFEST);
	uint64_t run = policy ? 0 : operation_set("exec");
	size_t n = 0;

	for (size_t i = 0; has_system && i < N_ELEMENTS(system_directories); i++)
		ret[n++] = (struct view_row){ system_directories[i], reads() | run };
	if (has_project && project && strcmp(project, "/") == 0)
		ret[n++] = (struct view_row){ "/", reads() | run };
	else if (has_project && !is_project_ruled(policy, project))
		ret[n++] = (struct view_row){ ".", (policy ? files() : reads()) | run };
	/* Without a tmpfs there, since the working directory is shown, its rights would be the
	 * host's /tmp's. */
	if (has_project &&
	    !(project && strcmp(project, "/tmp") == 0 && !is_project_ruled(policy, project)))
		ret[n++] = (struct view_row){ "/tmp", files() | run };
	ret[n] = (struct view_row){ .path = NULL };
}

/* A project below /tmp has the rights of a project: those of /tmp are about a tmpfs. */
static void add_view(struct composer *composer, const struct policy *policy)
{
	const char *project = composer->with.project;
	uint64_t without = composer->with.is_limiting_exec ? operation_set("exec") : 0;
	struct view_row rows[VIEW_ROWS_MAX];

	policy_view(policy, project, rows);
	for (size_t i = 0; rows[i].path; i++) {
		struct composed_path path = {
			.name = "the implicit view",
			.path = rows[i].path,
			.operations = rows[i].operations & ~without,
		};
		bool is_project = strcmp(path.path, ".") == 0;

		if (is_project || strcmp(path.path, "/") == 0) {
			path.excepts = composer->with.excepts;
			path.n_excepts = composer->with.n_excepts;
		}
		if (project && is_project) {
			path.path = project;
			(void)compose_show(composer, &path);
		} else {
			(void)compose_grant(composer, &path);
		}
	}
}

/* Mounts, sockets and secrets */

uint64_t mount_operations(enum mount_mode mode)
{
	return mode == MOUNT_READ_ONLY ? reads()
	       : mode == MOUNT_MASK    ? compose_file_operations()
				       : files();
}

/* A path of a setting: what is relative is below the project. */
static const char *setting_path(struct composer *composer, const char *text)
{
	const char *root = composer->with.project ? composer->with.project : ".";
	char *path;

	if (text[0] == '/')
		return text;
	while (strncmp(text, "./", 2) == 0)
		text += 2;
	if (text[0] == '\0' || strcmp(text, ".") == 0)
		return root;
	path = take(composer, strlen(root) + strlen(text) + 2);
	if (!path)
		return "/";
	(void)stpcpy(stpcpy(stpcpy(path, strcmp(root, "/") == 0 ? "" : root), "/"), text);
	return path;
}

/* Where the mount shows @path of the host, or NULL. What contains the source is shown whole. */
static const char *shown_at(struct composer *composer, const char *path, const char *source,
			    const char *target)
{
	char *shown;

	if (is_at_or_below(source, path))
		return target;
	if (!is_below(path, source))
		return NULL;
	shown = take(composer, strlen(target) + strlen(path) - strlen(source) + 1);
	if (shown)
		(void)stpcpy(stpcpy(shown, target), path + strlen(source));
	return shown;
}

/* What is denied outside is denied wherever a mount shows it. */
static void deny_where_shown(struct composer *composer, const char *source, const char *target)
{
	for (size_t i = 0; composer->policy.rules && i < composer->n_original; i++) {
		struct rule rule = composer->policy.rules[i];
		const struct match_list list = rule.match.lists[MATCH_PATH];

		if (rule.action != POLICY_DENY || !(rule.match.operations & files()) ||
		    rule.n_exceptions > 0)
			continue;
		for (size_t k = 0; k < list.n_values; k++) {
			const char *shown =
				list.values[k].literal
					? shown_at(composer,
						   setting_path(composer, list.values[k].text),
						   source, target)
					: NULL;

			if (!shown)
				continue;
			rule.match.lists[MATCH_PATH] = list_path(composer, shown, rule.place);
			(void)add_rule(composer, &rule);
		}
	}
}

static void add_mount(struct composer *composer, const struct policy_mount *mount)
{
	struct composed_path path = {
		.name = "mounts",
		.path = setting_path(composer, mount->target->text),
		.operations = mount_operations(mount->mode),
		.place = mount->target->place,
	};
	bool is_other =
		mount->source && strcmp(setting_path(composer, mount->source), path.path) != 0;

	if (mount->mode == MOUNT_MASK)
		(void)compose_deny(composer, &path);
	else if (is_other)
		(void)compose_cover(composer, &path);
	else if (mount->mode == MOUNT_TMPFS)
		(void)compose_tmpfs(composer, &path);
	else
		(void)compose_show(composer, &path);
	if (is_other)
		deny_where_shown(composer, setting_path(composer, mount->source), path.path);
}

static void add_settings(struct composer *composer, const struct policy *policy)
{
	static const char secrets[] = "env.secrets.", sockets[] = "net.unix[";
	struct policy_mount mount;

	for (size_t i = 0; policy_get_mount(policy, i, &mount); i++)
		add_mount(composer, &mount);
	for (size_t i = 0; i < policy->n_settings; i++) {
		const struct setting *setting = &policy->settings[i];
		struct composed_path path = { .place = setting->place };

		if (strncmp(setting->path, sockets, strlen(sockets)) == 0) {
			path.name = "net.unix";
			path.path = setting_path(composer, setting->text);
			path.operations = files();
			(void)compose_grant(composer, &path);
		} else if (strncmp(setting->path, secrets, strlen(secrets)) == 0) {
			const char *name = setting->path + strlen(secrets);
			char *inside = take(composer, sizeof(COMPOSE_SECRETS) + strlen(name) + 1);

			path.name = "env.secrets";
			path.path = inside;
			path.operations = reads();
			if (inside) {
				(void)stpcpy(stpcpy(inside, COMPOSE_SECRETS "/"), name);
				(void)compose_grant(composer, &path);
			}
		}
	}
}

void compose_begin(struct composer *composer, const struct policy *policy,
		   const struct composition *with, struct arena *arena)
{
	struct rule implied[NET_RULES_MAX];

	*composer = (struct composer){ .arena = arena, .with = *with };
	if (policy) {
		composer->policy = *policy;
		composer->policy.arena = (struct arena)ARENA_INIT;
		composer->policy.rules = NULL;
		composer->policy.n_rules = 0;
	} else {
		struct policy_source *source = take(composer, sizeof(*source));

		for (int i = 0; i < N_CLASSES; i++)
			composer->policy.defaults[i] = POLICY_DENY;
		composer->policy.sources = source;
		composer->policy.n_sources = source ? 1 : 0;
		if (source)
			*source = no_source;
	}
	for (size_t i = 0; policy && i < policy->n_rules; i++) {
		struct rule *rule = add_rule(composer, &policy->rules[i]);

		if (rule && with->is_worst_case)
			assume_worst(composer, rule);
		if (rule)
			resolve_rule(composer, rule);
	}
	composer->n_original = composer->policy.n_rules;
	/* Without memory there are fewer. */
	for (size_t i = 0; composer->policy.rules && i < composer->n_original; i++)
		add_directories(composer, &composer->policy.rules[i]);
	composer->n_original = composer->policy.n_rules;
	add_view(composer, policy);
	if (!policy)
		return;
	add_settings(composer, policy);
	for (size_t i = 0, n = policy_net_rules(policy, implied); i < n; i++)
		(void)add_rule(composer, &implied[i]);
}

int compose_finish(struct composer *composer, const struct policy **ret)
{
	struct policy *policy;

	for (size_t i = 0; i < composer->n_covers; i++) {
		const struct cover *cover = &composer->covers[i];

		if (!cover->is_of_host || is_in_private(composer, cover->path))
			deny_around(composer, cover);
	}
	policy = take(composer, sizeof(*policy));
	if (composer->no_memory)
		return -ENOMEM;
	*policy = composer->policy;
	*ret = policy;
	return 0;
}

int policy_compile_composed(const struct policy *policy,
			    const char *(*resolve)(void *arena, const char *path), void **ret_block,
			    size_t *ret_n_bytes, struct sbx_error *err)
{
	struct arena arena = ARENA_INIT;
	const struct composition with = { .resolve = resolve, .context = &arena };
	const struct policy *composed;
	struct composer composer;
	int r;

	compose_begin(&composer, policy, &with, &arena);
	r = compose_finish(&composer, &composed);
	if (r == 0)
		r = policy_compile(composed, ret_block, ret_n_bytes, err);
	arena_deinit(&arena);
	return r;
}
