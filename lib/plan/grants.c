/* SPDX-License-Identifier: MIT */

/*
 * What options, mounts and secrets name → marks
 *
 * Whoever names a path by hand means it: what is then not there, or denied by a rule, is an error
 * and not less to see.
 */

#include "plan/plan-internal.h"

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "policy/compose.h"

#define RIGHTS_ALL (RIGHTS_SEEN | RIGHT_MAP | RIGHT_START)

static const struct grant {
	enum mark_kind kind;
	enum content content;
	unsigned rights;
} grants[] = {
	[GRANT_READ] = { MARK_ALLOW, CONTENT_HOST, RIGHTS_READ | RIGHT_EXEC },
	[GRANT_WRITE] = { MARK_ALLOW, CONTENT_HOST, RIGHTS_FILES | RIGHT_EXEC },
	[GRANT_EXEC] = { MARK_ALLOW, CONTENT_HOST, RIGHT_EXEC },
	[GRANT_DENY] = { MARK_DENY, CONTENT_HOST, RIGHTS_ALL },
	[GRANT_DENY_WRITE] = { MARK_DENY, CONTENT_HOST, RIGHT_WRITE },
	[GRANT_TMPFS] = { MARK_ALLOW, CONTENT_TMPFS, RIGHTS_FILES | RIGHT_EXEC },
	[GRANT_UNIX] = { MARK_ALLOW, CONTENT_SOCKET, RIGHTS_FILES },
};

static const struct {
	enum mark_kind kind;
	enum content content;
} modes[] = {
	[MOUNT_READ_ONLY] = { MARK_ALLOW, CONTENT_HOST },
	[MOUNT_READ_WRITE] = { MARK_ALLOW, CONTENT_HOST },
	[MOUNT_TMPFS] = { MARK_ALLOW, CONTENT_TMPFS },
	[MOUNT_OVERLAY] = { MARK_ALLOW, CONTENT_OVERLAY },
	[MOUNT_MASK] = { MARK_DENY, CONTENT_HOST },
};

static void fill_tmpfs(struct planner *planner, struct mark *mark, uint64_t size)
{
	if (mark->content != CONTENT_TMPFS)
		return;
	mark->value = size;
	if (size == 0 && planner->plan)
		mark->value = tmp_size(planner);
	mark->second = strcmp(mark->path, "/tmp") == 0 || strcmp(mark->path, "/var/tmp") == 0
			       ? 01777
			       : 0755;
}

static int check_target(struct planner *planner, const char *target, struct step_origin origin)
{
	if (path_is_normal(target) && strcmp(target, "/") != 0)
		return 0;
	(void)sbx_error_what(planner->err, -EINVAL, "%s cannot mount anything at '%.200s'",
			     origin_text(&origin), target);
	sbx_error_why(planner->err, "it is '/', or not a normalised path");
	sbx_error_fix(planner->err, "name a path below '/'");
	return -EINVAL;
}

static int mark_output(struct planner *planner)
{
	const struct spawn_request *request = planner->request;
	struct mark *mark;

	if (!request->out_folder)
		return 0;
	if (is_below(request->out_folder, request->project)) {
		(void)sbx_error_what(planner->err, -EINVAL,
				     "cannot collect the changes of '%.200s' in '%.200s'",
				     request->project, request->out_folder);
		sbx_error_why(planner->err,
			      "it lies inside the directory whose changes it would collect");
		sbx_error_fix(planner->err, "name a directory outside of it");
		return -EINVAL;
	}
	if (request->project_real && strcmp(request->project_real, request->project) != 0) {
		(void)sbx_error_what(planner->err, -ELOOP, "cannot collect the changes of '%.200s'",
				     request->project);
		sbx_error_why(planner->err, "it is, or passes, a symbolic link");
		sbx_error_fix(planner->err, "name '%.200s'", request->project_real);
		return -ELOOP;
	}
	mark = planner_add_mark(planner, MARK_ALLOW, request->project, RIGHTS_FILES,
				origin_of_option(planner, "--out"));
	mark->content = CONTENT_OVERLAY;
	mark->flags = MARK_ASKED;
	mark->text = planner_keep(planner, request->out_folder);
	mark->extra = request->out_work ? planner_keep(planner, request->out_work) : NULL;
	return 0;
}

