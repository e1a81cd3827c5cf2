# SPDX-License-Identifier: MIT
"""A client of the keeper of a named channel, for shell tests of sbx-ring.

ask NAME TEXT         sends one packet and prints the answer
ask-at PATH TEXT      the same at a path
wait NAME STATE       returns when the channel has that state
seals NAME            takes both roles, and checks that no client gets an fd before the server has sealed its file
roles NAME            takes each role twice
hostile NAME          sends packets that no client sends; the keeper must refuse them and live on
inspect NAME          tries to write to what INSPECT passes
scribble NAME         is a server that fills the header and data of its file with random bytes, until stdin ends
impostor NAME WHAT PIDFILE
                      is the keeper of NAME, and passes WHAT: honest, or in place of an eventfd a pipe without a reader,
                      null (/dev/null), in place of a socket file; zero: /dev/zero to who inspects
                      capacity: a capacity that no channel has
"""
import contextlib
import fcntl
import json
import mmap
import os
import random
import socket
import sys
import time

DEADLINE = 60
F_ADD_SEALS, F_GET_SEALS = 1033, 1034
SEAL, SHRINK, GROW, WRITE, FUTURE_WRITE = 1, 2, 4, 8, 16
TAKE_SERVER, TAKE_CLIENT = b'{"type":"TAKE","role":"server"}', b'{"type":"TAKE","role":"client"}'


def connect_at(path):
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.settimeout(DEADLINE)
    client.connect(path)
    return client


def directory_of_names():
    return f"{'/run' if os.geteuid() == 0 else os.environ['XDG_RUNTIME_DIR']}/sbx/rings"


def connect(name):
    return connect_at(f"{directory_of_names()}/{name}.sock")


def hear(client):
    packet, fds, _, _ = socket.recv_fds(client, 65536, 16)
    return (json.loads(packet) if packet else None), fds


def talk(client, packet):
    client.send(packet)
    return hear(client)


def must(condition, text):
    if not condition:
        sys.exit(text)


def ask(name, text):
    answer, fds = talk(connect(name), text.encode())
    print(json.dumps(answer), len(fds))


def ask_at(path, text):
    answer, fds = talk(connect_at(path), text.encode())
    print(json.dumps(answer), len(fds))


def wait(name, state):
    client = connect(name)
    end = time.monotonic() + DEADLINE
    while talk(client, b'{"type":"STATUS"}')[0]["state"] != state:
        must(time.monotonic() < end, f"the channel did not become {state}")


def has_answer(client):
    client.setblocking(False)
    try:
        return bool(client.recv(1, socket.MSG_PEEK))
    except BlockingIOError:
        return False
    finally:
        client.settimeout(DEADLINE)


def seal(files):
    """Maps the server's file writable, then seals it as a server does."""
    memory = mmap.mmap(files[0], 0)
    fcntl.fcntl(files[0], F_ADD_SEALS, SHRINK | GROW | FUTURE_WRITE | SEAL)
    return memory


def refuses_writing(fd):
    size = os.fstat(fd).st_size
    for act in (lambda: mmap.mmap(fd, size), lambda: os.pwrite(fd, b"x", 0), lambda: os.ftruncate(fd, 0),
                lambda: os.pwrite(os.open(f"/proc/self/fd/{fd}", os.O_RDWR), b"x", 0)):
        with contextlib.suppress(OSError, ValueError):
            act()
            return False
    return True


def seals(name):
    observer, server, client = connect(name), connect(name), connect(name)
    client.send(TAKE_CLIENT)
    answer, files = talk(server, TAKE_SERVER)
    must(answer["ok"] and len(files) == 4, f"the server got {answer} and {len(files)} fds")
    must(talk(observer, b'{"type":"STATUS"}')[0]["state"] == "waiting_for_client", "the state is another")
    must(not has_answer(client), "the client was answered before the server said SEALED")
    answer, _ = talk(server, b'{"type":"SEALED"}')
    must(answer["error"] == "not_sealed", f"files without seals were accepted: {answer}")
    fcntl.fcntl(files[0], F_ADD_SEALS, SHRINK | GROW)
    answer, _ = talk(server, b'{"type":"SEALED"}')
    must(answer["error"] == "not_sealed", f"a file that can be mapped writable was accepted: {answer}")
    answer, _ = talk(observer, b'{"type":"SEALED"}')
    must(answer["error"] == "denied", f"another process may say SEALED: {answer}")
    must(not has_answer(client), "the client was answered before the seals were there")
    answer, fds = talk(observer, b'{"type":"INSPECT","data":true}')
    must(answer["ok"] and not fds, "an observer got fds before the seals were there")
    memory = seal(files)
    answer, _ = talk(server, b'{"type":"SEALED"}')
    must(answer["ok"], f"sealed files were refused: {answer}")
    answer, given = hear(client)
    must(answer["ok"] and len(given) == 4, f"the client got {answer} and {len(given)} fds")
    must(refuses_writing(given[0]), "the client can write to the server's file")
    memory[128] = 1
    must(os.pread(given[0], 1, 128) == b"\1", "the server cannot write to its file")
    must(answer["server_pid"] == answer["client_pid"] == os.getpid(), "the pids are others")
    print("the client got them after the seals")


