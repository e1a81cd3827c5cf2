/* SPDX-License-Identifier: MIT */

/*
 * The directory of the keepers' sockets
 *
 * Another user with write access to it could offer a socket of the same name. The parents are the
 * caller's own and checked first, so that no other user can replace a directory after its check.
 */

#include "ring.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

#define WRITABLE_BY_OTHERS 022
#define OPEN_TO_OTHERS 077

static int fail(struct sbx_error *err, int code, const char *path, const char *why)
{
	return error_fill(
		err, code, why,
		"set XDG_RUNTIME_DIR to a directory of your own, or correct its owner and "
		"mode",
		"cannot use the directory of the channels, '%s'", path);
}

/* Refuses the mode bits @forbidden and links. */
static int make_ours(const char *path, mode_t mode, mode_t forbidden, struct sbx_error *err)
{
	struct stat st;

	if (mkdir(path, mode) < 0 && errno != EEXIST)
		return fail(err, -errno, path, NULL);
	if (lstat(path, &st) < 0)
		return fail(err, -errno, path, NULL);
	if (!S_ISDIR(st.st_mode))
		return fail(err, -ENOTDIR, path, "it is not a directory");
	if (st.st_uid != geteuid())
		return fail(err, -EPERM, path, "it belongs to another user");
	return (st.st_mode & forbidden) == 0
		       ? 0
		       : fail(err, -EPERM, path, "other users may write there, or read it");
}

int ring_make_directory(struct text *out, struct sbx_error *err)
{
	_cleanup_free_ char *parent = NULL;
	bool is_root = geteuid() == 0;
	int r = named_add_directory(out, environ);

	if (r == 0)
		parent = strndup(out->data, (size_t)(strrchr(out->data, '/') - out->data));
	if (!parent)
		return sbx_error_what(err, -ENOMEM, "cannot find the directory of the channels");
	/* root's directory also has sockets that other users may connect to */
	r = make_ours(parent, is_root ? 0755 : 0700, WRITABLE_BY_OTHERS, err);
	return r < 0 ? r : make_ours(out->data, 0700, OPEN_TO_OTHERS, err);
}
