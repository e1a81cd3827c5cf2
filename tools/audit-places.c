/* SPDX-License-Identifier: MIT */

/*
 * Where the log and the spool are, and the way from one into the other
 */

#include "audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/fd.h"
#include "tool.h"

#define SYSTEM_STATE "/var/lib/sbx"
#define WAIT_USEC UINT64_C(5000000)

static const char *absolute(const char *name)
{
	const char *value = getenv(name);

	return value && value[0] == '/' ? value : NULL;
}

/* The folder of sbx in the state folder, with @name below it. */
static int add_state(struct text *out, const char *name, struct sbx_error *err)
{
	const char *state = absolute("XDG_STATE_HOME"), *home = absolute("HOME");

	if (geteuid() == 0)
		text_addf(out, SYSTEM_STATE "/%s", name);
	else if (state)
		text_addf(out, "%s/sbx/%s", state, name);
	else if (home)
		text_addf(out, "%s/.local/state/sbx/%s", home, name);
	else {
		(void)sbx_error_what(err, -ENOENT, "cannot tell where the log is");
		sbx_error_why(err, "neither XDG_STATE_HOME nor HOME is an absolute path");
		sbx_error_fix(err, "set HOME, or give --log DIR");
		return -ENOENT;
	}
	return text_status(out);
}

int places_folder(const struct audit_values *values, struct text *out, struct sbx_error *err)
{
	if (!values->folder)
		return add_state(out, "audit", err);
	text_add(out, values->folder);
	return text_status(out);
}

/* Only the log of this user's place has his spool. */
static int take_in(struct tool_run *run, struct audit_log *log, struct sbx_error *err)
{
	const struct audit_values *values = run->values;
	_cleanup_text_ struct text spool = TEXT_INIT;
	_cleanup_close_ int fd = -EBADF;
	struct audit_import taken = { 0 };
	int r;

	if (values->folder)
		return 0;
	r = add_state(&spool, "spool", err);
	if (r < 0)
		return r;
	fd = open(text_string(&spool), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0
				       : sbx_error_what(err, -errno, "cannot open the spool '%s'",
							text_string(&spool));
	r = audit_log_import(log, fd, &taken, err);
	if (r == 0 && run->verbosity > 0)
		log_write(&run->log, LOG_LEVEL_INFO, NULL,
			  "took in %llu records, refused %llu lines",
			  (unsigned long long)taken.n_records,
			  (unsigned long long)taken.n_refused + taken.n_torn);
	return r;
}

static int open_log(struct tool_run *run, struct audit_log **ret, struct sbx_error *err)
{
	_cleanup_text_ struct text folder = TEXT_INIT;
	int r = places_folder(run->values, &folder, err);
	const struct audit_log_options options = {
		.folder = text_string(&folder),
		.credentials = getenv("CREDENTIALS_DIRECTORY"),
		.wait_usec = WAIT_USEC,
	};

	return r < 0 ? r : audit_log_open(&options, ret, err);
}

int places_open(struct tool_run *run, struct audit_log **ret, struct sbx_error *err)
{
	_cleanup_audit_log_ struct audit_log *log = NULL;
	uint64_t seq;
	int r = open_log(run, &log, err);

	if (r < 0)
		return r;
	if (audit_log_is_broken(log, &seq))
		log_write(&run->log, LOG_LEVEL_WARNING, NULL,
			  "record %llu is not what was written there; 'sbx-audit verify --full' "
			  "says more",
			  (unsigned long long)seq);
	r = take_in(run, log, err);
	if (r == 0)
		*ret = take_ptr(log);
	return r;
}

int places_take_in(struct tool_run *run, struct sbx_error *err)
{
	_cleanup_audit_log_ struct audit_log *log = NULL;
	struct sbx_error why = { .code = 0 };
	int r = places_open(run, &log, &why);

	if (r == 0)
		return audit_log_checkpoint(log, err);
	if (r == -ENOENT) {
		if (err)
			*err = why;
		return r;
	}
	log_write(&run->log, LOG_LEVEL_NOTICE, NULL,
		  "what waits in the spool is not in the log yet: %s", why.what);
	return 0;
}
