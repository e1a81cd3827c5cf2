/* SPDX-License-Identifier: MIT */

/*
 * One run of a tool: process state, command line, verb, output, error, status
 *
 * Library functions never print an error or end the process; an error arrives here as a struct
 * sbx_error and is printed once.
 */

#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/completion.h"
#include "base/fd.h"
#include "base/progress.h"

struct common_values {
	bool help, version, json, quiet;
	int verbose;
	const char *completion;
};

static const char *const shells[] = { "bash", "zsh", "fish", "inventory", NULL };

#define OPTION(...) OPTION_ROW(struct common_values, __VA_ARGS__)

static const struct option_spec common_options[] = {
	OPTION("help", 'h', OPTION_FLAG, help, NULL, "show this help"),
	OPTION("version", 'V', OPTION_FLAG, version, NULL, "show the version"),
	OPTION("json", 0, OPTION_FLAG, json, NULL, "write JSON lines, errors too"),
	OPTION("quiet", 'q', OPTION_FLAG, quiet, NULL,
	       "print nothing but errors and what was asked for"),
	OPTION("verbose", 'v', OPTION_COUNT, verbose, NULL, "print more; twice: everything"),
	OPTION("completion", 0, OPTION_CHOICE, completion, "SHELL", "print the completions",
	       .choices = shells),
	OPTION_END,
};

/*
 * The caller may have left signals blocked or ignored (Python ignores SIGPIPE); with SIGTERM
 * blocked a sandbox could not be ended. Signals that a user ignores on purpose (nohup, a background
 * job) stay ignored.
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
	/* With SIGXFSZ ignored, RLIMIT_FSIZE of the caller makes write() fail with an error; the
	 * signal would kill the tool in the middle of a record or leave a sandbox running. Child
	 * processes get the default. */
	(void)signal(SIGXFSZ, SIG_IGN);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/*
 * If stdin, stdout or stderr is closed, the next open() would get its number, and output would be
 * written to that file. The replacement fails with EBADF for reads of stdin and writes to the
 * others.
 */
static int fill_standard_fds(void)
{
	static const int modes[] = { O_WRONLY, O_RDONLY, O_RDONLY };

	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd]) != fd)
			return -EBADF;
	return 0;
}

static const char *environment_value(const char *name)
{
	const char *value = getenv(name);

	return value && value[0] != '\0' ? value : NULL;
}

static int no_memory(struct sbx_error *err)
{
	return error_fill(err, -ENOMEM, NULL, "free memory, or raise its limit (ulimit -v)",
			  "no memory to start");
}

/* Applies -v and -q as the strongest layer of the configuration. */
static int take_verbosity(struct tool_run *run, struct sbx_error *err)
{
	enum log_level level = run->verbosity < 0    ? LOG_LEVEL_ERROR
			       : run->verbosity == 1 ? LOG_LEVEL_INFO
						     : LOG_LEVEL_DEBUG;

	if (run->verbosity == 0 || environment_value(CONFIG_DEBUG_VARIABLE))
		return 0;
	return config_set(run->config, "log_level", log_level_name(level),
			  run->verbosity < 0 ? "-q" : "-v", err);
}

static int load_config(struct tool_run *run, struct sbx_error *err)
{
	_cleanup_(config_places_deinit) struct config_places places = { .system_path = NULL };
	int r = config_places_find(environ, ".", &places);

	if (r < 0)
		return no_memory(err);
	r = config_load(&(struct config_sources){ .system_path = places.system_path,
						  .user_path = places.user_path,
						  .project_path = places.project_path,
						  .environment = environ },
			&run->config, err);
	return r < 0 ? r : take_verbosity(run, err);
}

/* Loads as much of the configuration as possible if the run does not depend on it: for the format
 * of an error, or to repair a broken file. */
static void load_what_can_be_read(struct tool_run *run)
{
	if (run->config || load_config(run, NULL) == 0)
		return;
	run->config = config_free(run->config);
	if (config_load(&(struct config_sources){ .environment = environ }, &run->config, NULL) <
		    0 &&
	    config_load(&(struct config_sources){ .system_path = NULL }, &run->config, NULL) < 0)
		return;
	(void)take_verbosity(run, NULL);
}

static enum log_level level_of(const struct tool_run *run)
{
	const char *name = config_get(run->config, "log_level").text;

	for (int level = LOG_LEVEL_ERROR; level <= LOG_LEVEL_DEBUG; level++)
		if (strcmp(log_level_name((enum log_level)level), name) == 0)
			return (enum log_level)level;
	return LOG_LEVEL_NOTICE;
}

