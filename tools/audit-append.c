/* SPDX-License-Identifier: MIT */

/*
 * sbx-audit append: stores JSON lines from a pipe, or messages of a channel, as records
 *
 * Records are committed in groups: when the source has no more data available, or when there are
 * many. Committed records are signed when the source has been silent for a while, and at its end. A
 * line that is not a record is refused with its number, and the next lines are processed. A full
 * disk ends it: the error names the first line that is not in the log.
 *
 * The other side of a channel may be hostile. SO_PEERCRED names the process that made the socket,
 * not the one that writes into the memory, so a record from there is never one of a trusted writer.
 * However much the other side sends, signals are looked at after each group, and it can cause a
 * bounded number of messages only.
 */

#include "audit.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <sbx/ring.h>

#include "audit/checkpoint.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/lines.h"
#include "base/progress.h"
#include "record/record.h"
#include "ring/counters.h"
#include "service/peer.h"
#include "tool.h"

#define GROUP 1000
#define SILENCE_MSEC ((int)(CHECKPOINT_INTERVAL_USEC / 1000))

struct appending {
	struct tool_run *run;
	struct audit_log *log;
	struct audit_writer writer;
	const char *unit; /* "line" or "message" */
	uint64_t n_told_max;
	uint64_t n_added, n_refused;
	uint64_t number,
		committed_number; /* line numbers: the last one, and the last committed one */
	unsigned n_open;	  /* added but not committed */
	struct progress progress;
};

static void tell_refused(struct appending *appending, const struct sbx_error *why)
{
	struct sbx_error told;

	if (++appending->n_refused > appending->n_told_max)
		return;
	progress_clear(&appending->progress);
	if (appending->run->verbosity < 0)
		return;
	if (appending->run->json) {
		(void)error_fill(&told, why->code, why->why[0] ? why->why : why->what, why->fix,
				 "%s %" PRIu64 " refused", appending->unit, appending->number);
		tool_tell(appending->run, &told);
	} else {
		log_write(&appending->run->log, LOG_LEVEL_WARNING, NULL,
			  "%s %" PRIu64 " refused: %s%s%s%s%s", appending->unit, appending->number,
			  why->what, why->why[0] ? ": " : "", why->why, why->fix[0] ? "; " : "",
			  why->fix);
	}
}

static int commit(struct appending *appending, struct sbx_error *err)
{
	int r = audit_log_commit(appending->log, err);

	appending->n_open = 0;
	if (r < 0)
		return r;
	appending->committed_number = appending->number;
	return 0;
}

/* Names the first line after the last commit, which the caller must append again. */
static int tell_where(const struct appending *appending, int r, struct sbx_error *err)
{
	if (r == -ENOSPC)
		sbx_error_fix(err,
			      "free space on the file system, then append again from %s %" PRIu64
			      " on",
			      appending->unit, appending->committed_number + 1);
	return r;
}

static int refuse(struct appending *appending, const struct sbx_error *why, struct sbx_error *err)
{
	const struct audit_values *values = appending->run->values;

	tell_refused(appending, why);
	if (!values->strict)
		return 0;
	return error_fill(err, -EINVAL, why->what, "correct it, or leave out --strict to skip it",
			  "%s %" PRIu64 " is not a valid record", appending->unit,
			  appending->number);
}

/* Adds what has the next number. 1 if it is in the open group, 0 if it was refused. */
static int add(struct appending *appending, const char *bytes, size_t n_bytes,
	       struct sbx_error *err)
{
	struct sbx_error why = { .code = 0 };
	int r = AUDIT_REFUSED;

	if (n_bytes > RECORD_BYTES_MAX)
		(void)error_fill(&why, -EMSGSIZE, NULL,
				 "write a summary, and keep the rest elsewhere",
				 "it is longer than %d bytes", RECORD_BYTES_MAX);
	else
		r = audit_log_add(appending->log, bytes, n_bytes, &appending->writer, NULL, &why);
	if (r == AUDIT_REFUSED)
		return refuse(appending, &why, err);
	if (r < 0) {
		if (err)
			*err = why;
		return r;
	}
	appending->n_open++;
	appending->n_added++;
	progress_show(&appending->progress, appending->n_added, 0);
	return 1;
}

/* ---- lines ---- */

static int take(struct appending *appending, struct line_reader *reader, int state,
		const char *line, size_t n_bytes, struct sbx_error *err)
{
	int r;

	appending->number = reader->number;
	r = add(appending, line, state == LINE_TOO_LONG ? SIZE_MAX : n_bytes, err);
	if (r <= 0)
		return r;
	return appending->n_open < GROUP && lines_at_hand(reader) ? 0 : commit(appending, err);
}

