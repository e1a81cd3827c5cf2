#!/bin/bash
# SPDX-License-Identifier: MIT
# Network mode loopback: servers and clients work inside as outside, but cannot reach the host.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

# Prints the same inside and outside.
cat >"$work/sockets.py" <<'PY'
import asyncio, socket, tempfile, threading

def talk(listener, client):
    thread = threading.Thread(target=lambda: listener.accept()[0].sendall(b"hello"))
    thread.start()
    with client:
        print(client.makefile("rb").read())
    thread.join()
    listener.close()

for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"), (socket.AF_INET, "127.1.2.3")):
    listener = socket.create_server((address, 0), family=family)
    talk(listener, socket.create_connection(listener.getsockname()[:2]))
    one, two = socket.socket(family, socket.SOCK_DGRAM), socket.socket(family, socket.SOCK_DGRAM)
    one.bind((address, 0))
    two.sendto(b"datagram", one.getsockname())
    print(one.recv(100))
listener = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
talk(listener, socket.create_connection(("127.0.0.1", listener.getsockname()[1])))
listener = socket.create_server(("", 0))
talk(listener, socket.create_connection(("localhost", listener.getsockname()[1])))
with tempfile.TemporaryDirectory() as directory:
    for name in (directory + "/named", f"\0{directory}"):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(name)
        listener.listen()
        client = socket.socket(socket.AF_UNIX)
        client.connect(name)
        talk(listener, client)
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
    one, two = socket.socketpair(socket.AF_UNIX, kind)
    one.send(b"pair")
    print(two.recv(100))
print("lo" in (name for _, name in socket.if_nameindex()))

async def serve():
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "localhost", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
    print(await reader.read())
    writer.close()

