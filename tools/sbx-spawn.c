/* SPDX-License-Identifier: MIT */

/*
 * sbx-spawn: builds one sandbox from a policy and runs one command in it
 *
 * Data flows in one direction: command line, request, plan, kernel. The exit status is the
 * command's, so every failure of sbx-spawn itself is 125. The only way to run a command without a
 * sandbox is --no-sandbox: it must be given, prints a warning and is recorded.
 */

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/module.h"
#include "base/moment.h"
#include "base/process.h"
#include "base/units.h"
#include "kernel/probe.h"
#include "policy/model.h"
#include "spawn.h"
#include "spawn/foresee.h"
#include "tool.h"

static const char *const net_modes[] = { "none", "loopback", "host", "proxy", NULL };
static const char *const tiers[] = { "full", "reduced", NULL };

/* The least that a start has been seen to need is 80KiB, with arguments and environment. */
#define STACK_NEEDED ((rlim_t)128 * 1024)

#define OPTION(...) OPTION_ROW(struct spawn_values, __VA_ARGS__)
#define PICK(long_name, member, meta, list, text)                                                  \
	OPTION(long_name, 0, OPTION_CHOICE, member, meta, text, .choices = list)
#define LIST(long_name, member, meta, text) OPTION(long_name, 0, OPTION_LIST, member, meta, text)
#define PATHS(long_name, member, meta, text) OPTION(long_name, 0, OPTION_PATHS, member, meta, text)
#define FLAG(long_name, member, text) OPTION(long_name, 0, OPTION_FLAG, member, NULL, text)
#define LIMIT(id, key, long_name, type, meta, called, a, b, c, d, help)                            \
	OPTION(long_name, 0, OPTION_STRING, limits[LIMIT_##id], meta, help),

/* clang-format off */
static const struct option_spec options[] = {
	OPTION("policy", 'p', OPTION_PATH, policy, "FILE", "read the policy from FILE", .is_once = true),
	OPTION("policy-fd", 0, OPTION_FD, policy_fd, "N", "read the policy from this file descriptor", .is_once = true, .redirection = "<FILE"),
	PICK("template", template, "NAME", policy_template_names, "take limits and profile from this template"),
	OPTION("project", 0, OPTION_PATH, project, "DIR", "the directory that './' means in a policy"),
	OPTION("cwd", 0, OPTION_PATH, cwd, "DIR", "start the command in DIR"),
	OPTION("id", 0, OPTION_STRING, id, "ID", "ID of the sandbox, for sbx-ctl"),
	PATHS("read", read, "PATH", "let it read and execute PATH and all below it"),
	PATHS("optional-read", optional_read, "PATH", "the same if PATH exists"),
	PATHS("write", write, "PATH", "let it also write to PATH"),
	PATHS("exec", exec, "PATH", "let it execute PATH, and nothing that is not named"),
	PATHS("deny", deny, "PATH", "hide PATH"),
	PATHS("deny-write", deny_write, "PATH", "make PATH read-only"),
	LIST("bind", bind, "SRC:DST", "show SRC as DST; with ':rw' writable"),
	OPTION("home", 0, OPTION_PATH, home, "DIR", "keep its home in DIR, which it may write"),
	LIST("tmpfs", tmpfs, "PATH", "an empty directory in memory"),
	PATHS("unix", unix_socket, "PATH", "let it connect to this socket"),
	PICK("net", net, "MODE", net_modes, "its network; by default loopback, or the policy's"),
	LIST("connect", connect, "PORT", "let it connect to this port of the host's loopback"),
	LIST("listen", listen, "PORT", "forward this port of the host's loopback to it"),
	OPTION("proxy-fd", 0, OPTION_FD, proxy_fd, "N", "send the listeners of '--net proxy' to this socket"),
	OPTION("proxy-port", 0, OPTION_STRING, proxy_port, "PORT", "where the proxy listens inside: 8080"),
	LIST("env", env, "NAME[=VALUE]", "pass a variable, or set it"),
	LIST("secret", secret, "NAME=PATH", "a private copy of a file; NAME contains its path"),
	OPTION("hostname", 0, OPTION_STRING, hostname, "NAME", "host name inside"),
	OPTION("device", 0, OPTION_LIST, device, "NAME", "a device, or a bundle", .choices = plan_device_names),
	POLICY_LIMITS_WITH_OPTION(LIMIT)
	OPTION("grace", 0, OPTION_STRING, grace, "TIME", "time between SIGTERM and SIGKILL"),
	FLAG("best-effort-limits", best_effort, "run even if a limit cannot be enforced"),
	PICK("min-tier", tier, "TIER", tiers, "the weakest tier to accept"),
	PICK("tier-exactly", exact_tier, "TIER", tiers, "this tier, also where more could be had"),
	OPTION("require", 0, OPTION_LIST, require, "LAYER", "refuse to start without this layer", .word = spawn_nth_layer),
	OPTION("uid", 0, OPTION_STRING, uid, "N", "as root: run the command as this user"),
	FLAG("pty", pty, "give it its own terminal"),
	FLAG("debug", debug, "let 'sbx-ctl exec' enter, if the policy allows it"),
	FLAG("ptrace", ptrace, "let it trace its own children: strace, gdb"),
	FLAG("die-with-parent", die_with_parent, "end it when the parent of sbx-spawn ends"),
	LIST("pass-fd", pass_fd, "N", "let it inherit this file descriptor"),
	OPTION("ring-fd", 0, OPTION_FD, ring_fd, "N", "let it inherit a channel, as SBX_RING_FD", .is_once = true),
	OPTION("out", 'o', OPTION_PATH, out, "DIR|FILE.tar", "write its changes to this directory or archive"),
	OPTION("report", 0, OPTION_PATH, report, "FILE", "write a JSON report when it ends"),
	OPTION("report-fd", 0, OPTION_FD, report_fd, "N", "the same, to a file descriptor", .redirection = ">FILE"),
	OPTION("audit-fd", 0, OPTION_FD, audit_fd, "N", "send audit records to this file descriptor", .redirection = ">>FILE"),
	FLAG("print-plan", print_plan, "show what it could do; with -v each step and its rule"),
	FLAG("dry-run", dry_run, "check everything, run nothing"),
	FLAG("check", check, "show what this host can enforce"),
	FLAG("no-sandbox", no_sandbox, "run it without any protection, to compare"),
	PICK("tier", tier, "TIER", tiers, "the same as --min-tier"),
	PATHS("allow-read", read, "PATH", "the same as --read"),
	PATHS("allow-write", write, "PATH", "the same as --write"),
	PATHS("allow-run", exec, "PATH", "the same as --exec"),
	LIST("allow-env", env, "NAME", "the same as --env"),
	PICK("allow-net", net, "MODE", net_modes, "the same as --net"),
	PATHS("deny-read", deny, "PATH", "the same as --deny"),
	FLAG("deny-net", deny_net, "the same as '--net none'"),
	OPTION_END,
};
/* clang-format on */

static int say_check(struct spawn_run *run, struct sbx_error *err)
{
	int r = host_probe_deeply(&run->arena, &run->host, err);

	if (r < 0)
		return r;
	(run->tool->json ? host_add_json : host_add_text)(&run->tool->out, &run->host);
	return TOOL_YES;
}

/* One line: what is enforced less than requested, and what to type. */
static void add_notice(struct text *out, const struct plan_notice *notice, bool is_verbose)
{
	text_add_visible_string(out, notice->what);
	if (is_verbose) {
		text_add(out, " (");
		text_add_visible_string(out, notice->why);
		text_add(out, ")");
	}
	if (notice->fix) {
		text_add(out, "; ");
		text_add_visible_string(out, notice->fix);
	}
}

static bool is_said(const struct plan_notice *notice, bool is_verbose)
{
	if (notice->is_hint)
		return is_verbose || isatty(STDERR_FILENO);
	return notice->fix || (is_verbose && notice->is_weaker);
}

/* A run without notices prints nothing, even on a terminal. */
static void say_notices(const struct spawn_run *run)
{
	const struct plan *plan = run->plan;
	_cleanup_text_ struct text line = TEXT_INIT;
	bool is_verbose = run->tool->verbosity > 0;

	if (run->tool->verbosity < 0)
		return;
	for (size_t i = 0; i < plan->n_notices; i++) {
		if (!is_said(&plan->notices[i], is_verbose))
			continue;
		text_reset(&line);
		add_notice(&line, &plan->notices[i], is_verbose);
		(void)spawn_say_note(run, "note: ", &line);
	}
	if (is_verbose) {
		text_reset(&line);
		plan_add_tier_line(&line, plan);
		(void)spawn_say_note(run, "", &line);
	}
}

/* Line by line. The plan's text does not contain values of variables, which may be secrets. */
static void log_plan(const struct spawn_run *run)
{
	const struct log *log = &run->tool->log;
	_cleanup_text_ struct text text = TEXT_INIT;
	char *line, *rest;

	if (!log_wants(log, LOG_LEVEL_DEBUG))
		return;
	plan_add_text(&text, run->plan);
	if (text_status(&text) < 0)
		return;
	rest = text.data;
	while ((line = strsep(&rest, "\n")) && rest)
		log_write(log, LOG_LEVEL_DEBUG, NULL, "%s", line);
}

static int on_started(void *userdata, pid_t init, const char *cgroup, struct sbx_error *err)
{
	struct spawn_run *run = userdata;
	int r;

	spawn_let_ring_go(run);
	run->entry.init = init;
	run->entry.init_start = (uint64_t)process_start_ticks(init);
	run->entry.cgroup = cgroup;
	/* First: if this process is killed, 'sbx-ctl gc' records the end of what the state names.
	 */
	r = spawn_set_state(run, run->is_adopted ? SANDBOX_CREATING : SANDBOX_RUNNING, err);
	return r < 0 ? r : spawn_record_created(run, err);
}

static void on_unmapped(void *userdata, const char *path, bool is_of_system)
{
	const struct spawn_run *run = userdata;
	_cleanup_text_ struct text line = TEXT_INIT;

	if (run->tool->verbosity < 0)
		return;
	text_addf(
		&line, "in '%s' the command can %s", path,
		is_of_system
			? "change only what other users may change: it is a bind mount of a file system with files such as /etc/shadow, which the owner root could read; --uid chooses another user"
			: "read only what other users may: its file system does not support id-mapped mounts; --uid chooses a user that may read more");
	(void)spawn_say_note(run, "note: ", &line);
}

static void on_stopping(void *userdata)
{
	(void)spawn_set_state(userdata, SANDBOX_STOPPING, NULL);
}

static int run_plan(struct spawn_run *run, struct sbx_error *err)
{
	char modules[256];
	const struct spawn_hooks hooks = { .started = on_started,
					   .executed =
						   run->is_adopted ? spawn_note_execution : NULL,
					   .stopping = on_stopping,
					   .unmapped = on_unmapped,
					   .listening = spawn_hand_listeners,
					   .going = spawn_await_proxy,
					   .is_paused = spawn_is_paused,
					   .entering = spawn_record_entering,
					   .left = spawn_record_left,
					   .userdata = run };
	struct spawn_options how = { .filter = run->filter,
				     .filter_notifies = run->filter_notifies,
				     .hooks = &hooks,
				     .control_socket = run->control_socket,
				     .is_terminal = run->request.pty && isatty(STDIN_FILENO),
				     .module_directory = modules,
				     .umask = &run->umask,
				     .parent = run->values->die_with_parent ? &run->parent : NULL };

	if (!module_is_possible() || spawn_module_directory("scope", modules, sizeof(modules)) < 0)
		modules[0] = '\0';
	return spawn_run(run->plan, &how, &run->result, err);
}

/*
 * The time limit also applies to writing the changes, because the command decides how much there is
 * to write: the rest of the limit, but at least the grace.
 */
static uint64_t deadline_of_changes(const struct spawn_run *run)
{
	const struct plan_limit *limit = &run->plan->limits[LIMIT_TIME];
	uint64_t left = run->plan->grace_usec, now_usec;

	if (!limit->is_set)
		return OUTPUT_NO_DEADLINE;
	if (limit->value > run->result.usec && limit->value - run->result.usec > left)
		left = limit->value - run->result.usec;
	now_usec = moment_now(CLOCK_MONOTONIC);
	return left < OUTPUT_NO_DEADLINE - now_usec ? now_usec + left : OUTPUT_NO_DEADLINE;
}

/* The changes or the record are missing: the status is not the command's any more, but the log has
 * an end in every case. */
static int end_run(struct spawn_run *run, bool has_run, struct sbx_error *err)
{
	struct sbx_error *rest = has_run ? err : NULL;
	int last = changes_finish(run, deadline_of_changes(run), rest), recorded;

	if (last == 0)
		spawn_say_left_out(run);
	else if (has_run)
		run->result.status = last == -ETIME ? SPAWN_TIME_LIMIT : SPAWN_FAILED;
	recorded = spawn_record_end(run, !has_run || last < 0 ? err : NULL, last < 0 ? NULL : rest);
	if (recorded < 0 && has_run && last == 0)
		run->result.status = SPAWN_FAILED;
	return last < 0 ? last : recorded;
}

/* From here on the run is visible to other processes, so every failure removes that again. */
static int run_in_sandbox(struct spawn_run *run, struct sbx_error *err)
{
	int r, last;

	r = run_plan(run, err);
	if (r < 0)
		spawn_explain_denied_call(run, err);
	spawn_end_proxy(run);
	spawn_find_repositories(run);
	spawn_say_repositories(run);
	/* Without --out the CLEANUP state would last microseconds; do not write it. */
	if (run->changes.kind != CHANGES_NONE)
		(void)spawn_set_state(run, r < 0 ? SANDBOX_FAILED : SANDBOX_CLEANUP, NULL);
	last = end_run(run, r >= 0, err);
	spawn_write_report(run);
	spawn_unregister(run);
	if (r < 0)
		return run->result.reason == SPAWN_REASON_EXEC ? run->result.status : r;
	if (last < 0)
		return last == -ETIME ? SPAWN_TIME_LIMIT : last;
	spawn_say_denials(run);
	spawn_say_hint(run);
	spawn_explain_end(run, err);
	return run->result.status;
}

/* The exit status is that of the run, if it is certain. */
static int show_plan(struct spawn_run *run, struct sbx_error *err)
{
	struct tool_run *tool = run->tool;
	int r;

	if (run->values->print_plan && tool->json) {
		plan_add_json(&tool->out, run->plan);
	} else if (run->values->print_plan) {
		plan_add_summary(&tool->out, run->plan);
		if (tool->verbosity > 0) {
			text_add_char(&tool->out, '\n');
			plan_add_text(&tool->out, run->plan);
		}
	}
	r = tool_flush(tool, err);
	return r < 0 ? r : spawn_foresee(run->plan, err);
}

/* Nothing was made yet; a record says that the start was tried, and why it was refused. */
static int refuse(struct spawn_run *run, int r, struct sbx_error *err)
{
	if (!run->values->dry_run && !run->values->print_plan)
		spawn_record_refused(run, err);
	return r == -ENOEXEC ? SPAWN_CANNOT_EXECUTE : r;
}

static int register_run(struct spawn_run *run, struct sbx_error *err)
{
	int r = spawn_check_report(run->values, err);

	if (r < 0)
		return r;
	r = spawn_take_fds(run->tool->values, err);
	if (r < 0)
		return r;
	r = spawn_open_proxy(run, err);
	if (r < 0)
		return r;
	r = spawn_open_records(run, err);
	if (r < 0)
		return r;
	r = spawn_open_report(run, err);
	if (r < 0)
		return r;
	return spawn_register(run, err);
}

static int run_command(struct spawn_run *run, struct sbx_error *err)
{
	int r = spawn_prepare(run, err);

	if (spawn_needs_modules(run, r))
		return spawn_hand_over(run, err);
	if (r < 0)
		return refuse(run, r, err);
	if (run->values->dry_run || run->values->print_plan)
		return show_plan(run, err);
	log_plan(run);
	say_notices(run);
	r = register_run(run, err);
	return r < 0 ? refuse(run, r, err) : run_in_sandbox(run, err);
}

/* Usage mistakes, which depend neither on the host nor on the policy. */
static int check_line(const struct spawn_run *run, int n_operands, struct sbx_error *err)
{
	if (run->values->check)
		return error_fill(
			err, -EINVAL, "it shows what this host can enforce, and ends",
			"leave out the command; '--dry-run' checks one without running it",
			"option '--check' runs no command");
	if (n_operands == 0)
		return error_fill(
			err, -EINVAL, "sbx-spawn runs one command",
			"write 'sbx-spawn -- COMMAND', or 'sbx-spawn --check' to see what this "
			"host can enforce",
			"no command given");
	return spawn_check_options(run->values, run->tool->tool->command.options, err);
}

/* The kernel kills a process that needs more stack than its limit, without a message. */
static int check_stack(struct sbx_error *err)
{
	_cleanup_text_ struct text size = TEXT_INIT;
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur >= STACK_NEEDED)
		return 0;
	units_add_size(&size, limit.rlim_cur);
	return error_fill(
		err, -E2BIG,
		"sbx-spawn itself needs 128KiB, and the kernel kills it where it needs more "
		"than the limit",
		"raise the limit of the caller before the start (ulimit -s 8192)",
		"cannot start with a stack of %s", text_string(&size));
}

#define BWRAP "bubblewrap"
#define FIREJAIL "firejail"
#define DOCKER "Docker"
#define SHOW "write --read PATH, or for another place --bind SRC:DST"
#define SHOW_WRITABLE "write --write PATH, or for another place --bind SRC:DST:rw"
#define NO_NEED "leave it out: every sandbox has its own"
#define NO_PRIVILEGE "leave it out: no command has privileges or can get any"
#define FILTERED "leave it out: every command is filtered, see 'isolation.seccomp' in sbx-policy(5)"

/* For users who know a similar program. */
static const struct option_other others[] = {
	{ "ro-bind", BWRAP, SHOW },
	{ "ro-bind-try", BWRAP, "write --optional-read PATH" },
	{ "bind-try", BWRAP, SHOW_WRITABLE },
	{ "dev-bind", BWRAP, "write --device NAME" },
	{ "dev", BWRAP, NO_NEED },
	{ "proc", BWRAP, NO_NEED },
	{ "dir", BWRAP, "write --tmpfs PATH" },
	{ "symlink", BWRAP, "leave it out: the links that lead to what is shown are made" },
	{ "overlay", BWRAP, "write --out DIR, or a mount with 'mode: overlay' in a policy" },
	{ "tmp-overlay", BWRAP, "write --out DIR, or a mount with 'mode: overlay' in a policy" },
	{ "chdir", BWRAP, "write --cwd DIR" },
	{ "setenv", BWRAP, "write --env NAME=VALUE" },
	{ "unsetenv", BWRAP, "leave it out: only few variables are passed, and those of --env" },
	{ "clearenv", BWRAP, "leave it out: only few variables are passed, and those of --env" },
	{ "unshare-all", BWRAP, NO_NEED },
	{ "unshare-user", BWRAP, NO_NEED },
	{ "unshare-pid", BWRAP, NO_NEED },
	{ "unshare-net", BWRAP, "leave it out, or write --net none for no loopback either" },
	{ "unshare-ipc", BWRAP, NO_NEED },
	{ "unshare-uts", BWRAP, NO_NEED },
	{ "unshare-cgroup", BWRAP, NO_NEED },
	{ "share-net", BWRAP, "write --net host" },
	{ "new-session", BWRAP, "leave it out, or write --pty for a terminal of its own" },
	{ "gid", BWRAP, "leave it out: --uid sets both" },
	{ "cap-add", BWRAP, NO_PRIVILEGE },
	{ "cap-drop", BWRAP, NO_PRIVILEGE },
	{ "seccomp", BWRAP, FILTERED },
	{ "private", FIREJAIL, "leave it out: its home is private; --home DIR keeps one" },
	{ "private-tmp", FIREJAIL, NO_NEED },
	{ "private-dev", FIREJAIL, NO_NEED },
	{ "whitelist", FIREJAIL, SHOW },
	{ "blacklist", FIREJAIL, "write --deny PATH" },
	{ "read-write", FIREJAIL, "write --write PATH" },
	{ "noroot", FIREJAIL, NO_PRIVILEGE },
	{ "nonewprivs", FIREJAIL, NO_PRIVILEGE },
	{ "caps.drop", FIREJAIL, NO_PRIVILEGE },
	{ "profile", FIREJAIL, "write --policy FILE" },
	{ "noprofile", FIREJAIL, "leave it out: without --policy there is none" },
	{ "timeout", FIREJAIL, "write --time TIME" },
	{ "rlimit-as", FIREJAIL, "write --memory SIZE" },
	{ "volume", DOCKER, SHOW_WRITABLE },
	{ "mount", DOCKER, SHOW_WRITABLE },
	{ "network", DOCKER, "write --net MODE" },
	{ "workdir", DOCKER, "write --cwd DIR" },
	{ "user", DOCKER, "as root write --uid N" },
	{ "cpus", DOCKER, "write --cpu N" },
	{ "pids-limit", DOCKER, "write --pids N" },
	{ "name", DOCKER, "write --id ID" },
	{ "rm", DOCKER, "leave it out: nothing is left of a sandbox" },
	{ "tty", DOCKER, "write --pty" },
	{ "interactive", DOCKER, "leave it out: stdin is passed" },
	{ "privileged", DOCKER, NO_PRIVILEGE },
	{ NULL, NULL, NULL },
};

static void run_deinit(struct spawn_run *run)
{
	spawn_close_proxy(run);
	plan_free_ptr(&run->plan);
	policy_free_ptr(&run->policy);
	recorder_deinit(&run->recorder);
	registration_deinit(&run->registration);
	close_fd(&run->registry);
	close_fd(&run->control_socket);
	close_fd(&run->parent);
	close_fd(&run->report_directory);
	close_fd(&run->report);
	changes_deinit(&run->changes);
	free(run->made_filter.filter);
	arena_deinit(&run->arena);
}

static int spawn(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *tool = context;
	_cleanup_(run_deinit) struct spawn_run run = {
		.tool = tool,
		.values = tool->values,
		.arena = ARENA_INIT,
		.recorder = RECORDER_INIT,
		.registry = -EBADF,
		.registration = REGISTRATION_INIT,
		.control_socket = -EBADF,
		.parent = -EBADF,
		.umask = process_open_umask(),
		.report_directory = -EBADF,
		.report = -EBADF,
		.changes = { .parent = -EBADF },
		.proxy = SPAWN_PROXY_INIT,
	};
	int r;

	if (check_stack(err) < 0)
		return SPAWN_FAILED;
	if (run.values->check && n_operands == 0)
		return say_check(&run, err);
	r = check_line(&run, n_operands, err);
	if (r < 0)
		return SPAWN_FAILED;
	/* The reader of stderr or of the report may be gone: SIGPIPE must not kill sbx-spawn before
	 * it has written the record and cleaned up. What only prints ends by it, like other tools.
	 * The command gets the default again; spawn-with-modules sets it itself. */
	if (!run.values->print_plan)
		(void)signal(SIGPIPE, SIG_IGN);
	if (run.values->die_with_parent && spawn_watch_parent(&run, err) < 0)
		return SPAWN_FAILED;
	if (spawn_begins_with_modules(run.values))
		return spawn_hand_over(&run, err);
	if (spawn_read_request(&run, n_operands, operands, err) < 0)
		return SPAWN_FAILED;
	return run.values->no_sandbox ? spawn_run_bare(&run, err) : run_command(&run, err);
}

static const struct tool tool = {
	.command = {
		.name = SPAWN_TOOL,
		.summary = "Builds a sandbox from a policy and runs one command in it.",
		.operands = "[--] COMMAND [ARGUMENT...]",
		.operand_kind = OPERAND_COMMAND,
		.min_operands = 0,
		.max_operands = OPERANDS_ANY,
		.stops_at_operand = true,
		.options = options,
		.others = others,
		.run = spawn,
	},
	.values_size = sizeof(struct spawn_values),
	.usage_status = TOOL_FAILED,
};

int main(int argc, char *argv[])
{
	return tool_main(&tool, argc, argv);
}