/* Signs committed records when the pipe is silent. */
static int wait_for_lines(struct appending *appending, const struct line_reader *reader,
			  struct sbx_error *err)
{
	struct pollfd poller = { .fd = reader->fd, .events = POLLIN };

	if (audit_log_size(appending->log) == audit_log_checkpoint_size(appending->log) ||
	    lines_ready(reader) || poll(&poller, 1, SILENCE_MSEC) != 0)
		return 0;
	return audit_log_checkpoint(appending->log, err);
}

static int take_all(struct appending *appending, struct sbx_error *err)
{
	_cleanup_lines_ struct line_reader reader = { .fd = STDIN_FILENO, .max = RECORD_BYTES_MAX };
	size_t n_bytes;
	char *line;
	int r, state;

	do {
		r = wait_for_lines(appending, &reader, err);
		if (r < 0)
			return r;
		state = lines_next(&reader, &line, &n_bytes);
		if (state < 0)
			return sbx_error_what(err, state, "cannot read standard input");
		if (state != LINE_END)
			r = take(appending, &reader, state, line, n_bytes, err);
	} while (r == 0 && state != LINE_END);
	return r;
}

/* ---- messages of a channel ---- */

/* Of refused messages, so many are told; all are counted. */
#define TOLD_MAX 100
/* After so many wake-ups without a message, the doorbell is not listened to for a moment. */
#define EMPTY_WAKES_MAX 64
#define DEAF_MSEC 1
#define CHANNEL_DIGITS 16

struct source {
	struct sbx_ring *ring;
	int signals; /* a signalfd */
	const char *end;
	unsigned n_empty_wakes;
	struct peer peer;
	char channel[CHANNEL_DIGITS + 1];
};
#define SOURCE_INIT                                                                                \
	{                                                                                          \
		.signals = -EBADF, .peer = PEER_INIT                                               \
	}

static void source_deinit(struct source *source)
{
	sbx_ring_close(source->ring);
	close_fd(&source->signals);
	peer_deinit(&source->peer);
}

static int refuse_socket(int fd, const char *why, struct sbx_error *err)
{
	return error_fill(err, -EINVAL, why,
			  "give it one end of a socketpair(AF_UNIX, SOCK_SEQPACKET), whose other "
			  "end the sender holds",
			  "option '--ring-fd' cannot take '%d'", fd);
}

static int check_socket(struct source *source, int fd, struct sbx_error *err)
{
	const char *fault = fd_find_socket_fault(fd);
	int r;

	if (fault)
		return refuse_socket(fd, fault, err);
	r = peer_identify(fd, &source->peer);
	if (r == -ENODATA)
		return refuse_socket(fd, "the kernel names no process at its other end", err);
	if (r < 0)
		return sbx_error_what(err, r, "cannot find out who sends the records");
	/* The command of --witness must not hold our end. */
	r = fd_set_cloexec(fd);
	return r < 0 ? sbx_error_what(err, r, "cannot use file descriptor %d", fd) : 0;
}

/* Signals that were ignored when this program started (nohup) still are. */
static int open_signals(struct source *source, struct sbx_error *err)
{
	static const int all[] = { SIGTERM, SIGINT, SIGHUP };
	struct sigaction action;
	sigset_t ends;

	(void)sigemptyset(&ends);
	for (size_t i = 0; i < N_ELEMENTS(all); i++)
		if (sigaction(all[i], NULL, &action) < 0 || action.sa_handler != SIG_IGN)
			(void)sigaddset(&ends, all[i]);
	source->signals = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
	if (source->signals < 0 || sigprocmask(SIG_BLOCK, &ends, NULL) < 0)
		return sbx_error_what(err, -errno, "cannot wait for signals");
	return 0;
}

/* The end may have been passed on, so even a peer beside us is not known to be the sender. */
static struct audit_writer writer_of(const struct source *source)
{
	enum peer_place place = source->peer.place;

	return (struct audit_writer){
		.uid = source->peer.uid,
		.pid = source->peer.pid,
		.confined = peer_place_name(place == PEER_BESIDE ? PEER_UNKNOWN : place),
		.ring = source->channel,
	};
}

