/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Capability tokens: handles into the server's table
 *
 * A token is 128 random bits that mean something only here: bound to a sandbox and a process, an
 * operation, a glob, a number of uses, a lifetime and the policy it was issued under. Looking one
 * up is one hash access. Nothing about a token can be computed or stolen offline, because there is
 * nothing in it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"

struct policy_request;
struct sbx_error;
struct token_table;

#define TOKEN_TEXT_SIZE 33 /* 32 hexadecimal digits and a NUL */
#define TOKEN_USES_DEFAULT 1
#define TOKEN_TTL_DEFAULT_USEC 30000000
#define TOKENS_MAX 65536
/* How many times in a row a token can be made narrower: every use walks up to the first. */
#define TOKEN_PARENTS_MAX 16

/* Nothing here has a "zero means any": 0 uses and a lifetime of 0 are refused. */
struct token_terms {
	const char *sandbox_id; /* "": a process in no sandbox */
	pid_t pid;		/* for people; process_id counts */
	uint64_t process_id;	/* names the process for ever: the inode of its pidfd, or its start
				   time; never 0 */
	const char *operation;
	const char *glob;	  /* as in a policy, or HOST[:PORT]; NULL: any argument */
	const char *project_root; /* for a glob below the project */
	uint64_t max_uses;
	uint64_t ttl_usec;
};

enum token_refusal {
	TOKEN_VALID,
	TOKEN_UNKNOWN, /* never issued, revoked, or forgotten after its end */
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
	uint64_t nonce; /* grows by one with every token that is issued */
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
 * @ended is told of every token once, when it has ended: at once where it is taken out, else by
 * token_tell_ended(). What it returns is of interest to token_revoke() alone.
 */
typedef int token_ended_fn(const struct token_info *info, enum token_end how, void *userdata);
void token_table_watch(struct token_table *table, token_ended_fn *ended, void *userdata);
/* Returns when the next one expires, or UINT64_MAX. */
uint64_t token_tell_ended(struct token_table *table, uint64_t now_usec);
const char *token_end_name(enum token_end how);
struct token_table *token_table_free(struct token_table *table);
void token_table_free_ptr(struct token_table **table);
#define _cleanup_token_table_ _cleanup_(token_table_free_ptr)

/* -EINVAL for what could be no token's. */
int token_check_terms(const struct token_terms *terms, uint64_t now_usec, struct sbx_error *err);
/* @digest is the policy's; @now_usec one snapshot of CLOCK_BOOTTIME. -ENOSPC when TOKENS_MAX live
 * ones are out. */
int token_issue(struct token_table *table, const struct token_terms *terms,
		const uint8_t digest[32], uint64_t now_usec, struct token_info *ret,
		struct sbx_error *err);
/*
 * A token for less: every term must be covered by the parent's (sandbox, process and operation
 * equal, glob within, uses and time at most), -EACCES otherwise. -ENOENT for a parent that is not
 * there, -EKEYEXPIRED for one that is used up.
 */
int token_narrow(struct token_table *table, const char *parent, const struct token_terms *terms,
		 uint64_t now_usec, struct token_info *ret, struct sbx_error *err);

/* Judges without using it up; the same snapshot then serves token_use(). */
enum token_refusal token_check(struct token_table *table, const char *text, const char *sandbox_id,
			       uint64_t process_id, const struct policy_request *request,
			       const uint8_t digest[32], uint64_t now_usec);
/* Judges and, if valid, counts one use (of the parents', too). */
enum token_refusal token_use(struct token_table *table, const char *text, const char *sandbox_id,
			     uint64_t process_id, const struct policy_request *request,
			     const uint8_t digest[32], uint64_t now_usec);
const char *token_refusal_name(enum token_refusal refusal);
/* What is known about a token, whether it still counts or not. -ENOENT. */
int token_get(const struct token_table *table, const char *text, struct token_info *ret);
/* How many are remembered; some of them may have ended. */
size_t token_count(const struct token_table *table);

/* Also its narrower children. -ENOENT, or what the watcher has returned for one of them: they have
 * ended all the same. The texts of an info live until the table changes. */
int token_revoke(struct token_table *table, const char *text);
/* Those that still count, in the order in which they were issued. */
void token_list(const struct token_table *table, uint64_t now_usec,
		void (*each)(const struct token_info *info, void *userdata), void *userdata);
/*
 * After a reload: @still_allowed says for each live token whether the new policy would allow what
 * it stands for; those are bound to @digest, the others die. Returns how many died.
 */
size_t token_rejudge(struct token_table *table, const uint8_t digest[32], uint64_t now_usec,
		     bool (*still_allowed)(const struct token_info *info, void *userdata),
		     void *userdata);
