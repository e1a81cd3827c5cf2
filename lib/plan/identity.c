/* SPDX-License-Identifier: MIT */

/*
 * Who the command is: never root
 *
 * An ordinary user stays who they are. Started by real root, the command gets a uid that nobody
 * else has: one of its own, made of the supervisor's pid, unless one is named.
 */

#include "plan/plan-internal.h"

#include <errno.h>

#include <sbx/error.h>

bool is_real_root(const struct host *host)
{
	return host->uid == 0 && host->is_root;
}

static int refuse_root(struct planner *planner)
{
	return planner_refuse(
		planner, -EPERM, "the command cannot run as root",
		"uid 0 may read and change every file of the host that the sandbox shows",
		"name another uid, or leave out --uid: the command gets an unused one");
}

static int use_own_user(struct planner *planner)
{
	const struct spawn_request *request = planner->request;
	const struct host *host = planner->host;

	if (host->uid == 0)
		return planner_refuse(planner, -EPERM, "cannot give the command a user of its own",
				      "sbx-spawn was started by uid 0 without root's capabilities",
				      "start it as an ordinary user, or as root with all "
				      "capabilities");
	if (request->has_uid && request->uid != host->uid) {
		(void)sbx_error_what(planner->err, -EPERM, "cannot run the command as uid %u",
				     request->uid);
		sbx_error_why(planner->err,
			      "sbx-spawn was started by uid %u, and only root can choose another",
			      host->uid);
		sbx_error_fix(planner->err, "leave out --uid, or start sbx-spawn as root");
		return -EPERM;
	}
	planner->plan->uid = host->uid;
	planner->plan->gid = host->gid;
	return 0;
}

int choose_identity(struct planner *planner)
{
	const struct spawn_request *request = planner->request;
	struct plan *plan = planner->plan;

	if (request->has_uid && (request->uid == 0 || request->gid == 0))
		return refuse_root(planner);
	if (!is_real_root(planner->host))
		return use_own_user(planner);
	if (request->has_uid) {
		plan->uid = request->uid;
		plan->gid = request->gid;
		return 0;
	}
	if (request->supervisor <= 0)
		return planner_refuse(planner, -EINVAL, "cannot give the command a user of its own",
				      "the request does not say which process supervises it",
				      "give one with --uid");
	plan->uid = OWN_UID_BASE + (uid_t)request->supervisor;
	plan->gid = (gid_t)plan->uid;
	return 0;
}