static int mark_request(struct planner *planner, const struct request_path *path)
{
	const struct grant *grant = &grants[path->grant];
	const char *inside = planner_keep(planner, path->target ? path->target : path->path);
	struct step_origin origin = origin_of_option(planner, path->option);
	struct mark *mark;

	if (grant->kind == MARK_ALLOW && strcmp(inside, "/") == 0 && !path->target &&
	    grant->content == CONTENT_HOST) {
		mark_everything(planner, grant->rights, MARK_ASKED, origin);
		return 0;
	}
	if (grant->kind == MARK_ALLOW) {
		int r = check_target(planner, inside, origin);

		if (r < 0)
			return r;
	}
	mark = planner_add_mark(planner, grant->kind, inside, grant->rights, origin);
	mark->content = grant->content;
	mark->flags = MARK_ASKED | (path->optional ? MARK_OPTIONAL : 0);
	if (path->grant == GRANT_READ && !path->target)
		mark->flags |= MARK_MAPPED;
	mark->real = path->real ? planner_keep(planner, path->real) : NULL;
	if (path->target && strcmp(path->target, path->path) != 0)
		mark->source = planner_keep(planner, path->path);
	fill_tmpfs(planner, mark, 0);
	return 0;
}

void mark_shown(struct planner *planner, const char *path, const char *name)
{
	unsigned rights = RIGHTS_READ | (is_limiting_exec(planner) ? 0 : RIGHT_EXEC);

	planner_add_mark(planner, MARK_ALLOW, path, rights, origin_of_option(planner, name))
		->flags = MARK_OPTIONAL;
}

/* The directory that HOME names: to write, with all that this takes. */
static int mark_kept_home(struct planner *planner)
{
	const struct request_path path = { .grant = GRANT_WRITE,
					   .path = planner->request->home,
					   .option = "--home" };
	int r = path.path ? check_target(planner, path.path, origin_of_option(planner, path.option))
			  : 0;

	return r < 0 || !path.path ? r : mark_request(planner, &path);
}

int mark_requested(struct planner *planner)
{
	const struct spawn_request *request = planner->request;
	int r = mark_kept_home(planner);

	if (r < 0)
		return r;
	for (size_t i = 0; i < request->n_paths; i++) {
		r = mark_request(planner, &request->paths[i]);
		if (r < 0)
			return r;
	}
	return mark_output(planner);
}

static int refuse_mount(struct planner *planner, struct step_origin origin, const char *why,
			const char *fix)
{
	(void)sbx_error_what(planner->err, -EINVAL, "cannot mount as %s says",
			     origin_text(&origin));
	sbx_error_why(planner->err, "%s", why);
	sbx_error_fix(planner->err, "%s", fix);
	return -EINVAL;
}

static int mark_mount(struct planner *planner, const struct policy_mount *mount)
{
	const char *inside =
		planner_keep(planner, planner_project_path(planner, mount->target->text));
	struct step_origin origin = origin_of_setting(planner, mount->target);
	struct mark *mark;
	int r = check_target(planner, inside, origin);

	if (r < 0)
		return r;
	mark = planner_add_mark(planner, modes[mount->mode].kind, inside,
				rights_of(mount_operations(mount->mode)), origin);
	mark->content = modes[mount->mode].content;
	mark->flags = MARK_RULED | MARK_ASKED | (mount->is_optional ? MARK_OPTIONAL : 0);
	if (mount->source)
		mark->source = planner_keep(planner, planner_project_path(planner, mount->source));
	if (mark->source && strcmp(mark->source, inside) == 0)
		mark->source = NULL;
	fill_tmpfs(planner, mark, mount->size_bytes);
	if (mark->content == CONTENT_OVERLAY)
		mark->value = planner->plan ? tmp_size(planner) : 0;
	return 0;
}

int mark_mounts(struct planner *planner)
{
	const struct policy *policy = planner->policy;
	struct policy_mount mount;
	int r = 0;

	for (size_t i = 0; policy && r == 0 && policy_get_mount(policy, i, &mount); i++) {
		const char *fix = "", *why = mount_refusal(policy, i, &fix);

		r = why ? refuse_mount(planner, origin_of_setting(planner, mount.target), why, fix)
			: mark_mount(planner, &mount);
	}
	return r;
}

static void mark_secret(struct planner *planner, const char *name, const char *path,
			struct step_origin origin)
{
	struct mark *mark =
		planner_add_mark(planner, MARK_ALLOW, planner_join(planner, COMPOSE_SECRETS, name),
				 RIGHTS_READ, origin);

	mark->content = CONTENT_COPY;
	mark->flags = MARK_ASKED;
	mark->source = planner_keep(planner, path);
	mark->second = 0400;
}

int mark_secrets(struct planner *planner)
{
	static const char section[] = "env.secrets.";
	const struct spawn_request *request = planner->request;
	const struct policy *policy = planner->policy;

	for (size_t i = 0; policy && i < policy->n_settings; i++) {
		const struct setting *setting = &policy->settings[i];

		if (strncmp(setting->path, section, strlen(section)) == 0)
			mark_secret(planner, setting->path + strlen(section),
				    planner_project_path(planner, setting->text),
				    origin_of_setting(planner, setting));
	}
	for (size_t i = 0; i < request->n_secrets; i++)
		mark_secret(planner, request->secrets[i].name, request->secrets[i].path,
			    origin_of_option(planner, "--secret"));
	return 0;
}
