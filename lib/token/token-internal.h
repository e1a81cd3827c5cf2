/* SPDX-License-Identifier: MIT */
#pragma once

/* The table of tokens, shared by the files of lib/token */

#include <stdbool.h>

#include "token/token.h"

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

struct token *token_find(const struct token_table *table, const char *text);
/* Adds @token, which the table then owns. Its handle must be random, because it is the hash. */
void token_add(struct token_table *table, struct token *token);
/* Removes ended tokens. */
void token_sweep(struct token_table *table, uint64_t now_usec);
/* TOKEN_VALID, TOKEN_EXPIRED or TOKEN_EXHAUSTED; a token has ended if one of its parents has. */
enum token_refusal token_judge_life(const struct token *token, uint64_t now_usec);
