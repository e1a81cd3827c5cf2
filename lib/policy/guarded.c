/* SPDX-License-Identifier: MIT */

/*
 * Tables of names → rows; and the built-in rules, which protect the files that an attacker would
 * have to change first
 *
 * A row means its path and everything below it, so a directory of sbx is one row; files in
 * directories shared with other packages have one row each. A built-in rule applies to the rows
 * that contain its name. Of equally severe built-in rules the first one is reported.
 */

#include "policy/guarded.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/environment.h"
#include "base/path.h"
#include "base/state.h"
#include "base/text.h"
#include "policy/decide.h"

/* Names of installed files; tests/check/install.py asks sbx-policy about everything that is
 * installed. */
/* One per line, so that a new tool is a one-line change. */
/* clang-format off */
static const char *const programs[] = {
	"sbx-audit",
	"sbx-bench",
	"sbx-config",
	"sbx-ctl",
	"sbx-policy",
	"sbx-proxy",
	"sbx-ring",
	"sbx-spawn",
};
/* clang-format on */
static const char *const libraries[] = { "sbx", "libsbx.so", "libsbx.so.0", "libsbx.so.0.0.0" };
static const char *const units[] = {
	"sbx-audit-gather.service",
	"sbx-audit-gather.timer",
	"sbx-audit-rotate.service",
	"sbx-audit-rotate.timer",
	"sbx-audit-verify.service",
	"sbx-audit-verify.timer",
	"sbx-audit.service",
	"sbx-audit.socket",
	"sbx-gc.service",
	"sbx-gc.timer",
	"sbx-policy.service",
	"sbx-policy.socket",
	"sbx-proxy.service",
	"sbx-proxy.socket",
	"sbx.slice",
};
static const char *const user_units[] = { "sbx-gc.service", "sbx-gc.timer", "sbx.slice" };
static const char *const snippets[] = { "sbx.conf" };

/* Installation prefixes; "" is where a merged /usr has its links. */
static const char *const prefixes[] = { "", "/usr", "/usr/local", SBX_PREFIX };

static const struct installed {
	const char *directory;
	const char *const *names;
	size_t n_names;
	const char *rule;
} installed[] = {
	{ "/bin/", programs, N_ELEMENTS(programs), GUARDED_BY_PROGRAMS },
	{ "/" SBX_LIBDIR "/", libraries, N_ELEMENTS(libraries), GUARDED_BY_PROGRAMS },
	{ "/lib/systemd/system/", units, N_ELEMENTS(units), GUARDED_BY_UNITS },
	{ "/lib/systemd/user/", user_units, N_ELEMENTS(user_units), GUARDED_BY_UNITS },
	{ "/lib/sysusers.d/", snippets, N_ELEMENTS(snippets), GUARDED_BY_UNITS },
	{ "/lib/tmpfiles.d/", snippets, N_ELEMENTS(snippets), GUARDED_BY_UNITS },
};

/* Files with which an administrator overrides a unit, and the directory NAME.d beside each. */
static const struct overrides {
	const char *directory;
	const char *const *names;
	size_t n_names;
	bool has_directories;
} overrides[] = {
	{ "/etc/systemd/system/", units, N_ELEMENTS(units), true },
	{ "/run/systemd/system/", units, N_ELEMENTS(units), true },
	{ "/etc/systemd/user/", user_units, N_ELEMENTS(user_units), true },
	{ "/run/systemd/user/", user_units, N_ELEMENTS(user_units), true },
	{ "/etc/sysusers.d/", snippets, N_ELEMENTS(snippets), false },
	{ "/etc/tmpfiles.d/", snippets, N_ELEMENTS(snippets), false },
};

static const struct fixed {
	const char *path;
	const char *rule;
	enum guarded_what what;
} fixed[] = {
	{ "/etc/sbx", GUARDED_BY_POLICY_FILES, GUARDED_WRITE },
	{ "/usr/share/sbx", GUARDED_BY_POLICY_FILES, GUARDED_WRITE },
	{ SBX_PREFIX "/share/sbx", GUARDED_BY_POLICY_FILES, GUARDED_WRITE },
	{ "/run/sbx", GUARDED_BY_DAEMON_FILES, GUARDED_HIDDEN },
	{ "/var/run/sbx", GUARDED_BY_DAEMON_FILES, GUARDED_HIDDEN },
	{ "/var/lib/sbx/audit", GUARDED_BY_AUDIT_LOG, GUARDED_WRITE },
	{ "/var/lib/sbx", GUARDED_BY_STATE, GUARDED_WRITE },
};

