/* SPDX-License-Identifier: MIT */

/*
 * Channels do what tests/abi/ring-vectors.json says, as tests/abi/ring-python.py holds the Python
 * module to it
 *
 * This test is the other side of a channel: it has the mapping of the file that the side under test
 * reads, and writes into it what a step says. A case is run with either role under test.
 *
 *   ["hex", offset, bytes] ["u32"|"u64", offset, number]   write
 *   ["record", position, flags, bytes or size]             write a record where it belongs
 *   ["stamp", position, of]                                 the stamp of another position
 *   ["parts", n]                                            n full parts, of which n - 1 are read
 *   ["receive", bytes or size] ["frame", type, id, bytes]   what is received
 *   ["ends", how] ["frame_ends", how] ["send", size, how]   "empty", "closed", "full", "sent", or
 *                                                           the name of a violation
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sbx/error.h>
#include <sbx/ring.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/tree.h"
#include "ring/region.h"
#include "test.h"

#define SIZE_MAX_OF_CASE 16384

static struct tree *vectors;
static size_t capacity;

/* One side under test, and the file that this test writes as its other side. */
struct rig {
	struct sbx_ring *ring;
	struct region region; /* of the server that this test is */
	uint8_t *file;	      /* the other side's file */
	size_t n_mapped;
	uint64_t nonce;
	bool is_call;
	int socket, eventfd;
	const char *name;
};

static void rig_deinit(struct rig *rig)
{
	sbx_ring_close(rig->ring);
	if (rig->region.own)
		region_deinit(&rig->region);
	else if (rig->file)
		(void)munmap(rig->file, rig->n_mapped);
	close_fd(&rig->socket);
	close_fd(&rig->eventfd);
}
#define _cleanup_rig_ _cleanup_(rig_deinit)

static const struct tree_node *item(const struct tree_node *list, unsigned n)
{
	const struct tree_node *node = list->first;

	for (; n > 0 && node; n--)
		node = node->next;
	if (!node)
		abort();
	return node;
}

static uint64_t number(const struct tree_node *list, unsigned n)
{
	return strtoull(item(list, n)->text, NULL, 10);
}

/* Decodes hexadecimal bytes, or gives so many bytes of a filler. */
static size_t take_bytes(const struct tree_node *node, uint8_t *ret)
{
	size_t n_bytes =
		node->type == TREE_NUMBER ? strtoull(node->text, NULL, 10) : node->text_len / 2;

	if (n_bytes > SIZE_MAX_OF_CASE)
		abort();
	memset(ret, 0xa5, n_bytes);
	for (size_t i = 0; node->type == TREE_STRING && i < n_bytes; i++) {
		unsigned byte;

		if (sscanf(node->text + 2 * i, "%2x", &byte) != 1)
			abort();
		ret[i] = (uint8_t)byte;
	}
	return n_bytes;
}

static void send_hello(int socket, const struct region_files *files, int eventfd)
{
	const uint32_t hello[] = { SBX_RING_MAGIC, SBX_RING_VERSION };
	const int fds[] = { files->server_fd, files->client_fd, eventfd };

	if (fd_send(socket, hello, sizeof(hello), fds, N_ELEMENTS(fds)) < 0)
		abort();
}

/* This test is the server. */
static void open_client(struct rig *rig, int socket)
{
	struct sbx_ring_config config = { .size = sizeof(config) };
	_cleanup_(region_files_deinit) struct region_files files = REGION_FILES_INIT;

	rig->eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (region_make(capacity, rig->is_call, 1, 2, &files, NULL) < 0 ||
	    region_map(&files, SBX_RING_SERVER, &rig->region, NULL) < 0)
		abort();
	rig->file = rig->region.own;
	rig->nonce = rig->region.own_nonce;
	send_hello(rig->socket, &files, rig->eventfd);
	if (sbx_ring_open(&config, SBX_RING_CLIENT, socket, &rig->ring, NULL) < 0)
		abort();
}

