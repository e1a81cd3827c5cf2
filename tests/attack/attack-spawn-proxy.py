#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a command in the mode proxy tries in order to reach the network beside its proxy.

Runs in a network namespace of its own, where every address is this machine's, so that whatever leaves a sandbox arrives
here: listeners of TCP and UDP, an abstract socket and a packet socket note it. Each attack first runs outside of a
sandbox, where it must be noted. What it sends says where it ran, because a busy host notes it late.
"""
import os
import pathlib
import selectors
import socket
import subprocess
import sys
import tempfile
import threading
import time

MARK = b"escaped-"
PUBLIC = "93.184.216.34"
ABSTRACT = "\0sbx-attack-proxy"
WAIT = 300

# The attacks, as a program that runs outside and inside: attack.py NAME WHERE.
PROGRAM = r'''
import os, socket, struct, sys
PUBLIC, ABSTRACT = "93.184.216.34", "\0sbx-attack-proxy"
name = sys.argv[1]
mark = f"escaped-{name}-{sys.argv[-1]};".encode()

def tcp(address, port, family=socket.AF_INET):
    with socket.socket(family) as s:
        s.settimeout(300)
        s.connect((address, port))
        s.sendall(mark)
        s.recv(1)

def udp(address, port, family=socket.AF_INET):
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        s.sendto(mark, (address, port))

def raw():
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, 253) as s:
        s.sendto(mark, (PUBLIC, 0))

def ping():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP) as s:
        s.sendto(struct.pack(">BBHHH", 8, 0, 0, 0, 0) + mark, (PUBLIC, 0))

def packet():
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as s:
        s.bind(("lo", 0))
        s.send(b"\0" * 12 + b"\x08\x00" + b"\x45" + b"\0" * 19 + mark)

def abstract():
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(ABSTRACT)
        s.sendall(mark)
        s.recv(1)

def through(request):
    """To the proxy, or outside to the place that it stands for."""
    with socket.create_connection(("127.0.0.1", 8080), 20) as s:
        s.sendall(request)
        s.settimeout(300)
        s.recv(4096)
        s.sendall(mark)
        try:
            s.shutdown(socket.SHUT_WR)
            while s.recv(4096):
                pass
        except OSError:
            pass

def connect_to(authority):
    through(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())

def get(authority, header=b""):
    through(b"GET http://" + authority.encode() + b"/" + mark + b" HTTP/1.1\r\nHost: " + authority.encode() + b"\r\n" + header + b"\r\n")

def route():
    """Adds an address to the namespace: RTM_NEWADDR, then connects from it."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as s:
        body = struct.pack("=BBBBi", socket.AF_INET, 24, 0, 0, 1) + struct.pack("=HH4s", 8, 2, bytes([10, 9, 8, 7]))
        s.send(struct.pack("=IHHII", 16 + len(body), 20, 0x605, 1, 0) + body)
        answer = s.recv(4096)
        error = struct.unpack_from("=i", answer, 16)[0]
        if error:
            raise OSError(-error, os.strerror(-error))
    tcp(PUBLIC, 80)

