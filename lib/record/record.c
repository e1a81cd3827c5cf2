/* SPDX-License-Identifier: MIT */

/*
 * Audit records and the spool they wait in
 *
 * The spool is written by every tool of a user at the same time: the kernel appends the bytes of
 * one write() as a whole. Only a full disk or a crash cuts one in the middle; then the next record
 * begins with a newline, so that the torn one stands alone. To look whether the last line is torn
 * is only meaningful while nobody is writing, because a reader can see half of a write; therefore
 * writers share a lock, and who looks has it alone.
 */

#include "record/record.h"

#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/environment.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"

#define SYSTEM_RUNTIME "/run"
#define SERVICE_SOCKET "/sbx/audit.sock"
#define BOOT_ID_PATH "/proc/sys/kernel/random/boot_id"
#define SEND_WAIT_MSEC 250

static void read_boot_id(char ret[BOOT_ID_SIZE])
{
	_cleanup_close_ int fd = open(BOOT_ID_PATH, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : fd_read_full(fd, ret, BOOT_ID_SIZE - 1);

	ret[n > 0 ? n : 0] = '\0';
}

void recorder_use_fd(struct recorder *recorder, int fd)
{
	struct stat st;

	recorder_deinit(recorder);
	recorder->fd = fd;
	(void)fd_set_cloexec(fd);
	recorder->fd_is_socket = fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
	read_boot_id(recorder->boot_id);
}

void recorder_deinit(struct recorder *recorder)
{
	close_fd(&recorder->fd);
	free(recorder->state_folder);
	*recorder = (struct recorder)RECORDER_INIT;
}

static int fail(struct sbx_error *err, int code, const char *folder, const char *why,
		const char *fix)
{
	(void)sbx_error_what(err, code, "cannot open the spool of records in '%s'", folder);
	if (why)
		sbx_error_why(err, "%s", why);
	sbx_error_fix(err, "%s", fix);
	return code;
}

/* Whoever else could write here could forget or forge records. */
static bool is_ours_alone(const struct stat *st)
{
	return st->st_uid == geteuid() && (st->st_mode & 077) == 0;
}

/* Left behind by a crash. While others write there is no saying, and no need: they have looked. */
static int end_torn_line(int fd)
{
	char last = '\n';
	struct stat st;
	int r = 0;

	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return 0;
	if (fstat(fd, &st) < 0 || (st.st_size > 0 && pread(fd, &last, 1, st.st_size - 1) != 1))
		r = -EIO;
	else if (last != '\n')
		r = fd_write_all(fd, "\n", 1);
	(void)flock(fd, LOCK_UN);
	return r;
}

static int open_file(int folder, const char *name, struct sbx_error *err)
{
	_cleanup_close_ int fd = path_open_beneath(folder, RECORD_SPOOL_NAME,
						   O_RDWR | O_APPEND | O_CREAT | O_NONBLOCK, 0600);
	struct stat st;
	int r;

	if (fd < 0)
		return fail(err, fd, name, NULL, "remove the link or the permissions in its place");
	if (fstat(fd, &st) < 0)
		return fail(err, -errno, name, NULL, "check the file system");
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1 || !is_ours_alone(&st))
		return fail(err, -EPERM, name,
			    RECORD_SPOOL_NAME " is not a file that belongs to us alone",
			    "move it away; it is made again with the right owner and mode 0600");
	r = end_torn_line(fd);
	if (r < 0)
		return fail(err, r, name, NULL, "make room on the file system");
	return take_fd(&fd);
}

