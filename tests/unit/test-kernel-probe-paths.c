/* SPDX-License-Identifier: MIT */

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <sbx/error.h>

#include "kernel/probe-internal.h"
#include "probe-place.h"

#define STRANGER 1001

/*
 * folder/file, folder/socket, and links in a directory of their own, which belong to root if root
 * runs the tests
 *
 * Only links that root owns are followed, so as an ordinary user all are refused.
 */

static void make_link(const char *target, const char *name, uid_t owner)
{
	if (symlink(target, in_place(name)) < 0 || lchown(in_place(name), owner, owner) < 0)
		abort();
}

/* A search with its arena. */
struct rig {
	struct arena arena;
	struct place_search search;
	struct host_path found;
};

static void rig_deinit(struct rig *rig)
{
	arena_deinit(&rig->arena);
}
#define _cleanup_rig_ _cleanup_(rig_deinit)

static int probe_at(struct rig *rig, const char *path)
{
	rig->search.arena = &rig->arena;
	rig->search.has_root = -1;
	return probe_place(&rig->search, path, &rig->found, NULL);
}

/* Expects the kind and the real path. */
#define expect_place(rig, name, want_kind, want_real)                                              \
	do {                                                                                       \
		expect_eq(probe_at(rig, in_place(name)), 0);                                       \
		expect_eq((rig)->found.kind, want_kind);                                           \
		expect_str((rig)->found.real, in_place(want_real));                                \
	} while (0)

static void tells_kinds_and_owners(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	expect_place(&rig, "folder", HOST_DIRECTORY, "folder");
	expect_eq(rig.found.uid, geteuid());
	expect_eq(rig.found.gid, getegid());
	expect_eq(rig.found.mode, S_IFDIR | 0755);
	expect_place(&rig, "folder/file", HOST_FILE, "folder/file");
	expect_eq(rig.found.n_links, 1);
	expect_eq(link(in_place("folder/file"), in_place("private/second")), 0);
	expect_place(&rig, "folder/file", HOST_FILE, "folder/file");
	expect_eq(rig.found.n_links, 2);
	expect_eq(unlink(in_place("private/second")), 0);
	expect_place(&rig, "folder/socket", HOST_SOCKET, "folder/socket");
	expect_eq(probe_at(&rig, "/dev/null"), 0);
	expect_eq(rig.found.kind, HOST_DEVICE);
	expect_eq(probe_at(&rig, "/"), 0);
	expect_eq(rig.found.kind, HOST_DIRECTORY);
	expect_str(rig.found.real, "/");
	expect_eq(rig.search.links.n_rows, 0);
}

static void a_missing_path_keeps_its_rest(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	expect_place(&rig, "nothing/below", HOST_MISSING, "nothing/below");
	/* ENOTDIR: below a file there is nothing. */
	expect_place(&rig, "folder/file/below", HOST_MISSING, "folder/file/below");
}

/* Root follows only links in system directories, because other files of root may come from its
 * sandboxes; these tests look as another user. */
static void become(uid_t uid)
{
	if (seteuid(uid) < 0)
		abort();
}

static void root_follows_only_the_links_of_the_system(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	NEEDS_ROOT();
	expect_place(&rig, "to-folder", HOST_LINK_REFUSED, "to-folder");
	expect_place(&rig, "to-folder/file", HOST_LINK_REFUSED, "to-folder");
	expect_place(&rig, "absolute/file", HOST_LINK_REFUSED, "absolute");
	expect_eq(probe_at(&rig, "/proc/self"), 0);
	expect_eq(rig.found.kind, HOST_LINK_REFUSED);
	expect_eq(probe_at(&rig, "/usr/bin/awk"), 0);
	expect(rig.found.kind != HOST_LINK_REFUSED);
}

static void follows_links_of_root(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	NEEDS_ROOT();
	become(STRANGER + 1);
	expect_place(&rig, "to-folder", HOST_DIRECTORY, "folder");
	expect_place(&rig, "to-folder/file", HOST_FILE, "folder/file");
	expect_place(&rig, "to-folder/nothing/below", HOST_MISSING, "folder/nothing/below");
	expect_place(&rig, "absolute/file", HOST_FILE, "folder/file");
	expect_place(&rig, "chain/file", HOST_FILE, "folder/file");
	expect_place(&rig, "dangling", HOST_MISSING, "gone");
	become(0);
}

