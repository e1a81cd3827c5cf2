/* SPDX-License-Identifier: MIT */

/*
 * Marks of options, mounts and secrets, and the credentials that these grants lose
 *
 * The user wants a path that an option or mount names: if it is missing, or a rule denies it, the
 * plan is refused instead of showing less.
 *
 * A grant that contains an entry of the credentials table (policy/credentials.h) gets an exception
 * for it, in the rule that the grant becomes; so the evaluator, the mounts, their pins and the
 * final comparison all respect it. The host is asked about every entry in a grant. A missing entry
 * needs no exception. A startup file that is missing, or is a symbolic link, can be created or
 * replaced by the command; a notice says so.
 */

#include "plan/plan-internal.h"

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

#include "base/error.h"
#include "base/path.h"
#include "policy/compose.h"
#include "policy/credentials.h"
#include "policy/view.h"

/* ---- options, mounts and secrets ---- */

#define RIGHTS_ALL (RIGHTS_SEEN | RIGHT_MAP | RIGHT_START)

static const struct grant {
	enum mark_kind kind;
	enum content content;
	unsigned rights;
} grants[] = {
	[GRANT_READ] = { MARK_ALLOW, CONTENT_HOST, RIGHTS_READ | RIGHT_EXEC },
	[GRANT_WRITE] = { MARK_ALLOW, CONTENT_HOST, RIGHTS_FILES | RIGHT_EXEC },
	/* The kernel opens a program for reading before it executes it, and the loader maps it. */
	[GRANT_EXEC] = { MARK_ALLOW, CONTENT_HOST, RIGHTS_READ | RIGHT_EXEC },
	[GRANT_DENY] = { MARK_DENY, CONTENT_HOST, RIGHTS_ALL },
	[GRANT_DENY_WRITE] = { MARK_DENY, CONTENT_HOST, RIGHT_WRITE },
	[GRANT_TMPFS] = { MARK_ALLOW, CONTENT_TMPFS, RIGHTS_FILES | RIGHT_EXEC },
	[GRANT_UNIX] = { MARK_ALLOW, CONTENT_SOCKET, RIGHTS_FILES },
};

static const struct {
	enum mark_kind kind;
	enum content content;
} modes[] = {
	[MOUNT_READ_ONLY] = { MARK_ALLOW, CONTENT_HOST },
	[MOUNT_READ_WRITE] = { MARK_ALLOW, CONTENT_HOST },
	[MOUNT_TMPFS] = { MARK_ALLOW, CONTENT_TMPFS },
	[MOUNT_OVERLAY] = { MARK_ALLOW, CONTENT_OVERLAY },
	[MOUNT_MASK] = { MARK_DENY, CONTENT_HOST },
};

static int check_target(struct planner *planner, const char *target, struct step_origin origin)
{
	if (path_is_normal(target) && strcmp(target, "/") != 0)
		return 0;
	return error_fill(planner->err, -EINVAL, "it is '/', or not a normalised path",
			  "name a path below '/'", "%s cannot mount anything at '%.200s'",
			  origin_text(&origin), target);
}

static int mark_output(struct planner *planner)
{
	const struct spawn_request *request = planner->request;
	struct mark *mark;

	if (!request->out_directory)
		return 0;
	if (path_is_at_or_below(request->out_directory, request->project))
		return error_fill(planner->err, -EINVAL,
				  "it is inside the directory whose changes it would collect",
				  "name a directory outside of it",
				  "cannot collect the changes of '%.200s' in '%.200s'",
				  request->project, request->out_directory);
	if (request->project_real && strcmp(request->project_real, request->project) != 0) {
		(void)sbx_error_what(planner->err, -ELOOP, "cannot collect the changes of '%.200s'",
				     request->project);
		sbx_error_why(planner->err, "it is, or passes, a symbolic link");
		sbx_error_fix(planner->err, "name '%.200s'", request->project_real);
		return -ELOOP;
	}
	mark = planner_add_mark(planner, MARK_ALLOW, request->project, RIGHTS_FILES,
				origin_of_option(planner, "--out"));
	mark->content = CONTENT_OVERLAY;
	mark->flags = MARK_ASKED;
	mark->text = planner_keep(planner, request->out_directory);
	mark->extra = request->out_work ? planner_keep(planner, request->out_work) : NULL;
	return 0;
}

