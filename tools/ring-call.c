/* SPDX-License-Identifier: MIT */

/*
 * sbx-ring call: one request, one response
 *
 * The frames are CALL_SERVICE and SERVICE_RESPONSE of sbx-frame-layout(7), so another program can
 * be either side. Their payload is {"module":"","error":0,"body":VALUE}: a line is a JSON string
 * there, or with --json any JSON value.
 */

#include "ring.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "ring/message.h"

#include "tool.h"

/* ---- bodies ---- */

/* A line that is a JSON value is one; a line that is a text becomes a string. -EBADMSG: neither. */
static int add_body(struct text *out, bool is_json, const char *line, size_t n_bytes)
{
	struct json_writer json;

	if (is_json && json_validate(line, n_bytes, NULL, NULL) < 0)
		return -EBADMSG;
	if (is_json) {
		text_add_bytes(out, line, n_bytes);
		return text_status(out);
	}
	for (size_t at = 0; at < n_bytes;) {
		size_t n = utf8_sequence(line + at, n_bytes - at);

		if (n == 0)
			return -EBADMSG;
		at += n;
	}
	json_write(&json, out);
	json_add_string_bytes(&json, line, n_bytes);
	return text_status(out);
}

static int add_payload(struct text *out, int error, const struct text *body)
{
	struct module_message message = { .error = error,
					  .body = text_string(body),
					  .body_size = body->len };

	return module_print(&message, out);
}

/* The text of a body that is a string; any other value as it is. -EBADMSG for a text that is not
 * one line: the reader of lines could not tell it from two. */
static int add_line(struct text *out, bool is_json, const struct module_message *message)
{
	struct json_scanner scanner;
	struct json_item item;
	int r;

	json_scan(&scanner, message->body, message->body_size);
	if (json_next(&scanner, &item) != 1)
		return -EBADMSG;
	if (is_json || item.kind != JSON_STRING)
		text_add_bytes(out, message->body, message->body_size);
	else if (json_decode(&item, out) < 0)
		return -EBADMSG;
	r = text_status(out);
	if (r < 0)
		return r;
	return out->len > 0 && memchr(out->data, '\n', out->len) ? -EBADMSG : 0;
}

/* ---- ask ---- */

struct asking {
	struct side side;
	struct input input;
	struct output output;
	struct text body, payload, line;
	uint64_t n_failed;
};

static void asking_deinit(struct asking *asking)
{
	input_deinit(&asking->input);
	output_deinit(&asking->output);
	text_deinit(&asking->body);
	text_deinit(&asking->payload);
	text_deinit(&asking->line);
	side_deinit(&asking->side);
}

static int refuse_response(struct asking *asking, const char *why, struct sbx_error *err)
{
	(void)error_fill(err, -EPROTO, why, "check what answers: 'sbx-ring call --serve'",
			 "the response to line %" PRIu64 " cannot be read", asking->input.number);
	(void)side_close(&asking->side, -EPROTO, NULL);
	return TOOL_NO;
}

/* An error is printed, and the next request sent. */
static void tell_error(struct asking *asking, const struct module_message *message)
{
	struct sbx_error err = { .code = 0 };

	asking->n_failed++;
	(void)sbx_error_what(&err, -EIO, "the request in line %" PRIu64 " has failed",
			     asking->input.number);
	/* An errno where the other side is "call --serve"; another program may have other numbers.
	 */
	sbx_error_why(&err, "%s (%s, %" PRId32 ")", text_string(&asking->line),
		      strerror(message->error), message->error);
	tool_tell(asking->side.run, &err);
}

static int take_response(struct asking *asking, uint8_t type, const void *payload, size_t n_bytes,
			 struct sbx_error *err)
{
	struct module_message message;
	const char *problem = NULL;

	if (type != MESSAGE_SERVICE_RESPONSE)
		return refuse_response(asking, "it is of another type than SERVICE_RESPONSE", err);
	if (module_parse(payload, n_bytes, &message, &problem) < 0)
		return refuse_response(asking, problem, err);
	text_reset(&asking->line);
	if (add_line(&asking->line, asking->side.run->json, &message) < 0)
		return refuse_response(asking, "its text is not one line", err);
	if (message.error != 0) {
		tell_error(asking, &message);
		return 0;
	}
	return output_add(&asking->output, text_string(&asking->line), asking->line.len);
}