int recorder_open_spool_in(struct recorder *recorder, const char *state_folder,
			   struct sbx_error *err)
{
	_cleanup_close_ int state = open(state_folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int folder = -EBADF;
	struct stat st;
	int r = state < 0 ? -errno : 0;

	if (r == 0)
		r = path_make_parents_beneath(state, RECORD_SPOOL_FOLDER, 0755);
	if (r == 0)
		r = path_make_parents_beneath(state, RECORD_SPOOL_FOLDER "/", 0700);
	if (r < 0)
		return fail(err, r, state_folder, NULL, "make the folder, or name another");
	folder = path_open_beneath(state, RECORD_SPOOL_FOLDER, O_RDONLY | O_DIRECTORY, 0);
	if (folder < 0)
		return fail(err, folder, state_folder,
			    "'" RECORD_SPOOL_FOLDER "' is no folder of ours",
			    "remove the link in its place");
	if (fstat(folder, &st) < 0 || !is_ours_alone(&st))
		return fail(err, -EPERM, state_folder,
			    "others could change the records in '" RECORD_SPOOL_FOLDER "'",
			    "give the folder to the user who runs this, with mode 0700");
	r = open_file(folder, state_folder, err);
	if (r < 0)
		return r;
	recorder_use_fd(recorder, r);
	return 0;
}

/* The user's own folders above the state folder may be links, as the user likes them. */
static int make_folders(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

static int add_state_folder(struct text *out, char *const *environment, struct sbx_error *err)
{
	int r = environment_add_state_folder(out, environment, geteuid());

	return r == -ENOENT ? fail(err, r, "~/.local/state",
				   "neither XDG_STATE_HOME nor HOME is set to an absolute path",
				   "set HOME, or give --audit-fd")
			    : r;
}

static int open_spool(struct recorder *recorder, char *state_folder, struct sbx_error *err)
{
	int r = geteuid() == 0 ? 0 : make_folders(state_folder);

	if (r < 0)
		return fail(err, r, state_folder, NULL, "make the folder, or set HOME");
	return recorder_open_spool_in(recorder, state_folder, err);
}

/* ---- the service ---- */

/* Never waits: a service whose queue is full is as good as none. */
static int connect_to(const struct sockaddr_un *address)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0)
		return -ENOENT;
	return take_fd(&fd);
}

static int connect_service(const char *runtime)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int n = snprintf(address.sun_path, sizeof(address.sun_path), "%s" SERVICE_SOCKET, runtime);

	return n > 0 && (size_t)n < sizeof(address.sun_path) ? connect_to(&address) : -ENOENT;
}

/* Where the service is, the spool stays closed, and its place is remembered. */
int recorder_open_spool(struct recorder *recorder, char *const *environment, struct sbx_error *err)
{
	const char *runtime =
		geteuid() == 0 ? NULL : environment_find_folder(environment, "XDG_RUNTIME_DIR");
	_cleanup_text_ struct text folder = TEXT_INIT;
	int r = add_state_folder(&folder, environment, err), fd;

	if (r < 0)
		return r;
	fd = connect_service(runtime ? runtime : SYSTEM_RUNTIME);
	if (fd < 0)
		return open_spool(recorder, folder.data, err);
	recorder_use_fd(recorder, fd);
	recorder->state_folder = text_take(&folder);
	return 0;
}

/* The one that is there now has the same place; where there is none, the spool has its own. */
static int leave_service(struct recorder *recorder)
{
	_cleanup_free_ char *folder = take_ptr(recorder->state_folder);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t size = sizeof(address);
	int fd = -EBADF, r = 0;

	if (getpeername(recorder->fd, (struct sockaddr *)&address, &size) == 0)
		fd = connect_to(&address);
	if (fd >= 0)
		recorder_use_fd(recorder, fd);
	else
		r = open_spool(recorder, folder, NULL);
	/* The next record tries both again. */
	if (fd >= 0 || r < 0)
		recorder->state_folder = take_ptr(folder);
	return r;
}

/* Its answers, which nobody needs and which would fill the socket. False: it has gone. */
static bool hear_service(const struct recorder *recorder)
{
	char answer[4096];
	ssize_t n;

	do
		n = recv(recorder->fd, answer, sizeof(answer), MSG_DONTWAIT);
	while (n > 0 || (n < 0 && errno == EINTR));
	return n < 0 && errno == EAGAIN;
}

static void add_time(struct json_writer *json)
{
	struct timespec now;
	struct tm parts;
	char day[32], text[64];

	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)gmtime_r(&now.tv_sec, &parts);
	(void)strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &parts);
	(void)snprintf(text, sizeof(text), "%s.%06ldZ", day, now.tv_nsec / 1000);
	json_member_string(json, "time", text);
}

