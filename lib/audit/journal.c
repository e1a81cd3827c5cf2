/* SPDX-License-Identifier: MIT */

/*
 * Reading heads out of the journal. All of them count: a log that was written again and went on has
 * the later ones, and not those before.
 */

#include "audit/journal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-journal.h>

#include <sbx/error.h>

#include "audit/base64.h"
#include "audit/heads.h"

#define HEADS_KEPT_MAX WITNESS_HEADS_MAX
#define NUMBER_SIZE 24

static void journal_close(sd_journal **journal)
{
	sd_journal_close(*journal);
}
#define _cleanup_journal_ _cleanup_(journal_close)

struct reading {
	sd_journal *journal;
	const struct journal_options *options;
	struct witness witness;
	size_t n_max;
};

static int fail(struct sbx_error *err, int code, const char *why, const char *fix)
{
	(void)sbx_error_what(err, code, "cannot read the log's heads in the journal");
	if (why)
		sbx_error_why(err, "%s", why);
	sbx_error_fix(err, "%s", fix);
	return code;
}

/* ---- fields ---- */

/* The value without its name: 1, or 0 where the entry has no such field. */
static int get_field(const struct reading *reading, const char *name, const char **ret,
		     size_t *ret_n)
{
	size_t n_name = strlen(name), n;
	const void *data;
	int r = sd_journal_get_data(reading->journal, name, &data, &n);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (n <= n_name)
		return 0;
	*ret = (const char *)data + n_name + 1;
	*ret_n = n - n_name - 1;
	return 1;
}

static bool parse_number(const char *bytes, size_t n, uint64_t max, uint64_t *ret)
{
	uint64_t value = 0;

	if (n == 0 || n > 19 || (bytes[0] == '0' && n > 1))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (bytes[i] < '0' || bytes[i] > '9')
			return false;
		value = value * 10 + (uint64_t)(bytes[i] - '0');
	}
	*ret = value;
	return value <= max;
}

/* 1 with the number, 0 where there is none. */
static int get_number(const struct reading *reading, const char *name, uint64_t max, uint64_t *ret)
{
	const char *bytes;
	size_t n;
	int r = get_field(reading, name, &bytes, &n);

	return r > 0 ? parse_number(bytes, n, max, ret) : r;
}

static int get_root(const struct reading *reading, struct audit_hash *ret)
{
	const char *bytes;
	size_t n;
	int r = get_field(reading, HEADS_FIELD_ROOT, &bytes, &n);

	if (r <= 0)
		return r;
	return base64_decode_exactly(bytes, n, ret->bytes, sizeof(ret->bytes)) == 0;
}

/* ---- heads ---- */

/* Each of those that are left still shows what was before it. */
static void thin_out(struct witness *witness)
{
	size_t n = 0;

	for (size_t i = 0; i < witness->n_heads; i += 2)
		witness->heads[n++] = witness->heads[i];
	witness->n_heads = n;
}

static int add_head(struct reading *reading, const struct witness_head *head)
{
	struct witness *witness = &reading->witness;

	if (witness->n_heads == HEADS_KEPT_MAX)
		thin_out(witness);
	if (witness->n_heads == reading->n_max) {
		size_t n_max = reading->n_max ? 2 * reading->n_max : 64;
		void *grown = reallocarray(witness->heads, n_max, sizeof(*witness->heads));

		if (!grown)
			return -ENOMEM;
		witness->heads = grown;
		reading->n_max = n_max;
	}
	witness->heads[witness->n_heads++] = *head;
	return 0;
}

/* Fields that begin with an underscore are journald's own. */
static int is_from_owner(const struct reading *reading)
{
	uint64_t uid;
	int r = get_number(reading, "_UID", UINT32_MAX, &uid);

	return r <= 0 ? r : uid == 0 || uid == reading->options->owner;
}

static int take_entry(struct reading *reading, struct sbx_error *err)
{
	static const char fix[] = "look at the entries of this MESSAGE_ID with journalctl: a user "
				  "with access to the log has written one that is not a head";
	struct witness_head head;
	int r = is_from_owner(reading);

	if (r <= 0)
		return r < 0 ? fail(err, r, NULL, "check the journal: journalctl --verify") : 0;
	r = get_number(reading, HEADS_FIELD_SIZE, INT64_MAX, &head.size);
	if (r > 0)
		r = get_root(reading, &head.root);
	if (r < 0)
		return fail(err, r, NULL, "check the journal: journalctl --verify");
	if (r == 0 || head.size == 0)
		return fail(err, -EBADMSG, "an entry has no size and root", fix);
	r = add_head(reading, &head);
	return r < 0 ? fail(err, r, NULL, "free some memory") : 0;
}

static int each_entry(struct reading *reading, struct sbx_error *err)
{
	int r = 0, more;

	while (r == 0 && (more = sd_journal_next(reading->journal)) != 0)
		r = more < 0 ? fail(err, more, NULL, "check the journal: journalctl --verify")
			     : take_entry(reading, err);
	return r;
}

/* ---- the journal ---- */

static int open_journal(const struct journal_options *options, sd_journal **ret,
			struct sbx_error *err)
{
	int r;

	if (options->directory)
		r = sd_journal_open_directory(ret, options->directory, 0);
	else
		r = sd_journal_open(ret, SD_JOURNAL_LOCAL_ONLY);
	if (r < 0)
		return fail(err, r, NULL, "check that the journal exists and can be read");
	return 0;
}

static int choose(sd_journal *journal, const struct journal_options *options)
{
	char origin[sizeof(HEADS_FIELD_LOG) + NOTE_NAME_SIZE];
	int r = sd_journal_add_match(journal, "MESSAGE_ID=" HEADS_MESSAGE_ID, 0);

	(void)snprintf(origin, sizeof(origin), HEADS_FIELD_LOG "=%s", options->origin);
	if (r >= 0)
		r = sd_journal_add_match(journal, origin, 0);
	return r;
}

int witness_read_journal(struct witness *ret, const struct journal_options *options,
			 struct sbx_error *err)
{
	_cleanup_journal_ sd_journal *journal = NULL;
	struct reading reading = { .options = options };
	int r = open_journal(options, &journal, err);

	if (r < 0)
		return r;
	reading.journal = journal;
	r = choose(journal, options);
	r = r < 0 ? fail(err, r, NULL, "check the journal: journalctl --verify")
		  : each_entry(&reading, err);
	if (r == 0 && reading.witness.n_heads == 0)
		r = fail(err, -ENODATA, "there is none of this log that this user may see",
			 "run it as root or in the group systemd-journal, on the machine where "
			 "'sbx-audit serve' keeps the log");
	if (r < 0) {
		witness_deinit(&reading.witness);
		return r;
	}
	witness_sort(&reading.witness);
	(void)snprintf(reading.witness.origin, sizeof(reading.witness.origin), "%s",
		       options->origin);
	*ret = reading.witness;
	return 0;
}