ATTACKS = {
    "tcp": lambda: tcp(PUBLIC, 80), "tcp-other-port": lambda: tcp(PUBLIC, 8001),
    "tcp6": lambda: tcp("2606:4700::11", 80, socket.AF_INET6), "tcp-private": lambda: tcp("10.1.2.3", 80),
    "tcp-metadata": lambda: tcp("169.254.169.254", 80), "tcp-mapped": lambda: tcp("::ffff:93.184.216.34", 80, socket.AF_INET6),
    "udp": lambda: udp(PUBLIC, 53), "udp-dns-of-the-host": lambda: udp("127.0.0.1", 53),
    "udp6": lambda: udp("2606:4700::11", 53, socket.AF_INET6), "multicast": lambda: udp("224.0.0.251", 5353),
    "raw": raw, "ping": ping, "packet": packet, "abstract": abstract, "netlink": route,
    "loopback-of-the-host": lambda: tcp("127.0.0.1", 8001), "loopback6-of-the-host": lambda: tcp("::1", 8001, socket.AF_INET6),
    "connect-to-an-address": lambda: connect_to(PUBLIC + ":80"), "connect-to-the-hosts-loopback": lambda: connect_to("127.0.0.1:8001"),
    "connect-to-localhost": lambda: connect_to("localhost:8001"), "connect-to-the-proxy": lambda: connect_to("127.0.0.1:8080"),
    "connect-to-another-port": lambda: connect_to("origin.test:8001"), "connect-without-tls": lambda: connect_to("origin.test:80"),
    "get-of-an-address": lambda: get(PUBLIC), "get-of-another-host": lambda: get("other.test"),
    "get-with-a-forged-length": lambda: get("origin.test", b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"),
    "get-of-a-private-name": lambda: get("inner.test"),
}
if name == "list":
    print(*ATTACKS)
else:
    ATTACKS[name]()
'''

POLICY = """version: 1
net: {mode: proxy}
capabilities:
  - name: origin
    match: {op: net.connect, host: [origin.test, inner.test], ports: 80}
    action: allow
  - name: system
    match: {op: [fs.read, fs.list, fs.exists, exec], path: [/usr, /bin, /lib, /lib64, /etc, "./"]}
    action: allow
"""


class Notes(threading.Thread):
    """Every socket at which something may arrive, and what did."""

    def __init__(self):
        super().__init__(daemon=True)
        self.seen = b""
        self.selector = selectors.DefaultSelector()
        for port in (80, 8001):
            for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
                self.add(socket.create_server((address, port), family=family, dualstack_ipv6=False), True)
        # The place of the proxy, for the runs outside: a proxy that allows everything.
        self.careless = socket.create_server(("127.0.0.1", 8080))
        self.add(self.careless, True)
        unix = socket.socket(socket.AF_UNIX)
        unix.bind(ABSTRACT)
        unix.listen()
        self.add(unix, True)
        for family, address, port in ((socket.AF_INET, "0.0.0.0", 5353), (socket.AF_INET, "0.0.0.0", 53), (socket.AF_INET6, "::", 53)):
            udp = socket.socket(family, socket.SOCK_DGRAM)
            if family == socket.AF_INET6:
                udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            udp.bind((address, port))
            self.add(udp, False)
        packets = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
        self.add(packets, False)

    def add(self, sock, is_listener):
        sock.setblocking(False)
        self.selector.register(sock, selectors.EVENT_READ, is_listener)

    def run(self):
        while True:
            for key, _ in self.selector.select():
                try:
                    if key.data:
                        connection, _ = key.fileobj.accept()
                        if key.fileobj is self.careless:
                            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                        self.add(connection, False)
                        continue
                    piece = key.fileobj.recv(65536)
                except OSError:
                    piece = b""
                if not piece and key.fileobj.type == socket.SOCK_STREAM:
                    self.selector.unregister(key.fileobj)
                    key.fileobj.close()
                    continue
                self.seen += piece
                if MARK in piece and key.fileobj.type == socket.SOCK_STREAM:
                    self.selector.unregister(key.fileobj)
                    key.fileobj.close()

    def has(self, name, where):
        return MARK + f"{name}-{where};".encode() in self.seen

    def wait_for(self, name, where):
        deadline = time.monotonic() + WAIT
        while not self.has(name, where) and time.monotonic() < deadline:
            self.join(0.01)


def outside(notes, name):
    process = subprocess.run([sys.executable, "attack.py", name, "outside"], capture_output=True, text=True, timeout=WAIT,
                             check=False)
    if process.returncode == 0:
        notes.wait_for(name, "outside")
    return process.stderr


def main():
    if os.environ.get("SBX_ATTACK_INSIDE") != "1":
        if os.getuid() != 0:
            print("ok 1 - nothing_leaves # SKIP only root starts sandboxes in a network namespace of its own\n1..1")
            return 0
        os.environ["SBX_ATTACK_INSIDE"] = "1"
        setup = ("ip link set lo up && ip route add local 0.0.0.0/0 dev lo && ip -6 route add local ::/0 dev lo && "
                 "echo 0 65535 >/proc/sys/net/ipv4/ping_group_range; exec \"$@\"")
        os.execvp("unshare", ["unshare", "-n", "sh", "-c", setup, "sh", sys.executable, os.path.abspath(__file__)])
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        os.chdir(directory)
        os.environ["XDG_RUNTIME_DIR"] = directory + "/run"
        os.environ["XDG_STATE_HOME"] = directory + "/state"
        for name in ("run", "state"):
            os.mkdir(name, 0o700)
        pathlib.Path("attack.py").write_text(PROGRAM, encoding="utf-8")
        pathlib.Path("policy.yaml").write_text(POLICY, encoding="utf-8")
        return attack()


def attack():
    notes = Notes()
    notes.start()
    names = subprocess.run([sys.executable, "attack.py", "list"], capture_output=True, text=True, check=True).stdout.split()
    runs = []
    for name in names:
        err = outside(notes, name)
        inside = subprocess.run(["sbx-spawn", "-q", "--policy", "policy.yaml", "--", "/usr/bin/python3", "attack.py", name, "inside"],
                                capture_output=True, text=True, timeout=WAIT, check=False)
        runs.append((name, err, inside))
    # What arrived before this has been noted when this is noted.
    subprocess.run([sys.executable, "attack.py", "udp", "last"], check=True)
    notes.wait_for("udp", "last")
    n = n_failed = 0
    for name, err, inside in runs:
        for what, is_good, text in ((f"{name} works outside", notes.has(name, "outside"), err),
                                    (f"{name} leaves no sandbox", not notes.has(name, "inside"), inside.stderr),
                                    (f"{name} is tried inside", inside.returncode != 125, inside.stderr)):
            n += 1
            n_failed += not is_good
            print(f"{'ok' if is_good else 'not ok'} {n} - {what}")
            if not is_good:
                print("# " + text.replace("\n", "\n# "))
    print(f"1..{n}")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
