/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A word automaton: many words found in one pass over the bytes, whatever their number
 *
 * The built form is one flat block without pointers (byte classes, a dense table of states, the
 * words that each state reports), so it can be stored, mapped and read by a BPF program.
 * automaton_open() checks an untrusted block completely before use.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct sbx_error;

#define AUTOMATON_MAGIC 0x61786273u /* "sbxa" */
#define AUTOMATON_VERSION 1u
#define AUTOMATON_FOLD_CASE 1u /* flags: A-Z and a-z are the same */
#define AUTOMATON_STATES_MAX (1u << 22)
#define AUTOMATON_NONE UINT32_MAX

/* All numbers in the host's byte order; offsets in bytes from the start of the block. */
struct automaton {
	uint32_t magic;
	uint32_t version;
	uint32_t flags;
	uint32_t n_words;
	uint32_t n_states;
	uint32_t n_classes;
	uint32_t next_offset;	 /* u32[n_states][n_classes]: the next state; the top bit marks one
				    that ends a word */
	uint32_t word_offset;	 /* u32[n_states]: the longest word that ends in this state, or
				    AUTOMATON_NONE */
	uint32_t shorter_offset; /* u32[n_states]: the next state whose word is a shorter one that
				    ends here too, or NONE */
	uint32_t length_offset;	 /* u32[n_words]: the length of each word */
	uint32_t n_bytes;	 /* of the whole block */
	uint8_t class_of[256];
};

struct automaton_match {
	uint32_t word; /* index into the words of automaton_build() */
	size_t start;
	size_t end; /* after the last byte */
};

/* Position of a scan; start with { 0 }. May be kept between buffers of one stream: places count
 * from its start. */
struct automaton_scan {
	uint32_t state;
	uint32_t pending; /* private */
	size_t offset;	  /* private: in the current buffer; 0 again at its end */
	size_t at;
};

/* Words must not be empty; a word given twice reports its first index. The caller frees the block
 * with free(). */
int automaton_build(const char *const *words, size_t n_words, uint32_t flags,
		    struct automaton **ret, struct sbx_error *err);
/* Checks an untrusted block of @n_bytes; it must be aligned to 4 and must not change afterwards. 0
 * or -EBADMSG. */
int automaton_open(const void *block, size_t n_bytes, const struct automaton **ret);

/*
 * Returns 1 with the next match (overlapping ones too; longer before shorter at the same end), 0 at
 * the end of @bytes.
 */
int automaton_next(const struct automaton *automaton, struct automaton_scan *scan,
		   const void *bytes, size_t n_bytes, struct automaton_match *ret);
/* Does any word occur? Faster than automaton_next(). */
bool automaton_any(const struct automaton *automaton, const void *bytes, size_t n_bytes);
