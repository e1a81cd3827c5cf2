/* SPDX-License-Identifier: MIT */

/*
 * The properties of a channel under CDMF's names
 *
 * CDMF gives the size of the memory in bytes and the capacity of the ring in messages. Here
 * messages have any length and a channel has one size, so both keys set it: a slot is room for
 * SLOT_BYTES in each direction, by which CDMF's two defaults, 4096 slots and 4 MiB, are the same.
 * The last key that is set counts. A size becomes the next power of two that a channel can have.
 */

#include "ring/properties.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include <sbx/ring.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/suggest.h"
#include "base/text.h"
#include "base/units.h"
#include "ring/deadline.h"

#define SLOT_BYTES 512
#define N_DIRECTIONS 2
#define TOTAL_MIN (N_DIRECTIONS * (uint64_t)SBX_RING_CAPACITY_MIN)
#define TOTAL_MAX (N_DIRECTIONS * (uint64_t)SBX_RING_CAPACITY_MAX)

struct property {
	const char *key;
	const char *default_value;
	int (*set)(struct sbx_ring_config *config, const struct property *property,
		   const char *value, struct sbx_error *err);
	uint64_t unit; /* of a number: in bytes or microseconds */
};

static int refuse(const struct property *property, const char *value, const char *why,
		  const char *fix, struct sbx_error *err)
{
	return error_fill(err, -EINVAL, why, fix, "'%s' is not a value of %s", value,
			  property->key);
}

/* ---- ipc_transport ---- */

const char *const ring_transport_names[] = {
	[SBX_RING_SHARED_MEMORY] = "shared_memory",
	[SBX_RING_UNIX_SOCKET] = "unix_socket",
	[SBX_RING_TCP] = "tcp",
	NULL,
};

/* Names that CDMF knows and that select nothing here, in any case. */
static const struct {
	const char *name, *why, *fix;
} refused_transports[] = {
	{ "udp_socket", "UDP loses messages and does not tell who sent them",
	  "use tcp, or unix_socket with datagrams" },
	{ "udp", "UDP loses messages and does not tell who sent them",
	  "use tcp, or unix_socket with datagrams" },
	{ "grpc", "channels have frames of their own, and no HTTP/2",
	  "use tcp for a peer without shared memory" },
	{ "tcp_socket", "the transport has another name", "write 'tcp'" },
};

static int refuse_transport(const struct property *property, const char *value,
			    struct sbx_error *err)
{
	const char *near = suggest_from(value, ring_transport_names);
	_cleanup_text_ struct text fix = TEXT_INIT;

	for (size_t i = 0; i < N_ELEMENTS(refused_transports); i++)
		if (strcasecmp(refused_transports[i].name, value) == 0)
			return refuse(property, value, refused_transports[i].why,
				      refused_transports[i].fix, err);
	if (near)
		text_addf(&fix, "did you mean '%s'? ", near);
	text_add(&fix, "the transports: ");
	suggest_add_all_from(&fix, ring_transport_names);
	return refuse(property, value, "there is no such transport", text_string(&fix), err);
}

static int set_transport(struct sbx_ring_config *config, const struct property *property,
			 const char *value, struct sbx_error *err)
{
	for (int i = 0; ring_transport_names[i]; i++) {
		if (strcmp(ring_transport_names[i], value) == 0) {
			config->transport = i;
			return 0;
		}
	}
	return refuse_transport(property, value, err);
}

/* ---- numbers ---- */

/* A positive number times the property's unit, at most @max. */
static int parse_number(const struct property *property, const char *value, uint64_t max,
			uint64_t *ret, struct sbx_error *err)
{
	uint64_t number;
	int r = units_parse_count(value, &number, err);

	if (r == -EINVAL)
		return error_retell(err, r, "'%s' is not a value of %s", value, property->key);
	if (r == 0 && number == 0)
		return refuse(property, value, "it must be greater than 0",
			      "write a larger number, or nothing for the default", err);
	if (r < 0 || number > max / property->unit) {
		(void)refuse(property, value, NULL, NULL, err);
		sbx_error_why(err, "it is more than %" PRIu64, max / property->unit);
		sbx_error_fix(err, "write a smaller number, such as '%s'", property->default_value);
		return -EINVAL;
	}
	*ret = number * property->unit;
	return 0;
}

static int set_size(struct sbx_ring_config *config, const struct property *property,
		    const char *value, struct sbx_error *err)
{
	uint64_t least = 0, total = TOTAL_MIN;
	int r = parse_number(property, value, TOTAL_MAX, &least, err);

	if (r < 0)
		return r;
	while (total < least)
		total *= 2;
	config->total_bytes = (size_t)total;
	return 0;
}

/* The last two numbers mean SBX_RING_FOREVER and SBX_RING_DEFAULT_TIMEOUT. */
static int set_timeout(struct sbx_ring_config *config, const struct property *property,
		       const char *value, struct sbx_error *err)
{
	return parse_number(property, value, SBX_RING_DEFAULT_TIMEOUT - 1, &config->timeout_usec,
			    err);
}

static int set_endpoint(struct sbx_ring_config *config, const struct property *property,
			const char *value, struct sbx_error *err)
{
	config->endpoint = value[0] ? value : NULL;
	return 0;
}

/* ---- the table ---- */

static const struct property properties[] = {
	{ "ipc_transport", "shared_memory", set_transport, 0 },
	{ "ipc_shm_size", "4194304", set_size, 1 },
	{ "ipc_buffer_size", "4096", set_size, N_DIRECTIONS *SLOT_BYTES },
	{ "ipc_endpoint", "", set_endpoint, 0 },
	{ "ipc_timeout_ms", "5000", set_timeout, USEC_PER_MSEC },
};

static const char *key_at(const void *list, size_t i)
{
	return i < N_ELEMENTS(properties) ? properties[i].key : NULL;
}

static int refuse_key(const char *key, struct sbx_error *err)
{
	const struct suggest_words keys = { .word = key_at };
	const char *near = suggest(key, keys);
	_cleanup_text_ struct text fix = TEXT_INIT;

	if (near)
		text_addf(&fix, "did you mean '%s'? ", near);
	text_add(&fix, "the properties: ");
	suggest_add_all(&fix, keys);
	return error_fill(err, -EINVAL, "there is no such property", text_string(&fix),
			  "cannot set '%s' of a channel", key);
}

int sbx_ring_configure(struct sbx_ring_config *config, const char *key, const char *value,
		       struct sbx_error *err)
{
	for (size_t i = 0; i < N_ELEMENTS(properties); i++) {
		const struct property *property = &properties[i];

		if (strcmp(property->key, key) == 0)
			return property->set(config, property,
					     value && value[0] ? value : property->default_value,
					     err);
	}
	return refuse_key(key, err);
}
