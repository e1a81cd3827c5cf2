# SPDX-License-Identifier: MIT
"""The attacks of attack-proxy.py on a proxy: what a client sends, what it must get, what may reach an origin.

kind says what would be wrong:
    allowed    nothing: the request is valid, and so is what the origin gets
    denied     a socket that no rule allows is connected to
    malformed  something of a request that has no certain meaning reaches an origin
    smuggled   the origin gets bytes that match "trace", which it and the proxy can read differently
"""
import dataclasses
import re
import ssl

PORT, WRONG_PORT, TLS_PORT = 18081, 18082, 18443
OPEN_PORT = 18083  # allowed at every address but the loopback
PUBLIC, EVIL, LISTED = "93.184.216.34", "93.184.216.99", "93.184.216.77"
INSIDE = "10.9.8.7"
SIX = "2606:2800:220:1::34"
NAME = "allowed.test"
TARGET = f"{NAME}:{PORT}"
URL = f"http://{TARGET}"

ZONE = {
    NAME: {"A": [PUBLIC]},
    "six.test": {"AAAA": [SIX]},
    "inside.test": {"A": [INSIDE]},
    "evil.test": {"A": [EVIL]},
    "*.evil.test": {"A": [EVIL]},
    "notallowed.test": {"A": [EVIL]},
    "xn--allwed-lxa.test": {"A": [EVIL]},
    # Each bound to the allowed address when it is decided, to the loopback when it is dialled a moment later.
    "rebinds.test": [{"A": [PUBLIC]}, {"A": ["127.0.0.1"]}],
}
# Names that a rule allows, at addresses that no rule allows.
SPECIAL = {
    "loopback": "127.0.0.1", "loopback-12": "127.0.0.12", "private-10": "10.1.2.3", "private-172": "172.16.0.1",
    "private-192": "192.168.1.1", "shared": "100.64.0.1", "link-local": "169.254.1.1", "metadata": "169.254.169.254",
    "zero": "0.0.0.0", "multicast": "224.0.0.1", "broadcast": "255.255.255.255", "benchmark": "198.18.0.1",
    "loopback-six": "::1", "unspecified-six": "::", "mapped": "::ffff:127.0.0.1", "mapped-public": f"::ffff:{EVIL}",
    "compatible": "::127.0.0.1", "translated": "::ffff:0:7f00:1", "nat64": "64:ff9b::7f00:1",
    "nat64-local": "64:ff9b:1::7f00:1", "sixtofour": "2002:7f00:1::1", "teredo": "2001:0:7f00:1::1",
    "unique-local": "fd00::1", "metadata-six": "fd00:ec2::254", "link-local-six": "fe80::1",
    "site-local": "fec0::1", "multicast-six": "ff02::1", "documentation-six": "2001:db8::1",
}
for name, address in SPECIAL.items():
    ZONE[f"{name}.special.test"] = {"AAAA" if ":" in address else "A": [address]}
ZONE["mixed.special.test"] = {"A": [PUBLIC, "10.1.2.3"]}
ZONE["mixed-families.special.test"] = {"A": [PUBLIC], "AAAA": ["::1"]}

