#!/bin/bash
# SPDX-License-Identifier: MIT
# Texts that users see, byte for byte, so that every change is reviewed.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

golden=$SBX_SOURCE/tests/golden
unset SBX_COLOR SBX_PROGRESS SBX_LOG_LEVEL SBX_DEBUG
export HOME=/nonexistent XDG_CONFIG_HOME=/nonexistent
mkdir "$work/empty"
cd "$work/empty" || exit 1
export log=$work/log
sbx-audit setup --log "$log" >/dev/null && sbx-audit append -q --log "$log" <"$golden/records.jsonl" || exit 99

same() { # NAME COMMAND
	status=0
	bash -c "$2" >"$work/got" 2>"$work/got.err" </dev/null || status=$?
	{ cat "$work/got"; sed 's/^/stderr: /' "$work/got.err"; echo "status: $status"; } >"$work/all"
	[ -z "${GOLDEN_UPDATE:-}" ] || cp "$work/all" "$golden/$1.txt"
	diff -u "$golden/$1.txt" "$work/all" | sed 's/^/# /'
	return "${PIPESTATUS[0]}"
}

while IFS=$'\t' read -r name command; do
	case $name in '#'* | '') continue ;; esac
	check "the_text_of_$name" same "$name" "$command"
done <"$golden/commands"
finish
