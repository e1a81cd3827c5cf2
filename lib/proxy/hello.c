/* SPDX-License-Identifier: MIT */

/*
 * Records → handshake message → extensions → server name (RFC 8446, 4.1.2 and 5.1; RFC 6066, 3)
 *
 * An attacker chooses every byte. Each length is compared with what is left of the vector that
 * contains it before it is used, and a vector must be used up by its content.
 */

#include "proxy/hello.h"

#include <stdbool.h>
#include <string.h>

#define RECORD_HANDSHAKE 22
#define MESSAGE_CLIENT_HELLO 1
#define MESSAGE_HEADER 4
#define VERSION_AND_RANDOM 34
#define SESSION_ID_MAX 32
#define EXTENSION_SERVER_NAME 0
#define NAME_OF_HOST 0
#define LABEL_MAX 63

/* ---- vectors ---- */

struct vector {
	const uint8_t *at;
	size_t left;
};

/* Takes @n bytes from the front; false where fewer are left. */
static bool take(struct vector *from, size_t n, struct vector *ret)
{
	if (n > from->left)
		return false;
	*ret = (struct vector){ from->at, n };
	from->at += n;
	from->left -= n;
	return true;
}

static bool take_number(struct vector *from, size_t n_bytes, size_t *ret)
{
	struct vector bytes;

	if (!take(from, n_bytes, &bytes))
		return false;
	*ret = 0;
	for (size_t i = 0; i < n_bytes; i++)
		*ret = *ret << 8 | bytes.at[i];
	return true;
}

/* Takes a vector with its length, a number of @n_bytes, before it. */
static bool take_vector(struct vector *from, size_t n_bytes, struct vector *ret)
{
	size_t n;

	return take_number(from, n_bytes, &n) && take(from, n, ret);
}

/* ---- the message ---- */

/* 0-9, A-Z, a-z, '-', '_'; letters in lower case. */
static bool fold(uint8_t byte, char *ret)
{
	*ret = (char)(byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte);
	return (*ret >= 'a' && *ret <= 'z') || (*ret >= '0' && *ret <= '9') || *ret == '-' ||
	       *ret == '_';
}

/* Labels of 1 to 63 bytes between dots, without a dot at the end. */
static bool read_host(struct vector bytes, struct hello *ret)
{
	size_t label = 0;

	if (bytes.left == 0 || bytes.left > HELLO_NAME_MAX)
		return false;
	for (size_t i = 0; i < bytes.left; i++) {
		bool is_dot = bytes.at[i] == '.';

		label = is_dot ? 0 : label + 1;
		if (label > LABEL_MAX || (is_dot && (i == 0 || bytes.at[i - 1] == '.')))
			return false;
		if (is_dot)
			ret->name[i] = '.';
		else if (!fold(bytes.at[i], &ret->name[i]))
			return false;
	}
	ret->name[bytes.left] = '\0';
	return label > 0;
}

/* The list has one name: with two, the server could serve the other one. */
static bool read_server_name(struct vector extension, struct hello *ret)
{
	struct vector list, name;
	size_t type;

	return take_vector(&extension, 2, &list) && extension.left == 0 &&
	       take_number(&list, 1, &type) && type == NAME_OF_HOST &&
	       take_vector(&list, 2, &name) && list.left == 0 && read_host(name, ret);
}

static enum hello_kind read_extensions(struct vector extensions, struct hello *ret)
{
	bool has_name = false;

	while (extensions.left > 0) {
		struct vector extension;
		size_t type;

		if (!take_number(&extensions, 2, &type) || !take_vector(&extensions, 2, &extension))
			return HELLO_INVALID;
		if (type != EXTENSION_SERVER_NAME)
			continue;
		if (has_name || !read_server_name(extension, ret))
			return HELLO_INVALID;
		has_name = true;
	}
	return has_name ? HELLO_NAMED : HELLO_NAMELESS;
}

static enum hello_kind read_message(struct vector message, struct hello *ret)
{
	struct vector skipped, session, ciphers, compressions, extensions;

