#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Raw requests that attack sbx-proxy, and what of them reaches origins and the DNS.

Each case of proxycases.py is sent to the proxy; proxyrig.py records every connection and byte at any address and every
DNS query. The same cases are sent to a careless proxy first: there they do the harm that they are made for. --peer
tinyproxy or --peer squid prints what these do; nothing is asserted of them.

    attack-proxy.py [--peer NAME]... [--only PART-OF-A-NAME] [--verbose]
"""
import argparse
import collections
import contextlib
import dataclasses
import json
import os
import pathlib
import pwd
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

import proxycases
import proxyrig

PROXY_PORT = 3128
HARMS = ("forbidden", "smuggled", "malformed", "resolved")
HARM_TEXTS = {
    "forbidden": "no socket is reached that no rule allows",
    "smuggled": "nothing that a server reads differently is forwarded",
    "malformed": "nothing of a malformed request is forwarded",
    "resolved": "no name is resolved that no rule allows",
}
# A request after each case: when it is answered, everything before it has arrived.
BARRIER = proxycases.allowed("barrier", proxycases.get(proxycases.URL + "/barrier"),
                             proxycases.origin_form("GET", "/barrier"))


@dataclasses.dataclass(frozen=True)
class Seen:
    status: tuple
    is_stuck: bool
    sockets: frozenset
    data: bytes
    names: frozenset


# ---- judging ----


def harms_of(case, seen):
    """The kinds of harm that were done."""
    found = set()
    if seen.sockets - proxycases.ALLOWED_SOCKETS:
        found.add("forbidden")
    if case.kind == "smuggled" and seen.data and proxycases.matches(case.trace, seen.data):
        found.add("smuggled")
    if case.kind == "malformed" and seen.data:
        found.add("malformed")
    if seen.names - case.names:
        found.add("resolved")
    return found


def expected_status(case, status):
    """A case of several possible statuses names them in place of one."""
    if case.kind in ("malformed", "smuggled") and len(status) == 1:
        return status[0] in case.status
    return status == case.status


def mistakes_of(case, seen):
    """The differences from what the case says, as sentences."""
    found = [f"harm: {harm}" for harm in sorted(harms_of(case, seen))]
    if seen.is_stuck:
        found.append("the client is left waiting")
    if not expected_status(case, seen.status):
        found.append(f"status {seen.status}, expected {case.status}")
    if not (case.origin.startswith(seen.data) if case.is_cut else seen.data == case.origin):
        found.append(f"the origin got {seen.data[:400]!r}, expected {case.origin[:400]!r}")
    if seen.names != case.names:
        found.append(f"resolved {sorted(seen.names)}, expected {sorted(case.names)}")
    if seen.sockets and not (case.origin or case.connects):
        found.append(f"connected to {sorted(seen.sockets)}")
    return found


def plants(case, seen):
    """Observations with one mistake each, which must not pass."""
    yield dataclasses.replace(seen, status=(299,))
    yield dataclasses.replace(seen, status=seen.status + (200,))
    yield dataclasses.replace(seen, data=seen.data + b"X")
    yield dataclasses.replace(seen, data=b"X" + seen.data)
    yield dataclasses.replace(seen, names=seen.names | {"evil.test"})
    yield dataclasses.replace(seen, sockets=seen.sockets | {("127.0.0.1", proxycases.PORT)})
    yield dataclasses.replace(seen, sockets=seen.sockets | {(proxycases.PUBLIC, proxycases.WRONG_PORT)})
    yield dataclasses.replace(seen, is_stuck=True)
    if case.origin and not case.is_cut:
        yield dataclasses.replace(seen, data=b"")
    if case.names:
        yield dataclasses.replace(seen, names=frozenset())


# ---- proxies ----


class Careless:
    """A proxy that resolves first, decides by the text of the name, repairs what it can, and passes on the rest."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client = self.listener.accept()[0]
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client, contextlib.suppress(OSError, ValueError, IndexError):
            data = b""
            while not re.search(rb"\r?\n\r?\n", data):
                piece = client.recv(65536)
                if not piece:
                    return
                data += piece
            self.forward(client, data)

    def forward(self, client, data):
        words = data.split(None, 2)
        target = words[1].decode("latin-1").split("//")[-1]
        host, _, port = target.split("/")[0].split("@")[-1].split("#")[0].strip("[]").rpartition(":")
        host = (host or target.split("/")[0]).split("%")[0].split("\0")[0].strip("[]").rstrip(".")
        addresses = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        number = int(re.sub(r"\D", "", port) or "80") % 65536
        with socket.create_connection((addresses[0][4][0], number), 5) as server:
            if words[0] == b"CONNECT":
                client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                server.sendall(data[re.search(rb"\r?\n\r?\n", data).end():])
            else:
                path = "/" + target.partition("/")[2]
                server.sendall(words[0] + b" " + path.encode("latin-1") + b" " + words[2])
            copier = threading.Thread(target=self.copy, args=(server, client), daemon=True)
            copier.start()
            self.copy(client, server)
            copier.join()

    @staticmethod
    def copy(source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)


