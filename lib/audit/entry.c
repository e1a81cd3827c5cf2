/* SPDX-License-Identifier: MIT */

/*
 * From a caller's line to the stored record
 *
 * The line is written again member by member: a value is copied verbatim unless it contains a
 * secret or is a summary that is too long. Event, time and columns are then read from the written
 * bytes: they are what readers will find, and no error message about them can show a secret. Nearly
 * every line is already in the form in which it would be written, and is copied whole.
 */

#include "audit/entry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <sbx/error.h>

#include "audit/redact.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/moment.h"
#include "base/suggest.h"
#include "base/text.h"

/* ---- events ---- */

#define NAME_SHOWN_MAX 64

static const struct audit_event events[] = {
	{ .name = "syscall" },
	{ .name = "tool_execute" },
	{ .name = "tool_result" },
	{ .name = "state_transition", .is_sync = true },
	{ .name = "policy_update", .is_sync = true },
	{ .name = "session_mode_change", .is_sync = true },
	{ .name = "sandbox_created", .required = { "sandbox_id" } },
	{ .name = "sandbox_destroyed", .required = { "sandbox_id" } },
	{ .name = "sandbox_failed", .required = { "sandbox_id" } },
	{ .name = "capability_issued", .is_sync = true },
	{ .name = "capability_expired" },
	{ .name = "merge_approved", .is_sync = true },
	{ .name = "merge_rejected", .is_sync = true },
	{ .name = "kernel_start", .is_sync = true },
	{ .name = "kernel_shutdown", .is_sync = true },
	{ .name = "audit_storage_warning", .is_sync = true, .is_own = true },
	{ .name = "audit_storage_critical", .is_sync = true, .is_own = true },
	{ .name = "audit_archive_deleted", .is_sync = true, .is_own = true },

	{ .name = "policy_decision", .required = { "verdict", "input", "policy" } },
	{ .name = "policy_error" },

	{ .name = "proxy_start", .is_sync = true, .required = { "policy" } },
	{ .name = "proxy_stop", .is_sync = true },
	{ .name = "proxy_connection", .required = { "host", "port" } },

	{ .name = "ring_violation", .is_sync = true, .required = { "channel", "reason", "peer" } },
	{ .name = "ring_closed", .required = { "channel", "counters" } },

	{ .name = "log_created", .is_sync = true, .is_own = true },
	{ .name = "log_verified", .is_sync = true, .is_own = true },
	{ .name = "key_changed", .is_sync = true, .is_own = true },
	{ .name = "chain_broken", .is_sync = true, .is_own = true },
	{ .name = "records_lost", .is_sync = true, .is_own = true },
	{ .name = "record_refused", .is_own = true },
	{ .name = "record_torn", .is_own = true },
};

const struct audit_event *event_at(size_t i)
{
	return i < N_ELEMENTS(events) ? &events[i] : NULL;
}

const struct audit_event *event_of(const char *name, size_t n_bytes)
{
	for (size_t i = 0; n_bytes > 0 && i < N_ELEMENTS(events); i++)
		if (events[i].name[0] == name[0] && strlen(events[i].name) == n_bytes &&
		    memcmp(events[i].name, name, n_bytes) == 0)
			return &events[i];
	return NULL;
}

/* A caller's line cannot have one of the log's own events, so these are not suggested. */
static const char *name_at(const void *list, size_t i)
{
	size_t n = 0;

	for (size_t at = 0; at < N_ELEMENTS(events); at++)
		if (!events[at].is_own && n++ == i)
			return events[at].name;
	return NULL;
}

const char *event_nth_name(const void *list, size_t i)
{
	return i < N_ELEMENTS(events) ? events[i].name : NULL;
}

/* Returns the event that was probably meant, or NULL. */
static const char *tell_unknown(const char *name, size_t n_bytes, struct suggest_words words,
				struct sbx_error *err)
{
	char shown[NAME_SHOWN_MAX + 1];
	const char *near;

	/* Do not escape the name here: the printer of the error escapes it. */
	(void)snprintf(shown, sizeof(shown), "%.*s",
		       (int)(n_bytes < NAME_SHOWN_MAX ? n_bytes : NAME_SHOWN_MAX), name);
	near = suggest(shown, words);
	(void)sbx_error_what(err, -EINVAL, "'%s' is not an event", shown);
	sbx_error_why(err,
		      near ? "no event has this name" : "no event has this name or a similar one");
	if (near)
		sbx_error_fix(err, "did you mean '%s'?", near);
	return near;
}

