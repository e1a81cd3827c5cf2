/* SPDX-License-Identifier: MIT */

/*
 * What to type so that a refused request is allowed
 *
 * The narrowest change: a rule for this operation on this argument where none speaks of it, an
 * exception where a rule refuses it. It is YAML that can be pasted; every text in it is quoted.
 */

#include "policy/decision-internal.h"
#include "policy/net-mode.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/path.h"
#include "base/units.h"

typedef void add_fn(struct text *out, const struct artefact *artefact,
		    const struct request_buffer *buffer, const struct policy_decision *decision);

static bool is_address(const char *host)
{
	unsigned char bytes[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

/* A path of the project is written as one, so that the rule holds wherever the project lies. */
static void add_path(struct text *out, const struct policy_request *request)
{
	const char *root = request->project_root;
	size_t len = root ? strlen(root) : 0;
	_cleanup_text_ struct text path = TEXT_INIT;

	if (len > 1 && path_is_beneath(request->path, root) && request->path[len] == '/') {
		text_addf(&path, "./%s", request->path + len + 1);
		out->failed = out->failed || text_status(&path) < 0;
		text_add_quoted(out, text_string(&path));
	} else {
		text_add_quoted(out, request->path);
	}
}

/* What tells this request from others, as members of a flow map; false where nothing does. */
static bool add_condition(struct text *out, const struct policy_request *request,
			  const char *separator)
{
	size_t before = out->len;

	if (request->path) {
		text_addf(out, "%spath: ", separator);
		add_path(out, request);
	} else if (request->host) {
		text_addf(out, "%s%s: ", separator, is_address(request->host) ? "cidr" : "host");
		text_add_quoted(out, request->host);
		if (request->has_port)
			text_addf(out, ", ports: %u", request->port);
	} else if (request->caller) {
		text_addf(out, "%scaller: ", separator);
		text_add_quoted(out, request->caller);
	} else if (request->state) {
		text_addf(out, "%sstate: ", separator);
		text_add_quoted(out, request->state);
	}
	return out->len > before;
}

/* "allow-fs-write-a.c": letters, digits, '.', '_' and '-' need no quotes in YAML. */
static void add_rule_name(struct text *out, const struct policy_request *request)
{
	const char *last = request->path ? path_last(request->path) : request->host;

	text_add(out, "allow-");
	for (const char *c = request->operation; *c; c++)
		text_add_bytes(out, isalnum((unsigned char)*c) ? c : "-", 1);
	if (!last || *last == '\0')
		return;
	text_add_char(out, '-');
	for (const char *c = last; *c; c++) {
		bool is_plain = isalnum((unsigned char)*c) || strchr("._-", *c);

		text_add_bytes(out, is_plain ? c : "-", 1);
	}
}

/* A file that only narrows cannot allow anything by itself. */
static const char *file_to_change(const struct artefact *artefact)
{
	const struct artefact_source *sources = artefact_rows(artefact, SECTION_SOURCES);

	for (size_t i = artefact_n_rows(artefact, SECTION_SOURCES); i > 0; i--)
		if (!sources[i - 1].narrows)
			return artefact_text(artefact, sources[i - 1].name);
	return "the policy";
}

static void add_new_rule(struct text *out, const struct artefact *artefact,
			 const struct request_buffer *buffer,
			 const struct policy_decision *decision)
{
	text_add(out, "add to ");
	decision_add_visible(out, file_to_change(artefact));
	text_add(out, " under 'capabilities:'\n  - name: ");
	add_rule_name(out, &buffer->request);
	text_add(out, "\n    match: { syscall: ");
	decision_add_visible(out, buffer->request.operation);
	(void)add_condition(out, &buffer->request, ", ");
	text_add(out, " }\n    action: allow\n");
}

/* Rules of fs.rules and its kind are called by their place, and have no exceptions. */
static bool can_have_exceptions(const struct artefact *artefact,
				const struct policy_decision *decision)
{
	for (size_t i = 0; i < decision->n_rules; i++)
		if (strchr(artefact_text(artefact,
					 decision_rule(artefact, decision->rules[i])->name),
			   '['))
			return false;
	return true;
}

/* The rule that a mode implies has no text of its own that an exception could stand in. */
static bool is_of_net_mode(const struct artefact *artefact, uint32_t row)
{
	const struct artefact_rule *rule = decision_rule(artefact, row);

	return rule->action == POLICY_DENY && rule->reason != ARTEFACT_NONE &&
	       net_rule_is_denial(artefact_text(artefact, rule->name),
				  artefact_text(artefact, rule->reason));
}

static bool add_mode(struct text *out, const struct artefact *artefact,
		     const struct policy_decision *decision)
{
	const struct artefact_source *sources = artefact_rows(artefact, SECTION_SOURCES);

	for (size_t i = 0; i < decision->n_rules; i++) {
		const struct artefact_rule *rule = decision_rule(artefact, decision->rules[i]);

		if (!is_of_net_mode(artefact, decision->rules[i]))
			continue;
		text_add(out, "change 'net.mode' (");
		decision_add_visible(out, artefact_text(artefact, sources[rule->source].name));
		text_addf(out, ":%u): proxy asks the rules, host shares the host's network\n",
			  rule->line);
		return true;
	}
	return false;
}

static void add_exceptions(struct text *out, const struct artefact *artefact,
			   const struct request_buffer *buffer,
			   const struct policy_decision *decision)
{
	_cleanup_text_ struct text condition = TEXT_INIT;
	bool has_condition = add_condition(&condition, &buffer->request, "");

	if (add_mode(out, artefact, decision))
		return;
	text_add(out, decision->verdict == POLICY_REVIEW ? "let a person review it, or " : "");
	if (!has_condition)
		text_add(out, "change the action of ");
	else if (can_have_exceptions(artefact, decision))
		text_add(out, "add to ");
	else
		text_add(out, "write under 'capabilities:', where rules can have exceptions, ");
	for (size_t i = 0; i < decision->n_rules; i++) {
		text_add(out, i > 0 ? ", and to " : "");
		decision_add_rule(out, artefact, decision->rules[i]);
	}
	text_add_char(out, '\n');
	if (!has_condition)
		return;
	text_add(out, "  except:\n    - { ");
	text_add(out, text_string(&condition));
	text_add(out, " }\na rule that allows it must be there as well\n");
}

static void add_fulfilment(struct text *out, const struct artefact *artefact,
			   const struct request_buffer *buffer,
			   const struct policy_decision *decision)
{
	const struct constraints *wanted = &decision->constraints;
	const struct policy_request *request = &buffer->request;

	if (wanted->require_sandbox &&
	    (!request->sandbox || strcmp(request->sandbox, wanted->require_sandbox) != 0)) {
		text_add(out, "do it in a sandbox of level ");
		decision_add_visible(out, wanted->require_sandbox);
		text_add(out, ", or take 'require_sandbox' out of the rule\n");
	}
	if (wanted->require_token && !request->has_token)
		text_add(out, "ask for a token with 'sbx-policy token issue', or take "
			      "'require_capability_token' out of the rule\n");
	if (request->has_size && request->size_bytes > wanted->max_file_size_bytes) {
		text_add(out, "write at most ");
		units_add_size(out, wanted->max_file_size_bytes);
		text_add(out, ", or raise 'max_file_size' in the rule\n");
	} else if (!request->has_size && wanted->max_file_size_bytes != UINT64_MAX) {
		text_add(out, "say how many bytes are written: size=BYTES\n");
	}
	if (wanted->sha256 && !request->sha256)
		text_add(out, "say what 'sha256sum PROGRAM' says: sha256=DIGEST\n");
	else if (wanted->sha256 && strcasecmp(wanted->sha256, request->sha256) != 0)
		text_add(out, "if the program was changed on purpose, write its new digest into "
			      "'sha256' of the rule\n");
}

static void add_better_path(struct text *out, const char *name, const char *path)
{
	if (path && !path_is_normal(path))
		text_addf(
			out,
			"give %s as an absolute path without '.', '..', '//' and a slash at its end\n",
			name);
}

static void add_better_request(struct text *out, const struct artefact *artefact,
			       const struct request_buffer *buffer,
			       const struct policy_decision *decision)
{
	const struct policy_request *request = &buffer->request;
	int row = operation_find(request->operation);
	enum operation_argument wanted;

	if (row == OPERATION_UNKNOWN) {
		const char *meant = operation_suggest(request->operation);

		if (meant)
			text_addf(out, "did you mean '%s'?\n", meant);
		else
			text_add(out, "name an operation of sbx-policy(5)\n");
		return;
	}
	wanted = operation_at(row)->argument;
	if (wanted == ARGUMENT_PATH && !request->path)
		text_add(out, "name the path behind the operation\n");
	if (wanted == ARGUMENT_HOST && !request->host)
		text_add(out, "name the host behind the operation\n");
	add_better_path(out, "the argument", request->path);
	add_better_path(out, "the project", request->project_root);
	if (!request->project_root && artefact->header->needs_project >> row & 1)
		text_add(out, "name the project's root: project=/FOLDER\n");
	if (request->host && !request->has_port && artefact->header->needs_port >> row & 1)
		text_add(out, "name the host with its port: example.com:443, [::1]:443\n");
	if (out->len == 0 && request->host)
		text_add(out, "write the host as a name (example.com) or an address in full "
			      "(192.0.2.1, ::1), and with a port [::1]:443\n");
	if (out->len == 0)
		text_add(out, "correct what the reason says\n");
}

static void add_builtin(struct text *out, const struct artefact *artefact,
			const struct request_buffer *buffer, const struct policy_decision *decision)
{
	text_add(out, decision->verdict == POLICY_REVIEW
			      ? "let a person review it\n"
			      : "there is none: no policy, token or extension changes a built-in "
				"rule\n");
}

static void add_extension(struct text *out, const struct artefact *artefact,
			  const struct request_buffer *buffer,
			  const struct policy_decision *decision)
{
	text_add(out, decision->verdict == POLICY_REVIEW ? "let a person review it, or " : "");
	text_add(out, "do what the extension '");
	decision_add_visible(out, decision->extension);
	text_add(out, "' asks for, or change its program under 'extensions:' in ");
	decision_add_visible(out, file_to_change(artefact));
	text_add_char(out, '\n');
}

void decision_add_fix(struct text *out, const struct artefact *artefact,
		      const struct request_buffer *buffer, const struct policy_decision *decision)
{
	static add_fn *const adders[] = {
		[CAUSE_DEFAULT] = add_new_rule,	     [CAUSE_RULES] = add_exceptions,
		[CAUSE_CONSTRAINT] = add_fulfilment, [CAUSE_BAD_REQUEST] = add_better_request,
		[CAUSE_BUILTIN] = add_builtin,	     [CAUSE_TOKEN] = NULL,
		[CAUSE_EXTENSION] = add_extension,
	};

	if (decision_status(decision->verdict) != 0 && adders[decision->cause])
		adders[decision->cause](out, artefact, buffer, decision);
}
