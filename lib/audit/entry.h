/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * From a line to a record, and reading a record's event, time and columns
 *
 * A line is one JSON object with an "event" (or "event_type") and a "time" (RFC 3339 in UTC; or a
 * "timestamp" in milliseconds since 1970), as lib/record writes it. The stored record is that
 * object on one line, its values verbatim, except that
 *
 *   a secret in a text is replaced by "[REDACTED]"; a member "commitment" then holds, under the
 * name of the changed member, SHA-256(salt, its original value) input_summary and output_summary
 * are cut after 500 characters "time" and "writer" are added if the caller knows them and the line
 * lacks them
 *
 * entry_read_stored() reads event, time and columns from the stored bytes: the log calls it for
 * each record that it writes, as do the verifier, queries and the archive.
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
	const char *required[EVENT_REQUIRED_MAX]; /* members besides the event and the time */
};

/* NULL if the table has no such event. */
const struct audit_event *event_of(const char *name, size_t n_bytes);
/* Fills @err for an unknown name, and suggests the event that was probably meant; returns
 * -EINVAL. */
int event_unknown(const char *name, size_t n_bytes, struct sbx_error *err);
/* The same for queries, whose events include the log's own. */
int event_unknown_in_log(const char *name, size_t n_bytes, struct sbx_error *err);
/* The i-th event, for lists and completions; NULL after the last one. */
const struct audit_event *event_at(size_t i);
/* Its name; @list is not used. */
const char *event_nth_name(const void *list, size_t i);

/* ---- records ---- */

#define ENTRY_LINE_MEMBERS_MAX 256
/* Limit for a record: the log adds "time", "commitment" and "writer" to a line. */
#define ENTRY_MEMBERS_MAX (ENTRY_LINE_MEMBERS_MAX + 3)
#define ENTRY_SUMMARY_MAX 500 /* in characters */
#define ENTRY_COLUMN_MAX 255  /* in bytes; longer text is cut */
#define ENTRY_SALT_SIZE 32
#define ENTRY_MINUTE_SIZE 16 /* "2026-01-02T03:04" */
/* A record with everything that may be added to it. */
#define ENTRY_BYTES_MAX (2 * RECORD_BYTES_MAX)

enum entry_column {
	ENTRY_OP,
	ENTRY_DECISION, /* in the policy's words: "denied" is stored as deny */
	ENTRY_RULE,
	ENTRY_SANDBOX,
	ENTRY_CALLER,
	N_ENTRY_COLUMNS,
};

/* The names that have a meaning: of members, in ascending length, then of members of some of
 * these. */
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
	const char *bytes; /* NULL: the record does not have it */
	size_t n_bytes;
};

/* The first token of a value, by its offset in the record: a text without its quotes, a number, or
 * an opening bracket. */
struct entry_item {
	uint32_t at;
	uint32_t n_bytes;
	uint8_t kind; /* enum json_kind */
	bool is_escaped;
};

/* One member of the record's object. */
struct entry_member {
	struct entry_item name; /* as spelt in the record */
	uint32_t decoded;	/* offset of the decoded name in entry->names, if it is escaped */
	uint32_t n_decoded;
	uint32_t value; /* offset of the value as spelt */
	uint32_t n_value;
	uint8_t known; /* enum entry_known, or N_KNOWN */
};

/* An original value to which a record has a commitment. */
struct entry_original {
	struct entry_text name; /* both as spelt in the caller's line */
	struct entry_text value;
	uint8_t salt[ENTRY_SALT_SIZE];
};

/* Initialise to { 0 }. Reused for the next record, then without allocating. Its pointers are valid
 * until then, and as long as the parsed bytes are. */
struct audit_entry {
	const struct audit_event *event;
	uint64_t time_usec;
	struct entry_text columns[N_ENTRY_COLUMNS];
	struct text body; /* the bytes to be stored */
	struct entry_original originals[ENTRY_MEMBERS_MAX];
	size_t n_originals;

