/* SPDX-License-Identifier: MIT */

/*
 * The walk over a record: compact JSON, texts without escapes where they matter
 *
 * It is strict about what it knows, and leaves every value that it does not know to the scanner.
 * What it does not expect ends it: nothing is lost by that but time.
 */

#include "audit/entry-walk.h"

#include <string.h>

#include "base/json-plain.h"
#include "base/json.h"

#define NAME_LENGTH_MAX 16
#define CANDIDATES_MAX 4

struct name {
	const char *name;
	enum slot slot;
};

/* By the length of the name. */
typedef const struct name names_by_length[NAME_LENGTH_MAX + 1][CANDIDATES_MAX];

static names_by_length top_names = {
	[2] = { { "op", SLOT_OP } },
	[4] = { { "time", SLOT_TIME },
		{ "tool", SLOT_TOOL },
		{ "rule", SLOT_RULE },
		{ "peer", SLOT_PEER } },
	[5] = { { "event", SLOT_EVENT }, { "input", SLOT_INPUT }, { "rules", SLOT_RULES } },
	[6] = { { "caller", SLOT_CALLER } },
	[7] = { { "verdict", SLOT_VERDICT }, { "builtin", SLOT_BUILTIN } },
	[8] = { { "decision", SLOT_DECISION } },
	[10] = { { "sandbox_id", SLOT_SANDBOX }, { "event_type", SLOT_EVENT_TYPE } },
	[12] = { { "syscall_type", SLOT_SYSCALL } },
	[15] = { { "policy_decision", SLOT_POLICY_DECISION } },
	[16] = { { "policy_rule_name", SLOT_POLICY_RULE } },
};
static names_by_length input_names = {
	[2] = { { "op", SLOT_INPUT_OP } },
	[6] = { { "caller", SLOT_INPUT_CALLER } },
};
static names_by_length peer_names = { [10] = { { "sandbox_id", SLOT_PEER_SANDBOX } } };
static names_by_length caller_names = { [4] = { { "name", SLOT_CALLER_NAME } } };
static names_by_length rules_names = { [4] = { { "name", SLOT_RULES_NAME } } };

/* What is inside which object. */
static const struct inner {
	enum slot slot;
	char begin;
	names_by_length *names;
} inners[] = {
	{ SLOT_INPUT, '{', &input_names },
	{ SLOT_PEER, '{', &peer_names },
	{ SLOT_CALLER, '{', &caller_names },
	{ SLOT_RULES, '[', &rules_names },
};

/* ---- pieces ---- */

static bool take_char(struct entry_walk *walk, char c)
{
	return walk->at < walk->end && *walk->at++ == c;
}

static bool is_next(const struct entry_walk *walk, char c)
{
	return walk->at < walk->end && *walk->at == c;
}

/* From behind the first quote. */
static inline bool take_plain(struct entry_walk *walk, struct entry_text *ret)
{
	size_t n = json_plain(walk->at, (size_t)(walk->end - walk->at));

	*ret = (struct entry_text){ walk->at, n };
	walk->at += n;
	return take_char(walk, '"');
}

/* Any value, at the scanner's pace. */
static bool skip_slowly(struct entry_walk *walk)
{
	struct json_scanner scanner;
	struct json_item item;

	json_scan(&scanner, walk->at, (size_t)(walk->end - walk->at));
	if (json_next(&scanner, &item) <= 0 || json_skip(&scanner, &item) < 0)
		return false;
	walk->at += scanner.at;
	/* How deep it is counts from the record: what is short enough is not too deep. */
	return scanner.at < JSON_DEPTH_MAX;
}

/* A text without escapes, or a whole number: false for every other value, which may be right. */
static inline bool skip_simple(struct entry_walk *walk)
{
	const char *begin = walk->at;
	struct entry_text text;

	if (is_next(walk, '"')) {
		walk->at++;
		return take_plain(walk, &text);
	}
	while (walk->at < walk->end && *walk->at >= '0' && *walk->at <= '9')
		walk->at++;
	if (walk->at == begin || (*begin == '0' && walk->at > begin + 1))
		return false;
	return is_next(walk, ',') || is_next(walk, '}');
}