/* The caller's own directories. One that is below another row's is created with that one. */
static const struct own {
	size_t offset; /* offset of its place in struct guarded_places */
	const char *below;
	const char *rule;
	enum guarded_what what;
	bool is_made;
} own[] = {
#define PLACE(member) offsetof(struct guarded_places, member)
	{ PLACE(config), "/sbx", GUARDED_BY_POLICY_FILES, GUARDED_WRITE, true },
	{ PLACE(home), "/.config/sbx", GUARDED_BY_POLICY_FILES, GUARDED_WRITE, true },
	{ PLACE(runtime), "/sbx", GUARDED_BY_DAEMON_FILES, GUARDED_HIDDEN, false },
	{ PLACE(fallback), "", GUARDED_BY_DAEMON_FILES, GUARDED_HIDDEN, true },
	{ PLACE(state), "/sbx/audit", GUARDED_BY_AUDIT_LOG, GUARDED_WRITE, false },
	{ PLACE(home), "/.local/state/sbx/audit", GUARDED_BY_AUDIT_LOG, GUARDED_WRITE, false },
	{ PLACE(state), "/sbx", GUARDED_BY_STATE, GUARDED_WRITE, true },
	{ PLACE(home), "/.local/state/sbx", GUARDED_BY_STATE, GUARDED_WRITE, true },
#undef PLACE
};

struct making {
	struct arena *arena;
	struct guarded *rows;
	size_t n_rows;
	bool no_memory;
};

static size_t count_rows(const struct guarded_places *places)
{
	size_t n = places->n_policies + N_ELEMENTS(fixed) + N_ELEMENTS(own);

	for (size_t i = 0; i < N_ELEMENTS(installed); i++)
		n += installed[i].n_names * N_ELEMENTS(prefixes);
	for (size_t i = 0; i < N_ELEMENTS(overrides); i++)
		n += overrides[i].n_names * 2;
	return n;
}

/* Adds a row whose path is the concatenation of all four parts. */
static struct guarded *add(struct making *making, const char *const parts[4], const char *rule)
{
	struct guarded *row = &making->rows[making->n_rows++];
	size_t len[4], at = 0;
	char *path;

	*row = (struct guarded){ .rule = rule };
	for (int i = 0; i < 4; i++)
		row->len += len[i] = strlen(parts[i]);
	path = arena_alloc(making->arena, row->len + 1);
	row->path = path ? path : "";
	making->no_memory |= !path;
	for (int i = 0; path && i < 4; at += len[i++])
		memcpy(path + at, parts[i], len[i]);
	return row;
}

static void add_path(struct making *making, const char *path, const char *rule,
		     enum guarded_what what)
{
	making->rows[making->n_rows++] =
		(struct guarded){ .path = path, .len = strlen(path), .rule = rule, .what = what };
}

static bool is_named_before(size_t prefix)
{
	for (size_t i = 0; i < prefix; i++)
		if (strcmp(prefixes[i], prefixes[prefix]) == 0)
			return true;
	return false;
}

static void add_installed(struct making *making)
{
	for (size_t p = 0; p < N_ELEMENTS(prefixes); p++)
		for (size_t i = 0; i < N_ELEMENTS(installed) && !is_named_before(p); i++)
			for (size_t k = 0; k < installed[i].n_names; k++)
				(void)add(making,
					  (const char *const[4]){ prefixes[p],
								  installed[i].directory,
								  installed[i].names[k], "" },
					  installed[i].rule);
}

static void add_overrides(struct making *making)
{
	for (size_t i = 0; i < N_ELEMENTS(overrides); i++)
		for (size_t k = 0; k < overrides[i].n_names; k++)
			for (int suffix = 0; suffix <= (int)overrides[i].has_directories; suffix++)
				(void)add(making,
					  (const char *const[4]){ overrides[i].directory,
								  overrides[i].names[k],
								  suffix ? ".d" : "", "" },
					  GUARDED_BY_UNITS);
}

/* Create only directories that a sandbox could create: those below the home, and the fallback. */
static void add_own(struct making *making, const struct guarded_places *places)
{
	for (size_t i = 0; i < N_ELEMENTS(own); i++) {
		const char *place = *(const char *const *)((const char *)places + own[i].offset);
		struct guarded *row;

		if (!place)
			continue;
		row = add(making,
			  (const char *const[4]){ strcmp(place, "/") == 0 ? "" : place,
						  own[i].below, "", "" },
			  own[i].rule);
		row->what = own[i].what;
		row->may_be_made = own[i].is_made &&
				   (place == places->fallback ||
				    (places->home && path_is_at_or_below(place, places->home)));
	}
}

