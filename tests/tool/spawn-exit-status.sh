#!/bin/bash
# SPDX-License-Identifier: MIT
# sbx-spawn exits with the command's status; its own are 124 to 127.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

for who in $starters; do
	run spawn -- true
	check "success_is_0_by_$who" has_status 0
	check "success_says_nothing_by_$who" err_is ''
	for code in 1 2 42 124 125 255; do
		run spawn -q -- sh -c "exit $code"
		check "exit_${code}_is_the_commands_own_by_$who" has_status "$code"
	done
	run spawn -q -- sh -c 'kill -TERM $$'
	check "signal_15_is_143_by_$who" has_status 143
	run spawn -q -- sh -c 'kill -KILL $$'
	check "signal_9_is_137_by_$who" has_status 137
	run spawn -q -- sh -c 'kill -SEGV $$'
	check "signal_11_is_139_by_$who" has_status 139
	run spawn -- no-such-program
	check "a_missing_program_is_127_by_$who" has_status 127
	check "a_missing_program_is_named_by_$who" err_has "cannot execute 'no-such-program'"
	run spawn -- /etc/passwd
	check "a_file_that_is_not_a_program_is_126_by_$who" has_status 126
	run spawn -q --time 300ms --grace 200ms -- sleep 60
	check "out_of_time_is_124_by_$who" has_status 124
	check "the_time_limit_message_names_its_option_by_$who" err_is 'sbx-spawn: time limit of 300ms reached (--time); raise it with --time'
	run spawn -q --time 300ms --grace 200ms -- sh -c 'trap "" TERM; while :; do sleep 1; done'
	check "a_command_that_ignores_term_is_killed_by_$who" has_status 124
	run spawn --memory 10mb -- true
	check "wrong_usage_is_125_by_$who" has_status 125
done
finish
