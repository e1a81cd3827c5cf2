#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Servers and clients that do not keep to the order of HTTP, on both sides of sbx-proxy.

They answer early, reset a connection in the middle of a body, or leave before there is one. The proxy is stopped while they prepare what it finds:
so each case has one order of events, however fast the machine is. TCP has small buffers here, so that little data fills
them.
"""
import contextlib
import fcntl
import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

import proxyrig

DEADLINE = 120
PATIENCE = 10
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
RESET = struct.pack("ii", 1, 0)
STEP = 4096
SIZES = range(STEP, 32 * STEP, STEP)
POLICY = """version: 1
net: {{ mode: proxy }}
capabilities:
  - name: here
    match: {{ syscall: net.connect, cidr: ["127.0.0.1/32"], ports: ["1024-65535"] }}
    constraints: {{ tls: any }}
    action: allow
  - name: two
    match: {{ syscall: net.connect, host: ["two.test", "silent.test"], cidr: [{networks}], ports: ["1024-65535"] }}
    action: allow
"""


class Proxy:
    def __init__(self, stack, directory, *options):
        self.directory = pathlib.Path(directory)
        self.policy = self.directory / "policy.yaml"
        self.allow("127.0.0.1/32", "127.0.0.2/32")
        self.path = str(self.directory / "socket")
        self.records = open(self.directory / "records", "a+", encoding="utf-8")
        stack.callback(self.records.close)
        fd = self.records.fileno()
        program = os.environ.get("SBX_PROXY", os.path.join(os.environ.get("SBX_BUILD", ""), "tools/sbx-proxy"))
        self.process = stack.enter_context(subprocess.Popen(
            [program, "--policy", str(self.policy), "--listen-unix", self.path, "--audit-fd", str(fd), *options],
            pass_fds=[fd], stdout=subprocess.PIPE, text=True))
        stack.callback(self.end)
        if not self.process.stdout.readline():
            raise SystemExit("the proxy did not start")

    def allow(self, *networks):
        text = POLICY.format(networks=", ".join(f'"{network}"' for network in networks))
        new = self.policy.with_suffix(".new")
        new.write_text(text, encoding="utf-8")
        new.rename(self.policy)

    def reload(self):
        n = self.count("policy_update")
        self.process.send_signal(signal.SIGHUP)
        wait_for(lambda: self.count("policy_update") > n)

    def read_records(self):
        with open(self.directory / "records", encoding="utf-8") as records:
            return [json.loads(line) for line in records if line.endswith("\n")]

    def count(self, event):
        return sum(record["event"] == event for record in self.read_records())

    @contextlib.contextmanager
    def stopped(self):
        """What happens inside is seen by the proxy at once, in this order."""
        self.process.send_signal(signal.SIGSTOP)
        wait_for(lambda: pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T")
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def end(self):
        self.process.terminate()
        return self.process.wait(DEADLINE)

    def connect(self):
        client = socket.socket(socket.AF_UNIX)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        client.settimeout(DEADLINE)
        client.connect(self.path)
        return client


def wait_for(condition):
    end = time.monotonic() + DEADLINE
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("waited too long")
        threading.Event().wait(0.01)


def listen(address="127.0.0.1", port=0):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    listener.bind((address, port))
    listener.listen(64)
    listener.settimeout(DEADLINE)
    return listener


def accept(listener):
    server = listener.accept()[0]
    server.settimeout(DEADLINE)
    return server


def read_until(peer, end):
    data = b""
    while not data.endswith(end):
        more = peer.recv(1)
        if not more:
            break
        data += more
    return data


def read_rest(peer):
    data = b""
    with contextlib.suppress(OSError):
        while more := peer.recv(65536):
            data += more
    return data


def request(port, path, method="GET", fields="", host="127.0.0.1"):
    return f"{method} http://{host}:{port}{path} HTTP/1.1\r\nHost: {host}:{port}\r\n{fields}\r\n".encode()


def read_answer(client):
    """(status, body), or None at the end of the stream."""
    head = read_until(client, b"\r\n\r\n")
    if not head:
        return None
    lengths = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    length = int(lengths[0]) if lengths else 0
    body = b""
    while len(body) < length:
        body += client.recv(length - len(body))
    return int(head.split()[1]), body


def reset(peer):
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    peer.close()


# ---- cases: each returns what is wrong, or None ----


def early_answer(proxy, size):
    """The server answers without reading the body, whose end is still in the proxy."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(listen())
        port = listener.getsockname()[1]
        client = stack.enter_context(proxy.connect())
        client.sendall(request(port, "/first", "POST", f"Content-Length: {size}\r\n"))
        server = stack.enter_context(accept(listener))
        read_until(server, b"\r\n\r\n")
        with proxy.stopped():
            client.sendall(b"b" * size)
            server.sendall(OK)
        read_answer(client)
        with contextlib.suppress(OSError):
            client.sendall(request(port, "/second"))
        seen = b""
        with contextlib.suppress(OSError):
            while b"/second" not in seen and (data := server.recv(65536)):
                seen += data
    if b"/second" in seen and seen.count(b"b") != size:
        return f"the next request follows {seen.count(b'b')} of {size} bytes"
    return None


