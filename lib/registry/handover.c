/* SPDX-License-Identifier: MIT */

/*
 * Packets of the hand-over, with the fds
 *
 * What fds are is asked of the kernel, never of the packet: a memfd without seals could change
 * after it was checked, and a connected socket in place of a listener would let its sender speak
 * for the sandbox
 *
 * Nothing here waits: another process may have the same socket, so that neither room in its queue
 * nor a packet that poll() has seen need be there any more.
 */

#include "registry/handover.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"

/* Linux 6.3, which is newer than some headers */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif
#define SEALS_NEEDED (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK)

union address {
	struct sockaddr any;
	struct sockaddr_in ipv4;
	struct sockaddr_in6 ipv6;
	struct sockaddr_storage storage;
};

int handover_seal(const void *bytes, size_t n_bytes, int *ret_fd)
{
	_cleanup_close_ int fd =
		memfd_create("sbx-policy", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
	int r;

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("sbx-policy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, bytes, n_bytes);
	if (r < 0)
		return r;
	if (fcntl(fd, F_ADD_SEALS, SEALS_NEEDED | F_SEAL_SEAL) < 0)
		return -errno;
	*ret_fd = take_fd(&fd);
	return 0;
}

static int send_text(int socket, const struct text *text, const int *fds, size_t n_fds)
{
	if (text_status(text) < 0)
		return -ENOMEM;
	return text->len > HANDOVER_BYTES_MAX
		       ? -EMSGSIZE
		       : fd_send_now(socket, text_string(text), text->len, fds, n_fds);
}

int handover_send(int socket, const struct handover *handover, struct sbx_error *err)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	int fds[HANDOVER_FDS_MAX] = { handover->artefact };
	int r;

	for (size_t i = 0; i < handover->n_listeners; i++)
		fds[1 + i] = handover->listeners[i].fd;
	handover_add_text(&text, handover);
	r = send_text(socket, &text, fds, 1 + handover->n_listeners);
	return r < 0 ? sbx_error_what(err, r, "cannot hand the listeners to the proxy") : 0;
}

static int send_string(int socket, const char *string)
{
	return fd_send_now(socket, string, strlen(string), NULL, 0);
}

int handover_send_end(int socket)
{
	return send_string(socket, "{\"type\":\"END\"}");
}

int handover_send_open(int socket)
{
	return send_string(socket, "{\"type\":\"OPEN\"}");
}

int handover_send_ok(int socket)
{
	return send_string(socket, "{\"ok\":true}");
}

int handover_send_error(int socket, const struct sbx_error *error)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	error_add_json(&text, error);
	return send_text(socket, &text, NULL, 0);
}

int handover_send_summary(int socket, const struct handover_summary *summary)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	handover_add_summary(&text, summary);
	return send_text(socket, &text, NULL, 0);
}

/* ---- fds ---- */

static int refuse_fd(struct sbx_error *err, const char *what, const char *why)
{
	return error_fill(err, -EBADMSG, why, NULL, "%s", what);
}

static const char *check_artefact(int fd)
{
	struct stat status;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0)
		return "it is not a memfd";
	if ((seals & SEALS_NEEDED) != SEALS_NEEDED)
		return "its contents could change: it needs the seals against writing, growing and shrinking";
	if (fstat(fd, &status) < 0 || status.st_size <= 0 ||
	    (size_t)status.st_size > HANDOVER_ARTEFACT_MAX)
		return "it is empty or too large";
	return NULL;
}

static int get_option(int fd, int option)
{
	int value = -1;
	socklen_t size = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &size) < 0 ? -1 : value;
}

/* The address that a packet names, or AF_UNIX for a path. */
static void read_address(const struct handover_listener *listener, union address *ret)
{
	*ret = (union address){ .storage = { .ss_family = AF_UNIX } };
	if (inet_pton(AF_INET, listener->address, &ret->ipv4.sin_addr) == 1) {
		ret->ipv4.sin_family = AF_INET;
		ret->ipv4.sin_port = htons(listener->port);
		return;
	}
	*ret = (union address){ .storage = { .ss_family = AF_UNIX } };
	if (inet_pton(AF_INET6, listener->address, &ret->ipv6.sin6_addr) == 1) {
		ret->ipv6.sin6_family = AF_INET6;
		ret->ipv6.sin6_port = htons(listener->port);
	}
}

static bool is_bound_to(int fd, const union address *wanted)
{
	union address bound = { .storage = { .ss_family = AF_UNSPEC } };
	socklen_t size = sizeof(bound);

	if (getsockname(fd, &bound.any, &size) < 0 || bound.any.sa_family != wanted->any.sa_family)
		return false;
	if (bound.any.sa_family == AF_INET)
		return bound.ipv4.sin_port == wanted->ipv4.sin_port &&
		       bound.ipv4.sin_addr.s_addr == wanted->ipv4.sin_addr.s_addr;
	if (bound.any.sa_family == AF_INET6)
		return bound.ipv6.sin6_port == wanted->ipv6.sin6_port &&
		       memcmp(&bound.ipv6.sin6_addr, &wanted->ipv6.sin6_addr,
			      sizeof(struct in6_addr)) == 0;
	/* The path is one of the sandbox's file system, which has no meaning outside. */
	return bound.any.sa_family == AF_UNIX;
}

