/* SPDX-License-Identifier: MIT */

/*
 * The other side of a channel is killed at a random moment
 *
 * This process waits without a time-out, so only an event can tell it. It must receive each message
 * whose sending had returned, at most the one that was being sent, in order and whole; and nothing
 * of a dead channel may remain. In turn the killed process is server and client, sender, receiver
 * and responder, in both modes. TEST_SLOW=1 runs 500 trials.
 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sbx/ring.h>

#include "base/cleanup.h"

#define HANG_SECONDS 170
#define N_TRIALS 120
#define N_TRIALS_SLOW 500
#define LIFE_USEC_MAX 3000
#define TOTAL_BYTES ((size_t)2 * SBX_RING_CAPACITY_MIN)
#define MESSAGE_BYTES_MAX 40000

enum work { VICTIM_SENDS, VICTIM_RECEIVES, VICTIM_RESPONDS, N_WORKS };

/* In memory of both processes, beside the channel. */
struct scene {
	_Atomic uint64_t n_begun;     /* messages whose sending was begun */
	_Atomic uint64_t n_sent;      /* messages whose sending had returned, published */
	_Atomic uint64_t killed_nsec; /* just before the kill */
	_Atomic bool may_die;
};

struct trial {
	int mode, own_role;
	enum work work;
	uint64_t seed;
};

