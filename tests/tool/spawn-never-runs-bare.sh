#!/bin/sh
# SPDX-License-Identifier: MIT
. "$SBX_SOURCE/tests/tool/tap.sh"

# The attack that must not happen: a command that leaves a trace when it runs outside a sandbox.
sh -c "touch '$work/trace'"
check the_command_would_leave_a_trace test -e "$work/trace"
rm -f "$work/trace"

run sbx-spawn -- sh -c "touch '$work/trace'"
check says_that_it_cannot_isolate_yet err_has 'cannot run'
check says_that_nothing_was_run err_has 'nothing was run'
check ends_with_125 has_status 125
check the_command_did_not_run test ! -e "$work/trace"

run sbx-spawn --policy /nonexistent -- sh -c "touch '$work/trace'"
check with_a_policy_neither has_status 125
check the_command_did_not_run_with_a_policy_either test ! -e "$work/trace"
finish
