#!/bin/bash
# SPDX-License-Identifier: MIT
# Networks: none, the host's, and single ports of the loopback.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

# A server on the host's loopback that answers each connection with one line; writes its port to $work/port.
cat >"$work/server.py" <<'PY'
import socket, sys
listener = socket.create_server(("127.0.0.1", int(sys.argv[2])))
with open(sys.argv[1], "w") as file:
    file.write(f"{listener.getsockname()[1]}\n")
while True:
    peer, _ = listener.accept()
    peer.sendall(b"hello from here\n")
    peer.close()
PY
cat >"$work/client.py" <<'PY'
import socket, sys, time
for attempt in range(1200):
    try:
        with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=120) as peer:
            data = peer.makefile().readline()
            if data:
                print(data, end="")
                sys.exit(0)
    except OSError as problem:
        if len(sys.argv) < 3:
            sys.exit(f"no: {problem}")
    time.sleep(0.05)
sys.exit("no: nobody answers")
PY
chmod 644 "$work"/*.py
mkfifo "$work/ready"
python3 "$work/server.py" "$work/ready" 0 &
server=$!
port=$(cat "$work/ready")
trap 'kill $server; rm -rf "$work"' EXIT

for who in $starters; do
	run spawn --read "$work/client.py" -- python3 "$work/client.py" "$port"
	check "without_a_network_no_host_is_reached_by_$who" test "$status" -ne 0 -a "$status" -ne 125
	run spawn -q --net host --read "$work/client.py" -- python3 "$work/client.py" "$port"
	check "our_network_reaches_our_loopback_by_$who" out_is 'hello from here'
	run spawn -v --net host -- true
	check "the_hosts_network_is_said_with_v_by_$who" err_has 'note: network isolation'
	run spawn --connect "$port" --read "$work/client.py" -- python3 "$work/client.py" "$port"
	check "a_port_that_is_named_is_reached_by_$who" out_is 'hello from here'
	run spawn --connect "$((port + 1))" --read "$work/client.py" -- python3 "$work/client.py" "$port"
	check "another_port_is_not_reached_by_$who" test "$status" -ne 0 -a "$status" -ne 125
	# The opposite direction: a server inside, a client outside.
	inside=$(python3 -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])') # unused now
	spawn -q --listen "$inside" --read "$work/server.py" --time 100s -- \
		python3 "$work/server.py" /tmp/port "$inside" >/dev/null 2>&1 &
	sandbox=$!
	run python3 "$work/client.py" "$inside" wait
	check "a_port_inside_that_is_named_answers_by_$who" out_is 'hello from here'
	kill "$sandbox"
	wait "$sandbox"
	run spawn --connect 0 -- true
	check "port_0_is_refused_by_$who" has_status 125
done
finish
