#!/bin/bash
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/ctl.sh" || exit 99
fake

run sbx-ctl create --id a -- sh -c 'echo said; exec sleep 1000'
check creating_prints_the_name out_is a
check it_waits_to_be_started state_is a CREATING
run sbx-ctl wait a
check wait_refuses_a_sandbox_that_was_not_started has_status 125
check it_is_said_that_it_was_not_started err_has 'it was not started'
run sbx-ctl stop a
check stop_refuses_a_sandbox_that_was_not_started has_status 1
run sbx-ctl kill --signal USR1 a
check so_does_kill_with_a_signal eval 'has_status 1 && err_has "it was not started"'
run sbx-ctl logs a
check logs_says_how_it_is_started eval 'has_status 1 && err_has "start it: sbx-ctl start a"'

run sbx-ctl start a
check starting_succeeds_quietly ends_with 0
check then_it_is_running state_is a RUNNING
check its_supervisor_has_a_session_of_its_own test "$(ps -o sid= "$(member a supervisor)" | tr -d ' ')" = "$(member a supervisor)"
check its_stdin_is_empty test "$(readlink "/proc/$(member a init)/fd/0")" = /dev/null
until_true logs_are a said
run sbx-ctl start a
check nothing_is_started_twice has_status 1
check remove_reports_a_running_sandbox err_has 'it is running'
run sbx-ctl remove a
check remove_refuses_a_running_sandbox has_status 1
check how_to_stop_it_is_said err_has "stop it first: 'sbx-ctl stop a', or use 'sbx-ctl remove --force a'"
check it_still_runs state_is a RUNNING

run sbx-ctl stop a
check stopping_succeeds_quietly ends_with 0
check then_it_is_over state_is a DESTROYED
run sbx-ctl wait a
check its_status_is_kept has_status 143
run sbx-ctl logs a
check its_log_is_kept out_is said
run sbx-ctl start a
check nothing_runs_a_second_time has_status 1
check start_reports_that_the_sandbox_has_run err_has 'it has run already'
run sbx-ctl stop a
check stopping_an_ended_sandbox_succeeds ends_with 0
run sbx-ctl remove a
check removing_succeeds_quietly ends_with 0
check nothing_of_it_is_left is_gone a
run sbx-ctl inspect a
check inspect_does_not_find_a_removed_sandbox has_status 1

begin b -- sleep 1000
pid=$(member b init)
run sbx-ctl remove --force b
check remove_force_stops_a_running_sandbox ends_with 0
check force_leaves_nothing is_gone b
check force_leaves_no_process is_dead "$pid"

sbx-ctl create --id c -- true >/dev/null
run sbx-ctl remove c
check a_sandbox_that_was_never_started_can_be_removed is_gone c

supervisor --id own -- sleep 1000 &
pid=$!
until_running own
run sbx-ctl ping own
check a_sandbox_of_another_starter_answers out_is 'own: is running'
run sbx-ctl remove --force own
check remove_force_removes_the_directory is_gone own
check removing_it_succeeds has_status 0
wait "$pid"

begin d -- sleep 1000
run sbx-ctl stop nobody d ghost
check a_wrong_name_does_not_keep_others_from_being_stopped state_is d DESTROYED
check the_first_wrong_name_is_told err_has "'nobody'"
check others_that_failed_are_counted err_has '1 more failed'
check several_end_as_the_worst_of_them has_status 1

run sbx-ctl ping
check the_host_can_build_sandboxes out_is 'sbx: ready'
printf '%s\n' '#!/bin/sh' "echo '{\"full\":{\"holds\":false,\"why\":\"a test\",\"fix\":\"end it\"}}'" >"$work/bin/sbx-spawn"
run sbx-ctl ping
check a_host_that_cannot_is_a_no has_status 1
check the_error_shows_the_fix err_has 'fix: end it'
finish
