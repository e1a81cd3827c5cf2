/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Talking to a running service
 */

#include <sys/types.h>

#include "base/text.h"
#include "base/tree.h"

struct sbx_error;

/*
 * Sends one packet to the service at @path (NULL: the default) and reads its answer, an object.
 * The error of an answer that says so ("ok":false, or a refusal) becomes @err and its code the
 * return value.
 */
int client_ask(const char *path, const struct text *packet, struct text *ret_answer,
	       struct tree **ret, struct sbx_error *err);