/* Logs the settings that affect the run, and their layer. */
static void log_begin(const struct tool_run *run)
{
	if (!log_wants(&run->log, LOG_LEVEL_DEBUG))
		return;
	log_write(&run->log, LOG_LEVEL_DEBUG, NULL, "version %s, process %d, user %u", SBX_VERSION,
		  (int)getpid(), (unsigned)geteuid());
	for (const struct config_key *key = config_keys(); run->config && key->name; key++) {
		struct config_value value = config_get(run->config, key->name);

		log_write(&run->log, LOG_LEVEL_DEBUG, NULL, "%s is %s (%s)", key->name, value.text,
			  value.place);
	}
}

static void start_log(struct tool_run *run)
{
	log_init(&run->log, run->tool->command.name, run->verbosity,
		 environment_value(CONFIG_DEBUG_VARIABLE) != NULL,
		 environment_value("JOURNAL_STREAM"));
	run->log.is_json = run->json;
	/* It includes -v, -q and SBX_DEBUG. */
	if (run->config)
		run->log.most = level_of(run);
	log_begin(run);
}

/* Prints the output of --help, --version and --completion; 0 if none was given. */
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

static int no_verb(const struct command *command, struct sbx_error *err)
{
	int r = sbx_error_what(err, -EINVAL, "no verb given");

	sbx_error_why(err, "%s needs a verb", command->name);
	sbx_error_fix(err, "write '%s %s', or see '%s --help' for all verbs", command->name,
		      command->first_verb ? command->first_verb : command->verbs[0].name,
		      command->name);
	return r;
}

/* Returns the number of operands, which are moved to the front of @argv. */
static int parse(const struct command *command, struct common_values *common, void *values,
		 int argc, char *argv[], const struct verb_spec **ret_verb, struct sbx_error *err)
{
	struct option_group groups[4] = { { common_options, common } };

	/* The last but one group is for the options of the verb. */
	groups[1] = (struct option_group){ command->options, values };
	groups[command->options ? 2 : 1].values = values;
	return command->verbs ? options_parse_verb(groups, command, argc, argv, ret_verb, err)
			      : options_parse(groups, command->others, command->stops_at_operand,
					      argc, argv, err);
}

/* Calls @each for the options of the tool and of all verbs. */
static void with_options(const struct command *command, void *values,
			 void (*visit)(const struct option_group *groups))
{
	visit((struct option_group[]){ { command->options, values }, { NULL, NULL } });
	for (const struct verb_spec *verb = command->verbs; verb && verb->name; verb++)
		visit((struct option_group[]){ { verb->options, values }, { NULL, NULL } });
}

/* An invalid configuration is wrong usage; an unreadable one is not. */
static int prepare(struct tool_run *run, const struct verb_spec *verb, struct sbx_error *err)
{
	const struct command *command = &run->tool->command;
	int r;

	if (verb ? verb->ignores_config : command->ignores_config) {
		load_what_can_be_read(run);
		if (!run->config)
			return no_memory(err);
	} else {
		r = load_config(run, err);
		if (r < 0)
			return r == -EINVAL ? run->tool->usage_status : r;
	}
	start_log(run);
	return 0;
}

static int run_call(struct tool_run *run, const struct common_values *common,
		    const struct verb_spec *verb, int n_operands, char *operands[],
		    struct sbx_error *err)
{
	const struct command *command = &run->tool->command;
	int r, flushed;

	if (answer_about_itself(run, common, verb))
		return tool_flush(run, err);
	r = command->verbs && !verb && !command->run
		    ? no_verb(command, err)
		    : options_check_operands(command, verb, n_operands, err);
	if (r < 0)
		return run->tool->usage_status;
	r = prepare(run, verb, err);
	if (r != 0)
		return r;
	r = (verb ? verb->run : command->run)(run, n_operands, operands, err);
	if (run->out.len == 0 && text_status(&run->out) == 0)
		return r;
	/* An error of the verb takes precedence. */
	flushed = tool_flush(run, r < 0 ? NULL : err);
	return r < 0 || flushed == 0 ? r : flushed;
}

static int run_line(struct tool_run *run, int argc, char *argv[], struct sbx_error *err)
{
	struct common_values common = { .help = false };
	const struct verb_spec *verb = NULL;
	int n = parse(&run->tool->command, &common, run->values, argc, argv, &verb, err);

	/* --json may come after the mistake. */
	run->json = common.json;
	run->verbosity = common.quiet ? -1 : common.verbose;
	return n < 0 ? run->tool->usage_status : run_call(run, &common, verb, n, argv, err);
}

