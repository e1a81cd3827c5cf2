/* SPDX-License-Identifier: MIT */
#ifndef SBX_RECORD_H
#define SBX_RECORD_H

/*
 * Send audit records to sbx-audit
 *
 * Records go to the socket of 'sbx-audit serve' if it is running, else to the spool of the user,
 * from which sbx-audit imports them. A recorder may be used by one thread at a time.
 */

#include <stddef.h>

#include <sbx/error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sbx_recorder;

SBX_API int sbx_recorder_open(struct sbx_recorder **ret, struct sbx_error *err);
/* Does nothing if @recorder is NULL. */
SBX_API void sbx_recorder_close(struct sbx_recorder *recorder);

/*
 * Writes one record: @event is one of the events of sbx-audit-layout(7), @tool the caller's own
 * name, @members NULL or a JSON object whose members are added. version, time, boot, boot_usec,
 * event, tool and pid are written by this library and refused in @members.
 *
 * 0: the record was sent, or is in the spool. -EINVAL: @members is not such an object; -EMSGSIZE:
 * it is too large. Any other negative errno: the record was not written; do not do what it would
 * have reported.
 */
SBX_API int sbx_record(struct sbx_recorder *recorder, const char *event, const char *tool,
		       const char *members, struct sbx_error *err);

#ifdef __cplusplus
}
#endif

#endif
