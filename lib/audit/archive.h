/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A closed segment as one file: a pax tar with zstd, made by libarchive, of three members
 *
 *   segment.json    {"format":1,"log":ID,"first":N,"size":N,"previous":BASE64,
 *                    "frontier":[BASE64,...]}, on one line
 *   checkpoints     its signed notes, one behind the other, the sizes ascending
 *   records.jsonl   {"seq":N,"hash":BASE64,"record":R}, a line each; the numbers have no gap
 *
 * in this order. The notes stand before the records, so that both can go by together. Whoever reads
 * an archive believes nothing of it: a member, a byte or a line that no writer of ours makes is
 * -EBADMSG, no more memory is used than one record and one note need, and no more is unpacked than
 * the hashes, which cannot be packed, have room for in the file. What the hashes and the signatures
 * are worth is the reader's to find out.
 */

#include <stdint.h>

#include "audit/segment.h"

struct audit_archive;
struct sbx_error;

#define ARCHIVE_FORMAT 1

/* ---- write ---- */

/* What an archive is made of. Both are asked for twice, and have to give the same. */
struct archive_source {
	struct segment_about about;
	int (*each)(void *userdata, store_visit visit, void *visitor, struct sbx_error *err);
	int (*each_checkpoint)(void *userdata, store_visit_note visit, void *visitor,
			       struct sbx_error *err);
	void *userdata;
};

/* Writes it to the empty file @fd; @name is for messages. The caller syncs and names the file.
 * -EBADMSG for rows or notes that audit_archive_open() would not read again. */
int audit_archive_write(int fd, const char *name, const struct archive_source *source,
			struct sbx_error *err);

/* ---- read ---- */

/* Looks whether it is one frame, and reads segment.json. -EBADMSG where it is no archive of ours,
 * -ENOTSUP for a later format. */
int audit_archive_open(int folder, const char *name, struct audit_archive **ret,
		       struct sbx_error *err);
struct audit_archive *audit_archive_free(struct audit_archive *archive);
void audit_archive_free_ptr(struct audit_archive **archive);
#define _cleanup_audit_archive_ _cleanup_(audit_archive_free_ptr)

const struct segment_about *audit_archive_about(const struct audit_archive *archive);

/*
 * As store_each() and store_each_checkpoint(): what the visitor returns other than 0 ends it, and
 * is returned. Rows have seq, body and hash and nothing else. Rows before @from have to be unpacked
 * too; the note that a visitor ended with comes again where the next call asks for its size, and
 * notes are unpacked again only where one before it is asked for.
 *
 * Only who reads all rows (or all notes) to their end has seen that they are whole: that as many
 * are there as the archive says, and neither another member nor another byte behind them.
 */
int audit_archive_each(struct audit_archive *archive, uint64_t from, uint64_t to, store_visit visit,
		       void *userdata, struct sbx_error *err);
int audit_archive_each_checkpoint(struct audit_archive *archive, uint64_t from_size,
				  store_visit_note visit, void *userdata, struct sbx_error *err);

/* SHA-256 of the file as it is. */
int audit_archive_digest(struct audit_archive *archive, struct audit_hash *ret,
			 struct sbx_error *err);
