/* SPDX-License-Identifier: MIT */

/*
 * The ends of tokens are recorded as their beginnings are: when they are revoked or a policy ends
 * them, and by a timer when their time or their uses are over.
 */

#include "server/server-internal.h"

#include <string.h>
#include <systemd/sd-event.h>
#include <time.h>

#include <sbx/error.h>

#include "base/log.h"
#include "service/ready.h"
#include "token/token.h"

static int on_end(const struct token_info *info, enum token_end how, void *userdata)
{
	struct server *server = userdata;
	struct sbx_error err = { .code = 0 };
	int r = server_record_token(server, NULL, token_end_name(how), info, &err);

	if (r < 0)
		log_write(server->options.log, LOG_LEVEL_ERROR, NULL, "%s: %s; token %llu ended",
			  err.what, strerror(-r), (unsigned long long)info->nonce);
	return r;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct server *server = userdata;
	struct timespec now;
	uint64_t next;

	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	next = token_tell_ended(server->tokens,
				(uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
	if (next == UINT64_MAX)
		return 0;
	(void)sd_event_source_set_time(source, next);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

void server_tokens_changed(struct server *server)
{
	(void)sd_event_source_set_time(server->token_timer, 0);
	(void)sd_event_source_set_enabled(server->token_timer, SD_EVENT_ONESHOT);
	ready_wake_loop(server->options.ready);
}

int server_tokens_init(struct server *server)
{
	int r = sd_event_add_time(server->options.event, &server->token_timer, CLOCK_BOOTTIME, 0, 0,
				  on_timer, server);

	token_table_watch(server->tokens, on_end, server);
	return r < 0 ? r : sd_event_source_set_enabled(server->token_timer, SD_EVENT_OFF);
}
