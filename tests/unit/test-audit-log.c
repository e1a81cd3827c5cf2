/* SPDX-License-Identifier: MIT */

#include "audit/log.h"

#include <sqlite3.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "audit-log-place.h"
#include "audit/key.h"
#include "audit/log-internal.h"
#include "base/file.h"
#include "base/text.h"

#define SECRET "ghp_a1B2c3D4e5F6g7H8"

/* Another program changes the log with SQLite. */
static void execute(const struct log_place *place, const char *sql)
{
	sqlite3 *db = NULL;
	char path[96];

	(void)snprintf(path, sizeof(path), "%s/" SEGMENT, place->log);
	expect_eq(sqlite3_open(path, &db), SQLITE_OK);
	expect_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	expect_eq(sqlite3_close(db), SQLITE_OK);
}

static void add_and_commit(struct audit_log *log, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		expect_eq(log_add_n(log, "syscall", i, NULL), 0);
	expect_eq(audit_log_commit(log, NULL), 0);
}

static void a_new_log_begins_with_a_signed_record_of_itself(void)
{
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log;
	_cleanup_text_ struct text verifier = TEXT_INIT;
	struct stat st;

	log_place_init(&place);
	log = log_made(&place);
	expect_eq(audit_log_size(log), 1);
	expect_eq(audit_log_checkpoint_size(log), 1);
	expect_eq(strlen(audit_log_id(log)), AUDIT_LOG_ID_SIZE - 1);
	audit_log_add_verifier(log, &verifier);
	expect(strstr(text_string(&verifier), audit_log_id(log)) != NULL);
	expect_eq(stat(place.log, &st), 0);
	expect_eq(st.st_mode & 07777, 0700);
	(void)audit_log_free(log);
	expect_eq(verify_log(&place, NULL, NULL), 1);
}

static void a_log_is_not_made_twice(void)
{
	_cleanup_log_place_ struct log_place place;
	struct sbx_error err = { 0 };

	log_place_init(&place);
	(void)audit_log_free(log_made(&place));
	expect_eq(audit_log_create(&place.options, &err), -EEXIST);
	expect_eq(verify_log(&place, NULL, NULL), 1);
}

