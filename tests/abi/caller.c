/* SPDX-License-Identifier: MIT */
/*
 * A program outside of the project: it uses only the public headers and libsbx.so, and is valid C11
 * and C++17. The last text of the struct ends the struct, so a library with another size is
 * detected.
 */
#include "layout.h"

#include <stdio.h>
#include <string.h>

int main(void)
{
	struct sbx_error err;

	memset(&err, 0, sizeof(err));
	if (sbx_error_what(&err, -2, "cannot open '%s'", "p.yaml") != -2)
		return 1;
	sbx_error_why(&err, "line %d", 14);
	sbx_error_fix(&err, "write '%s'", "version: 1");
	sbx_error_context(&err, "at the %s", "end");
	printf("%d %s|%s|%s|%s\n", err.code, err.what, err.why, err.fix, err.context);
	return 0;
}
