/* SPDX-License-Identifier: MIT */

/*
 * A log of three epochs, and checkpoints that an attacker with a stolen key could make: with the
 * wrong epoch, at the wrong size, or for another log.
 */

#include <errno.h>

#include <sbx/error.h>

#include "audit-hash-rig.h"
#include "audit/key.h"
#include "audit/checkpoint.h"
#include "base/text.h"

#define ORIGIN "sbx-audit/000102030405060708090a0b0c0d0e0f"
#define N_EPOCHS 3

struct rig {
	struct audit_key keys[N_EPOCHS];
	struct note_verifier verifiers[N_EPOCHS];
	struct audit_trail trail;
	struct sbx_error err;
};

static struct rig make_rig(void)
{
	struct rig rig = {};

	for (size_t i = 0; i < N_EPOCHS; i++)
		if (key_make(i, &rig.keys[i], NULL) < 0 ||
		    note_verifier_make(ORIGIN, rig.keys[i].public_key, &rig.verifiers[i]) < 0)
			abort();
	trail_begin(&rig.trail, &rig.verifiers[0], 0);
	return rig;
}

/* A checkpoint of size @size in epoch @epoch. */
static struct audit_checkpoint checkpoint_of(uint64_t size, uint64_t epoch)
{
	struct audit_checkpoint checkpoint = { .origin = ORIGIN, .size = size, .epoch = epoch };

	memset(checkpoint.root.bytes, (int)size, AUDIT_HASH_SIZE);
	memset(checkpoint.head.bytes, (int)size + 1, AUDIT_HASH_SIZE);
	return checkpoint;
}

static struct audit_checkpoint last_of_epoch(const struct rig *rig, uint64_t size, uint64_t epoch)
{
	struct audit_checkpoint checkpoint = checkpoint_of(size, epoch);

	checkpoint.is_last_of_epoch = true;
	memcpy(checkpoint.next_key, rig->keys[epoch + 1].public_key, SIGNATURE_KEY_SIZE);
	return checkpoint;
}

/* Signs the checkpoint with the key of epoch @signer and passes it to the trail. */
static int follow(struct rig *rig, const struct audit_checkpoint *checkpoint, size_t signer)
{
	_cleanup_text_ struct text note = TEXT_INIT;

	if (checkpoint_sign(&note, checkpoint, &rig->verifiers[signer],
			    rig->keys[signer].private_key, NULL) < 0)
		abort();
	return trail_follow(&rig->trail, note.data, note.len, &rig->err);
}

/* Expects a refusal that does not change the trail. */
static void expect_refused(struct rig *rig, const struct audit_checkpoint *checkpoint,
			   size_t signer, int code)
{
	const struct audit_trail before = rig->trail;

	rig->err = (struct sbx_error){ 0 };
	expect_eq(follow(rig, checkpoint, signer), code);
	expect_eq(rig->trail.epoch, before.epoch);
	expect_eq(rig->trail.has_last, before.has_last);
	expect_eq(rig->trail.last.size, before.last.size);
	expect(memcmp(rig->trail.verifier.public_key, before.verifier.public_key,
		      SIGNATURE_KEY_SIZE) == 0);
	expect_eq(rig->err.code, code);
	expect(rig->err.why[0] && rig->err.fix[0]);
}

static void follows_a_log_from_its_first_key_through_all_epochs(void)
{
	struct rig rig = make_rig();
	const struct audit_checkpoint row[] = {
		checkpoint_of(1, 0), checkpoint_of(5, 0),	 last_of_epoch(&rig, 5, 0),
		checkpoint_of(9, 1), last_of_epoch(&rig, 20, 1), checkpoint_of(20, 2),
	};

	for (size_t i = 0; i < N_ELEMENTS(row); i++) {
		expect_eq(follow(&rig, &row[i], row[i].epoch), 0);
		expect_eq(rig.trail.last.size, row[i].size);
		expect_eq(rig.trail.epoch, row[i].epoch + row[i].is_last_of_epoch);
	}
}

static void an_epoch_may_consist_of_its_last_checkpoint(void)
{
	struct rig rig = make_rig();
	const struct audit_checkpoint first = last_of_epoch(&rig, 1, 0),
				      second = last_of_epoch(&rig, 1, 1);

	expect_eq(follow(&rig, &first, 0), 0);
	expect_eq(follow(&rig, &second, 1), 0);
	expect_eq(rig.trail.epoch, 2);
}

