/* SPDX-License-Identifier: MIT */

/*
 * How full the folder is, and what the log says about it
 */

#include <errno.h>
#include <inttypes.h>

#include <sbx/error.h>

#include "audit/retain-internal.h"
#include "base/text.h"

static int say(struct audit_log *log, uint64_t n_bytes, uint64_t max_bytes, enum retain_level level,
	       struct sbx_error *err)
{
	const char *event =
		level == RETAIN_LEVEL_CRITICAL ? "audit_storage_critical" : "audit_storage_warning";
	_cleanup_text_ struct text members = TEXT_INIT;

	text_addf(&members, "\"used_bytes\":%" PRIu64 ",\"max_bytes\":%" PRIu64, n_bytes,
		  max_bytes);
	if (text_status(&members) < 0)
		return sbx_error_what(err, -ENOMEM, "cannot record how full the log is");
	return audit_log_say(log, event, members.data, err);
}

static int save(struct audit_log *log, enum retain_level level, struct sbx_error *err)
{
	uint8_t byte = (uint8_t)level;
	int r = log_begin(log, err);

	return r == 0 ? store_set_meta(log->store, META_STORAGE, &byte, sizeof(byte), err) : r;
}

int retain_say_level(struct audit_log *log, uint64_t n_bytes, uint64_t max_bytes,
		     enum retain_level *ret, struct sbx_error *err)
{
	enum retain_level level = retain_level_of(n_bytes, max_bytes);
	uint8_t before = RETAIN_LEVEL_FINE;
	int n = store_get_meta(log->store, META_STORAGE, &before, sizeof(before), NULL), r = 0;

	*ret = level;
	if (n != sizeof(before))
		before = RETAIN_LEVEL_FINE;
	if (before == (uint8_t)level)
		return 0;
	for (unsigned i = before + 1U; r == 0 && i <= (unsigned)level; i++)
		r = say(log, n_bytes, max_bytes, (enum retain_level)i, err);
	if (r == 0)
		r = save(log, level, err);
	if (r < 0) {
		audit_log_rollback(log);
		return r;
	}
	return before < (uint8_t)level ? audit_log_checkpoint(log, err)
				       : audit_log_commit(log, err);
}