static uint64_t now_nsec(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t mix(uint64_t z)
{
	z = (z + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* ---- messages that show their number ---- */

static size_t size_of_message(uint64_t number)
{
	uint64_t random = mix(number);

	return 8 + random % (random % 16 == 0 ? MESSAGE_BYTES_MAX - 8 : 600);
}

static size_t write_message(uint64_t number, uint8_t *bytes)
{
	size_t n_bytes = size_of_message(number);

	memset(bytes, (int)(number & 0xff), n_bytes);
	memcpy(bytes, &number, sizeof(number));
	return n_bytes;
}

static bool is_message(uint64_t number, const uint8_t *bytes, size_t n_bytes)
{
	uint64_t read;

	if (n_bytes != size_of_message(number))
		return false;
	memcpy(&read, bytes, sizeof(read));
	for (size_t i = sizeof(read); i < n_bytes; i++)
		if (bytes[i] != (uint8_t)number)
			return false;
	return read == number;
}

/* ---- the killed process ---- */

struct killer {
	struct scene *scene;
	uint64_t life_nsec;
};

/* A second thread, so that the kill finds the first one anywhere. */
static void *kill_after_a_while(void *context)
{
	const struct killer *killer = context;
	uint64_t end;

	while (!atomic_load(&killer->scene->may_die))
		(void)sched_yield();
	end = now_nsec() + killer->life_nsec;
	while (now_nsec() < end)
		(void)sched_yield();
	atomic_store(&killer->scene->killed_nsec, now_nsec());
	(void)kill(getpid(), SIGKILL);
	return NULL;
}

static void send_for_ever(struct sbx_ring *ring, struct scene *scene)
{
	static uint8_t bytes[MESSAGE_BYTES_MAX];

	for (uint64_t n = 0;; n++) {
		unsigned flags = mix(n) % 3 == 0 ? SBX_RING_MORE : 0;

		atomic_store(&scene->n_begun, n + 1);
		if (sbx_ring_send(ring, bytes, write_message(n, bytes), flags, SBX_RING_FOREVER) !=
		    0)
			_exit(1);
		if (!flags)
			atomic_store(&scene->n_sent, n + 1);
	}
}

static void receive_for_ever(struct sbx_ring *ring, struct scene *scene)
{
	const void *bytes;
	size_t n_bytes;

	for (uint64_t n = 0;; n++)
		if (sbx_ring_receive(ring, &bytes, &n_bytes, SBX_RING_FOREVER) != 0 ||
		    !is_message(n, bytes, n_bytes))
			_exit(1);
}

static void respond_for_ever(struct sbx_ring *ring, struct scene *scene)
{
	const void *payload;
	size_t n_bytes;
	uint32_t request_id;
	uint8_t type;

	for (;;)
		if (sbx_ring_receive_frame(ring, &type, &request_id, &payload, &n_bytes,
					   SBX_RING_FOREVER) != 0 ||
		    sbx_ring_send_frame(ring, type, request_id, payload, n_bytes, 0,
					SBX_RING_FOREVER) != 0)
			_exit(1);
}

static struct sbx_ring *open_side(const struct trial *trial, int role, int socket)
{
	const struct sbx_ring_config config = {
		.size = sizeof(config),
		.mode = trial->mode,
		.total_bytes = TOTAL_BYTES,
		.timeout_usec = UINT64_C(100000000),
	};
	struct sbx_ring *ring = NULL;

	return sbx_ring_open(&config, role, socket, &ring, NULL) == 0 ? ring : NULL;
}

static void be_killed(const struct trial *trial, struct scene *scene, int socket)
{
	static void (*const works[])(struct sbx_ring * ring, struct scene * scene) = {
		[VICTIM_SENDS] = send_for_ever,
		[VICTIM_RECEIVES] = receive_for_ever,
		[VICTIM_RESPONDS] = respond_for_ever,
	};
	struct killer killer = {
		.scene = scene,
		.life_nsec = mix(trial->seed) % ((uint64_t)LIFE_USEC_MAX * 1000),
	};
	pthread_t thread;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);

	struct sbx_ring *ring = open_side(trial, !trial->own_role, socket);

	if (!ring || pthread_create(&thread, NULL, kill_after_a_while, &killer) != 0)
		_exit(1);
	works[trial->work](ring, scene);
}

/* ---- the surviving process: each returns how the channel ended ---- */

static int receive_to_the_end(struct sbx_ring *ring, struct scene *scene, uint64_t *ret_n)
{
	const void *bytes;
	size_t n_bytes;
	int r;

	while ((r = sbx_ring_receive(ring, &bytes, &n_bytes, SBX_RING_FOREVER)) == 0) {
		expect(is_message(*ret_n, bytes, n_bytes));
		++*ret_n;
		atomic_store(&scene->may_die, true);
	}
	/* Nothing follows the end. */
	expect_eq(sbx_ring_receive(ring, &bytes, &n_bytes, 0), r);
	return r;
}

static int send_to_the_end(struct sbx_ring *ring, struct scene *scene, uint64_t *ret_n)
{
	static uint8_t bytes[MESSAGE_BYTES_MAX];
	int r;

	while ((r = sbx_ring_send(ring, bytes, write_message(*ret_n, bytes), 0,
				  SBX_RING_FOREVER)) == 0) {
		++*ret_n;
		atomic_store(&scene->may_die, true);
	}
	return r;
}

static int request_to_the_end(struct sbx_ring *ring, struct scene *scene, uint64_t *ret_n)
{
	const void *payload;
	size_t n_bytes;
	uint8_t type;
	int r;

	while ((r = sbx_ring_request(ring, 1, "request", 7, &type, &payload, &n_bytes,
				     SBX_RING_FOREVER)) == 0) {
		++*ret_n;
		atomic_store(&scene->may_die, true);
	}
	return r;
}

static int (*const survivals[])(struct sbx_ring *ring, struct scene *scene, uint64_t *ret_n) = {
	[VICTIM_SENDS] = receive_to_the_end,
	[VICTIM_RECEIVES] = send_to_the_end,
	[VICTIM_RESPONDS] = request_to_the_end,
};

/* Returns the nanoseconds between the kill and its notice. */
static uint64_t survive(const struct trial *trial, struct scene *scene, int socket)
{
	uint64_t n = 0, killed_nsec;
	struct sbx_ring *ring = open_side(trial, trial->own_role, socket);
	int r;

	expect(ring != NULL);
	if (!ring)
		return 0;
	r = survivals[trial->work](ring, scene, &n);

	uint64_t noticed_nsec = now_nsec();

	expect(r == -ECONNRESET || (trial->work != VICTIM_SENDS && r == -EPIPE));
	expect(!sbx_ring_is_connected(ring));
	if (trial->work == VICTIM_SENDS)
		expect(n >= atomic_load(&scene->n_sent) && n <= atomic_load(&scene->n_begun));
	sbx_ring_close(ring);
	killed_nsec = atomic_load(&scene->killed_nsec);
	expect(killed_nsec > 0);
	return noticed_nsec > killed_nsec ? noticed_nsec - killed_nsec : 0;
}

static uint64_t run_trial(const struct trial *trial, struct scene *scene)
{
	int sockets[2], status = 0;
	unsigned before = test_failures;

	memset((void *)scene, 0, sizeof(*scene));
	expect_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);

	pid_t pid = fork();

	if (pid == 0) {
		(void)close(sockets[0]);
		be_killed(trial, scene, sockets[1]);
	}
	(void)close(sockets[1]);

	uint64_t nsec = survive(trial, scene, sockets[0]);

	expect_eq(waitpid(pid, &status, 0), pid);
	expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	if (test_failures != before)
		printf("# trial %llu: mode %d, survivor %d, work %d\n",
		       (unsigned long long)trial->seed, trial->mode, trial->own_role,
		       (int)trial->work);
	return nsec;
}

/* ---- what remains ---- */

struct remains {
	unsigned n_fds, n_mappings;
	size_t n_bytes;
};

static struct remains look_for_remains(void)
{
	struct remains remains = { .n_bytes = mallinfo2().uordblks };
	_cleanup_fclose_ FILE *maps = fopen("/proc/self/maps", "re");
	_cleanup_free_ char *line = NULL;
	size_t n_line = 0;

	for (int fd = 0; fd < 1024; fd++)
		remains.n_fds += fcntl(fd, F_GETFD) >= 0;
	while (maps && getline(&line, &n_line, maps) > 0)
		remains.n_mappings += strstr(line, "sbx-ring") != NULL;
	return remains;
}

static int compare_nsec(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void print_distribution(uint64_t *nsec, size_t n)
{
	qsort(nsec, n, sizeof(nsec[0]), compare_nsec);
	printf("# %zu trials: noticed after %llu us (median), %llu us (90 %%), %llu us (99 %%), "
	       "%llu us (most)\n",
	       n, (unsigned long long)nsec[n / 2] / 1000,
	       (unsigned long long)nsec[n * 9 / 10] / 1000,
	       (unsigned long long)nsec[n * 99 / 100] / 1000,
	       (unsigned long long)nsec[n - 1] / 1000);
}

static void a_killed_side_is_noticed_and_leaves_nothing(void)
{
	static uint64_t nsec[N_TRIALS_SLOW];
	size_t n_trials = test_is_slow() ? N_TRIALS_SLOW : N_TRIALS;
	struct scene *scene = mmap(NULL, sizeof(*scene), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct remains before = { .n_fds = 0 }, after;

	expect(scene != MAP_FAILED);
	for (size_t i = 0; i < n_trials; i++) {
		const struct trial trial = {
			.mode = i % 2 ? SBX_RING_CALL : SBX_RING_STREAM,
			.own_role = i / 2 % 2 ? SBX_RING_CLIENT : SBX_RING_SERVER,
			.work = (enum work)(i / 4 % N_WORKS),
			.seed = i,
		};

		/* The first turn allocates what stays, such as buffers of stdio. */
		if (i == 12)
			before = look_for_remains();
		nsec[i] = run_trial(&trial, scene);
	}
	after = look_for_remains();
	expect_eq(after.n_fds, before.n_fds);
	expect_eq(after.n_mappings, 0);
	expect_eq(before.n_mappings, 0);
	expect(after.n_bytes <= before.n_bytes + 4096);
	print_distribution(nsec, n_trials);
	(void)munmap(scene, sizeof(*scene));
}

static const struct test tests[] = {
	TEST(a_killed_side_is_noticed_and_leaves_nothing),
	TEST_END,
};

int main(void)
{
	(void)alarm(HANG_SECONDS);
	return test_run(tests);
}
