/* SPDX-License-Identifier: MIT */

/*
 * sbx-spawn is linked statically if possible, because a program without a loader starts faster. A
 * start that needs a module is passed by execve() to the same program with a loader before anything
 * has begun; it reads everything again.
 */

#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/module.h"

#define ARGUMENTS_BYTES_MAX (64 << 20)

bool spawn_begins_with_modules(const struct spawn_values *values)
{
	struct stat status;

	/* Input that can be read only once must not be read here. */
	return !module_is_possible() &&
	       (values->out || values->policy_fd >= 0 ||
		(values->policy && stat(values->policy, &status) == 0 && !S_ISREG(status.st_mode)));
}

bool spawn_needs_modules(const struct spawn_run *run, int prepared)
{
	if (module_is_possible())
		return false;
	/* ELIBACC: a filter is not in the cache. */
	return prepared == -ELIBACC || (prepared == 0 && plan_find_step(run->plan, STEP_SCOPE));
}

/* The original arguments, from /proc/self/cmdline: option parsing has reordered argv. */
static int read_words(char **ret_text, char ***ret_words, struct sbx_error *err)
{
	_cleanup_free_ char *text = NULL;
	size_t n_bytes, n = 0, i = 0;
	char **words;
	int r = file_read(AT_FDCWD, "/proc/self/cmdline", ARGUMENTS_BYTES_MAX, &text, &n_bytes,
			  err);

	if (r < 0)
		return r;
	for (size_t at = 0; at < n_bytes; at++)
		n += text[at] == '\0';
	words = calloc(n + 1, sizeof(*words));
	if (!words) {
		(void)spawn_no_memory(err);
		return -ENOMEM;
	}
	for (char *word = text; i < n; word += strlen(word) + 1)
		words[i++] = word;
	*ret_text = take_ptr(text);
	*ret_words = words;
	return 0;
}

int spawn_hand_over(const struct spawn_run *run, struct sbx_error *err)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_free_ char **words = NULL;
	char path[PATH_MAX];
	int r = spawn_module_path("../tools", "spawn-with-modules", "", path, sizeof(path));

	if (r < 0)
		return error_fill(err, r, "the path of this program cannot be determined",
				  "mount /proc", "cannot find spawn-with-modules");
	r = read_words(&text, &words, err);
	if (r < 0)
		return r;
	r = spawn_hand_over_parent(run, err);
	if (r < 0)
		return r;
	(void)umask(run->umask);
	(void)execv(path, words);
	r = -errno;
	return error_fill(err, r, "sbx-spawn executes this program when it needs a module",
			  "install all of sbx", "cannot execute '%.300s'", path);
}
