/* SPDX-License-Identifier: MIT */

/*
 * The keeper is trusted with nothing that the kernel can tell: its uid is that of the process that
 * called listen() (SO_PEERCRED), because the fallback directory is below /tmp, where another user
 * may have created it first. What it sends is still parsed as the input of another process.
 */

#include "ring/named.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <sbx/error.h>
#include <sbx/ring.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "ring/deadline.h"
#include "ring/endpoint.h"
#include "ring/members.h"

#define SYSTEM_DIRECTORY "/run/sbx/rings"
#define BELOW_RUNTIME "/sbx/rings"

void named_channel_deinit(struct named_channel *channel)
{
	close_fd(&channel->files.server_fd);
	close_fd(&channel->files.client_fd);
	close_fd(&channel->eventfd);
	close_fd(&channel->socket);
	close_fd(&channel->keeper);
	*channel = (struct named_channel)NAMED_CHANNEL_INIT;
}

/* ---- names ---- */

bool named_is_valid(const char *name)
{
	static const char allowed[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
	size_t len = strspn(name, allowed);

	return len > 0 && len <= NAMED_NAME_MAX && name[len] == '\0' && name[0] != '.';
}

static int fail(struct sbx_error *err, int code, const char *name, const char *why, const char *fix)
{
	return error_fill(err, code, why, fix, "cannot use the channel '%s'", name);
}

int named_check(const char *name, struct sbx_error *err)
{
	if (named_is_valid(name))
		return 0;
	return fail(err, -EINVAL, name,
		    "a name has 1 to 64 letters, digits, '_', '-' and '.', and does not begin with "
		    "'.'",
		    "choose another name");
}

int named_add_directory(struct text *out, char *const *environment)
{
	const char *runtime = environment_find_directory(environment, "XDG_RUNTIME_DIR");

	if (geteuid() == 0)
		text_add(out, SYSTEM_DIRECTORY);
	else if (runtime)
		text_addf(out, "%s" BELOW_RUNTIME, runtime);
	else
		text_addf(out, "/tmp/sbx-%u/rings", (unsigned)geteuid());
	return text_status(out);
}

/* ---- the connection ---- */

#define CONNECT_SEC 5

static int fail_to_connect(struct sbx_error *err, int code, const char *name)
{
	if (code != -ENOENT && code != -ECONNREFUSED)
		return fail(err, code, name, NULL,
			    "check the directory of its socket: sbx-ring ls");
	(void)fail(err, -ENOENT, name, "no keeper of this name runs", NULL);
	sbx_error_fix(err, "start one: sbx-ring create %s", name);
	return -ENOENT;
}

static int make_address(const char *name, struct sockaddr_un *ret, struct sbx_error *err)
{
	_cleanup_text_ struct text path = TEXT_INIT;

	if (named_add_directory(&path, environ) == 0)
		text_addf(&path, "/%s" NAMED_SUFFIX, name);
	if (text_status(&path) < 0)
		return fail(err, -ENOMEM, name, NULL, NULL);
	if (path.len >= sizeof(ret->sun_path))
		return fail(err, -ENAMETOOLONG, name,
			    "the kernel takes at most 107 bytes for a socket's path",
			    "choose a shorter name, or set XDG_RUNTIME_DIR to a shorter path");
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(ret->sun_path, path.data, path.len);
	return 0;
}

int named_connect(const char *name, struct sbx_error *err)
{
	static const struct timeval timeout = { .tv_sec = CONNECT_SEC };
	_cleanup_close_ int fd = -EBADF;
	struct sockaddr_un address;
	uid_t uid = (uid_t)-1;
	int r = named_check(name, err);

	if (r >= 0)
		r = make_address(name, &address, err);
	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	/* connect() waits while the keeper's queue is full. */
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) < 0 ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return fail_to_connect(err, -errno, name);
	if (endpoint_find_user(fd, false, &uid) < 0 || !endpoint_is_trusted(uid))
		return fail(
			err, -EPERM, name, "its keeper belongs to another user",
			"remove the socket, and set XDG_RUNTIME_DIR to a directory of your own");
	return take_fd(&fd);
}

/* ---- questions and answers ---- */

/* Words of a refusal, and the errno that they mean here. */
static const struct {
	const char *word;
	int code;
} refusals[] = {
	{ "busy", -EBUSY },	   { "denied", -EPERM }, { "bad_request", -EPROTO },
	{ "not_sealed", -EPROTO }, { "failed", -EIO },
};

struct answer {
	bool is_ok;
	int code;
	struct text what, why, fix;
};

static void answer_deinit(struct answer *answer)
{
	text_deinit(&answer->what);
	text_deinit(&answer->why);
	text_deinit(&answer->fix);
}

