#!/bin/bash
# SPDX-License-Identifier: MIT
# Network mode proxy, with a proxy that sbx-spawn does not start: --proxy-fd, or the service.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"
. "$SBX_SOURCE/tests/tool/spawn-proxy.sh"

with_fd_and() { # FAKE ARGUMENT...
	local how=$1
	shift
	places
	rm -f "$XDG_RUNTIME_DIR/fake.log"
	(cd "$project" && FAKE=$how as "$who" "$fake" parent "$tree/tools/sbx-spawn" --proxy-fd N "$@")
}
ask='import urllib.request
try: urllib.request.urlopen("http://other.example:81/")
except urllib.error.HTTPError as error: print(error.code)'

for who in $starters; do
	run with_fd_and '' --net proxy --report-fd 7 -- python3 -c "$ask" 7>"$work/report"
	check "a_proxy_at_an_fd_answers_by_$who" out_is 403
	check "it_gets_one_packet_with_the_listeners_by_$who" logged '"type": "LISTENERS"'
	check "it_is_told_the_end_by_$who" logged '"type": "END"'
	check "its_denials_are_printed_by_$who" err_has 'denied other.example:81
  why: no rule allows it
'
	run with_fd_and refuse --net proxy -- echo started
	check "its_refusal_ends_the_start_by_$who" has_status 125
	check "nothing_runs_then_by_$who" out_is ''
	check "its_reason_is_printed_by_$who" err_has 'why: it is damaged'
	run with_fd_and full --net proxy -- echo started
	check "a_socket_that_takes_nothing_ends_the_start_by_$who" eval 'has_status 125 && out_is "" && err_has "cannot hand the listeners"'
	run with_fd_and silent --net proxy -- echo started
	check "without_a_summary_the_status_is_the_commands_by_$who" has_status 0
	check "without_a_summary_the_end_says_so_by_$who" err_has 'did not end with it'
	run proxied --net proxy --proxy-fd 7 -- echo started 7</dev/null
	check "an_fd_that_is_no_socket_ends_the_start_by_$who" has_status 125
done

# The service of a user. Root's has a fixed path, at which a service of this machine may listen.
who=user
places
begin_service() { # FAKE
	rm -rf "$XDG_RUNTIME_DIR/sbx/proxy.sock" "$XDG_RUNTIME_DIR/pid"
	FAKE=$1 as user "$fake" serve "$XDG_RUNTIME_DIR/sbx/proxy.sock" "$XDG_RUNTIME_DIR/pid"
	service=$(cat "$XDG_RUNTIME_DIR/pid")
}
end_service() { kill "$service"; }

begin_service ''
run proxied --net proxy --report-fd 7 -- python3 -c "$ask" 7>"$work/report"
check the_service_gives_a_proxy out_is 403
check the_service_is_asked_for_one logged '"type": "OPEN"'
check the_report_names_the_service grep -q '"proxy":"service"' "$work/report"
check no_process_of_its_own_is_started test "$(grep -c argv "$XDG_RUNTIME_DIR/fake.log")" -eq 0
run proxied --net none -- true
check another_mode_does_not_ask_the_service test ! -e "$XDG_RUNTIME_DIR/fake.log"
end_service
run proxied --net proxy -- python3 -c "$ask"
check a_socket_at_which_no_service_listens_is_passed_over out_is 403
check a_process_of_its_own_replaces_the_service logged argv
begin_service no
run proxied --net proxy -- echo started
check a_refusal_of_the_service_ends_the_start has_status 125
check the_reason_of_the_service_is_printed err_has 'why: there are 64'
check no_proxy_replaces_a_service_that_refuses test "$(grep -c argv "$XDG_RUNTIME_DIR/fake.log")" -eq 0
end_service
finish
