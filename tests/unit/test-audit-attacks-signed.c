/* SPDX-License-Identifier: MIT */

/* Attacks by somebody who can recompute hashes and knows the format of checkpoints and keys */

#include "audit-verify-rig.h"
#include "audit/key.h"

#define HASH_SIZE 32

/* ---- the end of the log ---- */

static void an_end_that_was_written_again_does_not_have_the_signed_root(void)
{
	_cleanup_copy_ struct copy copy;
	struct verify_report report;

	copy_make(&copy);
	execute(&copy.place, "UPDATE records SET "
			     "body=CAST(replace(body,'allow','deny') AS BLOB) WHERE seq=17");
	expect_found(verified_alone(&copy.place), VERIFY_TAMPERED, 17);
	chain_again(&copy.place, 17);
	report = verified_alone(&copy.place);
	expect_found(report, VERIFY_TAMPERED, 16);
	expect_eq(report.last_bad, 19);
	expect_eq(report.good_size, 16);
}

/* Without the last checkpoint the changed records could be unsigned new ones; a witness of that
 * checkpoint detects the change. */
static void an_end_without_its_checkpoint_is_not_what_was_witnessed(void)
{
	_cleanup_witness_ struct witness witness = WITNESS_INIT;
	_cleanup_copy_ struct copy copy;
	struct verify_report report;

	copy_make(&copy);
	witness_of(&copy.place, &witness);
	execute(&copy.place, "UPDATE records SET "
			     "body=CAST(replace(body,'.678901Z','.678902Z') AS BLOB) WHERE seq=17;"
			     "DELETE FROM checkpoints WHERE size=20");
	chain_again(&copy.place, 17);
	expect_verdict(verified_alone(&copy.place), VERIFY_INCOMPLETE);
	report = verified(&copy.place, (struct verify_options){ .witness = &witness }, NULL);
	expect_found(report, VERIFY_TAMPERED, 16);
	expect(strstr(report.finding.why, "the witness") != NULL);
}

/* Recomputes the frontier in the table meta from the first @size records. */
static void put_frontier(const struct log_place *place, uint8_t size)
{
	struct merkle_frontier frontier = { .size = 0 };
	struct audit_hash peaks[MERKLE_PATH_MAX], hash;
	uint8_t bytes[8 + sizeof(peaks)] = { [7] = size };
	size_t n_peaks;

	for (unsigned seq = 0; seq < size; seq++) {
		char select[64];

		(void)snprintf(select, sizeof(select), "SELECT hash FROM records WHERE seq=%u",
			       seq);
		expect_eq(read_bytes(place, select, hash.bytes, HASH_SIZE), HASH_SIZE);
		expect_eq(merkle_add(&frontier, &hash), 0);
	}
	n_peaks = merkle_save(&frontier, peaks);
	memcpy(bytes + 8, peaks, n_peaks * HASH_SIZE);
	write_bytes(place, "UPDATE meta SET value=?1 WHERE key='frontier'", false, bytes,
		    8 + n_peaks * HASH_SIZE);
}

static void cut_at_checkpoint(const struct copy *copy)
{
	execute(&copy->place, "DELETE FROM records WHERE seq>=16;"
			      "DELETE FROM checkpoints WHERE size>16");
	put_frontier(&copy->place, 16);
}

static void a_witness_detects_a_cut_off_end(void)
{
	_cleanup_witness_ struct witness witness = WITNESS_INIT;
	_cleanup_copy_ struct copy copy;
	struct verify_report report;

	copy_make(&copy);
	witness_of(&copy.place, &witness);
	cut_at_checkpoint(&copy);
	/* Without a witness a log that was cut at a checkpoint looks complete. */
	expect_verdict(verified_alone(&copy.place), VERIFY_INTACT);
	report = verified(&copy.place, (struct verify_options){ .witness = &witness }, NULL);
	expect_found(report, VERIFY_INCOMPLETE, 16);
	expect_eq(report.last_bad, 19);
	expect_eq(report.good_size, 16);
}

static void an_end_that_was_cut_off_carelessly_is_missed(void)
{
	static const char *const cuts[] = {
		"DELETE FROM records WHERE seq>=16",
		"DELETE FROM records WHERE seq>=18",
		"DELETE FROM records WHERE seq>=16;DELETE FROM checkpoints WHERE size>16",
		"DELETE FROM records WHERE seq>=18;DELETE FROM checkpoints WHERE size>16",
	};
	_cleanup_copy_ struct copy copy;

	copy_make(&copy);
	for (size_t i = 0; i < N_ELEMENTS(cuts); i++) {
		execute(&copy.place, cuts[i]);
		expect_found(verified_alone(&copy.place), VERIFY_INCOMPLETE, i % 2 ? 18 : 16);
		copy_back(&copy);
	}
}

