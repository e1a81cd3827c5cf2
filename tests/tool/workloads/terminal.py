# SPDX-License-Identifier: MIT
"""terminal.py COMMAND...: runs a shell with job control on a terminal, types, and prints what the shell answered."""
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios

SECONDS = 300  # without any output

# The text to type after the given text was printed; <N> is the Nth prompt. No typed line contains such a text.
CHILD = f"'{sys.executable}' '{os.path.realpath(__file__)}' --child\n"
STEPS = [
    ("", "PS1='<\\#>'\n"),
    ("<2>", CHILD),
    ("child runs", "\x1a"),
    ("<3>", "echo \"status=\"$?; jobs | grep -c child\n"),
    ("status=148", ""),
    ("<4>", "fg\n"),
    ("child resumed", "\x03"),
    ("<5>", "echo \"status=\"$?\n"),
    ("status=42", ""),
    ("<6>", "tr a-z A-Z & wait %1; echo \"status=\"$?\n"),
    ("status=149", ""),
    ("<7>", "fg\n"),
    ("tr a-z", "through\n\x04"),
    ("THROUGH", ""),
    ("<8>", "stty size; tty | cut -d / -f 1-3\n"),
    ("33 77", ""),
    ("/dev/pts", ""),
    ("<9>", "exit 9\n"),
]


def child():
    signal.signal(signal.SIGINT, lambda number, frame: sys.exit(42))
    signal.signal(signal.SIGCONT, lambda number, frame: os.write(1, b"child resumed\n"))
    os.write(1, b"child runs\n")  # async-signal-safe: the handler may interrupt print()
    while True:
        signal.pause()


def read_until(master, text, seen):
    while text not in seen:
        if not select.select([master], [], [], SECONDS)[0]:
            sys.exit(f"no '{text.decode()}' after {SECONDS} s, but: {seen}")
        seen += os.read(master, 4096)
    return seen.split(text, 1)[1] if text else seen


def main():
    if sys.argv[1] == "--child":
        child()
    pid, master = pty.fork()
    if pid == 0:
        os.execvp(sys.argv[1], sys.argv[1:])
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
    seen = b""
    for text, typed in STEPS:
        try:
            seen = read_until(master, text.encode(), seen)
        except OSError:
            sys.exit(f"the shell has ended before '{text}'")
        os.write(master, typed.encode())
        print(text, flush=True)
    try:
        while os.read(master, 4096):
            pass
    except OSError:
        pass
    print("status", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


if __name__ == "__main__":
    main()