static void a_log_that_was_half_made_is_completed(void)
{
	_cleanup_log_place_ struct log_place place;
	int directory;

	log_place_init(&place);
	(void)audit_log_free(log_made(&place));
	directory = open(place.log, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	expect_eq(unlinkat(directory, SEGMENT, 0), 0);
	(void)unlinkat(directory, SEGMENT "-wal", 0);
	(void)unlinkat(directory, SEGMENT "-shm", 0);
	expect_eq(renameat(directory, "key", directory, "other"), 0);
	expect_eq(renameat(directory, "other", directory, "key"), 0);
	(void)close(directory);
	(void)audit_log_free(log_made(&place));
	expect_eq(verify_log(&place, NULL, NULL), 1);
}

static void what_is_committed_is_found_again(void)
{
	_cleanup_log_place_ struct log_place place;
	struct audit_hash before, after;
	struct audit_log *log;
	uint64_t seq;

	log_place_init(&place);
	log = log_made(&place);
	add_and_commit(log, 10);
	expect_eq(audit_log_checkpoint(log, NULL), 0);
	add_and_commit(log, 5);
	before = log->now.head;
	(void)audit_log_free(log);
	log = log_opened(&place);
	after = log->now.head;
	expect(audit_hash_equal(&before, &after));
	expect_eq(audit_log_size(log), 16);
	expect_eq(audit_log_checkpoint_size(log), 11);
	expect(!audit_log_is_broken(log, &seq));
	add_and_commit(log, 5);
	expect_eq(audit_log_checkpoint(log, NULL), 0);
	expect_eq(audit_log_checkpoint_size(log), 21);
	(void)audit_log_free(log);
	expect_eq(verify_log(&place, NULL, NULL), 21);
}

static void many_records_are_signed_on_the_way(void)
{
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log;

	log_place_init(&place);
	log = log_made(&place);
	for (unsigned i = 0; i < 4096; i++)
		expect_eq(log_add_n(log, "syscall", i, NULL), 0);
	expect_eq(audit_log_checkpoint_size(log), 4097);
	audit_log_rollback(log);
	expect_eq(audit_log_checkpoint_size(log), 1);
	for (unsigned i = 0; i < 9000; i++)
		expect_eq(log_add_n(log, "syscall", i, NULL), 0);
	expect_eq(audit_log_commit(log, NULL), 0);
	(void)audit_log_free(log);
	log = log_opened(&place);
	expect_eq(audit_log_checkpoint_size(log), 8193);
	expect_eq(audit_log_size(log), 9001);
	(void)audit_log_free(log);
	expect_eq(verify_log(&place, NULL, NULL), 9001);
}

static void uncommitted_records_are_lost_at_close(void)
{
	_cleanup_log_place_ struct log_place place;
	struct audit_hash before, after;
	struct audit_log *log;

	log_place_init(&place);
	log = log_made(&place);
	add_and_commit(log, 3);
	before = log->now.head;
	expect_eq(log_add_n(log, "syscall", 1, NULL), 0);
	expect_eq(audit_log_size(log), 5);
	audit_log_rollback(log);
	after = log->now.head;
	expect(audit_hash_equal(&before, &after));
	expect_eq(log_add_n(log, "syscall", 2, NULL), 0);
	(void)audit_log_free(log);
	expect_eq(verify_log(&place, NULL, NULL), 4);
}

static void a_refused_line_leaves_the_others_alone(void)
{
	_cleanup_log_place_ struct log_place place;
	static const char bad[] = "{\"event\":\"syscal\"}";
	struct sbx_error err = { 0 };
	struct audit_log *log;

	log_place_init(&place);
	log = log_made(&place);
	expect_eq(log_add_n(log, "syscall", 1, NULL), 0);
	expect_eq(audit_log_add(log, bad, strlen(bad), NULL, NULL, &err), AUDIT_REFUSED);
	expect_str(err.fix, "did you mean 'syscall'?");
	expect_eq(log_add_n(log, "audit_archive_deleted", 1, NULL), AUDIT_REFUSED);
	expect_eq(log_add_n(log, "syscall", 2, NULL), 0);
	expect_eq(audit_log_commit(log, NULL), 0);
	(void)audit_log_free(log);
	expect_eq(verify_log(&place, NULL, NULL), 3);
}

static void a_receipt_says_whether_the_event_needs_a_sync(void)
{
	_cleanup_log_place_ struct log_place place;
	static const char line[] = "{\"event\":\"policy_update\"}";
	struct audit_writer writer = { .uid = 1000, .pid = 77 };
	struct audit_receipt receipt = { .seq = 0 };
	struct audit_log *log;

	log_place_init(&place);
	log = log_made(&place);
	expect_eq(audit_log_add(log, line, strlen(line), &writer, &receipt, NULL), 0);
	expect_eq(receipt.seq, 1);
	expect(receipt.is_sync);
	expect_eq(audit_log_add(log, "{\"event\":\"syscall\"}", 19, NULL, &receipt, NULL), 0);
	expect_eq(receipt.seq, 2);
	expect(!receipt.is_sync);
	expect_eq(audit_log_commit(log, NULL), 0);
	(void)audit_log_free(log);
	expect_eq(verify_log(&place, NULL, NULL), 3);
}

static void the_log_says_what_only_it_can_say(void)
{
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log;

	log_place_init(&place);
	log = log_made(&place);
	expect_eq(audit_log_say(log, "records_lost", "\"n\":5", NULL), 0);
	expect_eq(audit_log_say(log, "log_verified", "", NULL), 0);
	expect_eq(audit_log_say(log, "syscall", "", NULL), -EINVAL);
	expect_eq(audit_log_commit(log, NULL), 0);
	(void)audit_log_free(log);
	expect_eq(verify_log(&place, NULL, NULL), 3);
}

/* ---- secrets ---- */

static void find_secret(void *userdata, const struct store_row *row)
{
	bool *is_found = userdata;

	*is_found |= memmem(row->body, row->n_body, SECRET, strlen(SECRET)) != NULL;
}

static bool file_has_secret(const struct log_place *place)
{
	static const char *const names[] = { SEGMENT, SEGMENT "-wal" };
	bool has_it = false;

	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		_cleanup_free_ char *bytes = NULL;
		size_t n_bytes = 0;
		char path[96];

		(void)snprintf(path, sizeof(path), "%s/%s", place->log, names[i]);
		if (file_read(AT_FDCWD, path, 64 * 1024 * 1024, &bytes, &n_bytes, NULL) == 0)
			has_it |= memmem(bytes, n_bytes, SECRET, strlen(SECRET)) != NULL;
	}
	return has_it;
}

