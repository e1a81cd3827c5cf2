/* SPDX-License-Identifier: MIT */

/*
 * The head of a message, in two steps
 *
 * The first step finds the empty line. It looks at each byte once, as the bytes arrive, and refuses
 * those that no head may have: an attacker who never ends the head occupies a bounded buffer. The
 * second step reads the complete head. The first step refuses the shortest prefix that is wrong,
 * and the second sees complete heads only: so the fragments in which the bytes arrive cannot change
 * the result.
 */

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "http/http.h"

/* ---- bytes ---- */

#define LINE 1u /* may be in a line */
#define TOKEN 2u
#define TARGET 4u
#define BOTH (TOKEN | TARGET)

/* Browsers send some bytes in a target that RFC 3986 does not allow: "[]^`{|}". They have one
 * reading. '#', '\', '"', '<', '>' and bytes from 0x80 on are refused. */
static const uint8_t classes[256] = {
	['\t'] = LINE,
	[' '] = LINE,
	['!'] = LINE | BOTH,
	['"'] = LINE,
	['#'] = LINE | TOKEN,
	['$' ... '\''] = LINE | BOTH,
	['(' ... ')'] = LINE | TARGET,
	['*' ... '+'] = LINE | BOTH,
	[','] = LINE | TARGET,
	['-' ... '.'] = LINE | BOTH,
	['/'] = LINE | TARGET,
	['0' ... '9'] = LINE | BOTH,
	[':' ... ';'] = LINE | TARGET,
	['<'] = LINE,
	['='] = LINE | TARGET,
	['>'] = LINE,
	['?' ... '@'] = LINE | TARGET,
	['A' ... 'Z'] = LINE | BOTH,
	['['] = LINE | TARGET,
	['\\'] = LINE,
	[']'] = LINE | TARGET,
	['^' ... 'z'] = LINE | BOTH,
	['{'] = LINE | TARGET,
	['|'] = LINE | BOTH,
	['}'] = LINE | TARGET,
	['~'] = LINE | BOTH,
	[0x80 ... 0xff] = LINE,
};

static bool has_class(char c, unsigned class)
{
	return classes[(unsigned char)c] & class;
}

