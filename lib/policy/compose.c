/* SPDX-License-Identifier: MIT */

/*
 * Rules of the file come first and keep their numbers; then come rules derived from them, then
 * rules of settings and options. Only changed rules are copied: the composed policy borrows the
 * strings of the original.
 */

#include "policy/compose.h"

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "policy/compile.h"
#include "policy/enforcement.h"
#include "policy/glob.h"
#include "policy/network.h"
#include "policy/view.h"

static const struct policy_source no_source = { .name = POLICY_BUILT_IN_VIEW, .bytes = "" };

void *composer_take(struct composer *composer, size_t n_bytes)
{
	void *bytes = arena_alloc(composer->arena, n_bytes);

	composer->no_memory |= !bytes;
	return bytes;
}

struct rule *composer_add_rule(struct composer *composer, const struct rule *rule)
{
	struct rule *row = arena_add_row(composer->arena, &composer->rules, sizeof(*row));

	composer->no_memory |= !row;
	if (!row)
		return NULL;
	*row = *rule;
	composer->policy.rules = composer->rules.rows;
	composer->policy.n_rules = composer->rules.n_rows;
	return row;
}

/* ---- the worst case ---- */

/* Drops the keys that the kernel cannot check. True if the condition had one. */
static bool drop_unknown(struct condition *condition)
{
	bool is_dropped = false;

	for (int key = 0; key < N_MATCH_KEYS; key++) {
		struct match_list *list = &condition->lists[key];

		/* An empty list holds for no caller. */
		if (!match_key_is_unseen((enum match_key)key) || !list->present ||
		    list->n_values == 0)
			continue;
		list->present = false;
		is_dropped = true;
	}
	return is_dropped;
}

/* Assumes the worst about keys that the kernel cannot check: in a denial they hold in the match and
 * not in the exceptions; in a permission the other way round. A review is a denial. A permission
 * whose constraint no command meets removes a right that the default may grant, so it is treated as
 * a denial; a level that the sandbox has need not be stated by a request. */
static void assume_worst(struct composer *composer, struct rule *rule)
{
	bool is_met = constraints_unmet(&rule->constraints, composer->with.level) == UNMET_NONE;
	bool denies = rule->action == POLICY_DENY || rule->action == POLICY_REVIEW || !is_met;
	struct condition *kept = composer_take(composer, rule->n_exceptions * sizeof(*kept));
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
	if (is_met && composer->with.level)
		rule->constraints.require_sandbox = NULL;
}

/* ---- symbolic links ---- */

bool composer_parse_plain(const struct match_value *value, struct glob *ret)
{
	if (glob_parse(value->text, value->literal, ret, NULL) < 0)
		return false;
	for (size_t i = 0; i < ret->n_components; i++)
		if (ret->components[i].kind != GLOB_LITERAL)
			return false;
	return value->literal || !ret->bare;
}

