#!/bin/bash
# SPDX-License-Identifier: MIT
# Verdicts of verify for an intact, a changed, a truncated and a missing log.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/audit.sh"

# change SQL: changes the log with SQLite, as another program.
change() {
	python3 - "$log/00000000000000000000.db" "$1" <<-'END'
		import sqlite3, sys
		sqlite3.connect(sys.argv[1]).executescript(sys.argv[2])
	END
}
head_of_the_log() {
	python3 - "$log/00000000000000000000.db" <<-'END'
		import sqlite3, sys
		rows = sqlite3.connect(sys.argv[1]).execute("SELECT note FROM checkpoints ORDER BY size DESC")
		print(rows.fetchone()[0], end="")
	END
}

out_lacks() { ! out_has "$1"; }

setup
run sbx-audit verify -l "$log" --key="$key"
check one_record_is_said_in_the_singular out_is 'OK: 1 record; last checkpoint covers all'
append 1 10
append 11 20
run sbx-audit verify -l "$log" --key="$key"
check a_log_that_is_right_is_intact has_status 0
check how_many_records_it_has_is_said out_is 'OK: 21 records; last checkpoint covers all'
check with_the_key_nothing_is_left_open out_lacks '--key'
run sbx-audit verify -l "$log"
check without_the_key_the_verdict_says_so out_is 'OK: 21 records; last checkpoint covers all; key not pinned (--key)'
run sbx-audit verify -q -l "$log"
check quietly_nothing_is_said_of_a_log_that_is_right out_is ''
run sbx-audit verify --json -l "$log" --key="$key"
check json_has_the_verdict out_has '"verdict":"intact"'
check json_names_the_source_of_the_key out_has '"key":"given"'

run sbx-audit verify -l "$log" --state="$work/state"
check verify_stores_its_state test -s "$work/state"
append 21 25
run sbx-audit verify -l "$log" --state="$work/state"
check the_next_run_goes_on_from_there out_has '(21 verified before)'
run sbx-audit verify -l "$log" --state="$work/state" --full
check full_begins_at_the_beginning out_lacks 'verified before'
head_of_the_log >"$work/witness"
run sbx-audit verify -l "$log" --witness-file="$work/witness"
check witnessed_heads_are_reproduced has_status 0

: >"$work/nobody"
run sbx-audit verify -l "$log" --witness-file="$work/nobody"
check a_witness_without_heads_is_a_wrong_input has_status 2

append 1 9000
run sbx-audit verify -l "$log" --key="$key" --json
check a_long_append_is_signed_on_the_way has_status 0

run sbx-audit verify -l "$log" --key="$key" -j 3
check several_threads_say_the_same has_status 0
check and_have_read_as_much out_has 'OK: 9026 records'
run sbx-audit verify -l "$log" -j 65
check too_many_threads_are_a_wrong_use has_status 2

echo nonsense >"$work/nonsense"
run sbx-audit verify -l "$log" --witness-file="$work/nonsense"
check a_witness_that_is_none_is_a_wrong_input has_status 2
run sbx-audit verify -l "$log" --state="$work/nonsense"
check a_state_that_is_none_is_a_wrong_input has_status 2
check the_error_shows_the_fix err_has 'remove the file'
run sbx-audit verify -l "$log" --key=nonsense
check a_key_that_is_none_is_a_wrong_input has_status 2
run sbx-audit verify -l "$work/nowhere"
check a_log_that_is_not_there_is_unreadable has_status 5

cp -a "$log" "$work/copy"
change "UPDATE records SET body=CAST(replace(body,'r7','r99') AS BLOB) WHERE seq=7"
run sbx-audit verify -l "$log"
check a_changed_record_is_tampering has_status 1
check the_first_bad_record_is_told err_has 'record 7 was changed'
check the_last_good_checkpoint_is_told err_has 'the checkpoint of 1 record,'
run sbx-audit verify -q -l "$log"
check quietly_it_is_said_all_the_same err_has 'record 7'
run sbx-audit verify --json -l "$log"
check json_names_the_record out_has '"first_bad":7'

rm -rf "$log"
cp -a "$work/copy" "$log"
change "DELETE FROM records WHERE seq>=21; DELETE FROM checkpoints WHERE size>21"
run sbx-audit verify -l "$log" --witness-file="$work/witness"
check a_log_that_was_cut_is_incomplete has_status 4
check which_records_are_missing_is_told err_has 'records 21 to 9025 are missing'

# The log goes on after the change of a checkpoint, but the change stays to be found. WHAT: the change, and what
# comes next to a log whose last checkpoint has 4 records.
stays_tampered() {
	rm -rf "$log"
	setup
	append 1 3
	change "$1"
	shift
	"$@" >/dev/null
	run sbx-audit verify -l "$log"
}
append_each() {
	local record
	for record in 4 5 6 7 8 9; do append "$record" "$record"; done
}
log=$work/changed
declare -A changes=(
	[note]="UPDATE checkpoints SET note=replace(note,'sbx','sbz') WHERE size=4"
	[size]='UPDATE checkpoints SET size=size+1 WHERE size=4'
	[size_and_note]="UPDATE checkpoints SET size=9, note='x' WHERE size=4"
)
stays_tampered "${changes[note]}" sbx-audit append -l "$log" </dev/null
check a_changed_checkpoint_is_not_signed_again has_status 1
stays_tampered "${changes[note]}" sbx-audit rotate -l "$log"
check a_changed_checkpoint_is_not_replaced_by_a_rotation has_status 1
for change in "${!changes[@]}"; do
	stays_tampered "${changes[$change]}" append_each
	check "a_checkpoint_with_another_${change}_stays_where_it_is" has_status 1
done
stays_tampered "${changes[size]}" sbx-audit key change -l "$log"
check a_changed_checkpoint_is_not_the_last_of_a_key has_status 1

log=$work/other
setup
run sbx-audit verify -l "$log" --state="$work/state"
check another_log_is_not_the_one_that_was_verified has_status 1
finish
