/* SPDX-License-Identifier: MIT */

/*
 * Questions of the proxy, put to the evaluator as the request net.connect, which is the one that
 * 'sbx-policy eval' answers
 */

#include "proxy/judge.h"

#include <arpa/inet.h>

#include "base/json.h"
#include "base/text.h"
#include "proxy/policy.h"
#include "proxy/resolver.h"

void judge_print_address(const struct resolver_address *address, char ret[HOSTNAME_TEXT_SIZE])
{
	(void)inet_ntop(address->is_ipv6 ? AF_INET6 : AF_INET, address->bytes, ret,
			HOSTNAME_TEXT_SIZE);
}

/* Does a permission that names hosts depend on the address? A permission for a network alone does
 * not let names be resolved: the query itself would carry data to any server of the DNS. */
static bool may_hold_for_address(const struct judge *judge)
{
	const struct artefact *artefact = proxy_policy_artefact(judge->policy);
	const struct artefact_rule *rules = artefact_rows(artefact, SECTION_RULES);
	const struct artefact_condition *conditions = artefact_rows(artefact, SECTION_CONDITIONS);

	for (size_t i = 0; i < judge->decision.n_dependences; i++) {
		const struct policy_dependence *dependence = &judge->decision.dependences[i];
		const struct artefact_rule *rule = &rules[dependence->rule];

		if (dependence->facts == 1u << UNSAID_ADDRESS &&
		    (rule->action == POLICY_ALLOW || rule->action == POLICY_WARN) &&
		    conditions[rule->condition].keys & 1u << MATCH_HOST)
			return true;
	}
	return false;
}

enum judgement judge_host(struct judge *judge, const struct hostname *host, uint16_t port,
			  const struct resolver_address *address)
{
	(void)hostname_print(host, judge->host);
	if (address)
		judge_print_address(address, judge->address);
	judge->request.request = (struct policy_request){
		.operation = "net.connect",
		.host = judge->host,
		.address = address ? judge->address : NULL,
		.port = port,
		.has_port = true,
		.proto = "tcp",
		.project_root = judge->project,
	};
	policy_decide(proxy_policy_engine(judge->policy), &judge->request.request,
		      &judge->decision);
	if (decision_status(judge->decision.verdict) == 0)
		return JUDGED_ALLOWED;
	return !address && host->kind == HOSTNAME_DNS && may_hold_for_address(judge)
		       ? JUDGED_BY_ADDRESS
		       : JUDGED_DENIED;
}

bool judge_allows_any_bytes(const struct judge *judge)
{
	return judge->decision.constraints.tls == TLS_ANY;
}

static const struct artefact_rule *first_rule(const struct judge *judge)
{
	const struct artefact_rule *rules =
		artefact_rows(proxy_policy_artefact(judge->policy), SECTION_RULES);

	return judge->decision.n_rules > 0 ? &rules[judge->decision.rules[0]] : NULL;
}

void judge_add_rule(struct text *out, const struct judge *judge)
{
	const struct artefact *artefact = proxy_policy_artefact(judge->policy);
	const struct artefact_source *sources = artefact_rows(artefact, SECTION_SOURCES);
	const struct artefact_rule *rule = first_rule(judge);

	if (rule)
		text_addf(out, "%s (%s:%u)", artefact_text(artefact, rule->name),
			  artefact_text(artefact, sources[rule->source].name), rule->line);
	else if (judge->decision.builtin)
		text_add(out, judge->decision.builtin);
}

void judge_add_why(struct text *out, const struct judge *judge)
{
	const struct artefact *artefact = proxy_policy_artefact(judge->policy);
	const struct artefact_rule *rule = first_rule(judge);

	if (!rule) {
		text_add(out,
			 judge->decision.reason ? judge->decision.reason : "no rule allows it");
		return;
	}
	judge_add_rule(out, judge);
	text_add(out,
		 judge->decision.verdict == POLICY_REVIEW ? " requires a review" : " denies it");
	if (rule->reason != ARTEFACT_NONE)
		text_addf(out, ": %s", artefact_text(artefact, rule->reason));
}

void judge_add_fix(struct text *out, const struct judge *judge)
{
	decision_add_fix(out, proxy_policy_artefact(judge->policy), &judge->request,
			 &judge->decision);
	while (out->len > 0 && out->data[out->len - 1] == '\n')
		text_truncate(out, out->len - 1);
}

void judge_add_json(struct text *out, const struct judge *judge)
{
	decision_add_json(out, proxy_policy_artefact(judge->policy), &judge->request,
			  &judge->decision);
}

void judge_add_constraint_json(struct text *out, const struct judge *judge, const char *reason,
			       const char *name, const char *fix)
{
	_cleanup_text_ struct text input = TEXT_INIT;
	struct json_writer json;

	request_add_json(&input, &judge->request);
	json_begin_object(&json, out);
	json_member_string(&json, "verdict", "deny");
	json_member_string(&json, "cause", "constraint");
	json_member_array(&json, "reasons");
	json_add_string(&json, reason);
	json_end_array(&json);
	json_member_if_set(&json, "server_name", name);
	json_member_string(&json, "fix", fix);
	json_member_hex(&json, "policy", proxy_policy_digest(judge->policy), 32);
	json_add_name(&json, "input");
	json_add_raw(&json, input.data, input.len);
	json_end_line(&json);
	out->failed = out->failed || text_status(&input) < 0;
}
