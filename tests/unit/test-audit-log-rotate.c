/* SPDX-License-Identifier: MIT */

#include "audit/log.h"

#include "audit-archive-rig.h"
#include "audit/log-internal.h"
#include "audit/retain.h"
#include "killed.h"
#include "record/record.h"

#define SECOND "00000000000000000011.db"
#define THIRD "00000000000000000021.db"

/* ---- a disk that fails ---- */

int __real_store_open(int directory, const char *name, struct store **ret, struct sbx_error *err);
int __wrap_store_open(int directory, const char *name, struct store **ret, struct sbx_error *err);
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_unlinkat(int directory, const char *name, int flags);
int __wrap_unlinkat(int directory, const char *name, int flags);

static struct {
	bool opens_nothing;
	bool removes_nothing;
	bool has_opened_nothing;
	bool keeps_nothing; /* from then on nothing is written */
} disk;

int __wrap_store_open(int directory, const char *name, struct store **ret, struct sbx_error *err)
{
	disk.has_opened_nothing = disk.opens_nothing;
	return disk.opens_nothing ? sbx_error_what(err, -EIO, "the disk fails")
				  : __real_store_open(directory, name, ret, err);
}

int __wrap_fsync(int fd)
{
	if (!disk.keeps_nothing || !disk.has_opened_nothing)
		return __real_fsync(fd);
	errno = EIO;
	return -1;
}

int __wrap_unlinkat(int directory, const char *name, int flags)
{
	if (!disk.removes_nothing)
		return __real_unlinkat(directory, name, flags);
	errno = EROFS;
	return -1;
}

/* ---- the segment after rotation ---- */

static size_t n_segments(const struct log_place *place)
{
	_cleanup_segment_list_ struct segment_list list = SEGMENT_LIST_INIT;
	int directory = directory_of(place);

	expect_eq(segment_list(directory, &list), 0);
	(void)close(directory);
	return list.n;
}

static void the_log_goes_on_in_the_new_segment(void)
{
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log = log_of_segments(&place, 2);
	char key[256];

	key_of(log, key);
	expect(has_file(&place, SECOND));
	expect(has_file(&place, THIRD));
	expect_eq(intact_size(&place, key), 21);
	add_signed(log, 3);
	expect_eq(intact_size(&place, key), 24);
	(void)audit_log_free(log);
	log = log_opened(&place);
	expect_eq(audit_log_size(log), 24);
	expect_eq(audit_log_checkpoint_size(log), 24);
	add_signed(log, 3);
	(void)audit_log_free(log);
	expect_eq(intact_size(&place, key), 27);
	expect_eq(n_segments(&place), 3);
}

static void a_segment_without_records_is_not_closed(void)
{
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log = log_of_segments(&place, 1);

	expect_eq(audit_log_rotate(log, NULL), 0);
	(void)audit_log_free(log);
	log = log_opened(&place);
	expect_eq(audit_log_rotate(log, NULL), 0);
	expect_eq(n_segments(&place), 2);
	(void)audit_log_free(log);
}

static void what_was_not_committed_goes_with_the_old_one(void)
{
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log;

	log_place_init(&place);
	log = log_made(&place);
	for (unsigned i = 0; i < 10; i++)
		expect_eq(log_add_n(log, "syscall", i, NULL), 0);
	expect_eq(audit_log_rotate(log, NULL), 1);
	expect(has_file(&place, SECOND));
	(void)audit_log_free(log);
	expect_eq(intact_size(&place, NULL), 11);
}

static int count_note(void *userdata, uint64_t size, const char *note, size_t n_bytes,
		      struct sbx_error *err)
{
	++*(unsigned *)userdata;
	return 0;
}

static unsigned n_epochs(const struct log_place *place)
{
	int directory = directory_of(place);
	unsigned n = 0;

	expect_eq(epochs_each(directory, count_note, &n, NULL), 0);
	(void)close(directory);
	return n;
}

static void epochs_that_ended_are_kept_beside_the_segments(void)
{
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log;
	char key[256];

	log_place_init(&place);
	log = log_made(&place);
	key_of(log, key);
	add_signed(log, 3);
	expect_eq(audit_log_change_key(log, NULL), 0);
	add_signed(log, 3);
	expect_eq(audit_log_change_key(log, NULL), 0);
	expect_eq(n_epochs(&place), 0);
	expect_eq(audit_log_rotate(log, NULL), 1);
	expect_eq(n_epochs(&place), 2);
	add_signed(log, 3);
	expect_eq(audit_log_rotate(log, NULL), 1);
	expect_eq(n_epochs(&place), 2);
	expect_eq(audit_log_change_key(log, NULL), 0);
	expect_eq(audit_log_rotate(log, NULL), 1);
	expect_eq(n_epochs(&place), 3);
	(void)audit_log_free(log);
	expect_eq(intact_size(&place, key), 1 + 3 + 1 + 3 + 1 + 3 + 1);
	log = log_opened(&place);
	add_signed(log, 1);
	(void)audit_log_free(log);
	expect_eq(intact_size(&place, key), 14);
}

