/* SPDX-License-Identifier: MIT */

/* A filter that notifies every execve(): only the first one is allowed, which starts the command */

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "spawn-rig.h"

#define LOAD_NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, (action))
#define WHEN(number, then, otherwise)                                                              \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), (then), (otherwise))

static const struct sock_filter instructions[] = {
	LOAD_NUMBER,
	WHEN(SYS_execve, 1, 0),
	WHEN(SYS_execveat, 0, 1),
	RETURN(SECCOMP_RET_USER_NOTIF),
	RETURN(SECCOMP_RET_ALLOW),
};

static const struct sock_fprog filter = {
	.len = N_ELEMENTS(instructions),
	.filter = (struct sock_filter *)instructions,
};

static void init(struct rig *rig, uid_t uid, const char *script)
{
	rig_init(rig, uid, script);
	rig_insert(rig, (struct step){ .kind = STEP_SECCOMP, .seccomp.profile = "strict" });
	rig->options.filter = &filter;
	rig->options.filter_notifies = true;
}

FOR_BOTH(the_command_is_executed_and_nothing_after_it)
{
	_cleanup_rig_ struct rig rig;

	init(&rig, uid,
	     "echo began; (ls / && echo executed); (exec /bin/true && echo executed); "
	     "exec /bin/echo executed");
	rig_run(&rig);
	expect(strncmp(rig.output, "began\n", 6) == 0);
	expect(!strstr(rig.output, "executed\n") && !strstr(rig.output, "usr"));
	expect_eq(rig.outcome->code, 0);
	expect(rig.outcome->result.exit_code > 0);
}

FOR_BOTH(the_command_is_looked_for_along_its_path)
{
	static const char *const environment[] = { "PATH=/nowhere:/usr/share:/usr/sbin:/usr/bin",
						   NULL };
	_cleanup_rig_ struct rig rig;

	init(&rig, uid, "echo began; /bin/echo executed");
	rig.argv[0] = "sh";
	rig.plan.environment = (char *const *)environment;
	rig_run(&rig);
	expect(strncmp(rig.output, "began\n", 6) == 0);
	expect(!strstr(rig.output, "executed\n"));
}

/* The kernel notifies only for the script, not again for its interpreter. */
FOR_BOTH(a_script_is_one_execution)
{
	_cleanup_rig_ struct rig rig;

	init(&rig, uid, "");
	rig.argv[0] = "/usr/bin/ldd";
	rig.argv[1] = "--version";
	rig.argv[2] = NULL;
	rig_run(&rig);
	rig_expect(&rig, 0, SPAWN_REASON_EXIT);
	expect(strncmp(rig.output, "ldd ", 4) == 0);
}

FOR_BOTH(a_command_that_is_not_found_is_told)
{
	_cleanup_rig_ struct rig rig;

	init(&rig, uid, "");
	rig.argv[0] = "no-such-command";
	rig_run(&rig);
	rig_expect(&rig, SPAWN_NOT_FOUND, SPAWN_REASON_EXEC);
}

FOR_BOTH(many_that_try_at_once_all_fail)
{
	_cleanup_rig_ struct rig rig;

	init(&rig, uid, "for i in 1 2 3 4 5 6 7 8 9; do (exec /bin/echo executed) & done; wait");
	rig_run(&rig);
	expect(!strstr(rig.output, "executed\n"));
}

static const struct test tests[] = {
	BOTH(the_command_is_executed_and_nothing_after_it),
	BOTH(the_command_is_looked_for_along_its_path),
	BOTH(a_script_is_one_execution),
	BOTH(a_command_that_is_not_found_is_told),
	BOTH(many_that_try_at_once_all_fail),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
