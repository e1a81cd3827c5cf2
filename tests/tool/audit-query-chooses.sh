#!/bin/bash
# SPDX-License-Identifier: MIT
# Which records query, tail and stats select, and their exit statuses.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/audit.sh"

setup
append 1 30
run sbx-audit query -l "$log"
check all_of_it_is_there has_lines 31
run sbx-audit query -l "$log" -d deny
check a_decision_chooses has_lines 15
run sbx-audit query -l "$log" -d denied
check a_decision_also_matches_in_the_callers_words has_lines 15
run sbx-audit stats -l "$log" -d dny
check a_decision_that_cannot_be_is_wrong_usage has_status 2
check the_decision_that_was_meant_is_named err_has "did you mean 'deny'?"
run sbx-audit query -l "$log" -e log_create
check an_event_that_cannot_be_is_wrong_usage has_status 2
check the_event_that_was_meant_is_named err_has "did you mean 'log_created'?"
run sbx-audit query -l "$log" -e log_created -e nonsense
check each_event_must_be_one has_status 2
run sbx-audit query -l "$log" -n 0
check the_last_0_of_a_query_are_all has_lines 31
run sbx-audit query -l "$log" -d deny -r r4
check both_must_hold has_status 1
run sbx-audit query -l "$log" -e log_created -e kernel_start
check any_of_several_events has_lines 1
run sbx-audit query -l "$log" -s 2026-01-02T03:04:10Z -u 2026-01-02T03:04:20Z
check a_time_chooses has_lines 10
run sbx-audit query -l "$log" -s 2026-01-02 -u 2026-01-03
check a_day_chooses has_lines 30
run sbx-audit query -l "$log" -s 1h -e policy_decision
check since_an_hour_leaves_out_older_records has_status 1
run sbx-audit query -l "$log" -s -1h -e log_created
check a_time_ago_may_have_a_minus has_lines 1
# A column has the complete characters within the first 255 bytes: of this text the first 254 bytes.
long=aa$(printf '\303\251%.0s' {1..130})
long_records() {
	printf '{"time":"2026-01-02T03:04:05Z","event":"policy_decision","verdict":"allow","input":{},"policy":"00",%s}\n' \
		"\"op\":\"$1\",\"rule\":\"$1\",\"sandbox_id\":\"$1\",\"caller\":\"$1\""
}
sbx-audit setup -l "$work/long" >/dev/null
long_records "$long" | sbx-audit append -q -l "$work/long"
for option in op rule sandbox caller; do
	run sbx-audit query -l "$work/long" "--$option=$long"
	check "a_long_text_is_found_by_$option" has_lines 1
	run sbx-audit query -l "$work/long" "--$option=${long}bb"
	check "what_the_column_of_${option}_does_not_have_is_ignored" has_lines 1
	run sbx-audit query -l "$work/long" "--$option=b$long"
	check "another_long_text_is_not_found_by_$option" has_status 1
done
sbx-audit setup -l "$work/days" >/dev/null
printf '{"time":"%s","event":"kernel_start"}\n' "$(date -u -d '12 hours ago' +%FT%TZ)" "$(date -u -d '60 hours ago' +%FT%TZ)" |
	sbx-audit append -q -l "$work/days"
run sbx-audit query -l "$work/days" -s yesterday -e kernel_start
check yesterday_begins_at_its_midnight has_lines 1
run sbx-audit query -l "$work/days" -u yesterday -e kernel_start
check until_yesterday_matches_older_records has_lines 1
run sbx-audit query -l "$log" -s today -e log_created -e policy_decision
check today_begins_at_midnight has_lines 1
run sbx-audit query -l "$log" -s lately
check a_time_that_is_none_is_refused has_status 2
check and_it_is_said_how_to_write_one err_has '2h for two hours ago'
check the_reason_is_not_the_text_of_an_errno err_has 'why: it is neither a date nor a time before now'
run sbx-audit query -l "$log" -e $'a\033b'
check a_strange_event_is_escaped_once err_has "'a\\x1bb' is not an event"
run sbx-audit query -l "$log" -n 3 -d allow
check the_last_of_those_chosen out_has rule=r26
check and_no_more_than_that has_lines 3
run sbx-audit tail -l "$log"
check tail_shows_ten has_lines 10
check the_last_one_is_the_last out_has rule=r30
run sbx-audit tail -l "$log" --json -n 1
check json_is_the_record_itself out_has '"rule":"r30"'
run sbx-audit tail -l "$log" -n 0
check tail_can_begin_with_none out_is ''
run sbx-audit tail -l "$log" -n few
check tail_takes_a_number has_status 2
run sbx-audit stats -l "$log"
check stats_counts_records out_has 'records   31'
check stats_counts_decisions out_has 'deny          15'
run sbx-audit stats -l "$log" --json
check stats_is_one_object out_has '"policy_decision":30'
passes=$work/passes
sbx-audit setup -l "$passes" >/dev/null
echo '{"event":"syscall","decision":"pass"}' | sbx-audit append -l "$passes"
run sbx-audit stats -l "$passes"
check each_decision_that_a_query_takes_is_counted out_has 'pass           1'
run sbx-audit stats -l "$passes" --json
check json_counts_it_too out_has '"decisions":{"pass":1}'

sbx-audit tail -f -n 1 -l "$log" >"$work/followed" &
follower=$!
sbx-audit tail -f -n 0 -l "$log" >"$work/only-new" &
others=$!
shows() { eventually grep -q "$1" "$work/followed"; } # TEXT
shows rule=r30
append 31 31
shows rule=r31
for ((i = 32; i < 632; i++)); do
	[ ! -s "$work/only-new" ] || break
	append "$i" "$i"
	sleep 0.1
done
kill "$follower" "$others"
wait "$follower" "$others" 2>/dev/null
check tail_follows grep -q rule=r31 "$work/followed"
check tail_begins_where_it_is_told test "$(head -n 1 "$work/followed" | grep -c rule=r30)" -eq 1
check tail_of_no_records_shows_new_ones test -s "$work/only-new"
check tail_that_begins_with_none_shows_nothing_old test "$(grep -cw 'rule=r[12][0-9]' "$work/only-new")" -eq 0
run sbx-audit tail -l "$work/nowhere"
check a_log_that_is_not_there_is_said err_has setup

cp -a "$log" "$work/damaged"
python3 -c 'import sqlite3, sys
sqlite3.connect(sys.argv[1]).executescript("UPDATE records SET body=CAST(\"{}\" AS BLOB) WHERE seq=3")' \
	"$work/damaged/00000000000000000000.db"
run sbx-audit query -l "$work/damaged"
check a_record_that_cannot_be_read_is_said err_has 'record 3 cannot be read'
check the_others_are_shown has_lines "$((i - 1))"
check and_the_status_says_so has_status 5
run sbx-audit stats -l "$work/damaged"
check the_others_are_counted out_has "records   $((i - 1))"
check and_stats_says_so_too has_status 5
run sbx-audit
check a_verb_is_needed has_status 2

# The pipe is full before the first segment has been printed, so the second one is read after the records were added.
growing=$work/growing
sbx-audit setup -l "$growing" >/dev/null
decisions 1 8000 | sbx-audit append -q -l "$growing"
sbx-audit rotate -q -l "$growing"
sbx-audit query -l "$growing" -n 8000 | {
	read -r _
	decisions 1 5 | sbx-audit append -q -l "$growing"
	cat
} >"$work/rest"
check what_is_added_meanwhile_is_not_among_the_last test "$(wc -l <"$work/rest")" -eq 7999
finish
