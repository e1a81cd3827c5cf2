/* SPDX-License-Identifier: MIT */

/*
 * The socket that a daemon listens on
 *
 * A socket file outlives its process. bind() fails with EADDRINUSE on it, and only connect() tells
 * whether the owner is alive. Another instance can do the same between our connect() and bind();
 * and one that has bound but does not listen yet refuses connections like a dead one. So connect,
 * unlink, bind and listen happen under a lock file beside the socket, which no other user can open.
 */

#include "service/listen.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/path-lock.h"

#define MODE_BITS 0777
#define N_FDS_SPARE 8

static bool is_same_file(const struct listen_socket *own)
{
	struct stat st;

	return lstat(own->path, &st) == 0 && st.st_dev == own->device && st.st_ino == own->inode;
}

void listen_socket_stop(struct listen_socket *own)
{
	if (!own->path)
		return;
	/* Unlink before shutdown() or close(): another instance leaves a live socket alone, so it
	 * cannot have bound its own here between lstat() and unlink(). */
	if (is_same_file(own))
		(void)unlink(own->path);
	free(take_ptr(own->path));
	(void)shutdown(own->fd, SHUT_RD);
}

void listen_socket_deinit(struct listen_socket *own)
{
	listen_socket_stop(own);
	close_fd(&own->fd);
	*own = (struct listen_socket)LISTEN_SOCKET_INIT;
}

int listen_adopt(int fd, const char *name, struct listen_socket *ret, struct sbx_error *err)
{
	int flags;

	if (sd_is_socket_unix(fd, SOCK_SEQPACKET, 1, NULL, 0) <= 0)
		return error_fill(err, -ENOTSOCK,
				  "it is not a listening unix socket of type SOCK_SEQPACKET",
				  "write 'ListenSequentialPacket=/path' in the .socket unit",
				  "cannot listen on fd %d, handed over as '%s'", fd, name);
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return sbx_error_what(err, -errno, "cannot make fd %d non-blocking", fd);
	*ret = (struct listen_socket){ .fd = fd };
	return 0;
}

static int fail_because(int code, const char *path, const char *why, const char *fix,
			struct sbx_error *err)
{
	return error_fill(err, code, why, fix, "cannot listen on '%s'", path);
}

static int fail(int code, const char *path, struct sbx_error *err)
{
	return fail_because(
		code, path, NULL,
		code == -EACCES || code == -EPERM
			? "choose a directory that belongs to you, or start it by its unit"
			: "check the path and its directory, or choose another one",
		err);
}

static int parse_path(const char *path, struct sockaddr_un *ret, struct sbx_error *err)
{
	size_t len = strlen(path);

	if (path[0] != '/')
		return fail_because(-EINVAL, path, "the path is not absolute", "begin it with '/'",
				    err);
	if (len >= sizeof(ret->sun_path))
		return fail_because(-ENAMETOOLONG, path,
				    "the kernel takes at most 107 bytes for a socket's path",
				    "choose a shorter path", err);
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(ret->sun_path, path, len);
	return 0;
}

static int fail_without_directory(const char *path, struct sbx_error *err)
{
	return fail_because(-ENOENT, path, "its directory does not exist",
			    "create the directory, or start it by its unit", err);
}

/* 1 if the socket file of a dead process is at @path, 0 if nothing is. */
static int find_stale(const char *path, const struct sockaddr_un *address, struct sbx_error *err)
{
	_cleanup_close_ int probe = -EBADF;
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : fail(-errno, path, err);
	if (!S_ISSOCK(st.st_mode))
		return fail_because(-EEXIST, path, "the path exists and is not a socket",
				    "remove it, or choose another path", err);

	probe = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (probe < 0)
		return fail(-errno, path, err);
	/* Only ECONNREFUSED means a dead socket: a full queue (EAGAIN), another socket type
	 * (EPROTOTYPE) and EACCES all come from a live one. */
	if (connect(probe, (const struct sockaddr *)address, sizeof(*address)) == 0 ||
	    errno != ECONNREFUSED)
		return fail_because(-EADDRINUSE, path, "another process listens there",
				    "stop it, or choose another path", err);
	return 1;
}