/* This test is the client. */
static void open_server(struct rig *rig, int socket)
{
	struct sbx_ring_config config = {
		.size = sizeof(config),
		.mode = rig->is_call ? SBX_RING_CALL : SBX_RING_STREAM,
		.total_bytes = 2 * capacity,
	};
	uint32_t hello[2];
	int fds[SBX_RING_HELLO_N_FDS];
	size_t n_fds = 0;

	if (sbx_ring_open(&config, SBX_RING_SERVER, socket, &rig->ring, NULL) < 0 ||
	    fd_receive(rig->socket, hello, sizeof(hello), fds, N_ELEMENTS(fds), &n_fds) !=
		    sizeof(hello) ||
	    n_fds != N_ELEMENTS(fds))
		abort();
	rig->n_mapped = SBX_RING_DATA_OFFSET + capacity;
	rig->file = mmap(NULL, rig->n_mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fds[1], 0);
	if (rig->file == MAP_FAILED)
		abort();
	memcpy(&rig->nonce, rig->file + SBX_RING_NONCE_OFFSET, sizeof(rig->nonce));
	fd_close_many(fds, n_fds);
}

static struct rig open_rig(const struct tree_node *map, int role)
{
	struct rig rig = { .socket = -EBADF, .eventfd = -EBADF };
	int sockets[2];

	rig.name = tree_get(vectors, map, "name")->text;
	rig.is_call = strcmp(tree_get(vectors, map, "mode")->text, "call") == 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		abort();
	rig.socket = sockets[0];
	if (role == SBX_RING_SERVER)
		open_server(&rig, sockets[1]);
	else
		open_client(&rig, sockets[1]);
	return rig;
}

/* What a result is called in a step. */
static const char *result_name(const struct rig *rig, int r)
{
	static const char *const names[] = { "sent", "full", "empty", "closed" };

	if (r == -EPROTO)
		return sbx_ring_violation(rig->ring);
	if (r == -EPIPE)
		return "closed";
	return r >= 0 && (size_t)r < N_ELEMENTS(names) ? names[r] : strerror(-r);
}

static void expect_result(const struct rig *rig, int r, const struct tree_node *node)
{
	const char *got = result_name(rig, r);

	if (!got || strcmp(got, node->text) != 0)
		printf("# %s, line %u: %s, expected %s\n", rig->name, node->place.line,
		       got ? got : "?", node->text);
	expect(got && strcmp(got, node->text) == 0);
}

static void expect_bytes(const struct rig *rig, const struct tree_node *node, const void *bytes,
			 size_t n_bytes)
{
	uint8_t want[SIZE_MAX_OF_CASE];
	size_t n_want = take_bytes(node, want);
	bool is_same = n_want == n_bytes && (node->type == TREE_NUMBER || n_bytes == 0 ||
					     memcmp(bytes, want, n_bytes) == 0);

	if (!is_same)
		printf("# %s, line %u: other bytes (%zu)\n", rig->name, node->place.line, n_bytes);
	expect(is_same);
}

static void write_u64(struct rig *rig, size_t at, uint64_t value)
{
	memcpy(rig->file + at, &value, sizeof(value));
}

static void write_data(struct rig *rig, uint64_t position, const void *bytes, size_t n_bytes)
{
	for (size_t i = 0; i < n_bytes; i++)
		rig->file[SBX_RING_DATA_OFFSET + (position + i) % capacity] =
			((const uint8_t *)bytes)[i];
}

static void write_stamp(struct rig *rig, uint64_t position, uint64_t of)
{
	uint64_t stamp = (of + SBX_RING_CELL_SIZE) ^ rig->nonce;

	write_data(rig, position, &stamp, sizeof(stamp));
}

static void write_record(struct rig *rig, uint64_t position, uint32_t kind, const uint8_t *bytes,
			 uint32_t n_bytes)
{
	const uint32_t header[] = { n_bytes, kind };
	size_t at = rig->is_call ? SBX_RING_CELL_LENGTH_OFFSET : 0;

	write_data(rig, position + at, header, sizeof(header));
	write_data(rig, position + at + sizeof(header), bytes, n_bytes);
	if (rig->is_call)
		write_stamp(rig, position, position);
}

static void step_hex(struct rig *rig, const struct tree_node *step)
{
	uint8_t bytes[SIZE_MAX_OF_CASE];
	size_t n_bytes = take_bytes(item(step, 2), bytes);

	memcpy(rig->file + number(step, 1), bytes, n_bytes);
}

