/* SPDX-License-Identifier: MIT */

/*
 * Two bounded tables: denials whose record waits for the end of their second, and distinct denials
 * for the summary. When the first is full its oldest row is written early; when the second is full,
 * further ones are only counted.
 *
 * Records that cannot be written wait in memory: a connection that was made has its record, even if
 * the disk was full when it ended.
 */

#include "proxy/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "base/hostname.h"
#include "base/json.h"
#include "base/text.h"
#include "record/record.h"
#include "registry/handover.h"

#define PENDING_MAX 64
#define DENIALS_MAX 32
_Static_assert(DENIALS_MAX <= HANDOVER_DENIALS_MAX, "every row has room in the summary");
#define SECOND_USEC UINT64_C(1000000)
/* Without room for its record no connection is made, so only those that are open add to these. */
#define UNSENT_BYTES_MAX ((size_t)16 * 1024 * 1024)
#define TOOL "sbx-proxy"

#define RULE_SIZE 256
#define WHY_SIZE 512

struct denial {
	char host[HOSTNAME_TEXT_SIZE];
	uint16_t port;
	const char *reason;   /* a literal */
	char rule[RULE_SIZE]; /* cut to this size */
	char why[WHY_SIZE];   /* the same */
	struct text text; /* the decision of a pending record, or the fix of a row of the summary */
	uint64_t count;
	uint64_t since_usec;
};

struct denials {
	struct denial *rows;
	size_t n_rows;
	size_t n_max;
};

/* A record that could not be written, without its end. */
struct unsent {
	struct unsent *next;
	struct text record;
	struct json_writer json;
};

struct report {
	struct recorder *recorder;
	const char *sandbox;
	struct denials pending; /* the oldest first */
	struct denials seen;
	uint64_t n_left_out;
	struct unsent *unsent; /* the oldest first; sent again before anything is allowed */
	struct unsent *last_unsent;
	size_t n_unsent_bytes;
	uint64_t n_lost;     /* for which there was no memory */
	uint64_t tried_usec; /* when report_flush() has sent them again */
};

static void denials_deinit(struct denials *denials)
{
	for (size_t i = 0; i < denials->n_rows; i++)
		text_deinit(&denials->rows[i].text);
	free(denials->rows);
}

/* @decision: NULL if it may differ. A client that is refused with many server names must not hide
 * all but the first in a count. */
static bool is_equal(const struct denial *denial, const struct report_denial *other,
		     const char *decision)
{
	return denial->port == other->port && strcmp(denial->host, other->host) == 0 &&
	       strcmp(denial->reason, other->reason) == 0 &&
	       strncmp(denial->rule, other->rule, RULE_SIZE - 1) == 0 &&
	       (!decision || strcmp(text_string(&denial->text), decision) == 0);
}

static struct denial *find(const struct denials *denials, const struct report_denial *wanted,
			   const char *decision)
{
	for (size_t i = 0; i < denials->n_rows; i++)
		if (is_equal(&denials->rows[i], wanted, decision))
			return &denials->rows[i];
	return NULL;
}

static void copy(char *to, size_t size, const char *from)
{
	size_t len = strnlen(from, size - 1);

	memcpy(to, from, len);
	to[len] = '\0';
}

/* NULL if there is no room or no memory. */
static struct denial *add(struct denials *denials, const struct report_denial *from,
			  const char *text)
{
	struct denial *row = &denials->rows[denials->n_rows];

	if (denials->n_rows == denials->n_max)
		return NULL;
	copy(row->host, sizeof(row->host), from->host);
	copy(row->rule, sizeof(row->rule), from->rule);
	copy(row->why, sizeof(row->why), from->why);
	row->port = from->port;
	row->reason = from->reason;
	row->count = 0;
	row->text = (struct text)TEXT_INIT;
	text_add(&row->text, text);
	if (text_status(&row->text) < 0) {
		text_deinit(&row->text);
		return NULL;
	}
	denials->n_rows++;
	return row;
}

static int denials_init(struct denials *denials, size_t n_max)
{
	denials->rows = calloc(n_max, sizeof(*denials->rows));
	denials->n_max = n_max;
	return denials->rows ? 0 : -ENOMEM;
}

int report_new(struct recorder *recorder, const char *sandbox, struct report **ret)
{
	struct report *report = calloc(1, sizeof(*report));

	if (!report)
		return -ENOMEM;
	report->recorder = recorder;
	report->sandbox = sandbox;
	if (denials_init(&report->pending, PENDING_MAX) < 0 ||
	    denials_init(&report->seen, DENIALS_MAX) < 0) {
		(void)report_free(report);
		return -ENOMEM;
	}
	*ret = report;
	return 0;
}

static void drop_unsent(struct report *report)
{
	struct unsent *unsent = report->unsent;

	report->unsent = unsent->next;
	report->n_unsent_bytes -= unsent->record.len;
	text_deinit(&unsent->record);
	free(unsent);
}

struct report *report_free(struct report *report)
{
	if (!report)
		return NULL;
	report_flush(report, UINT64_MAX);
	denials_deinit(&report->pending);
	denials_deinit(&report->seen);
	while (report->unsent)
		drop_unsent(report);
	free(report);
	return NULL;
}

/* ---- records ---- */

static void begin(const struct report *report, struct text *record, struct json_writer *json,
		  const char *event)
{
	record_begin(report->recorder, record, json, event, TOOL);
	json_member_if_set(json, "sandbox_id", report->sandbox);
}

