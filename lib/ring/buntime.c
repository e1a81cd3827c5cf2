/* SPDX-License-Identifier: MIT */

/*
 * Buntime's segment and control lines
 *
 * The other side can change every byte of the segment at any time. Own indices are therefore
 * private and only written to the segment; the other side's index is loaded once, and must be less
 * than the capacity and not move backwards; a length is copied once and compared with the bytes
 * that are there. The capacity in the segment is read when it is mapped and must be the one that
 * follows from the size of the file.
 *
 * Buntime's own writers publish the tail after the whole record, so a part of a record is a
 * violation and not a reason to wait.
 */

#include "ring/buntime.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <sbx/ring.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/le32.h"
#include "base/lines.h"
#include "ring/members.h"
#include "ring/memory.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define MODE_OF_SOCKET 0600

static size_t half_of(size_t total_bytes)
{
	return total_bytes / 2;
}

static bool is_size(uint64_t total_bytes)
{
	return total_bytes >= BUNTIME_TOTAL_MIN && total_bytes <= BUNTIME_TOTAL_MAX &&
	       total_bytes % 8 == 0;
}

static int write_headers(int fd, size_t total_bytes)
{
	uint32_t capacity = (uint32_t)(half_of(total_bytes) - BUNTIME_DATA_OFFSET);
	uint8_t bytes[sizeof(capacity)];

	le32_store(bytes, capacity);
	for (size_t half = 0; half < 2; half++) {
		off_t at = (off_t)(half * half_of(total_bytes) + BUNTIME_CAPACITY_OFFSET);
		ssize_t n = pwrite(fd, bytes, sizeof(bytes), at);

		if (n != (ssize_t)sizeof(bytes))
			return n < 0 ? -errno : -EIO;
	}
	return 0;
}

int buntime_make(size_t total_bytes, int *ret_fd, struct sbx_error *err)
{
	_cleanup_close_ int fd = -EBADF;
	int r;

	if (!is_size(total_bytes)) {
		(void)sbx_error_what(err, -EINVAL, "cannot make shared memory of %zu bytes",
				     total_bytes);
		sbx_error_fix(err, "use a multiple of 8 between %d and %d", BUNTIME_TOTAL_MIN,
			      BUNTIME_TOTAL_MAX);
		return -EINVAL;
	}
	fd = memfd_create("sbx-buntime", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return sbx_error_what(err, -errno, "cannot make shared memory");
	if (ftruncate(fd, (off_t)total_bytes) < 0)
		return sbx_error_what(err, -errno, "cannot make %zu bytes of shared memory",
				      total_bytes);
	r = write_headers(fd, total_bytes);
	if (r < 0)
		return sbx_error_what(err, r, "cannot write to shared memory");
	if (fcntl(fd, F_ADD_SEALS, SEALS) < 0)
		return sbx_error_what(err, -errno, "cannot seal shared memory");
	*ret_fd = take_fd(&fd);
	return 0;
}

static int refuse(int code, const char *why, struct sbx_error *err)
{
	return error_fill(err, code, why, NULL, "cannot use the shared memory of a Buntime worker");
}

/* Without the seals the other side could make the file shorter: SIGBUS at the next access. */
static int check_file(int fd, size_t *ret_total, struct sbx_error *err)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0 || (seals & SEALS) != SEALS)
		return refuse(-EPERM, "its fd has no seals against changes of its size", err);
	if (fstat(fd, &st) < 0)
		return refuse(-errno, "its size is not known", err);
	if (st.st_size < 0 || !is_size((uint64_t)st.st_size))
		return refuse(-EBADMSG, "a segment does not have this size", err);
	*ret_total = (size_t)st.st_size;
	return 0;
}

