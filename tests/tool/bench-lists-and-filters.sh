#!/bin/bash
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

# Is each line of standard output a JSON object with exactly these members?
objects_have() {
	python3 - "$work/out" "$@" <<-'END'
		import json, sys
		objects = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
		sys.exit(not objects or any(not set(sys.argv[2:]) <= set(each) for each in objects))
	END
}

run sbx-bench --list
check the_list_is_a_success has_status 0
for row in frame_parse frame_print unit_parse_size unit_parse_time json_scan json_validate json_write \
	option_parse tree_read; do
	check "the_list_has_$row" out_has "$row "
done
check the_list_names_the_compared_benchmarks out_has 'against: floor: '
check the_list_hides_the_self_tests test "${out#*self_test}" = "$out"

run sbx-bench --list --json
check the_list_is_json_too objects_have name subject unit against claims_no_allocation

run sbx-bench --filter=frame --samples=3
check a_filtered_run_is_a_success has_status 0
check a_filtered_run_has_the_matching_benchmark out_has 'frame_print '
check a_filtered_run_has_nothing_else test "$(printf '%s\n' "$out" | wc -l)" -eq 3
check without_a_terminal_there_is_no_progress err_is ''

run sbx-bench --filter=unit_parse --samples=3 --json
check json_gives_one_object_a_benchmark test "$(printf '%s\n' "$out" | wc -l)" -eq 2
check json_has_every_member objects_have name unit ns_median ns_p99 samples batch mb_per_s \
	allocations_per_op against against_ns_median ratio
check json_says_how_many_samples out_has '"samples":3,'

run sbx-bench --filter=json_scan --samples=3 -v
check verbose_says_the_size_of_a_sample err_has 'json_scan: 3 samples of'

run sbx-bench --filter=nonsense
check a_filter_that_fits_nothing_is_refused has_status 2
check a_filter_that_fits_nothing_is_sent_to_the_list err_has "fix: see 'sbx-bench --list'"
finish
