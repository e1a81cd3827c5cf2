/* SPDX-License-Identifier: MIT */

/*
 * sbx-ctl exec: asks the supervisor to run another command in its sandbox, with the caller's stdin,
 * stdout and stderr, or a pseudo-terminal instead of the caller's terminal
 *
 * One packet is sent, {"exec":["ls","-l"]} with three fds, and one is received: {"status":0},
 * {"error":"..."}, or both if the command could not be executed. If sbx-ctl exits, the connection
 * closes, and the supervisor kills the command.
 */

#include "ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/tree.h"
#include "base/units.h"
#include "spawn/loop.h"
#include "spawn/signals.h"
#include "spawn/terminal.h"

#include "tool.h"

/*
 * The terminal of sbx-ctl exec: a process that enters a sandbox never gets the user's terminal
 *
 * It gets a new pseudo-terminal. Input is copied if both stdin and stdout are terminals and while
 * sbx-ctl is in the foreground; the line discipline inside makes signals of Ctrl-C. If stdout is a
 * pipe, a pager at its end reads the user's terminal, so the command gets empty input.
 */

struct desk {
	struct loop loop;
	struct signals signals;
	struct terminal terminal;
	struct source answer;
	struct source signal;
	bool is_answered;
	int ended_by; /* signal that ends sbx-ctl */
};

static int answered(struct source *source, short events)
{
	struct desk *desk = source->userdata;

	desk->is_answered = true;
	return 0;
}

static int signalled(struct source *source, short events)
{
	struct desk *desk = source->userdata;
	int signal = signals_next(&desk->signals);

	if (signal_use(signal) == SIGNAL_STOPS) {
		terminal_release(&desk->terminal);
		signals_stop_ourselves(false);
	}
	if (signal == SIGWINCH)
		terminal_resize(&desk->terminal);
	else if (signal == SIGCONT || signal_use(signal) == SIGNAL_STOPS)
		terminal_seize(&desk->terminal);
	else if (signal_use(signal) == SIGNAL_FORWARDED)
		desk->ended_by = signal;
	return 0;
}

static int begin(struct desk *desk, uid_t uid, int stdio[3])
{
	const bool is_typed = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	int r, given = 0;

	/* Input is left to the reader of the output: the command gets /dev/null. */
	if (!is_typed && isatty(STDIN_FILENO)) {
		stdio[STDIN_FILENO] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (stdio[STDIN_FILENO] < 0)
			return -errno;
	}
	r = terminal_lend(&desk->terminal, &desk->loop, NULL, stdio);
	if (r == 1)
		given = terminal_give(&desk->terminal, uid);
	for (int fd = 0; fd < 3; fd++)
		if (stdio[fd] < 0)
			stdio[fd] = fd;
	return given < 0 ? given : r;
}

static int watch(struct desk *desk, int socket)
{
	int r = signals_begin(&desk->signals);

	if (r < 0)
		return r;
	desk->answer = (struct source){
		.fd = socket, .events = POLLIN, .ready = answered, .userdata = desk
	};
	desk->signal = (struct source){
		.fd = desk->signals.fd, .events = POLLIN, .ready = signalled, .userdata = desk
	};
	r = loop_add(&desk->loop, &desk->answer);
	if (r < 0)
		return r;
	r = loop_add(&desk->loop, &desk->signal);
	terminal_want_input(&desk->terminal);
	while (r == 0 && !desk->is_answered && desk->ended_by == 0) {
		r = loop_turn(&desk->loop, terminal_next(&desk->terminal));
		terminal_check(&desk->terminal);
	}
	return r;
}

static void drain(struct desk *desk)
{
	loop_remove(&desk->loop, &desk->answer);
	relay_pause(&desk->terminal.input, true);
	terminal_drain(&desk->terminal);
	while (!terminal_has_ended(&desk->terminal) && desk->ended_by == 0)
		if (loop_turn(&desk->loop, LOOP_NO_DEADLINE) < 0)
			break;
}

/* Sends the request with the command's stdin, stdout and stderr, and copies the terminal's input
 * and output until @socket has an answer. @uid: of the command. 0 or negative errno. */
static int terminal_wait(int socket, uid_t uid, const struct text *packet)
{
	struct desk desk = { .loop = LOOP_INIT,
			     .signals = SIGNALS_INIT,
			     .terminal = TERMINAL_INIT };
	int stdio[3] = { -EBADF, -EBADF, -EBADF };
	int r = begin(&desk, uid, stdio);
	bool is_lent = r == 1;

	if (r >= 0)
		r = fd_send(socket, packet->data, packet->len, stdio, 3);
	if (stdio[STDIN_FILENO] > STDERR_FILENO && stdio[STDIN_FILENO] != desk.terminal.inner)
		close_fd(&stdio[STDIN_FILENO]);
	if (r == 0 && is_lent)
		r = watch(&desk, socket);
	if (is_lent)
		drain(&desk);
	terminal_deinit(&desk.terminal);
	loop_deinit(&desk.loop);
	signals_end(&desk.signals);
	if (desk.ended_by != 0)
		(void)raise(desk.ended_by);
	return r;
}

