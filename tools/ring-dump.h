/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The records of one direction that the other side has not read, decoded and in hexadecimal
 *
 * Everything in the file was written by a process that is not trusted. A record is shown only if
 * its header is valid; at the first one that is not, decoding ends with the reason, and the bytes
 * from there on are shown as bytes.
 */

#include <stdbool.h>
#include <stdint.h>

struct text;

struct dump {
	int fd;
	const char *from; /* "server" */
	bool is_call;
	uint64_t capacity;
	uint64_t head, tail;
	uint64_t nonce; /* mode call */
	uint32_t record_max;
	uint64_t n_bytes; /* at most */
};

void dump_add_text(struct text *out, const struct dump *dump);
/* {"from":"server","records":[{"position":0,"bytes":5,"kind":"whole",...}],...} and a newline. */
void dump_add_json(struct text *out, const struct dump *dump);
