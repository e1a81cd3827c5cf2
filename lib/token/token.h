/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Capability tokens: handles into the server's table
 *
 * A token is a random 128-bit handle. The table stores what it permits: sandbox and process,
 * operation, glob, number of uses, lifetime, and the digest of the policy under which it was
 * issued. A lookup is one hash access. A handle contains nothing that could be computed or decoded
 * offline.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"

struct artefact;
struct policy_request;
struct sbx_error;
struct token_table;

#define TOKEN_TEXT_SIZE 33 /* 32 hexadecimal digits and a NUL */
#define TOKEN_USES_DEFAULT 1
#define TOKEN_TTL_DEFAULT_USEC 30000000
#define TOKENS_MAX 65536
/* The longest chain of narrower tokens: each use walks up to the first token. */
#define TOKEN_PARENTS_MAX 16

/* 0 never means unlimited: 0 uses and a lifetime of 0 are refused. */
struct token_terms {
	const char *sandbox_id; /* "": the process is in no sandbox */
	pid_t pid;		/* only for display; process_id is compared */
	uint64_t process_id; /* unique for the process until reboot: the inode of its pidfd, or its
				start time; never 0 */
	const char *operation;
	const char *glob;	  /* as in a policy, or HOST[:PORT]; NULL: any argument */
	const char *project_root; /* where a relative glob begins */
	uint64_t max_uses;
	uint64_t ttl_usec;
};

enum token_refusal {
	TOKEN_VALID,
	TOKEN_UNKNOWN, /* never issued, revoked, or removed after its end */
	TOKEN_EXPIRED,
	TOKEN_EXHAUSTED,
	TOKEN_WRONG_SANDBOX,
	TOKEN_WRONG_PROCESS,
	TOKEN_WRONG_OPERATION,
	TOKEN_WRONG_ARGUMENT,
	TOKEN_WRONG_POLICY,
};

struct token_info {
	char text[TOKEN_TEXT_SIZE];
	uint64_t nonce; /* incremented with each token that is issued */
	struct token_terms terms;
	uint64_t uses;
	uint64_t expires_usec; /* CLOCK_BOOTTIME */
	uint64_t parent_nonce; /* 0: none */
};

enum token_end {
	TOKEN_END_EXPIRED,
	TOKEN_END_EXHAUSTED,
	TOKEN_END_REVOKED,
	TOKEN_END_POLICY, /* a reload ended it */
};

int token_table_new(struct token_table **ret);
/*
 * @ended is called once for each token that has ended: when the token is removed, or before by
 * token_tell_ended(). Only token_revoke() looks at what it returns.
 */
typedef int token_ended_fn(const struct token_info *info, enum token_end how, void *userdata);
void token_table_watch(struct token_table *table, token_ended_fn *ended, void *userdata);
/* Calls @ended for tokens that have expired or are exhausted. Returns when the next token expires,
 * or UINT64_MAX. */
uint64_t token_tell_ended(struct token_table *table, uint64_t now_usec);
const char *token_end_name(enum token_end how);
struct token_table *token_table_free(struct token_table *table);
CLEANUP_BY(struct token_table, token_table_free)
#define _cleanup_token_table_ _cleanup_(token_table_free_ptr)

/* -EINVAL if no token can have these terms. */
int token_check_terms(const struct token_terms *terms, uint64_t now_usec, struct sbx_error *err);
/* @digest: of the policy; @now_usec: CLOCK_BOOTTIME, read once. -ENOSPC: there are TOKENS_MAX live
 * tokens. */
int token_issue(struct token_table *table, const struct token_terms *terms,
		const uint8_t digest[32], uint64_t now_usec, struct token_info *ret,
		struct sbx_error *err);
/*
 * Issues a narrower token: same sandbox, process and operation as @parent, a glob within its glob,
 * at most its remaining uses and time; else -EACCES. -ENOENT: no such parent; -EKEYEXPIRED: the
 * parent has expired or is exhausted.
 */
int token_narrow(struct token_table *table, const char *parent, const struct token_terms *terms,
		 uint64_t now_usec, struct token_info *ret, struct sbx_error *err);

/* Judges the token without counting a use; pass the same @now_usec to token_use(). */
enum token_refusal token_check(struct token_table *table, const char *text, const char *sandbox_id,
			       uint64_t process_id, const struct policy_request *request,
			       const uint8_t digest[32], uint64_t now_usec);
/* Judges the token and, if it is valid, counts one use of it and of each of its parents. */
enum token_refusal token_use(struct token_table *table, const char *text, const char *sandbox_id,
			     uint64_t process_id, const struct policy_request *request,
			     const uint8_t digest[32], uint64_t now_usec);
const char *token_refusal_name(enum token_refusal refusal);
/* Copies the terms and state of a token, which may have ended. -ENOENT. */
int token_get(const struct token_table *table, const char *text, struct token_info *ret);
/* The number of tokens in the table, ended ones included. */
size_t token_count(const struct token_table *table);

/* Removes the token and its narrower children. -ENOENT, or what the watcher returned for one of
 * them; they are removed in any case. The texts of a token_info are valid until the table changes.
 */
int token_revoke(struct token_table *table, const char *text);
/* Calls @each for the valid tokens, in the order in which they were issued. */
void token_list(const struct token_table *table, uint64_t now_usec,
		void (*each)(const struct token_info *info, void *userdata), void *userdata);
/*
 * After a reload: @still_allowed says for each valid token whether the new policy permits its
 * scope. If so, the token is bound to @digest, else it is removed. Returns how many were removed.
 */
size_t token_rejudge(struct token_table *table, const uint8_t digest[32], uint64_t now_usec,
		     bool (*still_allowed)(const struct token_info *info, void *userdata),
		     void *userdata);

/*
 * denial.c: could a deny rule apply to a request that a token of these terms allows? 1:
 * *@ret_rule (a row of SECTION_RULES) applies, or may apply. 0: no rule does. -ENOMEM; -EINVAL: the
 * terms are not valid.
 */
int denial_find(const struct artefact *artefact, const struct token_terms *terms,
		uint32_t *ret_rule);
