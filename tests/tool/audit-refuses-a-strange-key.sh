#!/bin/bash
# SPDX-License-Identifier: MIT
# A key of another log in the directory must not sign: verifiers would not accept it.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/audit.sh"

setup
append 1 3
cp -p "$log/key" "$work/key"
sbx-audit setup -l "$work/other" >/dev/null
cat "$work/other/key" >"$log/key"
run sbx-audit append -l "$log" </dev/null
check a_foreign_key_stops_append has_status 125
check it_is_said_that_the_key_is_strange err_has 'its key is not the key of its last checkpoint'
check the_error_about_a_foreign_key_shows_the_fix err_has 'fix: restore the directory'
run sbx-audit setup -l "$log"
check setup_makes_no_log_over_it has_status 1
cat "$work/key" >"$log/key"
append 4 4
run sbx-audit verify --full -l "$log" --key "$key"
check with_its_own_key_the_log_goes_on has_status 0
run sbx-audit query -l "$log" -e policy_decision
check nothing_is_lost_by_a_strange_key has_lines 4
rm "$log/key"
run sbx-audit append -l "$log" </dev/null
check without_its_key_nothing_is_written has_status 125
check no_setup_is_advised_that_would_refuse err_has 'restore the key from a copy, or begin a new log in another directory'
finish
