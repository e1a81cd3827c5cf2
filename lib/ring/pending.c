/* SPDX-License-Identifier: MIT */

/* Until socket.c and properties.c are merged */

#include <errno.h>

#include "base/cleanup.h"
#include "ring/channel.h"

int socket_open(const struct sbx_ring_config *config, int role, int socket, struct sbx_ring **ret,
		struct sbx_error *err)
{
	close_fd(&socket);
	return sbx_error_what(err, -EOPNOTSUPP, "no such transport");
}

int sbx_ring_configure(struct sbx_ring_config *config, const char *key, const char *value,
		       struct sbx_error *err)
{
	return sbx_error_what(err, -EOPNOTSUPP, "no such property");
}
