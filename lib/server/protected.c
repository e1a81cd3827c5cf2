/* SPDX-License-Identifier: MIT */

/*
 * Paths are resolved once, when the policy is loaded: a link that is changed later changes neither
 * what was read nor what is protected.
 */

#include "server/protected.h"

#include <errno.h>
#include <stdlib.h>

#include "base/text.h"

/* What update keeps beside a policy. */
static const char *const companions[] = { "", ".previous", ".meta.json" };

void protected_free(char **paths)
{
	for (size_t i = 0; paths && paths[i]; i++)
		free(paths[i]);
	free(paths);
}

static void protected_free_ptr(char ***paths)
{
	protected_free(*paths);
}

static int add(char **paths, size_t *n, const char *path, const char *suffix)
{
	struct text all = TEXT_INIT;

	text_add(&all, path);
	text_add(&all, suffix);
	paths[*n] = text_take(&all);
	return paths[(*n)++] ? 0 : -ENOMEM;
}

int protected_find(const char *const *policies, size_t n_policies, const char *const *also,
		   char ***ret)
{
	_cleanup_(protected_free_ptr) char **paths = NULL;
	size_t n_also = 0, n = 0;
	int r = 0;

	while (also && also[n_also])
		n_also++;
	paths = calloc(n_policies * N_ELEMENTS(companions) + n_also + 1, sizeof(*paths));
	if (!paths)
		return -ENOMEM;
	for (size_t i = 0; i < n_policies; i++) {
		_cleanup_free_ char *real = realpath(policies[i], NULL);

		for (size_t k = 0; real && k < N_ELEMENTS(companions) && r == 0; k++)
			r = add(paths, &n, real, companions[k]);
	}
	for (size_t i = 0; i < n_also && r == 0; i++)
		r = add(paths, &n, also[i], "");
	if (r < 0)
		return r;
	*ret = take_ptr(paths);
	return 0;
}
