/* SPDX-License-Identifier: MIT */

/*
 * One question to a running service: connect, send, receive, understand
 */

#include "policy-token-client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "server/server.h"
#include "service/service.h"
#include "policy.h"

#define ANSWER_MAX (256 * 1024)
#define WAIT_SECONDS 10

static int fail(int code, const char *path, struct sbx_error *err)
{
	/* "Not found" is an answer of the service; that there is none is something else. */
	(void)sbx_error_what(err, code == -ENOENT ? -ENOTCONN : code,
			     "cannot ask the service at '%s'", path);
	sbx_error_why(err, "%s", strerror(-code));
	sbx_error_fix(err, code == -EACCES ? "run this as root or as the service's own user"
					   : "start it with 'sbx-policy serve', or name its socket "
					     "with --socket");
	return code == -ENOENT || code == -EACCES ? -ENOTCONN : code;
}

static int open_connection(const char *path, struct sbx_error *err)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	const struct timeval wait = { .tv_sec = WAIT_SECONDS };
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (fd < 0)
		return fail(-errno, path, err);
	if (strlen(path) >= sizeof(address.sun_path))
		return fail(-ENAMETOOLONG, path, err);
	memcpy(address.sun_path, path, strlen(path));
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) < 0 ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return fail(-errno, path, err);
	return take_fd(&fd);
}

static int exchange(const char *path, const struct text *packet, struct text *ret_answer,
		    struct sbx_error *err)
{
	_cleanup_close_ int fd = open_connection(path, err);
	_cleanup_free_ char *bytes = malloc(ANSWER_MAX);
	ssize_t n;

	if (fd < 0)
		return fd;
	if (!bytes || text_status(packet) < 0)
		return sbx_error_what(err, -ENOMEM, "cannot ask the service");
	if (send(fd, packet->data, packet->len, MSG_NOSIGNAL) < 0)
		return fail(-errno, path, err);
	n = recv(fd, bytes, ANSWER_MAX, MSG_TRUNC);
	if (n <= 0 || n > ANSWER_MAX)
		return fail(n < 0 ? -errno : n == 0 ? -ECONNRESET : -EMSGSIZE, path, err);
	text_add_bytes(ret_answer, bytes, (size_t)n);
	return text_status(ret_answer);
}

static const char *text_of(const struct tree *tree, const char *key)
{
	const struct tree_node *node = tree_get(tree, tree_root(tree), key);

	return node && node->type == TREE_STRING ? node->text : NULL;
}

/* {"ok":false,"code":...,"what":...}, or a decision: the packet of somebody who may not control. */
static int read_refusal(const struct tree *tree, struct sbx_error *err)
{
	const struct tree_node *root = tree_root(tree), *code, *reasons;
	const char *what = text_of(tree, "what"), *why = text_of(tree, "why");
	int r;

	code = tree_get(tree, root, "code");
	reasons = tree_get(tree, root, "reasons");
	r = code ? (int)strtol(code->text, NULL, 10) : -EPERM;
	if (!what && reasons && reasons->first) {
		what = reasons->first->text;
		why = reasons->first->next ? reasons->first->next->text : NULL;
	}
	(void)sbx_error_what(err, r < 0 ? r : -EPROTO, "%s",
			     what ? what : "the service did not do it");
	if (why)
		sbx_error_why(err, "%s", why);
	if (text_of(tree, "fix"))
		sbx_error_fix(err, "%s", text_of(tree, "fix"));
	return r < 0 ? r : -EPROTO;
}

int client_ask(const char *path, const struct text *packet, struct text *ret_answer,
	       struct tree **ret, struct sbx_error *err)
{
	_cleanup_text_ struct text usual = TEXT_INIT;
	_cleanup_tree_ struct tree *tree = NULL;
	const struct tree_node *ok;
	int r = path ? 0 : service_add_path(&usual, SERVER_MAIN_SOCKET, err);

	if (r >= 0)
		r = exchange(path ? path : text_string(&usual), packet, ret_answer, err);
	if (r >= 0)
		r = tree_read("<answer>", ret_answer->data, ret_answer->len, &tree, err);
	if (r < 0)
		return r;
	ok = tree_root(tree)->type == TREE_MAP ? tree_get(tree, tree_root(tree), "ok") : NULL;
	if (!ok || strcmp(ok->text, "true") != 0)
		return read_refusal(tree, err);
	*ret = take_ptr(tree);
	return 0;
}
