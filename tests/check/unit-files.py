# SPDX-License-Identifier: MIT
"""systemd accepts each unit as it is installed, and the system calls that a unit needs are in its filter."""
import os
import pathlib
import shutil
import tempfile

import tap

KINDS = ["*.service", "*.socket", "*.timer", "*.slice", "*.target", "*.path"]


def verify(root, unit):
    return tap.run("systemd-analyze", "verify", "--man=no", f"--root={root}", unit,
                   env=os.environ | {"SYSTEMD_LOG_LEVEL": "warning", "SYSTEMD_COLORS": "0"})


def expand(word):
    """The system calls of a word of SystemCallFilter=."""
    if not word.startswith("@"):
        return {word.split(":")[0]}
    lines = tap.must("systemd-analyze", "syscall-filter", word).splitlines()[1:]
    names = [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]
    return set().union(*(expand(name) for name in names))


def allowed(unit):
    """The first line is a list of allowed calls; each later one adds to it, or with "~" takes from it."""
    calls = set()
    for line in unit.read_text().splitlines():
        if not line.startswith("SystemCallFilter="):
            continue
        words = line.removeprefix("SystemCallFilter=")
        these = set().union(*(expand(word) for word in words.removeprefix("~").split()))
        calls = calls - these if words.startswith("~") else calls | these
    return calls


def look_at_filters():
    # directory_drop_privileges() in lib/registry
    for name in "units/sbx-gc.service", "units/user/sbx-gc.service":
        missing = {"fchownat", "fchmodat", "lgetxattr"} - allowed(tap.SOURCE / name)
        tap.ok(f"{name} may take privileges from files", not missing, sorted(missing))


def main():
    names = [name for name in tap.files(*(f"units/{kind}" for kind in KINDS))]
    tap.ok("there are units to look at", bool(names))
    if not shutil.which("systemd-analyze"):
        tap.skip("systemd understands every unit", "systemd-analyze is not installed")
        tap.done()
    look_at_filters()
    with tempfile.TemporaryDirectory() as root:
        tap.must("meson", "install", "-C", tap.BUILD, "--no-rebuild", "--destdir", root)
        place = pathlib.Path(tap.option("prefix").lstrip("/"), tap.option("unitdir"), "system")
        # Units that ours refer to (basic.target and the like) are taken from this host.
        system = pathlib.Path(root, "usr/lib/systemd/system")
        shutil.copytree("/usr/lib/systemd/system", system, symlinks=True, dirs_exist_ok=True)
        for name in names:
            installed = pathlib.Path(root, place, name.name)
            tap.ok(f"{name} is installed", installed.is_file())
            if installed.is_file() and not (system / name.name).exists():
                shutil.copy(installed, system)
            checked = verify(root, name.name)
            tap.ok(f"systemd understands {name}", checked.returncode == 0 and not checked.stderr.strip(),
                   checked.stderr.splitlines())
    tap.done()


if __name__ == "__main__":
    main()
