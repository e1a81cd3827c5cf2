/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What came of a command, in the words of sbx-spawn
 */

#include "spawn/message.h"

struct plan;
struct sbx_error;

/* Of MESSAGE_FAILED, where @command was to be executed: returns its code, with @err. */
int explain_failure(const struct plan *plan, const char *command, const struct message *message,
		    struct sbx_error *err);
/* 126 or 127 where the command could not be executed, else 125. */
int explain_status(const struct message *message);
/* The exit status that stands for a wait status: its own, or 128+N. */
int explain_wait_status(int status);
