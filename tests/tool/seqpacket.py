# SPDX-License-Identifier: MIT
"""A client of sbx-policy serve, and its service manager, for shell tests.

start PIDFILE COMMAND...   runs a service, returns when it is ready; its pid is in PIDFILE
stop PIDFILE [SIGNAL]      ends it, and returns when it has exited
answer SOCKET PIDFILE TEXT [TIMES]
                           answers TEXT (so often) to each request, in a process of its own, until stop
ask SOCKET                 one request in each line of standard input, one answer in each line of output
load SOCKET CLIENTS N      N requests over that many connections, all in flight; each answered once, in order
swap SOCKET CLIENTS POLICY A B TIMES
                           the same without end, while POLICY is replaced by A and B in turn
hostile SOCKET             invalid packets; the service must answer or hang up, and survive
kill-reload POLICY A B TRIALS COMMAND...
                           kill -9 during a reload
kill-update POLICY A B TRIALS COMMAND...
                           kill -9 of an update that replaces A by B
type TEXT COMMAND...       runs it on a terminal, types TEXT and newline after each "Type"
"""
import contextlib
import hashlib
import json
import os
import pathlib
import pty
import random
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time

DEADLINE = 300
SRC = b'{"id":%d,"op":"fs.write","path":"/srv/p/src/a"}'
DOC = b'{"id":%d,"op":"fs.write","path":"/srv/p/doc/a"}'


def connect(path):
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.settimeout(DEADLINE)
    client.connect(path)
    return client


def talk(client, packet):
    client.send(packet)
    return json.loads(client.recv(1 << 20))


# ---- the service manager ----

def ready(notify):
    """Returns the next READY=1; anything else is a failure."""
    notify.settimeout(DEADLINE)
    while True:
        text = notify.recv(4096).decode()
        if "READY=1" in text:
            return


@contextlib.contextmanager
def service(command, **options):
    with tempfile.TemporaryDirectory() as folder:
        notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        notify.bind(folder + "/notify")
        process = subprocess.Popen(command, env=os.environ | {"NOTIFY_SOCKET": folder + "/notify"},
                                   pass_fds=[9] if has_fd(9) else [], **options)
        try:
            # Notice a service that exits instead of becoming ready.
            pidfd = os.pidfd_open(process.pid)
            got, _, _ = select.select([notify, pidfd], [], [], DEADLINE)
            os.close(pidfd)
            if notify not in got:
                sys.exit(process.wait(DEADLINE) or 99)
            ready(notify)
            yield process
        finally:
            notify.close()


def has_fd(fd):
    try:
        os.fstat(fd)
        return True
    except OSError:
        return False


def start(pidfile, *command):
    with service(command, start_new_session=True) as process:
        pathlib.Path(pidfile).write_text(f"{process.pid}\n")


def stop(pidfile, name="TERM"):
    pid = int(pathlib.Path(pidfile).read_text())
    pidfd = os.pidfd_open(pid)
    os.kill(pid, getattr(signal, "SIG" + name))
    got, _, _ = select.select([pidfd], [], [], DEADLINE)
    if not got:
        os.kill(pid, signal.SIGKILL)
        sys.exit("it did not end")


# ---- a service of the test ----

def answer(path, pidfile, text, times=1):
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(path)
    listener.listen()
    pid = os.fork()
    if pid:
        pathlib.Path(pidfile).write_text(f"{pid}\n")
        return
    os.setsid()
    for fd in range(3):
        os.dup2(os.open("/dev/null", os.O_RDWR), fd)
    while True:
        with listener.accept()[0] as client, contextlib.suppress(OSError):
            client.recv(1 << 20)
            for _ in range(int(times)):
                client.send(text.encode())


# ---- clients ----

def ask(path):
    client = connect(path)
    for line in sys.stdin.buffer.read().splitlines():
        client.send(line)
        print(client.recv(1 << 20).decode())


