/* SPDX-License-Identifier: MIT */

/*
 * Records about the end of a channel
 *
 * ring_violation says that the other side wrote what no correct program writes; it comes before
 * ring_closed, which has the counters of this side.
 */

#include "ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "ring/counters.h"

#define TOOL "sbx-ring"

static const char *const ends[] = {
	[RING_END_CLOSED] = "closed",
	[RING_END_DIED] = "died",
	[RING_END_VIOLATION] = "violation",
	[RING_END_FAILED] = "failed",
};

int ring_record_open(const struct ring_values *values, struct recorder *ret, struct sbx_error *err)
{
	int fd = values->audit_fd;

	/* A copy: it may be stderr, which is still needed after the last record. */
	if (fd >= 0 && (fd = fcntl(fd, F_DUPFD_CLOEXEC, 3)) < 0)
		return sbx_error_what(err, -errno, "cannot use --audit-fd=%d", values->audit_fd);
	return recorder_open(ret, fd, environ, err);
}

static void begin(const struct recorder *recorder, const struct ring_ending *ending,
		  const char *channel, const char *event, struct text *out,
		  struct json_writer *json)
{
	const struct peer *peer = ending->peer;

	record_begin(recorder, out, json, event, TOOL);
	json_member_string(json, "channel", channel);
	json_member_string(json, "transport", ending->transport);
	json_member_string(json, "role", ending->role == SBX_RING_SERVER ? "server" : "client");
	if (!peer) {
		json_member_string(json, "peer", NULL);
		return;
	}
	json_member_object(json, "peer");
	if (peer->uid != (uid_t)-1)
		json_member_u64(json, "uid", peer->uid);
	json_member_i64(json, "pid", peer->pid);
	json_member_if_set(json, "confined", peer_place_name(peer->place));
	json_end_object(json);
}

static int record_violation(struct recorder *recorder, const struct ring_ending *ending,
			    const char *channel, struct sbx_error *err)
{
	_cleanup_text_ struct text record = TEXT_INIT;
	struct json_writer json;

	if (ending->end != RING_END_VIOLATION)
		return 0;
	begin(recorder, ending, channel, "ring_violation", &record, &json);
	json_member_string(&json, "reason", ending->violation ? ending->violation : "unknown");
	return record_send(recorder, &record, &json, err);
}

int ring_record_end(struct recorder *recorder, const struct ring_ending *ending,
		    struct sbx_error *err)
{
	_cleanup_text_ struct text record = TEXT_INIT;
	const char *channel = ending->channel;
	struct json_writer json;
	uint64_t random = 0;
	char digits[17];
	int r;

	if (!channel) {
		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			return sbx_error_what(err, -EIO, "cannot name the channel in a record");
		(void)snprintf(digits, sizeof(digits), "%016llx", (unsigned long long)random);
		channel = digits;
	}
	r = record_violation(recorder, ending, channel, err);
	if (r < 0)
		return r;
	begin(recorder, ending, channel, "ring_closed", &record, &json);
	json_member_string(&json, "end", ends[ending->end]);
	ring_add_counters(&json, &ending->statistics);
	return record_send(recorder, &record, &json, err);
}
