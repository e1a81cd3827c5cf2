# SPDX-License-Identifier: MIT
"""policy-denials-hold.py SEED N [--root] [--plant]: tries whether options of sbx-spawn defeat the denials of a policy.

Random trees and policies as in policy-eval-agrees.py, the policies in each dialect, the trees also with sockets, directories of root
and names that are not UTF-8; random options (--bind, --read, --write, --deny, --out). A command inside, or one of sbx-ctl exec, tries
every access to every path, also at the targets of mounts, and then to remove everything, to make what is denied, and to use what is
left by another name. What a rule or --deny denies must not be possible, neither for the file that the rule's path leads to outside,
whatever its name inside, nor for what has the rule's path as its name inside; and no name of the host may come, go or lead elsewhere
that must not be written. What no rule and no option allows must not be possible either. Prints each violation with its tree, policy
and options. --root starts the sandboxes as root, whose trees are in a private mount below /usr, where root follows links; the rest of
the host is read-only then. With --plant the sandbox gets the policy without its denials, and the comparison must find that.
"""
import argparse
import collections
import importlib.util
import json
import os
import pathlib
import random
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
specification = importlib.util.spec_from_file_location("agrees", pathlib.Path(__file__).with_name("policy-eval-agrees.py"))
agrees = importlib.util.module_from_spec(specification)
specification.loader.exec_module(agrees)

MARK = ".of-the-host-"
FILES = frozenset({"fs.read", "fs.write", "fs.list", "fs.exists"})
ALL = FILES | {"exec"}
WORDS = {"fs.read": "read_file", "fs.write": "write_file", "fs.list": "read_dir", "exec": "execute"}
SPAWN, CTL = shutil.which("sbx-spawn"), shutil.which("sbx-ctl")
NEEDED = {"read": "fs.read", "write": "fs.write", "create": "fs.write", "list": "fs.list", "exec": "exec", "connect": "fs.write"}
ENTER = "- {name: enter, action: allow, match: {op: container.run, mode: debug}}\n"
ODD_NAMES = ["a", "b c", "c\n", "d'\\", "\udcff"]  # the last is a byte that is not UTF-8

# Rules and options may allow root to write where the links lead, which includes /usr/lib and /usr/bin/env of the host.
PRIVATE_MOUNTS = """
for mount in / /usr; do
	! mountpoint -q "$mount" || mount -o remount,bind,ro "$mount" || exit
done
for mount in /run /var/lib /usr/local/share; do
	mount -t tmpfs -o mode=0755 tmpfs "$mount" || exit
done
exec "$@"
"""

# Tries everything; prints the access, the path, and of which file or directory of the host it was.
INSIDE = r"""
import os, socket, stat, subprocess, sys
sys.stdin.reconfigure(errors="surrogateescape", newline="")
sys.stdout.reconfigure(errors="surrogateescape")
def tell(*fields):
    print(*fields, sep="\t", end="\0")
def read(path):
    with open(path, "rb") as file:
        return file.read().rpartition(b"\n@")[2].split(b"\n")[0].decode()
def write(path):
    with open(path, "ab") as file:
        file.write(b"\nwritten")
def create(path):
    os.close(os.open(path + "/created", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
def listing(path):
    return "".join(name for name in os.listdir(path) if name.startswith(".of-the-host-")).removeprefix(".of-the-host-")
def run(path):
    subprocess.run([path], check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
def connect(path):
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(path)
accesses = {"list": listing, "read": read, "exec": run, "write": write, "create": create, "connect": connect}
def are_for(path):
    mode = os.stat(path).st_mode
    return ["list", "create"] if stat.S_ISDIR(mode) else ["connect"] if stat.S_ISSOCK(mode) else ["read", "exec", "write"]
def names(top):
    for folder, folders, files in os.walk(top):
        for path in [folder] + [os.path.join(folder, name) for name in folders + files]:
            yield path
            if os.path.islink(path) and os.path.isdir(path):
                try:
                    yield from [os.path.join(path, name) for name in sorted(os.listdir(path))[:4]]
                except OSError:
                    pass
paths = set(sys.stdin.read().split("\0"))
for top in sys.argv[1:]:
    paths.update(names(top))
for access in accesses:
    for path in sorted(paths):
        try:
            file = os.stat(path)
            if access in are_for(path) and path.startswith(tuple(sys.argv[1:])):
                tell(access, path, os.path.realpath(path), f"{file.st_dev}:{file.st_ino}", accesses[access](path) or "")
        except OSError:
            continue
def attempt(function, *arguments):
    try:
        function(*arguments)
        return True
    except OSError:
        return False
def moved(path, name):
    if not attempt(os.rename, path, name):
        return
    for folder, folders, files in os.walk(name):
        for one in [os.path.join(folder, file) for file in files] + [folder]:
            try:
                file = os.stat(one)
                access = are_for(one)[0]
                tell(access, one, one, f"{file.st_dev}:{file.st_ino}" if access == "connect" else "", accesses[access](one) or "")
            except OSError:
                continue
paths = sorted(path for path in paths if path.startswith(tuple(sys.argv[1:])))
for path in paths:
    attempt(os.unlink if os.path.islink(path) else os.rmdir, path)
    attempt(os.mkdir, path)
    attempt(os.mkfifo, path)
for number, path in enumerate(paths):
    moved(path, f"{os.path.dirname(path)}/moved-{number}")
"""


