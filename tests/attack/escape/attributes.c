/* SPDX-License-Identifier: MIT */

/*
 * Mode, owner, times, attributes and flags of a file that may be read but not written, by its name
 * and through a read-only fd
 *
 * If possible a call sets the value that the file already has: the permission is what counts.
 */

#include "escape.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <linux/fs.h>

#define ATTRIBUTE "user.sbx-escape"

struct shown {
	const char *path;
	int fd;
	struct stat st;
};

static enum escape_verdict judge_attribute(int result)
{
	if (result < 0 && errno == EOPNOTSUPP)
		return UNKNOWN;
	return escape_judge_reached(result, ENODATA);
}

static enum escape_verdict change_mode(const struct shown *shown)
{
	return escape_judge(chmod(shown->path, shown->st.st_mode & 0777));
}

static enum escape_verdict change_mode_by_fd(const struct shown *shown)
{
	return escape_judge(fchmod(shown->fd, shown->st.st_mode & 0777));
}

static enum escape_verdict change_owner(const struct shown *shown)
{
	return escape_judge(chown(shown->path, getuid(), getgid()));
}

static enum escape_verdict change_owner_by_fd(const struct shown *shown)
{
	return escape_judge(fchown(shown->fd, getuid(), getgid()));
}

static enum escape_verdict change_times(const struct shown *shown)
{
	return escape_judge(utimensat(AT_FDCWD, shown->path, NULL, 0));
}

static enum escape_verdict change_times_by_fd(const struct shown *shown)
{
	return escape_judge(futimens(shown->fd, NULL));
}

static enum escape_verdict set_attribute(const struct shown *shown)
{
	return judge_attribute(setxattr(shown->path, ATTRIBUTE, "1", 1, 0));
}

static enum escape_verdict set_attribute_of_link(const struct shown *shown)
{
	return judge_attribute(lsetxattr(shown->path, ATTRIBUTE, "1", 1, 0));
}

static enum escape_verdict set_attribute_by_fd(const struct shown *shown)
{
	return judge_attribute(fsetxattr(shown->fd, ATTRIBUTE, "1", 1, 0));
}

static enum escape_verdict remove_attribute(const struct shown *shown)
{
	return judge_attribute(removexattr(shown->path, ATTRIBUTE));
}

static enum escape_verdict remove_attribute_by_fd(const struct shown *shown)
{
	return judge_attribute(fremovexattr(shown->fd, ATTRIBUTE));
}

static enum escape_verdict set_flags_by_fd(const struct shown *shown)
{
	int flags = 0;

	if (ioctl(shown->fd, FS_IOC_GETFLAGS, &flags) < 0)
		return errno == ENOTTY || errno == EOPNOTSUPP ? UNKNOWN : REFUSED;
	return escape_judge(ioctl(shown->fd, FS_IOC_SETFLAGS, &flags));
}

static enum escape_verdict (*const ways[])(const struct shown *shown) = {
	change_mode,	     change_mode_by_fd,	 change_owner,		 change_owner_by_fd,
	change_times,	     change_times_by_fd, set_attribute,		 set_attribute_of_link,
	set_attribute_by_fd, remove_attribute,	 remove_attribute_by_fd, set_flags_by_fd,
};

static enum escape_verdict change_shown(long number)
{
	struct shown shown = { .path = escape_target("ESCAPE_SHOWN") };

	shown.fd = open(shown.path, O_RDONLY | O_CLOEXEC);
	/* If the sandbox does not show the file, the attack proves nothing. */
	if (shown.fd < 0 || fstat(shown.fd, &shown.st) < 0)
		return UNKNOWN;
	return ways[number](&shown);
}

/* clang-format off */
const struct escape escapes_attributes[] = {
	{ "change_mode_of_shown", NEEDS_USER, change_shown, 0 },
	{ "change_mode_of_shown_by_descriptor", NEEDS_USER, change_shown, 1 },
	{ "change_owner_of_shown", NEEDS_USER, change_shown, 2 },
	{ "change_owner_of_shown_by_descriptor", NEEDS_USER, change_shown, 3 },
	{ "change_times_of_shown", NEEDS_USER, change_shown, 4 },
	{ "change_times_of_shown_by_descriptor", NEEDS_USER, change_shown, 5 },
	{ "set_attribute_of_shown", NEEDS_USER, change_shown, 6 },
	{ "set_attribute_of_shown_link", NEEDS_USER, change_shown, 7 },
	{ "set_attribute_of_shown_by_descriptor", NEEDS_USER, change_shown, 8 },
	{ "remove_attribute_of_shown", NEEDS_USER, change_shown, 9 },
	{ "remove_attribute_of_shown_by_descriptor", NEEDS_USER, change_shown, 10 },
	{ "set_flags_of_shown_by_descriptor", NEEDS_USER, change_shown, 11 },
	{ .name = NULL },
};
/* clang-format on */
