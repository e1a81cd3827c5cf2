/* SPDX-License-Identifier: MIT */

/*
 * One side of a channel: from the command line to struct sbx_ring, and what its results mean
 *
 * Where the channel is follows from a NAME, --endpoint or --fd, of which two at once are refused,
 * and without all of these from $SBX_RING_FD, which sbx-spawn and "sbx-ring pair" set.
 */

#include "ring.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/units.h"
#include "ring/deadline.h"

#include "tool.h"

#define RECONNECT_PAUSE_NSEC 50000000
/* A client says after so long that it waits for its server. */
#define PATIENCE_MSEC 2000

int ring_refuse(struct sbx_error *err, const char *what, const char *why, const char *fix)
{
	(void)error_fill(err, -EINVAL, why, fix, "%s", what);
	return TOOL_USAGE;
}

/* ---- the options ---- */

const char *const ring_modes[] = {
	[SBX_RING_STREAM] = "stream",
	[SBX_RING_CALL] = "call",
	NULL,
};
const char *const ring_roles[] = {
	[SBX_RING_SERVER] = "server",
	[SBX_RING_CLIENT] = "client",
	NULL,
};
const char *const ring_full_policies[] = {
	[SBX_RING_WHEN_FULL_WAIT] = "wait",
	[SBX_RING_WHEN_FULL_FAIL] = "fail",
	[SBX_RING_WHEN_FULL_DROP] = "drop",
	NULL,
};

int ring_check_size(uint64_t size, size_t *ret, struct sbx_error *err)
{
	uint64_t capacity = size > 0 ? size / 2 : (uint64_t)SBX_RING_CAPACITY_DEFAULT;

	if (size > 0 && ((size & (size - 1)) != 0 || capacity < SBX_RING_CAPACITY_MIN ||
			 capacity > SBX_RING_CAPACITY_MAX))
		return error_fill(
			err, -EINVAL,
			"it is for both directions together, and each has a power of two from "
			"64KiB to 1GiB",
			"choose 128KiB, 1MiB, 2GiB, or another power of two between",
			"no channel can have the size %" PRIu64, size);
	*ret = (size_t)capacity;
	return 0;
}

static int find_word(const char *const *words, const char *word)
{
	int i = 0;

	while (words[i] && !(word && strcmp(words[i], word) == 0))
		i++;
	return words[i] ? i : 0;
}

static int set_property(struct sbx_ring_config *config, const char *property, struct sbx_error *err)
{
	const char *equals = strchr(property, '=');
	_cleanup_free_ char *key = equals ? strndup(property, (size_t)(equals - property)) : NULL;

	if (!equals)
		return error_fill(err, -EINVAL, "it has no '='",
				  "write --property=ipc_timeout_ms=2000", "'%s' is not a property",
				  property);
	if (!key)
		return sbx_error_what(err, -ENOMEM, "cannot read the properties");
	return sbx_ring_configure(config, key, equals + 1, err);
}

/* Properties first: an option on the same command line wins. */
static int configure(const struct side *side, struct sbx_ring_config *config, struct sbx_error *err)
{
	const struct ring_values *values = side->values;
	size_t capacity;
	int r = values->size > 0 ? ring_check_size(values->size, &capacity, err) : 0;

	for (size_t i = 0; r == 0 && i < values->properties.n_items; i++)
		r = set_property(config, values->properties.items[i], err);
	if (r < 0)
		return r;
	if (values->transport)
		r = sbx_ring_configure(config, "ipc_transport", values->transport, err);
	if (r < 0)
		return error_retell(err, r, "option '--transport' cannot take '%s'",
				    values->transport);
	if (values->mode)
		config->mode = find_word(ring_modes, values->mode);
	if (values->when_full)
		config->when_full = find_word(ring_full_policies, values->when_full);
	if (values->size > 0)
		config->total_bytes = (size_t)values->size;
	if (values->endpoint)
		config->endpoint = values->endpoint;
	if (values->timeout_usec > 0)
		config->timeout_usec = values->timeout_usec;
	else if (config->timeout_usec == 0)
		config->timeout_usec = SBX_RING_FOREVER;
	config->is_datagram = values->datagram;
	return 0;
}

/* Where the channel is. */
struct place {
	const char *name;
	int socket;
};

