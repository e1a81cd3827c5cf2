/* SPDX-License-Identifier: MIT */

/*
 * A second evaluator, written from the manual and not from the code: no trie, no index, no
 * artefact, only recursion over the model. It is slow, but simple enough to serve as the
 * definition. If the two disagree, one of them has a bug.
 */

#include "policy-naive.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The white space of git's wildmatch. */
static int naive_is_space(int c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Reads a well-formed character class into @set. Returns the position after it. */
static const char *naive_class(const char *at, bool set[256])
{
	static const struct {
		const char *name;
		int (*is)(int);
	} kinds[] = { { "alpha", isalpha }, { "digit", isdigit },	 { "upper", isupper },
		      { "lower", islower }, { "alnum", isalnum },	 { "xdigit", isxdigit },
		      { "punct", ispunct }, { "space", naive_is_space }, { "blank", isblank },
		      { "cntrl", iscntrl }, { "graph", isgraph },	 { "print", isprint } };
	bool negated = *++at == '!' || *at == '^', inside[256] = { false };
	const char *first = at += negated;

	while (*at != ']' || at == first) {
		char name[16];
		int n = 0, low, high;

		if (sscanf(at, "[:%15[a-z]:]%n", name, &n) == 1 && n > 0) {
			for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
				for (int c = 1; c < 128 && strcmp(kinds[k].name, name) == 0; c++)
					inside[c] |= kinds[k].is(c) != 0;
			at += n;
			continue;
		}
		at += *at == '\\';
		low = high = (unsigned char)*at++;
		if (at[0] == '-' && at[1] != ']') {
			at += at[1] == '\\' ? 2 : 1;
			high = (unsigned char)*at++;
		}
		for (int c = low; c <= high; c++)
			inside[c] = true;
		/* In a reversed range the lower bound still matches. */
		inside[low] = true;
	}
	for (int c = 0; c < 256; c++)
		set[c] = inside[c] != negated;
	return at + 1;
}

/* Does all of @p match all of @s? @start: a component of the pattern begins here. */
static bool naive_wild(const char *p, const char *s, bool start)
{
	size_t stars = strspn(p, "*");

	if (stars >= 2 && start && p[stars] == '\0')
		return *s != '\0';
	if (stars >= 2 && start && p[stars] == '/') {
		for (;;) {
			if (naive_wild(p + stars + 1, s, true))
				return true;
			s = strchr(s, '/');
			if (!s)
				return false;
			s++;
		}
	}
	if (stars > 0) {
		for (;; s++) {
			if (naive_wild(p + stars, s, false))
				return true;
			if (*s == '/' || *s == '\0')
				return false;
		}
	}
	if (*p == '\0' || *s == '\0')
		return *p == *s;
	if (*p == '/' || *s == '/')
		return *p == *s && naive_wild(p + 1, s + 1, true);
	if (*p == '[') {
		bool set[256];
		const char *behind = naive_class(p, set);

		return set[(unsigned char)*s] && naive_wild(behind, s + 1, false);
	}
	if (*p == '?')
		return naive_wild(p + 1, s + 1, false);
	p += *p == '\\';
	return *p == *s && naive_wild(p + 1, s + 1, false);
}

/* Does @path or one of its parent directories match? */
static bool naive_wild_below(const char *pattern, const char *path)
{
	char above[4096];

	for (size_t i = 0;; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		memcpy(above, path, i);
		above[i] = '\0';
		if (naive_wild(pattern, above, true))
			return true;
		if (path[i] == '\0')
			return false;
	}
}

/* @path relative to @root, "" for the root itself, NULL if it is not below @root. */
static const char *naive_below(const char *path, const char *root)
{
	size_t n = strlen(root);

	if (strcmp(root, "/") == 0)
		return path + 1;
	if (strncmp(path, root, n) != 0 || (path[n] != '/' && path[n] != '\0'))
		return NULL;
	return path[n] ? path + n + 1 : path + n;
}

/* A literal path matches itself and all paths below it. */
static bool naive_literal(const char *text, const char *path, const char *root, bool exec)
{
	char directory[4096];
	size_t n = strlen(text);
	const char *below;

	if (n > 1 && text[n - 1] == '/' && strcmp(text, "./") != 0)
		n--;
	if (exec && !memchr(text, '/', n) && strcmp(text, ".") != 0) {
		for (const char *at = path; at; at = strchr(at + 1, '/'))
			if (strncmp(at + 1, text, n) == 0 && (at[n + 1] == '/' || !at[n + 1]))
				return true;
		return false;
	}
	if (text[0] != '/' && !root)
		return false;
	if (strncmp(text, "./", 2) == 0 || strcmp(text, ".") == 0)
		text += text[1] ? 2 : 1;
	snprintf(directory, sizeof(directory), "%s%s%s", text[0] == '/' || !root[1] ? "" : root,
		 text[0] == '/' || !*text ? "" : "/", text);
	n = strlen(directory);
	if (n > 1 && directory[n - 1] == '/')
		directory[n - 1] = '\0';
	below = naive_below(path, *directory ? directory : "/");
	return below != NULL;
}

bool naive_only_floats(const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "/");

		if (n < 2 || strspn(text, "*") < n)
			return false;
		text += n + (text[n] == '/');
	}
	return true;
}

