/* SPDX-License-Identifier: MIT */

/*
 * Where the command starts. Its path is looked up inside, by the command's own user, so a working
 * folder that came with us from outside is left here.
 */

#include <errno.h>
#include <unistd.h>

#include "kernel/kernel-internal.h"

#include "kernel/fault.h"

int command_enter_folder(struct kernel *kernel, const struct step *step, size_t number)
{
	return chdir(step->working_folder.target) < 0 ? -errno : 0;
}