/* The number of an open fd above stderr in $SBX_RING_FD, -ENOENT if that is not set. */
static int read_variable(struct sbx_error *err)
{
	const char *text = getenv(RING_FD_VARIABLE);
	uint64_t number;

	if (!text || text[0] == '\0')
		return -ENOENT;
	if (units_parse_count(text, &number, NULL) < 0 || number < PROCESS_FIRST_FD ||
	    number > INT32_MAX || fcntl((int)number, F_GETFD) < 0)
		return error_fill(
			err, -EBADF, "it is not the number of an open file descriptor",
			"start it with 'sbx-ring pair' or 'sbx-spawn --ring-fd', or unset it",
			RING_FD_VARIABLE " is '%s'", text);
	return (int)number;
}

static int find_given(const struct side *side, const char *name,
		      const struct sbx_ring_config *config, struct place *ret,
		      struct sbx_error *err)
{
	const struct ring_values *values = side->values;
	const char *endpoint = config->endpoint;
	int fd = values->fd;

	if ((name != NULL) + (endpoint != NULL) + (fd >= 0) > 1)
		return ring_refuse(err, "more than one channel given",
				   "a NAME, --endpoint and --fd exclude each other",
				   "leave out all but one");
	*ret = (struct place){ .name = name, .socket = fd };
	/* TCP has a default: a port that the kernel chooses. */
	if (name || endpoint || fd >= 0 || config->transport == SBX_RING_TCP)
		return 0;
	ret->socket = read_variable(err);
	if (ret->socket != -ENOENT)
		return ret->socket < 0 ? TOOL_USAGE : 0;
	return ring_refuse(
		err, "no channel given",
		"there is no NAME, --endpoint or --fd, and " RING_FD_VARIABLE " is not set",
		config->transport != SBX_RING_SHARED_MEMORY
			? "write the path of a unix socket: --endpoint=/PATH"
		: values->serve
			? "write --endpoint=NAME, with a NAME of 'sbx-ring ls', or start "
			  "it with 'sbx-ring pair'"
			: "write a NAME of 'sbx-ring ls', or start it with 'sbx-ring pair'");
}

/* A name is of a channel in shared memory; an endpoint of the same transport is one, too. */
static int check_transport(const struct sbx_ring_config *config, struct place *place,
			   struct sbx_error *err)
{
	bool is_shared = config->transport == SBX_RING_SHARED_MEMORY;

	if (place->name && !is_shared)
		return ring_refuse(err, "a NAME does not go with this transport",
				   "a name is of a channel in shared memory",
				   "write the path or the port with --endpoint");
	if (is_shared && config->endpoint)
		place->name = config->endpoint;
	if (config->is_datagram &&
	    (config->transport != SBX_RING_UNIX_SOCKET || place->socket >= 0))
		return ring_refuse(err, "--datagram has no effect here",
				   "only a unix socket at a path is of one kind or the other",
				   "leave it out, or write --transport=unix_socket and --endpoint");
	if (place->socket >= 0 && config->transport == SBX_RING_TCP)
		return ring_refuse(err, "a socket given by --fd does not go with transport tcp",
				   "it is a unix socket", "leave out --transport");
	if (place->name && named_check(place->name, err) < 0)
		return TOOL_USAGE;
	return 0;
}

static int check_role(struct side *side, const struct place *place, struct sbx_error *err)
{
	const struct ring_values *values = side->values;

	if (values->create && place->socket < 0)
		return ring_refuse(err, "--create has no effect without a socket",
				   "a channel with a name has been made by its keeper",
				   "leave it out, or write --role=server");
	if (values->create && values->role)
		return ring_refuse(err, "--create does not go with --role",
				   "it means --role=server", "leave out one of them");
	if (place->socket >= 0)
		side->role = values->create ? SBX_RING_SERVER : SBX_RING_CLIENT;
	if (values->role)
		side->role = find_word(ring_roles, values->role);
	return 0;
}

/* What another process chooses, or the transport does not have, would be ignored. */
static int check_choices(const struct side *side, const struct sbx_ring_config *config,
			 const struct place *place, struct sbx_error *err)
{
	const struct ring_values *values = side->values;
	bool is_shared = config->transport == SBX_RING_SHARED_MEMORY;
	char what[64];

	if (!values->mode && (config->total_bytes == 0 || !is_shared))
		return 0;
	if (!is_shared)
		return ring_refuse(err, "--mode has no effect on this transport",
				   "only channels in shared memory have modes", "leave it out");
	/* The first option that has set size or mode. */
	(void)snprintf(what, sizeof(what), "%s has no effect here",
		       values->size > 0 ? "--size"
		       : values->mode	? "--mode"
					: "--property with a size");
	if (place->name)
		return ring_refuse(err, what,
				   "the keeper has chosen size and mode of a channel with a name",
				   "leave it out, and give it to 'sbx-ring create'");
	if (side->role == SBX_RING_CLIENT)
		return ring_refuse(err, what, "the server chooses size and mode of a channel",
				   "leave it out, or give it to the side with --create");
	return 0;
}

