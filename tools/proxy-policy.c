/* SPDX-License-Identifier: MIT */

/* The policy of 'sbx-proxy --policy FILE', composed like that of a sandbox in the mode proxy */

#include "proxy.h"

#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "policy/compose.h"
#include "policy/model.h"

#define POLICY_BYTES_MAX ((size_t)256 * 1024 * 1024)

/* An extension program would have to be asked about every request, and could not be: without its
 * vote the rules would allow more than the file says. */
static int refuse_extensions(const char *path, const struct policy *policy, struct sbx_error *err)
{
	if (policy->n_extensions == 0)
		return 0;
	(void)sbx_error_what(err, -EINVAL, "cannot use the policy '%s' for a proxy", path);
	sbx_error_why(err, "its extension '%s' would not be asked", policy->extensions[0].name);
	sbx_error_fix(err, "take 'extensions' out of the file");
	return -EINVAL;
}

int proxy_compile(const char *path, void **ret_block, size_t *ret_n_bytes, struct sbx_error *err)
{
	_cleanup_policy_ struct policy *policy = NULL;
	_cleanup_free_ char *bytes = NULL;
	size_t n_bytes = 0;
	int r = file_read(AT_FDCWD, path, POLICY_BYTES_MAX, &bytes, &n_bytes, err);

	if (r >= 0)
		r = policy_load(path, bytes, n_bytes, &policy, err);
	if (r >= 0)
		r = refuse_extensions(path, policy, err);
	return r < 0 ? r : policy_compile_proxied(policy, ret_block, ret_n_bytes, err);
}
