/* SPDX-License-Identifier: MIT */

/*
 * Continues a verification at the end of a segment, a frequent case because a checkpoint closes
 * each segment
 */

#include <signal.h>
#include <sqlite3.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "audit-archive-rig.h"
#include "audit/log-internal.h"

#define FULL true

struct joint {
	struct open_log own;
	struct verified_state state; /* the end of the log that joint_make() has made */
};

static void joint_deinit(struct joint *joint)
{
	open_log_deinit(&joint->own);
}
#define _cleanup_joint_ _cleanup_(joint_deinit)

static struct verify_report verified_joint(const struct joint *joint,
					   const struct verified_state *since, bool is_full,
					   struct verified_state *ret_state)
{
	const struct verify_options options = { .since = since, .is_full = is_full, .now_usec = 1 };

	return verified(&joint->own.place, options, ret_state);
}

/* Expects that the verification continues after the state and does not repeat what came before. */
static void expect_going_on(struct joint *joint)
{
	struct verified_state state = { .origin = "" };
	struct verify_report report = verified_joint(joint, &joint->state, false, &state);

	expect_verdict(report, VERIFY_INTACT);
	expect_eq(report.begin, joint->state.frontier.size);
	expect_verdict(verified_joint(joint, &state, false, NULL), VERIFY_INTACT);
	expect_verdict(verified_joint(joint, &joint->state, FULL, &joint->state), VERIFY_INTACT);
	expect_verdict(verified_joint(joint, &joint->state, false, &joint->state), VERIFY_INTACT);
}

static void verify_to_the_end(struct joint *joint)
{
	expect_verdict(verified_joint(joint, NULL, false, &joint->state), VERIFY_INTACT);
}

static void joint_make(struct joint *joint)
{
	*joint = (struct joint){ .own = { .log = NULL } };
	open_log_init(&joint->own, 0);
	add_signed(joint->own.log, 5);
	verify_to_the_end(joint);
}

static void rotate(struct joint *joint)
{
	expect_eq(audit_log_rotate(joint->own.log, NULL), 1);
}

static void change(const struct joint *joint, const char *name, const char *sql)
{
	sqlite3 *db = NULL;
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", joint->own.place.log, name);
	expect_eq(sqlite3_open(path, &db), SQLITE_OK);
	expect_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	expect_eq(sqlite3_close(db), SQLITE_OK);
}

/* ---- unchanged logs ---- */

static void a_segment_that_was_closed_behind_the_state_is_gone_on_from(void)
{
	_cleanup_joint_ struct joint joint;

	joint_make(&joint);
	rotate(&joint);
	expect_going_on(&joint);
	/* A full run also stores the state at that size. */
	expect_eq(joint.state.frontier.size, 6);
	add_signed(joint.own.log, 3);
	expect_going_on(&joint);
}

static void a_state_is_gone_on_from_over_two_segments(void)
{
	_cleanup_joint_ struct joint joint;

	joint_make(&joint);
	rotate(&joint);
	add_signed(joint.own.log, 3);
	rotate(&joint);
	expect_going_on(&joint);
	add_signed(joint.own.log, 3);
	expect_going_on(&joint);
}

static void a_state_is_gone_on_from_when_its_segment_is_an_archive(void)
{
	_cleanup_joint_ struct joint joint;

	joint_make(&joint);
	rotate(&joint);
	archive_all(joint.own.log);
	expect(has_file(&joint.own.place, FIRST_ARCHIVE));
	expect_going_on(&joint);
	add_signed(joint.own.log, 3);
	rotate(&joint);
	archive_all(joint.own.log);
	expect_going_on(&joint);
}

static void a_state_is_gone_on_from_where_a_key_has_ended(void)
{
	for (int is_archived = 0; is_archived < 2; is_archived++) {
		_cleanup_joint_ struct joint joint;

		joint_make(&joint);
		expect_eq(audit_log_change_key(joint.own.log, NULL), 0);
		verify_to_the_end(&joint);
		expect_eq(joint.state.epoch, 1);
		rotate(&joint);
		if (is_archived)
			archive_all(joint.own.log);
		expect_going_on(&joint);
		add_signed(joint.own.log, 2);
		expect_going_on(&joint);
	}
}

/* The archive with the state's checkpoint was deleted; only the copy in the next segment is left.
 */
static void a_state_is_gone_on_from_when_its_segment_is_deleted(void)
{
	static const struct retain_options options = {
		.policy = { .archive_usec = 1, .max_bytes = UINT64_MAX },
		.now_usec = UINT64_MAX,
		.trusts_clock = true,
	};
	struct retain_report report = { .n_deleted = 0 };
	_cleanup_joint_ struct joint joint;

	joint_make(&joint);
	rotate(&joint);
	add_signed(joint.own.log, 2);
	expect_eq(audit_log_retain(joint.own.log, &options, &report, NULL), 0);
	expect_eq(report.n_deleted, 1);
	expect_verdict(verified_joint(&joint, &joint.state, false, &joint.state), VERIFY_INTACT);
	expect_verdict(verified_joint(&joint, &joint.state, false, NULL), VERIFY_INTACT);
}

