# SPDX-License-Identifier: MIT
"""policy-eval-agrees.py SEED N [--mounts | --plant]: compares sbx-policy eval, with its notes, with what a sandbox permits.

Random trees of files, directories and symbolic links; random policies with rules of every kind and each view, with --mounts also
a mount. A command inside tries every access to every path. What eval allows, and no note takes back, must be possible; what it
denies, and no note says is permitted, must not be. Prints each difference with its tree and its policy. With --plant the notes are
ignored, and the comparison must find that.
"""
import argparse
import collections
import contextlib
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

USER = 1000
NAMES = "abc"
OPERATIONS = ["fs.read", "fs.write", "fs.list", "exec", "fs.exists", "fs.*", "fs.*", "fs.read, fs.list", "fs.read, exec"]

# What a path is, and what can be done with it: of paths in stdin, or with arguments of all below these directories.
INSIDE = r"""
import os, subprocess, sys
def read(path):
    with open(path, "rb") as file:
        file.read(1)
def write(path):
    os.close(os.open(path, os.O_WRONLY))
def make(path):
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o666))
    os.unlink(os.path.realpath(path))
    return os.stat(os.path.dirname(os.path.realpath(path))).st_ino
def create(path):
    os.close(os.open(path + "/created", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    os.unlink(path + "/created")
    return os.stat(path).st_ino
def listing(path):
    os.listdir(path)
    return os.stat(path).st_ino
def run(path):
    subprocess.run([path], check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
accesses = {"read": read, "write": write, "make": make, "create": create, "list": listing, "exec": run,
            "stat": lambda path: os.stat(path).st_ino, "readlink": os.readlink}
def names(top):
    for folder, folders, files in os.walk(top):
        for path in [folder] + [os.path.join(folder, name) for name in folders + files]:
            yield path
            if os.path.islink(path) and os.path.isdir(path) and os.path.realpath(path).startswith(sys.argv[1]):
                yield from [os.path.join(path, name) for name in sorted(os.listdir(path))[:4]]
def attempts(path):
    if os.path.isdir(path):
        yield from ["list", "create", "stat"]
    elif os.path.isfile(path):
        yield from ["read", "write", "exec", "stat"]
    else:
        yield "make"
    if os.path.islink(path):
        yield "readlink"
if len(sys.argv) > 1:
    paths = sorted({path for top in sys.argv[2:] for path in names(top)})
    tried = [(access, path) for path in paths for access in attempts(path)]
else:
    tried = [line.split(" ", 1) for line in sys.stdin.read().splitlines()]
for access, path in tried:
    try:
        print(access, path, accesses[access](path), sep="\t")
    except OSError:
        continue
"""
PROGRAM = pathlib.Path("/usr/bin/true").read_bytes()
PYTHON = os.path.realpath("/usr/bin/python3")

# The operation that each access needs, and of which path.
NEEDED = {"read": ("fs.read", "{}"), "write": ("fs.write", "{}"), "make": ("fs.write", "{}"), "create": ("fs.write", "{}/created"),
          "list": ("fs.list", "{}"), "exec": ("exec", "{}"), "stat": ("fs.exists", "{}"), "readlink": ("fs.exists", "{}")}


