/* SPDX-License-Identifier: MIT */

/*
 * How the collector is, as one line for the service manager: how far the log is behind, and what is
 * wrong
 */

#include "audit/heads.h"
#include "base/text.h"
#include "base/units.h"
#include "collect/collect-internal.h"
#include "service/service.h"

static void add_commit(struct text *out, const struct collector *collector)
{
	uint64_t ago = collect_clock_usec() - collector->committed_usec;

	if (collector->committed_usec == 0)
		return;
	text_add(out, ", last commit ");
	units_add_time(out, ago - ago % 1000);
	text_add(out, " ago");
}

static void add_heads(struct text *out, const struct collector *collector)
{
	struct heads_state state;

	if (!collector->options.heads)
		return;
	heads_get_state(collector->options.heads, &state);
	if (state.n_witnessed > 0)
		text_addf(out, "; witnessed up to %llu", (unsigned long long)state.witnessed_size);
	if (state.problem[0] != '\0')
		text_addf(out, "; %s", state.problem);
}

void collect_status(struct collector *collector)
{
	const struct audit_log *audit = collector->options.audit;
	const struct counts *counts = &collector->counts;
	_cleanup_text_ struct text line = TEXT_INIT;

	if (!collector->options.service)
		return;
	text_addf(&line, "log of %llu records, %llu unsigned",
		  (unsigned long long)audit_log_size(audit),
		  (unsigned long long)(audit_log_size(audit) - audit_log_checkpoint_size(audit)));
	text_addf(&line, "; %zu waiting", collector->queue.n);
	add_commit(&line, collector);
	text_addf(&line, "; %zu clients, %llu taken, %llu refused, %llu lost", collector->n_clients,
		  (unsigned long long)counts->n_records, (unsigned long long)counts->n_refused,
		  (unsigned long long)counts->n_lost);
	add_heads(&line, collector);
	if (collector->problem[0] != '\0')
		text_addf(&line, "; %s", collector->problem);
	if (collector->other[0] != '\0')
		text_addf(&line, "; %s", collector->other);
	if (text_status(&line) == 0)
		service_status(collector->options.service, "%s", text_string(&line));
}