int guarded_list(const struct guarded_places *places, struct arena *arena, struct guarded_list *ret)
{
	struct making making = {
		.arena = arena,
		.rows = arena_alloc(arena, count_rows(places) * sizeof(struct guarded)),
	};

	size_t n_own;

	if (!making.rows)
		return -ENOMEM;
	for (size_t i = 0; i < places->n_policies; i++)
		add_path(&making, places->policies[i], GUARDED_BY_POLICY_FILES, GUARDED_WRITE);
	add_own(&making, places);
	n_own = making.n_rows - places->n_policies;
	for (size_t i = 0; i < N_ELEMENTS(fixed); i++)
		add_path(&making, fixed[i].path, fixed[i].rule, fixed[i].what);
	add_installed(&making);
	add_overrides(&making);
	if (making.no_memory)
		return -ENOMEM;
	*ret = (struct guarded_list){ .rows = making.rows,
				      .n_rows = making.n_rows,
				      .n_unmarked = places->n_policies,
				      .n_own = n_own };
	return 0;
}

const struct guarded *guarded_match(const struct guarded_list *list, const char *path,
				    enum guarded_what what)
{
	size_t len = strlen(path), n = strstr(path, GUARDED_MARK) ? list->n_rows : list->n_unmarked;

	for (size_t i = 0; i < n; i++) {
		const struct guarded *row = &list->rows[i];

		if (row->len <= len && row->what >= what &&
		    (path[row->len] == '/' || path[row->len] == '\0') &&
		    memcmp(path, row->path, row->len) == 0)
			return row;
	}
	return NULL;
}

/*
 * The guarded paths of this process, with the symbolic links on the way to them
 *
 * A process that can replace a link on the way to a policy chooses the next policy, and a row
 * guards only its own path. So each path is followed component by component: the links on the way
 * to a policy become rows, as does the real path of a row. They are followed once, when the policy
 * is loaded: a link that changes later changes neither the policy that was read nor the rows.
 */

#define LINKS_MAX 40 /* per path, as in the kernel (MAXSYMLINKS) */

/* Files that sbx-policy update writes beside a policy. */
static const char *const companions[] = { ".previous", ".meta.json" };

struct finding {
	struct arena *arena;
	const char **found; /* NULL: links are not recorded */
	size_t n_found;
	size_t n_links;
	char at[PATH_MAX];   /* resolved so far, without links */
	char rest[PATH_MAX]; /* still to be resolved */
};

static int keep(struct finding *finding, const char *path)
{
	const char *copy = arena_copy(finding->arena, path, strlen(path));

	if (copy)
		finding->found[finding->n_found++] = copy;
	return copy ? 0 : -ENOMEM;
}

static int append(char *path, const char *name, size_t n)
{
	size_t len = strlen(path);

	if (len + n + 2 > PATH_MAX)
		return -ENAMETOOLONG;
	path[len] = '/';
	memcpy(path + len + 1, name, n);
	path[len + 1 + n] = '\0';
	return 0;
}

static void leave(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash)
		*slash = '\0';
}

/* Puts the link's target before the rest; a relative target starts from the link's directory. */
static int follow_link(struct finding *finding)
{
	char target[PATH_MAX], rest[PATH_MAX];
	ssize_t n = readlink(finding->at, target, sizeof(target) - 1);
	int r = 0;

	if (n < 0)
		return -errno;
	if (++finding->n_links > LINKS_MAX)
		return -ELOOP;
	if (finding->found)
		r = keep(finding, finding->at);
	if (r < 0)
		return r;
	target[n] = '\0';
	leave(finding->at);
	if (target[0] == '/')
		finding->at[0] = '\0';
	memcpy(rest, finding->rest, sizeof(rest));
	return snprintf(finding->rest, sizeof(finding->rest), "%s/%s", target, rest) <
			       (int)sizeof(finding->rest)
		       ? 0
		       : -ENAMETOOLONG;
}

/* Resolves one component. A missing one is not a link. */
static int step(struct finding *finding)
{
	char *name = finding->rest + strspn(finding->rest, "/");
	size_t n = strcspn(name, "/");
	bool is_up = n == 2 && memcmp(name, "..", 2) == 0;
	bool is_entered = n > 0 && !is_up && !(n == 1 && *name == '.');
	struct stat status;
	int r = is_entered ? append(finding->at, name, n) : 0;

	if (is_up)
		leave(finding->at);
	memmove(finding->rest, name + n, strlen(name + n) + 1);
	if (r < 0 || !is_entered || lstat(finding->at, &status) < 0 || !S_ISLNK(status.st_mode))
		return r;
	return follow_link(finding);
}

