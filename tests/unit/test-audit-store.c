/* SPDX-License-Identifier: MIT */

#include "audit/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sbx/error.h>

#include "test.h"

#define NAME "segment.db"
#define NOBODY 65534

struct place {
	char path[32];
	int directory;
};

static struct place place_new(void)
{
	struct place place = { .path = "/tmp/store-XXXXXX", .directory = -EBADF };

	expect(mkdtemp(place.path) != NULL);
	place.directory = open(place.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	expect(place.directory >= 0);
	return place;
}

static size_t place_count(const struct place *place, bool removes)
{
	DIR *dir = opendir(place->path);
	struct dirent *entry;
	size_t n = 0;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.') {
			n++;
			if (removes)
				(void)unlinkat(place->directory, entry->d_name, 0);
		}
	if (dir)
		(void)closedir(dir);
	return n;
}

static void place_deinit(struct place *place)
{
	(void)place_count(place, true);
	(void)close(place->directory);
	expect_eq(rmdir(place->path), 0);
}

#define _cleanup_place_ _cleanup_(place_deinit)

static struct store *store_made(const struct place *place)
{
	struct sbx_error err = { 0 };
	struct store *store = NULL;

	expect_eq(store_create(place->directory, NAME, NULL, NULL, &err), 0);
	expect_eq(store_open(place->directory, NAME, &store, &err), 0);
	expect_str(err.why, "");
	return store;
}

static struct store_row row_of(uint64_t seq)
{
	struct store_row row = {
		.seq = seq,
		.body = "{\"a\":\"\\u0000\"}",
		.n_body = 14,
	};

	row.hash.bytes[0] = (uint8_t)seq;
	row.hash.bytes[31] = 0xff;
	return row;
}

static void add_rows(struct store *store, uint64_t from, uint64_t n)
{
	expect_eq(store_begin(store, NULL), 0);
	for (uint64_t seq = from; seq < from + n; seq++) {
		struct store_row row = row_of(seq);

		expect_eq(store_add(store, &row, NULL), 0);
	}
	expect_eq(store_commit(store, NULL), 0);
}

/* Another program changes the store with SQLite. */
static void execute(const struct place *place, const char *sql)
{
	sqlite3 *db = NULL;
	char path[64], *why = NULL;

	(void)snprintf(path, sizeof(path), "%s/" NAME, place->path);
	expect_eq(sqlite3_open(path, &db), SQLITE_OK);
	expect_eq(sqlite3_exec(db, sql, NULL, NULL, &why), SQLITE_OK);
	if (why)
		printf("# %s\n", why);
	sqlite3_free(why);
	expect_eq(sqlite3_close(db), SQLITE_OK);
}

struct seen {
	uint64_t n;
	uint64_t last;
	const char *problem;
	int stop_with;
	struct store *store; /* the test adds a row to it during reading */
};

static int see(void *userdata, const struct store_row *row, struct sbx_error *err)
{
	struct seen *seen = userdata;
	struct store_row wanted = row_of(row->seq);

	seen->n++;
	seen->last = row->seq;
	if (row->problem) {
		seen->problem = row->problem;
		return seen->stop_with;
	}
	expect(row->n_body == wanted.n_body && memcmp(row->body, wanted.body, row->n_body) == 0);
	expect(memcmp(&row->hash, &wanted.hash, sizeof(row->hash)) == 0);
	if (seen->store)
		add_rows(seen->store, 1000 + row->seq, 1);
	return seen->stop_with;
}

static uint64_t count_rows(struct store *store)
{
	struct seen seen = { .n = 0 };

	expect_eq(store_each(store, 0, UINT64_MAX, see, &seen, NULL), 0);
	return seen.n;
}

/* ---- rows ---- */