static int open_source(struct source *source, int fd, struct sbx_error *err)
{
	const struct sbx_ring_config config = { .size = sizeof(config) };
	uint64_t random;
	int r = check_socket(source, fd, err);

	if (r < 0)
		return r;
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return sbx_error_what(err, -EIO, "the kernel gives no random bytes");
	(void)snprintf(source->channel, sizeof(source->channel), "%016" PRIx64, random);
	/* From its beginning on, a channel has a record of its end. */
	r = open_signals(source, err);
	return r < 0 ? r : sbx_ring_open(&config, SBX_RING_SERVER, fd, &source->ring, err);
}

/* Waits up to @timeout_msec for a signal, without reading it. */
static bool is_stopped(struct source *source, int timeout_msec)
{
	struct pollfd polled = { .fd = source->signals, .events = POLLIN };

	if (poll(&polled, 1, timeout_msec) <= 0)
		return false;
	source->end = "stopped";
	return true;
}

/*
 * Nothing is at hand: waits for more. The other side may ring the doorbell without end, which costs
 * it more than us, and less still from the 64th time on. 1: it has ended.
 */
static int wait_for_messages(struct appending *appending, struct source *source,
			     struct sbx_error *err)
{
	bool is_signed =
		audit_log_size(appending->log) == audit_log_checkpoint_size(appending->log);
	struct pollfd polled[] = {
		{ .fd = sbx_ring_fd(source->ring), .events = POLLIN },
		{ .fd = source->signals, .events = POLLIN },
	};
	int n;

	if (source->n_empty_wakes++ > EMPTY_WAKES_MAX && is_stopped(source, DEAF_MSEC))
		return 1;
	if (sbx_ring_arm(source->ring, SBX_RING_READABLE) != 0)
		return 0;
	n = poll(polled, N_ELEMENTS(polled), is_signed ? -1 : SILENCE_MSEC);
	if (n == 0) {
		source->n_empty_wakes = 0;
		return audit_log_checkpoint(appending->log, err);
	}
	return polled[1].revents != 0 && is_stopped(source, 0);
}

static int commit_group(struct appending *appending, struct source *source, struct sbx_error *err)
{
	int r = commit(appending, err);

	return r < 0 ? r : is_stopped(source, 0);
}

/* @r: why there is no message. 1, or negative errno. */
static int take_end(struct source *source, int r, struct sbx_error *err)
{
	static const struct {
		int code;
		const char *end;
	} ends[] = {
		{ SBX_RING_CLOSED, "closed" },
		{ -ECONNRESET, "died" },
		{ -EPROTO, "violation" },
	};

	for (size_t i = 0; i < N_ELEMENTS(ends); i++)
		if (ends[i].code == r) {
			source->end = ends[i].end;
			return 1;
		}
	return sbx_error_what(err, r, "cannot receive over the channel");
}

/* One message, or whatever else is to be done. 1 at the end. */
static int take_message(struct appending *appending, struct source *source, struct sbx_error *err)
{
	const void *bytes;
	size_t n_bytes;
	int r;

	if (sbx_ring_wait(source->ring, SBX_RING_READABLE, 0) != 0)
		return appending->n_open > 0 ? commit_group(appending, source, err)
					     : wait_for_messages(appending, source, err);
	r = sbx_ring_receive(source->ring, &bytes, &n_bytes, 0);
	if (r == SBX_RING_EMPTY)
		return 0; /* a part of one */
	if (r != 0)
		return take_end(source, r, err);
	source->n_empty_wakes = 0;
	appending->number++;
	r = add(appending, bytes, n_bytes, err);
	if (r < 0)
		return r;
	return appending->number % GROUP == 0 ? commit_group(appending, source, err) : 0;
}

static void begin_record(struct text *out, struct json_writer *json, const struct source *source,
			 const char *event)
{
	const char *confined = peer_place_name(source->peer.place);

	json_begin_object(json, out);
	json_member_u64(json, "version", 1);
	json_member_string(json, "event", event);
	json_member_string(json, "tool", "sbx-audit");
	json_member_string(json, "channel", source->channel);
	json_member_string(json, "transport", sbx_ring_transport_name(source->ring));
	json_member_string(json, "role", "server");
	json_member_object(json, "peer");
	json_member_u64(json, "uid", source->peer.uid);
	json_member_i64(json, "pid", source->peer.pid);
	json_member_if_set(json, "confined", confined);
	json_end_object(json);
}

static int add_record(struct appending *appending, struct text *record, struct json_writer *json,
		      struct sbx_error *err)
{
	const struct audit_writer writer = { .uid = getuid(), .pid = getpid() };
	int r;

