#!/bin/sh
# SPDX-License-Identifier: MIT
# SIGHUP: a new policy is in force for new requests and for open connections; a broken one changes nothing.
. "$SBX_SOURCE/tests/tool/tap.sh"
. "$SBX_SOURCE/tests/tool/proxy.sh"

reload() { # FILE: renamed into place, as 'sbx-policy update' does it
	n_before=$(grep -c "$2" "$work/log")
	cp "$1" policy.new && mv policy.new policy.yaml
	kill -HUP "$(cat "$work/proxy.pid")"
	timeout 120 sh -c 'until [ "$(grep -c "$1" "$2")" -gt "$3" ]; do read -t 1 _ <"$4" || true; done' \
		sh "$2" "$work/log" "$n_before" "$work/never"
}

mkfifo "$work/never"
exec 8<>"$work/never"
allow "$origin" >first
sed 's/action: allow/action: allow\n    constraints: { tls: any }/' first >policy.yaml
{ echo 'version: 1' && echo 'capabilities: 3'; } >broken
{ echo 'version: 1' && echo 'capabilities: []'; } >nothing
run start_proxy --policy policy.yaml
proxy tunnel "$work/proxy" "127.0.0.1:$origin" >"$work/tunnel" 8<&- &
tunnel=$!
run proxy get "$work/proxy" "http://127.0.0.1:$origin/before"
check the_first_policy_allows_the_server out_has 200

run reload broken 'cannot reload'
run proxy get "$work/proxy" "http://127.0.0.1:$origin/between"
check a_broken_policy_leaves_the_old_one_in_force out_has 200
check the_log_says_what_is_broken grep -q 'policy.yaml:2:' "$work/log"
check so_does_a_record recorded policy_error 'policy.yaml:2:'
check no_update_is_recorded_then test "$(grep -c '"event":"policy_update"' "$work/records")" -eq 0

run reload nothing 'a new policy is in force'
run proxy get "$work/proxy" "http://127.0.0.1:$origin/after"
check a_new_policy_is_in_force_for_new_requests out_has 403
wait "$tunnel"
check an_open_tunnel_that_it_denies_is_closed grep -qx closed "$work/tunnel"
check the_tunnel_was_open_before grep -qx 200 "$work/tunnel"
check the_update_is_recorded recorded policy_update '"stage":"loaded"'

run reload first 'a new policy is in force'
run proxy get "$work/proxy" "http://127.0.0.1:$origin/again"
check a_later_policy_can_allow_it_again out_has 200

# The new policy is in force although there is nobody to read its record.
stop_one proxy
mkfifo "$work/pipe"
cat "$work/pipe" >"$work/piped" 8<&- &
reader=$!
service start "$work/proxy.pid" sbx-proxy --listen-unix "$work/proxy" --policy policy.yaml --audit-fd 9 \
	9>"$work/pipe" >>"$work/said" 2>>"$work/log"
kill "$reader"
wait "$reader" 2>/dev/null
n_refused=$(grep -c 'cannot reload' "$work/log")
run reload nothing 'cannot write the audit record'
run proxy get "$work/proxy" "http://127.0.0.1:$origin/unrecorded"
check a_record_without_a_reader_does_not_end_the_proxy grep -q 'cannot write the audit record' "$work/log"
check a_policy_whose_record_cannot_be_written_is_in_force eval '! out_has 200'
check nothing_says_that_the_old_one_stays test "$(grep -c 'cannot reload' "$work/log")" -eq "$n_refused"
finish
