/* SPDX-License-Identifier: MIT */

/* Starting, pinning and ending the two processes (see ring-pair.h) */

#include "ring-pair.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "percentile.h"

#define TIMEOUT_MS 60000

/* Shared by the tool and both processes. */
struct pair_memory {
	uint32_t n_ready;
	struct pair_times times;
	struct sbx_error errors[2];
	_Alignas(4096) uint8_t shared[PAIR_SHARED_SIZE];
};

/* ---- the pair ---- */

static int choose_cpus(int cpus[2])
{
	cpu_set_t allowed;
	int n = 0;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return -errno;
	for (int cpu = 0; cpu < CPU_SETSIZE && n < 2; cpu++)
		if (CPU_ISSET(cpu, &allowed))
			cpus[n++] = cpu;
	if (n == 1)
		cpus[1] = cpus[0];
	return n > 0 ? 0 : -ENODEV;
}

int pair_init(struct pair *ret, struct sbx_error *err)
{
	int r = choose_cpus(ret->cpus);

	if (r < 0)
		return sbx_error_what(err, r, "cannot read the CPU affinity of this process");

	void *memory = mmap(NULL, sizeof(struct pair_memory), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (memory == MAP_FAILED)
		return sbx_error_what(err, -errno, "cannot map memory for two processes");
	ret->memory = memory;
	return 0;
}

void pair_deinit(struct pair *pair)
{
	if (pair->memory)
		(void)munmap(pair->memory, sizeof(*pair->memory));
	pair->memory = NULL;
}

/* ---- inside of a process ---- */

static void pin(int cpu)
{
	cpu_set_t only;

	CPU_ZERO(&only);
	CPU_SET(cpu, &only);
	(void)sched_setaffinity(0, sizeof(only), &only);
}

_Noreturn static void be(enum pair_side side, const struct pair *pair, struct pair_run *run)
{
	struct sbx_error *err = &pair->memory->errors[side];
	int r;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!run->contender->is_unpinned)
		pin(pair->cpus[side]);
	r = side == PAIR_NEAR ? run->contender->near(run, err) : run->contender->far(run, err);
	if (r < 0 && err->code == 0)
		(void)sbx_error_what(err, r, "cannot exchange messages");
	_exit(r < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
}

void pair_meet(struct pair_run *run)
{
	uint32_t wanted = run->contender->far ? 2 : 1;

	(void)__atomic_add_fetch(run->n_ready, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(run->n_ready, __ATOMIC_SEQ_CST) < wanted)
		(void)sched_yield();
}

void pair_clock_start(struct pair_clock *clock, struct pair_run *run)
{
	*clock = (struct pair_clock){
		.times = run->times,
		.block = run->contender->block,
		.left = run->contender->block,
		.n_warm_up = pair_warm_up_of(run->contender),
		.start = pair_now_ns(),
	};
}

void pair_clock_turn(struct pair_clock *clock)
{
	double ns = (double)(pair_now_ns() - clock->start) / clock->block;

	if (clock->n_warm_up > 0)
		clock->n_warm_up--;
	else if (clock->times->n < PAIR_BLOCKS_MAX)
		clock->times->ns[clock->times->n++] = ns;
	clock->left = clock->block;
	clock->start = pair_now_ns();
}

void pair_add_time(struct pair_run *run, double ns)
{
	if (run->times->n < PAIR_BLOCKS_MAX)
		run->times->ns[run->times->n++] = ns;
}

/* ---- the tool ---- */

/* The started processes; killed at the end of their scope. */
struct children {
	pid_t pids[2]; /* 0: none, or it has ended */
	int pidfds[2];
};

/* Returns whether it ended as it should. */
static bool reap(struct children *children, enum pair_side side, bool may_be_killed)
{
	siginfo_t end = { .si_code = 0 };

	while (waitid(P_PID, (id_t)children->pids[side], &end, WEXITED) < 0 && errno == EINTR)
		;
	children->pids[side] = 0;
	if (end.si_code == CLD_KILLED && may_be_killed)
		return true;
	return end.si_code == CLD_EXITED && end.si_status == EXIT_SUCCESS;
}

static void children_end(struct children *children)
{
	for (int i = 0; i < 2; i++) {
		if (children->pids[i] > 0) {
			(void)kill(children->pids[i], SIGKILL);
			(void)reap(children, i, true);
		}
		close_fd(&children->pidfds[i]);
	}
}

static int start(struct children *children, enum pair_side side, const struct pair *pair,
		 struct pair_run *run, const int sockets[2])
{
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		(void)close(sockets[!side]);
		run->socket = sockets[side];
		be(side, pair, run);
	}
	children->pids[side] = pid;
	children->pidfds[side] = pidfd_of(pid);
	return children->pidfds[side] < 0 ? children->pidfds[side] : 0;
}