static void step_u64(struct rig *rig, const struct tree_node *step)
{
	write_u64(rig, number(step, 1), number(step, 2));
}

static void step_u32(struct rig *rig, const struct tree_node *step)
{
	uint32_t value = (uint32_t)number(step, 2);

	memcpy(rig->file + number(step, 1), &value, sizeof(value));
}

static void step_record(struct rig *rig, const struct tree_node *step)
{
	uint8_t bytes[SIZE_MAX_OF_CASE];
	size_t n_bytes = take_bytes(item(step, 3), bytes);

	write_record(rig, number(step, 1), (uint32_t)number(step, 2), bytes, (uint32_t)n_bytes);
}

static void step_stamp(struct rig *rig, const struct tree_node *step)
{
	write_stamp(rig, number(step, 1), number(step, 2));
}

static void step_parts(struct rig *rig, const struct tree_node *step)
{
	static const uint8_t zeros[SIZE_MAX_OF_CASE];
	uint32_t record_max = (uint32_t)sbx_ring_reserve_max(rig->ring);
	uint64_t position = 0, n_parts = number(step, 1);
	size_t header = rig->is_call ? SBX_RING_CELL_PAYLOAD_OFFSET : SBX_RING_RECORD_HEADER_SIZE;
	const void *bytes;
	size_t n_bytes;

	for (uint64_t i = 0; i < n_parts; i++) {
		write_record(rig, position, i == 0 ? SBX_RING_RECORD_BEGIN : 0, zeros, record_max);
		position += header + record_max;
		if (!rig->is_call)
			write_u64(rig, SBX_RING_TAIL_OFFSET, position);
		if (i + 1 < n_parts)
			expect_eq(sbx_ring_receive(rig->ring, &bytes, &n_bytes, 0), SBX_RING_EMPTY);
	}
}

static void step_receive(struct rig *rig, const struct tree_node *step)
{
	const void *bytes = NULL;
	size_t n_bytes = 0;
	int r = sbx_ring_receive(rig->ring, &bytes, &n_bytes, 0);

	if (r != 0)
		printf("# %s, line %u: %s\n", rig->name, step->place.line, result_name(rig, r));
	expect_eq(r, 0);
	if (r == 0)
		expect_bytes(rig, item(step, 1), bytes, n_bytes);
}

static void step_frame(struct rig *rig, const struct tree_node *step)
{
	const void *payload = NULL;
	size_t n_bytes = 0;
	uint32_t request_id = 0;
	uint8_t type = 0;

	expect_eq(sbx_ring_receive_frame(rig->ring, &type, &request_id, &payload, &n_bytes, 0), 0);
	expect_eq(type, number(step, 1));
	expect_eq(request_id, number(step, 2));
	expect_bytes(rig, item(step, 3), payload, n_bytes);
}

static void step_ends(struct rig *rig, const struct tree_node *step)
{
	const void *bytes;
	size_t n_bytes;

	/* An end is for good, and so is the result. */
	for (int i = 0; i < 2; i++)
		expect_result(rig, sbx_ring_receive(rig->ring, &bytes, &n_bytes, 0), item(step, 1));
}

static void step_frame_ends(struct rig *rig, const struct tree_node *step)
{
	const void *payload;
	size_t n_bytes;
	uint32_t request_id;
	uint8_t type;

	expect_result(rig,
		      sbx_ring_receive_frame(rig->ring, &type, &request_id, &payload, &n_bytes, 0),
		      item(step, 1));
}

static void step_send(struct rig *rig, const struct tree_node *step)
{
	static const uint8_t zeros[SIZE_MAX_OF_CASE];

	expect_result(rig, sbx_ring_send(rig->ring, zeros, number(step, 1), 0, 0), item(step, 2));
}

static const struct {
	const char *name;
	void (*run)(struct rig *rig, const struct tree_node *step);
} kinds[] = {
	{ "hex", step_hex },	     { "u64", step_u64 },
	{ "u32", step_u32 },	     { "record", step_record },
	{ "stamp", step_stamp },     { "parts", step_parts },
	{ "receive", step_receive }, { "frame", step_frame },
	{ "ends", step_ends },	     { "frame_ends", step_frame_ends },
	{ "send", step_send },
};

