#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a command tries with the terminal and the job of the user who started its sandbox.

A Desk is a terminal with a shell: a process of the test that leads the terminal's session, starts jobs, and moves
them to the foreground and the background. The test types at the master end.
"""
import contextlib
import fcntl
import json
import os
import pathlib
import pty
import select
import signal
import socket
import stat
import struct
import sys
import tempfile
import termios
import time

BUILD = pathlib.Path(os.environ["SBX_BUILD"])
USER = 1000
DEADLINE = 120  # of an event that never happens if an attack succeeds
TIOCEXCL, TIOCGEXCL = 0x540C, 0x80045440
QUIET = 1.0  # how long nothing must happen


class Tap:
    def __init__(self):
        self.n, self.failed, self.only = 0, 0, os.environ.get("TEST_ONLY", "")

    def check(self, name, good, told=""):
        self.n += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.n} - {name}", flush=True)
        if not good:
            print("\n".join(f"# {line}" for line in repr(told).splitlines()), flush=True)

    def skip(self, name, reason):
        self.n += 1
        print(f"ok {self.n} - {name} # SKIP {reason}", flush=True)


def until(condition, seconds=DEADLINE):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


class Shell:
    """Runs in the session of the terminal: answers the Desk's requests, one at a time."""

    def __init__(self, orders):
        self.orders, self.job, self.ended, self.kept = orders, 0, None, []
        for number in (signal.SIGTTOU, signal.SIGTTIN, signal.SIGTSTP):
            signal.signal(number, signal.SIG_IGN)

    def serve(self):
        while packet := self.orders.recv(65536):
            verb, *words = json.loads(packet)
            self.orders.send(json.dumps(getattr(self, verb)(*words)).encode())

    def start(self, argv, stdio, foreground):
        self.ended, self.job = None, os.fork()
        if self.job == 0:
            os.setpgid(0, 0)
            if foreground:
                os.tcsetpgrp(0, os.getpid())
            for number in (signal.SIGTTOU, signal.SIGTTIN, signal.SIGTSTP, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            for fd, path in stdio.items():
                os.dup2(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), int(fd))
            os.execvp(argv[0], argv)
        with contextlib.suppress(PermissionError):
            os.setpgid(self.job, self.job)
        return self.job

    def wait(self, seconds):
        """How the job stopped or ended, as a shell learns it; None: not in time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.ended is None:
            pid, status = os.waitpid(self.job, os.WUNTRACED | os.WNOHANG)
            if pid and os.WIFSTOPPED(status):
                os.tcsetpgrp(0, os.getpgrp())
                return "stopped"
            if pid:
                os.tcsetpgrp(0, os.getpgrp())
                self.ended = os.waitstatus_to_exitcode(status)
            time.sleep(0.02)
        return self.ended

    def foreground(self, continues):
        os.tcsetpgrp(0, self.job)
        if continues:
            os.killpg(self.job, signal.SIGCONT)

    def background(self):
        os.tcsetpgrp(0, os.getpgrp())
        os.killpg(self.job, signal.SIGCONT)

    def keep(self):
        """The job continues beside the next one."""
        self.kept.append(self.job)

    def kill(self):
        for job in self.kept:
            os.killpg(job, signal.SIGTERM)  # so that its supervisor cleans up
            os.waitpid(job, 0)
        if self.ended is None and self.job:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.job, signal.SIGKILL)
            os.waitpid(self.job, 0)
        self.ended = self.ended or 0
        os.tcsetpgrp(0, os.getpgrp())

    def modes(self):
        modes = termios.tcgetattr(0)
        exclusive = struct.unpack("i", fcntl.ioctl(0, TIOCGEXCL, bytes(4)))[0]
        return [modes[:6], [byte.decode("latin1") if isinstance(byte, bytes) else byte for byte in modes[6]],
                stat.S_IMODE(os.fstat(0).st_mode), exclusive]

    def read(self, seconds):
        """Returns what the shell itself reads of the typed text."""
        return os.read(0, 4096).decode() if select.select([0], [], [], seconds)[0] else ""


class Desk:
    def __init__(self, stack, who):
        self.who, self.shown = who, b""
        self.name = f"desk-{os.getpid()}-{who}-{time.monotonic_ns()}"
        self.top = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sbx-desk-")))
        self.project = self.top / "project"
        for folder in ("project", "state", "run", "home"):
            (self.top / folder).mkdir()
        owner = USER if who == "user" and os.geteuid() == 0 else os.geteuid()
        for path in (self.top, *self.top.iterdir()):
            os.chown(path, owner, owner)
        (self.top / "run").chmod(0o700)
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            try:
                ours.close()
                os.fchown(0, owner, -1)
                os.chdir(self.project)
                os.environ |= {"HOME": str(self.top / "home"), "XDG_STATE_HOME": str(self.top / "state"),
                               "XDG_RUNTIME_DIR": str(self.top / "run"),
                               "PATH": f"{BUILD / 'tools'}:{os.environ['PATH']}"}
                Shell(its).serve()
            finally:
                os._exit(0)
        its.close()
        self.orders = ours
        stack.callback(self.leave)

    def leave(self):
        with contextlib.suppress(OSError):
            self.ask("kill")
        self.orders.close()
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.master)

    def look(self):
        """Returns what the terminal has shown so far."""
        while select.select([self.master], [], [], 0)[0]:
            try:
                self.shown += os.read(self.master, 65536)
            except OSError:
                break
        return self.shown

    def ask(self, verb, *words):
        self.orders.send(json.dumps([verb, *words]).encode())
        # Read the terminal meanwhile: a writer to a terminal without a reader would block.
        while not select.select([self.orders], [], [], 0.05)[0]:
            self.look()
        return json.loads(self.orders.recv(65536))

    def start(self, *argv, stdio=None, foreground=True):
        if self.who == "user" and os.geteuid() == 0:
            argv = ("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", *argv)
        self.shown = b""
        return self.ask("start", [str(word) for word in argv], stdio or {}, foreground)

    def spawn(self, *words, **how):
        return self.start("sbx-spawn", "-q", *words, **how)

    def wait(self, seconds=DEADLINE):
        return self.ask("wait", seconds)

    def shows(self, text, seconds=DEADLINE):
        return until(lambda: text.encode() in self.look(), seconds)

    def type(self, text):
        os.write(self.master, text.encode())


def is_quiet(path):
    """Waits until nothing is written there for a while."""
    def has_paused():
        size = path.stat().st_size
        time.sleep(QUIET)
        return path.stat().st_size == size
    return until(has_paused, 60)


BEATS = "(while :; do echo x >>beat; sleep 0.02; done) & until [ -s beat ]; do sleep 0.02; done; "


def stop_leaves_a_child(desk):
    """A command stops itself and the user's whole job with it; its child continues."""
    desk.spawn("--pty", "--write", ".", "--", "sh", "-c", BEATS + "kill -STOP $$; echo goes on; kill $!")
    if desk.wait() != "stopped":
        return "it did not stop"
    if not is_quiet(desk.project / "beat"):
        return "its child goes on"
    desk.ask("foreground", True)
    ended = desk.wait()
    return "" if ended == 0 and desk.shows("goes on") else f"it did not go on: {ended} {desk.look()}"


