/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the kernel will permit at a path when the steps of a plan have been carried out
 *
 * It reads steps only: which mount carries the path and how, which Landlock rules there are at and
 * above it, what is masked. It knows nothing of rules, marks and places, so that it can contradict
 * the planner.
 */

#include <stdint.h>

#include "plan/host.h"

struct plan;
struct step;

/* Bits of enum right: read, list, write, exec. */
unsigned plan_permits(const struct plan *plan, const char *path, enum host_path_kind kind);
/* The step whose mount is what can be seen at the path; NULL: the sandbox's own root. */
const struct step *plan_find_carrier(const struct plan *plan, const char *path);