static int mark_request(struct planner *planner, const struct request_path *path)
{
	const struct grant *grant = &grants[path->grant];
	const char *inside = planner_keep(planner, path->target ? path->target : path->path);
	struct step_origin origin = origin_of_option(planner, path->option);
	struct mark *mark;

	if (grant->kind == MARK_ALLOW && strcmp(inside, "/") == 0 && !path->target &&
	    grant->content == CONTENT_HOST) {
		/* "/": all programs that other grants make visible. */
		mark_everything(planner, path->grant == GRANT_EXEC ? RIGHT_EXEC : grant->rights,
				MARK_ASKED, origin);
		return 0;
	}
	if (grant->kind == MARK_ALLOW) {
		int r = check_target(planner, inside, origin);

		if (r < 0)
			return r;
	}
	mark = planner_add_mark(planner, grant->kind, inside, grant->rights, origin);
	mark->content = grant->content;
	mark->flags = MARK_ASKED | (path->optional ? MARK_OPTIONAL : 0);
	if (path->grant == GRANT_READ && !path->target)
		mark->flags |= MARK_MAPPED;
	if (path->grant == GRANT_EXEC)
		mark->flags |= MARK_RUN;
	mark->real = path->real ? planner_keep(planner, path->real) : NULL;
	if (path->target && strcmp(path->target, path->path) != 0)
		mark->source = planner_keep(planner, path->path);
	else if (path->target)
		mark->flags |= MARK_OF_HOST;
	if (mark->content == CONTENT_TMPFS)
		mark_as_tmpfs(planner, mark, 0);
	return 0;
}

/* Often a typing mistake. The command cannot create the path, because such a plan is refused; but a
 * mount covers only existing files, so a file that a process outside creates there later is
 * visible. */
void note_missing_denials(struct planner *planner)
{
	for (size_t i = 0; i < planner->view.marks.n_rows; i++) {
		const struct mark *mark = mark_at(planner, i);

		if (mark->kind != MARK_DENY || mark->origin.kind != ORIGIN_ARGUMENT ||
		    !mark->facts || mark->facts->kind != HOST_MISSING)
			continue;
		planner_advise(planner,
			       planner_format(planner,
					      "%s has no effect at '%s', which does not exist",
					      origin_text(&mark->origin), mark->path),
			       "a mount covers only what exists", "check the path, or create it");
	}
}

void mark_shown(struct planner *planner, const char *path, const char *name)
{
	unsigned rights = RIGHTS_READ | (is_limiting_exec(planner) ? 0 : RIGHT_EXEC);

	planner_add_mark(planner, MARK_ALLOW, path, rights, origin_of_option(planner, name))
		->flags = MARK_OPTIONAL;
}

/* Grants the directory of --home for writing, with all consequences of such a grant. */
static int mark_kept_home(struct planner *planner)
{
	const struct request_path path = { .grant = GRANT_WRITE,
					   .path = planner->request->home,
					   .option = "--home" };
	int r = path.path ? check_target(planner, path.path, origin_of_option(planner, path.option))
			  : 0;

	return r < 0 || !path.path ? r : mark_request(planner, &path);
}

int mark_requested(struct planner *planner)
{
	const struct spawn_request *request = planner->request;
	int r = mark_kept_home(planner);

	if (r < 0)
		return r;
	for (size_t i = 0; i < request->n_paths; i++) {
		r = mark_request(planner, &request->paths[i]);
		if (r < 0)
			return r;
	}
	return mark_output(planner);
}

static int mark_mount(struct planner *planner, const struct policy_mount *mount,
		      struct step_origin origin)
{
	const char *inside = planner_project_path(planner, mount->target->text);
	struct mark *mark;
	int r = check_target(planner, inside, origin);