	const char *base; /* private, as all below: the bytes that contain the members */
	struct entry_member members[ENTRY_MEMBERS_MAX];
	size_t n_members;
	uint64_t has_known; /* one bit per enum entry_known; its first value: */
	struct entry_item known[N_KNOWN];
	uint64_t seen_names; /* one bit per hash of the other names */
	bool may_repeat;
	size_t n_compact; /* length of the object without white space between tokens */
	size_t end;	  /* offset after the object */
	size_t n_event;	  /* length of the event's name */
	char minute[ENTRY_MINUTE_SIZE]; /* of the time read last */
	uint64_t minute_usec;
	struct text names;
	struct text values;
	struct text decoded;
	struct text piece;
	struct text writer; /* the member "writer", cached for these four values */
	unsigned writer_uid;
	int writer_pid;
	const char *writer_confined, *writer_ring;
};

void entry_deinit(struct audit_entry *entry);
/* An audit_entry is large: allocate it on the heap. */
void entry_free_ptr(struct audit_entry **entry);
#define _cleanup_entry_free_ _cleanup_(entry_free_ptr)

struct entry_options {
	const struct redactor *redactor;
	uint64_t now_usec; /* used for lines without a time; 0: these are refused */
	bool has_writer;   /* uid and pid are valid: of a peer, or a file's owner, as the kernel
			      reports */
	unsigned uid;
	int pid;		     /* 0: unknown */
	const char *confined, *ring; /* as in struct audit_writer */
	bool is_own; /* the line is the log's: only the log's own events are allowed */
};

/*
 * Parses @line (a trailing newline is ignored). -EINVAL for a line that is not a valid record,
 * -EBADMSG if it is not JSON, -EMSGSIZE if it is too long; -ENOMEM and -EIO are not the line's
 * fault. Error messages contain nothing that may be secret.
 */
int entry_read(struct audit_entry *entry, const struct entry_options *options, const char *line,
	       size_t n_bytes, struct sbx_error *err);
/* Reads event, time and columns from stored bytes; leaves entry->body alone. Errors as above. */
int entry_read_stored(struct audit_entry *entry, const void *bytes, size_t n_bytes,
		      struct sbx_error *err);

/* Same checks and time as entry_read_stored(), but reads nothing else. Fast for records of a known
 * shape. */
int entry_check_stored(struct audit_entry *entry, struct shapes *shapes, const void *bytes,
		       size_t n_bytes);
/* entry_split() splits the object into members; entry_read_members() then reads event, time and
 * columns. */
int entry_split(struct audit_entry *entry, const char *bytes, size_t n_bytes,
		struct sbx_error *err);
int entry_read_members(struct audit_entry *entry, struct sbx_error *err);
/* entry_member_name() returns the decoded name, entry_member_value() the value as spelt. */
struct entry_text entry_member_name(const struct audit_entry *entry,
				    const struct entry_member *member);
struct entry_text entry_member_value(const struct audit_entry *entry,
				     const struct entry_member *member);
bool entry_has_member(const struct audit_entry *entry, const char *name);
static inline bool entry_has_known(const struct audit_entry *entry, enum entry_known known)
{
	return entry->has_known >> known & 1;
}
/* Fill @err with "cannot take the record"; return the error's code. */
int entry_fail(struct sbx_error *err, int code, const char *why, const char *fix);
int entry_fail_memory(struct sbx_error *err);
int entry_fail_members(size_t n_max, struct sbx_error *err);
int entry_fail_pair(struct sbx_error *err);

/* The names that queries use: "op" "decision" "rule" "sandbox" "caller". */
const char *entry_column_name(enum entry_column column);
/* All words for decisions. */
extern const char *const entry_decision_names[];
/* Makes what a record or a query says what the column has: "denied" becomes deny, long text is
 * cut. */
void entry_make_column(enum entry_column column, struct entry_text *text);
