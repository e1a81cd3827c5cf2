/* SPDX-License-Identifier: MIT */

/*
 * Notes of eval and explain: what a sandbox does differently from the decision
 *
 * A decision is about a path as a text. A sandbox mounts files of this host, and Landlock gives
 * rights to directories; so a note asks for the other decisions that the planner asks for
 * (plan/decision.c).
 */

#include "policy.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "policy/view.h"

#define FRESH "\x01" /* a name that occurs in no rule */

/* Those of reading come first. */
static const char *const operations[] = { "fs.read", "fs.list", "fs.exists", "fs.write", "exec" };
#define N_READS 3

struct noter {
	struct judge *judge;
	const struct policy_request *request;
};

static void decide(const struct noter *noter, const char *operation, const char *path,
		   struct policy_decision *ret)
{
	struct policy_request other = *noter->request;

	other.operation = operation;
	other.path = path;
	policy_decide(noter->judge->engine, &other, ret);
}

static bool is_allowed(const struct noter *noter, const char *operation, const char *path)
{
	struct policy_decision decision;

	decide(noter, operation, path, &decision);
	return policy_permits(decision.verdict);
}

static bool is_ruled_out(const struct noter *noter, const char *operation, const char *path)
{
	struct policy_decision decision;

	decide(noter, operation, path, &decision);
	return !policy_permits(decision.verdict) &&
	       (decision.cause == CAUSE_RULES || decision.cause == CAUSE_BUILTIN);
}

/* The path of @name in the directory @path; "" if it is too long, which no rule allows. */
static const char *below(const char *path, size_t len, const char *name, char ret[static PATH_MAX])
{
	int n = snprintf(ret, PATH_MAX, "%.*s/%s", (int)(len == 1 ? 0 : len), path, name);

	return n >= 0 && n < PATH_MAX ? ret : "";
}

static size_t parent_length(const char *path)
{
	return (size_t)(path_last(path) - path - 1);
}

/* 0 if it does not exist here, or is not of the host. */
static mode_t kind_of(const struct noter *noter, const char *path)
{
	char outside[PATH_MAX];
	struct stat status;

	if (!judge_finds_outside(noter->judge, noter->request, path, outside) ||
	    lstat(outside, &status) < 0)
		return 0;
	return status.st_mode & S_IFMT;
}

/* Is every name in /tmp or /var/tmp, where the path is, allowed? Such a permission is about the
 * sandbox's own directory. */
static bool is_private(const struct noter *noter, const char *operation, const char *path)
{
	return view_is_in_private(path) && !view_is_private(path) &&
	       is_allowed(noter, operation,
			  strncmp(path, "/tmp", 4) == 0 ? "/tmp/" FRESH : "/var/tmp/" FRESH);
}

/* The rights of a directory are those to what is below it, and to a path those of the nearest one
 * that a rule names. */
static bool has_right(const struct noter *noter, const char *operation, const char *path)
{
	const char *place = judge_find_place(noter->judge, noter->request, path);
	char name[PATH_MAX];

	if (!place && is_private(noter, operation, path))
		return false;
	path = place ? place : path;
	if (kind_of(noter, path) != S_IFDIR)
		return is_allowed(noter, operation, path);
	if (!is_allowed(noter, operation, below(path, strlen(path), FRESH, name)))
		return false;
	if (is_allowed(noter, operation, path))
		return true;
	/* A command that may write beside the directory may rename it. */
	if (strcmp(operation, "fs.write") == 0 &&
	    is_allowed(noter, operation, below(path, parent_length(path), FRESH, name)))
		return false;
	return strcmp(operation, "fs.list") != 0 && !is_ruled_out(noter, operation, path);
}

static bool has_any_right(const struct noter *noter, const char *path)
{
	for (size_t i = 0; i < N_ELEMENTS(operations); i++)
		if (has_right(noter, operations[i], path))
			return true;
	return false;
}

/* Would the path have the right without a mount of its own? Landlock takes back no right to read or
 * list that a directory above gives, and a mount shows the names of all that it contains. */
static bool is_inherited(const struct noter *noter, size_t i, const char *path)
{
	bool is_about_names = strcmp(operations[i], "fs.exists") == 0;
	char name[PATH_MAX];
	bool has = has_right(noter, operations[i], below(path, parent_length(path), FRESH, name));

	if ((has && !is_about_names) || (!has && i >= N_READS - 1))
		return has;
	for (size_t len = parent_length(path); len > 0; len = parent_length(name)) {
		(void)snprintf(name, sizeof(name), "%.*s", (int)len, path);
		if (!is_about_names && has_right(noter, operations[i], name))
			return true;
		if (is_about_names && has_any_right(noter, name))
			has = has_right(noter, operations[i], name);
	}
	return has;
}