/* ---- the spool ---- */

static void spool_init(struct log_place *place)
{
	char sbx[48];

	(void)snprintf(sbx, sizeof(sbx), "%s/sbx", place->path);
	expect_eq(mkdir(sbx, 0700), 0);
	expect_eq(mkdir(place->spool, 0700), 0);
}

static void write_line(int fd, unsigned n)
{
	char line[128];
	int len =
		snprintf(line, sizeof(line), "{" LOG_TIME ",\"event\":\"syscall\",\"n\":%u}\n", n);

	expect_eq(write(fd, line, (size_t)len), len);
}

static void a_file_of_the_spool_is_read_on_in_the_new_segment(void)
{
	_cleanup_log_place_ struct log_place place;
	struct audit_import taken;
	struct audit_log *log;
	int spool, fd;

	log_place_init(&place);
	spool_init(&place);
	log = log_made(&place);
	spool = open(place.spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* Another process that keeps the spool open. */
	fd = openat(spool, RECORD_SPOOL_NAME, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	for (unsigned i = 0; i < 4; i++) {
		write_line(fd, i);
		expect_eq(audit_log_import(log, spool, &taken, NULL), 0);
		expect_eq(taken.n_records, 1);
		expect_eq(audit_log_rotate(log, NULL), 1);
	}
	(void)close(fd);
	expect_eq(audit_log_import(log, spool, &taken, NULL), 0);
	expect_eq(taken.n_records, 0);
	expect_eq(audit_log_size(log), 5);
	expect_eq(audit_log_rotate(log, NULL), 0);
	(void)audit_log_free(log);
	(void)close(spool);
	expect_eq(intact_size(&place, NULL), 5);
}

/* ---- failures ---- */

static void where_no_segment_can_be_made_the_log_stays_in_the_old_one(void)
{
	_cleanup_log_place_ struct log_place place;
	struct sbx_error err = { .code = 0 };
	struct audit_log *log;
	int directory;

	log_place_init(&place);
	log = log_made(&place);
	directory = directory_of(&place);
	add_signed(log, 10);
	expect_eq(mkdirat(directory, SECOND, 0700), 0);
	expect_eq(audit_log_rotate(log, &err), -EEXIST);
	expect_eq(err.code, -EEXIST);
	expect_eq(unlinkat(directory, SECOND, AT_REMOVEDIR), 0);
	(void)close(directory);
	add_signed(log, 5);
	expect_eq(audit_log_size(log), 16);
	expect_eq(audit_log_rotate(log, NULL), 1);
	add_signed(log, 5);
	(void)audit_log_free(log);
	expect_eq(intact_size(&place, NULL), 21);
}

static struct audit_log *log_of_eleven(struct log_place *place)
{
	struct audit_log *log;

	log_place_init(place);
	log = log_made(place);
	add_signed(log, 10);
	return log;
}

/* Otherwise the empty segment would exist, and the next process to open the log would continue in
 * it. */
static void a_segment_that_cannot_be_opened_is_taken_away_again(void)
{
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log = log_of_eleven(&place);

	disk.opens_nothing = true;
	expect_eq(audit_log_rotate(log, NULL), -EIO);
	expect_eq(n_segments(&place), 1);
	add_signed(log, 5);
	disk.opens_nothing = false;
	(void)audit_log_free(log);
	expect_eq(intact_size(&place, NULL), 16);
}

static void the_log_waits_for_a_segment_that_can_neither_be_opened_nor_taken_away(void)
{
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log = log_of_eleven(&place);

	disk.opens_nothing = disk.removes_nothing = true;
	expect_eq(audit_log_rotate(log, NULL), -EIO);
	expect_eq(n_segments(&place), 2);
	expect_eq(log_add_n(log, "syscall", 1, NULL), -EIO);
	expect_eq(audit_log_rotate(log, NULL), -EIO);
	expect_eq(audit_log_size(log), 11);
	disk.opens_nothing = disk.removes_nothing = false;
	add_signed(log, 5);
	expect_eq(n_segments(&place), 2);
	(void)audit_log_free(log);
	expect_eq(intact_size(&place, NULL), 16);
}

static void a_segment_that_can_be_taken_away_later_is(void)
{
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log = log_of_eleven(&place);

	disk.opens_nothing = disk.removes_nothing = true;
	expect_eq(audit_log_rotate(log, NULL), -EIO);
	disk.removes_nothing = false;
	add_signed(log, 5);
	expect_eq(n_segments(&place), 1);
	disk.opens_nothing = false;
	(void)audit_log_free(log);
	expect_eq(intact_size(&place, NULL), 16);
}

/* While the new segment cannot be opened, the open one looks like a closed one; it must not be
 * archived. */
static void nothing_is_packed_while_the_log_waits(void)
{
	const struct retain_options options = { .policy = { .max_bytes = 1 } };
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log = log_of_eleven(&place);
	struct retain_report report;

	disk.opens_nothing = disk.removes_nothing = true;
	expect_eq(audit_log_rotate(log, NULL), -EIO);
	expect_eq(audit_log_retain(log, &options, &report, NULL), -EIO);
	expect_eq(n_segments(&place), 2);
	disk.opens_nothing = disk.removes_nothing = false;
	add_signed(log, 5);
	(void)audit_log_free(log);
	expect_eq(intact_size(&place, NULL), 16);
}

/* The segment was removed, but the removal may not be on the disk yet. */
static void a_segment_that_was_taken_away_is_not_waited_for(void)
{
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log = log_of_eleven(&place);

	disk.opens_nothing = disk.keeps_nothing = true;
	expect_eq(audit_log_rotate(log, NULL), -EIO);
	expect_eq(n_segments(&place), 1);
	expect_eq(log_add_n(log, "syscall", 1, NULL), -EIO);
	disk.keeps_nothing = disk.has_opened_nothing = false;
	add_signed(log, 5);
	disk.opens_nothing = false;
	(void)audit_log_free(log);
	expect_eq(intact_size(&place, NULL), 16);
}

struct crash {
	const struct log_place *place;
};

static void rotate_with_a_new_key(void *userdata)
{
	struct crash *crash = userdata;
	struct audit_log *log = log_opened(crash->place);

	add_signed(log, 2);
	(void)audit_log_rotate(log, NULL);
	add_signed(log, 2);
	(void)audit_log_free(log);
}

static bool crash_once(unsigned n, bool *ret_is_supported)
{
	_cleanup_log_place_ struct log_place place;
	struct crash crash = { .place = &place };
	struct audit_log *log;
	char key[256];
	bool is_killed;
	uint64_t size;

	log_place_init(&place);
	log = log_made(&place);
	key_of(log, key);
	expect_eq(audit_log_change_key(log, NULL), 0);
	(void)audit_log_free(log);
	is_killed = killed_at(n, rotate_with_a_new_key, &crash, ret_is_supported);
	/* A verifier need not wait for the next writer. */
	expect(intact_size(&place, key) >= 2);
	log = log_opened(&place);
	size = audit_log_size(log);
	expect(size >= 2 && size <= 6);
	expect(!audit_log_is_broken(log, &size));
	add_signed(log, 2);
	expect_eq(audit_log_rotate(log, NULL), 1);
	add_signed(log, 1);
	size = audit_log_size(log);
	(void)audit_log_free(log);
	expect_eq(intact_size(&place, key), size);
	expect_eq(n_epochs(&place), 1);
	return is_killed;
}

static void a_crash_at_any_system_call_leaves_a_log_that_goes_on(void)
{
	killed_everywhere(crash_once);
}

/* ---- when rotation is due ---- */

static void it_is_due_when_the_hour_is_another_one_or_the_segment_is_large(void)
{
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log;
	uint8_t begun[8];

	log_place_init(&place);
	log = log_made(&place);
	add_signed(log, 5);
	/* The time of the first record counts, which was just written. */
	expect_eq(audit_log_rotate_if_due(log, ROTATION_NONE, UINT64_MAX, NULL), 0);
	expect_eq(audit_log_rotate_if_due(log, ROTATION_NONE, 100, NULL), 1);
	expect_eq(audit_log_rotate_if_due(log, ROTATION_DAILY, 100, NULL), 0);
	add_signed(log, 5);
	log_put_u64(begun, 1);
	expect_eq(store_begin(log->store, NULL), 0);
	expect_eq(store_set_meta(log->store, META_BEGUN, begun, sizeof(begun), NULL), 0);
	expect_eq(store_commit(log->store, NULL), 0);
	expect_eq(audit_log_rotate_if_due(log, ROTATION_NONE, UINT64_MAX, NULL), 0);
	expect_eq(audit_log_rotate_if_due(log, ROTATION_MONTHLY, UINT64_MAX, NULL), 1);
	expect_eq(audit_log_rotate_if_due(log, ROTATION_MONTHLY, UINT64_MAX, NULL), 0);
	(void)audit_log_free(log);
	expect_eq(intact_size(&place, NULL), 11);
}

static const struct test tests[] = {
	TEST(the_log_goes_on_in_the_new_segment),
	TEST(a_segment_without_records_is_not_closed),
	TEST(what_was_not_committed_goes_with_the_old_one),
	TEST(epochs_that_ended_are_kept_beside_the_segments),
	TEST(a_file_of_the_spool_is_read_on_in_the_new_segment),
	TEST(where_no_segment_can_be_made_the_log_stays_in_the_old_one),
	TEST(a_segment_that_cannot_be_opened_is_taken_away_again),
	TEST(the_log_waits_for_a_segment_that_can_neither_be_opened_nor_taken_away),
	TEST(a_segment_that_can_be_taken_away_later_is),
	TEST(nothing_is_packed_while_the_log_waits),
	TEST(a_segment_that_was_taken_away_is_not_waited_for),
	TEST(a_crash_at_any_system_call_leaves_a_log_that_goes_on),
	TEST(it_is_due_when_the_hour_is_another_one_or_the_segment_is_large),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
