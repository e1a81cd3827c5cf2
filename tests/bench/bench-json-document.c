/* SPDX-License-Identifier: MIT */

/* The document of the JSON benchmarks, written twice: by hand and with the writer */

#include "bench-json-document.h"

#include <stdio.h>

#include "base/json.h"
#include "base/text.h"

void document_fill(struct document_record records[DOCUMENT_N_RECORDS])
{
	for (unsigned i = 0; i < DOCUMENT_N_RECORDS; i++) {
		struct document_record *record = &records[i];

		record->number = i;
		(void)snprintf(record->time, sizeof(record->time), "2024-03-01T12:%02u:%02u.%06uZ",
			       i % 60, i * 7 % 60, i * 31337 % 1000000);
		(void)snprintf(record->sandbox, sizeof(record->sandbox), "s-%06x", i * 4099);
		(void)snprintf(record->path, sizeof(record->path),
			       "/srv/project/src/module-%u/main.c", i);
	}
}

static void add_plainly(struct text *out, const struct document_record *record)
{
	unsigned i = record->number;

	text_addf(out, "{\"sequence\":%u,\"time\":\"%s\",", 40000 + i, record->time);
	text_addf(out, "\"event\":\"policy_decision\",\"sandbox\":\"%s\",", record->sandbox);
	text_addf(out, "\"pid\":%u,\"operation\":\"fs.read\",", 1000 + i);
	text_addf(out, "\"path\":\"%s\",\"decision\":\"allow\",", record->path);
	text_add(out, "\"rule\":\"read-sources\",");
	text_add(out, "\"reason\":\"inside the \\\"project\\\" folder\\n\",");
	text_addf(out, "\"duration_usec\":%u.5,\"offset\":-%u,", i * 3, i + 1);
	text_add(out, "\"labels\":[\"build\",\"gr\303\266\303\237e\",3],");
	text_addf(out, "\"limits\":{\"pids\":64,\"memory\":%u},", 536870912 + i);
	text_add(out, "\"cached\":true,\"parent\":null}");
}

void document_add_plainly(struct text *out, const struct document_record *records)
{
	for (unsigned i = 0; i < DOCUMENT_N_RECORDS; i++) {
		text_add_char(out, i == 0 ? '[' : ',');
		add_plainly(out, &records[i]);
	}
	text_add_char(out, ']');
}

static void write_record(struct json_writer *writer, const struct document_record *record)
{
	unsigned i = record->number;
	char duration[16];

	json_add_object(writer);
	json_member_u64(writer, "sequence", 40000 + i);
	json_member_string(writer, "time", record->time);
	json_member_string(writer, "event", "policy_decision");
	json_member_string(writer, "sandbox", record->sandbox);
	json_member_u64(writer, "pid", 1000 + i);
	json_member_string(writer, "operation", "fs.read");
	json_member_string(writer, "path", record->path);
	json_member_string(writer, "decision", "allow");
	json_member_string(writer, "rule", "read-sources");
	json_member_string(writer, "reason", "inside the \"project\" folder\n");
	json_add_name(writer, "duration_usec");
	json_add_raw(writer, duration, (size_t)snprintf(duration, sizeof(duration), "%u.5", i * 3));
	json_member_i64(writer, "offset", -(int64_t)i - 1);
	json_add_name(writer, "labels");
	json_add_array(writer);
	json_add_string(writer, "build");
	json_add_string(writer, "gr\303\266\303\237e");
	json_add_u64(writer, 3);
	json_end_array(writer);
	json_add_name(writer, "limits");
	json_add_object(writer);
	json_member_u64(writer, "pids", 64);
	json_member_u64(writer, "memory", 536870912 + i);
	json_end_object(writer);
	json_member_bool(writer, "cached", true);
	json_add_name(writer, "parent");
	json_add_null(writer);
	json_end_object(writer);
}

void document_write(struct json_writer *writer, const struct document_record *records)
{
	json_add_array(writer);
	for (unsigned i = 0; i < DOCUMENT_N_RECORDS; i++)
		write_record(writer, &records[i]);
	json_end_array(writer);
}
