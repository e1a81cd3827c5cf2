/* SPDX-License-Identifier: MIT */

/*
 * The table of tokens
 *
 * A hash table over the random handle finds a token; a list in the order of issue is for listing
 * and sweeping. Ended tokens stay until the table is full, so that a late caller gets "expired" or
 * "exhausted" instead of "unknown". A narrower token points to its parent, which must not be freed
 * first: a token that ends also ends its children, and forget_dead() frees children before parents.
 */

#include "token/token.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <sbx/error.h>

#include "base/error.h"
#include "base/text.h"
#include "policy/decide.h"
#include "policy/model.h"
#include "token/scope.h"

#define HANDLE_SIZE 16
#define N_SLOTS 131072 /* a power of two: twice TOKENS_MAX */

struct token {
	struct token *next_in_slot;
	struct token *older, *newer;
	struct token *parent;
	unsigned n_parents;
	bool is_dead; /* marked for removal by forget_dead() */
	bool is_told; /* the watcher was called for its end */
	uint8_t digest[32];
	uint8_t handle[HANDLE_SIZE];
	struct token_info info; /* its texts point into strings */
	char strings[];
};

struct token_table {
	struct token *slots[N_SLOTS];
	struct token *oldest, *newest;
	size_t n_tokens;
	uint64_t nonce;
	token_ended_fn *ended; /* may be NULL */
	void *userdata;
};

static const char *const refusal_names[] = {
	[TOKEN_VALID] = "valid",
	[TOKEN_UNKNOWN] = "unknown",
	[TOKEN_EXPIRED] = "expired",
	[TOKEN_EXHAUSTED] = "exhausted",
	[TOKEN_WRONG_SANDBOX] = "wrong_sandbox",
	[TOKEN_WRONG_PROCESS] = "wrong_process",
	[TOKEN_WRONG_OPERATION] = "wrong_operation",
	[TOKEN_WRONG_ARGUMENT] = "wrong_argument",
	[TOKEN_WRONG_POLICY] = "wrong_policy",
};

const char *token_refusal_name(enum token_refusal refusal)
{
	return refusal_names[refusal];
}