/* Returns 0 if @path is free now. */
static int remove_stale(const char *path, const struct sockaddr_un *address, struct sbx_error *err)
{
	int r = find_stale(path, address, err);

	if (r <= 0)
		return r;
	return unlink(path) < 0 && errno != ENOENT ? fail(-errno, path, err) : 0;
}

int listen_check(const char *path, struct sbx_error *err)
{
	struct sockaddr_un address;
	_cleanup_free_ char *directory = NULL;
	int r = parse_path(path, &address, err);

	if (r < 0)
		return r;
	directory = strndup(path, (size_t)(strrchr(path, '/') - path) + 1);
	if (!directory)
		return fail(-ENOMEM, path, err);
	if (access(directory, F_OK) < 0 && errno == ENOENT)
		return fail_without_directory(path, err);
	r = find_stale(path, &address, err);
	return r < 0 ? r : 0;
}

/* bind() creates the file with the mode of the socket's inode minus the umask: never more than
 * @mode, not even for a moment. fchmodat() adds the bits that the umask removed afterwards. */
static int bind_with_mode(const char *path, const struct sockaddr_un *address, mode_t mode,
			  struct listen_socket *own, struct sbx_error *err)
{
	struct stat st;

	if (fchmod(own->fd, mode) < 0 ||
	    bind(own->fd, (const struct sockaddr *)address, sizeof(*address)) < 0)
		return fail(-errno, path, err);
	own->path = strdup(path);
	if (!own->path || lstat(path, &st) < 0) {
		(void)unlink(path);
		return fail(own->path ? -errno : -ENOMEM, path, err);
	}
	own->device = st.st_dev;
	own->inode = st.st_ino;
	if ((mode & ~st.st_mode) != 0 && fchmodat(AT_FDCWD, path, mode, AT_SYMLINK_NOFOLLOW) < 0)
		return fail(-errno, path, err);
	if (listen(own->fd, SOMAXCONN) < 0)
		return fail(-errno, path, err);
	return 0;
}

static int open_locked(const char *path, const struct sockaddr_un *address, mode_t mode,
		       bool takes_fds, struct listen_socket *ret, struct sbx_error *err)
{
	_cleanup_listen_socket_ struct listen_socket own = LISTEN_SOCKET_INIT;
	int r = remove_stale(path, address, err);

	if (r < 0)
		return r;
	own.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (own.fd < 0)
		return fail(-errno, path, err);
	/* Before listen(): a client that connects first could send a message with fds. */
	if (!takes_fds)
		fd_refuse_fds(own.fd);
	r = bind_with_mode(path, address, mode & MODE_BITS, &own, err);
	if (r < 0)
		return r;
	*ret = own;
	own = (struct listen_socket)LISTEN_SOCKET_INIT;
	return 0;
}

int listen_open(const char *path, mode_t mode, bool takes_fds, struct listen_socket *ret,
		struct sbx_error *err)
{
	struct sockaddr_un address;
	int lock_fd, r = parse_path(path, &address, err);

	if (r < 0)
		return r;
	lock_fd = path_lock(path);
	if (lock_fd == -ENOENT)
		return fail_without_directory(path, err);
	if (lock_fd < 0)
		return fail(lock_fd, path, err);
	r = open_locked(path, &address, mode, takes_fds, ret, err);
	path_unlock(lock_fd, path);
	return r;
}

/* The kernel hands out the lowest free fd, so limit minus that fd is an upper bound of the free
 * ones. */
static int check_room(int fd, size_t n_fds)
{
	struct rlimit limit;
	_cleanup_close_ int lowest = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (lowest < 0 || getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return -errno;
	return (rlim_t)lowest + n_fds < limit.rlim_cur ? 0 : -EMFILE;
}

int listen_accept(int fd)
{
	int r = check_room(fd, N_FDS_SPARE);

	if (r < 0)
		return r;
	r = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	return r < 0 ? -errno : r;
}

int listen_check_room(int fd, size_t n_fds, const char *name, struct sbx_error *err)
{
	int r = check_room(fd, n_fds + N_FDS_SPARE);

	return r < 0 ? error_fill(err, r, "the limit of open files leaves no room for a client",
				  "raise it: ulimit -n, or LimitNOFILE= in the unit",
				  "cannot serve clients of '%s'", name)
		     : 0;
}
