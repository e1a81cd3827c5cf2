/* SPDX-License-Identifier: MIT */
#pragma once

/* Texts that are not policies: the place in the loader's error and a word of its text */

#include <errno.h>

#include <sbx/error.h>

#include "policy/model.h"
#include "test.h"

struct refusal {
	const char *text;
	const char *place; /* "3:5" */
	const char *word;  /* in one of the three parts of the error */
};

static inline bool says(const struct sbx_error *err, const char *word)
{
	return strstr(err->what, word) || strstr(err->why, word) || strstr(err->fix, word);
}

struct refusal_count {
	const struct refusal *wanted;
	bool found;
};

static inline void look_for(const struct sbx_error *err, void *userdata)
{
	struct refusal_count *count = userdata;
	char place[64];

	(void)snprintf(place, sizeof(place), "p.yaml:%s: ", count->wanted->place);
	expect(err->why[0] && err->fix[0]);
	count->found |=
		strncmp(err->what, place, strlen(place)) == 0 && says(err, count->wanted->word);
}

static inline void expect_refusals(const struct refusal *refusals, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct refusal *wanted = &refusals[i];
		struct refusal_count count = { .wanted = wanted };
		struct policy *policy = NULL;
		struct sbx_error err = { .code = 0 };
		char place[64];
		int r = policy_load("p.yaml", wanted->text, strlen(wanted->text), &policy, &err);

		(void)snprintf(place, sizeof(place), "p.yaml:%s: ", wanted->place);
		if (r != -EINVAL || strncmp(err.what, place, strlen(place)) != 0 ||
		    !says(&err, wanted->word))
			printf("# wanted %s '%s' for:\n# %s\n# got %d %s | %s | %s\n",
			       wanted->place, wanted->word, wanted->text, r, err.what, err.why,
			       err.fix);
		expect_eq(r, -EINVAL);
		expect(policy == NULL && err.code == -EINVAL);
		expect(strncmp(err.what, place, strlen(place)) == 0);
		expect(says(&err, wanted->word) && err.why[0] && err.fix[0]);
		policy = policy_free(policy);
		expect(policy_load_all_mistakes("p.yaml", wanted->text, strlen(wanted->text),
						look_for, &count) >= 1);
		expect(count.found);
	}
}

#define EXPECT_REFUSALS(table) expect_refusals(table, sizeof(table) / sizeof((table)[0]))

/* A rule around one line of its match, which is line 3. */
#define MATCH(line) "capabilities:\n- name: r\n  match: {" line "}\n  action: allow\n"