static void an_original_is_kept_only_where_that_was_asked_for(void)
{
	static const char line[] = "{" LOG_TIME ",\"event\":\"syscall\",\"x\":\"" SECRET "\"}";

	for (int keep = 0; keep < 2; keep++) {
		_cleanup_log_place_ struct log_place place;
		struct audit_log *log;
		bool is_found = false;

		log_place_init(&place);
		place.options.keep_originals = keep;
		log = log_made(&place);
		expect_eq(audit_log_add(log, line, strlen(line), NULL, NULL, NULL), 0);
		expect_eq(audit_log_commit(log, NULL), 0);
		(void)audit_log_free(log);
		expect_eq(verify_log(&place, find_secret, &is_found), 2);
		expect(!is_found);
		expect_eq(file_has_secret(&place), keep);
		/* Originals are not in the hash chain, so they can be deleted. */
		execute(&place, "DELETE FROM originals");
		expect_eq(verify_log(&place, NULL, NULL), 2);
	}
}

/* ---- locks and permissions ---- */

static void one_process_at_a_time_writes(void)
{
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log, *other = NULL;
	struct sbx_error err = { 0 };

	log_place_init(&place);
	log = log_made(&place);
	expect_eq(audit_log_open(&place.options, &other, &err), -EBUSY);
	expect(strstr(err.why, "another process") != NULL);
	expect(other == NULL);
	(void)audit_log_free(log);
	(void)audit_log_free(log_opened(&place));
}

static void a_second_process_waits_as_long_as_it_was_told(void)
{
	_cleanup_log_place_ struct log_place place;
	int status = -1, ready[2];
	struct audit_log *log;
	pid_t pid;
	char c;

	log_place_init(&place);
	(void)audit_log_free(log_made(&place));
	expect_eq(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		log = log_opened(&place);
		expect(write(ready[1], "r", 1) == 1);
		add_and_commit(log, 100);
		(void)audit_log_free(log);
		_exit(test_failures != 0);
	}
	expect_eq(read(ready[0], &c, 1), 1);
	place.options.wait_usec = 60000000;
	log = log_opened(&place);
	expect_eq(audit_log_size(log), 101);
	(void)audit_log_free(log);
	expect_eq(waitpid(pid, &status, 0), pid);
	expect_eq(status, 0);
	(void)close(ready[0]);
	(void)close(ready[1]);
}

static void refuses_a_directory_that_others_can_write(void)
{
	_cleanup_log_place_ struct log_place place;
	struct sbx_error err = { 0 };
	struct audit_log *log = NULL;

	log_place_init(&place);
	(void)audit_log_free(log_made(&place));
	expect_eq(chmod(place.log, 0770), 0);
	expect_eq(audit_log_open(&place.options, &log, &err), -EPERM);
	expect(log == NULL);
	expect_eq(chmod(place.log, 0700), 0);
}

