/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Logs in the format that preceded sbx-audit's: JSON lines in a chain, without a tree and without
 * signatures
 *
 *   hash      = SHA-256(prev_hash, timestamp, event_type, data)
 *   prev_hash = hash of the line before; for the first line SHA-256("genesis:", timestamp)
 *
 * Hashes are 64 hexadecimal digits and are hashed in this form. The timestamp is hashed as its
 * digits, event_type as the decoded text, and data as the object of all other members as spelt, in
 * their order, without white space between them.
 *
 * A process that can write the file can recompute all of it, and nothing says where the log ends.
 */

#include <stdbool.h>
#include <stdint.h>

#include "audit/verify.h"

#define SEED_LINE_MAX (1024 * 1024)

struct seed_report {
	enum verify_verdict verdict;
	struct sbx_error finding; /* valid unless the verdict is intact */
	bool has_bad;
	uint64_t bad_line; /* counted from 1 */
	uint64_t n_good;   /* entries before bad_line */
};

/* Reads @fd to its end. 0 with a report, or negative errno if it cannot be read. */
int seed_verify(int fd, struct seed_report *ret, struct sbx_error *err);