const char *composer_name_path(struct composer *composer, const struct glob *glob,
			       const char *project)
{
	const char *root = glob->absolute ? "" : project;
	size_t n = root ? strlen(root) : 0;
	char *path, *end;

	if (!root)
		return NULL;
	for (size_t i = 0; i < glob->n_components; i++)
		n += glob->components[i].len + 1;
	path = end = composer_take(composer, n + 2);
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

/* A glob for @path with the same ending as @like. */
static const char *write_glob(struct composer *composer, const char *path, const struct glob *like)
{
	char *text = composer_take(composer, 2 * strlen(path) + 5), *end = text;

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

static const char *setting_path(struct composer *composer, const char *text)
{
	const char *project = composer->with.project ? composer->with.project : ".";
	const char *path = view_setting_path(text, project, composer->arena);

	composer->no_memory |= !path;
	return path ? path : "/";
}

/* The path at which the mount at @target shows @path, which is @source or below it. */
static const char *shown_at(struct composer *composer, const char *path, const char *source,
			    const char *target)
{
	char *shown = composer_take(composer, strlen(target) + strlen(path) - strlen(source) + 1);

	if (!shown)
		return target;
	(void)stpcpy(stpcpy(shown, target), path + strlen(source));
	return shown;
}

/* The path at which the innermost mount of other files shows @path, because links can lead to its
 * target; NULL if no mount does. What a mount shows has nothing to do with the host's links below
 * the target. */
static const char *find_mounted(struct composer *composer, const char *path)
{
	const char *found = NULL, *real;
	struct policy_mount mount;

	if (composer->with.find_shown)
		return composer->with.find_shown(composer->with.context, path);
	for (size_t i = 0; policy_get_mount(&composer->policy, i, &mount); i++) {
		const char *target = setting_path(composer, mount.target->text);

		if (mount.source && path_is_at_or_below(path, target) &&
		    (!found || strlen(target) > strlen(found)))
			found = target;
	}
	if (!found)
		return NULL;
	real = (composer->with.resolve_target
			? composer->with.resolve_target
			: composer->with.resolve)(composer->with.context, found);
	return shown_at(composer, path, found, real);
}

/* Adds the same value for the real path, and returns how many: 0 if it names that already. @widens:
 * the command may do more with it. */
static size_t resolve_value(struct composer *composer, const struct match_value *value, bool widens,
			    struct match_value ret[static 2])
{
	const char *path, *reals[2];
	struct glob glob;
	size_t n = 0;

	if (!composer_parse_plain(value, &glob))
		return 0;
	path = composer_name_path(composer, &glob, composer->with.project);
	if (!path)
		return 0;
	reals[0] = find_mounted(composer, path);
	reals[1] = reals[0] && widens ? NULL : composer->with.resolve(composer->with.context, path);
	for (size_t i = 0; i < N_ELEMENTS(reals); i++) {
		if (!reals[i] || strcmp(reals[i], path) == 0 || strcmp(reals[i], "/") == 0)
			continue;
		ret[n] = *value;
		ret[n++].text = value->literal ? reals[i] : write_glob(composer, reals[i], &glob);
	}
	return n;
}

static void resolve_list(struct composer *composer, struct match_list *list, bool widens)
{
	struct match_value *values = composer_take(composer, 3 * list->n_values * sizeof(*values));
	size_t n = list->n_values;

	if (!values || n == 0)
		return;
	memcpy(values, list->values, n * sizeof(*values));
	for (size_t i = 0; i < list->n_values; i++)
		n += resolve_value(composer, &list->values[i],
				   widens && !match_value_excludes(&list->values[i]), &values[n]);
	list->values = values;
	list->n_values = n;
}

/* The kernel sees a file's real path: add that path to a rule about a symbolic link. */
static void resolve_rule(struct composer *composer, struct rule *rule)
{
	bool permits = policy_permits(rule->action);
	struct condition *exceptions =
		composer_take(composer, rule->n_exceptions * sizeof(*exceptions));

	if (!composer->with.resolve || !exceptions)
		return;
	resolve_list(composer, &rule->match.lists[MATCH_PATH], permits);
	for (size_t i = 0; i < rule->n_exceptions; i++) {
		exceptions[i] = rule->exceptions[i];
		resolve_list(composer, &exceptions[i].lists[MATCH_PATH], !permits);
	}
	rule->exceptions = exceptions;
}

/* A mount is not at what a link leads to that is not followed to its target. */
static void resolve_cover(struct composer *composer, struct rule *rule)
{
	const struct composition kept = composer->with;

	if (kept.resolve_target)
		composer->with.resolve = kept.resolve_target;
	resolve_rule(composer, rule);
	composer->with = kept;
}

/* ---- directories of which a rule names everything below ---- */

/* The length of the text without the "**" components at its end. */
static size_t parent_length(const char *text, size_t len)
{
	size_t n_stars = 0;

	len -= text[len - 1] == '/';
	for (;;) {
		while (n_stars < len && text[len - n_stars - 1] == '*')
			n_stars++;
		if (n_stars < 2 || n_stars == len || text[len - n_stars - 1] != '/')
			return len;
		len -= n_stars + 1;
		n_stars = 0;
	}
}

/* "dir" for "dir" and two stars, with the same anchor: a name without a slash would be found
 * anywhere. False for a glob that names no directory in this way. */
static bool parent_value(struct composer *composer, const struct match_value *value,
			 struct match_value *ret)
{
	size_t len = strlen(value->text), skipped;
	struct glob glob;
	char *text, *end;

	if (value->literal || glob_parse(value->text, false, &glob, NULL) < 0 || !glob.subtree ||
	    glob.itself || glob.n_components == 0)
		return false;
	text = end = composer_take(composer, len + 3);
	if (!text)
		return false;
	skipped = glob.excludes;
	len = parent_length(value->text, len);
	if (glob.excludes)
		*end++ = '!';
	if (!memchr(value->text, '/', len))
		end = stpcpy(end, "./");
	end = mempcpy(end, value->text + skipped, len - skipped);
	*end = '\0';
	*ret = *value;
	ret->text = text;
	return true;
}

/* The directories of the list's globs, without the values that match below them; the values that
 * exclude are kept. In an exception it is the other way round: it may only grow. */
static struct match_list list_parents(struct composer *composer, const struct match_list *list,
				      bool is_exception)
{
	struct match_value *values = composer_take(composer, 2 * list->n_values * sizeof(*values));
	struct match_list parents = *list;
	size_t n = 0;

	for (size_t i = 0; values && i < list->n_values; i++) {
		const struct match_value *value = &list->values[i];
		bool excludes = match_value_excludes(value);

		if (is_exception || excludes)
			values[n++] = *value;
		if (!is_exception || !excludes)
			n += parent_value(composer, value, &values[n]);
	}
	parents.values = values;
	parents.n_values = n;
	return parents;
}

static void except_parents(struct composer *composer, struct rule *rule)
{
	struct condition *all = composer_take(composer, rule->n_exceptions * sizeof(*all));

	for (size_t i = 0; all && i < rule->n_exceptions; i++) {
		struct match_list *list = &all[i].lists[MATCH_PATH];

		all[i] = rule->exceptions[i];
		*list = list_parents(composer, list, true);
	}
	rule->exceptions = all;
}

/* A command that may list everything below a directory may list the directory itself, which its
 * sandbox mounts: for a rule about "dir" and two stars add one about "dir". What the rule excludes,
 * or excludes everything below of, it does not get. */
static void add_directories(struct composer *composer, const struct rule *rule)
{
	struct rule more = *rule;
	struct match_list *list = &more.match.lists[MATCH_PATH];

	more.match.operations &= operation_set("fs.list") | operation_set("fs.exists");
	if (rule->action == POLICY_DENY || !more.match.operations)
		return;
	*list = list_parents(composer, list, false);
	except_parents(composer, &more);
	for (size_t i = 0; i < list->n_values; i++)
		if (!match_value_excludes(&list->values[i])) {
			(void)composer_add_rule(composer, &more);
			return;
		}
}

/* ---- paths of settings and options ---- */

static struct match_list list_path(struct composer *composer, const char *path,
				   struct policy_place place)
{
	struct match_value *value = composer_take(composer, sizeof(*value));

	if (value)
		*value = (struct match_value){ .text = path, .place = place, .literal = true };
	return (struct match_list){
		.present = true, .values = value, .n_values = value ? 1 : 0, .place = place
	};
}

static void add_excepts(struct composer *composer, const struct composed_path *path,
			struct rule *rule)
{
	struct condition *exceptions =
		composer_take(composer, path->n_excepts * sizeof(*exceptions));

	for (size_t i = 0; exceptions && i < path->n_excepts; i++) {
		exceptions[i] = (struct condition){ .operations = path->excepts[i].operations,
						    .place = path->place };
		exceptions[i].lists[MATCH_PATH] =
			list_path(composer, path->excepts[i].path, path->place);
	}
	rule->exceptions = exceptions;
	rule->n_exceptions = exceptions ? path->n_excepts : 0;
}

void compose_add(struct composer *composer, enum composed_kind kind,
		 const struct composed_path *path)
{
	bool is_cover = kind == COMPOSE_COVER || kind == COMPOSE_TMPFS ||
			((kind == COMPOSE_SHOW || kind == COMPOSE_ADD) &&
			 (path->operations & view_reads()));
	struct rule rule = {
		.name = path->name,
		.kind = path->kind,
		.action = kind == COMPOSE_DENY ? POLICY_DENY : POLICY_ALLOW,
		.match = { .operations = path->operations, .place = path->place },
		.constraints.max_file_size_bytes = UINT64_MAX,
		.place = path->place,
	};

	rule.match.lists[MATCH_PATH] = list_path(composer, path->path, path->place);
	add_excepts(composer, path, &rule);
	if (kind == COMPOSE_COVER)
		resolve_cover(composer, &rule);
	else
		resolve_rule(composer, &rule);
	(void)composer_add_rule(composer, &rule);
	if (is_cover)
		cover_add(composer, (struct cover){ .number = composer->policy.n_rules - 1,
						    .path = path->path,
						    .is_of_host = kind != COMPOSE_COVER,
						    .is_tmpfs = kind == COMPOSE_TMPFS,
						    .adds = kind == COMPOSE_ADD });
}

/* ---- the implicit view ---- */

/* The project is a cover: below /tmp it would otherwise get the rights of a tmpfs. */
static void add_view(struct composer *composer, const struct policy *policy)
{
	const char *project = composer->with.project;
	uint64_t without = composer->with.is_limiting_exec ? operation_set("exec") : 0;
	struct view_row rows[VIEW_ROWS_MAX];

	policy_view(policy, project, composer->with.has_own_tmp, rows);
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
		if (project && is_project)
			path.path = project;
		compose_add(composer, project && is_project ? COMPOSE_ADD : COMPOSE_GRANT, &path);
	}
}

/* ---- mounts, sockets and secrets ---- */

/* Moves a value to the path where the mount shows the file that it names; false if the mount shows
 * none. */
static bool move_value(struct composer *composer, const struct match_value *value,
		       const char *source, const char *target, struct match_value *ret)
{
	const char *project = composer->with.project ? composer->with.project : ".", *path;
	struct glob glob;

	if (!composer_parse_plain(value, &glob))
		return false;
	path = composer_name_path(composer, &glob, project);
	if (!path)
		return false;
	*ret = *value;
	if (path_is_at_or_below(path, source))
		target = shown_at(composer, path, source, target);
	else if (glob.subtree && (path_is_at_or_below(source, path) || strcmp(path, "/") == 0))
		glob.itself = true;
	else
		return false;
	ret->text = value->literal ? target : write_glob(composer, target, &glob);
	return true;
}

/* False if the mount shows no path of the list. */
static bool move_list(struct composer *composer, struct match_list *list, const char *source,
		      const char *target)
{
	struct match_value *values = composer_take(composer, list->n_values * sizeof(*values));
	bool is_shown = false;
	size_t n = 0;

	for (size_t i = 0; values && i < list->n_values; i++) {
		if (!move_value(composer, &list->values[i], source, target, &values[n]))
			continue;
		is_shown |= values[n].literal || values[n].text[0] != '!';
		n++;
	}
	list->values = values;
	list->n_values = n;
	return is_shown;
}

/* Moves the rule's exceptions to the paths where the mount shows them. */
static void move_exceptions(struct composer *composer, struct rule *rule, const char *source,
			    const char *target)
{
	struct condition *kept = composer_take(composer, rule->n_exceptions * sizeof(*kept));
	size_t n = 0;

	for (size_t i = 0; kept && i < rule->n_exceptions; i++) {
		struct match_list *list = &kept[n].lists[MATCH_PATH];

		kept[n] = rule->exceptions[i];
		n += !list->present || move_list(composer, list, source, target);
	}
	rule->exceptions = kept;
	rule->n_exceptions = n;
}

static void move_denials(struct composer *composer, size_t n_rules, const char *source,
			 const char *target)
{
	uint64_t operations = view_file_operations();

	for (size_t i = 0; composer->policy.rules && i < n_rules; i++) {
		struct rule rule = composer->policy.rules[i];

		rule.match.operations &= operations;
		if (rule.action != POLICY_DENY || !rule.match.operations ||
		    !move_list(composer, &rule.match.lists[MATCH_PATH], source, target))
			continue;
		move_exceptions(composer, &rule, source, target);
		(void)composer_add_rule(composer, &rule);
	}
}

/* True if the mount puts other files at its target. */
static bool has_source(struct composer *composer, const struct policy_mount *mount)
{
	return mount->source && strcmp(setting_path(composer, mount->source),
				       setting_path(composer, mount->target->text)) != 0;
}

static void add_mount(struct composer *composer, const struct policy_mount *mount)
{
	struct composed_path path = {
		.name = "mounts",
		.kind = RULE_OF_MOUNT,
		.path = setting_path(composer, mount->target->text),
		.operations = mount_operations(mount->mode),
		.place = mount->target->place,
	};

	/* Read-only is a bound for what rules allow there, also for a path mounted at itself. */
	bool is_cover = has_source(composer, mount) || mount->mode == MOUNT_READ_ONLY;

	compose_add(composer,
		    mount->mode == MOUNT_MASK	 ? COMPOSE_DENY
		    : is_cover			 ? COMPOSE_COVER
		    : mount->mode == MOUNT_TMPFS ? COMPOSE_TMPFS
						 : COMPOSE_SHOW,
		    &path);
}

/* A path that a rule denies outside is also denied where a mount shows it. Must run last: the added
 * rules are about names inside, which are not sources of other mounts. */
static void deny_where_shown(struct composer *composer)
{
	size_t n_rules = composer->policy.n_rules;
	struct policy_mount mount;

	for (size_t i = 0; policy_get_mount(&composer->policy, i, &mount); i++)
		if (has_source(composer, &mount))
			move_denials(composer, n_rules, setting_path(composer, mount.source),
				     setting_path(composer, mount.target->text));
}

static void add_settings(struct composer *composer, const struct policy *policy)
{
	struct policy_mount mount;

	for (size_t i = 0; policy_get_mount(policy, i, &mount); i++)
		add_mount(composer, &mount);
	for (size_t i = 0; i < policy->n_settings; i++) {
		const struct setting *setting = &policy->settings[i];
		const char *secret = setting_below(setting, "env.secrets.");
		struct composed_path path = { .place = setting->place };

		if (setting_below(setting, "net.unix[")) {
			path.name = "net.unix";
			path.path = setting_path(composer, setting->text);
			path.operations = operation_set("fs.*");
			compose_add(composer, COMPOSE_GRANT, &path);
		} else if (secret) {
			char *inside =
				composer_take(composer, sizeof(VIEW_SECRETS) + strlen(secret) + 1);

			path.name = "env.secrets";
			path.path = inside;
			path.operations = view_reads();
			if (inside) {
				(void)stpcpy(stpcpy(inside, VIEW_SECRETS "/"), secret);
				compose_add(composer, COMPOSE_GRANT, &path);
			}
		}
	}
}

/* ---- the network ---- */

static const struct {
	const char *setting; /* a list of ports */
	const char *name;
	const char *operation;
} forwarded[] = {
	{ "net.loopback.connect[", "net.loopback.connect", "net.connect" },
	{ "net.loopback.bind[", "net.loopback.bind", "net.bind" },
};

/* The supervisor listens inside on 127.0.0.1; a connect() to 0.0.0.0 reaches it, too. */
static const struct match_value forwarded_addresses[] = { { .text = "127.0.0.1" },
							  { .text = "0.0.0.0" } };
static const struct match_value forwarded_names[] = { { .text = "localhost" } };
static const struct match_value forwarded_protocols[] = { { .text = "tcp" } };

#define MATCH_LIST(array)                                                                          \
	((struct match_list){ .present = true, .values = (array), .n_values = N_ELEMENTS(array) })

/* A request has either an address or a name, so one port needs two conditions. */
static void add_port(struct composer *composer, const struct setting *setting, size_t kind,
		     struct condition ret[2])
{
	struct match_value *port = composer_take(composer, sizeof(*port));
	char text[sizeof("65535")];
	char *kept;

	(void)snprintf(text, sizeof(text), "%u", (unsigned)(uint16_t)setting->number);
	kept = composer_take(composer, sizeof(text));
	if (!port || !kept)
		return;
	memcpy(kept, text, sizeof(text));
	*port = (struct match_value){ .text = kept, .place = setting->place };
	for (size_t i = 0; i < 2; i++) {
		ret[i] = (struct condition){
			.operations = operation_set(forwarded[kind].operation),
			.place = policy_net_place(&composer->policy, setting->place),
		};
		ret[i].lists[MATCH_PORT] =
			(struct match_list){ .present = true, .values = port, .n_values = 1 };
		ret[i].lists[MATCH_PROTO] = MATCH_LIST(forwarded_protocols);
	}
	ret[0].lists[MATCH_CIDR] = MATCH_LIST(forwarded_addresses);
	ret[1].lists[MATCH_HOST] = MATCH_LIST(forwarded_names);
}

/* Adds rules that allow the ports of net.loopback; returns their conditions. */
static const struct condition *add_ports(struct composer *composer, const struct policy *policy,
					 size_t *ret_n)
{
	struct condition *ports = composer_take(composer, 2 * policy->n_settings * sizeof(*ports));
	size_t n = 0;

	for (size_t i = 0; ports && i < policy->n_settings; i++)
		for (size_t k = 0; k < N_ELEMENTS(forwarded); k++) {
			const struct setting *setting = &policy->settings[i];

			if (!setting_below(setting, forwarded[k].setting))
				continue;
			add_port(composer, setting, k, &ports[n]);
			for (size_t last = n + 2; n < last; n++)
				(void)composer_add_rule(composer,
							&(struct rule){
								.name = forwarded[k].name,
								.action = POLICY_ALLOW,
								.match = ports[n],
								.constraints.max_file_size_bytes =
									UINT64_MAX,
								.place = ports[n].place,
							});
		}
	*ret_n = n;
	return ports;
}

/* Denials implied by net.mode do not apply to ports that net.loopback forwards. */
static void add_network(struct composer *composer, const struct policy *policy)
{
	struct rule implied[NET_RULES_MAX];
	size_t n_ports, n = policy_net_rules(policy, implied);
	const struct condition *ports = add_ports(composer, policy, &n_ports);

	for (size_t i = 0; ports && i < n; i++) {
		size_t n_own = implied[i].n_exceptions;
		struct condition *all = composer_take(composer, (n_own + n_ports) * sizeof(*all));

		if (all && n_ports > 0 && implied[i].action == POLICY_DENY) {
			if (n_own > 0)
				memcpy(all, implied[i].exceptions, n_own * sizeof(*all));
			memcpy(all + n_own, ports, n_ports * sizeof(*all));
			implied[i].exceptions = all;
			implied[i].n_exceptions = n_own + n_ports;
		}
		(void)composer_add_rule(composer, &implied[i]);
	}
}

void compose_begin(struct composer *composer, const struct policy *policy,
		   const struct composition *with, struct arena *arena)
{
	*composer = (struct composer){ .arena = arena, .with = *with };
	if (policy) {
		composer->policy = *policy;
		composer->policy.arena = (struct arena)ARENA_INIT;
		composer->policy.rules = NULL;
		composer->policy.n_rules = 0;
	} else {
		struct policy_source *source = composer_take(composer, sizeof(*source));

		for (int i = 0; i < N_CLASSES; i++)
			composer->policy.defaults[i] = POLICY_DENY;
		composer->policy.sources = source;
		composer->policy.n_sources = source ? 1 : 0;
		if (source)
			*source = no_source;
	}
	for (size_t i = 0; policy && i < policy->n_rules; i++) {
		struct rule *rule = composer_add_rule(composer, &policy->rules[i]);

		if (rule && with->is_worst_case)
			assume_worst(composer, rule);
		if (rule)
			resolve_rule(composer, rule);
	}
	composer->n_original = composer->policy.n_rules;
	/* After a failed allocation there may be no rules. */
	for (size_t i = 0; composer->policy.rules && i < composer->n_original; i++)
		add_directories(composer, &composer->policy.rules[i]);
	composer->n_original = composer->policy.n_rules;
	add_view(composer, policy);
	if (!policy)
		return;
	add_settings(composer, policy);
	add_network(composer, policy);
	composer->policy.special_needs_cidr = net_mode_has_proxy(policy_net_mode(policy));
}

int compose_finish(struct composer *composer, const struct policy **ret)
{
	struct policy *policy;

	if (composer->no_memory)
		return -ENOMEM;
	deny_where_shown(composer);
	covers_apply(composer);
	policy = composer_take(composer, sizeof(*policy));
	if (composer->no_memory)
		return -ENOMEM;
	*policy = composer->policy;
	*ret = policy;
	return 0;
}

int policy_compile_composed(const struct policy *policy, const char *project,
			    const char *(*resolve)(void *arena, const char *path), void **ret_block,
			    size_t *ret_n_bytes, struct sbx_error *err)
{
	struct arena arena = ARENA_INIT;
	const struct composition with = { .project = project,
					  .resolve = resolve,
					  .context = &arena };
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

/* A shallow copy without 'net.mode', which another mode has replaced: neither its denials nor its
 * permissions hold. */
static bool copy_without_mode(const struct policy *policy, struct arena *arena, struct policy *ret)
{
	struct setting *settings = arena_alloc(arena, (policy->n_settings + 1) * sizeof(*settings));
	size_t n = 0;

	if (!settings)
		return false;
	for (size_t i = 0; i < policy->n_settings; i++)
		if (strcmp(policy->settings[i].path, "net.mode") != 0)
			settings[n++] = policy->settings[i];
	*ret = *policy;
	ret->settings = settings;
	ret->n_settings = n;
	return true;
}

int policy_compile_proxied(const struct policy *policy, void **ret_block, size_t *ret_n_bytes,
			   struct sbx_error *err)
{
	_cleanup_(arena_deinit) struct arena arena = ARENA_INIT;
	const struct composition with = { .is_worst_case = true,
					  .level = policy ? policy_sandbox_level(policy) : NULL };
	const struct policy *composed;
	struct composer composer;
	struct policy copy;
	int r;

	if (policy && !copy_without_mode(policy, &arena, &copy))
		return sbx_error_what(err, -ENOMEM, "cannot compile the policy");
	compose_begin(&composer, policy ? &copy : NULL, &with, &arena);
	composer.policy.special_needs_cidr = true;
	r = compose_finish(&composer, &composed);
	return r < 0 ? sbx_error_what(err, r, "cannot compile the policy")
		     : policy_compile(composed, ret_block, ret_n_bytes, err);
}
