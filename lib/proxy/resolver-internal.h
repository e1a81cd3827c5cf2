/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the two processes of a resolver send to each other, and the c-ares channel of one of them
 */

#include <ares.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/hostname.h"
#include "proxy/resolver.h"

/* Questions that the process has at once; the others wait in the parent. */
#define RESOLVER_IN_FLIGHT_MAX 256

/* Each is one packet. The parent chooses the number and gets it back. */
struct resolver_question {
	uint64_t number;
	char name[HOSTNAME_TEXT_SIZE];
};

struct resolver_reply {
	uint64_t number;
	uint32_t status; /* enum resolver_status */
	uint32_t n;
	struct {
		uint8_t family; /* 4 or 6 */
		uint8_t bytes[16];
	} addresses[RESOLVER_ADDRESSES_MAX];
};

void resolver_reply_write(uint64_t number, const struct resolver_answer *answer,
			  struct resolver_reply *ret);
/* -EBADMSG unless the reply is one that resolver_reply_write() writes; the number is not looked
 * at. */
int resolver_reply_read(const struct resolver_reply *reply, struct resolver_answer *ret);

/* The resolver's process; @socket is its end of the pair. */
_Noreturn void resolver_process_run(int socket, pid_t parent,
				    const struct resolver_options *options);

/* Reads /etc/resolv.conf unless there are @servers. @changed is told of each fd for which to wait.
 * 0 or negative errno. */
int resolver_channel_new(const char *servers, uint64_t timeout_usec, ares_sock_state_cb changed,
			 void *userdata, ares_channel *ret);
void resolver_channel_ask(ares_channel channel, const char *name, ares_addrinfo_callback found,
			  void *userdata);
/* What c-ares told its callback; @found may be NULL. */
void resolver_answer_from(int ares_status, const struct ares_addrinfo *found,
			  struct resolver_answer *ret);
