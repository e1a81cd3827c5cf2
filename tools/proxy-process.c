/* SPDX-License-Identifier: MIT */

/*
 * The process that proxies, for a sandbox or alone: records, loop, resolver, confinement
 *
 * The order matters: the resolver is forked before the worker confines itself, which may start no
 * process; and both are confined before either reads a byte of a client, a server or a hand-over.
 */

#include "proxy.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proxy/confine.h"
#include "proxy/resolver.h"
#include "record/spool.h"

#include "tool.h"

#define RESOLVER_USEC UINT64_C(10000000)

int proxy_refuse_unused(const struct proxy_values *values, const char *const *used,
			const char *verb, struct sbx_error *err)
{
	for (const struct option_spec *spec = proxy_options; spec->name; spec++) {
		const char *const *name = used;

		while (*name && strcmp(*name, spec->name) != 0)
			name++;
		if (*name || !option_is_given(spec, values))
			continue;
		return error_fill(err, -EINVAL,
				  "it is for 'sbx-proxy --policy', the proxy without a service",
				  "leave it out", "--%s has no effect on '%s'", spec->name, verb);
	}
	return 0;
}

void process_deinit(struct process *process)
{
	process->worker = worker_free(process->worker);
	process->resolver = resolver_free(process->resolver);
	process->service = service_free(process->service);
	recorder_deinit(&process->recorder);
}

/* The spool's directory, made now: a confined process could not, when sbx-audit ends and records go
 * to the spool. Empty: no spool. */
static int find_spool(struct process *process, struct text *ret)
{
	char *state = process->recorder.state_directory;
	int fd;

	if (!state)
		return 0;
	text_addf(ret, "%s/" RECORD_SPOOL_DIRECTORY, state);
	if (text_status(ret) < 0)
		return -ENOMEM;
	if (!process->recorder.is_with_service)
		return 0;
	fd = process->recorder.is_fallback ? spool_open_fallback(state, NULL)
					   : spool_open(state, NULL);
	close_fd(&fd);
	return 0;
}

static int confine_resolver(void *userdata, struct sbx_error *err)
{
	const struct confinement confinement = { .role = CONFINE_RESOLVER };

	int r = confine_files(&confinement, err);

	return r < 0 ? r : confine_calls(&confinement, err);
}

/* As many connections as the hard limit allows. */
static void raise_limits(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

int process_prepare(struct process *process, service_reload_fn *reload, void *userdata,
		    const char *readable, struct sbx_error *err)
{
	const struct resolver_options resolver = {
		.servers = process->values->dns,
		.timeout_usec = RESOLVER_USEC,
		.confine = confine_resolver,
	};
	struct confinement confinement = { .role = CONFINE_WORKER, .readable = readable };
	_cleanup_text_ struct text spool = TEXT_INIT;
	size_t n_layers = 0;
	int r = recorder_open(&process->recorder, process->values->audit_fd, environ, err);

	if (r < 0)
		return r;
	raise_limits();
	/* The service starts /proc/self/exe, and the kernel would call the process "exe". */
	(void)prctl(PR_SET_NAME, "sbx-proxy");
	r = find_spool(process, &spool);
	if (r < 0)
		return sbx_error_what(err, r, "cannot start the proxy");
	r = service_new(&process->run->log, reload, userdata, &process->service, err);
	if (r < 0)
		return r;
	if (confine_is_built() && confine_has_landlock())
		process->layers[n_layers++] = "landlock";
	if (confine_is_built())
		process->layers[n_layers] = "seccomp";
	confinement.writable = spool.len > 0 ? spool.data : NULL;
	r = confine_files(&confinement, err);
	if (r >= 0)
		r = resolver_new(service_ready(process->service), &resolver, &process->resolver,
				 err);
	return r < 0 ? r : confine_calls(&confinement, err);
}

int process_add_worker(struct process *process, int fd, uid_t uid, struct sbx_error *err)
{
	const struct proxy_values *values = process->values;
	struct worker_options options = {
		.event = service_event(process->service),
		.ready = service_ready(process->service),
		.log = &process->run->log,
		.resolver = process->resolver,
		.recorder = &process->recorder,
		.tool = process->run->tool->command.name,
		.layers = process->layers,
		.timeouts = PROXY_TIMEOUTS,
		.limits = PROXY_LIMITS,
		.page = process->page ? process->page : &process->own_page,
		.fd = fd,
		.uid = uid,
	};

	options.timeouts.head_usec = tool_or_usual(values->head_usec, options.timeouts.head_usec);
	options.timeouts.idle_usec = tool_or_usual(values->idle_usec, options.timeouts.idle_usec);
	options.limits.n_connections =
		tool_or_usual(values->max_connections, options.limits.n_connections);
	options.limits.n_bytes = tool_or_usual(values->max_bytes, options.limits.n_bytes);
	options.limits.bytes_per_sec = tool_or_usual(values->rate, options.limits.bytes_per_sec);
	return worker_new(&options, &process->worker, err);
}
