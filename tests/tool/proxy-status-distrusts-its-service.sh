#!/bin/sh
# SPDX-License-Identifier: MIT
# The socket's owner may be any program: its answers are checked, and end.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

seqpacket() { python3 "$SBX_SOURCE/tests/tool/seqpacket.py" "$@"; }
answer() {
	[ ! -e "$work/pid" ] || seqpacket stop "$work/pid"
	seqpacket answer "$work/s" "$work/pid" "$@"
}
trap 'seqpacket stop "$work/pid"; rm -rf "$work"' EXIT
is_refused() { has_status 125 && out_is '' && err_has 'the service gave no complete answer'; }

answer '{"ok":true,"workers":0}'
run sbx-proxy status --socket "$work/s" --json
check an_answer_is_printed out_is '{"ok":true,"workers":0}'
for text in '{"ok":true' '{"ok":true}{"ok":true}' '{"ok":true}!'; do
	answer "$text"
	run sbx-proxy status --socket "$work/s"
	check "what_is_not_JSON_is_no_answer_${#text}" is_refused
	run sbx-proxy status --socket "$work/s" --json
	check "and_is_not_printed_${#text}" eval 'has_status 125 && out_is ""'
done
answer '{"worker":{"pid":1}}' 1000000000
run sbx-proxy status --socket "$work/s"
check answers_without_an_end_are_left is_refused
finish
