#!/bin/bash
# SPDX-License-Identifier: MIT
# Records that the tools wrote to the spool while no service was running are imported by the next reader, exactly
# once.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/audit.sh"

if [ "$(id -u)" -eq 0 ]; then
	chmod 755 "$work"
	mkdir -m 755 "$work/home"
	chown 1000:1000 "$work/home"
	as() { (cd "$work/home" && setpriv --reuid=1000 --regid=1000 --clear-groups env HOME="$work/home" XDG_STATE_HOME="$work/home/state" \
		XDG_RUNTIME_DIR="$work/home" "$@"); }
else
	mkdir "$work/home"
	as() { (cd "$work/home" && HOME=$work/home XDG_STATE_HOME=$work/home/state "$@"); }
fi

as sbx-audit setup >"$work/key"
check setup_knows_its_place test -e "$work/home/state/sbx/audit/key"
as sbx-spawn -q -- true
as sbx-spawn -q -- false
waiting=$(grep -c . "$work/home/state/sbx/spool/records.jsonl")
check something_waits test "$waiting" -eq 4
run as sbx-audit query
check it_is_taken_in has_lines 5
run as sbx-audit query
check it_is_taken_in_once has_lines 5

# Several readers at once, and a writer at the same time.
for i in 1 2 3 4; do
	printf '{"version":1,"time":"2026-01-02T03:04:05Z","event":"kernel_start","tool":"t","n":%d}\n' "$i" |
		(umask 077 && as tee -a "$work/home/state/sbx/spool/records.jsonl" >/dev/null)
	as sbx-audit stats >/dev/null 2>&1 &
done
wait
run as sbx-audit query -e kernel_start --json
check each_is_there_once test "$(printf '%s\n' "$out" | grep -o '"n":[0-9]*' | sort | uniq -c | awk '{ print $1 $2 }' | paste -sd' ')" = \
	'1"n":1 1"n":2 1"n":3 1"n":4'
finish