/* May the files around the path be read, listed or seen, and the path not, or is there no right to
 * it alone? A mount hides it then, for writing and executing, too. @ret_operation is the first one.
 */
static bool is_masked(const struct noter *noter, const char *path, const char **ret_operation)
{
	mode_t kind = kind_of(noter, path);
	bool has_none = !has_any_right(noter, path);

	for (size_t i = 0; kind && i < N_ELEMENTS(operations); i++) {
		if (strcmp(operations[i], "fs.list") == 0 && kind != S_IFDIR)
			continue;
		if ((i >= N_READS && !has_none) || has_right(noter, operations[i], path) ||
		    !is_inherited(noter, i, path))
			continue;
		*ret_operation = operations[i];
		return true;
	}
	return false;
}

/* The topmost masked path at or above @path in @ret; false if there is none, or a rule shows what
 * is below it again. */
static bool find_mask(const struct noter *noter, const char *path, char ret[static PATH_MAX],
		      const char **ret_operation)
{
	char at[PATH_MAX];
	bool is_found = false;

	(void)snprintf(at, sizeof(at), "%s", path);
	for (; at[0]; *strrchr(at, '/') = '\0') {
		if (is_masked(noter, at, ret_operation)) {
			(void)snprintf(ret, PATH_MAX, "%s", at);
			is_found = true;
		} else if (judge_shows_again(noter->judge, noter->request, at,
					     kind_of(noter, at) == S_IFDIR) &&
			   has_any_right(noter, at)) {
			break;
		}
	}
	return is_found;
}

static bool is_place_granted(const void *context, const char *path)
{
	return has_any_right(context, path);
}

/* Does a sandbox show the path, by itself or as a part of its directory? */
static bool is_shown(const struct noter *noter, const char *path)
{
	char parent[PATH_MAX], masked[PATH_MAX];
	const char *operation;

	if (find_mask(noter, path, masked, &operation))
		return false;
	(void)snprintf(parent, sizeof(parent), "%.*s", (int)parent_length(path), path);
	return has_any_right(noter, path) || (parent[0] && has_any_right(noter, parent));
}

static bool is_denied_with_all(const struct noter *noter, const char *path)
{
	char name[PATH_MAX];

	return is_ruled_out(noter, "fs.read", path) ||
	       is_ruled_out(noter, "fs.read", below(path, strlen(path), FRESH, name));
}

bool judge_has(struct judge *judge, const struct policy_request *request, const char *path,
	       bool is_link, bool is_named)
{
	const struct noter noter = { judge, request };
	char parent[PATH_MAX], masked[PATH_MAX];
	const char *operation;

	(void)snprintf(parent, sizeof(parent), "%.*s", (int)parent_length(path), path);
	bool is_hidden = parent[0] && find_mask(&noter, parent, masked, &operation);

	/* A sandbox can show again a path below one without any right. */
	if (is_named && (!is_hidden || !has_any_right(&noter, masked)) &&
	    (!is_link || !is_denied_with_all(&noter, path)))
		return true;
	return parent[0] && !is_hidden && has_any_right(&noter, parent);
}

static bool is_about(const struct noter *noter, const char *operation)
{
	return strcmp(noter->request->operation, operation) == 0;
}

/* What a sandbox executes although no rule allows it; only a rule that denies it prevents that. */
static bool is_executed_all_the_same(const struct noter *noter,
				     const struct policy_decision *decision)
{
	return decision->cause == CAUSE_DEFAULT && decision->verdict == POLICY_DENY &&
	       is_about(noter, "exec");
}

/* Is the path a file of the host? The sandbox has a /dev and a /proc of its own. */
static bool is_of_host(const char *path)
{
	static const char *const own[] = { "/dev", "/proc" };

	for (size_t i = 0; i < N_ELEMENTS(own); i++)
		if (path_is_beneath(path, own[i]))
			return false;
	return path_is_normal(path);
}

static const char *take_note(struct judge *judge)
{
	return text_status(&judge->note) < 0 ? NULL : text_string(&judge->note);
}

/* ---- under a permission: what a sandbox refuses ---- */

enum obstacle {
	OBSTACLE_NONE,
	OBSTACLE_DIRECTORY, /* the right to the directory is not one to what is below it */
	OBSTACLE_AROUND,    /* there is no right to the path on which its rights depend */
	OBSTACLE_UNSHOWN,   /* nothing around it is shown, and no rule names it to show it */
	OBSTACLE_MISSING,   /* the file is not there, and its directory cannot be written */
	OBSTACLE_MASK,
	OBSTACLE_OVERLAY, /* an overlay is mounted noexec, unless exec is allowed for all of it */
};

