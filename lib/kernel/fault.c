/* SPDX-License-Identifier: MIT */

/*
 * Decides whether a system call fails (see fault.h); part of test builds only
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel/fault.h"

/* The first byte of the file SBX_FAULT_SEEN, mapped before there are other namespaces; all
 * processes of the set-up share it. */
static char *seen;

__attribute__((constructor)) static void map_seen(void)
{
	const char *path = getenv("SBX_FAULT_SEEN");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *at;

	if (fd < 0)
		return;
	at = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	(void)close(fd);
	if (at != MAP_FAILED)
		seen = at;
}

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
	if (seen)
		*seen = '!';
	errno = code_of(code, n);
	return true;
}