def is_at_or_below(path, above):
    return path == above or path.startswith(above.rstrip("/") + "/")


class Place:
    """What a rule or an option names: a path, and where it leads."""

    def __init__(self, path, operations, itself=True, below=True):
        self.path = str(path)
        self.operations = operations
        # The kernel finds nothing at 'missing/..', where a normal realpath() goes on.
        self.real = os.path.realpath(self.path) if os.path.exists(self.path) else self.path
        self.itself = itself
        self.below = below
        self.itself_listed = False

    def has(self, path, operation, real):
        root = self.real if real else self.path
        return operation in self.operations and ((self.itself and path == root) or
                                                 (self.itself_listed and path == root and operation == "fs.list") or
                                                 (self.below and path != root and is_at_or_below(path, root)))

    def hides(self, path, real, is_shown):
        """Does a denial forbid to connect to a socket? Not if it is one in a directory that is shown."""
        root = self.real if real else self.path
        return self.has(path, "fs.write", real) and (path == root or self.operations >= (ALL if is_shown else FILES))

    def has_any(self, path, operation):
        return any(self.has(one, operation, real) for one in (path, os.path.realpath(path)) for real in (False, True))


def is_utf8(path):
    return not any("\udc80" <= character <= "\udcff" for character in path)


def quoted(text):
    return json.dumps(text, ensure_ascii=False)


def list_operations(rng):
    text = rng.choice(["fs.read", "fs.write", "fs.list", "exec", "fs.*", "fs.*", "fs.*, exec", "fs.read, fs.list", "fs.read, exec"])
    return text, frozenset(text.split(", ")) if "*" not in text else FILES | frozenset({"exec"} if "exec" in text else ())


