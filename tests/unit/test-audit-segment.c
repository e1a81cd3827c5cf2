/* SPDX-License-Identifier: MIT */

#include "audit/segment.h"

#include "audit-archive-rig.h"

#define SECOND "00000000000000000011"

static void make_file(int directory, const char *name, size_t n_bytes)
{
	static const char bytes[1000];

	expect_eq(file_replace(directory, name, bytes, n_bytes, 0600, NULL), 0);
}

static void lists_databases_and_archives_in_the_order_of_their_numbers(void)
{
	static const char *const others[] = {
		"key",
		"0.db",
		"00000000000000000000.db.new",
		"00000000000000000000.tar.zst.new",
		"0000000000000000000x.db",
		"99999999999999999999.db",
		"00000000000000000000.tar",
		"000000000000000000001.db",
	};
	_cleanup_log_place_ struct log_place place;
	_cleanup_segment_list_ struct segment_list list = SEGMENT_LIST_INIT;
	int directory;

	log_place_init(&place);
	expect_eq(mkdir(place.log, 0700), 0);
	directory = directory_of(&place);
	expect_eq(segment_list(directory, &list), 0);
	expect_eq(list.n, 0);
	for (size_t i = 0; i < N_ELEMENTS(others); i++)
		make_file(directory, others[i], 1);
	make_file(directory, SECOND ".db", 100);
	make_file(directory, SECOND ".db-wal", 20);
	make_file(directory, SECOND ".db-shm", 3);
	make_file(directory, FIRST_ARCHIVE, 50);
	make_file(directory, "00000000000000000007.tar.zst", 5);
	expect_eq(segment_list(directory, &list), 0);
	(void)close(directory);
	expect_eq(list.n, 3);
	expect_str(list.files[0].name, FIRST_ARCHIVE);
	expect_eq(list.files[0].kind, SEGMENT_ARCHIVE);
	expect_eq(list.files[0].n_bytes, 50);
	expect_eq(list.files[1].first, 7);
	expect_str(list.files[2].name, SECOND ".db");
	expect_eq(list.files[2].kind, SEGMENT_STORE);
	expect_eq(list.files[2].n_bytes, 123);
	expect(list.files[2].mtime_usec > 0);
	segment_become_archive(&list.files[2]);
	expect_str(list.files[2].name, SECOND ".tar.zst");
}

static void beside_its_database_an_archive_does_not_count(void)
{
	_cleanup_log_place_ struct log_place place;
	_cleanup_segment_list_ struct segment_list list = SEGMENT_LIST_INIT;
	int directory;

	log_place_init(&place);
	expect_eq(mkdir(place.log, 0700), 0);
	directory = directory_of(&place);
	make_file(directory, FIRST_ARCHIVE, 50);
	make_file(directory, SEGMENT, 50);
	expect_eq(segment_list(directory, &list), 0);
	(void)close(directory);
	expect_eq(list.n, 1);
	expect_eq(list.files[0].kind, SEGMENT_STORE);
}

static bool is_same_about(const struct segment_about *a, const struct segment_about *b)
{
	struct seen seen_a = { .n_rows = 0 }, seen_b = { .n_rows = 0 };
	bool is_same;

	see_about(&seen_a, a);
	see_about(&seen_b, b);
	is_same = seen_a.all.len == seen_b.all.len &&
		  memcmp(seen_a.all.data, seen_b.all.data, seen_a.all.len) == 0;
	text_deinit(&seen_a.all);
	text_deinit(&seen_b.all);
	return is_same;
}

static void both_say_the_same_about_themselves(void)
{
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log = log_of_segments(&place, 2);
	_cleanup_segment_list_ struct segment_list list = SEGMENT_LIST_INIT;
	struct segment_about before[3] = { { .size = 0 } }, after[3] = { { .size = 0 } };
	int directory = directory_of(&place);

	for (unsigned round = 0; round < 2; round++) {
		segment_list_deinit(&list);
		expect_eq(segment_list(directory, &list), 0);
		expect_eq(list.n, 3);
		for (size_t i = 0; i < 3 && i < list.n; i++) {
			_cleanup_segment_ struct segment *segment = NULL;

			expect_eq(segment_open(directory, &list.files[i], &segment, NULL), 0);
			expect_eq(segment_read_about(segment, round ? &after[i] : &before[i], NULL),
				  0);
		}
		if (round == 0)
			archive_all(log);
	}
	for (size_t i = 0; i < 3; i++)
		expect(is_same_about(&before[i], &after[i]));
	expect_eq(after[1].first, 11);
	expect_eq(after[1].size, 21);
	expect_eq(after[1].frontier.size, 11);
	expect_str(after[1].log_id, audit_log_id(log));
	/* The last segment has no records yet. */
	expect_eq(after[2].first, 21);
	expect_eq(after[2].size, 21);
	(void)close(directory);
	(void)audit_log_free(log);
}

static void a_segment_that_does_not_say_what_it_is_is_refused(void)
{
	_cleanup_log_place_ struct log_place place;
	_cleanup_segment_ struct segment *segment = NULL;
	const struct segment_file file = { .kind = SEGMENT_STORE, .name = "x.db" };
	struct segment_about about;
	int directory;

	log_place_init(&place);
	expect_eq(mkdir(place.log, 0700), 0);
	directory = directory_of(&place);
	expect_eq(store_create(directory, "x.db", NULL, NULL, NULL), 0);
	expect_eq(segment_open(directory, &file, &segment, NULL), 0);
	expect_eq(segment_read_about(segment, &about, NULL), -EBADMSG);
	(void)close(directory);
}

static const struct test tests[] = {
	TEST(lists_databases_and_archives_in_the_order_of_their_numbers),
	TEST(beside_its_database_an_archive_does_not_count),
	TEST(both_say_the_same_about_themselves),
	TEST(a_segment_that_does_not_say_what_it_is_is_refused),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
