/* SPDX-License-Identifier: MIT */

/*
 * Policy, host, plan and filter: every step that can fail before anything was created
 */

#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/path.h"
#include "base/units.h"
#include "filter/filter.h"
#include "kernel/probe.h"
#include "policy/model.h"
#include "tool.h"

#define POLICY_BYTES_MAX (1024 * 1024)
#define CACHE_NAME "filters"

static int load_policy(struct spawn_run *run, struct sbx_error *err)
{
	_cleanup_free_ char *bytes = NULL;
	size_t n_bytes;
	int r;

	if (run->values->policy)
		return policy_load_file(AT_FDCWD, run->values->policy, &run->policy, err);
	if (run->values->policy_fd < 0)
		return 0;
	r = file_read_fd(run->values->policy_fd, "--policy-fd", POLICY_BYTES_MAX, &bytes, &n_bytes,
			 err);
	return r < 0 ? r : policy_load("--policy-fd", bytes, n_bytes, &run->policy, err);
}

/* A request that accepts less is reduced only if the host certainly lacks the layer. */
static bool accepts_less(const struct spawn_run *run)
{
	const char *tier = run->request.tier;

	if (!tier)
		tier = policy_get_text(run->policy, "isolation.tier");
	return tier && tier_find(tier) == TIER_REDUCED;
}

static int make_plan(struct spawn_run *run, struct sbx_error *err)
{
	const char *const *paths, *const *made;
	int r = spawn_find_guarded(run, err);

	if (r < 0)
		return r;
	r = spawn_find_credentials(run, err);
	if (r < 0)
		return r;
	r = plan_list_paths(run->policy, &run->request, &run->arena, &paths, &made, err);
	if (r < 0)
		return r;
	r = spawn_make_guarded(run, made, err);
	if (r < 0)
		return r;
	r = host_probe(paths, run->request.project, &run->arena, &run->host, err);
	if (r < 0)
		return r;
	host_find_accounts(run->request.has_uid, run->request.uid, run->request.gid, &run->host);
	host_find_hosts(&run->host);
	if (accepts_less(run)) {
		r = host_try_userns(&run->arena, &run->host, err);
		if (r < 0)
			return r;
	}
	return plan_build(run->policy, &run->request, &run->host, &run->plan, err);
}

int spawn_module_path(const char *directory, const char *name, const char *suffix, char *ret,
		      size_t size)
{
	char own[PATH_MAX];
	int r = path_beside_program("", own, sizeof(own)), len;

	if (r < 0)
		return r;
	len = snprintf(ret, size, "%s../lib/%s/%s%s", own, directory, name, suffix);
	if (len > 0 && (size_t)len < size && access(ret, R_OK) == 0)
		return 0;
	len = snprintf(ret, size, "%s/%s%s", SBX_MODULE_DIR, name, suffix);
	return len < 0 || (size_t)len >= size ? -ENAMETOOLONG : 0;
}

int spawn_module_directory(const char *name, char *ret, size_t size)
{
	int r = spawn_module_path(name, name, ".so", ret, size);

	if (r == 0)
		*strrchr(ret, '/') = '\0';
	return r;
}

/*
 * The cache is beside the registry, which exists before the plan and to which no sandbox can write:
 * a process that could write a filter there could weaken a policy. Without a cache the filter is
 * compiled.
 */
static int open_cache(const struct spawn_run *run)
{
	if (run->registry < 0)
		return -EBADF;
	(void)mkdirat(run->registry, "../" CACHE_NAME, 0700);
	return openat(run->registry, "../" CACHE_NAME,
		      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int make_filter(struct spawn_run *run, const struct step *step, struct sbx_error *err)
{
	_cleanup_close_ int cache = open_cache(run);
	char modules[PATH_MAX];
	struct sock_filter *instructions;
	size_t n;
	int r = spawn_module_directory("filter", modules, sizeof(modules));

	if (r < 0)
		return sbx_error_what(err, r, "cannot find the compiler of system call filters");
	r = filter_make(step->seccomp.profile, step->seccomp.variants, run->plan->deny_syscalls,
			cache, modules, &instructions, &n, err);
	if (r < 0)
		return r;
	run->made_filter = (struct sock_fprog){ .len = (unsigned short)n, .filter = instructions };
	run->filter = &run->made_filter;
	return 0;
}

static int choose_filter(struct spawn_run *run, struct sbx_error *err)
{
	const struct step *step = plan_find_step(run->plan, STEP_SECCOMP);

	if (!step)
		return 0;
	run->filter_notifies = filter_needs_notify(step->seccomp.profile) != 0;
	if (run->plan->deny_syscalls && run->plan->deny_syscalls[0])
		return make_filter(run, step, err);
	run->filter = filter_find(step->seccomp.profile, step->seccomp.variants);
	if (run->filter)
		return 0;
	return sbx_error_what(err, -EINVAL, "there is no system call filter '%s'",
			      step->seccomp.profile);
}

/* Before the plan, which hides and protects only what exists: the first start of a user creates
 * the spool, and the command could create a missing registry. */
static int open_state(struct spawn_run *run, struct sbx_error *err)
{
	int r = run->values->audit_fd < 0 ? spawn_open_spool(run, err) : 0;

	if (r < 0)
		return r;
	run->registry = registry_open(environ, err);
	return run->registry < 0 ? run->registry : 0;
}

int spawn_prepare(struct spawn_run *run, struct sbx_error *err)
{
	bool is_run = !run->values->dry_run && !run->values->print_plan;
	const char *grace = run->values->grace;
	int r = load_policy(run, err);

	if (r < 0)
		return r;
	r = is_run ? open_state(run, err) : 0;
	if (r < 0)
		return r;
	r = run->values->out ? changes_prepare(run, err) : 0;
	if (r < 0)
		return r;
	run->request.out_directory = run->changes.directory;
	run->request.out_work = run->changes.work;
	r = make_plan(run, err);
	if (r < 0)
		return r;
	/* An option overrides the grace of the plan. */
	if (grace && units_parse_time(grace, &run->plan->grace_usec, err) < 0)
		return error_retell(err, -EINVAL, "option '--grace' cannot take '%s'", grace);
	return choose_filter(run, err);
}