static void two_dots_in_a_link_leave_what_it_leads_to(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	NEEDS_ROOT();
	become(STRANGER + 1);
	/* folder/up is "../folder/./file": a leading ".." leaves the directory that contains the
	 * link. */
	expect_place(&rig, "folder/up", HOST_FILE, "folder/file");
	/* "deep/../file" is in the parent of the target of "deep", not of "deep" itself. */
	expect_place(&rig, "around", HOST_FILE, "folder/file");
	expect_place(&rig, "above-the-root", HOST_DIRECTORY, "folder");
	/* ".." of a file is ENOTDIR: such a link does not lead to the file. */
	expect_place(&rig, "past-a-file", HOST_MISSING, "past-a-file");
	become(0);
}

static void a_link_with_a_slash_at_its_end_leads_to_no_file(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	NEEDS_ROOT();
	become(STRANGER + 1);
	expect_place(&rig, "file-and-slash", HOST_MISSING, "file-and-slash");
	expect_place(&rig, "file-and-dot", HOST_MISSING, "file-and-dot");
	expect_place(&rig, "file-and-both", HOST_MISSING, "file-and-both");
	expect_place(&rig, "folder-and-slash", HOST_DIRECTORY, "folder");
	expect_place(&rig, "folder-and-slash/file", HOST_FILE, "folder/file");
	expect_place(&rig, "folder-and-dot/file", HOST_FILE, "folder/file");
	expect_place(&rig, "gone-and-slash/file", HOST_MISSING, "gone/file");
	expect_place(&rig, "itself-and-dot", HOST_MISSING, "itself-and-dot");
	become(0);
}

static void remembers_each_link_once_and_sorted(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	NEEDS_ROOT();
	become(STRANGER + 1);
	expect_eq(probe_at(&rig, in_place("to-folder/file")), 0);
	expect_eq(probe_at(&rig, in_place("to-folder")), 0);
	expect_eq(probe_at(&rig, in_place("chain/file")), 0);
	expect_eq(rig.search.links.n_rows, 2);
	const struct host_link *links = rig.search.links.rows;
	expect_str(links[0].path, in_place("chain"));
	expect_str(links[0].target, "to-folder");
	expect_str(links[1].path, in_place("to-folder"));
	expect_str(links[1].target, "folder");
	become(0);
}

static void knows_links_in_directories_that_the_command_may_write_to(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	NEEDS_ROOT();
	expect_eq(mkdir(in_place("own"), 0700), 0);
	expect_eq(chown(in_place("own"), STRANGER + 1, STRANGER + 1), 0);
	expect_eq(symlink("../folder", in_place("own/link")), 0);
	become(STRANGER + 1);
	expect_place(&rig, "own/link", HOST_DIRECTORY, "folder");
	expect_place(&rig, "to-folder", HOST_DIRECTORY, "folder");
	expect_eq(rig.search.links.n_rows, 2);
	const struct host_link *links = rig.search.links.rows;
	expect_eq(links[0].n_movable, strlen(in_place("own/link")));
	expect_eq(links[1].n_movable, 0);
	become(0);
	expect_eq(unlink(in_place("own/link")), 0);
	expect_eq(rmdir(in_place("own")), 0);
}

static void knows_that_the_command_of_root_may_replace_its_links(void)
{
	static const char path[] = "/usr/bin/sh";
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	NEEDS_ROOT();
	expect_eq(probe_at(&rig, path), 0);
	expect_eq(rig.search.links.n_rows, 1);
	const struct host_link *link = rig.search.links.rows;
	expect_str(link->path, path);
	expect_eq(link->n_movable, strlen(path));
}

