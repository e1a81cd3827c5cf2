/* SPDX-License-Identifier: MIT */

/*
 * Making, sealing and mapping the two files
 *
 * After region_map() as the server no process can map the server's file writable, change it by
 * pwrite(), punch holes into it or resize it; the server's own mapping remains writable. The
 * client's file can be written and punched by the client at any time, but not resized.
 */

#include "ring/region.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sbx/ring.h>

#include "base/cleanup.h"
#include "base/error.h"

/* Linux 6.3: the file can never be executed. Older kernels refuse the flag. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

#define SEALS_OF_SIZE (F_SEAL_SHRINK | F_SEAL_GROW)
#define SEALS_OF_SERVER (SEALS_OF_SIZE | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)
#define SEALS_OF_CLIENT (SEALS_OF_SIZE | F_SEAL_SEAL)

struct control {
	uint32_t magic;
	uint32_t version;
	uint64_t size;
	uint32_t flags;
	uint32_t readers;
	uint32_t writers;
	uint32_t server_pid;
	uint32_t client_pid;
	uint32_t data_at;
	uint64_t capacity;
	uint64_t nonce;
	uint32_t record_max;
	uint32_t reserved;
};
_Static_assert(sizeof(struct control) == SBX_RING_CONTROL_SIZE, "the control block's layout");
_Static_assert(offsetof(struct control, capacity) == SBX_RING_CAPACITY_OFFSET, "its offsets");
_Static_assert(offsetof(struct control, reserved) == SBX_RING_RESERVED_OFFSET, "its offsets");

static uint32_t record_max_of(size_t capacity)
{
	size_t n_bytes = capacity / 4 - SBX_RING_CELL_PAYLOAD_OFFSET;

	return (uint32_t)(n_bytes < SBX_RING_MESSAGE_MAX ? n_bytes : SBX_RING_MESSAGE_MAX);
}

static size_t file_size_of(size_t capacity)
{
	return SBX_RING_DATA_OFFSET + capacity;
}

static bool is_capacity(uint64_t capacity)
{
	return capacity >= SBX_RING_CAPACITY_MIN && capacity <= SBX_RING_CAPACITY_MAX &&
	       (capacity & (capacity - 1)) == 0;
}

/* ---- making ---- */

static int fail_to_make(struct sbx_error *err, int code, const char *why)
{
	(void)error_fill(err, code, why, NULL, "cannot make a channel in shared memory");
	if (code == -EPERM || code == -EACCES || code == -ENOSYS)
		sbx_error_fix(err, "make it outside of the sandbox: only its client side, which "
				   "makes no file, is for the inside");
	return code;
}

static int make_file(const struct control *control, unsigned seals)
{
	static const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	_cleanup_close_ int fd = memfd_create("sbx-ring", flags | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("sbx-ring", flags);
	if (fd < 0 || ftruncate(fd, (off_t)control->size) < 0 || fcntl(fd, F_ADD_SEALS, seals) < 0)
		return -errno;

	ssize_t n = pwrite(fd, control, sizeof(*control), 0);

	if (n < 0)
		return -errno;
	return n == sizeof(*control) ? take_fd(&fd) : -EIO;
}

static int make_files(struct control *control, struct region_files *ret)
{
	_cleanup_(region_files_deinit) struct region_files files = REGION_FILES_INIT;

	if (getrandom(&control->nonce, sizeof(control->nonce), 0) != sizeof(control->nonce))
		return -EIO;
	files.server_fd = make_file(control, SEALS_OF_SIZE);
	if (files.server_fd < 0)
		return files.server_fd;
	control->flags |= SBX_RING_FLAG_CLIENT;
	if (getrandom(&control->nonce, sizeof(control->nonce), 0) != sizeof(control->nonce))
		return -EIO;
	files.client_fd = make_file(control, SEALS_OF_CLIENT);
	if (files.client_fd < 0)
		return files.client_fd;
	*ret = files;
	files = (struct region_files)REGION_FILES_INIT;
	return 0;
}

int region_make(size_t capacity, bool is_call, uint32_t server_pid, uint32_t client_pid,
		struct region_files *ret, struct sbx_error *err)
{
	struct control control = {
		.magic = SBX_RING_MAGIC,
		.version = SBX_RING_VERSION,
		.size = file_size_of(capacity),
		.flags = is_call ? SBX_RING_FLAG_CALL : 0,
		.readers = 1,
		.writers = 1,
		.server_pid = server_pid,
		.client_pid = client_pid,
		.data_at = SBX_RING_DATA_OFFSET,
		.capacity = capacity,
		.record_max = record_max_of(capacity),
	};

	if (!is_capacity(capacity))
		return fail_to_make(err, -EINVAL,
				    "a direction has a power of two between 64 KiB and 1 GiB");
	if (SBX_RING_DATA_OFFSET % sysconf(_SC_PAGESIZE) != 0)
		return fail_to_make(err, -EOPNOTSUPP, "this kernel's pages are not of 4 KiB");

	int r = make_files(&control, ret);

	return r < 0 ? fail_to_make(err, r, NULL) : 0;
}

int region_make_eventfd(void)
{
	_cleanup_close_ int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);

	if (fd < 0 || eventfd_write(fd, SBX_RING_DOORBELLS) < 0)
		return -errno;
	return take_fd(&fd);
}