class Case:
    """A policy and options, and what they deny and allow."""

    def __init__(self, rng, tree, project, is_planted):
        self.rng = rng
        self.tree = tree
        self.project = project
        self.is_planted = is_planted
        self.denied = []
        self.spared = []
        self.allowed = []
        self.mounts = []
        self.existing = [path for path in tree.paths if os.path.exists(path)]
        self.links = [path for path in tree.paths if os.path.islink(path)]
        self.named = [path for path in self.existing if is_utf8(os.path.realpath(path))]
        self.tops = [str(tree.top / name) for name in "tum"] + ["/opt/m"]
        self.is_entered = rng.random() < 0.25
        self.text = rng.choice([self.make_policy] * 7 + [self.make_sections] * 2 + [self.make_manifest])()
        self.options = [option for _ in range(rng.randrange(0, 4)) for option in self.make_option()]
        # Below the target of a mount, a name is that of a file of the mount.
        self.allowed += [Place(source + place.path[len(target):], place.operations) for source, target in self.mounts
                         for place in self.allowed if is_at_or_below(place.path, target)]

    def any_path(self, likely=()):
        """One that a policy can name: it is UTF-8."""
        path = self.rng.choice(self.tree.paths) if self.rng.random() < 0.8 else str(self.tree.any_path())
        path = self.rng.choice(likely) if likely and self.rng.random() < 0.3 else path
        while not is_utf8(path):
            path = os.path.dirname(path)
        return path

    def value(self, operations, places, is_path=False):
        """A value of 'path' or 'path_glob'."""
        likely = self.links if places is self.denied else self.tops[:2] if places is self.allowed else ()
        path, kind = self.any_path(likely), "path" if is_path else self.rng.choice(["path", "path", "/", "/**", ""])
        is_folder = os.path.isdir(path)
        places.append(Place(path, operations, itself=kind in ("path", "/") or (kind == "" and not is_folder),
                            below=kind != ""))
        name = path
        if is_at_or_below(path, str(self.project)) and path != str(self.project) and self.rng.random() < 0.3:
            name = "./" + os.path.relpath(path, self.project)
        glob = name.replace("\\", "\\\\") + kind
        return f"path: [{quoted(name)}]" if kind == "path" else f"path_glob: [{quoted(glob)}]"

    def make_mount(self, text):
        mode = self.rng.choice(["ro", "rw", "rw", "overlay", "tmpfs", "mask"])
        source = os.path.realpath(self.rng.choice(self.named)) if mode in ("ro", "rw", "overlay") else None
        target = self.any_target()
        if source:
            self.mounts.append((source, target))
            self.allowed.append(Place(source, FILES | {"exec"} if mode == "rw" else (FILES | {"exec"}) - {"fs.write"}))
        if mode == "mask":
            self.denied.append(Place(target, FILES | {"exec"}))
        return text + f"{{target: {quoted(target)}, mode: {mode}" + (f", source: {quoted(source)}" if source else "") + "}, "

    def make_policy(self):
        rng = self.rng
        view = rng.choice(["none", "none", "project", "system"])
        system = ", ".join(f"'{path}'" for path in ("/usr", "/bin", "/lib", "/lib64", agrees.PYTHON))
        text = (f"version: 1\nview: {view}\ncapabilities:\n"
                f"- {{name: system, action: allow, match: {{op: [fs.read, fs.list, fs.exists, exec], path: [{system}]}}}}\n" + ENTER)
        self.allowed.append(Place("/usr", frozenset({"fs.read", "fs.list", "exec"})))
        if view == "project":
            self.allowed.append(Place(self.project, FILES))
        for number in range(rng.randrange(2, 6)):
            is_denial = rng.random() < 0.5
            operation, operations = list_operations(rng)
            value = self.value(operations, self.denied if is_denial else self.allowed)
            text_of_except = ""
            if is_denial and rng.random() < 0.15:
                text_of_except = f", except: [{{{self.value(FILES | {'exec'}, self.spared)}}}]"
            if not is_denial:
                self.allowed[-1].itself_listed = True
            if is_denial and self.is_planted:
                continue
            text += (f"- {{name: r{number}, action: {'deny' if is_denial else 'allow'}, "
                     f"match: {{op: [{operation}], {value}}}{text_of_except}}}\n")
        mounts = ""
        for _ in range(rng.choice([0, 0, 1, 1, 2])):
            mounts = self.make_mount(mounts)
        return text + (f"mounts: [{mounts.rstrip(', ')}]\n" if mounts else "")

    def is_executed(self, path):
        """A right to execute alone shows a directory, although a rule denies all of fs.* (W19)."""
        return any(place.has_any(path, "exec") for place in self.allowed)

    def make_sections(self):
        """A rule without 'perms' is about reading, writing and listing."""
        rng = self.rng
        view = rng.choice(["none", "project", "system"])
        text = f"version: 1\nview: {view}\n" + ("capabilities:\n" + ENTER if self.is_entered else "")
        rules = {"fs": [], "exec": [f"{{action: allow, path: [/usr, /bin, /lib, /lib64, '{agrees.PYTHON}']}}"]}
        if view == "none":
            rules["fs"].append(f"{{action: allow, path: [/usr, /bin, /lib, /lib64, '{agrees.PYTHON}'], perms: [read_file, read_dir]}}")
        self.allowed.append(Place("/usr", frozenset({"fs.read", "fs.list", "exec"})))
        if view == "project":
            self.allowed.append(Place(self.project, FILES))
        for _ in range(rng.randrange(2, 6)):
            is_denial, section = rng.random() < 0.5, rng.choice(["fs", "fs", "fs", "exec"])
            words = {"exec": "exec"} if section == "exec" else rng.choice([{}, {}, {"fs.read": 0}, {"fs.write": 0}, {"fs.read": 0, "fs.list": 0}])
            operations = frozenset(words or FILES)
            value = self.value(operations, self.denied if is_denial else self.allowed, is_path=True)
            if not (is_denial and self.is_planted):
                perms = f", perms: [{', '.join(WORDS[word] for word in words)}]" if words and section == "fs" else ""
                rules[section].append(f"{{action: {'deny' if is_denial else 'allow'}, {value}{perms}}}")
        return text + "".join(f"{section}:\n  rules:\n" + "".join(f"    - {rule}\n" for rule in rules[section]) for section in rules)

    def make_manifest(self):
        """Nothing is denied but by options."""
        paths = sorted({self.any_path() for _ in range(self.rng.randrange(1, 4))})
        self.allowed += [Place(path, FILES) for path in paths] + [Place("/usr", frozenset({"fs.read", "fs.list", "exec"}))]
        self.is_entered = False
        config = {"allowFileSystemAccess": True, "allowNetworkAccess": False, "allowedPaths": paths}
        return json.dumps({"sandbox": {"enabled": True, "type": "PROCESS", "config": config}}, ensure_ascii=False)

    def any_target(self):
        kind = self.rng.random()
        if kind < 0.3:
            return self.rng.choice([str(self.tree.top / "m"), str(self.tree.top / "m" / "a"), "/opt/m", "/opt/m/b"])
        return self.any_path()

    def make_option(self):
        kind = self.rng.choice(["--bind", "--bind", "--bind", "--read", "--write", "--deny", "--exec", "--out", "--deny-write", "--tmpfs"])
        path = self.rng.choice(self.existing)
        if self.rng.random() < 0.8:
            path = os.path.realpath(path)
        everything = FILES | {"exec"}
        if kind == "--bind":
            is_writable = self.rng.random() < 0.6
            path, target = os.path.realpath(path), self.any_target()
            self.mounts.append((path, target))
            self.allowed.append(Place(path, everything if is_writable else everything - {"fs.write"}))
            return [kind, f"{path}:{target}" + (":rw" if is_writable else "")]
        if kind == "--tmpfs":
            return [kind, path]
        if kind == "--out":
            self.allowed.append(Place(self.project, FILES | {"exec"}))
            return [kind, str(self.tree.top / "changes" / "out")] if self.rng.random() < 0.6 else []
        if kind in ("--deny", "--deny-write"):
            self.denied.append(Place(path, everything if kind == "--deny" else frozenset({"fs.write"})))
            return [kind, path] if not self.is_planted else []
        self.allowed.append(Place(path, everything - {"fs.write"} if kind != "--write" else everything))
        return [kind, path]