static int ask(struct asking *asking, const void *line, size_t n_bytes, struct sbx_error *err)
{
	bool is_json = asking->side.run->json;
	const void *payload;
	uint8_t type;
	int r;

	text_reset(&asking->body);
	text_reset(&asking->payload);
	r = add_body(&asking->body, is_json, line, n_bytes);
	if (r == 0)
		r = add_payload(&asking->payload, 0, &asking->body);
	if (r == -EBADMSG) {
		(void)error_fill(err, r, is_json ? "it is not a JSON value" : "it is not UTF-8",
				 is_json ? "write one JSON value on each line, or leave out --json"
					 : "send bytes with 'sbx-ring send'",
				 "line %" PRIu64 " of stdin cannot be a request",
				 asking->input.number);
		return TOOL_USAGE;
	}
	if (r == 0 && asking->payload.len > SBX_RING_MESSAGE_MAX - 5)
		return input_fail(&asking->input, -EMSGSIZE, err);
	if (r < 0)
		return sbx_error_what(err, r, "cannot send a request");
	r = sbx_ring_request(asking->side.ring, MESSAGE_CALL_SERVICE, asking->payload.data,
			     asking->payload.len, &type, &payload, &n_bytes,
			     asking->side.timeout_usec);
	if (r != 0) {
		bool is_late = r == SBX_RING_EMPTY;

		r = side_fail(&asking->side, r, "get a response", err);
		if (is_late)
			sbx_error_fix(err, "allow more time (--timeout), or let a command that "
					   "answers write each line at once, as sed -u does");
		return r;
	}
	r = take_response(asking, type, payload, n_bytes, err);
	if (r == 0 && !input_is_ready(&asking->input))
		r = output_flush(&asking->output);
	return r < 0 ? output_fail(&asking->side, r, err) : r;
}

static int ask_all(struct asking *asking, struct sbx_error *err)
{
	const void *line;
	size_t n_bytes;
	int r, flushed;

	while ((r = input_next(&asking->input, &line, &n_bytes)) == 0) {
		r = ask(asking, line, n_bytes, err);
		if (r != 0)
			break;
	}
	flushed = output_flush(&asking->output);
	if (r == INPUT_END)
		r = 0;
	else if (r < 0 && asking->side.ring)
		r = input_fail(&asking->input, r, err);
	if (r == 0 && flushed < 0)
		return output_fail(&asking->side, flushed, err);
	return r;
}

static int run_asking(struct tool_run *run, const char *name, struct sbx_error *err)
{
	_cleanup_(asking_deinit) struct asking asking = {
		.side = SIDE_INIT(run, SBX_RING_SERVER),
		.input = { .fd = STDIN_FILENO, .framing = FRAMING_LINES },
		.output = { .fd = STDOUT_FILENO, .framing = FRAMING_LINES },
	};
	int r = side_open(&asking.side, name, err);

	if (r != 0)
		return r;
	r = ask_all(&asking, err);
	if (r != 0)
		return r;
	r = side_close(&asking.side, 0, err);
	return r == 0 && asking.n_failed > 0 ? TOOL_NO : r;
}

/* ---- serve ---- */

struct answering {
	struct side side;
	struct input responses;
	int requests; /* the command's stdin, which does not block */
	pid_t command;
	struct text line, body, payload;
	bool has_ended;	   /* the command */
	bool is_abandoned; /* the other side has ended while the command works for it */
};

static void answering_deinit(struct answering *answering)
{
	close_fd(&answering->requests);
	close_fd(&answering->responses.fd);
	input_deinit(&answering->responses);
	text_deinit(&answering->line);
	text_deinit(&answering->body);
	text_deinit(&answering->payload);
	side_deinit(&answering->side);
}

static noreturn void become_command(const struct tool_run *run, const int requests[2],
				    const int responses[2], char *const argv[])
{
	if (dup2(requests[0], STDIN_FILENO) < 0 || dup2(responses[1], STDOUT_FILENO) < 0)
		_exit(TOOL_FAILED);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)signal(SIGXFSZ, SIG_DFL);
	process_exec(run, argv);
}

