/* SPDX-License-Identifier: MIT */

/*
 * A connection costs the client nothing, and a service has few file descriptors. Strangers'
 * connections are in a list in the order in which they last said something, so that the idlest is
 * found first; and each is counted for the user or sandbox that holds it.
 */

#include "service/clients.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

/* Listeners, the log, timers, extension programs, and what feeds the watchdog. */
#define FDS_KEPT 128

struct clients_stranger {
	struct clients_stranger *next;
	uid_t uid;
	const void *sandbox;
	size_t n;
};

static uint64_t now_usec(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Strangers' three quarters must not be all the fds there are. */
static size_t count_fds(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return SIZE_MAX;
	return limit.rlim_cur > 2 * FDS_KEPT ? limit.rlim_cur - FDS_KEPT : limit.rlim_cur / 2;
}

void clients_init(struct clients *clients, size_t n_max, const struct log *log,
		  void (*drop)(struct clients_member *member))
{
	size_t n_fds = count_fds();

	*clients = (struct clients){ .n_max = n_max < n_fds ? n_max : n_fds,
				     .idle_usec = CLIENTS_IDLE_USEC,
				     .log = log,
				     .drop = drop };
}

/* ---- strangers ---- */

static struct clients_stranger *find(const struct clients *clients, const struct clients_who *who)
{
	struct clients_stranger *stranger = clients->strangers;

	while (stranger && (stranger->uid != who->uid || stranger->sandbox != who->sandbox))
		stranger = stranger->next;
	return stranger;
}

static struct clients_stranger *find_or_add(struct clients *clients, const struct clients_who *who)
{
	struct clients_stranger *stranger = find(clients, who);

	if (stranger)
		return stranger;
	stranger = calloc(1, sizeof(*stranger));
	if (!stranger)
		return NULL;
	*stranger = (struct clients_stranger){ .next = clients->strangers,
					       .uid = who->uid,
					       .sandbox = who->sandbox };
	clients->strangers = stranger;
	return stranger;
}

static void forget(struct clients *clients, struct clients_stranger *stranger)
{
	struct clients_stranger **at = &clients->strangers;

	while (*at != stranger)
		at = &(*at)->next;
	*at = stranger->next;
	free(stranger);
}

static struct clients_stranger *find_greatest(const struct clients *clients)
{
	struct clients_stranger *greatest = clients->strangers;

	for (struct clients_stranger *s = clients->strangers; s; s = s->next)
		if (s->n > greatest->n)
			greatest = s;
	return greatest;
}

/* ---- the list ---- */

static void add_last(struct clients *clients, struct clients_member *member)
{
	member->active_usec = now_usec();
	member->next = NULL;
	member->previous = clients->latest;
	*(clients->latest ? &clients->latest->next : &clients->idlest) = member;
	clients->latest = member;
}

static void take_out(struct clients *clients, struct clients_member *member)
{
	*(member->previous ? &member->previous->next : &clients->idlest) = member->next;
	*(member->next ? &member->next->previous : &clients->latest) = member->previous;
	member->next = member->previous = NULL;
}

/* False where the stranger has no idle connection. */
static bool drop_idlest(struct clients *clients, const struct clients_stranger *of)
{
	struct clients_member *member = clients->idlest;
	uint64_t now = now_usec();
	uid_t uid = of->uid;

	while (member && (member->stranger != of || member->is_busy))
		member = member->next;
	if (!member || now - member->active_usec < clients->idle_usec)
		return false;
	clients->drop(member);
	rate_warn(&clients->drops, clients->log, "an idle client of uid %u made room", uid);
	return true;
}

/* ---- clients ---- */

/* The newcomer's connection is counted already. */
static bool make_room(struct clients *clients, const struct clients_stranger *stranger)
{
	size_t n_each = (clients->n_max + 3) / 4, n_all = clients->n_max - n_each;
	const struct clients_stranger *greatest = find_greatest(clients);

	if (stranger->n > n_each)
		return drop_idlest(clients, stranger);
	if (clients->n_strangers_in <= n_all)
		return true;
	/* A stranger with as many takes none from the greatest, who would take it back. */
	return drop_idlest(clients, greatest->n > stranger->n ? greatest : stranger);
}

int clients_admit(struct clients *clients, struct clients_member *member,
		  const struct clients_who *who)
{
	struct clients_stranger *stranger;

	if (who->is_trusted)
		return 0;
	stranger = find_or_add(clients, who);
	if (!stranger)
		return -ENOMEM;
	/* Counted before, so that it stays while one of its own makes room. */
	stranger->n++;
	clients->n_strangers_in++;
	if (!make_room(clients, stranger)) {
		clients->n_strangers_in--;
		if (--stranger->n == 0)
			forget(clients, stranger);
		return -EUSERS;
	}
	member->stranger = stranger;
	add_last(clients, member);
	return 0;
}

void clients_active(struct clients *clients, struct clients_member *member)
{
	if (!member->stranger)
		return;
	take_out(clients, member);
	add_last(clients, member);
}

void clients_leave(struct clients *clients, struct clients_member *member)
{
	struct clients_stranger *stranger = member->stranger;

	if (!stranger)
		return;
	take_out(clients, member);
	member->stranger = NULL;
	clients->n_strangers_in--;
	if (--stranger->n == 0)
		forget(clients, stranger);
}