static void what_is_committed_is_there_when_it_is_opened_again(void)
{
	_cleanup_place_ struct place place = place_new();
	_cleanup_store_ struct store *store = store_made(&place), *again = NULL;
	uint64_t first = 7, last = 7;
	struct stat st;

	expect_eq(store_bounds(store, &first, &last, NULL), 0);
	add_rows(store, 0, 100);
	store = store_free(store);
	expect_eq(fstatat(place.directory, NAME, &st, 0), 0);
	expect_eq(st.st_mode & 07777, 0600);
	expect_eq(store_open(place.directory, NAME, &again, NULL), 0);
	expect_eq(count_rows(again), 100);
	expect_eq(store_bounds(again, &first, &last, NULL), 1);
	expect_eq(first, 0);
	expect_eq(last, 99);
}

static void what_is_rolled_back_was_never_there(void)
{
	_cleanup_place_ struct place place = place_new();
	_cleanup_store_ struct store *store = store_made(&place);
	struct store_row row = row_of(0);

	expect_eq(store_begin(store, NULL), 0);
	expect_eq(store_add(store, &row, NULL), 0);
	store_rollback(store);
	store_rollback(store);
	expect_eq(count_rows(store), 0);
	add_rows(store, 0, 1);
	expect_eq(count_rows(store), 1);
}

static void a_number_is_taken_once(void)
{
	_cleanup_place_ struct place place = place_new();
	_cleanup_store_ struct store *store = store_made(&place);
	struct sbx_error err = { 0 };
	struct store_row row = row_of(5);

	add_rows(store, 5, 1);
	expect_eq(store_begin(store, NULL), 0);
	expect_eq(store_add(store, &row, &err), -EEXIST);
	expect(strstr(err.what, NAME) != NULL);
	store_rollback(store);
	expect_eq(count_rows(store), 1);
}

static void a_range_has_both_its_ends(void)
{
	_cleanup_place_ struct place place = place_new();
	_cleanup_store_ struct store *store = store_made(&place);
	struct seen seen = { .n = 0 }, none = { .n = 0 }, stopped = { .stop_with = -ECANCELED };

	add_rows(store, 10, 20);
	expect_eq(store_each(store, 12, 15, see, &seen, NULL), 0);
	expect_eq(seen.n, 4);
	expect_eq(seen.last, 15);
	expect_eq(store_each(store, 30, 100, see, &none, NULL), 0);
	expect_eq(store_each(store, UINT64_MAX, UINT64_MAX, see, &none, NULL), 0);
	expect_eq(none.n, 0);
	expect_eq(store_each(store, 0, 100, see, &stopped, NULL), -ECANCELED);
	expect_eq(stopped.n, 1);
	expect_eq(count_rows(store), 20);
}

static void a_reader_sees_one_moment(void)
{
	_cleanup_place_ struct place place = place_new();
	_cleanup_store_ struct store *store = store_made(&place), *reader = NULL;
	struct seen seen = { .store = store };
	uint64_t first, last = 0;

	add_rows(store, 0, 5);
	expect_eq(store_open_to_read(place.directory, NAME, &reader, NULL), 0);
	expect_eq(store_each(reader, 0, UINT64_MAX, see, &seen, NULL), 0);
	expect_eq(seen.n, 5);

	expect_eq(store_begin_reading(reader, NULL), 0);
	add_rows(store, 5000, 3);
	expect_eq(count_rows(reader), 10);
	expect_eq(store_bounds(reader, &first, &last, NULL), 1);
	expect_eq(last, 1004);
	store_end_reading(reader);
	expect_eq(count_rows(reader), 13);
}

static void a_reader_cannot_write(void)
{
	_cleanup_place_ struct place place = place_new();
	_cleanup_store_ struct store *store = store_made(&place), *reader = NULL;
	struct store_row row = row_of(0);

	expect(store);
	expect_eq(store_open_to_read(place.directory, NAME, &reader, NULL), 0);
	expect_eq(store_begin(reader, NULL), 0);
	expect_eq(store_add(reader, &row, NULL), -EROFS);
}

/* ---- locks ---- */

/* In a child: takes the writer's lock for a moment, while the test waits for it. */
static int write_slowly(const struct place *place, int ready)
{
	_cleanup_store_ struct store *store = NULL;
	struct store_row row = row_of(0);

	if (store_open(place->directory, NAME, &store, NULL) < 0 || store_begin(store, NULL) < 0 ||
	    store_add(store, &row, NULL) < 0 || write(ready, "r", 1) != 1)
		return 1;
	(void)poll(NULL, 0, 50);
	return store_commit(store, NULL) < 0;
}