/* By its name, nobody could replace the link itself. In a sticky directory only owners rename. */
static void knows_links_in_directories_that_the_command_may_rename(void)
{
	static const struct {
		mode_t mode;
		bool is_movable;
	} cases[] = { { 0755, false }, { 0777, true }, { 01777, false } };

	NEEDS_ROOT();
	expect_eq(mkdir(in_place("outer"), 0), 0);
	expect_eq(mkdir(in_place("outer/of-root"), 0755), 0);
	expect_eq(symlink("../../folder", in_place("outer/of-root/link")), 0);
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };
		size_t n = strlen(in_place("outer/of-root"));

		expect_eq(chmod(in_place("outer"), cases[i].mode), 0);
		become(STRANGER + 1);
		expect_place(&rig, "outer/of-root/link/file", HOST_FILE, "folder/file");
		expect_eq(rig.search.links.n_rows, 1);
		const struct host_link *links = rig.search.links.rows;
		expect_eq(links[0].n_movable, cases[i].is_movable ? n : 0);
		become(0);
	}
	expect_eq(unlink(in_place("outer/of-root/link")), 0);
	expect_eq(rmdir(in_place("outer/of-root")), 0);
	expect_eq(rmdir(in_place("outer")), 0);
}

static void refuses_a_link_of_another_user(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	NEEDS_ROOT();
	become(STRANGER + 1);
	expect_place(&rig, "foreign", HOST_LINK_REFUSED, "foreign");
	expect_eq(rig.found.uid, STRANGER);
	/* Anywhere in the path. */
	expect_place(&rig, "foreign/file", HOST_LINK_REFUSED, "foreign");
	expect_place(&rig, "to-foreign", HOST_LINK_REFUSED, "foreign");
	expect_place(&rig, "to-foreign/file", HOST_LINK_REFUSED, "foreign");
	/* Also a dangling link, or one to itself. */
	expect_place(&rig, "foreign-dangling", HOST_LINK_REFUSED, "foreign-dangling");
	const struct host_link *links = rig.search.links.rows;
	for (size_t i = 0; i < rig.search.links.n_rows; i++)
		expect(!strstr(links[i].path, "foreign") || strstr(links[i].path, "to-foreign"));
	become(0);
}

static int look_as_ordinary_user(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	check(become_ordinary() == 0);
	check(symlink("folder", in_place("shared/mine")) == 0);
	check(probe_at(&rig, in_place("shared/mine")) == 0);
	/* An attacker who controls this user's files could have created it. */
	check(rig.found.kind == HOST_LINK_REFUSED && rig.found.uid == geteuid());
	check(probe_at(&rig, in_place("private/file")) == 0);
	check(rig.found.kind == HOST_UNREACHABLE);
	return 0;
}

static void an_ordinary_users_own_links_are_refused(void)
{
	NEEDS_ROOT();
	expect_eq(in_child(look_as_ordinary_user), 0);
	expect_eq(unlink(in_place("shared/mine")), 0);
}

static void a_loop_of_links_is_nothing(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	NEEDS_ROOT();
	become(STRANGER + 1);
	expect_eq(probe_at(&rig, in_place("loop-a/file")), 0);
	expect_eq(rig.found.kind, HOST_MISSING);
	expect_eq(probe_at(&rig, in_place("itself")), 0);
	expect_eq(rig.found.kind, HOST_MISSING);
	/* Each expansion makes the path longer. */
	expect_eq(probe_at(&rig, in_place("growing")), 0);
	expect_eq(rig.found.kind, HOST_MISSING);
	become(0);
}

static void knows_the_links_in_the_root_directory(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };
	struct stat status;

	if (lstat("/bin", &status) < 0 || !S_ISLNK(status.st_mode))
		skip("/bin is no link here");
	expect_eq(probe_at(&rig, "/bin/sh"), 0);
	expect_eq(rig.found.kind, HOST_FILE);
	expect(rig.search.links.n_rows > 0);
	expect_str(((const struct host_link *)rig.search.links.rows)[0].path, "/bin");
}

static int look_in_a_namespace(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };
	struct kernel kernel = KERNEL_INIT;

	check(become_ordinary() == 0);
	check(enter_namespaces(&kernel, 0) == 0);
	check(probe_at(&rig, in_place("to-folder/file")) == 0);
	check(rig.found.kind == HOST_FILE && strcmp(rig.found.real, in_place("folder/file")) == 0);
	return 0;
}

