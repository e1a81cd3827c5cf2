# SPDX-License-Identifier: MIT
"""Plays sbx-spawn for sbx-ctl, without a sandbox: locks its directory, writes its state, forwards signals.

ctl-supervisor.py [OPTION...] -- COMMAND...
  --print-plan        prints what sbx-ctl reads of a plan; a policy's digest is its text
  --policy FILE       the policy
  --check             says that this host supports everything
  --bad               exits with 125 and an error, as for an unknown option
  --id ID             the directory: that of sbx-ctl create, or one of its own
  --deaf              does not forward signals
  --stuck             and does not exit with its command, either
  --fails             exits before the command has run
  --enter             answers sbx-ctl exec
  --slow-start FILE   builds until FILE exists
  --slow-end FILE     cleans up until FILE exists
  --write-out DIRECTORY
                      its text about --out

ctl-supervisor.py ended PID             returns when that process has exited
ctl-supervisor.py terminal COMMAND...   runs it on a terminal and prints what it shows
ctl-supervisor.py lock DIRECTORY COMMAND...
                                        runs it while the directory is locked
"""
import contextlib
import fcntl
import json
import os
import pathlib
import pty
import select
import signal
import socket
import subprocess
import sys
import time

DEADLINE = 300


def runtime():
    return pathlib.Path("/run" if os.geteuid() == 0 else os.environ["XDG_RUNTIME_DIR"], "sbx/sandboxes")


def start_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19])


class Registration:
    def __init__(self, name):
        self.name, self.folder = name, runtime() / name
        self.adopted = (self.folder / "configuration").exists()
        if not self.adopted:
            self.folder.mkdir(mode=0o700, parents=True)
        self.lock = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self.lock, fcntl.LOCK_EX)  # a reader releases it soon
        self.entry = {"id": name, "supervisor": os.getpid(), "supervisor_start": start_of(os.getpid()),
                      "created_usec": int(time.time() * 1e6), "uid": os.geteuid(), "tier": "full"}

    def write(self, state, **members):
        self.entry |= members | {"state": state}
        new = self.folder / "state.json.new"
        new.write_text(json.dumps(self.entry))
        new.rename(self.folder / "state.json")

    def end(self):
        if self.adopted:
            self.write("DESTROYED")
            return
        for path in self.folder.iterdir():
            path.unlink()
        self.folder.rmdir()


def parse(words):
    options = {}
    while words and words[0] != "--":
        name = words.pop(0)
        options[name] = words.pop(0) if name in {"--id", "--policy", "--slow-start", "--slow-end", "--write-out"} else True
    return options, words[1:]


def answer(server):
    connection, _ = server.accept()
    packet, fds, _, _ = socket.recv_fds(connection, 1 << 18, 8)
    if not packet:
        return
    argv = json.loads(packet)["exec"]
    if len(fds) != 3:
        connection.send(json.dumps({"error": f"{len(fds)} fds"}).encode())
        return
    try:
        status = subprocess.run(argv, stdin=fds[0], stdout=fds[1], stderr=fds[2], check=False).returncode
        connection.send(json.dumps({"status": status}).encode())
    except FileNotFoundError as error:
        connection.send(json.dumps({"status": 127, "error": str(error)}).encode())
    except OSError as error:
        connection.send(json.dumps({"error": str(error)}).encode())
    for fd in fds:
        os.close(fd)


def listen(registration):
    server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server.bind(f"/proc/self/fd/{registration.lock}/control.sock")
    server.listen()
    return server


def supervise(command, pidfd, server):
    """Runs until the command ends."""
    while True:
        ready, _, _ = select.select([pidfd] + ([server] if server else []), [], [])
        if server in ready:
            answer(server)
        if pidfd in ready:
            return command.wait()


def await_file(path):
    while path and not os.path.exists(path):
        time.sleep(0.01)


def run(options, argv):
    registration = Registration(options["--id"])
    await_file(options.get("--slow-start"))
    if "--fails" in options:
        print("sbx-spawn: cannot build it\n  why: \x1b[31mit is a test\n  fix: none", file=sys.stderr, flush=True)
        registration.write("FAILED")
        registration.write("DESTROYED", status=125, reason="setup")
        sys.exit(125)
    server = listen(registration) if "--enter" in options else None
    command = subprocess.Popen(argv, stdin=subprocess.DEVNULL)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, signal.SIG_IGN if "--deaf" in options or "--stuck" in options
                      else lambda got, _: command.send_signal(got))
    pidfd = os.pidfd_open(command.pid)
    shown = [os.fsencode(word).decode(errors="replace") for word in argv]
    registration.write("RUNNING", init=command.pid, init_start=start_of(command.pid), argv=shown, cwd=os.getcwd(),
                       may_exec=server is not None, out_directory=options.get("--write-out"))
    status = supervise(command, pidfd, server)
    while "--stuck" in options:
        signal.pause()
    registration.write("STOPPING")
    registration.write("CLEANUP", status=status if status >= 0 else 128 - status,
                       reason="exit" if status >= 0 else "signal")
    await_file(options.get("--slow-end"))
    registration.end()
    sys.exit(registration.entry["status"])


def ended(pid):
    try:
        pidfd = os.pidfd_open(int(pid))
    except ProcessLookupError:
        return
    if not select.select([pidfd], [], [], DEADLINE)[0]:
        sys.exit("it did not end")


def terminal(*command):
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp(command[0], command)
    shown = b""
    with contextlib.suppress(OSError):
        while data := os.read(fd, 4096):
            shown += data
    sys.stdout.buffer.write(shown.replace(b"\r\n", b"\n"))
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def lock(folder, *command):
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    sys.exit(subprocess.run(command, check=False).returncode)


COMMANDS = {"ended": ended, "terminal": terminal, "lock": lock}


def main():
    if len(sys.argv) > 1 and sys.argv[1] in COMMANDS:
        COMMANDS[sys.argv[1]](*sys.argv[2:])
        return
    options, argv = parse(sys.argv[1:])
    if "--bad" in options:
        print('{"level":"error","what":"unknown option \'--bad\'","fix":"see --help"}', file=sys.stderr)
        sys.exit(125)
    if "--print-plan" in options:
        digest = pathlib.Path(options["--policy"]).read_text().strip() if "--policy" in options else None
        print(json.dumps({"tier": "full", "policy_digest": digest, "policy": options.get("--policy"), "uid": 4711}))
    elif "--check" in options:
        print('{"full":{"holds":true}}')
    else:
        run(options, argv)


if __name__ == "__main__":
    main()
