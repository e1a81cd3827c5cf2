#!/bin/bash
# SPDX-License-Identifier: MIT
# On a full disk append stops and reports where to continue; continuing there loses and duplicates no record.
if [ -z "${AUDIT_INSIDE:-}" ]; then
	if unshare --mount true 2>/dev/null; then
		AUDIT_INSIDE=1 exec unshare --mount --propagation private bash "$0" "$@"
	fi
	unshare --user --map-root-user --mount true 2>/dev/null || {
		echo '1..0 # SKIP needs root or a user namespace to mount a small file system'
		exit
	}
	AUDIT_INSIDE=1 exec unshare --user --map-root-user --mount --propagation private bash "$0" "$@"
fi
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/audit.sh"

disk=$work/disk log=$work/disk/log
mkdir "$disk"
mount -t tmpfs -o size=10m tmpfs "$disk"
trap 'umount "$disk"; rm -rf "$work"' EXIT

decisions 1 1000 >"$work/thousand"
for i in $(seq 0 29); do sed "s/\"r/\"r$i-/" "$work/thousand"; done >"$work/lines"

setup
head -c 4M /dev/zero >"$disk/ballast"
run sbx-audit append -l "$log" <"$work/lines"
check a_full_disk_is_a_failure has_status 125
check the_error_shows_the_fix err_has 'free space on the file system, then append again from line'
next=$(sed -n 's/.*append again from line \([0-9]*\) on.*/\1/p' "$work/err")
check some_lines_were_taken test "$next" -gt 100

rm "$disk/ballast"
run sbx-audit query -l "$log" -e audit_storage_critical
check the_log_says_itself_that_the_disk_was_full has_lines 1
run sbx-audit query -l "$log" --json -e policy_decision
check all_lines_before_that_one_are_there has_lines $((next - 1))

tail -n "+$next" "$work/lines" | head -n 2000 >"$work/rest"
run sbx-audit append -l "$log" <"$work/rest"
check with_room_it_goes_on has_status 0
run sbx-audit query -l "$log" --json -e policy_decision
printf '%s\n' "$out" | grep -o '"rule":"[^"]*"' >"$work/got"
head -n $((next + 1999)) "$work/lines" | grep -o '"rule":"[^"]*"' >"$work/wanted"
check nothing_is_missing_and_nothing_is_twice cmp "$work/wanted" "$work/got"
run sbx-audit verify --full -l "$log" --key "$key"
check the_log_is_intact has_status 0

rm -r "$log"
run sbx-audit setup -l "$log"
check with_room_for_a_reserve_setup_warns_of_nothing err_is ''
rm -r "$log"
head -c 7M /dev/zero >"$disk/ballast"
run sbx-audit setup -l "$log"
check a_log_is_made_without_a_reserve_too has_status 0
check setup_warns_that_there_is_no_reserve err_has "too little room for the log's reserve"
check and_there_is_none test ! -e "$log/reserve"
rm -r "$log"
run sbx-audit setup -q -l "$log"
check quiet_does_not_warn_of_it err_is ''
finish
