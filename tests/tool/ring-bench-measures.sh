#!/bin/bash
# SPDX-License-Identifier: MIT
# No time and no ratio decides here: the host may be busy. The rows and their members must be right.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

# Is each line of standard output a JSON object with these members, and do its numbers agree?
rows_are_valid() {
	python3 - "$work/out" <<'END'
import json, sys
members = {"name", "what", "against", "unit", "place", "samples", "dropped", "value", "against_value",
           "ratio_p10", "ratio_p50", "ratio_p90", "at_most", "at_least", "met"}
rows = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
for row in rows:
    assert set(row) == members, row
    assert row["unit"] in {"ns", "us", "MB/s", "GB/s"}, row
    assert row["place"] in {"smt", "near", "far", "one", None}, row
    assert (row["samples"] > 0) == (row["value"] is not None) == (row["place"] is not None), row
    assert row["samples"] + row["dropped"] >= 1, row
    assert row["value"] is None or row["value"] > 0, row
    if row["ratio_p50"] is not None:
        assert row["ratio_p10"] <= row["ratio_p50"] <= row["ratio_p90"], row
        has_target = row["at_most"] is not None or row["at_least"] is not None
        assert has_target == (row["met"] is not None), row
sys.exit(not rows)
END
}

run sbx-ring bench --list
check the_list_is_a_success has_status 0
for row in stream_64 stream_8 stream_1024 stream_16384 call_48 checks_stream checks_call beside_unix_64 transport_unix \
	transport_tcp blocking pipe seed_1024 open death; do
	check "the_list_has_$row" out_has "$row "
done
run sbx-ring bench --list --json
check the_list_is_json_too out_has '{"name":"stream_64","what":'

run sbx-ring bench --quick --json
check a_quick_run_is_a_success has_status 0
check a_quick_run_has_valid_rows rows_are_valid
check a_quick_run_measures_a_sleeping_pair out_has '"name":"blocking"'

run sbx-ring bench --quick --filter=transport
check a_filtered_run_is_a_success has_status 0
check a_filtered_run_has_the_matching_rows out_has 'transport_unix '
check a_filtered_run_has_no_other_rows test "${out#*stream_64}" = "$out"

# Both sides on one CPU: those that spin would wait for each other's time slice.
cpu=$(taskset -cp $$ | sed -E 's/.*: ([0-9]+).*/\1/')
run taskset -c "$cpu" sbx-ring bench --quick --json --filter=4
check one_cpu_is_a_success has_status 0
check one_cpu_leaves_out_what_spins test "${out#*stream_64}" = "$out"
check one_cpu_says_what_is_left_out err_has 'stream_64 is left out: a side spins, which needs two CPUs'
run taskset -c "$cpu" sbx-ring bench --quick --json --filter=blocking
check one_cpu_measures_what_sleeps out_has '"place":"one"'
check one_cpu_has_valid_rows rows_are_valid

run sbx-ring bench --filter=nonsense
check a_filter_that_fits_nothing_is_refused has_status 2
check a_filter_that_fits_nothing_is_sent_to_the_list err_has "fix: see 'sbx-ring bench --list'"
for wrong in 0 1001 many -1; do
	run sbx-ring bench --repetitions="$wrong"
	check "repetitions_of_${wrong}_are_refused" has_status 2
done
run sbx-ring bench --quick --repetitions=3
check quick_and_repetitions_exclude_each_other has_status 2
run sbx-ring bench stream_64
check an_operand_is_refused has_status 2
run sbx-ring bench --quik
check an_unknown_option_names_the_one_that_was_meant err_has "did you mean '--quick'?"
finish
