/* SPDX-License-Identifier: MIT */

/*
 * Filters that refuse more calls than a profile: with the module, and from the cache
 *
 * The directory NOWHERE contains no module, so a test that uses it has loaded none.
 */

#include "filter/filter.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <linux/audit.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <sbx/error.h>

#include "base/text.h"
#include "filter-place.h"
#include "filter-rig.h"
#include "filter/cache.h"
#include "filter/table.h"
#include "test.h"

#define NOWHERE "/nonexistent"

static const char *const unlink_only[] = { "unlinkat", NULL };

struct made {
	struct sock_filter *code;
	size_t n;
};
#define _cleanup_made_ _cleanup_(made_deinit)

static void made_deinit(struct made *made)
{
	free(made->code);
}

static bool is_same(const struct made *a, const struct made *b)
{
	return a->n == b->n && memcmp(a->code, b->code, a->n * sizeof(*a->code)) == 0;
}

/* The directory of the module in the build. */
static const char *module_directory(struct text *directory)
{
	const char *build = getenv("SBX_BUILD");

	text_addf(directory, "%s/lib/filter", build ? build : "");
	return text_string(directory);
}

static int make(const char *profile, unsigned variant, const char *const *names, int cache,
		struct made *ret)
{
	_cleanup_text_ struct text directory = TEXT_INIT;

	return filter_make(profile, variant, names, cache, module_directory(&directory), &ret->code,
			   &ret->n, NULL);
}

static int make_without_module(const char *const *names, int cache, struct made *ret,
			       struct sbx_error *err)
{
	return filter_make("standard", 0, names, cache, NOWHERE, &ret->code, &ret->n, err);
}

static void nothing_to_deny_is_the_built_in_filter(void)
{
	static const char *const none[] = { NULL };
	const struct sock_fprog *built_in = filter_find("standard", 0);
	_cleanup_made_ struct made first = { 0 }, second = { 0 };

	expect_eq(make_without_module(NULL, -EBADF, &first, NULL), 0);
	expect_eq(make_without_module(none, -EBADF, &second, NULL), 0);
	expect_eq(first.n, built_in->len);
	expect(memcmp(first.code, built_in->filter, first.n * sizeof(*first.code)) == 0);
	expect(is_same(&first, &second));
}

static void a_hit_loads_no_module(void)
{
	_cleanup_place_ struct place place = place_make();
	_cleanup_made_ struct made first = { 0 }, second = { 0 }, third = { 0 };
	char name[256];

	expect_eq(make("standard", 0, unlink_only, place.fd, &first), 0);
	expect_eq(place_names(&place, name), 1);
	expect_eq(make_without_module(unlink_only, place.fd, &second, NULL), 0);
	expect(is_same(&first, &second));
	expect_eq(make("standard", 0, NULL, place.fd, &third), 0);
	expect(!is_same(&first, &third));
}

static void works_without_a_cache(void)
{
	_cleanup_made_ struct made made = { 0 }, cached = { 0 };
	_cleanup_place_ struct place place = place_make();

	expect_eq(make("standard", 0, unlink_only, -EBADF, &made), 0);
	expect_eq(make("standard", 0, unlink_only, place.fd, &cached), 0);
	expect(is_same(&made, &cached));
}

static void the_same_calls_in_any_order_share_a_file(void)
{
	static const char *const forwards[] = { "mkdir", "unlinkat", NULL };
	static const char *const backwards[] = { "unlinkat", "mkdir", "unlinkat", NULL };
	_cleanup_made_ struct made first = { 0 }, second = { 0 };
	_cleanup_place_ struct place place = place_make();
	char name[256];

	expect_eq(make("standard", 0, forwards, place.fd, &first), 0);
	expect_eq(make_without_module(backwards, place.fd, &second, NULL), 0);
	expect(is_same(&first, &second));
	expect_eq(place_names(&place, name), 1);
}

static void other_calls_have_a_file_of_their_own(void)
{
	static const char *const other[] = { "rmdir", NULL };
	static const char *const more[] = { "rmdir", "unlinkat", NULL };
	static const char *const *const rows[] = { unlink_only, other, more };
	_cleanup_place_ struct place place = place_make();
	char name[256];

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		_cleanup_made_ struct made made = { 0 };

		expect_eq(make("standard", 0, rows[i], place.fd, &made), 0);
		expect_eq(place_names(&place, name), i + 1);
	}
}

static uint32_t ask(const struct made *made, int number, uint64_t argument)
{
	struct seccomp_data data = { .nr = number,
				     .arch = seccomp_arch_native(),
				     .args = { argument } };

	return answer_of(made->code, made->n, &data);
}

