/* SPDX-License-Identifier: MIT */

/*
 * Options that exclude each other; and values of options → struct spawn_request
 *
 * Each part of the request has a function here; paths and limits have files of their own.
 */

#include "spawn.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/suggest.h"
#include "base/units.h"
#include "policy/limit.h"

#include "tool.h"

/* ---- options that exclude each other, and fds that are for sbx-spawn itself ---- */

/* An option that would have no effect is refused: it is worse to run a command without the
 * requested policy or limit than not to run it. */

/* Options that --no-sandbox accepts: those about records, and those that would only have permitted
 * something. All others ask for a restriction or a report. */
static const size_t kept_without_sandbox[] = {
	offsetof(struct spawn_values, no_sandbox),  offsetof(struct spawn_values, id),
	offsetof(struct spawn_values, audit_fd),    offsetof(struct spawn_values, read),
	offsetof(struct spawn_values, write),	    offsetof(struct spawn_values, optional_read),
	offsetof(struct spawn_values, unix_socket), offsetof(struct spawn_values, connect),
	offsetof(struct spawn_values, device),	    offsetof(struct spawn_values, pass_fd),
	offsetof(struct spawn_values, best_effort), offsetof(struct spawn_values, ptrace),
	offsetof(struct spawn_values, ring_fd),
};

static bool is_kept_without_sandbox(const struct option_spec *spec)
{
	for (size_t i = 0; i < N_ELEMENTS(kept_without_sandbox); i++)
		if (spec->offset == kept_without_sandbox[i])
			return true;
	return false;
}

static int check_without_sandbox(const struct spawn_values *values,
				 const struct option_spec *options, struct sbx_error *err)
{
	int r;

	for (const struct option_spec *spec = options; spec->name; spec++) {
		if (is_kept_without_sandbox(spec) || !option_is_given(spec, values))
			continue;
		r = sbx_error_what(err, -EINVAL, "option '--%s' needs a sandbox", spec->name);
		sbx_error_why(
			err,
			"--no-sandbox runs the command without any protection, so nothing would enforce the option");
		sbx_error_fix(err, "leave out '--%s' or '--no-sandbox'", spec->name);
		return r;
	}
	return 0;
}

int spawn_check_options(const struct spawn_values *values, const struct option_spec *options,
			struct sbx_error *err)
{
	if (values->policy && values->policy_fd >= 0)
		return error_fill(err, -EINVAL, "only one policy can be given",
				  "leave one of them out, or merge both with 'sbx-policy merge'",
				  "options '--policy' and '--policy-fd' exclude each other");
	if (values->tier && values->exact_tier)
		return error_fill(err, -EINVAL, "the first accepts more than the second",
				  "leave one of them out",
				  "options '--min-tier' and '--tier-exactly' do not go together");
	return values->no_sandbox ? check_without_sandbox(values, options, err) : 0;
}

static int fail_to_take(int fd, int code, struct sbx_error *err)
{
	return error_fill(err, code, NULL, "raise the limit of open files (ulimit -n)",
			  "cannot duplicate file descriptor %d", fd);
}

/* The policy must not be the command's input, and the command must not write to the fd of the
 * records. */
static int empty_stdin(struct sbx_error *err)
{
	_cleanup_close_ int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0)
		return fail_to_take(STDIN_FILENO, -errno, err);
	return 0;
}

int spawn_take_fds(struct spawn_values *values, struct sbx_error *err)
{
	int *const handed[] = { &values->policy_fd, &values->proxy_fd, &values->report_fd,
				&values->audit_fd };
	bool takes_stdin = false;

	for (size_t i = 0; i < N_ELEMENTS(handed); i++) {
		int fd = *handed[i];

		/* All other fds are closed before the command runs. */
		if (fd < 0 || fd > STDERR_FILENO)
			continue;
		*handed[i] = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		if (*handed[i] < 0)
			return fail_to_take(fd, -errno, err);
		takes_stdin |= fd == STDIN_FILENO;
	}
	return takes_stdin ? empty_stdin(err) : 0;
}

/* ---- the request ---- */

