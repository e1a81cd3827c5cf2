#!/bin/bash
# SPDX-License-Identifier: MIT
# Segments, archives and deleted archives: each verb covers all that exist.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/audit.sh"

first=00000000000000000000
second=00000000000000000011

verify() { sbx-audit verify -l "$log" --key="$key" --full "$@"; }
days_old() { touch -d "$1 days ago" "${@:2}"; }
is_there() { [ -e "$log/$1" ]; }
is_gone() { [ ! -e "$log/$1" ]; }
# Verifies the hash chain of an export on standard input with Python only.
chain_holds() {
	python3 -c '
import base64, hashlib, json, struct, sys
last, n = bytes(32), 0
for line in sys.stdin:
    row = json.loads(line)
    if "seq" not in row:
        continue
    body = row["record"].encode()
    last = hashlib.sha256(b"sbx-audit/1" + struct.pack(">Q", n) + last +
                          struct.pack(">I", len(body)) + body).digest()
    assert row["seq"] == n and base64.b64decode(row["hash"]) == last
    n += 1
print(n)
'
}
# The same for records.jsonl of an archive of the whole log, which has each record as it is stored.
archive_holds() {
	python3 - "$1" <<-'END'
		import base64, hashlib, re, struct, sys
		last, n = bytes(32), 0
		for line in open(sys.argv[1], "rb"):
		    seq, stored, body = re.fullmatch(rb'{"seq":(\d+),"hash":"(.{44})","record":(.*)}\n', line).groups()
		    last = hashlib.sha256(b"sbx-audit/1" + struct.pack(">Q", n) + last +
		                          struct.pack(">I", len(body)) + body).digest()
		    assert int(seq) == n and base64.b64decode(stored) == last
		    n += 1
		print(n)
	END
}

# A segment from the day before is due for rotation, so do not run across midnight.
while [ "$(date -u +%H%M)" = 2359 ]; do sleep 1; done
setup
append 1 10
run sbx-audit rotate -l "$log"
check a_new_segment_is_begun out_is 'a new segment begins with record 11'
check under_the_number_of_its_first_record is_there $second.db
run sbx-audit rotate -l "$log"
check one_without_records_is_not_closed out_is ''
run sbx-audit rotate -l "$log" --json
check json_says_so_too out_is '{"rotated":false,"size":11}'
append 11 20
run sbx-audit rotate -l "$log" --if-due
check one_of_today_is_not_due is_gone 00000000000000000021.db
run sbx-audit rotate -l "$log" --if-due --segment-size=1KiB
check one_that_is_large_is is_there 00000000000000000021.db
append 21 25
run verify
check the_segments_are_intact has_status 0
check and_all_of_them_are_read out_has '26 records'

everything_is_found() {
	run sbx-audit query -l "$log" --event=policy_decision
	check "${1}_are_searched_together" has_lines 25
	run sbx-audit query -l "$log" --rule=r3
	check "${1}_have_their_columns" out_has ' op=fs.read decision=deny rule=r3'
	run sbx-audit tail -l "$log" --last=8
	check "${1}_are_told_from_their_end" has_lines 8
	run sbx-audit stats -l "$log"
	check "${1}_are_counted" out_has '26'
	run bash -c "sbx-audit export -l '$log' | tee '$work/lines' | (cd '$work'; cat)"
	printf '%s\n' "$out" | chain_holds >"$work/n"
	check "${1}_are_exported_in_one" grep -qx 26 "$work/n"
	check "${1}_have_each_checkpoint_once" [ "$(grep -c '^{"size"' "$work/lines")" -eq \
		"$(grep '^{"size"' "$work/lines" | cut -d, -f1 | sort -u | wc -l)" ]
	for number in 0 10 11 25; do
		sbx-audit prove -l "$log" "$number" >"$work/proof"
		run sbx-audit verify-proof --key="$key" "$work/proof"
		check "${1}_prove_record_$number" has_status 0
	done
	run sbx-audit consistency -l "$log" 11 26
	check "${1}_prove_that_the_log_only_grew" has_status 0
}
everything_is_found segments

run sbx-audit retain -l "$log"
check retain_leaves_a_young_segment_unchanged out_is ''
days_old 8 "$log/$first.db" "$log/$first.db-wal"
run sbx-audit retain -l "$log" -n
check a_dry_run_prints_the_next_actions out_is "would archive $first.db"
check and_does_nothing is_there $first.db
run sbx-audit retain -l "$log"
check after_a_week_a_segment_becomes_an_archive out_is "archived $first.db"
check the_database_is_gone is_gone $first.db
check the_archive_is_there is_there $first.tar.zst
run verify
check an_archive_is_as_good_as_a_segment has_status 0
everything_is_found archives

# tar and Python read the archive.
run sbx-audit export -l "$log" --archive="$work/all.tar.zst"
check the_whole_log_can_be_one_archive test -s "$work/all.tar.zst"
if command -v zstd >/dev/null; then
	mkdir "$work/unpacked"
	zstd -qdc "$work/all.tar.zst" | tar -x -C "$work/unpacked"
	check tar_and_zstd_can_unpack_it test -s "$work/unpacked/checkpoints"
	archive_holds "$work/unpacked/records.jsonl" >"$work/n"
	check the_chain_of_it_can_be_computed_again grep -qx 26 "$work/n"
else
	skip tar_and_zstd_can_unpack_it 'there is no zstd here'
	skip the_chain_of_it_can_be_computed_again 'there is no zstd here'
