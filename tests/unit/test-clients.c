/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "service/clients.h"
#include "test.h"

#define N_MAX 16 /* a quarter is 4, strangers together have 12 */
#define N_MEMBERS 64

struct rig {
	struct clients clients;
	struct clients_member members[N_MEMBERS];
	size_t n_members;
	struct log log;
};

static struct clients_member *dropped;
static struct rig *present;

static void drop(struct clients_member *member)
{
	dropped = member;
	clients_leave(&present->clients, member);
}

static void rig_init(struct rig *rig, uint64_t idle_usec)
{
	*rig = (struct rig){ .log = { .tool = "test",
				      .most = LOG_LEVEL_ERROR,
				      .journal_fd = -EBADF,
				      .stderr_fd = STDERR_FILENO } };
	clients_init(&rig->clients, N_MAX, &rig->log, drop);
	expect_eq(rig->clients.n_max, N_MAX);
	rig->clients.idle_usec = idle_usec;
	present = rig;
	dropped = NULL;
}

static void rig_deinit(struct rig *rig)
{
	for (size_t i = 0; i < rig->n_members; i++)
		clients_leave(&rig->clients, &rig->members[i]);
	expect_eq(rig->clients.n_strangers_in, 0);
	expect(rig->clients.strangers == NULL && rig->clients.idlest == NULL);
}

#define _cleanup_rig_ _cleanup_(rig_deinit)

static int admit(struct rig *rig, uid_t uid)
{
	const struct clients_who who = { .is_trusted = uid == 0, .uid = uid };

	return clients_admit(&rig->clients, &rig->members[rig->n_members++], &who);
}

static void admit_n(struct rig *rig, uid_t uid, size_t n)
{
	while (n-- > 0)
		expect_eq(admit(rig, uid), 0);
}

static void four_strangers_leave_a_quarter_to_root(void)
{
	_cleanup_rig_ struct rig rig;

	rig_init(&rig, UINT64_MAX);
	for (uid_t uid = 1; uid <= 3; uid++)
		admit_n(&rig, uid, 4);
	expect_eq(admit(&rig, 4), -EUSERS);
	expect_eq(rig.clients.n_strangers_in, 12);
	admit_n(&rig, 0, 4);
	expect(dropped == NULL);
}

static void one_stranger_has_a_quarter_and_a_sandbox_its_own(void)
{
	_cleanup_rig_ struct rig rig;
	struct clients_who who = { .uid = 1 };

	rig_init(&rig, UINT64_MAX);
	admit_n(&rig, 1, 4);
	expect_eq(admit(&rig, 1), -EUSERS);
	who.sandbox = &rig;
	expect_eq(clients_admit(&rig.clients, &rig.members[rig.n_members++], &who), 0);
}

static void the_idlest_makes_room_for_another_of_the_same_stranger(void)
{
	_cleanup_rig_ struct rig rig;

	rig_init(&rig, 0);
	admit_n(&rig, 1, 4);
	clients_active(&rig.clients, &rig.members[0]);
	expect_eq(admit(&rig, 1), 0);
	expect(dropped == &rig.members[1]);
	expect_eq(rig.clients.n_strangers_in, 4);
}

static void who_has_most_makes_room_for_who_has_less(void)
{
	_cleanup_rig_ struct rig rig;

	rig_init(&rig, 0);
	admit_n(&rig, 1, 4);
	admit_n(&rig, 2, 3);
	admit_n(&rig, 3, 3);
	admit_n(&rig, 4, 2);
	expect_eq(admit(&rig, 5), 0);
	expect(dropped == &rig.members[0]);
	/* Three each: the fourth would only take from another what that one takes back. */
	expect_eq(admit(&rig, 4), 0);
	expect(dropped == &rig.members[10]);
	expect_eq(rig.clients.n_strangers_in, 12);
}

static void none_that_has_work_or_is_active_makes_room(void)
{
	_cleanup_rig_ struct rig rig;

	rig_init(&rig, 0);
	admit_n(&rig, 1, 4);
	rig.members[0].is_busy = rig.members[1].is_busy = true;
	expect_eq(admit(&rig, 1), 0);
	expect(dropped == &rig.members[2]);
	rig.members[3].is_busy = rig.members[4].is_busy = true;
	expect_eq(admit(&rig, 1), -EUSERS);
	rig.members[3].is_busy = false;
	rig.clients.idle_usec = CLIENTS_IDLE_USEC * 360;
	expect_eq(admit(&rig, 1), -EUSERS);
	expect_eq(rig.clients.n_strangers_in, 4);
}

static void a_place_that_was_left_is_free(void)
{
	_cleanup_rig_ struct rig rig;

	rig_init(&rig, UINT64_MAX);
	for (uid_t uid = 1; uid <= 3; uid++)
		admit_n(&rig, uid, 4);
	clients_leave(&rig.clients, &rig.members[5]);
	clients_leave(&rig.clients, &rig.members[5]);
	expect_eq(admit(&rig, 4), 0);
	expect_eq(admit(&rig, 4), -EUSERS);
}

static void messages_are_bounded_and_what_is_left_out_is_counted(void)
{
	struct rate rate = { .n = 0 };
	uint64_t now = 1, left_out = 0;
	unsigned n = 0;

	for (int i = 0; i < 1000; i++)
		n += rate_allows(&rate, now++, &left_out);
	expect_eq(n, RATE_MESSAGES);
	expect_eq(left_out, 0);
	expect(rate_allows(&rate, now + RATE_USEC, &left_out));
	expect_eq(left_out, 1000 - RATE_MESSAGES);
	expect(rate_allows(&rate, now + RATE_USEC, &left_out));
	expect_eq(left_out, 0);
}

static const struct test tests[] = {
	TEST(four_strangers_leave_a_quarter_to_root),
	TEST(one_stranger_has_a_quarter_and_a_sandbox_its_own),
	TEST(the_idlest_makes_room_for_another_of_the_same_stranger),
	TEST(who_has_most_makes_room_for_who_has_less),
	TEST(none_that_has_work_or_is_active_makes_room),
	TEST(a_place_that_was_left_is_free),
	TEST(messages_are_bounded_and_what_is_left_out_is_counted),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