POLICY = f"""\
version: 1
capabilities:
  - name: plain
    match: {{op: net.connect, host: [{NAME}, six.test, rebinds.test, "*.special.test"], ports: [{PORT}], proto: tcp}}
    action: allow
    constraints: {{tls: any}}
  - name: secure
    match: {{op: net.connect, host: {NAME}, ports: [{TLS_PORT}], proto: tcp}}
    action: allow
  - name: address
    match: {{op: net.connect, cidr: {LISTED}/32, ports: [{TLS_PORT}], proto: tcp}}
    action: allow
  - name: everywhere
    match: {{op: net.connect, cidr: [0.0.0.0/0, "::/0"], ports: [{OPEN_PORT}]}}
    action: allow
    constraints: {{tls: any}}
  - name: but-the-loopback
    match: {{op: net.connect, cidr: [127.0.0.0/8, "::1"]}}
    action: deny
  - name: banned
    match: {{op: net.connect, host: banned.test}}
    action: deny
  - name: inside
    match: {{op: net.connect, host: inside.test, cidr: {INSIDE}/32, ports: [{PORT}], proto: tcp}}
    action: allow
    constraints: {{tls: any}}
net: {{mode: proxy}}
"""
# The same for proxies that know names and ports only.
ALLOWED_NAMES = [NAME, "six.test", "rebinds.test", "inside.test", ".special.test", LISTED]
ALLOWED_SOCKETS = {(PUBLIC, PORT), (PUBLIC, TLS_PORT), (SIX, PORT), (LISTED, TLS_PORT), (INSIDE, PORT)}


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    kind: str
    send: bytes
    status: tuple = (400,)  # of each response; () if there is none
    origin: bytes = b""  # what arrives at all origins together
    names: frozenset = frozenset()  # that may be resolved, and are
    trace: str = ""
    inside: bytes = b""  # sent after a 200 to CONNECT
    is_slow: bool = False  # each byte in a packet of its own
    is_cut: bool = False  # the origin may get less than "origin"
    connects: bool = False  # an origin is connected to, though it gets no byte


def head(method, url, *fields, host=TARGET, version="HTTP/1.1"):
    lines = [f"{method} {url} {version}", *([f"Host: {host}"] if host is not None else []), *fields]
    return "".join(line + "\r\n" for line in lines).encode("latin-1") + b"\r\n"


def origin_form(method="GET", path="/", *fields, host=TARGET):
    return head(method, path, *fields, host=host)


def allowed(name, send, origin, status=(200,), names=(NAME,), **more):
    return Case(name, "allowed", send, status, origin, frozenset(names), **more)


def denied(name, send, status=(403,), names=(), **more):
    return Case(name, "denied", send, status, names=frozenset(names), **more)


def malformed(name, send, status=(400,), **more):
    return Case(name, "malformed", send, status, **more)


def smuggled(name, send, trace, status=(400,), **more):
    return Case(name, "smuggled", send, status, trace=trace, **more)


def connect(authority, host=None, *fields):
    return head("CONNECT", authority, *fields, host=authority if host is None else host)


def get(url, *fields, host=None):
    if host is None:
        host = url.split("//", 1)[1].split("/", 1)[0].rsplit("@", 1)[-1] if "//" in url else TARGET
    return head("GET", url, *fields, host=host)


def post(*fields, body=b""):
    return head("POST", URL + "/", *fields) + body


def client_hello(name):
    """The first bytes of a TLS client; None: without a server name."""
    context = ssl.create_default_context()
    context.check_hostname = name is not None
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        context.wrap_bio(incoming, outgoing, server_hostname=name).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


def in_records(hello, size):
    """The same handshake message in records of @size bytes."""
    message = hello[5:]
    return b"".join(b"\x16\x03\x01" + len(message[i:i + size]).to_bytes(2, "big") + message[i:i + size]
                    for i in range(0, len(message), size))


HELLO = client_hello(NAME)
EVIL_HELLO = client_hello("evil.test")
NAMELESS = client_hello(None)
SECURE = f"{NAME}:{TLS_PORT}"
FORGED = b"GET /smuggled HTTP/1.1\r\nHost: evil.test\r\n\r\n"
GET = origin_form()
IN_TUNNEL = origin_form("GET", "/in-tunnel")
CHUNKED = "Transfer-Encoding: chunked"

# ---- what must work ----