def reset_in_the_body(proxy, size):
    """The server resets the connection, and the end of the body is still in the proxy, which must not read it as a request.
    """
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(listen())
        port = listener.getsockname()[1]
        client = stack.enter_context(proxy.connect())
        client.sendall(request(port, "/first", "POST", f"Content-Length: {size}\r\n"))
        server = accept(listener)
        read_until(server, b"\r\n\r\n")
        client.sendall(b"b" * size)
        wait_for(lambda: is_quiet(client))
        with proxy.stopped():
            reset(server)
        first = read_answer(client)
        if not first:
            return None
        with contextlib.suppress(OSError):
            client.sendall(request(port, "/denied", host="127.0.0.3"))
            second = read_answer(client)
            if second and second[0] != 403:
                return f"after {first} the client gets {second[0]} for bytes of the body"
    return None


def reset_when_idle(proxy, _):
    """The server resets an idle connection just when the next request is sent: it is sent again."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(listen())
        port = listener.getsockname()[1]
        client = stack.enter_context(proxy.connect())
        client.sendall(request(port, "/first"))
        server = accept(listener)
        read_until(server, b"\r\n\r\n")
        server.sendall(OK)
        read_answer(client)
        with proxy.stopped():
            client.sendall(request(port, "/second"))
            reset(server)
        again = stack.enter_context(accept(listener))
        again.settimeout(PATIENCE)
        if not read_until(again, b"\r\n\r\n"):
            return "the request is not sent again"
        again.sendall(OK)
        return None if read_answer(client) == (200, b"ok") else "no answer"


def early_bytes(proxy, _):
    """What a client sends before the tunnel is open counts as well."""
    data = b"d" * 8000
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(listen())
        port = listener.getsockname()[1]
        client = stack.enter_context(proxy.connect())
        client.sendall(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode() + data)
        server = stack.enter_context(accept(listener))
        client.shutdown(socket.SHUT_WR)
        read_rest(server)
        server.close()
        read_rest(client)

    # The record of a former connection may come as late as this one's.
    def find():
        return [one for one in proxy.read_records() if one["event"] == "proxy_connection" and one["port"] == port]

    wait_for(find)
    record = find()[-1]
    return None if record["bytes_up"] == len(data) else f"bytes_up is {record['bytes_up']}"


def narrower_policy(proxy, _):
    """After a reload, no connection is opened again to an address that is denied now."""
    with contextlib.ExitStack() as stack:
        proxy.allow("127.0.0.1/32", "127.0.0.2/32")
        proxy.reload()
        listener = listen()
        port = listener.getsockname()[1]
        forbidden = stack.enter_context(listen("127.0.0.2", port))
        client = stack.enter_context(proxy.connect())
        client.sendall(request(port, "/first", host="two.test"))
        server = accept(listener)
        read_until(server, b"\r\n\r\n")
        server.sendall(OK)
        read_answer(client)
        listener.close()
        proxy.allow("127.0.0.1/32")
        proxy.reload()
        with proxy.stopped():
            with contextlib.suppress(OSError):
                client.sendall(request(port, "/second", host="two.test"))
            server.close()
        answered = []

        def read():
            with contextlib.suppress(OSError):
                answered.append(read_answer(client))

        forbidden.settimeout(1)
        reader = threading.Thread(target=read)
        reader.start()
        try:
            forbidden.accept()
            return "a connection reaches the denied address"
        except TimeoutError:
            return None
        finally:
            client.shutdown(socket.SHUT_RDWR)
            reader.join()


def connect_request(host, port):
    return f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode()


def records_of(proxy, event, key, value):
    return [record for record in proxy.read_records() if record["event"] == event and record.get(key) == value]


def is_dialled(port):
    """A connection to the port waits for its answer (SYN_SENT)."""
    rows = pathlib.Path("/proc/net/tcp").read_text(encoding="utf-8").splitlines()[1:]
    return any(row.split()[2].endswith(f":{port:04X}") and row.split()[3] == "02" for row in rows)


def left_early(proxy, _):
    """A client leaves before there is a connection: its name was asked for, or its server was called."""
    queries = proxy.directory / "queries"
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        for _ in range(4):  # a full queue
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(("127.0.0.1", port))
        for host, has_left in (("silent.test", lambda: "silent.test" in queries.read_text(encoding="utf-8")),
                               ("127.0.0.1", lambda: is_dialled(port))):
            client = proxy.connect()
            client.sendall(connect_request(host, port))
            wait_for(has_left)
            client.close()
            try:
                wait_for(lambda: [one for one in records_of(proxy, "proxy_connection", "host", host) if one["port"] == port])
            except TimeoutError:
                return f"no record about {host}"
            record = [one for one in records_of(proxy, "proxy_connection", "host", host) if one["port"] == port][-1]
            if (record["cause"], record["requests"]) != ("client", 0):
                return str(record)
    return None


def hello_of(n_bytes):
    """A ClientHello without a server name, in one record of so many bytes."""
    start = b"\x03\x03" + bytes(32) + b"\0" + b"\0\x02\x13\x01" + b"\x01\0"
    padding = bytes(n_bytes - len(start) - 15)
    body = start + struct.pack(">HHH", len(padding) + 4, 21, len(padding)) + padding
    message = b"\x01" + struct.pack(">I", len(body))[1:] + body
    return b"\x16\x03\x01" + struct.pack(">H", len(message)) + message


def big_hello(proxy, n_bytes):
    """A first message that does not fit is denied like a longer one."""
    proxy.allow("127.0.0.1/32", "127.0.0.2/32")
    proxy.reload()
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(listen("0.0.0.0"))
        port = listener.getsockname()[1]
        client = stack.enter_context(proxy.connect())
        client.sendall(connect_request("two.test", port))
        read_until(client, b"\r\n\r\n")
        with contextlib.suppress(OSError):
            client.sendall(hello_of(n_bytes))
        answer = read_rest(client)
        # The denial may wait for the end of its second.
        try:
            wait_for(lambda: [one for one in records_of(proxy, "policy_decision", "reason", "client-hello-invalid")
                              if one["input"]["port"] == port])
        except TimeoutError:
            return f"no denial of {n_bytes} bytes, the answer is {answer!r}"
        return None if answer == b"\x15\x03\x03\x00\x02\x02\x31" else f"the answer is {answer!r}"


@contextlib.contextmanager
def limited(*options):
    """A proxy of its own with a listener."""
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        yield Proxy(stack, directory, *options), stack.enter_context(listen())


def early_tunnel(stack, proxy, listener, data):
    """Opens a tunnel with bytes that come before it. Returns the server."""
    port = listener.getsockname()[1]
    client = stack.enter_context(proxy.connect())
    client.sendall(connect_request("127.0.0.1", port) + data)
    return stack.enter_context(accept(listener))


def early_over_limit(_, __):
    """Bytes that come before a tunnel do not pass the limit of all bytes."""
    data = b"d" * 8000
    with limited("--max-bytes", "10KiB") as (proxy, listener), contextlib.ExitStack() as stack:
        first = early_tunnel(stack, proxy, listener, data)
        read_until(first, data)
        second = read_rest(early_tunnel(stack, proxy, listener, data))
    return f"{len(second)} bytes more than the limit pass" if second else None


def body_over_limit(_, __):
    """Nor does a body that was read with its head."""
    with limited("--max-bytes", "4KiB") as (proxy, listener), contextlib.ExitStack() as stack:
        client = stack.enter_context(proxy.connect())
        with proxy.stopped():
            client.sendall(request(listener.getsockname()[1], "/", "POST", "Content-Length: 8000\r\n") + b"b" * 8000)
        n_bytes = len(read_rest(stack.enter_context(accept(listener))))
    return None if n_bytes == 4096 else f"{n_bytes} bytes pass"


def early_over_rate(_, __):
    """Bytes that come before a tunnel are paid for by those that come before the next one, here for hours."""
    data = b"d" * 8000
    with limited("--rate", "1") as (proxy, listener), contextlib.ExitStack() as stack:
        # Of the first token there is one when the proxy has started.
        first = early_tunnel(stack, proxy, listener, data)
        read_until(first, data)
        second = early_tunnel(stack, proxy, listener, data)
        # The server is connected: with two answers on another connection the proxy has had two turns since.
        with proxy.connect() as other:
            for _ in range(2):
                other.sendall(request(listener.getsockname()[1], "/denied", host="127.0.0.3"))
                read_answer(other)
        second.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            return f"{len(second.recv(65536))} bytes pass at once"
    return None


def is_quiet(client):
    """Everything that was sent was read, or nothing is read any more."""
    n = struct.unpack("i", fcntl.ioctl(client, termios.TIOCOUTQ, bytes(4)))[0]
    if n == is_quiet.last:
        is_quiet.same += 1
    else:
        is_quiet.last, is_quiet.same = n, 0
    return n == 0 or is_quiet.same > 10


is_quiet.last = is_quiet.same = 0

CASES = {
    "a_server_that_answers_early_gets_no_request_in_place_of_the_rest": (early_answer, SIZES),
    "bytes_of_a_body_are_no_request_after_a_reset": (reset_in_the_body, SIZES),
    "a_request_is_sent_again_after_a_reset": (reset_when_idle, [0]),
    "bytes_before_the_tunnel_are_counted": (early_bytes, [0]),
    "no_denied_address_is_tried_after_a_reload": (narrower_policy, [0]),
    "a_client_that_leaves_before_the_connection_is_recorded": (left_early, [0]),
    "a_first_message_that_does_not_fit_is_denied": (big_hello, [16385, 16389, 16390]),
    "bytes_before_the_tunnel_do_not_pass_the_limit": (early_over_limit, [0]),
    "bytes_of_a_body_do_not_pass_the_limit": (body_over_limit, [0]),
    "bytes_before_the_tunnel_do_not_pass_the_rate": (early_over_rate, [0]),
}


def main():
    proxyrig.enter_namespace()
    for name in ("tcp_wmem", "tcp_rmem"):
        pathlib.Path("/proc/sys/net/ipv4", name).write_text("4096 8192 8192", encoding="utf-8")
    with contextlib.ExitStack() as stack:
        directory = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        proxyrig.Names(stack, directory, json.dumps({"two.test": {"A": ["127.0.0.1", "127.0.0.2"]},
                                                     "silent.test": {"drop": True}}))
        proxy = Proxy(stack, directory, "--dns", "127.0.0.1:53")
        names = sys.argv[1:] or list(CASES)
        print(f"1..{len(names)}")
        for name in names:
            run, sizes = CASES[name]
            wrong = [fault for size in sizes if (fault := run(proxy, size))]
            print("not ok" if wrong else "ok", "-", name, flush=True)
            for fault in wrong[:3]:
                print("#", fault, flush=True)


if __name__ == "__main__":
    main()
