/* SPDX-License-Identifier: MIT */

/*
 * A decision for programs: one line of JSON
 *
 * It repeats what was asked in its normal form, so that a log of decisions is also a test of the
 * next policy.
 */

#include "policy/decision-internal.h"

#include <endian.h>
#include <string.h>

#include "base/json.h"

static const char *const cause_names[] = {
	[CAUSE_DEFAULT] = "default",	     [CAUSE_RULES] = "rules",
	[CAUSE_BUILTIN] = "builtin",	     [CAUSE_TOKEN] = "token",
	[CAUSE_CONSTRAINT] = "constraint",   [CAUSE_EXTENSION] = "extension",
	[CAUSE_BAD_REQUEST] = "bad_request",
};

static const char *const fact_names[N_UNSAID] = {
	[UNSAID_CALLER] = "caller", [UNSAID_TAG] = "caller_tag", [UNSAID_STATE] = "state",
	[UNSAID_MODE] = "mode",	    [UNSAID_TOKEN] = "token",	 [UNSAID_DIGEST] = "digest",
	[UNSAID_SIZE] = "size",	    [UNSAID_LEVEL] = "level",
};

const char *policy_unsaid_name(enum policy_unsaid fact)
{
	return fact_names[fact];
}

int decision_status(enum policy_action verdict)
{
	static const int statuses[] = {
		[POLICY_PASS] = 1,   [POLICY_ALLOW] = 0, [POLICY_WARN] = 0,
		[POLICY_REVIEW] = 3, [POLICY_DENY] = 1,
	};

	return statuses[verdict];
}

/* The eight digits of four bytes, each in a byte of its own: the first in the low bits. */
static uint64_t hex_digits(uint32_t bytes)
{
	uint64_t spread = bytes, digits, letters;

	spread = (spread | spread << 16) & 0x0000ffff0000ffffu;
	spread = (spread | spread << 8) & 0x00ff00ff00ff00ffu;
	digits = (spread >> 4 & 0x000f000f000f000fu) | (spread & 0x000f000f000f000fu) << 8;
	/* Of what is above 9 a bit is left when 6 are added. */
	letters = (digits + 0x0606060606060606u) >> 4 & 0x0101010101010101u;
	return digits + 0x3030303030303030u + letters * ('a' - '0' - 10);
}

void digest_add_hex(struct text *out, const uint8_t digest[32])
{
	char *at = text_extend(out, 64);

	for (size_t i = 0; at && i < 32; i += 4, at += 8) {
		uint32_t bytes;
		uint64_t digits;

		memcpy(&bytes, digest + i, sizeof(bytes));
		digits = htole64(hex_digits(le32toh(bytes)));
		memcpy(at, &digits, sizeof(digits));
	}
}

const struct artefact_rule *decision_rule(const struct artefact *artefact, uint32_t row)
{
	return (const struct artefact_rule *)artefact_rows(artefact, SECTION_RULES) + row;
}

static const char *file_of(const struct artefact *artefact, const struct artefact_rule *rule)
{
	const struct artefact_source *sources = artefact_rows(artefact, SECTION_SOURCES);

	return artefact_text(artefact, sources[rule->source].name);
}

void decision_add_rule(struct text *out, const struct artefact *artefact, uint32_t row)
{
	const struct artefact_rule *rule = decision_rule(artefact, row);

	text_add(out, "rule '");
	decision_add_visible(out, artefact_text(artefact, rule->name));
	text_add(out, "' (");
	decision_add_visible(out, file_of(artefact, rule));
	text_addf(out, ":%u)", rule->line);
}

static void add_rule(struct json_writer *json, const struct artefact *artefact, uint32_t row)
{
	const struct artefact_rule *rule = decision_rule(artefact, row);

	json_add_object(json);
	json_add_plain_name(json, "name");
	json_add_string(json, artefact_text(artefact, rule->name));
	json_add_plain_name(json, "action");
	json_add_string(json, policy_action_name((enum policy_action)rule->action));
	json_add_plain_name(json, "file");
	json_add_string(json, file_of(artefact, rule));
	json_add_plain_name(json, "line");
	json_add_u64(json, rule->line);
	json_add_plain_name(json, "column");
	json_add_u64(json, rule->column);
	json_end_object(json);
}