	if (r < 0)
		return r;
	mark = planner_add_mark(planner, modes[mount->mode].kind, inside,
				rights_of(mount_operations(mount->mode)), origin);
	mark->content = modes[mount->mode].content;
	mark->flags = MARK_RULED | MARK_ASKED | (mount->is_optional ? MARK_OPTIONAL : 0);
	if (mount->source)
		mark->source = planner_project_path(planner, mount->source);
	if (mark->source && strcmp(mark->source, inside) == 0) {
		mark->source = NULL;
		mark->flags |= MARK_OF_HOST;
	}
	if (mark->content == CONTENT_TMPFS)
		mark_as_tmpfs(planner, mark, mount->size_bytes);
	if (mark->content == CONTENT_OVERLAY)
		mark->value = tmp_size(planner);
	return 0;
}

/* A mark without a source is about the content of the mount around it, but this one's source was
 * named as a file of the host: it would grant another file than the user named. */
static int check_own_sources(struct planner *planner)
{
	for (size_t i = 0; i < planner->view.marks.n_rows; i++) {
		const struct mark *mark = mark_at(planner, i);
		const struct mark *around =
			mark->flags & MARK_OF_HOST ? view_find_mount(planner, mark->path) : NULL;

		if (!around)
			continue;
		(void)sbx_error_what(planner->err, -EINVAL, "cannot mount '%.300s' for %s",
				     mark->path, origin_text(&mark->origin));
		sbx_error_why(planner->err,
			      "%s shows '%.300s' at '%.300s', so that path is another file inside",
			      origin_text(&around->origin), around->source, around->path);
		sbx_error_fix(
			planner->err,
			"choose another target; to grant what is shown there, use --read or --write");
		return -EINVAL;
	}
	return 0;
}

int mark_mounts(struct planner *planner)
{
	const struct policy *policy = planner->policy;
	struct policy_mount mount;

	for (size_t i = 0; policy && policy_get_mount(policy, i, &mount); i++) {
		const char *fix = "", *why = mount_refusal(policy, i, &fix);
		struct step_origin origin = origin_of_setting(planner, mount.target);
		int r;

		if (why)
			return error_fill(planner->err, -EINVAL, why, fix,
					  "cannot mount as %s says", origin_text(&origin));
		r = mark_mount(planner, &mount, origin);
		if (r < 0)
			return r;
	}
	return check_own_sources(planner);
}

static void mark_secret(struct planner *planner, const char *name, const char *path,
			struct step_origin origin)
{
	struct mark *mark =
		planner_add_mark(planner, MARK_ALLOW, planner_join(planner, VIEW_SECRETS, name),
				 RIGHTS_READ, origin);

	mark->content = CONTENT_COPY;
	mark->flags = MARK_ASKED;
	mark->source = planner_keep(planner, path);
	mark->second = 0400;
}

int mark_secrets(struct planner *planner)
{
	const struct spawn_request *request = planner->request;
	const struct policy *policy = planner->policy;

	for (size_t i = 0; policy && i < policy->n_settings; i++) {
		const struct setting *setting = &policy->settings[i];
		const char *name = setting_below(setting, "env.secrets.");

		if (name)
			mark_secret(planner, name, planner_project_path(planner, setting->text),
				    origin_of_setting(planner, setting));
	}
	for (size_t i = 0; i < request->n_secrets; i++)
		mark_secret(planner, request->secrets[i].name, request->secrets[i].path,
			    origin_of_option(planner, "--secret"));
	return 0;
}

/* ---- rights that an option takes back ---- */

/* Where the rules are about a tmpfs, as in /tmp, a directory that an option shows has the option's
 * rights alone, also in what a rule names. */
static bool find_taker(struct planner *planner, const struct mark *mark, struct step_origin *ret)
{
	const struct place *place;

	if (mark->kind != MARK_ALLOW || mark->origin.kind != ORIGIN_RULE ||
	    !(mark->rights & RIGHT_WRITE) || (mark->flags & MARK_DROPPED) || !mark->facts ||
	    mark->facts->kind == HOST_MISSING)
		return false;
	place = view_find(planner, mark->place);
	return place && !(place->rights & RIGHT_WRITE) &&
	       place_find_denial(planner, place, RIGHT_WRITE, ret) && ret->text &&
	       strncmp(ret->text, "--", 2) == 0 && strncmp(ret->text, "--deny", 6) != 0;
}

