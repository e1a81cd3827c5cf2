/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Facts about the processes that use a sandbox's socket, set on the service's command line
 *
 * Rules may match callers, tags, states, modes, a sandbox's level and a project. A sandboxed
 * process that could claim these itself would grant itself permissions. So for a sandbox's socket
 * they are fixed here, and the server ignores those in the packets.
 */

#include <stddef.h>

#include "policy/request.h"

struct sbx_error;

enum fact {
	FACT_PROJECT,
	FACT_CALLER,
	FACT_STATE,
	FACT_MODE,
	FACT_LEVEL,
	N_FACTS,
	FACT_TAG = N_FACTS, /* the only fact that a sandbox can have several of */
};

struct facts {
	const char *texts[N_FACTS];
	const char *tags[REQUEST_TAGS_MAX + 1];
	size_t n_tags;
	struct facts *next;
	char sandbox_id[];
};

/* Adds the facts of one sandbox. @id: letters, digits and "._-", at most 64 bytes; -EEXIST if the
 * list has it already. */
int facts_add(struct facts **list, const char *id, struct facts **ret, struct sbx_error *err);
struct facts *facts_find(struct facts *list, const char *id, size_t id_len);
void facts_free_all(struct facts **list);
/* @word is "project=/srv/p", "caller=", "tag=", "state=", "mode=" or "sandbox=L2", and is borrowed.
 */
int facts_set(struct facts *facts, const char *word, struct sbx_error *err);

/* Replaces all that the packet says about its sender. @facts may be NULL: then nothing is left. */
void facts_overrule(const struct facts *facts, struct request_buffer *buffer);
