# SPDX-License-Identifier: MIT
"""Channels of sbx-ring in shared memory, without anything but the standard library.

    parent, child = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ... start the other process with the fd of child, then child.close() ...
    with sbx_ring.Ring(parent, "server") as ring:
        ring.send(b"hello")
        answer = ring.receive(timeout=1.0)

The other side may be a program that uses <sbx/ring.h>. Its memory is not trusted: each word of it is loaded once,
checked, and copied; the first violation ends the channel with Violation, whose name is that of the C code. The bytes
are those of sbx-ring-layout(7), read from ring-layout.json.

A word must be stored and loaded whole, and a full barrier must stand between a store and the load after it. CPython
does the first for items of a memoryview that was cast to "Q" or "I" (one store of 8 or 4 bytes; struct.pack_into()
would store zeros before). An uncontended threading.Lock is an instruction with a lock prefix on x86-64, which is the
second. On other processors of 64 bits the module orders by releasing and taking a lock, and in case that this is not
enough it never sleeps for longer than 10 ms before it looks again. A Python of 32 bits or with another byte order is
refused.

A channel may be used by one thread at a time, and not by a child of fork(). Time-outs are in seconds: None is that of
the channel, float("inf") waits forever, 0 only tries.
"""
import array
import ctypes
import errno
import fcntl
import json
import mmap
import os
import pathlib
import platform
import select
import socket
import stat
import struct
import sys
import threading
import time
from typing import Any, NamedTuple, Optional

__all__ = ["Ring", "Frame", "Error", "Full", "Empty", "Closed", "Died", "Violation", "READABLE", "WRITABLE",
           "LAYOUT", "MESSAGES", "message_refusal"]


def _find_layout() -> dict:
    here = pathlib.Path(__file__).resolve().parent
    for place in (here.parent / "ring-layout.json", here.parent / "include/sbx/ring-layout.json"):
        if place.is_file():
            return json.loads(place.read_text(encoding="utf-8"))
    raise ImportError("ring-layout.json is neither installed nor in the sources")


if sys.byteorder != "little" or struct.calcsize("P") != 8:
    raise ImportError("sbx_ring needs a little-endian Python of 64 bits")

_ALL = _find_layout()
LAYOUT = _ALL["layout"]
MESSAGES = {row["type"]: row for row in _ALL["messages"]}
_VIOLATIONS = _ALL["violations"]
_FRAME = _ALL["frame"]

READABLE, WRITABLE = 1, 2

_DATA = LAYOUT["DATA_OFFSET"]
_TAIL, _HEAD = LAYOUT["TAIL_OFFSET"] // 8, LAYOUT["HEAD_OFFSET"] // 8          # of u64
_SLEEPING, _DOORBELL = LAYOUT["SLEEPING_OFFSET"] // 4, LAYOUT["DOORBELL_OFFSET"] // 4  # of u32
_STATE = LAYOUT["STATE_OFFSET"] // 4
_COUNTERS = LAYOUT["COUNTERS_OFFSET"] // 8
_BEGIN, _END, _ABORT = LAYOUT["RECORD_BEGIN"], LAYOUT["RECORD_END"], LAYOUT["RECORD_ABORT"]
_CELL, _CELL_PAYLOAD = LAYOUT["CELL_SIZE"], LAYOUT["CELL_PAYLOAD_OFFSET"]
_CONTROL = struct.Struct("<IIQIIIIIIQQII")
_MESSAGE_MAX = LAYOUT["MESSAGE_MAX"]
_U64 = (1 << 64) - 1

_F_SEAL_FUTURE_WRITE = 0x10
_SEALS_OF_SIZE = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
_SEALS_OF_SERVER = _SEALS_OF_SIZE | _F_SEAL_FUTURE_WRITE | fcntl.F_SEAL_SEAL
_SEALS_OF_CLIENT = _SEALS_OF_SIZE | fcntl.F_SEAL_SEAL
_MFD_NOEXEC_SEAL = 0x8  # Linux 6.3

_PUBLISH_BYTES = 4096     # committed bytes that are published even with more=True
_LOOKS = 50               # before a sleep
_EMPTY_WAKES_MAX = 64     # in one wait; then the server looks once in a millisecond
_ABORTS_MAX = 4           # there is room for the first parts of so many messages
_KEPT_MAX, _KEPT_BYTES_MAX = 256, 1 << 20
_LATE_MAX = 1024
_PUBLISHES_PER_COUNTERS = 64

_IS_X86 = platform.machine() in ("x86_64", "AMD64")
_SLICE = None if _IS_X86 else 0.01
_SYS_FUTEX = {"x86_64": 202, "AMD64": 202, "aarch64": 98}.get(platform.machine())
_FUTEX_WAKE = 1
_barrier_lock = threading.Lock()


