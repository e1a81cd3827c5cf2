/* SPDX-License-Identifier: MIT */

#include "audit/retain.h"

#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include "audit-archive-rig.h"
#include "audit/log-internal.h"
#include "audit/redact.h"
#include "audit/chain.h"
#include "base/moment.h"
#include "killed.h"

#define SECOND "00000000000000000011"
#define THIRD "00000000000000000021"
#define DAY RETAIN_USEC_PER_DAY

/* Name of fstatvfs() in the library. */
int __real_fstatvfs64(int fd, struct statvfs *ret);
int __wrap_fstatvfs64(int fd, struct statvfs *ret);

static bool is_disk_full;

int __wrap_fstatvfs64(int fd, struct statvfs *ret)
{
	int r = __real_fstatvfs64(fd, ret);

	if (is_disk_full)
		ret->f_bavail = 0;
	return r;
}

static const struct retain_policy usual = {
	.archive_usec = 90 * DAY,
	.store_usec = 7 * DAY,
	.max_bytes = UINT64_MAX,
};

struct told {
	unsigned n;
	enum retain_action actions[16];
	int problems[16];
	char text[SBX_ERROR_TEXT_SIZE];
	char fix[SBX_ERROR_TEXT_SIZE];
};

static void keep_told(void *userdata, enum retain_action action, const struct segment_file *file,
		      const struct sbx_error *problem)
{
	struct told *told = userdata;

	if (told->n == N_ELEMENTS(told->actions))
		return;
	told->actions[told->n] = action;
	told->problems[told->n++] = problem ? problem->code : 0;
	if (!problem)
		return;
	(void)snprintf(told->text, sizeof(told->text), "%s", problem->why);
	(void)snprintf(told->fix, sizeof(told->fix), "%s", problem->fix);
}

static struct retain_report retained(struct audit_log *log, const struct retain_policy *policy,
				     struct told *told)
{
	const struct retain_options options = { .policy = *policy,
						.now_usec = moment_now(CLOCK_REALTIME),
						.trusts_clock = true,
						.tell = keep_told,
						.userdata = told };
	struct retain_report report = { .n_archived = 99 };
	struct sbx_error err = { .code = 0 };

	*told = (struct told){ .n = 0 };
	expect_eq(audit_log_retain(log, &options, &report, &err), 0);
	if (err.code)
		printf("# %s: %s\n", err.what, err.why);
	return report;
}

/* Closed segments from the first on become archives with this age. */
static void archive_and_age(const struct log_place *place, struct audit_log *log, int days)
{
	_cleanup_segment_list_ struct segment_list list = SEGMENT_LIST_INIT;
	int directory = directory_of(place);

	archive_all(log);
	expect_eq(segment_list(directory, &list), 0);
	for (size_t i = 0; i + 1 < list.n; i++)
		make_old(place, list.files[i].name, days);
	(void)close(directory);
}

/* ---- archives ---- */

static void a_closed_segment_becomes_an_archive_after_a_week(void)
{
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log = log_of_segments(&place, 2);
	struct retain_report report;
	struct told told;

	report = retained(log, &usual, &told);
	expect_eq(report.n_archived, 0);
	make_old(&place, SEGMENT, 8);
	make_old(&place, THIRD ".db", 8);
	report = retained(log, &usual, &told);
	expect_eq(report.n_archived, 1);
	expect_eq(report.n_problems, 0);
	expect(has_file(&place, FIRST_ARCHIVE));
	expect(!has_file(&place, SEGMENT));
	expect(!has_file(&place, SEGMENT "-wal"));
	expect(!has_file(&place, SEGMENT "-shm"));
	expect(has_file(&place, SECOND ".db"));
	expect(has_file(&place, THIRD ".db"));
	add_signed(log, 3);
	(void)audit_log_free(log);
	expect_eq(intact_size(&place, NULL), 24);
}