void note_lost_writes(struct planner *planner)
{
	for (size_t i = 0; i < planner->view.marks.n_rows; i++) {
		const struct mark *mark = mark_at(planner, i);
		struct step_origin origin;

		if (!find_taker(planner, mark, &origin))
			continue;
		planner_advise(
			planner,
			planner_format(planner,
				       "the command cannot write to '%.300s', which %s allows",
				       mark->path, origin_text(&mark->origin)),
			planner_format(
				planner,
				"%s shows a directory around it, which in /tmp has the rights of the option alone",
				origin_text(&origin)),
			planner_format(planner,
				       "add --write %s, because %s shows a directory around it",
				       planner_word(planner, mark->path), origin_text(&origin)));
		return;
	}
}

/* ---- credentials in granted directories ---- */

/* Users whose homes one grant may contain; each costs some hundred questions to the host. */
#define HOMES_MAX 64
/* Names listed in one line. */
#define NAMES_MAX 6

static const struct step_origin hides = { ORIGIN_BUILT_IN, "credentials" };
static const struct step_origin keeps = { ORIGIN_BUILT_IN, "startup files" };

/* Does the mark lose credentials? Only marks that decision.c turns into rules do, and the view's
 * rule about the project. */
static bool loses(const struct mark *mark)
{
	bool is_added = !(mark->flags & MARK_RULED) || (mark->flags & MARK_PROJECT);

	return is_added && mark->kind == MARK_ALLOW && operations_of(mark->rights) != 0 &&
	       (mark->content == CONTENT_HOST || mark->content == CONTENT_OVERLAY);
}

/* The granted path outside, without symbolic links; NULL if it does not exist. */
static const char *real_of(struct planner *planner, const struct mark *mark)
{
	const struct host_path *facts;

	if (strcmp(mark_outside(mark), "/") == 0)
		return "/";
	if (planner->is_listing)
		return mark->real ? mark->real : mark_outside(mark);
	facts = planner_facts(planner, mark_outside(mark));
	return facts && facts->kind != HOST_MISSING && facts->kind != HOST_LINK_REFUSED
		       ? facts->real
		       : NULL;
}

static int refuse_homes(struct planner *planner, const struct mark *grant, size_t n)
{
	(void)sbx_error_what(planner->err, -E2BIG, "cannot leave the credentials out of '%.300s'",
			     mark_outside(grant));
	sbx_error_why(
		planner->err,
		"%s shows it; it contains the home directories of %zu accounts, and sbx examines at most %d",
		origin_text(&grant->origin), n, HOMES_MAX);
	sbx_error_fix(planner->err, "name the directories that are needed one by one");
	return -E2BIG;
}

static int refuse_unasked(struct planner *planner, const struct mark *grant, const char *path)
{
	return error_fill(
		planner->err, -EAGAIN,
		"the host was not probed for it: a symbolic link in the granted path has changed",
		"try again, or name the directory without symbolic links",
		"cannot leave '%.300s' out of '%.300s'", path, mark_outside(grant));
}

/* planner_facts() reports the guarded directories that sbx-spawn creates before the start as
 * present, but sbx-spawn creates them only for a grant to write. */
static const struct host_path *find_named(struct planner *planner, const struct mark *grant,
					  const char *path)
{
	return grant->rights & RIGHT_WRITE ? planner_facts(planner, path)
					   : host_find_path(planner->host, path);
}

/* Facts of the entry's file after following links: a grant that contains only the link does not
 * show the file, but one that contains both does. */
static const struct host_path *find_facts(struct planner *planner, const struct mark *grant,
					  const char *path)
{
	const struct host_path *facts = find_named(planner, grant, path);

	if (facts && facts->kind == HOST_LINK_REFUSED && facts->leads_to)
		return host_find_path(planner->host, facts->leads_to);
	return facts;
}

