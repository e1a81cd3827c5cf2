/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The counters of one side of a channel, for records and --json
 */

struct json_writer;
struct sbx_ring_statistics;

/* Adds a member "counters", an object. */
void ring_add_counters(struct json_writer *json, const struct sbx_ring_statistics *statistics);