static void a_lock_that_passes_is_waited_for(void)
{
	_cleanup_place_ struct place place = place_new();
	_cleanup_store_ struct store *store = NULL;
	int status = -1, ready[2];
	pid_t pid;
	char c;

	expect_eq(store_create(place.directory, NAME, NULL, NULL, NULL), 0);
	expect_eq(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0)
		_exit(write_slowly(&place, ready[1]));
	expect_eq(read(ready[0], &c, 1), 1);
	expect_eq(store_open(place.directory, NAME, &store, NULL), 0);
	add_rows(store, 1, 1);
	expect_eq(waitpid(pid, &status, 0), pid);
	expect_eq(status, 0);
	expect_eq(count_rows(store), 2);
	(void)close(ready[0]);
	(void)close(ready[1]);
}

static void a_lock_that_stays_is_an_error_after_some_time(void)
{
	_cleanup_place_ struct place place = place_new();
	_cleanup_store_ struct store *store = store_made(&place), *other = NULL;
	struct sbx_error err = { .code = 0 };

	expect_eq(store_open(place.directory, NAME, &other, NULL), 0);
	expect_eq(store_begin(other, NULL), 0);
	store_set_patience(store, 20);
	expect_eq(store_begin(store, &err), -EBUSY);
	expect_str(err.why, "database is locked");
	store_rollback(other);
	add_rows(store, 0, 1);
}

/* In a child without privileges: 0 if all rows were read. */
static int read_as_nobody(const struct place *place)
{
	_cleanup_store_ struct store *reader = NULL;
	struct seen seen = { .n = 0 };

	if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
		return 2;
	if (store_open_to_read(place->directory, NAME, &reader, NULL) < 0 ||
	    store_each(reader, 0, UINT64_MAX, see, &seen, NULL) < 0)
		return 1;
	return seen.n == 7 ? 0 : 3;
}

static void another_user_with_read_access_can_read_a_closed_segment(void)
{
	_cleanup_place_ struct place place = place_new();
	_cleanup_store_ struct store *store = store_made(&place);
	int status = -1;
	pid_t pid;

	if (geteuid() != 0)
		skip("needs root to become another user");
	add_rows(store, 0, 7);
	store = store_free(store);
	expect_eq(fchmod(place.directory, 0755), 0);
	expect_eq(fchmodat(place.directory, NAME, 0644, 0), 0);
	expect_eq(fchmodat(place.directory, NAME "-wal", 0644, 0), 0);
	expect_eq(fchmodat(place.directory, NAME "-shm", 0644, 0), 0);
	pid = fork();
	if (pid == 0)
		_exit(read_as_nobody(&place));
	expect_eq(waitpid(pid, &status, 0), pid);
	expect_eq(status, 0);
}

/* ---- other tables ---- */

static void values_of_meta_are_set_changed_and_taken_away(void)
{
	_cleanup_place_ struct place place = place_new();
	_cleanup_store_ struct store *store = store_made(&place);
	char value[8] = "";

	expect_eq(store_get_meta(store, "k", value, sizeof(value), NULL), -ENOENT);
	expect_eq(store_set_meta(store, "k", "ab", 2, NULL), 0);
	expect_eq(store_set_meta(store, "k", "a\0c", 3, NULL), 0);
	expect_eq(store_get_meta(store, "k", value, sizeof(value), NULL), 3);
	expect(memcmp(value, "a\0c", 3) == 0);
	expect_eq(store_get_meta(store, "k", value, 2, NULL), -EBADMSG);
	expect_eq(store_set_meta(store, "k", NULL, 0, NULL), 0);
	expect_eq(store_get_meta(store, "k", value, sizeof(value), NULL), -ENOENT);
}

static int add_key(void *userdata, const char *key, struct sbx_error *err)
{
	char *all = userdata;

	(void)strcat(strcat(all, key), " ");
	return 0;
}