static void add_except(struct planner *planner, struct mark *grant, const char *path,
		       unsigned rights)
{
	*(struct composed_except *)list_add(planner, &grant->excepts,
					    sizeof(struct composed_except)) =
		(struct composed_except){
			.path = path,
			.operations = rights == RIGHT_WRITE ? operations_of(RIGHT_WRITE) : 0,
		};
}

/* Excepts @rights to an entry from @grant; @facts are the entry's, which lies in @real. */
static void except(struct planner *planner, struct mark *grant, const char *real,
		   const struct host_path *facts, unsigned rights)
{
	const char *named = planner_rebase(planner, facts->real, real, grant->path);
	const char *path = grant->source ? named : facts->real;
	struct mark *mark;

	add_except(planner, grant, path, rights);
	if (strcmp(named, path) != 0)
		add_except(planner, grant, named, rights);
	mark = planner_add_mark(planner, MARK_EXCEPT, path, rights,
				rights == RIGHT_WRITE ? keeps : hides);
	mark->flags = MARK_RULED | MARK_OURS;
	mark->facts = facts;
}

/* Does the grant make a whole home writable? Only then are startup files excepted: a user that
 * grants a single directory of the home knows what it contains. */
static bool writes_home(const struct planner *planner, const struct mark *grant, const char *real)
{
	return (grant->rights & RIGHT_WRITE) && grant->content == CONTENT_HOST &&
	       credentials_count_homes(planner->request->credentials, real) > 0;
}

static unsigned rights_lost(const struct planner *planner, const struct mark *grant,
			    const char *real, const struct credential *entry)
{
	if (entry->kinds & (CREDENTIAL_SECRET | CREDENTIAL_SOCKET))
		return RIGHTS_SEEN;
	return writes_home(planner, grant, real) ? RIGHT_WRITE : 0;
}

/* A command with write access to a link's directory can replace the link. */
static bool is_link(const struct host_path *facts)
{
	return facts->kind == HOST_LINK_REFUSED || strcmp(facts->real, facts->path) != 0;
}

static int leave_out(struct planner *planner, struct mark *grant, const char *real,
		     const struct credential *entry)
{
	const struct host_path *named = find_named(planner, grant, entry->path);
	const struct host_path *facts = find_facts(planner, grant, entry->path);
	unsigned rights = rights_lost(planner, grant, real, entry);
	bool is_there;

	if (!named)
		return refuse_unasked(planner, grant, entry->path);
	is_there = facts && facts->kind != HOST_MISSING && facts->kind != HOST_LINK_REFUSED;
	if ((entry->kinds & CREDENTIAL_STARTUP) && (!is_there || is_link(named)) &&
	    !grant->source && writes_home(planner, grant, real))
		list_add_path(planner, &planner->creatable, entry->path);
	if (is_there && rights && path_is_at_or_below(facts->real, real) &&
	    strcmp(facts->real, real) != 0)
		except(planner, grant, real, facts, rights);
	return 0;
}

static int leave_all_out(struct planner *planner, struct mark *grant)
{
	const struct credential_list *list = planner->request->credentials;
	const char *real = real_of(planner, grant);
	const struct credential *entries = NULL;
	size_t n = 0, n_homes = real ? credentials_count_homes(list, real) : 0;
	int r = 0;

	if (n_homes > HOMES_MAX)
		return refuse_homes(planner, grant, n_homes);
	if (real)
		r = credentials_below(list, real, planner->memory.arena, &entries, &n);
	planner->memory.is_exhausted |= r == -ENOMEM;
	for (size_t i = 0; i < n && r == 0; i++) {
		if (planner->is_listing)
			list_add_path(planner, &planner->questions.paths, entries[i].path);
		else
			r = leave_out(planner, grant, real, &entries[i]);
	}
	return r;
}

int mark_credentials(struct planner *planner)
{
	size_t n = planner->view.marks.n_rows;
	int r = 0;

	for (size_t i = 0; planner->request->credentials && i < n && r == 0; i++) {
		struct mark *mark = mark_at(planner, i);

		if (loses(mark))
			r = leave_all_out(planner, mark);
	}
	return r;
}

