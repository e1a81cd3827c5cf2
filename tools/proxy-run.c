/* SPDX-License-Identifier: MIT */

/*
 * sbx-proxy --policy FILE: a worker with its own listeners, for clients that are no sandbox of sbx
 *
 * It is given to the worker as if a supervisor had handed it over, so that there is one way for a
 * policy and for listeners into a proxy.
 */

#include "proxy.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/json.h"
#include "base/path.h"
#include "policy/artefact.h"
#include "policy/compose.h"
#include "policy/model.h"
#include "policy/request.h"
#include "registry/handover.h"

#include "tool.h"

/* ---- the policy, composed like that of a sandbox in the mode proxy ---- */

#define POLICY_BYTES_MAX ((size_t)256 * 1024 * 1024)

/* An extension program would have to be asked about every request, and could not be: without its
 * vote the rules would allow more than the file says. */
static int refuse_extensions(const char *path, const struct policy *policy, struct sbx_error *err)
{
	if (policy->n_extensions == 0)
		return 0;
	(void)sbx_error_what(err, -EINVAL, "cannot use the policy '%s' for a proxy", path);
	sbx_error_why(err, "its extension '%s' would not be asked", policy->extensions[0].name);
	sbx_error_fix(err, "take 'extensions' out of the file");
	return -EINVAL;
}

static int compile(const char *path, void **ret_block, size_t *ret_n_bytes, struct sbx_error *err)
{
	_cleanup_policy_ struct policy *policy = NULL;
	_cleanup_free_ char *bytes = NULL;
	size_t n_bytes = 0;
	/* A worker waits for nobody who writes to a pipe. */
	int r = file_read_regular(AT_FDCWD, path, POLICY_BYTES_MAX, &bytes, &n_bytes, err);

	if (r < 0)
		return r;
	r = policy_load(path, bytes, n_bytes, &policy, err);
	if (r < 0)
		return r;
	r = refuse_extensions(path, policy, err);
	return r < 0 ? r : policy_compile_proxied(policy, ret_block, ret_n_bytes, err);
}

/* ---- the process ---- */

struct alone {
	struct process process;
	struct arena arena;
	struct handover handover;
	struct text digest;
	char *directory; /* of the policy */
};

static void alone_deinit(struct alone *alone)
{
	process_deinit(&alone->process);
	handover_close(&alone->handover);
	arena_deinit(&alone->arena);
	text_deinit(&alone->digest);
	free(alone->directory);
}

static int load_policy(struct alone *alone, const char *path, struct sbx_error *err)
{
	_cleanup_free_ void *block = NULL;
	struct artefact artefact;
	size_t n_bytes = 0;
	int r = compile(path, &block, &n_bytes, err);

	if (r >= 0)
		r = artefact_open(block, n_bytes, &artefact, err);
	if (r < 0)
		return r;
	text_add_hex(&alone->digest, artefact.header->policy_digest, DIGEST_SIZE);
	r = text_status(&alone->digest);
	if (r == 0)
		r = handover_seal(block, n_bytes, &alone->handover.artefact);
	if (r < 0)
		return sbx_error_what(err, r, "cannot load the policy '%s'", path);
	alone->handover.digest = text_string(&alone->digest);
	alone->handover.policy = path;
	return 0;
}

/* A file that is renamed into place is a new one, so its directory must stay readable. */
static int find_directory(struct alone *alone, const char *path, struct sbx_error *err)
{
	_cleanup_free_ char *real = realpath(path, NULL);

	if (!real)
		return sbx_error_what(err, -errno, "cannot find the policy '%s'", path);
	alone->directory = strndup(real, (size_t)(path_last(real) - real));
	return alone->directory ? 0 : sbx_error_what(err, -ENOMEM, "cannot start the proxy");
}

static int reload(struct alone *alone, struct sbx_error *err)
{
	struct proxy_policy *policy = NULL;
	size_t n_bytes = 0;
	void *block = NULL;
	int r = compile(alone->process.values->policy, &block, &n_bytes, err);

	if (r < 0)
		return r;
	r = proxy_policy_new(block, n_bytes, &policy, err);
	if (r < 0)
		return r;
	worker_replace_policy(alone->process.worker, policy);
	return 0;
}

static int on_reload(struct service *service, void *userdata)
{
	struct alone *alone = userdata;
	struct sbx_error err = { .code = 0 };
	int r = reload(alone, &err);

	if (r < 0) {
		worker_record_error(alone->process.worker, &err);
		log_write(&alone->process.run->log, LOG_LEVEL_ERROR, NULL, "%s%s%s", err.what,
			  err.why[0] != '\0' ? ": " : "", err.why);
		return r;
	}
	log_write(&alone->process.run->log, LOG_LEVEL_NOTICE, NULL, "a new policy is in force");
	return 0;
}

static void add_listener(struct text *out, const struct handover_listener *listener, bool as_json)
{
	bool is_ipv6 = strchr(listener->address, ':') && listener->port > 0;
	struct json_writer json;

	if (!as_json && listener->port == 0) {
		text_addf(out, "listening at %s\n", listener->address);
	} else if (!as_json) {
		text_addf(out, "listening at %s%s%s:%u\n", is_ipv6 ? "[" : "", listener->address,
			  is_ipv6 ? "]" : "", listener->port);
	} else {
		json_begin_object(&json, out);
		json_member_string(&json, listener->port > 0 ? "address" : "path",
				   listener->address);
		if (listener->port > 0)
			json_member_u64(&json, "port", listener->port);
		json_end_line(&json);
	}
}

static int say_listeners(const struct alone *alone, struct sbx_error *err)
{
	struct tool_run *run = alone->process.run;

	for (size_t i = 0; run->verbosity >= 0 && i < alone->handover.n_listeners; i++)
		add_listener(&run->out, &alone->handover.listeners[i], run->json);
	return tool_flush(run, err);
}

static int start(struct alone *alone, struct sbx_error *err)
{
	const struct proxy_values *values = alone->process.values;
	int r = load_policy(alone, values->policy, err);

	if (r < 0)
		return r;
	r = find_directory(alone, values->policy, err);
	if (r < 0)
		return r;
	r = proxy_open_listeners(values, &alone->arena, &alone->handover, err);
	if (r < 0)
		return r;
	r = process_prepare(&alone->process, on_reload, alone, alone->directory, err);
	if (r < 0)
		return r;
	r = process_add_worker(&alone->process, -EBADF, geteuid(), err);
	if (r < 0)
		return r;
	r = worker_begin(alone->process.worker, &alone->handover, err);
	return r < 0 ? r : say_listeners(alone, err);
}

int proxy_run_alone(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	_cleanup_(alone_deinit) struct alone alone = {
		.process = PROCESS_INIT(run),
		.arena = ARENA_INIT,
		.handover = HANDOVER_INIT,
		.digest = TEXT_INIT,
	};
	int r;

	if (!alone.process.values->policy) {
		(void)error_fill(err, -EINVAL,
				 "sbx-proxy connects only to hosts that a policy allows",
				 "write 'sbx-proxy --policy=FILE --listen=127.0.0.1:8080', or see "
				 "'sbx-proxy --help'",
				 "no policy and no verb given");
		return TOOL_USAGE;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	r = start(&alone, err);
	if (r < 0)
		return r == -EINVAL || r == -ENOENT ? TOOL_USAGE : r;
	return service_run(alone.process.service, err);
}
