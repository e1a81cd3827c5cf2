/* SPDX-License-Identifier: MIT */

/*
 * A decision as text and as JSON: the verdict, the reason, and for a refusal the remedy
 *
 *   denied: fs.write '/srv/p/src/a.c'
 *     why: no rule explicitly allowed this operation
 *     fix: add to p.yaml under 'capabilities:'
 *       ...
 *
 * Texts of a request or a policy are escaped for a terminal here.
 */

#include "policy/request.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <endian.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/path.h"
#include "base/units.h"
#include "policy/model.h"
#include "policy/network.h"

static const char *const cause_names[] = {
	[CAUSE_DEFAULT] = "default",	     [CAUSE_RULES] = "rules",
	[CAUSE_BUILTIN] = "builtin",	     [CAUSE_TOKEN] = "token",
	[CAUSE_CONSTRAINT] = "constraint",   [CAUSE_EXTENSION] = "extension",
	[CAUSE_BAD_REQUEST] = "bad_request",
};

static const char *const fact_names[N_UNSAID] = {
	[UNSAID_CALLER] = "caller", [UNSAID_TAG] = "caller_tag", [UNSAID_STATE] = "state",
	[UNSAID_MODE] = "mode",	    [UNSAID_TOKEN] = "token",	 [UNSAID_DIGEST] = "digest",
	[UNSAID_SIZE] = "size",	    [UNSAID_LEVEL] = "level",	 [UNSAID_ADDRESS] = "address",
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

/* Adds @text, which may be an attacker's, between two texts of sbx. */
static void add_shown(struct text *out, const char *before, const char *text, const char *after)
{
	text_add(out, before);
	text_add_visible_string(out, text);
	text_add(out, after);
}

/* A dialect implies the rules of the implicit view, so they have no line in the file. */
void decision_add_rule(struct text *out, const struct artefact *artefact, uint32_t row)
{
	const struct artefact_rule *rule = artefact_rule_at(artefact, row);

	add_shown(out, "rule '", artefact_text(artefact, rule->name), "' (");
	text_add_visible_string(out, artefact_file_of(artefact, rule));
	if (rule->line > 0)
		text_addf(out, ":%u", rule->line);
	text_add_char(out, ')');
}

/*
 * The fix is the narrowest change: a new rule for this operation and argument if none applies, an
 * exception if a rule refuses it. It is YAML to be pasted, so every text in it is quoted.
 */

typedef void add_fn(struct text *out, const struct artefact *artefact,
		    const struct request_buffer *buffer, const struct policy_decision *decision);

static bool is_address(const char *host)
{
	unsigned char bytes[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

static void add_inner(struct text *out, const struct special_inner *inner)
{
	uint32_t ipv4 = (uint32_t)(inner->bits[0] >> 32);

	if (inner->is_ipv6)
		text_add_quoted(out, "::1"); /* the only one */
	else
		text_addf(out, "%u.%u.%u.%u", ipv4 >> 24, ipv4 >> 16 & 0xff, ipv4 >> 8 & 0xff,
			  ipv4 & 0xff);
}

/* Adds the value of 'cidr' for an address, with those to which it leads, which are judged as well.
 * An address that is mapped into IPv6 is written as IPv4. */
static void add_cidr(struct text *out, const char *address)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct special_inner inner[SPECIAL_INNER_MAX];
	bool is_ipv6 = strchr(address, ':') != NULL;
	uint8_t bytes[16];
	uint64_t bits[2];
	size_t n = 0;

	if (inet_pton(is_ipv6 ? AF_INET6 : AF_INET, address, bytes) == 1) {
		artefact_address_bits(bytes, is_ipv6 ? 16 : 4, bits);
		n = special_inner(is_ipv6, bits, inner);
	}

	bool is_mapped = n > 0 && is_ipv6 && memcmp(bytes, mapped, sizeof(mapped)) == 0;

	text_add(out, n > 0 ? "[" : "");
	if (!is_mapped)
		text_add_quoted(out, address);
	for (size_t i = 0; i < n; i++) {
		text_add(out, i > 0 || !is_mapped ? ", " : "");
		add_inner(out, &inner[i]);
	}
	text_add(out, n > 0 ? "]" : "");
}

static void add_host(struct text *out, const struct policy_request *request, bool has_address,
		     const char *separator)
{
	text_add(out, separator);
	if (is_address(request->host)) {
		text_add(out, "cidr: ");
		add_cidr(out, request->host);
	} else {
		text_add(out, "host: ");
		text_add_quoted(out, request->host);
		if (has_address && request->address) {
			text_add(out, ", cidr: ");
			add_cidr(out, request->address);
		}
	}
	if (request->has_port)
		text_addf(out, ", ports: %u", request->port);
}

/* Writes a path in the project as a relative one, so that the rule holds wherever the project
 * is. */
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

/* Adds the most specific condition that the request meets, as members of a flow map; with
 * @has_address also for the address of a name. False if the request has no argument, caller or
 * state. */
static bool add_condition(struct text *out, const struct policy_request *request, bool has_address,
			  const char *separator)
{
	size_t before = out->len;

	if (request->path) {
		text_addf(out, "%spath: ", separator);
		add_path(out, request);
	} else if (request->host) {
		add_host(out, request, has_address, separator);
	} else if (request->caller) {
		text_addf(out, "%scaller: ", separator);
		text_add_quoted(out, request->caller);
	} else if (request->state) {
		text_addf(out, "%sstate: ", separator);
		text_add_quoted(out, request->state);
	}
	return out->len > before;
}

/* Far below what a policy accepts. */
#define RULE_NAME_LAST_MAX 100

/* Adds a name such as "allow-fs-write-a.c": letters, digits, '.', '_' and '-' need no quotes in
 * YAML. */
static void add_rule_name(struct text *out, const struct policy_request *request)
{
	const char *last = request->path ? path_last(request->path) : request->host;

	text_add(out, "allow-");
	for (const char *c = request->operation; *c; c++)
		text_add_bytes(out, isalnum((unsigned char)*c) ? c : "-", 1);
	if (!last || *last == '\0')
		return;
	text_add_char(out, '-');
	for (const char *c = last; *c && c < last + RULE_NAME_LAST_MAX; c++) {
		bool is_plain = isalnum((unsigned char)*c) || strchr("._-", *c);

		text_add_bytes(out, is_plain ? c : "-", 1);
	}
}

/* The file to add a rule to: a narrowing file cannot allow anything by itself. */
static const char *file_to_change(const struct artefact *artefact)
{
	const struct artefact_source *sources = artefact_rows(artefact, SECTION_SOURCES);

	for (size_t i = artefact_n_rows(artefact, SECTION_SOURCES); i > 0; i--)
		if (!sources[i - 1].narrows)
			return artefact_text(artefact, sources[i - 1].name);
	return "the policy";
}

/* The kernel reads a program that it executes, so a sandbox needs both permissions. */
static void add_operation(struct text *out, const char *operation)
{
	if (strcmp(operation, "exec") == 0)
		text_add(out, "[exec, fs.read]");
	else
		text_add_visible_string(out, operation);
}

static void add_new_rule(struct text *out, const struct artefact *artefact,
			 const struct request_buffer *buffer,
			 const struct policy_decision *decision)
{
	const char *file = file_to_change(artefact);

	if (strcmp(file, POLICY_BUILT_IN_VIEW) == 0)
		text_add(out, "name a file with --policy, which replaces " POLICY_BUILT_IN_VIEW
			      ", and write there");
	else
		add_shown(out, "add to ", file, "");
	text_add(out, " under 'capabilities:'\n  - name: ");
	add_rule_name(out, &buffer->request);
	text_add(out, "\n    match: { syscall: ");
	add_operation(out, buffer->request.operation);
	/* The next address of the name may be another one; but special ones are named. */
	(void)add_condition(out, &buffer->request, decision->cause == CAUSE_BUILTIN, ", ");
	text_add(out, " }\n    action: allow\n");
}

static bool can_have_exceptions(const struct artefact *artefact,
				const struct policy_decision *decision)
{
	for (size_t i = 0; i < decision->n_rules; i++)
		if (artefact_rule_at(artefact, decision->rules[i])->kind == RULE_OF_SECTION)
			return false;
	return true;
}

/* Rules that a setting implies: the file has no rule to which an exception could be added. */
static const struct {
	const char *setting;
	const char *change;
} implied[N_RULE_KINDS] = {
	[RULE_OF_MOUNT] = { "the entry of 'mounts'", " that hides the path or makes it read-only" },
	[RULE_OF_NET_MODE] = { "'net.mode'",
			       ": proxy applies the rules, host shares the host's network" },
};

/* Adds what to change in the setting that implies one of the rules; false if none does. */
static bool add_setting(struct text *out, const struct artefact *artefact,
			const struct policy_decision *decision)
{
	for (size_t i = 0; i < decision->n_rules; i++) {
		const struct artefact_rule *rule = artefact_rule_at(artefact, decision->rules[i]);

		if (!implied[rule->kind].setting)
			continue;
		text_addf(out, "change %s (", implied[rule->kind].setting);
		text_add_visible_string(out, artefact_file_of(artefact, rule));
		text_addf(out, ":%u)%s\n", rule->line, implied[rule->kind].change);
		return true;
	}
	return false;
}

static void add_exceptions(struct text *out, const struct artefact *artefact,
			   const struct request_buffer *buffer,
			   const struct policy_decision *decision)
{
	_cleanup_text_ struct text condition = TEXT_INIT;
	bool has_condition = add_condition(&condition, &buffer->request, true, "");

	if (add_setting(out, artefact, decision))
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
	text_add(out, " }\na rule that allows it is needed as well\n");
}

static void add_fulfilment(struct text *out, const struct artefact *artefact,
			   const struct request_buffer *buffer,
			   const struct policy_decision *decision)
{
	const struct constraints *wanted = &decision->constraints;
	const struct policy_request *request = &buffer->request;

	if (wanted->require_sandbox &&
	    (!request->sandbox || strcmp(request->sandbox, wanted->require_sandbox) != 0)) {
		add_shown(out, "run it in a sandbox of level ", wanted->require_sandbox,
			  ", or remove 'require_sandbox' from the rule\n");
	}
	if (wanted->require_token && !request->has_token)
		text_add(out, "request a token with 'sbx-policy token issue', or remove "
			      "'require_capability_token' from the rule\n");
	if (request->has_size && request->size_bytes > wanted->max_file_size_bytes) {
		text_add(out, "write at most ");
		units_add_size(out, wanted->max_file_size_bytes);
		text_add(out, ", or raise 'max_file_size' in the rule\n");
	} else if (!request->has_size && wanted->max_file_size_bytes != UINT64_MAX) {
		text_add(out, "give the number of bytes to write: size=BYTES\n");
	}
	if (wanted->sha256 && !request->sha256)
		text_add(out, "give the output of 'sha256sum PROGRAM': sha256=DIGEST\n");
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
		text_add(out, "name the path after the operation\n");
	if (wanted == ARGUMENT_HOST && !request->host)
		text_add(out, "name the host after the operation\n");
	add_better_path(out, "the argument", request->path);
	add_better_path(out, "the project", request->project_root);
	if (!request->project_root && artefact->header->needs_project >> row & 1)
		text_add(out, "name the project's root: project=/DIRECTORY, in JSON the "
			      "member 'project'\n");
	if (request->host && !request->has_port && artefact->header->needs_port >> row & 1)
		text_add(out, "name the host with its port: example.com:443, [::1]:443\n");
	if (request->address && !is_address(request->address))
		text_add(out,
			 "write the address in full: address=192.0.2.1, address=2001:db8::1\n");
	else if (request->address && !request->host)
		text_add(out, "name the host to which the address belongs\n");
	else if (out->len == 0 && request->address && is_address(request->host))
		text_add(out, "leave out the address: the host is one\n");
	if (request->proto && strcmp(request->proto, "tcp") != 0 &&
	    strcmp(request->proto, "udp") != 0)
		text_add(out, "write proto=tcp or proto=udp\n");
	if (out->len == 0 && request->host)
		text_add(out, "write the host as a name (example.com) or an address in full "
			      "(192.0.2.1, ::1), and with a port [::1]:443\n");
	if (out->len == 0)
		text_add(out, "correct the request as the reason says\n");
}

static void add_builtin(struct text *out, const struct artefact *artefact,
			const struct request_buffer *buffer, const struct policy_decision *decision)
{
	if (strcmp(decision->builtin, SPECIAL_RULE_NAME) == 0) {
		add_new_rule(out, artefact, buffer, decision);
		return;
	}
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
	add_shown(out, "do what the extension '", decision->extension,
		  "' asks for, or change its program under 'extensions:' in ");
	text_add_visible_string(out, file_to_change(artefact));
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

/* ---- text ---- */

/* At most so many rules are named; the others are counted. */
#define RULES_SHOWN_MAX 8

static const char *const headings[] = {
	[POLICY_PASS] = "denied",
	[POLICY_ALLOW] = "allowed",
	[POLICY_WARN] = "allowed, with a warning",
	[POLICY_REVIEW] = "needs review",
	[POLICY_DENY] = "denied",
};

static const char *const verbs[] = {
	[POLICY_PASS] = "says nothing", [POLICY_ALLOW] = "allows it",
	[POLICY_WARN] = "warns of it",	[POLICY_REVIEW] = "wants it reviewed",
	[POLICY_DENY] = "denies it",
};

static void add_subject(struct text *out, const struct policy_request *request)
{
	text_add_visible_string(out, request->operation);
	if (request->path)
		add_shown(out, " '", request->path, "'");
	if (request->host) {
		bool is_ipv6 = strchr(request->host, ':') && request->has_port;

		add_shown(out, is_ipv6 ? " [" : " ", request->host, "");
		text_add(out, is_ipv6 ? "]" : "");
		if (request->has_port)
			text_addf(out, ":%u", request->port);
	}
	if (request->address)
		add_shown(out, " at ", request->address, "");
}

static void add_why(struct text *out, const char *kind, const char *name,
		    const struct policy_decision *decision)
{
	text_addf(out, "  why: %s '", kind);
	text_add_visible_string(out, name);
	text_addf(out, "' %s", verbs[decision->verdict]);
	if (decision->reason)
		add_shown(out, ": ", decision->reason, "");
	text_add_char(out, '\n');
}

static void add_reason(struct text *out, const char *reason)
{
	add_shown(out, "  why: ", reason, "\n");
}

/* The implicit view has a rule for each of its directories, all with one name and without a line.
 */
static bool is_same_view(const struct artefact *artefact, uint32_t a, uint32_t b)
{
	const struct artefact_rule *one = artefact_rule_at(artefact, a);
	const struct artefact_rule *other = artefact_rule_at(artefact, b);

	return one->line == 0 && other->line == 0 && one->source == other->source &&
	       strcmp(artefact_text(artefact, one->name), artefact_text(artefact, other->name)) ==
		       0;
}

static void add_rules(struct text *out, const struct artefact *artefact,
		      const struct policy_decision *decision)
{
	for (size_t i = 0; i < decision->n_rules; i++) {
		const struct artefact_rule *rule = artefact_rule_at(artefact, decision->rules[i]);

		if (i == RULES_SHOWN_MAX) {
			text_addf(out, "  why: %zu more rules\n", decision->n_rules - i);
			return;
		}
		if (i > 0 && is_same_view(artefact, decision->rules[i - 1], decision->rules[i]))
			continue;
		text_add(out, "  why: ");
		decision_add_rule(out, artefact, decision->rules[i]);
		text_addf(out, " %s", verbs[rule->action]);
		if (rule->reason != ARTEFACT_NONE)
			add_shown(out, ": ", artefact_text(artefact, rule->reason), "");
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
		add_reason(out, "a valid capability token allows it");
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
						 : "no rule matches; this is the default");
		return;
	}
}

static void add_constraints(struct text *out, const struct constraints *constraints)
{
	if (constraints->require_sandbox) {
		add_shown(out, "  but: only in a sandbox of level ", constraints->require_sandbox,
			  "\n");
	}
	if (constraints->require_token)
		text_add(out, "  but: only with a capability token\n");
	if (constraints->max_file_size_bytes != UINT64_MAX) {
		text_add(out, "  but: at most ");
		units_add_size(out, constraints->max_file_size_bytes);
		text_add(out, " of a file\n");
	}
	if (constraints->sha256) {
		add_shown(out, "  but: only the program with the SHA-256 ", constraints->sha256,
			  "\n");
	}
	if (constraints->tls == TLS_ANY)
		text_add(out, "  tls: any: sbx-proxy does not compare what TLS names\n");
}

/* Adds the lines of @fix, indented after the first. */
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

void decision_add_text(struct text *out, const struct artefact *artefact,
		       const struct request_buffer *buffer, const struct policy_decision *decision)
{
	_cleanup_text_ struct text fix = TEXT_INIT;

	text_addf(out, "%s: ", headings[decision->verdict]);
	add_subject(out, &buffer->request);
	text_add_char(out, '\n');
	add_cause(out, artefact, decision);
	/* A mask hides a file's content, but its name stays visible in the directory. */
	if (decision->verdict == POLICY_DENY && decision->cause != CAUSE_BAD_REQUEST &&
	    strcmp(buffer->request.operation, "fs.exists") == 0)
		text_add(out, "  but: in a sandbox the name stays visible where its directory is "
			      "shown\n");
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

/*
 * JSON: one line, which repeats the request in normal form, so that a log of decisions can be
 * replayed against the next policy.
 */

static void write_rule(struct json_writer *json, const struct artefact *artefact, uint32_t row)
{
	const struct artefact_rule *rule = artefact_rule_at(artefact, row);

	json_add_object(json);
	json_add_plain_name(json, "name");
	json_add_string(json, artefact_text(artefact, rule->name));
	json_add_plain_name(json, "action");
	json_add_string(json, policy_action_name((enum policy_action)rule->action));
	json_add_plain_name(json, "file");
	json_add_string(json, artefact_file_of(artefact, rule));
	json_add_plain_name(json, "line");
	json_add_u64(json, rule->line);
	json_add_plain_name(json, "column");
	json_add_u64(json, rule->column);
	json_end_object(json);
}

static void write_rules(struct json_writer *json, const struct artefact *artefact,
			const struct policy_decision *decision)
{
	json_add_plain_name(json, "rules");
	json_add_array(json);
	for (size_t i = 0; i < decision->n_rules; i++)
		write_rule(json, artefact, decision->rules[i]);
	json_end_array(json);
}

static void write_reasons(struct json_writer *json, const struct artefact *artefact,
			  const struct policy_decision *decision)
{
	json_add_plain_name(json, "reasons");
	json_add_array(json);
	if (decision->reason)
		json_add_string(json, decision->reason);
	for (size_t i = 0; i < decision->n_rules; i++) {
		uint32_t reason = artefact_rule_at(artefact, decision->rules[i])->reason;

		if (reason != ARTEFACT_NONE)
			json_add_string(json, artefact_text(artefact, reason));
	}
	json_end_array(json);
}

/* Members have the names of a policy's keys. */
static void write_constraints(struct json_writer *json, const struct constraints *constraints)
{
	json_add_plain_name(json, "constraints");
	json_add_object(json);
	json_member_if_set(json, "require_sandbox", constraints->require_sandbox);
	if (constraints->require_token)
		json_member_bool(json, "require_capability_token", true);
	if (constraints->max_file_size_bytes != UINT64_MAX)
		json_member_u64(json, "max_file_size", constraints->max_file_size_bytes);
	json_member_if_set(json, "sha256", constraints->sha256);
	if (constraints->tls == TLS_ANY)
		json_member_string(json, "tls", "any");
	json_end_object(json);
}

static void write_dependences(struct json_writer *json, unsigned facts)
{
	json_add_plain_name(json, "depends_on");
	json_add_array(json);
	for (int i = 0; i < N_UNSAID; i++)
		if (facts & 1u << i)
			json_add_string(json, fact_names[i]);
	json_end_array(json);
}

static void write_fix(struct json_writer *json, const struct artefact *artefact,
		      const struct request_buffer *buffer, const struct policy_decision *decision)
{
	_cleanup_text_ struct text fix = TEXT_INIT;

	decision_add_fix(&fix, artefact, buffer, decision);
	if (text_status(&fix) < 0)
		json->out->failed = true;
	else if (fix.len > 0)
		json_member_string(json, "fix", text_string(&fix));
}

static void write_digest(struct json_writer *json, const struct artefact *artefact)
{
	json_add_plain_name(json, "policy");
	text_add_char(json->out, '"');
	text_add_hex(json->out, artefact->header->policy_digest, DIGEST_SIZE);
	text_add_char(json->out, '"');
	json->needs_comma = true;
}

void decision_add_json(struct text *out, const struct artefact *artefact,
		       const struct request_buffer *buffer, const struct policy_decision *decision)
{
	struct json_writer json;

	json_write(&json, out);
	json_add_object(&json);
	if (buffer->id) {
		json_add_plain_name(&json, "id");
		text_add(out, buffer->id);
		json.needs_comma = true;
	}
	json_add_plain_name(&json, "verdict");
	json_add_string(&json, policy_action_name(decision->verdict));
	json_add_plain_name(&json, "cause");
	json_add_string(&json, cause_names[decision->cause]);
	write_rules(&json, artefact, decision);
	json_member_if_set(&json, "builtin", decision->builtin);
	json_member_if_set(&json, "extension", decision->extension);
	write_reasons(&json, artefact, decision);
	write_constraints(&json, &decision->constraints);
	if (decision->facts)
		write_dependences(&json, decision->facts);
	if (decision_status(decision->verdict) != 0)
		write_fix(&json, artefact, buffer, decision);
	if (decision->note)
		json_member_string(&json, "note", decision->note);
	write_digest(&json, artefact);
	json_add_plain_name(&json, "input");
	request_add_json(out, buffer);
	json_end_object(&json);
	text_add_char(out, '\n');
}
