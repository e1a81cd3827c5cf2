/* SPDX-License-Identifier: MIT */

#include "filter/cache.h"

#include <errno.h>
#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/file.h"
#include "base/text.h"
#include "filter-place.h"
#include "test.h"

#define KEY "generation 1\nprofile standard\nvariant 3\ndeny 6 ptrace\n"

static const struct sock_filter code[] = {
	{ 0x20, 0, 0, 4 },
	{ 0x15, 0, 1, 0xc000003e },
	{ 0x06, 0, 0, 0x7fff0000 },
	{ 0x06, 0, 0, 0x80000000 },
};

/* A cache with one filter, and the name of its file. */
static struct place one_file(char name[256])
{
	struct place place = place_make();

	expect_eq(cache_write(place.fd, KEY, code, N_ELEMENTS(code)), 0);
	expect_eq(place_names(&place, name), 1);
	return place;
}

static void expect_read(int dirfd, const char *key, int want)
{
	struct sock_filter *found = NULL;
	size_t n = 77;

	expect_eq(cache_read(dirfd, key, &found, &n), want);
	expect(want == 0 || (!found && n == 77));
	expect(want != 0 || (n == N_ELEMENTS(code) && memcmp(found, code, sizeof(code)) == 0));
	free(found);
}

/* Expects that an untrusted file is replaced. */
static void expect_replaced(const struct place *place)
{
	expect_eq(cache_write(place->fd, KEY, code, N_ELEMENTS(code)), 0);
	expect_read(place->fd, KEY, 0);
}

static void gives_back_what_was_written(void)
{
	char name[256];
	_cleanup_place_ struct place place = one_file(name);
	struct stat status = { .st_mode = 0 };

	expect_read(place.fd, KEY, 0);
	expect_eq(fstatat(place.fd, name, &status, AT_SYMLINK_NOFOLLOW), 0);
	expect_eq(status.st_mode, S_IFREG | 0600);
}

static void finds_nothing_for_a_key_that_was_not_written(void)
{
	char name[256];
	_cleanup_place_ struct place place = one_file(name);

	expect_read(place.fd, KEY "deny 5 mount\n", -ENOENT);
	expect_read(place.fd, "", -ENOENT);
	expect_read(-EBADF, KEY, -EBADF);
}

/* Two keys with the same file name: the key in the file decides. */
static void trusts_the_key_in_the_file_and_not_its_name(void)
{
	char mine[256], other[256];
	_cleanup_place_ struct place place = one_file(mine);
	_cleanup_place_ struct place second = place_make();

	expect_eq(cache_write(second.fd, KEY "x", code, N_ELEMENTS(code)), 0);
	expect_eq(place_names(&second, other), 1);
	expect_eq(renameat(place.fd, mine, place.fd, other), 0);
	expect_read(place.fd, KEY "x", -EBADMSG);
	expect_read(place.fd, KEY, -ENOENT);
}

static void refuses_a_torn_file_wherever_it_was_torn(void)
{
	char name[256];
	_cleanup_place_ struct place place = one_file(name);
	_cleanup_free_ char *bytes = NULL;
	size_t n_bytes = 0;

	expect_eq(file_read(place.fd, name, 1 << 16, &bytes, &n_bytes, NULL), 0);
	for (size_t n = 0; n < n_bytes; n++) {
		expect_eq(file_replace(place.fd, name, bytes, n, 0600, NULL), 0);
		expect_read(place.fd, KEY, -EBADMSG);
	}
	expect_eq(file_replace(place.fd, name, bytes, n_bytes + 1, 0600, NULL), 0);
	expect_read(place.fd, KEY, -EBADMSG);
	expect_replaced(&place);
}

static void flip(char *bytes, size_t bit)
{
	((unsigned char *)bytes)[bit / 8] ^= (unsigned char)(1u << bit % 8);
}

