/* SPDX-License-Identifier: MIT */

/* Changes to the rows of a log with an editor, and the verdict for each */

#include "audit-verify-rig.h"

/* ---- flipped bits ---- */

/* Flips one bit of every byte of the value; all bits with TEST_SLOW. */
static void flip_bits(const struct copy *copy, const char *select, const char *update, bool is_text,
		      enum verify_verdict want)
{
	unsigned n_bits = test_is_slow() ? 8 : 1;
	uint8_t bytes[4096];
	size_t n = read_bytes(&copy->place, select, bytes, sizeof(bytes));

	expect(n > 0);
	for (size_t i = 0; i < n; i++)
		for (unsigned bit = 0; bit < n_bits; bit++) {
			uint8_t mask = (uint8_t)(1 << (i + bit) % 8);

			bytes[i] ^= mask;
			write_bytes(&copy->place, update, is_text, bytes, n);
			expect_verdict(verified_alone(&copy->place), want);
			bytes[i] ^= mask;
		}
	write_bytes(&copy->place, update, is_text, bytes, n);
	expect_verdict(verified_alone(&copy->place), VERIFY_INTACT);
}

static void a_bit_of_the_bytes_of_a_record_is_found(void)
{
	_cleanup_copy_ struct copy copy;

	copy_make(&copy);
	flip_bits(&copy, "SELECT body FROM records WHERE seq=5",
		  "UPDATE records SET body=?1 WHERE seq=5", false, VERIFY_TAMPERED);
}

static void a_bit_of_the_hash_of_a_record_is_found(void)
{
	_cleanup_copy_ struct copy copy;

	copy_make(&copy);
	flip_bits(&copy, "SELECT hash FROM records WHERE seq=5",
		  "UPDATE records SET hash=?1 WHERE seq=5", false, VERIFY_TAMPERED);
}

/* The number of a record is its index in the log. */
static void a_bit_of_the_number_of_a_record_is_found(void)
{
	_cleanup_copy_ struct copy copy;

	copy_make(&copy);
	for (unsigned bit = 0; bit < 63; bit++) {
		char sql[96];

		(void)snprintf(sql, sizeof(sql),
			       "UPDATE OR REPLACE records SET seq=(seq|(1<<%u))-(seq&(1<<%u)) "
			       "WHERE seq=5",
			       bit, bit);
		execute(&copy.place, sql);
		expect_verdict(verified_alone(&copy.place), VERIFY_TAMPERED);
		copy_back(&copy);
	}
	expect_verdict(verified_alone(&copy.place), VERIFY_INTACT);
}

static void a_record_that_was_emptied_or_filled_is_found(void)
{
	static const char *const changes[] = {
		"UPDATE records SET hash=x'' WHERE seq=5",
		"UPDATE records SET hash=CAST(hash||x'00' AS BLOB) WHERE seq=5",
		"UPDATE records SET body=x'' WHERE seq=5",
		"UPDATE records SET body=CAST(body||x'20' AS BLOB) WHERE seq=5",
		"UPDATE records SET hash=body,body=hash WHERE seq=5",
		"UPDATE records SET body=zeroblob(length(body)) WHERE seq=5",
	};
	_cleanup_copy_ struct copy copy;

	copy_make(&copy);
	for (size_t i = 0; i < N_ELEMENTS(changes); i++) {
		execute(&copy.place, changes[i]);
		expect_found(verified_alone(&copy.place), VERIFY_TAMPERED, 5);
		copy_back(&copy);
	}
}

static void a_bit_of_any_checkpoint_is_found(void)
{
	_cleanup_copy_ struct copy copy;

	copy_make(&copy);
	flip_bits(&copy, "SELECT note FROM checkpoints WHERE size=11",
		  "UPDATE checkpoints SET note=?1 WHERE size=11", true, VERIFY_TAMPERED);
}

static void a_checkpoint_of_another_size_is_found(void)
{
	_cleanup_copy_ struct copy copy;

	copy_make(&copy);
	for (unsigned size = 0; size < 30; size++) {
		char sql[96];

		if (size == 11)
			continue;
		(void)snprintf(sql, sizeof(sql),
			       "UPDATE OR REPLACE checkpoints SET size=%u WHERE size=11", size);
		execute(&copy.place, sql);
		expect_verdict(verified_alone(&copy.place), VERIFY_TAMPERED);
		copy_back(&copy);
	}
}

/* At record 18 the verifier has the tree of 18 records; at 25 it has no tree. Both times the text
 * of the note is right, and only the row is not. */
static void the_last_checkpoint_in_the_row_of_another_size_is_found(void)
{
	static const unsigned sizes[] = { 18, 25 };
	_cleanup_copy_ struct copy copy;

	copy_make(&copy);
	for (size_t i = 0; i < N_ELEMENTS(sizes); i++) {
		struct verify_report report;
		char sql[96];

		(void)snprintf(sql, sizeof(sql), "UPDATE checkpoints SET size=%u WHERE size=20",
			       sizes[i]);
		execute(&copy.place, sql);
		report = verified_alone(&copy.place);
		expect_verdict(report, VERIFY_TAMPERED);
		expect_str(report.finding.why, "it is for another size");
		copy_back(&copy);
	}
}