/* The caller closes the pipes. */
static int start_between(struct answering *answering, int requests[2], int responses[2],
			 char *const argv[])
{
	if (pipe2(requests, O_CLOEXEC) < 0 || pipe2(responses, O_CLOEXEC) < 0)
		return -errno;
	answering->command = fork();
	if (answering->command == 0)
		become_command(answering->side.run, requests, responses, argv);
	return answering->command < 0 ? -errno : 0;
}

static int start(struct answering *answering, char *const argv[], struct sbx_error *err)
{
	int requests[2] = { -EBADF, -EBADF }, responses[2] = { -EBADF, -EBADF };
	int r = start_between(answering, requests, responses, argv);

	close_fd(&requests[0]);
	close_fd(&responses[1]);
	answering->requests = requests[1];
	answering->responses.fd = responses[0];
	if (r == 0 && fcntl(answering->requests, F_SETFL, O_NONBLOCK) < 0)
		r = -errno;
	return r < 0 ? sbx_error_what(err, r, "cannot start '%s'", argv[0]) : 0;
}

static int answer(struct answering *answering, uint32_t request_id, int error, const char *line,
		  size_t n_bytes)
{
	const struct tool_run *run = answering->side.run;
	int r;

	text_reset(&answering->body);
	text_reset(&answering->payload);
	r = add_body(&answering->body, run->json && error == 0, line, n_bytes);
	if (r < 0)
		return r;
	r = add_payload(&answering->payload, error, &answering->body);
	if (r < 0)
		return r;
	if (answering->payload.len > SBX_RING_MESSAGE_MAX - 5)
		return -EBADMSG;
	return sbx_ring_send_frame(answering->side.ring, MESSAGE_SERVICE_RESPONSE, request_id,
				   answering->payload.data, answering->payload.len, 0,
				   answering->side.timeout_usec);
}

static int answer_error(struct answering *answering, uint32_t request_id, int error,
			const char *text)
{
	return answer(answering, request_id, error, text, strlen(text));
}

static int write_some(struct answering *answering, size_t *at)
{
	ssize_t n =
		write(answering->requests, answering->line.data + *at, answering->line.len - *at);

	*at += n > 0 ? (size_t)n : 0;
	return n < 0 && errno != EAGAIN && errno != EINTR ? -errno : 0;
}

/* Further requests of a side that has ended are not answered. SBX_RING_CLOSED, or how else it has
 * ended. */
static int learn_end(struct sbx_ring *ring)
{
	const void *bytes;
	size_t n_bytes;
	int r;

	do
		r = sbx_ring_receive(ring, &bytes, &n_bytes, 0);
	while (r == 0);
	return r == SBX_RING_EMPTY ? -ECONNRESET : r;
}

/* Writes the line to the command, and reads until it has answered with a line or ended. The other
 * side waits for the answer: if it ends before, the result is that of learn_end(). */
static int converse(struct answering *answering, bool *ret_is_abandoned)
{
	struct sbx_ring *ring = answering->side.ring;
	struct input *responses = &answering->responses;
	struct pollfd fds[] = {
		{ .fd = sbx_ring_fd(ring), .events = POLLIN },
		{ .events = POLLOUT },
		{ .events = POLLIN },
	};
	size_t at = 0;
	int r = 0;

	while (r == 0) {
		bool is_written = at == answering->line.len;
		bool is_answered = input_is_ready(responses) || responses->is_at_end;

		if (is_written && is_answered)
			return 0;
		*ret_is_abandoned = sbx_ring_arm(ring, 0) != 0;
		if (*ret_is_abandoned)
			return learn_end(ring);
		fds[1].fd = is_written ? -1 : answering->requests;
		fds[2].fd = is_answered ? -1 : responses->fd;
		if (poll(fds, N_ELEMENTS(fds), -1) < 0) {
			r = errno == EINTR ? 0 : -errno;
			continue;
		}
		if (fds[1].revents)
			r = write_some(answering, &at);
		if (r == 0 && fds[2].revents)
			r = input_read(responses);
	}
	return r;
}

