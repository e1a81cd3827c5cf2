/* SPDX-License-Identifier: MIT */

/*
 * Decides whether a system call fails (see fault.h); part of test builds only
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/fault.h"

static int code_of(const char *name, size_t n)
{
	static const struct {
		const char *name;
		int code;
	} codes[] = { { "EPERM", EPERM },   { "ENOSYS", ENOSYS }, { "EACCES", EACCES },
		      { "EINVAL", EINVAL }, { "ENOSPC", ENOSPC }, { "ENOMEM", ENOMEM },
		      { "EMFILE", EMFILE } };

	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		if (strlen(codes[i].name) == n && memcmp(codes[i].name, name, n) == 0)
			return codes[i].code;
	return EPROTO; /* an errno that is not in the table: the test sees EPROTO instead */
}

/* The text after "NAME:" if SBX_FAULT names @name, else NULL. */
static const char *asked_about(const char *name)
{
	const char *fault = getenv("SBX_FAULT");
	size_t n = strlen(name);

	return fault && strncmp(fault, name, n) == 0 && fault[n] == ':' ? fault + n + 1 : NULL;
}

bool fault_hits(const char *name)
{
	/* Not shared between processes, so that calls are counted per process. */
	static unsigned n_calls;
	const char *code = asked_about(strncmp(name, "SYS_", 4) == 0 ? name + 4 : name);

	if (!code)
		return false;

	size_t n = strcspn(code, ":");

	n_calls++;
	if (code[n] == ':' && strtoul(code + n + 1, NULL, 10) != n_calls)
		return false;
	errno = code_of(code, n);
	return true;
}