VALID = [
    allowed("get", get(URL + "/"), GET),
    allowed("get-path-and-query", get(URL + "/a//b/../c?d=e&f#"[:-1]), origin_form("GET", "/a//b/../c?d=e&f")),
    allowed("get-in-single-bytes", get(URL + "/"), GET, is_slow=True),
    allowed("upper-case-name", get("http://ALLOWED.Test:18081/"), GET),
    allowed("dot-after-the-name", get(f"http://{NAME}.:{PORT}/"), GET),
    allowed("port-with-zeros", get(f"http://{NAME}:018081/"), b"", status=(400,), names=()),
    allowed("ipv6-only", get(f"http://six.test:{PORT}/"), origin_form(host=f"six.test:{PORT}"), names=["six.test"]),
    allowed("name-and-network", get(f"http://inside.test:{PORT}/"), origin_form(host=f"inside.test:{PORT}"),
            names=["inside.test"]),
    allowed("post-with-length", post("Content-Length: 5", body=b"hello"),
            origin_form("POST", "/", "Content-Length: 5") + b"hello"),
    allowed("post-in-chunks", post(CHUNKED, body=b"5\r\nhello\r\n0\r\n\r\n"),
            origin_form("POST", "/", CHUNKED) + b"5\r\nhello\r\n0\r\n\r\n"),
    allowed("tab-before-the-encoding", post("Transfer-Encoding:\tchunked", body=b"0\r\n\r\n"),
            origin_form("POST", "/", CHUNKED) + b"0\r\n\r\n"),
    allowed("connection-fields-stay-here",
            get(URL + "/", "Connection: x-mine", "X-Mine: 1", "Proxy-Authorization: Basic eDp5", "Keep-Alive: 5",
                "X-Other: 2"), origin_form("GET", "/", "X-Other: 2")),
    allowed("pipelined", get(URL + "/1") + get(URL + "/2"), origin_form("GET", "/1") + origin_form("GET", "/2"),
            status=(200, 200)),
    allowed("connect", connect(TARGET), IN_TUNNEL, status=(200, 200), inside=IN_TUNNEL),
    allowed("connect-with-early-bytes", connect(TARGET) + IN_TUNNEL, IN_TUNNEL, status=(200, 200)),
    allowed("connect-in-single-bytes", connect(TARGET), IN_TUNNEL, status=(200, 200), inside=IN_TUNNEL, is_slow=True),
    allowed("connect-upper-case", connect("ALLOWED.test:18081"), IN_TUNNEL, status=(200, 200), inside=IN_TUNNEL),
    allowed("connect-name-and-network", connect(f"inside.test:{PORT}"), IN_TUNNEL, status=(200, 200),
            inside=IN_TUNNEL, names=["inside.test"]),
    allowed("tls", connect(SECURE), HELLO, inside=HELLO),
    allowed("tls-early", connect(SECURE) + HELLO, HELLO),
    allowed("tls-in-single-bytes", connect(SECURE), HELLO, inside=HELLO, is_slow=True),
    allowed("tls-in-records", connect(SECURE), in_records(HELLO, 100), inside=in_records(HELLO, 100)),
    allowed("tls-name-in-capitals", connect(SECURE), HELLO.replace(b"allowed.test", b"ALLOWED.test"),
            inside=HELLO.replace(b"allowed.test", b"ALLOWED.test")),
    allowed("tls-to-an-address", connect(f"{LISTED}:{TLS_PORT}"), NAMELESS, inside=NAMELESS, names=()),
    # The same address, and its rule names no host.
    allowed("tls-to-a-mapped-address", connect(f"[::ffff:{LISTED}]:{TLS_PORT}"), NAMELESS, inside=NAMELESS, names=()),
    allowed("tls-to-an-address-with-a-name", connect(f"{LISTED}:{TLS_PORT}"), EVIL_HELLO, inside=EVIL_HELLO, names=()),
]

# ---- destinations that no rule allows ----

