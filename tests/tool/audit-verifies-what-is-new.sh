#!/bin/bash
# SPDX-License-Identifier: MIT
# verify stores its state for the user and continues there in the next run.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/audit.sh"

if [ "$(id -u)" -eq 0 ]; then
	chmod 755 "$work"
	mkdir -m 755 "$work/home"
	chown 1000:1000 "$work/home"
	as() { (cd "$work/home" && setpriv --reuid=1000 --regid=1000 --clear-groups env HOME="$work/home" XDG_STATE_HOME="$work/home/state" "$@"); }
else
	mkdir "$work/home"
	as() { (cd "$work/home" && HOME=$work/home XDG_STATE_HOME=$work/home/state "$@"); }
fi
log=$work/home/state/sbx/audit
out_lacks() { ! out_has "$1"; }
change() {
	as python3 -c 'import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(sys.argv[2])' \
		"$log/00000000000000000000.db" "$1"
}

key=$(as sbx-audit setup)
decisions 1 5 | as sbx-audit append -q
verified() { as sbx-audit stats | sed -n 's/^verified  *//p' | cut -d' ' -f1-3; }
check stats_says_that_it_was_never_verified test "$(verified)" = never
run as sbx-audit verify --key="$key"
check stats_says_how_far_it_was_verified test "$(verified)" = '6 records at'
check the_first_time_all_is_verified out_lacks 'verified before'
check how_far_is_kept_beside_the_log test -s "$log.verified"
decisions 6 9 | as sbx-audit append -q
run as sbx-audit verify -q
check cron_hears_nothing_of_a_log_that_is_right out_is ''
decisions 10 12 | as sbx-audit append -q
run as sbx-audit verify
check later_runs_verify_new_records_only out_has '(10 verified before)'
check the_key_need_not_be_given_again out_lacks '--key'

# Verified records are not read again without --full, but a truncation is always detected.
cp -a "$log" "$work/copy"
change "UPDATE records SET body=CAST(replace(body,'r3','r99') AS BLOB) WHERE seq=3"
run as sbx-audit verify
check records_verified_before_are_not_read_again has_status 0
run as sbx-audit verify --full
check full_looks_at_all_of_it has_status 1
rm -rf "$log"
cp -a "$work/copy" "$log"
change "DELETE FROM records WHERE seq>=6; DELETE FROM checkpoints WHERE size>6"
run as sbx-audit verify -q
check an_end_that_is_gone_is_missed has_status 4
check cron_hears_of_that err_has 'records 6 to 12 are missing'
rm -rf "$log"
as sbx-audit setup >/dev/null
run as sbx-audit verify -q
check another_log_in_its_place_is_found has_status 1
run as sbx-audit verify -q --log="$log"
check a_log_that_is_named_has_no_such_memory has_status 0

rm "$log.verified"
decisions 1 12 | as sbx-audit append -q
as sbx-audit verify -q
as sbx-audit rotate -q
run as sbx-audit verify
check a_segment_that_was_closed_there_is_gone_on_from has_status 0
as sbx-audit rotate -q
decisions 13 14 | as sbx-audit append -q
run as sbx-audit verify
check new_records_after_the_state_are_verified out_has '(13 verified before)'

# The stored state is not a regular file any more.
rm "$log.verified"
mkfifo "$log.verified"
run as timeout 60 sbx-audit verify -q
check verify_does_not_wait_for_a_fifo_as_state has_status 2
finish
