#!/bin/bash
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/ctl.sh" || exit 99
fake
err_lacks() { ! err_has "$1"; }

begin deaf --deaf -- sleep 1000
pid=$(member deaf init)
run sbx-ctl stop --time 50ms deaf
check one_that_does_not_listen_is_killed has_status 0
check nothing_of_it_runs is_dead "$pid"
run sbx-ctl wait deaf
check its_status_says_that_it_was_killed has_status 137

begin stuck --stuck -- sleep 1000
pid=$(member stuck init) supervisor=$(member stuck supervisor)
run timeout 60 sbx-ctl stop --time 0s stuck
check a_supervisor_that_is_stuck_is_killed has_status 0
check the_supervisor_is_gone is_dead "$supervisor"
check the_command_of_a_killed_supervisor_is_dead is_dead "$pid"
check its_end_is_written_down_for_it state_is stuck DESTROYED
run sbx-ctl wait stuck
check a_killed_one_has_the_status_of_a_kill has_status 137

begin listens -- sh -c 'trap "echo usr1" USR1; trap "echo term; exit 3" TERM; : >listens; while :; do sleep 0.02; done'
until_true test -e listens
sbx-ctl kill --signal USR1 listens
run sbx-ctl stop listens
check asked_it_can_end_in_order has_status 0
run sbx-ctl wait listens
check its_own_status_counts has_status 3
run sbx-ctl logs listens
check signals_reach_the_command out_is $'usr1\nterm'

begin a -- sleep 1000
run sbx-ctl kill a
check a_kill_ends_it_at_once state_is a DESTROYED
run sbx-ctl kill a
check killing_an_ended_sandbox_succeeds has_status 0
run sbx-ctl kill --signal USR1 a
check a_signal_does_not_reach_an_ended_sandbox eval 'has_status 1 && err_has "it has ended"'

begin held -- sleep 1000
sbx-ctl pause held >/dev/null
run timeout 60 sbx-ctl stop held
check a_paused_sandbox_can_be_stopped state_is held DESTROYED
run sbx-ctl wait held
check it_has_heard_the_signal has_status 143

# Between the exit of the supervisor and the removal, another process may have the lock.
begin taken -- sleep 1000
orphan taken
run supervisor lock "$sandboxes/taken" sbx-ctl remove --force taken
check remove_refuses_while_another_process_cleans_up has_status 1
check it_is_not_said_to_have_a_supervisor err_has 'another process is cleaning up after it'
check the_error_does_not_propose_to_stop_an_ended_sandbox err_lacks 'sbx-ctl stop'
run sbx-ctl remove --force taken
check afterwards_it_can_be_removed has_status 0
check nothing_is_said_of_it out_is ''

run sbx-ctl stop --time 10 held
check a_time_without_a_unit_is_refused has_status 2
run sbx-ctl kill --signal STOP held
check a_signal_that_cannot_be_passed_on_is_refused has_status 2
run sbx-ctl kill nobody
check an_unknown_sandbox_cannot_be_killed has_status 1
finish
