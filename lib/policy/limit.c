/* SPDX-License-Identifier: MIT */

/*
 * Limits and templates, expanded from the table in limit.h
 */

#include "policy/limit.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/units.h"

/* ---- templates ---- */

#define OF_CODE_EXECUTOR(id, key, option, type, meta, called, a, b, c, d, help) [LIMIT_##id] = (a),
#define OF_AI_PROVIDER(id, key, option, type, meta, called, a, b, c, d, help) [LIMIT_##id] = (b),
#define OF_POLICY_SANDBOX(id, key, option, type, meta, called, a, b, c, d, help) [LIMIT_##id] = (c),
#define OF_NOTHING(id, key, option, type, meta, called, a, b, c, d, help) [LIMIT_##id] = (d),

static const struct policy_template templates[] = {
	{ "code-executor", "standard", NET_NONE, { POLICY_LIMITS(OF_CODE_EXECUTOR) } },
	{ "ai-provider", "strict", NET_PROXY, { POLICY_LIMITS(OF_AI_PROVIDER) } },
	/* No time limit: its program is long-running, and its caller enforces 100 ms per evaluation
	 * (lib/extension). */
	{ "policy-sandbox", "strict", NET_NONE, { POLICY_LIMITS(OF_POLICY_SANDBOX) } },
};

/* Only prevents one command from using up the whole machine: a build with a hundred jobs and a
 * browser stay far below it. */
static const struct policy_template without_policy = { "default",
						       "standard",
						       NET_LOOPBACK,
						       { POLICY_LIMITS(OF_NOTHING) } };

const char *const policy_template_names[] = { "ai-provider", "code-executor", "policy-sandbox",
					      NULL };
_Static_assert(N_ELEMENTS(templates) + 1 == N_ELEMENTS(policy_template_names),
	       "a template without a name");

const struct policy_template *policy_template_find(const struct policy *policy, const char *name)
{
	if (!name)
		name = policy_get_text(policy, "isolation.template");
	if (!name)
		return policy ? &templates[0] : &without_policy;
	for (size_t i = 0; i < N_ELEMENTS(templates); i++)
		if (strcmp(templates[i].name, name) == 0)
			return &templates[i];
	return NULL;
}

/* ---- limits ---- */

struct unit {
	int (*parse)(const char *text, uint64_t *ret, struct sbx_error *err);
	void (*add)(struct text *out, uint64_t value);
};

static void add_count(struct text *out, uint64_t value)
{
	text_addf(out, "%" PRIu64, value);
}

/* A bare number in a message does not say what it counts. */
static void add_bytes(struct text *out, uint64_t value)
{
	units_add_size(out, value);
	if (value % 1024 != 0 || value == 0)
		text_add_char(out, 'B');
}

static const struct unit unit_SIZE = { units_parse_size, add_bytes };
static const struct unit unit_TIME = { units_parse_time, units_add_time };
static const struct unit unit_COUNT = { units_parse_count, add_count };
static const struct unit unit_NUMBER = { units_parse_processors, units_add_processors };

static const struct {
	const char *name;
	const char *option;
	const char *called;
	const struct unit *unit;
} rows[N_LIMITS] = {
#define WITH_OPTION(id, key, option, type, meta, called, ...)                                      \
	[LIMIT_##id] = { key, "--" option, called, &unit_##type },
#define WITHOUT_OPTION(id, key, option, type, meta, called, ...)                                   \
	[LIMIT_##id] = { key, NULL, called, &unit_##type },
	POLICY_LIMITS_WITH_OPTION(WITH_OPTION) POLICY_LIMITS_WITHOUT_OPTION(WITHOUT_OPTION)
};

const char *limit_name(enum limit limit)
{
	return rows[limit].name;
}

const char *limit_option(enum limit limit)
{
	return rows[limit].option;
}

const char *limit_called(enum limit limit)
{
	return rows[limit].called;
}

int limit_parse(enum limit limit, const char *text, uint64_t *ret, struct sbx_error *err)
{
	return rows[limit].unit->parse(text, ret, err);
}

void limit_add_value(struct text *out, enum limit limit, uint64_t value)
{
	rows[limit].unit->add(out, value);
}
