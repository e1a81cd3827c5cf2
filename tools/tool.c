/* SPDX-License-Identifier: MIT */

/*
 * One run of a tool: a clean process, the command line, the verb, its output, its error, its status
 *
 * Nothing below prints an error or ends the process; whatever went wrong arrives here once, as a
 * struct sbx_error, and is printed once.
 */

#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/completion.h"
#include "base/error.h"
#include "base/fd.h"

struct common_values {
	bool help;
	bool version;
	bool json;
	bool quiet;
	int verbose;
	const char *completion;
};

static const char *const shells[] = { "bash", "zsh", "fish", "inventory", NULL };

static const struct option_spec common_options[] = {
	{ .name = "help",
	  .letter = 'h',
	  .kind = OPTION_FLAG,
	  .offset = offsetof(struct common_values, help),
	  .help = "show this help" },
	{ .name = "version",
	  .letter = 'V',
	  .kind = OPTION_FLAG,
	  .offset = offsetof(struct common_values, version),
	  .help = "show the version" },
	{ .name = "json",
	  .kind = OPTION_FLAG,
	  .offset = offsetof(struct common_values, json),
	  .help = "write JSON lines, errors too" },
	{ .name = "quiet",
	  .letter = 'q',
	  .kind = OPTION_FLAG,
	  .offset = offsetof(struct common_values, quiet),
	  .help = "say nothing but errors" },
	{ .name = "verbose",
	  .letter = 'v',
	  .kind = OPTION_COUNT,
	  .offset = offsetof(struct common_values, verbose),
	  .help = "say more; twice: everything" },
	{ .name = "completion",
	  .kind = OPTION_CHOICE,
	  .offset = offsetof(struct common_values, completion),
	  .metavar = "SHELL",
	  .choices = shells,
	  .help = "print the completions" },
	OPTION_END,
};

/*
 * Whoever started us may have left signals blocked or ignored (Python ignores SIGPIPE); a blocked
 * SIGTERM would make a sandbox immortal. What a user ignores on purpose (nohup, a background job)
 * stays ignored.
 */
static void restore_signals(void)
{
	static const int users_choice[] = { SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU };
	sigset_t kept, none;

	sigemptyset(&none);
	sigemptyset(&kept);
	for (size_t i = 0; i < N_ELEMENTS(users_choice); i++)
		sigaddset(&kept, users_choice[i]);
	for (int number = 1; number < NSIG; number++)
		if (sigismember(&kept, number) == 0)
			(void)signal(number, SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/*
 * A closed stdin, stdout or stderr would give its number to the next file that is opened, and what
 * we print would land there. The substitute refuses reading where one reads and writing where one
 * writes.
 */
static int fill_standard_fds(void)
{
	static const int modes[] = { O_WRONLY, O_RDONLY, O_RDONLY };

	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd]) != fd)
			return -EBADF;
	return 0;
}

int tool_flush(struct tool_run *run, struct sbx_error *err)
{
	int r = text_status(&run->out);

	if (r == 0)
		r = fd_write_all(STDOUT_FILENO, text_string(&run->out), run->out.len);
	text_reset(&run->out);
	if (r < 0) {
		(void)sbx_error_what(err, r, "cannot write the output");
		sbx_error_fix(err, "check where standard output goes: disk space, a closed pipe");
	}
	return r;
}

static const char *environment_value(const char *name)
{
	const char *value = getenv(name);

	return value && value[0] != '\0' ? value : NULL;
}

/* A setting with the values always, never and auto. */
static bool is_wanted(const struct tool_run *run, const char *key, bool automatic)
{
	const char *setting = run->config ? config_get(run->config, key).text : "auto";

	return strcmp(setting, "always") == 0 || (strcmp(setting, "auto") == 0 && automatic);
}

bool tool_wants_color(const struct tool_run *run, int fd)
{
	const char *terminal = environment_value("TERM");

	return is_wanted(run, "color",
			 isatty(fd) && terminal && strcmp(terminal, "dumb") != 0 &&
				 !environment_value("NO_COLOR"));
}

bool tool_wants_progress(const struct tool_run *run)
{
	return is_wanted(run, "progress", run->verbosity >= 0 && isatty(STDERR_FILENO));
}

static void print_error(const struct tool_run *run, const struct sbx_error *err)
{
	const char *name = run->tool->command.name;
	_cleanup_text_ struct text message = TEXT_INIT, colored = TEXT_INIT;

	if (run->json) {
		error_add_json(&message, err);
	} else if (tool_wants_color(run, STDERR_FILENO)) {
		text_addf(&colored, "\033[1;31m%s\033[0m", name);
		error_add_text(&message, text_string(&colored), err);
	} else {
		error_add_text(&message, name, err);
	}
	(void)fd_write_all(STDERR_FILENO, text_string(&message), message.len);
}

static int level_of(const struct tool_run *run)
{
	const char *name = config_get(run->config, "log_level").text;

	for (int level = LOG_LEVEL_ERROR; level <= LOG_LEVEL_DEBUG; level++)
		if (strcmp(log_level_name((enum log_level)level), name) == 0)
			return level;
	return LOG_LEVEL_NOTICE;
}

static int load_config(struct tool_run *run, struct sbx_error *err)
{
	_cleanup_(config_places_deinit) struct config_places places = { .system_path = NULL };
	int r;

	r = config_places_find(environ, ".", &places);
	if (r < 0)
		return sbx_error_what(err, r, "cannot find the configuration");
	return config_load(&(struct config_sources){ .system_path = places.system_path,
						     .user_path = places.user_path,
						     .project_path = places.project_path,
						     .environment = environ },
			   &run->config, err);
}

