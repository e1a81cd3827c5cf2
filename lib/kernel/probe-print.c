/* SPDX-License-Identifier: MIT */

/*
 * --check: which protection this host can enforce, on one screen: isolation, limits, what to do,
 * and one sentence as a summary
 *
 * A row per fact: its name in both forms, and the default why and fix if it is missing.
 */

#include <stddef.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "kernel/probe.h"
#include "plan/layers.h"

/* In the order of the output; a group ends where the next begins. */
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
	FACT_KILL,
	FACT_SCOPE,
	FACT_MEMORY,
	FACT_CPU,
	FACT_PIDS,
	N_FACTS,
};

struct answer {
	bool holds;
	const char *why;
	const char *fix;
};

#define CGROUP_TEXT "start it from a unit with Delegate=yes and DelegateSubgroup=sbx"

static const struct {
	const char *label;
	const char *name;
	const char *why;
	const char *fix;
	const char *group; /* of which this row is the first, or NULL */
} rows[N_FACTS] = {
	[FACT_FULL] = { "tier full", "full", "see below", NULL, "isolation" },
	[FACT_REDUCED] = { "tier reduced", "reduced",
			   "it needs Landlock, filters and a cgroup that can be killed", NULL,
			   NULL },
	[FACT_USERNS] = { "user namespaces", "user_namespaces", "they were refused", NULL, NULL },
	[FACT_PROC] = { "private /proc", "proc",
			"parts of /proc are covered, as in most containers, and then the kernel "
			"refuses to mount a new one",
			"docker run --security-opt systempaths=unconfined; podman run "
			"--security-opt unmask=ALL",
			NULL },
	[FACT_OVERLAY] = { "overlays, for --out", "overlay",
			   "the kernel has no overlayfs, or refuses it in a user namespace",
			   "use Linux 5.11 or later, and load the module: modprobe overlay", NULL },
	[FACT_LANDLOCK] = { "Landlock", "landlock",
			    "the kernel was built or started without Landlock",
			    "use Linux 5.13 or later, started with landlock in its lsm= list",
			    NULL },
	[FACT_SECCOMP] = { "system call filters", "seccomp",
			   "the kernel, or a filter that this process already has, refuses them",
			   "use a kernel with CONFIG_SECCOMP_FILTER", NULL },
	[FACT_NOTIFY] = { "profile strict", "seccomp_notify",
			  "the kernel has no user notification of filters, or a filter that this "
			  "process already has uses it",
			  "use Linux 5.0 or later, and do not nest strict in strict", NULL },
	[FACT_MEMFD] = { "non-executable memfds", "memfd_seal", "the kernel cannot seal them",
			 "use Linux 6.3 or later", NULL },
	[FACT_CGROUP] = { "cgroup delegated to sbx", "cgroup", "there is none", CGROUP_TEXT,
			  "limits" },
	[FACT_KILL] = { "cgroup.kill", "cgroup_kill", "the kernel is too old",
			"use Linux 5.14 or later", NULL },
	[FACT_SCOPE] = { "systemd scopes", "scope", "no systemd answers to this user",
			 "as an ordinary user: loginctl enable-linger; as root: start with systemd",
			 NULL },
	[FACT_MEMORY] = { "memory, in total", "memory", NULL, NULL, NULL },
	[FACT_CPU] = { "cpu", "cpu", NULL, NULL, NULL },
	[FACT_PIDS] = { "pids", "pids", NULL, NULL, NULL },
};

static void hold(struct answer *answers, enum fact fact, bool holds)
{
	answers[fact] = (struct answer){
		.holds = holds,
		.why = holds ? NULL : rows[fact].why,
		.fix = holds ? NULL : rows[fact].fix,
	};
}

/* Without delegated controllers a scope can enforce the limits. */
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
					 : CGROUP_TEXT;
}

static void answer(const struct host *host, struct answer ret[N_FACTS])
{
	bool second = host->landlock_abi > 0 && host->has_seccomp;

	/* Where no /proc can be mounted, the sandbox has none. */
	hold(ret, FACT_FULL, host->has_userns && second);
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
	if (ret[FACT_MEMORY].holds && ret[FACT_CPU].holds)
		ret[FACT_SCOPE].fix = NULL;

	if (!host->has_userns && host->userns_why) {
		ret[FACT_USERNS].why = host->userns_why;
		ret[FACT_USERNS].fix = host->userns_fix;
		/* The child of probe-try.c tries these only in a user namespace. */
		ret[FACT_PROC].why = ret[FACT_OVERLAY].why = "it needs a user namespace";
		ret[FACT_PROC].fix = ret[FACT_OVERLAY].fix = NULL;
	}
	if (!host->cgroup) {
		ret[FACT_CGROUP].why = host->cgroup_why ? host->cgroup_why : rows[FACT_CGROUP].why;
		ret[FACT_KILL].why = "it needs a delegated cgroup";
		ret[FACT_KILL].fix = NULL;
	}
}