class Tree:
    """Directories t and u with random contents; outside of a sandbox every user may do everything in them."""

    def __init__(self, rng, top):
        self.rng = rng
        self.top = top
        self.paths = []

    def any_path(self, least=0):
        root = self.top / self.rng.choice("ttu")
        return root.joinpath(*(self.rng.choice(NAMES) for _ in range(self.rng.randrange(least, 4))))

    def link_text(self, path):
        """Where a link leads: anywhere in the tree, to the system, to itself, or to nothing."""
        target = self.any_path()
        kind = self.rng.random()
        if kind < 0.06:
            return path.name
        if kind < 0.12:
            return "/usr/bin/env"
        if kind < 0.16:
            return "/usr/lib"
        text = str(target)
        if self.rng.random() < 0.6:
            text = os.path.relpath(target, path.parent)
        if self.rng.random() < 0.1:
            text += "/../" + self.rng.choice(NAMES)
        return text

    def make(self):
        for name in ("t", "u"):
            shutil.rmtree(self.top / name, ignore_errors=True)
            (self.top / name).mkdir()
        for _ in range(self.rng.randrange(4, 16)):
            path = self.any_path(1)
            kind = self.rng.choice(["directory", "file", "file", "link", "link"])
            owner = self.rng.choice([0, 0, USER])
            text = self.link_text(path)
            with contextlib.suppress(OSError):
                self.put(path, kind, text, owner)
        self.paths = self.list_paths()

    def put(self, path, kind, text, owner):
        at = self.top
        for part in path.parent.relative_to(self.top).parts:  # never through a link
            at /= part
            if at.is_symlink():
                return
            at.mkdir(exist_ok=True)
        if kind == "directory":
            path.mkdir()
        elif kind == "file":
            with path.open("xb") as file:
                file.write(PROGRAM)
            path.chmod(0o777)
        else:
            path.symlink_to(text)
            if os.geteuid() == 0:
                os.chown(path, owner, owner, follow_symlinks=False)

    def list_paths(self):
        """Each path, also through one link to a directory."""
        paths = []
        for name in ("t", "u"):
            for folder, folders, files in os.walk(self.top / name):
                pathlib.Path(folder, ".of-the-host").touch()  # visible in a listing of the host's directory
                for path in [folder, *(os.path.join(folder, one) for one in files + [".of-the-host"])]:
                    if os.geteuid() == 0 and not os.path.islink(path):
                        os.chown(path, USER, USER)
                paths += [folder] + [os.path.join(folder, one) for one in folders + files]
        for path in [path for path in paths if os.path.islink(path)]:
            if os.path.isdir(path):
                paths += [os.path.join(path, name) for name in os.listdir(path)[:4] if os.path.realpath(path).startswith(str(self.top))]
        return sorted(set(paths))

    def text(self):
        return "".join(f"{path}{' -> ' + os.readlink(path) if os.path.islink(path) else '/' if os.path.isdir(path) else ''}"
                       f"{' (uid ' + str(os.lstat(path).st_uid) + ')' if os.path.islink(path) else ''}\n"
                       for path in self.paths)


def glob_or_path(rng, tree, project, avoided=None):
    values = []
    is_glob = rng.random() < 0.4
    for _ in range(rng.randrange(1, 3)):
        path = pathlib.Path(rng.choice(tree.paths)) if rng.random() < 0.7 else tree.any_path()
        if avoided and path.is_relative_to(avoided):
            path = pathlib.Path(os.path.realpath(path))  # below a mount a rule allows what the mount shows, and eval does not look there
        name = str(path)
        if path.is_relative_to(project) and rng.random() < 0.4:
            name = "./" + str(path.relative_to(project)) if path != project else "./"
        if is_glob:
            name += rng.choice(["", "/", "/**"]) if not name.endswith("/") else ""
        values.append(f"'{name}'")
    return f"{'path_glob' if is_glob else 'path'}: [{', '.join(values)}]"


def make_mount(rng, tree):
    """The mount's fields, or None."""
    folders = [path for path in tree.paths if os.path.isdir(path) and os.path.realpath(path) == path]
    mode = rng.choice(["ro", "rw", "tmpfs", "overlay", "mask"])
    target = rng.choice(folders + [str(tree.top / "m")])
    mount = {"target": target, "mode": mode}
    if mode in ("ro", "rw") or (mode == "overlay" and rng.random() < 0.5):
        mount["source"] = rng.choice(folders)
    return mount


def make_policy(rng, tree, project, mount):
    view = rng.choice(["none", "none", "project", "system"])
    text = f"version: 1\nview: {view}\ncapabilities:\n"
    is_limiting = rng.random() < 0.5
    operations = "fs.read, fs.list, fs.exists" + (", exec" if is_limiting else "")
    system = f"/usr, /bin, /lib, /lib64, '{PYTHON}'"
    if view == "none" or is_limiting:
        text += f"- {{name: system, action: allow, match: {{op: [{operations}], path: [{system}]}}}}\n"
    for number in range(rng.randrange(1, 6)):
        operation = rng.choice(OPERATIONS if is_limiting else [one for one in OPERATIONS if "exec" not in one])
        action = "allow" if rng.random() < 0.75 or operation == "fs.exists" else "deny"  # W22
        avoided = mount["target"] if mount and action == "allow" else None
        text += (f"- {{name: r{number}, action: {action}, "
                 f"match: {{op: [{operation}], {glob_or_path(rng, tree, project, avoided)}}}")
        if rng.random() < 0.2:
            text += f", except: [{{{glob_or_path(rng, tree, project)}}}]"
        text += "}\n"
    if rng.random() < 0.05:
        text += f"defaults: {{fs: allow}}\n"
    if mount:
        text += "mounts: [{" + ", ".join(f"{key}: '{value}'" for key, value in mount.items()) + "}]\n"
    return text


