/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The evaluator's scratch memory, the prepared request, and marks
 *
 * No array is cleared between decisions: each decision has a number, its generation, and a stamp is
 * valid only in its own generation. Every array is as long as its section, and the check of the
 * artefact ensures that a row is entered at most once, so none can overflow.
 */

#include <limits.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/hostname.h"
#include "policy/artefact-internal.h"
#include "policy/decide.h"
#include "policy/guarded.h"
#include "policy/model.h"
#include "policy/network.h"

/* A condition's mark is the generation plus, in the low bits, the state of its primary key. */
#define MARK_INCLUDED 1u
#define MARK_EXCLUDED 2u
#define MARK_STATES 3u
#define GENERATION_STEP 4u

struct builtin_rule;

/* Maximum for a path of 4095 bytes. */
#define COMPONENTS_MAX 2048
_Static_assert(COMPONENTS_MAX >= PATH_MAX / 2, "every component has a slash and a byte");

struct component {
	uint64_t key;  /* node_key() */
	uint64_t hash; /* with the seed of the nodes' tables */
	uint16_t start;
	uint16_t len;
};

/* A trie node on the stack of the walk. */
struct waiting {
	const struct artefact_node *node;
	const struct component *next; /* the next component to match */
	bool floats;		      /* a "**" node */
};

/* An exception of a rule that would hold if the request stated certain facts. */
struct doubt {
	uint32_t generation;
	unsigned facts;
};

/* Views of the artefact, which never changes. */
struct sections {
	const struct artefact_header *header;
	const char *bytes;
	const struct artefact_source *sources;
	const struct artefact_rule *rules;
	const struct artefact_condition *conditions;
	const struct artefact_lists *lists;
	const uint32_t *texts;
	const struct artefact_value *values;
	const uint32_t *postings;
	const struct artefact_node *nodes;
	const struct artefact_fork *forks;
	const struct artefact_pattern *patterns;
	const struct artefact_word *words;
	const struct artefact_entry *entries;
	const uint32_t *plain;
	const uint32_t *addressed;
	size_t words_mask;
	size_t entries_mask;
};

/* What the decisions write. */
struct scratch {
	uint32_t generation;
	uint32_t *marks;      /* by condition */
	uint32_t *candidates; /* conditions found by an index */
	size_t n_candidates;
	uint32_t *excepted; /* by rule: stamped if an indexed exception holds */
	uint32_t *found;    /* matches of the rules that apply, later the rules of the answer */
	size_t n_found;
	struct doubt *doubts;	 /* by rule, about its exceptions */
	struct waiting *waiting; /* room for every node */
	uint32_t *fork_stamps;	 /* the fork's "**" is live, and postings for everything below its
				    node are marked */
	uint32_t *word_stamps;	 /* the caller's tags */
};

/* The request's path. */
struct split_path {
	char text[PATH_MAX + 64]; /* a copy padded with slashes, so that it can be read in words */
	size_t n_components;
	uint64_t component_bits;			 /* union of node_bit() of the components */
	struct component components[COMPONENTS_MAX + 1]; /* not initialised */
};

struct policy_engine {
	void *block; /* if the engine compiled the artefact itself */
	struct artefact artefact;
	struct sections policy;
	struct guarded_list first_guarded; /* used until the caller sets another list */
	const struct guarded_list *guarded;
	const struct builtin_rule *builtins;
	uint64_t builtin_operations; /* union of all built-in rules' operations */
	uint64_t exec_bit;
	uint64_t connect_bit;
	uint32_t empty_word; /* the word that stands for any host, or NONE */
	struct scratch scratch;
	struct policy_dependence dependences[POLICY_DEPENDENCES_MAX];
	char project_root[PATH_MAX]; /* of the last request; normal */
	size_t project_root_len;
	struct arena arena;
	struct split_path path;
};

#define HOST_SUFFIXES_MAX HOSTNAME_LABELS_MAX
#define NO_PROJECT SIZE_MAX

struct query_address {
	bool has_ipv4;
	bool has_ipv6;
	uint64_t ipv4[2]; /* most significant bits first, as in the index; the second is 0 */
	uint64_t ipv6[2];
	/* The reason why only permissions with 'cidr' count; NULL: others count, too. */
	const char *special;
};

