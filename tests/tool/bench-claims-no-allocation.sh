#!/bin/bash
# SPDX-License-Identifier: MIT
# sbx-bench --allocations detects false claims: its self-tests claim to allocate nothing, but do.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

run sbx-bench --allocations
check the_claims_are_true has_status 0
case $out in
'1..0 # SKIP '*)
	skip the_rest "the heap belongs to a sanitizer, which the tool says itself"
	finish
	exit
	;;
esac
check the_counter_is_proved_first test "${out%%$'\n'*}" = 'ok 1 - the counter sees malloc and calloc'
check a_claim_is_a_line_of_tap out_has ' - json_scan allocates nothing'
check a_benchmark_without_the_claim_is_not_tested test "${out#*tree_read}" = "$out"

for way in malloc realloc aligned libc; do
	run sbx-bench --allocations --filter="self_test_$way"
	check "a_false_claim_by_${way}_is_found" has_status 1
	check "a_false_claim_by_${way}_is_not_ok" out_has "not ok 1 - self_test_$way allocates nothing"
	check "a_false_claim_by_${way}_is_counted" out_has ' allocations an operation'
done
finish
