#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random policies in real sandboxes: a command cannot do what sbx-policy eval denies.

Each policy runs over a random tree of directories, files, links, FIFOs and sockets, as root and as an ordinary
user. A probe inside tries every operation on every path; each success is compared with eval. The seed is printed;
DECISIONS_SEED=N repeats a run, DECISIONS=N changes the number of policies. If CI is set the seed is 1.
"""
import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import socket
import stat
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ["SBX_BUILD"])
SPAWN = BUILD / "tools/sbx-spawn"
POLICY = BUILD / "tools/sbx-policy"
PROBE = BUILD / "tests/attack/decision-probe"
USER = 1000
POLICIES = int(os.environ.get("DECISIONS", "300"))
NAMES = "abc"
OPERATIONS = ["fs.read", "fs.write", "fs.list", "exec", "fs.exists", "fs.*", "fs.*", "fs.read"]

# The operations of which one must be allowed for each success of the probe; "{}" is its path.
NEEDED = {
    "read": [("fs.read", "{}")],
    "write": [("fs.write", "{}")],
    "create": [("fs.write", "{}/created")],
    "list": [("fs.list", "{}")],
    "exec": [("exec", "{}")],
    "rename": [("fs.write", "{}"), ("fs.write", "{}.renamed")],
    "unlink": [("fs.write", "{}")],
    "connect": [("fs.write", "{}")],
    "replace": [("fs.write", "{}")],
}
ATTEMPTS = {
    "directory": ["list", "create", "rename", "replace"],
    "file": ["read", "write", "exec", "rename", "replace", "unlink"],
    "fifo": ["read", "write", "rename", "unlink"],
    "socket": ["connect", "rename", "unlink"],
    "missing": ["write"],
}


class Trees:
    """Two trees with random contents; outside of a sandbox every user may do everything in them."""

    def __init__(self, stack, rng):
        self.rng = rng
        self.top = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sbx-decisions-")))
        self.top.chmod(0o755)
        self.probe = self.top / "probe"
        shutil.copy(PROBE, self.probe)
        self.program = (self.top / "probe").read_bytes()
        self.source = self.top / "source"
        self.source.mkdir()
        self.listeners = contextlib.ExitStack()
        stack.callback(self.listeners.close)
        self.kinds = {}

    def any_path(self):
        root = self.top / self.rng.choice(["t", "t", "t", "u"])
        return root.joinpath(*(self.rng.choice(NAMES) for _ in range(self.rng.randrange(4))))

    def put(self, path, kind):
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "directory":
            path.mkdir(exist_ok=True)
        elif kind == "fifo":
            os.mkfifo(path)
        elif kind == "socket":
            listener = self.listeners.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(str(path))
            listener.listen(100)
        elif kind == "link":
            # Never to a path where another link may be, so that there are no loops.
            path.symlink_to(self.top / "u" / self.rng.choice(NAMES))
        else:
            with path.open("xb") as file:  # not a FIFO that a link leads to
                file.write(self.program)

    def make(self):
        self.plan = {}
        for _ in range(self.rng.randrange(4, 16)):
            path = self.any_path()
            kind = self.rng.choice(["directory", "directory", "file", "file", "file", "fifo", "socket", "link"])
            if kind == "link" and path.parent != self.top / "t":
                kind = "file"
            if path.parent.parent != self.top.parent and path.parent != self.top:
                self.plan[path] = kind
        self.fill()

    def fill(self):
        self.listeners.close()
        for root in (self.top / "t", self.top / "u"):
            shutil.rmtree(root, ignore_errors=True)
            root.mkdir()
        for path, kind in self.plan.items():
            with contextlib.suppress(OSError):  # another file has its name
                self.put(path, kind)
        self.kinds = {}
        for root in (self.top / "t", self.top / "u"):
            for folder, folders, files in os.walk(root):
                pathlib.Path(folder, ".of-the-host").touch()  # visible in a listing of the host's directory
                for path in [pathlib.Path(folder), *(pathlib.Path(folder, name) for name in [*folders, *files])]:
                    if path.is_symlink():
                        continue
                    os.chown(path, USER, USER) if os.geteuid() == 0 else None
                    path.chmod(0o777)
                    self.kinds[path] = kind_of(path)


def kind_of(path):
    mode = path.stat().st_mode
    return ("directory" if stat.S_ISDIR(mode) else "fifo" if stat.S_ISFIFO(mode)
            else "socket" if stat.S_ISSOCK(mode) else "file")


def operations(rng):
    return "[" + ", ".join(rng.choice(OPERATIONS) for _ in range(rng.randrange(1, 4))) + "]"


def name_of(rng, trees):
    """Absolute, or below the working directory; with a slash, because a bare name is a pattern."""
    path = trees.any_path()
    name = str(path.relative_to(trees.top))
    return rng.choice([str(path), str(path), name if "/" in name else f"./{name}"])


def paths(rng, trees):
    if rng.random() < 0.3:
        return "path_glob: [" + ", ".join(f"'{name_of(rng, trees)}{rng.choice(['', '/', '/**', '/**/**'])}'"
                                          for _ in range(rng.randrange(1, 3))) + "]"
    return "path: [" + ", ".join(f"'{trees.any_path()}'" for _ in range(rng.randrange(1, 3))) + "]"


def mounts(rng, trees):
    """A mount over a directory, mostly in a writable one: its name protects what is there. Sometimes its source does not
    exist, and then what rules deny below the target must not be the host's."""
    targets = [path for path, kind in trees.kinds.items() if kind == "directory" and path.parent != trees.top]
    deep = [path for path in targets if path.parent.parent != trees.top]
    if not targets or rng.random() < 0.3:
        return ""
    target = rng.choice(deep or targets)
    mode = rng.choice(["ro", "rw", "tmpfs", "overlay", "mask"])
    # No rule names the source: Landlock goes by the inode, so rights of a mount hold at its source's own path, too.
    outside = target if rng.random() < 0.2 else trees.source
    source = f", source: '{outside}'" if mode in ("ro", "rw") else ""
    below = [path for path in trees.kinds if path.is_relative_to(target) and path != target]
    denied = ""
    if source and below and rng.random() < 0.5:
        source = f", source: '{trees.top}/absent', optional: true"
        denied = f"- {{name: below, action: deny, match: {{op: fs.*, path: '{rng.choice(below)}'}}}}\n"
    text = denied + f"mounts: [{{target: '{target}', mode: {mode}{source}}}]\n"
    if rng.random() < 0.7:
        above = rng.choice([path for path in target.parents if path.is_relative_to(trees.top) and path != trees.top])
        operation = rng.choice(["fs.*", "fs.*", "[fs.read, fs.list, fs.exists]"])
        text = f"- {{name: around, action: allow, match: {{op: {operation}, path: '{above}'}}}}\n" + text
    return text


