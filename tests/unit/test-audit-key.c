/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <sbx/error.h>

#include "audit/key.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "test.h"

/* The private key of the first test in RFC 8032, as a key file. */
#define LINE "sbx-audit-key/1 7 nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=\n"

#define LINE_FIRST "sbx-audit-key/1 0 nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=\n"

/* A temporary directory for each test, removed with its content. */
struct place {
	char path[64];
	int fd;
};

static const char *const names[] = { KEY_NAME, KEY_NEXT_NAME, KEY_CREDENTIAL_NAME, "other" };

static void leave_place(struct place *place)
{
	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		(void)unlinkat(place->fd, names[i], 0);
	close_fd(&place->fd);
	expect_eq(rmdir(place->path), 0);
}

#define _cleanup_place_ _cleanup_(leave_place)

static struct place make_place(void)
{
	struct place place = { .path = "/tmp/sbx-audit-key-XXXXXX" };

	if (!mkdtemp(place.path))
		abort();
	place.fd = open(place.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (place.fd < 0)
		abort();
	return place;
}

static void write_name(const struct place *place, const char *name, const char *bytes, size_t n)
{
	_cleanup_close_ int fd =
		openat(place->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || fd_write_all(fd, bytes, n) < 0)
		abort();
}

static bool is_there(const struct place *place, const char *name)
{
	return faccessat(place->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool same_key(const struct audit_key *a, const struct audit_key *b)
{
	return a->epoch == b->epoch &&
	       memcmp(a->private_key, b->private_key, sizeof(a->private_key)) == 0 &&
	       memcmp(a->public_key, b->public_key, sizeof(a->public_key)) == 0;
}

static struct audit_key new_key(uint64_t epoch)
{
	struct audit_key key = AUDIT_KEY_INIT;

	expect_eq(key_make(epoch, &key, NULL), 0);
	return key;
}

/* Expects a refusal with a reason and without output. */
static void expect_not_loaded(const struct place *place, int code)
{
	struct audit_key key = { .epoch = 77 };
	struct sbx_error err = { 0 };

	expect_eq(key_load(place->fd, NULL, &key, &err), code);
	expect_eq(key.epoch, 77);
	expect_eq(err.code, code);
	expect(err.what[0] && err.why[0] && err.fix[0]);
}

static void two_keys_are_never_the_same(void)
{
	const struct audit_key a = new_key(0), b = new_key(0);

	expect(memcmp(a.private_key, b.private_key, sizeof(a.private_key)) != 0);
	expect(memcmp(a.public_key, b.public_key, sizeof(a.public_key)) != 0);
}

static void refuses_an_epoch_without_a_number(void)
{
	struct audit_key key = { .epoch = 77 };

	expect_eq(key_make((uint64_t)INT64_MAX + 1, &key, NULL), -EOVERFLOW);
	expect_eq(key.epoch, 77);
}

static void a_key_is_overwritten_when_it_is_given_back(void)
{
	static const struct audit_key nothing;
	struct audit_key key = new_key(3);

	key_deinit(&key);
	expect(memcmp((const char *)&key, (const char *)&nothing, sizeof(key)) == 0);
}

static void a_stored_key_is_read_back_and_private(void)
{
	_cleanup_place_ struct place place = make_place();
	const struct audit_key key = new_key(INT64_MAX);
	struct audit_key again;
	struct stat st;

	expect_eq(key_store_at(place.fd, &key, NULL), 0);
	expect_eq(key_load(place.fd, NULL, &again, NULL), 0);
	expect(same_key(&key, &again));
	expect_eq(fstatat(place.fd, KEY_NAME, &st, 0), 0);
	expect_eq(st.st_mode & 07777, 0600);
}

static void a_key_file_is_the_documented_line(void)
{
	_cleanup_place_ struct place place = make_place();
	struct audit_key key;
	char bytes[128] = "";

	write_name(&place, KEY_NAME, LINE, strlen(LINE));
	expect_eq(key_load(place.fd, NULL, &key, NULL), 0);
	expect_eq(key.epoch, 7);
	expect_eq(unlinkat(place.fd, KEY_NAME, 0), 0);
	expect_eq(key_store_at(place.fd, &key, NULL), 0);

	_cleanup_close_ int fd = openat(place.fd, KEY_NAME, O_RDONLY | O_CLOEXEC);

	expect_eq(fd_read_full(fd, bytes, sizeof(bytes) - 1), (long)strlen(LINE));
	expect_str(bytes, LINE);
}

static void refuses_to_store_a_second_first_key(void)
{
	_cleanup_place_ struct place place = make_place();
	const struct audit_key first = new_key(0), second = new_key(0);
	struct sbx_error err = { 0 };
	struct audit_key next, kept;

	expect_eq(key_store_at(place.fd, &first, NULL), 0);
	expect_eq(key_store_at(place.fd, &second, &err), -EEXIST);
	expect(err.why[0] && err.fix[0]);
	expect_eq(key_prepare_next(place.fd, &first, &next, NULL), 0);
	expect_eq(unlinkat(place.fd, KEY_NAME, 0), 0);
	expect_eq(key_store_at(place.fd, &second, &err), -EEXIST);
	expect_eq(key_load(place.fd, NULL, &kept, NULL), 0);
	expect(same_key(&kept, &next));
}

static void refuses_a_directory_without_a_key(void)
{
	_cleanup_place_ struct place place = make_place();

	expect_not_loaded(&place, -ENOENT);
}

static void refuses_a_key_file_that_others_can_read(void)
{
	static const mode_t modes[] = { 0640, 0604, 0660, 0606, 0666, 0610, 0601 };
	_cleanup_place_ struct place place = make_place();

	write_name(&place, KEY_NAME, LINE, strlen(LINE));
	for (size_t i = 0; i < N_ELEMENTS(modes); i++) {
		expect_eq(fchmodat(place.fd, KEY_NAME, modes[i], 0), 0);
		expect_not_loaded(&place, -EPERM);
	}
}

static void refuses_a_key_file_that_is_no_plain_file(void)
{
	_cleanup_place_ struct place place = make_place();

	write_name(&place, "other", LINE, strlen(LINE));
	expect_eq(symlinkat("other", place.fd, KEY_NAME), 0);
	expect_not_loaded(&place, -ELOOP);
	expect_eq(unlinkat(place.fd, KEY_NAME, 0), 0);
	expect_eq(linkat(place.fd, "other", place.fd, KEY_NAME, 0), 0);
	expect_not_loaded(&place, -EPERM);
	expect_eq(unlinkat(place.fd, KEY_NAME, 0), 0);
	expect_eq(mkfifoat(place.fd, KEY_NAME, 0600), 0);
	expect_not_loaded(&place, -EPERM);
}

static const char two_lines[] = LINE LINE;
static const char empty_line_behind[] = LINE "\n";
static const char space_before[] = " " LINE;

static void refuses_a_key_file_with_anything_else_in_it(void)
{
	static const char *const refused[] = {
		"x",
		"sbx-audit-key/1 7 ",
		"sbx-audit-key/2 7 nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=\n",
		"sbx-audit-key/1  nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=\n",
		"sbx-audit-key/1 07 nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=\n",
		"sbx-audit-key/1 -7 nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=\n",
		"sbx-audit-key/1 9223372036854775808 nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=\n",
		"sbx-audit-key/1 99999999999999999999 nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=\n",
		"sbx-audit-key/1 7 nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=",
		"sbx-audit-key/1 7 nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2B=\n",
		"sbx-audit-key/1 7 nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyu\n",
		"sbx-audit-key/1 7\nnWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=\n",
		two_lines,
		empty_line_behind,
		space_before,
	};
	_cleanup_place_ struct place place = make_place();

	for (size_t i = 0; i < N_ELEMENTS(refused); i++) {
		write_name(&place, KEY_NAME, refused[i], strlen(refused[i]));
		expect_not_loaded(&place, -EBADMSG);
	}
}

/* Reads an fd opened before the file was removed: its content must have been overwritten. */
static void expect_zeros(int fd)
{
	char bytes[128];
	ssize_t n = pread(fd, bytes, sizeof(bytes), 0);

	expect(n > 0);
	for (ssize_t i = 0; i < n; i++)
		expect_eq(bytes[i], 0);
}

static void an_advance_erases_the_old_key_and_takes_the_next(void)
{
	_cleanup_place_ struct place place = make_place();
	const struct audit_key first = new_key(0);
	struct audit_key next, current;

	expect_eq(key_store_at(place.fd, &first, NULL), 0);

	_cleanup_close_ int old = openat(place.fd, KEY_NAME, O_RDONLY | O_CLOEXEC);

	expect_eq(key_prepare_next(place.fd, &first, &next, NULL), 0);
	expect_eq(next.epoch, 1);
	expect_eq(key_load(place.fd, NULL, &current, NULL), 0);
	expect(same_key(&current, &first));
	expect_eq(key_advance(place.fd, NULL), 0);
	expect_zeros(old);
	expect_eq(key_load(place.fd, NULL, &current, NULL), 0);
	expect(same_key(&current, &next));
	expect(!is_there(&place, KEY_NEXT_NAME));
}

static void a_prepared_key_waits_for_the_next_try(void)
{
	_cleanup_place_ struct place place = make_place();
	const struct audit_key first = new_key(0);
	struct audit_key next, again;

	expect_eq(key_store_at(place.fd, &first, NULL), 0);
	expect_eq(key_prepare_next(place.fd, &first, &next, NULL), 0);
	expect_eq(key_prepare_next(place.fd, &first, &again, NULL), 0);
	expect(same_key(&next, &again));
}

static void a_prepared_key_of_another_epoch_is_erased(void)
{
	_cleanup_place_ struct place place = make_place();
	const struct audit_key early = new_key(0), late = new_key(4);
	struct audit_key stale, next;

	expect_eq(key_prepare_next(place.fd, &early, &stale, NULL), 0);

	_cleanup_close_ int old = openat(place.fd, KEY_NEXT_NAME, O_RDONLY | O_CLOEXEC);

	expect_eq(key_prepare_next(place.fd, &late, &next, NULL), 0);
	expect_eq(next.epoch, 5);
	expect_zeros(old);
}

static void refuses_to_advance_to_nothing_and_keeps_the_key(void)
{
	_cleanup_place_ struct place place = make_place();
	const struct audit_key first = new_key(0);
	struct sbx_error err = { 0 };
	struct audit_key current;

	expect_eq(key_store_at(place.fd, &first, NULL), 0);
	expect_eq(key_advance(place.fd, &err), -ENOENT);
	expect(err.why[0] && err.fix[0]);
	write_name(&place, KEY_NEXT_NAME, "x", 1);
	expect_eq(key_advance(place.fd, &err), -EBADMSG);
	expect_eq(key_load(place.fd, NULL, &current, NULL), 0);
	expect(same_key(&current, &first));
}

/* The two states that a crash within key_advance() can leave. */
static void an_advance_that_was_cut_short_is_completed(void)
{
	static const char zeros[sizeof(LINE) - 1];

	for (int is_unlinked = 0; is_unlinked < 2; is_unlinked++) {
		_cleanup_place_ struct place place = make_place();
		const struct audit_key first = new_key(0);
		struct audit_key next, current;

		expect_eq(key_prepare_next(place.fd, &first, &next, NULL), 0);
		if (!is_unlinked)
			write_name(&place, KEY_NAME, zeros, sizeof(zeros));
		expect_eq(key_load(place.fd, NULL, &current, NULL), 0);
		expect(same_key(&current, &next));
		expect(is_there(&place, KEY_NAME) && !is_there(&place, KEY_NEXT_NAME));
	}
}

static void refuses_a_key_that_was_erased(void)
{
	static const char zeros[sizeof(LINE) - 1];
	_cleanup_place_ struct place place = make_place();

	write_name(&place, KEY_NAME, zeros, sizeof(zeros));
	expect_not_loaded(&place, -ENOENT);
	write_name(&place, KEY_NEXT_NAME, "x", 1);
	expect_not_loaded(&place, -EBADMSG);
	expect(is_there(&place, KEY_NAME));
}

static void refuses_to_overwrite_through_a_link(void)
{
	_cleanup_place_ struct place place = make_place();
	const struct audit_key current = { .epoch = 7 };
	struct audit_key key, next;

	write_name(&place, "other", LINE, strlen(LINE));
	expect_eq(symlinkat("other", place.fd, KEY_NAME), 0);
	expect_eq(key_prepare_next(place.fd, &current, &next, NULL), 0);
	expect_eq(key_advance(place.fd, NULL), -ELOOP);
	expect_eq(unlinkat(place.fd, KEY_NEXT_NAME, 0), 0);
	expect_eq(unlinkat(place.fd, KEY_NAME, 0), 0);
	expect_eq(renameat(place.fd, "other", place.fd, KEY_NAME), 0);
	expect_eq(key_load(place.fd, NULL, &key, NULL), 0);
}

static void takes_the_key_that_systemd_gives(void)
{
	_cleanup_place_ struct place place = make_place(), empty = make_place();
	struct audit_key key;

	write_name(&place, KEY_CREDENTIAL_NAME, LINE, strlen(LINE));
	expect_eq(fchmodat(place.fd, KEY_CREDENTIAL_NAME, 0440, 0), 0);
	expect_eq(key_load(empty.fd, place.path, &key, NULL), 0);
	expect_eq(key.epoch, 7);
}

static void a_key_in_the_directory_continues_after_the_credential(void)
{
	_cleanup_place_ struct place place = make_place(), log = make_place();
	struct audit_key given, next, key;

	write_name(&place, KEY_CREDENTIAL_NAME, LINE, strlen(LINE));
	expect_eq(key_load(log.fd, place.path, &given, NULL), 0);
	expect_eq(key_prepare_next(log.fd, &given, &next, NULL), 0);
	expect_eq(key_advance(log.fd, NULL), 0);
	expect_eq(key_load(log.fd, place.path, &key, NULL), 0);
	expect(same_key(&key, &next));
	expect_eq(key_load(log.fd, NULL, &key, NULL), 0);
	expect(same_key(&key, &next));
}

static void refuses_a_credential_that_others_can_read_or_write(void)
{
	static const mode_t modes[] = { 0444, 0460, 0402, 0666 };
	_cleanup_place_ struct place place = make_place(), log = make_place();
	const struct audit_key kept = new_key(9);

	write_name(&place, KEY_CREDENTIAL_NAME, LINE, strlen(LINE));
	expect_eq(key_store_at(log.fd, &kept, NULL), 0);
	for (size_t i = 0; i < N_ELEMENTS(modes); i++) {
		struct audit_key key = { .epoch = 77 };
		struct sbx_error err = { 0 };

		expect_eq(fchmodat(place.fd, KEY_CREDENTIAL_NAME, modes[i], 0), 0);
		expect_eq(key_load(log.fd, place.path, &key, &err), -EPERM);
		expect(err.why[0] && err.fix[0]);
		expect_eq(key.epoch, 77);
	}
}

static void a_missing_credential_is_fine_if_the_directory_has_a_key(void)
{
	_cleanup_place_ struct place place = make_place(), log = make_place();
	const char *const none[] = { NULL, "", "relative", "/nonexistent/folder", place.path };
	const struct audit_key kept = new_key(9);
	struct audit_key key;

	for (size_t i = 0; i < N_ELEMENTS(none); i++) {
		struct sbx_error err = { 0 };

		expect_eq(key_load(log.fd, none[i], &key, &err), -ENOENT);
		expect(err.why[0] && err.fix[0]);
	}
	expect_eq(key_store_at(log.fd, &kept, NULL), 0);
	for (size_t i = 0; i < N_ELEMENTS(none); i++) {
		struct sbx_error err = { 0 };

		expect_eq(key_load(log.fd, none[i], &key, &err), 0);
		expect_eq(err.code, 0);
		expect(same_key(&key, &kept));
	}
}

static long add_key(const char *name, const char *bytes)
{
	return syscall(SYS_add_key, "user", name, bytes, strlen(bytes), KEY_SPEC_PROCESS_KEYRING);
}

#define REFERENCE "sbx-audit-key/1 in keyring:sbx-test-key\n"

static void a_key_in_the_keyring_leaves_its_name_only(void)
{
	_cleanup_place_ struct place place = make_place();
	struct audit_key key = AUDIT_KEY_INIT, again = AUDIT_KEY_INIT, next = AUDIT_KEY_INIT;
	char bytes[128] = { 0 };
	_cleanup_close_ int fd = -EBADF;

	if (add_key("sbx-test-key", LINE_FIRST) < 0)
		skip("the kernel gives no keyrings here");
	expect_eq(key_store_elsewhere(place.fd, "keyring:sbx-test-key", NULL, &key, NULL), 0);
	expect(key.is_elsewhere && key.epoch == 0);
	fd = openat(place.fd, KEY_NAME, O_RDONLY | O_CLOEXEC);
	expect(fd_read_full(fd, bytes, sizeof(bytes) - 1) > 0);
	expect_str(bytes, REFERENCE);
	expect_eq(key_load(place.fd, NULL, &again, NULL), 0);
	expect(same_key(&key, &again) && again.is_elsewhere);
	expect_eq(key_prepare_next(place.fd, &again, &next, NULL), -EOPNOTSUPP);
	expect(!is_there(&place, KEY_NEXT_NAME));
	/* A crash after this step: the operation can be repeated. */
	expect_eq(key_store_elsewhere(place.fd, "keyring:sbx-test-key", NULL, &key, NULL), 0);
}

static void refuses_a_key_of_the_keyring_that_others_can_read(void)
{
	static const unsigned wrong[] = { 0x3f010002, 0x3f010200, 0x3f3f0001 };
	_cleanup_place_ struct place place = make_place();
	long id = add_key("sbx-test-key", LINE_FIRST);

	if (id < 0)
		skip("the kernel gives no keyrings here");
	write_name(&place, KEY_NAME, REFERENCE, strlen(REFERENCE));
	for (size_t i = 0; i < N_ELEMENTS(wrong); i++) {
		expect_eq(syscall(SYS_keyctl, KEYCTL_SETPERM, id, wrong[i]), 0);
		expect_not_loaded(&place, -EPERM);
	}
	expect_eq(syscall(SYS_keyctl, KEYCTL_SETPERM, id, 0x3f010000), 0);
}

static void refuses_what_of_the_keyring_is_no_key(void)
{
	static const char *const wrong[] = { "x", (LINE LINE), (" " LINE), REFERENCE };
	_cleanup_place_ struct place place = make_place();

	if (add_key("sbx-test-key", LINE_FIRST) < 0)
		skip("the kernel gives no keyrings here");
	write_name(&place, KEY_NAME, REFERENCE, strlen(REFERENCE));
	for (size_t i = 0; i < N_ELEMENTS(wrong); i++) {
		expect(add_key("sbx-test-key", wrong[i]) > 0);
		expect_not_loaded(&place, -EBADMSG);
	}
}

static void a_key_that_is_missing_in_its_place_is_no_log_without_a_key(void)
{
	static const char *const lines[] = {
		"sbx-audit-key/1 in keyring:sbx-test-none\n",
		"sbx-audit-key/1 in credential:none\n",
	};
	_cleanup_place_ struct place place = make_place();
	struct audit_key key = AUDIT_KEY_INIT;

	for (size_t i = 0; i < N_ELEMENTS(lines); i++) {
		write_name(&place, KEY_NAME, lines[i], strlen(lines[i]));
		expect_not_loaded(&place, -ENOKEY);
		expect_eq(key_load(place.fd, place.path, &key, NULL), -ENOKEY);
	}
	/* The credential of the default name is not used instead. */
	write_name(&place, KEY_CREDENTIAL_NAME, LINE, strlen(LINE));
	expect_eq(key_load(place.fd, place.path, &key, NULL), -ENOKEY);
}

static void a_credential_of_any_name_can_have_the_key(void)
{
	_cleanup_place_ struct place place = make_place();
	struct audit_key key = AUDIT_KEY_INIT;

	write_name(&place, "other", LINE_FIRST, strlen(LINE_FIRST));
	expect_eq(key_store_elsewhere(place.fd, "credential:other", place.path, &key, NULL), 0);
	expect_eq(key_load(place.fd, place.path, &key, NULL), 0);
	expect(key.is_elsewhere);
	expect_eq(key_load(place.fd, NULL, &key, NULL), -ENOKEY);
}

static void refuses_places_that_are_none(void)
{
	static const char *const wrong[] = {
		"",
		"keyring",
		"keyring:",
		"keyring:a b",
		"credential:../key",
		"credential:.",
		"credential:a/b",
		"file:key",
		"keyring:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	};
	_cleanup_place_ struct place place = make_place();
	struct audit_key key = AUDIT_KEY_INIT;

	for (size_t i = 0; i < N_ELEMENTS(wrong); i++) {
		struct sbx_error err = { .code = 0 };

		expect_eq(key_store_elsewhere(place.fd, wrong[i], place.path, &key, &err), -EINVAL);
		expect(err.why[0] && err.fix[0] && !is_there(&place, KEY_NAME));
	}
}

static const struct test tests[] = {
	TEST(two_keys_are_never_the_same),
	TEST(refuses_an_epoch_without_a_number),
	TEST(a_key_is_overwritten_when_it_is_given_back),
	TEST(a_stored_key_is_read_back_and_private),
	TEST(a_key_file_is_the_documented_line),
	TEST(refuses_to_store_a_second_first_key),
	TEST(refuses_a_directory_without_a_key),
	TEST(refuses_a_key_file_that_others_can_read),
	TEST(refuses_a_key_file_that_is_no_plain_file),
	TEST(refuses_a_key_file_with_anything_else_in_it),
	TEST(an_advance_erases_the_old_key_and_takes_the_next),
	TEST(a_prepared_key_waits_for_the_next_try),
	TEST(a_prepared_key_of_another_epoch_is_erased),
	TEST(refuses_to_advance_to_nothing_and_keeps_the_key),
	TEST(an_advance_that_was_cut_short_is_completed),
	TEST(refuses_a_key_that_was_erased),
	TEST(refuses_to_overwrite_through_a_link),
	TEST(takes_the_key_that_systemd_gives),
	TEST(a_key_in_the_directory_continues_after_the_credential),
	TEST(refuses_a_credential_that_others_can_read_or_write),
	TEST(a_missing_credential_is_fine_if_the_directory_has_a_key),
	TEST(a_key_in_the_keyring_leaves_its_name_only),
	TEST(refuses_a_key_of_the_keyring_that_others_can_read),
	TEST(refuses_what_of_the_keyring_is_no_key),
	TEST(a_key_that_is_missing_in_its_place_is_no_log_without_a_key),
	TEST(a_credential_of_any_name_can_have_the_key),
	TEST(refuses_places_that_are_none),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
