/* SPDX-License-Identifier: MIT */

/*
 * The host is a table: what the kernel would be asked about a path is looked up there, and links
 * are followed as the kernel follows them
 */

#include "plan-host.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "step-flags.h"

void planning_close(struct planning *planning)
{
	plan_free_ptr(&planning->plan);
	policy_free_ptr(&planning->policy);
	arena_deinit(&planning->arena);
	text_deinit(&planning->text);
}

void know(struct planning *planning, const char *path, enum host_path_kind kind)
{
	planning->known[planning->n_known++] =
		(struct known){ .path = path, .kind = kind, .uid = planning->host.uid };
}

void know_link(struct planning *planning, const char *path, const char *target, uid_t uid)
{
	planning->known[planning->n_known++] =
		(struct known){ .path = path, .target = target, .uid = uid };
}

static void know_system(struct planning *planning)
{
	static const char *const directories[] = {
		"/usr",	      "/usr/bin",	  "/usr/sbin",	  "/usr/lib",
		"/usr/lib64", "/usr/local/bin",	  "/usr/libexec", "/usr/local/lib",
		"/etc",	      "/etc/ssl/certs",	  "/var/tmp",	  "/tmp",
		"/dev/pts",   "/proc/sys/kernel", "/home",	  "/root"
	};
	static const char *const files[] = { "/usr/bin/true", "/usr/bin/python3.11",
					     "/usr/bin/sudo", "/usr/bin/cat",
					     "/usr/bin/node", "/etc/passwd",
					     "/etc/shadow",   "/etc/ld.so.cache",
					     "/proc/kcore",   "/usr/lib/ld.so" };
	static const char *const links[][2] = {
		{ "/bin", "usr/bin" },	{ "/sbin", "usr/sbin" },
		{ "/lib", "usr/lib" },	{ "/lib64", "usr/lib64" },
		{ "/var/run", "/run" }, { "/usr/bin/python3", "python3.11" }
	};

	for (size_t i = 0; i < N_ELEMENTS(directories); i++)
		know(planning, directories[i], HOST_DIRECTORY);
	for (size_t i = 0; i < N_ELEMENTS(files); i++)
		know(planning, files[i], HOST_FILE);
	for (size_t i = 0; i < N_ELEMENTS(links); i++)
		know_link(planning, links[i][0], links[i][1], 0);
	for (size_t i = 0; i < planning->n_known; i++)
		planning->known[i].uid = 0;
}

void planning_open(struct planning *planning)
{
	*planning = (struct planning){
		.host = { .uid = 1000,
			  .gid = 1000,
			  .has_userns = true,
			  .has_proc = true,
			  .landlock_abi = 7,
			  .has_seccomp = true,
			  .has_notify = true,
			  .has_memfd_seal = true,
			  .cgroup_why = "no cgroup is delegated here",
			  .cwd = "/home/user/p",
			  .loader = "/usr/lib/ld.so" },
		.argv = { "true", NULL },
		.places = { .home = "/home/user" },
		.environment = { "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/user",
				 "LC_ALL=C.UTF-8", "SECRET_TOKEN=abc", NULL },
	};
	planning->request = (struct spawn_request){
		.argv = (char *const *)planning->argv,
		.environment = (char *const *)planning->environment,
		.id = "test",
		.project = "/home/user/p",
		.supervisor = 4711,
		.paths = planning->paths,
		.credentials = &planning->credentials,
	};
	planning->homes[0] = (struct credential_place){ "/home/user", CREDENTIALS_OF_HOME, "", 0 };
	planning->homes[1] = (struct credential_place){ "/", CREDENTIALS_OF_ROOT, "", 0 };
	planning->credentials = (struct credential_list){ planning->homes, 2, "/home/user" };
	know_system(planning);
	know(planning, "/home/user/p", HOST_DIRECTORY);
}

