/* SPDX-License-Identifier: MIT */
#pragma once

/* The table of system calls, which generate-syscalls.c writes when sbx is built */

#include <stddef.h>
#include <stdint.h>

#define SYSCALL_ELSEWHERE (-1) /* only other architectures have it */

/* Without pointers, so that no program has to relocate the table when it starts. */
struct syscall_row {
	uint16_t name;	/* offset in syscall_names */
	int16_t number; /* or SYSCALL_ELSEWHERE */
};

/* Each name followed by NUL. */
extern const char syscall_names[];
/* In the order of strcmp(). */
extern const struct syscall_row syscall_rows[];
extern const size_t syscall_n_rows;
