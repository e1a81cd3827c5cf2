/* SPDX-License-Identifier: MIT */

/*
 * Would execve() find the command in the planned sandbox, before it is built?
 *
 * Resolves the path like the kernel: component by component through the mounts of the steps, with
 * their links and those of the host. It only answers if the result is certain. Paths in /proc,
 * copied files, overlays and id-mapped directories are not examined; the run itself reports an
 * error there.
 */

#include "spawn/foresee.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/text.h"
#include "kernel/interpreter.h"
#include "kernel/kernel.h"
#include "plan/plan.h"
#include "spawn/explain.h"
#include "spawn/message.h"

#define LINKS_MAX 40 /* as in the kernel (MAXSYMLINKS) */
#define NESTED_MAX 5 /* scripts whose interpreters are scripts */
#define UNCERTAIN -EAGAIN

/* A walk along a path inside. */
struct walk {
	const struct plan *plan;
	char done[PATH_MAX];	/* the path so far, without links; "" is the root */
	char rest[PATH_MAX];	/* the rest of the path */
	char outside[PATH_MAX]; /* of done; "": a directory that only the sandbox has */
	struct stat st;		/* of outside */
	bool is_mapped;		/* id-mapped: its owner inside is another uid */
	int n_links;
};

static const struct step *find_step_at(const struct plan *plan, const char *path,
				       enum step_kind kind)
{
	for (size_t i = 0; i < plan->n_steps; i++)
		if (plan->steps[i].kind == kind && strcmp(step_target(&plan->steps[i]), path) == 0)
			return &plan->steps[i];
	return NULL;
}

/* Does a step create the path, or a file below it? */
static bool is_made(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->n_steps; i++) {
		enum step_kind kind = plan->steps[i].kind;
		const char *target = step_target(&plan->steps[i]);

		if (kind >= STEP_BIND && kind <= STEP_PTS && target &&
		    path_is_beneath(target, path))
			return true;
	}
	return false;
}

static int join_outside(struct walk *walk, const char *source, const char *target)
{
	int n = snprintf(walk->outside, sizeof(walk->outside), "%s%s", source,
			 walk->done + (strcmp(target, "/") == 0 ? 0 : strlen(target)));

	return n < 0 || (size_t)n >= sizeof(walk->outside) ? -ENAMETOOLONG : 0;
}

/* Sets walk->outside to the host path that is visible at walk->done. */
static int find_outside(struct walk *walk)
{
	const struct step *carrier = plan_find_carrier(walk->plan, walk->done);

	walk->outside[0] = '\0';
	walk->is_mapped = false;
	if (walk->plan->tier != TIER_FULL)
		return join_outside(walk, "", "/");
	if (carrier && carrier->kind == STEP_BIND) {
		walk->is_mapped = carrier->bind.owner.is_set;
		return join_outside(walk, carrier->bind.source, carrier->bind.target);
	}
	if (carrier && carrier->kind == STEP_OVERLAY)
		return UNCERTAIN;
	if (carrier && carrier->kind == STEP_MASK)
		return -EACCES;
	if (carrier && carrier->kind != STEP_TMPFS)
		return UNCERTAIN;
	return is_made(walk->plan, walk->done) ? 0 : -ENOENT;
}

/* Continues at @target, the content of the link at walk->done. */
static int follow(struct walk *walk, const char *target, size_t n)
{
	char rest[PATH_MAX];
	int len = snprintf(rest, sizeof(rest), "%.*s%s%s", (int)n, target, walk->rest[0] ? "/" : "",
			   walk->rest);

	if (++walk->n_links > LINKS_MAX)
		return -ELOOP;
	if (len < 0 || (size_t)len >= sizeof(rest))
		return -ENAMETOOLONG;
	memcpy(walk->rest, rest, (size_t)len + 1);
	if (rest[0] == '/')
		walk->done[0] = '\0';
	else
		*strrchr(walk->done, '/') = '\0';
	return 0;
}

/* With an ACL the group bits are its mask, so no entry permits more than they do. */
static bool is_closed(const struct walk *walk)
{
	mode_t others = S_IXGRP | S_IXOTH;

	return !walk->is_mapped &&
	       !(walk->st.st_mode & (walk->st.st_uid == walk->plan->uid ? S_IXUSR : others));
}