/* The parents of a known path are directories. */
static enum host_path_kind kind_on_host(const struct planning *planning, const char *path,
					uid_t *ret_uid)
{
	size_t len = strlen(path);
	enum host_path_kind kind = HOST_MISSING;

	for (size_t i = 0; i < planning->n_known; i++) {
		const struct known *known = &planning->known[i];

		if (strncmp(known->path, path, len) != 0)
			continue;
		if (!known->target && known->path[len] == '\0') {
			*ret_uid = known->uid;
			return known->kind;
		}
		if (known->path[len] == '/')
			kind = HOST_DIRECTORY;
	}
	return kind;
}

static uint64_t links_on_host(const struct planning *planning, const char *path)
{
	uint64_t n = 1;

	for (size_t i = 0; i < planning->n_known; i++)
		if (planning->known[i].n_links > n && strcmp(planning->known[i].path, path) == 0)
			n = planning->known[i].n_links;
	return n;
}

static mode_t mode_on_host(const struct planning *planning, const char *path,
			   enum host_path_kind kind)
{
	for (size_t i = 0; i < planning->n_known; i++)
		if (planning->known[i].mode && strcmp(planning->known[i].path, path) == 0)
			return planning->known[i].mode;
	return kind == HOST_DIRECTORY ? 0755 : 0644;
}

static const struct known *link_on_the_way(const struct planning *planning, const char *path)
{
	for (size_t i = 0; i < planning->n_known; i++) {
		const struct known *known = &planning->known[i];
		size_t len = known->target ? strlen(known->path) : 0;

		if (known->target && strncmp(known->path, path, len) == 0 &&
		    (path[len] == '/' || path[len] == '\0'))
			return known;
	}
	return NULL;
}

static int compare_links(const void *a, const void *b)
{
	return strcmp(((const struct host_link *)a)->path, ((const struct host_link *)b)->path);
}

static void remember_link(struct planning *planning, const struct known *link)
{
	struct host *host = &planning->host;

	for (size_t i = 0; i < host->n_links; i++)
		if (strcmp(planning->links[i].path, link->path) == 0)
			return;
	planning->links[host->n_links++] = (struct host_link){ .path = link->path,
							       .target = link->target,
							       .n_movable = link->n_movable };
	qsort(planning->links, host->n_links, sizeof(planning->links[0]), compare_links);
}

/* Removes "." and "..". */
static void make_normal(char path[PATH_MAX])
{
	char copy[PATH_MAX], *next = copy, *word;

	(void)snprintf(copy, sizeof(copy), "%s", path);
	path[0] = '\0';
	while ((word = strsep(&next, "/"))) {
		char *slash = strrchr(path, '/');

		if (strcmp(word, "..") == 0 && slash)
			*slash = '\0';
		else if (word[0] && strcmp(word, ".") != 0 && strcmp(word, "..") != 0)
			(void)snprintf(path + strlen(path), PATH_MAX - strlen(path), "/%s", word);
	}
}

static void follow_link(const struct known *link, char path[PATH_MAX])
{
	char next[PATH_MAX] = "", *slash;

	(void)snprintf(next, sizeof(next), "%s", link->target[0] == '/' ? "" : link->path);
	slash = strrchr(next, '/');
	if (slash)
		slash[1] = '\0';
	(void)snprintf(next + strlen(next), sizeof(next) - strlen(next), "%s%s", link->target,
		       path + strlen(link->path));
	(void)snprintf(path, PATH_MAX, "%s", next);
	make_normal(path);
}

/* Follows links of any owner; NULL if the target does not exist. */
static const char *follow_all(struct planning *planning, const char *path)
{
	const struct known *link;
	char real[PATH_MAX];
	uid_t uid;

	(void)snprintf(real, sizeof(real), "%s", path);
	while ((link = link_on_the_way(planning, real)))
		follow_link(link, real);
	return kind_on_host(planning, real, &uid) == HOST_MISSING
		       ? NULL
		       : arena_copy(&planning->arena, real, strlen(real));
}

struct host_path look_at_host(struct planning *planning, const char *path)
{
	struct host_path facts = { .path = path };
	const struct known *link;
	char real[PATH_MAX];