static void an_archive_is_as_old_as_its_segment(void)
{
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log = log_of_segments(&place, 1);
	struct retain_report report;
	struct told told;

	make_old(&place, SEGMENT, 91);
	report = retained(log, &usual, &told);
	/* Both in one run: the segment was too young to be archived before. */
	expect_eq(report.n_archived, 1);
	expect_eq(report.n_deleted, 1);
	expect(!has_file(&place, FIRST_ARCHIVE));
	(void)audit_log_free(log);
}

/* The rest of the disk is for the log itself. */
static void nothing_is_packed_where_there_is_hardly_any_room(void)
{
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log = log_of_segments(&place, 1);
	struct retain_report report;
	struct told told;

	make_old(&place, SEGMENT, 8);
	is_disk_full = true;
	report = retained(log, &usual, &told);
	is_disk_full = false;
	expect_eq(report.n_archived, 0);
	expect_eq(told.problems[0], -ENOSPC);
	expect(has_file(&place, SEGMENT));
	expect(!has_file(&place, FIRST_ARCHIVE ".new"));
	report = retained(log, &usual, &told);
	expect_eq(report.n_archived, 1);
	(void)audit_log_free(log);
}

static void a_segment_that_was_changed_is_kept_and_told(void)
{
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log = log_of_segments(&place, 2);
	struct store *store = NULL;
	struct retain_report report;
	struct told told;
	int directory = directory_of(&place);
	const struct store_row row = { .seq = 99, .body = "{}", .n_body = 2 };

	expect_eq(store_open(directory, SEGMENT, &store, NULL), 0);
	expect_eq(store_begin(store, NULL), 0);
	expect_eq(store_add(store, &row, NULL), 0);
	expect_eq(store_commit(store, NULL), 0);
	(void)store_free(store);
	(void)close(directory);
	make_old(&place, SEGMENT, 8);
	make_old(&place, SECOND ".db", 8);
	report = retained(log, &usual, &told);
	expect_eq(report.n_archived, 1);
	expect_eq(report.n_problems, 1);
	expect_eq(told.n, 2);
	expect_eq(told.problems[0], -EBADMSG);
	expect_str(told.text, "a record is missing in it");
	expect(has_file(&place, SEGMENT));
	expect(!has_file(&place, FIRST_ARCHIVE));
	expect(!has_file(&place, FIRST_ARCHIVE ".new"));
	expect(has_file(&place, SECOND ".tar.zst"));
	(void)audit_log_free(log);
}

static int keep_note(void *userdata, uint64_t size, const char *note, size_t n_bytes,
		     struct sbx_error *err)
{
	text_add_bytes(userdata, note, n_bytes);
	return 0;
}

/* Retention verifies no signature, so it compares the head that the note claims with the records.
 */
static void a_segment_with_another_head_in_its_last_checkpoint_is_kept(void)
{
	_cleanup_log_place_ struct log_place place;
	_cleanup_text_ struct text note = TEXT_INIT;
	struct audit_log *log = log_of_segments(&place, 2);
	struct store *store = NULL;
	struct retain_report report;
	struct told told;
	int directory = directory_of(&place);
	char path[96], sql[128], head;
	sqlite3 *db = NULL;

	expect_eq(store_open(directory, SEGMENT, &store, NULL), 0);
	expect_eq(store_last_checkpoint(store, keep_note, &note, NULL), 1);
	(void)store_free(store);
	head = strstr(text_string(&note), "head ")[5];
	(void)snprintf(
		sql, sizeof(sql),
		"UPDATE checkpoints SET note=replace(note,'head %c','head %c') WHERE size=11", head,
		head == 'A' ? 'B' : 'A');
	(void)snprintf(path, sizeof(path), "%s/%s", place.log, SEGMENT);
	expect_eq(sqlite3_open(path, &db), SQLITE_OK);
	expect_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	expect_eq(sqlite3_close(db), SQLITE_OK);
	(void)close(directory);
	make_old(&place, SEGMENT, 8);
	report = retained(log, &usual, &told);
	expect_eq(report.n_problems, 1);
	expect_eq(told.problems[0], -EBADMSG);
	expect_str(told.text, "its last checkpoint does not match its records");
	expect(has_file(&place, SEGMENT));
	(void)audit_log_free(log);
}

