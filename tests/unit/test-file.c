/* SPDX-License-Identifier: MIT */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/file.h"
#include "file-place.h"
#include "test.h"

static unsigned count_names(int dirfd)
{
	_cleanup_closedir_ DIR *dir = fdopendir(openat(dirfd, ".", O_RDONLY | O_CLOEXEC));
	unsigned n = 0;

	while (dir && readdir(dir))
		n++;
	return n - 2; /* . and .. */
}

static void expect_content(int dirfd, const char *path, const char *want)
{
	_cleanup_free_ char *bytes = NULL;
	size_t n_bytes = 0;

	expect_eq(file_read(dirfd, path, 1 << 20, &bytes, &n_bytes, NULL), 0);
	expect_str(bytes, want);
	expect_eq(n_bytes, strlen(want));
}

/* Expects that reading fails without output. */
static struct sbx_error expect_unreadable(int dirfd, const char *path, size_t max_bytes, int code)
{
	struct sbx_error err = { 0 };
	char *bytes = (char *)place_make;
	size_t n_bytes = 77;

	expect_eq(file_read(dirfd, path, max_bytes, &bytes, &n_bytes, &err), code);
	expect_eq(file_read(dirfd, path, max_bytes, &bytes, &n_bytes, NULL), code);
	expect(bytes == (char *)place_make && n_bytes == 77);
	expect_eq(err.code, code);
	return err;
}

static struct sbx_error expect_unwritable(int dirfd, const char *path, int code)
{
	struct sbx_error err = { 0 };

	expect_eq(file_replace(dirfd, path, "new", 3, 0644, &err), code);
	expect_eq(file_replace(dirfd, path, "new", 3, 0644, NULL), code);
	expect_eq(err.code, code);
	return err;
}

static void reads_back_what_was_written(void)
{
	_cleanup_place_ struct place place = place_make();

	expect_eq(file_replace(place.fd, "x", "hello", 5, 0644, NULL), 0);
	expect_content(place.fd, "x", "hello");
	expect_eq(file_replace(place.fd, "x", "", 0, 0644, NULL), 0);
	expect_content(place.fd, "x", "");
	expect_eq(count_names(place.fd), 1);
}

static void reads_any_bytes_of_any_length_around_a_page(void)
{
	_cleanup_place_ struct place place = place_make();
	static const size_t sizes[] = { 1, 4095, 4096, 4097, 8192, 100000 };
	static uint8_t content[100000];

	for (size_t i = 0; i < sizeof(content); i++)
		content[i] = (uint8_t)(i * 31 >> 3);
	for (size_t i = 0; i < N_ELEMENTS(sizes); i++) {
		_cleanup_free_ char *bytes = NULL;
		size_t n_bytes = 0;

		expect_eq(file_replace(place.fd, "x", content, sizes[i], 0600, NULL), 0);
		expect_eq(file_read(place.fd, "x", sizes[i], &bytes, &n_bytes, NULL), 0);
		expect_eq(n_bytes, sizes[i]);
		expect(bytes && memcmp(bytes, content, sizes[i]) == 0 && bytes[sizes[i]] == '\0');
		expect_unreadable(place.fd, "x", sizes[i] - 1, -EFBIG);
	}
}

static void says_how_long_a_file_may_be(void)
{
	struct sbx_error err = expect_unreadable(AT_FDCWD, "/dev/zero", 10, -EFBIG);

	expect_str(err.what, "cannot read '/dev/zero'");
	expect_str(err.why, "it is longer than 10 bytes");
	expect(*err.fix);
}

static void a_limit_of_nothing_takes_an_empty_file_only(void)
{
	_cleanup_free_ char *bytes = NULL;
	size_t n_bytes = 77;

	expect_eq(file_read(AT_FDCWD, "/dev/null", 0, &bytes, &n_bytes, NULL), 0);
	expect_eq(n_bytes, 0);
	expect_str(bytes, "");
	expect_unreadable(AT_FDCWD, "/dev/zero", 0, -EFBIG);
}

