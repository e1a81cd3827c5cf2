/* SPDX-License-Identifier: MIT */

/* A log on a disk that becomes full: a small tmpfs in the test's own mount namespace */

#include "audit/log.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "audit-log-place.h"
#include "audit/verify.h"
#include "base/fd.h"
#include "sqlite-call.h"

#define DISK "size=8m,mode=0700"
#define BALLAST_PAGES 1100 /* leaves too little room for a reserve */
#define LOG_TIME_USEC UINT64_C(1767323045678901)
#define CANNOT_MOUNT 77

static bool write_file(const char *path, const char *text)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && fd_write_all(fd, text, strlen(text)) == 0;
}

/* Creates a mount namespace, if permitted, and mounts a small tmpfs on the place's directory. */
static bool mount_small(const struct log_place *place)
{
	unsigned uid = geteuid(), gid = getegid();
	char map[64];

	if (uid != 0) {
		if (unshare(CLONE_NEWUSER) < 0 || !write_file("/proc/self/setgroups", "deny"))
			return false;
		(void)snprintf(map, sizeof(map), "%u %u 1", uid, uid);
		if (!write_file("/proc/self/uid_map", map))
			return false;
		(void)snprintf(map, sizeof(map), "%u %u 1", gid, gid);
		if (!write_file("/proc/self/gid_map", map))
			return false;
	}
	return unshare(CLONE_NEWNS) == 0 && mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", place->path, "tmpfs", 0, DISK) == 0;
}

struct ballast {
	char path[64];
};