DESTINATIONS = [
    denied("connect-other-name", connect(f"evil.test:{PORT}")),
    denied("connect-other-port", connect(f"{NAME}:{WRONG_PORT}")),
    denied("get-other-name", get(f"http://evil.test:{PORT}/")),
    denied("get-other-port", get(f"http://{NAME}:{WRONG_PORT}/")),
    denied("get-default-port", get(f"http://{NAME}/")),
    denied("get-host-field-allowed", get(f"http://evil.test:{PORT}/", host=TARGET), (400,)),
    denied("connect-host-field-allowed", connect(f"evil.test:{PORT}", host=TARGET), (400,)),
    denied("suffix-of-the-name", connect(f"notallowed.test:{PORT}")),
    denied("prefix-of-the-name", connect(f"{NAME}.evil.test:{PORT}")),
    denied("below-the-name", connect(f"evil.{NAME}:{PORT}")),
    denied("above-the-wildcard", connect(f"special.test:{PORT}")),
    denied("idn-lookalike", connect(f"xn--allwed-lxa.test:{PORT}")),
    denied("two-dots-after-the-name", connect(f"{NAME}..:{PORT}"), (400,)),
    denied("connect-without-port", connect(NAME), (400,)),
    denied("port-wraps-to-allowed", connect(f"{NAME}:{65536 + PORT}"), (400,)),
    denied("port-wraps-to-other", connect(f"{NAME}:{65536 + WRONG_PORT}"), (400,)),
    denied("port-0", connect(f"{NAME}:0"), (400,)),
    denied("port-with-plus", connect(f"{NAME}:+{PORT}"), (400,)),
    denied("port-empty", connect(f"{NAME}:"), (400,)),
    denied("two-ports", connect(f"{NAME}:{PORT}:{WRONG_PORT}"), (400,)),
    denied("address", connect(f"{EVIL}:{PORT}")),
    denied("address-of-the-allowed-name", connect(f"{PUBLIC}:{PORT}")),
    denied("address-wrong-port", connect(f"{LISTED}:{PORT}")),
    denied("loopback", connect(f"127.0.0.12:{PORT}")),
    denied("the-proxy-itself", connect("127.0.0.1:3128")),
    denied("decimal-address", connect(f"2130706444:{PORT}"), (400,)),
    denied("hex-address", connect(f"0x7f00000c:{PORT}"), (400,)),
    denied("octal-address", connect(f"0177.0.0.014:{PORT}"), (400,)),
    denied("short-address", connect(f"127.12:{PORT}"), (400,)),
    denied("address-and-dot", connect(f"127.0.0.12.:{PORT}")),
    denied("loopback-six", connect(f"[::1]:{PORT}")),
    denied("loopback-six-long", connect(f"[0:0:0:0:0:0:0:1]:{PORT}")),
    denied("loopback-six-without-brackets", connect(f"::1:{PORT}"), (400,)),
    denied("mapped", connect(f"[::ffff:127.0.0.12]:{PORT}")),
    denied("mapped-public", connect(f"[::ffff:{EVIL}]:{PORT}")),
    denied("nat64", connect(f"[64:ff9b::7f00:c]:{PORT}")),
    denied("unspecified", connect(f"0.0.0.0:{OPEN_PORT}")),
    denied("unspecified-six", connect(f"[::]:{OPEN_PORT}")),
    denied("unspecified-six-as-four", connect(f"[::0.0.0.0]:{OPEN_PORT}")),
    denied("unspecified-mapped", connect(f"[::ffff:0.0.0.0]:{OPEN_PORT}")),
    denied("get-unspecified", get(f"http://0.0.0.0:{OPEN_PORT}/")),
    denied("sixtofour", connect(f"[2002:7f00:c::1]:{PORT}")),
    denied("metadata", get("http://169.254.169.254/latest/")),
    denied("zone-id", connect(f"[fe80::1%25lo]:{PORT}"), (400,)),
    denied("zone-id-bare", connect(f"[::1%lo]:{PORT}"), (400,)),
    denied("name-in-brackets", connect(f"[evil.test]:{PORT}"), (400,)),
    denied("get-loopback-decimal", get(f"http://2130706433:{PORT}/"), (400,)),
    denied("get-mapped", get(f"http://[::ffff:127.0.0.12]:{PORT}/")),
    denied("rebinding", get(f"http://rebinds.test:{PORT}/"), (200,), ["rebinds.test"],
           origin=origin_form(host=f"rebinds.test:{PORT}")),
    denied("rebound", get(f"http://rebinds.test:{PORT}/"), (403,), ["rebinds.test"]),
    *(denied(f"resolves-to-{name}", connect(f"{name}.special.test:{PORT}"), names=[f"{name}.special.test"])
      for name in [*SPECIAL, "mixed", "mixed-families"]),
    denied("get-resolves-to-loopback", get(f"http://loopback.special.test:{PORT}/"),
           names=["loopback.special.test"]),
    denied("pipelined-to-another-name", get(URL + "/") + get(f"http://evil.test:{PORT}/"), (200, 403), [NAME],
           origin=GET),
    denied("pipelined-to-another-port", get(URL + "/") + get(f"http://{NAME}:{WRONG_PORT}/"), (200, 403), [NAME],
           origin=GET),
    denied("names-are-not-asked", connect(f"stolen-data.evil.test:{PORT}")),
    denied("origin-form", head("GET", "/", host=f"evil.test:{PORT}"), (400,)),
    denied("connect-with-url", connect(f"http://evil.test:{PORT}/"), (400,)),
    denied("https-scheme", get(f"https://evil.test:{PORT}/"), (400,)),
    denied("ftp-scheme", get(f"ftp://evil.test:{PORT}/"), (400,)),
    denied("file-scheme", get("file:///etc/passwd", host=""), (400,)),
]

