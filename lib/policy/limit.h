/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Limits on a command's resources, and the templates that set them: one table
 *
 * A row of POLICY_LIMITS is a limit: the key below "limits." in a policy, the option of sbx-spawn,
 * the values in the templates, the type of its value and its name in messages. The enumeration, the
 * policy keys and the options are generated from it, so that a new limit is a row here and a row in
 * lib/plan/limits.c for the mechanism that enforces it.
 */

#include <stddef.h>
#include <stdint.h>

#include "policy/network.h"

struct sbx_error;
struct text;

#define LIMIT_MIB (UINT64_C(1) << 20)
#define LIMIT_SEC UINT64_C(1000000)
/* The size of a private /tmp under every template. */
#define LIMIT_TMP_SIZE_DEFAULT (512 * LIMIT_MIB)

/*
 * ROW(enumerator, key, option, type of the key, metavar, name when it was reached,
 *     value in code-executor, ai-provider, policy-sandbox, and without template or policy; 0: none,
 *     help)
 *
 * The first list has options, the second has none.
 */
#define POLICY_LIMITS_WITH_OPTION(ROW)                                                             \
	ROW(MEMORY, "memory", "memory", SIZE, "SIZE", "memory", 1024 * LIMIT_MIB, 256 * LIMIT_MIB, \
	    128 * LIMIT_MIB, 0, "memory of all its processes together")                            \
	ROW(CPU, "cpu", "cpu", NUMBER, "N", "processor", 1000, 500, 250, 0,                        \
	    "processors: 0.5 or 50%")                                                              \
	ROW(PIDS, "pids", "pids", COUNT, "N", "process", 100, 10, 5, 4096,                         \
	    "processes and threads")                                                               \
	ROW(TIME, "time", "time", TIME, "TIME", "time", 300 * LIMIT_SEC, 120 * LIMIT_SEC, 0, 0,    \
	    "stop it after TIME (30s, 5m)")                                                        \
	ROW(FILES, "files", "files", COUNT, "N", "open files", 0, 0, 0, 0,                         \
	    "open files per process")                                                              \
	ROW(FILE_SIZE, "file_size", "file-size", SIZE, "SIZE", "file size", 0, 0, 0, 0,            \
	    "largest file that it can write")                                                      \
	ROW(OUTPUT, "output", "output", SIZE, "SIZE", "output", 0, 0, 0, 0,                        \
	    "bytes of stdout and stderr")                                                          \
	ROW(TMP_SIZE, "tmp_size", "tmp-size", SIZE, "SIZE", "/tmp", 0, 0, 0, 0,                    \
	    "size of its /tmp and its private home")
#define POLICY_LIMITS_WITHOUT_OPTION(ROW)                                                          \
	ROW(PROCESSES, "processes", NULL, COUNT, "N", "process", 0, 0, 0, 0,                       \
	    "processes of its user")
#define POLICY_LIMITS(ROW) POLICY_LIMITS_WITH_OPTION(ROW) POLICY_LIMITS_WITHOUT_OPTION(ROW)

/* Units depend on the type: bytes, microseconds, thousandths of a processor, a count. */
enum limit {
#define LIMIT_ENUMERATOR(name, ...) LIMIT_##name,
	POLICY_LIMITS(LIMIT_ENUMERATOR)
#undef LIMIT_ENUMERATOR
		N_LIMITS,
};

/* The template supplies limits that the policy and the options leave out. */
struct policy_template {
	const char *name;
	const char *profile;	/* of the seccomp filter */
	enum net_mode net_mode; /* used if the policy grants no network */
	uint64_t limits[N_LIMITS];
};

/* Names for policy keys and options, NULL-terminated. */
extern const char *const policy_template_names[];
/* The template @name; if that is NULL, the one that @policy names, or its default. Without a policy
 * the default has no name to be found by. NULL if there is none of that name. */
const struct policy_template *policy_template_find(const struct policy *policy, const char *name);

const char *limit_name(enum limit limit);   /* "file_size", as below "limits." in a policy */
const char *limit_option(enum limit limit); /* "--file-size", or NULL */
const char *limit_called(enum limit limit); /* "file size", printed before " limit" */
/* Parses a value as options and policies write it. -EINVAL or -ERANGE with why and fix in @err. */
int limit_parse(enum limit limit, const char *text, uint64_t *ret, struct sbx_error *err);
void limit_add_value(struct text *out, enum limit limit, uint64_t value);
