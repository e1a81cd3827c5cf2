/* SPDX-License-Identifier: MIT */

/*
 * The policy arrives as bytes of another process: artefact_open() checks all of them, and a memfd
 * must be sealed, because its sender could otherwise change them after the check.
 */

#include "proxy/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <sbx/error.h>

#include "base/error.h"
#include "policy/artefact.h"
#include "policy/decide.h"

#define POLICY_BYTES_MAX (256 * 1024 * 1024)
#define POLICY_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

struct proxy_policy {
	void *block;
	size_t n_mapped; /* 0: from malloc() */
	struct artefact artefact;
	struct policy_engine *engine;
};

const struct artefact *proxy_policy_artefact(const struct proxy_policy *policy)
{
	return &policy->artefact;
}

struct policy_engine *proxy_policy_engine(const struct proxy_policy *policy)
{
	return policy->engine;
}

const uint8_t *proxy_policy_digest(const struct proxy_policy *policy)
{
	return policy->artefact.header->policy_digest;
}

/* With the rules of another mode, a permission for a name could reach any address that it resolves
 * to. */
static int check_mode(const struct proxy_policy *policy, struct sbx_error *err)
{
	if (policy->artefact.header->special_needs_cidr == 1)
		return 0;
	return error_fill(err, -EINVAL, "it was not compiled for a proxy",
			  "compile it for the network mode proxy", "cannot use this policy");
}

static int open_block(struct proxy_policy *policy, size_t n_bytes, struct sbx_error *err)
{
	int r = artefact_open(policy->block, n_bytes, &policy->artefact, err);

	if (r == 0)
		r = check_mode(policy, err);
	if (r < 0)
		return r;
	r = policy_engine_new(&policy->artefact, &policy->engine);
	return r < 0 ? sbx_error_what(err, r, "cannot use this policy") : 0;
}

int proxy_policy_new(void *block, size_t n_bytes, struct proxy_policy **ret, struct sbx_error *err)
{
	_cleanup_proxy_policy_ struct proxy_policy *policy = calloc(1, sizeof(*policy));
	int r;

	if (!policy) {
		free(block);
		return sbx_error_what(err, -ENOMEM, "cannot use this policy");
	}
	policy->block = block;
	r = open_block(policy, n_bytes, err);
	if (r < 0)
		return r;
	*ret = take_ptr(policy);
	return 0;
}

static int refuse_fd(struct sbx_error *err, int code, const char *why)
{
	return error_fill(err, code, why, NULL, "cannot use the policy of this fd");
}

int proxy_policy_map(int fd, struct proxy_policy **ret, struct sbx_error *err)
{
	_cleanup_proxy_policy_ struct proxy_policy *policy = calloc(1, sizeof(*policy));
	int seals = fcntl(fd, F_GET_SEALS), r;
	struct stat status;
	void *block;

	if (!policy)
		return sbx_error_what(err, -ENOMEM, "cannot use this policy");
	if (seals < 0 || (seals & POLICY_SEALS) != POLICY_SEALS)
		return refuse_fd(err, -EINVAL, "it is not a memfd sealed against every change");
	if (fstat(fd, &status) < 0)
		return refuse_fd(err, -errno, "fstat() failed");
	if (status.st_size <= 0 || status.st_size > POLICY_BYTES_MAX)
		return refuse_fd(err, -EFBIG, "it is empty or too big");
	block = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (block == MAP_FAILED)
		return refuse_fd(err, -errno, "it cannot be mapped");
	policy->block = block;
	policy->n_mapped = (size_t)status.st_size;
	r = open_block(policy, policy->n_mapped, err);
	if (r < 0)
		return r;
	*ret = take_ptr(policy);
	return 0;
}

struct proxy_policy *proxy_policy_free(struct proxy_policy *policy)
{
	if (!policy)
		return NULL;
	(void)policy_engine_free(policy->engine);
	if (policy->n_mapped > 0)
		(void)munmap(policy->block, policy->n_mapped);
	else
		free(policy->block);
	free(policy);
	return NULL;
}