def roles(name):
    first, second, client = connect(name), connect(name), connect(name)
    _, files = talk(first, TAKE_SERVER)
    answer, fds = talk(second, TAKE_SERVER)
    must(answer["error"] == "busy" and not fds, f"a second server got {answer}")
    answer, fds = talk(first, TAKE_SERVER)
    must(answer["error"] == "busy" and not fds, f"the server got {answer} again")
    client.send(TAKE_CLIENT)
    answer, fds = talk(second, TAKE_CLIENT)
    must(answer["error"] == "busy" and not fds, f"a second client that waits got {answer}")
    memory = seal(files)
    talk(first, b'{"type":"SEALED"}')
    answer, fds = hear(client)
    must(answer["ok"] and len(fds) == 4, f"the client got {answer}")
    answer, fds = talk(second, TAKE_CLIENT)
    must(answer["error"] == "busy" and not fds, f"a second client got {answer}")
    memory.close()
    print("each role was given once")


def hostile(name):
    good = connect(name)
    packets = [b"\0", b"{" * 4000, b"[" * 4000, b"\xff\xfe", b"null", b'"TAKE"', b"{}", b'{"type":"TAKE"}',
               b'{"type":"TAKE","role":"both"}', b'{"type":"TAKE","role":0}', b'{"type":"GIVE"}', b'{"type":"SEALED"}',
               b'{"type":"STATUS"}{"type":"STATUS"}', b'{"type":"STATUS"', b'{"type":' + b"[" * 100 + b"}",
               b'{"type":"' + b"T" * 3000 + b'"}', b"x" * 5000, b'{"type":"STATUS"}' + b" " * 5000]
    packets += [random.randbytes(random.randrange(1, 3000)) for _ in range(200)]
    for packet in packets:
        client = connect(name)
        answer, fds = talk(client, packet)
        must(answer["ok"] is False and answer["what"] and not fds, f"not refused: {packet[:60]!r}: {answer}")
    client = connect(name)
    with contextlib.suppress(PermissionError):  # refused by the kernel since Linux 6.16
        socket.send_fds(client, [b'{"type":"STATUS"}'], [os.open("/dev/null", os.O_RDONLY)] * 20)
        must(hear(client)[0]["ok"], "fds beside a request are discarded")
    many = []
    with contextlib.suppress(OSError):
        for _ in range(200):
            many.append(connect(name))
            many[-1].send(TAKE_CLIENT)
    for one in many:
        one.close()
    must(talk(good, b'{"type":"STATUS"}')[0]["ok"], "the others are not served any more")
    print("all were refused")


def inspect(name):
    answer, fds = talk(connect(name), b'{"type":"INSPECT","data":true}')
    must(answer["ok"] and len(fds) == 2, f"INSPECT gave {answer} and {len(fds)} fds")
    must(all(refuses_writing(fd) for fd in fds), "an observer can write to a file of the channel")
    client = os.pread(fds[1], 4, 0)
    must(client == b"\0\x50\xaf\xcd", f"the copy begins with {client!r}")
    print("an observer can only read")


def scribble(name):
    server = connect(name)
    _, files = talk(server, TAKE_SERVER)
    memory = seal(files)
    must(talk(server, b'{"type":"SEALED"}')[0]["ok"], "the seals were refused")
    memory[128:136] = (1 << 19).to_bytes(8, "little")  # as much as there is room for
    memory[384:4096] = random.randbytes(4096 - 384)
    memory[4096:] = random.randbytes(len(memory) - 4096)
    print("ready", flush=True)
    sys.stdin.read()


def files_of_a_channel(name):
    """The files of a channel whose server has sent a record and waits, from the keeper NAME."""
    server, client = connect(name), connect(name)
    _, files = talk(server, TAKE_SERVER)
    memory = seal(files)
    memory[384] = 3
    memory[128:136] = (24).to_bytes(8, "little")
    must(talk(server, b'{"type":"SEALED"}')[0]["ok"], "the seals were refused")
    must(talk(client, TAKE_CLIENT)[0]["ok"], "the client got no role")
    return files, [server, client]


def pipe_without_reader():
    reader, writer = os.pipe()
    os.close(reader)
    return writer


PASSED = {"pipe": (2, pipe_without_reader), "null": (2, lambda: os.open("/dev/null", os.O_RDWR)),
          "file": (3, lambda: os.open("/dev/null", os.O_RDWR))}


def serve_as_impostor(listener, what, files, held):
    answer = {"ok": True, "name": "x", "state": "open", "mode": "stream", "server_pid": 1, "client_pid": 1,
              "capacity": (1 << 64) - 1 if what == "capacity" else 65536}
    while True:
        client = listener.accept()[0]
        held.append(client)
        packet = client.recv(65536)
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        held.append(ours)
        passed = [files[0], files[1], os.eventfd(1 << 31, os.EFD_NONBLOCK | os.EFD_SEMAPHORE), its.fileno()]
        if what in PASSED:
            at, make = PASSED[what]
            passed[at] = make()
        if b"INSPECT" in packet:
            passed = [os.open("/dev/zero", os.O_RDONLY)] * 2 if what == "zero" else files[:2]
        elif b"TAKE" not in packet:
            passed = []
        socket.send_fds(client, [json.dumps(answer).encode()], passed)


def impostor(name, what, pidfile):
    files, held = files_of_a_channel(name)
    path = f"{directory_of_names()}/impostor.sock"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(path)
    listener.listen()
    pid = os.fork()
    if pid:
        with open(pidfile, "w", encoding="utf-8") as file:
            file.write(str(pid))
        return
    os.setsid()
    for fd in range(3):
        os.dup2(os.open("/dev/null", os.O_RDWR), fd)
    serve_as_impostor(listener, what, files, held)


COMMANDS = {"ask": ask, "ask-at": ask_at, "wait": wait, "seals": seals, "roles": roles, "hostile": hostile, "inspect": inspect,
            "scribble": scribble, "impostor": impostor}

if __name__ == "__main__":
    COMMANDS[sys.argv[1]](*sys.argv[2:])
