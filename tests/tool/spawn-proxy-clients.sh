#!/bin/bash
# SPDX-License-Identifier: MIT
# Real clients in real sandboxes reach the servers that the policy names, through a proxy of the sandbox's own, and no
# other. The servers have addresses of the public internet in a network namespace of this test, where every address is
# this machine's. TEST_SLOW=1: 2 GB instead of 64 MB.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

if [ "${1:-}" != inside ]; then
	if [ "$(id -u)" -ne 0 ]; then
		skip clients_in_sandboxes 'only root can put a resolv.conf over the one of the system'
		finish
		exit
	fi
	exec unshare -nm --propagation slave "$0" inside
fi

address=93.184.216.34
dns=''
origin=''
nginx=''
end() {
	exec 8>&- 9>&-
	[ -z "$nginx" ] || kill "$nginx"
	for pid in $dns $origin $nginx; do wait "$pid"; done 2>/dev/null
	rm -rf "$work"
}
trap end EXIT

cd "$work" || exit 1
chmod 755 .
export XDG_RUNTIME_DIR=$work/run XDG_STATE_HOME=$work/state
mkdir -m 700 run state
mkdir www project
ip link set lo up && ip route add local 0.0.0.0/0 dev lo && ip -6 route add local ::/0 dev lo || exit 1
echo 'nameserver 127.0.0.1' >resolv.conf
mount --bind resolv.conf /etc/resolv.conf || exit 1
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=origin.test \
	-addext subjectAltName=DNS:origin.test,DNS:other.test 2>/dev/null || exit 1

# Each server ends with the writing end of its fifo.
mkfifo dns-in origin-in dns-out origin-out
python3 "$SBX_SOURCE/tests/tool/proxy-dns.py" --address 127.0.0.1 --port 53 --log "$work/queries" --end-with-stdin \
	"{\"origin.test\": {\"A\": [\"$address\"]}, \"other.test\": {\"A\": [\"$address\"]}, \"inner.test\": {\"A\": [\"10.1.2.3\"]}}" \
	<dns-in >dns-out &
dns=$!
python3 "$SBX_SOURCE/tests/tool/proxy-origin.py" "$work" <origin-in >origin-out &
origin=$!
exec 8>dns-in 9>origin-in
read -r _ <dns-out
read -r _ <origin-out

megabytes=64
[ "${TEST_SLOW:-0}" = 1 ] && megabytes=2048
head -c $((megabytes * 1048576)) /dev/zero | openssl enc -aes-128-ctr -K 0 -iv 0 >www/big 2>/dev/null
big=$(sha256sum <www/big)
big=${big%% *}
echo hello >www/index.html
if command -v nginx >/dev/null; then
	cat >nginx.conf <<-END
		daemon off; worker_processes 1; pid $work/nginx.pid; error_log $work/nginx.log; user root;
		events { worker_connections 4096; }
		http {
			access_log off; client_body_temp_path $work/body; client_max_body_size 0;
			server { listen $address:80; root $work/www; }
			server { listen $address:443 ssl; ssl_certificate $work/cert.pem; ssl_certificate_key $work/key.pem;
				root $work/www; }
		}
	END
	nginx -c "$work/nginx.conf" 2>/dev/null &
	nginx=$!
	until [ -s nginx.pid ] || ! kill -0 "$nginx" 2>/dev/null; do read -rt 0.05 _ <> <(:); done
fi

cat >policy.yaml <<'END'
version: 1
capabilities:
  - name: origin
    match: {op: net.connect, host: origin.test, ports: "80,443,8080,8443"}
    action: allow
  - name: echo
    match: {op: net.connect, host: origin.test, ports: 7}
    action: allow
    constraints: {tls: any}
  - name: inner
    match: {op: net.connect, host: [inner.test, gone.test]}
    action: allow
  - name: closed
    match: {op: net.connect, host: closed.test}
    action: deny
    reason: the office is closed
  - name: system
    match: {op: [fs.read, fs.list, fs.exists, exec], path: [/usr, /bin, /sbin, /lib, /lib64, /etc, "./"]}
    action: allow
  - name: scratch
    match: {op: "fs.*", path: /tmp}
    action: allow