static void add_rules(struct json_writer *json, const struct artefact *artefact,
		      const struct policy_decision *decision)
{
	json_add_plain_name(json, "rules");
	json_add_array(json);
	for (size_t i = 0; i < decision->n_rules; i++)
		add_rule(json, artefact, decision->rules[i]);
	json_end_array(json);
}

static void add_reasons(struct json_writer *json, const struct artefact *artefact,
			const struct policy_decision *decision)
{
	json_add_plain_name(json, "reasons");
	json_add_array(json);
	if (decision->reason)
		json_add_string(json, decision->reason);
	for (size_t i = 0; i < decision->n_rules; i++) {
		uint32_t reason = decision_rule(artefact, decision->rules[i])->reason;

		if (reason != ARTEFACT_NONE)
			json_add_string(json, artefact_text(artefact, reason));
	}
	json_end_array(json);
}

/* Under the names that they have in a policy. */
static void add_constraints(struct json_writer *json, const struct constraints *constraints)
{
	json_add_plain_name(json, "constraints");
	json_add_object(json);
	if (constraints->require_sandbox)
		json_member_string(json, "require_sandbox", constraints->require_sandbox);
	if (constraints->require_token)
		json_member_bool(json, "require_capability_token", true);
	if (constraints->max_file_size_bytes != UINT64_MAX)
		json_member_u64(json, "max_file_size", constraints->max_file_size_bytes);
	if (constraints->sha256)
		json_member_string(json, "sha256", constraints->sha256);
	json_end_object(json);
}

static void add_dependences(struct json_writer *json, unsigned facts)
{
	json_add_plain_name(json, "depends_on");
	json_add_array(json);
	for (int i = 0; i < N_UNSAID; i++)
		if (facts & 1u << i)
			json_add_string(json, fact_names[i]);
	json_end_array(json);
}

static void add_fix(struct json_writer *json, const struct artefact *artefact,
		    const struct request_buffer *buffer, const struct policy_decision *decision)
{
	_cleanup_text_ struct text fix = TEXT_INIT;

	decision_add_fix(&fix, artefact, buffer, decision);
	if (text_status(&fix) < 0)
		json->out->failed = true;
	else if (fix.len > 0)
		json_member_string(json, "fix", text_string(&fix));
}

static void add_input(struct json_writer *json, const struct request_buffer *buffer)
{
	json_add_plain_name(json, "input");
	request_add_json(json->out, buffer);
	json->needs_comma = true;
}

static void add_digest(struct json_writer *json, const struct artefact *artefact)
{
	json_add_plain_name(json, "policy");
	text_add_char(json->out, '"');
	digest_add_hex(json->out, artefact->header->policy_digest);
	text_add_char(json->out, '"');
	json->needs_comma = true;
}

static void add_id(struct json_writer *json, const char *id)
{
	if (!id)
		return;
	json_add_plain_name(json, "id");
	text_add(json->out, id);
	json->needs_comma = true;
}

void decision_add_json(struct text *out, const struct artefact *artefact,
		       const struct request_buffer *buffer, const struct policy_decision *decision)
{
	struct json_writer json;

	json_write(&json, out);
	json_add_object(&json);
	add_id(&json, buffer->id);
	json_add_plain_name(&json, "verdict");
	json_add_string(&json, policy_action_name(decision->verdict));
	json_add_plain_name(&json, "cause");
	json_add_string(&json, cause_names[decision->cause]);
	add_rules(&json, artefact, decision);
	if (decision->builtin)
		json_member_string(&json, "builtin", decision->builtin);
	if (decision->extension)
		json_member_string(&json, "extension", decision->extension);
	add_reasons(&json, artefact, decision);
	add_constraints(&json, &decision->constraints);
	if (decision->facts)
		add_dependences(&json, decision->facts);
	if (decision_status(decision->verdict) != 0)
		add_fix(&json, artefact, buffer, decision);
	add_digest(&json, artefact);
	add_input(&json, buffer);
	json_end_object(&json);
	text_add_char(out, '\n');
}