asyncio.run(serve())
PY
cat >"$work/fetch.py" <<'PY'
import subprocess, sys, urllib.request
server = subprocess.Popen([sys.executable, "-u", "-m", "http.server", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True)
try:
    port = int(server.stdout.readline().split(" port ")[1].split()[0])
    print("served" if urllib.request.urlopen(f"http://127.0.0.1:{port}/").status == 200 else "not served")
finally:
    server.kill()
    server.wait()
PY
cat >"$work/fetch.js" <<'JS'
const http = require('http');
const hosts = ['127.0.0.1', '::1'];
const next = () => {
	const host = hosts.shift();
	if (!host) {
		console.log(Object.keys(require('os').networkInterfaces()).includes('lo'));
		return;
	}
	const server = http.createServer((request, response) => response.end('served')).listen(0, host, async () => {
		const name = host.includes(':') ? `[${host}]` : host;
		const answer = await fetch(`http://${name}:${server.address().port}/`);
		console.log(host, await answer.text());
		server.closeAllConnections();
		server.close(next);
	});
};
next();
JS
# Attempts to reach the host: each line is one attempt and its result. Arguments: a port that listens on all addresses
# of the host, and one of the addresses.
cat >"$work/out.py" <<'PY'
import socket, sys

def attempt(name, way):
    try:
        way()
        print(name, "open")
    except OSError:
        print(name, "closed")

def datagram(address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect(address)
        sender.send(b"x")  # an ICMP error for this packet is reported by the next call
        sender.send(b"x")

port, address, abstract = int(sys.argv[1]), sys.argv[2], "\0" + sys.argv[3]
attempt("loopback", lambda: socket.create_connection(("127.0.0.1", port)))
attempt("loopback6", lambda: socket.create_connection(("::1", port)))
attempt("wildcard", lambda: socket.create_connection(("0.0.0.0", port)))
attempt("datagram", lambda: datagram(("127.0.0.1", port)))
if address:
    attempt("address", lambda: socket.create_connection((address, port)))
    attempt("datagram-address", lambda: datagram((address, port)))
attempt("abstract", lambda: socket.socket(socket.AF_UNIX).connect(abstract))
PY
cat >"$work/protocols.py" <<'PY'
import errno, socket
TCP_ULP, UDPLITE, MPTCP, SCTP, SOCK_DIAG = 31, 136, 262, 132, 4

def attempt(name, way):
    try:
        way()
        print(name, "open")
    except OSError as problem:
        print(name, errno.errorcode[problem.errno])

for name, arguments in (("raw", (socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)),
                        ("raw-tcp", (socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_TCP)),
                        ("ping", (socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)),
                        ("udplite", (socket.AF_INET6, socket.SOCK_DGRAM, UDPLITE)),
                        ("mptcp", (socket.AF_INET, socket.SOCK_STREAM, MPTCP)),
                        ("sctp", (socket.AF_INET, socket.SOCK_STREAM, SCTP)),
                        ("packet", (socket.AF_PACKET, socket.SOCK_DGRAM, 0)),
                        ("vsock", (socket.AF_VSOCK, socket.SOCK_STREAM, 0)),
                        ("diagnosis", (socket.AF_NETLINK, socket.SOCK_RAW, SOCK_DIAG))):
    attempt(name, lambda: socket.socket(*arguments))
attempt("ulp", lambda: socket.socket().setsockopt(socket.IPPROTO_TCP, TCP_ULP, b"tls"))
PY
# A server on every address, TCP, UDP and an abstract name; writes its port to $work/ready.
cat >"$work/server.py" <<'PY'
import socket, sys, threading
listener = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
port = listener.getsockname()[1]
datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
datagrams.bind(("0.0.0.0", port))
abstract = socket.socket(socket.AF_UNIX)
abstract.bind("\0" + sys.argv[2])
abstract.listen(100)
with open(sys.argv[1], "w") as file:
    file.write(f"{port}\n")
while True:
    listener.accept()[0].close()
PY
# Connects again and again and prints each result that differs from the one before. The first connection that is
# answered stays open and is used again at the end. Argument: the port.
cat >"$work/client.py" <<'PY'
import errno, socket, sys, time

def attempt():
    try:
        peer = socket.create_connection(address)
        answer = peer.recv(10).decode() or "ended"
        return answer, peer
    except OSError as problem:
        return errno.errorcode[problem.errno], None

address = ("127.0.0.1", int(sys.argv[1]))
last, first = "", None
while last != "end":
    result, peer = attempt()
    first = first or peer
    if result != last:
        print(result, flush=True)
        if result == "ECONNREFUSED" and first:
            taker = socket.socket()
            taker.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                taker.bind(address)
                print("taken", flush=True)
            except OSError:
                pass
    last = result
    time.sleep(0.02)
first.sendall(b"still")
print(first.recv(10).decode())
PY
# Runs the command, whose output is that of client.py, and lets a server listen, end and listen again when the client
# has reported what it got before. Arguments: a free port, "blind" to refuse AF_NETLINK sockets to the command, the
# command.
cat >"$work/late.py" <<'PY'
import ctypes, os, platform, socket, struct, subprocess, sys, threading

def refuse_netlink():
    libc = ctypes.CDLL(None, use_errno=True)
    number = {"x86_64": 41, "aarch64": 198}[platform.machine()]
    rules = b"".join(struct.pack("HBBI", *rule) for rule in (
        (0x20, 0, 0, 0), (0x15, 0, 3, number), (0x20, 0, 0, 16), (0x15, 0, 1, socket.AF_NETLINK),
        (0x06, 0, 0, 0x00050000 | 97), (0x06, 0, 0, 0x7fff0000)))
    class Program(ctypes.Structure):
        _fields_ = [("n", ctypes.c_ushort), ("rules", ctypes.c_char_p)]
    program = Program(len(rules) // 8, rules)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "no filter")

def serve(answer):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(sys.argv[1])))
    listener.listen(100)
    peers = []
    def accept():
        try:
            while True:
                peers.append(listener.accept()[0])
                peers[-1].sendall(answer)
        except OSError:
            pass
    threading.Thread(target=accept, daemon=True).start()
    return listener, peers

def echo(peer):
    while data := peer.recv(10):
        peer.sendall(data)

client = subprocess.Popen(sys.argv[3:], stdout=subprocess.PIPE, text=True,
                          preexec_fn=refuse_netlink if sys.argv[2] == "blind" else None)
heard = lambda: print(client.stdout.readline(), end="", flush=True)
heard()
listener, peers = serve(b"served")
heard()
listener.shutdown(socket.SHUT_RDWR)
listener.close()
heard()
if sys.argv[2] == "seeing":
    heard()
for peer in peers:
    threading.Thread(target=echo, args=(peer,), daemon=True).start()
serve(b"end")
heard()
heard()
print(client.wait())
os._exit(0)
PY
cat >"$work/wait.py" <<'PY'
import sys, time, urllib.request
for attempt in range(1200):
    try:
        print(urllib.request.urlopen(sys.argv[1]).status)
        break
    except OSError:
        time.sleep(0.05)
PY
cat >"$work/nginx.conf" <<'NGINX'
pid /tmp/nginx.pid;
error_log /tmp/error.log;
events {}
http {
	access_log off;
	client_body_temp_path /tmp/body;
	proxy_temp_path /tmp/proxy;
	fastcgi_temp_path /tmp/fastcgi;
	uwsgi_temp_path /tmp/uwsgi;
	scgi_temp_path /tmp/scgi;
	server {
		listen 127.0.0.1:8080;
		listen [::1]:8080;
		location / { return 200 served; }
	}
}
NGINX
chmod 644 "$work"/*.py "$work"/*.js "$work"/*.conf
abstract=sbx-loopback-$$
mkfifo "$work/ready"
python3 "$work/server.py" "$work/ready" "$abstract" &
server=$!
port=$(cat "$work/ready")
trap 'kill $server; rm -rf "$work"' EXIT
address=$(hostname --all-ip-addresses 2>/dev/null | tr ' ' '\n' | grep -v -e : -e '^$' | head -n 1)
read_only=(--read "$work")

has() { command -v "$1" >/dev/null || [ -x "$1" ]; }
inside() { spawn -q "${read_only[@]}" "$@"; }
same_as_outside() { [ -n "$out" ] && [ "$out" = "$expected" ]; }

check every_way_out_is_open_without_a_sandbox \
	test "$(python3 "$work/out.py" "$port" "$address" "$abstract" | grep -c -v ' open$')" -eq 0
expected=$(python3 "$work/sockets.py")
for who in $starters; do
	run inside -- python3 "$work/sockets.py"
	check "sockets_work_as_outside_by_$who" same_as_outside
	run inside -- python3 "$work/fetch.py"
	check "http_server_of_python_has_a_client_by_$who" out_is served
	run inside -- python3 "$work/out.py" "$port" "$address" "$abstract"
	check "no_way_out_is_open_by_$who" test "$status" -eq 0 -a -n "$out" -a "$(grep -c ' open$' "$work/out")" -eq 0
	run inside --connect "$port" -- python3 "$work/out.py" "$port" "$address" "$abstract"
	check "a_port_of_the_host_opens_that_port_alone_by_$who" \
		test "$(grep ' open$' "$work/out" | tr '\n' ' ')" = 'loopback open wildcard open '
	run inside -- python3 "$work/protocols.py"
	check "only_tcp_and_udp_are_there_by_$who" test "$status" -eq 0 -a "$(wc -l <"$work/out")" -eq 10 \
		-a "$(grep -c open "$work/out")" -eq 0
	check "tcp_has_no_upper_layer_by_$who" out_has 'ulp ENOPROTOOPT'
	run inside --net none -- python3 "$work/sockets.py"
	check "none_has_no_ip_sockets_by_$who" err_has 'Address family not supported'
	run inside --template code-executor -- python3 "$work/sockets.py"
	check "a_template_has_no_ip_sockets_by_$who" err_has 'Address family not supported'
	run inside --connect "$port" -- python3 "$work/sockets.py"
	check "a_port_of_the_host_limits_no_other_by_$who" same_as_outside
	# Without sock_diag(7) the listener stays open, and a connection is reset.
	for sight in seeing blind; do
		results=(ECONNREFUSED served ECONNRESET ECONNREFUSED end still 0)
		[ "$sight" = seeing ] || results=(ECONNRESET served ECONNRESET end still 0)
		free=$(python3 -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])') # unused now
		places
		run as "$who" timeout 60 python3 "$work/late.py" "$free" "$sight" sbx-spawn -q "${read_only[@]}" --connect "$free" \
			-- python3 "$work/client.py" "$free"
		check "a_port_of_the_host_is_refused_while_no_program_listens_${sight}_by_$who" \
			out_is "$(printf '%s\n' "${results[@]}")"
	done
done

# A server that accepts one connection serves the command's, also where sock_diag cannot be used.
cat >"$work/once.py" <<'PY'
import os, socket, subprocess, sys, threading
exec(open(sys.argv[1] + "/late.py").read().split("def serve")[0])
listener = socket.create_server(("127.0.0.1", 0))
port = str(listener.getsockname()[1])
def serve():
    peer = listener.accept()[0]
    listener.close()
    peer.sendall(b"served")
    peer.close()
threading.Thread(target=serve, daemon=True).start()
client = "import socket; print(socket.create_connection(('127.0.0.1', %s)).recv(9).decode())" % port
os._exit(subprocess.run([*sys.argv[2:], "--connect", port, "--", "python3", "-c", client], preexec_fn=refuse_netlink).returncode)
PY
# A probe must not keep a server of the host from binding the port: with few ephemeral ports, of which the port is one,
# a probe from 127.0.0.1 soon connects to itself.
cat >"$work/bind.py" <<'PY'
import fcntl, socket, struct, subprocess, sys, time
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh14x", b"lo", 1))
with open("/proc/sys/net/ipv4/ip_local_port_range", "w") as ports:
    ports.write("40000 40003")
command = subprocess.Popen([*sys.argv[1:], "--connect", "40002", "--", "sleep", "600"])
time.sleep(4)
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
try:
    server.bind(("127.0.0.1", 40002))
    server.listen()
    print("bound")
finally:
    command.terminate()
    command.wait()
PY
chmod 644 "$work"/*.py
for who in $starters; do
	places
	run as "$who" timeout 60 python3 "$work/once.py" "$work" sbx-spawn -q
	check "no_connection_of_a_server_is_used_up_by_$who" out_is served
done
if [ "$(id -u)" = 0 ]; then
	run timeout 60 unshare -n python3 "$work/bind.py" sbx-spawn -q
	check a_closed_port_of_the_host_can_be_bound out_is bound
else
	skip a_closed_port_of_the_host_can_be_bound 'only root can create a network namespace here'
fi

who=user
if has /usr/bin/node; then
	expected=$(/usr/bin/node "$work/fetch.js")
	run inside -- /usr/bin/node "$work/fetch.js"
	check node_serves_and_fetches same_as_outside
else
	skip node_serves_and_fetches 'node is not installed'
fi

if has /usr/sbin/nginx; then
	cat >"$work/nginx.sh" <<'SH'
/usr/sbin/nginx -e /tmp/error.log -c "$1/nginx.conf" -g 'daemon off;' &
nginx=$!
python3 "$1/wait.py" http://127.0.0.1:8080/
python3 "$1/wait.py" 'http://[::1]:8080/'
kill "$nginx"
wait "$nginx"
SH
	run inside -- sh "$work/nginx.sh" "$work"
	check nginx_answers_on_both_families out_is "$(printf '200\n200')"
else
	skip nginx_answers_on_both_families 'nginx is not installed'
fi

if has redis-server && has redis-cli; then
	cat >"$work/redis.sh" <<'SH'
redis-server --dir /tmp --save '' --unixsocket /tmp/redis >/tmp/log &
redis=$!
until redis-cli ping >/dev/null 2>&1; do kill -0 "$redis" || exit 1; done
redis-cli set a b
redis-cli -h ::1 get a
redis-cli -s /tmp/redis get a
redis-cli shutdown nosave
wait "$redis"
SH
	run inside -- sh "$work/redis.sh"
	check redis_answers_on_all_sockets out_is "$(printf 'OK\nb\nb')"
else
	skip redis_answers_on_all_sockets 'redis is not installed'
fi

postgres=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)
if [ -n "$postgres" ]; then
	echo 'tester:x:1000:1000::/tmp:/bin/sh' >"$work/passwd"
	chmod 644 "$work/passwd"
	cat >"$work/postgres.sh" <<'SH'
PATH=$1:$PATH
initdb -D /tmp/data -A trust --no-sync >/dev/null &&
	pg_ctl -D /tmp/data -w -l /tmp/log -o '-k /tmp -h 127.0.0.1,::1' start >/dev/null || exit
for host in 127.0.0.1 ::1 /tmp; do psql -h "$host" -d postgres -Atc 'select 6 * 7'; done
pg_ctl -D /tmp/data -m fast stop >/dev/null
SH
	run inside --bind "$work/passwd:/etc/passwd:ro" -- sh "$work/postgres.sh" "$postgres"
	check postgres_answers_on_all_sockets out_is "$(printf '42\n42\n42')"
else
	skip postgres_answers_on_all_sockets 'postgres is not installed'
fi
finish
