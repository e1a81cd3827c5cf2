#!/bin/bash
# SPDX-License-Identifier: MIT
# The network answers of eval match what a command under the policy can do.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

# A server on the host's loopback; writes its port to $work/ready.
cat >"$work/server.py" <<'PY'
import socket, sys
listener = socket.create_server(("127.0.0.1", 0))
with open(sys.argv[1], "w") as file:
    file.write(f"{listener.getsockname()[1]}\n")
while True:
    listener.accept()[0].close()
PY
mkfifo "$work/ready"
python3 "$work/server.py" "$work/ready" &
server=$!
port=$(cat "$work/ready")
trap 'kill $server; rm -rf "$work"' EXIT

policy() { # LINE...
	{
		printf '%s\n' "$@"
		echo 'capabilities:'
		echo ' - {name: system, match: {op: [fs.read, fs.list, fs.exists, exec], path: [/usr, /bin, /lib, /lib64, /etc]}, action: allow}'
		echo ' - {name: web, match: {op: net.connect}, action: allow}'
	} >"$work/p.yaml"
	chmod 644 "$work/p.yaml"
}
evaluate() { run sbx-policy eval "$1" net.connect "127.0.0.1:$port"; }
connect() {
	run spawn -q --policy "$work/p.yaml" -- python3 -c "import socket; socket.create_connection(('127.0.0.1', $port)).close()"
}

policy 'net: {mode: none}'
evaluate "$work/p.yaml"
check without_a_network_eval_denies_an_allowed_host has_status 1
check the_denial_names_the_mode_and_its_line out_has "rule 'net.mode' ($work/p.yaml:1) denies it: net.mode is none"
check the_denial_shows_the_fix out_has "fix: change 'net.mode' ($work/p.yaml:1)"
run sbx-policy explain "$work/p.yaml" net.connect "127.0.0.1:$port"
check explain_names_the_mode out_has "deny rule 'net.mode' ($work/p.yaml:1) applies and decides"
check explain_says_why_the_rule_gives_a_command_nothing out_has 'in a sandbox: narrowed: net.mode is none'
sbx-policy compile "$work/p.yaml" >"$work/p.sbx"
evaluate "$work/p.sbx"
check the_compiled_form_answers_alike has_status 1
connect
check without_a_network_nothing_is_reached test "$status" -ne 0

# A port that net.loopback forwards is the exception, and only at the address that is forwarded.
for mode in none loopback; do
	policy "net: {mode: $mode, loopback: {connect: [$port]}}"
	evaluate "$work/p.yaml"
	check "eval_allows_a_forwarded_port_under_$mode" has_status 0
	run sbx-policy eval "$work/p.yaml" net.connect "localhost:$port"
	check "by_its_name_as_well_under_$mode" has_status 0
	connect
	check "the_server_is_reached_there_under_$mode" has_status 0
	run sbx-policy eval "$work/p.yaml" net.connect "10.0.0.1:$port"
	check "eval_denies_the_port_of_another_host_under_$mode" has_status 1
done
policy "net: {mode: none, loopback: {connect: [$port]}}"
run sbx-policy eval "$work/p.yaml" net.connect "127.0.0.1:1"
check eval_denies_another_port has_status 1
run sbx-policy eval "$work/p.yaml" net.bind "127.0.0.1:$port"
check eval_denies_listening_on_it has_status 1
run sbx-policy eval "$work/p.yaml" net.connect "127.0.0.1:$port" proto=udp
check eval_denies_it_for_udp has_status 1
for denied in 'cidr: 127.0.0.1' 'host: localhost'; do
	policy "net: {mode: none, loopback: {connect: [$port]}}"
	echo " - {name: blocked, match: {op: net.connect, $denied}, action: deny}" >>"$work/p.yaml"
	run sbx-policy eval "$work/p.yaml" net.connect "${denied#*: }:$port"
	check "eval_denies_a_forwarded_port_by_a_rule_about_${denied%%:*}" has_status 1
	connect
	check "nothing_runs_where_a_rule_about_${denied%%:*}_denies_a_forwarded_port" has_status 125
done

policy 'net: {mode: host}'
evaluate "$work/p.yaml"
check on_the_hosts_network_eval_allows has_status 0
connect
check on_the_hosts_network_the_host_is_reached has_status 0
sed -i '/name: web/d' "$work/p.yaml"
evaluate "$work/p.yaml"
check the_hosts_network_needs_no_rule has_status 0
connect
check without_a_rule_the_host_is_reached_there_too has_status 0
run sbx-policy eval "$work/p.yaml" net.bind "127.0.0.1:$port"
check on_the_hosts_network_a_command_may_listen has_status 0

echo '{"sandbox": {"config": {"allowNetworkAccess": true}}}' >"$work/p.json"
evaluate "$work/p.json"
check a_manifest_with_the_network_allows_it has_status 0
run spawn --policy "$work/p.json" --print-plan -- true
check a_manifest_with_the_network_shares_the_hosts out_has "network       the host's, nothing is filtered"
check the_network_is_listed_as_not_enforced out_has 'network isolation'

policy 'version: 1'
evaluate "$work/p.yaml"
check without_a_mode_a_rule_without_cidr_does_not_open_the_loopback has_status 1
check the_builtin_rule_is_named out_has "built-in rule 'builtin:special-addresses' denies it: 127.0.0.0/8 is the loopback"
run sbx-policy eval "$work/p.yaml" net.connect "8.8.8.8:$port"
check without_a_mode_the_rules_answer has_status 0
connect
check without_a_mode_the_hosts_loopback_is_out_of_reach test "$status" -ne 0
run spawn -q --net none --policy "$work/p.yaml" -- true
check an_option_overrides_the_rules has_status 0

# A network mode is not a rule of the file, so no test has to cover it.
policy 'net: {mode: none}'
sed -i '/name: web/d' "$work/p.yaml"
printf 'policy: p.yaml\ntests:\n - {name: one, request: fs.read /usr/a, expect: allow, rules: [system]}\n' >"$work/tests.yaml"
run sbx-policy test --coverage=100 "$work/tests.yaml"
check a_mode_is_not_a_rule_to_cover has_status 0
finish
