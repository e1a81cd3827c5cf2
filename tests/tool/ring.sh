# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# For tests of sbx-ring, sourced instead of tap.sh: they run as an ordinary user, with directories of their own, so that
# keepers and records are those of the test. Everything that is started is stopped at the end.

if [ "$(id -u)" -eq 0 ]; then
	exec setpriv --reuid=1000 --regid=1000 --clear-groups "$BASH" "$0"
fi
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
unset SBX_RING_FD
mkdir "$work/run" "$work/home"
chmod 700 "$work/run"
export XDG_RUNTIME_DIR="$work/run" HOME="$work/home" XDG_STATE_HOME="$work/state"
cd "$work" || exit 1

keeper() { python3 "$SBX_SOURCE/tests/tool/ring-keeper.py" "$@"; }
service() { python3 "$SBX_SOURCE/tests/tool/seqpacket.py" "$@"; }

# create NAME OPTION...: a keeper in the background; returns when it is ready.
create() {
	service start "$work/keeper.$1" sbx-ring create "$@" >>"$work/said" 2>>"$work/log"
}
# ended NAME: has the keeper ended, by itself, within a minute?
ended() {
	tail --pid="$(cat "$work/keeper.$1")" -f /dev/null
	rm -f "$work/keeper.$1"
}
stop_keepers() {
	local file
	for file in "$work"/keeper.*; do
		[ ! -e "$file" ] || service stop "$file" 2>/dev/null || true
	done
}
trap 'stop_keepers; rm -rf "$work"' EXIT

# refuses STATUS WHAT WHY FIX: the last run was refused, and its error has the three lines.
refuses() {
	[ "$status" -eq "$1" ] && [ -z "$out" ] && err_has "sbx-ring: $2" && err_has "  why: $3" && err_has "  fix: $4"
}
recorded() { # EVENT TEXT...: a record of the spool has all of them
	local event=$1 found
	shift
	found=$(grep "\"event\":\"$event\"" "$XDG_STATE_HOME/sbx/spool/records.jsonl")
	for text; do
		found=$(printf '%s\n' "$found" | grep -F -e "$text")
	done
	[ -n "$found" ]
}