static void where_no_archive_can_be_written_the_segment_stays(void)
{
	_cleanup_log_place_ struct log_place place;
	/* SQLite's files need 32 KiB; the hashes need more. */
	struct rlimit before, small = { .rlim_cur = 40000 };
	struct retain_report report;
	struct audit_log *log;
	struct told told;

	log_place_init(&place);
	log = log_made(&place);
	add_signed(log, 2500);
	expect_eq(audit_log_rotate(log, NULL), 1);
	make_old(&place, SEGMENT, 8);
	expect_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
	small.rlim_max = before.rlim_max;
	(void)signal(SIGXFSZ, SIG_IGN);
	expect_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	report = retained(log, &usual, &told);
	expect_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
	expect_eq(report.n_problems, 1);
	expect_eq(told.problems[0], -EFBIG);
	expect_str(told.fix, "raise the limit of file sizes: ulimit -f");

	expect(has_file(&place, SEGMENT));
	expect(!has_file(&place, FIRST_ARCHIVE));
	expect(!has_file(&place, FIRST_ARCHIVE ".new"));
	report = retained(log, &usual, &told);
	expect_eq(report.n_archived, 1);
	(void)audit_log_free(log);
	expect_eq(intact_size(&place, NULL), 2501);
}

/* ---- deletion ---- */

static void an_old_archive_is_deleted_and_a_record_says_so(void)
{
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log = log_of_segments(&place, 3);
	struct retain_report report;
	struct told told;
	char key[256];

	key_of(log, key);
	archive_and_age(&place, log, 80);
	make_old(&place, FIRST_ARCHIVE, 91);
	report = retained(log, &usual, &told);
	expect_eq(report.n_deleted, 1);
	expect_eq(told.actions[0], RETAIN_DELETE_AGE);
	expect(!has_file(&place, FIRST_ARCHIVE));
	expect_eq(audit_log_size(log), 32);
	expect_eq(audit_log_checkpoint_size(log), 32);
	expect_eq(intact_size(&place, key), 32);
	/* A second archive: the two stubs are joined. */
	make_old(&place, SECOND ".tar.zst", 91);
	report = retained(log, &usual, &told);
	expect_eq(report.n_deleted, 1);
	expect_eq(intact_size(&place, key), 33);
	(void)audit_log_free(log);
}

static void without_room_the_oldest_archives_go(void)
{
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log = log_of_segments(&place, 3);
	struct retain_policy tight = usual;
	struct retain_report report;
	struct told told;
	char key[256];

	key_of(log, key);
	archive_and_age(&place, log, 1);
	report = retained(log, &usual, &told);
	expect_eq(report.n_deleted, 0);
	tight.max_bytes = report.n_bytes - 1;
	report = retained(log, &tight, &told);
	expect(report.n_deleted >= 1);
	expect_eq(told.actions[0], RETAIN_DELETE_SIZE);
	expect(!has_file(&place, FIRST_ARCHIVE));
	(void)audit_log_free(log);
	expect(intact_size(&place, key) > 31);
}

/* The stub records of deleted archives are in segments that are deleted later. */
static void a_log_that_has_lost_its_stubs_still_says_what_was_deleted(void)
{
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log;
	struct told told;
	char key[256];

	log_place_init(&place);
	log = log_made(&place);
	key_of(log, key);
	expect_eq(audit_log_change_key(log, NULL), 0);
	for (unsigned i = 0; i < 12; i++) {
		add_signed(log, 3);
		if (i % 4 == 1)
			expect_eq(audit_log_change_key(log, NULL), 0);
		expect_eq(audit_log_rotate(log, NULL), 1);
		/* Two segments are left, which contain no stub of the first ones. */
		if (i < 2)
			continue;
		archive_and_age(&place, log, 10);
		(void)retained(log, &usual, &told);
		expect_eq(told.n, 0);
		{
			_cleanup_segment_list_ struct segment_list list = SEGMENT_LIST_INIT;
			int directory = directory_of(&place);

			expect_eq(segment_list(directory, &list), 0);
			make_old(&place, list.files[0].name, 91);
			(void)close(directory);
		}
		(void)retained(log, &usual, &told);
		expect_eq(told.n, 1);
		expect_eq(told.problems[0], 0);
		expect_eq(intact_size(&place, key), audit_log_size(log));
	}
	(void)audit_log_free(log);
	log = log_opened(&place);
	add_signed(log, 1);
	expect_eq(intact_size(&place, key), audit_log_size(log));
	(void)audit_log_free(log);
}