# ---- texts that two parsers read differently ----

AUTHORITIES = [
    malformed("userinfo", connect(f"{NAME}@evil.test:{PORT}")),
    malformed("userinfo-with-port", connect(f"{TARGET}@evil.test:{PORT}")),
    malformed("get-userinfo", get(f"http://{TARGET}@evil.test:{PORT}/")),
    malformed("get-userinfo-before-allowed", get(f"http://evil.test@{TARGET}/")),
    malformed("backslash", get(f"http://evil.test:{PORT}\\@{TARGET}/", host=TARGET)),
    malformed("backslash-after", get(f"http://{TARGET}\\@evil.test:{PORT}/", host=TARGET)),
    malformed("fragment", connect(f"evil.test:{PORT}#{TARGET}")),
    malformed("get-fragment", get(f"{URL}/#@evil.test/", host=TARGET)),
    malformed("nul-in-the-name", connect(f"evil.test\0.{TARGET}")),
    malformed("nul-after-the-name", connect(f"{NAME}\0.evil.test:{PORT}")),
    malformed("escaped-nul", connect(f"evil.test%00.{TARGET}")),
    malformed("escaped-name", connect(f"%61llowed.test:{PORT}")),
    malformed("tab-in-the-line", connect(f"evil.test:{PORT}\t{TARGET}")),
    malformed("underlined-dot", connect(f"allowed\u3002test:{PORT}".encode().decode("latin-1"))),
    malformed("raw-utf-8", connect(f"all\u00f6wed.test:{PORT}".encode().decode("latin-1"))),
    malformed("space-in-the-name", connect(f"{NAME} :{PORT}")),
    malformed("comma-in-the-name", connect(f"{NAME},evil.test:{PORT}")),
    malformed("label-of-64", connect("a" * 64 + f".test:{PORT}")),
    malformed("name-of-300", connect("a." * 150 + f"test:{PORT}")),
    malformed("empty-host", connect(f":{PORT}")),
    malformed("two-spaces", get(URL + "/").replace(b"GET ", b"GET  ", 1)),
    malformed("space-in-the-path", get(URL + "/a b", host=TARGET)),
    malformed("quote-in-the-path", get(URL + "/\"", host=TARGET)),
    malformed("utf-8-in-the-path", get(URL + "/\xc3\xb6", host=TARGET)),
    malformed("bad-escape", get(URL + "/%zz", host=TARGET)),
    malformed("scheme-in-capitals", get(f"HTTP://{TARGET}/", host=TARGET)),
    malformed("star-form", head("OPTIONS", "*")),
]
FRAMES = [
    malformed("bare-lf", get(URL + "/").replace(b"\r\n", b"\n")),
    malformed("one-bare-lf", get(URL + "/").replace(b"\r\n", b"\n", 1)),
    malformed("bare-cr-in-a-field", get(URL + "/", "X-A: a\rHost: evil.test")),
    malformed("bare-cr-in-the-line", get(URL + "/\r", host=TARGET)),
    malformed("nul-in-a-field", get(URL + "/", "X-A: a\0b")),
    malformed("control-byte-in-a-field", get(URL + "/", "X-A: a\x1bb")),
    malformed("space-in-a-field-name", get(URL + "/", "X Y: z")),
    malformed("space-before-the-colon", get(URL + "/", "X-A : z")),
    malformed("no-colon", get(URL + "/", "Xnocolon")),
    malformed("no-field-name", get(URL + "/", ": z")),
    malformed("odd-byte-in-a-field-name", get(URL + "/", "X\x80: z")),
    malformed("space-before-the-first-field", get(URL + "/").replace(b"Host", b" Host", 1)),
    malformed("no-host-field", head("GET", URL + "/", host=None)),
    malformed("empty-line-first", b"\r\n" + get(URL + "/")),
    malformed("version-missing", f"GET {URL}/\r\n\r\n".encode(), (505,)),
    malformed("version-1.2", head("GET", URL + "/", version="HTTP/1.2"), (505,)),
    malformed("version-2.0", head("GET", URL + "/", version="HTTP/2.0"), (505,)),
    malformed("version-in-small-letters", head("GET", URL + "/", version="http/1.1")),
    malformed("version-and-more", head("GET", URL + "/", version="HTTP/1.1 evil")),
    malformed("preface-of-http-2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", (505,)),
    malformed("tls-instead-of-http", HELLO),
    malformed("socks-5", b"\x05\x01\x00" + b"\x05\x01\x00\x03\x09evil.test\x46\xa1\r\n\r\n"),
    malformed("proxy-protocol", b"PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\n" + get(URL + "/")),
    malformed("method-with-odd-byte", head("G\x7fT", URL + "/")),
    malformed("method-of-100", head("A" * 100, URL + "/"), (501,)),
    malformed("field-of-64k", get(URL + "/", "X-A: " + "a" * 65536), (431,)),
    malformed("sixty-thousand-fields", get(URL + "/", *["X-A: b"] * 60000), (431,)),
    malformed("line-of-10k", get(URL + "/" + "a" * 10000), (414,)),
    malformed("connect-with-body", connect(TARGET, None, "Content-Length: 5") + b"hello"),
    malformed("connect-with-chunks", connect(TARGET, None, CHUNKED) + b"0\r\n\r\n"),
]

