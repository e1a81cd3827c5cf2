/* SPDX-License-Identifier: MIT */

/*
 * The built-in filter of a profile; and one with more calls refused: a small prefix before it
 * refuses these calls, from the cache or newly compiled
 *
 * The cache key contains everything that the prefix depends on, in a fixed order: policies that
 * deny the same calls share a file, and another version of sbx uses other files. The cache only
 * saves time, so its errors are ignored.
 */

#include "filter/filter.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/module.h"
#include "base/suggest.h"
#include "base/syscall.h"
#include "base/text.h"
#include "filter/cache.h"
#include "filter/compile.h"
#include "filter/prefix.h"
#include "filter/table.h"

#define CANNOT_COMPILE "cannot compile a filter for the denied system calls"

static const struct filter_profile *find_profile(const char *name)
{
	for (const struct filter_profile *profile = filter_profiles; profile->name; profile++)
		if (strcmp(profile->name, name) == 0)
			return profile;
	return NULL;
}

const struct sock_fprog *filter_find(const char *profile, unsigned variant)
{
	const struct filter_profile *found = find_profile(profile);

	return found && variant < FILTER_VARIANTS ? &found->programs[variant] : NULL;
}

int filter_needs_notify(const char *profile)
{
	const struct filter_profile *found = find_profile(profile);

	return found ? found->needs_notify : -ENOENT;
}

static const char *profile_word(const void *list, size_t i)
{
	return ((const struct filter_profile *)list)[i].name;
}

static int refuse_profile(const char *profile, struct sbx_error *err)
{
	_cleanup_text_ struct text all = TEXT_INIT;

	suggest_add_all(&all,
			(struct suggest_words){ .word = profile_word, .list = filter_profiles });
	(void)sbx_error_what(err, -EINVAL, "cannot make a filter of the profile '%s'", profile);
	sbx_error_why(err, "no profile has this name");
	sbx_error_fix(err, "write one of: %s", text_string(&all));
	return -EINVAL;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The loader of policies refuses such names, too, with their lines. */
static int check_names(const char **names, struct sbx_error *err)
{
	for (; *names; names++)
		if (syscall_find(*names) == -ENOENT)
			return error_fill(err, -EINVAL, "no system call has this name",
					  "leave it out", "cannot deny the system call '%s'",
					  *names);
	return 0;
}

/* Sorted, without duplicates, ended by NULL. */
static const char **sort_names(const char *const *names)
{
	size_t n = 0, n_kept = 0;
	const char **sorted;

	while (names && names[n])
		n++;
	sorted = calloc(n + 1, sizeof(*sorted));
	if (!sorted)
		return NULL;
	if (n > 0) {
		memcpy(sorted, names, n * sizeof(*sorted));
		qsort(sorted, n, sizeof(*sorted), compare_names);
	}
	for (size_t i = 0; i < n; i++)
		if (n_kept == 0 || strcmp(sorted[i], sorted[n_kept - 1]) != 0)
			sorted[n_kept++] = sorted[i];
	sorted[n_kept] = NULL;
	return sorted;
}

/* Each name with its length, so that one name cannot look like two. */
static void add_key(struct text *key, const char **names)
{
	text_addf(key, "generation %016" PRIx64 "\n", filter_generation);
	for (; *names; names++)
		text_addf(key, "deny %zu %s\n", strlen(*names), *names);
}

static int make_from_cache(const struct sock_fprog *program, const char *key, int cache_dirfd,
			   struct sock_filter **ret, size_t *ret_n)
{
	_cleanup_free_ struct sock_filter *denied = NULL;
	size_t n;
	int r;

	if (cache_dirfd < 0)
		return -ENOENT;
	r = cache_read(cache_dirfd, key, &denied, &n);
	return r < 0 ? r : prefix_join(denied, n, program, ret, ret_n);
}

/*
 * filter.so is opened by dlopen() on a cache miss and closed again: only it needs libseccomp, and
 * loading libseccomp takes longer than starting a sandbox.
 */

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

static int compile_denied(const char *directory, const char *const *names, struct sock_filter **ret,
			  size_t *ret_n, struct sbx_error *err)
{
	_cleanup_text_ struct text path = TEXT_INIT;
	_cleanup_(close_module) void *module = NULL;
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
	r = compile(names, ret, ret_n);
	return r < 0 ? sbx_error_what(err, r, CANNOT_COMPILE) : 0;
}

static int make_anew(const struct sock_fprog *program, const char **names, const char *key,
		     int cache_dirfd, const char *module_directory, struct sock_filter **ret,
		     size_t *ret_n, struct sbx_error *err)
{
	_cleanup_free_ struct sock_filter *denied = NULL;
	size_t n = 0;
	int r = compile_denied(module_directory, names, &denied, &n, err);

	if (r < 0)
		return r;
	if (cache_dirfd >= 0)
		(void)cache_write(cache_dirfd, key, denied, n);
	r = prefix_join(denied, n, program, ret, ret_n);
	return r < 0 ? sbx_error_what(err, r, "cannot make a filter") : 0;
}

int filter_make(const char *profile, unsigned variant, const char *const *deny_syscalls,
		int cache_dirfd, const char *module_directory, struct sock_filter **ret,
		size_t *ret_n, struct sbx_error *err)
{
	const struct sock_fprog *program = filter_find(profile, variant);
	_cleanup_free_ const char **names = sort_names(deny_syscalls);
	_cleanup_text_ struct text key = TEXT_INIT;
	int r;

	if (!program)
		return refuse_profile(profile, err);
	if (!names)
		return sbx_error_what(err, -ENOMEM, "cannot make a filter");
	r = check_names(names, err);
	if (r < 0)
		return r;
	if (!names[0]) {
		r = prefix_join(NULL, 0, program, ret, ret_n);
		return r < 0 ? sbx_error_what(err, r, "cannot make a filter") : 0;
	}
	add_key(&key, names);
	if (text_status(&key) < 0)
		return sbx_error_what(err, -ENOMEM, "cannot make a filter");
	if (make_from_cache(program, text_string(&key), cache_dirfd, ret, ret_n) == 0)
		return 0;
	return make_anew(program, names, text_string(&key), cache_dirfd, module_directory, ret,
			 ret_n, err);
}
