/* SPDX-License-Identifier: MIT */

/*
 * Where records go
 */

#include "policy.h"

#include <unistd.h>

#include <sbx/error.h>

#include "record/record.h"

int policy_open_recorder(struct recorder *ret, const struct policy_values *values,
			 struct sbx_error *err)
{
	if (values->audit_fd < 0)
		return recorder_open_spool(ret, environ, err);
	recorder_use_fd(ret, values->audit_fd);
	return 0;
}
