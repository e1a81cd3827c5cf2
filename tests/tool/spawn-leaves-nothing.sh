#!/bin/bash
# SPDX-License-Identifier: MIT
# Nothing is left: not after many runs, not after a supervisor that was killed at any moment.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

n_runs=40 n_kills=20
# What only a command of ours has in its command line, and as the size of shared memory.
token=$((100000 + RANDOM))
[ "${TEST_SLOW:-}" = 1 ] && n_runs=1000 n_kills=200

# What may hold something of a sandbox. Records are meant to stay.
look() {
	cat /proc/self/mounts
	ls -d /dev/shm/y /tmp/x 2>/dev/null
	find "$work" -path '*/spool/*' -prune -o -print 2>/dev/null | grep -v "^$work/\(before\|after\|out\|err\)$" | sort
	ls /run/sbx/sandboxes 2>/dev/null | while read -r id; do
		grep -l "$work" "/run/sbx/sandboxes/$id/state.json" 2>/dev/null
	done
	# Others make some meanwhile: ours has this size.
	awk -v token="$token" '$4 == token' /proc/sysvipc/shm 2>/dev/null
	grep -c "$work" /proc/net/unix
	grep -lzxF "$token" /proc/[0-9]*/cmdline 2>/dev/null
}
same() { diff "$work/before" "$work/after" >&2; }

mkdir "$project/out"
for who in $starters; do
	run spawn -q -- true
	as "$who" sbx-ctl gc >/dev/null
	look >"$work/before"
	for _ in $(seq "$n_runs"); do
		spawn -q --write out --tmpfs /srv/x -- sh -c '(sleep '"$token"' &) ; ipcmk -M '"$token"' >/dev/null; echo x >/tmp/x; echo y >/dev/shm/y' || echo failed
	done >"$work/out" 2>&1
	look >"$work/after"
	run same
	check "many_runs_leave_nothing_by_$who" has_status 0
	check "every_run_works_by_$who" test ! -s "$work/out"

	# What a killed supervisor leaves in the registry is for the collector: sbx-ctl gc.
	places
	for i in $(seq "$n_kills"); do
		(
			cd "$project" || exit 1
			if [ "$who" = user ] && [ "$(id -u)" -eq 0 ]; then
				exec setpriv --reuid="$user" --regid="$user" --clear-groups \
					"$SBX_BUILD/tools/sbx-spawn" -q -- sleep "$token"
			fi
			exec "$SBX_BUILD/tools/sbx-spawn" -q -- sleep "$token"
		) &
		pid=$!
		# From the first instructions to long after the start.
		python3 -c 'import sys, time; time.sleep(int(sys.argv[1]) % 20 * 0.0004)' "$i"
		kill -KILL "$pid"
		wait "$pid"
	done 2>/dev/null
	# What was killed is still ending, and leaves something until then. Our own command line does not have it.
	for ((tries = 0; tries < 600; tries++)); do
		grep -lzF "$token" /proc/[0-9]*/cmdline >/dev/null 2>&1 || break
		sleep 0.05
	done
	as "$who" sbx-ctl gc >/dev/null
	look >"$work/after"
	run same
	check "supervisors_that_were_killed_leave_nothing_by_$who" has_status 0
done
finish
