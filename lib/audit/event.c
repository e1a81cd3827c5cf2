/* SPDX-License-Identifier: MIT */

/*
 * The table of events: the eighteen that every installation knows, what sbx's own tools report
 * beside them, and what the log has to say about itself.
 *
 * A decision without what was asked could not be tried on another policy, so that is required.
 */

#include "audit/event.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/suggest.h"
#include "base/text.h"

#define NAME_SHOWN_MAX 64

static const struct audit_event events[] = {
	{ .name = "syscall" },
	{ .name = "tool_execute" },
	{ .name = "tool_result" },
	{ .name = "state_transition", .is_sync = true },
	{ .name = "policy_update", .is_sync = true },
	{ .name = "session_mode_change", .is_sync = true },
	{ .name = "sandbox_created", .required = { "sandbox_id" } },
	{ .name = "sandbox_destroyed", .required = { "sandbox_id" } },
	{ .name = "sandbox_failed", .required = { "sandbox_id" } },
	{ .name = "capability_issued", .is_sync = true },
	{ .name = "capability_expired" },
	{ .name = "merge_approved", .is_sync = true },
	{ .name = "merge_rejected", .is_sync = true },
	{ .name = "kernel_start", .is_sync = true },
	{ .name = "kernel_shutdown", .is_sync = true },
	{ .name = "audit_storage_warning", .is_sync = true, .is_own = true },
	{ .name = "audit_storage_critical", .is_sync = true, .is_own = true },
	{ .name = "audit_archive_deleted", .is_sync = true, .is_own = true },

	{ .name = "policy_decision", .required = { "verdict", "input", "policy" } },
	{ .name = "policy_error" },

	{ .name = "log_created", .is_sync = true, .is_own = true },
	{ .name = "log_verified", .is_sync = true, .is_own = true },
	{ .name = "key_changed", .is_sync = true, .is_own = true },
	{ .name = "chain_broken", .is_sync = true, .is_own = true },
	{ .name = "records_lost", .is_sync = true, .is_own = true },
	{ .name = "record_refused", .is_own = true },
	{ .name = "record_torn", .is_own = true },
};

const struct audit_event *event_at(size_t i)
{
	return i < N_ELEMENTS(events) ? &events[i] : NULL;
}

const struct audit_event *event_of(const char *name, size_t n_bytes)
{
	for (size_t i = 0; n_bytes > 0 && i < N_ELEMENTS(events); i++)
		if (events[i].name[0] == name[0] && strlen(events[i].name) == n_bytes &&
		    memcmp(events[i].name, name, n_bytes) == 0)
			return &events[i];
	return NULL;
}

/* Nobody can write those of the log's own, so they are not what was meant. */
static const char *name_at(const void *list, size_t i)
{
	size_t n = 0;

	for (size_t at = 0; at < N_ELEMENTS(events); at++)
		if (!events[at].is_own && n++ == i)
			return events[at].name;
	return NULL;
}

static const char *any_name_at(const void *list, size_t i)
{
	return i < N_ELEMENTS(events) ? events[i].name : NULL;
}

/* The one that was meant, or NULL. */
static const char *tell_unknown(const char *name, size_t n_bytes, struct suggest_words words,
				struct sbx_error *err)
{
	char shown[NAME_SHOWN_MAX + 1];
	const char *near;

	/* As it is: what prints the error makes it visible, and would escape an escape again. */
	(void)snprintf(shown, sizeof(shown), "%.*s",
		       (int)(n_bytes < NAME_SHOWN_MAX ? n_bytes : NAME_SHOWN_MAX), name);
	near = suggest(shown, words);
	(void)sbx_error_what(err, -EINVAL, "'%s' is not an event", shown);
	sbx_error_why(err,
		      near ? "no event has this name" : "no event has this name, nor one near it");
	if (near)
		sbx_error_fix(err, "did you mean '%s'?", near);
	return near;
}

int event_unknown(const char *name, size_t n_bytes, struct sbx_error *err)
{
	const struct suggest_words words = { .word = name_at };
	_cleanup_text_ struct text all = TEXT_INIT;

	if (tell_unknown(name, n_bytes, words, err))
		return -EINVAL;
	suggest_add_all(&all, words);
	sbx_error_fix(err, "use one of: %s", text_string(&all));
	return -EINVAL;
}

/* All of them are too many for an error. */
int event_unknown_in_log(const char *name, size_t n_bytes, struct sbx_error *err)
{
	if (!tell_unknown(name, n_bytes, (struct suggest_words){ .word = any_name_at }, err))
		sbx_error_fix(err, "use one of those that sbx-audit-layout(7) lists, such as '%s'",
			      events[0].name);
	return -EINVAL;
}
