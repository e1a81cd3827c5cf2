/* SPDX-License-Identifier: MIT */

/* Logs with archives, with deleted archives, and attacks on either */

#include "audit-archive-rig.h"
#include "audit/log-internal.h"
#include "audit/chain.h"

#define SECOND "00000000000000000011"
#define THIRD "00000000000000000021"
#define ARCHIVE SEGMENT_ARCHIVE_SUFFIX

/* Three archives with 11, 10 and 10 records, and a segment with two. */
static void gap_make(struct open_log *gap)
{
	open_log_init(gap, 3);
	archive_all(gap->log);
	add_signed(gap->log, 2);
}

/* Deletes the @n oldest archives, with their stub records. */
static void delete_oldest(struct open_log *gap, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const struct retain_options options = {
			.policy = { .archive_usec = 1, .max_bytes = UINT64_MAX },
			.now_usec = UINT64_MAX,
			.trusts_clock = true,
		};
		struct retain_report report = { .n_deleted = 0 };

		expect_eq(audit_log_retain(gap->log, &options, &report, NULL), 0);
		expect(report.n_deleted > 0);
	}
}

static struct verify_report verified_gap(const struct open_log *gap, struct verify_options options,
					 struct verified_state *ret_state)
{
	options.now_usec = 1;
	return verified(&gap->place, options, ret_state);
}

static struct verify_report verified_with_key(const struct open_log *gap)
{
	return verified_gap(gap, (struct verify_options){ .verifier = gap->key }, NULL);
}

static void in_directory(const struct open_log *gap, const char *name, char ret[128])
{
	(void)snprintf(ret, 128, "%s/%s", gap->place.log, name);
}

static void take_away(const struct open_log *gap, const char *name)
{
	char path[128];

	in_directory(gap, name, path);
	expect_eq(unlink(path), 0);
}

static char *read_file(const struct open_log *gap, const char *name, size_t *ret_n)
{
	int directory = directory_of(&gap->place);
	char *bytes = NULL;

	expect_eq(file_read(directory, name, 1 << 20, &bytes, ret_n, NULL), 0);
	(void)close(directory);
	return bytes;
}

