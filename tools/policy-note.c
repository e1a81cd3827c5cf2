/* SPDX-License-Identifier: MIT */

/*
 * Notes of eval and explain: what a sandbox does differently from the decision
 *
 * A decision is about a path as a text. The kernel follows links and reads what it executes; so a
 * note asks for the other decisions that this takes.
 */

#include "policy.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "policy/view.h"

#define LINKS_MAX 40 /* as in the kernel (MAXSYMLINKS) */

static bool is_allowed(struct judge *judge, const struct policy_request *request,
		       const char *operation, const char *path)
{
	struct policy_request other = *request;
	struct policy_decision decision;

	other.operation = operation;
	other.path = path;
	policy_decide(judge->engine, &other, &decision);
	return policy_permits(decision.verdict);
}

/* What a sandbox executes although no rule allows it; only a rule that denies it prevents that. */
static bool is_executed_all_the_same(const struct policy_request *request,
				     const struct policy_decision *decision)
{
	return decision->cause == CAUSE_DEFAULT && decision->verdict == POLICY_DENY &&
	       strcmp(request->operation, "exec") == 0;
}

/* Is every name in /tmp or /var/tmp, where the path is, allowed? Such a permission is about the
 * sandbox's own directory. */
static bool is_allowed_around(struct judge *judge, const struct policy_request *request)
{
	if (!request->path || strncmp(request->operation, "fs.", 3) != 0 ||
	    !view_is_in_private(request->path) || view_is_private(request->path))
		return false;
	return is_allowed(judge, request, request->operation,
			  strncmp(request->path, "/tmp", 4) == 0 ? "/tmp/\x01" : "/var/tmp/\x01");
}

/* The kernel reads a program that it executes. */
static bool is_unread(struct judge *judge, const struct policy_request *request)
{
	return request->path && strcmp(request->operation, "exec") == 0 &&
	       !is_allowed(judge, request, "fs.read", request->path);
}

/* ---- links ---- */

/* A walk along a path of the host, component by component. */
struct walk {
	char done[PATH_MAX]; /* the path so far, without links; "" is the root */
	char rest[PATH_MAX];
	int n_links;
};

/* Moves the next component from walk->rest to walk->done; false at the end, or if it is too long.
 */
static bool step(struct walk *walk)
{
	const char *rest = walk->rest + strspn(walk->rest, "/");
	size_t n = strcspn(rest, "/"), len = strlen(walk->done);

	if (n == 0 || len + n + 2 > sizeof(walk->done))
		return false;
	if (n == 2 && strncmp(rest, "..", n) == 0) {
		walk->done[len > 0 ? (size_t)(strrchr(walk->done, '/') - walk->done) : 0] = '\0';
	} else if (n != 1 || rest[0] != '.') {
		walk->done[len] = '/';
		memcpy(walk->done + len + 1, rest, n);
		walk->done[len + 1 + n] = '\0';
	}
	memmove(walk->rest, rest + n, strlen(rest + n) + 1);
	return true;
}

/* Continues at @target, the content of the link at walk->done. */
static bool follow(struct walk *walk, const char *target)
{
	char rest[PATH_MAX];
	int len = snprintf(rest, sizeof(rest), "%s/%s", target, walk->rest);

	if (++walk->n_links > LINKS_MAX || len < 0 || (size_t)len >= sizeof(rest))
		return false;
	memcpy(walk->rest, rest, (size_t)len + 1);
	if (target[0] == '/')
		walk->done[0] = '\0';
	else
		*strrchr(walk->done, '/') = '\0';
	return true;
}

/* The path that a value of a rule names; false if it is too long, or relative to no project. */
static bool name_value(const char *value, const char *project, char ret[static PATH_MAX])
{
	int n = value[0] == '/' ? snprintf(ret, PATH_MAX, "%s", value)
		: project	? snprintf(ret, PATH_MAX, "%s/%s", project,
					   value + (strncmp(value, "./", 2) == 0 ? 2 : 0))
				: -1;

	if (n > 1 && n < PATH_MAX && ret[n - 1] == '/')
		ret[n - 1] = '\0';
	return n >= 0 && n < PATH_MAX;
}

/* Does a rule name the link, or a path through it that the request is at or below? Then a sandbox
 * shows it with all that this path leads through. @ret_n: the bytes of this path after the link. */
