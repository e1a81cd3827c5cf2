/* SPDX-License-Identifier: MIT */

/*
 * The test plays a user at a terminal: it has the master end and types. A small shell runs between
 * it and the supervisor; without one the process group would be orphaned and could not be stopped.
 */

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>

#include "spawn-rig.h"

#define CTRL_C "\003"
#define CTRL_Z "\032"
#define STOPPED 's'
#define CONTINUE 'c'

struct desk {
	struct rig rig;
	int screen; /* master end of the user's terminal */
	int shell_fd;
	pid_t shell;
	struct termios modes; /* before the supervisor was started */
	char heard[65536];
	size_t n_heard;
};

static void set_size(int fd, unsigned short rows, unsigned short columns)
{
	const struct winsize size = { .ws_row = rows, .ws_col = columns };

	expect_eq(ioctl(fd, TIOCSWINSZ, &size), 0);
}

static void desk_init(struct desk *desk, uid_t uid, const char *script)
{
	*desk = (struct desk){ .screen = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC) };
	if (desk->screen < 0 || grantpt(desk->screen) < 0 || unlockpt(desk->screen) < 0)
		abort();
	rig_init(&desk->rig, uid, script);
	rig_insert(&desk->rig, (struct step){ .kind = STEP_TERMINAL });
	desk->rig.options.is_terminal = true;
	set_size(desk->screen, 40, 100);
	expect_eq(tcgetattr(desk->screen, &desk->modes), 0);
}

static void desk_deinit(struct desk *desk)
{
	close_fd(&desk->screen);
	close_fd(&desk->shell_fd);
	rig_deinit(&desk->rig);
}
#define _cleanup_desk_ _cleanup_(desk_deinit)

/* Reports when the job has stopped, and continues it in the foreground when asked. */
static void run_shell(struct desk *desk, int terminal, int test)
{
	char byte = STOPPED;
	int status;

	for (;;) {
		if (waitpid(desk->rig.supervisor, &status, WUNTRACED) < 0)
			_exit(98);
		if (!WIFSTOPPED(status))
			_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 97);
		(void)tcsetpgrp(terminal, getpgrp());
		if (write(test, &byte, 1) != 1 || read(test, &byte, 1) != 1)
			_exit(96);
		(void)tcsetpgrp(terminal, desk->rig.supervisor);
		(void)kill(-desk->rig.supervisor, SIGCONT);
		byte = STOPPED;
	}
}

static void become_shell(struct desk *desk, int test)
{
	int terminal = ioctl(desk->screen, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)signal(SIGTTOU, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	if (terminal < 0 || setsid() < 0 || ioctl(terminal, TIOCSCTTY, 0) < 0)
		_exit(95);
	(void)close(desk->screen);
	for (int fd = 0; fd < 3; fd++)
		(void)dup2(terminal, fd);
	(void)close(desk->rig.stdin_fd);
	(void)close(desk->rig.output_fd);
	desk->rig.stdin_fd = terminal;
	desk->rig.output_fd = terminal;
	desk->rig.supervisor = fork();
	if (desk->rig.supervisor == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)setpgid(0, 0);
		(void)tcsetpgrp(terminal, getpid());
		(void)signal(SIGTTOU, SIG_DFL);
		(void)signal(SIGHUP, SIG_DFL);
		/* Ignored if the tests were started in the background. */
		(void)signal(SIGINT, SIG_DFL);
		(void)signal(SIGQUIT, SIG_DFL);
		(void)close(test);
		rig_supervise(&desk->rig);
	}
	run_shell(desk, terminal, test);
}

static void desk_start(struct desk *desk)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		abort();
	(void)fflush(NULL);
	desk->shell = fork();
	if (desk->shell == 0) {
		(void)close(pair[0]);
		become_shell(desk, pair[1]);
	}
	(void)close(pair[1]);
	desk->shell_fd = pair[0];
}

static void desk_type(struct desk *desk, const char *keys)
{
	expect_eq(fd_write_all(desk->screen, keys, strlen(keys)), 0);
}

/* Reads until the screen shows @wanted after the last match. */
static bool desk_sees(struct desk *desk, const char *wanted)
{
	for (;;) {
		char *found = strstr(desk->heard, wanted);
		ssize_t n;

		if (found) {
			found += strlen(wanted);
			desk->n_heard -= (size_t)(found - desk->heard);
			memmove(desk->heard, found, desk->n_heard + 1);
			return true;
		}
		if (!rig_is_ready(desk->screen, POLLIN) || desk->n_heard == sizeof(desk->heard) - 1)
			break;
		n = read(desk->screen, desk->heard + desk->n_heard,
			 sizeof(desk->heard) - 1 - desk->n_heard);
		if (n <= 0)
			break;
		desk->n_heard += (size_t)n;
		desk->heard[desk->n_heard] = '\0';
	}
	printf("# wanted \"%s\", saw \"%s\"\n", wanted, desk->heard);
	return false;
}