/* Examines walk->done after a component was added. */
static int look(struct walk *walk)
{
	const struct step *link = walk->plan->tier == TIER_FULL
					  ? find_step_at(walk->plan, walk->done, STEP_LINK)
					  : NULL;
	char target[PATH_MAX];
	ssize_t n;
	int r;

	if (link)
		return follow(walk, link->link.points_to, strlen(link->link.points_to));
	r = find_outside(walk);
	if (r < 0 || !walk->outside[0])
		return r;
	if (lstat(walk->outside, &walk->st) < 0)
		return -errno;
	if (S_ISLNK(walk->st.st_mode)) {
		n = readlink(walk->outside, target, sizeof(target));
		return n < 0 ? -errno : follow(walk, target, (size_t)n);
	}
	if (S_ISDIR(walk->st.st_mode) && walk->rest[0] && is_closed(walk))
		return -EACCES;
	return !S_ISDIR(walk->st.st_mode) && walk->rest[0] ? -ENOTDIR : 0;
}

/* Takes the next component of walk->rest. */
static int step_on(struct walk *walk)
{
	size_t skipped = strspn(walk->rest, "/"), n = strcspn(walk->rest + skipped, "/");
	size_t used = strlen(walk->done);
	char name[NAME_MAX + 1];
	char *slash;

	if (n > NAME_MAX || used + n + 2 > sizeof(walk->done))
		return -ENAMETOOLONG;
	memcpy(name, walk->rest + skipped, n);
	name[n] = '\0';
	memmove(walk->rest, walk->rest + skipped + n, strlen(walk->rest + skipped + n) + 1);
	if (n == 0 || strcmp(name, ".") == 0)
		return 0;
	if (strcmp(name, "..") == 0) {
		slash = strrchr(walk->done, '/');
		if (slash)
			*slash = '\0';
		return 0;
	}
	(void)snprintf(walk->done + used, sizeof(walk->done) - used, "/%s", name);
	return look(walk);
}

/* 0 with done, outside and st of @walk set for @path inside. */
static int walk_to(const struct plan *plan, const char *path, struct walk *walk)
{
	const char *from = path[0] == '/' ? "" : plan_working_directory(plan);
	int n, r = 0;

	*walk = (struct walk){ .plan = plan };
	n = snprintf(walk->rest, sizeof(walk->rest), "%s/%s", from, path);
	if (n < 0 || (size_t)n >= sizeof(walk->rest))
		return -ENAMETOOLONG;
	while (r == 0 && walk->rest[0])
		r = step_on(walk);
	return r;
}

/* A command that runs already may replace the file by a link to what only this process may read:
 * the kernel refuses that here, and its first line would be in a message. */
static int open_program(const struct walk *walk)
{
	return path_open_no_links(AT_FDCWD, walk->outside, O_RDONLY | O_NONBLOCK | O_NOCTTY);
}

/* 0 if the interpreters and the loader of the file exist inside, as far as they can be read. */
static int check_interpreters(const struct plan *plan, struct walk *walk,
			      struct exec_failure *failure)
{
	char name[INTERPRETER_MAX];

	for (int i = 0; i < NESTED_MAX; i++) {
		_cleanup_close_ int fd = open_program(walk);
		int r = fd < 0 ? UNCERTAIN : interpreter_read(fd, name);

		if (r < 0)
			return 0;
		r = walk_to(plan, name, walk);
		if (r == -ENOENT || r == -ENOTDIR) {
			failure->fault = EXEC_FAULT_INTERPRETER;
			memcpy(failure->interpreter, name, sizeof(name));
			return -ENOENT;
		}
		if (r < 0 || !walk->outside[0])
			return r == -EACCES ? r : UNCERTAIN;
	}
	return 0;
}

