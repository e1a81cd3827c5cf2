/* SPDX-License-Identifier: MIT */

/*
 * Opens filter.so with dlopen() on a cache miss and closes it again: only filter.so needs
 * libseccomp, and loading libseccomp takes longer than starting a sandbox
 */

#include "filter/module.h"

#include <errno.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/module.h"
#include "base/text.h"
#include "filter/compile.h"

#define CANNOT_COMPILE "cannot compile a filter for the denied system calls"

static void close_module(void **module)
{
	if (*module)
		module_close(*module);
}

static int refuse_module(const char *path, const char *why, struct sbx_error *err)
{
	(void)sbx_error_what(err, -ELIBACC, CANNOT_COMPILE);
	sbx_error_why(err, "'%s' cannot be used: %s", path, why);
	sbx_error_fix(err, "install sbx whole, with libseccomp, or leave out 'denySyscalls'");
	return -ELIBACC;
}

static int refuse_name(const struct filter_bad_name *bad, struct sbx_error *err)
{
	(void)sbx_error_what(err, -EINVAL, "cannot deny the system call '%s'", bad->name);
	sbx_error_why(err, "no system call has this name");
	if (bad->suggestion[0] != '\0')
		sbx_error_fix(err, "did you mean '%s'?", bad->suggestion);
	else
		sbx_error_fix(err, "leave it out: a call that is newer than sbx answers ENOSYS");
	return -EINVAL;
}

int module_compile_denied(const char *directory, const char *const *names, struct sock_filter **ret,
			  size_t *ret_n, struct sbx_error *err)
{
	_cleanup_text_ struct text path = TEXT_INIT;
	_cleanup_(close_module) void *module = NULL;
	struct filter_bad_name bad = { .name = NULL };
	filter_compile_denied_fn *compile = NULL;
	const char *why = "it is not a module of sbx";
	int r;

	text_addf(&path, "%s/filter.so", directory[0] == '/' ? directory : ".");
	if (text_status(&path) < 0)
		return sbx_error_what(err, -ENOMEM, CANNOT_COMPILE);
	module = module_open(text_string(&path), &why);
	if (module)
		compile = (filter_compile_denied_fn *)module_symbol(module, FILTER_MODULE_SYMBOL);
	if (!compile)
		return refuse_module(text_string(&path), why, err);
	r = compile(names, ret, ret_n, &bad);
	if (r == -EINVAL && bad.name)
		return refuse_name(&bad, err);
	return r < 0 ? sbx_error_what(err, r, CANNOT_COMPILE) : 0;
}
