#!/bin/bash
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/ctl.sh" || exit 99
fake

begin a --enter -- sleep 1000
run sbx-ctl exec a -- sh -c 'echo to stdout; echo to stderr >&2; exit 7'
check its_status_is_the_commands has_status 7
check its_stdout_is_ours out_is 'to stdout'
check its_stderr_is_ours err_is 'to stderr'
run bash -c 'echo from stdin | sbx-ctl exec a -- cat'
check its_stdin_is_ours out_is 'from stdin'
run sbx-ctl exec a -- printf '%s|' --json -q 'a b' ''
check its_words_are_not_our_options out_is '--json|-q|a b||'
run sbx-ctl exec a -- /nonexistent/program
check exec_prints_the_supervisors_answer err_has '/nonexistent/program'
check a_missing_program_is_127 has_status 127
check a_program_inside_is_asked_for err_has 'fix: name a program that exists in the sandbox'
run sbx-ctl exec a -- /
check a_refusal_without_a_status_is_told err_has 'Permission denied'
check a_refusal_is_no_status_of_a_command has_status 125
run sbx-ctl exec a
check a_command_is_needed has_status 2
run sbx-ctl exec a -- "$(head -c 100000 /dev/zero | tr '\0' x)" "$(head -c 100000 /dev/zero | tr '\0' x)" \
	"$(head -c 100000 /dev/zero | tr '\0' x)"
check a_command_line_that_is_too_long_is_refused has_status 125
check a_shorter_one_is_asked_for err_has 'shorter command line'

sbx-ctl pause a >/dev/null
run sbx-ctl exec a -- true
check exec_into_a_paused_sandbox_is_refused has_status 125
check how_to_let_it_go_on_is_said err_has 'fix: resume it: sbx-ctl resume a'
sbx-ctl resume a >/dev/null

begin closed -- sleep 1000
run sbx-ctl exec closed -- true
check exec_without_debug_is_refused has_status 125
check the_refusal_names_the_option err_has '--debug'

# A supervisor that exits while sbx-ctl talks to it.
supervisor=$(member a supervisor)
run sbx-ctl exec a -- sh -c "kill -KILL $supervisor"
check a_supervisor_that_goes_is_told has_status 125
check it_went_while_it_was_asked err_has "cannot run a command in 'a'"
supervisor ended "$supervisor"
run sbx-ctl exec a -- true
check exec_into_a_killed_sandbox_is_refused has_status 125
check that_it_was_killed_is_said err_has 'its supervisor was killed'
finish