static void desk_wait(struct desk *desk)
{
	int status;

	expect_eq(waitpid(desk->shell, &status, 0), desk->shell);
	rig_expect_clean(&desk->rig);
	if (desk->rig.outcome->code < 0)
		printf("# %s: %s\n", desk->rig.outcome->err.what, desk->rig.outcome->err.why);
}

static bool is_stopped(const struct desk *desk)
{
	char byte = 0;

	return rig_is_ready(desk->shell_fd, POLLIN) && read(desk->shell_fd, &byte, 1) == 1 &&
	       byte == STOPPED;
}

static void go_on(const struct desk *desk)
{
	const char byte = CONTINUE;

	expect_eq(write(desk->shell_fd, &byte, 1), 1);
}

/* The terminal is cooked again: ECHO and ICANON are set. */
static bool is_as_before(const struct desk *desk)
{
	struct termios modes;

	return tcgetattr(desk->screen, &modes) == 0 && modes.c_lflag == desk->modes.c_lflag &&
	       modes.c_iflag == desk->modes.c_iflag && modes.c_oflag == desk->modes.c_oflag;
}

static bool is_raw(const struct desk *desk)
{
	struct termios modes;

	return tcgetattr(desk->screen, &modes) == 0 && !(modes.c_lflag & (ICANON | ECHO | ISIG));
}

/* ---- */

FOR_BOTH(the_command_has_a_terminal_of_its_own)
{
	_cleanup_desk_ struct desk desk;

	desk_init(&desk, uid,
		  "tty; stty size; test -t 0 && test -t 1 && test -t 2 && : >/dev/tty && echo all");
	desk_start(&desk);
	expect(desk_sees(&desk, "/dev/pts/0\r\n40 100\r\nall\r\n"));
	desk_wait(&desk);
	rig_expect(&desk.rig, 0, SPAWN_REASON_EXIT);
	expect(is_as_before(&desk));
}

FOR_BOTH(typed_input_is_echoed_once_and_read)
{
	_cleanup_desk_ struct desk desk;

	desk_init(&desk, uid, "echo ready; read line; echo \"got $line\"");
	desk_start(&desk);
	expect(desk_sees(&desk, "ready\r\n"));
	expect(is_raw(&desk));
	desk_type(&desk, "some words\r");
	expect(desk_sees(&desk, "got some words\r\n"));
	desk_wait(&desk);
}

FOR_BOTH(all_that_was_written_is_shown)
{
	_cleanup_desk_ struct desk desk;

	desk_init(&desk, uid, "seq 1 5000");
	desk_start(&desk);
	expect(desk_sees(&desk, "\n5000\r\n"));
	desk_wait(&desk);
}

FOR_BOTH(ctrl_c_interrupts_the_command)
{
	_cleanup_desk_ struct desk desk;

	desk_init(&desk, uid, "trap 'exit 9' INT; echo ready; while :; do sleep 1000 & wait; done");
	desk_start(&desk);
	expect(desk_sees(&desk, "ready\r\n"));
	desk_type(&desk, CTRL_C);
	desk_wait(&desk);
	rig_expect(&desk.rig, 9, SPAWN_REASON_EXIT);
	expect(is_as_before(&desk));
}

/* A program that prints when it continues: then the terminal is raw again. */
#define TALKER                                                                                     \
	"trap 'echo back' CONT; echo ready; while [ \"$line\" != end ]; do "                       \
	"if read line; then echo \"got $line\"; fi; done"

static void stop_and_go_on(struct desk *desk, const char *words)
{
	char wanted[64];

	expect(is_stopped(desk));
	expect(is_as_before(desk));
	go_on(desk);
	/* A shell that was stopped before its read() handles traps only after a line. */
	desk_type(desk, "\r");
	expect(desk_sees(desk, "back\r\n"));
	expect(is_raw(desk));
	desk_type(desk, words);
	desk_type(desk, "\r");
	(void)snprintf(wanted, sizeof(wanted), "got %s\r\n", words);
	expect(desk_sees(desk, wanted));
}

FOR_BOTH(ctrl_z_stops_the_job_and_gives_the_terminal_back)
{
	_cleanup_desk_ struct desk desk;

	desk_init(&desk, uid, TALKER);
	desk_start(&desk);
	expect(desk_sees(&desk, "ready\r\n"));
	for (int i = 0; i < 3; i++) {
		desk_type(&desk, CTRL_Z);
		stop_and_go_on(&desk, i < 2 ? "again" : "end");
	}
	desk_wait(&desk);
	rig_expect(&desk.rig, 0, SPAWN_REASON_EXIT);
}