static void do_anything(struct audit_log *log, uint32_t random)
{
	switch (random >> 24 & 7) {
	case 0:
		(void)audit_log_rotate(log, NULL);
		break;
	case 1:
		if ((random >> 16 & 1) == 0)
			(void)audit_log_change_key(log, NULL);
		break;
	case 2:
		if ((random >> 16 & 3) == 0)
			archive_all(log);
		break;
	case 3:
		(void)audit_log_checkpoint(log, NULL);
		break;
	default:
		(void)log_add_n(log, "syscall", random >> 8 & 63, NULL);
	}
}

/* Random operations of a writer, with verifications in between. */
static void no_clean_log_of_segments_is_accused(void)
{
	unsigned n_logs = test_is_slow() ? 100 : 6;
	uint32_t random = 7;

	for (unsigned i = 0; i < n_logs; i++) {
		_cleanup_joint_ struct joint joint;

		joint_make(&joint);
		for (unsigned step = 0; step < 80; step++) {
			random = random * 1664525 + 1013904223;
			do_anything(joint.own.log, random);
			if (step % 8 != i % 8)
				continue;
			expect_eq(audit_log_commit(joint.own.log, NULL), 0);
			expect_verdict(verified_joint(&joint, &joint.state, step % 3 == 0,
						      &joint.state),
				       VERIFY_INTACT);
		}
	}
}

static void write_on(const struct log_place *place)
{
	struct audit_log *log = log_opened(place);

	/* A failed test does not kill it. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned i = 0; i < 1000000; i++) {
		(void)log_add_n(log, "syscall", i, NULL);
		if (i % 3 == 0)
			(void)audit_log_commit(log, NULL);
		if (i % 20 == 19)
			(void)audit_log_change_key(log, NULL);
		if (i % 50 == 49)
			(void)audit_log_rotate(log, NULL);
	}
	_exit(0);
}

static void a_log_of_segments_that_is_written_to_is_not_accused(void)
{
	unsigned n = test_is_slow() ? 100 : 20;
	_cleanup_joint_ struct joint joint;
	pid_t pid;

	joint_make(&joint);
	joint.own.log = audit_log_free(joint.own.log);
	pid = fork();
	expect(pid >= 0);
	if (pid == 0)
		write_on(&joint.own.place);
	for (unsigned i = 0; i < n; i++)
		expect_verdict(verified_joint(&joint, i % 4 == 0 ? NULL : &joint.state, false,
					      &joint.state),
			       VERIFY_INTACT);
	expect_eq(kill(pid, SIGKILL), 0);
	expect_eq(waitpid(pid, NULL, 0), pid);
}

/* ---- changes there ---- */

static void a_copy_that_is_missing_is_missed(void)
{
	_cleanup_joint_ struct joint joint;

	joint_make(&joint);
	rotate(&joint);
	add_signed(joint.own.log, 3);
	change(&joint, "00000000000000000006.db", "DELETE FROM checkpoints WHERE size=6");
	expect_verdict(verified_joint(&joint, NULL, false, NULL), VERIFY_INCOMPLETE);
	expect_verdict(verified_joint(&joint, &joint.state, false, NULL), VERIFY_INCOMPLETE);
}

static void the_checkpoint_of_the_state_is_missed(void)
{
	_cleanup_joint_ struct joint joint;

	joint_make(&joint);
	add_signed(joint.own.log, 3);
	change(&joint, SEGMENT, "DELETE FROM checkpoints WHERE size=6");
	expect_verdict(verified_joint(&joint, &joint.state, false, NULL), VERIFY_INCOMPLETE);
}

static void another_checkpoint_in_the_place_of_that_of_the_state_is_found(void)
{
	static const char *const changes[] = {
		"UPDATE checkpoints SET note='' WHERE size=6",
		"UPDATE checkpoints SET note=replace(note,'epoch 0','epoch 1') WHERE size=6",
		"UPDATE checkpoints SET note=replace(note,'time 1','time 2') WHERE size=6",
	};
	static const char *const places[] = { SEGMENT, "00000000000000000006.db" };

	for (size_t i = 0; i < N_ELEMENTS(changes); i++)
		for (size_t k = 0; k < N_ELEMENTS(places); k++) {
			_cleanup_joint_ struct joint joint;

			joint_make(&joint);
			rotate(&joint);
			add_signed(joint.own.log, 3);
			change(&joint, places[k], changes[i]);
			expect_verdict(verified_joint(&joint, &joint.state, false, NULL),
				       VERIFY_TAMPERED);
		}
}

static const struct test tests[] = {
	TEST(a_segment_that_was_closed_behind_the_state_is_gone_on_from),
	TEST(a_state_is_gone_on_from_over_two_segments),
	TEST(a_state_is_gone_on_from_when_its_segment_is_an_archive),
	TEST(a_state_is_gone_on_from_where_a_key_has_ended),
	TEST(a_state_is_gone_on_from_when_its_segment_is_deleted),
	TEST(no_clean_log_of_segments_is_accused),
	TEST(a_log_of_segments_that_is_written_to_is_not_accused),
	TEST(a_copy_that_is_missing_is_missed),
	TEST(the_checkpoint_of_the_state_is_missed),
	TEST(another_checkpoint_in_the_place_of_that_of_the_state_is_found),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
