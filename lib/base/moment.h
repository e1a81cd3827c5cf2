/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The clocks, and the times of records: RFC 3339, in UTC only, because records are also compared as
 * texts
 */

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define USEC_PER_SEC UINT64_C(1000000)

struct text;

/* Parses "2026-01-02T03:04:05.678901Z", with no or up to nine digits after the point, to
 * microseconds since 1970; -EINVAL for any other form. Digits after the sixth are dropped. */
int moment_parse(const char *bytes, size_t n_bytes, uint64_t *ret_usec);
uint64_t moment_usec(const struct timespec *time);
struct timespec moment_timespec(uint64_t usec);
/* The microseconds that the clock shows now. */
uint64_t moment_now(clockid_t clock);
/* Writes six digits after the point. */
void moment_add(struct text *out, uint64_t usec);
