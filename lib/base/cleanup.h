/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Scoped ownership
 *
 * A variable marked _cleanup_() owns its value until it goes out of scope or the value is moved out
 * with take_ptr() or take_fd(). Initialise it on the line that declares it: NULL for pointers,
 * -EBADF for fds.
 */

#include <dirent.h>
#include <stdio.h>

#define _cleanup_(fn) __attribute__((__cleanup__(fn)))
#define _cleanup_free_ _cleanup_(free_ptr)
#define _cleanup_close_ _cleanup_(close_fd)
#define _cleanup_fclose_ _cleanup_(close_stream)
#define _cleanup_closedir_ _cleanup_(close_dir)

/* Defines x_free_ptr() for a variable that owns what x_free() frees; x_free() returns NULL. */
#define CLEANUP_BY(type, free_function)                                                            \
	static inline void free_function##_ptr(type **owner)                                       \
	{                                                                                          \
		*owner = free_function(*owner);                                                    \
	}

/* Moves the value out of @p and sets @p to NULL. */
#define take_ptr(p)                                                                                \
	({                                                                                         \
		__typeof__(p) *_owner = &(p);                                                      \
		__typeof__(p) _value = *_owner;                                                    \
		*_owner = NULL;                                                                    \
		_value;                                                                            \
	})

#define N_ELEMENTS(array) (sizeof(array) / sizeof((array)[0]))

/* Moves the fd out of *@fd and sets *@fd to -EBADF. */
int take_fd(int *fd);

/* The four cleanup functions keep errno, and accept NULL and -EBADF. close_fd() sets *@fd to
 * -EBADF. */
void free_ptr(void *pointer_to_pointer);
void close_fd(int *fd);
void close_stream(FILE **stream);
void close_dir(DIR **dir);
