#!/bin/bash
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/ctl.sh" || exit 99
fake

# Pauses each process, including those that are forked meanwhile. The processes end when the file "go" is removed.
touch go
begin a -- sh -c 'for i in 1 2 3; do (while [ -e go ] && echo x >>grows; do sleep 0.001; done) & done; wait'
until_true test -s grows
until_true sleeps "$(member a supervisor)"
run sbx-ctl pause a
check pausing_says_how_it_was_done out_has 'paused (SIGSTOP to'
check why_not_by_a_cgroup_is_said out_has 'because it has no cgroup'
check pid_1_is_held test "$(process_state "$(member a init)")" = T
size=$(stat -c %s grows)
run sbx-ctl list
check it_is_shown_as_held out_has ' paused '
check its_supervisor_is_not_held test "$(process_state "$(member a supervisor)")" = S
run sbx-ctl ping a
check a_held_one_answers_so out_is 'a: is paused'
sleep 0.2
# Except for two lines of each of the three: SIGSTOP takes effect when a process returns from the kernel.
check nothing_goes_on_meanwhile test "$(stat -c %s grows)" -le "$((size + 6))"
run sbx-ctl pause a
check holding_it_twice_changes_nothing has_status 0
check holding_it_twice_says_so out_is 'a: is paused already'
size=$(stat -c %s grows)

run sbx-ctl resume a
check resuming_says_how_it_was_done out_has 'resumed (SIGCONT to'
grown() { [ "$(stat -c %s grows)" != "$size" ]; }
until_true grown
check it_goes_on test "$(stat -c %s grows)" -gt "$size"
run sbx-ctl resume a
check a_running_sandbox_cannot_be_resumed has_status 1
run sbx-ctl list
check it_is_shown_as_running out_has ' running '

# A resume during a pause waits for it: between them the sandbox could stay stopped, but not be known as paused.
sbx-ctl pause a >/dev/null
exec 9<"$sandboxes/a/paused"
flock 9
sbx-ctl resume a >"$work/resumed" &
resume=$!
waits_for_lock() { grep -q -- "-> FLOCK .* $resume " /proc/locks; }
waits_or_has_ended() { waits_for_lock || is_dead "$resume"; }
until_true waits_or_has_ended
check a_resume_waits_for_a_pause_that_goes_on waits_for_lock
check its_processes_are_still_held test "$(process_state "$(member a init)")" = T
flock -u 9
run wait "$resume"
check it_resumes_afterwards has_status 0
# The file that the lock is on is gone: another pause makes its own.
flock 9
run sbx-ctl pause a
check a_lock_of_a_removed_pause_holds_nothing_up has_status 0
exec 9<&-
sbx-ctl resume a >/dev/null

rm go
sbx-ctl stop a
run sbx-ctl pause a
check an_ended_sandbox_cannot_be_paused has_status 1
check that_it_has_ended_is_said err_has 'it has ended'
sbx-ctl create --id b -- true >/dev/null
run sbx-ctl pause b
check a_waiting_sandbox_cannot_be_paused has_status 1

# An entry with the PID of another process, or of a later process with that PID.
begin c -- sleep 1000
sleep 1000 &
other=$!
until_true sleeps "$other"
# Both may have started in the same clock tick, so the entry gets a start time that no process has.
sed -i "s/\"init\": [0-9]*, \"init_start\": [0-9]*/\"init\": $other, \"init_start\": 1/" "$sandboxes/c/state.json"
run sbx-ctl pause c
check nothing_of_it_is_found out_has 'SIGSTOP to 0 processes'
check a_process_with_another_start_is_not_held test "$(process_state "$other")" = S
sbx-ctl resume c >/dev/null
kill "$other"
finish
