/* SPDX-License-Identifier: MIT */

#include "collect/collect.h"

#include <sqlite3.h>

#include "audit-log-place.h"
#include "base/log.h"

static const struct log silent = { .tool = "test",
				   .most = LOG_LEVEL_ERROR,
				   .journal_fd = -EBADF,
				   .stderr_fd = -EBADF };

static int verify(struct audit_log *log, const struct log_place *place)
{
	struct sbx_error err = { .code = 0 };
	int directory = open(place->log, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = collect_verify(log, directory, &silent, &err);

	if (r < 0)
		printf("# %s: %s\n", err.what, err.why);
	(void)close(directory);
	return r;
}

static void add(struct audit_log *log, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		expect_eq(log_add_n(log, "syscall", i, NULL), 0);
	expect_eq(audit_log_commit(log, NULL), 0);
}

struct search {
	const char *event;
	unsigned n;
	char body[512]; /* of the last match */
};

static int look(void *userdata, const struct store_row *row, struct sbx_error *err)
{
	struct search *search = userdata;

	if (!row_is_of(row, search->event))
		return 0;
	search->n++;
	(void)snprintf(search->body, sizeof(search->body), "%.*s", (int)row->n_body,
		       (const char *)row->body);
	return 0;
}

static struct search find(const struct log_place *place, const char *event)
{
	struct search search = { .event = event };
	_cleanup_store_ struct store *store = NULL;
	int directory = open(place->log, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	expect_eq(store_open_to_read(directory, SEGMENT, &store, NULL), 0);
	expect_eq(store_begin_reading(store, NULL), 0);
	expect_eq(store_each(store, 0, UINT64_MAX, look, &search, NULL), 0);
	(void)close(directory);
	return search;
}

static void execute(const struct log_place *place, const char *sql)
{
	sqlite3 *db = NULL;
	char path[96];

	(void)snprintf(path, sizeof(path), "%s/" SEGMENT, place->log);
	expect_eq(sqlite3_open(path, &db), SQLITE_OK);
	expect_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	expect_eq(sqlite3_close(db), SQLITE_OK);
}

static void an_intact_log_is_recorded_and_goes_on_from_there(void)
{
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log;

	log_place_init(&place);
	log = log_made(&place);
	add(log, 10);
	/* Ten unsigned records, as after a crash, are not damage. */
	expect_eq(verify(log, &place), 1);
	expect(strstr(find(&place, "log_verified").body,
		      "\"result\":\"intact\",\"begin\":0,\"size\":11,") != NULL);
	(void)audit_log_free(log);
	log = log_opened(&place);
	expect_eq(verify(log, &place), 1);
	/* The record about the first verification is the first new one. */
	expect(strstr(find(&place, "log_verified").body,
		      "\"result\":\"intact\",\"begin\":1,\"size\":12,") != NULL);
	(void)audit_log_free(log);
	log = log_opened(&place);
	expect_eq(verify(log, &place), 1);
	expect(strstr(find(&place, "log_verified").body,
		      "\"result\":\"intact\",\"begin\":12,\"size\":13,") != NULL);
	(void)audit_log_free(log);
	expect_eq(find(&place, "log_verified").n, 3);
	expect_eq(verify_log(&place, NULL, NULL), 14);
}

static void a_break_is_recorded_and_records_are_taken(void)
{
	_cleanup_log_place_ struct log_place place;
	struct search broken;
	struct audit_log *log;

	log_place_init(&place);
	log = log_made(&place);
	add(log, 10);
	expect_eq(audit_log_checkpoint(log, NULL), 0);
	(void)audit_log_free(log);
	execute(&place, "UPDATE records SET body=x'7b7d' WHERE seq=4");
	log = log_opened(&place);
	expect_eq(verify(log, &place), 0);
	expect_eq(log_add_n(log, "syscall", 1, NULL), 0);
	expect_eq(audit_log_commit(log, NULL), 0);
	(void)audit_log_free(log);
	broken = find(&place, "chain_broken");
	expect_eq(broken.n, 1);
	expect(strstr(broken.body, "\"result\":\"tampered\"") != NULL);
	expect(strstr(broken.body, "\"first_bad\":4,") != NULL);
	expect_eq(find(&place, "log_verified").n, 0);
	/* No state was stored after the damage, so the next run finds it again. */
	log = log_opened(&place);
	expect_eq(verify(log, &place), 0);
	(void)audit_log_free(log);
	expect_eq(find(&place, "chain_broken").n, 2);
}

static void a_tail_that_was_cut_off_is_found(void)
{
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log;

	log_place_init(&place);
	log = log_made(&place);
	add(log, 10);
	expect_eq(audit_log_checkpoint(log, NULL), 0);
	expect_eq(verify(log, &place), 1);
	(void)audit_log_free(log);
	execute(&place, "DELETE FROM checkpoints WHERE size>1");
	execute(&place, "DELETE FROM records WHERE seq>5");
	log = log_opened(&place);
	expect_eq(verify(log, &place), 0);
	(void)audit_log_free(log);
	expect_eq(find(&place, "chain_broken").n, 1);
}

static void a_state_that_cannot_be_read_makes_it_verify_everything(void)
{
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log;
	char path[96];
	int fd;

	log_place_init(&place);
	log = log_made(&place);
	expect_eq(audit_log_checkpoint(log, NULL), 0);
	(void)snprintf(path, sizeof(path), "%s/verified", place.log);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	expect_eq(write(fd, "sbx", 3), 3);
	(void)close(fd);
	expect_eq(verify(log, &place), 1);
	expect(strstr(find(&place, "log_verified").body, "\"begin\":0,") != NULL);
	(void)audit_log_free(log);
}

static const struct test tests[] = {
	TEST(an_intact_log_is_recorded_and_goes_on_from_there),
	TEST(a_break_is_recorded_and_records_are_taken),
	TEST(a_tail_that_was_cut_off_is_found),
	TEST(a_state_that_cannot_be_read_makes_it_verify_everything),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