/* Fills the disk with a file, except for what some commits and the reserve need. */
static void ballast_put(struct ballast *ballast, const struct log_place *place, int n_pages)
{
	char zeros[4096] = { 0 };
	_cleanup_close_ int fd = -EBADF;

	(void)snprintf(ballast->path, sizeof(ballast->path), "%s/ballast", place->path);
	fd = open(ballast->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	for (int i = 0; i < n_pages; i++)
		expect_eq(write(fd, zeros, sizeof(zeros)), sizeof(zeros));
}

static void ballast_remove(const struct ballast *ballast)
{
	expect_eq(unlink(ballast->path), 0);
}

/* Adds records until the disk is full; returns how many were committed. */
static unsigned fill_disk(struct audit_log *log, unsigned n, struct sbx_error *err)
{
	unsigned committed = n;
	int r = 0;

	while (r == 0 && n < 1000000) {
		for (int i = 0; r == 0 && i < 10; i++)
			r = log_add_n(log, "syscall", n++, err);
		if (r == 0)
			r = audit_log_commit(log, err);
		if (r == 0)
			committed = n;
	}
	expect_eq(r, -ENOSPC);
	return committed;
}

static bool has_reserve(const struct log_place *place)
{
	char path[64];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s/reserve", place->log);
	return stat(path, &st) == 0 && st.st_blocks * 512 >= AUDIT_RESERVE_BYTES;
}

struct seen {
	unsigned n; /* the next number */
	unsigned n_wrong;
	unsigned n_critical;
};

static bool has_text(const struct store_row *row, const char *text)
{
	return memmem(row->body, row->n_body, text, strlen(text)) != NULL;
}

static void see(void *userdata, const struct store_row *row)
{
	struct seen *seen = userdata;
	char wanted[32];

	if (has_text(row, "\"audit_storage_critical\"")) {
		seen->n_critical++;
		seen->n_wrong += !has_text(row, "\"cause\":\"disk full\"");
		return;
	}
	if (row->seq == 0)
		return;
	(void)snprintf(wanted, sizeof(wanted), "\"n\":%u}", seen->n++);
	seen->n_wrong += !has_text(row, wanted);
}

/* Expects records with the numbers up to @n, and @n_critical records about the full disk. */
static void expect_log(const struct log_place *place, unsigned n, unsigned n_critical)
{
	struct seen seen = { 0, 0, 0 };

	expect_eq(verify_log(place, see, &seen), (long long)n + n_critical + 1);
	expect_eq(seen.n, n);
	expect_eq(seen.n_critical, n_critical);
	expect_eq(seen.n_wrong, 0);
}

static void expect_intact(const struct log_place *place)
{
	struct verify_options options = {
		.directory = open(place->log, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		.now_usec = LOG_TIME_USEC,
	};
	struct verify_report report = { .verdict = VERIFY_UNREADABLE };

	expect_eq(verify_directory(&options, &report, NULL, NULL), 0);
	expect_eq(report.verdict, VERIFY_INTACT);
	(void)close(options.directory);
}

static void survive_full_disk(struct log_place *place)
{
	_cleanup_audit_log_ struct audit_log *log = log_made(place);
	struct sbx_error err = { .code = 0 };
	struct ballast ballast = { "" };
	unsigned n;

	ballast_put(&ballast, place, BALLAST_PAGES);
	n = fill_disk(log, 0, &err);
	expect(n > 0);
	expect_str(err.fix, "free some space on the file system");
	/* First uses up what the reserve has left, then has nothing. */
	n = fill_disk(log, n, &err);
	expect_eq(fill_disk(log, n, &err), n);
	ballast_remove(&ballast);
	for (unsigned i = 0; i < 100; i++)
		expect_eq(log_add_n(log, "syscall", n++, NULL), 0);
	expect_eq(audit_log_checkpoint(log, NULL), 0);
	expect_log(place, n, 1);
	expect_intact(place);
}

static void say_so_in_the_reserve(struct log_place *place)
{
	_cleanup_audit_log_ struct audit_log *log = log_made(place);
	struct ballast ballast = { "" };
	unsigned n;

	expect(has_reserve(place));
	ballast_put(&ballast, place, BALLAST_PAGES);
	n = fill_disk(log, 0, NULL);
	/* The record about the full disk was written and signed. */
	expect(!has_reserve(place));
	expect_eq(audit_log_size(log), n + 2);
	expect_eq(audit_log_checkpoint_size(log), n + 2);
	expect_log(place, n, 1);
	/* Only once. */
	n = fill_disk(log, n, NULL);
	expect_eq(audit_log_size(log), n + 2);
	expect(!has_reserve(place));
	/* When there is room again, a new reserve is made. */
	ballast_remove(&ballast);
	expect_eq(log_add_n(log, "syscall", n++, NULL), 0);
	expect_eq(audit_log_commit(log, NULL), 0);
	expect(has_reserve(place));
	ballast_put(&ballast, place, BALLAST_PAGES / 2);
	n = fill_disk(log, n, NULL);
	expect_log(place, n, 2);
}

static void make_the_reserve_when_there_is_room(struct log_place *place)
{
	struct ballast ballast = { "" };
	struct audit_log *log;

	ballast_put(&ballast, place, BALLAST_PAGES);
	log = log_made(place);
	expect(!has_reserve(place));
	(void)audit_log_free(log);
	ballast_remove(&ballast);
	/* A reserve that is too short is replaced. */
	log = log_opened(place);
	expect(has_reserve(place));
	(void)audit_log_free(log);
	(void)snprintf(ballast.path, sizeof(ballast.path), "%s/reserve", place->log);
	expect_eq(truncate(ballast.path, 4096), 0);
	expect(!has_reserve(place));
	log = log_opened(place);
	expect(has_reserve(place));
	(void)audit_log_free(log);
}

/* The child has its own mount namespace, so the mount ends with it. */
static void run_on_small_disk(void (*run)(struct log_place *place))
{
	_cleanup_log_place_ struct log_place place;
	int status = -1;
	pid_t pid;

	log_place_init(&place);
	pid = fork();
	if (pid == 0) {
		test_failures = 0; /* count only the failures of this child */
		if (!mount_small(&place))
			_exit(CANNOT_MOUNT);
		run(&place);
		_exit(test_failures > 0);
	}
	expect_eq(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT_MOUNT)
		skip("needs root or a user namespace to mount a small file system");
	expect_eq(status, 0);
}

static void a_full_disk_loses_nothing_that_was_acknowledged(void)
{
	run_on_small_disk(survive_full_disk);
}

static void the_log_says_itself_that_the_disk_was_full(void)
{
	run_on_small_disk(say_so_in_the_reserve);
}

static void the_reserve_takes_no_room_that_is_not_there(void)
{
	run_on_small_disk(make_the_reserve_when_there_is_room);
}

/* It is not the disk that is full. */
static void a_limit_of_file_sizes_is_named(void)
{
	_cleanup_log_place_ struct log_place place;
	_cleanup_audit_log_ struct audit_log *log = NULL;
	struct rlimit before, small = { .rlim_cur = 200000 };
	struct sbx_error err = { .code = 0 };
	int r = 0;

	log_place_init(&place);
	log = log_made(&place);
	expect_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
	small.rlim_max = before.rlim_max;
	(void)signal(SIGXFSZ, SIG_IGN);
	expect_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (unsigned n = 0; r == 0 && n < 100000; n++) {
		r = log_add_n(log, "syscall", n, &err);
		if (r == 0)
			r = audit_log_commit(log, &err);
	}
	expect_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
	expect_eq(r, -EFBIG);
	expect_str(err.why, "");
	expect_str(err.fix, "raise the limit of file sizes: ulimit -f");
}

/* ---- a file system that fails in one way after the other ---- */

static int write_error; /* 0: writes succeed */

static ssize_t write_or_fail(int fd, const void *bytes, size_t n, off_t at)
{
	if (write_error == 0)
		return pwrite(fd, bytes, n, at);
	errno = write_error;
	return -1;
}

static void each_failure_has_its_own_reason(void)
{
	static const struct {
		int code, result;
		const char *why;
	} failures[] = {
		{ EDQUOT, -ENOSPC, "Disk quota exceeded" },
		{ EROFS, -EROFS, "" },
		{ EIO, -EIO, "disk I/O error" },
		{ EDQUOT, -ENOSPC, "Disk quota exceeded" },
	};
	_cleanup_log_place_ struct log_place place;
	struct sbx_error err = { .code = 0 };
	struct audit_log *log;

	log_place_init(&place);
	log = log_made(&place);
	set_sqlite_call("pwrite", (void *)(uintptr_t)write_or_fail);
	for (size_t i = 0; i < N_ELEMENTS(failures); i++) {
		write_error = failures[i].code;
		expect_eq(log_add_n(log, "syscall", i, NULL), 0);
		expect_eq(audit_log_commit(log, &err), failures[i].result);
		expect_str(err.why, failures[i].why);
	}
	write_error = 0;
	expect_eq(log_add_n(log, "syscall", 4, NULL), 0);
	expect_eq(audit_log_commit(log, NULL), 0);
	set_sqlite_call("pwrite", NULL);
	(void)audit_log_free(log);
}

static const struct test tests[] = {
	TEST(a_full_disk_loses_nothing_that_was_acknowledged),
	TEST(the_log_says_itself_that_the_disk_was_full),
	TEST(the_reserve_takes_no_room_that_is_not_there),
	TEST(a_limit_of_file_sizes_is_named),
	TEST(each_failure_has_its_own_reason),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