/* Adds the features that each ABI added. */
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

/* In a user namespace RLIMIT_NPROC counts only the processes of one sandbox, as a cgroup does. */
static bool is_held_by_rlimit(enum fact fact, const struct answer answers[N_FACTS])
{
	return fact == FACT_PIDS && !answers[FACT_PIDS].holds && answers[FACT_USERNS].holds;
}

/* Texts are literals or members of struct host, so equal texts have the same address. */
static bool is_said(enum fact fact, const struct answer answers[N_FACTS], size_t offset)
{
	const char *const *text = (const void *)((const char *)&answers[fact] + offset);

	for (enum fact before = 0; before < fact; before++)
		if (*(const char *const *)((const char *)&answers[before] + offset) == *text)
			return true;
	return !*text || is_held_by_rlimit(fact, answers);
}

static void add_row(struct text *out, const struct host *host, enum fact fact,
		    const struct answer answers[N_FACTS])
{
	const struct answer *found = &answers[fact];
	bool by_rlimit = is_held_by_rlimit(fact, answers);

	if (rows[fact].group)
		text_addf(out, "%s%s\n", fact ? "\n" : "", rows[fact].group);
	text_addf(out, "  %-26s%s", rows[fact].label, found->holds || by_rlimit ? "yes" : "no");
	text_add(out, by_rlimit ? ": by an rlimit" : "");
	if (found->holds && fact == FACT_LANDLOCK)
		add_landlock(out, host->landlock_abi);
	if (!found->holds && fact == FACT_MEMORY)
		text_addf(out, ": only %s", limit_part_held(LIMIT_MEMORY, HELD_BY_RLIMIT));
	if (found->holds && fact == FACT_CGROUP) {
		text_add(out, ": ");
		text_add_visible(out, host->cgroup, strlen(host->cgroup));
	}
	text_add_char(out, '\n');
	if (!is_said(fact, answers, offsetof(struct answer, why)))
		text_addf(out, "    why: %s\n", found->why);
}

/* Adds each fix once, with the facts that need it. */
static void add_to_do(struct text *out, const struct answer answers[N_FACTS])
{
	bool is_first = true;

	for (enum fact fact = 0; fact < N_FACTS; fact++) {
		if (is_said(fact, answers, offsetof(struct answer, fix)))
			continue;
		text_add(out, is_first ? "\nwhat to do\n" : "");
		text_addf(out, "  %s: %s\n", rows[fact].label, answers[fact].fix);
		is_first = false;
	}
}

static void add_verdict(struct text *out, const struct answer answers[N_FACTS])
{
	bool needs_cgroup = !answers[FACT_MEMORY].holds || !answers[FACT_CPU].holds;

	text_add_char(out, '\n');
	if (answers[FACT_FULL].holds)
		text_add(out, answers[FACT_PROC].holds ? "ready" : "ready, without /proc");
	else if (answers[FACT_REDUCED].holds)
		text_add(out, "ready for --min-tier reduced only");
	else
		text_add(out, "not ready: sbx-spawn will refuse to run anything");
	if (answers[FACT_FULL].holds && needs_cgroup)
		text_add(out, "; memory and cpu limits need a cgroup");
	text_add_char(out, '\n');
}

void host_add_text(struct text *out, const struct host *host)
{
	struct answer answers[N_FACTS];

	answer(host, answers);
	for (enum fact fact = 0; fact < N_FACTS; fact++)
		add_row(out, host, fact, answers);
	add_to_do(out, answers);
	add_verdict(out, answers);
}

static void add_object(struct json_writer *writer, const struct host *host, enum fact fact,
		       const struct answer *found)
{
	json_member_object(writer, rows[fact].name);
	json_member_bool(writer, "holds", found->holds);
	if (fact == FACT_LANDLOCK)
		json_member_u64(writer, "abi", (uint64_t)host->landlock_abi);
	if (fact == FACT_CGROUP)
		json_member_string(writer, "path", host->cgroup);
	if (fact == FACT_MEMORY && !found->holds)
		json_member_string(writer, "of", limit_part_held(LIMIT_MEMORY, HELD_BY_RLIMIT));
	json_member_if_set(writer, "why", found->why);
	json_member_if_set(writer, "fix", found->fix);
	json_end_object(writer);
}

void host_add_json(struct text *out, const struct host *host)
{
	struct answer answers[N_FACTS];
	struct json_writer writer;

	answer(host, answers);
	json_begin_object(&writer, out);
	for (enum fact fact = 0; fact < N_FACTS; fact++)
		add_object(&writer, host, fact, &answers[fact]);
	json_member_u64(&writer, "uid", host->uid);
	json_member_bool(&writer, "root", host->is_root);
	json_member_string(&writer, "loader", host->loader);
	json_end_line(&writer);
}