int event_unknown(const char *name, size_t n_bytes, struct sbx_error *err)
{
	const struct suggest_words words = { .word = name_at };
	_cleanup_text_ struct text all = TEXT_INIT;

	if (tell_unknown(name, n_bytes, words, err))
		return -EINVAL;
	suggest_add_all(&all, words);
	sbx_error_fix(err, "use one of: %s", text_string(&all));
	return -EINVAL;
}

/* There are too many events to list them all in an error. */
int event_unknown_in_log(const char *name, size_t n_bytes, struct sbx_error *err)
{
	if (!tell_unknown(name, n_bytes, (struct suggest_words){ .word = event_nth_name }, err))
		sbx_error_fix(err, "use one of those that sbx-audit-layout(7) lists, such as '%s'",
			      events[0].name);
	return -EINVAL;
}

#define COMMITMENT "commitment"
#define WRITER "writer"

/* ---- forbidden in a line ---- */

static bool has_twice(const struct audit_entry *entry)
{
	if (!entry->may_repeat)
		return false;
	for (size_t i = 0; i < entry->n_members; i++)
		for (size_t j = 0; j < i; j++) {
			struct entry_text a = entry_member_name(entry, &entry->members[i]);
			struct entry_text b = entry_member_name(entry, &entry->members[j]);

			if (a.n_bytes == b.n_bytes && memcmp(a.bytes, b.bytes, a.n_bytes) == 0)
				return true;
		}
	return false;
}

static int check_names(struct audit_entry *entry, struct sbx_error *err)
{
	if (has_twice(entry))
		return entry_fail(err, -EINVAL, "a member occurs twice",
				  "write it once; readers do not agree on which of them counts");
	if (entry_has_known(entry, KNOWN_COMMITMENT) || entry_has_known(entry, KNOWN_WRITER))
		return entry_fail(err, -EINVAL,
				  "only sbx-audit writes '" COMMITMENT "' and '" WRITER "'",
				  "leave these members out");
	return 0;
}

/* A commitment is stored under the member's name, so a secret cannot be cut out of a name. */
static int check_clean_names(struct audit_entry *entry, const struct redactor *redactor,
			     struct sbx_error *err)
{
	for (size_t i = 0; i < entry->n_members; i++) {
		struct entry_text name = entry_member_name(entry, &entry->members[i]);
		int r = redactor_clean(redactor, name.bytes, name.n_bytes, &entry->decoded);

		if (r < 0)
			return entry_fail_memory(err);
		if (r > 0)
			return entry_fail(err, -EINVAL, "the name of a member looks like a secret",
					  "put it into a value, where sbx-audit redacts it");
	}
	return 0;
}

/* ---- writing the object again ---- */

static struct entry_text raw_name(const struct audit_entry *entry,
				  const struct entry_member *member)
{
	return (struct entry_text){ entry->base + member->name.at, member->name.n_bytes };
}

static bool is_summary(const struct entry_member *member)
{
	return member->known == KNOWN_INPUT_SUMMARY || member->known == KNOWN_OUTPUT_SUMMARY;
}

/* Number of bytes of the first @n_max characters. */
static size_t first_characters(const struct entry_text *text, size_t n_max)
{
	size_t at = 0, n;

	for (size_t i = 0; i < n_max && at < text->n_bytes; i++, at += n) {
		n = utf8_sequence(text->bytes + at, text->n_bytes - at);
		if (n == 0)
			break;
	}
	return at;
}

/* Shortens the text in *@value, which may be in entry->piece; afterwards it is there. */
static int cut_summary(struct audit_entry *entry, struct entry_text *value, struct sbx_error *err)
{
	struct json_scanner scanner;
	struct json_writer json;
	struct json_item item;
	struct entry_text text;

	if (value->n_bytes <= ENTRY_SUMMARY_MAX)
		return 0;
	json_scan(&scanner, value->bytes, value->n_bytes);
	if (json_next(&scanner, &item) <= 0 || item.kind != JSON_STRING)
		return 0;
	text_reset(&entry->decoded);
	if (json_decode(&item, &entry->decoded) < 0)
		return entry_fail_pair(err);
	if (text_status(&entry->decoded) < 0)
		return entry_fail_memory(err);
	text = (struct entry_text){ entry->decoded.data, entry->decoded.len };
	text.n_bytes = first_characters(&text, ENTRY_SUMMARY_MAX);
	if (text.n_bytes == entry->decoded.len)
		return 0;
	text_reset(&entry->piece);
	json_write(&json, &entry->piece);
	json_add_string_bytes(&json, text.bytes, text.n_bytes);
	*value = (struct entry_text){ text_string(&entry->piece), entry->piece.len };
	return text_status(&entry->piece) < 0 ? entry_fail_memory(err) : 0;
}

