/* SPDX-License-Identifier: MIT */

/*
 * The engine: one artefact and the scratch memory for judging by it
 */

#include "policy/decide.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "policy/builtin.h"
#include "policy/decide-internal.h"

static void open_sections(struct policy_engine *engine)
{
	const struct artefact *artefact = &engine->artefact;

	engine->header = artefact->header;
	engine->bytes = artefact_rows(artefact, SECTION_BYTES);
	engine->sources = artefact_rows(artefact, SECTION_SOURCES);
	engine->rules = artefact_rows(artefact, SECTION_RULES);
	engine->conditions = artefact_rows(artefact, SECTION_CONDITIONS);
	engine->lists = artefact_rows(artefact, SECTION_LISTS);
	engine->texts = artefact_rows(artefact, SECTION_TEXTS);
	engine->values = artefact_rows(artefact, SECTION_VALUES);
	engine->postings = artefact_rows(artefact, SECTION_POSTINGS);
	engine->nodes = artefact_rows(artefact, SECTION_NODES);
	engine->forks = artefact_rows(artefact, SECTION_FORKS);
	engine->patterns = artefact_rows(artefact, SECTION_PATTERNS);
	engine->words = artefact_rows(artefact, SECTION_WORDS);
	engine->entries = artefact_rows(artefact, SECTION_INDEX);
	engine->plain = artefact_rows(artefact, SECTION_PLAIN);
	engine->words_mask = artefact_n_rows(artefact, SECTION_WORDS) - 1;
	engine->entries_mask = artefact_n_rows(artefact, SECTION_INDEX) - 1;
}

/* An array of one number for each row. */
static uint32_t *numbers(struct policy_engine *engine, enum artefact_section section)
{
	size_t n = artefact_n_rows(&engine->artefact, section);

	return arena_alloc(&engine->arena, n * sizeof(uint32_t));
}

static bool alloc_scratch(struct policy_engine *engine)
{
	size_t n_nodes = artefact_n_rows(&engine->artefact, SECTION_NODES);
	size_t n_rules = artefact_n_rows(&engine->artefact, SECTION_RULES);

	engine->marks = numbers(engine, SECTION_CONDITIONS);
	engine->candidates = numbers(engine, SECTION_CONDITIONS);
	engine->excepted = numbers(engine, SECTION_RULES);
	engine->found = numbers(engine, SECTION_CONDITIONS);
	engine->doubts = arena_alloc(&engine->arena, n_rules * sizeof(*engine->doubts));
	engine->waiting = arena_alloc(&engine->arena, n_nodes * sizeof(*engine->waiting));
	engine->fork_stamps = numbers(engine, SECTION_FORKS);
	engine->word_stamps = numbers(engine, SECTION_WORDS);
	return engine->marks && engine->candidates && engine->excepted && engine->found &&
	       engine->doubts && engine->waiting && engine->fork_stamps && engine->word_stamps;
}

int policy_engine_new(const struct artefact *artefact, struct policy_engine **ret)
{
	_cleanup_engine_ struct policy_engine *engine = malloc(sizeof(*engine));

	if (!engine)
		return -ENOMEM;
	/* The components are the scratch of each decision, and 12 pages. */
	memset(engine, 0, offsetof(struct policy_engine, components));
	engine->artefact = *artefact;
	open_sections(engine);
	if (!alloc_scratch(engine) || guarded_list(&(struct guarded_places){ .home = NULL },
						   &engine->arena, &engine->system) < 0)
		return -ENOMEM;
	engine->guarded = &engine->system;
	engine->builtins = builtin_rules();
	for (const struct builtin_rule *rule = engine->builtins; rule->name; rule++)
		engine->builtin_operations |= rule->operations;
	engine->project_root[0] = '/';
	engine->project_root_len = 1;
	engine->exec_bit = operation_set("exec");
	engine->empty_word = find_word(engine, "", 0);
	*ret = take_ptr(engine);
	return 0;
}

struct policy_engine *policy_engine_free(struct policy_engine *engine)
{
	if (engine)
		arena_deinit(&engine->arena);
	free(engine);
	return NULL;
}

void policy_engine_free_ptr(struct policy_engine **engine)
{
	*engine = policy_engine_free(*engine);
}

void policy_engine_guard(struct policy_engine *engine, const struct guarded_list *list)
{
	engine->guarded = list ? list : &engine->system;
}

/* Once in a thousand million decisions the numbers start again, and old stamps must go. */
static void restart_generations(struct policy_engine *engine)
{
	const struct artefact *artefact = &engine->artefact;

	memset(engine->marks, 0,
	       artefact_n_rows(artefact, SECTION_CONDITIONS) * sizeof(*engine->marks));
	memset(engine->excepted, 0,
	       artefact_n_rows(artefact, SECTION_RULES) * sizeof(*engine->excepted));
	memset(engine->doubts, 0,
	       artefact_n_rows(artefact, SECTION_RULES) * sizeof(*engine->doubts));
	memset(engine->fork_stamps, 0,
	       artefact_n_rows(artefact, SECTION_FORKS) * sizeof(*engine->fork_stamps));
	memset(engine->word_stamps, 0,
	       artefact_n_rows(artefact, SECTION_WORDS) * sizeof(*engine->word_stamps));
	engine->generation = GENERATION_STEP;
}

void engine_begin(struct policy_engine *engine)
{
	engine->generation += GENERATION_STEP;
	if (engine->generation == 0)
		restart_generations(engine);
	engine->n_candidates = engine->n_found = 0;
}
