# SPDX-License-Identifier: MIT
"""Around a proxy under attack: origins that record every byte, a DNS server that records every query, raw clients.

All of it is in a network namespace of its own, in which every address is a local one: a proxy that connects anywhere,
also to public and special addresses, reaches the origins here and nothing else.
"""
import contextlib
import fcntl
import os
import pathlib
import re
import selectors
import socket
import struct
import subprocess
import sys
import threading
import time

import proxycases

DNS = pathlib.Path(__file__).resolve().parent.parent / "tool/proxy-dns.py"
PORTS = [80, 443, proxycases.PORT, proxycases.WRONG_PORT, proxycases.OPEN_PORT, proxycases.TLS_PORT]
DEADLINE = 120
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
ALERT = b"\x15\x03\x01\x00\x02\x02\x28"
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
RTM_NEWROUTE, NLM_F_REQUEST, NLM_F_ACK, NLM_F_CREATE = 24, 1, 4, 0x400
RT_TABLE_LOCAL, RTPROT_BOOT, RT_SCOPE_HOST, RTN_LOCAL, RTA_OIF = 255, 3, 254, 2, 4


def enter_namespace():
    """Starts this program again in its own network and mount namespaces, in a user namespace if it is not root."""
    if os.environ.get("PROXY_RIG") != "inside":
        os.environ["PROXY_RIG"] = "inside"
        user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        os.execvp("unshare", ["unshare", *user, "--net", "--mount", sys.executable, *sys.argv])
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))
    for family in (socket.AF_INET, socket.AF_INET6):
        make_all_addresses_local(family)


def make_all_addresses_local(family):
    """As "ip route add local default dev lo"."""
    route = struct.pack("BBBBBBBBI", family, 0, 0, 0, RT_TABLE_LOCAL, RTPROT_BOOT, RT_SCOPE_HOST, RTN_LOCAL, 0)
    route += struct.pack("HHI", 8, RTA_OIF, socket.if_nametoindex("lo"))
    flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
        kernel.bind((0, 0))
        kernel.send(struct.pack("IHHII", 16 + len(route), RTM_NEWROUTE, flags, 1, 0) + route)
        error = struct.unpack_from("i", kernel.recv(4096), 16)[0]
    if error:
        raise OSError(-error, "cannot make all addresses local")


