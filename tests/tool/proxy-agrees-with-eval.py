# SPDX-License-Identifier: MIT
"""proxy-agrees-with-eval.py SEED N_POLICIES N_REQUESTS [--plant]

Random policies and random requests: sbx-proxy connects to exactly the hosts and addresses that sbx-policy eval allows.
Runs in a network namespace of its own, in which every address is one of this machine, so that a connection to any
address arrives here. With --plant eval is asked about another host, and the comparison must find it.
"""
import argparse
import ipaddress
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading

PORTS = [80, 443, 8001]
DNS_PORT = 5353
PROXY_PORT = 3128
NAMES = ["a.test", "b.test", "c.b.test", "d.c.b.test", "rebind.test", "inner.test", "both.test", "none.test", "B-x.test"]
PUBLIC = ["93.184.216.34", "9.1.1.1", "9.1.2.3", "2606:4700::11", "2a00:1450::5"]
SPECIAL = ["127.0.0.1", "10.1.2.3", "192.168.7.7", "169.254.169.254", "100.64.1.1", "fd00:ec2::254", "::1", "64:ff9b::a01:203",
           "2002:a01:203::1", "::ffff:10.1.2.3", "0.0.0.0", "::", "::ffff:0.0.0.0"]
CIDRS = ["9.0.0.0/8", "9.1.1.0/24", "10.0.0.0/8", "127.0.0.0/8", "169.254.169.254/32", "2606:4700::/32", "fd00::/8", "::1/128",
         "0.0.0.0/0", "::/0"]
HOSTS = ["a.test", "b.test", "'*.b.test'", "'*.test'", "'*'", "inner.test", "c.b.test", "[a.test, both.test]"]
# What allows every address but the loopback, to which the kernel connects for 0.0.0.0 and ::.
NOT_LOCAL = """\
version: 1
net: {mode: proxy}
capabilities:
 - {name: all, action: allow, match: {op: net.connect, cidr: [0.0.0.0/0, "::/0"]}, constraints: {tls: any}}
 - {name: names, action: allow, match: {op: net.connect, host: "*"}, constraints: {tls: any}}
 - {name: local, action: deny, match: {op: net.connect, cidr: [127.0.0.0/8, "::1"]}}
"""
MARKS = ["198.18.0.1", "2001:db8::1"]  # addresses of no zone
WAIT = 120

# Executes a program with the listening socket of the first argument, as a service manager does.
HAND_OVER = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execvp(sys.argv[2], sys.argv[2:])
"""


def rule(rng, number):
    keys = []
    if rng.random() < 0.75:
        keys.append("host: " + rng.choice(HOSTS))
    if rng.random() < 0.4 or not keys:
        keys.append(f"cidr: '{rng.choice(CIDRS)}'")
    if rng.random() < 0.5:
        keys.append("ports: " + rng.choice(["443", "80", "'80,443'", "8000-9000", "'1-65535'"]))
    action = rng.choice(["allow", "allow", "allow", "deny", "warn", "require_review"])
    text = f" - name: r{number}\n   match: {{op: net.connect, {', '.join(keys)}}}\n   action: {action}\n"
    if action == "allow" and rng.random() < 0.5:
        text += "   constraints: {tls: any}\n"
    return text


def make_policy(rng):
    text = "version: 1\nnet: {mode: proxy}\n"
    if rng.random() < 0.15:
        text += "defaults: {net: allow}\n"
    return text + "capabilities:\n" + "".join(rule(rng, i) for i in range(rng.choice([1, 2, 3, 4])))


def make_zone(rng):
    zone = {}
    for name in NAMES[:-2]:
        chosen = [rng.choice(PUBLIC if rng.random() < 0.7 else SPECIAL) for _ in range(rng.choice([1, 1, 2, 3]))]
        zone[name] = {"A": [a for a in chosen if ":" not in a], "AAAA": [a for a in chosen if ":" in a]}
    zone["b-x.test"] = {"A": ["9.1.1.1"]}
    return zone


class Origin(threading.Thread):
    """Answers every request with the address at which it arrived."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listeners = []
        for port in PORTS:
            for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
                listener = socket.socket(family, socket.SOCK_STREAM)
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                listener.bind((address, port))
                listener.listen(128)
                self.listeners.append(listener)
        self.seen = []

    def serve(self, listener):
        while True:
            connection, _ = listener.accept()
            at = connection.getsockname()[:2]
            if at[0] not in MARKS:
                self.seen.append(at)
            with connection:
                connection.settimeout(WAIT)
                data = connection.recv(65536)
                if data.startswith(b"GET "):
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    def settle(self):
        """Returns when all connections until now are in self.seen: a listener serves them in their order, and the proxy
        may answer before the origin accepts.
        """
        for port in PORTS:
            for mark in MARKS:
                with socket.create_connection((mark, port), WAIT) as connection:
                    connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
                    status_of(connection)

    def run(self):
        for listener in self.listeners:
            threading.Thread(target=self.serve, args=(listener,), daemon=True).start()


