/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The names of system calls, of all architectures that libseccomp knew when sbx was built
 *
 * The loader of policies and the module that compiles filters read this one table, so a name that
 * sbx-policy accepts is one that sbx-spawn can deny.
 */

/*
 * The number of the call; -ENOSYS if only other architectures have it, so that there is nothing to
 * deny; -ENOENT if no architecture has one of this name.
 */
int syscall_find(const char *name);
/* The most similar name, or NULL. */
const char *syscall_suggest(const char *name);
