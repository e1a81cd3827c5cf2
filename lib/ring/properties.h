/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The words of properties, for tools
 */

/* By enum sbx_ring_transport; NULL-terminated. */
extern const char *const ring_transport_names[];
