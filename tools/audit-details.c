/* SPDX-License-Identifier: MIT */

/*
 * What a record says about a command: its words, its status, how long it ran
 *
 * One pass over the members of the object, by a table of their names. A member of another kind than
 * expected is passed over: records of other programs may use the same name for something else.
 */

#include "audit.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"

#define COMMAND_BYTES_MAX 200
#define USEC_PER_MSEC 1000
#define USEC_PER_SEC UINT64_C(1000000)

void details_deinit(struct details *details)
{
	text_deinit(&details->command);
	text_deinit(&details->reason);
}

/* A word is quoted where a shell would split it or read something else in it. */
void details_add_word(struct text *out, const char *bytes, size_t n_bytes)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:=@%+,-";
	size_t n_plain = 0;

	while (n_plain < n_bytes && bytes[n_plain] != '\0' && strchr(plain, bytes[n_plain]))
		n_plain++;
	if (n_bytes > 0 && n_plain == n_bytes) {
		text_add_bytes(out, bytes, n_bytes);
		return;
	}
	text_add_char(out, '\'');
	for (size_t i = 0; i < n_bytes; i++)
		if (bytes[i] == '\'')
			text_add(out, "'\\''");
		else
			text_add_char(out, bytes[i]);
	text_add_char(out, '\'');
}

/* What has no characters (an unpaired surrogate) is taken as it is written. */
void details_decode(const struct json_item *item, struct text *out)
{
	size_t begin = out->len;

	if (json_decode(item, out) == 0)
		return;
	text_truncate(out, begin);
	text_add_bytes(out, item->bytes, item->n_bytes);
}

/* ---- members ---- */

static void read_words(struct json_scanner *scanner, const struct json_item *first,
		       struct details *details)
{
	_cleanup_text_ struct text word = TEXT_INIT;
	struct json_item item;

	text_reset(&details->command);
	while (json_next(scanner, &item) > 0 && item.kind != JSON_ARRAY_END) {
		if (item.kind != JSON_STRING) {
			(void)json_skip(scanner, &item);
			continue;
		}
		text_reset(&word);
		details_decode(&item, &word);
		if (details->command.len > 0)
			text_add_char(&details->command, ' ');
		details_add_word(&details->command, text_string(&word), word.len);
	}
}

static void read_status(struct json_scanner *scanner, const struct json_item *item,
			struct details *details)
{
	details->has_status = json_i64(item, &details->status) == 0;
}

static void read_usec(struct json_scanner *scanner, const struct json_item *item,
		      struct details *details)
{
	details->has_usec = json_u64(item, &details->usec) == 0;
}

static void read_reason(struct json_scanner *scanner, const struct json_item *item,
			struct details *details)
{
	text_reset(&details->reason);
	details_decode(item, &details->reason);
}

static void read_size(struct json_scanner *scanner, const struct json_item *item,
		      struct details *details)
{
	if (json_u64(item, &details->size) < 0)
		details->size = 0;
}

static const struct {
	const char *name;
	enum json_kind kind;
	void (*read)(struct json_scanner *scanner, const struct json_item *item,
		     struct details *details);
} members[] = {
	{ "argv", JSON_ARRAY_BEGIN, read_words }, { "status", JSON_NUMBER, read_status },
	{ "usec", JSON_NUMBER, read_usec },	  { "reason", JSON_STRING, read_reason },
	{ "size", JSON_NUMBER, read_size },
};

static void read_member(struct json_scanner *scanner, const struct json_item *name,
			const struct json_item *value, struct details *details)
{
	for (size_t i = 0; i < N_ELEMENTS(members); i++)
		if (members[i].kind == value->kind && json_equals(name, members[i].name)) {
			members[i].read(scanner, value, details);
			return;
		}
	(void)json_skip(scanner, value);
}

void details_read(const char *body, size_t n_body, struct details *ret)
{
	struct json_item name, value;
	struct json_scanner scanner;

	text_reset(&ret->command);
	text_reset(&ret->reason);
	ret->has_status = ret->has_usec = false;
	ret->size = 0;
	json_scan(&scanner, body, n_body);
	if (json_next(&scanner, &value) <= 0 || value.kind != JSON_OBJECT_BEGIN)
		return;
	while (json_next(&scanner, &name) > 0 && name.kind == JSON_NAME &&
	       json_next(&scanner, &value) > 0)
		read_member(&scanner, &name, &value, ret);
}

/* ---- as text ---- */

/* Not exactly: what is short is said in milliseconds, what is long in minutes or hours. */
static void add_duration(struct text *out, uint64_t usec)
{
	uint64_t seconds = usec / USEC_PER_SEC;

	if (seconds == 0)
		text_addf(out, "%" PRIu64 "ms", usec / USEC_PER_MSEC);
	else if (seconds < 60)
		text_addf(out, "%" PRIu64 ".%" PRIu64 "s", seconds,
			  usec % USEC_PER_SEC * 10 / USEC_PER_SEC);
	else if (seconds < 3600)
		text_addf(out, "%" PRIu64 "m%02" PRIu64 "s", seconds / 60, seconds % 60);
	else
		text_addf(out, "%" PRIu64 "h%02" PRIu64 "m", seconds / 3600, seconds / 60 % 60);
}

/* The command comes last, because its words are separated by spaces. */
void details_add_text(struct text *out, const struct details *details)
{
	size_t len = details->command.len;

	if (details->has_status)
		text_addf(out, " status=%" PRId64, details->status);
	if (details->reason.len > 0) {
		text_add(out, " reason=");
		text_add_visible(out, details->reason.data, details->reason.len);
	}
	if (details->has_usec) {
		text_add(out, " duration=");
		add_duration(out, details->usec);
	}
	if (len == 0)
		return;
	if (len > COMMAND_BYTES_MAX)
		for (len = COMMAND_BYTES_MAX;
		     len > 0 && ((unsigned char)details->command.data[len] & 0xc0) == 0x80;)
			len--;
	text_add(out, " command=");
	text_add_visible(out, details->command.data, len);
	if (len < details->command.len)
		text_add(out, "...");
}
