/* SPDX-License-Identifier: MIT */

#include "audit/log.h"

#include <signal.h>

#include "audit-log-place.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "record-spool.h"
#include "record/record.h"

#define CLAIMED "claimed-00112233445566778899aabbccddeeff"

static struct audit_import take(const struct log_place *place, struct audit_log *log)
{
	int spool = open(place->spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct audit_import import = { .n_records = 99 };
	struct sbx_error err = { .code = 0 };

	expect_eq(audit_log_import(log, spool, &import, &err), 0);
	if (err.code)
		printf("# %s: %s\n", err.what, err.why);
	(void)close(spool);
	return import;
}

static void send(struct recorder *recorder, unsigned n)
{
	_cleanup_text_ struct text record = TEXT_INIT;
	struct json_writer json;

	record_begin(recorder, &record, &json, "syscall", "test");
	json_member_u64(&json, "n", n);
	expect_eq(record_send(recorder, &record, &json, NULL), 0);
}

/* Appends bytes to a file of the spool. */
static void append(const struct log_place *place, const char *name, const void *bytes,
		   size_t n_bytes)
{
	char path[96];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", place->spool, name);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	expect_eq(fd_write_all(fd, bytes, n_bytes), 0);
	(void)close(fd);
}

static void append_line(const struct log_place *place, const char *line)
{
	append(place, RECORD_SPOOL_NAME, line, strlen(line));
}

static size_t n_files(const struct log_place *place)
{
	DIR *dir = opendir(place->spool);
	const struct dirent *entry;
	size_t n = 0;

	if (!dir)
		abort();
	while ((entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	if (dir)
		(void)closedir(dir);
	return n;
}

struct fixture {
	struct log_place place;
	struct audit_log *log;
	struct recorder recorder;
};

static void fixture_init(struct fixture *f)
{
	log_place_init(&f->place);
	f->log = log_made(&f->place);
	f->recorder = (struct recorder)RECORDER_INIT;
	expect_eq(open_spool_in(&f->recorder, f->place.path, NULL), 0);
}

static void fixture_deinit(struct fixture *f)
{
	(void)audit_log_free(f->log);
	recorder_deinit(&f->recorder);
	log_place_deinit(&f->place);
}

#define _cleanup_fixture_ _cleanup_(fixture_deinit)

static long long verify(struct fixture *f, void (*see)(void *, const struct store_row *),
			void *userdata)
{
	f->log = audit_log_free(f->log);
	return verify_log(&f->place, see, userdata);
}

/* The last record's body. */
static void see_last(void *userdata, const struct store_row *row)
{
	struct text *last = userdata;

	text_reset(last);
	text_add_bytes(last, row->body, row->n_body);
}

static void what_waits_is_taken_and_the_file_is_gone(void)
{
	_cleanup_fixture_ struct fixture f;
	struct audit_import import;

	fixture_init(&f);
	for (unsigned i = 0; i < 5000; i++)
		send(&f.recorder, i);
	recorder_deinit(&f.recorder);
	import = take(&f.place, f.log);
	expect_eq(import.n_records, 5000);
	expect_eq(import.n_refused + import.n_torn, 0);
	expect_eq(n_files(&f.place), 0);
	expect_eq(take(&f.place, f.log).n_records, 0);
	expect_eq(verify(&f, NULL, NULL), 5001);
}

static void a_file_that_a_writer_has_open_is_kept_and_read_further(void)
{
	_cleanup_fixture_ struct fixture f;

	fixture_init(&f);
	send(&f.recorder, 1);
	expect_eq(take(&f.place, f.log).n_records, 1);
	expect_eq(n_files(&f.place), 1);
	send(&f.recorder, 2);
	send(&f.recorder, 3);
	expect_eq(take(&f.place, f.log).n_records, 2);
	expect_eq(take(&f.place, f.log).n_records, 0);
	expect_eq(n_files(&f.place), 1);
	send(&f.recorder, 4);
	recorder_deinit(&f.recorder);
	expect_eq(open_spool_in(&f.recorder, f.place.path, NULL), 0);
	send(&f.recorder, 5);
	expect_eq(take(&f.place, f.log).n_records, 2);
	expect_eq(n_files(&f.place), 1);
	expect_eq(verify(&f, NULL, NULL), 6);
}

static void nothing_to_take_is_no_error(void)
{
	_cleanup_fixture_ struct fixture f;

	fixture_init(&f);
	expect_eq(take(&f.place, f.log).n_records, 0);
	expect_eq(n_files(&f.place), 1);
	append(&f.place, "somebody-else's", "x\n", 2);
	append(&f.place, "claimed-short", "x\n", 2);
	expect_eq(take(&f.place, f.log).n_refused, 0);
	expect_eq(n_files(&f.place), 3);
	expect_eq(verify(&f, NULL, NULL), 1);
}

static void a_line_that_is_no_record_leaves_one_that_says_so(void)
{
	_cleanup_fixture_ struct fixture f;
	_cleanup_text_ struct text last = TEXT_INIT;
	struct audit_import import;

	fixture_init(&f);
	recorder_deinit(&f.recorder);
	append_line(&f.place, "{" LOG_TIME ",\"event\":\"syscall\"}\n");
	append_line(&f.place, "hello\n\n[]\n{\"event\":\"audit_archive_deleted\"}\n");
	append_line(&f.place, "{" LOG_TIME ",\"event\":\"syscall\"}\n");
	append_line(&f.place, "{" LOG_TIME ",\"event\":\"syscal\"}\n");
	import = take(&f.place, f.log);
	expect_eq(import.n_records, 2);
	expect_eq(import.n_refused, 4);
	expect_eq(import.n_torn, 0);
	expect_eq(n_files(&f.place), 0);
	expect_eq(verify(&f, see_last, &last), 7);
	expect(strstr(text_string(&last), "\"event\":\"record_refused\"") != NULL);
	expect(strstr(text_string(&last), "\"bytes\":55,\"sha256\":\"") != NULL);
	expect(strstr(text_string(&last), "\"why\":\"no event has this name\"") != NULL);
}

static void a_torn_line_is_said_and_the_next_one_is_whole(void)
{
	_cleanup_fixture_ struct fixture f;
	_cleanup_text_ struct text last = TEXT_INIT;
	struct audit_import import;

	fixture_init(&f);
	recorder_deinit(&f.recorder);
	append_line(&f.place,
		    "{" LOG_TIME ",\"event\":\"sys\n{" LOG_TIME ",\"event\":\"syscall\"}\n");
	append_line(&f.place, "{" LOG_TIME ",\"event\":\"syscall\"");
	import = take(&f.place, f.log);
	expect_eq(import.n_records, 1);
	expect_eq(import.n_torn, 2);
	expect_eq(import.n_refused, 0);
	expect_eq(verify(&f, see_last, &last), 4);
	expect(strstr(text_string(&last), "\"event\":\"record_torn\"") != NULL);
	expect(strstr(text_string(&last), "\"why\":\"it has no line end\"") != NULL);
}

static void an_incomplete_line_waits_while_a_writer_has_it_open(void)
{
	_cleanup_fixture_ struct fixture f;

	fixture_init(&f);
	send(&f.recorder, 1);
	append_line(&f.place, "{" LOG_TIME ",\"event\":");
	expect_eq(take(&f.place, f.log).n_records, 1);
	expect_eq(fd_write_all(f.recorder.fd, "\"syscall\"}\n", 11), 0);
	recorder_deinit(&f.recorder);
	expect_eq(take(&f.place, f.log).n_records, 1);
	expect_eq(n_files(&f.place), 0);
	expect_eq(verify(&f, NULL, NULL), 3);
}

static void a_line_of_any_length_is_passed_over(void)
{
	static const size_t lengths[] = { RECORD_BYTES_MAX + 1, 4 * RECORD_BYTES_MAX,
					  9 * RECORD_BYTES_MAX };

	for (size_t i = 0; i < N_ELEMENTS(lengths); i++) {
		_cleanup_fixture_ struct fixture f;
		_cleanup_free_ char *giant = zeroed(1, lengths[i] + 1);
		struct audit_import import;

		fixture_init(&f);
		recorder_deinit(&f.recorder);
		memset(giant, 'a', lengths[i]);
		giant[lengths[i]] = '\n';
		append_line(&f.place, "{" LOG_TIME ",\"event\":\"syscall\"}\n");
		append(&f.place, RECORD_SPOOL_NAME, giant, lengths[i] + 1);
		append_line(&f.place, "{" LOG_TIME ",\"event\":\"syscall\"}\n");
		append(&f.place, RECORD_SPOOL_NAME, giant, lengths[i]);
		import = take(&f.place, f.log);
		expect_eq(import.n_records, 2);
		expect_eq(import.n_refused, 1);
		expect_eq(import.n_torn, 1);
		expect_eq(n_files(&f.place), 0);
		expect_eq(verify(&f, NULL, NULL), 5);
	}
}

static void a_spool_file_claimed_by_another_process_is_imported(void)
{
	_cleanup_fixture_ struct fixture f;
	static const char line[] = "{" LOG_TIME ",\"event\":\"syscall\"}\n";

	fixture_init(&f);
	recorder_deinit(&f.recorder);
	append(&f.place, CLAIMED, line, strlen(line));
	append(&f.place, CLAIMED, line, strlen(line));
	expect_eq(take(&f.place, f.log).n_records, 2);
	/* The current file of the spool, which is empty. */
	expect_eq(n_files(&f.place), 1);
	expect_eq(verify(&f, NULL, NULL), 3);
}

static void expect_refusal(struct fixture *f, int code, const char *why)
{
	int spool = open(f->place.spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct audit_import import;
	struct sbx_error err = { .code = 0 };

	expect_eq(audit_log_import(f->log, spool, &import, &err), code);
	expect(strstr(err.why, why) != NULL);
	expect_eq(import.n_records, 0);
	(void)close(spool);
}

static void refuses_a_spool_that_other_users_can_write(void)
{
	_cleanup_fixture_ struct fixture f;
	char path[96], other[96], second[96];

	fixture_init(&f);
	recorder_deinit(&f.recorder);
	append_line(&f.place, "{" LOG_TIME ",\"event\":\"syscall\"}\n");
	(void)snprintf(path, sizeof(path), "%s/" RECORD_SPOOL_NAME, f.place.spool);
	(void)snprintf(other, sizeof(other), "%s/" CLAIMED, f.place.spool);
	(void)snprintf(second, sizeof(second), "%s/second", f.place.spool);
	expect_eq(rename(path, other), 0);
	expect_eq(chmod(other, 0620), 0);
	expect_refusal(&f, -EPERM, "calling user alone");
	expect_eq(chmod(other, 0600), 0);
	expect_eq(link(other, second), 0);
	expect_refusal(&f, -EPERM, "second hard link");
	expect_eq(unlink(second), 0);
	expect_eq(unlink(other), 0);
	expect_eq(symlink("/etc/passwd", other), 0);
	expect_refusal(&f, -ELOOP, "");
	expect_eq(unlink(other), 0);
	expect_eq(verify(&f, NULL, NULL), 1);
}

static void a_file_that_has_become_shorter_is_not_read_on(void)
{
	_cleanup_fixture_ struct fixture f;
	DIR *dir;
	const struct dirent *entry;

	fixture_init(&f);
	send(&f.recorder, 1);
	expect_eq(take(&f.place, f.log).n_records, 1);
	expect_eq(ftruncate(f.recorder.fd, 10), 0);
	expect_refusal(&f, -EBADMSG, "shorter");
	dir = opendir(f.place.spool);
	if (!dir)
		abort();
	while ((entry = readdir(dir)))
		if (strncmp(entry->d_name, "claimed-", 8) == 0)
			expect_eq(unlinkat(dirfd(dir), entry->d_name, 0), 0);
	(void)closedir(dir);
	expect_eq(take(&f.place, f.log).n_records, 0);
	expect_eq(verify(&f, NULL, NULL), 2);
}

/* ---- the sender of a record ---- */

static void expect_last(struct fixture *f, const char *member)
{
	_cleanup_text_ struct text last = TEXT_INIT;

	expect(verify(f, see_last, &last) > 1);
	expect(strstr(text_string(&last), member) != NULL);
	f->log = log_opened(&f->place);
}

static void a_record_says_whose_file_it_came_from(void)
{
	static const char line[] = "{" LOG_TIME ",\"event\":\"syscall\"}\n", broken[] = "[]\n";
	_cleanup_fixture_ struct fixture f;
	char own[64];

	fixture_init(&f);
	send(&f.recorder, 1);
	recorder_deinit(&f.recorder);
	expect_eq(take(&f.place, f.log).n_records, 1);
	(void)snprintf(own, sizeof(own), "\"writer\":{\"uid\":%u}}", (unsigned)geteuid());
	expect_last(&f, own);
	append(&f.place, CLAIMED ".4242", line, strlen(line));
	expect_eq(take(&f.place, f.log).n_records, 1);
	expect_last(&f, "\"writer\":{\"uid\":4242}}");
	append(&f.place, CLAIMED ".4243", broken, strlen(broken));
	expect_eq(take(&f.place, f.log).n_refused, 1);
	expect_last(&f, "\"uid\":4243");
	expect_eq(n_files(&f.place), 0);
}

static void names_that_nothing_claims_are_left_alone(void)
{
	static const char *const names[] = {
		CLAIMED ".",
		CLAIMED ".01",
		CLAIMED ".-1",
		CLAIMED ".x",
		CLAIMED "0",
		CLAIMED ".4294967295",
		CLAIMED ".12345678901",
		CLAIMED ".1 ",
		"claimed-00",
		"handing-00112233445566778899aabbccddeeff.1",
	};
	_cleanup_fixture_ struct fixture f;

	fixture_init(&f);
	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		append(&f.place, names[i], "x\n", 2);
	expect_eq(take(&f.place, f.log).n_refused, 0);
	expect_eq(n_files(&f.place), N_ELEMENTS(names) + 1);
	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		char path[160];

		(void)snprintf(path, sizeof(path), "%s/%s", f.place.spool, names[i]);
		expect_eq(unlink(path), 0);
	}
}

static void one_file_that_is_refused_keeps_no_other_out(void)
{
	static const char line[] = "{" LOG_TIME ",\"event\":\"syscall\"}\n";
	_cleanup_fixture_ struct fixture f;
	char bad[160];
	int spool;

	fixture_init(&f);
	recorder_deinit(&f.recorder);
	(void)snprintf(bad, sizeof(bad), "%s/" CLAIMED ".7", f.place.spool);
	append(&f.place, CLAIMED ".7", line, strlen(line));
	expect_eq(chmod(bad, 0620), 0);
	spool = open(f.place.spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* The order of the directory must not matter. */
	for (unsigned i = 0; i < 8; i++) {
		struct audit_import import;
		char name[96];

		(void)snprintf(name, sizeof(name), "claimed-%032x.8", i);
		append(&f.place, name, line, strlen(line));
		expect_eq(audit_log_import(f.log, spool, &import, NULL), -EPERM);
		expect_eq(import.n_records, 1);
	}
	expect_eq(unlink(bad), 0);
	(void)close(spool);
	expect_eq(verify(&f, NULL, NULL), 9);
}

/* A lease of a writer makes an open() fail until the kernel has taken it away, which it does only
 * after 45 seconds. */
static void a_file_with_a_lease_does_not_delay_other_users(void)
{
	static const char line[] = "{" LOG_TIME ",\"event\":\"syscall\"}\n";
	struct audit_import import = { 0 };
	_cleanup_fixture_ struct fixture f;
	_cleanup_close_ int spool = -EBADF;
	char path[128];
	int fd;

	fixture_init(&f);
	recorder_deinit(&f.recorder);
	for (unsigned uid = 7; uid < 10; uid++) {
		char name[CLAIM_NAME_SIZE];

		(void)snprintf(name, sizeof(name), "claimed-%032x.%u", 0, uid);
		append(&f.place, name, line, strlen(line));
	}
	(void)snprintf(path, sizeof(path), "%s/claimed-%032x.7", f.place.spool, 0);
	fd = open(path, O_RDWR | O_CLOEXEC);
	expect(fcntl(fd, F_SETSIG, SIGURG) == 0);
	if (fcntl(fd, F_SETLEASE, F_WRLCK) < 0)
		skip("there are no leases here");
	spool = open(f.place.spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	expect_eq(audit_log_import(f.log, spool, &import, NULL), -EAGAIN);
	expect_eq(import.n_records, 2);
	(void)close(fd);
	expect_eq(audit_log_import(f.log, spool, &import, NULL), 0);
	expect_eq(import.n_records, 1);
	expect_eq(verify(&f, NULL, NULL), 4);
}

static void a_file_that_cannot_be_opened_does_not_delay_other_users(void)
{
	static const char line[] = "{" LOG_TIME ",\"event\":\"syscall\"}\n";
	static const char *const names[] = { CLAIMED ".7", CLAIMED ".8" };
	struct audit_import import = { 0 };
	_cleanup_fixture_ struct fixture f;
	int spool;

	fixture_init(&f);
	recorder_deinit(&f.recorder);
	if (geteuid() == 0)
		skip("root can open every file");
	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		append(&f.place, names[i], line, strlen(line));
	spool = open(f.place.spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	expect(fchmodat(spool, names[0], 0, 0) == 0);
	expect_eq(audit_log_import(f.log, spool, &import, NULL), -EACCES);
	expect_eq(import.n_records, 1);
	(void)close(spool);
	expect_eq(verify(&f, NULL, NULL), 2);
}

static struct audit_import take_some(struct fixture *f, uint64_t n_bytes)
{
	int spool = open(f->place.spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct audit_import import = { .n_records = 99 };

	expect_eq(audit_log_import_some(f->log, spool, n_bytes, &import, NULL), 0);
	(void)close(spool);
	return import;
}

static void a_long_file_is_taken_in_parts(void)
{
	static const char line[] = "{" LOG_TIME ",\"event\":\"syscall\"}\n";
	const size_t n_lines = 50000, len = strlen(line);
	_cleanup_fixture_ struct fixture f;
	_cleanup_free_ char *lines = zeroed(n_lines, len);
	size_t n_parts = 0, n_records = 0;
	struct audit_import import;

	fixture_init(&f);
	recorder_deinit(&f.recorder);
	for (size_t i = 0; i < n_lines; i++)
		memcpy(lines + i * len, line, len);
	append(&f.place, CLAIMED, lines, n_lines * len);
	do {
		import = take_some(&f, 1000000);
		n_records += import.n_records;
	} while (import.has_more && ++n_parts < 10);
	expect(n_parts > 0);
	expect_eq(n_records, n_lines);
	expect_eq(n_files(&f.place), 1);
	expect_eq(verify(&f, NULL, NULL), n_lines + 1);
}

struct late {
	const struct log_place *place;
	const char *lines; /* not appended yet, or NULL */
	size_t n_bytes;
};

static void append_late(void *userdata, uint64_t n_records)
{
	struct late *late = userdata;

	if (late->lines)
		append(late->place, CLAIMED, late->lines, late->n_bytes);
	late->lines = NULL;
}

/* A file can become longer in an instant, by FICLONE. */
static void what_is_appended_during_an_import_is_taken_in_parts(void)
{
	static const char line[] = "{" LOG_TIME ",\"event\":\"syscall\"}\n";
	const size_t n_lines = 50000, len = strlen(line);
	_cleanup_fixture_ struct fixture f;
	_cleanup_free_ char *lines = zeroed(n_lines, len);
	struct late late = { &f.place, lines, n_lines * len };
	size_t n_parts = 0, n_records = 0;
	struct audit_import import;

	fixture_init(&f);
	recorder_deinit(&f.recorder);
	for (size_t i = 0; i < n_lines; i++)
		memcpy(lines + i * len, line, len);
	append(&f.place, CLAIMED, line, len);
	audit_log_watch_import(f.log, append_late, &late);
	do {
		import = take_some(&f, 1000000);
		n_records += import.n_records;
	} while (import.has_more && ++n_parts < 10);
	expect(n_parts > 0);
	expect_eq(n_records, n_lines + 1);
	expect_eq(n_files(&f.place), 1);
	expect_eq(verify(&f, NULL, NULL), n_lines + 2);
}

static void a_line_that_is_longer_than_a_part_is_refused_in_pieces(void)
{
	static const char line[] = "\n{" LOG_TIME ",\"event\":\"syscall\"}\n";
	_cleanup_fixture_ struct fixture f;
	_cleanup_free_ char *giant = zeroed(1, 3000000);
	size_t n_records = 0, n_refused = 0, n_parts = 0;
	struct audit_import import;

	fixture_init(&f);
	recorder_deinit(&f.recorder);
	memset(giant, 'a', 3000000);
	append(&f.place, CLAIMED, giant, 3000000);
	append(&f.place, CLAIMED, line, strlen(line));
	do {
		import = take_some(&f, 600000);
		n_records += import.n_records;
		n_refused += import.n_refused;
	} while (import.has_more && ++n_parts < 10);
	expect_eq(n_records, 1);
	expect(n_refused > 1);
	expect_eq(n_files(&f.place), 1);
	expect_eq(verify(&f, NULL, NULL), (int)(1 + n_refused + n_records));
}

/* ---- a fair order ---- */

#define TURN_LINE "{" LOG_TIME ",\"event\":\"syscall\",\"n\":\"%05u\"}\n"
#define RUN_BYTES 1000000
/* More than a run may read: what is read at once, and the commits of one file. */
#define RUN_EXCESS 800000

/* Creates the file number @i of the spool of @uid, with @n_lines records. */
static void add_file(struct fixture *f, unsigned uid, unsigned i, unsigned n_lines)
{
	_cleanup_text_ struct text lines = TEXT_INIT;
	char name[CLAIM_NAME_SIZE];

	for (unsigned at = 0; at < n_lines; at++)
		text_addf(&lines, TURN_LINE, at);
	(void)snprintf(name, sizeof(name), CLAIM_PREFIX "%032x.%u", i, uid);
	append(&f->place, name, lines.data, lines.len);
}

static unsigned files_of(const struct fixture *f, unsigned uid)
{
	DIR *dir = opendir(f->place.spool);
	const struct dirent *entry;
	uid_t owner;
	unsigned n = 0;

	if (!dir)
		abort();
	while ((entry = readdir(dir)))
		n += claim_parse_name(CLAIM_PREFIX, entry->d_name, &owner) && owner == uid;
	(void)closedir(dir);
	return n;
}

static void a_run_is_bounded_for_all_files_together(void)
{
	_cleanup_fixture_ struct fixture f;
	struct audit_import import;
	unsigned n_runs = 0, n_records = 0;

	fixture_init(&f);
	recorder_deinit(&f.recorder);
	for (unsigned i = 0; i < 30; i++)
		add_file(&f, 7, i, 2000);
	for (unsigned i = 0; i < 100; i++)
		add_file(&f, 8, i, 1);
	do {
		import = take_some(&f, RUN_BYTES);
		expect(import.n_records * strlen(TURN_LINE) < RUN_BYTES + RUN_EXCESS);
		n_records += (unsigned)import.n_records;
		n_runs++;
	} while (import.has_more && n_runs < 1000);
	expect(n_runs > 10);
	expect_eq(n_records, 30 * 2000 + 100);
	/* The empty file of the recorder. */
	expect_eq(n_files(&f.place), 1);
	expect_eq(verify(&f, NULL, NULL), n_records + 1);
}

/* The import takes turns in any order of the names and uids. */
static void a_user_with_many_files_does_not_delay_one_with_few(void)
{
	static const unsigned many[] = { 7, 9 }, long_ones[] = { 9, 7 };

	for (size_t i = 0; i < N_ELEMENTS(many); i++) {
		_cleanup_fixture_ struct fixture f;
		unsigned n;

		fixture_init(&f);
		recorder_deinit(&f.recorder);
		for (n = 0; n < 200; n++)
			add_file(&f, many[i], n, 10);
		for (n = 0; n < 3; n++)
			add_file(&f, long_ones[i], 1000 + n, 40000);
		add_file(&f, 8, 500, 10);
		add_file(&f, 10, 500, 10);
		expect(take_some(&f, RUN_BYTES).has_more);
		expect_eq(files_of(&f, 8), 0);
		expect_eq(files_of(&f, 10), 0);
		expect(files_of(&f, many[i]) > 150);
	}
}

/* More users than a run serves, and each one has new records before its next turn. */
static void each_of_many_users_has_its_turn(void)
{
	_cleanup_fixture_ struct fixture f;
	unsigned n_turns[100] = { 0 }, n_taken = 0, least = 1000;

	fixture_init(&f);
	recorder_deinit(&f.recorder);
	for (unsigned run = 0; run < 40; run++) {
		for (unsigned uid = 0; uid < 100; uid++)
			if (files_of(&f, 1000 + uid) == 0)
				add_file(&f, 1000 + uid, run, 10);
		(void)take_some(&f, RUN_BYTES);
		for (unsigned uid = 0; uid < 100; uid++)
			n_turns[uid] += files_of(&f, 1000 + uid) == 0;
	}
	for (unsigned uid = 0; uid < 100; uid++) {
		n_taken += n_turns[uid];
		least = n_turns[uid] < least ? n_turns[uid] : least;
	}
	expect(n_taken < 40 * 100);
	expect(n_turns[0] <= least + 1 && n_turns[99] <= least + 1);
	expect(least * 100 + 100 >= n_taken);
}

/* A file that another process has open stays, and costs each run something. */
static void open_files_do_not_delay_the_other_ones_of_their_owner(void)
{
	_cleanup_fixture_ struct fixture f;
	int fds[60];
	unsigned n_runs;

	fixture_init(&f);
	recorder_deinit(&f.recorder);
	for (unsigned i = 0; i < N_ELEMENTS(fds); i++) {
		char path[128];

		add_file(&f, 7, i, 1);
		(void)snprintf(path, sizeof(path), "%s/" CLAIM_PREFIX "%032x.7", f.place.spool, i);
		fds[i] = open(path, O_RDWR | O_CLOEXEC);
		expect(fds[i] >= 0);
	}
	while (take_some(&f, RUN_BYTES).n_records > 0)
		;
	expect(take_some(&f, 20000).has_more);
	expect(!take_some(&f, RUN_BYTES).has_more);
	for (unsigned i = 0; i < 4; i++)
		add_file(&f, 7, 0xff000 + i, 1);
	/* A run may look at some files only. */
	for (n_runs = 0; files_of(&f, 7) > N_ELEMENTS(fds) && n_runs < 1000; n_runs++)
		(void)take_some(&f, 20000);
	expect(n_runs > 1 && n_runs <= N_ELEMENTS(fds) + 4);
	for (unsigned i = 0; i < N_ELEMENTS(fds); i++)
		(void)close(fds[i]);
	(void)take_some(&f, UINT64_MAX);
	/* The empty file of the recorder. */
	expect_eq(n_files(&f.place), 1);
	expect_eq(verify(&f, NULL, NULL), 65);
}

/* The share that owners with few records leave is used in the same run. */
static void what_a_user_leaves_of_its_share_is_used(void)
{
	_cleanup_fixture_ struct fixture f;
	struct audit_import import;

	fixture_init(&f);
	recorder_deinit(&f.recorder);
	for (unsigned uid = 0; uid < 8; uid++)
		add_file(&f, uid, 0, 1);
	add_file(&f, 9, 0, 200000);
	import = take_some(&f, 8000000);
	expect(import.has_more);
	expect(import.n_records * strlen(TURN_LINE) > 8000000 * 3 / 4);
}

/* The owner of a spool can make a file that is too long to be read to its end. */
static void a_hole_of_a_terabyte_is_passed_over(void)
{
	static const char line[] = "\n{" LOG_TIME ",\"event\":\"syscall\"}\n";
	_cleanup_fixture_ struct fixture f;
	char path[96];
	struct audit_import import;

	fixture_init(&f);
	recorder_deinit(&f.recorder);
	append(&f.place, CLAIMED, "a", 1);
	(void)snprintf(path, sizeof(path), "%s/" CLAIMED, f.place.spool);
	if (truncate(path, (off_t)1 << 40) < 0)
		skip("no file can be that long here");
	append(&f.place, CLAIMED, line, strlen(line));
	import = take(&f.place, f.log);
	expect_eq(import.n_records, 1);
	expect_eq(import.n_refused, 1);
	expect_eq(n_files(&f.place), 1);
	expect_eq(verify(&f, NULL, NULL), 3);
}

static const struct test tests[] = {
	TEST(what_waits_is_taken_and_the_file_is_gone),
	TEST(a_file_that_a_writer_has_open_is_kept_and_read_further),
	TEST(nothing_to_take_is_no_error),
	TEST(a_line_that_is_no_record_leaves_one_that_says_so),
	TEST(a_torn_line_is_said_and_the_next_one_is_whole),
	TEST(an_incomplete_line_waits_while_a_writer_has_it_open),
	TEST(a_line_of_any_length_is_passed_over),
	TEST(a_spool_file_claimed_by_another_process_is_imported),
	TEST(refuses_a_spool_that_other_users_can_write),
	TEST(a_file_that_has_become_shorter_is_not_read_on),
	TEST(a_record_says_whose_file_it_came_from),
	TEST(names_that_nothing_claims_are_left_alone),
	TEST(one_file_that_is_refused_keeps_no_other_out),
	TEST(a_long_file_is_taken_in_parts),
	TEST(what_is_appended_during_an_import_is_taken_in_parts),
	TEST(a_line_that_is_longer_than_a_part_is_refused_in_pieces),
	TEST(a_file_with_a_lease_does_not_delay_other_users),
	TEST(a_file_that_cannot_be_opened_does_not_delay_other_users),
	TEST(a_run_is_bounded_for_all_files_together),
	TEST(a_user_with_many_files_does_not_delay_one_with_few),
	TEST(each_of_many_users_has_its_turn),
	TEST(open_files_do_not_delay_the_other_ones_of_their_owner),
	TEST(what_a_user_leaves_of_its_share_is_used),
	TEST(a_hole_of_a_terabyte_is_passed_over),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