static void reports_a_directory_without_a_log(void)
{
	_cleanup_log_place_ struct log_place place;
	struct sbx_error err = { 0 };
	struct audit_log *log = NULL;

	log_place_init(&place);
	expect_eq(audit_log_open(&place.options, &log, &err), -ENOENT);
	expect(strstr(err.fix, "sbx-audit setup") != NULL);
	expect_eq(mkdir(place.log, 0700), 0);
	expect_eq(audit_log_open(&place.options, &log, &err), -ENOENT);
	expect(strstr(err.fix, "sbx-audit setup") != NULL);
	expect(log == NULL);
}

/* ---- keys ---- */

static void an_epoch_ends_with_the_next_key_signed(void)
{
	_cleanup_log_place_ struct log_place place;
	_cleanup_text_ struct text before = TEXT_INIT, after = TEXT_INIT;
	struct audit_log *log;

	log_place_init(&place);
	log = log_made(&place);
	audit_log_add_verifier(log, &before);
	for (int i = 0; i < 3; i++) {
		add_and_commit(log, 2);
		expect_eq(audit_log_change_key(log, NULL), 0);
	}
	audit_log_add_verifier(log, &after);
	expect(strcmp(text_string(&before), text_string(&after)) != 0);
	(void)audit_log_free(log);
	log = log_opened(&place);
	add_and_commit(log, 2);
	expect_eq(audit_log_checkpoint(log, NULL), 0);
	(void)audit_log_free(log);
	expect_eq(verify_log(&place, NULL, NULL), 12);
}

struct bytes {
	char *data;
	size_t n;
};

static struct bytes read_key(const struct log_place *place)
{
	struct bytes bytes = { .data = NULL };
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/" KEY_NAME, place->log);
	expect_eq(file_read(AT_FDCWD, path, 4096, &bytes.data, &bytes.n, NULL), 0);
	return bytes;
}

static void write_key(const struct log_place *place, const char *name, const struct bytes *bytes)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/%s", place->log, name);
	expect_eq(file_replace(AT_FDCWD, path, bytes->data, bytes->n, 0600, NULL), 0);
}

static void a_change_of_keys_that_was_cut_short_is_completed(void)
{
	_cleanup_log_place_ struct log_place place;
	struct bytes before, after, now;
	struct audit_log *log;
	uint64_t seq;

	log_place_init(&place);
	log = log_made(&place);
	before = read_key(&place);
	expect_eq(audit_log_change_key(log, NULL), 0);
	(void)audit_log_free(log);
	after = read_key(&place);
	/* The state before the old key was erased. */
	write_key(&place, KEY_NAME, &before);
	write_key(&place, KEY_NEXT_NAME, &after);
	log = log_opened(&place);
	expect(!audit_log_is_broken(log, &seq));
	add_and_commit(log, 1);
	expect_eq(audit_log_checkpoint(log, NULL), 0);
	(void)audit_log_free(log);
	now = read_key(&place);
	expect(now.n == after.n && memcmp(now.data, after.data, now.n) == 0);
	expect_eq(verify_log(&place, NULL, NULL), 3);
	free(before.data);
	free(after.data);
	free(now.data);
}

/* A key with a second name cannot be erased. */
static void signs_nothing_until_the_next_key_is_in_place(void)
{
	_cleanup_log_place_ struct log_place place;
	struct sbx_error err = { .code = 0 };
	struct audit_log *log;
	char path[64], other[64];

	log_place_init(&place);
	(void)snprintf(path, sizeof(path), "%s/" KEY_NAME, place.log);
	(void)snprintf(other, sizeof(other), "%s/other", place.log);
	log = log_made(&place);
	expect_eq(link(path, other), 0);
	expect_eq(audit_log_change_key(log, &err), -EPERM);
	expect(strstr(err.what, "cannot advance the key") != NULL);
	add_and_commit(log, 1);
	expect_eq(audit_log_checkpoint(log, NULL), -EPERM);
	expect_eq(audit_log_change_key(log, NULL), -EPERM);
	expect_eq(unlink(other), 0);
	expect_eq(audit_log_checkpoint(log, NULL), 0);
	expect_eq(audit_log_change_key(log, NULL), 0);
	add_and_commit(log, 1);
	expect_eq(audit_log_checkpoint(log, NULL), 0);
	log = audit_log_free(log);
	expect_eq(verify_log(&place, NULL, NULL), 5);
	log = log_opened(&place);
	(void)audit_log_free(log);
}

