/* SPDX-License-Identifier: MIT */

/* The seals and the geometry of the two files; each attack is also tried on a file without seals */

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sbx/ring.h>

#include "ring/region.h"
#include "test.h"

#define CAPACITY ((size_t)SBX_RING_CAPACITY_MIN)
#define N_FILE (SBX_RING_DATA_OFFSET + CAPACITY)

struct both {
	struct region_files files;
	struct region server, client;
};

static struct both open_both(void)
{
	struct both both = { REGION_FILES_INIT, REGION_INIT, REGION_INIT };

	expect_eq(region_make(CAPACITY, false, 1, 2, &both.files, NULL), 0);
	expect_eq(region_map(&both.files, SBX_RING_SERVER, &both.server, NULL), 0);
	expect_eq(region_map(&both.files, SBX_RING_CLIENT, &both.client, NULL), 0);
	return both;
}

static void close_both(struct both *both)
{
	region_deinit(&both->server);
	region_deinit(&both->client);
	region_files_deinit(&both->files);
}

static void the_data_is_mapped_twice_in_a_row(void)
{
	struct both both = open_both();
	/* volatile: the compiler does not know that two places are the same memory. */
	volatile uint8_t *data = both.server.own + SBX_RING_DATA_OFFSET;

	data[0] = 1;
	expect_eq(data[CAPACITY], 1);
	data[2 * CAPACITY - 1] = 2;
	expect_eq(data[CAPACITY - 1], 2);
	expect_eq(both.client.other[SBX_RING_DATA_OFFSET + CAPACITY], 1);
	both.client.own[SBX_RING_DATA_OFFSET] = 3;
	expect_eq(both.server.other[SBX_RING_DATA_OFFSET + CAPACITY], 3);
	close_both(&both);
}

/* What a client can try with an fd of the server's file. Returns how many of them succeed. */
static unsigned attack(int fd)
{
	_cleanup_close_ int again = -EBADF;
	char path[64];
	unsigned n = 0;
	void *at = mmap(NULL, N_FILE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	n += at != MAP_FAILED;
	if (at != MAP_FAILED)
		(void)munmap(at, N_FILE);
	at = mmap(NULL, N_FILE, PROT_READ, MAP_SHARED, fd, 0);
	n += at != MAP_FAILED && mprotect(at, N_FILE, PROT_READ | PROT_WRITE) == 0;
	if (at != MAP_FAILED)
		(void)munmap(at, N_FILE);
	n += pwrite(fd, "x", 1, 0) == 1;
	n += fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, N_FILE) == 0;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDWR | O_CLOEXEC);
	n += again >= 0 && pwrite(again, "x", 1, 0) == 1;
	n += ftruncate(fd, 0) == 0;
	return n;
}