isolation: {limits: {processes: 4096}}
END
sed -i '/^isolation/d' policy.yaml
cp cert.pem project/ca.pem
cd project || exit 1

inside() { run timeout 600 sbx-spawn --policy "$work/policy.yaml" -- "$@"; }
# For long scripts.
inside_python() {
	cat >script.py
	inside python3 script.py
}
is_denied() { [ "$status" -ne 0 ] && err_has "$1"; }

# ---- curl ----

inside curl -sS http://origin.test:8080/
check curl_gets_a_page out_is hello
inside curl -sS --cacert ca.pem https://origin.test:8443/
check curl_gets_a_page_over_tls out_is hello
inside curl -sSv http://origin.test:8080/ http://origin.test:8080/ http://origin.test:8080/
check curl_keeps_its_connection test "$(grep -c 'Re-using existing' "$work/err")" -eq 2
inside curl -sSI http://origin.test:8080/
check a_head_request_that_the_server_refuses_comes_back out_has '501'
inside curl -sS http://origin.test:8080/slow
check chunks_arrive_complete test "$(printf '%s' "$out" | tr -d '\n')" = 0123456789
head -c 3000000 "$work/www/big" >upload
sum=$(sha256sum <upload)
sum=${sum%% *}
inside curl -sS -T upload http://origin.test:8080/
check an_upload_arrives_complete out_is "$sum"
inside sh -c 'curl -sS -X POST -H "Transfer-Encoding: chunked" -T - http://origin.test:8080/ <upload'
check a_chunked_upload_arrives_complete out_is "$sum"
inside curl -sS -T upload -H 'Expect: 100-continue' http://origin.test:8080/
check an_upload_that_waits_for_100_arrives_complete out_is "$sum"
inside curl -sS http://other.test:8080/ -o /dev/null -w '%{http_code}'
check another_host_is_forbidden out_is 403
inside curl -sS http://other.test:8080/
check the_answer_says_what_to_type out_has 'match: { syscall: net.connect, host: "other.test", ports: 8080 }'
check the_end_says_which_host_was_denied err_has other.test:8080
inside curl -sS http://closed.test:8080/
check the_end_says_why_a_rule_denies_it err_has "policy.yaml:13) denies it: the office is closed"
check a_denied_name_is_not_resolved test "$(grep -c other "$work/queries")" -eq 0
inside sh -c 'curl -sS http://gone.test/ http://gone.test/ -o /dev/null -o /dev/null -w "%{http_code} "'
check a_name_that_does_not_exist_is_an_error out_is '502 502 '
check the_end_says_once_which_name_was_not_resolved test "$(grep -c 'did not resolve gone.test:80 2 times' "$work/err")" -eq 1
check it_says_that_the_policy_is_not_the_reason err_has 'why: name-not-found: the host is allowed'
inside curl -sS -k https://origin.test:8443/ --connect-to origin.test:8443:other.test:8443
check another_host_is_forbidden_for_tls is_denied 403
inside curl -sS -k --connect-to other.test:8443:origin.test:8443 https://other.test:8443/
check another_name_in_the_clienthello_is_refused is_denied 'alert access denied'
inside curl -sS http://inner.test/ -o /dev/null -w '%{http_code}'
check a_name_of_a_private_address_is_forbidden out_is 403
inside curl -sS --noproxy '*' --connect-timeout 5 "http://$address:8080/"
check there_is_no_way_beside_the_proxy is_denied 'curl: (7)'
run timeout 600 sbx-spawn --net proxy -- curl -sS http://other.test/
check without_a_policy_the_answer_names_the_option out_has 'fix: name a file with --policy'

# ---- other clients ----

