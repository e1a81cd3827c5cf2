/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Requests of sbx-ctl to the supervisor over the control socket, and the answers
 *
 *   {"exec":["ps","-ef"]}    with stdin, stdout and stderr as fds
 *   {"status":0}             exit status of sbx-ctl
 *   {"status":127,"error":"cannot execute 'foo'"}
 *   {"error":"..."}          nothing was run
 */

#include <stddef.h>

struct text;

#define REQUEST_BYTES_MAX (128 * 1024)

/* 0 with @ret_argv, one block that the caller frees; -EBADMSG with the reason in *@ret_problem if
 * the bytes are not such a request. */
int door_parse_request(const void *bytes, size_t n_bytes, char ***ret_argv,
		       const char **ret_problem);
/* @error and @fix may be NULL; a negative @status is omitted. */
void door_add_answer(struct text *out, int status, const char *error, const char *fix);
