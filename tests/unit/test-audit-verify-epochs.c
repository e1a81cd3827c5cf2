/* SPDX-License-Identifier: MIT */

/* The file of epochs: while the log still has all key changes, and after it has lost some */

#include "audit-archive-rig.h"
#include "audit/log-internal.h"

#define N_KEYS 3

struct epochs {
	struct open_log own;
	uint64_t sizes[N_KEYS + 1]; /* the size of the log at the begin of each epoch */
};

static void epochs_deinit(struct epochs *epochs)
{
	open_log_deinit(&epochs->own);
}
#define _cleanup_epochs_ _cleanup_(epochs_deinit)

/* One segment for each of the first keys, and the open one. */
static void epochs_make(struct epochs *epochs)
{
	open_log_init(&epochs->own, 0);
	epochs->sizes[0] = 0;
	for (unsigned i = 0; i < N_KEYS; i++) {
		add_signed(epochs->own.log, 2);
		expect_eq(audit_log_change_key(epochs->own.log, NULL), 0);
		expect_eq(audit_log_rotate(epochs->own.log, NULL), 1);
		epochs->sizes[i + 1] = audit_log_size(epochs->own.log);
	}
}

static struct verify_report verified_epochs(const struct epochs *epochs,
					    const struct verified_state *since,
					    struct verified_state *ret_state)
{
	const struct verify_options options = { .verifier = epochs->own.key,
						.since = since,
						.now_usec = 1 };

	return verified(&epochs->own.place, options, ret_state);
}

static void take_away(const struct epochs *epochs, const char *name)
{
	int directory = directory_of(&epochs->own.place);

	expect_eq(unlinkat(directory, name, 0), 0);
	(void)close(directory);
}

static char *read_epochs(const struct epochs *epochs, size_t *ret_n)
{
	int directory = directory_of(&epochs->own.place);
	char *bytes = NULL;

	expect_eq(file_read(directory, EPOCHS_NAME, 1 << 20, &bytes, ret_n, NULL), 0);
	(void)close(directory);
	return bytes;
}

static void write_epochs(const struct epochs *epochs, const char *bytes, size_t n)
{
	int directory = directory_of(&epochs->own.place);

	expect_eq(file_replace(directory, EPOCHS_NAME, bytes, n, 0600, NULL), 0);
	(void)close(directory);
}

/* ---- the file ---- */

static void the_file_of_epochs_is_missed_while_all_archives_are_there(void)
{
	_cleanup_epochs_ struct epochs epochs;
	struct verified_state state = { .origin = "" };
	struct verify_report report;

	epochs_make(&epochs);
	expect_verdict(verified_epochs(&epochs, NULL, &state), VERIFY_INTACT);
	take_away(&epochs, EPOCHS_NAME);
	report = verified_epochs(&epochs, NULL, NULL);
	expect_verdict(report, VERIFY_INCOMPLETE);
	expect(strstr(report.finding.what, EPOCHS_NAME) != NULL);
	/* The same when continuing from a verified state, within a segment or at its end. */
	expect_verdict(verified_epochs(&epochs, &state, NULL), VERIFY_INCOMPLETE);
	add_signed(epochs.own.log, 2);
	(void)verified_epochs(&epochs, &state, &state);
	expect_eq(state.frontier.size, audit_log_size(epochs.own.log));
	expect_verdict(verified_epochs(&epochs, &state, NULL), VERIFY_INCOMPLETE);
}

static void an_epoch_that_is_missing_in_the_file_is_missed(void)
{
	_cleanup_epochs_ struct epochs epochs;
	_cleanup_free_ char *bytes = NULL;
	size_t n, ends[N_KEYS + 1] = { 0 };

	epochs_make(&epochs);
	bytes = read_epochs(&epochs, &n);
	for (size_t i = 0; i < N_KEYS; i++)
		ends[i + 1] = ends[i] + notes_next(bytes + ends[i], n - ends[i], true);
	expect_eq(ends[N_KEYS], n);
	for (size_t i = 0; i < N_KEYS; i++) {
		_cleanup_text_ struct text left = TEXT_INIT;

		text_add_bytes(&left, bytes, ends[i]);
		text_add_bytes(&left, bytes + ends[i + 1], n - ends[i + 1]);
		write_epochs(&epochs, left.data, left.len);
		expect_verdict(verified_epochs(&epochs, NULL, NULL), VERIFY_INCOMPLETE);
	}
	write_epochs(&epochs, bytes, n);
	expect_verdict(verified_epochs(&epochs, NULL, NULL), VERIFY_INTACT);
}

