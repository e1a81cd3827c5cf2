/* SPDX-License-Identifier: MIT */

/*
 * The built-in view: system directories, the working directory, /tmp, /dev and a private home
 *
 * Without a policy the command may read and execute the system's directories and the working
 * directory, and has a private /tmp. A policy itself says what is visible; only the dialects that
 * have no rule for system directories get them: in these the working directory is writable, unless
 * it is "/" or a rule says what may be done in it.
 *
 * Libraries are executable wherever they are visible, because the program loader maps them.
 *
 * Of the host's /dev only devices of the table are shown, if an option or the policy names them.
 *
 * Programs keep caches, settings and sockets in HOME and fail without it. The private home is an
 * empty tmpfs. It exists only without a policy, because a policy says what can be written, and only
 * if no grant shows the host's home, which is then the home. Grants below it appear in it.
 */

#include "plan/plan-internal.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/path.h"
#include "policy/credentials.h"
#include "policy/view.h"

/* ---- /dev: a tmpfs with the few devices that programs need, and named ones ---- */

enum device_flag {
	DEVICE_BASIC = 1 << 0, /* always there */
	DEVICE_HARDWARE =
		1 << 1, /* the host is asked; at least one of the name's paths must exist */
};

static const struct device {
	const char *name;
	unsigned flags;
	enum content content;
	const char *paths[12];
} devices[] = {
	{ "null", DEVICE_BASIC, CONTENT_DEVICE, { "/dev/null" } },
	{ "zero", DEVICE_BASIC, CONTENT_DEVICE, { "/dev/zero" } },
	{ "full", DEVICE_BASIC, CONTENT_DEVICE, { "/dev/full" } },
	{ "random", DEVICE_BASIC, CONTENT_DEVICE, { "/dev/random" } },
	{ "urandom", DEVICE_BASIC, CONTENT_DEVICE, { "/dev/urandom" } },
	{ "tty", DEVICE_BASIC, CONTENT_DEVICE, { "/dev/tty" } },
	{ "pts", DEVICE_BASIC, CONTENT_PTS, { "/dev/pts" } },
	{ "shm", DEVICE_BASIC, CONTENT_TMPFS, { "/dev/shm" } },
	{ "dri", DEVICE_HARDWARE, CONTENT_DEVICE, { "/dev/dri" } },
	{ "nvidia",
	  DEVICE_HARDWARE,
	  CONTENT_DEVICE,
	  { "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset",
	    "/dev/nvidia0", "/dev/nvidia1", "/dev/nvidia2", "/dev/nvidia3", "/dev/nvidia4",
	    "/dev/nvidia5", "/dev/nvidia6", "/dev/nvidia7" } },
	{ "kvm", DEVICE_HARDWARE, CONTENT_DEVICE, { "/dev/kvm" } },
	{ "fuse", DEVICE_HARDWARE, CONTENT_DEVICE, { "/dev/fuse" } },
	{ "tun", DEVICE_HARDWARE, CONTENT_DEVICE, { "/dev/net/tun" } },
	{ "snd", DEVICE_HARDWARE, CONTENT_DEVICE, { "/dev/snd" } },
	{ "video",
	  DEVICE_HARDWARE,
	  CONTENT_DEVICE,
	  { "/dev/video0", "/dev/video1", "/dev/video2", "/dev/video3", "/dev/media0",
	    "/dev/media1" } },
};

const char *const plan_device_names[] = { "dri", "nvidia", "kvm",   "fuse",
					  "tun", "snd",	   "video", NULL };

static const struct {
	const char *path;
	const char *target;
} links[] = {
	{ "/dev/fd", "/proc/self/fd" },
	{ "/dev/stdin", "/proc/self/fd/0" },
	{ "/dev/stdout", "/proc/self/fd/1" },
	{ "/dev/stderr", "/proc/self/fd/2" },
};

