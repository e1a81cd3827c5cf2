/* SPDX-License-Identifier: MIT */

/*
 * From a line to what is stored
 *
 * The object is written again, member by member: a value is copied as it stands unless a secret is
 * in it, or it is a summary that is too long. Everything else about the record, its event, its time
 * and what queries ask for, is then read from what was written. So it is what readers find, and no
 * message about it can show a secret. Nearly every line is already as it would be written, and is
 * copied in one go.
 */

#include "audit/entry.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include <sbx/error.h>

#include "audit/entry-internal.h"
#include "audit/event.h"
#include "audit/redact.h"

#define COMMITMENT "commitment"
#define WRITER "writer"

/* ---- what the line must not have ---- */

static bool has_twice(const struct audit_entry *entry)
{
	if (!entry_may_repeat(entry))
		return false;
	for (size_t i = 0; i < entry->n_members; i++)
		for (size_t j = 0; j < i; j++) {
			const struct entry_text *a = &entry->members[i].name;
			const struct entry_text *b = &entry->members[j].name;

			if (a->n_bytes == b->n_bytes && memcmp(a->bytes, b->bytes, a->n_bytes) == 0)
				return true;
		}
	return false;
}

static int check_names(struct audit_entry *entry, struct sbx_error *err)
{
	if (has_twice(entry))
		return entry_fail(err, -EINVAL, "a member is there twice",
				  "write it once; readers do not agree on which of them counts");
	if (entry_known(entry, KNOWN_COMMITMENT) || entry_known(entry, KNOWN_WRITER))
		return entry_fail(err, -EINVAL,
				  "its '" COMMITMENT "' and '" WRITER "' are the log's to say",
				  "leave these members out");
	return 0;
}

/* A commitment stands under the member's name, so that cannot be changed. */
static int check_clean_names(struct audit_entry *entry, const struct redactor *redactor,
			     struct sbx_error *err)
{
	for (size_t i = 0; i < entry->n_members; i++) {
		const struct entry_text *name = &entry->members[i].name;
		int r = redactor_clean(redactor, name->bytes, name->n_bytes, &entry->decoded);

		if (r < 0)
			return entry_fail_memory(err);
		if (r > 0)
			return entry_fail(err, -EINVAL, "the name of a member looks like a secret",
					  "put it into a value, where it is cut out");
	}
	return 0;
}

/* ---- the object, again ---- */

static bool is_summary(const struct audit_entry *entry, const struct entry_member *member)
{
	return member == entry_known(entry, KNOWN_INPUT_SUMMARY) ||
	       member == entry_known(entry, KNOWN_OUTPUT_SUMMARY);
}

static int keep_original(struct audit_entry *entry, const struct entry_member *member,
			 struct sbx_error *err)
{
	struct entry_original *original = &entry->originals[entry->n_originals];

	original->name = member->raw;
	original->value = member->value;
	if (getrandom(original->salt, sizeof(original->salt), 0) != (ssize_t)sizeof(original->salt))
		return entry_fail(err, -EIO, "the kernel gives no random bytes", NULL);
	entry->n_originals++;
	return 0;
}

/* Between strings there may be line breaks, and a record is one line. Inside strings there are
 * none. */
static void add_on_one_line(struct text *out, const char *bytes, size_t n_bytes)
{
	size_t at = out->len;

	text_add_bytes(out, bytes, n_bytes);
	if (text_status(out) < 0 ||
	    (!memchr(bytes, '\n', n_bytes) && !memchr(bytes, '\r', n_bytes)))
		return;
	for (; at < out->len; at++)
		if (out->data[at] == '\n' || out->data[at] == '\r')
			out->data[at] = ' ';
}

