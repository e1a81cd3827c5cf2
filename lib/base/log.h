/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Logging: to the journal's native socket with fields where stderr is connected to it, else lines
 * on stderr
 *
 * A log is an object that a tool owns and passes to functions. lib/ writes at debug level only;
 * messages for the user go into a struct sbx_error.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
	bool is_json;	/* lines on stderr are objects, like errors with --json */
	bool is_stream; /* stderr is the journal's stream: lines begin with their level as <N> */
};

/*
 * A field of the journal: the name is A-Z, 0-9 and _, begins with a letter and has at most 64
 * bytes; the value may contain any bytes except NUL.
 */
struct log_field {
	const char *name;
	const char *value;
};

#define LOG_JOURNAL_SOCKET "/run/systemd/journal/socket"
#define _cleanup_log_ _cleanup_(log_deinit)

/*
 * The level: notice; -v gives info, -vv debug, -q errors only (@verbosity 1, 2, -1); @debug
 * (SBX_DEBUG is set) gives debug. Uses the journal only if @journal_stream ("DEV:INODE",
 * JOURNAL_STREAM) identifies stderr; if the socket cannot be connected, stderr.
 */
void log_init(struct log *log, const char *tool, int verbosity, bool debug,
	      const char *journal_stream);
void log_deinit(struct log *log);

bool log_wants(const struct log *log, enum log_level level);
/*
 * @fields ends with a NULL name and may be NULL; they go to the journal only. The message is one
 * line; control characters are escaped. A journal that does not read delays the caller by at most a
 * quarter of a second. errno is kept.
 */
void log_write(const struct log *log, enum log_level level, const struct log_field *fields,
	       const char *format, ...) __attribute__((__format__(__printf__, 4, 5)));

/*
 * Rate limit for warnings that an attacker can cause: they would hide other messages and fill the
 * disk. Ten are written in a minute; the next one has the number of the omitted ones. Start with
 * zeroes.
 */
struct log_rate {
	uint64_t since_usec; /* start of its current minute */
	unsigned n;
	uint64_t n_left_out;
};

#define LOG_RATE_USEC UINT64_C(60000000)
#define LOG_RATE_MESSAGES 10

/* May one more be written at @now_usec (CLOCK_MONOTONIC, not 0)? *@ret_left_out is the number
 * omitted since the last one. */
bool log_rate_allows(struct log_rate *rate, uint64_t now_usec, uint64_t *ret_left_out);
void log_warn_rated(const struct log *log, struct log_rate *rate, const char *format, ...)
	__attribute__((__format__(__printf__, 3, 4)));

/* "error" "warning" "notice" "info" "debug", or NULL. */
const char *log_level_name(enum log_level level);

struct text;
/* Adds the datagram of one message; for tests and other senders. Fields with invalid names are
 * omitted. */
void log_add_journal(struct text *out, const char *tool, enum log_level level,
		     const struct log_field *fields, const char *message, size_t message_len);