class Client:
    """Keeps a few requests in flight and checks the answers."""

    def __init__(self, path, number, verdicts=None):
        self.socket = connect(path)
        self.socket.setblocking(False)
        self.base = number * 1000000
        self.n_sent = self.n_heard = 0
        self.verdicts = verdicts  # {digest: (of SRC, of DOC)}
        self.digests = set()

    def packet(self, i):
        return (SRC if i % 2 == 0 else DOC) % (self.base + i)

    def send(self, most):
        while self.n_sent < most:
            try:
                self.socket.send(self.packet(self.n_sent))
            except BlockingIOError:
                return
            self.n_sent += 1

    def hear(self):
        while self.n_heard < self.n_sent:
            try:
                packet = self.socket.recv(1 << 16)  # malloc() would map a larger buffer for each packet
            except BlockingIOError:
                return
            if not packet:
                sys.exit("the service hung up")
            answer = json.loads(packet)
            if answer["id"] != self.base + self.n_heard:
                sys.exit(f"answer {answer['id']} came for {self.base + self.n_heard}")
            if self.verdicts:
                wanted = self.verdicts[answer["policy"]][self.n_heard % 2]
                if answer["verdict"] != wanted:
                    sys.exit(f"a mixture of two policies: {packet.decode()}")
                self.digests.add(answer["policy"])
            self.n_heard += 1


def turn(clients, most, is_done):
    poll = select.epoll()
    by_fd = {client.socket.fileno(): client for client in clients}
    for fd, client in by_fd.items():
        poll.register(fd, select.EPOLLIN)
        client.send(most(client))
    while not is_done():
        events = poll.poll(DEADLINE)
        if not events:
            sys.exit("no answer came any more")
        for fd, _ in events:
            by_fd[fd].hear()
            by_fd[fd].send(most(by_fd[fd]))


def load(path, n_clients, n_requests):
    each = int(n_requests) // int(n_clients) + 1
    clients = [Client(path, i) for i in range(int(n_clients))]
    turn(clients, lambda client: each, lambda: all(c.n_heard == each for c in clients))
    print(sum(c.n_heard for c in clients))


def install(policy, source):
    """Replaces the file like file_replace()."""
    temporary = policy + ".new"
    pathlib.Path(temporary).write_bytes(pathlib.Path(source).read_bytes())
    os.rename(temporary, policy)


def status(path):
    return talk(connect(path), b'{"do":"status"}')


def both_digests(path, policy, a, b):
    """Finds the digests of the two policies: A allows only SRC, B only DOC."""
    known = {}
    for source, verdicts in ((b, ("deny", "allow")), (a, ("allow", "deny"))):
        install(policy, source)
        talk(connect(path), b'{"do":"reload"}')
        known[status(path)["policy"]] = verdicts
    return known


def swap(path, n_clients, policy, a, b, times):
    known = both_digests(path, policy, a, b)
    clients = [Client(path, i, known) for i in range(int(n_clients))]
    state = {"left": int(times), "reloads": status(path)["reloads"], "is_over": False}

    def is_done():
        if not state["is_over"] and status(path)["reloads"] >= state["reloads"]:
            state["reloads"] = status(path)["reloads"] + 1
            state["left"] -= 1
            install(policy, b if state["left"] % 2 else a)
        # Both policies have answered every client; no more is asked.
        if state["left"] <= 0 and all(len(c.digests) == 2 for c in clients):
            state["is_over"] = True
        return state["is_over"] and all(c.n_heard == c.n_sent for c in clients)

    turn(clients, lambda c: c.n_sent if state["is_over"] else c.n_heard + 20, is_done)
    print(sum(c.n_heard for c in clients))


def hostile(path):
    good = connect(path)
    packets = [
        b"\0", b"\0" * 70000, b"{" * 60000, b"[" * 60000, b"\xff\xfe", b"null", b'"op"', b"{}" * 100,
        b'{"op":"fs.read","path":"' + b"/a" * 30000 + b'"}', b'{"op":"' + b"\\u0000" * 10 + b'"}',
        b'{"do":"token.issue","pid":-1}', b'{"do":"token.issue","pid":1e99,"op":"fs.read"}',
        b'{"do":' + b"[" * 100 + b'}', b'{"do":"status"}{"do":"status"}',
        b'{"op":"fs.read","path":"/a","id":' + b"9" * 5000 + b"}",
        b'{"op":"fs.read","path":"/a","tags":[' + b'"t",' * 200 + b'"t"]}',
        b'{"op":"fs.read","path":"/a","token":"' + b"f" * 4000 + b'"}',
        b'{"op":"fs.read","path":"/\\ud800"}', b'{"op":"fs.read","path":"/a\\nb","host":"*"}',
    ] + [os.urandom(random.randrange(1, 5000)) for _ in range(200)]
    for packet in packets:
        client = connect(path)
        client.send(packet)
        answer = json.loads(client.recv(1 << 20))
        if answer.get("verdict") != "deny" and answer.get("ok") is not False:
            sys.exit(f"not refused: {packet[:60]!r}: {answer}")
    client = connect(path)
    client.send(b"")  # read as end of file
    if client.recv(10) != b"":
        sys.exit("an empty packet was answered")
    fds = [os.open("/dev/null", os.O_RDONLY) for _ in range(200)]
    client = connect(path)
    for _ in range(20):
        with contextlib.suppress(PermissionError):  # refused by the kernel since Linux 6.16
            socket.send_fds(client, [SRC % 1], fds)
            client.recv(1 << 20)
    half = connect(path)
    half.send(SRC % 7)
    half.shutdown(socket.SHUT_WR)
    if json.loads(half.recv(1 << 20))["id"] != 7:
        sys.exit("what was asked before the end was not answered")
    if talk(good, SRC % 3)["id"] != 3:
        sys.exit("the others are not served any more")


