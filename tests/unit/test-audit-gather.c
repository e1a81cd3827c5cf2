/* SPDX-License-Identifier: MIT */

#include "audit/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "record/record.h"
#include "test.h"

#define SERVICE_UID 4242
#define LOG_UID 4243

/* A state directory with root's spool, a service's spool and the log's inbox. */
struct place {
	char path[32];
	int state, spool, service, inbox;
	uid_t service_uid, log_uid;
};

static int make(struct place *place, const char *name, uid_t uid)
{
	int fd;

	expect(mkdirat(place->state, name, 0700) == 0);
	fd = openat(place->state, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	expect(fd >= 0 && (uid == geteuid() || fchown(fd, uid, uid) == 0));
	return fd;
}

/* If the tests do not run as root, one user plays all three. */
static void place_init(struct place *place)
{
	bool is_root = geteuid() == 0;

	*place = (struct place){ .path = "/tmp/gather-XXXXXX" };
	place->service_uid = is_root ? SERVICE_UID : geteuid();
	place->log_uid = is_root ? LOG_UID : geteuid();
	expect(mkdtemp(place->path) != NULL && chmod(place->path, 0755) == 0);
	place->state = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	place->spool = make(place, "spool", geteuid());
	place->inbox = make(place, "audit-inbox", place->log_uid);
	(void)close(make(place, "policy", place->service_uid));
	(void)close(make(place, "policy/sbx", place->service_uid));
	place->service = make(place, "policy/sbx/spool", place->service_uid);
	/* Other entries of a state directory. */
	(void)close(make(place, "audit", place->log_uid));
	expect(symlinkat("policy", place->state, "linked") == 0);
}

static void remove_tree(const char *path)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)execl("/bin/rm", "rm", "-rf", path, NULL);
		_exit(127);
	}
	(void)waitpid(pid, NULL, 0);
}

static void place_deinit(struct place *place)
{
	close_fd(&place->state);
	close_fd(&place->spool);
	close_fd(&place->service);
	close_fd(&place->inbox);
	remove_tree(place->path);
}

#define _cleanup_place_ _cleanup_(place_deinit)

static void write_file(int directory, const char *name, const char *text, uid_t uid)
{
	int fd = openat(directory, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	expect(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	expect(uid == geteuid() || fchown(fd, uid, uid) == 0);
	(void)close(fd);
}

static int gather(const struct place *place, int inbox, uint64_t *ret_n, struct sbx_error *err)
{
	const struct gather_options options = { place->state, place->spool, inbox };

	*err = (struct sbx_error){ .code = 0 };
	return audit_gather(&options, ret_n, err);
}

/* The number of files, and of the last one: text, owner, and the owner in its name. */
struct seen {
	unsigned n;
	char text[64];
	uid_t uid, named;
	mode_t mode;
};

static struct seen look(int directory)
{
	int again = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_closedir_ DIR *dir = fdopendir(again);
	struct seen seen = { .named = CLAIM_NOBODY };
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		struct stat st;
		int fd;

		if (entry->d_name[0] == '.')
			continue;
		seen.n++;
		(void)claim_parse_name(CLAIM_PREFIX, entry->d_name, &seen.named);
		fd = openat(directory, entry->d_name, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &st) < 0)
			continue;
		seen.uid = st.st_uid;
		seen.mode = st.st_mode;
		memset(seen.text, 0, sizeof(seen.text));
		(void)!read(fd, seen.text, sizeof(seen.text) - 1);
		(void)close(fd);
	}
	return seen;
}

static void expect_handed(const struct place *place, const char *text, uid_t owner)
{
	struct seen seen = look(place->inbox);

	expect_eq(seen.n, 1);
	expect_str(seen.text, text);
	expect_eq(seen.uid, place->log_uid);
	expect_eq(seen.named, owner);
}

static void a_services_spool_is_handed_over_with_its_owners_name(void)
{
	_cleanup_place_ struct place place;
	struct sbx_error err;
	uint64_t n;

	place_init(&place);
	write_file(place.service, RECORD_SPOOL_NAME, "one\n", place.service_uid);
	expect_eq(gather(&place, place.inbox, &n, &err), 0);
	expect_eq(n, 1);
	expect_handed(&place, "one\n", place.service_uid);
	expect_eq(look(place.service).n + look(place.spool).n, 0);
	expect_eq(gather(&place, place.inbox, &n, &err), 0);
	expect_eq(n, 0);
}

/* Its owner may have taken away all permissions. */
static void the_user_of_the_log_can_read_what_is_handed_over(void)
{
	_cleanup_place_ struct place place;
	struct seen seen;
	struct sbx_error err;
	uint64_t n;

	place_init(&place);
	write_file(place.service, RECORD_SPOOL_NAME, "one\n", place.service_uid);
	expect(fchmodat(place.service, RECORD_SPOOL_NAME, 0, 0) == 0);
	expect_eq(gather(&place, place.inbox, &n, &err), 0);
	expect_eq(n, 1);
	seen = look(place.inbox);
	expect_eq(seen.n, 1);
	expect_eq(seen.mode & 07777, 0600);
}

