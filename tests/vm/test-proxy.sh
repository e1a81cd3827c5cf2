#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout: 600
# The shipped units of sbx-proxy, as the package installs them, under a real systemd: the sandboxes of root and of another
# user have their proxies there.
. "$(dirname "$0")/tap.sh"
work=/var/tmp/proxy

property() { systemctl show --value -p "$1" sbx-proxy.service; }
inside() { sbx-spawn --policy $work/policy.yaml --read $work/ask.py -- python3 $work/ask.py "$@"; }
workers() { pgrep -f '^sbx-proxy worker'; }

prepare()
{
	mkdir -p $work
	cat >$work/policy.yaml <<-'END'
		version: 1
		capabilities:
		  - name: origin
		    match: {op: net.connect, host: origin.test, cidr: 127.0.0.0/8, ports: 8099}
		    action: allow
		  - name: system
		    match: {op: [fs.read, fs.list, fs.exists, exec], path: [/usr, /bin, /lib, /lib64, /etc, /var/tmp/proxy]}
		    action: allow
	END
	cat >$work/ask.py <<-'END'
		import os, socket, sys, time
		s = socket.create_connection(("127.0.0.1", 8080), 300)
		s.sendall(f"GET http://{sys.argv[1]}/ HTTP/1.1\r\nHost: {sys.argv[1]}\r\nConnection: close\r\n\r\n".encode())
		data = b""
		while piece := s.recv(4096):
		    data += piece
		print(data.split(b"\r\n")[0].decode(), data[-6:])
		if len(sys.argv) > 2:
		    sys.stdout.flush()
		    time.sleep(int(sys.argv[2]))
	END
	cat >$work/origin.py <<-'END'
		import socket
		listener = socket.create_server(("127.0.0.1", 8099))
		while True:
		    connection, _ = listener.accept()
		    with connection:
		        connection.recv(4096)
		        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n")
	END
	chmod -R go+rX $work
	grep -q origin.test /etc/hosts || echo '127.0.0.1 origin.test' >>/etc/hosts
	systemd-run --quiet --unit=origin python3 $work/origin.py
	systemctl start sbx-proxy.socket
}

a_sandbox_of_root_reaches_the_host_of_its_policy()
{
	prepare
	answered() { inside origin.test:8099 | grep -q '200 OK.*hello'; }
	within 120 answered
	[ "$(property ActiveState)" = active ]
	[ "$(property User)" = sbx-proxy ]
}

no_other_host_is_reached()
{
	inside other.test:8099 2>$work/err | grep '403 Forbidden'
	grep 'denied other.test:8099' $work/err
}

the_worker_belongs_to_the_service_and_is_confined()
{
	sbx-spawn --id vm-proxy --policy $work/policy.yaml --read $work/ask.py -- python3 $work/ask.py \
		origin.test:8099 600 >$work/out &
	running=$!
	within 120 grep -q '200 OK' $work/out
	pid=$(workers | head -1)
	user=$(stat -c %U "/proc/$pid")
	cp "/proc/$pid/status" "/proc/$pid/cgroup" $work
	sbx-proxy status >$work/shown
	sbx-ctl list --json >$work/listed
	kill $running
	wait $running || :
	[ "$user" = sbx-proxy ]
	grep '^Seccomp:.*2' $work/status
	grep '^CapEff:.*0000000000000000' $work/status
	grep sbx-proxy.service $work/cgroup
	grep vm-proxy $work/shown
	grep '"proxy":"service"' $work/listed
}

the_worker_ends_with_its_sandbox()
{
	none() { ! workers; }
	within 120 none
}

another_user_has_a_proxy_there_as_well()
{
	id visitor >/dev/null 2>&1 || useradd --create-home visitor
	usermod --append --groups sbx visitor
	# shellcheck disable=SC2016 # the inner shell expands it
	setpriv --reuid=visitor --regid=visitor --init-groups env HOME=/home/visitor XDG_RUNTIME_DIR= sh -c \
		"cd && sbx-spawn --policy $work/policy.yaml --read $work/ask.py -- python3 $work/ask.py origin.test:8099" |
		grep '200 OK.*hello'
}

the_service_stops_when_told_to()
{
	systemctl stop sbx-proxy.socket sbx-proxy.service origin.service
	[ "$(property Result)" = success ]
	[ ! -e /run/sbx/proxy.sock ]
	sed -i /origin.test/d /etc/hosts
	rm -r $work
}

run_tests \
	a_sandbox_of_root_reaches_the_host_of_its_policy \
	no_other_host_is_reached \
	the_worker_belongs_to_the_service_and_is_confined \
	the_worker_ends_with_its_sandbox \
	another_user_has_a_proxy_there_as_well \
	the_service_stops_when_told_to
