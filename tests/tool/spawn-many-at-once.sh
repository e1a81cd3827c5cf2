#!/bin/bash
# SPDX-License-Identifier: MIT
# Many concurrent sandboxes: each has its own identity, and none affects another.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

many=64
field() { # NAME
	python3 -c 'import json, sys
for path in sys.argv[2:]: print(json.load(open(path))[sys.argv[1]])' "$1" "$work/$who"/report-*
}
as_member() { [ "$(grep -Fxc -f "$1" "$2")" -eq "$many" ]; }

for who in $starters; do
	places
	mkfifo "$work/hold-$who" "$work/said-$who"
	# All of them run until the only writer of this FIFO closes it.
	exec 7<>"$work/hold-$who" 8<>"$work/said-$who"
	pids=()
	for i in $(seq "$many"); do
		begin_spawn -q --report "$work/$who/report-$i" -- sh -c 'echo "$(id -u)" >&2; read -r line; cat >/tmp/x' \
			<"$work/hold-$who" 2>&8 7>&- 8>&- &
		pids+=($!)
	done
	: >"$work/uids"
	for _ in $(seq "$many"); do
		read -r -t 60 line <&8 && echo "$line" >>"$work/uids"
	done
	check "all_of_them_run_at_once_by_$who" test "$(grep -cx '[0-9]*' "$work/uids")" -eq "$many"
	as "$who" sbx-ctl list -q >"$work/live"
	exec 7>&-
	failed=0
	for pid in "${pids[@]}"; do wait "$pid" || failed=$((failed + 1)); done
	exec 8>&-
	check "all_of_them_end_well_by_$who" test "$failed" -eq 0
	field id | sort -u >"$work/ids"
	check "each_has_an_id_of_its_own_by_$who" test "$(wc -l <"$work/ids")" -eq "$many"
	check "all_of_them_were_listed_at_once_by_$who" as_member "$work/ids" "$work/live"
	[ "$who" = root ] &&
		check each_has_a_user_of_its_own test "$(sort -u "$work/uids" | wc -l)" -eq "$many"
	as "$who" sbx-ctl list -q >"$work/live"
	check "none_of_them_is_listed_afterwards_by_$who" test "$(grep -Fxc -f "$work/ids" "$work/live")" -eq 0
done
finish
