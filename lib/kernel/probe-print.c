/* SPDX-License-Identifier: MIT */

/*
 * --check: what this host can hold, on one screen; where something is missing, why, and what to do
 *
 * A fact is a row: what it is called in both forms, and what is to be said where it does not hold
 * and the probe knows nothing better.
 */

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "kernel/probe.h"
#include "plan/layers.h"

enum fact {
	FACT_FULL,
	FACT_REDUCED,
	FACT_USERNS,
	FACT_PROC,
	FACT_OVERLAY,
	FACT_LANDLOCK,
	FACT_SECCOMP,
	FACT_NOTIFY,
	FACT_MEMFD,
	FACT_CGROUP,
	FACT_MEMORY,
	FACT_CPU,
	FACT_PIDS,
	FACT_KILL,
	FACT_SCOPE,
	N_FACTS,
};

struct answer {
	bool holds;
	const char *why;
	const char *fix;
};

static const struct {
	const char *label;
	const char *name;
	const char *why;
	const char *fix;
} rows[N_FACTS] = {
	[FACT_FULL] = { "tier full", "full", "see below", NULL },
	[FACT_REDUCED] = { "tier reduced", "reduced",
			   "it takes Landlock, filters and a cgroup that can be killed", NULL },
	[FACT_USERNS] = { "user namespaces", "user_namespaces", "they were refused", NULL },
	[FACT_PROC] = { "a /proc of its own", "proc",
			"parts of /proc are covered here, as in most containers; then the kernel "
			"gives nobody a fresh one",
			"docker run --security-opt systempaths=unconfined; podman run "
			"--security-opt unmask=ALL" },
	[FACT_OVERLAY] = { "overlays, for --out", "overlay",
			   "the kernel refuses them in a user namespace",
			   "use Linux 5.11 or later" },
	[FACT_LANDLOCK] = { "Landlock", "landlock",
			    "the kernel was built or started without Landlock",
			    "use Linux 5.13 or later, started with landlock in its lsm= list" },
	[FACT_SECCOMP] = { "system call filters", "seccomp",
			   "the kernel, or a filter around us, refuses them",
			   "use a kernel with CONFIG_SECCOMP_FILTER" },
	[FACT_NOTIFY] = { "filters that notify, for strict", "seccomp_notify",
			  "the kernel is too old, or a filter around us notifies already",
			  "use Linux 5.0 or later, and strict not inside strict" },
	[FACT_MEMFD] = { "memfds that cannot be executed", "memfd_seal",
			 "this kernel does not seal them", "use Linux 6.3 or later" },
	[FACT_CGROUP] = { "a cgroup of our own", "cgroup", "there is none",
			  "start it from a unit with Delegate=yes and DelegateSubgroup=sbx" },
	[FACT_MEMORY] = { "memory limit", "memory", NULL, NULL },
	[FACT_CPU] = { "cpu limit", "cpu", NULL, NULL },
	[FACT_PIDS] = { "process limit", "pids", NULL, NULL },
	[FACT_KILL] = { "killing a cgroup as a whole", "cgroup_kill",
			"the kernel is older than cgroup.kill", "use Linux 5.14 or later" },
	[FACT_SCOPE] = { "scopes of a service manager", "scope", "no systemd answers to this user",
			 "as an ordinary user: loginctl enable-linger; as root: start with systemd" },
};

static void hold(struct answer *answers, enum fact fact, bool holds)
{
	answers[fact] = (struct answer){
		.holds = holds,
		.why = holds ? NULL : rows[fact].why,
		.fix = holds ? NULL : rows[fact].fix,
	};
}

/* Where the kernel hands us no controllers, a scope holds the limits all the same. */
static void hold_limit(struct answer *answers, enum fact fact, const struct host *host,
		       enum host_controller controller)
{
	hold(answers, fact, (host->controllers & controller) || host->has_scope);
	if (answers[fact].holds)
		return;
	answers[fact].why = host->cgroup_why;
	answers[fact].fix = host->cgroup ? "with systemd: a unit with Delegate=yes and "
					   "DelegateSubgroup=sbx; else start the kernel with "
					   "cgroup_no_v1=all"
					 : rows[FACT_CGROUP].fix;
}

