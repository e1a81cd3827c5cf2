/* SPDX-License-Identifier: MIT */
#pragma once

/* Programs of the same build or installation */

struct sbx_error;
struct text;

/* Relative to the directory of sbx-ring: only in a build directory. */
#define RING_PEERS "../tests/bench/ring-peers"

/* The path of @name, which is relative to the directory of this program; -ENOENT with @err. */
int ring_place_of(const char *name, struct text *ret, struct sbx_error *err);