/* Only the prefix is cached, so the profiles share it. */
static void every_profile_and_variant_refuses_what_is_denied_and_nothing_else(void)
{
	static const char *const names[] = { "unlinkat", "getpid", "execve", NULL };
	static const char *const profiles[] = { "strict", "standard" };
	_cleanup_place_ struct place place = place_make();
	char name[256];

	for (size_t i = 0; i < 2 * FILTER_VARIANTS; i++) {
		const char *profile = profiles[i % 2];
		_cleanup_made_ struct made made = { 0 };

		expect_eq(make(profile, (unsigned)i / 2, names, place.fd, &made), 0);
		for (int number = 0; number < 1100; number++) {
			struct seccomp_data data = { .nr = number,
						     .arch = seccomp_arch_native(),
						     .args = { AF_INET } };
			bool is_denied = number == SYS_unlinkat || number == SYS_getpid ||
					 number == SYS_execve;

			expect_eq(ask(&made, number, AF_INET),
				  is_denied ? NO(EPERM)
					    : answer_to(profile, (unsigned)i / 2, &data));
		}
	}
	expect_eq(place_names(&place, name), 1);
}

static void another_architecture_is_killed_also_behind_denied_calls(void)
{
	struct seccomp_data data = { .nr = SYS_unlinkat, .arch = AUDIT_ARCH_I386 };
	_cleanup_made_ struct made made = { 0 };

	expect_eq(make("standard", 0, unlink_only, -EBADF, &made), 0);
	expect_eq(answer_of(made.code, made.n, &data), KILL);
	data.nr = SYS_read;
	expect_eq(answer_of(made.code, made.n, &data), KILL);
	/* x32: the calls of x86-64 with this bit. */
	if (seccomp_arch_native() == SCMP_ARCH_X86_64)
		expect_eq(ask(&made, 0x40000000 | SYS_read, 0), KILL);
}

/* A sandbox that runs as the same user and has write access to the cache directory can write
 * anything there. */
static void a_forged_file_gives_nothing_back(void)
{
	static const struct sock_filter allow[] = { { BPF_RET | BPF_K, 0, 0, ALLOW } };
	static const struct sock_filter jump[] = { { BPF_JMP | BPF_JA, 0, 0, 121 },
						   { BPF_RET | BPF_K, 0, 0, ALLOW } };
	_cleanup_place_ struct place place = place_make();
	_cleanup_made_ struct made made = { 0 }, none = { 0 };
	_cleanup_text_ struct text key = TEXT_INIT;

	text_addf(&key, "generation %016" PRIx64 "\ndeny 8 unlinkat\n", filter_generation);
	expect_eq(cache_write(place.fd, text_string(&key), allow, N_ELEMENTS(allow)), 0);
	expect_eq(make_without_module(unlink_only, place.fd, &made, NULL), 0);
	for (int number = 0; number < 1100; number++) {
		struct seccomp_data data = { .nr = number, .arch = seccomp_arch_native() };

		expect_eq(ask(&made, number, 0), answer_to("standard", 0, &data));
	}
	expect_eq(cache_write(place.fd, text_string(&key), jump, N_ELEMENTS(jump)), 0);
	expect_eq(make_without_module(unlink_only, place.fd, &none, NULL), -ELIBACC);
	expect(!none.code);
}

static void a_doubtful_file_is_ignored_and_replaced(void)
{
	_cleanup_made_ struct made first = { 0 }, none = { 0 }, again = { 0 }, cached = { 0 };
	_cleanup_place_ struct place place = place_make();
	struct stat status = { .st_mode = 0 };
	char name[256];

	expect_eq(make("standard", 0, unlink_only, place.fd, &first), 0);
	expect_eq(place_names(&place, name), 1);
	expect_eq(fchmodat(place.fd, name, 0666, 0), 0);
	expect_eq(make_without_module(unlink_only, place.fd, &none, NULL), -ELIBACC);
	expect(!none.code);
	expect_eq(make("standard", 0, unlink_only, place.fd, &again), 0);
	expect(is_same(&first, &again));
	expect_eq(fstatat(place.fd, name, &status, 0), 0);
	expect_eq(status.st_mode & 07777, 0600);
	expect_eq(make_without_module(unlink_only, place.fd, &cached, NULL), 0);
}

static void a_cache_that_cannot_be_written_is_no_failure(void)
{
	_cleanup_made_ struct made made = { 0 };
	_cleanup_place_ struct place place = place_make();

	expect_eq(rmdir(place.path), 0);
	expect_eq(make("standard", 0, unlink_only, place.fd, &made), 0);
	expect(made.n > 0);
}