inside_python <<'END'
import http.client, ssl, urllib.request
print(urllib.request.urlopen("http://origin.test:8080/").read())
context = ssl.create_default_context(cafile="ca.pem")
print(urllib.request.urlopen("https://origin.test:8443/", context=context).read())
connection = http.client.HTTPSConnection("127.0.0.1", 8080, context=context)
connection.set_tunnel("origin.test", 8443)
for _ in range(3):
    connection.request("POST", "/", body=iter([b"x"] * 1000), encode_chunked=True)
    answer = connection.getresponse()
    answer.read()
    print(answer.status)
try:
    urllib.request.urlopen("https://other.test/", context=context)
except OSError as error:
    print(error)
END
check python_gets_pages test "$(grep -c "b'hello" "$work/out")" -eq 2
check http_client_keeps_a_tunnel test "$(grep -c '^200$' "$work/out")" -eq 3
check python_shows_why_a_host_is_refused out_has 'other.test:443 is refused, denied'

if command -v node >/dev/null; then
	cat >get.js <<'END'
const http = require("http"), tls = require("tls");
const request = http.request({ host: "127.0.0.1", port: 8080, method: "CONNECT", path: "origin.test:8443",
	headers: { host: "origin.test:8443" } });
request.on("connect", (answer, socket) => {
	const secure = tls.connect({ socket, servername: "origin.test", ca: require("fs").readFileSync("ca.pem") }, () =>
		secure.write("GET / HTTP/1.1\r\nHost: origin.test\r\nConnection: close\r\n\r\n"));
	secure.on("data", (data) => process.stdout.write(data));
});
request.end();
END
	inside node get.js
	check node_gets_a_page_over_tls out_has hello
	inside node -e 'fetch("http://origin.test:8080/").then((r) => r.text()).then((t) => process.stdout.write(t), (e) => console.log(e.cause.code))'
	if out_has hello; then
		check node_fetch_uses_the_proxy out_is hello
	else
		skip node_fetch_uses_the_proxy "node $(node --version) does not read the variables of proxies"
	fi
else
	skip node_gets_a_page_over_tls 'there is no node here'
fi

if command -v npm >/dev/null; then
	inside npm view thing --fetch-retries 0 --registry http://other.test/
	check npm_shows_why_a_host_is_refused is_denied 'other.test:80 is refused, denied'
	inside npm view thing --fetch-retries 0 --registry https://other.test/
	check npm_is_refused_a_host_for_tls is_denied other.test
else
	skip npm_shows_why_a_host_is_refused 'there is no npm here'
fi

if command -v java >/dev/null; then
	cat >Get.java <<'END'
public class Get {
	public static void main(String[] arguments) throws Exception {
		System.out.print(new String(new java.net.URL("http://origin.test:8080/").openStream().readAllBytes()));
		try {
			new java.net.URL("http://other.test:8080/").openStream();
		} catch (java.io.IOException e) {
			System.out.println(e.getMessage());
		}
	}
}
END
	inside java Get.java
	check java_gets_a_page out_has hello
	check java_is_refused_another_host out_has 403
else
	skip java_gets_a_page 'there is no java here'
fi

if [ -n "$nginx" ]; then
	git init -q source && git -C source -c user.name=a -c user.email=a@a commit -q --allow-empty -m first &&
		git clone -q --bare source "$work/www/r.git" && git -C "$work/www/r.git" update-server-info
	for url in http://origin.test/r.git https://origin.test/r.git; do
		inside git -c http.sslCAInfo=ca.pem clone -q $url /tmp/clone
		check "git_clones_over_${url%%:*}" has_status 0
	done
	inside git clone -q http://other.test/r.git /tmp/clone
	check git_shows_the_refusal is_denied 403
	inside sh -c 'curl -sS http://origin.test/big | sha256sum'
	check a_big_file_arrives_complete out_has "$big"
	inside sh -c 'curl -sS --cacert ca.pem https://origin.test/big | sha256sum'
	check a_big_file_arrives_complete_over_tls out_has "$big"
	inside curl -sS -r 100-199 http://origin.test/big -o /dev/null -w '%{http_code} %{size_download}'
	check a_part_of_a_file_is_a_part out_is '206 100'
	mkdir -p "$work/www/simple/thing"
	python3 - "$work/www/simple/thing" <<'END'