static const char *check_listener(const struct handover_listener *listener)
{
	int flags = fcntl(listener->fd, F_GETFL);
	union address wanted;

	if (get_option(listener->fd, SO_TYPE) != SOCK_STREAM)
		return "it is not a stream socket";
	if (get_option(listener->fd, SO_ACCEPTCONN) != 1)
		return "it does not listen";
	read_address(listener, &wanted);
	if (!is_bound_to(listener->fd, &wanted))
		return "it is not bound to the address that the packet names";
	if (flags < 0 || fcntl(listener->fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return "it cannot be made non-blocking";
	return NULL;
}

static int check_fds(const struct handover *handover, struct sbx_error *err)
{
	const char *why = check_artefact(handover->artefact);

	if (why)
		return refuse_fd(err, "cannot take the policy", why);
	for (size_t i = 0; i < handover->n_listeners; i++) {
		why = check_listener(&handover->listeners[i]);
		if (why)
			return refuse_fd(err, "cannot take the listener", why);
	}
	return 0;
}

void handover_close(struct handover *handover)
{
	for (size_t i = 0; i < handover->n_listeners; i++)
		close_fd(&handover->listeners[i].fd);
	close_fd(&handover->artefact);
}

/* ---- receiving ---- */

static ssize_t receive(int socket, char **ret_bytes, int *fds, size_t max_fds, size_t *ret_n_fds,
		       struct sbx_error *err)
{
	_cleanup_free_ char *bytes = malloc(HANDOVER_BYTES_MAX);
	ssize_t n =
		bytes ? fd_receive_now(socket, bytes, HANDOVER_BYTES_MAX, fds, max_fds, ret_n_fds)
		      : -ENOMEM;

	if (n == -EMSGSIZE)
		(void)error_fill(err, -EMSGSIZE,
				 "it has more bytes or fds than any packet of the hand-over", NULL,
				 "cannot take the packet");
	else if (n < 0)
		(void)sbx_error_what(err, (int)n, "cannot receive a packet of the hand-over");
	if (n > 0)
		*ret_bytes = take_ptr(bytes);
	return n;
}

/* The fds that came, in the places of the packet. */
static int place_fds(struct handover *handover, enum handover_kind kind, const int *fds,
		     size_t n_fds, struct sbx_error *err)
{
	size_t n_wanted = kind == HANDOVER_LISTENERS ? 1 + handover->n_listeners : 0;

	if (n_fds != n_wanted)
		return refuse_fd(err, "cannot take the packet",
				 "its fds are not as many as it names");
	if (kind != HANDOVER_LISTENERS)
		return 0;
	handover->artefact = fds[0];
	for (size_t i = 0; i < handover->n_listeners; i++)
		handover->listeners[i].fd = fds[1 + i];
	return check_fds(handover, err);
}

int handover_receive(int socket, struct arena *arena, struct handover *ret, struct sbx_error *err)
{
	_cleanup_free_ char *bytes = NULL;
	struct handover handover = HANDOVER_INIT;
	int fds[HANDOVER_FDS_MAX];
	size_t n_fds = 0;
	ssize_t n = receive(socket, &bytes, fds, N_ELEMENTS(fds), &n_fds, err);
	int r, kind;

	if (n < 0)
		return (int)n;
	if (n == 0)
		return HANDOVER_CLOSED;
	kind = handover_parse(bytes, (size_t)n, arena, &handover, err);
	r = kind < 0 ? kind : place_fds(&handover, (enum handover_kind)kind, fds, n_fds, err);
	if (r < 0) {
		fd_close_many(fds, n_fds);
		return r;
	}
	*ret = handover;
	return kind;
}

static int check_answer_fd(const int *fds, size_t n_fds, size_t n_expected, struct sbx_error *err)
{
	static const char what[] = "cannot take the answer of the proxy";

	if (n_fds != n_expected)
		return refuse_fd(err, what, "it has another number of fds than such an answer has");
	if (n_fds > 0 && get_option(fds[0], SO_TYPE) != SOCK_SEQPACKET)
		return refuse_fd(err, what, "its fd is not a packet socket");
	return 0;
}

int handover_receive_answer(int socket, struct arena *arena, struct handover_summary *ret,
			    int *ret_fd, struct sbx_error *err)
{
	_cleanup_free_ char *bytes = NULL;
	int fd[1] = { -EBADF };
	size_t n_fds = 0;
	ssize_t n = receive(socket, &bytes, fd, N_ELEMENTS(fd), &n_fds, err);
	int r;

	if (n < 0)
		return (int)n;
	if (n == 0)
		return error_fill(err, -ECONNRESET, "it has closed its socket, or has exited", NULL,
				  "the proxy gave no answer");
	r = handover_parse_answer(bytes, (size_t)n, arena, ret, err);
	if (r == 0)
		r = check_answer_fd(fd, n_fds, ret_fd ? 1 : 0, err);
	if (r < 0 || !ret_fd)
		fd_close_many(fd, n_fds);
	else
		*ret_fd = fd[0];
	return r;
}