# ---- requests in which another one is hidden ----

BOTH = r"(?is)^(?=.*\ntransfer-encoding)(?=.*\ncontent-length)"
ODD_LENGTH = r"(?i)content-length:[ \t]*(\+|-|0x|\d+[ \t]*,|\d{19,}|\d+[ \t]+\d|\"|\r)"
TWO_LENGTHS = r"(?is)content-length.*\ncontent-length"
ODD_ENCODING = r"(?i)transfer-encoding[ \t]+:|transfer-encoding:[ \t\x0b]*(?!chunked\r\n)"
EVIL_HOST = r"(?i)evil\.test"
SMUGGLED = [
    smuggled("length-and-chunks", post("Content-Length: 6", CHUNKED, body=b"0\r\n\r\n" + FORGED), BOTH),
    smuggled("chunks-and-length", post(CHUNKED, "Content-Length: 4", body=b"5c\r\n" + FORGED + b"\r\n0\r\n\r\n"), BOTH),
    smuggled("space-before-the-colon-of-chunks",
             post(f"Content-Length: {len(FORGED) + 5}", "Transfer-Encoding : chunked", body=b"0\r\n\r\n" + FORGED),
             ODD_ENCODING),
    smuggled("unknown-encoding",
             post(f"Content-Length: {len(FORGED) + 5}", "Transfer-Encoding: xchunked", body=b"0\r\n\r\n" + FORGED),
             ODD_ENCODING, (400, 501)),
    smuggled("identity-encoding",
             post(f"Content-Length: {len(FORGED) + 5}", "Transfer-Encoding: identity", body=b"0\r\n\r\n" + FORGED),
             ODD_ENCODING, (400, 501)),
    smuggled("chunked-not-last", post("Transfer-Encoding: chunked, identity", body=b"0\r\n\r\n" + FORGED),
             ODD_ENCODING, (501,)),
    smuggled("chunked-twice", post("Transfer-Encoding: chunked, chunked", body=b"0\r\n\r\n" + FORGED), ODD_ENCODING,
             (501,)),
    smuggled("two-encodings", post(CHUNKED, "Transfer-Encoding: identity", body=b"0\r\n\r\n" + FORGED), ODD_ENCODING),
    smuggled("gzip-and-chunked", post("Transfer-Encoding: gzip, chunked", body=b"0\r\n\r\n" + FORGED), ODD_ENCODING,
             (501,)),
    smuggled("vertical-tab-before-chunked", post("Transfer-Encoding: \x0bchunked", body=b"0\r\n\r\n" + FORGED),
             ODD_ENCODING),
    smuggled("chunks-in-http-1.0",
             head("POST", URL + "/", CHUNKED, version="HTTP/1.0") + b"0\r\n\r\n" + FORGED, r"(?i)transfer-encoding"),
    smuggled("two-lengths", post("Content-Length: 0", f"Content-Length: {len(FORGED)}", body=FORGED), TWO_LENGTHS),
    smuggled("two-equal-lengths", post("Content-Length: 5", "Content-Length: 5", body=b"hello"), TWO_LENGTHS),
    smuggled("list-of-lengths", post(f"Content-Length: 0, {len(FORGED)}", body=FORGED), ODD_LENGTH),
    smuggled("length-with-plus", post(f"Content-Length: +{len(FORGED)}", body=FORGED), ODD_LENGTH),
    smuggled("negative-length", post("Content-Length: -1", body=FORGED), ODD_LENGTH),
    smuggled("hex-length", post("Content-Length: 0x2a", body=FORGED), ODD_LENGTH),
    smuggled("length-of-2-to-64", post("Content-Length: 18446744073709551616", body=FORGED), ODD_LENGTH),
    smuggled("length-with-space", post("Content-Length: 4 2", body=FORGED), ODD_LENGTH),
    smuggled("quoted-length", post('Content-Length: "42"', body=FORGED), ODD_LENGTH),
    smuggled("empty-length", post("Content-Length: ", body=FORGED), ODD_LENGTH),
    smuggled("folded-field", get(URL + "/", "X-A: b", " Host: evil.test"), EVIL_HOST),
    smuggled("folded-encoding", post("Transfer-Encoding:", " chunked", "Content-Length: 5",
                                     body=b"0\r\n\r\n" + FORGED), BOTH),
    smuggled("host-differs", get(URL + "/", host="evil.test"), EVIL_HOST),
    smuggled("host-differs-in-port", get(URL + "/", host=f"{NAME}:{WRONG_PORT}"), f":{WRONG_PORT}"),
    smuggled("two-hosts", get(URL + "/", "Host: evil.test"), EVIL_HOST),
    smuggled("two-equal-hosts", get(URL + "/", f"Host: {TARGET}"), r"(?is)\nhost:.*\nhost:"),
    smuggled("host-with-two-values", get(URL + "/", host=f"{TARGET}, evil.test"), EVIL_HOST),
    smuggled("connection-names-host", get(URL + "/", "Connection: close, Host"), r"(?is)^(?!.*\nhost:)"),
    smuggled("connection-names-length", post("Content-Length: 5", "Connection: Content-Length", body=b"hello"),
             r"(?is)^(?!.*\ncontent-length:)"),
    smuggled("upgrade-to-h2c",
             get(URL + "/", "Upgrade: h2c", "Connection: Upgrade, HTTP2-Settings", "HTTP2-Settings: AAMAAABkAAQAAP__"),
             r"(?i)upgrade: h2c", (400, 501)),
    smuggled("upgrade-to-tls", get(URL + "/", "Upgrade: TLS/1.0", "Connection: Upgrade"), r"(?i)upgrade: tls",
             (400, 501)),
    smuggled("body-of-get", get(URL + "/", f"Content-Length: {len(FORGED)}") + FORGED, r"(?s)^(?!.*Content-Length)",
             (200,), origin=origin_form("GET", "/", f"Content-Length: {len(FORGED)}") + FORGED,
             names=frozenset([NAME])),
]