def mark_all(top):
    """Every file and directory tells which one it is. Returns them by device and inode."""
    known = {}
    for folder, _, files in (row for name in "tum" for row in os.walk(top / name)):
        number = len(known)
        known[f"{os.stat(folder).st_dev}:{os.stat(folder).st_ino}"] = folder
        known[str(number)] = folder
        pathlib.Path(folder, MARK + str(number)).touch()
        for name in files:
            path = pathlib.Path(folder, name)
            if path.is_socket():
                known[f"{path.stat().st_dev}:{path.stat().st_ino}"] = str(path)
            if path.is_symlink() or not path.is_file():
                continue
            number = len(known)
            with path.open("ab") as file:
                file.write(f"\n@{number}\n".encode())
            status = path.stat()
            known[f"{status.st_dev}:{status.st_ino}"] = known[str(number)] = str(path)
    return known


def list_names(top):
    """Each name in the tree with the inode."""
    found = {}
    for folder, folders, files in (row for name in "tu" for row in os.walk(top / name)):
        for path in [os.path.join(folder, name) for name in folders + files]:
            found[path] = os.lstat(path).st_ino
    return found


def list_targets(case):
    """What the denied names lead to."""
    return {place.path: os.stat(place.path).st_ino if os.path.exists(place.path) else None for place in case.denied}


def judge_names(case, before, led_to):
    """Names that have come or gone, or lead elsewhere, although a denial of fs.write is about them. Those that the first part has
    created are not new."""
    after = list_names(case.tree.top)
    leads_to = list_targets(case)
    for place in case.denied:
        if place.has(place.path, "fs.write", False) and leads_to[place.path] != led_to[place.path]:
            if not any(other.has(place.path, "fs.write", real) for other in case.spared for real in (False, True)):
                yield f"name of the host's {place.path}: leads elsewhere, and is denied"
    for path in sorted(before.keys() | after.keys()):
        if before.get(path) == after.get(path) or os.path.basename(path) == "created":
            continue
        if any(place.has(path, "fs.write", real) for place in case.spared for real in (False, True)):
            continue
        for place in case.denied:
            if place.has(path, "fs.write", False):
                yield f"name of the host's {path}: was {'changed' if path in after else 'removed'}, denied at {place.path}"


