#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The CPU time of sbx-proxy per operation, in one run beside squid, tinyproxy, HAProxy and a bare relay.

    proxy.py BUILD [--rounds=N] [--scale=X] [--json]

BUILD is an optimised build. nginx is the origin. Each round runs each proxy once, one after the other; the medians are
printed, with the goals. CPU time is that of the proxy's processes only. A peer that is not installed is left out, with
the reason. Nothing here decides whether a test passes.
"""
import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "attack"))
import proxyrig  # noqa: E402, the network namespace and the DNS server of the attacks

ORIGIN, FIRST_PORT = 8080, 8090
TICKS = os.sysconf("SC_CLK_TCK")
N_FILES = 20000


@dataclasses.dataclass(frozen=True)
class Work:
    name: str
    unit: str
    path: str
    n_connections: int
    n_operations: int
    direct: str = ""  # the mode for a relay that knows no HTTP
    host: str = f"127.0.0.1:{ORIGIN}"
    mode: str = ""


WORKS = [
    Work("connect", "us", "/1k", 32, 3000, direct="direct-connect"),
    Work("connect by name", "us", "/1k", 32, 1500, host=f"origin.test:{ORIGIN}", mode="connect"),
    Work("get", "us", "/1k", 32, 15000),
    Work("bulk", "s/GB", "/16m", 4, 32, direct="direct-bulk"),
]
N_IDLE = 8000
# (work, the proxy that it is compared with, the greatest ratio)
GOALS = [("connect", "squid", 0.75), ("get", "squid", 0.45), ("bulk", "squid", 0.5), ("bulk", "relay", 1.2)]
IDLE_MAX_MB = 52


class Proxy:
    """A running proxy."""

    def __init__(self, name, port, process, speaks=("connect", "connect by name", "get", "bulk"), is_relay=False):
        self.name, self.port, self.process = name, port, process
        self.speaks, self.is_relay = speaks, is_relay

    def processes(self):
        """The process and its descendants."""
        found, left = [], [self.process.pid]
        while left:
            pid = left.pop()
            found.append(pid)
            with contextlib.suppress(OSError):
                for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
                    left += map(int, (task / "children").read_text().split())
        return found

    def cpu_seconds(self):
        """With children that have ended, and ended threads."""
        ticks = 0
        for pid in self.processes():
            with contextlib.suppress(OSError):
                fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                ticks += sum(map(int, fields[11:15]))
        return ticks / TICKS

    def resident_mb(self):
        total = 0
        for pid in self.processes():
            for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith("VmRSS:"):
                    total += int(line.split()[1])
        return total / 1024


# ---- the programs ----


def pinned(cpu, *command):
    return ["taskset", "-c", str(cpu), *map(str, command)] if shutil.which("taskset") and os.cpu_count() > 1 else [
        *map(str, command)]


def start(stack, cpu, command, port, **options):
    process = stack.enter_context(subprocess.Popen(pinned(cpu, *command), stdin=subprocess.DEVNULL,
                                                   stdout=subprocess.DEVNULL, **options))
    stack.callback(process.terminate)
    proxyrig.wait_for_port(port, process)
    return process


def start_origin(stack, directory):
    for name, size in (("1k", 1 << 10), ("16m", 16 << 20)):
        (directory / name).write_bytes(b"x" * size)
    (directory / "nginx.conf").write_text(f"""\
daemon off;
master_process off;
pid {directory}/nginx.pid;
error_log {directory}/nginx.log;
worker_rlimit_nofile {N_FILES};
events {{ worker_connections {N_FILES - 1000}; }}
http {{
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000; client_header_timeout 600s;
  client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy; fastcgi_temp_path {directory}/fastcgi;
  uwsgi_temp_path {directory}/uwsgi; scgi_temp_path {directory}/scgi;
  server {{ listen 127.0.0.1:{ORIGIN} backlog=4096; root {directory}; }}
}}
""")
    start(stack, 0, ["nginx", "-e", directory / "nginx.log", "-c", directory / "nginx.conf"], ORIGIN)


def start_sbx(stack, directory, build, port):
    policy = directory / "policy.yaml"
    policy.write_text(f"""\
