/* SPDX-License-Identifier: MIT */

#include "audit/checkpoint.h"
#include "audit/verify.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "audit-verify-rig.h"
#include "audit/key.h"
#include "base/base64.h"
#include "sqlite-call.h"

/* ---- unchanged logs ---- */

static void an_unchanged_log_is_intact(void)
{
	_cleanup_log_place_ struct log_place place;
	_cleanup_text_ struct text key = TEXT_INIT;
	struct verify_report report;

	log_filled(&place);
	key_of(&place, &key);
	report = verified(&place, (struct verify_options){ .verifier = text_string(&key) }, NULL);
	expect_verdict(report, VERIFY_INTACT);
	expect_eq(report.size, N_FIRST);
	expect_eq(report.good_size, N_FIRST);
	expect_eq(report.n_checkpoints, 5);
	expect_eq(report.n_unsigned, 0);
	expect(!report.is_key_own && !report.has_bad);
	expect_eq(strncmp(text_string(&key), report.origin, strlen(report.origin)), 0);
}

static void without_a_key_it_says_that_the_log_is_its_own_witness(void)
{
	_cleanup_log_place_ struct log_place place;
	struct verify_report report;

	log_filled(&place);
	report = verified_alone(&place);
	expect_verdict(report, VERIFY_INTACT);
	expect(report.is_key_own);
}

static void a_key_that_is_none_is_the_callers_mistake(void)
{
	_cleanup_log_place_ struct log_place place;
	struct verify_options options = { .verifier = "sbx-audit/x+00000000+AAAA" };
	struct verify_report report = { .verdict = VERIFY_UNREADABLE };
	struct sbx_error err = { 0 };

	log_filled(&place);
	options.directory = open(place.log, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	expect_eq(verify_directory(&options, &report, NULL, &err), -EINVAL);
	expect(err.what[0] != '\0');
	expect_eq(report.verdict, VERIFY_UNREADABLE);
	(void)close(options.directory);
}

static void changes_of_keys_are_followed(void)
{
	_cleanup_log_place_ struct log_place place;
	_cleanup_text_ struct text key = TEXT_INIT;
	struct verify_report report;
	struct audit_log *log;

	log_filled(&place);
	key_of(&place, &key);
	log = log_opened(&place);
	for (int i = 0; i < 3; i++) {
		expect_eq(audit_log_change_key(log, NULL), 0);
		add_signed(log, 3);
	}
	(void)audit_log_free(log);
	report = verified(&place, (struct verify_options){ .verifier = text_string(&key) }, NULL);
	expect_verdict(report, VERIFY_INTACT);
	expect_eq(report.epoch, 3);
	expect_eq(report.size, N_FIRST + 12);
}

static void the_last_records_may_wait_for_their_checkpoint(void)
{
	_cleanup_log_place_ struct log_place place;
	struct verify_options options = { .now_usec = 0 };
	struct verify_report report;
	struct audit_log *log;
	uint64_t before, after;

	log_filled(&place);
	log = log_opened(&place);
	before = now_usec();
	add_decision(log, 1);
	expect_eq(audit_log_commit(log, NULL), 0);
	after = now_usec();
	report = verified_alone(&place);
	expect_verdict(report, VERIFY_INTACT);
	expect_eq(report.n_unsigned, 1);
	options.now_usec = before + 2 * CHECKPOINT_INTERVAL_USEC - 1000000;
	expect_verdict((report = verified(&place, options, NULL)), VERIFY_INTACT);
	options.now_usec = after + 2 * CHECKPOINT_INTERVAL_USEC + 1000000;
	report = verified(&place, options, NULL);
	expect_verdict(report, VERIFY_INCOMPLETE);
	expect(strstr(report.finding.what, "no checkpoint") != NULL);
	expect_eq(audit_log_checkpoint(log, NULL), 0);
	expect_verdict((report = verified(&place, options, NULL)), VERIFY_INTACT);
	(void)audit_log_free(log);
}

/* An attacker adds a record after the last checkpoint with a valid hash; @usec becomes the mtime of
 * the segment. */
static void add_unsigned(const struct log_place *place, uint64_t usec)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
				     { .tv_sec = (time_t)(usec / 1000000) } };
	int fd;

	execute(place, "INSERT INTO records SELECT 20,hash,body FROM records WHERE seq=19");
	chain_again(place, 20);
	remove_beside(place);
	fd = segment_file_open(place, O_RDONLY);
	expect_eq(futimens(fd, times), 0);
	(void)close(fd);
}