/* The indices of a segment that was used before; the own ones are read only here. */
static bool load_half(const uint8_t *half, uint32_t capacity, uint32_t *ret_head,
		      uint32_t *ret_tail)
{
	if (shared_load_u32(half + BUNTIME_CAPACITY_OFFSET) != capacity)
		return false;
	*ret_head = shared_load_u32(half + BUNTIME_HEAD_OFFSET);
	*ret_tail = shared_load_u32_acquire(half + BUNTIME_TAIL_OFFSET);
	return *ret_head < capacity && *ret_tail < capacity;
}

static int load_headers(struct buntime *buntime, struct sbx_error *err)
{
	if (!load_half(buntime->out, buntime->capacity, &buntime->out_head, &buntime->out_tail) ||
	    !load_half(buntime->in, buntime->capacity, &buntime->in_head, &buntime->in_tail))
		return refuse(-EBADMSG, "its headers have other numbers than its size", err);
	/* What came before this side was attached is checked like everything after it. */
	buntime->in_tail = buntime->in_head;
	return 0;
}

int buntime_attach(int fd, enum message_sender side, struct buntime *ret, struct sbx_error *err)
{
	struct buntime buntime = BUNTIME_INIT;
	size_t total = 0, half;
	void *mapped;
	int r = check_file(fd, &total, err);

	if (r < 0)
		return r;
	mapped = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
		return refuse(-errno, "it cannot be mapped", err);
	half = half_of(total);
	buntime.segment = mapped;
	buntime.n_mapped = total;
	buntime.out = side == MESSAGE_BY_SUPERVISOR ? buntime.segment : buntime.segment + half;
	buntime.in = side == MESSAGE_BY_SUPERVISOR ? buntime.segment + half : buntime.segment;
	buntime.capacity = (uint32_t)(half - BUNTIME_DATA_OFFSET);
	buntime.message = malloc(buntime.capacity);
	r = buntime.message ? load_headers(&buntime, err)
			    : sbx_error_what(err, -ENOMEM, "cannot allocate memory for messages");
	if (r < 0)
		buntime_deinit(&buntime);
	else
		*ret = buntime;
	return r;
}

void buntime_deinit(struct buntime *buntime)
{
	if (buntime->segment)
		(void)munmap(buntime->segment, buntime->n_mapped);
	free(buntime->message);
	*buntime = (struct buntime)BUNTIME_INIT;
}

size_t buntime_message_max(const struct buntime *buntime)
{
	return buntime->capacity - 1 - BUNTIME_LENGTH_SIZE;
}

/* Bytes from one place to another. Both are less than the capacity, which is less than 2^30. */
static uint32_t distance(const struct buntime *buntime, uint32_t from, uint32_t to)
{
	return (to + buntime->capacity - from) % buntime->capacity;
}

static uint32_t advance(const struct buntime *buntime, uint32_t place, size_t n_bytes)
{
	return (place + (uint32_t)n_bytes) % buntime->capacity;
}

static int end(struct buntime *buntime, enum ring_violation violation)
{
	buntime->violation = violation;
	return -EPROTO;
}

static size_t until_wrap(const struct buntime *buntime, uint32_t place, size_t n_bytes)
{
	size_t n_left = buntime->capacity - place;

	return n_bytes < n_left ? n_bytes : n_left;
}

static void copy_out(const struct buntime *buntime, uint32_t place, uint8_t *to, size_t n_bytes)
{
	const uint8_t *data = buntime->in + BUNTIME_DATA_OFFSET;
	size_t n = until_wrap(buntime, place, n_bytes);

	shared_copy(to, data + place, n);
	if (n < n_bytes)
		shared_copy(to + n, data, n_bytes - n);
}

static void copy_in(struct buntime *buntime, uint32_t place, const uint8_t *from, size_t n_bytes)
{
	uint8_t *data = buntime->out + BUNTIME_DATA_OFFSET;
	size_t n = until_wrap(buntime, place, n_bytes);

	if (n_bytes == 0) /* @from may be NULL, which memcpy() must not get */
		return;
	memcpy(data + place, from, n);
	if (n < n_bytes)
		memcpy(data, from + n, n_bytes - n);
}