static void start_log(struct tool_run *run)
{
	log_init(&run->log, run->tool->command.name, run->verbosity,
		 environment_value("SBX_DEBUG") != NULL, environment_value("JOURNAL_STREAM"));
	/* -v and -q were typed now; the configuration speaks where they are silent. */
	if (run->verbosity == 0 && !environment_value("SBX_DEBUG"))
		run->log.most = (enum log_level)level_of(run);
}

/* What --help, --version and --completion print; 0 if none of them was asked for. */
static bool answer_about_itself(struct tool_run *run, const struct common_values *common,
				const struct verb_spec *verb)
{
	const struct command *command = &run->tool->command;

	if (common->help)
		options_add_help(&run->out, command, verb, common_options);
	else if (common->version)
		text_addf(&run->out, "%s %s\n", command->name, SBX_VERSION);
	else if (common->completion)
		(void)completion_add(&run->out, common->completion, command, common_options);
	else
		return false;
	return true;
}

static void take_common(struct tool_run *run, const struct common_values *common)
{
	run->json = common->json;
	run->verbosity = common->quiet ? -1 : common->verbose;
}

static int no_verb(const struct command *command, struct sbx_error *err)
{
	int r = sbx_error_what(err, -EINVAL, "no verb given");

	sbx_error_why(err, "%s does one of several things and does not guess which", command->name);
	sbx_error_fix(err, "write '%s %s', or see '%s --help' for all verbs", command->name,
		      command->verbs[0].name, command->name);
	return r;
}

/* The words of the command line, once they are understood. */
struct call {
	const struct verb_spec *verb;
	int n_operands;
	char **operands;
};

/* A tool or verb without options has no table; the array of groups ends at the first one that is
 * missing. */
static void add_group(struct option_group *groups, const struct option_spec *options, void *values)
{
	if (!options)
		return;
	while (groups->options)
		groups++;
	*groups = (struct option_group){ options, values };
}

/*
 * A verb's options may follow it, so the line is read in two steps: up to the verb with the options
 * of all, then the rest with the verb's own as well (whose argv[0] is the verb).
 */
static int parse(const struct command *command, struct common_values *common, void *values,
		 int argc, char *argv[], struct call *ret, struct sbx_error *err)
{
	struct option_group groups[4] = { { common_options, common } };
	const struct verb_spec *verb = NULL;
	int n;

	add_group(groups, command->options, values);
	n = options_parse(groups, command->verbs || command->stops_at_operand, argc, argv, err);
	if (n < 0)
		return n;
	if (command->verbs && n > 0) {
		verb = options_find_verb(command, argv[0], err);
		if (!verb)
			return -EINVAL;
		add_group(groups, verb->options, values);
		n = options_parse(groups, false, n, argv, err);
		if (n < 0)
			return n;
	}
	*ret = (struct call){ .verb = verb, .n_operands = n, .operands = argv };
	return 0;
}

static int check_call(const struct command *command, const struct call *call, struct sbx_error *err)
{
	if (command->verbs && !call->verb)
		return no_verb(command, err);
	return options_check_operands(command, call->verb, call->n_operands, err);
}

static void release_values(const struct command *command, void *values)
{
	options_release((struct option_group[]){ { command->options, values }, { NULL, NULL } });
	for (const struct verb_spec *verb = command->verbs; verb && verb->name; verb++)
		options_release(
			(struct option_group[]){ { verb->options, values }, { NULL, NULL } });
}

/* Was --json among the words of a line that could not be parsed? */
static bool asks_for_json(char *const argv[])
{
	for (; *argv && strcmp(*argv, "--") != 0; argv++)
		if (strcmp(*argv, "--json") == 0)
			return true;
	return false;
}

static int run_call(struct tool_run *run, const struct common_values *common,
		    const struct call *call, struct sbx_error *err)
{
	const struct command *command = &run->tool->command;
	int r, flushed;

	if (answer_about_itself(run, common, call->verb))
		return tool_flush(run, err);
	r = check_call(command, call, err);
	if (r < 0)
		return run->tool->usage_status;
	r = load_config(run, err);
	if (r < 0)
		return run->tool->usage_status;
	start_log(run);
	r = (call->verb ? call->verb->run : command->run)(run, call->n_operands, call->operands,
							  err);
	if (run->out.len == 0 && text_status(&run->out) == 0)
		return r;
	/* An error of the verb's own is the one to tell. */
	flushed = tool_flush(run, r < 0 ? NULL : err);
	return r < 0 || flushed == 0 ? r : flushed;
}

int tool_main(const struct tool *tool, int argc, char *argv[])
{
	_cleanup_free_ void *values = calloc(1, tool->values_size + 1);
	struct common_values common = { .help = false };
	struct tool_run run = { .tool = tool, .values = values, .log = { .journal_fd = -EBADF } };
	struct sbx_error err = { .code = 0 };
	struct call call = { .verb = NULL };
	int r;

	if (!values || fill_standard_fds() < 0)
		return TOOL_FAILED;
	restore_signals();
	r = parse(&tool->command, &common, values, argc, argv, &call, &err);
	take_common(&run, &common);
	if (r < 0) {
		run.json |= asks_for_json(argv);
		r = tool->usage_status;
	} else {
		r = run_call(&run, &common, &call, &err);
	}
	if (err.code < 0)
		print_error(&run, &err);
	log_deinit(&run.log);
	run.config = config_free(run.config);
	text_deinit(&run.out);
	release_values(&tool->command, values);
	return r < 0 ? TOOL_FAILED : r;
}