static void refuses_to_go_on_with_a_key_of_another_epoch(void)
{
	_cleanup_log_place_ struct log_place place;
	struct sbx_error err = { 0 };
	struct audit_log *log;
	struct bytes before;

	log_place_init(&place);
	log = log_made(&place);
	before = read_key(&place);
	expect_eq(audit_log_change_key(log, NULL), 0);
	add_and_commit(log, 1);
	expect_eq(audit_log_checkpoint(log, NULL), 0);
	log = audit_log_free(log);
	write_key(&place, KEY_NAME, &before);
	expect_eq(audit_log_open(&place.options, &log, &err), -EBADMSG);
	expect(strstr(err.why, "different epochs") != NULL);
	free(before.data);
}

/* Puts the key of another log with the same epoch number into this log. */
static void take_key_of_another(const struct log_place *place, bool is_second)
{
	_cleanup_log_place_ struct log_place other;
	struct audit_log *log;
	struct bytes key;

	log_place_init(&other);
	log = log_made(&other);
	if (is_second)
		expect_eq(audit_log_change_key(log, NULL), 0);
	(void)audit_log_free(log);
	key = read_key(&other);
	write_key(place, KEY_NAME, &key);
	free(key.data);
}

static void refuses_to_go_on_with_another_key_of_the_same_epoch(void)
{
	for (int is_second = 0; is_second < 2; is_second++) {
		_cleanup_log_place_ struct log_place place;
		struct sbx_error err = { 0 };
		struct audit_log *log;

		log_place_init(&place);
		log = log_made(&place);
		if (is_second)
			expect_eq(audit_log_change_key(log, NULL), 0);
		add_and_commit(log, 1);
		expect_eq(audit_log_checkpoint(log, NULL), 0);
		log = audit_log_free(log);
		take_key_of_another(&place, is_second);
		expect_eq(audit_log_open(&place.options, &log, &err), -EBADMSG);
		expect(strstr(err.why, "not the key of its last checkpoint") != NULL);
		expect(log == NULL);
	}
}

static void a_change_of_keys_is_not_completed_with_a_strange_key(void)
{
	_cleanup_log_place_ struct log_place place;
	struct sbx_error err = { 0 };
	struct bytes after, now;
	struct audit_log *log;
	char path[64];

	log_place_init(&place);
	log = log_made(&place);
	expect_eq(audit_log_change_key(log, NULL), 0);
	log = audit_log_free(log);
	after = read_key(&place);
	write_key(&place, KEY_NEXT_NAME, &after);
	take_key_of_another(&place, false);
	expect_eq(audit_log_open(&place.options, &log, &err), -EBADMSG);
	(void)snprintf(path, sizeof(path), "%s/" KEY_NEXT_NAME, place.log);
	expect_eq(file_read(AT_FDCWD, path, 4096, &now.data, &now.n, NULL), 0);
	expect(now.n == after.n && memcmp(now.data, after.data, now.n) == 0);
	free(after.data);
	free(now.data);
}

