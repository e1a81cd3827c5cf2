/* SPDX-License-Identifier: MIT */

/*
 * What grants of options and of the working directory lose
 *
 * A grant that contains an entry of the table (policy/credentials.h) excepts it, in the rule that
 * the grant becomes; so the evaluator, the mounts, their pins and the last comparison all know. The
 * host is asked about every entry in a grant, and what is missing needs no exception: nobody could
 * tell it from another missing name. A startup file that is missing, or a link, cannot be kept from
 * being made; that is said.
 */

#include "plan/plan-internal.h"

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

#include "policy/compose.h"
#include "policy/credentials.h"
#include "policy/operation.h"

/* Accounts whose homes one grant may contain; each costs some hundred questions to the host. */
#define HOMES_MAX 64
/* Names in one line. */
#define NAMES_MAX 6

static const struct step_origin hides = { ORIGIN_BUILT_IN, "credentials" };
static const struct step_origin keeps = { ORIGIN_BUILT_IN, "startup files" };

/* What becomes a rule that no policy has written (decided.c), or is the view's of the project. */
static bool loses(const struct mark *mark)
{
	bool is_added = !(mark->flags & MARK_RULED) || (mark->flags & MARK_PROJECT);

	return is_added && mark->kind == MARK_ALLOW && operations_of(mark->rights) != 0 &&
	       (mark->content == CONTENT_HOST || mark->content == CONTENT_OVERLAY);
}

static const char *outside_of(const struct mark *mark)
{
	return mark->source ? mark->source : mark->path;
}

/* What the grant really is outside; NULL where nothing is there to be shown. */
static const char *real_of(struct planner *planner, const struct mark *mark)
{
	const struct host_path *facts;

	if (strcmp(outside_of(mark), "/") == 0)
		return "/";
	if (!planner->host)
		return mark->real ? mark->real : outside_of(mark);
	facts = planner_facts(planner, outside_of(mark));
	return facts && facts->kind != HOST_MISSING && facts->kind != HOST_LINK_REFUSED
		       ? facts->real
		       : NULL;
}

static int refuse_homes(struct planner *planner, const struct mark *grant, size_t n)
{
	(void)sbx_error_what(planner->err, -E2BIG, "cannot leave the credentials out of '%.300s'",
			     outside_of(grant));
	sbx_error_why(planner->err,
		      "%s shows it, it contains the homes of %zu accounts, and at most %d can be "
		      "looked at",
		      origin_text(&grant->origin), n, HOMES_MAX);
	sbx_error_fix(planner->err, "name the homes or directories that are needed, one by one");
	return -E2BIG;
}

static int refuse_unasked(struct planner *planner, const struct mark *grant, const char *path)
{
	(void)sbx_error_what(planner->err, -EAGAIN, "cannot leave '%.300s' out of '%.300s'", path,
			     outside_of(grant));
	sbx_error_why(planner->err, "the host was not asked about it: a link on the way to what "
				    "is granted has changed");
	sbx_error_fix(planner->err, "try it again, or name the directory without links");
	return -EAGAIN;
}

/* planner_facts() counts the guarded directories that sbx-spawn makes before the start as present;
 * it makes them only where a grant may write. */
static const struct host_path *find_named(struct planner *planner, const struct mark *grant,
					  const char *path)
{
	return grant->rights & RIGHT_WRITE ? planner_facts(planner, path)
					   : host_find_path(planner->host, path);
}

/* What stands at the entry, behind whatever links lead there: a grant that shows the link does not
 * show what it leads to, but one that contains both does. */
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

/* @facts are of the entry, which lies in @real. */
static void except(struct planner *planner, struct mark *grant, const char *real,
		   const struct host_path *facts, unsigned rights)
{
	const char *rest = facts->real + (strcmp(real, "/") == 0 ? 0 : strlen(real));
	const char *named = planner_join(planner, grant->path, rest + (*rest == '/'));
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

/* Startup files are those of a home that is writable as a whole: whoever grants one of its
 * directories knows what lies there. */
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

/* A command that may write the directory of a link can replace the link. */
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
		*(const char **)list_add(planner, &planner->creatable, sizeof(char *)) =
			entry->path;
	if (is_there && rights && is_below(facts->real, real) && strcmp(facts->real, real) != 0)
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
		r = credentials_below(list, real, planner->arena, &entries, &n);
	planner->no_memory |= r == -ENOMEM;
	for (size_t i = 0; i < n && r == 0; i++) {
		if (planner->host)
			r = leave_out(planner, grant, real, &entries[i]);
		else
			*(const char **)list_add(planner, &planner->asked, sizeof(char *)) =
				entries[i].path;
	}
	return r;
}

int mark_credentials(struct planner *planner)
{
	size_t n = planner->marks.n_rows;
	int r = 0;

	for (size_t i = 0; planner->request->credentials && i < n && r == 0; i++) {
		struct mark *mark = ((struct mark **)planner->marks.rows)[i];

		if (loses(mark))
			r = leave_all_out(planner, mark);
	}
	return r;
}

/* "~/.ssh" */
static void add_name(struct planner *planner, const char *path)
{
	const char *home = planner->request->credentials->home;
	bool is_short = home && is_below(path, home);

	text_add_char(&planner->text, ' ');
	text_add(&planner->text, is_short ? "~" : "");
	text_add(&planner->text, is_short ? path + strlen(home) : path);
}

static void add_count(struct planner *planner, size_t n)
{
	if (n > NAMES_MAX)
		text_addf(&planner->text, " and %zu more", n - NAMES_MAX);
}

static struct plan_notice *note(struct planner *planner, const char *why, const char *fix)
{
	struct plan_notice *notice = list_add(planner, &planner->notices, sizeof(*notice));

	planner->no_memory |= text_status(&planner->text) < 0;
	*notice = (struct plan_notice){ .what = planner_keep(planner, text_string(&planner->text)),
					.why = why,
					.fix = fix };
	return notice;
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

	text_reset(&planner->text);
	text_add(&planner->text, "not shown:");
	for (size_t i = 0; i < planner->n_places; i++)
		if (is_left_out(&planner->places[i]) && n++ < NAMES_MAX)
			add_name(planner, planner->places[i].path);
	add_count(planner, n);
	if (n > 0)
		note(planner, "credentials are left out of what does not name them",
		     "name one with --read, a socket with --unix, to show it")
			->is_hint = true;
}

/* Something else than the grant may keep it from being made: a denial, another mount. */
static bool can_be_made(struct planner *planner, const char *path)
{
	const struct asked_path asked = { .path = path, .kind = HOST_MISSING };

	return decided_rights(planner, &asked) & RIGHT_WRITE;
}

static void note_creatable(struct planner *planner)
{
	const char *const *paths = planner->creatable.rows;
	size_t n = 0;

	text_reset(&planner->text);
	text_add(&planner->text, "the command can make startup files that are missing:");
	for (size_t i = 0; i < planner->creatable.n_rows; i++)
		if (can_be_made(planner, paths[i]) && n++ < NAMES_MAX)
			add_name(planner, paths[i]);
	add_count(planner, n);
	if (n > 0)
		note(planner, "programs outside would execute them",
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
