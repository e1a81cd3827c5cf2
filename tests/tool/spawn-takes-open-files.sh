#!/bin/bash
# SPDX-License-Identifier: MIT
# Fds that are passed to sbx-spawn: 0 may be one of them; fds of sbx-spawn itself do not reach the command.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

programs_policy
echo secret >"$project/file"
with_policy() { spawn -q --policy-fd 0 "$@" <"$work/p.yaml"; }
with_garbage() { spawn -q --policy-fd 0 "$@" <<<'garbage:'; }
without_stdin() { spawn -q --policy-fd 0 "$@" <&-; }
with_both() { spawn -q --policy "$work/p.yaml" --policy-fd 3 "$@" 3<"$work/p.yaml"; }
reports() { spawn -q --report-fd 0 "$@" 0>"$work/$who/report"; }
records() { spawn -q --audit-fd 0 "$@" 0>>"$work/$who/records"; }
unrecorded() { spawn -q --audit-fd 0 "$@" 0>/dev/full; }
records_on_stderr() { spawn -q --audit-fd 2 "$@"; }

for who in $starters; do
	run with_policy -- cat file
	check "a_policy_of_fd_0_holds_by_$who" test "$status" -ne 0 -a "$status" -ne 125 -a -z "$out"
	run spawn -q -- cat file
	check "without_it_the_file_is_shown_by_$who" out_is secret
	run with_policy -- cat
	check "a_policy_of_fd_0_is_not_the_commands_input_by_$who" test "$status" -eq 0 -a -z "$out"
	run with_garbage -- echo ran
	check "garbage_on_fd_0_does_not_start_by_$who" test "$status" -eq 125 -a -z "$out"
	run without_stdin -- echo ran
	check "a_closed_fd_0_is_no_policy_by_$who" test "$status" -eq 125 -a -z "$out"
	run with_both -- echo ran
	check "of_a_file_and_an_open_file_none_is_ignored_by_$who" test "$status" -eq 125 -a -z "$out"
	check "which_two_do_not_go_together_is_said_by_$who" err_has "'--policy' and '--policy-fd'"
	run spawn -q -p "$work/p.yaml" -p "$work/p.yaml" -- echo ran
	check "of_two_policies_none_is_ignored_by_$who" test "$status" -eq 125 -a -z "$out"
	check "that_it_was_given_twice_is_said_by_$who" err_has "'-p' is given twice"
	run reports -- true
	check "a_report_goes_to_fd_0_by_$who" grep -q '"status":0' "$work/$who/report"
	run records -- sh -c 'echo forged >&0'
	check "records_go_to_fd_0_by_$who" grep -q sandbox_destroyed "$work/$who/records"
	check "the_command_cannot_write_among_them_by_$who" test "$status" -ne 0 -a "$status" -ne 125 -a "$(grep -c '^forged' "$work/$who/records")" -eq 0
	run unrecorded -- echo ran
	check "without_a_record_on_fd_0_nothing_runs_by_$who" test "$status" -eq 125 -a -z "$out"
	run records_on_stderr -- sh -c 'echo mine >&2'
	check "records_on_stderr_leave_the_command_its_own_by_$who" err_has mine
done
finish
