# SPDX-License-Identifier: MIT
"""clang-format would change nothing in any C file (or in those given as arguments)."""
import collections
import concurrent.futures
import os
import pathlib
import re
import shutil
import sys

import tap


def places(names):
    """Returns where clang-format would change something, as 'FILE:LINE:COLUMN'."""
    finished = tap.run("clang-format", "--dry-run", "-Werror", "--style=file", *names, cwd=tap.SOURCE)
    found = re.findall(r"^(\S+?:\d+:\d+): error:", finished.stderr, re.M)
    return found if found or finished.returncode == 0 else [f"{names[0]}: {finished.stderr.strip()}"]


def main():
    names = [pathlib.PurePath(name) for name in sys.argv[1:]] or tap.files("*.c", "*.h", "*.cc")
    tap.ok("there are files to look at", bool(names))
    if not shutil.which("clang-format"):
        tap.ok("clang-format is installed", False, ["it is one of the 'lint' packages in dependencies"])
        tap.done()
    n_parts = os.cpu_count() or 1
    parts = [part for part in (names[at::n_parts] for at in range(n_parts)) if part]
    with concurrent.futures.ThreadPoolExecutor(n_parts) as pool:
        found = [place for part in pool.map(places, parts) for place in part]
    per_file = collections.Counter(place.split(":")[0] for place in found)
    tap.none("every C file is as clang-format writes it",
             [f"{name}: {count} places; clang-format -i {name}" for name, count in per_file.items()])
    tap.done()


if __name__ == "__main__":
    main()
