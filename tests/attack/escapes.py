#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each attack of the program "escape": it succeeds outside, and inside a sandbox it is refused and changes nothing.

Outside it runs as the user that it needs, as root in its own mount and UTS namespaces. Inside it runs in a sandbox
of an ordinary user and in one of root, without and with --ptrace. The targets are created here and checked after
each attack.
"""
import contextlib
import ctypes
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ["SBX_BUILD"])
SPAWN = BUILD / "tools/sbx-spawn"
USER = 1000
ESCAPED, REFUSED, UNKNOWN = 0, 1, 2
NOT_STARTED = 125
ALLOWED_WITH = {"--ptrace": {"trace_a_child"}}
FOREIGN_ENTRY = "enter_by_32_bits"
LOADERS = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib64/ld64.so.2"]

POLICY = """\
version: 1
capabilities:
  - name: see
    match: {{op: [fs.read, fs.list, fs.exists], path: [/usr, /bin, /lib, /lib64, {project}, {program}]}}
    action: allow
  - name: write
    match: {{op: fs.*, path: [{project}, /tmp]}}
    action: allow
  - name: only-this
    match: {{op: exec, path: {program}}}
    action: allow
"""


class Arena:
    """The targets of the attacks."""

    def __init__(self, stack):
        self.top = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sbx-escape-")))
        self.top.chmod(0o755)
        self.project = self.top / "project"
        self.program = self.top / "program"
        self.secret = self.top / "secret/secret"
        for folder in (self.project, self.secret.parent, self.top / "state"):
            folder.mkdir(mode=0o755)
        self.secret.write_text("do not read this\n")
        self.shown = self.top / "shown"
        self.shown.write_text("read this\n")
        shutil.copy(BUILD / "tests/attack/escape", self.program)
        shutil.copy(BUILD / "tests/attack/escape", self.top / "setuid")
        subprocess.run(["git", "init", "--quiet", str(self.project)], check=True)
        if os.geteuid() == 0:
            for path in [self.top, self.project, *self.project.rglob("*"), self.top / "state", self.secret, self.shown,
                         self.secret.parent]:
                os.chown(path, USER, USER)
        (self.top / "setuid").chmod(0o4755)
        (self.top / "policy.yaml").write_text(POLICY.format(project=self.project, program=self.program))
        self.victim = subprocess.Popen(["sleep", "600"], **as_user(True))
        stack.callback(self.stop)
        self.sockets = [self.listen(stack, str(self.top / "socket")), self.listen(stack, f"\0sbx-{os.getpid()}")]
        self.datagram = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        self.datagram.bind(str(self.top / "datagram"))
        os.chmod(self.top / "datagram", 0o777)
        self.port = stack.enter_context(socket.create_server(("0.0.0.0", 0)))
        self.port_of_datagrams = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self.port_of_datagrams.bind(("127.0.0.1", self.port.getsockname()[1]))
        self.fd = os.open(self.secret.parent, os.O_RDONLY)
        stack.callback(os.close, self.fd)
        self.shm = self.make_shared(stack)

    def stop(self):
        self.victim.kill()
        self.victim.wait()

    def listen(self, stack, name):
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(name)
        listener.listen(100)
        if not name.startswith("\0"):
            os.chmod(name, 0o777)
        return listener

    def make_shared(self, stack):
        """Creates a System V segment, whose key is returned, a POSIX queue and POSIX shared memory."""
        made = subprocess.run(["ipcmk", "-M", "4096", "-p", "0666"], capture_output=True, text=True, check=True)
        number = made.stdout.split()[-1]
        stack.callback(subprocess.run, ["ipcrm", "-m", number], check=False)
        for line in pathlib.Path("/proc/sysvipc/shm").read_text().splitlines()[1:]:
            if line.split()[1] == number:
                key = line.split()[0]
        name = pathlib.Path(f"/dev/shm/sbx-escape-{os.getpid()}")
        name.write_text("named")
        name.chmod(0o666)
        library = ctypes.CDLL(None, use_errno=True)
        queue = f"/sbx-escape-{os.getpid()}".encode()
        library.mq_open(queue, os.O_CREAT | os.O_RDWR, 0o666, None)
        library.mq_unlink.argtypes = [ctypes.c_char_p]
        stack.callback(library.mq_unlink, queue)
        stack.callback(name.unlink)
        return key

    def environment(self):
        return {
            "ESCAPE_SECRET": str(self.secret),
            "ESCAPE_SHOWN": str(self.shown),
            "ESCAPE_VICTIM": str(self.victim.pid),
            "ESCAPE_SOCKET": str(self.top / "socket"),
            "ESCAPE_DATAGRAM": str(self.top / "datagram"),
            "ESCAPE_ABSTRACT": f"sbx-{os.getpid()}",
            "ESCAPE_PORT": str(self.port.getsockname()[1]),
            "ESCAPE_ADDRESS": address_of_host(),
            "ESCAPE_SHM": self.shm,
            "ESCAPE_QUEUE": f"/sbx-escape-{os.getpid()}",
            "ESCAPE_SETUID": str(self.top / "setuid"),
            "ESCAPE_GRANTED": str(self.project),
            "ESCAPE_PROGRAM": "/usr/bin/true",
            "ESCAPE_LOADER": next((path for path in LOADERS if os.path.exists(path)), ""),
        }

    def look(self):
        """The state that no attack may change. The attacker may change the project, except .git."""
        secret, shown = self.secret.stat(), self.shown.stat()
        return (self.secret.read_text(), secret.st_mode, secret.st_nlink, self.victim.poll(), os.uname().nodename,
                shown.st_mode, shown.st_ctime_ns, os.listxattr(self.shown),
                pathlib.Path("/proc/sys/kernel/core_pattern").read_text(),
                sorted(os.listdir(self.top)), sorted(os.listdir(self.project / ".git/hooks")),
                (self.project / ".git/config").read_text(),
                len(pathlib.Path("/proc/self/mounts").read_text().splitlines()))


def address_of_host():
    """An address outside of the loopback; "" if there is none."""
    listed = subprocess.run(["hostname", "--all-ip-addresses"], capture_output=True, text=True, check=True)
    return next((address for address in listed.stdout.split() if ":" not in address), "")


def as_user(wanted):
    return {"user": USER, "group": USER, "extra_groups": []} if wanted and os.geteuid() == 0 else {}


def run(arena, argv, user, name):
    environment = dict(os.environ, **arena.environment(), HOME=str(arena.top / "home"), XDG_STATE_HOME=str(arena.top / "state"),
                       XDG_RUNTIME_DIR=str(arena.top / "state"))
    os.dup2(arena.fd, 9, inheritable=True)
    try:
        return subprocess.run(argv, cwd=arena.project, env=environment, pass_fds=(9,),
                              stdin=arena.fd if name.startswith("stdin_") else subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=300, check=False, **as_user(user))
    finally:
        os.close(9)


def outside(arena, name, needs):
    program = [str(arena.program), name]
    if needs == "root":
        program = ["unshare", "--mount", "--uts", "--propagation=private", *program]
    return run(arena, program, needs == "user", name)


def inside(arena, name, user, options):
    sandbox = [str(SPAWN), "--quiet", *options, *(["--net", "none"] if name.startswith("without_net_") else [])]
    if name.startswith("limited_"):
        sandbox += ["--policy", str(arena.top / "policy.yaml")]
    else:
        sandbox += ["--write", str(arena.project), "--read", str(arena.program), "--read", str(arena.top / "setuid"),
                    "--read", str(arena.shown)]
    for variable in arena.environment():
        sandbox += ["--env", variable]
    return run(arena, [*sandbox, "--", str(arena.program), name], user, name)


class Tap:
    def __init__(self):
        self.n = 0
        self.failed = 0
        self.only = os.environ.get("TEST_ONLY", "")

    def wants(self, name):
        return self.only in name

    def say(self, good, name, detail="", reason=None):
        self.n += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.n} - {name}{' # SKIP ' + reason if reason else ''}", flush=True)
        if not good:
            print("".join(f"# {line}\n" for line in str(detail).splitlines()), end="", flush=True)


def describe(done):
    return f"status {done.returncode}\nout: {done.stdout}\nerr: {done.stderr}"


def prove_outside(tap, arena, name, needs):
    """Does it succeed without protection? Attacks that would cause damage are not run."""
    if needs == "nobody":
        return None
    title = f"{name}_works_outside"
    if needs == "root" and os.geteuid() != 0:
        tap.say(True, title, reason="only root can do it outside")
        return None
    done = outside(arena, name, needs)
    if done.returncode == UNKNOWN:
        tap.say(True, title, reason="this host lacks what the attack is about")
    elif lacks_entry(name, done.returncode):
        tap.say(True, title, reason="int $0x80 faults on this host, outside a sandbox too")
    else:
        tap.say(done.returncode == ESCAPED, title, describe(done))
    return done.returncode


def lacks_entry(name, status):
    """A kernel or hypervisor without the 32-bit entry answers int $0x80 with SIGSEGV."""
    return name == FOREIGN_ENTRY and status == -signal.SIGSEGV


def is_refusal(name, status, proof):
    """SIGSYS is the filter's answer to a foreign entry. "Unknown" counts only if it is unknown outside, too."""
    if name.startswith("stdin_"):
        return status == NOT_STARTED
    if lacks_entry(name, proof):
        return status in (128 + signal.SIGSEGV, 128 + signal.SIGSYS)
    return status in (REFUSED, 128 + signal.SIGSYS) or (status == UNKNOWN and proof == UNKNOWN)