static void what_the_segment_says_of_itself_cannot_be_changed(void)
{
	static const char *const keys[] = { "log",	  "first",    "previous",
					    "frontier.0", "frontier", "signer" };
	_cleanup_copy_ struct copy copy;

	copy_make(&copy);
	for (size_t i = 0; i < N_ELEMENTS(keys); i++) {
		uint8_t bytes[512];
		char select[64], update[64];
		size_t n;

		(void)snprintf(select, sizeof(select), "SELECT value FROM meta WHERE key='%s'",
			       keys[i]);
		(void)snprintf(update, sizeof(update), "UPDATE meta SET value=?1 WHERE key='%s'",
			       keys[i]);
		n = read_bytes(&copy.place, select, bytes, sizeof(bytes));
		for (size_t at = 0; at < n; at++) {
			struct verify_report report;

			bytes[at] ^= (uint8_t)(1 << at % 8);
			write_bytes(&copy.place, update, false, bytes, n);
			report = verified_alone(&copy.place);
			expect(report.verdict == VERIFY_TAMPERED ||
			       (strcmp(keys[i], "frontier") == 0 &&
				report.verdict == VERIFY_INCOMPLETE));
			bytes[at] ^= (uint8_t)(1 << at % 8);
		}
		copy_back(&copy);
		(void)snprintf(update, sizeof(update), "DELETE FROM meta WHERE key='%s'", keys[i]);
		execute(&copy.place, update);
		expect_verdict(verified_alone(&copy.place), VERIFY_TAMPERED);
		copy_back(&copy);
	}
	expect_verdict(verified_alone(&copy.place), VERIFY_INTACT);
}

/* Flips random bits of the file: the verifier must not read a changed record as intact. */
static void a_bit_of_the_file_is_found_or_changes_nothing(void)
{
	_cleanup_copy_ struct copy copy;
	unsigned n = test_is_slow() ? 20000 : 300, n_found = 0;
	uint32_t seed = 7;
	int fd;

	copy_make(&copy);
	fd = segment_file_open(&copy.place, O_RDWR);
	for (unsigned i = 0; i < n; i++) {
		struct verify_report report;
		size_t at;
		char byte;

		seed = seed * 1664525 + 1013904223;
		at = (seed >> 4) % copy.n_bytes;
		byte = (char)(copy.bytes[at] ^ 1 << (seed >> 29));
		remove_beside(&copy.place);
		expect_eq(pwrite(fd, &byte, 1, (off_t)at), 1);
		report = verified_alone(&copy.place);
		n_found += report.verdict != VERIFY_INTACT;
		/* If the verdict is intact, all records were read. */
		if (report.verdict == VERIFY_INTACT)
			expect_eq(report.size, N_FIRST);
		expect_eq(pwrite(fd, &copy.bytes[at], 1, (off_t)at), 1);
	}
	(void)close(fd);
	expect(n_found > n / 20);
}

/* ---- rows ---- */

static void a_record_that_was_deleted_is_missed(void)
{
	_cleanup_copy_ struct copy copy;

	copy_make(&copy);
	for (unsigned seq = 0; seq < N_FIRST; seq++) {
		char sql[64];

		(void)snprintf(sql, sizeof(sql), "DELETE FROM records WHERE seq=%u", seq);
		execute(&copy.place, sql);
		expect_found(verified_alone(&copy.place),
			     seq == N_FIRST - 1 ? VERIFY_INCOMPLETE : VERIFY_TAMPERED, seq);
		copy_back(&copy);
	}
	execute(&copy.place, "DELETE FROM records");
	expect_found(verified_alone(&copy.place), VERIFY_INCOMPLETE, 0);
}

static void records_that_were_closed_up_are_found(void)
{
	_cleanup_copy_ struct copy copy;

	copy_make(&copy);
	execute(&copy.place, "DELETE FROM records WHERE seq=8;"
			     "UPDATE records SET seq=seq-1 WHERE seq>8");
	expect_found(verified_alone(&copy.place), VERIFY_TAMPERED, 8);
	chain_again(&copy.place, 8);
	expect_found(verified_alone(&copy.place), VERIFY_TAMPERED, 6);
}

static void a_record_that_was_inserted_is_found(void)
{
	static const struct {
		const char *sql;
		uint64_t first;
	} insertions[] = {
		{ "UPDATE records SET seq=-seq-1 WHERE seq>8;"
		  "UPDATE records SET seq=-seq WHERE seq<0;"
		  "INSERT INTO records SELECT 9,hash,body FROM records WHERE seq=8",
		  9 },
		{ "INSERT INTO records SELECT 20,hash,body FROM records WHERE seq=8", 20 },
		{ "INSERT INTO records SELECT 1000,hash,body FROM records WHERE seq=8", 20 },
	};
	_cleanup_copy_ struct copy copy;

	copy_make(&copy);
	for (size_t i = 0; i < N_ELEMENTS(insertions); i++) {
		execute(&copy.place, insertions[i].sql);
		expect_found(verified_alone(&copy.place), VERIFY_TAMPERED, insertions[i].first);
		copy_back(&copy);
	}
	/* Before record 0, where readers of the log do not look. */
	execute(&copy.place, "INSERT INTO records SELECT -1,hash,body FROM records WHERE seq=8");
	expect_verdict(verified_alone(&copy.place), VERIFY_UNREADABLE);
}