static int start(struct tool_run *run, struct sbx_error *err)
{
	int r = fill_standard_fds();

	if (r < 0)
		return error_fill(err, r, "/dev/null cannot be opened",
				  "start it with all three open, or mount /dev",
				  "cannot replace a closed stdin, stdout or stderr");
	restore_signals();
	run->values = calloc(1, run->tool->values_size + 1);
	if (!run->values)
		return no_memory(err);
	with_options(&run->tool->command, run->values, options_init);
	return 0;
}

int tool_main(const struct tool *tool, int argc, char *argv[])
{
	struct tool_run run = { .tool = tool, .log = { .journal_fd = -EBADF } };
	struct sbx_error err = { .code = 0 };
	int r = start(&run, &err);

	if (r == 0)
		r = run_line(&run, argc, argv, &err);
	if (err.code < 0) {
		load_what_can_be_read(&run);
		tool_tell(&run, &err);
	}
	log_deinit(&run.log);
	run.config = config_free(run.config);
	text_deinit(&run.out);
	if (run.values)
		with_options(&tool->command, run.values, options_release);
	free(run.values);
	return r < 0 ? TOOL_FAILED : r;
}

/* Output of a tool: stdout, errors and warnings, and their colours */

int tool_flush(struct tool_run *run, struct sbx_error *err)
{
	int r = text_status(&run->out);

	if (r == 0)
		r = fd_write_all(STDOUT_FILENO, text_string(&run->out), run->out.len);
	text_reset(&run->out);
	return r < 0 ? error_fill(err, r, NULL,
				  "check where standard output goes: disk space, a closed pipe",
				  "cannot write the output")
		     : 0;
}

/* A setting with the values always, never and auto. */
static bool is_wanted(const struct tool_run *run, const char *key, bool automatic)
{
	const char *setting = run->config ? config_get(run->config, key).text : "auto";

	return strcmp(setting, "always") == 0 || (strcmp(setting, "auto") == 0 && automatic);
}

bool tool_wants_progress(const struct tool_run *run)
{
	return is_wanted(run, "progress",
			 run->verbosity >= 0 && !run->json && isatty(STDERR_FILENO));
}

void tool_show_measuring(const struct tool_run *run, const char *name)
{
	if (!tool_wants_progress(run))
		return;
	(void)fprintf(stderr, "\r\033[K%s%s", name[0] ? "measuring " : "", name);
	(void)fflush(stderr);
}

void tool_begin_progress(const struct tool_run *run, struct progress *ret, const char *what)
{
	progress_begin(ret, tool_wants_progress(run) ? STDERR_FILENO : -EBADF, what, "records");
}

void tool_tell(const struct tool_run *run, const struct sbx_error *err)
{
	const char *name = run->tool->command.name;
	const char *level = err->level == SBX_LEVEL_WARN ? ": warning" : "";
	struct sbx_error told = *err;
	_cleanup_text_ struct text message = TEXT_INIT, head = TEXT_INIT;
	const char *terminal = environment_value("TERM");
	bool colored =
		is_wanted(run, "color",
			  isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb") != 0 &&
				  !environment_value("NO_COLOR"));

	if (run->tool->adapt && run->values)
		run->tool->adapt(run->values, &told);
	if (run->json) {
		error_add_json(&message, &told);
	} else {
		text_addf(&head, colored ? "\033[1;31m%s\033[0m%s" : "%s%s", name, level);
		error_add_text(&message, text_string(&head), &told);
	}
	(void)fd_write_all(STDERR_FILENO, text_string(&message), message.len);
}

static void add_fix_lines(struct text *out, const char *fix)
{
	const char *head = "  fix: ";

	while (fix[0] != '\0') {
		size_t len = strcspn(fix, "\n");

		text_add(out, head);
		text_add_visible(out, fix, len);
		text_add_char(out, '\n');
		fix += len + (fix[len] == '\n');
		head = "       ";
	}
}

void tool_tell_lines(const struct tool_run *run, struct sbx_error *err, const char *fix)
{
	_cleanup_text_ struct text lines = TEXT_INIT;

	if (run->json)
		sbx_error_fix(err, "%s", fix);
	tool_tell(run, err);
	if (run->json)
		return;
	add_fix_lines(&lines, fix);
	(void)fd_write_all(STDERR_FILENO, text_string(&lines), lines.len);
}
