#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""If any system call of the set-up fails, no unconfined command runs.

In a test build of sbx-spawn (sbx-spawn-faults, kernel/fault.h) each call that lib/kernel makes fails in turn, at
each time that it is made. Calls of other directories are made to fail by the kernel (without-call), with the
installed program. The result must be 125 with nothing run, or the program "confined" must have found every layer.
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ["SBX_BUILD"])
SOURCE = pathlib.Path(os.environ["SBX_SOURCE"])
HERE = BUILD / "tests/attack"
USER = 1000
FAILED = 125
CANNOT_EXECUTE = 126
HUNG = 999
CODES = sys.argv[1:] or ["EPERM", "ENOSYS"]
CALLS_MAX = 200
FAILED_MIN = 100  # calls of the set-up of one sandbox
FD = 9

POLICY = """\
version: 1
capabilities:
  - name: see
    match: {{op: [fs.read, fs.list, fs.exists], path: [/usr, /bin, /lib, /lib64, {project}, {program}]}}
    action: allow
  - name: write
    match: {{op: fs.*, path: [{project}/open, /tmp]}}
    action: allow
  - name: only-this
    match: {{op: exec, path: {program}}}
    action: allow
"""


def names_of_calls():
    """The names from the header, so that new ones are attacked too, and those that are called by number."""
    header = (SOURCE / "lib/kernel/fault.h").read_text()
    names = set(re.findall(r"^#define (\w+)\(\.\.\.\)", header, re.M))
    for source in (SOURCE / "lib/kernel").glob("*.c"):
        names |= set(re.findall(r"\bsyscall\(SYS_(\w+)", source.read_text()))
    return sorted(names - {"exit_group"})  # it would hang, because it could not exit


def library():
    for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
        path = line.split()[-1]
        if re.search(r"/libc[.-].*so", path) and os.access(path, os.X_OK):
            return path
    return "/lib64/ld-linux-x86-64.so.2"


class Arena:
    def __init__(self, stack, starter):
        self.starter = starter
        self.top = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sbx-faults-")))
        self.project = self.top / "project"
        self.program = self.top / "program"
        self.report = self.top / "state/report.json"
        self.trace = self.top / "traces/trace"
        self.seen = self.top / "seen"
        for folder in ("project/open", "state", "run", "traces"):
            (self.top / folder).mkdir(parents=True)
        (self.project / "file").write_text("as it was\n")
        self.seen.write_text(".")
        (self.top / "secret").write_text("do not read this\n")
        (self.top / "policy.yaml").write_text(POLICY.format(project=self.project, program=self.program))
        shutil.copy(HERE / "confined", self.program)
        if starter == "user" and os.geteuid() == 0:
            for path in [self.top, *self.top.rglob("*")]:
                os.chown(path, USER, USER)
        self.top.chmod(0o755)
        self.project.chmod(0o755)
        (self.project / "file").chmod(0o666)
        self.trace.parent.chmod(0o777)
        (self.top / "run").chmod(0o700)
        self.secret = os.open(self.top / "secret", os.O_RDONLY)
        stack.callback(os.close, self.secret)

    def environment(self):
        found = {f"CONFINED_NS_{name}": os.readlink(f"/proc/self/ns/{name}")
                 for name in ("user", "mnt", "pid", "ipc", "uts", "net")}
        return found | {
            "CONFINED_TRACE": str(self.trace),
            "CONFINED_SECRET": str(self.top / "secret"),
            "CONFINED_READ_ONLY": str(self.project / "file"),
            "CONFINED_LIBRARY": library(),
            "CONFINED_VICTIM": str(os.getpid()),
            "CONFINED_UID": "1000" if self.starter == "root" else "",
            "CONFINED_FD": str(FD),
        }

    def run(self, argv, extra):
        # LeakSanitizer uses a process of its own, which is refused here too.
        places = {"HOME": str(self.top), "XDG_STATE_HOME": str(self.top / "state"),
                  "XDG_RUNTIME_DIR": str(self.top / "run"), "ASAN_OPTIONS": "detect_leaks=0"}
        who = {"user": USER, "group": USER, "extra_groups": []}
        os.dup2(self.secret, FD, inheritable=True)
        try:
            return subprocess.run([str(word) for word in argv], cwd=self.project,
                                  env=dict(os.environ, **places, **self.environment(), **extra), pass_fds=(FD,),
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False,
                                  **(who if self.starter == "user" and os.geteuid() == 0 else {}))
        except subprocess.TimeoutExpired as hung:
            return subprocess.CompletedProcess(argv, HUNG, (hung.stdout or b"").decode(), "it hangs")
        finally:
            os.close(FD)

    def spawn(self, program, before=(), extra=None):
        with contextlib.suppress(FileNotFoundError):
            self.report.unlink()
        argv = [*before, program, "--quiet", "--policy", self.top / "policy.yaml", "--report", self.report]
        for variable in self.environment():
            argv += ["--env", variable]
        return self.run([*argv, "--", self.program], extra or {})

    def layers(self):
        return json.loads(self.report.read_text())["layers"] if self.report.exists() else None

    def is_untouched(self):
        return not self.trace.exists() and (self.project / "file").read_text() == "as it was\n"