fi
for name in all.zip all.tar.gz all .tar.zst all.tar.zst/; do
	run sbx-audit export -l "$log" --archive="$work/other/$name"
	check "another_format_is_a_wrong_usage: $name" has_status 2
	check "the_format_is_named: $name" err_has 'why: FILE.tar.zst is the only archive format'
done
run sbx-audit export -l "$log" --archive="$work/all.zip"
check a_name_of_this_format_is_suggested err_has "fix: use '$work/all.tar.zst'"
check nothing_is_written_in_another_format test ! -e "$work/all.zip" -a ! -e "$work/all.zip.new"
run sbx-audit export -l "$log" --archive="$work/one.tar.zst" --segment=11
check one_segment_can_be test -s "$work/one.tar.zst"
run sbx-audit export -l "$log" --segment=11
check a_segment_is_of_an_archive has_status 2
check the_error_says_what_is_missing err_has 'add --archive=FILE.tar.zst'
run sbx-audit export -l "$log" --archive="$work/none.tar.zst" --segment=12
check a_segment_that_there_is_not_is_a_wrong_usage has_status 2
check and_no_file_is_left bash -c "! ls '$work'/none* 2>/dev/null"

# After ninety days archives are deleted.
sbx-audit key -q -l "$log" change >/dev/null
append 26 30
sbx-audit rotate -q -l "$log"
append 31 33
days_old 91 "$log/$first.tar.zst"
run sbx-audit retain -l "$log" --json
check an_old_archive_is_deleted is_gone $first.tar.zst
check json_says_why out_has '"action":"delete","file":"'$first'.tar.zst","reason":"age","done":true'
check and_how_full_it_is out_has '"level":"fine"'
run sbx-audit query -l "$log" --event=audit_archive_deleted --json
check a_record_describes_the_deleted_archive out_has '"first":0,"last":10,'
run verify
check the_remaining_log_is_intact has_status 0
for number in 11 24 27 34; do
	sbx-audit prove -l "$log" "$number" >"$work/proof"
	run sbx-audit verify-proof --key="$key" "$work/proof"
	check "record_${number}_is_proved_without_the_deleted_archive" has_status 0
done
run sbx-audit prove -l "$log" 5
check a_deleted_record_cannot_be_proved has_status 1
check and_it_is_said_why err_has 'the records before 11 were deleted'
run sbx-audit consistency -l "$log" 15 30
check that_the_log_only_grew_is_proved_without_it_too has_status 0
run sbx-audit consistency -l "$log" 5 30
check consistency_from_a_deleted_record_is_refused has_status 1

# Without room the oldest archives are deleted.
run sbx-audit retain -l "$log" --max-size=1KiB --json
check without_room_everything_closed_goes bash -c "! ls '$log'/*.tar.zst 2>/dev/null"
check it_is_said_that_there_was_none out_has '"reason":"size"'
check how_full_it_is_is_critical out_has '"level":"critical"'
run sbx-audit query -l "$log" --event=audit_storage_critical --json
check a_record_says_that_it_is_full out_has '"max_bytes":1024,'
run sbx-audit retain -q -l "$log" --max-size=1KiB
check quietly_nothing_is_said out_is ''
run sbx-audit query -l "$log" --event=audit_storage_critical
check and_only_once has_lines 1
run verify
check after_all_of_it_the_log_is_intact has_status 0

# A clock that jumps is doubted: a log begins with the time of its oldest file.
(
	log=$work/jumped
	setup
	append 1 10
	sbx-audit rotate -q -l "$log"
	days_old 91 "$log/$first.db" "$log/$first.db-wal"
) >/dev/null
run sbx-audit retain -q -l "$work/jumped"
check a_clock_that_jumped_archives_nothing test -e "$work/jumped/$first.db"
check a_warning_says_so_even_quietly err_has 'sbx-audit: warning: some files of the log may be too old, but are kept'
check it_says_why err_has 'why: the clock has jumped: it shows '
check it_says_what_to_do err_has "sbx-audit retain --log $work/jumped --trust-clock"
check it_is_no_failure has_status 0
run sbx-audit retain -l "$work/jumped" -n --json
check a_dry_run_doubts_it_too out_has '"clock_doubted":true'
run sbx-audit retain -l "$work/jumped" -n --trust-clock
check a_dry_run_names_the_archive_that_there_would_be out_has "would delete $first.tar.zst: it is too old"
run sbx-audit retain -l "$work/jumped" --trust-clock
check an_administrator_can_trust_it out_has "deleted $first.tar.zst: it is too old"
check and_nothing_is_doubted_any_more err_is ''

# Tampered segments are not archived or deleted.
append 34 40
sbx-audit rotate -q -l "$log"
segment=$(basename "$(find "$log" -name '*.db' | sort | head -1)")
python3 - "$log/$segment" <<-'END'
	import sqlite3, sys
	sqlite3.connect(sys.argv[1]).executescript(
	    "UPDATE records SET body = CAST(replace(body, 'r36', 'r99') AS BLOB)")
END
days_old 91 "$log/$segment" "$log/$segment-wal"
run sbx-audit retain -l "$log"
check a_segment_that_was_changed_is_a_no has_status 1
check it_is_said_which err_has "$segment"
check what_to_do_is_said err_has '  fix: '
check it_stays is_there "$segment"
run sbx-audit retain -l "$log" --max-size=nonsense
check a_size_that_is_none_is_a_wrong_usage has_status 2
finish