/* The request, checked and looked up. Words are row numbers or ARTEFACT_NONE. */
struct query {
	const struct policy_request *request;
	const struct operation *operation;
	uint64_t bit; /* the operation's bit */
	const char *path;
	size_t n_project_components;	      /* of the project's root, if it contains the path; or
						 NO_PROJECT */
	uint32_t host;			      /* the whole name */
	uint32_t suffixes[HOST_SUFFIXES_MAX]; /* known words after each of its dots */
	size_t n_suffixes;
	bool has_host;
	bool is_literal; /* the host is an address */
	bool is_proxied; /* sbx-proxy connects, so special addresses are protected */
	struct query_address address;
	struct special_inner inner[SPECIAL_INNER_MAX]; /* addresses that are judged as well */
	size_t n_inner;
	uint32_t protos; /* one bit, or 0 unless the request is about the network */
	uint32_t caller;
	uint32_t state;
	uint32_t mode;
	uint32_t unsaid; /* bits of match keys that the request does not state; MATCH_CIDR: the
			    address of a name is not stated */
};

/* decide.c: starts a new generation. */
void engine_begin(struct policy_engine *engine);
/* Checks the request and looks up its texts among the policy's words. NULL, or the reason why it
 * cannot be judged. */
const char *query_read(struct policy_engine *engine, const struct policy_request *request,
		       struct query *ret);
/* Starts again for another address of the same query. */
void query_restart(struct policy_engine *engine, const struct query *query);

/* decide-lookup.c: splits the path into engine->path.components; false if it is not normal. */
bool path_split(struct policy_engine *engine, const char *path);
/* Both mark the conditions whose primary key holds or is excluded. */
void lookup_path(struct policy_engine *engine, const struct query *query);
void lookup_network(struct policy_engine *engine, const struct query *query);
/* Adds the conditions that only an address finds to the candidates, last. */
void lookup_unsaid_address(struct policy_engine *engine);

/* decide-rules.c: judges by the artefact's rules alone; fills all of @ret. */
void rules_judge(struct policy_engine *engine, const struct query *query,
		 struct policy_decision *ret);

/* MARK_ bits of a condition; 0 if no look-up found it. */
static inline uint32_t condition_state(const struct policy_engine *engine, uint32_t condition)
{
	uint32_t mark = engine->scratch.marks[condition];

	return (mark & ~MARK_STATES) == engine->scratch.generation ? mark & MARK_STATES : 0;
}

static inline void mark_condition(struct policy_engine *engine, uint32_t condition, uint32_t state)
{
	uint32_t before = condition_state(engine, condition);

	if (state == MARK_INCLUDED && !(before & MARK_INCLUDED)) {
		engine->scratch.candidates[engine->scratch.n_candidates++] = condition;
		__builtin_prefetch(&engine->policy.conditions[condition]);
	}
	engine->scratch.marks[condition] = engine->scratch.generation | before | state;
}

static inline void mark_posting(struct policy_engine *engine, const struct query *query,
				uint32_t posting)
{
	if ((posting & POSTING_ONLY_EXEC) && query->bit != engine->exec_bit)
		return;
	mark_condition(engine, posting >> 2,
		       posting & POSTING_EXCLUDES ? MARK_EXCLUDED : MARK_INCLUDED);
}

static inline void mark_postings(struct policy_engine *engine, const struct query *query,
				 struct artefact_span span)
{
	for (uint32_t i = span.first; i < span.first + span.count; i++)
		mark_posting(engine, query, engine->policy.postings[i]);
}

/* The row of an interned text, or NONE. */
static inline uint32_t find_word(const struct policy_engine *engine, const char *text, size_t len)
{
	uint64_t head = hash_head(text, len);
	size_t at = hash_bytes(engine->policy.header->seeds[TABLE_WORDS], text, len);

	for (size_t i = 0; i < ARTEFACT_PROBES_MAX; i++, at++) {
		const struct artefact_word *word =
			&engine->policy.words[at & engine->policy.words_mask];

		if (word->text == ARTEFACT_NONE)
			return ARTEFACT_NONE;
		if (word->head == head && word->len == len &&
		    (len <= 8 ||
		     memcmp(engine->policy.bytes + word->text + 8, text + 8, len - 8) == 0))
			return (uint32_t)(at & engine->policy.words_mask);
	}
	return ARTEFACT_NONE;
}