static size_t count_class(struct http_bytes bytes, unsigned class)
{
	size_t n = 0;

	while (n < bytes.len && has_class(bytes.at[n], class))
		n++;
	return n;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_text(struct http_bytes bytes, const char *text)
{
	return bytes.len == strlen(text) && memcmp(bytes.at, text, bytes.len) == 0;
}

static bool is_word(struct http_bytes bytes, const char *word)
{
	return bytes.len == strlen(word) && strncasecmp(bytes.at, word, bytes.len) == 0;
}

static bool begins(struct http_bytes bytes, const char *text)
{
	return bytes.len >= strlen(text) && memcmp(bytes.at, text, strlen(text)) == 0;
}

static struct http_bytes skip(struct http_bytes bytes, size_t n)
{
	return (struct http_bytes){ bytes.at + n, bytes.len - n };
}

static struct http_bytes trim(struct http_bytes bytes)
{
	while (bytes.len > 0 && is_space(bytes.at[0]))
		bytes = skip(bytes, 1);
	while (bytes.len > 0 && is_space(bytes.at[bytes.len - 1]))
		bytes.len--;
	return bytes;
}

/* Takes the bytes before the first @end, or all, and moves @at past it. False: there was no @end.
 */
static bool take_until(struct http_bytes *at, char end, struct http_bytes *ret)
{
	const char *found = at->len > 0 ? memchr(at->at, end, at->len) : NULL;

	*ret = *at;
	if (found)
		ret->len = (size_t)(found - at->at);
	*at = skip(*at, ret->len + (found != NULL));
	return found;
}

/* ---- the first step: lines ---- */

/* The byte after a CR. @ret_end is set where it ends the head. */
static enum http_fault end_line(struct http_reader *reader, char c, size_t *ret_end)
{
	if (c != '\n')
		return HTTP_BARE_CR;
	reader->after_cr = false;
	if (reader->line + 1 == reader->at) {
		*ret_end = reader->at + 1;
		return reader->n_lines > 0 ? HTTP_OK : HTTP_EMPTY_LINE;
	}
	reader->line = reader->at + 1;
	return ++reader->n_lines <= HTTP_FIELDS_MAX + 1 ? HTTP_OK : HTTP_TOO_MANY_FIELDS;
}

/* A byte that is not part of a line, or the first of a line. */
static enum http_fault read_odd_byte(struct http_reader *reader, char c, size_t *ret_end)
{
	if (reader->after_cr)
		return end_line(reader, c, ret_end);
	if (c == '\r')
		reader->after_cr = true;
	else if (c == '\n')
		return HTTP_BARE_LF;
	else if (!has_class(c, LINE))
		return HTTP_CONTROL_BYTE;
	else if (is_space(c) && reader->n_lines > 0)
		return HTTP_FOLD;
	return HTTP_OK;
}

static size_t lesser(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* *@ret_end is 0 if the head is not complete. */
static enum http_fault find_end(struct http_reader *reader, const char *bytes, size_t n_bytes,
				size_t *ret_end)
{
	size_t limit = lesser(n_bytes, HTTP_HEAD_MAX);

	*ret_end = 0;
	while (reader->at < limit) {
		bool begins_line = reader->at == reader->line;
		enum http_fault fault;

		if (reader->n_lines == 0 && reader->at >= HTTP_LINE_MAX)
			return HTTP_LINE_TOO_LONG;
		if (reader->after_cr || begins_line || !has_class(bytes[reader->at], LINE)) {
			fault = read_odd_byte(reader, bytes[reader->at], ret_end);
			if (fault != HTTP_OK || *ret_end > 0)
				return fault;
			reader->at++;
			continue;
		}

		size_t stop = reader->n_lines == 0 ? lesser(limit, HTTP_LINE_MAX) : limit;

		while (reader->at < stop && has_class(bytes[reader->at], LINE))
			reader->at++;
	}
	return limit == HTTP_HEAD_MAX ? HTTP_HEAD_TOO_BIG : HTTP_OK;
}

/* ---- fields ---- */

enum name {
	NAME_OTHER,
	NAME_OWN,
	NAME_HOST,
	NAME_LENGTH,
	NAME_ENCODING,
	NAME_CONNECTION,
	NAME_UPGRADE,
	N_NAMES,
};

/* Fields of one connection, whether Connection names them or not, and those written anew. A field
 * named Close would be lost at the next hop, to which the writer says "Connection: close". */
static const struct {
	const char *word;
	size_t len;
	enum name name;
} own_names[] = {
	{ "host", 4, NAME_HOST },
	{ "content-length", 14, NAME_LENGTH },
	{ "transfer-encoding", 17, NAME_ENCODING },
	{ "connection", 10, NAME_CONNECTION },
	{ "upgrade", 7, NAME_UPGRADE },
	{ "close", 5, NAME_OWN },
	{ "keep-alive", 10, NAME_OWN },
	{ "te", 2, NAME_OWN },
	{ "trailer", 7, NAME_OWN },
	{ "http2-settings", 14, NAME_OWN },
};

/* How often a name occurred, and the last value. */
struct found {
	unsigned n;
	struct http_bytes value;
};

struct options {
	bool close;
	bool upgrade;
};

static enum name name_of(struct http_bytes bytes)
{
	for (size_t i = 0; i < N_ELEMENTS(own_names); i++)
		if (bytes.len == own_names[i].len &&
		    strncasecmp(bytes.at, own_names[i].word, bytes.len) == 0)
			return own_names[i].name;
	if (bytes.len > 6 && strncasecmp(bytes.at, "proxy-", 6) == 0)
		return NAME_OWN;
	return NAME_OTHER;
}

static enum http_fault read_field(struct http_bytes line, struct http_field *ret)
{
	size_t n = count_class(line, TOKEN);

	if (n == line.len)
		return HTTP_FIELD_COLON;
	if (is_space(line.at[n]))
		return HTTP_FIELD_SPACE;
	if (n == 0 || line.at[n] != ':')
		return HTTP_FIELD_NAME;
	ret->name = (struct http_bytes){ line.at, n };
	ret->value = trim(skip(line, n + 1));
	return HTTP_OK;
}

/* @at is all lines after the first; the first step has checked their ends. */
static enum http_fault read_fields(struct http_bytes at, struct http_head *head,
				   struct found found[N_NAMES])
{
	struct http_bytes line;

	for (head->n_fields = 0; take_until(&at, '\r', &line) && line.len > 0; head->n_fields++) {
		struct http_field *field = &head->fields[head->n_fields];
		enum http_fault fault = read_field(line, field);
		enum name name;

		if (fault != HTTP_OK)
			return fault;
		name = name_of(field->name);
		field->is_own = name != NAME_OTHER;
		found[name].n++;
		found[name].value = field->value;
		at = skip(at, 1);
	}
	return HTTP_OK;
}

static bool is_named(const struct http_field *field, struct http_bytes option)
{
	return field->name.len == option.len &&
	       strncasecmp(field->name.at, option.at, option.len) == 0;
}

/* An option takes the fields of its name away from the next hop. An attacker who names Host or a
 * field of the framing wants the next hop to read another message than this parser. */
static enum http_fault read_option(struct http_bytes option, struct http_head *head,
				   struct options *options)
{
	enum name name = name_of(option);

	if (option.len == 0 || count_class(option, TOKEN) != option.len)
		return HTTP_CONNECTION;
	if (name == NAME_HOST || name == NAME_LENGTH || name == NAME_ENCODING)
		return HTTP_CONNECTION_NAMES;
	options->close |= is_word(option, "close");
	options->upgrade |= name == NAME_UPGRADE;
	for (size_t i = 0; i < head->n_fields; i++)
		head->fields[i].is_own |= is_named(&head->fields[i], option);
	return HTTP_OK;
}

static enum http_fault read_options(struct http_bytes list, struct http_head *head,
				    struct options *options, unsigned *n_options)
{
	struct http_bytes option;
	bool more;

	do {
		enum http_fault fault;

		more = take_until(&list, ',', &option);
		if (++*n_options > HTTP_OPTIONS_MAX)
			return HTTP_CONNECTION;
		fault = read_option(trim(option), head, options);
		if (fault != HTTP_OK)
			return fault;
	} while (more);
	return HTTP_OK;
}

/* Sets keep_alive. HTTP/1.0 has no persistent connections through a proxy (RFC 9112, 9.3). */
static enum http_fault read_connection(struct http_head *head, struct options *ret)
{
	unsigned n_options = 0;

	*ret = (struct options){ .close = false };
	for (size_t i = 0; i < head->n_fields; i++) {
		enum http_fault fault;

		if (!is_word(head->fields[i].name, "connection"))
			continue;
		fault = read_options(head->fields[i].value, head, ret, &n_options);
		if (fault != HTTP_OK)
			return fault;
	}
	head->keep_alive = head->minor == 1 && !ret->close;
	return HTTP_OK;
}

/* ---- framing ---- */

static enum http_fault read_length(struct http_bytes text, uint64_t *ret)
{
	uint64_t length = 0;

	/* A leading 0 is octal for some. */
	if (text.len == 0 || (text.at[0] == '0' && text.len > 1))
		return HTTP_LENGTH;
	for (size_t i = 0; i < text.len; i++) {
		if (!is_digit(text.at[i]) || length > (INT64_MAX - 9) / 10)
			return HTTP_LENGTH;
		length = length * 10 + (uint64_t)(text.at[i] - '0');
	}
	*ret = length;
	return HTTP_OK;
}

/* What the fields say; HTTP_NO_BODY if they say nothing. */
static enum http_fault read_framing(struct http_head *head, const struct found found[N_NAMES])
{
	const struct found *length = &found[NAME_LENGTH], *encoding = &found[NAME_ENCODING];

	head->framing = HTTP_NO_BODY;
	head->has_length = length->n > 0;
	head->length = 0;
	if (length->n > 0 && encoding->n > 0)
		return HTTP_LENGTH_AND_ENCODING;
	if (encoding->n > 1)
		return HTTP_ENCODING_REPEATED;
	if (length->n > 1)
		return HTTP_LENGTH_REPEATED;
	if (length->n == 1) {
		head->framing = HTTP_LENGTH_BODY;
		return read_length(length->value, &head->length);
	}
	if (encoding->n == 0)
		return HTTP_OK;
	if (head->minor == 0)
		return HTTP_ENCODING_IN_1_0;
	head->framing = HTTP_CHUNKED_BODY;
	return is_word(encoding->value, "chunked") ? HTTP_OK : HTTP_ENCODING;
}

static bool frames_a_body(const struct http_head *head)
{
	return head->framing == HTTP_CHUNKED_BODY || head->length > 0;
}

/* All that requests and responses share. */
static enum http_fault read_rest(struct http_bytes lines, struct http_head *head,
				 struct found found[N_NAMES], struct options *options)
{
	enum http_fault fault = read_fields(lines, head, found);

	head->is_websocket = false;
	if (fault == HTTP_OK)
		fault = read_connection(head, options);
	if (fault == HTTP_OK)
		fault = read_framing(head, found);
	return fault;
}

static enum http_fault read_version(struct http_bytes text, unsigned *ret_minor)
{
	if (is_text(text, "HTTP/1.1") || is_text(text, "HTTP/1.0")) {
		*ret_minor = text.at[7] == '1';
		return HTTP_OK;
	}
	if (text.len == 8 && begins(text, "HTTP/") && is_digit(text.at[5]) && text.at[6] == '.' &&
	    is_digit(text.at[7]))
		return HTTP_VERSION_UNKNOWN;
	return HTTP_VERSION;
}

/* ---- requests ---- */

#define PORT_OF_HTTP 80

static enum http_fault read_path(struct http_bytes path, struct http_request *ret)
{
	for (size_t i = 0; i < path.len; i++)
		if (path.at[i] == '%' &&
		    (path.len - i < 3 || !is_hex(path.at[i + 1]) || !is_hex(path.at[i + 2])))
			return HTTP_TARGET_ESCAPE;
	ret->path = path;
	return HTTP_OK;
}

static enum http_fault read_absolute(struct http_bytes target, struct http_request *ret)
{
	struct http_bytes rest, authority;
	enum http_fault fault;

	if (!begins(target, "http://"))
		return memmem(target.at, target.len, "://", 3) ? HTTP_TARGET_SCHEME
							       : HTTP_TARGET_FORM;
	rest = skip(target, strlen("http://"));
	/* The path is a '/' at least. A '?' before it is refused as a byte of the host. */
	if (!take_until(&rest, '/', &authority))
		return HTTP_TARGET_NO_PATH;
	fault = http_authority_read(authority.at, authority.len, PORT_OF_HTTP, &ret->authority);
	if (fault != HTTP_OK)
		return fault;
	return read_path(skip(target, (size_t)(authority.at + authority.len - target.at)), ret);
}

static enum http_fault read_target(struct http_bytes target, enum http_role role,
				   struct http_request *ret)
{
	if (target.len == 0)
		return HTTP_REQUEST_LINE;
	if (count_class(target, TARGET) != target.len)
		return HTTP_TARGET_BYTE;
	if (role == HTTP_SERVER)
		return target.at[0] == '/' ? read_path(target, ret) : HTTP_TARGET_FORM;
	if (!ret->is_connect)
		return read_absolute(target, ret);
	if (memchr(target.at, '/', target.len))
		return HTTP_TARGET_FORM;
	ret->path = skip(target, target.len);
	return http_authority_read(target.at, target.len, 0, &ret->authority);
}

static enum http_fault read_request_line(struct http_bytes line, enum http_role role,
					 struct http_request *ret)
{
	struct http_bytes target;
	enum http_fault fault;

	if (is_text(line, "PRI * HTTP/2.0"))
		return HTTP_PREFACE;
	if (!take_until(&line, ' ', &ret->method))
		return HTTP_REQUEST_LINE;
	if (ret->method.len == 0 || count_class(ret->method, TOKEN) != ret->method.len)
		return HTTP_METHOD;
	if (ret->method.len > HTTP_METHOD_MAX)
		return HTTP_METHOD_TOO_LONG;
	if (!take_until(&line, ' ', &target))
		return HTTP_NO_VERSION;
	if (memchr(line.at, ' ', line.len))
		return HTTP_REQUEST_LINE;
	fault = read_version(line, &ret->head.minor);
	if (fault != HTTP_OK)
		return fault;
	ret->is_connect = is_text(ret->method, "CONNECT");
	ret->is_head = is_text(ret->method, "HEAD");
	return read_target(target, role, ret);
}

/*
 * The target decides (RFC 9112, 3.2.2), but a Host that differs is refused: a program in the
 * sandbox has no reason to send one. Some clients leave the port of a CONNECT out of Host: there it
 * has no default, and is that of the target.
 */
static enum http_fault check_host(const struct found *host, enum http_role role,
				  struct http_request *request)
{
	uint16_t port = request->is_connect ? request->authority.port : PORT_OF_HTTP;
	struct http_authority named;

	if (host->n > 1)
		return HTTP_HOST_FIELD_REPEATED;
	if (host->n == 0)
		return request->head.minor == 0 && role == HTTP_PROXY ? HTTP_OK
								      : HTTP_HOST_FIELD_MISSING;
	if (http_authority_read(host->value.at, host->value.len, port, &named) != HTTP_OK)
		return HTTP_HOST_FIELD;
	if (role == HTTP_SERVER)
		request->authority = named;
	return http_authority_equal(&named, &request->authority) ? HTTP_OK : HTTP_HOST_DIFFERS;
}

/* An upgrade hands the connection to another protocol, which this parser does not check: only to
 * websocket, by a request that has no body to confuse with it. */
static enum http_fault check_upgrade(const struct found *upgrade, const struct options *options,
				     struct http_request *request)
{
	if (upgrade->n == 0)
		return HTTP_OK;
	if (upgrade->n > 1 || !is_word(upgrade->value, "websocket"))
		return HTTP_UPGRADE;
	if (request->head.minor == 0 || !options->upgrade || !is_text(request->method, "GET") ||
	    frames_a_body(&request->head))
		return HTTP_UPGRADE_MALFORMED;
	request->head.is_websocket = true;
	return HTTP_OK;
}

static enum http_fault read_request(struct http_bytes head, enum http_role role,
				    struct http_request *ret)
{
	struct found found[N_NAMES] = { 0 };
	struct options options;
	struct http_bytes line;
	enum http_fault fault;

	(void)take_until(&head, '\r', &line);
	fault = read_request_line(line, role, ret);
	if (fault == HTTP_OK)
		fault = read_rest(skip(head, 1), &ret->head, found, &options);
	if (fault == HTTP_OK)
		fault = check_host(&found[NAME_HOST], role, ret);
	if (fault == HTTP_OK)
		fault = check_upgrade(&found[NAME_UPGRADE], &options, ret);
	if (fault == HTTP_OK && ret->is_connect && frames_a_body(&ret->head))
		fault = HTTP_BODY_FORBIDDEN;
	return fault;
}

/* ---- responses ---- */

/* The space after the status is required, but servers without a reason leave it out, and the line
 * has one reading. */
static enum http_fault read_status_line(struct http_bytes line, struct http_response *ret)
{
	struct http_bytes version, status;
	enum http_fault fault;

	if (!take_until(&line, ' ', &version))
		return HTTP_STATUS_LINE;
	fault = read_version(version, &ret->head.minor);
	if (fault != HTTP_OK)
		return fault;
	(void)take_until(&line, ' ', &status);
	ret->reason = line;
	if (status.len != 3 || !is_digit(status.at[0]) || !is_digit(status.at[1]) ||
	    !is_digit(status.at[2]))
		return HTTP_STATUS;
	ret->status = (unsigned)(status.at[0] - '0') * 100 + (unsigned)(status.at[1] - '0') * 10 +
		      (unsigned)(status.at[2] - '0');
	return ret->status >= 100 && ret->status <= 599 ? HTTP_OK : HTTP_STATUS;
}

/* Statuses whose responses never have a body, whatever the fields say; so they must not say it. */
static bool forbids_body(const struct http_response *response, const struct http_asked *asked)
{
	return response->status < 200 || response->status == 204 ||
	       (asked->is_connect && response->status <= 299);
}

static enum http_fault check_switch(const struct found *upgrade, const struct options *options,
				    const struct http_asked *asked, struct http_response *response)
{
	if (response->status != 101)
		return HTTP_OK;
	if (!asked->is_websocket || response->head.minor == 0)
		return HTTP_SWITCH;
	if (upgrade->n != 1 || !is_word(upgrade->value, "websocket") || !options->upgrade)
		return HTTP_UPGRADE_MALFORMED;
	response->head.is_websocket = true;
	return HTTP_OK;
}

/* RFC 9112, 6.3, in its order. */
static enum http_framing response_framing(const struct http_response *response,
					  const struct http_asked *asked)
{
	if (response->status == 101 || (asked->is_connect && response->status / 100 == 2))
		return HTTP_TUNNEL;
	if (asked->is_head || response->status < 200 || response->status == 204 ||
	    response->status == 304)
		return HTTP_NO_BODY;
	if (response->head.framing == HTTP_NO_BODY)
		return HTTP_BODY_UNTIL_CLOSE;
	return response->head.framing;
}

static enum http_fault read_response(struct http_bytes head, const struct http_asked *asked,
				     struct http_response *ret)
{
	struct found found[N_NAMES] = { 0 };
	struct options options;
	struct http_bytes line;
	enum http_fault fault;

	(void)take_until(&head, '\r', &line);
	fault = read_status_line(line, ret);
	if (fault == HTTP_OK)
		fault = read_rest(skip(head, 1), &ret->head, found, &options);
	if (fault == HTTP_OK && forbids_body(ret, asked) && frames_a_body(&ret->head))
		fault = HTTP_BODY_FORBIDDEN;
	if (fault == HTTP_OK)
		fault = check_switch(&found[NAME_UPGRADE], &options, asked, ret);
	if (fault != HTTP_OK)
		return fault;
	ret->head.framing = response_framing(ret, asked);
	if (ret->head.framing == HTTP_BODY_UNTIL_CLOSE || ret->head.framing == HTTP_TUNNEL)
		ret->head.keep_alive = false;
	return HTTP_OK;
}

/* ---- both ---- */

/* The size of a complete head, 0, or -EBADMSG. */
static long find_head(struct http_reader *reader, const char *bytes, size_t n_bytes)
{
	size_t end = 0;

	if (reader->fault == HTTP_OK)
		reader->fault = find_end(reader, bytes, n_bytes, &end);
	return reader->fault == HTTP_OK ? (long)end : -EBADMSG;
}

static long finish(struct http_reader *reader, enum http_fault fault, long size)
{
	*reader = (struct http_reader){ .fault = fault };
	return fault == HTTP_OK ? size : -EBADMSG;
}

long http_request_read(struct http_reader *reader, const char *bytes, size_t n_bytes,
		       enum http_role role, struct http_request *ret)
{
	long size = find_head(reader, bytes, n_bytes);

	if (size <= 0)
		return size;
	return finish(reader, read_request((struct http_bytes){ bytes, (size_t)size }, role, ret),
		      size);
}

long http_response_read(struct http_reader *reader, const char *bytes, size_t n_bytes,
			const struct http_asked *asked, struct http_response *ret)
{
	long size = find_head(reader, bytes, n_bytes);

	if (size <= 0)
		return size;
	return finish(reader, read_response((struct http_bytes){ bytes, (size_t)size }, asked, ret),
		      size);
}

struct http_asked http_asked(const struct http_request *request)
{
	return (struct http_asked){
		.minor = request->head.minor,
		.is_connect = request->is_connect,
		.is_head = request->is_head,
		.is_websocket = request->head.is_websocket,
	};
}