/* Opening a segment makes SQLite create files beside it; their mtime must not count. */
static void to_look_at_old_records_makes_them_no_younger(void)
{
	_cleanup_log_place_ struct log_place place;

	log_filled(&place);
	add_unsigned(&place, now_usec() - UINT64_C(3600) * 1000000);
	for (int i = 0; i < 2; i++)
		expect_verdict(verified_alone(&place), VERIFY_INCOMPLETE);
}

static void records_of_tomorrow_have_waited_too_long(void)
{
	static const struct {
		uint64_t later_usec;
		enum verify_verdict verdict;
	} times[] = {
		{ 0, VERIFY_INTACT },
		{ 2000000, VERIFY_INTACT },
		{ UINT64_C(60) * 1000000, VERIFY_INCOMPLETE },
		{ UINT64_C(86400) * 365 * 70 * 1000000, VERIFY_INCOMPLETE },
	};

	for (size_t i = 0; i < N_ELEMENTS(times); i++) {
		_cleanup_log_place_ struct log_place place;

		log_filled(&place);
		add_unsigned(&place, now_usec() + times[i].later_usec);
		expect_verdict(verified_alone(&place), times[i].verdict);
	}
}

/* Records from the spool may be a week old, so times in records are not compared with the clock. */
static void times_in_records_are_not_compared_with_the_clock(void)
{
	static const char *const times[] = { "1971-01-01T00:00:00Z", "2026-01-02T03:04:05.5Z",
					     "9999-12-31T23:59:59.999999Z",
					     "1999-12-31T23:59:59.999999999Z" };
	_cleanup_log_place_ struct log_place place;
	struct verify_report report;
	struct audit_log *log;

	log_filled(&place);
	log = log_opened(&place);
	for (unsigned i = 0; i < 40; i++) {
		char line[128];
		int n = snprintf(line, sizeof(line), "{\"time\":\"%s\",\"event\":\"syscall\"}",
				 times[i * 7 % N_ELEMENTS(times)]);

		expect_eq(audit_log_add(log, line, (size_t)n, NULL, NULL, NULL), 0);
		if (i % 9 == 0)
			expect_eq(audit_log_checkpoint(log, NULL), 0);
	}
	expect_eq(audit_log_commit(log, NULL), 0);
	expect_verdict((report = verified_alone(&place)), VERIFY_INTACT);
	(void)audit_log_free(log);
}

/* Random operations of a writer. */
static void no_clean_log_is_accused(void)
{
	unsigned n_logs = test_is_slow() ? 200 : 10;
	uint32_t seed = 42;

	for (unsigned i = 0; i < n_logs; i++) {
		_cleanup_log_place_ struct log_place place;
		struct verified_state state = { .origin = "" };
		struct verify_report report;
		struct audit_log *log;

		log_filled(&place);
		log = log_opened(&place);
		for (unsigned step = 0; step < 60; step++) {
			seed = seed * 1664525 + 1013904223;
			switch (seed >> 24 & 7) {
			case 0:
				expect_eq(audit_log_checkpoint(log, NULL), 0);
				break;
			case 1:
				audit_log_rollback(log);
				break;
			case 2:
				(void)audit_log_free(log);
				log = log_opened(&place);
				break;
			case 3:
				if ((seed >> 16 & 3) == 0)
					expect_eq(audit_log_change_key(log, NULL), 0);
				break;
			default:
				add_decision(log, seed >> 8 & 63);
			}
		}
		expect_eq(audit_log_commit(log, NULL), 0);
		expect_verdict((report =
					verified(&place,
						 (struct verify_options){
							 .since = state.origin[0] ? &state : NULL },
						 &state)),
			       VERIFY_INTACT);
		expect_eq(report.size, audit_log_size(log));
		add_signed(log, 3);
		(void)audit_log_free(log);
		expect_verdict((report =
					verified(&place, (struct verify_options){ .since = &state },
						 &state)),
			       VERIFY_INTACT);
		expect_eq(report.n_unsigned, 0);
	}
}

