/* SPDX-License-Identifier: MIT */

/*
 * Tables of names → rows. A path stands for itself and everything below it, so a directory that is
 * sbx's own is one row; what lies among other packages' files is named one by one.
 */

#include "policy/guarded.h"

#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"

/* Names that are installed; tests/check/install.py asks sbx-policy about all that is installed. */
/* One a line, so that a new tool is a line. */
/* clang-format off */
static const char *const programs[] = {
	"sbx-audit",
	"sbx-bench",
	"sbx-config",
	"sbx-ctl",
	"sbx-policy",
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
	"sbx.slice",
};
static const char *const user_units[] = { "sbx-gc.service", "sbx-gc.timer", "sbx.slice" };
static const char *const snippets[] = { "sbx.conf" };

/* Installed below each of these; "" is where merged /usr has its links. */
static const char *const prefixes[] = { "", "/usr", "/usr/local", SBX_PREFIX };

static const struct installed {
	const char *folder;
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

/* What an administrator writes over a unit, and beside it as NAME.d. */
static const struct overrides {
	const char *folder;
	const char *const *names;
	size_t n_names;
	bool has_folders;
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

/* The caller's own. What is made with its parent is not made by itself. */
static const struct own {
	size_t offset; /* of its place */
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

/* The path is all four parts together. */
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
					  (const char *const[4]){ prefixes[p], installed[i].folder,
								  installed[i].names[k], "" },
					  installed[i].rule);
}

static void add_overrides(struct making *making)
{
	for (size_t i = 0; i < N_ELEMENTS(overrides); i++)
		for (size_t k = 0; k < overrides[i].n_names; k++)
			for (int suffix = 0; suffix <= (int)overrides[i].has_folders; suffix++)
				(void)add(making,
					  (const char *const[4]){ overrides[i].folder,
								  overrides[i].names[k],
								  suffix ? ".d" : "", "" },
					  GUARDED_BY_UNITS);
}

static bool is_beneath(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return strncmp(path, folder, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

/* Only what lies below the home, or is made by every start where it is used. */
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
		row->may_be_made =
			own[i].is_made && (place == places->fallback ||
					   (places->home && is_beneath(place, places->home)));
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