bool naive_glob(const char *text, bool literal, const char *path, const char *root, bool exec)
{
	char pattern[4096];
	size_t n = strlen(text);
	bool directory, bare;
	const char *at;

	if (literal)
		return naive_literal(text, path, root, exec);
	snprintf(pattern, sizeof(pattern), "%s", text);
	directory = pattern[n - 1] == '/' || strcmp(pattern, ".") == 0;
	if (pattern[n - 1] == '/')
		pattern[n - 1] = '\0';
	bare = !strchr(pattern, '/') && text[0] != '/' && strcmp(pattern, ".") != 0 &&
	       !(strlen(pattern) > 1 && strspn(pattern, "*") == strlen(pattern));
	at = text[0] == '/' || (bare && exec) ? path + 1 : root ? naive_below(path, root) : NULL;
	if (!at)
		return false;
	if (strcmp(text, "/") == 0 || strcmp(pattern, ".") == 0)
		return true;
	if (text[0] == '/' && naive_only_floats(text + 1))
		return true;
	/* The path has no component left for the pattern. */
	if (!*at)
		return false;
	memmove(pattern + 3, pattern, n + 1);
	memcpy(pattern, "**/", 3);
	text = bare ? pattern
		    : pattern + 3 + (pattern[3] == '/') +
			       (strncmp(pattern + 3, "./", 2) == 0 ? 2 : 0);
	/* A "**" at the end does not match the directory itself, so nothing is added. */
	if (directory && !(strlen(text) >= 2 && strcmp(text + strlen(text) - 2, "**") == 0 &&
			   (strlen(text) == 2 || text[strlen(text) - 3] == '/')))
		return naive_wild_below(text, at);
	return naive_wild(text, at, true);
}

static bool naive_paths(const struct match_list *list, const struct policy_request *request)
{
	bool exec = strcmp(request->operation, "exec") == 0, included = false;

	for (size_t i = 0; request->path && i < list->n_values; i++) {
		const struct match_value *value = &list->values[i];
		bool excludes = !value->literal && value->text[0] == '!';

		if (!naive_glob(value->text + excludes, value->literal, request->path,
				request->project_root, exec))
			continue;
		if (excludes)
			return false;
		included = true;
	}
	return included;
}

/* The address as 128 bits; IPv4 is mapped into IPv6. */
static bool naive_address(const char *text, unsigned char bytes[16])
{
	memset(bytes, 0, 10);
	memset(bytes + 10, 0xff, 2);
	return inet_pton(AF_INET, text, bytes + 12) == 1 || inet_pton(AF_INET6, text, bytes) == 1;
}

static bool naive_cidr(const char *text, const char *host)
{
	unsigned char net[16], address[16];
	char copy[64];
	int length = 128;

	snprintf(copy, sizeof(copy), "%s", text);

	char *slash = strchr(copy, '/');

	if (slash) {
		*slash = '\0';
		length = atoi(slash + 1) + (strchr(copy, ':') ? 0 : 96);
	}
	/* "::/0" matches only addresses that are written as IPv6. */
	if (!naive_address(copy, net) || !naive_address(host, address) ||
	    (strchr(copy, ':') && !strchr(host, ':')))
		return false;
	for (int bit = 0; bit < length; bit++)
		if ((net[bit / 8] ^ address[bit / 8]) >> (7 - bit % 8) & 1)
			return false;
	return true;
}

static bool naive_host(const char *text, const char *host)
{
	char name[300];
	size_t n = strlen(text), len;

	snprintf(name, sizeof(name), "%s", host);
	len = strlen(name);
	if (len > 1 && name[len - 1] == '.')
		name[--len] = '\0';
	if (strncmp(text, "*.", 2) == 0)
		return len > n - 1 && strcasecmp(name + len - (n - 1), text + 1) == 0 &&
		       !inet_pton(AF_INET, name, (unsigned char[16]){ 0 });
	return strcasecmp(text, name) == 0;
}

