/* SPDX-License-Identifier: MIT */

/*
 * Messages to the journal or to stderr
 *
 * Under a service manager stderr is a stream into the journal. A line written there has no fields,
 * so if JOURNAL_STREAM identifies stderr as that stream, messages go to the journal's datagram
 * socket instead: one datagram per message, NAME=value lines, and a length before a value that
 * contains a newline. A message that is too large for a datagram is sent as a sealed memfd. If the
 * socket fails, the line is written to stderr: a journal that does not read must not block the
 * process that logs.
 */

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/moment.h"
#include "base/text.h"
#include "base/units.h"

#define FIELD_NAME_MAX 64
#define SEND_TIMEOUT_USEC 250000

static const char *const level_names[] = {
	[LOG_LEVEL_ERROR] = "error", [LOG_LEVEL_WARNING] = "warning", [LOG_LEVEL_NOTICE] = "notice",
	[LOG_LEVEL_INFO] = "info",   [LOG_LEVEL_DEBUG] = "debug",
};

const char *log_level_name(enum log_level level)
{
	return (size_t)level < N_ELEMENTS(level_names) ? level_names[level] : NULL;
}

/* As in errors (error_add_json()), and "debug". */
static const char *const json_levels[] = {
	[LOG_LEVEL_ERROR] = "error", [LOG_LEVEL_WARNING] = "warn", [LOG_LEVEL_NOTICE] = "info",
	[LOG_LEVEL_INFO] = "info",   [LOG_LEVEL_DEBUG] = "debug",
};

static enum log_level level_for(int verbosity, bool debug)
{
	if (debug || verbosity >= 2)
		return LOG_LEVEL_DEBUG;
	if (verbosity == 1)
		return LOG_LEVEL_INFO;
	return verbosity < 0 ? LOG_LEVEL_ERROR : LOG_LEVEL_NOTICE;
}

/*
 * Is @fd the file "DEV:INODE"? A process inherits the variable even if its stderr was redirected.
 */