/* The request's line goes to the command; the next line of the command is the response. */
static int ask_command(struct answering *answering, uint32_t request_id)
{
	const void *line = NULL;
	size_t n_bytes = 0;
	int r;

	text_add_char(&answering->line, '\n');
	r = text_status(&answering->line);
	if (r == 0)
		r = converse(answering, &answering->is_abandoned);
	if (answering->is_abandoned)
		return r;
	if (r == 0)
		r = input_next(&answering->responses, &line, &n_bytes);
	if (r == INPUT_END || r == -EPIPE) {
		answering->has_ended = true;
		return answer_error(answering, request_id, EPIPE, "the command has ended");
	}
	if (r < 0)
		return answer_error(answering, request_id, EIO, "the command cannot be asked");
	r = answer(answering, request_id, 0, line, n_bytes);
	return r == -EBADMSG ? answer_error(answering, request_id, EBADMSG,
					    answering->side.run->json
						    ? "the command's answer is not a JSON value"
						    : "the command's answer is not UTF-8")
			     : r;
}

static int serve_one(struct answering *answering)
{
	struct module_message message;
	const char *problem = NULL;
	const void *payload;
	uint32_t request_id;
	size_t n_bytes;
	uint8_t type;
	int r = sbx_ring_receive_frame(answering->side.ring, &type, &request_id, &payload, &n_bytes,
				       answering->side.timeout_usec);

	if (r != 0)
		return r;
	/* The sender of a frame without an id waits for no answer. */
	if (request_id == 0)
		return 0;
	if (type != MESSAGE_CALL_SERVICE)
		return answer_error(answering, request_id, EINVAL, "only CALL_SERVICE is answered");
	if (module_parse(payload, n_bytes, &message, &problem) < 0)
		return answer_error(answering, request_id, EBADMSG, problem);
	text_reset(&answering->line);
	if (add_line(&answering->line, answering->side.run->json, &message) < 0)
		return answer_error(answering, request_id, EBADMSG, "the request is not one line");
	return ask_command(answering, request_id);
}

static int end_command(struct answering *answering, struct sbx_error *err)
{
	int status = 0;

	close_fd(&answering->requests);
	if (answering->command <= 0)
		return 0;
	if (process_wait(answering->command, &status) < 0)
		return sbx_error_what(err, -ECHILD, "cannot tell how the command has ended");
	return process_status(status);
}

static int run_answering(struct tool_run *run, const char *name, char *argv[],
			 struct sbx_error *err)
{
	_cleanup_(answering_deinit) struct answering answering = {
		.side = SIDE_INIT(run, SBX_RING_CLIENT),
		.responses = { .fd = -EBADF, .framing = FRAMING_LINES },
		.requests = -EBADF,
	};
	int r = side_open(&answering.side, name, err), ended;

	if (r == 0)
		r = start(&answering, argv, err);
	if (r != 0)
		return r;
	do
		r = serve_one(&answering);
	while (r == 0 && !answering.has_ended);
	if (answering.is_abandoned)
		(void)kill(answering.command, SIGTERM);
	if (r == 0)
		r = side_flush(&answering.side);
	if (r == 0 || (r == SBX_RING_CLOSED && !answering.is_abandoned))
		r = side_close(&answering.side, r, err);
	else
		r = side_fail(&answering.side, r, "answer requests", err);
	ended = end_command(&answering, r == 0 ? err : NULL);
	return r != 0 ? r : ended;
}

/* ---- which of the two ---- */

/* With --serve all operands are the command: a channel is named by --endpoint then. */
int ring_verb_call(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	const struct ring_values *values = run->values;

	(void)signal(SIGPIPE, SIG_IGN);
	if (values->serve && n_operands == 0)
		return ring_refuse(err, "no command given",
				   "--serve answers with a command's output",
				   "write 'sbx-ring call --serve -- cat', for example");
	operands[n_operands] = NULL;
	if (values->serve)
		return run_answering(run, NULL, operands, err);
	if (n_operands > 1)
		return ring_refuse(err, "a command without --serve",
				   "call without --serve takes its requests from stdin",
				   "add --serve, or leave out the command");
	return run_asking(run, n_operands > 0 ? operands[0] : NULL, err);
}