version: 1
capabilities:
  - name: origin
    match: {{op: net.connect, cidr: 127.0.0.1/32, ports: [{ORIGIN}], proto: tcp}}
    action: allow
    constraints: {{tls: any}}
  - name: named-origin
    match: {{op: net.connect, host: origin.test, cidr: 127.0.0.1/32, ports: [{ORIGIN}], proto: tcp}}
    action: allow
    constraints: {{tls: any}}
net: {{mode: proxy}}
""")
    records = stack.enter_context(open(directory / "records", "ab")).fileno()
    program = os.environ.get("SBX_PROXY") or build / "tools/sbx-proxy"
    process = start(stack, 1, [program, "--policy", policy, "--listen", f"127.0.0.1:{port}", "--dns", "127.0.0.1:53",
                               "--max-connections", N_IDLE + 100, "--audit-fd", records], port, pass_fds=[records])
    return Proxy("sbx-proxy", port, process)


def start_relay(stack, _, build, port):
    return Proxy("relay", port, start(stack, 1, [build / "tests/bench/proxy-floor", port, ORIGIN], port),
                 ("connect", "bulk"), is_relay=True)


def start_squid(stack, directory, _, port):
    (directory / "squid.conf").write_text(f"""\
http_port 127.0.0.1:{port}
dns_nameservers 127.0.0.1
acl names dstdomain 127.0.0.1 origin.test
acl ports port {ORIGIN}
http_access deny !ports
http_access allow names
http_access deny all
cache deny all
cache_mem 8 MB
max_filedescriptors {N_FILES}
pid_filename none
access_log stdio:{directory}/squid-access.log
cache_log {directory}/squid.log
shutdown_lifetime 0 seconds
visible_hostname proxy.test
pinger_enable off
""")
    return Proxy("squid", port, start(stack, 1, ["squid", "-N", "-f", directory / "squid.conf"], port))


def start_tinyproxy(stack, directory, _, port):
    (directory / "filter").write_text("^127\\.0\\.0\\.1$\n^origin\\.test$\n")
    (directory / "tinyproxy.conf").write_text(f"""\
Port {port}
Listen 127.0.0.1
MaxClients 1000
Filter "{directory}/filter"
FilterDefaultDeny Yes
FilterExtended Yes
ConnectPort {ORIGIN}
LogFile "{directory}/tinyproxy.log"
LogLevel Connect
""")
    # It closes the client's connection after each request.
    return Proxy("tinyproxy", port, start(stack, 1, ["tinyproxy", "-d", "-c", directory / "tinyproxy.conf"], port),
                 ("connect", "connect by name", "bulk"))


def start_haproxy(stack, directory, _, port):
    """It cannot connect to the target of a CONNECT: tunnels are those of its TCP mode, to one server."""
    (directory / "haproxy.cfg").write_text(f"""\
global
  maxconn 2000
  nbthread 1
defaults
  timeout connect 30s
  timeout client 600s
  timeout server 600s
listen tunnels
  mode tcp
  option splice-auto
  bind 127.0.0.1:{port}
  server origin 127.0.0.1:{ORIGIN}