static bool naive_port(const char *text, const struct policy_request *request)
{
	unsigned from, to;
	int n = sscanf(text, "%u-%u", &from, &to);

	return request->has_port && request->port >= from && request->port <= (n == 2 ? to : from);
}

static bool naive_value(enum match_key key, const char *text, const struct policy_request *request)
{
	bool network = strncmp(request->operation, "net.", 4) == 0;

	switch (key) {
	case MATCH_HOST:
		return request->host && naive_host(text, request->host);
	case MATCH_CIDR:
		return request->host &&
		       naive_cidr(text, request->address ? request->address : request->host);
	case MATCH_PORT:
		return naive_port(text, request);
	case MATCH_PROTO:
		return strcmp(text, request->proto ? request->proto : network ? "tcp" : "") == 0;
	case MATCH_CALLER:
		return request->caller && strcmp(text, request->caller) == 0;
	case MATCH_TAG:
		for (const char *const *tag = request->caller_tags; tag && *tag; tag++)
			if (strcmp(text, *tag) == 0)
				return true;
		return false;
	case MATCH_STATE:
		return request->state && strcmp(text, request->state) == 0;
	case MATCH_MODE:
		return request->mode && strcmp(text, request->mode) == 0;
	case MATCH_PATH:
	case N_MATCH_KEYS:
		break;
	}
	return false;
}

static bool naive_condition(const struct condition *condition, const struct policy_request *request)
{
	for (int key = 0; key < N_MATCH_KEYS; key++) {
		const struct match_list *list = &condition->lists[key];
		bool any = key == MATCH_PATH && naive_paths(list, request);

		for (size_t i = 0; i < list->n_values && key != MATCH_PATH; i++)
			any |= naive_value((enum match_key)key, list->values[i].text, request);
		if (list->present && !any)
			return false;
	}
	return true;
}

bool naive_rule(const struct rule *rule, const struct policy_request *request)
{
	uint64_t bit = operation_set(request->operation);

	if (!(rule->match.operations & bit) || !naive_condition(&rule->match, request))
		return false;
	for (size_t i = 0; i < rule->n_exceptions; i++) {
		const struct condition *exception = &rule->exceptions[i];

		if ((exception->operations == 0 || (exception->operations & bit)) &&
		    naive_condition(exception, request))
			return false;
	}
	return true;
}

static bool naive_constraints(const struct constraints *constraints,
			      const struct policy_request *request)
{
	const char *sandbox = constraints->require_sandbox;

	if (sandbox && !(request->sandbox && atoi(request->sandbox + 1) >= atoi(sandbox + 1)))
		return false;
	if (constraints->require_token && !request->has_token)
		return false;
	if (request->has_size)
		return request->size_bytes <= constraints->max_file_size_bytes;
	return constraints->max_file_size_bytes == UINT64_MAX ||
	       strcmp(request->operation, "fs.write") != 0;
}

bool naive_special(const char *address)
{
	static const char *const ranges[] = {
		"0.0.0.0/8",	   "10.0.0.0/8",     "100.64.0.0/10",  "127.0.0.0/8",
		"168.63.129.16",   "169.254.0.0/16", "172.16.0.0/12",  "192.0.0.0/24",
		"192.0.2.0/24",	   "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
		"198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",    "::/3",
		"2001::/23",	   "2001:db8::/32",  "2002::/16",      "3fff::/20",
		"4000::/2",	   "8000::/1",
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (naive_cidr(ranges[i], address))
			return true;
	return false;
}

/* To which address a connection goes if it is to 0.0.0.0 or ::. */
static size_t naive_local(const char *address, char ret[INET6_ADDRSTRLEN])
{
	bool is_ipv4 = naive_cidr("0.0.0.0", address), is_ipv6 = naive_cidr("::", address);

	if (is_ipv4 || is_ipv6)
		snprintf(ret, INET6_ADDRSTRLEN, "%s", is_ipv4 ? "127.0.0.1" : "::1");
	return is_ipv4 || is_ipv6;
}

size_t naive_embedded(const char *address, char ret[NAIVE_INNER_MAX][INET6_ADDRSTRLEN])
{
	/* The range, where the IPv4 address is, and what inverts it. */
	static const struct {
		const char *range;
		int at;
		unsigned char mask;
	} forms[] = { { "::/96", 12, 0 },	    { "::ffff:0:0/96", 12, 0 },
		      { "::ffff:0:0:0/96", 12, 0 }, { "64:ff9b::/96", 12, 0 },
		      { "64:ff9b:1::/48", 12, 0 },  { "2002::/16", 2, 0 },
		      { "2001::/32", 4, 0 },	    { "2001::/32", 12, 0xff } };
	unsigned char bytes[16], inner[4];
	size_t n = 0;

	if (inet_pton(AF_INET6, address, bytes) != 1 || naive_cidr("::/127", address))
		return naive_local(address, ret[0]);
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (!naive_cidr(forms[i].range, address))
			continue;
		for (int k = 0; k < 4; k++)
			inner[k] = bytes[forms[i].at + k] ^ forms[i].mask;
		inet_ntop(AF_INET, inner, ret[n++], INET6_ADDRSTRLEN);
		n += naive_local(ret[n - 1], ret[n]);
	}
	return n;
}

