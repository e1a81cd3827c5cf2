#!/bin/bash
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

baseline=$work/baseline.jsonl

# refuse NAME WHY: the current file is refused before anything is measured
refuse() {
	run sbx-bench --compare="$baseline"
	check "$1_ends_with_2" has_status 2
	check "$1_says_why" err_has "$2"
	check "$1_measures_nothing" out_is ''
}

refuse a_file_that_does_not_exist "$baseline"

mkfifo "$work/fifo"
run timeout 60 sbx-bench --compare="$work/fifo"
check a_fifo_without_a_writer_is_not_waited_for has_status 2
check a_fifo_says_why err_has 'why: it is not a regular file'
check the_error_about_a_fifo_shows_the_fix err_has '  fix: '
run sbx-bench --compare="$work"
check a_directory_is_refused has_status 2

: >"$baseline"
refuse an_empty_file 'why: it is empty'
check an_empty_file_is_told_how_to_write_one err_has 'fix: write one: sbx-bench --json'

echo 'BENCHMARK NS/OP' >"$baseline"
refuse the_table_for_people 'why: the line is not one JSON object'

printf '%s\n' '{"name":"a","ratio":1}' '{"name":"b","ratio":"fast"}' >"$baseline"
refuse a_ratio_that_is_no_number 'why: "ratio" is neither'
check the_place_is_file_and_line err_has "$baseline:2: "

printf '%s\n' '{"name":"a","ratio":1}' '{"name":"a","ratio":2}' >"$baseline"
refuse a_benchmark_that_stands_there_twice 'twice'
finish
