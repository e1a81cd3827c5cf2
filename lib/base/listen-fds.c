/* SPDX-License-Identifier: MIT */

/*
 * The service manager passes sockets as the fds from 3 on, with three variables for the PID, the
 * number and the names. Children inherit these variables, so they are ignored unless the PID
 * matches; then any mistake is an error, because using a wrong fd as a listening socket would be
 * worse than not starting.
 */

#include "base/listen-fds.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/units.h"

static int refuse(struct sbx_error *err, int code)
{
	return error_fill(err, code, NULL,
			  "start it by its .socket unit, or unset LISTEN_PID, LISTEN_FDS and "
			  "LISTEN_FDNAMES",
			  "cannot take over the sockets of the service manager");
}

static int parse_number(const char *name, const char *value, uint64_t least, uint64_t most,
			uint64_t *ret, struct sbx_error *err)
{
	uint64_t number;

	if (units_parse_count(value, &number, NULL) < 0 || number < least || number > most) {
		(void)refuse(err, -EINVAL);
		sbx_error_why(err, "%s is '%s', not a number from %llu to %llu", name, value,
			      (unsigned long long)least, (unsigned long long)most);
		return -EINVAL;
	}
	*ret = number;
	return 0;
}

/* systemd allows printable ASCII in FileDescriptorName=; the colon separates names. */
static bool is_name(const char *bytes, size_t n_bytes)
{
	if (n_bytes >= LISTEN_NAME_SIZE)
		return false;
	for (size_t i = 0; i < n_bytes; i++)
		if (bytes[i] < ' ' || bytes[i] > '~' || bytes[i] == ':')
			return false;
	return true;
}

static int parse_names(const char *names, struct listen_fds *fds, struct sbx_error *err)
{
	size_t n_names = 0;

	/* Without fds, the empty string is the list of no names, not of one empty name. */
	if (fds->n_fds == 0 && names[0] == '\0')
		return 0;
	for (const char *at = names;; at++) {
		size_t len = strcspn(at, ":");

		if (!is_name(at, len)) {
			(void)refuse(err, -EINVAL);
			sbx_error_why(err,
				      "name %zu of LISTEN_FDNAMES is longer than %d bytes or "
				      "not printable",
				      n_names + 1, LISTEN_NAME_SIZE - 1);
			return -EINVAL;
		}
		if (n_names < fds->n_fds)
			memcpy(fds->names[n_names], at, len);
		n_names++;
		at += len;
		if (*at == '\0')
			break;
	}
	if (n_names == fds->n_fds)
		return 0;
	(void)refuse(err, -EINVAL);
	sbx_error_why(err, "LISTEN_FDNAMES has %zu names, LISTEN_FDS says %zu", n_names,
		      fds->n_fds);
	return -EINVAL;
}

/* All fds are checked before the flags of the first one are changed. */
static int claim(size_t n_fds, struct sbx_error *err)
{
	int end = LISTEN_FDS_START + (int)n_fds;
	int r;

	for (int fd = LISTEN_FDS_START; fd < end; fd++) {
		if (fcntl(fd, F_GETFD) < 0) {
			(void)refuse(err, -EBADF);
			sbx_error_why(err, "LISTEN_FDS says %zu, but fd %d is not open", n_fds, fd);
			return -EBADF;
		}
	}
	for (int fd = LISTEN_FDS_START; fd < end; fd++) {
		r = fd_set_cloexec(fd);
		if (r < 0)
			return refuse(err, r);
	}
	return 0;
}

int listen_fds_check(const char *listen_pid, const char *listen_fds, const char *listen_names,
		     pid_t self, struct listen_fds *ret, struct sbx_error *err)
{
	struct listen_fds found = { .n_fds = 0 };
	uint64_t pid, n_fds;
	int r;

	if (!listen_pid || !listen_fds) {
		*ret = found;
		return 0;
	}
	r = parse_number("LISTEN_PID", listen_pid, 1, INT32_MAX, &pid, err);
	if (r < 0)
		return r;
	if ((pid_t)pid != self) {
		*ret = found;
		return 0;
	}

	r = parse_number("LISTEN_FDS", listen_fds, 0, LISTEN_FDS_MAX, &n_fds, err);
	if (r < 0)
		return r;
	found.n_fds = (size_t)n_fds;
	r = listen_names ? parse_names(listen_names, &found, err) : 0;
	if (r < 0)
		return r;
	r = claim(found.n_fds, err);
	if (r < 0)
		return r;
	*ret = found;
	return 0;
}
