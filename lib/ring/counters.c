/* SPDX-License-Identifier: MIT */

/*
 * The counters of a channel as JSON
 *
 * sbx-audit-layout(7) has their names. The number of bytes on their way now is left out: a reader
 * of the record comes too late for it.
 */

#include "ring/counters.h"

#include <stddef.h>
#include <stdint.h>

#include <sbx/ring.h>

#include "base/cleanup.h"
#include "base/json.h"

/* clang-format off */
#define COUNTER(member) { #member, offsetof(struct sbx_ring_statistics, member) }
/* clang-format on */

static const struct {
	const char *name;
	size_t offset;
} counters[] = {
	COUNTER(messages_sent),	   COUNTER(messages_received),
	COUNTER(send_failures),	   COUNTER(receive_failures),
	COUNTER(bytes_sent),	   COUNTER(bytes_received),
	COUNTER(dropped),	   COUNTER(full),
	COUNTER(sleeps),	   COUNTER(wakes),
	COUNTER(high_water_bytes),
};

void ring_add_counters(struct json_writer *json, const struct sbx_ring_statistics *statistics)
{
	json_member_object(json, "counters");
	for (size_t i = 0; i < N_ELEMENTS(counters); i++) {
		const char *at = (const char *)statistics + counters[i].offset;

		json_member_u64(json, counters[i].name, *(const uint64_t *)(const void *)at);
	}
	json_end_object(json);
}
