# SPDX-License-Identifier: MIT
"""A client of sbx-audit serve, for shell tests; see also seqpacket.py.

write SOCKET N             N records without an answer, then one whose answer is awaited
until-killed PIDFILE SOCKET CLIENTS ACKS
                           sync events over this number of connections until this number is acknowledged, then kill -9;
                           prints what was acknowledged: NUMBER in the log, N of the record
hostile SOCKET             invalid packets; the service must answer or hang up, and survive
await PATH                 waits until PATH exists
activate PATH COMMAND...   runs COMMAND with a socket listening at PATH, as a service manager would
"""
import contextlib
import json
import os
import pathlib
import random
import select
import selectors
import signal
import socket
import sys
import time

from seqpacket import DEADLINE, connect, talk

ASYNC = b'{"event":"syscall","n":%d}'
SYNC = b'{"event":"state_transition","n":%d}'


def write(path, n_records):
    client = connect(path)
    for i in range(int(n_records)):
        client.send(ASYNC % i)
    print(talk(client, SYNC % int(n_records))["seq"])


def until_killed(pidfile, path, n_clients, n_acks):
    poll = selectors.DefaultSelector()
    acked, number = [], 0
    for _ in range(int(n_clients)):
        client = connect(path)
        client.send(SYNC % number)
        poll.register(client, selectors.EVENT_READ, number)
        number += 1
    while len(acked) < int(n_acks):
        events = poll.select(DEADLINE)
        if not events:
            sys.exit("no answer came any more")
        for key, _ in events:
            acked.append((json.loads(key.fileobj.recv(4096))["seq"], key.data))
            key.fileobj.send(SYNC % number)
            poll.modify(key.fileobj, selectors.EVENT_READ, number)
            number += 1
    pid = int(pathlib.Path(pidfile).read_text())
    pidfd = os.pidfd_open(pid)
    os.kill(pid, signal.SIGKILL)
    select.select([pidfd], [], [], DEADLINE)
    for seq, n in acked:
        print(seq, n)


def hostile(path):
    good = connect(path)
    packets = [
        b"\0", b"\0" * 70000, b"{" * 60000, b"[" * 60000, b"\xff\xfe", b"null", b'"event"', b"{}" * 100,
        b'{"event":"' + b"\\u0000" * 10 + b'"}', b'{"event":"syscall"}{"event":"syscall"}',
        b'{"event":"syscall","time":"yesterday"}', b'{"event":"syscall","event":"syscall"}',
        b'{"event":"records_lost","count":1}', b'{"event":"log_created"}', b'{"event":"syscall","writer":{"uid":0}}',
        b'{"event":"syscall","commitment":{}}', b'{"event":"syscall","x":"' + b"a" * 131072 + b'"}',
        b'{"event":"syscall","x":' + b"[" * 2000 + b"]" * 2000 + b"}",
        b'{"event":"syscall",' + b",".join(b'"m%d":1' % i for i in range(300)) + b"}",
    ] + [os.urandom(random.randrange(1, 5000)) for _ in range(200)]
    for packet in packets:
        client = connect(path)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 19)
        client.send(packet)
        answer = json.loads(client.recv(1 << 20))
        if not answer.get("refused"):
            sys.exit(f"not refused: {packet[:60]!r}: {answer}")
    client = connect(path)
    client.send(b"")  # read as end of file
    if client.recv(10) != b"":
        sys.exit("an empty packet was answered")
    fds = [os.open("/dev/null", os.O_RDONLY) for _ in range(200)]
    client = connect(path)
    for i in range(20):
        with contextlib.suppress(PermissionError):  # refused by the kernel since Linux 6.16
            socket.send_fds(client, [SYNC % i], fds)
            client.recv(1 << 20)
    half = connect(path)
    half.send(SYNC % 7)
    half.shutdown(socket.SHUT_WR)
    if "seq" not in json.loads(half.recv(1 << 20)):
        sys.exit("what was sent before the end was not answered")
    if "seq" not in talk(good, SYNC % 3):
        sys.exit("the others are not served any more")


def activate(path, *command):
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    # A client that waits for the name must be able to connect.
    listener.bind(path + ".new")
    listener.listen(64)
    os.rename(path + ".new", path)
    os.dup2(listener.fileno(), 3)
    os.set_inheritable(3, True)
    os.environ |= {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1", "LISTEN_FDNAMES": "audit"}
    os.execvp(command[0], command)


def await_path(path):
    end = time.monotonic() + DEADLINE
    while not os.path.exists(path):
        if time.monotonic() > end:
            sys.exit(f"{path} does not come")
        select.select([], [], [], 0.01)


COMMANDS = {"write": write, "await": await_path, "until-killed": until_killed, "hostile": hostile, "activate": activate}

if __name__ == "__main__":
    COMMANDS[sys.argv[1]](*sys.argv[2:])
