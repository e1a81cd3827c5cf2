#!/bin/bash
# SPDX-License-Identifier: MIT
# Exit statuses and errors of verbs that read a log or a proof, if the file cannot be read.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/audit.sh"

verbs=(tail query 'show 0' stats export 'prove 0' 'consistency 1 1')

# all_end_with STATUS LOG: each verb exits with STATUS.
all_end_with() {
	local verb others=''
	for verb in "${verbs[@]}"; do
		# shellcheck disable=SC2086 # a verb and its operands
		run sbx-audit $verb -l "$2"
		has_status "$1" || others+=" $verb: $status"
	done
	out=$others
	[ -z "$others" ]
}

setup
mkdir "$work/empty" "$work/junk"
echo junk >"$work/junk/00000000000000000000.db"
: >"$work/file"
check a_log_that_is_missing_cannot_be_read all_end_with 5 "$work/nowhere"
check setup_is_named_for_it err_has 'fix: create it: sbx-audit setup'
check an_empty_directory_cannot_be_read all_end_with 5 "$work/empty"
check a_file_in_the_place_of_a_log_cannot_be_read all_end_with 5 "$work/file"
for verb in tail verify append; do
	run sbx-audit $verb -l "$work/file" </dev/null
	check "${verb}_asks_for_a_directory" err_has 'fix: name the directory of a log'
done
check a_segment_that_is_no_database_cannot_be_read all_end_with 5 "$work/junk"
check a_log_that_is_there_can_be_read all_end_with 0 "$log"

# SQLite only says that it could not open the file.
blamed=''
for limit in 4 5 6 7 8 9 10 11 12 13 14; do
	run sh -c 'ulimit -n "$0" && exec sbx-audit verify --full -l "$1"' "$limit" "$log"
	! err_has permissions || blamed="$blamed $limit"
done
check permissions_are_not_blamed_for_a_lack_of_open_files test -z "$blamed"

# A command of a fix that is pasted must not use the default log.
run sbx-audit append -l "$work/it's new" </dev/null
check the_log_is_named_in_a_fix err_has "fix: create it with 'sbx-audit setup --log '$work/it'\\''s new''"
run sbx-audit show 1000 -l "$log"
check also_for_a_record_that_is_missing err_has "fix: see the last ones: sbx-audit tail --log $log"
run sbx-audit tail -l "$work/junk"
check and_before_the_options err_has "fix: check the log: sbx-audit verify --log $work/junk --full"
run sbx-audit verify --json -l "$work/empty"
check and_in_a_verdict out_has "create one with 'sbx-audit setup --log $work/empty'"
check and_once_in_the_error eval "err_has 'setup --log $work/empty' && ! err_has 'empty --log'"
mv "$log/key" "$work/key"
check a_log_is_read_without_its_key all_end_with 0 "$log"
check but_nothing_is_taken_in err_has 'the spool was not imported into the log'
run sbx-audit query --json -l "$log"
check which_is_told_in_json err_has '{"level":"info","what":"the spool was not imported'
mv "$work/key" "$log/key"

run sbx-audit verify-proof --key "$key" "$work/nowhere"
check a_proof_that_is_missing_cannot_be_read has_status 5
run sbx-audit verify-proof --key "$key" "$work/empty"
check a_directory_is_not_a_proof has_status 5
run sbx-audit stats -s lately -l "$work/nowhere"
check wrong_usage_comes_before_a_missing_log has_status 2
for call in 'verify jobs=0' 'rotate segment-size=0' 'retain max-size=0' 'retain retention-days=0' 'serve epoch=0s' \
	'serve group-records=0' 'serve group-time=0s' 'serve queue=0' 'serve max-clients=0'; do
	option=${call#* }
	run timeout 20 sbx-audit "${call% *}" -l "$work/nowhere" "--$option"
	check "${option%=*}_cannot_be_zero" err_has "option '--${option%=*}' cannot take '${option#*=}'"
done
run sbx-audit export --archive="$work/nowhere/x.tar.zst" -l "$log"
check an_archive_that_cannot_be_written_is_another_failure has_status 125
run sbx-audit append -l "$work/nowhere" </dev/null
check append_fails_with_another_status has_status 125
finish
