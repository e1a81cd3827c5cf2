/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "test.h"

/*
 * A directory with a root that must not be left, and a secret beside it:
 *
 *   secret            "outside"
 *   root/inner/file   "inside"
 */
struct place {
	char path[64];
	int top;
	int root;
};
#define _cleanup_place_ _cleanup_(place_deinit)

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
	return remove(path);
}

static void place_deinit(struct place *place)
{
	close_fd(&place->root);
	close_fd(&place->top);
	(void)nftw(place->path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void write_file(int dirfd, const char *path, const char *content)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0 || fd_write_all(fd, content, strlen(content)) < 0)
		abort();
}

static struct place place_make(void)
{
	struct place place = { .path = "/tmp/sbx-test-path-XXXXXX" };

	if (!mkdtemp(place.path))
		abort();
	place.top = open(place.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (mkdirat(place.top, "root", 0755) < 0 || mkdirat(place.top, "root/inner", 0755) < 0)
		abort();
	place.root = openat(place.top, "root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	write_file(place.top, "secret", "outside");
	write_file(place.root, "inner/file", "inside");
	return place;
}

/* What can be read at @path: 'i' (inside), 'o' (outside), or negative errno. */
static int look_beneath(int root, const char *path)
{
	_cleanup_close_ int fd = path_open_beneath(root, path, O_RDONLY, 0);
	char first;

	if (fd < 0)
		return fd;
	return read(fd, &first, 1) == 1 ? first : -EIO;
}

/* The same with plain openat(): the result of the attack without the protection. */
static int look_plainly(int root, const char *path)
{
	_cleanup_close_ int fd = openat(root, path, O_RDONLY | O_CLOEXEC);
	char first;

	if (fd < 0)
		return -errno;
	return read(fd, &first, 1) == 1 ? first : -EIO;
}

static void make_link(const struct place *place, const char *target, const char *path)
{
	if (symlinkat(target, place->root, path) < 0)
		abort();
}

static void opens_what_is_beneath(void)
{
	_cleanup_place_ struct place place = place_make();

	expect_eq(look_beneath(place.root, "inner/file"), 'i');
	expect_eq(look_beneath(place.root, "./inner//file"), 'i');
	expect_eq(look_beneath(place.root, "inner/../inner/file"), 'i');
	expect_eq(look_beneath(place.root, "inner/nothing"), -ENOENT);
	expect_eq(look_beneath(place.root, ""), -ENOENT);
	expect_eq(look_beneath(-EBADF, "inner/file"), -EBADF);
}

static void adds_close_on_exec(void)
{
	_cleanup_place_ struct place place = place_make();
	_cleanup_close_ int fd = path_open_beneath(place.root, "inner/file", O_RDONLY, 0);

	expect_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
}

static void creates_with_the_mode_and_ignores_it_otherwise(void)
{
	_cleanup_place_ struct place place = place_make();
	_cleanup_close_ int made =
		path_open_beneath(place.root, "inner/new", O_WRONLY | O_CREAT | O_EXCL, 0600);
	_cleanup_close_ int old = path_open_beneath(place.root, "inner/new", O_RDONLY, 0600);
	struct stat status;

	expect(made >= 0);
	expect(old >= 0);
	expect_eq(fstatat(place.root, "inner/new", &status, 0), 0);
	expect_eq(status.st_mode & 07777, 0600);
	expect_eq(path_open_beneath(place.root, "inner/new", O_WRONLY | O_CREAT | O_EXCL, 0600),
		  -EEXIST);
}

#define ORDINARY_USER 1000

/* Root ignores modes: give the files away and become their owner. */
static void become_owner(const struct place *place)
{
	static const char *const names[] = { "inner", "inner/file", "." };

	if (geteuid() != 0)
		return;
	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		if (fchownat(place->root, names[i], ORDINARY_USER, ORDINARY_USER, 0) < 0)
			abort();
	if (setresuid(-1, ORDINARY_USER, -1) < 0)
		abort();
}

static void become_root_again(void)
{
	if (getuid() == 0 && setresuid(-1, 0, -1) < 0)
		abort();
}

static void path_open_own_adds_missing_permissions(void)
{
	_cleanup_place_ struct place place = place_make();
	_cleanup_close_ int directory = -EBADF, fd = -EBADF;
	struct stat was = { .st_mode = 0 }, is = { .st_mode = 0 };
	char first = 0;

	become_owner(&place);
	expect_eq(fchmodat(place.root, "inner/file", 04000, 0), 0);
	expect_eq(fchmodat(place.root, "inner", 0, 0), 0);
	expect_eq(openat(place.root, "inner", O_RDONLY | O_CLOEXEC), -1);
	directory = path_open_own(place.root, "inner", &was);
	expect_eq(was.st_mode, S_IFDIR);
	fd = path_open_own(directory, "file", &was);
	expect_eq(was.st_mode, S_IFREG | 04000);
	expect_eq(read(fd, &first, 1), 1);
	expect_eq(first, 'i');
	expect_eq(fstat(fd, &is), 0);
	expect_eq(is.st_mode, S_IFREG | 04000);
	expect_eq(fstat(directory, &is), 0);
	expect_eq(is.st_mode, S_IFDIR | 0500);
	become_root_again();
}

static void path_open_own_refuses_links_and_pipes(void)
{
	_cleanup_place_ struct place place = place_make();
	struct stat st;

	make_link(&place, "inner/file", "link");
	expect_eq(mkfifoat(place.root, "pipe", 0600), 0);
	expect_eq(path_open_own(place.root, "link", &st), -EBADMSG);
	expect_eq(path_open_own(place.root, "pipe", &st), -EBADMSG);
	expect_eq(path_open_own(place.root, "../secret", &st), -EXDEV);
	expect_eq(path_open_own(place.root, "nothing", &st), -ENOENT);
}

static void refuses_two_dots_that_leave(void)
{
	_cleanup_place_ struct place place = place_make();

	expect_eq(look_plainly(place.root, "../secret"), 'o');
	expect_eq(look_beneath(place.root, "../secret"), -EXDEV);
	expect_eq(look_beneath(place.root, "inner/../../secret"), -EXDEV);
	expect_eq(look_beneath(place.root, ".."), -EXDEV);
	/* Leaving the directory and returning counts as leaving. */
	expect_eq(look_plainly(place.root, "../root/inner/file"), 'i');
	expect_eq(look_beneath(place.root, "../root/inner/file"), -EXDEV);
}

static void refuses_an_absolute_path(void)
{
	_cleanup_place_ struct place place = place_make();
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/secret", place.path);
	expect_eq(look_plainly(place.root, path), 'o');
	expect_eq(look_beneath(place.root, path), -EXDEV);
	/* An absolute path, even to a file inside of the root. */
	(void)snprintf(path, sizeof(path), "%s/root/inner/file", place.path);
	expect_eq(look_beneath(place.root, path), -EXDEV);
	expect_eq(look_beneath(place.root, "/"), -EXDEV);
}

static void refuses_a_link_that_leaves(void)
{
	_cleanup_place_ struct place place = place_make();

	make_link(&place, "../secret", "link");
	make_link(&place, "..", "inner-link");
	expect_eq(look_plainly(place.root, "link"), 'o');
	expect_eq(look_beneath(place.root, "link"), -ELOOP);
	expect_eq(look_plainly(place.root, "inner-link/secret"), 'o');
	expect_eq(look_beneath(place.root, "inner-link/secret"), -ELOOP);
}

static void refuses_an_absolute_link(void)
{
	_cleanup_place_ struct place place = place_make();
	char target[128];

	(void)snprintf(target, sizeof(target), "%s/secret", place.path);
	make_link(&place, target, "link");
	expect_eq(look_plainly(place.root, "link"), 'o');
	expect_eq(look_beneath(place.root, "link"), -ELOOP);
}

static void refuses_a_link_even_if_it_stays_inside(void)
{
	_cleanup_place_ struct place place = place_make();

	make_link(&place, "inner/file", "link");
	make_link(&place, "inner", "folder");
	expect_eq(look_plainly(place.root, "link"), 'i');
	expect_eq(look_beneath(place.root, "link"), -ELOOP);
	expect_eq(look_beneath(place.root, "folder/file"), -ELOOP);
}

static void does_not_create_through_a_dangling_link(void)
{
	_cleanup_place_ struct place place = place_make();

	make_link(&place, "../planted", "link");
	expect_eq(path_open_beneath(place.root, "link", O_WRONLY | O_CREAT, 0600), -ELOOP);
	expect_eq(faccessat(place.top, "planted", F_OK, 0), -1);

	_cleanup_close_ int fd = openat(place.root, "link", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	expect(fd >= 0);
	expect_eq(faccessat(place.top, "planted", F_OK, 0), 0);
}

static void refuses_magic_links(void)
{
	_cleanup_place_ struct place place = place_make();
	_cleanup_close_ int secret = openat(place.top, "secret", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int fds = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int self = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char name[16];

	if (fds < 0 || self < 0)
		skip("/proc is not mounted");
	(void)snprintf(name, sizeof(name), "%d", secret);
	expect_eq(look_plainly(fds, name), 'o');
	expect_eq(look_beneath(fds, name), -ELOOP);
	expect(look_plainly(self, "root/proc/self/comm") >= 0);
	expect_eq(look_beneath(self, "root/proc/self/comm"), -ELOOP);
	expect_eq(look_beneath(self, "exe"), -ELOOP);
	expect_eq(look_beneath(self, "cwd/."), -ELOOP);
}

/* Swaps root/door, a directory, and root/link, which leads outside, until it is killed. */
static _Noreturn void flip(int root, atomic_uint *n_flips)
{
	/* Do not outlive a killed test. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		_exit(1);
	for (;;) {
		if (renameat2(root, "door", root, "link", RENAME_EXCHANGE) < 0)
			_exit(1);
		atomic_fetch_add(n_flips, 1);
	}
}

static void never_escapes_while_a_link_and_a_directory_are_swapped(void)
{
	_cleanup_place_ struct place place = place_make();
	unsigned want = test_is_slow() ? 100000 : 2000;
	size_t n_inside = 0, n_refused = 0, n_escaped = 0, n_other = 0, n_plain_escaped = 0;
	atomic_uint *n_flips = mmap(NULL, sizeof(*n_flips), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;

	if (n_flips == MAP_FAILED)
		abort();
	if (mkdirat(place.root, "door", 0755) < 0 || mkdirat(place.top, "out", 0755) < 0)
		abort();
	write_file(place.root, "door/file", "inside");
	write_file(place.top, "out/file", "outside");
	make_link(&place, "../out", "link");

	pid_t child = fork();

	if (child == 0)
		flip(place.root, n_flips);
	/* Until there were enough swaps and each outcome was seen; bounded. */
	for (size_t i = 0; i < 3000000; i++) {
		int r = look_beneath(place.root, "door/file");

		n_inside += r == 'i';
		n_escaped += r == 'o';
		/* ".." after a component that was a directory a moment ago. */
		n_escaped += look_beneath(place.root, "door/../secret") == 'o';
		n_refused += r == -ELOOP;
		n_other += r != 'i' && r != 'o' && r != -ELOOP && r != -EAGAIN;
		n_plain_escaped += look_plainly(place.root, "door/file") == 'o';
		if (atomic_load(n_flips) >= want && n_inside && n_refused && n_plain_escaped)
			break;
	}
	expect(atomic_load(n_flips) >= want);
	expect_eq(n_escaped, 0);
	expect_eq(n_other, 0);
	expect(n_inside > 0);
	expect(n_refused > 0);
	/* Without the protection the attack succeeds. */
	expect(n_plain_escaped > 0);

	expect_eq(kill(child, SIGKILL), 0);
	expect_eq(waitpid(child, &status, 0), child);
	expect(WIFSIGNALED(status));
	(void)munmap(n_flips, sizeof(*n_flips));
}

static bool is_directory(int dirfd, const char *path)
{
	struct stat status;

	return fstatat(dirfd, path, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
}

static void makes_the_parents_but_not_the_last_component(void)
{
	_cleanup_place_ struct place place = place_make();

	expect_eq(path_make_parents_beneath(place.root, "inner/a/b/c", 0755), 0);
	expect(is_directory(place.root, "inner/a/b"));
	expect(!is_directory(place.root, "inner/a/b/c"));
	expect_eq(path_make_parents_beneath(place.root, "inner/a/b/c", 0755), 0);
	expect_eq(path_make_parents_beneath(place.root, "x//./y/", 0755), 0);
	expect(is_directory(place.root, "x/y"));
	expect_eq(path_make_parents_beneath(place.root, "alone", 0755), 0);
	expect(!is_directory(place.root, "alone"));
}

static void makes_directories_through_links(void)
{
	_cleanup_place_ struct place place = place_make();
	char path[sizeof(place.path) + 32], in_file[sizeof(path)];

	make_link(&place, "inner", "link");
	(void)snprintf(path, sizeof(path), "%s/root/link//a/b", place.path);
	expect_eq(path_make_parents(path, 0755), 0);
	expect(is_directory(place.root, "inner/a"));
	expect(!is_directory(place.root, "inner/a/b"));
	expect_eq(path_make_directories(path, 0755), 0);
	expect(is_directory(place.root, "inner/a/b"));
	expect_eq(path_make_directories(path, 0755), 0);

	(void)snprintf(in_file, sizeof(in_file), "%s/root/inner/file/a/b/c", place.path);
	expect_eq(path_make_parents(in_file, 0755), -ENOTDIR);
	(void)snprintf(path, sizeof(path), "%s/root/inner/file/a", place.path);
	expect_str(in_file, path);
}

static void makes_no_parents_outside(void)
{
	_cleanup_place_ struct place place = place_make();
	char name[NAME_MAX + 3];

	make_link(&place, "..", "link");
	make_link(&place, "../dangling", "dangling");
	expect_eq(path_make_parents_beneath(place.root, "../out/x", 0755), -EXDEV);
	expect_eq(path_make_parents_beneath(place.root, "inner/../../out/x", 0755), -EXDEV);
	expect_eq(path_make_parents_beneath(place.root, "/out/x", 0755), -EXDEV);
	expect_eq(path_make_parents_beneath(place.root, "link/out/x", 0755), -ELOOP);
	expect_eq(path_make_parents_beneath(place.root, "dangling/x", 0755), -ELOOP);
	expect_eq(path_make_parents_beneath(place.root, "inner/file/x", 0755), -ENOTDIR);
	expect_eq(path_make_parents_beneath(place.root, "", 0755), -ENOENT);
	expect(!is_directory(place.top, "out"));
	expect(!is_directory(place.top, "dangling"));

	memset(name, 'n', sizeof(name));
	memcpy(name + NAME_MAX + 1, "/", 2);
	expect_eq(path_make_parents_beneath(place.root, name, 0755), -ENAMETOOLONG);
	memcpy(name + NAME_MAX, "/", 2);
	expect_eq(path_make_parents_beneath(place.root, name, 0755), 0);
}

/* Makes openat2() fail with ENOSYS in this process, as RestrictSUIDSGID= of a unit does. */
static void give_up_openat2(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { N_ELEMENTS(filter), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0)
		_exit(99);
	if (syscall(SYS_openat2, AT_FDCWD, ".", NULL, 0) >= 0 || errno != ENOSYS)
		_exit(98);
}

static void refuses_the_same_without_openat2(void)
{
	static void (*const cases[])(void) = {
		adds_close_on_exec,
		creates_with_the_mode_and_ignores_it_otherwise,
		path_open_own_adds_missing_permissions,
		path_open_own_refuses_links_and_pipes,
		refuses_two_dots_that_leave,
		refuses_an_absolute_path,
		refuses_a_link_that_leaves,
		refuses_an_absolute_link,
		refuses_a_link_even_if_it_stays_inside,
		does_not_create_through_a_dangling_link,
		refuses_magic_links,
		never_escapes_while_a_link_and_a_directory_are_swapped,
		makes_the_parents_but_not_the_last_component,
		makes_no_parents_outside,
	};
	pid_t child = fork();
	int status = -1;

	if (child == 0) {
		unsigned before = test_failures;

		give_up_openat2();
		for (size_t i = 0; i < N_ELEMENTS(cases); i++)
			cases[i]();
		_exit(test_failures != before);
	}
	expect_eq(waitpid(child, &status, 0), child);
	expect_eq(status, 0);
}

#define N_RANDOM 20000

/* The inode of the opened file, or negative errno. */
static long outcome(int fd)
{
	_cleanup_close_ int opened = fd;
	struct stat st;

	if (opened < 0)
		return opened;
	return fstat(opened, &st) < 0 ? -errno : (long)st.st_ino;
}

static unsigned random_of(unsigned *state, size_t n)
{
	*state = *state * 1103515245 + 12345;
	return (*state >> 16) % (unsigned)n;
}

/* Opens N_RANDOM random paths of a few names, most of which exist, in @place. */
static void open_at_random(const struct place *place, long *outcomes)
{
	static const char *const names[] = { "inner",  "inner", "deep", "file", "link",
					     "folder", "pipe",	"none", ".",	"" };
	static const int flags[] = {
		O_RDONLY | O_NONBLOCK,
		O_WRONLY | O_NONBLOCK,
		O_RDONLY | O_NONBLOCK | O_NOFOLLOW,
		O_RDONLY | O_DIRECTORY,
		O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
		O_PATH,
		O_PATH | O_NOFOLLOW,
		O_PATH | O_DIRECTORY,
		O_PATH | O_DIRECTORY | O_NOFOLLOW,
	};
	unsigned state = 1;

	for (size_t i = 0; i < N_RANDOM; i++) {
		int flag = flags[random_of(&state, N_ELEMENTS(flags))];
		unsigned n_names = random_of(&state, 5);
		char path[256];
		size_t n = 0;

		if (random_of(&state, 8) == 0)
			n = (size_t)snprintf(path, sizeof(path), "%s/root/", place->path);
		path[n] = '\0';
		for (unsigned name = 0; name <= n_names; name++)
			n += (size_t)snprintf(path + n, sizeof(path) - n, "%s%s",
					      name > 0 ? "/" : "",
					      names[random_of(&state, N_ELEMENTS(names))]);
		outcomes[i] =
			outcome(random_of(&state, 2) ? path_open_beneath(place->root, path, flag, 0)
						     : path_open_no_links(place->root, path, flag));
	}
}

static void opens_the_same_without_openat2(void)
{
	_cleanup_place_ struct place place = place_make();
	size_t size = sizeof(long) * N_RANDOM, n_opened = 0;
	long *with = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	long *without = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = -1;

	if (with == MAP_FAILED || without == MAP_FAILED)
		abort();
	make_link(&place, "inner/file", "link");
	make_link(&place, "inner", "folder");
	make_link(&place, "file", "inner/link");
	if (mkdirat(place.root, "inner/deep", 0755) < 0 || mkfifoat(place.root, "pipe", 0600) < 0)
		abort();
	write_file(place.root, "inner/deep/file", "inside");

	/* One after the other: whether a FIFO opens depends on its other openers. */
	open_at_random(&place, with);

	pid_t child = fork();

	if (child == 0) {
		give_up_openat2();
		open_at_random(&place, without);
		_exit(0);
	}
	expect_eq(waitpid(child, &status, 0), child);
	expect_eq(status, 0);
	for (size_t i = 0; i < N_RANDOM; i++) {
		expect_eq(without[i], with[i]);
		n_opened += with[i] >= 0;
	}
	expect(n_opened > N_RANDOM / 20);
	expect(n_opened < N_RANDOM / 2);
	(void)munmap(with, size);
	(void)munmap(without, size);
}

static void knows_a_normal_path(void)
{
	static const char *const normal[] = {
		"/", "/a", "/a/b", "/...", "/.a", "/a.", "/..a", "/a/.b", "/ ", "/a\nb", "/\xff",
	};
	static const char *const other[] = {
		"",    "a",   "a/b",  ".",    "..",    "//",   "/a/",	"//a",	  "/a//b",   "/.",
		"/..", "/./", "/../", "/a/.", "/a/..", "/./a", "/../a", "/a/./b", "/a/../b",
	};

	for (size_t i = 0; i < N_ELEMENTS(normal); i++)
		expect(path_is_normal(normal[i]));
	for (size_t i = 0; i < N_ELEMENTS(other); i++)
		expect(!path_is_normal(other[i]));
}

static void a_normal_path_is_shorter_than_the_limit(void)
{
	char path[PATH_MAX + 1];

	for (size_t i = 0; i < sizeof(path); i++)
		path[i] = i % 100 ? 'x' : '/';
	path[PATH_MAX] = '\0';
	expect(!path_is_normal(path));
	path[PATH_MAX - 1] = '\0';
	expect(path_is_normal(path));
}

static void beneath_is_by_whole_components(void)
{
	expect(path_is_beneath("/tmp/foo", "/tmp/foo"));
	expect(path_is_beneath("/tmp/foo/bar", "/tmp/foo"));
	expect(path_is_beneath("/tmp", "/"));
	expect(path_is_beneath("/", "/"));
	expect(!path_is_beneath("/tmp/foobar", "/tmp/foo"));
	expect(!path_is_beneath("/tmp/fo", "/tmp/foo"));
	expect(!path_is_beneath("/tmp", "/tmp/foo"));
	expect(!path_is_beneath("/", "/tmp"));
	expect(!path_is_beneath("/TMP/foo", "/tmp"));
}

static void nothing_that_is_not_normal_is_beneath(void)
{
	expect(!path_is_beneath("/tmp/foo/../../etc", "/tmp/foo"));
	expect(!path_is_beneath("/tmp/foo//bar", "/tmp/foo"));
	expect(!path_is_beneath("tmp/foo", "/"));
	expect(!path_is_beneath("", "/"));
	expect(!path_is_beneath("/tmp/foo/", "/tmp/foo"));
	expect(!path_is_beneath("/tmp/foo", "/tmp/"));
	expect(!path_is_beneath("/tmp/foo", ""));
	expect(!path_is_beneath("tmp/foo", "tmp"));
}

static void finds_the_last_component(void)
{
	expect_str(path_last("/a/b"), "b");
	expect_str(path_last("a"), "a");
	expect_str(path_last("/"), "");
	expect_str(path_last("a/"), "");
	expect_str(path_last(""), "");
}

static const struct test tests[] = {
	TEST(opens_what_is_beneath),
	TEST(adds_close_on_exec),
	TEST(creates_with_the_mode_and_ignores_it_otherwise),
	TEST(path_open_own_adds_missing_permissions),
	TEST(path_open_own_refuses_links_and_pipes),
	TEST(refuses_two_dots_that_leave),
	TEST(refuses_an_absolute_path),
	TEST(refuses_a_link_that_leaves),
	TEST(refuses_an_absolute_link),
	TEST(refuses_a_link_even_if_it_stays_inside),
	TEST(does_not_create_through_a_dangling_link),
	TEST(refuses_magic_links),
	TEST(never_escapes_while_a_link_and_a_directory_are_swapped),
	TEST(makes_the_parents_but_not_the_last_component),
	TEST(makes_directories_through_links),
	TEST(makes_no_parents_outside),
	TEST(refuses_the_same_without_openat2),
	TEST(opens_the_same_without_openat2),
	TEST(knows_a_normal_path),
	TEST(a_normal_path_is_shorter_than_the_limit),
	TEST(beneath_is_by_whole_components),
	TEST(nothing_that_is_not_normal_is_beneath),
	TEST(finds_the_last_component),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