static void no_attack_changes_the_file_of_the_server(void)
{
	struct both both = open_both();
	_cleanup_close_ int bare = memfd_create("bare", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	expect_eq(ftruncate(bare, (off_t)N_FILE), 0);
	expect_eq(attack(bare), 6);
	expect(region_is_sealed(both.files.server_fd));
	expect_eq(attack(both.files.server_fd), 0);
	/* The server itself can still write. */
	both.server.own[SBX_RING_DATA_OFFSET] = 7;
	expect_eq(both.client.other[SBX_RING_DATA_OFFSET], 7);
	close_both(&both);
}

static void the_file_of_the_client_keeps_its_size(void)
{
	struct both both = open_both();

	expect_eq(ftruncate(both.files.client_fd, 0), -1);
	expect_eq(ftruncate(both.files.client_fd, 2 * (off_t)N_FILE), -1);
	/* A hole is zeros, no SIGBUS. */
	both.client.own[SBX_RING_DATA_OFFSET] = 9;
	expect_eq(fallocate(both.files.client_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
			    N_FILE),
		  0);
	expect_eq(both.server.other[SBX_RING_DATA_OFFSET], 0);
	close_both(&both);
}

static void a_client_refuses_a_file_that_is_not_sealed(void)
{
	_cleanup_(region_files_deinit) struct region_files files = REGION_FILES_INIT;
	struct region region = REGION_INIT;
	struct sbx_error err = { 0 };

	expect_eq(region_make(CAPACITY, false, 1, 2, &files, NULL), 0);
	expect(!region_is_sealed(files.server_fd));
	expect_eq(region_map(&files, SBX_RING_CLIENT, &region, &err), -EPERM);
	expect(!region.own && err.why[0]);
}

static void refuses_capacities(void)
{
	static const size_t wrong[] = { 0,
					1,
					4096,
					CAPACITY - 1,
					CAPACITY + 1,
					3 * CAPACITY,
					2 * (size_t)SBX_RING_CAPACITY_MAX };

	for (size_t i = 0; i < N_ELEMENTS(wrong); i++) {
		struct region_files files = REGION_FILES_INIT;
		struct sbx_error err = { 0 };

		expect_eq(region_make(wrong[i], false, 1, 2, &files, &err), -EINVAL);
		expect(files.server_fd < 0 && err.why[0]);
	}
}

struct lie {
	off_t offset;
	uint64_t value;
	size_t n_bytes;
};

/* A control block with one wrong field. */
static void refuses_files_that_are_no_channel(void)
{
	static const struct lie lies[] = {
		{ SBX_RING_MAGIC_OFFSET, 1, 4 },
		{ SBX_RING_VERSION_OFFSET, 2, 4 },
		{ SBX_RING_SIZE_OFFSET, N_FILE + 1, 8 },
		{ SBX_RING_FLAGS_OFFSET, 4, 4 },
		{ SBX_RING_FLAGS_OFFSET, SBX_RING_FLAG_CLIENT, 4 },
		{ SBX_RING_FLAGS_OFFSET, SBX_RING_FLAG_CALL, 4 },
		{ SBX_RING_DATA_AT_OFFSET, 0, 4 },
		{ SBX_RING_CAPACITY_OFFSET, 2 * CAPACITY, 8 },
		{ SBX_RING_CAPACITY_OFFSET, CAPACITY - 8, 8 },
		{ SBX_RING_RECORD_MAX_OFFSET, CAPACITY, 4 },
		{ SBX_RING_RESERVED_OFFSET, 1, 4 },
	};

	for (size_t i = 0; i < N_ELEMENTS(lies); i++) {
		_cleanup_(region_files_deinit) struct region_files files = REGION_FILES_INIT;
		struct region region = REGION_INIT;

		expect_eq(region_make(CAPACITY, false, 1, 2, &files, NULL), 0);
		expect_eq(pwrite(files.server_fd, &lies[i].value, lies[i].n_bytes, lies[i].offset),
			  lies[i].n_bytes);
		expect_eq(region_map(&files, SBX_RING_SERVER, &region, NULL), -EBADMSG);
	}
}

static void refuses_fds_that_are_no_sealed_files(void)
{
	_cleanup_(region_files_deinit) struct region_files files = REGION_FILES_INIT;
	_cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	_cleanup_close_ int bare = memfd_create("bare", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct region region = REGION_INIT;

	expect_eq(region_make(CAPACITY, false, 1, 2, &files, NULL), 0);
	expect_eq(ftruncate(bare, (off_t)N_FILE), 0);
	const struct region_files wrong[] = { { null, files.client_fd },
					      { files.server_fd, null },
					      { bare, files.client_fd },
					      { files.server_fd, bare },
					      { files.client_fd, files.server_fd } };

	for (size_t i = 0; i < N_ELEMENTS(wrong); i++) {
		expect(region_map(&wrong[i], SBX_RING_SERVER, &region, NULL) < 0);
		expect(region_map(&wrong[i], SBX_RING_CLIENT, &region, NULL) < 0);
		expect(!region.own && !region.other);
	}
}

static const struct test tests[] = {
	TEST(the_data_is_mapped_twice_in_a_row),
	TEST(no_attack_changes_the_file_of_the_server),
	TEST(the_file_of_the_client_keeps_its_size),
	TEST(a_client_refuses_a_file_that_is_not_sealed),
	TEST(refuses_capacities),
	TEST(refuses_files_that_are_no_channel),
	TEST(refuses_fds_that_are_no_sealed_files),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
