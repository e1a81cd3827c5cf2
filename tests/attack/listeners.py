#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The sockets to which attacks connect: listeners.py DIRECTORY ABSTRACT-NAME; prints "ready" and runs until it is
killed.

DIRECTORY/stream and the abstract name are listening stream sockets, DIRECTORY/datagram is a datagram socket.
"""
import os
import signal
import socket
import sys


def main():
    directory, abstract = sys.argv[1:]
    kept = []
    for kind, name in ((socket.SOCK_STREAM, f"{directory}/stream"), (socket.SOCK_STREAM, f"\0{abstract}"),
                       (socket.SOCK_DGRAM, f"{directory}/datagram")):
        kept.append(socket.socket(socket.AF_UNIX, kind))
        kept[-1].bind(name)
        if not name.startswith("\0"):
            os.chmod(name, 0o777)
        if kind == socket.SOCK_STREAM:
            kept[-1].listen(100)
    print("ready", flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
