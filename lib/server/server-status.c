/* SPDX-License-Identifier: MIT */

/*
 * How the server is: for its control socket, and as one line for the service manager
 */

#include "server/server-internal.h"

#include <stdio.h>
#include <systemd/sd-event.h>
#include <time.h>

#include "base/json.h"
#include "base/text.h"
#include "policy/request.h"
#include "server/generation.h"
#include "service/ready.h"
#include "service/service.h"
#include "token/token.h"

#define STATUS_USEC 1000000

void server_add_status(const struct server *server, struct json_writer *json)
{
	_cleanup_text_ struct text digest = TEXT_INIT;

	digest_add_hex(&digest, server_digest(server));
	json_member_string(json, "policy", text_string(&digest));
	json_add_name(json, "files");
	json_add_array(json);
	for (size_t i = 0; i < server->options.n_policy_paths; i++)
		json_add_string(json, server->options.policy_paths[i]);
	json_end_array(json);
	json_add_name(json, "decisions");
	json_add_object(json);
	for (int verdict = POLICY_ALLOW; verdict <= POLICY_DENY; verdict++)
		json_member_u64(json, policy_action_name((enum policy_action)verdict),
				server->counts.n_verdicts[verdict]);
	json_end_object(json);
	json_member_u64(json, "errors", server->counts.n_errors);
	json_member_u64(json, "clients", server->n_connections);
	json_member_u64(json, "tokens", token_count(server->tokens));
	json_member_u64(json, "extensions", server->generation->n_extensions);
	json_member_u64(json, "reloads", server->counts.n_reloads);
	json_member_u64(json, "failed_reloads", server->counts.n_failed_reloads);
	if (server->is_stale)
		json_member_string(json, "problem", server->problem);
}

static void tell(struct server *server)
{
	const uint64_t *n = server->counts.n_verdicts;
	_cleanup_text_ struct text digest = TEXT_INIT;

	if (!server->options.service)
		return;
	digest_add_hex(&digest, server_digest(server));
	service_status(server->options.service,
		       "policy %.12s: %llu allowed, %llu warned, %llu to review, %llu denied, "
		       "%llu errors; %zu clients%s%s",
		       text_string(&digest), (unsigned long long)n[POLICY_ALLOW],
		       (unsigned long long)n[POLICY_WARN], (unsigned long long)n[POLICY_REVIEW],
		       (unsigned long long)n[POLICY_DENY],
		       (unsigned long long)server->counts.n_errors, server->n_connections,
		       server->is_stale ? "; the new policy is broken, the old one stays: " : "",
		       server->is_stale ? server->problem : "");
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct server *server = userdata;

	server->is_status_due = false;
	tell(server);
	return 0;
}

void server_status_changed(struct server *server)
{
	if (server->is_status_due)
		return;
	server->is_status_due = true;
	(void)sd_event_source_set_time_relative(server->status_timer, STATUS_USEC);
	(void)sd_event_source_set_enabled(server->status_timer, SD_EVENT_ONESHOT);
	ready_wake_loop(server->options.ready);
}

int server_status_init(struct server *server)
{
	int r = sd_event_add_time_relative(server->options.event, &server->status_timer,
					   CLOCK_MONOTONIC, 0, 0, on_timer, server);

	server->is_status_due = r >= 0;
	/* Behind everything else: nobody waits for it. */
	return r < 0 ? r
		     : sd_event_source_set_priority(server->status_timer, SD_EVENT_PRIORITY_IDLE);
}
