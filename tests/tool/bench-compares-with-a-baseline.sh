#!/bin/bash
# SPDX-License-Identifier: MIT
# The baselines are edited, so that the result does not depend on the speed of the host.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

baseline=$work/baseline.jsonl
measure() { sbx-bench --samples=3 --filter=unit_parse_size "$@"; }
# Writes a baseline with the ratio $1.
doctor() { measure --json | sed -E "s/\"ratio\":[^,}]*/\"ratio\":$1/" >"$baseline"; }

doctor 1000
run measure --compare="$baseline"
check a_faster_run_is_a_success has_status 0
check a_faster_run_says_by_how_much grep -Eq ' -[0-9.]+% ' "$work/out"

doctor 0.001
run measure --compare="$baseline"
check a_slower_run_ends_with_1 has_status 1
check a_slower_run_names_the_benchmark err_has 'unit_parse_size (+'
check a_slower_run_says_against_which_file err_has "slower than in '$baseline'"
check a_slower_run_marks_the_row out_has '%!'
check a_slower_run_ends_with_the_fix err_has '  fix: '

run measure --compare="$baseline" --json
check json_marks_it_too out_has '"past_threshold":true'
check json_keeps_the_status has_status 1

# The ratio is about 1; up to 10 is accepted, a hundred times the baseline. Many samples, because a busy host may
# disturb some that much.
doctor 0.1
run sbx-bench --samples=101 --filter=unit_parse_size --compare="$baseline" --threshold=10000
check a_slower_run_within_the_threshold_is_a_success has_status 0
check a_slower_run_within_the_threshold_says_by_how_much grep -Eq ' \+[0-9.]+% ' "$work/out"

printf '%s\n' '{"name":"other","ratio":1}' '{"name":"unit_parse_size","ratio":1000}' >"$baseline"
run measure --compare="$baseline"
check filtered_out_benchmarks_are_not_missing has_status 0

printf '%s\n' '{"name":"unit_parse_size_old","ratio":1}' '{"name":"unit_parse_size","ratio":1000}' >"$baseline"
run measure --compare="$baseline"
check a_benchmark_that_is_gone_ends_with_4 has_status 4
check a_benchmark_that_is_gone_is_named err_has "cannot compare 'unit_parse_size_old'"

printf '%s\n' '{"name":"unit_parse_size","ratio":null}' >"$baseline"
run measure --compare="$baseline"
check a_former_run_without_the_peer_asks_for_nothing has_status 0
finish
