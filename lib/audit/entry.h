/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A line becomes a record, and a record says what it is about
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
 * Event, time and columns are read from the stored bytes by entry_read_stored(): the log does so
 * when it has written a record, and so do the verifier, queries and the archive.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/chain.h"
#include "base/text.h"
#include "record/record.h"

struct audit_event;
struct redactor;
struct sbx_error;
struct shapes;

/* ---- events ---- */

#define EVENT_REQUIRED_MAX 3

struct audit_event {
	const char *name;
	bool is_sync;
	bool is_own;				  /* of the log itself */
	const char *required[EVENT_REQUIRED_MAX]; /* members beside the event and the time */
};

/* NULL for an event that is not in the table. */
const struct audit_event *event_of(const char *name, size_t n_bytes);
/* Fills @err for such a name, with the event that was probably meant; returns -EINVAL. */
int event_unknown(const char *name, size_t n_bytes, struct sbx_error *err);
/* The same for queries, which may mean one of the log's own. */
int event_unknown_in_log(const char *name, size_t n_bytes, struct sbx_error *err);
/* The i-th, for lists and completions, or NULL behind the last. */
const struct audit_event *event_at(size_t i);

/* ---- records ---- */

#define ENTRY_LINE_MEMBERS_MAX 256
/* Of a record: the log adds "time", "commitment" and "writer", whatever the line has. */
#define ENTRY_MEMBERS_MAX (ENTRY_LINE_MEMBERS_MAX + 3)
#define ENTRY_SUMMARY_MAX 500 /* characters */
#define ENTRY_COLUMN_MAX 255  /* bytes; the text in a column ends there */
#define ENTRY_SALT_SIZE 32
#define ENTRY_MINUTE_SIZE 16 /* "2026-01-02T03:04" */
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

/* The names that have a meaning: of members, the shorter before the longer ones, and then of what
 * is inside of some of these. */
enum entry_known {
	KNOWN_OP,
	KNOWN_TIME,
	KNOWN_RULE,
	KNOWN_PEER,
	KNOWN_TOOL,
	KNOWN_EVENT,
	KNOWN_INPUT,
	KNOWN_RULES,
	KNOWN_CALLER,
	KNOWN_WRITER,
	KNOWN_POLICY,
	KNOWN_VERDICT,
	KNOWN_BUILTIN,
	KNOWN_DECISION,
	KNOWN_TIMESTAMP,
	KNOWN_EVENT_TYPE,
	KNOWN_SANDBOX_ID,
	KNOWN_COMMITMENT,
	KNOWN_SYSCALL_TYPE,
	KNOWN_INPUT_SUMMARY,
	KNOWN_OUTPUT_SUMMARY,
	KNOWN_POLICY_DECISION,
	KNOWN_POLICY_RULE_NAME,
	KNOWN_INPUT_OP,
	KNOWN_INPUT_CALLER,
	KNOWN_PEER_SANDBOX_ID,
	KNOWN_CALLER_NAME,
	KNOWN_RULES_NAME,
	N_KNOWN,
};

struct entry_text {
	const char *bytes; /* NULL: the record does not say */
	size_t n_bytes;
};

/* The first item of a value, from the first byte of the record: a text without its quotes, a
 * number, or the bracket of what has more inside. */
struct entry_item {
	uint32_t at;
	uint32_t n_bytes;
	uint8_t kind; /* enum json_kind */
	bool is_escaped;
};

/* One member of the object. */
struct entry_member {
	struct entry_item name; /* as it is written */
	uint32_t decoded;	/* where the decoded name is in entry->names, if it is escaped */
	uint32_t n_decoded;
	uint32_t value; /* as it is written */
	uint32_t n_value;
	uint8_t known; /* which of the names that have a meaning */
};

/* What a commitment is about. */
struct entry_original {
	struct entry_text name; /* both as they are written in the caller's line */
	struct entry_text value;
	uint8_t salt[ENTRY_SALT_SIZE];
};

/* Start it as { 0 }; it is used again for the next record, and then allocates nothing. What it
 * points to is there until then, and as long as the bytes that were read. */
struct audit_entry {
	const struct audit_event *event;
	uint64_t time_usec;
	struct entry_text columns[N_ENTRY_COLUMNS];
	struct text body; /* what is stored */
	struct entry_original originals[ENTRY_MEMBERS_MAX];
	size_t n_originals;

	const char *base; /* private, as all below: the bytes in which the members are */
	struct entry_member members[ENTRY_MEMBERS_MAX];
	size_t n_members;
	uint64_t has_known; /* a bit for each name; its first value: */
	struct entry_item known[N_KNOWN];
	uint64_t seen_names; /* a bit for other names of some kind */
	bool may_repeat;
	size_t n_compact; /* how long the object would be without space between its members */
	size_t end;	  /* behind the object */
	size_t n_event;	  /* length of the event's name */
	char minute[ENTRY_MINUTE_SIZE]; /* of the time that was read last */
	uint64_t minute_usec;
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
/* On the heap: it is large. */
void entry_free_ptr(struct audit_entry **entry);
#define _cleanup_entry_free_ _cleanup_(entry_free_ptr)

struct entry_options {
	const struct redactor *redactor;
	struct hasher *hasher;
	uint64_t now_usec; /* for lines without a time; 0: they are refused */
	bool has_writer;   /* a peer or a file's owner, known from the kernel */
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

/* Is it a record? The same answer and the time, and nothing else of it. Fast for records of a shape
 * that came by. */
int entry_check_stored(struct audit_entry *entry, struct shapes *shapes, const void *bytes,
		       size_t n_bytes);
/* Splits the object into members; these are then read for what entry_read_stored() answers. */
int entry_split(struct audit_entry *entry, const char *bytes, size_t n_bytes,
		struct sbx_error *err);
int entry_read_members(struct audit_entry *entry, struct sbx_error *err);
/* The name is decoded, the value is as it is written. */
struct entry_text entry_member_name(const struct audit_entry *entry,
				    const struct entry_member *member);
struct entry_text entry_member_value(const struct audit_entry *entry,
				     const struct entry_member *member);
bool entry_has_member(const struct audit_entry *entry, const char *name);
static inline bool entry_has_known(const struct audit_entry *entry, enum entry_known known)
{
	return entry->has_known >> known & 1;
}
/* "cannot take the record": these return the error's code. */
int entry_fail(struct sbx_error *err, int code, const char *why, const char *fix);
int entry_fail_memory(struct sbx_error *err);
int entry_fail_members(size_t n_max, struct sbx_error *err);
int entry_fail_pair(struct sbx_error *err);

/* "op" "decision" "rule" "sandbox" "caller", the names that queries use. */
const char *entry_column_name(enum entry_column column);
/* All words for decisions, and what one of them is in the column: "denied" is deny. */
extern const char *const entry_decision_names[];
const char *entry_decision_column(const char *said);