static bool is_grant(const struct mark *mark)
{
	return mark->kind == MARK_ALLOW && mark->content == CONTENT_HOST &&
	       mark->origin.kind == ORIGIN_ARGUMENT && (mark->flags & MARK_ASKED) && !mark->source;
}

/* Excepts from the grant what other options name for reading in it: that stays read-only. */
static void keep_read_only(struct planner *planner, struct mark *wide)
{
	const char *around = real_of(planner, wide);

	for (size_t i = 0; around && i < planner->view.marks.n_rows; i++) {
		const struct mark *mark = mark_at(planner, i);
		const char *path;

		if (!is_grant(mark) || (mark->rights & RIGHT_WRITE) || (mark->flags & MARK_RUN))
			continue;
		path = real_of(planner, mark);
		if (path && path_is_at_or_below(path, around) && strcmp(path, around) != 0)
			add_except(planner, wide, path, RIGHT_WRITE);
	}
}

void mark_read_only(struct planner *planner)
{
	for (size_t i = 0; i < planner->view.marks.n_rows; i++) {
		struct mark *mark = mark_at(planner, i);

		if (is_grant(mark) && (mark->rights & RIGHT_WRITE))
			keep_read_only(planner, mark);
	}
}

/* Adds the path in the form "~/.ssh". */
static void add_name(struct planner *planner, const char *path)
{
	const char *home = planner->request->credentials->home;
	bool is_short = home && path_is_at_or_below(path, home);

	text_add_char(&planner->memory.text, ' ');
	text_add(&planner->memory.text, is_short ? "~" : "");
	text_add(&planner->memory.text, is_short ? path + strlen(home) : path);
}

static void add_count(struct planner *planner, size_t n)
{
	if (n > NAMES_MAX)
		text_addf(&planner->memory.text, " and %zu more", n - NAMES_MAX);
}

bool place_is_of_credentials(const struct place *place)
{
	for (size_t i = 0; i < place->n_marks; i++)
		if (place->marks[i]->origin.text != hides.text &&
		    place->marks[i]->origin.text != keeps.text)
			return false;
	return true;
}

static bool is_left_out(const struct place *place)
{
	for (size_t i = 0; i < place->n_marks; i++)
		if (place->marks[i]->origin.text == hides.text)
			return !(place->rights & RIGHTS_SEEN);
	return false;
}

static void note_left_out(struct planner *planner)
{
	size_t n = 0;

	text_reset(&planner->memory.text);
	text_add(&planner->memory.text, "not shown:");
	for (size_t i = 0; i < planner->view.n_places; i++)
		if (is_left_out(&planner->view.places[i]) && n++ < NAMES_MAX)
			add_name(planner, planner->view.places[i].path);
	add_count(planner, n);
	if (n > 0)
		planner_advise(planner, planner_take_text(planner),
			       "credentials are shown only if they are named",
			       "name one with --read, a socket with --unix, to show it")
			->is_hint = true;
}

/* Could the command create the path? A denial or another mount may prevent it. */
static bool can_be_made(struct planner *planner, const char *path)
{
	const struct asked_path asked = { .path = path, .kind = HOST_MISSING };

	return decided_rights(planner, &asked, RIGHT_WRITE);
}

static void note_creatable(struct planner *planner)
{
	const char *const *paths = planner->creatable.rows;
	size_t n = 0;

	text_reset(&planner->memory.text);
	text_add(&planner->memory.text, "the command can create missing startup files:");
	for (size_t i = 0; i < planner->creatable.n_rows; i++)
		if (can_be_made(planner, paths[i]) && n++ < NAMES_MAX)
			add_name(planner, paths[i]);
	add_count(planner, n);
	if (n > 0)
		planner_advise(planner, planner_take_text(planner),
			       "programs outside would execute them",
			       "use --out, or grant a narrower directory")
			->is_weaker = true;
}

void note_credentials(struct planner *planner)
{
	if (!planner->request->credentials)
		return;
	note_left_out(planner);
	note_creatable(planner);
}