static void keep(struct report *report, const struct text *record, const struct json_writer *json)
{
	struct unsent *unsent = NULL;

	if (record->len <= UNSENT_BYTES_MAX - report->n_unsent_bytes)
		unsent = calloc(1, sizeof(*unsent));
	if (unsent)
		text_add_bytes(&unsent->record, record->data, record->len);
	if (!unsent || record->failed || text_status(&unsent->record) < 0) {
		report->n_lost++;
		if (unsent)
			text_deinit(&unsent->record);
		free(unsent);
		return;
	}
	unsent->json = *json;
	if (report->unsent)
		report->last_unsent->next = unsent;
	else
		report->unsent = unsent;
	report->last_unsent = unsent;
	report->n_unsent_bytes += unsent->record.len;
}

/* Leaves @record as it is, for another try. */
static int try_to_send(struct report *report, const struct text *record,
		       const struct json_writer *json)
{
	_cleanup_text_ struct text sent = TEXT_INIT;
	struct json_writer sent_json = *json;
	struct sbx_error err = { .code = 0 };

	text_add_bytes(&sent, record->data, record->len);
	sent.failed = sent.failed || record->failed;
	sent_json.out = &sent;
	return record_send(report->recorder, &sent, &sent_json, &err);
}

/* No record overtakes another one, and none waits for a try of its own, which may take time. */
static void send_record(struct report *report, const struct text *record,
			const struct json_writer *json)
{
	if (report->unsent || try_to_send(report, record, json) < 0)
		keep(report, record, json);
}

static void send_again(struct report *report)
{
	while (report->unsent &&
	       try_to_send(report, &report->unsent->record, &report->unsent->json) == 0)
		drop_unsent(report);
}

static void write_denial(struct report *report, const struct denial *denial)
{
	_cleanup_text_ struct text record = TEXT_INIT;
	struct json_writer json;

	if (!report->recorder)
		return;
	begin(report, &record, &json, "policy_decision");
	json_member_u64(&json, "count", denial->count);
	json_member_string(&json, "reason", denial->reason);
	record_add_members(&record, &json, denial->text.data, denial->text.len);
	send_record(report, &record, &json);
}

void report_connected(struct report *report, const struct report_connection *connection)
{
	_cleanup_text_ struct text record = TEXT_INIT;
	struct json_writer json;

	if (!report->recorder)
		return;
	begin(report, &record, &json, "proxy_connection");
	json_member_string(&json, "host", connection->host);
	json_member_u64(&json, "port", connection->port);
	json_member_if_set(&json, "address", connection->address);
	if (connection->rule[0] != '\0')
		json_member_string(&json, "rule", connection->rule);
	json_member_string(&json, "kind", connection->kind);
	json_member_string(&json, "cause", connection->cause);
	json_member_u64(&json, "requests", connection->n_requests);
	json_member_u64(&json, "bytes_up", connection->bytes_up);
	json_member_u64(&json, "bytes_down", connection->bytes_down);
	json_member_u64(&json, "usec", connection->usec);
	send_record(report, &record, &json);
}

bool report_is_lost(struct report *report)
{
	send_again(report);
	return report->unsent;
}

uint64_t report_count_lost(const struct report *report)
{
	uint64_t n = report->n_lost;

	for (const struct unsent *at = report->unsent; at; at = at->next)
		n++;
	return n;
}

/* ---- denials ---- */

static void write_oldest(struct report *report)
{
	struct denials *pending = &report->pending;

	write_denial(report, &pending->rows[0]);
	text_deinit(&pending->rows[0].text);
	pending->n_rows--;
	memmove(&pending->rows[0], &pending->rows[1], pending->n_rows * sizeof(pending->rows[0]));
}

void report_flush(struct report *report, uint64_t now_usec)
{
	while (report->pending.n_rows > 0 &&
	       (now_usec == UINT64_MAX ||
		report->pending.rows[0].since_usec + SECOND_USEC <= now_usec))
		write_oldest(report);
	/* A try may take a while, in which no byte is relayed. */
	if (!report->unsent || now_usec - report->tried_usec < SECOND_USEC)
		return;
	report->tried_usec = now_usec;
	send_again(report);
}

bool report_has_pending(const struct report *report)
{
	return report->pending.n_rows > 0 || report->unsent;
}

static void count_for_summary(struct report *report, const struct report_denial *denial)
{
	struct denial *row = find(&report->seen, denial, NULL);

	if (!row)
		row = add(&report->seen, denial, denial->fix);
	if (row)
		row->count++;
	else
		report->n_left_out++;
}

void report_unresolved(struct report *report, const char *host, uint16_t port, const char *reason)
{
	const struct report_denial row = {
		.host = host, .port = port, .reason = reason, .rule = "", .why = "", .fix = ""
	};

	count_for_summary(report, &row);
}

void report_denied(struct report *report, const struct report_denial *denial, uint64_t now_usec)
{
	struct denial *row;

	count_for_summary(report, denial);
	report_flush(report, now_usec);
	row = find(&report->pending, denial, denial->decision);
	if (!row && report->pending.n_rows == report->pending.n_max)
		write_oldest(report);
	if (!row) {
		row = add(&report->pending, denial, denial->decision);
		if (row)
			row->since_usec = now_usec;
	}
	if (row)
		row->count++;
}

void report_get_denials(const struct report *report, struct handover_summary *ret)
{
	for (size_t i = 0; i < report->seen.n_rows; i++) {
		const struct denial *row = &report->seen.rows[i];

		ret->denials[i] = (struct handover_denial){
			.host = row->host,
			.port = row->port,
			.reason = row->reason,
			.rule = row->rule[0] != '\0' ? row->rule : NULL,
			.why = row->why[0] != '\0' ? row->why : NULL,
			.fix = row->text.len > 0 ? text_string(&row->text) : NULL,
			.count = row->count,
		};
	}
	ret->n_denials = report->seen.n_rows;
	ret->n_denials_left_out = report->n_left_out;
}