class Tap:
    def __init__(self):
        self.n = 0
        self.failed = 0
        self.only = os.environ.get("TEST_ONLY", "")

    def say(self, good, name, detail="", reason=None):
        self.n += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.n} - {name}{' # SKIP ' + reason if reason else ''}", flush=True)
        if not good:
            print("".join(f"# {line}\n" for line in str(detail).splitlines()), end="", flush=True)


def describe(done):
    return f"status {done.returncode}\nout: {done.stdout}\nerr: {done.stderr}"


def judge(arena, done, layers):
    """Returns None, or what is wrong. A failure after the command has run is fine only if it ran confined."""
    if not arena.is_untouched():
        return "it has left a trace"
    if done.returncode == FAILED and done.stdout in ("", "confined\n"):
        return None
    # Paths of the host that could not be examined are not granted; then the program cannot be executed.
    if done.returncode == CANNOT_EXECUTE and done.stdout == "":
        return None
    if done.returncode != 0 or done.stdout != "confined\n":
        return "it was neither refused nor confined"
    return None if arena.layers() == layers else f"its layers are {arena.layers()}"


def fail_one(arena, fault, layers):
    """Returns (what is wrong or None, was there such a call)."""
    arena.seen.write_text(".")
    done = arena.spawn(HERE / "sbx-spawn-faults", extra={"SBX_FAULT": fault, "SBX_FAULT_SEEN": str(arena.seen)})
    wrong = judge(arena, done, layers)
    return wrong and f"with SBX_FAULT={fault}: {wrong}\n{describe(done)}", arena.seen.read_text() == "!"


def fail_each(arena, name, code, layers):
    """Fails the first call, the second, ... and all of them. Returns (what is wrong, number of calls)."""
    wrong = []
    for n in range(1, CALLS_MAX):
        problem, is_called = fail_one(arena, f"{name}:{code}:{n}", layers)
        wrong.append(problem)
        if not is_called:
            break
    if n > 1:
        wrong.append(fail_one(arena, f"{name}:{code}", layers)[0])
    return [problem for problem in wrong if problem], n - 1


def attack_kernel(tap, arena, layers):
    n_failed = 0
    for name in names_of_calls():
        for code in CODES:
            title = f"never_runs_unconfined_where_{name}_fails_with_{code}_by_{arena.starter}"
            if tap.only in title:
                wrong, n_calls = fail_each(arena, name, code, layers)
                tap.say(not wrong, title, "\n".join(wrong))
                n_failed += n_calls
    if not tap.only:
        tap.say(n_failed >= FAILED_MIN, f"many_calls_fail_by_{arena.starter}", f"{n_failed} failed")


def attack_others(tap, arena, layers):
    listed = subprocess.run([HERE / "without-call", "--list"], capture_output=True, text=True, check=True)
    for name in listed.stdout.split():
        for code in CODES:
            title = f"never_runs_unconfined_without_{name}_for_{code}_by_{arena.starter}"
            if tap.only in title:
                done = arena.spawn(BUILD / "tools/sbx-spawn", before=[HERE / "without-call", name, code])
                wrong = judge(arena, done, layers)
                tap.say(not wrong, title, f"{wrong}\n{describe(done)}")


def prove(tap, arena):
    """Without a sandbox every check is open, with an unmodified one none; otherwise the results prove nothing."""
    outside = arena.run([arena.program], {})
    n_checks = len(re.findall(r'^\t\{ "', (SOURCE / "tests/attack/confined.c").read_text(), re.M))
    opened = re.findall(r"open: (\S+)", outside.stdout)
    # An ordinary user has no capabilities outside either, except in the bounding set.
    tap.say(len(opened) >= n_checks - 1, f"everything_is_open_outside_to_{arena.starter}", describe(outside))
    with contextlib.suppress(FileNotFoundError):
        arena.trace.unlink()
    inside = arena.spawn(HERE / "sbx-spawn-faults")
    layers = arena.layers()
    tap.say(inside.stdout == "confined\n" and inside.returncode == 0 and layers,
            f"nothing_is_open_inside_to_{arena.starter}", describe(inside))
    return layers if inside.returncode == 0 else None


def main():
    os.umask(0o022)  # other users take part in the attacks
    tap = Tap()
    for starter in ("user", "root") if os.geteuid() == 0 else ("user",):
        with contextlib.ExitStack() as stack:
            arena = Arena(stack, starter)
            layers = prove(tap, arena)
            if layers:
                attack_kernel(tap, arena, layers)
                attack_others(tap, arena, layers)
    print(f"1..{tap.n}")
    sys.exit(1 if tap.failed else 0)


if __name__ == "__main__":
    main()
