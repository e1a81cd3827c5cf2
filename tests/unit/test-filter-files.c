/* SPDX-License-Identifier: MIT */

/* Which files each profile lets a command create */

#include "filter/filter.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "filter-rows.h"
#include "test.h"

static void makes_files_but_no_devices(void)
{
	static const struct row rows[] = {
		{ "mknod", { 0, 0644 }, 0, NO(EPERM), ALLOW },
		{ "mknod", { 0, S_IFREG | 0644 }, 0, NO(EPERM), ALLOW },
		{ "mknod", { 0, S_IFIFO | 0644 }, 0, NO(EPERM), ALLOW },
		{ "mknod", { 0, S_IFSOCK | 0644 }, 0, NO(EPERM), ALLOW },
		{ "mknod", { 0, S_IFCHR | 0644 }, 31, NO(EPERM), NO(EPERM) },
		{ "mknod", { 0, S_IFBLK | 0644 }, 31, NO(EPERM), NO(EPERM) },
		{ "mknod", { 0, S_IFBLK | 0x10000 | HIGH }, 0, NO(EPERM), NO(EPERM) },
		{ "mknodat", { 0, S_IFCHR, S_IFIFO | 0600, 0 }, 0, NO(EPERM), ALLOW },
		{ "mknodat", { 0, 0, S_IFCHR | 0600, 0 }, 0, NO(EPERM), NO(EPERM) },
	};

	CHECK(rows);
}

/* Set-user-ID files in a directory of the host would run as the directory's owner. */
static void makes_no_programs_that_run_as_their_owner(void)
{
	enum { MAKE = O_WRONLY | O_CREAT, NAMELESS = O_WRONLY | O_TMPFILE };
	static const struct row rows[] = {
		{ "chmod", { 0, 0755 }, 0, NO(EPERM), ALLOW },
		{ "chmod", { 0, 01777 }, 0, NO(EPERM), ALLOW },
		{ "chmod", { 0, 04755 }, 0, NO(EPERM), NO(EPERM) },
		{ "chmod", { 0, 02755 }, 31, NO(EPERM), NO(EPERM) },
		{ "chmod", { 0, 06000 | HIGH }, 0, NO(EPERM), NO(EPERM) },
		{ "fchmod", { 3, 04000 }, 0, NO(EPERM), NO(EPERM) },
		{ "fchmodat", { 06000, 06000, 0644 }, 0, NO(EPERM), ALLOW },
		{ "fchmodat", { 3, 0, 04644 }, 0, NO(EPERM), NO(EPERM) },
		{ "fchmodat2", { 3, 0, 02644 }, 0, NO(EPERM), NO(EPERM) },
		{ "creat", { 0, 04755 }, 0, NO(EPERM), NO(EPERM) },
		{ "open", { 0, MAKE, 0644 }, 0, NO(EACCES), ALLOW },
		{ "open", { 0, MAKE, 04644 }, 0, NO(EACCES), NO(EPERM) },
		{ "open", { 0, NAMELESS, 02644 }, 0, NO(EACCES), NO(EPERM) },
		/* The mode argument only counts if the call can create a file. */
		{ "open", { 0, O_WRONLY, 04644 }, 0, NO(EACCES), ALLOW },
		{ "open", { 0, O_RDONLY | O_DIRECTORY, 04644 }, 0, ALLOW, ALLOW },
		{ "openat", { 3, 0, MAKE, 0644 }, 0, NO(EACCES), ALLOW },
		{ "openat", { 3, 0, MAKE, 06644 }, 0, NO(EACCES), NO(EPERM) },
		{ "openat", { 3, 0, NAMELESS, 04644 }, 0, NO(EACCES), NO(EPERM) },
		{ "openat2", { 3 }, 0, NO(ENOSYS), NO(ENOSYS) },
		{ "openat2", { 3 }, NESTED, NO(ENOSYS), ALLOW },
		{ "mknod", { 0, S_IFREG | 04755 }, 0, NO(EPERM), NO(EPERM) },
		{ "mknodat", { 3, 0, S_IFREG | 02755 }, 31, NO(EPERM), NO(EPERM) },
	};

	CHECK(rows);
}

static void memory_files_are_sealed_where_execution_is_limited(void)
{
	static const struct row rows[] = {
		{ "memfd_create", { 0, 1 }, 0, ALLOW, ALLOW },
		{ "memfd_create", { 0, 1 }, NO_MEMFD_EXEC, NO(EACCES), NO(EACCES) },
		{ "memfd_create",
		  { 0, 0x10 /* executable */ },
		  NO_MEMFD_EXEC,
		  NO(EACCES),
		  NO(EACCES) },
		{ "memfd_create", { 8, 8 | 1 }, NO_MEMFD_EXEC, ALLOW, ALLOW },
		{ "memfd_create", { 8, (uint64_t)8 << 32 }, NO_MEMFD_EXEC, NO(EACCES), NO(EACCES) },
	};

	CHECK(rows);
}

static void strict_opens_for_reading_only(void)
{
	static const struct row rows[] = {
		{ "openat", { 0, 0, O_RDONLY | O_CLOEXEC }, 0, ALLOW, ALLOW },
		{ "openat", { 0, 0, O_PATH | O_DIRECTORY }, 0, ALLOW, ALLOW },
		{ "openat", { 0, 0, O_WRONLY }, 0, NO(EACCES), ALLOW },
		{ "openat", { 0, 0, O_RDWR | HIGH }, 0, NO(EACCES), ALLOW },
		{ "openat", { 0, 0, O_CREAT }, 0, NO(EACCES), ALLOW },
		{ "openat", { 0, 0, O_TRUNC }, 0, NO(EACCES), ALLOW },
		{ "openat", { 0, 0, O_TMPFILE | O_RDWR }, 0, NO(EACCES), ALLOW },
		{ "open", { 0, O_RDONLY, O_RDWR }, 0, ALLOW, ALLOW },
		{ "open", { 0, O_RDWR }, 31, NO(EACCES), ALLOW },
		{ "creat", { 0 }, 0, NO(EPERM), ALLOW },
	};

	CHECK(rows);
}

static const struct test tests[] = {
	TEST(makes_files_but_no_devices),
	TEST(makes_no_programs_that_run_as_their_owner),
	TEST(memory_files_are_sealed_where_execution_is_limited),
	TEST(strict_opens_for_reading_only),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
