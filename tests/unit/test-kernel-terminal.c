/* SPDX-License-Identifier: MIT */

#include <poll.h>
#include <sys/mount.h>
#include <termios.h>

#include "kernel-rig.h"

static const struct step step;

/* Mounts a new devpts instance in place of the host's. */
static int enter_with_terminals(struct kernel *kernel)
{
	int r = become_ordinary();

	if (r == 0)
		r = enter_namespaces(kernel, CLONE_NEWNS);
	if (r == 0 && mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
			    "newinstance,ptmxmode=0666,mode=620") < 0)
		r = -errno;
	return r;
}

static int try_devpts(void)
{
	struct kernel kernel = KERNEL_INIT;

	return enter_with_terminals(&kernel);
}

/* The file for its report, because stdout will be the terminal. */
static int take(struct kernel *kernel, int *ret_out)
{
	*ret_out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (*ret_out < 0 || enter_with_terminals(kernel) < 0)
		return -EPROTO;
	return terminal_take(kernel, &step, 0);
}

static bool master_has(int master, const char *text)
{
	struct pollfd ready = { .fd = master, .events = POLLIN };

	for (; *text; text++) {
		char c;

		if (poll(&ready, 1, -1) != 1 || read(master, &c, 1) != 1 || c != *text)
			return false;
	}
	return true;
}

static int look_at_terminal(void)
{
	struct kernel kernel = KERNEL_INIT;
	char text[16] = "";
	int out;

	if (take(&kernel, &out) < 0)
		return -EPROTO;
	if (!isatty(0) || !isatty(1) || !isatty(2) || tcgetsid(0) != getpid())
		return -ENOTTY;
	if (fcntl(kernel.pty_master, F_GETFD) != FD_CLOEXEC || fcntl(1, F_GETFD) != 0)
		return -EBADF;
	/* Data that is written at one end can be read at the other, maybe in pieces. */
	if (write(1, "out\n", 4) != 4 || !master_has(kernel.pty_master, "out\r\n"))
		return -EIO;
	return write(kernel.pty_master, "in\n", 3) == 3 && read(0, text, sizeof(text)) == 3 ? 0
											    : -EIO;
}

static void the_command_gets_a_terminal_of_its_own(void)
{
	if (in_child(try_devpts) != 0)
		skip("no devpts of one's own here");
	expect_eq(in_child(look_at_terminal), 0);
}

static int lead_already(void)
{
	struct kernel kernel = KERNEL_INIT;
	int out;

	return setsid() < 0 ? -errno : take(&kernel, &out);
}

static void one_that_leads_a_session_already_may_take_it(void)
{
	if (in_child(try_devpts) != 0)
		skip("no devpts of one's own here");
	expect_eq(in_child(lead_already), 0);
}

static int close_stdin(void)
{
	struct kernel kernel = KERNEL_INIT;
	int out;
	int r = close(STDIN_FILENO) < 0 ? -errno : take(&kernel, &out);

	return r < 0 && kernel.pty_master != -EBADF ? -EPROTO : r;
}

static void refuses_to_take_it_over_a_closed_stdin(void)
{
	if (in_child(try_devpts) != 0)
		skip("no devpts of one's own here");
	expect_eq(in_child(close_stdin), -EBADF);
}

static int enter_directory(void)
{
	struct kernel kernel = KERNEL_INIT;
	const struct step there = { .kind = STEP_WORKING_DIRECTORY,
				    .working_directory.target = "/usr" },
			  missing = { .kind = STEP_WORKING_DIRECTORY,
				      .working_directory.target = "/nothing" };
	char path[64];

	check(command_enter_directory(&kernel, &missing, 0) == -ENOENT);
	check(command_enter_directory(&kernel, &there, 0) == 0);
	check(getcwd(path, sizeof(path)) && strcmp(path, "/usr") == 0);
	return 0;
}

static void the_command_starts_where_the_plan_says(void)
{
	expect_eq(in_child(enter_directory), 0);
}

static const struct test tests[] = {
	TEST(the_command_gets_a_terminal_of_its_own),
	TEST(one_that_leads_a_session_already_may_take_it),
	TEST(refuses_to_take_it_over_a_closed_stdin),
	TEST(the_command_starts_where_the_plan_says),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