static int add_member(struct audit_entry *entry, const struct entry_options *options,
		      const struct entry_member *member, bool is_suspect, struct sbx_error *err)
{
	struct entry_text value = member->value;
	int r = 0;

	text_reset(&entry->piece);
	if (is_suspect)
		r = entry_clean_value(entry, options->redactor, &value, err);
	if (r > 0) {
		if (text_status(&entry->piece) < 0)
			return entry_fail_memory(err);
		value = (struct entry_text){ entry->piece.data, entry->piece.len };
		r = keep_original(entry, member, err);
	}
	if (r == 0 && is_summary(entry, member)) {
		r = entry_cut_summary(entry, &value, err);
		if (r > 0)
			value = (struct entry_text){ text_string(&entry->piece), entry->piece.len };
	}
	if (r < 0)
		return r;
	text_add(&entry->body, entry->body.len > 1 ? ",\"" : "\"");
	text_add_bytes(&entry->body, member->raw.bytes, member->raw.n_bytes);
	text_add(&entry->body, "\":");
	add_on_one_line(&entry->body, value.bytes, value.n_bytes);
	return 0;
}

static void add_hex(struct text *out, const struct audit_hash *hash)
{
	text_add_char(out, '"');
	for (size_t i = 0; i < sizeof(hash->bytes); i++)
		text_addf(out, "%02x", hash->bytes[i]);
	text_add_char(out, '"');
}

static int add_commitments(struct audit_entry *entry, struct hasher *hasher, struct sbx_error *err)
{
	for (size_t i = 0; i < entry->n_originals; i++) {
		struct entry_original *original = &entry->originals[i];
		const struct iovec parts[] = {
			{ original->salt, sizeof(original->salt) },
			{ (void *)original->value.bytes, original->value.n_bytes },
		};
		struct audit_hash hash;

		if (hasher_digest(hasher, parts, N_ELEMENTS(parts), &hash) < 0)
			return entry_fail(err, -EIO, "libcrypto cannot hash", NULL);
		text_add(&entry->body, i == 0 ? ",\"" COMMITMENT "\":{\"" : ",\"");
		text_add_bytes(&entry->body, original->name.bytes, original->name.n_bytes);
		text_add(&entry->body, "\":");
		add_hex(&entry->body, &hash);
	}
	if (entry->n_originals > 0)
		text_add_char(&entry->body, '}');
	return 0;
}

/* Most records are of the same writer as the one before. */
static const struct text *writer_of(struct audit_entry *entry, const struct entry_options *options)
{
	struct text *writer = &entry->writer;

	if (writer->len == 0 || text_status(writer) < 0 || options->uid != entry->writer_uid ||
	    options->pid != entry->writer_pid || options->confined != entry->writer_confined) {
		text_reset(writer);
		text_addf(writer, "\"" WRITER "\":{\"uid\":%u", options->uid);
		/* A file has an owner, and tells nothing of the process. */
		if (options->pid > 0)
			text_addf(writer, ",\"pid\":%d", options->pid);
		if (options->confined)
			text_addf(writer, ",\"confined\":\"%s\"", options->confined);
		text_add_char(writer, '}');
		entry->writer_uid = options->uid;
		entry->writer_pid = options->pid;
		entry->writer_confined = options->confined;
	}
	return writer;
}

static bool lacks_time(const struct audit_entry *entry, const struct entry_options *options)
{
	return options->now_usec > 0 && !entry_known(entry, KNOWN_TIME) &&
	       !entry_known(entry, KNOWN_TIMESTAMP);
}

static void add_what_we_know(struct audit_entry *entry, const struct entry_options *options)
{
	struct text *body = &entry->body;

	if (lacks_time(entry, options)) {
		text_add(body, body->len > 1 ? ",\"time\":\"" : "\"time\":\"");
		entry_add_time(body, options->now_usec);
		text_add_char(body, '"');
	}
	if (options->has_writer) {
		const struct text *writer = writer_of(entry, options);

		if (body->len > 1)
			text_add_char(body, ',');
		text_add_bytes(body, writer->data, writer->len);
	}
}

static int write_body(struct audit_entry *entry, const struct entry_options *options,
		      bool is_suspect, struct sbx_error *err)
{
	int r = 0;

	text_reset(&entry->body);
	entry->n_originals = 0;
	text_add_char(&entry->body, '{');
	for (size_t i = 0; r == 0 && i < entry->n_members; i++)
		r = add_member(entry, options, &entry->members[i], is_suspect, err);
	if (r == 0)
		r = add_commitments(entry, options->hasher, err);
	if (r < 0)
		return r;
	add_what_we_know(entry, options);
	text_add_char(&entry->body, '}');
	if (text_status(&entry->body) < 0)
		return entry_fail_memory(err);
	if (entry->body.len > ENTRY_BYTES_MAX)
		return entry_fail(err, -EMSGSIZE, "without its secrets it is too long", "split it");
	return 0;
}