def stop_outlasts_the_limit(desk):
    desk.spawn("--pty", "--time", "5s", "--write", ".", "--", "sh", "-c", BEATS + "kill -STOP $$; sleep 1000")
    if desk.wait() != "stopped":
        return "it did not stop"
    ended = desk.wait()
    return "" if ended == 124 else f"it ended with {ended}"


def stop_hangs_a_script(desk):
    """Its stdin is not a terminal."""
    desk.spawn("--pty", "--", "sh", "-c", "kill -STOP $$; exit 7", stdio={"0": "/dev/null", "1": "out", "2": "out"})
    ended = desk.wait()
    return "" if ended == 7 else f"it ended with {ended}"


def enter(desk, script, **how):
    """Runs @script with sbx-ctl exec in a running sandbox."""
    ready = desk.project / "ready"
    desk.spawn("--debug", "--id", desk.name, "--write", ".", "--", "sh", "-c", "touch ready; exec sleep 1000",
               stdio={"0": "/dev/null", "1": "out", "2": "out"}, foreground=False)
    if not until(ready.exists):
        return "the sandbox did not begin: " + (desk.project / "out").read_text()
    desk.ask("keep")
    desk.start("sbx-ctl", "exec", desk.name, "--", "sh", "-c", script, **how)
    return ""


def visitor_outlives_its_visit(desk):
    """A process in its own session, reparented away from the job."""
    wrong = enter(desk, "(setsid sh -c 'while :; do echo x >>beat; sleep 0.02; done' >/dev/null 2>&1 </dev/null &); "
                        "until [ -s beat ]; do sleep 0.02; done", stdio={"0": "/dev/null"})
    ended = desk.wait()
    if wrong or ended != 0:
        return wrong or f"it ended with {ended}"
    return "" if is_quiet(desk.project / "beat") else "what it has started goes on"


def visitor_bombs(desk):
    """A fork bomb: killing one process after another is too slow."""
    wrong = enter(desk, "cat >bomb <<'END'\necho x >>beat; setsid sh bomb & setsid sh bomb & exit\nEND\n"
                        "setsid sh bomb >/dev/null 2>&1 </dev/null & until [ -s beat ]; do sleep 0.02; done",
                  stdio={"0": "/dev/null"})
    ended = desk.wait(300)
    if wrong or ended != 0:
        return wrong or f"it ended with {ended}"
    return "" if is_quiet(desk.project / "beat") else "what it has started goes on"


