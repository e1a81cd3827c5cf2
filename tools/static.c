/* SPDX-License-Identifier: MIT */

/*
 * What a program without a loader does in another way: the functions of base/module.h fail, and
 * replace those of lib/base at link time
 */

#include <stddef.h>

#include "base/module.h"

bool module_is_possible(void)
{
	return false;
}

void *module_open(const char *path, const char **ret_why)
{
	*ret_why = "this program is linked statically";
	return NULL;
}

void *module_symbol(void *module, const char *name)
{
	return NULL;
}

void module_close(void *module) {}

/* Replaces an initialiser of libcrypto (tools/meson.build): its variables of CPU features stay 0.
 */
void __wrap_OPENSSL_cpuid_setup(void);
void __wrap_OPENSSL_cpuid_setup(void) {}
