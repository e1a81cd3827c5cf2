# SPDX-License-Identifier: MIT
"""The files that 'meson install' installs."""
import json
import os
import pathlib
import subprocess
import tempfile

import tap

FOREIGN = "sbx"  # the command of another product: no file or link may have this name


def installed(root):
    for folder, below, here in os.walk(root):
        for name in below + here:
            path = pathlib.Path(folder, name)
            yield "/" / path.relative_to(root), path


def main():
    with tempfile.TemporaryDirectory() as root:
        tap.must("meson", "install", "-C", tap.BUILD, "--no-rebuild", "--destdir", root)
        paths = dict(installed(root))
        prefix = pathlib.Path(tap.option("prefix"))
        tap.none(f"no file or link is called exactly '{FOREIGN}'",
                 [str(name) for name, path in paths.items()
                  if name.name == FOREIGN and (path.is_symlink() or not path.is_dir())])
        tap.none("no link leads into the build or nowhere",
                 [f"{name}: leads to {os.readlink(path)}" for name, path in paths.items() if path.is_symlink()
                  and (os.path.isabs(os.readlink(path)) or not path.exists())])
        tap.none("nothing is writable by others or setuid",
                 [f"{name}: mode {path.stat().st_mode & 0o7777:o}" for name, path in paths.items()
                  if not path.is_symlink() and path.stat().st_mode & 0o6002])
        ends = [f"share/man/man1/{{}}.1", "share/bash-completion/completions/{}",
                tap.option("zshdir") + "/_{}", "share/fish/vendor_completions.d/{}.fish", "bin/{}"]
        tap.none("every tool comes with its man page and three completions",
                 [f"{prefix / end.format(tool)}: is missing" for tool in tap.tools() for end in ends
                  if prefix / end.format(tool) not in paths])
        tap.none("no binary tells where it was built",
                 [f"{name}: contains {tree}" for name, path in paths.items()
                  if not path.is_symlink() and path.is_file() and path.read_bytes()[:4] == b"\x7fELF"
                  for tree in {tap.SOURCE, tap.BUILD} if bytes(tree) in loaded(path)])
        tap.none("every program, library, unit and policy that is installed is guarded",
                 unguarded([str(name) for name, path in paths.items() if not path.is_dir() and is_ours(name, prefix)]))
    tap.done()


def is_ours(name, prefix):
    """Without headers, pages and completions, which have no effect on decisions."""
    share = prefix / "share"
    return not any(name.is_relative_to(folder) for folder in (prefix / "include", share / "man", share / "zsh", share / "fish",
                   share / "bash-completion", prefix / tap.option("zshdir"))) and name.parent.name != "pkgconfig"


def unguarded(names):
    """Returns the files that a policy which allows everything would make writable."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as policy:
        policy.write("version: 1\ndefaults: {fs: allow}\n")
        policy.flush()
        requests = "".join(json.dumps({"op": "fs.write", "path": name, "project": "/"}) + "\n" for name in names)
        answers = subprocess.run([tap.BUILD / "tools/sbx-policy", "eval", "--json", policy.name], input=requests,
                                 capture_output=True, text=True, check=False).stdout.splitlines()
    if len(answers) != len(names) or not names:
        return [f"{len(names)} were asked about, {len(answers)} answers came"]
    return [f"{name}: could be written" for name, answer in zip(names, answers)
            if json.loads(answer)["cause"] != "builtin"]


def loaded(path):
    """Returns the bytes after strip; debug information may contain paths of the sources."""
    with tempfile.NamedTemporaryFile() as stripped:
        tap.must("objcopy", "--strip-debug", path, stripped.name)
        return pathlib.Path(stripped.name).read_bytes()


if __name__ == "__main__":
    main()
