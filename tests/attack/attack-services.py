# SPDX-License-Identifier: MIT
"""Attacks on the services by a sandboxed command and by other users.

control POLICY AUDIT        asks POLICY for a token, a reload and a list of tokens, and writes merge_approved to AUDIT;
                            prints "WHAT done" or "WHAT refused: WHY" for each
linger SOCKET PIDFILE PACKET  sends PACKET with a TCP socket that waits for a day when it is closed, whose last reference is
                            then in the message; prints "served" if PACKET of another client is answered nevertheless
crowd SOCKET PACKET FIRST EACH
                            four users from uid FIRST on, each with EACH connections over which it sends PACKET once and
                            then nothing: prints how many were answered; ends with its standard input
"""
import contextlib
import json
import os
import signal
import socket
import struct
import sys


def connect(path):
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.settimeout(300)
    client.connect(path)
    return client


def control(policy, audit):
    for name, packet in (
            ("token", {"do": "token.issue", "pid": os.getpid(), "op": "fs.write", "glob": "/srv/p/src/a"}),
            ("reload", {"do": "reload"}),
            ("list", {"do": "token.list"})):
        client = connect(policy)
        # In a PID namespace os.getpid() differs from the PID that the service sees in SO_PEERCRED.
        client.send(json.dumps(packet).encode())
        answer = json.loads(client.recv(1 << 20))
        done = answer.get("ok") is True or "no such process" in answer.get("why", "")
        why = "; ".join(answer.get("reasons", []))
        print(f"{name} done" if done else f"{name} refused: {why}")
    client = connect(audit)
    client.send(b'{"event":"merge_approved","by":"the maintainer"}')
    answer = json.loads(client.recv(1 << 20))
    print("merge_approved", "written" if "seq" in answer else answer)


def lingering():
    """A socket that cannot send its last bytes, because nobody reads them, and the socket that does not read them."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        sender = socket.create_connection(server.getsockname())
        silent, _ = server.accept()
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 86400))
    sender.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            sender.send(b"x" * 65536)
    return sender, silent


def linger(path, pidfile, packet):
    with open(pidfile, encoding="ascii") as file:
        service = os.pidfd_open(int(file.read()))
    attacker, other = connect(path), connect(path)
    other.settimeout(60)
    sender, silent = lingering()
    # The service must read the message after the attacker has closed its own reference.
    signal.pidfd_send_signal(service, signal.SIGSTOP)
    try:
        try:
            socket.send_fds(attacker, [packet.encode()], [sender.fileno()])
        except PermissionError:  # the last reference is this one, and close() would wait
            sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 0, 0))
        sender.close()
    finally:
        signal.pidfd_send_signal(service, signal.SIGCONT)
    print("served" if is_served(other, packet.encode()) else "not served")
    silent.close()


def is_served(client, packet):
    try:
        client.send(packet)
        return len(client.recv(1 << 20)) > 0
    except OSError:
        return False


def hold(path, packet, uid, n, report):
    os.setgroups([])
    os.setresuid(uid, uid, uid)
    clients = []
    for _ in range(n):
        with contextlib.suppress(OSError):
            clients.append(connect(path))
    os.write(report, b"%d\n" % sum([is_served(client, packet) for client in clients]))
    sys.stdin.read()


def crowd(path, packet, first, each):
    reports = []
    for uid in range(int(first), int(first) + 4):
        read, write = os.pipe()
        if os.fork() == 0:
            hold(path, packet.encode(), uid, int(each), write)
            os._exit(0)
        os.close(write)
        # One after the other, so that a later user finds the connections that earlier ones have left.
        reports.append(int(os.read(read, 64)))
    print(sum(reports), flush=True)
    sys.stdin.read()


{"control": control, "crowd": crowd, "linger": linger}[sys.argv[1]](*sys.argv[2:])
