/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What is known about the processes behind one socket, from whoever started the service
 *
 * Rules may speak of callers, tags, states, modes, a sandbox's level and a project. A sandboxed
 * process that could claim these itself would write its own permission, so for a sandbox's socket
 * they are fixed here, and what its packets say of them is dropped.
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
	FACT_TAG = N_FACTS, /* the only one of which there can be many */
};

struct facts {
	char *sandbox_id;
	char *texts[N_FACTS];
	char *tags[REQUEST_TAGS_MAX + 1];
	size_t n_tags;
	struct facts *next;
};

/* A list, one for each sandbox. @id: letters, digits and "._-", at most 64 bytes, not there yet. */
int facts_add(struct facts **list, const char *id, struct facts **ret, struct sbx_error *err);
struct facts *facts_find(struct facts *list, const char *id, size_t id_len);
void facts_free_all(struct facts **list);
/* "project=/srv/p", "caller=", "tag=", "state=", "mode=", "sandbox=L2" */
int facts_set(struct facts *facts, const char *word, struct sbx_error *err);

/* Puts the facts into the place of whatever the packet said. @facts may be NULL: nothing is known.
 */
void facts_overrule(const struct facts *facts, struct request_buffer *buffer);
