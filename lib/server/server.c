/* SPDX-License-Identifier: MIT */

/*
 * The server: which policy is in force, and how another one comes into force
 *
 * A new policy is loaded, compiled and checked completely, its extensions are started, and the
 * tokens are judged by it; only then does one pointer change. Everything happens in one thread
 * between two packets, so that each is answered by one policy, and none waits in a gap.
 */

#include "server/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <systemd/sd-event.h>
#include <time.h>

#include <sbx/error.h>

#include "base/log.h"
#include "base/path.h"
#include "base/text.h"
#include "extension/extension.h"
#include "policy/request.h"
#include "server/generation.h"
#include "server/question.h"
#include "server/server-internal.h"
#include "token/token.h"

const uint8_t *server_digest(const struct server *server)
{
	return generation_digest(server->generation);
}

/* ---- the policy in force ---- */

static int on_extension(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	question_take_votes(userdata);
	return 0;
}

static int listen_to_extensions(struct server *server, struct generation *generation)
{
	for (size_t i = 0; i < generation->n_extensions; i++) {
		struct generation_extension *extension = &generation->extensions[i];
		int r = sd_event_add_io(server->options.event, &extension->source,
					extension_fd(extension->extension), EPOLLIN, on_extension,
					extension);

		if (r < 0)
			return r;
	}
	return 0;
}

static int load(struct server *server, struct generation **ret, struct sbx_error *err)
{
	_cleanup_generation_ struct generation *generation = NULL;
	int r = generation_load(server->options.policy_paths, server->options.n_policy_paths,
				server->options.environment, &generation, err);

	if (r < 0)
		return r;
	r = listen_to_extensions(server, generation);
	if (r < 0)
		return sbx_error_what(err, r, "cannot wait for the extensions");
	*ret = take_ptr(generation);
	return 0;
}

static bool survives(const struct token_info *info, void *userdata)
{
	return generation_check_token(userdata, &info->terms, NULL) == 0;
}

static size_t rejudge_tokens(struct server *server, struct generation *next)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	return token_rejudge(server->tokens, generation_digest(next),
			     (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000,
			     survives, next);
}

static int refuse(struct server *server, const struct sbx_error *why)
{
	server->counts.n_failed_reloads++;
	server->is_stale = true;
	(void)snprintf(server->problem, sizeof(server->problem), "%s", why->what);
	server_record_error(server, NULL, why);
	log_write(server->options.log, LOG_LEVEL_ERROR, NULL,
		  "%s: %s; the policy that was loaded stays in force", why->what,
		  why->why[0] != '\0' ? why->why : strerror(-why->code));
	server_status_changed(server);
	return why->code;
}

static void put_into_force(struct server *server, struct generation *next, const char *cause)
{
	_cleanup_generation_ struct generation *before = server->generation;
	size_t n_tokens_ended = rejudge_tokens(server, next);
	struct sbx_error err = { .code = 0 };

	server->generation = next;
	server->counts.n_reloads++;
	/* A record that cannot be written does not keep a policy out that may be the stricter one.
	 */
	if (server_record_reload(server, cause, generation_digest(before), n_tokens_ended, &err) <
	    0)
		log_write(server->options.log, LOG_LEVEL_ERROR, NULL, "%s: %s", err.what,
			  strerror(-err.code));
	log_write(server->options.log, LOG_LEVEL_NOTICE, NULL,
		  "a new policy is in force; %zu tokens ended", n_tokens_ended);
}

int server_reload(struct server *server, const char *cause, struct sbx_error *err)
{
	_cleanup_generation_ struct generation *next = NULL;
	struct sbx_error why = { .code = 0 };
	int r = load(server, &next, &why);

	if (r < 0) {
		if (err)
			*err = why;
		return refuse(server, &why);
	}
	server->is_stale = false;
	server_status_changed(server);
	if (memcmp(generation_digest(next), server_digest(server), 32) == 0)
		return 0;
	put_into_force(server, take_ptr(next), cause);
	return 1;
}

/* ---- a file that is renamed into place ---- */

static bool is_ours(const struct server *server, const char *name)
{
	for (size_t i = 0; i < server->options.n_policy_paths; i++)
		if (strcmp(path_last(server->options.policy_paths[i]), name) == 0)
			return true;
	return false;
}

static int on_rename(sd_event_source *source, const struct inotify_event *event, void *userdata)
{
	struct server *server = userdata;

	/* After an overflow nobody knows what was renamed. */
	if ((event->mask & IN_Q_OVERFLOW) != 0 || (event->len > 0 && is_ours(server, event->name)))
		(void)server_reload(server, "rename", NULL);
	return 0;
}

static int watch(struct server *server, const char *path, struct sd_event_source **ret)
{
	_cleanup_text_ struct text folder = TEXT_INIT;

	text_add_bytes(&folder, path, (size_t)(path_last(path) - path));
	if (folder.len == 0)
		text_add(&folder, ".");
	if (text_status(&folder) < 0)
		return -ENOMEM;
	return sd_event_add_inotify(server->options.event, ret, text_string(&folder),
				    IN_MOVED_TO | IN_ONLYDIR, on_rename, server);
}

/* Before the first load: what is renamed in between is then seen a second time, not missed. */
static void watch_all(struct server *server)
{
	for (size_t i = 0; i < server->options.n_policy_paths; i++) {
		const char *path = server->options.policy_paths[i];
		int r = watch(server, path, &server->watches[i]);

		if (r < 0)
			log_write(server->options.log, LOG_LEVEL_WARNING, NULL,
				  "cannot watch the folder of '%s': %s; a new policy needs a "
				  "reload",
				  path, strerror(-r));
	}
}

/* ---- life ---- */

int server_finish(struct server *server, struct sbx_error *err)
{
	return server_record_life(server, "kernel_shutdown", err);
}

struct server *server_free(struct server *server)
{
	if (!server)
		return NULL;
	connection_free_all(server);
	for (size_t i = 0; server->watches && i < server->options.n_policy_paths; i++)
		(void)sd_event_source_disable_unref(server->watches[i]);
	(void)sd_event_source_disable_unref(server->status_timer);
	(void)sd_event_source_disable_unref(server->token_timer);
	(void)generation_unref(server->generation);
	(void)token_table_free(server->tokens);
	free(server->watches);
	free(server->packet);
	free(server);
	return NULL;
}

void server_free_ptr(struct server **server)
{
	*server = server_free(*server);
}

int server_new(const struct server_options *options, struct server **ret, struct sbx_error *err)
{
	_cleanup_server_ struct server *server = calloc(1, sizeof(*server));
	int r = server ? token_table_new(&server->tokens) : -ENOMEM;

	if (r < 0)
		return sbx_error_what(err, r, "cannot start the server");
	server->options = *options;
	clients_init(&server->clients, options->n_clients_max, options->log, connection_drop);
	server->packet = malloc(REQUEST_BYTES_MAX + 1);
	server->watches = calloc(options->n_policy_paths, sizeof(*server->watches));
	if (!server->packet || !server->watches)
		return sbx_error_what(err, -ENOMEM, "cannot start the server");
	r = server_status_init(server);
	if (r >= 0)
		r = server_tokens_init(server);
	if (r < 0)
		return sbx_error_what(err, r, "cannot prepare the server's timers");
	watch_all(server);
	r = load(server, &server->generation, err);
	if (r < 0)
		return r;
	r = server_record_life(server, "kernel_start", err);
	if (r < 0)
		return r;
	server_status_changed(server);
	*ret = take_ptr(server);
	return 0;
}
