/* SPDX-License-Identifier: MIT */

/*
 * sbx_record: audit records of other programs
 *
 * The caller's members are added to those that the library writes. With a second "event" or "time"
 * two parsers could read different records, so such names are refused.
 */

#include <sbx/record.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/json.h"
#include "record/record.h"

struct sbx_recorder {
	struct recorder recorder;
};

/* As record_begin() writes them. */
static const char *const own_names[] = {
	"version", "time", "boot", "boot_usec", "event", "tool", "pid",
};

int sbx_recorder_open(struct sbx_recorder **ret, struct sbx_error *err)
{
	struct sbx_recorder *recorder = calloc(1, sizeof(*recorder));
	int r;

	if (!recorder)
		return sbx_error_what(err, -ENOMEM, "no memory for a recorder");
	recorder->recorder = (struct recorder)RECORDER_INIT;
	r = recorder_open_spool(&recorder->recorder, environ, err);
	if (r < 0) {
		sbx_recorder_close(recorder);
		return r;
	}
	*ret = recorder;
	return 0;
}

void sbx_recorder_close(struct sbx_recorder *recorder)
{
	if (!recorder)
		return;
	recorder_deinit(&recorder->recorder);
	free(recorder);
}

static bool is_own(const struct json_item *name)
{
	for (size_t i = 0; i < N_ELEMENTS(own_names); i++)
		if (json_equals(name, own_names[i]))
			return true;
	return false;
}

/* 0 if @members is exactly one object without one of own_names. */
static int check_members(const char *members)
{
	struct json_scanner scanner;
	struct json_item item;
	int r;

	json_scan(&scanner, members, strlen(members));
	if (json_next(&scanner, &item) != 1 || item.kind != JSON_OBJECT_BEGIN)
		return -EINVAL;
	while ((r = json_next(&scanner, &item)) == 1)
		if (item.kind == JSON_NAME && scanner.depth == 1 && is_own(&item))
			return -EEXIST;
	return r == 0 ? 0 : -EINVAL;
}

static int refuse(struct sbx_error *err, int r)
{
	return error_fill(err, -EINVAL,
			  r == -EEXIST ? "a member has a name that the library writes itself"
				       : "its members are not one JSON object",
			  "see sbx/record.h", "cannot write a record");
}

int sbx_record(struct sbx_recorder *recorder, const char *event, const char *tool,
	       const char *members, struct sbx_error *err)
{
	_cleanup_text_ struct text record = TEXT_INIT;
	size_t n_members = members ? strlen(members) : 0;
	struct json_writer json;
	int r = members ? check_members(members) : 0;

	if (r < 0)
		return refuse(err, r);
	record_begin(&recorder->recorder, &record, &json, event, tool);
	/* JSON allows white space before the brace. */
	if (members) {
		const char *begin = strchr(members, '{');

		record_add_members(&record, &json, begin, n_members - (size_t)(begin - members));
	}
	return record_send(&recorder->recorder, &record, &json, err);
}