""")
    return Proxy("haproxy", port, start(stack, 1, ["haproxy", "-f", directory / "haproxy.cfg"], port),
                 ("connect", "bulk"), is_relay=True)


PROXIES = [("sbx-proxy", None, start_sbx), ("relay", None, start_relay), ("squid", "squid", start_squid),
           ("tinyproxy", "tinyproxy", start_tinyproxy), ("haproxy", "haproxy", start_haproxy)]


# ---- measuring ----


def measure(build, proxy, work, scale):
    """CPU time per operation in microseconds, or per gigabyte in seconds."""
    n = max(work.n_connections, int(work.n_operations * scale))
    mode = work.direct if proxy.is_relay else work.mode or work.name
    before = proxy.cpu_seconds()
    done = subprocess.run(pinned(0, build / "tests/bench/proxy-load", mode, proxy.port, work.host, work.path,
                                 work.n_connections, n), stdout=subprocess.PIPE, text=True, check=False)
    spent = proxy.cpu_seconds() - before
    if done.returncode != 0:
        return None
    return spent / (int(done.stdout) / 1e9) if work.unit == "s/GB" else spent / n * 1e6


def measure_idle(build, proxy):
    """Resident memory with that many open tunnels."""
    with subprocess.Popen(pinned(0, build / "tests/bench/proxy-load", "idle", proxy.port, f"127.0.0.1:{ORIGIN}", "/",
                                 N_IDLE, N_IDLE), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as load:
        is_ready = load.stdout.readline() == "ready\n"
        resident = proxy.resident_mb()
        load.stdin.close()
    return resident if is_ready else None


def run(stack, build, directory, values):
    """Returns {work: {proxy: median}}; None where a proxy has failed."""
    proxies = []
    for i, (name, program, starter) in enumerate(PROXIES):
        if program and not shutil.which(program):
            print(f"{name} is left out: it is not installed")
            continue
        own = directory / name
        own.mkdir(mode=0o777)
        own.chmod(0o777)
        proxies.append(starter(stack, own, build, FIRST_PORT + i))
    works = [work for work in WORKS if values.only in (None, work.name)]
    results = {work.name: {proxy.name: [] for proxy in proxies if work.name in proxy.speaks} for work in works}
    for _ in range(values.rounds):
        for work in works:
            for proxy in proxies:
                if work.name in proxy.speaks:
                    results[work.name][proxy.name].append(measure(build, proxy, work, values.scale))
    if not values.only:
        results["idle"] = {proxy.name: [measure_idle(build, proxy)] for proxy in proxies
                           if proxy.name in ("sbx-proxy", "squid")}
    return {work: {name: None if None in numbers else statistics.median(numbers) for name, numbers in row.items()}
            for work, row in results.items()}


def print_results(results):
    units = {work.name: work.unit for work in WORKS} | {"idle": "MB"}
    names = [name for name, *_ in PROXIES]
    print(f"{'':<24}" + "".join(f"{name:>12}" for name in names))
    for work, row in results.items():
        cells = ["failed" if name in row and row[name] is None else f"{row[name]:.3g}" if name in row else "-"
                 for name in names]
        print(f"{work + ', ' + units[work]:<24}" + "".join(f"{cell:>12}" for cell in cells))
    for work, other, most in GOALS:
        row = results.get(work, {})
        if row.get(other) and row.get("sbx-proxy"):
            ratio = row["sbx-proxy"] / row[other]
            print(f"{work}: {ratio:.2f} of {other}, goal {most}: {'held' if ratio <= most else 'MISSED'}")
    if idle := results.get("idle", {}).get("sbx-proxy"):
        print(f"{N_IDLE} idle tunnels: {idle:.1f} MB, goal {IDLE_MAX_MB}: {'held' if idle <= IDLE_MAX_MB else 'MISSED'}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--only", choices=[work.name for work in WORKS])
    parser.add_argument("--json", action="store_true")
    values = parser.parse_args()
    if not shutil.which("nginx"):
        print("nothing is measured: nginx is not installed")
        return 0
    proxyrig.enter_namespace()
    resource.setrlimit(resource.RLIMIT_NOFILE, (N_FILES, N_FILES))
    with contextlib.ExitStack() as stack:
        directory = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sbx-bench-proxy-")))
        directory.chmod(0o755)
        zone = directory / "zone.json"
        zone.write_text(json.dumps({"origin.test": {"A": ["127.0.0.1"]}}))
        proxyrig.Names(stack, directory, str(zone))
        proxyrig.use_own_resolver(directory)
        start_origin(stack, directory)
        results = run(stack, values.build.resolve(), directory, values)
    if values.json:
        print(json.dumps(results))
    else:
        print_results(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