/* Orders everything before the store of the index. */
static void publish(uint8_t *at, uint32_t place)
{
	shared_fence();
	shared_store_u32(at, place);
}

/* How many bytes the other side has not read, by its head. */
static int count_sent(struct buntime *buntime, uint32_t *ret)
{
	uint32_t head = shared_load_u32_acquire(buntime->out + BUNTIME_HEAD_OFFSET);
	uint32_t n_unread;

	if (head >= buntime->capacity)
		return end(buntime, RING_HEAD_BEYOND_TAIL);
	n_unread = distance(buntime, head, buntime->out_tail);
	if (n_unread > distance(buntime, buntime->out_head, buntime->out_tail))
		return end(buntime, RING_HEAD_BEYOND_TAIL);
	buntime->out_head = head;
	*ret = n_unread;
	return 0;
}

int buntime_send(struct buntime *buntime, const void *bytes, size_t n_bytes)
{
	uint32_t n_unread;
	int r;

	if (buntime->violation)
		return -EPROTO;
	if (n_bytes > buntime_message_max(buntime))
		return -EMSGSIZE;
	r = count_sent(buntime, &n_unread);
	if (r < 0)
		return r;
	if (BUNTIME_LENGTH_SIZE + n_bytes > buntime->capacity - 1 - n_unread)
		return SBX_RING_FULL;

	uint8_t length[BUNTIME_LENGTH_SIZE];

	le32_store(length, (uint32_t)n_bytes);
	copy_in(buntime, buntime->out_tail, length, sizeof(length));
	copy_in(buntime, advance(buntime, buntime->out_tail, sizeof(length)), bytes, n_bytes);
	buntime->out_tail = advance(buntime, buntime->out_tail, sizeof(length) + n_bytes);
	publish(buntime->out + BUNTIME_TAIL_OFFSET, buntime->out_tail);
	return 0;
}

/* How many bytes are there to read, by the other side's tail. */
static int count_received(struct buntime *buntime, uint32_t *ret)
{
	uint32_t tail = shared_load_u32_acquire(buntime->in + BUNTIME_TAIL_OFFSET);
	uint32_t n_there;

	if (tail >= buntime->capacity)
		return end(buntime, RING_TAIL_BEYOND_CAPACITY);
	n_there = distance(buntime, buntime->in_head, tail);
	if (n_there < distance(buntime, buntime->in_head, buntime->in_tail))
		return end(buntime, RING_TAIL_BEYOND_CAPACITY);
	buntime->in_tail = tail;
	*ret = n_there;
	return 0;
}

/* The length of the next record, if the whole record is there. */
static int take_length(struct buntime *buntime, uint32_t n_there, uint32_t *ret)
{
	uint8_t bytes[BUNTIME_LENGTH_SIZE];
	uint32_t length;

	if (n_there < BUNTIME_LENGTH_SIZE)
		return end(buntime, RING_LENGTH_BEYOND_TAIL);
	copy_out(buntime, buntime->in_head, bytes, sizeof(bytes));
	length = le32_load(bytes);
	if (length > buntime_message_max(buntime))
		return end(buntime, RING_LENGTH_OVER_LIMIT);
	if (length > n_there - BUNTIME_LENGTH_SIZE)
		return end(buntime, RING_LENGTH_BEYOND_TAIL);
	*ret = length;
	return 0;
}

int buntime_receive(struct buntime *buntime, const uint8_t **ret, size_t *ret_n_bytes)
{
	uint32_t n_there, length;
	int r;

	if (buntime->violation)
		return -EPROTO;
	r = count_received(buntime, &n_there);
	if (r < 0)
		return r;
	if (n_there == 0)
		return SBX_RING_EMPTY;
	r = take_length(buntime, n_there, &length);
	if (r < 0)
		return r;
	copy_out(buntime, advance(buntime, buntime->in_head, BUNTIME_LENGTH_SIZE), buntime->message,
		 length);
	buntime->in_head = advance(buntime, buntime->in_head, BUNTIME_LENGTH_SIZE + length);
	publish(buntime->in + BUNTIME_HEAD_OFFSET, buntime->in_head);
	*ret = buntime->message;
	*ret_n_bytes = length;
	return 0;
}

