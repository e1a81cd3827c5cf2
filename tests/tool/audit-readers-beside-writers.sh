#!/bin/bash
# SPDX-License-Identifier: MIT
# Concurrent readers and writers of one log: all succeed, and none fails with a lock error.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/audit.sh"

# succeeds COMMAND...: keeps the output and exit status of a failed command.
succeeds() {
	"$@" 2>>"$work/said" >/dev/null || echo "$1 $2: status $?" >>"$work/failed"
}
no_failures() {
	out=$(sort "$work/failed" "$work/said" 2>/dev/null | uniq -c)
	rm -f "$work/failed" "$work/said"
	[ -z "$out" ]
}
many_readers() {
	local i
	for ((i = 0; i < 30; i++)); do
		succeeds sbx-audit stats -l "$log" &
	done
	wait
}
reads() { # VERB...: again and again, until all is written
	until [ -e "$work/written" ]; do
		succeeds sbx-audit "$@" -l "$log"
	done
}

n_written=30
[ "${TEST_SLOW:-}" = 1 ] && n_written=300
setup
append 1 3
for _ in 1 2 3; do many_readers; done
check readers_alone_do_not_hinder_each_other no_failures

for verb in tail query export 'consistency 1 2'; do
	# shellcheck disable=SC2086 # a verb and its operands
	reads $verb &
done
for ((i = 0; i < n_written; i++)); do
	succeeds append "$i" "$i"
done
: >"$work/written"
wait
check readers_and_writers_do_not_hinder_each_other no_failures
run sbx-audit stats -l "$log"
check every_record_is_there grep -qw "policy_decision  *$((n_written + 3))" "$work/out"
finish
