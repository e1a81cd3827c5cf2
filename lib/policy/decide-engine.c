/* SPDX-License-Identifier: MIT */

/*
 * The engine: one artefact and the scratch memory for judging by it
 */

#include "policy/decide.h"

#include <errno.h>
#include <stdlib.h>

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
	engine->edges = artefact_rows(artefact, SECTION_EDGES);
	engine->patterns = artefact_rows(artefact, SECTION_PATTERNS);
	engine->words = artefact_rows(artefact, SECTION_WORDS);
	engine->entries = artefact_rows(artefact, SECTION_INDEX);
	engine->plain = artefact_rows(artefact, SECTION_PLAIN);
	engine->edges_mask = artefact_n_rows(artefact, SECTION_EDGES) - 1;
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
	size_t n_conditions = artefact_n_rows(&engine->artefact, SECTION_CONDITIONS);

	engine->marks = arena_alloc(&engine->arena, n_conditions * sizeof(*engine->marks));
	engine->candidates = numbers(engine, SECTION_CONDITIONS);
	engine->excepted = numbers(engine, SECTION_RULES);
	engine->found = numbers(engine, SECTION_CONDITIONS);
	engine->current = numbers(engine, SECTION_NODES);
	engine->next = numbers(engine, SECTION_NODES);
	engine->floats = numbers(engine, SECTION_NODES);
	engine->node_stamps = numbers(engine, SECTION_NODES);
	engine->word_stamps = numbers(engine, SECTION_WORDS);
	return engine->marks && engine->candidates && engine->excepted && engine->found &&
	       engine->current && engine->next && engine->floats && engine->node_stamps &&
	       engine->word_stamps;
}

int policy_engine_new(const struct artefact *artefact, struct policy_engine **ret)
{
	_cleanup_engine_ struct policy_engine *engine = calloc(1, sizeof(*engine));

	if (!engine)
		return -ENOMEM;
	engine->artefact = *artefact;
	open_sections(engine);
	if (!alloc_scratch(engine))
		return -ENOMEM;
	engine->builtins = builtin_rules();
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

const struct artefact *policy_engine_artefact(const struct policy_engine *engine)
{
	return &engine->artefact;
}

void policy_engine_protect(struct policy_engine *engine, const char *const *paths)
{
	engine->protected_paths = paths;
}

/* Once in four thousand million decisions the numbers start again, and old stamps must go. */
static void restart_generations(struct policy_engine *engine)
{
	const struct artefact *artefact = &engine->artefact;

	memset(engine->marks, 0,
	       artefact_n_rows(artefact, SECTION_CONDITIONS) * sizeof(*engine->marks));
	memset(engine->excepted, 0,
	       artefact_n_rows(artefact, SECTION_RULES) * sizeof(*engine->excepted));
	memset(engine->node_stamps, 0,
	       artefact_n_rows(artefact, SECTION_NODES) * sizeof(*engine->node_stamps));
	memset(engine->word_stamps, 0,
	       artefact_n_rows(artefact, SECTION_WORDS) * sizeof(*engine->word_stamps));
	engine->generation = 1;
}

void engine_begin(struct policy_engine *engine)
{
	if (++engine->generation == 0)
		restart_generations(engine);
	engine->n_candidates = engine->n_found = 0;
}