/* In a user namespace without uid 0, root's files have the overflow uid; a nested sandbox needs
 * those links. */
static void links_of_the_overflow_uid_count_as_roots_if_root_is_unmapped(void)
{
	NEEDS_ROOT();
	NEEDS_USERNS();
	expect_eq(in_child(look_in_a_namespace), 0);
}

static void links_of_the_overflow_uid_are_refused_if_root_is_mapped(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	NEEDS_ROOT();
	expect_place(&rig, "nobodys/file", HOST_LINK_REFUSED, "nobodys");
}

static void refuses_a_path_that_is_not_normal(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	expect_eq(probe_at(&rig, "tmp"), -EINVAL);
	expect_eq(probe_at(&rig, "/tmp/../etc"), -EINVAL);
	expect_eq(probe_at(&rig, ""), -EINVAL);
}

static void sorts_the_places_and_leaves_no_link_out(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };
	struct host host = { .n_paths = 0 };
	const char *const paths[] = { in_place("to-folder"), in_place("folder"), NULL };

	NEEDS_ROOT();
	become(STRANGER + 1);
	rig.search.arena = &rig.arena;
	rig.search.has_root = -1;
	expect_eq(probe_places(&rig.search, paths, &host, NULL), 0);
	expect_eq(host.n_paths, 2);
	expect_str(host.paths[0].path, in_place("folder"));
	expect_str(host.paths[1].path, in_place("to-folder"));
	expect_str(host.paths[1].real, in_place("folder"));
	expect_eq(host.n_links, 1);
	become(0);
}

static void a_place_that_cannot_be_looked_at_is_named(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };
	struct host host = { .n_paths = 0 };
	struct sbx_error err = { 0 };
	const char *const paths[] = { "/usr", "relative", NULL };

	rig.search.arena = &rig.arena;
	expect_eq(probe_places(&rig.search, paths, &host, &err), -EINVAL);
	expect_str(err.what, "cannot look at 'relative'");
	expect_eq(host.n_paths, 0);
}

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

/* Most paths are in or beside the one before, or are one of its parents. */
static void choose_path(uint64_t *seed, char name[static 256])
{
	static const char *const names[] = {
		"folder",    "file",	 "gone",  "fold",    "socket",	"private",  "shared",
		"to-folder", "absolute", "chain", "up",	     "deep",	"around",   "foreign",
		"loop-a",    "itself",	 "inner", "growing", "nobodys", "dangling", ".config",
	};
	bool is_common = next_random(seed) % 4 > 0;
	char *slash = strrchr(name, '/');

	if (slash && strlen(name) < 150 && next_random(seed) % 4 > 0)
		slash[next_random(seed) % 2] = '\0';
	else
		name[0] = '\0';
	for (uint64_t n = next_random(seed) % 3; n > 0 || name[0] == '\0'; n -= n > 0)
		(void)snprintf(name + strlen(name), 256 - strlen(name), "%s%s",
			       name[0] == '\0' || name[strlen(name) - 1] == '/' ? "" : "/",
			       names[next_random(seed) % (is_common ? 3 : N_ELEMENTS(names))]);
	if (name[strlen(name) - 1] == '/')
		name[strlen(name) - 1] = '\0';
}

/* Directories of which several paths are asked for are looked at in another way than a single path:
 * both ways must have one answer, in any order of any paths. */
