/* SPDX-License-Identifier: MIT */

/*
 * The life cycle as a table, and the names of sandboxes
 *
 *   CREATING → RUNNING → STOPPING → CLEANUP → DESTROYED
 *       └────────┴→ FAILED ────────────↑
 */

#include "registry/registry-internal.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#define TO(state) (1u << (state))
#define ID_LEN 16

static const struct {
	const char *name;
	unsigned followers;
} states[N_SANDBOX_STATES] = {
	[SANDBOX_CREATING] = { "CREATING", TO(SANDBOX_RUNNING) | TO(SANDBOX_FAILED) },
	[SANDBOX_RUNNING] = { "RUNNING", TO(SANDBOX_STOPPING) | TO(SANDBOX_FAILED) },
	[SANDBOX_STOPPING] = { "STOPPING", TO(SANDBOX_CLEANUP) },
	[SANDBOX_CLEANUP] = { "CLEANUP", TO(SANDBOX_DESTROYED) },
	[SANDBOX_DESTROYED] = { "DESTROYED", 0 },
	[SANDBOX_FAILED] = { "FAILED", TO(SANDBOX_CLEANUP) },
};

const char *sandbox_state_name(enum sandbox_state state)
{
	return states[state].name;
}

enum sandbox_state sandbox_state_find(const char *name)
{
	int state = 0;

	while (state < N_SANDBOX_STATES && strcmp(states[state].name, name) != 0)
		state++;
	return (enum sandbox_state)state;
}

bool sandbox_state_may_follow(enum sandbox_state from, enum sandbox_state to)
{
	return states[from].followers & TO(to);
}

bool sandbox_id_is_valid(const char *id)
{
	static const char allowed[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
	size_t len = strspn(id, allowed);

	return len > 0 && len <= SANDBOX_ID_MAX && id[len] == '\0' && !strchr("-_.", id[0]);
}

int sandbox_id_make(char ret[SANDBOX_ID_MAX + 1])
{
	/* 32 characters, so that each has the same probability; without those that look alike. */
	static const char letters[] = "abcdefghijkmnpqrstuvwxyz23456789";
	unsigned char random[ID_LEN];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	for (size_t i = 0; i < ID_LEN; i++)
		ret[i] = letters[random[i] % 32];
	ret[ID_LEN] = '\0';
	return 0;
}
