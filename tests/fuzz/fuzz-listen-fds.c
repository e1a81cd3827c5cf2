/* SPDX-License-Identifier: MIT */

/*
 * The three variables of passed sockets, one in each line: LISTEN_PID, LISTEN_FDS, and the rest is
 * LISTEN_FDNAMES. A missing line is a missing variable.
 */

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/listen-fds.h"

#define SELF 1234

/* Opens every fd that the variables could refer to; fds of the fuzzer itself stay. */
static void open_all(void)
{
	for (int fd = LISTEN_FDS_START; fd < LISTEN_FDS_START + LISTEN_FDS_MAX; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			assert(dup2(STDERR_FILENO, fd) == fd);
}

static char *cut_line(char **rest)
{
	return *rest ? strsep(rest, "\n") : NULL;
}

/* The parsed names, joined, must be the input. */
static void check_names(const struct listen_fds *fds, const char *names)
{
	for (size_t i = 0; i < fds->n_fds; i++) {
		size_t len = strlen(fds->names[i]);

		assert(!strchr(fds->names[i], ':'));
		for (size_t k = 0; k < len; k++)
			assert(fds->names[i][k] >= ' ' && fds->names[i][k] <= '~');
		assert(strncmp(names, fds->names[i], len) == 0);
		names += len;
		assert(*names == (i + 1 < fds->n_fds ? ':' : '\0'));
		names++;
	}
}

static void check_found(const struct listen_fds *fds, const char *names)
{
	assert(fds->n_fds <= LISTEN_FDS_MAX);
	if (names)
		check_names(fds, names);
	for (size_t i = 0; i < fds->n_fds; i++) {
		int flags = fcntl(LISTEN_FDS_START + (int)i, F_GETFD);

		assert(flags >= 0 && (flags & FD_CLOEXEC));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	static struct listen_fds fds, untouched;
	struct sbx_error err = { .code = 0 };
	_cleanup_free_ char *text = strndup((const char *)bytes, n_bytes);
	char *rest = text, *pid, *n_fds, *names;
	int r;

	if (!text)
		abort();
	open_all();
	pid = cut_line(&rest);
	n_fds = cut_line(&rest);
	names = rest;

	memset(&fds, 0xa5, sizeof(fds));
	memset(&untouched, 0xa5, sizeof(untouched));
	r = listen_fds_check(pid, n_fds, names, SELF, &fds, &err);
	if (r == 0) {
		assert(err.code == 0);
		check_found(&fds, names);
	} else {
		assert(r == -EINVAL && err.code == r);
		assert(err.what[0] && err.why[0] && err.fix[0]);
		assert(memcmp(&fds, &untouched, sizeof(fds)) == 0);
	}
	return 0;
}