static bool is_carried(const struct noter *noter, const char *path)
{
	return judge_carries(noter->judge, noter->request, path, is_place_granted, noter);
}

/* Finds the obstacle to make a file in the directory @parent. */
static enum obstacle find_obstacle_in(const struct noter *noter, const char *parent)
{
	if (!is_about(noter, "fs.write") || kind_of(noter, parent) != S_IFDIR)
		return OBSTACLE_NONE;
	if (!has_right(noter, "fs.write", parent))
		return OBSTACLE_MISSING;
	return is_carried(noter, parent) ? OBSTACLE_NONE : OBSTACLE_UNSHOWN;
}

/* Finds the obstacle at @path, which has no links. @ret is the masked path, or that around it. */
static enum obstacle find_obstacle(const struct noter *noter, const char *path,
				   char ret[static PATH_MAX], const char **ret_operation)
{
	const char *wanted = noter->request->operation;
	bool is_seen = is_about(noter, "fs.exists");
	mode_t kind = kind_of(noter, path);
	const char *place;

	if (find_mask(noter, path, ret, ret_operation))
		return is_seen && strcmp(ret, path) == 0 ? OBSTACLE_NONE : OBSTACLE_MASK;
	(void)snprintf(ret, PATH_MAX, "%.*s", (int)parent_length(path), path);
	if (!kind)
		return find_obstacle_in(noter, ret);
	if (is_about(noter, "exec") &&
	    judge_find_overlay(noter->judge, noter->request, path, ret) &&
	    !has_right(noter, wanted, ret))
		return OBSTACLE_OVERLAY;
	if (is_seen ? is_shown(noter, path)
		    : has_right(noter, wanted, path) &&
			      (!is_about(noter, "exec") || has_right(noter, "fs.read", path)))
		return is_carried(noter, path) ? OBSTACLE_NONE : OBSTACLE_UNSHOWN;
	place = judge_find_place(noter->judge, noter->request, path);
	(void)snprintf(ret, PATH_MAX, "%s", place ? place : path);
	return strcmp(ret, path) == 0 ? OBSTACLE_DIRECTORY : OBSTACLE_AROUND;
}

static const char *note_obstacle(const struct noter *noter, const char *path)
{
	struct text *note = &noter->judge->note;
	const char *operation = "";
	char masked[PATH_MAX];

	/* A compiled policy does not have the paths on which rights depend. */
	if (!noter->judge->policy)
		return NULL;
	switch (find_obstacle(noter, path, masked, &operation)) {
	case OBSTACLE_DIRECTORY:
		text_addf(note,
			  "on this host '%s' is a directory, and this is not allowed for what is "
			  "below it: a sandbox refuses it; a glob for both ends with '/'",
			  path);
		break;
	case OBSTACLE_AROUND:
		text_addf(note,
			  "a sandbox may refuse it, because this is not allowed for '%s', which a "
			  "rule names, and it is below that",
			  masked);
		break;
	case OBSTACLE_UNSHOWN:
		text_addf(note,
			  "a sandbox does not show '%s', because no rule names it to allow it, and "
			  "a rule denies what is around it",
			  path);
		break;
	case OBSTACLE_MISSING:
		text_addf(note,
			  "'%s' does not exist on this host, and this is not allowed for its "
			  "whole directory: a sandbox does not create it",
			  path);
		break;
	case OBSTACLE_MASK:
		text_addf(note,
			  "a sandbox hides '%s' as a whole, because %s is allowed beside it and "
			  "not for it",
			  masked, operation);
		break;
	case OBSTACLE_OVERLAY:
		text_addf(note,
			  "a sandbox does not execute it, because this is not allowed for all of "
			  "the overlay '%s'",
			  masked);
		break;
	case OBSTACLE_NONE:
		return NULL;
	}
	return take_note(noter->judge);
}

/* Is the operation allowed where the request leads? A path that is shown for any operation exists.
 */
static bool is_allowed_at(const struct noter *noter, const char *path)
{
	const char *wanted = noter->request->operation;

	if (is_about(noter, "fs.exists"))
		return is_shown(noter, path);
	return is_allowed(noter, wanted, path);
}

static const char *note_refusal(const struct noter *noter)
{
	struct text *note = &noter->judge->note;
	char end[PATH_MAX];
	enum judge_way way = judge_find_way(noter->judge, noter->request, end);

	if (!is_of_host(end))
		return NULL;
	if (way == WAY_GAP)
		text_addf(note,
			  "on this host it leads through the link '%s', which no rule shows: "
			  "programs in a sandbox do not find it",
			  end);
	else if (way == WAY_UP)
		text_addf(note,
			  "on this host it leads through '%s/..', and no rule shows that "
			  "directory: programs in a sandbox do not find it",
			  end);
	else if (way == WAY_LINKED && !is_allowed_at(noter, end))
		text_addf(note,
			  "on this host it leads to '%s', for which this is not allowed: a "
			  "sandbox refuses it",
			  end);
	else if (is_about(noter, "exec") && !is_allowed(noter, "fs.read", end))
		return "a sandbox does not execute it, because fs.read of it is not allowed: allow "
		       "both, with 'syscall: [exec, fs.read]'";
	else
		return note_obstacle(noter, end);
	return take_note(noter->judge);
}

