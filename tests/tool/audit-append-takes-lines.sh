#!/bin/bash
# SPDX-License-Identifier: MIT
# append stores lines as records; a line that is not a record is refused by its number and does not affect the others.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/audit.sh"

run sbx-audit append -l "$log"
check without_a_log_nothing_is_appended has_status 125
check and_setup_is_named err_has 'sbx-audit setup'
run sbx-audit setup -l "$log"
check setup_prints_a_key out_has 'sbx-audit/'
check the_log_is_the_owners_alone test "$(stat -c %a "$log")" = 700
run sbx-audit setup -l "$log"
check a_log_is_not_made_twice has_status 1

mixed() {
	decisions 1 2
	echo nonsense
	echo '{"event":"policy_decision"}'
	echo '{"event":"no_such_event","time":"2026-01-02T03:04:05Z"}'
	echo '{"event":"log_created","time":"2026-01-02T03:04:05Z"}'
	head -c 200000 /dev/zero | tr '\0' x
	echo
	decisions 3 4
}
run bash -c "$(declare -f mixed decisions); mixed | sbx-audit append -l '$log'"
check refused_lines_are_told_by_the_status has_status 1
check a_line_that_is_not_json_is_named_by_its_number err_has 'line 3 refused'
check a_record_without_a_required_member_is_named err_has 'line 4 refused'
check an_unknown_event_is_named err_has 'line 5 refused'
check an_event_of_the_logs_own_is_refused err_has 'line 6 refused'
check a_line_that_is_too_long_is_refused err_has 'line 7 refused'
run sbx-audit query -l "$log" -e policy_decision
check the_others_are_there has_lines 4

run bash -c "$(declare -f mixed decisions); mixed | sbx-audit append --json -l '$work/other'"
check with_json_a_failure_is_an_object err_has '{"level":"error","what":"cannot open the log'
sbx-audit setup -l "$work/other" >/dev/null
run bash -c "$(declare -f mixed decisions); mixed | sbx-audit append --json -l '$work/other'"
is_object() { printf '%s\n' "$err" | sed -n "$1p" | python3 -c 'import json, sys; json.load(sys.stdin)["why"]'; }
check with_json_a_refused_line_is_an_object_each test "$(printf '%s\n' "$err" | grep -c '^{"level":"error","what":"line [3-7] refused",')" -eq 5
check the_first_of_them_is_json is_object 1
check the_last_of_them_is_json is_object 5
check with_json_nothing_else_is_said test "$(printf '%s\n' "$err" | grep -c .)" -eq 5
run bash -c "$(declare -f mixed decisions); mixed | sbx-audit append --json -q -l '$work/other'"
check quiet_says_nothing_of_refused_lines err_is ''

run bash -c "$(declare -f mixed decisions); mixed | sbx-audit append --strict -l '$log'"
check strict_stops_there has_status 2
check strict_says_which_line err_has 'line 3 is not a valid record'
run sbx-audit query -l "$log" -r r2
check earlier_lines_are_kept has_lines 2
run sbx-audit query -l "$log" -r r3
check later_lines_are_not_read has_lines 1

secret() { printf '{"time":"2026-01-02T03:04:05Z","event":"tool_execute","input_summary":"use ghp_%036d now"}\n' 7; }
secret | sbx-audit append -l "$log"
run sbx-audit query -l "$log" -e tool_execute --json
check a_token_is_not_kept out_has '[REDACTED]'
check nothing_of_it_is_in_the_files test "$(cat "$log"/*.db* | grep -ac ghp_0000)" -eq 0
check a_commitment_is out_has '"commitment"'
finish