static void refuses_a_file_with_any_bit_changed(void)
{
	char name[256];
	_cleanup_place_ struct place place = one_file(name);
	_cleanup_free_ char *bytes = NULL;
	size_t n_bytes = 0;

	expect_eq(file_read(place.fd, name, 1 << 16, &bytes, &n_bytes, NULL), 0);
	for (size_t i = 0; i < n_bytes * 8; i++) {
		struct sock_filter *found = NULL;
		size_t n;

		flip(bytes, i);
		expect_eq(cache_parse(bytes, n_bytes, KEY, &found, &n), -EBADMSG);
		expect(!found);
		flip(bytes, i);
	}
}

static void refuses_a_file_of_another_user(void)
{
	char name[256];
	_cleanup_place_ struct place place = one_file(name);

	if (fchownat(place.fd, name, geteuid() + 1, (gid_t)-1, 0) < 0)
		skip("only root can make a file of somebody else");
	expect_read(place.fd, KEY, -EPERM);
	expect_replaced(&place);
}

static void refuses_a_file_that_others_may_write(void)
{
	static const mode_t modes[] = { 0620, 0602, 0666, 0777 };
	char name[256];
	_cleanup_place_ struct place place = one_file(name);

	for (size_t i = 0; i < N_ELEMENTS(modes); i++) {
		expect_eq(fchmodat(place.fd, name, modes[i], 0), 0);
		expect_read(place.fd, KEY, -EPERM);
	}
	expect_eq(fchmodat(place.fd, name, 0644, 0), 0);
	expect_read(place.fd, KEY, 0);
	expect_eq(fchmodat(place.fd, name, 0666, 0), 0);
	expect_replaced(&place);
}

static void refuses_a_file_with_a_second_name(void)
{
	char name[256];
	_cleanup_place_ struct place place = one_file(name);

	expect_eq(linkat(place.fd, name, place.fd, "second", 0), 0);
	expect_read(place.fd, KEY, -EPERM);
	expect_replaced(&place);
}

static void follows_no_link(void)
{
	char name[256];
	_cleanup_place_ struct place place = one_file(name);

	expect_eq(renameat(place.fd, name, place.fd, "elsewhere"), 0);
	expect_eq(symlinkat("elsewhere", place.fd, name), 0);
	expect_read(place.fd, KEY, -ELOOP);
	expect_replaced(&place);
}

/* A FIFO would block open() without O_NONBLOCK. */
static void refuses_what_is_no_file(void)
{
	char name[256];
	_cleanup_place_ struct place place = one_file(name);

	expect_eq(unlinkat(place.fd, name, 0), 0);
	expect_eq(mkfifoat(place.fd, name, 0600), 0);
	expect_read(place.fd, KEY, -EPERM);
	expect_replaced(&place);
	expect_eq(unlinkat(place.fd, name, 0), 0);
	expect_eq(mkdirat(place.fd, name, 0700), 0);
	expect_read(place.fd, KEY, -EPERM);
	expect_eq(cache_write(place.fd, KEY, code, N_ELEMENTS(code)), -EISDIR);
	expect_eq(place_names(&place, name), 1); /* no temporary file is left */
}

static void keeps_no_filter_with_an_endless_key(void)
{
	_cleanup_text_ struct text key = TEXT_INIT;
	_cleanup_place_ struct place place = place_make();
	char name[256];

	while (key.len < CACHE_KEY_MAX)
		text_add_char(&key, 'x');
	expect_eq(cache_write(place.fd, text_string(&key), code, N_ELEMENTS(code)), 0);
	expect_read(place.fd, text_string(&key), 0);
	text_add_char(&key, 'x');
	expect_eq(cache_write(place.fd, text_string(&key), code, N_ELEMENTS(code)), -EFBIG);
	expect_eq(place_names(&place, name), 1);
}

static const struct test tests[] = {
	TEST(gives_back_what_was_written),
	TEST(finds_nothing_for_a_key_that_was_not_written),
	TEST(trusts_the_key_in_the_file_and_not_its_name),
	TEST(refuses_a_torn_file_wherever_it_was_torn),
	TEST(refuses_a_file_with_any_bit_changed),
	TEST(refuses_a_file_of_another_user),
	TEST(refuses_a_file_that_others_may_write),
	TEST(refuses_a_file_with_a_second_name),
	TEST(follows_no_link),
	TEST(refuses_what_is_no_file),
	TEST(keeps_no_filter_with_an_endless_key),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
