/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Packets that control the service
 *
 *   {"do":"status"}  {"do":"reload"}  {"do":"token.list","after":NONCE}
 *   {"do":"token.issue","pid":N,"sandbox_id":ID,"op":OP,"glob":GLOB,"project":ROOT,"uses":N,
 *    "ttl":"30s","from":TOKEN}
 *   {"do":"token.check","token":TOKEN,"pid":N,"sandbox_id":ID,"op":OP,"path":PATH,...}
 *   {"do":"token.revoke","token":TOKEN}
 *
 * The server answers {"ok":true,...}, or {"ok":false,"what":...,"why":...,"fix":...}.
 */

#include <stdbool.h>
#include <stddef.h>

struct question;

/* Is the packet an object whose first name is "do"? */
bool control_is_packet(const void *packet, size_t n_bytes);
void control_answer(struct question *question, const void *packet, size_t n_bytes);
