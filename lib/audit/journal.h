/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The heads of a log that are in the systemd journal, as a witness
 *
 * Anybody may write entries like those of audit/heads.h, and journald says who did: only entries of
 * root and of the log's owner are heads of the log.
 */

#include <sys/types.h>

#include "audit/verify.h"

struct journal_options {
	const char *directory; /* of journal files; NULL: this machine's journal */
	const char *origin;    /* of the log */
	uid_t owner;
};

/*
 * -ENODATA where the journal has no head of this log (or none that this user may read), -EBADMSG
 * where an entry is none, or the errno with which the journal cannot be read. Where there are very
 * many, some are left out, the last one never.
 */
int witness_read_journal(struct witness *ret, const struct journal_options *options,
			 struct sbx_error *err);