/* ---- open ---- */

/* The socket must be one: sbx_ring_open() would close stdin or a file. */
static int check_socket(int socket, struct sbx_error *err)
{
	int domain = 0;
	socklen_t size = sizeof(domain);

	if (getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX)
		return 0;
	(void)error_fill(err, -ENOTSOCK, "it is not a unix socket",
			 "start the command with 'sbx-ring pair' or 'sbx-spawn --ring-fd'",
			 "cannot use file descriptor %d as a channel", socket);
	return TOOL_USAGE;
}

/* The keeper knows which process has the other role now. False if it does not tell. */
static bool ask_for_peer(struct side *side)
{
	struct ring_status status;
	uint64_t pid;

	if (ring_status_ask(side->name, &status) < 0)
		return false;
	pid = status.pids[side->role == SBX_RING_SERVER ? SBX_RING_CLIENT : SBX_RING_SERVER];
	side->has_peer = pid > 0 && pid <= INT32_MAX;
	side->peer.pid = (pid_t)pid;
	side->peer.place = PEER_BESIDE;
	return true;
}

int side_status(int r)
{
	static const struct {
		int code, status;
	} statuses[] = {
		{ -EINVAL, TOOL_USAGE },       { -EOPNOTSUPP, TOOL_USAGE },
		{ -ENOENT, TOOL_NO },	       { -EBUSY, TOOL_NO },
		{ -ECONNREFUSED, TOOL_NO },    { -EPERM, TOOL_NO },
		{ -EACCES, TOOL_NO },	       { -ETIMEDOUT, TOOL_NO },
		{ -ECONNRESET, TOOL_NO },      { -EPIPE, TOOL_NO },
		{ -EPROTO, TOOL_NO },	       { -EBADMSG, TOOL_NO },
		{ -EADDRINUSE, TOOL_NO },      { -EEXIST, TOOL_USAGE },
		{ -ENAMETOOLONG, TOOL_USAGE }, { -ENOTDIR, TOOL_USAGE },
		{ -EPROTOTYPE, TOOL_NO },      { -EMSGSIZE, TOOL_NO },
	};

	for (size_t i = 0; i < N_ELEMENTS(statuses); i++)
		if (r == statuses[i].code)
			return statuses[i].status;
	return r;
}

/* A client inside a sandbox often has no place for records, and is not refused for that. */
static int open_recorder(struct side *side, struct sbx_error *err)
{
	struct sbx_error reason = { .code = 0 };
	int r = ring_record_open(side->values, &side->recorder, &reason);

	if (r >= 0 || side->role == SBX_RING_CLIENT)
		return 0;
	if (err)
		*err = reason;
	return r;
}

/* With port 0 the client has no other way to learn it. */
static void tell_chosen_port(const struct side *side)
{
	const char *endpoint = sbx_ring_endpoint(side->ring);

	if (side->config.transport == SBX_RING_TCP && side->role == SBX_RING_SERVER &&
	    side->run->verbosity >= 0 &&
	    (!side->config.endpoint || strcmp(endpoint, side->config.endpoint) != 0))
		log_write(&side->run->log, LOG_LEVEL_NOTICE, NULL, "the endpoint is %s", endpoint);
}

/* Two clients, one of which lacks --create, would wait for each other in silence. The wait here is
 * a part of that of sbx_ring_open(). */
static void tell_of_the_wait(struct side *side, int socket)
{
	const uint64_t patience_usec = (uint64_t)PATIENCE_MSEC * USEC_PER_MSEC;
	struct pollfd polled = { .fd = socket, .events = POLLIN };

	if (side->role != SBX_RING_CLIENT || side->config.transport != SBX_RING_SHARED_MEMORY ||
	    side->run->verbosity < 0 || side->config.timeout_usec <= patience_usec ||
	    poll(&polled, 1, PATIENCE_MSEC) != 0)
		return;
	side->config.timeout_usec -= patience_usec;
	log_write(&side->run->log, LOG_LEVEL_NOTICE, NULL,
		  "waiting for the server at the other end of the socket: one of the two sides "
		  "needs --create");
}

