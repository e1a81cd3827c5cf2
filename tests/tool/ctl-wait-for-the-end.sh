#!/bin/bash
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/ctl.sh" || exit 99
fake

begin a -- sh -c 'until [ -e go ]; do sleep 0.01; done; exit 42'
{ sbx-ctl wait a; echo $? >waited; } &
waiter=$!
run timeout 0.2 sbx-ctl wait a
check waits_as_long_as_it_runs has_status 124
check it_has_not_come_back_early test ! -e waited
touch go
wait "$waiter"
check comes_back_with_the_commands_status test "$(cat waited)" = 42
run sbx-ctl wait a
check asked_again_it_says_the_same has_status 42

begin signalled -- sh -c 'kill -ABRT $$'
run sbx-ctl wait signalled
check a_signal_is_told_as_a_shell_does has_status 134

# The status is written before the supervisor exits; until then its id and directory are in use.
begin slow --slow-end on -- true
until_true state_is slow CLEANUP
run timeout 0.2 sbx-ctl wait slow
check waits_for_the_supervisor_too has_status 124
touch on
run sbx-ctl wait slow
check and_then_comes_back has_status 0
run sbx-ctl list
check wait_returns_after_the_sandbox_has_ended out_has 'slow       exit 0'

begin b -- sleep 1000
orphan b
run sbx-ctl wait b
check a_killed_supervisor_has_no_status has_status 125
check that_it_was_killed_is_told err_has 'its supervisor was killed'
run sbx-ctl wait nobody
check wait_refuses_an_unknown_sandbox has_status 125

# A supervisor that writes no status: newer kernels report it through the pidfd.
supervisor --id own -- sh -c 'until [ -e stop ]; do sleep 0.01; done; exit 9' &
until_running own
sbx-ctl wait own 2>own.err &
waiter=$!
waits() { find "/proc/$waiter/fd" -lname '*pidfd*' | grep -q .; }
until_true waits
touch stop
wait "$waiter"
status=$?
if grep -q 'went to whoever started it' own.err; then
	check without_help_of_the_kernel_the_wait_fails has_status 125
else
	check the_kernel_tells_the_status has_status 9
fi
finish