static bool is_stream(const char *journal_stream, int fd)
{
	const char *colon = journal_stream ? strchr(journal_stream, ':') : NULL;
	char device_text[32];
	uint64_t device, inode;
	struct stat st;
	size_t len;

	if (!colon)
		return false;
	len = (size_t)(colon - journal_stream);
	if (len >= sizeof(device_text))
		return false;
	memcpy(device_text, journal_stream, len);
	device_text[len] = '\0';
	if (units_parse_count(device_text, &device, NULL) < 0 ||
	    units_parse_count(colon + 1, &inode, NULL) < 0)
		return false;
	return fstat(fd, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

static int journal_connect(void)
{
	static const struct sockaddr_un address = { .sun_family = AF_UNIX,
						    .sun_path = LOG_JOURNAL_SOCKET };
	static const struct timeval timeout = { .tv_usec = SEND_TIMEOUT_USEC };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) < 0 ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -EBADF;
	return take_fd(&fd);
}

void log_init(struct log *log, const char *tool, int verbosity, bool debug,
	      const char *journal_stream)
{
	*log = (struct log){
		.tool = tool,
		.most = level_for(verbosity, debug),
		.journal_fd = -EBADF,
		.stderr_fd = STDERR_FILENO,
		.is_stream = is_stream(journal_stream, STDERR_FILENO),
	};
	if (log->is_stream)
		log->journal_fd = journal_connect();
}

void log_deinit(struct log *log)
{
	close_fd(&log->journal_fd);
}

bool log_wants(const struct log *log, enum log_level level)
{
	return level <= log->most;
}

static bool is_field_name(const char *name)
{
	size_t len = strlen(name);

	return len > 0 && len <= FIELD_NAME_MAX && name[0] >= 'A' && name[0] <= 'Z' &&
	       strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == len;
}

static void add_field(struct text *out, const char *name, const char *value, size_t value_len)
{
	uint8_t size[8];

	text_add(out, name);
	if (!memchr(value, '\n', value_len)) {
		text_add_char(out, '=');
	} else {
		for (size_t i = 0; i < sizeof(size); i++)
			size[i] = (uint8_t)((uint64_t)value_len >> (8 * i));
		text_add_char(out, '\n');
		text_add_bytes(out, size, sizeof(size));
	}
	text_add_bytes(out, value, value_len);
	text_add_char(out, '\n');
}

void log_add_journal(struct text *out, const char *tool, enum log_level level,
		     const struct log_field *fields, const char *message, size_t message_len)
{
	add_field(out, "MESSAGE", message, message_len);
	text_addf(out, "PRIORITY=%d\n", (int)level);
	add_field(out, "SYSLOG_IDENTIFIER", tool, strlen(tool));
	add_field(out, "SBX_TOOL", tool, strlen(tool));
	for (; fields && fields->name; fields++)
		if (fields->value && is_field_name(fields->name))
			add_field(out, fields->name, fields->value, strlen(fields->value));
}

/* The journal maps the memfd, and accepts it only with exactly these seals, which make its size and
 * content immutable. */
static int sealed_memfd(const struct text *datagram)
{
	_cleanup_close_ int fd = memfd_create("sbx-log", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r;

	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, datagram->data, datagram->len);
	if (r < 0)
		return r;
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
		return -errno;
	return take_fd(&fd);
}

/* fd_send() cannot be used: the journal requires a datagram without any bytes besides the fd. */
static int send_large(int journal_fd, const struct text *datagram)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { .bytes = { 0 } };
	struct msghdr message = { .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	_cleanup_close_ int fd = sealed_memfd(datagram);
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	if (fd < 0)
		return fd;
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(int));
	return sendmsg(journal_fd, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int write_journal(const struct log *log, enum log_level level,
			 const struct log_field *fields, const struct text *message)
{
	_cleanup_text_ struct text datagram = TEXT_INIT;

	if (log->journal_fd < 0)
		return -EBADF;
	log_add_journal(&datagram, log->tool, level, fields, text_string(message), message->len);
	if (text_status(&datagram) < 0)
		return -ENOMEM;
	if (send(log->journal_fd, datagram.data, datagram.len, MSG_NOSIGNAL) >= 0)
		return 0;
	if (errno != EMSGSIZE && errno != ENOBUFS)
		return -errno;
	return send_large(log->journal_fd, &datagram);
}

static void write_stderr(const struct log *log, enum log_level level, const char *message)
{
	_cleanup_text_ struct text line = TEXT_INIT;

	if (log->is_stream)
		text_addf(&line, "<%d>", (int)level);
	if (log->is_json && !log->is_stream) {
		struct json_writer json;

		json_begin_object(&json, &line);
		json_member_string(&json, "level", json_levels[level]);
		json_member_string(&json, "what", message);
		json_end_line(&json);
	} else {
		text_addf(&line, "%s: %s\n", log->tool, message);
	}
	if (text_status(&line) < 0)
		return;

	/* The journal's stream is a socket whose reader may be stuck, so do not block. Any other
	 * stderr belongs to the user, and blocking is allowed. */
	if (log->is_stream)
		(void)send(log->stderr_fd, line.data, line.len, MSG_NOSIGNAL | MSG_DONTWAIT);
	else
		(void)fd_write_all(log->stderr_fd, line.data, line.len);
}

static void write_message(const struct log *log, enum log_level level,
			  const struct log_field *fields, const struct text *raw)
{
	_cleanup_text_ struct text message = TEXT_INIT;

	text_add_visible(&message, text_string(raw), raw->len);
	if (text_status(raw) < 0 || text_status(&message) < 0)
		return;
	if (write_journal(log, level, fields, &message) < 0)
		write_stderr(log, level, text_string(&message));
}

void log_write(const struct log *log, enum log_level level, const struct log_field *fields,
	       const char *format, ...)
{
	_cleanup_text_ struct text raw = TEXT_INIT;
	int saved = errno;
	va_list args;

	if (!log_wants(log, level))
		return;
	va_start(args, format);
	text_addv(&raw, format, args);
	va_end(args);
	write_message(log, level, fields, &raw);
	errno = saved;
}

/* ---- rate limit ---- */

bool log_rate_allows(struct log_rate *rate, uint64_t now_usec, uint64_t *ret_left_out)
{
	if (rate->since_usec == 0 || now_usec - rate->since_usec >= LOG_RATE_USEC) {
		rate->since_usec = now_usec;
		rate->n = 0;
	}
	if (rate->n == LOG_RATE_MESSAGES) {
		rate->n_left_out++;
		return false;
	}
	rate->n++;
	*ret_left_out = rate->n_left_out;
	rate->n_left_out = 0;
	return true;
}

void log_warn_rated(const struct log *log, struct log_rate *rate, const char *format, ...)
{
	_cleanup_text_ struct text raw = TEXT_INIT;
	uint64_t left_out;
	va_list args;

	if (!log_rate_allows(rate, moment_now(CLOCK_MONOTONIC), &left_out))
		return;
	va_start(args, format);
	text_addv(&raw, format, args);
	va_end(args);
	if (left_out > 0)
		text_addf(&raw, " (%llu messages like this were left out)",
			  (unsigned long long)left_out);
	log_write(log, LOG_LEVEL_WARNING, NULL, "%s", text_string(&raw));
}