static void an_end_that_is_not_signed_grows_old(void)
{
	_cleanup_copy_ struct copy copy;
	struct verify_options options = { .now_usec = 0 };

	copy_make(&copy);
	execute(&copy.place, "DELETE FROM records WHERE seq>=18;"
			     "DELETE FROM checkpoints WHERE size>16");
	put_frontier(&copy.place, 16);
	expect_verdict(verified(&copy.place, options, NULL), VERIFY_INTACT);
	options.now_usec = now_usec() + 60000000;
	expect_verdict(verified(&copy.place, options, NULL), VERIFY_INCOMPLETE);
}

/* ---- checkpoints ---- */

static void a_checkpoint_that_was_dropped_is_missed(void)
{
	_cleanup_copy_ struct copy copy;

	copy_make(&copy);
	for (unsigned size = 1; size < N_FIRST; size += 5) {
		struct verify_report report;
		char sql[64];

		(void)snprintf(sql, sizeof(sql), "DELETE FROM checkpoints WHERE size=%u", size);
		execute(&copy.place, sql);
		report = verified_alone(&copy.place);
		expect_verdict(report, VERIFY_INCOMPLETE);
		expect(strstr(report.finding.what, "is missing") != NULL);
		/* All records are intact. */
		expect_eq(report.good_size, N_FIRST);
		copy_back(&copy);
	}
	execute(&copy.place, "DELETE FROM checkpoints WHERE size=20");
	expect_verdict(verified_alone(&copy.place), VERIFY_INCOMPLETE);
	execute(&copy.place, "DELETE FROM checkpoints");
	expect_verdict(verified_alone(&copy.place), VERIFY_INCOMPLETE);
}

/* A tampered record is reported before a missing checkpoint, even if it comes later. */
static void a_change_is_told_before_a_missing_checkpoint(void)
{
	_cleanup_copy_ struct copy copy;

	copy_make(&copy);
	execute(&copy.place, "DELETE FROM checkpoints WHERE size=6;"
			     "UPDATE records SET body=CAST(body||' 'AS BLOB) WHERE seq=18");
	expect_found(verified_alone(&copy.place), VERIFY_TAMPERED, 18);
}

static void an_epoch_cannot_be_left_out(void)
{
	_cleanup_log_place_ struct log_place place;
	struct verify_report report;
	struct audit_log *log;

	log_filled(&place);
	log = log_opened(&place);
	expect_eq(audit_log_change_key(log, NULL), 0);
	add_signed(log, 3);
	(void)audit_log_free(log);
	expect_verdict(verified_alone(&place), VERIFY_INTACT);
	execute(&place, "DELETE FROM checkpoints WHERE size=21");
	report = verified_alone(&place);
	expect_verdict(report, VERIFY_TAMPERED);
	expect(strstr(report.finding.why, "later key") != NULL);
	expect_eq(report.good_size, N_FIRST);
}

/* ---- keys ---- */

/* Signs the current log with @key for @epoch, as the checkpoint of size @size. */
static void sign_again(const struct log_place *place, const struct audit_key *key, uint64_t epoch,
		       uint64_t size)
{
	_cleanup_text_ struct text note = TEXT_INIT;
	struct audit_checkpoint checkpoint = { .size = size, .epoch = epoch };
	struct merkle_frontier frontier = { .size = 0 };
	struct note_verifier verifier;
	char bytes[4096], sql[80];
	size_t n;

	(void)snprintf(sql, sizeof(sql), "SELECT note FROM checkpoints WHERE size=%u",
		       (unsigned)size);
	n = read_bytes(place, sql, bytes, sizeof(bytes));
	expect_eq(checkpoint_peek(bytes, n, &checkpoint), 0);
	for (uint64_t seq = 0; seq < size; seq++) {
		(void)snprintf(sql, sizeof(sql), "SELECT hash FROM records WHERE seq=%u",
			       (unsigned)seq);
		(void)read_bytes(place, sql, checkpoint.head.bytes, HASH_SIZE);
		expect_eq(merkle_add(&frontier, &checkpoint.head), 0);
	}
	expect_eq(merkle_root(&frontier, &checkpoint.root), 0);
	checkpoint.epoch = epoch;
	expect_eq(note_verifier_make(checkpoint.origin, key->public_key, &verifier), 0);
	expect_eq(checkpoint_sign(&note, &checkpoint, &verifier, key->private_key, NULL), 0);
	(void)snprintf(sql, sizeof(sql), "UPDATE checkpoints SET note=?1 WHERE size=%u",
		       (unsigned)size);
	write_bytes(place, sql, true, note.data, note.len);
}