static void no_limit_is_not_an_overflow(void)
{
	_cleanup_place_ struct place place = place_make();
	_cleanup_free_ char *bytes = NULL;
	size_t n_bytes = 0;

	expect_eq(file_replace(place.fd, "x", "abc", 3, 0644, NULL), 0);
	expect_eq(file_read(place.fd, "x", SIZE_MAX, &bytes, &n_bytes, NULL), 0);
	expect_eq(n_bytes, 3);
}

static void reads_a_file_that_has_no_size(void)
{
	_cleanup_free_ char *bytes = NULL;
	size_t n_bytes = 0;

	if (access("/proc/self/stat", R_OK) < 0)
		skip("/proc is not mounted");
	expect_eq(file_read(AT_FDCWD, "/proc/self/stat", 1 << 20, &bytes, &n_bytes, NULL), 0);
	expect(n_bytes > 20);
}

static void reads_a_pipe_to_its_end(void)
{
	int ends[2];
	_cleanup_free_ char *bytes = NULL;
	size_t n_bytes = 0;
	static char sent[200000];

	memset(sent, 'p', sizeof(sent) - 1);
	if (pipe2(ends, O_CLOEXEC) < 0)
		abort();

	pid_t child = fork();

	if (child == 0)
		_exit(fd_write_all(ends[1], sent, sizeof(sent) - 1) < 0);
	close_fd(&ends[1]);
	expect_eq(file_read_fd(ends[0], "<stdin>", 1 << 20, &bytes, &n_bytes, NULL), 0);
	expect_str(bytes, sent);
	close_fd(&ends[0]);
	expect_eq(waitpid(child, NULL, 0), child);
}

static void refuses_to_read_what_is_not_there_or_no_file(void)
{
	_cleanup_place_ struct place place = place_make();
	struct sbx_error err;

	expect_eq(file_replace(place.fd, "x", "abc", 3, 0644, NULL), 0);
	err = expect_unreadable(place.fd, "nothing", 10, -ENOENT);
	expect_str(err.what, "cannot read 'nothing'");
	expect(*err.fix);
	err = expect_unreadable(place.fd, ".", 10, -EISDIR);
	expect(*err.fix);
	expect_unreadable(place.fd, "x/y", 10, -ENOTDIR);
	expect_unreadable(-EBADF, "x", 10, -EBADF);
}

static void reading_a_fifo_does_not_block(void)
{
	_cleanup_place_ struct place place = place_make();
	_cleanup_free_ char *read = NULL;
	struct sbx_error err = { 0 };
	char *bytes = NULL;
	size_t n_bytes = 77;

	expect_eq(mkfifoat(place.fd, "fifo", 0600), 0);
	expect_eq(mkdirat(place.fd, "folder", 0700), 0);
	expect_eq(file_read_regular(place.fd, "fifo", 10, &bytes, &n_bytes, &err), -EINVAL);
	expect(err.what[0] && err.why[0] && err.fix[0]);
	expect_eq(file_read_regular(place.fd, "folder", 10, &bytes, &n_bytes, NULL), -EISDIR);
	expect_eq(file_read_regular(place.fd, "none", 10, &bytes, &n_bytes, NULL), -ENOENT);
	expect(!bytes && n_bytes == 77);
	expect_eq(file_replace(place.fd, "file", "text", 4, 0600, NULL), 0);
	expect_eq(file_read_regular(place.fd, "file", 3, &bytes, &n_bytes, NULL), -EFBIG);
	expect_eq(file_read_regular(place.fd, "file", 4, &read, &n_bytes, NULL), 0);
	expect_str(read, "text");
}

