/* SPDX-License-Identifier: MIT */

/*
 * Room for the last word
 *
 * A log on a full disk cannot say that the disk is full. So a file without content holds a little
 * room. It is given up when a commit has failed for want of room; the record that says so, and a
 * checkpoint, take its place. When there is room again, the file is made again.
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "audit/log-internal.h"

#define RESERVE_NAME "reserve"
/* Where there is less than this, the reserve itself would fill the disk. */
#define ROOM_MIN (4 * AUDIT_RESERVE_BYTES)

static bool has_room(int folder)
{
	struct statvfs room;

	return fstatvfs(folder, &room) == 0 && (uint64_t)room.f_bavail * room.f_frsize >= ROOM_MIN;
}

static bool is_allocated(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= AUDIT_RESERVE_BYTES &&
	       (uint64_t)st.st_blocks * 512 >= AUDIT_RESERVE_BYTES;
}

void log_make_reserve(struct audit_log *log)
{
	_cleanup_close_ int fd =
		openat(log->folder, RESERVE_NAME, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	log->has_reserve = fd >= 0 && is_allocated(fd);
	if (log->has_reserve || !has_room(log->folder))
		return;
	/* Half of one is none, and it takes what others need. */
	(void)unlinkat(log->folder, RESERVE_NAME, 0);
	close_fd(&fd);
	fd = openat(log->folder, RESERVE_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	log->has_reserve = posix_fallocate(fd, 0, AUDIT_RESERVE_BYTES) == 0;
	if (!log->has_reserve)
		(void)unlinkat(log->folder, RESERVE_NAME, 0);
}

void log_use_reserve(struct audit_log *log)
{
	if (!log->has_reserve || log->is_in_transaction)
		return;
	log->has_reserve = false;
	if (unlinkat(log->folder, RESERVE_NAME, 0) < 0)
		return;
	/* What fails now fails for good: the caller hears of the full disk in any case. */
	if (audit_log_say(log, "audit_storage_critical", "\"cause\":\"disk full\"", NULL) == 0 &&
	    log_sign(log, NULL, NULL) == 0)
		(void)audit_log_commit(log, NULL);
	audit_log_rollback(log);
}