/* Splits NAME=VALUE in a copy; *@ret_value is NULL without '='. */
static int split_name(struct spawn_run *run, const char *option, const char *word,
		      const char **ret_name, const char **ret_value, struct sbx_error *err)
{
	char *name = arena_copy(&run->arena, word, strlen(word)), *equals;

	if (!name)
		return spawn_no_memory(err);
	equals = strchr(name, '=');
	if (equals)
		*equals++ = '\0';
	if (name[0] == '\0' || isdigit((unsigned char)name[0]) ||
	    name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")])
		return spawn_bad_value(option, word, "the part before '=' is not a variable name",
				       "use letters, digits and '_', not beginning with a digit",
				       err);
	*ret_name = name;
	*ret_value = equals;
	return 0;
}

static int read_variables(struct spawn_run *run, struct sbx_error *err)
{
	const struct option_list *list = &run->values->env;
	struct request_variable *variables;
	int r;

	if (list->n_items == 0)
		return 0;
	variables = arena_alloc(&run->arena, list->n_items * sizeof(*variables));
	if (!variables)
		return spawn_no_memory(err);
	for (size_t i = 0; i < list->n_items; i++) {
		variables[i].option = "--env";
		r = split_name(run, "--env", list->items[i], &variables[i].name,
			       &variables[i].value, err);
		if (r < 0)
			return r;
	}
	run->request.variables = variables;
	run->request.n_variables = list->n_items;
	return 0;
}

static int read_secrets(struct spawn_run *run, struct sbx_error *err)
{
	const struct option_list *list = &run->values->secret;
	struct request_secret *secrets;
	int r;

	if (list->n_items == 0)
		return 0;
	secrets = arena_alloc(&run->arena, list->n_items * sizeof(*secrets));
	if (!secrets)
		return spawn_no_memory(err);
	for (size_t i = 0; i < list->n_items; i++) {
		const char *path = NULL;

		r = split_name(run, "--secret", list->items[i], &secrets[i].name, &path, err);
		if (r < 0)
			return r;
		if (!path)
			return spawn_bad_value("--secret", list->items[i], "it names no file",
					       "write NAME=PATH", err);
		r = spawn_read_path(run, "--secret", path, &secrets[i].path, err);
		if (r < 0)
			return r;
	}
	run->request.secrets = secrets;
	run->request.n_secrets = list->n_items;
	return 0;
}

static int read_number(const char *option, const char *word, uint64_t most, uint64_t *ret,
		       struct sbx_error *err)
{
	uint64_t number = 0;
	int r;

	if (units_parse_count(word, &number, NULL) < 0 || number > most) {
		r = spawn_bad_value(option, word, "", "write digits only", err);
		sbx_error_why(err, "it must be a number from 0 to %" PRIu64, most);
		return r;
	}
	*ret = number;
	return 0;
}

static int read_port(const char *option, const char *word, uint16_t *ret, struct sbx_error *err)
{
	uint64_t port = 0;
	char fix[64];

	if (units_parse_count(word, &port, NULL) < 0 || port == 0 || port > UINT16_MAX) {
		(void)snprintf(fix, sizeof(fix), "write a port, as in '%s 8080'", option);
		return spawn_bad_value(option, word, "a port is a number from 1 to 65535", fix,
				       err);
	}
	*ret = (uint16_t)port;
	return 0;
}

static int read_port_list(const struct option_list *list, const char *option, bool bind,
			  struct request_port *ports, struct sbx_error *err)
{
	for (size_t i = 0; i < list->n_items; i++) {
		uint16_t port = 0;
		int r = read_port(option, list->items[i], &port, err);

		if (r < 0)
			return r;
		ports[i] = (struct request_port){ .port = port, .bind = bind };
	}
	return 0;
}

static int read_ports(struct spawn_run *run, struct sbx_error *err)
{
	const struct spawn_values *values = run->values;
	size_t n = values->connect.n_items + values->listen.n_items;
	struct request_port *ports;
	int r = 0;

	if (values->proxy_port)
		r = read_port("--proxy-port", values->proxy_port, &run->request.proxy_port, err);
	if (r < 0 || n == 0)
		return r;
	ports = arena_alloc(&run->arena, n * sizeof(*ports));
	if (!ports)
		return spawn_no_memory(err);
	r = read_port_list(&values->connect, "--connect", false, ports, err);
	if (r == 0)
		r = read_port_list(&values->listen, "--listen", true,
				   ports + values->connect.n_items, err);
	if (r < 0)
		return r;
	run->request.ports = ports;
	run->request.n_ports = n;
	return 0;
}

static int check_fd(const char *word, int fd, struct sbx_error *err)
{
	if (fcntl(fd, F_GETFD) < 0) {
		int r = spawn_bad_value("--pass-fd", word, "this file descriptor is not open", "",
					err);

		sbx_error_fix(err, "open it in the shell: --pass-fd=%d %d<FILE", fd, fd);
		return r;
	}
	/* A terminal fd would give the command the user's input and terminal modes. */
	if (fd > STDERR_FILENO && isatty(fd))
		return spawn_bad_value("--pass-fd", word, "it is a terminal",
				       "pass it as stdin, stdout or stderr", err);
	return 0;
}

#define A_CONNECTED_SOCKET                                                                         \
	"give it one end of a socketpair(AF_UNIX, SOCK_SEQPACKET), whose other end the server of " \
	"the channel holds"

/* Can the fd be the socket of a channel? @passed are those of --pass-fd. */
static int check_ring(const struct spawn_values *values, const int *passed, size_t n_passed,
		      struct sbx_error *err)
{
	int fd = values->ring_fd;
	bool is_used = fd == values->policy_fd || fd == values->proxy_fd ||
		       fd == values->report_fd || fd == values->audit_fd;
	const char *fault;
	char word[16];

	for (size_t i = 0; i < n_passed; i++)
		is_used = is_used || fd == passed[i];
	fault = is_used ? "another option uses the same file descriptor" : fd_find_socket_fault(fd);
	if (!fault)
		return 0;
	(void)snprintf(word, sizeof(word), "%d", fd);
	return spawn_bad_value("--ring-fd", word, fault, A_CONNECTED_SOCKET, err);
}

static int read_fds(struct spawn_run *run, struct sbx_error *err)
{
	const struct option_list *list = &run->values->pass_fd;
	int ring_fd = run->values->ring_fd;
	int *fds;

	if (list->n_items == 0 && ring_fd < 0)
		return 0;
	fds = arena_alloc(&run->arena, (list->n_items + 1) * sizeof(*fds));
	if (!fds)
		return spawn_no_memory(err);
	for (size_t i = 0; i < list->n_items; i++) {
		uint64_t number = 0;
		int r = read_number("--pass-fd", list->items[i], INT_MAX, &number, err);

		if (r == 0)
			r = check_fd(list->items[i], (int)number, err);
		if (r < 0)
			return r;
		fds[i] = (int)number;
	}
	run->request.fds = fds;
	run->request.n_fds = list->n_items;
	if (ring_fd < 0)
		return 0;
	fds[run->request.n_fds++] = ring_fd;
	run->request.has_ring = true;
	run->request.ring_fd = ring_fd;
	return check_ring(run->values, fds, list->n_items, err);
}

const char *spawn_nth_layer(const void *list, size_t i)
{
	return LAYERS_ALL >> i & 1 ? layer_name((enum layer)(1u << i)) : NULL;
}

static int no_such_layer(const char *name, struct sbx_error *err)
{
	const struct suggest_words all = { spawn_nth_layer, NULL };
	const char *near = suggest(name, all);
	_cleanup_text_ struct text list = TEXT_INIT;
	int r = sbx_error_what(err, -EINVAL, "option '--require' cannot take '%s'", name);

	suggest_add_all(&list, all);
	sbx_error_why(err, "it must be one of: %s", text_string(&list));
	sbx_error_fix(err, near ? "did you mean '%s'?" : "write one of them, such as '%s'",
		      near ? near : spawn_nth_layer(NULL, 0));
	return r;
}

static int read_layers(struct spawn_run *run, struct sbx_error *err)
{
	const struct option_list *list = &run->values->require;

	for (size_t i = 0; i < list->n_items; i++) {
		enum layer layer = layer_find(list->items[i]);

		if (layer == 0)
			return no_such_layer(list->items[i], err);
		run->request.required |= layer;
	}
	return 0;
}

static int read_user(struct spawn_run *run, struct sbx_error *err)
{
	uint64_t uid = 0;
	int r;

	if (!run->values->uid)
		return 0;
	r = read_number("--uid", run->values->uid, UINT32_MAX - 1, &uid, err);
	if (r < 0)
		return r;
	run->request.has_uid = true;
	run->request.uid = (uid_t)uid;
	run->request.gid = (gid_t)uid;
	return 0;
}

static int read_id(struct spawn_run *run, struct sbx_error *err)
{
	const char *id = run->values->id;
	char *made;
	int r;

	if (id && !sandbox_id_is_valid(id))
		return spawn_bad_value("--id", id, "it is not a valid ID",
				       "use letters, digits, '-', '_' and '.', at most 64", err);
	if (id) {
		run->request.id = id;
		run->request.is_registered = true;
		return 0;
	}
	made = arena_alloc(&run->arena, SANDBOX_ID_MAX + 1);
	r = made ? sandbox_id_make(made) : -ENOMEM;
	if (r < 0)
		return sbx_error_what(err, r, "cannot create an ID for the sandbox");
	run->request.id = made;
	return 0;
}

static int read_directory(struct spawn_run *run, const char *option, const char *value,
			  const char **ret, struct sbx_error *err)
{
	return value ? spawn_read_path(run, option, value, ret, err) : 0;
}

/* A missing or closed directory is an error of the plan. */
static int read_home(struct spawn_run *run, struct sbx_error *err)
{
	struct stat st;
	int r = read_directory(run, "--home", run->values->home, &run->request.home, err);

	if (r < 0 || !run->values->home || stat(run->request.home, &st) < 0 || S_ISDIR(st.st_mode))
		return r;
	return spawn_bad_value("--home", run->values->home, "it is not a directory",
			       "name a directory, which the command may write", err);
}

/* In a missing directory the command would start in "/". */
static int read_project(struct spawn_run *run, struct sbx_error *err)
{
	const char *value = run->values->project;
	struct stat st;
	int r = read_directory(run, "--project", value, &run->request.project, err);

	if (r < 0 || !value)
		return r;
	if (stat(run->request.project, &st) < 0)
		return spawn_bad_value("--project", value, strerror(errno),
				       "name an existing directory", err);
	run->request.project_real = spawn_real_path(run, run->request.project);
	return S_ISDIR(st.st_mode) ? 0
				   : spawn_bad_value("--project", value, "it is not a directory",
						     "name its parent directory", err);
}

static int read_places(struct spawn_run *run, struct sbx_error *err)
{
	const struct spawn_values *values = run->values;
	char cwd[PATH_MAX];
	int r;

	if (!getcwd(cwd, sizeof(cwd)) || cwd[0] != '/') {
		r = sbx_error_what(err, errno ? -errno : -ENOENT,
				   "cannot find the working directory");
		sbx_error_fix(err, "change to an existing directory");
		return r;
	}
	run->host.cwd = arena_copy(&run->arena, cwd, strlen(cwd));
	if (!run->host.cwd)
		return spawn_no_memory(err);
	run->request.project = run->host.cwd;
	r = read_project(run, err);
	if (r == 0)
		r = read_home(run, err);
	return r < 0 ? r : read_directory(run, "--cwd", values->cwd, &run->request.cwd, err);
}

/*
 * Options that are limits: each is kept as text until here, so that "0", which could mean "none" or
 * "unlimited", is refused, and an option that was not given is known
 */

/* The parsers set why and fix; this adds the option. */
static int bad_limit(const char *option, const char *text, const struct sbx_error *reason,
		     struct sbx_error *err)
{
	return error_fill(err, -EINVAL, reason->why, reason->fix, "option '%s' cannot take '%s'",
			  option, text);
}

static int read_limits(const struct spawn_values *values, struct request_limit limits[N_LIMITS],
		       struct sbx_error *err)
{
	for (enum limit limit = 0; limit < N_LIMITS; limit++) {
		struct sbx_error reason = { .code = 0 };
		const char *text = values->limits[limit];
		uint64_t value = 0;

		if (!text)
			continue;
		if (limit_parse(limit, text, &value, &reason) < 0)
			return bad_limit(limit_option(limit), text, &reason, err);
		if (value == 0) {
			sbx_error_why(&reason, "a limit of 0 would let nothing run");
			sbx_error_fix(&reason, "give a larger value, or leave out the option");
			return bad_limit(limit_option(limit), text, &reason, err);
		}
		limits[limit] = (struct request_limit){ .is_set = true,
							.value = value,
							.option = limit_option(limit) };
	}
	return 0;
}

int spawn_read_request(struct spawn_run *run, int n_operands, char *operands[],
		       struct sbx_error *err)
{
	static int (*const parts[])(struct spawn_run * run, struct sbx_error * err) = {
		read_places, read_id,  spawn_read_paths, read_variables, read_secrets,
		read_ports,  read_fds, read_layers,	 read_user,
	};
	const struct spawn_values *values = run->values;
	struct spawn_request *request = &run->request;
	char **argv;
	int r = 0;

	*request = (struct spawn_request){
		.environment = environ,
		.supervisor = getpid(),
		.is_root = geteuid() == 0,
		.template = values->template,
		.tier = values->exact_tier ? values->exact_tier : values->tier,
		.is_tier_exact = values->exact_tier != NULL,
		.net_mode = values->deny_net ? "none" : values->net,
		.hostname = values->hostname,
		.policy = values->policy,
		.best_effort = values->best_effort,
		.pty = values->pty,
		.debug = values->debug,
		.ptrace = values->ptrace,
		.dies_with_parent = values->die_with_parent,
		.devices = values->device.items,
		.n_devices = values->device.n_items,
	};
	/* With the NULL that execve() expects. */
	argv = arena_alloc(&run->arena, ((size_t)n_operands + 1) * sizeof(*argv));
	if (!argv)
		return spawn_no_memory(err);
	memcpy(argv, operands, (size_t)n_operands * sizeof(*argv));
	request->argv = argv;
	for (size_t i = 0; r == 0 && i < N_ELEMENTS(parts); i++)
		r = parts[i](run, err);
	return r < 0 ? r : read_limits(values, request->limits, err);
}
