/* SPDX-License-Identifier: MIT */
#pragma once

/* The failure or status of a command, in the words of sbx-spawn */

#include "spawn/message.h"

struct plan;
struct sbx_error;

/* Explains a MESSAGE_FAILED for @command: returns its code, with @err. */
int explain_failure(const struct plan *plan, const char *command, const struct message *message,
		    struct sbx_error *err);
/* 126 or 127 if the command could not be executed, else 125. */
int explain_status(const struct message *message);
