/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Facts about the processes behind one sandbox's socket, from the command line of the service
 *
 * Rules may match callers, tags, states, modes, a sandbox's level and a project. A sandboxed
 * process that could claim these itself would write its own permission, so for a sandbox's socket
 * they are fixed here, and those in its packets are dropped.
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
	FACT_TAG = N_FACTS, /* a sandbox can have several of these only */
};

struct facts {
	char *sandbox_id;
	char *texts[N_FACTS];
	char *tags[REQUEST_TAGS_MAX + 1];
	size_t n_tags;
	struct facts *next;
};

/* One for each sandbox. @id: letters, digits and "._-", at most 64 bytes; -EEXIST the second time.
 */
int facts_add(struct facts **list, const char *id, struct facts **ret, struct sbx_error *err);
struct facts *facts_find(struct facts *list, const char *id, size_t id_len);
void facts_free_all(struct facts **list);
/* "project=/srv/p", "caller=", "tag=", "state=", "mode=", "sandbox=L2" */
int facts_set(struct facts *facts, const char *word, struct sbx_error *err);

/* Replaces what the packet says about its sender by the facts. @facts may be NULL: there are none.
 */
void facts_overrule(const struct facts *facts, struct request_buffer *buffer);
