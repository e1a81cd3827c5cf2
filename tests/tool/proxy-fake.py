#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A proxy that denies every connection, for tests of sbx-spawn: it speaks the protocol of lib/registry/handover.h.

worker --fd N [--audit-fd N]   as sbx-spawn starts it
parent COMMAND...              runs a command with --proxy-fd N, and is the proxy
serve SOCKET PIDFILE           the service: each OPEN gets a socket to a proxy in this process

The variable FAKE changes what it does: "refuse" the listeners, "exit" before the answer, "die" at the first
connection, "no" refuses OPEN, "silent" gives no summary, "full" passes a socket that takes no packet. Every packet and what came with it is a line of
$XDG_RUNTIME_DIR/fake.log.
"""
import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys

FAKE = os.environ.get("FAKE", "")
SEALS = 0x2 | 0x4 | 0x8  # SHRINK, GROW, WRITE
REFUSAL = {"level": "error", "what": "cannot take the policy", "why": "it is damaged", "fix": "make another"}


def log(**line):
    with open(os.environ["XDG_RUNTIME_DIR"] + "/fake.log", "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def open_fds():
    return sorted(int(name) for name in os.listdir("/proc/self/fd"))


def send(control, answer, fds=()):
    socket.send_fds(control, [json.dumps(answer).encode()], list(fds))


def take(control, packet, fds):
    message = json.loads(packet)
    artefact, *listeners = fds
    listeners = [socket.socket(fileno=fd) for fd in listeners]
    log(message=message, seals=fcntl.fcntl(artefact, fcntl.F_GET_SEALS) & SEALS == SEALS,
        digest=os.pread(artefact, 32, 48).hex() == message["digest"], sandboxed=os.path.exists("/run/home"),
        bound=[listener.getsockname()[:2] for listener in listeners], stdin=os.readlink("/proc/self/fd/0"))
    return listeners


def deny(listener, denials):
    client = listener.accept()[0]
    with client:
        head = client.recv(65536).split()
        target = head[1].decode() if len(head) > 1 else "?"
        host, _, port = target.removeprefix("http://").split("/")[0].partition(":")
        key = (host, int(port or 80))
        denials[key] = denials.get(key, 0) + 1
        client.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 6\r\nConnection: close\r\n\r\ndenied")


def summary(denials):
    rows = [{"host": host, "port": port, "reason": "denied", **({"rule": "web (p.yaml:4)"} if port == 80 else {}),
             "fix": f"write '- {host}'", "count": n} for (host, port), n in denials.items()]
    return {"ok": True, "denials": rows, "n_denials_left_out": 0, "counters": {"denied": sum(denials.values())}}


def work(control):
    packet, fds, _, _ = socket.recv_fds(control, 1 << 18, 64)
    if not packet:
        return
    listeners = take(control, packet, fds)
    if FAKE == "exit":
        return
    send(control, REFUSAL if FAKE == "refuse" else {"ok": True})
    denials = {}
    while True:
        for ready in select.select([control, *listeners], [], [])[0]:
            if ready is not control:
                if FAKE == "die":
                    os.kill(os.getpid(), signal.SIGKILL)
                deny(ready, denials)
                continue
            packet = control.recv(1 << 18)
            log(message=json.loads(packet or b"null"))
            if packet and FAKE != "silent":
                send(control, summary(denials))
            return


def fill(end):
    """Leaves no room in the queue of what is sent over it."""
    end.setblocking(False)
    try:
        while True:
            end.send(b"x")
    except BlockingIOError:
        end.setblocking(True)


def parent(command):
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if FAKE == "full":
        fill(its)
    at = command.index("--proxy-fd") + 1
    command[at] = str(its.fileno())
    its.set_inheritable(True)
    with subprocess.Popen(command, close_fds=False) as child:
        its.close()
        if FAKE != "full":
            work(ours)
        return child.wait()


def serve(path, pid_file):
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    listener.bind(path)
    listener.listen()
    pid = os.fork()
    if pid:
        with open(pid_file, "w", encoding="utf-8") as file:
            file.write(str(pid))
        return
    os.setsid()
    for fd in range(3):
        os.dup2(os.open("/dev/null", os.O_RDWR), fd)
    while True:
        client = listener.accept()[0]
        log(message=json.loads(client.recv(65536)))
        if FAKE == "no":
            send(client, {"level": "error", "what": "cannot open another proxy", "why": "there are 64",
                          "fix": "end a sandbox"})
            continue
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        send(client, {"ok": True}, [its.fileno()])
        its.close()
        work(ours)
        ours.close()


def main():
    verb, *rest = sys.argv[1:]
    if verb == "worker":
        log(argv=rest, fds=open_fds(), group=os.getpgrp() == os.getpid())
        work(socket.socket(fileno=int(rest[rest.index("--fd") + 1])))
    elif verb == "parent":
        sys.exit(parent(rest))
    else:
        serve(*rest)


main()
