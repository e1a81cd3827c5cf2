/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Names of claimed files of a spool
 *
 *   claimed-HEX       claimed in the spool of the log's own user
 *   claimed-HEX.UID   of the spool of UID, handed over by root (audit/gather.h)
 *
 * HEX is 32 random digits, so a name is never used twice.
 */

#include <stdbool.h>
#include <sys/types.h>

#define CLAIM_PREFIX "claimed-"
#define CLAIM_RANDOM_SIZE 16
/* The largest one: a point, and ten digits. */
#define CLAIM_NAME_SIZE (sizeof(CLAIM_PREFIX) + 2 * CLAIM_RANDOM_SIZE + 11)
#define CLAIM_NOBODY ((uid_t)-1)

/* @prefix is as long as CLAIM_PREFIX at most. Without a @uid: CLAIM_NOBODY. 0 or negative errno. */
int claim_make_name(const char *prefix, uid_t uid, char ret[CLAIM_NAME_SIZE]);
/* Is it such a name? *@ret_uid is CLAIM_NOBODY where the name has none. */
bool claim_parse_name(const char *prefix, const char *name, uid_t *ret_uid);
