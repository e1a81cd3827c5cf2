/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Logs of the form that sbx-audit's own grew out of: JSON lines in a chain, without a tree and
 * without signatures
 *
 *   hash      = SHA-256(prev_hash, timestamp, event_type, data)
 *   prev_hash = hash of the line before; of the first one SHA-256("genesis:", timestamp)
 *
 * Hashes are 64 hexadecimal digits, and go into the next hash as these. The timestamp is the digits
 * that stand there, event_type the decoded text, and data the object of all other members as they
 * are spelt, in their order, without white space between them.
 *
 * A process that can write the file can compute all of it again, and nothing says where the log
 * ends.
 */

#include <stdbool.h>
#include <stdint.h>

#include "audit/verify.h"

#define SEED_LINE_MAX (1024 * 1024)

struct seed_report {
	enum verify_verdict verdict;
	struct sbx_error finding; /* unless it is intact */
	bool has_bad;
	uint64_t bad_line; /* from 1 */
	uint64_t n_good;   /* entries before it */
};

/* Reads @fd to its end. 0 with a report, or negative errno where it cannot be read. */
int seed_verify(int fd, struct seed_report *ret, struct sbx_error *err);