import sys
import zipfile
with zipfile.ZipFile(sys.argv[1] + "/thing-1-py3-none-any.whl", "w") as wheel:
    wheel.writestr("thing.py", "x = 1\n")
    wheel.writestr("thing-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: thing\nVersion: 1\n")
    wheel.writestr("thing-1.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: a\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr("thing-1.dist-info/RECORD", "")
with open(sys.argv[1] + "/index.html", "w", encoding="utf-8") as index:
    index.write("<a href='thing-1-py3-none-any.whl'>thing-1-py3-none-any.whl</a>")
END
	if /usr/bin/python3 -m pip --version >/dev/null 2>&1; then
		inside /usr/bin/python3 -m pip download -q --no-cache-dir --trusted-host origin.test -d /tmp/wheels \
			-i http://origin.test/simple/ thing
		check pip_downloads_a_package has_status 0
		inside /usr/bin/python3 -m pip download --no-cache-dir --retries 1 -d /tmp/wheels -i https://other.test/simple/ thing
		check pip_shows_the_refusal is_denied 'other.test:443 is refused'
	else
		skip pip_downloads_a_package 'the system has no pip'
	fi
else
	skip git_clones_over_http 'there is no nginx here'
fi

# ---- streams ----

inside_python <<'END'
import socket
def connect(port):
    s = socket.create_connection(("127.0.0.1", 8080), 300)
    s.sendall(b"CONNECT origin.test:%d HTTP/1.1\r\nHost: origin.test:%d\r\n\r\n" % (port, port))
    data = b""
    while not data.endswith(b"\r\n\r\n"):
        data += s.recv(1)
    return s
s = connect(7)
s.sendall(b"last words ")
s.shutdown(socket.SHUT_WR)
data = b""
while piece := s.recv(100):
    data += piece
print(data.decode())
s = connect(8080)
s.close()
END
check the_end_of_one_direction_leaves_the_other out_is 'last words end'

inside_python <<'END'
import base64, os, socket
s = socket.create_connection(("127.0.0.1", 8080), 300)
s.sendall(b"GET http://origin.test:8080/socket HTTP/1.1\r\nHost: origin.test:8080\r\nConnection: Upgrade\r\n"
          b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + base64.b64encode(os.urandom(16)) + b"\r\n\r\n")
data = b""
while b"\r\n\r\n" not in data:
    data += s.recv(1)
print(data.split(b" ")[1].decode())
s.sendall(bytes([0x81, 0x85, 0, 0, 0, 0]) + b"words")
answer = b""
while len(answer) < 7:
    answer += s.recv(7 - len(answer))
print(answer[2:].decode())
END
check a_websocket_carries_messages out_is "$(printf '101\nwords')"

inside_python <<'END'
import socket
request = b"GET http://origin.test:8080/ HTTP/1.1\r\nHost: origin.test:8080\r\n\r\n"
connections = [socket.create_connection(("127.0.0.1", 8080), 300) for _ in range(1000)]
for s in connections:
    s.sendall(request)
n = 0
for s in connections:
    data = b""
    while not data.endswith(b"hello\n"):
        piece = s.recv(4096)
        if not piece:
            break
        data += piece
    n += data.endswith(b"hello\n")
print(n)
END
check a_thousand_connections_at_once_are_served out_is 1000

inside_python <<'END'
import socket, threading
server = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=lambda: server.accept()[0].sendall(b"inside"), daemon=True).start()
print(socket.create_connection(server.getsockname(), 60).recv(100).decode())
END
check the_loopback_of_the_sandbox_works out_is inside

finish