/* The result of execve() for one path. */
static int foresee_path(const struct plan *plan, const char *path, struct exec_failure *failure)
{
	struct exec_failure found = { .fault = EXEC_FAULT_NONE };
	struct walk walk;
	int r = walk_to(plan, path, &walk);

	if (r < 0)
		return r;
	if (!walk.outside[0] || S_ISDIR(walk.st.st_mode)) {
		found.fault = EXEC_FAULT_DIRECTORY;
		r = -EACCES;
	} else if (!(walk.st.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH))) {
		found.fault = EXEC_FAULT_MODE;
		r = -EACCES;
	} else if (is_closed(&walk) || !plan_permits_exec(plan, walk.done)) {
		r = -EACCES;
	} else {
		r = check_interpreters(plan, &walk, &found);
	}
	/* As with kernel_exec(): the first existing file gives the reason. */
	if (failure->fault == EXEC_FAULT_NONE)
		*failure = found;
	return r;
}

int spawn_foresee(const struct plan *plan, struct sbx_error *err)
{
	struct message message = { .kind = MESSAGE_FAILED, .doing = DOING_EXEC };

	message.code = kernel_search(plan, foresee_path, &message.execution);
	if (message.code >= 0 || message.code == UNCERTAIN)
		return 0;
	(void)explain_failure(plan, plan->argv[0], &message, err);
	return explain_status(&message);
}

bool foresee_find_denied(const struct plan *plan, const char *program,
			 char ret[static INTERPRETER_MAX])
{
	struct walk walk;
	int r = walk_to(plan, program, &walk);

	for (int i = 0; r == 0 && walk.outside[0] && i < NESTED_MAX; i++) {
		_cleanup_close_ int fd = open_program(&walk);
		const struct step *carrier;

		if (fd < 0 || interpreter_read(fd, ret) < 0)
			return false;
		r = walk_to(plan, ret, &walk);
		carrier = r == -EACCES ? plan_find_carrier(plan, walk.done) : NULL;
		if ((carrier && carrier->kind == STEP_MASK) ||
		    (r == 0 && walk.outside[0] && !plan_permits_exec(plan, walk.done)))
			return true;
	}
	return false;
}

bool foresee_find_hidden(const struct plan *plan, const char *path, char ret[static PATH_MAX])
{
	struct walk walk;
	struct stat st;

	if (walk_to(plan, path, &walk) != -ENOENT || lstat(walk.done, &st) < 0)
		return false;
	memcpy(ret, walk.done, sizeof(walk.done));
	return true;
}

#define HIDDEN_MAX 8

/* As --read would: the path, which may be a link, and what it leads to. */
static void show(struct plan *plan, const char *path)
{
	const char *copy = arena_copy(&plan->arena, path, strlen(path));
	const char *targets[] = { copy, copy ? path_follow(&plan->arena, copy) : NULL };

	for (size_t i = 0; i < N_ELEMENTS(targets) && copy; i++)
		plan->steps[plan->n_steps++] = (struct step){
			.kind = STEP_BIND,
			.bind = { .target = targets[i], .source = targets[i] },
		};
}

/* Follows the program in a plan to which each hidden path is added once it was found. */
static void add_hidden(struct plan *plan, const char *program, struct text *out)
{
	char name[PATH_MAX], hidden[PATH_MAX];
	int n = 0;

	(void)snprintf(name, sizeof(name), "%s", program);
	for (int i = 0; i < NESTED_MAX; i++) {
		_cleanup_close_ int fd = -EBADF;

		for (; n < HIDDEN_MAX && foresee_find_hidden(plan, name, hidden); n++) {
			text_add(out, " --read ");
			text_add_word_string(out, hidden);
			show(plan, hidden);
		}
		fd = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (fd < 0 || interpreter_read(fd, name) < 0)
			return;
	}
}

void foresee_add_hidden(const struct plan *plan, const char *shown, const char *program,
			struct text *out)
{
	size_t n_max = plan->n_steps + 2 * (HIDDEN_MAX + 1);
	_cleanup_free_ struct step *steps = calloc(n_max, sizeof(*steps));
	struct plan wider = *plan;

	if (!steps)
		return;
	memcpy(steps, plan->steps, plan->n_steps * sizeof(*steps));
	wider.steps = steps;
	wider.arena = (struct arena)ARENA_INIT;
	if (shown)
		show(&wider, shown);
	add_hidden(&wider, program, out);
	arena_deinit(&wider.arena);
}
