/* SPDX-License-Identifier: MIT */

/* The only function that filter.so exports */

#include <sbx/error.h>

#include "filter/compile.h"

SBX_API filter_compile_denied_fn sbx_filter_compile_denied;

int sbx_filter_compile_denied(const char *const *names, struct sock_filter **ret, size_t *ret_n,
			      struct filter_bad_name *ret_bad)
{
	return filter_compile_denied(names, ret, ret_n, ret_bad);
}