void mark_link(struct planner *planner, const char *path, const char *target)
{
	struct mark *mark =
		planner_add_mark(planner, MARK_ALLOW, path, RIGHT_READ, origin_built_in);

	mark->content = CONTENT_LINK;
	mark->flags = MARK_OURS;
	mark->text = target;
}

static void mark_path(struct planner *planner, const struct device *device, const char *path,
		      struct step_origin origin)
{
	unsigned rights = RIGHTS_FILES | RIGHT_DEVICE;
	struct mark *mark;

	if (device->content == CONTENT_TMPFS)
		rights &= ~(unsigned)RIGHT_DEVICE;
	mark = planner_add_mark(planner, MARK_ALLOW, path, rights, origin);
	mark->content = device->content;
	mark->flags = device->flags & DEVICE_HARDWARE ? MARK_OPTIONAL : MARK_OURS;
	mark->value = device->content == CONTENT_TMPFS ? SHM_SIZE : 0;
	mark->second = 01777;
	if (device->content == CONTENT_PTS)
		mark_link(planner, "/dev/ptmx", "pts/ptmx");
}

/* Drivers are controlled by ioctl(), which the reduced tier's filter refuses. */
static int refuse_driver(struct planner *planner, const struct device *device,
			 const struct step_origin *origin)
{
	(void)sbx_error_what(planner->err, -EOPNOTSUPP,
			     "cannot provide the device '%s' in the reduced tier", device->name);
	sbx_error_why(planner->err,
		      "%s names it, and the reduced tier refuses ioctl requests to drivers",
		      origin_text(origin));
	sbx_error_fix(planner->err, "leave it out, or use a host with user namespaces");
	return -EOPNOTSUPP;
}

static int mark_device(struct planner *planner, const struct device *device,
		       struct step_origin origin)
{
	bool is_there = planner->is_listing || (device->flags & DEVICE_BASIC);

	if (planner->plan->tier == TIER_REDUCED && (device->flags & DEVICE_HARDWARE))
		return refuse_driver(planner, device, &origin);
	for (size_t i = 0; i < N_ELEMENTS(device->paths) && device->paths[i]; i++) {
		const struct host_path *facts =
			is_there ? NULL : host_find_path(planner->host, device->paths[i]);

		mark_path(planner, device, device->paths[i], origin);
		is_there |= facts && (facts->kind == HOST_DEVICE || facts->kind == HOST_DIRECTORY);
	}
	if (is_there)
		return 0;
	(void)sbx_error_what(planner->err, -ENODEV, "there is no device '%s' here", device->name);
	sbx_error_why(planner->err, "%s names it, and '%s' does not exist", origin_text(&origin),
		      device->paths[0]);
	sbx_error_fix(planner->err, "load its driver (modprobe), or leave it out");
	return -ENODEV;
}

static int mark_name(struct planner *planner, const char *name, struct step_origin origin)
{
	for (size_t i = 0; i < N_ELEMENTS(devices); i++)
		if (strcmp(devices[i].name, name) == 0)
			return mark_device(planner, &devices[i], origin);
	return error_fill(planner->err, -EINVAL,
			  "the names are null, zero, full, random, urandom, tty, pts, "
			  "shm, dri, nvidia, kvm, fuse, tun, snd, video",
			  "write one of them", "there is no device named '%.100s'", name);
}

int mark_devices(struct planner *planner)
{
	const struct spawn_request *request = planner->request;
	struct mark *directory = planner_add_mark(planner, MARK_ALLOW, "/dev",
						  RIGHTS_FILES | RIGHT_DEVICE, origin_built_in);
	bool is_listed = policy_get_setting(planner->policy, "devices") != NULL;
	const struct setting *item;
	int r = 0;

	directory->content = CONTENT_DIRECTORY;
	directory->flags = MARK_OURS;
	for (size_t i = 0; i < N_ELEMENTS(links); i++)
		mark_link(planner, links[i].path, links[i].target);
	for (size_t i = 0; (item = policy_get_item(planner->policy, "devices", i)) && r == 0; i++)
		r = mark_name(planner, item->text, origin_of_setting(planner, item));
	for (size_t i = 0; !is_listed && i < N_ELEMENTS(devices) && r == 0; i++)
		if (devices[i].flags & DEVICE_BASIC)
			r = mark_device(planner, &devices[i], origin_built_in);
	for (size_t i = 0; i < request->n_devices && r == 0; i++)
		r = mark_name(planner, request->devices[i], origin_of_option(planner, "--device"));
	if (r == 0 && request->pty)
		r = mark_name(planner, "pts", origin_of_option(planner, "--pty"));
	return r;
}

