/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the kernel starts in place of a program: the interpreter in the first line of a script, or
 * the loader that an ELF file names
 */

#define INTERPRETER_MAX 128

/* What the file @fd names: 0, or negative errno where that is nothing or too long. */
int interpreter_read(int fd, char ret[INTERPRETER_MAX]);
/* What is missing where execve() did not find @path although it is there; the interpreter of a
 * script may be what lacks its loader. 0 or negative errno. */
int interpreter_find_missing(const char *path, char ret[INTERPRETER_MAX]);
