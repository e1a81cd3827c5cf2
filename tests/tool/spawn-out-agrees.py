# SPDX-License-Identifier: MIT
"""spawn-out-agrees.py SEED TREES [--plant]: random changes of random trees, with sbx-spawn --out and without it.

A command that gets the same results inside as outside must leave the same tree. The original must not change, and the
original with the collected changes must be the tree that the command saw at its end. --plant forgets the removed files
of --out: that must be found. "spawn-out-agrees.py --change FILE" is the command.
"""
import contextlib
import json
import os
import pathlib
import random
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile

NAMES = ["a", ".b", "-c", "é\n"]
MODES = [0o755, 0o700, 0o775, 0o1777]
WHITEOUT, OPAQUE = ".wh.", ".wh..wh..opq"


def listing(top):
    """Kind, mode and contents of each file below a directory."""
    found = {}
    for directory, directories, files in os.walk(top):
        for name in directories + files:
            path = os.path.join(directory, name)
            st = os.lstat(path)
            content = (os.readlink(path) if stat.S_ISLNK(st.st_mode) else
                       pathlib.Path(path).read_text() if stat.S_ISREG(st.st_mode) else "")
            found[os.path.relpath(path, top)] = [oct(st.st_mode), content]
    return found


def write(path, text, flags):
    with open(os.open(path, flags | os.O_WRONLY | os.O_NONBLOCK, 0o666), "w", encoding="utf-8") as file:
        file.write(text)


CHANGES = {
    "create": lambda path, other: write(path, f"created {other}", os.O_CREAT | os.O_EXCL),
    "write": lambda path, other: write(path, f"written {other}", os.O_CREAT | os.O_TRUNC),
    "append": lambda path, other: write(path, f"appended {other}", os.O_APPEND),
    "unlink": lambda path, other: os.unlink(path),
    "rmdir": lambda path, other: os.rmdir(path),
    "rmtree": lambda path, other: shutil.rmtree(path),
    "mkdir": lambda path, other: os.mkdir(path),
    "rename": os.rename,
    "symlink": lambda path, other: os.symlink(other, path),
    "mkfifo": lambda path, other: os.mkfifo(path),
    "truncate": lambda path, other: os.truncate(path, 3) if os.path.isfile(path) else None,
    "chmod": lambda path, other: os.chmod(path, MODES[len(other) % len(MODES)]),
}


def change(operations):
    """The errno of each operation, 0 for success, and the tree at the end."""
    os.umask(0o22)
    results = []
    for name, path, other in operations:
        try:
            CHANGES[name](path, other)
            results.append(0)
        except OSError as error:
            results.append(error.errno)
    return {"results": results, "tree": listing(".")}


def some_path(rng):
    return "/".join(rng.choice(NAMES) for _ in range(rng.randrange(1, 4)))


def make_tree(rng, top):
    top.mkdir()
    for _ in range(rng.randrange(14)):
        path = top / some_path(rng)
        with contextlib.suppress(OSError):  # another file has its name, or that of its directory
            path.parent.mkdir(parents=True, exist_ok=True)
            kind = rng.choice("ddffffl")
            if kind == "d":
                path.mkdir()
            elif kind == "l":
                path.symlink_to(rng.choice(["a", "../b", "nowhere"]))
            else:
                write(path, f"original {path.name}", os.O_CREAT | os.O_EXCL)
                path.chmod(rng.choice([0o755, 0o600, 0o444]))


def make_operations(rng, files):
    def path():
        return rng.choice(files) if files and rng.random() < 0.6 else some_path(rng)

    return [(rng.choice(list(CHANGES)), path(), path()) for _ in range(rng.randrange(1, 16))]


def remove(path):
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def make_directory(path, mode):
    if path.is_symlink() or not path.is_dir():
        remove(path)
        path.mkdir()
    path.chmod(mode)