class Error(OSError):
    """Each error of a channel."""


class Full(Error):
    """No room for the message before the time-out."""


class Empty(Error):
    """No message before the time-out."""


class Closed(Error):
    """The other side closed the channel, and all that it sent has been read."""


class Died(Error):
    """The other side's process ended without closing the channel."""


class Violation(Error):
    """The other side broke the rules; the channel has ended."""

    def __init__(self, name: str):
        super().__init__(errno.EPROTO, f"the other side of the channel broke a rule: {name}")
        self.name = name


class Frame(NamedTuple):
    """A message that begins with a type and a request id."""
    type: int
    request_id: int
    payload: bytes


def message_refusal(kind: int, sender: str, request_id: int, size: int) -> Optional[str]:
    """Returns why a frame of "supervisor" or "worker" is refused, in the words of lib/ring/message.c, or None."""
    row = MESSAGES.get(kind)
    if row is None:
        return "unknown_type"
    if row["sender"] not in (sender, "both"):
        return "wrong_sender"
    if row["request_id"] == "zero" and request_id != 0:
        return "request_id_not_zero"
    if row["request_id"] == "needed" and request_id == 0:
        return "request_id_missing"
    if size < row["min"]:
        return "payload_too_short"
    return "payload_too_long" if size > row["max"] else None


def _barrier() -> None:
    """Orders each store before it before each load after it, as the other side sees them."""
    _barrier_lock.acquire()
    _barrier_lock.release()
    if not _IS_X86:  # a release and then an acquire of one lock are ordered
        _barrier_lock.acquire()
        _barrier_lock.release()


def _ordered() -> None:
    """Orders stores before a store, and loads after a load: x86 does, other processors need a barrier."""
    if not _IS_X86:
        _barrier()


# ---- the two files ----