#define ANSWER_MAX 65536
#define STATUS_MAX 255

static int fail(const char *id, int code, struct sbx_error *err)
{
	return ctl_fail(err, code == -EINVAL ? -EPROTO : code, "run a command in", id, NULL,
			code == -EMSGSIZE ? "use a shorter command line"
					  : "see with 'sbx-ctl list' whether it is still there");
}

static int connect_to(struct ctl *ctl, const char *id)
{
	char path[SANDBOX_ID_MAX + 64];

	/* Through the fd, because the path of the directory may be too long for a socket. */
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s/" SANDBOX_CONTROL_NAME,
		       ctl->registry, id);
	return fd_connect(path, 0);
}

static int ask(int socket, uid_t uid, char *const words[], int n_words, char answer[ANSWER_MAX],
	       size_t *ret_n_bytes)
{
	_cleanup_text_ struct text packet = TEXT_INIT;
	struct json_writer json;
	size_t n_fds = 0;
	ssize_t n;
	int r;

	json_begin_object(&json, &packet);
	json_member_array(&json, "exec");
	for (int i = 0; i < n_words; i++)
		json_add_string(&json, words[i]);
	json_end_array(&json);
	json_end_object(&json);
	r = text_status(&packet);
	if (r == 0)
		r = terminal_wait(socket, uid, &packet);
	if (r < 0)
		return r;
	n = fd_receive(socket, answer, ANSWER_MAX, NULL, 0, &n_fds);
	if (n <= 0)
		return n < 0 ? (int)n : -ECONNRESET;
	*ret_n_bytes = (size_t)n;
	return 0;
}

/* Status 125: not the command's fault, but that of the sandbox, which may be ending. */
static const char *fix_of(const struct tree_node *status, const struct tree_node *fix)
{
	if (fix && fix->type == TREE_STRING)
		return fix->text;
	if (!status)
		return "see with 'sbx-ctl list' whether it is still running";
	if (strcmp(status->text, "125") == 0)
		return "see with 'sbx-ctl list' whether it is still running";
	return "name a program that exists in the sandbox and may be executed there";
}

static int understand(const char *id, const char *answer, size_t n_bytes, struct sbx_error *err)
{
	_cleanup_tree_ struct tree *tree = NULL;
	const struct tree_node *status, *error;
	uint64_t number;

	if (tree_read("<answer>", answer, n_bytes, &tree, NULL) < 0 ||
	    tree_root(tree)->type != TREE_MAP)
		return fail(id, -EPROTO, err);
	status = tree_get(tree, tree_root(tree), "status");
	error = tree_get(tree, tree_root(tree), "error");
	/* With a status, the error says why the command was not executed. */
	if (error)
		(void)ctl_fail(err, -EREMOTEIO, "run a command in", id, error->text,
			       fix_of(status, tree_get(tree, tree_root(tree), "fix")));
	if (error && !status)
		return -EREMOTEIO;
	if (!status || status->type != TREE_NUMBER ||
	    units_parse_count(status->text, &number, NULL) < 0 || number > STATUS_MAX)
		return fail(id, -EPROTO, err);
	return (int)number;
}

static int may_enter(const char *id, const struct sandbox_entry *entry, struct sbx_error *err)
{
	if (!entry->may_exec)
		return ctl_fail(
			err, -EACCES, "run a command in", id,
			"it was not started with --debug, or its policy does not allow container.run in the mode debug",
			"start it with --debug; with a policy, add the rule {name: enter, match: {op: container.run, mode: debug}, action: allow}");
	if (entry->is_paused)
		return ctl_fail(err, -EBUSY, "run a command in", id, "it is paused",
				"resume it: sbx-ctl resume ID");
	return 0;
}

int ctl_verb_exec(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	_cleanup_ctl_ struct ctl ctl = CTL_INIT;
	_cleanup_close_ int socket = -EBADF;
	_cleanup_free_ char *answer = malloc(ANSWER_MAX);
	const char *id = operands[0];
	struct target target;
	size_t n_bytes = 0;
	int r = ctl_init(&ctl, context, err);

	if (r < 0)
		return r;
	r = ctl_read_running(&ctl, id, &target, err);
	if (r < 0)
		return r;
	r = may_enter(id, &target.entry, err);
	if (r < 0)
		return r;
	if (!answer)
		return sbx_error_what(err, -ENOMEM, "no memory to ask '%s'", id);
	socket = connect_to(&ctl, id);
	r = socket < 0
		    ? socket
		    : ask(socket, target.entry.uid, operands + 1, n_operands - 1, answer, &n_bytes);
	return r < 0 ? fail(id, r, err) : understand(id, answer, n_bytes, err);
}