/* ---- the private home, mounted at HOME ---- */

/* Larger files are mounted: a copy uses memory of the sandbox. */
#define COPIED_BYTES_MAX (UINT64_C(1) << 20)

/* Directories in which a user installs programs. */
static const char *const toolchains[] = { ".cargo", ".rustup", ".pyenv", ".nvm", "go" };

/* Directories that cannot contain a home. */
static const char *const unusable[] = { "/proc", "/dev", "/sys" };

bool home_is_usable(const char *path)
{
	if (!path_is_normal(path) || strcmp(path, "/") == 0)
		return false;
	for (size_t i = 0; i < N_ELEMENTS(unusable); i++)
		if (path_is_at_or_below(path, unusable[i]))
			return false;
	return true;
}

/* The path without symbolic links, if the host was asked about it. */
static const char *real_path(struct planner *planner, const char *path)
{
	const struct host_path *facts = planner_facts(planner, path);

	return facts && facts->real ? facts->real : path;
}

static bool is_kind(struct planner *planner, const char *path, enum host_path_kind kind)
{
	const struct host_path *facts = planner_facts(planner, path);

	return facts && facts->kind == kind;
}

/* A missing path does not count: the command may create it. */
static bool is_directory(struct planner *planner, const char *path)
{
	return planner->is_listing || is_kind(planner, path, HOST_DIRECTORY);
}

/*
 * With "/" as the working directory the grant of "/" is not meant for the home, so the private one
 * is mounted over the host's. The command's user must be able to reach the mount point: for root's
 * sandbox that is certain only for one level below "/".
 */
static bool is_covered(struct planner *planner, const struct mark *mark, const char *home)
{
	return (mark->flags & MARK_WIDE) && is_directory(planner, home) &&
	       (!planner->request->is_root || strrchr(home, '/') == home);
}

/* Does the mark put files at @home? A fresh directory above it does not count: the private home can
 * be mounted in it. */
static bool is_home(struct planner *planner, const struct mark *mark, const char *home)
{
	const char *path = real_path(planner, mark->path);
	bool is_of_host = mark->content == CONTENT_HOST || mark->content == CONTENT_OVERLAY;

	if (mark->kind != MARK_ALLOW || !path_is_at_or_below(home, path) ||
	    strcmp(path, "/") == 0 ||
	    (is_of_host && (is_kind(planner, mark_outside(mark), HOST_MISSING) ||
			    is_covered(planner, mark, home))))
		return false;
	/* Any mark at HOME itself counts, even one for execution only: two mounts cannot share a
	 * path. */
	if (strcmp(home, path) == 0)
		return true;
	return is_of_host && (mark->rights & RIGHTS_FILES);
}

/* --home makes HOME another directory; the private home then stays for programs that look up the
 * user's home. NULL if there is none, because the home is shown, or a mount there is impossible. */
static const char *find_home(struct planner *planner)
{
	char *const *from = planner->request->home ? planner->request->environment
						   : planner->chosen.environment;
	const char *home = environment_find(from, "HOME"), *real;

	if (planner->policy || planner->plan->tier != TIER_FULL || !home || !home_is_usable(home) ||
	    is_kind(planner, home, HOST_LINK_REFUSED)) /* its owner could make it lead anywhere */
		return NULL;
	real = real_path(planner, home);
	for (size_t i = 0; i < planner->view.marks.n_rows; i++)
		if (is_home(planner, mark_at(planner, i), real))
			return NULL;
	planner->chosen.home = planner_keep(planner, real);
	return home;
}