/* Writes the real path of @path to finding->at. */
static int follow_path(struct finding *finding, const char *path)
{
	finding->at[0] = '\0';
	finding->n_links = 0;
	if (strlen(path) >= sizeof(finding->rest))
		return -ENAMETOOLONG;
	if (path[0] != '/' && !getcwd(finding->at, sizeof(finding->at)))
		return -errno;
	memcpy(finding->rest, path, strlen(path) + 1);
	while (finding->rest[strspn(finding->rest, "/")] != '\0') {
		int r = step(finding);

		if (r < 0)
			return r;
	}
	return 0;
}

static int find_companions(struct finding *finding, const char *path)
{
	for (size_t i = 0; i < N_ELEMENTS(companions); i++) {
		_cleanup_text_ struct text beside = TEXT_INIT;
		struct stat status;

		text_addf(&beside, "%s%s", path, companions[i]);
		if (text_status(&beside) < 0)
			return -ENOMEM;
		if (lstat(text_string(&beside), &status) == 0 &&
		    keep(finding, text_string(&beside)) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int find_policy(struct finding *finding, const char *path)
{
	size_t first = finding->n_found, end;
	int r = follow_path(finding, path);

	if (r < 0)
		return r;
	r = keep(finding, finding->at);
	if (r < 0)
		return r;
	end = finding->n_found;
	for (size_t i = first; i < end; i++) {
		r = find_companions(finding, finding->found[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

static int find_policies(struct finding *finding, const char *const *policies, size_t n_policies)
{
	size_t n = n_policies * (LINKS_MAX + 1) * (1 + N_ELEMENTS(companions));

	finding->found = arena_alloc(finding->arena, n * sizeof(*finding->found));
	if (!finding->found)
		return -ENOMEM;
	for (size_t i = 0; i < n_policies; i++) {
		bool is_file = policies[i] && strcmp(policies[i], "-") != 0;
		int r = is_file ? find_policy(finding, policies[i]) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

/* Adds the real paths of the caller's own rows before all other rows. */
static int add_real(struct finding *finding, struct guarded_list *list)
{
	size_t first = list->n_unmarked, n = 0;
	struct guarded *rows =
		arena_alloc(finding->arena, (list->n_rows + list->n_own) * sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	finding->found = NULL;
	for (size_t i = first; i < first + list->n_own; i++) {
		const char *path = list->rows[i].path;
		int r;

		if (path_is_normal(path) && path_has_no_links(path))
			continue;
		r = follow_path(finding, path);
		if (r < 0)
			return r;
		if (strcmp(finding->at, path) == 0)
			continue;
		rows[n] = list->rows[i];
		rows[n].len = strlen(finding->at);
		rows[n].path = arena_copy(finding->arena, finding->at, rows[n].len);
		if (!rows[n++].path)
			return -ENOMEM;
	}
	memcpy(rows + n, list->rows, list->n_rows * sizeof(*rows));
	list->rows = rows;
	list->n_rows += n;
	list->n_unmarked += n;
	return 0;
}

static const char *find_place(char *const *environment, const char *name)
{
	const char *place = environment_find_directory(environment, name);

	return place && path_is_normal(place) ? place : NULL;
}

/* Takes state and home from the account if the usual variables are unset. Without an account the
 * fallback's rows apply. */
static int find_state(struct arena *arena, char *const *environment, uid_t uid,
		      struct guarded_places *places)
{
	_cleanup_text_ struct text state = TEXT_INIT;
	int r = state_find(&state, environment, uid);

	if (r != STATE_OF_ACCOUNT)
		return r < 0 ? r : 0;
	places->state = arena_copy(arena, state.data, state.len);
	places->home = arena_copy(arena, state.data, state.len - strlen(STATE_BELOW_HOME));
	return places->state && places->home ? 0 : -ENOMEM;
}

int guarded_find(char *const *environment, uid_t uid, const char *const *policies,
		 size_t n_policies, struct arena *arena, struct guarded_list *ret)
{
	struct finding finding = { .arena = arena };
	struct guarded_places places = {
		.home = find_place(environment, "HOME"),
		.config = find_place(environment, "XDG_CONFIG_HOME"),
		.state = find_place(environment, "XDG_STATE_HOME"),
		.runtime = find_place(environment, "XDG_RUNTIME_DIR"),
	};
	struct guarded_list list = { .rows = NULL };
	char fallback[32];
	int r;

	(void)snprintf(fallback, sizeof(fallback), "/tmp/sbx-%u", (unsigned)uid);
	if (uid != 0)
		places.fallback = arena_copy(arena, fallback, strlen(fallback));
	r = find_state(arena, environment, uid, &places);
	if (r < 0)
		return r;
	r = find_policies(&finding, policies, n_policies);
	if (r < 0)
		return r;
	places.policies = finding.found;
	places.n_policies = finding.n_found;
	r = guarded_list(&places, arena, &list);
	if (r < 0)
		return r;
	r = add_real(&finding, &list);
	if (r < 0)
		return r;
	*ret = list;
	return 0;
}

/* ---- built-in rules ---- */

/* Bits of the table of operations in model.c; a unit test compares them by name. */
#define FS_WRITE (UINT64_C(1) << 1)
#define FILES UINT64_C(0x1f) /* fs.* and exec */
#define CONTAINER_RUN (UINT64_C(1) << 8)
#define POLICY_UPDATE (UINT64_C(1) << 11)
#define SET_MODE (UINT64_C(1) << 15)

static const char *const debug_mode[] = { "debug", NULL };
static const char *const modest_modes[] = { "strict", "explore", NULL };

#define GUARD(called, taken, why)                                                                  \
	{                                                                                          \
		.name = (called), .operations = (taken), .is_guard = true, .action = POLICY_DENY,  \
		.reason = (why)                                                                    \
	}

static const struct builtin_rule builtins[] = {
	GUARD(GUARDED_BY_POLICY_FILES, FS_WRITE, "policy files change through policy.update only"),
	GUARD(GUARDED_BY_PROGRAMS, FS_WRITE,
	      "the programs that enforce the policy cannot be written"),
	GUARD(GUARDED_BY_UNITS, FS_WRITE,
	      "the units that start the enforcing services cannot be written"),
	GUARD(GUARDED_BY_DAEMON_FILES, FILES,
	      "the files of running services and sandboxes can be neither written nor read"),
	GUARD(GUARDED_BY_AUDIT_LOG, FS_WRITE, "the audit log grows through its service only"),
	GUARD(GUARDED_BY_STATE, FS_WRITE, "the services' state cannot be written"),
	{
		.name = "builtin:container-run",
		.operations = CONTAINER_RUN,
		.unless_modes = debug_mode,
		.action = POLICY_DENY,
		.reason = "containers run in debug mode only",
	},
	{
		.name = "builtin:container-run-debug",
		.operations = CONTAINER_RUN,
		.action = POLICY_REVIEW,
		.is_default = true,
		.reason = "a container needs a review, also in debug mode",
	},
	{
		.name = "builtin:policy-update",
		.operations = POLICY_UPDATE,
		.action = POLICY_REVIEW,
		.reason = "a new policy always needs a review",
	},
	{
		.name = "builtin:set-mode",
		.operations = SET_MODE,
		.unless_modes = modest_modes,
		.action = POLICY_REVIEW,
		.reason = "a mode other than strict and explore needs a review",
	},
	{ .name = NULL },
};

_Static_assert(N_ELEMENTS(builtins) - 1 <= BUILTIN_RULES_MAX,
	       "there are at most ten built-in rules");

const struct builtin_rule *builtin_rules(void)
{
	return builtins;
}

static bool is_word_in(const char *const *words, const char *word)
{
	while (*words && !(word && strcmp(*words, word) == 0))
		words++;
	return *words != NULL;
}

/* @row: the row of the request's path, or NULL. */
static bool builtin_applies(const struct builtin_rule *rule, const struct policy_request *request,
			    const struct guarded *row)
{
	if (rule->unless_modes && is_word_in(rule->unless_modes, request->mode))
		return false;
	return !rule->is_guard || (row && strcmp(rule->name, row->rule) == 0);
}

const struct builtin_rule *builtin_judge(const struct builtin_rule *table,
					 const struct policy_request *request,
					 uint64_t operation_bit, const struct guarded_list *guarded)
{
	enum guarded_what what = operation_bit == FS_WRITE ? GUARDED_WRITE : GUARDED_HIDDEN;
	const struct builtin_rule *found = NULL;
	const struct guarded *row = NULL;

	while (table->name && !(table->operations & operation_bit))
		table++;
	if (table->name && request->path && guarded)
		row = guarded_match(guarded, request->path, what);

	for (; table->name; table++)
		if ((table->operations & operation_bit) &&
		    (!found || table->action > found->action) &&
		    builtin_applies(table, request, row))
			found = table;
	return found;
}