static void roots_spool_is_handed_over_unless_root_owns_the_log(void)
{
	_cleanup_place_ struct place place;
	struct sbx_error err;
	uint64_t n;

	place_init(&place);
	write_file(place.spool, RECORD_SPOOL_NAME, "ours\n", geteuid());
	expect_eq(gather(&place, place.spool, &n, &err), 0);
	expect_eq(n, 0);
	expect_eq(look(place.spool).n, 1);
	expect_eq(gather(&place, place.inbox, &n, &err), 0);
	expect_eq(n, 1);
	expect_handed(&place, "ours\n", geteuid());
}

static void what_is_written_later_by_whoever_had_it_open_comes_too(void)
{
	_cleanup_place_ struct place place;
	struct sbx_error err;
	uint64_t n;
	int fd;

	place_init(&place);
	write_file(place.service, RECORD_SPOOL_NAME, "one\n", place.service_uid);
	fd = openat(place.service, RECORD_SPOOL_NAME, O_WRONLY | O_APPEND | O_CLOEXEC);
	expect_eq(gather(&place, place.inbox, &n, &err), 0);
	expect(write(fd, "two\n", 4) == 4);
	(void)close(fd);
	expect_handed(&place, "one\ntwo\n", place.service_uid);
}

/* A killed gather has moved a file, and perhaps changed its owner. */
static void goes_on_where_a_killed_one_has_stopped(void)
{
	_cleanup_place_ struct place place;
	struct sbx_error err;
	char name[96];
	uint64_t n;

	place_init(&place);
	(void)snprintf(name, sizeof(name), "handing-00112233445566778899aabbccddeeff.%u",
		       (unsigned)place.service_uid);
	write_file(place.spool, name, "moved\n", place.service_uid);
	expect_eq(gather(&place, place.inbox, &n, &err), 0);
	expect_handed(&place, "moved\n", place.service_uid);
	write_file(place.spool, name, "given\n", place.log_uid);
	expect_eq(gather(&place, place.inbox, &n, &err), 0);
	expect_eq(n, 1);
	expect_eq(look(place.inbox).n, 2);
	expect_eq(look(place.spool).n, 0);
}

int __real_renameat2(int from_directory, const char *from, int to_directory, const char *to,
		     unsigned flags);
int __wrap_renameat2(int from_directory, const char *from, int to_directory, const char *to,
		     unsigned flags);

static const struct place *gathered_meanwhile;

/* Between the two moves of one gather, another one runs. */
int __wrap_renameat2(int from_directory, const char *from, int to_directory, const char *to,
		     unsigned flags)
{
	const struct place *place = gathered_meanwhile;
	int r = __real_renameat2(from_directory, from, to_directory, to, flags);
	struct sbx_error err;
	uint64_t n;

	gathered_meanwhile = NULL;
	if (place) {
		expect_eq(gather(place, place->inbox, &n, &err), 0);
		expect_eq(n, 1);
	}
	return r;
}

/* The errno of the next fchmodat(); 0: it succeeds. */
static int chmod_errno;

int fchmodat(int directory, const char *name, mode_t mode, int flags)
{
	if (chmod_errno == 0)
		return (int)syscall(SYS_fchmodat, directory, name, mode);
	errno = chmod_errno;
	chmod_errno = 0;
	return -1;
}

/* As in a container without CAP_CHOWN and CAP_FOWNER. */
static void keeps_a_file_whose_owner_or_mode_it_may_not_change(void)
{
	_cleanup_place_ struct place place;
	struct sbx_error err;
	uint64_t n;

	place_init(&place);
	write_file(place.service, RECORD_SPOOL_NAME, "one\n", place.service_uid);
	chmod_errno = EPERM;
	expect_eq(gather(&place, place.inbox, &n, &err), -EPERM);
	expect(!strstr(err.why, "it was removed"));
	expect_eq(n, 0);
	expect_eq(look(place.spool).n, 1);
	expect_eq(gather(&place, place.inbox, &n, &err), 0);
	expect_handed(&place, "one\n", place.service_uid);
}

static void two_at_the_same_time_hand_over_each_file_once(void)
{
	_cleanup_place_ struct place place;
	struct sbx_error err;
	uint64_t n;

	place_init(&place);
	write_file(place.service, RECORD_SPOOL_NAME, "one\n", place.service_uid);
	gathered_meanwhile = &place;
	expect_eq(gather(&place, place.inbox, &n, &err), 0);
	expect_eq(n, 0);
	expect_handed(&place, "one\n", place.service_uid);
	expect_eq(look(place.spool).n, 0);
}

/* ---- attacks by a service ---- */

