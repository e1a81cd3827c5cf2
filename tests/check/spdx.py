# SPDX-License-Identifier: MIT
"""Each file has a licence identifier in its first three lines, the one for its directory."""
import fnmatch
import re

import tap

TAG = "SPDX-License-" + "Identifier:"
OURS, KERNEL = "MIT", "GPL-2.0-only OR MIT"  # the second one is what "Dual MIT/GPL" means for the kernel

EXEMPT = {
    "LICENSE": "it is the licence",
    "*.md": "documents; LICENSE covers them",
    "*.json": "JSON has no comments; LICENSE covers it",
    "*.gitignore": "a list of names",
    "debian/*": "debian/copyright speaks for them",
    "tests/fuzz/corpus/*": "input, byte for byte",
    "tests/golden/*": "output, byte for byte",
}


def exempt(name):
    path = tap.SOURCE / name
    return not path.is_file() or path.is_symlink() or any(
        fnmatch.fnmatchcase(str(name), pattern) for pattern in EXEMPT)


def expected(name):
    is_bpf = name.name.endswith(".bpf.c") or name.parts[0] == "bpf" and name.suffix == ".h"
    return KERNEL if is_bpf else OURS


def violations(names):
    for name in names:
        head = "\n".join(tap.read(name).splitlines()[:3])
        found = re.search(TAG + r"\s*(.*?)\s*(?:\*/|-->|$)", head, re.M)
        if not found:
            yield f"{name}: none of its first three lines says '{TAG} {expected(name)}'"
        elif found.group(1) != expected(name):
            yield f"{name}: '{found.group(1)}' where '{expected(name)}' is the licence"


def main():
    names = [name for name in tap.files() if not exempt(name)]
    tap.ok("there are files to look at", len(names) > 10)
    tap.none("every file says its licence", violations(names))
    tap.done()


if __name__ == "__main__":
    main()
