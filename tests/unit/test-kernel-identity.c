/* SPDX-License-Identifier: MIT */

#include <linux/nsfs.h>
#include <sys/capability.h>
#include <sys/ioctl.h>

#include "kernel-rig.h"

#define BORROWED 2000000123

static const struct step borrowed = { .kind = STEP_IDENTITY, .identity = { BORROWED, BORROWED } };

/* Compares with "0 1000 1"; ignores the padding of the columns. */
static int map_is(const char *path, const char *want)
{
	char text[256], squeezed[256];
	size_t n = 0;

	(void)read_text(path, text, sizeof(text));
	for (const char *at = text; *at; at++)
		if (!(*at == ' ' && (n == 0 || squeezed[n - 1] == ' ')))
			squeezed[n++] = *at;
	squeezed[n] = '\0';
	return strcmp(squeezed, want) == 0;
}

static int map_as_user(void)
{
	struct kernel kernel = KERNEL_INIT;
	char want[64], text[64];

	check(become_ordinary() == 0);
	(void)snprintf(want, sizeof(want), "%u %u 1\n", getuid(), getuid());
	check(enter_namespaces(&kernel, 0) == 0);
	check(map_is("/proc/self/uid_map", want));
	check(strcmp(read_text("/proc/self/setgroups", text, sizeof(text)), "deny\n") == 0);
	check(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0);
	check(setuid(0) < 0 && errno == EINVAL);
	return 0;
}

static void maps_only_its_own_ids_to_themselves(void)
{
	NEEDS_USERNS();
	expect_eq(in_child(map_as_user), 0);
}

static int map_by_the_kept_directory(void)
{
	struct kernel kernel = KERNEL_INIT;

	check(become_ordinary() == 0);
	kernel.proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	check(kernel.proc_fd >= 0);
	return enter_namespaces(&kernel, 0);
}

static void writes_the_map_through_a_kept_proc(void)
{
	NEEDS_USERNS();
	expect_eq(in_child(map_by_the_kept_directory), 0);
}

static int map_somebody_else(void)
{
	struct kernel kernel = KERNEL_INIT;
	const struct step map = { .kind = STEP_ID_MAP, .id_map = { .uid = 0, .gid = 0 } };
	int r;

	check(become_ordinary() == 0);
	check(unshare(CLONE_NEWUSER) == 0);
	r = identity_map(&kernel, &map, 0);
	/* The map is inside = outside, so this would map root's uid of the host. */
	check(map_is("/proc/self/uid_map", ""));
	return r;
}

static void refuses_to_map_an_id_of_another_user(void)
{
	NEEDS_USERNS();
	expect_eq(in_child(map_somebody_else), -EPERM);
}

static int set_as_user(void)
{
	struct kernel kernel = KERNEL_INIT;
	struct step identity;

	check(become_ordinary() == 0);
	identity = (struct step){ .kind = STEP_IDENTITY, .identity = { getuid(), getgid() } };
	check(enter_namespaces(&kernel, 0) == 0);
	return identity_set(&kernel, &identity, 0);
}

static void an_ordinary_user_keeps_the_uid(void)
{
	NEEDS_USERNS();
	expect_eq(in_child(set_as_user), 0);
}

static int keep_own_groups(void)
{
	const gid_t groups[] = { 4, 24 };
	struct kernel kernel = KERNEL_INIT;
	struct step identity = { .kind = STEP_IDENTITY, .identity = { ORDINARY, ORDINARY } };

	check(setgroups(2, groups) == 0);
	check(setresgid(ORDINARY, ORDINARY, ORDINARY) == 0);
	check(setresuid(ORDINARY, ORDINARY, ORDINARY) == 0);
	check(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0);
	check(enter_namespaces(&kernel, 0) == 0);
	check(getgroups(0, NULL) == 2);
	return identity_set(&kernel, &identity, 0);
}

static void an_ordinary_user_keeps_supplementary_groups(void)
{
	NEEDS_ROOT();
	NEEDS_USERNS();
	expect_eq(in_child(keep_own_groups), 0);
}

static int set_somebody_else(void)
{
	struct kernel kernel = KERNEL_INIT;
	const struct step other = { .kind = STEP_IDENTITY,
				    .identity = { ORDINARY + 1, ORDINARY + 1 } };

	check(become_ordinary() == 0);
	return identity_set(&kernel, &other, 0);
}

static void refuses_another_identity_without_the_capability(void)
{
	NEEDS_ROOT();
	expect_eq(in_child(set_somebody_else), -EPERM);
}