/* A state is JSON; its word is only for messages. */
static const struct {
	const char *word;
	enum message_sender sender;
} lines[BUNTIME_N_LINE_KINDS] = {
	[BUNTIME_READY] = { "READY", MESSAGE_BY_WORKER },
	[BUNTIME_DATA] = { "DATA", MESSAGE_BY_BOTH },
	[BUNTIME_CHECK] = { "CHECK", MESSAGE_BY_WORKER },
	[BUNTIME_STATE] = { NULL, MESSAGE_BY_WORKER },
};

static bool is_event(const char *event, size_t n_bytes)
{
	for (size_t i = 0; i < n_bytes; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789_", event[i]) || !event[i])
			return false;
	return n_bytes > 0 && n_bytes <= BUNTIME_EVENT_MAX;
}

static const char *take_type(struct json_scanner *scanner, const struct json_item *value, void *ret)
{
	return value->kind == JSON_STRING && json_equals(value, "state") ? NULL
									 : "'type' is not 'state'";
}

static const char *take_event(struct json_scanner *scanner, const struct json_item *value,
			      void *ret)
{
	struct buntime_line *line = ret;

	if (value->kind != JSON_STRING || value->escaped || !is_event(value->bytes, value->n_bytes))
		return "'event' is not a word of a-z, 0-9 and '_'";
	memcpy(line->event, value->bytes, value->n_bytes);
	line->event[value->n_bytes] = '\0';
	return NULL;
}

static const char *take_data(struct json_scanner *scanner, const struct json_item *value, void *ret)
{
	struct buntime_line *line = ret;

	return members_take_value(scanner, value, &line->data, &line->data_size);
}

static const struct member state_members[] = {
	MEMBER("type", take_type),
	MEMBER("event", take_event),
	MEMBER_OPTIONAL("data", take_data),
};

static const char *line_problem(const char *bytes, size_t n_bytes, struct buntime_line *ret)
{
	if (n_bytes > 0 && bytes[0] == '{') {
		ret->kind = BUNTIME_STATE;
		return members_read(bytes, n_bytes, state_members, N_ELEMENTS(state_members), ret);
	}
	for (size_t i = 0; i < BUNTIME_N_LINE_KINDS; i++) {
		if (!lines[i].word || strlen(lines[i].word) != n_bytes ||
		    memcmp(lines[i].word, bytes, n_bytes) != 0)
			continue;
		ret->kind = (enum buntime_line_kind)i;
		return NULL;
	}
	return "it is neither READY, DATA, CHECK nor a state";
}

int buntime_parse_line(const char *bytes, size_t n_bytes, enum message_sender sender,
		       struct buntime_line *ret, const char **ret_problem)
{
	struct buntime_line line = { .data = NULL };
	const char *problem =
		n_bytes > BUNTIME_LINE_MAX ? "it is too long" : line_problem(bytes, n_bytes, &line);

	if (!problem && !(lines[line.kind].sender & sender))
		problem = "this side does not send such a line";
	if (problem) {
		*ret_problem = problem;
		return -EBADMSG;
	}
	*ret = line;
	return 0;
}

static void add_state(const struct buntime_line *line, struct text *out)
{
	struct json_writer writer;

	json_begin_object(&writer, out);
	json_member_string(&writer, "type", "state");
	json_member_string(&writer, "event", line->event);
	if (line->data) {
		json_add_name(&writer, "data");
		json_add_raw(&writer, line->data, line->data_size);
	}
	json_end_object(&writer);
}

int buntime_print_line(const struct buntime_line *line, enum message_sender sender,
		       struct text *out)
{
	size_t len = out->len;
	struct buntime_line again;
	const char *problem;

	if (line->kind == BUNTIME_STATE)
		add_state(line, out);
	else
		text_add(out, lines[line->kind].word);
	if (text_status(out) < 0)
		return -ENOMEM;
	/* JSON may have newlines between its tokens, but a line may not. */
	if (memchr(out->data + len, '\n', out->len - len) ||
	    buntime_parse_line(out->data + len, out->len - len, sender, &again, &problem) < 0) {
		text_truncate(out, len);
		return -EBADMSG;
	}
	text_add_char(out, '\n');
	return text_status(out);
}

int buntime_next_line(struct line_reader *reader, enum message_sender sender,
		      struct buntime_line *ret, const char **ret_problem)
{
	char *line;
	size_t n_bytes;
	int r = lines_next(reader, &line, &n_bytes);

	if (r < 0 || r == LINE_END)
		return r < 0 ? r : 0;
	if (reader->begin == n_bytes + (size_t)(line - reader->bytes)) {
		*ret_problem = "the end of the stream cut it";
		return -EBADMSG;
	}
	r = buntime_parse_line(line, n_bytes, sender, ret, ret_problem);
	return r < 0 ? r : 1;
}

int buntime_add_directory(struct text *out, char *const *environment)
{
	const char *directory = environment_find_directory(environment, "RUNTIME_DIRECTORY");

	/* systemd separates several directories of a unit by colons. */
	if (directory) {
		text_add_bytes(out, directory, strcspn(directory, ":"));
		return text_status(out);
	}
	directory = environment_find_directory(environment, "XDG_RUNTIME_DIR");
	text_add(out, directory ? directory : "/tmp");
	return text_status(out);
}

static void add_base36(struct text *out, uint64_t number)
{
	char digits[sizeof("3w5e11264sgsf")];
	size_t at = sizeof(digits);

	do
		digits[--at] = "0123456789abcdefghijklmnopqrstuvwxyz"[number % 36];
	while (number /= 36);
	text_add_bytes(out, digits + at, sizeof(digits) - at);
}

void buntime_add_path(struct text *out, const char *directory, uint64_t random)
{
	size_t len = out->len;
	const char *places[] = { directory, "/tmp" };

	for (size_t i = 0; i < N_ELEMENTS(places); i++) {
		text_truncate(out, len);
		text_addf(out, "%s/bun-", places[i]);
		add_base36(out, random);
		text_add(out, ".sock");
		if (out->len - len <= BUNTIME_PATH_MAX)
			return;
	}
}

static int bind_and_listen(int fd, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path) + 1);
	/* bind() takes the mode of the socket's inode: there is no moment with another mode. */
	if (fchmod(fd, MODE_OF_SOCKET) < 0 ||
	    bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	if (listen(fd, 1) < 0) {
		int r = -errno;

		(void)unlink(path);
		return r;
	}
	return 0;
}

int buntime_listen(const char *directory, struct buntime_socket *ret, struct sbx_error *err)
{
	_cleanup_text_ struct text path = TEXT_INIT;
	_cleanup_close_ int fd = -EBADF;
	uint64_t random;
	int r;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return sbx_error_what(err, -EIO, "cannot choose a name for a socket");
	buntime_add_path(&path, directory, random);
	if (text_status(&path) < 0)
		return sbx_error_what(err, -ENOMEM, "cannot choose a name for a socket");
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	r = fd < 0 ? -errno : bind_and_listen(fd, path.data);
	if (r < 0)
		return error_fill(err, r, NULL,
				  "set RUNTIME_DIRECTORY to a directory that belongs to you",
				  "cannot listen on '%s'", path.data);
	*ret = (struct buntime_socket){ .path = text_take(&path), .fd = take_fd(&fd) };
	return 0;
}

void buntime_socket_deinit(struct buntime_socket *socket)
{
	if (socket->path)
		(void)unlink(socket->path);
	free_ptr(&socket->path);
	close_fd(&socket->fd);
	*socket = (struct buntime_socket)BUNTIME_SOCKET_INIT;
}
