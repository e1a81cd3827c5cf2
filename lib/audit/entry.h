/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A line becomes a record: checked, without its secrets, with what people search for taken out
 *
 * A line is one JSON object with an "event" (or "event_type") and a "time" (RFC 3339 in UTC; or a
 * "timestamp" in milliseconds since 1970), as lib/record writes them. What is stored is that object
 * on one line, its values as they were written, except that
 *
 *   a text with a secret has "[REDACTED]" in the secret's place; then a member "commitment" holds,
 *     under the name of the member that was changed, SHA-256(salt, its value as it was written)
 *   input_summary and output_summary end after 500 characters
 *   "time" and "writer" are added where the caller knows them and the line does not say
 *
 * All of that is read from the stored bytes again by whoever asks: see entry-reader.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/hash.h"
#include "base/text.h"
#include "record/record.h"

struct audit_event;
struct redactor;
struct sbx_error;

#define ENTRY_LINE_MEMBERS_MAX 256
/* Of a record: the log adds "time", "commitment" and "writer", whatever the line has. */
#define ENTRY_MEMBERS_MAX (ENTRY_LINE_MEMBERS_MAX + 3)
#define ENTRY_SUMMARY_MAX 500 /* characters */
#define ENTRY_COLUMN_MAX 255  /* bytes; the text in a column ends there */
#define ENTRY_SALT_SIZE 32
#define ENTRY_KNOWN_MAX 24 /* names that say something to us */
/* A record with all that can be added to it. */
#define ENTRY_BYTES_MAX (2 * RECORD_BYTES_MAX)

enum entry_column {
	ENTRY_OP,
	ENTRY_DECISION, /* as policies say it: "denied" is deny here */
	ENTRY_RULE,
	ENTRY_SANDBOX,
	ENTRY_CALLER,
	N_ENTRY_COLUMNS,
};

struct entry_text {
	const char *bytes; /* NULL: the record does not say */
	size_t n_bytes;
};

/* One member of the object. */
struct entry_member {
	struct entry_text name;	 /* decoded */
	struct entry_text raw;	 /* the name as it is written, without quotes */
	struct entry_text value; /* as it is written */
	uint8_t kind;		 /* of the value: enum json_kind */
	bool escaped;		 /* a text with a backslash */
};

/* What a commitment is about. */
struct entry_original {
	struct entry_text name; /* both as they are written in the caller's line */
	struct entry_text value;
	uint8_t salt[ENTRY_SALT_SIZE];
};

/* Start it as { 0 }; it is used again for the next record, and then allocates nothing. What it
 * points to is there until then. */
struct audit_entry {
	const struct audit_event *event;
	uint64_t time_usec;
	struct entry_text columns[N_ENTRY_COLUMNS];
	struct text body; /* what is stored */
	struct entry_original originals[ENTRY_MEMBERS_MAX];
	size_t n_originals;

	struct entry_member members[ENTRY_MEMBERS_MAX]; /* private, as all below */
	size_t n_members;
	uint16_t known[ENTRY_KNOWN_MAX]; /* the number of the first member of each, from 1 */
	uint64_t seen_names;		 /* a bit for names of some kind */
	bool may_repeat;
	size_t n_compact; /* how long the object would be without space between its members */
	size_t end;	  /* behind the object */
	struct text names;
	struct text values;
	struct text decoded;
	struct text piece;
	struct text writer; /* the member, as it was written for these three */
	unsigned writer_uid;
	int writer_pid;
	const char *writer_confined;
};

#define _cleanup_entry_ _cleanup_(entry_deinit)
void entry_deinit(struct audit_entry *entry);

struct entry_options {
	const struct redactor *redactor;
	struct hasher *hasher;
	uint64_t now_usec; /* for lines without a time; 0: they are refused */
	bool has_writer;   /* a peer, or a file's owner, that the kernel has told */
	unsigned uid;
	int pid; /* 0: not known */
	const char *confined;
	bool is_own; /* the line is the log's: events of its own are allowed, and no others */
};

/*
 * Reads @line (a newline at its end does not count). -EINVAL for a line that cannot be a record,
 * -EBADMSG where it is not JSON, -EMSGSIZE where it is too long; -ENOMEM and -EIO are not the
 * line's fault. Messages show nothing of what may be secret.
 */
int entry_read(struct audit_entry *entry, const struct entry_options *options, const char *line,
	       size_t n_bytes, struct sbx_error *err);
/* Reads event, time and columns from stored bytes; the body is left alone. Errors as above. */
int entry_read_stored(struct audit_entry *entry, const void *bytes, size_t n_bytes,
		      struct sbx_error *err);

/* "op" "decision" "rule" "sandbox" "caller", the names that queries use. */
const char *entry_column_name(enum entry_column column);
/* All words for decisions, and what one of them is in the column: "denied" is deny. */
extern const char *const entry_decision_names[];
const char *entry_decision_column(const char *said);
/* "2026-01-02T03:04:05.678901Z", up to nine digits behind the point or none; -EINVAL for any other
 * form. Digits behind the sixth do not count. */
int entry_parse_time(const char *bytes, size_t n_bytes, uint64_t *ret_usec);
void entry_add_time(struct text *out, uint64_t usec);
