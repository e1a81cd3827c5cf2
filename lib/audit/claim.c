/* SPDX-License-Identifier: MIT */

/*
 * Names of claimed files of a spool: made here, and recognised here
 */

#include "audit/claim.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

int claim_make_name(const char *prefix, uid_t uid, char ret[CLAIM_NAME_SIZE])
{
	uint8_t bytes[CLAIM_RANDOM_SIZE];
	size_t at = strlen(prefix);

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -EIO;
	(void)snprintf(ret, CLAIM_NAME_SIZE, "%s", prefix);
	for (size_t i = 0; i < sizeof(bytes); i++, at += 2)
		(void)snprintf(ret + at, 3, "%02x", bytes[i]);
	if (uid != CLAIM_NOBODY)
		(void)snprintf(ret + at, CLAIM_NAME_SIZE - at, ".%u", (unsigned)uid);
	return 0;
}

/* Ten digits at most, none of them too many. */
static bool parse_uid(const char *digits, uid_t *ret)
{
	size_t n = strspn(digits, "0123456789");
	unsigned long long uid;

	if (n == 0 || n > 10 || digits[n] != '\0' || (digits[0] == '0' && n > 1))
		return false;
	uid = strtoull(digits, NULL, 10);
	if (uid >= CLAIM_NOBODY)
		return false;
	*ret = (uid_t)uid;
	return true;
}

bool claim_parse_name(const char *prefix, const char *name, uid_t *ret_uid)
{
	size_t n = strlen(prefix);

	*ret_uid = CLAIM_NOBODY;
	if (strncmp(name, prefix, n) != 0 ||
	    strspn(name + n, "0123456789abcdef") != 2 * CLAIM_RANDOM_SIZE)
		return false;
	name += n + 2 * CLAIM_RANDOM_SIZE;
	return *name == '\0' || (*name == '.' && parse_uid(name + 1, ret_uid));
}