static void a_log_that_has_never_signed_begins_with_the_key_of_its_first_record(void)
{
	static const char half_made[] =
		"DELETE FROM checkpoints;DELETE FROM meta WHERE key='signer';"
		"UPDATE meta SET value=zeroblob(8) WHERE key='frontier'";
	_cleanup_log_place_ struct log_place place;
	struct sbx_error err = { 0 };
	struct audit_log *log;
	struct bytes key;

	log_place_init(&place);
	(void)audit_log_free(log_made(&place));
	execute(&place, half_made);
	key = read_key(&place);
	take_key_of_another(&place, false);
	log = NULL;
	expect_eq(audit_log_open(&place.options, &log, &err), -EBADMSG);
	expect(strstr(err.why, "its first record names") != NULL);
	take_key_of_another(&place, true);
	expect_eq(audit_log_open(&place.options, &log, NULL), -EBADMSG);
	write_key(&place, KEY_NAME, &key);
	log = log_opened(&place);
	expect_eq(audit_log_checkpoint(log, NULL), 0);
	(void)audit_log_free(log);
	expect_eq(verify_log(&place, NULL, NULL), 1);
	free(key.data);
}

/* ---- damage ---- */

static void expect_broken(const char *sql, uint64_t wanted_seq, uint64_t wanted_size)
{
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log;
	uint64_t seq = UINT64_MAX;

	log_place_init(&place);
	log = log_made(&place);
	add_and_commit(log, 9);
	expect_eq(audit_log_checkpoint(log, NULL), 0);
	add_and_commit(log, 10);
	(void)audit_log_free(log);
	expect_eq(verify_log(&place, NULL, NULL), 20);
	execute(&place, sql);
	log = log_opened(&place);
	if (!audit_log_is_broken(log, &seq) || seq != wanted_seq)
		printf("# after %s\n", sql);
	expect_eq(seq, wanted_seq);
	expect_eq(audit_log_size(log), wanted_size);
	/* The log continues after the damage. */
	add_and_commit(log, 1);
	expect_eq(audit_log_checkpoint(log, NULL), 0);
	(void)audit_log_free(log);
	if (!strstr(sql, "FROM checkpoints"))
		expect_eq(verify_log(&place, NULL, NULL), -1);
	/* After reopening, the damage and the later records are found again. */
	log = log_opened(&place);
	expect_eq(audit_log_size(log), wanted_size + 1);
	(void)audit_log_free(log);
}

static void a_broken_end_is_found_and_the_log_goes_on(void)
{
	expect_broken(
		"UPDATE records SET body=CAST(replace(CAST(body AS TEXT),'syscall','syscalk') AS BLOB) WHERE seq=15",
		15, 20);
	expect_broken("UPDATE records SET hash=zeroblob(32) WHERE seq=19", 19, 20);
	expect_broken("DELETE FROM records WHERE seq=15", 15, 20);
	expect_broken("UPDATE records SET hash=zeroblob(32) WHERE seq=9", 9, 20);
	expect_broken("DELETE FROM records WHERE seq BETWEEN 10 AND 13", 10, 20);
}

static void a_number_below_a_checkpoint_is_not_given_again(void)
{
	expect_broken("DELETE FROM records WHERE seq>=7", 7, 10);
	expect_broken("DELETE FROM records", 0, 10);
}

static void a_checkpoint_that_is_missing_or_changed_is_found(void)
{
	expect_broken("DELETE FROM checkpoints WHERE size=10", 1, 20);
	expect_broken("UPDATE checkpoints SET note=replace(note,'epoch 0','epoch 1') WHERE size=10",
		      0, 20);
}

