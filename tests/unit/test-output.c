/* SPDX-License-Identifier: MIT */

/* The archive of --out: what it contains, and when writing it stops */

#include "output/output.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <inttypes.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "file-place.h"
#include "test.h"

#define KIB INT64_C(1024)
#define GIB (INT64_C(1) << 30)
#define HOLE (4 * GIB)

/* A clock that advances by one microsecond with each reading. */
static uint64_t now_usec;
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	now_usec++;
	*ret = (struct timespec){ .tv_sec = (time_t)(now_usec / 1000000),
				  .tv_nsec = (long)(now_usec % 1000000 * 1000) };
	return 0;
}

struct rig {
	struct place layer;
	int target;
	struct output_result result;
};
#define _cleanup_rig_ _cleanup_(rig_deinit)

static struct rig rig_make(void)
{
	FILE *target = tmpfile();
	struct rig rig = { .layer = place_make(), .target = -EBADF };

	if (!target || (rig.target = dup(fileno(target))) < 0)
		abort();
	(void)fclose(target);
	return rig;
}

static void rig_deinit(struct rig *rig)
{
	free(rig->result.why);
	free(rig->result.first_left_out);
	close_fd(&rig->target);
	place_deinit(&rig->layer);
}

static int make_file(const struct rig *rig, const char *name)
{
	int fd = openat(rig->layer.fd, name, O_RDWR | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0)
		abort();
	return fd;
}

static int archive(struct rig *rig, uint64_t deadline_usec)
{
	const struct output_options options = { .deadline_usec = deadline_usec };

	return sbx_output_archive(rig->layer.fd, rig->target, &options, &rig->result);
}

/* Bytes read by all calls of this process, or -1 if the kernel does not count them. */
static int64_t bytes_read(void)
{
	_cleanup_fclose_ FILE *counts = fopen("/proc/self/io", "re");
	int64_t n;

	return counts && fscanf(counts, "rchar: %" SCNd64, &n) == 1 ? n : -1;
}

static int64_t size_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? st.st_size : -1;
}

/* Expects the bytes of @name in the archive at @offset, after all holes. */
static void expect_bytes(const struct rig *rig, int64_t offset, const char *want)
{
	struct archive *reader = archive_read_new();
	struct archive_entry *entry;
	const char *found = NULL;
	const void *block;
	size_t n, len = strlen(want);
	la_int64_t at;

	if (lseek(rig->target, 0, SEEK_SET) < 0 || !reader)
		abort();
	(void)archive_read_support_format_tar(reader);
	expect_eq(archive_read_open_fd(reader, rig->target, 65536), ARCHIVE_OK);
	expect_eq(archive_read_next_header(reader, &entry), ARCHIVE_OK);
	while (!found && archive_read_data_block(reader, &block, &n, &at) == ARCHIVE_OK)
		if (offset >= at && offset + (int64_t)len <= at + (int64_t)n)
			found = (const char *)block + (offset - at);
	expect(found && memcmp(found, want, len) == 0);
	(void)archive_read_free(reader);
}

static void write_at(int fd, int64_t offset, const char *text)
{
	size_t len = strlen(text);

	if (pwrite(fd, text, len, offset) != (ssize_t)len)
		abort();
}

static void a_hole_is_stored_without_being_read(void)
{
	_cleanup_rig_ struct rig rig = rig_make();
	_cleanup_close_ int fd = make_file(&rig, "sparse");
	int64_t before;

	write_at(fd, 0, "begin");
	write_at(fd, HOLE, "middle");
	write_at(fd, 2 * HOLE - 3, "end");
	if (lseek(fd, 0, SEEK_HOLE) >= HOLE)
		skip("this file system has no holes");
	before = bytes_read();
	if (before < 0)
		skip("this kernel does not count what is read");
	expect_eq(archive(&rig, OUTPUT_NO_DEADLINE), 0);
	expect(bytes_read() - before < 1024 * KIB);
	expect(size_of(rig.target) < 1024 * KIB);
	expect_bytes(&rig, 0, "begin");
	expect_bytes(&rig, HOLE, "middle");
	expect_bytes(&rig, 2 * HOLE - 3, "end");
}

static void a_file_that_is_all_hole_is_nothing_but_its_size(void)
{
	_cleanup_rig_ struct rig rig = rig_make();
	_cleanup_close_ int fd = make_file(&rig, "hole");

	if (ftruncate(fd, 8 * 1024 * GIB) < 0)
		skip("this file system has no files of this size");
	expect_eq(archive(&rig, OUTPUT_NO_DEADLINE), 0);
	expect(size_of(rig.target) < 64 * KIB);
}