static void keys_are_listed_by_what_they_begin_with(void)
{
	_cleanup_place_ struct place place = place_new();
	_cleanup_store_ struct store *store = store_made(&place);
	static const char *const keys[] = { "b:2", "a", "b:1", "b", "c", "b;" };
	char all[64] = "";

	for (size_t i = 0; i < N_ELEMENTS(keys); i++)
		expect_eq(store_set_meta(store, keys[i], "", 0, NULL), 0);
	expect_eq(store_each_meta(store, "b:", add_key, all, NULL), 0);
	expect_str(all, "b:1 b:2 ");
}

static int add_note(void *userdata, uint64_t size, const char *note, size_t n_bytes,
		    struct sbx_error *err)
{
	char *all = userdata;

	(void)snprintf(all + strlen(all), 16, "%llu=%.*s ", (unsigned long long)size, (int)n_bytes,
		       note);
	return 0;
}

static void checkpoints_come_in_the_order_of_their_sizes(void)
{
	_cleanup_place_ struct place place = place_new();
	_cleanup_store_ struct store *store = store_made(&place);
	char all[64] = "", last[64] = "";

	expect_eq(store_last_checkpoint(store, add_note, last, NULL), 0);
	expect_eq(store_add_checkpoint(store, 20, "two", 3, NULL), 1);
	expect_eq(store_add_checkpoint(store, 3, "one", 3, NULL), 1);
	expect_eq(store_add_checkpoint(store, 100, "three", 5, NULL), 1);
	expect_eq(store_each_checkpoint(store, 4, add_note, all, NULL), 0);
	expect_str(all, "20=two 100=three ");
	expect_eq(store_last_checkpoint(store, add_note, last, NULL), 1);
	expect_str(last, "100=three ");
}

static int fill_with_row(struct store *store, void *userdata, struct sbx_error *err)
{
	struct store_row row = row_of(0);
	int *r = userdata;

	expect_eq(store_add(store, &row, err), 0);
	return *r;
}

static void a_segment_is_made_whole_or_not_at_all(void)
{
	_cleanup_place_ struct place place = place_new();
	_cleanup_store_ struct store *store = NULL;
	struct sbx_error err = { 0 };
	int r = -ECANCELED;

	expect_eq(store_create(place.directory, NAME, fill_with_row, &r, &err), -ECANCELED);
	expect_eq(place_count(&place, false), 0);
	r = 0;
	expect_eq(store_create(place.directory, NAME, fill_with_row, &r, &err), 0);
	/* With -wal and -shm, which a reader needs. */
	expect_eq(place_count(&place, false), 3);
	expect_eq(store_create(place.directory, NAME, fill_with_row, &r, &err), -EEXIST);
	expect_eq(place_count(&place, false), 3);
	expect_eq(store_open(place.directory, NAME, &store, &err), 0);
	expect_eq(count_rows(store), 1);
}

/* Adds a record, tries to create the segment again, and is killed. */
static void add_and_create(const struct place *place)
{
	struct store_row row = row_of(1);
	struct store *store = NULL;
	int r = 0;

	expect_eq(store_open(place->directory, NAME, &store, NULL), 0);
	expect_eq(store_begin(store, NULL), 0);
	expect_eq(store_add(store, &row, NULL), 0);
	expect_eq(store_commit(store, NULL), 0);
	expect_eq(store_create(place->directory, NAME, fill_with_row, &r, NULL), -EEXIST);
	(void)raise(SIGKILL);
}

/* They are in its -wal, which is copied into it only when it is closed. */
static void a_segment_that_exists_keeps_its_records(void)
{
	_cleanup_place_ struct place place = place_new();
	_cleanup_store_ struct store *store = NULL;
	pid_t pid;
	int r = 0;

	expect_eq(store_create(place.directory, NAME, fill_with_row, &r, NULL), 0);
	pid = fork();
	if (pid == 0)
		add_and_create(&place);
	expect_eq(waitpid(pid, NULL, 0), pid);
	expect_eq(store_open(place.directory, NAME, &store, NULL), 0);
	expect_eq(count_rows(store), 2);
}