static void a_bit_of_the_file_is_tampering_while_all_archives_are_there(void)
{
	_cleanup_epochs_ struct epochs epochs;
	_cleanup_free_ char *bytes = NULL;
	size_t n;

	epochs_make(&epochs);
	bytes = read_epochs(&epochs, &n);
	for (size_t i = 0; i < n; i += test_is_slow() ? 1 : 23) {
		struct verify_report report;

		bytes[i] ^= 1;
		write_epochs(&epochs, bytes, n);
		report = verified_epochs(&epochs, NULL, NULL);
		expect(report.verdict == VERIFY_TAMPERED || report.verdict == VERIFY_INCOMPLETE);
		bytes[i] ^= 1;
	}
	write_epochs(&epochs, bytes, n - 1);
	expect_verdict(verified_epochs(&epochs, NULL, NULL), VERIFY_TAMPERED);
}

static void the_file_of_another_log_is_tampering(void)
{
	_cleanup_epochs_ struct epochs epochs, other;
	_cleanup_free_ char *bytes = NULL;
	size_t n;

	epochs_make(&epochs);
	epochs_make(&other);
	bytes = read_epochs(&other, &n);
	write_epochs(&epochs, bytes, n);
	expect_verdict(verified_epochs(&epochs, NULL, NULL), VERIFY_TAMPERED);
}

/* ---- keys that only the file has ---- */

static void a_key_that_the_log_does_not_know_tells_of_an_end_that_is_gone(void)
{
	for (unsigned n_left = 1; n_left < N_KEYS; n_left++) {
		_cleanup_epochs_ struct epochs epochs;
		struct verify_report report;

		epochs_make(&epochs);
		epochs.own.log = audit_log_free(epochs.own.log);
		for (unsigned i = n_left; i <= N_KEYS; i++) {
			char name[SEGMENT_NAME_SIZE];

			log_segment_name(epochs.sizes[i], name);
			take_away(&epochs, name);
		}
		report = verified_epochs(&epochs, NULL, NULL);
		expect_verdict(report, VERIFY_INCOMPLETE);
		expect(report.has_bad);
		expect_eq(report.first_bad, epochs.sizes[n_left]);
		expect_eq(report.last_bad, epochs.sizes[n_left + 1] - 1);
		expect(strstr(report.finding.what, "are missing at the end") != NULL);
		expect(strstr(report.finding.why, EPOCHS_NAME) != NULL);
	}
}

/* ---- retention ---- */

static unsigned delete_all(struct epochs *epochs)
{
	static const struct retain_options options = {
		.policy = { .archive_usec = 1, .max_bytes = UINT64_MAX },
		.now_usec = UINT64_MAX,
		.trusts_clock = true,
	};
	struct retain_report report = { .n_deleted = 0 };

	expect_eq(audit_log_retain(epochs->own.log, &options, &report, NULL), 0);
	return report.n_problems;
}

static void keys_that_only_an_archive_knows_are_kept_when_it_is_deleted(void)
{
	_cleanup_epochs_ struct epochs epochs;

	epochs_make(&epochs);
	archive_all(epochs.own.log);
	take_away(&epochs, EPOCHS_NAME);
	expect_eq(delete_all(&epochs), 0);
	expect(!has_file(&epochs.own.place, FIRST_ARCHIVE));
	add_signed(epochs.own.log, 2);
	expect_verdict(verified_epochs(&epochs, NULL, NULL), VERIFY_INTACT);
}

static void an_archive_is_not_deleted_while_the_file_has_other_keys(void)
{
	_cleanup_epochs_ struct epochs epochs, other;
	_cleanup_free_ char *bytes = NULL, *right = NULL;
	size_t n, n_right;

	epochs_make(&epochs);
	epochs_make(&other);
	archive_all(epochs.own.log);
	right = read_epochs(&epochs, &n_right);
	bytes = read_epochs(&other, &n);
	write_epochs(&epochs, bytes, n);
	expect(delete_all(&epochs) > 0);
	expect(has_file(&epochs.own.place, FIRST_ARCHIVE));
	write_epochs(&epochs, "nonsense", 8);
	expect(delete_all(&epochs) > 0);
	expect(has_file(&epochs.own.place, FIRST_ARCHIVE));
	write_epochs(&epochs, right, n_right);
	expect_verdict(verified_epochs(&epochs, NULL, NULL), VERIFY_INTACT);
	expect_eq(delete_all(&epochs), 0);
	expect_verdict(verified_epochs(&epochs, NULL, NULL), VERIFY_INTACT);
}

static const struct test tests[] = {
	TEST(the_file_of_epochs_is_missed_while_all_archives_are_there),
	TEST(an_epoch_that_is_missing_in_the_file_is_missed),
	TEST(a_bit_of_the_file_is_tampering_while_all_archives_are_there),
	TEST(the_file_of_another_log_is_tampering),
	TEST(a_key_that_the_log_does_not_know_tells_of_an_end_that_is_gone),
	TEST(keys_that_only_an_archive_knows_are_kept_when_it_is_deleted),
	TEST(an_archive_is_not_deleted_while_the_file_has_other_keys),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