static void many_paths_have_the_answers_of_each_alone(void)
{
	char name[256] = "";
	uint64_t seed = 1;

	for (int round = 0; round < 300; round++) {
		_cleanup_rig_ struct rig many = { .arena = ARENA_INIT };
		const char *paths[65] = { NULL };
		struct host host = { .n_paths = 0 };

		for (size_t i = 0; i < 64; i++) {
			choose_path(&seed, name);
			paths[i] = arena_copy(&many.arena, in_place(name), strlen(in_place(name)));
		}
		many.search.arena = &many.arena;
		many.search.has_root = -1;
		expect_eq(probe_places(&many.search, paths, &host, NULL), 0);
		expect(host.n_paths >= 64);
		for (size_t i = 0; i < host.n_paths; i++) {
			_cleanup_rig_ struct rig alone = { .arena = ARENA_INIT };
			const struct host_path *found = &host.paths[i];

			expect_eq(probe_at(&alone, found->path), 0);
			expect_eq(found->kind, alone.found.kind);
			expect_str(found->real, alone.found.real);
			expect(found->uid == alone.found.uid && found->gid == alone.found.gid &&
			       found->mode == alone.found.mode &&
			       found->n_links == alone.found.n_links &&
			       found->size_bytes == alone.found.size_bytes);
		}
	}
}

static const struct test tests[] = {
	TEST(many_paths_have_the_answers_of_each_alone),
	TEST(tells_kinds_and_owners),
	TEST(a_missing_path_keeps_its_rest),
	TEST(root_follows_only_the_links_of_the_system),
	TEST(follows_links_of_root),
	TEST(two_dots_in_a_link_leave_what_it_leads_to),
	TEST(a_link_with_a_slash_at_its_end_leads_to_no_file),
	TEST(remembers_each_link_once_and_sorted),
	TEST(knows_links_in_directories_that_the_command_may_write_to),
	TEST(knows_that_the_command_of_root_may_replace_its_links),
	TEST(knows_links_in_directories_that_the_command_may_rename),
	TEST(refuses_a_link_of_another_user),
	TEST(an_ordinary_users_own_links_are_refused),
	TEST(a_loop_of_links_is_nothing),
	TEST(knows_the_links_in_the_root_directory),
	TEST(links_of_the_overflow_uid_count_as_roots_if_root_is_unmapped),
	TEST(links_of_the_overflow_uid_are_refused_if_root_is_mapped),
	TEST(refuses_a_path_that_is_not_normal),
	TEST(sorts_the_places_and_leaves_no_link_out),
	TEST(a_place_that_cannot_be_looked_at_is_named),
	TEST_END,
};

static void make_directory_of(const char *name, mode_t mode)
{
	make_directory(name);
	if (chmod(in_place(name), mode) < 0)
		abort();
}

static void make_socket(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", place, name);
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		abort();
}

static void make_place(void)
{
	char above[192];

	make_directory_of("folder", 0755);
	make_directory_of("folder/inner", 0755);
	make_directory_of("private", 0700);
	make_directory_of("shared", 0777);
	make_file("folder/file", "");
	make_file("private/file", "");
	make_socket("folder/socket");
	if (geteuid() != 0)
		return;
	(void)snprintf(above, sizeof(above), "/../..%s", in_place("folder"));
	make_link("folder", "to-folder", 0);
	make_link(in_place("folder"), "absolute", 0);
	make_link("to-folder", "chain", 0);
	make_link("gone", "dangling", 0);
	make_link("../folder/./file", "folder/up", 0);
	make_link("folder/inner", "deep", 0);
	make_link("deep/../file", "around", 0);
	make_link(above, "above-the-root", 0);
	make_link("folder/file/../inner", "past-a-file", 0);
	make_link("folder/file/", "file-and-slash", 0);
	make_link("to-folder/file/.", "file-and-dot", 0);
	make_link("folder/file/.//", "file-and-both", 0);
	make_link("folder/", "folder-and-slash", 0);
	make_link("to-folder/.", "folder-and-dot", 0);
	make_link("gone/", "gone-and-slash", 0);
	make_link("itself-and-dot/.", "itself-and-dot", 0);
	make_link("folder", "foreign", STRANGER);
	make_link("foreign", "to-foreign", 0);
	make_link("gone", "foreign-dangling", STRANGER);
	make_link("loop-b", "loop-a", 0);
	make_link("loop-a", "loop-b", 0);
	make_link("itself", "itself", 0);
	make_link("growing/more", "growing", 0);
	make_link("folder", "nobodys", 65534);
}

int main(void)
{
	return run_in_place(tests, make_place);
}