static void names_the_fd_as_it_was_told(void)
{
	struct sbx_error err = { 0 };
	char *bytes = NULL;
	size_t n_bytes;

	expect_eq(file_read_fd(-EBADF, "<stdin>", 10, &bytes, &n_bytes, &err), -EBADF);
	expect_str(err.what, "cannot read '<stdin>'");
	expect(!bytes);
}

static void gives_exactly_the_mode_whatever_the_umask(void)
{
	_cleanup_place_ struct place place = place_make();
	struct stat status;
	mode_t saved = umask(077);

	expect_eq(file_replace(place.fd, "x", "a", 1, 0664, NULL), 0);
	expect_eq(fstatat(place.fd, "x", &status, 0), 0);
	expect_eq(status.st_mode & 07777, 0664);
	(void)umask(0);
	expect_eq(file_replace(place.fd, "x", "b", 1, 0400, NULL), 0);
	expect_eq(fstatat(place.fd, "x", &status, 0), 0);
	expect_eq(status.st_mode & 07777, 0400);
	(void)umask(saved);
}

static void every_failure_says_what_to_do(void)
{
	expect(*expect_unreadable(-EBADF, "x", 10, -EBADF).fix);
	expect(*expect_unwritable(-EBADF, "x", -EBADF).fix);
}

static void a_reader_keeps_the_file_that_it_opened(void)
{
	_cleanup_place_ struct place place = place_make();
	char bytes[8] = { 0 };

	expect_eq(file_replace(place.fd, "x", "old", 3, 0644, NULL), 0);

	_cleanup_close_ int fd = openat(place.fd, "x", O_RDONLY | O_CLOEXEC);

	expect_eq(file_replace(place.fd, "x", "newer", 5, 0644, NULL), 0);
	expect_eq(fd_read_full(fd, bytes, sizeof(bytes)), 3);
	expect_str(bytes, "old");
	expect_content(place.fd, "x", "newer");
}

static void replaces_a_link_and_leaves_its_target(void)
{
	_cleanup_place_ struct place place = place_make();
	struct stat status;

	expect_eq(file_replace(place.fd, "target", "precious", 8, 0644, NULL), 0);
	expect_eq(symlinkat("target", place.fd, "link"), 0);
	expect_eq(file_replace(place.fd, "link", "new", 3, 0644, NULL), 0);
	expect_content(place.fd, "target", "precious");
	expect_content(place.fd, "link", "new");
	expect_eq(fstatat(place.fd, "link", &status, AT_SYMLINK_NOFOLLOW), 0);
	expect(S_ISREG(status.st_mode));
	expect_eq(count_names(place.fd), 2);
}

/* "-o /dev/stdout" as root must not replace the device. */
static void refuses_to_replace_devices_and_sockets(void)
{
	static const struct {
		const char *name, *target;
		mode_t mode;
	} others[] = {
		{ "pipe", NULL, S_IFIFO },	    { "socket", NULL, S_IFSOCK },
		{ "to-a-pipe", "pipe", 0 },	    { "to-a-device", "/dev/null", 0 },
		{ "stdout", "/proc/self/fd/1", 0 },
	};
	_cleanup_place_ struct place place = place_make();
	struct stat status;

	for (size_t i = 0; i < N_ELEMENTS(others); i++) {
		struct sbx_error err = { .code = 0 };
		const char *name = others[i].name;
		mode_t mode = others[i].target ? S_IFLNK : others[i].mode;

		if (others[i].target)
			expect_eq(symlinkat(others[i].target, place.fd, name), 0);
		else
			expect_eq(mknodat(place.fd, name, mode | 0600, 0), 0);
		expect_eq(file_replace(place.fd, name, "new", 3, 0644, &err), -ENOTSUP);
		expect(strstr(err.why, "would be replaced") != NULL);
		expect_eq(file_update(place.fd, name, "new", 3, NULL), -ENOTSUP);
		expect_eq(fstatat(place.fd, name, &status, AT_SYMLINK_NOFOLLOW), 0);
		expect_eq(status.st_mode & S_IFMT, mode);
	}
	expect_eq(count_names(place.fd), (int)N_ELEMENTS(others));
}

