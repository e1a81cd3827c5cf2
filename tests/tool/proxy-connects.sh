#!/bin/sh
# SPDX-License-Identifier: MIT
# sbx-proxy without a service: what it connects, refuses, records and how it ends.
. "$SBX_SOURCE/tests/tool/tap.sh"
. "$SBX_SOURCE/tests/tool/proxy.sh"

run start_proxy --policy policy.yaml
check it_starts_under_a_service_manager has_status 0
check it_says_where_it_listens grep -qxF "listening at $work/proxy" "$work/said"
check only_its_user_can_connect_to_its_path test "$(stat -c %a "$work/proxy")" = 600

members_are_documented() {
	python3 - "$work/records" "$SBX_SOURCE/man/sbx-audit-layout.7.scd" <<'END'
import json
import re
import sys

page = open(sys.argv[2], encoding="utf-8").read().split("## Records of sbx-proxy")[1].split("\n## ")[0]
names = [re.findall(r"_((?:\\_|[a-z0-9])+)_", row) for row in re.findall(r"^\|  (.*)$", page, re.M)]
known = {name.replace("\\", "") for row in names for name in row}
records = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
found = {name for record in records if record["event"].startswith("proxy_") for name in record}
missing = found - known - {"event", "time", "boot", "boot_usec", "tool", "version", "pid"}
print(*missing)
sys.exit(bool(missing) or "kind" not in found)
END
}

if [ "$(printf '%s\n' 6.16 "$(uname -r)" | sort -V | head -n 1)" = 6.16 ]; then
	run proxy pass "$work/proxy"
	check a_client_cannot_send_file_descriptors out_is refused
else
	skip a_client_cannot_send_file_descriptors 'before Linux 6.16 a proxy cannot refuse file descriptors'
fi

run proxy get "$work/proxy" "http://127.0.0.1:$origin/there"
check an_allowed_request_reaches_the_server out_is '200
from the origin'
check the_server_gets_the_path_of_the_request grep -qx /there "$work/origin"

run proxy get "$work/proxy" "http://127.0.0.2:$origin/elsewhere"
check a_denied_address_gets_403 out_has 403
check the_answer_says_what_to_write out_has "add to policy.yaml under 'capabilities:'"
run proxy get "$work/proxy" "http://metadata.example/elsewhere"
check a_denied_name_gets_403 out_has 403
check nothing_denied_reaches_the_server test "$(grep -c elsewhere "$work/origin")" = 0

# The supervisor of this test closes the only server at the allowed port.
stop_one origin
run proxy get "$work/proxy" "http://127.0.0.1:$origin/nobody"
check an_allowed_server_that_does_not_listen_gets_502 out_has 502

run stop_one proxy
check it_ends_on_a_signal has_status 0
check its_start_is_recorded_with_the_policy recorded proxy_start '"policy_name":"policy.yaml"'
check a_connection_is_recorded_with_its_rule recorded proxy_connection '"rule":"origin (policy.yaml:3)"'
check a_connection_that_fails_is_recorded_with_its_cause recorded proxy_connection '"cause":"connection-refused"'
check a_denial_is_recorded_with_its_input recorded policy_decision '"host":"127.0.0.2"'
check its_end_is_recorded_with_its_counters recorded proxy_stop '"requests":4,"denied":2'

check every_member_is_in_the_page members_are_documented

run start_proxy --policy policy.yaml
check the_path_of_a_process_that_has_ended_is_replaced has_status 0
run sbx-proxy --policy policy.yaml --listen-unix "$work/proxy" --audit-fd 9 9>>"$work/records"
check the_path_of_a_running_proxy_is_not_replaced has_status 125
check the_error_names_the_path err_has "cannot listen at '$work/proxy'"
finish