static void a_tree_that_is_not_the_signed_one_is_made_again_from_the_records(void)
{
	static const char *const changes[] = {
		"UPDATE meta SET value=zeroblob(72) WHERE key='frontier'",
		"UPDATE meta SET value=zeroblob(7) WHERE key='frontier'",
		"UPDATE meta SET value=zeroblob(8000) WHERE key='frontier'",
		"UPDATE meta SET value=CAST(x'000000000000000a'||zeroblob(64) AS BLOB) WHERE key='frontier'",
		"DELETE FROM meta WHERE key='frontier'",
	};

	for (size_t i = 0; i < N_ELEMENTS(changes); i++) {
		_cleanup_log_place_ struct log_place place;
		struct audit_log *log;
		uint64_t seq;

		log_place_init(&place);
		log = log_made(&place);
		add_and_commit(log, 9);
		expect_eq(audit_log_checkpoint(log, NULL), 0);
		add_and_commit(log, 10);
		(void)audit_log_free(log);
		execute(&place, changes[i]);
		log = log_opened(&place);
		expect(!audit_log_is_broken(log, &seq));
		add_and_commit(log, 1);
		expect_eq(audit_log_checkpoint(log, NULL), 0);
		(void)audit_log_free(log);
		expect_eq(verify_log(&place, NULL, NULL), 21);
	}
}

static void a_tree_is_not_made_again_from_records_that_were_never_signed(void)
{
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log;
	uint64_t seq = 77;

	log_place_init(&place);
	log = log_made(&place);
	add_and_commit(log, 9);
	expect_eq(audit_log_checkpoint(log, NULL), 0);
	(void)audit_log_free(log);
	execute(&place, "DELETE FROM meta WHERE key='frontier';"
			"UPDATE records SET hash=zeroblob(32) WHERE seq=3");
	log = log_opened(&place);
	expect(audit_log_is_broken(log, &seq));
	expect_eq(seq, 0);
	(void)audit_log_free(log);
}

static void refuses_a_segment_that_does_not_say_what_it_is(void)
{
	static const char *const keys[] = { "log", "first", "previous" };

	for (size_t i = 0; i < N_ELEMENTS(keys); i++) {
		_cleanup_log_place_ struct log_place place;
		struct audit_log *log = NULL;
		struct sbx_error err = { 0 };
		char sql[64];

		log_place_init(&place);
		(void)audit_log_free(log_made(&place));
		(void)snprintf(sql, sizeof(sql), "DELETE FROM meta WHERE key='%s'", keys[i]);
		execute(&place, sql);
		expect_eq(audit_log_open(&place.options, &log, &err), -EBADMSG);
		expect(err.fix[0] != '\0');
	}
}

static const struct test tests[] = {
	TEST(a_new_log_begins_with_a_signed_record_of_itself),
	TEST(a_log_is_not_made_twice),
	TEST(a_log_that_was_half_made_is_completed),
	TEST(what_is_committed_is_found_again),
	TEST(many_records_are_signed_on_the_way),
	TEST(uncommitted_records_are_lost_at_close),
	TEST(a_refused_line_leaves_the_others_alone),
	TEST(a_receipt_says_whether_the_event_needs_a_sync),
	TEST(the_log_says_what_only_it_can_say),
	TEST(an_original_is_kept_only_where_that_was_asked_for),
	TEST(one_process_at_a_time_writes),
	TEST(a_second_process_waits_as_long_as_it_was_told),
	TEST(refuses_a_directory_that_others_can_write),
	TEST(reports_a_directory_without_a_log),
	TEST(an_epoch_ends_with_the_next_key_signed),
	TEST(a_change_of_keys_that_was_cut_short_is_completed),
	TEST(signs_nothing_until_the_next_key_is_in_place),
	TEST(refuses_to_go_on_with_a_key_of_another_epoch),
	TEST(refuses_to_go_on_with_another_key_of_the_same_epoch),
	TEST(a_change_of_keys_is_not_completed_with_a_strange_key),
	TEST(a_log_that_has_never_signed_begins_with_the_key_of_its_first_record),
	TEST(a_broken_end_is_found_and_the_log_goes_on),
	TEST(a_number_below_a_checkpoint_is_not_given_again),
	TEST(a_checkpoint_that_is_missing_or_changed_is_found),
	TEST(a_tree_is_not_made_again_from_records_that_were_never_signed),
	TEST(a_tree_that_is_not_the_signed_one_is_made_again_from_the_records),
	TEST(refuses_a_segment_that_does_not_say_what_it_is),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
