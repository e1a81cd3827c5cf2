#!/bin/bash
# SPDX-License-Identifier: MIT
# --out FILE.tar: no file name of the command can be mistaken for a removal, and existing archives are refused.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

left_out() { # REPORT
	python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["left_out"])' "$1"
}

# The whiteout for "..wh..opq" would be the name that marks a replaced directory.
for who in $starters; do
	rm -rf "${project:?}"/* "$project/.wh..opq"
	echo old >"$project/.wh..opq"
	echo old >"$project/removed"
	places
	archive=$work/$who/changes.tar
	report=$work/$who/report
	run spawn -q --out "$archive" --report "$report" -- \
		sh -c 'rm .wh..opq removed && mkdir sub .wh.folder && touch kept .wh.a .wh..wh..opq .wh.folder/file sub/.wh.b && exit 3'
	check "the_status_is_the_commands_by_$who" has_status 3
	check "only_our_removals_are_named_as_such_by_$who" test "$(tar -tf "$archive" | xargs)" = 'kept .wh.removed sub/'
	check "a_warning_names_the_omitted_files_by_$who" err_has "warning: '.wh..opq' and others are not in '$archive'"
	check "the_report_counts_omitted_files_by_$who" test "$(left_out "$report")" = "{'count': 5, 'first': '.wh..opq'}"
	echo old >"$project/replaced"
	run spawn -q --out "$archive" --report "$report" -- python3 -c 'import os, socket
os.unlink("replaced"); os.mkfifo("replaced"); socket.socket(socket.AF_UNIX).bind("socket"); open("kept", "x")'
	check "fifos_and_sockets_are_left_out_by_$who" test "$status $(tar -tf "$archive" | xargs)" = '0 kept .wh.replaced .wh.socket'
	check "a_warning_names_the_first_of_them_by_$who" err_has "warning: 'replaced' and others are not in '$archive'"
	check "the_report_counts_them_by_$who" test "$(left_out "$report")" = "{'count': 2, 'first': 'replaced'}"
	long=$(printf '%0252d' 0)
	echo old >"$project/$long"
	run spawn -q --out "$archive" --report "$report" -- sh -c 'rm "$1" && touch kept && mkfifo "1$1"' sh "$long"
	check "a_removal_that_no_reader_can_name_is_left_out_by_$who" test "$status $(tar -tf "$archive" | xargs)" = '0 kept'
	check "each_of_them_is_counted_once_by_$who" test "$(left_out "$report" | grep -o "'count': [0-9]*")" = "'count': 2"
	check "the_warning_is_whole_by_$who" err_has "' and others are not in '$archive'"
	rm "$project/$long"
	run spawn -q --out "$archive" --report "$report" -- sh -c "touch \"\$(printf '.wh.\\377\\n\\033')\""
	check "the_warning_is_safe_to_read_by_$who" sh -c '! grep -q "$(printf "\\033")" "$1"' sh "$work/err"
	check "any_name_can_be_in_the_report_by_$who" sh -c 'python3 -c "import json,sys; json.load(open(sys.argv[1]))" "$1"' sh "$report"
	run spawn -q --out "$archive" --report "$report" -- touch kept
	check "a_complete_archive_gives_no_warning_by_$who" err_is ''
	check "a_complete_archive_is_null_in_the_report_by_$who" test "$(left_out "$report")" = None
	run spawn -q --out "$work/$who/folder" -- touch .wh.a
	check "a_directory_may_contain_any_name_by_$who" test "$status" -eq 0 -a -f "$work/$who/folder/.wh.a" -a -z "$err"

	for end in tar.gz tgz tar.zst tar.xz tar.bz2 zip; do
		run spawn -q --out "$work/$who/x.$end" -- touch kept
		check "no_directory_is_made_for_${end}_by_$who" test "$status" -eq 125 -a ! -e "$work/$who/x.$end"
		check "${end}_names_the_archive_to_use_by_$who" err_has 'fix: use FILE.tar'
	done
	run spawn -q --out "$work/$who/x.zip/" -- touch kept
	check "a_trailing_slash_means_a_directory_by_$who" test "$status" -eq 0 -a -f "$work/$who/x.zip/kept"
done
finish