static void refuses_a_name_that_is_no_system_call(void)
{
	static const char *const wrong[] = { "unlinkat", "ptrce", NULL };
	_cleanup_text_ struct text directory = TEXT_INIT;
	_cleanup_made_ struct made made = { 0 };
	_cleanup_place_ struct place place = place_make();
	struct sbx_error err = { 0 };
	char name[256];

	expect_eq(filter_make("standard", 0, wrong, place.fd, module_directory(&directory),
			      &made.code, &made.n, &err),
		  -EINVAL);
	expect_eq(err.code, -EINVAL);
	expect_str(err.what, "cannot deny the system call 'ptrce'");
	expect_str(err.why, "no system call has this name");
	expect(!made.code);
	expect_eq(place_names(&place, name), 0);
}

/* If names were separated by newlines only, two valid names could have the key of one invalid one.
 */
static void no_name_passes_for_two(void)
{
	static const char *const two[] = { "mkdir", "unlinkat", NULL };
	static const char *const one[] = { "mkdir\ndeny 8 unlinkat", NULL };
	_cleanup_made_ struct made good = { 0 }, bad = { 0 };
	_cleanup_place_ struct place place = place_make();

	expect_eq(make("standard", 0, two, place.fd, &good), 0);
	expect_eq(make("standard", 0, one, place.fd, &bad), -EINVAL);
	expect(!bad.code);
}

static void a_missing_module_is_told(void)
{
	_cleanup_made_ struct made made = { 0 };
	struct sbx_error err = { 0 };

	expect_eq(make_without_module(unlink_only, -EBADF, &made, &err), -ELIBACC);
	expect_eq(err.code, -ELIBACC);
	expect_str(err.what, "cannot compile a filter for the denied system calls");
	expect(strstr(err.why, NOWHERE "/filter.so") != NULL);
	expect_str(err.fix, "install sbx whole, with libseccomp, or leave out 'denySyscalls'");
	expect(!made.code);
}

/* A relative path or LD_LIBRARY_PATH of the caller must not decide which module is loaded. */
static void searches_no_module(void)
{
	static const char *const directories[] = { "", ".", "lib", "../lib" };

	for (size_t i = 0; i < N_ELEMENTS(directories); i++) {
		_cleanup_made_ struct made made = { 0 };
		struct sbx_error err = { 0 };

		expect_eq(filter_make("standard", 0, unlink_only, -EBADF, directories[i],
				      &made.code, &made.n, &err),
			  -ELIBACC);
		expect(strstr(err.why, "not absolute") != NULL);
	}
}

static void refuses_a_module_without_our_function(void)
{
	_cleanup_made_ struct made made = { 0 };
	_cleanup_place_ struct place place = place_make();
	struct sbx_error err = { 0 };
	Dl_info library = { .dli_fname = NULL };

	expect(dladdr((const void *)(uintptr_t)getpid, &library) != 0);
	expect_eq(symlinkat(library.dli_fname, place.fd, "filter.so"), 0);
	expect_eq(filter_make("standard", 0, unlink_only, -EBADF, place.path, &made.code, &made.n,
			      &err),
		  -ELIBACC);
	expect(strstr(err.why, "it is not a module of sbx") != NULL);
}

static void refuses_a_profile_that_does_not_exist_and_lists_the_others(void)
{
	_cleanup_made_ struct made made = { 0 };
	struct sbx_error err = { 0 };

	expect_eq(filter_make("permissive", 0, unlink_only, -EBADF, NOWHERE, &made.code, &made.n,
			      &err),
		  -EINVAL);
	expect_str(err.what, "cannot make a filter of the profile 'permissive'");
	expect_str(err.fix, "write one of: strict, standard");
	expect_eq(filter_make("", 0, NULL, -EBADF, NOWHERE, &made.code, &made.n, NULL), -EINVAL);
	expect(!made.code);
}

static const struct test tests[] = {
	TEST(nothing_to_deny_is_the_built_in_filter),
	TEST(a_hit_loads_no_module),
	TEST(works_without_a_cache),
	TEST(the_same_calls_in_any_order_share_a_file),
	TEST(other_calls_have_a_file_of_their_own),
	TEST(every_profile_and_variant_refuses_what_is_denied_and_nothing_else),
	TEST(another_architecture_is_killed_also_behind_denied_calls),
	TEST(a_forged_file_gives_nothing_back),
	TEST(a_doubtful_file_is_ignored_and_replaced),
	TEST(a_cache_that_cannot_be_written_is_no_failure),
	TEST(refuses_a_name_that_is_no_system_call),
	TEST(no_name_passes_for_two),
	TEST(a_missing_module_is_told),
	TEST(searches_no_module),
	TEST(refuses_a_module_without_our_function),
	TEST(refuses_a_profile_that_does_not_exist_and_lists_the_others),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