int token_table_new(struct token_table **ret)
{
	struct token_table *table = calloc(1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	*ret = table;
	return 0;
}

struct token_table *token_table_free(struct token_table *table)
{
	if (!table)
		return NULL;
	for (struct token *token = table->oldest, *newer; token; token = newer) {
		newer = token->newer;
		free(token);
	}
	free(table);
	return NULL;
}

/* ---- the handle ---- */

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Only lower-case digits, so that a token has exactly one text. */
static bool parse_handle(const char *text, uint8_t ret[HANDLE_SIZE])
{
	if (!text || strlen(text) != 2 * HANDLE_SIZE)
		return false;
	for (size_t i = 0; i < HANDLE_SIZE; i++) {
		int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		ret[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

/* The handle is random, so its first bytes can be the hash. */
static size_t slot_of(const uint8_t handle[HANDLE_SIZE])
{
	size_t bits;

	memcpy(&bits, handle, sizeof(bits));
	return bits % N_SLOTS;
}

/* Constant time: the duration must not reveal how many bytes of a guessed handle are right. */
static bool is_same_handle(const uint8_t a[HANDLE_SIZE], const uint8_t b[HANDLE_SIZE])
{
	uint8_t difference = 0;

	for (size_t i = 0; i < HANDLE_SIZE; i++)
		difference |= a[i] ^ b[i];
	return difference == 0;
}

static struct token *token_find(const struct token_table *table, const char *text)
{
	uint8_t handle[HANDLE_SIZE];

	if (!parse_handle(text, handle))
		return NULL;
	for (struct token *t = table->slots[slot_of(handle)]; t; t = t->next_in_slot)
		if (is_same_handle(t->handle, handle))
			return t;
	return NULL;
}

static void token_add(struct token_table *table, struct token *token)
{
	struct token **slot = &table->slots[slot_of(token->handle)];

	token->next_in_slot = *slot;
	*slot = token;
	token->older = table->newest;
	*(table->newest ? &table->newest->newer : &table->oldest) = token;
	table->newest = token;
	table->n_tokens++;
}

int token_get(const struct token_table *table, const char *text, struct token_info *ret)
{
	const struct token *token = token_find(table, text);

	if (!token)
		return -ENOENT;
	*ret = token->info;
	return 0;
}

size_t token_count(const struct token_table *table)
{
	return table->n_tokens;
}

/* ---- the end of tokens ---- */

static enum token_refusal token_judge_life(const struct token *token, uint64_t now_usec)
{
	for (const struct token *t = token; t; t = t->parent) {
		if (now_usec >= t->info.expires_usec)
			return TOKEN_EXPIRED;
		if (t->info.uses >= t->info.terms.max_uses)
			return TOKEN_EXHAUSTED;
	}
	return TOKEN_VALID;
}

static void forget(struct token_table *table, struct token *token)
{
	struct token **at = &table->slots[slot_of(token->handle)];

	while (*at != token)
		at = &(*at)->next_in_slot;
	*at = token->next_in_slot;
	*(token->older ? &token->older->newer : &table->oldest) = token->newer;
	*(token->newer ? &token->newer->older : &table->newest) = token->older;
	table->n_tokens--;
	free(token);
}

static int tell(const struct token_table *table, struct token *token, enum token_end how)
{
	if (token->is_told || !table->ended)
		return 0;
	token->is_told = true;
	return table->ended(&token->info, how, table->userdata);
}

/* Removes tokens marked is_dead, and their children. Parents are older than their children: the
 * first pass, from the oldest, marks the children; the second, from the newest, frees children
 * before parents. *@r is set if the watcher failed. */
static size_t forget_dead(struct token_table *table, enum token_end how, int *r)
{
	size_t n_forgotten = 0;

	for (struct token *t = table->oldest; t; t = t->newer)
		if (t->parent && t->parent->is_dead)
			t->is_dead = true;
	for (struct token *t = table->newest, *older; t; t = older) {
		older = t->older;
		if (!t->is_dead)
			continue;
		int told = tell(table, t, how);

		if (told < 0)
			*r = told;
		forget(table, t);
		n_forgotten++;
	}
	return n_forgotten;
}

void token_table_watch(struct token_table *table, token_ended_fn *ended, void *userdata)
{
	table->ended = ended;
	table->userdata = userdata;
}

const char *token_end_name(enum token_end how)
{
	static const char *const names[] = {
		[TOKEN_END_EXPIRED] = "expired",
		[TOKEN_END_EXHAUSTED] = "exhausted",
		[TOKEN_END_REVOKED] = "revoked",
		[TOKEN_END_POLICY] = "policy",
	};

	return names[how];
}

uint64_t token_tell_ended(struct token_table *table, uint64_t now_usec)
{
	uint64_t next = UINT64_MAX;

	for (struct token *t = table->oldest; t; t = t->newer) {
		enum token_refusal life =
			t->is_told ? TOKEN_UNKNOWN : token_judge_life(t, now_usec);

		if (life == TOKEN_VALID && t->info.expires_usec < next)
			next = t->info.expires_usec;
		if (life == TOKEN_EXPIRED || life == TOKEN_EXHAUSTED)
			(void)tell(table, t,
				   life == TOKEN_EXPIRED ? TOKEN_END_EXPIRED : TOKEN_END_EXHAUSTED);
	}
	return next;
}

static void token_sweep(struct token_table *table, uint64_t now_usec)
{
	int r = 0;

	(void)token_tell_ended(table, now_usec);
	for (struct token *t = table->oldest; t; t = t->newer)
		t->is_dead = token_judge_life(t, now_usec) != TOKEN_VALID;
	(void)forget_dead(table, TOKEN_END_EXPIRED, &r);
}

int token_revoke(struct token_table *table, const char *text)
{
	struct token *token = token_find(table, text);
	int r = 0;

	if (!token)
		return -ENOENT;
	token->is_dead = true;
	(void)forget_dead(table, TOKEN_END_REVOKED, &r);
	return r;
}

void token_list(const struct token_table *table, uint64_t now_usec,
		void (*each)(const struct token_info *info, void *userdata), void *userdata)
{
	for (const struct token *t = table->oldest; t; t = t->newer)
		if (token_judge_life(t, now_usec) == TOKEN_VALID)
			each(&t->info, userdata);
}

size_t token_rejudge(struct token_table *table, const uint8_t digest[32], uint64_t now_usec,
		     bool (*still_allowed)(const struct token_info *info, void *userdata),
		     void *userdata)
{
	int r = 0;

	token_sweep(table, now_usec);
	for (struct token *t = table->oldest; t; t = t->newer) {
		t->is_dead = !still_allowed(&t->info, userdata);
		memcpy(t->digest, digest, sizeof(t->digest));
	}
	return forget_dead(table, TOKEN_END_POLICY, &r);
}

/* ---- use ---- */

/* Policy rules have project-relative paths, so a token issued for one project is not valid for
 * another. */
static bool is_of_project(const struct token_terms *terms, const struct policy_request *request)
{
	return !terms->project_root || !request->project_root ||
	       strcmp(terms->project_root, request->project_root) == 0;
}

static bool covers(const struct token *token, const struct policy_request *request)
{
	const struct token_terms *terms = &token->info.terms;
	enum operation_argument argument = operation_at(operation_find(terms->operation))->argument;
	struct scope scope;

	return is_of_project(terms, request) &&
	       scope_parse(argument, terms->glob, terms->project_root, &scope, NULL) == 0 &&
	       scope_covers(&scope, request);
}

/* Check the owner first: another sandbox or process must not learn the state of a token. */
static enum token_refusal judge(const struct token *token, const char *sandbox_id,
				uint64_t process_id, const struct policy_request *request,
				const uint8_t digest[32], uint64_t now_usec)
{
	enum token_refusal life;

	if (!token)
		return TOKEN_UNKNOWN;
	if (strcmp(token->info.terms.sandbox_id, sandbox_id) != 0)
		return TOKEN_WRONG_SANDBOX;
	if (token->info.terms.process_id != process_id)
		return TOKEN_WRONG_PROCESS;
	life = token_judge_life(token, now_usec);
	if (life != TOKEN_VALID)
		return life;
	if (memcmp(token->digest, digest, sizeof(token->digest)) != 0)
		return TOKEN_WRONG_POLICY;
	if (!request->operation || strcmp(token->info.terms.operation, request->operation) != 0)
		return TOKEN_WRONG_OPERATION;
	return covers(token, request) ? TOKEN_VALID : TOKEN_WRONG_ARGUMENT;
}

enum token_refusal token_check(struct token_table *table, const char *text, const char *sandbox_id,
			       uint64_t process_id, const struct policy_request *request,
			       const uint8_t digest[32], uint64_t now_usec)
{
	return judge(token_find(table, text), sandbox_id, process_id, request, digest, now_usec);
}

enum token_refusal token_use(struct token_table *table, const char *text, const char *sandbox_id,
			     uint64_t process_id, const struct policy_request *request,
			     const uint8_t digest[32], uint64_t now_usec)
{
	struct token *token = token_find(table, text);
	enum token_refusal refusal =
		judge(token, sandbox_id, process_id, request, digest, now_usec);

	for (struct token *t = token; refusal == TOKEN_VALID && t; t = t->parent)
		t->info.uses++;
	return refusal;
}

/* ---- issuing: new tokens, and narrower ones from a parent token ---- */

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
	hex_print(token->handle, HANDLE_SIZE, token->info.text);
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