struct advance {
	unsigned n_calls;
	uint64_t n_names;
};

static void advanced(void *userdata, uint64_t n_names)
{
	struct advance *advance = userdata;

	expect(n_names >= advance->n_names);
	advance->n_calls++;
	advance->n_names = n_names;
}

static void progress_is_reported_for_names_and_within_a_file(void)
{
	_cleanup_rig_ struct rig rig = rig_make();
	_cleanup_close_ int large = make_file(&rig, "a"), small = make_file(&rig, "b");
	struct advance advance = { .n_calls = 0 };
	const struct output_options options = { .deadline_usec = OUTPUT_NO_DEADLINE,
						.advanced = advanced,
						.userdata = &advance };
	static const char block[64 * 1024] = "x";

	for (int i = 0; i < 16; i++)
		expect_eq(write(large, block, sizeof(block)), sizeof(block));
	expect_eq(write(small, "x", 1), 1);
	expect_eq(sbx_output_archive(rig.layer.fd, rig.target, &options, &rig.result), 0);
	expect(advance.n_calls > 4);
	expect_eq(advance.n_names, 1);
}

/* A deadline after some readings of the clock expires in the middle of any work. */
static void expect_late(struct rig *rig)
{
	uint64_t deadline = now_usec + 4;

	expect_eq(archive(rig, deadline), -ETIME);
	expect_eq(now_usec, deadline);
	expect(rig->result.why && strstr(rig->result.why, "the time limit"));
}

static void content_is_left_when_the_time_is_over(void)
{
	_cleanup_rig_ struct rig rig = rig_make();
	_cleanup_close_ int fd = make_file(&rig, "content");
	static const char block[64 * 1024] = "x";

	for (int i = 0; i < 16; i++)
		expect_eq(write(fd, block, sizeof(block)), sizeof(block));
	expect_late(&rig);
	expect(size_of(rig.target) < 512 * KIB);
}

static void a_hole_is_left_when_the_time_is_over(void)
{
	_cleanup_rig_ struct rig rig = rig_make();
	_cleanup_close_ int fd = make_file(&rig, "hole");

	if (ftruncate(fd, 64 * GIB) < 0)
		skip("this file system has no files of this size");
	expect_late(&rig);
}

static void many_holes_are_left_when_the_time_is_over(void)
{
	_cleanup_rig_ struct rig rig = rig_make();
	_cleanup_close_ int fd = make_file(&rig, "holes");

	for (int i = 1; i < 10; i++)
		write_at(fd, i * 1024 * KIB, "x");
	expect_late(&rig);
	expect_eq(size_of(rig.target), 0);
}

static void a_time_that_was_over_before_archives_nothing(void)
{
	_cleanup_rig_ struct rig rig = rig_make();

	expect_eq(archive(&rig, now_usec), -ETIME);
	expect_eq(size_of(rig.target), 0);
}

static void a_full_disk_is_named(void)
{
	_cleanup_rig_ struct rig rig = rig_make();
	_cleanup_close_ int fd = make_file(&rig, "content");
	static const char block[64 * 1024] = "x";

	expect_eq(write(fd, block, sizeof(block)), sizeof(block));
	close_fd(&rig.target);
	rig.target = open("/dev/full", O_WRONLY | O_CLOEXEC);
	expect_eq(archive(&rig, now_usec + 1000000), -ENOSPC);
	expect(rig.result.why && strstr(rig.result.why, "No space left on device"));
}

static void names_are_left_when_the_time_is_over(void)
{
	_cleanup_rig_ struct rig rig = rig_make();

	for (int i = 0; i < 10; i++) {
		char name[] = { (char)('a' + i), '\0' };

		expect_eq(symlinkat("nowhere", rig.layer.fd, name), 0);
	}
	expect_late(&rig);
}

static const struct test tests[] = {
	TEST(a_hole_is_stored_without_being_read),
	TEST(a_file_that_is_all_hole_is_nothing_but_its_size),
	TEST(progress_is_reported_for_names_and_within_a_file),
	TEST(content_is_left_when_the_time_is_over),
	TEST(a_hole_is_left_when_the_time_is_over),
	TEST(many_holes_are_left_when_the_time_is_over),
	TEST(a_time_that_was_over_before_archives_nothing),
	TEST(a_full_disk_is_named),
	TEST(names_are_left_when_the_time_is_over),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