def start(stack, command, *fds):
    process = stack.enter_context(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                                   pass_fds=fds))
    stack.callback(process.terminate)
    return process


def start_sbx(stack, directory, port=PROXY_PORT, *more):
    policy = directory / "policy.yaml"
    policy.write_text(proxycases.POLICY)
    program = os.environ.get("SBX_PROXY") or str(pathlib.Path(os.environ["SBX_BUILD"]) / "tools/sbx-proxy")
    records = stack.enter_context(open(directory / "records", "ab")).fileno()
    process = start(stack, [program, "--policy", str(policy), "--listen", f"127.0.0.1:{port}", "--dns", "127.0.0.1:53",
                            "--audit-fd", str(records), *more], records)
    if "listening" not in process.stdout.readline():
        raise SystemExit("sbx-proxy did not start")
    return port


def start_tinyproxy(stack, directory):
    names = "\n".join(f"{'' if name.startswith('.') else '^'}{re.escape(name)}$" for name in proxycases.ALLOWED_NAMES)
    (directory / "filter").write_text(names + "\n")
    (directory / "tinyproxy.conf").write_text(f"""\
Port {PROXY_PORT + 1}
Listen 127.0.0.1
Timeout 20
MaxClients 100
Filter "{directory}/filter"
FilterDefaultDeny Yes
FilterExtended Yes
ConnectPort {proxycases.PORT}
ConnectPort {proxycases.TLS_PORT}
LogFile "{directory}/tinyproxy.log"
DisableViaHeader Yes
""")
    process = start(stack, ["tinyproxy", "-d", "-c", str(directory / "tinyproxy.conf")])
    return proxyrig.wait_for_port(PROXY_PORT + 1, process)


def start_squid(stack, directory):
    user = pwd.getpwuid(os.geteuid()).pw_name
    (directory / "squid.conf").write_text(f"""\
http_port 127.0.0.1:{PROXY_PORT + 2}
dns_nameservers 127.0.0.1
positive_dns_ttl 1 second
negative_dns_ttl 1 second
acl names dstdomain {' '.join(proxycases.ALLOWED_NAMES)}
acl ports port {proxycases.PORT} {proxycases.TLS_PORT}
http_access deny !ports
http_access deny !names
http_access allow all
cache deny all
via off
forwarded_for delete
cache_effective_user {'proxy' if user == 'root' else user}
pid_filename none
access_log none
cache_log {directory}/squid.log
shutdown_lifetime 0 seconds
visible_hostname proxy.test
pinger_enable off
""")
    directory.chmod(0o777)
    process = start(stack, ["squid", "-N", "-f", str(directory / "squid.conf")])
    return proxyrig.wait_for_port(PROXY_PORT + 2, process)


PEERS = {"tinyproxy": start_tinyproxy, "squid": start_squid}


# ---- running ----


class Battery:
    def __init__(self, stack, directory):
        self.directory = directory
        self.zone = directory / "zone.json"
        self.zone.write_text(json.dumps(proxycases.ZONE))
        self.names = None
        self.origins = proxyrig.Origins(stack)

    def observe(self, case, port, patience, half_closes):
        self.names.take()
        self.origins.take()
        status, is_stuck = proxyrig.exchange(case, port, patience, half_closes)
        asked = self.names.take()
        proxyrig.exchange(BARRIER, port, patience)
        log = [entry for entry in self.origins.take() if not entry[2].startswith(b"GET /barrier ")]
        # The connection of the barrier itself.
        with contextlib.suppress(ValueError):
            last = len(log) - 1 - log[::-1].index((proxycases.PUBLIC, proxycases.PORT, b""))
            log.pop(last)
        self.names.take()
        return Seen(status, is_stuck, frozenset(entry[:2] for entry in log), b"".join(entry[2] for entry in log),
                    frozenset(asked))

    def run(self, cases, port, patience, half_closes=False):
        # A DNS server of its own, because the answers to some names change.
        with contextlib.ExitStack() as stack:
            self.names = proxyrig.Names(stack, self.directory, str(self.zone))
            return {case.name: self.observe(case, port, patience, half_closes) for case in cases}