def visitor_kills_its_anchor(desk):
    wrong = enter(desk, "(setsid sh -c 'while :; do echo x >>beat; sleep 0.02; done' >/dev/null 2>&1 </dev/null &); "
                        "until [ -s beat ]; do sleep 0.02; done; kill -KILL $PPID; sleep 1000",
                  stdio={"0": "/dev/null"})
    ended = desk.wait()
    if wrong or ended in (None, 0, "stopped"):
        return wrong or f"it ended with {ended}"
    return "" if is_quiet(desk.project / "beat") else "what it has started goes on"


def find_stolen_bytes(desk):
    """A blocked read() inside gets lines before the shell does; try a few times."""
    for number in range(20):
        line = f"secret {number}\n"
        desk.type(line)
        heard = desk.ask("read", DEADLINE)
        if heard != line:
            return f"the shell heard {heard!r} of {line!r}"
        time.sleep(0.05)
    return ""


def background_reads(desk):
    desk.spawn("--write", ".", "--", "sh", "-c", "touch ready; exec cat >got", foreground=False)
    if not until((desk.project / "ready").exists):
        return "it did not begin"
    return find_stolen_bytes(desk)


def background_reads_after_a_stop(desk):
    """^Z, bg, and fg of a running job: no signal reports that it is in the foreground again."""
    desk.spawn("--", "sh", "-c", "echo ready; exec cat")
    if not desk.shows("ready"):
        return f"it did not begin: {desk.look()}"
    desk.type("one\n")
    if not until(lambda: desk.look().count(b"one") >= 2):
        return f"it does not read: {desk.look()}"
    desk.type("\x1a")
    if desk.wait() != "stopped":
        return "it did not stop"
    desk.ask("background")
    desk.type("two\n")
    heard = desk.ask("read", DEADLINE)
    if heard != "two\n":
        return f"the shell heard {heard!r}"
    desk.ask("foreground", False)
    desk.type("three\n")
    if not until(lambda: desk.look().count(b"three") >= 2):
        return f"it does not read in the foreground: {desk.look()}"
    desk.type("\x04")
    ended = desk.wait()
    return "" if ended == 0 else f"it ended with {ended}"


def visitor_reads_after_its_visit(desk):
    wrong = enter(desk, "(setsid cat <&3 >got &) 3<&0; echo visited")
    ended = desk.wait()
    if wrong or ended != 0 or not desk.shows("visited"):
        return wrong or f"it ended with {ended}: {desk.look()}"
    return find_stolen_bytes(desk)


SPOIL = f"""
import fcntl, os, termios
for fd in range(3):
    try:
        fcntl.ioctl(fd, {TIOCEXCL})
        modes = termios.tcgetattr(fd)
        modes[3] &= ~(termios.ECHO | termios.ICANON | termios.ISIG)
        termios.tcsetattr(fd, termios.TCSANOW, modes)
        os.fchmod(fd, 0o777)
    except OSError:
        pass
print("spoilt")
"""


def command_spoils_the_terminal(desk, start=None):
    before = desk.ask("modes")
    wrong = start(desk) if start else desk.spawn("--", "python3", "-c", SPOIL) and ""
    ended = desk.wait()
    if wrong or ended != 0 or not desk.shows("spoilt", 1):
        return wrong or f"it ended with {ended}: {desk.look()}"
    after = desk.ask("modes")
    return "" if after == before else f"{before} became {after}"


def command_is_passed_the_terminal(desk):
    desk.start("sh", "-c", "exec sbx-spawn -q --pass-fd 5 -- true 5<>/dev/tty")
    ended = desk.wait()
    return "" if ended == 125 and desk.shows("it is a terminal", 1) else f"it ended with {ended}: {desk.look()}"


def visitor_spoils_the_terminal(desk):
    return command_spoils_the_terminal(desk, lambda desk: enter(desk, f"exec python3 -c '{SPOIL}'"))


ATTACKS = [background_reads, background_reads_after_a_stop, visitor_reads_after_its_visit, command_spoils_the_terminal,
           command_is_passed_the_terminal, visitor_spoils_the_terminal, stop_leaves_a_child, stop_outlasts_the_limit,
           stop_hangs_a_script, visitor_outlives_its_visit, visitor_bombs, visitor_kills_its_anchor]


def main():
    os.umask(0o022)
    tap = Tap()
    for who in ("user", "root") if os.geteuid() == 0 else ("user",):
        for attack in ATTACKS:
            name = f"refuses_that_a_{attack.__name__}_by_{who}"
            if tap.only in name:
                with contextlib.ExitStack() as stack:
                    wrong = attack(Desk(stack, who))
                tap.check(name, not wrong, wrong)
    print(f"1..{tap.n}")
    sys.exit(1 if tap.failed else 0)


if __name__ == "__main__":
    main()