static int open_ring(struct side *side, const struct sbx_ring_config *config, int socket,
		     struct sbx_error *err)
{
	_cleanup_close_ int owned = socket;
	int r = open_recorder(side, err);

	if (r < 0)
		return r;
	side->config = *config;
	if (socket >= 0) {
		side->has_peer = peer_identify(socket, &side->peer) == 0;
		tell_of_the_wait(side, socket);
	}
	side->timeout_usec = config->timeout_usec;
	r = sbx_ring_open(&side->config, side->role, take_fd(&owned), &side->ring, err);
	if (r < 0 && err && err->fix[0] == '\0')
		sbx_error_fix(err, "%s",
			      r == -ETIMEDOUT || r == -ECONNRESET || r == -EPIPE
				      ? "start the other side, or allow more time (--timeout)"
				      : "see 'man sbx-ring' for what a channel needs");
	if (r == 0)
		tell_chosen_port(side);
	return r < 0 ? side_status(r) : 0;
}

int side_open_socket(struct side *side, int socket, struct sbx_error *err)
{
	struct sbx_ring_config config = { .size = sizeof(config) };
	_cleanup_close_ int owned = socket;
	int r = configure(side, &config, err);

	return r < 0 ? TOOL_USAGE : open_ring(side, &config, take_fd(&owned), err);
}

static int check(struct side *side, const struct sbx_ring_config *config, struct place *place,
		 struct sbx_error *err)
{
	int r = check_transport(config, place, err);

	if (r != 0)
		return r;
	r = check_role(side, place, err);
	if (r != 0)
		return r;
	r = check_choices(side, config, place, err);
	if (r != 0 || place->socket < 0)
		return r;
	if (side->values->follow)
		return ring_refuse(err, "--follow needs a channel that can be opened again",
				   "a channel over a given socket ends with the other side",
				   "write a NAME of 'sbx-ring create --keep', or --endpoint");
	return check_socket(place->socket, err);
}

int side_open(struct side *side, const char *name, struct sbx_error *err)
{
	struct sbx_ring_config config = { .size = sizeof(config) };
	struct place place;
	int r = configure(side, &config, err);

	if (r < 0)
		return r == -EINVAL ? TOOL_USAGE : r;
	r = find_given(side, name, &config, &place, err);
	if (r != 0)
		return r;
	r = check(side, &config, &place, err);
	if (r != 0)
		return r;
	if (place.socket >= 0)
		(void)fd_set_cloexec(place.socket);
	side->name = place.name;
	config.endpoint = place.name ? place.name : config.endpoint;
	return open_ring(side, &config, place.socket, err);
}

/* ---- the end ---- */

static enum ring_end end_of(int r)
{
	static const struct {
		int code;
		enum ring_end end;
	} ends[] = {
		{ 0, RING_END_CLOSED },		 { SBX_RING_CLOSED, RING_END_CLOSED },
		{ -EPIPE, RING_END_CLOSED },	 { -ECONNRESET, RING_END_DIED },
		{ -EPROTO, RING_END_VIOLATION },
	};

	for (size_t i = 0; i < N_ELEMENTS(ends); i++)
		if (r == ends[i].code)
			return ends[i].end;
	return RING_END_FAILED;
}

static int record_end(struct side *side, int r, struct sbx_error *err)
{
	struct ring_ending ending = {
		.channel = side->name,
		.transport = sbx_ring_transport_name(side->ring),
		.role = side->role,
		.end = end_of(r),
		.violation = sbx_ring_violation(side->ring),
		.statistics = { .size = sizeof(ending.statistics) },
	};

	if (side->recorder.fd < 0)
		return 0;
	/* Only now: the other side may have come after this one. */
	if (side->name)
		(void)ask_for_peer(side);
	ending.peer = side->has_peer ? &side->peer : NULL;
	sbx_ring_get_statistics(side->ring, &ending.statistics);
	return ring_record_end(&side->recorder, &ending, err);
}

int side_close(struct side *side, int r, struct sbx_error *err)
{
	int recorded;

	if (!side->ring)
		return 0;
	recorded = record_end(side, r, err);
	sbx_ring_close(side->ring);
	side->ring = NULL;
	return recorded;
}

int side_flush(struct side *side)
{
	int r;

	while ((r = sbx_ring_flush(side->ring)) == SBX_RING_FULL)
		if (sbx_ring_wait(side->ring, SBX_RING_WRITABLE, side->timeout_usec) != 0)
			break;
	return r;
}

