#!/bin/bash
# SPDX-License-Identifier: MIT
# append on a pipe that stays open without data still signs its records in time.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/audit.sh"

signed_size() {
	python3 - "$log/00000000000000000000.db" <<-'END'
		import sqlite3, sys
		print(sqlite3.connect(sys.argv[1]).execute("SELECT max(size) FROM checkpoints").fetchone()[0])
	END
}
# A record is signed within ten seconds on an idle host; a busy one gets more time.
is_signed() {
	local tries
	for ((tries = 0; tries < 900; tries++)); do
		[ "$(signed_size)" = "$1" ] && return 0
		read -rt 0.1 <>"$work/nothing"
	done
	return 1
}

setup
mkfifo "$work/pipe" "$work/nothing"
sbx-audit append -l "$log" <"$work/pipe" &
appender=$!
exec 7>"$work/pipe"
decisions 1 3 >&7
check records_of_a_silent_pipe_are_signed is_signed 4
exec 7>&-
wait "$appender"
check and_the_pipe_ends_as_it_should test $? -eq 0
run sbx-audit tail --json -l "$log"
check the_writer_of_a_line_is_append_itself out_has "\"writer\":{\"uid\":$(id -u),\"pid\":$appender}"
run sbx-audit prove 99 -l "$log"
check a_record_that_is_not_there_is_a_no has_status 1
run sbx-audit prove 99 -l "$work/nowhere"
check a_log_that_is_not_there_is_a_failure has_status 5
finish
