# SPDX-License-Identifier: MIT
"""A client of sbx-proxy, an origin and supervisors, for shell tests.

origin PIDFILE PORTFILE LOG    an HTTP server in the background; each request's target is a line of LOG
get SOCKET URL                 the status of a GET of URL through the proxy at the unix socket, and the body
pass SOCKET                    sends a byte with a file descriptor to the unix socket and prints "sent" or "refused"
tunnel SOCKET HOST:PORT DONE   opens a tunnel to a server that sends nothing, prints "open", ends when it is closed
open SERVICE N                 opens N workers and prints the answers' "ok" or "why"; they live until stdin ends
sandbox SERVICE POLICY URL...  hands a listener over, gets each URL through it and prints the status; then the summary
alone POLICY FAULT             the same with a worker of its own, to which a supervisor does one of FAULTS
"""
import fcntl
import http.server
import json
import os
import pathlib
import re
import socket
import subprocess
import sys

DEADLINE = 120


# ---- the origin ----

def origin(pidfile, portfile, log):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            with open(log, "a", encoding="utf-8") as out:
                out.write(self.path + "\n")
            body = b"from the origin\n"
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    pathlib.Path(portfile).write_text(f"{server.server_address[1]}\n", encoding="utf-8")
    pid = os.fork()
    if pid > 0:
        pathlib.Path(pidfile).write_text(f"{pid}\n", encoding="utf-8")
        os._exit(0)
    os.setsid()
    with open(os.devnull, "r+b") as nothing:
        for fd in range(3):
            os.dup2(nothing.fileno(), fd)
    server.serve_forever()


# ---- clients ----

def connect(path):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(DEADLINE)
    client.connect(path)
    return client


def exchange(client, url):
    """Returns (status, body) of one GET."""
    host = re.match(r"http://([^/]*)", url).group(1)
    client.sendall(f"GET {url} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    answer = b""
    while data := client.recv(65536):
        answer += data
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]) if head else 0, body.decode()


def get(path, url):
    status, body = exchange(connect(path), url)
    print(status)
    print(body, end="")


def pass_fd(path):
    try:
        socket.send_fds(connect(path), [b"G"], [0])
        print("sent")
    except PermissionError:
        print("refused")


def tunnel(path, target):
    client = connect(path)
    client.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    answer = b""
    while b"\r\n\r\n" not in answer:
        data = client.recv(65536)
        if not data:
            sys.exit("closed")
        answer += data
    print(answer.split()[1].decode(), flush=True)
    print("closed" if client.recv(1) == b"" else "bytes", flush=True)


# ---- supervisors ----

def send(sock, packet, fds=()):
    socket.send_fds(sock, [json.dumps(packet).encode()], list(fds)) if fds else sock.send(json.dumps(packet).encode())


def receive(sock):
    """Returns (packet or None at the end, fds)."""
    sock.settimeout(DEADLINE)
    data, fds, _, _ = socket.recv_fds(sock, 1 << 18, 8)
    return (json.loads(data) if data else None), fds


def packets(path):
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sock.settimeout(DEADLINE)
    sock.connect(path)
    return sock


def open_worker(service):
    client = packets(service)
    send(client, {"type": "OPEN"})
    answer, fds = receive(client)
    return answer, (socket.socket(fileno=fds[0]) if fds else None)


def open_many(service, count):
    kept = []
    for _ in range(int(count)):
        answer, worker = open_worker(service)
        kept.append(worker)
        print("ok" if answer.get("ok") else answer.get("why"), flush=True)
    sys.stdin.read()


def artefact(policy):
    """Returns (bytes, digest): compiled for the mode proxy, as sbx-spawn does it."""
    block = subprocess.run(["sbx-policy", "compile", "--output=-", policy], check=True, stdout=subprocess.PIPE).stdout
    return block, block[8 + 4 + 4 + 32:][:32].hex()