void record_begin(const struct recorder *recorder, struct text *out, struct json_writer *json,
		  const char *event, const char *tool)
{
	struct timespec boot;

	(void)clock_gettime(CLOCK_BOOTTIME, &boot);
	json_write(json, out);
	json_add_object(json);
	json_member_u64(json, "version", 1);
	add_time(json);
	json_member_string(json, "boot", recorder->boot_id);
	json_member_u64(json, "boot_usec",
			(uint64_t)boot.tv_sec * 1000000 + (uint64_t)boot.tv_nsec / 1000);
	json_member_string(json, "event", event);
	json_member_string(json, "tool", tool);
	json_member_i64(json, "pid", getpid());
}

void record_add_members(struct text *record, struct json_writer *json, const char *object,
			size_t n_bytes)
{
	size_t end = n_bytes;

	while (end > 0 && object[end - 1] != '}')
		end--;
	if (end < 3 || object[0] != '{')
		return;
	if (json->needs_comma)
		text_add_char(record, ',');
	text_add_bytes(record, object + 1, end - 2);
	json->needs_comma = true;
}

/* A torn record gets its newline first; both must go out in one write, as everything else. */
static int append(struct recorder *recorder, const struct text *record)
{
	_cleanup_text_ struct text line = TEXT_INIT;
	const struct text *out = record;
	ssize_t n;

	if (recorder->is_torn) {
		text_add_char(&line, '\n');
		text_add_bytes(&line, record->data, record->len);
		if (text_status(&line) < 0)
			return -ENOMEM;
		out = &line;
	}
	(void)flock(recorder->fd, LOCK_SH);
	do
		n = write(recorder->fd, out->data, out->len);
	while (n < 0 && errno == EINTR);
	n = n < 0 ? -errno : n;
	(void)flock(recorder->fd, LOCK_UN);
	if (n < 0)
		return (int)n;
	recorder->is_torn = (size_t)n < out->len;
	return recorder->is_torn ? -ENOSPC : 0;
}

static int send_packet(const struct recorder *recorder, const struct text *record)
{
	struct pollfd wait = { .fd = recorder->fd, .events = POLLOUT };

	for (;;) {
		if (send(recorder->fd, record->data, record->len, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
			return 0;
		if (errno != EAGAIN)
			return -errno;
		if (poll(&wait, 1, SEND_WAIT_MSEC) != 1)
			return -EAGAIN;
	}
}

/* Without the service the recorder has another fd, and no state folder. */
static int send_to_service(struct recorder *recorder, const struct text *record)
{
	int r = hear_service(recorder) ? send_packet(recorder, record) : -EPIPE;

	if (r != -EPIPE && r != -ECONNRESET && r != -ENOTCONN)
		return r;
	r = leave_service(recorder);
	return r < 0 ? r : recorder->state_folder ? send_packet(recorder, record) : -EPIPE;
}

/* A socket takes a record as it is, a file a line. */
static int write_record(struct recorder *recorder, struct text *record)
{
	int r;

	if (recorder->state_folder) {
		r = send_to_service(recorder, record);
		if (r == 0 || recorder->state_folder)
			return r;
	}
	if (recorder->fd_is_socket)
		return send_packet(recorder, record);
	text_add_char(record, '\n');
	r = text_status(record);
	return r < 0 ? r : append(recorder, record);
}

int record_send(struct recorder *recorder, struct text *record, struct json_writer *json,
		struct sbx_error *err)
{
	int r;

	json_end_object(json);
	r = text_status(record);
	if (r == 0 && recorder->fd < 0)
		r = -EBADF;
	if (r == 0 && record->len >= RECORD_BYTES_MAX)
		r = -EMSGSIZE;
	if (r == 0)
		r = write_record(recorder, record);
	if (r == 0)
		return 0;
	(void)sbx_error_what(err, r, "cannot write the record of what happened");
	sbx_error_fix(err, "make room where records go, or start sbx-audit again");
	return r;
}
