#!/bin/sh
# SPDX-License-Identifier: MIT
# ThreadSanitizer finds no race between the two ends of a direction, and finds one as soon as one order of the memory
# accesses is weakened: x86 itself would hide most of that.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

programs=${SBX_BUILD:?}/tests/attack

# Newer kernels randomize more bits of addresses than older run-times expect.
fixed=
setarch -R true 2>/dev/null && fixed='setarch -R'
# shellcheck disable=SC2086 # a command and its option, or nothing
threads() { TSAN_OPTIONS=halt_on_error=1 $fixed "$programs/ring-threads$1" "$2"; }
has_race() { test "$status" -eq 66 && err_has 'data race'; }

if [ ! -x "$programs/ring-threads" ]; then
	skip no_race 'the compiler has no ThreadSanitizer'
	finish
	exit
fi
for mode in stream call; do
	run threads '' "$mode"
	check "no_race_in_mode_$mode" test "$status" -eq 0 -a "$err" = ''
	check "all_records_arrive_in_mode_$mode" out_is '50000 records, 0 wrong'
	for order in release acquire; do
		run threads "-without-$order" "$mode"
		check "a_race_without_${order}_in_mode_$mode" has_race
	done
done
# The stamp of a cell is published by an exchange.
run threads -without-exchange call
check a_race_without_the_order_of_the_exchange has_race
finish