	(void)snprintf(real, sizeof(real), "%s", path);
	while ((link = link_on_the_way(planning, real))) {
		if (link->uid != 0) {
			facts.kind = HOST_LINK_REFUSED;
			facts.real = link->path;
			facts.uid = link->uid;
			facts.leads_to = follow_all(planning, path);
			return facts;
		}
		remember_link(planning, link);
		follow_link(link, real);
	}
	facts.real = arena_copy(&planning->arena, real, strlen(real));
	facts.kind = kind_on_host(planning, real, &facts.uid);
	facts.gid = facts.uid;
	facts.mode = mode_on_host(planning, real, facts.kind);
	facts.n_links = links_on_host(planning, real);
	return facts;
}

static int compare_facts(const void *a, const void *b)
{
	return strcmp(((const struct host_path *)a)->path, ((const struct host_path *)b)->path);
}

/* Resolves the paths of the request, as the tool does before planning. */
static void find_real_paths(struct planning *planning)
{
	for (size_t i = 0; i < planning->request.n_paths; i++) {
		struct request_path *path = &planning->paths[i];

		path->real = follow_all(planning, path->path);
	}
	planning->request.project_real = follow_all(planning, planning->request.project);
}

int ask_host(struct planning *planning)
{
	const char *const *paths = NULL;
	int r = guarded_list(&planning->places, &planning->arena, &planning->guarded);

	planning->request.guarded = &planning->guarded;
	find_real_paths(planning);
	if (r == 0)
		r = plan_list_paths(planning->policy, &planning->request, &planning->arena, &paths,
				    &planning->made, &planning->err);

	if (r < 0)
		return r;
	planning->host.n_paths = planning->host.n_links = 0;
	for (; paths && *paths; paths++) {
		struct host_path facts = look_at_host(planning, *paths);

		planning->facts[planning->host.n_paths++] = facts;
		if (facts.leads_to)
			planning->facts[planning->host.n_paths++] =
				look_at_host(planning, facts.leads_to);
	}
	qsort(planning->facts, planning->host.n_paths, sizeof(planning->facts[0]), compare_facts);
	planning->host.paths = planning->facts;
	planning->host.links = planning->links;
	return 0;
}

int planning_build(struct planning *planning)
{
	int r = ask_host(planning);

	plan_free_ptr(&planning->plan);
	if (r == 0)
		r = plan_build(planning->policy, &planning->request, &planning->host,
			       &planning->plan, &planning->err);
	return r;
}

void planning_load(struct planning *planning, const char *yaml)
{
	struct sbx_error err = { .code = 0 };

	policy_free_ptr(&planning->policy);
	if (policy_load("p.yaml", yaml, strlen(yaml), &planning->policy, &err) < 0) {
		printf("Bail out! %s: %s\n", err.what, err.why);
		exit(1);
	}
}

void grant(struct planning *planning, enum request_grant kind, const char *path, const char *option)
{
	planning->paths[planning->request.n_paths++] =
		(struct request_path){ .grant = kind, .path = path, .option = option };
}

const struct step *find_step(const struct planning *planning, enum step_kind kind,
			     const char *target)
{
	for (size_t i = 0; planning->plan && i < planning->plan->n_steps; i++) {
		const struct step *step = &planning->plan->steps[i];

		if (step->kind == kind && (!target || strcmp(step_target(step), target) == 0))
			return step;
	}
	return NULL;
}

unsigned flags_of(const struct planning *planning, enum step_kind kind, const char *target)
{
	const struct step *step = find_step(planning, kind, target);

	return step ? step_flags(step) : ~0u;
}

bool has_notice(const struct planning *planning, const char *what)
{
	for (size_t i = 0; planning->plan && i < planning->plan->n_notices; i++)
		if (strstr(planning->plan->notices[i].what, what))
			return true;
	return false;
}

bool says(const struct planning *planning, const char *what, const char *why, const char *fix)
{
	bool is_said = strstr(planning->err.what, what) && strstr(planning->err.why, why) &&
		       strstr(planning->err.fix, fix);

	if (!is_said)
		printf("# said: %s\n#   why: %s\n#   fix: %s\n", planning->err.what,
		       planning->err.why, planning->err.fix);
	return is_said;
}

const char *plan_text(struct planning *planning)
{
	text_reset(&planning->text);
	plan_add_text(&planning->text, planning->plan);
	return text_string(&planning->text);
}
