# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# For tests of sbx-audit serve, sourced after tap.sh: starts and stops a service with the log $work/log and the socket
# $work/s.

seqpacket() { python3 "$SBX_SOURCE/tests/tool/seqpacket.py" "$@"; }
client() { python3 "$SBX_SOURCE/tests/tool/audit-socket.py" "$@"; }

# serve [OPTION...]: starts the service in the background and returns when it is ready.
serve() { seqpacket start "$work/pid" sbx-audit serve --log="$work/log" --socket="$work/s" "$@" 2>>"$work/errors"; }
stop() {
	[ -e "$work/pid" ] && seqpacket stop "$work/pid" "$@"
	rm -f "$work/pid"
}
ask() { printf '%s\n' "$1" | seqpacket ask "$work/s"; }
asked() { ask "$1" | grep -q "$2"; }
errors_have() { grep -q "$1" "$work/errors"; }
in_log() { sbx-audit query --log="$work/log" --json --event="$1" 2>/dev/null; }
intact() { sbx-audit verify -q --log="$work/log" --full "$@"; }

cd "$work" || exit 1
trap 'stop; rm -rf "$work"' EXIT
# shellcheck disable=SC2034 # for the test that sources this
sync='{"event":"state_transition"}'
