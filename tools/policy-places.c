/* SPDX-License-Identifier: MIT */

/*
 * Where things are that no policy says: the service's socket, and where records go
 */

#include "policy.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <sbx/error.h>

#include "record/record.h"

#define SYSTEM_SOCKET "/run/sbx/policy.sock"

int policy_open_recorder(struct recorder *ret, const struct policy_values *values,
			 struct sbx_error *err)
{
	if (values->audit_fd < 0)
		return recorder_open_spool(ret, environ, err);
	recorder_use_fd(ret, values->audit_fd);
	return 0;
}

int policy_add_socket_path(struct text *out, struct sbx_error *err)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	if (geteuid() == 0) {
		text_add(out, SYSTEM_SOCKET);
	} else if (runtime && runtime[0] == '/') {
		text_addf(out, "%s/sbx/policy.sock", runtime);
	} else {
		(void)sbx_error_what(err, -ENOENT, "cannot tell where the service's socket is");
		sbx_error_why(err, "XDG_RUNTIME_DIR is not set to an absolute path");
		sbx_error_fix(err, "name it with --socket");
		return -ENOENT;
	}
	return text_status(out);
}