static void write_on(const struct log_place *place)
{
	struct audit_log *log = log_opened(place);

	/* A failed test does not kill it. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned i = 0; i < 1000000; i++) {
		add_decision(log, i);
		if (i % 3 == 0)
			(void)audit_log_commit(log, NULL);
		if (i % 50 == 49)
			(void)audit_log_checkpoint(log, NULL);
	}
	_exit(0);
}

static void a_log_that_is_written_to_is_not_accused(void)
{
	_cleanup_log_place_ struct log_place place;
	struct verified_state state = { .origin = "" };
	unsigned n = test_is_slow() ? 1000 : 40;
	uint64_t size = 0;
	pid_t pid;

	log_filled(&place);
	pid = fork();
	expect(pid >= 0);
	if (pid == 0)
		write_on(&place);
	for (unsigned i = 0; i < n; i++) {
		struct verify_options options = { .since = i % 2 && state.origin[0] ? &state
										    : NULL };
		struct verify_report report = verified(&place, options, &state);

		expect_verdict(report, VERIFY_INTACT);
		expect(report.size >= size);
		size = report.size;
	}
	expect_eq(kill(pid, SIGKILL), 0);
	expect_eq(waitpid(pid, NULL, 0), pid);
	(void)audit_log_free(log_opened(&place));
	expect_verdict(verified_alone(&place), VERIFY_INTACT);
}

struct seen {
	uint64_t done, total;
	unsigned n;
};

static void see_progress(void *userdata, uint64_t done, uint64_t total)
{
	struct seen *seen = userdata;

	expect(done > seen->done && done <= total);
	*seen = (struct seen){ done, total, seen->n + 1 };
}

static void add_many(struct audit_log *log, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		expect_eq(log_add_n(log, "syscall", i, NULL), 0);
}

static void many_records_need_a_checkpoint_now_and_then(void)
{
	_cleanup_log_place_ struct log_place place;
	struct seen seen = { 0 };
	struct verify_report report;
	struct audit_log *log;

	log_place_init(&place);
	log = log_made(&place);
	for (int i = 0; i < 3; i++) {
		add_many(log, CHECKPOINT_RECORDS_MAX);
		expect_eq(audit_log_checkpoint(log, NULL), 0);
	}
	report = verified(&place,
			  (struct verify_options){ .progress = see_progress, .userdata = &seen },
			  NULL);
	expect_verdict(report, VERIFY_INTACT);
	expect(seen.n >= 1);
	expect_eq(seen.total, 3 * CHECKPOINT_RECORDS_MAX + 1);
	add_many(log, 1);
	expect_eq(audit_log_checkpoint(log, NULL), 0);
	expect_verdict((report = verified_alone(&place)), VERIFY_INTACT);
	(void)audit_log_free(log);
	execute(&place, "DELETE FROM checkpoints WHERE size=8193");
	report = verified_alone(&place);
	expect_verdict(report, VERIFY_INCOMPLETE);
	expect(strstr(report.finding.what, "4097") != NULL);
	expect_eq(report.good_size, 3 * CHECKPOINT_RECORDS_MAX + 2);
}

/* ---- continuing from a verified state ---- */

static void it_goes_on_where_it_was(void)
{
	_cleanup_log_place_ struct log_place place;
	struct verified_state state = { .origin = "" };
	struct verify_report report;
	struct audit_log *log;

	log_filled(&place);
	expect_verdict(verified(&place, (struct verify_options){ .now_usec = 0 }, &state),
		       VERIFY_INTACT);
	expect_eq(state.frontier.size, N_FIRST);
	log = log_opened(&place);
	expect_eq(audit_log_change_key(log, NULL), 0);
	add_signed(log, 7);
	add_decision(log, 1);
	expect_eq(audit_log_commit(log, NULL), 0);
	(void)audit_log_free(log);
	report = verified(&place, (struct verify_options){ .since = &state }, &state);
	expect_verdict(report, VERIFY_INTACT);
	expect_eq(report.begin, N_FIRST);
	expect_eq(report.n_checkpoints, 2);
	expect_eq(report.size, N_FIRST + 9);
	expect_eq(state.frontier.size, N_FIRST + 8);
	report = verified(&place, (struct verify_options){ .since = &state }, &state);
	expect_verdict(report, VERIFY_INTACT);
	expect_eq(report.n_checkpoints, 0);
	expect_eq(state.frontier.size, N_FIRST + 8);
}

static void what_is_behind_the_state_is_found_and_what_is_before_by_a_full_run(void)
{
	_cleanup_log_place_ struct log_place place;
	struct verified_state state = { .origin = "" };
	struct verify_options options = { .since = &state };
	struct verify_report report;
	struct audit_log *log;

	log_filled(&place);
	expect_verdict(verified(&place, (struct verify_options){ .now_usec = 0 }, &state),
		       VERIFY_INTACT);
	log = log_opened(&place);
	add_signed(log, 7);
	(void)audit_log_free(log);
	execute(&place, "UPDATE records SET body=CAST(body||' 'AS BLOB) WHERE seq=3");
	expect_verdict((report = verified(&place, options, NULL)), VERIFY_INTACT);
	options.is_full = true;
	expect_found((report = verified(&place, options, NULL)), VERIFY_TAMPERED, 3);
	options.is_full = false;
	execute(&place, "UPDATE records SET body=CAST(body||' 'AS BLOB) WHERE seq=23");
	report = verified(&place, options, NULL);
	expect_found(report, VERIFY_TAMPERED, 23);
	expect_eq(report.good_size, N_FIRST);
}

static void a_log_that_was_longer_is_missed(void)
{
	_cleanup_log_place_ struct log_place place;
	struct verified_state state = { .origin = "" };
	struct verify_options options = { .since = &state };
	struct verify_report report;

	log_filled(&place);
	expect_verdict(verified(&place, (struct verify_options){ .now_usec = 0 }, &state),
		       VERIFY_INTACT);
	execute(&place, "DELETE FROM records WHERE seq>=16;"
			"DELETE FROM checkpoints WHERE size>16");
	expect_found((report = verified(&place, options, NULL)), VERIFY_INCOMPLETE, 16);
	expect_eq(report.last_bad, N_FIRST - 1);
	options.is_full = true;
	expect_found((report = verified(&place, options, NULL)), VERIFY_INCOMPLETE, 16);
	execute(&place, "UPDATE records SET hash=zeroblob(32) WHERE seq=15");
	expect_found((report = verified(&place, options, NULL)), VERIFY_TAMPERED, 15);
}

static void the_record_before_the_state_must_be_the_same(void)
{
	_cleanup_log_place_ struct log_place place;
	struct verified_state state = { .origin = "" };
	struct verify_report report;

	log_filled(&place);
	expect_verdict(verified(&place, (struct verify_options){ .now_usec = 0 }, &state),
		       VERIFY_INTACT);
	execute(&place, "UPDATE records SET hash=zeroblob(32) WHERE seq=19");
	report = verified(&place, (struct verify_options){ .since = &state }, NULL);
	expect_found(report, VERIFY_TAMPERED, 19);
	expect(strstr(report.finding.fix, "--full") != NULL);
}

static void a_state_of_another_log_is_no_state_of_this_one(void)
{
	_cleanup_log_place_ struct log_place place, other;
	_cleanup_text_ struct text key = TEXT_INIT;
	struct verified_state state = { .origin = "" };
	struct verify_report report;

	log_filled(&place);
	log_filled(&other);
	key_of(&place, &key);
	expect_verdict(verified(&other, (struct verify_options){ .now_usec = 0 }, &state),
		       VERIFY_INTACT);
	for (int is_full = 0; is_full < 2; is_full++) {
		report = verified(&place,
				  (struct verify_options){ .since = &state, .is_full = is_full },
				  NULL);
		expect_verdict(report, VERIFY_TAMPERED);
	}
	report = verified(&place,
			  (struct verify_options){ .since = &state, .verifier = text_string(&key) },
			  NULL);
	expect_verdict(report, VERIFY_TAMPERED);
}

/* A run that goes on from a state does not read record 0, which names the first key. */
static void a_state_of_another_first_key_is_no_state_of_this_log(void)
{
	_cleanup_log_place_ struct log_place place;
	_cleanup_audit_key_ struct audit_key key = AUDIT_KEY_INIT;
	_cleanup_text_ struct text other = TEXT_INIT;
	struct verified_state state = { .origin = "" };
	struct note_verifier verifier;
	struct verify_report report;

	log_filled(&place);
	expect_verdict(verified(&place, (struct verify_options){ .now_usec = 0 }, &state),
		       VERIFY_INTACT);
	expect_eq(key_make(0, &key, NULL), 0);
	expect_eq(note_verifier_make(state.origin, key.public_key, &verifier), 0);
	note_verifier_add(&other, &verifier);
	report = verified(&place,
			  (struct verify_options){ .since = &state,
						   .verifier = text_string(&other) },
			  NULL);
	expect_verdict(report, VERIFY_TAMPERED);
	expect_str(report.finding.why, "the last verification was of a log with another first key");
}

static void state_is_written_and_read_again(void)
{
	_cleanup_log_place_ struct log_place place;
	_cleanup_text_ struct text text = TEXT_INIT, again = TEXT_INIT;
	struct verified_state state = { .origin = "" }, read = { .origin = "" };

	expect_eq(verified_state_add_text(&text, &state), -EINVAL);
	log_filled(&place);
	expect_verdict(verified(&place, (struct verify_options){ .now_usec = 0 }, &state),
		       VERIFY_INTACT);
	text_reset(&text);
	expect_eq(verified_state_add_text(&text, &state), 0);
	expect_eq(verified_state_parse(text.data, text.len, &read, NULL), 0);
	expect(read.is_key_own);
	expect_eq(verified_state_add_text(&again, &read), 0);
	expect_str(text_string(&again), text_string(&text));
	expect_verdict(verified(&place, (struct verify_options){ .since = &read }, NULL),
		       VERIFY_INTACT);
}

static void state_with_any_bit_changed_is_refused(void)
{
	_cleanup_log_place_ struct log_place place;
	_cleanup_text_ struct text text = TEXT_INIT;
	struct verified_state state = { .origin = "" }, read = { .origin = "kept" };
	struct sbx_error err = { 0 };

	log_filled(&place);
	expect_verdict(verified(&place, (struct verify_options){ .now_usec = 0 }, &state),
		       VERIFY_INTACT);
	expect_eq(verified_state_add_text(&text, &state), 0);
	for (size_t i = 0; i < 8 * text.len; i++) {
		((uint8_t *)text.data)[i / 8] ^= (uint8_t)(1 << i % 8);
		expect_eq(verified_state_parse(text.data, text.len, &read, &err), -EBADMSG);
		((uint8_t *)text.data)[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	for (size_t n = 0; n < text.len; n++)
		expect_eq(verified_state_parse(text.data, n, &read, NULL), -EBADMSG);
	expect_str(read.origin, "kept");
	expect(err.fix[0] != '\0');
}

/* ---- witnesses ---- */

static void a_witness_is_read_in_all_its_forms(void)
{
	_cleanup_witness_ struct witness witness = WITNESS_INIT;
	_cleanup_log_place_ struct log_place place;
	_cleanup_text_ struct text text = TEXT_INIT;
	char note[4096];
	size_t n;

	log_filled(&place);
	n = read_bytes(&place, "SELECT note FROM checkpoints WHERE size=11", note, sizeof(note));
	text_add_bytes(&text, note, n);
	text_add(&text, "\n7 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n");
	n = read_bytes(&place, "SELECT note FROM checkpoints WHERE size=6", note, sizeof(note));
	text_add_bytes(&text, note, n);
	text_add(&text, "3 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=");
	expect_eq(witness_parse(&witness, text.data, text.len, NULL), 0);
	expect_eq(witness.n_heads, 4);
	expect_eq(witness.heads[0].size, 3);
	expect_eq(witness.heads[1].size, 6);
	expect_eq(witness.heads[2].size, 7);
	expect_eq(witness.heads[3].size, 11);
	expect_eq(strncmp(witness.origin, "sbx-audit/", 10), 0);
}

static void a_witness_of_anything_else_is_refused(void)
{
	static const char *const texts[] = {
		"hello\n",
		"7\n",
		"7 \n",
		"7 AAAA\n",
		"0 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n",
		"99999999999999999999 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n",
		"7  AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n",
		"sbx-audit/0\n7\n\n",
		"\n\n-7 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n",
	};

	for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
		struct witness witness = WITNESS_INIT;
		struct sbx_error err = { 0 };

		expect_eq(witness_parse(&witness, texts[i], strlen(texts[i]), &err), -EBADMSG);
		expect(strstr(err.what, i == 8 ? "line 3" : "line 1") != NULL);
		expect(witness.heads == NULL);
	}
}

static void a_witness_of_two_logs_is_refused(void)
{
	_cleanup_log_place_ struct log_place place, other;
	_cleanup_text_ struct text text = TEXT_INIT;
	struct witness witness = WITNESS_INIT;
	struct sbx_error err = { 0 };
	char note[4096];

	log_filled(&place);
	log_filled(&other);
	text_add_bytes(&text, note,
		       read_bytes(&place, "SELECT note FROM checkpoints", note, sizeof(note)));
	text_add_bytes(&text, note,
		       read_bytes(&other, "SELECT note FROM checkpoints", note, sizeof(note)));
	expect_eq(witness_parse(&witness, text.data, text.len, &err), -EBADMSG);
	expect(strstr(err.why, "another log") != NULL);
}

static void all_that_was_witnessed_is_reproduced(void)
{
	_cleanup_witness_ struct witness witness = WITNESS_INIT;
	_cleanup_log_place_ struct log_place place;
	_cleanup_text_ struct text text = TEXT_INIT;
	struct verified_state state = { .origin = "" };
	struct verify_report report;
	struct audit_log *log;
	char note[4096];

	log_filled(&place);
	for (unsigned size = 6; size <= 16; size += 5) {
		char select[80];

		(void)snprintf(select, sizeof(select), "SELECT note FROM checkpoints WHERE size=%u",
			       size);
		text_add_bytes(&text, note, read_bytes(&place, select, note, sizeof(note)));
	}
	expect_eq(witness_parse(&witness, text.data, text.len, NULL), 0);
	report = verified(&place, (struct verify_options){ .witness = &witness }, &state);
	expect_verdict(report, VERIFY_INTACT);
	log = log_opened(&place);
	add_signed(log, 3);
	(void)audit_log_free(log);
	/* A witness of a size before the state needs a full run. */
	report = verified(&place, (struct verify_options){ .witness = &witness, .since = &state },
			  NULL);
	expect_verdict(report, VERIFY_INTACT);
	expect_eq(report.begin, 0);
	witness.heads[1].root.bytes[0] ^= 1;
	report = verified(&place, (struct verify_options){ .witness = &witness, .since = &state },
			  NULL);
	expect_verdict(report, VERIFY_TAMPERED);
	expect_eq(report.good_size, 11);
}

/* A query "since 1970" includes a record with time 0. */
static void a_time_of_zero_is_a_time(void)
{
	static const char *const lines[] = {
		"{\"event\":\"syscall\",\"time\":\"1970-01-01T00:00:00Z\"}",
		"{\"event\":\"syscall\",\"timestamp\":0}",
		"{\"event\":\"syscall\",\"time\":\"2026-01-02T03:04:05Z\"}",
	};
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log;
	uint64_t seq;

	log_filled(&place);
	/* With records of other times after it, before it, and alone. */
	for (unsigned n = 0; n < 6; n++) {
		log = log_opened(&place);
		for (size_t i = 0; i < 1 + n % 3; i++) {
			const char *line = lines[(i + n) % 3];

			expect_eq(audit_log_add(log, line, strlen(line), NULL, NULL, NULL), 0);
		}
		/* Reopening the log reads the times again. */
		expect_eq(n % 2 == 0 ? audit_log_commit(log, NULL) : 0, 0);
		if (n % 2 == 0) {
			(void)audit_log_free(log);
			log = log_opened(&place);
			expect(!audit_log_is_broken(log, &seq));
		}
		expect_eq(audit_log_checkpoint(log, NULL), 0);
		(void)audit_log_free(log);
		expect_verdict(verified_alone(&place), VERIFY_INTACT);
	}
}

/* ---- a disk that fails ---- */

static int reads_left; /* until one of them fails */

static ssize_t read_or_fail(int fd, void *bytes, size_t n, off_t at)
{
	if (reads_left-- != 0)
		return pread(fd, bytes, n, at);
	errno = EIO;
	return -1;
}

static void a_disk_that_cannot_be_read_is_no_tampering(void)
{
	_cleanup_log_place_ struct log_place place;
	struct verify_report report;
	int n = 0;

	log_filled(&place);
	set_sqlite_call("pread", (void *)(uintptr_t)read_or_fail);
	do {
		reads_left = n++;
		report = verified_alone(&place);
		/* What could not be read ahead is read again. */
		if (report.verdict == VERIFY_INTACT)
			continue;
		expect_verdict(report, VERIFY_UNREADABLE);
		expect_str(report.finding.fix, "check the file system");
	} while (reads_left < 0);
	set_sqlite_call("pread", NULL);
	expect(n > 5);
}

static const struct test tests[] = {
	TEST(an_unchanged_log_is_intact),
	TEST(without_a_key_it_says_that_the_log_is_its_own_witness),
	TEST(a_key_that_is_none_is_the_callers_mistake),
	TEST(changes_of_keys_are_followed),
	TEST(the_last_records_may_wait_for_their_checkpoint),
	TEST(to_look_at_old_records_makes_them_no_younger),
	TEST(records_of_tomorrow_have_waited_too_long),
	TEST(times_in_records_are_not_compared_with_the_clock),
	TEST(no_clean_log_is_accused),
	TEST(a_log_that_is_written_to_is_not_accused),
	TEST(many_records_need_a_checkpoint_now_and_then),
	TEST(it_goes_on_where_it_was),
	TEST(what_is_behind_the_state_is_found_and_what_is_before_by_a_full_run),
	TEST(a_log_that_was_longer_is_missed),
	TEST(the_record_before_the_state_must_be_the_same),
	TEST(a_state_of_another_log_is_no_state_of_this_one),
	TEST(a_state_of_another_first_key_is_no_state_of_this_log),
	TEST(state_is_written_and_read_again),
	TEST(state_with_any_bit_changed_is_refused),
	TEST(a_witness_is_read_in_all_its_forms),
	TEST(a_witness_of_anything_else_is_refused),
	TEST(a_witness_of_two_logs_is_refused),
	TEST(all_that_was_witnessed_is_reproduced),
	TEST(a_time_of_zero_is_a_time),
	TEST(a_disk_that_cannot_be_read_is_no_tampering),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