# ---- kill -9 ----

def one_of(policy, a, b):
    """The policy file must be one of the two, complete."""
    found = pathlib.Path(policy).read_bytes()
    if found not in (pathlib.Path(a).read_bytes(), pathlib.Path(b).read_bytes()):
        sys.exit(f"{policy} is neither the one nor the other")
    if subprocess.run(["sbx-policy", "check", "-q", policy], check=False).returncode != 0:
        sys.exit(f"{policy} cannot be read")
    return hashlib.sha256(found).hexdigest()


def kill_reload(policy, a, b, trials, *command):
    path = command[command.index("--socket") + 1]
    seen = set()
    known = None
    for _ in range(int(trials)):
        install(policy, a)
        with service(command) as process:
            known = known or both_digests(path, policy, a, b)
            install(policy, a)
            client = Client(path, 0, known)
            client.send(50)
            install(policy, b)
            if random.random() < 0.5:
                install(policy, a)
            end = time.monotonic() + random.random() * 0.004
            while time.monotonic() < end:
                client.hear()
            process.kill()
            process.wait(DEADLINE)
            with contextlib.suppress(ConnectionResetError, SystemExit):
                client.hear()
        one_of(policy, a, b)
        with service(command) as process:
            digest = status(path)["policy"]
            if digest not in known:
                sys.exit("neither policy is in force")
            seen.add(digest)
            process.terminate()
            if process.wait(DEADLINE) != 0:
                sys.exit("it did not end as it should")
    print(f"{len(seen)} of 2 seen")


def kill_update(policy, a, b, trials, *command):
    old = hashlib.sha256(pathlib.Path(a).read_bytes()).hexdigest()
    new = hashlib.sha256(pathlib.Path(b).read_bytes()).hexdigest()
    # The duration of an uninterrupted one is the range of the kill times.
    whole = DEADLINE
    n_new = n_killed = 0
    for trial in range(-3, int(trials)):
        install(policy, a)
        begin = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, pass_fds=[9])
        pidfd = os.pidfd_open(process.pid)
        aim = DEADLINE if trial < 0 else random.uniform(0.2, 1.1) * whole
        ended, _, _ = select.select([pidfd], [], [], max(0, begin + aim - time.monotonic()))
        os.close(pidfd)
        process.kill()
        process.wait(DEADLINE)
        if ended or trial < 0:  # the host may have become faster
            whole = min(whole, time.monotonic() - begin)
        if trial < 0:
            continue
        n_killed += not ended
        found = one_of(policy, a, b)
        n_new += found == new
        meta = pathlib.Path(policy + ".meta.json")
        json.loads(meta.read_text())
        previous = pathlib.Path(policy + ".previous").read_bytes()
        if hashlib.sha256(previous).hexdigest() != old:
            sys.exit("the previous policy is not the old one")
    print(f"{n_killed} of {trials} were killed, {n_new} had replaced it")
    if n_killed < int(trials) // 4:
        sys.exit("too few were killed to say anything")


# ---- a terminal ----

def type_text(text, *command):
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp(command[0], command)
    shown = b""
    answers = text.encode().split(b"\\n")
    with contextlib.suppress(OSError):
        while data := os.read(fd, 4096):
            shown += data
            if data.rstrip().endswith(b":") and b"Type" in shown.rsplit(b"\n", 1)[-1] and answers:
                os.write(fd, answers.pop(0) + b"\n")
    sys.stdout.write(shown.decode().replace("\r", ""))
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


COMMANDS = {"start": start, "stop": stop, "answer": answer, "ask": ask, "load": load, "swap": swap, "hostile": hostile,
            "kill-reload": kill_reload, "kill-update": kill_update, "type": type_text}

if __name__ == "__main__":
    COMMANDS[sys.argv[1]](*sys.argv[2:])
