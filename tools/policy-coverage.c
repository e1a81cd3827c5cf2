/* SPDX-License-Identifier: MIT */

/*
 * Which rules of the tested policies have determined an answer
 *
 * A rule that never did may be dead, or nobody has tried it; both are worth a line.
 */

#include "policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

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

static void add_missed(struct text *out, const struct coverage *coverage, size_t row)
{
	const struct artefact *artefact = &coverage->judge.artefact;
	const struct artefact_rule *rules = artefact_rows(artefact, SECTION_RULES);
	const struct artefact_source *sources = artefact_rows(artefact, SECTION_SOURCES);
	const char *name = artefact_text(artefact, rules[row].name);
	const char *file = artefact_text(artefact, sources[rules[row].source].name);

	text_add(out, "# ");
	text_add_visible(out, file, strlen(file));
	text_addf(out, ":%u: rule '", rules[row].line);
	text_add_visible(out, name, strlen(name));
	text_add(out, "' never determined an answer\n");
}

bool coverage_report(const struct coverage *list, uint64_t min_percent, struct text *out)
{
	bool is_enough = true;

	for (const struct coverage *coverage = list; coverage; coverage = coverage->next) {
		size_t n = artefact_n_rows(&coverage->judge.artefact, SECTION_RULES), n_hit = 0;

		for (size_t i = 0; i < n; i++) {
			n_hit += coverage->hits[i];
			if (!coverage->hits[i])
				add_missed(out, coverage, i);
		}
		text_add(out, "# ");
		text_add_visible(out, coverage->path, strlen(coverage->path));
		text_addf(out, ": %zu of %zu rules determined an answer\n", n_hit, n);
		is_enough = is_enough && n_hit * 100 >= min_percent * n;
	}
	if (!is_enough)
		text_addf(out, "# too few: --coverage wants %llu percent\n",
			  (unsigned long long)min_percent);
	return is_enough;
}
