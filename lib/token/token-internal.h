/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The table of tokens, as the files of this folder see it
 */

#include <stdbool.h>

#include "token/token.h"

#define HANDLE_SIZE 16
#define N_SLOTS 131072 /* a power of two, twice as many as tokens */

struct token {
	struct token *next_in_slot;
	struct token *older, *newer;
	struct token *parent;
	unsigned n_parents;
	bool is_dead; /* only while tokens are being taken out */
	bool is_told; /* that it has ended */
	uint8_t digest[32];
	uint8_t handle[HANDLE_SIZE];
	struct token_info info; /* its texts point to strings */
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
/* Takes @token, whose handle must be random. */
void token_add(struct token_table *table, struct token *token);
/* Forgets those that have ended. */
void token_sweep(struct token_table *table, uint64_t now_usec);
/* Valid, expired or exhausted, its parents' ends included. */
enum token_refusal token_judge_life(const struct token *token, uint64_t now_usec);
