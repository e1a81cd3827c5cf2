/* SPDX-License-Identifier: MIT */

#include "base/cleanup.h"
#include "http-rig.h"

#define H "Host: a.example\r\n"
#define GET "GET http://a.example/ HTTP/1.1\r\n"
#define G(fields) GET H fields "\r\n"
#define POST(fields) "POST http://a.example/ HTTP/1.1\r\n" H fields "\r\n"
#define TARGET(target) "GET " target " HTTP/1.1\r\n" H "\r\n"
#define CONNECT(target, fields) "CONNECT " target " HTTP/1.1\r\n" fields "\r\n"
#define UPGRADE "Connection: Upgrade\r\nUpgrade: "

static struct rig rig;

static enum http_fault fault_of(const char *bytes, size_t n_bytes, enum http_role role)
{
	long r;

	rig.role = role;
	rig.is_response = false;
	r = rig_check(&rig, bytes, n_bytes);
	if (r > 0)
		expect_eq(r, n_bytes);
	expect((r < 0) == (rig.reader.fault != HTTP_OK));
	expect(r != 0);
	return rig.reader.fault;
}

/* Each row is refused, and its neighbour, which differs in little, is accepted. The sizes are
 * given, because some have a NUL. */
#define ROW(fault, refused, accepted)                                                              \
	{                                                                                          \
		fault, refused, sizeof(refused) - 1, accepted, sizeof(accepted) - 1                \
	}

struct row {
	enum http_fault fault;
	const char *refused;
	size_t n_refused;
	const char *accepted;
	size_t n_accepted;
};

static void check_rows(const struct row *rows, size_t n_rows, enum http_role role)
{
	for (size_t i = 0; i < n_rows; i++) {
		enum http_fault fault = fault_of(rows[i].refused, rows[i].n_refused, role);

		if (fault != rows[i].fault)
			printf("# %zu: %s: %s\n", i, rows[i].refused, http_fault_word(fault));
		expect_eq(fault, rows[i].fault);
		fault = fault_of(rows[i].accepted, rows[i].n_accepted, role);
		if (fault != HTTP_OK)
			printf("# %zu: %s: %s\n", i, rows[i].accepted, http_fault_word(fault));
		expect_eq(fault, HTTP_OK);
	}
}

static const struct row lines[] = {
	ROW(HTTP_BARE_LF, "GET http://a.example/ HTTP/1.1\nHost: a.example\n\n", G("")),
	ROW(HTTP_BARE_LF, G("X: a\nY: b\r\n"), G("X: a\r\nY: b\r\n")),
	ROW(HTTP_BARE_LF, GET H "\n", G("")),
	ROW(HTTP_BARE_CR, G("X: a\rHost: b\r\n"), G("X: a\r\nXHost: b\r\n")),
	ROW(HTTP_BARE_CR, G("X: a\r\r\n"), G("X: a\r\n")),
	ROW(HTTP_BARE_CR, GET H "\r\rX", G("")),
	ROW(HTTP_CONTROL_BYTE, G("X: a\0b\r\n"), G("X: a b\r\n")),
	ROW(HTTP_CONTROL_BYTE, G("X: a\x01\r\n"), G("X: a\t\r\n")),
	ROW(HTTP_CONTROL_BYTE, G("X: a\x7f\r\n"), G("X: a\x80\xff\r\n")),
	ROW(HTTP_CONTROL_BYTE, G("X: a\x0b\r\n"), G("X: a\tb\r\n")),
	ROW(HTTP_CONTROL_BYTE, "\x16\x03\x01", G("")),
	ROW(HTTP_CONTROL_BYTE, "GET http://a\0b/ HTTP/1.1\r\n", G("")),
	ROW(HTTP_EMPTY_LINE, "\r\n" G(""), G("")),
	ROW(HTTP_FOLD, G("X: a\r\n b\r\n"), G("X: a\r\nb:\r\n")),
	ROW(HTTP_FOLD, G("X: a\r\n\tHost: b\r\n"), G("X: a\r\nb: c\r\n")),
	ROW(HTTP_FOLD, GET " X: a\r\n" H "\r\n", GET "X: a\r\n" H "\r\n"),
	ROW(HTTP_FOLD, G("X: a\r\n \r\n"), G("X: a \r\n")),
};