def _record_max_of(capacity: int) -> int:
    return min(capacity // 4 - _CELL_PAYLOAD, _MESSAGE_MAX)


def _is_capacity(capacity: int) -> bool:
    return LAYOUT["CAPACITY_MIN"] <= capacity <= LAYOUT["CAPACITY_MAX"] and capacity & (capacity - 1) == 0


def _make_file(flags: int, client_pid: int, capacity: int, seals: int) -> int:
    how = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
    try:
        fd = os.memfd_create("sbx-ring", how | _MFD_NOEXEC_SEAL)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        fd = os.memfd_create("sbx-ring", how)
    try:
        size = _DATA + capacity
        os.ftruncate(fd, size)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
        nonce = int.from_bytes(os.urandom(8), "little")
        os.pwrite(fd, _CONTROL.pack(LAYOUT["MAGIC"], LAYOUT["VERSION"], size, flags, 1, 1, os.getpid(), client_pid,
                                    _DATA, capacity, nonce, _record_max_of(capacity), 0), 0)
    except BaseException:
        os.close(fd)
        raise
    return fd


class _Control(NamedTuple):
    flags: int
    capacity: int
    nonce: int
    record_max: int


def _read_control(fd: int, side_flag: int) -> _Control:
    """Reads the control block of one file and compares it with the file."""
    try:
        seals = fcntl.fcntl(fd, fcntl.F_GET_SEALS)
    except OSError:
        seals = 0
    if seals & _SEALS_OF_SIZE != _SEALS_OF_SIZE:
        raise Error(errno.EPERM, "a file that came over the socket is not sealed")
    block = os.pread(fd, _CONTROL.size, 0)
    if len(block) == _CONTROL.size:
        (magic, version, size, flags, _readers, _writers, _server, _client, data_at, capacity, nonce, record_max,
         reserved) = _CONTROL.unpack(block)
        if (magic == LAYOUT["MAGIC"] and version == LAYOUT["VERSION"] and _is_capacity(capacity)
                and size == _DATA + capacity == os.fstat(fd).st_size and flags & ~LAYOUT["FLAG_CALL"] == side_flag
                and data_at == _DATA and record_max == _record_max_of(capacity) and reserved == 0):
            return _Control(flags, capacity, nonce, record_max)
    raise Error(errno.EBADMSG, "the files that came over the socket are not those of a channel")


def _is_eventfd(fd: int) -> bool:
    """Neither a pipe nor a file of a file system in user space: only files without an inode of their own have no type."""
    return stat.S_IFMT(os.fstat(fd).st_mode) == 0


class _Memory:
    """One file, mapped, as bytes and as words; a record that crosses the end of the data is copied in two pieces."""

    def __init__(self, fd: int, capacity: int, is_own: bool):
        self.capacity = capacity
        self.map = mmap.mmap(fd, _DATA + capacity, mmap.MAP_SHARED,
                             mmap.PROT_READ | mmap.PROT_WRITE if is_own else mmap.PROT_READ)
        self.map.madvise(mmap.MADV_DONTFORK)
        self.bytes = memoryview(self.map)
        self.u64 = self.bytes.cast("Q")
        self.u32 = self.bytes.cast("I")

    def word_at(self, position: int) -> int:
        """Returns the index of the u64 at a position of the data."""
        return (_DATA + (position & (self.capacity - 1))) // 8

    def copy_out(self, position: int, size: int) -> bytes:
        at = position & (self.capacity - 1)
        first = min(size, self.capacity - at)
        begin = _DATA + at
        if first == size:
            return bytes(self.bytes[begin:begin + size])
        return bytes(self.bytes[begin:begin + first]) + bytes(self.bytes[_DATA:_DATA + size - first])

    def copy_in(self, position: int, data) -> None:
        at = position & (self.capacity - 1)
        first = min(len(data), self.capacity - at)
        begin = _DATA + at
        self.bytes[begin:begin + first] = data[:first]
        if first < len(data):
            self.bytes[_DATA:_DATA + len(data) - first] = data[first:]

    def close(self) -> None:
        for view in (self.u64, self.u32, self.bytes):
            view.release()
        self.map.close()


# ---- the ends of one direction ----

class _Producer:
    """The private state of what this side sends."""

    def __init__(self, own: _Memory, other: _Memory, control: _Control):
        self.own, self.other = own, other
        self.is_call = bool(control.flags & LAYOUT["FLAG_CALL"])
        self.capacity, self.nonce = control.capacity, control.nonce
        self.tail = self.published = self.head = 0

    def record_size(self, size: int) -> int:
        if self.is_call:
            return (_CELL_PAYLOAD + size + _CELL - 1) & -_CELL
        return (LAYOUT["RECORD_HEADER_SIZE"] + size + 7) & -8

    def has_room(self, size: int) -> bool:
        """The other side's head must be between the last one and the published tail."""
        if self.tail + size - self.head <= self.capacity:
            return True
        head = self.other.u64[_HEAD]
        _ordered()
        if (head - self.head) & _U64 > self.published - self.head:
            raise Violation("head_beyond_tail")
        self.head = head
        return self.tail + size - head <= self.capacity

    def commit(self, data, kind: int) -> None:
        header = kind << 32 | len(data)
        at = self.own.word_at(self.tail)
        if self.is_call:
            self.own.copy_in(self.tail + _CELL_PAYLOAD, data)
            self.own.u64[at + LAYOUT["CELL_LENGTH_OFFSET"] // 8] = header
            _ordered()
            self.own.u64[at] = ((self.tail + _CELL) ^ self.nonce) & _U64
            self.tail += self.record_size(len(data))
            self.published = self.own.u64[_TAIL] = self.tail
            return
        self.own.copy_in(self.tail + LAYOUT["RECORD_HEADER_SIZE"], data)
        self.own.u64[at] = header
        self.tail += self.record_size(len(data))

    def publish(self) -> bool:
        if self.published == self.tail:
            return False
        _ordered()
        self.published = self.own.u64[_TAIL] = self.tail
        return True


class _Consumer:
    """The private state of what this side receives."""

    def __init__(self, own: _Memory, other: _Memory, control: _Control):
        self.own, self.other = own, other
        self.is_call = bool(control.flags & LAYOUT["FLAG_CALL"])
        self.capacity, self.nonce, self.record_max = control.capacity, control.nonce, control.record_max
        self.head = self.published = self.tail = self.high_water = 0

    def is_ready(self) -> bool:
        if self.is_call:
            return self.other.u64[self.other.word_at(self.head)] == (self.head + _CELL) & _U64 ^ self.nonce
        return self.tail != self.head or self.other.u64[_TAIL] != self.head

    def _load_tail(self) -> bool:
        tail = self.other.u64[_TAIL]
        waiting = (tail - self.head) & _U64
        if waiting == 0:
            return False
        if waiting > self.capacity:
            raise Violation("tail_beyond_capacity")
        if tail % LAYOUT["RECORD_ALIGN"]:
            raise Violation("tail_not_aligned")
        self.tail = tail
        self.high_water = max(self.high_water, waiting)
        return True

    def take(self):
        """Returns a copy of the next record and its flags, or None. The record remains until release()."""
        if self.is_call:
            if not self.is_ready():
                return None
        elif self.head == self.tail and not self._load_tail():
            return None
        _ordered()
        at = self.other.word_at(self.head)
        header = self.other.u64[at + LAYOUT["CELL_LENGTH_OFFSET"] // 8 if self.is_call else at]  # once
        size, kind = header & 0xffffffff, header >> 32
        if size > self.record_max:
            raise Violation("length_over_limit")
        if self.is_call:
            begin, whole = _CELL_PAYLOAD, (_CELL_PAYLOAD + size + _CELL - 1) & -_CELL
        else:
            begin = LAYOUT["RECORD_HEADER_SIZE"]
            whole = (begin + size + 7) & -8
            if whole > self.tail - self.head:
                raise Violation("length_beyond_tail")
        if kind > _BEGIN | _END | _ABORT:
            raise Violation("unknown_record_kind")
        return self.other.copy_out(self.head + begin, size), kind, whole

    def release(self, whole: int) -> bool:
        """Returns whether the head was published; it may be late by an eighth of the capacity."""
        self.head += whole
        return self.head - self.published >= self.capacity // 8 and self.publish_head()

    def publish_head(self) -> bool:
        _ordered()
        self.published = self.own.u64[_HEAD] = self.head
        return True


# ---- the channel ----

class Ring:
    """One side of a channel. The socket is connected to the other side, and the ring owns it, even after a failure."""

    def __init__(self, sock: socket.socket, role: str, *, mode: str = "stream", total_bytes: int = 1 << 20,
                 when_full: str = "wait", timeout: float = 5.0):
        for value, choices in ((role, ("server", "client")), (mode, ("stream", "call")),
                               (when_full, ("wait", "fail", "drop"))):
            if value not in choices:
                sock.close()
                raise ValueError(f"{value!r} is none of {', '.join(choices)}")
        self._socket, self._role = sock, role
        self._timeout, self._when_full = timeout, when_full
        self._own: Any = None
        self._other: Any = None
        self._eventfd = self._pidfd = -1
        self._epoll: Any = None
        self._is_dead = self._must_abort = False
        self._violation: Optional[str] = None
        self._parts: Optional[bytearray] = None
        self._kept: list = []
        self._last_request_id = self._n_publishes = 0
        self._counts = [0] * LAYOUT["N_COUNTERS"]
        try:
            sock.setblocking(True)
            if role == "server":
                self._make(total_bytes // 2, mode)
            else:
                self._attach()
        except BaseException:
            self._free()
            raise

    # ---- opening and closing ----

    def _make(self, capacity: int, mode: str) -> None:
        if not _is_capacity(capacity):
            raise Error(errno.EINVAL, "a direction has a power of two between 64 KiB and 1 GiB")
        if _DATA % mmap.PAGESIZE:
            raise Error(errno.EOPNOTSUPP, "this kernel's pages are not of 4 KiB")
        flags = LAYOUT["FLAG_CALL"] if mode == "call" else 0
        peer = struct.unpack("3i", self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        files: list = []
        try:
            files.append(_make_file(flags, peer, capacity, _SEALS_OF_SIZE))
            files.append(_make_file(flags | LAYOUT["FLAG_CLIENT"], peer, capacity, _SEALS_OF_CLIENT))
            self._map(files[0], files[1])
            self._eventfd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK | os.EFD_SEMAPHORE)
            os.eventfd_write(self._eventfd, LAYOUT["DOORBELLS"])
            self._begin_polling()
            hello = struct.pack("<II", LAYOUT["MAGIC"], LAYOUT["VERSION"])
            fds = array.array("i", [*files, self._eventfd])
            self._socket.sendmsg([hello], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)], socket.MSG_NOSIGNAL)
        finally:
            for fd in files:
                os.close(fd)

    def _begin_polling(self) -> None:
        """The server never touches the eventfd: the client may have cleared its O_NONBLOCK."""
        self._epoll = select.epoll()
        self._epoll.register(self._eventfd, select.EPOLLIN | select.EPOLLOUT | select.EPOLLET)
        self._epoll.register(self._socket, select.EPOLLRDHUP)

    def _attach(self) -> None:
        waiting = select.poll()
        waiting.register(self._socket, select.POLLIN)
        if not waiting.poll(None if self._timeout == float("inf") else self._timeout * 1000):
            raise Error(errno.ETIMEDOUT, "the server sent nothing")
        hello, fds, flags, _address = socket.recv_fds(self._socket, LAYOUT["HELLO_SIZE"], LAYOUT["HELLO_N_FDS"],
                                                      socket.MSG_CMSG_CLOEXEC)
        try:
            if not hello:
                raise Error(errno.ECONNRESET, "the server closed the socket")
            if (flags & (socket.MSG_CTRUNC | socket.MSG_TRUNC) or len(fds) != LAYOUT["HELLO_N_FDS"]
                    or hello != struct.pack("<II", LAYOUT["MAGIC"], LAYOUT["VERSION"]) or not _is_eventfd(fds[2])):
                raise Error(errno.EBADMSG, "what arrived is not the hello of a channel")
            self._map(fds[0], fds[1])
            self._eventfd = fds.pop()
        finally:
            for fd in fds:
                os.close(fd)

    def _map(self, server_fd: int, client_fd: int) -> None:
        is_server = self._role == "server"
        if not is_server:
            try:
                seals = fcntl.fcntl(server_fd, fcntl.F_GET_SEALS)
            except OSError:
                seals = 0
            if seals & _SEALS_OF_SERVER != _SEALS_OF_SERVER:
                raise Error(errno.EPERM, "a file that came over the socket is not sealed")
        server, client = _read_control(server_fd, 0), _read_control(client_fd, LAYOUT["FLAG_CLIENT"])
        if server.capacity != client.capacity or (server.flags ^ client.flags) & LAYOUT["FLAG_CALL"]:
            raise Error(errno.EBADMSG, "the files that came over the socket are not those of a channel")
        self._own = _Memory(server_fd if is_server else client_fd, server.capacity, True)
        if is_server:
            # After the mapping, which stays writable, and before any other process has the fd.
            fcntl.fcntl(server_fd, fcntl.F_ADD_SEALS, _SEALS_OF_SERVER)
        self._other = _Memory(client_fd if is_server else server_fd, server.capacity, False)
        mine, theirs = (server, client) if is_server else (client, server)
        self._producer = _Producer(self._own, self._other, mine)
        self._consumer = _Consumer(self._own, self._other, theirs)
        self._record_max = server.record_max

    def close(self) -> None:
        """Publishes what was sent, tells the other side, and frees everything. May be called twice."""
        if self._own is None or self._other is None:
            self._free()
            return
        try:
            if self._violation is None:
                self.flush()
            self._publish_counters()
            self._own.u32[_STATE] = LAYOUT["STATE_CLOSED"]
            _barrier()
            self._wake_if_asleep(LAYOUT["SLEEPING_DATA"] | LAYOUT["SLEEPING_ROOM"])
        finally:
            self._free()

    def _free(self) -> None:
        for memory in (self._own, self._other):
            if memory is not None:
                memory.close()
        self._own = self._other = None
        if self._epoll is not None:
            self._epoll.close()
            self._epoll = None
        for fd in (self._eventfd, self._pidfd):
            if fd >= 0:
                os.close(fd)
        self._eventfd = self._pidfd = -1
        self._socket.close()

    def __enter__(self) -> "Ring":
        return self

    def __exit__(self, *_error) -> None:
        self.close()

    # ---- the end of the channel ----

    def _check(self) -> None:
        if self._own is None:
            raise Error(errno.EBADF, "the channel is closed")
        if self._violation is not None:
            raise Violation(self._violation)

    def _end(self, violation: Violation) -> None:
        """There is no state to which two sides could return: nothing more is read."""
        self._violation = violation.name
        self._publish_counters()
        self._own.u32[_STATE] = LAYOUT["STATE_CLOSED"]
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def _other_is_closed(self) -> bool:
        state = self._other.u32[_STATE]
        _ordered()
        if state not in (LAYOUT["STATE_OPEN"], LAYOUT["STATE_CLOSED"]):
            raise Violation("state_unknown")
        return state == LAYOUT["STATE_CLOSED"]

    def _count(self, name: str, more: int = 1) -> None:
        self._counts[LAYOUT["COUNTER_" + name]] += more

    def _publish_counters(self) -> None:
        self._counts[LAYOUT["COUNTER_HIGH_WATER"]] = self._consumer.high_water
        self._counts[LAYOUT["COUNTER_VIOLATION"]] = _VIOLATIONS.get(self._violation, 0)
        for i, count in enumerate(self._counts):
            self._own.u64[_COUNTERS + i] = count

    @property
    def violation(self) -> Optional[str]:
        """The name of the other side's violation, or None."""
        return self._violation

    @property
    def is_connected(self) -> bool:
        """Whether neither side has closed the channel or died, as far as this side knows."""
        return (self._own is not None and self._violation is None and not self._is_dead
                and self._other.u32[_STATE] == LAYOUT["STATE_OPEN"])

    @property
    def record_max(self) -> int:
        """The longest message that is one record."""
        return self._record_max

    def statistics(self) -> dict:
        """Returns the counters of this side by their names in lower case."""
        if self._own is not None:
            self._publish_counters()
        return {name.removeprefix("COUNTER_").lower(): self._counts[i] for name, i in LAYOUT.items()
                if name.startswith("COUNTER_")}

    # ---- waking the other side ----

    def _wake_if_asleep(self, events: int) -> None:
        sleeping = self._other.u32[_SLEEPING]
        if not sleeping & events:
            return
        self._count("WAKES")
        if self._role == "client":
            self._wake_by_eventfd()
        elif sleeping & LAYOUT["SLEEPING_SOCKET"] or _SYS_FUTEX is None:
            self._wake_by_socket()
        else:
            self._wake_by_futex()

    def _wake_by_eventfd(self) -> None:
        """A write could wait for a server that has cleared O_NONBLOCK; this read never waits, and wakes who polls for room."""
        try:
            os.preadv(self._eventfd, [bytearray(8)], -1, os.RWF_NOWAIT)
        except OSError:
            pass

    def _wake_by_socket(self) -> None:
        """A full socket buffer holds wake-ups that the client has not read yet."""
        try:
            self._socket.send(b"\0", socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
        except BlockingIOError:
            pass
        except OSError:
            self._is_dead = True

    def _wake_by_futex(self) -> None:
        self._own.u32[_DOORBELL] = (self._own.u32[_DOORBELL] + 1) & 0xffffffff
        _barrier()
        word = ctypes.c_uint32.from_buffer(self._own.map, LAYOUT["DOORBELL_OFFSET"])
        ctypes.CDLL(None).syscall(ctypes.c_long(_SYS_FUTEX), ctypes.byref(word), ctypes.c_long(_FUTEX_WAKE),
                                  ctypes.c_long(0x7fffffff), ctypes.c_long(0), ctypes.c_long(0), ctypes.c_long(0))
        del word  # the map could not be closed otherwise

    # ---- sending ----

    def flush(self) -> None:
        """Publishes messages that were sent with more=True."""
        self._check()
        if not self._producer.is_call and self._producer.publish():
            self._published()

    def _published(self) -> None:
        _barrier()
        self._wake_if_asleep(LAYOUT["SLEEPING_DATA"])
        self._n_publishes += 1
        if self._n_publishes % _PUBLISHES_PER_COUNTERS == 0:
            self._publish_counters()

    def _has_room(self, size: int) -> bool:
        try:
            if self._producer.has_room(self._producer.record_size(size)) and not self._is_dead:
                return True
            if self._other_is_closed():
                raise Closed(errno.EPIPE, "the other side has closed the channel")
        except Violation as violation:
            self._end(violation)
            raise
        if self._is_dead:
            raise Died(errno.ECONNRESET, "the other side has died")
        return False

    def _commit(self, data, kind: int, more: bool) -> None:
        self._producer.commit(data, kind)
        if self._producer.is_call:
            self._published()
        elif not more or self._producer.tail - self._producer.published >= _PUBLISH_BYTES:
            self.flush()

    def _reserve(self, size: int, deadline: float) -> bool:
        """Returns whether a record of this size can be committed, after waiting for room."""
        is_counted = False
        while True:
            self._check()
            if self._must_abort and self._has_room(0):
                self._commit(b"", _ABORT, False)
                self._must_abort = False
            if not self._must_abort and self._has_room(size):
                return True
            if not is_counted:
                self._count("FULL")
                is_counted = True
            if self._when_full != "wait":
                self.flush()
                return False
            if not self._wait(WRITABLE, max(0.0, deadline - time.monotonic())):
                return not self._must_abort and self._has_room(size)

    def send(self, data, *, timeout: Optional[float] = None, more: bool = False) -> bool:
        """Sends a copy of a message. Raises Full at the time-out; False if when_full is "drop" and it was dropped."""
        view = memoryview(data).cast("B")
        if len(view) > _MESSAGE_MAX:
            raise Error(errno.EMSGSIZE, f"a message has at most {_MESSAGE_MAX} bytes")
        deadline = time.monotonic() + (self._timeout if timeout is None else timeout)
        kind, at = _BEGIN, 0
        while True:
            part = view[at:at + self._record_max]
            at += len(part)
            if at == len(view):
                kind |= _END
            try:
                has_room = self._reserve(len(part), deadline)
            except Error:
                self._count("SEND_FAILURES")
                raise
            if not has_room:
                return self._not_sent(kind)
            self._commit(part, kind, more or not kind & _END)
            if kind & _END:
                break
            kind = 0
        self._count("SENT")
        self._count("BYTES_SENT", len(view))
        return True

    def _not_sent(self, kind: int) -> bool:
        self._must_abort = self._must_abort or not kind & _BEGIN
        self._count("SEND_FAILURES")
        if self._when_full != "drop":
            raise Full(errno.EAGAIN, "there is no room for the message")
        self._count("DROPPED")
        return False

    # ---- receiving ----

    def _check_order(self, size: int, kind: int) -> None:
        """An honest side fills each part but the last, so the number of parts is bounded."""
        is_partial = self._parts is not None
        if kind & _ABORT:
            if kind != _ABORT or size != 0 or not is_partial:
                raise Violation("parts_out_of_order")
            return
        if bool(kind & _BEGIN) == is_partial or (not kind & _END and size != self._record_max):
            raise Violation("parts_out_of_order")
        if self._parts is not None and len(self._parts) + size > _MESSAGE_MAX:
            raise Violation("message_over_limit")

    def _take(self):
        """Takes records until a message is complete (returned) or none is left (None).

        A side that adds aborted messages for ever does not keep this call.
        """
        n_aborted = 0
        while n_aborted <= _ABORTS_MAX:
            record = self._consumer.take()
            if record is None:
                was_dead, is_closed = self._is_dead, self._other_is_closed()
                if not is_closed and not was_dead:
                    return None
                # What the other side published before its end is read first.
                record = self._consumer.take()
                if record is None:
                    raise (Closed(errno.EPIPE, "the other side has closed the channel") if is_closed
                           else Died(errno.ECONNRESET, "the other side has died"))
            data, kind, whole = record
            self._check_order(len(data), kind)
            if self._consumer.release(whole):
                _barrier()
                self._wake_if_asleep(LAYOUT["SLEEPING_ROOM"])
            if kind & _ABORT:
                self._parts = None
                n_aborted += 1
            elif kind == _BEGIN | _END:
                return data
            elif kind & _BEGIN:
                self._parts = bytearray(data)
            else:
                self._parts += data
                if kind & _END:
                    message, self._parts = bytes(self._parts), None
                    return message
        return None

    def try_receive(self) -> Optional[bytes]:
        """Returns the next message, or None if there is none now."""
        self._check()
        try:
            message = self._take()
        except Violation as violation:
            self._end(violation)
            self._count("RECEIVE_FAILURES")
            raise
        if message is not None:
            self._count("RECEIVED")
            self._count("BYTES_RECEIVED", len(message))
        return message

    def receive(self, timeout: Optional[float] = None) -> bytes:
        """Returns the next message. Raises Empty at the time-out, Closed or Died after the last message."""
        deadline = time.monotonic() + (self._timeout if timeout is None else timeout)
        self.flush()
        while True:
            message = self.try_receive()
            if message is not None:
                return message
            left = max(0.0, deadline - time.monotonic())
            # It may be possible to read at any time, without a message, while the other side changes a word to and fro.
            if not self._wait(READABLE, left) or left == 0:
                message = self.try_receive()
                if message is not None:
                    return message
                self._count("RECEIVE_FAILURES")
                raise Empty(errno.EAGAIN, "there is no message")

    # ---- waiting ----

    def _is_ready(self, events: int) -> bool:
        """Also when the channel has ended: the next call then says so."""
        if self._is_dead or self._violation is not None:
            return True
        try:
            if events & READABLE and (self._consumer.is_ready() or self._other_is_closed()):
                return True
            return bool(events & WRITABLE) and (self._producer.has_room(self._record_max + _CELL_PAYLOAD)
                                                or self._other_is_closed())
        except Violation as violation:
            self._end(violation)
            return True

    def _say_sleeping(self, events: int) -> None:
        sleeping = LAYOUT["SLEEPING_SOCKET"] if self._role == "client" else 0
        sleeping |= LAYOUT["SLEEPING_DATA"] if events & READABLE else 0
        sleeping |= LAYOUT["SLEEPING_ROOM"] if events & WRITABLE else 0
        # The other side may need the room while this one sleeps.
        if self._consumer.published != self._consumer.head:
            self._consumer.publish_head()
        self._own.u32[_SLEEPING] = sleeping
        _barrier()
        self._wake_if_asleep(LAYOUT["SLEEPING_ROOM"])

    def _sleep(self, left: float, n_before: int) -> None:
        seconds = None if left == float("inf") else left
        if self._role == "server" and n_before < _EMPTY_WAKES_MAX:
            for fd, _event in self._epoll.poll(seconds):
                self._is_dead = self._is_dead or fd != self._eventfd
            return
        waiting = select.poll()
        if self._role == "server":
            waiting.register(self._socket, select.POLLRDHUP)
            seconds = 0.001 if seconds is None else min(seconds, 0.001)
        else:
            waiting.register(self._socket, select.POLLIN | select.POLLRDHUP)
        if self._pidfd >= 0:
            waiting.register(self._pidfd, select.POLLIN)
        # poll() takes milliseconds: rounded up, it does not return before the deadline.
        for fd, event in waiting.poll(None if seconds is None else int(seconds * 1000) + (seconds > 0)):
            if fd == self._pidfd or event & ~select.POLLIN:
                self._is_dead = True
            elif self._role == "client":
                self._drain()

    def _drain(self) -> None:
        try:
            self._socket.recv(64, socket.MSG_DONTWAIT)
        except OSError:
            pass

    def wait(self, events: int, timeout: Optional[float] = None) -> bool:
        """Returns whether one of the events is possible, or the channel has ended, before the time-out.

        A frame that came before a response and waits for receive_frame() can be read.
        """
        self.flush()
        return bool(self._kept and events & READABLE) or self._wait(events, timeout)

    def _wait(self, events: int, timeout: Optional[float]) -> bool:
        """The same for what is in the memory of the channel."""
        self.flush()
        deadline = time.monotonic() + (self._timeout if timeout is None else timeout)
        for _ in range(_LOOKS if timeout != 0 else 1):
            if self._is_ready(events):
                return True
        self._publish_counters()
        n_before = 0
        while (left := deadline - time.monotonic()) > 0:
            self._say_sleeping(events)
            try:
                if not self._is_ready(events):
                    self._count("SLEEPS")
                    self._sleep(left if _SLICE is None else min(left, _SLICE), n_before)
            finally:
                self._own.u32[_SLEEPING] = 0
            if self._is_ready(events):
                return True
            n_before += 1
        return False

    def fileno(self) -> int:
        """For poll(): becomes readable after arm() returned True."""
        self._check()
        if self._role == "client":
            return self._socket.fileno()
        return self._epoll.fileno()

    def arm(self, events: int = READABLE) -> bool:
        """Asks for a wake-up. True: poll fileno() now. False: do not, one of the events is possible already."""
        self.flush()
        if self._kept and events & READABLE:
            return False
        self._sleep(0, 0)
        self._say_sleeping(events)
        if not self._is_ready(events):
            return True
        self._own.u32[_SLEEPING] = 0
        return False

    def watch(self, pidfd: int) -> None:
        """Ends the channel also when the process of a pidfd exits; duplicates the fd."""
        self._check()
        if self._pidfd >= 0:
            raise Error(errno.EBUSY, "a process is watched already")
        self._pidfd = fcntl.fcntl(pidfd, fcntl.F_DUPFD_CLOEXEC, 3)
        if self._epoll is not None:
            self._epoll.register(self._pidfd, select.EPOLLIN)

    # ---- frames ----

    def send_frame(self, kind: int, request_id: int, payload=b"", *, timeout: Optional[float] = None,
                   more: bool = False) -> bool:
        """Sends a message that begins with a type and a request id."""
        return self.send(struct.pack("<BI", kind, request_id) + bytes(payload), timeout=timeout, more=more)

    def _frame(self, message: bytes) -> Frame:
        if len(message) < _FRAME["LENGTH_MIN"]:
            violation = Violation("frame_too_short")
            self._end(violation)
            raise violation
        return Frame(*struct.unpack_from("<BI", message), message[_FRAME["LENGTH_MIN"]:])

    def receive_frame(self, timeout: Optional[float] = None) -> Frame:
        """Returns the next frame, first those that came before a response."""
        self._check()
        return self._kept.pop(0) if self._kept else self._frame(self.receive(timeout))

    def request(self, kind: int, payload=b"", timeout: Optional[float] = None) -> Frame:
        """Sends a frame with a new request id and returns the frame with the same id. Raises Empty at the time-out.

        Frames with id 0 that arrive before it are kept for receive_frame(). A frame with another id answers a request
        that timed out, and is dropped.
        """
        deadline = time.monotonic() + (self._timeout if timeout is None else timeout)
        self._last_request_id = self._last_request_id % 0xffffffff + 1
        self.send_frame(kind, self._last_request_id, payload, timeout=timeout)
        n_late = 0
        while n_late < _LATE_MAX:
            left = max(0.0, deadline - time.monotonic())
            frame = self._frame(self.receive(left))
            if frame.request_id == self._last_request_id:
                return frame
            if frame.request_id == 0:
                if len(self._kept) >= _KEPT_MAX or sum(len(kept.payload) for kept in self._kept) >= _KEPT_BYTES_MAX:
                    raise Error(errno.ENOBUFS, "too many frames came before the response")
                self._kept.append(frame)
            n_late += left == 0
        raise Empty(errno.EAGAIN, "there is no response")