/* ---- as it stands ---- */

static bool is_short(const struct entry_member *member)
{
	return !member || member->value.n_bytes <= ENTRY_SUMMARY_MAX;
}

/* Is the object already what would be written? Then it is copied, and its members lie where they
 * lay. Nothing in it is escaped, so no name is decoded. */
static bool can_stand(const struct audit_entry *entry, const struct entry_options *options,
		      const char *line)
{
	return entry->n_members > 0 && entry->n_compact == entry->end && line[0] == '{' &&
	       !lacks_time(entry, options) && is_short(entry_known(entry, KNOWN_INPUT_SUMMARY)) &&
	       is_short(entry_known(entry, KNOWN_OUTPUT_SUMMARY)) &&
	       !memchr(line, '\n', entry->end) && !memchr(line, '\r', entry->end);
}

static int copy_body(struct audit_entry *entry, const struct entry_options *options,
		     const char *line, struct sbx_error *err)
{
	struct text *body = &entry->body;

	text_reset(body);
	entry->n_originals = 0;
	text_add_bytes(body, line, entry->end - 1);
	add_what_we_know(entry, options);
	text_add_char(body, '}');
	if (text_status(body) < 0)
		return entry_fail_memory(err);
	for (size_t i = 0; i < entry->n_members; i++) {
		struct entry_member *member = &entry->members[i];

		member->raw.bytes = body->data + (member->raw.bytes - line);
		member->name.bytes = member->raw.bytes;
		member->value.bytes = body->data + (member->value.bytes - line);
	}
	return entry_read_members(entry, body->len, err);
}

/* The members anew, from what was written. */
static int write_again(struct audit_entry *entry, const struct entry_options *options,
		       bool is_suspect, struct sbx_error *err)
{
	int r = write_body(entry, options, is_suspect, err);

	return r < 0 ? r : entry_read_stored(entry, entry->body.data, entry->body.len, err);
}

/* ---- what the record must have ---- */

static int check_event(const struct audit_entry *entry, const struct entry_options *options,
		       struct sbx_error *err)
{
	const struct audit_event *event = entry->event;
	int r;

	if (event->is_own != options->is_own) {
		r = entry_fail(err, -EINVAL, "",
			       "leave it to sbx-audit, or name what has really happened");
		sbx_error_why(err, "the event '%s' is the log's own", event->name);
		return r;
	}
	for (size_t i = 0; i < EVENT_REQUIRED_MAX && event->required[i]; i++)
		if (!entry_member(entry, event->required[i])) {
			r = entry_fail(err, -EINVAL, "", "add the member");
			sbx_error_why(err, "a record of '%s' needs '%s'", event->name,
				      event->required[i]);
			return r;
		}
	return 0;
}

int entry_read(struct audit_entry *entry, const struct entry_options *options, const char *line,
	       size_t n_bytes, struct sbx_error *err)
{
	bool is_suspect;
	int r;

	if (n_bytes > RECORD_BYTES_MAX)
		return entry_fail(err, -EMSGSIZE, "it is longer than 128KiB",
				  "write a summary, and keep the rest elsewhere");
	r = entry_split(entry, line, n_bytes, err);
	if (r == 0 && entry->n_members > ENTRY_LINE_MEMBERS_MAX)
		r = entry_fail_members(ENTRY_LINE_MEMBERS_MAX, err);
	if (r == 0)
		r = check_names(entry, err);
	if (r < 0)
		return r;
	/* An escape can stand for any character of a secret. */
	is_suspect = memchr(line, '\\', n_bytes) != NULL ||
		     redactor_suspects(options->redactor, line, n_bytes);
	if (is_suspect)
		r = check_clean_names(entry, options->redactor, err);
	if (r < 0)
		return r;
	r = !is_suspect && can_stand(entry, options, line)
		    ? copy_body(entry, options, line, err)
		    : write_again(entry, options, is_suspect, err);
	return r < 0 ? r : check_event(entry, options, err);
}