static void refuses_a_checkpoint_signed_with_a_later_key(void)
{
	struct rig rig = make_rig();
	const struct audit_checkpoint forged = checkpoint_of(5, 0), later = checkpoint_of(5, 1);

	expect_refused(&rig, &forged, 1, -ENOKEY);
	expect_refused(&rig, &later, 1, -ENOKEY);
}

static void refuses_a_checkpoint_signed_with_a_key_that_is_past(void)
{
	struct rig rig = make_rig();
	const struct audit_checkpoint last = last_of_epoch(&rig, 5, 0), old = checkpoint_of(6, 0),
				      new = checkpoint_of(6, 1);

	expect_eq(follow(&rig, &last, 0), 0);
	expect_refused(&rig, &old, 0, -ENOKEY);
	expect_refused(&rig, &new, 0, -ENOKEY);
	expect_eq(follow(&rig, &new, 1), 0);
}

static void refuses_an_epoch_that_was_left_out(void)
{
	struct rig rig = make_rig();
	const struct audit_checkpoint last = last_of_epoch(&rig, 5, 0), far = checkpoint_of(6, 2);

	expect_eq(follow(&rig, &last, 0), 0);
	expect_refused(&rig, &far, 2, -ENOKEY);
}

static void refuses_a_number_that_is_not_that_of_the_epoch(void)
{
	struct rig rig = make_rig();
	const struct audit_checkpoint last = last_of_epoch(&rig, 5, 0), old = checkpoint_of(6, 0),
				      far = checkpoint_of(6, 2);

	expect_refused(&rig, &far, 0, -EBADMSG);
	expect_eq(follow(&rig, &last, 0), 0);
	expect_refused(&rig, &old, 1, -EBADMSG);
	expect_refused(&rig, &far, 1, -EBADMSG);
}

static void refuses_a_log_that_was_cut(void)
{
	struct rig rig = make_rig();
	const struct audit_checkpoint large = checkpoint_of(9, 0), small = checkpoint_of(8, 0);

	expect_eq(follow(&rig, &large, 0), 0);
	expect_refused(&rig, &small, 0, -EBADMSG);
	expect(strstr(rig.err.why, "covers more records") != NULL);
}

static void refuses_another_log_of_the_same_size(void)
{
	struct rig rig = make_rig();
	const struct audit_checkpoint first = checkpoint_of(9, 0);
	struct audit_checkpoint root = first, head = first;

	root.root.bytes[0] ^= 1;
	head.head.bytes[0] ^= 1;
	expect_eq(follow(&rig, &first, 0), 0);
	expect_refused(&rig, &root, 0, -EBADMSG);
	expect_refused(&rig, &head, 0, -EBADMSG);
	expect_eq(follow(&rig, &first, 0), 0);
}

static void refuses_what_is_no_note_and_stays_where_it_was(void)
{
	struct rig rig = make_rig();
	const struct audit_checkpoint first = checkpoint_of(9, 0);

	expect_eq(follow(&rig, &first, 0), 0);
	expect_eq(trail_follow(&rig.trail, "text\n", 5, &rig.err), -EBADMSG);
	expect_eq(rig.trail.last.size, 9);
}

/* A clock may be set back. */
static void accepts_times_that_go_back(void)
{
	struct rig rig = make_rig();
	struct audit_checkpoint first = checkpoint_of(5, 0), second = checkpoint_of(6, 0);

	first.last_usec = 1000;
	expect_eq(follow(&rig, &first, 0), 0);
	expect_eq(follow(&rig, &second, 0), 0);
}

static const struct test tests[] = {
	TEST(follows_a_log_from_its_first_key_through_all_epochs),
	TEST(an_epoch_may_consist_of_its_last_checkpoint),
	TEST(refuses_a_checkpoint_signed_with_a_later_key),
	TEST(refuses_a_checkpoint_signed_with_a_key_that_is_past),
	TEST(refuses_an_epoch_that_was_left_out),
	TEST(refuses_a_number_that_is_not_that_of_the_epoch),
	TEST(refuses_a_log_that_was_cut),
	TEST(refuses_another_log_of_the_same_size),
	TEST(refuses_what_is_no_note_and_stays_where_it_was),
	TEST(accepts_times_that_go_back),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
