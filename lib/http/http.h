/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * HTTP/1 messages: strict parsing and writing
 *
 * A proxy decides about the request that its parser reads, and the origin server acts on the one
 * that its own parser reads. Every text that two parsers may read differently is refused, none is
 * repaired, and what goes on is written anew from what was read.
 *
 * Nothing here reads or writes an fd, and the readers allocate nothing: slices point into the bytes
 * of the caller. Bytes may arrive in any fragments, which do not change the result.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hostname.h"

struct text;

/* From the first byte to the empty line, both included. A buffer of this size is always enough. */
#define HTTP_HEAD_MAX (16 * 1024)
/* The first line, with its CRLF. */
#define HTTP_LINE_MAX (8 * 1024)
#define HTTP_FIELDS_MAX 100
#define HTTP_METHOD_MAX 32
/* All options of all Connection fields. */
#define HTTP_OPTIONS_MAX 16

/* ---- refusals ---- */

enum http_fault {
	HTTP_OK,
	/* the bytes of a head */
	HTTP_HEAD_TOO_BIG,
	HTTP_TOO_MANY_FIELDS,
	HTTP_LINE_TOO_LONG,
	HTTP_CONTROL_BYTE,
	HTTP_BARE_CR,
	HTTP_BARE_LF,
	HTTP_EMPTY_LINE, /* before the first line */
	HTTP_FOLD,
	/* the first line */
	HTTP_REQUEST_LINE,
	HTTP_METHOD,
	HTTP_METHOD_TOO_LONG,
	HTTP_NO_VERSION, /* HTTP/0.9 */
	HTTP_VERSION,
	HTTP_VERSION_UNKNOWN,
	HTTP_PREFACE, /* of HTTP/2 */
	HTTP_STATUS_LINE,
	HTTP_STATUS,
	/* the target */
	HTTP_TARGET_FORM,
	HTTP_TARGET_SCHEME,
	HTTP_TARGET_BYTE,
	HTTP_TARGET_ESCAPE,
	HTTP_TARGET_NO_PATH,
	HTTP_USERINFO,
	HTTP_HOST_EMPTY,
	HTTP_HOST_TOO_LONG,
	HTTP_HOST_NAME,
	HTTP_HOST_ADDRESS,
	HTTP_PORT,
	HTTP_PORT_MISSING,
	/* fields */
	HTTP_FIELD_NAME,
	HTTP_FIELD_SPACE, /* in the name, or before the colon */
	HTTP_FIELD_COLON,
	HTTP_HOST_FIELD_MISSING,
	HTTP_HOST_FIELD_REPEATED,
	HTTP_HOST_FIELD, /* cannot be read */
	HTTP_HOST_DIFFERS,
	HTTP_CONNECTION,
	HTTP_CONNECTION_NAMES, /* Host, or a field of the framing */
	HTTP_UPGRADE,	       /* to a protocol other than websocket */
	HTTP_UPGRADE_MALFORMED,
	HTTP_SWITCH, /* a status 101 that was not asked for */
	/* framing */
	HTTP_LENGTH,
	HTTP_LENGTH_REPEATED,
	HTTP_LENGTH_AND_ENCODING,
	HTTP_ENCODING,
	HTTP_ENCODING_REPEATED,
	HTTP_ENCODING_IN_1_0,
	HTTP_BODY_FORBIDDEN, /* in a CONNECT, or in an answer that has none */
	/* bodies */
	HTTP_CHUNK_SIZE,
	HTTP_CHUNK_TOO_BIG,
	HTTP_CHUNK_EXTENSION,
	HTTP_CHUNK_END, /* a chunk is longer than its size */
	HTTP_TRAILER,
	HTTP_TRUNCATED,
	N_HTTP_FAULTS,
};

/* A word for programs, which never changes: "bare-lf". */
const char *http_fault_word(enum http_fault fault);
/* The status that answers a request with this fault: 400, 414, 431, 501 or 505. The client of a
 * proxy gets 502 for any fault of a response. */
unsigned http_fault_status(enum http_fault fault);

/* ---- authorities ---- */

struct http_authority {
	struct hostname host;
	uint16_t port;
};

/* "[ADDRESS]:65535" or a name with its port, with a NUL. */
#define HTTP_AUTHORITY_SIZE (HOSTNAME_TEXT_SIZE + 8)

/*
 * "host:port". An IPv6 address is in brackets. Where @default_port is 0, the port must be given.
 * *@ret has no meaning after a failure.
 */
enum http_fault http_authority_read(const char *text, size_t len, uint16_t default_port,
				    struct http_authority *ret);
/* The only text of this authority, without a port that is @default_port. Returns its length. */
size_t http_authority_print(const struct http_authority *authority, uint16_t default_port,
			    char ret[HTTP_AUTHORITY_SIZE]);
bool http_authority_equal(const struct http_authority *a, const struct http_authority *b);

/* ---- heads ---- */

struct http_bytes {
	const char *at;
	size_t len;
};

struct http_field {
	struct http_bytes name;
	struct http_bytes value; /* without white space around it; bytes from 0x80 are possible */
	/* Of this connection only, or written anew: it is not forwarded. */
	bool is_own;
};

enum http_framing {
	HTTP_NO_BODY,
	HTTP_LENGTH_BODY,
	HTTP_CHUNKED_BODY,
	HTTP_BODY_UNTIL_CLOSE, /* responses only */
	HTTP_TUNNEL,	       /* after a status 101, or a CONNECT that succeeded */
};

