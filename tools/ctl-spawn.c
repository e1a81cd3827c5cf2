/* SPDX-License-Identifier: MIT */

/* Runs sbx-spawn: always the one in the directory of sbx-ctl, never one from PATH */

#include "ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/path.h"
#include "base/process.h"
#include "base/tree.h"
#include "base/units.h"

#define SPAWN_NAME "sbx-spawn"
#define FIRST_OTHER_FD 3

int spawn_find(char ret[4096], struct sbx_error *err)
{
	int r = path_beside_program(SPAWN_NAME, ret, 4096);

	if (r < 0)
		return error_fill(err, r, "the path of this program cannot be determined",
				  "mount /proc", "cannot find " SPAWN_NAME);
	if (access(ret, X_OK) == 0)
		return 0;
	return error_fill(err, -ENOPKG, "it is not in the directory of " CTL_TOOL,
			  "install both from the same package", "cannot find " SPAWN_NAME);
}

static int add_actions(posix_spawn_file_actions_t *actions, const struct spawn_start *start)
{
	int r = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);

	if (r != 0)
		return r;
	r = start->out >= 0 ? posix_spawn_file_actions_adddup2(actions, start->out, STDOUT_FILENO)
			    : posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null",
							       O_WRONLY, 0);
	if (r != 0)
		return r;
	r = start->err >= 0 ? posix_spawn_file_actions_adddup2(actions, start->err, STDERR_FILENO)
			    : 0;
	if (r != 0)
		return r;
	r = start->cwd ? posix_spawn_file_actions_addchdir_np(actions, start->cwd) : 0;
	if (r != 0)
		return r;
	/* Close fds that the caller has left open: the sandbox would keep them open for its
	 * lifetime. */
	return posix_spawn_file_actions_addclosefrom_np(actions, FIRST_OTHER_FD);
}

pid_t spawn_start(const struct spawn_start *start, struct sbx_error *err)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	pid_t pid = 0;
	mode_t ours;
	int r;

	if (posix_spawn_file_actions_init(&actions) != 0)
		return sbx_error_what(err, -ENOMEM, "no memory to start " SPAWN_NAME);
	(void)posix_spawnattr_init(&attributes);
	if (start->is_own_session)
		(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
	r = add_actions(&actions, start);
	ours = umask(start->umask);
	if (r == 0)
		r = posix_spawn(&pid, start->argv[0], &actions, &attributes,
				(char *const *)(uintptr_t)start->argv, environ);
	(void)umask(ours);
	(void)posix_spawnattr_destroy(&attributes);
	(void)posix_spawn_file_actions_destroy(&actions);
	if (r == 0)
		return pid;
	return ctl_fail(err, -r, "start", start->argv[0], NULL,
			r == EAGAIN ? "end some processes of the calling user, or raise their "
				      "limit (ulimit -u)"
				    : "check that its file and the working directory still exist");
}

/*
 * Asks sbx-spawn whether it can run a command line on this host, and under which policy
 *
 * Only sbx-spawn parses its options, so it is run with --print-plan. Its errors are read as JSON
 * and reported as those of sbx-ctl: they are about words of sbx-ctl's command line.
 */

#define ANSWER_MAX TREE_BYTES_MAX
/* See --uid in sbx-spawn(1): this plus the PID. */
#define MADE_UP_UIDS 2000000000u

static int read_back(int fd, struct tree **ret)
{
	_cleanup_free_ char *bytes = NULL;
	size_t n_bytes;
	int r;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	r = file_read_fd(fd, "<plan>", ANSWER_MAX, &bytes, &n_bytes, NULL);
	if (r == 0)
		r = tree_read("<plan>", bytes, n_bytes, ret, NULL);
	return r == 0 && tree_root(*ret)->type != TREE_MAP ? -EBADMSG : r;
}

static const char *member(const struct tree *tree, const char *name)
{
	const struct tree_node *node = tree_get(tree, tree_root(tree), name);

	return node && node->type == TREE_STRING ? node->text : NULL;
}