static bool naive_permits(enum policy_action action)
{
	return action == POLICY_ALLOW || action == POLICY_WARN;
}

/* Does the rule apply, with its constraints unless it is @ret_broken? */
static bool naive_applies(const struct rule *rule, const struct policy_request *request,
			  bool needs_cidr, bool *ret_broken)
{
	bool permits = naive_permits(rule->action);

	*ret_broken = false;
	if (!naive_rule(rule, request) ||
	    (needs_cidr && permits && !rule->match.lists[MATCH_CIDR].present))
		return false;
	*ret_broken = permits && !naive_constraints(&rule->constraints, request);
	return !*ret_broken;
}

/* The answer of the files that may widen. */
static enum policy_action naive_least(const struct policy *policy,
				      const struct policy_request *request, bool needs_cidr,
				      enum policy_action fallback)
{
	enum policy_action least = POLICY_PASS;
	bool broken, any_broken = false;

	for (size_t i = 0; i < policy->n_rules; i++) {
		const struct rule *rule = &policy->rules[i];

		if (policy->sources[rule->place.source].narrows)
			continue;
		if (naive_applies(rule, request, needs_cidr, &broken) && rule->action > least)
			least = rule->action;
		any_broken |= broken;
	}
	if (least != POLICY_PASS)
		return least;
	return any_broken ? POLICY_DENY : fallback;
}

/* The verdict about one address. Clears *is_any unless every permission that counts has tls: any
 * and one of them is of a file that may widen. */
static enum policy_action naive_judge(const struct policy *policy,
				      const struct policy_request *request, bool needs_cidr,
				      bool *is_any)
{
	const struct operation *operation = operation_at(operation_find(request->operation));
	enum policy_action fallback = needs_cidr ? POLICY_DENY : policy->defaults[operation->kind];
	enum policy_action verdict = POLICY_PASS, least;
	bool permitted = false, lifted = false, any_broken = false, broken;

	if (fallback == POLICY_PASS)
		fallback = POLICY_DENY;
	least = naive_least(policy, request, needs_cidr, fallback);
	for (size_t i = 0; i < policy->n_rules; i++) {
		const struct rule *rule = &policy->rules[i];
		bool narrows = policy->sources[rule->place.source].narrows;
		bool permits = naive_permits(rule->action);
		bool applies = naive_applies(rule, request, needs_cidr, &broken);

		any_broken |= broken;
		if (!applies || (narrows && permits && !naive_permits(least)) ||
		    (narrows && !permits && rule->action < least))
			continue;
		permitted |= permits;
		lifted |= permits && !narrows;
		*is_any &= !permits || rule->constraints.tls == TLS_ANY;
		verdict = rule->action > verdict ? rule->action : verdict;
	}
	*is_any &= lifted && verdict <= POLICY_WARN;
	if (needs_cidr && !permitted)
		return POLICY_DENY;
	if (verdict != POLICY_PASS)
		return verdict > least ? verdict : least;
	return any_broken ? POLICY_DENY : fallback;
}

enum policy_action naive_decide(const struct policy *policy, const struct policy_request *request,
				bool *ret_is_any)
{
	const char *address = request->address ? request->address : request->host;
	bool is_proxied = policy->special_needs_cidr, is_closed;
	struct policy_request inner = *request;
	char embedded[NAIVE_INNER_MAX][INET6_ADDRSTRLEN];
	enum policy_action most;
	size_t n;

	*ret_is_any = true;
	if (strcmp(request->operation, "net.connect") != 0)
		return naive_judge(policy, request, false, ret_is_any);
	is_closed = is_proxied && naive_special(address);
	most = naive_judge(policy, request, is_closed, ret_is_any);
	n = is_proxied ? naive_embedded(address, embedded) : naive_local(address, embedded[0]);
	for (size_t i = 0; i < n; i++) {
		inner.address = embedded[i];
		is_closed = is_proxied && naive_special(embedded[i]);

		enum policy_action action = naive_judge(policy, &inner, is_closed, ret_is_any);

		most = action > most ? action : most;
	}
	return most;
}