static void expect_refused(struct place *place)
{
	struct sbx_error err;
	uint64_t n;

	/* Another file is still handed over. */
	write_file(place->spool, RECORD_SPOOL_NAME, "ours\n", geteuid());
	expect_eq(gather(place, place->inbox, &n, &err), -EPERM);
	expect(strstr(err.what, "policy") != NULL);
	expect_eq(n, 1);
	expect_handed(place, "ours\n", geteuid());
}

static void a_link_in_the_place_of_the_spool_is_not_handed_over(void)
{
	_cleanup_place_ struct place place;

	place_init(&place);
	write_file(place.state, "secret", "secret\n", geteuid());
	expect(symlinkat("../../../secret", place.service, RECORD_SPOOL_NAME) == 0);
	expect_refused(&place);
}

static void a_second_name_of_anothers_file_is_not_handed_over(void)
{
	_cleanup_place_ struct place place;
	struct stat st;

	place_init(&place);
	write_file(place.state, "secret", "secret\n", geteuid());
	expect(linkat(place.state, "secret", place.service, RECORD_SPOOL_NAME, 0) == 0);
	expect_refused(&place);
	expect(fstatat(place.state, "secret", &st, 0) == 0 && st.st_uid == geteuid());
}

static void a_file_that_others_can_write_is_not_handed_over(void)
{
	_cleanup_place_ struct place place;

	place_init(&place);
	write_file(place.service, RECORD_SPOOL_NAME, "forged\n", place.service_uid);
	expect(fchmodat(place.service, RECORD_SPOOL_NAME, 0666, 0) == 0);
	expect_refused(&place);
}

static void a_spool_that_others_can_write_is_not_looked_into(void)
{
	_cleanup_place_ struct place place;

	place_init(&place);
	write_file(place.service, RECORD_SPOOL_NAME, "forged\n", place.service_uid);
	expect(fchmod(place.service, 0777) == 0);
	expect_refused(&place);
}

static void a_file_of_another_user_is_not_handed_over(void)
{
	_cleanup_place_ struct place place;

	place_init(&place);
	if (geteuid() != 0)
		skip("there is no second user");
	write_file(place.service, RECORD_SPOOL_NAME, "ours\n", 4244);
	expect_refused(&place);
}

/* The service replaced the file between the check and the rename. */
static void a_file_replaced_before_the_rename_is_removed(void)
{
	_cleanup_place_ struct place place;
	struct sbx_error err;
	struct stat st;
	char name[96];
	uint64_t n;

	place_init(&place);
	write_file(place.state, "secret", "secret\n", geteuid());
	(void)snprintf(name, sizeof(name), "handing-00112233445566778899aabbccddeeff.%u",
		       (unsigned)place.service_uid);
	expect(linkat(place.state, "secret", place.spool, name, 0) == 0);
	(void)snprintf(name, sizeof(name), "handing-00112233445566778899aabbccddeef0.%u",
		       (unsigned)place.service_uid);
	expect(symlinkat("../secret", place.spool, name) == 0);
	(void)snprintf(name, sizeof(name), "handing-00112233445566778899aabbccddeef1.%u",
		       (unsigned)place.service_uid);
	expect(mkdirat(place.spool, name, 0700) == 0);
	expect(gather(&place, place.inbox, &n, &err) < 0);
	expect_eq(n, 0);
	expect_eq(look(place.inbox).n, 0);
	expect_eq(look(place.spool).n, 0);
	expect(fstatat(place.state, "secret", &st, 0) == 0 && st.st_uid == geteuid());
}

static void hands_nothing_to_a_directory_that_others_can_write(void)
{
	_cleanup_place_ struct place place;
	struct sbx_error err;
	uint64_t n;

	place_init(&place);
	write_file(place.service, RECORD_SPOOL_NAME, "one\n", place.service_uid);
	expect(fchmod(place.inbox, 0770) == 0);
	expect_eq(gather(&place, place.inbox, &n, &err), -EPERM);
	expect_eq(look(place.service).n, 1);
}

static const struct test tests[] = {
	TEST(a_services_spool_is_handed_over_with_its_owners_name),
	TEST(the_user_of_the_log_can_read_what_is_handed_over),
	TEST(roots_spool_is_handed_over_unless_root_owns_the_log),
	TEST(what_is_written_later_by_whoever_had_it_open_comes_too),
	TEST(goes_on_where_a_killed_one_has_stopped),
	TEST(keeps_a_file_whose_owner_or_mode_it_may_not_change),
	TEST(two_at_the_same_time_hand_over_each_file_once),
	TEST(a_link_in_the_place_of_the_spool_is_not_handed_over),
	TEST(a_second_name_of_anothers_file_is_not_handed_over),
	TEST(a_file_that_others_can_write_is_not_handed_over),
	TEST(a_spool_that_others_can_write_is_not_looked_into),
	TEST(a_file_of_another_user_is_not_handed_over),
	TEST(a_file_replaced_before_the_rename_is_removed),
	TEST(hands_nothing_to_a_directory_that_others_can_write),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