def broken_chunks(name, body, trace, status=(400,), valid=b""):
    """The head is right and goes on at once; the chunks up to the mistake may follow, and nothing after it."""
    return smuggled(name, post(CHUNKED, body=body), trace, status, names=frozenset([NAME]), is_cut=True,
                    origin=origin_form("POST", "/", CHUNKED) + valid)


CHUNKS = [
    broken_chunks("chunk-of-2-to-64", b"10000000000000000\r\n" + FORGED, "0{16}|smuggled"),
    broken_chunks("negative-chunk", b"-1\r\n" + FORGED, r"-1|smuggled"),
    broken_chunks("chunk-with-plus", b"+5\r\nhello\r\n0\r\n\r\n" + FORGED, r"\+5|smuggled"),
    broken_chunks("chunk-with-0x", b"0x5\r\nhello\r\n0\r\n\r\n" + FORGED, r"0x5|smuggled"),
    broken_chunks("bare-lf-after-the-size", b"0\n\r\n" + FORGED, r"\n0\n|smuggled"),
    broken_chunks("bare-lf-after-the-chunk", b"5\r\nhello\n0\r\n\r\n" + FORGED, r"hello\n|smuggled",
                  valid=b"5\r\nhello"),
    broken_chunks("space-after-the-size", b"5 \r\nhello\r\n0\r\n\r\n" + FORGED, r"5 |smuggled", (400, 501), b"5"),
    broken_chunks("chunk-extension", b"5;a=b\r\nhello\r\n0\r\n\r\n" + FORGED, r"5;|smuggled", (400, 501), b"5"),
    broken_chunks("extension-with-lf", b"5;a\nb\r\nhello\r\n0\r\n\r\n" + FORGED, r"5;|smuggled", (400, 501), b"5"),
    broken_chunks("chunk-longer-than-its-size", b"3\r\nhello\r\n0\r\n\r\n" + FORGED, r"hello|smuggled",
                  valid=b"3\r\nhel"),
    broken_chunks("trailer", b"0\r\nHost: evil.test\r\n\r\n", EVIL_HOST, (400, 501), b"0\r\n"),
]