def sandboxes():
    """The users who start it, and the options."""
    starters = [("user", True), ("root", False)] if os.geteuid() == 0 else [("user", True)]
    for options in [], ["--ptrace"]:
        for who, user in starters:
            yield "_with".join([who, *options]).replace("--", "_"), user, options


def attack(tap, arena, name, needs):
    proof = prove_outside(tap, arena, name, needs)
    before = arena.look()
    for who, user, options in sandboxes():
        done = inside(arena, name, user, options)
        if any(name in ALLOWED_WITH[option] for option in options):
            tap.say(done.returncode == ESCAPED, f"{name}_is_allowed_in_a_sandbox_of_{who}", describe(done))
        else:
            tap.say(is_refusal(name, done.returncode, proof), f"{name}_is_refused_in_a_sandbox_of_{who}", describe(done))
        now = arena.look()
        tap.say(now == before, f"{name}_changes_nothing_in_a_sandbox_of_{who}",
                "\n".join(f"{old} became {new}" for old, new in zip(before, now) if old != new))
        before = now


def main():
    os.umask(0o022)  # other users take part in the attacks
    tap = Tap()
    listed = subprocess.run([BUILD / "tests/attack/escape", "--list"], capture_output=True, text=True, check=True)
    with contextlib.ExitStack() as stack:
        arena = Arena(stack)
        for line in listed.stdout.splitlines():
            name, needs = line.split()
            if tap.wants(name):
                attack(tap, arena, name, needs)
    print(f"1..{tap.n}")
    sys.exit(1 if tap.failed else 0)


if __name__ == "__main__":
    main()
