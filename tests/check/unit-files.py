# SPDX-License-Identifier: MIT
"""systemd accepts each unit as it is installed, and the limits of each unit are those in its comments."""
import os
import pathlib
import shutil
import tempfile

import tap

KINDS = ["*.service", "*.socket", "*.timer", "*.slice", "*.target", "*.path"]


def verify(root, unit):
    return tap.run("systemd-analyze", "verify", "--man=no", f"--root={root}", unit,
                   env=os.environ | {"SYSTEMD_LOG_LEVEL": "warning", "SYSTEMD_COLORS": "0"})


def main():
    names = [name for name in tap.files(*(f"units/{kind}" for kind in KINDS))]
    tap.ok("there are units to look at", bool(names))
    if not shutil.which("systemd-analyze"):
        tap.skip("systemd understands every unit", "systemd-analyze is not installed")
        tap.done()
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
