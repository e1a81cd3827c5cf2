#!/bin/bash
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

run sbx-bench --filtre=json
check a_mistyped_option_ends_with_2 has_status 2
check a_mistyped_option_names_the_one_that_was_meant err_has "fix: did you mean '--filter'?"
check a_mistyped_option_measures_nothing out_is ''

run sbx-bench json
check an_operand_is_refused has_status 2

for value in 0 2 100001 -1 ten; do
	run sbx-bench --samples="$value" --list
	check "samples_refuses_$value" has_status 2
	check "samples_refuses_${value}_with_a_fix" err_has '  fix: '
done

run sbx-bench --threshold=5
check a_threshold_without_a_baseline_is_refused has_status 2
check the_error_names_the_option_that_a_threshold_needs err_has "add '--compare=FILE'"

run sbx-bench --list --allocations
check two_jobs_at_once_are_refused has_status 2
run sbx-bench --allocations --json
check tap_as_json_is_refused has_status 2
finish
