/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The server name (SNI) in the first bytes of a TLS client's stream
 *
 * One address can serve many hosts, and the client's choice is the server name in its ClientHello,
 * which is not encrypted. A tunnel that the policy allows to one host must not serve to reach
 * another one at the same address. The parser refuses forms that two TLS libraries could read
 * differently.
 */

#include <stddef.h>
#include <stdint.h>

enum hello_kind {
	HELLO_INCOMPLETE, /* it may become any of the others */
	HELLO_NAMED,
	HELLO_NAMELESS, /* a ClientHello without a server name */
	HELLO_NO_TLS,	/* another protocol */
	HELLO_INVALID,
};

/* A ClientHello is one handshake message in one or more records. Longer ones, or in more records,
 * are invalid: the caller keeps the bytes and calls again when more arrive. */
#define HELLO_BYTES_MAX 16384
#define HELLO_RECORDS_MAX 16
#define HELLO_NAME_MAX 253

struct hello {
	char name[HELLO_NAME_MAX + 1]; /* in lower case; "" unless HELLO_NAMED */
};

/* @bytes: the stream from its beginning. */
enum hello_kind hello_read(const void *bytes, size_t n_bytes, struct hello *ret);
