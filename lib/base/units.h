/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Numbers, sizes and times, strictly: digits and a unit, nothing before, between or after
 *
 *   sizes       B KiB MiB GiB TiB (powers of 1,024), KB MB GB TB (powers of 1,000); a bare
 *               number is bytes
 *   times       us ms s m h d; a bare number is an error, because its unit is ambiguous
 *   processors  2, 0.5 or 50%, in thousandths of a processor
 *
 * Units are case-sensitive: "10mb" is refused with the unit that was probably meant. A value that
 * does not fit is refused, never clamped. On failure *ret is unchanged. @err contains the text, the
 * reason and a correct form.
 */

#include <stdint.h>

struct sbx_error;
struct text;

int units_parse_count(const char *string, uint64_t *ret, struct sbx_error *err);
int units_parse_size(const char *string, uint64_t *ret_bytes, struct sbx_error *err);
int units_parse_time(const char *string, uint64_t *ret_usec, struct sbx_error *err);
int units_parse_processors(const char *string, uint64_t *ret_thousandths, struct sbx_error *err);

/* The shortest exact form in IEC units: 1536 is "1536", 2048 is "2KiB"; units_parse_size() gives
 * the same back. */
void units_add_size(struct text *out, uint64_t bytes);
/* The shortest exact form: 1500000 is "1500ms", 7200000000 is "2h"; units_parse_time() gives the
 * same back. */
void units_add_time(struct text *out, uint64_t usec);
/* "2", "0.5", "0.125": units_parse_processors() gives the same back. */
void units_add_processors(struct text *out, uint64_t thousandths);
