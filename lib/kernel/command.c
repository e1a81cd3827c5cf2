/* SPDX-License-Identifier: MIT */

/*
 * The working directory of the command. Its path is resolved inside the sandbox with the command's
 * uid; afterwards the supervisor's working directory outside cannot be reached.
 */

#include <errno.h>
#include <unistd.h>

#include "kernel/kernel-internal.h"

#include "kernel/fault.h"

int command_enter_folder(struct kernel *kernel, const struct step *step, size_t number)
{
	return chdir(step->working_folder.target) < 0 ? -errno : 0;
}
