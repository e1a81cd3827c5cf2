/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Logging: to the journal's native socket with fields where stderr is connected to it, else lines
 * on stderr
 *
 * A log is an object that a tool owns and hands down. lib/ writes at debug level only; what a user
 * must know goes into a struct sbx_error.
 */

#include <stdbool.h>
#include <stddef.h>

/* The numbers of syslog, which the journal's PRIORITY= uses. */
enum log_level {
	LOG_LEVEL_ERROR = 3,
	LOG_LEVEL_WARNING = 4,
	LOG_LEVEL_NOTICE = 5,
	LOG_LEVEL_INFO = 6,
	LOG_LEVEL_DEBUG = 7,
};

struct log {
	const char *tool;    /* SYSLOG_IDENTIFIER and SBX_TOOL */
	enum log_level most; /* less important messages are not written */
	int journal_fd;	     /* connected datagram socket, or -EBADF: then stderr */
	int stderr_fd;
	bool is_stream; /* stderr is the journal's stream: lines there carry their level as <N> */
};

/*
 * A field of the journal: the name is A-Z, 0-9 and _, begins with a letter and has at most 64
 * bytes; the value may hold any bytes but NUL.
 */
struct log_field {
	const char *name;
	const char *value;
};

#define LOG_JOURNAL_SOCKET "/run/systemd/journal/socket"
#define _cleanup_log_ _cleanup_(log_deinit)

/*
 * The level: notice; -v gives info, -vv debug, -q errors only (@verbosity 1, 2, -1); @debug
 * (SBX_DEBUG is set) gives debug. Goes to the journal only if @journal_stream ("DEV:INODE",
 * JOURNAL_STREAM) names what stderr really is; where the socket cannot be reached it stays with
 * stderr.
 */
void log_init(struct log *log, const char *tool, int verbosity, bool debug,
	      const char *journal_stream);
void log_deinit(struct log *log);

bool log_wants(const struct log *log, enum log_level level);
/*
 * @fields ends with a NULL name and may be NULL; they go to the journal only. The message is one
 * line; control characters are made visible. A journal that does not answer delays the caller by
 * a quarter of a second at most. errno stays as it was.
 */
void log_write(const struct log *log, enum log_level level, const struct log_field *fields,
	       const char *format, ...) __attribute__((__format__(__printf__, 4, 5)));

/* "error" "warning" "notice" "info" "debug", or NULL. */
const char *log_level_name(enum log_level level);

struct text;
/* The datagram of one message, for tests and for other senders. A field with a bad name is left
 * out. */
void log_add_journal(struct text *out, const char *tool, enum log_level level,
		     const struct log_field *fields, const char *message, size_t message_len);