static void behind_a_gap_nothing_is_deleted(void)
{
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log = log_of_segments(&place, 3);
	struct retain_report report;
	struct told told;
	int directory = directory_of(&place);

	archive_and_age(&place, log, 91);
	expect_eq(unlinkat(directory, FIRST_ARCHIVE, 0), 0);
	(void)close(directory);
	report = retained(log, &usual, &told);
	expect_eq(report.n_deleted, 0);
	expect_eq(report.n_problems, 1);
	expect_str(told.text, "earlier records are missing, and no record says why");
	expect(has_file(&place, SECOND ".tar.zst"));
	expect_eq(audit_log_size(log), 31);
	(void)audit_log_free(log);
}

static void an_archive_that_was_changed_is_not_deleted(void)
{
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log = log_of_segments(&place, 2);
	struct unpacked unpacked;
	struct retain_report report;
	struct told told;
	int directory = directory_of(&place);
	char *at;

	archive_all(log);
	unpack(directory, FIRST_ARCHIVE, &unpacked);
	at = strstr(unpacked.members[2].data, "\"n\":3}");
	expect(at != NULL);
	if (at)
		at[4] = '4';
	{
		const struct member members[] = {
			{ "segment.json", unpacked.members[0].data, unpacked.members[0].len, 0 },
			{ "checkpoints", unpacked.members[1].data, unpacked.members[1].len, 0 },
			{ "records.jsonl", unpacked.members[2].data, unpacked.members[2].len, 0 },
		};

		pack(directory, FIRST_ARCHIVE, "zstd", members, 3);
	}
	make_old(&place, FIRST_ARCHIVE, 91);
	report = retained(log, &usual, &told);
	expect_eq(report.n_deleted, 0);
	expect_eq(report.n_problems, 1);
	expect_str(told.text, "a record was changed");
	expect(has_file(&place, FIRST_ARCHIVE));
	unpacked_deinit(&unpacked);
	(void)close(directory);
	(void)audit_log_free(log);
}

static void patterns_that_cut_into_the_stub_stop_the_deletion(void)
{
	static const char *const patterns[] = { "[0-9a-f]{64}" };
	_cleanup_redactor_ struct redactor *redactor = NULL;
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log = log_of_segments(&place, 2);
	struct retain_report report;
	struct told told;

	archive_and_age(&place, log, 91);
	(void)audit_log_free(log);
	expect_eq(redactor_new(patterns, 1, &redactor, NULL), 0);
	place.options.redactor = redactor;
	log = log_opened(&place);
	report = retained(log, &usual, &told);
	expect_eq(report.n_deleted, 0);
	expect_eq(report.n_problems, 1);
	expect_eq(told.problems[0], -EINVAL);
	expect(has_file(&place, FIRST_ARCHIVE));
	expect_eq(audit_log_size(log), 21);
	(void)audit_log_free(log);
	expect_eq(intact_size(&place, NULL), 21);
}

/* ---- how full the directory is ---- */