/* 0 when both have ended as they should, -EIO when one has not. */
static int await(struct children *children, bool far_is_killed)
{
	struct pollfd polls[2];

	while (children->pids[PAIR_NEAR] > 0 || children->pids[PAIR_FAR] > 0) {
		for (int i = 0; i < 2; i++)
			polls[i] = (struct pollfd){
				.fd = children->pids[i] > 0 ? children->pidfds[i] : -1,
				.events = POLLIN,
			};
		if (poll(polls, 2, TIMEOUT_MS) == 0)
			return -ETIMEDOUT;
		for (int i = 0; i < 2; i++)
			if (polls[i].revents && !reap(children, i, far_is_killed && i == PAIR_FAR))
				return -EIO;
	}
	return 0;
}

/* The first of the two whose function said why. */
static int explain(const struct pair_memory *memory, int r, struct sbx_error *err)
{
	for (int i = 0; i < 2; i++) {
		if (memory->errors[i].code == 0)
			continue;
		if (err)
			*err = memory->errors[i];
		return memory->errors[i].code;
	}
	(void)sbx_error_what(err, r, "cannot measure with two processes");
	if (r == -ETIMEDOUT)
		sbx_error_why(err, "they did not end within %d seconds", TIMEOUT_MS / 1000);
	else
		sbx_error_why(err, "one of them ended by a signal");
	return r;
}

static int run_both(struct pair *pair, struct pair_run *run)
{
	_cleanup_(children_end) struct children children = { .pidfds = { -EBADF, -EBADF } };
	int sockets[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return -errno;
	r = start(&children, PAIR_NEAR, pair, run, sockets);
	if (r == 0 && run->contender->far)
		r = start(&children, PAIR_FAR, pair, run, sockets);
	(void)close(sockets[0]);
	(void)close(sockets[1]);
	return r < 0 ? r : await(&children, run->contender->far_is_killed);
}

/* Shows that a contender works, not how fast it is. */
static struct contender make_quick(const struct contender *contender)
{
	struct contender quick = *contender;

	quick.block = (contender->block + 7) / 8;
	quick.n_blocks = (contender->n_blocks + 3) / 4;
	quick.n_warm_up = 0;
	return quick;
}

int pair_measure(struct pair *pair, const struct contender *contender, bool is_quick,
		 double *ret_ns, struct sbx_error *err)
{
	struct pair_memory *memory = pair->memory;
	const struct contender chosen = is_quick ? make_quick(contender) : *contender;
	struct pair_run run = {
		.contender = &chosen,
		.cpus = { pair->cpus[PAIR_NEAR], pair->cpus[PAIR_FAR] },
		.socket = -EBADF,
		.shared = memory->shared,
		.n_operations =
			(uint64_t)chosen.block * (chosen.n_blocks + pair_warm_up_of(&chosen)),
		.times = &memory->times,
		.n_ready = &memory->n_ready,
	};
	int r;

	memset(memory, 0, sizeof(*memory));
	r = run_both(pair, &run);
	if (r == 0 && memory->times.n == 0)
		r = -ENODATA;
	if (r < 0)
		return explain(memory, r, err);
	*ret_ns = median_of(memory->times.ns, memory->times.n);
	return 0;
}