/* Is the path a credential, or inside one? Checks both spellings of the path, because one may match
 * a row that the other does not. */
static bool is_credential(struct planner *planner, const char *path)
{
	const struct credential_list *list = planner->request->credentials;
	struct credential found;

	for (size_t i = 0; list && i < list->n_places; i++) {
		const struct credential_list one = { .places = &list->places[i], .n_places = 1 };

		if (credentials_match(&one, path, planner->memory.scratch, &found) &&
		    (found.kinds & (CREDENTIAL_SECRET | CREDENTIAL_SOCKET)))
			return true;
	}
	return false;
}

/* PATH and HOME name directories, but do not mean the keys in them; an option does. */
static void mark_directory(struct planner *planner, const char *path, const char *variable)
{
	const char *real = real_path(planner, path);

	if (!is_credential(planner, path) &&
	    (strcmp(real, path) == 0 || !is_credential(planner, real))) {
		mark_shown(planner, path, variable);
		return;
	}
	planner_advise(planner, planner_format(planner, "'%s' of %s is not shown", path, variable),
		       "it contains credentials", "name it with --read, to show it")
		->is_hint = true;
}

static void mark_toolchains(struct planner *planner, const char *home)
{
	for (size_t i = 0; i < N_ELEMENTS(toolchains); i++) {
		const char *path = planner_join(planner, home, toolchains[i]);

		if (is_directory(planner, path))
			mark_directory(planner, path, "HOME");
	}
}

static void mark_search_path(struct planner *planner, const char *home)
{
	const char *at = environment_find(planner->chosen.environment, "PATH");

	for (size_t n; at && *at; at += n + (at[n] == ':')) {
		const char *path;

		n = strcspn(at, ":");
		path = planner_keep_bytes(planner, at, n);
		if (path_is_normal(path) && path_is_at_or_below(path, home) &&
		    strcmp(path, home) != 0 && is_directory(planner, path))
			mark_directory(planner, path, "PATH");
	}
}

/* Is the file granted by itself, and not also inside another grant below the home? */
static bool is_alone(struct planner *planner, const struct mark *file)
{
	for (size_t i = 0; i < planner->view.marks.n_rows; i++) {
		const struct mark *other = mark_at(planner, i);
		const char *path = real_path(planner, other->path);

		if (other->kind == MARK_ALLOW && path_is_at_or_below(path, planner->chosen.home) &&
		    strcmp(path, planner->chosen.home) != 0 &&
		    path_is_at_or_below(real_path(planner, file->path), path) &&
		    (strcmp(other->path, file->path) != 0 || (other->rights & RIGHT_WRITE)))
			return false;
	}
	return true;
}

/* Root's supervisor could read any file to copy it: mount files that the command's user could not
 * read, so that the kernel checks their mode. */
static bool is_closed_to_command(const struct planner *planner, const struct host_path *facts)
{
	return is_real_root(planner->host) && facts->uid != 0 && facts->uid != planner->plan->uid &&
	       host_path_is_closed(facts);
}

/* Copy single files into the private home: editors and 'git config' replace a file by renaming
 * another over it, which fails on a mount. Do not copy a file named for execution: it could be
 * overwritten, and nothing in the home is executable. */
static void copy_files(struct planner *planner)
{
	for (size_t i = 0; i < planner->view.marks.n_rows; i++) {
		struct mark *mark = mark_at(planner, i);
		const struct host_path *facts = planner_facts(planner, mark->path);

		if (mark->kind != MARK_ALLOW || mark->content != CONTENT_HOST || mark->source ||
		    !(mark->flags & MARK_ASKED) || !(mark->rights & RIGHT_READ) || !facts ||
		    facts->kind != HOST_FILE || facts->size_bytes > COPIED_BYTES_MAX ||
		    !path_is_at_or_below(facts->real, planner->chosen.home) ||
		    !is_alone(planner, mark) || is_closed_to_command(planner, facts) ||
		    (mark->flags & MARK_RUN))
			continue;
		mark->content = CONTENT_COPY;
		mark->second = facts->mode & S_IXUSR ? 0700 : 0600;
	}
}