def of_lines(text):
    return {(access, path): what for access, path, what in (line.split("\t") for line in text.splitlines())}


class Run:
    def __init__(self, tree, policy, project, mount, plant):
        self.plant = plant
        self.tree = tree
        self.mount = mount
        self.policy = policy
        self.has_own_tmp = "view: project" in pathlib.Path(policy).read_text()
        self.project = project
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(tree.top / "home"), "XDG_RUNTIME_DIR": str(tree.top / "run"),
                            "XDG_STATE_HOME": str(tree.top / "run")}
        self.identity = {"user": USER, "group": USER, "extra_groups": []} if os.geteuid() == 0 else {}

    def run(self, command, stdin, text=True):
        return subprocess.run(command, input=stdin if text else b"", capture_output=True, cwd=self.project, env=self.environment,
                              text=text, check=False, **self.identity)

    def inside(self, tried):
        done = self.run(["sbx-spawn", "-q", "--project", str(self.project), "--policy", self.policy, "--", PYTHON, "-ISc", INSIDE],
                        "".join(f"{access} {path}\n" for access, path in tried))
        # A rule about a link to the system's libraries can prevent that Python starts.
        return of_lines(done.stdout) if done.returncode == 0 else None

    def outside(self):
        """What the user may do without a sandbox, where the same is mounted."""
        command = [PYTHON, "-ISc", INSIDE, str(self.tree.top), *(str(self.tree.top / name) for name in "tum")]
        if self.mount:
            source, target = self.mount.get("source", self.mount["target"]), self.mount["target"]
            how = ["-t", "tmpfs", "tmpfs", target] if self.mount["mode"] in ("tmpfs", "mask") else ["--bind", source, target]
            command = ["unshare", "-Urm", "sh", "-c", f"mount {shlex.join(how)} && exec {shlex.join(command)}"]
        done = self.run(command, "")
        if done.returncode != 0:
            raise RuntimeError(f"outside: {done.stderr}")
        return of_lines(done.stdout)

    def evaluate(self, policy, requests):
        lines = "".join(json.dumps({"op": operation, "path": path, "project": str(self.project)}) + "\n"
                        for operation, path in requests)
        done = self.run(["sbx-policy", "eval", policy], lines)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        for answer in answers if self.plant else []:
            answer.pop("note", None)
        if len(answers) != len(requests):
            raise RuntimeError(f"eval: {done.stderr}")
        return dict(zip(requests, answers))


def is_promised(answer):
    allowed, note = answer["verdict"] in ("allow", "warn"), answer.get("note", "")
    return not note if allowed else bool(re.search("a sandbox (permits|shows)", note))


def is_of_host(access, what, outside):
    """A mask, a file of a tmpfs and a directory on the way to what is shown are not the host's file."""
    return what == outside  # an inode, where the access is to a directory


def is_linked_in_tmp(run, path):
    return run.has_own_tmp and path.startswith("/tmp/") and os.path.realpath(path) != path