static int keep_original(struct audit_entry *entry, const struct entry_member *member,
			 struct sbx_error *err)
{
	struct entry_original *original = &entry->originals[entry->n_originals];

	original->name = raw_name(entry, member);
	original->value = entry_member_value(entry, member);
	if (getrandom(original->salt, sizeof(original->salt), 0) != (ssize_t)sizeof(original->salt))
		return entry_fail(err, -EIO, "the kernel gives no random bytes", NULL);
	entry->n_originals++;
	return 0;
}

/* A record is one line: drop the line breaks, which JSON allows only outside of strings. */
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

/* Cuts the secrets out of *@value; afterwards it is in entry->piece. */
static int clean_value(struct audit_entry *entry, const struct redactor *redactor,
		       const struct entry_member *member, struct entry_text *value,
		       struct sbx_error *err)
{
	int r = redactor_clean_json(redactor, value->bytes, value->n_bytes, &entry->piece);

	if (r == -EILSEQ)
		return entry_fail_pair(err);
	if (r < 0)
		return entry_fail_memory(err);
	if (r == 0)
		return 0;
	*value = (struct entry_text){ entry->piece.data, entry->piece.len };
	return keep_original(entry, member, err);
}

static int add_member(struct audit_entry *entry, const struct entry_options *options,
		      const struct entry_member *member, bool is_suspect, struct sbx_error *err)
{
	struct entry_text value = entry_member_value(entry, member);
	struct entry_text name = raw_name(entry, member);
	int r;

	text_reset(&entry->piece);
	r = is_suspect ? clean_value(entry, options->redactor, member, &value, err) : 0;
	if (r < 0)
		return r;
	r = is_summary(member) ? cut_summary(entry, &value, err) : 0;
	if (r < 0)
		return r;
	text_add(&entry->body, entry->body.len > 1 ? ",\"" : "\"");
	text_add_bytes(&entry->body, name.bytes, name.n_bytes);
	text_add(&entry->body, "\":");
	add_on_one_line(&entry->body, value.bytes, value.n_bytes);
	return 0;
}

static int add_commitments(struct audit_entry *entry, struct sbx_error *err)
{
	for (size_t i = 0; i < entry->n_originals; i++) {
		struct entry_original *original = &entry->originals[i];
		const struct iovec parts[] = {
			{ original->salt, sizeof(original->salt) },
			{ (void *)original->value.bytes, original->value.n_bytes },
		};
		struct audit_hash hash;

		if (audit_hash_digest(parts, N_ELEMENTS(parts), &hash) < 0)
			return entry_fail(err, -EIO, "libcrypto cannot hash", NULL);
		text_add(&entry->body, i == 0 ? ",\"" COMMITMENT "\":{\"" : ",\"");
		text_add_bytes(&entry->body, original->name.bytes, original->name.n_bytes);
		text_add(&entry->body, "\":\"");
		text_add_hex(&entry->body, hash.bytes, AUDIT_HASH_SIZE);
		text_add_char(&entry->body, '"');
	}
	if (entry->n_originals > 0)
		text_add_char(&entry->body, '}');
	return 0;
}

/* Fast path: most records have the same writer as the one before. */
static const struct text *writer_of(struct audit_entry *entry, const struct entry_options *options)
{
	struct text *writer = &entry->writer;

	if (writer->len == 0 || text_status(writer) < 0 || options->uid != entry->writer_uid ||
	    options->pid != entry->writer_pid || options->confined != entry->writer_confined ||
	    options->ring != entry->writer_ring) {
		text_reset(writer);
		text_addf(writer, "\"" WRITER "\":{\"uid\":%u", options->uid);
		/* A spooled file has an owner, but no pid. */
		if (options->pid > 0)
			text_addf(writer, ",\"pid\":%d", options->pid);
		if (options->confined)
			text_addf(writer, ",\"confined\":\"%s\"", options->confined);
		if (options->ring)
			text_addf(writer, ",\"ring\":\"%s\"", options->ring);
		text_add_char(writer, '}');
		entry->writer_uid = options->uid;
		entry->writer_pid = options->pid;
		entry->writer_confined = options->confined;
		entry->writer_ring = options->ring;
	}
	return writer;
}

