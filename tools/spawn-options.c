/* SPDX-License-Identifier: MIT */

/*
 * Options that exclude each other, and fds that are for sbx-spawn itself
 *
 * An option that would have no effect is refused: it is worse to run a command without the
 * requested policy or limit than not to run it.
 */

#include "spawn.h"

#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "policy/limit.h"

#include "tool.h"

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

int spawn_read_limits(const struct spawn_values *values, struct request_limit limits[N_LIMITS],
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