def compare(run, counts):
    """Returns the differences, or None if sbx-spawn refuses the policy."""
    outside = run.outside()
    found = run.inside(list(outside))
    if found is None:
        return None
    requests = sorted({(NEEDED[access][0], NEEDED[access][1].format(path)) for access, path in outside})
    answers = run.evaluate(run.policy, requests)
    differences = []
    for access, path in outside:
        answer = answers[(NEEDED[access][0], NEEDED[access][1].format(path))]
        note = answer.get("note", "")
        if "of the sandbox's own /tmp" in note:
            counts["own /tmp"] += 1
            continue
        if "a sandbox may refuse" in note:
            counts["perhaps"] += 1
            continue
        promised = is_promised(answer)
        what = found.get((access, path))
        inside = what is not None and (promised or is_of_host(access, what, outside[(access, path)]))
        counts[f"{access} {'promised' if promised else 'not'}"] += 1
        if inside and not promised and run.mount and pathlib.Path(os.path.realpath(path)).is_relative_to(run.mount.get("source", "/nonexistent")):
            counts["by the rights of a mount"] += 1  # Landlock grants access to the inode
            continue
        if access == "make" and run.mount and run.mount["mode"] == "tmpfs":
            continue  # a rule may show a directory of the host there
        if access == "stat" and inside and not promised and answer["cause"] == "rules":
            counts["name visible"] += 1  # a denied name stays visible where its directory is shown (sbx-policy(5))
            continue
        if inside and not promised and is_linked_in_tmp(run, path):
            counts["links in a private /tmp"] += 1  # eval does not know them (NOTES in sbx-policy(1))
            continue
        if access == "readlink" and not promised:
            continue  # eval has no operation for the name of a link whose target is not shown
        if promised != inside:
            differences.append(f"{access} {path}: {'possible' if inside else 'impossible'}, and eval says: "
                               f"{answer['verdict']}{', ' + note if note else ''}")
    return differences


def compare_compiled(run, counts):
    """A compiled policy says the same, or that it cannot know."""
    paths = [path for path in run.tree.paths if os.path.exists(path)]  # without loops
    requests = [(operation, path) for path in paths for operation in ("fs.read", "fs.write", "fs.list", "exec", "fs.exists")]
    compiled = run.policy + ".compiled"
    done = run.run(["sbx-policy", "compile", run.policy], "", text=False)
    pathlib.Path(compiled).write_bytes(done.stdout)
    ours, theirs = run.evaluate(run.policy, requests), run.evaluate(compiled, requests)
    differences = []
    for request in requests:
        one, other = ours[request], theirs[request]
        if "a compiled policy does not say" in other.get("note", ""):
            counts["compiled: unknown"] += 1
        elif (one["verdict"], one["cause"]) == (other["verdict"], other["cause"]):  # or a relative path leads through a link
            counts["compiled: known"] += 1
            # A general note of the compiled policy is right beside a detailed one of its source.
            is_general = any(words in other.get("note", "") for words in ("the program loader", "of the sandbox's own /tmp"))
            if not is_general and (run.mount or "leads" in one.get("note", "") or other.get("note", one.get("note")) != one.get("note")):
                differences.append(f"compiled {request}: {one} {other}, and eval says: {other['verdict']}")
    return differences


def make_top(rng):
    """Below /tmp, which a sandbox has of its own, or elsewhere."""
    places = ["/tmp"] + (["/srv"] if os.access("/srv", os.W_OK) else [])
    top = pathlib.Path(tempfile.mkdtemp(prefix="sbx-agrees-", dir=rng.choice(places)))
    top.chmod(0o755)
    (top / "m").mkdir()
    for name in ("home", "run"):
        (top / name).mkdir(mode=0o700)
        if os.geteuid() == 0:
            os.chown(top / name, USER, USER)
    return top


def try_policy(rng, options, counts):
    """Returns what differs, with the tree and the policy."""
    top = make_top(rng)
    try:
        tree = Tree(rng, top)
        tree.make()
        project = rng.choice([top, top / "t"])
        mount = make_mount(rng, tree) if options.mounts else None
        text = make_policy(rng, tree, project, mount)
        policy = top / "policy.yaml"
        policy.write_text(text)
        run = Run(tree, str(policy), project, mount, options.plant)
        differences = compare(run, counts)
        counts["refused" if differences is None else "compared"] += 1
        if differences == [] and not options.plant:
            differences = compare_compiled(run, counts)
        return "".join(f"{line}\n" for line in ["", f"project {project}", *differences]) + tree.text() + text if differences else ""
    finally:
        shutil.rmtree(top, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("seed", type=int)
    parser.add_argument("policies", type=int)
    parser.add_argument("--mounts", action="store_true")
    parser.add_argument("--plant", action="store_true")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    os.umask(0)
    counts = collections.Counter()
    found = [text for text in (try_policy(rng, options, counts) for _ in range(options.policies)) if text]
    if not options.plant:
        print("".join(found), end="")
    print(f"seed {options.seed}: " + ", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    return 0 if bool(found) == options.plant and counts["compared"] >= options.policies / 10 else 1


if __name__ == "__main__":
    sys.exit(main())
