#!/bin/bash
# SPDX-License-Identifier: MIT
# What query, tail and stats choose, and how they end.
. "$SBX_SOURCE/tests/tool/tap.sh"
. "$SBX_SOURCE/tests/tool/audit.sh"

setup
append 1 30
run sbx-audit query -l "$log"
check all_of_it_is_there has_lines 31
run sbx-audit query -l "$log" -d deny
check a_decision_chooses has_lines 15
run sbx-audit query -l "$log" -d deny -r r4
check both_must_hold has_status 1
run sbx-audit query -l "$log" -e log_created -e kernel_start
check any_of_several_events has_lines 1
run sbx-audit query -l "$log" -s 2026-01-02T03:04:10Z -u 2026-01-02T03:04:20Z
check a_time_chooses has_lines 10
run sbx-audit query -l "$log" -s 2026-01-02 -u 2026-01-03
check a_day_chooses has_lines 30
run sbx-audit query -l "$log" -s 1h -e policy_decision
check what_is_older_than_an_hour_is_not_of_it has_status 1
run sbx-audit query -l "$log" -s yesterday
check a_time_that_is_none_is_refused has_status 2
check and_it_is_said_how_to_write_one err_has '10m'
run sbx-audit query -l "$log" -n 3 -d allow
check the_last_of_those_chosen out_has rule=r26
check and_no_more_than_that has_lines 3
run sbx-audit tail -l "$log"
check tail_shows_ten has_lines 10
check the_last_one_is_the_last out_has rule=r30
run sbx-audit tail -l "$log" --json -n 1
check json_is_the_record_itself out_has '"rule":"r30"'
run sbx-audit stats -l "$log"
check stats_counts_records out_has 'records 31'
check stats_counts_decisions out_has 'decision deny 15'
run sbx-audit stats -l "$log" --json
check stats_is_one_object out_has '"policy_decision":30'

sbx-audit tail -f -n 1 -l "$log" >"$work/followed" &
follower=$!
shows() { # TEXT: waits until it does
	for ((i = 0; i < 200; i++)); do
		grep -q "$1" "$work/followed" && return
		sleep 0.1
	done
}
shows rule=r30
append 31 31
shows rule=r31
kill "$follower"
wait "$follower" 2>/dev/null
check tail_follows test "$(grep -c . "$work/followed")" -eq 2
run sbx-audit tail -l "$work/nowhere"
check a_log_that_is_not_there_is_said err_has setup
run sbx-audit
check a_verb_is_needed has_status 2
finish
