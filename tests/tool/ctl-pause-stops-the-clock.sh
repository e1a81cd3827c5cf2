#!/bin/bash
# SPDX-License-Identifier: MIT
# The time limit does not run while a sandbox is paused, and continues afterwards.
. "${SBX_SOURCE:?}/tests/tool/ctl.sh" || exit 99
chmod 755 "$work"
export HOME=$work

if ! begin paused --time 5s -- sleep 1000 2>"$work/err"; then
	skip a_sandbox_is_paused "this host cannot build one: $(head -n 1 "$work/err")"
	finish
	exit
fi
sbx-ctl pause paused >/dev/null
# A sandbox that starts now with the same limit reaches it earlier than the paused one.
begin other --time 5s -- sleep 1000
run sbx-ctl wait other
check the_limit_ends_the_other has_status 124
run sbx-ctl ping paused
check the_time_limit_does_not_end_a_paused_sandbox out_is 'paused: is paused'
run sbx-ctl resume paused
check it_can_be_resumed_after_its_limit has_status 0
check it_goes_on running paused
run sbx-ctl wait paused
check the_rest_of_the_time_limit_ends_it has_status 124
finish