def sealed(block, seals=0xf):
    fd = os.memfd_create("policy", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    os.write(fd, block)
    add_seals(fd, seals)
    return fd


def add_seals(fd, seals):

    if seals:
        fcntl.fcntl(fd, 1033, seals)  # F_ADD_SEALS


def listening():
    listener = socket.socket(socket.AF_INET)
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    return listener


def listeners_packet(listener, digest, **more):
    return {"type": "LISTENERS", "sandbox": "box-1", "digest": digest, "policy": "policy.yaml",
            "listeners": [{"kind": "http", "address": "127.0.0.1", "port": listener.getsockname()[1]}],
            "limits": {}} | more


def through(listener, url):
    client = socket.create_connection(listener.getsockname(), DEADLINE)
    return exchange(client, url)[0]


def hand_over(worker, policy):
    block, digest = artefact(policy)
    listener = listening()
    send(worker, listeners_packet(listener, digest), [sealed(block), listener.fileno()])
    return receive(worker)[0], listener


def finish(worker):
    send(worker, {"type": "END"})
    summary, _ = receive(worker)
    rest, _ = receive(worker)
    for denial in summary.get("denials", []):
        print("denied", denial["host"], denial["port"], denial["count"])
    print("counters", summary["counters"]["requests"], summary["counters"]["denied"])
    print("end" if rest is None else "more")


def sandbox(service, policy, *urls):
    _, worker = open_worker(service)
    answer, listener = hand_over(worker, policy)
    print("ok" if answer.get("ok") else f"refused: {answer.get('what')}: {answer.get('why')}")
    if not answer.get("ok"):
        return
    for url in urls:
        print(through(listener, url))
    if not sys.stdin.isatty():
        for line in sys.stdin:  # what to run while the sandbox lives
            subprocess.run(line, shell=True, check=False)
            sys.stdout.flush()
    finish(worker)


# ---- one worker, and hostile supervisors ----

def worker_alone(**options):
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = subprocess.Popen(["sbx-proxy", "worker", "--fd", str(theirs.fileno()), "--uid", str(os.getuid())],
                               pass_fds=[theirs.fileno()], **options)
    theirs.close()
    return ours, process


def refused(worker, packet, fds):
    send(worker, packet, fds)
    answer, _ = receive(worker)
    return answer is None or answer.get("level") == "error"


def fault_digest(worker, block, digest, listener):
    return refused(worker, listeners_packet(listener, "0" * 64), [sealed(block), listener.fileno()])


def fault_unsealed(worker, block, digest, listener):
    return refused(worker, listeners_packet(listener, digest), [sealed(block, 0), listener.fileno()])


def fault_damaged(worker, block, digest, listener):
    broken = bytearray(block)
    broken[len(broken) // 2] ^= 1
    return refused(worker, listeners_packet(listener, digest), [sealed(bytes(broken)), listener.fileno()])


def fault_connected(worker, block, digest, listener):
    client = socket.create_connection(listener.getsockname(), DEADLINE)
    return refused(worker, listeners_packet(listener, digest), [sealed(block), client.fileno()])


def fault_fds(worker, block, digest, listener):
    return refused(worker, listeners_packet(listener, digest), [sealed(block)])


def fault_unknown(worker, block, digest, listener):
    return refused(worker, {"type": "LISTENRS"}, [])


def fault_twice(worker, block, digest, listener):
    send(worker, listeners_packet(listener, digest), [sealed(block), listener.fileno()])
    if not receive(worker)[0].get("ok"):
        return False
    return refused(worker, listeners_packet(listener, digest), [sealed(block), listener.fileno()])


def fault_closed(worker, block, digest, listener):
    send(worker, listeners_packet(listener, digest), [sealed(block), listener.fileno()])
    return receive(worker)[0].get("ok")


FAULTS = {name[6:]: function for name, function in list(globals().items()) if name.startswith("fault_")}


def alone(policy, what):
    """The worker refuses the fault and ends, and accepts no more."""
    worker, process = worker_alone()
    block, digest = artefact(policy)
    listener = listening()
    if not FAULTS[what](worker, block, digest, listener):
        sys.exit("it was not refused")
    worker.close()
    status = process.wait(DEADLINE)
    listener.setblocking(False)
    print(f"refused, ended with {status}")


COMMANDS = {"origin": origin, "get": get, "pass": pass_fd, "tunnel": tunnel, "open": open_many, "sandbox": sandbox,
            "alone": alone}

if __name__ == "__main__":
    COMMANDS[sys.argv[1]](*sys.argv[2:])
