/* SPDX-License-Identifier: MIT */
/*
 * What a replaced file keeps, and in which order it reaches the disk
 */
#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#include "file-place.h"
#include "test.h"

/* The linker redirects the library's calls here (--wrap); each adds a letter. */
static char calls[16];

static void note(char call)
{
	size_t len = strlen(calls);

	if (len + 1 < sizeof(calls))
		calls[len] = call;
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_renameat(int from_dir, const char *from, int to_dir, const char *to);
int __wrap_renameat(int from_dir, const char *from, int to_dir, const char *to);

int __wrap_fsync(int fd)
{
	struct stat status = { .st_mode = 0 };

	note(fstat(fd, &status) == 0 && S_ISDIR(status.st_mode) ? 'd' : 'f');
	return __real_fsync(fd);
}

int __wrap_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	note('r');
	return __real_renameat(from_dir, from, to_dir, to);
}

/* After a power cut between two steps no name may exist without its content. */
static void syncs_the_file_then_renames_it_then_syncs_the_directory(void)
{
	_cleanup_place_ struct place place = place_make();

	memset(calls, 0, sizeof(calls));
	expect_eq(file_replace(place.fd, "x", "hello", 5, 0644, NULL), 0);
	expect_str(calls, "frd");
	memset(calls, 0, sizeof(calls));
	expect_eq(file_update(place.fd, "x", "hello", 5, NULL), 0);
	expect_str(calls, "frd");
}

static void an_update_keeps_mode_and_owner_and_a_new_file_has_the_umasks(void)
{
	_cleanup_place_ struct place place = place_make();
	_cleanup_free_ char *bytes = NULL;
	size_t n_bytes = 0;
	struct stat status;
	mode_t saved = umask(027);

	expect_eq(file_update(place.fd, "x", "a", 1, NULL), 0);
	expect_eq(fstatat(place.fd, "x", &status, 0), 0);
	expect_eq(status.st_mode & 07777, 0640);
	expect_eq(fchmodat(place.fd, "x", 0606, 0), 0);
	if (geteuid() == 0)
		expect_eq(fchownat(place.fd, "x", 1234, 2345, 0), 0);
	expect_eq(file_update(place.fd, "x", "b", 1, NULL), 0);
	expect_eq(fstatat(place.fd, "x", &status, 0), 0);
	expect_eq(status.st_mode & 07777, 0606);
	expect(geteuid() != 0 || (status.st_uid == 1234 && status.st_gid == 2345));
	expect_eq(file_read(place.fd, "x", 10, &bytes, &n_bytes, NULL), 0);
	expect_str(bytes, "b");
	(void)umask(saved);
}

static const struct test tests[] = {
	TEST(syncs_the_file_then_renames_it_then_syncs_the_directory),
	TEST(an_update_keeps_mode_and_owner_and_a_new_file_has_the_umasks),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