void region_files_deinit(struct region_files *files)
{
	close_fd(&files->server_fd);
	close_fd(&files->client_fd);
	*files = (struct region_files)REGION_FILES_INIT;
}

/* ---- checking ---- */

bool region_is_sealed(int server_fd)
{
	int seals = fcntl(server_fd, F_GET_SEALS);

	return seals >= 0 && (seals & SEALS_OF_SERVER) == SEALS_OF_SERVER;
}

/* Reads the control block of one file and compares it with the file. */
static int read_control(int fd, uint32_t side_flag, struct control *ret)
{
	struct stat status;
	struct control control;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || (seals & SEALS_OF_SIZE) != SEALS_OF_SIZE)
		return -EPERM;
	if (fstat(fd, &status) < 0)
		return -errno;
	if (pread(fd, &control, sizeof(control), 0) != sizeof(control) ||
	    control.magic != SBX_RING_MAGIC || control.version != SBX_RING_VERSION ||
	    !is_capacity(control.capacity) || control.size != file_size_of(control.capacity) ||
	    status.st_size < 0 || control.size != (uint64_t)status.st_size ||
	    (control.flags & ~(uint32_t)SBX_RING_FLAG_CALL) != side_flag ||
	    control.data_at != SBX_RING_DATA_OFFSET ||
	    control.record_max != record_max_of(control.capacity) || control.reserved != 0)
		return -EBADMSG;
	*ret = control;
	return 0;
}

static int read_controls(const struct region_files *files, struct control *server,
			 struct control *client)
{
	int r = read_control(files->server_fd, 0, server);

	if (r == 0)
		r = read_control(files->client_fd, SBX_RING_FLAG_CLIENT, client);
	if (r < 0)
		return r;
	if (server->capacity != client->capacity ||
	    ((server->flags ^ client->flags) & SBX_RING_FLAG_CALL))
		return -EBADMSG;
	return 0;
}

/* ---- mapping ---- */

/* Maps the header and the data, and the data a second time directly after the first. */
static void *map_twice(int fd, size_t capacity, int protection)
{
	size_t n_file = file_size_of(capacity);
	uint8_t *at = mmap(NULL, n_file + capacity, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	if (mmap(at, n_file, protection, MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0) ==
		    MAP_FAILED ||
	    mmap(at + n_file, capacity, protection, MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd,
		 SBX_RING_DATA_OFFSET) == MAP_FAILED ||
	    /* A child of this process must not be able to write as this side. */
	    madvise(at, n_file + capacity, MADV_DONTFORK) < 0) {
		int saved = errno;

		(void)munmap(at, n_file + capacity);
		errno = saved;
		return NULL;
	}
	return at;
}

static int map_both(const struct region_files *files, bool is_server, struct region *region)
{
	int own_fd = is_server ? files->server_fd : files->client_fd;
	int other_fd = is_server ? files->client_fd : files->server_fd;

	region->own = map_twice(own_fd, region->capacity, PROT_READ | PROT_WRITE);
	if (!region->own)
		return -errno;
	/* F_SEAL_FUTURE_WRITE leaves the writable mappings that exist, so no other process may
	 * have made one. Over a socket no other process has the fd yet. Of a channel with a name
	 * the keeper has the fd, too; it gives it to the client after it has seen the seals. */
	if (is_server && !region_is_sealed(own_fd) &&
	    fcntl(own_fd, F_ADD_SEALS, SEALS_OF_SERVER) < 0)
		return -errno;
	region->other = map_twice(other_fd, region->capacity, PROT_READ);
	return region->other ? 0 : -errno;
}

static int fail_to_map(struct sbx_error *err, int code)
{
	(void)sbx_error_what(err, code, "cannot use the shared memory of the channel");
	if (code == -EBADMSG)
		sbx_error_why(err,
			      "the files that came over the socket are not those of a channel");
	if (code == -EPERM)
		sbx_error_why(err, "a file that came over the socket is not sealed");
	return code;
}

int region_map(const struct region_files *files, int role, struct region *ret,
	       struct sbx_error *err)
{
	_cleanup_(region_deinit) struct region region = REGION_INIT;
	struct control server = { 0 }, client = { 0 };
	bool is_server = role == SBX_RING_SERVER;
	int r = is_server || region_is_sealed(files->server_fd)
			? read_controls(files, &server, &client)
			: -EPERM;

	if (r < 0)
		return fail_to_map(err, r);
	region.capacity = server.capacity;
	region.n_mapped = file_size_of(server.capacity) + server.capacity;
	region.own_nonce = is_server ? server.nonce : client.nonce;
	region.other_nonce = is_server ? client.nonce : server.nonce;
	region.record_max = server.record_max;
	region.is_call = server.flags & SBX_RING_FLAG_CALL;
	r = map_both(files, is_server, &region);
	if (r < 0)
		return fail_to_map(err, r);
	*ret = region;
	region = (struct region)REGION_INIT;
	return 0;
}

void region_deinit(struct region *region)
{
	if (region->own)
		(void)munmap(region->own, region->n_mapped);
	if (region->other)
		(void)munmap((void *)(uintptr_t)region->other, region->n_mapped);
	*region = (struct region)REGION_INIT;
}
