/* SPDX-License-Identifier: MIT */

/*
 * Copies of the model's parts, so that what is merged can be freed
 */

#include "policy/merge-internal.h"

#include <string.h>

const char *copy_text(struct copier *copier, const char *text)
{
	const char *copy = text ? arena_copy(copier->arena, text, strlen(text)) : NULL;

	copier->failed |= text && !copy;
	return copy;
}

static void *copy_array(struct copier *copier, size_t n, size_t size)
{
	void *array = arena_alloc(copier->arena, n * size);

	copier->failed |= !array;
	return array;
}

struct policy_place copy_place(const struct copier *copier, struct policy_place place)
{
	place.source += copier->first_source;
	return place;
}

void copy_source(struct copier *copier, const struct policy_source *from, struct policy_source *to)
{
	*to = *from;
	to->name = copy_text(copier, from->name);
	to->bytes = arena_copy(copier->arena, from->bytes, from->n_bytes);
	copier->failed |= !to->bytes;
}

static struct match_list copy_list(struct copier *copier, const struct match_list *from)
{
	struct match_list to = *from;
	struct match_value *values = copy_array(copier, from->n_values, sizeof(*values));

	for (size_t i = 0; values && i < from->n_values; i++) {
		values[i] = from->values[i];
		values[i].text = copy_text(copier, from->values[i].text);
		values[i].place = copy_place(copier, from->values[i].place);
	}
	to.values = values;
	to.place = copy_place(copier, from->place);
	return to;
}

static struct condition copy_condition(struct copier *copier, const struct condition *from)
{
	struct condition to = *from;

	for (int key = 0; key < N_MATCH_KEYS; key++)
		if (from->lists[key].present)
			to.lists[key] = copy_list(copier, &from->lists[key]);
	to.place = copy_place(copier, from->place);
	return to;
}

void copy_rule(struct copier *copier, const struct rule *from, struct rule *to)
{
	struct condition *exceptions = copy_array(copier, from->n_exceptions, sizeof(*exceptions));
	struct example *examples = copy_array(copier, from->n_examples, sizeof(*examples));

	*to = *from;
	to->name = copy_text(copier, from->name);
	to->match = copy_condition(copier, &from->match);
	for (size_t i = 0; exceptions && i < from->n_exceptions; i++)
		exceptions[i] = copy_condition(copier, &from->exceptions[i]);
	for (size_t i = 0; examples && i < from->n_examples; i++) {
		examples[i] = from->examples[i];
		examples[i].text = copy_text(copier, from->examples[i].text);
		examples[i].place = copy_place(copier, from->examples[i].place);
	}
	to->exceptions = exceptions;
	to->examples = examples;
	to->constraints.require_sandbox = copy_text(copier, from->constraints.require_sandbox);
	to->constraints.sha256 = copy_text(copier, from->constraints.sha256);
	to->reason = copy_text(copier, from->reason);
	to->place = copy_place(copier, from->place);
}

void copy_setting(struct copier *copier, const struct setting *from, struct setting *to)
{
	*to = *from;
	to->path = copy_text(copier, from->path);
	to->text = copy_text(copier, from->text);
	to->place = copy_place(copier, from->place);
}

void copy_extension(struct copier *copier, const struct extension_program *from,
		    struct extension_program *to)
{
	size_t n = 0;

	while (from->argv[n])
		n++;

	const char **argv = copy_array(copier, n + 1, sizeof(*argv));

	for (size_t i = 0; argv && i < n; i++)
		argv[i] = copy_text(copier, from->argv[i]);
	to->name = copy_text(copier, from->name);
	to->argv = argv;
	to->place = copy_place(copier, from->place);
}
