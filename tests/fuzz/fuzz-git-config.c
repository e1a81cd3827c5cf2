/* SPDX-License-Identifier: MIT */

/*
 * The bytes are read as git's configuration. Reported variables have valid names and values from
 * the input; no callback follows one that returned an error. A failed check is an abort.
 */

#include "kernel/git-config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

struct told {
	size_t n;
	size_t n_max;
	size_t n_bytes;
};

static void check(bool condition)
{
	if (!condition)
		abort();
}

static int take(void *context, const char *name, const char *value)
{
	struct told *told = context;
	const char *last = strrchr(name, '.');

	last = last ? last + 1 : name;
	check(*last >= 'a' && *last <= 'z');
	check(last[strspn(last, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0');
	told->n_bytes += strlen(last) + (value ? strlen(value) : 0);
	return ++told->n == told->n_max ? -ECANCELED : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	struct told all = { .n_max = SIZE_MAX }, one = { .n_max = 1 };
	int r = git_config_read((const char *)bytes, n_bytes, take, &all);

	check(r == 0 || r == -EBADMSG);
	check(all.n_bytes <= n_bytes);
	r = git_config_read((const char *)bytes, n_bytes, take, &one);
	check(all.n > 0 ? r == -ECANCELED && one.n == 1 : r == 0 || r == -EBADMSG);
	return 0;
}
