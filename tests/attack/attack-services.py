# SPDX-License-Identifier: MIT
"""Attacks on the services by a sandboxed command and by other users.

control POLICY AUDIT        asks POLICY for a token, a reload and a list of tokens, and writes merge_approved to AUDIT;
                            prints "WHAT done" or "WHAT refused: WHY" for each
crowd SOCKET PACKET FIRST EACH
                            four users from uid FIRST on, each with EACH connections over which it sends PACKET once and
                            then nothing: prints how many were answered; ends with its standard input
"""
import contextlib
import json
import os
import socket
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


{"control": control, "crowd": crowd}[sys.argv[1]](*sys.argv[2:])