FOR_BOTH(tstp_from_outside_stops_both_once)
{
	_cleanup_desk_ struct desk desk;

	desk_init(&desk, uid, TALKER);
	desk_start(&desk);
	expect(desk_sees(&desk, "ready\r\n"));
	/* The foreground group of the terminal is the supervisor's. */
	expect_eq(kill(-tcgetpgrp(desk.screen), SIGTSTP), 0);
	stop_and_go_on(&desk, "end");
	desk_wait(&desk);
	rig_expect(&desk.rig, 0, SPAWN_REASON_EXIT);
}

FOR_BOTH(a_new_size_is_told)
{
	_cleanup_desk_ struct desk desk;

	desk_init(&desk, uid,
		  "trap 'stty size; exit' WINCH; echo ready; while :; do sleep 1000 & wait; done");
	desk_start(&desk);
	expect(desk_sees(&desk, "ready\r\n"));
	set_size(desk.screen, 25, 81);
	expect(desk_sees(&desk, "25 81\r\n"));
	desk_wait(&desk);
}

FOR_BOTH(a_terminal_that_hangs_up_ends_the_command)
{
	_cleanup_desk_ struct desk desk;

	desk_init(&desk, uid, "echo ready; exec sleep 1000");
	desk_start(&desk);
	expect(desk_sees(&desk, "ready\r\n"));
	(void)close(desk.screen);
	desk.screen = -EBADF;
	desk_wait(&desk);
	expect_eq(desk.rig.outcome->result.signal, SIGHUP);
}

FOR_BOTH(the_terminal_is_given_back_when_the_time_is_over)
{
	bool is_ready = false;

	/* With a longer limit if it ran out before the command was ready. */
	for (uint64_t limit_usec = 1000000; !is_ready && limit_usec < 60000000; limit_usec *= 4) {
		_cleanup_desk_ struct desk desk;

		desk_init(&desk, uid, "trap '' TERM; echo ready; while :; do sleep 1000; done");
		rig_limit(&desk.rig, LIMIT_TIME, limit_usec);
		desk.rig.plan.grace_usec = 1000;
		desk_start(&desk);
		is_ready = desk_sees(&desk, "ready\r\n");
		desk_wait(&desk);
		rig_expect(&desk.rig, SPAWN_TIME_LIMIT, SPAWN_REASON_TIME);
		expect(is_as_before(&desk));
	}
	expect(is_ready);
}

FOR_BOTH(the_terminal_is_given_back_when_nothing_was_run)
{
	_cleanup_desk_ struct desk desk;

	desk_init(&desk, uid, "");
	desk.rig.argv[0] = "no-such-command";
	desk_start(&desk);
	desk_wait(&desk);
	rig_expect(&desk.rig, SPAWN_NOT_FOUND, SPAWN_REASON_EXEC);
	expect(is_as_before(&desk));
}

FOR_BOTH(output_is_limited_on_a_terminal_too)
{
	_cleanup_desk_ struct desk desk;

	desk_init(&desk, uid, "while :; do echo 0123456789; done");
	rig_limit(&desk.rig, LIMIT_OUTPUT, 30);
	desk_start(&desk);
	desk_wait(&desk);
	rig_expect(&desk.rig, 128 + SIGTERM, SPAWN_REASON_OUTPUT);
	expect(desk_sees(&desk, "0123456789\r\n0123456789\r\n012345"));
}

/* A terminal inside for a program that wants one, with its output in a pipe. */
FOR_BOTH(end_of_file_of_a_pipe_reaches_the_command)
{
	_cleanup_rig_ struct rig rig;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		abort();
	rig_init(&rig, uid, "stty -echo -onlcr; cat; tty");
	rig_insert(&rig, (struct step){ .kind = STEP_TERMINAL });
	(void)close(rig.stdin_fd);
	rig.stdin_fd = ends[0];
	expect_eq(fd_write_all(ends[1], "a line\n", 7), 0);
	(void)close(ends[1]);
	rig_run(&rig);
	expect(strstr(rig.output, "/dev/pts/0\n") != NULL);
	expect(strstr(rig.output, "a line") != NULL);
}

static const struct test tests[] = {
	BOTH(the_command_has_a_terminal_of_its_own),
	BOTH(typed_input_is_echoed_once_and_read),
	BOTH(all_that_was_written_is_shown),
	BOTH(ctrl_c_interrupts_the_command),
	BOTH(ctrl_z_stops_the_job_and_gives_the_terminal_back),
	BOTH(tstp_from_outside_stops_both_once),
	BOTH(a_new_size_is_told),
	BOTH(a_terminal_that_hangs_up_ends_the_command),
	BOTH(the_terminal_is_given_back_when_the_time_is_over),
	BOTH(the_terminal_is_given_back_when_nothing_was_run),
	BOTH(output_is_limited_on_a_terminal_too),
	BOTH(end_of_file_of_a_pipe_reaches_the_command),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