static void refuses_ids_that_mean_as_it_is(void)
{
	struct kernel kernel = KERNEL_INIT;
	const struct step unchanged = { .kind = STEP_IDENTITY, .identity = { UINT32_MAX, 5 } };
	const struct step group = { .kind = STEP_IDENTITY, .identity = { 5, UINT32_MAX } };

	expect_eq(identity_set(&kernel, &unchanged, 0), -EINVAL);
	expect_eq(identity_set(&kernel, &group, 0), -EINVAL);
}

static int has_effective(cap_value_t value)
{
	cap_t set = cap_get_proc();
	cap_flag_value_t flag = CAP_CLEAR;

	(void)cap_get_flag(set, value, CAP_EFFECTIVE, &flag);
	(void)cap_free(set);
	return flag == CAP_SET;
}

static int borrow_and_return(void)
{
	uid_t real, effective, saved;

	check(identity_borrow(BORROWED, BORROWED) == 0);
	check(getresuid(&real, &effective, &saved) == 0);
	check(real == 0 && effective == BORROWED && saved == 0);
	check(getegid() == BORROWED && getgroups(0, NULL) == 0);
	check(has_effective(CAP_SYS_ADMIN));
	check(identity_return(0, 0) == 0);
	check(geteuid() == 0 && getegid() == 0 && has_effective(CAP_SYS_ADMIN));
	return 0;
}

static void root_borrows_ids_and_has_its_own_back(void)
{
	NEEDS_ROOT();
	expect_eq(in_child(borrow_and_return), 0);
}

static int borrow_without_right(void)
{
	check(become_ordinary() == 0);
	return identity_borrow(BORROWED, BORROWED);
}

static void refuses_to_borrow_what_it_may_not(void)
{
	expect_eq(identity_borrow(0, BORROWED), -EINVAL);
	expect_eq(identity_borrow(BORROWED, 0), -EINVAL);
	expect_eq(identity_borrow((uid_t)-1, BORROWED), -EINVAL);
	expect_eq(in_child(borrow_without_right), -EPERM);
}

static int become_the_command(void)
{
	struct kernel kernel = KERNEL_INIT;
	uid_t owner, real, effective, saved;
	_cleanup_close_ int own = -EBADF;

	check(identity_borrow(BORROWED, BORROWED) == 0);
	check(unshare(CLONE_NEWUSER) == 0);
	/* The process is not dumpable, so /proc/self belongs to root: not writable, links not
	 * followed. */
	check(faccessat(AT_FDCWD, "/proc/self/uid_map", W_OK, AT_EACCESS) < 0);
	check(identity_map(&kernel, &borrowed, 0) == 0);
	check(identity_set(&kernel, &borrowed, 0) == 0);
	check(getresuid(&real, &effective, &saved) == 0);
	check(real == BORROWED && effective == BORROWED && saved == BORROWED);
	check(setresuid(0, 0, 0) < 0 && errno == EINVAL);
	check(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0);
	own = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
	check(own >= 0 && ioctl(own, NS_GET_OWNER_UID, &owner) == 0);
	check(owner == BORROWED);
	return 0;
}

static void the_namespace_belongs_to_the_borrowed_user(void)
{
	NEEDS_ROOT();
	NEEDS_USERNS();
	expect_eq(in_child(become_the_command), 0);
}

static int keep_groups_of_root(void)
{
	const gid_t group = 42;
	struct kernel kernel = KERNEL_INIT;

	/* As in identity_borrow(), but with a supplementary group. */
	check(setgroups(1, &group) == 0);
	check(setresgid((gid_t)-1, BORROWED, (gid_t)-1) == 0);
	check(setresuid((uid_t)-1, BORROWED, (uid_t)-1) == 0);
	check(unshare(CLONE_NEWUSER) == 0);
	check(identity_map(&kernel, &borrowed, 0) == 0);
	return identity_set(&kernel, &borrowed, 0);
}

static void refuses_to_go_on_with_a_group_of_root(void)
{
	NEEDS_ROOT();
	NEEDS_USERNS();
	expect_eq(in_child(keep_groups_of_root), -EPERM);
}

static const struct test tests[] = {
	TEST(maps_only_its_own_ids_to_themselves),
	TEST(writes_the_map_through_a_kept_proc),
	TEST(refuses_to_map_an_id_of_another_user),
	TEST(an_ordinary_user_keeps_the_uid),
	TEST(an_ordinary_user_keeps_supplementary_groups),
	TEST(refuses_another_identity_without_the_capability),
	TEST(refuses_ids_that_mean_as_it_is),
	TEST(root_borrows_ids_and_has_its_own_back),
	TEST(refuses_to_borrow_what_it_may_not),
	TEST(the_namespace_belongs_to_the_borrowed_user),
	TEST(refuses_to_go_on_with_a_group_of_root),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