static unsigned n_events(const struct log_place *place, const char *event)
{
	_cleanup_segment_list_ struct segment_list list = SEGMENT_LIST_INIT;
	int directory = directory_of(place);
	unsigned n = 0;

	expect_eq(segment_list(directory, &list), 0);
	for (size_t i = 0; i < list.n; i++) {
		struct seen seen;

		expect_eq(see(directory, list.files[i].name, list.files[i].kind, &seen, NULL), 0);
		for (const char *at = seen.all.data;
		     (at = memmem(at, (size_t)(seen.all.data + seen.all.len - at), event,
				  strlen(event)));
		     at++)
			n++;
		text_deinit(&seen.all);
	}
	(void)close(directory);
	return n;
}

static void a_level_that_is_crossed_is_said_once(void)
{
	static const struct {
		unsigned percent; /* how much of max_bytes is used */
		unsigned n_warnings, n_criticals;
	} steps[] = { { 50, 0, 0 }, { 85, 1, 0 }, { 90, 1, 0 }, { 97, 1, 1 }, { 98, 1, 1 },
		      { 50, 1, 1 }, { 85, 2, 1 }, { 10, 2, 1 }, { 99, 3, 2 } };
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log = log_of_segments(&place, 1);
	const struct retain_options look = { .policy = usual };
	struct retain_policy policy = usual;
	struct retain_report report;
	int directory = directory_of(&place);
	struct told told;
	uint8_t level;

	archive_all(log);
	/* This archive is much larger than the records that the run adds, so they do not trigger a
	 * deletion. */
	make_old(&place, FIRST_ARCHIVE, 0);
	for (size_t i = 0; i < N_ELEMENTS(steps); i++) {
		expect_eq(retain_preview(directory, &look, &report, NULL), 0);
		policy.max_bytes = report.n_bytes / steps[i].percent * 100;
		(void)retained(log, &policy, &told);
		expect_eq(n_events(&place, "audit_storage_warning"), steps[i].n_warnings);
		expect_eq(n_events(&place, "audit_storage_critical"), steps[i].n_criticals);
	}
	/* The level is also known in the next segment. */
	expect_eq(audit_log_rotate(log, NULL), 1);
	expect_eq(store_get_meta(log->store, META_STORAGE, &level, sizeof(level), NULL), 1);
	expect_eq(level, RETAIN_LEVEL_CRITICAL);
	(void)close(directory);
	(void)audit_log_free(log);
}

/* ---- crashes ---- */

struct crash {
	const struct log_place *place;
	struct retain_policy policy;
};

static void retain_all(void *userdata)
{
	const struct crash *crash = userdata;
	const struct retain_options options = { .policy = crash->policy,
						.now_usec = moment_now(CLOCK_REALTIME),
						.trusts_clock = true };
	struct audit_log *log = log_opened(crash->place);
	struct retain_report report;

	expect_eq(audit_log_retain(log, &options, &report, NULL), 0);
	(void)audit_log_free(log);
}

/* A run archives one of two closed segments and deletes one archive. */
static bool crash_once(unsigned n, bool *ret_is_supported)
{
	_cleanup_log_place_ struct log_place place;
	struct crash crash = { .place = &place, .policy = usual };
	struct audit_log *log = log_of_segments(&place, 2);
	struct retain_report report;
	struct told told;
	bool is_killed;
	char key[256];

	key_of(log, key);
	make_old(&place, SEGMENT, 91);
	make_old(&place, SECOND ".db", 8);
	(void)audit_log_free(log);
	is_killed = killed_at(n, retain_all, &crash, ret_is_supported);
	expect(intact_size(&place, key) >= 21);
	log = log_opened(&place);
	report = retained(log, &usual, &told);
	expect_eq(report.n_problems, 0);
	expect(!has_file(&place, SEGMENT));
	expect(!has_file(&place, SEGMENT "-wal"));
	expect(!has_file(&place, SEGMENT "-shm"));
	expect(!has_file(&place, FIRST_ARCHIVE));
	expect(!has_file(&place, FIRST_ARCHIVE ".new"));
	expect(!has_file(&place, SECOND ".db"));
	expect(has_file(&place, SECOND ".tar.zst"));
	expect_eq(n_events(&place, "\"" STUB_EVENT "\""), 1);
	add_signed(log, 1);
	(void)audit_log_free(log);
	expect_eq(intact_size(&place, key), 23);
	return is_killed;
}

