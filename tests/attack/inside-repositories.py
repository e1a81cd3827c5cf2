# SPDX-License-Identifier: MIT
"""The command in the sandboxes of attack-repositories.py: tries to change every path that it finds, in every way."""
import ctypes
import json
import os
import random
import sys

libc = ctypes.CDLL(None)
AT_FDCWD, RENAME_EXCHANGE = -100, 2
seed, *roots = json.load(sys.stdin)
rng = random.Random(seed)


def attempt(function, *arguments):
    try:
        function(*arguments)
    except OSError:
        return False
    return True


def write(path):
    with open(path, "ab") as file:
        file.write(b"evil")


def make(path, is_directory):
    if is_directory:
        attempt(os.makedirs, path)
    for name in ("config", "HEAD", "commondir") if is_directory else [""]:
        attempt(write, os.path.join(path, name) if name else path)


def exchange(one, other):
    libc.renameat2(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE)


paths = sorted(os.path.join(folder, name) for root in roots for folder, folders, files in os.walk(root)
               for name in ["", *folders, *files])
directories = [path for path in paths if os.path.isdir(path)]
writable = [path for path in directories if attempt(write, os.path.join(path, "new"))]
for number, path in enumerate(paths):
    there = os.path.join(rng.choice(writable or ["/dev/shm"]), f"link{number}")
    if attempt(os.symlink, path, there):
        attempt(write, there)
        attempt(os.unlink, there)
    if os.path.isfile(path) and attempt(os.link, path, there):
        attempt(write, there)
    attempt(os.chmod, path, 0o777)
    if os.path.isfile(path):
        attempt(write, path)
        attempt(os.truncate, path, 1)
rng.shuffle(paths)
for number, path in enumerate(paths):
    there, is_directory = os.path.join(rng.choice(writable or ["/dev/shm"]), f"moved{number}"), os.path.isdir(path)
    way = rng.randrange(4)
    if way == 0:
        attempt(os.rename, path, path.rstrip("/") + ".moved")
    elif way == 1:
        attempt(os.rename, path, there)
    elif way == 2:
        make(there, is_directory)
        exchange(there, path)
        attempt(os.rename, there, path)
    else:
        attempt(os.rmdir if is_directory else os.unlink, path)
        attempt(os.symlink, "/etc", path)
    make(path, is_directory)