static bool is_named(const struct policy *policy, const struct policy_request *request,
		     const char *link, size_t *ret_n)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < policy->n_rules; i++) {
		const struct match_list *list = &policy->rules[i].match.lists[MATCH_PATH];

		for (size_t k = 0; k < list->n_values && policy_permits(policy->rules[i].action);
		     k++) {
			if (!name_value(list->values[k].text, request->project_root, path) ||
			    !path_is_at_or_below(path, link) ||
			    (strcmp(path, link) != 0 && !path_is_at_or_below(request->path, path)))
				continue;
			*ret_n = strlen(path) - strlen(link);
			return true;
		}
	}
	return false;
}

/* Does a rule show the link? */
static bool is_shown(struct judge *judge, const struct policy_request *request, const char *link)
{
	static const char *const operations[] = { "fs.read", "fs.list", "fs.write", "exec",
						  "fs.exists" };

	for (size_t i = 0; i < N_ELEMENTS(operations); i++)
		if (is_allowed(judge, request, operations[i], link))
			return true;
	return false;
}

/* Is the path a file of the host under this name? Mounts put other files there, and the sandbox has
 * a /dev and a /proc of its own. */
static bool is_of_host(const struct judge *judge, const char *path)
{
	static const char *const own[] = { "/dev", "/proc" };

	for (size_t i = 0; i < N_ELEMENTS(own); i++)
		if (path_is_beneath(path, own[i]))
			return false;
	for (size_t i = 0; i < artefact_n_rows(&judge->artefact, SECTION_RULES); i++)
		if (artefact_rule_at(&judge->artefact, (uint32_t)i)->kind == RULE_OF_MOUNT)
			return false;
	return path_is_normal(path);
}

/* Follows the links of an allowed path on this host. Returns true with the first place where no
 * rule continues in walk->done. */
static bool find_gap(struct judge *judge, const struct policy_request *request, struct walk *walk)
{
	size_t n_named = SIZE_MAX; /* the bytes of walk->rest after what a rule names */
	char target[PATH_MAX];

	while (step(walk)) {
		size_t n_rest = strlen(walk->rest), n_beyond = 0;
		ssize_t n = readlink(walk->done, target, sizeof(target) - 1);

		if (n <= 0)
			continue;
		target[n] = '\0';
		if (n_named == SIZE_MAX || n_rest < n_named) {
			if (walk->n_links > 0 && !is_shown(judge, request, walk->done))
				return true;
			n_named = SIZE_MAX;
			if (is_named(judge->policy, request, walk->done, &n_beyond))
				n_named = n_rest > n_beyond ? n_rest - n_beyond : 0;
		}
		if (!follow(walk, target)) {
			walk->n_links = 0;
			return false;
		}
	}
	return false;
}

static const char *note_links(struct judge *judge, const struct policy_request *request)
{
	struct walk walk = { .n_links = 0 };
	bool is_gap;

	if (!judge->policy || !request->path || !is_of_host(judge, request->path) ||
	    path_has_no_links(request->path))
		return NULL;
	memcpy(walk.rest, request->path, strlen(request->path) + 1);
	is_gap = find_gap(judge, request, &walk);
	if (walk.n_links == 0 || !walk.done[0] || !is_of_host(judge, walk.done) ||
	    (!is_gap && is_allowed(judge, request, request->operation, walk.done)))
		return NULL;
	text_addf(&judge->note,
		  is_gap ? "on this host it leads through the link '%s', which no rule shows: "
			   "programs in a sandbox do not find it"
			 : "on this host it leads to '%s', for which this is not allowed: a "
			   "sandbox refuses it",
		  walk.done);
	return text_status(&judge->note) < 0 ? NULL : text_string(&judge->note);
}

void judge_decide_noted(struct judge *judge, const struct request_buffer *buffer,
			struct policy_decision *ret)
{
	const struct policy_request *request = &buffer->request;
	/* First, because a decision borrows the engine's memory until the next one. */
	bool is_private = is_allowed_around(judge, request);
	bool is_unreadable = is_unread(judge, request);
	const char *links;

	text_reset(&judge->note);
	links = note_links(judge, request);
	judge_decide(judge, buffer, ret);
	if (is_executed_all_the_same(request, ret))
		ret->note = "a sandbox executes the program loader all the same, and the command "
			    "itself if no rule allows exec";
	if (!policy_permits(ret->verdict))
		return;
	if (is_unreadable)
		ret->note = "a sandbox does not execute it, because fs.read of it is not allowed: "
			    "allow both, with 'syscall: [exec, fs.read]'";
	else if (is_private)
		ret->note = "this is about files of the sandbox's own /tmp; a file of the host "
			    "that a rule or the working directory shows there has only the "
			    "rights of what shows it";
	else
		ret->note = links;
}