static void a_crash_at_any_system_call_loses_nothing_and_is_made_good(void)
{
	killed_everywhere(crash_once);
}

/* ---- progress ---- */

static void count_progress(void *userdata, uint64_t n_read)
{
	uint64_t *n = userdata;

	expect_eq(n_read, *n + 1);
	*n = n_read;
}

static void each_record_that_is_read_is_progress(void)
{
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log = log_of_segments(&place, 3);
	uint64_t n_read = 0, n_archived;
	struct retain_options options = { .policy = usual,
					  .now_usec = moment_now(CLOCK_REALTIME),
					  .trusts_clock = true,
					  .progress = count_progress,
					  .userdata = &n_read };
	struct retain_report report;

	make_old(&place, SEGMENT, 8);
	expect_eq(audit_log_retain(log, &options, &report, NULL), 0);
	expect_eq(report.n_archived, 1);
	/* The segment is checked and packed, the archive is checked. */
	expect(n_read >= 3);
	n_archived = n_read;
	make_old(&place, FIRST_ARCHIVE, 91);
	n_read = 0;
	expect_eq(audit_log_retain(log, &options, &report, NULL), 0);
	expect_eq(report.n_deleted, 1);
	expect(n_read > 0 && n_read < n_archived);
	(void)audit_log_free(log);
}

/* ---- preview ---- */

static void a_preview_says_what_would_be_done_and_does_nothing(void)
{
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log = log_of_segments(&place, 3);
	struct told told = { .n = 0 };
	const struct retain_options options = { .policy = usual,
						.now_usec = moment_now(CLOCK_REALTIME),
						.trusts_clock = true,
						.tell = keep_told,
						.userdata = &told };
	struct retain_report report;
	int directory = directory_of(&place);

	make_old(&place, SEGMENT, 91);
	make_old(&place, SECOND ".db", 8);
	expect_eq(retain_preview(directory, &options, &report, NULL), 0);
	(void)close(directory);
	expect_eq(told.n, 3);
	expect_eq(told.actions[0], RETAIN_ARCHIVE);
	expect_eq(told.actions[1], RETAIN_DELETE_AGE);
	expect_eq(told.actions[2], RETAIN_ARCHIVE);
	expect(has_file(&place, SEGMENT));
	expect(has_file(&place, SECOND ".db"));
	report = retained(log, &usual, &told);
	expect_eq(told.n, 3);
	expect_eq(told.actions[0], RETAIN_ARCHIVE);
	expect_eq(told.actions[1], RETAIN_DELETE_AGE);
	expect_eq(told.actions[2], RETAIN_ARCHIVE);
	(void)audit_log_free(log);
}

static const struct test tests[] = {
	TEST(a_closed_segment_becomes_an_archive_after_a_week),
	TEST(an_archive_is_as_old_as_its_segment),
	TEST(nothing_is_packed_where_there_is_hardly_any_room),
	TEST(a_segment_that_was_changed_is_kept_and_told),
	TEST(a_segment_with_another_head_in_its_last_checkpoint_is_kept),
	TEST(where_no_archive_can_be_written_the_segment_stays),
	TEST(an_old_archive_is_deleted_and_a_record_says_so),
	TEST(without_room_the_oldest_archives_go),
	TEST(a_log_that_has_lost_its_stubs_still_says_what_was_deleted),
	TEST(behind_a_gap_nothing_is_deleted),
	TEST(an_archive_that_was_changed_is_not_deleted),
	TEST(patterns_that_cut_into_the_stub_stop_the_deletion),
	TEST(a_level_that_is_crossed_is_said_once),
	TEST(a_crash_at_any_system_call_loses_nothing_and_is_made_good),
	TEST(each_record_that_is_read_is_progress),
	TEST(a_preview_says_what_would_be_done_and_does_nothing),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