def make_policy(rng, trees):
    nested = rng.random() < 0.25
    text = "version: 1\n" + ("isolation: {nested: true}\n" if nested else "")
    text += "capabilities:\n- {name: system, action: allow, match: {op: [fs.read, fs.list, fs.exists, exec], "
    text += f"path: [/usr, /bin, /lib, /lib64, '{trees.probe}']}}}}\n"
    if nested:  # which is refused with a list of programs
        text += "- {name: programs, action: allow, match: {op: exec}}\n"
    for number in range(rng.randrange(1, 6)):
        text += (f"- {{name: r{number}, action: {'allow' if rng.random() < 0.65 else 'deny'}, "
                 f"match: {{op: {operations(rng)}, {paths(rng, trees)}}}")
        if rng.random() < 0.25:
            text += f", except: [{{{paths(rng, trees)}}}]"
        text += "}\n"
    return text + mounts(rng, trees)


def attempts(trees):
    """Unlinking removes files that other attempts need, so it comes last."""
    tried = [(name, path) for path, kind in trees.kinds.items() for name in ATTEMPTS[kind]]
    return sorted(tried, key=lambda attempt: attempt[0] == "unlink")


def evaluate(policy, requests, project):
    lines = "".join(json.dumps({"op": operation, "path": path, "project": project}) + "\n"
                    for operation, path in requests)
    done = subprocess.run([POLICY, "eval", policy], input=lines, capture_output=True, text=True, check=False)
    answers = [json.loads(line)["verdict"] for line in done.stdout.splitlines()]
    if len(answers) != len(requests):
        raise RuntimeError(f"eval: {done.stderr}")
    return dict(zip(requests, answers))