static void write_file(const struct open_log *gap, const char *name, const void *bytes, size_t n)
{
	char path[128];
	int fd;

	in_directory(gap, name, path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	expect_eq(write(fd, bytes, n), n);
	(void)close(fd);
}

/* ---- archives ---- */

static void archives_are_verified_like_segments(void)
{
	_cleanup_open_log_ struct open_log gap;
	struct verify_report report;

	gap_make(&gap);
	expect(has_file(&gap.place, FIRST_ARCHIVE));
	expect(!has_file(&gap.place, SEGMENT));
	report = verified_with_key(&gap);
	expect_verdict(report, VERIFY_INTACT);
	expect_eq(report.size, 33);
	expect_eq(report.begin, 0);
	expect_eq(report.n_deleted, 0);
}

/* Bytes that the reader ignores may change. A flipped bit can also make the file one of a later
 * format, which is refused as unsupported. */
static bool is_what_a_bit_does(const struct verify_report *report)
{
	return report->verdict == VERIFY_TAMPERED || report->verdict == VERIFY_INTACT ||
	       (report->verdict == VERIFY_UNREADABLE && report->finding.code == -ENOTSUP);
}

static void a_bit_of_an_archive_is_found(void)
{
	_cleanup_open_log_ struct open_log gap;
	unsigned n_found = 0, n_tried = 0;
	_cleanup_free_ char *bytes = NULL;
	size_t n, step;

	gap_make(&gap);
	bytes = read_file(&gap, SECOND ARCHIVE, &n);
	step = test_is_slow() ? 1 : 7;
	for (size_t i = 0; i < n; i += step, n_tried++) {
		struct verify_report report;

		bytes[i] = (char)((unsigned char)bytes[i] ^ 1u << i % 8);
		write_file(&gap, SECOND ARCHIVE, bytes, n);
		report = verified_with_key(&gap);
		expect(is_what_a_bit_does(&report));
		n_found += report.verdict != VERIFY_INTACT;
		bytes[i] = (char)((unsigned char)bytes[i] ^ 1u << i % 8);
	}
	expect(n_found + n_tried / 20 >= n_tried);
	write_file(&gap, SECOND ARCHIVE, bytes, n);
	expect_verdict(verified_with_key(&gap), VERIFY_INTACT);
}

static void an_archive_in_the_place_of_another_is_tampering(void)
{
	_cleanup_open_log_ struct open_log gap, other;
	_cleanup_free_ char *bytes = NULL, *others = NULL;
	size_t n, n_others;

	gap_make(&gap);
	gap_make(&other);
	bytes = read_file(&gap, THIRD ARCHIVE, &n);
	write_file(&gap, SECOND ARCHIVE, bytes, n);
	expect_verdict(verified_with_key(&gap), VERIFY_TAMPERED);
	others = read_file(&other, SECOND ARCHIVE, &n_others);
	write_file(&gap, SECOND ARCHIVE, others, n_others);
	expect_verdict(verified_with_key(&gap), VERIFY_TAMPERED);
}

static void another_archive_behind_an_archive_is_tampering(void)
{
	_cleanup_open_log_ struct open_log gap;
	_cleanup_text_ struct text both = TEXT_INIT;
	_cleanup_free_ char *bytes = NULL, *third = NULL;
	size_t n, n_third;

	gap_make(&gap);
	bytes = read_file(&gap, SECOND ARCHIVE, &n);
	third = read_file(&gap, THIRD ARCHIVE, &n_third);
	text_add_bytes(&both, bytes, n);
	text_add_bytes(&both, third, n_third);
	write_file(&gap, SECOND ARCHIVE, both.data, both.len);
	expect_verdict(verified_with_key(&gap), VERIFY_TAMPERED);
}

/* An attacker who repacks a valid archive with recomputed hashes. */
static void an_archive_that_was_made_again_has_another_root(void)
{
	_cleanup_open_log_ struct open_log gap;
	_cleanup_unpacked_ struct unpacked unpacked;
	struct member members[3] = { { .name = "segment.json" },
				     { .name = "checkpoints" },
				     { .name = "records.jsonl" } };
	struct verify_report report;
	int directory;
	char *n;

	gap_make(&gap);
	directory = directory_of(&gap.place);
	unpack(directory, SECOND ARCHIVE, &unpacked);
	for (size_t i = 0; i < 3; i++) {
		members[i].bytes = text_string(&unpacked.members[i]);
		members[i].n_bytes = unpacked.members[i].len;
	}
	pack(directory, SECOND ARCHIVE, "zstd", members, 3);
	expect_verdict(verified_with_key(&gap), VERIFY_INTACT);
	n = strstr(unpacked.members[2].data, "\"n\":3");
	expect(n != NULL);
	if (n)
		n[4] = '4';
	pack(directory, SECOND ARCHIVE, "zstd", members, 3);
	report = verified_with_key(&gap);
	expect_verdict(report, VERIFY_TAMPERED);
	expect_eq(report.first_bad, 14);
	(void)close(directory);
}

static void a_missing_archive_is_missed(void)
{
	static const struct {
		const char *name;
		uint64_t first, last;
	} cuts[] = {
		{ FIRST_ARCHIVE, 0, 10 },
		{ SECOND ARCHIVE, 11, 20 },
		{ THIRD ARCHIVE, 21, 30 },
	};

	for (size_t i = 0; i < N_ELEMENTS(cuts); i++) {
		_cleanup_open_log_ struct open_log gap;
		struct verify_report report;

		gap_make(&gap);
		take_away(&gap, cuts[i].name);
		report = verified_with_key(&gap);
		expect_verdict(report, VERIFY_INCOMPLETE);
		expect_eq(report.first_bad, cuts[i].first);
		expect_eq(report.last_bad, cuts[i].last);
		/* The verification has read the segments after the gap. */
		expect_eq(report.size, 33);
	}
}

static void behind_what_is_missing_nothing_may_be_changed(void)
{
	_cleanup_open_log_ struct open_log gap;
	_cleanup_free_ char *bytes = NULL;
	size_t n;

	gap_make(&gap);
	take_away(&gap, FIRST_ARCHIVE);
	bytes = read_file(&gap, THIRD ARCHIVE, &n);
	bytes[n / 2] ^= 1;
	write_file(&gap, THIRD ARCHIVE, bytes, n);
	expect_verdict(verified_with_key(&gap), VERIFY_TAMPERED);
}

static void archives_alone_are_no_log(void)
{
	_cleanup_open_log_ struct open_log gap;

	gap_make(&gap);
	gap.log = audit_log_free(gap.log);
	take_away(&gap, "00000000000000000031.db");
	expect_verdict(verified_with_key(&gap), VERIFY_INCOMPLETE);
}

/* ---- deleted archives ---- */

static void deleted_archives_with_a_stub_are_not_missed(void)
{
	_cleanup_open_log_ struct open_log gap;
	struct verified_state state = { .origin = "" };
	struct verify_options options = { .since = &state };
	struct verify_report report;

	gap_make(&gap);
	expect_verdict(verified_gap(&gap, (struct verify_options){ .verifier = gap.key }, &state),
		       VERIFY_INTACT);
	delete_oldest(&gap, 1);
	expect(!has_file(&gap.place, FIRST_ARCHIVE));
	report = verified_with_key(&gap);
	expect_verdict(report, VERIFY_INTACT);
	expect(report.n_deleted >= 11);
	expect_eq(report.begin, report.n_deleted);
	/* Continues from the state before the deletion, and then from the new state. */
	report = verified_gap(&gap, options, &state);
	expect_verdict(report, VERIFY_INTACT);
	expect(state.deleted.size >= 11);
	report = verified_gap(&gap, options, NULL);
	expect_verdict(report, VERIFY_INTACT);
	options.is_full = true;
	expect_verdict(verified_gap(&gap, options, NULL), VERIFY_INTACT);
}

/* The segment after the state is missing: deleted by the log, or by an attacker. */
static void a_state_of_what_was_deleted_is_gone_on_from(void)
{
	for (unsigned is_right = 0; is_right < 2; is_right++) {
		_cleanup_open_log_ struct open_log gap;
		struct verified_state state = { .origin = "" };
		struct verify_options options = { .since = &state };
		struct verify_report report;

		gap.log = log_of_segments(&gap.place, 1);
		key_of(gap.log, gap.key);
		add_signed(gap.log, 3);
		expect_verdict(verified_gap(&gap, (struct verify_options){ .verifier = gap.key },
					    &state),
			       VERIFY_INTACT);
		expect_eq(state.frontier.size, 14);
		expect_eq(audit_log_change_key(gap.log, NULL), 0);
		add_signed(gap.log, 3);
		expect_eq(audit_log_rotate(gap.log, NULL), 1);
		archive_all(gap.log);
		add_signed(gap.log, 2);
		if (is_right)
			delete_oldest(&gap, 1);
		else
			take_away(&gap, SECOND ARCHIVE);
		expect(!has_file(&gap.place, SECOND ARCHIVE));
		report = verified_gap(&gap, options, &state);
		expect_verdict(report, is_right ? VERIFY_INTACT : VERIFY_INCOMPLETE);
		expect_eq(report.epoch, 1);
		if (is_right)
			expect_verdict(verified_gap(&gap, options, NULL), VERIFY_INTACT);
		else
			expect_eq(report.first_bad, 14);
	}
}

static void a_state_remembers_what_was_deleted(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	_cleanup_open_log_ struct open_log gap;
	struct verified_state state = { .origin = "" }, again = { .origin = "" };

	gap_make(&gap);
	delete_oldest(&gap, 1);
	expect_verdict(verified_gap(&gap, (struct verify_options){ .verifier = gap.key }, &state),
		       VERIFY_INTACT);
	expect_eq(verified_state_add_text(&text, &state), 0);
	expect_eq(verified_state_parse(text.data, text.len, &again, NULL), 0);
	expect_eq(again.deleted.size, state.deleted.size);
	expect(audit_hash_equal(&again.deleted.head, &state.deleted.head));
	expect(audit_hash_equal(&again.deleted.root, &state.deleted.root));
}

static void without_record_0_a_key_must_be_given(void)
{
	_cleanup_open_log_ struct open_log gap;
	struct verify_report report;

	gap_make(&gap);
	delete_oldest(&gap, 1);
	report = verified_gap(&gap, (struct verify_options){ .verifier = NULL }, NULL);
	expect_verdict(report, VERIFY_UNREADABLE);
	expect(strstr(report.finding.fix, "--key") != NULL);
}

static void another_key_is_not_that_of_the_log(void)
{
	_cleanup_open_log_ struct open_log gap, other;

	gap_make(&gap);
	gap_make(&other);
	delete_oldest(&gap, 1);
	expect_verdict(verified_gap(&gap, (struct verify_options){ .verifier = other.key }, NULL),
		       VERIFY_TAMPERED);
}

/* ---- epochs ---- */

/* The key changed after the first archive, which was deleted. */
static void make_epochs(struct open_log *gap)
{
	gap->log = log_of_segments(&gap->place, 1);
	key_of(gap->log, gap->key);
	add_signed(gap->log, 3);
	expect_eq(audit_log_change_key(gap->log, NULL), 0);
	expect_eq(audit_log_rotate(gap->log, NULL), 1);
	add_signed(gap->log, 3);
	expect_eq(audit_log_change_key(gap->log, NULL), 0);
	expect_eq(audit_log_rotate(gap->log, NULL), 1);
	archive_all(gap->log);
	add_signed(gap->log, 2);
	expect_verdict(verified_with_key(gap), VERIFY_INTACT);
	delete_oldest(gap, 1);
	add_signed(gap->log, 2);
	expect(!has_file(&gap->place, FIRST_ARCHIVE) && !has_file(&gap->place, SECOND ARCHIVE));
}

static void the_file_of_epochs_leads_to_the_present_key(void)
{
	_cleanup_open_log_ struct open_log gap;
	struct verify_report report;

	make_epochs(&gap);
	report = verified_with_key(&gap);
	expect_verdict(report, VERIFY_INTACT);
	expect_eq(report.epoch, 2);
}

static void without_the_file_of_epochs_the_log_is_incomplete(void)
{
	_cleanup_open_log_ struct open_log gap;

	make_epochs(&gap);
	take_away(&gap, EPOCHS_NAME);
	expect_verdict(verified_with_key(&gap), VERIFY_INCOMPLETE);
}

static void a_bit_of_the_file_of_epochs_is_tampering(void)
{
	_cleanup_open_log_ struct open_log gap;
	_cleanup_free_ char *bytes = NULL;
	size_t n;

	make_epochs(&gap);
	bytes = read_file(&gap, EPOCHS_NAME, &n);
	for (size_t i = 0; i < n; i += test_is_slow() ? 1 : 5) {
		struct verify_report report;

		bytes[i] ^= 1;
		write_file(&gap, EPOCHS_NAME, bytes, n);
		report = verified_with_key(&gap);
		expect(report.verdict == VERIFY_TAMPERED || report.verdict == VERIFY_INCOMPLETE);
		if (report.verdict == VERIFY_UNREADABLE)
			printf("# byte %zu: %s\n", i, report.finding.what);
		bytes[i] ^= 1;
	}
	write_file(&gap, EPOCHS_NAME, bytes, n);
	expect_verdict(verified_with_key(&gap), VERIFY_INTACT);
}

/* ---- stubs: records about deleted archives ---- */

static void deleting_without_a_record_is_missed(void)
{
	_cleanup_open_log_ struct open_log gap;
	struct verify_report report;

	gap_make(&gap);
	take_away(&gap, FIRST_ARCHIVE);
	take_away(&gap, SECOND ARCHIVE);
	report = verified_with_key(&gap);
	expect_verdict(report, VERIFY_INCOMPLETE);
	expect_eq(report.last_bad, 20);
}

/* The correct stub for the first archive. */
static struct audit_stub stub_of_first(const struct open_log *gap)
{
	_cleanup_audit_archive_ struct audit_archive *archive = NULL;
	const struct segment_about *about;
	struct audit_stub stub = { .last = 10, .reason = STUB_AGE };
	int directory = directory_of(&gap->place);

	expect_eq(audit_archive_open(directory, SECOND ARCHIVE, &archive, NULL), 0);
	about = audit_archive_about(archive);
	stub.head = about->previous;
	expect_eq(merkle_root(&about->frontier, &stub.root), 0);
	(void)close(directory);
	return stub;
}

static void say(struct open_log *gap, const struct audit_stub *stub)
{
	_cleanup_text_ struct text members = TEXT_INIT;

	expect_eq(stub_add_members(&members, stub), 0);
	expect_eq(audit_log_say(gap->log, STUB_EVENT, text_string(&members), NULL), 0);
}

static void a_record_about_an_archive_that_is_still_there_is_right(void)
{
	_cleanup_open_log_ struct open_log gap;
	struct audit_stub stub;

	gap_make(&gap);
	stub = stub_of_first(&gap);
	say(&gap, &stub);
	expect_eq(audit_log_checkpoint(gap.log, NULL), 0);
	expect_verdict(verified_with_key(&gap), VERIFY_INTACT);
	take_away(&gap, FIRST_ARCHIVE);
	expect_verdict(verified_with_key(&gap), VERIFY_INTACT);
	take_away(&gap, SECOND ARCHIVE);
	expect_verdict(verified_with_key(&gap), VERIFY_INCOMPLETE);
}

/* An attacker who can write to the directory can add a stub record, but not sign it. */
static void a_record_that_is_not_signed_excuses_nothing(void)
{
	_cleanup_open_log_ struct open_log gap;
	struct audit_stub stub;
	struct verify_report report;

	gap_make(&gap);
	stub = stub_of_first(&gap);
	say(&gap, &stub);
	expect_eq(audit_log_commit(gap.log, NULL), 0);
	take_away(&gap, FIRST_ARCHIVE);
	report = verified_with_key(&gap);
	expect_verdict(report, VERIFY_INCOMPLETE);
	expect_eq(report.n_unsigned, 1);
	expect(strstr(report.finding.why, "no signed record") != NULL);
}

static void forge(struct audit_stub *stub, unsigned how)
{
	if (how == 0)
		stub->head.bytes[0] ^= 1;
	if (how == 1)
		stub->root.bytes[0] ^= 1;
	if (how == 2)
		stub->previous.bytes[0] ^= 1;
	if (how == 3)
		stub->last++;
	if (how == 4)
		stub->last = 100;
	if (how == 5)
		stub->last--;
}

/* An attacker with the key can sign a stub record, but its contents must match, whether or not the
 * archive exists. */
static void a_forged_record_about_an_archive_is_tampering(void)
{
	for (unsigned how = 0; how < 6; how++)
		for (unsigned is_gone = 0; is_gone < 2; is_gone++) {
			_cleanup_open_log_ struct open_log gap;
			struct verify_report report;
			struct audit_stub stub;

			gap_make(&gap);
			stub = stub_of_first(&gap);
			forge(&stub, how);
			say(&gap, &stub);
			expect_eq(audit_log_checkpoint(gap.log, NULL), 0);
			if (is_gone)
				take_away(&gap, FIRST_ARCHIVE);
			report = verified_with_key(&gap);
			/* A stub for fewer records leaves the rest missing. */
			if (how == 5 && is_gone)
				expect_verdict(report, VERIFY_INCOMPLETE);
			else
				expect_verdict(report, VERIFY_TAMPERED);
		}
}

static const struct test tests[] = {
	TEST(archives_are_verified_like_segments),
	TEST(a_bit_of_an_archive_is_found),
	TEST(an_archive_in_the_place_of_another_is_tampering),
	TEST(another_archive_behind_an_archive_is_tampering),
	TEST(an_archive_that_was_made_again_has_another_root),
	TEST(a_missing_archive_is_missed),
	TEST(behind_what_is_missing_nothing_may_be_changed),
	TEST(archives_alone_are_no_log),
	TEST(deleted_archives_with_a_stub_are_not_missed),
	TEST(a_state_of_what_was_deleted_is_gone_on_from),
	TEST(a_state_remembers_what_was_deleted),
	TEST(without_record_0_a_key_must_be_given),
	TEST(another_key_is_not_that_of_the_log),
	TEST(the_file_of_epochs_leads_to_the_present_key),
	TEST(without_the_file_of_epochs_the_log_is_incomplete),
	TEST(a_bit_of_the_file_of_epochs_is_tampering),
	TEST(deleting_without_a_record_is_missed),
	TEST(a_record_about_an_archive_that_is_still_there_is_right),
	TEST(a_record_that_is_not_signed_excuses_nothing),
	TEST(a_forged_record_about_an_archive_is_tampering),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
