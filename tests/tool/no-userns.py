#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a command as an ordinary user where no process may create a user namespace: no-userns.py COMMAND...

Needs root: in a user namespace that maps all users, the limit of further ones is set to 0. The host's own setting
does not change.
"""
import ctypes
import os
import sys

CLONE_NEWUSER = 0x10000000
USER = 1000


def main():
    ready, go = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWUSER) != 0:
            os._exit(99)
        os.write(ready[1], b"x")
        os.read(go[0], 1)
        with open("/proc/sys/user/max_user_namespaces", "w") as limit:
            limit.write("0")
        os.setgroups([])
        os.setresgid(USER, USER, USER)
        os.setresuid(USER, USER, USER)
        os.execvp(sys.argv[1], sys.argv[1:])
    if os.read(ready[0], 1) != b"x":
        sys.exit(99)
    for name in ("uid_map", "gid_map"):
        with open(f"/proc/{pid}/{name}", "w") as ids:
            ids.write("0 0 70000\n")
    os.write(go[1], b"x")
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


if __name__ == "__main__":
    main()
