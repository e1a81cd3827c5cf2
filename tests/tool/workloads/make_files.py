# SPDX-License-Identifier: MIT
"""make_files.py N: a tree of N files of all sizes, links, hard links and modes."""
import os
import sys

for n in range(int(sys.argv[1])):
    directory = f"tree/{n % 97}/{n % 13}"
    os.makedirs(directory, exist_ok=True)
    with open(f"{directory}/{n}", "w") as file:
        file.write(f"{n}\n" * (n % 200))
    if n % 10 == 0:
        os.symlink(str(n), f"{directory}/{n}.link")
    if n % 50 == 0:
        os.chmod(f"{directory}/{n}", 0o640)
        os.link(f"{directory}/{n}", f"{directory}/{n}.hard")