static void answer(const struct host *host, struct answer ret[N_FACTS])
{
	bool second = host->landlock_abi > 0 && host->has_seccomp;

	hold(ret, FACT_FULL, host->has_userns && host->has_proc && second);
	hold(ret, FACT_REDUCED, second && host->cgroup && host->has_cgroup_kill);
	hold(ret, FACT_USERNS, host->has_userns);
	hold(ret, FACT_PROC, host->has_proc);
	hold(ret, FACT_OVERLAY, host->has_overlay);
	hold(ret, FACT_LANDLOCK, host->landlock_abi > 0);
	hold(ret, FACT_SECCOMP, host->has_seccomp);
	hold(ret, FACT_NOTIFY, host->has_notify);
	hold(ret, FACT_MEMFD, host->has_memfd_seal);
	hold(ret, FACT_CGROUP, host->cgroup);
	hold_limit(ret, FACT_MEMORY, host, CONTROLLER_MEMORY);
	hold_limit(ret, FACT_CPU, host, CONTROLLER_CPU);
	hold_limit(ret, FACT_PIDS, host, CONTROLLER_PIDS);
	hold(ret, FACT_KILL, host->cgroup && host->has_cgroup_kill);
	hold(ret, FACT_SCOPE, host->has_scope);

	if (!host->has_userns && host->userns_why) {
		ret[FACT_USERNS].why = host->userns_why;
		ret[FACT_USERNS].fix = host->userns_fix;
		/* The child that tries came to neither of them. */
		ret[FACT_PROC].why = ret[FACT_OVERLAY].why = "it takes a user namespace";
		ret[FACT_PROC].fix = ret[FACT_OVERLAY].fix = NULL;
	}
	if (!host->cgroup) {
		ret[FACT_CGROUP].why = host->cgroup_why ? host->cgroup_why : rows[FACT_CGROUP].why;
		ret[FACT_KILL].why = "it takes a cgroup of our own";
		ret[FACT_KILL].fix = NULL;
	}
}

/* What the ABI has beyond the one before it. */
static void add_landlock(struct text *out, int abi)
{
	static const char *const added[] = {
		"files", "moves", "truncate", "TCP ports", "devices", "signals and abstract sockets"
	};

	text_addf(out, ": ABI %d (", abi);
	for (size_t i = 0; i < N_ELEMENTS(added) && i < (size_t)abi; i++)
		text_addf(out, "%s%s", i ? ", " : "", added[i]);
	text_add(out, ")");
}

/* What the row before has said already is not said again. */
static void add_row(struct text *out, const struct host *host, enum fact fact,
		    const struct answer *found, const struct answer *before)
{
	text_addf(out, "%-32s%s", rows[fact].label, found->holds ? "yes" : "no");
	if (found->holds && fact == FACT_LANDLOCK)
		add_landlock(out, host->landlock_abi);
	if (!found->holds && fact == FACT_MEMORY)
		text_addf(out, ": only %s", limit_part_held(LIMIT_MEMORY, HELD_BY_RLIMIT));
	if (found->holds && fact == FACT_CGROUP) {
		text_add(out, ": ");
		text_add_visible(out, host->cgroup, strlen(host->cgroup));
	}
	text_add_char(out, '\n');
	if (found->why && (!before || found->why != before->why))
		text_addf(out, "  why: %s\n", found->why);
	if (found->fix && (!before || found->fix != before->fix))
		text_addf(out, "  fix: %s\n", found->fix);
}

void host_add_text(struct text *out, const struct host *host)
{
	struct answer answers[N_FACTS];

	answer(host, answers);
	for (enum fact fact = 0; fact < N_FACTS; fact++)
		add_row(out, host, fact, &answers[fact], fact ? &answers[fact - 1] : NULL);
}

static void add_object(struct json_writer *writer, const struct host *host, enum fact fact,
		       const struct answer *found)
{
	json_add_name(writer, rows[fact].name);
	json_add_object(writer);
	json_member_bool(writer, "holds", found->holds);
	if (fact == FACT_LANDLOCK)
		json_member_u64(writer, "abi", (uint64_t)host->landlock_abi);
	if (fact == FACT_CGROUP)
		json_member_string(writer, "folder", host->cgroup);
	if (fact == FACT_MEMORY && !found->holds)
		json_member_string(writer, "of", limit_part_held(LIMIT_MEMORY, HELD_BY_RLIMIT));
	if (found->why)
		json_member_string(writer, "why", found->why);
	if (found->fix)
		json_member_string(writer, "fix", found->fix);
	json_end_object(writer);
}

void host_add_json(struct text *out, const struct host *host)
{
	struct answer answers[N_FACTS];
	struct json_writer writer;

	answer(host, answers);
	json_write(&writer, out);
	json_add_object(&writer);
	for (enum fact fact = 0; fact < N_FACTS; fact++)
		add_object(&writer, host, fact, &answers[fact]);
	json_member_u64(&writer, "uid", host->uid);
	json_member_bool(&writer, "root", host->is_root);
	json_member_string(&writer, "loader", host->loader);
	json_end_object(&writer);
	text_add_char(out, '\n');
}
