# SPDX-License-Identifier: MIT
"""bounded.py SECONDS COMMAND...: runs COMMAND, kills it after SECONDS (status 124), and kills the processes that it
has left.

As a subreaper it becomes the parent of every orphan, so it only kills its own children, each by its PID.
"""
import ctypes
import os
import signal
import sys

PR_SET_CHILD_SUBREAPER = 36


def children():
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as stat:
                _, _, fields = stat.read().rpartition(")")
        except OSError:
            continue
        if int(fields.split()[1]) == os.getpid():
            yield int(name)


def end_children():
    """The children of a killed process become children of this one: repeat until there are none."""
    while True:
        for pid in children():
            os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def wait_for(command):
    while True:
        pid, status = os.wait()
        if pid == command:
            return os.waitstatus_to_exitcode(status)


def main():
    seconds, argv = int(sys.argv[1]), sys.argv[2:]
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)

    def late(number, frame):
        raise TimeoutError

    for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, late)
    signal.alarm(seconds)
    try:
        status = wait_for(os.posix_spawnp(argv[0], argv, os.environ, setsigdef=[signal.SIGPIPE]))
    except TimeoutError:
        print(f"{argv[0]}: ended after at most {seconds} s", file=sys.stderr)
        status = 124
    finally:
        signal.alarm(0)
        end_children()
    sys.exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
