/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Policies of any size, and typical requests of a tool
 *
 * Half of the globs are directories ("/a/b/" and everything below), the others exact names, names
 * with a given ending, and some with "**" at the begin or in the middle; of five rules three allow,
 * one requires review, one denies. Half of the paths are made from a glob, so that about half of
 * the requests match a rule. The same seed gives the same texts on every host.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "policy/model.h"

struct sbx_error;

/* A list of texts in one block of memory. */
struct bench_texts {
	struct text bytes;
	size_t *starts;
	size_t n;
};

void bench_texts_deinit(struct bench_texts *texts);
const char *bench_texts_at(const struct bench_texts *texts, size_t i);

struct bench_random {
	uint64_t state;
};

#define BENCH_RANDOM_INIT                                                                          \
	{                                                                                          \
		.state = UINT64_C(88172645463325252)                                               \
	}

uint32_t bench_random(struct bench_random *random);

/* Adds @n texts, each written by @add. -ENOMEM. */
int bench_texts_fill(struct bench_texts *texts, size_t n, struct bench_random *random,
		     void (*add)(struct text *out, struct bench_random *random, void *userdata),
		     void *userdata);

/* For bench_texts_fill(): one glob; one path, @userdata being the globs' struct bench_texts. */
void bench_add_glob(struct text *out, struct bench_random *random, void *userdata);
void bench_add_path(struct text *out, struct bench_random *random, void *userdata);

/* The action of the i-th rule. */
enum policy_action bench_action(size_t i);

/*
 * The compiled form of @n rules, each with one value of @key for @operation. The caller frees
 * *@ret_block.
 */
int bench_compile(const struct bench_texts *values, enum match_key key, const char *operation,
		  void **ret_block, size_t *ret_n_bytes, struct sbx_error *err);
