# SPDX-License-Identifier: MIT
"""Sockets for channels, for shell tests.

give KIND COMMAND...       runs the command with a file of this kind under number 9
speak COMMAND...           gives it one end of a pair as 9, sends "from outside", prints the answer, waits until the other
                           end is closed and only then lets the command read the end of its standard input
pair SERVER... --- CLIENT...
                           runs both with one end of a pair each as 9; the status is the server's, and the client's
                           is printed to standard error as "client N"
stop SERVER... --- CLIENT...
                           the same, with a SIGTERM for the server once the client has printed a line
"""
import contextlib
import os
import select
import signal
import socket
import subprocess
import sys

DEADLINE = 240
NUMBER = 9


def closed():
    return None


def a_file():
    return open("/dev/null", "rb")


def a_pipe():
    return os.fdopen(os.pipe()[0], "rb")


def a_terminal():
    return os.fdopen(os.openpty()[1], "rb", buffering=0)


def inet():
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM)


def unconnected():
    return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)


def listening():
    made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    made.bind("")  # the kernel chooses an abstract name
    made.listen()
    return made


OTHER_ENDS = []


def one_of_two(kind):
    given, other = socket.socketpair(socket.AF_UNIX, kind)
    OTHER_ENDS.append(other)  # remains open
    return given


def datagram():
    return one_of_two(socket.SOCK_DGRAM)


def stream():
    return one_of_two(socket.SOCK_STREAM)


KINDS = {"closed": closed, "file": a_file, "pipe": a_pipe, "terminal": a_terminal, "inet": inet, "stream": stream,
         "unconnected": unconnected, "listening": listening, "datagram": datagram}


def start(command, given, **options):
    """Starts the command with a copy of the file as 9 and nothing else of ours."""
    if given is None:
        return subprocess.Popen(command, **options)
    os.dup2(given.fileno(), NUMBER)
    try:
        return subprocess.Popen(command, pass_fds=[NUMBER], **options)
    finally:
        os.close(NUMBER)


def give(kind, *command):
    given = KINDS[kind]()
    return start(command, given).wait(DEADLINE)


def await_end(ours):
    """Returns when the other end is closed."""
    poller = select.poll()
    poller.register(ours, 0)
    if not poller.poll(DEADLINE * 1000):
        sys.exit("the other end is still open")


def speak(*command):
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with start(command, theirs, stdin=subprocess.PIPE) as process:
        theirs.close()
        try:
            ours.settimeout(DEADLINE)
            ours.send(b"from outside")
            print(ours.recv(100).decode(), flush=True)
            await_end(ours)
            print("closed", flush=True)
        finally:
            process.stdin.close()
    return process.returncode


@contextlib.contextmanager
def started(words, **options):
    """The server and the client; what still runs at the end is killed."""
    middle = words.index("---")
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server = start(words[:middle], ends[0])
    client = start(words[middle + 1:], ends[1], **options)
    for end in ends:
        end.close()
    try:
        yield server, client
    finally:
        for process in server, client:
            if process.poll() is None:
                process.kill()


def statuses(server, client):
    print("client", client.wait(DEADLINE), file=sys.stderr)
    return server.wait(DEADLINE)


def pair(*words):
    with started(words) as (server, client):
        return statuses(server, client)


def stop(*words):
    with started(words, stdout=subprocess.PIPE) as (server, client):
        client.stdout.readline()
        server.send_signal(signal.SIGTERM)
        return statuses(server, client)


if __name__ == "__main__":
    assert NUMBER > 8, "numbers of our own files would be overwritten"
    sys.exit({"give": give, "speak": speak, "pair": pair, "stop": stop}[sys.argv[1]](*sys.argv[2:]))