def run(policy, trees, user):
    what = "".join(f"{name} {path}\n" for name, path in attempts(trees))
    identity = {"user": USER, "group": USER, "extra_groups": []} if user and os.geteuid() == 0 else {}
    environment = dict(os.environ, HOME=str(trees.top), XDG_RUNTIME_DIR=str(trees.top / "run"),
                       XDG_STATE_HOME=str(trees.top / "run"))
    return subprocess.run([SPAWN, "--quiet", "--policy", policy, "--", trees.probe], input=what, capture_output=True,
                          cwd=trees.top, env=environment, text=True, timeout=300, check=False, **identity)


def find_more(policy, trees, done):
    """Returns what was done although eval denies it."""
    found = []
    successes = [tuple(line.split(" ", 1)) for line in done.stdout.splitlines()]
    # A special file is protected if a rule names it; otherwise its directory decides who sees it (sbx-policy(5)).
    text = pathlib.Path(policy).read_text().replace("/**'", "'").replace("/'", "'")
    named = [success for success in successes
             if trees.kinds[pathlib.Path(success[1])] not in ("fifo", "socket") or f"'{success[1]}'" in text]
    requests = sorted({(operation, path.format(success[1])) for success in named
                       for operation, path in NEEDED[success[0]]})
    answers = evaluate(policy, requests, str(trees.top)) if requests else {}
    for name, path in named:
        for operation, pattern in NEEDED[name]:
            if answers[(operation, pattern.format(path))] not in ("allow", "warn"):
                found.append(f"{name} {path} was possible, and eval says: {operation} is denied")
    return found, len(named)


def main():
    default = 1 if "CI" in os.environ else random.SystemRandom().randrange(1 << 32)
    seed = int(os.environ.get("DECISIONS_SEED", str(default)))
    rng = random.Random(seed)
    print(f"# seed: DECISIONS_SEED={seed}")
    os.umask(0)
    users = [False, True] if os.geteuid() == 0 else [True]
    carried_out = refused = possible = 0
    mistakes = []
    with contextlib.ExitStack() as stack:
        trees = Trees(stack, rng)
        (trees.top / "run").mkdir(mode=0o700)
        if os.geteuid() == 0:
            os.chown(trees.top / "run", USER, USER)
        policy = str(trees.top / "policy.yaml")
        while carried_out < POLICIES and refused < 20 * POLICIES and len(mistakes) < 3:
            trees.make()
            pathlib.Path(policy).write_text(make_policy(rng, trees))
            for user in users:
                trees.fill()
                done = run(policy, trees, user)
                if done.returncode == 125 and not re.search(r"would permit more", done.stderr):
                    refused += 1
                    break
                found, n = find_more(policy, trees, done)
                possible += n
                if done.returncode != 0:
                    found.append(f"status {done.returncode}: {done.stderr}")
                mistakes += [f"{'user' if user else 'root'}: {one}\n{pathlib.Path(policy).read_text()}" for one in found]
            else:
                carried_out += 1
    print(f"# {carried_out} policies carried out, {refused} refused, {possible} things were possible")
    for mistake in mistakes:
        print("".join(f"# {line}\n" for line in mistake.splitlines()), end="")
    checks = [("nothing_is_possible_that_eval_denies", not mistakes),
              ("enough_policies_are_carried_out", mistakes or carried_out >= POLICIES),
              ("something_is_possible", mistakes or possible > POLICIES)]
    for number, (name, good) in enumerate(checks, 1):
        print(f"{'ok' if good else 'not ok'} {number} - {name}")
    print(f"1..{len(checks)}")
    sys.exit(0 if all(good for _, good in checks) else 1)


if __name__ == "__main__":
    main()