static void records_that_changed_places_are_found(void)
{
	_cleanup_copy_ struct copy copy;

	copy_make(&copy);
	for (unsigned seq = 1; seq < N_FIRST - 1; seq++) {
		char sql[200];

		(void)snprintf(sql, sizeof(sql),
			       "UPDATE records SET seq=-1 WHERE seq=%u;"
			       "UPDATE records SET seq=%u WHERE seq=%u;"
			       "UPDATE records SET seq=%u WHERE seq=-1",
			       seq, seq, seq + 1, seq + 1);
		execute(&copy.place, sql);
		expect_found(verified_alone(&copy.place), VERIFY_TAMPERED, seq);
		chain_again(&copy.place, seq);
		expect_verdict(verified_alone(&copy.place), VERIFY_TAMPERED);
		copy_back(&copy);
	}
}

static void a_record_that_is_there_twice_is_found(void)
{
	_cleanup_copy_ struct copy copy;

	copy_make(&copy);
	execute(&copy.place,
		"INSERT OR REPLACE INTO records SELECT 9,hash,body FROM records WHERE seq=8");
	expect_found(verified_alone(&copy.place), VERIFY_TAMPERED, 9);
	chain_again(&copy.place, 9);
	expect_found(verified_alone(&copy.place), VERIFY_TAMPERED, 6);
}

/* Computing a hash needs no secret: an attacker who can write the file can append. */
static void bytes_that_are_no_record_are_found_behind_the_last_checkpoint(void)
{
	_cleanup_copy_ struct copy copy;
	uint64_t broken = 0;
	struct audit_log *log;

	copy_make(&copy);
	execute(&copy.place,
		"INSERT INTO records VALUES(20,zeroblob(32),CAST('{\"version\":1,\"time\":"
		"\"2026-01-02T03:04:06.000000Z\" and nothing else' AS BLOB))");
	chain_again(&copy.place, 20);
	expect_found(verified_alone(&copy.place), VERIFY_TAMPERED, 20);
	log = log_opened(&copy.place);
	expect(audit_log_is_broken(log, &broken));
	expect_eq(broken, 20);
	(void)audit_log_free(log);
}

/* ---- unreadable files ---- */

static void a_file_that_is_no_segment_is_unreadable(void)
{
	static const char *const changes[] = {
		"CREATE TRIGGER t AFTER INSERT ON records BEGIN SELECT 1; END",
		"CREATE VIEW v AS SELECT 1",
		"DROP TABLE checkpoints",
		"PRAGMA user_version=99",
		"PRAGMA application_id=1",
	};
	_cleanup_copy_ struct copy copy;
	int fd;

	copy_make(&copy);
	for (size_t i = 0; i < N_ELEMENTS(changes); i++) {
		execute(&copy.place, changes[i]);
		expect_verdict(verified_alone(&copy.place), VERIFY_UNREADABLE);
		copy_back(&copy);
	}
	fd = segment_file_open(&copy.place, O_WRONLY | O_TRUNC);
	(void)close(fd);
	remove_beside(&copy.place);
	expect_verdict(verified_alone(&copy.place), VERIFY_UNREADABLE);
	remove_below(copy.place.log);
	expect_eq(mkdir(copy.place.log, 0700), 0);
	expect_verdict(verified_alone(&copy.place), VERIFY_UNREADABLE);
}

static const struct test tests[] = {
	TEST(a_bit_of_the_bytes_of_a_record_is_found),
	TEST(a_bit_of_the_hash_of_a_record_is_found),
	TEST(a_bit_of_the_number_of_a_record_is_found),
	TEST(a_record_that_was_emptied_or_filled_is_found),
	TEST(a_bit_of_any_checkpoint_is_found),
	TEST(a_checkpoint_of_another_size_is_found),
	TEST(the_last_checkpoint_in_the_row_of_another_size_is_found),
	TEST(what_the_segment_says_of_itself_cannot_be_changed),
	TEST(a_bit_of_the_file_is_found_or_changes_nothing),
	TEST(a_record_that_was_deleted_is_missed),
	TEST(records_that_were_closed_up_are_found),
	TEST(a_record_that_was_inserted_is_found),
	TEST(records_that_changed_places_are_found),
	TEST(a_record_that_is_there_twice_is_found),
	TEST(bytes_that_are_no_record_are_found_behind_the_last_checkpoint),
	TEST(a_file_that_is_no_segment_is_unreadable),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
