/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Shared by the two halves of the import: files of the spool, and lines in them
 */

#include "audit/claim.h"
#include "audit/log-internal.h"
#include "record/record.h"

/* A line and its end fit into it. */
#define IMPORT_CHUNK_SIZE (4 * RECORD_BYTES_MAX)
#define CLAIM_KEY_SIZE (sizeof(META_SPOOL) + CLAIM_NAME_SIZE)

struct import {
	struct audit_log *log;
	int spool;
	char name[CLAIM_NAME_SIZE];
	int fd;
	struct audit_writer owner; /* of the file, for its records */
	uint64_t offset;	   /* what is before it has been taken */
	uint64_t until;		   /* lines that begin behind it wait for the next time */
	char *chunk;		   /* IMPORT_CHUNK_SIZE bytes */
	struct audit_import taken; /* since the last commit */
	struct audit_import *total;
};

/* "cannot take in the spool": returns @code. */
int import_fail(struct sbx_error *err, int code, const char *why, const char *fix);
int import_fail_file(struct sbx_error *err, int code);

/* The key in the table meta for the file of this name. */
void import_add_key(const char *name, char ret[CLAIM_KEY_SIZE]);
int import_read_offset(struct import *import, struct sbx_error *err);

/* Takes and commits the whole lines that there are; what is behind the last newline stays. */
int import_take_lines(struct import *import, struct sbx_error *err);
/* Takes that, too, as what was cut off. */
int import_take_torn_end(struct import *import, struct sbx_error *err);
