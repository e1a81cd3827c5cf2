/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A host that a request names: a name of the DNS, or an address
 *
 * The only reading. The evaluator decides about the host, a proxy resolves and connects to it: both
 * read its text here, so that they cannot take one text for different hosts.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOST_BYTES_MAX 253
#define HOSTNAME_LABELS_MAX 127
/* The canonical text of any host, with a NUL. */
#define HOSTNAME_TEXT_SIZE (HOST_BYTES_MAX + 1)

enum hostname_kind {
	HOSTNAME_DNS,
	HOSTNAME_IPV4,
	HOSTNAME_IPV6,
};

/* 0, or why a text is refused. */
enum hostname_problem {
	HOSTNAME_OK,
	HOSTNAME_EMPTY,
	HOSTNAME_TOO_LONG,
	HOSTNAME_NOT_A_NAME, /* a label is empty, too long, or has a byte that no name has */
	HOSTNAME_NOT_IPV4,   /* the last label is a number, but there is no complete address */
	HOSTNAME_NOT_IPV6,
	HOSTNAME_BRACKET_OPEN,
	N_HOSTNAME_PROBLEMS,
};

struct hostname {
	enum hostname_kind kind;
	/* HOSTNAME_IPV4: 4 bytes, HOSTNAME_IPV6: 16, in network order */
	uint8_t bytes[16];
	/* HOSTNAME_DNS, HOSTNAME_IPV4: the text in lower case, without a dot at the end.
	 * HOSTNAME_IPV6: "" */
	char name[HOSTNAME_TEXT_SIZE];
	size_t len;
	/* HOSTNAME_DNS, HOSTNAME_IPV4: where each label of the name begins */
	uint16_t labels[HOSTNAME_LABELS_MAX];
	size_t n_labels;
};

/*
 * Reads all @len bytes. One dot may follow a name. An IPv6 address may be in brackets, a name may
 * not. On a failure *@ret has no meaning.
 */
enum hostname_problem hostname_read(const char *text, size_t len, struct hostname *ret);
/* A sentence without a full stop. */
const char *hostname_problem_text(enum hostname_problem problem);

/* Is it the same name, or the same address of the same family? */
bool hostname_equal(const struct hostname *a, const struct hostname *b);
/* Writes the only text of this host, without brackets. Returns its length. */
size_t hostname_print(const struct hostname *host, char ret[HOSTNAME_TEXT_SIZE]);