static void take_member(const struct json_item *name, const struct json_item *value, void *userdata)
{
	struct answer *answer = userdata;

	if (json_equals(name, "ok"))
		answer->is_ok = value->kind == JSON_TRUE;
	if (value->kind != JSON_STRING)
		return;
	for (size_t i = 0; json_equals(name, "error") && i < N_ELEMENTS(refusals); i++)
		if (json_equals(value, refusals[i].word))
			answer->code = refusals[i].code;
	if (json_equals(name, "what"))
		(void)json_decode(value, &answer->what);
	else if (json_equals(name, "why"))
		(void)json_decode(value, &answer->why);
	else if (json_equals(name, "fix"))
		(void)json_decode(value, &answer->fix);
}

static int judge_answer(const char *name, const char *bytes, size_t n_bytes, struct sbx_error *err)
{
	_cleanup_(answer_deinit) struct answer answer = { .code = -EPROTO };

	if (members_each(bytes, n_bytes, take_member, &answer) < 0)
		return fail(err, -EPROTO, name, "its keeper has not answered with a JSON object",
			    "check that both are of the same version of sbx");
	if (answer.is_ok)
		return 0;
	return error_fill(err, answer.code, answer.why.len > 0 ? text_string(&answer.why) : NULL,
			  answer.fix.len > 0 ? text_string(&answer.fix) : NULL, "%s",
			  answer.what.len > 0 ? text_string(&answer.what)
					      : "the keeper has refused the request");
}

static int fail_to_ask(struct sbx_error *err, int code, const char *name)
{
	(void)fail(err, code, name, NULL, NULL);
	if (code == -ETIMEDOUT)
		sbx_error_why(err, "its keeper has not answered before the time-out");
	else if (code == -ECONNRESET || code == -EPIPE)
		sbx_error_why(err, "its keeper has ended");
	if (code == -ETIMEDOUT)
		sbx_error_fix(err, "look what its keeper does, or end it: sbx-ring ls");
	else
		sbx_error_fix(err, "start another keeper: sbx-ring create %s", name);
	return code;
}

int named_ask(int keeper, const char *name, const char *question, uint64_t timeout_usec,
	      char *bytes, size_t *ret_n_bytes, int *fds, size_t n_fds, size_t *ret_n_fds,
	      struct sbx_error *err)
{
	size_t n_received = 0;
	ssize_t n;
	int r = fd_send(keeper, question, strlen(question), NULL, 0);

	if (r == 0)
		r = deadline_await(keeper, deadline_after(timeout_usec));
	if (r < 0)
		return fail_to_ask(err, r, name);
	n = fd_receive(keeper, bytes, NAMED_BYTES_MAX, fds, n_fds, &n_received);
	if (n <= 0)
		return fail_to_ask(err, n < 0 ? (int)n : -ECONNRESET, name);
	bytes[n] = '\0';
	r = judge_answer(name, bytes, (size_t)n, err);
	if (r < 0) {
		fd_close_many(fds, n_received);
		return r;
	}
	*ret_n_bytes = (size_t)n;
	*ret_n_fds = n_received;
	return 0;
}

/* ---- roles ---- */

static int take(int keeper, const char *name, int role, uint64_t timeout_usec,
		struct named_channel *ret, struct sbx_error *err)
{
	const char *question = role == SBX_RING_SERVER ? "{\"type\":\"TAKE\",\"role\":\"server\"}"
						       : "{\"type\":\"TAKE\",\"role\":\"client\"}";
	int fds[NAMED_N_FDS_TAKEN];
	char bytes[NAMED_BYTES_MAX + 1];
	size_t n_bytes, n_fds = 0;
	int r = named_ask(keeper, name, question, timeout_usec, bytes, &n_bytes, fds,
			  NAMED_N_FDS_TAKEN, &n_fds, err);

	/* The keeper answers when the role can be given. */
	if (r == -ETIMEDOUT) {
		sbx_error_why(err, "the server has not come before the time-out, or the former "
				   "channel is still in use");
		sbx_error_fix(err, "start the server first, or allow more time");
	}
	if (r < 0)
		return r;
	if (n_fds != NAMED_N_FDS_TAKEN) {
		fd_close_many(fds, n_fds);
		return fail(err, -EPROTO, name, "its keeper's answer lacks file descriptors",
			    "check that both are of the same version of sbx");
	}
	ret->files = (struct region_files){ .server_fd = fds[0], .client_fd = fds[1] };
	ret->eventfd = fds[2];
	ret->socket = fds[3];
	return 0;
}

int named_take(const char *name, int role, uint64_t timeout_usec, struct named_channel *ret,
	       struct sbx_error *err)
{
	_cleanup_close_ int keeper = named_connect(name, err);
	int r = keeper < 0 ? keeper : take(keeper, name, role, timeout_usec, ret, err);

	if (r < 0)
		return r;
	ret->keeper = take_fd(&keeper);
	memcpy(ret->name, name, strlen(name) + 1);
	return 0;
}

int named_tell_sealed(const struct named_channel *channel, uint64_t timeout_usec,
		      struct sbx_error *err)
{
	char bytes[NAMED_BYTES_MAX + 1];
	size_t n_bytes, n_fds;

	return named_ask(channel->keeper, channel->name, "{\"type\":\"SEALED\"}", timeout_usec,
			 bytes, &n_bytes, NULL, 0, &n_fds, err);
}