# ---- tunnels that the rule allows for TLS with the host's name ----


def refused_tunnel(name, inside, authority=SECURE, names=(NAME,), early=False, **more):
    """The origin may be connected to, but gets no byte."""
    send = connect(authority) + (inside if early else b"")
    return Case(name, "smuggled", send, (200,), names=frozenset(names), trace="(?s).", connects=True,
                inside=b"" if early else inside, **more)


TUNNELS = [
    refused_tunnel("other-server-name", EVIL_HELLO),
    refused_tunnel("other-server-name-early", EVIL_HELLO, early=True),
    refused_tunnel("other-server-name-in-single-bytes", EVIL_HELLO, is_slow=True),
    refused_tunnel("other-server-name-in-records", in_records(EVIL_HELLO, 40)),
    refused_tunnel("no-server-name", NAMELESS),
    refused_tunnel("nul-in-the-server-name", HELLO.replace(b"allowed.test", b"allowed\0test")),
    refused_tunnel("dot-after-the-server-name", HELLO.replace(b"allowed.test", b"allowed.tes.")),
    refused_tunnel("server-name-below", client_hello(f"evil.{NAME}")),
    refused_tunnel("plain-http-where-tls-is-due", IN_TUNNEL),
    refused_tunnel("ssh-where-tls-is-due", b"SSH-2.0-OpenSSH_9.2\r\n"),
    refused_tunnel("hello-of-ssl-2", b"\x80\x2e\x01\x03\x01\x00\x15\x00\x00\x00\x10" + b"\x01" * 37),
    refused_tunnel("hello-that-never-ends", in_records(b"\x16\x03\x01\x00\x00\x01\xff\xff\xff" + b"a" * 20000, 1000)),
    refused_tunnel("hello-in-tiny-records", in_records(HELLO, 1)),
    refused_tunnel("address-with-a-denied-server-name", client_hello("banned.test"), f"{LISTED}:{TLS_PORT}", ()),
    refused_tunnel("address-and-no-tls", IN_TUNNEL, f"{LISTED}:{TLS_PORT}", ()),
]

CASES = [*VALID, *DESTINATIONS, *AUTHORITIES, *FRAMES, *SMUGGLED, *CHUNKS, *TUNNELS]


def matches(trace, data):
    return bool(re.search(trace.encode("latin-1"), data))