/* ---- under a denial: what a sandbox permits ---- */

/* The same, and neither a rule nor the working directory shows the host's file? */
static bool is_only_private(const struct noter *noter, const char *operation, const char *path)
{
	const char *shown = judge_find_shown(noter->judge, noter->request, path);

	return is_private(noter, operation, path) &&
	       (!shown || !view_is_in_private(shown) || view_is_private(shown));
}

static const char *note_permission(const struct noter *noter)
{
	struct text *note = &noter->judge->note;
	char end[PATH_MAX], masked[PATH_MAX];
	enum judge_way way = judge_find_way(noter->judge, noter->request, end);
	const char *wanted = is_about(noter, "exec") ? "fs.read" : noter->request->operation;
	const char *operation;

	if (!is_of_host(end) || way == WAY_GAP || way == WAY_UP || !is_allowed_at(noter, end) ||
	    (way == WAY_STRAIGHT && (!is_about(noter, "fs.exists") || !kind_of(noter, end))) ||
	    is_only_private(noter, wanted, end) ||
	    (is_about(noter, "exec") && !is_allowed(noter, "fs.read", end)) ||
	    find_obstacle(noter, end, masked, &operation) != OBSTACLE_NONE)
		return NULL;
	if (way == WAY_STRAIGHT)
		text_add(note, "a sandbox shows that it exists, because another operation on it is "
			       "allowed");
	else
		text_addf(note,
			  "on this host it leads to '%s', for which this is allowed: a sandbox "
			  "permits it",
			  end);
	return take_note(noter->judge);
}

/* What a compiled policy lacks: the texts of its rules, and its mounts. */
static const char *note_unknown(const struct noter *noter)
{
	struct text *note = &noter->judge->note;
	const struct artefact *artefact = &noter->judge->artefact;
	char end[PATH_MAX];

	for (size_t i = 0; i < artefact_n_rows(artefact, SECTION_RULES); i++)
		if (artefact_rule_at(artefact, (uint32_t)i)->kind == RULE_OF_MOUNT)
			return "a compiled policy does not say which files its mounts show: ask "
			       "the policy from which it was made";
	if (judge_find_way(noter->judge, noter->request, end) == WAY_STRAIGHT)
		return NULL;
	text_addf(note,
		  "on this host it leads through a symbolic link to '%s', and a compiled policy "
		  "does not say which links its rules name: ask the policy from which it was made",
		  end);
	return take_note(noter->judge);
}

static const char *find_note(const struct noter *noter, const struct policy_decision *decision)
{
	bool is_about_host = decision->cause != CAUSE_BAD_REQUEST && noter->request->path &&
			     is_of_host(noter->request->path);
	const char *note = NULL, *wanted;
	bool is_own;

	if (is_about_host && !noter->judge->policy)
		note = is_executed_all_the_same(noter, decision) ? NULL : note_unknown(noter);
	else if (is_about_host && decision->verdict == POLICY_DENY)
		note = note_permission(noter);
	if (!note && is_executed_all_the_same(noter, decision))
		return "a sandbox executes the program loader all the same, and the command "
		       "itself if no rule allows exec";
	if (note || !is_about_host || !policy_permits(decision->verdict))
		return note;
	wanted = is_about(noter, "exec") ? "fs.read" : noter->request->operation;
	is_own = is_private(noter, wanted, noter->request->path);
	/* A compiled policy does not say what rules show there. */
	if (!is_own ||
	    (noter->judge->policy && !is_only_private(noter, wanted, noter->request->path)))
		note = note_refusal(noter);
	if (!note && is_own)
		return "this is about files of the sandbox's own /tmp; a file of the host that a "
		       "rule or the working directory shows there has only the rights of what "
		       "shows it";
	return note;
}

void judge_decide_noted(struct judge *judge, const struct request_buffer *buffer,
			struct policy_decision *ret)
{
	const struct noter noter = { judge, &buffer->request };
	const char *note;

	text_reset(&judge->note);
	policy_decide(judge->engine, &buffer->request, ret);
	note = find_note(&noter, ret);
	/* Last, because a decision borrows the engine's memory until the next one. */
	judge_decide(judge, buffer, ret);
	ret->note = note;
}