/* An attacker who got the key of epoch 1 must not be able to change records of epoch 0. */
static void a_later_key_does_not_seal_an_earlier_epoch(void)
{
	_cleanup_log_place_ struct log_place place;
	_cleanup_audit_key_ struct audit_key key = AUDIT_KEY_INIT;
	struct audit_log *log;
	int directory;

	log_filled(&place);
	log = log_opened(&place);
	expect_eq(audit_log_change_key(log, NULL), 0);
	(void)audit_log_free(log);
	directory = open(place.log, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	expect_eq(key_load(directory, NULL, &key, NULL), 0);
	(void)close(directory);
	expect_eq(key.epoch, 1);
	execute(&place, "UPDATE records SET "
			"body=CAST(replace(body,'.678901Z','.678902Z')AS BLOB) WHERE seq=18");
	chain_again(&place, 18);
	expect_found(verified_alone(&place), VERIFY_TAMPERED, 16);
	for (uint64_t epoch = 0; epoch < 2; epoch++) {
		sign_again(&place, &key, epoch, 20);
		sign_again(&place, &key, epoch, 21);
		expect_found(verified_alone(&place), VERIFY_TAMPERED, 16);
	}
}

/* Counterpart of the test above: with the right epoch's key the same change is accepted. Without it
 * the test above could pass for another reason. */
static void the_key_of_the_epoch_does_seal_it(void)
{
	_cleanup_copy_ struct copy copy;
	_cleanup_audit_key_ struct audit_key key = AUDIT_KEY_INIT;
	int directory;

	copy_make(&copy);
	directory = open(copy.place.log, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	expect_eq(key_load(directory, NULL, &key, NULL), 0);
	(void)close(directory);
	execute(&copy.place, "UPDATE records SET body=CAST(replace(body,'srv','etc')AS BLOB)"
			     " WHERE seq=18");
	chain_again(&copy.place, 18);
	expect_found(verified_alone(&copy.place), VERIFY_TAMPERED, 16);
	sign_again(&copy.place, &key, 0, 20);
	/* The frontier in meta still has the old root. */
	expect_verdict(verified_alone(&copy.place), VERIFY_TAMPERED);
	put_frontier(&copy.place, 20);
	expect_verdict(verified_alone(&copy.place), VERIFY_INTACT);
}

/* With today's key an attacker signs a checkpoint whose root is right and whose head is not. */
static void a_signed_head_that_is_not_the_last_hash_is_found(void)
{
	_cleanup_copy_ struct copy copy;
	_cleanup_audit_key_ struct audit_key key = AUDIT_KEY_INIT;
	_cleanup_text_ struct text note = TEXT_INIT;
	struct audit_checkpoint checkpoint;
	struct note_verifier verifier;
	char bytes[STORE_NOTE_MAX];
	int directory;
	size_t n;

	copy_make(&copy);
	directory = open(copy.place.log, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	expect_eq(key_load(directory, NULL, &key, NULL), 0);
	(void)close(directory);
	n = read_bytes(&copy.place, "SELECT note FROM checkpoints WHERE size=20", bytes,
		       sizeof(bytes));
	expect_eq(checkpoint_peek(bytes, n, &checkpoint), 0);
	checkpoint.head.bytes[0] ^= 1;
	expect_eq(note_verifier_make(checkpoint.origin, key.public_key, &verifier), 0);
	expect_eq(checkpoint_sign(&note, &checkpoint, &verifier, key.private_key, NULL), 0);
	write_bytes(&copy.place, "UPDATE checkpoints SET note=?1 WHERE size=20", true, note.data,
		    note.len);
	expect_found(verified_alone(&copy.place), VERIFY_TAMPERED, 16);
}

/* The record and its hash fit the record before it, and the writer reads no row before that one. */
static void the_writer_notices_that_the_last_signed_record_was_written_again(void)
{
	_cleanup_copy_ struct copy copy;
	uint64_t seq = UINT64_MAX;
	struct audit_log *log;

	copy_make(&copy);
	execute(&copy.place, "UPDATE records SET body=CAST(replace(body,'srv','etc')AS BLOB)"
			     " WHERE seq=19");
	chain_again(&copy.place, 19);
	log = log_opened(&copy.place);
	expect(audit_log_is_broken(log, &seq));
	expect_eq(seq, 19);
	(void)audit_log_free(log);
}

/* ---- other logs ---- */

static void put_in_place(const struct copy *from, const struct log_place *to, const char *name)
{
	char path[96];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", to->log, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	expect_eq(write(fd, from->bytes, from->n_bytes), from->n_bytes);
	(void)close(fd);
}

static void another_log_in_its_place_is_not_this_one(void)
{
	_cleanup_copy_ struct copy copy, other;
	_cleanup_witness_ struct witness witness = WITNESS_INIT;
	_cleanup_text_ struct text key = TEXT_INIT;
	struct verified_state state = { .origin = "" };
	struct verify_options options = { .now_usec = 0 };

	copy_make(&copy);
	copy_make(&other);
	key_of(&copy.place, &key);
	witness_of(&copy.place, &witness);
	expect_verdict(verified(&copy.place, options, &state), VERIFY_INTACT);
	remove_beside(&copy.place);
	put_in_place(&other, &copy.place, SEGMENT);
	/* The log itself is consistent, and does not contain whose log it is. */
	expect_verdict(verified(&copy.place, options, NULL), VERIFY_INTACT);
	options.verifier = text_string(&key);
	expect_verdict(verified(&copy.place, options, NULL), VERIFY_TAMPERED);
	options.verifier = NULL;
	options.witness = &witness;
	expect_verdict(verified(&copy.place, options, NULL), VERIFY_TAMPERED);
	options.witness = NULL;
	options.since = &state;
	expect_verdict(verified(&copy.place, options, NULL), VERIFY_TAMPERED);
	options.is_full = true;
	expect_verdict(verified(&copy.place, options, NULL), VERIFY_TAMPERED);
}

static void rows_of_another_log_are_found(void)
{
	_cleanup_copy_ struct copy copy, other;
	char sql[512];

	copy_make(&copy);
	copy_make(&other);
	(void)snprintf(sql, sizeof(sql),
		       "ATTACH '%s/" SEGMENT "' AS other;"
		       "DELETE FROM records WHERE seq>=11;"
		       "INSERT INTO records SELECT * FROM other.records WHERE seq>=11;"
		       "DELETE FROM checkpoints WHERE size>11;"
		       "INSERT INTO checkpoints SELECT * FROM other.checkpoints WHERE size>11",
		       other.place.log);
	execute(&copy.place, sql);
	expect_found(verified_alone(&copy.place), VERIFY_TAMPERED, 11);
	chain_again(&copy.place, 11);
	expect_found(verified_alone(&copy.place), VERIFY_TAMPERED, 11);
}

static void a_segment_of_another_log_is_found(void)
{
	_cleanup_copy_ struct copy copy, other;

	copy_make(&copy);
	copy_make(&other);
	put_in_place(&other, &copy.place, "00000000000000000020.db");
	expect_verdict(verified_alone(&copy.place), VERIFY_TAMPERED);
	put_in_place(&copy, &copy.place, "00000000000000000020.db");
	expect_verdict(verified_alone(&copy.place), VERIFY_TAMPERED);
}

static const struct test tests[] = {
	TEST(an_end_that_was_written_again_does_not_have_the_signed_root),
	TEST(an_end_without_its_checkpoint_is_not_what_was_witnessed),
	TEST(a_witness_detects_a_cut_off_end),
	TEST(an_end_that_was_cut_off_carelessly_is_missed),
	TEST(an_end_that_is_not_signed_grows_old),
	TEST(a_checkpoint_that_was_dropped_is_missed),
	TEST(a_change_is_told_before_a_missing_checkpoint),
	TEST(an_epoch_cannot_be_left_out),
	TEST(a_later_key_does_not_seal_an_earlier_epoch),
	TEST(the_key_of_the_epoch_does_seal_it),
	TEST(a_signed_head_that_is_not_the_last_hash_is_found),
	TEST(the_writer_notices_that_the_last_signed_record_was_written_again),
	TEST(another_log_in_its_place_is_not_this_one),
	TEST(rows_of_another_log_are_found),
	TEST(a_segment_of_another_log_is_found),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
