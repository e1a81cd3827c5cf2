/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The keeper of one named channel: gives out its roles (see ring/named.h for the protocol)
 *
 * A generation is one channel from the server's TAKE until both sides have left.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct clients;
struct keeper;
struct log;
struct ready;

struct keeper_options {
	const char *name;
	size_t capacity; /* of one direction */
	bool is_call;
	bool keeps; /* a new generation when both sides have left; else is_over() */
	const struct log *log;
	struct ready *ready;
	/* Both sides have left, and there will be no other generation. */
	void (*on_over)(void *userdata);
	void *userdata;
};

int keeper_new(const struct keeper_options *options, struct keeper **ret);
struct keeper *keeper_free(struct keeper *keeper);
CLEANUP_BY(struct keeper, keeper_free)
#define _cleanup_keeper_ _cleanup_(keeper_free_ptr)

struct clients *keeper_clients(const struct keeper *keeper);