static void a_store_that_a_crash_left_incomplete_is_created_again(void)
{
	_cleanup_place_ struct place place = place_new();
	int fd = openat(place.directory, NAME ".new", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	struct store *store;

	expect(write(fd, "half", 4) == 4);
	(void)close(fd);
	store = store_made(&place);
	expect_eq(faccessat(place.directory, NAME ".new", F_OK, 0), -1);
	(void)store_free(store);
}

/* ---- hostile files ---- */

static void refuse_to_open(const struct place *place, int code, const char *why)
{
	struct sbx_error err = { 0 };
	struct store *store = NULL;

	expect_eq(store_open(place->directory, NAME, &store, &err), code);
	if (!strstr(err.why, why))
		printf("# %s\n", err.why);
	expect(strstr(err.why, why) != NULL);
	expect(err.fix[0] != '\0');
	expect(store == NULL);
	(void)store_free(store);
}

static void refuses_files_that_are_no_segment(void)
{
	_cleanup_place_ struct place place = place_new();
	int fd;

	refuse_to_open(&place, -ENOENT, "");
	fd = openat(place.directory, NAME, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	refuse_to_open(&place, -EBADMSG, "not marked");
	for (int i = 0; i < 1000; i++)
		expect(write(fd, "this is no database ", 20) == 20);
	(void)close(fd);
	refuse_to_open(&place, -EBADMSG, "not a database");
	expect_eq(unlinkat(place.directory, NAME, 0), 0);
	execute(&place, "CREATE TABLE records(a)");
	expect_eq(fchmodat(place.directory, NAME, 0600, 0), 0);
	refuse_to_open(&place, -EBADMSG, "not marked");
	expect_eq(unlinkat(place.directory, NAME, 0), 0);
	expect_eq(mkdirat(place.directory, NAME, 0700), 0);
	refuse_to_open(&place, -EBADMSG, "not a regular file");
	expect_eq(unlinkat(place.directory, NAME, AT_REMOVEDIR), 0);
	expect_eq(symlinkat("/etc/passwd", place.directory, NAME), 0);
	refuse_to_open(&place, -ELOOP, "");
}

static void refuses_a_segment_with_something_else_in_it(void)
{
	static const char *const changes[] = {
		"CREATE TRIGGER t AFTER INSERT ON records BEGIN DELETE FROM records; END",
		"CREATE VIEW v AS SELECT 1",
		"CREATE TABLE extra(a)",
		"CREATE INDEX i ON records(hash)",
		"ALTER TABLE records ADD COLUMN more TEXT",
		"DROP TABLE checkpoints",
		"PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql=replace(sql,'STRICT','')",
	};

	for (size_t i = 0; i < N_ELEMENTS(changes); i++) {
		_cleanup_place_ struct place place = place_new();

		(void)store_free(store_made(&place));
		execute(&place, changes[i]);
		refuse_to_open(&place, -EBADMSG, "tables");
	}
}

static void refuses_a_segment_of_a_later_format(void)
{
	_cleanup_place_ struct place place = place_new();

	(void)store_free(store_made(&place));
	execute(&place, "PRAGMA user_version=2");
	refuse_to_open(&place, -ENOTSUP, "format is 2");
}

static void refuses_to_write_where_others_can_write(void)
{
	_cleanup_place_ struct place place = place_new();
	_cleanup_store_ struct store *reader = NULL;

	(void)store_free(store_made(&place));
	expect_eq(fchmodat(place.directory, NAME, 0620, 0), 0);
	refuse_to_open(&place, -EPERM, "other users");
	expect_eq(store_open_to_read(place.directory, NAME, &reader, NULL), 0);
}

static void rows_that_the_log_never_writes_are_reported(void)
{
	static const struct {
		const char *sql;
		const char *problem;
	} rows[] = {
		{ "UPDATE records SET hash=zeroblob(31)", "hash" },
		{ "UPDATE records SET hash=x''", "hash" },
		{ "UPDATE records SET body=zeroblob(300000)", "body" },
		{ "UPDATE records SET seq=-1", "negative" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		_cleanup_place_ struct place place = place_new();
		_cleanup_store_ struct store *store = store_made(&place), *again = NULL;
		struct seen seen = { .stop_with = -EBADMSG };
		uint64_t first, last;

		add_rows(store, 0, 1);
		store = store_free(store);
		execute(&place, rows[i].sql);
		expect_eq(store_open(place.directory, NAME, &again, NULL), 0);
		if (strcmp(rows[i].problem, "negative") == 0) {
			expect_eq(store_bounds(again, &first, &last, NULL), -EBADMSG);
			continue;
		}
		expect_eq(store_each(again, 0, UINT64_MAX, see, &seen, NULL), -EBADMSG);
		expect(seen.problem && strstr(seen.problem, rows[i].problem));
	}
}

/* SQLite enforces the types of a STRICT table only for programs that write through it. */
static void values_of_another_type_are_pointed_out(void)
{
	static const char *const columns[] = { "body", "hash" };

	for (size_t i = 0; i < N_ELEMENTS(columns); i++) {
		_cleanup_place_ struct place place = place_new();
		_cleanup_store_ struct store *store = store_made(&place), *again = NULL;
		struct seen seen = { .stop_with = -EBADMSG };
		char sql[512];

		add_rows(store, 0, 1);
		store = store_free(store);
		(void)snprintf(sql, sizeof(sql),
			       "PRAGMA writable_schema=ON;"
			       "UPDATE sqlite_schema SET sql=replace(replace(sql,')STRICT',')'),"
			       "'%s BLOB','%s') WHERE name='records'",
			       columns[i], columns[i]);
		execute(&place, sql);
		(void)snprintf(sql, sizeof(sql), "UPDATE records SET %s=1.5", columns[i]);
		execute(&place, sql);
		(void)snprintf(
			sql, sizeof(sql),
			"PRAGMA writable_schema=ON;"
			"UPDATE sqlite_schema SET sql='CREATE TABLE records(seq INTEGER PRIMARY KEY,"
			"hash BLOB NOT NULL,body BLOB NOT NULL)STRICT' WHERE name='records'");
		execute(&place, sql);
		expect_eq(store_open(place.directory, NAME, &again, NULL), 0);
		expect_eq(store_each(again, 0, UINT64_MAX, see, &seen, NULL), -EBADMSG);
		expect(seen.problem != NULL);
	}
}

static void a_name_cannot_lead_out_of_the_directory(void)
{
	_cleanup_place_ struct place place = place_new();
	struct store *store = NULL;

	expect(store_open(place.directory, "../" NAME, &store, NULL) < 0);
	expect(store_create(place.directory, "../" NAME, NULL, NULL, NULL) < 0);
	expect(store == NULL);
}

static const struct test tests[] = {
	TEST(what_is_committed_is_there_when_it_is_opened_again),
	TEST(what_is_rolled_back_was_never_there),
	TEST(a_number_is_taken_once),
	TEST(a_range_has_both_its_ends),
	TEST(a_reader_sees_one_moment),
	TEST(a_reader_cannot_write),
	TEST(a_lock_that_passes_is_waited_for),
	TEST(a_lock_that_stays_is_an_error_after_some_time),
	TEST(another_user_with_read_access_can_read_a_closed_segment),
	TEST(values_of_meta_are_set_changed_and_taken_away),
	TEST(keys_are_listed_by_what_they_begin_with),
	TEST(checkpoints_come_in_the_order_of_their_sizes),
	TEST(a_segment_is_made_whole_or_not_at_all),
	TEST(a_segment_that_exists_keeps_its_records),
	TEST(a_store_that_a_crash_left_incomplete_is_created_again),
	TEST(refuses_files_that_are_no_segment),
	TEST(refuses_a_segment_with_something_else_in_it),
	TEST(refuses_a_segment_of_a_later_format),
	TEST(refuses_to_write_where_others_can_write),
	TEST(rows_that_the_log_never_writes_are_reported),
	TEST(values_of_another_type_are_pointed_out),
	TEST(a_name_cannot_lead_out_of_the_directory),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