static bool lacks_time(const struct audit_entry *entry, const struct entry_options *options)
{
	return options->now_usec > 0 && !entry_has_known(entry, KNOWN_TIME) &&
	       !entry_has_known(entry, KNOWN_TIMESTAMP);
}

static void add_what_we_know(struct audit_entry *entry, const struct entry_options *options)
{
	struct text *body = &entry->body;

	if (lacks_time(entry, options)) {
		text_add(body, body->len > 1 ? ",\"time\":\"" : "\"time\":\"");
		moment_add(body, options->now_usec);
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
	int r;

	text_reset(&entry->body);
	entry->n_originals = 0;
	text_add_char(&entry->body, '{');
	for (size_t i = 0; i < entry->n_members; i++) {
		r = add_member(entry, options, &entry->members[i], is_suspect, err);
		if (r < 0)
			return r;
	}
	r = add_commitments(entry, err);
	if (r < 0)
		return r;
	add_what_we_know(entry, options);
	text_add_char(&entry->body, '}');
	if (text_status(&entry->body) < 0)
		return entry_fail_memory(err);
	if (entry->body.len > ENTRY_BYTES_MAX)
		return entry_fail(err, -EMSGSIZE, "it is too long after its secrets were redacted",
				  "split it");
	return 0;
}

/* ---- lines copied whole ---- */

static bool is_short(const struct audit_entry *entry, enum entry_known known)
{
	return !entry_has_known(entry, known) ||
	       entry->known[known].n_bytes + 2 <= ENTRY_SUMMARY_MAX;
}

/* Would the object be written exactly as it is? Then copy it: the members keep their offsets, and
 * since nothing is escaped no name needs decoding. */
static bool can_stand(const struct audit_entry *entry, const struct entry_options *options,
		      const char *line)
{
	return entry->n_members > 0 && entry->n_compact == entry->end && line[0] == '{' &&
	       !lacks_time(entry, options) && is_short(entry, KNOWN_INPUT_SUMMARY) &&
	       is_short(entry, KNOWN_OUTPUT_SUMMARY) && !memchr(line, '\n', entry->end) &&
	       !memchr(line, '\r', entry->end);
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
	entry->base = body->data;
	return entry_read_members(entry, err);
}

/* ---- required members ---- */

static int check_event(const struct audit_entry *entry, const struct entry_options *options,
		       struct sbx_error *err)
{
	const struct audit_event *event = entry->event;
	int r;

	if (event->is_own != options->is_own) {
		r = entry_fail(err, -EINVAL, "", "choose another event");
		sbx_error_why(err, "only sbx-audit itself can write the event '%s'", event->name);
		return r;
	}
	for (size_t i = 0; i < EVENT_REQUIRED_MAX && event->required[i]; i++)
		if (!entry_has_member(entry, event->required[i])) {
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
	if (r < 0)
		return r;
	if (entry->n_members > ENTRY_LINE_MEMBERS_MAX)
		return entry_fail_members(ENTRY_LINE_MEMBERS_MAX, err);
	r = check_names(entry, err);
	if (r < 0)
		return r;
	/* An escape can spell any character of a secret, so a line with a backslash is always
	 * searched. */
	is_suspect = memchr(line, '\\', n_bytes) != NULL ||
		     redactor_suspects(options->redactor, line, n_bytes);
	r = is_suspect ? check_clean_names(entry, options->redactor, err) : 0;
	if (r < 0)
		return r;
	if (!is_suspect && can_stand(entry, options, line)) {
		r = copy_body(entry, options, line, err);
	} else {
		r = write_body(entry, options, is_suspect, err);
		if (r == 0)
			r = entry_read_stored(entry, entry->body.data, entry->body.len, err);
	}
	return r < 0 ? r : check_event(entry, options, err);
}
