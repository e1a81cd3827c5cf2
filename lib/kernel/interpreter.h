/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The program that the kernel executes instead of a file: the interpreter in the first line of a
 * script, or the loader that an ELF file names
 */

#define INTERPRETER_MAX 128

/* The interpreter or loader of the file @fd. 0, or negative errno if there is none or its path is
 * too long. */
int interpreter_read(int fd, char ret[INTERPRETER_MAX]);
/* The missing interpreter or loader if execve() fails with ENOENT although @path exists; it may be
 * the loader of a script's interpreter. 0 or negative errno. */
int interpreter_find_missing(const char *path, char ret[INTERPRETER_MAX]);