void mark_as_tmpfs(struct planner *planner, struct mark *mark, uint64_t size_bytes)
{
	mark->content = CONTENT_TMPFS;
	mark->value = size_bytes > 0 ? size_bytes : tmp_size(planner);
	mark->second = view_is_private(mark->path) ? 01777 : 0755;
}

/* /tmp and the home share one size limit. */
static void share_size(struct planner *planner)
{
	for (size_t i = 0; i < planner->view.marks.n_rows; i++) {
		struct mark *mark = mark_at(planner, i);

		if (mark->content == CONTENT_TMPFS && mark->origin.kind == ORIGIN_BUILT_IN &&
		    view_is_private(mark->path))
			mark->flags |= MARK_SHARED;
	}
}

void mark_home(struct planner *planner)
{
	const char *home = find_home(planner);
	struct mark *mark;

	if (!home)
		return;
	mark_toolchains(planner, home);
	mark_search_path(planner, home);
	mark = planner_add_mark(planner, MARK_ALLOW, planner_keep(planner, home),
				RIGHTS_FILES | (is_limiting_exec(planner) ? 0 : RIGHT_EXEC),
				origin_built_in);
	mark_as_tmpfs(planner, mark, 0);
	mark->flags = MARK_SHARED;
	mark->second = 0700;
	share_size(planner);
	copy_files(planner);
}

/* ---- the view itself ---- */

static const char *const library_directories[] = {
	"/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/local/lib",
	"/lib",	    "/lib32",	  "/lib64",	"/libx32",
};

static void mark_tmp(struct planner *planner, const char *path, unsigned rights)
{
	struct mark *tmp = planner_add_mark(planner, MARK_ALLOW, path, rights, origin_built_in);

	mark_as_tmpfs(planner, tmp, 0);
	tmp->flags = MARK_OURS | MARK_RULED;
}

static void mark_project(struct planner *planner, unsigned rights)
{
	struct mark *mark = planner_add_mark(planner, MARK_ALLOW, planner->request->project, rights,
					     origin_built_in);

	mark->flags = MARK_RULED | MARK_MAPPED | MARK_PROJECT;
	mark->real = planner->request->project_real;
}

static const char *inside_of(const struct request_path *path)
{
	return path->target ? path->target : path->path;
}

/* Does the sandbox have its own /tmp? Not if an option names /tmp itself, and not in a tier without
 * mounts. Called before the host is asked, so it depends on the tier that the caller accepts, not
 * on the host. */
bool has_own_tmp(const struct planner *planner)
{
	const struct spawn_request *request = planner->request;

	if (request->out_directory || (request->tier && tier_find(request->tier) == TIER_REDUCED))
		return false;
	for (size_t i = 0; i < request->n_paths; i++)
		if (path_is_at_or_below(VIEW_TMP, inside_of(&request->paths[i])))
			return false;
	return true;
}

static bool names_file_in_tmp(const struct spawn_request *request)
{
	for (size_t i = 0; i < request->n_paths; i++)
		if (request->paths[i].grant != GRANT_DENY &&
		    request->paths[i].grant != GRANT_DENY_WRITE &&
		    path_is_at_or_below(inside_of(&request->paths[i]), VIEW_TMP))
			return true;
	return false;
}

/* Notes that the working directory is in the host's /tmp, which the command does not see. */
static void note_tmp(struct planner *planner)
{
	const struct spawn_request *request = planner->request;

	if (planner->policy || !has_own_tmp(planner) || request->cwd ||
	    strcmp(request->project, VIEW_TMP) != 0 || names_file_in_tmp(request))
		return;
	planner_advise(planner, "the command starts in a private /tmp, without the host's files",
		       "the working directory is /tmp, where the files of all users are",
		       "--read /tmp/FILE shows one");
}

