/* SPDX-License-Identifier: MIT */

/*
 * Which rules of the tested policies have determined an answer
 *
 * A rule that never did may have no effect, or no test covers it; both are reported.
 */

#include "policy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

void coverage_free(struct coverage **list)
{
	while (*list) {
		struct coverage *first = *list;

		*list = first->next;
		judge_close(&first->judge);
		free(first->path);
		free(first->hits);
		free(first);
	}
}

int coverage_of(struct coverage **list, const char *path, const struct policy_values *values,
		struct coverage **ret, struct sbx_error *err)
{
	struct coverage **at = list;
	_cleanup_(coverage_free) struct coverage *coverage = NULL;
	int r;

	for (; *at; at = &(*at)->next)
		if (strcmp((*at)->path, path) == 0) {
			*ret = *at;
			return 0;
		}
	coverage = calloc(1, sizeof(*coverage));
	if (!coverage)
		return sbx_error_what(err, -ENOMEM, "cannot test '%s'", path);
	r = judge_open(path, values, &coverage->judge, err);
	if (r < 0)
		return r;
	coverage->path = strdup(path);
	coverage->hits = calloc(artefact_n_rows(&coverage->judge.artefact, SECTION_RULES) + 1,
				sizeof(*coverage->hits));
	if (!coverage->path || !coverage->hits)
		return sbx_error_what(err, -ENOMEM, "cannot test '%s'", path);
	*ret = *at = take_ptr(coverage);
	return 0;
}

void coverage_count(struct coverage *coverage, const struct policy_decision *decision)
{
	for (size_t i = 0; i < decision->n_rules; i++)
		coverage->hits[decision->rules[i]] = true;
}

struct rule_place {
	const char *name, *file;
	unsigned line;
};

static struct rule_place place_of(const struct coverage *coverage, size_t row)
{
	const struct artefact *artefact = &coverage->judge.artefact;
	const struct artefact_rule *rule =
		(const struct artefact_rule *)artefact_rows(artefact, SECTION_RULES) + row;
	const struct artefact_source *sources = artefact_rows(artefact, SECTION_SOURCES);

	return (struct rule_place){ .name = artefact_text(artefact, rule->name),
				    .file = artefact_text(artefact, sources[rule->source].name),
				    .line = rule->line };
}

static void add_text(struct text *out, const struct coverage *coverage, size_t n_rules,
		     size_t n_hits)
{
	for (size_t i = 0; i < n_rules; i++) {
		struct rule_place place = place_of(coverage, i);

		if (coverage->hits[i])
			continue;
		text_add(out, "# ");
		text_add_visible_string(out, place.file);
		text_addf(out, ":%u: rule '", place.line);
		text_add_visible_string(out, place.name);
		text_add(out, "' never determined an answer\n");
	}
	text_add(out, "# ");
	text_add_visible_string(out, coverage->path);
	text_addf(out, ": %zu of %zu rules determined an answer\n", n_hits, n_rules);
}

static void add_json(struct text *out, const struct coverage *coverage, size_t n_rules,
		     size_t n_hits, bool is_enough)
{
	struct json_writer json;

	json_begin_object(&json, out);
	json_member_string(&json, "coverage", coverage->path);
	json_member_u64(&json, "rules", n_rules);
	json_member_u64(&json, "determined", n_hits);
	json_member_bool(&json, "enough", is_enough);
	json_member_array(&json, "missed");
	for (size_t i = 0; i < n_rules; i++) {
		struct rule_place place = place_of(coverage, i);

		if (coverage->hits[i])
			continue;
		json_add_object(&json);
		json_member_string(&json, "name", place.name);
		json_member_string(&json, "file", place.file);
		json_member_u64(&json, "line", place.line);
		json_end_object(&json);
	}
	json_end_array(&json);
	json_end_line(&json);
}

bool coverage_report(const struct coverage *list, uint64_t min_percent, bool as_json,
		     struct text *out)
{
	bool is_enough = true;

	for (const struct coverage *coverage = list; coverage; coverage = coverage->next) {
		const struct judge *judge = &coverage->judge;
		/* The rules of the files; those of the network mode come after them. */
		size_t n = judge->policy ? judge->policy->n_rules
					 : artefact_n_rows(&judge->artefact, SECTION_RULES);
		size_t n_hits = 0;
		bool is_one_enough;

		for (size_t i = 0; i < n; i++)
			n_hits += coverage->hits[i];
		is_one_enough = n_hits * 100 >= min_percent * n;

		if (as_json)
			add_json(out, coverage, n, n_hits, is_one_enough);
		else
			add_text(out, coverage, n, n_hits);
		is_enough = is_enough && is_one_enough;
	}
	if (!is_enough && !as_json)
		text_addf(out, "# too few: --coverage requires %" PRIu64 " percent\n", min_percent);
	return is_enough;
}