/* The part that requests and responses share. */
struct http_head {
	unsigned minor; /* HTTP/1.minor: 0 or 1 */
	struct http_field fields[HTTP_FIELDS_MAX];
	size_t n_fields;
	enum http_framing framing;
	/* Content-Length. It may be there without a body: in the answer to HEAD, or with 304. */
	bool has_length;
	uint64_t length;
	/* Does the sender read or write another message on this connection? Never for HTTP/1.0. */
	bool keep_alive;
	bool is_websocket; /* asks for it, or agrees */
};

enum http_role {
	HTTP_PROXY,  /* CONNECT host:port, and http://host[:port]/path with other methods */
	HTTP_SERVER, /* /path; the authority is that of the Host field */
};

struct http_request {
	struct http_head head;
	struct http_bytes method;
	bool is_connect;
	bool is_head;
	struct http_authority authority;
	/* With the query, never normalised; empty for CONNECT. "//b/c" is a path, too: a server
	 * that redirects to it must not make it a reference to the host b. */
	struct http_bytes path;
};

/* What the reader and the writer of a response need of its request. */
struct http_asked {
	unsigned minor;
	bool is_connect;
	bool is_head;
	bool is_websocket;
};

struct http_response {
	struct http_head head;
	unsigned status; /* 100 to 599; below 200 another response follows, except after 101 */
	struct http_bytes reason;
};

/* Where the reading of a head is, between fragments. */
struct http_reader {
	size_t at;	/* bytes that were looked at */
	size_t line;	/* where the current line begins */
	size_t n_lines; /* complete ones */
	bool after_cr;
	enum http_fault fault; /* the last one */
};

#define HTTP_READER_INIT                                                                           \
	{                                                                                          \
		.at = 0                                                                            \
	}

/*
 * Reads one head from the front of @bytes. @bytes begins with the same byte each time and may have
 * moved; only new bytes are looked at until the head is complete.
 *
 * Returns the size of the head, 0 if more bytes are needed, or -EBADMSG with reader->fault. *@ret
 * has a meaning on success only; its slices point into @bytes. The reader is then ready for the
 * next head. After a failure the stream has no message boundary and must be closed; every further
 * call fails.
 */
long http_request_read(struct http_reader *reader, const char *bytes, size_t n_bytes,
		       enum http_role role, struct http_request *ret);
long http_response_read(struct http_reader *reader, const char *bytes, size_t n_bytes,
			const struct http_asked *asked, struct http_response *ret);

struct http_asked http_asked(const struct http_request *request);

/* ---- bodies ---- */

struct http_body {
	enum http_framing framing;
	int state; /* private, as are the next two */
	unsigned n_digits;
	uint64_t left; /* of the body, or of the chunk */
	bool is_done;
	enum http_fault fault;
};

void http_body_init(struct http_body *body, const struct http_head *head);
/*
 * Takes bytes from the front, up to the end of the first piece of payload, which is *@ret_data (it
 * may be empty). A chunk extension or a trailer is refused: no client needs them, and a trailer
 * could add the fields that this parser refuses.
 *
 * Returns how many bytes were taken; 0 if there is no byte, or the body is_done: the next byte is
 * of another message. -EBADMSG with body->fault if the first byte cannot follow. Bytes before such
 * a byte are taken first, in a call of their own.
 */
long http_body_read(struct http_body *body, const char *bytes, size_t n_bytes,
		    struct http_bytes *ret_data);
/* The same for all pieces at once: how many of the bytes may be forwarded as they are. */
long http_body_pass(struct http_body *body, const char *bytes, size_t n_bytes);
/* The peer has closed: 0, or -EBADMSG with HTTP_TRUNCATED. */
int http_body_finish(struct http_body *body);

/* ---- writing; each adds to @out, whose text_status() the caller checks ---- */

/*
 * The head of a request for the server of its authority: "METHOD /path", or for a proxy in the case
 * of CONNECT. Host, framing and Connection are our own; the fields that are is_own are left out. An
 * upgrade to websocket is asked for again: a caller that does not allow it refuses the request.
 */
void http_add_request(struct text *out, const struct http_request *request, bool keep_alive);
/*
 * The head of a response for the client that has @asked. For an HTTP/1.0 client a chunked body
 * loses its chunks (http_body_read()) and ends with the connection. Such a client gets no response
 * below 200: the caller drops it.
 */
void http_add_response(struct text *out, const struct http_response *response,
		       const struct http_asked *asked, bool keep_alive);

/* Why a request is refused. NULL, and port 0: not known. */
struct http_refusal {
	const char *reason; /* a word for programs */
	const struct hostname *host;
	uint16_t port;
	const char *address; /* to which the host resolves */
	const char *rule;    /* which denies it */
	const char *why;     /* for people */
	const char *fix;     /* to type */
};

/*
 * A whole response of our own. For programs it has a field with a JSON object, "X-Proxy-Error:
 * {"reason":"...","host":"...","port":443,"address":"...","rule":"..."}"; for people the three
 * lines of an error as its body, and the first of them as the phrase of the status line, because
 * some clients show nothing else of the answer to a CONNECT. @asked may be NULL: no request could
 * be read, and the connection is closed.
 */
void http_add_error(struct text *out, unsigned status, const struct http_refusal *refusal,
		    const struct http_asked *asked, bool keep_alive);