	json_end_object(json);
	if (text_status(record) < 0)
		return sbx_error_what(err, -ENOMEM, "cannot write the record of the channel");
	r = audit_log_add(appending->log, record->data, record->len, &writer, NULL, err);
	return r == AUDIT_REFUSED ? -EIO : r;
}

static int record_violation(struct appending *appending, const struct source *source,
			    struct sbx_error *err)
{
	const char *reason = sbx_ring_violation(source->ring);
	_cleanup_text_ struct text record = TEXT_INIT;
	struct json_writer json;

	if (!reason)
		return 0;
	begin_record(&record, &json, source, "ring_violation");
	json_member_string(&json, "reason", reason);
	return add_record(appending, &record, &json, err);
}

static int record_end(struct appending *appending, const struct source *source,
		      struct sbx_error *err)
{
	struct sbx_ring_statistics statistics = { .size = sizeof(statistics) };
	_cleanup_text_ struct text record = TEXT_INIT;
	struct json_writer json;
	int r = record_violation(appending, source, err);

	if (r < 0)
		return r;
	sbx_ring_get_statistics(source->ring, &statistics);
	begin_record(&record, &json, source, "ring_closed");
	json_member_string(&json, "end", source->end ? source->end : "failed");
	ring_add_counters(&json, &statistics);
	json_member_u64(&json, "records", appending->n_added);
	json_member_u64(&json, "refused", appending->n_refused);
	return add_record(appending, &record, &json, err);
}

static void tell_end(const struct appending *appending, const struct source *source)
{
	const char *reason = sbx_ring_violation(source->ring);

	if (appending->run->verbosity < 0)
		return;
	if (appending->n_refused > appending->n_told_max)
		log_write(&appending->run->log, LOG_LEVEL_WARNING, NULL,
			  "%" PRIu64 " more messages refused",
			  appending->n_refused - appending->n_told_max);
	if (reason)
		log_write(&appending->run->log, LOG_LEVEL_WARNING, NULL,
			  "the other side broke the channel: %s; a record says so", reason);
}

/* 0, TOOL_NO after a violation, or negative errno. */
static int take_messages(struct appending *appending, struct source *source, struct sbx_error *err)
{
	struct sbx_error *rest = err;
	int r, last;

	appending->writer = writer_of(source);
	do
		r = take_message(appending, source, err);
	while (r == 0);
	if (r < 0)
		rest = NULL;
	last = record_end(appending, source, rest);
	progress_clear(&appending->progress);
	tell_end(appending, source);
	if (r < 0 || last < 0)
		return r < 0 ? r : last;
	return sbx_ring_violation(source->ring) ? TOOL_NO : 0;
}

int audit_verb_append(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	const struct audit_values *values = run->values;
	bool is_ring = values->ring_fd >= 0;
	_cleanup_audit_log_ struct audit_log *log = NULL;
	_cleanup_(source_deinit) struct source source = SOURCE_INIT;
	struct appending appending = { .run = run,
				       .writer = { .uid = getuid(), .pid = getpid() },
				       .unit = is_ring ? "message" : "line",
				       .n_told_max = is_ring ? TOLD_MAX : UINT64_MAX };
	struct sbx_error *rest = err;
	/* The sender must not wait until the log is open and the spool imported. */
	int r = is_ring ? open_source(&source, values->ring_fd, err) : 0, last;

	if (r < 0)
		return r == -EINVAL ? TOOL_USAGE : r;
	r = places_open(run, &log, err);
	if (r < 0)
		return r;
	appending.log = log;
	tool_begin_progress(run, &appending.progress, "appending");
	r = is_ring ? take_messages(&appending, &source, err) : take_all(&appending, err);
	r = tell_where(&appending, r, err);
	/* Records that were added before a failure are committed. */
	if (r < 0)
		rest = NULL;
	progress_clear(&appending.progress);
	last = tell_where(&appending, commit(&appending, rest), rest);
	if (last == 0)
		last = audit_log_checkpoint(log, rest);
	if (run->verbosity > 0)
		log_write(&run->log, LOG_LEVEL_INFO, NULL,
			  "%" PRIu64 " records added, %" PRIu64 " %ss refused", appending.n_added,
			  appending.n_refused, appending.unit);
	if (r == -EINVAL)
		return TOOL_USAGE;
	if (r < 0 || last < 0)
		return r < 0 ? r : last;
	return r > 0 || appending.n_refused > 0 ? TOOL_NO : TOOL_YES;
}