def count_harms(cases, results):
    return collections.Counter(harm for case in cases for harm in harms_of(case, results[case.name]))


class Report:
    def __init__(self):
        self.n = 0
        self.n_failed = 0

    def ok(self, name, passed, notes=()):
        self.n += 1
        self.n_failed += not passed
        for note in [] if passed else notes:
            print("#", note)
        print(f"{'ok' if passed else 'not ok'} {self.n} - {name}", flush=True)

    def done(self):
        print(f"1..{self.n}")
        return 1 if self.n_failed else 0


def assert_careless(report, cases, results):
    harmed = count_harms(cases, results)
    for harm in HARMS:
        report.ok(f"a careless proxy does harm: {harm}", harmed[harm] >= 10, [f"{harm}: {harmed[harm]}"])
    passed = [case.name for case in cases if case.kind != "allowed" and not mistakes_of(case, results[case.name])]
    report.ok("hardly any attack ends well with a careless proxy", len(passed) <= len(cases) // 10, passed)


def assert_sbx(report, cases, results):
    for case in cases:
        report.ok(f"{case.kind}: {case.name}", not (mistakes := mistakes_of(case, results[case.name])), mistakes)
    harmed = count_harms(cases, results)
    for harm in HARMS:
        report.ok(HARM_TEXTS[harm], harmed[harm] == 0, [f"{harmed[harm]} cases"])
    missed = [f"{case.name}: {planted}" for case in cases if not mistakes_of(case, results[case.name])
              for planted in plants(case, results[case.name]) if not mistakes_of(case, planted)]
    report.ok("every planted mistake is found", not missed, missed)


def run_peers(names, battery, cases):
    """Returns the results of each peer that is there."""
    results = {}
    for name in names:
        with contextlib.ExitStack() as stack:
            if not shutil.which(name):
                print(f"# {name} is skipped: it is not installed")
                continue
            directory = battery.directory / name
            directory.mkdir()
            results[name] = battery.run(cases, PEERS[name](stack, directory), 3)
    return results


def print_table(cases, columns, is_verbose):
    """A row for each harm, and if @is_verbose one for each case; a column for each proxy."""
    def row(first, cells):
        print(f"# {first:<40}" + "".join(f"{cell:>24}" for cell in cells))

    row(f"of {len(cases)} cases", columns)
    for harm in HARMS:
        row(harm, [count_harms(cases, results)[harm] for results in columns.values()])
    for case in cases if is_verbose else []:
        row(case.name, [",".join(sorted(harms_of(case, results[case.name]))) or "-".join(
            map(str, results[case.name].status)) or "closed" for results in columns.values()])


def assert_slow_head(report, stack, directory):
    """A client that never ends its head is cut off, though it goes on sending."""
    client = proxyrig.Client(start_sbx(stack, directory, PROXY_PORT + 3, "--head-timeout=1s"), proxyrig.DEADLINE)
    client.socket.settimeout(0.1)
    client.send(b"GET http://", False)
    while not client.has_ended and not client.received:
        client.send(b"a", False)
        client.receive()
    report.ok("the deadline of a head does not move while its bytes arrive", client.received.startswith(
        b"HTTP/1.1 408 "), [repr(client.received)])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--peer", action="append", default=[], choices=sorted(PEERS))
    parser.add_argument("--only", default="")
    parser.add_argument("--verbose", action="store_true")
    values = parser.parse_args()
    proxyrig.enter_namespace()
    cases = [case for case in proxycases.CASES if values.only in case.name]
    report = Report()
    with contextlib.ExitStack() as stack:
        directory = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sbx-proxy-")))
        directory.chmod(0o755)
        proxyrig.use_own_resolver(directory)
        battery = Battery(stack, directory)
        careless = battery.run(cases, Careless().port, 5, half_closes=True)
        if not values.only:
            assert_careless(report, cases, careless)
        with contextlib.ExitStack() as proxies:
            results = battery.run(cases, start_sbx(proxies, directory), 60)
            assert_slow_head(report, proxies, directory)
        assert_sbx(report, cases, results)
        print_table(cases, {"sbx-proxy": results, "careless": careless, **run_peers(values.peer, battery, cases)},
                    values.verbose)
    return report.done()


if __name__ == "__main__":
    sys.exit(main())
