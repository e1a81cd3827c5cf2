/* SPDX-License-Identifier: MIT */

/*
 * Which names of a plan are to be watched
 *
 * Whatever takes something away from what a folder from outside shows, or stands in for it, is held
 * by its name there and by those of the folders on the way. What lies in a file system of the
 * sandbox's own is nobody else's to rename.
 */

#include "spawn/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "plan/plan.h"
#include "spawn/watch-internal.h"

static bool is_below(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* What can be seen below the target of such a step is not what carried it. */
static bool carries(enum step_kind kind)
{
	return (kind >= STEP_BIND && kind <= STEP_MASK) || kind == STEP_PROC || kind == STEP_PTS;
}

/* Only in what is bound from outside somebody else can rename. An overlay has names of its own. */
static bool is_from_outside(const struct step *step)
{
	return step->kind == STEP_BIND && step->bind.is_folder;
}

/* What @carrier, a bind too, shows at the place of @step, no less. */
static bool is_the_same(const struct step *step, const struct step *carrier)
{
	const struct step_bind *bind = &step->bind, *above = &carrier->bind;
	size_t n = strlen(above->source);

	if (step->kind != STEP_BIND || strncmp(bind->source, above->source, n) != 0 ||
	    strcmp(bind->source + n, bind->target + strlen(above->target)) != 0)
		return false;
	return (!bind->attributes.is_read_only || above->attributes.is_read_only) &&
	       (!bind->attributes.no_exec || above->attributes.no_exec);
}

static struct watched *find(const struct watch *watch, const char *path, size_t n)
{
	/* The plan is sorted: it is one of the last. */
	for (size_t i = watch->n; i-- > 0;)
		if (strncmp(watch->names[i].path, path, n) == 0 && watch->names[i].path[n] == '\0')
			return &watch->names[i];
	return NULL;
}

static int grow(struct watch *watch)
{
	size_t size = watch->size ? watch->size * 2 : 8;
	struct watched *names = reallocarray(watch->names, size, sizeof(*names));

	if (!names)
		return -ENOMEM;
	watch->names = names;
	watch->size = size;
	return 0;
}

/* The first @n bytes of @path; *@above is what they lie in, and then themselves. */
static int add(struct watch *watch, const char *path, size_t n, const struct watch_loss *loss,
	       size_t *above)
{
	struct watched *name = find(watch, path, n);
	int r = !name && watch->n == watch->size ? grow(watch) : 0;

	if (r < 0)
		return r;
	if (*above != WATCH_NONE)
		watch->names[*above].is_above = true;
	if (!name) {
		_cleanup_free_ char *copy = strndup(path, n);

		if (!copy)
			return -ENOMEM;
		name = &watch->names[watch->n++];
		*name = (struct watched){
			.name = path_last(copy),
			.above = *above,
			.loss = *loss,
			.fd = -EBADF,
		};
		name->path = take_ptr(copy);
	}
	*above = (size_t)(name - watch->names);
	return 0;
}

/*
 * Everything on the way to what is lost, from the outermost folder from outside on; it lies in step
 * @i. @above: for each step that carries, the nearest one that it lies in. Returns which of the
 * names it is.
 */
static ssize_t add_way(struct watch *watch, const struct step *steps, const size_t *above, size_t i,
		       const struct watch_loss *loss)
{
	size_t top = i, n, at = WATCH_NONE;
	int r;

	while (above[top] != WATCH_NONE && is_from_outside(&steps[above[top]]))
		top = above[top];
	n = strlen(step_target(&steps[top]));
	r = add(watch, loss->path, n, loss, &at);
	while (r == 0 && loss->path[n] != '\0') {
		n += 1 + strcspn(loss->path + n + 1, "/");
		r = add(watch, loss->path, n, loss, &at);
	}
	for (; r == 0 && i != top; i = above[i])
		find(watch, step_target(&steps[i]), strlen(step_target(&steps[i])))->is_mount =
			true;
	return r < 0 ? r : (ssize_t)at;
}

static int add_step(struct watch *watch, const struct step *steps, const size_t *above, size_t i)
{
	const struct watch_loss loss = { step_target(&steps[i]), &steps[i].origin };
	ssize_t at;

	if (above[i] == WATCH_NONE || !is_from_outside(&steps[above[i]]) ||
	    is_the_same(&steps[i], &steps[above[i]]))
		return 0;
	at = add_way(watch, steps, above, above[i], &loss);
	if (at >= 0)
		watch->names[at].is_mount = true;
	return at < 0 ? (int)at : 0;
}

/* The plan has made sure that it lies in what is from outside. */
static int add_absent(struct watch *watch, const struct plan *plan, const size_t *above,
		      const struct plan_absent *absent)
{
	const struct watch_loss loss = { absent->target, &absent->origin };
	size_t i = plan->n_steps;
	ssize_t at;

	do {
		if (i-- == 0)
			return -EINVAL;
	} while (!carries(plan->steps[i].kind) ||
		 !is_below(absent->target, step_target(&plan->steps[i])));
	if (!is_from_outside(&plan->steps[i]))
		return -EINVAL;
	at = add_way(watch, plan->steps, above, i, &loss);
	if (at < 0)
		return (int)at;
	watch->names[at].absent = absent;
	watch->names[watch->names[at].above].is_bare = true;
	return 0;
}

int watch_read_plan(struct watch *watch, const struct plan *plan)
{
	const struct step *steps = plan->steps;
	_cleanup_free_ size_t *above = calloc(plan->n_steps + 1, sizeof(*above));
	size_t last = WATCH_NONE;
	int r = above ? 0 : -ENOMEM;

	for (size_t i = 0; i < plan->n_steps && r == 0; i++) {
		if (!carries(steps[i].kind))
			continue;
		while (last != WATCH_NONE &&
		       !is_below(step_target(&steps[i]), step_target(&steps[last])))
			last = above[last];
		above[i] = last;
		last = i;
		r = add_step(watch, steps, above, i);
	}
	for (size_t i = 0; i < plan->n_absent && r == 0; i++)
		r = add_absent(watch, plan, above, &plan->absent[i]);
	return r;
}
