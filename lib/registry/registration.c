/* SPDX-License-Identifier: MIT */

/*
 * A sandbox's own directory, from mkdir to rmdir
 *
 * Only the lock says whether a directory has an owner. Between mkdir and flock it has none, and gc
 * may remove it: a process that has got the lock therefore checks that the directory still exists,
 * and a creator begins again if it does not. Readers take a shared lock for a moment, which must
 * not be mistaken for an owner's.
 */

#include "registry/registry-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"

#define NEW_STATE_NAME "state.json.new"
#define NEW_POLICY_NAME (SANDBOX_POLICY_NAME ".new")
#define N_CREATE_TRIES 100000
#define N_LOCK_TRIES 50000
#define N_REMOVE_TRIES 100

static int fail(struct sbx_error *err, int code, const char *doing, const char *id, const char *why,
		const char *fix)
{
	(void)error_fill(err, code, why, NULL, "cannot %s the sandbox '%s'", doing, id);
	error_fix_for(err, fix, id);
	return code;
}

/* An owner's exclusive lock excludes a shared one, too; a reader's shared lock does not, and is
 * released soon. Sleep meanwhile: on a busy host the reader may not be scheduled for seconds. */
static int lock_if_free(int directory)
{
	const struct timespec moment = { .tv_nsec = 50000 };

	for (int i = 0; i < N_LOCK_TRIES; i++) {
		if (flock(directory, LOCK_EX | LOCK_NB) == 0)
			return registry_is_removed(directory) ? -ENOENT : 0;
		if (flock(directory, LOCK_SH | LOCK_NB) < 0)
			return errno == EWOULDBLOCK ? -EBUSY : -errno;
		/* Or other processes in this loop would take this one for a reader. */
		(void)flock(directory, LOCK_UN);
		(void)nanosleep(&moment, NULL);
	}
	return -EBUSY;
}

/* Waits for a gc that is removing the directory because it had no owner yet. */
static int lock_new(int directory)
{
	while (flock(directory, LOCK_EX) < 0)
		if (errno != EINTR)
			return -errno;
	return registry_is_removed(directory) ? -ENOENT : 0;
}

static void take(struct registration *ret, const char *id, int *directory)
{
	registration_deinit(ret);
	ret->directory = take_fd(directory);
	(void)snprintf(ret->id, sizeof(ret->id), "%s", id);
}

/* A gc that runs in a loop can remove each new directory before it is locked, until it is preempted
 * once, such as by a timer tick: so the number of tries is large. */
static int create(int registry, const char *id, struct registration *ret)
{
	for (int i = 0; i < N_CREATE_TRIES; i++) {
		_cleanup_close_ int directory = -EBADF;
		int r;

		if (mkdirat(registry, id, 0700) < 0)
			return -errno;
		directory = registry_open_directory(registry, id);
		r = directory < 0 ? directory : lock_new(directory);
		if (r == 0)
			take(ret, id, &directory);
		if (r != -ENOENT)
			return r;
	}
	return -EBUSY;
}

int registration_create(int registry, const char *id, struct registration *ret,
			struct sbx_error *err)
{
	int r = sandbox_id_is_valid(id) ? create(registry, id, ret) : -EINVAL;

	if (r == -EINVAL)
		return fail(err, r, "name", id,
			    "a name has letters, digits, '-', '_' and '.', at most 64 of them, and "
			    "begins with a letter or digit",
			    "choose another --id");
	if (r == -EEXIST)
		return fail(err, r, "make", id, "a sandbox of this name exists",
			    "choose another --id, or remove that one with 'sbx-ctl remove ID'");
	if (r < 0)
		return fail(err, r, "make", id, NULL,
			    "check the runtime directory: its owner, and room in its file system");
	return 0;
}

int registration_claim(int registry, const char *id, struct registration *ret,
		       struct sbx_error *err)
{
	_cleanup_close_ int directory = registry_open_directory(registry, id);
	int r = directory < 0 ? directory : lock_if_free(directory);

	if (r == -ENOENT || r == -EINVAL)
		return registry_fail_to_find(id, r, err);
	if (r == -EBUSY)
		return fail(err, r, "take", id, "it is running", "stop it first: sbx-ctl stop ID");
	if (r == -EACCES)
		return fail(err, r, "take", id, "the calling user may not open its directory",
			    "change the mode of its directory to 700");
	if (r < 0)
		return fail(err, r, "take", id, NULL,
			    "check the runtime directory: its owner and its file system");
	take(ret, id, &directory);
	return 0;
}

static bool waits_for_start(int registry, const char *id)
{
	_cleanup_(arena_deinit) struct arena arena = ARENA_INIT;
	struct sandbox_entry entry;
	bool is_alive;

	return registry_read(registry, id, &arena, &entry, &is_alive, NULL) == 0 && entry.waits;
}

int registration_adopt(int registry, const char *id, struct registration *ret,
		       struct sbx_error *err)
{
	_cleanup_registration_ struct registration claimed = REGISTRATION_INIT;
	int r = registration_claim(registry, id, &claimed, err);

