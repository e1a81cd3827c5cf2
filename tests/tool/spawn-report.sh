#!/bin/bash
# SPDX-License-Identifier: MIT
# Output after the run: the report, the records, --check.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

field() { # FILE EXPRESSION
	python3 -c 'import json,sys; report = json.loads(open(sys.argv[1]).readlines()[-1]); print(eval(sys.argv[2]))' "$1" "$2"
}
for who in $starters; do
	report=$work/$who/report
	places
	run spawn -q --report "$report" -- sh -c 'exit 7'
	check "the_report_has_the_status_by_$who" test "$(field "$report" 'report["status"], report["exit"], report["reason"]')" = "(7, 7, 'exit')"
	check "the_report_names_the_layers_by_$who" test "$(field "$report" '"landlock" in report["layers"] and "seccomp" in report["layers"] and report["tier"]')" = full
	check "the_report_has_the_resource_usage_by_$who" test "$(field "$report" 'report["usage"]["max_rss_bytes"] > 0 and report["peak_memory_bytes"] > 0')" = True
	check "an_unknown_value_is_null_by_$who" test "$(field "$report" 'report["denials"]')" = None
	run spawn -q --report "$report" -- sh -c 'kill -9 $$'
	check "the_report_has_the_signal_by_$who" test "$(field "$report" 'report["signal"], report["reason"]')" = "(9, 'signal')"
	run spawn -q --report "$report" --time 100ms --grace 50ms -- sleep 60
	check "the_report_says_that_time_ran_out_by_$who" test "$(field "$report" 'report["time_limit"], report["status"]')" = "(True, 124)"
	: >"$work/$who/audit"
	exec 8>>"$work/$who/audit"
	run spawn -q --audit-fd 8 --id "named-$who" -- true
	exec 8>&-
	check "a_start_is_a_record_by_$who" grep -q '"event":"sandbox_created".*"sandbox_id":"named-'"$who" "$work/$who/audit"
	check "an_end_is_a_record_by_$who" grep -q '"event":"sandbox_destroyed".*"reason":"exit"' "$work/$who/audit"
	run spawn -q --audit-fd 8 -- true
	check "records_that_cannot_be_written_are_an_error_by_$who" has_status 125
	exec 8>/dev/full
	run spawn -q --audit-fd 8 -- sh -c "echo ran >>'$work/$who/trace'"
	exec 8>&-
	check "the_fix_is_about_room_by_$who" err_has 'fix: free space on the file system of the records'
	check "without_a_record_nothing_runs_by_$who" test "$status" -eq 125 -a ! -e "$work/$who/trace"
	# The reader of the records ends before the command does.
	rm -f "$project/gone"
	exec 8> >(head -n 1 >/dev/null && exec </dev/null && : >"$project/gone")
	run spawn -q --audit-fd 8 --report "$report" -- sh -c 'until [ -e gone ]; do sleep 0.1; done; exit 3'
	exec 8>&-
	check "a_last_record_that_cannot_be_written_is_an_error_by_$who" has_status 125
	check "the_fix_is_about_the_reader_by_$who" err_has 'keep the reader of --audit-fd running'
	check "the_report_has_its_status_by_$who" test "$(field "$report" 'report["status"], report["exit"]')" = '(125, 3)'
	# Notes before the start and a warning at the end, for which stderr has no reader any more.
	exec 8> >(:)
	wait "$!"
	status=0
	spawn -v --out "$work/$who/changes" -- true 2>&8 || status=$?
	check "the_command_runs_though_no_process_reads_the_notes_by_$who" has_status 0
	check "nothing_but_its_changes_is_left_then_by_$who" \
		test "$(find "$work/$who" -name '*changes*')" = "$work/$who/changes"
	status=0
	spawn --no-sandbox -- true 2>&8 || status=$?
	check "without_a_reader_of_the_warning_nothing_runs_bare_by_$who" has_status 125
	mkdir "$project/grown-$who"
	status=0
	spawn --write "grown-$who" --audit-fd 9 -- sh -c "cd grown-$who && mkdir -p .git/objects .git/refs &&
		echo ref: refs/heads/x >.git/HEAD" 2>&8 9>>"$work/$who/cut" || status=$?
	check "the_status_is_the_commands_though_no_process_reads_the_warning_by_$who" has_status 0
	check "the_end_is_a_record_though_no_process_reads_the_warning_by_$who" grep -q '"event":"sandbox_destroyed"' "$work/$who/cut"
	exec 8>&-
	run spawn --check
	mapfile -t words < <(head -c 200000 /dev/zero | tr '\0' x | fold -w 1000)
	run spawn -q --audit-fd 8 -- true "${words[@]}" 8>>"$work/$who/long"
	check "a_command_of_many_words_runs_by_$who" has_status 0
	check "its_record_has_the_digest_of_them_by_$who" python3 - "$work/$who/long" "${words[@]}" <<-'PY'
		import hashlib, json, sys
		record = json.loads(open(sys.argv[1]).readline())
		words = ["true", *sys.argv[2:]]
		digest = hashlib.sha256(b"".join(word.encode() + b"\0" for word in words)).hexdigest()
		sys.exit(record["argv_words"] != len(words) or record["argv_sha256"] != digest
		         or record["argv"] != words[:len(record["argv"])] or not record["argv"])
	PY
	check "check_is_one_screen_by_$who" test "$status" -eq 0 -a "$(wc -l <"$work/out")" -le 40
	run spawn --check --json
	check "check_is_json_where_asked_by_$who" sh -c 'python3 -c "import json,sys; json.load(open(sys.argv[1]))" "$1"' sh "$work/out"
done
who=user
run spawn --no-sandbox -- sh -c 'echo bare'
check no_sandbox_runs_it out_is bare
check no_sandbox_warns err_has 'without any protection'
finish