def use_own_resolver(directory):
    """Programs that resolve with libc ask the DNS server of the rig."""
    (directory / "resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
    (directory / "hosts").write_text("127.0.0.1 localhost\n")
    (directory / "nsswitch.conf").write_text("hosts: files dns\n")
    for name in ("resolv.conf", "hosts", "nsswitch.conf"):
        target = pathlib.Path("/etc", name)
        if target.exists():
            subprocess.run(["mount", "--bind", str(directory / name), str(target.resolve())], check=True)


class Origins:
    """Listens on all addresses. The log has (address, port, bytes), with b"" for the connection."""

    def __init__(self, stack):
        self.selector = selectors.DefaultSelector()
        self.lock = threading.Lock()
        self.log = []
        self.pending = {}
        for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
            for port in PORTS:
                listener = stack.enter_context(socket.socket(family, socket.SOCK_STREAM))
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                listener.bind((address, port))
                listener.listen(64)
                self.selector.register(listener, selectors.EVENT_READ, self.accept)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            for key, _ in self.selector.select():
                key.data(key.fileobj)

    def add(self, connection, data):
        address, port = connection.getsockname()[:2]
        with self.lock:
            self.log.append((address.removeprefix("::ffff:") if "." in address else address, port, data))

    def accept(self, listener):
        connection = listener.accept()[0]
        self.pending[connection] = b""
        self.add(connection, b"")
        self.selector.register(connection, selectors.EVENT_READ, self.receive)

    def receive(self, connection):
        try:
            data = connection.recv(1 << 20)
        except OSError:
            data = b""
        if data:
            self.add(connection, data)
            self.pending[connection] += data
            with contextlib.suppress(OSError):
                self.answer(connection)
            return
        self.selector.unregister(connection)
        del self.pending[connection]
        connection.close()

    def answer(self, connection):
        """Answers each complete message as RFC 9112 reads it, a TLS client with an alert, other bytes not at all."""
        while rest := self.pending[connection]:
            if rest.startswith(b"\x16"):
                if is_complete_hello(rest):
                    connection.sendall(ALERT)
                return
            size = size_of_request(rest)
            if not size:
                return
            self.pending[connection] = rest[size:]
            connection.sendall(OK)

    def take(self):
        with self.lock:
            log, self.log = self.log, []
        return log


def is_complete_hello(data):
    message = b""
    while len(data) >= 5 and len(data) >= 5 + int.from_bytes(data[3:5], "big"):
        size = int.from_bytes(data[3:5], "big")
        message, data = message + data[5:5 + size], data[5 + size:]
    return len(message) >= 4 and len(message) >= 4 + int.from_bytes(message[1:4], "big")


def size_of_request(data):
    """0: not complete."""
    end = data.find(b"\r\n\r\n") + 4
    if end < 4:
        return 0
    fields = data[:end].lower()
    if b"transfer-encoding: chunked" in fields:
        last = re.search(rb"(^|\r\n)0\r\n\r\n", data[end:])
        return end + last.end() if last else 0
    length = re.search(rb"\ncontent-length: (\d{1,9})\r", fields)
    size = end + (int(length[1]) if length else 0)
    return size if len(data) >= size else 0


class Names:
    """The DNS server; queries are taken from its log."""

    def __init__(self, stack, directory, zone):
        self.path = directory / "queries"
        self.path.touch()
        self.at = 0
        process = stack.enter_context(subprocess.Popen(
            [sys.executable, str(DNS), "--address", "127.0.0.1", "--port", "53", "--log", str(self.path), zone],
            stdout=subprocess.PIPE, text=True))
        stack.callback(process.kill)
        if process.stdout.readline().strip() != "53":
            raise SystemExit("the DNS server did not start")

    def take(self):
        text = self.path.read_text()
        lines = text[self.at:].splitlines()
        self.at = len(text)
        return {line.split()[-1].lower().rstrip(".") for line in lines}


class Client:
    """One connection to the proxy."""

    def __init__(self, port, patience):
        self.socket = socket.create_connection(("127.0.0.1", port), patience)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.settimeout(patience)
        self.received = b""
        self.has_ended = False
        self.is_stuck = False

    def send(self, data, is_slow):
        with contextlib.suppress(OSError):
            for piece in [data[i:i + 1] for i in range(len(data))] if is_slow else [data]:
                self.socket.sendall(piece)

    def end(self):
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)

    def receive(self):
        try:
            data = self.socket.recv(1 << 16)
        except TimeoutError:
            self.is_stuck = True
            return False
        except OSError:
            data = b""
        self.received += data
        self.has_ended = not data
        return bool(data)

    def read_status(self):
        """The status of the next response, or None at the end of the stream."""
        while b"\r\n\r\n" not in self.received:
            if not self.receive():
                return None
        line = re.match(rb"HTTP/1\.[01] (\d{3})", self.received)
        end = self.received.index(b"\r\n\r\n") + 4
        length = re.search(rb"(?i)\ncontent-length:[ \t]*(\d+)", self.received[:end])
        end += int(length[1]) if length else 0
        while len(self.received) < end and self.receive():
            pass
        self.received = self.received[end:]
        return int(line[1]) if line else None

    def read_to_end(self, n_max=1):
        """Until the proxy closes, or @n_max bytes are there."""
        while len(self.received) < n_max and self.receive():
            pass

    def close(self):
        self.socket.close()


def exchange(case, port, patience, half_closes=False):
    """Sends one case; returns its statuses, and whether the proxy has left the client waiting. @half_closes: the client
    ends its stream, so that a proxy that forwards anything need not be waited for."""
    client = Client(port, patience)
    statuses = []
    client.send(case.send, case.is_slow)
    is_connect = case.send.startswith(b"CONNECT")
    if half_closes and not case.inside:
        client.end()
    for _ in case.status:
        status = client.read_status()
        if status is None:
            break
        statuses.append(status)
        if is_connect and status == 200 and len(statuses) == 1:
            client.send(case.inside, case.is_slow)
            if half_closes:
                client.end()
            if len(case.status) == 1:
                client.read_to_end()
    client.close()
    return tuple(statuses), client.is_stuck


def wait_for_port(port, process):
    """For a peer, whose only sign of being ready is its socket. Returns the port."""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return port
        threading.Event().wait(0.05)
    raise SystemExit(f"{process.args[0]} does not listen on port {port}")
