#!/bin/bash
# SPDX-License-Identifier: MIT
# No process, mount, cgroup or file is left after many runs, or after SIGKILL of a supervisor at any moment.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

n_runs=40 n_kills=20
# A token that is only in the command line of our commands, and in the size of our shared memory.
token=$((100000 + RANDOM))
[ "${TEST_SLOW:-}" = 1 ] && n_runs=1000 n_kills=200

# Lists everything that a sandbox may have left. Records are meant to stay.
look() {
	cat /proc/self/mounts
	ls -d /dev/shm/y /tmp/x 2>/dev/null
	find "$work" -path '*/spool/*' -prune -o -print 2>/dev/null | grep -v "^$work/\(before\|after\|out\|err\)$" | sort
	ls /run/sbx/sandboxes 2>/dev/null | while read -r id; do
		grep -l "$work" "/run/sbx/sandboxes/$id/state.json" 2>/dev/null
	done
	# Other processes may create segments at the same time; ours have this size.
	awk -v token="$token" '$4 == token' /proc/sysvipc/shm 2>/dev/null
	grep -c "$work" /proc/net/unix
	grep -lzxF "$token" /proc/[0-9]*/cmdline 2>/dev/null
}
same() { diff "$work/before" "$work/after" >&2; }
are_gone() { ! grep -qzF "$token" /proc/[0-9]*/cmdline 2>/dev/null; }

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

	# Entries of killed supervisors are removed by sbx-ctl gc.
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
		printf -v pause '0.%04d' $((i % 20 * 4))
		sleep "$pause"
		kill -KILL "$pid"
		wait "$pid"
	done 2>/dev/null
	# Killed processes may still be exiting. This shell's own command line does not have the token.
	eventually are_gone
	as "$who" sbx-ctl gc >/dev/null
	look >"$work/after"
	run same
	check "supervisors_that_were_killed_leave_nothing_by_$who" has_status 0
done
finish
