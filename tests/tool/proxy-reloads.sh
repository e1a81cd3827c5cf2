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
finish