def judge_changes(case):
    """What --out has collected at names that are denied."""
    out = case.tree.top / "changes" / "out"
    for folder, _, files in os.walk(out):
        for name in files:
            path = str(case.project / os.path.relpath(folder, out) / name)
            if any(place.has(path, "fs.write", real) for place in case.spared for real in (False, True)):
                continue
            for place in case.denied if name != "created" else ():
                if place.has(path, "fs.write", False):
                    yield f"name of the host's {path}: is among the changes, denied at {place.path}"


def find_written(top):
    for folder, _, files in os.walk(top):
        for name in files:
            path = os.path.join(folder, name)
            if name == "created":
                yield "create", path
            elif not os.path.islink(path) and os.path.isfile(path) and pathlib.Path(path).read_bytes().endswith(b"\nwritten"):
                yield "write", path


class Run:
    def __init__(self, case, policy, is_root):
        self.case = case
        self.policy = policy
        top = case.tree.top
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(top / "home"), "XDG_RUNTIME_DIR": str(top / "run"),
                            "XDG_STATE_HOME": str(top / "run"), "LC_ALL": "C.UTF-8"}
        is_user = os.geteuid() == 0 and not is_root
        self.identity = {"user": agrees.USER, "group": agrees.USER, "extra_groups": []} if is_user else {}

    def run(self, paths):
        spawn = [SPAWN, "-q", "--project", str(self.case.project), "--policy", self.policy, *self.case.options]
        inside = ["--", agrees.PYTHON, "-ISc", INSIDE, *self.case.tops]
        how = {"cwd": self.case.project, "env": self.environment, "text": True, "errors": "surrogateescape", **self.identity}
        stdin = "".join(f"{path}\0" for path in paths)
        if not self.case.is_entered:
            return subprocess.run(spawn + inside, input=stdin, capture_output=True, check=False, **how)
        # The attack is of sbx-ctl exec, beside a command that only waits.
        name = self.case.tree.top.name
        with subprocess.Popen([*spawn, "--debug", "--id", name, "--", "/usr/bin/sh", "-c", "echo started; read line"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **how) as other:
            if not other.stdout.readline():
                return subprocess.CompletedProcess(spawn, 125, "", "")
            done = subprocess.run([CTL, "exec", name, *inside], input=stdin, capture_output=True, check=False, **how)
            other.communicate("")
        return done


def judge_name(case, access, path):
    """A name inside that a rule denies; what the rule is about outside is judged by the file."""
    operation = NEEDED[access]
    name = path + "/created" if access == "create" else path
    if any(place.has_any(name, operation) for place in case.spared):
        return None
    if access == "connect":
        return next((place for place in case.denied if place.hides(path, False, case.is_executed(path))), None)
    return next((place for place in case.denied if place.has(name, operation, False) and os.path.lexists(path)), None)


def judge_file(case, access, path):
    """Why the access to this file of the host should have been impossible, or None."""
    operation = NEEDED[access]
    name = path + "/created" if access == "create" else path
    if any(place.has(name, operation, real) for place in case.spared for real in (False, True)):
        return None
    for place in case.denied:
        if place.hides(name, True, case.is_executed(name)) if access == "connect" else place.has(name, operation, True):
            return f"denied at {place.path}"
    # A socket in a directory that is shown can be used.
    if access == "connect" and any(place.has(name, one, real) for place in case.allowed for one in ALL for real in (False, True)):
        return None
    if not any(place.has(name, operation, real) for place in case.allowed for real in (False, True)):
        return "allowed nowhere"
    return None


def judge(case, known, found, before, led_to):
    violations = {*judge_names(case, before, led_to), *judge_changes(case)}
    for line in found:
        access, path, real, inode, identity = line.split("\t")
        host = known.get(identity) or known.get(inode)
        denial = judge_name(case, access, real) if inode else None
        if denial and (host or access in ("write", "create", "exec")):
            violations.add(f"{access} {path}: possible, denied as {denial.path}" + (f", is {host}" if host else ""))
        why = judge_file(case, access, host) if host and access in ("read", "list", "exec", "connect") else None
        if why:
            violations.add(f"{access} {path}: possible, is {host}, {why}")
    for access, path in find_written(case.tree.top):
        if is_at_or_below(path, str(case.tree.top / "changes")):
            continue
        at = path if access == "write" else os.path.dirname(path)
        status = os.stat(at)
        why = judge_file(case, access, known.get(f"{status.st_dev}:{status.st_ino}", at))  # it may have another name now
        if why:
            violations.add(f"{access} of the host's {path}: was done, {why}")
    return sorted(violations)


def add_sockets(rng, tree):
    """Sockets on which somebody listens."""
    sockets = []
    for folder in [path for path in tree.paths if os.path.isdir(path) and os.path.realpath(path) == path]:
        path = os.path.join(folder, "s")
        if rng.random() < 0.2 and len(os.fsencode(path)) < 100:
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(path)
            listener.listen(1000)
            sockets.append(listener)
            tree.paths.append(path)
    tree.paths.sort()
    return sockets


def add_directories_of_root(rng, tree):
    """Their names can be changed, but not what is in them."""
    for path in tree.paths if os.geteuid() == 0 else []:
        if rng.random() < 0.3 and os.path.isdir(path) and not os.path.islink(path):
            os.chown(path, 0, 0)
            os.chmod(path, 0o755)


def make_top(rng, is_root):
    places = ["/tmp"] + (["/srv"] if os.access("/srv", os.W_OK) else [])
    top = pathlib.Path(tempfile.mkdtemp(prefix="sbx-denials-", dir="/usr/local/share" if is_root else rng.choice(places)))
    top.chmod(0o755)
    for name in ("m", "changes", "home", "run"):
        (top / name).mkdir(mode=0o700)
        if os.geteuid() == 0 and not is_root:
            os.chown(top / name, agrees.USER, agrees.USER)
    (top / "m").chmod(0o777)
    return top


def try_case(rng, options, counts):
    top = make_top(rng, options.root)
    sockets = []
    try:
        agrees.NAMES = rng.choice(["abc", "abc", "abc", ODD_NAMES])
        tree = agrees.Tree(rng, top)
        tree.make()
        sockets = add_sockets(rng, tree)
        project = rng.choice([top, top / "t"])
        case = Case(rng, tree, project, options.plant)
        known = mark_all(top)
        add_directories_of_root(rng, tree)
        policy = top / "policy.yaml"
        policy.write_text(case.text)
        paths = sorted({*tree.paths, *(place.path for place in case.denied), *(place.real for place in case.denied)})
        before, led_to = list_names(top), list_targets(case)
        done = Run(case, str(policy), options.root).run(paths)
        if done.returncode != 0:
            counts["refused"] += 1
            return ""
        counts["compared"] += 1
        found = done.stdout.split("\0")[:-1]
        counts["accesses"] += len(found)
        violations = judge(case, known, found, before, led_to)
        return "".join(f"{line}\n" for line in ["", *violations]) + describe(case, tree) if violations else ""
    finally:
        for listener in sockets:
            listener.close()
        shutil.rmtree(top, ignore_errors=True)


def describe(case, tree):
    return (f"project {case.project}\noptions {shlex.join(case.options)}\n" + tree.text() + case.text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("seed", type=int)
    parser.add_argument("policies", type=int)
    parser.add_argument("--root", action="store_true")
    parser.add_argument("--plant", action="store_true")
    options = parser.parse_args()
    if options.root and not os.environ.get("SBX_DENIALS_INSIDE"):
        os.environ["SBX_DENIALS_INSIDE"] = "1"
        os.execvp("unshare", ["unshare", "-m", "sh", "-c", PRIVATE_MOUNTS, "sh", sys.executable, *sys.argv])
    sys.stdout.reconfigure(errors="backslashreplace")
    rng = random.Random(options.seed)
    os.umask(0)
    counts = collections.Counter()
    found = [text for text in (try_case(rng, options, counts) for _ in range(options.policies)) if text]
    if not options.plant:
        print("".join(found), end="")
    print(f"seed {options.seed}: " + ", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    return 0 if bool(found) == options.plant and counts["compared"] >= options.policies / 10 else 1


if __name__ == "__main__":
    sys.exit(main())
