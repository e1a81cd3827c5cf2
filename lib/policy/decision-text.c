/* SPDX-License-Identifier: MIT */

/*
 * A decision for people: what, why, and for a refusal what to type
 *
 *   denied: fs.write '/srv/p/src/a.c'
 *     why: no rule explicitly allowed this operation
 *     fix: add to p.yaml under 'capabilities:'
 *       ...
 *
 * Whatever comes from a request or a policy is made safe for a terminal here.
 */

#include "policy/decision-internal.h"

#include <string.h>

#include "base/units.h"

/* A decision that a thousand rules agree on is not clearer for all their names. */
#define RULES_SHOWN_MAX 8

static const char *const headings[] = {
	[POLICY_PASS] = "denied",
	[POLICY_ALLOW] = "allowed",
	[POLICY_WARN] = "allowed, with a warning",
	[POLICY_REVIEW] = "needs review",
	[POLICY_DENY] = "denied",
};

static const char *const doings[] = {
	[POLICY_PASS] = "says nothing", [POLICY_ALLOW] = "allows it",
	[POLICY_WARN] = "warns of it",	[POLICY_REVIEW] = "wants it reviewed",
	[POLICY_DENY] = "denies it",
};

void decision_add_visible(struct text *out, const char *string)
{
	text_add_visible(out, string, strlen(string));
}

void decision_add_subject(struct text *out, const struct policy_request *request)
{
	decision_add_visible(out, request->operation);
	if (request->path) {
		text_add(out, " '");
		decision_add_visible(out, request->path);
		text_add(out, "'");
	}
	if (request->host) {
		bool is_ipv6 = strchr(request->host, ':') && request->has_port;

		text_add(out, is_ipv6 ? " [" : " ");
		decision_add_visible(out, request->host);
		text_add(out, is_ipv6 ? "]" : "");
		if (request->has_port)
			text_addf(out, ":%u", request->port);
	}
}

static void add_why(struct text *out, const char *who, const char *name,
		    const struct policy_decision *decision)
{
	text_addf(out, "  why: %s '", who);
	decision_add_visible(out, name);
	text_addf(out, "' %s", doings[decision->verdict]);
	if (decision->reason) {
		text_add(out, ": ");
		decision_add_visible(out, decision->reason);
	}
	text_add_char(out, '\n');
}

static void add_reason(struct text *out, const char *reason)
{
	text_add(out, "  why: ");
	decision_add_visible(out, reason);
	text_add_char(out, '\n');
}

static void add_rules(struct text *out, const struct artefact *artefact,
		      const struct policy_decision *decision)
{
	for (size_t i = 0; i < decision->n_rules; i++) {
		const struct artefact_rule *rule = decision_rule(artefact, decision->rules[i]);

		if (i == RULES_SHOWN_MAX) {
			text_addf(out, "  why: %zu more rules\n", decision->n_rules - i);
			return;
		}
		text_add(out, "  why: ");
		decision_add_rule(out, artefact, decision->rules[i]);
		text_addf(out, " %s", doings[rule->action]);
		if (rule->reason != ARTEFACT_NONE) {
			text_add(out, ": ");
			decision_add_visible(out, artefact_text(artefact, rule->reason));
		}
		text_add_char(out, '\n');
	}
}

static void add_cause(struct text *out, const struct artefact *artefact,
		      const struct policy_decision *decision)
{
	switch (decision->cause) {
	case CAUSE_BUILTIN:
		add_why(out, "built-in rule", decision->builtin, decision);
		return;
	case CAUSE_EXTENSION:
		add_why(out, "extension", decision->extension, decision);
		return;
	case CAUSE_TOKEN:
		add_reason(out, "a valid capability token stands for it");
		return;
	case CAUSE_RULES:
		add_rules(out, artefact, decision);
		return;
	case CAUSE_CONSTRAINT:
		add_reason(out, decision->reason);
		add_rules(out, artefact, decision);
		return;
	case CAUSE_DEFAULT:
	case CAUSE_BAD_REQUEST:
		add_reason(out, decision->reason ? decision->reason
						 : "no rule says anything; this is the default");
		return;
	}
}

static void add_constraints(struct text *out, const struct constraints *constraints)
{
	if (constraints->require_sandbox) {
		text_add(out, "  but: only in a sandbox of level ");
		decision_add_visible(out, constraints->require_sandbox);
		text_add_char(out, '\n');
	}
	if (constraints->require_token)
		text_add(out, "  but: only with a capability token\n");
	if (constraints->max_file_size_bytes != UINT64_MAX) {
		text_add(out, "  but: at most ");
		units_add_size(out, constraints->max_file_size_bytes);
		text_add(out, " of a file\n");
	}
	if (constraints->sha256) {
		text_add(out, "  but: only the program with the SHA-256 ");
		decision_add_visible(out, constraints->sha256);
		text_add_char(out, '\n');
	}
}

/* The lines of @fix, each behind the first one indented. */
static void add_fix(struct text *out, const char *fix)
{
	const char *head = "  fix: ";

	while (*fix != '\0') {
		size_t len = strcspn(fix, "\n");

		text_add(out, head);
		text_add_bytes(out, fix, len);
		text_add_char(out, '\n');
		fix += len + (fix[len] == '\n');
		head = "    ";
	}
}

/* A mask hides what the name stands for. */
static void add_visible_name(struct text *out, const struct request_buffer *buffer)
{
	if (strcmp(buffer->request.operation, "fs.exists") == 0)
		text_add(out, "  but: in a sandbox the name stays visible where its directory is "
			      "shown\n");
}

void decision_add_text(struct text *out, const struct artefact *artefact,
		       const struct request_buffer *buffer, const struct policy_decision *decision)
{
	_cleanup_text_ struct text fix = TEXT_INIT;

	text_addf(out, "%s: ", headings[decision->verdict]);
	decision_add_subject(out, &buffer->request);
	text_add_char(out, '\n');
	add_cause(out, artefact, decision);
	if (decision->verdict == POLICY_DENY && decision->cause != CAUSE_BAD_REQUEST)
		add_visible_name(out, buffer);
	if (decision_status(decision->verdict) == 0) {
		add_constraints(out, &decision->constraints);
		return;
	}
	decision_add_fix(&fix, artefact, buffer, decision);
	if (text_status(&fix) < 0)
		out->failed = true;
	else
		add_fix(out, text_string(&fix));
}