static void refuses_lines_that_parsers_end_differently(void)
{
	check_rows(lines, N_ELEMENTS(lines), HTTP_PROXY);
}

static const struct row first_lines[] = {
	ROW(HTTP_REQUEST_LINE, "GET\r\n" H "\r\n", G("")),
	ROW(HTTP_METHOD, " GET http://a.example/ HTTP/1.1\r\n" H "\r\n", G("")),
	ROW(HTTP_METHOD, "G(T http://a.example/ HTTP/1.1\r\n" H "\r\n",
	    "G!T http://a.example/ HTTP/1.1\r\n" H "\r\n"),
	ROW(HTTP_METHOD, "G\tT http://a.example/ HTTP/1.1\r\n" H "\r\n",
	    "get http://a.example/ HTTP/1.1\r\n" H "\r\n"),
	ROW(HTTP_METHOD, "G\xc3T http://a.example/ HTTP/1.1\r\n" H "\r\n", G("")),
	ROW(HTTP_METHOD_TOO_LONG,
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ1234567 http://a.example/ HTTP/1.1\r\n" H "\r\n",
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ123456 http://a.example/ HTTP/1.1\r\n" H "\r\n"),
	ROW(HTTP_REQUEST_LINE, "GET  http://a.example/ HTTP/1.1\r\n" H "\r\n", G("")),
	ROW(HTTP_REQUEST_LINE, "GET http://a.example/  HTTP/1.1\r\n" H "\r\n", G("")),
	ROW(HTTP_REQUEST_LINE, "GET http://a.example/ b HTTP/1.1\r\n" H "\r\n",
	    "GET http://a.example/%20b HTTP/1.1\r\n" H "\r\n"),
	ROW(HTTP_REQUEST_LINE, "GET http://a.example/ HTTP/1.1 \r\n" H "\r\n", G("")),
	ROW(HTTP_REQUEST_LINE, "GET http://a.example/ HTTP/1.1 b\r\n" H "\r\n", G("")),
	ROW(HTTP_NO_VERSION, "GET http://a.example/\r\n\r\n",
	    "GET http://a.example/ HTTP/1.0\r\n\r\n"),
	ROW(HTTP_VERSION_UNKNOWN, "GET http://a.example/ HTTP/0.9\r\n\r\n",
	    "GET http://a.example/ HTTP/1.0\r\n\r\n"),
	ROW(HTTP_VERSION_UNKNOWN, "GET http://a.example/ HTTP/1.2\r\n" H "\r\n", G("")),
	ROW(HTTP_VERSION_UNKNOWN, "GET http://a.example/ HTTP/2.0\r\n" H "\r\n", G("")),
	ROW(HTTP_VERSION, "GET http://a.example/ HTTP/1.10\r\n" H "\r\n", G("")),
	ROW(HTTP_VERSION, "GET http://a.example/ HTTP/01.1\r\n" H "\r\n", G("")),
	ROW(HTTP_VERSION, "GET http://a.example/ HTTP/1\r\n" H "\r\n", G("")),
	ROW(HTTP_VERSION, "GET http://a.example/ http/1.1\r\n" H "\r\n", G("")),
	ROW(HTTP_VERSION, "GET http://a.example/ HTTP/1.1\t\r\n" H "\r\n", G("")),
	ROW(HTTP_VERSION, "GET http://a.example/ HTTP/+1.1\r\n" H "\r\n", G("")),
	ROW(HTTP_VERSION, "GET http://a.example/ ICY/1.1\r\n" H "\r\n", G("")),
	ROW(HTTP_PREFACE, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", G("")),
};

static void refuses_first_lines_that_parsers_split_differently(void)
{
	check_rows(first_lines, N_ELEMENTS(first_lines), HTTP_PROXY);
}

static const struct row targets[] = {
	ROW(HTTP_TARGET_FORM, TARGET("/"), TARGET("http://a.example/")),
	ROW(HTTP_TARGET_FORM, TARGET("*"), TARGET("http://a.example/*")),
	ROW(HTTP_TARGET_FORM, TARGET("a.example:80"), TARGET("http://a.example:80/")),
	ROW(HTTP_TARGET_FORM, TARGET("http:/a.example/"), TARGET("http://a.example/a")),
	ROW(HTTP_TARGET_FORM, TARGET("//a.example/"), TARGET("http://a.example//")),
	ROW(HTTP_TARGET_SCHEME, TARGET("https://a.example/"), TARGET("http://a.example/https://")),
	ROW(HTTP_TARGET_SCHEME, TARGET("ftp://a.example/"), TARGET("http://a.example/")),
	ROW(HTTP_TARGET_SCHEME, TARGET("HTTP://a.example/"), TARGET("http://A.Example/")),
	ROW(HTTP_TARGET_NO_PATH, TARGET("http://a.example"), TARGET("http://a.example/")),
	ROW(HTTP_TARGET_NO_PATH, TARGET("http://a.example?b"), TARGET("http://a.example/?b")),
	ROW(HTTP_HOST_NAME, TARGET("http://a.example?b/"), TARGET("http://a.example/b?/")),
	ROW(HTTP_HOST_EMPTY, TARGET("http:///"), TARGET("http://a.example./")),
	ROW(HTTP_HOST_EMPTY, TARGET("http://:80/"), TARGET("http://a.example:80/")),
	ROW(HTTP_PORT, TARGET("http://a.example:/"), TARGET("http://a.example:80/")),
	ROW(HTTP_PORT, TARGET("http://a.example:80:80/"), TARGET("http://a.example:80/:80")),
	ROW(HTTP_USERINFO, TARGET("http://b@a.example/"), TARGET("http://a.example/b@a")),
	ROW(HTTP_USERINFO, TARGET("http://a.example:80@b.example/"), TARGET("http://a.example/@")),
	ROW(HTTP_HOST_NAME, TARGET("http://%61.example/"), TARGET("http://a.example/%61")),
	ROW(HTTP_HOST_ADDRESS, TARGET("http://2130706433/"), TARGET("http://a.example/2130706433")),
	ROW(HTTP_TARGET_BYTE, TARGET("http://a.example\\@b/"), TARGET("http://a.example/@b/")),
	ROW(HTTP_TARGET_BYTE, TARGET("http://a.example/\\"), TARGET("http://a.example/%5c")),
	ROW(HTTP_TARGET_BYTE, TARGET("http://a.example/#b"), TARGET("http://a.example/%23b")),
	ROW(HTTP_TARGET_BYTE, TARGET("http://a.example#@b/"), TARGET("http://a.example/")),
	ROW(HTTP_TARGET_BYTE, TARGET("http://a.example/\tb"), TARGET("http://a.example/%09b")),
	ROW(HTTP_TARGET_BYTE, TARGET("http://a.example/\xc3\xbc"),
	    TARGET("http://a.example/%c3%BC")),
	ROW(HTTP_TARGET_BYTE, TARGET("http://\xc3\xbc.example/"), TARGET("http://a.example/")),
	ROW(HTTP_TARGET_BYTE, TARGET("http://a.example/<"), TARGET("http://a.example/[]{|}^`~")),
	ROW(HTTP_TARGET_ESCAPE, TARGET("http://a.example/%"), TARGET("http://a.example/%25")),
	ROW(HTTP_TARGET_ESCAPE, TARGET("http://a.example/%2"), TARGET("http://a.example/%2f")),
	ROW(HTTP_TARGET_ESCAPE, TARGET("http://a.example/%0g"), TARGET("http://a.example/%00")),
	ROW(HTTP_TARGET_FORM, CONNECT("http://a.example:1/", "Host: a.example:1\r\n"),
	    CONNECT("a.example:1", "Host: a.example:1\r\n")),
	ROW(HTTP_TARGET_FORM, CONNECT("/", "Host: a.example\r\n"),
	    CONNECT("a.example:1", "Host: a.example:1\r\n")),
	ROW(HTTP_PORT_MISSING, CONNECT("a.example", "Host: a.example\r\n"),
	    CONNECT("a.example:80", "Host: a.example\r\n")),
	ROW(HTTP_TARGET_BYTE, CONNECT("a.example:1#b", "Host: a.example:1\r\n"),
	    CONNECT("a.example:1", "Host: A.example.:1\r\n")),
	ROW(HTTP_USERINFO, CONNECT("a.example@b.example:1", "Host: b.example:1\r\n"),
	    CONNECT("b.example:1", "Host: b.example:1\r\n")),
	ROW(HTTP_HOST_NAME, CONNECT("a.example%00.b:1", "Host: a.example:1\r\n"),
	    CONNECT("[::1]:1", "Host: [0::1]:1\r\n")),
	ROW(HTTP_TARGET_FORM, "connect a.example:1 HTTP/1.1\r\nHost: a.example:1\r\n\r\n",
	    CONNECT("a.example:1", "Host: a.example:1\r\n")),
};

static void refuses_targets_that_name_two_hosts_or_none(void)
{
	check_rows(targets, N_ELEMENTS(targets), HTTP_PROXY);
}

static const struct row fields[] = {
	ROW(HTTP_FIELD_COLON, G("X\r\n"), G("X:\r\n")),
	ROW(HTTP_FIELD_NAME, G(": a\r\n"), G("X: a\r\n")),
	ROW(HTTP_FIELD_NAME, G("X(: a\r\n"), G("X!: (a\r\n")),
	ROW(HTTP_FIELD_NAME, G("X\xc3\xbc: a\r\n"), G("X: \xc3\xbc\r\n")),
	ROW(HTTP_FIELD_SPACE, G("X : a\r\n"), G("X: a\r\n")),
	ROW(HTTP_FIELD_SPACE, G("X\t: a\r\n"), G("X:\ta\r\n")),
	ROW(HTTP_FIELD_SPACE, G("X Y: a\r\n"), G("X-Y: a\r\n")),
	ROW(HTTP_FIELD_SPACE, POST("Transfer-Encoding : chunked\r\n"),
	    POST("Transfer-Encoding: chunked\r\n")),
	ROW(HTTP_HOST_FIELD_MISSING, GET "\r\n", "GET http://a.example/ HTTP/1.0\r\n\r\n"),
	ROW(HTTP_HOST_FIELD_REPEATED, G(H), G("X-" H)),
	ROW(HTTP_HOST_FIELD_REPEATED, G("host: b.example\r\n"), G("hosts: b.example\r\n")),
	ROW(HTTP_HOST_FIELD, GET "Host:\r\n\r\n", GET "Host: A.Example\r\n\r\n"),
	ROW(HTTP_HOST_FIELD, GET "Host: a.example, b\r\n\r\n", GET "Host: a.example \r\n\r\n"),
	ROW(HTTP_HOST_FIELD, GET "Host: http://a.example\r\n\r\n",
	    GET "Host: a.example:80\r\n\r\n"),
	ROW(HTTP_HOST_FIELD, GET "Host: a@a.example\r\n\r\n", GET "Host: a.example.\r\n\r\n"),
	ROW(HTTP_HOST_DIFFERS, GET "Host: b.example\r\n\r\n", GET H "\r\n"),
	ROW(HTTP_HOST_DIFFERS, GET "Host: a.example:81\r\n\r\n", GET H "\r\n"),
	ROW(HTTP_HOST_DIFFERS, "GET http://a.example:81/ HTTP/1.1\r\n" H "\r\n",
	    "GET http://a.example:81/ HTTP/1.1\r\nHost: a.example:81\r\n\r\n"),
	ROW(HTTP_HOST_DIFFERS, "GET http://a.example/ HTTP/1.0\r\nHost: b\r\n\r\n",
	    "GET http://a.example/ HTTP/1.0\r\n" H "\r\n"),
	ROW(HTTP_HOST_DIFFERS, CONNECT("b.example:443", H),
	    CONNECT("b.example:443", "Host: b.example\r\n")),
	ROW(HTTP_HOST_DIFFERS, CONNECT("b.example:443", "Host: b.example:444\r\n"),
	    CONNECT("b.example:443", "Host: b.example:443\r\n")),
	ROW(HTTP_CONNECTION, G("Connection: close, a b\r\n"), G("Connection: close, a-b\r\n")),
	ROW(HTTP_CONNECTION, G("Connection:\r\n"), G("Connection: close\r\n")),
	ROW(HTTP_CONNECTION, G("Connection: close,,a\r\n"), G("Connection: close ,\ta\r\n")),
	ROW(HTTP_CONNECTION, G("Connection: a,b,c,d,e,f,g,h\r\nConnection: a,b,c,d,e,f,g,h,i\r\n"),
	    G("Connection: a,b,c,d,e,f,g,h\r\nConnection: a,b,c,d,e,f,g,h\r\n")),
	ROW(HTTP_CONNECTION_NAMES, G("Connection: close, Host\r\n"), G("Connection: Hosts\r\n")),
	ROW(HTTP_CONNECTION_NAMES, G("Connection: content-LENGTH\r\n"),
	    G("Connection: content-type\r\n")),
	ROW(HTTP_CONNECTION_NAMES, G("Connection: a\r\nConnection: Transfer-Encoding\r\n"),
	    G("Connection: a\r\nConnection: TE\r\n")),
	ROW(HTTP_UPGRADE, G("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"),
	    G("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: websocket\r\n")),
	ROW(HTTP_UPGRADE, G("Connection: Upgrade\r\nUpgrade: websocket, h2c\r\n"),
	    G("Connection: upgrade, keep-alive\r\nUpgrade: WebSocket\r\n")),
	ROW(HTTP_UPGRADE, G(UPGRADE "websocket\r\nUpgrade: websocket\r\n"),
	    G(UPGRADE "websocket\r\n")),
	ROW(HTTP_UPGRADE_MALFORMED, G("Upgrade: websocket\r\n"), G(UPGRADE "websocket\r\n")),
	ROW(HTTP_UPGRADE_MALFORMED, POST(UPGRADE "websocket\r\n"), G(UPGRADE "websocket\r\n")),
	ROW(HTTP_UPGRADE_MALFORMED, G(UPGRADE "websocket\r\nContent-Length: 1\r\n"),
	    G(UPGRADE "websocket\r\nContent-Length: 0\r\n")),
	ROW(HTTP_UPGRADE_MALFORMED,
	    "GET http://a.example/ HTTP/1.0\r\n" UPGRADE "websocket\r\n\r\n",
	    "GET http://a.example/ HTTP/1.0\r\nConnection: Upgrade\r\n\r\n"),
};

static void refuses_fields_that_lead_elsewhere(void)
{
	check_rows(fields, N_ELEMENTS(fields), HTTP_PROXY);
}

#define CL(text) POST("Content-Length:" text "\r\n")
#define TE(text) POST("Transfer-Encoding:" text "\r\n")

static const struct row framings[] = {
	ROW(HTTP_LENGTH_AND_ENCODING, POST("Content-Length: 6\r\nTransfer-Encoding: chunked\r\n"),
	    CL("6")),
	ROW(HTTP_LENGTH_AND_ENCODING, POST("Transfer-Encoding:\tchunked\r\nContent-Length: 6\r\n"),
	    TE("\tchunked")),
	ROW(HTTP_LENGTH_AND_ENCODING, POST("Transfer-Encoding: x\r\nContent-Length: 0\r\n"),
	    POST("X-Transfer-Encoding: x\r\nContent-Length: 0\r\n")),
	ROW(HTTP_LENGTH_REPEATED, POST("Content-Length: 6\r\nContent-Length: 6\r\n"), CL("6")),
	ROW(HTTP_LENGTH_REPEATED, POST("Content-Length: 0\r\ncontent-length: 6\r\n"), CL("0")),
	ROW(HTTP_LENGTH, CL(""), CL("0")),
	ROW(HTTP_LENGTH, CL("0, 42"), CL("42")),
	ROW(HTTP_LENGTH, CL("42,42"), CL("4242")),
	ROW(HTTP_LENGTH, CL("+42"), CL(" 42 ")),
	ROW(HTTP_LENGTH, CL("-1"), CL("1")),
	ROW(HTTP_LENGTH, CL("0x2a"), CL("2")),
	ROW(HTTP_LENGTH, CL("042"), CL("42")),
	ROW(HTTP_LENGTH, CL("4 2"), CL("42")),
	ROW(HTTP_LENGTH, CL("1e3"), CL("13")),
	ROW(HTTP_LENGTH, CL("4\xb2"), CL("4")),
	ROW(HTTP_LENGTH, CL("18446744073709551616"), CL("9223372036854775799")),
	ROW(HTTP_LENGTH, CL("9223372036854775808"), CL("922337203685477580")),
	ROW(HTTP_ENCODING, TE("xchunked"), TE("chunked")),
	ROW(HTTP_ENCODING, TE("chunked, chunked"), TE(" Chunked")),
	ROW(HTTP_ENCODING, TE("gzip, chunked"), TE("chunked ")),
	ROW(HTTP_ENCODING, TE("identity"), TE("chunked")),
	ROW(HTTP_ENCODING, TE("\"chunked\""), TE("chunked")),
	ROW(HTTP_ENCODING, TE("chunked;q=1"), TE("chunked")),
	ROW(HTTP_ENCODING, TE(""), TE("chunked")),
	ROW(HTTP_ENCODING, TE("chunked,"), TE("chunked")),
	ROW(HTTP_ENCODING_REPEATED, POST("Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n"),
	    TE("chunked")),
	ROW(HTTP_ENCODING_IN_1_0,
	    "POST http://a.example/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
	    "POST http://a.example/ HTTP/1.0\r\nContent-Length: 1\r\n\r\n"),
	ROW(HTTP_BODY_FORBIDDEN, CONNECT("a.example:1", H "Content-Length: 1\r\n"),
	    CONNECT("a.example:1", H "Content-Length: 0\r\n")),
	ROW(HTTP_BODY_FORBIDDEN, CONNECT("a.example:1", H "Transfer-Encoding: chunked\r\n"),
	    CONNECT("a.example:1", H "TE: chunked\r\n")),
};

static void refuses_framing_that_parsers_read_differently(void)
{
	check_rows(framings, N_ELEMENTS(framings), HTTP_PROXY);
}

static const struct row server_rows[] = {
	ROW(HTTP_TARGET_FORM, TARGET("http://a.example/"), TARGET("/")),
	ROW(HTTP_TARGET_FORM, TARGET("a//b"), TARGET("//a.example/")),
	ROW(HTTP_TARGET_FORM, TARGET("*"), TARGET("/*")),
	ROW(HTTP_TARGET_FORM, CONNECT("a.example:1", H), TARGET("/a?b=c")),
	ROW(HTTP_TARGET_BYTE, TARGET("/#a"), TARGET("/%23a")),
	ROW(HTTP_TARGET_ESCAPE, TARGET("/%zz"), TARGET("/%5a")),
	ROW(HTTP_HOST_FIELD_MISSING, "GET / HTTP/1.1\r\n\r\n", TARGET("/")),
	ROW(HTTP_HOST_FIELD_MISSING, "GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.0\r\n" H "\r\n"),
	ROW(HTTP_HOST_FIELD, "GET / HTTP/1.1\r\nHost: 127.1\r\n\r\n",
	    "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"),
};

static void a_server_gets_paths_only(void)
{
	check_rows(server_rows, N_ELEMENTS(server_rows), HTTP_SERVER);
	expect_eq(fault_of(TARGET("/a?b"), strlen(TARGET("/a?b")), HTTP_SERVER), HTTP_OK);
	expect_str(print_authority(&rig.request.authority, 80), "a.example");
	expect(same_bytes(rig.request.path, "/a?b"));
}

static const struct http_request *accepted(const char *text)
{
	expect_eq(fault_of(text, strlen(text), HTTP_PROXY), HTTP_OK);
	return &rig.request;
}

static void reads_a_request_for_a_path(void)
{
	const struct http_request *request =
		accepted("POST http://A.example.:8080/a/../b?c=%2f HTTP/1.1\r\nHOST: "
			 "a.example:8080\r\nX: \t b c \t\r\nEmpty:\r\ncontent-length: 42\r\n\r\n");

	expect(same_bytes(request->method, "POST"));
	expect(!request->is_connect && !request->is_head);
	expect_str(print_authority(&request->authority, 80), "a.example:8080");
	expect(same_bytes(request->path, "/a/../b?c=%2f"));
	expect_eq(request->head.minor, 1);
	expect_eq(request->head.n_fields, 4);
	expect(same_bytes(request->head.fields[1].value, "b c"));
	expect(!request->head.fields[1].is_own);
	expect(same_bytes(request->head.fields[2].value, ""));
	expect_eq(request->head.framing, HTTP_LENGTH_BODY);
	expect_eq(request->head.length, 42);
	expect(request->head.keep_alive);
}

static void reads_a_request_for_a_tunnel(void)
{
	const struct http_request *request =
		accepted("CONNECT [2001:DB8::0:1]:443 HTTP/1.1\r\nHost: [2001:db8::1]\r\n\r\n");

	expect(request->is_connect);
	expect_str(print_authority(&request->authority, 0), "[2001:db8::1]:443");
	expect_eq(request->path.len, 0);
	expect_eq(request->head.framing, HTTP_NO_BODY);
}

static void tells_whether_the_connection_goes_on(void)
{
	expect(accepted(G(""))->head.keep_alive);
	expect(accepted(G("Connection: keep-alive\r\n"))->head.keep_alive);
	expect(!accepted(G("Connection: keep-alive, Close\r\n"))->head.keep_alive);
	expect(!accepted(G("Connection: a\r\nConnection: close\r\n"))->head.keep_alive);
	expect(!accepted("GET http://a.example/ HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
			->head.keep_alive);
	expect(accepted(G(UPGRADE "websocket\r\n"))->head.is_websocket);
	expect(!accepted(G("Connection: Upgrade\r\n"))->head.is_websocket);
}

static void a_pipelined_request_is_left_for_the_next_call(void)
{
	static const char bytes[] =
		G("") "GET http://b.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n";
	struct http_reader reader = HTTP_READER_INIT;
	long first = http_request_read(&reader, bytes, sizeof(bytes) - 1, HTTP_PROXY, &rig.request);

	expect_eq(first, strlen(G("")));
	expect_str(print_authority(&rig.request.authority, 80), "a.example");
	expect_eq(http_request_read(&reader, bytes + first, sizeof(bytes) - 1 - (size_t)first,
				    HTTP_PROXY, &rig.request),
		  (long)sizeof(bytes) - 1 - first);
	expect_str(print_authority(&rig.request.authority, 80), "b.example");
}

/* A head with @n fields, and one that fills it up to @size bytes. */
static size_t make_head(char *head, size_t n, size_t size)
{
	size_t len = (size_t)sprintf(head, GET H);

	for (size_t i = 1; i < n; i++)
		len += (size_t)sprintf(head + len, "X: b\r\n");
	if (size > 0) {
		len += (size_t)sprintf(head + len, "Y:");
		memset(head + len, 'y', size - len - 4);
		len = size - 4;
		len += (size_t)sprintf(head + len, "\r\n");
	}
	return len + (size_t)sprintf(head + len, "\r\n");
}

static void the_limits_of_a_head_are_exact(void)
{
	static char head[2 * HTTP_HEAD_MAX];
	size_t n;

	expect_eq(fault_of(head, make_head(head, HTTP_FIELDS_MAX, 0), HTTP_PROXY), HTTP_OK);
	expect_eq(fault_of(head, make_head(head, HTTP_FIELDS_MAX + 1, 0), HTTP_PROXY),
		  HTTP_TOO_MANY_FIELDS);
	expect_eq(fault_of(head, make_head(head, 1, HTTP_HEAD_MAX), HTTP_PROXY), HTTP_OK);
	expect_eq(fault_of(head, make_head(head, 1, HTTP_HEAD_MAX + 1), HTTP_PROXY),
		  HTTP_HEAD_TOO_BIG);
	/* A full buffer is refused before another byte comes. */
	n = make_head(head, 1, 2 * HTTP_HEAD_MAX - 2);
	expect(n > HTTP_HEAD_MAX);
	expect_eq(fault_of(head, HTTP_HEAD_MAX, HTTP_PROXY), HTTP_HEAD_TOO_BIG);
}

static void the_limit_of_the_first_line_is_exact(void)
{
	static char head[2 * HTTP_HEAD_MAX];

	for (size_t more = 0; more <= 1; more++) {
		size_t len = (size_t)sprintf(head, "GET http://a.example/");
		size_t n = HTTP_LINE_MAX + more - strlen(" HTTP/1.1\r\n") - len;

		memset(head + len, 'p', n);
		(void)sprintf(head + len + n, " HTTP/1.1\r\n" H "\r\n");
		expect_eq(fault_of(head, strlen(head), HTTP_PROXY),
			  more ? HTTP_LINE_TOO_LONG : HTTP_OK);
	}
}

static void an_unfinished_head_needs_more_bytes(void)
{
	static const char head[] = G("X: y\r\n");

	for (size_t n = 0; n < sizeof(head) - 1; n++) {
		struct http_reader reader = HTTP_READER_INIT;

		expect_eq(http_request_read(&reader, head, n, HTTP_PROXY, &rig.request), 0);
		expect_eq(reader.fault, HTTP_OK);
	}
}

static void every_fault_has_a_word_of_its_own_and_a_status(void)
{
	for (enum http_fault i = 0; i < N_HTTP_FAULTS; i++) {
		unsigned status = http_fault_status(i);

		expect(http_fault_word(i) != NULL);
		expect(i == HTTP_OK || status == 400 || status == 414 || status == 431 ||
		       status == 501 || status == 505);
		for (enum http_fault j = 0; j < i; j++)
			expect(strcmp(http_fault_word(i), http_fault_word(j)) != 0);
	}
}

static const struct test tests[] = {
	TEST(refuses_lines_that_parsers_end_differently),
	TEST(refuses_first_lines_that_parsers_split_differently),
	TEST(refuses_targets_that_name_two_hosts_or_none),
	TEST(refuses_fields_that_lead_elsewhere),
	TEST(refuses_framing_that_parsers_read_differently),
	TEST(a_server_gets_paths_only),
	TEST(reads_a_request_for_a_path),
	TEST(reads_a_request_for_a_tunnel),
	TEST(tells_whether_the_connection_goes_on),
	TEST(a_pipelined_request_is_left_for_the_next_call),
	TEST(the_limits_of_a_head_are_exact),
	TEST(the_limit_of_the_first_line_is_exact),
	TEST(an_unfinished_head_needs_more_bytes),
	TEST(every_fault_has_a_word_of_its_own_and_a_status),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