static int tell_refusal(int errors, struct sbx_error *err)
{
	_cleanup_tree_ struct tree *tree = NULL;
	const char *what = read_back(errors, &tree) == 0 ? member(tree, "what") : NULL;

	if (!what)
		return error_fill(err, -EPROTO, NULL, "try it with 'sbx-spawn --dry-run'",
				  "sbx-spawn did not report whether it supports these options");
	(void)sbx_error_what(err, -EINVAL, "%s", what);
	if (member(tree, "why"))
		sbx_error_why(err, "%s", member(tree, "why"));
	if (member(tree, "fix"))
		sbx_error_fix(err, "%s", member(tree, "fix"));
	return -EINVAL;
}

static int keep(struct ctl *ctl, const struct tree *tree, const char *name, const char **ret)
{
	const char *text = member(tree, name);

	*ret = text ? arena_copy(&ctl->arena, text, strlen(text)) : NULL;
	return text && !*ret ? -ENOMEM : 0;
}

/* A start of root gets a free uid, which is not known yet: 0. */
static uid_t lasting_uid(const struct tree *tree)
{
	const struct tree_node *node = tree_get(tree, tree_root(tree), "uid");
	uint64_t uid = 0;

	if (!node || node->type != TREE_NUMBER || units_parse_count(node->text, &uid, NULL) < 0 ||
	    uid > UINT32_MAX || (geteuid() == 0 && uid >= MADE_UP_UIDS))
		return 0;
	return (uid_t)uid;
}

int spawn_ask(struct ctl *ctl, const char *cwd, const char *const *words, struct tree **ret,
	      struct sbx_error *err)
{
	_cleanup_close_ int answer = memfd_create("answer", MFD_CLOEXEC);
	_cleanup_close_ int errors = memfd_create("errors", MFD_CLOEXEC);
	struct spawn_start start = {
		.cwd = cwd, .out = answer, .err = errors, .umask = ctl->umask
	};
	const char **argv;
	char path[4096];
	size_t n = 0;
	int r = spawn_find(path, err), status;
	pid_t pid;

	if (r < 0)
		return r;
	while (words[n])
		n++;
	argv = arena_alloc(&ctl->arena, (n + 2) * sizeof(*argv));
	if (!argv || answer < 0 || errors < 0)
		return sbx_error_what(err, -ENOMEM, "no memory to ask sbx-spawn");
	argv[0] = path;
	memcpy(argv + 1, words, n * sizeof(*argv));
	start.argv = argv;
	pid = spawn_start(&start, err);
	if (pid < 0)
		return pid;
	if (process_wait(pid, &status) < 0 || status != 0)
		return tell_refusal(errors, err);
	r = read_back(answer, ret);
	return r < 0 ? sbx_error_what(err, r, "cannot parse the output of sbx-spawn") : 0;
}

int plan_ask(struct ctl *ctl, const char *id, const char *cwd, const char *const *words,
	     struct plan_facts *ret, struct sbx_error *err)
{
	_cleanup_tree_ struct tree *tree = NULL;
	const char **asked;
	size_t n = 0;
	int r;

	while (words[n])
		n++;
	asked = arena_alloc(&ctl->arena, (n + 5) * sizeof(*asked));
	if (!asked)
		return sbx_error_what(err, -ENOMEM, "no memory to ask for the plan");
	memcpy(asked, (const char *const[]){ "--print-plan", "--json", "--id", id },
	       4 * sizeof(*asked));
	memcpy(asked + 4, words, n * sizeof(*asked));
	r = spawn_ask(ctl, cwd, asked, &tree, err);
	if (r < 0)
		return r;
	const struct {
		const char *name;
		const char **value;
	} members[] = {
		{ "policy_digest", &ret->policy_digest },
		{ "template", &ret->template },
		{ "tier", &ret->tier },
		{ "policy", &ret->policy },
	};
	for (size_t i = 0; i < N_ELEMENTS(members); i++) {
		r = keep(ctl, tree, members[i].name, members[i].value);
		if (r < 0)
			return r;
	}
	ret->uid = lasting_uid(tree);
	return 0;
}