def is_opaque(path):
    for name in ("user.overlay.opaque", "trusted.overlay.opaque"):
        with contextlib.suppress(OSError):
            if os.getxattr(path, name) == b"y":
                return True
    return False


def apply_directory(changes, target, plant):
    for path in changes.iterdir():
        to, st = target / path.name, path.lstat()
        if stat.S_ISCHR(st.st_mode):
            assert st.st_rdev == 0
            if not plant:
                remove(to)
        elif stat.S_ISDIR(st.st_mode):
            if is_opaque(path):
                remove(to)
            make_directory(to, stat.S_IMODE(st.st_mode))
            apply_directory(path, to, plant)
        else:
            remove(to)
            subprocess.run(["cp", "-a", "--", path, to], check=True)


def apply_archive(archive, target, plant):
    with tarfile.open(archive) as tar:
        members = tar.getmembers()
        for member in members:
            path = target / member.name
            if path.name == OPAQUE:
                remove(path.parent)
            elif path.name.startswith(WHITEOUT) and not plant:
                remove(path.parent / path.name[len(WHITEOUT):])
        for member in members:
            path = target / member.name
            if path.name.startswith(WHITEOUT):
                continue
            if member.isdir():
                make_directory(path, member.mode)
                continue
            remove(path)
            if member.issym():
                path.symlink_to(member.linkname)
            else:
                path.write_bytes(tar.extractfile(member).read())
                path.chmod(member.mode)


def without_fifos(tree):
    return {name: entry for name, entry in tree.items() if not stat.S_ISFIFO(int(entry[0], 8))}


def differences(one, other):
    return [f"{name!r}: {one.get(name)} and {other.get(name)}"
            for name in sorted(one.keys() | other.keys()) if one.get(name) != other.get(name)]


def run(command, directory):
    done = subprocess.run([*command, os.path.realpath(sys.executable), "-I", "-B", __file__, "--change", "../operations"], check=False,
                          cwd=directory, capture_output=True, text=True)
    if not done.stdout:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def compare(rng, place, plant):
    """Makes a tree and changes it; returns what differs."""
    original, copy, applied, changes = (place / name for name in ("original", "copy", "applied", "changes"))
    make_tree(rng, original)
    for to in (copy, applied):
        subprocess.run(["cp", "-a", original, to], check=True)
    before = listing(original)
    (place / "operations").write_text(json.dumps(make_operations(rng, sorted(before))))
    is_archive = rng.random() < 0.5
    if is_archive:
        changes = place / "changes.tar"
    outside = run([], copy)
    inside = run(["sbx-spawn", "-q", "--read", __file__, "--read", "../operations", "--out", str(changes), "--"], original)
    found = ["the original: " + one for one in differences(before, listing(original))]
    if inside["results"] == outside["results"]:
        found += ["outside and inside: " + one for one in differences(outside["tree"], inside["tree"])]
    tree = without_fifos(inside["tree"]) if is_archive else inside["tree"]
    (apply_archive if is_archive else apply_directory)(changes, applied, plant)
    found += ["applied and inside: " + one for one in differences(listing(applied), tree)]
    return found, inside["results"] == outside["results"]


def main():
    if sys.argv[1] == "--change":
        json.dump(change(json.loads(pathlib.Path(sys.argv[2]).read_text())), sys.stdout)
        return
    rng = random.Random(int(sys.argv[1]))
    plant = "--plant" in sys.argv
    n_same = n_found = 0
    for number in range(int(sys.argv[2])):
        with tempfile.TemporaryDirectory() as place:
            found, is_same = compare(rng, pathlib.Path(place), plant)
        n_same += is_same
        n_found += bool(found)
        for one in [] if plant else found:
            print(f"tree {number}: {one}")
    print(f"{sys.argv[2]} trees, in {n_same} every operation had the same result inside, {n_found} differ")
    sys.exit((n_found == 0) == plant or n_same < int(sys.argv[2]) // 2)


if __name__ == "__main__":
    main()