static void mark_view(struct planner *planner)
{
	struct view_row rows[VIEW_ROWS_MAX];

	policy_view(planner->policy, planner->request->project, has_own_tmp(planner), rows);
	if (view_names_project_absolutely(planner->policy, planner->request->project))
		planner_note(planner,
			     "sbx-policy eval allows more in the working directory than the "
			     "sandbox",
			     "a rule names the directory by its absolute path; eval knows it as "
			     "'./'");
	for (size_t i = 0; rows[i].path; i++) {
		unsigned rights = rights_of(rows[i].operations);

		/* Without a policy programs are restricted only if an option names one. */
		if (is_limiting_exec(planner))
			rights &= ~(unsigned)RIGHT_EXEC;
		if (strcmp(rows[i].path, "/") == 0)
			mark_everything(planner, rights, MARK_RULED | MARK_WIDE | MARK_PROJECT,
					origin_built_in);
		else if (strcmp(rows[i].path, ".") == 0)
			mark_project(planner, rights);
		else if (view_is_private(rows[i].path))
			mark_tmp(planner, rows[i].path, rights);
		else
			planner_add_mark(planner, MARK_ALLOW, rows[i].path, rights, origin_built_in)
				->flags = MARK_RULED | MARK_OPTIONAL;
	}
}

/* These list the keys of the command's uid, which no namespace separates. */
static const struct host_path keys[] = {
	{ .path = "/proc/keys", .real = "/proc/keys", .kind = HOST_FILE },
	{ .path = "/proc/key-users", .real = "/proc/key-users", .kind = HOST_FILE },
};

/* A uid of the sandbox's own has no keys. If parts of /proc are masked, the kernel refuses to mount
 * another procfs in a nested sandbox. */
static bool has_keys_to_hide(const struct planner *planner)
{
	return !planner->is_listing && !planner->chosen.is_nested &&
	       (!is_real_root(planner->host) || planner->request->has_uid);
}

static void mark_keys(struct planner *planner)
{
	for (size_t i = 0; has_keys_to_hide(planner) && i < N_ELEMENTS(keys); i++) {
		struct mark *mark = planner_add_mark(planner, MARK_DENY, keys[i].path, RIGHTS_SEEN,
						     origin_built_in);

		mark->flags = MARK_OURS | MARK_GUARD;
		mark->facts = &keys[i];
	}
}

static void mark_proc(struct planner *planner)
{
	struct mark *proc;

	if (!planner->host->has_proc) {
		planner_note(
			planner, "there is no /proc",
			"the host does not allow a new one to be mounted, and its own shows all processes");
		return;
	}
	proc = planner_add_mark(planner, MARK_ALLOW, "/proc", RIGHTS_READ, origin_built_in);
	proc->content = CONTENT_PROC;
	proc->flags = MARK_OURS;
	if (planner->chosen.is_nested)
		proc->rights |= RIGHT_WRITE;
	mark_keys(planner);
}

void mark_system(struct planner *planner)
{
	mark_proc(planner);
	mark_view(planner);
	note_tmp(planner);
	if (!is_limiting_exec(planner))
		return;
	for (size_t i = 0; i < N_ELEMENTS(library_directories); i++)
		planner_add_mark(planner, MARK_ALLOW, library_directories[i], RIGHT_MAP,
				 origin_built_in)
			->flags = MARK_OPTIONAL;
	if (planner->host->loader)
		planner_add_mark(planner, MARK_ALLOW, planner->host->loader, RIGHT_START,
				 origin_built_in);
	else
		planner_note(planner, "the program loader may not be executed",
			     "no loader was found at the path that programs of this machine name, "
			     "or a symbolic link in that path is not owned by root; a dynamically "
			     "linked program starts only if a rule allows its loader");
}