	if (!take(&message, VERSION_AND_RANDOM, &skipped) || !take_vector(&message, 1, &session) ||
	    session.left > SESSION_ID_MAX || !take_vector(&message, 2, &ciphers) ||
	    ciphers.left == 0 || ciphers.left % 2 != 0 ||
	    !take_vector(&message, 1, &compressions) || compressions.left == 0)
		return HELLO_INVALID;
	/* Before TLS 1.3 a ClientHello may end here. */
	if (message.left == 0)
		return HELLO_NAMELESS;
	if (!take_vector(&message, 2, &extensions) || message.left > 0)
		return HELLO_INVALID;
	return read_extensions(extensions, ret);
}

/* ---- the records ---- */

struct handshake {
	size_t n_bytes;
	uint8_t bytes[HELLO_BYTES_MAX];
};

/* The length of the message with its header; 0 where its header is not complete. */
static size_t length_of(const struct handshake *handshake)
{
	struct vector header = { handshake->bytes + 1, MESSAGE_HEADER - 1 };
	size_t n = 0;

	if (handshake->n_bytes < MESSAGE_HEADER)
		return 0;
	(void)take_number(&header, MESSAGE_HEADER - 1, &n);
	return n + MESSAGE_HEADER;
}

/* HELLO_NAMED: all of the message is there. */
static enum hello_kind judge(const struct handshake *handshake)
{
	size_t n = length_of(handshake);

	if (handshake->n_bytes > 0 && handshake->bytes[0] != MESSAGE_CLIENT_HELLO)
		return HELLO_INVALID;
	if (n > HELLO_BYTES_MAX || (n > 0 && handshake->n_bytes > n))
		return HELLO_INVALID;
	return n > 0 && handshake->n_bytes == n ? HELLO_NAMED : HELLO_INCOMPLETE;
}

/* Adds the content of the record at the front, once all of it has arrived: the result must not
 * depend on how the stream was cut. */
static enum hello_kind add_record(struct vector *stream, struct handshake *handshake)
{
	struct vector content;
	size_t type, version, n;

	if (!take_number(stream, 1, &type))
		return HELLO_INCOMPLETE;
	if (type != RECORD_HANDSHAKE || (stream->left > 0 && stream->at[0] != 3))
		return HELLO_NO_TLS;
	if (!take_number(stream, 2, &version) || !take_number(stream, 2, &n))
		return HELLO_INCOMPLETE;
	if (n == 0 || n > HELLO_BYTES_MAX - handshake->n_bytes)
		return HELLO_INVALID;
	if (!take(stream, n, &content))
		return HELLO_INCOMPLETE;
	memcpy(handshake->bytes + handshake->n_bytes, content.at, content.left);
	handshake->n_bytes += content.left;
	return judge(handshake);
}

/* The name is left only if the whole message is valid. */
static enum hello_kind finish(const struct handshake *handshake, struct hello *ret)
{
	struct vector message = { handshake->bytes + MESSAGE_HEADER,
				  handshake->n_bytes - MESSAGE_HEADER };
	enum hello_kind kind = read_message(message, ret);

	if (kind != HELLO_NAMED)
		ret->name[0] = '\0';
	return kind;
}

enum hello_kind hello_read(const void *bytes, size_t n_bytes, struct hello *ret)
{
	struct vector stream = { bytes, n_bytes };
	struct handshake handshake;

	handshake.n_bytes = 0; /* the rest is written before it is read */
	ret->name[0] = '\0';
	for (size_t i = 0; i < HELLO_RECORDS_MAX; i++) {
		size_t n_before = handshake.n_bytes;
		enum hello_kind kind = add_record(&stream, &handshake);

		if (kind == HELLO_NAMED)
			return finish(&handshake, ret);
		/* No other record may be between those of one message. */
		if (kind == HELLO_NO_TLS && i > 0)
			return HELLO_INVALID;
		if (kind != HELLO_INCOMPLETE || handshake.n_bytes == n_before)
			return kind;
	}
	return HELLO_INVALID;
}
