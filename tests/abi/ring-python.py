# SPDX-License-Identifier: MIT
"""lib/python/sbx_ring.py does what tests/abi/ring-vectors.json says (as tests/unit/test-ring-vectors.c holds the C code
to it), and understands a program that uses <sbx/ring.h>, in both roles and modes.
"""
import contextlib
import errno
import fcntl
import json
import mmap
import multiprocessing
import os
import pathlib
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "check"))
import tap  # noqa: E402, from the directory of the checks

sys.path.insert(0, str(tap.SOURCE / "lib/python"))
import sbx_ring  # noqa: E402, the module under test

VECTORS = json.loads(tap.read("tests/abi/ring-vectors.json"))
CAPACITY = VECTORS["capacity"]
DATA = 4096
FUTURE_WRITE = 0x10
SIZE = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
ROLES, MODES = ("server", "client"), ("stream", "call")
N_RANDOM = 1500
FOREVER = float("inf")


def must_raise(kind, call, *arguments, **named):
    """Returns the error that a call must raise."""
    try:
        call(*arguments, **named)
    except kind as error:
        return error
    raise AssertionError(f"{call} raised no {kind.__name__}")


# ---- the other side, made of bytes ----

def control_block(flags, nonce):
    """Returns the control block of a file, written independently of the module."""
    return struct.pack("<IIQIIIIIIQQII", 0xCDAF5000, 1, DATA + CAPACITY, flags, 1, 1, 1, 2, DATA, CAPACITY, nonce,
                       CAPACITY // 4 - 16, 0)


def make_file(flags, nonce, changes=()):
    fd = os.memfd_create("vector", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, DATA + CAPACITY)
    os.pwrite(fd, control_block(flags, nonce), 0)
    for at, new in changes:
        os.pwrite(fd, new, at)
    return fd


def pair():
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def hello(sock, *fds):
    socket.send_fds(sock, [struct.pack("<II", 0xCDAF5000, 1)], fds)


class Other:
    """The other side of a case: its file, writable."""

    def __init__(self, stack, role, mode):
        ours, theirs = pair()
        stack.callback(ours.close)
        self.is_call = mode == "call"
        if role == "server":
            self.ring = stack.enter_context(sbx_ring.Ring(theirs, "server", mode=mode, total_bytes=2 * CAPACITY))
            _hello, fds, _flags, _address = socket.recv_fds(ours, 8, 3)
            self.map = mmap.mmap(fds[1], DATA + CAPACITY)
            for fd in fds:
                os.close(fd)
        else:
            flags = 1 if self.is_call else 0
            server, client, event = make_file(flags, 0x1234567890ABCDEF), make_file(flags | 2, 99), os.eventfd(0)
            self.map = mmap.mmap(server, DATA + CAPACITY)
            fcntl.fcntl(server, fcntl.F_ADD_SEALS, SIZE | FUTURE_WRITE | fcntl.F_SEAL_SEAL)
            fcntl.fcntl(client, fcntl.F_ADD_SEALS, SIZE | fcntl.F_SEAL_SEAL)
            hello(ours, server, client, event)
            for fd in (server, client, event):
                os.close(fd)
            self.ring = stack.enter_context(sbx_ring.Ring(theirs, "client"))
        stack.callback(self.map.close)
        self.nonce = struct.unpack_from("<Q", self.map, 48)[0]
        self.socket = ours

    def write(self, at, data):
        self.map[at:at + len(data)] = data

    def write_data(self, position, data):
        at = position % CAPACITY
        first = data[:CAPACITY - at]
        self.write(DATA + at, first)
        self.write(DATA, data[len(first):])

    def stamp(self, position, of):
        self.write_data(position, struct.pack("<Q", (of + 64) ^ self.nonce))

    def record(self, position, kind, payload):
        self.write_data(position + 8 * self.is_call, struct.pack("<II", len(payload), kind) + payload)
        if self.is_call:
            self.stamp(position, position)


def payload_of(value):
    return b"\xa5" * value if isinstance(value, int) else bytes.fromhex(value)


def receive_name(ring, call):
    """Returns how a call ends without a message, in the words of the vectors."""
    try:
        call(timeout=0)
    except sbx_ring.Violation as violation:
        return violation.name if violation.name == ring.violation else "the names differ"
    except sbx_ring.Empty:
        return "empty"
    except sbx_ring.Closed:
        return "closed"
    return "a message"


def send_name(ring, size):
    try:
        ring.send(bytes(size), timeout=0)
    except sbx_ring.Violation as violation:
        return violation.name
    except sbx_ring.Full:
        return "full"
    except sbx_ring.Closed:
        return "closed"
    return "sent"


def parts(other, n_parts):
    step = other.ring.record_max + (16 if other.is_call else 8)
    for i in range(n_parts):
        other.record(i * step, 1 if i == 0 else 0, bytes(other.ring.record_max))
        if not other.is_call:
            other.write(128, struct.pack("<Q", (i + 1) * step))
        if i + 1 < n_parts and other.ring.try_receive() is not None:
            return "a message"
    return None


def run_step(other, step):
    """Returns what differs, or None."""
    kind, *words = step
    if kind == "hex":
        other.write(words[0], bytes.fromhex(words[1]))
    elif kind in ("u32", "u64"):
        other.write(words[0], struct.pack("<I" if kind == "u32" else "<Q", words[1]))
    elif kind == "record":
        other.record(words[0], words[1], payload_of(words[2]))
    elif kind == "stamp":
        other.stamp(*words)
    elif kind == "parts":
        return parts(other, *words)
    elif kind == "receive":
        got = other.ring.receive(timeout=0)
        same = len(got) == words[0] if isinstance(words[0], int) else got == payload_of(words[0])
        return None if same else f"received {got[:32]!r} ({len(got)})"
    elif kind == "frame":
        got = other.ring.receive_frame(timeout=0)
        return None if got == (words[0], words[1], payload_of(words[2])) else str(got)
    elif kind == "send":
        got = send_name(other.ring, words[0])
        return None if got == words[1] else got
    else:
        call = other.ring.receive if kind == "ends" else other.ring.receive_frame
        got = receive_name(other.ring, call)
        return None if got == words[0] else got
    return None


def run_case(case, role):
    with contextlib.ExitStack() as stack:
        other = Other(stack, role, case["mode"])
        for number, step in enumerate(case["steps"], 1):
            try:
                differs = run_step(other, step)
            except sbx_ring.Error as error:
                differs = repr(error)
            if differs is not None:
                return [f"{case['name']} ({case['mode']}), step {number} {step}: {differs}"]
    return []


def open_changed(changes, seals=SIZE | FUTURE_WRITE | fcntl.F_SEAL_SEAL, fds=3, magic=0xCDAF5000, size=8, event=None):
    """Returns the errno with which a client refuses a server, or 0."""
    ours, theirs = pair()
    files = [make_file(flags, 7, changes.get(name, ())) for name, flags in (("server", 0), ("client", 2))]
    files += [os.open(event, os.O_RDWR) if event else os.eventfd(0), os.eventfd(0)]
    before = set(os.listdir("/proc/self/fd"))
    try:
        fcntl.fcntl(files[0], fcntl.F_ADD_SEALS, seals)
        fcntl.fcntl(files[1], fcntl.F_ADD_SEALS, SIZE)
        socket.send_fds(ours, [struct.pack("<II", magic, 1)[:size]], files[:fds])
        sbx_ring.Ring(theirs, "client").close()
        return 0
    except sbx_ring.Error as error:
        return error.errno
    finally:
        assert set(os.listdir("/proc/self/fd")) <= before, "an fd is left open"
        for fd in files:
            os.close(fd)
        ours.close()


def check_vectors():
    for role in ROLES:
        tap.none(f"the {role} reads each image as ring-vectors.json says",
                 [line for case in VECTORS["cases"] for line in run_case(case, role)])
    tap.none("the client refuses each changed control block",
             [f"{one['name']}: {got}" for one in VECTORS["controls"]
              for got in [open_changed({one["file"]: [(one["at"], bytes.fromhex(one["hex"]))]})]
              if got != (0 if one["result"] == "accepted" else errno.EBADMSG)])
    tap.ok("the client accepts an unchanged one", open_changed({}) == 0)
    tap.ok("the client refuses a file that others can write",
           [open_changed({}, seals) for seals in (SIZE, SIZE | fcntl.F_SEAL_SEAL, SIZE | FUTURE_WRITE,
                                                  FUTURE_WRITE | fcntl.F_SEAL_SEAL)] == [errno.EPERM] * 4)
    tap.ok("the client refuses another hello",
           [open_changed({}, fds=2), open_changed({}, fds=4), open_changed({}, magic=1), open_changed({}, size=7),
            open_changed({}, event="/dev/null")]
           == [errno.EBADMSG] * 5)


# ---- two sides in Python ----

def check_seals():
    ours, theirs = pair()
    with sbx_ring.Ring(ours, "server", total_bytes=2 * CAPACITY):
        _hello, fds, _flags, _address = socket.recv_fds(theirs, 8, 3)
        problems = []
        for what, call in {
                "write to": lambda: os.pwrite(fds[0], b"x", DATA),
                "map writable": lambda: mmap.mmap(fds[0], DATA),
                "shorten": lambda: os.ftruncate(fds[0], 0),
                "shorten the client's": lambda: os.ftruncate(fds[1], 0),
                "seal the client's": lambda: fcntl.fcntl(fds[1], fcntl.F_ADD_SEALS, FUTURE_WRITE)}.items():
            try:
                call()
                problems.append(f"the client can {what} file")
            except PermissionError:
                pass
        tap.none("the server's files are sealed before the client has them", problems)
        for fd in fds:
            os.close(fd)
    theirs.close()


def check_python_alone():
    for mode in MODES:
        ours, theirs = pair()
        with sbx_ring.Ring(ours, "server", mode=mode, total_bytes=2 * CAPACITY) as server, \
                sbx_ring.Ring(theirs, "client") as client:
            server.send(b"one", more=True)
            unseen = client.try_receive() is None or mode == "call"
            server.flush()
            tap.ok(f"messages with more=True wait for flush() in mode {mode}", unseen)
            client.send_frame(0x54, 0, b"alive")
            client.send_frame(0x02, 7, b"late")
            client.send_frame(0x02, 1, b"answer")
            frame = server.request(0x41, b"", timeout=60)
            tap.ok(f"a frame that was kept can be read without a wait in mode {mode}",
                   server.wait(sbx_ring.READABLE, 0) and not server.wait(0, 0))
            tap.ok(f"a request gets the response with its id, and keeps events in mode {mode}",
                   frame == (0x02, 1, b"answer") and server.receive_frame(0) == (0x54, 0, b"alive"))
            tap.ok(f"a request without a response ends at its time-out in mode {mode}",
                   isinstance(must_raise(sbx_ring.Empty, server.request, 0x41, timeout=0), sbx_ring.Empty))
            tap.ok(f"a message over the limit is refused in mode {mode}",
                   must_raise(sbx_ring.Error, server.send, bytes((16 << 20) + 6)).errno == errno.EMSGSIZE)
            counts = client.statistics()
            tap.ok(f"both sides count in mode {mode}", counts["sent"] == 3 and counts["bytes_sent"] == 5 * 3 + 15)


def poll_steps(reader, writer):
    """Returns what a poll loop of the reader sees, which must be the list below."""
    def is_readable(seconds):
        return bool(select.select([reader], [], [], seconds)[0])
    armed = reader.arm()
    seen = [armed, is_readable(0)]
    writer.send(b"wake")
    return [*seen, is_readable(60), reader.arm(), reader.try_receive(), reader.arm(), is_readable(0)]


def check_poll():
    for mode in MODES:
        ours, theirs = pair()
        with sbx_ring.Ring(ours, "server", mode=mode, total_bytes=2 * CAPACITY) as server, \
                sbx_ring.Ring(theirs, "client") as client:
            for name, reader, writer in (("client", client, server), ("server", server, client)):
                seen = poll_steps(reader, writer)
                tap.ok(f"a poll of the {name} ends when a message comes in mode {mode}",
                       seen == [True, False, True, False, b"wake", True, False], [str(seen)])


def check_refusals():
    row = sbx_ring.message_refusal
    tap.ok("messages are refused in the words of the C code",
           [row(0x00, "worker", 0, 5), row(0x12, "worker", 0, 0), row(0x20, "worker", 0, 0), row(0x00, "worker", 1, 0),
            row(0x11, "supervisor", 0, 0), row(0x11, "supervisor", 1, 1), row(0x04, "worker", 1, 0)]
           == [None, "unknown_type", "wrong_sender", "request_id_not_zero", "request_id_missing", "payload_too_long",
               "payload_too_short"])
    for named in ({"mode": "ring"}, {"when_full": "never"}):
        must_raise(ValueError, sbx_ring.Ring, pair()[0], "server", **named)
    for total in (0, 1, CAPACITY, 3 * CAPACITY, 1 << 40):
        must_raise(sbx_ring.Error, sbx_ring.Ring, pair()[0], "server", total_bytes=total)
    ours, theirs = pair()
    must_raise(sbx_ring.Error, sbx_ring.Ring, theirs, "client", timeout=0)
    ours2, theirs2 = pair()
    ours2.close()
    tap.ok("a channel that cannot be opened is an error",
           must_raise(sbx_ring.Error, sbx_ring.Ring, theirs2, "client").errno == errno.ECONNRESET)
    ours.close()


# ---- a side that keeps the other one waiting ----

def send_to_full_eventfd():
    """Sends to a server that says that it sleeps, over an eventfd to which a write would wait; in a process of its own."""
    ours, theirs = pair()
    server, client, event = make_file(0, 1, [(384, b"\3")]), make_file(2, 2), os.eventfd(0)
    fcntl.fcntl(server, fcntl.F_ADD_SEALS, SIZE | FUTURE_WRITE | fcntl.F_SEAL_SEAL)
    fcntl.fcntl(client, fcntl.F_ADD_SEALS, SIZE | fcntl.F_SEAL_SEAL)
    os.eventfd_write(event, (1 << 64) - 2)
    hello(ours, server, client, event)
    with sbx_ring.Ring(theirs, "client", timeout=FOREVER) as ring:
        ring.send(b"wake")


def receive_in_vain():
    """Receives while a message seems to be there at any time. Returns how often that was asked after the time-out."""
    ours, theirs = pair()
    calls = []
    with sbx_ring.Ring(ours, "server", total_bytes=2 * CAPACITY) as ring:
        def wait(_events, timeout=None):
            calls.extend([None] * (timeout == 0))
            assert len(calls) < 1000, "it does not end"
            return True
        ring._wait = wait
        must_raise(sbx_ring.Empty, ring.receive, timeout=0.001)
    theirs.close()
    return len(calls)


def check_waits():
    with multiprocessing.Pool(1) as pool:
        task = pool.apply_async(send_to_full_eventfd)
        task.wait(60)
        tap.ok("a full eventfd of the server does not keep the client", task.ready() and task.get() is None)
    tap.ok("receive() ends at its time-out, whatever the other side says", receive_in_vain() == 1)


# ---- with a program in C ----

class Peer:
    """build/tests/abi/ring-side as the other side."""

    def __init__(self, stack, role, mode):
        ours, theirs = pair()
        other = "client" if role == "server" else "server"
        program = next(pathlib.Path(target["filename"][0]) for target in tap.targets() if target["name"] == "ring-side")
        self.output = stack.enter_context(tempfile.TemporaryFile("w+"))
        self.process = subprocess.Popen([program, other, mode, str(2 * CAPACITY)], stdin=theirs, stdout=self.output)
        stack.callback(self.end)
        theirs.close()
        self.ring = stack.enter_context(sbx_ring.Ring(ours, role, mode=mode, total_bytes=2 * CAPACITY, timeout=120))

    def end(self):
        self.process.kill()
        self.process.wait()

    def status(self):
        status = self.process.wait(timeout=120)
        self.output.seek(0)
        return status, self.output.read().strip()


def random_size(chance):
    kind = chance.random()
    return (chance.randrange(64) if kind < 0.6 else chance.randrange(4096) if kind < 0.9
            else chance.randrange(17000) if kind < 0.98 else chance.randrange(150000))


def exchange(ring, chance):
    """Sends random messages and expects them back in order; returns how many were aborted for want of room."""
    waiting, n_sent, n_full = [], 0, 0
    while n_sent < N_RANDOM or waiting:
        if n_sent < N_RANDOM and len(waiting) < 64:
            message = chance.randbytes(random_size(chance))
            if message[:1] == b"\x01":
                message = b"\x00" + message[1:]  # not a request
            try:
                # The peer may wait for room too: then the message is aborted, and sent again as another one.
                ring.send(message, timeout=0.02 if len(message) > CAPACITY // 2 else 0, more=chance.random() < 0.5)
                waiting.append(message)
                n_sent += 1
                continue
            except sbx_ring.Full:
                n_full += 1
        got = ring.receive(timeout=FOREVER) if waiting else None
        if got is not None and got != waiting.pop(0):
            raise AssertionError("another message came back")
    return n_full


def check_with_c(role, mode):
    name = f"the {role} in Python, mode {mode}"
    chance = random.Random(f"{role} {mode}")
    with contextlib.ExitStack() as stack:
        peer = Peer(stack, role, mode)
        exchange(peer.ring, chance)
        tap.ok(f"{name}: random messages come back from C in their order", True)
        answers = [peer.ring.request(1, bytes([i]), timeout=120) for i in range(20)]
        tap.ok(f"{name}: requests are answered", answers == [(2, i + 1, bytes([i])) for i in range(20)])
        large = chance.randbytes((16 << 20) + 5)
        peer.ring.send(b"\0" + large[1:1 << 16])
        tap.ok(f"{name}: a message in parts", peer.ring.receive() == b"\0" + large[1:1 << 16])
        before = peer.ring.statistics()
        peer.ring.close()
        tap.ok(f"{name}: C sees the end and exits", peer.status() == (0, ""), [str(peer.status())])
        tap.ok(f"{name}: it slept in the kernel and was woken up", before["sleeps"] > 0)
    with contextlib.ExitStack() as stack:
        peer = Peer(stack, role, mode)
        peer.ring.send(b"x")
        peer.ring.receive()
        peer.process.send_signal(signal.SIGKILL)
        tap.ok(f"{name}: the death of C ends a wait", isinstance(must_raise(sbx_ring.Died, peer.ring.receive, FOREVER),
                                                               sbx_ring.Died) and not peer.ring.is_connected)


def check_violation_is_seen(role):
    """A Python side that lies is refused by C with the same name as by Python."""
    with contextlib.ExitStack() as stack:
        peer = Peer(stack, role, "stream")
        peer.ring._own.u64[128 // 8] = 12  # the tail of this side
        sbx_ring._barrier()
        peer.ring._wake_if_asleep(1)
        try:
            peer.ring.receive(timeout=FOREVER)
        except (sbx_ring.Closed, sbx_ring.Died):
            pass
        tap.ok(f"a {role} in Python that lies is refused by C", peer.status() == (2, "tail_not_aligned"),
               [str(peer.status())])


def main():
    check_vectors()
    check_seals()
    check_python_alone()
    check_poll()
    check_refusals()
    check_waits()
    for role in ROLES:
        for mode in MODES:
            check_with_c(role, mode)
        check_violation_is_seen(role)
    tap.done()


if __name__ == "__main__":
    main()
