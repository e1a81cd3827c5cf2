#!/bin/bash
# SPDX-License-Identifier: MIT
# Network mode proxy, with a proxy that sbx-spawn starts: a program of its own beside sbx-spawn, here one that denies
# every connection.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"
. "$SBX_SOURCE/tests/tool/spawn-proxy.sh"

policy=$project/p.yaml
write_policy() {
	printf 'version: 1\nnet:\n  %s\nnetwork_whitelist:\n  - host.example\ncapabilities:\n  - {name: system, match: {op: [fs.read, fs.list, fs.exists, exec], path: [/usr, /bin, /lib, /lib64, /etc]}, action: allow}\n' "$1" >"$policy"
}
cat >"$work/ask.py" <<'PY'
import os, socket, sys
for address in ("127.0.0.1", "::1"):
    try:
        with socket.create_connection((address, int(sys.argv[1]))) as client:
            client.sendall(b"GET http://other.example/ HTTP/1.1\r\nHost: other.example\r\n\r\n")
            print(client.makefile("rb").read().split(b"\r\n")[0].decode())
    except OSError as error:
        print(error)
PY
ask() { proxied --read "$work/ask.py" "$@" -- python3 "$work/ask.py" 8080; }
twice="HTTP/1.1 403 Forbidden
HTTP/1.1 403 Forbidden"
[ -e /proc/net/if_inet6 ] || twice="HTTP/1.1 403 Forbidden
[Errno 99] Cannot assign requested address"

for who in $starters; do
	places
	run ask --net proxy
	check "a_proxy_answers_at_both_loopbacks_by_$who" out_is "$twice"
	check "a_denied_host_is_named_at_the_end_by_$who" err_has 'warning: denied other.example:80 '
	check "the_rule_and_what_to_write_are_named_by_$who" err_has "  why: web (p.yaml:4) does not allow it
  fix: write '- other.example'"
	check "the_proxy_gets_a_policy_that_cannot_change_by_$who" logged '"seals": true'
	check "the_digest_is_that_of_the_policy_by_$who" logged '"digest": true'
	check "the_listeners_are_bound_where_the_packet_says_by_$who" logged '"127.0.0.1", 8080'
	check "the_proxy_has_only_its_socket_by_$who" logged '"--fd", "3"\], "fds": \[0, 1, 2, 3, [0-9]*\]'
	check "the_proxy_gets_the_user_of_the_sandbox_by_$who" logged "\"argv\": \[\"--uid=$(as "$who" id -u)\", "
	check "the_proxy_is_not_in_the_callers_job_by_$who" logged '"group": true'
	check "the_end_is_told_by_$who" logged '"type": "END"'
	run ask -q --net proxy
	check "with_q_no_denial_is_printed_by_$who" test -z "$err"
	run ask --net proxy --report-fd 7 7>"$work/report"
	check "the_report_lists_the_denials_by_$who" grep -q '"denials":\[{"host":"other.example","port":80' "$work/report"
	check "the_report_says_where_the_proxy_was_by_$who" grep -q '"network":{"mode":"proxy","port":8080,"proxy":"own"' "$work/report"
	run proxied --net proxy --audit-fd 8 -- true 8>"$work/records"
	check "the_proxy_gets_the_fd_of_records_by_$who" logged '"--audit-fd", "4"'

	# A policy whose rules allow hosts implies the mode; one that names it needs no rules.
	write_policy 'unix: []'
	# shellcheck disable=SC2016 # the shell of the sandbox
	run proxied --policy "$policy" -- sh -c 'echo $HTTP_PROXY $NO_PROXY'
	check "rules_without_a_mode_start_a_proxy_by_$who" out_is 'http://127.0.0.1:8080 localhost,127.0.0.1,::1'
	check "the_policys_name_is_told_by_$who" logged "\"policy\": \"$policy\""
	# shellcheck disable=SC2016 # the shell of the sandbox
	run proxied --net proxy --proxy-port 3128 -- sh -c 'echo $all_proxy'
	check "another_port_is_told_to_the_command_by_$who" out_is 'http://127.0.0.1:3128'

	# The registry, while it runs.
	mkfifo "$work/ready.$who"
	proxied --net proxy --id "proxied-$who" -- sh -c 'echo; exec sleep 1000' >"$work/ready.$who" &
	sandbox=$!
	read -r _ <"$work/ready.$who"
	run as "$who" sbx-ctl inspect "proxied-$who"
	check "sbx_ctl_inspect_shows_the_proxy_by_$who" out_has '"network":{"mode":"proxy","proxy":"own","port":8080}'
	run as "$who" sbx-ctl list --json
	check "sbx_ctl_list_shows_the_proxy_by_$who" out_has '"network":{"mode":"proxy"'
	as "$who" sbx-ctl kill "proxied-$who" >/dev/null
	wait "$sandbox"

	# Refused, and lost.
	run proxied_with refuse --net proxy -- echo started
	check "a_proxy_that_refuses_ends_the_start_by_$who" has_status 125
	check "nothing_runs_then_by_$who" out_is ''
	check "its_three_lines_are_printed_by_$who" err_is "sbx-spawn: cannot take the policy
  why: it is damaged
  fix: make another"
	run proxied_with exit --net proxy -- echo started
	check "a_proxy_that_exits_ends_the_start_by_$who" has_status 125
	check "the_command_has_not_run_without_it_by_$who" out_is ''
	run proxied_with die --read "$work/ask.py" --net proxy -- sh -c "python3 $work/ask.py 8080; echo goes on"
	check "the_command_goes_on_without_its_proxy_by_$who" out_has 'goes on'
	check "its_status_is_the_commands_by_$who" has_status 0
	check "the_end_says_that_the_proxy_was_lost_by_$who" err_has 'from then on the command had no network'
	check "no_proxy_is_left_by_$who" no_fake_is_left

	# The loopback of the sandbox is open.
	run proxied --net proxy -- python3 -c 'import socket
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
one, two = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
one.bind(("127.0.0.1", 0)); two.sendto(b"datagram", one.getsockname()); print(one.recv(100))'
	check "servers_and_udp_work_inside_by_$who" out_is "b'datagram'"
	run proxied --net proxy -- python3 -c 'import socket; socket.create_connection(("192.0.2.1", 80))'
	check "no_other_address_is_reached_directly_by_$who" err_has 'Network is unreachable'
done

rm "$fake"
run proxied --net proxy -- true
check a_proxy_that_is_not_installed_ends_the_start has_status 125
check the_refusal_says_what_to_do err_has 'fix: install all of sbx, or type --net none'
finish
