/* SPDX-License-Identifier: MIT */

/*
 * A reading of finished steps, in the order in which the kernel carries them out
 *
 * Of several mounts over one path the last one made counts. Landlock adds up the rules at and above
 * a path. Both must permit; a right that Landlock does not handle (a kernel that lacks it, or a
 * plan for nested sandboxes without Landlock) is permitted.
 */

#include "plan/permits.h"

#include <string.h>

#include "base/cleanup.h"
#include "plan/plan-internal.h"

/* Kernel bits of Landlock that permit one of our rights at a file or in a directory. */
static const struct {
	unsigned right;
	uint64_t bits;
} rights[] = {
	{ RIGHT_EXEC, UINT64_C(1) << 0 },
	{ RIGHT_READ, UINT64_C(1) << 2 },
	{ RIGHT_LIST, UINT64_C(1) << 3 },
	/* write_file, remove_dir, remove_file, make_* and truncate */
	{ RIGHT_WRITE, UINT64_C(1) << 1 | UINT64_C(0x1ff) << 4 | UINT64_C(1) << 14 },
};

/* The kinds that put a mount or a copy at their target, which carries what is below it. */
static const struct {
	bool carries;
	size_t attributes; /* offset of struct mount_attributes; 0: it has none */
} carriers[N_STEP_KINDS] = {
	[STEP_BIND] = { true, offsetof(struct step, bind.attributes) },
	[STEP_TMPFS] = { true, offsetof(struct step, tmpfs.attributes) },
	[STEP_OVERLAY] = { true, offsetof(struct step, overlay.attributes) },
	[STEP_PROC] = { true, offsetof(struct step, proc.attributes) },
	[STEP_MASK] = { true, 0 },
	[STEP_FILE] = { true, 0 },
	[STEP_PTS] = { true, 0 },
};

static struct mount_attributes attributes_of(const struct step *step)
{
	struct mount_attributes attributes = { .is_read_only = false };
	size_t offset = carriers[step->kind].attributes;

	if (offset > 0)
		memcpy(&attributes, (const char *)step + offset, sizeof(attributes));
	return attributes;
}

const struct step *plan_find_carrier(const struct plan *plan, const char *path)
{
	const struct step *carrier = NULL;

	for (size_t i = 0; i < plan->n_steps; i++)
		if (carriers[plan->steps[i].kind].carries &&
		    is_below(path, step_target(&plan->steps[i])))
			carrier = &plan->steps[i];
	return carrier;
}

static bool has_mounts(const struct plan *plan)
{
	return plan->tier == TIER_FULL;
}

static unsigned mounted(const struct plan *plan, const char *path, enum host_path_kind kind)
{
	const struct step *carrier = plan_find_carrier(plan, path);
	unsigned permitted = RIGHT_READ | RIGHT_LIST | RIGHT_WRITE | RIGHT_EXEC;
	struct mount_attributes attributes;

	if (!has_mounts(plan))
		return permitted;
	if (!carrier || carrier->kind == STEP_MASK)
		return 0;
	attributes = attributes_of(carrier);
	/* A device node is dead on a mount without devices. */
	if (kind == HOST_DEVICE && !attributes.devices)
		return 0;
	/* A FIFO is written and a socket connected to on a read-only mount, too. */
	if (attributes.is_read_only && kind != HOST_OTHER && kind != HOST_SOCKET)
		permitted &= ~(unsigned)RIGHT_WRITE;
	if (attributes.no_exec)
		permitted &= ~(unsigned)RIGHT_EXEC;
	return permitted;
}

static uint64_t landlocked(const struct plan *plan, const char *path, uint64_t *ret_handled)
{
	uint64_t granted = 0;

	*ret_handled = 0;
	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct step *step = &plan->steps[i];

		if (step->kind == STEP_LANDLOCK)
			*ret_handled = step->landlock.file_rights;
		if (step->kind == STEP_LANDLOCK_PATH && is_below(path, step->landlock_path.target))
			granted |= step->landlock_path.rights;
	}
	return granted;
}

unsigned plan_permits(const struct plan *plan, const char *path, enum host_path_kind kind)
{
	uint64_t handled, granted = landlocked(plan, path, &handled);
	unsigned permitted = mounted(plan, path, kind);

	/* A right counts as permitted when any part of it is. */
	for (size_t i = 0; i < N_ELEMENTS(rights); i++)
		if ((handled & rights[i].bits) && !(granted & handled & rights[i].bits))
			permitted &= ~rights[i].right;
	/* Landlock does not handle connect(); a socket cannot be opened. */
	if (kind == HOST_SOCKET)
		return mounted(plan, path, kind) & RIGHT_WRITE;
	/* The kernel opens a program for reading before it executes it. */
	if (!(permitted & RIGHT_READ))
		permitted &= ~(unsigned)RIGHT_EXEC;
	if (kind != HOST_FOLDER && kind != HOST_MISSING)
		permitted &= ~(unsigned)RIGHT_LIST;
	return permitted;
}