static void works_on_paths_with_directories_and_without(void)
{
	_cleanup_place_ struct place place = place_make();
	char path[128];

	expect_eq(mkdirat(place.fd, "a", 0755), 0);
	expect_eq(file_replace(place.fd, "a/x", "one", 3, 0644, NULL), 0);
	expect_content(place.fd, "a/x", "one");
	(void)snprintf(path, sizeof(path), "%s/a/y", place.path);
	expect_eq(file_replace(AT_FDCWD, path, "two", 3, 0644, NULL), 0);
	expect_content(place.fd, "a/y", "two");
}

static void refuses_a_target_that_is_a_directory(void)
{
	_cleanup_place_ struct place place = place_make();

	expect_eq(mkdirat(place.fd, "folder", 0755), 0);

	struct sbx_error err = expect_unwritable(place.fd, "folder", -EISDIR);

	expect_str(err.what, "cannot write 'folder'");
	expect_str(err.fix, "name a file, not a directory");
	expect_unwritable(place.fd, "folder/", -EISDIR);
	expect_unwritable(place.fd, ".", -EISDIR);
	expect_unwritable(place.fd, "folder/..", -EISDIR);
	expect_unwritable(AT_FDCWD, "/", -EISDIR);
	expect_eq(count_names(place.fd), 1);
}

static void refuses_a_directory_that_is_not_there_or_takes_no_files(void)
{
	_cleanup_place_ struct place place = place_make();
	char name[NAME_MAX + 2];

	expect_eq(file_replace(place.fd, "x", "old", 3, 0644, NULL), 0);

	struct sbx_error err = expect_unwritable(place.fd, "nothing/x", -ENOENT);

	expect_str(err.what, "cannot write 'nothing/x'");
	expect(*err.fix);
	expect_unwritable(place.fd, "x/y", -ENOTDIR);
	expect_unwritable(place.fd, "", -ENOENT);
	expect_unwritable(-EBADF, "x", -EBADF);
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	expect_unwritable(place.fd, name, -ENAMETOOLONG);
	expect_content(place.fd, "x", "old");
	expect_eq(count_names(place.fd), 1);

	/* In /proc even root cannot create a file. */
	err = (struct sbx_error){ 0 };
	expect(file_replace(AT_FDCWD, "/proc/self/x", "new", 3, 0644, &err) < 0);
	expect_str(err.what, "cannot write '/proc/self/x'");
}

/* In a child, because RLIMIT_FSIZE cannot be raised again: files of at most 1,000 bytes. */
static _Noreturn void write_too_much(int dirfd)
{
	struct rlimit limit = { .rlim_cur = 1000, .rlim_max = 1000 };
	static char bytes[5000];

	if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR || setrlimit(RLIMIT_FSIZE, &limit) < 0)
		_exit(100);
	_exit(-file_replace(dirfd, "x", bytes, sizeof(bytes), 0644, NULL));
}

static void a_failed_write_leaves_the_old_content_and_no_temporary(void)
{
	_cleanup_place_ struct place place = place_make();
	int status;

	expect_eq(file_replace(place.fd, "x", "old", 3, 0644, NULL), 0);

	pid_t child = fork();

	if (child == 0)
		write_too_much(place.fd);
	expect_eq(waitpid(child, &status, 0), child);
	expect(WIFEXITED(status));
	expect_eq(WEXITSTATUS(status), EFBIG);
	expect_content(place.fd, "x", "old");
	expect_eq(count_names(place.fd), 1);
}

/* The content of round @i: length and bytes both depend on the round. */
static size_t make_round(char *bytes, unsigned i)
{
	size_t n_bytes = 20000 + 7000 * (i % 26);

	memset(bytes, 'a' + (int)(i % 26), n_bytes);
	return n_bytes;
}

