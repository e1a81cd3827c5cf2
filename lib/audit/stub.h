/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What stays of an archive that was deleted: a record of the log itself, signed before the file
 * went
 *
 * Stubs excuse missing records only where they cover them without a gap from record 0 on: the first
 * one begins with 0 and 32 zero bytes, each other with the number behind and the head of the one
 * before, and the last one joins the first segment that is there: its head is that segment's
 * previous, its root the root of that segment's frontier.
 *
 * Stubs are records, so they are in archives that are deleted one day. The stub of an archive that
 * holds stubs speaks for these, too: its first is 0, its previous zero bytes. So what excuses is
 * the row of stubs that begins with the last one whose first is 0; those before it may have lost
 * the ones that they joined.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/hash.h"

struct sbx_error;
struct text;

#define STUB_EVENT "audit_archive_deleted"

enum stub_reason {
	STUB_AGE,
	STUB_SIZE,
	N_STUB_REASONS,
};

struct audit_stub {
	uint64_t first; /* records first to last were in it */
	uint64_t last;
	struct audit_hash previous; /* hash of the record before the first */
	struct audit_hash head;	    /* of the last */
	struct audit_hash root;	    /* of the tree of last + 1 records */
	struct audit_hash archive;  /* SHA-256 of the file */
	enum stub_reason reason;
};

/*
 * Adds the members for audit_log_say():
 *
 *   "first":N,"last":N,"previous":BASE64,"head":BASE64,"root":BASE64,"archive_sha256":HEX,
 *   "reason":"age"
 *
 * -EINVAL for what stub_read() would refuse, or -ENOMEM.
 */
int stub_add_members(struct text *out, const struct audit_stub *stub);
/* Is the record of this event? Cheap, for every record. */
bool stub_is(const void *body, size_t n_body);
/* Reads exactly what the log writes with these members; everything else is -EBADMSG. */
int stub_read(const void *body, size_t n_body, struct audit_stub *ret, struct sbx_error *err);
