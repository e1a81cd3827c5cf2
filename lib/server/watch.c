/* SPDX-License-Identifier: MIT */

/*
 * Which renames put another policy in a file's place
 *
 * The kernel finds a file by its path component by component, and each symbolic link among them may
 * be replaced: the file's own name, a link in the middle of a chain, the directory ..data of a
 * Kubernetes volume. So each component that is a link is watched in the directory that has it, and
 * the last one, which is the file. A component that is missing is watched too: it may come back.
 */

#include "server/watch.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "server/server-internal.h"

/* As in the kernel, which fails with ELOOP then. */
#define LINKS_MAX 40

struct watch {
	struct watch *next;
	struct server *server;
	struct sd_event_source *source;
	char *name;
};

struct walk {
	struct text at;	  /* the directory so far, "" or with its last slash; has no links */
	struct text rest; /* the components below it, not resolved yet */
	unsigned n_links;
	int r; /* the first failure to watch a directory */
};

static void walk_deinit(struct walk *walk)
{
	text_deinit(&walk->at);
	text_deinit(&walk->rest);
}

static int on_rename(sd_event_source *source, const struct inotify_event *event, void *userdata)
{
	const struct watch *watch = userdata;

	/* After an overflow of the inotify queue any of the files may have been renamed. */
	if ((event->mask & IN_Q_OVERFLOW) != 0 ||
	    (event->len > 0 && strcmp(event->name, watch->name) == 0))
		(void)server_reload(watch->server, "rename", NULL);
	return 0;
}

struct watch *watch_free(struct watch *watches)
{
	for (struct watch *watch; (watch = watches);) {
		watches = watch->next;
		(void)sd_event_source_disable_unref(watch->source);
		free(watch->name);
		free(watch);
	}
	return NULL;
}

/* Watches for renames to @name in @directory. */
static int watch_add(struct server *server, const char *directory, const char *name,
		     struct watch **watches)
{
	_cleanup_watch_ struct watch *watch = calloc(1, sizeof(*watch));
	int r;

	if (!watch)
		return -ENOMEM;
	watch->server = server;
	watch->name = strdup(name);
	if (!watch->name)
		return -ENOMEM;
	r = sd_event_add_inotify(server->options.event, &watch->source, directory,
				 IN_MOVED_TO | IN_ONLYDIR, on_rename, watch);
	if (r < 0)
		return r;
	watch->next = *watches;
	*watches = take_ptr(watch);
	return 0;
}

/* Begins at "/", or in the directory so far, with @path; @below is what follows. 1 on success. */
static int resolve(struct walk *walk, const char *path, const char *below)
{
	_cleanup_text_ struct text rest = TEXT_INIT;

	if (path[0] == '/') {
		text_reset(&walk->at);
		text_add(&walk->at, "/");
	}
	text_addf(&rest, "%s/%s", path, below);
	text_reset(&walk->rest);
	text_add(&walk->rest, text_string(&rest));
	return text_status(&rest) < 0 || text_status(&walk->rest) < 0 ? -ENOMEM : 1;
}

/* Takes the first component off the rest; "" if there is none. */
static int take_component(struct walk *walk, char ret[NAME_MAX + 1])
{
	const char *rest = text_string(&walk->rest);
	size_t start = strspn(rest, "/"), length = strcspn(rest + start, "/");
	_cleanup_free_ char *left = strdup(rest + start + length);

	if (!left)
		return -ENOMEM;
	if (length > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(ret, rest + start, length);
	ret[length] = '\0';
	text_reset(&walk->rest);
	text_add(&walk->rest, left);
	return 0;
}

static bool is_last(const struct walk *walk)
{
	const char *rest = text_string(&walk->rest);

	return rest[strspn(rest, "/")] == '\0';
}

/* Goes on in the directory, or at the target of the link, that the component is: 1, or 0. */
static int follow(struct walk *walk, const char *name, const char *target, ssize_t n)
{
	if (n == -EINVAL && !is_last(walk)) {
		text_add(&walk->at, "/");
		return text_status(&walk->at) < 0 ? -ENOMEM : 1;
	}
	if (n < 0)
		return 0;
	if (++walk->n_links > LINKS_MAX)
		return -ELOOP;
	text_truncate(&walk->at, walk->at.len - strlen(name));
	return resolve(walk, target, text_string(&walk->rest));
}

static ssize_t read_link(const struct walk *walk, char ret[PATH_MAX])
{
	ssize_t n = readlink(text_string(&walk->at), ret, PATH_MAX - 1);

	if (n < 0)
		return -errno;
	ret[n] = '\0';
	return n;
}

/* 1 if there is another component, 0 at the end. */
static int step(struct server *server, struct walk *walk, struct watch **watches)
{
	char name[NAME_MAX + 1], directory[PATH_MAX], target[PATH_MAX];
	int r = take_component(walk, name);
	ssize_t n;

	if (r < 0 || name[0] == '\0')
		return r;
	if (snprintf(directory, sizeof(directory), "%s",
		     walk->at.len > 0 ? text_string(&walk->at) : ".") >= (int)sizeof(directory))
		return -ENAMETOOLONG;
	text_add(&walk->at, name);
	if (text_status(&walk->at) < 0)
		return -ENOMEM;
	n = read_link(walk, target);
	if (n != -EINVAL || is_last(walk)) {
		/* What follows can be watched even if this directory cannot, such as one that may
		 * be searched but not read. */
		r = watch_add(server, directory, name, watches);
		if (walk->r == 0)
			walk->r = r;
		/* The link may have been replaced before the watch began. */
		n = read_link(walk, target);
	}
	return follow(walk, name, target, n);
}

static int add_path(struct server *server, const char *path, struct watch **watches)
{
	_cleanup_(walk_deinit) struct walk walk = { .at = TEXT_INIT, .rest = TEXT_INIT };
	int r = resolve(&walk, path, "");

	while (r == 1)
		r = step(server, &walk, watches);
	return r < 0 ? r : walk.r;
}

/* The new watches begin before the old ones end, so that no rename is missed in between. */
void watch_policies(struct server *server)
{
	struct watch *watches = NULL;

	for (size_t i = 0; i < server->options.n_policy_paths; i++) {
		const char *path = server->options.policy_paths[i];
		int r = add_path(server, path, &watches);

		if (r < 0)
			log_write(server->options.log, LOG_LEVEL_WARNING, NULL,
				  "cannot watch each directory on the path of '%s': %s; a new "
				  "policy may need a reload",
				  path, strerror(-r));
	}
	(void)watch_free(server->watches);
	server->watches = watches;
}
