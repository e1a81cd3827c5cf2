# SPDX-License-Identifier: MIT
"""BPF objects are the same bytes wherever they are built, also without /sys, and the kernel accepts them."""
import os
import pathlib
import shlex
import shutil
import tempfile

import tap

os.environ["PATH"] += ":/usr/sbin:/sbin"  # bpftool is there for users other than root, too


def objects():
    """Returns [(object in the build, words of its compiler command, its source)]."""
    for target in tap.targets():
        path = pathlib.Path(target["filename"][0])
        if target["type"] == "custom" and path.name.endswith(".bpf.o"):
            source = target["target_sources"][0]
            yield path, source["compiler"], pathlib.Path(source["sources"][0])


def copy_sources(folder):
    """Copies the files that a compilation reads."""
    for name in tap.files():
        if name.parts[0] == "bpf" or name.name.endswith(".bpf.c"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(tap.SOURCE / name, folder / name)


def compile_command(words, source, tree, output):
    """Returns the build's own command, for the source in another tree."""
    places = {"@INPUT@": str(tree / source.relative_to(tap.SOURCE)), "@OUTPUT@": str(output)}
    return [places.get(word, word.replace(str(tap.SOURCE), str(tree))) for word in words]


def build_at(folder, words, source, wrap=lambda command: command):
    """Returns (bytes or None, errors) of the object, built from a copy of the sources in the directory."""
    copy_sources(folder)
    output = folder / "out.o"
    finished = tap.run(*wrap(compile_command(words, source, folder, output)), cwd=folder)
    return output.read_bytes() if finished.returncode == 0 else None, finished.stderr.splitlines()


def without_sys(command):
    """Returns the command, run in a mount namespace with an empty /sys."""
    return ["unshare", "--mount", "sh", "-ec", "mount -t tmpfs none /sys; ! ls /sys | grep -q .; exec "
            + shlex.join(command)]


def check_same_bytes(name, path, words, source, scratch):
    built = path.read_bytes()
    for place in "a", "another/place":
        made, notes = build_at(scratch / place, words, source)
        tap.ok(f"{name} built at {place} is the same bytes", made == built, notes)
    case = f"{name} built without /sys is the same bytes"
    refused = tap.run(*without_sys(["true"])).stderr.strip()
    if refused:
        tap.skip(case, f"a mount namespace is refused: {refused}")
        return
    made, notes = build_at(scratch / "without-sys", words, source, without_sys)
    tap.ok(case, made == built, notes)


def reason_not_to_load():
    """Returns why this host cannot load any BPF program, or None."""
    if not shutil.which("bpftool"):
        return "bpftool is not installed"
    if not os.path.exists("/sys/kernel/btf/vmlinux"):
        return "this kernel does not describe its types (/sys/kernel/btf/vmlinux)"
    asked = tap.run("bpftool", "prog", "show")
    if asked.returncode:
        return f"the kernel refuses BPF: {(asked.stderr or asked.stdout).strip()}"
    mounted = tap.run("unshare", "--mount", "mount", "-t", "bpf", "none", "/mnt")
    return f"a private bpffs is refused: {mounted.stderr.strip()}" if mounted.returncode else None


def load(path):
    """Loads the object. Its pin is in a private mount namespace, so it disappears when the shell exits."""
    return tap.run("unshare", "--mount", "sh", "-ec",
                   'mount -t bpf none /mnt; bpftool prog load "$1" /mnt/loaded; '
                   "bpftool prog show pinned /mnt/loaded; rm /mnt/loaded", "sh", path)


def check_load(name, path):
    case = f"the kernel takes {name}"
    reason = reason_not_to_load()
    if reason:
        tap.skip(case, reason)
        return
    loaded = load(path)
    tap.ok(case, loaded.returncode == 0 and "name " in loaded.stdout, loaded.stderr.splitlines()[-20:])


def main():
    found = list(objects())
    tap.ok("there are objects to look at", bool(found))
    for path, words, source in found:
        with tempfile.TemporaryDirectory() as scratch:
            check_same_bytes(path.name, path, words, source, pathlib.Path(scratch))
        check_load(path.name, path)
    tap.done()


if __name__ == "__main__":
    main()
