/* SPDX-License-Identifier: MIT */

/* Issues tokens: new ones, and narrower ones from a parent token */

#include "token/token-internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <sbx/error.h>

#include "policy/model.h"
#include "token/scope.h"

#include "base/error.h"

static int refuse(struct sbx_error *err, int code, const char *why, const char *fix)
{
	return error_fill(err, code, why, fix, "cannot issue the token");
}

int token_check_terms(const struct token_terms *terms, uint64_t now_usec, struct sbx_error *err)
{
	int row = terms->operation ? operation_find(terms->operation) : OPERATION_UNKNOWN;
	struct scope scope;

	if (row == OPERATION_UNKNOWN)
		return refuse(err, -EINVAL, "its operation is not in the list of sbx-policy(5)",
			      "name an operation such as fs.write");
	if (terms->process_id == 0 || !terms->sandbox_id)
		return refuse(err, -EINVAL, "it is bound to no process",
			      "name the process that is going to use it");
	if (terms->max_uses == 0)
		return refuse(err, -EINVAL, "it could never be used", "allow at least one use");
	if (terms->ttl_usec == 0 || terms->ttl_usec > UINT64_MAX - now_usec)
		return refuse(err, -EINVAL, "its lifetime is 0 or too long",
			      "give a time such as 30s");
	return scope_parse(operation_at(row)->argument, terms->glob, terms->project_root, &scope,
			   err);
}

static size_t size_of(const char *string)
{
	return string ? strlen(string) + 1 : 0;
}

/* Copies @string to *@at and moves *@at past it. */
static const char *keep(char **at, const char *string)
{
	char *copy = *at;

	if (!string)
		return NULL;
	*at = stpcpy(copy, string) + 1;
	return copy;
}

static struct token *token_new(const struct token_terms *terms)
{
	struct token *token =
		calloc(1, sizeof(*token) + size_of(terms->sandbox_id) + size_of(terms->operation) +
				  size_of(terms->glob) + size_of(terms->project_root));
	char *at;

	if (!token)
		return NULL;
	at = token->strings;
	token->info.terms = *terms;
	token->info.terms.sandbox_id = keep(&at, terms->sandbox_id);
	token->info.terms.operation = keep(&at, terms->operation);
	token->info.terms.glob = keep(&at, terms->glob);
	token->info.terms.project_root = keep(&at, terms->project_root);
	return token;
}

static void print_handle(const uint8_t handle[HANDLE_SIZE], char ret[TOKEN_TEXT_SIZE])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < HANDLE_SIZE; i++) {
		ret[2 * i] = digits[handle[i] >> 4];
		ret[2 * i + 1] = digits[handle[i] & 15];
	}
	ret[2 * HANDLE_SIZE] = '\0';
}

static int issue(struct token_table *table, const struct token_terms *terms, struct token *parent,
		 const uint8_t digest[32], uint64_t now_usec, struct token_info *ret,
		 struct sbx_error *err)
{
	_cleanup_free_ struct token *token = NULL;

	if (table->n_tokens >= TOKENS_MAX)
		token_sweep(table, now_usec);
	if (table->n_tokens >= TOKENS_MAX)
		return refuse(err, -ENOSPC, "65536 tokens exist already",
			      "wait until some have ended, or revoke some");
	token = token_new(terms);
	if (!token)
		return sbx_error_what(err, -ENOMEM, "cannot issue the token");
	if (getrandom(token->handle, HANDLE_SIZE, 0) != HANDLE_SIZE)
		return sbx_error_what(err, -EIO, "cannot get random bits for the token");
	memcpy(token->digest, digest, sizeof(token->digest));
	print_handle(token->handle, token->info.text);
	token->info.nonce = ++table->nonce;
	token->info.expires_usec = now_usec + terms->ttl_usec;
	token->parent = parent;
	token->n_parents = parent ? parent->n_parents + 1 : 0;
	token->info.parent_nonce = parent ? parent->info.nonce : 0;
	*ret = token->info;
	token_add(table, take_ptr(token));
	return 0;
}

int token_issue(struct token_table *table, const struct token_terms *terms,
		const uint8_t digest[32], uint64_t now_usec, struct token_info *ret,
		struct sbx_error *err)
{
	int r = token_check_terms(terms, now_usec, err);

	return r < 0 ? r : issue(table, terms, NULL, digest, now_usec, ret, err);
}

static const char *find_excess(const struct token *parent, const struct token_terms *terms,
			       uint64_t now_usec)
{
	const struct token_terms *limits = &parent->info.terms;
	enum operation_argument argument =
		operation_at(operation_find(limits->operation))->argument;
	struct scope inner, outer;

	if (strcmp(limits->sandbox_id, terms->sandbox_id) != 0)
		return "it is for another sandbox than its parent";
	if (limits->process_id != terms->process_id)
		return "it is for another process than its parent";
	if (strcmp(limits->operation, terms->operation) != 0)
		return "it is for another operation than its parent";
	if (terms->max_uses > limits->max_uses - parent->info.uses)
		return "it has more uses than its parent has left";
	if (now_usec + terms->ttl_usec > parent->info.expires_usec)
		return "it would live longer than its parent";
	if (scope_parse(argument, terms->glob, terms->project_root, &inner, NULL) < 0 ||
	    scope_parse(argument, limits->glob, limits->project_root, &outer, NULL) < 0 ||
	    !scope_is_within(&inner, &outer))
		return "its glob is not within its parent's";
	return parent->n_parents >= TOKEN_PARENTS_MAX ? "it has too many parents already" : NULL;
}

int token_narrow(struct token_table *table, const char *parent, const struct token_terms *terms,
		 uint64_t now_usec, struct token_info *ret, struct sbx_error *err)
{
	struct token *from = token_find(table, parent);
	const char *excess;
	int r = token_check_terms(terms, now_usec, err);

	if (r < 0)
		return r;
	if (!from)
		return refuse(err, -ENOENT, "its parent is not known", "issue a new one");
	if (token_judge_life(from, now_usec) != TOKEN_VALID)
		return refuse(err, -EKEYEXPIRED, "its parent has ended", "issue a new one");
	excess = find_excess(from, terms, now_usec);
	if (excess)
		return refuse(err, -EACCES, excess, "ask for no more than the parent allows");
	/* issue() may sweep ended tokens; @from is valid, so it is not one of them. */
	return issue(table, terms, from, from->digest, now_usec, ret, err);
}
