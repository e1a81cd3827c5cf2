#!/bin/bash
# SPDX-License-Identifier: MIT
# The audit section of a policy: which secrets are redacted, and whether the originals are kept.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/audit.sh"

say() { printf '{"event":"tool_execute","input_summary":"%s"}\n' "$1" | sbx-audit append -q -l "$log" "${@:2}"; }
originals() {
	python3 - "$log/00000000000000000000.db" <<-'END'
		import sqlite3, sys
		print(sqlite3.connect(sys.argv[1]).execute("SELECT original FROM originals").fetchall())
	END
}

setup
printf 'version: 1\naudit:\n  redact: ["ACME-[0-9]{4}", "pin=\\\\d+"]\n' >"$work/p.yaml"
say 'ACME-1234 with pin=99' --policy "$work/p.yaml"
run sbx-audit tail --json -l "$log"
check patterns_of_the_policy_are_cut_out out_has '[REDACTED] with [REDACTED]'
run originals
check the_redacted_value_is_not_stored out_is '[(None,)]'

printf 'version: 1\naudit: {redact: ["ACME-[0-9]{4}"], keep_originals: true}\n' >"$work/keep.yaml"
say 'ACME-5678' --policy "$work/keep.yaml"
run originals
check unless_the_policy_keeps_it out_has 'ACME-5678'

printf 'version: 1\naudit: {redact: ["a("]}\n' >"$work/broken.yaml"
run say secret --policy "$work/broken.yaml"
check a_pattern_that_is_none_stops_the_writer has_status 125
check and_is_shown_with_its_mistake err_has "'a('"
printf 'version: 1\naudit: {redacts: []}\n' >"$work/broken.yaml"
run say secret --policy "$work/broken.yaml"
check so_does_a_policy_with_a_mistake has_status 125
check which_is_named_by_its_line err_has 'broken.yaml:2'
run say secret --policy "$work/nowhere.yaml"
check so_does_a_policy_that_is_not_there has_status 125
run sbx-audit tail --json -l "$log"
check and_nothing_of_it_is_in_the_log test "$(lines_of)" -eq 3
new=$work/new
run sbx-audit setup -l "$new" --policy "$work/broken.yaml"
check setup_fails_too has_status 125
check and_leaves_no_log_whose_key_was_not_printed test ! -e "$new"
printf 'version: 1\naudit: { redact: ["("] }\n' >"$work/pattern.yaml"
for verb in setup 'serve --socket '"$work/socket"; do
	# shellcheck disable=SC2086 # words
	run timeout 60 sbx-audit $verb -l "$new" --policy "$work/pattern.yaml"
	check "a_pattern_that_is_none_leaves_no_log_of_${verb%% *}" test ! -e "$new"
	check "and_is_what_${verb%% *}_complains_of" err_has "cannot use the pattern '('"
	rm -rf "$new"
done
finish
