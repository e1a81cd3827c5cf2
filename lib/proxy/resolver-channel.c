/* SPDX-License-Identifier: MIT */

/*
 * How c-ares asks, and what its results mean
 *
 * c-ares would read more of the host's configuration than a proxy may use: search domains would
 * resolve another name than the one that was judged, HOSTALIASES too. The name is complete, and
 * what is asked is what was judged.
 */

#include "proxy/resolver-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"

#define RANDOM_FILE "/dev/urandom"
#define TRIES 2

/* c-ares continues with rand(), never seeded, where it cannot open this file; then the numbers of
 * its queries are known to whoever wants to forge an answer. */
static int look_for_random_numbers(void)
{
	_cleanup_close_ int fd = open(RANDOM_FILE, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : 0;
}

static int errno_of(int ares_status)
{
	return ares_status == ARES_ENOMEM ? -ENOMEM : -EINVAL;
}

static size_t count_servers(ares_channel channel)
{
	struct ares_addr_port_node *servers = NULL;
	size_t n = 0;

	if (ares_get_servers_ports(channel, &servers) != ARES_SUCCESS)
		return 0;
	for (const struct ares_addr_port_node *server = servers; server; server = server->next)
		n++;
	ares_free_data(servers);
	return n;
}

/* c-ares takes a port modulo 65536. Before the port there is an IPv4 address or a bracket; of a
 * bare IPv6 address the last colon has others before it. */
static bool is_port_valid(const char *server, size_t n_bytes)
{
	const char *colon = memrchr(server, ':', n_bytes);
	size_t n_digits = colon ? (size_t)(server + n_bytes - colon) - 1 : 0;
	unsigned long port;

	if (!colon || (server[0] != '[' && memchr(server, ':', (size_t)(colon - server))) ||
	    memchr(colon, ']', n_digits + 1))
		return true;
	port = n_digits > 0 && n_digits <= 5 ? strtoul(colon + 1, NULL, 10) : 0;
	return port > 0 && port <= UINT16_MAX;
}

/* c-ares keeps its servers where the list is empty, and skips what is empty in it. */
static int set_servers(ares_channel channel, const char *servers)
{
	int status = ares_set_servers_ports_csv(channel, servers);
	size_t n = 1;

	if (status != ARES_SUCCESS)
		return errno_of(status);
	for (const char *at = servers; (at = strchr(at, ',')); at++)
		n++;
	for (const char *at = servers, *end; *at; at = *end ? end + 1 : end) {
		end = strchrnul(at, ',');
		if (!is_port_valid(at, (size_t)(end - at)))
			return -EINVAL;
	}
	return servers[0] != '\0' && count_servers(channel) == n ? 0 : -EINVAL;
}

/* A query asks every server for the time of one attempt, then every server for twice that. */
static int attempt_msec(uint64_t timeout_usec, size_t n_servers)
{
	uint64_t msec = timeout_usec / 1000 / (n_servers * ((1 << TRIES) - 1));

	if (msec < 1)
		return 1;
	return msec < 60000 ? (int)msec : 60000;
}

static int init_for(const char *servers, uint64_t timeout_usec, size_t n_servers,
		    ares_sock_state_cb changed, void *userdata, ares_channel *ret)
{
	char lookups[] = "fb"; /* /etc/hosts, then the DNS */
	struct ares_options options = {
		.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES,
		.timeout = attempt_msec(timeout_usec, n_servers),
		.tries = TRIES,
		.ndots = 0,
		.domains = NULL,
		.ndomains = 0,
		.lookups = lookups,
		.sock_state_cb = changed,
		.sock_state_cb_data = userdata,
	};
	ares_channel channel;
	int r, status = ares_init_options(&channel, &options,
					  ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
						  ARES_OPT_NDOTS | ARES_OPT_DOMAINS |
						  ARES_OPT_LOOKUPS | ARES_OPT_SOCK_STATE_CB);

	if (status != ARES_SUCCESS)
		return errno_of(status);
	r = servers ? set_servers(channel, servers) : 0;
	if (r < 0) {
		ares_destroy(channel);
		return r;
	}
	*ret = channel;
	return 0;
}

int resolver_channel_new(const char *servers, uint64_t timeout_usec, ares_sock_state_cb changed,
			 void *userdata, ares_channel *ret)
{
	ares_channel channel;
	size_t n_servers;
	int r = look_for_random_numbers();

	if (r >= 0)
		r = init_for(servers, timeout_usec, 1, changed, userdata, &channel);
	if (r < 0)
		return r;
	/* How many there are is known only now, and the timeout cannot be changed any more. */
	n_servers = count_servers(channel);
	if (n_servers != 1) {
		ares_destroy(channel);
		if (n_servers == 0)
			return -EINVAL;
		r = init_for(servers, timeout_usec, n_servers, changed, userdata, &channel);
		if (r < 0)
			return r;
	}
	*ret = channel;
	return 0;
}

void resolver_channel_ask(ares_channel channel, const char *name, ares_addrinfo_callback found,
			  void *userdata)
{
	/* One socket type, or there would be a node for each. */
	const struct ares_addrinfo_hints hints = { .ai_family = AF_UNSPEC,
						   .ai_socktype = SOCK_STREAM };

	ares_getaddrinfo(channel, name, NULL, &hints, found, userdata);
}

/* ---- results ---- */

static const struct {
	int ares;
	enum resolver_status status;
} statuses[] = {
	{ ARES_SUCCESS, RESOLVER_FOUND },
	{ ARES_ENOTFOUND, RESOLVER_NOT_FOUND },
	{ ARES_ENODATA, RESOLVER_NOT_FOUND },
	{ ARES_EBADNAME, RESOLVER_NOT_FOUND }, /* longer than the DNS can carry */
	{ ARES_ETIMEOUT, RESOLVER_TIMED_OUT },
};

static enum resolver_status status_of(int ares_status)
{
	for (size_t i = 0; i < N_ELEMENTS(statuses); i++)
		if (statuses[i].ares == ares_status)
			return statuses[i].status;
	return RESOLVER_FAILED;
}

static bool read_address(const struct ares_addrinfo_node *node, struct resolver_address *ret)
{
	struct sockaddr_in6 ipv6;
	struct sockaddr_in ipv4;

	*ret = (struct resolver_address){ .is_ipv6 = node->ai_family == AF_INET6 };
	if (node->ai_family == AF_INET6 && node->ai_addrlen >= sizeof(ipv6)) {
		memcpy(&ipv6, node->ai_addr, sizeof(ipv6));
		memcpy(ret->bytes, &ipv6.sin6_addr, sizeof(ipv6.sin6_addr));
		return true;
	}
	if (node->ai_family != AF_INET || node->ai_addrlen < sizeof(ipv4))
		return false;
	memcpy(&ipv4, node->ai_addr, sizeof(ipv4));
	memcpy(ret->bytes, &ipv4.sin_addr, sizeof(ipv4.sin_addr));
	return true;
}

void resolver_answer_from(int ares_status, const struct ares_addrinfo *found,
			  struct resolver_answer *ret)
{
	const struct ares_addrinfo_node *node = found ? found->nodes : NULL;
	struct resolver_address address;

	*ret = (struct resolver_answer){ .status = status_of(ares_status) };
	if (ret->status != RESOLVER_FOUND)
		return;
	for (; node; node = node->ai_next) {
		if (!read_address(node, &address))
			continue;
		if (ret->n == RESOLVER_ADDRESSES_MAX) {
			*ret = (struct resolver_answer){ .status = RESOLVER_TOO_MANY };
			return;
		}
		ret->addresses[ret->n++] = address;
	}
	if (ret->n == 0)
		ret->status = RESOLVER_NOT_FOUND;
}