def status_of(connection):
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            break
        data += more
    return int(data.split(b" ")[1]) if data else 0


def ask_proxy(host, port, is_connect):
    shown = f"[{host}]" if ":" in host else host
    with socket.create_connection(("127.0.0.1", PROXY_PORT), WAIT) as connection:
        if is_connect:
            connection.sendall(f"CONNECT {shown}:{port} HTTP/1.1\r\nHost: {shown}:{port}\r\n\r\n".encode())
        else:
            authority = shown if port == 80 else f"{shown}:{port}"
            connection.sendall(f"GET http://{shown}:{port}/ HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
        return status_of(connection)


def evaluate(policy, requests):
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run(["sbx-policy", "eval", policy, "--json"], input=lines, capture_output=True, text=True, check=False)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if len(answers) != len(requests):
        sys.exit(f"eval gave {len(answers)} answers to {len(requests)} requests: {done.stderr}")
    return answers


def is_allowed(answer):
    return answer["verdict"] in ("allow", "warn")


def addresses_of(zone, host):
    """What the zone has for a name, nothing for an address."""
    records = zone.get(host.lower(), {})
    return records.get("A", []) + records.get("AAAA", [])


def as_one(address):
    """A mapped address as IPv4."""
    address = ipaddress.ip_address(address)
    return getattr(address, "ipv4_mapped", None) or address


class Comparison:
    def __init__(self, directory, seed, plant):
        self.directory = directory
        self.rng = random.Random(seed)
        self.plant = plant
        self.counts = {"connected": 0, "refused": 0, "special": 0}
        self.differences = 0
        self.origin = Origin()
        self.origin.start()

    def start(self, command, wanted):
        """Starts a process and waits for a line of its stdout."""
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
        if wanted:
            process.stdout.readline()
        return process

    def undecided(self, policy, host, port, addresses):
        """The addresses that were reached, but not asked for, and that eval denies."""
        asked = set(map(as_one, addresses or [host]))
        reached = {at for at, _ in self.origin.seen if as_one(at) not in asked}
        questions = [{"op": "net.connect", "host": host if addresses else at, "address": at, "port": port, "proto": "tcp"}
                     for at in reached]
        return [at for at, answer in zip(reached, evaluate(policy, questions) if questions else []) if not is_allowed(answer)]

    def compare(self, policy, log, request, addresses, answers):
        """@answers: to the name alone, then to the name with each of the addresses."""
        host, port, is_connect = request
        with open(log, encoding="utf-8") as file:
            n_before = len(file.readlines())
        del self.origin.seen[:]
        status = ask_proxy(host, port, is_connect)
        self.origin.settle()
        with open(log, encoding="utf-8") as file:
            n_asked = len(file.readlines()) - n_before
        by_address = answers[1:] or ([answers[0]] if not addresses and ":" in host or host[0].isdigit() else [])
        all_allowed = bool(by_address) and all(is_allowed(answer) for answer in by_address)
        connected = status == 200
        self.counts["connected" if connected else "refused"] += 1
        problem = None
        if connected and not all_allowed:
            problem = "the proxy connected, eval denies"
        elif not connected and all_allowed and is_allowed(answers[0]) and status == 403:
            problem = "the proxy refused, eval allows"
        elif connected and not is_allowed(answers[0]) and "address" not in answers[0].get("depends_on", []):
            problem = "the name is denied at any address"
        elif n_asked and not is_allowed(answers[0]) and "address" not in answers[0].get("depends_on", []):
            problem = "a denied name was resolved"
        elif status == 403 and self.origin.seen:
            problem = f"refused, but {self.origin.seen} was reached"
        elif connected and self.undecided(policy, host, port, addresses):
            problem = f"{self.origin.seen} was reached, eval denies it"
        if all_allowed and any(address in SPECIAL for address in addresses or [host]):
            self.counts["special"] += 1
        if problem:
            self.differences += 1
            if not self.plant:
                with open(policy, encoding="utf-8") as file:
                    print(f"# {problem}: {request} {addresses} status {status}\n# " + "# ".join(file.readlines()))

    def compare_all(self, policy, zone, log, n_requests):
        """Starts eval once for all requests: its start takes far longer than an answer."""
        rng = self.rng
        requests, questions = [], []
        for _ in range(n_requests):
            host = rng.choice(NAMES) if rng.random() < 0.75 else rng.choice(PUBLIC + SPECIAL)
            port, is_connect = rng.choice(PORTS), rng.random() < 0.5
            addresses = addresses_of(zone, host)
            base = {"op": "net.connect", "host": "planted.test" if self.plant else host, "port": port, "proto": "tcp"}
            requests.append(((host, port, is_connect), addresses))
            questions += [base] + [dict(base, address=address) for address in addresses]
        answers = iter(evaluate(policy, questions))
        for request, addresses in requests:
            self.compare(policy, log, request, addresses, [next(answers) for _ in range(1 + len(addresses))])

    def run_one(self, n_requests, text):
        rng = self.rng
        policy, log = self.directory + "/p.yaml", self.directory + "/queries"
        with open(policy, "w", encoding="utf-8") as file:
            file.write(text)
        if subprocess.run(["sbx-policy", "check", policy], capture_output=True, check=False).returncode == 2:
            return
        zone = make_zone(rng)
        with open(log, "w", encoding="utf-8"):
            pass
        dns = self.start([sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "proxy-dns.py"), "--address",
                          "127.0.0.1", "--port", str(DNS_PORT), "--log", log, "--end-with-stdin", json.dumps(zone)], True)
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", PROXY_PORT))
        listener.listen(128)
        os.set_inheritable(listener.fileno(), True)
        # The socket listens already, so no request comes too early.
        proxy = subprocess.Popen([sys.executable, "-c", HAND_OVER, str(listener.fileno()), "sbx-proxy", "-q", "--policy", policy,
                                  "--dns", f"127.0.0.1:{DNS_PORT}"], close_fds=False)
        listener.close()
        try:
            self.compare_all(policy, zone, log, n_requests)
        finally:
            proxy.send_signal(signal.SIGTERM)
            proxy.wait(WAIT)
            dns.stdin.close()
            dns.wait(WAIT)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("seed", type=int)
    parser.add_argument("n_policies", type=int)
    parser.add_argument("n_requests", type=int)
    parser.add_argument("--plant", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        comparison = Comparison(directory, options.seed, options.plant)
        if not options.plant:
            comparison.run_one(options.n_requests, NOT_LOCAL)
        for _ in range(options.n_policies):
            comparison.run_one(options.n_requests, make_policy(comparison.rng))
    print(", ".join(f"{n} {what}" for what, n in comparison.counts.items()) + f", {comparison.differences} differences")
    if min(comparison.counts.values()) == 0:
        return 1
    return 0 if (comparison.differences > 0) == options.plant else 1


if __name__ == "__main__":
    sys.exit(main())
