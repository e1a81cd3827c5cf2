#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a command whose standard input is a Unix socket: inherit-socket.py datagram|unconnected|connected COMMAND..."""
import os
import socket
import sys

MAKE = {
    "datagram": lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM),
    "unconnected": lambda: (socket.socket(socket.AF_UNIX, socket.SOCK_STREAM),),
    "connected": lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM),
}


def main():
    kept = MAKE[sys.argv[1]]()
    for end in kept[1:]:
        os.set_inheritable(end.fileno(), True)
    os.dup2(kept[0].fileno(), 0)
    os.execvp(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
