/* SPDX-License-Identifier: MIT */

/* Finds programs beside this one (see ring-place.h) */

#include "ring-place.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/text.h"

int ring_place_of(const char *name, struct text *ret, struct sbx_error *err)
{
	char own[4096];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);

	if (n < 0)
		return sbx_error_what(err, -errno, "cannot find out where this program is");
	own[n] = '\0';
	*strrchr(own, '/') = '\0';
	text_addf(ret, "%s/%s", own, name);
	if (text_status(ret) == 0 && access(text_string(ret), X_OK) == 0)
		return 0;
	(void)sbx_error_what(err, -ENOENT, "cannot find '%s'", name);
	sbx_error_why(err, "it is not beside this program, in '%s'", own);
	return -ENOENT;
}
