#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2016 # scripts for another shell
# Compares a log with its heads in the journal: a real systemd-journald in a private mount namespace.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/audit.sh"

journald=/lib/systemd/systemd-journald
first=the_heads_in_the_journal_are_reproduced

# in_journal SCRIPT: runs it in a mount namespace in which /run only has a journal, whose files are then in
# $work/journal.
in_journal() {
	local own=(unshare --mount)

	[ "$(id -u)" -eq 0 ] || own=(unshare --user --map-root-user --mount)
	work=$work log=$log uid=${uid:-0} "${own[@]}" bash -c '
		. "${SBX_SOURCE:?}/tests/tool/audit.sh"
		mount --make-rprivate / && mount -t tmpfs tmpfs /run || exit 77
		mkdir -p /run/systemd/journal /run/log/journal
		'"$journald"' >/dev/null 2>&1 &
		pid=$!
		for ((i = 0; i < 3000; i++)); do
			[ -S /run/systemd/journal/socket ] && break
			kill -0 "$pid" 2>/dev/null || exit 77
			read -rt 0.02 <> <(:)
		done
		'"$1"'
		journalctl --sync >/dev/null 2>&1
		# journald writes its data before it exits.
		kill "$pid" && wait "$pid"
		mkdir -p "$work/journal"
		cp /run/log/journal/*/*.journal "$work/journal/"
	'
}

verify() { run sbx-audit verify -l "$log" --journal-directory="$work/journal" "$@"; }

[ -x $journald ] || {
	skip $first 'there is no systemd-journald'
	finish
	exit
}
setup
if ! in_journal 'append 1 5'; then
	skip $first 'no journal can be started in a namespace'
	finish
	exit
fi
verify --key="$key"
check $first has_status 0
check how_many_there_were_is_said out_has '1 head seen elsewhere matches the log'

cp -a "$log" "$work/before"
rm -rf "$work/journal"
in_journal 'append 6 10'
verify --key="$key"
check heads_of_a_log_that_grew_are_reproduced has_status 0
mv "$log" "$work/after"
cp -a "$work/before" "$log"
run sbx-audit verify -l "$log" --key="$key"
check a_log_that_was_put_back_is_right_in_itself has_status 0
verify --key="$key"
check the_journal_knows_that_there_was_more has_status 4
check which_records_the_journal_misses_is_told err_has 'records 6 to 10 are missing'
verify --key="$key" -q
check quietly_the_journal_is_asked_all_the_same has_status 4

rm -rf "$log"
mv "$work/after" "$log"
head=$(python3 -c 'import base64; print(base64.b64encode(bytes(32)).decode())')
id=${key%%+*}
forge() {
	rm -rf "$work/journal"
	{
		echo 'MESSAGE_ID=609c9344974b4fc7b1e307767d9d5480'
		printf '%s\n' "$@"
	} >"$work/entry"
	in_journal 'python3 -c "
import os, socket, sys
entry = open(sys.argv[1], \"rb\").read()
os.setuid(${uid:-0})
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(entry, \"/run/systemd/journal/socket\")" "$work/entry"'
	verify --key="$key"
}
forge "SBX_AUDIT_LOG=$id" SBX_AUDIT_SIZE=6 "SBX_AUDIT_ROOT=$head"
check a_log_of_another_root_was_written_again has_status 1
check the_journals_word_is_told err_has 'the first 6 records are not those that were seen before'
forge "SBX_AUDIT_LOG=$id" SBX_AUDIT_SIZE=6
check an_entry_that_is_no_head_is_no_verdict has_status 5
forge SBX_AUDIT_LOG=sbx-audit/00000000000000000000000000000000 SBX_AUDIT_SIZE=6 "SBX_AUDIT_ROOT=$head"
check a_journal_without_heads_of_this_log_is_no_verdict has_status 5
check verify_reports_a_journal_without_heads err_has 'it shows no head of this log'

anybodys=journal_entries_of_other_users_are_not_heads
if [ "$(id -u)" -eq 0 ]; then
	uid=65534 forge "SBX_AUDIT_LOG=$id" SBX_AUDIT_SIZE=6 "SBX_AUDIT_ROOT=$head"
	check $anybodys has_status 5
else
	skip $anybodys 'only root can be another user'
fi

rm -rf "$work/journal"
mkdir "$work/journal"
verify --key="$key"
check an_empty_journal_is_no_verdict has_status 5
rm -rf "$work/journal"
verify --key="$key"
check a_journal_that_is_not_there_is_no_verdict has_status 5
run sbx-audit verify -l "$log" --journal-directory="$work" --witness-file="$work/entry"
check two_ways_to_be_witnessed_are_one_too_many has_status 2
finish