void side_deinit(struct side *side)
{
	(void)side_close(side, -ECANCELED, NULL);
	recorder_deinit(&side->recorder);
	peer_deinit(&side->peer);
}

#define LET_IT_STAY "let the other side stay until this one has ended; see its own messages"

static const struct {
	int code;
	const char *why, *fix;
} explanations[] = {
	{ SBX_RING_FULL, "there was no room for the message before the time-out",
	  "let the other side read faster, allow more time (--timeout), or make a larger channel" },
	{ SBX_RING_EMPTY, "no message came before the time-out", "allow more time (--timeout)" },
	{ SBX_RING_CLOSED, "the other side has closed the channel", LET_IT_STAY },
	{ -EPIPE, "the other side has closed the channel", LET_IT_STAY },
	{ -ECONNRESET, "the process of the other side has died", "see its own messages" },
	{ -EMSGSIZE, "a message has at most 16777221 bytes", "send it in parts" },
};

/* The only side that can be open before the other one has come is the server. */
static bool lacks_client(struct side *side)
{
	if (side->role != SBX_RING_SERVER || !side->ring)
		return false;
	if (!side->name)
		return !sbx_ring_is_connected(side->ring);
	return ask_for_peer(side) && !side->has_peer;
}

/* A server that waited in vain. --when-full=fail does not wait. */
static bool explain_wait(struct side *side, int r, struct sbx_error *err)
{
	bool waits = !side->values->when_full || strcmp(side->values->when_full, "fail") != 0;

	if (r != SBX_RING_EMPTY && r != SBX_RING_FULL)
		return false;
	/* Memory can be full before a client comes; a socket has no room before. */
	if ((r == SBX_RING_EMPTY || waits || !side->name) && lacks_client(side)) {
		sbx_error_why(err, "no client came before the time-out");
		sbx_error_fix(err, "start the client, or allow more time (--timeout)");
		return true;
	}
	if (r == SBX_RING_EMPTY || waits)
		return false;
	sbx_error_why(err, "there was no room for the message");
	sbx_error_fix(err,
		      "let the other side read faster, write --when-full=wait, or make a larger "
		      "channel");
	return true;
}

/* A violation names what the other side wrote. */
static void explain(struct side *side, int r, const char *doing, struct sbx_error *err)
{
	const char *violation = side->ring ? sbx_ring_violation(side->ring) : NULL;

	(void)sbx_error_what(err, r < 0 ? r : -EAGAIN, "cannot %s", doing);
	if (r == -EPROTO) {
		sbx_error_why(err, "the other side has broken the rules of the channel: %s",
			      violation ? violation : "unknown");
		sbx_error_fix(err, "check that both sides use the same --transport, and verbs that "
				   "go together; else do not trust that process: VIOLATIONS in "
				   "sbx-ring(1)");
		return;
	}
	if (explain_wait(side, r, err))
		return;
	for (size_t i = 0; i < N_ELEMENTS(explanations); i++) {
		if (explanations[i].code != r)
			continue;
		sbx_error_why(err, "%s", explanations[i].why);
		sbx_error_fix(err, "%s", explanations[i].fix);
	}
}

int side_fail(struct side *side, int r, const char *doing, struct sbx_error *err)
{
	struct sbx_error unrecorded = { .code = 0 };

	explain(side, r, doing, err);
	if (side_close(side, r, &unrecorded) < 0 && unrecorded.code < 0)
		sbx_error_context(err, "and the record of it was not written: %s", unrecorded.what);
	return r > 0 ? TOOL_NO : side_status(r);
}

/* Is the endpoint only without its other side for now? */
static bool is_passing(int r)
{
	return r == -ETIMEDOUT || r == -ECONNREFUSED || r == -ECONNRESET || r == -EADDRINUSE;
}

int side_reconnect(struct side *side, struct sbx_error *err)
{
	static const struct timespec pause = { .tv_nsec = RECONNECT_PAUSE_NSEC };
	int r = side_close(side, 0, err);

	if (r < 0)
		return r;
	while (is_passing(r = sbx_ring_open(&side->config, side->role, -EBADF, &side->ring, err)) &&
	       side->values->timeout_usec == 0)
		(void)nanosleep(&pause, NULL);
	/* The keeper, or the directory of the socket, is gone for good. */
	if (r == -ENOENT || r == -EBUSY || is_passing(r)) {
		if (err)
			*err = (struct sbx_error){ .code = 0 };
		return RING_NO_MORE;
	}
	return r < 0 ? side_status(r) : 0;
}