	if (r < 0)
		return r;
	if (!waits_for_start(registry, id))
		return fail(err, -EEXIST, "start", id, "a sandbox of this name has already run",
			    "create another, or remove that one with 'sbx-ctl remove ID'");
	take(ret, id, &claimed.directory);
	return 0;
}

/* ENXIO: a FIFO or a socket of this name, which sbx has not made. */
static int open_new(int directory, const char *name)
{
	const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	int fd = openat(directory, name, flags, 0600);

	if (fd < 0 && errno == ENXIO && unlinkat(directory, name, 0) == 0)
		fd = openat(directory, name, flags, 0600);
	return fd < 0 ? -errno : fd;
}

/* @name and @new_name are of one file. */
static int put(int directory, const char *name, const char *new_name, const struct text *content)
{
	_cleanup_close_ int fd = -EBADF;
	int r = text_status(content);

	if (r < 0)
		return r;
	fd = open_new(directory, new_name);
	if (fd < 0)
		return fd;
	r = fd_write_all(fd, text_string(content), content->len);
	/* Not synced: what is running does not survive a crash of the host either. */
	if (r == 0 && renameat(directory, new_name, directory, name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(directory, new_name, 0);
	return r;
}

/*
 * On a full file system there is no room for a new file, but for the old one's pages: so the end of
 * a command whose own output has filled it is still recorded. A reader may see half of it.
 */
static int put_in_place(int directory, const char *name, const struct text *content)
{
	_cleanup_close_ int fd =
		openat(directory, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int r = fd < 0 ? -errno : posix_fallocate(fd, 0, (off_t)content->len);

	if (r != 0)
		return r < 0 ? r : -r;
	r = fd_write_all(fd, text_string(content), content->len);
	return r == 0 && ftruncate(fd, (off_t)content->len) < 0 ? -errno : r;
}

/* EFBIG: the caller's limit, as in record_send(). */
static const char *fix_of(int r)
{
	if (r == -EFBIG)
		return "raise the limit of file sizes with ulimit -f; sbx-spawn --file-size limits "
		       "only the command";
	return "make room in the runtime directory";
}

int registration_write(const struct registration *registration, const struct sandbox_entry *entry,
		       struct sbx_error *err)
{
	_cleanup_text_ struct text state = TEXT_INIT;
	int r;

	entry_add_state(&state, entry);
	r = put(registration->directory, STATE_NAME, NEW_STATE_NAME, &state);
	if ((r == -ENOSPC || r == -EDQUOT) &&
	    put_in_place(registration->directory, STATE_NAME, &state) == 0)
		r = 0;
	if (r < 0)
		return fail(err, r, "write the state of", registration->id, NULL, fix_of(r));
	return 0;
}

int registration_write_policy(const struct registration *registration, const struct text *policy,
			      struct sbx_error *err)
{
	int r = put(registration->directory, SANDBOX_POLICY_NAME, NEW_POLICY_NAME, policy);

	if (r < 0)
		return fail(err, r, "write the policy of", registration->id, NULL, fix_of(r));
	return 0;
}

/* All files that sbx may have created there, also one whose creator was killed before it renamed
 * it; a start of sbx-spawn creates the first. */
static int remove_contents(int directory)
{
	static const char *const names[] = {
		STATE_NAME,	     NEW_STATE_NAME,	  SANDBOX_CONTROL_NAME,
		SANDBOX_LOG_NAME,    SANDBOX_PAUSED_NAME, SANDBOX_CONFIGURATION_NAME,
		SANDBOX_POLICY_NAME, NEW_POLICY_NAME,	  SANDBOX_NEW_CONFIGURATION_NAME,
	};
	int r = 0;

	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		if (unlinkat(directory, names[i], 0) < 0 && errno != ENOENT)
			r = -errno;
	return r;
}

static int remove_directory(int registry, const char *id)
{
	return unlinkat(registry, id, AT_REMOVEDIR) < 0 && errno != ENOENT ? -errno : 0;
}

/* 'sbx-ctl start' opens the log before it finds that the sandbox is gone, which may create the file
 * again: once for each start. */
static int remove_with_contents(int registry, const struct registration *registration)
{
	int r = -ENOTEMPTY;

	for (int i = 0; i < N_REMOVE_TRIES && r == -ENOTEMPTY; i++) {
		int first = remove_contents(registration->directory);

		r = remove_directory(registry, registration->id);
		if (first < 0 && r < 0)
			return r;
	}
	return r;
}

int registration_remove(int registry, struct registration *registration)
{
	int r;

	if (registration->directory < 0)
		return 0;
	(void)unlinkat(registration->directory, STATE_NAME, 0);
	r = remove_directory(registry, registration->id);
	if (r < 0)
		r = remove_with_contents(registry, registration);
	if (r == 0)
		registration_deinit(registration);
	return r;
}

void registration_deinit(struct registration *registration)
{
	close_fd(&registration->directory);
	*registration = (struct registration)REGISTRATION_INIT;
}
