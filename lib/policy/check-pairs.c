/* SPDX-License-Identifier: MIT */

/*
 * What shows beside the other rules: an allow that can never win, a rule that adds nothing
 *
 * Which rules are worth a look is check-index.c's to say.
 */

#include "policy/check-internal.h"

#include <string.h>

static const char *source_of(const struct checker *checker, const struct rule *rule)
{
	return checker->policy->sources[rule->place.source].name;
}

static bool same_string(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* What @outer adds to an answer must be all that @inner adds. */
static bool adds_nothing(const struct rule *inner, const struct rule *outer)
{
	const struct constraints *a = &inner->constraints, *b = &outer->constraints;

	return inner->action == outer->action &&
	       (!inner->reason || same_string(inner->reason, outer->reason)) &&
	       same_string(a->require_sandbox, b->require_sandbox) &&
	       same_string(a->sha256, b->sha256) && a->require_token == b->require_token &&
	       a->max_file_size_bytes == b->max_file_size_bytes;
}

static bool is_under(const struct rule *inner, const struct rule *outer)
{
	return (inner->match.operations & ~outer->match.operations) == 0 &&
	       outer->n_exceptions == 0 && check_covers(&outer->match, &inner->match);
}

static void warn_denied(struct checker *checker, const struct rule *rule, const struct rule *deny)
{
	check_warn(checker, CHECK_DENIED, rule->place, "rule '%s' allows nothing", rule->name);
	sbx_error_why(&checker->warning.error, "'%s' at %s:%u denies all of it, and deny wins",
		      deny->name, source_of(checker, deny), deny->place.at.line);
	sbx_error_fix(&checker->warning.error, "narrow '%s', give it an exception, or remove '%s'",
		      deny->name, rule->name);
}

static void warn_shadowed(struct checker *checker, const struct rule *rule,
			  const struct rule *other)
{
	check_warn(checker, CHECK_SHADOWED, rule->place, "rule '%s' is superfluous", rule->name);
	sbx_error_why(&checker->warning.error, "'%s' at %s:%u says the same, or more", other->name,
		      source_of(checker, other), other->place.at.line);
	sbx_error_fix(&checker->warning.error, "remove it");
}

/*
 * Of two rules that say the same, only the later one is superfluous. The files of a layered policy
 * may repeat each other: each must say enough without the others.
 */
static bool is_shadowed(const struct rule *rule, const struct rule *other)
{
	if (rule->action == POLICY_PASS || rule->place.source != other->place.source ||
	    !adds_nothing(rule, other) || !is_under(rule, other))
		return false;
	return other < rule || rule->n_exceptions > 0 || !adds_nothing(other, rule) ||
	       !is_under(other, rule);
}

bool check_is_denied(const struct rule *rule, const struct rule *other)
{
	return other->action == POLICY_DENY && is_under(rule, other);
}

void check_neighbours(struct checker *checker, const struct rule *rule)
{
	bool allows = rule->action == POLICY_ALLOW || rule->action == POLICY_WARN;
	const struct rule *other =
		allows ? check_index_find(&checker->index, rule, check_is_denied) : NULL;

	if (other) {
		warn_denied(checker, rule, other);
		return;
	}
	other = check_index_find(&checker->index, rule, is_shadowed);
	if (other)
		warn_shadowed(checker, rule, other);
}