#define ROUND_MAX (20000 + 7000 * 26)

static bool is_whole(int dirfd, const char *path)
{
	static char want[ROUND_MAX];
	_cleanup_free_ char *bytes = NULL;
	size_t n_bytes = 0;

	if (file_read(dirfd, path, ROUND_MAX, &bytes, &n_bytes, NULL) < 0 || n_bytes == 0)
		return false;
	return make_round(want, (unsigned)(bytes[0] - 'a')) == n_bytes &&
	       memcmp(want, bytes, n_bytes) == 0;
}

static _Noreturn void replace_forever(int dirfd, int events)
{
	static char bytes[ROUND_MAX];

	for (unsigned i = 0;; i++) {
		size_t n_bytes = make_round(bytes, i);

		if (fd_write_all(events, "", 1) < 0 ||
		    file_replace(dirfd, "x", bytes, n_bytes, 0644, NULL) < 0)
			_exit(1);
	}
}

/* Kills a writer in its @n_events-th round, @n_yields calls of sched_yield() after its start. */
static void kill_a_writer(int dirfd, unsigned n_events, unsigned n_yields)
{
	int ends[2], status;
	char event;

	if (pipe2(ends, O_CLOEXEC) < 0)
		abort();

	pid_t child = fork();

	if (child == 0)
		replace_forever(dirfd, ends[1]);
	close_fd(&ends[1]);
	while (n_events-- > 0)
		expect_eq(read(ends[0], &event, 1), 1);
	while (n_yields-- > 0)
		(void)sched_yield();
	expect_eq(kill(child, SIGKILL), 0);
	expect_eq(waitpid(child, &status, 0), child);
	expect(WIFSIGNALED(status));
	close_fd(&ends[0]);
}

static void a_killed_writer_leaves_the_old_or_the_new_content_whole(void)
{
	_cleanup_place_ struct place place = place_make();
	unsigned n_kills = test_is_slow() ? 300 : 30;
	uint32_t random = 12345;
	static char first[ROUND_MAX];

	expect_eq(file_replace(place.fd, "x", first, make_round(first, 25), 0644, NULL), 0);
	for (unsigned i = 0; i < n_kills; i++) {
		random = random * 1664525 + 1013904223;
		kill_a_writer(place.fd, 1 + (random >> 30), (random >> 8) % 2000);
		expect(is_whole(place.fd, "x"));
	}
	/* A killed writer leaves at most one temporary file. */
	expect(count_names(place.fd) <= 1 + n_kills);
	expect_eq(file_replace(place.fd, "x", "after", 5, 0644, NULL), 0);
	expect_content(place.fd, "x", "after");
}

static const struct test tests[] = {
	TEST(reads_back_what_was_written),
	TEST(reads_any_bytes_of_any_length_around_a_page),
	TEST(says_how_long_a_file_may_be),
	TEST(a_limit_of_nothing_takes_an_empty_file_only),
	TEST(no_limit_is_not_an_overflow),
	TEST(reads_a_file_that_has_no_size),
	TEST(reads_a_pipe_to_its_end),
	TEST(refuses_to_read_what_is_not_there_or_no_file),
	TEST(reading_a_fifo_does_not_block),
	TEST(names_the_fd_as_it_was_told),
	TEST(gives_exactly_the_mode_whatever_the_umask),
	TEST(every_failure_says_what_to_do),
	TEST(a_reader_keeps_the_file_that_it_opened),
	TEST(replaces_a_link_and_leaves_its_target),
	TEST(refuses_to_replace_devices_and_sockets),
	TEST(works_on_paths_with_directories_and_without),
	TEST(refuses_a_target_that_is_a_directory),
	TEST(refuses_a_directory_that_is_not_there_or_takes_no_files),
	TEST(a_failed_write_leaves_the_old_content_and_no_temporary),
	TEST(a_killed_writer_leaves_the_old_or_the_new_content_whole),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
