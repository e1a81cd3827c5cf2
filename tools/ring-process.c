/* SPDX-License-Identifier: MIT */

/*
 * Commands that sbx-ring starts: in its own process group, so that a terminal's signals reach them,
 * and with all fds that the caller has given
 */

#include "ring.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool.h"

#define STATUS_NOT_EXECUTABLE 126
#define STATUS_NOT_FOUND 127

int process_free_number(int from)
{
	for (int flags; (flags = fcntl(from, F_GETFD)) >= 0 && (flags & FD_CLOEXEC) == 0;)
		from++;
	return from;
}

int process_give(int fd, int number, const char *variable)
{
	char text[16];

	(void)snprintf(text, sizeof(text), "%d", number);
	/* dup2() onto itself would leave it close-on-exec. */
	if ((fd == number ? fcntl(fd, F_SETFD, 0) : dup2(fd, number)) < 0 ||
	    setenv(variable, text, 1) < 0)
		return -errno;
	return 0;
}

/* execvp() reports EACCES if one of the directories of PATH cannot be searched, although the
 * program is in none of them. */
static bool is_in_path(const char *name)
{
	const char *value = getenv("PATH");
	_cleanup_free_ char *path = strdup(value ? value : "");
	char *rest = path, *directory;

	if (!path)
		return true;
	while ((directory = strsep(&rest, ":"))) {
		_cleanup_text_ struct text file = TEXT_INIT;

		text_addf(&file, "%s/%s", directory[0] != '\0' ? directory : ".", name);
		if (access(text_string(&file), F_OK) == 0)
			return true;
	}
	return false;
}

void process_exec(const struct tool_run *run, char *const argv[])
{
	struct sbx_error err = { .code = 0 };
	int code;

	(void)execvp(argv[0], argv);
	code = errno;
	if (code == EACCES && !strchr(argv[0], '/') && !is_in_path(argv[0]))
		code = ENOENT;
	(void)error_fill(&err, -code, code == ENOENT ? "there is no such program" : NULL,
			 "check its name and PATH", "cannot start '%s'", argv[0]);
	tool_tell(run, &err);
	_exit(code == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE);
}