/* An object of such values. */
static bool skip_flat(struct entry_walk *walk)
{
	struct entry_text name;

	if (!take_char(walk, '{'))
		return false;
	do {
		if (!take_char(walk, '"') || !take_plain(walk, &name) || !take_char(walk, ':') ||
		    !skip_simple(walk))
			return false;
	} while (is_next(walk, ',') && take_char(walk, ','));
	return take_char(walk, '}');
}

static bool skip_value(struct entry_walk *walk)
{
	const char *begin = walk->at;

	if (is_next(walk, '{') ? skip_flat(walk) : skip_simple(walk))
		return true;
	walk->at = begin;
	return skip_slowly(walk);
}

static const struct name *find_name(names_by_length *names, const struct entry_text *text)
{
	const struct name *candidates;

	if (text->n_bytes == 0 || text->n_bytes > NAME_LENGTH_MAX)
		return NULL;
	candidates = (*names)[text->n_bytes];
	for (size_t i = 0; i < CANDIDATES_MAX && candidates[i].name; i++)
		if (candidates[i].name[0] == text->bytes[0] &&
		    memcmp(candidates[i].name, text->bytes, text->n_bytes) == 0)
			return &candidates[i];
	return NULL;
}

/* ---- objects ---- */

static const struct inner *find_inner(enum slot slot)
{
	for (size_t i = 0; i < N_ELEMENTS(inners); i++)
		if (inners[i].slot == slot)
			return &inners[i];
	return NULL;
}

static bool has_seen(const struct entry_walk *walk, enum slot slot)
{
	return walk->seen & UINT32_C(1) << slot;
}

/* The value of a member whose name matters: a plain text, or null. The first one of a name counts.
 */
static bool take_text(struct entry_walk *walk, enum slot slot)
{
	if (has_seen(walk, slot))
		return skip_value(walk);
	walk->seen |= UINT32_C(1) << slot;
	if (is_next(walk, 'n'))
		return skip_slowly(walk);
	return take_char(walk, '"') && take_plain(walk, &walk->texts[slot]);
}

static bool walk_inner(struct entry_walk *walk, names_by_length *names)
{
	if (!take_char(walk, '{'))
		return false;
	if (is_next(walk, '}'))
		return take_char(walk, '}');
	do {
		const struct name *name;
		struct entry_text text;

		if (!take_char(walk, '"') || !take_plain(walk, &text) || !take_char(walk, ':'))
			return false;
		name = find_name(names, &text);
		if (!(name ? take_text(walk, name->slot) : skip_value(walk)))
			return false;
	} while (is_next(walk, ',') && take_char(walk, ','));
	return take_char(walk, '}');
}

/* Of an array the first element counts. */
static bool walk_first(struct entry_walk *walk, names_by_length *names)
{
	(void)take_char(walk, '[');
	if (is_next(walk, ']'))
		return take_char(walk, ']');
	if (!walk_inner(walk, names))
		return false;
	while (is_next(walk, ',')) {
		walk->at++;
		if (!skip_value(walk))
			return false;
	}
	return take_char(walk, ']');
}

static bool take_member(struct entry_walk *walk, enum slot slot)
{
	const struct inner *inner = find_inner(slot);

	if (!inner || has_seen(walk, slot) || !is_next(walk, inner->begin))
		return (slot < SLOT_INPUT) && take_text(walk, slot);
	walk->seen |= UINT32_C(1) << slot;
	return inner->begin == '[' ? walk_first(walk, inner->names)
				   : walk_inner(walk, inner->names);
}

bool entry_walk_record(struct entry_walk *walk)
{
	size_t n = 0;

	if (!take_char(walk, '{'))
		return false;
	do {
		const struct name *name;
		struct entry_text text;

		if (!take_char(walk, '"') || !take_plain(walk, &text) || !take_char(walk, ':') ||
		    ++n > ENTRY_MEMBERS_MAX)
			return false;
		name = find_name(&top_names, &text);
		if (!(name ? take_member(walk, name->slot) : skip_value(walk)))
			return false;
	} while (is_next(walk, ',') && take_char(walk, ','));
	return take_char(walk, '}') && walk->at == walk->end;
}
