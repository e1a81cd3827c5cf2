#!/bin/bash
# SPDX-License-Identifier: MIT
# The processes that wait outside of a sandbox use little memory, because there may be many.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

if readelf -l "$SBX_BUILD/tools/sbx-spawn" | grep -q INTERP; then
	skip the_supervisor_stays_below_3_mb 'sbx-spawn is linked with libraries here, for tests of another kind'
	finish
	exit
fi

limit=3000000
# The shell execs sbx-spawn, so its PID is known.
peak_of() {
	sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\) kB$/\1/p' "/proc/$1/status"
}
is_small() { [ "${1:-0}" -gt 0 ] && [ $(($1 * 1024)) -le "$limit" ]; }

for who in $starters; do
	places
	mkfifo "$project/started" "$project/go"
	chmod 666 "$project/started" "$project/go"
	exec 8<>"$project/started" 9<>"$project/go"
	(cd "$project" && as "$who" sh -c 'echo $$ >pid; exec sbx-spawn -q --write . -- sh -c "echo begun; read -r line"') <&9 >&8 &
	read -rt 60 -u 8
	peak=$(peak_of "$(cat "$project/pid")")
	check "the_supervisor_stays_below_3_mb_by_$who" is_small "$peak"
	echo >&9
	wait "$!"
	check "and_it_was_one_that_worked_by_$who" test $? -eq 0
	rm -f "$project/started" "$project/go" "$project/pid"
done
finish
