/* SPDX-License-Identifier: MIT */
#pragma once

/* Interprets a BPF filter as the kernel does */

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ALLOW SECCOMP_RET_ALLOW
#define ASK SECCOMP_RET_USER_NOTIF
#define KILL SECCOMP_RET_KILL_PROCESS
#define NO(code) (SECCOMP_RET_ERRNO | (code))
/* No filter returns this: the program is invalid. */
#define BROKEN 0xdeadbeefu

struct walk {
	const struct sock_filter *code;
	size_t n;
	const struct seccomp_data *data;
	size_t at;
	uint32_t a;
	unsigned n_jumps;
	bool saw_argument;
};

static inline bool walk_jump(struct walk *w, const struct sock_filter *f)
{
	bool yes;

	switch (f->code) {
	case BPF_JMP | BPF_JEQ | BPF_K:
		yes = w->a == f->k;
		break;
	case BPF_JMP | BPF_JGE | BPF_K:
		yes = w->a >= f->k;
		break;
	case BPF_JMP | BPF_JGT | BPF_K:
		yes = w->a > f->k;
		break;
	default:
		return false;
	}
	w->n_jumps++;
	w->at += yes ? f->jt : f->jf;
	return true;
}

static inline bool walk_step(struct walk *w, const struct sock_filter *f)
{
	if (f->code == (BPF_LD | BPF_W | BPF_ABS)) {
		if (f->k % 4 != 0 || f->k > sizeof(*w->data) - sizeof(w->a))
			return false;
		memcpy(&w->a, (const char *)w->data + f->k, sizeof(w->a));
		w->saw_argument |= f->k >= offsetof(struct seccomp_data, args);
		return true;
	}
	if (f->code == (BPF_ALU | BPF_AND | BPF_K)) {
		w->a &= f->k;
		return true;
	}
	if (f->code == (BPF_JMP | BPF_JA)) {
		w->n_jumps++;
		w->at += f->k;
		return true;
	}
	return walk_jump(w, f);
}

static inline uint32_t walk_run(struct walk *w)
{
	for (w->at = 0; w->at < w->n; w->at++) {
		const struct sock_filter *f = &w->code[w->at];

		if (f->code == (BPF_RET | BPF_K))
			return f->k;
		if (!walk_step(w, f))
			return BROKEN;
	}
	return BROKEN;
}

static inline uint32_t answer_of(const struct sock_filter *code, size_t n,
				 const struct seccomp_data *data)
{
	struct walk w = { .code = code, .n = n, .data = data };

	return walk_run(&w);
}