static void run_step(struct rig *rig, const struct tree_node *step)
{
	for (size_t i = 0; i < N_ELEMENTS(kinds); i++)
		if (strcmp(item(step, 0)->text, kinds[i].name) == 0) {
			kinds[i].run(rig, step);
			return;
		}
	expect(!"a known step");
}

static void run_cases(int role)
{
	const struct tree_node *cases = tree_get(vectors, tree_root(vectors), "cases");
	unsigned n_cases = 0;

	for (const struct tree_node *map = cases->first; map; map = map->next, n_cases++) {
		_cleanup_rig_ struct rig rig = open_rig(map, role);

		for (const struct tree_node *step = tree_get(vectors, map, "steps")->first; step;
		     step = step->next)
			run_step(&rig, step);
	}
	expect(n_cases > 100);
}

static void the_server_reads_each_image_as_it_says(void)
{
	run_cases(SBX_RING_SERVER);
}

static void the_client_reads_each_image_as_it_says(void)
{
	run_cases(SBX_RING_CLIENT);
}

/* Opens a client with one control block changed. Seals as the server does, but does not check. */
static int open_changed(const struct tree_node *map, int seals)
{
	struct sbx_ring_config config = { .size = sizeof(config) };
	_cleanup_(region_files_deinit) struct region_files files = REGION_FILES_INIT;
	_cleanup_close_ int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct sbx_ring *ring = NULL;
	int sockets[2];

	if (region_make(capacity, false, 1, 2, &files, NULL) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		abort();
	if (map) {
		uint8_t bytes[SIZE_MAX_OF_CASE];
		size_t n_bytes = take_bytes(tree_get(vectors, map, "hex"), bytes);
		bool is_server = strcmp(tree_get(vectors, map, "file")->text, "server") == 0;
		off_t at = atol(tree_get(vectors, map, "at")->text);

		if (pwrite(is_server ? files.server_fd : files.client_fd, bytes, n_bytes, at) !=
		    (ssize_t)n_bytes)
			abort();
	}
	if (fcntl(files.server_fd, F_ADD_SEALS, seals) < 0)
		abort();
	send_hello(sockets[0], &files, event);

	int r = sbx_ring_open(&config, SBX_RING_CLIENT, sockets[1], &ring, NULL);

	expect(!ring == (r < 0));
	sbx_ring_close(ring);
	close(sockets[0]);
	return r;
}

#define SEALS_OF_SERVER (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)

static void the_client_refuses_each_changed_control_block(void)
{
	const struct tree_node *controls = tree_get(vectors, tree_root(vectors), "controls");

	for (const struct tree_node *map = controls->first; map; map = map->next) {
		bool is_accepted = strcmp(tree_get(vectors, map, "result")->text, "accepted") == 0;
		int r = open_changed(map, SEALS_OF_SERVER);

		if (r != (is_accepted ? 0 : -EBADMSG))
			printf("# %s\n", tree_get(vectors, map, "name")->text);
		expect_eq(r, is_accepted ? 0 : -EBADMSG);
	}
	expect_eq(open_changed(NULL, SEALS_OF_SERVER), 0);
}

static void the_client_refuses_a_file_that_others_can_write(void)
{
	expect_eq(open_changed(NULL, F_SEAL_SEAL), -EPERM);
	expect_eq(open_changed(NULL, F_SEAL_FUTURE_WRITE), -EPERM);
}

static const struct test tests[] = {
	TEST(the_server_reads_each_image_as_it_says),
	TEST(the_client_reads_each_image_as_it_says),
	TEST(the_client_refuses_each_changed_control_block),
	TEST(the_client_refuses_a_file_that_others_can_write),
	TEST_END,
};

int main(void)
{
	const char *source = getenv("SBX_SOURCE");
	struct sbx_error err = { 0 };
	char path[4096];

	if (!source || snprintf(path, sizeof(path), "%s/tests/abi/ring-vectors.json", source) < 0 ||
	    tree_read_file(-1, path, &vectors, &err) < 0) {
		printf("Bail out! %s %s (SBX_SOURCE is the directory of the sources)\n", err.what,
		       err.why);
		return 1;
	}
	capacity = strtoull(tree_get(vectors, tree_root(vectors), "capacity")->text, NULL, 10);

	int status = test_run(tests);

	vectors = tree_free(vectors);
	return status;
}
